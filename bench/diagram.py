"""Diagrams of results, as pictures.

Work-precision: error to the right, wall time upwards, so best is below and left.  Lines: whatever a result asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.measure import Result
from bench.work_precision import REACHED
from render.plots import LINES

MARKS = "osDv^<>ph*"


def draw(results: Sequence[Result], folder: Path) -> list[Path]:
    """Draw one picture for each benchmark whose results have errors, and those that lines name; returns the files."""
    names = dict.fromkeys(result.name for result in results if "curve" in result.more)
    pictures = dict.fromkeys(result.more["picture"] for result in results if "picture" in result.more)
    folder.mkdir(parents=True, exist_ok=True) if names or pictures else None
    files = [_draw(name, [r for r in results if r.name == name], folder) for name in names]
    return files + [_lines(p, [r for r in results if r.more.get("picture") == p], folder) for p in pictures]


def _lines(picture: str, results: list[Result], folder: Path) -> Path:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across, upwards = results[0].more["axes"]
    with matplotlib.rc_context({"font.size": 9.5}):
        figure = Figure(figsize=(9.6, 5.4), dpi=130, layout="constrained")
        FigureCanvasAgg(figure)
        axis = figure.subplots()
        for k, result in enumerate(results):
            x, y = result.more["x"], result.more["y"]
            few = {"marker": MARKS[k % len(MARKS)], "markersize": 4} if len(x) < 20 else {}
            style = "-" if k == 0 else (0, (3, 2))  # what follows is seen where it lies on the first
            axis.plot(
                x, y, label=result.more["label"], color=LINES[k % len(LINES)], linewidth=1.6, linestyle=style, **few
            )
        for which in results[0].more["logarithmic"]:
            axis.set(**{f"{which}scale": "log"})
        axis.set_xlabel(across)
        axis.set_ylabel(upwards)
        axis.grid(color="#e3e6e9", linewidth=0.7)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8.5, borderaxespad=0.2)
        figure.suptitle(picture.replace("_", " "), x=0.01, ha="left", fontsize=11, color="#4b525b")
        file = folder / f"{picture}.png"
        figure.savefig(file, format="png")
    return file


def _draw(name: str, results: list[Result], folder: Path) -> Path:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    curves: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        time = result.ours if result.peer is None else result.value
        if time is not None:
            curves.setdefault(result.more["curve"], []).append((result.more["error"], time))
    with matplotlib.rc_context({"font.size": 9.5}):
        figure = Figure(figsize=(9.6, 5.4), dpi=130, layout="constrained")
        FigureCanvasAgg(figure)
        axis = figure.subplots()
        axis.axvline(REACHED, color="#9aa1a9", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
        for k, (curve, points) in enumerate(curves.items()):
            x, y = zip(*points, strict=True)
            mine = curve == "ours"
            style = "-" if mine or "tuned" in curve or "tree" in curve else (0, (3, 2))
            axis.plot(
                x, y, label=curve, color="black" if mine else LINES[k % len(LINES)], linestyle=style,
                linewidth=2.4 if mine else 1.2, marker=MARKS[k % len(MARKS)], markersize=4, zorder=3 if mine else 2,
            )  # fmt: skip
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("error of places and velocities at the end, relative")
        axis.set_ylabel("wall time [s]")
        axis.grid(color="#e3e6e9", linewidth=0.7)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8.5, borderaxespad=0.2)
        figure.suptitle(name, x=0.01, ha="left", fontsize=11, color="#4b525b")
        file = folder / f"{name.replace('.', '_')}.png"
        figure.savefig(file, format="png")
    return file
