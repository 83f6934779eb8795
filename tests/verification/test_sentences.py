"""What is told of deviations that are put in: each just within and just beyond what is allowed, on both sides."""

from __future__ import annotations

from dataclasses import asdict, replace
from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.analysis.verification import looks, recorded_rows, repeats, verifier
from sim.analysis.verification.comparing import ErrorBar, Growth
from sim.analysis.verification.instants import Instant
from sim.analysis.verification.ledger import Entry
from sim.analysis.verification.missed import Missed
from sim.analysis.verification.rerun import Rerun
from sim.analysis.verification.verdict import Moment, Peak, Verdict
from sim.recording import ColumnEntry, EventEntry, restoring
from sim.simulation.journal import EventRecord

pytestmark = pytest.mark.fast

NAN = float("nan")
TIME = np.array([0.0, 0.5, 1.0, 1.5])
N = len(TIME)


def verdict() -> Verdict:
    return Verdict("scene", "a.h5", "brachiate 1", N, 1.5)


# --- rows ------------------------------------------------------------------------------------------------


def seen(**changed: Any) -> Made:
    """Two bodies and three joints of which nothing is wrong: as a recording has them, and as poses give them."""
    rng = np.random.default_rng(1)
    energies = {
        "kinetic": [4.0, 3.0, 2.0, 1.0],
        "potential": [0.0, 1.0, 1.5, 2.0],
        "dissipated": [0.0, 0.25, 0.75, 1.0],
        "impact": [0.0, 0.0, 0.0, 0.5],
        "input": [0.0, 0.25, 0.25, 0.5],
    }
    energy = {name: np.array(values) for name, values in energies.items()}
    energy["balance"] = (
        sum(energy[name] for name in ("kinetic", "potential", "dissipated", "impact")) - energy["input"] - 4.0
    )
    arrays = {name: rng.normal(size=(N, 2, 3)) for name in ("position", "velocity", "angular_velocity", "com")}
    arrays |= {"quat_wxyz": rng.normal(size=(N, 2, 4)), "time": TIME}
    arrays["trust/determinate"] = np.array([[1, 0, -1], [1, 1, -1], [1, 0, -1], [1, 1, -1]])
    trust = {"position_residual": np.full(N, 1e-12), "velocity_residual": np.full(N, 1e-9),
             "smallest_singular_value": np.array([NAN, 0.5, 0.25, 0.75]), "rank": np.array([0, 3, 2, 3]),
             "rows": np.array([0, 3, 3, 3])}  # fmt: skip
    made = {
        "residuals": [np.full(N, 1e-12), np.full(N, 1e-9), np.full(N, 1e-9), np.full(N, -1)],
        "kinetic": energy["kinetic"].copy(),
        "com": arrays["com"].copy(),
        "mass": np.array([2.0, 3.0]),
        "names": ["a", "b", "c"],
        "present": np.array([[1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 0, 0]], bool),
        "recording": Made(
            array=arrays.__getitem__,
            trust=Made(**trust, sure=lambda name: f"sure of {name}"),
            energy=Made(**energy),
            begun=None,
            time=TIME,
        ),
    }
    return Made(**made | changed, arrays=arrays, energy=energy, trust=trust)


def looked(found: Made) -> Verdict:
    out = verdict()
    recorded_rows.look_at_rows(found, out)
    return out


def test_of_what_holds_nothing_is_told_but_its_numbers():
    found = seen()
    out = looked(found)
    assert out.problems == [] and out.notes == []
    assert out.residuals == {"position": Peak(1e-12, 0.0), "velocity": Peak(1e-9, 0.0), "rates": Peak(1e-9, 0.0)}
    assert (out.singular, out.rank) == (Peak(0.25, 1.0), (0, 3))
    assert out.ranks == [
        {"from": 0.0, "to": 0.0, "rows": 0, "rank": 0}, {"from": 0.5, "to": 0.5, "rows": 3, "rank": 3},
        {"from": 1.0, "to": 1.0, "rows": 3, "rank": 2}, {"from": 1.5, "to": 1.5, "rows": 3, "rank": 3},
    ]  # fmt: skip
    assert (out.balance, out.peak) == (0.0, 4.0)
    assert set(out.curves) == {
        "residual of position",
        "residual of velocity",
        "smallest singular value",
        "rank",
        "energy balance",
    }
    assert out.curves["rank"].tolist() == [0.0, 3.0, 2.0, 3.0] and out.curves["rank"].dtype == float
    assert (
        out.curves["residual of position"] is found.residuals[0]
        and out.curves["residual of velocity"] is found.residuals[1]
    )


def test_the_balance_of_a_run_that_began_from_a_state_counts_from_the_start_of_its_run():
    found = seen()
    found.energy["balance"] += 0.125
    assert "energy balance" in " ".join(looked(found).problems)
    found.recording.begun = "a state"
    assert looked(found).problems == []
    found.energy["balance"][2] += 0.125
    assert "energy balance" in " ".join(looked(found).problems)


@pytest.mark.parametrize("name", ["position", "quat_wxyz", "velocity", "angular_velocity", "time"])
def test_what_is_not_finite_is_named(name):
    found = seen()
    found.arrays[name] = found.arrays[name].copy()
    found.arrays[name].flat[-1] = np.inf
    assert looked(found).problems == [f"{name}: some of the recorded values are not finite numbers"]
    found.arrays["velocity"].flat[0] = np.nan
    both = [
        one for one in ("position", "quat_wxyz", "velocity", "angular_velocity", "time") if one in (name, "velocity")
    ]
    assert looked(found).problems == [f"{', '.join(both)}: some of the recorded values are not finite numbers"]


@pytest.mark.parametrize(
    ("k", "allowed", "worst", "sentence"),
    [
        (0, 1e-10, 1, "the joints' residual of position is {} at t = 1 s (joint 'b'); 1e-10 is promised"),
        (0, 1e-10, 0, "the joints' residual of position is {} at t = 1 s (joint 'a'); 1e-10 is promised"),
        (0, 1e-10, -1, "the joints' residual of position is {} at t = 1 s; 1e-10 is promised"),
        (1, 1e-8, 1, "the joints' residual of velocity is {} at t = 1 s; 1e-08 is promised"),
        (2, 1e-8, 1, "recorded rates of joints differ from the bodies' velocities by {} at t = 1 s; 1e-08 is promised"),
    ],
)
def test_residuals_beyond_what_is_promised_are_told(k, allowed, worst, sentence):
    for size, told in ((allowed, None), (1.25 * allowed, f"{1.25 * allowed:.2g}")):
        found = seen()
        found.residuals[k][2], found.residuals[3][:] = size, [0, 0, worst, 0]
        if k < 2:  # the recording says so, too
            found.trust[("position_residual", "velocity_residual")[k]][:] = found.residuals[k]
        out = looked(found)
        assert out.problems == ([] if told is None else [sentence.format(told)])
        assert out.residuals[("position", "velocity", "rates")[k]] == Peak(size, 1.0)
    found = seen()
    found.residuals[k][1] = np.nan
    (problem, *_) = looked(found).problems
    assert problem.startswith(sentence.format("nan").split(" (")[0].split("; ")[0].replace("t = 1 s", "t = 0.5 s"))


@pytest.mark.parametrize(("k", "name", "allowed"), [(0, "position", 1e-10), (1, "velocity", 1e-8)])
def test_recorded_residuals_that_are_larger_than_those_of_the_poses_are_told(k, name, allowed):
    """Smaller ones may be: those of the tree are not recorded."""
    for more, told in ((-0.5e-12, 0), (0.9 * allowed, 0), (1.5 * allowed, 1), (np.nan, 0)):
        found = seen()
        found.residuals[k][:] = 1e-13
        found.trust[f"{name}_residual"][:] = [0.0, 0.0, 0.0, 1e-13 + more]
        assert (
            looked(found).problems
            == [
                f"the recorded residual of {name} differs from what the recorded poses and velocities give by "
                f"{1.5 * allowed:.2g} at t = 1.5 s; {allowed:g} is roundoff"
            ][:told]
        )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_energies_and_centres_of_mass_agree_to_roundoff(sign):
    """Of the largest energy, 4 J, and of the largest coordinate, at least 1 m."""
    for size, told in ((0.9e-11, 0), (1.1e-11, 1)):
        found = seen()
        found.kinetic[1] += sign * 4.0 * size
        assert (
            looked(found).problems
            == [
                "the recorded kinetic energy differs from what the recorded poses and velocities give by 1.1e-11 at "
                "t = 0.5 s; 1e-11 is roundoff"
            ][:told]
        )
        found = seen()
        found.energy["balance"][3] += sign * 4.0 * size
        out = looked(found)
        assert out.balance == pytest.approx(4.0 * size, rel=1e-4)
        assert (
            out.problems
            == [
                "the recorded energy balance differs from what the recorded energies give by 1.1e-11 at t = 1.5 s; "
                "1e-11 is roundoff"
            ][:told]
        )
        for scale in (0.1, 20.0):
            found = seen()
            for coms in (found.com, found.arrays["com"]):
                coms *= scale / np.abs(coms).max()
            found.com[2, 1, 0] += sign * size * max(scale, 1.0)
            assert (
                looked(found).problems
                == [
                    "the recorded centre of mass differs from what the recorded poses and velocities give by 1.1e-11 "
                    "at t = 1 s; 1e-11 is roundoff"
                ][:told]
            )
            found.mass[1] = 0.0  # a massless body has none
            assert looked(found).problems == []


@pytest.mark.parametrize("name", ["kinetic", "potential", "dissipated", "impact", "input"])
def test_every_energy_is_in_the_balance_with_its_sign(name):
    found = seen()
    found.energy[name][:] += np.array([0.0, 0.5, 0.0, 0.0])
    found.kinetic = found.energy["kinetic"].copy()
    sign = -1.0 if name == "input" else 1.0
    assert len(looked(found).problems) == 1
    found.energy["balance"][1] += sign * 0.5
    out = looked(found)
    assert out.problems == [] and out.balance == 0.5


def test_without_loops_there_is_no_rank():
    found = seen()
    found.trust["smallest_singular_value"][:] = np.nan
    out = looked(found)
    assert out.singular is None and out.rank is None and out.ranks == [] and "rank" not in out.curves


def test_shares_of_rows_with_a_chosen_force_are_of_rows_that_have_one():
    out = verdict()
    recorded_rows.look_at_forces(seen(), out)
    assert out.forces == {"a": 0.0, "b": pytest.approx(2 / 3)} and out.components == {"b": "sure of b"}
    assert out.curves["chosen forces"].tolist() == [1.0, 0.0, 1.0, 0.0] and out.chosen == ["b"]


# --- the ledger ------------------------------------------------------------------------------------------

ENTRY = Entry(0.75, ("hit", "catch"), *np.zeros((4, 3)), *([0.0] * 3), 1.0, 2.0, 3.0, 4.0, 0.0, 0.0, False)


@pytest.mark.parametrize(
    ("name", "word", "of_set"),
    [
        ("left", "momentum", False),
        ("left_angular", "angular momentum", False),
        ("along", "impulse along a freedom", False),
        ("left_energy", "energy", True),
        ("moved", "pose", False),
    ],
)
def test_books_close_to_roundoff(monkeypatch, name, word, of_set):
    for size, closed in ((0.99e-10, True), (1e-10, False), (2.5e-7, False)):
        for sets in (False, True):
            entry = replace(ENTRY, set=sets, **{name: size})
            right = closed or (sets and not of_set)
            assert entry.closed is right
            monkeypatch.setattr(recorded_rows, "ledger", lambda seen, touching, entry=entry: [ENTRY, entry])
            out = verdict()
            recorded_rows.keep_books(seen(), out)
            assert out.ledger == [ENTRY, entry]
            assert (
                out.problems == []
                if right
                else [
                    f"event 'hit', 'catch' at t = 0.75 s: the ledger does not close; the {word} is off by {size:.2g} "
                    "of what takes part"
                ]
            )


# --- reruns ----------------------------------------------------------------------------------------------


def event(name: str, time: float, kind: str = "scene", **more: Any) -> EventEntry:
    return EventEntry(time=time, name=name, kind=kind, **{"energy_lost": 1.0, "impulse": 2.0} | more)


def happening(name: str, time: float, kind: str = "scene", **more: Any) -> EventRecord:
    return EventRecord(
        **{
            "time": time,
            "name": name,
            "kind": kind,
            "caption": "",
            "lost": 1.0,
            "impulse": 2.0,
            "text": "",
            "through": None,
        }
        | more
    )


def ran(*names: Any) -> Made:
    return Made(recording=Made(events=list(names), time=np.array([0.0, 3.0])))


def test_events_that_a_rerun_lacks_or_has_besides_are_found():
    both = event("a", 1.0), event("b", 2.0)
    for again, problems, extra in (
        ((("a", 1.0), ("b", 2.0)), [], None),
        ((("a", 1.0),), ["event 'b' at t = 2 s does not happen so in a rerun"], None),
        ((), ["event 'a' at t = 1 s does not happen so in a rerun"], None),
        ((("a", 1.0), ("c", 1.5), ("b", 2.0)), [], "c"),
        ((("a", 1.0), ("c", 2.5)), ["event 'b' at t = 2 s does not happen so in a rerun"], None),
        ((("a", 1.0), ("c", 2.0 - 0.9e-9)), ["event 'b' at t = 2 s does not happen so in a rerun"], None),
        ((("a", 1.0), ("c", 2.0 - 1.1e-9)), [], "c"),
        ((("a", 1.0), ("b", 2.0), ("c", 3.0)), [], "c"),
        ((("a", 1.0), ("b", 2.0), ("c", 3.0 + 1e-9)), [], None),  # after the recording's end
        ((("a", 1.0), ("b", 2.4)), [], None),  # its time is looked at elsewhere
    ):  # fmt: skip
        out = verdict()
        found = repeats.compare_events(ran(*both), out, Rerun(events=[happening(*one) for one in again]))
        assert out.problems == problems and (found.name if found else None) == extra, again
    out = verdict()
    found = repeats.compare_events(ran(event("a", 1.0, "impact")), out, Rerun(events=[happening("a", 1.0, "mode")]))
    assert found is None and out.problems == ["event 'a' at t = 1 s does not happen so in a rerun"]


def moments(recorded, again, tighter, lost=None):
    out = verdict()
    out.tolerances = (1e-8, 1e-10)
    if lost is not None:
        out.growth = Growth(TIME, TIME, "power", 1.0, lost, np.inf)
    repeats.compare_moments(
        ran(*recorded), out, Rerun(events=[happening(*one) for one in again]),
        Rerun(events=[happening(*one) for one in tighter]),
    )  # fmt: skip
    return out


def test_times_of_events_are_those_of_the_reruns():
    twice = [event("a", 1.0), event("a", 2.0), event("m", 2.1, "mode"), event("b", 2.5, "key")]
    names = [("a", 1.0), ("a", 2.0), ("m", 2.1, "mode"), ("b", 2.5, "key")]
    out = moments(twice, names, [("b", 2.6, "key"), ("a", 1.001), ("a", 2.002), ("m", 2.1, "mode")])
    assert out.problems == out.notes == []
    assert out.moments == [Moment("a", 1.0, 1.001), Moment("a", 2.0, 2.002), Moment("b", 2.5, 2.6)]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_event_may_be_ten_error_bars_off(sign):
    """Of 1 ms, or where the tighter rerun has none of 1 us."""
    for tighter, allowed in (([("a", 1.001)], 1e-2 + 1e-9), ([], 1e-5 + 1e-9)):
        for share, told in ((0.99, 0), (1.02, 1)):
            off = sign * share * allowed
            out = moments([event("a", 1.0 - off)], [("a", 1.0)], tighter, lost=0.5)
            assert out.problems == [f"event 'a': a rerun has it {abs(off):.2g} s from the recorded time"][:told]
    out = moments([event("a", 1.0)], [], [("a", 1.5)])
    assert out.problems == [] and out.moments == [Moment("a", 1.0, 1.5)]


def test_an_event_that_a_tighter_rerun_lacks_is_a_problem_until_the_trajectory_is_lost():
    sentence = "event 'a' at t = 1 s does not happen at rtol 1e-10"
    for lost, problem in ((None, True), (1.0001, True), (1.0, False), (0.5, False)):
        out = moments([event("a", 1.0)], [("a", 1.0)], [], lost)
        assert (out.problems, out.notes) == (([sentence], []) if problem else ([], [sentence]))


def instant(**changed: Any) -> Instant:
    made = {"row": 3, "time": 0.25, "acceleration": 0.0, "constraint": 0.0, "force": 0.0, "drive": 0.0, "springs": NAN,
            "rank": 4, "oracle_rank": 4, "marks": (), "sigma": NAN}  # fmt: skip
    return Instant(**made | changed)


@pytest.mark.parametrize(
    ("sigma", "allowed"), [(NAN, 1e-9), (2.0, 1e-9), (1.0, 1e-9), (0.01, 1e-7), (1e-6, 1e-3), (1e-7, 1e-3), (0.0, 1e-3)]
)
def test_what_is_allowed_grows_near_a_singular_position(sigma, allowed):
    assert instant(sigma=sigma).allowed == pytest.approx(allowed, rel=1e-12)


@pytest.mark.parametrize("name", list(repeats.ASKED))
def test_what_the_oracle_finds_is_told_by_its_worst_instant(name):
    said = {
        "acceleration": "its accelerations differ from the engine's by",
        "constraint": "the engine's accelerations break the joints' rows by",
        "force": "the recorded joint forces leave Newton and Euler open by",
        "drive": "the recorded joint forces differ from the joint torques along the freedoms by",
        "springs": "the forces between bodies differ from those of the scene by",
    }[name]
    found = [
        instant(**{name: 1e-9}),
        instant(**{name: 1.5e-7, "time": 0.5, "sigma": 0.1}),
        instant(**{name: 2.5e-7, "time": 0.75}),
    ]
    for some, problems in (
        (found[:1], []),
        (found[1:2], [(1.5e-7, 0.5, "1e-08", 1, 1)]),
        (found, [(2.5e-7, 0.75, "1e-09", 2, 3)]),
    ):
        out = verdict()
        repeats.judge_instants(seen(), out, Made(found=some, missed=[]), [3])
        assert out.instants == some and out.notes == []
        assert out.problems == [
            f"oracle: {said} {size:.2g} of the largest at t = {time:g} s, beyond {allowed} at {count} of {all_of} "
            "instants"
            for size, time, allowed, count, all_of in problems
        ]


def test_ranks_and_marks_are_compared_away_from_singular_positions():
    marked, ranked = instant(marks=("a", "b")), instant(oracle_rank=5, time=0.5)
    mark = "oracle: whether the force of 'a', 'b' is determinate is recorded otherwise at t = 0.25 s"
    rank = "oracle: 5 rows of the loops act at t = 0.5 s, 4 are recorded"
    for some, problems in (
        ([marked], [mark]),
        ([ranked], [rank]),
        ([marked, ranked, replace(ranked, time=0.75), replace(marked, time=0.9)], [rank, mark]),
        ([replace(marked, sigma=1e-3)], [mark]),
        ([replace(marked, sigma=0.99e-3)], []),
        ([replace(ranked, sigma=1e-3)], [rank]),
        ([replace(ranked, sigma=0.99e-3)], []),
        ([instant()], []),
    ):
        out = verdict()
        repeats.judge_instants(seen(), out, Made(found=some, missed=[]), [1])
        assert out.problems == problems


def test_what_the_oracle_was_not_asked_is_noted():
    for bodies, chosen, missed, notes in (
        (300, [], [], ["no instant was recomputed by the oracle: no row apart from events"]),
        (301, [], [], ["no instant was recomputed by the oracle: more than 300 bodies"]),
        (2, [1, 2], [2], ["1 instants have another structure in the rerun and were left out"]),
        (2, [1], [], []),
    ):
        out = verdict()
        repeats.judge_instants(seen(mass=np.ones(bodies)), out, Made(found=[], missed=missed), chosen)
        assert out.notes == notes and out.problems == []


# --- what was passed by --------------------------------------------------------------------------------


def test_what_is_missed_is_a_sentence():
    for kind, sentence in (
        ("condition", "the condition of event 'gate' becomes true at t = 0.666667 s, by up to 0.013"),
        ("contact", "gate meet at t = 0.666667 s and get 0.013 m into each other"),
        ("stop", "gate at t = 0.666667 s, by up to 0.013"),
    ):
        assert Missed(kind, "gate", 2 / 3, 0.0125001).sentence == sentence


def passed(extra: EventRecord | None, *looked: Missed, found: tuple[Missed, ...] = ()) -> tuple[Verdict, list[float]]:
    out, asked = verdict(), []
    events = [Made(name="gate", when="x > 0"), Made(name="clock", when=None)]

    def again(model: Any, blind_from: float) -> Rerun:
        asked.append(blind_from)
        return Rerun(missed=list(found))

    repeats.tell_missed(
        Made(model=Made(scene=Made(events=events))), out, Rerun(missed=list(looked), looks=17), extra, again
    )
    assert out.looks == 17
    return out, asked


def test_what_looks_within_steps_find_is_told_once_for_each_name():
    gate, later, other = (
        Missed("condition", "gate", 1.0, 0.5),
        Missed("condition", "gate", 2.0, 0.75),
        Missed("stop", "gate", 3.0, 0.25),
    )
    out, asked = passed(None, gate, other, later)
    assert out.problems == [
        f"missed, 2 times: {gate.sentence}, and the run did not see it",
        f"missed: {other.sentence}, and the run did not see it",
    ]
    assert out.missed == [gate, other, later] and asked == []


@pytest.mark.parametrize(
    ("extra", "found", "told"),
    [
        (happening("gate", 1.0), Missed("condition", "gate", 1.0, 0.5), True),
        (happening("gate", 1.0), Missed("condition", "gate", 1.0 + 0.9e-9, 0.5), True),
        (happening("gate", 1.0), Missed("condition", "gate", 1.0 - 1.1e-9, 0.5), False),
        (happening("gate", 1.0), Missed("condition", "other", 1.0, 0.5), False),
        (happening("gate", 1.0, "impact"), Missed("contact", "other", 1.0, 0.5), True),
        (happening("gate", 1.0, "mode"), Missed("stop", "other", 1.0, 0.5), True),
        (happening("gate", 1.0, "key"), None, None),
        (happening("clock", 1.0), None, None),
        (happening("nobody", 1.0), None, None),
    ],
)
def test_an_event_that_only_a_rerun_has_is_told_with_its_depth(extra, found, told):
    out, asked = passed(extra, found=(found,) if found else ())
    assert asked == ([] if told is None else [1.0])
    said = f"missed: event '{extra.name}' at t = 1 s happens in a rerun, and is not in the recording"
    assert out.problems == [f"{said}: {found.sentence}" if told else said]
    assert out.missed == ([found] if told else [])


# --- a rerun of the same rows ------------------------------------------------------------------------


class Recorded:
    """A recording of one joint, in memory."""

    def __init__(self) -> None:
        names = {name: shape for name, shape in SHAPES.items()}
        rng = np.random.default_rng(3)
        self.arrays = {name: rng.normal(size=(N, *shape)) for name, shape in names.items()}
        self.arrays |= {
            "time": TIME.copy(),
            "trust/rank": np.array([3, 3, -1, 3]),
            "trust/determinate": np.array([[1], [0], [-1], [1]]),
        }
        self.rows, self.bodies = N, [Made(name="body")]
        self.columns = (ColumnEntry(name="a", joint="a", unit="rad", rate_unit="rad/s", torque_unit="N m"),)
        self.trust = Made(smallest_singular_value=np.array([NAN, 0.5, 1e-4, 0.5]))
        self.events = [event("e", 0.5), event("f", 1.0)]
        self.contact_impulses = None
        self.impulse = Made(array=np.arange(12.0).reshape(2, 1, 6))
        self.epochs = [Made(first=0, last=3, q=np.arange(6.0).reshape(3, 2), v=np.arange(3.0).reshape(3, 1)),
                       Made(first=3, last=4, q=np.full((1, 2), 9.0), v=np.full((1, 1), 8.0))]  # fmt: skip
        self.touches = {"row": np.array([0, 2]), "force": np.array([[1.0, 2, 3], [4, 5, 6]])}

    def array(self, name: str) -> np.ndarray:
        return self.arrays[name]

    def tells(self, name: str) -> bool:
        return name in self.arrays

    def again(self) -> Rerun:
        values = {name: np.array(a, float) for name, a in self.arrays.items()}
        for name in ("trust/rank", "trust/determinate"):
            values[name][values[name] == -1] = np.nan
        return Rerun(
            values=values,
            states=[
                (0, self.epochs[0].q.copy(), self.epochs[0].v.copy()),
                (3, np.full((2, 2), 9.0), np.full((2, 1), 8.0)),
            ],
            touches={"row": np.array([0, 2, 4]), "force": np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])},
            events=[
                happening("e", 0.5, through=np.arange(6.0).reshape(1, 6)),
                happening("f", 1.0, through=np.arange(6.0, 12).reshape(1, 6)),
                happening("later", 9.0),
            ],
        )


SHAPES: dict[str, tuple[int, ...]] = {
    "position": (1, 3), "quat_wxyz": (1, 4), "velocity": (1, 3), "angular_velocity": (1, 3), "joints/coordinate": (1,),
    "joints/rate": (1,), "joints/torque": (1,), "joints/force": (1, 6), **{f"energy/{name}": () for name in
    ("kinetic", "potential", "dissipated", "impact", "input", "balance")},
}  # fmt: skip


def compared(recorded: Recorded, again: Rerun, bars: Any = None) -> Verdict:
    out = verdict()
    if bars is not None:
        found = repeats.outputs(["body"], ["a"], recorded.columns)
        out.bars = [ErrorBar(o.name, o.unit, bars, bars, 2.0, "", 0.0, {}, np.full(N, bars)) for o in found]
        out.bar_time = TIME
    repeats.compare_with_recording(Made(recording=recorded, names=["a"]), out, again)
    return out


def test_a_rerun_of_the_same_rows_is_equal_to_the_bit():
    recorded = Recorded()
    again = recorded.again()
    again.values = {name: np.concatenate([a, a[-1:]]) for name, a in again.values.items()}  # it may go on
    out = compared(recorded, again)
    assert out.bit_equal is True and out.problems == out.notes == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda r: r.states[0][1].__setitem__((2, 0), 0.5), "raw states"),
        (lambda r: r.states[0][2].__setitem__((0, 0), 0.5), "raw states"),
        (lambda r: r.states[1][1].__setitem__((0, 1), 0.5), "raw states"),
        (lambda r: r.states[1][1].__setitem__((1, 1), 0.5), None),  # beyond the recording
        (lambda r: r.states.append((4, np.ones((1, 2)), np.ones((1, 1)))), None),
        *(
            (
                lambda r, name=name, value=value: r.events.__setitem__(1, replace(r.events[1], **{name: value})),
                "events",
            )
            for name, value in (
                ("time", 1.1),
                ("name", "g"),
                ("kind", "key"),
                ("caption", "c"),
                ("lost", 1.5),
                ("impulse", 2.5),
                ("text", "t"),
            )
        ),
        (lambda r: r.events.pop(), None),
        (lambda r: r.events[0].through.__setitem__((0, 5), 0.0), "impulses"),
        (lambda r: r.events.__setitem__(1, replace(r.events[1], through=None)), "impulses"),
        (lambda r: r.touches["force"].__setitem__((1, 2), 0.0), "contacts"),
        (lambda r: r.touches["force"].__setitem__((2, 2), 0.0), None),
        (lambda r: r.touches["row"].__setitem__(2, 3), "contacts"),
        (lambda r: r.touches.clear(), "contacts"),
        (lambda r: [r.touches.clear(), r.states[0][1].__setitem__((2, 0), 0.5)], "raw states and contacts"),
    ],
)
def test_what_differs_beside_equal_rows_is_named(change, what):
    recorded = Recorded()
    again = recorded.again()
    change(again)
    out = compared(recorded, again)
    assert out.bit_equal is (what is None)
    assert out.problems == ([] if what is None else [f"a rerun has the same rows to the bit, but other {what}"])


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("bar", [0.0, 1e-3])
def test_a_rerun_that_differs_may_be_off_by_ten_error_bars(sign, bar):
    allowed = 10.0 * bar + 1e-9 * 2.0  # 1e-9 of the largest value
    for share, told in ((0.99, 0), (1.01, 1)):
        recorded = Recorded()
        again = recorded.again()
        again.values["joints/torque"][2, 0] += sign * share * allowed
        out = compared(recorded, again, bar)
        assert out.bit_equal is False and out.notes == ["a rerun differs from the recording in joints/torque"]
        assert (
            out.problems
            == [
                f"torque of 'a' at t = 1 s: a rerun differs from the recording by {share * allowed:.2g} N m, far more "
                "than the error bar explains"
            ][:told]
        )


def test_what_differs_without_error_bars_is_only_noted():
    recorded = Recorded()
    again = recorded.again()
    again.values["joints/torque"][2, 0] += 5.0
    again.values["trust/rank"][0] = 9
    out = compared(recorded, again)
    assert out.problems == [] and out.notes == ["a rerun differs from the recording in joints/torque, trust/rank"]


@pytest.mark.parametrize(("name", "row", "told"), [
    ("trust/rank", 0, True), ("trust/rank", 1, True), ("trust/rank", 2, False), ("trust/determinate", 1, True),
    ("trust/determinate", 2, False), ("trust/determinate", 3, True),
])  # fmt: skip
def test_ranks_and_marks_of_a_rerun_are_compared_away_from_singular_positions(name, row, told):
    recorded = Recorded()
    again = recorded.again()
    again.values[name][row] = 7
    assert (
        compared(recorded, again, 1.0).problems == [f"{name} differs in a rerun, first at t = {TIME[row]:g} s"] * told
    )


def test_a_joint_that_is_there_at_other_times_is_named():
    recorded = Recorded()
    again = recorded.again()
    again.values["joints/force"][2] = np.nan
    assert compared(recorded, again, 1.0).problems == [
        "joint 'a' is connected at other times in a rerun than in the recording"
    ]


@pytest.mark.parametrize(("moved", "told"), [(1, "3 of the 4"), (0, "")])
def test_instants_that_are_not_shared_are_counted(moved, told):
    recorded = Recorded()
    again = recorded.again()
    again.values["time"][1] += 0.1 * moved
    again.values["joints/torque"][2, 0] += 1e-3
    out = compared(recorded, again, 1.0)
    assert out.problems == ([f"a rerun shares only {told} recorded instants"] if told else [])
    # What stands at the same instants is compared, wherever it stands.
    again.values["joints/torque"][3, 0] += 50.0
    (*same, last) = compared(recorded, again, 1.0).problems
    assert same == out.problems
    assert last.startswith("torque of 'a' at t = 1.5 s: a rerun differs from the recording by 50 N m, far more than ")


# --- error bars and growth ----------------------------------------------------------------------------


def run_of(times: np.ndarray, **off: np.ndarray) -> Rerun:
    """A run of one body and joint, of which some numbers are off: row by row, in their first component."""
    n = len(times)
    values = {name: np.zeros((n, *shape)) for name, shape in SHAPES.items()} | {"time": times}
    values["quat_wxyz"][..., 0] = 1.0
    for name, by in off.items():
        values[name].reshape(n, -1)[:, 0] += by
    return Rerun(values=values)


@pytest.mark.parametrize("lost", [False, True])
def test_error_bars_and_growth_come_from_three_reruns(lost):
    """The tighter run has instants of its own; differences are compared at those of all."""
    size = 2e-3 if lost else 2e-6
    times = np.linspace(0.0, 4.0, 41)
    same = run_of(times, position=size * times, velocity=3.0 * times)
    tighter = run_of(np.append(times, 9.0))
    apart = run_of(times[::2], position=1e-8 * np.exp(2.0 * times[::2]), velocity=0.5e-8 * np.exp(2.0 * times[::2]))
    recorded, out = Recorded(), verdict()
    whole = Made(recording=recorded, names=["a"], model=Made(length=0.5))
    repeats.compare_tolerances(whole, out, same, tighter, apart)
    assert out.growth is not None and out.growth.law == "exponential" and out.growth.exponent == pytest.approx(2.0)
    assert (
        out.growth.factor == pytest.approx(np.exp(2.0 * times[::2])) and out.growth.time.tolist() == times[::2].tolist()
    )
    # Of the pose 1.25*size*t/0.5 is lost at 1e-3.
    error = 1.25 * size * times[::2] / 0.5
    expected = times[::2][error > 1e-3][0] if lost else 4.0 + np.log(1e-3 / error[-1]) / 2.0
    assert out.growth.lost == pytest.approx(expected)
    until = times[times <= expected][-1]
    assert out.bar("position", "body") == pytest.approx(1.25 * size * until)
    assert out.bar("velocity") == pytest.approx(1.25 * 3.0 * until) and out.bar_time.tolist() == times.tolist()
    assert [bar.name for bar in out.bars] == [one.name for one in repeats.outputs(["body"], ["a"], recorded.columns)]
    note = (
        f"after t = {expected:.4g} s the trajectory is not reproducible at this tolerance: error bars are those up to "
        "then"
    )
    assert out.notes == ([note] if lost else [])


@pytest.mark.parametrize("apart", [Rerun(), run_of(np.linspace(0.0, 4.0, 41))])
def test_without_a_start_apart_there_is_no_growth(apart):
    times = np.linspace(0.0, 4.0, 41)
    out = verdict()
    whole = Made(recording=Recorded(), names=["a"], model=Made(length=0.5))
    repeats.compare_tolerances(whole, out, run_of(times, position=times), run_of(times), apart)
    assert out.growth is None and out.notes == [] and out.bar("position") == pytest.approx(5.0)


# --- the verdict -------------------------------------------------------------------------------------


def test_a_verdict_is_plain_data():
    out = verdict()
    assert out.bar_time.shape == (0,) and out.ok and out.as_data() == {
        "ok": True, "scene": "scene", "recording": "a.h5", "program": "brachiate 1", "rows": 4, "simulated_time": 1.5,
        "problems": [], "notes": [], "repeats_to_the_bit": None, "tolerances": [pytest.approx(NAN, nan_ok=True)] * 2,
        "fixed_steps": "", "contact_steps": None, "contacts": None, "comparable_until": np.inf,
        "error_bars": [], "reproducible": None, "events": [], "missed": [], "looks": 0, "ledger": [],
        "residuals": {}, "smallest_singular_value": None, "rank": None, "ranks": [], "energy_balance": 0.0,
        "peak_kinetic_energy": 0.0, "forces": {}, "determinate_components": {}, "oracle": [],
    }  # fmt: skip
    bar = ErrorBar("torque", "N", 1.0, 2.0, 3.0, "a", 0.5, {"a": 1.0, "b": 0.25}, np.zeros(2))
    other = ErrorBar("torque", "N m", 4.0, 5.0, 6.0, "c", 0.75, {"c": 4.0}, np.zeros(2))
    out.bars, out.growth = [bar, other], Growth(TIME, 1 + TIME, "power", 1.5, 7.0, 8.0)
    out.problems, out.forces, out.singular = ["wrong"], {"a": 0.0, "b": 0.25}, Peak(0.5, 1.0)
    out.ledger, out.moments, out.missed = [ENTRY], [Moment("e", 1.0, 1.5)], [Missed("stop", "s", 1.0, 2.0)]
    out.instants, out.residuals, out.components = [instant()], {"position": Peak(1.0, 2.0)}, {"b": "none"}
    data = out.as_data()
    assert data["ok"] is False and data["smallest_singular_value"] == {"value": 0.5, "time": 1.0}
    assert data["error_bars"] == [
        {
            "name": "torque",
            "unit": "N",
            "bar": 1.0,
            "at_end": 2.0,
            "largest": 3.0,
            "where": "a",
            "time": 0.5,
            "by_name": {"a": 1.0, "b": 0.25},
        },
        {
            "name": "torque",
            "unit": "N m",
            "bar": 4.0,
            "at_end": 5.0,
            "largest": 6.0,
            "where": "c",
            "time": 0.75,
            "by_name": {"c": 4.0},
        },
    ]
    assert data["reproducible"] == {
        "lost": 7.0,
        "lost_by_roundoff": 8.0,
        "growth": 2.5,
        "law": "power",
        "exponent": 1.5,
    }
    assert data["forces"] == {
        "a": {"determinate": True, "chosen_share": 0.0},
        "b": {"determinate": False, "chosen_share": 0.25},
    }
    assert data["ledger"][0]["closed"] is True and data["ledger"][0]["names"] == ("hit", "catch")
    assert data["events"] == [{"name": "e", "time": 1.0, "tighter": 1.5}] and data["missed"] == [asdict(out.missed[0])]
    assert data["residuals"] == {"position": {"value": 1.0, "time": 2.0}} and data["oracle"][0]["row"] == 3
    assert data["determinate_components"] == {"b": "none"} and out.chosen == ["b"]
    assert (out.bar("torque"), out.bar("torque", "b"), out.bar("torque", "c")) == (1.0, 0.25, 4.0)
    for name, of, said in (
        ("force", None, "no error bar of 'force'"),
        ("torque", "d", "no error bar of 'torque' for 'd'"),
    ):
        with pytest.raises(KeyError) as caught:
            out.bar(name, of)
        assert caught.value.args == (said,)


# --- small parts ---------------------------------------------------------------------------------------


def test_the_numbers_of_verifying_are_these():
    assert (verifier.INSTANTS, verifier.TIGHTER, verifier.TIGHTEST, verifier.LEAST_PUSH) == (20, 100.0, 1e-13, 1e-7)
    assert (repeats.BARS, repeats.REPEATED, repeats.NEAR_SINGULAR) == (10.0, 1e-9, 1e-3)
    assert (looks.DEEP, looks.LEAST, looks.MOST, looks.STEEPER) == (1e-6, 5, 200, 2.0)


@pytest.mark.parametrize(("k", "largest"), [(0, 2.0), (1, 2.0), (3, -1.0), (4, 5.0), (5, 3.0)])
def test_a_stretch_ends_where_values_are_negative(k, largest):
    values = np.array([1.0, 2.0, 0.0, -1.0, 5.0, 3.0])
    if values[k] < 0.0:
        with pytest.raises(ValueError):
            looks.stretch(values, k)
    else:
        assert looks.stretch(values, k) == largest


def test_states_inside_a_step_are_those_of_scipys_dense_output():
    """The polynomial is that of Dormand and Prince's 8th order: of scipy's, with its own coefficients."""
    from scipy.integrate._ivp.rk import Dop853DenseOutput

    rng = np.random.default_rng(8)
    F, y = rng.normal(size=(7, 3)), rng.normal(size=3)
    theirs = Dop853DenseOutput(2.0, 2.5, y, F)
    for theta in (0.0, 0.2, 0.7, 1.0):
        assert looks.inside(y, F, theta) == pytest.approx(theirs(2.0 + 0.5 * theta), abs=1e-13)
    found = looks.inside(y, F, np.array([[0.2], [0.7]]))
    assert found == pytest.approx(np.array([looks.inside(y, F, 0.2), looks.inside(y, F, 0.7)]), abs=1e-15)


def test_controllers_files_that_are_others_now_are_told():
    now = {"a.py": "0123456789abcdef", "b.py": "f" * 64, "c.py": "same"}
    assert restoring._beside({}, now) == [
        f"the recording does not tell with which text of {name} it ran; the file of today ran" for name in now
    ]
    then = {"a.py": "fedcba9876543210", "c.py": "same", "d.py": "gone"}
    assert restoring._beside({"controllers": then}, now) == [
        "a.py is not the file that ran when this was recorded (SHA-256 0123456789ab... now, fedcba987654... then); "
        "the file of today ran",
        "b.py is not the file that ran when this was recorded (SHA-256 ffffffffffff... now, none... then); "
        "the file of today ran",
    ]
