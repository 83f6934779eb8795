"""What a run is at an instant, as a value: it is copied, compared, written to a file and read from one."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.kernels.stepper import Stepper, T
from sim.kernels.tables import Control
from sim.kernels.watched import Guards
from sim.mechanism.frames import Frames
from sim.mechanism.methods import Turn
from sim.scene.arguments import found
from sim.scene.frozen import freeze
from sim.simulation.plain_values import PlainError, from_plain, same, to_plain
from sim.simulation.spending import Spending

if TYPE_CHECKING:
    from sim.contact.remembered import Contacts
    from sim.mechanism.active_bound import ActiveBound
    from sim.mechanism.model import Model
    from sim.mechanism.touch import Touch

VERSION = 7  # of what `State.to_plain` writes


class StateError(ValueError):
    """A state that does not fit a scene, or cannot be written or read."""


@dataclass
class Connections:
    """Which structure the mechanism has: what `sim.mechanism.structure.build` is asked for.

    active : joints that are connected
    frames : where each is bound
    carrier : (1 + bodies,) tree joint of each body
    touches, holds : closed points of contact; freedoms at rest at their stops or by friction
    meetings : pairs of shapes that may touch, each with its rule
    step : s, of time steps of contacts, whose springs and dampers add to inertia; 0 without them
    """

    active: frozenset[int]
    frames: Frames
    carrier: np.ndarray
    touches: tuple[Touch, ...] = ()
    meetings: Mapping[int, int] = field(default_factory=dict)
    bounds: tuple[ActiveBound, ...] = ()
    step: float = 0.0


@dataclass
class Schedule:
    """What has happened, and what is due.

    fired : how often each event has happened
    due : event -> times at which it is to happen
    pressed, keys : those that are not yet served; how many were pressed in all
    told : what was told once of each: event and text
    enabled : controllers and constraints that are switched on
    stopped : the event that ended the run, or empty
    """

    fired: dict[str, int] = field(default_factory=dict)
    due: dict[str, list[float]] = field(default_factory=dict)
    pressed: list[str] = field(default_factory=list)
    keys: int = 0
    told: set[tuple[str, str]] = field(default_factory=set)
    enabled: set[str] = field(default_factory=set)
    stopped: str = ""


@dataclass
class Ledger:
    """Energies that the integrator does not follow [J].

    impact : lost in impacts; extra : put in at events; first : balance of the first row, not-a-number before it
    """

    impact: float = 0.0
    extra: float = 0.0
    first: float = math.nan


@dataclass
class Remembered:
    """What a sampled controller keeps between its calls.

    calls : how many there were; torque : (columns,) N or N m, held; memory : its own
    """

    calls: int
    torque: np.ndarray
    memory: dict[str, Any] = field(default_factory=dict)


@dataclass
class Push:
    """A wrench that the caller applies until a time [s].

    p, force_W, torque_W : (3,) point in the body's axes, m; N; N m
    """

    end: float
    body: int
    p: np.ndarray
    force_W: np.ndarray
    torque_W: np.ndarray


@dataclass(eq=False)
class State:
    """All that a run remembers at an instant.

    What follows from it is the same to the last bit, in the run it was taken of, in another one of the same scene, in
    another process.  It fits scenes with the same bodies, joints, events, contacts and controllers.

    Attributes
    ----------
    names : Mapping of kind to names
        Of what is numbered in it: bodies, joints, events, contacts, controllers.
    connections, schedule, ledger, spending
        See there.
    contacts : Contacts or None
        What touches; None where nothing can.
    controllers : Mapping of name to Remembered
        The sampled ones.
    pushes : list of Push
        What the caller applies.
    turns : list of Turn
        Which methods stepped since when.
    time_stepping : bool
        Time steps resolve contacts.
    look_again : float
        When contacts are decided on though nothing has happened [s].
    room : int
        Presses that a time step has room for.
    began : bool
        What is due at the start has happened.
    crossed : bool
        Guards have crossed zero, and what is due there has not happened.
    last_row : float
        Time of the last row that was told [s], not-a-number before it.
    stepper, work, guards, control
        What kernels remember: state and settings of the integrator, warm starts, armed conditions, what acts.
    tables : Mapping of name to array
        The numbers of the structure, by which a change of the scene is told.
    """

    names: Mapping[str, tuple[str, ...]]
    connections: Connections
    contacts: Contacts | None
    schedule: Schedule
    ledger: Ledger
    spending: Spending
    controllers: dict[str, Remembered]
    pushes: list[Push]
    turns: list[Turn]
    time_stepping: bool
    look_again: float
    room: int
    began: bool
    crossed: bool
    last_row: float
    stepper: Stepper
    work: Mapping[str, np.ndarray]
    guards: Guards
    control: Control
    tables: Mapping[str, np.ndarray]

    @property
    def t(self) -> float:
        """Time [s]."""
        return float(self.stepper.clock[T])

    @property
    def q(self) -> np.ndarray:
        """(nq,) coordinates of the tree."""
        return np.array(self.stepper.y[: self._sizes[0]])

    @property
    def v(self) -> np.ndarray:
        """(nv,) rates of the tree."""
        return np.array(self.stepper.y[self._sizes[0] : sum(self._sizes)])

    @property
    def _sizes(self) -> tuple[int, int]:
        one = self.tables["one"]
        return int(one["nq"][0]), int(one["nv"][0])

    def copy(self) -> State:
        """Return a state that shares nothing with this one."""
        return copy.deepcopy(self)

    def frozen(self) -> State:
        """Return this state with arrays of kernels that nobody can write."""
        freeze((self.stepper, self.work, self.guards, self.control, self.tables))
        return self

    def __eq__(self, other: object) -> bool:
        """Tell whether both are the same to the bit, so that the same follows from them."""
        return isinstance(other, State) and all(
            same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
        )

    __hash__ = None  # type: ignore[assignment]

    def to_plain(self) -> tuple[str, list[np.ndarray]]:
        """Return the state as JSON and arrays; see `sim.simulation.plain_values`.

        Raises
        ------
        StateError
            Where a controller remembers what is neither number, text or array nor made of them.
        """
        held = {f.name: getattr(self, f.name) for f in fields(self)}
        for name, kind in _TUPLES.items():
            held[name] = dict(zip(kind._fields, held[name], strict=True))
        del held["stepper"]["rows"]  # the numbers of k once more
        for name in ("work", "tables"):
            held[name] = dict(held[name])
        try:
            return to_plain({"version": VERSION, **held}, _types())
        except PlainError as error:
            raise StateError(f"the state cannot be written: {error}") from error

    @classmethod
    def from_plain(cls, text: str, arrays: list[np.ndarray]) -> State:
        """Return the state that was written so.

        Raises
        ------
        StateError
            Where it is none, or of another version.
        """
        try:
            held = from_plain(text, arrays, _types())
            version = held.pop("version")
            if version != VERSION:
                raise StateError(f"a state of version {version}; this program reads version {VERSION}")
            for name, kind in _TUPLES.items():
                again = {"rows": held[name]["k"].reshape(-1)} if name == "stepper" else {}
                held[name] = kind(**held[name], **again)
            return cls(**held)
        except (PlainError, TypeError, KeyError, AttributeError) as error:
            raise StateError(f"this is no state of a run: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file of its own, which holds JSON and arrays in HDF5.

        Raises
        ------
        StateError
            Where the file cannot be written, or a controller remembers what cannot be.
        """
        from sim.recording.errors import RecordingError  # late: most runs write no such file
        from sim.recording.state_file import write_state

        try:
            write_state(Path(path), *self.to_plain())
        except RecordingError as error:
            raise StateError(str(error)) from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> State:
        """Return the state that a file holds, for `Simulator.restore`.

        Raises
        ------
        StateError
            Where there is no such file, or it holds none.
        """
        from sim.recording.errors import RecordingError
        from sim.recording.state_file import read_state

        try:
            return cls.from_plain(*read_state(Path(path)))
        except RecordingError as error:
            raise StateError(str(error)) from error


_TUPLES: dict[str, Any] = {"stepper": Stepper, "guards": Guards, "control": Control}


def _types() -> list[type]:
    """Return the dataclasses that stand in a state."""
    from sim.contact.remembered import Contacts
    from sim.contact.restless import Restless
    from sim.contact.slip_directions import SlipDirections
    from sim.contact.stops import Bounded
    from sim.contact.zeno import ZenoSequences
    from sim.mechanism.active_bound import ActiveBound  # late: what has no contacts does not wait for them
    from sim.mechanism.touch import Touch

    contacts = [ActiveBound, ZenoSequences, Contacts, Bounded, Touch, SlipDirections, Restless]
    return [Connections, Schedule, Ledger, Spending, Remembered, Push, Turn, Frames, *contacts]


def names_of(model: Model) -> dict[str, tuple[str, ...]]:
    """Return the names of what is numbered in a run, by kind."""
    scene, of = model.scene, ("events", "contacts", "controllers")
    out = {kind: tuple(thing.name for thing in getattr(scene, kind)) for kind in of}
    return {"bodies": tuple(model.body_names), "joints": tuple(model.joint_names), **out}


def check_fits(state: State, model: Model) -> None:
    """Raise a StateError where a state is none, or of a scene with other things."""
    if not isinstance(state, State):
        raise StateError(f"restore: found {found(state)}; expected what snapshot() returned")
    for kind, names in names_of(model).items():
        if names != state.names[kind]:
            raise StateError(
                f"the state (t = {state.t:.9g} s) does not fit scene {model.scene.name!r}: its {kind} are "
                f"{_listed(state.names[kind])}, those of the scene {_listed(names)}"
            )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names)) or "none"
