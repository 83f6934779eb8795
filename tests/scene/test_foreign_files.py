"""What lies outside the scene's folder is told by name: a scene from elsewhere is no way to read other files."""

from __future__ import annotations

import pytest

import sim
from sim.scene.load import load
from sim.scene.problem import SceneError

pytestmark = pytest.mark.fast

SECRET = "hunter2"
FIGURE = "schema: 1\nbodies: {a: {mass: -1 kg, com: [0, 0, 0]}}  # hunter2\n"


@pytest.fixture
def here(tmp_path):
    folder = tmp_path / "scenes"
    folder.mkdir()
    return folder


def said(folder, scene: str) -> str:
    (folder / "scene.yaml").write_text("schema: 1\n" + scene)
    with pytest.raises(SceneError) as caught:
        load(folder / "scene.yaml")
    return str(caught.value) + str([problem.as_data() for problem in caught.value.problems])


@pytest.mark.parametrize(
    "content",
    [
        "root:x:0:0:hunter2:/root:/bin/sh\n", "password: hunter2\n", "hunter2: [1\n", "- hunter2\n", "hunter2\x00\x01",
        "&hunter2 a: 1\n", "a: hunter2\na: b\n", "\thunter2\n", "v hunter2 1 2\n", "f hunter2\n", b"\xff hunter2",
        "!hunter2 a: 1\n", "hunter2: 1\n---\nhunter2: 2\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "scene", ["include: {{figure: {0}, prefix: a}}", "world: {{shapes: [{{mesh: {{file: {0}}}}}]}}"]
)
def test_what_is_no_scene_nor_mesh_is_told_by_name_alone(here, content, scene):
    data = content if isinstance(content, bytes) else content.encode()
    (here.parent / "other").write_bytes(data)
    (here / "link").symlink_to(here.parent / "other")
    for name in ("../other", str(here.parent / "other"), "link"):
        text = said(here, scene.format(name))
        assert f"'{name}'" in text and "outside the scene's folder" in text
        assert SECRET not in text


def test_of_a_scene_lines_are_not_quoted(here):
    (here.parent / "figure.yaml").write_text(FIGURE)
    text = said(here, "include: {figure: ../figure.yaml, prefix: a}\n")
    assert "figure.yaml:2:20: bodies.a.a.mass: expected at least 0, found -1 kg" in text
    assert SECRET not in text


def test_beside_the_scene_lines_are_quoted(here):
    (here / "figure.yaml").write_text(FIGURE)
    (here / "part").write_text("hunter2\n")
    assert SECRET in said(here, "include: {figure: figure.yaml, prefix: a}\n")
    assert SECRET in said(here, "include: {figure: part, prefix: a}\n")


def test_of_a_mesh_from_elsewhere_its_points_are_kept(here):
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    (here.parent / "mesh.obj").write_text("# hunter2\n" + corners)
    (here / "scene.yaml").write_text("schema: 1\nworld: {shapes: [{mesh: {file: ../mesh.obj}}]}\n")
    sources = sim.load(here / "scene.yaml").sources
    assert SECRET not in str(sources)
    assert any("v 0.0 0.0 1.0\n" in text for text in sources.values())
