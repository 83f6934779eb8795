"""Meshes: closed, outward, of the right size, smooth where round and sharp where not."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from render.meshes import mesh

SIZES = {
    "box": (0.4, 0.6, 1.0),
    "sphere": (0.3, 0.3, 0.3),
    "ellipsoid": (0.2, 0.3, 0.5),
    "capsule": (0.1, 0.1, 0.7),
    "cylinder": (0.2, 0.2, 0.5),
}
VOLUMES = {
    "box": 0.4 * 0.6 * 1.0,
    "sphere": 4 / 3 * np.pi * 0.3**3,
    "ellipsoid": 4 / 3 * np.pi * 0.2 * 0.3 * 0.5,
    "capsule": np.pi * 0.1**2 * 0.7 + 4 / 3 * np.pi * 0.1**3,
    "cylinder": np.pi * 0.2**2 * 0.5,
}
EXTENTS = {
    "box": (0.2, 0.3, 0.5),
    "sphere": (0.3, 0.3, 0.3),
    "ellipsoid": (0.2, 0.3, 0.5),
    "capsule": (0.1, 0.1, 0.45),
    "cylinder": (0.2, 0.2, 0.25),
}


@pytest.mark.parametrize("kind", SIZES)
def test_closed_outward_and_of_the_right_size(kind):
    made = mesh(kind, np.array(SIZES[kind]))
    a, b, c = (made.vertices[made.faces[:, k]] for k in range(3))
    volume = np.einsum("fi,fi->f", a, np.cross(b, c)).sum() / 6
    assert 0.97 * VOLUMES[kind] < volume <= VOLUMES[kind] * (1 + 1e-12)  # inscribed
    assert np.abs(made.vertices).max(axis=0) == pytest.approx(EXTENTS[kind])
    place = [tuple(np.round(v, 9) + 0.0) for v in made.vertices]
    edges = Counter((place[f[i]], place[f[(i + 1) % 3]]) for f in made.faces for i in range(3))
    edges = Counter({edge: n for edge, n in edges.items() if edge[0] != edge[1]})
    assert all(edges[(q, p)] == n for (p, q), n in edges.items())  # each edge once in each direction


@pytest.mark.parametrize("kind", SIZES)
def test_normals_are_unit_and_those_of_the_surface(kind):
    made = mesh(kind, np.array(SIZES[kind]))
    assert np.linalg.norm(made.normals, axis=1) == pytest.approx(np.ones(len(made.normals)))
    a, b, c = (made.vertices[made.faces[:, k]] for k in range(3))
    flat = np.cross(b - a, c - a)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    agreement = np.einsum("fi,fki->fk", flat, made.normals[made.faces])
    assert agreement.min() > (1 - 1e-12 if kind == "box" else 0.97)


def test_normals_of_round_solids_are_exact():
    size = np.array(SIZES["ellipsoid"])
    made = mesh("ellipsoid", size)
    gradient = made.vertices / size**2
    assert made.normals == pytest.approx(gradient / np.linalg.norm(gradient, axis=1, keepdims=True))
    made = mesh("capsule", np.array(SIZES["capsule"]))
    ends = np.clip(made.vertices[:, 2], -0.35, 0.35)[:, None] * [0, 0, 1]
    assert made.normals == pytest.approx((made.vertices - ends) / 0.1)


def test_the_rim_of_a_cylinder_is_sharp():
    made = mesh("cylinder", np.array(SIZES["cylinder"]))
    rim = made.normals[(np.abs(made.vertices[:, 2] - 0.25) < 1e-12) & (np.hypot(*made.vertices[:, :2].T) > 0.1)]
    assert {tuple(np.round([abs(n[2]), np.hypot(n[0], n[1])], 12)) for n in rim} == {(1.0, 0.0), (0.0, 1.0)}


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="shape kind 'torus'"):
        mesh("torus", np.ones(3))
