"""What a text may refer to where it stands: parameters, loop variables, the prefix of its file."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sim.scene.expressions import ExpressionError, evaluate
from sim.scene.kept import Kept
from sim.scene.library import scenes_path
from sim.scene.names import full_name, nearest, own_name
from sim.scene.units import ONE, Quantity

_REFERENCE = re.compile(r"\$\{([^{}]*)\}")


@dataclass(frozen=True)
class Scope:
    """Surroundings of a piece of text.

    Attributes
    ----------
    folder : Path
        Where the files that it includes are looked for.
    prefix : str
        Put before the names of its file.
    part : int
        Index of the file's part.
    names : mapping of str to Quantity or str
        Parameters and loop variables; a loop variable that is no number is text.
    loops : mapping of str to str
        Loop variables as written, for ``${...}``.
    copies : int
        In how many turns of repeats the text stands, in all.
    included, turn : str
        From which include and which turn of a repeat the text is reached.
    chain : tuple of Path
        The files that include one another, from the scene to this one.
    kept : Kept or None
        Texts of files that are read in place of the files.
    home : Path
        Folder of the scene's own file.
    """

    folder: Path
    prefix: str = ""
    part: int = 0
    names: Mapping[str, Quantity | str] = field(default_factory=dict)
    loops: Mapping[str, str] = field(default_factory=dict)
    copies: int = 1
    included: str = ""
    turn: str = ""
    chain: tuple[Path, ...] = ()
    kept: Kept | None = None
    home: Path = Path()

    @property
    def context(self) -> str:
        """From where the text was reached, as messages say it."""
        repeat = f"from repeat: {self.turn}" if self.turn else ""
        return "; ".join(part for part in (repeat, self.included) if part)

    def is_foreign(self, path: Path) -> bool:
        """Return whether a file lies neither in the scene's folder nor among the shipped scenes.

        A scene from elsewhere may name any file that its reader can read: of such a one nothing is told but its name,
        unless it is what the scene takes it for.
        """
        found = path.resolve()
        return not any(found.is_relative_to(base.resolve()) for base in (self.home, scenes_path()))

    def full(self, name: str) -> str:
        """Return the full name of a thing of this file."""
        return full_name(self.prefix, name)

    def hint(self, full: str, known: Iterable[str]) -> str:
        """Return the nearest of the known full names, as this file calls it."""
        own = [name for name in (own_name(self.prefix, other) for other in known) if name]
        return nearest(own_name(self.prefix, full) or full, own)

    def with_turn(self, values: Mapping[str, tuple[str, Quantity | str]], copies: int) -> Scope:
        """Return the scope of one turn of a repeat; `values` are text and meaning of its variables."""
        first = next(iter(values))
        shown = f"{first} = {values[first][0]}"
        return dataclasses.replace(
            self,
            names={**self.names, **{name: meaning for name, (_, meaning) in values.items()}},
            loops={**self.loops, **{name: text for name, (text, _) in values.items()}},
            copies=copies,
            turn=f"{self.turn}, {shown}" if self.turn else shown,
        )

    def substitute(self, text: str) -> str:
        """Return a text with every ``${...}`` replaced by its value.

        Raises
        ------
        ExpressionError
            If there is no such loop variable, or its value is no whole number.
        """
        return _REFERENCE.sub(lambda match: self._value(match.group(1).strip()), text) if "${" in text else text

    def _value(self, inner: str) -> str:
        if inner in self.loops:
            return self.loops[inner]
        if inner.isidentifier() and inner not in self.names:
            known = list(self.loops)
            hint = nearest(inner, known) if known else "${...} is for the variables of a repeat"
            raise ExpressionError(f"no loop variable named '{inner}'", hint, inner)
        number = evaluate(inner, self.names)
        if number.live:
            raise ExpressionError(f"'{inner}' cannot be read", follows=True)
        if number.dimension != ONE or not math.isfinite(number.value) or abs(number.value - round(number.value)) > 1e-9:
            raise ExpressionError(f"${{{inner}}} is {number.value:g}; a name takes a text or a whole number", "", inner)
        return str(round(number.value))
