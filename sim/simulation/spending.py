"""What events cost beside time steps, by which `contact: auto` chooses.

Costs are counts of evaluations and of decisions, never a clock: the same scene turns at the same instant on every
machine.
"""

from __future__ import annotations

from dataclasses import dataclass

SPAN = 0.1  # s of a run over which costs are compared
STEP, DECISION = 3.0, 40.0  # evaluations that take as long as a time step, and as a decision
DEAR = 20.0  # times what time steps cost: more is too much for what events give


@dataclass
class Spending:
    """What the span that runs has cost so far.

    since : s, its beginning; evaluations : of slopes in all until then; decisions : on contacts since then
    """

    since: float = 0.0
    evaluations: int = 0
    decisions: int = 0

    def decided(self, t: float, evaluations: int, dt: float) -> str:
        """Count a decision at t; returns why events are too dear, or nothing.

        Parameters
        ----------
        t : float
            s.
        evaluations : int
            Of slopes in all.
        dt : float
            Time steps to be compared with [s].
        """
        self.decisions += 1
        made, over = evaluations - self.evaluations, t - self.since
        share = (made + DECISION * self.decisions) * dt / (STEP * max(over, SPAN))
        if share > DEAR:
            return (
                f"events cost {share:.0f} times as much ({self.decisions} decisions and {made} evaluations within "
                f"{over:.3g} s)"
            )
        if over > SPAN:
            self.since, self.evaluations, self.decisions = t, evaluations, 0
        return ""
