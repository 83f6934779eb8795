"""Which method stepped when, and why: what a run with `method: auto` says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

METHODS = {"dop853": 0, "rk4": 1, "semi_implicit": 2, "radau": 3, "variational": 4, "stepping": 5}
FIXED = ("rk4", "semi_implicit", "variational", "stepping")  # methods of fixed steps
NAMES = {code: name for name, code in METHODS.items()}


@dataclass(frozen=True)
class Turn:
    """A method began to step.

    t : s
    steps : accepted before
    why : a phrase
    """

    t: float
    method: str
    steps: int
    why: str

    def __str__(self) -> str:
        return f"{self.method} from {self.t:.4g} s: {self.why}"


def first_turn(t: float, said: str) -> Turn:
    """Return how a scene begins."""
    if said == "auto":
        return Turn(t, "dop853", 0, "nothing stiff has been met")
    return Turn(t, said, 0, "the scene says so")


def next_turn(t: float, method: int, steps: int, radius: float, step: float, *, vain: bool) -> Turn:
    """Return the turn to a method.

    radius, step : largest rate met [1/s], last step [s]
    vain : the other method was tried, and did not pay
    """
    if NAMES[method] == "radau":
        return Turn(
            t, "radau", steps,
            f"stiff: stability holds the steps of dop853 at {step:.1e} s, as motions join or part at {radius:.1e} 1/s",
        )  # fmt: skip
    why = "implicit steps cost more than the explicit ones before" if vain else "no longer stiff"
    return Turn(t, "dop853", steps, f"{why} (largest rate {radius:.1e} 1/s)")


def account(turns: Sequence[Turn], t: float, steps: int) -> list[str]:
    """Return a line for each turn, and one for how long each method stepped where there were many.

    t, steps : s and accepted steps at the end
    """
    if len(turns) <= 4:
        lines = []
        for turn, (end, count) in zip(turns, [*((u.t, u.steps) for u in turns[1:]), (t, steps)], strict=True):
            lines.append(f"{turn.method} from {turn.t:.4g} to {end:.4g} s, {count - turn.steps} steps: {turn.why}")
        return lines
    spans: dict[str, list[float]] = {}
    for turn, (end, count) in zip(turns, [*((u.t, u.steps) for u in turns[1:]), (t, steps)], strict=True):
        span = spans.setdefault(turn.method, [0.0, 0])
        span[0] += end - turn.t
        span[1] += count - turn.steps
    shares = [f"{method} for {span:.4g} s, {count:.0f} steps" for method, (span, count) in spans.items()]
    return ["; ".join([*shares, f"{len(turns) - 1} changes"]), f"first {turns[1]}", f"last {turns[-1]}"]
