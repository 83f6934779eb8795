"""Peak memory of one piece of work, in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")


def peak(call: Callable[..., Any], *arguments: Any) -> float:
    """Do work in a new process and return the most memory that it held [MB], its interpreter and libraries included.

    call : a function of a module, with arguments that can be pickled

    Raises
    ------
    RuntimeError
        When the work fails there.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(there, call, arguments))
    process.start()
    there.close()
    try:
        found = here.recv()
    except EOFError:
        found = "the process ended without an answer"
    process.join()
    if isinstance(found, str):
        raise RuntimeError(f"memory of {call.__module__}.{call.__name__}: {found}")
    return float(found)


def _work(answer: Connection, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            call(*arguments)
        answer.send(_held())
    except BaseException as error:
        answer.send(f"{type(error).__name__}: {error}")


def _held() -> float:
    """Return the peak of this process [MB].

    Linux keeps in a new process's `ru_maxrss` what its parent held, so its own mark is asked first.
    """
    if STATUS.exists():
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    import resource

    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held / 2**20 if sys.platform == "darwin" else held / 1024
