"""What is told of soft contacts beside a run: verification, linear models, rollouts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

import sim
from sim.scene.load import load_text
from tests.contact.engine import G0
from tests.contact.test_soft import MASS, SLIDER, STIFFNESS, SUNK

pytestmark = pytest.mark.contact


def text_of(vx: float, z: float, friction: str, c: float, said: str = "") -> str:
    text = SLIDER.replace("VX", str(vx)).replace("VZ", "0").replace("coordinate: Z", f"coordinate: {z}")
    text = text.replace("FRICTION", friction).replace("dissipation: C", f"dissipation: {c}").replace("SAID", said)
    return text.replace("GX", "0").replace("GZ", str(-G0))


def recorded(folder: Path, said: str = "") -> Path:
    path = folder / "soft.h5"
    scene = load_text(text_of(0.5, 0.02, "0.3", 0.5, said))
    sim.run(replace(scene, simulate=replace(scene.simulate, duration=0.4)), output=path).close()
    return path


def test_verification_finds_forces_by_their_depths_and_those_that_are_not(tmp_path: Path):
    path = recorded(tmp_path)
    assert sim.verify(path).problems == []
    with h5py.File(path, "r+") as file:
        file["contacts/force"][:, 2] *= 1.001
    assert any("where its depth gives" in problem for problem in sim.verify(path).problems)


def test_verification_takes_soft_contacts_in_time_steps(tmp_path: Path):
    assert sim.verify(recorded(tmp_path, "contact: stepping, dt: 1 ms")).problems == []


def test_a_linear_model_swings_with_the_stiffness_and_is_damped_by_the_weight_times_the_dissipation():
    """About rest k d c = m g c is the slope of the force by the rate of depth."""
    model = sim.linearize(load_text(text_of(0.0, -SUNK, "0", 0.4)))
    found = model.eigenvalues[np.abs(model.eigenvalues) > 1e-9]
    expected = np.roots([1.0, G0 * 0.4, STIFFNESS / MASS])
    assert np.sort_complex(found) == pytest.approx(np.sort_complex(expected), rel=1e-9)


def test_a_linear_model_holds_what_sticks_softly():
    model = sim.linearize(load_text(text_of(0.0, -SUNK, "0.5", 0.4)))
    assert len(model.eigenvalues) == 2  # up and down alone


def test_rollouts_follow_soft_contacts_in_time_steps_as_runs_do():
    scene = load_text(text_of(0.3, 0.01, "0.3", 0.5, "contact: stepping, dt: 1 ms"))
    model = sim.compile(scene)
    run = sim.Simulator(model)
    states = np.array([[0.0, 0.01, 0.3, 0.0]])
    motion = sim.rollout(model, states, np.zeros((1, 10, len(model.columns))), dt=0.01)
    run.advance(0.1)
    assert motion.ok.all()
    assert motion.q[0, -1] == pytest.approx(run.flow.q, abs=1e-12)
