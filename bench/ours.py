"""Everything that the benchmarks touch of the engine, in one place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import sim
from bench.figure import Figure, Link, Loop, States
from bench.mechanism import Body, Joint, Mechanism, Spring
from render.rotation import matrix
from sim.kernels.advance import answer
from sim.kernels.jit import python_driver, unlocked_driver
from sim.kernels.project import add_freedoms, normalise
from sim.kernels.status import Status
from sim.kernels.system import SLOPE, START, address, ask
from sim.kernels.tables import SPRING
from sim.scene import library
from sim.scene.spec import Scene

SPREAD = 0.5  # rad, m and 1/s: standard deviation of random coordinates about the drawing, and of rates
CLOSED = 1e-14  # m
SELDOM = 1e-9  # Hz: a rate at which one row is recorded, the first
DRAWS = 100  # poses tried for each state; some random poses are too far from any closed one


@python_driver
def repeat(answers, system, states, slope_out, times):
    """Go `times` times through all states.  Returns the sum of all accelerations of one freedom, nan on failure."""
    total = 0.0
    for _ in range(times):
        for s in range(states.shape[0]):
            if ask(answers, SLOPE, system, 0.0, states[s], slope_out) != Status.OK:
                return np.nan
            total += slope_out[slope_out.size - 3]
    return total


@unlocked_driver
def multiply_add(times):
    """Arithmetic without memory, whose every step waits for the one before."""
    x = 0.5
    for _ in range(times):
        x = x * 0.999999 + 1e-7
    return x


def load(name: str, rtol: float | None = None, set: Mapping[str, float | str] | None = None) -> Scene:
    """Return a shipped scene, by its name under `scenes`, with another tolerance and parameters when given."""
    scene = sim.load(library.find(name), set=set)
    return scene if rtol is None else replace(scene, simulate=replace(scene.simulate, rtol=rtol))


def run(scene: Scene, duration: float | None = None) -> tuple[float, float]:
    """Compile, simulate and record a scene into a file that is not kept.

    Returns the simulated time and the wall time of simulating and recording [s].
    """
    recording = sim.run(scene, duration=duration)
    span, wall = float(recording.time[-1] - recording.time[0]), float(recording.run["wall_time"])
    recording.close()
    return span, wall


@dataclass(frozen=True)
class Books:
    """Energies of a run after every row but the first and the last (rows,) [J], and when [s].

    less_energy : T'' / 12 - a . M a / 24 [J/s^2] where gravity alone acts, a the accelerations of all material points:
        the variational method of step h keeps the energy less h^2 times this to order four
    """

    time: np.ndarray
    kinetic: np.ndarray
    balance: np.ndarray
    less_energy: np.ndarray


def follow_books(scene: Scene, until: float) -> Books:
    """Run a scene and return its energies at every row."""
    model = sim.compile(scene)
    keeper = _Keeper(model, 1.0 / scene.simulate.record)
    simulator = sim.Simulator(model, journal=keeper)
    simulator.advance(until)
    simulator.finish()
    return keeper.books()


def without_stops(scene: Scene) -> Scene:
    """Return a scene without joint limits, controllers and events: what peers can be told."""
    joints = tuple(replace(joint, limits=None) for joint in scene.joints)
    return replace(scene, joints=joints, controllers=(), events=())


class Run:
    """A scene that is run from its start again and again, unrecorded."""

    def __init__(self, scene: Scene):
        self.scene = replace(scene, simulate=replace(scene.simulate, record=SELDOM))
        self.simulator = sim.Simulator(sim.compile(self.scene))

    def __call__(self, until: float) -> None:
        """Go on to a time [s]; this is what is timed."""
        self.simulator.advance(until)

    def rewind(self) -> None:
        """Return to the start, with the addresses of everything that moves, as a peer's assembled model has."""
        self.simulator.reset()
        _ = self.simulator.flow.system

    @property
    def evaluations(self) -> int:
        """How often accelerations were asked for since the start."""
        return self.simulator.flow.counts()["evaluations"]

    def positions(self, points: Sequence[str]) -> np.ndarray:
        """Return where points are now (count, 3) [m]."""
        position = self.simulator.position
        return np.array([position[name] for name in points])

    def states(self, points: Sequence[str]) -> np.ndarray:
        """Return where points are now and how they move (count, 6) [m, m/s]."""
        velocity = self.simulator.velocity
        return np.hstack([self.positions(points), [velocity[name] for name in points]])

    def worst_balance(self, until: float, looks: int) -> float:
        """Return how far the energy was from that of the start, at worst of some looks during the same run [J]."""
        watch = _Watch()
        scene = replace(self.scene, simulate=replace(self.scene.simulate, record=looks / until))
        simulator = sim.Simulator(sim.compile(scene), journal=watch)
        simulator.advance(until)
        return max(watch.worst, abs(simulator.energy["balance"]))

    def mechanism(self, points: Sequence[str]) -> Mechanism:
        """Return what moves and how it starts, fixed bodies united, with the points that are looked at.

        Raises
        ------
        ValueError
            When something acts that a `Mechanism` does not tell of.
        """
        return _Telling(self.simulator).mechanism(points)


class _Watch:
    """A journal that keeps the largest imbalance of energy [J]."""

    worst = 0.0

    def rows(self, values: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
        self.worst = max(self.worst, float(np.abs(values["energy/balance"]).max()))

    def contacts(self, values: dict[str, np.ndarray]) -> None:
        """No contact is of interest."""

    def epoch(self, tree: list[str], loops: list[str], nq: int, nv: int) -> None:
        """No epoch is of interest."""

    def event(self, happening: Any) -> None:
        """No event is of interest."""

    def rest(self, take: Any, finished: bool = False) -> None:
        """No state is kept."""


class _Keeper(_Watch):
    """A journal that keeps the books; accelerations are second differences of where everything is."""

    def __init__(self, model: sim.Model, h: float):
        self.h, self.mass, self.gravity = h, model.bodies.mass[1:], np.array(model.gravity_W)
        xx, yy, zz, xy, xz, yz = model.bodies.inertia_B[1:].T
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).transpose(2, 0, 1)
        self.second = 0.5 * np.trace(J, axis1=1, axis2=2)[:, None, None] * np.eye(3) - J  # of mass, about the centre
        self.last = np.empty((0, len(self.mass), 12))  # centres and rotation matrices of up to two rows
        self.kept: list[np.ndarray] = []
        self.less: list[np.ndarray] = []

    def rows(self, values: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
        self.kept.append(np.array([values[name] for name in ("time", "energy/kinetic", "energy/balance")]))
        turned = matrix(values["quat_wxyz"]).reshape(*values["com"].shape[:2], 9)
        x = np.concatenate([self.last, np.concatenate([values["com"], turned], axis=2)])
        self.last = x[-2:]
        if len(x) > 2:
            self.less.append(self.less_energy((x[2:] - 2.0 * x[1:-1] + x[:-2]) / self.h**2))

    def less_energy(self, second: np.ndarray) -> np.ndarray:
        """Return T'' / 12 - a . M a / 24 from second derivatives of centres and rotation matrices."""
        a, turning = second[:, :, :3], second[:, :, 3:].reshape(*second.shape[:2], 3, 3)
        size = np.sum(a * a, axis=2) @ self.mass + np.sum((turning @ self.second) * turning, axis=(1, 2, 3))
        return (a @ self.gravity) @ self.mass / 12.0 - size / 24.0

    def books(self) -> Books:
        """Return what was kept."""
        kept = np.concatenate(self.kept, axis=1)[:, 1:-1]
        return Books(*kept, np.concatenate(self.less))


class _Telling:
    """From a simulator at its start to a mechanism in plain numbers."""

    def __init__(self, simulator: sim.Simulator):
        self.simulator, self.model = simulator, simulator.model
        self.structure = simulator.flow.structure
        columns = self.structure.tables.columns
        if len(self.structure.tables.stops) or any(np.any(columns[k]) for k in ("stiffness", "damping", "armature")):
            raise ValueError("peers are not told of stops, and of springs, dampers and armatures of joints")
        self.state = simulator.state
        order = [int(body) for body in self.structure.tables.links.body[1:]]
        self.united: dict[int, list[int]] = {}  # the bodies that move as one, by the one that is carried
        self.index = {0: 0}
        for body in order:
            joint = int(self.structure.carrier[body])
            above = int(self.model.joints.parent[joint])
            if self.model.type_of(joint).name == "fixed" and above:
                self.index[body] = self.index[above]
                self.united[list(self.united)[self.index[above] - 1]].append(body)
            else:
                self.united[body] = [body]
                self.index[body] = len(self.united)

    def mechanism(self, points: Sequence[str]) -> Mechanism:
        carriers = [int(self.structure.carrier[body]) for body in self.united]
        joints = [(j, True) for j in carriers] + [(j, False) for j in self.structure.loops]
        springs = self.structure.tables.forces
        return Mechanism(
            bodies=tuple(self._body(bodies) for bodies in self.united.values()),
            joints=tuple(self._joint(j, tree) for j, tree in joints),
            springs=tuple(self._spring(row) for row in springs),
            gravity=np.array(self.model.gravity_W),
            points=tuple((self._index_of(name), self.state.position[name]) for name in points),
        )  # fmt: skip

    def _index_of(self, point: str) -> int:
        return self.index[int(self.model.points.body[self.model.point_names[point]])]

    def _body(self, bodies: list[int]) -> Body:
        """Unite bodies that are fixed to each other."""
        names = [self.model.body_names[b] for b in bodies]
        masses = np.array([float(self.model.bodies.mass[b]) for b in bodies])
        coms = np.array([self.state.com[name] for name in names])
        mass, com = masses.sum(), masses @ coms / masses.sum()
        inertia = np.zeros((3, 3))
        for body, m, arm in zip(bodies, masses, coms - com, strict=True):
            xx, yy, zz, xy, xz, yz = self.model.bodies.inertia_B[body]
            R = self.state.rotation[self.model.body_names[body]]
            inertia += R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
            inertia += m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        spin = np.array(self.state.angular_velocity[names[0]])
        velocity = self.state.velocity[names[0]] + np.cross(spin, com - self.state.position[names[0]])
        return Body(re.sub(r"\W", "_", names[0]), float(mass), com, inertia, velocity, spin)

    def _joint(self, j: int, tree: bool) -> Joint:
        model, frames = self.model, self.simulator.flow.frames
        parent, child = int(model.joints.parent[j]), int(model.joints.child[j])
        name, at = model.joint_names[j], model.body_names[child]
        R = np.eye(3) if parent == 0 else self.state.rotation[model.body_names[parent]]
        kind = model.type_of(j).name
        torque = float(self.state.torque[name]) if kind == "rotational" else 0.0
        return Joint(
            re.sub(r"\W", "_", name), kind, self.index[parent], self.index[child],
            position=self.state.position[at] + self.state.rotation[at] @ frames.p_CM[j], axes=R @ frames.R_PF[j],
            tree=tree, torque=torque,
        )  # fmt: skip

    def _spring(self, row: Any) -> Spring:
        if row.kind != SPRING:
            raise ValueError("of forces, peers are told of springs between points alone")
        names = list(self.model.point_names)
        a, b = (next(n for n in names if self.model.point_names[n] == int(p)) for p in (row.a, row.b))
        return Spring(
            self._index_of(a), self.state.position[a], self._index_of(b), self.state.position[b],
            float(row.stiffness), float(row.damping), float(row.rest),
        )  # fmt: skip


class Engine:
    """Forward dynamics of a scene at its start, by the ordinary path: load, compile, structure tables.

    scene: one that is loaded, or the name of a shipped one, with its parameters
    loops: False leaves the joints out that close loops.
    """

    def __init__(self, scene: str | Scene, *, loops: bool = True, set: Mapping[str, float] | None = None):
        if isinstance(scene, str):
            scene = load(scene, set=set)
        self.model = sim.compile(scene)
        self.flow = sim.Simulator(self.model).flow
        if not loops:
            closing = {self.model.joint_names[j] for j in self.flow.structure.loops}
            self.model = sim.compile(replace(scene, joints=tuple(j for j in scene.joints if j.name not in closing)))
            self.flow = sim.Simulator(self.model).flow
        self.q, self.v = self.flow.q.copy(), self.flow.v.copy()

    @cached_property
    def figure(self) -> Figure:
        """What the peers are told."""
        tables, sizes = self.flow.structure.tables, self.flow.structure.sizes
        return Figure(
            links=tuple(self._link(i) for i in range(1, sizes.links)),
            loops=tuple(self._loop(i) for i in range(sizes.blocks)),
            gravity=np.array(tables.one.gravity_W[0]), nq=sizes.q, nv=sizes.v,
        )  # fmt: skip

    def _link(self, i: int) -> Link:
        row = self.flow.structure.tables.links[i]
        xx, yy, zz, xy, xz, yz = row.inertia_K
        return Link(
            name=re.sub(r"\W", "_", self.model.body_names[row.body]), parent=int(row.parent),
            kind=self.model.type_of(int(row.joint)).name if i else "fixed", q=int(row.q), v=int(row.v),
            position=np.array(row.p_PF), rotation=np.array(row.R_PF).reshape(3, 3),
            mass=float(row.mass), com=np.array(row.com_K), inertia=np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]),
        )  # fmt: skip

    def _loop(self, i: int) -> Loop:
        row = self.flow.structure.tables.blocks[i]
        # Of a hinge the point suffices where the tree keeps its axis, as in planar mechanisms.
        kind = self.model.type_of(int(row.joint)).name
        if kind not in ("spherical", "rotational"):
            raise ValueError(f"peers are told of points that loops hold, not of {kind} joints")
        name = re.sub(r"\W", "_", self.model.joint_names[row.joint])
        return Loop(name, int(row.a), np.array(row.p_aF), int(row.b), np.array(row.p_bM))

    # --- states ---------------------------------------------------------------------------------

    def random_states(self, count: int, seed: int = 0, spread: float = 1.0) -> States:
        """Return random states about the drawing, their loops closed and moving as they may; spread: in SPREAD."""
        rng = np.random.default_rng(seed)
        drawn = [self._random_state(rng, spread * SPREAD) for _ in range(count)]
        return States(np.array([q for q, _ in drawn]), np.array([v for _, v in drawn]))

    def moving_states(self, count: int, span: float) -> States:
        """Return states of the scene's own motion, evenly over a span [s]; the rows that act are those of the last."""
        simulator = sim.Simulator(self.model)
        self.flow = simulator.flow
        drawn = []
        for t in np.linspace(0.0, span, count + 1)[1:]:
            simulator.advance(float(t))
            drawn.append((self.flow.q.copy(), self.flow.v.copy()))
        return States(np.array([q for q, _ in drawn]), np.array([v for _, v in drawn]))

    def _random_state(self, rng: np.random.Generator, spread: float) -> tuple[np.ndarray, np.ndarray]:
        links = self.flow.structure.tables.links
        for _ in range(DRAWS):
            q = self.q.copy()
            add_freedoms(links, rng.normal(scale=spread, size=self.v.size), 1.0, q)
            v = rng.normal(scale=spread, size=self.v.size)
            if self._close(q, v):
                return q, v
        raise RuntimeError(f"none of {DRAWS} random poses could be closed")

    def _close(self, q: np.ndarray, v: np.ndarray) -> bool:
        """Newton on the loops' residuals, then on their rates; tells whether they closed."""
        tables, mechanism = self.flow.structure.tables, self.flow.mechanism
        for _ in range(30):
            normalise(tables.links, q)
            mechanism.update(q, v)
            phi = mechanism.work.rows.phi
            if len(phi) == 0 or np.abs(phi).max() < CLOSED:
                break
            add_freedoms(tables.links, -np.linalg.pinv(mechanism.jacobian()) @ phi, 1.0, q)
        else:
            return False
        J = mechanism.jacobian()
        v -= np.linalg.pinv(J) @ (J @ v)
        return True

    def largest_gap(self, q: np.ndarray) -> float:
        """Return how far a loop is open at most in coordinates (..., nq) [m]."""
        mechanism, largest = self.flow.mechanism, 0.0
        for one in q.reshape(-1, q.shape[-1]):
            mechanism.update(one, np.zeros(self.v.size))
            largest = max(largest, float(np.abs(mechanism.work.rows.phi).max(initial=0.0)))
        return largest

    # --- what is measured -----------------------------------------------------------------------

    def choose(self, states: States) -> None:
        """Choose the rows that act at the first state, as an accepted step would."""
        self._ask(START, self._vectors(states)[0])

    def _ask(self, question: int, y: np.ndarray, t: float = 0.0) -> np.ndarray:
        """Ask the mechanism a question about a state; returns what is filled."""
        system, filled = self.flow.system, np.zeros(y.size)
        status = answer(system.answers, question, address(system.places), t, y, filled)
        if status != Status.OK:
            raise RuntimeError(f"a random state has no motion: {Status(status).name}")
        return filled

    @staticmethod
    def _vectors(states: States) -> np.ndarray:
        """Return states as an integrator keeps them: q, v, work put in, work dissipated."""
        return np.hstack([states.q, states.v, np.zeros((len(states), 2))])

    def accelerations(self, states: States, t: float = 0.0) -> np.ndarray:
        """Return vdot (count, nv) at a time [s]."""
        nq = states.q.shape[1]
        return np.array([self._ask(SLOPE, y, t)[nq:-2] for y in self._vectors(states)])

    def repeat(self, states: States, times: int) -> int:
        """Evaluate all states `times` times in one compiled call; returns the number of evaluations."""
        system, y = self.flow.system, self._vectors(states)
        total = repeat(system.answers, address(system.places), y, np.zeros(y.shape[1]), times)
        if not np.isfinite(total):
            raise RuntimeError("forward dynamics failed at a random state")
        return times * len(states)


class PapersSnake:
    """The snake paper's snake in the engine, told in the paper's coordinates: angles, x and y of the first link.

    step : s, of the classical Runge-Kutta method, for runs
    """

    def __init__(self, n: int, step: float = 0.01):
        scene = load("benchmarks/snake_paper", set={"n": n})
        self.scene = replace(scene, simulate=replace(scene.simulate, method="rk4", step=step, record=1.0 / step))
        self.engine, self.links = Engine(self.scene), n
        structure, model = self.engine.flow.structure, self.engine.model
        joints = [model.joint("ground"), *(model.joint(f"phi_{k}") for k in range(1, n))]
        # Of q and of v alike: the ground's joint has x, y and the angle, every other one its angle to the link before.
        self.places = np.concatenate([np.arange(structure.sizes.v)[structure.v_of(model, joint)] for joint in joints])

    def states(self, q: Sequence[float], q_dot: Sequence[float]) -> States:
        """Return the engine's state."""
        both = np.array([q, q_dot])
        out = np.zeros_like(both)
        bends = np.diff(both[:, : self.links], axis=1)
        out[:, self.places] = np.hstack([both[:, self.links :], both[:, :1], bends])
        return States(out[:1], out[1:])

    def papers(self, values: np.ndarray) -> np.ndarray:
        """Return the paper's coordinates or rates (k, n + 2) of the engine's."""
        own = values[:, self.places]
        return np.hstack([np.cumsum(own[:, 2:], axis=1), own[:, :2]])

    def run(self, until: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return time (k,), the paper's q and q' (k, n + 2), and its energy function S (k,) [J]."""
        keeper = _SnakeKeeper()
        simulator = sim.Simulator(self.engine.model, journal=keeper)
        simulator.advance(until)
        simulator.finish()
        values, q, v = (np.concatenate(part) for part in zip(*keeper.kept, strict=True))
        return values[:, 0], self.papers(q), self.papers(v), values[:, 1]


class _SnakeKeeper(_Watch):
    """A journal that keeps states and the balance of energy: S, where all is at rest first and nothing dampens."""

    def __init__(self) -> None:
        self.kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def rows(self, values: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
        self.kept.append((np.stack([values["time"], values["energy/balance"]], axis=1), q.copy(), v.copy()))


class Many:
    """A scene's states followed at once, by the ordinary path: `sim.Ensemble`.

    last: (n, samples, nq) what was found last
    """

    def __init__(self, engine: Engine, threads: int):
        self._ensemble = sim.Ensemble(engine.model, threads=threads)
        self.last = np.zeros((0, 0, 0))

    def follow(self, states: States, samples: int, dt: float, method: str, setting: float) -> np.ndarray:
        """Return q (n, samples + 1, nq); setting: tolerance of dop853, step of the others [s]."""
        how = {"rtol": setting} if method == "dop853" else {"step": setting}
        found = self._ensemble.rollout(states, None, samples, dt=dt, method=method, **how)
        if not found.ok.all():
            raise RuntimeError(found.reason(int(np.flatnonzero(~found.ok)[0])))
        self.last = found.q
        return found.q
