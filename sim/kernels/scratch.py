"""Where kernels scribble: one table for each noun, and all of them as `Work`.

SI units, radians; names as in `sim.kernels.tables`.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from sim.kernels.shapes import TOUCH
from sim.kernels.stepper import REPLY

SETTLED, MOVED = 1, 2  # what holds of a state; see ONE_WORK

LINK_WORK = np.dtype(
    [
        ("x", "f8", (3,)), ("R", "f8", (9,)),  # p_WK [m], R_WK
        ("d", "f8", (3,)),  # m: from the parent's origin to this one's, world axes
        ("V", "f8", (6,)), ("A", "f8", (6,)),  # angular and linear (of the origin) velocity and acceleration
        ("F", "f8", (6,)), ("wrench", "f8", (6,)),  # moment about the origin and force: carried, applied
        ("B", "f8", (6,)),  # acceleration that vdot adds to A
        ("I", "f8", (10,)),  # m, m c, J about the origin (xx yy zz xy xz yz)
        ("P", "f8", (21,)),  # articulated inertia: J, coupling (3 x 3), mass matrix (as J)
        ("asleep", "i8"),  # 1: nothing of it is found anew, as it is as it was; see `sim.kernels.sleepers`
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
        # kg or kg m^2: what controllers resist changes of the rate with in a time step; zero but within `stepping`
        ("firm", "f8"),
        ("kick", "f8"),  # m/s^2 or rad/s^2: what presses changed the rate by in the last time step, over it
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
CONTACT_CONSTRAINT = np.dtype(
    [
        ("meeting", "i8"),  # of which pair of shapes, or -1
        ("key", "i8", (2,)),  # features of the two shapes; number of a stop; of friction its column, after all stops
        ("link", "i8", (2,)),
        # What every look at the law reads stands together.
        ("rows", "i8"), ("count", "i8"),  # 3, without friction 1; freedoms between the two links and the world
        ("friction", "f8"), ("low", "f8"), ("high", "f8"),  # N s or N m s: between which the normal impulse is
        # 1/kg or 1/(kg m^2): rate by which a soft stop or point gives way to an impulse of 1; N/m or N m/rad, its own
        ("soft", "f8"), ("stiffness", "f8"),
        ("free", "f8", (3,)),  # m/s: rates without impulses, with the shift
        ("restitution", "f8"), ("rest_speed", "f8"),
        ("gap", "f8"),  # m or rad, at the start of the step; negative: they overlap
        ("kept", "i8"),  # which one of the last step it is, moved with its links, or -1: see `contact_touch`
        ("p", "f8", (3,)),  # m, world
        # n from a to b, t1, t2; world.  Of a joint: its axis, and what its columns get of the impulse.
        ("axes", "f8", (9,)),
        ("K", "f8", (3, 12)),  # wrench of each row on b about b's origin, then on a about a's: moment, force
        ("before", "f8", (3,)),  # m/s: rates at the start
        ("shift", "f8", (3,)),  # m/s: of the rates, what the law asks for, with the other sign
        ("impulse", "f8", (3,)), ("h", "f8"),  # N s along n, t1, t2; s: its step
        ("lengthens", "f8"),  # m: of a spring between points, by its ends going across it within the step
        ("struck", "i8"),  # 1: bodies came together there with speed
        ("grips", "i8"),  # 1: it pressed and did not move along the surface when the step ended
        # Friction against turning: one more than the press of the same point whose normal impulse bounds it, else 0; 1:
        # spinning about the normal, bound by friction of that press, 0: rolling across it
        ("of", "i8"), ("spins", "i8"),
    ],
    align=True,
)  # fmt: skip

# A point of shapes that pressed in a time step, as rows tell of it.
TOLD = np.dtype(
    [
        ("meeting", "i8"), ("key", "i8", (2,)), ("side", "i8"),  # as PRESS; the link that n points to
        ("slides", "i8"),  # 1: friction is all that its law allows
        ("t", "f8"), ("p", "f8", (3,)), ("n", "f8", (3,)), ("force", "f8", (3,)),  # s: of the row; m, -, N; world
        ("moment", "f8", (3,)),  # N m, of friction against turning
    ],
    align=True,
)  # fmt: skip

# Of a column in a time step: what controllers apply as it ends, see `sim.kernels.integrators.end_forces`.
COLUMN_END = np.dtype(
    [
        ("freedom", "i8"),  # of the tree; LOOSE: of a body that floats; LOOPED: of a joint that closes a loop
        ("ball", "i8"),  # first of the three columns of a ball, or -1
        ("before", "f8"), ("after", "f8"),  # m/s or rad/s: rates as the step begins, and as it is expected to end
        ("start", "f8"), ("end", "f8"),  # N or N m: as the step begins, and as it is expected to end
        ("applied", "f8"),  # N or N m: of it what does not follow how the rate changes
        ("stiffness", "f8"), ("damping", "f8"),  # N/m, N s/m: how it falls at least, with coordinate and rate
        ("acted", "i8"),  # 1: some coordinate or rate changes it
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
        ("asleep", "i8"), ("parked", "i8"),  # links that are asleep; presses of theirs
        ("taken", "f8"),  # J: what contacts took that neither collided nor slid, in all; their law takes nothing
    ],
    align=True,
)  # fmt: skip

# How long a link has been at rest; of roots all that hangs on them counts.
REST = np.dtype(
    [
        ("root", "i8"), ("first", "i8"), ("end", "i8"),  # of its tree; its first freedom, and the one behind its last
        ("asleep", "i8"), ("island", "i8"),  # 1: it is asleep; the root of all that fell asleep together
        ("sleepy", "i8"),  # 1: it is to fall asleep
        ("wakeful", "i8"),  # 1: something may act on its tree that is not told from its state
        ("roused", "i8"),  # 1: something comes near that did not when the step began
        ("time", "f8"), ("way", "f8"),  # s, m: since when, and how far its tree went meanwhile at most
        ("force", "f8"), ("pressing", "f8"),  # N: sum of what presses on its tree, then and now
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
        ("before", "f8", (6,)),  # rad/s, m/s: of drag, how its body turns and its point moves as a time step begins
    ],
    align=True,
)  # fmt: skip

ONE_WORK = np.dtype(
    [
        ("put_in", "f8"), ("dissipated", "f8"),  # W
        ("kinetic", "f8"), ("potential", "f8"),  # J
        # When recorded: m or rad, m/s or rad/s, of hard rows; smallest singular value, relative to the largest; rank
        ("position_residual", "f8"), ("velocity_residual", "f8"), ("singular_value", "f8"), ("told_rank", "f8"),
        ("least_pivot", "f8"), ("largest_pivot", "f8"),  # of G: the smallest that is kept
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
    rules: Annotated[Any, CONTACT_WORK]  # (rules of contact,)
    forces: Annotated[Any, FORCE_WORK]  # (forces,)
    one: Annotated[Any, ONE_WORK]  # (1,)
    coordinate: Annotated[Any, "f8"]  # (columns,) m or rad
    rate: Annotated[Any, "f8"]  # (columns,)
    torque: Annotated[Any, "f8"]  # (columns,) all that acts on the joint
    control: Annotated[Any, "f8"]  # (columns,) what controllers apply
    stopping: Annotated[Any, "f8"]  # (columns,) what stops give
    friction: Annotated[Any, "f8"]  # (columns,) what friction gives
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
    # (meetings, 8) friction, restitution, rest speed, friction at rest; stiffness and dissipation, or zero; m: radii of
    # friction against spinning and rolling
    laws: Annotated[Any, "f8", 2]
    placed: Annotated[Any, "f8", 2]  # (shapes, 12) where they are: m, and axes of the world
    boxes: Annotated[Any, "f8", 2]  # (shapes, 6) m, of what they may reach within the step
    wide_boxes: Annotated[Any, "f8", 2]  # (shapes, 6) m, see `sim.kernels.collision.near_pairs`
    near_pairs: Annotated[Any, "i8"]  # (meetings,) pairs that may soon be near each other
    near_count: Annotated[Any, "i8"]  # (1,) how many they are
    reach: Annotated[Any, "f8"]  # (shapes,) m: how far a point of them may move within it
    reached: Annotated[Any, "f8"]  # (shapes,) m: the same with the speeds after the step
    posed: Annotated[Any, POSE]  # (links,) of the last step
    drifted: Annotated[Any, "f8"]  # (links,) m: how far they went since their points were last looked for; 0: now
    unchanged: Annotated[
        Any, "i8"
    ]  # (links,) 1: they are now for no link of its tree, whose inertia is what it was, too
    rooted: Annotated[Any, "f8"]  # (m,) `root` of freedoms when that was not so
    stop_depth: Annotated[Any, "f8"]  # (stops,) m or rad: how deep each is pressed as the step begins
    end_links: Annotated[Any, LINK_WORK]  # (links,) poses at the end of the step
    end_freedoms: Annotated[Any, FREEDOM_WORK]  # (m,)
    contact_touch: Annotated[Any, TOUCH]  # (room,) features
    contacts: Annotated[Any, CONTACT_CONSTRAINT]  # (room,) of this step
    last_contacts: Annotated[Any, CONTACT_CONSTRAINT]  # (room,) of the step before
    rest: Annotated[Any, REST]  # (links,)
    parked: Annotated[Any, CONTACT_CONSTRAINT]  # (room,) of what is asleep, as they were in its last step
    ends: Annotated[Any, COLUMN_END]  # (columns,)
    slopes: Annotated[Any, "f8", 3]  # (2, columns, columns) how torques fall with coordinates, and with rates
    told: Annotated[Any, TOLD]  # (room of rows,) of the steps that rows were recorded in
    stepped: Annotated[Any, STEPPED]  # (1,)
    contact_P: Annotated[Any, "f8", 2]  # (room, 3) N s
    contact_z: Annotated[Any, "f8", 2]  # (room, 3) m/s
    contact_d: Annotated[Any, "f8", 2]  # (room, 2) scratch
    contact_G: Annotated[Any, "f8", 3]  # (room, 3, 3) mobility of each point by itself
    contact_support: Annotated[Any, "i8", 2]  # (room, width) freedoms between the two links and the world
    contact_U: Annotated[Any, "f8"]  # (room * 3 * width) rows over these freedoms
    contact_R: Annotated[Any, "f8", 2]  # (room * 3, m) what v answers to each row, where there are loops
    contact_p: Annotated[Any, "f8", 2]  # (room, 3) impulses that are tried
    contact_best: Annotated[Any, "f8", 2]  # (room, 3) and those nearest to their laws
    contact_off: Annotated[Any, "f8"]  # (room,) m/s: how far each is from its law
    contact_chosen: Annotated[Any, "i8"]  # (room,) those that are solved together
    contact_tree: Annotated[
        Any, "i8"
    ]  # (m,) first freedom of the tree that a freedom is in: of what hangs on one joint
    contact_awake: Annotated[Any, "i8", 2]  # (2, m) by first freedoms: trees whose presses are chosen; that these reach
    contact_place: Annotated[Any, "i8"]  # (m,) number of a freedom among those reached, or -1
    contact_reached: Annotated[Any, "i8"]  # (m,) freedoms by these numbers
    # (6, m), (room,), (m + 1,), (m + 1,), (2 * room,): see `sim.kernels.unilateral.islands`
    islands: Annotated[Any, "i8", 2]
    island_press: Annotated[Any, "i8"]
    island_first: Annotated[Any, "i8"]
    island_start: Annotated[Any, "i8"]
    island_joined: Annotated[Any, "i8"]
    # (m, 24), (5, m), (room,): see `sim.kernels.unilateral.sparse_factors`
    island_runs: Annotated[Any, "i8", 2]
    island_columns: Annotated[Any, "i8", 2]
    island_next: Annotated[Any, "i8"]
    contact_at: Annotated[Any, "i8", 2]  # (room, width) of each press: these numbers of its support
    push_step: Annotated[Any, "f8", 2]  # (4, m) by these: what all do, what others do, what is left, a step
    contact_shape: Annotated[Any, "i8", 2]  # (3, m + 1) of each row of his matrix: first column, last one, place
    contact_matrix: Annotated[Any, "f8"]  # (m * m,) and its factors, row by row
    push: Annotated[Any, "f8"]  # (m,) what all impulses do, scaled; with loops: to v
