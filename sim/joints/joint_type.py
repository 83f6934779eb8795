"""What a type of joint is: elementary motions that lead from its frame F on the parent to M on the child.

A joint is a product of slides along axes, turns about axes and balls, each seen from the frame that those before it
have reached, with a coordinate for each slide and turn and a unit quaternion for a ball:

    X_FM(q) = slide_1(q_1) ... turn_1(q_k) ... ball(q)

Slides come before turns, and a ball is the last.  So about the origin of M every freedom is a pure slide, a pure turn,
or, where a turn has a pitch, a screw: (axis; pitch axis).  Everything else about the type follows: how many
coordinates and freedoms it has, their units, what it locks, how its coordinates are read from two frames in a loop.

Directions of rows are those of `sim.kernels.tables`: 0-2 along an axis of F, 3-5 about one, 6 about z_M x x_F, 7-9
about an axis of M.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

SLIDE, TURN, BALL = "slide", "turn", "ball"
X, Y, Z = range(3)
SKEW = 6  # the row that keeps two turns about x and then z at a right angle


class Motion(NamedTuple):
    """An elementary motion.

    kind : SLIDE, TURN or BALL
    axis : X, Y or Z of the frame that the motions before it have reached
    pitched : of a turn: it slides along its axis as well, by the pitch of the joint
    """

    kind: str
    axis: int = Z
    pitched: bool = False


class Angle(NamedTuple):
    """How the angle of a turn is read from the rotation R_FM (3, 3): atan2(sense R[sine], R[cosine])."""

    sine: tuple[int, int] = (0, 0)
    cosine: tuple[int, int] = (0, 0)
    sense: int = 0


@dataclass(frozen=True, kw_only=True)
class JointType:
    """A type of joint.

    name : as scenes call it
    motions : from F to M
    z, x : keys of a scene that give the directions of z and x of both frames; "": those of the child
    own_frames : F and M are the frames of the two bodies: the joint is nowhere
    line : what sentences call its axis z
    limits : "each": a range for each freedom; "ball": of how far it turns, see `sim.joints.spherical`; "": none
    """

    name: str
    motions: tuple[Motion, ...]
    z: str = ""
    x: str = ""
    own_frames: bool = False
    line: str = "z axis"
    limits: str = "each"

    def __post_init__(self) -> None:
        kinds = [motion.kind for motion in self.motions]
        if kinds != sorted(kinds, key=(SLIDE, TURN, BALL).index) or (BALL in kinds and kinds.count(SLIDE) % 3):
            raise ValueError(f"{self.name}: slides come first, a ball comes last, with three slides or none")
        if self.turns not in ((), (Z,), (X, Z)) or (BALL in kinds and (self.turns or kinds.count(BALL) > 1)):
            raise ValueError(f"{self.name}: there are no rows for what these turns lock")
        if any(motion.pitched for motion in self.motions if motion != self.motions[0]):
            raise ValueError(f"{self.name}: only the first motion may have a pitch, as its axis stands still")

    # ---- sizes ----

    @cached_property
    def linear(self) -> tuple[int, ...]:
        """Of each freedom, 1: it slides; 0: it turns."""
        return tuple(int(m.kind == SLIDE) for m in self.motions for _ in range(3 if m.kind == BALL else 1))

    @cached_property
    def along(self) -> tuple[int, ...]:
        """Of each freedom its axis; of the three of a ball x, y and z of M."""
        return tuple(a for m in self.motions for a in ((X, Y, Z) if m.kind == BALL else (m.axis,)))

    @property
    def freedoms(self) -> int:
        """Number of freedoms, and of rates."""
        return len(self.linear)

    @cached_property
    def ball(self) -> int:
        """First of the three freedoms whose coordinates are a quaternion, or -1."""
        return self.freedoms - 3 if any(m.kind == BALL for m in self.motions) else -1

    @property
    def coordinates(self) -> int:
        """Number of coordinates: a ball has one more than it has freedoms."""
        return self.freedoms + (self.ball >= 0)

    @cached_property
    def zero(self) -> tuple[float, ...]:
        """Coordinates where F and M agree."""
        plain = (0.0,) * (self.ball if self.ball >= 0 else self.freedoms)
        return (*plain, 1.0, 0.0, 0.0, 0.0) if self.ball >= 0 else plain

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of each freedom's coordinate; a ball counts as a rotation vector."""
        return tuple("m" if slides else "rad" for slides in self.linear)

    # ---- motions ----

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """Axes of its turns."""
        return tuple(motion.axis for motion in self.motions if motion.kind == TURN)

    @cached_property
    def slides(self) -> tuple[int, ...]:
        """Axes of its slides."""
        return tuple(motion.axis for motion in self.motions if motion.kind == SLIDE)

    @property
    def pitched(self) -> bool:
        """Whether a scene gives it a pitch."""
        return any(motion.pitched for motion in self.motions)

    @cached_property
    def angles(self) -> tuple[int, ...]:
        """Freedoms that are turns about an axis: their coordinates are angles, which count on beyond a turn."""
        return tuple(i for i, motion in enumerate(self.motions) if motion.kind == TURN)

    @property
    def bends(self) -> bool:
        """Whether a turn of its own turns the axis of a later one."""
        return len(self.turns) > 1

    @cached_property
    def rides(self) -> bool:
        """Whether its turns turn its slides among themselves, so that these may be taken along the axes of M, too."""
        if self.ball >= 0 or self.turns == (X, Z):
            return len(self.slides) == 3
        return bool(self.turns) and len(set(self.slides) - {Z}) == 2

    @property
    def on_one_line(self) -> bool:
        """Whether all its freedoms are along or about the axis z of F."""
        return self.ball < 0 and all(motion.axis == Z for motion in self.motions) and bool(self.motions)

    # ---- in a loop ----

    @cached_property
    def locked(self) -> tuple[int, ...]:
        """Directions of what a joint in a loop locks; a pitch ties the slide along the axis of its turn to it."""
        about = {(): (3, 4, 5), (Z,): (3, 4), (X, Z): (SKEW,)}[self.turns] if self.ball < 0 else ()
        return (*(axis for axis in (X, Y, Z) if axis not in self.slides), *about)

    @property
    def locks_all_turns(self) -> bool:
        """Whether it keeps the axes of F and M parallel."""
        return self.ball < 0 and not self.turns

    @cached_property
    def free(self) -> tuple[int, ...]:
        """Direction of each freedom's rate: the first turn is about an axis of F, a second one and a ball of M's."""
        first = 3 if self.ball < 0 else 7
        turns = [first + self.turns[0], *(7 + axis for axis in self.turns[1:])] if self.turns else []
        return (*self.slides, *turns, *((7, 8, 9) if self.ball >= 0 else ()))

    @cached_property
    def measured(self) -> tuple[Angle, ...]:
        """How each freedom's coordinate is read from R_FM where it is an angle.

        R_x(first) R_z(second) has the column z (0, -sin first, cos first) and the row x (cos second, -sin second, 0).
        """
        turns = {
            (): (), (Z,): (Angle((Y, X), (X, X), 1),), (X, Z): (Angle((Y, Z), (Z, Z), -1), Angle((X, Y), (X, X), -1)),
        }[self.turns]  # fmt: skip
        return (*(Angle() for _ in self.slides), *turns, *((Angle(),) * 3 if self.ball >= 0 else ()))

    # ---- in a scene ----

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of a scene that direct its axes."""
        return tuple(key for key in ("axis", "second_axis") if key in (self.z, self.x))

    @property
    def needed(self) -> tuple[str, ...]:
        """Those that must be written: not x where nothing turns about it, or slides along it without y."""
        any_x = X not in self.turns and (X in self.slides) == (Y in self.slides)
        return tuple(key for key in self.keys if key == self.z or not any_x)

    @property
    def is_somewhere(self) -> bool:
        """Whether it matters where it is: something turns about a place."""
        return not self.own_frames and not all(m.kind == SLIDE for m in self.motions)

    @property
    def about_a_point(self) -> bool:
        """Whether it turns about a place that both bodies keep."""
        return not self.slides and self.freedoms > 0

    @property
    def lists_coordinates(self) -> bool:
        """Whether its coordinates are a list of numbers that motions and friction can have one by one."""
        return self.freedoms > 0 and self.ball < 0


def slide(axis: int) -> Motion:
    """Return a slide along an axis."""
    return Motion(SLIDE, axis)


def turn(axis: int, pitched: bool = False) -> Motion:
    """Return a turn about an axis; with the joint's pitch, a screw."""
    return Motion(TURN, axis, pitched)


def ball() -> Motion:
    """Return a rotation in space."""
    return Motion(BALL)
