"""What a recording shows: masses, momenta and energies by their definitions, bindings, slips, and residuals put in."""

from __future__ import annotations

import ast
from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.analysis.verification.seen import Seen
from sim.recording import BodyEntry, ColumnEntry, EventEntry, JointEntry

pytestmark = pytest.mark.fast

N = 6
TIME = np.array([0.0, 0.25, 0.5, 0.5, 0.75, 1.0])
INERTIA = (3.0, 4.0, 5.0, 0.1, 0.2, 0.3)


def entry(name: str, kind: str, parent: str, child: str) -> JointEntry:
    return JointEntry(name=name, type=kind, parent=parent, child=child)


def frame(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.normal(size=3), Rotation.from_rotvec(rng.normal(size=3)).as_matrix()


class World:
    """Two bodies that move anyhow; joint 0 holds the first to the world as it turns about its z, joint 1 is made by an
    event in rows 1 to 2 and 4 to 5, joint 2 is a wheel that may slip."""

    def __init__(self, specs: dict[int, Any] | None = None, motion: tuple[Any, ...] = (None,)):
        rng = self.rng = np.random.default_rng(11)
        self.F, self.M = [frame(rng) for _ in range(3)], [frame(rng) for _ in range(3)]
        quats = rng.normal(size=(N, 2, 4))
        angle = 0.3 + 0.8 * TIME
        R0 = [self.F[0][1] @ Rotation.from_euler("z", a).as_matrix() @ self.M[0][1].T for a in angle]
        quats[:, 0] = Rotation.from_matrix(R0).as_quat(scalar_first=True)
        axis = self.F[0][1][:, 2]
        p, v, w = rng.normal(size=(3, N, 2, 3))
        w[:, 0] = 0.8 * axis
        for k, R in enumerate(R0):  # the point of M stays at that of F
            p[k, 0] = self.F[0][0] - R @ self.M[0][0]
            v[k, 0] = -np.cross(w[k, 0], R @ self.M[0][0])
        force = np.ones((N, 3, 6))
        force[[0, 3], 1] = np.nan
        self.arrays = {
            "quat_wxyz": quats, "position": p, "velocity": v, "angular_velocity": w, "joints/force": force,
            "joints/rate": np.tile([0.8, 0, 0, 0, 0.0], (N, 1)), "joints/friction_torque": np.zeros((N, 5)),
        }  # fmt: skip
        none = Made(binds="drawing", parent_point=None, child_point=None, pitch=0.0, motion=motion)
        event = Made(binds="event", parent_point=None, child_point=None, pitch=0.0, motion=())
        made = specs or {0: none, 1: event, 2: None}
        self.model = Made(
            gravity_W=(0.0, 0.0, -9.0),
            joint_specs=[made[k] for k in range(3)],
            length=1.0,
            frames=Made(
                p_PF=[f[0] for f in self.F],
                R_PF=[f[1] for f in self.F],
                p_CM=[f[0] for f in self.M],
                R_CM=[f[1] for f in self.M],
            ),
            constraints={2: Made(type="no_side_slip", joints=(), holds=10.0)},
            columns=Made(armature=np.array([0.5, 0.25, 0, 0, 0])),
        )
        columns = ["pin", "made", "made", "made", "wheel"]
        self.recording = Made(
            array=self.arrays.__getitem__,
            time=TIME,
            events=[],
            bodies=[
                BodyEntry(name="one", mass=2.0, com=(0.1, 0.2, 0.3), inertia=INERTIA),
                BodyEntry(name="two", mass=3.0, com=(0.4, -0.5, 0.6), inertia=INERTIA),
            ],
            joints=[
                entry("pin", "rotational", "world", "one"),
                entry("made", "spherical", "one", "two"),
                entry("wheel", "no_side_slip", "world", "two"),
            ],
            columns=[
                ColumnEntry(name=f"{name}{k}", joint=name, unit="", rate_unit="", torque_unit="")
                for k, name in enumerate(columns)
            ],
        )
        self.seen = Seen(self.recording, self.model)

    def again(self) -> Seen:
        return Seen(self.recording, self.model)


def test_momenta_and_energies_are_those_of_the_bodies():
    world = World()
    seen, a = world.seen, world.arrays
    assert (
        seen.gravity.tolist() == [0, 0, -9]
        and seen.mass.tolist() == [2, 3]
        and (seen.a, seen.b) == ([-1, 0, -1], [0, 1, 1])
    )
    assert seen.columns == [[0], [1, 2, 3], [4]] and seen.present.tolist() == [
        [True, k not in (0, 3), True] for k in range(N)
    ]
    xx, yy, zz, xy, xz, yz = INERTIA
    I_B = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    for k in range(N):
        total = 0.5 * 0.5 * 0.8**2
        for i in range(2):
            R = Rotation.from_quat(a["quat_wxyz"][k, i], scalar_first=True).as_matrix()
            arm = R @ world.recording.bodies[i].com
            w = a["angular_velocity"][k, i]
            v_com = a["velocity"][k, i] + np.cross(w, arm)
            assert seen.com[k, i] == pytest.approx(a["position"][k, i] + arm) and seen.v_com[k, i] == pytest.approx(
                v_com
            )
            assert np.allclose(seen.inertia(k)[i], R @ I_B @ R.T) and np.allclose(
                seen.inertia(slice(None))[k, i], R @ I_B @ R.T
            )
            assert seen.spin[k, i] == pytest.approx(R @ I_B @ R.T @ w)
            total += 0.5 * seen.mass[i] * v_com @ v_com + 0.5 * w @ R @ I_B @ R.T @ w
        assert seen.kinetic[k] == pytest.approx(total)
    a["joints/rate"][2, 0] = np.nan  # of a joint that does not stand
    assert world.again().kinetic[2] == pytest.approx(seen.kinetic[2] - 0.25 * 0.8**2)


@pytest.mark.parametrize(("by_parent", "by_child"), [(None, None), ("p", None), (None, "c"), ("p", "c")])
def test_a_joint_that_an_event_makes_is_bound_as_its_bodies_stand(by_parent, by_child):
    made = Made(binds="event", parent_point=by_parent, child_point=by_child, pitch=0.0, motion=())
    specs = {0: None, 1: made, 2: None}
    world = World(specs)
    seen = world.seen
    assert [row for row, _, _ in seen.bindings[1]] == [1, 4] and [row for row, _, _ in seen.bindings[0]] == [0]
    for row, begin in ((1, 1), (2, 1), (4, 4), (5, 4), (0, 1), (3, 1)):
        F, M = seen.frames(1, row)
        a, b = (seen.side(k, begin) for k in (0, 1))
        # As drawn where a point was named; else where the other one is, when it is made.
        p_F, p_M = world.F[1][0], world.M[1][0]
        at = a.p + a.R @ p_F if by_parent else b.p + b.R @ p_M
        assert F.p == pytest.approx(a.R.T @ (at - a.p))
        assert M.p == pytest.approx(b.R.T @ (at - b.p) if by_parent and not by_child else p_M)
        assert np.allclose(a.R @ F.R, b.R @ M.R) and np.allclose(M.R, world.M[1][1])
    both, _ = seen.frames(1, slice(1, 5))
    assert np.array_equal(both.p[0], both.p[2]) and not np.array_equal(both.R[0], both.R[3])
    assert np.array_equal(seen.frames(0, 3)[0].p, world.F[0][0])


def test_the_world_stands_still():
    side = World().seen.side(-1, slice(None))
    assert (
        side.p.shape == side.v.shape == side.w.shape == (N, 3)
        and not side.p.any()
        and not side.v.any()
        and not side.w.any()
    )
    assert np.array_equal(side.R, np.repeat(np.eye(3)[None], N, axis=0)) and World().seen.side(-1, 2).R.shape == (3, 3)


@pytest.mark.parametrize(
    ("apart", "near"), [(0.0, True), (0.9e-9, True), (-0.9e-9, True), (1.1e-9, False), (-1.1e-9, False)]
)
def test_rows_at_instants_of_events_are_marked(apart, near):
    world = World()
    world.recording.events = [
        EventEntry(time=0.75 + apart, name="e", kind="scene"),
        EventEntry(time=9.0, name="f", kind="scene"),
    ]
    assert world.again().at_events.tolist() == [False] * 4 + [near, False]
    assert not World().seen.at_events.any()


@pytest.mark.parametrize(
    ("rate", "friction", "slips"),
    [
        (1.0, -10.0, True),
        (-1.0, 10.0, True),
        (1.0, 10.0, False),
        (-1.0, -10.0, False),
        (1.0, -10.0 * (1 - 0.9e-9), True),
        (1.0, -10.0 * (1 - 1.1e-9), False),
        (0.9e-8, -10.0, False),
        (1.1e-8, -10.0, True),
        (0.9e-5, 10.0, True),
        (1.1e-5, 10.0, False),
        (1.0, -12.0, True),
        (np.nan, np.nan, False),
    ],
)
def test_a_constraint_slips_where_it_gives_all_that_it_holds_against_its_slip(rate, friction, slips):
    world = World()
    world.arrays["joints/rate"][1, 4], world.arrays["joints/friction_torque"][1, 4] = rate, friction
    seen = world.again()
    assert seen.slips(2).tolist() == [k == 1 and slips for k in range(N)]
    assert not seen.slips(0).any() and not seen.slips(1).any()
    world.recording.events = [
        EventEntry(time=0.25, name="e", kind="scene")
    ]  # at its instant forces may be those before it
    assert world.again().slips(2)[1] == (abs(rate) > 1e-8)


def alone(world: World) -> Seen:
    """Of the joints the first stands alone."""
    world.arrays["joints/force"][:, 1:] = np.nan
    return world.again()


def test_what_is_closed_has_no_residual():
    position, velocity, rate, _ = alone(World()).residuals
    assert max(position.max(), velocity.max(), rate.max()) < 1e-14


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("axis", range(3))
def test_residuals_are_as_large_as_what_is_put_in(axis, sign):
    world = World()
    along = world.F[0][1][:, axis]
    world.arrays["position"][2, 0] += sign * 0.25 * along
    position, _, _, worst = alone(world).residuals
    assert position == pytest.approx([0, 0, 0.25, 0, 0, 0], abs=1e-14) and worst[2] == 0
    world = World()
    world.arrays["velocity"][4, 0] += sign * 0.5 * along
    assert alone(world).residuals[1] == pytest.approx([0, 0, 0, 0, 0.5, 0], abs=1e-14)
    world = World()
    world.arrays["angular_velocity"][1, 0] += sign * 0.5 * along
    world.arrays["velocity"][1, 0] -= np.cross(sign * 0.5 * along, world.F[0][0] - world.arrays["position"][1, 0])
    # About its own axis it may turn, but not otherwise than is recorded.
    assert alone(world).residuals[1 if axis < 2 else 2] == pytest.approx([0, 0.5, 0, 0, 0, 0], abs=1e-14)
    world = World()
    world.arrays["joints/rate"][3, 0] += sign * 0.125
    assert alone(world).residuals[2] == pytest.approx([0, 0, 0, 0.125, 0, 0], abs=1e-14)


def test_what_does_not_stand_has_no_residual():
    world = World()
    world.arrays["position"][2, 0] += 0.25 * world.F[0][1][:, 0]
    world.arrays["joints/force"][2, 0] = np.nan
    assert max(part[2] for part in alone(world).residuals[:3]) == 0.0


def drive(text: str) -> tuple[Any, ...]:
    return (Made(tree=ast.parse(text, mode="eval").body),)


@pytest.mark.parametrize("turns", [0, 2, -1])
@pytest.mark.parametrize("off", [0.0, 0.125, -0.25])
def test_a_driven_joint_is_off_by_what_it_misses_its_motion(off, turns):
    """Angles up to whole turns; its rate is 0.8 rad/s."""
    turned = 2 * np.pi * turns
    position, velocity, _, _ = alone(World(motion=drive(f"0.3 + {off} + {turned} + 0.8*t"))).residuals
    assert position == pytest.approx(np.full(N, abs(off)), abs=1e-13) and velocity.max() < 1e-13
    position, velocity, _, _ = alone(World(motion=drive(f"0.3 + {0.8 + off}*t"))).residuals
    assert position == pytest.approx(abs(off) * TIME, abs=1e-13) and velocity == pytest.approx(
        np.full(N, abs(off)), abs=1e-13
    )
