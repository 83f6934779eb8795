"""Compile the kernels that a wheel brings: ``python -m sim.analysis.shipping FOLDER`` puts them there."""

from __future__ import annotations

import sys
from pathlib import Path

from sim.analysis import warm_up
from sim.kernels import jit, shipped


def ship(folder: Path) -> None:
    """Compile every kernel, and put those that Python enters into a folder."""
    warm_up.everything()
    if jit.is_partial():
        raise RuntimeError("not all kernels were compiled")
    shipped.gather(jit.cache_folder(), jit.sources(), folder)


if __name__ == "__main__":
    ship(Path(sys.argv[1]))
