"""Compile the kernels once, by two processes at a time, into the cache that later runs load.

`prepare` compiles what nearly every run needs, `everything` the rest as well: contacts, time steps, the implicit and
the symplectic method, rollouts, the laws of the shipped controllers.

Kernels are the same machine code for every scene; a small mechanism with a loop and a stop serves to
find the types of their arguments.  The two begin at different ends, and nothing is compiled twice (`_claimed`).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
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
NUMBER, COUNT = np.float64(), np.int64()  # kernels are compiled for types, whatever the values

_compiling = False  # runs in here prepare nothing


def prepare() -> None:
    """Compile what nearly every run needs unless that was done before; a minute on two cores."""
    if jit.is_cold() and not _compiling:
        with _claimed("complete"), _helped(_assist):
            _compile(_first(_arguments()))


def _assist() -> None:
    """Compile what `prepare` leaves to the other process."""
    _compile(_second(_arguments()))


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
  feel: {type: torque, torques: {hinge: "0.1*torque('top')"}}
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
    if jit.lacks_contacts() and not _compiling:
        with _claimed("contacts"):
            _touch()


def prepare_steps() -> None:
    """Compile the kernels of time steps with contacts unless that was done before, by a short run that calls them."""
    if jit.lacks_steps() and not _compiling:
        with _claimed("steps"), _helped(_press):
            _step()


def everything() -> None:
    """Compile whatever a run of any scene by any method may call, by calling it; two minutes on two cores.

    Plain Python is compiled at the first call, so that what is called here is what a run calls.
    """
    if jit.is_partial():
        with _claimed("complete", "contacts", "steps", "everything"), _helped(_assist_everything):
            _compile(_first(_arguments()))
            _step()


def _assist_everything() -> None:
    """Compile what `everything` leaves to the other process: about as much."""
    _assist()
    _press()
    _touch()
    _run_methods()
    _roll_out()


def _press() -> None:
    """Compile what time steps call and nothing else does."""
    from sim.kernels import pressing

    _compile([(pressing.press_rows, (COUNT, COUNT)), (pressing.solve_presses, (COUNT, COUNT, NUMBER))])


def _touch() -> None:
    """Run with contacts, and call the solver of impacts that runs seldom need."""
    from sim.contact.problem import impact
    from sim.contact.sweeps import sweep
    from sim.running import run
    from sim.scene.load import load_text

    run(load_text(_CONTACTS)).close()
    sweep(impact(np.eye(3), np.array([-1.0, 0.0, 0.0]), np.ones(1)), np.zeros((1, 3)), 1, 1.0)


def _step() -> None:
    """Run with contacts in time steps."""
    from dataclasses import replace

    from sim.running import run
    from sim.scene.load import load_text

    scene = load_text(_CONTACTS)
    run(replace(scene, simulate=replace(scene.simulate, contact="stepping", dt=_SHORT))).close()


def _run_methods() -> None:
    """Run by the methods that have kernels of their own, and look at what was run."""
    from dataclasses import replace

    from sim.report import check, info
    from sim.running import run
    from sim.scene.load import load_text

    scene = load_text(_EVERYTHING)
    for method in ("dop853", "radau", "rk4"):
        run(replace(scene, simulate=replace(scene.simulate, method=method)), duration=_SHORT).close()
    check(scene)
    info(scene, at=_SHORT)
    scene = load_text(_SCENE)
    run(replace(scene, simulate=replace(scene.simulate, method="variational", dt=_SHORT)), duration=_SHORT).close()


def _roll_out() -> None:
    """Roll out, with torques and without."""
    from dataclasses import replace

    from sim.compiler import compile
    from sim.ensemble import Ensemble
    from sim.scene.load import load_text
    from sim.simulator import Simulator

    model = compile(replace(load_text(_EVERYTHING), events=()))
    simulator = Simulator(model)
    state, columns = np.concatenate([simulator.q, simulator.v]), len(model.column_names)
    for torques in (None, np.zeros((1, 1, columns))):
        Ensemble(model, threads=1).rollout(state, torques, 1, dt=_SHORT)


@contextmanager
def _helped(task: Callable[[], None]) -> Iterator[None]:
    """Let another process do a task meanwhile, and do here what it did not."""
    # In a checkout, the current folder holds sources that need not be those that run here: -P leaves it out.
    sources = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    helper = subprocess.Popen(
        [sys.executable, "-P", "-c", f"from sim import warming\nwith warming._claimed(): warming.{task.__name__}()"],
        env={**os.environ, "PYTHONPATH": sources, "NUMBA_CACHE_DIR": str(jit.cache_folder().parent)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
        if helper.wait() != 0:
            task()
    finally:
        helper.kill()
        helper.wait()


@contextmanager
def _claimed(*names: str) -> Iterator[None]:
    """Let this process load what another one compiles, which it waits for; at the end, note what the cache has.

    Numba asks its cache before it compiles a kernel and tells it after; in between a byte of a file is locked, until
    the process ends at the latest.  Nobody waits for ever: who compiles a kernel waits only for those that it calls.
    """
    global _compiling
    from numba.core.caching import FunctionCache

    cache: Any = FunctionCache
    load, save = cache.load_overload, cache.save_overload

    def load_or_claim(kernel: Any, signature: Any, context: Any) -> Any:
        loaded = load(kernel, signature, context)
        if loaded is not None:
            return loaded
        with suppress(OSError):  # where files cannot be locked, both compile
            fcntl.lockf(claims, fcntl.LOCK_EX, 1, _place(kernel))
        return load(kernel, signature, context)

    def save_and_leave(kernel: Any, signature: Any, compiled: Any) -> None:
        save(kernel, signature, compiled)
        with suppress(OSError):
            fcntl.lockf(claims, fcntl.LOCK_UN, 1, _place(kernel))

    folder = jit.cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "claims").open("wb") as claims:
        cache.load_overload, cache.save_overload, _compiling = load_or_claim, save_and_leave, True
        try:
            yield
        finally:
            cache.load_overload, cache.save_overload, _compiling = load, save, False
    for name in names:
        (folder / name).touch()


def _place(kernel: Any) -> int:
    """Return the byte that stands for a kernel, by its name in the cache."""
    name = hashlib.sha256(f"{kernel.cache_path} {kernel._impl.filename_base}".encode())
    return int.from_bytes(name.digest()[:7], "little")


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
    from sim.flow import Flow
    from sim.mechanism import Mechanism
    from sim.scene.load import load_text

    model = compile(load_text(_SCENE))
    structure = first_structure(model)
    mechanism = Mechanism.of(model, structure)
    return Flow(model, structure, model.frames, frozenset(model.connected), mechanism, mechanism.control, [])


def _first(flow: Any) -> list[Task]:
    """Return what the process compiles that asked for it, callees before callers."""
    from sim.kernels import articulated, dynamics, elements, forces, inertia, kinematics, motion, observe, spans, system

    t, w, s, control = flow.structure.tables, flow.work, flow.stepper, flow.control
    q, v = w.saved, w.moved
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
    pages: list[Task] = [
        (elements.point_forces, (at, NUMBER)),
        (dynamics.move, (at, q, v)), (dynamics.apply_forces, (at, NUMBER, q, v)), (dynamics.free_response, (at,)),
    ]  # fmt: skip
    return [*leaves, *pages, (motion.motion, ()), (spans.spans, ())]


def _second(flow: Any) -> list[Task]:
    """Return what the other process compiles meanwhile, callees before callers."""
    from sim.kernels import (
        advance,
        constraints,
        dynamics,
        fronts,
        jets,
        observe,
        passes,
        programs,
        project,
        system,
    )

    t, w, s, control = flow.structure.tables, flow.work, flow.stepper, flow.control
    q, v, n = w.saved, w.moved, COUNT
    answers = np.zeros(system.QUESTIONS, np.int64)
    at = system.address(system.places_of(t, control, w, flow.guards))
    tree = (t.links, t.freedoms, w.links, w.freedoms)
    rows: list[Task] = [
        (constraints.block_frames, (t.blocks, w.links, w.blocks)),
        (constraints.build_rows, (t.blocks, t.rows, n, w.keeps, w.links, w.blocks, w.rows)),
        (constraints.jacobians, (t.links, t.freedoms, t.blocks, w.links, w.freedoms, w.blocks, w.rows, w.J)),
        (constraints.gram, (t.blocks, t.pairs, t.rows, t.shared, w.J, w.G)),
        (constraints.cholesky, (t.rows, w.G, w.rows, w.one, NUMBER, n)),
        (constraints.solve_rows, (n, w.G, w.rows)),
        (constraints.project_rhs, (t.blocks, t.support, w.J, w.freedoms, w.rows)),
        (constraints.apply_rows, (t.blocks, t.support, w.J, w.rows, w.freedoms)),
        (constraints.residuals, (t.blocks, t.rows, w.coordinate, w.blocks, w.rows)),
        (constraints.slips, (t.blocks, t.rows, w.blocks, w.rows)),
        (constraints.mismatch, (t.blocks, t.rows, w.links, w.blocks, w.rows)),
        (project.add_freedoms, (t.links, v, NUMBER, q)), (project.normalise, (t.links, q)),
        (programs.evaluate, (at, answers, NUMBER, s.y)),
        (jets.drive, (t.rows, t.codes, t.constants, t.programs, NUMBER, w.jets, w.rows)),
    ]  # fmt: skip
    along: list[Task] = [
        (fronts.eliminate_along, (
            n, t.links, t.freedoms, t.fronts, t.entries, t.blocks, t.rows, t.one, w.keeps, w.links, w.freedoms,
            w.blocks, w.rows, w.fronts, w.one, w.ids, w.J, w.pile, w.front, w.K, w.G, w.rim, w.rim_K, w.rim_G, w.basis,
        )),
        (passes.inward_along, (*tree, w.rows, w.fronts, w.ids, w.J)),
        (passes.outward_along, (*tree, w.rows, w.fronts, w.ids, w.J)),
    ]  # fmt: skip
    more: list[Task] = [(dynamics.factorise, (at, n)), (dynamics.solve_loops, (at,)), (dynamics.answer_rows, (at,))]
    flowing: list[Task] = [
        (advance.advance, (answers, at, w.reply, s, flow.rows.buffer, NUMBER, n)),
        (advance.answer, (answers, n, at, NUMBER, s.y, s.y)),
    ]
    return [*rows, *along, *more, (observe.observation, ()), *flowing]
