"""What a run passed by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Missed:
    """A crossing that a run passed by.

    kind : condition, contact or stop; name : of the event, the two bodies, the joint
    time : s, when it begins; depth : m, rad or the value of the condition, the most that was found
    """

    kind: str
    name: str
    time: float
    depth: float

    @property
    def sentence(self) -> str:
        """What is missed, where and how deep."""
        when = f"at t = {self.time:.6g} s"
        if self.kind == "condition":
            return f"the condition of event {self.name!r} becomes true {when}, by up to {self.depth:.2g}"
        if self.kind == "contact":
            return f"{self.name} meet {when} and get {self.depth:.2g} m into each other"
        return f"{self.name} {when}, by up to {self.depth:.2g}"
