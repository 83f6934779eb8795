"""How much energy a scene gains in which nothing puts any in.

Energy is kinetic and potential, of every row that a run tells: those of samples, and those before and after each event.
What it is above the least of all rows before is a gain.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sim
from sim.scene.load import load_text
from sim.simulation.journal import EventRecord
from sim.simulation.state import State
from tests.contact.engine import G0
from tests.energies.scenes import scene

SPAN = 0.6  # s of each scene
STEP = 1e-3  # s of time steps
PATIENCE = 15.0  # s of processor time, after which a scene is left where it is
MODES = {
    "event": "contact: event, rtol: 1e-11, record: 200 Hz",
    "stepping": f"contact: stepping, dt: {STEP}, record: 200 Hz",
}  # fmt: skip
# What may be gained, as a share of the largest kinetic energy.  Event mode: errors of the integrator, whose tolerance
# is a hundredth of it, and points that touch are closed when they are decided on, which may lift all by the gap [m] at
# which they do.  Time steps: errors of first order, for each radian that a body turns within a step.
EVENT, CLOSED = 1e-9, 1e-9
TURN = 4.0


@dataclass(frozen=True)
class Gain:
    """What a scene gained.

    gain : J, the largest; at : s, when; kinetic : J, the largest energy of motion
    reached : s; said : why the run ended there, or empty
    bound : share of `kinetic` that is allowed
    """

    number: int
    family: str
    gain: float
    at: float
    kinetic: float
    reached: float
    bound: float
    said: str = ""

    @property
    def share(self) -> float:
        """The gain as a share of the largest kinetic energy."""
        return self.gain / self.kinetic if self.kinetic > 0.0 else 0.0

    @property
    def kept(self) -> bool:
        """Whether no more is gained than is allowed."""
        return self.share <= self.bound

    def __str__(self) -> str:
        end = f", ended at {self.reached:.4g} s: {self.said}" if self.said else ""
        return f"scene {self.number} ({self.family}): {self.share:.2e} of {self.kinetic:.3g} J at {self.at:.4g} s{end}"


class Energies:
    """A journal that keeps times and energies of rows."""

    def __init__(self) -> None:
        self.blocks: list[np.ndarray] = []

    def rows(self, values: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
        speed = np.sqrt(np.square(values["velocity"]).sum(axis=2)).max(axis=1)
        spin = np.sqrt(np.square(values["angular_velocity"]).sum(axis=2)).max(axis=1)
        columns = values["time"], values["energy/kinetic"], values["energy/potential"], speed, spin
        self.blocks.append(np.stack(columns, axis=1).copy())

    def contacts(self, values: dict[str, np.ndarray]) -> None:
        pass

    def epoch(self, tree: list[str], loops: list[str], nq: int, nv: int) -> None:
        pass

    def event(self, happening: EventRecord) -> None:
        pass

    def rest(self, take: Callable[[], State], finished: bool = False, stopped: bool = False) -> None:
        pass


class _Late(Exception):
    """It takes too long."""


def gain_of(number: int, mode: str, dt: float = STEP, span: float = SPAN) -> Gain:
    """Run a scene and return what it gained.  dt : s, of time steps; span : s of the scene."""
    family, text = scene(number, MODES[mode].replace(f"{STEP}", f"{dt}"))
    told, said, began = Energies(), "", time.process_time()

    def patience(_: float) -> None:
        if time.process_time() - began > PATIENCE:
            raise _Late

    simulator = sim.Simulator(sim.compile(load_text(text)), journal=told)
    try:
        simulator.advance(span, progress=patience)
        simulator.finish()
    except sim.SimulationError as error:
        said = str(error)
    except _Late:
        said = "takes too long"
    t, kinetic, potential, speed, spin = np.concatenate(told.blocks).T
    energy = kinetic + potential
    gains = energy - np.minimum.accumulate(energy)
    worst = int(np.argmax(gains))
    weight = G0 * float(simulator.model.bodies.mass.sum()) / max(float(kinetic.max()), 1e-12)  # 1/m
    if mode == "event":
        bound = EVENT + CLOSED * weight
    else:  # a height of a step at the largest speed, and the turn
        bound = dt * (weight * float(speed.max()) + TURN * float(spin.max()))
    return Gain(number, family, float(gains[worst]), float(t[worst]), float(kinetic.max()), simulator.t, bound, said)


def write(folder: Path, gain: Gain, mode: str) -> Path:
    """Write the scene of a gain to a file; returns its path."""
    _, text = scene(gain.number, MODES[mode])
    path = folder / f"{mode}_{gain.number}.yaml"
    path.write_text(text, encoding="utf-8")
    return path
