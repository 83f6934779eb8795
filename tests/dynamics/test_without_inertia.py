"""Point masses, thin rods and pulleys without mass: M is singular, and the motion is regular all the same."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_of

G = 9.81
DOWN = np.array([0.0, 0.0, -G])


def centre(simulator, body: str) -> tuple[np.ndarray, np.ndarray]:
    """Return place and velocity of a body's centre of mass."""
    simulator.flow.observe()
    n = simulator.model.body_names.index(body)
    bodies = simulator.flow.work.bodies
    arm = bodies.R_WB[n].reshape(3, 3) @ simulator.model.bodies.com_B[n]
    return bodies.p_WB[n] + arm, bodies.V_WB[n, 3:] + np.cross(bodies.V_WB[n, :3], arm)


def energy(simulator) -> float:
    simulator.flow.update()
    return simulator.flow.mechanism.energy()


# --- bodies that fly ----------------------------------------------------------------------------------

CUT = """
schema: 1
name: point_mass_cut
bodies:
  bob: {{mass: 2 kg, com: {com}}}
joints:
  pin: {{type: {type}, parent: world, child: bob, position: [0, 0, 0]{axis}}}
initial: {{pin: {initial}}}
events: {{cut: {{at: 0.5 s, cut: pin}}{more}}}
simulate: {{duration: 1.5 s, rtol: 1e-10}}
"""


@pytest.mark.parametrize(
    ("kind", "axis", "initial", "com"),
    [
        ("rotational", ", axis: [0, 1, 0]", "{rate: 0.4 rad/s}", "[1.5, 0, 0]"),
        ("rotational", ", axis: [0, 1, 0.3]", "{rate: -2 rad/s}", "[1.1, 0.4, -0.3]"),
        ("spherical", "", "{rate: [0.3, -2, 1]}", "[0.9, 0.5, 0.4]"),
        ("universal", ", axis: [1, 0, 0], second_axis: [0, 1, 0]", "{rate: [0.7, 1.1]}", "[0.2, 0.1, -0.8]"),
        ("planar", ", axis: [0, 1, 0]", "{rate: [0.1, 0.2, 3]}", "[0.5, 0, 0.5]"),
        ("fixed", "", "", "[1.5, 0, 0]"),
    ],
)
def test_a_point_mass_that_is_cut_off_flies_a_parabola(kind, axis, initial, com):
    text = CUT.format(type=kind, axis=axis, initial=initial or "0", com=com, more="")
    text = text if initial else text.replace("initial: {pin: 0}\n", "")
    simulator = simulator_of(text)
    simulator.advance(0.5)
    p, v = centre(simulator, "bob")
    before = energy(simulator)
    simulator.advance(1.5)
    p_later, v_later = centre(simulator, "bob")
    assert p_later == pytest.approx(p + v + DOWN / 2, abs=1e-8)
    assert v_later == pytest.approx(v + DOWN, abs=1e-8)
    assert energy(simulator) == pytest.approx(before, abs=1e-7)


@pytest.mark.parametrize("method", ["dop853", "radau", "rk4", "semi_implicit"])
def test_a_point_mass_flies_from_the_start(method):
    steps = "" if method in ("dop853", "radau") else ", step: 1 ms"
    text = f"""
schema: 1
name: thrown
bodies: {{bob: {{mass: 2 kg, com: [1, 2, 3], position: [0.5, 0, 0]}}}}
initial: {{bob: {{rate: [1, 2, 3, 0.4, -1, 2]}}}}
simulate: {{duration: 1 s, method: {method}{steps}}}
"""
    simulator = simulator_of(text)
    p, v = centre(simulator, "bob")
    assert v == pytest.approx(np.array([1, 2, 3]) + np.cross([0.4, -1, 2], [0.5, 2, 3]))
    simulator.advance(1.0)
    order_one = 1e-2 if method == "semi_implicit" else 1e-6
    assert centre(simulator, "bob")[0] == pytest.approx(p + v + DOWN / 2, abs=order_one)


@pytest.mark.parametrize(("kind", "keys"), [("spherical", ""), ("rotational", ", axis: [0, 1, 0]")])
def test_a_point_mass_that_is_caught_keeps_what_is_across_the_line_to_its_pin(kind, keys):
    """The pin holds the end of a rod without mass: an impulse can only be along the rod."""
    joint = f"{{type: {kind}, parent: world, child: bob, position: [0, 0, 0]{keys}}}"
    more = f", catch: {{at: 0.7 s, connect: {{hold: {joint}}}}}"
    text = CUT.format(
        type="rotational", axis=", axis: [0, 1, 0]", initial="{rate: 0 rad/s}", com="[1.5, 0, 0]", more=more
    )
    free, caught = simulator_of(text), simulator_of(text)
    free.advance(0.5)
    p, v = centre(free, "bob")
    p, v = p + 0.2 * v + 0.02 * DOWN, v + 0.2 * DOWN
    caught.advance(0.7)
    p_now, v_now = centre(caught, "bob")
    assert p_now == pytest.approx(p, abs=1e-9)
    rod = p_now - caught.flow.work.bodies.p_WB[1]
    rod /= np.linalg.norm(rod)
    assert v_now == pytest.approx(v - rod * (rod @ v), abs=1e-8)
    after = energy(caught)
    pin = caught.flow.work.bodies.p_WB[1].copy()
    caught.advance(1.4)
    assert energy(caught) == pytest.approx(after, abs=1e-6)
    assert caught.flow.work.bodies.p_WB[1] == pytest.approx(pin, abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_a_rod_that_is_thin_swings_about_a_ball_as_the_point_masses_in_it(seed):
    """Two point masses on a line through a ball: r is on a sphere, with (J + m r^2) for the length of a pendulum."""
    from scipy.integrate import solve_ivp

    rng = np.random.default_rng(seed)
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    near, far = 0.4, 1.1  # of the masses, 1 kg each
    c, across = (near + far) / 2, (far - near) ** 2 / 2
    inertia = across * (np.eye(3) - np.outer(n, n))
    w = np.cross(n, rng.normal(size=3)) * 3.0 + 5.0 * n  # with spin that is of no consequence
    listed = ", ".join(f"{inertia[i, j]:.16e}" for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    text = f"""
schema: 1
name: thin
bodies: {{rod: {{mass: 2 kg, com: [{", ".join(f"{x:.16e}" for x in c * n)}], inertia: [{listed}]}}}}
joints: {{ball: {{type: spherical, parent: world, child: rod, position: [0, 0, 0]}}}}
initial: {{ball: {{rate: [{", ".join(f"{x:.16e}" for x in w)}]}}}}
simulate: {{duration: 1 s, rtol: 1e-10}}
"""
    simulator = simulator_of(text)
    simulator.advance(1.0)
    pull = G * 2.0 * c / (near**2 + far**2)  # 1/s^2, along -z

    def slope(t, y):
        u, rate = y[:3], y[3:]
        down = np.array([0, 0, -pull])
        return np.concatenate([rate, down - u * (u @ down) - u * (rate @ rate)])

    y = solve_ivp(slope, (0.0, 1.0), np.concatenate([n, np.cross(w, n)]), rtol=1e-12, atol=1e-12).y[:, -1]
    assert centre(simulator, "rod")[0] == pytest.approx(c * y[:3], abs=1e-7)


# --- rows that hold what has no mass ------------------------------------------------------------------

PULLEY = """
schema: 1
name: compound_atwood
bodies:
  m3: {{mass: {m3}, com: [0, 0, 0]}}
  p: {{mass: 0 kg, com: [1, 0, 0]}}
  m1: {{mass: {m1}, com: [0.9, 0, -1]}}
  m2: {{mass: {m2}, com: [1.1, 0, -1]}}
joints:
  s3: {{type: translational, parent: world, child: m3, position: [0, 0, 0], axis: [0, 0, 1]}}
  sp: {{type: translational, parent: world, child: p, position: [1, 0, 0], axis: [0, 0, 1]}}
  s1: {{type: translational, parent: p, child: m1, position: [0.9, 0, -1], axis: [0, 0, 1]}}
  s2: {{type: translational, parent: p, child: m2, position: [1.1, 0, -1], axis: [0, 0, 1]}}
constraints:
  upper: {{type: gear, joints: [s3, sp], ratio: -1}}
  lower: {{type: gear, joints: [s1, s2], ratio: -1}}
simulate: {{duration: 1 s, method: {method}{step}}}
"""


def atwood(m1: float, m2: float, m3: float) -> np.ndarray:
    """Return the accelerations of m3, m1, m2: ropes of tension T and T/2."""
    T = 4 * G / (2 / m3 + 1 / (2 * m1) + 1 / (2 * m2))
    return np.array([T / m3, T / 2 / m1, T / 2 / m2]) - G


@pytest.mark.parametrize("method", ["dop853", "radau", "rk4", "semi_implicit"])
@pytest.mark.parametrize("masses", [(1, 2, 3), (0.1, 7, 0.3), (40, 0.02, 5)])
def test_a_pulley_without_mass_that_gears_hold(method, masses):
    m1, m2, m3 = masses
    step = "" if method in ("dop853", "radau") else ", step: 1 ms"
    simulator = simulator_of(PULLEY.format(m1=m1, m2=m2, m3=m3, method=method, step=step))
    simulator.advance(0.5)
    a3, a1, a2 = atwood(m1, m2, m3)
    rates = [centre(simulator, body)[1][2] for body in ("m3", "m1", "m2")]
    assert rates == pytest.approx(0.5 * np.array([a3, a1, a2]), rel=1e-9)
    if masses == (1, 2, 3):
        assert [a3, a1, a2] == pytest.approx([-0.57706, 4.03941, -2.88529], abs=5e-6)


@pytest.mark.fast
def test_a_pulley_without_mass_is_linearised():
    """Nothing pulls back: all eigenvalues are zero, and a force on m3 meets the inertia of all."""
    scene = load_text(PULLEY.format(m1=1, m2=2, m3=3, method="dop853", step=""))
    found = sim.linearize(scene, states=["s3", "s1"], inputs=["s3"])
    assert np.abs(found.eigenvalues).max() < 1e-6
    n = found.states.index("rate(s3)")
    carried = 4 * 1 * 2 / (1 + 2)  # what two masses on a free pulley weigh
    assert found.B[n, 0] == pytest.approx(1 / (3 + carried), rel=1e-9)


# --- what stays refused, and is said before -----------------------------------------------------------


def problems(text: str) -> list[str]:
    return [str(problem) for problem in sim.check(load_text(text)).problems]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bodies: {a: {}}", "nothing that moves with joint 'a' has inertia along"),
        (
            "bodies: {a: {}}\njoints: {s: {type: translational, parent: world, child: a, position: [0, 0, 0], "
            "axis: [0, 0, 1]}}",
            "nothing that moves with joint 's' has inertia along (0, 0, 1)",
        ),
        (
            "bodies: {a: {}, b: {mass: 1 kg, com: [0, 0, 0], inertia: [1, 1, 1]}}\n"
            "joints: {s: {type: fixed, parent: b, child: a, position: [0, 0, 0]}}\n"
            "events: {away: {at: 0.2 s, cut: s}}",
            "at t = 0.2 s 'a' is left without inertia",
        ),
        (
            "bodies: {a: {mass: 1 kg, com: [0, 0, 0], points: {tip: [0, 0, 1]}}}\nworld: {points: {top: [1, 0, 3]}}\n"
            "forces: {pull: {type: spring, from: world.top, to: a.tip, stiffness: 1 N/m, length: 0.1 m}}",
            "the run ends where it begins: t = 0 s: nothing resists the motion of body 'a'",
        ),
    ],
)
def test_what_nothing_resists_is_refused_before_the_run(text, says):
    found = problems(f"schema: 1\nname: bare\n{text}\nsimulate: {{duration: 1 s}}\n")
    assert len(found) == 1
    assert says in found[0]


def test_an_impulse_in_the_centre_of_a_point_mass_changes_its_velocity_alone():
    text = """
schema: 1
name: hit
bodies: {a: {mass: 2 kg, com: [0.3, -0.2, 0.7], position: [0.1, 0.2, 0.3]}}
initial: {a: {velocity: [1, -2, 0.5]}}
events: {hit: {at: 0.1 s, impulse: {body: a, linear: [3 N s, 5 N s, -1 N s]}}}
simulate: {duration: 0.2 s, rtol: 1e-10}
"""
    with sim.run(load_text(text)) as recording:
        (hit,) = recording.events
        before = np.array([1.0, -2.0, 0.5 - G * 0.1])
        after = before + np.array([1.5, 2.5, -0.5])
        assert recording.velocity["a"][hit.row_before] == pytest.approx(before, abs=1e-9)
        assert recording.velocity["a"][hit.row_after] == pytest.approx(after, abs=1e-9)
        assert hit.energy_lost == 0.0
        given = float(np.array([3.0, 5.0, -1.0]) @ (before + after)) / 2.0
        assert recording.energy.input[hit.row_after] == pytest.approx(given, rel=1e-9)
        assert np.abs(recording.energy.balance[:]).max() < 1e-7


def test_an_impulse_beside_the_centre_of_a_point_mass_is_refused():
    text = """
schema: 1
name: struck
bodies: {a: {mass: 1 kg, com: [0, 0, 0], points: {tip: [0, 0, 1]}}}
events: {hit: {at: 0.1 s, impulse: {body: a, linear: [1 N s, 0, 0], point: tip}}}
simulate: {duration: 1 s}
"""
    simulator = simulator_of(text)
    with pytest.raises(sim.SimulationError, match="turns a body that has no inertia against it"):
        simulator.advance(1.0)


@pytest.mark.parametrize("contact", ["event", "stepping"])
def test_a_point_mass_flies_beside_bodies_that_touch(contact):
    text = f"""
schema: 1
name: beside
world: {{shapes: [{{name: ground, plane: {{}}}}]}}
bodies:
  bob: {{mass: 2 kg, com: [1, 0, 2], position: [0.6, 0, 2]}}
  ball: {{mass: 1 kg, shapes: [{{sphere: {{center: [0, 0, 0.3], radius: 0.2}}}}]}}
initial: {{bob: {{rate: [1, 2, 3, 0.4, -1, 2]}}}}
contacts: {{floor: {{between: [ball, world], friction: 0.3}}}}
simulate: {{duration: 1 s, contact: {contact}, dt: 1 ms}}
"""
    simulator = simulator_of(text)
    p, v = centre(simulator, "bob")
    simulator.advance(0.5)
    order_one = 0.0 if contact == "event" else 0.5 * 0.5 * G * 1e-3
    assert centre(simulator, "bob")[0] == pytest.approx(p + 0.5 * v + DOWN / 8, abs=2 * order_one + 1e-6)
    assert centre(simulator, "ball")[0][2] == pytest.approx(0.2, abs=1e-5)


def test_what_cannot_do_without_inertia_says_so():
    free = "bodies: {a: {mass: 1 kg, com: [0, 0, 1]}}\nsimulate: {duration: 1 s, method: variational, step: 1 ms}\n"
    found = problems("schema: 1\nname: stepped\n" + free)
    assert len(found) == 1 and "variational steps (`method: variational`) cannot do without" in found[0]
    text = PULLEY.format(m1=1, m2=2, m3=3, method="dop853", step="")
    text = text.replace("position: [0, 0, 0], axis: [0, 0, 1]}", "position: [0, 0, 0], axis: [0, 0, 1], friction: 1 N}")
    found = problems(text)
    assert len(found) == 1 and "contacts, rigid stops and friction of joints cannot do without" in found[0]


# --- random chains, against the oracle ----------------------------------------------------------------


def numbers(values) -> str:
    return "[" + ", ".join(f"{x:.17g}" for x in values) + "]"


def random_chain(seed: int) -> str:
    """Return links of point masses, thin rods and solid bodies on random joints, half of them closed, one cut later."""
    rng = np.random.default_rng(seed)
    count, at = int(rng.integers(2, 5)), [np.zeros(3)]
    bodies, joints, initial = [], [], []
    for i in range(count):
        p = at[-1] + 0.4 * rng.normal(size=3) + [0.3, 0, -0.3]
        kind = rng.choice(["spherical", "rotational", "universal", "spherical"])
        com, inertia, d = (p + at[-1]) / 2, np.diag([0.02, 0.03, 0.04]), p - at[-1]
        if rng.random() < 0.7:
            point = rng.random() < 0.5
            com = p if point else com
            inertia = np.zeros((3, 3)) if point else (d @ d * np.eye(3) - np.outer(d, d)) / 12
        listed = numbers(inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]])
        bodies.append(f"  b{i}: {{mass: {rng.uniform(0.5, 2):.3f} kg, com: {numbers(com)}, inertia: {listed}}}")
        axis = rng.normal(size=3)
        second = np.cross(axis, rng.normal(size=3))
        keys = "" if kind == "spherical" else f", axis: {numbers(axis)}"
        keys += f", second_axis: {numbers(second)}" if kind == "universal" else ""
        ends = f"parent: {f'b{i - 1}' if i else 'world'}, child: b{i}, position: {numbers(at[-1])}"
        joints.append(f"  j{i}: {{type: {kind}, {ends}{keys}}}")
        rates = 1.5 * rng.normal(size={"spherical": 3, "rotational": 1, "universal": 2}[kind])
        initial.append(f"j{i}: {{rate: {numbers(rates) if len(rates) > 1 else rates[0]}}}")
        at.append(p)
    closed = rng.random() < 0.5
    if closed:
        joints.append(f"  tie: {{type: spherical, parent: world, child: b{count - 1}, position: {numbers(at[-1])}}}")
    lines = ["schema: 1", "name: chain", "bodies:", *bodies, "joints:", *joints]
    lines += [] if closed else ["initial: {" + ", ".join(initial) + "}"]
    lines += [f"events: {{loose: {{at: 0.1 s, cut: j{rng.integers(0, count)}}}}}", "simulate: {duration: 0.2 s}"]
    return "\n".join(lines) + "\n"


# Others pass through poses in which a universal joint leaves a point mass no inertia, and end in a sentence.
@pytest.mark.parametrize("seed", [1, 2, 4, 6, 7, 11])
def test_chains_of_what_has_no_inertia_are_those_of_the_oracle(seed):
    with sim.run(load_text(random_chain(seed))) as recording:
        verdict = sim.verify(recording, instants=5)
        assert np.abs(recording.energy.balance).max() < 1e-6 * recording.energy.kinetic.max()
    assert verdict.instants
    assert max(instant.acceleration for instant in verdict.instants) < 1e-11
    assert max(instant.constraint for instant in verdict.instants) < 1e-11
