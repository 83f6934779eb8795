"""Which body hangs on which: the spanning tree, the loops, and the four pointers of the papers.

A body is carried by one joint, its tree joint; every other active joint closes a loop through a
*virtual link* (structure-varying-1999, section 3.2): a link without mass whose `real` pointer names
the body it coincides with.  Connecting never re-roots the tree; cutting a tree joint hands the
child to another active joint in which it is the child, else to a free joint (section 4.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from operator import itemgetter
from typing import Any

import numpy as np

from sim.kernels.shapes import (
    CYLINDER,
    MEETING,
    OPEN,
    SHAPE,
    SLIP,
    SLOW_SLIP,
    SOFT,
    SOFT_STICK,
    SPHERE,
    STICK,
    TOUCH,
)
from sim.kernels.tables import (
    ANGLE_ROW,
    AXLE_ROW,
    BLOCK,
    CONSTRAINT_ROWS,
    FRONT,
    GEAR,
    OF_BALL,
    ONE,
    PAIR,
    RATES_ONLY,
    ROLLING,
    ROLLING_OPEN,
    ROW,
    SAME_VELOCITY,
    SWING_ROW,
    TWIST_ROW,
    Numbers,
    Tables,
    Waiting,
    table,
)
from sim.mechanism.active_bound import ActiveBound
from sim.mechanism.frames import Frames
from sim.mechanism.model import Model
from sim.mechanism.paths import Paths, common
from sim.mechanism.touch import Touch
from sim.mechanism.tree import Tree, count_coordinates, tree_of
from sim.scene.spec import Constraint

PROGRAMS = ("late", "slots", "codes", "constants", "programs", "applied", "laws", "law_constants")


@dataclass(frozen=True)
class Structure:
    """One epoch's tree and loops, with the tables that kernels read.

    carrier : (1 + bodies,) tree joint of each body; -1 for the world
    loops : joints that close loops, in file order
    link_of : (1 + bodies,) link of each body
    parent, child, brother, real : (links + virtual links,) pointers; -1 where there is none.  Link 0
        is the world; virtual links follow the real ones, one for each loop.
    known : what others have found of the tables, and keep with them
    """

    carrier: np.ndarray
    tree: Tree
    tables: Tables
    sizes: Numbers
    touches: tuple[Touch, ...] = ()  # closed points of contact
    meetings: Mapping[int, int] = field(default_factory=dict)  # pairs of shapes that may touch, each with its rule
    bounds: tuple[ActiveBound, ...] = ()  # freedoms at rest at their stops or by friction
    known: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def programs(self) -> dict[str, Any]:
        """What formulas put into its tables."""
        arrays: dict[str, Any] = {name: getattr(self.tables, name) for name in PROGRAMS}
        return arrays | {"acts": int(self.tables.one.acts[0]), "views": int(self.tables.one.views[0])}

    @property
    def binds_rates(self) -> bool:
        """Tell whether there are rows that bind rates only: wheels, blades, what rolls."""
        return bool(np.any(self.tables.rows.locked == RATES_ONLY))

    @property
    def loops(self) -> tuple[int, ...]:
        """Joints that close loops."""
        return self.tree.loops

    @property
    def link_of(self) -> np.ndarray:
        """Link of each body."""
        return self.tree.link_of

    @property
    def parent(self) -> np.ndarray:
        """Pointer to the parent of each link."""
        return self.tree.pointers[0]

    @property
    def child(self) -> np.ndarray:
        """Pointer to the first child of each link."""
        return self.tree.pointers[1]

    @property
    def brother(self) -> np.ndarray:
        """Pointer to the next child of each link's parent."""
        return self.tree.pointers[2]

    @property
    def real(self) -> np.ndarray:
        """Pointer from each virtual link to the link that it stands for."""
        return self.tree.pointers[3]

    def q_of(self, model: Model, joint: int) -> slice:
        """Return the addresses in q of a tree joint."""
        link = self.link_of[model.joints.child[joint]]
        first = int(self.tables.links.q[link])
        return slice(first, first + model.type_of(joint).coordinates)

    def v_of(self, model: Model, joint: int) -> slice:
        """Return the addresses in v of a tree joint."""
        link = self.link_of[model.joints.child[joint]]
        first = int(self.tables.links.v[link])
        return slice(first, first + model.type_of(joint).freedoms)


def choose_tree(model: Model, active: Iterable[int], carrier: np.ndarray | None, new: Iterable[int] = ()) -> np.ndarray:
    """Choose the tree joint of every body.

    Bodies keep their carrier while it is active.  Another body is carried by the first active joint,
    in file order, in which it is the child and which does not close a cycle; a joint connected at
    this instant (`new`) carries nothing; a body left over gets its free joint.
    """
    active, new = set(active), set(new)
    n = len(model.bodies)
    out = np.full(n, -1)
    parent = np.full(n, -1)
    kind_free = model.free_joint
    if carrier is not None:
        for body in range(1, n):
            if int(carrier[body]) in active or int(carrier[body]) == kind_free[body]:
                out[body] = carrier[body]
                parent[body] = model.joints.parent[out[body]]

    def hangs_on(body: int, other: int) -> bool:
        while body > 0:
            if body == other:
                return True
            body = parent[body]
        return False

    for joint in sorted(j for j in active - new if j not in model.constraints):
        body, above = int(model.joints.child[joint]), int(model.joints.parent[joint])
        if out[body] < 0 and not hangs_on(above, body):
            out[body], parent[body] = joint, above
    for body in range(1, n):
        if out[body] < 0:
            out[body] = kind_free[body]
    return out


def build(
    model: Model,
    frames: Frames,
    active: Iterable[int],
    carrier: np.ndarray,
    touches: Sequence[Touch] = (),
    meetings: Mapping[int, int] | None = None,
    bounds: Sequence[ActiveBound] = (),
    like: Structure | None = None,
) -> Structure:
    """Lay out one structure: links in depth-first order, addresses, loops and all tables of kernels.

    Springs, dampers, armatures and stops of joints that are not connected are taken out.
    touches : closed points of contact; meetings : pairs of shapes that may touch, and their rules
    holds : freedoms at rest at their stops or by friction, driven to stay where they are
    like : a structure of the same joints, whose tree is taken over where model and frames are the same
    """
    tree, meetings = like.tree if like else None, meetings or {}
    if tree is None or tree.model is not model or tree.frames is not frames:
        tree = tree_of(model, frames, active, carrier)
    same = like is not None and like.meetings is meetings and like.tree is tree
    met = like.tables.meetings if like and same else _meetings(model, tree.link_of, meetings)
    if like and like.tree is tree and not bounds and not like.bounds:
        arrays = like.programs
    else:
        arrays = model.programs.tables([hold.at for hold in bounds])
    acts, views, first_hold = arrays.pop("acts"), arrays.pop("views"), len(arrays["programs"]) - len(bounds)
    acting, firm = (_held(one, bounds, first_hold) for one in (tree.acting, tree.firm))
    links, freedoms, loops, link_of = tree.links, tree.freedoms, tree.loops, tree.link_of
    closed = _touches(model, touches, meetings)
    blocks, rows, support, pairs, shared = _blocks(firm, frames, loops, link_of, links, tree.paths, closed)
    fronts, entries, below = _fronts(links, blocks, len(rows), tree.paths)
    one = table(ONE, 1)
    geared = bool(np.any(blocks.mate >= 0))  # four links have a row of a gear: it is no row that two ends close
    one.along[0] = not geared and cheaper_along(links, blocks, pairs, fronts)
    one.gravity_W[0], one.length[0] = model.gravity_W, model.length
    one.mobility[0] = 1.0 / max(float(links.mass.sum()), 1e-300)
    one.acts[0], one.views[0] = acts, views
    tables = Tables(
        links=links, blocks=blocks, rows=rows, pairs=pairs, columns=acting.columns, stops=acting.stops,
        points=tree.points, forces=acting.forces, touches=closed, shapes=tree.shapes if meetings else table(SHAPE, 0),
        hulls=tree.hulls,
        meetings=met,
        freedoms=freedoms, fronts=fronts, entries=entries, support=support, shared=shared, one=one, **arrays,
    )  # fmt: skip
    one.driven[0] = int(geared or bool(np.any(rows.motion >= 0)))  # both read coordinates
    one.sliding[0] = int(np.count_nonzero(closed.mode >= SLIP))
    one.soft[0] = int(any(model.scene.contacts[rule].soft is not None for rule in meetings.values()))
    one.lends[0] = int(np.any(freedoms.lent))
    one.reads[0] = one.driven[0] or int(np.any(rows.pitch))
    one.nq[0], one.nv[0] = count_coordinates(links), len(freedoms)
    sizes = Numbers(
        links=len(links), q=int(one.nq[0]), v=int(one.nv[0]), rows=len(rows), blocks=len(blocks),
        bodies=len(links), columns=len(model.columns), joints=len(model.joints), contacts=len(model.scene.contacts),
        waiting=_waiting(links, fronts, below, len(rows)) if one.along[0] else None,
    )  # fmt: skip
    share_forces(touches, bounds, first_hold, rows_of_touches(tables), rows)
    return Structure(carrier, tree, _frozen(tables), sizes, tuple(touches), meetings, tuple(bounds))


def _held(model: Model, bounds: Sequence[ActiveBound], first: int) -> Model:
    """Return the model with programs for the freedoms that are held; first: program of the first of them."""
    if not bounds:
        return model
    columns = model.columns.copy()
    columns.motion[[hold.column for hold in bounds]] = first + np.arange(len(bounds))
    return replace(model, columns=columns)


def _frozen(tables: Tables) -> Tables:
    for array in tables:
        array.flags.writeable = False
    return tables


# Code, scale, compliance, locked, motion, column and pitch of a row.
Row = tuple[int, float, float, int, int, int, float]


def _motors(model: Model, links: Any) -> list[int]:
    """Return the tree's joints of which a freedom is driven."""
    driven = {int(joint) for joint in model.columns.joint[model.columns.motion >= 0]}
    if not driven:
        return []
    return [int(joint) for joint in links.joint[1:] if int(joint) in driven]


def _rows_of(model: Model, joint: int, motor: bool) -> list[Row]:
    """Return the rows of a joint.

    A loop joint locks, drives and carries the armatures of its freedoms; a tree joint (motor) only drives.
    """
    if joint in model.constraints:
        return _rows_of_constraint(model, joint)
    kind, first, pitch = model.type_of(joint), int(model.joints.column[joint]), model.pitch_of(joint)
    columns = list(enumerate(kind.free, start=first))
    out: list[Row] = []

    def scale(code: int) -> float:
        return 1.0 if code < 3 else model.length

    if not motor:
        for code in kind.locked:
            # The slide along the axis of the first turn follows it, where this has a pitch: it is the first freedom.
            tie = (first, pitch) if pitch and code in kind.turns[:1] else (0, 0.0)
            out.append((code, scale(code), 0.0, int(kind.locks_all_turns), -1, *tie))
    for column, code in columns:
        if model.columns.motion[column] >= 0:
            spec = model.joint_specs[joint]
            ball = kind.ball >= 0 and column - first >= kind.ball
            turned = ball and spec is not None and bool(spec.motion)
            if ball and not turned:
                code = _stopped(model, joint, column - first)
            locked = OF_BALL if turned else 0
            out.append((code, scale(code), 0.0, locked, int(model.columns.motion[column]), column, 0.0))
    for column, code in columns:
        armature = float(model.columns.armature[column])
        if armature > 0.0 and not motor:
            out.append((code, float(armature**0.5), 1.0, 0, -1, column, 0.0))
    return out


def _stopped(model: Model, joint: int, place: int) -> int:
    """Return the direction of what holds a ball, which only a stop does: of its angle, its swing or its twist."""
    spec = model.joint_specs[joint]
    about = spec.limits.about if spec and spec.limits else 2
    return (ANGLE_ROW, SWING_ROW + about, TWIST_ROW + about)[place]


def _circle(spec: Constraint) -> tuple[float, float]:
    """Return the radii of the circle about the axis of what rolls, and of the tube about it: a sphere is all tube.

    An ellipsoid has neither.
    """
    return (0.0, spec.radius) if spec.axis is None else (spec.radius, spec.tube)


def _round(spec: Constraint) -> int:
    """Return what kind of round ground something rolls on, 0: none."""
    return 0 if spec.bend == 0.0 else SPHERE if spec.along is None else CYLINDER


_COMPONENTS = ("x", "y", "z", "rx", "ry", "rz")


def _rows_of_constraint(model: Model, joint: int) -> list[Row]:
    """Return the rows of a constraint, as `_rows_of`: but for gears and what is kept on the ground, of rates only.

    Those along which it may slip are there while it is held.
    """
    kind, column, slips = int(model.joints.kind[joint]), int(model.joints.column[joint]), int(model.joints.nv[joint])
    placed = {GEAR: _codes(model, joint), ROLLING: (2,)}.get(kind, ())
    out: list[Row] = []
    for i, code in enumerate(_codes(model, joint)):
        motion = int(model.columns.motion[column + i]) if i < slips else -1
        if motion >= 0 or i >= slips:
            size, locked = 1.0 if _pushes(code) else model.length, 0 if code in placed else RATES_ONLY
            out.append((code, size, 0.0, locked, motion, column + i if i < slips else 0, 0.0))
    return out


def _codes(model: Model, joint: int) -> Sequence[int]:
    """Return the directions of what a constraint binds; of a gear, the first freedom's."""
    kind, spec = int(model.joints.kind[joint]), model.constraints[joint]
    if kind == SAME_VELOCITY:
        return [_COMPONENTS.index(name) for name in spec.components]
    if kind == GEAR:
        return [_freedom_code(model, *model.geared(joint)[0])]
    return CONSTRAINT_ROWS[kind]


def _pushes(code: int) -> bool:
    """Tell whether a direction is of a force; else of a moment."""
    return code < 3 or code >= AXLE_ROW


def _freedom_code(model: Model, joint: int, freedom: int) -> int:
    return model.type_of(joint).free[freedom]


def _touches(model: Model, touches: Sequence[Touch], meetings: Iterable[int]) -> Any:
    """Lay out the closed points of contact."""
    out, place = table(TOUCH, len(touches)), {pair: n for n, pair in enumerate(meetings)}
    if touches:
        out[:] = [touch.features for touch in touches]
        out.meeting[:], out.mode[:] = [place[touch.pair] for touch in touches], [touch.mode for touch in touches]
        out.slip_W[:], out.block[:] = [touch.slip_W for touch in touches], -1
        out.friction[:] = [_friction(model, touch) for touch in touches]
        for k, touch in enumerate(touches):
            soft = model.scene.contacts[touch.rule].soft
            if touch.mode < OPEN and soft is not None:
                out.stiffness[k], out.dissipation[k] = soft.stiffness, soft.dissipation
    return out


def _friction(model: Model, touch: Touch) -> float:
    """Return the coefficient of a point in its mode."""
    if touch.mode == SOFT:
        return 0.0
    rests = touch.mode in (STICK, SOFT_STICK)
    return (model.friction_at_rest if rests else model.friction)(touch.pair, touch.rule)


def _meetings(model: Model, link_of: np.ndarray, meetings: Mapping[int, int]) -> Any:
    out, link = table(MEETING, len(meetings)), link_of.tolist()
    pairs = [model.pairs[n] for n in meetings]
    named = [pair.second if n in pair.turned else pair.first for pair, n in zip(pairs, meetings.values(), strict=True)]
    out.a[:], out.b[:] = [pair.first for pair in pairs], [pair.second for pair in pairs]
    out.rule[:], out.named[:] = list(meetings.values()), [link[model.solids[n].body] for n in named]
    return out


def share_forces(
    touches: Sequence[Touch], bounds: Sequence[ActiveBound], first: int, of_touches: Sequence[tuple[int, int, int]],
    rows: Any,
) -> None:  # fmt: skip
    """Give rows what they are to share of forces that are not unique: those of closed points, of what is held.

    first : program of the first freedom that is held, whose rows have bounds, too; of_touches : `rows_of_touches`
    rows : those of the tables, writable
    """
    share = rows["share"]
    for r, touch, code in of_touches:
        share[r] = touches[touch].share[code]
    for r in np.flatnonzero(rows["motion"] >= first).tolist() if bounds else ():
        hold = bounds[int(rows["motion"][r]) - first]
        rows["low"][r], rows["high"][r], share[r] = hold.low, hold.high, hold.torque / rows["scale"][r]


def rows_of_touches(tables: Tables) -> list[tuple[int, int, int]]:
    """Return the rows of points of contact, each with its point and its code."""
    code = tables.rows["code"].tolist()
    of_blocks = (tables.blocks[name].tolist() for name in ("touch", "row", "rows"))
    return [
        (r, touch, code[r])
        for touch, row, count in zip(*of_blocks, strict=True)
        for r in (range(row, row + count) if touch >= 0 else ())
    ]


def _rows_of_touch(mode: int) -> list[Row]:
    """Return the rows of a point of contact, as `_rows_of`: the normal, and what it may not move along the surface."""
    codes = {STICK: (0, 1, 2), SLOW_SLIP: (2, 1), SOFT_STICK: (0, 1)}.get(mode, (2,))
    return [(code, 1.0, 0.0, 0, -1, 0, 0.0) for code in codes]


def _blocks(
    model: Model, frames: Frames, loops: tuple[int, ...], link_of: np.ndarray, links: Any, paths: Paths, touches: Any
) -> Any:  # fmt: skip
    """Lay out the rows: a block for each loop, for each driven joint of the tree, for each closed point of contact."""
    motors = _motors(model, links)
    seconds = [joint for joint in loops if model.joints.kind[joint] == GEAR]
    mode, ends = touches.mode.tolist(), touches.link.tolist()
    closed = [k for k, m in enumerate(mode) if m > OPEN or m == SOFT_STICK]
    joints = [*loops, *seconds, *motors]
    blocks = table(BLOCK, len(joints) + len(closed))
    row_list: list[tuple[int, int, float, float, int, int, int, float]] = []  # block, then as `_rows_of`
    numbers: list[tuple[int, ...]] = []
    supports: list[tuple[int, ...]] = []
    entries = jacobian = 0
    blocks.mate[:], blocks.factor[:] = -1, 1.0
    for n in range(len(blocks)):
        second = len(loops) <= n < len(loops) + len(seconds)
        if n < len(joints):
            joint, motor, touch = joints[n], n >= len(loops) + len(seconds), -1
            binds, column = joint in model.constraints, int(model.joints.column[joint])
            held = (
                model.geared(joint)[second][0] if model.joints.kind[joint] == GEAR else joint
            )  # whose frames and links it has
            a, b = (int(link_of[model.joints[side][held]]) for side in ("parent", "child"))
            _bind(blocks, n, frames, held, links, a, b)
            own = [] if second else _rows_of(model, joint, motor)
            if binds:
                _constrain(blocks, n, model, frames, joint, second)
        else:
            joint, motor, touch, binds, column = -1, False, closed[n - len(joints)], False, 0
            a, b = ends[touch]
            own = _rows_of_touch(mode[touch])
        row, count = len(row_list), len(own)
        if second:  # has the row of the first
            first = loops.index(joint)
            row, count = numbers[first][10:12]
            blocks.mate[first], blocks.second[n] = n, 3 - len(model.tied(joint))
        row_list += [(n, *one) for one in own]
        slips = int(model.joints.nv[joint]) if binds else 0
        kind = None if motor or binds or joint < 0 else model.type_of(joint)
        path = paths.between(a, b)
        hard = sum(one[3] == 0.0 for one in row_list[row : row + count])
        numbers.append((
            slips or (kind.freedoms if kind else 0), int(slips > 0), kind.ball if kind else -1,
            int(kind is not None and kind.on_one_line), joint, column, a, b, int(motor), touch, row, count, hard,
            entries, *path.sizes, jacobian, path.fork,
        ))  # fmt: skip
        supports.append(path.freedoms)
        entries += len(path.freedoms)
        jacobian += len(path.freedoms) * count
    rows = table(ROW, len(row_list))
    touches.block[closed] = len(joints) + np.arange(len(closed))
    _fill(blocks, _OF_BLOCK, numbers)
    _fill(rows, _OF_ROW, row_list)
    if len(blocks) <= MANY or seconds:
        pairs, shared = _pairs(blocks.row.tolist(), supports)
    else:
        pairs, shared = table(PAIR, 0), np.zeros((0, 2), np.int64)
    return blocks, rows, np.array(list(chain(*supports)), np.int64), pairs, shared


_OF_BLOCK = (
    "freedoms", "slips", "quaternion", "on_line", "joint", "column", "a", "b", "motor", "touch", "row", "rows", "hard",
    "support", "nb", "na", "nc", "jacobian", "fork",
)  # fmt: skip
_OF_ROW = ("block", "code", "scale", "compliance", "locked", "motion", "column", "pitch")


def _constrain(blocks: Any, n: int, model: Model, frames: Frames, joint: int, second: bool) -> None:
    """Fill what only blocks of constraints have."""
    kind, spec, codes = int(model.joints.kind[joint]), model.constraints[joint], _codes(model, joint)
    blocks.rolls[n] = int(kind in (ROLLING, ROLLING_OPEN))
    (blocks.ring[n], blocks.tube[n]), (blocks.code[n], blocks.beside[n]) = _circle(spec), (codes[0], codes[-1])
    if kind in (ROLLING, ROLLING_OPEN):
        blocks.beside[n] = codes[1]
        blocks.radii[n] = spec.radii or (0.0, 0.0, 0.0)
        blocks.ground[n], blocks.bend[n] = _round(spec), spec.bend
    if kind == GEAR:
        tied, freedom = model.geared(joint)[second]
        blocks.of[n], blocks.code[n] = int(model.joints.column[tied]) + freedom, _freedom_code(model, tied, freedom)
        blocks.factor[n], blocks.offset[n] = -spec.ratio if second else 1.0, frames.offset[joint]


def _fill(table_out: Any, names: tuple[str, ...], numbers: Sequence[tuple[float, ...]]) -> None:
    """Write some fields of a table, from a tuple for each of its rows."""
    for name, column in zip(names, zip(*numbers, strict=True), strict=False):
        table_out[name] = column


def _bind(blocks: Any, n: int, frames: Frames, joint: int, links: Any, a: int, b: int) -> None:
    """Fill F in a and M in b of a joint's block."""
    for link, p_out, R_out, p, R in (
        (a, "p_aF", "R_aF", frames.p_PF[joint], frames.R_PF[joint]),
        (b, "p_bM", "R_bM", frames.p_CM[joint], frames.R_CM[joint]),
    ):
        R_KB = links.R_KB[link].reshape(3, 3)
        blocks[p_out][n] = links.p_KB[link] + R_KB @ p
        blocks[R_out][n] = (R_KB @ R).ravel()


def _pairs(row: list[int], supports: list[tuple[int, ...]]) -> tuple[Any, np.ndarray]:
    """Where two blocks share freedoms, for the products between them; the first of a pair has the later rows.

    The two blocks of a gear have one row, whose square has their product twice.
    """
    both: list[tuple[int, int, np.ndarray]] = []
    for n in range(len(row)):
        for other in range(n):
            places = common(supports[n], supports[other])
            if not len(places):
                continue
            if row[n] < row[other]:
                both.append((other, n, places[:, ::-1]))
            else:
                both.append((n, other, np.repeat(places, 2, axis=0) if row[n] == row[other] else places))
    both.sort(key=itemgetter(0, 1))
    pairs = table(PAIR, len(both))
    _fill(pairs, ("first", "second", "count"), [(high, low, len(places)) for high, low, places in both])
    pairs.start[:] = np.cumsum(pairs["count"]) - pairs["count"]
    return pairs, np.concatenate([np.zeros((0, 2), np.int64), *(places for _, _, places in both)])


# Closed rows that may wait at a link for a better pivot, beyond those that are open there.
PATIENCE = 64
_OF_FRONTS = ("a", "b", "fork", "row", "rows")
MANY = 100  # loops that are never eliminated all at once


def _fronts(links: Any, blocks: Any, m: int, paths: Paths) -> tuple[Any, np.ndarray, np.ndarray]:
    """Lay out elimination of m rows along the tree: which begin at which link, and how many may wait there.

    Returns also how many there are at each link or below it (links,).
    """
    n, parent, root = len(links), paths.parent, paths.root
    begin: list[list[int]] = [[] for _ in range(n)]
    open_, under = [0] * n, [0] * n
    crossing = [0] * (n + 1)  # rows between two roots: open in the rim from the later root to the earlier one
    for a, b, fork, row, count in zip(*(blocks[name].tolist() for name in _OF_FRONTS), strict=True):
        for link, side in ((b, 0), (a, 1)):
            under[link] += count
            if link > 0:
                begin[link] += range(2 * row + side, 2 * (row + count) + side, 2)
        if a and b:
            under[fork] -= count
            for link, more in ((a, count), (b, count), (fork, -2 * count)):
                open_[link] += more
            if root[a] != root[b]:
                crossing[min(root[a], root[b]) + 1] += count
                crossing[max(root[a], root[b]) + 1] -= count
    for link in range(n - 1, 0, -1):
        under[parent[link]] += under[link]
        open_[parent[link]] += open_[link]
    below, still_open, most = np.array(under), np.array(open_), max(accumulate(crossing))
    fronts = table(FRONT, n)
    fronts.open[:], fronts.limit[:] = still_open, np.minimum(below, still_open + PATIENCE)
    sizes = np.array([len(rows_here) for rows_here in begin])
    fronts["count"][:], fronts.first[1:] = sizes, np.cumsum(sizes)[:-1]
    fronts.open[0], fronts.limit[0] = most, min(m, most + PATIENCE)
    return fronts, np.array(list(chain(*begin)), np.int64), below


def _waiting(links: Any, fronts: Any, below: np.ndarray, m: int) -> Waiting:
    """Return the room for elimination along the tree of m rows.  below : (links,) rows at each link or below it."""
    front = fronts["count"].copy()
    np.add.at(front, links.parent[1:], fronts.limit[1:])
    widest = int(np.minimum(front[1:], below[1:]).max(initial=0))
    rim = min(m, int(fronts.limit[0]) + int(fronts.limit[1:].max(initial=0)))
    columns = int((fronts.limit[1:] * np.maximum(links.nv[1:], 1)).sum())
    return Waiting(
        front=widest, rim=rim, J=columns + m * max(widest, rim), ids=int(fronts.limit[1:].sum()) + m * max(widest, rim),
        pile=_most_piled(links.parent, fronts.limit),
    )  # fmt: skip


def _most_piled(parent: np.ndarray, limit: np.ndarray) -> int:
    """Return how many numbers wait for parents at once, at most."""
    above, wide = parent.tolist(), limit.tolist()
    stack: list[int] = []
    size = most = 0
    for link in range(len(above) - 1, 0, -1):
        while stack and above[stack[-1]] == link:
            size -= wide[stack[-1]] * (6 + wide[stack[-1]])
            stack.pop()
        if above[link] > 0:
            stack.append(link)
            size += wide[link] * (6 + wide[link])
            most = max(most, size)
    return most


def cheaper_along(links: Any, blocks: Any, pairs: Any, fronts: Any) -> bool:
    """Tell whether eliminating rows along the tree takes less than all rows at once.

    By what the two do differently: factoring G and the products between loops, beside carrying rows from front to
    front.  The weights fit the times of the shipped scenes and of four-bars; where they err, both take about the same.
    """
    if len(blocks) > MANY:
        return True
    m = int(blocks.rows.sum())
    climbed = float((blocks.rows * (blocks.nb + blocks.na + blocks.nc) * (12 + blocks.rows / 2)).sum())
    shared = float((blocks.rows[pairs.first] * blocks.rows[pairs.second] * pairs["count"]).sum())
    together = m**3 / 6 + shared + 0.1 * climbed
    wait = fronts.open[1:] + fronts.count[1:]
    along = float((11 * wait + 0.15 * wait**2 * links.nv[1:]).sum()) + 0.1 * m * int(fronts.open[0]) ** 2
    return along < together
