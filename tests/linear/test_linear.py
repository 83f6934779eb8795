"""Linear models against closed forms, against differences of the engine, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from math import cos, pi, sqrt

import numpy as np
import pytest

import sim
from sim.analysis.linear import study
from sim.analysis.linear.steady import freedom_names
from sim.scene.load import load_text
from sim.scene.spec import Scene
from tests.dynamics.engine import simulator_for
from tests.dynamics.shipped import SCENES
from tests.linear.differences import differences, rates_of_change
from tests.support.mechanisms import LOOP_KINDS, four_bar, hang, random_link, random_mechanism, with_consistent_rates
from tests.support.scene_texts import number

STAND = "schema: 1\nname: x\nworld: {gravity: [0, 0, -9.81]}\n"


def model_of(text: str, **options: object) -> sim.Linearization:
    return sim.linearize(load_text(STAND + text), **options)  # type: ignore[arg-type]


def pendulum(more: str = "", rest: str = "") -> str:
    """A rod of 2 kg and 1 m hangs from a hinge."""
    return f"""
bodies: {{rod: {{mass: 2, com: [0, 0, -0.5], inertia: [{1 / 6}, {1 / 6}, 0.001]}}}}
joints: {{pin: {{type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0]{more}}}}}
{rest}"""


def sorted_values(values: object) -> np.ndarray:
    return np.sort_complex(np.round(np.asarray(values, complex), 11))


# --- closed forms -----------------------------------------------------------------------------------


def test_mass_spring_damper() -> None:
    model = model_of("""
bodies: {cart: {mass: 2, com: [0, 0, 0], inertia: [1, 1, 1]}}
joints: {rail: {type: translational, parent: world, child: cart, position: [0, 0, 0], axis: [1, 0, 0],
                stiffness: 50, damping: 3}}""")
    assert model.steady and model.states == ("rail", "rate(rail)") and model.inputs == ("rail",)
    assert np.allclose(model.A, [[0, 1], [-25, -1.5]], rtol=1e-15) and np.allclose(model.B, [[0], [0.5]], rtol=1e-15)
    assert np.allclose(
        model.eigenvalues, [-0.75 + sqrt(25 - 0.75**2) * 1j, -0.75 - sqrt(25 - 0.75**2) * 1j], rtol=1e-14
    )


def test_a_pendulum_hangs_and_stands() -> None:
    square = 2 * 9.81 * 0.5 / (1 / 6 + 2 * 0.25)
    hanging = model_of(pendulum())
    assert np.allclose(hanging.eigenvalues, [1j * sqrt(square), -1j * sqrt(square)], rtol=1e-14)
    standing = model_of(pendulum(rest="initial: {pin: 175 deg}"), at="steady")
    assert np.allclose(standing.eigenvalues, [-sqrt(square), sqrt(square)], rtol=1e-13)
    assert abs(standing.q[0] - pi) < 1e-12 and hanging.B[1, 0] == pytest.approx(1 / (1 / 6 + 0.5), rel=1e-14)


def test_an_inverted_double_pendulum() -> None:
    """Two point masses above one another, angles from the vertical: M = [[(m1+m2) l1^2, ...]], K = -g [...]."""
    m1, m2, l1, l2, g = 1.0, 0.7, 0.8, 0.5, 9.81
    model = model_of(f"""
bodies:
  lower: {{mass: {m1}, com: [0, 0, {l1}], inertia: [1e-300, 1e-300, 1e-300]}}
  upper: {{mass: {m2}, com: [0, 0, {l1 + l2}], inertia: [1e-300, 1e-300, 1e-300]}}
joints:
  foot: {{type: rotational, parent: world, child: lower, position: [0, 0, 0], axis: [0, 1, 0]}}
  knee: {{type: rotational, parent: lower, child: upper, position: [0, 0, {l1}], axis: [0, 1, 0]}}""")
    M = np.array([[(m1 + m2) * l1**2, m2 * l1 * l2], [m2 * l1 * l2, m2 * l2**2]])
    K = g * np.diag([(m1 + m2) * l1, m2 * l2])
    roots = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)))
    assert np.allclose(np.sort(model.eigenvalues.real), np.sort([*roots, *-roots]), rtol=1e-12)
    assert np.all(model.eigenvalues.imag == 0.0)


def test_a_four_bar_swings_as_a_pendulum_of_its_bars_and_coupler() -> None:
    """Two parallel bars of length l carry a coupler that only shifts: rows repeat one another, three of them."""
    bar, coupler, length, g = 0.4, 1.5, 0.6, 9.81
    hinges = [("left", 0.0, "world", "a", 0.0), ("right", 1.0, "world", "b", 0.0),
              ("low_left", 0.0, "a", "c", -length), ("low_right", 1.0, "b", "c", -length)]  # fmt: skip
    joints = "\n".join(
        f"  {name}: {{type: rotational, parent: {parent}, child: {child}, position: [{x}, 0, {z}], axis: [0, 1, 0]}}"
        for name, x, parent, child, z in hinges
    )
    model = model_of(f"""
bodies:
  a: {{mass: {bar}, com: [0, 0, {-length / 2}], inertia: [0.1, {bar * length**2 / 12}, 0.1]}}
  b: {{mass: {bar}, com: [1, 0, {-length / 2}], inertia: [0.1, {bar * length**2 / 12}, 0.1]}}
  c: {{mass: {coupler}, com: [0.4, 0, {-length}], inertia: [0.1, 0.2, 0.1]}}
joints:
{joints}""")
    square = g * (coupler * length + bar * length) / (coupler * length**2 + 2 * bar * length**2 / 3)
    assert model.states in (("left", "rate(left)"), ("right", "rate(right)"), ("low_left", "rate(low_left)"))
    assert np.allclose(model.eigenvalues, [1j * sqrt(square), -1j * sqrt(square)], rtol=1e-12)


@pytest.mark.parametrize("w", [60.0, 120.0])
def test_a_sleeping_top_is_stable_above_its_speed(w: float) -> None:
    """A eta'' - i C w eta' - m g l eta = 0 for the tip's eta = x + i y, in axes that do not turn."""
    m, height, C, g = 0.5, 0.1, 0.001, 9.81
    across = 0.001
    A = across + m * height**2
    model = model_of(f"""
bodies: {{top: {{mass: {m}, com: [0, 0, {height}], inertia: [{across}, {across}, {C}]}}}}
joints: {{tip: {{type: spherical, parent: world, child: top, position: [0, 0, 0]}}}}
initial: {{tip: {{rate: [0, 0, {w}]}}}}""")
    assert model.steady and model.follows == {"tip[2]": pytest.approx(w)}
    roots = np.roots([A, -1j * C * w, -m * g * height])
    moving = model.eigenvalues[np.abs(model.eigenvalues) > 1e-6]
    for root in [*roots, *roots.conj()]:
        assert np.min(np.abs(moving - root)) < 1e-9
    assert (np.max(moving.real) > 0.1) == (C * w < 2 * sqrt(A * m * g * height))


def test_a_free_body_about_its_middle_axis_is_a_steady_motion_that_grows() -> None:
    """lambda^2 = w^2 (I1 - I2) (I2 - I3) / (I1 I3); the shipped scene begins beside it, and no speed is lost."""
    model = sim.linearize(sim.load(SCENES / "benchmarks" / "dzhanibekov.yaml"), at="steady")
    w = model.follows["body about y of world"]
    assert model.steady and abs(w - 1.0) < 0.01 and len(model.follows) == 1
    assert np.max(model.eigenvalues.real) == pytest.approx(w * sqrt((3 - 2) * (2 - 1) / (3 * 1)), rel=1e-9)


def test_a_pendulum_on_a_driven_shaft_finds_the_angle_that_its_speed_holds() -> None:
    """theta'' = sin(theta) (w^2 cos(theta) - g / l) of a point mass: at rest where cos(theta) = g / (l w^2)."""
    w, length = 6.0, 0.5
    text = f"""
bodies:
  shaft: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}
  bob: {{mass: 0.3, com: [0, 0, {-length}], inertia: [1e-12, 1e-12, 1e-12]}}
joints:
  drive: {{type: rotational, parent: world, child: shaft, position: [0, 0, 0], axis: [0, 0, 1], motion: "{w} rad/s*t"}}
  pin: {{type: rotational, parent: shaft, child: bob, position: [0, 0, 0], axis: [0, 1, 0]}}
initial: {{pin: 40 deg}}"""
    model = model_of(text, at="steady")
    cosine = 9.81 / (length * w**2)
    assert model.steady and model.follows == {"drive": pytest.approx(w)}
    assert model.states == ("pin", "rate(pin)") and model.inputs == ("pin",)
    assert abs(cos(model.q[1]) - cosine) < 1e-10
    assert np.allclose(model.eigenvalues.imag, [w * sqrt(1 - cosine**2), -w * sqrt(1 - cosine**2)], rtol=1e-8)
    start = model_of(text)
    assert not start.steady and "'pin' is accelerated" in start.remark


def test_what_acts_is_differentiated_however_it_is_written() -> None:
    """A spring and a damper on the hinge, by formulas, as a torsion spring, and as a controller in Python."""
    k, d = 30.0, 0.4
    joint = model_of(pendulum(f", stiffness: {k}, damping: {d}"))
    torque = f"-{k} N*m*coordinate('pin')/rad-{d} N*m*s*rate('pin')/rad"
    formula = f'controllers: {{hold: {{type: torque, torques: {{pin: "{torque}"}}}}}}'
    torsion = f"forces: {{coil: {{type: torsion_spring, joint: pin, stiffness: {k}, damping: {d}}}}}"
    pd = f"controllers: {{hold: {{type: pd, joints: pin, target: 0, kp: {k}, kd: {d}}}}}"
    for rest, digits in ((formula, 1e-13), (torsion, 1e-13), (pd, 1e-8)):
        other = model_of(pendulum(rest=rest))
        assert np.allclose(other.A, joint.A, rtol=0.0, atol=digits * np.max(np.abs(joint.A))), rest
        assert bool(other.notes) == (rest is pd)


# --- against the engine -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_loops_against_differences_of_the_engine(seed: int) -> None:
    """Random trees of all joints, loops of all joints, moving, with springs, dampers and armatures in both."""
    rng = np.random.default_rng([7, seed])
    mechanism = with_consistent_rates(rng, random_mechanism(rng, 4 + seed % 2, seed % 3, driven=True))
    simulator = simulator_for(mechanism)
    model = sim.linearize(simulator)
    assert model.trust["engine"] < 1e-10
    expected = differences(simulator, model)
    assert np.max(np.abs(model.A - expected)) < 1e-7 * np.max(np.abs(expected)) and len(expected) > 2


@pytest.mark.fast
@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_every_joint_as_a_loop_between_two_that_move(kind: str) -> None:
    """Its frames turn with their bodies and slide along them, with springs, dampers and armature."""
    rng = np.random.default_rng([9, len(kind)])
    chain = hang(rng, [(-1, "universal"), (0, "spherical"), (1, "cylindrical"), (2, "universal")])
    loop = random_link(rng, kind, 0, 3, chain.bodies[3].com_W + rng.normal(0, 0.2, 3), driven=True)
    mechanism = replace(chain, links=(*chain.links, loop), joints=(*chain.joints, "loop0"))
    simulator = simulator_for(with_consistent_rates(rng, mechanism))
    assert [simulator.model.joint_names[j] for j in simulator.flow.structure.loops] == ["loop0"]
    model = sim.linearize(simulator)
    assert model.trust["engine"] < 1e-10
    expected = differences(simulator, model)
    assert np.max(np.abs(model.A - expected)) < 1e-7 * np.max(np.abs(expected)) and len(expected) > 2


@pytest.mark.fast
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("kind", ["rotational", "translational"])
def test_a_pressed_stop_is_a_spring_and_a_damper(kind: str, side: int) -> None:
    """Hunt and Crossley: push = k depth (1 + d rate of depth), pressed by a constant torque at rest, on either side."""
    k, d, inertia, push, bound = 40.0, 0.6, 0.5, 8.0, 0.3
    limits = f"[-2, {bound}]" if side > 0 else f"[-{bound}, 2]"
    model = model_of(
        f"""
bodies: {{b: {{mass: {inertia}, com: [0, 0, 0], inertia: [{inertia}, {inertia}, {inertia}]}}}}
joints: {{j: {{type: {kind}, parent: world, child: b, position: [0, 0, 0], axis: [1, 0, 0],
              limits: {{range: {limits}, stiffness: {k}, dissipation: {d}}}}}}}
controllers: {{press: {{type: torque, torques: {{j: {side * push}}}}}}}
initial: {{j: {side * (bound + push / k)!r}}}"""
    )
    assert model.steady
    assert np.allclose(model.A, [[0, 1], [-k / inertia, -push * d / inertia]], rtol=1e-12)


def test_redundant_rows_against_differences_of_the_engine() -> None:
    rng = np.random.default_rng(3)
    simulator = simulator_for(with_consistent_rates(rng, four_bar(rng)))
    model = sim.linearize(simulator)
    assert len(model.states) == 2
    expected = differences(simulator, model)
    assert np.max(np.abs(model.A - expected)) < 1e-8 * np.max(np.abs(expected))


FORCES = """
bodies:
  arm: {mass: 2, com: [0.3, 0, 0], inertia: [0.1, 0.2, 0.3], points: {tip: [0.6, 0, 0]}}
  ball: {mass: 0.5, com: [0.6, 0.1, -0.4], inertia: [0.01, 0.02, 0.03], points: {side: [0.6, 0.2, -0.4]}}
  kite: {mass: 0.3, com: [0.1, 0.8, 0.5], inertia: [0.02, 0.01, 0.03]}
joints:
  base: {type: universal, parent: world, child: arm, position: [0, 0, 0], axis: [0, 0, 1], second_axis: [0, 1, 0],
         limits: [[-1, 0.2], [-2, 2]]}
  neck: {type: spherical, parent: arm, child: ball, position: [0.6, 0, 0], damping: 0.05}
forces:
  line: {type: spring, from: ball.side, to: kite, stiffness: 30, damping: 0.7, length: 0.5}
  coil: {type: torsion_spring, joint: neck, stiffness: 4, damping: 0.1}
  wind: {type: drag, body: kite, linear: 0.2, quadratic: 0.4, turning_linear: 0.02, turning_quadratic: 0.01}
  jet: {type: wrench, body: ball, reaction: arm, frame: body,
        force: ["2 N*sin(coordinate('base')[1])", "1 N", "exp(0.1*t/s)*1 N"],
        torque: ["0.1 N*m", "0.2 N*m*atan2(position('kite')[0], 1 m)", "min(0.3, max(0.1, 0.2))*1 N*m"]}
controllers: {push: {type: torque, torques: {base: ["-(coordinate('base')[0])^2*1 N*m", "0.3 N*m*rate('base')[1]*s"]}}}
initial:
  base: {coordinate: [0.3, 0.2], rate: [0.5, -0.4]}
  neck: {rpy: [0.4, -0.3, 0.8], rate: [1, 0.5, -0.7]}
  kite: {rate: [0.3, 0.1, -0.2, 1, 2, 0.5]}
"""


@pytest.mark.fast
@pytest.mark.parametrize(
    "name", ["benchmarks/bricard", "benchmarks/governor", "dome", "high_bar", "screw_press", "snake_slope", "swing"]
)
def test_shipped_scenes_have_the_derivatives_of_the_engine(name: str) -> None:
    """Rows that repeat others, round ground, screws, drag, formulas, along the direction that every model tells of."""
    model = sim.linearize(sim.load(SCENES / f"{name}.yaml"))
    assert model.trust["engine"] < 1e-12 and model.trust["differences"] < 1e-8


def test_derivatives_that_are_not_those_of_the_engine_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    right = study.slopes_in
    monkeypatch.setattr(study, "slopes_in", lambda x, directions: 1.001 * right(x, directions))
    model = model_of(pendulum(", stiffness: 200", "initial: {pin: 40 deg}"))
    assert model.trust["differences"] == pytest.approx(1e-3, rel=1e-3)


def test_forces_of_a_scene_against_differences_of_the_engine() -> None:
    """Spring between bodies, drag, wrench by formulas with its reaction, torsion spring of a ball, soft stop."""
    simulator = sim.Simulator(sim.compile(load_text(STAND + FORCES)))
    simulator.apply_wrench("arm", force_W=[1, 2, 3], torque_W=[0.1, 0.2, 0.3], point_W=[0.2, 0.1, 0])
    model = sim.linearize(simulator)
    assert model.trust["engine"] < 1e-12
    expected = differences(simulator, model)
    assert np.max(np.abs(model.A - expected)) < 1e-8 * np.max(np.abs(expected))
    free = sim.linearize(load_text(STAND + FORCES.replace("0.2], [-2", "0.9], [-2")))
    assert np.max(np.abs(free.A - model.A)) > 1.0  # the stop is touched


def test_inputs_are_answered_as_the_engine_answers_torques() -> None:
    """B by two runs with a constant torque on a joint that closes a loop."""
    rng = np.random.default_rng(11)
    mechanism = random_mechanism(rng, 4, 2)
    loops = zip(mechanism.joints[4:], mechanism.links[4:], strict=True)
    name = next(joint for joint, link in loops if link.kind != "fixed")
    model = sim.linearize(simulator_for(mechanism), inputs=[name])
    count = len(model.inputs)
    for k in range(count):
        torque = ", ".join(number(2.5 if i == k else 0.0) for i in range(count))
        torque = f"[{torque}]" if count > 1 else torque
        text = f"controllers: {{push: {{type: torque, torques: {{{name}: {torque}}}}}}}"
        ends = [sim.linearize(simulator_for(mechanism, **extra)) for extra in ({}, {"extra": text})]
        assert ends[1].trust["engine"] < 1e-10
        simulators = [simulator_for(mechanism, **extra) for extra in ({}, {"extra": text})]
        names = freedom_names(simulators[0].flow)
        zero = np.zeros(len(model.states))
        change = np.subtract(*(rates_of_change(s.flow, names, model, zero) for s in reversed(simulators)))
        assert np.allclose(model.B[:, k], change / 2.5, rtol=0.0, atol=1e-9 * np.max(np.abs(model.B)))


def test_a_torque_where_a_loop_has_none_is_an_input_too() -> None:
    """Of one freedom: what a torque does goes with the rate of its joint, whichever joint the loop is closed by."""
    simulator = sim.Simulator(sim.compile(sim.load(SCENES / "four_bar.yaml")))
    simulator.advance(0.2)
    model, rate = sim.linearize(simulator), simulator.state.rate
    loop = simulator.model.joint_names[simulator.flow.structure.loops[0]]
    assert not simulator.flow.work.torque.any() and loop in model.inputs and len(model.inputs) == 4
    of_one = model.B[1] / [rate[name] for name in model.inputs]
    assert np.allclose(of_one, of_one[0], rtol=1e-9) and abs(rate[loop]) > 0.1


# --- what is refused --------------------------------------------------------------------------------


def test_what_has_no_linear_model_is_refused_in_a_sentence() -> None:
    flat = """
bodies:
  a: {mass: 1, com: [0.5, 0, 0], inertia: [1, 1, 1]}
  b: {mass: 1, com: [1.5, 0, 0], inertia: [1, 1, 1]}
  c: {mass: 1, com: [2, 0, 0], inertia: [1, 1, 1]}
joints:
  one: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}
  two: {type: rotational, parent: a, child: b, position: [1, 0, 0], axis: [0, 1, 0]}
  three: {type: rotational, parent: b, child: c, position: [3, 0, 0], axis: [0, 1, 0]}
  four: {type: rotational, parent: world, child: c, position: [2, 0, 0], axis: [0, 1, 0]}
"""
    with pytest.raises(sim.LinearError, match="the pose is singular: a row of 'four' repeats others here"):
        model_of(flat)
    with pytest.raises(sim.LinearError, match=r"'stone\[2\]' is accelerated by -9.81 m/s\^2 where"):
        model_of("bodies: {stone: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 1]}}", at="steady")
    reads = "controllers: {grip: {type: torque, torques: {pin: \"force('pin')[0]*0.1 m\"}}}"
    with pytest.raises(sim.LinearError, match="reads a force, which has no linear model here"):
        model_of(pendulum(rest=reads))
    with pytest.raises(sim.LinearError, match="no torque can act on 'pim'; it can on pin"):
        model_of(pendulum(), inputs=["pim"])
    with pytest.raises(sim.LinearError, match="the tree has no freedom 'pim'; it has pin"):
        model_of(pendulum(), states=["pim"])
    with pytest.raises(sim.LinearError, match="'soon' is neither a time nor 'steady'"):
        model_of(pendulum(), at="soon")


def test_a_joint_of_several_freedoms_names_all_of_them_as_states() -> None:
    ball = "bodies: {bob: {mass: 2, com: [0.1, 0.2, -0.7], inertia: [0.1, 0.12, 0.15]}}\njoints:\n"
    ball += "  hook: {type: spherical, parent: world, child: bob, position: [0, 0, 0]}\n"
    for names in (["hook"], ["hook[0]", "hook[1]", "hook[2]"]):
        model = model_of(ball, states=names)
        assert model.states[:3] == ("hook[0]", "hook[1]", "hook[2]")
    with pytest.raises(sim.LinearError, match="no freedom 'hoo'; it has hook"):
        model_of(ball, states=["hoo"])


def test_a_motion_that_is_not_steady_is_said_to_be_so() -> None:
    model = model_of(pendulum(rest="initial: {pin: {coordinate: 1, rate: 2}}"))
    assert (
        not model.steady
        and model.remark == "'pin' is accelerated by -12.38 rad/s^2 where it would have to keep its rate"
    )
    assert model.A[1, 0] == pytest.approx(-2 * 9.81 * 0.5 / (1 / 6 + 0.5) * cos(1.0), rel=1e-13)
    through = model_of(pendulum(rest="initial: {pin: {rate: 2}}"))
    assert not through.steady and through.remark == "'pin' moves at 2 rad/s where it would have to rest"


def test_roots_over_a_parameter_pass_through_zero_where_the_spring_just_holds() -> None:
    """A pendulum on its head, held by a spring of k: stable from k = m g l / 2 on."""

    def standing(k: float) -> Scene:
        return load_text(STAND + pendulum(f", stiffness: {k}, damping: 0.5").replace("-0.5]", "0.5]"))

    found = sim.root_locus(standing, np.arange(8.0, 12.1, 1.0), parameter="k")
    assert [round(c.value, 10) for c in found.crossings] == [9.81] and not found.crossings[0].rising
    inertia = 1 / 6 + 0.5
    roots = [np.roots([inertia, 0.5, k - 9.81]) for k in found.values]
    assert np.allclose(np.sort_complex(found.branches), np.sort_complex(roots), rtol=0.0, atol=1e-12)
    assert np.all(np.abs(np.diff(found.branches, axis=0)) < 1.6)  # each goes on from where it was


def test_a_run_goes_on_as_if_nothing_had_been_asked() -> None:
    scene = sim.load(SCENES / "four_bar.yaml")
    ends = []
    for asked in (False, True):
        simulator = sim.Simulator(sim.compile(scene))
        simulator.advance(0.3)
        if asked:
            assert sim.linearize(simulator).t == simulator.t
        simulator.advance(0.6)
        ends.append(np.concatenate([simulator.q, simulator.v]))
    assert np.array_equal(*ends)
