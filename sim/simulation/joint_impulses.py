"""What every joint carries at an instant: the impulses of loops, and through the tree from the change of momenta."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sim.mechanism.mechanism import Mechanism, crossed


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
    place, origin, moved = work.blocks.p_WM, work.links.x, work.links.d
    parent, carrier = links["parent"].tolist(), links["joint"].tolist()
    through = mechanism.momenta(change)
    out = np.zeros((len(model.joints), 6))
    of_blocks = (blocks[name].tolist() for name in ("motor", "row", "rows", "touch", "joint", "a", "b", "second"))
    for n, (motor, first, count, touch, joint, a, b, second) in enumerate(zip(*of_blocks, strict=True)):
        if motor:  # its impulse goes through the tree
            continue
        row = work.rows.mate if second else work.rows.row
        wrench = rows[first : first + count] @ row[first : first + count]
        if touch < 0 and second != 1:
            out[joint] += wrench
        for link, sign in ((b, 1.0), (a, -1.0)):
            through[link] -= sign * _moved(wrench, place[n] - origin[link])
    for body, wrench in (applied or {}).items():
        through[structure.link_of[body]] -= wrench
    for link in range(len(links) - 1, 0, -1):
        out[carrier[link]] = through[link]
        if parent[link]:
            through[parent[link]] += _moved(through[link], moved[link])
    return out


def _moved(wrench: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """Return a wrench about another point; arm: from that point to the old one."""
    return np.concatenate([wrench[:3] + crossed(arm, wrench[3:]), wrench[3:]])
