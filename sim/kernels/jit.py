"""The one way a kernel is compiled.

Numba keys its disk cache on the decorated function's own file, so a kernel that calls a helper in
another file would keep running the helper's old machine code after an edit.  Kernels are therefore kept
under a digest of all files that they are made from (`sim.kernels.sources`), in a folder that is named after a
digest of every file that a kernel can read, and begins with what an older one has.

`kernel` is the identity where kernels are interpreted: with ``NUMBA_DISABLE_JIT=1``, or after
`interpret()` was called before any kernel was imported (``sim check`` does so: it needs a few
passes only, and numba alone takes half a second to import).
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_SIM = Path(__file__).resolve().parent.parent
_SOURCES = sorted(_SIM.glob("kernels/**/*.py"))
_FAST = {"contract", "arcp", "nsz"}  # never nnan or ninf: they compile isfinite(nan) to True

_interpret = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
_chosen = False
_folder: Path | None = None
_refused: list[str] = []  # sentences about folders


def interpret() -> None:
    """Make `kernel` the identity in this process; without effect once a kernel was compiled."""
    global _interpret
    if not _chosen:
        _interpret = True


def interpreted() -> bool:
    """Tell whether kernels run as plain Python in this process."""
    return _interpret


def sources() -> str:
    """Return a digest of all files that a kernel can read."""
    digest = hashlib.sha256()
    for path in _SOURCES:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def source_digest() -> str:
    """Return a digest of numba's version and its checks, a dash, and one of all sources that a kernel can read."""
    from numba import __version__

    around = "\n".join((__version__, sys.version, os.environ.get("NUMBA_BOUNDSCHECK", "")))
    return f"{hashlib.sha256(around.encode()).hexdigest()[:8]}-{sources()}"


def cache_folder() -> Path:
    """Return the folder of compiled kernels: in NUMBA_CACHE_DIR, beside the package, else in the user's cache.

    One that others may write to is refused; see `sim.kernels.cache`.
    """
    global _folder
    if _folder is None:
        from sim.kernels.cache import begin_with_older, choose

        _folder, refused = choose(_SIM, source_digest())
        begin_with_older(_folder)
        _refused.extend(refused)
    return _folder


def cache_refusals() -> list[str]:
    """Return a sentence about each better folder for compiled kernels that is refused."""
    cache_folder()
    return list(_refused)


@cache
def shipped_refusal() -> str | None:
    """Return why kernels that came with the program are not taken, nothing where they are; None where none came."""
    from sim.kernels import shipped

    return shipped.refusal(sources())


def _lacks(mark: str) -> bool:
    return not _interpret and shipped_refusal() != "" and not (cache_folder() / mark).exists()


def is_cold() -> bool:
    """Tell whether the kernels still have to be compiled on this machine."""
    return _lacks("complete")


def is_partial() -> bool:
    """Tell whether something that runs may call still has to be compiled on this machine."""
    return _lacks("everything")


def lacks_contacts() -> bool:
    """Tell whether the kernels of contacts still have to be compiled on this machine."""
    return _lacks("contacts")


def lacks_steps() -> bool:
    """Tell whether the kernels of time steps with contacts still have to be compiled on this machine."""
    return _lacks("steps")


def _configure() -> None:
    global _chosen
    from numba import config

    settings: Any = config
    settings.CACHE_DIR = str(cache_folder())  # each time: numba forgets it when its environment changes
    if not _chosen:
        from sim.kernels import shortcuts
        from sim.kernels.cache import use_checked_files

        use_checked_files(with_shipped=shipped_refusal() == "")
        shortcuts.take()
        _load_without_blas()
        _chosen = True


def _load_without_blas() -> None:
    """Load numba's array functions without scipy.linalg: they look for a BLAS that kernels never call (0.2 s)."""
    if "scipy.linalg" in sys.modules:
        return
    absent = "scipy.linalg" if "scipy" in sys.modules else "scipy"
    sys.modules[absent] = None  # type: ignore[assignment]
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules[absent]


# No reference counts: kernels own no memory, so one that allocates does not compile.
_OPTIONS: dict[str, Any] = {"_nrt": False, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": _FAST}


@contextmanager
def _compiling_at(level: int) -> Iterator[None]:
    """Optimise at a level of LLVM's.

    Garbage among what is old is left alone meanwhile: to look for it takes a sixth of the time to compile.
    """
    from numba import config

    settings: Any = config
    before = settings.OPT, gc.get_threshold()
    settings.OPT = level
    gc.set_threshold(100_000, 20, 1_000_000)
    try:
        yield
    finally:
        settings.OPT = before[0]
        gc.set_threshold(*before[1])


def _with_room(call: Callable[[Any], Any], argument: Any) -> Any:
    """Call a function where the interpreter's stack of frames has room for all that it calls."""
    return call(argument)


# That stack grows by pieces of 16 kB, and a loop that calls across a border takes a piece from the system and gives it
# back each time, which was a sixth of the time to compile.  A frame of a megabyte makes a piece of two.
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=2**17 + 2**10)


def _compiled_at(level: int, dispatcher: Any, entered: bool) -> Any:
    """Let a kernel be optimised at an LLVM level of its own, and once for all constants that it is called with."""
    from numba import types

    from sim.kernels.libraries import made_as

    compile_as_usual = dispatcher.compile

    def compile_at_level(signature: Any) -> Any:
        if isinstance(signature, tuple):
            signature = tuple(types.unliteral(kind) for kind in signature)
        with _compiling_at(level), made_as(entered):
            return _with_room(compile_as_usual, signature)

    dispatcher.compile = compile_at_level
    return dispatcher


def _compile(
    function: Callable[..., Any], level: int, from_python: bool, inside: bool = False, unlocked: bool = False
) -> Any:
    if _interpret:
        return function
    _configure()
    import numba

    njit: Any = numba.njit
    wrapped = {"no_cpython_wrapper": not from_python, "nogil": unlocked}
    dispatcher = njit(cache=True, forceinline=inside, **wrapped, **_OPTIONS)(function)
    if not from_python:
        _close(dispatcher)
    return _compiled_at(level, dispatcher, from_python)


def _close(dispatcher: Any) -> None:
    """Let Python be refused by a kernel that is not compiled for it, instead of crashing in it."""

    def keep(result: Any) -> None:
        dispatcher.overloads[tuple(result.signature.args)] = result

    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError(
            f"{dispatcher.py_func.__name__} is called by other kernels only; @python_kernel lets Python call it"
        )

    dispatcher.add_overload, dispatcher._compile_for_args = keep, refuse


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function over numbers and arrays that other kernels call, not Python."""
    return _compile(function, 3, False)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a kernel whose machine code becomes part of its callers': a table passed on costs ten stores."""
    return _compile(function, 3, False, inside=True)


def python_kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel that Python calls, too."""
    return _compile(function, 3, True)


def driver(function: Callable[..., Any]) -> Any:
    """Compile a kernel that mostly calls other kernels.

    Numba optimises a kernel again together with everything that it calls.  The callees are optimised
    already, so here a low level saves most of the time to compile and none of the speed.
    """
    return _compile(function, 1, False)


def python_driver(function: Callable[..., Any]) -> Any:
    """Compile a driver that Python calls."""
    return _compile(function, 1, True)


def unlocked_driver(function: Callable[..., Any]) -> Any:
    """Compile a driver that Python calls, and that leaves the interpreter to other threads until it returns."""
    return _compile(function, 1, True, unlocked=True)


def spliced(function: Callable[..., Any]) -> Any:
    """Compile a function into each of its callers: it has no machine code of its own."""
    if _interpret:
        return function
    _configure()
    import numba

    return numba.njit(inline="always", **_OPTIONS)(function)


class Entry:
    """A driver behind an address, compiled when the address is first asked for; see `sim.kernels.system`."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self._compiled: Any = None

    def compile(self) -> None:
        """Compile it, or load it from the cache."""
        if self._compiled is not None:
            return
        _configure()
        from numba import cfunc, types

        from sim.kernels.libraries import made_as

        number = types.CPointer(types.float64)
        signature = types.int64(types.int64, types.int64, types.float64, number, number)
        options = {name: value for name, value in _OPTIONS.items() if name != "no_cfunc_wrapper"}
        with _compiling_at(1), made_as(entered=True):
            self._compiled = _with_room(cfunc(signature, cache=True, **options), self.function)

    @property
    def address(self) -> Any:
        """Where it is; itself where kernels are interpreted."""
        if _interpret:
            return self.function
        self.compile()
        return int(self._compiled.address)


def entry(function: Callable[..., Any]) -> Entry:
    """Put a driver behind an address."""
    return Entry(function)
