"""Interleaved rounds, medians, spread; a result is one line."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Samples = Mapping[str, list[float]]


@dataclass(frozen=True)
class Result:
    """Two medians for the same work, and how far the rounds lay apart.

    ours, value : in `unit`; value is the peer's, None without a peer.  ours is None where no setting of ours
        does the same work, which a note says
    spread, value_spread : interquartile range over median
    memory, value_memory : MB at the peak, of a process that does this side's work alone; None where not measured
    more : what else the JSON object says
    detail : whether tables leave it out
    """

    name: str
    ours: float | None
    unit: str
    rounds: int
    spread: float
    peer: str | None = None
    value: float | None = None
    value_spread: float | None = None
    note: str = ""
    memory: float | None = None
    value_memory: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    detail: bool = False

    @property
    def ratio(self) -> float | None:
        """Ours over the peer's: below 1 is faster."""
        return None if self.value is None or self.ours is None else self.ours / self.value

    def line(self) -> str:
        """Return one JSON object."""
        keys = {
            "name": self.name, "ours": self.ours, "unit": self.unit, "peer": self.peer, "value": self.value,
            "ratio": self.ratio, "rounds": self.rounds, "spread": self.spread, "value_spread": self.value_spread,
            "memory": self.memory, "value_memory": self.value_memory, "note": self.note, **self.more,
        }  # fmt: skip
        return json.dumps(keys, allow_nan=False)


def interleave(
    work: Mapping[str, Callable[[], int]],
    rounds: int,
    before: Mapping[str, Callable[[], None]] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Time every piece of work once a round, after one round that does not count.

    Each piece returns how many units it did; returned are seconds a unit, by piece and round.  What is
    called `before` a piece, by its name, is not timed.
    """
    before = before or {}
    samples: dict[str, list[float]] = {name: [] for name in work}
    for count in range(-1, rounds):
        for name, call in work.items():
            if name in before:
                before[name]()
            if count < 0:
                call()
                continue
            began = clock()
            units = call()
            samples[name].append((clock() - began) / units)
    return samples


def less(samples: Sequence[float], overhead: Sequence[float]) -> list[float]:
    """Return samples without the overhead measured in the same round."""
    return [a - b for a, b in zip(samples, overhead, strict=True)]


def spread(samples: Sequence[float]) -> float:
    """Return the interquartile range over the median; 0 for one sample."""
    if len(samples) < 2:
        return 0.0
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return (high - low) / statistics.median(samples)


def result(
    name: str, unit: str, ours: Sequence[float], *, scale: float = 1.0, peer: str | None = None,
    value: Sequence[float] | None = None, note: str = "", memory: float | None = None,
    value_memory: float | None = None,
) -> Result:  # fmt: skip
    """Return medians of samples [s], multiplied by `scale` to be in `unit`."""
    return Result(
        name=name, ours=scale * statistics.median(ours), unit=unit, rounds=len(ours), spread=spread(ours), peer=peer,
        value=None if value is None else scale * statistics.median(value),
        value_spread=None if value is None else spread(value), note=note, memory=memory, value_memory=value_memory,
    )  # fmt: skip
