"""What kernels read of one structure of the mechanism (Tables), and what may act on it (Control).

SI units, radians.  World W right-handed, z up.  Names are monograms: p_WB is the position of B's
origin from W's origin, in W's axes; R_WB turns B's axes into W's.  Quaternions are (w, x, y, z).

Frames of a body.  *B*: its axes are those of the file it is written in, its origin is the one that
recordings report.  *K*: the frame that moves with its tree joint (origin on the joint, axes those
of the joint's child side); it changes with the tree and never leaves the kernels.
Frames of a joint.  *F* on the parent, *M* on the child; its coordinate is zero where they agree.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from sim.kernels.shapes import HULL, MEETING, SHAPE, TOUCH

# Constraints of a scene are joints that carry nothing and whose freedoms are not counted: they only close loops.
# ROLLING_OPEN: without the row that keeps it on the ground.  A screw is a gear between the two freedoms of one joint.
NO_SIDE_SLIP, KNIFE_EDGE, ROLLING, ROLLING_OPEN, SAME_VELOCITY, GEAR = range(1, 7)
CONSTRAINT_KIND = {
    "no_side_slip": NO_SIDE_SLIP, "knife_edge": KNIFE_EDGE, "rolling": ROLLING, "same_velocity": SAME_VELOCITY,
    "gear": GEAR, "screw": GEAR,
}  # fmt: skip

# The joint that carries a link is a product of elementary motions: slides, then turns, then a ball (`sim.joints`).
# FREEDOM has the slides and turns one by one, in the order of v and q; a ball is three freedoms and a quaternion.
LINK = np.dtype(
    [
        ("parent", "i8"),  # link index; 0 is the world
        ("q", "i8"), ("v", "i8"), ("nv", "i8"),  # addresses in q and v
        ("column", "i8"), ("joint", "i8"),  # first column of its joint; its joint
        ("quaternion", "i8"),  # first of the three freedoms of a ball, whose coordinates are a quaternion, or -1
        ("ball", "i8"),  # the same where they have no armature, or -1
        ("bends", "i8"),  # 1: a turn of the joint turns the axis of a later one
        ("rides", "i8"),  # 1: its turns turn its slides among themselves: these have rates along the axes of M, too
        ("body", "i8"),  # model body
        ("leaf", "i8"), ("leads", "i8"),  # 1: no link hangs on it; of its parent's children it comes first, inward
        ("p_PF", "f8", (3,)),  # m, parent's K frame
        ("R_PF", "f8", (9,)),
        ("mass", "f8"),  # kg
        ("com_K", "f8", (3,)),  # m
        ("inertia_K", "f8", (6,)),  # kg m^2 about com: xx yy zz xy xz yz
        ("p_KB", "f8", (3,)),  # m, body frame B in K
        ("R_KB", "f8", (9,)),
    ],
    align=True,
)  # fmt: skip

BLOCK = np.dtype(
    [
        ("joint", "i8"),  # model joint
        ("column", "i8"),  # first column
        ("a", "i8"), ("b", "i8"),  # links of the parent and of the child side
        ("fork", "i8"),  # lowest common ancestor link of a and b
        ("p_aF", "f8", (3,)), ("R_aF", "f8", (9,)),  # F in K of a
        ("p_bM", "f8", (3,)), ("R_bM", "f8", (9,)),  # M in K of b
        ("rolls", "i8"),  # 1: b rolls on the plane z_F of a; its axis is y_M, M is its centre
        # Of a ground that is round: SPHERE about F, or CYLINDER along y_F, else 0; m, its radius, negative inside of it
        ("ground", "i8"), ("bend", "f8"),
        ("ring", "f8"), ("tube", "f8"),  # m: radius of the circle about that axis, and of the tube about this
        ("radii", "f8", (3,)),  # m: half axes along those of M where b is an ellipsoid, else 0
        # Of gears, whose rate is the sum of two freedoms' rates, each times its factor: a block for each of the two.
        ("mate", "i8"),  # of the first: block of the second; else -1
        ("second", "i8"),  # of the second, whose row is that of the first, 1: of another joint, 2: of the same; else 0
        ("of", "i8"),  # column of the freedom
        ("offset", "f8"),  # m or rad: the sum of the coordinates where the gear was bound
        ("code", "i8"), ("factor", "f8"),  # direction, as of rows, of this freedom or of what may slip; 1 or -ratio
        ("beside", "i8"),  # the second direction of what may slip in two
        ("row", "i8"),
        ("rows", "i8"),  # hard rows, one for each driven freedom (hard, too), then one soft row for each armature
        ("freedoms", "i8"),  # that stay free; of a constraint how it may slip: none, one or two
        ("slips", "i8"),  # 1: of such a constraint
        ("quaternion", "i8"),  # first of the three freedoms of a ball, from 0 on, or -1
        ("on_line", "i8"),  # 1: all its freedoms are along or about the axis z of F
        ("hard", "i8"),  # how many of them are hard
        ("motor", "i8"),  # 1: driven freedoms of a tree joint, which leaves no freedom of its own; 0: a loop
        ("touch", "i8"),  # row in `touches` where the block is a point of contact, or -1
        ("support", "i8"),  # start in `support`
        ("nb", "i8"), ("na", "i8"), ("nc", "i8"),  # freedoms of b below the fork, of a below it, at and above it
        ("jacobian", "i8"),  # start in the flat array of scaled Jacobians
    ],
    align=True,
)  # fmt: skip

# A row's direction: 0-2 along an axis of F, 3-5 about one, 6 about z_M x x_F, 7-9 about an axis of M; 10 along the
# axle y_M as far as it lies in the plane z_F, 11 across the blade x_M in this plane; 12 about the axis that M is
# turned about; 13-15 about that by which an axis of M is tilted from that of F; 16-18 along which twist about it grows.
UNIVERSAL_ROW, AXLE_ROW, EDGE_ROW, ANGLE_ROW, SWING_ROW, TWIST_ROW = 6, 10, 11, 12, 13, 16
# Of constraints; the components of a same velocity are the scene's, and gears have the directions of what they tie.
CONSTRAINT_ROWS = {
    NO_SIDE_SLIP: (AXLE_ROW,), KNIFE_EDGE: (EDGE_ROW,), ROLLING: (0, 1, 2), ROLLING_OPEN: (0, 1), SAME_VELOCITY: (),
    GEAR: (),
}  # fmt: skip
# Of rows: residual by rotation vector; none, as what is bound is a rate; one of three that drive a rotation in space.
LOCKED, RATES_ONLY, OF_BALL = 1, 2, 3

ROW = np.dtype(
    [
        ("block", "i8"),
        ("code", "i8"),
        ("scale", "f8"),  # m for rotations, 1 for translations; sqrt(armature) for soft rows
        ("compliance", "f8"),  # 0: hard; 1: the row of an armature
        ("locked", "i8"),  # LOCKED: residual by rotation vector, 0: by the axes z; RATES_ONLY: none; OF_BALL
        # Of a freedom: program of its coordinate or -1; its column.  With a pitch the column of the turn.
        ("motion", "i8"), ("column", "i8"),
        ("pitch", "f8"),  # m/rad: a slide that follows a turn about the same axis, or 0
        ("share", "f8"),  # N, which the force stays nearest to where rows repeat one another
        # N or N m: of a freedom that its stops or its friction hold, between which its torque is; else both are zero
        ("low", "f8"), ("high", "f8"),
    ],
    align=True,
)  # fmt: skip

# Rows that begin at a link, in `entries`: twice the row, and 1 more on the parent's side a.  open: rows that wait there
# in any case, their other side being elsewhere (row 0: in the rim); limit: rows that may wait.
FRONT = np.dtype([("first", "i8"), ("count", "i8"), ("open", "i8"), ("limit", "i8")], align=True)
PAIR = np.dtype([("first", "i8"), ("second", "i8"), ("start", "i8"), ("count", "i8")], align=True)

COLUMN = np.dtype(
    [
        ("joint", "i8"),
        ("linear", "i8"),  # 1: translation
        ("code", "i8"),  # direction of its rate, as of rows, where the joint closes a loop
        # Of an angle: where its sine and cosine stand in R_FM, row by row, and the sign of the former; else 0.
        ("sine", "i8"), ("cosine", "i8"), ("sense", "f8"),
        ("stiffness", "f8"), ("rest", "f8"),  # N/m or N m/rad; m or rad
        ("damping", "f8"), ("armature", "f8"),
        ("motion", "i8"),  # program of the coordinate where it is driven, or -1
        ("friction", "f8"),  # N or N m: Coulomb's, at most
        ("both", "i8"),  # 1: that is the bound of its friction and of the next column's together, whose own is zero
    ],
    align=True,
)  # fmt: skip

STOP = np.dtype(
    [
        ("joint", "i8"), ("column", "i8"),
        ("angle", "i8"),  # of a ball, whose rotation vector three columns are: ANGLE, SWING or TWIST; else 0
        ("about", "i8"),  # 0, 1, 2: axis of M whose swing or twist it is
        ("place", "i8"),  # column that it is told by: its own; of a ball the first, second or third
        ("side", "f8"), ("bound", "f8"),  # +1: coordinate <= bound; -1: coordinate >= bound
        ("stiffness", "f8"), ("dissipation", "f8"),
        ("rigid", "i8"), ("restitution", "f8"), ("rest_speed", "f8"),  # m/s or rad/s; of rigid stops
    ],
    align=True,
)  # fmt: skip

# What a stop of a ball bounds: how far it turns; how far its axis tilts from that of F; how far it turns about it.
ANGLE, SWING, TWIST = 1, 2, 3

JOINT = np.dtype(
    [
        ("kind", "i8"),  # of a constraint: what it binds; else 0
        ("parent", "i8"), ("child", "i8"),  # bodies; 0 is the world
        ("column", "i8"), ("nv", "i8"),
        ("pitch", "f8"),  # m/rad, of a turn that has one, else 0
        ("p_PF", "f8", (3,)), ("R_PF", "f8", (9,)),  # F in B of the parent, as bound in the drawing
        ("p_CM", "f8", (3,)), ("R_CM", "f8", (9,)),  # M in B of the child
    ],
    align=True,
)  # fmt: skip

BODY = np.dtype([("mass", "f8"), ("com_B", "f8", (3,)), ("inertia_B", "f8", (6,))], align=True)
POINT = np.dtype([("body", "i8"), ("p_B", "f8", (3,))], align=True)
# Kinds of the forces that a scene names, and what each of them reads.
SPRING, TORSION, WRENCH, DRAG = range(4)
FORCE = np.dtype(
    [
        ("kind", "i8"),
        # points; spring: its ends; wrench, drag: where it acts; wrench: origin of the body that it reacts on, or -1
        ("a", "i8"), ("b", "i8"),
        ("column", "i8"), ("turns", "i8"),  # torsion: first column of the joint, 1 or 3 of them
        ("stiffness", "f8"), ("damping", "f8"),  # N/m, N s/m; torsion: N m/rad, N m s/rad; drag: damping
        ("rest", "f8"),  # m or rad, at which a spring is free
        ("quadratic", "f8"),  # drag: N s^2/m^2
        ("turning_damping", "f8"), ("turning_quadratic", "f8"),  # drag: N m s/rad, N m s^2/rad^2
        ("turned", "i8"),  # wrench: 1 where it is given in the body's axes
        ("programs", "i8", (6,)),  # wrench: torque, force; -1: zero
    ],
    align=True,
)  # fmt: skip

FREEDOM = np.dtype(
    [
        ("linear", "i8"),  # 1: translation
        ("pitch", "f8"),  # m/rad: of a turn, how far it slides along its axis; else 0
        ("along", "i8"),  # 0, 1, 2: its axis, of the frame that the motions before it have reached; of a ball, of M
        ("owner", "i8"),  # link
        ("armature", "f8"),  # kg or kg m^2, with what is lent
        ("lent", "f8"),  # kg or kg m^2: that elimination is lent where nothing has inertia; see `sim.mechanism.lending`
    ],
    align=True,
)  # fmt: skip

ONE = np.dtype(
    [
        ("gravity_W", "f8", (3,)),  # m/s^2
        ("mobility", "f8"),  # 1/kg: of all masses together, the scale of G
        ("length", "f8"),  # m: size of the mechanism, the scale of residuals and errors
        ("acts", "i8"),  # 1 when springs, dampers, stops or controllers exist
        ("views", "i8"),  # 1 when a plain-Python controller or a formula reads body poses inside stages
        ("nq", "i8"), ("nv", "i8"),  # coordinates and freedoms of the tree
        ("along", "i8"),  # 1: loops are eliminated along the tree; 0: all at once
        ("driven", "i8"),  # 1 when some row is that of a driven freedom, or of a gear
        ("reads", "i8"),  # 1 when residuals of rows read coordinates: of these, and of what has a pitch
        ("sliding", "i8"),  # points of contact that slide, but soft ones
        ("soft", "i8"),  # 1 when two shapes may meet softly
        ("lends", "i8"),  # 1 when some freedom is lent inertia
    ],
    align=True,
)  # fmt: skip


class Tables(NamedTuple):
    """One structure of the mechanism: the tree, the loops and what acts.  Read-only for kernels."""

    links: Annotated[Any, LINK]  # (1 + bodies,); parents before children
    freedoms: Annotated[Any, FREEDOM]  # (nv,)
    blocks: Annotated[Any, BLOCK]  # (loops,)
    rows: Annotated[Any, ROW]  # (rows,) in the order of their blocks
    pairs: Annotated[Any, PAIR]  # (pairs of loops that share freedoms,); the first block has the higher rows
    columns: Annotated[Any, COLUMN]  # (columns,)
    stops: Annotated[Any, STOP]  # (stops,)
    points: Annotated[Any, POINT]  # (points,) with the body's link in `body`
    forces: Annotated[Any, FORCE]  # (forces,) that the scene names
    one: Annotated[Any, ONE]  # (1,)
    touches: Annotated[Any, TOUCH]  # (points of contact,) closed ones
    shapes: Annotated[Any, SHAPE]  # (shapes,) of what may touch
    hulls: Annotated[Any, HULL]  # (features of meshes,)
    meetings: Annotated[Any, MEETING]  # (pairs of shapes,)
    fronts: Annotated[Any, FRONT]  # (links,)
    entries: Annotated[Any, "i8"]  # (sides of rows,)
    support: Annotated[Any, "i8"]  # (entries,) freedoms that a block's Jacobian touches
    shared: Annotated[Any, "i8", 2]  # (entries, 2) places of a shared freedom in the two blocks of a pair
    codes: Annotated[Any, "i8", 2]  # (instructions, 2) operation, argument
    constants: Annotated[Any, "f8"]  # (constants,)
    programs: Annotated[Any, "i8", 2]  # (programs, 2) first and one-past-last instruction
    applied: Annotated[Any, "i8", 2]  # (torque programs, 2) program, column
    laws: Annotated[Any, "i8", 2]  # (laws, 3) address of the function, first constant, number of constants
    law_constants: Annotated[Any, "f8"]
    late: Annotated[Any, "i8"]  # (late programs,) of torques and wrenches that read forces or energies
    slots: Annotated[Any, "i8"]  # (programs,) which of the late ones each is, or -1


class Control(NamedTuple):
    """What acts on the mechanism and may change between two events, without a new structure."""

    engaged: Annotated[Any, "i8"]  # (stops,) 1 while the stop is touched
    enabled: Annotated[Any, "i8"]  # (laws + torque programs,)
    held: Annotated[Any, "f8"]  # (columns,) N or N m: torques of sampled controllers
    friction: Annotated[Any, "f8"]  # (columns,) N or N m: friction of joints that move
    wrench: Annotated[Any, "f8", 2]  # (bodies + 1, 6) moment about the body's origin, force; world axes: the caller's
    arms: Annotated[Any, "f8", 2]  # (bodies + 1, 9) N m: sum of p f^T, forces f (world) at points p (body axes)
    turn: Annotated[Any, "f8"]  # (columns,) rad: angle of loop joints at the last accepted step, to count turns
    acts: Annotated[Any, "i8"]  # (3,) held torques or a wrench act; a wrench acts; what is fed back stays as it is
    fed: Annotated[Any, "f8"]  # (late programs,) N or N m: their values, found together with the forces they read
    failed: Annotated[Any, "i8"]  # (1,) set by a Python controller that raised


class Waiting(NamedTuple):
    """How much room elimination along the tree may need."""

    front: int  # rows in the front of a link
    rim: int
    J: int
    ids: int
    pile: int


class Numbers(NamedTuple):
    """Sizes of one structure."""

    links: int
    q: int
    v: int
    rows: int
    blocks: int
    bodies: int
    columns: int
    joints: int
    contacts: int  # rules
    waiting: Waiting | None = None  # where loops are eliminated along the tree


class Records(np.recarray[Any, Any]):
    """A table whose columns are attributes: numpy's own, with columns that are found once and not at every access."""

    __getattribute__ = np.ndarray.__getattribute__
    __setattr__ = np.ndarray.__setattr__
    __array_finalize__ = np.ndarray.__array_finalize__  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Any:
        """Return a column as a plain array; rows as a table."""
        out = np.ndarray.__getitem__(self, key)
        return out.view(np.ndarray) if type(key) is str else out


def _column(dtype: np.dtype[Any], offset: int) -> property:
    def get(records: Any) -> Any:
        return np.ndarray.getfield(records, dtype, offset).view(np.ndarray)

    def put(records: Any, values: Any) -> None:
        get(records)[...] = values

    return property(get, put)


@cache
def _kind_of(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], type[Records]]:
    """Return the type of the rows of a table, and that of the table; names that arrays have themselves stay theirs."""
    columns = {
        n: _column(field[0], field[1]) for n, field in (dtype.fields or {}).items() if not hasattr(np.ndarray, n)
    }
    return np.dtype((np.record, dtype)), type("Records", (Records,), columns)


def table(dtype: np.dtype[Any], count: int) -> Any:
    """Return an empty writable table."""
    return as_table(np.zeros(count, dtype))


def as_table(records: np.ndarray) -> Any:
    """Return records as a table, in the same memory."""
    rows, kind = _kind_of(records.dtype)
    return records.view(rows).view(kind)
