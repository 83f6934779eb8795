"""Centre of pressure and zero-moment point of what stands and slides, against statics."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import sim
from render.signals import Signals
from render.view import RenderError
from sim.recording import load_recording
from sim.scene.load import load_text

pytestmark = pytest.mark.contact

MASS, GRAVITY = 3.0, 9.81
BOX = """
schema: 1
name: box
world: {{shapes: [{{name: ground, plane: {{normal: [{NX}, 0, {NZ}]}}}}]}}
bodies:
  box:
    mass: 3 kg
    com: [0.03, -0.02, 0.4]
    inertia: [0.3, 0.3, 0.1]
    shapes: [{{box: {{size: [0.6, 0.5, 0.8], center: [{X}, 0, {Z}], orientation: {{rpy: [0, {TILT} deg, 0]}}}}}}]
    points: {{handle: [-0.3, -0.02, {HEIGHT}]}}
contacts: {{stand: {{between: [box, world.ground], friction: {FRICTION}}}}}
forces: {{push: {{type: wrench, body: box, point: handle, force: [{PUSH}, 0, 0]}}}}
simulate: {{duration: 0.1 s}}
"""
# The left foot on the ground, the right one on a step: 0.2 m higher and less slippery.
STAIRS = """
schema: 1
name: stairs
world:
  shapes:
    - {name: ground, plane: {}}
    - {name: step, box: {size: [0.4, 1, 0.2], center: [0.4, 0, 0.1]}}
bodies:
  table:
    mass: 3 kg
    com: [0.05, 0.03, 0.6]
    inertia: [0.3, 0.3, 0.1]
    shapes:
      - sphere: {center: [-0.3, 0.2, 0.1], radius: 0.1}
      - sphere: {center: [-0.3, -0.2, 0.1], radius: 0.1}
      - sphere: {center: [0.4, 0, 0.3], radius: 0.1}
    points: {handle: [0, 0, 0.9]}
contacts: {stand: {between: [table, world], friction: 0.6}}
forces: {push: {type: wrench, body: table, point: handle, force: [3, 1, 0]}}
simulate: {duration: 0.1 s}
"""


def signals_of(text, folder, *formulas):
    """Return the values of formulas at all rows but the first, which is told before what touches was decided."""
    sim.run(load_text(text), output=folder / "r.h5").close()
    with h5py.File(folder / "r.h5") as file:
        found = [Signals(file).evaluate(formula) for formula in formulas]
    assert {signal.unit for signal in found} == {"m"}
    return [signal.values[:, 1:] for signal in found]


@pytest.mark.parametrize(("friction", "push", "height"), [(0.8, 5.0, 0.6), (0.8, -4.0, 0.1), (0.1, 10.0, 0.5)])
def test_a_push_moves_the_centre_of_pressure(tmp_path, friction, push, height):
    """Where it stands by F h / (m g), sideways by nothing; where it slides by what accelerates it less."""
    text = BOX.format(NX=0, NZ=1, HEIGHT=height, FRICTION=friction, PUSH=push, X=0, Z=0.4, TILT=0)
    pressure, moment, com = signals_of(text, tmp_path, "cop('box')", "zmp('box', 'world')", "com('box')")
    weight = MASS * GRAVITY
    inertia = np.sign(push) * max(abs(push) - friction * weight, 0.0)  # m a
    assert (inertia != 0.0) == (friction == 0.1)
    expected = com * [[1], [1], [0]] + np.array([[push * height - inertia * 0.4], [0], [0]]) / weight
    np.testing.assert_allclose(pressure, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(moment, pressure, rtol=0, atol=1e-12)


def test_on_a_slope_both_are_below_the_centre_of_mass(tmp_path):
    tilt = np.radians(12.0)
    x, z = np.sin(tilt), np.cos(tilt)
    text = BOX.format(NX=x, NZ=z, HEIGHT=0.4, FRICTION=0.8, PUSH=0, X=0.4 * x, Z=0.4 * z, TILT=12)
    pressure, moment, com = signals_of(text, tmp_path, "cop('box', 'world.ground')", "zmp('world')", "com('box')")
    np.testing.assert_allclose(pressure[:2], com[:2], rtol=0, atol=1e-9)
    np.testing.assert_allclose(pressure[2], -com[0] * np.tan(tilt), rtol=0, atol=1e-9)
    np.testing.assert_allclose(moment, pressure, rtol=0, atol=1e-12)


def test_on_steps_they_differ_by_what_friction_holds(tmp_path):
    """The zero-moment point balances weight and push at its height, whatever the friction of each foot is."""
    formulas = ("cop('table')", "zmp('table')", "cop('t?ble', 'world.g*')", "com('table')")
    pressure, moment, left, com = signals_of(STAIRS, tmp_path, *formulas)
    level = pressure[2]
    assert np.all((level > 0.01) & (level < 0.19))
    shift = np.array([[3.0], [1.0]]) * (0.9 - level) / (MASS * GRAVITY)
    np.testing.assert_allclose(moment, [*(com[:2] + shift), level], rtol=0, atol=1e-9)
    assert np.abs(moment - pressure).max() > 1e-3
    np.testing.assert_allclose(left[[0, 2]], np.array([[-0.3], [0.0]]) + 0.0 * left[:2], rtol=0, atol=1e-9)
    with load_recording(tmp_path / "r.h5") as r:
        points = r.contacts(-1).on("table")
        np.testing.assert_allclose(points.centre_of_pressure, pressure[:, -1], rtol=0, atol=1e-14)
        np.testing.assert_allclose(points.zero_moment_point, moment[:, -1], rtol=0, atol=1e-14)
        assert len(points.on("t?ble", "world.g*")) == 2 and len(points) == 3
        np.testing.assert_array_equal(r.contact_force("*ble"), r.contact_force("table"))
        assert np.isnan(r.contacts(0).zero_moment_point).all()
    with h5py.File(tmp_path / "r.h5") as file:
        signals = Signals(file)
        assert np.isnan(signals.evaluate("zmp('table')").values[:, 0]).all()
        with pytest.raises(RenderError, match=r"no touching body named 'tab'"):
            signals.evaluate("cop('tab')")
        with pytest.raises(RenderError, match=r"zmp is written zmp\('name'\) or zmp\('name', 'other'\)"):
            signals.evaluate("zmp()")
