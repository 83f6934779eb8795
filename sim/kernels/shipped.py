"""Kernels that came with the program, in its wheel: compiled for all processors of one kind.

They are as much part of the program as its sources are: who may write them may write those, so nobody's hands are
looked at, as they are where kernels are kept (`sim.kernels.cache`).  They are taken whole or not at all, where sources,
Python, numba and processor are what they were made for; laws, and what a damaged file had, are compiled as ever.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.core import config

from sim.kernels import cache

LIST = "made_for.json"
# What a processor of the kind has, in LLVM's words.
FEATURES = {
    "avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2",
    "ssse3", "xsave",
}  # fmt: skip


def here(sources: str) -> dict[str, str]:
    """Return what kernels of this process depend on, the processor apart.

    sources : digest of the files that a kernel can read
    """
    return {
        "sources": sources,
        "Python": f"{sys.implementation.cache_tag} on {sys.platform}",
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "checks of indices": os.environ.get("NUMBA_BOUNDSCHECK", ""),
    }


def refusal(sources: str) -> str | None:
    """Return why kernels that came with the program are not taken, nothing where they are; None where none came."""
    if not cache.SHIPPED.exists():
        return None
    try:
        told = json.loads((cache.SHIPPED / LIST).read_text())
        made_for, sizes = told["made for"], told["files"]
        whole = all((cache.SHIPPED / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        whole = False
    if not whole:
        return "a file is missing or damaged"
    for what, value in here(sources).items():
        if made_for.get(what, "") != value:
            return f"made for {what} {made_for.get(what) or 'off'}, not {value or 'off'}"
    settings: Any = config
    if settings.CPU_NAME is not None or settings.CPU_FEATURES is not None:
        return "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES asks for others"
    has = {name for name, there in llvm.get_host_cpu_features().items() if there}
    lacking = ", ".join(sorted(FEATURES - has))
    return f"this processor is no {cache.PROCESSOR[0]}: it lacks {lacking}" if lacking else ""


def damaged() -> list[str]:
    """Return which files are not as they were written."""
    return [
        name
        for name in json.loads((cache.SHIPPED / LIST).read_text())["files"]
        if not cache.checked(cache.SHIPPED / name)
    ]


def gather(kept: Path, sources: str, folder: Path) -> None:
    """Put into a folder what came to be kept, compiled for `cache.PROCESSOR`, of kernels that Python enters.

    Those that only kernels call are in there with those that call them.
    """
    sizes: dict[str, int] = {}
    for path in sorted(kept.rglob("*.nbi")):
        stamp, overloads = cache.read(path)
        entered = {key: name for key, name in overloads.items() if _is_entered(path.with_name(name))}
        if not entered:
            continue
        files = {name: path.with_name(name).read_bytes() for name in entered.values()}
        for name, data in {path.name: cache.packed((stamp, entered)), **files}.items():
            place = folder / path.parent.relative_to(kept) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            sizes[place.relative_to(folder).as_posix()] = len(data)
    (folder / LIST).write_text(json.dumps({"made for": here(sources), "files": sizes}, indent=1))


def _is_entered(path: Path) -> bool:
    """Tell whether a kernel has machine code of its own; see `sim.kernels.libraries`."""
    found = cache.read(path)
    if found is None:  # of a law's own module, which is there while it is used
        return True
    (_, _, (code, *_)), *_ = found
    return bool(code)
