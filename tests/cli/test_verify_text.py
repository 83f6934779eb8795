"""`sim verify`: every word of its tables, and every curve of its plot, of verdicts made by hand."""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sim.analysis.verification.comparing import ErrorBar, Growth
from sim.analysis.verification.instants import Instant
from sim.analysis.verification.ledger import Entry
from sim.analysis.verification.missed import Missed
from sim.analysis.verification.verdict import Moment, Peak, Verdict
from sim.cli import verifying

pytestmark = pytest.mark.fast
TIME = np.array([0.0, 0.5, 1.0, 2.0])


def test_reruns_can_be_interrupted_and_tell_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stage shows a bar of its own, if any is shown, after the last one is closed."""
    seen: list[tuple] = []

    @contextmanager
    def shown(quiet: bool, name: str, *more: str):
        seen.append(("open", quiet, name))
        yield None if name == "plain" else lambda *numbers: seen.append(numbers)
        seen.append(("close", name))

    monkeypatch.setattr(verifying, "waiting", shown)
    monkeypatch.setattr(verifying, "run_progress", shown)
    with ExitStack() as stack:
        stage = verifying._stages(lambda: seen.append(("pause",)), stack, True)
        stage("plain")(0.5, 2.0, 3)
        stage("tighter")(0.75, 2.0, 4)
    assert seen == [
        ("open", True, "reading"), ("close", "reading"), ("open", True, "plain"), ("pause",), ("close", "plain"),
        ("open", True, "tighter"), ("pause",), (0.75, 2.0, 4), ("close", "tighter"),
    ]  # fmt: skip


def bar(name: str, unit: str, size: float, largest: float, where: str, over_time: tuple[float, ...]) -> ErrorBar:
    return ErrorBar(name, unit, size, 2 * size, largest, where, 1.25, {where: size}, np.array(over_time))


def entry(names: tuple[str, ...], **changes) -> Entry:
    values = {
        "time": 0.5, "names": names, "momentum": np.array([3.0, -4.0, 12.0]), "angular_momentum": np.array([2, 3, 6.0]),
        "outside": np.zeros(3), "outside_angular": np.zeros(3), "left": 2e-16, "left_angular": 3e-15, "along": 4e-17,
        "kinetic": -1.25, "potential": 0.5, "lost": 0.625, "given": 0.0, "left_energy": 5e-14, "moved": 0.0,
        "set": False,
    }  # fmt: skip
    return Entry(**{**values, **changes})


def instant(acceleration: float, constraint: float, force: float, drive: float) -> Instant:
    return Instant(7, 0.25, acceleration, constraint, force, drive, np.nan, 3, 3, (), 0.5)


def verdict(**changes) -> Verdict:
    whole = {
        "bit_equal": True, "tolerances": (1e-8, 1e-10),
        "bars": [
            bar("position", "m", 1.5e-7, 3.25, "arm", (0.0, 1e-8, 1.5e-7)),
            bar("rotation", "rad", 2.5e-7, 1.5, "hand", (0.0, 2e-8, 2.5e-7)),
            bar("velocity", "m/s", 0.0, 7.0, "arm", (0.0, 0.0, 0.0)),
            bar("angular velocity", "rad/s", 3.5e-6, 0.0, "leg", (1e-9, 3e-8, 3.5e-6)),
            bar("force of slack", "N", 0.0, 0.0, "leg", (0.0, 0.0, 0.0)),
            bar("energy balance", "J", 4.5e-9, 0.125, "balance", (0.0, 1e-9, 4.5e-9)),
        ],
        "bar_time": np.array([0.0, 1.0, 2.0]),
        "growth": Growth(np.array([0.0, 2.0]), np.array([1.0, 33.0]), "exponential", 1.75, 1.5, 150.0),
        "moments": [Moment("lets go", 0.5, 0.5 + 2.5e-7), Moment("lands", 1.5, np.nan)],
        "missed": [], "looks": 42,
        "ledger": [
            entry(("lets go", "lands")),
            entry(("set",), set=True, momentum=np.zeros(3), given=1e-13, lost=-2.5),
        ],
        "residuals": {"position": Peak(1.5e-13, 0.75), "velocity": Peak(2.5e-12, 1.0), "rates": Peak(3.5e-15, 0.5)},
        "singular": Peak(0.25, 0.125), "rank": (5, 6),
        "ranks": [{"from": 0.0, "to": 0.5, "rows": 6, "rank": 5}, {"from": 1.0, "to": 2.0, "rows": 6, "rank": 6}],
        "balance": 2.5e-9, "peak": 12.5,
        "forces": {"hip": 0.0, "knee": 1.0, "grip": 0.25, "toe": 0.0},
        "components": {"knee": "x, rz", "grip": "x, rz", "toe": ""},
        "instants": [instant(1e-13, 6e-14, 2e-12, 3e-15), instant(4e-14, 7e-13, 5e-12, 1e-15)],
        "notes": ["one thing", "another thing"],
    }  # fmt: skip
    head = {"scene": "mime", "recording": "mime.h5", "program": "brachiate 0.9", "rows": 4, "span": 2.0}
    return Verdict(**{**head, **whole, **changes})


WHOLE = """\
mime: 2 s in 4 rows, mime.h5 by brachiate 0.9

  rerun                 equal to the bit
  conditions, contacts  none is missed; 42 looks within the steps
  reproducible          until 1.5 s at this tolerance
                        to the end, and until about 1.5e+02 s at any tolerance, by roundoff
  growth                a change at the start grows 33 times, about as exp(1.75 t/s)
  energy balance        2.5e-09 J, 2e-10 of the peak kinetic energy
  residual of position  1.5e-13 (m, rad) at 0.75 s, all joints
  residual of velocity  2.5e-12 (m/s, rad/s) at 1 s, all joints
  rates against bodies  3.5e-15 (m/s, rad/s) at 0.5 s, all joints
  singular value        smallest 0.25 at 0.125 s
  constraints           6 rows, rank 5 until 1 s; then rank 6
  oracle                2 instants; largest differences, relative:
                        accelerations 1e-13, constraints 7e-13
                        Newton and Euler of every body 5e-12, forces along freedoms 3e-15

error bars, from a rerun at rtol 1e-10 instead of 1e-08
output            unit   error bar  largest value  of    at
position          m      1.5e-07    3.25           arm   1.25 s
rotation          rad    2.5e-07    1.5            hand  1.25 s
velocity          m/s    0.0e+00    7              arm   1.25 s
angular velocity  rad/s  3.5e-06    0              leg   1.25 s
energy balance    J      4.5e-09    0.125                1.25 s

events
event    time        error bar
lets go  0.500000 s  2.5e-07 s
lands    1.500000 s  not in the rerun

ledger of events: changes, and what is left over of what takes part
event           momentum  left   ang. mom.  left   energy  lost   given  left
lets go, lands  13        2e-16  7          3e-15  -0.75   0.625  0      5e-14
set             0         set    7          set    -0.75   -2.5   0      5e-14

forces of joints
  2 determinate         hip, toe
  1 chosen among many   knee
  1 chosen at times     grip (25%)
  determinate of knee, grip x, rz

note: one thing

note: another thing

all of it holds
"""
OTHER = """\
mime: 2 s in 4 rows, mime.h5 by brachiate 0.9

  rerun                 not equal to the bit
  conditions, contacts  2 crossings missed; 1 looks within the steps
  reproducible          until 2 s at this tolerance
                        to the end and long after it at any tolerance, by roundoff
  growth                a change at the start grows 2.5 times, about as t^1.2
  energy balance        2.5e-09 J

error bars, from a rerun by dop853 at rtol 1e-10 instead of rk4 of 1 ms
output    unit  error bar  largest value  of   at
position  m     1.5e-07    3.25           arm  1.25 s

forces of joints

1 thing in it does not hold
"""


def told(capsys, found: Verdict) -> str:
    verifying.print_verdict(found)
    out = capsys.readouterr().out
    return "".join(line.rstrip() + "\n" for line in out.splitlines())


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")


def test_all_that_can_be_told_is_told(capsys):
    assert told(capsys, verdict()) == WHOLE


def test_what_is_otherwise_is_told_otherwise(capsys):
    crossing = Missed("contact", "a and b", 0.25, 0.001)
    found = verdict(
        bit_equal=False, missed=[crossing, crossing], looks=1, fixed="rk4 of 1 ms", bars=verdict().bars[:1],
        growth=Growth(np.array([0.0, 2.0]), np.array([1.0, 2.5]), "power", 1.2, 2.0, 200.5), moments=[], ledger=[],
        residuals={}, singular=None, peak=0.0, forces={}, components={}, instants=[], notes=[],
        problems=["it is wrong"],
    )  # fmt: skip
    assert told(capsys, found) == OTHER


def test_of_a_quick_look_only_what_it_saw_is_told(capsys):
    found = verdict(
        bit_equal=None, looks=0, bars=[], growth=None, moments=[], ledger=[], residuals={}, rank=None, balance=-3e-5,
        peak=1e-5, forces={"hip": 0.0}, components={}, instants=verdict().instants[:1], notes=[], problems=["a", "b"],
    )  # fmt: skip
    assert told(capsys, found).splitlines()[1:] == [
        "", "  energy balance        -3e-05 J, -3 of the peak kinetic energy",
        "  oracle                1 instant; largest differences, relative:",
        "                        accelerations 1e-13, constraints 6e-14",
        "                        Newton and Euler of every body 2e-12, forces along freedoms 3e-15", "",
        "forces of joints", "  1 determinate         hip", "", "2 things in it does not hold",
    ]  # fmt: skip


def test_a_long_row_goes_on_below_itself(capsys):
    names = {f"joint_{k:02d}" if k != 6 else "link_6_": 0.0 for k in range(12)}  # the first row has all 92 letters
    found = verdict(forces=names, components={}, notes=[])
    lines = told(capsys, found).splitlines()
    at = lines.index("forces of joints")
    assert lines[at + 1 : at + 3] == [
        "  12 determinate        joint_00, joint_01, joint_02, joint_03, joint_04, joint_05, link_6_,",
        "                        joint_07, joint_08, joint_09, joint_10, joint_11",
    ]


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (9e-13, "0"), (-9e-13, "0"), (1e-12, "1e-12"), (-2.5, "-2.5")])
def test_what_is_roundoff_is_told_as_zero(value, text):
    assert verifying._number(value) == text


def test_until_when_a_motion_can_be_reproduced():
    ends = [(1.99, "until 1.99 s so"), (2.0, "until 2 s so"), (2.01, "to the end, and until about 2 s so")]
    ends += [(200.0, "to the end, and until about 2e+02 s so"), (201.0, "to the end and long after it so")]
    assert [verifying._lost(when, verdict(), "so") for when, _ in ends] == [text for _, text in ends]


CURVES = {
    "residual of position": np.array([0.0, 1e-13, 2e-13, 3e-13]),
    "residual of velocity": np.array([4e-13, 0.0, 5e-13, 0.0]),
    "energy balance": np.array([0.0, -1e-9, 2e-9, 1e-9]), "smallest singular value": np.array([0.5, 0.25, 0.5, 0.75]),
    "rank": np.array([5.0, 5, 6, 6]), "chosen forces": np.array([2.0, 2, 1, 0]),
}  # fmt: skip


def drawn(monkeypatch, found: Verdict):
    """Return the arguments of the plot of a verdict."""
    from render import plots

    calls = []
    monkeypatch.setattr(plots, "draw", lambda *given: calls.append(given))
    event = SimpleNamespace(time=0.5, name="lets go", kind="key", caption="off", row_before=1, row_after=2)
    verifying._plot(SimpleNamespace(time=list(TIME), events=[event]), found, Path("t.svg"), (640, 480))
    (given,) = calls
    return given


def test_the_plot_holds_error_bars_growth_residuals_balance_and_ranks(monkeypatch):
    time, groups, events, out, title, size = drawn(monkeypatch, verdict(curves=CURVES))
    assert (out, title, size) == (Path("t.svg"), "mime: how far its numbers can be trusted", (640, 480))
    assert time.tolist() == TIME.tolist()
    assert [(e.time, e.name, e.kind, e.caption) for e in events] == [(0.5, "lets go", "key", "off")]
    nan = np.nan
    expected = [
        [
            ("error bar of position", "SI", True, [nan, 0.5e-8, 1e-8, 1.5e-7]),
            ("error bar of rotation", "SI", True, [nan, 1e-8, 2e-8, 2.5e-7]),
            ("error bar of velocity", "SI", True, [nan] * 4),
            ("error bar of angular velocity", "SI", True, [1e-9, 1.55e-8, 3e-8, 3.5e-6]),
        ],
        [("growth of a change at the start", "1", True, [1.0, 9.0, 17.0, 33.0])],
        [
            ("residual of position", "SI", True, [nan, 1e-13, 2e-13, 3e-13]),
            ("residual of velocity", "SI", True, [4e-13, nan, 5e-13, nan]),
        ],
        [("energy balance", "J", False, CURVES["energy balance"])],
        [("smallest singular value", "1", True, [0.5, 0.25, 0.5, 0.75])],
        [("rank of the loops", "1", False, [5, 5, 6, 6]), ("chosen forces", "1", False, [2, 2, 1, 0])],
    ]
    assert [[(s.text, s.unit, s.logarithmic) for s in group] for group in groups] == [
        [signal[:3] for signal in group] for group in expected
    ]
    for group, wanted in zip(groups, expected, strict=True):
        for signal, (*_, values) in zip(group, wanted, strict=True):
            np.testing.assert_allclose(signal.values, values, rtol=1e-14)


def test_the_plot_of_a_quick_look_holds_what_it_saw(monkeypatch):
    few = {name: CURVES[name] for name in list(CURVES)[:3]}
    _, groups, *_ = drawn(monkeypatch, dataclasses.replace(verdict(), bars=[], growth=None, curves=few))
    assert [signal.text for group in groups for signal in group] == list(few)
    assert [len(group) for group in groups] == [2, 1]


def test_long_texts_are_broken_at_92_columns(capsys: pytest.CaptureFixture[str]) -> None:
    verifying._print_pairs([("forces", "x " * 100), ("a very long name indeed", "short")])
    lines = capsys.readouterr().out.splitlines()
    assert [line[:24] for line in lines[:2]] == ["  forces                ", " " * 24]
    assert max(map(len, lines)) == 91 and lines[0] == "  forces                " + " ".join("x" * 34)
    verifying._print_pairs([("forces", "y" + " x" * 100)])
    verifying._print_pairs([("forces", "yy" + " x" * 100)])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) == 92
