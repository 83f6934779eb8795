"""track: splines of scalars and rotations beside scipy's, torques of a table, ends, gains and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

import sim
from plugins.track import Track
from sim.scene.time_table import as_csv, table_of
from tests.plugins.views import torque_of, view_of

pytestmark = pytest.mark.fast
TIME = np.cumsum(np.random.default_rng(1).uniform(0.05, 0.15, 15))
VIEW = view_of({"knee": "rotational", "slide": "planar", "hip": "spherical", "root": "free"})


def table(**columns: np.ndarray):
    """Return a table whose columns are called as in the head of a file, `__` for brackets."""
    units = {}
    for name, values in columns.items():
        linear = name.removeprefix("torque_") in ("slide__0", "slide__1")
        force = name.startswith("torque_")
        key = name.removeprefix("torque_").replace("__", "[") + ("]" if "__" in name else "")
        units[f"torque({key!r})" if force else key] = (
            ("N" if linear else "N m") if force else "m" if linear else "rad",
            values,
        )
    return table_of(as_csv(TIME, units), "m.csv")


def turning() -> tuple[Rotation, np.ndarray]:
    """Return a rotation over TIME that passes half a turn, and its rotation vectors."""
    R = Rotation.from_rotvec(np.outer(4.0 * TIME, [0.6, 0.0, 0.8])) * Rotation.from_rotvec(np.outer(TIME**2, [1, 0, 0]))
    return R, R.as_rotvec()


@pytest.mark.parametrize("t", [TIME[0], 0.37, TIME[6], 0.913, TIME[-1]])
def test_scalars_follow_the_splines_of_degree_five(t: float) -> None:
    values = {"knee": np.sin(3 * TIME), "slide__0": TIME**2, "slide__1": -TIME, "slide__2": np.cos(TIME)}
    torques = {f"torque_{name}": 2.0 * np.cos(k + TIME) for k, name in enumerate(values)}
    controller = Track(file=table(**values, **torques), kp={"knee": 10.0, "slide": (1.0, 2.0, 3.0)}, kd=0.5)
    rng = np.random.default_rng(2)
    q, v = rng.normal(size=13), rng.normal(size=13)
    splines = [make_interp_spline(TIME, one, 5) for one in values.values()]
    given = [make_interp_spline(TIME, one, 5) for one in torques.values()]
    expected = np.zeros(13)
    for k in range(4):
        expected[k] = np.array([10.0, 1.0, 2.0, 3.0])[k] * (splines[k](t) - q[k]) + given[k](t)
        expected[k] += 0.5 * (splines[k].derivative()(t) - v[k])
    assert torque_of(controller, VIEW, q, v, t) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("t", [0.2, TIME[5], 1.234])
def test_a_ball_follows_the_rotation_and_its_rate(t: float) -> None:
    """Beside differences of the same path of quaternions, normalised."""
    R, vectors = turning()
    names = {f"hip__{k}": vectors[:, k] for k in range(3)}
    p = R.as_quat()
    p *= np.concatenate([[1.0], np.cumprod(np.where(np.sum(p[1:] * p[:-1], axis=1) < 0, -1.0, 1.0))])[:, None]
    path = make_interp_spline(TIME, p, 5)
    h = 1e-6
    target = Rotation.from_quat(path(t))
    rate = (Rotation.from_quat(path(t - h)).inv() * Rotation.from_quat(path(t + h))).as_rotvec() / (2 * h)
    rng = np.random.default_rng(3)
    child, w = Rotation.random(random_state=rng), rng.normal(size=3)
    q, v = np.zeros(13), np.zeros(13)
    q[4:7], v[4:7] = child.as_rotvec(), w
    left = child.inv() * target
    expected = 7.0 * left.as_rotvec() + 1.5 * (left.apply(rate) - w)
    found = torque_of(Track(file=table(**names), kp=7.0, kd=1.5), VIEW, q, v, t)
    assert found[4:7] == pytest.approx(expected, abs=1e-7)
    assert np.array_equal(np.delete(found, [4, 5, 6]), np.zeros(10))
    largest = Track(file=table(**names), kp=7.0, kd=1.5, largest=2.0)
    assert torque_of(largest, VIEW, q, v, t)[4:7] == pytest.approx(2.0 * expected / np.linalg.norm(expected), abs=1e-7)


def test_beyond_its_ends_the_last_targets_are_held_at_rest_without_torques() -> None:
    _, vectors = turning()
    columns = {"knee": np.sin(3 * TIME), "torque_knee": 5.0 + TIME, **{f"hip__{k}": vectors[:, k] for k in range(3)}}
    columns |= {f"torque_hip__{k}": 1.0 + 0 * TIME for k in range(3)}
    controller = Track(file=table(**columns), kp=2.0, kd=1.0)
    for t, row in ((TIME[0] - 0.5, 0), (TIME[-1] + 3.0, -1)):
        q = np.zeros(13)
        q[0], q[4:7] = 0.25, vectors[row]
        found = torque_of(controller, VIEW, q, np.full(13, 0.5), t)
        assert found[0] == pytest.approx(2.0 * (columns["knee"][row] - 0.25) - 0.5, abs=1e-9)
        assert found[4:7] == pytest.approx(np.full(3, -0.5), abs=1e-9)


def test_torques_of_a_table_alone_or_left_out() -> None:
    """A ball's torques are in its own axes; without gains its columns are not needed."""
    columns = {"torque_knee": np.sin(TIME), **{f"torque_hip__{k}": (k + 1.0) * TIME for k in range(3)}}
    t = TIME[7]
    found = torque_of(Track(file=table(**columns)), VIEW, np.ones(13), np.ones(13), t)
    assert found[[0, 4, 5, 6]] == pytest.approx([np.sin(t), t, 2 * t, 3 * t], abs=1e-10)
    only = torque_of(Track(file=table(**columns), joints=("knee",)), VIEW, np.ones(13), np.ones(13), t)
    assert np.flatnonzero(only).tolist() == [0]
    cut = torque_of(Track(file=table(**columns), largest=0.1), VIEW, np.zeros(13), np.zeros(13), t)
    assert cut[0] == pytest.approx(0.1)
    assert np.linalg.norm(cut[4:7]) == pytest.approx(0.1)
    without = Track(file=table(knee=np.sin(TIME), torque_knee=TIME), torque_too=False)
    assert not torque_of(without, VIEW, np.zeros(13), np.zeros(13), t).any()


def refused(said: str, **parameters) -> None:
    with pytest.raises(ValueError, match=f"^track: {said}"):
        torque_of(Track(**parameters), VIEW, np.zeros(13), np.zeros(13))


def test_what_cannot_be_followed_is_refused_in_a_sentence() -> None:
    knee = table(knee=TIME)
    refused("m.csv has no column of 'hip'", file=knee, joints=("hip",))
    refused("'root' is a free joint", file=table(root__0=TIME), joints=("root",))
    refused("m.csv tells no joint of this scene", file=table(root__0=TIME))
    refused("kp names 'hip', which is not among its joints", file=knee, kp={"hip": 1.0})
    refused("m.csv has no column 'hip\\[2\\]' beside 'hip\\[0\\]'", file=table(hip__0=TIME, hip__1=TIME), kp=1.0)
    refused("m.csv has no column 'knee', which kp and kd need", file=table(torque_knee=TIME), kp=1.0)
    refused("short.csv has 3 rows; expected 6", file=table_of("t,knee\n0,0\n1,1\n2,2\n", "short.csv"))
    with pytest.raises(ValueError, match="m is a length"):
        torque_of(
            Track(file=table_of(as_csv(TIME, {"knee": ("m", TIME)}), "m.csv"), kp=1.0), VIEW, np.zeros(13), np.zeros(13)
        )


def test_a_scene_names_its_table_and_every_mistake_has_a_place(tmp_path) -> None:
    scene = sim.load("double_pendulum").text
    joints = [joint.name for joint in sim.load("double_pendulum").joints]
    (tmp_path / "m.csv").write_text(as_csv(TIME, {joints[0]: ("rad", np.sin(TIME))}))
    use = "\ncontrollers:\n  lead: {type: track, file: FILE, kp: 5, kd: 1}\n"
    path = tmp_path / "led.yaml"
    path.write_text(scene + use.replace("FILE", "m.csv"))
    assert sim.load(path).controllers[0].parameters["file"].columns.keys() == {joints[0]}
    for name, text, said in (
        ("m.cvs", "", "there is no file 'm.cvs' in (.|\n)*did you mean 'm.csv'"),
        ("bad.csv", "time,x\n0,1\n0.1,y\n", r"'bad.csv': row 2 \(line 3\), column 'x': found 'y'; expected"),
    ):
        if text:
            (tmp_path / name).write_text(text)
        path.write_text(scene + use.replace("FILE", name))
        with pytest.raises(sim.SceneError, match=said) as error:
            sim.load(path)
        assert error.value.problems[0].where.line == len(scene.splitlines()) + 3
        assert error.value.problems[0].path == "controllers.lead.file"
