"""Plots of scenes where much happens: nothing leaves the page or covers another, and many events are ticks."""

from __future__ import annotations

import shutil

import h5py
import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

from render import page, plots
from render.signals import Signal
from render.view import Event, RenderError
from tests.render.synthetic import write_recording

TIME = np.linspace(0.0, 2.0, 201)


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A recording as of a woodpecker: 175 impacts, 200 changes of mode, an event with a name, one that was disarmed."""
    folder = tmp_path_factory.mktemp("busy")
    path = shutil.copy(write_recording(folder / "r.h5"), folder / "busy.h5")
    kinds = ["scene", "disarmed", "annotation"] + ["impact"] * 175 + ["mode"] * 200
    names = (
        ["lets go of the pole", "never", "comes to rest"]
        + ["front and sleeve"] * 175
        + ["back and sleeve leaves"] * 200
    )
    times = np.sort(np.random.default_rng(2).uniform(0, 1, len(kinds)))
    order = np.random.default_rng(3).permutation(len(kinds))
    with h5py.File(path, "r+") as file:
        del file["events"]
        file["events/time"] = times
        file["events/kind"] = np.array([kinds[k].encode() for k in order])
        file["events/name"] = np.array([names[k].encode() for k in order])
        file["events/caption"] = file["events/text"] = np.array([b""] * len(kinds))
        file["events/energy_lost"] = file["events/impulse"] = np.full(len(kinds), np.nan)
        file["events/row_before"] = file["events/row_after"] = np.full(len(kinds), -1)
    return path


@pytest.fixture
def drawn(monkeypatch):
    """The pages that are drawn."""
    pages = []
    save = page.Page.save
    monkeypatch.setattr(page.Page, "save", lambda made, out: pages.append(made) or save(made, out))
    return pages


def texts_of(made):
    """Return the boxes (k, 4) of all that is written, in pixels from the lower left: left, bottom, right, top."""
    written = [t for t in made.figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    boxes = [made.extent(t) for t in written]
    return [t.get_text() for t in written], np.array([[b.x0, b.y0, b.x1, b.y1] for b in boxes])


def stays_on_its_page(made):
    made.figure.draw_without_rendering()
    words, boxes = texts_of(made)
    inside = (boxes[:, :2] > -1).all(axis=1) & (boxes[:, 2] < made.width + 1) & (boxes[:, 3] < made.height + 1)
    # Numbers of an axis that lie outside its limits are not drawn.
    outside = [
        w
        for w, ok in zip(words, inside, strict=True)
        if not ok and not set(w) <= set("0123456789.\u2212-$\\mathdefult{}^")
    ]
    assert outside == []
    legends = [axis.get_legend() for axis in made.axes if axis.get_legend()]
    for legend, axis in zip(legends, made.axes, strict=False):
        box, beside = made.extent(legend), made.extent(axis)
        assert beside.x1 - 1 < box.x0 and box.x1 < made.width + 1 and box.y0 > -1
    return words


def names_of(made):
    """Return what is written above the first panel, with its boxes."""
    written = [t for t in made.axes[0].texts if t.get_text()]
    return [t.get_text() for t in written], [made.extent(t) for t in written]


def signal(text, unit="m", values=None):
    return Signal(text, unit, np.sin(TIME) if values is None else values)


def test_many_events_are_ticks_and_counted(busy, tmp_path):
    """Seen to fail as a warning of matplotlib, and as 376 names."""
    text = plots.plot(busy, [], tmp_path / "x.svg").read_text()
    assert text.count("<!-- lets go of the pole -->") == 1
    assert "front and sleeve" not in text and "never" not in text
    (foot,) = (line for line in text.splitlines() if "ticks: " in line)
    counts = {"175 impacts", "200 changes of mode", "1 note", "1 event disarmed"}
    assert set(foot.strip().removeprefix("<!-- ticks: ").removesuffix(" -->").split(", ")) == counts


def test_the_panels_of_a_busy_scene_are_as_high_as_those_of_a_calm_one(busy, tmp_path, drawn):
    unchanged = busy.parent / "r.h5"
    for recording in (unchanged, busy):
        plots.plot(recording, ["coordinate('axle')", "energy()"], tmp_path / "x.png")
    heights = [made.extent(made.axes[0]).height for made in drawn]
    assert heights[1] > 0.85 * heights[0] > 200
    for made in drawn:
        stays_on_its_page(made)


@pytest.mark.parametrize("size", [None, (900, 700), (420, 320)])
def test_whatever_is_written_stays_on_the_page(tmp_path, drawn, size):
    rng = np.random.default_rng(5)
    letters = np.array(list("abcdefghij  _$"))
    events = [
        Event(time=float(t), name="".join(rng.choice(letters, rng.integers(1, 90))) or "x", kind="scene", caption="")
        for t in [*np.sort(rng.uniform(0, 2, 30)), 2.0]
    ]
    long = "norm(position('figure.with_a_long_name.hand_l') - position('figure.with_a_long_name.hand_r')) / 1.5"
    groups = [
        [signal(f"{long} + {k}") for k in range(2)],
        [signal(f"coordinate('joint_{k}')", "rad") for k in range(25)],
    ]
    out = plots.draw(TIME, groups, events, tmp_path / "x.png", "a title that is longer than the page " * 5, size)
    (made,) = drawn
    words = stays_on_its_page(made)
    names, boxes = names_of(made)
    assert 4 <= len(names) < 31 and any(word.startswith("without a name: ") for word in words)
    for k, a in enumerate(boxes):
        assert not any(a.x0 < b.x1 and b.x0 < a.x1 and a.y0 + 2 < b.y1 and b.y0 + 2 < a.y1 for b in boxes[:k])
    if size:
        assert Image.open(out).size == size
        assert any("more" in word for word in words)  # of 25 curves, in a panel that is not so high
    else:
        assert sum("coordinate" in word for word in words) >= 25


def test_events_that_come_again_are_named_once_and_those_that_come_often_are_ticks(tmp_path):
    events = [Event(time=0.1 * k, name="step", kind="scene", caption="") for k in range(5)]
    events += [Event(time=0.02 * k, name="blink", kind="scene", caption="") for k in range(60)]
    events += [Event(time=9.0, name="after the end", kind="scene", caption="")]
    text = plots.draw(TIME, [[signal("t")]], events, tmp_path / "x.svg", "", None).read_text()
    assert "<!-- step \u00d75 -->" in text and "blink" not in text and "after the end" not in text
    assert "<!-- ticks: 60 events -->" in text


def test_words_side_by_side_never_cover_each_other():
    rng = np.random.default_rng(7)
    for _ in range(200):
        n, right, rows = int(rng.integers(1, 40)), 500.0, int(rng.integers(1, 5))
        spans = sorted(
            (float(x), float(w)) for x, w in zip(rng.uniform(0, 500, n), rng.uniform(5, 250, n), strict=True)
        )
        placed = page.side_by_side(spans, right, rows)
        assert placed[0] is not None
        taken = [[] for _ in range(rows)]
        for place, (x, width) in zip(placed, spans, strict=True):
            if place is None:
                continue
            row, left = place
            assert left <= x and left + width <= right + 1e-9
            assert all(end <= left or left + width <= start for start, end in taken[row])
            taken[row].append((left, left + width))


def test_signs_of_formulas_and_letters_that_no_font_has_are_written_as_they_are(tmp_path):
    events = [Event(time=1.0, name="costs $5 or $6_{", kind="scene", caption="")]
    text = plots.draw(TIME, [[signal("t")]], events, tmp_path / "x.svg", "$\\frac{ 猿 \U0001f412", None).read_text()
    assert "<!-- costs $5 or $6_{ -->" in text


def test_a_page_that_is_too_small_is_refused_in_a_sentence(busy, tmp_path):
    for size in ((60, 60), (300, 90), (16, 4000)):
        with pytest.raises(RenderError, match=f"size {size[0]}x{size[1]}: 2 panels with what is written .* do not fit"):
            plots.plot(busy, ["coordinate('axle')", "energy()"], tmp_path / "x.png", size=size)
    assert list(tmp_path.iterdir()) == []


def test_pages_have_the_size_asked_for_to_the_pixel(busy, tmp_path):
    for size in ((901, 603), (1001, 777), (1287, 999), (640, 480)):
        out = plots.plot(busy, ["coordinate('axle')"], tmp_path / "x.png", size=size)
        assert Image.open(out).size == size


def test_what_differs_by_roundoff_is_drawn_as_constant(tmp_path, drawn):
    plots.draw(TIME, [[signal("t", values=1.25 + 1e-15 * np.sin(40 * TIME))]], [], tmp_path / "x.png", "", None)
    plots.draw(TIME, [[signal("t", values=1e-15 * np.sin(40 * TIME))]], [], tmp_path / "x.png", "", None)
    low, high = drawn[0].axes[0].get_ylim()
    assert low < 1.2 and high > 1.3
    assert drawn[1].axes[0].get_ylim()[1] < 2e-15  # roundoff of nothing is what was asked for


# --- one signal over another -------------------------------------------------------------------------


def test_lengths_over_lengths_have_one_scale(busy, tmp_path, drawn):
    ways = [
        "position('wheel.tip')[0]",
        "position('wheel.tip')[2]",
        "position('world.hook')[0]",
        "position('world.hook')[2]",
    ]
    plots.plot(busy, ways, tmp_path / "x.png", xy=True)
    plots.plot(busy, ["coordinate('axle')", "rate('axle')", *ways], tmp_path / "x.png", xy=True)
    (lengths,), (phase, again) = (made.axes for made in drawn)
    for axis, equal in ((lengths, True), (again, True), (phase, False)):
        box, (x0, x1), (y0, y1) = drawn[0].extent(axis), axis.get_xlim(), axis.get_ylim()
        if equal:
            assert (x1 - x0) / box.width == pytest.approx((y1 - y0) / box.height, rel=1e-6)
        else:
            assert axis.get_aspect() == "auto"
    assert phase.get_xlabel() == "coordinate('axle') [rad]" and phase.get_ylabel() == "rate('axle') [rad/s]"
    assert lengths.get_xlabel() == lengths.get_ylabel() == "position [m]"
    x, y = lengths.get_lines()[0].get_data()
    there = np.isfinite(x)
    assert np.hypot(x[there], y[there] - 1.0) == pytest.approx(np.full(there.sum(), 0.5))  # the circle of the tip
    for made in drawn:
        stays_on_its_page(made)


def test_ways_name_the_events_of_the_scene(busy, tmp_path):
    ways = ["position('wheel.tip')[0]", "position('wheel.tip')[2]"]
    text = plots.plot(busy, ways, tmp_path / "x.svg", xy=True).read_text()
    assert text.count("<!-- lets go of the pole -->") == 1 and "front and sleeve" not in text


@pytest.mark.parametrize(
    ("signals", "words"),
    [
        (["t"], "one signal over another takes two, or some pairs; there is one"),
        ([], "there are none"),
        (["t", "t", "t"], "there are 3"),
        (["position('wheel')", "t"], r"3 numbers where one is drawn; pick it, as in \[0\]"),
    ],
)
def test_ways_that_cannot_be_drawn(busy, tmp_path, signals, words):
    with pytest.raises(RenderError, match=words):
        plots.plot(busy, signals, tmp_path / "x.png", xy=True)
