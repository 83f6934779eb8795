"""What joints carry of impulses: from momenta of all that hangs on them, summed by hand about each joint."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sim.kernels import carrying
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast
LINKS, FREEDOMS, BLOCKS, ROWS = 5, 7, 3, 8
PARENT = np.array([-1, 0, 1, 1, 3])
BEGIN, SIZE = np.array([0, 0, 2, 3, 6]), np.array([0, 2, 1, 3, 1])
JOINT = np.array([-1, 4, 0, 2, 1])  # 3, 5: those of loops


class Drawn:
    """Five links in a tree, the second of their freedoms a slide, the third a screw; a motor, a loop, half of one."""

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.links = SimpleNamespace(parent=PARENT, v=BEGIN, nv=SIZE, joint=JOINT)
        linear, pitch = np.array([0, 1, 0, 0, 0, 0, 0]), np.array([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0])
        self.freedoms = SimpleNamespace(linear=linear, pitch=pitch)
        x = rng.normal(size=(LINKS, 3))
        self.mass, self.c = rng.uniform(0.5, 2.0, LINKS), rng.normal(size=(LINKS, 3))
        root = rng.normal(size=(LINKS, 3, 3))
        self.inertia = np.einsum("bij,bkj->bik", root, root)
        I = np.zeros((LINKS, 10))  # noqa: E741
        I[:, 0], I[:, 1:4] = self.mass, self.mass[:, None] * self.c
        for at, (i, j) in enumerate([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]):
            I[:, 4 + at] = self.inertia[:, i, j]
        self.link_work = SimpleNamespace(x=x, d=np.vstack([x[:1], x[1:] - x[PARENT[1:]]]), I=I)
        axis = rng.normal(size=(FREEDOMS, 3))
        self.freedom_work = SimpleNamespace(axis=axis / np.linalg.norm(axis, axis=1)[:, None])
        # A motor, one of a loop between links 2 and 4, the second half of it between 4 and the world.
        self.blocks = SimpleNamespace(
            motor=np.array([1, 0, 0]), second=np.array([0, 0, 1]), row=np.array([0, 1, 4]), rows=np.array([1, 3, 4]),
            touch=np.array([-1, -1, -1]), joint=np.array([4, 3, 5]), b=np.array([2, 4, 4]), a=np.array([1, 2, 0]),
        )  # fmt: skip
        self.block_work = SimpleNamespace(p_WM=rng.normal(size=(BLOCKS, 3)))
        self.row_work = SimpleNamespace(row=rng.normal(size=(ROWS, 6)), mate=rng.normal(size=(ROWS, 6)))
        self.change, self.rows = rng.normal(size=FREEDOMS), rng.normal(size=ROWS)
        self.outside = rng.normal(size=(LINKS, 6))

    def found(self) -> np.ndarray:
        out = np.zeros((6, 6))
        through: Any = -self.outside
        plain(carrying.put_joint_impulses)(
            self.links, self.freedoms, self.blocks, self.link_work, self.freedom_work, self.block_work, self.row_work,
            self.change, self.rows, np.zeros((LINKS, 6)), through, out,
        )  # fmt: skip
        return out

    def twist(self, b: int) -> tuple[np.ndarray, np.ndarray]:
        """Return by how much the angular velocity and that of the origin of a link change: of all above it."""
        w, u, x, at = np.zeros(3), np.zeros(3), self.link_work.x, b
        while at > 0:
            for k in range(BEGIN[at], BEGIN[at] + SIZE[at]):
                own = self.freedom_work.axis[k] * self.change[k]
                if self.freedoms.linear[k]:
                    u = u + own
                else:
                    w = w + own
                    u = u + np.cross(own, x[b] - x[at]) + self.freedoms.pitch[k] * own
            at = PARENT[at]
        return w, u

    def on_link(self, b: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what must come through joints of the tree to a link: moment about its origin, and force."""
        w, u = self.twist(b)
        moment = self.inertia[b] @ w + self.mass[b] * np.cross(self.c[b], u) - self.outside[b, :3]
        force = self.mass[b] * (u + np.cross(w, self.c[b])) - self.outside[b, 3:]
        for n in (1, 2):
            turn, push = self.of_block(n)
            arm = self.block_work.p_WM[n] - self.link_work.x[b]
            sign = float(self.blocks.b[n] == b) - float(self.blocks.a[n] == b)
            moment, force = moment - sign * (turn + np.cross(arm, push)), force - sign * push
        return moment, force

    def of_block(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        own = slice(self.blocks.row[n], self.blocks.row[n] + self.blocks.rows[n])
        rows = (self.row_work.mate if self.blocks.second[n] else self.row_work.row)[own]
        total = self.rows[own] @ rows
        return total[:3], total[3:]


@pytest.mark.parametrize("seed", range(4))
def test_joints_carry_what_changes_the_momenta_beyond_them(seed: int) -> None:
    drawn = Drawn(seed)
    found, x = drawn.found(), drawn.link_work.x
    beyond = {1: (1, 2, 3, 4), 2: (2,), 3: (3, 4), 4: (4,)}
    for b, all_of_them in beyond.items():
        moment, force = np.zeros(3), np.zeros(3)
        for other in all_of_them:
            turn, push = drawn.on_link(other)
            moment, force = moment + turn + np.cross(x[other] - x[b], push), force + push
        np.testing.assert_allclose(found[JOINT[b]], [*moment, *force], atol=1e-12)
    np.testing.assert_allclose(found[3], np.concatenate(drawn.of_block(1)), atol=1e-12)
    assert not found[5].any()  # told with the first half


def test_points_of_contact_are_no_joints() -> None:
    """Their impulses act on links, and are told elsewhere."""
    drawn, same = Drawn(0), Drawn(0)
    drawn.blocks.touch[1] = 0
    assert not drawn.found()[3].any()
    np.testing.assert_array_equal(drawn.found()[JOINT[1:]], same.found()[JOINT[1:]])
