"""Points at which bodies stand on others where assembly begins: they are kept there while loops are closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.mechanism.frames import frame_along
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.structure import build


@dataclass(frozen=True)
class Standing:
    """Places of one link on another that are to stay, along some directions.

    a, b : (n,) links; b stands on a
    p_a, p_b : (n, 3) m, the same place in K of each
    way_a : (n, 3) unit directions, in K of a
    """

    a: np.ndarray
    b: np.ndarray
    p_a: np.ndarray
    p_b: np.ndarray
    way_a: np.ndarray

    def __len__(self) -> int:
        return len(self.a)

    def off(self, mechanism: Mechanism) -> np.ndarray:
        """Return (n,) how far the places have come apart, as last looked at [m]."""
        (at_a, _), (at_b, _) = self._places(mechanism)
        return np.sum(self._ways(mechanism) * (at_b - at_a), axis=1)

    def jacobian(self, mechanism: Mechanism) -> np.ndarray:
        """Return J (n, nv) with J v the rate of that where the places are together."""
        if not len(self):
            return np.zeros((0, mechanism.structure.sizes.v))
        J, ways = mechanism.link_jacobians(), self._ways(mechanism)
        out = np.zeros((len(self), J.shape[2]))
        for sign, link, (_, arm) in zip((-1.0, 1.0), (self.a, self.b), self._places(mechanism), strict=True):
            out += sign * np.einsum("ni,nik->nk", ways, J[link, 3:])
            out += sign * np.einsum("ni,nik->nk", np.cross(arm, ways), J[link, :3])
        return out

    def moved_by(self, mechanism: Mechanism, free: np.ndarray) -> Standing:
        """Return those that some of the freedoms of a mask move, as last looked at."""
        moved = np.abs(self.jacobian(mechanism)[:, free]).max(axis=1, initial=0.0) > 0.0
        return Standing(self.a[moved], self.b[moved], self.p_a[moved], self.p_b[moved], self.way_a[moved])

    def _ways(self, mechanism: Mechanism) -> np.ndarray:
        R = mechanism.work.links.R.reshape(-1, 3, 3)
        return np.einsum("nij,nj->ni", R[self.a], self.way_a)

    def _places(self, mechanism: Mechanism) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the places on a and on b [m], each with its arm from the link's origin, world axes."""
        links, out = mechanism.work.links, []
        for link, p in ((self.a, self.p_a), (self.b, self.p_b)):
            arm = np.einsum("nij,nj->ni", links.R.reshape(-1, 3, 3)[link], p)
            out.append((links.x[link] + arm, arm))
        return out


NOWHERE = Standing(*(np.zeros(0, int) for _ in range(2)), *(np.zeros((0, 3)) for _ in range(3)))


def standing_at(mechanism: Mechanism, q: np.ndarray, active: Sequence[bool]) -> tuple[Standing, ...]:
    """Return what stands on what at a pose, in sets of which the first that can be kept is to be.

    First every closed point stays where it is; then only on the surface that it is on; then nothing is kept.

    active : which of the scene's rules of contact are switched on
    """
    model = mechanism.model
    if not model.pairs or not any(active):
        return (NOWHERE,)
    from sim.kernels.collision.narrow import touching_points
    from sim.mechanism.finding import CLOSED, meetings  # late: other scenes do not wait for it

    rules, old = meetings(mechanism, active), mechanism.structure
    connected = {int(joint) for joint in (*old.carrier[1:], *old.loops)}
    seen = Mechanism.of(model, build(model, old.tree.frames, connected, old.carrier, (), rules), None, mechanism.t)
    seen.update(q, np.zeros(old.sizes.v))
    work, tables = seen.work, seen.structure.tables
    link, p_W, axes = [], [], []
    for number in rules:
        pair = model.pairs[number]
        count, _, _ = touching_points(
            tables.shapes, tables.hulls, pair.first, pair.second, work.links.x, work.links.R, CLOSED, work.near,
            work.near_points, work.near_poses, work.near_cores,
        )  # fmt: skip
        link += [work.near.link[k].copy() for k in range(count)]
        p_W += [work.near_points.p[k].copy() for k in range(count)]
        axes += [frame_along(work.near_points.n[k]).T[::-1] for k in range(count)]
    if not link:
        return (NOWHERE,)
    points = np.array(link), np.array(p_W), np.array(axes)
    return (_kept(seen, *points, 3), _kept(seen, *points, 1), NOWHERE)


def _kept(seen: Mechanism, link: np.ndarray, p_W: np.ndarray, axes: np.ndarray, count: int) -> Standing:
    """Return points kept along the first of their three axes: the normal, and two tangents."""
    a, b = (np.repeat(link[:, side], count) for side in (0, 1))
    R, x = seen.work.links.R.reshape(-1, 3, 3), seen.work.links.x
    place, way = np.repeat(p_W, count, axis=0), axes[:, :count].reshape(-1, 3)
    p_a, p_b = (np.einsum("nji,nj->ni", R[side], place - x[side]) for side in (a, b))
    return Standing(a, b, p_a, p_b, np.einsum("nji,nj->ni", R[a], way))
