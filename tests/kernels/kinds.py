"""Types of joints in the tables of kernels, as tests lay them out; beside those of scenes one that is a screw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.joints import JOINT_TYPES
from sim.joints.joint_type import JointType, Z, turn
from sim.kernels.tables import COLUMN, FREEDOM, table

FIXED, ROTATIONAL, TRANSLATIONAL, CYLINDRICAL = "fixed", "rotational", "translational", "cylindrical"
UNIVERSAL, PLANAR, SPHERICAL, FREE, SCREW = "universal", "planar", "spherical", "free", "screw"
PITCH = 0.3  # m/rad, of screws
TYPES = {**JOINT_TYPES, SCREW: JointType(name=SCREW, motions=(turn(Z, pitched=True),), z="axis")}
NQ = {name: kind.coordinates for name, kind in TYPES.items()}
NV = {name: kind.freedoms for name, kind in TYPES.items()}
LINEAR = {name: kind.linear for name, kind in TYPES.items()}


def carry(links: np.recarray, b: int, kind: str) -> None:
    """Let link b, whose addresses are known, be carried by a joint of this type."""
    of = TYPES[kind]
    links.nv[b], links.bends[b], links.rides[b] = of.freedoms, of.bends, of.rides
    links.quaternion[b] = links.v[b] + of.ball if of.ball >= 0 else -1


def lay_out(links: np.recarray, kinds: Sequence[str]) -> np.recarray:
    """Fill addresses of links, the world first, that joints of these types carry; return the table of freedoms."""
    links.q[1:] = np.cumsum([0, *(NQ[kind] for kind in kinds)])[:-1]
    links.v[1:] = np.cumsum([0, *(NV[kind] for kind in kinds)])[:-1]
    links.quaternion[0] = -1
    for b, kind in enumerate(kinds, start=1):
        carry(links, b, kind)
    freedoms = table(FREEDOM, sum(NV[kind] for kind in kinds))
    freedoms.owner[:] = [b for b, kind in enumerate(kinds, start=1) for _ in range(NV[kind])]
    freedoms.linear[:] = [x for kind in kinds for x in LINEAR[kind]]
    freedoms.along[:] = [x for kind in kinds for x in TYPES[kind].along]
    freedoms.pitch[:] = [PITCH if kind == SCREW else 0.0 for kind in kinds for _ in range(NV[kind])]
    return freedoms


def columns_of(kind: str, first: int, count: int) -> np.recarray:
    """Return `count` columns, of which those from `first` on are of a joint of this type."""
    columns, of = table(COLUMN, count), TYPES[kind]
    for c, (linear, code, (sine, cosine, sense)) in enumerate(zip(of.linear, of.free, of.measured, strict=True), first):
        columns.linear[c], columns.code[c], columns.sense[c] = linear, code, sense
        columns.sine[c], columns.cosine[c] = 3 * sine[0] + sine[1], 3 * cosine[0] + cosine[1]
    return columns


def close(blocks: np.recarray, n: int, kind: str) -> None:
    """Let block n be a joint of this type that closes a loop."""
    blocks.freedoms[n], blocks.quaternion[n], blocks.on_line[n] = NV[kind], TYPES[kind].ball, TYPES[kind].on_one_line
