"""Screws: closed forms, the naive reference, the oracle, and a cylindrical joint whose two freedoms are geared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim
from sim.scene.load import load_text
from tests.closed_chains.papers import both_ways
from tests.contact.engine import G0, Run
from tests.dynamics.engine import accelerations_of, bodies_of, links_at, relative_error, simulator_for, simulator_of
from tests.dynamics.test_against_reference import assert_agrees, with_torques
from tests.linear.differences import differences
from tests.support import reference as ref
from tests.support.mechanisms import add_loop, hang, random_link, random_tree, with_consistent_rates, with_coordinates
from tests.support.peers import PinocchioTree, needs

METHODS = ("dop853", "radau", "rk4", "semi_implicit", "variational")
M, J = 0.5, 0.004  # kg, kg m^2: of the nut, about its axis

NUT = """
schema: 1
name: nut
bodies:
  nut: {{mass: {M}, com: {com}, inertia: [0.003, 0.003, {J}]}}
joints:
  rod: {{type: helical, parent: world, child: nut, position: [0, 0, 0], axis: {axis}, pitch: {pitch} m{more}}}
simulate: {simulate}
{rest}
"""


def how(method: str) -> str:
    """Return the block `simulate` for a method, or for time steps with contacts."""
    if method == "stepping":
        return "{contact: stepping, dt: 1 ms}"
    return f"{{method: {method}, {'rtol: 1e-11' if method in ('dop853', 'radau') else 'step: 1 ms'}}}"


def nut(
    pitch: float = 0.05, method: str = "dop853", com: Sequence[float] = (0, 0, 0), axis: Sequence[float] = (0, 0, 1),
    more: str = "", rest: str = "",
) -> str:  # fmt: skip
    return NUT.format(
        M=M, J=J, com=list(com), axis=list(axis), pitch=pitch, more=more, rest=rest, simulate=how(method)
    )  # fmt: skip


def lead(pitch: float) -> float:
    """Way along for a turn of one [m/rad]."""
    return pitch / (2.0 * math.pi)


# --- closed forms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("pitch", [0.05, -0.3])
@pytest.mark.parametrize(("linear", "angular"), [((0.2, -0.1, 3.0), (0.0, 0.0, 0.0)), ((0, 0, 0), (0.3, 0.1, -0.05))])
def test_a_blow_along_or_about_the_screw_turns_the_nut(
    pitch: float, linear: tuple[float, ...], angular: tuple[float, ...]
) -> None:
    """(J + m h^2) w = h P + L, of the parts along the axis; the rod takes the rest."""
    blow = f"events: {{blow: {{at: 0.1 s, impulse: {{body: nut, linear: {list(linear)}, angular: {list(angular)}}}}}}}"
    h, run = lead(pitch), Run(nut(pitch, rest=blow)).to(0.1)
    falls = -0.1 * G0 * M * h / (J + M * h**2)
    turns = (h * linear[2] + angular[2]) / (J + M * h**2)
    assert run.simulator.rate["rod"] == pytest.approx(falls + turns, rel=1e-9)
    (record,) = run.told.events
    assert record.name == "blow" and record.lost == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pitch", [0.05, -0.3])
def test_a_nut_falls_along_its_screw(pitch: float, method: str) -> None:
    """a = g / (1 + J / (m h^2)), with as much turning as that takes, many turns and both hands."""
    h = lead(pitch)
    a = -G0 / (1.0 + J / (M * h**2))
    run = Run(nut(pitch, method)).to(2.0)
    angle, state = 2.0 * a / h, run.simulator.state
    order = {"semi_implicit": 1e-3, "variational": 1e-3}.get(method, 1e-9)  # of first and second order in the step
    assert abs(angle) > 3.0 * math.pi
    assert state.coordinate["rod"] == pytest.approx(angle, rel=order)
    assert state.rate["rod"] == pytest.approx(2.0 * a / h, rel=order)
    assert state.position["nut"] == pytest.approx([0, 0, h * state.coordinate["rod"]], abs=1e-12)
    assert state.velocity["nut"] == pytest.approx([0, 0, 2.0 * a], rel=order)
    assert state.angular_velocity["nut"] == pytest.approx([0, 0, 2.0 * a / h], rel=order)
    if order < 1e-3:
        assert run.balance() < 1e-9
    force = state.force["rod"]
    assert force == pytest.approx([0, 0, -h * M * (a + G0), 0, 0, M * (a + G0)], abs=1e-9)


@pytest.mark.fast
def test_a_nut_in_time_steps_falls_the_same_way() -> None:
    a = -G0 / (1.0 + J / (M * lead(0.05) ** 2))
    state = Run(nut(method="stepping")).to(1.0).simulator.state
    assert state.rate["rod"] == pytest.approx(a / lead(0.05), rel=1e-9)
    assert state.coordinate["rod"] == pytest.approx(0.5 * a / lead(0.05), rel=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_a_tilted_screw_with_its_mass_beside_it_keeps_its_energy(seed: int) -> None:
    """T = (J + m r^2 + m h^2) v^2 / 2 and the weight of what goes round and along, whatever the axes."""
    rng = np.random.default_rng(seed)
    R = Rotation.random(random_state=seed)
    axis, com, h = R.apply([0, 0, 1]), rng.normal(0, 0.2, 3), lead(-0.4)
    run = Run(nut(-0.4, com=com.tolist(), axis=axis.tolist(), rest="initial: {rod: {rate: 3}}"))
    inertia = np.diag([0.003, 0.003, J])

    def energy(q: float, v: float) -> float:
        c = Rotation.from_rotvec(q * axis).apply(com) + h * q * axis
        across = com - (com @ axis) * axis
        moved = axis @ inertia @ axis + M * (across @ across) + M * h**2
        return float(0.5 * moved * v**2 + M * G0 * c[2])

    begun = energy(0.0, 3.0)
    for t in (0.3, 0.8, 1.5):
        state = run.to(t).simulator
        assert energy(state.coordinate["rod"], state.rate["rod"]) == pytest.approx(begun, abs=1e-9)


def test_a_driven_screw_takes_the_torque_of_lifting_and_turning() -> None:
    """tau = (J + m h^2) q'' + m g h."""
    h, w = lead(0.05), 4.0
    run = Run(nut(more=", motion: 9*sin(4*t/1 s)"))
    for t in (0.2, 0.55, 0.9):
        simulator = run.to(t).simulator
        simulator.flow.observe()
        assert simulator.coordinate["rod"] == pytest.approx(9 * math.sin(w * t), abs=1e-12)
        assert simulator.state.position["nut"][2] == pytest.approx(h * 9 * math.sin(w * t), abs=1e-12)
        expected = -(J + M * h**2) * 9 * w**2 * math.sin(w * t) + M * G0 * h
        assert simulator.state.torque["rod"] == pytest.approx(expected, rel=1e-9)
    assert run.balance() < 1e-8


def test_springs_dampers_and_armatures_act_along_the_turn() -> None:
    """(J + m h^2 + armature) q'' = -k q - c q' - m g h."""
    h, k, c, A = lead(0.2), 0.3, 0.02, 0.01
    run = Run(nut(0.2, more=f", stiffness: {k}, damping: {c}, armature: {A}"))
    inertia = J + M * h**2 + A
    rest, w0, d = -M * G0 * h / k, math.sqrt(k / inertia), c / (2.0 * inertia)
    w = math.sqrt(w0**2 - d**2)
    for t in (0.4, 1.3):
        expected = rest - rest * math.exp(-d * t) * (math.cos(w * t) + d / w * math.sin(w * t))
        assert run.to(t).simulator.coordinate["rod"] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("e", [0.0, 0.6])
def test_a_rigid_stop_turns_its_rate_back(e: float) -> None:
    """At 15 rad, more than two turns, where it comes with sqrt(2 a s)."""
    h = lead(0.05)
    a = -G0 / (1.0 + J / (M * h**2)) / h
    run = Run(nut(more=f", limits: {{range: [-15, 1], stop: rigid, restitution: {e}}}"))
    t = math.sqrt(30.0 / -a)
    run.to(t + 0.05)
    assert run.times()[0] == pytest.approx(t, abs=1e-8)
    before, after = (row["joints/rate"][0] for row in run.told.around[0])
    assert (before, after) == pytest.approx((a * t, -e * a * t), rel=1e-8)
    if e == 0.0:
        assert run.to(t + 0.5).simulator.coordinate["rod"] == pytest.approx(-15.0, abs=1e-9)
        assert run.simulator.state.torque["rod"] == pytest.approx(M * G0 * h, rel=1e-8)


@pytest.mark.parametrize("where", ["tree", "loop"])
def test_time_steps_meet_the_same_stops_and_friction(where: str) -> None:
    """To first order: about half of what is off is left with half the step."""
    make = nut if where == "tree" else press
    acts = ", limits: {range: [-9, 99], stop: rigid, restitution: 0.5}, friction: 0.01"
    text = {"more": acts} if where == "tree" else {"thread": acts}
    joint, times = ("rod" if where == "tree" else "thread"), (0.6, 2.3)
    exact, off = Run(make(**text)), []
    wanted = [exact.to(t).simulator.coordinate[joint] for t in times]
    assert len(exact.times()) > 0
    for dt in ("1 ms", "0.5 ms"):
        stepped = Run(make(method="stepping", **text).replace("dt: 1 ms", f"dt: {dt}"))
        off.append(np.abs([stepped.to(t).simulator.coordinate[joint] - x for t, x in zip(times, wanted, strict=True)]))
    assert off[0].max() < 3e-2
    assert 0.3 < off[1].max() / off[0].max() < 0.7


@pytest.mark.parametrize("method", ["dop853", "radau", "variational"])
def test_a_soft_stop_gives_back_what_it_took(method: str) -> None:
    h = lead(0.05)
    run = Run(
        nut(method=method, more=", limits: {range: [-15, 9], stiffness: 2, dissipation: 0}", rest="initial: {rod: -14}")
    )
    low = min(run.to(t).simulator.coordinate["rod"] for t in np.arange(0.05, 1.8, 0.02))
    x = M * G0 * h / 2.0
    assert low == pytest.approx(-15.0 - x - math.sqrt(x**2 + 2.0 * x), abs=2e-3)
    assert run.balance() < (1e-4 if method == "variational" else 1e-8)


# --- loops ------------------------------------------------------------------------------------------

PRESS = """
schema: 1
name: press
world: {{gravity: [0, 0, {g}]}}
bodies:
  screw: {{mass: 1, com: [0, 0, 0], inertia: [0.02, 0.02, 0.03]}}
  plate: {{mass: 2, com: [0.1, 0.2, 0], inertia: [0.5, 0.5, 0.5]}}
joints:
  bearing: {{type: rotational, parent: world, child: screw, position: [0, 0, 0], axis: [0, 0, 1]{bearing}}}
  guide: {{type: translational, parent: world, child: plate, position: [0.5, 0, 0], axis: [0, 0, 1]}}
  thread: {{type: helical, parent: screw, child: plate, position: [0, 0, 0], axis: [0, 0, 1], pitch: 6 cm{thread}}}
simulate: {simulate}
{rest}
"""


def press(bearing: str = "", thread: str = "", method: str = "dop853", rest: str = "", g: float = -G0) -> str:
    return PRESS.format(bearing=bearing, thread=thread, simulate=how(method), rest=rest, g=g)


@pytest.mark.parametrize("method", METHODS)
def test_a_press_closes_its_loop_over_many_turns(method: str) -> None:
    """The plate goes against the screw's turning: (J + m h^2) q'' = m g h; the loop counts the turns."""
    h = lead(0.06)
    a = 2.0 * G0 * h / (0.03 + 2.0 * h**2)
    run = Run(press(method=method)).to(2.0)
    state = run.simulator.state
    order = {"semi_implicit": 2e-3, "variational": 1e-4}.get(method, 1e-9)
    assert state.coordinate["bearing"] == pytest.approx(2.0 * a, rel=order)
    assert abs(state.coordinate["bearing"]) > 2.0 * math.pi
    assert state.coordinate["thread"] == pytest.approx(-state.coordinate["bearing"], abs=1e-9)
    assert state.coordinate["guide"] == pytest.approx(h * state.coordinate["thread"], abs=1e-10)
    assert state.rate["guide"] == pytest.approx(-h * state.rate["bearing"], abs=1e-10)
    assert [run.simulator.model.joint_names[j] for j in run.simulator.flow.structure.loops] == ["thread"]
    assert max(row["trust/position_residual"] for row in run.told.rows_) < 1e-10


def test_a_thread_in_a_loop_is_driven_and_keeps_its_books() -> None:
    h = lead(0.06)
    run = Run(press(thread=", motion: -7*t^2/1 s^2")).to(1.5)
    simulator = run.simulator
    simulator.flow.observe()
    assert simulator.coordinate["thread"] == pytest.approx(-7 * 1.5**2, abs=1e-10)
    assert simulator.coordinate["guide"] == pytest.approx(-7 * 1.5**2 * h, abs=1e-10)
    # The drive turns the thread: its work is what lifts and turns, (J + m h^2) q'' + m g h.
    assert simulator.state.torque["thread"] == pytest.approx((0.03 + 2.0 * h**2) * -14.0 + 2.0 * G0 * h, rel=1e-9)
    assert run.balance() < 1e-8


def test_stops_and_armatures_of_a_thread_in_a_loop() -> None:
    h, A = lead(0.06), 0.05
    a = 2.0 * G0 * h / (0.03 + 2.0 * h**2 + A)
    limits = "limits: {range: [-9, 99], stop: rigid, restitution: 0.5}"
    run = Run(press(thread=f", armature: {A}, {limits}")).to(0.5)
    assert run.simulator.rate["thread"] == pytest.approx(-0.5 * a, rel=1e-9)
    t = math.sqrt(18.0 / a)
    run.to(t + 0.05)
    assert run.times()[0] == pytest.approx(t, abs=1e-8)
    before, after = (row["joints/rate"][2] for row in run.told.around[0])
    assert (before, after) == pytest.approx((-a * t, 0.5 * a * t), rel=1e-8)


def test_a_thread_is_a_cylindrical_joint_whose_freedoms_are_geared() -> None:
    """On a moving base, in the tree and in a loop; the same motion by other rows."""
    text = """
schema: 1
name: both
bodies:
  base: {mass: 3, com: [0.1, 0, 0.2], inertia: [0.3, 0.2, 0.1]}
  nut: {mass: 1, com: [0.3, 0.1, 0.4], inertia: [0.02, 0.03, 0.04]}
  arm: {mass: 0.7, com: [0.5, 0.4, 0.1], inertia: [0.02, 0.03, 0.04]}
  block: {mass: 0.4, com: [0.6, 0.5, 0], inertia: [0.01, 0.01, 0.01]}
joints:
  ball: {type: spherical, parent: world, child: base, position: [0, 0, 0]}
  THREAD
  tip: {type: spherical, parent: nut, child: arm, position: [0.4, 0.2, 0.4]}
  rail: {type: translational, parent: base, child: block, position: [0.6, 0.5, 0], axis: [1, 0.2, 0.1]}
  end: {type: spherical, parent: block, child: arm, position: [0.6, 0.5, 0]}
initial: {ball: {rate: [1, 2, 3]}, thread: {rate: RATE}}
simulate: {rtol: 1e-11}
"""
    place = "parent: base, child: nut, position: [0.2, 0, 0.4], axis: [1, 2, 2]"
    screw = text.replace("THREAD", f"thread: {{type: helical, {place}, pitch: -20 cm}}").replace("RATE", "5")
    bound = text.replace("THREAD", f"thread: {{type: cylindrical, {place}}}").replace("RATE", f"[{5 * lead(-0.2)}, 5]")
    geared = bound + "constraints: {pair: {type: screw, joint: thread, pitch: -20 cm}}\n"
    one, two = (Run(t).to(1.0).simulator for t in (screw, geared))
    for body in ("base", "nut", "arm"):
        assert one.state.position[body] == pytest.approx(two.state.position[body], abs=1e-8)
        assert one.state.rotation[body] == pytest.approx(two.state.rotation[body], abs=1e-8)
    assert one.coordinate["thread"] == pytest.approx(two.coordinate["thread"][1], abs=1e-8)


# --- against the naive reference --------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(4))
def test_screws_in_trees_and_loops_move_as_the_reference_says(seed: int) -> None:
    rng = np.random.default_rng([seed, 77])
    kinds = ["helical", "rotational", "helical", "spherical", "helical"]
    tree = hang(rng, [(i - 1, str(kind)) for i, kind in enumerate(rng.permutation(kinds))], driven=True)
    for _ in range(seed % 3):
        tree = add_loop(rng, tree, ("helical", "rotational"), driven=True) or tree
    mechanism, controllers = with_torques(rng, with_consistent_rates(rng, tree))
    assert_agrees(mechanism, controllers=controllers)


@pytest.mark.fast
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("peer", [pytest.param(PinocchioTree, marks=needs("pinocchio"))])
def test_trees_of_screws_move_as_pinocchio_says(peer: type[PinocchioTree], seed: int) -> None:
    rng = np.random.default_rng([seed, 5])
    mechanism = with_coordinates(
        rng, random_tree(rng, 4 + seed, ("helical", "helical", "spherical", "rotational")), 3.0
    )
    tree, simulator = peer(mechanism), simulator_for(mechanism)
    for ours, theirs in zip(bodies_of(simulator, mechanism), tree.bodies(), strict=True):
        assert ours.com_W == pytest.approx(theirs.com_W, abs=1e-12)
        assert ours.v_com_W == pytest.approx(theirs.v_com_W, abs=1e-11)
    for found, expected in zip(accelerations_of(simulator, mechanism), tree.accelerations(), strict=True):
        assert relative_error(found, expected) < 1e-9


@pytest.mark.fast
@pytest.mark.parametrize("on", [-1, 0])
def test_a_screw_as_a_loop(on: int) -> None:
    rng = np.random.default_rng(3 + on)
    chain = hang(rng, [(-1, "spherical"), (0, "universal"), (1, "helical"), (2, "rotational")])
    if on >= 0:
        chain = hang(rng, [(-1, "universal"), (0, "spherical"), (1, "cylindrical"), (2, "universal")])
    loop = random_link(rng, "helical", on, 3, chain.bodies[3].com_W + rng.normal(0, 0.2, 3), driven=True)
    mechanism = replace(chain, links=(*chain.links, loop), joints=(*chain.joints, "loop0"))
    mechanism, controllers = with_torques(rng, with_consistent_rates(rng, mechanism))
    simulator = assert_agrees(mechanism, controllers=controllers)
    bodies = bodies_of(simulator, mechanism)
    expected = ref.rates(links_at(mechanism, bodies)[-1], bodies)
    assert np.atleast_1d(simulator.rate["loop0"]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.fast
def test_the_papers_coordinates_answer_as_the_engine_does() -> None:
    """With the slide of a screw among what its loop lets free; one freedom is left, and the loop is none in a plane."""
    simulator = simulator_of(press(rest="initial: {bearing: {rate: 3}}", thread=", armature: 0.02"))
    simulator.advance(0.3)
    both = both_ways(simulator)
    assert both.error < both.allowed and np.abs(both.engine).max() > 1.0
    said = sim.info(load_text(press()))
    assert (said["mobility"], said["redundant_rows"]) == (1, 4)
    assert "planar" not in " ".join(sim.check(load_text(press())).notes)


# --- events -----------------------------------------------------------------------------------------

EVENTS = """
events:
  let go: {at: 1.5 s, cut: rod}
  again: {at: 2 s, connect: rod}
"""


@pytest.mark.parametrize("method", ["dop853", "radau", "variational"])
def test_a_nut_that_is_cut_and_connected_anew_knows_its_turns(method: str) -> None:
    """Without weight it goes on as it did, along and about; its way tells that it is at 16 rad, two turns and more."""
    text = nut(0.05, method, rest="initial: {rod: {rate: 8}}\nworld: {gravity: [0, 0, 0]}" + EVENTS)
    run, off = Run(text).to(1.75), 1e-3 if method == "variational" else 1e-8
    assert run.simulator.state.position["nut"][2] == pytest.approx(14.0 * lead(0.05), abs=off)
    run.to(2.5)
    assert run.simulator.coordinate["rod"] == pytest.approx(20.0, abs=off)
    z = run.simulator.state.position["nut"][2]
    assert z == pytest.approx(lead(0.05) * run.simulator.coordinate["rod"], abs=1e-9)
    assert len(run.simulator.flow.structure.loops) == 1
    assert max(row["trust/position_residual"] for row in run.told.rows_) < 1e-10


def test_a_thread_that_does_not_meet_is_not_connected() -> None:
    """A nut a quarter of the pitch away from where its turn has it."""
    text = nut(rest="initial: {rod: {rate: 8}}\nworld: {gravity: [0, 0, 0]}" + EVENTS).replace(
        "let go: {at: 1.5 s, cut: rod}",
        "let go: {at: 1.5 s, cut: rod, impulse: {body: nut, linear: [0, 0, 12.5 mN s]}}",
    )
    with pytest.raises(sim.SimulationError, match="m"):
        Run(text).to(2.5)


def test_a_loop_of_a_thread_opens_and_closes_at_turned_angles() -> None:
    events = "events:\n  open: {at: 1 s, cut: thread}\n  shut: {at: 1.4 s, connect: thread}\n"
    run = Run(press(g=0.0, rest="initial: {bearing: {rate: -9}}\n" + events)).to(1.2)
    assert not run.simulator.flow.structure.loops
    run.to(2.0)
    assert run.simulator.coordinate["thread"] == pytest.approx(18.0, abs=1e-8)
    assert run.simulator.coordinate["guide"] == pytest.approx(18.0 * lead(0.06), abs=1e-9)


def test_a_screw_that_an_event_makes_begins_where_it_is() -> None:
    """It binds at the relative pose, at a coordinate of zero, and brings turn and slide together by its impulse."""
    text = """
schema: 1
name: caught
world: {gravity: [0, 0, 0]}
bodies: {nut: {mass: 0.5, com: [0, 0, 0], inertia: [0.003, 0.003, 0.004]}}
initial: {nut: {velocity: [0, 0, 2]}}
events: {catch: {at: 0.5 s, connect: {rod: {type: helical, parent: world, child: nut, position: [0, 0, 0],
  axis: [0, 0, 1], pitch: 30 cm}}}}
"""
    run, h = Run(text).to(1.5), lead(0.3)
    v = 0.5 * 2 * h / (0.004 + 0.5 * h**2)  # m v = P, of the virtual work along the screw
    assert run.simulator.rate["rod"] == pytest.approx(v, rel=1e-9)
    assert run.simulator.coordinate["rod"] == pytest.approx(v, rel=1e-9)
    assert run.simulator.state.position["nut"][2] == pytest.approx(1.0 + h * v, rel=1e-9)


# --- trust, linear models, scenes -------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [nut(com=[0.1, 0.05, 0], axis=[0.3, 0.2, 1]), press(), nut(more=", motion: 9*sin(4*t/1 s)")]
)
def test_the_oracle_finds_nothing(text: str, tmp_path: Path) -> None:
    text = text.replace("simulate: {", "simulate: {duration: 1.5 s, ")
    sim.run(load_text(text), output=tmp_path / "run.h5").close()
    verdict = sim.verify(tmp_path / "run.h5", instants=8)
    assert verdict.problems == []
    assert verdict.residuals["position"].value < 1e-10 and verdict.residuals["velocity"].value < 1e-9
    for instant in verdict.instants:
        assert max(instant.acceleration, instant.constraint, instant.force, instant.drive) < instant.allowed
        assert instant.rank == instant.oracle_rank and not instant.marks


@pytest.mark.fast
@pytest.mark.parametrize(
    "text",
    [
        nut(com=[0.1, 0.05, 0], axis=[0.3, 0.2, 1], more=", stiffness: 0.3, damping: 0.02, armature: 0.01"),
        press(rest="initial: {bearing: {coordinate: 20 deg, rate: 3}}", thread=", stiffness: 0.4, armature: 0.02"),
    ],
)  # fmt: skip
def test_linear_models_are_derivatives_of_the_engine(text: str) -> None:
    simulator = simulator_of(text)
    simulator.advance(0.7)
    model = sim.linearize(simulator)
    expected = differences(simulator, model)
    assert model.trust["engine"] < 1e-10
    assert np.max(np.abs(model.A - expected)) < 1e-7 * np.max(np.abs(expected))


@pytest.mark.fast
def test_the_twin_of_a_screw_has_a_thread_of_the_other_hand() -> None:
    text = """
schema: 1
name: twins
mirror: {l: r, plane: y}
bodies: {nut_l: {mass: 0.5, com: [0.1, 0.3, 0.2], inertia: [0.003, 0.003, 0.004]}}
joints: {rod_l: {type: helical, parent: world, child: nut_l, position: [0, 0.3, 0], axis: [0.1, 0.4, 1], pitch: 5 cm}}
initial: {rod_l: {rate: 2}, rod_r: {rate: 2}}
"""
    scene = load_text(text)
    assert [joint.pitch for joint in scene.joints] == [0.05, -0.05]
    state = Run(text).to(1.0).simulator.state
    left, right = state.position["nut_l"], state.position["nut_r"]
    assert right == pytest.approx(left * [1, -1, 1], abs=1e-9)
    assert abs(left[1] - 0.3) > 1e-3


def problems(text: str) -> str:
    with pytest.raises(sim.SceneError) as found:
        load_text(text)
    return " ".join(problem.what for problem in found.value.problems)


@pytest.mark.fast
def test_a_pitch_is_asked_for_where_it_belongs() -> None:
    whole = nut()
    assert "needs key 'pitch'" in problems(whole.replace(", pitch: 0.05 m", ""))
    assert "the pitch is 0" in problems(whole.replace("0.05 m", "0 m"))
    assert "a rotational joint has no 'pitch'" in problems(whole.replace("helical", "rotational"))
    assert "expected a length (m)" in problems(whole.replace("0.05 m", "3 deg"))


@pytest.mark.fast
def test_coordinates_are_written_as_angles() -> None:
    run = Run(nut(rest="initial: {rod: {coordinate: 900 deg, rate: 90 deg/s}}\nworld: {gravity: [0, 0, 0]}"))
    assert run.simulator.coordinate["rod"] == pytest.approx(5.0 * math.pi)
    assert run.simulator.state.position["nut"][2] == pytest.approx(2.5 * 0.05)
    assert run.simulator.rate["rod"] == pytest.approx(math.pi / 2)


@pytest.mark.fast
@pytest.mark.parametrize("contact", ["event", "stepping"])
def test_the_loop_of_a_press_follows_its_screw(contact: str) -> None:
    """The ram goes along as the thread turns, near its stop, too; the forces of the loop are one choice among many."""
    lower = "limits: {range: [-0.1 mm, 30 cm], stop: rigid, restitution: 0.4}"
    text = (Path(__file__).parents[2] / "scenes" / "screw_press.yaml").read_text()
    scene = load_text(text.replace("limits: {range: [-21 cm, 30 cm], stop: rigid, restitution: 0.4}", lower))
    run = Run(replace(scene, simulate=replace(scene.simulate, contact=contact, dt=1e-3))).to(0.01)
    state = run.simulator.state
    assert len(run.times("impact")) == (contact == "event") and state.rate["thread"] > 0.0
    assert state.coordinate["guide"] == pytest.approx(lead(0.18) * state.coordinate["thread"], abs=1e-9)
    assert np.isfinite(state.force["thread"]).all()


@pytest.mark.fast
def test_a_nut_that_screws_itself_down_lands_on_what_lies_below() -> None:
    """It falls evenly, and touches after the time that its acceleration says."""
    gap, h = 1e-4, lead(0.3)
    rest = "contacts: {all: {between: [nut, anvil]}}"
    text = nut(0.3, rest=rest).replace("inertia:", "shapes: [{sphere: {center: [0, 0, 0], radius: 0.1}}], inertia:")
    box = f"box: {{center: [0, 0, {-0.2 - gap}], size: [0.5, 0.5, 0.2]}}"
    anvil = f"anvil: {{mass: 1, com: [0, 0, -0.5], gyration: [1, 1, 1], shapes: [{{{box}}}]}}"
    foot = "foot: {type: fixed, parent: world, child: anvil, position: [0, 0, -1]}"
    text = text.replace("bodies:\n", f"bodies:\n  {anvil}\n").replace("joints:\n", f"joints:\n  {foot}\n")
    run = Run(text).to(0.02)
    a = G0 / (1.0 + J / (M * h**2))
    assert run.times("impact")[0] == pytest.approx(math.sqrt(2.0 * gap / a), rel=1e-9)
