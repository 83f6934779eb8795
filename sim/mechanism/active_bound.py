"""A freedom of a joint that stays where it is: at a stop, or by friction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ActiveBound:
    """What holds a freedom, and how much it can.

    column : of the freedom
    at : m or rad, the coordinate that it keeps
    low, high : N or N m between which its torque is; infinite where a stop pushes
    torque : N or N m, that it is to have where forces are not unique
    """

    column: int
    at: float
    low: float
    high: float
    torque: float = 0.0


def key_of(column: int, side: int) -> tuple[int, int, int]:
    """Return which stop of a freedom it is, or its friction (side 0), as points of contact have keys."""
    return (-(3 * column + side + 2), column, side)
