"""Ctrl-C while a kernel runs: compiled code must not see it, so it waits for the next pause."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred() -> Iterator[Callable[[], None]]:
    """Give a function to call at pauses: it raises KeyboardInterrupt when Ctrl-C was pressed.

    Until its first call Ctrl-C acts at once (kernels are still being compiled), and so does a
    second Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    running = pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed or not running:
            raise KeyboardInterrupt
        pressed = True

    def pause() -> None:
        nonlocal running
        running = True
        if pressed:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield pause
    finally:
        signal.signal(signal.SIGINT, before)
