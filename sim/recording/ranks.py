"""Which rank the rows of loops and drives have, and when it changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

FEW = 6  # stretches that are told one by one
INSTANT = 1e-9  # of the span: events nearer to each other are told as one


def stretches(time: np.ndarray, rank: np.ndarray, rows: np.ndarray) -> list[dict[str, Any]]:
    """Return the stretches of recorded rows in which there are as many rows and the rank is the same.

    Parameters
    ----------
    time : (n,) array
        [s]
    rank, rows : (n,) array of int
        How many rows of loops and drives act, of how many; -1: not recorded.

    Returns
    -------
    stretches : list of dict
        `from`, `to` : first and last recorded time [s]; `rows`, `rank` : int
    """
    changed = np.flatnonzero((np.diff(rank) != 0) | (np.diff(rows) != 0)) + 1
    if not len(time):
        return []
    firsts = [0, *changed.tolist()]
    return [
        {"from": float(time[first]), "to": float(time[last - 1]), "rows": int(rows[first]), "rank": int(rank[first])}
        for first, last in zip(firsts, [*firsts[1:], len(time)], strict=True)
    ]


def ranks_sentence(found: Sequence[dict[str, Any]]) -> str:
    """Return stretches as a person reads them, "6 rows, rank 5 until 1.203 s; then rank 6"; empty without any rows."""
    if all(stretch["rank"] < 0 or stretch["rows"] == 0 for stretch in found):
        return ""
    found = _lasting(found)
    if len(found) > FEW:
        return _many(found)
    said = None
    parts = []
    for k, stretch in enumerate(found):
        state = _state(stretch, said)
        said = stretch["rows"]
        if len(found) == 1:
            return state
        if k == len(found) - 1:
            parts.append(f"then {state}")
        elif stretch["from"] == stretch["to"]:
            parts.append(f"{state} at {stretch['from']:.6g} s")
        else:
            parts.append(f"{state} until {found[k + 1]['from']:.6g} s")
    return "; ".join(parts)


def _lasting(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what is over at the instant at which it begins, between two events of that instant."""
    out: list[dict[str, Any]] = []
    instant = INSTANT * (found[-1]["to"] - found[0]["from"])
    for k, stretch in enumerate(found):
        if k + 1 < len(found) and found[k + 1]["from"] - stretch["from"] <= instant:
            continue
        if out and (out[-1]["rows"], out[-1]["rank"]) == (stretch["rows"], stretch["rank"]):
            out[-1] = {**out[-1], "to": stretch["to"]}
        else:
            out.append(stretch)
    return out


def _state(stretch: dict[str, Any], said: int | None) -> str:
    """Return rows and rank, the rows where they were not said before."""
    if stretch["rows"] == 0:
        return "no rows"
    count = "" if stretch["rows"] in (said, -1) else f"{stretch['rows']} row{'s' * (stretch['rows'] != 1)}, "
    return f"{count}rank {stretch['rank']}"


def _many(found: Sequence[dict[str, Any]]) -> str:
    rows, rank = ([stretch[key] for stretch in found] for key in ("rows", "rank"))
    count = f"{max(rows)} rows" if min(rows) == max(rows) else f"{min(rows)} to {max(rows)} rows"
    return (
        f"{count}, rank {min(rank)} to {max(rank)}, {len(found) - 1} changes, "
        f"the first at {found[1]['from']:.6g} s, the last at {found[-1]['from']:.6g} s"
    )
