"""Plots: every line, mark, limit and word, read back from the page that is drawn."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from render import locus, page, plots
from render.signals import Signal
from render.view import Event, RenderError

TIME = np.array([0.0, 0.5, 1.0, 1.0, 1.5, 2.0])
LINES = ["#4a7fa8", "#d98645", "#6f9440", "#b4637a", "#7d74b0", "#b8932b", "#3f8f86", "#8c7a6b", "#333a44", "#c0504d"]


def signal(text, unit="m", values=None, logarithmic=False) -> Signal:
    return Signal(text, unit, np.array([1.0, 2, 3, 7, 5, 4]) if values is None else np.array(values), logarithmic)


def event(time, name, kind="scene", caption="") -> Event:
    return Event(time=time, name=name, kind=kind, caption=caption)


@pytest.fixture
def pages(monkeypatch):
    """The pages that are saved, which are laid out and not written."""
    made = []

    def save(drawn, out):
        drawn.figure.draw_without_rendering()
        made.append(drawn)
        return out

    monkeypatch.setattr(page.Page, "save", save)
    return made


def lines_of(axis) -> list[tuple]:
    return [
        (line.get_color(), line.get_linestyle(), line.get_linewidth(), line.get_marker(), *line.get_data())
        for line in axis.get_lines()
    ]


def test_curves_are_broken_at_events_and_have_colours_and_dashes(pages, tmp_path):
    many = [signal(f"position('b')[{k}]", values=np.arange(6.0) * (k + 1)) for k in range(21)]
    events = [event(1.0, "jumps"), event(1.5, "a and b", "impact"), event(2.0, "x", "disarmed")]
    plots.draw(TIME, [many, [signal("energy.balance", "J")]], events, tmp_path / "x.png", "mime", None)
    (made,) = pages
    first, second = made.axes
    curves = first.get_lines()[:21]
    for k, line in enumerate(curves):
        x, y = line.get_data()
        np.testing.assert_array_equal(x, [0, 0.5, 1, np.nan, 1, 1.5, 2])
        np.testing.assert_array_equal(y, np.insert(np.arange(6.0) * (k + 1), 3, np.nan))
        assert line.get_color() == LINES[k % 10] and line.get_linewidth() == 1.4
        assert line._unscaled_dash_pattern == [(0, None), (0, (5, 2)), (0, (1, 1))][k // 10]
    upright, ticks = first.get_lines()[21:]
    assert upright.get_xdata() == [1.0, 1.0] and upright.get_color() == "#9aa1a9" and upright.get_linewidth() == 0.8
    assert upright._unscaled_dash_pattern == (0, (4, 3)) and upright.get_zorder() == ticks.get_zorder() == 1.8
    assert list(ticks.get_xdata()) == [1.5, 2.0] and list(ticks.get_ydata()) == [0.02, 0.02]
    assert (ticks.get_marker(), ticks.get_markersize(), ticks.get_markeredgewidth(), ticks.get_linestyle()) == (
        "|",
        5,
        0.7,
        "None",
    )
    assert ticks.get_transform() == first.get_xaxis_transform() and ticks.get_color() == "#9aa1a9"
    assert len(second.get_lines()) == 3 and second.get_xlim() == first.get_xlim() == (0.0, 2.0)
    assert (first.get_ylabel(), second.get_ylabel(), second.get_xlabel(), first.get_xlabel()) == (
        "position [m]",
        "energy [J]",
        "time [s]",
        "",
    )
    assert [made._title.get_text(), made._foot.get_text()] == ["mime", "ticks: 1 impact, 1 event disarmed"]
    assert made.curves[0] == curves and len(made.curves[1]) == 1
    for axis in made.axes:
        assert not axis.spines["top"].get_visible() and not axis.spines["right"].get_visible()
        assert axis.spines["left"].get_visible() and axis.get_xgridlines()[0].get_color() == "#e3e6e9"
        assert axis.get_xgridlines()[0].get_linewidth() == 0.7 and axis.get_yscale() == "linear"


def test_residuals_are_drawn_over_powers_of_ten(pages, tmp_path):
    tiny = signal("trust.position_residual", "m or rad", [0.0, -1e-13, 2e-13, 1e-20, 3e-13, 4e-13])
    grown = signal("growth", "1", [1.0, 10, 100, 100, 1000, 1e4], logarithmic=True)
    plots.draw(TIME, plots.panels([tiny, grown]), [], tmp_path / "x.png", "", None)
    first, second = pages[0].axes
    np.testing.assert_array_equal(first.get_lines()[0].get_ydata(), [1e-17, 1e-13, 2e-13, np.nan, 1e-17, 3e-13, 4e-13])
    assert first.get_yscale() == second.get_yscale() == "log" and first.get_ylabel() == "position residual [m or rad]"
    assert second.get_ylabel() == "" and pages[0]._foot.get_text() == ""


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ([4.0, 4.0], (3.8, 4.2)),
        ([-4.0, -4.0 - 3e-12], (-4.2, -3.8)),
        ([0.0, 0.0], (-0.05, 0.05)),
        ([4.0, 4.0 + 5e-12], None),
        ([4.0, np.nan], (3.8, 4.2)),
        ([np.nan, np.nan], None),
        ([1e-15, -1e-15], None),
        ([np.inf, 2.0], (1.9, 2.1)),
    ],
)
def test_what_is_constant_has_room_around_it(values, limits):
    found = plots._spread((-7.0, 7.0), [np.array(values[:1]), np.array(values[1:])])
    assert found == pytest.approx(limits if limits else (-7.0, 7.0), rel=1e-9)


def test_names_of_events_stand_where_they_happen(pages, tmp_path):
    events = [
        event(0.5, "lets go"),
        event(1.5, "catches", caption="caught"),
        event(1.0, "lets go"),
        event(0.2, "by hand", "key"),
    ]
    plots.draw(TIME, [[signal("t")]], events, tmp_path / "x.png", "", None)
    (made,) = pages
    axis = made.axes[0]
    words = {text.get_text(): text for text in axis.texts}
    assert list(words) == ["lets go \u00d72", "catches", "by hand"] or set(words) == {
        "lets go \u00d72",
        "catches",
        "by hand",
    }
    for name, at in (("lets go \u00d72", 0.5), ("catches", 1.5), ("by hand", 0.2)):
        box, x = made.extent(words[name]), axis.transData.transform((at, 0.0))[0]
        assert box.x0 == pytest.approx(x + 2 * 130 / 72, abs=1.5)
        assert words[name].get_fontsize() == 8.0 and words[name].get_color() == "#5d646d"
        row = round((box.y0 - made.extent(axis).y1) / (1.45 * 8 * 130 / 72))
        assert 0 <= row <= 1 and box.y0 > made.extent(axis).y1
    uprights = sorted(line.get_xdata()[0] for line in axis.get_lines() if line.get_linewidth() == 0.8)
    assert uprights == [0.2, 0.5, 1.0, 1.5]


def test_a_motion_of_one_instant_is_drawn(pages, tmp_path):
    plots.draw(np.zeros(1), [[signal("t", values=[2.0])]], [], tmp_path / "x.png", "", None)
    assert pages[0].axes[0].get_xlim() != (0.0, 0.0)


def test_panels_hold_what_has_one_unit_and_one_scale():
    given = [
        signal("a", "m"),
        signal("energy.balance", "J"),
        signal("b", "J"),
        signal("c", "m"),
        signal("trust.velocity_residual", "m"),
        signal("d", "m", logarithmic=True),
    ]
    assert [[s.text for s in group] for group in plots.panels(given)] == [
        ["a", "c"], ["energy.balance"], ["b"], ["trust.velocity_residual", "d"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "word"),
    [
        (["coordinate('a')", "coordinate('b')/deg"], "coordinate"), (["coordinate('a')", "rate('a')"], ""),
        (["stop_torque('a')"], "stop torque"), (["t"], ""), (["norm(angular_velocity('a'))"], "angular velocity"),
        (["trust.rank"], "rank"), (["energy.kinetic", "energy()"], "energy"), (["mycoordinate('a')"], ""),
    ],
)  # fmt: skip
def test_a_panel_is_named_by_what_its_signals_have_in_common(texts, word):
    assert plots._common([signal(text) for text in texts]) == word


def test_units_stand_in_brackets():
    assert [plots._with_unit("a b", unit) for unit in ("", "1", "m/s")] == ["a b", "a b", "a b [m/s]"]
    assert plots._with_unit("", "m") == "[m]"


class Source:
    """Signals by their text."""

    def __init__(self, values, units, found):
        self.rows, self.found = len(values), found
        self.file = {"joints/coordinate": np.array(values)}
        self.columns = [{"unit": unit} for unit in units]
        self._column_name = [f"c{k}" for k in range(len(units))]

    def evaluate(self, text):
        return signal(text, values=self.found.get(text, [0.0]))


def test_the_overview_has_the_six_coordinates_of_a_unit_that_move_most():
    widths = [3.0, 0.5, 9.0, 1e-9, 2.0, 8.0, 7.0, 6.0, 5.0, 4.0, 1.1e-9, np.nan]
    values = np.array([np.zeros(12), 0.5 * np.array(widths), -0.5 * np.array(widths)])
    units = [b"rad", "m", b"rad", b"m", b"rad", "rad", b"rad", b"rad", b"rad", b"rad", b"m", b"m"]
    found = {"energy.impact": [0.0, -1.0], "energy.input": [0.0], "trust.position_residual": [np.nan, 1e-13]}
    texts = [s.text for s in plots.overview(Source(values, units, found))]
    assert texts == [
        "energy.kinetic", "energy.potential", "energy.impact", "energy.balance",
        *(f"coordinate('c{k}')" for k in (2, 5, 6, 7, 8, 9, 1, 10)), "trust.position_residual",
    ]  # fmt: skip
    texts = [s.text for s in plots.overview(Source(values, units, {}))]
    assert "trust.position_residual" not in texts and texts[:3] == [
        "energy.kinetic",
        "energy.potential",
        "energy.balance",
    ]


# --- one over another -------------------------------------------------------------------------------


def test_pairs_are_taken_two_by_two():
    a, b, c, d = (signal(name) for name in "abcd")
    assert plots.in_pairs([a, b, c, d]) == [(a, b), (c, d)]
    for given, words in (
        ([], "one signal over another takes two, or some pairs; there are none"),
        ([a], "one signal over another takes two, or some pairs; there is one"),
        ([a, b, c], "one signal over another takes two, or some pairs; there are 3"),
        ([a, signal("v", values=np.zeros((2, 6)))], "signal 'v': 2 numbers where one is drawn; pick it, as in [0]"),
    ):
        with pytest.raises(RenderError) as caught:
            plots.in_pairs(given)
        assert str(caught.value) == words


def test_ways_begin_with_a_circle_and_end_with_a_cross(pages, tmp_path):
    x = signal("position('a')[0]", "m", [np.nan, 1.0, 2, 3, 4, 5])
    y = signal("position('a')[2]", "m", [0.0, -1, -2, -3, -4, np.nan])
    speed = signal("rate('j')", "rad/s", [0.0, 1, 2, 3, 4, 5])
    turn = signal("coordinate('j')", "rad", [5.0, 4, 3, 2, 1, 0])
    nothing = signal("position('b')[0]", "m", [np.nan] * 6)
    events = [event(1.0, "left one"), event(1.5, "right one"), event(0.0, "unseen"), event(1.2, "impact", "impact")]
    plots.draw_ways(TIME, [(x, y), (turn, speed), (nothing, y)], events, tmp_path / "x.png", "mime", None)
    (made,) = pages
    lengths, phase = made.axes
    assert made._foot.get_text() == "circle: start, cross: end" and made.figure.get_size_inches()[0] == 7.4
    assert lengths.get_aspect() == 1.0 and lengths.get_adjustable() == "datalim" and phase.get_aspect() == "auto"
    assert (lengths.get_xlabel(), lengths.get_ylabel()) == ("position [m]", "position [m]")
    assert (phase.get_xlabel(), phase.get_ylabel()) == ("coordinate('j') [rad]", "rate('j') [rad/s]")
    way, circle, cross, other = lengths.get_lines()[:4]
    np.testing.assert_array_equal(way.get_xdata(), [np.nan, 1, 2, np.nan, 3, 4, 5])
    np.testing.assert_array_equal(way.get_ydata(), [0, -1, -2, np.nan, -3, -4, np.nan])
    assert (circle.get_marker(), *circle.get_xydata()[0], circle.get_fillstyle()) == ("o", 1.0, -1.0, "none")
    assert (cross.get_marker(), *cross.get_xydata()[0]) == ("x", 4.0, -4.0)
    assert circle.get_markersize() == cross.get_markersize() == 6 and way.get_linewidth() == 1.4
    assert [line.get_color() for line in (way, circle, cross, other)] == [LINES[0]] * 3 + [LINES[1]]
    assert [len(curves) for curves in made.curves] == [2, 1] and made.curves[0] == [way, other]
    dots = [line for line in lengths.get_lines() if line.get_marker() == "."]
    np.testing.assert_array_equal(np.concatenate([d.get_xdata() for d in dots[::2]]), [3.0, 4.0, np.nan])
    assert {(d.get_color(), d.get_markersize()) for d in dots} == {("#4b525b", 6)} and len(dots) == 6
    names = {text.get_text(): text for text in phase.texts}
    assert set(names) == {"left one", "right one", "unseen"} and [t.get_text() for t in lengths.texts] == [
        "left one",
        "right one",
    ]
    for name, at in (("left one", (2.0, 3.0)), ("right one", (1.0, 4.0)), ("unseen", (5.0, 0.0))):
        words = names[name]
        assert words.xy == at and words.get_fontsize() == 8.0 and words.get_color() == "#5d646d"
        right = phase.transData.transform(at)[0] < 0.5 * made.width
        assert words.get_position() == (5 if right else -5, 4) and words.get_ha() == ("left" if right else "right")
    assert {names[n].get_ha() for n in names} == {"left", "right"}


def test_one_way_needs_no_legend(pages, tmp_path):
    pair = (signal("a", "cm"), signal("b", "cm"))
    plots.draw_ways(TIME, [pair], [], tmp_path / "x.png", "", None)
    plots.draw_ways(TIME, [pair, (signal("c", "kg"), signal("d", "kg"))], [], tmp_path / "x.png", "", None)
    one, two = pages
    assert one.axes[0].get_legend() is None and one.axes[0].get_xlabel() == "a [cm]" and one.axes[0].get_aspect() == 1.0
    assert [axis.get_legend().get_texts()[0].get_text() for axis in two.axes] == ["b over a", "d over c"]
    assert two.axes[1].get_aspect() == "auto"


# --- the page ---------------------------------------------------------------------------------------


def made_page(labels=(("a", "b"), ("c",)), size=None, title="", foot="", **more) -> page.Page:
    with page.style():
        return page.Page([list(one) for one in labels], size, title, foot, **more)


def test_a_page_grows_with_its_panels_and_legends():
    inches = made_page().figure.get_size_inches()
    assert inches == pytest.approx([9.6, 0.9 + 2 * 2.1])
    tall = made_page([[f"curve {k}" for k in range(20)], ["c"]])
    assert tall.figure.get_size_inches()[1] == pytest.approx(0.9 + 21 * 1.7 * 8.5 / 72 + 2.1)
    assert tall.axes[0].get_position().height > 1.5 * tall.axes[1].get_position().height
    assert made_page(panel=(7.0, 3.0)).figure.get_size_inches() == pytest.approx([7.0, 6.9])
    sized = made_page(size=(650, 390))
    assert (sized.width, sized.height) == pytest.approx((650.01, 390.01)) and sized.figure.dpi == 130
    shared, apart = made_page(), made_page(shared=False)
    shared.axes[0].set_xlim(3, 4), apart.axes[0].set_xlim(3, 4)
    assert shared.axes[1].get_xlim() == (3, 4) != apart.axes[1].get_xlim()


def test_labels_of_legends_are_wrapped_at_a_third_of_the_page():
    label = " ".join(["word"] * 30)
    width = int(0.32 * 9.6 * 72 / (0.62 * 8.5))
    (wrapped,) = made_page([[label]]).labels[0]
    lines = wrapped.split("\n")
    assert max(map(len, lines)) <= width < max(map(len, lines)) + 5 and " ".join(lines) == label
    assert made_page([["x" * 20]], size=(60, 60)).labels[0] == ["x" * 8 + "\n" + "x" * 8 + "\nxxxx"]


def test_title_and_foot_stand_in_the_corners():
    made = made_page(title="a\nb", foot="below")
    title, foot = made._title, made._foot
    assert title.get_text() == "a\\nb" and foot.get_text() == "below"
    point = 130 / 72
    assert title.get_position() == pytest.approx((0.01, 1.0 - 0.4 * 11 * point / made.height))
    assert foot.get_position() == pytest.approx((0.99, 0.4 * 8 * point / made.height))
    assert (title.get_ha(), title.get_va(), title.get_fontsize(), title.get_color()) == ("left", "top", 11.0, "#4b525b")
    assert (foot.get_ha(), foot.get_va(), foot.get_fontsize(), foot.get_color()) == ("right", "bottom", 8.0, "#5d646d")
    assert not title.get_in_layout() and not foot.get_in_layout()
    long = made_page(title="word " * 99)._title
    assert long.get_text().endswith("…") and 0.9 * made.width < made.extent(long).width <= 0.98 * made.width


def test_words_are_cut_to_a_width():
    made = made_page()
    words = made.figure.text(0, 0, "a name of many words", fontsize=8)
    whole = made.extent(words).width
    assert made.cut(words, whole) == pytest.approx(whole) and words.get_text() == "a name of many words"
    width = made.cut(words, 0.6 * whole)
    assert width == pytest.approx(made.extent(words).width) and 0.4 * whole < width <= 0.6 * whole
    assert words.get_text().endswith("…") and not words.get_text().endswith(" …")
    made.cut(words, 1.0)
    assert words.get_text() == "…"


def test_a_panel_with_many_curves_says_how_many_have_no_name():
    made = made_page([[f"curve {k}" for k in range(30)], ["c"]], size=(900, 500))
    for axis, labels, panel in zip(made.axes, made.labels, (0, 1), strict=True):
        made.curves[panel] = [axis.plot([0, 1], [0, k])[0] for k in range(len(labels))]
    made.arrange()
    made.figure.draw_without_rendering()
    texts = [text.get_text() for text in made.axes[0].get_legend().get_texts()]
    named = len(texts) - 1
    assert 3 < named < 30 and texts == [f"curve {k}" for k in range(named)] + [f"and {30 - named} more"]
    legend = made.extent(made.axes[0].get_legend())
    room = made.extent(made.axes[0]).y1 - made.extent(made.axes[1]).y1
    assert legend.height <= room < legend.height + 2.5 * 1.7 * 8.5 * 130 / 72
    assert [t.get_text() for t in made.axes[1].get_legend().get_texts()] == ["c"]
    beside = made.extent(made.axes[0])
    assert legend.x0 == pytest.approx(beside.x1, abs=12) and legend.x1 < made.width
    assert legend.y1 == pytest.approx(beside.y1, abs=12)
    assert (
        made.axes[0].get_legend().get_texts()[0].get_fontsize() == 8.5 and not made.axes[0].get_legend().get_frame_on()
    )


def test_names_leave_room_above_and_the_foot_below():
    tops, bottoms = [], []
    for rows, foot in ((0, ""), (2, ""), (0, "below")):
        made = made_page([[]], size=(900, 500), foot=foot)
        made.arrange(rows)
        box = made.extent(made.axes[0])
        tops.append(made.height - box.y1)
        bottoms.append(box.y0)
    line = 1.45 * 8 * 130 / 72
    assert tops[1] - tops[0] == pytest.approx(2 * line, abs=0.5) and tops[2] == pytest.approx(tops[0], abs=0.5)
    assert bottoms[2] - bottoms[0] == pytest.approx(line, abs=0.5) and bottoms[1] == pytest.approx(bottoms[0], abs=0.5)
    assert 1.45 * 11 * 130 / 72 < tops[0] < 1.45 * 11 * 130 / 72 + 20


def test_the_unit_alone_stands_beside_a_low_panel():
    made = made_page([[], [], []], size=(600, 500))
    for axis, label in zip(
        made.axes, ("angular velocity of what turns [rad/s]", "x [m]", "a label that is longer than high"), strict=True
    ):
        axis.set_ylabel(label)
    made.arrange()
    assert [axis.get_ylabel() for axis in made.axes] == ["[rad/s]", "x [m]", "a label that is longer than high"]


@pytest.mark.parametrize(("size", "number"), [((100, 400), 1), ((400, 75), 1), ((400, 150), 3)])
def test_panels_below_60_by_30_pixels_are_refused(size, number):
    made = made_page([[]] * number, size=size)
    words = "1 panel" if number == 1 else f"{number} panels"
    with pytest.raises(
        RenderError, match=f"^size {size[0]}x{size[1]}: {words} with what is written around them do not fit; give"
    ):
        made.arrange()
    made_page([[]], size=(170, 150)).arrange()
    with pytest.raises(RenderError, match="do not fit"):
        made_page([[]], size=(400, 400))._lay(400.0, 0.0, 0.0)
    with pytest.raises(RenderError, match="do not fit"):
        made_page([[]], size=(400, 400))._lay(0.0, 300.0, 101.0)
    with pytest.raises(RenderError, match=r"^size 1248x390: 1 panel with"):  # one that grows has a size, too
        made_page([[]])._lay(1300.0, 0.0, 0.0)


def test_names_go_side_by_side_and_else_above_each_other():
    gap = 4 * 130 / 72
    assert page.side_by_side([(0.0, 50.0), (50.0 + gap, 10.0), (55.0 + gap, 10.0)], 500.0, 2) == [
        (0, 0.0), (0, 50.0 + gap), (1, 55.0 + gap)
    ]  # fmt: skip
    assert page.side_by_side([(0.0, 50.0), (49.9 + gap, 10.0)], 500.0, 1) == [(0, 0.0), None]
    assert page.side_by_side([(480.0, 50.0)], 500.0, 1) == [(0, 450.0)]


def test_events_are_named_or_ticks():
    often, seldom = [event(0.1 * k, "often") for k in range(13)], [event(0.1 * k, "seldom") for k in range(12)]
    others = [
        event(0.5, "hit", "impact"),
        event(0.6, "said", "impact", "it hits"),
        event(2.0, "end"),
        event(-0.1, "before"),
        event(2.1, "after"),
        event(0.7, "", caption="nameless"),
    ]
    named, ticks = page.sorted_out([*often, *seldom, *others], 0.0, 2.0)
    assert [(name, len(at)) for name, at in named] == [("seldom", 12), ("said", 1), ("end", 1)]
    assert [e.name for e in ticks] == ["often"] * 13 + ["hit", ""]
    assert named[0][1] == [e.time for e in seldom]


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".PNG"])
def test_files_tell_no_time_of_day(tmp_path, suffix):
    made = made_page(title="mime")
    with page.style():
        first, second = (made.save(tmp_path / f"{name}{suffix}").read_bytes() for name in "ab")
    assert first == second and b"CreationDate" not in first and b"<dc:date>" not in first
    assert page.no_date(tmp_path / "x.svg") == {"Date": None} and page.no_date(tmp_path / "x.PDF") == {
        "CreationDate": None
    }
    assert page.no_date(tmp_path / "x.png") == {}


def test_numbers_of_axes_are_told_whole():
    import matplotlib

    with page.style():
        found = {key: matplotlib.rcParams[key] for key in ("font.size", "svg.hashsalt", "axes.formatter.useoffset")}
    assert found == {"font.size": 9.5, "svg.hashsalt": "brachiate", "axes.formatter.useoffset": False}


# --- root loci --------------------------------------------------------------------------------------


@pytest.fixture
def plane(monkeypatch):
    """The figures of root loci, which are kept as they are written."""
    from matplotlib.figure import Figure

    kept = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda figure, *a, **k: kept.append((figure, k)) or save(figure, *a, **k))
    return kept


VALUES = np.array([0.0, 0.5, 2.0])
NAN = complex(np.nan, np.nan)
BRANCHES = np.array([[-1 + 2j, 0.5 + 0j, NAN], [-0.5 + 1j, 1.5 + 0j, NAN], [0.25 + 0j, NAN, NAN]])


def test_a_locus_has_branches_crossings_and_a_half_that_is_unstable(plane, tmp_path):
    out = locus.draw(VALUES, BRANCHES, [(1.25, 1.5j), (0.75, 0j)], "speed", tmp_path / "x.svg", "mi\nme", None)
    ((figure, options),) = plane
    assert out == tmp_path / "x.svg" and options == {"format": "svg", "metadata": {"Date": None}}
    assert figure.get_size_inches() == pytest.approx([10.4, 4.6]) and figure.dpi == 130
    left, right = figure.axes
    found = [
        (
            line.get_color(),
            line.get_marker(),
            line.get_linewidth(),
            line.get_markersize(),
            line.get_fillstyle(),
            line.get_xydata().tolist(),
        )
        for line in left.get_lines()
    ]
    expected = [
        (LINES[0], "None", 1.4, 6.0, "full", [[-1, 2], [-0.5, 1], [0.25, 0]]),
        (LINES[0], "o", 1.5, 5.0, "none", [[-1, 2]]),
        (LINES[0], "x", 1.5, 6.0, "full", [[0.25, 0]]),
        (LINES[1], "None", 1.4, 6.0, "full", [[0.5, 0], [1.5, 0]]),
        (LINES[1], "o", 1.5, 5.0, "none", [[0.5, 0]]),
        (LINES[1], "x", 1.5, 6.0, "full", [[1.5, 0]]),
        ("#333a44", ".", 1.5, 7.0, "full", [[0, 1.5]]),
        ("#333a44", ".", 1.5, 7.0, "full", [[0, -1.5]]),
        ("#333a44", ".", 1.5, 7.0, "full", [[0, 0]]),
        ("#9aa1a9", "None", 0.9, 6.0, "full", [[0, 0], [0, 1]]),
        ("#9aa1a9", "None", 0.9, 6.0, "full", [[0, 0], [1, 0]]),
    ]
    assert found == expected
    (shade,) = left.patches
    assert (shade.get_x(), shade.get_width(), shade.get_zorder()) == (0.0, pytest.approx(left.get_xlim()[1]), 0)
    assert np.rint(255 * np.array(shade.get_facecolor())).tolist() == [0xFB, 0xEE, 0xEE, 255]
    assert left.get_xlim() == pytest.approx((-1 - 0.125, 1.5 + 0.125))
    assert (left.get_xlabel(), left.get_ylabel()) == ("real part [1/s]", "imaginary part [rad/s]")
    assert (right.get_xlabel(), right.get_ylabel()) == ("speed", "real part [1/s], dashed: oscillates")
    title = figure._suptitle
    assert (title.get_text(), title.get_position()[0], title.get_ha(), title.get_fontsize(), title.get_color()) == (
        "mi\\nme",
        0.01,
        "left",
        11,
        "#4b525b",
    )
    for axis in (left, right):
        assert not axis.spines["top"].get_visible() and not axis.spines["right"].get_visible()
        assert axis.get_xgridlines()[0].get_linewidth() == 0.7 and axis.get_xgridlines()[0].get_color() == "#e3e6e9"


def test_real_parts_are_dashed_where_they_oscillate(plane, tmp_path):
    small = BRANCHES.copy()
    small[2, 0] = 0.25 + 1.5e-9j  # below a billionth of the largest: no oscillation
    small[0, 1] = 0.5 + 3e-9j  # above
    locus.draw(VALUES, small, [(1.25, 1.5j)], "speed", tmp_path / "x.png", "mime", (640, 480))
    figure = plane[0][0]
    right = figure.axes[1]
    assert Image.open(tmp_path / "x.png").size == (640, 480)
    nan = np.nan
    real = [[-1, -0.5, 0.25], [0.5, 1.5, nan], [nan] * 3]
    still = [[nan, nan, 0.25], [nan, 1.5, nan], [nan] * 3]
    swings = [[-1, -0.5, nan], [0.5, nan, nan], [nan] * 3]
    curves = right.get_lines()
    for k in range(3):
        thin, plain, dashed = curves[3 * k : 3 * k + 3]
        for line, values in ((thin, real), (plain, still), (dashed, swings)):
            np.testing.assert_array_equal(line.get_ydata(), values[k])
            assert line.get_xdata().tolist() == VALUES.tolist() and line.get_color() == LINES[k]
        assert (thin.get_linewidth(), thin.get_alpha(), plain.get_linewidth(), dashed.get_linewidth()) == (
            1.2,
            0.5,
            1.5,
            1.5,
        )
        assert thin._unscaled_dash_pattern == (0, (1, 1)) and dashed._unscaled_dash_pattern == (0, (4, 2))
    dot, axis_line = curves[9:]
    assert dot.get_xydata().tolist() == [[1.25, 0.0]] and (dot.get_color(), dot.get_markersize()) == ("#333a44", 7)
    assert axis_line.get_ydata() == [0.0, 0.0] and (axis_line.get_color(), axis_line.get_linewidth()) == (
        "#9aa1a9",
        0.9,
    )
    (words,) = right.texts
    assert (words.get_text(), words.xy, words.get_position(), words.get_fontsize()) == ("1.25", (1.25, 0.0), (3, 5), 8)
    assert words.get_color() == "#5d646d"
    (shade,) = right.patches
    low, high = right.get_ylim()
    assert right.get_xlim() == (0.0, 2.0) and (low, high) == pytest.approx((-1.125, 1.625))
    assert (shade.get_y(), shade.get_height(), shade.get_zorder()) == (0.0, pytest.approx(high), 0)


def test_what_is_stable_has_zero_in_sight_and_one_value_has_one_plane(plane, tmp_path):
    locus.draw(VALUES, -np.ones((3, 1), complex) * [[3], [2], [1]], [], "speed", tmp_path / "x.png", "mime")
    locus.draw(VALUES[:1], np.array([[-1 + 2j, -1 - 2j]]), [], "", tmp_path / "y.pdf", "mime")
    locus.draw(VALUES, np.full((3, 2), NAN), [], "speed", tmp_path / "z.png", "mime")
    stable, alone, _ = (figure for figure, _ in plane)
    assert stable.axes[0].get_xlim() == pytest.approx((-3.15, 0.15))
    assert stable.axes[1].get_ylim() == pytest.approx((-3.15, 0.15))
    assert stable.axes[0].patches[0].get_width() == pytest.approx(0.15)
    assert len(alone.axes) == 1 and alone.get_size_inches() == pytest.approx([5.2, 4.6])
    with pytest.raises(RenderError, match=r"x.gif: a plot ends in .png, .svg, .pdf$"):
        locus.draw(VALUES, BRANCHES, [], "speed", tmp_path / "x.gif", "mime")


def test_a_plot_goes_the_way_that_is_wished(monkeypatch, tmp_path):
    """Over time, over another, or as numbers; titled as the scene is, or as was said."""
    from tests.render.synthetic import write_recording

    recording, calls = write_recording(tmp_path / "r.h5"), []
    monkeypatch.setattr(plots, "draw", lambda *given: calls.append(("draw", *given)))
    monkeypatch.setattr(plots, "draw_ways", lambda *given: calls.append(("ways", *given)))
    monkeypatch.setattr(plots, "export", lambda *given: calls.append(("export", *given)))
    plots.plot(recording, ["t"], tmp_path / "x.PNG", size=(9, 9))
    plots.plot(recording, ["t", "2*t"], tmp_path / "x.pdf", xy=True, title="")
    plots.plot(recording, ["t"], str(tmp_path / "x.CSV"))
    plots.plot(recording, [], tmp_path / "x.svg", title="mine")
    (_, time, groups, events, out, title, size), ways, export, overview = calls
    assert (
        len(time) == 122 and [[s.text for s in g] for g in groups] == [["t"]] and [e.name for e in events] == ["bounce"]
    )
    assert (out, title, size) == (tmp_path / "x.PNG", "synthetic", (9, 9))
    assert ways[0] == "ways" and [(x.text, y.text) for x, y in ways[2]] == [("t", "2*t")] and ways[5] == ""
    assert export == ("export", recording, ["t"], tmp_path / "x.CSV")
    assert len(overview[2]) == 5 and overview[5] == "mine" and overview[6] is None
    with pytest.raises(RenderError, match=r"x.gif: a plot ends in .png, .svg, .pdf or .csv$"):
        plots.plot(recording, [], tmp_path / "x.gif")
    with pytest.raises(RenderError, match="there are none"):
        plots.plot(recording, [], tmp_path / "x.svg", xy=True)


@pytest.mark.parametrize(
    ("panel", "height", "fits"), [(0, 69.5, True), (0, 70.0, True), (0, 70.1, False), (1, 29.5, True), (1, 30.1, False)]
)
def test_a_legend_has_the_room_down_to_the_next_panel_or_the_foot_of_the_page(monkeypatch, panel, height, fits):
    made = made_page([["a", "b"], ["c", "d"]])
    for axis, curves in zip(made.axes, made.curves, strict=True):
        curves += axis.plot([0, 1], [[0, 1], [1, 2]])
    tops = {id(made.axes[0]): 100.0, id(made.axes[1]): 30.0}
    monkeypatch.setattr(made, "extent", lambda artist: SimpleNamespace(y1=tops.get(id(artist)), height=height))
    made._legend(panel)
    made._fit_legend(panel)
    texts = [text.get_text() for text in made.axes[panel].get_legend().get_texts()]
    assert texts == ([["a", "b"], ["c", "d"]][panel] if fits else ["and 2 more"])


@pytest.mark.parametrize(("above", "kept"), [(12.0, True), (12.1, False), (0.0, True)])
def test_a_label_may_be_a_little_higher_than_its_panel(monkeypatch, above, kept):
    made = made_page([[]])
    axis = made.axes[0]
    axis.set_ylabel("speed [m/s]")
    heights = {id(axis): 100.0, id(axis.yaxis.get_label()): 100.0 + above * 130 / 72}
    monkeypatch.setattr(made, "extent", lambda artist: SimpleNamespace(height=heights[id(artist)]))
    made._fit_label(axis)
    assert axis.get_ylabel() == ("speed [m/s]" if kept else "[m/s]")


def test_a_table_has_units_in_its_head_and_nothing_where_there_is_no_number(monkeypatch, tmp_path):
    import contextlib

    vector = np.array([[0.1, np.nan], [-2.0, 1e-300]])
    found = {"a": signal("a", "m/s", [1 / 3, 2.0]), "b": signal("b", "1", vector), "c": signal("c", "", [np.nan, 7.0])}
    source = SimpleNamespace(time=np.array([0.0, 0.5]), evaluate=found.get)
    monkeypatch.setattr(plots, "open_recording", lambda path: contextlib.nullcontext(path))
    monkeypatch.setattr(plots, "Signals", lambda file: source)
    monkeypatch.setattr(plots, "overview", lambda source: [found["c"]])
    out = tmp_path / "x.csv"
    assert plots.export("r.h5", ["a", "b", "c"], str(out)) == out
    assert out.read_bytes() == (
        b"t [s],a [m/s],b 0,b 1,c\r\n0.0,0.3333333333333333,0.1,-2.0,\r\n0.5,2.0,,1e-300,7.0\r\n"
    )
    plots.export("r.h5", [], out)
    assert out.read_bytes() == b"t [s],c\r\n0.0,\r\n0.5,7.0\r\n"


@pytest.mark.parametrize("foot", ["", "ticks: 3 notes"])
def test_names_above_a_panel_go_where_there_is_room(monkeypatch, foot):
    """In at most four rows, each at most 45 % of the page wide; those that do not fit are counted below."""
    made = made_page([[]], foot=foot)
    axis, point, asked, cut, arranged = made.axes[0], 130 / 72, [], [], []
    axis.set_xlim(0, 2)

    def places(spans, right, rows):
        asked.append((spans, right, rows))
        return [(1, 120.0), None, (0, 300.0)]

    monkeypatch.setattr(page, "side_by_side", places)
    monkeypatch.setattr(made, "arrange", lambda rows=0: arranged.append(rows))
    monkeypatch.setattr(made, "cut", lambda words, most: cut.append((words.get_text(), most)) or 10.0 * len(cut))
    made.name(axis, [(0.5, "one"), (0.75, "two"), (1.5, "three")])
    at = [axis.transData.transform((x, 0.0))[0] for x in (0.5, 0.75, 1.5)]
    ((spans, right, rows),) = asked
    assert spans == [pytest.approx((x + 2 * point, 10.0 * k)) for k, x in enumerate(at, start=1)]
    assert right == pytest.approx(made.width - 4 * point) and rows == 4
    assert cut == [(name, pytest.approx(0.45 * made.width)) for name in ("one", "two", "three")]
    one, three = axis.texts
    assert (one.get_text(), three.get_text()) == ("one", "three") and one.xy == (0.5, 1.0)
    assert one.get_position() == pytest.approx(((120.0 - at[0]) / point, 2 + 1.45 * 8))
    assert three.get_position() == pytest.approx(((300.0 - at[2]) / point, 2))
    assert not one.get_annotation_clip() and not one.get_in_layout() and arranged == [0, 2]
    assert made._foot.get_text() == "without a name: 1 more" + (f", {foot}" if foot else "")
    monkeypatch.setattr(page, "side_by_side", lambda *_: [])
    made.name(axis, [])
    assert arranged[2:] == [0, 0]


def test_names_on_a_way_are_at_most_45_percent_of_the_page(pages, tmp_path):
    pair = (signal("a", "kg"), signal("b", "s"))
    plots.draw_ways(TIME, [pair], [event(0.5, "x " * 200)], tmp_path / "x.png", "", None)
    (made,) = pages
    (words,) = made.axes[0].texts
    assert words.get_text().endswith("…") and not words.get_in_layout()
    assert 0.43 * made.width < made.extent(words).width <= 0.45 * made.width
