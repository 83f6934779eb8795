"""Which number of a kernel's row becomes which of a recording: rows of unlike numbers, read one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.assembly.start import first_structure
from sim.kernels.scratch import TOLD
from sim.kernels.shapes import SLIP, SLOW_SLIP, STICK, TOUCH
from sim.kernels.tables import table
from sim.mechanism.compiler import compile
from sim.mechanism.model import Model
from sim.mechanism.structure import Structure, build, choose_tree
from sim.scene.load import load_text
from sim.simulation.record_rows import Rows

pytestmark = pytest.mark.fast

SCENE = """
schema: 1
name: rows
world: {shapes: [{plane: {}}]}
bodies:
  a: {mass: 1, com: [0, 0, 1], inertia: [1, 1, 1], shapes: [{sphere: {center: [0, 0, 0.1], radius: 0.1}}]}
  b: {mass: 1, com: [1, 0, 1], inertia: [1, 1, 1], shapes: [{sphere: {center: [1, 0, 0.1], radius: 0.1}}]}
  c: {mass: 1, com: [2, 0, 1], inertia: [1, 1, 1]}
joints:
  first: {type: universal, parent: world, child: a, position: [0, 0, 0], axis: [1, 0, 0], second_axis: [0, 1, 0]}
  second: {type: rotational, parent: a, child: b, position: [0.5, 0, 1], axis: [0, 1, 0]}
  gone: {type: rotational, parent: b, child: c, position: [1.5, 0, 1], axis: [0, 1, 0], connected: false}
  loop: {type: cylindrical, parent: world, child: b, position: [1, 0, 0], axis: [0, 0, 1]}
forces:
  strut: {type: spring, from: a, to: c, stiffness: 1}
  coil: {type: torsion_spring, joint: second, stiffness: 1}
  slack: {type: torsion_spring, joint: gone, stiffness: 1}
  jet: {type: wrench, body: b, force: [1 N, 0, 0]}
  wind: {type: drag, body: c, linear: 1}
contacts: {ground: {between: [[a, b], world]}, both: {between: [a, b]}}
events: {later: {at: 0.5 s, connect: gone}}
"""
SAMPLES = 3


class Reader:
    """Takes numbers from rows, one after the other."""

    def __init__(self, rows: np.ndarray):
        self.rows, self.at = rows, 0

    def take(self, *shape: int) -> np.ndarray:
        count = int(np.prod(shape))
        self.at += count
        return self.rows[:, self.at - count : self.at].reshape(SAMPLES, *shape)


@pytest.fixture
def model() -> Model:
    return compile(load_text(SCENE))


@pytest.fixture
def structure(model: Model) -> Structure:
    return first_structure(model)


def test_each_number_of_a_row_has_its_place(model: Model, structure: Structure) -> None:
    maker = Rows(model)
    assert len(maker.buffer) == 128 and len(Rows(model, 5).buffer) == 5
    rows = np.random.default_rng(1).normal(size=(SAMPLES, maker.buffer.shape[1]))
    read = Reader(rows)
    expected: dict[str, np.ndarray] = {"time": read.take(1)[:, 0]}
    assert read.at == maker.layout[0]
    bodies = [[read.take(3), read.take(4), read.take(3), read.take(3), read.take(3)] for _ in "abc"]
    for k, name in enumerate(("position", "quat_wxyz", "velocity", "angular_velocity", "com")):
        expected[name] = np.stack([body[k] for body in bodies], axis=1)
    assert read.at == maker.layout[1]
    columns = len(model.columns)
    absent = np.array([name == "gone" or name.startswith("a[") or name.startswith("b[") for name in model.column_names])
    assert columns == 2 + 1 + 1 + 2 + 6 and absent.sum() == 1  # c flies; the others have no free joint
    for name in ("coordinate", "rate", "torque", "stop_torque", "friction_torque"):
        expected[f"joints/{name}"] = np.where(absent, np.nan, read.take(columns))
    assert read.at == maker.layout[2]
    joints = []
    for name in model.joint_names:
        one = [read.take(6), read.take(3), read.take(1)[:, 0], read.take(6), read.take(6)]
        joints.append([np.full_like(part, np.nan) if name == "gone" else part for part in one])
    for k, name in enumerate(
        ("joints/force", "joints/position", "trust/determinate", "trust/components", "trust/own_components")
    ):
        expected[name] = np.stack([joint[k] for joint in joints], axis=1)
    assert read.at == maker.layout[3]
    kinetic, potential, dissipated, put_in = read.take(4).T
    expected |= {
        "energy/kinetic": kinetic, "energy/potential": potential, "energy/dissipated": dissipated,
        "energy/input": put_in + 0.25, "energy/impact": np.full(SAMPLES, 0.75),
        "energy/balance": kinetic + potential + dissipated + 0.75 - (put_in + 0.25),
    }  # fmt: skip
    for name in ("position_residual", "velocity_residual", "smallest_singular_value", "rank"):
        expected[f"trust/{name}"] = read.take(1)[:, 0]
    assert read.at == maker.layout[4]
    forces = {
        name: [read.take(1)[:, 0], read.take(1)[:, 0], read.take(6)]
        for name in ("strut", "coil", "slack", "jet", "wind")
    }
    for name, parts in {"coil": (2,), "slack": (0, 1, 2), "jet": (0, 1), "wind": (0, 1)}.items():
        for k in parts:  # no wrench of a torsion spring; no length of a wrench; nothing of what is not connected
            forces[name][k] = np.full_like(forces[name][k], np.nan)
    for k, name in enumerate(("length", "tension", "wrench")):
        expected[f"forces/{name}"] = np.stack([force[k] for force in forces.values()], axis=1)
    assert read.at == maker.layout[5]
    q, v = read.take(structure.sizes.q), read.take(structure.sizes.v)
    assert structure.sizes.q == 2 + 1 + 7 and structure.sizes.v == 2 + 1 + 6
    assert maker.layout[6] == maker.layout[5] + 3 * 13 == maker.buffer.shape[1]  # as if all three flew
    expected["trust/rows"] = np.full(SAMPLES, 4)
    found = maker.split(rows.copy(), structure, 0.75, 0.25)  # which is changed where something is absent
    assert list(found) == list(found) and found.keys() == expected.keys()
    for name, values in expected.items():
        assert np.array_equal(found[name], values, equal_nan=True), name
    for one, other in zip(maker.state(rows, structure), (q, v), strict=True):
        assert np.array_equal(one, other)


def test_forces_without_any_column_of_a_joint_are_split_too() -> None:
    text = (
        "schema: 1\nname: still\nbodies: {a: {mass: 1, com: [0, 0, 1]}}\njoints: {weld: {type: fixed, parent: world, "
    )
    scene = load_text(
        text + "child: a, position: [0, 0, 0]}}\nforces: {jet: {type: wrench, body: a, force: [1 N, 0, 0]}}\n"
    )
    model = compile(scene)
    maker = Rows(model)
    assert len(model.columns) == 0
    rows = np.arange(float(maker.buffer.shape[1]))[None]
    wrench = maker.split(rows, first_structure(model), 0.0, 0.0)["forces/wrench"]
    assert wrench[0, 0].tolist() == (maker.layout[4] + 2.0 + np.arange(6)).tolist()


class Feature:
    def __init__(self, link: tuple[int, int], key: tuple[int, int]):
        self.link, self.key = link, key


class Point:
    """What rows ask of a closed point of contact."""

    def __init__(self, pair: int, link: tuple[int, int], key: tuple[int, int], mode: int, determinate: int):
        self.pair, self.features, self.mode, self.determinate = pair, Feature(link, key), mode, determinate


def test_points_of_contact_are_told_of_the_pairs_first_and_second_shape(model: Model, structure: Structure) -> None:
    """A point whose features stand the other way round has its normal and its force turned, and its key."""
    world, a, b = (int(structure.link_of[model.body_names.index(name)]) for name in ("world", "a", "b"))
    bodies = [tuple(model.solids[n].body for n in (pair.first, pair.second)) for pair in model.pairs]
    assert bodies == [(0, 1), (0, 2), (1, 2)]
    points = (
        Point(0, (world, a), (3, 4), STICK, 1), Point(2, (b, a), (5, 6), SLOW_SLIP, 0), Point(2, (a, b), (7, 8),
        SLIP, -1),
    )  # fmt: skip
    closed = table(TOUCH, 3)
    closed.link[:], closed.key[:] = [one.features.link for one in points], [one.features.key for one in points]
    touching = replace(structure, touches=points, tables=structure.tables._replace(touches=closed))  # type: ignore[arg-type]
    maker = Rows(model)
    before, wide = maker.buffer, maker.layout[6]
    maker.fit(structure)
    assert maker.buffer is before
    maker.fit(touching)
    assert maker.buffer.shape == (128, wide + 27)
    rows = np.random.default_rng(2).normal(size=(SAMPLES, wide + 27))
    read = Reader(rows)
    read.at = int(wide)
    told = [[read.take(3) for _ in range(3)] for _ in points]
    found = maker.contacts(rows.copy(), touching)
    assert found["row"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert found["pair"].tolist() == [0, 2, 2] * 3 and found["determinate"].tolist() == [1, 0, -1] * 3
    assert found["key"].tolist() == [[3, 4], [6, 5], [7, 8]] * 3
    assert found["mode"].tolist() == [STICK, SLIP, SLIP] * 3  # to creep is to slide
    for k, name in enumerate(("point", "normal", "force")):
        signs = (1.0, 1.0 if name == "point" else -1.0, 1.0)
        expected = np.stack([sign * point[k] for sign, point in zip(signs, told, strict=True)], axis=1)
        assert np.array_equal(found[name].reshape(SAMPLES, 3, 3), expected), name


def test_presses_of_time_steps_are_told_likewise(model: Model, structure: Structure) -> None:
    meeting = {2: 1, 0: 0}  # pair -> its rule: the first meeting is of a and b
    carrier = choose_tree(model, model.connected, None)
    met = build(model, model.frames, model.connected, carrier, (), meeting)
    a, b = (int(met.link_of[n]) for n in (1, 2))
    told = table(TOLD, 3)
    told.meeting[:], told.key[:], told.side[:] = (0, 0, 1), ((1, 2), (3, 4), (5, 6)), (a, b, a)
    told.slides[:], told.t[:] = (1, 0, 0), (0.2, 0.3, 0.1)
    rng = np.random.default_rng(3)
    told.p[:], told.n[:], told.force[:] = rng.normal(size=(3, 3, 3))
    found = Rows(model).step_contacts(np.array([0.1, 0.2, 0.3]), told, met)
    assert found["row"].tolist() == [1, 2, 0] and found["pair"].tolist() == [2, 2, 0]
    assert found["key"].tolist() == [[2, 1], [3, 4], [5, 6]] and found["mode"].tolist() == [SLIP, STICK, STICK]
    assert found["determinate"].tolist() == [-1] * 3
    sign = np.array([[-1.0], [1.0], [1.0]])
    assert np.array_equal(found["point"], told.p) and np.array_equal(found["normal"], sign * told.n)
    assert np.array_equal(found["force"], sign * told.force) and told.key.tolist() == [[1, 2], [3, 4], [5, 6]]
