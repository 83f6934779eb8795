"""What a flow holds is kept while one looks at another state through it."""

from __future__ import annotations

from sim.simulation.flow import Flow


class Kept:
    """All numbers of a flow that a look may change."""

    def __init__(self, flow: Flow):
        stepper, control = flow.stepper, flow.control
        arrays = [stepper.y, stepper.clock, stepper.count, control.turn, control.friction, *flow.work]
        self.pairs = [(array, array.copy()) for array in arrays if array.size]

    def restore(self) -> None:
        """Put them back."""
        for array, copy in self.pairs:
            array[...] = copy
