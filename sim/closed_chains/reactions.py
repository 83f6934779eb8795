"""What joints carry in a motion: wrenches of the parent on the child by name, from the tips of the tree to its root."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sim.closed_chains.chain import Chain
from sim.mechanism.dense import crossed


def loop_forces(chain: Chain, left: np.ndarray) -> np.ndarray:
    """Return f (6 N_L,) of least norm with J_C^T f = left (N_J,): forces of the rows of J_C, moments over its length.

    left : what all joints need beyond what acts on them.  It has no power in any motion of the chain, or else what has
        is taken to act at the joints of theta_G.
    """
    dependent = chain.coordinates.dependent
    return np.asarray(np.linalg.lstsq(chain.J_C[:, dependent].T, left[dependent], rcond=None)[0])


def by_loop(chain: Chain, f: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return wrenches (6,) of loop joints, moment about the joint and force, and rows of constraints, by name."""
    model, wrenches, multipliers = chain.mechanism.model, {}, {}
    for n, rows in _rows_of_loops(chain):
        joint = chain.mechanism.structure.loops[n]
        if joint in model.constraints:
            multipliers[model.joint_names[joint]] = f[rows]
        else:
            wrenches[model.joint_names[joint]] = np.concatenate([model.length * f[rows][3:], f[rows][:3]])
    return wrenches, multipliers


def _rows_of_loops(chain: Chain) -> Iterator[tuple[int, slice]]:
    """Yield each loop and its rows of J_C."""
    mechanism, first = chain.mechanism, 0
    for n, joint in enumerate(mechanism.structure.loops):
        count = int(mechanism.structure.tables.blocks.rows[n]) if joint in mechanism.model.constraints else 6
        yield n, slice(first, first + count)
        first += count


def by_tree(chain: Chain, acceleration: np.ndarray, outside: np.ndarray, f: np.ndarray) -> dict[str, np.ndarray]:
    """Return wrenches (6,) of the tree's joints by name, moment about the joint and force, world axes.

    acceleration : (nv,) v'
    outside : (links, 6) what acts on links beside joints, about their origins
    """
    mechanism = chain.mechanism
    tables, model, moved = mechanism.structure.tables, mechanism.model, mechanism.work.links.d
    carried = chain.link_wrenches(acceleration) - outside - _from_loops(chain, f)
    out = {}
    for b in range(len(carried) - 1, 0, -1):
        out[model.joint_names[int(tables.links.joint[b])]] = carried[b].copy()
        above = int(tables.links.parent[b])
        carried[above] += carried[b]
        carried[above, :3] += crossed(moved[b], carried[b, 3:])
    return dict(reversed(out.items()))


def _from_loops(chain: Chain, f: np.ndarray) -> np.ndarray:
    """Return (links, 6) what loop joints and constraints do on links, about their origins."""
    mechanism = chain.mechanism
    blocks, work, model = mechanism.structure.tables.blocks, mechanism.work, mechanism.model
    out = np.zeros((len(work.links), 6))

    def act(n: int, wrench: np.ndarray) -> None:
        for link, sign in ((int(blocks.b[n]), 1.0), (int(blocks.a[n]), -1.0)):
            arm = work.blocks.p_WM[n] - work.links.x[link]
            out[link] += sign * np.concatenate([wrench[:3] + crossed(arm, wrench[3:]), wrench[3:]])

    wrenches, _ = by_loop(chain, f)
    for n, rows in _rows_of_loops(chain):
        joint = mechanism.structure.loops[n]
        if joint not in model.constraints:
            act(n, wrenches[model.joint_names[joint]])
            continue
        own = slice(int(blocks.row[n]), int(blocks.row[n] + blocks.rows[n]))
        act(n, f[rows] @ work.rows.row[own])
        if blocks.mate[n] >= 0:  # of a gear, whose other two links have a block of their own
            act(int(blocks.mate[n]), f[rows] @ work.rows.mate[own])
    return out
