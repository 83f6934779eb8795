"""What can go wrong with a recording, as sentences."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RecordingError(Exception):
    """A recording cannot be written or read; the message is a sentence for the user.

    `rows_kept` counts the rows that stay readable where writing failed on the way.
    """

    rows_kept = 0


class UnknownNameError(RecordingError, KeyError):
    """A recording has nothing of that name; the message offers the nearest one."""

    def __init__(self, noun: str, name: object, known: Iterable[str]):
        names = sorted(known)
        near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        if near:
            hint = f"did you mean {near[0]!r}?"
        elif names:
            hint = "there are " + ", ".join(names[:12]) + (" ..." if len(names) > 12 else "")
        else:
            hint = "there are none"
        self.message = f"no {noun} named {name!r} in the recording; {hint}"
        super().__init__(self.message)

    def __str__(self) -> str:
        # KeyError would show the representation of its argument.
        return self.message
