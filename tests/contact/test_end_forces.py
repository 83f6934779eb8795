"""What controllers, springs and drags apply in time steps is that of their ends: no stiffness is too much for a step.

One step against implicit Euler by hand, what no step of any stiffness may gain, and ledgers to roundoff.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from sim.simulation.simulator import Simulator
from tests.contact.engine import G0, SCENES
from tests.plugins.written import HEAD

pytestmark = pytest.mark.contact

# A ball far away makes it a scene with contacts; what swings has nothing to touch.
SCENE = """
schema: 1
name: held
world: {gravity: [0, 0, GRAVITY], shapes: [{plane: {center: [0, 0, -9]}}], points: {hook: [0, 0, 3]}}
bodies:
  far: {mass: 1, shapes: [{sphere: {center: [90, 0, 0], radius: 0.1}}]}
REST
contacts: {floor: {between: [far, world]}}
simulate: {duration: 1 s, contact: stepping, dt: STEP}
"""


def simulator(rest: str, step: float, gravity: float = 0.0) -> Simulator:
    text = SCENE.replace("REST", rest).replace("STEP", repr(step)).replace("GRAVITY", repr(-gravity))
    return Simulator(sim.compile(load_text(text)))


# --- one step, by hand ----------------------------------------------------------------------------

WHEEL = """
  wheel: {{mass: 2, com: [0, 0, 0], inertia: [0.3, 0.05, 0.3]}}
joints: {{axle: {{type: rotational, parent: world, child: wheel, position: [0, 0, 0], axis: [0, 1, 0]}}}}
initial: {{axle: {{coordinate: 0.4, rate: -3}}}}
controllers: {{hold: {{type: pd, joints: [axle], kp: {kp}, kd: {kd}, target: 0.1}}}}
"""
J, X, V, TARGET = 0.05, 0.4, -3.0, 0.1


@pytest.mark.fast
@pytest.mark.parametrize("kp", [0.0, 0.02, 3.0, 40.0, 1e4, 1e8])
@pytest.mark.parametrize("kd", [0.0, 0.01, 5.0, 1e4])
def test_a_step_is_implicit_euler_where_it_is_stiff_and_none_of_it_is_lost(kp: float, kd: float) -> None:
    """(J + h D + h^2 K) (v+ - v) = h (tau - s h K v); s = a / (1 + a), a = (h D + h^2 K) / J; the work is exact."""
    h = 0.01
    s = simulator(WHEEL.format(kp=kp, kd=kd), h)
    s.advance(h)
    firm = h * kd + h**2 * kp
    tau, share = kp * (TARGET - X) - kd * V, firm / (J + firm)
    wanted = V + h * (tau - share * h * kp * V) / (J + firm)
    assert s.rate["axle"] == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    s.flow.observe()
    gain = 0.5 * J * (s.rate["axle"] ** 2 - V**2)
    assert s.energy["input"] == pytest.approx(gain, rel=1e-9, abs=1e-12)


# --- what no step gains ---------------------------------------------------------------------------

FREE = {"rotational": 1, "universal": 2, "spherical": 3, "translational": 1}


def chain(seed: int) -> tuple[str, dict[str, tuple[float, float]]]:
    """Return a chain that whirls, each joint held by a `pd` of any stiffness; gains by joint."""
    rng = np.random.default_rng(seed)
    bodies, joints, controllers, initial, gains = "", "", "", "", {}
    base = np.zeros(3)
    for n in range(int(rng.integers(1, 5))):
        kind = str(rng.choice(list(FREE)))
        mass, size = 10.0 ** rng.uniform(-2, 1), rng.uniform(0.05, 0.3)
        com = base + size * rng.normal(size=3)
        inertia = mass * size**2 * np.array([1.0, 1.2, 0.9])
        bodies += f"  b{n}: {{mass: {mass}, com: {com.tolist()}, inertia: {inertia.tolist()}}}\n"
        parts = [f"type: {kind}, parent: {f'b{n - 1}' if n else 'world'}, child: b{n}, position: {base.tolist()}"]
        if kind != "spherical":
            axis = rng.normal(size=3)
            parts.append(f"axis: {axis.tolist()}")
            if kind == "universal":
                parts.append(f"second_axis: {np.cross(axis, rng.normal(size=3)).tolist()}")
        joints += f"  j{n}: {{{', '.join(parts)}}}\n"
        gains[f"j{n}"] = 10.0 ** rng.uniform(-3, 8), rng.choice([0.0, 10.0 ** rng.uniform(-3, 5)])
        controllers += f"  c{n}: {{type: pd, joints: [j{n}], kp: {gains[f'j{n}'][0]}, kd: {gains[f'j{n}'][1]}}}\n"
        count = FREE[kind]
        rates = rng.normal(size=count).tolist()
        initial += f"  j{n}: {{rate: {rates if count > 1 else rates[0]}}}\n"
        base = com + size * rng.normal(size=3)
    return f"{bodies}joints:\n{joints}controllers:\n{controllers}initial:\n{initial}", gains


@pytest.mark.parametrize("seed", [*(pytest.param(seed, marks=pytest.mark.fast) for seed in range(2)), *range(2, 40)])
def test_chains_that_are_held_by_any_stiffness_gain_nothing(seed: int) -> None:
    """Energy of motion and of what the controllers would give back: soft ones swing, and are off by h omega / 2."""
    rest, gains = chain(seed)
    h = float(np.random.default_rng(seed + 1000).choice([1e-3, 4e-3]))
    s = simulator(rest, h)
    s.flow.observe()
    most = s.energy["kinetic"]
    for n in range(1, 41):
        s.advance(n * h)
        s.flow.observe()
        held = sum(0.5 * kp * float(np.sum(np.square(s.coordinate[joint]))) for joint, (kp, _) in gains.items())
        assert s.energy["kinetic"] + held < 1.3 * most, (n, gains)
        assert s.energy["kinetic"] < 1.15 * most


STOPPED = """
  limb: {mass: 1, com: [0, 0, 0], inertia: [0.1, 0.02, 0.1]}
joints:
  hinge: {type: rotational, parent: world, child: limb, position: [0, 0, 0], axis: [0, 1, 0], limits: [-1, 1]}
initial: {hinge: {coordinate: 0.65, rate: SPEED}}
controllers: {stops: {type: limits, joints: [hinge], stiffness: K, dissipation: 0}}
"""


@pytest.mark.parametrize("stiffness", [1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("step", [1e-3, 10e-3])
def test_a_limb_that_meets_its_limits_within_a_step_is_not_thrown_back_faster(stiffness: float, step: float) -> None:
    """The spring has no slope where the step begins, and much where it ends."""
    s = simulator(STOPPED.replace("SPEED", "20").replace("K", repr(stiffness)), step)
    fastest, deepest = 0.0, 0.0
    for n in range(1, 60):
        s.advance(n * step)
        fastest, deepest = max(fastest, abs(s.rate["hinge"])), max(deepest, s.coordinate["hinge"])
    assert fastest <= 20.0 * 1.05
    assert stiffness < 1e3 or deepest < 1.3
    if stiffness >= 1e3:  # else the joint's own stop takes part
        s.flow.observe()
        assert s.energy["input"] == pytest.approx(s.energy["kinetic"] - 0.5 * 0.02 * 400, rel=1e-9)


# --- springs between points -----------------------------------------------------------------------

BOB = """
  bob: {mass: 0.5, shapes: [{sphere: {center: [0, 0, 1], radius: 0.05}}], points: {eye: [0, 0, 1]}}
initial: {bob: {velocity: VELOCITY}}
forces: {strut: {type: spring, from: world.hook, to: bob.eye, stiffness: K, damping: C, length: 1.9}}
"""


@pytest.mark.fast
@pytest.mark.parametrize("k", [0.0, 2.0, 1e4, 1e9])
@pytest.mark.parametrize("c", [0.0, 3.0, 1e6])
def test_a_spring_pulls_as_it_does_at_the_end_of_the_step(k: float, c: float) -> None:
    h, m, x, v = 0.01, 0.5, 0.1, 2.0
    s = simulator(BOB.replace("VELOCITY", "[0, 0, -2]").replace("K", repr(k)).replace("C", repr(c)), h)
    s.advance(h)
    firm = h * c + h**2 * k
    tension, share = k * x + c * v, firm / (m + firm)
    wanted = v - h * (tension + share * h * k * v) / (m + firm)
    assert -s.velocity["bob"][2] == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    s.flow.observe()
    assert s.energy["balance"] == pytest.approx(0.0, abs=1e-9 * (1.0 + 0.5 * k * x**2))
    assert s.energy["dissipated"] > -1e-6 * (1.0 + k * x**2) if k == 0.0 or firm > 10.0 * m else True


@pytest.mark.parametrize("k", [1e2, 1e5, 1e8])
def test_a_bob_that_swings_on_a_stiff_spring_gains_nothing(k: float) -> None:
    """As its ends go across it within a step they lengthen it, which a straight line would not tell."""
    s = simulator(BOB.replace("VELOCITY", "[3, 0, 0]").replace("K", repr(k)).replace("C", "0"), 2e-3, G0)
    s.flow.observe()
    first = s.energy["kinetic"] + s.energy["potential"]
    for n in range(1, 400):
        s.advance(n * 2e-3)
        s.flow.observe()
        assert s.energy["kinetic"] + s.energy["potential"] < first + 0.05
        assert np.linalg.norm(s.position["bob"] - [0, 0, 3]) < 2.0 + 5.0 / k**0.5 + 1e-3


# --- drag -----------------------------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize("drag", [0.1, 10.0, 1e6])
def test_drag_of_any_strength_slows_down_and_turns_nothing_around(drag: float) -> None:
    said = f"linear: {drag}, quadratic: {drag}, turning_linear: {drag}, turning_quadratic: {drag}"
    s = simulator(
        "  ball: {mass: 0.5, com: [0, 0, 0], inertia: [0.02, 0.02, 0.02]}\n"
        "initial: {ball: {velocity: [3, 0, 4], angular_velocity: [0, 6, 8]}}\n"
        f"forces: {{air: {{type: drag, body: ball, {said}}}}}",
        5e-3,
    )
    v, w = 5.0, 10.0
    for n in range(1, 6):
        s.advance(n * 5e-3)
        v -= 5e-3 * drag * v * (1.0 + v) / (0.5 + 5e-3 * drag * (1.0 + 2.0 * v))
        w -= 5e-3 * drag * w * (1.0 + w) / (0.02 + 5e-3 * drag * (1.0 + 2.0 * w))
        assert s.velocity["ball"] == pytest.approx([0.6 * v, 0.0, 0.8 * v], rel=1e-9, abs=1e-12)
        assert s.angular_velocity["ball"] == pytest.approx([0.0, 0.6 * w, 0.8 * w], rel=1e-9, abs=1e-12)
    s.flow.observe()
    assert s.energy["balance"] == pytest.approx(0.0, abs=1e-8)


def test_drag_at_the_end_of_a_limb_acts_with_its_arm() -> None:
    """c l^2 against the moment of inertia about the hinge, in the same step as gravity."""
    s = simulator(
        "  limb: {mass: 2, com: [0, 0, -0.5], inertia: [0.2, 0.2, 0.01], points: {tip: [0, 0, -1]}}\n"
        "joints: {hinge: {type: rotational, parent: world, child: limb, position: [0, 0, 0], axis: [0, 1, 0]}}\n"
        "initial: {hinge: {coordinate: 0.3, rate: 2}}\n"
        "forces: {air: {type: drag, body: limb, point: tip, linear: 7}}",
        5e-3,
        G0,
    )
    s.advance(5e-3)
    gravity = -2.0 * G0 * 0.5 * np.sin(0.3)
    assert s.rate["hinge"] == pytest.approx(2.0 + 5e-3 * (gravity - 7.0 * 2.0) / (0.7 + 5e-3 * 7.0), rel=1e-9)


# --- loops, torsion springs, controllers in Python -------------------------------------------------

BARS = """
  crank: {mass: 1, shapes: [{capsule: {from: [0, 0, 0], to: [0, 0, 0.4], radius: 0.02}}]}
  rod: {mass: 1, shapes: [{capsule: {from: [0, 0, 0.4], to: [0.8, 0, 0.7], radius: 0.02}}]}
  rocker: {mass: 1, shapes: [{capsule: {from: [0.8, 0, 0.7], to: [0.7, 0, 0], radius: 0.02}}]}
joints:
  a: {type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 1, 0]}
  b: {type: rotational, parent: crank, child: rod, position: [0, 0, 0.4], axis: [0, 1, 0]}
  c: {type: rotational, parent: rod, child: rocker, position: [0.8, 0, 0.7], axis: [0, 1, 0]}
  d: {type: rotational, parent: world, child: rocker, position: [0.7, 0, 0], axis: [0, 1, 0]}
HELD
initial: {a: {coordinate: 0.1, rate: 1}}
"""
HOLD = "controllers: {{hold: {{type: pd, joints: [{joint}], kp: {kp}, kd: {kd}}}}}"


@pytest.mark.parametrize("joint", ["b", "c", "d"])
@pytest.mark.parametrize(("kp", "kd"), [(1.0, 0.1), (1e3, 0.0), pytest.param(1e7, 1e4, marks=pytest.mark.fast)])
def test_controllers_of_joints_of_a_loop_are_taken_alike(joint: str, kp: float, kd: float) -> None:
    s = simulator(BARS.replace("HELD", HOLD.format(joint=joint, kp=kp, kd=kd)), 2e-3)
    s.flow.observe()
    first, start = s.energy["kinetic"], s.coordinate[joint]
    for n in range(1, 50):
        s.advance(n * 2e-3)
        s.flow.observe()
        assert s.energy["kinetic"] + 0.5 * kp * (s.coordinate[joint] - start) ** 2 < 1.25 * first
    assert abs(s.energy["balance"]) < 0.02 * first
    if kp == 1e7:
        assert abs(s.coordinate[joint] - start) < 1e-4


@pytest.mark.fast
def test_the_ledger_has_dampers_beside_controllers_where_a_ball_closes_the_loop() -> None:
    """And a body that comes down meanwhile: what all of them take is what the energy falls by."""
    line = next(line for line in BARS.splitlines() if line.strip().startswith("d:"))
    ball = BARS.replace(line, "  d: {type: spherical, parent: world, child: rocker, position: [0.7, 0, 0]}")
    held = (
        f"{HOLD.format(joint='a', kp=30.0, kd=0.5)}\nforces: {{coil: {{type: torsion_spring, joint: b, damping: 0.3}}}}"
    )
    s = simulator(ball.replace("HELD", held).replace("initial: {", "initial: {far: {velocity: [0, 0, -100]}, "), 1e-3)
    assert [s.model.joint_names[j] for j in s.flow.structure.loops] == ["d"]
    s.flow.observe()
    first = s.energy["kinetic"]
    s.advance(0.12)
    s.flow.observe()
    assert s.position["far"][2] == pytest.approx(-8.9, abs=1e-6) and first > 5000.0 > 100.0 * s.energy["kinetic"]
    assert abs(s.energy["balance"]) < 0.01


@pytest.mark.parametrize(("kp", "kd"), [(1.0, 0.1), (1e7, 1e4)])
def test_a_loop_stands_as_stiff_where_its_tree_joint_is_held_as_where_its_loop_joint_is(kp: float, kd: float) -> None:
    """The crank goes the same way whether d is a joint of the tree or closes the loop, which the order tells."""
    ends = []
    for order in ("abcd", "dcba"):
        lines = BARS.splitlines()
        first = next(n for n, line in enumerate(lines) if line.strip().startswith("a:"))
        lines[first : first + 4] = [lines[first + "abcd".index(name)] for name in order]
        text = "\n".join(lines).replace("HELD", HOLD.format(joint="d", kp=kp, kd=kd))
        s = simulator(text, 1e-3)
        assert [s.model.joint_names[j] for j in s.flow.structure.loops] == ["d" if order == "abcd" else "c"]
        s.advance(0.05)
        ends.append([s.coordinate["a"], s.rate["a"]])
    assert ends[0] == pytest.approx(ends[1], rel=2e-3, abs=2e-5)


@pytest.mark.fast
@pytest.mark.parametrize("kind", ["rotational", "spherical"])
def test_torsion_springs_of_any_stiffness_gain_nothing(kind: str) -> None:
    axis = ", axis: [0, 1, 0]" if kind == "rotational" else ""
    rate = "2" if kind == "rotational" else "[2, -1, 1]"
    for k, c in ((5.0, 0.0), (1e4, 0.0), (1e8, 0.0), (1e4, 1e4)):
        s = simulator(
            "  limb: {mass: 1, com: [0, 0, -0.2], inertia: [0.03, 0.02, 0.01]}\n"
            f"joints: {{j: {{type: {kind}, parent: world, child: limb, position: [0, 0, 0]{axis}}}}}\n"
            f"initial: {{j: {{rate: {rate}}}}}\n"
            f"forces: {{coil: {{type: torsion_spring, joint: j, stiffness: {k}, damping: {c}}}}}",
            4e-3,
        )
        s.flow.observe()
        first = s.energy["kinetic"]
        for n in range(1, 100):
            s.advance(n * 4e-3)
            s.flow.observe()
            assert s.energy["kinetic"] < 1.4 * first


WRITTEN = """@dataclasses.dataclass(kw_only=True)
class Mine(Controller):
    kp: float = parameter(unit="N m/rad", about="stiffness")
    kd: float = parameter(unit="N m s/rad", about="damping")
    rate: float | None = parameter(None, unit="Hz", about="how often")

    def start(self, view):
        self.columns = view.columns["axle"]

    def METHOD
        torque[self.columns] ADD self.kp * (0.1 - state.coordinate[self.columns]) - self.kd * state.rate[self.columns]
"""


def written(tmp_path, how: str, kp: float, kd: float, **more: object) -> Simulator:
    method, add = {
        "torque": ("torque(self, t, state, torque):", "+="),
        "sample": ("sample(self, t, state, torque, memory):", "="),
    }[how]
    (tmp_path / "mine.py").write_text(HEAD + WRITTEN.replace("METHOD", method).replace("ADD", add))
    gains = ", ".join(f"{name}: {value}" for name, value in {"kp": kp, "kd": kd, **more}.items())
    wheel = WHEEL.format(kp=kp, kd=kd).splitlines()
    wheel[-1] = f'controllers: {{hold: {{type: "./mine.py:Mine", {gains}}}}}'
    text = SCENE.replace("REST", "\n".join(wheel)).replace("STEP", "0.01").replace("GRAVITY", "0")
    path = tmp_path / "scene.yaml"
    path.write_text(text)
    return Simulator(sim.compile(sim.load(path, trust=True)))


@pytest.mark.parametrize(("kp", "kd"), [(3.0, 0.0), (1e5, 50.0)])
def test_a_controller_in_plain_python_that_is_continuous_goes_as_a_compiled_one_does(tmp_path, kp, kd) -> None:
    mine, shipped = written(tmp_path, "torque", kp, kd), simulator(WHEEL.format(kp=kp, kd=kd), 0.01)
    for n in range(1, 10):
        mine.advance(n * 0.01)
        shipped.advance(n * 0.01)
        assert mine.coordinate["axle"] == pytest.approx(shipped.coordinate["axle"], rel=1e-9)


def test_a_sampled_controller_that_is_too_stiff_is_named_with_its_gains_and_the_time_it_holds(tmp_path) -> None:
    """Torques that are held stay as they are: damping of more than 2 m / T turns rates around, ever faster."""
    calm = written(tmp_path, "sample", 0.0, 1.9 * J / 0.01, rate="100 Hz")
    calm.advance(1.0)
    assert abs(calm.rate["axle"]) < 0.01
    with pytest.raises(sim.SimulationError) as raised:
        written(tmp_path, "sample", 0.0, 3.0 * J / 0.01, rate="100 Hz").advance(1.0)
    said = str(raised.value)
    assert "controller 'hold' (" in said and "holds its torques for 0.01 s" in said and "joint 'axle'" in said
    assert "15 N m s/rad, turn around what moves there (0.05 kg m^2)" in said
    assert "Damping of at most 10 N m s/rad dies out" in said
    with pytest.raises(sim.SimulationError, match="2e\\+03 N m/rad and 0 N m s/rad"):
        written(tmp_path, "sample", 2000.0, 0.0, rate="100 Hz").advance(3.0)


# --- figures that controllers hold ------------------------------------------------------------------


def in_steps(name: str, dt: float = 1e-3) -> Simulator:
    scene = sim.load(SCENES / f"{name}.yaml")
    return Simulator(sim.compile(replace(scene, simulate=replace(scene.simulate, contact="stepping", dt=dt))))


@pytest.mark.parametrize("dt", [1e-3, 4e-3])
def test_a_figure_stands_on_stiff_controllers(dt: float) -> None:
    """The hand of it, 0.1 N m s/rad on some 2e-4 kg m^2, goes round in a step of 4 ms where it is explicit."""
    s = in_steps("figure_stands", dt)
    s.advance(4.0)
    s.flow.observe()
    height = s.position["human.head"][2]
    assert height > 1.45 and s.energy["kinetic"] < 0.01
    assert abs(s.energy["balance"]) < 0.05


def test_a_gymnast_catches_lets_go_and_lands_in_time_steps() -> None:
    s = in_steps("uneven_bars")
    s.advance(4.0)
    s.flow.observe()
    assert s.energy["kinetic"] < 0.1 and abs(s.energy["balance"]) < 1.0
    assert 0.2 < s.position["g.pelvis"][2] < 0.5
