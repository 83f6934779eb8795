"""Torques along a whole motion, by kernels, beside those of each of its states by W and S."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sim
from sim.closed_chains.along import _factors, torques_of_tree
from sim.closed_chains.chain import Chain
from sim.scene.load import load_text
from tests.closed_chains.test_inverse import Case, close, pick
from tests.dynamics.engine import simulator_for
from tests.support import reference as ref
from tests.support.mechanisms import doubled, four_bar, random_mechanism, with_consistent_rates

SCENES = Path(__file__).parents[2] / "scenes"


def drawn(seed: int, loops: int) -> Case:
    """Return a random mechanism whose rotors are all in the tree."""
    rng = np.random.default_rng([seed, loops, 23])
    mechanism = random_mechanism(rng, int(rng.integers(2 + loops, 6 + loops)), loops, driven=True)
    links = [
        replace(link, drive=replace(link.drive, armature=0.0 * link.drive.armature))
        if i >= mechanism.tree and link.drive is not None
        else link
        for i, link in enumerate(mechanism.links)
    ]
    mechanism = replace(mechanism, links=tuple(links))
    mechanism = with_consistent_rates(rng, doubled(mechanism) if loops and seed % 3 == 0 else mechanism)
    simulator = simulator_for(mechanism)
    return Case(mechanism, simulator, sim.chain(simulator), rng)


def along(chain: Chain, accelerations: list[np.ndarray], actuated: Any, **more: Any) -> sim.InverseMotion:
    """Return the torques of frames of one state with several accelerations."""
    count = len(accelerations)
    return sim.inverse_motion(chain, [chain.q] * count, [chain.v] * count, accelerations, actuated, **more)


@pytest.mark.fast
@pytest.mark.parametrize("loops", range(5))
@pytest.mark.parametrize("kind", ["exactly", "under", "over"])
def test_frames_are_what_each_state_is_alone(loops: int, kind: str) -> None:
    """Springs, dampers and rotors, loop joints as actuators, loops given twice; weights."""
    compared = 0
    for seed in range(4):
        case = drawn(seed, loops)
        chain, n = case.chain, len(case.chain.v)
        assert not chain.armature[n:].any()
        actuated = pick(case, kind)
        wanted = []
        for _ in range(3):
            torque = np.zeros(len(chain.names))
            torque[chain.places(actuated)] = case.rng.normal(0, 5, len(actuated))
            free = chain.accelerations(case.rng.normal(0, 5, chain.T.shape[1]))
            wanted.append((chain.forward(torque) if kind == "under" else free)[:n])
        weights = case.rng.uniform(0.2, 5.0, len(actuated))
        found = along(chain, wanted, actuated, weights=weights)
        assert found.reached.all() and found.opening.max(initial=0.0) < 1e-8
        for torque, acceleration in zip(found.torque, wanted, strict=True):
            one = sim.inverse_dynamics(chain, acceleration, actuated, weights=weights)
            close(torque, one.torque, 1e-8)
            compared += torque.size
    assert compared > 0 or kind == "under"


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(6))
def test_torques_of_the_tree_are_those_of_its_mass_matrix(seed: int) -> None:
    """All types of joints, also where the loops are open and nothing fits them."""
    case = drawn(seed, seed % 3)
    chain, count = case.chain, 3
    v, a = case.rng.normal(size=(2, count, len(chain.v)))
    found = torques_of_tree(chain, [chain.q] * count, v, a)
    for s in range(count):
        here = Chain(chain.mechanism, chain.q, v[s])
        rest = np.zeros(len(chain.names) - len(chain.v))
        close(found[s], here.torques_of_tree(np.r_[a[s], rest])[: len(chain.v)], 1e-12)


SCREW = """
schema: 1
name: screw
bodies:
  nut: {mass: 2 kg, com: [0.1, 0, 0], gyration: [0.1, 0.12, 0.1]}
  arm: {mass: 1 kg, com: [0.4, 0.1, 0], gyration: [0.1, 0.1, 0.1]}
joints:
  thread: {type: helical, parent: world, child: nut, position: [0, 0, 0], axis: [0.3, 0, 1], pitch: 0.4 m}
  hinge: {type: rotational, parent: nut, child: arm, position: [0.2, 0, 0], axis: [0, 1, 0]}
initial: {thread: {rate: 3 rad/s}, hinge: {rate: -2 rad/s}}
simulate: {duration: 1 s}
"""


@pytest.mark.fast
def test_screws_slide_as_they_turn() -> None:
    """Torques of the tree by recursion, by M, and those under which the engine moves so."""
    simulator = sim.Simulator(sim.compile(load_text(SCREW)))
    chain, wanted = sim.chain(simulator), np.array([2.0, -5.0])
    torque = torques_of_tree(chain, [chain.q], [chain.v], [wanted])[0]
    close(torque, chain.torques_of_tree(wanted), 1e-13)
    close(along(chain, [wanted], chain.names).torque[0], torque, 1e-13)
    held = np.zeros(len(simulator.model.columns))
    held[chain.columns] = torque
    simulator.hold(held)
    close(sim.chain(simulator).acceleration, wanted, 1e-12)


def test_frames_of_a_motion_follow_their_own_states() -> None:
    """A four-bar through its run: the crank's motor gives what makes the run go as it goes by itself, nothing."""
    simulator = sim.Simulator(sim.compile(sim.load(SCENES / "four_bar.yaml")))
    chain, rows = sim.chain(simulator), []
    for t in np.linspace(0.0, 0.5, 11):
        simulator.advance(float(t))
        here = sim.chain(simulator)
        rows.append((here.q, here.v, here.acceleration))
    q, v, a = (np.array(column) for column in zip(*rows, strict=True))
    acted = [name for name in chain.names if "drive" in name]
    found = sim.inverse_motion(chain, q, v, a, acted)
    held = np.array([sim.inverse_dynamics(Chain(chain.mechanism, *row[:2]), row[2], acted).torque for row in rows])
    close(found.torque, held, 1e-10)
    assert np.ptp(q, axis=0).max() > 1.0 and found.reached.all()


def test_what_is_out_of_reach_or_beyond_bounds_is_taken_state_by_state() -> None:
    case = drawn(1, 1)
    chain, n = case.chain, len(case.chain.v)
    wanted = [chain.accelerations(case.rng.normal(0, 5, chain.T.shape[1]))[:n] for _ in range(2)]
    one = pick(case, "exactly")[:1]
    found = along(chain, wanted, one)
    assert found.actuation.kind == "under" and not found.reached.any()
    assert found.torque[1] == pytest.approx(sim.inverse_dynamics(chain, wanted[1], one).torque, rel=1e-9)
    every = chain.names
    loose = along(chain, wanted, every)
    most = 0.8 * float(np.abs(loose.torque[0]).max())
    bound = along(chain, wanted, every, bounds=most)
    for torque, acceleration in zip(bound.torque, wanted, strict=True):
        assert np.abs(torque).max() <= most
        close(torque, sim.inverse_dynamics(chain, acceleration, every, bounds=most).torque, 1e-8)
    assert not np.allclose(bound.torque[0], loose.torque[0])


def test_rotors_of_loop_joints_are_taken_state_by_state() -> None:
    rng = np.random.default_rng(8)
    drawn_bar = four_bar(rng)
    *tree, loop = drawn_bar.links
    rotor = replace(loop, drive=ref.drive("rotational", armature=[2.0]))
    chain = sim.chain(simulator_for(with_consistent_rates(rng, replace(drawn_bar, links=(*tree, rotor)))))
    wanted = chain.accelerations(np.array([3.0]))[: len(chain.v)]
    found, bare = (along(one, [wanted], "j0") for one in (chain, sim.chain(simulator_for(drawn_bar))))
    assert found.torque[0] == pytest.approx(sim.inverse_dynamics(chain, wanted, "j0").torque, rel=1e-12)
    assert found.reached.all() and abs(found.torque[0, 0] - bare.torque[0, 0]) > 1.0


@pytest.mark.fast
@pytest.mark.parametrize(
    ("frames", "says"),
    [
        ((np.zeros((2, 2)), np.zeros((2, 3)), np.zeros((2, 3))), "q: found shape (2, 2); expected (frames, 3)"),
        ((np.zeros((2, 3)), np.zeros((1, 3)), np.zeros((2, 3))), "v: found shape (1, 3); expected (2, 3)"),
        ((np.zeros((2, 3)), np.zeros((2, 3)), np.array([[0.0] * 3, [0.0, np.nan, 0.0]])), "acceleration: frame 1 has"),
    ],
)
def test_frames_that_cannot_be_meant_are_refused(frames: Any, says: str) -> None:
    chain = sim.chain(SCENES / "four_bar.yaml")
    with pytest.raises(ValueError) as refusal:
        sim.inverse_motion(chain, *frames, chain.names[:1])
    assert says in str(refusal.value)


@pytest.mark.parametrize(
    "name", [pytest.param("slider_crank", marks=pytest.mark.fast), "bicycle", "car", "snake", "rocking_block", "swing"]
)
def test_drives_wheels_and_contacts_are_of_no_concern(name: str) -> None:
    """Frames by the kernel are what W and S give: constraints bind, rows of drives and of points of contact do not."""
    chain = sim.chain(SCENES / f"{name}.yaml", at=0.2)
    rng = np.random.default_rng(9)
    wanted = chain.accelerations(rng.normal(size=chain.T.shape[1]))[: len(chain.v)]
    found = along(chain, [wanted], chain.names)
    alone = sim.inverse_dynamics(Chain(chain.mechanism, chain.q, chain.v), wanted, chain.names)
    assert found.reached.all() and np.abs(alone.torque).max() > 0.1
    close(found.torque[0], alone.torque, 1e-10)


@pytest.mark.fast
def test_what_acts_from_outside_goes_with_its_frame() -> None:
    """Wrenches on bodies and torques on joints of tree and loop, other ones in each frame, as at each state alone."""
    case = drawn(3, 2)
    chain, count = case.chain, 4
    actuated = pick(case, "exactly")
    wanted = [chain.accelerations(case.rng.normal(0, 3, chain.T.shape[1]))[: len(chain.v)] for _ in range(count)]
    names = [chain.mechanism.model.body_names[1], chain.names[0], chain.names[-1]]
    external = {
        names[0]: case.rng.normal(0, 5, (count, 6)),
        **{n: case.rng.normal(0, 5, (count, 1)) for n in names[1:]},
    }
    found = along(chain, wanted, actuated, external=external)
    assert found.reached.all()
    for s in range(count):
        acts = {name: values[s] for name, values in external.items()}
        alone = sim.inverse_dynamics(chain, wanted[s], actuated, external=acts)
        close(found.torque[s], alone.torque)
        free = sim.inverse_dynamics(chain, wanted[s], actuated)
        pushed = np.zeros(len(chain.names))
        pushed[[0, -1]] = external[names[1]][s, 0], external[names[2]][s, 0]
        pushed[: len(chain.v)] += chain.jacobian(names[0]).T @ external[names[0]][s]
        close(free.tau_G - alone.tau_G, chain.T.T @ pushed)


@pytest.mark.fast
def test_what_is_missing_is_told_along_the_directions_of_the_first_frame() -> None:
    case = drawn(1, 1)
    chain = case.chain
    wanted = [chain.accelerations(case.rng.normal(0, 3, chain.T.shape[1]))[: len(chain.v)] for _ in range(3)]
    found = along(chain, wanted, pick(case, "under"))
    assert found.missing.shape == (3, found.actuation.lacking)
    assert np.array_equal(found.actuation.S, chain.S(found.actuation.names))
    for s in range(3):
        alone = sim.inverse_dynamics(chain, wanted[s], found.actuation.names)
        close(found.missing[s], [alone.missing[name] for name in found.actuation.along])
    assert np.abs(found.missing).max() > 0.01
    assert not along(chain, wanted, pick(case, "exactly")).missing.size


@pytest.mark.fast
def test_bounds_that_are_not_met_change_nothing_to_the_bit() -> None:
    """Also such as are just beyond the torques, on either side; those that are met are met."""
    case = drawn(2, 1)
    chain, every = case.chain, case.chain.names
    wanted = [chain.accelerations(case.rng.normal(0, 5, chain.T.shape[1]))[: len(chain.v)]]
    loose = along(chain, wanted, every)
    (torque,), inf = loose.torque, np.full(len(every), np.inf)
    for low, high in ((torque, inf), (-inf, torque), (torque - 1e-6, torque + 1e-6)):
        found = along(chain, wanted, every, bounds=np.stack([low, high], axis=1))
        assert np.array_equal(found.torque, loose.torque) and found.reached.all()
    strongest = int(np.argmax(np.abs(torque)))
    for side in (-1.0, 1.0):
        bounds = np.stack([-inf, inf], axis=1)
        bounds[strongest, int(side > 0)] = torque[strongest] - side * 0.1
        found = along(chain, wanted, every, bounds=bounds)
        assert found.torque[0, strongest] == pytest.approx(torque[strongest] - side * 0.1, rel=1e-12)


@pytest.mark.fast
@pytest.mark.parametrize("state_by_state", [False, True])
def test_motions_that_do_not_fit_tell_how_they_open_loops(state_by_state: bool) -> None:
    """Largest rate and acceleration of rows by hand: a ball in a socket, whose rows are in world axes, is torn off."""
    chain = sim.chain(load_text(SOCKET))
    acts = {"external": {"a": np.zeros((3, 1))}} if state_by_state else {}
    v, a = np.array([[0.2, -0.5], [0.0, 0.3], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 0.1], [0.7, -1.0]])
    found = sim.inverse_motion(chain, [chain.q] * 3, v, a, chain.names, **acts)
    # The end of the second arm is at (1, 1, 0) from its elbow at (0, 1, 0), where the first has brought it.
    expected = []
    for (w, u), (dw, du) in zip(v, a, strict=True):
        rate = w * np.array([-1.0, 1.0]) + u * np.array([0.0, 1.0])
        change = dw * np.array([-1.0, 1.0]) + du * np.array([0.0, 1.0])
        change -= w**2 * np.array([0.0, 1.0]) + (w + u) ** 2 * np.array([1.0, 0.0])
        expected.append([np.abs(rate).max(), np.abs(change).max()])
    close(found.opening, expected, 1e-12)


SOCKET = """
schema: 1
name: socket
bodies:
  one: {mass: 1, com: [0, 0.5, 0], inertia: [0.1, 0.1, 0.1]}
  two: {mass: 1, com: [0.5, 1, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  a: {type: rotational, parent: world, child: one, position: [0, 0, 0], axis: [0, 0, 1]}
  b: {type: rotational, parent: one, child: two, position: [0, 1, 0], axis: [0, 0, 1]}
  ball: {type: spherical, parent: world, child: two, position: [1, 1, 0]}
simulate: {duration: 1 s}
"""


def run_of(text: str, times: list[float]) -> tuple[sim.Simulator, list[Chain]]:
    simulator, chains = sim.Simulator(sim.compile(load_text(text))), []
    for t in times:
        simulator.advance(t)
        chains.append(sim.chain(simulator))
    return simulator, chains


@pytest.mark.fast
def test_forces_at_points_are_taken_as_the_run_had_them() -> None:
    """Frames of a run in which nothing drives: torques that make it go faster than it goes by itself, as at each."""
    from tests.closed_chains.test_parts_by_hand import PUSHED

    _, chains = run_of(PUSHED, [0.02, 0.05, 0.1])
    chain, rng, every = chains[0], np.random.default_rng(12), chains[0].names
    q, v = ([getattr(one, name) for one in chains] for name in "qv")
    wanted = [one.accelerations(rng.normal(0, 3, one.T.shape[1]))[: len(one.v)] for one in chains]
    wrenches = np.array([one._wrenches for one in chains])
    found = sim.inverse_motion(chain, q, v, wanted, every, wrenches=wrenches)
    assert found.reached.all()
    for s, one in enumerate(chains):
        close(found.torque[s], sim.inverse_dynamics(one, wanted[s], every).torque)
    by_itself = sim.inverse_motion(chain, q, v, [one.acceleration for one in chains], every, wrenches=wrenches)
    close(by_itself.torque, 0.0 * by_itself.torque, 1e-7)
    with pytest.raises(ValueError, match="its scene has forces at points; expected `wrenches`"):
        sim.inverse_motion(chain, q, v, wanted, every)


PAIR = """
schema: 1
name: pair
bodies:
  one: {{mass: 1, com: [0, 0, 0], inertia: [0.1, 0.1, 0.1]}}
  two: {{mass: 1, com: [1, 0, 0], inertia: [0.1, 0.1, 0.1]}}
joints:
  x: {{type: translational, parent: world, child: one, position: [0, 0, 0], axis: [1, 0, 0]}}
  y: {{type: translational, parent: world, child: two, position: [1, 0, 0], axis: [1, 0, 0]{more}}}
world: {{gravity: [0, 0, 0]}}
simulate: {{duration: 1 s}}
"""


@pytest.mark.fast
@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("missed", [1e-10, 1.5e-9, 1e-7, 1e-5])
def test_what_is_reached_is_so_but_for_roundoff(size: float, missed: float) -> None:
    """Two carts, one with a motor: what the other needs, relative to the largest torque, or to 1 N."""
    chain = sim.chain(load_text(PAIR.format(more="")))
    most = max(1.0, size)
    found = along(chain, [np.array([size, missed * most])], ["x"])
    assert found.torque[0, 0] == pytest.approx(size, rel=1e-12)
    assert found.reached.tolist() == [missed < 1e-8]
    told = 0.0 if missed < 1e-9 else missed * most  # roundoff is not told
    assert found.missing[0, 0] == pytest.approx(told, rel=1e-6) and found.actuation.along == ("y",)


@pytest.mark.fast
@pytest.mark.parametrize("more", [", stiffness: 3 N/m", ", damping: 0.5", ", armature: 2 kg", ""])
def test_torques_of_the_tree_leave_springs_and_have_rotors(more: str) -> None:
    chain = sim.chain(load_text(PAIR.format(more=more)))
    found = torques_of_tree(chain, [[0.1, 0.2]], [[0.3, 0.4]], [[5.0, 7.0]])
    close(found, [[5.0, 21.0 if "armature" in more else 7.0]], 1e-13)
    assert torques_of_tree(chain, np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2))).shape == (0, 2)
    none = sim.inverse_motion(chain, np.zeros((0, 2)), np.zeros((0, 2)), np.zeros((0, 2)), ["y"])
    assert none.torque.shape == (0, 1) and none.opening.shape == (0, 2) and none.missing.shape == (0, 1)
    with pytest.raises(ValueError, match=r"external, 'x': found shape \(1, 1\); expected \(2, numbers\)"):
        along(chain, [np.zeros(2)] * 2, ["y"], external={"x": np.zeros((1, 1))})
    with pytest.raises(ValueError, match=r"external, 'x': found shape \(2,\); expected \(2, numbers\)"):
        along(chain, [np.zeros(2)] * 2, ["y"], external={"x": np.zeros(2)})


@pytest.mark.fast
@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (3, 2), (0, 0)])
def test_there_is_room_for_a_factorisation_and_what_kernels_look_at_beside_it(rows: int, columns: int) -> None:
    """One place more than there are numbers: kernels look at the first of them also where there is none."""
    room = _factors(rows, columns)
    most = max(rows, columns)
    assert room.a_work.shape == (rows, columns) and room.q_work.shape == room.z_work.shape == (columns,)
    assert min(len(room.x_work), len(room.y_work)) > most and len(room.order_work) > columns
