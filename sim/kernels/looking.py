"""A state as decisions on contacts look at it, in one call: what `sim.mechanism.mechanism.Mechanism.update` fills."""

from __future__ import annotations

import math

from sim.kernels.collision.broad import apart
from sim.kernels.collision.narrow import ROOM, points_nearby
from sim.kernels.dynamics import body_poses, columns, follow, move, rows_now
from sim.kernels.jit import kernel, python_driver
from sim.kernels.observe import energies
from sim.kernels.rows.constraints import residuals
from sim.kernels.system import unpack
from sim.kernels.tables import OF_BALL


@python_driver
def look_around(system, t, q, v):
    """Fill poses, velocities, rows, residuals, coordinates, rates and energies at a state."""
    tables, control, work, _ = unpack(system)
    follow(system, t)
    if tables.one.driven[0]:
        count_turns(tables.rows, work.rows, control.turn)
    move(system, q, v)
    columns(system, q, v)
    if tables.blocks.rows.size > 0:
        rows_now(system, tables, work, 1)
        residuals(tables.blocks, tables.rows, work.coordinate, work.blocks, work.rows)
    body_poses(tables.links, work.links, work.bodies)
    energies(
        tables.links, tables.columns, tables.stops, tables.forces, tables.points, tables.one.gravity_W,
        work.coordinate, work.rate, work.links, work.one,
    )  # fmt: skip


@kernel
def count_turns(rows, row_work, turn_out):
    """Let angles of driven loop joints be counted to the turns that their motions are in."""
    for r in range(rows.motion.size):
        if rows.motion[r] >= 0 and rows.locked[r] != OF_BALL:
            want = row_work.want[r, 0]
            turn_out[rows.column[r]] = 0.0 if math.isnan(want) else want


@python_driver
def find_closed(system, within, touch_work, point_work, count_out):
    """Find the points of all pairs that may touch with gaps up to `within`, pair after pair; needs `look_around`.

    count_out: (meetings,) how many of them each pair has.  Returns their number, -1 where there is no room for more.
    """
    tables, _, work, _ = unpack(system)
    total = 0
    for m in range(tables.meetings.a.size):
        if total + ROOM > touch_work.mode.size:
            return -1
        a, b, x, R = tables.meetings.a[m], tables.meetings.b[m], work.links.x, work.links.R
        count_out[m] = 0
        if apart(tables.shapes, a, b, x, R, work.near_poses) > 2.0 * within:  # a bound, to roundoff
            continue
        found, _, _ = points_nearby(
            tables.shapes, tables.hulls, a, b, x, R, within, touch_work[total:], point_work[total:], work.near_poses,
            work.near_cores,
        )  # fmt: skip
        count_out[m] = found
        total += found
    return total
