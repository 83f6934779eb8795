"""Units, and numbers that carry their dimension.  Nothing else in the program knows other units than SI.

Angles are pure numbers in arithmetic.  A *bare* number, written without any unit, is SI and fits
every dimension.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

Dimension = tuple[float, float, float]  # powers of kg, m, s

ONE: Dimension = (0, 0, 0)

# Unit -> value in SI, powers of kg, m, s.
UNITS: dict[str, tuple[float, Dimension]] = {
    "m": (1.0, (0, 1, 0)),
    "km": (1e3, (0, 1, 0)),
    "dm": (1e-1, (0, 1, 0)),
    "cm": (1e-2, (0, 1, 0)),
    "mm": (1e-3, (0, 1, 0)),
    "um": (1e-6, (0, 1, 0)),
    "kg": (1.0, (1, 0, 0)),
    "g": (1e-3, (1, 0, 0)),
    "mg": (1e-6, (1, 0, 0)),
    "s": (1.0, (0, 0, 1)),
    "ms": (1e-3, (0, 0, 1)),
    "us": (1e-6, (0, 0, 1)),
    "Hz": (1.0, (0, 0, -1)),
    "kHz": (1e3, (0, 0, -1)),
    "rad": (1.0, ONE),
    "mrad": (1e-3, ONE),
    "deg": (math.pi / 180, ONE),
    "rpm": (2 * math.pi / 60, (0, 0, -1)),
    "N": (1.0, (1, 1, -2)),
    "mN": (1e-3, (1, 1, -2)),
    "kN": (1e3, (1, 1, -2)),
    "J": (1.0, (1, 2, -2)),
    "kJ": (1e3, (1, 2, -2)),
    "W": (1.0, (1, 2, -3)),
    "kW": (1e3, (1, 2, -3)),
    "Pa": (1.0, (1, -1, -2)),
    "kPa": (1e3, (1, -1, -2)),
    "MPa": (1e6, (1, -1, -2)),
    "GPa": (1e9, (1, -1, -2)),
}

# How dimensions are called in messages, beyond products of kg, m and s.
_NAMES: dict[Dimension, str] = {
    ONE: "a pure number or an angle",
    (0, 1, 0): "a length (m)",
    (1, 0, 0): "a mass (kg)",
    (0, 0, 1): "a time (s)",
    (0, 0, -1): "a rate (1/s)",
    (0, 1, -1): "a speed (m/s)",
    (0, 1, -2): "an acceleration (m/s^2)",
    (1, 1, -2): "a force (N)",
    (1, 2, -2): "a torque or an energy (N m)",
    (1, 1, -1): "an impulse (N s)",
    (1, -3, 0): "a density (kg/m^3)",
    (1, 2, 0): "a moment of inertia (kg m^2)",
    (1, 0, -2): "a stiffness (N/m)",
    (1, 0, -1): "a damping (N s/m)",
    (1, 2, -1): "an angular impulse (N m s)",
    (1, 2, -3): "a power (W)",
}


class UnitError(ValueError):
    """Quantities that cannot be put together this way; the message is a sentence."""

    def __init__(self, what: str, hint: str = ""):
        super().__init__(what)
        self.hint = hint


def describe(dimension: Dimension) -> str:
    """Return what a dimension is, in words, ``a length (m)``."""
    if dimension in _NAMES:
        return _NAMES[dimension]
    powers = zip(("kg", "m", "s"), dimension, strict=True)
    return " ".join(name if power == 1 else f"{name}^{power:g}" for name, power in powers if power)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its dimension.

    Attributes
    ----------
    value : float
        In SI units; not-a-number when `live`.
    dimension : tuple
        Powers of kg, m and s.
    bare : bool
        Written without any unit: takes the dimension that is wanted.
    live : bool
        Known only while the scene runs; arithmetic then follows the dimension alone.
    truth : bool
        The result of a comparison.
    """

    value: float
    dimension: Dimension = ONE
    bare: bool = True
    live: bool = False
    truth: bool = False

    def __add__(self, other: object) -> Quantity:
        return self._sum(other, 1.0, "add")

    def __sub__(self, other: object) -> Quantity:
        return self._sum(other, -1.0, "subtract")

    def _sum(self, other: object, sign: float, verb: str) -> Quantity:
        right = scalar(other, f"{verb} to a number" if sign > 0 else "subtract from a number")
        scalar(self, verb)
        dimension = common((self, right), verb)
        return Quantity(self.value + sign * right.value, dimension, self.bare and right.bare, self.live or right.live)

    def __mul__(self, other: object) -> object:
        if isinstance(other, Vector):
            return other * self
        right = scalar(other, "multiply a number by")
        scalar(self, "multiply")
        a, b = self.dimension, right.dimension
        dimension = (a[0] + b[0], a[1] + b[1], a[2] + b[2])
        return Quantity(self.value * right.value, dimension, self.bare and right.bare, self.live or right.live)

    def __truediv__(self, other: object) -> Quantity:
        right = scalar(other, "divide a number by")
        scalar(self, "divide")
        if right.value == 0.0:
            raise UnitError("division by zero")
        a, b = self.dimension, right.dimension
        dimension = (a[0] - b[0], a[1] - b[1], a[2] - b[2])
        return Quantity(self.value / right.value, dimension, self.bare and right.bare, self.live or right.live)

    def __pow__(self, other: object) -> Quantity:
        power = scalar(other, "raise a number to")
        scalar(self, "raise to a power")
        live = self.live or power.live
        if power.dimension != ONE:
            raise UnitError(f"a power must be a pure number, not {describe(power.dimension)}")
        if self.dimension != ONE and power.live:
            raise UnitError(f"{describe(self.dimension)} can only be raised to a constant power")
        if live:
            value = math.nan
        else:
            try:
                value = self.value**power.value
            except (OverflowError, ZeroDivisionError) as error:
                raise UnitError(f"{self.value:g} to the power {power.value:g} is not a finite number") from error
            if isinstance(value, complex):
                raise UnitError(f"{self.value:g} to the power {power.value:g} is not a real number")
        dimension = ONE
        if self.dimension != ONE:
            dimension = (
                self.dimension[0] * power.value, self.dimension[1] * power.value, self.dimension[2] * power.value,
            )  # fmt: skip
        return Quantity(value, dimension, self.bare and power.bare, live)

    def __neg__(self) -> Quantity:
        scalar(self, "negate")
        return Quantity(-self.value, self.dimension, self.bare, self.live)

    def __pos__(self) -> Quantity:
        return scalar(self, "take")


class Vector(tuple[Quantity, ...]):
    """A list of quantities: a position, a joint's coordinates."""

    __slots__ = ()

    def __add__(self, other: object) -> Vector:
        return Vector(a + b for a, b in self._pairs(other, "add"))

    def __sub__(self, other: object) -> Vector:
        return Vector(a - b for a, b in self._pairs(other, "subtract"))

    def __mul__(self, other: object) -> Vector:
        factor = scalar(other, "multiply a list by")
        return Vector(item * factor for item in self)  # type: ignore[misc]

    def __truediv__(self, other: object) -> Vector:
        factor = scalar(other, "divide a list by")
        return Vector(item / factor for item in self)

    def __neg__(self) -> Vector:
        return Vector(-item for item in self)

    def __pos__(self) -> Vector:
        return self

    def _pairs(self, other: object, verb: str) -> list[tuple[Quantity, Quantity]]:
        if not isinstance(other, Vector) or len(other) != len(self):
            found = f"{len(other)} numbers" if isinstance(other, Vector) else "one number"
            raise UnitError(f"cannot {verb} {len(self)} numbers and {found}")
        return list(zip(self, other, strict=True))


def scalar(item: object, verb: str) -> Quantity:
    """Return the item if it is one number.

    Raises
    ------
    UnitError
        For a list, a text or a comparison; `verb` says what was to be done with it.
    """
    if isinstance(item, Quantity):
        if item.truth:
            raise UnitError(f"cannot {verb} a comparison")
        return item
    if isinstance(item, Vector):
        raise UnitError(f"cannot {verb} a list of {len(item)} numbers; pick one, as in [0], or take its norm(...)")
    raise UnitError(f"cannot {verb} a text")


def common(items: tuple[Quantity, ...], verb: str) -> Dimension:
    """Return the one dimension that all items share; bare ones adopt it.

    Raises
    ------
    UnitError
        If two of them differ.
    """
    found: Dimension = ONE
    measured = [item for item in items if not item.bare]
    if measured:
        found = measured[0].dimension
    for item in measured[1:]:
        if item.dimension != found:
            a, b = describe(found), describe(item.dimension)
            what = f"cannot subtract {b} from {a}" if verb == "subtract" else f"cannot {verb} {a} and {b}"
            sums = verb in ("add", "subtract") and any(item.live for item in items)
            raise UnitError(what, FACTOR_HINT if sums else "")
    return found


FACTOR_HINT = "a factor needs its unit, as in 40 N m s/rad"


@cache
def parse_unit(text: str) -> Quantity:
    """Return one of a unit as it is written in the schema, ``N m/rad``.

    Raises
    ------
    UnitError
        If a unit is unknown.
    """
    value, dimension, sign = 1.0, ONE, 1.0
    for token in text.replace("*", " ").replace("/", " / ").split():
        if token == "/":
            sign = -1.0
            continue
        name, _, power_text = token.partition("^")
        try:
            power = sign * (float(power_text) if power_text else 1.0)
            factor, powers = (1.0, ONE) if name == "1" else UNITS[name]
        except (KeyError, ValueError):
            raise UnitError(f"no unit named '{token}'") from None
        value *= factor**power
        dimension = tuple(d + power * p for d, p in zip(dimension, powers, strict=True))  # type: ignore[assignment]
        sign = 1.0
    return Quantity(value, dimension, bare=text.strip() == "1")
