"""Mass properties of solids against sums over a fine grid of points, and their laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.scene.mass_properties import eigenvalues, impossible, of_shapes, principal_moments, volume
from sim.scene.rotation import along_z, from_axis_angle, from_rpy, from_vector, multiply, rotate, unit
from sim.scene.spec import Shape
from tests.scene.examples import by_name, scene_of

pytestmark = pytest.mark.fast

length = st.floats(0.05, 2.0)
angle = st.floats(-math.pi, math.pi)
vector = st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
direction = vector.filter(lambda p: np.linalg.norm(p) > 0.1).map(unit)


def grid(a, b, c, n=80):
    """Return midpoints (n^3, 3) of cells of a box of half edges a, b, c, and the cells' volume."""
    axes = [np.linspace(-h, h, n, endpoint=False) + h / n for h in (a, b, c)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return points, 8 * a * b * c / n**3


def inside(kind, size, p):
    a, b, c = size
    if kind == "box":
        return np.all(2 * np.abs(p) <= size, axis=1)
    if kind == "cylinder":
        return (p[:, 0] ** 2 + p[:, 1] ** 2 <= a**2) & (2 * np.abs(p[:, 2]) <= c)
    if kind == "capsule":
        beyond = np.maximum(np.abs(p[:, 2]) - c / 2, 0)
        return p[:, 0] ** 2 + p[:, 1] ** 2 + beyond**2 <= a**2
    return (p[:, 0] / a) ** 2 + (p[:, 1] / b) ** 2 + (p[:, 2] / c) ** 2 <= 1


HALF = {
    "box": lambda a, b, c: (a / 2, b / 2, c / 2),
    "sphere": lambda a, b, c: (a, a, a),
    "ellipsoid": lambda a, b, c: (a, b, c),
    "cylinder": lambda a, b, c: (a, a, c / 2),
    "capsule": lambda a, b, c: (a, a, c / 2 + a),
}


@pytest.mark.parametrize("kind", HALF)
@pytest.mark.parametrize("size", [(0.3, 0.5, 0.7), (0.2, 0.9, 0.4)])
def test_volume_and_moments_are_those_of_many_points(kind, size):
    if kind != "box" and kind != "ellipsoid":
        size = (size[0], size[0], size[0] if kind == "sphere" else size[2])
    points, cell = grid(*HALF[kind](*size))
    points = points[inside(kind, size, points)]
    assert volume(kind, size) == pytest.approx(len(points) * cell, rel=5e-3)
    squares = (points**2).mean(axis=0)
    summed = squares.sum() - squares
    # A cell at the surface counts whole or not at all: 80 cells across leave half a percent.
    assert principal_moments(kind, size) == pytest.approx(summed, rel=8e-3)


@given(length, length)
def test_a_capsule_lies_between_its_cylinder_and_its_hull(radius, long):
    size = (radius, radius, long)
    outer = (radius, radius, long + 2 * radius)
    assert volume("cylinder", size) < volume("capsule", size) < volume("cylinder", outer)
    moments = np.array(principal_moments("capsule", size)) * volume("capsule", size)
    assert np.all(moments < np.array(principal_moments("cylinder", outer)) * volume("cylinder", outer))
    assert np.all(moments > np.array(principal_moments("cylinder", size)) * volume("cylinder", size))


def test_a_capsule_without_length_is_a_ball():
    size = (0.3, 0.3, 1e-12)
    assert volume("capsule", size) == pytest.approx(volume("sphere", (0.3,) * 3))
    assert principal_moments("capsule", size) == pytest.approx(principal_moments("sphere", (0.3,) * 3))


def shape(kind, size, position=(0.0, 0.0, 0.0), orientation=(1.0, 0.0, 0.0, 0.0)):
    return Shape(kind=kind, size=size, position=position, orientation=orientation, color=(0, 0, 0, 1))


@given(length, length, length, vector, direction, angle)
def test_two_halves_of_a_box_are_the_box(a, b, c, position, axis, turn):
    q = from_axis_angle(axis, turn)
    whole = of_shapes([shape("box", (a, b, c), position, q)], 3.0)
    offset = rotate(q, (a / 4, 0.0, 0.0))
    halves = [
        shape("box", (a / 2, b, c), tuple(p + s * o for p, o in zip(position, offset, strict=True)), q) for s in (-1, 1)
    ]
    both = of_shapes(halves, 3.0)
    assert both.com == pytest.approx(whole.com, abs=1e-12)
    assert both.inertia == pytest.approx(whole.inertia, rel=1e-9, abs=1e-12)


@given(length, length, length, direction, angle)
def test_turning_a_solid_keeps_its_principal_moments(a, b, c, axis, turn):
    turned = of_shapes([shape("ellipsoid", (a, b, c), orientation=from_axis_angle(axis, turn))], 2.0)
    moments = sorted(2.0 * m for m in principal_moments("ellipsoid", (a, b, c)))
    assert eigenvalues(turned.inertia) == pytest.approx(moments, rel=1e-10)


@given(st.lists(st.floats(-5, 5), min_size=6, max_size=6))
def test_eigenvalues_are_those_of_numpy(entries):
    xx, yy, zz, xy, xz, yz = entries
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert eigenvalues(tuple(entries)) == pytest.approx(np.linalg.eigvalsh(matrix), abs=1e-12)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0.1, 2), vector), min_size=1, max_size=8))
def test_no_cloud_of_points_is_called_impossible(points):
    masses, places = np.array([m for m, _ in points]), np.array([p for _, p in points])
    offset = places - masses @ places / masses.sum()
    inertia = np.einsum("i,ijk->jk", masses, (offset**2).sum(1)[:, None, None] * np.eye(3) - np.einsum("ij,ik->ijk", offset, offset))  # fmt: skip # noqa: E501
    assert impossible(tuple(inertia[i] for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))) == ""


def test_a_moment_larger_than_the_sum_of_the_others_is_impossible():
    assert impossible((1.0, 1.0, 2.0, 0.0, 0.0, 0.0)) == ""
    assert "exceeds the sum" in impossible((1.0, 1.0, 2.1, 0.0, 0.0, 0.0))
    assert "negative" in impossible((1.0, 1.0, 1.0, 3.0, 0.0, 0.0))


@given(direction)
def test_along_z_turns_z_into_the_direction(p):
    assert rotate(along_z(p), (0.0, 0.0, 1.0)) == pytest.approx(p, abs=1e-12)


@given(angle, angle, angle, vector)
def test_rpy_turns_about_fixed_axes_in_turn(roll, pitch, yaw, p):
    turned = p
    for axis, turn in (((1.0, 0, 0), roll), ((0, 1.0, 0), pitch), ((0, 0, 1.0), yaw)):
        turned = rotate(from_axis_angle(axis, turn), turned)
    assert rotate(from_rpy(roll, pitch, yaw), p) == pytest.approx(turned, abs=1e-12)


@given(direction, angle, direction, angle, vector)
def test_products_of_quaternions_compose_rotations(a, s, b, t, p):
    q, r = from_vector(tuple(s * x for x in a)), from_axis_angle(b, t)
    assert rotate(multiply(q, r), p) == pytest.approx(rotate(q, rotate(r, p)), abs=1e-12)


BODIES = """\
bodies:
  dense: {density: 1000, shapes: [{box: {center: [0, 0, 1], size: [0.1, 0.2, 0.3]}}]}
  heavy: {mass: 6, shapes: [{box: {center: [0, 0, 1], size: [0.1, 0.2, 0.3]}}]}
  shared:
    mass: 3 kg
    shapes: [{sphere: {center: [1, 0, 0], radius: 0.1}}, {sphere: {center: [-1, 0, 0], radius: 0.2}}]
  point: {mass: 2 kg, position: [1, 2, 3]}
  massless: {}
  measured: {mass: 2, com: [0, 0, 0.1], inertia: [3, 4, 5, 0.1, 0.2, 0.3], shapes: [{sphere: {radius: 1}}]}
  spread: {mass: 2, com: [0, 0, 0.1], gyration: [0.1, 0.2, 0.2]}
"""


def test_bodies_have_the_mass_properties_that_are_written_or_follow():
    bodies = by_name(scene_of(BODIES).bodies)
    assert bodies["dense"].mass == pytest.approx(6.0)
    assert bodies["dense"].inertia == pytest.approx(bodies["heavy"].inertia)
    assert bodies["heavy"].inertia[:3] == pytest.approx((0.065, 0.05, 0.025))
    assert bodies["shared"].com[0] == pytest.approx(-7 / 9)  # volumes 1 : 8
    reduced = 3 * (1 / 9) * (8 / 9) * 4
    assert bodies["shared"].inertia[1] == pytest.approx(reduced + 0.4 * (3 / 9 * 0.01 + 24 / 9 * 0.04))
    assert (bodies["point"].com, bodies["point"].inertia) == ((1, 2, 3), (0,) * 6)
    massless = bodies["massless"]
    assert (massless.mass, massless.com, massless.inertia) == (0, (0, 0, 0), (0,) * 6)
    assert bodies["measured"].inertia == (3, 4, 5, 0.1, 0.2, 0.3)
    assert bodies["measured"].com == (0, 0, 0.1)
    assert bodies["spread"].inertia == pytest.approx((0.02, 0.08, 0.08, 0, 0, 0))
