"""What may touch: shapes, the features that meet in a point of contact, and the points that are closed.

SI units.  K is the frame of a link, S that of a shape; names as in `sim.kernels.tables`.
"""

from __future__ import annotations

import numpy as np

# Contact geometry.  Kinds of shapes; sizes as in `sim.scene.spec.Shape`, a plane is the half-space z <= 0 of its frame.
# A rope is the ball about its fixed end, of the rope's length, which holds the other end, a sphere of radius zero.
PLANE, SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, MESH, ROPE = range(8)

SHAPE_KIND = {
    "plane": 0, "sphere": 1, "capsule": 2, "box": 3, "cylinder": 4, "ellipsoid": 5, "mesh": 6, "rope": 7, "rope_end": 1,
}  # fmt: skip

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
        ("stiffness", "f8"), ("dissipation", "f8"),  # N/m, s/m: of a soft point, else zero
        ("friction", "f8"),
        ("slip_W", "f8", (3,)),  # direction in which it slid when it was last decided on, or starts to slide
    ],
    align=True,
)  # fmt: skip
# The two last slide.  A soft point has no normal row, as its force follows its depth: SOFT has none at all,
# SOFT_STICK the two along the surface, SOFT_SLIP friction.
SOFT, SOFT_STICK, SOFT_SLIP, OPEN, STICK, SLIP, SLOW_SLIP = range(-3, 4)

# Two shapes that may touch, the rule that they follow, and the link of the body that it names first.
MEETING = np.dtype([("a", "i8"), ("b", "i8"), ("rule", "i8"), ("named", "i8")], align=True)
