"""Every shipped scene: first line for editors, words, camera, a check without complaint."""

from pathlib import Path

import pytest

import sim

ROOT = Path(__file__).parents[2] / "scenes"
SCENES = sorted(path for path in ROOT.rglob("*.yaml"))
RUNNABLE = [path for path in SCENES if "figures" not in path.parts and path.stem != "figure34"]
WANTED = {
    "pendulum", "double_pendulum", "four_bar", "monkey_swing", "high_bar", "high_bar_planar", "swing",
    "swing_paper", "rope_pullup", "rope", "two_bodies", "rocket",
    "bricard", "four_bars", "heavy_top", "box", "dzhanibekov", "three_links", "cut_rod", "chain",
    "governor", "andrews", "slider_crank", "point_pendulum", "point_double_pendulum", "figure58", "chain_in_plane",
    "rope_net", "forest", "heap", "boxes",
    "bouncing_ball", "sliding_block", "rocking_block", "table", "stack", "newtons_cradle", "rolling_sphere",
    "dice", "dominoes", "figure_falls", "woodpecker", "slider_crank_clearance",
    "bicycle", "rolling_disc", "chaplygin_sleigh", "snake", "snake_slope", "snake_three", "snake_paper", "car",
    "ball_on_turntable", "dome",
    "screw_press", "figure_stands", "ragdoll_stairs", "terrain", "high_bar_dismount", "swing_ground", "uneven_bars",
    "slack_string", "stick_slip", "soft_landing", "rolling_balls", "biped_walk", "stewart", "five_bar",
    "deck_crane", "barbell",
}  # fmt: skip


def identify(path):
    return path.stem


def test_all_scenes_are_there():
    assert {path.stem for path in RUNNABLE} == WANTED


@pytest.mark.fast
@pytest.mark.parametrize("path", SCENES, ids=identify)
def test_first_line_leads_editors_to_the_schema(path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    marker = "# yaml-language-server: $schema="
    assert first.startswith(marker)
    assert (path.parent / first.removeprefix(marker)).resolve() == ROOT.parent / "schema" / "scene.schema.json"


@pytest.mark.fast
@pytest.mark.parametrize("path", SCENES, ids=identify)
def test_scenes_load_and_say_what_they_show(path):
    scene = sim.load(path)
    assert scene.name == path.stem
    assert len(scene.about) > 20
    assert all(body.shapes for body in scene.bodies)


@pytest.mark.parametrize("path", RUNNABLE, ids=identify)
def test_check_finds_no_error(path):
    problems = [problem for problem in sim.check(sim.load(path)).problems if problem.severity == "error"]
    assert problems == []


@pytest.mark.fast
@pytest.mark.parametrize("path", RUNNABLE, ids=identify)
def test_scenes_bring_a_camera_and_no_ground(path):
    render = sim.load(path).render
    assert render["camera"]["distance"] > 0.0
    assert render["ground"] is False
