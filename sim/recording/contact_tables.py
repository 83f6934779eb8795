"""Points at which shapes touch in one row of a recording."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np

MODES = ("open", "stick", "slip")  # as kernels number them


@dataclass(frozen=True, kw_only=True)
class Contacts:
    """Closed points of contact, k of them, world axes.

    a, b : names of what touches: a body, `world.name` of a shape of the world, or `world`
    shapes : (k, 2) numbers of the two shapes in `Recording.shapes`
    key : (k, 2) which features of the two touch; a point is the same as long as names and key are
    mode : stick or slip
    iterations : (k,) of the decision that found what touches, and how; 0 in time steps, which make none
    determinate : (k,) 1: its force is the only possible one, 0: one of many, and where it slides, so is the motion;
        -1 in time steps, which do not ask
    point : (k, 3) m
    normal : (k, 3) unit, from a to b
    force : (k, 3) N, on b; on a the opposite
    moment : (k, 3) N m, likewise: of friction against spinning and rolling, where a rule has it
    """

    a: tuple[str, ...]
    b: tuple[str, ...]
    shapes: np.ndarray
    key: np.ndarray
    mode: tuple[str, ...]
    iterations: np.ndarray
    determinate: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    force: np.ndarray
    moment: np.ndarray

    def __len__(self) -> int:
        return len(self.a)

    @property
    def pressing(self) -> np.ndarray:
        """Normal forces (k,) N."""
        return np.einsum("ki,ki->k", self.normal, self.force)

    @property
    def friction(self) -> np.ndarray:
        """Forces along the surface (k, 3) N, on b."""
        return self.force - self.pressing[:, None] * self.normal

    @property
    def total(self) -> np.ndarray:
        """Sum (3,) of the forces on b, N."""
        return self.force.sum(axis=0)

    @property
    def centre_of_pressure(self) -> np.ndarray:
        """Mean (3,) of the points by their normal forces, m; not-a-number where nothing presses."""
        pressing = self.pressing
        whole = pressing.sum()
        return pressing @ self.point / whole if whole > 0.0 else np.full(3, np.nan)

    @property
    def zero_moment_point(self) -> np.ndarray:
        """Where the forces (3,) have no moment but about the direction n of the sum of all normal forces, m.

        In the plane across n through the centre of pressure; on one plane it is that, however slippery the points.
        Not-a-number where nothing presses.  P. Sardain, G. Bessonnet, IEEE Trans. SMC-A 34, 2004.
        """
        centre, push = self.centre_of_pressure, self.pressing @ self.normal
        size = float(np.linalg.norm(push))
        if not size > 0.0 or not push @ self.total > 0.0:
            return np.full(3, np.nan)
        moment = (np.cross(self.point - centre, self.force) + self.moment).sum(axis=0)
        return centre + np.cross(push, moment) / (push @ self.total)

    def on(self, name: str, by: str | None = None) -> Contacts:
        """Return the points at which something touches `name`, or only `by` does; `name` is b of each.

        `world` is any shape of the world; `*` and `?` stand for what they do in file names.
        """
        as_b = [called(b, name) and called(a, by) for a, b in zip(self.a, self.b, strict=True)]
        as_a = [
            called(a, name) and called(b, by) and not taken for a, b, taken in zip(self.a, self.b, as_b, strict=True)
        ]
        turned = np.array(as_a, bool)
        sign = np.where(turned, -1.0, 1.0)[:, None]
        pairs = [(b, a) if turn else (a, b) for a, b, turn in zip(self.a, self.b, as_a, strict=True)]
        found = replace(
            self, a=tuple(a for a, _ in pairs), b=tuple(b for _, b in pairs), normal=sign * self.normal,
            shapes=np.where(turned[:, None], self.shapes[:, ::-1], self.shapes),
            key=np.where(turned[:, None], self.key[:, ::-1], self.key), force=sign * self.force,
            moment=sign * self.moment,
        )  # fmt: skip
        return found._picked(np.flatnonzero(np.array(as_b, bool) | turned))

    def _picked(self, which: np.ndarray) -> Contacts:
        return Contacts(
            a=tuple(self.a[k] for k in which), b=tuple(self.b[k] for k in which), shapes=self.shapes[which],
            key=self.key[which], mode=tuple(self.mode[k] for k in which), iterations=self.iterations[which],
            determinate=self.determinate[which], point=self.point[which], normal=self.normal[which],
            force=self.force[which], moment=self.moment[which],
        )  # fmt: skip


def called(name: str, wanted: str | None) -> bool:
    """Tell whether what touches is meant by a name or a pattern (`*.foot_?`); None means everything."""
    return wanted is None or fnmatchcase(name, wanted) or (wanted == "world" and name.startswith("world."))
