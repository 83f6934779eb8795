"""What `sim check` and `sim info` say of wheels: in the air, twice on a line, idle, locked; freedoms of two kinds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim
from sim.assembly.constraint_diagnostics import _lowest
from sim.assembly.start import start
from sim.mechanism.compiler import compile
from sim.mechanism.mechanism import Mechanism
from sim.scene.load import load_text
from tests.contact.engine import SCENES

pytestmark = [pytest.mark.nonholonomic, pytest.mark.fast]

CHOSEN = "the motion is unique, but forces that do the same are chosen (least norm)"
CART = """
schema: 1
name: cart
world: {shapes: [{name: floor, plane: {}}]}
bodies:
  cart: {mass: 2 kg, com: [0.1, 0, 0], inertia: [0.1, 0.1, 0.2], points: {left: [0, 0.2, 0], right: [0, -0.2, 0]}}
joints:
  plane: {type: planar, parent: world, child: cart, position: [0, 0, 0], axis: [0, 0, 1], second_axis: [1, 0, 0]}
constraints:
CONSTRAINTS
simulate: {duration: 1 s}
"""


def check(*constraints: str, scene: str = CART) -> sim.Report:
    return sim.check(load_text(scene.replace("CONSTRAINTS", "\n".join(f"  {line}" for line in constraints))))


def wheel(name: str, place: str, axis: str = "[0, 1, 0]", **more: str) -> str:
    said = "".join(f", {key}: {value}" for key, value in more.items())
    return f"{name}: {{type: no_side_slip, body: cart, {place}, axis: {axis}{said}}}"


def told(report: sim.Report, ok: bool = True) -> list[tuple[str, str]]:
    assert report.ok == ok
    return [(problem.path, problem.what) for problem in report.problems]


def test_a_cart_without_mistakes_is_fine() -> None:
    report = check(wheel("left", "point: left"))
    assert not report.problems and not report.notes
    assert report.counts == {
        "joint_coordinates": 3, "constraint_rank": 1, "mobility": 2, "mobility_in_position": 3,
    }  # fmt: skip


@pytest.mark.parametrize(("height", "words"), [(0.5, "0.5 m above"), (-0.3, "0.3 m below")])
def test_a_wheel_far_from_its_ground_is_named(height: float, words: str) -> None:
    report = check(wheel("left", f"position: [0, 0.2, {height}]", ground="world.floor"))
    assert told(report) == [("constraints.left", f"it stands {words} its ground, where 'cart' has nothing to grip")]


def test_an_axle_above_the_ground_is_fine_where_the_body_reaches_down() -> None:
    tall = CART.replace(
        "points: ", "shapes: [{cylinder: {from: [0, 0.18, 0.3], to: [0, 0.22, 0.3], radius: 0.3}}], points: "
    )
    at = wheel("left", "position: [0, 0.2, 0.3]", ground="world.floor")
    assert told(check(at, scene=tall)) == []
    assert len(told(check(at, scene=tall.replace("radius: 0.3", "radius: 0.1")))) == 1


@pytest.mark.parametrize("reach", [None, 0.05])
@pytest.mark.parametrize("floor", [-0.4, 0.7])
def test_it_is_far_from_a_tenth_of_the_mechanisms_length_on(floor: float, reach: float | None) -> None:
    """Above its ground by where the wheel is, or by how low its body reaches; below it by where the wheel is."""
    scene = CART.replace("plane: {}", f"plane: {{center: [3, 1, {floor}]}}")
    least = 0.1 * compile(load_text(scene.replace("CONSTRAINTS", "  " + wheel("left", "point: left")))).length
    assert least > 0.0 and abs(least - 0.1) > 1e-3
    for share, far in ((0.99, False), (1.01, True), (-0.99, False), (-1.01, True)):
        at, text = floor + share * least, scene
        if reach is not None:  # a ball that reaches to there, above or below a wheel that is as far away
            ball = f"shapes: [{{sphere: {{center: [0, 0.3, {at + reach}], radius: {reach}}}}}], points: "
            text = scene.replace("points: ", ball)
        found = told(check(wheel("left", f"position: [0, 0.2, {at}]", ground="world.floor"), scene=text))
        side = "above" if share > 0.0 else "below"
        words = f"it stands {abs(share) * least:.4g} m {side} its ground, where 'cart' has nothing to grip"
        assert found == ([("constraints.left", words)] if far else [])
    if reach is not None:  # a body that reaches the ground is on it however high its wheel is
        text = scene.replace(
            "points: ", f"shapes: [{{sphere: {{center: [0, 0.3, {floor + reach}], radius: {reach}}}}}], points: "
        )
        at = wheel("left", f"position: [0, 0.2, {floor + 0.9}]", ground="world.floor")
        assert told(check(at, scene=text)) == []


@pytest.mark.parametrize("normal", [(0.36, -0.48, 0.8), (-0.6, 0.0, 0.8), (0.0, 0.28, 0.96)])
def test_how_far_it_is_from_a_slanted_ground_is_along_its_normal(normal: tuple[float, float, float]) -> None:
    centre = np.array([3.0, 1.0, 0.2])
    scene = CART.replace("plane: {}", f"plane: {{center: {centre.tolist()}, normal: {list(normal)}}}")
    scene = scene.replace("points: ", "shapes: [{sphere: {center: [0.5, 0.3, 5], radius: 0.25}}], points: ")
    length = compile(load_text(scene.replace("CONSTRAINTS", "  " + wheel("left", "point: left")))).length
    for place in ([0.1, 0.2, -3.0], [-0.7, 0.4, 4.0], [0.3, 0.2, 9.0]):
        height = float(normal @ (np.array(place) - centre))
        under = float(normal @ (np.array([0.5, 0.3, 5.0]) - centre)) - 0.25
        words = f"it stands {abs(height):.4g} m {'above' if height > 0.0 else 'below'} its ground, where 'cart' has"
        found = told(check(wheel("left", f"position: {place}", "[0.48, 0.64, 0.6]", ground="world.floor"), scene=scene))
        assert min(height, under) > 0.1 * length or height < -0.1 * length
        assert found == [("constraints.left", f"{words} nothing to grip")]


def test_a_wheel_twice_on_one_line_is_told_with_both_names() -> None:
    report = check(wheel("left", "point: left"), wheel("right", "point: right"))
    assert told(report) == []
    assert report.notes == [f"constraint right (no_side_slip): its row repeats left (along its axle); {CHOSEN}"]


def test_axles_that_lock_are_named_and_those_that_do_not_are_left_out() -> None:
    """Three axles that do not meet; the fourth lies on the line of the first."""
    report = check(
        wheel("a", "point: left"), wheel("b", "position: [1, 0, 0]"), wheel("c", "position: [0, 0, 0]", "[1, 0.1, 0]"),
        wheel("d", "point: right"),
    )  # fmt: skip
    assert told(report) == [
        ("constraints.a", "'b' and 'c' and this leave 'cart' no motion at the start: the mechanism is locked")
    ]
    assert report.notes == [f"constraint d (no_side_slip): its row repeats a (along its axle); {CHOSEN}"]
    meeting = check(wheel("a", "point: left"), wheel("b", "position: [1, 0, 0]", "[1, 1, 0]"))
    assert told(meeting) == [] and meeting.counts["mobility"] == 1


def test_what_joints_hold_already_is_told_with_their_names() -> None:
    fixed = CART.replace("  plane: {type: planar", "  bolt: {type: fixed").replace(
        ", axis: [0, 0, 1], second_axis: [1, 0, 0]}", "}"
    )
    report = check(wheel("left", "point: left"), scene=fixed)
    assert told(report) == [
        ("constraints.left", "it binds nothing: 'cart' cannot move against 'world', held by 'bolt'")
    ]
    rail = CART.replace("planar", "translational").replace("axis: [0, 0, 1], second_axis: ", "axis: ")
    assert told(check(wheel("left", "point: left"), scene=rail)) == [
        ("constraints.left", "it binds nothing: the joints 'plane' do not let 'cart' move along its axle")
    ]


COIN = """
schema: 1
name: coin
world: {shapes: [{name: floor, plane: {}}]}
bodies:
  coin: {mass: 1 kg, com: [0, 0, HEIGHT], inertia: [0.1, 0.2, 0.1]}
JOINTS
constraints:
  rim: {type: rolling, body: coin, axis: [0, 1, 0], radius: 0.5, ground: world.floor}
simulate: {duration: 1 s}
"""


@pytest.mark.parametrize(("height", "words"), [(0.53, ["0.03 m above"]), (0.4, ["0.1 m below"]), (0.5, [])])
def test_what_assembly_moves_to_its_ground_is_told(height: float, words: list[str]) -> None:
    report = check(scene=COIN.replace("HEIGHT", str(height)).replace("JOINTS\n", ""))
    assert [note for note in report.notes if "ground" in note] == [
        f"constraint rim: stood {word} its ground; assembly moved it there" for word in words
    ]


def test_how_far_what_is_written_is_off_its_ground_is_told_beside_what_is_drawn_off_it() -> None:
    """A coin leans as it is written and stands off; one of which nothing is written is told as it was drawn."""
    more = "  low: {mass: 1, com: [3, 0, 0.5], inertia: [1, 2, 1]}\n"
    second = "  leans: {type: rolling, body: low, axis: [0, 1, 0], radius: 0.5, ground: world.floor}\nsimulate"
    two = COIN.replace("HEIGHT", "0.53").replace("JOINTS\n", more).replace("simulate", second)
    report = check(scene=two + "initial: {low: {rotation: [0.6, 0, 0]}}\n")
    assert sorted(note for note in report.notes if "ground" in note) == [
        f"constraint leans: stood {0.5 - 0.5 * np.cos(0.6):.4g} m above its ground; assembly moved it there",
        "constraint rim: stood 0.03 m above its ground; assembly moved it there",
    ]


def test_a_rolling_body_that_a_joint_keeps_on_its_plane_tells_which_row_repeats() -> None:
    joint = "joints:\n  plane: {type: planar, parent: world, child: coin, position: [0, 0, 0], axis: [0, 1, 0]}"
    upright = check(scene=COIN.replace("HEIGHT", "0.5").replace("JOINTS", joint))
    assert upright.notes == [
        f"constraint rim (rolling): 1 of its 3 rows repeats what the joints hold (along its axle); {CHOSEN}"
    ]


def test_a_body_that_cannot_touch_its_ground_is_named() -> None:
    axle = "joints:\n  axle: {type: rotational, parent: world, child: coin, position: [0, 0, 1], axis: [0, 1, 0]}"
    report = check(scene=COIN.replace("HEIGHT", "1").replace("JOINTS", axle))
    assert [(problem.path, problem.what) for problem in report.problems] == [
        ("constraints.rim", "this constraint cannot be met at the drawing: 'coin' stays 500 mm off its ground")
    ]


def test_a_motion_against_a_wheel_ends_the_run_with_its_name() -> None:
    scene = CART.replace("second_axis: [1, 0, 0]}", "second_axis: [1, 0, 0], motion: [free, 0.1 m/s^2*t*t, 0]}")
    run = sim.Simulator(sim.compile(load_text(scene.replace("CONSTRAINTS", f"  {wheel('left', 'point: left')}"))))
    with pytest.raises(sim.SimulationError, match=r"motions of 'plane' and the constraints .* in constraint 'left'"):
        run.advance(1.0)


def test_info_counts_freedoms_of_both_kinds_and_lists_constraints() -> None:
    found = sim.info(sim.load(SCENES / "bicycle.yaml"))
    assert (found["mobility"], found["mobility_in_position"], found["loops"]) == (3, 7, [])
    assert [(one["constraint"], one["type"], one["rows"]) for one in found["constraints"]] == [
        ("rear_rolls", "rolling", 3), ("front_rolls", "rolling", 3),
    ]  # fmt: skip


def test_a_rate_against_a_wheel_is_told_by_its_name() -> None:
    scene = CART.replace("simulate:", "initial: {plane: {rate: [1, 1, 0]}}\nsimulate:")
    report = check(wheel("left", "point: left"), scene=scene)
    assert [problem.what.split(";")[0] for problem in report.problems] == [
        "the constraint 'left' does not allow this rate"
    ]


def test_thresholds_that_are_not_determined_are_told_and_others_bind_as_they_do_while_they_hold() -> None:
    held = [wheel(name, f"point: {name}").replace("}", ", holds: 5 N}") for name in ("left", "right")]
    assert "holds" in held[0]
    assert told(check(held[0])) == []
    report = check(*held)
    # The run, which wants to know what slips, is refused where it begins.
    assert [path for path, what in told(report, ok=False) if "not determined: other rows repeat its own" in what] == [
        "constraints.left", "constraints.right"
    ]  # fmt: skip


# name, freedoms in position, in velocity, driven: the bicycle as published, the others counted by hand
COUNTED = [("bicycle", 7, 3, 0), ("rolling_disc", 5, 3, 0), ("chaplygin_sleigh", 3, 2, 0), ("snake_three", 3, 0, 2)]


@pytest.mark.parametrize(("name", "places", "rates", "driven"), COUNTED)
def test_speeds_are_chosen_as_coordinates_are_where_rates_are_bound(
    name: str, places: int, rates: int, driven: int
) -> None:
    """Wheels leave more coordinates than speeds; a speed is the rate of a coordinate."""
    found = sim.info(sim.load(SCENES / f"{name}.yaml"))
    assert (found["mobility_in_position"], found["mobility"], found["driven"]) == (places, rates, driven)
    coordinates, speeds = found["generalized_coordinates"], found["generalized_speeds"]
    assert (len(coordinates), len(speeds)) == (places + driven, rates + driven)
    assert set(speeds) < set(coordinates)


@pytest.mark.parametrize(("at", "rows", "rates"), [(None, 1, 2), (0.1, 1, 2), (1.0, 0, 3)])
def test_info_counts_what_grips_as_bound_and_what_slips_as_free(at: float | None, rows: int, rates: int) -> None:
    """The sleigh's blade needs no force at the start, and more than 0.1 N once it has come to glide in its turn."""
    text = (SCENES / "chaplygin_sleigh.yaml").read_text(encoding="utf-8")
    found = sim.info(load_text(text.replace("ground: world.ice}", "ground: world.ice, holds: 0.1 N}")), at=at)
    assert [one["rows"] for one in found["constraints"]] == [rows]
    assert (found["mobility"], found["mobility_in_position"], found["driven"], found["driven_rows"]) == (rates, 3, 0, 0)
    assert len(found["generalized_speeds"]) == rates


SHAPES = """
schema: 1
name: shapes
world: {shapes: [{plane: {}}]}
bodies: {it: {mass: 1, com: [0.1, 0.2, 0.9], inertia: [0.1, 0.1, 0.1], position: [0.3, 0.1, 0.8], shapes: [SHAPE]}}
initial: {it: {rpy: [0.7, -0.4, 0.3]}}
"""


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ("sphere: {center: [0.2, 0.1, 0.7], radius: 0.3}", (0.3, 0.3, 0.3)),
        ("ellipsoid: {center: [0.2, 0.1, 0.7], radii: [0.5, 0.3, 0.1], orientation: {rpy: [0.5, 0.2, -0.9]}}", (0.5,
                0.3, 0.1)),
        ("box: {center: [0.2, 0.1, 0.7], size: [0.5, 0.3, 0.2], orientation: {rpy: [0.5, 0.2, -0.9]}}", (0.25, 0.15,
                0.1)),
        ("capsule: {from: [0.2, 0.1, 0.7], to: [0.6, 0.3, 0.4], radius: 0.15}", None),
        ("cylinder: {from: [0.2, 0.1, 0.7], to: [0.6, 0.3, 0.4], radius: 0.15}", None),
    ],
)  # fmt: skip
def test_how_low_a_body_reaches_is_seen_at_points_of_its_shape(shape: str, size: tuple[float, ...] | None) -> None:
    """Against the lowest of many points of each surface, placed as their shape is, along a slanted normal."""
    model = compile(load_text(SHAPES.replace("SHAPE", f"{{{shape}}}")))
    begun = start(model)
    mechanism = Mechanism.of(model, begun.structure)
    mechanism.update(begun.q, begun.v)
    rng = np.random.default_rng(7)
    unit = rng.normal(size=(200_000, 3))
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    kind = shape.partition(":")[0]
    if size is not None:
        corners = np.sign(unit) if kind == "box" else unit
        turned = Rotation.from_euler("xyz", [0.5, 0.2, -0.9] if "rpy" in shape else [0, 0, 0])
        points = turned.apply(corners * size) + np.array([0.2, 0.1, 0.7])
    else:
        ends, axis = np.array([[0.2, 0.1, 0.7], [0.6, 0.3, 0.4]]), np.array([0.4, 0.2, -0.3])
        axis /= np.linalg.norm(axis)
        if kind == "cylinder":  # both rims
            unit -= np.outer(unit @ axis, axis)
            unit /= np.linalg.norm(unit, axis=1)[:, None]
        points = ends[rng.integers(2, size=len(unit))] + 0.15 * unit
    bodies = mechanism.work.bodies
    world = (points - [0.3, 0.1, 0.8]) @ bodies.R_WB[1].reshape(3, 3).T + bodies.p_WB[1]
    normal = np.array([0.36, -0.48, 0.8])
    for way in (normal, normal[[2, 0, 1]], -normal, np.array([0.8, 0.36, -0.48])):
        assert _lowest(mechanism, "it", way, 0.25) == pytest.approx(float(np.min(world @ way)) + 0.25, abs=2e-4)
    bare = compile(load_text(SHAPES.replace(", shapes: [SHAPE]", "")))
    empty = Mechanism.of(bare, start(bare).structure)
    empty.update(begun.q, begun.v)
    assert _lowest(empty, "it", normal, 0.25) == np.inf
