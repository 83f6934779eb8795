"""Ctrl-C, SIGTERM and SIGHUP end a command in order: what was recorded is kept, what was half done is deleted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(KeyboardInterrupt):
    """A signal ends the command; `number` is which."""

    def __init__(self, number: int):
        self.number = number
        super().__init__(signal.Signals(number).name)


def end(number: int, frame: FrameType | None) -> NoReturn:
    """End the command now."""
    raise Ended(number)


@contextmanager
def ending() -> Iterator[None]:
    """Let signals raise `Ended`."""
    with _handled(end):
        yield


@contextmanager
def deferred() -> Iterator[Callable[[], None]]:
    """Give a function to call at pauses: it raises `Ended` when a signal came; compiled code must not see it.

    Until its first call a signal acts at once (kernels are still being compiled), and so does a second Ctrl-C.
    One that no pause follows acts at the end.
    """
    running = False
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if not running or (number == signal.SIGINT and len(came) > 1):
            end(number, frame)

    def pause() -> None:
        nonlocal running
        running = True
        if came:
            raise Ended(came[0])

    with _handled(note):
        yield pause
    if came:
        raise Ended(came[0])


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Handle signals so, but those that whoever started the program has it ignore, as shells do and `nohup`."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        wanted = [number for number in ENDING if signal.getsignal(number) not in (signal.SIG_IGN, None)]
        before = {number: signal.signal(number, handler) for number in wanted}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
