"""Exudyn and MuJoCo are told of the mechanisms that ours simulates: they move alike, to the order of their steps."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from tests.support.peers import needs

# Scene, time, point, steps of the coarser of two runs, whether bodies of their own have rows that repeat others.
RUNS = {
    "A01": ("benchmarks/point_pendulum", 0.5, "mass.com", 100, False),
    "A02": ("benchmarks/four_bars", 0.3, "crank_0.B", 100, False),
    "A03": ("benchmarks/andrews", 0.005, "pusher", 100, False),
    "A04": ("benchmarks/bricard", 0.5, "rod2.p3", 100, True),
    "A05": ("benchmarks/governor", 0.1, "slider.com", 200, False),
    "monkey_swing": ("monkey_swing", 0.2, "monkey.shank_l.toe", 200, False),
}
exudyn = pytest.mark.skipif(
    importlib.util.find_spec("exudyn") is None, reason="exudyn is not installed (extra `bench`)"
)


def run_of(name):
    from bench.ours import Run, load, without_stops

    scene = load(RUNS[name][0], 1e-12)
    return Run(without_stops(scene) if name == "monkey_swing" else scene)


def told(name):
    """Return the mechanism, how its point is and moves at the end by our tight run, and the rest of RUNS."""
    _, until, point, steps, redundant = RUNS[name]
    run = run_of(name)
    mechanism = run.mechanism([point])
    run(until)
    return mechanism, run.states([point]), until, steps, redundant


def apart(peer, states):
    """Return the largest difference of places and of velocities, each as a share of how far the point came or moves."""
    start = peer.mechanism.points[0][1]
    scale = np.repeat([np.linalg.norm(states[0, :3] - start), np.linalg.norm(states[0, 3:])], 3)
    return float((np.abs(peer.states() - states) / scale).max())


@pytest.mark.parametrize("name", ["A01", "A02", "A04", "monkey_swing"])
def test_what_is_told_has_our_energy(name):
    run = run_of(name)
    energy = run.simulator.energy
    assert run.mechanism([]).energy() == pytest.approx(energy["kinetic"] + energy["potential"], rel=1e-12, abs=1e-12)


def test_bodies_that_are_fixed_are_told_as_one():
    """The governor's rods with their balls: 5.3 kg, and 0.3 / 12 + 0.3 / 4 + 5 about the hinge for a thin rod."""
    mechanism, *_ = told("A05")
    assert [body.mass for body in mechanism.bodies] == pytest.approx([0.3, 3.0, 5.3, 5.3])
    rod, hinge = mechanism.bodies[2], next(j for j in mechanism.joints if j.name == "hinge_right")
    arm = rod.com - hinge.position
    about_hinge = rod.inertia[1, 1] + rod.mass * arm @ arm
    assert about_hinge == pytest.approx(0.3 * (1 + 0.01**2) / 12 + 0.3 / 4 + 5, rel=1e-12)
    assert [mechanism.planar, told("A02")[0].planar, told("A04")[0].planar] == [False, True, False]


def test_what_a_mechanism_cannot_tell_is_refused():
    from bench.ours import Run, load

    with pytest.raises(ValueError, match="peers are not told of stops"):
        Run(load("monkey_swing")).mechanism([])


@exudyn
@pytest.mark.parametrize("form", ["bodies", "tree"])
@pytest.mark.parametrize("name", RUNS)
def test_exudyn_comes_nearer_with_the_square_of_its_step(name, form):
    from bench.peer_exudyn import Exudyn

    if (name, form) == ("monkey_swing", "tree"):
        pytest.skip("its trees have no spherical joints")
    mechanism, states, until, steps, redundant = told(name)
    peer = Exudyn(mechanism, form, redundant=redundant)
    solver = "TrapezoidalIndex2" if name == "monkey_swing" else "GeneralizedAlpha"
    errors = []
    for count in (steps, 2 * steps):
        settings = peer.settings(solver, until, count)
        settings.timeIntegration.newton.relativeTolerance = 1e-9
        peer.run(settings)
        errors.append(apart(peer, states))
    assert errors[1] < 1e-3
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2


@exudyn
@pytest.mark.parametrize(("solver", "allowed"), [("RK44", 1e-9), ("RK67", 1e-12), ("DOPRI5", 1e-9)])
def test_exudyn_explicit_on_a_tree(solver, allowed):
    from bench.peer_exudyn import EXPLICIT, Exudyn

    mechanism, states, until, *_ = told("A01")
    peer = Exudyn(mechanism, "tree")
    assert solver in EXPLICIT
    assert solver in peer.solvers
    peer.run(peer.settings(solver, until, 100, 1e-10))
    assert apart(peer, states) < allowed


@exudyn
def test_energy_of_exudyn_is_the_one_it_publishes():
    """Its own example of A02 says 0.114 J at worst with steps of 10 ms; and every run begins at the start."""
    from bench.ours import Run, load
    from bench.peer_exudyn import Exudyn

    peer = Exudyn(Run(load("benchmarks/four_bars")).mechanism(["crank_0.B"]))
    settings = peer.settings("GeneralizedAlpha", 10.0, 1000)
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.95
    assert peer.worst_energy(settings) == pytest.approx(0.114, rel=0.02)
    place = peer.positions()
    peer.run(settings)
    np.testing.assert_array_equal(peer.positions(), place)


@exudyn
def test_a_run_that_exudyn_gives_up_is_told():
    from bench.peer_exudyn import Diverged, Exudyn

    mechanism, *_ = told("A02")
    peer = Exudyn(mechanism)
    with pytest.raises(Diverged, match="exudyn: SolveDynamic terminated"):
        peer.run(peer.settings("TrapezoidalIndex2", 10.0, 1000))  # singular when it lies flat


@needs("mujoco")
@pytest.mark.parametrize(
    ("name", "allowed"), [("A02", 1e-5), ("A03", 1e-6), ("A04", 1e-6), ("A05", 1e-9), ("monkey_swing", 1e-4)]
)
def test_mujoco_tuned_comes_near(name, allowed):
    """Its loops are soft, so no order is asked of it."""
    from bench.peer_mujoco import MujocoRun

    mechanism, states, until, *_ = told(name)
    peer = MujocoRun(mechanism)
    steps = 4000
    peer.choose("RK4", until / steps, tuned=True)
    for _ in range(2):  # the second begins at the start again
        peer.rewind()
        peer.run(steps)
        assert apart(peer, states) < allowed


@needs("mujoco")
def test_a_run_that_explodes_is_not_a_number(tmp_path, monkeypatch):
    from bench.peer_mujoco import MujocoRun

    monkeypatch.chdir(tmp_path)
    mechanism, *_ = told("A05")
    peer = MujocoRun(mechanism)
    peer.choose("Euler", 0.01, tuned=False)
    peer.rewind()
    peer.run(100)
    assert np.isnan(peer.positions()).all()
    assert list(tmp_path.iterdir()) == []  # no log file


@exudyn
def test_tuning_keeps_the_fastest_options_that_arrive(monkeypatch):
    from bench.peer_exudyn import Diverged, Exudyn

    peer = Exudyn(told("A02")[0])

    def timed(settings):
        update = settings.timeIntegration.newton.modifiedNewtonJacUpdatePerStep
        linear = str(settings.linearSolver.solverType)
        if linear.endswith("EXUdense"):
            raise Diverged("the fastest, but it does not arrive")
        return {(True, "EigenDense"): 2.0, (False, "EigenSparse"): 1.0}.get((update, linear.rpartition(".")[2]), 3.0)

    monkeypatch.setattr(peer, "_timed", timed)
    peer.tune("GeneralizedAlpha", 1.0, 10)
    assert peer.options == {"GeneralizedAlpha": (False, "EigenSparse")}
    settings = peer.settings("GeneralizedAlpha", 1.0, 10)
    assert str(settings.linearSolver.solverType).endswith("EigenSparse")


@exudyn
def test_both_sides_reach_the_threshold(capsys):
    """A01 as a whole: both are told with their settings, and both errors are within the 5e-5 J that are allowed."""
    import json
    import re

    from bench.__main__ import main

    assert main(["iftomm.A01", "--rounds", "1", "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line["peer"] == "exudyn"
    assert line["ratio"] == line["ours"] / line["value"] > 0
    assert min(line["memory"], line["value_memory"]) > 20
    found = re.match(r"rtol \S+: error (\S+) J \(allowed 5e-05\); exudyn's \w+ of \w+, [^:]+: (\S+);", line["note"])
    assert all(0 < float(error) <= 5e-5 for error in found.groups())
