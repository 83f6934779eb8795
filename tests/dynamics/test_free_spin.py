"""Bodies that spin fast and free keep their energy by every method of fixed steps, wherever their origins are."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.support.rotations import random_matrix

HEAD = "schema: 1\nname: spin\nworld: {gravity: [0, 0, 0], shapes: [{plane: {center: [0, 0, -100]}}]}\n"
FIXED = ["semi_implicit", "rk4", "variational", "stepping"]


def simulator(text: str, method: str, step: float) -> sim.Simulator:
    how = f"method: {method}, step: {step!r}" if method != "stepping" else f"contact: stepping, dt: {step!r}"
    if method == "stepping":
        text += "contacts: {far: {between: [touches, world]}}\n"
    return sim.Simulator(sim.compile(load_text(f"{HEAD}{text}simulate: {{duration: 300 s, {how}}}\n")))


def energies(text: str, method: str, step: float, seconds: float, looks: int = 60) -> tuple[np.ndarray, sim.Simulator]:
    """Return kinetic and potential energy at even times, the first at the start [J]."""
    run, out = simulator(text, method, step), []
    for t in np.linspace(0.0, seconds, looks):
        run.advance(t)
        out.append(run.energy["kinetic"] + run.energy["potential"])
    return np.array(out), run


# What time steps need to be taken: a ball that could touch.
TOUCHES = """
  touches: {mass: 1, com: [50, 0, 0], inertia: [1e-6, 1e-6, 1e-6],
            shapes: [{sphere: {center: [50, 0, 0], radius: 1 cm}}]}
"""


def body(com: list[float], inertia: str = "[0.2, 0.5, 0.6]", spin: str = "[20, 0.6, 0.4]") -> str:
    start = f"initial: {{body: {{angular_velocity: {spin}}}}}\n"
    return f"bodies:\n  body: {{mass: 1 kg, com: {com}, inertia: {inertia}}}{TOUCHES}{start}"


@pytest.mark.parametrize("method", FIXED)
@pytest.mark.parametrize("com", [[0, 0, 0], [0.3, -0.2, 0.5]])
def test_a_body_about_its_axis_of_least_inertia_turns_on_for_ever(method: str, com: list[float]) -> None:
    """w . I w / 2 = 40.138 J must stay; the explicit moment w x I w made it grow without bound within 30 s."""
    energy, _ = energies(body(com), method, 2e-3, 60.0)
    assert energy[0] == pytest.approx(40.138, abs=1e-3)
    bound = {"rk4": 1e-8}.get(method, 1e-11)  # Runge and Kutta's loses (h w)^5 of it in each step
    assert np.max(np.abs(energy - energy[0])) < bound * energy[0]


@pytest.mark.parametrize("method", FIXED)
@pytest.mark.parametrize("seed", range(3))
def test_a_tumbling_body_keeps_energy_spin_and_the_speed_of_its_centre(method: str, seed: int) -> None:
    """About the middle axis, anywhere from the origin, moving along: both momenta stay, and so does the energy."""
    rng = np.random.default_rng([6, seed])
    com, speed, R = rng.uniform(-0.5, 0.5, 3), rng.uniform(-1.0, 1.0, 3), random_matrix(rng)
    I = R @ np.diag([0.2, 0.5, 0.6]) @ R.T  # noqa: E741
    w = R @ np.array([0.4, 12.0, 0.3])
    inertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
    text = body(com.tolist(), str([float(x) for x in inertia]), str(w.tolist()))
    text = text.replace("{angular_velocity", f"{{velocity: {speed.tolist()}, angular_velocity")
    energy, run = energies(text, method, 2e-3, 20.0)
    bound = {"rk4": 1e-7}.get(method, 1e-11)
    assert np.max(np.abs(energy - energy[0])) < bound * energy[0]
    begun = simulator(text, method, 2e-3)
    start, speed = centre(begun), velocity_of_centre(begun)
    assert np.linalg.norm(speed) > 0.1
    assert np.allclose(velocity_of_centre(run), speed, rtol=0.0, atol=1e-9 if method != "rk4" else 1e-6)
    assert np.allclose(centre(run), start + 20.0 * speed, rtol=0.0, atol=1e-8 if method != "rk4" else 1e-5)


def centre(run: sim.Simulator) -> np.ndarray:
    run.flow.update()
    links, work = run.flow.structure.tables.links, run.flow.work.links
    b = run.flow.structure.link_of[run.model.body_names.index("body")]
    return np.asarray(work.x[b] + work.R[b].reshape(3, 3) @ links.com_K[b])


def velocity_of_centre(run: sim.Simulator) -> np.ndarray:
    p = centre(run)
    work, b = run.flow.work.links, run.flow.structure.link_of[run.model.body_names.index("body")]
    return np.asarray(work.V[b, 3:] + np.cross(work.V[b, :3], p - work.x[b]))


TREES = {
    "figure": """
bodies:
  hub: {mass: 2 kg, com: [0.1, 0.2, 0.1], inertia: [0.3, 0.5, 0.4]}
  arm: {mass: 1 kg, com: [0.6, 0.2, 0.1], inertia: [0.05, 0.1, 0.12]}
  rotor: {mass: 0.7 kg, com: [1.05, 0.3, 0.1], inertia: [0.03, 0.05, 0.02]}TOUCHES
joints:
  elbow: {type: universal, parent: hub, child: arm, position: [0.4, 0, 0], axis: [0, 1, 0], second_axis: [0, 0, 1]}
  ball: {type: spherical, parent: arm, child: rotor, position: [1, 0.3, 0.1]}
initial: {hub: {angular_velocity: [6, 1, 2]}, ball: {rate: [3, 12, 5]}}
""",
    "ball": """
bodies: {top: {mass: 1 kg, com: [0, 0, 0.5], inertia: [0.05, 0.07, 0.02]}TOUCHES}
joints: {tip: {type: spherical, parent: world, child: top, position: [0, 0, 0]}}
initial: {tip: {rate: [1, 0.3, 50]}}
""",
    "gimbal": """
bodies:
  ring: {mass: 1 kg, com: [0, 0, 0], inertia: [0.01, 0.02, 0.02]}
  rotor: {mass: 2 kg, com: [0.02, 0, 0.03], inertia: [0.02, 0.022, 0.03]}TOUCHES
joints:
  outer: {type: universal, parent: world, child: ring, position: [0, 0, 0], axis: [1, 0, 0], second_axis: [0, 1, 0]}
  spin: {type: rotational, parent: ring, child: rotor, position: [0, 0, 0], axis: [0, 0, 1]}
initial: {outer: {rate: [0.5, 1]}, spin: {rate: 60}}
""",
    "chain": """
bodies:
  a: {mass: 1 kg, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.1]}
  b: {mass: 1 kg, com: [0, 0, -1.5], inertia: [0.1, 0.1, 0.1]}TOUCHES
joints:
  j: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}
  k: {type: rotational, parent: a, child: b, position: [0, 0, -1], axis: [0, 1, 0]}
initial: {j: {coordinate: 60 deg, rate: 2}, k: {coordinate: 20 deg, rate: 12}}
""",
    "loop": """
bodies:
  crank: {mass: 1 kg, com: [0, 0, 0.2], inertia: [0.1, 0.05, 0.1]}
  coupler: {mass: 1.5 kg, com: [0.4, 0.1, 0.6], inertia: [0.1, 0.1, 0.1]}
  rocker: {mass: 1 kg, com: [0.96, 0, 0.4], inertia: [0.1, 0.1, 0.1]}TOUCHES
joints:
  left: {type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 1, 0]}
  right: {type: rotational, parent: world, child: rocker, position: [1, 0, 0], axis: [0, 1, 0]}
  high: {type: rotational, parent: crank, child: coupler, position: [0, 0, 0.4], axis: [0, 1, 0]}
  far: {type: rotational, parent: coupler, child: rocker, position: [0.918328, 0, 0.795819], axis: [0, 1, 0]}
initial: {left: {rate: 10}}
""",
}
# Of the energy, at most, by method in steps of 2 ms.  Methods of first order err by about the step times the fastest
# rate, here up to 0.1, and do not drift; a body on a ball has a constant inertia and loses nothing.  Loops in time
# steps do drift, and so do limbs that these fly in parts, which lose a little in each (docs/limitations.md).
BOUNDS = {
    "semi_implicit": {"ball": 1e-9, "figure": 0.03, "gimbal": 0.03, "chain": 0.05, "loop": 0.05},
    "stepping": {"ball": 1e-8, "figure": 0.03, "gimbal": 0.03, "chain": 0.2},
    "rk4": {"ball": 1e-4, "figure": 1e-5, "gimbal": 1e-4, "chain": 1e-4, "loop": 1e-4},
    "variational": {"ball": 1e-3, "figure": 1e-3, "gimbal": 1e-2, "chain": 1e-2, "loop": 1e-2},
}


@pytest.mark.parametrize(("tree", "method"), [(tree, method) for method in FIXED for tree in BOUNDS[method]])
def test_trees_and_loops_keep_their_energy(tree: str, method: str) -> None:
    text = TREES[tree]
    text = text.replace("TOUCHES}", "," + TOUCHES.strip() + "}").replace("TOUCHES", TOUCHES.rstrip())
    energy, _ = energies(text, method, 2e-3, 30.0)
    bound = BOUNDS[method][tree] * energy[0]
    assert np.max(np.abs(energy - energy[0])) < bound
    drift = np.mean(energy[-15:]) - np.mean(energy[:15])
    assert abs(drift) < 0.5 * bound


@pytest.mark.parametrize("method", ["semi_implicit", "stepping"])
def test_the_motion_is_right_to_first_order(method: str) -> None:
    """Half the step, half the distance from the motion under error control: nothing but the energy is mended.

    In time steps of 2 ms limbs turn so far that they are flown in parts, which is nearer still.
    """
    text = TREES["figure"].replace("TOUCHES", TOUCHES.rstrip())
    exact = simulator(text, "dop853", 1e-3)
    exact.advance(0.5)
    off = []
    for step in (2e-3, 1e-3, 5e-4):
        run = simulator(text, method, step)
        run.advance(0.5)
        off.append(float(np.linalg.norm(run.q - exact.q)))
    assert (1.6 < off[0] / off[1] < 2.5 or (method == "stepping" and off[0] < off[1])) and off[0] < 0.1
    assert 1.6 < off[1] / off[2] < 2.5 and off[1] < 0.05


@pytest.mark.parametrize("method", ["semi_implicit", "stepping"])
def test_how_often_is_recorded_changes_no_bit(method: str) -> None:
    """Rows between steps look at other states; a step takes inertia and forces at its own start nevertheless."""
    torques = """["1 N*m*sin(30*t/1 s)", "-1 N*m*coordinate('elbow')[0]"]"""
    push = f"controllers: {{push: {{type: torque, torques: {{elbow: {torques}}}}}}}\n"
    how = f"method: {method}, step: 4 ms" if method != "stepping" else "contact: stepping, dt: 4 ms"
    rule = "contacts: {far: {between: [touches, world]}}\n" if method == "stepping" else ""
    text = HEAD + TREES["figure"].replace("TOUCHES", TOUCHES.rstrip()) + push + rule
    ends = []
    for rate in (10, 730):
        recording = sim.run(load_text(f"{text}simulate: {{duration: 0.1 s, {how}, record: {rate} Hz}}\n"))
        ends.append(np.concatenate([recording.epochs[-1].q[-1], recording.epochs[-1].v[-1]]))
    assert np.array_equal(*ends)


@pytest.mark.parametrize("method", ["method: semi_implicit, step: 1 ms", "contact: stepping, dt: 1 ms"])
@pytest.mark.parametrize("tail", [False, True], ids=["lone", "with a tail"])
def test_the_centre_of_mass_goes_straight_wherever_the_origin_is(tail: bool, method: str) -> None:
    """The origin is 3.6 m off the centre of mass, and turns about it at 2.3 rad/s."""
    text = f"""
schema: 1
world: {{gravity: [0, 0, 0]{", shapes: [{name: floor, plane: {center: [0, 0, -90]}}]" if "contact" in method else ""}}}
bodies:
  head: {{mass: 2, com: [1, 2, 3], position: [0.5, 0, 0], inertia: [0.2, 0.5, 0.6],
    shapes: [{{sphere: {{center: [1, 2, 3], radius: 0.1}}}}]}}
  {"tail: {mass: 0.5, com: [1.2, 2.3, 3.1], inertia: [0.1, 0.1, 0.1]}" if tail else ""}
{"joints: {hip: {type: rotational, parent: head, child: tail, position: [1, 2, 3.5], axis: [0, 1, 0]}}" if tail else ""}
initial: {{head: {{velocity: [1, 2, 3], angular_velocity: [0.4, -1, 2]}}}}
{"contacts: {floor: {between: [head, world]}}" if "contact" in method else ""}
simulate: {{duration: 1 s, record: 100 Hz, {method}}}
"""
    with sim.run(load_text(text)) as recording:
        com = recording.com["head"]
        if tail:
            com = (2.0 * com + 0.5 * recording.com["tail"]) / 2.5
        centre = com[0] - np.array([0.5, 0.0, 0.0])
        rate = np.array([1.0, 2.0, 3.0]) + np.cross([0.4, -1.0, 2.0], centre)  # all turns with the head at first
        assert com[-1] == pytest.approx(com[0] + rate, abs=1e-3 if tail else 1e-12)  # of a tree to the order of a step
        kinetic = recording.energy.kinetic
        assert np.ptp(kinetic) < (1e-3 if tail else 1e-10) * kinetic[0]
