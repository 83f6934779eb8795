"""How far a run or a film has come, on standard error; silent where that is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sim.scene.shown import one_line


@contextmanager
def waiting(quiet: bool, what: str) -> Iterator[None]:
    """Show what is done, and for how long, where nothing tells how much of it is."""
    with _bar(quiet, what):
        yield


@contextmanager
def run_progress(
    quiet: bool, what: str = "simulating", first: str = "assembling"
) -> Iterator[Callable[[float, float, Any], None] | None]:
    """Give a function of (simulated time, duration, events so far) that shows them.

    what : is done; first : what is done before the function is called
    """
    with _bar(quiet, first) as show:
        if show is None:
            yield None
            return
        began = 0.0

        def progress(t: float, duration: float, events: Any) -> None:
            nonlocal began
            began = began or time.monotonic()
            wall = max(time.monotonic() - began, 1e-9)
            show(t, duration, what, f"{t:.2f} of {duration:g} s, {t / wall:.1f} x real time{_events(events)}")

        yield progress


@contextmanager
def film_progress(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function of (pictures done, pictures in all) that shows them."""
    with _bar(quiet, "filming") as show:
        if show is None:
            yield None
        else:
            yield lambda done, total: show(done, total, "filming", f"{done} of {total} pictures")


def _events(events: Any) -> str:
    count = events if isinstance(events, int) else len(events)
    if not count:
        return ""
    latest = events[-1] if isinstance(events, Sequence) else ""
    name = getattr(latest, "name", latest)
    return f", {count} event{'' if count == 1 else 's'}" + (f" ({one_line(name, 60)})" if name else "")


@contextmanager
def _bar(quiet: bool, what: str) -> Iterator[Callable[[float, float, str, str], None] | None]:
    """Show what is done at once, and how long it takes, on a terminal; it moves while nothing is told, too."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[words]}", markup=False),
    )  # fmt: skip
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None, words="")

    def show(done: float, total: float, what: str, words: str) -> None:
        bar.update(task, completed=done, total=total or 1.0, description=what, words=words)

    with suppress(OSError):
        bar.start()
    try:
        yield show
    finally:
        with suppress(OSError):  # the terminal is gone
            bar.stop()
