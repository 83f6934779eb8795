"""Numbers that overflow, and small texts that mean much, are refused with their place before anything is built."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sim.scene import repeating
from sim.scene.load import load, load_text
from sim.scene.problem import Problem, SceneError
from sim.scene.units import Quantity
from tests.attacks import extremes
from tests.attacks.trees import quoted

pytestmark = pytest.mark.fast


def problems(text: str) -> list[Problem]:
    with pytest.raises(SceneError) as caught:
        load_text("schema: 1\n" + text)
    return caught.value.problems


def body(of: str) -> str:
    return f"bodies: {{b: {{{of}}}}}\n"


def shape(of: str, weight: str = "density: 1000 kg/m^3") -> str:
    return body(f"{weight}, shapes: [{{{of}}}]")


@pytest.mark.parametrize(
    ("text", "path", "what"),
    [
        (shape("sphere: {radius: 1e160 m}"), "bodies.b.shapes[0].sphere.radius", "at most 1e+08"),
        (shape("sphere: {radius: 1e-120 m}"), "bodies.b.shapes[0].sphere.radius", "at least 1e-09"),
        (shape("box: {size: [1, 1e-300, 1]}"), "bodies.b.shapes[0].box.size[1]", "at least 1e-09"),
        (shape("capsule: {length: 1, radius: 1e-20}"), "bodies.b.shapes[0].capsule.radius", "at least 1e-09"),
        (shape("ellipsoid: {radii: [1, 1, 1e-10]}"), "bodies.b.shapes[0].ellipsoid.radii[2]", "at least 1e-09"),
        (shape("sphere: {radius: 1}", "density: 1e300"), "bodies.b.density", "overflows; expected at most 1e+30"),
        (shape("sphere: {radius: 1}", "mass: 1e-120 kg"), "bodies.b.mass", "lost; expected at least 1e-30"),
        (shape("sphere: {radius: 1e7}", "density: 1e20"), "bodies.b", "has a mass of 4.189e+41 kg; expected 1e-30 to"),
        (shape("sphere: {radius: 1e-8}", "density: 1e-20"), "bodies.b", "has a mass of 4.189e-44 kg"),
        (body("mass: 1, com: [0, 0, 0], gyration: [1e200, 1, 1]"), "bodies.b.gyration[0]", "at most 1e+08"),
        (body("mass: 1, com: [0, 0, 0], inertia: [1e300, 1e300, 1]"), "bodies.b.inertia[0]", "at most 1e+30"),
        (
            body("mass: 1, com: [0, 0, 0], inertia: [1, 1, 1, -1e300, 0, 0]"), "bodies.b.inertia[3]",
            "at most 1e+30",
        ),
        (
            shape("mesh: {vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], scale: 1e20}"),
            "bodies.b.shapes[0].mesh.vertices", "a coordinate of 1e+20 m; 1e+08 m are the most",
        ),
        (
            shape("mesh: {vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], scale: 1e-20}"),
            "bodies.b.shapes[0].mesh.vertices", "1e-09 m are the least",
        ),
    ],
)  # fmt: skip
def test_what_overflows_is_refused_with_its_place(text, path, what):
    found = problems(text)[0]
    assert found.path == path and what in found.what
    assert found.where is not None and found.where.line == 2


@pytest.mark.parametrize(
    "text",
    [
        shape("sphere: {radius: 1e-9 m}"), shape("sphere: {radius: 9e7 m}"), shape("box: {size: [1e-9, 9e7, 1]}"),
        body("mass: 1e-30, com: [0, 0, 0], gyration: [1, 1, 1]"),
        body("mass: 1e30, com: [0, 0, 0], gyration: [1, 1, 1]"),
    ],
)  # fmt: skip
def test_what_does_not_is_taken(text):
    (found,) = load_text("schema: 1\n" + text).bodies
    assert np.isfinite(found.inertia).all() and min(found.inertia[:3]) > 0.0


def test_a_hull_has_no_more_corners_than_are_looked_at(tmp_path):
    points = np.random.default_rng(1).normal(size=(3000, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    (tmp_path / "ball.obj").write_text("\n".join(f"v {x:.9f} {y:.9f} {z:.9f}" for x, y, z in points))
    (tmp_path / "scene.yaml").write_text("schema: 1\n" + shape("mesh: {file: ball.obj}"))
    with pytest.raises(SceneError, match=r"scene.yaml:2:\d+: .*a hull of \d+ corners; 1000 are the most"):
        load(tmp_path / "scene.yaml")


# --- counts --------------------------------------------------------------------------------------------


NESTED = """\
bodies:
  repeat:
    for: {i: {from: 1, to: 9999}}
    repeat:
      for: {k: {from: 1, to: 9999}}
      "a_${i}_${k}": {mass: 1 kg, com: [0, 0, 1]}
"""


@pytest.fixture
def made(monkeypatch) -> list[float]:
    """Numbers that repeats make while the test runs."""
    numbers: list[float] = []

    def counted(value: float) -> Quantity:
        numbers.append(value)
        return Quantity(value)

    monkeypatch.setattr(repeating, "Quantity", counted)
    monkeypatch.setattr(
        repeating, "_variable", lambda *_: True
    )  # asks for the kind of a number, which is a function now
    return numbers


def test_turns_of_repeats_inside_one_another_are_counted_before_they_are_made(made):
    (found,) = problems(NESTED)
    assert found.what == "99980001 turns in all; 10000 are the most"
    assert found.where is not None and found.where.line == 6
    assert len(made) <= 2


def test_so_are_those_of_many_repeats_of_which_none_is_long(made):
    blocks = ", ".join(
        f'{{for: {{i: {{from: 1, to: 3000}}}}, "b{k}_${{i}}": {{mass: 1 kg, com: [0, 0, 0]}}}}' for k in range(50)
    )
    found = problems(f"bodies:\n  repeat: [{blocks}]\n")[-1]
    assert found.what == "12000 turns of all repeats up to this one; 10000 are the most"
    assert len(made) == 9000


def test_deep_nests_of_short_repeats_end(made):
    lines = ["bodies:"]
    for k in range(40):
        lines += ["  " * (k + 1) + "repeat:", "  " * (k + 2) + f"for: {{i{k}: [1, 2]}}"]
    lines.append("  " * 41 + "x: {mass: 1 kg, com: [0, 0, 1]}")
    assert [re.sub(r"\d+", "_", found.what) for found in problems("\n".join(lines))] in (
        ["_ turns in all; _ are the most"], ["_ turns of all repeats up to this one; _ are the most"],
    )  # fmt: skip


def test_too_many_bodies_are_refused_by_number():
    text = "bodies:\n" + "".join(f"  x{k}: {{mass: 1 kg, com: [0, 0, 0]}}\n" for k in range(2501))
    (found,) = problems(text)
    assert found.what == "2501 bodies; 2500 are the most"
    assert found.path == "bodies.x2500" and found.where is not None and found.where.line == 2503


def test_so_are_freedoms_where_some_have_no_inertia():
    loose = "bodies:\n" + "".join(f"  x{k}: {{mass: 1 kg, com: [0, 0, 0], inertia: [1, 1, 1]}}\n" for k in range(1001))
    load_text("schema: 1\n" + loose)
    (found,) = problems(loose.replace("inertia: [1, 1, 1]}", "inertia: [1, 0, 1]}", 1))
    assert found.what == "6006 freedoms, and body 'x0' has no inertia about some axis; 6000 are the most then"
    assert found.path == "bodies.x0" and found.where is not None and found.where.line == 3


def chain_of(count: int) -> str:
    """Return a chain of spherical joints whose last body is a point mass, written before what carries it."""
    bodies = [f"  x{k}: {{mass: 1 kg, com: [0.1, 0, 0], inertia: [1, 1, 1]}}" for k in range(count - 1)]
    parents = ["world", *(f"x{k}" for k in range(count - 1))]
    joints = [
        f"  j{k}: {{type: spherical, child: x{k}, parent: {p}, position: [{k}, 0, 0]}}" for k, p in enumerate(parents)
    ]
    last = f"  x{count - 1}: {{mass: 1 kg, com: [0.1, 0, 0]}}"
    return "\n".join(["bodies:", last, *bodies, "joints:", *reversed(joints), ""])


def test_so_are_freedoms_of_bodies_that_hang_on_one_another():
    load_text("schema: 1\n" + chain_of(400))
    (found,) = problems(chain_of(401))
    assert found.what == (
        "1203 freedoms of bodies that hang on one another, and body 'x400' has no inertia about some axis; "
        "1200 are the most then"
    )
    assert found.path == "bodies.x400" and found.where is not None and found.where.line == 3
    load_text("schema: 1\n" + chain_of(401).replace("parent: x200,", "parent: world,"))


def test_bodies_that_carry_one_another_in_a_ring_are_counted_once():
    ring = chain_of(401).replace("parent: world", "parent: x400")
    assert any("1203 freedoms of bodies" in found.what for found in problems(ring))


def test_so_are_pairs_that_may_touch():
    text = "bodies:\n  repeat:\n    for: {i: {from: 1, to: 1001}}\n"
    text += '    "x${i}": {mass: 1 kg, shapes: [{sphere: {radius: 1}}]}\n'
    (found,) = problems(text + 'contacts: {all: {between: ["*", "*"]}}\n')
    assert found.what == "501000 pairs of shapes up to this rule; 500000 are the most"
    assert found.path == "contacts.all.between"
    load_text("schema: 1\n" + text + 'world: {shapes: [{plane: {}}]}\ncontacts: {all: {between: ["*", world]}}\n')


def test_a_file_is_measured_before_it_is_read(tmp_path):
    (tmp_path / "long.yaml").write_text("schema: 1\n" + "# long\n" * 700_000)
    with pytest.raises(SceneError, match=r"long.yaml' has 4.9 MB; 4 MB are the most"):
        load(tmp_path / "long.yaml")


# --- texts that are no numbers ---------------------------------------------------------------------------


PLACES = ["mass: {0}, com: [0, 0, 0]", "mass: 1, com: [{0}, 0, 0]", "density: {0}, shapes: [{{sphere: {{radius: 1}}}}]"]


@pytest.mark.parametrize("place", PLACES)
def test_whatever_stands_for_a_number_is_read_or_refused(place):
    refused = 0
    for number in (
        *extremes.SHAM_NUMBERS,
        *(n + unit for n in extremes.NUMBERS for unit in ("", " m", " m^", " kg^2")),
    ):
        try:
            load_text("schema: 1\n" + body(place.format(quoted(number))))
        except SceneError as error:
            refused += 1
            assert all(problem.where is not None for problem in error.problems)
    assert refused > 120


@pytest.mark.parametrize("number", ["inf", "1e400", "9" * 400, "-inf"])
def test_a_controller_holds_no_joint_at_infinity(number):
    text = "mass: 1 kg, shapes: [{sphere: {radius: 1}}]"
    joint = "joints: {j: {type: rotational, parent: world, child: b, position: [0, 0, 1], axis: [0, 1, 0]}}\n"
    for key in ("target", "kp"):
        values = {"target": "0", "kp": "1 N m/rad", "kd": "0", key: number}
        gains = ", ".join(f"{name}: {value}" for name, value in values.items())
        found = problems(body(text) + joint + f"controllers: {{c: {{type: pd, joints: j, {gains}}}}}\n")
        assert [one.path for one in found] == [f"controllers.c.{key}"]


# --- events ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        "{at: 1 s, caption: x}",
        "{at: 1 s, cut: j}",
        "{after: {e%d: 1 us}, caption: x}",
        "{after: {e%d: 1 us, e%d: 2 us}, once: false, caption: x}",
    ],
)
def test_thousands_of_events_are_looked_at_once_each(event, monkeypatch):
    from sim.scene import check

    looks = 0
    own_times = check._own_times

    def counted(*given):
        nonlocal looks
        looks += 1
        return own_times(*given)

    monkeypatch.setattr(check, "_own_times", counted)
    n = 1500
    lines = ["  e0: {at: 1 us, caption: x}", "  e1: {at: 2 us, caption: x}"]
    lines += [f"  e{k}: " + (event % tuple(range(k - 1, k - 1 - event.count("%d"), -1))) for k in range(2, n)]
    text = "bodies: {b: {mass: 1, com: [0, 0, 0]}}\n"
    text += "joints: {j: {type: spherical, parent: world, child: b, position: [0, 0, 1]}}\n"
    load_text("schema: 1\n" + text + "events:\n" + "\n".join(lines) + "\n")
    assert n <= looks < 2 * n
