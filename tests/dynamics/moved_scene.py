"""A whole scene somewhere else: turned and shifted, gravity too, with its events and controllers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim.scene.spec import Part, Scene, Shape, Value, Wrench
from tests.support.rotations import quat_from_matrix, quat_product


def moved_scene(scene: Scene, R: np.ndarray, shift: np.ndarray) -> Scene:
    """Return the scene as if an empty one included it at `shift` (m), turned by R (3, 3).

    Only what is said in world axes changes its numbers: gravity, points and shapes of the world, and the
    places and velocities of free bodies.  Actions in world axes are refused.
    """
    if any(action.kind in ("impulse", "set") for event in scene.events for action in event.actions):
        raise ValueError("events of this scene act in world axes")
    if any(isinstance(force, Wrench) and force.frame == "world" for force in scene.forces):
        raise ValueError("wrenches of this scene are given in world axes")
    place = Part(
        prefix="", file=scene.file, parent=0, pose=scene.parts[0].pose,
        position=tuple(shift), orientation=tuple(quat_from_matrix(R)),
    )  # fmt: skip
    inner = [replace(part, parent=part.parent + 1) for part in scene.parts[1:]]
    held = {joint.name for joint in scene.joints if joint.type != "free"}
    free = ({body.name for body in scene.bodies} | {joint.name for joint in scene.joints}) - held
    world = scene.world
    return replace(
        scene,
        parts=(replace(scene.parts[0], pose={}), place, *inner),
        bodies=tuple(replace(body, part=body.part + 1) for body in scene.bodies),
        joints=tuple(replace(joint, part=joint.part + 1) for joint in scene.joints),
        world=replace(
            world,
            gravity=tuple(R @ np.array(world.gravity)),
            points={name: tuple(R @ np.array(p) + shift) for name, p in world.points.items()},
            shapes=tuple(_placed(shape, R, shift) for shape in world.shapes),
        ),
        initial={
            name: _moved(value, R, shift) if name in free else value for name, value in scene.initial.items()
        },
    )  # fmt: skip


def _placed(shape: Shape, R: np.ndarray, shift: np.ndarray) -> Shape:
    quat = quat_product(quat_from_matrix(R), np.array(shape.orientation))
    return replace(shape, position=tuple(R @ np.array(shape.position) + shift), orientation=tuple(quat))


def _moved(value: Value, R: np.ndarray, shift: np.ndarray) -> Value:
    """Return where and how fast a free body starts after the move; its angular velocity is in its own axes."""
    coordinate, rate = value.coordinate, value.rate
    if coordinate is not None:
        quat = quat_product(quat_from_matrix(R), np.array(coordinate[3:]))
        coordinate = (*(R @ np.array(coordinate[:3]) + shift), *quat)
    if rate is not None:
        rate = (*(R @ np.array(rate[:3])), *rate[3:])
    return replace(value, coordinate=coordinate, rate=rate)
