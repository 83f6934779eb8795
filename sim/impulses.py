"""What every joint carries at an instant: the impulses of loops, and through the tree from the change of momenta."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sim.mechanism import Mechanism


def joint_impulses(
    mechanism: Mechanism, change: np.ndarray, rows: np.ndarray, applied: Mapping[int, np.ndarray] | None = None
) -> np.ndarray:
    """Return (joints, 6): moment [N m s] about each joint and force [N s], world axes, of the parent on the child.

    Parameters
    ----------
    mechanism : Mechanism
        As last looked at.
    change : (nv,) v+ - v-
    rows : (rows,) impulses of the loops' rows
    applied : body -> (6,) impulse from outside, moment about the origin of the body's link and force

    Notes
    -----
    The change of a link's momentum is the sum of all impulses on it; summed from the tips to the root,
    what loops and the outside do not give came through the joint.
    """
    model, structure, work = mechanism.model, mechanism.structure, mechanism.work
    links, blocks = structure.tables.links, structure.tables.blocks
    through = mechanism.momenta(change)
    out = np.zeros((len(model.joints), 6))
    for n, block in enumerate(blocks):
        if block.motor:  # its impulse goes through the tree
            continue
        r = slice(int(block.row), int(block.row + block.rows))
        wrench = rows[r] @ work.rows.row[r]
        if block.touch < 0:
            out[block.joint] = wrench
        for link, sign in ((int(block.b), 1.0), (int(block.a), -1.0)):
            through[link] -= sign * _moved(wrench, work.blocks.frame[n, :3] - work.links.x[link])
    for body, wrench in (applied or {}).items():
        through[structure.link_of[body]] -= wrench
    for link in range(len(links) - 1, 0, -1):
        out[links.joint[link]] = through[link]
        parent = int(links.parent[link])
        if parent:
            through[parent] += _moved(through[link], work.links.d[link])
    return out


def _moved(wrench: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """Return a wrench about another point; arm: from that point to the old one."""
    return np.concatenate([wrench[:3] + np.cross(arm, wrench[3:]), wrench[3:]])
