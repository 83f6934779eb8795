"""Who answers which question of an integrator."""

from __future__ import annotations

import numpy as np

from sim.kernels.jit import interpreted
from sim.kernels.motion import motion
from sim.kernels.observe import observation
from sim.kernels.system import QUESTIONS, WATCH, System, places_of
from sim.model import Control, Guards, Tables, Work


def system_of(tables: Tables, control: Control, work: Work, guards: Guards) -> System:
    """Return the mechanism as an integrator sees it; the arrays must outlive it."""
    answers = [motion.address if question < WATCH else observation.address for question in range(QUESTIONS)]
    return System(
        answers=answers if interpreted() else np.array(answers, np.int64),
        places=places_of(tables, control, work, guards), reply=work.reply,
    )  # fmt: skip
