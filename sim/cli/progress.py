"""How far a run or a film has come, on standard error; silent where that is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sim.shown import one_line


@contextmanager
def run_progress(quiet: bool) -> Iterator[Callable[[float, float, Any], None] | None]:
    """Give a function of (simulated time, duration, events so far) that shows them."""
    with _bar(quiet, "simulating") as show:
        if show is None:
            yield None
            return
        began = time.monotonic()

        def progress(t: float, duration: float, events: Any) -> None:
            wall = max(time.monotonic() - began, 1e-9)
            show(t, duration, f"{t:.2f} of {duration:g} s, {t / wall:.1f} x real time{_events(events)}")

        yield progress


@contextmanager
def film_progress(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function of (pictures done, pictures in all) that shows them."""
    with _bar(quiet, "filming") as show:
        if show is None:
            yield None
        else:
            yield lambda done, total: show(done, total, f"{done} of {total} pictures")


def _events(events: Any) -> str:
    count = events if isinstance(events, int) else len(events)
    if not count:
        return ""
    latest = events[-1] if isinstance(events, Sequence) else ""
    name = getattr(latest, "name", latest)
    return f", {count} event{'' if count == 1 else 's'}" + (f" ({one_line(name, 60)})" if name else "")


@contextmanager
def _bar(quiet: bool, what: str) -> Iterator[Callable[[float, float, str], None] | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, words="")

        def show(done: float, total: float, words: str) -> None:
            bar.update(task, completed=done, total=total or 1.0, words=words)

        yield show
