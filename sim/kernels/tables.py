"""What kernels read (Model, Structure), what they advance (State) and where they scribble (Work).

SI units, radians.  World W right-handed, z up.  Names are monograms: p_WB is the position of B's
origin from W's origin, in W's axes; R_WB turns B's axes into W's.  Quaternions are (w, x, y, z).

Frames of a body.  *B*: its axes are those of the file it is written in, its origin is the one that
recordings report.  *K*: the frame that moves with its tree joint (origin on the joint, axes those
of the joint's child side); it changes with the tree and never leaves the kernels.
Frames of a joint.  *F* on the parent, *M* on the child; its coordinate is zero where they agree.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, NamedTuple

import numpy as np

# Constraints of a scene are joints that carry nothing and whose freedoms are not counted: they only close loops.
# ROLLING_OPEN: without the row that keeps it on the ground.  A screw is a gear between the two freedoms of one joint.
NO_SIDE_SLIP, KNIFE_EDGE, ROLLING, ROLLING_OPEN, SAME_VELOCITY, GEAR = range(1, 7)
CONSTRAINT_KIND = {
    "no_side_slip": NO_SIDE_SLIP, "knife_edge": KNIFE_EDGE, "rolling": ROLLING, "same_velocity": SAME_VELOCITY,
    "gear": GEAR, "screw": GEAR,
}  # fmt: skip


class Status(IntEnum):
    """How a kernel ended; sentences are made in `sim.simulation.simulator`."""

    OK = 0
    REACHED = 1  # the time asked for
    GUARD = 2  # a guard crossed zero
    PAUSE = 3  # enough steps for one call, or the sample buffer is full
    STEP_TOO_SMALL = 4
    NOT_FINITE = 5
    MASS_SINGULAR = 6  # index: the degree of freedom without inertia
    INCONSISTENT = 7  # index: the row whose redundant equation contradicts the others
    NO_CLOSURE = 8  # projection did not reach the constraints
    CALLBACK = 9  # a Python controller raised
    NOT_SOLVED = 10  # Newton's iteration for the stages of an implicit step did not converge
    JAMMED = 11  # friction of sliding points has no finite answer: Painleve's paradox
    CROWDED = 12  # more points may press within a time step than there is room for
    ENTANGLED = 13  # formulas that read forces, and these forces, have not one answer together


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
LOCKED, RATES_ONLY = 1, 2  # of rows: residual by rotation vector; none: what is bound is a rate

ROW = np.dtype(
    [
        ("block", "i8"),
        ("code", "i8"),
        ("scale", "f8"),  # m for rotations, 1 for translations; sqrt(armature) for soft rows
        ("compliance", "f8"),  # 0: hard; 1: the row of an armature
        ("locked", "i8"),  # LOCKED: residual by rotation vector, 0: by the axes z; RATES_ONLY: none
        # Of a freedom: program of its coordinate or -1; its column.  With a pitch the column of the turn.
        ("motion", "i8"), ("column", "i8"),
        ("pitch", "f8"),  # m/rad: a slide that follows a turn about the same axis, or 0
        ("share", "f8"),  # N, which the force stays nearest to where rows repeat one another
        # N or N m: of a freedom that its stops or its friction hold, between which its torque is; else both are zero
        ("low", "f8"), ("high", "f8"),
    ],
    align=True,
)  # fmt: skip

# Contact geometry.  Kinds of shapes; sizes as in `sim.scene.spec.Shape`, a plane is the half-space z <= 0 of its frame.
PLANE, SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, MESH = range(7)

SHAPE_KIND = {"plane": 0, "sphere": 1, "capsule": 2, "box": 3, "cylinder": 4, "ellipsoid": 5, "mesh": 6}

SHAPE = np.dtype(
    [
        ("link", "i8"),
        ("kind", "i8"),
        ("p_KS", "f8", (3,)), ("R_KS", "f8", (9,)),  # m, the shape's centre and axes in K of its link
        ("dimensions", "f8", (3,)),  # m
        ("first", "i8"),  # of a mesh: its first row of HULL; then so many of each kind
        ("corners", "i8"), ("edges", "i8"), ("faces", "i8"),
    ],
    align=True,
)  # fmt: skip

# What touches.  FACE: a plane; LINE: a straight line with a radius; BALL: a point with a radius; ROUND: an ellipsoid,
# or a rim where one of its half axes is zero.  A pair is read with the lower code first.
FACE, LINE, BALL, ROUND = range(4)

# One feature of a convex mesh, in the shape's axes from its centre: a corner (BALL), edge (LINE) or FACE.
HULL = np.dtype(
    [
        ("kind", "i8"),
        ("p", "f8", (3,)),  # m, the corner, the middle of the edge, a point of the face
        ("d", "f8", (3,)),  # unit: direction of the edge, outward normal of the face
        ("half", "f8"),  # m, half the length of the edge
        ("a", "i8"), ("b", "i8"),  # rows of the two faces that meet in the edge
    ],
    align=True,
)  # fmt: skip

# One contact point: two features, each in K of its link; side 0 is a, side 1 is b.
TOUCH = np.dtype(
    [
        ("link", "i8", (2,)),
        ("kind", "i8", (2,)),
        ("key", "i8", (2,)),  # which feature of its shape; the same in every call
        ("p", "f8", (2, 3)),  # m, a point of the face or of the line, or the centre
        ("d", "f8", (2, 3)),  # unit: outward normal of the face, direction of the line, place on the rim as it was last
        ("axes", "f8", (2, 9)),  # m, three half axes of a ROUND, one after the other
        ("r", "f8", (2,)),  # m, radius of a LINE or BALL
        ("n", "f8", (3,)),  # the normal from a to b in K of a, as it was last: where iteration starts, and its sign
        ("meeting", "i8"),  # of which pair of shapes
        ("mode", "i8"), ("block", "i8"),  # STICK: three rows; SLIP: the normal row, friction; CREEP: and that across
        ("friction", "f8"),
        ("slip_W", "f8", (3,)),  # direction in which it slid when it was last decided on, or starts to slide
    ],
    align=True,
)  # fmt: skip
OPEN, STICK, SLIP, CREEP = 0, 1, 2, 3  # the two last slide

# Two shapes that may touch, the rule that they follow, and the link of the body that it names first.
MEETING = np.dtype([("a", "i8"), ("b", "i8"), ("rule", "i8"), ("named", "i8")], align=True)

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
GUARD = np.dtype(
    [
        ("kind", "i8"),
        ("owner", "i8"),  # program, stop, column, row, meeting or touch
        ("direction", "f8"),  # +1: fires when the value rises through zero, -1: when it falls
        ("armed", "i8"),  # 0: no, 1: yes, 2: once the value has left by the hysteresis
        ("value", "f8"),  # when last looked at
        ("peak", "f8"),  # largest magnitude of the value at the ends of steps since it fired
        ("allowed", "f8"),  # what the value may be before it fires: m, N or m/s; of joints rad, N m or rad/s, too
    ],
    align=True,
)
# A condition; a stop's depth; of a freedom that rubs its rate, of one that is held its torque; of two shapes their gap;
# of a point of contact its pull, grip or slip.
GUARD_PROGRAM, GUARD_STOP, GUARD_RUB, GUARD_HOLD = range(4)
GUARD_GAP, GUARD_PULL, GUARD_CONE, GUARD_SLIP, GUARD_CREEP = range(4, 9)
DISARMED, ARMED, WAITING_TO_LEAVE = 0, 1, 2
# What is known of a guard within a span of time: its ends tell all; not yet; nothing, as it reads forces.
CLEAR, WITHIN, SAMPLED = range(3)
# What goes with a question about a span: its length [s]; the fraction of it that is the place of reference; how many
# conditions that waited are armed again there.  Then the verdicts.
SPAN_SECONDS, SPAN_AT, SPAN_ARMED = range(3)
SPAN_HEADER = 3
LEVELS = 40  # halvings of a step within which a crossing is looked for
SETTLED, MOVED = 1, 2  # what holds of a state; see ONE_WORK
# A guard that has fired waits until its value is below zero by this share of its peak, or by the least.
# Smaller: roundoff about zero fires it again.  Larger: motion that comes back at once is missed.
HYSTERESIS, LEAST_HYSTERESIS = 1e-6, 1e-12


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
        ("sliding", "i8"),  # points of contact that slide
        ("lends", "i8"),  # 1 when some freedom is lent inertia
    ],
    align=True,
)  # fmt: skip

# Scratch, one table for each noun.

LINK_WORK = np.dtype(
    [
        ("x", "f8", (3,)), ("R", "f8", (9,)),  # p_WK [m], R_WK
        ("d", "f8", (3,)),  # m: from the parent's origin to this one's, world axes
        ("V", "f8", (6,)), ("A", "f8", (6,)),  # angular and linear (of the origin) velocity and acceleration
        ("F", "f8", (6,)), ("wrench", "f8", (6,)),  # moment about the origin and force: carried, applied
        ("B", "f8", (6,)),  # acceleration that vdot adds to A
        ("I", "f8", (10,)),  # m, m c, J about the origin (xx yy zz xy xz yz)
        ("P", "f8", (21,)),  # articulated inertia: J, coupling (3 x 3), mass matrix (as J)
    ],
    align=True,
)  # fmt: skip

POSE = np.dtype([("x", "f8", (3,)), ("R", "f8", (9,))], align=True)  # p_WK [m], R_WK

# Momenta of the variational method: at an end of the step, with half a step's impulse; between its ends.
CARRIED = np.dtype([("end", "f8", (6,)), ("between", "f8", (6,))], align=True)  # moment, force
PUSHED = np.dtype([("end", "f8"), ("between", "f8")], align=True)

FREEDOM_WORK = np.dtype(
    [
        ("axis", "f8", (3,)),  # world axes
        ("g", "f8", (6,)), ("root", "f8"),  # of the elimination: U / sqrt(D) (moment, force), 1 / sqrt(D)
        ("y", "f8"),  # torque, then scaled right-hand side
        ("vdot", "f8"),
        ("back", "f8"),  # N or N m: what the inertia that is lent took in the pass before; zero but within `respond`
    ],
    align=True,
)  # fmt: skip

# Of a block: its frames and how M moves against F, all in world axes.
BLOCK_WORK = np.dtype(
    [
        ("p_WM", "f8", (3,)), ("R_WF", "f8", (9,)), ("R_WM", "f8", (9,)),  # m: of what rolls, M is its lowest point
        ("w_FM", "f8", (3,)), ("u", "f8", (3,)),  # rad/s, m/s: of b, and of its material at M, against a
        ("p_FM", "f8", (3,)),  # m: from F to M
        ("drift", "f8", (3,)),  # m/s^2: of what rolls, acceleration of material at M that comes from M moving along b
        ("w_aF", "f8", (3,)),  # rad/s: of F against a, as it stands under what rolls on a ground that is round
        ("own", "f8", (6,)),  # moment at M and force of the joint's own torque, on b
        ("whole", "f8"),  # largest G_rr of its rows without other rows
    ],
    align=True,
)  # fmt: skip

ROW_WORK = np.dtype(
    [
        ("row", "f8", (6,)),  # unit wrench: moment at M [m], force on b [1]
        ("mate", "f8", (6,)),  # of a gear: the wrench at its second freedom
        ("gamma", "f8"), ("slip", "f8"), ("phi", "f8"),  # wanted J vdot; J v less what is wanted; position residual
        ("want", "f8", (3,)),  # of a driven freedom now: coordinate, rate, acceleration; m or rad
        ("rhs", "f8"), ("force", "f8"),  # of the linear system; multipliers [N]
        ("order", "i8"), ("kept", "i8"),  # pivot order here; at the last accepted state
        ("weak", "f8"), ("kept_weak", "f8"),  # combination of rows that is answered least; at the last accepted state
        ("acts", "i8"),  # when recorded: 1 acts, 0 repeats others, -1 is held by the tree alone
        ("whole", "f8"),  # G_rr without other rows
        # Of elimination along the tree: where a row is eliminated (twice the link, 1 more in the rim after that root)
        # or -1, here and at the last accepted state; its place in a front and in the rim; whether its sides have met.
        ("place", "i8"), ("kept_place", "i8"), ("at", "i8"), ("rim", "i8"), ("closed", "i8"),
        ("ip", "f8"), ("k", "f8", (6,)),  # 1 / sqrt(pivot); K over the root
        ("l", "i8"), ("ids", "i8"), ("count", "i8"),  # rest of its column of G over the root, in `J`; whose
    ],
    align=True,
)  # fmt: skip

FRONT_WORK = np.dtype(
    [
        ("first", "i8"), ("end", "i8"),  # rows eliminated at this link, in `order`
        ("rim_first", "i8"), ("rim_end", "i8"),  # rows eliminated in the rim after this root; row 0: at the end
        ("pending", "i8"), ("ids", "i8"), ("X", "i8"),  # rows that wait under its freedoms; which; x in `J`, last first
        ("pile", "i8"), ("stack", "i8"),  # where they stand for the parent; links whose rows stand there
    ],
    align=True,
)  # fmt: skip

# How the motion of a link may depart from that at one place of a span, within all of it; magnitudes, world axes.
SPAN = np.dtype(
    [
        ("spin_off", "f8"), ("spin", "f8"),  # rad/s: of the angular velocity, and its largest
        ("turn", "f8"),  # rad: how far the link turns from that place
        # m/s: of the velocity of the origin, without that of its root's sliding; that of this; the largest velocity
        ("off", "f8"), ("slide_off", "f8"), ("speed", "f8"),
        ("root", "i8"),  # link of the same tree that hangs on the world
    ],
    align=True,
)  # fmt: skip

# The point in world axes.  n points from a to b, the force on b is +f_n n.  gap [m] is negative where they overlap.
TOUCH_WORK = np.dtype(
    [
        ("gap", "f8"), ("gap_dot", "f8"),  # m, m/s; gap_dot = n . (v_b(p) - v_a(p))
        ("p", "f8", (3,)), ("p_dot", "f8", (3,)),  # m, m/s; amid the two surfaces
        ("n", "f8", (3,)), ("n_dot", "f8", (3,)),  # unit, 1/s
        ("t1", "f8", (3,)), ("t1_dot", "f8", (3,)),  # t1, t2, n are right-handed
        ("t2", "f8", (3,)), ("t2_dot", "f8", (3,)),
        ("u", "f8", (3,)),  # m/s: of b's material there against a's
        ("slip", "f8", (3,)), ("start", "f8", (3,)),  # unit: against which friction acts; of sliding, as the step began
        ("force", "f8", (3,)), ("pressing", "f8"), ("holding", "f8"),  # N: on b; its normal part, and along the surface
    ],
    align=True,
)  # fmt: skip

# What may press within a time step: a point of contact, a joint at its stop, its friction.  The force on b is P / h.
PRESS = np.dtype(
    [
        ("meeting", "i8"),  # of which pair of shapes, or -1
        ("key", "i8", (2,)),  # features of the two shapes; number of a stop; of friction its column, after all stops
        ("link", "i8", (2,)),
        # What every look at the law reads stands together.
        ("rows", "i8"), ("count", "i8"),  # 3, without friction 1; freedoms between the two links and the world
        ("friction", "f8"), ("low", "f8"), ("high", "f8"),  # N s or N m s: between which the normal impulse is
        ("soft", "f8"),  # 1/kg or 1/(kg m^2): rate by which a soft stop gives way to an impulse of 1
        ("free", "f8", (3,)),  # m/s: rates without impulses, with the shift
        ("restitution", "f8"), ("rest_speed", "f8"),
        ("gap", "f8"),  # m or rad, at the start of the step; negative: they overlap
        ("kept", "i8"),  # which one of the last step it is, moved with its links, or -1: `press_touch` has its features
        ("p", "f8", (3,)),  # m, world
        # n from a to b, t1, t2; world.  Of a joint: its axis, and what its columns get of the impulse.
        ("axes", "f8", (9,)),
        ("K", "f8", (3, 12)),  # wrench of each row on b about b's origin, then on a about a's: moment, force
        ("before", "f8", (3,)),  # m/s: rates at the start
        ("shift", "f8", (3,)),  # m/s: of the rates, what the law asks for, with the other sign
        ("impulse", "f8", (3,)), ("h", "f8"),  # N s along n, t1, t2; s: its step
        ("struck", "i8"),  # 1: bodies came together there with speed
    ],
    align=True,
)  # fmt: skip

# A point of shapes that pressed in a time step, as rows tell of it.
TOLD = np.dtype(
    [
        ("meeting", "i8"), ("key", "i8", (2,)), ("side", "i8"),  # as PRESS; the link that n points to
        ("slides", "i8"),  # 1: friction is all that its law allows
        ("t", "f8"), ("p", "f8", (3,)), ("n", "f8", (3,)), ("force", "f8", (3,)),  # s: of the row; m, -, N; world
    ],
    align=True,
)  # fmt: skip

# How time stepping went since it began.
STEPPED = np.dtype(
    [
        ("points", "i8"), ("before", "i8"), ("told", "i8"),  # presses of this step; of the one before; kept for rows
        ("most", "i8"), ("sweeps", "i8"), ("steps", "i8"),  # largest number of points; sweeps and steps in all
        ("residual", "f8"), ("overlap", "f8"),  # worst of any step: of the law, as share of its speeds; m
        ("struck", "i8"),  # 1: bodies came together with speed in this step
        ("taken", "f8"),  # J: what contacts took that neither collided nor slid, in all; their law takes nothing
    ],
    align=True,
)  # fmt: skip

BODY_WORK = np.dtype(
    [
        ("p_WB", "f8", (3,)), ("R_WB", "f8", (9,)),
        ("V_WB", "f8", (6,)),  # angular velocity; velocity of the origin
        ("com", "f8", (3,)),  # m, world
    ],
    align=True,
)  # fmt: skip

JOINT_WORK = np.dtype(
    [
        ("force", "f8", (6,)),  # moment about the joint and force of the parent on the child, world axes
        ("p_WJ", "f8", (3,)),  # m
        ("determinate", "f8"),  # 1: the only possible force, 0: chosen
        ("components", "f8", (12,)),  # the same of each number of `force`, in world axes and in those of F
    ],
    align=True,
)

CONTACT_WORK = np.dtype([("force", "f8", (3,))], align=True)  # N, world: on the bodies that a rule names first

FORCE_WORK = np.dtype(
    [
        ("length", "f8"), ("tension", "f8"),  # spring: m, N; torsion: rad, N m; against growing length
        ("wrench", "f8", (6,)),  # torque about the point and force, world axes; spring: on point b; else on a
    ],
    align=True,
)  # fmt: skip

ONE_WORK = np.dtype(
    [
        ("power", "f8", (2,)),  # W: put in, dissipated
        ("energy", "f8", (2,)),  # J: kinetic, potential
        ("trust", "f8", (4,)),  # residuals of position and velocity, smallest singular value (relative), rank
        ("pivots", "f8", (2,)),  # smallest kept and largest pivot of G
        ("scale", "f8"),  # the largest at the last accepted state
        ("least", "f8"),  # smallest singular value of the acting rows, against a measure that does not jump
        ("rank", "i8"), ("kept_rank", "i8"),  # rows that act here; at the last accepted state
        ("worst", "i8"),  # row or freedom that a status speaks of
        ("filled", "i8"), ("listed", "i8"), ("depth", "i8"), ("rim", "i8"),  # of J, ids, pile in use; rows in the rim
        ("jump", "f8"),  # how far driven rates were off, in units of size, when a step was brought to the constraints
        ("near", "i8"),  # 1 while the last accepted state was near a singular one and drew nearer
        ("settled", "f8"),  # s: time of that state
        # What holds as nothing was asked since that would have changed it: 0 nothing, SETTLED all that was found there,
        # MOVED kinematics and factors of a state without rows
        ("intact", "i8"),
        ("sigma", "f8"), ("widest", "f8"),  # smallest singular value, relative to the largest: last, and at its best
    ],
    align=True,
)  # fmt: skip

NEWTON_WORK = np.dtype(
    [
        ("h", "f8"),  # s: step that the factors are of
        ("h_old", "f8"),  # s: step that the old stages are of
        ("theta", "f8"),  # rate of convergence of the last iteration
        ("eta", "f8"),  # theta / (1 - theta): what is left to correct, over the last correction
        ("radius", "f8"),  # 1/s: spectral radius of the Jacobian
        ("linearised", "i8"),  # 1: the Jacobian is of the start of this step
        ("stale", "i8"),  # 1: the Jacobian has to be found anew, before another trial
        ("evaluations", "i8"), ("factors", "i8"), ("solves", "i8"),  # of the last trial
    ],
    align=True,
)  # fmt: skip

# Places in Stepper.clock and Stepper.count.
(
    T, H, RTOL, MAX_STEP, STEP_FIXED, RATE, STEP, END, THETA, PASS,
    H_BEFORE, ERROR_BEFORE, RADIUS, WINDOW, WINDOW_COST, EXPLICIT_COST, SPENT, RETRY,
) = range(18)  # fmt: skip
(
    ACCEPTED, REJECTED, EVALUATIONS, NEXT_SAMPLE, FILLED, METHOD, FRESH, SMALL, WAITING, CROSSED,
    FOLLOWS, AUTO, STIFF, CALM, TRIAL, FAILURES, LOOKS, HALT, KEEPS_RATES,
) = range(19)  # fmt: skip


# What goes with a question to the mechanism beside the arrays that it fills, and with its answer; each field has one
# meaning, whatever the question.
REPLY = np.dtype(
    [
        ("h", "f8"), ("rtol", "f8"),  # of a trial step that is asked for: s; tolerance
        ("follows", "i8"),  # 1: it follows an implicit step, 0: it is tried again from the same state, -1: neither
        ("error", "f8"),  # mean square of an error in units of size
        # By projection: how far positions moved, or how far rates of drives were off, in units of size; -1: this is no
        # place to stop
        ("moved", "f8"),
        ("first_step", "f8"),  # s, that a slope suggests
        ("ahead", "f8"),  # s, until a position that is to be passed amid a step
        ("iterations", "i8"), ("evaluations", "i8"),  # of a trial step; of slopes
        ("cost", "f8"),  # of it, in evaluations
        ("radius", "f8"),  # 1/s, spectral radius of the Jacobian
        ("convergence", "f8"),  # rate of Newton's iteration
        ("struck", "i8"),  # 1: bodies came together within a time step
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
    rubbing: Annotated[Any, "f8"]  # (columns,) N or N m: friction of joints that move
    wrench: Annotated[Any, "f8", 2]  # (bodies + 1, 6) moment about the body's origin, force; world axes: the caller's
    arms: Annotated[Any, "f8", 2]  # (bodies + 1, 9) N m: sum of p f^T, forces f (world) at points p (body axes)
    turn: Annotated[Any, "f8"]  # (columns,) rad: angle of loop joints at the last accepted step, to count turns
    acts: Annotated[Any, "i8"]  # (3,) held torques or a wrench act; a wrench acts; what is fed back stays as it is
    fed: Annotated[Any, "f8"]  # (late programs,) N or N m: their values, found together with the forces they read
    failed: Annotated[Any, "i8"]  # (1,) set by a Python controller that raised


class Guards(NamedTuple):
    """What is watched between two events, and where a recorded row puts what."""

    table: Annotated[Any, GUARD]  # (guards,)
    forces: Annotated[Any, "i8"]  # (1,) 1 when a guard reads forces
    layout: Annotated[Any, "i8"]  # first number of each part of a recorded row


class Work(NamedTuple):
    """Scratch.  No kernel may trust what it finds here on entry."""

    links: Annotated[Any, LINK_WORK]  # (links,)
    freedoms: Annotated[Any, FREEDOM_WORK]  # (nv,)
    blocks: Annotated[Any, BLOCK_WORK]  # (loops,)
    rows: Annotated[Any, ROW_WORK]  # (rows,)
    touches: Annotated[Any, TOUCH]  # (points of contact,) with the normals where iterations start
    points: Annotated[Any, TOUCH_WORK]  # (points of contact,)
    near: Annotated[Any, TOUCH]  # (64,) points of two shapes, while they are looked for
    near_points: Annotated[Any, TOUCH_WORK]
    near_poses: Annotated[Any, "f8", 2]  # (2, 12)
    near_cores: Annotated[Any, "f8", 2]  # (13, 3)
    feedback: Annotated[Any, "f8", 2]  # (sliding + 1, sliding) normal forces that each one's friction makes; theirs
    feedback_order: Annotated[Any, "i8"]  # (sliding,)
    bodies: Annotated[Any, BODY_WORK]  # (bodies,) row 0 is the world
    joints: Annotated[Any, JOINT_WORK]  # (joints,)
    contacts: Annotated[Any, CONTACT_WORK]  # (rules of contact,)
    forces: Annotated[Any, FORCE_WORK]  # (forces,)
    one: Annotated[Any, ONE_WORK]  # (1,)
    coordinate: Annotated[Any, "f8"]  # (columns,) m or rad
    rate: Annotated[Any, "f8"]  # (columns,)
    torque: Annotated[Any, "f8"]  # (columns,) all that acts on the joint
    control: Annotated[Any, "f8"]  # (columns,) what controllers apply
    stopping: Annotated[Any, "f8"]  # (columns,) what stops give
    rubbing: Annotated[Any, "f8"]  # (columns,) what friction gives
    J: Annotated[Any, "f8"]  # flat: scaled Jacobian of each block, support x rows; along the tree: of what waits
    keeps: Annotated[Any, "i8"]  # (rows,) 1: acts since the last accepted state; by itself, since stages read all
    G: Annotated[Any, "f8", 2]  # (rows, rows); along the tree: (waiting rows, waiting rows) of one front
    fronts: Annotated[Any, FRONT_WORK]  # (links,)
    ids: Annotated[Any, "i8"]  # rows that wait, link by link
    pile: Annotated[Any, "f8"]  # wrenches and compliances of rows that wait for a parent
    K: Annotated[Any, "f8", 2]  # (waiting rows, 6) wrenches of one front
    front: Annotated[Any, "i8"]  # (waiting rows,) its rows
    rim_G: Annotated[Any, "f8", 2]  # the same of the rim
    rim_K: Annotated[Any, "f8", 2]
    rim: Annotated[Any, "i8"]
    basis: Annotated[Any, "f8", 2]  # (8, 6) wrenches; whose they are
    N: Annotated[Any, "f8", 2]  # (rows, rows) row forces that do nothing
    stack: Annotated[Any, "f8"]  # (64,)
    late: Annotated[Any, "f8", 2]  # (late programs + 1, late programs) what each answers to each; what is left
    late_order: Annotated[Any, "i8"]  # (late programs,)
    jets: Annotated[Any, "f8", 2]  # (64, 3) the same with first and second time derivatives
    moved: Annotated[Any, "f8"]  # (nv,) rates that a time step comes to
    saved: Annotated[Any, "f8"]  # (nq,)
    stage: Annotated[Any, "f8"]  # (nq + nv + 2,) a state inside a step, brought near the constraints
    row: Annotated[Any, "f8"]  # (numbers of a recorded row,)
    reply: Annotated[Any, REPLY]  # (1,) what goes with a question beside the arrays, and with its answer
    # Of spans of time in which guards are looked for.
    spans: Annotated[Any, SPAN]  # (links,)
    span_q: Annotated[Any, "f8"]  # (nq,) at the place of reference
    span_v: Annotated[Any, "f8"]  # (nv,)
    span_off: Annotated[Any, "f8"]  # (nv,) how far rates depart from these
    span_most: Annotated[Any, "f8"]  # (nv,) their largest magnitudes
    # (columns, 5) intervals of coordinates, see `sim.kernels.guards.intervals`, and their values at the place of
    # reference
    ranges: Annotated[Any, "f8", 2]
    rate_ranges: Annotated[Any, "f8", 2]  # (columns, 5) of rates
    bounds: Annotated[Any, "f8", 2]  # (64, 5) stack of them
    path: Annotated[Any, "i8"]  # (links,) from one link to another it hangs on
    # Of the implicit method, and empty without it; n = nq + nv + 2, m = nv.
    answers: Annotated[Any, "i8"]  # addresses of who answers each question; interpreted: the functions
    newton: Annotated[Any, NEWTON_WORK]  # (1,)
    by_q: Annotated[Any, "f8", 2]  # (m + 2, m) derivatives of vdot and of the powers by positions, in freedoms' axes
    by_v: Annotated[Any, "f8", 2]  # (m + 2, m) by velocities
    turning: Annotated[Any, "f8"]  # (m,) velocities where they were found
    real: Annotated[Any, "f8", 2]  # (m, m) factors of the Newton matrix of the real eigenvalue
    pair: Annotated[Any, "c16", 2]  # (m, m) and of the complex pair
    real_order: Annotated[Any, "i8"]  # (m,) its pivots
    pair_order: Annotated[Any, "i8"]
    real_x: Annotated[Any, "f8", 2]  # (3, m) right-hand sides and scratch
    pair_x: Annotated[Any, "c16", 2]  # (3, m)
    stages: Annotated[Any, "f8", 2]  # (11, n) see `sim.kernels.integrators.radau`
    shape: Annotated[Any, "f8", 2]  # (2, 2 m) what the Jacobian stretches most
    # Of the variational method, and empty without it.
    ahead_links: Annotated[Any, LINK_WORK]  # (links,) poses at the end of the step
    ahead_freedoms: Annotated[Any, FREEDOM_WORK]  # (nv,)
    ahead_blocks: Annotated[Any, BLOCK_WORK]  # (loops,)
    carried: Annotated[Any, CARRIED]  # (links,) momenta about the origins
    pushed: Annotated[Any, PUSHED]  # (nv,) of torques and rotors
    rotors: Annotated[Any, PUSHED]  # (rows,) of rotors on loops
    start: Annotated[Any, "f8"]  # (columns,) coordinates at the start
    steps: Annotated[Any, "f8", 2]  # (20, nv) of the iteration
    # Of the classical method where rows bind rates only, and empty without it.
    own: Annotated[Any, "f8", 2]  # (5, nq + nv + 2) the state at the start, slopes there and of stages; in own axes
    # Of time stepping, and empty without it; room: presses of a step, m = nv.
    laws: Annotated[Any, "f8", 2]  # (meetings, 3) friction, restitution, rest speed
    boxes: Annotated[Any, "f8", 2]  # (shapes, 6) m, of what they may reach within the step
    reach: Annotated[Any, "f8"]  # (shapes,) m: how far a point of them may move within it
    reached: Annotated[Any, "f8"]  # (shapes,) m: the same with the speeds after the step
    posed: Annotated[Any, POSE]  # (links,) of the last step
    wandered: Annotated[Any, "f8"]  # (links,) m: how far they went since their points were last looked for; 0: now
    calm: Annotated[Any, "i8"]  # (links,) 1: they are now for no link of its tree, whose inertia is what it was, too
    rooted: Annotated[Any, "f8"]  # (m,) `root` of freedoms when that was not so
    end_links: Annotated[Any, LINK_WORK]  # (links,) poses at the end of the step
    end_freedoms: Annotated[Any, FREEDOM_WORK]  # (m,)
    press_touch: Annotated[Any, TOUCH]  # (room,) features
    presses: Annotated[Any, PRESS]  # (room,) of this step
    pressed: Annotated[Any, PRESS]  # (room,) of the step before
    told: Annotated[Any, TOLD]  # (room of rows,) of the steps that rows were recorded in
    stepped: Annotated[Any, STEPPED]  # (1,)
    press_P: Annotated[Any, "f8", 2]  # (room, 3) N s
    press_z: Annotated[Any, "f8", 2]  # (room, 3) m/s
    press_d: Annotated[Any, "f8", 2]  # (room, 2) scratch
    press_G: Annotated[Any, "f8", 3]  # (room, 3, 3) mobility of each point by itself
    press_support: Annotated[Any, "i8", 2]  # (room, width) freedoms between the two links and the world
    press_U: Annotated[Any, "f8"]  # (room * 3 * width) rows over these freedoms
    press_R: Annotated[Any, "f8", 2]  # (room * 3, m) what v answers to each row, where there are loops
    press_p: Annotated[Any, "f8", 2]  # (room, 3) impulses that are tried
    press_best: Annotated[Any, "f8", 2]  # (room, 3) and those nearest to their laws
    press_off: Annotated[Any, "f8"]  # (room,) m/s: how far each is from its law
    press_chosen: Annotated[Any, "i8"]  # (room,) those that are solved together
    press_tree: Annotated[Any, "i8"]  # (m,) first freedom of the tree that a freedom is in: of what hangs on one joint
    press_awake: Annotated[Any, "i8", 2]  # (2, m) by first freedoms: trees whose presses are chosen; that these reach
    press_place: Annotated[Any, "i8"]  # (m,) number of a freedom among those reached, or -1
    press_at: Annotated[Any, "i8", 2]  # (room, width) of each press: these numbers of its support
    push_step: Annotated[Any, "f8", 2]  # (4, m) by these: what all do, what others do, what is left, a step
    press_shape: Annotated[Any, "i8", 2]  # (3, m + 1) of each row of his matrix: first column, last one, place
    press_matrix: Annotated[Any, "f8"]  # (m * m,) and its factors, row by row
    push: Annotated[Any, "f8"]  # (m,) what all impulses do, scaled; with loops: to v


class Stepper(NamedTuple):
    """The integrator's state and scratch for one structure."""

    y: Any  # (nq + nv + 2,) state: q, v, work put in [J], work dissipated [J]
    y_new: Any
    y_work: Any
    error: Any
    k: Any  # (16, n) slopes
    rows: Any  # (16 n,) the same numbers
    dense: Any  # (8, n) the last: what is added at once in the middle of the step
    guard_old: Any  # (guards,)
    guard_new: Any
    guard_mid: Any
    curve: Any  # (15 n,) Bernstein coefficients of the state, and of its rates, through the last step
    span: Any  # (15 n,) and through a span of it
    told: Any  # (SPAN_HEADER + guards,) what goes with a question about that span
    ends: Any  # (LEVELS + 1,) fractions of the step at which spans end that are still to be looked at, earliest last
    ahead: Any  # (LEVELS + 3, guards) values of the guards there; behind: kept from the piece before, and of this one
    open: Any  # (LEVELS + 1, guards) verdicts of these spans; the last row: of the whole step
    # (18,) f8: time, next step, rtol, longest step, fixed step, samples a second, last step; where that step ends
    # or its first guard stands: time, fraction of the step; time of a position that is to be passed amid a step;
    # step and error of the implicit step before; see `sim.kernels.integrators.choice` for the rest
    clock: Any
    # (19,) i8: accepted, rejected, evaluations, next sample, rows filled, method, slope known, stalled steps,
    # samples of the last step are still to be written, guard that ends it or -1; an implicit step went before this one
    # (1), was tried from here (0), or neither (-1); see `sim.kernels.integrators.choice`;
    # spans that the last step was looked at in; 1: pause once before the time that is asked for shortens steps;
    # 1: rows bind rates only, and the classical method keeps to them
    count: Any


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


def table(dtype: np.dtype[Any], count: int) -> Any:
    """Return an empty writable table."""
    return np.zeros(count, dtype).view(np.recarray)
