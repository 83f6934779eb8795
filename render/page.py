"""A page of panels for plots: what is written around the curves stays on the page, whatever its length and number."""

from __future__ import annotations

import contextlib
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from render.encode import cannot_write, whole
from render.view import Event, RenderError
from sim.scene.shown import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

DPI = 130
POINT = DPI / 72  # pixels
LEGEND, NAME = 8.5, 8.0  # points, of the words in legends and of the names of events
LINE, ENTRY = 1.45, 1.7  # heights of letters that a line of words takes, and one of a legend
BESIDE = 0.32  # part of the page's width that legends may take
ROWS = 4  # of names of events above the first panel
LONGEST = 0.45  # of a name, in widths of the page
LEAST = (60, 30)  # pixels, width and height below which a panel shows nothing
OFTEN = 12  # times that an event happens: more are ticks
INK, FAINT, RULE = "#4b525b", "#5d646d", "#9aa1a9"


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Draw as all plots are drawn; letters that the font lacks are boxes, of which nothing is printed."""
    import matplotlib

    plain = {"font.size": 9.5, "svg.hashsalt": "brachiate", "axes.formatter.useoffset": False}
    with matplotlib.rc_context(plain), warnings.catch_warnings():  # type: ignore[arg-type]
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


class Page:
    """Panels below each other, a title above them, and a line below.

    Parameters
    ----------
    labels : sequence of sequence of str
        What the legend of each panel says, one label for each of its curves.
    size : (int, int), optional
        Of the page in pixels; without it the page grows with its panels, and these with their legends.
    title, foot : str
    panel : (float, float)
        Inches, width of a page and height of a panel that may grow.
    shared : bool
        Panels have one x axis.
    """

    def __init__(
        self, labels: Sequence[Sequence[str]], size: tuple[int, int] | None, title: str, foot: str, *,
        panel: tuple[float, float] = (9.6, 2.1), shared: bool = True,
    ):  # fmt: skip
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        width = panel[0] if size is None else size[0] / DPI
        letters = max(8, int(BESIDE * width * 72 / (0.62 * LEGEND)))
        self.labels = [[textwrap.fill(label, letters) for label in panel_labels] for panel_labels in labels]
        lines = [sum(1 + label.count("\n") for label in panel_labels) for panel_labels in self.labels]
        heights = [max(panel[1], (n + 1.0) * ENTRY * LEGEND / 72) for n in lines]
        # A hundredth of a pixel more: the canvas cuts what rounding leaves below a whole one.
        inches = (width, 0.9 + sum(heights)) if size is None else ((size[0] + 0.01) / DPI, (size[1] + 0.01) / DPI)
        self._layout = ConstrainedLayoutEngine()
        self.figure = Figure(figsize=inches, dpi=DPI, layout=self._layout)
        self.width, self.height = (float(side) for side in (self.figure.bbox.width, self.figure.bbox.height))
        self.canvas = FigureCanvasAgg(self.figure)
        ratios = heights if size is None else None
        self.axes: list[Axes] = list(
            self.figure.subplots(len(labels), 1, sharex=shared, squeeze=False, height_ratios=ratios)[:, 0]
        )
        self.curves: list[list[Any]] = [[] for _ in labels]  # of each panel, one for each of its labels
        self._title = self._words(title, 0.01, 1.0, "top", 11.0, INK)
        self._foot = self._words(foot, 0.99, 0.0, "bottom", NAME, FAINT, ha="right")

    def _words(self, text: str, x: float, y: float, va: str, size: float, color: str, ha: str = "left") -> Text:
        shift = -0.4 * size * POINT if va == "top" else 0.4 * size * POINT
        words = self.figure.text(
            x, y + shift / self.height, one_line(text), va=va, ha=ha, fontsize=size, color=color, parse_math=False
        )
        words.set_in_layout(False)
        self.cut(words, 0.98 * self.width)
        return words

    def cut(self, words: Text, most: float) -> float:
        """Cut words that are wider than `most` pixels, with an ellipsis, and return their width."""
        text = words.get_text()
        while (width := self.extent(words).width) > most and text:
            text = text[: min(len(text) - 1, int(len(text) * most / width))]
            words.set_text(text.rstrip() + "…")
        return float(width)

    def extent(self, artist: Any) -> Any:
        """Return the box of an artist in pixels."""
        return artist.get_window_extent(self.canvas.get_renderer())

    def arrange(self, rows: int = 0) -> None:
        """Give each panel its legend and its place, with room for `rows` lines of names above the first."""
        for panel in range(len(self.axes)):
            self._legend(panel)
        right = self._beside()
        top = LINE * 11 * POINT + rows * LINE * NAME * POINT
        bottom = LINE * NAME * POINT if self._foot.get_text() else 0.0
        self._lay(right, top, bottom)
        for panel in range(len(self.axes)):
            self._fit_legend(panel)
        if self._beside() != right:  # what says how many are not named is wider than the names
            self._lay(self._beside(), top, bottom)
        for axis in self.axes:
            self._fit_label(axis)

    def _beside(self) -> float:
        """Return the width of the widest legend [pixels]."""
        legends = [axis.get_legend() for axis in self.axes]
        return max([float(self.extent(legend).width) + 4 * POINT for legend in legends if legend] or [0.0])

    def _lay(self, right: float, top: float, bottom: float) -> None:
        """Leave pixels free beside the panels; raise RenderError where nothing is left."""
        width, height = 1.0 - right / self.width, 1.0 - (top + bottom) / self.height
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="constrained_layout not applied")
            try:
                if width <= 0.0 or height <= 0.0:
                    raise UserWarning
                self._layout.set(rect=(0.0, bottom / self.height, width, height))
                self.figure.draw_without_rendering()
            except UserWarning:
                raise self._small() from None
        boxes = [self.extent(axis) for axis in self.axes]
        if min(box.width for box in boxes) < LEAST[0] or min(box.height for box in boxes) < LEAST[1]:
            raise self._small()

    def _small(self) -> RenderError:
        number = len(self.axes)
        panels = f"{number} panel{'' if number == 1 else 's'} with what is written around them"
        return RenderError(
            f"size {self.width:.0f}x{self.height:.0f}: {panels} do not fit; give more pixels, or fewer signals"
        )

    def _legend(self, panel: int, shown: int | None = None) -> None:
        """Write what the curves are beside a panel, at most `shown` of them."""
        axis, labels, curves = self.axes[panel], self.labels[panel], self.curves[panel]
        if not labels:
            return
        words = list(labels[:shown])
        if len(words) < len(labels):
            (rest,) = axis.plot([], [], linestyle="none")
            curves, words = [*curves[: len(words)], rest], [*words, f"and {len(labels) - len(words)} more"]
        legend = axis.legend(
            curves, words, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=LEGEND,
            borderaxespad=0.2,
        )  # fmt: skip
        legend.set_in_layout(False)
        for text in legend.get_texts():
            text.set_parse_math(False)

    def _fit_legend(self, panel: int) -> None:
        """Say how many curves are not named where the legend is taller than its panel."""
        axis, shown = self.axes[panel], len(self.labels[panel])
        below = self.extent(self.axes[panel + 1]).y1 if panel + 1 < len(self.axes) else 0.0
        while axis.get_legend() and shown and self.extent(axis.get_legend()).height > self.extent(axis).y1 - below:
            shown -= 1
            self._legend(panel, shown)

    def _fit_label(self, axis: Axes) -> None:
        """Leave the unit alone where a panel is too low for the words beside its axis."""
        label = axis.yaxis.get_label()
        if self.extent(label).height > self.extent(axis).height + 12 * POINT and " [" in label.get_text():
            axis.set_ylabel("[" + label.get_text().rpartition("[")[2])

    def name(self, axis: Axes, named: Sequence[tuple[float, str]]) -> None:
        """Write names above a panel at values of its x axis, in as few lines as they need; say how many do not fit."""
        self.arrange()
        words, spans = [], []
        for x, text in named:
            word = axis.annotate(
                text, (x, 1.0), xytext=(0, 0), xycoords=("data", "axes fraction"), textcoords="offset points",
                fontsize=NAME, color=FAINT, annotation_clip=False, parse_math=False,
            )  # fmt: skip
            word.set_in_layout(False)
            at = float(axis.transData.transform((x, 0.0))[0])
            words.append(word)
            spans.append((at + 2 * POINT, self.cut(word, LONGEST * self.width)))
        places = side_by_side(spans, self.width - 4 * POINT, ROWS)
        for word, place, (x, _) in zip(words, places, named, strict=True):
            if place is None:
                word.remove()
                continue
            row, left = place
            at = float(axis.transData.transform((x, 0.0))[0])
            word.set_position(((left - at) / POINT, 2 + LINE * NAME * row))
        if left_out := places.count(None):
            self._foot.set_text(", ".join(filter(None, [f"without a name: {left_out} more", self._foot.get_text()])))
        self.arrange(1 + max((place[0] for place in places if place), default=-1))

    def save(self, out: Path) -> Path:
        """Write the page; raise RenderError where that is impossible."""
        with whole(out) as part:
            try:
                self.figure.savefig(part, format=out.suffix[1:].lower(), metadata=no_date(out))
            except OSError as error:
                raise RenderError(cannot_write(out, error)) from error
        return out


def no_date(out: Path) -> dict[str, None]:
    """Metadata without the time of day, so that equal runs give equal files."""
    return {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(out.suffix.lower(), {})


def side_by_side(spans: Sequence[tuple[float, float]], right: float, rows: int) -> list[tuple[int, float] | None]:
    """Return row and left end of words so that none covers another; None where all rows are full.

    spans : where each wants to begin, in increasing order, and its width; right : where all have to end
    """
    free = [float("-inf")] * rows
    out: list[tuple[int, float] | None] = []
    for x, width in spans:
        left = min(x, right - width)
        row = next((k for k, end in enumerate(free) if end <= left), None)
        out.append(None if row is None else (row, left))
        if row is not None:
            free[row] = left + width + 4 * POINT
    return out


def sorted_out(events: Sequence[Event], start: float, end: float) -> tuple[list[tuple[str, list[float]]], list[Event]]:
    """Part the events from start to end [s] into those that are named and those that are ticks.

    Named are those of the scene, with all their instants [s], in order of the first, and what has a caption; the
    others, such as impacts, and events that happen again and again, are many.
    """
    seen = [event for event in events if start <= event.time <= end]
    told = [event for event in seen if event.words and event.name]
    times: dict[str, list[float]] = {}
    for event in told:
        times.setdefault(event.name, []).append(event.time)
    often = {name for name, at in times.items() if len(at) > OFTEN}
    named = [(name, at) for name, at in times.items() if name not in often]
    return named, [event for event in seen if event not in told or event.name in often]
