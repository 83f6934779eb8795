"""Compile the kernels once, by two processes at a time, into the cache that later runs load.

`prepare` compiles what nearly every run needs, `everything` the rest as well: the implicit method, rollouts, the laws
of the shipped controllers.

Kernels are the same machine code for every scene; a small mechanism with a loop and a stop serves to
find the types of their arguments.  The other process says on its standard output what it has stored.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np

from sim.kernels import jit

_SCENE = """
schema: 1
name: warming
bodies: {a: {mass: 1 kg, com: [0, 0, 1], gyration: [1, 1, 1]}, b: {mass: 1 kg, com: [0, 0, 1], gyration: [1, 1, 1]}}
joints:
  top: {type: rotational, parent: world, child: a, position: [0, 0, 1], axis: [0, 1, 0], limits: [-3, 3]}
  tie: {type: spherical, parent: a, child: b, position: [0, 0, 1]}
"""

Task = tuple[Any, tuple[Any, ...]]


def prepare() -> None:
    """Compile all kernels unless that was done before; half a minute on two cores."""
    if not jit.is_cold():
        return
    jit.cache_folder().mkdir(parents=True, exist_ok=True)
    helper = subprocess.Popen(
        [sys.executable, "-c", "from sim import warming; warming.assist()"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        for mine, part in _parts(_arguments()):
            if mine:
                _compile(part)
            else:
                _wait(helper)
    finally:
        helper.kill()
        helper.wait()
    (jit.cache_folder() / "complete").touch()


# What scenes may have: a loop, a stop, a drive, formulas that forces and events read, all shipped controllers.
_EVERYTHING = """
schema: 1
name: everything
bodies:
  a: {mass: 1 kg, com: [0, 0, 1], gyration: [1, 1, 1], points: {tip: [0, 0, 2]}}
  b: {mass: 1 kg, com: [0, 0, 1], gyration: [1, 1, 1]}
  c: {mass: 1 kg, com: [1, 0, 1], gyration: [1, 1, 1]}
  d: {mass: 1 kg, com: [3, 0, 1], gyration: [1, 1, 1]}
joints:
  top: {type: rotational, parent: world, child: a, position: [0, 0, 1], axis: [0, 1, 0], limits: [-3, 3]}
  ball: {type: spherical, parent: a, child: b, position: [0, 0, 1]}
  hinge: {type: rotational, parent: b, child: c, position: [1, 0, 1], axis: [0, 1, 0], stiffness: 1 N m/rad}
  tie: {type: spherical, parent: world, child: c, position: [1, 0, 1]}
  crank: {type: rotational, parent: world, child: d, position: [3, 0, 1], axis: [0, 1, 0], motion: 0.1*sin(t/1 s)}
forces:
  strut: {type: spring, from: a.tip, to: b.com, stiffness: 1 N/m}
controllers:
  push: {type: torque, torques: {top: "1 N m*cos(t/1 s)"}}
  hold: {type: pd, joints: [hinge], kp: 1, kd: 1}
  stop: {type: limits, joints: [top]}
  pump: {type: swing_pump, joints: [hinge], amplitude: 0.1}
  wave: {type: serpenoid, joints: [hinge], amplitude: 0.1, step: 1, kp: 1}
  paper: {type: snake_paper, joints: [hinge]}
events:
  far: {when: "coordinate('top') > 2", cut: tie}
simulate: {duration: 10 ms}
"""
# A block that slides, a ball that bounces and rolls.
_CONTACTS = """
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
_SHORT = 1e-3  # s


def prepare_contacts() -> None:
    """Compile the kernels of contacts unless that was done before, by a short run that calls them."""
    if not jit.lacks_contacts():
        return
    (jit.cache_folder() / "contacts").touch()  # so that this run does not come here
    from sim.contact.problem import impact
    from sim.contact.sweeps import sweep
    from sim.running import run
    from sim.scene.load import load_text

    try:
        run(load_text(_CONTACTS)).close()
        sweep(impact(np.eye(3), np.array([-1.0, 0.0, 0.0]), np.ones(1)), np.zeros((1, 3)), 1, 1.0)
    except BaseException:
        (jit.cache_folder() / "contacts").unlink(missing_ok=True)
        raise


def prepare_steps() -> None:
    """Compile the kernels of time steps with contacts unless that was done before, by a short run that calls them."""
    if not jit.lacks_steps():
        return
    (jit.cache_folder() / "steps").touch()  # so that this run does not come here
    from dataclasses import replace

    from sim.running import run
    from sim.scene.load import load_text

    scene = load_text(_CONTACTS)
    try:
        run(replace(scene, simulate=replace(scene.simulate, contact="stepping", dt=_SHORT))).close()
    except BaseException:
        (jit.cache_folder() / "steps").unlink(missing_ok=True)
        raise


def everything() -> None:
    """Compile whatever a run of any scene by any method may call, by calling it; a minute on two cores.

    Plain Python is compiled at the first call, so that what is called here is what a run calls.
    """
    from dataclasses import replace

    from sim.compiler import compile
    from sim.ensemble import Ensemble
    from sim.report import check, info
    from sim.running import run
    from sim.scene.load import load_text
    from sim.simulator import Simulator

    prepare()
    prepare_contacts()
    prepare_steps()
    if not jit.is_partial():
        return
    scene = load_text(_EVERYTHING)
    for method in ("dop853", "radau"):
        run(replace(scene, simulate=replace(scene.simulate, method=method)), duration=_SHORT).close()
    model = compile(replace(scene, events=()))
    simulator = Simulator(model)
    state, columns = np.concatenate([simulator.q, simulator.v]), len(model.column_names)
    for torques in (None, np.zeros((1, 1, columns))):
        Ensemble(model, threads=1).rollout(state, torques, 1, dt=_SHORT)
    check(scene)
    info(scene, at=_SHORT)
    (jit.cache_folder() / "everything").touch()


def assist() -> None:
    """Compile what `prepare` does not, saying so part by part."""
    for mine, part in _parts(_arguments()):
        if not mine:
            _compile(part)
            print("done", flush=True)


def _wait(helper: subprocess.Popen[str]) -> None:
    """Wait for the other process to have stored a part; where it ended, the part is compiled when it is used."""
    assert helper.stdout is not None
    helper.stdout.readline()


def _compile(tasks: list[Task]) -> None:
    import numba

    for kernel, arguments in tasks:
        if isinstance(kernel, jit.Entry):
            kernel.compile()
        else:
            kernel.compile(tuple(numba.typeof(argument) for argument in arguments))


def _arguments() -> Any:
    """Return a flow whose arrays have the types that kernels see."""
    from sim.assembly import first_structure
    from sim.compiler import compile
    from sim.controllers import Controllers
    from sim.flow import Flow
    from sim.mechanism import Mechanism
    from sim.scene.load import load_text

    model = compile(load_text(_SCENE))
    structure = first_structure(model)
    mechanism = Mechanism.of(model, structure)
    Controllers(model, mechanism, 0)
    flow = Flow(model, structure, model.frames, frozenset(model.connected), mechanism, mechanism.control, [])
    return flow


def _parts(flow: Any) -> list[tuple[bool, list[Task]]]:
    """Return what is compiled: (whether by the process that asked, kernels), callees before callers.

    Parts of different owners are compiled at the same time; the one who asked waits where a part of
    the other's stands before its own.
    """
    from sim.kernels import (
        advance,
        articulated,
        constraints,
        dynamics,
        elements,
        forces,
        fronts,
        inertia,
        jets,
        kinematics,
        motion,
        observe,
        passes,
        programs,
        project,
        system,
    )

    t, w, s, control = flow.structure.tables, flow.work, flow.stepper, flow.control
    q, v, n = w.saved, w.moved, 1
    answers = np.zeros(system.QUESTIONS, np.int64)
    at = system.address(system.places_of(t, control, w, flow.guards))
    tree = (t.links, t.freedoms, w.links, w.freedoms)
    column = (w.coordinate, w.rate, w.torque, w.one)
    leaves: list[Task] = [
        (kinematics.poses, (t.links, q, w.links, w.freedoms)),
        (kinematics.velocities, (t.links, t.freedoms, v, w.links, w.freedoms)),
        (inertia.link_inertias, (t.links, w.links)), (articulated.articulate, tree),
        (articulated.inward, tree), (articulated.outward, tree), (forces.link_forces, (w.links,)),
        (forces.tree_columns, (t.links, q, v, w.coordinate, w.rate)),
        (forces.loop_columns, (t.blocks, w.blocks, control.turn, w.coordinate, w.rate)),
        (forces.spring_torques, (t.columns, *column)),
        (forces.stop_torques, (t.stops, control.engaged, w.coordinate, w.rate, w.stopping, w.torque, w.one)),
        (forces.rubbing_torques, (t.columns, control.rubbing, w.rate, w.rubbing, w.torque, w.one)),
        (forces.loop_wrenches, (t.blocks, w.torque, w.blocks, w.links)),
        (elements.torsion_springs, (t.forces, w.coordinate, w.rate, w.torque, w.forces, w.one)),
        (elements.spring_energy, (t.forces, t.points, w.coordinate, w.links)),
        (forces.body_wrenches, (t.links, control.wrench, control.arms, w.links, w.one)),
        (dynamics.body_poses, (t.links, w.links, w.bodies)), (kinematics.qdot, (t.links, q, v, s.y)),
        (observe.centres, (t.links, w.links, w.bodies)),
    ]  # fmt: skip
    rows: list[Task] = [
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
        (project.add_freedoms, (t.links, v, 1.0, q)), (project.normalise, (t.links, q)),
        (programs.evaluate, (at, np.zeros(1, np.int64), 0.0, s.y)),
        (jets.drive, (t.rows, t.codes, t.constants, t.programs, 0.0, w.jets, w.rows)),
    ]  # fmt: skip
    along: list[Task] = [
        (fronts.eliminate_along, (
            n, t.links, t.freedoms, t.fronts, t.entries, t.blocks, t.rows, t.one, w.keeps, w.links, w.freedoms,
            w.blocks, w.rows, w.fronts, w.one, w.ids, w.J, w.pile, w.front, w.K, w.G, w.rim, w.rim_K, w.rim_G, w.basis,
        )),
        (passes.inward_along, (*tree, w.rows, w.fronts, w.ids, w.J)),
        (passes.outward_along, (*tree, w.rows, w.fronts, w.ids, w.J)),
    ]  # fmt: skip
    pages: list[Task] = [
        (elements.point_forces, (at, 0.0)),
        (dynamics.move, (at, q, v)), (dynamics.apply_forces, (at, 0.0, q, v)), (dynamics.free_response, (at,)),
    ]  # fmt: skip
    more: list[Task] = [(dynamics.factorise, (at, n)), (dynamics.solve_loops, (at,)), (dynamics.answer_rows, (at,))]
    flowing: list[Task] = [
        (advance.advance, (answers, at, w.reply, s, flow.rows.buffer, 0.0, n)),
        (advance.answer, (answers, n, at, 0.0, s.y, s.y)),
    ]
    return [
        (True, leaves), (False, [*rows, *along]), (True, pages), (False, more), (True, [(motion.motion, ())]),
        (False, [(observe.observation, ()), *flowing]),
    ]  # fmt: skip
