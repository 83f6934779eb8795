"""A figure knows its own things by its own names, in every place that names things, however it is included."""

import ast
import dataclasses
from pathlib import Path

import pytest

import sim
from sim.scene.load import load
from sim.scene.problem import SceneError
from sim.scene.spec import Scene

pytestmark = pytest.mark.fast

# Every kind of name in every kind of place: of the world's points and shapes, bodies and their points, joints, forces,
# contacts, constraints, controllers and events.
FIGURE = """\
mirror: {l: r, plane: y}
world:
  points: {base: [0, 0, 1], hook_l: [1, 0.5, 2]}
  shapes: [{name: floor, plane: {}}]
bodies:
  bob:
    {mass: 1, com: [0, 0, 1.5], inertia: [1, 1, 1], shapes: [{sphere: {center: [0, 0, 1.5], radius: 0.1}}],
    points: {tip: [0, 0, 2]}}
  arm_l: {mass: 1, com: [1, 0.5, 1.5], inertia: [1, 1, 1], points: {end: [1, 0.5, 2]}}
  cart: {mass: 1, com: [3, 0, 1], inertia: [1, 1, 1]}
  ball: {mass: 1, com: [5, 0, 0.2], inertia: [1, 1, 1]}
joints:
  hold_l: {type: spherical, parent: world, child: arm_l, parent_point: hook_l, child_point: end}
  rail: {type: planar, parent: world, child: cart, position: [3, 0, 1], axis: [0, 0, 1], second_axis: [1, 0, 0]}
forces:
  s: {type: spring, from: world.base, to: bob.tip, stiffness: 10}
  t: {type: spring, from: bob, to: world.hook_r, stiffness: 10}
  w: {type: wrench, body: bob, force: [0, 0, "1 N/m*distance('world.base', 'bob.tip') + tension('s')"]}
contacts:
  rests: {between: [bob, world.floor], when: "position('bob')[2] < position('world.base')[2]"}
  lies: {between: ["b?b", "world.fl*"], active: false}
constraints:
  wheel: {type: no_side_slip, body: cart, position: [3, 0, 0], axis: [0, 1, 0], ground: world.floor}
  rolls: {type: rolling, body: ball, radius: 0.2, ground: world.floor}
controllers:
  push: {type: torque, torques: {hold_l: ["0 N m", "0 N m", "1 N m/m*local('world.base', 'bob')[2]"]}}
initial: {rail: [0.1, 0, 0]}
events:
  weaken: {at: 0.5 s, disable: [push, wheel]}
  revive: {after: {weaken: 0.1 s}, enable: push, touch: lies}
  hit:
    when: "distance('bob', 'world.base') > 5 and force('rests')[2] > 1"
    impulse: {body: bob, point: tip, linear: [0, 0, 1]}
  let go: {when: "coordinate('hold_l')[0] > 1", cut: "hold_?", set: {bob: {velocity: [0, 0, 1]}}}
  grab: {at: 0.9 s, connect: {grip: {type: fixed, parent: world, child: bob, parent_point: base}}}
"""


def scene(folder: Path, top: str, **files: str) -> Scene:
    for name, text in {"top": top, "figure": FIGURE, **files}.items():
        (folder / f"{name}.yaml").write_text("schema: 1\n" + text, encoding="utf-8")
    return load(folder / "top.yaml")


def names_in(value: object) -> list[str]:
    """Return every text of a scene's nouns and formulas, places and formulas as they are written left out."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, ast.AST):
        return [one.value for one in ast.walk(value) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if dataclasses.is_dataclass(value):
        fields = [f.name for f in dataclasses.fields(value) if f.name not in ("place", "places", "text")]
        return [name for field in fields for name in names_in(getattr(value, field))]
    if isinstance(value, dict):
        return [name for pair in value.items() for item in pair for name in names_in(item)]
    return [name for item in value for name in names_in(item)] if isinstance(value, (tuple, list, frozenset)) else []


NOUNS = ("bodies", "joints", "forces", "contacts", "constraints", "controllers", "events", "initial")
OWN = ("bob", "arm_l", "arm_r", "cart", "ball", "hold_l", "hold_r", "rail", "s", "t", "w", "rests", "lies", "wheel",
       "rolls", "push", "weaken", "revive", "hit", "let go", "grab", "grip", "rests begins", "rests ends")  # fmt: skip
POINTS, SHAPES = ("base", "hook_l", "hook_r"), ("floor",)
INCLUDES = {
    "with a prefix": ("include: {figure: figure.yaml, prefix: a}\n", {}, "a"),
    "without one": ("include: {figure: figure.yaml}\n", {}, ""),
    "nested": (
        "include: {figure: middle.yaml, prefix: a}\n",
        {"middle": "include: {figure: figure.yaml, prefix: b}\n"},
        "a.b",
    ),
    "nested without a prefix": (
        "include: {figure: middle.yaml, prefix: a}\n", {"middle": "include: {figure: figure.yaml}\n"}, "a"
    ),
    "in a repeat": ("repeat: [{for: {k: [1]}, include: {figure: figure.yaml, prefix: 'no${k}'}}]\n", {}, "no1"),
}  # fmt: skip


@pytest.mark.parametrize("how", INCLUDES)
def test_all_names_of_a_figure_are_its_own(how: str, tmp_path: Path) -> None:
    top, files, prefix = INCLUDES[how]
    alone, included = scene(tmp_path, FIGURE), scene(tmp_path, top, **files)

    def there(name: str) -> str:
        """Return the full name of what the figure calls so."""
        if name.startswith("world."):
            return f"world.{there(name.removeprefix('world.'))}"
        ours = name.partition(".")[0] in (*OWN, *SHAPES, *POINTS)
        return f"{prefix}.{name}" if prefix and ours else name

    for noun in NOUNS:
        own = names_in(getattr(alone, noun))
        assert names_in(getattr(included, noun)) == [there(name) for name in own], noun
    assert list(included.world.points) == [there(name) for name in alone.world.points]
    assert [shape.name for shape in included.world.shapes] == [there(shape.name) for shape in alone.world.shapes]


@pytest.mark.parametrize("how", INCLUDES)
def test_the_worlds_points_of_a_figure_hold_where_it_is_placed(how: str, tmp_path: Path) -> None:
    """A spring that is stretched by as much, and joints that close: placed and turned as a whole."""
    top, files, prefix = INCLUDES[how]
    placed = "placement: {position: [1, 2, 0], orientation: {rpy: [0, 0, 30 deg]}}"
    model = sim.compile(scene(tmp_path, top.replace("figure.yaml", f"figure.yaml, {placed}"), **files))
    simulator = sim.Simulator(model)
    start = f"{prefix}." if prefix else ""
    base, tip = (model.point_names[name] for name in (f"world.{start}base", f"{start}bob.tip"))
    on_world = model.points.p_B[base]
    on_bob = simulator.position[f"{start}bob"] + simulator.rotation[f"{start}bob"] @ model.points.p_B[tip]
    assert on_bob - on_world == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)
    hook_r = model.points.p_B[model.point_names[f"world.{start}hook_r"]]
    end_r = model.points.p_B[model.point_names[f"{start}arm_r.end"]]
    arm = simulator.position[f"{start}arm_r"] + simulator.rotation[f"{start}arm_r"] @ end_r
    assert arm == pytest.approx(hook_r, abs=1e-12)


@pytest.mark.parametrize("wrong", ["world.bsae", "world.a.base", "world.a.bsae"])
def test_a_wrong_name_is_told_as_the_figure_would_say_it(wrong: str, tmp_path: Path) -> None:
    figure = FIGURE.replace("from: world.base", f"from: {wrong}")
    with pytest.raises(SceneError) as caught:
        scene(tmp_path, "include: {figure: figure.yaml, prefix: a}\n", figure=figure)
    (problem,) = caught.value.problems
    assert problem.what == f"no body or point named 'world.a.{wrong.removeprefix('world.')}'"
    assert problem.hint == "did you mean 'world.base'?"


def test_the_including_file_names_the_figures_points_by_their_prefix(tmp_path: Path) -> None:
    top = (
        "include: {figure: figure.yaml, prefix: a}\n"
        "bodies: {own: {mass: 1, com: [0, 0, 3], inertia: [1, 1, 1]}}\n"
        "forces: {rope: {type: spring, from: world.a.base, to: own, stiffness: 1}}\n"
    )
    assert scene(tmp_path, top).forces[-1].ends == ("world.a.base", "own")
