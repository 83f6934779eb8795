"""A scene run again: its rows kept in memory, chosen instants looked at on the way, the start pushed a little."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sim.analysis.verification.looks import Looks, Over
from sim.analysis.verification.missed import Missed
from sim.assembly.loop_closure import close_positions, close_velocities
from sim.kernels.project import add_freedoms
from sim.mechanism.model import Model
from sim.simulation.journal import EventRecord
from sim.simulation.recorded_runs import follow
from sim.simulation.simulation_error import SimulationError
from sim.simulation.simulator import Simulator
from sim.simulation.state import State

# What a look at one row finds: called with (row, flow) while the flow has the structure of that row.
Look = Callable[[int, Simulator], None]
Tell = Callable[[float, float, int], object]


# `rerun` with a recording's settings, called with a model and the rest.
Again = Callable[..., "Rerun"]


class _Enough(Exception):
    """The last row that is wanted has been told."""


@dataclass
class Rerun:
    """Rows and happenings of a run.

    values : dataset of rows -> array, as in a recording
    states : (first row, q, v) of each block of rows
    touches : closed points of contact of all rows, as in a recording; empty where nothing touched
    ended : the sentence with which the run ended before its time; empty where it did not
    missed, looks : crossings that the run passed by, and at how many places one looked; see
    `sim.analysis.verification.looks`
    """

    values: dict[str, np.ndarray] = field(default_factory=dict)
    states: list[tuple[int, np.ndarray, np.ndarray]] = field(default_factory=list)
    touches: dict[str, np.ndarray] = field(default_factory=dict)
    events: list[EventRecord] = field(default_factory=list)
    ended: str = ""
    missed: list[Missed] = field(default_factory=list)
    looks: int = 0

    @property
    def time(self) -> np.ndarray:
        """Instants (n,) s."""
        return self.values["time"]


class _Memory:
    """A journal that keeps all rows, and looks at some of them."""

    def __init__(self, rows: Sequence[int], look: Look | None, last: float):
        self.blocks: list[Mapping[str, np.ndarray]] = []
        self.states: list[tuple[int, np.ndarray, np.ndarray]] = []
        self.touches: list[dict[str, np.ndarray]] = []
        self.events: list[EventRecord] = []
        self.count, self.last, self.simulator = 0, last, None
        self.wanted, self.look = sorted(rows), look

    def rows(self, values: dict[str, np.ndarray], q: np.ndarray, v: np.ndarray) -> None:
        """Keep a block of rows."""
        self.blocks.append(values)
        self.states.append((self.count, q, v))
        first, self.count = self.count, self.count + len(q)
        while self.wanted and self.wanted[0] < self.count:
            row = self.wanted.pop(0)
            if row >= first and self.look is not None and self.simulator is not None:
                self.look(row, self.simulator)
        if values["time"][-1] > self.last:
            raise _Enough

    def contacts(self, values: dict[str, np.ndarray]) -> None:
        """Keep closed points of contact of the next block of rows."""
        self.touches.append({**values, "row": values["row"] + self.count})

    def epoch(self, tree: list[str], loops: list[str], nq: int, nv: int) -> None:
        """Nothing: rows are compared by the names of bodies and joints."""

    def event(self, record: EventRecord) -> None:
        """Keep an event."""
        self.events.append(record)

    def rest(self, take: Callable[[], State], finished: bool = False, stopped: bool = False) -> None:
        """Nothing: it is run to its end."""


def rerun(
    model: Model, duration: float, *, seed: int | None = None, triggers: Sequence[tuple[str, float]] = (),
    last: float = np.inf, push: float = 0.0, rows: Sequence[int] = (), look: Look | None = None,
    tell: Tell | None = None, finely: bool = False, blind_from: float = np.inf, start: State | None = None,
) -> Rerun:  # fmt: skip
    """Run a model again.

    Parameters
    ----------
    model : Model
    duration, seed, triggers : as the recording's settings have them
    last : float
        [s] Stop once a row past this time was told; for recordings that end before their time.
    push : float
        How far to move the start, and to change its speeds a second: of the model's length and of a radian,
        along directions that the loops allow, the same in every run.
    rows, look : rows of which `look(row, simulator)` is called once the block with them was told
    tell : progress, called as ``tell(t, duration, events)``
    finely : look for crossings within steps
    blind_from : float
        [s] Pass by what crosses first then or later, and end where it is over; `missed` says how deep it got.
    start : State, optional
        Where the run began, if not as its scene does.
    """
    simulator = Simulator(model, seed=seed)
    if start is not None:
        simulator.restore(start)
    if push:
        _push(simulator, push)
    memory = _Memory(rows, look, last)
    memory.simulator = simulator  # type: ignore[assignment]
    simulator.journal = memory
    out = Rerun()
    looks = Looks(simulator, blind_from) if finely or blind_from < np.inf else None
    try:
        if start is not None:
            simulator.go_on()
        follow(simulator, duration, triggers, tell, memory.events)
    except (_Enough, Over):
        pass
    except SimulationError as error:
        out.ended = str(error)
    names = memory.blocks[0] if memory.blocks else ()
    out.values = {name: np.concatenate([block[name] for block in memory.blocks]) for name in names}
    touched = memory.touches[0] if memory.touches else ()
    out.touches = {name: np.concatenate([block[name] for block in memory.touches]) for name in touched}
    out.states, out.events = memory.states, memory.events
    if looks is not None:
        out.missed, out.looks = looks.finish(), looks.count
    return out


def _push(simulator: Simulator, size: float) -> None:
    """Move the start by so much and change its speeds by so much a second, in directions that the loops allow."""
    flow = simulator.flow
    mechanism, q, v = flow.mechanism, flow.q.copy(), flow.v.copy()
    move, change = (_direction(simulator, seed) for seed in (5, 6))
    add_freedoms(mechanism.structure.tables.links, size * move, 1.0, q)
    nowhere = np.zeros(len(v), bool)
    close_positions(mechanism, q, nowhere)
    v += size * change
    close_velocities(mechanism, q, v, nowhere)
    flow.q[:], flow.v[:] = q, v
    flow.update()
    flow.restart()


def _direction(simulator: Simulator, seed: int) -> np.ndarray:
    """Return speeds (nv,) at random that the loops allow, the largest one of the model's length or one radian."""
    flow = simulator.flow
    linear = np.asarray(flow.structure.tables.freedoms.linear) == 1
    unit = np.where(linear, flow.model.length, 1.0)
    out = np.random.default_rng(seed).normal(size=len(unit)) * unit
    close_velocities(flow.mechanism, flow.q.copy(), out, np.zeros(len(out), bool))
    return out / max(float(np.abs(out / unit).max(initial=0.0)), 1e-300)
