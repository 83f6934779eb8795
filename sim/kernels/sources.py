"""Which sources a kernel's machine code is made from: its own file, and all that this one imports among the kernels.

Layouts of tables are read by every kernel, whether its file imports them or not: arguments bring them.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

KERNELS = Path(__file__).resolve().parent
LAYOUTS = ("jit", "libraries", "system")  # with what they import
# Statements of other kinds are not used here, which a test holds; to parse all files takes half a second.
_IMPORT = re.compile(r"^ *from (sim\.kernels[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


@cache
def digest(file: str) -> str:
    """Return a digest of all sources that the kernels of a file are made from."""
    found = reached(Path(file).resolve()).union(*(reached(KERNELS / f"{name}.py") for name in LAYOUTS))
    return hashlib.sha256("".join(sorted(map(_own_digest, found))).encode()).hexdigest()


def reached(file: Path) -> frozenset[Path]:
    """Return a file and those of the kernels that it imports, and they, and so on."""
    found, waiting = {file}, [file]
    while waiting:
        new = _imported(waiting.pop()) - found
        found |= new
        waiting += new
    return frozenset(found)


@cache
def _imported(file: Path) -> frozenset[Path]:
    """Return the files of kernels that a file imports, at its head or within a function."""
    names: set[str] = set()
    for module, parts in _IMPORT.findall(_text(file).decode()):
        names |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", parts))}
    return frozenset(_modules()[name] for name in names & _modules().keys())


@cache
def _modules() -> dict[str, Path]:
    """Return where each module among the kernels stands, by its whole name."""
    out = {}
    for path in KERNELS.rglob("*.py"):
        parts = path.relative_to(KERNELS).with_suffix("").parts
        out[".".join(("sim", "kernels", *(part for part in parts if part != "__init__")))] = path
    return out


@cache
def _own_digest(file: Path) -> str:
    return hashlib.sha256(_text(file)).hexdigest()


@cache
def _text(file: Path) -> bytes:
    return file.read_bytes()
