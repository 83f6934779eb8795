"""Named points after the run: of runs, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from render import plots
from render.signals import Signals
from render.view import open_recording
from sim.recording import PointEntry, Recorder, RecordingError, load_recording
from tests.recording import example

PEAUCELLIER = """
schema: 1
name: peaucellier
parameters: {h: "sqrt((0.5 m)^2 - (0.325 m)^2)"}
bodies:
  crank: {mass: 0.5 kg, shapes: [{capsule: {from: [0.3, 0, 0], to: [0.6, 0, 0], radius: 1 cm}}]}
  oc: {mass: 1 kg, shapes: [{capsule: {from: [0, 0, 0], to: [0.925, 0, h], radius: 1 cm}}]}
  od: {mass: 1 kg, shapes: [{capsule: {from: [0, 0, 0], to: [0.925, 0, -h], radius: 1 cm}}]}
  bc: {mass: 0.5 kg, shapes: [{capsule: {from: [0.6, 0, 0], to: [0.925, 0, h], radius: 1 cm}}]}
  bd: {mass: 0.5 kg, shapes: [{capsule: {from: [0.6, 0, 0], to: [0.925, 0, -h], radius: 1 cm}}]}
  pc:
    mass: 0.5 kg
    points: {pen: [1.25, 0, 0]}
    shapes: [{capsule: {from: [1.25, 0, 0], to: [0.925, 0, h], radius: 1 cm}}]
  pd: {mass: 0.5 kg, shapes: [{capsule: {from: [1.25, 0, 0], to: [0.925, 0, -h], radius: 1 cm}}]}
joints:
  drive: {type: rotational, parent: world, child: crank, position: [0.3, 0, 0], axis: [0, -1, 0],
          motion: 40 deg*sin(2*pi*t/2 s)}
  o1: {type: rotational, parent: world, child: oc, position: [0, 0, 0], axis: [0, 1, 0]}
  o2: {type: rotational, parent: world, child: od, position: [0, 0, 0], axis: [0, 1, 0]}
  b1: {type: rotational, parent: crank, child: bc, position: [0.6, 0, 0], axis: [0, 1, 0]}
  b2: {type: rotational, parent: crank, child: bd, position: [0.6, 0, 0], axis: [0, 1, 0]}
  c1: {type: rotational, parent: oc, child: bc, position: [0.925, 0, h], axis: [0, 1, 0]}
  c2: {type: rotational, parent: oc, child: pc, position: [0.925, 0, h], axis: [0, 1, 0]}
  d1: {type: rotational, parent: od, child: bd, position: [0.925, 0, -h], axis: [0, 1, 0]}
  d2: {type: rotational, parent: od, child: pd, position: [0.925, 0, -h], axis: [0, 1, 0]}
  p: {type: rotational, parent: pc, child: pd, position: [1.25, 0, 0], axis: [0, 1, 0]}
simulate: {duration: 1 s}
"""

FIGURE = """
schema: 1
name: figure
bodies:
  arm_l:
    mass: 1 kg
    points: {tip: [0, 0.3, 0]}
    shapes: [{capsule: {from: [0, 0.1, 0], to: [0, 0.3, 0], radius: 2 cm}}]
world: {points: {peg: [0, 0.5, 0]}}
mirror: {l: r, plane: y}
"""


@pytest.fixture(scope="module")
def linkage(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linkage")
    (folder / "peaucellier.yaml").write_text(PEAUCELLIER)
    sim.run(folder / "peaucellier.yaml", output=folder / "r.h5").close()
    return folder / "r.h5"


def test_the_pen_of_peaucelliers_linkage_draws_a_straight_line(linkage):
    """The inversion of the crank's circle: x = (0.925^2 + h^2 - 0.5^2)/(2*0.3), z = x tan(angle to the crank's end)."""
    with load_recording(linkage) as r:
        pen, t = r.position["pc.pen"], r.time
        turn = np.deg2rad(40) * np.sin(np.pi * t)
        # The crank's end B stands at this angle about the origin, and the pen on the ray through it.
        angle = np.arctan2(0.3 * np.sin(turn), 0.3 + 0.3 * np.cos(turn))
        rate = np.deg2rad(40) * np.pi * np.cos(np.pi * t) / 2  # of the angle, which is half of the turn
        line = 1.25
        assert np.abs(pen[:, 0] - line).max() < 1e-12
        assert pen[:, 2] == pytest.approx(line * np.tan(angle), abs=1e-11)
        assert r.velocity["pc.pen"][:, 2] == pytest.approx(line * rate / np.cos(angle) ** 2, abs=1e-10)
        assert np.abs(r.velocity["pc.pen"][:, 0]).max() < 1e-11
        assert r.distance("pc.pen", "crank") == pytest.approx(
            np.linalg.norm(pen - r.position["crank"], axis=1), abs=1e-15
        )
        # The pen is as far from the joint c2, on the arm oc, as both arms are long, whatever the pose.
        at_joint = r.joint_position["c2"]
        assert np.linalg.norm(pen - at_joint, axis=1) == pytest.approx(0.5, abs=1e-12)
        assert r.local("pc.pen", "pc") == pytest.approx(np.tile(r.points[0].position, (r.rows, 1)), abs=1e-15)
        assert r.points == (PointEntry(name="pc.pen", body=5, position=r.points[0].position),)


def test_plots_know_the_points_of_a_run(linkage, tmp_path):
    with open_recording(linkage) as file:
        signals = Signals(file)
        assert np.ptp(signals.evaluate("position('pc.pen')[0]").values) < 1e-12
        assert np.ptp(signals.evaluate("position('pc.pen')[2]").values) > 0.4
    ways = ["position('pc.pen')[0]", "position('pc.pen')[2]"]
    text = plots.plot(linkage, ways, tmp_path / "x.svg", xy=True).read_text()
    for words in ("position('pc.pen')[0] [m]", "position('pc.pen')[2] [m]", "circle: start, cross: end"):
        assert f"<!-- {words} -->" in text


def test_points_of_included_turned_and_mirrored_figures_are_where_the_scene_has_them(tmp_path):
    (tmp_path / "figure.yaml").write_text(FIGURE)
    (tmp_path / "scene.yaml").write_text(
        "schema: 1\nname: s\n"
        "include:\n  figure: figure.yaml\n  prefix: f\n"
        "  placement: {position: [1, 2, 3], orientation: {rpy: [90 deg, 0, 0]}}\n"
        "world: {gravity: [0, 0, -10]}\n"
        "events:\n  low: {when: \"position('f.arm_l.tip')[2] < 3 m\", caption: low}\n"
        "simulate: {duration: 0.5 s}\n"
    )
    with sim.run(tmp_path / "scene.yaml") as r:
        assert {p.name for p in r.points} == {"f.arm_l.tip", "f.arm_r.tip", "world.f.peg"}
        # Turned by a quarter about x: (x, y, z) -> (x, -z, y), then put at (1, 2, 3).
        for name, place in (("f.arm_l.tip", (1, 2, 3.3)), ("f.arm_r.tip", (1, 2, 2.7)), ("world.f.peg", (1, 2, 3.5))):
            assert r.position[name][0] == pytest.approx(place, abs=1e-14)
        assert np.abs(r.velocity["world.f.peg"]).max() == 0.0
        row = r.events[0].row_after
        assert r.position["f.arm_l.tip"][row, 2] == pytest.approx(3.0, abs=1e-12)  # the same point as in a condition
        fall = 0.5 * 10.0 * r.time**2
        assert r.position["f.arm_l.tip"][:, 2] == pytest.approx(3.3 - fall, abs=1e-9)


def test_bodies_stay_what_is_listed_and_unknown_points_offer_the_nearest(tmp_path):
    points = (PointEntry(name="link0.tip", body=0, position=(0.0, 0.0, -1.0)),)
    layout = example.layout(2, points=points)
    with Recorder(tmp_path / "r.h5", layout) as recorder:
        recorder.append(example.rows(layout, 0, 3))
        recorder.finish(True)
    with load_recording(tmp_path / "r.h5") as r:
        assert r.points == points and list(r.position) == ["link0", "link1"] and r.position.array.shape == (3, 2, 3)
        assert "link0.tip" in r.position and "link0.tp" not in r.velocity
        with pytest.raises(RecordingError, match=r"no body or point named 'link0.tp' .*; did you mean 'link0.tip'"):
            r.velocity["link0.tp"]
        with pytest.raises(RecordingError, match=r"no body named 'link0.tip' .*; did you mean 'link0'"):
            r.local("link1", "link0.tip")


def test_older_recordings_have_no_points_and_are_read_all_the_same(linkage, tmp_path):
    import h5py

    old = tmp_path / "old.h5"
    old.write_bytes(linkage.read_bytes())
    with h5py.File(old, "r+") as file:
        del file["points"]
    with load_recording(old) as r:
        assert r.points == () and r.position["pc.com"] == pytest.approx(r.com["pc"], abs=1e-14)
        with pytest.raises(RecordingError, match=r"no body or point named 'pc.pen'"):
            r.position["pc.pen"]
