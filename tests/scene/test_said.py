"""What is said of mistakes that no bad scene of this folder's neighbour makes: place, sentence and hint."""

from __future__ import annotations

import pytest

from sim.scene.load import load, load_checked, load_text
from sim.scene.problem import Problem, SceneError

pytestmark = pytest.mark.fast

BODY = (
    "bodies: {b: {mass: 1 kg, com: [0, 0, 0], inertia: [1, 1, 1]}, c: {mass: 1 kg, shapes: [{sphere: {radius: 1}}]}}\n"
)
HINGE = "joints: {j: {type: rotational, parent: world, child: b, position: [0, 0, 0], axis: [0, 1, 0]}}\n"
SLIDER = "joints: {j: {type: cylindrical, parent: world, child: b, position: [0, 0, 0], axis: [0, 1, 0]}}\n"


def problems(text: str, **options: object) -> list[Problem]:
    """Every problem of a scene, warnings too."""
    try:
        load_text("schema: 1\n" + text, **options)  # type: ignore[arg-type]
    except SceneError as error:
        return error.problems
    return []


SAID = [
    # bodies, shapes
    (
        "bodies: {b: {mass: 1 kg, com: [0, 0, 0], density: 3, shapes: [{sphere: {radius: 1}}]}}\n",
        "bodies.b.density",
        "'mass' and 'density' at once; expected one of them",
        "",
    ),
    # constraints
    (
        BODY + "constraints: {w: {type: rolling, body: b, radius: 1, orientation: {rpy: [0, 0, 0]}}}\n",
        "constraints.w.orientation",
        "only an ellipsoid has an orientation; found no 'radii'",
        "axis: [0, 1, 0]",
    ),
    (
        BODY + "constraints: {w: {type: rolling, body: b, radii: [1, 2, 3], tube: 1}}\n",
        "constraints.w.tube",
        "'tube' beside 'radii', which say what rolls",
        "leave one of them out",
    ),
    (
        BODY + "constraints: {w: {type: rolling, body: b, radii: [1, 2, 3], level: [0, 0, 0], bend: 5}}\n",
        "constraints.w.radii",
        "an ellipsoid rolls on planes; found a ground that is round",
        "give its radius: a sphere",
    ),
    (
        BODY + "world: {shapes: [{name: s, box: {size: [1, 1, 1]}}]}\n"
        "constraints: {w: {type: knife_edge, body: b, along: [1, 0, 0], point: com, ground: world.s}}\n",
        "constraints.w.ground",
        "'world.s' is a box; expected a plane",
        "ground: world, with its normal",
    ),
    # contacts
    (
        BODY + "world: {shapes: [{plane: {}}]}\ncontacts: {r: {between: [c, world], when: t > 2 s, until: 1 s}}\n",
        "contacts.r.when",
        "'when' beside a time",
        "give the time inside: t > 1 s and ...",
    ),
    (
        BODY + "world: {shapes: [{plane: {}}]}\ncontacts: {r: {between: [c, world], from: 2 s, until: 1.5 s}}\n",
        "contacts.r.until",
        "the rule ends at 1.5 s, before it begins at 2 s",
        "",
    ),
    (
        BODY + "world: {shapes: [{plane: {}}]}\ncontacts: {r: {between: [c, world], from: 2 s, until: 2 s}}\n",
        "contacts.r.until",
        "the rule ends at 2 s, before it begins at 2 s",
        "",
    ),
    (
        BODY
        + "world: {shapes: [{plane: {}}]}\ncontacts: {r: {between: [c, world]}}\nsimulate: {method: variational}\n",
        "simulate.method",
        "steps of the variational method know no contacts",
        "take dop853, or leave the contacts out",
    ),
    # controllers
    (
        BODY + HINGE + "controllers: {k: {type: nothing_like_it, joints: j}}\n",
        "controllers.k.type",
        "no controller type named 'nothing_like_it'",
        None,
    ),
    # expressions
    (
        "parameters: {a: '[1, 2][0][0]'}\n",
        "parameters.a",
        "only a list of numbers can be indexed; this is one number",
        "",
    ),
    ("parameters: {a: 'x.y'}\n", "parameters.a", "cannot read 'x.y': unexpected '.'", ""),
    (
        "parameters: {a: '1 - [1, 2]'}\n",
        "parameters.a",
        "cannot subtract from a number a list of 2 numbers; pick one, as in [0], or take its norm(...)",
        "",
    ),
    (
        "parameters: {a: '2/[1, 2]'}\n",
        "parameters.a",
        "cannot divide a number by a list of 2 numbers; pick one, as in [0], or take its norm(...)",
        "",
    ),
    (
        "parameters: {a: '2^[1, 2]'}\n",
        "parameters.a",
        "cannot raise a number to a list of 2 numbers; pick one, as in [0], or take its norm(...)",
        "",
    ),
    (
        "parameters: {a: '[1, 2]*[1, 2]'}\n",
        "parameters.a",
        "cannot multiply a list by a list of 2 numbers; pick one, as in [0], or take its norm(...)",
        "",
    ),
    (
        "parameters: {a: '[1, 2]/[1, 2]'}\n",
        "parameters.a",
        "cannot divide a list by a list of 2 numbers; pick one, as in [0], or take its norm(...)",
        "",
    ),
    (
        "parameters: {a: '[[1], 2]'}\n",
        "parameters.a",
        "cannot put into a list a list of 1 numbers; pick one, as in [0], or take its norm(...)",
        "",
    ),
    ("parameters: {a: 'min(1, 2)(3)'}\n", "parameters.a", "a function is called by its name, with plain arguments", ""),
    ("parameters: {a: '3 if 2 else 1'}\n", "parameters.a", None, None),
    # parameters, names and repeats
    (
        "parameters: {a-b: 1}\n",
        "parameters.a-b",
        "'a-b' cannot be used in expressions",
        "choose another name for the parameter",
    ),
    (
        "bodies: {repeat: {for: [], x: {mass: 1, com: [0, 0, 0]}}}\n",
        "bodies.repeat.for",
        "expected loop variables and their values",
        "for: {s: [l, r], y: [1, -1]}",
    ),
    (
        "bodies: {'x${i}': {mass: 1, com: [0, 0, 0]}}\n",
        "bodies",
        "no loop variable named 'i'",
        "${...} is for the variables of a repeat",
    ),
    (
        "bodies: {repeat: {for: {q: [l, r]}, 'x_${q}': {mass: q, com: [0, 0, 0]}}}\n",
        "bodies.x_l.mass",
        "'q' is text ('l'), not a number",
        "inside names write ${q}",
    ),
    (
        BODY + 'events: {"a\\tb": {at: 1 s, caption: x}}\n',
        "events",
        "a name of several lines, or with a tab",
        "a name stands in one line",
    ),
    ('name: "a\\u0007b"\n', "name", None, "terminals and films act upon it"),
    # values
    (
        "bodies: {b: {mass: 1, com: [0, 0, 0], position: [0, 0, 0]}}\ninitial: {b: 3}\n",
        "initial.b",
        "one number for the orientation of a free joint",
        "give position and orientation: {position: [...], rpy: [...]}",
    ),
    # yaml
    ("bodies: {[1, 2]: 3}\n", "", "a key must be one word or sentence, not a list or map", ""),
    (
        "bodies: {['x_${i}', 2]: 3}\n",
        "",
        "a key must be one word or sentence, not a list or map",
        'quote names with ${...} inside { }: "leg_${s}"',
    ),
    (
        "a: b: c\n",
        "",
        "a second ':' in this line makes a map inside a value",
        "quote a text that holds ': ', or put the inner map on lines of its own, or inside { }",
    ),
    # settings
    (
        "simulate: {duration: 1e8 s, record: 1000 Hz}\n",
        "simulate.duration",
        "times of 1e+08 s are told to 1e-08 s only, and samples are 0.001 s apart",
        "simulate a shorter time, or take longer ones",
    ),
    (
        "simulate: {duration: 1e8 s, record: 1 Hz, method: rk4, step: 1 ms}\n",
        "simulate.duration",
        "times of 1e+08 s are told to 1e-08 s only, and steps are 0.001 s apart",
        "simulate a shorter time, or take longer ones",
    ),
    (
        "simulate: {duration: 1e8 s, record: 1 Hz, contact: auto, dt: 1 ms}\n",
        "simulate.duration",
        "times of 1e+08 s are told to 1e-08 s only, and steps are 0.001 s apart",
        "simulate a shorter time, or take longer ones",
    ),
]


@pytest.mark.parametrize(("text", "path", "what", "hint"), SAID, ids=range(len(SAID)))
def test_a_mistake_is_told_with_its_path_and_what_to_do(text, path, what, hint):
    found = problems(text)
    assert path in [problem.path for problem in found]
    said = [problem for problem in found if problem.path == path]
    if what is not None:
        assert [problem.what for problem in said] == [what]
    if hint is not None:
        assert said[0].hint == hint
    assert all(problem.where is not None for problem in said)


WARNED = [
    (
        "simulate: {dt: 1 ms, contact: event}\n",
        "dt",
        "contact: event does not use 'dt'",
        "it is the step of contact: stepping",
    ),
    (
        "simulate: {method: radau, contact: stepping}\n",
        "method",
        "contact: stepping does not use 'method'",
        "its steps are fixed, and 'dt' is their length",
    ),
    (
        "simulate: {step: 1 ms, contact: stepping}\n",
        "step",
        "contact: stepping does not use 'step'",
        "its steps are fixed, and 'dt' is their length",
    ),
    (
        "simulate: {rtol: 1e-6, contact: stepping}\n",
        "rtol",
        "contact: stepping does not use 'rtol'",
        "its steps are fixed, and 'dt' is their length",
    ),
    (
        "simulate: {max_step: 1 ms, contact: stepping}\n",
        "max_step",
        "contact: stepping does not use 'max_step'",
        "its steps are fixed, and 'dt' is their length",
    ),
    (
        "simulate: {rtol: 1e-6, method: rk4}\n",
        "rtol",
        "method rk4 does not use 'rtol'",
        "only dop853 and radau control their error",
    ),
    (
        "simulate: {max_step: 1 s, method: semi_implicit}\n",
        "max_step",
        "method semi_implicit does not use 'max_step'",
        "only dop853 and radau control their error",
    ),
    (
        "simulate: {step: 1 ms, method: radau}\n",
        "step",
        "method radau does not use 'step'",
        "rk4, semi_implicit and variational have fixed steps",
    ),
    (
        "simulate: {step: 1 ms, method: auto}\n",
        "step",
        "method auto does not use 'step'",
        "rk4, semi_implicit and variational have fixed steps",
    ),
    (
        "simulate: {step: 1 ms, method: dop853}\n",
        "step",
        "method dop853 does not use 'step'",
        "rk4, semi_implicit and variational have fixed steps",
    ),
]


@pytest.mark.parametrize(("text", "key", "what", "hint"), WARNED, ids=[what for _, _, what, _ in WARNED])
def test_what_a_method_does_not_use_is_a_warning(tmp_path, text, key, what, hint):
    (tmp_path / "a.yaml").write_text("schema: 1\n" + text)
    _, warnings = load_checked(tmp_path / "a.yaml")
    assert [(one.path, one.what, one.hint, one.severity) for one in warnings] == [
        (f"simulate.{key}", what, hint, "warning")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "simulate: {dt: 1 ms, contact: stepping}\n",
        "simulate: {dt: 1 ms, contact: auto}\n",
        "simulate: {step: 1 ms, method: rk4}\n",
        "simulate: {step: 1 ms, method: variational}\n",
        "simulate: {rtol: 1e-6, max_step: 1 s, method: auto}\n",
        "simulate: {rtol: 1e-6, max_step: 1 s, method: radau}\n",
        "simulate: {rtol: 1e-6, contact: auto}\n",
    ],
)
def test_what_a_method_uses_is_none(tmp_path, text):
    (tmp_path / "a.yaml").write_text("schema: 1\n" + text)
    assert load_checked(tmp_path / "a.yaml")[1] == []


TETRAHEDRON = "v 0 0 0\nv 2 0 0\nv 0 3 0\nv 0 0 4\n"
FACES = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_a_mesh_that_its_hull_is_larger_than_is_a_warning(tmp_path):
    """A thousandth more is taken without a word: a dent of a tenth of the volume is not."""
    scene = tmp_path / "a.yaml"
    scene.write_text("schema: 1\nbodies: {b: {density: 1, shapes: [{mesh: {file: m.obj}}]}}\n")
    for share, told in ((0.9e-3, None), (0.125, "14.3")):
        # A pyramid on its base of volume 4 share is taken out of the face in z = 0.
        dent = f"v 0.5 0.75 {4 * share!r}\n"
        (tmp_path / "m.obj").write_text(TETRAHEDRON + dent + "f 1 3 5\nf 3 2 5\nf 2 1 5\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
        _, warnings = load_checked(scene)
        hint = "take it as it is with `concave: true`, or take several shapes for its parts"
        what = f"the mesh is not convex: its hull, which is taken for it, has {told} % more volume"
        assert [(one.what, one.hint, one.severity) for one in warnings] == (
            [] if told is None else [(what, hint, "warning")]
        )
    (tmp_path / "m.obj").write_text(TETRAHEDRON + FACES)
    scene, warnings = load_checked(scene)
    assert warnings == [] and scene.bodies[0].mass == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("given", "path", "what", "hint"),
    [
        ({"b": 1}, "set['b']", "no parameter named 'b'", "there is: a"),
        ({"a": "1 kg"}, "set['a']", "expected a length (m), found a mass (kg)", ""),
        ({"a": 3.5}, "set['a']", "3.5 is outside the range 1 m to 3 m of the parameter", ""),
        ({"a": "0.99"}, "set['a']", "0.99 is outside the range 1 m to 3 m of the parameter", ""),
        ({"a": "1,5"}, "set['a']", "1,5 has a decimal comma", "write 1.5"),
        ({"a": "on"}, "set['a']", "no parameter or unit named 'on'", None),
    ],
)
def test_values_from_outside_are_told_without_a_place(given, path, what, hint):
    (found,) = problems("parameters: {a: {value: 2, unit: m, range: [1 m, 3 m]}}\n", set=given)
    assert (found.path, found.what, found.where) == (path, what, None)
    assert hint is None or found.hint == hint


@pytest.mark.parametrize(("given", "value"), [(1, 1.0), (3, 3.0), ("250 cm", 2.5), ("1.5", 1.5), (2.25, 2.25)])
def test_values_from_outside_are_in_the_unit_of_the_parameter(given, value):
    scene = load_text("schema: 1\nparameters: {a: {value: 2, unit: m, range: [1, 3]}, b: 2*a}\n", set={"a": given})
    assert scene.parameters == {"a": pytest.approx(value), "b": pytest.approx(2 * value)}


def test_a_value_for_what_follows_from_an_unknown_parameter_is_not_told_twice():
    """Nobody knows of which unit it would be, nor whether it is in the range."""
    found = problems("parameters: {a: 1 + oops, b: 2 m * a, c: {value: 2 m * a, range: [1 m, 4 m]}}\n",
                     set={"b": "3 s", "c": "9 m"})  # fmt: skip
    assert [problem.what for problem in found] == ["no parameter or unit named 'oops'"]


def test_what_is_no_path_or_no_mapping_is_refused():
    with pytest.raises(ValueError) as caught:
        load(3)  # type: ignore[arg-type]
    assert str(caught.value) == "source: found 3; expected the path of a scene, or the name of one that is shipped"
    with pytest.raises(ValueError) as caught:
        load("pendulum", set=[1])  # type: ignore[arg-type]
    assert str(caught.value) == "set: found [1]; expected names and values, as in {'length': '2 m'}"


def test_a_parameter_of_another_unit_is_told_once_where_it_is_declared():
    """Three places that one other unit puts right; of two each is told."""
    text = "parameters: {size: 2 kg}\nbodies: {b: {mass: 1 kg, com: [%s], gyration: [1, 1, 1]}}\n"
    (found,) = problems(text % "size, 2*size, size/3")
    assert (found.path, found.hint) == ("parameters.size", "give it another unit")
    assert found.what == "'size' is a mass (kg), and 3 places read it as a length (m), first bodies.b.com[0] in line 3"
    assert [one.path for one in problems(text % "size, 2*size, 0")] == ["bodies.b.com[0]", "bodies.b.com[1]"]
