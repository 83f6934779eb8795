"""The problems found so far in one reading of a scene, and the texts that they point into."""

from __future__ import annotations

import re

from sim.scene.blame import Doubt, Written, told_once
from sim.scene.problem import Place, Problem, SceneError

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # where YAML ends a line


class Findings:
    """Collects problems; one mistake in the text is one problem, however often it is reached.

    Attributes
    ----------
    sources : dict of str to str
        File name to text of every file read, in reading order.
    lost : set of str
        Prefixes of files that could not be read whole: what they would name is not known, and not missed.
    turns : int
        Of all repeats read so far.
    notes : dict of str to None
        What reading made of the text that its author may want to know, each once.
    """

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.lost: set[str] = set()  # prefixes under which not all names are known
        self.turns = 0
        self.notes: dict[str, None] = {}
        self._lines: dict[str, list[str]] = {}
        self._found: dict[tuple[Place | None, str], Problem] = {}
        self._doubts: dict[tuple[Place | None, str], Doubt] = {}  # of those about dimensions
        self._written: dict[str, dict[str, Written]] = {}  # file -> parameters
        self._context: dict[Place, str] = {}

    def open(self, file: str, text: str, *, quoted: bool = True) -> None:
        """Make a file's text known, for excerpts where it may be quoted."""
        self.sources[file] = text
        self._lines[file] = _BREAK.split(text) if quoted else []

    def line(self, place: Place) -> str:
        """Return the line of text that a place lies in."""
        lines = self._lines.get(place.file, [])
        return lines[place.line - 1] if place.line <= len(lines) else ""

    def add(
        self, place: Place | None, path: str, what: str, hint: str = "", context: str = "", severity: str = "error"
    ) -> None:
        """Report a mistake.  The turns of a repeat and a file included twice report it once."""
        if place is not None and self._context.setdefault(place, context) != context:
            return
        line = self.line(place) if place else ""
        problem = Problem(
            where=place, path=path, what=what, hint=hint, context=context, source_line=line, severity=severity
        )
        self._found.setdefault((place, what), problem)

    def doubt(self, place: Place, what: str, doubt: Doubt) -> None:
        """Note what is known of a problem about dimensions that was reported."""
        self._doubts.setdefault((place, what), doubt)

    def parameter(self, name: str, place: Place, text: str) -> None:
        """Note where a parameter is declared, and as what if nothing overrides it."""
        written = Written(place, self.line(place), text)
        self._written.setdefault(place.file, {}).setdefault(name, written)

    def problems(self) -> list[Problem]:
        """Return all problems, sorted by file (in reading order), line and column."""
        order = {file: number for number, file in enumerate(self.sources)}

        def key(problem: Problem) -> tuple[int, int, int]:
            where = problem.where
            return (order.get(where.file, -1), where.line, where.column) if where else (-1, 0, 0)

        return sorted(told_once(self._found, self._doubts, self._written), key=key)

    def failed(self) -> bool:
        """Return whether a problem forbids to run the scene."""
        return any(problem.severity == "error" for problem in self._found.values())

    def close(self) -> list[Problem]:
        """Return the warnings; raise all problems if one of them is an error.

        Raises
        ------
        SceneError
            With every problem found, warnings included.
        """
        if self.failed():
            raise SceneError(self.problems())
        return self.problems()
