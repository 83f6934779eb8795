"""Compile the kernels once, by two processes at a time, into the cache that later runs load.

Kernels are the same machine code for every scene; a small mechanism with a loop and a stop serves to
find the types of their arguments.  The other process says on its standard output what it has stored.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

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
    """Compile all kernels unless that was done before; about a minute on two cores."""
    if not jit.is_cold():
        return
    jit.cache_folder().mkdir(parents=True, exist_ok=True)
    helper = subprocess.Popen(
        [sys.executable, "-c", "from sim import warming; warming.assist()"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        leaves, _, stories = _work(_arguments())
        _compile(leaves)
        for waits_for, tasks in stories:
            _wait(helper, waits_for)
            _compile(tasks)
    finally:
        helper.kill()
        helper.wait()
    (jit.cache_folder() / "complete").touch()


def assist() -> None:
    """Compile the other half, saying so line by line."""
    _, tasks, _ = _work(_arguments())
    for name, part in tasks:
        _compile(part)
        print(name, flush=True)


def _wait(helper: subprocess.Popen[str], name: str) -> None:
    """Wait for the other process to have stored a part; go on alone where it ended."""
    assert helper.stdout is not None
    while name:
        line = helper.stdout.readline()
        if not line or line.strip() == name:
            return


def _compile(tasks: list[Task]) -> None:
    import numba

    for kernel, arguments in tasks:
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


def _work(flow: Any) -> tuple[list[Task], list[tuple[str, list[Task]]], list[tuple[str, list[Task]]]]:
    """Return (first half of the leaves, what the other process does, what follows and waits for it)."""
    from sim.kernels import (
        advance,
        constraints,
        dynamics,
        forces,
        inertia,
        integrate,
        kinematics,
        observe,
        programs,
        project,
    )

    t, w, s, control, guards = flow.structure.tables, flow.work, flow.stepper, flow.control, flow.guards
    q, v, n = s.saved, s.moved, 1
    pose = (t.links, q, w.links, w.freedoms)
    tree = (t.links, t.freedoms, w.links, w.freedoms)
    column = (w.coordinate, w.rate, w.torque, w.one)
    leaves: list[Task] = [
        (kinematics.poses, pose), (kinematics.velocities, (t.links, t.freedoms, v, w.links, w.freedoms)),
        (inertia.link_inertias, (t.links, w.links)), (inertia.composite, (t.links, w.links)),
        (inertia.inertia_matrix, (*tree, w.M)), (inertia.factor, (t.links, t.freedoms, t.branch, w.M, w.freedoms)),
        (inertia.solve_up, (t.links, t.freedoms, t.branch, w.M, w.freedoms)),
        (inertia.solve_down, (t.links, t.freedoms, t.branch, w.M, w.freedoms)),
        (forces.link_forces, (w.links,)), (forces.gather, tree),
        (forces.tree_columns, (t.links, q, v, w.coordinate, w.rate)),
        (forces.loop_columns, (t.blocks, w.blocks, control.turn, w.coordinate, w.rate)),
        (forces.spring_torques, (t.columns, *column)), (forces.stop_torques, (t.stops, control.engaged, *column)),
        (forces.loop_wrenches, (t.blocks, w.torque, w.blocks, w.links)),
        (forces.body_wrenches, (t.links, control.wrench, control.arms, w.links, w.one)),
    ]  # fmt: skip
    rows: list[Task] = [
        (constraints.block_frames, (t.blocks, w.links, w.blocks)),
        (constraints.build_rows, (t.blocks, t.rows, w.links, w.blocks, w.rows)),
        (constraints.jacobians, (t.blocks, t.freedoms, t.support, w.M, w.links, w.freedoms, w.blocks, w.rows, w.J)),
        (constraints.gram, (t.blocks, t.pairs, t.rows, t.shared, w.J, w.G)),
        (constraints.cholesky, (t.rows, w.G, w.rows, w.one)), (constraints.cholesky_as_kept, (n, w.rows, w.G)),
        (constraints.solve_rows, (n, w.G, w.rows)), (constraints.mismatch, (n, w.G, w.rows)),
        (constraints.project_rhs, (t.blocks, t.support, w.J, w.freedoms, w.rows)),
        (constraints.apply_rows, (t.blocks, t.support, w.J, w.rows, w.freedoms)),
        (constraints.residuals, (t.rows, w.blocks, w.rows)), (constraints.slips, (t.rows, w.blocks, w.rows)),
        (project.add_freedoms, (t.links, v, 1.0, q)), (project.normalise, (t.links, q)),
        (dynamics.body_poses, (t.links, w.links, w.bodies)),
    ]  # fmt: skip
    record = (t, control, w, flow.rows.layout, n, n, 0.0, s.y, s.N, flow.rows.buffer[0])
    watch = (t, control, w, s, guards, flow.rows.layout, n, n)
    helper: list[tuple[str, list[Task]]] = [
        ("rows", rows),
        ("project", [(project.project, (t, w, q, v, s.moved, s.saved))]),
        ("sample", [(observe.centres, (t.links, w.links, w.bodies)), (advance.sample, record)]),
        ("crossing", [(advance.guard_values, (*watch, 0.0, s.y, s.guard_old)), (advance.first_crossing, watch)]),
        ("programs", [(programs.evaluate, (t, w, flow.rows.layout, 0.0, s.y))]),
    ]
    stories: list[tuple[str, list[Task]]] = [
        ("rows", [
            (integrate.derivative, (t, control, w, 0.0, n, n, s.y, s.k[0])),
            (project.refresh, (t, control, w, 0.0, q, v)),
        ]),
        ("project", [(advance.step, (t, control, w, s, 0.0, n, n))]),
        ("crossing", [(advance.advance, (t, control, w, s, guards, flow.rows.layout, flow.rows.buffer, 0.0, n))]),
        ("programs", [(programs.evaluate, (t, w, flow.rows.layout, 0.0, s.y))]),
    ]  # fmt: skip
    return leaves, helper, stories
