"""Signals of a recording of random numbers: every function, unit and refusal, against loops over its rows."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from render import view
from render.signals import Signal, Signals
from render.view import Event, Motion, RenderError, events_of

pytestmark = pytest.mark.fast
ROWS, KEPT = 5, 7  # complete rows, and those that are in the file
BODIES = ("wheel", "ape.hand", "ape.foot")
JOINTS = (
    ("hinge", "rotational", "world", "wheel"),
    ("ball", "spherical", "wheel", "ape.hand"),
    ("weld", "fixed", "wheel", "ape.foot"),
    ("edge", "knife_edge", "world", "ape.foot"),
    ("mix", "cylindrical", "ape.hand", "ape.foot"),
)
COLUMNS = [
    ("hinge", "hinge", "rad", "rad/s", "N m"), *((f"ball[{k}]", "ball", "rad", "rad/s", "N m") for k in range(3)),
    ("mix[0]", "mix", "m", "m/s", "N"), ("mix[1]", "mix", "rad", "rad/s", "N m"),
]  # fmt: skip
PAIRS = (("world.floor", "ape.foot"), ("ape.hand", "ape.foot"), ("world.wall", "ape.hand"), ("wheel", "world.floor"))
TOUCHED = [(0, 0), (0, 0), (0, 1), (1, 2), (2, 0), (2, 3), (4, 1), (4, 0), (6, 0), (-1, 0)]  # row, pair


def words(values) -> np.ndarray:
    return np.array([value.encode() for value in values], "S24")


@pytest.fixture(scope="module")
def file():
    """A recording in memory whose every number is another one."""
    random = np.random.default_rng(17)
    made = h5py.File("signals.h5", "w", driver="core", backing_store=False)
    number = random.normal
    made.attrs["scene"] = "mime\n"
    made["rows"], made["time"] = ROWS, np.cumsum(random.uniform(0.1, 1, KEPT))
    made["bodies/name"], made["bodies/mass"], made["bodies/com"] = (
        words(BODIES),
        np.array([1.5, 0.5, 4.0]),
        number(size=(3, 3)),
    )
    for name, shape in (("position", 3), ("velocity", 3), ("angular_velocity", 3), ("com", 3)):
        made[name] = number(size=(KEPT, 3, shape))
    made["quat_wxyz"] = Rotation.random(KEPT * 3, random_state=random).as_quat(scalar_first=True).reshape(KEPT, 3, 4)
    for key, values in zip(("name", "type", "parent", "child"), zip(*JOINTS, strict=True), strict=True):
        made[f"joints/{key}"] = words(values)
    made["joints/columns"] = np.array(
        [tuple(v.encode() for v in row) for row in COLUMNS],
        [(key, "S24") for key in ("name", "joint", "unit", "rate_unit", "torque_unit")],
    )
    for key in ("coordinate", "rate", "torque", "stop_torque", "friction_torque"):
        made[f"joints/{key}"] = number(size=(KEPT, 6))
    made["joints/force"], made["joints/position"] = number(size=(KEPT, 5, 6)), number(size=(KEPT, 5, 3))
    made["joints/force"][2, 3, 3] = np.nan
    made["forces/name"], made["forces/type"] = (
        words(["cord", "twist", "push", "hinge"]),
        words(["spring", "torsion_spring", "wrench", "drag"]),
    )
    made["forces/body"], made["forces/point"] = np.array([[0, 1], [-1, 0], [2, -1], [1, -1]]), number(size=(4, 2, 3))
    made["forces/length"], made["forces/tension"] = number(size=(KEPT, 4)), number(size=(KEPT, 4))
    made["forces/wrench"] = number(size=(KEPT, 4, 6))
    for key in ("kinetic", "potential", "dissipated", "impact", "input", "balance"):
        made[f"energy/{key}"] = number(size=KEPT)
    for key in ("position_residual", "velocity_residual", "smallest_singular_value"):
        made[f"trust/{key}"] = number(size=KEPT)
    made["trust/rank"] = random.integers(0, 9, KEPT)
    made["trust/determinate"], made["trust/components"] = (
        random.integers(0, 2, (KEPT, 5)),
        random.integers(0, 2, (KEPT, 5, 6)),
    )
    made["contacts/pairs/a"], made["contacts/pairs/b"] = (words(side) for side in zip(*PAIRS, strict=True))
    made["contacts/row"], made["contacts/pair"] = (np.array(side) for side in zip(*TOUCHED, strict=True))
    normal = number(size=(10, 3)) * [0.3, 0.3, 0.1] + [0, 0, 1.0]
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    made["contacts/normal"], made["contacts/point"] = normal, number(size=(10, 3))
    made["contacts/force"] = 5 * normal + number(size=(10, 3))
    made["contacts/mode"] = random.integers(1, 3, 10)
    made["points/name"], made["points/body"], made["points/position"] = (
        words(["ape.hand.tip", "world.hook"]),
        np.array([1, -1]),
        number(size=(2, 3)),
    )
    yield made
    made.close()


@pytest.fixture(scope="module")
def signals(file):
    return Signals(file)


def names(key: str) -> int:
    return BODIES.index(key)


FORMULAS = {  # text -> unit, function of the file
    "coordinate('hinge')": ("rad", lambda f: f["joints/coordinate"][:, 0]),
    "rate('ball')": ("rad/s", lambda f: f["joints/rate"][:, 1:4].T),
    "torque('mix[0]')": ("N", lambda f: f["joints/torque"][:, 4]),
    "stop_torque('mix')[1]": ("N m", lambda f: f["joints/stop_torque"][:, 5]),
    "friction_torque('mix')": ("N or N m", lambda f: f["joints/friction_torque"][:, 4:6].T),
    "coordinate('ball[2]')": ("rad", lambda f: f["joints/coordinate"][:, 3]),
    "position('ape.foot')": ("m", lambda f: f["position"][:, 2].T),
    "velocity('ape.hand')[1]": ("m/s", lambda f: f["velocity"][:, 1, 1]),
    "angular_velocity('wheel')": ("rad/s", lambda f: f["angular_velocity"][:, 0].T),
    "orientation('ape.hand')": (
        "rad",
        lambda f: Rotation.from_quat(f["quat_wxyz"][:, 1], scalar_first=True).as_rotvec().T,
    ),
    "com('ape.hand')": ("m", lambda f: f["com"][:, 1].T),
    "com()": ("m", lambda f: ((1.5 * f["com"][:, 0] + 0.5 * f["com"][:, 1] + 4 * f["com"][:, 2]) / 6).T),
    "distance('wheel', 'ape.foot')": ("m", lambda f: np.linalg.norm(f["position"][:, 0] - f["position"][:, 2], axis=1)),
    "distance(position('wheel'), 'world.hook')": (
        "m",
        lambda f: np.linalg.norm(f["position"][:, 0] - f["points/position"][1], axis=1),
    ),
    "force('hinge')": ("N", lambda f: f["joints/force"][:, 0, 3:6].T),
    "moment('mix')": ("N m", lambda f: f["joints/force"][:, 4, :3].T),
    "force('push')": ("N", lambda f: f["forces/wrench"][:, 2, 3:6].T),
    "moment('cord')[2]": ("N m", lambda f: f["forces/wrench"][:, 0, 2]),
    "length('cord')": ("m", lambda f: f["forces/length"][:, 0]),
    "length('twist')": ("rad", lambda f: f["forces/length"][:, 1]),
    "tension('cord')": ("N", lambda f: f["forces/tension"][:, 0]),
    "tension('twist')": ("N m", lambda f: f["forces/tension"][:, 1]),
    "determinate('edge')": ("1", lambda f: f["trust/determinate"][:, 3]),
    "determinate('ball', 'rz')": ("1", lambda f: f["trust/components"][:, 1, 2]),
    "determinate('ball', 'x')": ("1", lambda f: f["trust/components"][:, 1, 3]),
    "energy()": ("J", lambda f: f["energy/kinetic"][:] + f["energy/potential"][:]),
    "energy.balance": ("J", lambda f: f["energy/balance"][:]),
    "trust.rank": ("1", lambda f: f["trust/rank"][:]),
    "trust.smallest_singular_value": ("1", lambda f: f["trust/smallest_singular_value"][:]),
    "trust.velocity_residual": ("m/s or rad/s", lambda f: f["trust/velocity_residual"][:]),
    "t": ("s", lambda f: f["time"][:]),
    "-t": ("s", lambda f: -f["time"][:]),
    "+t": ("s", lambda f: f["time"][:]),
    "t/ms": ("ms", lambda f: 1e3 * f["time"][:]),
    "rate('hinge')/deg": ("deg/s", lambda f: np.rad2deg(f["joints/rate"][:, 0])),
    "energy.kinetic/kJ": ("kJ", lambda f: 1e-3 * f["energy/kinetic"][:]),
    "norm(force('push'))/kN": ("kN", lambda f: 1e-3 * np.linalg.norm(f["forces/wrench"][:, 2, 3:], axis=1)),
    "t/mm": ("mm", lambda f: 1e3 * f["time"][:]),
    "t/cm": ("cm", lambda f: 100 * f["time"][:]),
    "t*deg": ("s", lambda f: np.deg2rad(f["time"][:])),
    "2*t + t": ("s", lambda f: 3 * f["time"][:]),
    "t - 1": ("", lambda f: f["time"][:] - 1),
    "t*t": ("", lambda f: f["time"][:] ** 2),
    "t/2": ("s", lambda f: f["time"][:] / 2),
    "t/t": ("1", lambda f: 1 + 0 * f["time"][:]),
    "2/t": ("", lambda f: 2 / f["time"][:]),
    "t % 2": ("", lambda f: f["time"][:] % 2),
    "2**3": ("1", lambda f: 8 + 0 * f["time"][:]),
    "(t*t)/(t*t)": ("", lambda f: 1 + 0 * f["time"][:]),
    "t < 1": ("", lambda f: f["time"][:] < 1),
    "t >= 1": ("", lambda f: f["time"][:] >= 1),
    "t <= 1": ("", lambda f: f["time"][:] <= 1),
    "t > 1": ("", lambda f: f["time"][:] > 1),
    "min(t, 1, 0.5*t)": ("s", lambda f: np.minimum(np.minimum(f["time"][:], 1), 0.5 * f["time"][:])),
    "max(t, 1)": ("s", lambda f: np.maximum(f["time"][:], 1)),
    "clip(t, 0.5, 1)": ("s", lambda f: np.clip(f["time"][:], 0.5, 1)),
    "abs(-t)": ("s", lambda f: f["time"][:]),
    "sqrt(t)": ("", lambda f: np.sqrt(f["time"][:])),
    "sin(t) + cos(t)": ("1", lambda f: np.sin(f["time"][:]) + np.cos(f["time"][:])),
    "tan(t)*exp(t)": ("1", lambda f: np.tan(f["time"][:]) * np.exp(f["time"][:])),
    "asin(sin(t)/2)": ("rad", lambda f: np.arcsin(np.sin(f["time"][:]) / 2)),
    "acos(cos(t)/2)": ("rad", lambda f: np.arccos(np.cos(f["time"][:]) / 2)),
    "atan(t)": ("rad", lambda f: np.arctan(f["time"][:])),
    "atan2(t, 2)": ("rad", lambda f: np.arctan2(f["time"][:], 2)),
    "log(t)": ("1", lambda f: np.log(f["time"][:])),
    "dot(position('wheel'), com())": (
        "",
        lambda f: np.sum(f["position"][:, 0] * (np.array([1.5, 0.5, 4]) / 6 @ f["com"][:]), axis=1),
    ),
    "cross(position('wheel'), velocity('wheel'))": ("", lambda f: np.cross(f["position"][:, 0], f["velocity"][:, 0]).T),
    "pi": ("1", lambda f: np.pi + 0 * f["time"][:]),
    "position('world.hook')": ("m", lambda f: np.tile(f["points/position"][1], (KEPT, 1)).T),
}


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_of_rows(signals, file, text):
    unit, function = FORMULAS[text]
    found = signals.evaluate(f"  {text} ")
    assert (found.text, found.unit, found.logarithmic) == (text, unit, False)
    assert found.values.dtype == float
    np.testing.assert_allclose(found.values, np.asarray(function(file), float)[..., :ROWS], rtol=1e-12, atol=1e-14)


def turned(file, body: int, row: int) -> Rotation:
    return Rotation.from_quat(file["quat_wxyz"][row, body], scalar_first=True)


def test_places_move_with_their_bodies(signals, file):
    tip, com = file["points/position"][0], file["bodies/com"][2]
    for row in range(ROWS):
        arm = turned(file, 1, row).apply(tip)
        where = file["position"][row, 1] + arm
        assert signals.evaluate("position('ape.hand.tip')").values[:, row] == pytest.approx(where)
        speed = file["velocity"][row, 1] + np.cross(file["angular_velocity"][row, 1], arm)
        assert signals.evaluate("velocity('ape.hand.tip')").values[:, row] == pytest.approx(speed)
        seen = turned(file, 0, row).inv().apply(where - file["position"][row, 0])
        assert signals.evaluate("local('ape.hand.tip', 'wheel')").values[:, row] == pytest.approx(seen)
        middle = file["position"][row, 2] + turned(file, 2, row).apply(com)
        assert signals.evaluate("position('ape.foot.com')").values[:, row] == pytest.approx(middle)


def test_slip_is_of_the_child_against_the_parent(signals, file):
    """Of what is held by the world: against nothing."""
    for name, j, sides in (("mix", 4, ((2, 1.0), (1, -1.0))), ("hinge", 0, ((0, 1.0),)), ("edge", 3, ((2, 1.0),))):
        for row in range(ROWS):
            at, expected = file["joints/position"][row, j], np.zeros(3)
            for body, sign in sides:
                spin = np.cross(file["angular_velocity"][row, body], at - file["position"][row, body])
                expected += sign * (file["velocity"][row, body] + spin)
            assert signals.evaluate(f"slip('{name}')").values[:, row] == pytest.approx(expected)


def touched(file, on: tuple[str, ...], by: tuple[str, ...] | None):
    """Return rows, points, normals and forces on some names, of others."""
    for k, (row, pair) in enumerate(TOUCHED):
        a, b = PAIRS[pair]
        sign = 1.0 if b in on and (by is None or a in by) else -1.0 if a in on and (by is None or b in by) else 0.0
        if sign and 0 <= row < ROWS:
            yield row, file["contacts/point"][k], sign * file["contacts/normal"][k], sign * file["contacts/force"][k]


WORLD = ("world.floor", "world.wall")


@pytest.mark.parametrize(
    ("arguments", "on", "by"),
    [
        ("'ape.foot'", ("ape.foot",), None),
        ("'ape.foot', 'world'", ("ape.foot",), WORLD),
        ("'world'", WORLD, None),
        ("'ape.*', 'world.floor'", ("ape.foot", "ape.hand"), ("world.floor",)),
        ("'ape.hand', 'ape.foot'", ("ape.hand",), ("ape.foot",)),
        ("'wheel'", ("wheel",), None),
        ("'world.floor', 'wheel'", ("world.floor",), ("wheel",)),
        ("'wheel', 'ape.foot'", ("wheel",), ("ape.foot",)),
    ],
)
def test_contacts_add_up_in_each_row(signals, file, arguments, on, by):
    force, pressing, across = np.zeros((3, ROWS)), np.zeros(ROWS), np.zeros((3, ROWS))
    moment, push, weighted = np.zeros((3, ROWS)), np.zeros((3, ROWS)), np.zeros((3, ROWS))
    for row, point, normal, f in touched(file, on, by):
        press = normal @ f
        force[:, row] += f
        pressing[row] += press
        across[:, row] += f - press * normal
        moment[:, row] += np.cross(point, f)
        push[:, row] += press * normal
        weighted[:, row] += press * point
    for name, unit, expected in (
        ("contact", "N", force),
        ("pressing", "N", pressing),
        ("friction", "N", np.linalg.norm(across, axis=0)),
    ):
        found = signals.evaluate(f"{name}({arguments})")
        assert found.unit == unit and found.values == pytest.approx(expected, abs=1e-12)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = np.where(pressing > 0, weighted / pressing, np.nan)
    cop, zmp = signals.evaluate(f"cop({arguments})"), signals.evaluate(f"zmp({arguments})")
    assert cop.unit == zmp.unit == "m"
    np.testing.assert_allclose(cop.values, centre, rtol=1e-12)
    for row in range(ROWS):
        point, n = zmp.values[:, row], push[:, row]
        if not pressing[row] > 0 or not n @ force[:, row] > 0:
            assert np.isnan(point).all()
            continue
        n = n / np.linalg.norm(n)
        left = moment[:, row] - np.cross(point, force[:, row])  # about the point: along n alone
        assert np.cross(left, n) == pytest.approx(np.zeros(3), abs=1e-10)
        assert (point - centre[:, row]) @ n == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("coordinate('hing')", "no joint named 'hing'; did you mean 'hinge'?"),
        ("coordinate('weld')", "joint 'weld' is fixed: it has no coordinate"),
        ("angular_velocity('whel')", "no body named 'whel'; did you mean 'wheel'?"),
        ("slip('mixx')", "no joint or constraint named 'mixx'; did you mean 'mix'?"),
        ("determinate('ball', 'q')", "no component named 'q'"),
        ("determinate('bal')", "no joint named 'bal'; did you mean 'ball'?"),
        ("length('crd')", "no force named 'crd'; did you mean 'cord'?"),
        ("cop('nobody')", "no touching body named 'nobody'"),
        ("force('pusch')", "no joint or force named 'pusch'; did you mean 'push'?"),
        ("contact('wheel', 'flor')", "no touching body named 'flor'"),
        ("cop('ape.*', 'x*')", "no touching body named 'x*'"),
        ("1 +", "not a formula (invalid syntax)"),
        ("t.x", "no signal 't.x'"),
        ("t.x.y", "no signal 't.x.y'"),
        ("(t).real", "no signal 't.real'"),
        ("foo", "no signal 'foo'"),
        ("tt", "no signal 'tt'"),
        ("force", "no signal 'force'; force is a function, force('name')"),
        ("norm", "no signal 'norm'; norm is a function, norm('name')"),
        ("sin", "no signal 'sin'; sin is a function, sin('name')"),
        ("trust", "no signal 'trust'"),
        ("energy", "no signal 'energy'; energy() or energy.kinetic"),
        ("cord", "no signal 'cord'; a force stands in a function, tension('cord') or force('cord')"),
        ("ball", "no signal 'ball'; a joint stands in a function, coordinate('ball')"),
        ("wheel", "no signal 'wheel'; a body or point stands in a function, position('wheel')"),
        ("cosine(t)", "no function 'cosine'"),
        ("t.f(1)", "no function 't.f'"),
        ("sinn(t)", "no function 'sinn'; did you mean 'sin'?"),
        ("forc('x')", "no function 'forc'; did you mean 'force'?"),
        ("rate()", "rate is written rate('name')"),
        ("rate('a', 'b')", "rate is written rate('name')"),
        ("rate(t)", "rate is written rate('name')"),
        ("rate(name='hinge')", "rate is written rate('name')"),
        ("energy('a')", "energy is written energy()"),
        ("com('wheel', 'a')", "com is written com('name')"),
        ("local('a')", "local is written local('body.point', 'body')"),
        ("local('a', t)", "local is written local('body.point', 'body')"),
        ("local('a', 'b', 'c')", "local is written local('body.point', 'body')"),
        ("local('a', 'b', c='d')", "local is written local('body.point', 'body')"),
        ("cop()", "cop is written cop('name') or cop('name', 'other')"),
        ("cop('a', 'b', 'c')", "cop is written cop('name') or cop('name', 'other')"),
        ("cop('a', t)", "cop is written cop('name') or cop('name', 'other')"),
        ("cop('a', by='b')", "cop is written cop('name') or cop('name', 'other')"),
        ("determinate()", "determinate is written determinate('name') or determinate('name', 'other')"),
    ],
)
def test_refusals_are_sentences(signals, text, sentence):
    with pytest.raises(RenderError) as caught:
        signals.evaluate(text)
    said = str(caught.value)
    assert said == f"signal {text!r}: {sentence}" or said.startswith(f"signal {text!r}: {sentence}; did you mean ")


def test_arrays_of_another_shape_are_refused(signals):
    with pytest.raises(RenderError) as caught:
        signals.evaluate("t[0:2]")
    assert str(caught.value) == "signal 't[0:2]': gives an array of shape (2,), not one number for each row"
    assert signals.evaluate("t[2]").values.tolist() == [signals.time[2]] * ROWS


def test_what_an_older_recording_lacks_is_told(file):
    with h5py.File("older.h5", "w", driver="core", backing_store=False) as older:
        for name in file:
            if name not in ("contacts", "forces", "points"):
                file.copy(name, older)
        del older["trust/components"]
        older["rows"][()] = KEPT
        signals = Signals(older)
        assert signals.forces == () and len(signals.time) == KEPT
        for text, words in (
            ("cop('wheel')", "the scene has no contacts, so nothing touches 'wheel'"),
            (
                "determinate('ball', 'x')",
                "the recording does not tell components: it was made by a program that knew whole forces",
            ),
        ):
            with pytest.raises(RenderError) as caught:
                signals.evaluate(text)
            assert str(caught.value) == f"signal {text!r}: {words}"
        older["rows"][()] = 0
        with pytest.raises(RenderError, match=r"older.h5: the recording holds no complete row yet"):
            Signals(older)


def test_components_have_letters_or_numbers():
    for size, letters in ((2, "01"), (3, "xyz"), (4, "0123")):
        values = np.arange(2.0 * size).reshape(size, 2)
        found = Signal("v", "m", values).components()
        assert [label for label, _ in found] == [f"v {letter}" for letter in letters]
        assert np.array_equal([row for _, row in found], values)
    ((label, row),) = Signal("v", "m", np.arange(3.0)).components()
    assert label == "v" and row.tolist() == [0, 1, 2]


# --- the same recording as a motion -----------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(file):
    """The recording with shapes, events and settings."""
    random = np.random.default_rng(23)
    with h5py.File("whole.h5", "w", driver="core", backing_store=False) as made:
        for name in file:
            file.copy(name, made)
        made.attrs["scene"] = "mime\n"
        made["shapes/body"], made["shapes/kind"] = np.array([1.0, -1.0, 0.0]), words(["mesh", "plane", "mesh"])
        for key, width in (("position", 3), ("quat_wxyz", 4), ("size", 3), ("color", 4)):
            made[f"shapes/{key}"] = random.normal(size=(3, width))
        made["shapes/vertices"], made["shapes/vertex_shape"] = (
            random.normal(size=(9, 3)),
            np.array([2, 0, 0, 0, 2, 2, 0, 2, 2]),
        )
        made["shapes/triangles"], made["shapes/triangle_shape"] = (
            np.arange(12).reshape(4, 3) % 4,
            np.array([0, 2, 2, 0]),
        )
        for key, values in (("name", ["a\n", "b"]), ("kind", ["scene", "mode"]), ("caption", ["c\n", ""])):
            made[f"events/{key}"] = words(values)
        made["events/time"], made["events/row_before"], made["events/row_after"] = (
            np.array([0.5, 0.75]),
            np.array([1, 2]),
            np.array([3, 4]),
        )
        made["scene/render"], made["complete"] = np.bytes_(json.dumps({"fps": 12})), 0
        yield made


def test_a_motion_holds_what_the_recording_says(whole):
    motion = view._read(whole, contacts=False)
    assert (motion.name, motion.body_names, motion.complete, motion.settings) == ("mime\\n", BODIES, False, {"fps": 12})
    for ours, theirs in (
        ("times", "time"),
        ("position", "position"),
        ("quat", "quat_wxyz"),
        ("velocity", "velocity"),
        ("angular_velocity", "angular_velocity"),
    ):
        assert np.array_equal(getattr(motion, ours), whole[theirs][:ROWS])
    assert np.array_equal(motion.com, whole["bodies/com"][:]) and (motion.start, motion.end) == tuple(
        whole["time"][[0, ROWS - 1]]
    )
    shapes = motion.shapes
    assert (
        shapes.body.tolist() == [1, -1, 0]
        and shapes.body.dtype == int
        and shapes.kind == ("mesh", "plane", "mesh")
        and len(shapes) == 3
    )
    for ours, theirs in (("position", "position"), ("quat", "quat_wxyz"), ("size", "size"), ("color", "color")):
        assert np.array_equal(getattr(shapes, ours), whole[f"shapes/{theirs}"][:])
    assert list(shapes.hulls) == [0, 2]
    for s, (vertices, triangles) in shapes.hulls.items():
        assert np.array_equal(vertices, whole["shapes/vertices"][:][whole["shapes/vertex_shape"][:] == s])
        assert np.array_equal(triangles, whole["shapes/triangles"][:][whole["shapes/triangle_shape"][:] == s])
    assert [(e.time, e.name, e.kind, e.caption, e.row_before, e.row_after) for e in motion.events] == [
        (0.5, "a\\n", "scene", "c\\n", 1, 3),
        (0.75, "b", "mode", "", 2, 4),
    ]
    assert motion.springs.body.tolist() == [[0, 1]] and np.array_equal(
        motion.springs.point[0], whole["forces/point"][0]
    )
    assert motion.pushes.kind == ("wrench", "drag") and motion.pushes.body.tolist() == [2, 1]
    assert np.array_equal(motion.pushes.point, whole["forces/point"][[2, 3], 0])
    assert np.array_equal(motion.pushes.force, whole["forces/wrench"][:ROWS, 2:4, 3:6])
    assert list(motion.points) == ["ape.hand.tip", "world.hook"] and motion.points["ape.hand.tip"][0] == 1
    assert motion.points["world.hook"][0] == -1 and np.array_equal(
        motion.points["world.hook"][1], whole["points/position"][1]
    )
    assert len(motion.touches.mode) == 0 and motion.touching(0.5)[0].shape == (0, 3)


def test_contacts_and_edges_touch_in_their_rows(whole):
    """What a knife edge holds sticks, where its force is a number; rows that are not complete do not count."""
    motion = view._read(whole, contacts=True)
    assert motion.touches.first.shape == (ROWS + 1,)
    for row in range(ROWS):
        edge = [] if row == 2 else [(whole["joints/position"][row, 3], whole["joints/force"][row, 3, 3:], 1)]
        others = [
            (whole["contacts/point"][k], whole["contacts/force"][k], whole["contacts/mode"][k])
            for k, (at, _) in enumerate(TOUCHED) if at == row
        ]  # fmt: skip
        point, force, mode = motion.touching(motion.times[row])
        expected = [*edge, *others]
        assert mode.tolist() == [m for *_, m in expected] and mode.dtype.kind == "i"
        for k, (p, f, _) in enumerate(expected):
            assert np.array_equal(point[k], p) and np.array_equal(force[k], f)
    later = 0.5 * (motion.times[0] + motion.times[1])
    assert np.array_equal(motion.touching(later)[0], motion.touching(motion.times[0])[0])


def test_what_a_recording_may_lack(file, whole):
    with h5py.File("bare.h5", "w", driver="core", backing_store=False) as bare:
        for name in whole:
            if name not in ("forces", "points", "events", "scene", "complete", "contacts"):
                whole.copy(name, bare)
        for key in ("vertices", "triangles", "vertex_shape", "triangle_shape"):
            del bare[f"shapes/{key}"]
        motion = view._read(bare, contacts=True)
        assert (len(motion.springs), len(motion.pushes), motion.points, motion.events, motion.settings) == (
            0,
            0,
            {},
            (),
            {},
        )
        assert (
            motion.complete and motion.shapes.hulls == {} and motion.name == "" and len(motion.touches.mode) == ROWS - 1
        )
        bare["complete"], bare["scene/render"] = 1, np.bytes_("null")
        assert view._read(bare, contacts=False).complete and view._read(bare, contacts=False).settings == {}
        assert events_of(bare) == ()


def test_bodies_without_shapes_are_balls(whole):
    """A twentieth of how far apart they are; five centimetres where they are not."""
    for position, radius in (
        (np.array([[0.0, 0, 0], [6, 0, 0], [0, 9, 0]]), 0.05 * np.hypot(2, 6)),
        (np.ones((2, 3)), 0.05),
        (np.zeros((0, 3)), 0.05),
    ):
        com = position + 0.5
        made = view.markers(position, com)
        assert made.kind == ("sphere",) * len(position) and made.body.tolist() == list(range(len(position)))
        assert made.size == pytest.approx(np.full((len(position), 3), radius)) and np.array_equal(made.position, com)
        assert made.quat.tolist() == [[1, 0, 0, 0]] * len(position) and np.isnan(made.color).all()
        assert made.color.shape == (len(position), 4)


def moving(**more) -> Motion:
    """Return a ball on a parabola with a jump at 1 s, where two rows stand."""
    times = np.array([0.0, 1.0, 1.0, 3.0])
    position = np.array([[0.0, 0, 0], [1, 2, 0], [5, 0, 1], [7, 4, 1]])[:, None]
    none = np.zeros((4, 1, 3))
    shapes = view.markers(position[0], np.zeros((1, 3)))
    quat = np.tile([1.0, 0, 0, 0], (4, 1, 1))
    return Motion(
        name="", times=times, body_names=("a",), position=position, quat=quat, velocity=none, angular_velocity=none,
        com=np.array([[0.5, 0, 0]]), shapes=shapes, **more,
    )  # fmt: skip


def test_forces_are_linear_between_rows_and_never_across_an_event():
    force = np.array([[[1.0, 2, 3]], [[3, 2, 1]], [[-5, np.nan, 7]], [[-7, 0, 9]]])
    pushes = view.Pushes(kind=("drag",), body=np.zeros(1, int), point=np.ones((1, 3)), force=force)
    motion = moving(pushes=pushes)
    for time, expected in (
        (-1.0, [1, 2, 3]),
        (0.0, [1, 2, 3]),
        (0.25, [1.5, 2, 2.5]),
        (1.0, [-5, 0, 7]),
        (1.5, [-5.5, 0, 7.5]),
        (3.0, [-7, 0, 9]),
        (4.0, [-7, 0, 9]),
    ):
        assert motion.forces(time) == pytest.approx(np.array([expected]))
    assert moving().forces(0.5).shape == (0, 3)


def test_a_path_between_rows_is_the_cubic_of_both_ends():
    position, tangent = np.array([[1.0, -2.0], [4.0, 0.5]]), np.array([[0.5, 3.0], [-1.0, 2.0]])
    for column in range(2):
        p0, p1, m0, m1 = *position[:, column], *tangent[:, column]
        cubic = np.linalg.solve([[0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 1, 0], [3, 2, 1, 0]], [p0, p1, m0, m1])
        for part in (0.0, 0.2, 0.5, 0.9, 1.0):
            assert view.hermite(position, tangent, part)[column] == pytest.approx(np.polyval(cubic, part))


def test_instants_of_a_fit_hold_every_event():
    events = tuple(Event(time=t, name="e", kind="scene", caption="") for t in (-0.1, 0.0, 0.4, 3.0, 3.1))
    motion = moving(events=events)
    assert motion.sample_times(4) == pytest.approx([0.0, 0.4, 1.0, 2.0, 3.0])
    assert motion.sample_times(0).tolist() == [0.0, 0.4, 3.0]
    still = Motion(**{**vars(moving()), "times": np.full(4, 2.0)})
    assert still.sample_times(9).tolist() == [2.0]


def test_trails_end_where_the_point_is_now():
    motion = moving(settings={"trails": ["a", "a.com"]})
    trails = motion.trails(2.0)
    now = motion.poses(2.0)[0][0]
    assert trails[0] == pytest.approx(np.array([[0, 0, 0], [1, 2, 0], [5, 0, 1], now]))
    assert trails[1] == pytest.approx(trails[0] + [0.5, 0, 0])
    assert motion.trails(1.0)[0].tolist() == [[0, 0, 0], [5, 0, 1], [5, 0, 1], [5, 0, 1]]
    assert moving().trails(1.0).shape == (0, 4, 3) and motion.trailing(2.0) == pytest.approx(
        np.array([now, now + np.array([0.5, 0, 0])])
    )


def test_places_are_bodies_points_and_centres_of_mass():
    motion = moving(points={"a.tip": (0, np.array([1.0, 2, 3])), "world.hook": (-1, np.array([4.0, 5, 6]))})
    for name, body, place in (
        ("a", 0, [0, 0, 0]),
        ("a.tip", 0, [1, 2, 3]),
        ("world.hook", -1, [4, 5, 6]),
        ("a.com", 0, [0.5, 0, 0]),
    ):
        assert motion.place(name)[0] == body and motion.place(name)[1].tolist() == place
    assert motion.path("world.hook", slice(1, 3)).tolist() == [[4, 5, 6]] * 2
    assert motion.path("a.com", np.array([0, 3])).tolist() == [[0.5, 0, 0], [7.5, 4, 1]]
    for name in ("b.com", "a.tp"):
        with pytest.raises(RenderError, match=f"no body or point named '{name}'"):
            motion.place(name)


def test_words_of_events():
    for kind, caption, words in (
        ("scene", "", "e"),
        ("key", "", "e"),
        ("mode", "", ""),
        ("mode", "c", "c"),
        ("scene", "c", "c"),
    ):
        assert Event(time=0.0, name="e", kind=kind, caption=caption).words == words


def test_a_drawing_is_at_rest():
    position, quat = np.array([[1.0, 2, 3], [4, 5, 6]]), np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]])
    none = view.Shapes(
        body=np.zeros(0, int),
        kind=(),
        position=np.zeros((0, 3)),
        quat=np.zeros((0, 4)),
        size=np.zeros((0, 3)),
        color=np.zeros((0, 4)),
    )
    drawing = Motion.from_drawing(
        name="d", body_names=["a", "b"], position=position, quat=quat, shapes=none, com=[[1, 0, 0], [0, 1, 0]]
    )
    assert (
        drawing.times.tolist() == [0.0]
        and np.array_equal(drawing.position[0], position)
        and np.array_equal(drawing.quat[0], quat)
    )
    assert not drawing.velocity.any() and not drawing.angular_velocity.any() and drawing.velocity.shape == (1, 2, 3)
    assert (
        drawing.shapes.kind == ("sphere", "sphere")
        and drawing.com.tolist() == [[1, 0, 0], [0, 1, 0]]
        and drawing.settings == {}
    )
    assert drawing.shapes.position.tolist() == drawing.com.tolist()
