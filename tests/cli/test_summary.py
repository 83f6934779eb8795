"""`sim run`: every word of its summary, what it says on the way, and the progress that it shows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from sim.cli import progress, running
from sim.cli.main import main
from sim.cli.outcome import Refusal
from sim.kernels import jit

pytestmark = pytest.mark.fast
EVENTS = [
    {"time": 0.25, "name": "lets go", "kind": "scene", "text": ""},
    {"time": 0.5, "name": "a and b", "kind": "impact", "text": ""},
    {"time": 0.75, "name": "jump", "kind": "key", "text": "by hand"},
    {"time": 1.0, "name": "late", "kind": "disarmed", "text": "cannot"},
    {"time": 1.25, "name": "note", "kind": "annotation", "text": "comes to rest"},
    {"time": 1.5, "name": "bare", "kind": "annotation", "text": ""},
    {"time": 1.75, "name": "a and b", "kind": "mode", "text": ""},
]
SUMMARY = {
    "scene": "mime", "simulated_time": 2.5, "wall_time": 0.125, "real_time_factor": 20.0,
    "steps": 90, "evaluations": 1080,
    "methods": ["dop853 from 0 to 1 s", "radau from 1 to 2.5 s"], "largest_residual": 2.5e-13,
    "trust": {
        "velocity_residual": 3.5e-12, "ranks": [{"from": 0.0, "to": 2.5, "rows": 6, "rank": 5}],
        "smallest_singular_value": 0.25, "smallest_singular_value_at": 1.5, "chosen": ["a", "b", "c", "d"],
        "determinate": 7, "sure_of_chosen": {"a": "x, rz", "b": "none", "c": "", "d": "x, rz", "e": "y"},
    },
    "energy_balance": -2.5e-9, "peak_kinetic_energy": 12.5, "taken_by_contacts": 0.03, "lost_by_steps": 0.02,
    "events": EVENTS, "told": [{"time": 0.125, "name": "pump", "text": "begins"}, 
             {"time": 2.0, "name": "pd", "text": "holds"}],
    "recording": "mime.h5", "film": "mime.mp4",
}  # fmt: skip
WHOLE = """\
mime: 2.5 s simulated in 0.12 s (20 times real time)
  steps             90, 1080 evaluations
  method            dop853 from 0 to 1 s
                    radau from 1 to 2.5 s
  largest residual  2.5e-13 (m, rad), of velocity 3.5e-12 (m/s, rad/s)
  constraints       6 rows, rank 5
  singular value    smallest 0.25 at 1.5 s
  forces of joints  7 determinate, 4 chosen among many: a, b, c, d
                    determinate of a, d: x, rz
                    determinate of e: y
  energy balance    -2.5e-09 J, -2e-10 of the peak kinetic energy
  contacts took     0.03 J without colliding or sliding, by the error of steps
  events            0.2500 s  lets go
                    0.7500 s  jump
                    1.0000 s  late (disarmed)
                    1.2500 s  comes to rest
                    1.5000 s  bare (annotation)
                    1 impact
                    1 change of mode
  told              0.1250 s  pump: begins
                    2.0000 s  pd: holds
  recording         mime.h5
  film              mime.mp4"""


def test_a_summary_is_told_whole():
    assert running.describe(SUMMARY) == WHOLE


def test_a_summary_leaves_out_what_is_not_known():
    bare = {"scene": "mime", "simulated_time": 0.0, "steps": 0, "evaluations": 1, "recording": "m.h5", "film": None}
    head = ["mime: 0 s simulated", "  steps             0, 1 evaluations"]
    assert running.describe(bare).splitlines() == [*head, "  recording         m.h5"]
    more = {"wall_time": 0.0, "largest_residual": 0.0, "trust": {"determinate": 3, "chosen": []}, "energy_balance": 0.5}
    assert running.describe({**bare, **more}).splitlines() == [
        *head, "  largest residual  0 (m, rad)", "  forces of joints  all 3 determinate", "  energy balance    0.5 J",
        "  recording         m.h5",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("balance", "peak", "share"),
    [
        (0.5, 0.5, ""), (0.5, 0.501, ", 1 of the peak kinetic energy"), (-0.5, 0.5, ""),
        (-0.5, 0.625, ", -0.8 of the peak kinetic energy"), (0.5, None, ""), (0.0, 0.0, ""),
    ],
)  # fmt: skip
def test_a_balance_is_a_share_of_what_moves(balance, peak, share):
    summary = {"simulated_time": 1.0, "energy_balance": balance, "peak_kinetic_energy": peak, "recording": "m.h5"}
    lines = running.describe(summary).splitlines()
    assert lines[0] == ": 1 s simulated" and lines[2] == f"  energy balance    {balance:.2g} J{share}"


@pytest.mark.parametrize(
    ("taken", "lost", "peak", "warns"),
    [
        (0.02, 0.02, 2.0, True), (0.019, 0.02, 2.0, False), (0.02, 0.019, 2.0, False), (-0.02, -0.05, 2.0, True),
        (-0.019, 0.05, 2.0, False), (0.5, 0.5, None, False), (0.5, 0.5, 0.0, False), (0.5, -0.05, 2.0, True),
    ],
)  # fmt: skip
def test_contacts_that_take_a_hundredth_of_the_energy_are_warned_of(taken, lost, peak, warns):
    text = f"{taken:.2g} J without colliding or sliding, by the error of steps"
    if warns:
        share = f"{lost:.2g} J in all, {lost / peak:.2g} of the peak kinetic energy"
        text += f": warning, they lose {share}; shorter ones (dt) lose less"
    assert running._taken(taken, lost, peak) == text


def test_at_most_four_joints_are_named():
    names = list("abcde")
    trust = {"chosen": names, "determinate": 0, "sure_of_chosen": dict.fromkeys(names, "x")}
    assert running.trust_lines(trust) == [
        ("forces of joints", "0 determinate, 5 chosen among many: a, b, c, d, ..."),
        ("", "determinate of a, b, c, d, ...: x"),
    ]
    assert running.by_components(trust, most=5) == [("x", "a, b, c, d, e")]
    assert running.trust_lines({"determinate": 0}) == []


# --- the command ------------------------------------------------------------------------------------


@pytest.mark.parametrize("quiet", [False, True])
@pytest.mark.parametrize(
    ("cold", "contacts", "steps", "wish", "said"),
    [
        (True, False, False, {}, ["compiling the kernels, once: about a minute"]),
        (False, True, True, {}, []),
        (False, False, True, {"contacts": True, "steps": True},
         ["compiling the kernels of time steps with contacts, once: about a minute"]),
        (False, True, False, {"contacts": True},
         ["compiling the kernels of contacts, once: about three quarters of a minute"]),
        (False, False, False, {"contacts": True, "steps": True}, []),
    ],
)  # fmt: skip
def test_what_has_to_be_compiled_is_said(monkeypatch, capsys, cold, contacts, steps, wish, said, quiet):
    for name, value in (("is_cold", cold), ("lacks_contacts", contacts), ("lacks_steps", steps)):
        monkeypatch.setattr(jit, name, lambda value=value: value)
    assert running.announce_compiling(quiet, **wish) == bool(said)
    assert capsys.readouterr() == ("", "" if quiet else "".join(line + "\n" for line in said))


@pytest.mark.parametrize(
    ("contact", "contacts", "asked"),
    [("event", (1,), (True, False)), ("step", (1,), (True, True)), ("step", (), (False, False))],
)
def test_kernels_of_contacts_are_announced_where_the_scene_has_some(
    engine, monkeypatch, capsys, contact, contacts, asked
):
    calls = []

    def announce(quiet, **wish):
        calls.append((quiet, wish["contacts"], wish["steps"]))
        return True

    load = engine.load

    def changed(*given, **named):
        scene = load(*given, **named)
        scene.contacts, scene.simulate.contact = contacts, contact
        return scene

    monkeypatch.setattr(engine, "load", changed)
    monkeypatch.setattr(running, "announce_compiling", announce)
    assert main(["run", "swing", "--overwrite"]) == main(["run", "swing", "--json", "--overwrite"]) == 0
    assert main(["run", "swing", "--quiet", "--overwrite"]) == 0
    assert calls == [(False, *asked), (True, *asked), (True, *asked)]


def test_names_of_recordings_are_those_of_scenes_without_blanks(engine, monkeypatch):
    load = engine.load
    monkeypatch.setattr(engine, "load", lambda *a, **k: SimpleNamespace(**{**vars(load(*a, **k)), "name": "a b/ü-c.1"}))
    assert main(["run", "swing", "--quiet"]) == 0
    assert [path.name for path in Path().iterdir()] == ["a_b_ü-c.1.h5"]


def test_warnings_are_told_but_not_to_programs(engine, capsys):
    engine.warnings = ["first", "second"]
    for options, said in ((["-q"], ""), (["--json"], ""), ([], "first\nsecond\n")):
        assert main(["run", "swing", "--overwrite", *options]) == 0
        assert capsys.readouterr().err == said
    assert callable(engine.asked["tell"])


def test_without_options_the_scene_decides(engine):
    assert main(["run", "swing", "--quiet"]) == 0
    assert engine.loaded == {"path": "swing", "set": {}, "trust": False}
    assert engine.asked == {
        "output": Path("swing.h5"), "duration": None, "seed": None, "rtol": None, "triggers": [], "start": None,
        "overwrite": False, "large": False, "tell": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("small", "--rtol: 'small' is not a number, as 1e-10 is"),
        ("0", None), ("-1", None), ("nan", None),
    ],
)  # fmt: skip
def test_a_tolerance_is_a_number_above_zero(text, sentence):
    with pytest.raises(Refusal, match=r"^--rtol") as caught:
        running._tolerance(text, SimpleNamespace(simulate=SimpleNamespace(method="dop853")))
    assert sentence in (None, str(caught.value))


@pytest.mark.parametrize(
    ("triggers", "duration", "sentence"),
    [
        ([("jump", 6.0)], None, None), 
        ([("jump", 6.01)], None, "--trigger: 'jump' at 6.01 s comes after the end at 6 s"),
        ([("jump", 2.0)], 2.0, None), ([("jump", 2.5)], 2.0, "--trigger: 'jump' at 2.5 s comes after the end at 2 s"),
        ([("jump", 0.5)], 0.0, "--trigger: 'jump' at 0.5 s comes after the end at 0 s"),
        ([("jump", 1.0), ("fly", 1.0)], None,
         "--trigger: no event of mime waits for the key 'fly'; its keys: 'let go', 'jump'"),
    ],
)  # fmt: skip
def test_keys_and_times_have_to_be_there(triggers, duration, sentence):
    events = [SimpleNamespace(key=key) for key in ("let go", None, "jump")]
    scene = SimpleNamespace(name="mime", events=events, simulate=SimpleNamespace(duration=6.0))
    if sentence is None:
        running._check_triggers(triggers, scene, duration)
        return
    with pytest.raises(Refusal) as caught:
        running._check_triggers(triggers, scene, duration)
    assert str(caught.value) == sentence
    with pytest.raises(Refusal, match="waits for the key 'x'; its keys: none"):
        running._check_triggers([("x", 0.0)], SimpleNamespace(**{**vars(scene), "events": []}), None)


def test_a_film_that_is_unforeseen_is_reported(engine, capsys, monkeypatch):
    from render import film

    def fall(*given, **named):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(film, "render_recording", fall)
    monkeypatch.setattr(running, "write_report", lambda error: "report.txt")
    assert main(["run", "swing", "--video", "a.gif", "--json"]) == 4
    out, err = capsys.readouterr()
    assert '"film": null' in out and err.splitlines() == [
        "no film: by zero (a report for the developers is in report.txt)",
        "the recording is kept in swing.h5; to film it: sim render swing.h5 -o a.gif",
    ]
    monkeypatch.setattr(film, "render_recording", lambda *given, **named: None)
    assert main(["run", "swing", "--video", "a.gif", "--json", "--overwrite"]) == 0
    assert '"film": "a.gif"' in capsys.readouterr().out


def test_a_film_that_is_interrupted_leaves_the_recording(engine, capsys, monkeypatch):
    from render import film

    def stop(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(film, "render_recording", stop)
    assert main(["run", "swing", "--video", "a.gif"]) == 130
    assert capsys.readouterr().err == "no film; the recording is kept in swing.h5\ninterrupted\n"


# --- progress ---------------------------------------------------------------------------------------


class Bar:
    """Stands in for the bar of rich; notes what happens to it."""

    made: ClassVar[list[Bar]] = []

    def __init__(self, *columns, console, transient):
        self.columns, self.transient, self.stderr, self.happened = columns, transient, console.stderr, []
        Bar.made.append(self)

    def add_task(self, what, *, total, words):
        self.happened.append(("task", what, total, words))
        return 7

    def update(self, task, *, completed, total, description, words):
        self.happened.append((task, completed, total, description, words))

    def start(self):
        self.happened.append("start")

    def stop(self):
        self.happened.append("stop")
        raise OSError  # the terminal is gone


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr("rich.progress.Progress", Bar)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    clock = iter([10.0, 10.0, 10.5, 12.0, 14.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    Bar.made = []
    return Bar


def test_a_run_shows_how_far_it_is(terminal):
    with progress.run_progress(False) as show:
        show(0.0, 6.0, 0)
        show(1.5, 6.0, 1)
        show(3.0, 6.0, ["let go", SimpleNamespace(name="[red]\n")])
        show(0.0, 0.0, [""])
    (bar,) = terminal.made
    assert bar.stderr and bar.transient and len(bar.columns) == 4
    assert bar.happened == [
        ("task", "assembling", None, ""), "start",
        (7, 0.0, 6.0, "simulating", "0.00 of 6 s, 0.0 x real time"),
        (7, 1.5, 6.0, "simulating", "1.50 of 6 s, 3.0 x real time, 1 event"),
        (7, 3.0, 6.0, "simulating", "3.00 of 6 s, 1.5 x real time, 2 events ([red]\\n)"),
        (7, 0.0, 1.0, "simulating", "0.00 of 0 s, 0.0 x real time, 1 event"), "stop",
    ]  # fmt: skip


def test_films_and_what_waits_show_themselves(terminal):
    with progress.film_progress(False) as show:
        show(3, 8)
    with progress.waiting(False, "reading"), progress.run_progress(False, "again", "first"):
        pass
    film, reading, again = terminal.made
    assert film.happened == [("task", "filming", None, ""), "start", (7, 3, 8, "filming", "3 of 8 pictures"), "stop"]
    assert reading.happened == [("task", "reading", None, ""), "start", "stop"]
    assert again.happened == [("task", "first", None, ""), "start", "stop"]


@pytest.mark.parametrize("quiet", [False, True])
def test_nothing_is_shown_to_files_or_to_who_wants_none(terminal, monkeypatch, quiet):
    monkeypatch.setattr("sys.stderr.isatty", lambda: quiet, raising=False)
    with progress.run_progress(quiet) as show, progress.film_progress(quiet) as film, progress.waiting(quiet, "x"):
        assert show is None and film is None
    assert terminal.made == []


def test_names_of_events_are_cut():
    assert progress._events(3) == ", 3 events" and progress._events([]) == progress._events(0) == ""
    assert progress._events(("x" * 99,)) == f", 1 event ({'x' * 30} [...] {'x' * 30})"
