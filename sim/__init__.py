"""Simulation of figures and mechanisms whose structure varies while they move."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Public name -> module that defines it; imported when it is first used.
_PUBLIC = {
    "load": "sim.scene.load",
    "SceneError": "sim.scene.problem",
    "Problem": "sim.scene.problem",
    "compile": "sim.mechanism.compiler",
    "check": "sim.analysis.report",
    "info": "sim.analysis.report",
    "chain": "sim.analysis.chains",
    "Chain": "sim.closed_chains.chain",
    "inverse_dynamics": "sim.closed_chains.inverse",
    "InverseDynamics": "sim.closed_chains.inverse",
    "Sole": "sim.closed_chains.soles",
    "soles": "sim.analysis.standing_soles",
    "inverse_motion": "sim.closed_chains.along",
    "InverseMotion": "sim.closed_chains.along",
    "inverse": "sim.analysis.inverse.torques",
    "Torques": "sim.analysis.inverse.torques",
    "MotionError": "sim.analysis.inverse.whole_motion",
    "TableError": "sim.scene.time_table",
    "pose": "sim.analysis.poses",
    "Pose": "sim.analysis.poses",
    "Simulator": "sim.simulation.simulator",
    "SimulationError": "sim.simulation.simulator",
    "State": "sim.simulation.state",
    "StateError": "sim.simulation.state",
    "resume": "sim.simulation.resuming",
    "run": "sim.simulation.recorded_runs",
    "rollout": "sim.simulation.ensemble",
    "Ensemble": "sim.simulation.ensemble",
    "Rollout": "sim.simulation.ensemble",
    "verify": "sim.analysis.verification",
    "linearize": "sim.analysis.linear.study",
    "root_locus": "sim.analysis.linear.study",
    "Linearization": "sim.analysis.linear.study",
    "RootLocus": "sim.analysis.linear.study",
    "LinearError": "sim.analysis.linear.equations",
    "load_recording": "sim.recording",
    "Recording": "sim.recording",
    "RecordingError": "sim.recording",
    "Controller": "sim.plugin",
    "parameter": "sim.plugin",
}

__all__ = [
    "Chain",
    "Controller",
    "Ensemble",
    "InverseDynamics",
    "InverseMotion",
    "LinearError",
    "Linearization",
    "MotionError",
    "Pose",
    "Problem",
    "Recording",
    "RecordingError",
    "Rollout",
    "RootLocus",
    "SceneError",
    "SimulationError",
    "Simulator",
    "Sole",
    "State",
    "StateError",
    "TableError",
    "Torques",
    "chain",
    "check",
    "compile",
    "info",
    "inverse",
    "inverse_dynamics",
    "inverse_motion",
    "linearize",
    "load",
    "load_recording",
    "parameter",
    "pose",
    "resume",
    "rollout",
    "root_locus",
    "run",
    "soles",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'sim' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return what callers use: the public names, and what every module has."""
    return [*_PUBLIC, *(name for name in globals() if name.startswith("__"))]
