"""Texts of a scene's files that a recording keeps, read in place of files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath


class Kept:
    """Texts by the name that their files had; data of a scene alone, never programs.

    Parameters
    ----------
    texts : mapping of str to str
        Name of a file, as messages about the scene call it, to its text.
    """

    def __init__(self, texts: Mapping[str, str]):
        self._texts = dict(texts)

    def text(self, label: str) -> str:
        """Return the text of a file by its name."""
        return self._texts[label]

    def find(self, outer: str, wanted: str) -> str | None:
        """Return the name of the file that a text calls `wanted`, None where it is not kept.

        outer : name of the file that the text is of.  What stood beside it goes first; a shipped figure is known
        by its whole path, of which the scene named an end.
        """
        beside = os.path.normpath(os.path.join(os.path.dirname(outer), wanted))
        end = tuple(part for part in PurePath(os.path.normpath(wanted)).parts if part != os.pardir)
        for suffix in ("", ".yaml"):
            if beside + suffix in self._texts:
                return beside + suffix
        for suffix in ("", ".yaml"):
            last = (*end[:-1], end[-1] + suffix) if end else ()
            for label in self._texts:
                if last and PurePath(label).parts[-len(last) :] == last:
                    return label
        return None
