"""Small scenes that call every kernel: what is compiled by running them, other runs load.

``python -m sim.analysis.warm_up TASK`` does one of the tasks below; see `sim.simulation.precompile`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sim.analysis.report import check, info
from sim.assembly.start import first_structure
from sim.contact.contact_problem import impact
from sim.contact.sweeps import sweep
from sim.kernels import advance, dynamics, jets, jit, programs, system
from sim.kernels.elimination import fronts, passes
from sim.kernels.guards.clearance import clearance
from sim.kernels.guards.spans import spans
from sim.kernels.integrators.stepping import stepping
from sim.kernels.motion import motion
from sim.kernels.observe import observation
from sim.kernels.rows import constraints
from sim.mechanism.compiler import compile
from sim.mechanism.mechanism import Mechanism
from sim.scene import library
from sim.scene.load import load, load_text
from sim.simulation import precompile
from sim.simulation.ensemble import Ensemble
from sim.simulation.flow import Flow
from sim.simulation.recorded_runs import run
from sim.simulation.simulator import Simulator

# What scenes may have: a loop, a stop, a drive, a thin body, formulas that forces and events read.
SCENE = """
schema: 1
name: everything
bodies:
  a: {mass: 1 kg, com: [0, 0, 1], gyration: [1, 1, 1], points: {tip: [0, 0, 2]}}
  b: {mass: 1 kg, com: [0, 0, 1], gyration: [1, 1, 1]}
  c: {mass: 1 kg, com: [1, 0, 1], gyration: [1, 1, 1]}
  d: {mass: 1 kg, com: [3, 0, 1], gyration: [1, 1, 1]}
  e: {mass: 1 kg, com: [5, 0, 1], gyration: [1, 1, 0]}
joints:
  top: {type: rotational, parent: world, child: a, position: [0, 0, 1], axis: [0, 1, 0], limits: [-3, 3]}
  ball: {type: spherical, parent: a, child: b, position: [0, 0, 1]}
  hinge: {type: rotational, parent: b, child: c, position: [1, 0, 1], axis: [0, 1, 0], stiffness: 1 N m/rad}
  tie: {type: spherical, parent: world, child: c, position: [1, 0, 1]}
  thin: {type: rotational, parent: world, child: e, position: [5, 0, 2], axis: [0, 1, 0]}
  crank: {type: rotational, parent: world, child: d, position: [3, 0, 1], axis: [0, 1, 0], motion: 0.1*sin(t/1 s)}
forces:
  strut: {type: spring, from: a.tip, to: b.com, stiffness: 1 N/m}
events:
  far: {when: "coordinate('top') > 2", cut: tie}
simulate: {duration: 10 ms}
"""
# All shipped controllers that need no file; `track`, which `walk` is built on, leads a shipped scene.
CONTROLLERS = """controllers:
  push: {type: torque, torques: {top: "1 N m*cos(t/1 s)"}}
  feel: {type: torque, torques: {hinge: "0.1*torque('top')"}}
  hold: {type: pd, joints: [hinge], kp: 1, kd: 1}
  stop: {type: limits, joints: [top]}
  pump: {type: swing_pump, joints: [hinge], amplitude: 0.1}
  wave: {type: serpenoid, joints: [hinge], amplitude: 0.1, step: 1, kp: 1}
  paper: {type: snake_paper, joints: [hinge]}
"""
# What steps without loops and drives.
PENDULUM = """
schema: 1
name: pendulum
bodies: {a: {mass: 1 kg, com: [0, 0, 1], gyration: [1, 1, 1]}, b: {mass: 1 kg, com: [0, 0, 1], gyration: [1, 1, 1]}}
joints:
  top: {type: rotational, parent: world, child: a, position: [0, 0, 1], axis: [0, 1, 0], limits: [-3, 3]}
  tie: {type: spherical, parent: a, child: b, position: [0, 0, 1]}
"""
# A block that slides, a ball that bounces and rolls.
CONTACTS = """
schema: 1
name: contacts
world: {shapes: [{plane: {}}]}
bodies:
  block: {mass: 1 kg, shapes: [{box: {center: [0, 0, 0.1], size: [0.2, 0.2, 0.2]}}]}
  ball: {mass: 1 kg, shapes: [{sphere: {center: [1, 0, 0.1000001], radius: 0.1}}]}
initial: {block: {velocity: [1, 0, 0]}}
contacts: {ground: {between: ["*", world], friction: 0.3}}
simulate: {duration: 1 ms}
"""
SHORT = 1e-3  # s


def run_without_contacts() -> None:
    """Compile what nearly every run calls, beginning with what the other process comes to last."""
    compile_rows()
    precompile.compile_entries(observation)
    run(load_text(SCENE)).close()


def compile_rows() -> None:
    """Compile rows of loops, their elimination and what steps: for the types of a flow that has not moved.

    Whatever is called first compiles poses and forces first, and the other process does that.
    """
    import numba

    model = compile(load_text(PENDULUM))
    structure = first_structure(model)
    mechanism = Mechanism.of(model, structure)
    flow = Flow(model, structure, model.frames, frozenset(model.connected), mechanism, mechanism.control, [], None)
    t, w, s, control, n = structure.tables, flow.work, flow.stepper, flow.control, 1
    at = system.address(system.places_of(t, control, w, flow.guards))
    tree = (t.links, t.freedoms, w.links, w.freedoms)
    for kernel, arguments in (
        (constraints.block_frames, (t.blocks, w.links, w.blocks)),
        (constraints.build_rows, (t.blocks, t.rows, n, w.keeps, w.links, w.blocks, w.rows)),
        (constraints.jacobians, (t.links, t.freedoms, t.blocks, w.links, w.freedoms, w.blocks, w.rows, w.J)),
        (constraints.gram, (t.blocks, t.pairs, t.rows, t.shared, w.J, w.G)),
        (constraints.cholesky, (t.rows, w.G, w.rows, w.one, 1.0, n)),
        (constraints.solve_rows, (n, w.G, w.rows)),
        (constraints.project_rhs, (t.blocks, t.support, w.J, w.freedoms, w.rows)),
        (constraints.apply_rows, (t.blocks, t.support, w.J, w.rows, w.freedoms)),
        (constraints.residuals, (t.blocks, t.rows, w.coordinate, w.blocks, w.rows)),
        (constraints.slips, (t.blocks, t.rows, w.blocks, w.rows)),
        (constraints.mismatch, (t.blocks, t.rows, w.links, w.blocks, w.rows)),
        (fronts.eliminate_along, (at, n)),
        (passes.inward_along, (*tree, w.rows, w.fronts, w.ids, w.J, t.fronts.limit, 1)),
        (passes.outward_along, (*tree, w.rows, w.fronts, w.ids, w.J, t.fronts.limit, 1)),
        (programs.evaluate, (at, np.zeros(1, np.int64), 0.0, s.y)),
        (jets.drive, (t.rows, t.codes, t.constants, t.programs, 0.0, w.jets, w.rows)),
        (dynamics.factorise, (at, n)),
        (dynamics.solve_loops, (at,)),
        (dynamics.answer_rows, (at,)),
        (advance.advance, (np.zeros(system.QUESTIONS, np.int64), at, w.reply, s, flow.rows.buffer, 0.0, n)),
    ):  # fmt: skip
        kernel.compile(tuple(map(numba.typeof, arguments)))


def run_with_contacts() -> None:
    """Compile what runs with contacts call, and the solver of impacts that runs seldom need."""
    run(load_text(CONTACTS)).close()
    sweep(impact(np.eye(3), np.array([-1.0, 0.0, 0.0]), np.ones(1)), np.zeros((1, 3)), 1, 1.0)


def run_in_steps() -> None:
    """Compile what runs with contacts in time steps call."""
    scene = load_text(CONTACTS)
    run(replace(scene, simulate=replace(scene.simulate, contact="stepping", dt=SHORT))).close()


def run_by_all_methods() -> None:
    """Compile the methods that have kernels of their own, shipped controllers, checks and rollouts."""
    scene = load_text(SCENE + CONTROLLERS)
    for method in ("dop853", "radau", "rk4"):
        run(replace(scene, simulate=replace(scene.simulate, method=method)), duration=SHORT).close()
    run(load(library.find("deck_crane")), duration=SHORT).close()
    check(scene)
    info(scene, at=SHORT)
    loose = load_text(PENDULUM)
    run(replace(loose, simulate=replace(loose.simulate, method="variational", dt=SHORT)), duration=SHORT).close()
    model = compile(replace(scene, events=()))
    simulator = Simulator(model)
    state, columns = np.concatenate([simulator.q, simulator.v]), len(model.column_names)
    for torques in (None, np.zeros((1, 1, columns))):
        Ensemble(model, threads=1).rollout(state, torques, 1, dt=SHORT)


def assist() -> None:
    """Compile what `everything` leaves to the other process: about as much."""
    run_without_contacts()
    run_with_contacts()
    run_by_all_methods()


def everything() -> None:
    """Compile whatever a run of any scene by any method may call, by calling it; two minutes on two cores."""
    if jit.is_partial():
        with precompile.claimed("complete", "contacts", "steps", "everything"), precompile.helped("assist"):
            precompile.compile_entries(motion, spans, stepping, clearance)
            run_in_steps()


TASKS: dict[str, Callable[[], None]] = {
    task.__name__: task for task in (run_without_contacts, run_with_contacts, run_in_steps, assist)
}

if __name__ == "__main__":
    with precompile.claimed():
        TASKS[sys.argv[1]]()
