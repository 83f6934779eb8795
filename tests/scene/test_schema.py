"""The schema against itself, against the reader, the nouns of a scene and the documentation."""

import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from sim.joints import JOINT_TYPES
from sim.scene import describe, vocabulary
from sim.scene.describe import blocks
from sim.scene.load import load, load_text
from sim.scene.read_settings import build_render, build_simulate
from sim.scene.reading import default
from sim.scene.spec import Body, Constraint, Event, Joint, Limits, Simulate, World
from sim.scene.units import parse_unit
from tests.scene.examples import FIGURE, PENDULUM, SWING, by_name, scene_of

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[2]
SCHEMA = vocabulary.whole()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

# What the reader understands; a schema with another keyword would promise what nothing checks.
KEYWORDS = {
    "$schema", "$id", "$ref", "$defs", "title", "description", "examples", "default", "type", "enum", "const", "oneOf",
    "not", "properties", "required", "additionalProperties", "minProperties", "maxProperties", "items", "minItems",
    "maxItems", "minimum", "exclusiveMinimum", "maximum", "x-unit", "x-things", "x-choice", "x-read",
    "x-infinite", "x-also", "x-default",
}  # fmt: skip


def parts(schema, path="#"):
    """Yield every schema in the schema, with its place."""
    yield path, schema
    for key in ("properties", "$defs"):
        for name, inner in schema.get(key, {}).items():
            yield from parts(inner, f"{path}/{key}/{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from parts(schema[key], f"{path}/{key}")
    for i, inner in enumerate(schema.get("oneOf", [])):
        yield from parts(inner, f"{path}/oneOf/{i}")


def test_the_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_reader_knows_every_keyword_of_the_schema():
    for path, schema in parts(SCHEMA):
        assert set(schema) <= KEYWORDS, path


def test_units_can_be_read():
    found = [schema["x-unit"] for _, schema in parts(SCHEMA) if "x-unit" in schema]
    assert len(found) > 40
    for unit in found:
        for option in unit.split(" or "):
            parse_unit(option)


@pytest.mark.parametrize("heading", [heading for heading, _ in blocks()])
def test_every_key_has_a_description_and_an_example(heading):
    schema = dict(blocks())[heading]
    for name, inner in schema["properties"].items():
        field = vocabulary.resolve(inner)
        assert field.get("description"), name
        if name not in ("repeat", "box", "sphere", "ellipsoid"):
            assert field.get("examples"), name


@pytest.mark.parametrize("heading", [heading for heading, _ in blocks()])
def test_descriptions_end_with_the_unit(heading):
    """Editors show the description alone."""
    for name, inner in dict(blocks())[heading]["properties"].items():
        field = vocabulary.resolve(inner)
        if describe.unit_of(field):
            assert field["description"].endswith(f" [{describe.unit_of(field)}]"), name


def test_every_map_of_the_schema_is_documented():
    documented = [schema for _, schema in blocks()]
    for path, schema in parts(SCHEMA):
        known = set(schema.get("properties", {})) - {"repeat", "for"}
        if known and "repeated_sections" not in path:
            assert any(known <= set(other["properties"]) for other in documented), path


def test_every_example_and_default_is_valid():
    checked = 0
    for _, schema in parts(SCHEMA):
        validator = VALIDATOR.evolve(schema=schema)
        for value in [*schema.get("examples", []), *([schema["default"]] if "default" in schema else [])]:
            validator.validate(value)
            checked += 1
    assert checked > 150


@pytest.mark.parametrize("block", ["world", "bodies", "simulate", "parameters", "include", "repeat"])
def test_examples_of_blocks_are_read(block):
    bodies = {"bob": {"mass": 1, "com": [0, 0, 1]}, "rod": {"mass": 1, "com": [0, 0, 1]}}
    for example in vocabulary.resolve(SCHEMA["properties"][block])["examples"]:
        scene = load_text(json.dumps({"schema": 1, "bodies": bodies, **{block: example}}))
        assert len(scene.bodies) >= 1


@pytest.mark.parametrize("path", sorted((ROOT / "scenes").rglob("*.yaml")), ids=lambda path: path.stem)
def test_an_editor_accepts_the_shipped_scenes(path):
    VALIDATOR.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("text", [FIGURE, SWING, "schema: 1\n" + PENDULUM])
def test_an_editor_accepts_what_the_reader_accepts(text):
    VALIDATOR.validate(yaml.safe_load(text))


STRUCTURAL = (
    "unknown_keys", "missing_keys", "constraints", "wrong_kinds", "nothing_here", "version_2", "version_word",
    "orientations", "settings", "shapes", "joint_places", "mirrors",
)  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURAL)
def test_an_editor_refuses_wrong_keys_and_kinds_too(name):
    text = (ROOT / "tests" / "bad_scenes" / f"{name}.yaml").read_text(encoding="utf-8")
    assert not VALIDATOR.is_valid(yaml.safe_load(text))


# ---- schema and nouns ----


def fields(kind):
    return {field.name for field in dataclasses.fields(kind)}


def keys(name):
    return set(vocabulary.definition(name)["properties"])


def test_nouns_have_the_keys_of_the_schema():
    own = {"name", "part", "place", "places"}
    assert fields(Simulate) == keys("simulate")
    assert fields(World) == keys("world")
    assert fields(Joint) - own - {"binds"} == keys("joint") - {"about"}
    assert fields(Limits) - {"ranges"} == set(vocabulary.definition("limits")["oneOf"][1]["properties"]) - {"range"}
    assert fields(Body) - own - {"origin"} == keys("body") - {"about", "density", "gyration", "position", "color"}
    # To body and on, on, joints, ratio, the sign of bend; `along` of a blade is its axis.
    renamed = {"bodies", "ground", "joint", "pitch", "inside"}
    assert fields(Constraint) - own - {"on"} == keys("constraint") - {"about"} - renamed
    triggers = {"at", "after", "when", "key", "once", "caption"}
    assert fields(Event) - own - {"actions"} == triggers
    actions = keys("event") - triggers - {"touch", "release"}
    assert actions == {"connect", "cut", "enable", "disable", "set", "impulse", "stop"}
    assert vocabulary.definition("joint")["properties"]["type"]["enum"] == list(JOINT_TYPES)


def test_what_is_not_written_has_the_default_of_the_schema():
    scene = scene_of(PENDULUM)
    properties = vocabulary.definition("simulate")["properties"]
    assert dataclasses.asdict(scene.simulate) == {name: default(inner) for name, inner in properties.items()}
    assert scene.simulate == build_simulate(None)
    assert dict(scene.render) == build_render(None, ())
    assert set(scene.render) == keys("render")
    assert set(scene.render["camera"]) == keys("camera")
    assert scene.world.gravity == (0, 0, -9.81)
    joint = by_name(scene.joints)["hinge"]
    for key in ("stiffness", "rest", "damping", "armature"):
        assert getattr(joint, key) == (vocabulary.definition("joint")["properties"][key]["default"],)
    assert joint.connected is vocabulary.definition("joint")["properties"]["connected"]["default"]


# ---- documentation ----


def test_the_documentation_is_current():
    introduction = (ROOT / "docs" / "templates" / "scene-language.md").read_text(encoding="utf-8")
    assert (ROOT / "docs" / "scene-language.md").read_text(encoding="utf-8") == describe.language(introduction)


def test_the_scene_of_the_documentation_loads(tmp_path):
    text = (ROOT / "docs" / "scene-language.md").read_text(encoding="utf-8")
    blocks_of_yaml = [part.partition("```")[0] for part in text.split("```yaml\n")[1:]]
    path = tmp_path / "double_pendulum.yaml"
    path.write_text(blocks_of_yaml[1], encoding="utf-8")
    assert [joint.name for joint in load(path).joints] == ["shoulder", "elbow"]
