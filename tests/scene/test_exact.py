"""Numbers of the scene language one by one: units, bounds just within and just beyond, rotations, masses, times."""

from __future__ import annotations

import ast
import math
from types import SimpleNamespace as Made

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.scene import formula
from sim.scene.check import check_events
from sim.scene.colors import UNSET, color_of, parse_color
from sim.scene.counts import check_counts, check_freedoms, check_pairs
from sim.scene.expressions import ExpressionError, evaluate, names_in, python_syntax
from sim.scene.findings import Findings
from sim.scene.hull import HullError, hull_of, plane_of
from sim.scene.load import load_text
from sim.scene.mass_properties import eigenvalues, impossible, of_shapes, shifted, turned, turned_tensor
from sim.scene.meshes import MeshError, enclosed, mesh_of
from sim.scene.mirror import Mirror
from sim.scene.names import Unreadable, full_name, is_name, is_pattern, matching, nearest, own_name
from sim.scene.problem import Place, Problem, SceneError
from sim.scene.reading import _out_of_range
from sim.scene.rotation import along_z, cross, dot, from_axis_angle, from_rpy, from_vector, multiply, norm, rotate, unit
from sim.scene.spec import Action, Event, Shape
from sim.scene.traps import number_trap, trap_of_empty
from sim.scene.units import UNITS, Quantity, describe, parse_unit

pytestmark = pytest.mark.fast

# --- units ----------------------------------------------------------------------------------------

SI = {
    "m": (1, "m"),
    "km": (1000, "m"),
    "dm": (0.1, "m"),
    "cm": (0.01, "m"),
    "mm": (0.001, "m"),
    "um": (1e-6, "m"),
    "kg": (1, "kg"),
    "g": (0.001, "kg"),
    "mg": (1e-6, "kg"),
    "s": (1, "s"),
    "ms": (0.001, "s"),
    "us": (1e-6, "s"),
    "Hz": (1, "s^-1"),
    "kHz": (1000, "s^-1"),
    "rad": (1, ""),
    "mrad": (0.001, ""),
    "deg": (0.017453292519943295, ""),
    "rpm": (0.10471975511965977, "s^-1"),
    "N": (1, "kg m s^-2"),
    "mN": (0.001, "kg m s^-2"),
    "kN": (1000, "kg m s^-2"),
    "J": (1, "kg m^2 s^-2"),
    "kJ": (1000, "kg m^2 s^-2"),
    "W": (1, "kg m^2 s^-3"),
    "kW": (1000, "kg m^2 s^-3"),
    "Pa": (1, "kg m^-1 s^-2"),
    "kPa": (1000, "kg m^-1 s^-2"),
    "MPa": (1e6, "kg m^-1 s^-2"),
    "GPa": (1e9, "kg m^-1 s^-2"),
}


def powers(text: str) -> tuple[float, ...]:
    found = {"kg": 0.0, "m": 0.0, "s": 0.0}
    for word in text.split():
        name, _, power = word.partition("^")
        found[name] = float(power or 1)
    return tuple(found.values())


def test_units_are_those_of_the_si():
    assert set(UNITS) == set(SI)
    for name, (value, dimension) in SI.items():
        found = evaluate(f"3 {name}", {})
        assert found.value == pytest.approx(3 * value, rel=1e-15) and found.dimension == powers(dimension), name
        assert not found.bare


WORDS = {
    "": "a pure number or an angle",
    "m": "a length (m)",
    "kg": "a mass (kg)",
    "s": "a time (s)",
    "s^-1": "a rate (1/s)",
    "m s^-1": "a speed (m/s)",
    "m s^-2": "an acceleration (m/s^2)",
    "kg m s^-2": "a force (N)",
    "kg m^2 s^-2": "a torque or an energy (N m)",
    "kg m s^-1": "an impulse (N s)",
    "kg m^-3": "a density (kg/m^3)",
    "kg m^2": "a moment of inertia (kg m^2)",
    "kg s^-2": "a stiffness (N/m)",
    "kg s^-1": "a damping (N s/m)",
    "kg m^2 s^-1": "an angular impulse (N m s)",
    "kg m^2 s^-3": "a power (W)",
    "kg^2 m s^-3": "kg^2 m s^-3",
    "m^0.5": "m^0.5",
}


def test_dimensions_are_words():
    for dimension, words in WORDS.items():
        assert describe(powers(dimension)) == words


@pytest.mark.parametrize(
    ("unit_text", "value", "dimension"),
    [
        ("N m/rad", 1, "kg m^2 s^-2"),
        ("N/m", 1, "kg s^-2"),
        ("kg/m^3", 1, "kg m^-3"),
        ("1/m", 1, "m^-1"),
        ("s/m", 1, "m^-1 s"),
        ("cm^2/ms", 0.1, "m^2 s^-1"),
        ("N*m", 1, "kg m^2 s^-2"),
        ("m/s^2", 1, "m s^-2"),
        ("cm/s/s", 0.01, "m s^-2"),
    ],
)
def test_units_of_the_schema_are_products_and_quotients(unit_text, value, dimension):
    found = parse_unit(unit_text)
    assert found.value == pytest.approx(value) and found.dimension == powers(dimension) and not found.bare


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("1/2 s", "1/(2*s)"),
        ("2 N m/rad", "(2*N*m/rad)"),
        ("2 m^2", "(2*m**2)"),
        ("2 m^-2 s", "(2*m**-2*s)"),
        ("(1 + 2) cm", "(1+2)*cm"),
        ("2 m/x", "(2*m)/x"),
        ("a and b", "a and b"),
        ("2^3", "2**3"),
        ("x**2", "x**2"),
        ("1 m/s/s", "(1*m/s/s)"),
        ("2*m", "2*m"),
        ("3 m - 1 m", "(3*m)-(1*m)"),
    ],
)
def test_a_number_takes_the_units_behind_it(text, python):
    assert python_syntax(text) == python


def test_names_of_an_expression_are_found():
    assert names_in("2*a + sin(b)/1 s") == {"a", "b", "sin", "s"} and names_in("2 +") == set()


def test_expressions_are_no_longer_than_a_thousand_characters():
    assert evaluate("1 +" + " " * 996 + "2", {}).value == 3.0
    with pytest.raises(ExpressionError, match="an expression of 1001 characters; 1000 are the most"):
        evaluate("1 +" + " " * 997 + "2", {})


DIRECTORY = formula.Directory(
    joints={
        "j": "rotational",
        "s": "translational",
        "c": "cylindrical",
        "u": "universal",
        "p": "planar",
        "b": "spherical",
        "f": "free",
    },
    bodies=("body",),
    points=("body.tip", "world.peg"),
    springs=("cord",),
    contacts=("rub",),
    constraints={"wheel": "rolling"},
)


@pytest.mark.parametrize(
    ("text", "unit_text"),
    [
        ("coordinate('j')", "rad"),
        ("coordinate('s')", "m"),
        ("coordinate('c')[0]", "m"),
        ("coordinate('c')[1]", "rad"),
        ("coordinate('u')[1]", "rad"),
        ("coordinate('p')[0]", "m"),
        ("coordinate('p')[1]", "m"),
        ("coordinate('p')[2]", "rad"),
        ("coordinate('b')[2]", "rad"),
        ("coordinate('f')[2]", "m"),
        ("coordinate('f')[3]", "rad"),
        ("rate('j')", "rad/s"),
        ("rate('s')", "m/s"),
        ("rate('c')[1]", "rad/s"),
        ("rate('f')[0]", "m/s"),
        ("rate('f')[5]", "rad/s"),
        ("torque('j')", "N m"),
        ("torque('s')", "N"),
        ("torque('c')[0]", "N"),
        ("torque('c')[1]", "N m"),
        ("force('j')[2]", "N"),
        ("force('rub')[0]", "N"),
        ("force('wheel')[1]", "N"),
        ("position('body')[2]", "m"),
        ("position('world.peg')[0]", "m"),
        ("velocity('body.tip')[2]", "m/s"),
        ("orientation('body')[2]", "rad"),
        ("distance('body', 'world.peg')", "m"),
        ("local('body.tip', 'body')[2]", "m"),
        ("length('cord')", "m"),
        ("tension('cord')", "N"),
        ("energy()", "J"),
        ("com()[2]", "m"),
        ("com('body')[0]", "m"),
        ("t", "s"),
    ],
)
def test_what_is_read_while_a_scene_runs_has_a_dimension(text, unit_text):
    formula.number(text, {}, DIRECTORY, "", Place("a", 1, 1), unit_text)
    for more in ("kg", "m", "s"):
        with pytest.raises(ExpressionError, match=r"^expected .*, found "):
            formula.number(f"{text}*(1 {more})", {}, DIRECTORY, "", Place("a", 1, 1), unit_text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("coordinate('x')", "no joint named 'x'"),
        ("force('body')", "no joint, contact or constraint named 'body'"),
        ("position('j')", "no body or point named 'j'"),
        ("length('j')", "no spring named 'j'"),
        ("com('world')", "the world stands still"),
        ("coordinate(j)", "coordinate(...) takes the name of a joint in quotes"),
        ("coordinate()", "coordinate(...) takes 1 argument, not 0"),
        ("distance('body')", "distance(...) takes 2 arguments, not 1"),
        ("energy('body')", "energy(...) takes 0 arguments, not 1"),
        ("com('body', 'body')", "com(...) takes 0 or more arguments, not 2"),
        ("min(1)", "min(...) takes 2 or more arguments, not 1"),
        ("clip(1, 2)", "clip(...) takes 3 arguments, not 2"),
        ("coordinate('b')[3]", "index [3] of 3 numbers: they are counted from [0] to [2]"),
        ("coordinate('b')[-1]", "an index is a whole number, such as [0]"),
        ("sqrt(-1)", "sqrt(-1) is not a finite number"),
        ("log(0)", "log(0) is not a finite number"),
        ("exp(1000)", "exp(1000) is not a finite number"),
        ("1/0", "division by zero"),
        ("0^(-1)", "0 to the power -1 is not a finite number"),
        ("dot([1, 2], [1])", "dot takes two lists of one length, not 2 and 1"),
        ("cross([1, 2], [1, 2, 3])", "cross takes two lists of three numbers, not 2 and 3"),
        ("norm(3)", "can take norm of a list of numbers only, such as position('body')"),
        ("5 % 2", "the operator % is not part of the language"),
        ("5 // 2", "the operator // is not part of the language"),
        ("x", "no parameter or unit named 'x'"),
        ("sin", "'sin' is a function: it needs arguments in ( )"),
        ("1, 2", "several numbers where one is wanted"),
        ("2 feet", "no unit named 'feet'"),
        ("1 m^x", "the power of a unit is a number, as in m^2; found 'x'"),
        ("1 m^", "the power of a unit is a number, as in m^2; found 'the end'"),
        ("t == 2 s", "numbers that vary are never exactly equal"),
        ("not 3", "'and', 'or' and 'not' join comparisons, such as t > 2 s"),
    ],
)
def test_what_cannot_be_meant_is_said(text, what):
    with pytest.raises(ExpressionError) as caught:
        formula.number(text, {}, DIRECTORY, "", Place("a", 1, 1), "1")
    assert caught.value.what == what


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("sqrt(16 m^4)", 4.0, "m^2"),
        ("sqrt(4 kg^3/s)", 2.0, "kg^1.5 s^-0.5"),
        ("cross([1, 2, 3], [4, 5, 7])[0]", -1.0, ""),
        ("cross([1, 2, 3], [4, 5, 7])[1]", 5.0, ""),
        ("cross([1, 2, 3], [4, 5, 7])[2]", -3.0, ""),
        ("dot([1, 2, 3], [4, 5, 7])", 35.0, ""),
        ("norm([2 m, 3 m, 6 m])", 7.0, "m"),
        ("clip(5, 1, 3)", 3.0, ""),
        ("clip(0.5, 1, 3)", 1.0, ""),
        ("clip(2, 1, 3)", 2.0, ""),
        ("min(3, 2, 7)", 2.0, ""),
        ("max(3, 2, 7)", 7.0, ""),
        ("abs(-2 m)", 2.0, "m"),
        ("atan2(1, -2)", 2.677945044588987, ""),
        ("asin(0.5)", 0.5235987755982989, ""),
        ("acos(0.2)", 1.369438406004566, ""),
        ("atan(2)", 1.1071487177940904, ""),
        ("sin(0.3)", 0.29552020666133955, ""),
        ("cos(0.3)", 0.955336489125606, ""),
        ("tan(0.3)", 0.30933624960962325, ""),
        ("exp(2)", 7.38905609893065, ""),
        ("log(3)", 1.0986122886681098, ""),
        ("(2 m)^3", 8.0, "m^3"),
        ("(4 m^2 kg)^0.5", 2.0, "kg^0.5 m"),
        ("6 m/(2 s)", 3.0, "m s^-1"),
        ("-(2 m)", -2.0, "m"),
        ("([1, 2] - [3, 5])[1]", -3.0, ""),
        ("([1, 2]*3)[1]", 6.0, ""),
        ("(3*[1, 2])[1]", 6.0, ""),
        ("([1, 2]/4)[1]", 0.5, ""),
        ("(-[1, 2])[1]", -2.0, ""),
        ("[0, 2 cm][0]", 0.0, "m"),
        ("5 m - 2", 3.0, "m"),
    ],
)
def test_functions_have_values_and_dimensions(text, value, dimension):
    found = evaluate(text, {})
    assert found.value == pytest.approx(value, rel=1e-14) and found.dimension == powers(dimension)


# --- bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "schema", "unit_text", "what"),
    [
        (math.nan, {}, "m", "nan is not a finite number"),
        (math.inf, {}, "m", "inf is not a finite number"),
        (math.inf, {"x-infinite": True}, "m", ""),
        (3.0 + 0.9e-9, {"type": "integer"}, "1", ""),
        (3.0 + 2e-9, {"type": "integer"}, "1", "expected a whole number, found 3"),
        (2.5, {"type": "integer"}, "1", "expected a whole number, found 2.5"),
        (1.0, {"minimum": 1}, "s", ""),
        (0.99, {"minimum": 1}, "s", "expected at least 1, found 0.99 s"),
        (1.0, {"exclusiveMinimum": 1}, "1", "expected more than 1, found 1"),
        (1.01, {"exclusiveMinimum": 1}, "1", ""),
        (2.0, {"maximum": 2}, "N or N m", ""),
        (2.01, {"maximum": 2}, "N or N m", "expected at most 2, found 2.01"),
        (1e8, {}, "m", ""),
        (-1e8, {}, "rad/s", ""),
        (1.1e8, {}, "m", "found 110000000 m: numbers of this size are told to 1e-08 m only; expected at most 1e+08"),
        (
            -3e8,
            {},
            "m/s or rad/s",
            "found -300000000: numbers of this size are told to 6e-08 only; expected at most 1e+08",
        ),
        (1.1e8, {}, "kg", ""),
        (1.1e8, {}, "m or N", ""),
        (1e30, {}, "kg", ""),
        (-1e30, {}, "kg", ""),
        (
            1.1e30,
            {},
            "kg",
            "found 1.1e+30 kg: what is computed with numbers of this size overflows; expected at most 1e+30",
        ),
        (1e-9, {"exclusiveMinimum": 0}, "m", ""),
        (
            0.9e-9,
            {"exclusiveMinimum": 0},
            "m",
            "found 9e-10 m: what is computed with numbers so small is lost; expected at least 1e-09",
        ),
        (1e-30, {"minimum": 0}, "kg", ""),
        (0.0, {"minimum": 0}, "kg", ""),
        (
            0.9e-30,
            {"minimum": 0},
            "kg",
            "found 9e-31 kg: what is computed with numbers so small is lost; expected at least 1e-30",
        ),
        (1e-12, {"minimum": 0}, "m", ""),
        (1e-300, {}, "m", ""),
        (-1e-300, {}, "m", ""),
        (1e-300, {"minimum": -1}, "m", ""),
    ],
)
def test_numbers_have_bounds(value, schema, unit_text, what):
    assert _out_of_range(value, schema, unit_text) == what


def refused(text: str) -> list[str]:
    try:
        load_text("schema: 1\n" + text)
    except SceneError as error:
        return [problem.what for problem in error.problems]
    return []


# --- rotations ------------------------------------------------------------------------------------

RNG = np.random.default_rng(7)


def scipys(q) -> Rotation:
    return Rotation.from_quat(q, scalar_first=True)


def same(q, rotation: Rotation) -> bool:
    found, expected = np.array(q), rotation.as_quat(scalar_first=True)
    return bool(np.allclose(found, expected, atol=1e-14) or np.allclose(found, -expected, atol=1e-14))


def random_quat():
    q = RNG.normal(size=4)
    return tuple((q / np.linalg.norm(q)).tolist())


def test_rotations_are_those_of_scipy():
    for _ in range(4):
        a, b = random_quat(), random_quat()
        p = tuple(RNG.normal(size=3).tolist())
        assert same(multiply(a, b), scipys(a) * scipys(b))
        assert rotate(a, p) == pytest.approx(scipys(a).apply(p), abs=1e-14)
        axis = unit(p)
        assert same(from_axis_angle(axis, 2.5), Rotation.from_rotvec(2.5 * np.array(axis)))
        assert same(from_vector(p), Rotation.from_rotvec(p))
        assert same(from_rpy(*p), Rotation.from_euler("xyz", p))
        assert (norm(p), dot(p, axis)) == pytest.approx((np.linalg.norm(p), np.linalg.norm(p)))
        q = tuple(RNG.normal(size=3).tolist())
        assert cross(p, q) == pytest.approx(np.cross(p, q)) and dot(p, q) == pytest.approx(np.dot(p, q))
    assert from_vector((0.0, 0.0, 0.0)) == (1.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("z", [1.0, 0.6, 0.0, -0.6, -1.0 + 1e-12, -1.0 + 1e-16])
@pytest.mark.parametrize("turn", [0.4, 2.5, -1.9])
def test_the_least_turn_of_z_is_about_an_axis_across(z, turn):
    r = math.sqrt(max(0.0, (1.0 - z) * (1.0 + z))) or 1e-9 * (z < 0.0)
    p = (r * math.cos(turn), r * math.sin(turn), z)
    q = along_z(p)
    assert rotate(q, (0.0, 0.0, 1.0)) == pytest.approx(p, abs=1e-14) and q[3] == 0.0
    assert norm(q) == pytest.approx(1.0, abs=1e-15)
    assert q[0] == pytest.approx(math.cos(0.5 * math.atan2(r, z)), abs=1e-12)
    assert dot((q[1], q[2], 0.0), p) == pytest.approx(0.0, abs=1e-12)


def test_z_itself_and_its_opposite_are_turned_by_nothing_and_by_half():
    assert along_z((0.0, 0.0, 1.0)) == (1.0, 0.0, 0.0, 0.0) and along_z((0.0, 0.0, -1.0)) == (0.0, 1.0, 0.0, 0.0)
    assert along_z((1e-151, 0.0, -1.0)) == (0.0, 1.0, 0.0, 0.0)
    assert along_z((1e-149, 0.0, -1.0)) == pytest.approx((0.0, 0.0, 1.0, 0.0), abs=1e-15)


ORIENTED = "bodies: {{b: {{mass: 1, shapes: [{{box: {{size: [1, 2, 3], orientation: {{{0}}}}}}}]}}}}\n"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("rpy: [0.3, -0.4, 0.7]", Rotation.from_euler("xyz", [0.3, -0.4, 0.7])),
        (
            "axis_angle: {axis: [1, 2, -2], angle: 40 deg}",
            Rotation.from_rotvec(math.radians(40) * np.array([1, 2, -2]) / 3),
        ),
        ("quat_wxyz: [0.5, -0.5, 0.5, 0.5]", Rotation.from_quat([-0.5, 0.5, 0.5, 0.5])),
        ("quat_xyzw: [0.5, -0.5, 0.5, -0.5]", Rotation.from_quat([0.5, -0.5, 0.5, -0.5])),
        ("quat_wxyz: [0.6005, 0.8006, 0, 0]", Rotation.from_quat([0.8006, 0, 0, 0.6005])),  # 7.8e-4 too long
        ("quat_wxyz: [0.5004, -0.5004, 0.5004, 0.5004]", Rotation.from_quat([-0.5, 0.5, 0.5, 0.5])),
        ("quat_wxyz: [0.5995, 0.7994, 0, 0]", Rotation.from_quat([0.7994, 0, 0, 0.5995])),  # ... and too short
    ],
)
def test_orientations_are_read_by_their_conventions(written, expected):
    (body,) = load_text("schema: 1\n" + ORIENTED.format(written)).bodies
    (shape,) = body.shapes
    assert same(shape.orientation, expected) and norm(shape.orientation) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("quat_wxyz: [0.6009, 0.8012, 0, 0]", "a quaternion of length 1.0015, not 1"),
        ("quat_xyzw: [0, 0, 0.5991, 0.7988]", "a quaternion of length 0.9985, not 1"),
        ("axis_angle: {axis: [0, 0, 0], angle: 1}", "a zero vector has no direction"),
    ],
)
def test_orientations_that_are_none_are_refused(written, what):
    assert refused(ORIENTED.format(written)) == [what]


# --- mass -----------------------------------------------------------------------------------------


def tensor(six) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def six_of(matrix: np.ndarray) -> tuple[float, ...]:
    return tuple(matrix[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def test_tensors_are_turned_and_moved_as_matrices():
    q, p = random_quat(), np.array([0.3, -0.5, 0.7])
    R = scipys(q).as_matrix()
    assert turned((1.0, 2.0, 2.5), q) == pytest.approx(six_of(R @ np.diag([1, 2, 2.5]) @ R.T), abs=1e-14)
    six = (3.0, 4.0, 5.0, 0.1, 0.2, 0.3)
    assert turned_tensor(six, q) == pytest.approx(six_of(R @ tensor(six) @ R.T), abs=1e-14)
    moved = tensor(six) + 2.5 * (p @ p * np.eye(3) - np.outer(p, p))
    assert shifted(six, 2.5, tuple(p)) == pytest.approx(six_of(moved), abs=1e-14)
    assert eigenvalues(six) == pytest.approx(np.linalg.eigvalsh(tensor(six)), abs=1e-14)


def box(size, position, orientation, density=None) -> Shape:
    return Shape(kind="box", size=size, position=position, orientation=orientation, color=(0, 0, 0, 1), density=density)


def test_shapes_share_a_mass_by_volume_and_density():
    q, r = random_quat(), random_quat()
    shapes = [
        box((1.0, 2.0, 3.0), (0.1, 0.2, 0.3), q, 2.0),
        box((0.5, 0.4, 0.3), (-1.0, 0.7, 0.2), r, 50.0),
        box((1.0, 1.0, 1.0), (0, 0, 5.0), q),
    ]
    found = of_shapes(shapes, 7.0)
    weights = np.array([12.0, 3.0, 1.0])
    places = np.array([shape.position for shape in shapes])
    com = weights @ places / 16.0
    total = np.zeros((3, 3))
    for weight, shape in zip(weights * 7.0 / 16.0, shapes, strict=True):
        R, (a, b, c) = scipys(shape.orientation).as_matrix(), shape.size
        own = weight / 12.0 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
        d = np.array(shape.position) - com
        total += R @ own @ R.T + weight * (d @ d * np.eye(3) - np.outer(d, d))
    assert (
        found.mass == 7.0
        and found.com == pytest.approx(com)
        and found.inertia == pytest.approx(six_of(total), rel=1e-12)
    )
    # What weighs nothing has its centre in the middle of the volumes.
    nothing = of_shapes([box((1.0, 1.0, 1.0), (0, 0, 0), q, 0.0), box((3.0, 1.0, 1.0), (4.0, 0, 0), r, 0.0)], 0.0)
    assert nothing.com == pytest.approx((3.0, 0, 0)) and nothing.inertia == (0.0,) * 6


def test_moments_that_no_body_has_are_told():
    assert impossible((1.0, 1.0, 2.0 * 1.0009, 0, 0, 0)) == ""
    assert impossible((1.0, 1.0, 2.0 * 1.0011, 0, 0, 0)) == (
        "principal moments of inertia 1, 1, 2.002 kg m^2: the largest exceeds the sum of the others (2)"
    )
    assert impossible((-0.9e-12, 1.0, 1.0, 0, 0, 0)) == ""
    assert (
        impossible((-1.1e-12, 1.0, 1.0, 0, 0, 0))
        == "principal moments of inertia -1.1e-12, 1, 1 kg m^2: one is negative"
    )
    assert impossible((0.0,) * 6) == ""


def test_a_hull_weighs_what_its_tetrahedra_weigh():
    """A box and a tetrahedron, turned and put aside: by closed forms."""
    R, place = scipys(random_quat()).as_matrix(), np.array([3.0, -2.0, 5.0])
    corners = np.array([[x, y, z] for x in (0, 1.0) for y in (0, 2.0) for z in (0, 3.0)])
    points = tuple(map(tuple, (corners @ R.T + place).tolist()))
    centre, hull = hull_of(points)
    assert centre == pytest.approx(place + R @ [0.5, 1.0, 1.5], abs=1e-12) and hull.volume == pytest.approx(6.0)
    assert hull.moments == pytest.approx(six_of(R @ np.diag([13 / 12, 10 / 12, 5 / 12]) @ R.T), abs=1e-12)
    assert len(hull.corners) == 8 and sorted(map(len, hull.faces)) == [4] * 6
    for face in hull.faces:
        normal, middle = plane_of(np.array([hull.corners[n] for n in face]))
        assert normal @ middle > 0.0 and np.linalg.norm(normal) == pytest.approx(1.0)
        assert normal @ middle == pytest.approx(np.array([0.5, 1.0, 1.5])[np.argmax(np.abs(R.T @ normal))], abs=1e-12)
    a, b, c, d = np.array([[0, 0, 0], [2.0, 0, 0], [0, 3.0, 0], [0, 0, 4.0]])
    centre, hull = hull_of(tuple(map(tuple, [a, b, c, d])))
    # Of the corner tetrahedron the mean of x^2 is a^2/10, of xy ab/20, and the centre lies at a quarter.
    x2 = np.array([4.0, 9.0, 16.0]) / 10 - (np.array([2.0, 3.0, 4.0]) / 4) ** 2
    xy = [2 * 3 / 20 - 2 * 3 / 16, 2 * 4 / 20 - 2 * 4 / 16, 3 * 4 / 20 - 3 * 4 / 16]
    assert centre == pytest.approx((0.5, 0.75, 1.0)) and hull.volume == pytest.approx(4.0)
    assert hull.moments == pytest.approx((x2[1] + x2[2], x2[0] + x2[2], x2[0] + x2[1], *(-np.array(xy))))


@pytest.mark.parametrize(
    ("points", "what"),
    [
        (((0, 0, 0), (1, 0, 0), (0, 1, 0)), "3 points enclose nothing, at least four do"),
        (((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, math.nan)), "a coordinate is not finite"),
        (((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, -1.1e8)), "a coordinate of 1.1e+08 m; 1e+08 m are the most"),
        (
            ((0, 0, 0), (1e-10, 0, 0), (0, 1e-10, 0), (0, 0, 1e-10)),
            "all points within 8.29e-11 m; 1e-09 m are the least",
        ),
        (((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 1e-7)), "all points lie in a plane, or nearly"),
        (((0, 0, 0), (1, 0, 0), (0.5, 1e-3, 0), (0.5, 0, 1e-7)), "all points lie in a plane, or nearly"),  # a needle
    ],
)
def test_points_without_a_hull_are_told(points, what):
    with pytest.raises(HullError) as caught:
        hull_of(tuple(tuple(map(float, point)) for point in points))
    assert str(caught.value) == what


def test_points_within_a_hull_and_on_its_faces_are_no_corners():
    corners = [(x, y, z) for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)]
    more = [(0.5, 0.5, 0.5), (0.5, 0.5, 1.0), (0.25, 0.5, 0.0), (0.5, 0.0, 0.0)]
    _, hull = hull_of((*more, *corners))
    assert len(hull.corners) == 8 and hull.volume == pytest.approx(1.0)


OBJ = "v 0 0 0\nv 2 0 0\nv 0 3 0\nv 0 0 4 0.5\nf 1 3 2\nf 1/7 2/8 4/9\nf -4 -1 -2\nf 2 3 4\n"


def test_meshes_are_read_with_their_triangles():
    points, triangles, text = mesh_of(OBJ.encode())
    assert points == ((0, 0, 0), (2, 0, 0), (0, 3, 0), (0, 0, 4)) and text == OBJ
    assert triangles == ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    assert enclosed(points, triangles) == pytest.approx(4.0)
    assert enclosed(points, tuple(t[::-1] for t in triangles)) == pytest.approx(4.0)
    assert enclosed(points, triangles[:3]) is None and enclosed(points, ()) is None
    assert enclosed(points, (*triangles[:3], triangles[3][::-1])) is None
    _, fan, _ = mesh_of(b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")
    assert fan == ((0, 1, 2), (0, 2, 3))
    facets = "solid x\n" + "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {' '.join(map(str, points[n]))}\n" for n in t)
        + "endloop\nendfacet\n"
        for t in triangles
    )
    found, joined, _ = mesh_of(facets.encode())
    assert {found[n] for n in joined[1]} == {points[n] for n in triangles[1]} and len(found) == 4
    assert enclosed(found, joined) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("v 0 0\n", "line 1: 'v 0 0' is no point"),
        ("v 0 0 0\nv 1 x 0\n", "line 2: 'v 1 x 0' is no point"),
        ("v 0 0 0\nf 1 1\n", "line 2: 'f 1 1' is no face of points that stand before it"),
        ("v 0 0 0\nf 1 1 2\n", "line 2: 'f 1 1 2' is no face of points that stand before it"),
        ("v 0 0 0\nf 1 1 -2\n", "line 2: 'f 1 1 -2' is no face of points that stand before it"),
        ("v 0 0 0\nf 1 a 1\n", "line 2: 'f 1 a 1' is no face"),
        ("x\n", "neither OBJ nor STL: no line 'v x y z' and no 'facet'"),
        ("facet\nvertex 0 0 0\n", "1 lines 'vertex', which is no multiple of 3"),
    ],
)
def test_lines_of_meshes_that_say_nothing_are_named(text, what):
    with pytest.raises(MeshError) as caught:
        mesh_of(text.encode())
    assert str(caught.value) == what


# --- colours and names ----------------------------------------------------------------------------

NAMED = {
    "black": (0, 0, 0),
    "white": (255, 255, 255),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "silver": (192, 192, 192),
    "Light Gray": (211, 211, 211),
    "darkgray": (80, 80, 80),
    "RED": (214, 39, 40),
    "darkred": (139, 0, 0),
    "maroon": (128, 0, 0),
    "orange": (255, 127, 14),
    "gold": (255, 215, 0),
    "steelblue": (70, 130, 180),
    "#a0522d": (160, 82, 45),
    "#fa3": (255, 170, 51),
}


def test_colours_are_numbers_from_zero_to_one():
    for text, (r, g, b) in NAMED.items():
        assert parse_color(text) == pytest.approx((r / 255, g / 255, b / 255, 1.0)), text
    assert parse_color("#10203080") == pytest.approx((16 / 255, 32 / 255, 48 / 255, 128 / 255))
    for text in ("#12", "#1234", "#12345", "reddish", "a0522d", "#ggg"):
        assert parse_color(text) is None
    block = Made(get=lambda key: {"three": (0.1, 0.2, 0.3), "four": (0.1, 0.2, 0.3, 0.4), "color": "teal"}.get(key))
    assert color_of(block, "three") == (0.1, 0.2, 0.3, 1.0) and color_of(block, "four") == (0.1, 0.2, 0.3, 0.4)
    assert color_of(block) == pytest.approx((0, 128 / 255, 128 / 255, 1.0))
    assert color_of(block, "none") is UNSET and color_of(block, "none", (1, 2, 3, 4)) == (1, 2, 3, 4)


def test_names_are_full_and_own():
    assert [full_name("a.b", name) for name in ("c", "world", "world.p", "world.p.q")] == [
        "a.b.c",
        "world",
        "world.a.b.p",
        "world.a.b.p.q",
    ]
    assert [full_name("", name) for name in ("c", "world.p")] == ["c", "world.p"]
    assert [own_name("a", name) for name in ("a.c", "b.c", "world.a.p", "world.p", "ac")] == [
        "c",
        None,
        "world.p",
        None,
        None,
    ]
    assert own_name("", "a.c") == "a.c" and own_name("", "world.p") == "world.p"
    for name, right in (
        ("a", True),
        ("a_b-1", True),
        ("1a", True),
        ("12", False),
        ("a.b", False),
        ("", False),
        ("-a", False),
        ("é1", True),
    ):
        assert is_name(name) is right, name
    assert is_pattern("a*") and is_pattern("a?") and not is_pattern("a.b")
    assert matching("a?c*", ["abc", "ac", "abcd", "a.c\n", "xabc"]) == ["abc", "abcd", "a.c\n"]
    assert nearest("kne_l", ["knee_l", "hip_l"]) == "did you mean 'knee_l'?"
    assert nearest("x.knee_l", ["doll.body.of.knee_r", "doll.body.of.knee_l"]).startswith("did you mean")
    twelve = [f"{chr(97 + k)}{k:03d}" for k in range(12)]
    assert (
        nearest("zzz", twelve) == f"there is: {', '.join(twelve)}"
        and nearest("zzz", [*twelve, "m999"]) == ""
        and nearest("zzz", []) == ""
    )
    lost = Unreadable(frozenset({"a.b"}), frozenset({"p"}))
    assert "a.b" in lost and "p.x" in lost and "p" not in lost and "q.x" not in lost
    assert lost.may_match("a.?") and lost.may_match("p.*") and lost.may_match("?.*") and not lost.may_match("q.*")
    everything = Unreadable(prefixes=frozenset({""}))
    assert "anything" in everything and everything.may_match("x*")


@pytest.mark.parametrize(
    ("text", "quoted", "found"),
    [
        ("on", False, ("expected a number, found on, which YAML reads as true", "")),
        ("on", True, None),
        ("~", False, ("expected a number, found ~, which YAML reads as nothing", "")),
        ("1:30", False, ("1:30 counts in sixties in YAML", "write 90")),
        ("-1:30:15.5", False, ("-1:30:15.5 counts in sixties in YAML", "write -5415.5")),
        ("0x1F", False, ("0x1F is not a decimal number", "write 31")),
        ("-0b101", False, ("-0b101 is not a decimal number", "write -5")),
        ("0o17", False, ("0o17 is not a decimal number", "write 15")),
        ("017", False, ("017 begins with 0, which YAML reads in base 8", "write 17")),
        ("1_000", False, ("1_000 has underscores", "write 1000")),
        ("1,5 m", False, ("1,5 m has a decimal comma", "write 1.5 m")),
        ("-.INF", False, ("-.INF is YAML's own infinity", "where a number may be infinite, write inf")),
        (".NaN", False, ("not-a-number is no number", "")),
        ("2*${ i }", False, ("${...} stands only inside names", "in numbers write the loop variable by its name: 2*i")),
        ("2 m", False, None),
        ("10", False, None),
        ("0", False, None),
        ("0.5", False, None),
    ],
)
def test_texts_that_yaml_reads_otherwise_are_told(text, quoted, found):
    assert number_trap(text, quoted) == found


def test_a_colour_behind_a_blank_is_a_comment():
    assert (
        trap_of_empty("color: #a0522d", "a text") == "YAML takes what follows # for a comment: quote a color, '#a0522d'"
    )
    assert trap_of_empty("color: # red", "a text") == trap_of_empty("mass:", "a text") == "expected a text"


# --- places ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", [1, 20, 111, 112, 150, 199])
@pytest.mark.parametrize("length", [1, 5, 300])
def test_an_excerpt_points_at_the_text_that_is_meant(column, length):
    line = "".join(chr(97 + k % 26) for k in range(200))
    text = str(Problem(where=Place("a.yaml", 12, column, length), path="p", what="w", source_line=line))
    head, shown, mark = text.splitlines()
    assert head == f"a.yaml:12:{column}: p: w" and shown.startswith("  12 | ") and mark.startswith("     | ")
    assert len(shown) - 7 <= 150
    at = mark.index("^")
    assert shown[at] == line[column - 1]
    assert mark.count("^") == max(1, min(length, len(shown) - at))
    assert shown[7:].startswith("...") == (column > 111)
    left = len(line) if column <= 111 else 3 + len(line) - (column - 61)
    assert shown.endswith("...") == (left > 150)


def test_a_problem_is_a_message_and_plain_data():
    problem = Problem(
        where=Place("a.yaml", 3, 5, 2),
        path="bodies.b",
        what="wrong",
        hint="mend it",
        context="from here",
        source_line="  x: y",
        severity="warning",
    )
    assert str(problem) == "a.yaml:3:5: warning: bodies.b: wrong\n   3 |   x: y\n     |     ^^\n  mend it  (from here)"
    assert problem.as_data() == {
        "file": "a.yaml",
        "line": 3,
        "column": 5,
        "path": "bodies.b",
        "what": "wrong",
        "hint": "mend it",
        "context": "from here",
        "severity": "warning",
    }
    bare = Problem(where=None, path="", what="wrong")
    assert str(bare) == "wrong" and bare.as_data()["file"] is bare.as_data()["line"] is bare.as_data()["column"] is None
    beyond = Problem(where=Place("a", 1, 4), path="", what="w", source_line="abc")
    assert str(beyond) == "a:1:4: w\n   1 | abc"
    assert str(SceneError([bare, bare])) == "wrong\nwrong"


# --- counts ---------------------------------------------------------------------------------------


def things(count: int) -> list[Made]:
    told: list[str] = []
    return [Made(problem=lambda what, hint, k=k: told.append((k, what)), told=told) for k in range(count)]


@pytest.mark.parametrize(("section", "most"), [("bodies", 2500), ("joints", 10000), ("events", 10000)])
def test_sections_may_have_so_many_things(section, most):
    for count, right in ((most, True), (most + 1, False)):
        some = things(count)
        assert check_counts(Made(things={section: some})) is not right
        assert some[0].told == ([] if right else [(most, f"{count} {section}; {most} are the most")])


def test_freedoms_count_by_what_holds_a_body_first():
    def body(k: int, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)) -> Made:
        return Made(name=f"b{k}", inertia=inertia, place=Place("a", k + 1, 1))

    def joint(kind: str, k: int, connected: bool = True) -> Made:
        return Made(type=kind, child=f"b{k}", parent="world", connected=connected)

    for thin, told in (((0.9e-13, 1.0, 1.0), True), ((1.1e-13, 1.0, 1.0), False)):
        bodies = [body(k) for k in range(1002)]
        bodies[3] = body(3, (*thin, 0.0, 0.0, 0.0))
        # 999 free ones, a ball, a planar one and one held twice: 5994 + 3 + 3 + 1 = 6001.
        joints = [
            joint("spherical", 0),
            joint("planar", 1),
            joint("rotational", 2),
            joint("free", 2),
            joint("fixed", 3, False),
        ]
        findings = Findings()
        check_freedoms(bodies, joints, findings)
        said = [problem.what for problem in findings.problems()]
        assert said == ["6001 freedoms, and body 'b3' has no inertia about some axis; 6000 are the most then"] * told
        findings = Findings()
        check_freedoms(bodies, [joint("fixed", 3), *joints[:3]], findings)
        assert findings.problems() == []
        check_freedoms(bodies, [joint("translational", 0), joint("planar", 1), joint("universal", 2)], findings)
        assert findings.problems() == []  # 6000: as many as may be


def test_pairs_of_shapes_are_counted_up_to_a_rule():
    def rule(name: str, first: tuple[str, ...], second: tuple[str, ...]) -> Made:
        return Made(name=name, between=(first, second), place=Place("a", 1, 1))

    bodies = [Made(name="a", shapes=[0] * 800), Made(name="b", shapes=[0] * 625)]
    still = [Made(name="floor"), Made(name="")]
    for rules, told in (
        ([rule("r", ("a",), ("b",))], None),
        ([rule("r", ("a",), ("b",)), rule("q", ("world.floor",), ("world.none",))], None),
        ([rule("r", ("a",), ("b",)), rule("q", ("world.floor",), ("world",))], (500002, "q")),
        ([rule("r", ("a", "world"), ("b",))], (501250, "r")),
        ([rule("r", ("a",), ("a",)), rule("s", ("a",), ("world",))], None),
        ([rule("r", ("a",), ("a",)), rule("s", ("b",), ("b",))], (515312, "s")),
    ):
        findings = Findings()
        check_pairs(rules, bodies, still, findings)
        assert [(problem.what, problem.path) for problem in findings.problems()] == (
            []
            if told is None
            else [(f"{told[0]} pairs of shapes up to this rule; 500000 are the most", f"contacts.{told[1]}.between")]
        )


# --- events against time --------------------------------------------------------------------------


def happens(name: str, at: float | None = None, after=(), key=None, once=True, actions=()) -> Event:
    line = int(name.lstrip("abcdefghijklmnopqrstuvwxyz ") or 1)
    return Event(
        name=name,
        at=at,
        after=tuple(after),
        when=None,
        key=key,
        once=once,
        actions=tuple(actions),
        caption="",
        place=Place("a", line, 1),
    )


def act(kind: str, *targets: str, either: bool = False, line: int = 9) -> Action:
    return Action(kind=kind, targets=targets, either=either, place=Place("a", line, 1))


def checked(*events: Event, joints=(("j", True), ("k", False)), duration: float = 5.0) -> list[tuple[str, str, str]]:
    findings = Findings()
    simulate = Made(duration=duration)
    check_events(events, [Made(name=name, connected=connected) for name, connected in joints], simulate, findings)
    return sorted((problem.severity, problem.path, problem.what) for problem in findings.problems())


def test_times_beyond_the_end_are_told():
    assert checked(happens("a1", 5.0)) == []
    assert checked(happens("a1", 5.5)) == [
        ("error", "events.a1", "event 'a1' comes at 5.5 s, after the end of the run at 5 s")
    ]
    assert checked(happens("a1", 2.0), happens("b2", after=[("a1", 3.0)])) == []
    assert checked(happens("a1", 2.0), happens("b2", after=[("a1", 3.5)])) == [
        ("error", "events.b2", "event 'b2' comes at 5.5 s, after the end of the run at 5 s")
    ]
    # Any of them fires it: the first, once.
    assert checked(happens("a1", 2.0), happens("b2", at=1.0, after=[("a1", 3.5)])) == []
    assert checked(happens("a1", 2.0), happens("b2", at=1.0, after=[("a1", 3.5)], once=False)) == [
        ("error", "events.b2", "event 'b2' comes at 5.5 s, after the end of the run at 5 s")
    ]
    assert checked(happens("a1", key="x"), happens("b2", after=[("a1", 9.0)])) == []  # nobody knows when
    stop = happens("s3", 2.0, actions=[act("stop")])
    assert checked(happens("a1", 2.0), stop) == []
    assert checked(happens("a1", 2.5), stop, happens("t4", 1.0, actions=[act("stop")])) == [
        ("error", "events.a1", "event 'a1' comes at 2.5 s, after the end of the run at 1 s"),
        ("error", "events.s3", "event 's3' comes at 2 s, after the end of the run at 1 s"),
    ]


def test_circles_that_nothing_begins_are_told_once():
    ring = [happens("a1", after=[("c3", 1.0)]), happens("b2", after=[("a1", 1.0)]), happens("c3", after=[("b2", 1.0)])]
    (found,) = checked(*ring)
    assert (
        found[:2] == ("error", "events.a1.after")
        and found[2] == "events wait for one another in a circle: a1 -> c3 -> b2 -> a1"
    )
    assert checked(*ring, happens("d4", after=[("a1", 1.0)])) == [found]  # it waits for the circle, and is not in it
    assert checked(happens("a1", after=[("c3", 1.0)], at=1.0), *ring[1:]) == []
    assert [what for _, _, what in checked(happens("a1", after=[("a1", 1.0)]))] == [
        "events wait for one another in a circle: a1 -> a1"
    ]
    assert [
        what for _, _, what in checked(*ring, happens("x5", after=[("y6", 1.0)]), happens("y6", after=[("x5", 1.0)]))
    ] == [
        found[2],
        "events wait for one another in a circle: x5 -> y6 -> x5",
    ]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([happens("a1", 1.0, actions=[act("cut", "j")])], None),
        ([happens("a1", 1.0, actions=[act("cut", "k")])], "at t = 1 s joint 'k' is not connected yet"),
        (
            [happens("a1", 1.0, actions=[act("connect", "j")])],
            "at t = 1 s joint 'j' is connected already, from the start",
        ),
        ([happens("a1", 1.0, actions=[act("connect", "k")])], None),
        (
            [happens("a1", 1.0, actions=[act("cut", "j")]), happens("b2", 2.0, actions=[act("cut", "j")])],
            "at t = 2 s joint 'j' is cut already, since t = 1 s",
        ),
        (
            [happens("a1", 1.0, actions=[act("connect", "k")]), happens("b2", 2.0, actions=[act("connect", "k")])],
            "at t = 2 s joint 'k' is connected already, since t = 1 s",
        ),
        ([happens("b2", 2.0, actions=[act("cut", "k")]), happens("a1", 1.0, actions=[act("connect", "k")])], None),
        ([happens("a1", 1.0, actions=[act("cut", "k"), act("connect", "k")])], None),  # at one instant: no change
        ([happens("a1", 1.0, actions=[act("cut", "k", either=True)])], None),
        ([happens("a1", key="x", actions=[act("cut", "j")]), happens("b2", 2.0, actions=[act("connect", "j")])], None),
        ([happens("a1", 1.0, actions=[act("enable", "j")])], None),
    ],
)
def test_cuts_and_connections_that_change_nothing_are_told(events, said):
    assert [what for _, _, what in checked(*events)] == ([] if said is None else [said])
    for severity, path, _ in checked(*events):
        assert severity == "warning" and path.startswith("events.")


def test_times_are_told_finely_enough_for_what_is_recorded():
    for duration, right in ((2.0**23 * 1.0, True), (2.0**26, False)):
        coarse = math.ulp(duration)
        assert (coarse <= 1e-6 * 0.01) is right
        assert bool(refused(f"simulate: {{duration: {duration!r} s, record: 100 Hz}}\n")) is not right


# --- mirrors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_mirror_images_are_those_of_a_reflected_matrix(axis):
    M = np.diag([-1.0 if k == axis else 1.0 for k in range(3)])
    mirror = Mirror(axis, {"l": "r"}, "doll")
    p, q = np.array([0.3, -0.5, 0.7]), random_quat()
    assert mirror.vector(tuple(p)) == pytest.approx(M @ p) and mirror.axial(tuple(p)) == pytest.approx(-M @ p)
    assert np.allclose(scipys(mirror.quaternion(q)).as_matrix(), M @ scipys(q).as_matrix() @ M)
    six = (3.0, 4.0, 5.0, 0.1, 0.2, 0.3)
    assert mirror.inertia(six) == pytest.approx(six_of(M @ tensor(six) @ M))
    assert [mirror.name(name) for name in ("doll.knee_l", "doll.l.foot-l", "doll.all", "l.l", "l", "doll.doll_l")] == [
        "doll.knee_r", "doll.r.foot-r", "doll.all", "r.r", "r", "doll.doll_r",
    ]  # fmt: skip
    _, hull = hull_of(((0.0, 0, 0), (2.0, 0, 0), (0, 3.0, 0), (0, 0, 4.0)))
    shape = Shape(
        kind="mesh", position=(1.0, 2.0, 3.0), orientation=q, size=(2.0, 3.0, 4.0), color=(0, 0, 0, 1), hull=hull
    )
    twin = mirror.shape(shape)
    assert twin.position == pytest.approx(M @ [1, 2, 3]) and np.allclose(twin.hull.corners, np.array(hull.corners) @ M)
    for face in twin.hull.faces:
        normal, middle = plane_of(np.array([twin.hull.corners[n] for n in face]))
        assert normal @ middle > 0.0


def test_folded_numbers_stay_what_they_are():
    found = formula.condition("2 cm < coordinate('s') < 3 cm", {}, DIRECTORY, "", Place("a", 1, 1))
    assert ast.unparse(found.tree) == "0.02 < coordinate('s') and coordinate('s') < 0.03"
    assert (
        Quantity(1.0).bare
        and Quantity(1.0).dimension == (0, 0, 0)
        and not Quantity(1.0).live
        and not Quantity(1.0).truth
    )
