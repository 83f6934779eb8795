"""This checkout beside another one: each benchmark in both by turns, ratios round by round."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.measure import Result

HERE = Path(__file__).resolve().parents[1]
Ask = Callable[[Path, str], dict[str, float]]


def once(root: Path, name: str) -> dict[str, float]:
    """Run a benchmark of a checkout in a process of its own; return name -> ours, of all its results.

    Raises
    ------
    RuntimeError
        When it fails there, with the end of what it printed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "bench", name, "--json"], cwd=root, env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{root}: {done.stderr[-300:]}")
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {one["name"]: one["ours"] for one in found if one["ours"] is not None}


def compare(other: Path, name: str, rounds: int, ask: Ask = once) -> list[Result]:
    """Return results with the other checkout as the peer: medians, and as `more` the median of ratios by rounds.

    other : a checkout whose kernels are compiled, as those of this one are
    rounds : of both, one after the other, the first of each round by turns
    """
    pairs: dict[str, list[tuple[float, float]]] = {}
    for k in range(rounds):
        roots = (HERE, other) if k % 2 == 0 else (other, HERE)
        found = {root: ask(root, name) for root in roots}
        for each in found[HERE].keys() & found[other].keys():
            pairs.setdefault(each, []).append((found[HERE][each], found[other][each]))
    return [_result(each, both) for each, both in sorted(pairs.items())]


def _result(name: str, pairs: Sequence[tuple[float, float]]) -> Result:
    ours, theirs = (list(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    return Result(
        name, statistics.median(ours), "", len(pairs), _spread(ours), peer="the other checkout",
        value=statistics.median(theirs), value_spread=_spread(theirs), note=f"median of ratios by rounds {ratio:.3f}",
        more={"by_rounds": ratio},
    )  # fmt: skip


def _spread(samples: Sequence[float]) -> float:
    if len(samples) < 2:
        return 0.0
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return (high - low) / statistics.median(samples)
