"""Linkages of hinges and slides as products of screws, in plain numpy: their loops followed in fine steps.

Shares nothing with the engine.  Every joint binds two bodies in the drawing, where all coordinates are zero; body b
then stands at X_b = X_a exp(S q), S the joint's screw in the drawing (Lynch & Park, Modern Robotics, 2017, chapter 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space

from tests.support.scene_texts import numbers

RANK = 1e-6  # of the largest singular value: what counts as zero
NEAR = 0.15  # singular value below which a pose is too near to a singular one


@dataclass(frozen=True)
class Pin:
    """One joint: kind "rotational" or "translational", the bodies (0: world), a point on its axis [m], the axis."""

    kind: str
    a: int
    b: int
    point: np.ndarray
    axis: np.ndarray

    @property
    def screw(self) -> np.ndarray:
        """(6,) angular and linear."""
        if self.kind == "rotational":
            return np.concatenate([self.axis, np.cross(self.point, self.axis)])
        return np.concatenate([np.zeros(3), self.axis])


def cross_matrix(w: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def moved(screw: np.ndarray, q: float) -> np.ndarray:
    """Return (4, 4) exp(S q), by the formula of Rodrigues; the axis has length one, or is that of a slide."""
    out, W = np.eye(4), cross_matrix(screw[:3])
    WW, s, c = W @ W, np.sin(q), 1.0 - np.cos(q)
    out[:3, :3] += s * W + c * WW
    out[:3, 3] = q * screw[3:] + c * W @ screw[3:] + (q - s) * WW @ screw[3:]
    return out


@dataclass(frozen=True)
class Linkage:
    """Pins, and which of them close loops: the others, in this order, make a tree."""

    pins: tuple[Pin, ...]
    tree: tuple[int, ...]

    @property
    def closing(self) -> tuple[int, ...]:
        return tuple(k for k in range(len(self.pins)) if k not in self.tree)

    def parents(self) -> dict[int, tuple[int, int]]:
        """Return body -> (parent, pin) of the tree."""
        out: dict[int, tuple[int, int]] = {0: (-1, -1)}
        for k in self.tree:
            pin = self.pins[k]
            parent, child = (pin.a, pin.b) if pin.a in out else (pin.b, pin.a)
            out[child] = (parent, k)
        return out

    def loops(self) -> list[list[tuple[int, float]]]:
        """Return for each loop its pins with the sense in which they are passed."""
        above = self.parents()

        def down_to(body: int) -> list[tuple[int, float]]:
            path: list[tuple[int, float]] = []
            while body:
                parent, k = above[body]
                path.append((k, 1.0 if self.pins[k].a == parent else -1.0))
                body = parent
            return path[::-1]

        out = []
        for k in self.closing:
            back = [(i, -sense) for i, sense in reversed(down_to(self.pins[k].b))]
            out.append([*down_to(self.pins[k].a), (k, 1.0), *back])
        return out

    def rows(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far loops are open (6 loops,) and the Jacobian of that (6 loops, pins)."""
        off, J = [], []
        for loop in self.loops():
            X, rows = np.eye(4), np.zeros((6, len(self.pins)))
            for k, sense in loop:
                S = self.pins[k].screw
                w = X[:3, :3] @ S[:3]
                rows[:, k] += sense * np.concatenate([w, X[:3, :3] @ S[3:] + np.cross(X[:3, 3], w)])
                X = X @ moved(S, sense * y[k])
            turned = (X[:3, :3] - X[:3, :3].T) / 2
            off.append(np.concatenate([[turned[2, 1], turned[0, 2], turned[1, 0]], X[:3, 3]]))
            J.append(rows)
        return np.concatenate(off), np.vstack(J)

    def closed(self, y: np.ndarray, kept: Sequence[int] = ()) -> np.ndarray:
        """Return y brought to the loops by Newton's iteration, some coordinates kept."""
        free = [k for k in range(len(y)) if k not in kept]
        for _ in range(6):
            off, J = self.rows(y)
            if np.abs(off).max() < 1e-14:
                break
            y = y.copy()
            y[free] -= np.linalg.pinv(J[:, free], rcond=RANK) @ off
        return y

    def along(self, y: np.ndarray, toward: np.ndarray) -> np.ndarray | None:
        """Return the unit rates (pins,) that the loops allow, in the sense of others; None where not one way only."""
        N = null_space(self.rows(y)[1], rcond=1e-4)
        if N.shape[1] != 1:
            return None
        return np.asarray(N[:, 0] * np.sign(N[:, 0] @ toward))

    def text(self, initial: str, more: str = "") -> str:
        """Return the scene."""
        bodies = sorted({body for pin in self.pins for body in (pin.a, pin.b)} - {0})
        names = {0: "world"} | {body: f"b{body}" for body in bodies}
        lines = ["schema: 1", "name: linkage", "world: {gravity: [0, 0, 0]}", "bodies:"]
        for body in bodies:
            points = [pin.point for pin in self.pins if body in (pin.a, pin.b)]
            lines.append(f"  b{body}: {{mass: 1, com: {numbers(np.mean(points, axis=0))}, inertia: [0.1, 0.1, 0.1]}}")
        lines.append("joints:")
        above = self.parents()
        for k in (*self.tree, *self.closing):
            pin = self.pins[k]
            # The tree passes it from b to a; or it closes a loop at the world, which is a parent only.
            turned = above[pin.b][1] != k if k in self.tree else pin.b == 0
            parent, child, axis = (pin.b, pin.a, -pin.axis) if turned else (pin.a, pin.b, pin.axis)
            lines.append(
                f"  j{k}: {{type: {pin.kind}, parent: {names[parent]}, child: {names[child]}, "
                f"position: {numbers(pin.point)}, axis: {numbers(axis)}}}"
            )
        return "\n".join([*lines, f"initial: {initial}", "simulate: {duration: 1 s}", more]) + "\n"


def walk(linkage: Linkage, written: int, sense: float, length: float, step: float = 0.05) -> np.ndarray:
    """Return where the linkage comes, from the drawing, while one coordinate grows (sense 1) or falls all the way.

    Runge-Kutta along the curve of all assembled poses, in steps of `step` of its arc, to `length` or to just before the
    coordinate turns back, each closed again.
    """
    y = np.zeros(len(linkage.pins))
    ahead = np.zeros(len(y))
    ahead[written] = sense
    first = linkage.along(y, ahead)
    if first is None or abs(first[written]) < 0.05:
        return y
    way = first
    for _ in range(int(length / step)):
        stages: list[np.ndarray] = []
        for c in (0.0, 0.5, 0.5, 1.0):
            found = linkage.along(y + (c * step * stages[-1] if stages else 0.0), way)
            if found is None:
                return y
            stages.append(found)
        a, b, c, d = stages
        if sense * d[written] < 0.05:
            return y
        y, way = linkage.closed(y + step / 6.0 * (a + 2.0 * b + 2.0 * c + d)), d
    return y


# Linkages at random.


def random_tree(rng: np.random.Generator, pins: Sequence[Pin]) -> tuple[int, ...]:
    """Return pins that make a tree, found from the world in a random order."""
    seen, order, tree = {0}, list(rng.permutation(len(pins))), []
    while True:
        k = next((k for k in order if (pins[k].a in seen) != (pins[k].b in seen)), None)
        if k is None:
            return tuple(int(k) for k in tree)
        seen |= {pins[k].a, pins[k].b}
        tree.append(k)


def ring(rng: np.random.Generator, kinds: Sequence[str], points: np.ndarray, axes: np.ndarray) -> Linkage:
    """Return a single loop through the world."""
    n = len(kinds)
    pins = tuple(Pin(kinds[k], k, (k + 1) % n, points[k], axes[k]) for k in range(n))
    return Linkage(pins, random_tree(rng, pins))


def four_bar(rng: np.random.Generator) -> Linkage:
    """Return a planar four-bar, its lengths from 0.2 to 1.5, axes of both senses."""
    points = np.zeros((4, 3))
    points[:, [0, 2]] = rng.uniform(-1.0, 1.0, (4, 2))
    return ring(rng, ["rotational"] * 4, points, np.outer(rng.choice([-1.0, 1.0], 4), [0.0, 1.0, 0.0]))


def slider_crank(rng: np.random.Generator) -> Linkage:
    """Return a planar slider-crank, with an offset."""
    points = np.zeros((4, 3))
    points[:3, [0, 2]] = rng.uniform(-1.0, 1.0, (3, 2))
    points[3] = points[2]
    angle = rng.uniform(-0.5, 0.5)
    axes = np.outer(rng.choice([-1.0, 1.0], 4), [0.0, 1.0, 0.0])
    axes[3] = [np.cos(angle), 0.0, np.sin(angle)]
    return ring(rng, ["rotational"] * 3 + ["translational"], points, axes)


def six_bar(rng: np.random.Generator) -> Linkage:
    """Return a planar six-bar of Watt's or Stephenson's kind: two loops."""
    points = np.zeros((7, 3))
    points[:, [0, 2]] = rng.uniform(-1.0, 1.0, (7, 2))
    # Bodies 0 (world) to 5.  Watt: two ternary bodies that share a pin; Stephenson: two that do not.
    watt = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (4, 5), (5, 3)]
    stephenson = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (4, 5), (5, 0)]
    ends = watt if rng.random() < 0.5 else stephenson
    pins = tuple(
        Pin("rotational", a, b, points[k], np.array([0.0, rng.choice([-1.0, 1.0]), 0.0]))
        for k, (a, b) in enumerate(ends)
    )
    return Linkage(pins, random_tree(rng, pins))


def spatial(rng: np.random.Generator) -> Linkage:
    """Return a loop of seven hinges, or six and a slide, in space."""
    axes = rng.normal(size=(7, 3))
    kinds = ["rotational"] * 7
    if rng.random() < 0.5:
        kinds[int(rng.integers(7))] = "translational"
    return ring(rng, kinds, rng.uniform(-1.0, 1.0, (7, 3)), axes / np.linalg.norm(axes, axis=1)[:, None])


def bricard(rng: np.random.Generator) -> Linkage:
    """Return Bricard's mechanism of six hinges at right angles, from some pose of it."""
    points = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], float)
    axes = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], float)
    return ring(rng, ["rotational"] * 6, points, axes * rng.choice([-1.0, 1.0], (6, 1)))


KINDS = {"four_bar": four_bar, "slider_crank": slider_crank, "six_bar": six_bar, "spatial": spatial, "bricard": bricard}


def straight(linkage: Linkage, wanted: dict[int, float], steps: int = 200) -> np.ndarray | None:
    """Return where the linkage comes while some coordinates go to their values in even steps; None where it cannot.

    As many are wanted as it has freedoms.
    """
    y, chosen = np.zeros(len(linkage.pins)), list(wanted)
    target = np.array([wanted[k] for k in chosen])

    def rate(y: np.ndarray) -> np.ndarray | None:
        J = linkage.rows(y)[1]
        free = [k for k in range(len(y)) if k not in wanted]
        s = np.linalg.svd(J[:, free], compute_uv=False)
        if s[len(free) - 1] < NEAR:  # no step passes a singular position unseen
            return None
        out = np.zeros(len(y))
        out[chosen] = target
        out[free] = -np.linalg.pinv(J[:, free], rcond=RANK) @ (J[:, chosen] @ target)
        return out

    for n in range(steps):
        stages: list[np.ndarray] = []
        for c in (0.0, 0.5, 0.5, 1.0):
            found = rate(y + (c / steps * stages[-1] if stages else 0.0))
            if found is None:
                return None
            stages.append(found)
        a, b, c, d = stages
        y = y + (a + 2.0 * b + 2.0 * c + d) / (6.0 * steps)
        y[chosen] = (n + 1) / steps * target
        y = linkage.closed(y, chosen)
    return y
