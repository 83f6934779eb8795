"""The drawing: every part placed, its pose applied, its joints bound.

Three poses (scene-language): in the *model* pose of a file its bodies stand where they are written;
the *drawing* of an including file has them placed and posed; its own joints bind there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sim.joints import JOINT_TYPES
from sim.mechanism.frames import IDENTITY, Frames, Pose, frame_along, rotation_of
from sim.mechanism.joint_motion import motion
from sim.scene.problem import Problem, SceneError
from sim.scene.spec import Constraint, Joint, Part, Scene, Value


def _under(constraint: Constraint, d: np.ndarray) -> np.ndarray:
    """Return the axes of a round ground: z its normal under a place d from its centre, y the axis of a cylinder."""
    if constraint.along is None:
        return frame_along(np.sign(constraint.bend) * d if np.any(d) else constraint.normal)
    y = np.asarray(constraint.along, float)
    d = d - (d @ y) * y
    z = np.sign(constraint.bend) * d / np.linalg.norm(d) if np.any(d) else frame_along(y)[:, 0]
    return np.column_stack([np.cross(y, z), y, z])


class Drawing:
    """Bodies placed and joints bound, part by part.

    Attributes
    ----------
    poses : body name -> Pose of its frame B in the drawing (world axes when complete)
    frames : joint frames in B of parent and child, by joint index
    """

    def __init__(self, scene: Scene, origins: dict[str, np.ndarray]):
        self.scene = scene
        self.origins = origins  # m, file coordinates of the body's own part
        self.index = {joint.name: i for i, joint in enumerate(scene.joints)}
        n = len(scene.joints) + len(scene.constraints)
        self.frames = Frames(
            np.zeros((n, 3)), np.tile(np.eye(3), (n, 1, 1)), np.zeros((n, 3)), np.tile(np.eye(3), (n, 1, 1)),
            np.zeros(n),
        )  # fmt: skip
        self.poses: dict[str, Pose] = {}
        self.points = {b.name: b.points for b in scene.bodies} | {"world": scene.world.points}
        self.bodies_of: list[list[str]] = [[] for _ in scene.parts]
        for body in scene.bodies:
            self.bodies_of[body.part].append(body.name)
        self._draw(0)
        for i, constraint in self._constraints():
            if constraint.joints:  # has the frames of its first joint
                k = self.index[constraint.joints[0]]
                self.frames.p_PF[i], self.frames.R_PF[i] = self.frames.p_PF[k], self.frames.R_PF[k]
                self.frames.p_CM[i], self.frames.R_CM[i] = self.frames.p_CM[k], self.frames.R_CM[k]

    def _constraints(self) -> Iterator[tuple[int, Constraint]]:
        """Return the constraints of the scene, each with its row among the joints."""
        return enumerate(self.scene.constraints, start=len(self.scene.joints))

    def _draw(self, part: int) -> list[str]:
        """Draw a part in its own file's coordinates; return the names of its bodies."""
        names = list(self.bodies_of[part])
        for name in names:
            self.poses[name] = Pose(np.asarray(self.origins[name], float), np.eye(3))
        for child, said in enumerate(self.scene.parts):
            if child and said.parent == part:
                inside = self._draw(child)
                place = Pose(np.asarray(said.position, float), rotation_of(said.orientation))
                for name in inside:
                    self.poses[name] = place.of(self.poses[name])
                self._place_on_the_world(child, place)
                names += inside
        for joint in self.scene.joints:
            if joint.part == part:
                self.bind(joint)
        for i, constraint in self._constraints():
            if constraint.part == part and not constraint.joints:
                self._bind_constraint(i, constraint)
        if part:
            self._apply_pose(self.scene.parts[part], set(names), self._said_inside(part))
        return names

    def _said_inside(self, part: int) -> dict[str, Value]:
        """Return the pose of a part and of those in it; the outer file counts more."""
        said: dict[str, Value] = {}
        for child, one in enumerate(self.scene.parts):
            if child and one.parent == part:
                said |= self._said_inside(child)
        return said | dict(self.scene.parts[part].pose)

    def _place_on_the_world(self, part: int, place: Pose) -> None:
        """Move the frames with which joints of a part, and of parts in it, hold on to the world.

        Those of free joints stay: they count from the world's own frame.
        """
        held = [
            (i, joint.part)
            for i, joint in enumerate(self.scene.joints)
            if joint.parent == "world" and not JOINT_TYPES[joint.type].own_frames
        ]
        held += [(i, one.part) for i, one in self._constraints() if one.on == "world"]
        for i, inside in held:
            while inside not in (0, part):
                inside = self.scene.parts[inside].parent
            if inside == part:
                F = place.of(Pose(self.frames.p_PF[i], self.frames.R_PF[i]))
                self.frames.p_PF[i], self.frames.R_PF[i] = F.p, F.R

    def _place_of(self, part: int) -> Pose:
        """Return where a part's file stands in the scene."""
        if part == 0:
            return IDENTITY
        said = self.scene.parts[part]
        own = Pose(np.asarray(said.position, float), rotation_of(said.orientation))
        return self._place_of(said.parent).of(own)

    def pose_of(self, body: str) -> Pose:
        """Return a body's pose in the drawing as far as it is drawn."""
        return IDENTITY if body == "world" else self.poses[body]

    def point(self, body: str, name: str, part: int = 0) -> np.ndarray:
        """Return a named point in B of its body, one of the world in the coordinates of a part's file [m]."""
        if body == "world":
            place = self._place_of(part)
            return place.R.T @ (np.asarray(self.points["world"][name], float) - place.p)
        return np.asarray(self.points[body][name], float) - self.origins[body]

    def bind(self, joint: Joint) -> None:
        """Set F and M of a joint at the present pose of its two bodies."""
        i = self.index[joint.name]
        bind(self.frames, i, joint, self.pose_of(joint.parent), self.pose_of(joint.child), self)

    def _bind_constraint(self, i: int, constraint: Constraint) -> None:
        """Set F (z along the normal, on the ground) and M of a constraint.

        M has the axle along y, the blade along x, or the axes of the ellipsoid.
        """
        frames = self.frames
        on, body = self.pose_of(constraint.on), self.pose_of(constraint.body)
        if constraint.position is not None:
            p = np.asarray(constraint.position, float)
        else:
            p = body.p + body.R @ self._named(constraint.body, constraint.point.rpartition(".")[2])
        F, M = Pose(np.asarray(constraint.level, float), frame_along(constraint.normal)), Pose(p, np.eye(3))
        if constraint.bend != 0.0:
            F = Pose(F.p, _under(constraint, p - F.p))
        if constraint.type == "same_velocity":
            F = M
        elif constraint.orientation is not None:
            M = Pose(p, rotation_of(constraint.orientation))
        elif constraint.axis is not None:
            M = Pose(p, np.roll(frame_along(constraint.axis), 1 if constraint.type == "knife_edge" else -1, axis=1))
        F, M = on.inverse().of(F), body.inverse().of(M)
        frames.p_PF[i], frames.R_PF[i], frames.p_CM[i], frames.R_CM[i] = F.p, F.R, M.p, M.R

    def _named(self, body: str, point: str) -> np.ndarray:
        """Return a named point or the centre of mass in B of its body [m]."""
        if point == "com":
            com = next(one.com for one in self.scene.bodies if one.name == body)
            return np.asarray(com, float) - self.origins[body]
        return self.point(body, point)

    def _apply_pose(self, part: Part, inside: set[str], posed: Mapping[str, Value]) -> None:
        """Turn the part's joints to the pose that the including file asks for; posed: with those of parts in it."""
        if not part.pose:
            return
        carrier: dict[str, Joint] = {}
        for joint in self.scene.joints:
            if (
                joint.connected
                and joint.binds == "drawing"
                and joint.child in inside
                and joint.parent in inside
                and joint.child not in carrier
            ):
                above = joint.parent
                while above in carrier and above != joint.child:
                    above = carrier[above].parent
                if above != joint.child:
                    carrier[joint.child] = joint
        problems = [
            Problem(
                where=value.place,
                path=f"pose.{name}",
                what="this joint closes a loop; pose the others and assembly moves it",
            )
            for name, value in part.pose.items()
            if name in self.index and name not in {j.name for j in carrier.values()}
        ]  # fmt: skip
        if problems:
            raise SceneError(problems)
        done: set[str] = {name for name in inside if name not in carrier}
        pending = [name for name in inside if name in carrier]
        while pending:
            ready = [name for name in pending if carrier[name].parent in done]
            for name in ready:
                joint = carrier[name]
                i = self.index[joint.name]
                said, kind = posed.get(joint.name), JOINT_TYPES[joint.type]
                if JOINT_TYPES[joint.type].own_frames and said is None:  # stays where it was drawn
                    done.add(name)
                    continue
                q = said.coordinate if said is not None and said.coordinate is not None else kind.zero
                F = Pose(self.frames.p_PF[i], self.frames.R_PF[i])
                M = Pose(self.frames.p_CM[i], self.frames.R_CM[i])
                self.poses[name] = (
                    self.pose_of(joint.parent).of(F).of(motion(kind, q, joint.pitch / (2.0 * np.pi))).of(M.inverse())
                )
                done.add(name)
            pending = [name for name in pending if name not in done]


def bind(frames: Frames, i: int, joint: Joint, parent: Pose, child: Pose, points: Drawing) -> None:
    """Set F and M of joint i so that they agree in orientation, and in place unless two points are given.

    parent, child: poses of the two bodies, in the coordinates in which `joint.axis` and
    `joint.position` are written.
    """
    kind = JOINT_TYPES[joint.type]
    if kind.own_frames:  # counts from the parent's own frame to the child's, as docs/conventions.md has it
        frames.R_PF[i], frames.R_CM[i] = np.eye(3), np.eye(3)
        frames.p_PF[i], frames.p_CM[i] = np.zeros(3), np.zeros(3)
        return
    R = child.R
    if kind.z:
        R = frame_along(getattr(joint, kind.z), getattr(joint, kind.x) if kind.x else None)
    frames.R_PF[i] = parent.R.T @ R
    frames.R_CM[i] = child.R.T @ R if R is not child.R else np.eye(3)
    if joint.parent_point is not None and joint.child_point is not None:
        frames.p_PF[i] = points.point(joint.parent, joint.parent_point, joint.part)
        frames.p_CM[i] = points.point(joint.child, joint.child_point)
        return
    if joint.position is not None:
        p = np.asarray(joint.position, float)
    elif joint.child_point is not None:
        p = child.p + child.R @ points.point(joint.child, joint.child_point)
    elif joint.parent_point is not None:
        p = parent.p + parent.R @ points.point(joint.parent, joint.parent_point, joint.part)
    else:
        p = child.p
    frames.p_PF[i] = parent.R.T @ (p - parent.p)
    frames.p_CM[i] = child.R.T @ (p - child.p)
