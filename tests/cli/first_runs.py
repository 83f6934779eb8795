"""Run what a user may run, in a process of its own; print which compiled kernels it takes or adds, as JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import sim
from sim.kernels import jit
from sim.scene import library


def stored() -> set[Path]:
    """Return the files of all compiled kernels of the program: other tests compile some of their own meanwhile."""
    folder = jit.cache_folder()
    return {path for path in folder.rglob("*.nbc") if path.relative_to(folder).parts[0] in ("sim", "plugins")}


def run_all() -> None:
    """Every shipped scene, every method, loops along the tree, rollouts with and without torques, verification."""
    pendulum = sim.load(library.find("pendulum"))
    for name in library.names():
        sim.run(sim.load(library.find(name)), duration=0.01).close()
    for name in ("pendulum", "four_bar", "rope", "swing"):
        scene = sim.load(library.find(name))
        for method in ("radau", "auto", "rk4", "semi_implicit", "variational"):
            sim.run(replace(scene, simulate=replace(scene.simulate, method=method)), duration=0.01).close()
    many = sim.load(library.find("benchmarks/four_bars"), set={"windows": 110})
    sim.run(many, duration=0.01).close()
    model = sim.compile(pendulum)
    for method in ("dop853", "radau", "auto", "rk4", "semi_implicit"):
        assert sim.rollout(model, np.zeros(2), np.zeros((1, 2, 1)), dt=0.01, method=method).ok.all()
    assert sim.rollout(model, np.zeros((3, 2)), None, 2, dt=0.01).ok.all()
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "run.h5"
        sim.run(sim.load(library.find("benchmarks/bricard")), duration=0.1, output=recording).close()
        assert sim.verify(recording).ok
    sim.info(sim.load(library.find("four_bar")), at=0.1)


if __name__ == "__main__":
    before, opened = stored(), set[str]()
    sys.addaudithook(lambda event, arguments: opened.add(str(arguments[0])) if event == "open" else None)
    run_all()
    taken = {path for path in before if str(path) in opened}
    filled = (jit.cache_folder() / "everything").stat().st_mtime
    late = stored() - before | {path for path in taken if path.stat().st_mtime > filled}
    json.dump({"taken": len(taken), "late": sorted(path.name for path in late)}, sys.stdout)
