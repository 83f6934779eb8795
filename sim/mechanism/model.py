"""What a scene declares, as tables that stay the same during a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sim.joints import JOINT_TYPES, JointType
from sim.kernels.tables import GEAR
from sim.mechanism.formula_programs import Programs
from sim.mechanism.frames import Frames, Pose
from sim.mechanism.layout import Drawing
from sim.mechanism.solids import Pair, Solid, friction_at_rest, friction_of
from sim.scene.arguments import found
from sim.scene.spec import Constraint, Joint, Scene


@dataclass(frozen=True)
class Model:
    """What stays the same during a run: bodies, joints, columns, stops and points, as tables.

    Body 0 is the world.  Every joint that the scene can have is a row of `joints`: declared ones,
    those that events make, and the free joints of bodies that no other joint may hold.  All arrays are read-only.
    """

    scene: Scene
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    joint_specs: tuple[Joint | None, ...]  # None: a constraint, or a free joint that the compiler added
    column_names: tuple[str, ...]
    bodies: Any  # BODY
    joints: Any  # JOINT
    columns: Any  # COLUMN
    stops: Any  # STOP
    points: Any  # POINT
    forces: Any  # FORCE
    point_names: dict[str, int]
    free_joint: np.ndarray  # (bodies,) the body's free joint, -1: none
    constraints: dict[int, Constraint]  # by their rows among the joints, behind those of the scene
    frames: Frames  # bound in the drawing
    drawing: Drawing
    poses: tuple[Pose, ...]  # (bodies,) of frames B in the drawing
    connected: frozenset[int]  # joints active from the start
    gravity_W: np.ndarray
    length: float
    programs: Programs
    solids: tuple[Solid, ...] = ()
    pairs: tuple[Pair, ...] = ()  # of solids that may touch
    step: float = 0.0  # s: time steps whose ends springs and dampers of joints already feel; 0: none

    def type_of(self, joint: int) -> JointType:
        """Return the type of a joint that is no constraint; one that the compiler added is free."""
        spec = self.joint_specs[joint]
        return JOINT_TYPES[spec.type if spec else "free"]

    def pitch_of(self, joint: int) -> float:
        """Return how far a joint slides along its axis for a turn of one [m/rad]; 0 where it does not."""
        return float(self.joints.pitch[joint])

    @cached_property
    def one_sided(self) -> bool:
        """True where forces have bounds: of contacts, of rigid stops, of friction in joints."""
        return bool(self.pairs) or bool(np.any(self.stops.rigid)) or bool(np.any(self.columns.friction))

    def friction(self, pair: int, rule: int) -> float:
        """Return Coulomb's coefficient of a pair of shapes that follows a rule of contact."""
        first, second = (self.solids[n] for n in (self.pairs[pair].first, self.pairs[pair].second))
        return friction_of(self.scene.contacts[rule], first, second)

    def friction_at_rest(self, pair: int, rule: int) -> float:
        """Return the same of points that do not slide."""
        first, second = (self.solids[n] for n in (self.pairs[pair].first, self.pairs[pair].second))
        return friction_at_rest(self.scene.contacts[rule], first, second)

    def joint(self, name: str) -> int:
        """Return the row of a joint by name."""
        return self.joint_names.index(name)

    def geared(self, joint: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return what a gear ties: two joints, and the freedom of each; a screw ties the two freedoms of one."""
        spec = self.constraints[joint]
        first, second = (self.joint(name) for name in (spec.joints * 2)[:2])
        freedoms = spec.freedoms or (0, 1)
        return (first, freedoms[0]), (second, freedoms[1])

    def tied(self, joint: int) -> set[int]:
        """Return the joints without which a constraint binds nothing."""
        return {self.joint(name) for name in self.constraints[joint].joints} if joint in self.constraints else set()

    @cached_property
    def waiting(self) -> frozenset[int]:
        """Constraints that bind only while a contact is closed."""
        return frozenset(joint for joint, spec in self.constraints.items() if waits(spec))

    def binds(self, joint: int) -> bool:
        """Tell whether a joint has frames, or an offset, that its bodies' poses do not tell: all but free bodies'."""
        return self.joint_specs[joint] is not None or int(self.joints.kind[joint]) == GEAR

    def columns_of(self, joint: int) -> slice:
        """Return the columns of a joint."""
        first = int(self.joints.column[joint])
        return slice(first, first + int(self.joints.nv[joint]))


def waits(spec: Constraint) -> bool:
    """Tell whether a constraint binds only while a contact is closed."""
    return spec.type == "rolling" and not spec.keeps


def model_of(model: Any) -> Model:
    """Return a model, or raise: it is compiled once, by who will use it again."""
    if not isinstance(model, Model):
        raise ValueError(f"model: found {found(model)}; expected a model that sim.compile returned")
    return model
