"""The walking pattern, the torques that it takes in all phases, and the biped that walks by them on real contacts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sim
from plugins.walk import MOTORS, Walk, torques, walker_of
from plugins.walking_pattern import FIRST, GRAVITY, SECOND, SINGLE, Biped, Gait, Pattern, bump, rigid, rise
from sim.analysis.biped.over_actuation import PROCEDURES

SCENES = Path(__file__).parents[2] / "scenes"
OTHER = [3, 4, 5, 0, 1, 2]  # motors of the legs that have changed places


@pytest.fixture(scope="module")
def pattern() -> Pattern:
    return Pattern(Biped.of_person(), Gait())


def around(pattern: Pattern, h: float = 1e-9) -> list[tuple[float, float]]:
    """Return instants just before and after each change of phase in a step, the last one into the next step."""
    g = pattern.gait
    return [(g.single - h, g.single + h), (g.single + g.first - h, g.single + g.first + h), (g.period - h, h)]


@pytest.mark.fast
def test_forms_begin_and_end_at_rest() -> None:
    u = np.linspace(0.0, 1.0, 2001)
    for form, end in ((rise, 1.0), (bump, 0.0)):
        at, rate, change = form(u)
        assert (at[0], at[-1]) == (0.0, end)
        assert np.abs([rate[0], rate[-1], change[0], change[-1]]).max() == 0.0
        assert np.abs(np.gradient(at, u) - rate)[2:-2].max() < 1e-3
        assert np.abs(np.gradient(rate, u) - change)[2:-2].max() < 1e-2
    assert bump(np.array([0.5]))[0][0] == 1.0


@pytest.mark.fast
def test_angles_rates_and_accelerations_are_one_motion(pattern: Pattern) -> None:
    """By differences within phases; and legs end where the hip and the ankles are."""
    g, h = pattern.gait, 1e-5
    t = np.concatenate([
        np.linspace(begin + 0.01, begin + span - 0.01, 25)
        for begin, span in ((0.0, g.single), (g.single, g.first), (g.single + g.first, g.second))
    ])  # fmt: skip
    here, before, after = (pattern.posture(t + k * h) for k in (0, -1, 1))
    for key, way in here.angle.items():
        assert (after.angle[key].at - before.angle[key].at) / (2 * h) == pytest.approx(way.rate, abs=1e-6)
        assert (after.angle[key].rate - before.angle[key].rate) / (2 * h) == pytest.approx(way.change, abs=1e-5)
    assert (after.hip.rate - before.hip.rate) / (2 * h) == pytest.approx(here.hip.change, abs=1e-4)
    for leg in ("rear", "front"):
        down = np.array([0.0, -1.0])
        at = here.hip + rigid(here.angle[leg, "thigh"], down * pattern.biped.thigh.length)
        at = at + rigid(here.angle[leg, "shank"], down * pattern.biped.shank.length)
        for part in ("at", "rate", "change"):
            assert getattr(at, part) == pytest.approx(getattr(here.ankle[leg], part), abs=1e-9)
        assert (here.angle[leg, "thigh"].at > here.angle[leg, "shank"].at).all()  # knees bend the way of people's


@pytest.mark.fast
def test_feet_stand_turn_and_touch_down_without_any_speed(pattern: Pattern) -> None:
    g, foot = pattern.gait, pattern.biped.foot
    heel, toe = np.array([-foot.heel, -foot.ankle]), np.array([foot.toe, -foot.ankle])

    def of(leg: str, arm: np.ndarray, t: np.ndarray):
        posture = pattern.posture(t)
        return posture.ankle[leg] + rigid(posture.angle[leg, "foot"], arm)

    single, first, second = (np.linspace(a, b, 40, endpoint=False) for a, b in (
        (0.0, g.single), (g.single, g.single + g.first), (g.single + g.first, g.period)))  # fmt: skip
    still = [
        ("rear", toe, np.r_[single, first, second], foot.toe), ("rear", heel, np.r_[single, first], -foot.heel),
        ("front", heel, np.r_[first, second], g.length - foot.heel), ("front", toe, second, g.length + foot.toe),
    ]  # fmt: skip
    for leg, arm, t, x in still:
        way = of(leg, arm, t)
        assert way.at == pytest.approx(np.tile([x, 0.0], (len(t), 1)), abs=1e-12)
        assert np.abs(way.rate).max() < 1e-12
    for leg, arm, t in (("rear", heel, second), ("front", toe, first), ("front", toe, single), ("front", heel, single)):
        assert of(leg, arm, t[1:]).at[:, 1].min() > 0.0  # above the ground
    for t in (0.0, g.single - 1e-12):
        for arm in (heel, toe):
            assert np.abs(of("front", arm, np.array([t])).rate).max() < 1e-9
    assert pattern.posture(np.array([g.single])).angle["front", "foot"].at == pytest.approx(g.strikes)
    assert pattern.posture(np.array([g.period])).angle["rear", "foot"].at == pytest.approx(-g.leaves)


@pytest.mark.fast
def test_the_next_step_begins_as_this_one_ends(pattern: Pattern) -> None:
    end, begin = pattern.posture(np.array([pattern.gait.period])), pattern.posture(np.array([0.0]))
    for part in ("thigh", "shank", "foot"):
        for a, b in (("rear", "front"), ("front", "rear")):
            for what, allowed in (("at", 1e-9), ("rate", 1e-9), ("change", 1e-8)):
                assert getattr(end.angle[a, part], what) == pytest.approx(
                    getattr(begin.angle[b, part], what), abs=allowed
                )
    assert end.hip.at - begin.hip.at == pytest.approx(np.array([[pattern.gait.length, 0.0]]), abs=1e-9)


@pytest.mark.fast
@pytest.mark.parametrize("gait", [Gait(), Gait(length=0.25, single=0.8), Gait(first=0.1, second=0.25, lift=0.08)])
def test_the_zero_moment_point_goes_where_it_is_wanted(gait: Gait) -> None:
    """Where feet hand over exactly; elsewhere but for what harmonics leave; always within the feet that stand."""
    pattern = Pattern(Biped.of_person(), gait)
    hands_over = np.array([gait.single + gait.first])
    foot = pattern.biped.foot
    s, heel = pattern.share(hands_over), gait.length - foot.heel
    assert pattern.zero_moment_point(hands_over) == pytest.approx((1 - s) * foot.toe + s * heel, abs=1e-9)
    t = np.linspace(0.0, gait.period, 777)
    assert np.abs(pattern.zero_moment_point(t) - pattern.pressure(t)).max() < 2e-3
    force = pattern.force(t)
    assert force[:, 1].min() > 0.5 * pattern.biped.mass * GRAVITY
    assert (np.abs(force[:, 0]) / force[:, 1]).max() < 0.5
    assert force.mean(axis=0) == pytest.approx([0.0, pattern.biped.mass * GRAVITY], rel=5e-3, abs=2.0)


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_two_procedures_keep_torques_and_reactions_continuous(pattern: Pattern, procedure: str) -> None:
    """SSP, DSP1, DSP2 and SSP again: jumps below 1e-6 of the range where reactions are told by (28), else real ones."""
    t = np.linspace(0.0, pattern.gait.period, 91)
    tau, reactions = torques(pattern, t, procedure)
    ranges = np.ptp(tau), np.ptp(reactions[:, :, :2])
    jumps, of_ground = [], []
    for k, (before, after) in enumerate(around(pattern)):
        (a, ra), (b, rb) = (torques(pattern, np.array([one]), procedure) for one in (before, after))
        a, ra = (a[:, OTHER], ra[:, ::-1]) if k == 2 else (a, ra)
        jumps.append(np.abs(a - b).max() / ranges[0])
        of_ground.append(np.abs(ra - rb)[:, :, :2].max() / ranges[1])
    if procedure in ("reactions", "reactions_and_internal_forces"):
        assert max(jumps) < 1e-6
        assert max(of_ground) < 1e-6
    else:
        assert min(jumps) > 0.05
        assert max(of_ground) > 0.05


@pytest.mark.fast
@pytest.mark.parametrize("procedure", PROCEDURES)
def test_reactions_carry_all_and_the_foot_that_turns_has_no_moment(pattern: Pattern, procedure: str) -> None:
    """tau_cf = 0 (71): the force passes through the heel, or the toe; both together are what all bodies need."""
    g, foot = pattern.gait, pattern.biped.foot
    t = np.linspace(0.0, g.period, 61)[:-1]
    _, reactions = torques(pattern, t, procedure)
    force = pattern.force(t)
    assert reactions[:, :, :2].sum(axis=1) == pytest.approx(force, abs=1e-9 * force.max())
    assert reactions[:, :, 2].sum(axis=1) == pytest.approx(
        pattern.zero_moment_point(t) * force[:, 1], abs=1e-9 * force.max()
    )
    phase = pattern.posture(t).phase
    for name, k, x in ((FIRST, 1, g.length - foot.heel), (SECOND, 0, foot.toe)):
        own = reactions[phase == name, k]
        assert own[:, 2] == pytest.approx(x * own[:, 1], abs=1e-8 * force.max())
    assert np.abs(reactions[phase == SINGLE, 1]).max() == 0.0
    if procedure.startswith("reactions"):
        share = pattern.share(t)
        for name, k in ((FIRST, 1), (SECOND, 0)):
            part = share if k else 1.0 - share
            assert reactions[phase == name, k, :2] == pytest.approx(
                (part[:, None] * force)[phase == name], abs=1e-8 * force.max()
            )


@pytest.mark.fast
def test_torques_do_the_work_that_the_motion_takes(pattern: Pattern) -> None:
    """Power of motors is the rate of the energy of all bodies, whatever procedure: feet that stand take none."""
    h, g = 1e-5, pattern.gait
    t = np.concatenate([np.linspace(0.02, g.single - 0.02, 9), g.single + np.array([0.05, 0.1, 0.2, 0.25])])

    def energy(at: np.ndarray) -> np.ndarray:
        parts = pattern.centres(pattern.posture(at))
        return sum(
            0.5 * m * np.sum(w.rate**2, axis=1) + 0.5 * i * a.rate**2 + m * GRAVITY * w.at[:, 1] for m, i, w, a in parts
        )

    growing = (energy(t + h) - energy(t - h)) / (2 * h)
    posture = pattern.posture(t)
    rates = []
    for leg in ("rear", "front"):
        thigh, shank, foot = (posture.angle[leg, part].rate for part in ("thigh", "shank", "foot"))
        rates += [thigh - posture.trunk.rate, shank - thigh, foot - shank]
    for procedure in PROCEDURES:
        tau, _ = torques(pattern, t, procedure)
        assert np.sum(tau.T * np.array(rates), axis=0) == pytest.approx(growing, abs=1e-4)
    assert len(MOTORS) == len(rates)
    assert walker_of(pattern.biped, 0.0).mass.sum() + pattern.biped.foot.mass == pytest.approx(pattern.biped.mass)


@pytest.mark.fast
@pytest.mark.parametrize(("changes", "said"), [
    ({"length": 0.8}, "hip: legs reach 0.8592 m"), ({"hip": 1.2}, "hip: legs reach"),
    ({"lift": -0.03}, "lift: the swinging foot comes .* m below the ground"),
])  # fmt: skip
def test_gaits_that_legs_cannot_walk_are_refused(changes: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Pattern(Biped.of_person(), Gait(**changes))


def scene(stiffness: float, damping: float, **simulate) -> sim.scene.spec.Scene:
    loaded = sim.load("biped_walk", set={"stiffness": stiffness, "damping": damping})
    return replace(loaded, simulate=replace(loaded.simulate, **simulate))


def test_the_scene_is_the_pattern_of_its_controller(pattern: Pattern) -> None:
    loaded = sim.load("biped_walk")
    biped, begin = pattern.biped, pattern.posture(np.array([0.0]))
    parts = {"trunk": biped.trunk, "thigh_l": biped.thigh, "shank_r": biped.shank, "foot_l": biped.foot}
    bodies = {body.name: body for body in loaded.bodies}
    for name, part in parts.items():
        assert bodies[name].mass == pytest.approx(part.mass)
        assert bodies[name].inertia[1] == pytest.approx(part.inertia, rel=1e-9)
    run = sim.Simulator(sim.compile(loaded))
    values = dict(zip(run.model.column_names, run.flow.work.coordinate, strict=True))
    for side, leg in (("l", "rear"), ("r", "front")):
        thigh, shank, foot = (begin.angle[leg, part].at[0] for part in ("thigh", "shank", "foot"))
        for name, value in (("hip", thigh), ("knee", shank - thigh), ("ankle", foot - shank)):
            assert values[f"{name}_{side}"] == pytest.approx(value, abs=1e-10)


def off(recording: sim.Recording, pattern: Pattern) -> tuple[np.ndarray, np.ndarray]:
    """Return how far angles [rad] and the trunk [m] are from the pattern in each row."""
    time, g = recording.time, pattern.gait
    step = np.floor(time / g.period + 1e-12).astype(int)
    posture = pattern.posture(time - step * g.period)
    angles = [np.abs(recording.coordinate["trunk"][:, 4])]
    for side, first in (("l", 0), ("r", 1)):
        stands = step % 2 == first
        way = {part: np.where(stands, posture.angle["rear", part].at, posture.angle["front", part].at)
               for part in ("thigh", "shank", "foot")}  # fmt: skip
        for name, value in (
            ("hip", way["thigh"]),
            ("knee", way["shank"] - way["thigh"]),
            ("ankle", way["foot"] - way["shank"]),
        ):
            angles.append(np.abs(recording.coordinate[f"{name}_{side}"] - value))
    hip = posture.hip.at + np.stack([step * g.length, 0.0 * time], axis=1)
    away = recording.position["trunk"][:, [0, 2]] - hip - [0.0, pattern.biped.trunk.com]
    return np.max(angles, axis=0), np.abs(away).max(axis=1)


def feet_hold(recording: sim.Recording, pattern: Pattern, slip: float) -> None:
    """Check that feet stay where they stand, pressed within their soles, and that nothing else holds the trunk."""
    g, foot = pattern.gait, pattern.biped.foot
    for side in "lr":
        pressing = recording.contact_force(f"foot_{side}")[:, 2]
        stands = pressing > 1.0
        ends = np.flatnonzero(np.diff(np.concatenate([[0], stands.astype(int), [0]])))
        assert len(ends) >= 2  # it does stand
        for begin, end in ends.reshape(-1, 2):
            rows = np.arange(begin, end)
            step = np.round(recording.position[f"foot_{side}"][rows[len(rows) // 2], 0] / g.length)
            cop = np.array(
                [recording.contacts(int(row)).on(f"foot_{side}", "world").centre_of_pressure for row in rows]
            )
            assert (cop[:, 0] - step * g.length >= -foot.heel - slip - 1e-6).all()
            assert (cop[:, 0] - step * g.length <= foot.toe + slip + 1e-6).all()
            across = cop[:, 1] * (1.0 if side == "l" else -1.0)  # which foot takes what across is a choice
            assert (across > -0.0281).all() and (across < 0.0821).all()
    assert {joint.parent for joint in recording.joints if joint.child == "trunk"} == {"world"}
    assert {joint.type for joint in recording.joints if joint.child == "trunk"} == {"free"}


def test_it_walks_a_step_by_torques_alone(pattern: Pattern, tmp_path) -> None:
    """Real contacts in event mode, no springs: within 1 mm and 0.1 deg over the first step; then errors grow.

    The pattern is unstable as an inverted pendulum is: they double about every tenth of a second.
    """
    recording = sim.run(scene(0.0, 0.0, rtol=1e-10, record=200.0), duration=1.35, output=tmp_path / "walk.h5")
    angle, away = off(recording, pattern)
    first = recording.time <= pattern.gait.period
    assert np.degrees(angle[first].max()) < 0.1
    assert away[first].max() < 1e-3
    assert angle[-1] > 5.0 * angle[first].max()
    lands = [event.time for event in recording.events if event.name == "floor and foot_r" and event.kind == "impact"]
    assert lands[0] == pytest.approx(pattern.gait.single, abs=0.01)
    feet_hold(recording, pattern, 1e-5)
    assert recording.energy.impact[first][-1] < 1e-3  # J: touch-down is all but without speed


def test_a_recording_of_a_step_is_verified(tmp_path) -> None:
    """Its feet have points that are restless while they come to rest: of these some have a part of their friction."""
    recording = sim.run(scene(600.0, 60.0, record=2000.0), duration=0.78, output=tmp_path / "walk.h5")
    found = sim.verify(recording, instants=5)
    assert found.ok, found.problems


@pytest.mark.slow
def test_it_walks_ten_cycles_with_springs(pattern: Pattern, tmp_path) -> None:
    recording = sim.run(scene(600.0, 60.0, record=50.0), duration=18.0, output=tmp_path / "walk.h5")
    angle, away = off(recording, pattern)
    assert np.degrees(angle.max()) < 0.1
    assert away.max() < 1e-3
    assert recording.position["trunk"][-1, 0] - recording.position["trunk"][0, 0] == pytest.approx(20 * 0.4, abs=1e-3)
    feet_hold(recording, pattern, 1e-3)


def test_it_walks_in_time_steps_too(pattern: Pattern, tmp_path) -> None:
    recording = sim.run(
        scene(600.0, 60.0, contact="stepping", step=1e-3, record=100.0), duration=5.4, output=tmp_path / "w.h5"
    )
    angle, away = off(recording, pattern)
    assert np.degrees(angle.max()) < 1.0
    assert away.max() < 0.01
    feet_hold(recording, pattern, 0.01)


@pytest.mark.fast
def test_the_controller_refuses_what_is_no_leg() -> None:
    from tests.plugins.views import view_of

    names = {name: "rotational" for name in ("hip_l", "knee_l", "ankle_l", "hip_r", "knee_r", "ankle_r")}
    left, right = tuple(names)[:3], tuple(names)[3:]
    with pytest.raises(ValueError, match="walk: left has 2 joints; expected hip, knee and ankle"):
        Walk(left=left[:2], right=right).start(view_of(names))
    with pytest.raises(ValueError, match="walk: hip: legs reach"):
        Walk(left=left, right=right, hip=1.3).start(view_of(names))
    walk = Walk(left=left, right=right, steps=2, kp=1.0)
    walk.start(view_of(names))
    period = walk.pattern().gait.period
    assert walk.file.time[-1] == pytest.approx(2 * period, abs=0.01)
    half = len(walk.file.time) // 2
    for a, b in zip(left, right, strict=True):  # legs take turns
        assert walk.file.columns[a].values[:half] == pytest.approx(walk.file.columns[b].values[half:])
        assert walk.file.columns[f"torque({b!r})"].values[:half] == pytest.approx(
            walk.file.columns[f"torque({a!r})"].values[half:]
        )
