"""Accelerations of a figure that stands on eight points of contact, beside the same figure without any.

`figure_stands` with two capsules side by side for each foot, whose ends are the points: they hold twelve ways to move
by 24 rows where they stick, and each has friction of its own where they slide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

import sim
from bench.figure import States
from bench.measure import Result, interleave, result
from bench.ours import Engine, load
from sim.scene.spec import Scene, Shape, Value

CLOSED = 8
APART = 0.02  # m: half the distance of the capsules of a foot
SPEED = 0.5  # m/s: at which the figure slides
MOMENTS = np.linspace(0.0, 2e-3, 6)  # s: states are those of the scene's own motion
TIMES = 200  # through all states in a round


def standing(speed: float) -> Scene:
    """Return the scene, with the figure moving forward on the ground [m/s]."""
    scene = load("figure_stands")
    bodies = tuple(
        replace(body, shapes=tuple(foot for shape in body.shapes for foot in both(shape)))
        if "foot" in body.name
        else body
        for body in scene.bodies
    )
    place = scene.bodies[0].place
    slides = {"human.pelvis": Value(coordinate=None, rate=(speed, 0.0, 0.0, 0.0, 0.0, 0.0), place=place)}
    return replace(scene, bodies=bodies, initial=dict(scene.initial) | slides if speed else scene.initial)


def both(shape: Shape) -> list[Shape]:
    """Return a capsule twice, to the left and to the right."""
    if shape.kind != "capsule":
        return [shape]
    x, y, z = shape.position
    return [replace(shape, position=(x, y - APART, z)), replace(shape, position=(x, y + APART, z))]


class Closed(Engine):
    """A figure on its points of contact, as they were decided on at the start."""

    def __init__(self, scene: Scene):
        self.model = sim.compile(scene)
        self.simulator = sim.Simulator(self.model)
        self.flow = self.simulator.flow

    def states(self) -> States:
        """Return states of its motion, all with the same points closed."""
        drawn = []
        for t in MOMENTS:
            self.simulator.advance(float(t))
            drawn.append((self.flow.q.copy(), self.flow.v.copy()))
            if t == 0.0:
                modes = [touch.mode for touch in self.flow.structure.touches]
        if [touch.mode for touch in self.flow.structure.touches] != modes or len(modes) != CLOSED:
            raise RuntimeError(f"expected {CLOSED} points that stay as they are, found modes {modes}")
        states = States(*(np.array(part) for part in zip(*drawn, strict=True)))
        self.choose(states)
        return states


def measure(name: str, rounds: int) -> Iterator[Result]:
    """Yield a line for points that stick, and one for points that slide: an evaluation with them and without."""
    work: dict[str, Callable[[], int]] = {}
    for how, speed in (("stick", 0.0), ("slide", SPEED)):
        closed = Closed(standing(speed))
        states = closed.states()
        bare = Engine(replace(closed.model.scene, contacts=()))
        work[how], work[f"without, as they {how}"] = (
            partial(closed.repeat, states, TIMES), partial(bare.repeat, states, TIMES),
        )  # fmt: skip
    samples = interleave(work, rounds)
    for how in ("stick", "slide"):
        yield result(
            name, "us", samples[how], scale=1e6, peer="without contacts", value=samples[f"without, as they {how}"],
            note=f"{CLOSED} points {how}, 34 freedoms",
        )  # fmt: skip
