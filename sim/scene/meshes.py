"""Files of meshes: Wavefront OBJ and STL, told apart by what is in them."""

from __future__ import annotations

import struct
from pathlib import Path

from sim.scene.spec import Vec3

MOST_BYTES = 20_000_000  # 400,000 triangles

Triangles = tuple[tuple[int, int, int], ...]


class MeshError(ValueError):
    """A file that holds no mesh; the message says why."""


def read_mesh(path: Path) -> tuple[tuple[Vec3, ...], Triangles, str]:
    """Return points and triangles of a file, and its text.  See `mesh_of`."""
    return mesh_of(bytes_of(path))


def bytes_of(path: Path) -> bytes:
    """Return what is in a file of a shape, if it is not too large."""
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MOST_BYTES else b""
    except OSError as error:
        raise MeshError(f"cannot be read: {error.strerror}") from error
    if size > MOST_BYTES:
        raise MeshError(f"{size / 1e6:.3g} MB; {MOST_BYTES / 1e6:g} MB are the most")
    return data


def mesh_of(data: bytes) -> tuple[tuple[Vec3, ...], Triangles, str]:
    """Return points and triangles, and the text; of binary data the text of an OBJ file that says the same.

    Raises
    ------
    MeshError
        If it is neither OBJ nor STL.
    """
    if len(data) >= 84 and len(data) == 84 + 50 * struct.unpack_from("<I", data, 80)[0]:
        points, triangles = _joined(_binary(data))
        return points, triangles, as_obj(points, triangles)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MeshError("neither OBJ nor STL: no text, nor a binary STL of the length that it tells") from error
    lines = [line.split() for line in text.splitlines()]
    if any(line[:1] == ["facet"] for line in lines):
        points, triangles = _joined(_facets(lines))
    else:
        points, triangles = _obj(lines)
    return points, triangles, text


def enclosed(points: tuple[Vec3, ...], triangles: Triangles) -> float | None:
    """Return the volume inside of a surface of triangles, None where that is not closed."""
    sides = {(t[n], t[n - 2]) for t in triangles for n in range(3)}
    if not triangles or len(sides) != 3 * len(triangles) or any((b, a) not in sides for a, b in sides):
        return None
    six = 0.0
    for t in triangles:
        (ax, ay, az), (bx, by, bz), (cx, cy, cz) = (points[n] for n in t)
        six += ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    return abs(six) / 6.0


def _binary(data: bytes) -> list[Vec3]:
    """Return the corners of a binary STL, three for each triangle."""
    found: list[Vec3] = []
    for *values, _ in struct.iter_unpack("<12fH", data[84:]):
        found += [
            (values[3], values[4], values[5]),
            (values[6], values[7], values[8]),
            (values[9], values[10], values[11]),
        ]
    return found


def _facets(lines: list[list[str]]) -> list[Vec3]:
    """Return the corners of an STL of text, three for each triangle."""
    found = [_vector(line, n) for n, line in enumerate(lines, start=1) if line[:1] == ["vertex"]]
    if len(found) % 3:
        raise MeshError(f"{len(found)} lines 'vertex', which is no multiple of 3")
    return found


def _joined(corners: list[Vec3]) -> tuple[tuple[Vec3, ...], Triangles]:
    """Return points that stand once, and triangles of their numbers."""
    number: dict[Vec3, int] = {}
    for corner in corners:
        number.setdefault(corner, len(number))
    triangles = tuple(
        (number[corners[k]], number[corners[k + 1]], number[corners[k + 2]]) for k in range(0, len(corners), 3)
    )
    return tuple(number), triangles


def _obj(lines: list[list[str]]) -> tuple[tuple[Vec3, ...], Triangles]:
    """Return points and triangles of an OBJ; faces of more corners are cut from their first."""
    points: list[Vec3] = []
    triangles: list[tuple[int, int, int]] = []
    for n, line in enumerate(lines, start=1):
        if line[:1] == ["v"]:
            points.append(_vector(line, n))
        elif line[:1] == ["f"]:
            try:
                found = [int(word.split("/")[0]) for word in line[1:]]
            except ValueError:
                raise MeshError(f"line {n}: '{' '.join(line)}' is no face") from None
            face = [k - 1 if k > 0 else len(points) + k for k in found]
            if len(face) < 3 or not all(0 <= k < len(points) for k in face):
                raise MeshError(f"line {n}: '{' '.join(line)}' is no face of points that stand before it")
            triangles += [(face[0], face[k], face[k + 1]) for k in range(1, len(face) - 1)]
    if not points:
        raise MeshError("neither OBJ nor STL: no line 'v x y z' and no 'facet'")
    return tuple(points), tuple(triangles)


def _vector(line: list[str], n: int) -> Vec3:
    """Return the numbers after the first word of line n."""
    try:
        x, y, z = (float(word) for word in line[1:4])
    except ValueError:
        raise MeshError(f"line {n}: '{' '.join(line)}' is no point") from None
    return (x, y, z)


def objects_of(text: str) -> list[slice]:
    """Return which triangles of an OBJ file belong to each of its objects and groups (lines `o` and `g`)."""
    begins, count = [0], 0
    for line in text.splitlines():
        words = line.split()
        if words[:1] in (["o"], ["g"]) and count > begins[-1]:
            begins.append(count)
        elif words[:1] == ["f"]:
            count += max(0, len(words) - 3)
    return [slice(a, b) for a, b in zip(begins, [*begins[1:], count], strict=True) if b > a]


def as_obj(points: tuple[Vec3, ...], triangles: Triangles) -> str:
    """Return the text of an OBJ file of these points and triangles."""
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in triangles]
    return "\n".join(lines) + "\n"
