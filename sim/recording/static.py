"""Write what a recording says once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np

from sim.recording.container import strings, table
from sim.recording.format import FORMAT, VERSION, ColumnEntry, Layout


def write_static(file: h5py.File, layout: Layout, program: str) -> None:
    """Write scene, bodies, points, shapes, joints, columns, forces and pairs of shapes that may touch."""
    file.attrs.update({"format": FORMAT, "version": VERSION, "scene": layout.scene, "program": program})
    settings, render = (json.dumps(block, sort_keys=True) for block in (layout.settings, layout.render))
    for name, text in (("text", layout.text), ("file", layout.file), ("settings", settings), ("render", render)):
        file[f"scene/{name}"] = strings([text]).reshape(())
    file["scene/sources"] = table(("file", "text"), sorted(layout.sources.items()))

    file["bodies/name"] = strings([body.name for body in layout.bodies])
    file["bodies/mass"] = np.array([body.mass for body in layout.bodies], "<f8")
    file["bodies/com"] = np.array([body.com for body in layout.bodies], "<f8").reshape(-1, 3)
    file["bodies/inertia"] = np.array([body.inertia for body in layout.bodies], "<f8").reshape(-1, 6)

    file["points/name"] = strings([point.name for point in layout.points])
    file["points/body"] = np.array([point.body for point in layout.points], "<i8")
    file["points/position"] = np.array([point.position for point in layout.points], "<f8").reshape(-1, 3)

    file["shapes/body"] = np.array([shape.body for shape in layout.shapes], "<i8")
    file["shapes/kind"] = strings([shape.kind for shape in layout.shapes])
    for name, width in (("position", 3), ("quat_wxyz", 4), ("size", 3), ("color", 4)):
        file[f"shapes/{name}"] = np.array([getattr(s, name) for s in layout.shapes], "<f8").reshape(-1, width)

    _write_meshes(file, layout)

    for name in ("name", "type", "parent", "child"):
        file[f"joints/{name}"] = strings([getattr(joint, name) for joint in layout.joints])
    names = tuple(ColumnEntry.__dataclass_fields__)
    file["joints/columns"] = table(names, [tuple(getattr(c, n) for n in names) for c in layout.columns])

    for name in ("name", "type"):
        file[f"forces/{name}"] = strings([getattr(force, name) for force in layout.forces])
    file["forces/body"] = np.array([force.bodies for force in layout.forces], "<i8").reshape(-1, 2)
    file["forces/point"] = np.array([force.points for force in layout.forces], "<f8").reshape(-1, 2, 3)

    if layout.pairs:
        for name in ("a", "b"):
            file[f"contacts/pairs/{name}"] = strings([getattr(pair, name) for pair in layout.pairs])
        file["contacts/pairs/shapes"] = np.array([pair.shapes for pair in layout.pairs], "<i8")

    if layout.begun is not None:
        for name in ("text", "numbers"):
            file[f"state/begun/{name}"] = np.frombuffer(getattr(layout.begun, name), "u1")


def _write_meshes(file: h5py.File, layout: Layout) -> None:
    """Write the corners and triangles of all meshes, one after the other, where there are any."""
    meshes = [(n, shape) for n, shape in enumerate(layout.shapes) if shape.triangles]
    if meshes:
        file["shapes/vertex_shape"] = np.concatenate([np.full(len(s.vertices), n, "<i8") for n, s in meshes])
        file["shapes/vertices"] = np.concatenate([np.array(s.vertices, "<f8") for _, s in meshes])
        file["shapes/triangle_shape"] = np.concatenate([np.full(len(s.triangles), n, "<i8") for n, s in meshes])
        file["shapes/triangles"] = np.concatenate([np.array(s.triangles, "<i8") for _, s in meshes])


def write_run(file: h5py.File, attributes: Mapping[str, Any]) -> None:
    """Write all that may differ between two equal runs."""
    run = file.require_group("run")
    for name, value in attributes.items():
        run.attrs[name] = value if isinstance(value, (str, int, float, np.number)) else json.dumps(value)
