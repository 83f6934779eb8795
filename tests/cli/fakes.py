"""An engine that takes no time: the commands are tested here, not the mechanics."""

from __future__ import annotations

import dataclasses
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sim
import sim.simulation.recorded_runs  # whole, before a part of it is replaced
from sim.recording import Recorder
from sim.scene import load as loading
from sim.scene.problem import Place, Problem, SceneError
from tests.recording import example


class SimulationError(RuntimeError):
    kept = "the motion up to then is kept"


@dataclasses.dataclass
class Report:
    problems: list[Problem] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    counts: dict[str, Any] = dataclasses.field(default_factory=lambda: {"bodies": 3, "loops": 1})
    pose_yaml: str = ""
    ok: bool = True


class Engine:
    """Stands in for the functions of `sim`; notes how it was called."""

    def __init__(self) -> None:
        self.loaded: dict[str, Any] = {}
        self.asked: dict[str, Any] = {}
        self.error: BaseException | None = None
        self.report = Report()
        self.warnings: list[Problem] = []
        self.information = {"joint_coordinates": 24, "mobility": 12, "loops": [{"joints": ["a", "b"], "rows": 6}]}

    def load(self, path: str | Path, *, set: dict[str, str] | None = None, trust: bool = False) -> Any:
        self.loaded = {"path": str(path), "set": set, "trust": trust}
        if "bad" in str(path):
            place = Place("bad.yaml", 3, 7, 4)
            raise SceneError(
                [
                    Problem(where=place, path="bodies.a.mass", what="expected a mass", source_line="mass: 2 cm"),
                    Problem(where=None, path="joints.b", what="there is no such thing", hint="did you mean 'c'?"),
                ]
            )
        keys = [types.SimpleNamespace(key=key) for key in ("let go", "jump", None)]
        settings = types.SimpleNamespace(duration=6.0, method="dop853")
        return types.SimpleNamespace(contacts=(), name=Path(path).stem, events=keys, simulate=settings, bodies=())

    def run(self, scene: Any, *, output: Path | None = None, progress: Any = None, **asked: Any) -> Any:
        self.asked = {**asked, "output": output}
        if isinstance(self.error, Exception):
            raise self.error
        layout = example.layout(2, scene=scene.name)
        recorder = Recorder(output, layout, overwrite=asked.get("overwrite", False))
        if progress is not None:
            progress(0.5, 1.0, 1)
        rows = example.rows(layout, 0, 121)
        rows["trust/position_residual"] = np.full(121, 3e-13)
        recorder.append(rows)
        if self.error is not None:  # Ctrl-C on the way
            recorder.finish(False)
            self.error.kept = "121 rows are kept"  # type: ignore[attr-defined]
            raise self.error
        recorder.event(0.5, "let go", "key", row_before=60, row_after=61)
        recorder.finish(True, {"steps": 90, "evaluations": 1080, "wall_time": 0.05})
        return recorder.take()

    def check(self, scene: Any) -> Report:
        return self.report

    def info(self, scene: Any, *, at: float | None = None, matrices: bool = False) -> dict[str, Any]:
        self.asked = {"at": at, **({"matrices": True} if matrices else {})}
        return self.information


def install(monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine()
    monkeypatch.setattr(loading, "load_checked", lambda *a, **k: (engine.load(*a, **k), engine.warnings))
    for name in ("load", "run", "check", "info"):
        monkeypatch.setitem(vars(sim), name, getattr(engine, name))  # before its lazy import
    module = types.ModuleType("sim.simulation.simulation_error")
    module.SimulationError = SimulationError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sim.simulation.simulation_error", module)
    return engine
