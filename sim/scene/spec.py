"""What a scene says, in SI units and full names: the end of reading, the start of compiling.

One frozen dataclass per noun of `schema/scene.schema.json`; the schema is the source of names,
units and defaults, and a test holds the two together.  Geometry stays in the coordinates of the
file that it was written in (its *part*); the compiler places the parts.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sim.scene.problem import Place

if TYPE_CHECKING:
    import numpy as np

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]  # (w, x, y, z)


@dataclass(frozen=True, eq=False)
class Curve:
    """What a column of a table tells over time.

    name : as the scene writes it
    time : (rows,) s, growing
    values : (rows,) SI
    """

    name: str
    time: np.ndarray
    values: np.ndarray

    def __repr__(self) -> str:
        return self.name

    @property
    def span(self) -> str:
        """From when to when it tells something, as a sentence has it."""
        return f"{self.name} tells {self.time[0]:g} s to {self.time[-1]:g} s"


@dataclass(frozen=True, kw_only=True)
class Expression:
    """A formula that is evaluated while the scene runs.

    `tree` is Python syntax in which parameters, `pi` and units have become numbers (SI) and
    every name in a call has become the full name of one body, joint or point; a table is called with its `Curve`.
    """

    text: str
    tree: ast.expr
    place: Place

    @property
    def spans(self) -> str:
        """From when to when its tables tell something; nothing where it reads none."""
        found: list[Any] = [node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant)]
        return ", ".join(dict.fromkeys(value.span for value in found if isinstance(value, Curve)))


@dataclass(frozen=True, kw_only=True)
class Hull:
    """A convex solid with flat faces, about its centre of mass."""

    corners: tuple[Vec3, ...]  # m
    faces: tuple[tuple[int, ...], ...]  # corners of each, counter-clockwise from outside
    volume: float  # m^3
    moments: tuple[float, float, float, float, float, float]  # m^2, of a mass of 1 kg: xx yy zz xy xz yz


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A solid that is drawn, weighed and touched."""

    kind: str  # box, sphere, capsule, cylinder, ellipsoid, mesh; plane: of the world alone
    position: Vec3  # m, centre, file coordinates
    orientation: Quat  # shape axes to file axes; capsules and cylinders lie along their z
    # m; box: full edges; sphere: (r, r, r); ellipsoid: half axes; capsule, cylinder: (r, r, length between
    # the end centres); plane (all below z = 0 of its axes): (edge, edge, 0) of the square that is drawn;
    # mesh: full edges of the box about its centre that holds it
    size: Vec3
    color: tuple[float, float, float, float]  # r, g, b, opacity in [0, 1]; not-a-number: the film chooses
    name: str = ""  # of a shape of the world, for contacts
    friction: float | None = None  # 1; of its surface, for rules that give none; None: that of what it touches
    density: float | None = None  # kg/m^3; None: that of the body's other shapes
    hull: Hull | None = None  # of a mesh, in the shape's axes


@dataclass(frozen=True, kw_only=True)
class Body:
    """A rigid body; its axes are those of its file."""

    name: str
    part: int  # index into Scene.parts: the file it is written in
    mass: float  # kg
    com: Vec3  # m, file coordinates
    inertia: tuple[float, float, float, float, float, float]  # kg m^2 about com, file axes: xx yy zz xy xz yz
    origin: Vec3 | None  # m, file coordinates; None: first joint that holds it, else com
    shapes: tuple[Shape, ...]
    points: Mapping[str, Vec3]  # m, file coordinates
    place: Place


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Stops of one joint, one range for each freedom (spherical: one range of the angle)."""

    ranges: tuple[tuple[float, float], ...]  # m or rad; infinite where a side has no stop
    # Of a spherical joint, rad: how far an axis of the child may tilt, and turn about it; 0, 1, 2: x, y, z of the child
    cone: float = math.inf
    twist: tuple[float, float] = (-math.inf, math.inf)
    about: int = 2
    stop: str = "soft"  # soft, rigid
    restitution: float = 0.0  # 1; of rigid stops, as the rate below which there is none
    rest_speed: float = 0.0  # m/s or rad/s
    stiffness: float  # N/m or N m/rad, of the stop
    dissipation: float  # s/m or s/rad (Hunt and Crossley): torque = stiffness * depth * (1 + dissipation * depth rate)


@dataclass(frozen=True, kw_only=True)
class Joint:
    """A connection of two bodies, in the tree or closing a loop."""

    name: str
    part: int  # the file it is written in
    type: str  # key of `sim.joints.JOINT_TYPES`
    parent: str  # body name or "world"
    child: str  # body name
    position: Vec3 | None  # m, file coordinates; None when given by the two points or bound by an event
    axis: Vec3 | None  # unit; which axes of its frames the two direct, its type says
    second_axis: Vec3 | None  # unit
    pitch: float = 0.0  # m per turn, of types whose turn has one
    parent_point: str | None  # name of a point of the parent
    child_point: str | None  # name of a point of the child
    limits: Limits | None
    stiffness: tuple[float, ...]  # N/m or N m/rad for each freedom
    rest: tuple[float, ...]  # m or rad: coordinate at which the spring is free, for each freedom
    damping: tuple[float, ...]  # N s/m or N m s/rad for each freedom
    armature: tuple[float, ...]  # kg or kg m^2 for each freedom
    friction: tuple[float, ...] = ()  # N or N m for each freedom, Coulomb's; (): none
    motion: tuple[Expression | None, ...] = ()  # m or rad over time, for each freedom; None: not driven; (): none is
    connected: bool  # True: from the start; False: only after an event connects it
    binds: str  # "drawing": frames from the drawing; "event": at the relative pose when it is connected
    tolerance: float  # m or rad: largest gap at which an event may connect it
    place: Place
    places: Mapping[str, Place] = field(default_factory=dict)  # of its keys


@dataclass(frozen=True, kw_only=True)
class Value:
    """Coordinates and rates of one joint, as written under `initial`, `pose` or `set`.

    coordinate: q of the joint (spherical: quaternion wxyz; free: position, quaternion), or None.
    rate: v of the joint (spherical: angular velocity in the child's axes; free: linear velocity
    of the body's origin in world axes, angular velocity in the child's axes), or None.
    near: a guess of the coordinate, which tells the branch that is meant, or None.
    only: "position" or "orientation" where nothing else of a free joint's coordinate is written; the rest is as drawn.
    """

    coordinate: tuple[float, ...] | None
    rate: tuple[float, ...] | None
    place: Place
    near: tuple[float, ...] | None = None
    only: str = ""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One file of a scene: the scene itself (index 0) or an included one."""

    prefix: str  # "" for the scene, else "monkey"
    file: str
    parent: int  # index of the part that includes it; -1 for the scene
    position: Vec3  # m, of this file's origin in the parent file's coordinates
    orientation: Quat  # this file's axes to the parent file's axes
    pose: Mapping[str, Value]  # full joint name -> coordinate, given by the including file


@dataclass(frozen=True, kw_only=True)
class Action:
    """One thing that an event does.

    kind     | targets                         | values
    connect  | joint names                     |
    cut      | joint names                     |
    enable   | controller and constraint names |
    disable  | controller and constraint names |
    touch    | contact names                   |
    release  | contact names                   |
    set      | joint names                     | one Value each
    impulse  | body names                      | one (linear N s world, angular N m s world, point name or None) each
    stop     |                                 |

    either : of a cut, those of its targets that are connected are meant: that others are not is nothing to tell
    """

    kind: str
    targets: tuple[str, ...]
    values: tuple[Any, ...] = ()
    either: bool = False
    place: Place


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happens once its time, condition or key comes; any of them fires it."""

    name: str
    at: float | None  # s
    after: tuple[tuple[str, float], ...]  # (event name, delay s)
    when: Expression | None
    key: str | None
    once: bool
    actions: tuple[Action, ...]
    caption: str
    place: Place


@dataclass(frozen=True, kw_only=True)
class Spring:
    """A spring and damper between two points."""

    name: str
    ends: tuple[str, str]  # full names of bodies, or body.point, world.point
    stiffness: float  # N/m
    damping: float  # N s/m
    length: float | None  # m, at which the spring is free; None: the distance in the drawing
    place: Place


@dataclass(frozen=True, kw_only=True)
class TorsionSpring:
    """A spring and damper about a joint, beside the joint's own; acts while the joint is connected."""

    name: str
    joint: str
    freedom: int  # of the joint: the turn, or the first of three that are one rotation
    turns: int  # 1 or 3
    stiffness: float  # N m/rad
    damping: float  # N m s/rad
    rest: float  # rad: coordinate at which the spring is free; 0 for three turns
    place: Place


@dataclass(frozen=True, kw_only=True)
class Wrench:
    """A force and a torque on a body at a point, and their opposites on another body."""

    name: str
    body: str
    point: str  # of the body; "com"
    force: tuple[Expression, ...] | Expression | None  # N: three, or one whose value is a vector; None: zero
    torque: tuple[Expression, ...] | Expression | None  # N m
    frame: str  # world, body: the axes that force and torque are given in
    reaction: str | None  # body that the opposites act on, at the same place
    place: Place


@dataclass(frozen=True, kw_only=True)
class Drag:
    """What resists the motion of a point and the turning of its body: -(linear + quadratic |v|) v."""

    name: str
    body: str
    point: str  # of the body; "com"
    linear: float  # N s/m
    quadratic: float  # N s^2/m^2
    turning_linear: float  # N m s/rad
    turning_quadratic: float  # N m s^2/rad^2
    place: Place


Force = Spring | TorsionSpring | Wrench | Drag


@dataclass(frozen=True, kw_only=True)
class Soft:
    """How what touches gives way: a force at each point, as of a soft stop."""

    stiffness: float  # N/m
    dissipation: float  # s/m (Hunt and Crossley): force = stiffness * depth * (1 + dissipation * rate of depth)


@dataclass(frozen=True, kw_only=True)
class Contact:
    """A rule of which pairs touch, and the law of their contact."""

    name: str
    # Two sides: names of bodies, and of shapes of the world: "world" (all of them) or "world.ground"; none of a rope.
    between: tuple[tuple[str, ...], tuple[str, ...]]
    rope: tuple[str, str] | None  # points that a rope ties, with full names: "body.point", "body", "world.point"
    length: float | None  # m, of the rope; None: the distance of its points in the drawing
    friction: float | None  # 1; None: that of the two shapes
    rest: float | None  # 1, friction of a point that is at rest; None: the same
    combine: str  # how the friction of two shapes is combined: geometric, max, min, mean, harmonic
    restitution: float  # 1
    rest_speed: float  # m/s
    active: bool  # from the start
    place: Place
    soft: Soft | None = None  # None: rigid
    patch_radius: float = 0.0  # m, of friction against spinning
    rolling_radius: float = 0.0  # m, of friction against rolling


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """What a wheel, a blade, a gear or a screw binds: velocities, and positions where a row keeps them."""

    name: str
    part: int  # the file it is written in; its places and directions are in that file's coordinates
    type: str  # no_side_slip, knife_edge, rolling, same_velocity, gear, screw
    body: str  # that slides or rolls; "" for gear and screw
    on: str  # body that it slides or rolls on, or "world"; "" for gear and screw
    point: str  # full name of a point of the body ("body.point", "body.com"), or ""
    position: Vec3 | None  # m, model pose, as a joint's position is written; None where `point` names it
    # Unit, model pose: the axle of a wheel, the blade of a knife edge, the axis of a disc or torus; None: a sphere
    axis: Vec3 | None
    normal: Vec3  # unit, model pose: of the ground
    level: Vec3  # m, model pose: a point of the ground; of a round one its centre, or a point of its axis
    bend: float  # m, radius of a ground that is round, negative where it is rolled on inside; 0: a plane
    along: Vec3 | None  # unit, model pose: axis of a ground that is a cylinder
    radius: float  # m, of a disc, a sphere, or the centre line of a torus' tube
    tube: float  # m, radius of a torus' tube; 0: disc
    radii: Vec3 | None  # m, half axes of an ellipsoid; None: a disc, a sphere or a torus
    orientation: Quat | None  # axes of the ellipsoid to those of the file, model pose
    components: tuple[str, ...]  # same_velocity: of x y z rx ry rz, in axes of the model pose that turn with `on`
    joints: tuple[str, ...]  # gear: two; screw: one
    freedoms: tuple[int, ...]  # which freedom of each joint of a gear
    ratio: float  # gear: rate of the first = ratio * rate of the second; screw: m along per rad about
    keeps: bool  # rolling: a two-sided row keeps it on the ground; False: only while a contact holds
    holds: float  # N (or N m): it lets go beyond this force; inf: never
    active: bool  # from the start
    place: Place


@dataclass(frozen=True, kw_only=True)
class ControllerUse:
    """A controller of the scene: which class, with which parameters (SI, patterns resolved)."""

    name: str
    type: str
    parameters: Mapping[str, Any]
    enabled: bool
    place: Place
    places: Mapping[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class World:
    """What stands still."""

    gravity: Vec3  # m/s^2
    points: Mapping[str, Vec3]  # m
    shapes: tuple[Shape, ...]  # drawn, at rest


@dataclass(frozen=True, kw_only=True)
class Simulate:
    """How a scene is simulated and recorded."""

    duration: float  # s
    method: str  # dop853, radau, auto, rk4, semi_implicit, variational
    rtol: float  # 1
    step: float  # s, of the fixed-step methods
    contact: str  # event, stepping, auto
    dt: float  # s, of contact: stepping
    impact: str  # simultaneous, sequential
    restitution: str  # newton, poisson
    max_step: float  # s
    record: float  # Hz
    seed: int


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A whole scene."""

    name: str
    about: str
    file: str
    text: str  # the scene's file, to the byte
    sources: Mapping[str, str]  # file -> text, of every file that was read
    parameters: Mapping[str, float]  # SI, of the scene file
    parts: tuple[Part, ...]
    world: World
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    initial: Mapping[str, Value]  # joint name (a free body's joint bears the body's name)
    events: tuple[Event, ...]
    forces: tuple[Force, ...]
    contacts: tuple[Contact, ...]
    constraints: tuple[Constraint, ...]
    controllers: tuple[ControllerUse, ...]
    simulate: Simulate
    render: Mapping[str, Any]  # resolved render block, plain data
    notes: tuple[str, ...] = ()  # what reading made of it that its author may want to know
