"""Inverse dynamics with feet on the ground: forces within cones of friction, centres of pressure within the faces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sim
from sim.closed_chains.inverse import InverseDynamics
from sim.scene.load import load_text

BOX = """
schema: 1
name: box
world: {shapes: [{plane: {}}]}
bodies:
  box: {mass: 3 kg, position: [0.2, 0.1, 0.25], shapes: [{box: {center: [0.2, 0.1, 0.25], size: [0.4, 0.2, 0.5]}}]}
contacts: {ground: {between: [box, world], friction: 0.5}}
"""
G = 9.81
FACE = np.array([[x, y, -0.25] for x in (-0.2, 0.2) for y in (-0.1, 0.1)])
JOINTS = [
    f"human.{name}" for name in ("waist", "neck", *(f"{part}_{side}" for side in "lr" for part in (
        "shoulder", "elbow", "wrist", "hip", "knee", "ankle")))
]  # fmt: skip


def pushed(force: Any, sole: sim.Sole, height: float = 0.0) -> InverseDynamics:
    """Return what a box at rest takes that somebody pushes at a height above its middle."""
    chain = sim.chain(load_text(BOX))
    moment = np.cross([0.0, 0.0, height], force)
    return sim.inverse_dynamics(
        chain, np.zeros(6), [], external={"box": np.concatenate([moment, force])}, soles=[sole]
    )  # fmt: skip


def in_cones(found: InverseDynamics, friction: float, normal: Any = (0.0, 0.0, 1.0)) -> bool:
    """Tell whether every force presses, within its cone, which the pyramid is a little narrower than."""
    for each in found.ground.values():
        for standing in each:
            along = standing.force @ np.asarray(normal)
            across = np.linalg.norm(standing.force - np.outer(along, normal), axis=1)
            if np.any(along < -1e-9) or np.any(across > friction * along + 1e-9):
                return False
    return True


@pytest.mark.parametrize(
    ("push", "height"), [((0, 0, 0), 0.0), ((5, -3, 0), 0.0), ((6, 2, 0), 0.2), ((-9, 0, 4), -0.1)]
)
def test_a_box_is_held_by_its_face(push, height) -> None:
    """The ground gives what the push and the weight leave, and its centre is where their moment vanishes."""
    found = pushed(push, sim.Sole("box", FACE, 0.5), height)
    (standing,) = found.ground["box"]
    wanted = np.array([0, 0, 3 * G]) - np.array(push)
    assert standing.force.sum(axis=0) == pytest.approx(wanted, abs=1e-8)
    assert np.abs(found.residual).max() < 1e-8 and in_cones(found, 0.5)
    assert standing.wrench[:3] == pytest.approx(-np.cross([0, 0, height], push), abs=1e-8)
    x = 0.2 + (push[0] * (height + 0.25)) / wanted[2]  # from the middle of the face towards where it is pushed
    y = 0.1 + (push[1] * (height + 0.25)) / wanted[2]
    assert standing.centre == pytest.approx([x, y, 0.0], abs=1e-9)


def test_what_friction_cannot_hold_is_left() -> None:
    """Pushed by more than friction gives: some of it is missing, and the ground still gives no more than its cone."""
    found = pushed((20.0, 0.0, 0.0), sim.Sole("box", FACE, 0.5))
    (standing,) = found.ground["box"]
    assert in_cones(found, 0.5)
    # Nearest in kinetic energy: it would rise a little for more friction.
    assert standing.wrench[3] == pytest.approx(-0.5 * standing.wrench[5], rel=0.02) and standing.wrench[5] > 3 * G
    assert np.abs(found.residual).max() > 1.0
    held = pushed((0.97 * 0.5 * 3 * G, 0.0, 0.0), sim.Sole("box", FACE, 0.5), -0.2)  # nearly all that the cone has
    assert np.abs(held.residual).max() < 1e-8


def test_what_would_tip_over_the_edge_is_left() -> None:
    """With the centre of pressure beyond the face no forces that press can hold it."""
    tips = pushed((3 * G * 0.2 / 0.65 * 1.05, 0, 0), sim.Sole("box", FACE, 2.0), 0.4)
    (standing,) = tips.ground["box"]
    assert np.abs(tips.residual).max() > 0.1 and in_cones(tips, 2.0)
    assert np.all(np.abs(standing.centre[:2] - [0.2, 0.1]) <= [0.2 + 1e-9, 0.1 + 1e-9])
    stands = pushed((3 * G * 0.2 / 0.65 * 0.95, 0, 0), sim.Sole("box", FACE, 2.0), 0.4)
    assert np.abs(stands.residual).max() < 1e-8
    assert stands.ground["box"][0].centre[0] == pytest.approx(0.2 + 0.19, abs=1e-9)


def test_walls_press_along_their_own_normal() -> None:
    """Pressed against a wall from the left by twice what friction needs: the wall carries the weight."""
    wall = sim.Sole("box", np.array([[0.2, y, z] for y in (-0.1, 0.1) for z in (-0.2, 0.2)]), 0.5, (-1.0, 0.0, 0.0))
    found = pushed((4 * 3 * G, 0, 0), wall)
    (standing,) = found.ground["box"]
    assert standing.wrench[3:] == pytest.approx([-4 * 3 * G, 0, 3 * G], abs=1e-7)
    assert in_cones(found, 0.5, (-1.0, 0.0, 0.0)) and np.abs(found.residual).max() < 1e-8


@pytest.fixture(scope="module")
def figure() -> tuple[sim.Chain, list[sim.Sole]]:
    run = sim.Simulator(sim.compile(sim.load("figure_stands")))
    run.advance(0.05)
    return sim.chain(run), sim.soles(run)


def moved(chain: sim.Chain, size: float, seed: int) -> np.ndarray:
    """Return accelerations of all joints by chance, the body that carries all of them at rest."""
    out = np.zeros(len(chain.v))
    out[chain.places(JOINTS)] = np.random.default_rng(seed).normal(size=len(chain.places(JOINTS))) * size
    return out


@pytest.mark.parametrize(("size", "seed"), [(0.0, 0), (1.0, 1), (1.0, 2), (2.0, 3)])
def test_a_figure_stands_by_its_joints_and_the_ground(figure, size, seed) -> None:
    """Newton and Euler of the whole figure: forces of the ground change its momentum, whatever the joints do."""
    chain, soles = figure
    acceleration = moved(chain, size, seed)
    found = sim.inverse_dynamics(chain, acceleration, JOINTS, soles=soles)
    assert np.abs(found.residual).max() < 1e-7 and in_cones(found, 0.8)
    force, moment = np.zeros(3), np.zeros(3)
    for body, each in found.ground.items():
        for sole, standing in zip([one for one in soles if one.body == body], each, strict=True):
            for corner, f in zip(sole.corners, standing.force, strict=True):
                force += f
                moment += np.cross(chain.position(body, corner) - chain.centre_of_mass, f)
            places = np.array([chain.position(body, corner) for corner in sole.corners])
            assert np.all(standing.centre >= places.min(axis=0) - 1e-9)
            assert np.all(standing.centre <= places.max(axis=0) + 1e-9)
    rate = chain.momentum_rate(acceleration)
    assert force == pytest.approx([*rate[3:5], rate[5] + chain.mass * G], abs=1e-6)
    assert moment == pytest.approx(rate[:3], abs=1e-6)
    # M v' + bias + gravity = S^T tau + J^T f, of all freedoms.
    pushed = np.zeros(len(chain.v))
    pushed[chain.places(JOINTS)] = found.torque
    for body, each in found.ground.items():
        for sole, standing in zip([one for one in soles if one.body == body], each, strict=True):
            for corner, f in zip(sole.corners, standing.force, strict=True):
                pushed += chain.jacobian(body, corner)[3:].T @ f
    wanted = chain.mass_matrix @ acceleration + chain.bias + chain.gravity - chain.passive[: len(chain.v)]
    assert pushed == pytest.approx(wanted, abs=1e-6)


def least_within(E: np.ndarray, e: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the x with the least x.x, E x = e and bounds: x = clip(E^T y) for the y of the dual, by Newton's way."""

    U, s, E = np.linalg.svd(E, full_matrices=False)  # rows of size one, or Newton's matrix has no digits left
    e = U.T @ e / s

    def at(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.clip(E.T @ y, low, high)
        return x, e - E @ x

    y = np.zeros(len(e))
    for _ in range(500):
        x, off = at(y)
        if np.abs(off).max() < 1e-9 * max(1.0, np.abs(e).max()):
            return x
        free = ((E.T @ y > low) & (E.T @ y < high)).astype(float)
        H = (E * free) @ E.T
        step = np.linalg.solve(H + 1e-9 * np.trace(E @ E.T) / len(e) * np.eye(len(e)), off)
        share = 1.0
        while np.linalg.norm(at(y + share * step)[1]) > (1 - 1e-4 * share) * np.linalg.norm(off) and share > 1e-6:
            share *= 0.5
        y = y + share * step
    raise AssertionError("no least squares within these bounds")


def test_torques_are_the_least_that_the_cones_allow(figure) -> None:
    """Against bounded least squares with the equations as a heavy penalty, for weights and for bounds on torques."""
    chain, soles = figure
    acceleration = moved(chain, 1.0, 5)
    knees = {"human.knee_l": 100.0, "human.knee_r": 100.0}
    free = sim.inverse_dynamics(chain, acceleration, JOINTS, soles=soles, weights=knees)
    most = 0.6 * abs(free.torques["human.ankle_l[0]"])  # the other foot can take more
    for bounds in (None, {"human.ankle_l": most}):
        found = sim.inverse_dynamics(chain, acceleration, JOINTS, soles=soles, weights=knees, bounds=bounds)
        own = [corner for one in soles for corner in [(one.body, c) for c in one.corners]]
        angle = 2 * np.pi * np.arange(16) / 16
        names = found.actuation.names
        weights = np.array([100.0 if "knee" in name else 1.0 for name in names])
        rows, price = [], 1e-3 * chain.mechanism.model.length
        aside = np.cross([0, 0, 1.0], [1.0, 0, 0])
        for body, corner in own:
            for a in angle:
                edge = np.array([0, 0, 1.0]) + 0.8 * (np.cos(a) * aside + np.sin(a) * np.cross([0, 0, 1.0], aside))
                rows.append(chain.jacobian(body, corner)[3:].T @ edge)
        S = np.zeros((len(chain.v), len(names)))
        S[found.actuation.places, np.arange(len(names))] = 1.0
        E = np.hstack([S / np.sqrt(weights), np.array(rows).T / price])
        wanted = chain.mass_matrix @ acceleration + chain.bias + chain.gravity - chain.passive[: len(chain.v)]
        high = np.full(E.shape[1], np.inf)
        low = np.concatenate([np.full(len(names), -np.inf), np.zeros(len(rows))])
        if bounds is not None:
            ankle = [k for k, name in enumerate(names) if "ankle_l" in name]
            high[ankle], low[ankle] = most, -most
        least = least_within(E, wanted, low, high)
        tau = least[: len(names)] / np.sqrt(weights)
        assert found.torque == pytest.approx(tau, abs=1e-4)
        assert np.abs(found.residual).max() < 1e-6
        if bounds is not None:
            assert found.at_bounds == ("human.ankle_l[0]",)
            assert abs(found.torques["human.ankle_l[0]"]) == pytest.approx(most)


def test_a_bound_that_is_a_little_too_tight_leaves_a_little(figure) -> None:
    """What is missing grows from nothing as a bound that the motion needs is drawn in."""
    chain, soles = figure
    acceleration = moved(chain, 1.0, 5)
    free = sim.inverse_dynamics(chain, acceleration, JOINTS, soles=soles)
    most = max(abs(tau) for name, tau in free.torques.items() if "hip" in name)
    missing = []
    for share in (1.0, 0.999, 0.99, 0.95, 0.9):
        bounds = {"human.hip_l": share * most, "human.hip_r": share * most}
        found = sim.inverse_dynamics(chain, acceleration, JOINTS, soles=soles, bounds=bounds)
        missing.append(float(np.abs(found.residual).max()))
        assert max(abs(tau) for name, tau in found.torques.items() if "hip" in name) <= share * most + 1e-9
    assert missing[0] < 1e-6 and np.all(np.diff(missing) >= -1e-9) and missing[-1] < most
    assert missing[-1] > 0.1


def test_soles_of_a_run_are_where_it_touches() -> None:
    run = sim.Simulator(sim.compile(load_text(BOX)))
    run.advance(0.01)
    (sole,) = sim.soles(run)
    assert (sole.body, sole.friction) == ("box", 0.5)
    assert sorted(np.round(sole.corners, 9).tolist()) == sorted(np.round(FACE, 9).tolist())
    assert sole.normal == pytest.approx([0, 0, 1])
    flying = sim.Simulator(sim.compile(load_text(BOX.replace("0.25]", "0.75]"))))
    assert sim.soles(flying) == []
    lid = "position: [0.2, 0.1, 0.55], shapes: [{box: {center: [0.2, 0.1, 0.55], size: [0.2, 0.2, 0.1]}}]"
    two = BOX.replace("contacts:", f"  lid: {{mass: 1, {lid}}}\ncontacts:")
    stacked = sim.Simulator(sim.compile(load_text(two.replace("[box, world]", '["*", "*"]'))))
    stacked.advance(0.01)
    with pytest.raises(ValueError, match=r"touches 'lid'|'lid' touches"):
        sim.soles(stacked)


@pytest.mark.parametrize(("sole", "said"), [
    (sim.Sole("bax", FACE, 0.5), "soles: found 'bax' (str); expected bodies: world, box"),
    (sim.Sole("box", FACE[:, :2], 0.5), "expected corners (k, 3), body axes"),
    (sim.Sole("box", np.zeros((0, 3)), 0.5), "expected corners (k, 3), body axes"),
    (sim.Sole("box", FACE * np.nan, 0.5), "expected corners (k, 3), body axes"),
    (sim.Sole("box", FACE, -0.1), "found friction -0.1 (float); expected at least 0"),
    (sim.Sole("box", FACE, 0.5, (0, 0, 0)), "expected a normal, three numbers"),
])  # fmt: skip
def test_what_a_sole_lacks_is_told(sole, said) -> None:
    with pytest.raises(ValueError) as caught:
        pushed((0, 0, 0), sole)
    assert said in str(caught.value)
