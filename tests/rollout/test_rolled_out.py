"""Room for motions, and what is told of them by name: by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels.status import Status
from sim.simulation.rolled_out import REASONS, Rollout, found, room_for

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("energies", [False, True])
@pytest.mark.parametrize("contacts", [False, True])
def test_there_is_room_for_what_is_asked_for(energies: bool, contacts: bool) -> None:
    room = room_for(3, 4, (7, 6), 2, (energies, contacts))
    e, c = 4 * energies, 4 * contacts
    assert [part.shape for part in room] == [
        (3, 4, 7), (3, 4, 6), (3,), (3,), (3, e, 5), (3, c, 2, 3), (3, c, 2, 3), (3, c, 2),
    ]  # fmt: skip
    assert room.status_out.dtype == room.reached_out.dtype == np.int64
    assert not any(part.any() for part in room[2:])
    told = found(np.arange(4.0), room, ("floor", "wall"), {1: "it fell"})
    assert (told.energy is None, told.contacts is None) == (not energies, not contacts)
    assert told.q is room.q_out and told.v is room.v_out and told.t.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert told.status is room.status_out and told.reached is room.reached_out and told.said == {1: "it fell"}


def test_energies_and_contacts_are_told_by_name() -> None:
    room = room_for(2, 3, (1, 1), 1, (True, True))
    rng = np.random.default_rng(0)
    for part in (room.energy_out, room.force_out, room.impulse_out, room.law_out):
        part[:] = rng.normal(size=part.shape)
    told = found(np.arange(3.0), room, ("floor",), {})
    kinetic, potential, dissipated, impact, put_in = np.moveaxis(room.energy_out, -1, 0)
    assert told.energy is not None and told.contacts is not None
    assert list(told.energy) == ["kinetic", "potential", "dissipated", "impact", "input", "balance"]
    for name, values in zip(told.energy, (kinetic, potential, dissipated, impact, put_in), strict=False):
        assert np.array_equal(told.energy[name], values)
    total = kinetic + potential + dissipated + impact - put_in
    assert told.energy["balance"] == pytest.approx(total - total[:, [0]], abs=1e-15)
    assert told.contacts.rules == ("floor",) and told.contacts.force is room.force_out
    assert told.contacts.impulse is room.impulse_out
    assert np.array_equal(told.contacts.penetration, room.law_out[:, :, 0])
    assert np.array_equal(told.contacts.residual, room.law_out[:, :, 1])


def test_motions_that_ended_early_say_when_and_why() -> None:
    status = np.array([Status.OK, Status.JAMMED, Status.NOT_FINITE, Status.NO_CLOSURE, Status.GUARD])
    one = Rollout(
        np.array([0.0, 0.25, 0.5]), np.zeros((5, 3, 1)), np.zeros((5, 3, 1)), status, np.array([2, 1, 0, -1, 1]),
        said={2: "its motor gives nan"},
    )  # fmt: skip
    assert one.ok.tolist() == [True, False, False, False, False]
    assert [one.reason(i) for i in range(5)] == [
        "", f"state 1 cannot go on after t = 0.25 s: {REASONS[Status.JAMMED]}",
        "state 2 cannot go on after t = 0 s: its motor gives nan", "state 3 cannot begin: a loop cannot be closed",
        "state 4 cannot go on after t = 0.25 s: GUARD",
    ]  # fmt: skip
