"""A small recording to write and read in tests."""

from __future__ import annotations

import numpy as np

from sim.recording import BodyEntry, ColumnEntry, JointEntry, Layout, ShapeEntry, row_fields


def layout(bodies: int = 2, **changes) -> Layout:
    """A chain of bodies on rotational joints, the last of them spherical, beside a box of the world."""
    names = [f"link{k}" for k in range(bodies)]
    joints = [
        JointEntry(
            name=f"pin{k}",
            type="rotational" if k < bodies - 1 else "spherical",
            parent="world" if k == 0 else names[k - 1],
            child=name,
        )
        for k, name in enumerate(names)
    ]
    columns = []
    for joint in joints:
        width = 3 if joint.type == "spherical" else 1
        for k in range(width):
            name = f"{joint.name}[{k}]" if width > 1 else joint.name
            columns.append(ColumnEntry(name=name, joint=joint.name, unit="rad", rate_unit="rad/s", torque_unit="N m"))
    entries = tuple(
        BodyEntry(name=name, mass=1.0 + k, com=(0.0, 0.0, -0.5), inertia=(1.0, 1.0, 0.1, 0.0, 0.0, 0.0))
        for k, name in enumerate(names)
    )
    box = ShapeEntry(
        body=-1,
        kind="box",
        position=(0.0, 0.0, 2.0),
        quat_wxyz=(1.0, 0.0, 0.0, 0.0),
        size=(0.1, 0.2, 0.3),
        color=(0.5, 0.5, 0.5, 1.0),
    )
    keys = {
        "scene": "chain",
        "text": "schema: 1\nname: chain  # Ärger\n",
        "file": "chain.yaml",
        "sources": {"figures/arm.yaml": "schema: 1\n", "a.yaml": ""},
        "settings": {"seed": 3, "method": "dop853"},
        "render": {"fps": 30},
        "bodies": entries,
        "shapes": (box,),
        "joints": tuple(joints),
        "columns": tuple(columns),
    }
    return Layout(**{**keys, **changes})


def rows(of: Layout, first: int, k: int, rate: float = 120.0) -> dict[str, np.ndarray]:
    """Rows first ... first + k - 1; every value tells its row and its place in the row."""
    numbers = np.arange(first, first + k)
    block = {}
    for name, row in row_fields(of).items():
        size = int(np.prod(row.tail))
        values = numbers[:, None] + 0.001 * np.arange(size)
        block[name] = (
            values.reshape(k, *row.tail).astype(row.dtype) if row.dtype.kind == "f" else np.ones((k, *row.tail))
        )
    block["time"] = numbers / rate
    return block
