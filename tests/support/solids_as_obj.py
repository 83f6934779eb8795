"""Meshes as OBJ files, for tests: boxes, each an object; an L; a bowl."""

from __future__ import annotations

import math

_SIDES = ((1, 3, 4, 2), (5, 6, 8, 7), (1, 2, 6, 5), (2, 4, 8, 6), (4, 3, 7, 8), (3, 1, 5, 7))


def boxes(*spans):
    """Return boxes (low, high), each an object of its own."""
    lines = []
    for k, (low, high) in enumerate(spans):
        lines.append(f"o box_{k}")
        lines += [f"v {x} {y} {z}" for z in (low[2], high[2]) for y in (low[1], high[1]) for x in (low[0], high[0])]
        lines += ["f " + " ".join(str(n + 8 * k) for n in side) for side in _SIDES]
    return "\n".join(lines) + "\n"


L = [(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0), (1.0, 3.0), (0.0, 3.0)]


def prism_of_an_l():
    """Return an L of 2 m by 3 m, 1 m thick both ways, in one closed surface of triangles."""
    n = len(L)
    lines = [f"v {x} {y} {z}" for z in (0.0, 1.0) for x, y in L]
    for a, b, c in ((0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)):
        lines += [f"f {c + 1} {b + 1} {a + 1}", f"f {n + a + 1} {n + b + 1} {n + c + 1}"]
    for k in range(n):
        m = (k + 1) % n
        lines.append(f"f {k + 1} {m + 1} {n + m + 1} {n + k + 1}")
    return "\n".join(lines) + "\n"


def bowl(outer, inner, height, base, n=12):
    """Return a bowl of n sides: walls between two radii, of a height, on a bottom as thick as `base`; m."""
    points, faces = [], []
    for radius, z in ((outer, 0.0), (outer, height), (inner, height), (inner, base)):
        points += [
            (radius * math.cos(2 * math.pi * k / n), radius * math.sin(2 * math.pi * k / n), z) for k in range(n)
        ]
    for ring in range(3):
        for k in range(n):
            a, b = ring * n + k, ring * n + (k + 1) % n
            faces += [(a, b, b + n), (a, b + n, a + n)]
    low, high = len(points), len(points) + 1
    points += [(0.0, 0.0, 0.0), (0.0, 0.0, base)]
    for k in range(n):
        m = (k + 1) % n
        faces += [(m, k, low), (3 * n + k, 3 * n + m, high)]
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    return "\n".join(lines) + "\n"
