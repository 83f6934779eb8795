"""Who answers which question of an integrator."""

from __future__ import annotations

import numpy as np

from sim.kernels.jit import interpreted
from sim.kernels.motion import motion
from sim.kernels.observe import observation
from sim.kernels.scratch import Work
from sim.kernels.system import (
    CLASSICAL,
    CLEAR_GAPS,
    CLEARANCE,
    FEED,
    PLACE,
    QUESTIONS,
    RADAU,
    STEPPING,
    TELL,
    VARIATIONAL,
    WATCH,
    System,
    places_of,
)
from sim.kernels.tables import Control, Tables
from sim.kernels.watched import Guards


def system_of(tables: Tables, control: Control, work: Work, guards: Guards) -> System:
    """Return the mechanism as an integrator sees it; the arrays must outlive it.

    The kernels of the implicit method, of the variational one, of the classical one where rows bind rates and of time
    stepping are compiled, or loaded, where `work` has room for them; those of formulas that read forces where there are
    such formulas.
    """
    answers = [motion.address if question < WATCH else observation.address for question in range(QUESTIONS)]
    if len(work.turning):
        from sim.kernels.integrators.radau import radau

        answers[RADAU] = radau.address
    if len(work.carried):
        from sim.kernels.integrators.variational import variational

        answers[VARIATIONAL] = variational.address
    if len(work.own):
        from sim.kernels.integrators.classical import classical

        answers[CLASSICAL] = classical.address
    if len(work.contacts):
        from sim.kernels.integrators.stepping import stepping

        answers[STEPPING : TELL + 1] = [stepping.address] * 3
    if len(guards.table):
        from sim.kernels.guards.spans import spans

        answers[CLEARANCE] = spans.address
    if len(tables.late):
        from sim.kernels.feedback import feedback

        answers[FEED] = feedback.address
    if len(tables.meetings):
        from sim.kernels.guards.clearance import clearance
        from sim.kernels.unilateral.contact_system import contact

        answers[PLACE:CLEAR_GAPS] = [contact.address] * (CLEAR_GAPS - PLACE)
        answers[CLEAR_GAPS] = clearance.address
    addresses = answers if interpreted() else np.array(answers, np.int64)
    places = places_of(tables, control, work._replace(answers=addresses), guards)
    return System(answers=addresses, places=places, reply=work.reply)


def with_tables(like: System, tables: Tables) -> System:
    """Return the same for another structure of the same extent, of which all but the tables is laid out already."""
    if interpreted():
        return like._replace(places=(tables, *like.places[1:]))
    places, first = like.places.copy(), list[int]()
    for array in tables:
        first += [array.__array_interface__["data"][0], *array.shape]
    places[: len(first)] = first
    return like._replace(places=places)
