"""Scenes with contacts on the ordinary path, text -> scene -> model -> simulator, and what is told of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import sim
from sim.kernels.shapes import OPEN, STICK
from sim.scene.load import load_text
from sim.scene.spec import Scene
from sim.simulation.journal import EventRecord
from sim.simulation.state import State

SCENES = Path(__file__).parents[2] / "scenes"
G0 = 9.81

# What every point of contact keeps at every instant at which it is looked at.
PENETRATION = 1e-9  # m
CONE = 1e-9  # N, of forces up to some hundred newtons


class Told:
    """A journal that keeps what happened, each with the rows before and after it."""

    def __init__(self) -> None:
        self.events: list[EventRecord] = []
        self.around: list[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]] = []
        self.rows_: list[dict[str, np.ndarray]] = []
        self.points: list[dict[str, np.ndarray]] = []  # of contact, block by block

    def rows(self, values: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
        self.rows_ += [{name: array[i] for name, array in values.items()} for i in range(len(q))]

    def contacts(self, values: dict[str, np.ndarray]) -> None:
        self.points.append(values)

    def epoch(self, tree: list[str], loops: list[str], nq: int, nv: int) -> None:
        pass

    def event(self, happening: EventRecord) -> None:
        self.events.append(happening)
        self.around.append((self.rows_[-2], self.rows_[-1]))

    def rest(self, take: Callable[[], State], finished: bool = False, stopped: bool = False) -> None:
        pass


@dataclass
class Points:
    """Closed points of contact now: names of their pairs; gaps (k,) m; forces of the first on the second, N."""

    names: list[str]
    gap: np.ndarray
    normal: np.ndarray  # (k,)
    friction: np.ndarray  # (k,) size
    most: np.ndarray  # (k,) friction coefficient times normal force
    force: np.ndarray  # (k, 3) world axes
    rubbed: np.ndarray  # (k,) W: what friction takes, of points that slide


class Run:
    """A scene that runs, and what it told."""

    def __init__(self, scene: Scene | str):
        self.told = Told()
        self.scene = load_text(scene) if isinstance(scene, str) else scene
        self.simulator = sim.Simulator(sim.compile(self.scene), journal=self.told)

    def to(self, t: float) -> Run:
        self.simulator.advance(t)
        return self

    def times(self, kind: str = "impact") -> np.ndarray:
        return np.array([event.time for event in self.told.events if event.kind == kind])

    def texts(self, kind: str = "mode") -> list[str]:
        return [event.text for event in self.told.events if event.kind == kind]

    def points(self) -> Points:
        flow = self.simulator.flow
        flow.observe()
        touches, p = flow.structure.touches, flow.work.points
        assert all(touch.mode != OPEN for touch in touches)
        mu = np.array([self.simulator.model.friction(touch.pair, touch.rule) for touch in touches])
        force, n = p.force.reshape(-1, 3).copy(), p.n.reshape(-1, 3).copy()
        normal = np.sum(force * n, axis=1)
        friction = np.linalg.norm(force - normal[:, None] * n, axis=1)
        names = [self.simulator.now.contact_modes.name(touch) for touch in touches]
        slides = np.array([touch.mode != STICK for touch in touches], bool)
        rubbed = -np.sum((force - normal[:, None] * n) * p.u.reshape(-1, 3), axis=1) * slides
        return Points(names, p.gap.copy(), normal, friction, mu * normal, force, rubbed)

    def forces(self) -> dict[str, np.ndarray]:
        """Return the force [N] of every pair of bodies that touches, the sum over its points."""
        found: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(3))
        points = self.points()
        for name, force in zip(points.names, points.force, strict=True):
            found[name] = found[name] + force
        return dict(found)

    def balance(self) -> float:
        """Return the largest error of the energy balance so far, J."""
        return float(max(abs(row["energy/balance"]) for row in self.told.rows_))


def shipped(name: str, *, rtol: float | None = None, impact: str | None = None, **parameters: float) -> Run:
    """Return a scene of `scenes/` at its start."""
    scene = sim.load(SCENES / f"{name}.yaml", set=parameters)
    said = {key: value for key, value in (("rtol", rtol), ("impact", impact)) if value is not None}
    return Run(replace(scene, simulate=replace(scene.simulate, **said)))
