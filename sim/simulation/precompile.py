"""Compile the kernels once, by two processes at a time, into the cache that later runs load.

Kernels are the same machine code for every scene.  Another process runs small scenes that call them
(`sim.analysis.warm_up`); meanwhile this one compiles, beginning at another end, what stands behind addresses.  Nothing
is compiled twice (`claimed`).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sim.kernels import jit

WARM_UP = "sim.analysis.warm_up"  # runs scenes, and so stands above; it is started by name, in a process of its own

_compiling = False  # runs in here prepare nothing


def prepare() -> None:
    """Compile what nearly every run needs unless that was done before; a minute on two cores."""
    if jit.is_cold() and not _compiling:
        from sim.kernels.guards.spans import spans
        from sim.kernels.motion import motion

        with claimed("complete"), helped("run_without_contacts"):
            compile_entries(motion, spans)


def prepare_contacts() -> None:
    """Compile the kernels of contacts unless that was done before."""
    if jit.lacks_contacts() and not _compiling:
        from sim.kernels.guards.clearance import clearance

        with claimed("contacts"), helped("run_with_contacts"):
            compile_entries(clearance)


def prepare_steps() -> None:
    """Compile the kernels of time steps with contacts unless that was done before."""
    if jit.lacks_steps() and not _compiling:
        from sim.kernels.integrators.stepping import stepping

        with claimed("steps"), helped("run_in_steps"):
            compile_entries(stepping)


def compile_entries(*entries: jit.Entry) -> None:
    """Compile kernels behind addresses, and all that they call."""
    for entry in entries:
        entry.compile()


@contextmanager
def helped(task: str) -> Iterator[None]:
    """Let another process do a task of `WARM_UP` meanwhile.

    Raises
    ------
    HelperFailed
        When it did not do it; what it left is compiled where it is called.
    """
    # In a checkout, the current folder holds sources that need not be those that run here: -P leaves it out.
    sources = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    helper = subprocess.Popen(
        [sys.executable, "-P", "-m", WARM_UP, task],
        env={**os.environ, "PYTHONPATH": sources, "NUMBA_CACHE_DIR": str(jit.cache_folder().parent)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
        if helper.wait() != 0:
            raise HelperFailed
    finally:
        helper.kill()
        helper.wait()


class HelperFailed(Exception):
    """The other process did not compile what it should have."""


@contextmanager
def claimed(*names: str) -> Iterator[None]:
    """Let this process load what another one compiles, which it waits for; at the end, note what the cache has.

    Numba asks its cache before it compiles a kernel and tells it after; in between a byte of a file is locked, until
    the process ends at the latest.  Nobody waits for ever: who compiles a kernel waits only for those that it calls.
    """
    global _compiling
    from numba.core.caching import FunctionCache

    cache: Any = FunctionCache
    load, save = cache.load_overload, cache.save_overload

    def load_or_claim(kernel: Any, signature: Any, context: Any) -> Any:
        loaded = load(kernel, signature, context)
        if loaded is not None:
            return loaded
        with suppress(OSError):  # where files cannot be locked, both compile
            fcntl.lockf(claims, fcntl.LOCK_EX, 1, _place(kernel))
        loaded = load(kernel, signature, context)
        if loaded is not None:  # another one has compiled it meanwhile, and a third may wait for it
            leave(kernel)
        return loaded

    def save_and_leave(kernel: Any, signature: Any, compiled: Any) -> None:
        save(kernel, signature, compiled)
        leave(kernel)

    def leave(kernel: Any) -> None:
        with suppress(OSError):
            fcntl.lockf(claims, fcntl.LOCK_UN, 1, _place(kernel))

    folder = jit.cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "claims").open("wb") as claims:
        cache.load_overload, cache.save_overload, _compiling = load_or_claim, save_and_leave, True
        try:
            yield
        except HelperFailed:  # no cache to rely on: the next run tries again
            return
        finally:
            cache.load_overload, cache.save_overload, _compiling = load, save, False
    for name in names:
        (folder / name).touch()


def _place(kernel: Any) -> int:
    """Return the byte that stands for a kernel, by its name in the cache."""
    name = hashlib.sha256(f"{kernel.cache_path} {kernel._impl.filename_base}".encode())
    return int.from_bytes(name.digest()[:7], "little")
