"""The whole of what `sim check` and `sim info` say, of scenes that have something to be said of."""

from __future__ import annotations

import json

import pytest

from tests.scenes.reported import FILE, problems_of, scenes

EXPECTED = json.loads(FILE.read_text(encoding="utf-8"))
SCENES = scenes()


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_is_reported_as_before(name: str) -> None:
    found, expected = problems_of(SCENES[name]), EXPECTED[name]
    assert found.keys() == expected.keys()
    for part, value in expected.items():
        if not isinstance(value, dict):
            assert found[part] == value, part
            continue
        assert found[part].keys() == value.keys()
        for key, item in value.items():
            close = isinstance(item, float)
            assert found[part][key] == (pytest.approx(item, rel=2e-6, abs=1e-9) if close else item), (part, key)


def test_reports_are_kept_of_these_scenes_alone() -> None:
    assert EXPECTED.keys() == SCENES.keys()
