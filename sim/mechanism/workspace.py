"""Scratch that kernels scribble into, allocated for one structure, and with what each method needs beside."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from sim.kernels.scratch import (
    BLOCK_WORK,
    BODY_WORK,
    CARRIED,
    COLUMN_END,
    CONTACT_CONSTRAINT,
    CONTACT_WORK,
    FORCE_WORK,
    FREEDOM_WORK,
    FRONT_WORK,
    JOINT_WORK,
    LINK_WORK,
    NEWTON_WORK,
    ONE_WORK,
    POSE,
    PUSHED,
    REST,
    ROW_WORK,
    SPAN,
    STEPPED,
    TOLD,
    TOUCH_WORK,
    Work,
)
from sim.kernels.shapes import TOUCH
from sim.kernels.stepper import REPLY, Stepper
from sim.kernels.tables import Numbers, Tables, Waiting, table
from sim.kernels.unilateral.sparse_factors import RUNS
from sim.kernels.watched import LEVELS, SPAN_HEADER
from sim.mechanism.methods import METHODS
from sim.mechanism.model import Model
from sim.mechanism.structure import Structure

FEW = Waiting(front=16, rim=16, J=512, ids=256, pile=256)  # room for elimination that any structure with contacts has
LINE = 64  # bytes of a cache line: two threads that write into one slow each other down


def make_work(tables: Tables, sizes: Numbers, row: int = 0) -> Work:
    """Allocate scratch for one structure; the world's poses are filled once.

    row: numbers of a recorded row, where rows are wanted.
    """
    m, c, late, room = sizes.rows, sizes.columns, len(tables.late), _waiting(tables, sizes)
    sliding, room_near = int(tables.one.sliding[0]), 64 if len(tables.meetings) else 0
    work = Work(
        links=table(LINK_WORK, sizes.links), freedoms=table(FREEDOM_WORK, sizes.v),
        blocks=table(BLOCK_WORK, sizes.blocks), rows=table(ROW_WORK, m),
        touches=tables.touches.copy(), points=table(TOUCH_WORK, len(tables.touches)),
        near=table(TOUCH, room_near), near_points=table(TOUCH_WORK, room_near), near_poses=np.zeros((2, 12)),
        near_cores=np.zeros((13, 3)), feedback=np.zeros((sliding + 1, sliding)),
        feedback_order=np.zeros(sliding, np.int64),
        bodies=table(BODY_WORK, sizes.bodies), joints=table(JOINT_WORK, sizes.joints),
        rules=table(CONTACT_WORK, sizes.contacts),
        forces=table(FORCE_WORK, len(tables.forces)),
        one=table(ONE_WORK, 1), coordinate=np.zeros(c), rate=np.zeros(c), torque=np.zeros(c), control=np.zeros(c),
        stopping=np.zeros(c), friction=np.zeros(c),
        J=np.zeros(room.J), keeps=np.zeros(m, np.int64), G=np.zeros((room.front, room.front)), N=np.zeros((m, m)),
        fronts=table(FRONT_WORK, sizes.links), ids=np.zeros(room.ids, np.int64), pile=np.zeros(room.pile),
        K=np.zeros((room.front, 6)), front=np.zeros(room.front, np.int64),
        rim_G=np.zeros((room.rim, room.rim)), rim_K=np.zeros((room.rim, 6)), rim=np.zeros(room.rim, np.int64),
        basis=np.zeros((8, 6)),
        stack=np.zeros(64), late=np.zeros((late + 1, late)), late_order=np.zeros(late, np.int64),
        jets=np.zeros((64, 3)), moved=np.zeros(sizes.v),
        saved=np.zeros(sizes.q), stage=np.zeros(sizes.q + sizes.v + 2),
        spans=table(SPAN, sizes.links), span_q=np.zeros(sizes.q), span_v=np.zeros(sizes.v), span_off=np.zeros(sizes.v),
        span_most=np.zeros(sizes.v), ranges=np.zeros((c, 5)), rate_ranges=np.zeros((c, 5)), bounds=np.zeros((64, 5)),
        path=np.zeros(sizes.links, np.int64),
        row=np.zeros(row), reply=table(REPLY, 1), **implicit_work(0, 0),
        **variational_work(Numbers(0, 0, 0, 0, 0, 0, 0, 0, 0)), own=np.zeros((0, 0)), **stepping_work(tables, 0, 0, 0),
    )  # fmt: skip
    work.links.R[0] = work.bodies.R_WB[0] = np.eye(3).ravel()
    work.points.start[:] = tables.touches.slip_W
    return work


def extent(structure: Structure) -> tuple[Any, ...]:
    """Return what the sizes of scratch depend on: structures with the same may use the same, one after the other."""
    if "extent" not in structure.known:
        tables = structure.tables
        structure.known["extent"] = (
            structure.sizes._replace(waiting=None), _waiting(tables, structure.sizes), len(tables.touches),
            len(tables.meetings) > 0, int(tables.one.sliding[0]), len(tables.forces), len(tables.late),
        )  # fmt: skip
    found: tuple[Any, ...] = structure.known["extent"]
    return found


def _waiting(tables: Tables, sizes: Numbers) -> Waiting:
    """Return the room for elimination; with contacts, which come and go, a power of two, so that few extents differ."""
    blocks = tables.blocks
    room = sizes.waiting or Waiting(
        sizes.rows, 0, int(((blocks.nb + blocks.na + blocks.nc) * blocks.rows).sum()), 0, 0
    )  # fmt: skip
    if not len(tables.meetings):
        return room
    return Waiting(*(max(few, 1 << max(n - 1, 0).bit_length()) for n, few in zip(room, FEW, strict=True)))


def implicit_work(n: int, m: int) -> dict[str, Any]:
    """Return the members of Work that the implicit method needs: n numbers of a state, m freedoms."""
    return {
        "answers": np.zeros(0, np.int64), "newton": table(NEWTON_WORK, 1),
        "by_q": np.zeros((m + 2, m)), "by_v": np.zeros((m + 2, m)),
        "turning": np.zeros(m), "real": np.zeros((m, m)), "pair": np.zeros((m, m), np.complex128),
        "real_order": np.zeros(m, np.int64), "pair_order": np.zeros(m, np.int64), "real_x": np.zeros((3, m)),
        "pair_x": np.zeros((3, m), np.complex128), "stages": np.zeros((11, n)), "shape": np.ones((2, 2 * m)),
    }  # fmt: skip


def variational_work(sizes: Numbers) -> dict[str, Any]:
    """Return the members of Work that the variational method needs."""
    ahead = table(LINK_WORK, sizes.links)
    ahead.R[:1] = np.eye(3).ravel()
    return {
        "ahead_links": ahead, "ahead_freedoms": table(FREEDOM_WORK, sizes.v),
        "ahead_blocks": table(BLOCK_WORK, sizes.blocks), "carried": table(CARRIED, sizes.links),
        "pushed": table(PUSHED, sizes.v), "rotors": table(PUSHED, sizes.rows), "start": np.zeros(sizes.columns),
        "steps": np.zeros((20, sizes.v)),
    }  # fmt: skip


def classical_work(sizes: Numbers) -> dict[str, Any]:
    """Return the member of Work that the classical method needs where rows bind rates only."""
    return {"own": np.zeros((5, sizes.q + sizes.v + 2))}


def stepping_work(tables: Tables, room: int, rows: int, freedoms: int) -> dict[str, Any]:
    """Return the members of Work that time stepping needs.

    room : presses of a step; rows : samples that are kept until they are taken; freedoms : of the tree
    """
    shapes, meetings, links = (len(tables.shapes), len(tables.meetings), len(tables.links)) if room else (0, 0, 0)
    depth, top, tree = np.zeros(links, np.int64), tables.links.v.copy(), np.zeros(freedoms, np.int64)
    for b in range(1, links):
        above, first, own = tables.links.parent[b], tables.links.v[b], tables.links.nv[b]
        depth[b] = depth[above] + own
        top[b] = top[above] if above > 0 else first
        tree[first : first + own] = top[b]
    width = min(2 * int(depth.max(initial=0)), freedoms)
    end = table(LINK_WORK, links)
    end.R[:1] = np.eye(3).ravel()
    looped = freedoms if len(tables.rows) else 0
    columns = len(tables.columns) if room else 0
    controlled = columns if len(tables.laws) + len(tables.applied) else 0
    return {
        "ends": table(COLUMN_END, columns), "slopes": np.zeros((2, controlled, controlled)),
        "laws": np.zeros((meetings, 8)), "placed": np.zeros((shapes, 12)),
        "boxes": np.zeros((shapes, 6)), "reach": np.zeros(shapes),
        "reached": np.zeros(shapes), "wide_boxes": np.zeros((shapes, 6)),
        "near_pairs": np.zeros(meetings, np.int64), "near_count": np.zeros(1, np.int64),
        "posed": table(POSE, links), "drifted": np.zeros(links), "unchanged": np.zeros(links, np.int64),
        "rooted": np.zeros(freedoms), "stop_depth": np.zeros(len(tables.stops) if room else 0), "end_links": end,
        "end_freedoms": table(FREEDOM_WORK, freedoms), "contact_touch": table(TOUCH, room),
        "contacts": table(CONTACT_CONSTRAINT, room), "last_contacts": table(CONTACT_CONSTRAINT, room),
        "rest": table(REST, links), "parked": table(CONTACT_CONSTRAINT, room),
        "told": table(TOLD, room * rows),
        "stepped": table(STEPPED, 1), "contact_P": np.zeros((room, 3)), "contact_z": np.zeros((room, 3)),
        "contact_d": np.zeros((room, 2)), "contact_G": np.zeros((room, 3, 3)),
        "contact_support": np.zeros((room, width), np.int64), "contact_U": np.zeros(room * 3 * width),
        "contact_R": np.zeros((room * 3, looped)), "contact_p": np.zeros((room, 3)),
        "contact_best": np.zeros((room, 3)),
        "contact_off": np.zeros(room), "contact_chosen": np.zeros(room, np.int64), "contact_tree": tree,
        "contact_awake": np.zeros((2, freedoms), np.int64), "contact_place": np.zeros(freedoms, np.int64),
        "contact_reached": np.zeros(freedoms, np.int64), "islands": _islands(tree),
        "island_press": np.zeros(room, np.int64), "island_first": np.zeros(freedoms + 1, np.int64),
        "island_start": np.zeros(freedoms + 1, np.int64), "island_joined": np.zeros(2 * room, np.int64),
        "island_runs": np.zeros((freedoms, 2 * RUNS), np.int64), "island_columns": np.zeros((5, freedoms), np.int64),
        "island_next": np.zeros(room, np.int64),
        "contact_at": np.zeros((room, width), np.int64), "push_step": np.zeros((4, freedoms)),
        "contact_shape": np.zeros((3, freedoms + 1), np.int64), "contact_matrix": np.zeros(freedoms * freedoms),
        "push": np.zeros(freedoms),
    }  # fmt: skip


def _islands(tree: np.ndarray) -> np.ndarray:
    """Return scratch of islands; tree : (freedoms,) the first freedom of the tree of each."""
    out = np.zeros((6, len(tree)), np.int64)
    for freedom, first in enumerate(tree):
        out[5, freedom] = out[4, first] if freedom > first else -1
        out[4, first] = freedom
    return out


def laws_of(model: Model, structure: Structure) -> np.ndarray:
    """Return what time steps need to know of each meeting (meetings, 8).

    Friction, restitution, rest speed [m/s], friction at rest; stiffness [N/m] and dissipation [s/m] of what is soft;
    radii [m] of friction against spinning and rolling.
    """
    out = np.zeros((len(structure.meetings), 8))
    for m, (pair, rule) in enumerate(structure.meetings.items()):
        said = model.scene.contacts[rule]
        both = model.friction(pair, rule), model.friction_at_rest(pair, rule)
        out[m, :4] = both[0], said.restitution, said.rest_speed, both[1]
        if said.soft is not None:
            out[m, 4:6] = said.soft.stiffness, said.soft.dissipation
        out[m, 6:] = said.patch_radius, said.rolling_radius
    return out


def make_stepper(sizes: Numbers, guards: int) -> Stepper:
    """Allocate an integrator for one structure."""
    n = sizes.q + sizes.v + 2
    k = np.zeros((16, n))
    return Stepper(
        y=np.zeros(n), y_new=np.zeros(n), y_work=np.zeros(n), error=np.zeros(n), k=k, rows=k.reshape(-1),
        dense=np.zeros((8, n)), guard_old=np.zeros(guards), guard_new=np.zeros(guards), guard_mid=np.zeros(guards),
        curve=np.zeros(15 * n), span=np.zeros(15 * n), told=np.zeros(SPAN_HEADER + guards), ends=np.zeros(LEVELS + 1),
        ahead=np.zeros((LEVELS + 3, guards)), open=np.zeros((LEVELS + 1, guards)),
        clock=np.zeros(20), count=np.zeros(20, np.int64),
    )  # fmt: skip


def with_scratch(work: Work, method: int, structure: Structure) -> Work:
    """Return `work` with the scratch that steps of a method need, time steps excepted; itself where it has that."""
    sizes = structure.sizes
    if method == METHODS["radau"] and len(work.turning) != sizes.v:
        return work._replace(**implicit_work(sizes.q + sizes.v + 2, sizes.v))
    if method == METHODS["variational"] and len(work.carried) != sizes.links:
        return work._replace(**variational_work(sizes))
    if method == METHODS["rk4"] and structure.binds_rates and not len(work.own):
        return work._replace(**classical_work(sizes))
    return work


def in_one_piece(*wholes: Any) -> tuple[np.ndarray, Iterator[Any]]:
    """Return memory that holds all arrays of some named tuples, and the tuples with views of it.

    The memory begins and ends with cache lines of its own.
    """
    places: list[int] = []
    size = 0
    for array in itertools.chain(*wholes):
        places.append(size)
        size += -(-array.nbytes // LINE) * LINE
    raw = np.zeros(size + LINE, np.uint8)
    ahead = -raw.ctypes.data % LINE
    memory = raw[ahead : ahead + size].view(np.int64)
    at = iter(places)

    def moved(array: np.ndarray) -> np.ndarray:
        view = np.ndarray(array.shape, array.dtype, memory.data, next(at)).view(type(array))
        view[...] = array
        return view

    return memory, iter([type(whole)(*map(moved, whole)) for whole in wholes])
