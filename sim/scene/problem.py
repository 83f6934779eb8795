"""A mistake in a scene: where it stands, what was found, what was expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sim.scene.shown import one_line, one_width

_WIDEST = 150  # characters of a line that are shown


@dataclass(frozen=True, order=True)
class Place:
    """A span of text in a scene file; lines and columns count from 1."""

    file: str
    line: int
    column: int
    length: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake, as data.  `str(problem)` is the message that a user reads.

    Attributes
    ----------
    where : Place or None
        The text to change; None for a mistake that has no text (an option, a file that is absent).
    path : str
        Keys from the top of the scene, ``joints.grip_l.child``.
    what : str
        What was found and what was expected.
    hint : str
        What to do, or the nearest name; may be empty.
    context : str
        From which repeat, include or mirror the text was reached; may be empty.
    source_line : str
        The line of the file, for the excerpt; may be empty.
    severity : str
        ``error`` (nothing is run) or ``warning``.
    """

    where: Place | None
    path: str
    what: str
    hint: str = ""
    context: str = ""
    source_line: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        head = f"{one_line(self.where)}: " if self.where else ""
        mark = "" if self.severity == "error" else f"{self.severity}: "
        path, what, hint, context = (one_line(text) for text in (self.path, self.what, self.hint, self.context))
        lines = [f"{head}{mark}{path}: {what}" if path else f"{head}{mark}{what}"]
        if self.where and self.source_line:
            number = f"{self.where.line:>4}"
            text, start = _excerpt(self.source_line, self.where.column - 1)
            lines.append(f"{number} | {one_width(text)}")
            if start < len(text):
                span = max(1, min(self.where.length, len(text) - start))
                lines.append(" " * len(number) + " | " + " " * start + "^" * span)
        tail = "  ".join(part for part in (hint, f"({context})" if context else "") if part)
        if tail:
            lines.append("  " + tail)
        return "\n".join(lines)

    def as_data(self) -> dict[str, Any]:
        """Return the problem as plain data for ``--json``."""
        return {
            "file": self.where.file if self.where else None,
            "line": self.where.line if self.where else None,
            "column": self.where.column if self.where else None,
            "path": self.path,
            "what": self.what,
            "hint": self.hint,
            "context": self.context,
            "severity": self.severity,
        }


def _excerpt(line: str, start: int) -> tuple[str, int]:
    """Return what is shown of a line, and where in it the text begins that is meant."""
    if start > _WIDEST - 40:  # far to the right: leave the beginning out
        cut = start - 60
        line, start = "..." + line[cut:], start - cut + 3
    return (line[: _WIDEST - 3] + "..." if len(line) > _WIDEST else line), start


class SceneError(ValueError):
    """Everything that is wrong with a scene, found in one pass."""

    def __init__(self, problems: list[Problem]):
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))
