"""What every joint carries at an instant: the impulses of loops, and through the tree from the change of momenta."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sim.kernels.carrying import put_joint_impulses
from sim.mechanism.mechanism import Mechanism


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
    structure, work, tables = mechanism.structure, mechanism.work, mechanism.structure.tables
    twists, through = np.zeros((2, structure.sizes.links, 6))
    for body, wrench in (applied or {}).items():
        through[structure.link_of[body]] -= wrench
    out = np.zeros((len(mechanism.model.joints), 6))
    put_joint_impulses(
        tables.links, tables.freedoms, tables.blocks, work.links, work.freedoms, work.blocks, work.rows, change, rows,
        twists, through, out,
    )  # fmt: skip
    return out
