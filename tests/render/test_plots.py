"""Signals by name against the known motion; tables and pictures of them."""

from __future__ import annotations

import csv

import h5py
import numpy as np
import pytest
from PIL import Image

from render import plots
from render.signals import KEEPS_UNIT, PURE, Signals
from render.view import RenderError
from sim.scene.formula import Directory, _FormulaEvaluator
from sim.scene.functions import FUNCTIONS
from tests.render.synthetic import BOUNCE, GRAVITY, MASS, RATE, START, ball, tip, write_recording


def cord(t):
    """Length of the spring, at the rows of the recording."""
    return np.linalg.norm(tip(t) - ball(t, np.arange(len(t)) > np.flatnonzero(np.diff(t) == 0)[0])[0], axis=1)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return write_recording(tmp_path_factory.mktemp("plots") / "r.h5")


@pytest.fixture
def signals(recording):
    with h5py.File(recording) as file:
        yield Signals(file)


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("coordinate('axle')", "rad", lambda t: RATE * t),
        ("coordinate('axle') / deg", "deg", lambda t: np.rad2deg(RATE * t)),
        ("rate('axle')/deg", "deg/s", lambda t: np.full_like(t, np.rad2deg(RATE))),
        ("coordinate('figure.ball[2]')", "m", lambda t: START[2] - 0.5 * GRAVITY * t**2),
        ("coordinate('figure.ball')[2]", "m", lambda t: START[2] - 0.5 * GRAVITY * t**2),
        ("coordinate('figure.ball')[5]", "rad", lambda t: 0 * t),
        ("position('figure.ball')[2] - position('wheel')[2]", "m", lambda t: 1 - 0.5 * GRAVITY * t**2),
        ("torque('axle')", "N m", lambda t: np.full_like(t, 0.75)),
        ("torque('axle') * rate('axle')", "", lambda t: np.full_like(t, 0.75 * RATE)),
        ("norm(force('axle'))", "N", lambda t: np.full_like(t, MASS[0] * GRAVITY)),
        ("moment('axle')[0]", "N m", lambda t: 0 * t),
        ("com('wheel')[0]", "m", lambda t: 0.25 * np.sin(RATE * t)),
        ("orientation('wheel')[1]", "rad", lambda t: RATE * t),
        ("abs(velocity('figure.ball')[2])", "m/s", lambda t: GRAVITY * t),
        ("min(t, 0.5, 1)", "s", lambda t: np.minimum(t, 0.5)),
        ("2*sin(3*t)**2", "1", lambda t: 2 * np.sin(3 * t) ** 2),
        ("energy.impact", "J", None),
        ("trust.position_residual", "m or rad", lambda t: 1e-13 * (1 + t)),
        ("dot(position('wheel'), angular_velocity('wheel'))", "", lambda t: 0 * t),
        ("cross(position('wheel'), angular_velocity('wheel'))[0]", "", lambda t: np.full_like(t, -RATE)),
        ("determinate('axle')", "1", lambda t: np.ones_like(t)),
        ("length('cord')", "m", lambda t: cord(t)),
        ("tension('cord')", "N", lambda t: 3 * (cord(t) - 1)),
        ("length('twist')/deg", "deg", lambda t: np.rad2deg(RATE * t)),
        ("tension('twist')", "N m", lambda t: 0.5 * RATE * t),
        ("force('push')[0]", "N", lambda t: np.full_like(t, 4)),
        ("moment('push')[1]", "N m", lambda t: np.full_like(t, 0.25)),
        ("pi", "1", lambda t: np.full_like(t, np.pi)),
        ("position('wheel.tip')[0]", "m", lambda t: 0.5 * np.sin(RATE * t)),
        ("position('wheel.com')[2]", "m", lambda t: 1 + 0.25 * np.cos(RATE * t)),
        ("position('world.hook')[2]", "m", lambda t: np.full_like(t, 3.0)),
        ("velocity('wheel.tip')[0]", "m/s", lambda t: 0.5 * RATE * np.cos(RATE * t)),
        ("velocity('wheel.com')[2]", "m/s", lambda t: -0.25 * RATE * np.sin(RATE * t)),
        ("norm(velocity('world.hook'))", "m/s", lambda t: 0 * t),
        ("distance('wheel.tip', 'figure.ball')", "m", lambda t: cord(t)),
        ("distance('wheel.tip', 'world.hook')", "m", lambda t: np.sqrt(4.25 - 2 * np.cos(RATE * t))),
        ("distance('wheel.tip', position('wheel'))", "m", lambda t: np.full_like(t, 0.5)),
        ("local('wheel.tip', 'wheel')[2]", "m", lambda t: np.full_like(t, 0.5)),
        ("local('world.hook', 'wheel')[0]", "m", lambda t: -2 * np.sin(RATE * t)),
        ("local('world.hook', 'wheel')[2]/mm", "mm", lambda t: 2000 * np.cos(RATE * t)),
        ("local('figure.ball.side', 'figure.ball')[1]", "m", lambda t: np.full_like(t, 0.1)),
    ],
)
def test_signals_against_the_known_motion(signals, text, unit, expected):
    signal = signals.evaluate(text)
    assert signal.unit == unit or (unit == "1" and signal.unit == "")
    assert signal.values.shape == signals.time.shape
    if expected is not None:
        assert signal.values == pytest.approx(expected(signals.time), rel=1e-12, abs=1e-12)


def test_plots_know_every_function_of_the_formulas_of_scenes(signals):
    """What a condition can read, a plot can show: of things by name, and of numbers."""
    of_scenes = {*_FormulaEvaluator(Directory({}, (), ()), "").live_calls, *FUNCTIONS}
    assert of_scenes <= {*signals._of_state, *KEEPS_UNIT, *PURE}


def test_the_centre_of_mass_of_all_and_the_distance_of_two(signals):
    com = signals.evaluate("com()").values
    both = [signals.evaluate(f"com('{name}')").values for name in ("wheel", "figure.ball")]
    assert com == pytest.approx((MASS[0] * both[0] + MASS[1] * both[1]) / MASS.sum())
    gap = signals.evaluate("position('wheel') - position('figure.ball')").values
    assert signals.evaluate("distance('wheel', 'figure.ball')").values == pytest.approx(np.linalg.norm(gap, axis=0))
    assert [label for label, _ in signals.evaluate("com()").components()] == ["com() x", "com() y", "com() z"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("coordinate('axel')", "no joint named 'axel'; did you mean 'axle'"),
        ("position('figure.bal')", "no body or point named 'figure.bal' in the recording; did you mean 'figure.ball'"),
        ("enrgy.kinetic", "did you mean 'energy.kinetic'"),
        ("trust.residual", "no signal 'trust.residual'"),
        ("axle", "coordinate('axle')"),
        ("cord", "tension('cord') or force('cord')"),
        ("tension('crd')", "no force named 'crd'; did you mean 'cord'"),
        ("force('psh')", "no joint or force named 'psh'; did you mean 'push'"),
        ("energy", "energy() or energy.kinetic"),
        ("cordinate('axle')", "did you mean 'coordinate'"),
        ("coordinate('axle'", "not a formula"),
        ("rate(3)", "rate is written rate('name')"),
        ("position('wheel')[7]", "out of bounds"),
        ("position('wheel').T", "no signal"),
        ("().__class__", "no signal"),
        ("__import__('os')", "no function '__import__'"),
        ("position('wheel.tp')", "no body or point named 'wheel.tp' in the recording; did you mean 'wheel.tip'"),
        ("wheel.tip", "a body or point stands in a function, position('wheel.tip')"),
        ("local('wheel.tip')", "local is written local('body.point', 'body')"),
        ("local('wheel', 'wheel.tip')", "no body named 'wheel.tip' in the recording; did you mean 'wheel'"),
        ("norm('wheel')", "signal \"norm('wheel')\""),
        ("distance(1, 2)", "signal 'distance(1, 2)'"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(signals, text, words):
    with pytest.raises(RenderError) as caught:
        signals.evaluate(text)
    assert words in str(caught.value)


def test_a_table_holds_every_digit_of_every_row(recording, signals, tmp_path):
    out = plots.export(recording, ["coordinate('axle')/deg", "velocity('figure.ball')"], tmp_path / "x.csv")
    with out.open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["t [s]", "coordinate('axle')/deg [deg]"] + [
        f"velocity('figure.ball') {axis} [m/s]" for axis in "xyz"
    ]
    numbers = np.array(rows[1:], float)
    assert np.array_equal(numbers[:, 0], signals.time)
    assert np.array_equal(numbers[:, 2:].T, signals.evaluate("velocity('figure.ball')").values)
    twin = np.flatnonzero(np.diff(numbers[:, 0]) == 0)[0]
    assert (numbers[twin, 2], numbers[twin + 1, 2]) == (2.0, -1.0)  # both sides of the event


def test_what_is_absent_is_left_empty(recording, tmp_path):
    copy = tmp_path / "r.h5"
    copy.write_bytes(recording.read_bytes())
    with h5py.File(copy, "r+") as file:
        file["joints/coordinate"][10:, 0] = np.nan
    out = plots.export(copy, ["coordinate('axle')"], tmp_path / "x.csv")
    cells = [line.split(",")[1] for line in out.read_text().splitlines()[1:]]
    assert all(cells[:10]) and not any(cells[10:])


def test_lines_are_broken_at_events(signals):
    values = signals.evaluate("velocity('figure.ball')[0]").values
    time, drawn = plots.broken(signals.time, values)
    gap = int(np.flatnonzero(np.isnan(time))[0])
    assert np.isnan(drawn[gap]) and (drawn[gap - 1], drawn[gap + 1]) == (2.0, -1.0)
    assert time[gap - 1] == time[gap + 1] == BOUNCE and np.isnan(time).sum() == 1


def test_the_overview_shows_energies_balance_what_moves_most_and_the_residual(signals):
    texts = [signal.text for signal in plots.overview(signals)]
    assert texts == [
        "energy.kinetic",
        "energy.potential",
        "energy.impact",
        "energy.balance",
        "coordinate('axle')",
        "coordinate('figure.ball[0]')",
        "coordinate('figure.ball[2]')",
        "trust.position_residual",
    ]
    groups = plots.panels(plots.overview(signals))
    assert [len(group) for group in groups] == [3, 1, 1, 2, 1]
    assert [plots.logarithmic(group[0]) for group in groups] == [False, False, False, False, True]


def test_a_plot_names_events_units_and_curves(recording, tmp_path):
    out = plots.plot(recording, ["coordinate('axle')", "velocity('figure.ball')[0]"], tmp_path / "x.svg")
    text = out.read_text()
    for words in ("bounce", "coordinate [rad]", "velocity [m/s]", "coordinate('axle')", "time [s]", "synthetic"):
        assert f"<!-- {words} -->" in text
    assert text == plots.plot(recording, ["coordinate('axle')", "velocity('figure.ball')[0]"], out).read_text()


def test_a_plot_has_the_size_asked_for(recording, tmp_path):
    out = plots.plot(recording, [], tmp_path / "x.png", size=(900, 1200))
    picture = np.asarray(Image.open(out).convert("L"))
    assert picture.shape == (1200, 900) and picture.std() > 5
    assert [p.name for p in tmp_path.iterdir()] == ["x.png"]


def test_where_a_plot_cannot_be_written(recording, tmp_path):
    for out, words in (("x.bmp", "a plot ends in"), ("none/x.png", "there is no folder"), ("none/x.csv", "no folder")):
        with pytest.raises(RenderError, match=words):
            plots.plot(recording, ["t"], tmp_path / out)
    with pytest.raises(RenderError, match="there is no file"):
        plots.plot(tmp_path / "none.h5", [], tmp_path / "x.png")
