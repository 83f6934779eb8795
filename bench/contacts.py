"""Time steps with contacts beside MuJoCo's at its default step: time of a scene, and how deep bodies get.

Both sides begin at the scene's start and make the same span: ours with the step that the table tells, MuJoCo with 2 ms,
its default contacts, and shapes that touch what ours touch.  Nothing is recorded on either side while time is taken,
which is that of the processor, both sides using one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import sim
from bench.measure import Result, result
from bench.ours import load
from sim.kernels.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, PLANE, SPHERE


@dataclass(frozen=True)
class Case:
    """A scene, how long of it is simulated [s], and the step of ours [s]."""

    scene: str
    span: float
    dt: float


CASES = {
    "figure_falls": Case("figure_falls", 3.0, 4e-3),
    "dominoes": Case("dominoes", 3.0, 8e-3),
    "figure_falls.2ms": Case("figure_falls", 3.0, 2e-3),
    "dominoes.2ms": Case("dominoes", 3.0, 2e-3),
    "heap": Case("benchmarks/heap", 4.0, 2e-3),
    "boxes": Case("benchmarks/boxes", 4.0, 2e-3),
}
STONES, TOPPLING = (50, 100, 200, 500), Case("dominoes", 0.5, 2e-3)  # of the slope
SETTLED = 0.9  # of the span: what follows counts as rest
PEER_STEP = 2e-3
MOST_BITS, ALL = 29, (1 << 30) - 1


class Ours:
    """A scene in time steps."""

    def __init__(self, case: Case, set: dict[str, float | str] | None = None):
        scene = load(case.scene, set=set)
        self.span, self.dt = case.span, case.dt
        simulate = replace(scene.simulate, contact="stepping", dt=self.dt, record=1e-3)
        self.model = sim.compile(replace(scene, simulate=simulate))
        self.simulator = sim.Simulator(self.model)

    def run(self) -> float:
        """Run the span; returns the processor time [s]."""
        self.simulator.reset()
        self.simulator.advance(0.0)  # which pairs may touch is decided here, as MuJoCo's model is made before
        began = time.process_time()
        self.simulator.advance(self.span)
        return time.process_time() - began

    def depths(self) -> tuple[float, float, float]:
        """Return the deepest overlap of any step and at rest [m], and the largest friction beyond its cone [1]."""
        self.simulator.reset()
        deepest = resting = beyond = 0.0
        while self.simulator.t < self.span - 0.5 * self.dt:
            self.simulator.advance(self.simulator.t + self.dt)
            now = self.simulator.flow.pressed()
            # Rigid stops count, in m or rad; soft ones give way as they say.
            closed = (now.meeting >= 0) | ((now.soft == 0.0) & (now.low == 0.0))
            depth = -float(now.gap[closed].min(initial=0.0))
            deepest = max(deepest, depth)
            if self.simulator.t > SETTLED * self.span:
                resting = max(resting, depth)
            size = np.hypot(now.impulse[:, 1], now.impulse[:, 2]) - now.friction * now.impulse[:, 0]
            beyond = max(beyond, float((size / max(now.impulse[:, 0].max(initial=0.0), 1e-300)).max(initial=0.0)))
        return deepest, resting, beyond


class Mujoco:
    """The same scene in MuJoCo: bodies, joints and limits at the scene's start, shapes that touch."""

    def __init__(self, ours: Ours):
        import mujoco

        self.mujoco: Any = mujoco
        self.span = ours.span
        ours.simulator.reset()
        ours.simulator.advance(0.0)  # which pairs may touch is decided at the start
        self.model = told(ours.model, ours.simulator)
        self.model.opt.timestep = PEER_STEP
        self.data = mujoco.MjData(self.model)
        self.qvel = np.zeros(self.model.nv)
        state = ours.simulator.state
        for body in ours.model.scene.bodies:
            joint = self.model.joint(f"{body.name}/free") if _is_free(ours.model, body.name) else None
            if joint is not None:
                first = joint.dofadr[0]
                self.qvel[first : first + 3] = state.velocity[body.name]
                self.qvel[first + 3 : first + 6] = state.angular_velocity[body.name]

    def run(self) -> float:
        """Run the span; returns the processor time [s]."""
        self._rewind()
        began = time.process_time()
        self.mujoco.mj_step(self.model, self.data, round(self.span / PEER_STEP))
        return time.process_time() - began

    def depths(self) -> tuple[float, float]:
        """Return the deepest overlap at any step and at rest [m]."""
        self._rewind()
        deepest = resting = 0.0
        for k in range(round(self.span / PEER_STEP)):
            self.mujoco.mj_step(self.model, self.data)
            depth = -float(self.data.contact.dist.min(initial=0.0)) if self.data.ncon else 0.0
            deepest = max(deepest, depth)
            if k * PEER_STEP > SETTLED * self.span:
                resting = max(resting, depth)
        return deepest, resting

    def _rewind(self) -> None:
        self.mujoco.mj_resetData(self.model, self.data)
        self.data.qvel[:] = self.qvel


def _is_free(model: Any, name: str) -> bool:
    joint = int(model.free_joint[model.body_names.index(name)])
    return joint in model.connected


def told(model: Any, simulator: sim.Simulator) -> Any:
    """Return a model as MuJoCo's; frames of bodies have world axes at the start and their joint's place."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = model.gravity_W
    bodies, origins = {0: spec.worldbody}, {0: np.zeros(3)}
    flow = simulator.flow
    flow.update()
    links = flow.work.links
    for link in range(1, len(links)):
        table = flow.structure.tables.links
        joint, body = int(table.joint[link]), int(table.body[link])
        spec_of = model.joint_specs[joint]
        name = model.body_names[body]
        p_WB, R_WB = simulator.position[name], simulator.rotation[name]
        origin = links.x[link].copy()
        parent = int(table.body[table.parent[link]]) if table.parent[link] else 0
        made = bodies[parent].add_body(name=name, pos=origin - origins[parent])
        bodies[body], origins[body] = made, origin
        drawn = model.bodies[body]
        xx, yy, zz, xy, xz, yz = drawn.inertia_B
        inertia = R_WB @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R_WB.T
        made.mass, made.explicitinertial = float(drawn.mass), True
        made.ipos = p_WB + R_WB @ drawn.com_B - origin
        made.fullinertia = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        axes = flow.work.freedoms.axis[table.v[link] : table.v[link] + table.nv[link]]
        limits = [(float(s.side), float(s.bound)) for s in model.stops if int(s.joint) == joint]
        add_joints(mujoco, made, name, spec_of.type if spec_of else "free", axes, model, joint, limits)
    add_shapes(mujoco, model, flow, bodies, origins)
    return spec.compile()


def add_joints(
    mujoco: Any, made: Any, name: str, kind: str, axes: np.ndarray, model: Any, joint: int, limits: list[Any]
) -> None:  # fmt: skip
    """Add the joint that carries a body, with its limits."""
    if kind == "free":
        made.add_joint(name=f"{name}/free", type=mujoco.mjtJoint.mjJNT_FREE)
    elif kind == "spherical":
        made_joint = made.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_BALL)
        upper = [bound for side, bound in limits if side > 0]
        if upper:
            made_joint.limited, made_joint.range = 1, (0.0, upper[0])
    elif kind in ("rotational", "universal"):
        first = int(model.joints.column[joint])
        for i, axis in enumerate(axes):
            made_joint = made.add_joint(name=f"{name}/{i}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis)
            ends = {float(s.side): float(s.bound) for s in model.stops if int(s.column) == first + i}
            if ends:
                made_joint.limited, made_joint.range = 1, (ends.get(-1.0, -1e3), ends.get(1.0, 1e3))
    else:
        raise ValueError(f"joint of {name}: no {kind} joints here")


def add_shapes(mujoco: Any, model: Any, flow: Any, bodies: dict[int, Any], origins: dict[int, np.ndarray]) -> None:
    """Add the shapes that touch, each pair of a rule of the scene by bits."""
    kinds = {
        PLANE: mujoco.mjtGeom.mjGEOM_PLANE, SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
        CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE, BOX: mujoco.mjtGeom.mjGEOM_BOX,
        CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER, ELLIPSOID: mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    }  # fmt: skip
    shapes, links = flow.structure.tables.shapes, flow.work.links
    paired = {n for pair in model.pairs for n in (pair.first, pair.second)}
    moving = {n for pair in model.pairs if model.solids[pair.first].body and model.solids[pair.second].body
              for n in (pair.first, pair.second)}  # fmt: skip
    friction, bits = model.scene.contacts[0].friction, bits_of_trees(model, flow.structure.tables.links)
    for n, solid in enumerate(model.solids):
        if n not in paired:
            continue
        link, kind, size = int(shapes.link[n]), int(shapes.kind[n]), shapes.dimensions[n]
        R_WK = links.R[link].reshape(3, 3)
        place = links.x[link] + R_WK @ shapes.p_KS[n] - origins[solid.body]
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, (R_WK @ shapes.R_KS[n].reshape(3, 3)).ravel())
        numbers = {
            PLANE: (5.0, 5.0, 0.1), SPHERE: (size[0], 0, 0), CAPSULE: (size[0], 0.5 * size[2], 0),
            BOX: 0.5 * size, CYLINDER: (size[0], 0.5 * size[2], 0), ELLIPSOID: size,
        }[kind]  # fmt: skip
        bodies[solid.body].add_geom(
            type=kinds[kind], pos=place, quat=quat, size=numbers, friction=(friction, 0.005, 0.0001),
            contype=bits.get(solid.body, int(solid.body == 0 or n in moving)),
            conaffinity=ALL - bits[solid.body] if solid.body in bits else int(solid.body != 0), mass=0.0,
        )  # fmt: skip


def bits_of_trees(model: Any, links: Any) -> dict[int, int]:
    """Return a bit for each body, that of its tree, where trees touch one another but not themselves."""
    top = np.zeros(len(links), int)
    for link in range(1, len(links)):
        top[link] = top[links.parent[link]] or link
    tree = dict(zip(links.body[1:].tolist(), top[1:].tolist(), strict=True))
    trees = sorted(set(tree.values()))
    pairs = [[tree.get(model.solids[n].body, 0) for n in (pair.first, pair.second)] for pair in model.pairs]
    if len(trees) == len(tree) or len(trees) > MOST_BITS or any(a == b for a, b in pairs):
        return {}
    return {body: 2 << trees.index(of) for body, of in tree.items()}


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Measure one scene beside MuJoCo: processor time for the same span, in one process."""
    ours = Ours(CASES[name.partition(".")[2]])
    ours.run()
    peer = Mujoco(ours)
    peer.run()
    mine, theirs = [], []
    for _ in range(rounds):
        mine.append(ours.run() / ours.span)
        theirs.append(peer.run() / ours.span)
    deepest, resting, beyond = ours.depths()
    deep, rest = peer.depths()
    stepped = ours.simulator.flow.work.stepped
    note = (
        f"steps of {1e3 * ours.dt:g} ms beside 2 ms; deepest {1e3 * deepest:.2g} mm, at rest {1e6 * resting:.2g} um "
        f"(peer {1e3 * deep:.2g} mm, {1e6 * rest:.2g} um); cone exceeded by {max(beyond, 0.0):.1e}; "
        f"law left by {float(stepped.residual[0]):.1e} of the speeds at most"
    )
    yield result(name, "s", mine, peer="mujoco", value=theirs, note=note)


def slope(name: str, rounds: int) -> Iterator[Result]:
    """Yield the exponent of our cost of a step against the number of dominoes, fitted to interleaved rounds."""
    sides = [Ours(TOPPLING, {"stones": n}) for n in STONES]
    steps = round(TOPPLING.span / TOPPLING.dt)
    for ours in sides:
        ours.run()
    by_round = np.array([[ours.run() / steps for ours in sides] for _ in range(rounds)]).T
    exponents = [float(np.polyfit(np.log(STONES), np.log(times), 1)[0]) for times in by_round.T]
    each = ", ".join(f"{n}: {1e6 * float(np.median(times)):.3g} us" for n, times in zip(STONES, by_round, strict=True))
    yield result(name, "exponent", exponents, note=f"a step of {1e3 * TOPPLING.dt:g} ms: {each}")
