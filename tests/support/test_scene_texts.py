"""The text of a random mechanism says what the mechanism is, to the bit, and keeps to the schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml

from tests.support.mechanisms import random_mechanism, random_tree, with_consistent_rates, with_coordinates
from tests.support.scene_texts import scene_text

SCHEMA = json.loads((Path(__file__).parents[2] / "schema" / "scene.schema.json").read_text())


@pytest.mark.parametrize("seed", range(12))
def test_text_keeps_to_the_schema_and_loses_no_digit(seed):
    rng = np.random.default_rng(seed)
    if seed % 2:
        mechanism = with_coordinates(rng, random_tree(rng, 8))
    else:
        mechanism = with_consistent_rates(rng, random_mechanism(rng, 8, loops=seed // 3, driven=True))
    scene = yaml.safe_load(scene_text(mechanism))
    jsonschema.validate(scene, SCHEMA)

    assert list(scene["bodies"]) == list(mechanism.names)
    assert list(scene["joints"]) == list(mechanism.joints)
    assert scene["world"]["gravity"] == list(mechanism.gravity)
    for name, body in zip(mechanism.names, mechanism.bodies, strict=True):
        assert scene["bodies"][name]["mass"] == body.mass
        assert scene["bodies"][name]["com"] == list(body.com_W)
        xx, yy, zz, xy, xz, yz = scene["bodies"][name]["inertia"]
        assert np.array_equal(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), body.inertia_W)
    for name, link in zip(mechanism.joints, mechanism.links, strict=True):
        written = scene["joints"][name]
        assert written["position"] == list(link.p_b)
        assert (written["parent"], written["child"]) == (
            "world" if link.a < 0 else mechanism.names[link.a],
            mechanism.names[link.b],
        )
    named = set(scene.get("initial", {}))
    assert named == set(mechanism.rates) | set(mechanism.coordinates)
