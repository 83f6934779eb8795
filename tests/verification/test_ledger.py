"""The books of an instant: closed by construction, then off by what is put in, told relative to what takes part."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.analysis.verification import instants
from sim.analysis.verification.ledger import ledger
from sim.recording import EventEntry

pytestmark = pytest.mark.fast

LENGTH = 2.5
MASS = np.array([2.0, 3.0])
IMPULSES = np.array(
    [[0.3, -0.2, 0.5, 1.0, 2.0, -1.5], [0.1, 0.4, -0.3, -0.5, 0.25, 0.75], [0, 0, 0.6, 0, 0, 0], [0.0] * 6]
)
BLOW = ((0.5, -0.25, 1.0), (0.2, 0.1, -0.3), "tip")


class Instant:
    """Two bodies before and after; joints: with the world as parent, between the bodies, a gear, and one of the world
    as child that carries nothing."""

    def __init__(self) -> None:
        rng = np.random.default_rng(2)
        self.mass, self.a, self.b = MASS, [-1, 0, 0, 1], [0, 1, 1, -1]
        self.kinds = ["rotational", "translational", "gear", "spherical"]
        self.columns = [[0], [1], [], [2, 3, 4]]
        self.com, self.p = (
            np.repeat(rng.normal(size=(1, 2, 3)), 2, axis=0),
            np.repeat(rng.normal(size=(1, 2, 3)), 2, axis=0),
        )
        self.R = np.repeat([[Rotation.from_rotvec(rng.normal(size=3)).as_matrix() for _ in range(2)]], 2, axis=0)
        self.v_com, self.spin = rng.normal(size=(2, 2, 3)), rng.normal(size=(2, 2, 3))
        self.points = rng.normal(size=(4, 3))
        self.frames = [Rotation.from_rotvec(rng.normal(size=3)).as_matrix() for _ in range(8)]
        self.J = rng.normal(size=12)  # of the gear: what its impulse along the lever is for both bodies
        self.kinetic = np.array([7.0, 4.0])
        tip = np.array([0.3, 0.2, 0.1])
        self.model = Made(
            pairs=(), stops=Made(joint=np.zeros(0, int), rigid=np.zeros(0, int)),
            length=LENGTH, body_names=["world", "one", "two"], point_names={"one.tip": 0, "one.com": 1},
            points=Made(p_B=np.array([tip, [9.0, 9, 9]])), scene=Made(events=[]),
            columns={"armature": np.array([0.5, 0.0, 0, 0, 0]), "motion": np.array([-1, -1, -1, 3, -1])},
        )  # fmt: skip
        self.recording = Made(
            events=[EventEntry(time=0.5, name="hit", kind="scene", row_before=0, row_after=1, energy_lost=1.5)],
            time=np.array([0.5, 0.5]), contact_impulses=None, impulse=Made(array=IMPULSES[None]),
            energy=Made(potential=np.array([1.0, 1.5]), impact=np.array([0.25, 1.75]), input=np.array([0.5, -0.5])),
        )  # fmt: skip
        self.close()

    def close(self, blow: np.ndarray | None = None) -> None:
        """Let the momenta after be what they have to be."""
        given = self.given() + (0 if blow is None else blow)
        self.v_com[1] = self.v_com[0] + given[:, :3] / MASS[:, None]
        self.spin[1] = self.spin[0] + given[:, 3:]

    def given(self) -> np.ndarray:
        return sum(self.pushes(j, 1, IMPULSES[j], self.points[j]) for j in range(4))

    def pair(self, j: int, row: int) -> Made:
        assert row == 1
        return Made(P=self.points[j], F=self.frames[2 * j], M=self.frames[2 * j + 1])

    def lever(self, j: int, row: int) -> np.ndarray | None:
        return np.array([0, 0, 1.0, 0, 0, 0]) if self.kinds[j] == "gear" else None

    def pushes(self, j: int, row: int, wrench: np.ndarray, point: np.ndarray) -> np.ndarray:
        if self.kinds[j] == "gear":
            return (wrench[2] * self.J).reshape(2, 6)
        out = np.zeros((2, 6))
        for body, sign in ((self.b[j], 1.0), (self.a[j], -1.0)):
            if body >= 0:
                moment = wrench[:3] + np.cross(point - self.com[1, body], wrench[3:])
                out[body] += sign * np.concatenate([wrench[3:], moment])
        return out

    @property
    def scale(self) -> float:
        momenta = sum(MASS[i] * np.linalg.norm(self.v_com[row, i]) for row in (0, 1) for i in (0, 1))
        spins = sum(np.linalg.norm(self.spin[row, i]) for row in (0, 1) for i in (0, 1))
        return max(momenta, spins / LENGTH, np.linalg.norm(IMPULSES[0, 3:]), np.linalg.norm(IMPULSES[1, 3:]))

    def book(self):
        (entry,) = ledger(self)
        return entry


def test_books_that_close_tell_what_changed_and_what_came_from_outside():
    seen = Instant()
    entry = seen.book()
    assert (entry.time, entry.names, entry.set) == (0.5, ("hit",), False)
    assert max(entry.left, entry.left_angular, entry.moved) < 1e-15 and entry.left_energy == 0.0
    assert (entry.kinetic, entry.potential, entry.lost, entry.given) == (-3.0, 0.5, 1.5, -1.0)
    change = MASS[:, None] * (seen.v_com[1] - seen.v_com[0])
    assert entry.momentum == pytest.approx(change.sum(axis=0))
    about_origin = sum(seen.spin[1, i] - seen.spin[0, i] + np.cross(seen.com[1, i], change[i]) for i in (0, 1))
    assert entry.angular_momentum == pytest.approx(about_origin)
    # Of the first joint, which holds to the world, and of the gear, whose bodies do not give it to one another.
    gear = (0.6 * seen.J).reshape(2, 6)
    moment = IMPULSES[0, :3] + np.cross(seen.points[0], IMPULSES[0, 3:])
    moment = moment + sum(gear[i, 3:] + np.cross(seen.com[1, i], gear[i, :3]) for i in (0, 1))
    assert entry.outside == pytest.approx(IMPULSES[0, 3:] + gear[:, :3].sum(axis=0))
    assert entry.outside_angular == pytest.approx(moment)
    assert entry.momentum == pytest.approx(entry.outside) and entry.angular_momentum == pytest.approx(
        entry.outside_angular
    )


def test_the_world_may_be_the_child():
    seen = Instant()
    impulses = np.zeros((4, 6))
    impulses[3] = IMPULSES[0]
    seen.recording.impulse.array = impulses[None]
    entry = seen.book()
    assert entry.outside == pytest.approx(-IMPULSES[0, 3:])
    assert entry.outside_angular == pytest.approx(-IMPULSES[0, :3] - np.cross(seen.points[3], IMPULSES[0, 3:]))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("body", range(2))
def test_momenta_that_nothing_accounts_for_are_left_over(body, axis, sign):
    seen = Instant()
    seen.v_com[1, body, axis] += sign * 0.125
    assert seen.book().left == pytest.approx(MASS[body] * 0.125 / seen.scale) and seen.book().left_angular < 1e-15
    seen = Instant()
    seen.spin[1, body, axis] += sign * 0.125
    assert seen.book().left_angular == pytest.approx(0.125 / (seen.scale * LENGTH)) and seen.book().left < 1e-15
    seen = Instant()
    seen.p[1, body, axis] += sign * 0.01
    assert seen.book().moved == pytest.approx(0.01)
    seen = Instant()
    seen.R[1, body, axis, 1] += sign * 0.01
    assert seen.book().moved == pytest.approx(0.01)


@pytest.mark.parametrize("which", ["momenta", "spins", "impulse"])
def test_what_is_left_is_of_the_largest_that_takes_part(which):
    seen = Instant()
    seen.v_com *= 100.0 if which == "momenta" else 1e-3
    seen.spin *= 100.0 if which == "spins" else 1e-3
    impulses = 1e-3 * IMPULSES
    if which == "impulse":
        impulses[1, 3:] = 30.0, 40.0, 0.0
    seen.recording.impulse.array = impulses[None]
    given = sum(seen.pushes(j, 1, impulses[j], seen.points[j]) for j in range(4))
    left = MASS[:, None] * (seen.v_com[1] - seen.v_com[0]) - given[:, :3]
    angular = seen.spin[1] - seen.spin[0] - given[:, 3:]
    momenta = np.linalg.norm(MASS[:, None] * seen.v_com, axis=-1).sum()
    spins = np.linalg.norm(seen.spin, axis=-1).sum() / LENGTH
    scale = {"momenta": momenta, "spins": spins, "impulse": 50.0}[which]
    assert scale == max(momenta, spins, np.linalg.norm(impulses[:, 3:], axis=1).max())
    entry = seen.book()
    assert entry.left == pytest.approx(np.abs(left).max() / scale)
    assert entry.left_angular == pytest.approx(np.abs(angular).max() / (scale * LENGTH))


def test_impulses_along_freedoms_without_armature_or_motion_are_told():
    """The hinge has an armature; the slide has none; of the ball's turns the second is driven."""
    seen = Instant()
    slide = abs(seen.frames[2][:, 2] @ IMPULSES[1, 3:])
    assert seen.book().along == pytest.approx(slide / (seen.scale * LENGTH))
    seen.model.length = 0.5  # what is smaller than 1 m counts as that
    scale = max(seen.scale, sum(np.linalg.norm(seen.spin[row, i]) for row in (0, 1) for i in (0, 1)) / 0.5)
    assert seen.book().along == pytest.approx(slide / scale)
    seen = Instant()
    impulses = np.zeros((4, 6))
    impulses[3] = 3.0, 4.0, 5.0, 0.1, 0.1, 0.1
    seen.recording.impulse.array = impulses[None]
    M = seen.frames[7]
    ball = max(abs(M[:, k] @ impulses[3, :3]) for k in (0, 2))
    assert seen.book().along == pytest.approx(ball / (seen.scale * LENGTH))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", ["kinetic", "potential", "impact", "input", "said"])
def test_energies_add_up_and_what_is_lost_is_what_was_said(name, sign):
    """Relative to the largest kinetic energy, 7 J."""
    seen = Instant()
    if name == "kinetic":
        seen.kinetic[1] += sign * 0.25
    elif name == "said":
        seen.recording.events[0] = EventEntry(
            time=0.5, name="hit", kind="scene", row_before=0, row_after=1, energy_lost=1.5 + sign * 0.25
        )
    else:
        getattr(seen.recording.energy, name)[1] += sign * 0.25
    assert seen.book().left_energy == pytest.approx(0.25 / 7.0)
    seen = Instant()
    seen.recording.energy.potential[1] = 1.0 + sign * 20.0
    change = sign * 20.0 - 3.0 + 1.5 + 1.0
    assert seen.book().left_energy == pytest.approx(abs(change) / 20.0)
    seen = Instant()
    seen.kinetic[:] = 1.0, 8.0
    assert seen.book().left_energy == pytest.approx(10.0 / 8.0)


def spec(name: str, *actions: Any) -> Made:
    return Made(name=name, actions=actions)


@pytest.mark.parametrize("kind", ["scene", "key"])
@pytest.mark.parametrize("point", ["tip", None])
def test_blows_of_events_come_from_outside(kind, point):
    seen = Instant()
    blow = Made(kind="impulse", targets=("one",), values=((*BLOW[:2], point),))
    seen.model.scene.events = [
        spec("other", Made(kind="impulse", targets=("two",), values=(BLOW,))),
        spec("hit", blow, Made(kind="cut")),
    ]
    seen.recording.events = [EventEntry(time=0.5, name="hit", kind=kind, row_before=0, row_after=1, energy_lost=1.5)]
    p_B = np.array([0.3, 0.2, 0.1]) if point else np.array([9.0, 9, 9])
    arm = seen.p[1, 0] + seen.R[1, 0] @ p_B - seen.com[1, 0]
    pushed = np.zeros((2, 6))
    pushed[0] = [*BLOW[0], *(np.array(BLOW[1]) + np.cross(arm, BLOW[0]))]
    before = seen.book().outside, seen.book().outside_angular
    seen.close(pushed)
    entry = seen.book()
    assert max(entry.left, entry.left_angular) < 1e-14 and not entry.set
    assert entry.momentum == pytest.approx(entry.outside) and entry.angular_momentum == pytest.approx(
        entry.outside_angular
    )
    assert before[0] == pytest.approx(entry.outside) and before[1] == pytest.approx(entry.outside_angular)
    seen.model.scene.events.append(spec("hit", Made(kind="set")))
    assert seen.book().set
    seen.recording.events = [EventEntry(time=0.5, name="hit", kind="impact", row_before=0, row_after=1)]
    assert not seen.book().set and seen.book().left > 1e-3  # the blow is that of a scene's event alone


def test_events_of_one_instant_are_one_entry_and_changes_of_mode_are_none():
    seen = Instant()

    def event(name: str, rows: tuple[int, int], kind: str = "scene", lost: float = 0.5) -> EventEntry:
        return EventEntry(time=0.5, name=name, kind=kind, row_before=rows[0], row_after=rows[1], energy_lost=lost)

    seen.recording.events = [
        event("a", (0, 1)),
        event("m", (0, 1), "mode", 0.0),
        event("b", (0, 1), "impact", 1.0),
        event("n", (0, 1), "annotation", 0.0),
        event("c", (-1, -1)),
        event("d", (0, 1), "key", np.nan),
    ]
    share = np.array([0.25, 0.0, 0.5, 0.0, 9.0, 0.25])
    seen.recording.impulse.array = share[:, None, None] * IMPULSES
    entry = seen.book()
    assert entry.names == ("a", "b", "d") and max(entry.left, entry.left_angular, entry.left_energy) < 1e-14
    # A change of mode that brings something to rest is an entry, for it changes velocities; others are none.
    for share in (1.0, 0.0):
        seen.recording.events = [event("m", (0, 1), "mode")]
        seen.recording.impulse.array = share * IMPULSES[None]
        assert [entry.names for entry in ledger(seen)] == ([("m",)] if share else [])
    seen.recording.events = []
    assert ledger(seen) == []


# --- instants ---------------------------------------------------------------------------------------


def test_instants_are_rows_of_finite_numbers_apart_from_events():
    n = 40
    arrays = {name: np.zeros((n, 2, 3)) for name in ("p", "v", "w", "com")}
    for k, name in enumerate(arrays):
        arrays[name][5 + k, 1, 2] = np.nan
    at_events = np.zeros(n, bool)
    at_events[[10, 11]] = True
    undecided = np.arange(n) == 15
    seen = Made(mass=np.ones(2), at_events=at_events, undecided=undecided, **arrays)
    rows = instants.choose(seen, 100)
    assert rows == [k for k in range(n) if k not in (5, 6, 7, 8, 10, 11, 15)]
    few = instants.choose(seen, 7)
    assert len(few) == len(set(few)) == 7 and few == sorted(few) == instants.choose(seen, 7) and set(few) < set(rows)
    assert instants.choose(Made(mass=np.ones(301), at_events=at_events, undecided=undecided, **arrays), 7) == []
    assert len(instants.choose(Made(mass=np.ones(300), at_events=at_events, undecided=undecided, **arrays), 7)) == 7
    assert instants.choose(Made(mass=np.ones(2), at_events=np.ones(n, bool), undecided=undecided, **arrays), 7) == []


def test_differences_are_relative_to_the_largest_at_least_one():
    assert instants._relative(np.array([1.0, -3.0]), np.array([-6.0, 2.0])) == 0.5
    assert (
        instants._relative(np.array([1.0, -3.0]), np.array([0.5])) == 3.0
        and instants._relative(np.zeros(0), np.zeros(0)) == 0.0
    )


@pytest.mark.parametrize("length", [1.25, None])
@pytest.mark.parametrize("bodies", [(0, 1), (1, 0), (-1, 1), (0, -1)])
def test_a_spring_pulls_its_ends_together_as_its_length_and_speed_say(bodies, length):
    """Against a hand-made pull along the line of both points, with its moments about the centres of mass."""
    rng = np.random.default_rng(5)
    R = [Rotation.from_rotvec(rng.normal(size=3)).as_matrix() for _ in range(2)]
    seen = Made(
        R=np.array([R]),
        p=rng.normal(size=(1, 2, 3)),
        v=rng.normal(size=(1, 2, 3)),
        w=rng.normal(size=(1, 2, 3)),
        com=rng.normal(size=(1, 2, 3)),
    )
    p_B = rng.normal(size=(2, 3))
    drawn = [Made(p=rng.normal(size=3), R=Rotation.from_rotvec(rng.normal(size=3)).as_matrix()) for _ in range(3)]
    force = Made(type="spring", ends=("a", "b"), stiffness=7.0, damping=0.5, length=length)
    seen.model = Made(
        points=[Made(body=k + 1, p_B=p) for k, p in zip(bodies, p_B, strict=True)],
        point_names={"a": 0, "b": 1},
        poses=drawn,
        scene=Made(forces=[force]),
    )
    at, speed = [], []
    for k, p in zip(bodies, p_B, strict=True):
        arm = R[k] @ p if k >= 0 else p
        at.append(seen.p[0, k] + arm if k >= 0 else p)
        speed.append(seen.v[0, k] + np.cross(seen.w[0, k], arm) if k >= 0 else np.zeros(3))
    n = (at[1] - at[0]) / np.linalg.norm(at[1] - at[0])
    free = length
    if free is None:
        ends = [drawn[k + 1].p + drawn[k + 1].R @ p for k, p in zip(bodies, p_B, strict=True)]
        free = np.linalg.norm(ends[1] - ends[0])
    pull = 7.0 * (np.linalg.norm(at[1] - at[0]) - free) + 0.5 * n @ (speed[1] - speed[0])
    expected = np.zeros((2, 6))
    for k, p, sign in zip(bodies, at, (1.0, -1.0), strict=True):
        if k >= 0:
            expected[k] += sign * pull * np.concatenate([n, np.cross(p - seen.com[0, k], n)])
    size = 7.0 * max(np.linalg.norm(at[1] - at[0]), free) + 0.5 * np.linalg.norm(speed[1] - speed[0])
    witness = instants.Witness(seen)
    out = np.zeros((2, 6))
    assert witness._add_spring(0, force, out) == pytest.approx(size) and out == pytest.approx(expected, abs=1e-12)
    off = expected.copy()
    off[1, 4] -= 0.25
    assert witness._springs(0, expected) < 1e-15 and witness._springs(0, off) == pytest.approx(0.25 / max(size, 1.0))
    seen.model.scene.forces = []
    assert witness._springs(0, np.array([[0.5, -4.0]])) == 4.0
    seen.model.scene.forces = [force, Made(type="wrench")]
    assert np.isnan(witness._springs(0, expected))
