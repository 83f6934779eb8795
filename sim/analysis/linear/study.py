"""Linear models of a scene: A, B and eigenvalues about a state, and over a parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sim.analysis.linear import contacts
from sim.analysis.linear.duals import slopes_in
from sim.analysis.linear.equations import LinearError
from sim.analysis.linear.laws import Laws
from sim.analysis.linear.roots import ROUNDOFF, roots, spread
from sim.analysis.linear.stability import Crossing, crossings
from sim.analysis.linear.steady import Frame, Looker, States, choose_states, freedom_names
from sim.analysis.linear.symmetry import fields, turns
from sim.assembly.loop_closure import close_positions
from sim.kernels.project import add_freedoms
from sim.kernels.system import SETTLE, START
from sim.mechanism.compiler import compile
from sim.mechanism.model import Model
from sim.scene.spec import Scene
from sim.simulation.flow import Flow
from sim.simulation.simulator import Simulator

# Entries of a column below this, over the largest entry of A, are zero: that state feeds nothing back.
NOTHING = 1e-12
OFF = 1e-6  # of a motion: part of it that is off the symmetries, below which it is one
OF_DIFFERENCES = 1e-8  # of A's entries, by central differences
DOUBTFUL = 1e-6  # of the largest acceleration: what is farther from the engine is not to be trusted
APART = 2e-4  # m or rad, and per second: differences of the engine that derivatives are held against
RUNS = 1e-9  # m/s or rad/s: what is slower is not said to run on


@dataclass(frozen=True)
class Linearization:
    """A linear model: the rates of change of deviations x from a motion are A x + B u.

    Attributes
    ----------
    t : s
    states : names; rates of freedoms are `rate(name)`
    A : (n, n); B : (n, inputs)
    inputs : columns whose torques (N or N m) are inputs
    eigenvalues : (n,) 1/s, those of the states that feed back first, by real part; then a zero for each other one
    spread : (fed,) 1/s, below which a real or imaginary part of the former cannot be told from zero
    modes : (n, fed) eigenvectors of the former, zero in states that are ignored
    fed : indices of the states that feed back; ignored : the others, on which nothing depends
    q, v : the state that was linearised about
    pose : name -> coordinate of every freedom of the tree there; rotations in space are rotation vectors
    steady : whether the motion is steady; remark : if not, what keeps it from being so
    follows : name -> rate, of the freedoms and turns that run on steadily
    notes : what was not differentiated exactly, or held still
    size, error : sizes (n, n) of the terms that entries of A were summed from, and the error of the entries over these
    trust : `engine`, largest difference between the accelerations here and those of the compiled kernels, relative to
        the largest; `differences`, the same of their derivatives along a direction at random and differences of those
    """

    t: float
    states: tuple[str, ...]
    A: np.ndarray
    B: np.ndarray
    inputs: tuple[str, ...]
    eigenvalues: np.ndarray
    spread: np.ndarray
    modes: np.ndarray
    fed: np.ndarray
    q: np.ndarray
    v: np.ndarray
    pose: dict[str, float]
    steady: bool
    remark: str
    follows: dict[str, float]
    notes: tuple[str, ...]
    trust: dict[str, float]
    size: np.ndarray
    error: float

    @property
    def roots(self) -> np.ndarray:
        """Eigenvalues of the states that feed back (fed,) [1/s]."""
        return self.eigenvalues[: len(self.fed)]

    @property
    def rounded(self) -> np.ndarray:
        """The same, with real and imaginary parts that cannot be told from zero as zero."""
        real, imag = (np.where(np.abs(part) > self.spread, part, 0.0) for part in (self.roots.real, self.roots.imag))
        out: np.ndarray = real + 1j * imag
        return out

    def sized(self, size: np.ndarray) -> Linearization:
        """Return the same model with the spread that entries of A have which were summed from larger terms (n, n)."""
        fed = np.ix_(self.fed, self.fed)
        return replace(self, size=size, spread=spread(self.A[fed], self.roots, size[fed], self.error))

    @property
    def ignored(self) -> np.ndarray:
        """Indices of the states on which nothing depends."""
        return np.setdiff1d(np.arange(len(self.states)), self.fed)

    def reduced(self) -> tuple[np.ndarray, np.ndarray]:
        """Return A and B of the states that feed back alone."""
        return self.A[np.ix_(self.fed, self.fed)], self.B[self.fed]

    def as_data(self) -> dict[str, Any]:
        """Return everything as plain data; eigenvalues and modes as [real, imaginary]."""
        pairs = np.stack([self.eigenvalues.real, self.eigenvalues.imag], axis=-1)
        return {
            "time": self.t, "states": list(self.states), "inputs": list(self.inputs), "A": self.A.tolist(),
            "B": self.B.tolist(), "eigenvalues": pairs.tolist(), "spread": self.spread.tolist(),
            "modes": np.stack([self.modes.real, self.modes.imag], axis=-1).tolist(),
            "ignored": [self.states[k] for k in self.ignored], "q": self.q.tolist(), "v": self.v.tolist(),
            "pose": self.pose, "steady": self.steady, "remark": self.remark, "follows": self.follows,
            "notes": list(self.notes), "trust": self.trust,
        }  # fmt: skip


def linearize(
    source: Scene | Model | Simulator, *, at: float | str | None = None, inputs: Sequence[str] | None = None,
    states: Sequence[str] = (),
) -> Linearization:  # fmt: skip
    """Return the linear model of a scene about a state.

    Parameters
    ----------
    source : Scene, Model or Simulator
        A simulator is linearised where it is now.
    at : float or "steady", optional
        Time [s] to run to first; "steady": the steady motion nearest to the start.  Without it, the start.
    inputs : names of joints or columns, optional
        Whose torques are inputs; without it, all that are not driven.
    states : names of freedoms
        That are to be independent where the constraints leave the choice.

    Raises
    ------
    SceneError, SimulationError
    LinearError
        Where there is no linear model, in a sentence.
    """
    simulator = source if isinstance(source, Simulator) else _begun(source, at)
    _refuse(simulator)
    if simulator.now.decider is not None and (simulator.flow.time_stepping or not simulator.now.began):
        simulator = contacts.by_events(simulator, simulator.q, simulator.v)
    try:
        return _linearized(simulator, at == "steady" and not isinstance(source, Simulator), inputs, states)
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        when = f"t = {simulator.flow.t:.9g} s"
        raise LinearError(f"{when}: numbers of this model are larger than floats hold ({error})") from error


def _linearized(
    simulator: Simulator, searched: bool, inputs: Sequence[str] | None, states: Sequence[str]
) -> Linearization:
    """Return the linear model where a simulator is, or in the steady motion that is searched from there."""
    flow = simulator.flow
    if not searched:
        with untouched(flow):
            contacts.refuse_borders(simulator)
    looker, laws = _looker(simulator)
    q, v = _settled(simulator)
    looker.equations.hold_places(q, v)
    looker.equations.choose_rows(q)
    frame = looker.search(q, v) if searched else looker.frame(q, v, looker.symmetries(q, v))
    if searched and flow.structure.meetings:
        found = contacts.by_events(simulator, q, v)
        contacts.same_modes(simulator, found)
        contacts.refuse_borders(found)
    choice = choose_states(looker, q, frame.basis, _freedoms(flow, states))
    looker.refuse_singular(q, v, choice)
    steady, remark = looker.is_steady(v, frame), ""
    if not steady:
        remark = looker.says(frame)
        frame = looker.frozen(q, v, frame)
    return _model(simulator, looker, laws, q, v, frame, choice, steady, remark, _columns(flow, inputs))


def _begun(source: Scene | Model, at: float | str | None) -> Simulator:
    simulator = Simulator(source if isinstance(source, Model) else compile(source))
    if isinstance(at, str) and at != "steady":
        raise LinearError(f"at: {at!r} is neither a time nor 'steady'")
    simulator.advance(0.0 if at is None or isinstance(at, str) else float(at))
    return simulator


def _refuse(simulator: Simulator) -> None:
    """Refuse what has no linear model."""
    flow = simulator.flow
    if flow.structure.sizes.v == 0:
        raise LinearError(f"{flow.model.scene.file}: nothing in this scene can move")


def _looker(simulator: Simulator) -> tuple[Looker, Laws]:
    flow = simulator.flow
    flow._refresh_wrenches()
    laws = Laws(flow, simulator.now.controllers)
    return Looker(flow, laws if laws.acting else None), laws


def _settled(simulator: Simulator) -> tuple[np.ndarray, np.ndarray]:
    """Return copies of q and v, brought to the constraints as the integrator does."""
    flow = simulator.flow
    y = flow.stepper.y.copy()
    flow.ask(START, y, y)
    n = flow.structure.sizes
    return y[: n.q].copy(), y[n.q : n.q + n.v].copy()


def _of_engine(simulator: Simulator, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return vdot (nv,) as the kernels find it."""
    flow, n = simulator.flow, simulator.flow.structure.sizes
    y, slope = flow.stepper.y.copy(), np.zeros(len(flow.stepper.y))
    y[: n.q], y[n.q : n.q + n.v] = q, v
    flow.ask(START, y, y)
    flow.ask(SETTLE, y, slope)
    return slope[n.q : n.q + n.v]


def _of_differences(simulator: Simulator, looker: Looker, q: np.ndarray, v: np.ndarray, at: States) -> float:
    """Return how far derivatives along a direction at random are from differences of the engine, over the largest."""
    rng, links = np.random.default_rng(11), simulator.flow.structure.tables.links
    dq, dv = (N @ rng.normal(size=N.shape[1]) for N in looker.tangents(q, at))
    here = slopes_in(looker.equations.vdot(*looker.beside(q, v, dq[:, None], dv[:, None], at)), 1)[:, 0]

    def beside(h: float) -> np.ndarray:
        there = q.copy()
        add_freedoms(links, h * dq, 1.0, there)
        close_positions(looker.mechanism, there, np.zeros(len(v), bool))
        return _of_engine(simulator, there, looker.completed(there, v + h * dv, at))

    wide, narrow = ((beside(h) - beside(-h)) / (2.0 * h) for h in (APART, 0.5 * APART))
    engine = (4.0 * narrow - wide) / 3.0
    return float(np.abs(here - engine).max() / max(np.abs(engine).max(), 1.0))


@contextmanager
def untouched(flow: Flow) -> Iterator[None]:
    """Leave a flow as it was, whatever its kernels are asked meanwhile."""
    before = [(array, array.copy()) for array in (*flow.work, *flow.control) if isinstance(array, np.ndarray)]
    try:
        yield
    finally:
        for array, then in before:
            array[:] = then


def _freedoms(flow: Any, names: Sequence[str]) -> list[int]:
    """Return the freedoms of the tree that names of joints or columns mean."""
    known = freedom_names(flow)
    out: list[int] = []
    for name in names:
        found = [k for k, column in enumerate(known) if column == name or column.startswith(f"{name}[")]
        if not found:
            raise LinearError(f"states: the tree has no freedom {name!r}; it has {', '.join(known)}")
        out += found
    return out


def _columns(flow: Any, names: Sequence[str] | None) -> list[int]:
    """Return the columns whose torques are inputs."""
    model, present = flow.model, flow.present()
    driven = set(np.flatnonzero(flow.structure.tables.columns.motion >= 0).tolist())
    there = [c for c in range(len(model.columns)) if int(model.columns.joint[c]) in present and c not in driven]
    if names is None:
        return [c for c in there if model.joint_specs[int(model.columns.joint[c])] is not None]
    out: list[int] = []
    for name in names:
        found = [c for c in there if model.column_names[c] == name or model.column_names[c].startswith(f"{name}[")]
        if not found:
            known = ", ".join(model.column_names[c] for c in there)
            raise LinearError(f"inputs: no torque can act on {name!r}; it can on {known}")
        out += found
    return out


def _model(
    simulator: Simulator, looker: Looker, laws: Laws, q: np.ndarray, v: np.ndarray, frame: Frame, choice: States,
    steady: bool, remark: str, columns: list[int],
) -> Linearization:  # fmt: skip
    """Form A and B, and all that is known of them."""
    flow, nv = simulator.flow, len(v)
    names = freedom_names(flow)
    rows = np.concatenate([choice.positions, nv + choice.rates])
    A = looker.slopes(q, v, frame, choice)[rows]
    B = np.zeros((len(rows), len(columns)))
    B[len(choice.positions) :] = looker.equations.inputs(q, v)[choice.rates][:, columns]
    fed = feeding_back(A, _changes(looker, q, v, frame, choice))
    inner = np.ix_(fed, fed)
    eigenvalues, vectors = roots(A[inner])
    modes = np.zeros((len(rows), len(fed)), complex)
    modes[fed] = vectors
    size, error = _sizes(flow, A, choice), _error(v, frame, laws, steady)
    zeros = np.zeros(len(rows) - len(fed))
    with untouched(flow):
        engine, here = _of_engine(simulator, q, v), looker.equations.vdot(q, v)
        trust = {
            "engine": float(np.abs(here - engine).max() / max(np.abs(engine).max(), 1.0)),
            "differences": _of_differences(simulator, looker, q, v, choice),
        }
    states = [names[k] for k in choice.positions] + [f"rate({names[k]})" for k in choice.rates]
    return Linearization(
        t=flow.t, states=tuple(states), A=A, B=B, inputs=tuple(flow.model.column_names[c] for c in columns),
        eigenvalues=np.concatenate([eigenvalues, zeros]), spread=spread(A[inner], eigenvalues, size[inner], error),
        modes=modes, fed=fed, q=q, v=v, pose=_pose(looker, q, v), steady=steady,
        remark=remark, follows=_followed(looker, frame) if steady else {},
        notes=_notes(simulator, laws, trust["engine"]), trust=trust, size=size, error=error,
    )  # fmt: skip


def feeding_back(A: np.ndarray, changes: np.ndarray) -> np.ndarray:
    """Return the states on which others depend, or they themselves; leaves out as many as can be left out.

    changes : mask of states that stay, since they change the motion, if not to first order
    """
    fed, nothing = np.arange(len(A)), NOTHING * np.abs(A).max(initial=0.0)
    while len(fed):
        idle = np.all(np.abs(A[np.ix_(fed, fed)]) <= nothing, axis=0) & ~changes[fed]
        if not idle.any():
            break
        fed = fed[~idle]
    return fed


def _changes(looker: Looker, q: np.ndarray, v: np.ndarray, frame: Frame, at: States) -> np.ndarray:
    """Return the mask of positions off the symmetries: a root of theirs that is zero is not so by nature."""
    N_p, _ = looker.tangents(q, at)
    Z = fields(looker.equations, q, v).moved @ frame.basis
    rest = N_p - Z @ np.linalg.lstsq(Z, N_p, rcond=1e-10)[0] if Z.shape[1] else N_p
    moved = np.linalg.norm(rest, axis=0) > OFF * np.linalg.norm(N_p, axis=0)
    return np.concatenate([moved, np.zeros(len(at.rates), bool)])


def _sizes(flow: Flow, A: np.ndarray, at: States) -> np.ndarray:
    """Return (n, n) sizes of the terms in A: at least its own entries, and what weight does at a metre's mechanism."""
    length, linear = flow.model.length, np.asarray(flow.structure.tables.freedoms.linear, bool)
    weight = float(np.linalg.norm(flow.structure.tables.one.gravity_W[0])) / length
    n, unit = len(at.positions), np.where(linear, length, 1.0)
    out: np.ndarray = np.abs(A)
    out[n:, :n] = np.maximum(out[n:, :n], weight * np.outer(unit[at.rates], 1.0 / unit[at.positions]))
    return out


def _error(v: np.ndarray, frame: Frame, laws: Laws, steady: bool) -> float:
    """Return the error of A's entries: roundoff, what the steady motion is off, differences of laws in Python."""
    off = frame.off / (1.0 + float(np.abs(v).max(initial=0.0))) if steady else 0.0
    return max(ROUNDOFF, off, OF_DIFFERENCES if laws.acting else 0.0)


def _pose(looker: Looker, q: np.ndarray, v: np.ndarray) -> dict[str, float]:
    """Return the coordinates of the tree's freedoms by name."""
    links = looker.flow.structure.tables.links
    looker.mechanism.update(q, v)
    of = [int(c) + i for c, nv in zip(links.column[1:], links.nv[1:], strict=True) for i in range(nv)]
    return dict(zip(freedom_names(looker.flow), looker.mechanism.work.coordinate[of].tolist(), strict=True))


def _followed(looker: Looker, frame: Frame) -> dict[str, float]:
    """Return name -> rate of what runs on: freedoms, and turns about axes of the parent's side of a joint."""
    model, carrier = looker.flow.model, looker.flow.structure.carrier
    names, links = freedom_names(looker.flow), looker.flow.structure.tables.links
    for b, axis in turns(looker.equations):
        joint = int(carrier[links.body[b]])
        names.append(
            f"{model.joint_names[joint]} about {'xyz'[axis]} of {model.body_names[model.joints.parent[joint]]}"
        )
    rates = dict(zip(names, frame.along.tolist(), strict=True))
    return {name: rate for name, rate in rates.items() if abs(rate) > RUNS}


def _notes(simulator: Simulator, laws: Laws, engine: float) -> tuple[str, ...]:
    flow, out = simulator.flow, []
    if engine > DOUBTFUL:
        out.append(f"accelerations differ from the engine's by {engine:.1e} of their size: do not trust this model")
    for name in laws.names:
        out.append(f"controller {name!r} is a function in Python: differentiated by central differences")
    for item in simulator.now.controllers.sampled:
        out.append(f"controller {item.use.name!r} is sampled: what it holds is held still")
    if flow.structure.bounds:
        held = sorted({flow.model.column_names[hold.column] for hold in flow.structure.bounds})
        out.append(f"held by stops or friction, and still: {', '.join(held)}")
    if np.any(flow.control.friction):
        out.append("friction of joints that move keeps its size and sense")
    if flow.structure.touches:
        out += contacts.told(simulator)
    return tuple(out)


# --- over a parameter -------------------------------------------------------------------------------


@dataclass(frozen=True)
class RootLocus:
    """Linear models over the values of a parameter.

    branches : (values, most states that feed back) eigenvalues in the order of the branches, not-a-number where a
        model has fewer
    crossings : where modes begin or cease to grow
    leaps : values between which the motions that were found do not go on into one another
    """

    parameter: str
    values: np.ndarray
    models: tuple[Linearization, ...]
    branches: np.ndarray
    crossings: tuple[Crossing, ...] = field(default=())
    leaps: tuple[float, ...] = field(default=())

    def as_data(self) -> dict[str, Any]:
        """Return everything as plain data; eigenvalues as [real, imaginary]."""
        pairs = np.stack([self.branches.real, self.branches.imag], axis=-1)
        return {
            "parameter": self.parameter, "values": self.values.tolist(), "branches": pairs.tolist(),
            "crossings": [
                {
                    "value": c.value, "eigenvalue": [c.eigenvalue.real, c.eigenvalue.imag], "rising": c.rising,
                    "kind": c.kind, "modes": c.modes,
                }
                for c in self.crossings
            ],
            "leaps": list(self.leaps),
            "models": [model.as_data() for model in self.models],
        }  # fmt: skip


def root_locus(
    make: Callable[[float], Scene | Model], values: Sequence[float], *, parameter: str = "parameter",
    at: float | str | None = None, inputs: Sequence[str] | None = None, states: Sequence[str] = (),
) -> RootLocus:  # fmt: skip
    """Return the eigenvalues of a scene over a parameter, and where modes begin or cease to grow.

    Parameters
    ----------
    make : function of a value that returns the scene
    values : ascending
    at, inputs, states : as of `linearize`

    Raises
    ------
    SceneError, SimulationError, LinearError
        With the value of the parameter.
    """

    def model_at(value: float) -> Linearization:
        try:
            return linearize(make(value), at=at, inputs=inputs, states=states)
        except LinearError as error:
            raise LinearError(f"{parameter} = {value:.9g}: {error}") from error

    models = tuple(model_at(float(value)) for value in values)
    size = _largest(models)
    models = tuple(_sized(model, size) for model in models)
    branches = _branches([model.roots for model in models])
    found, leaps = crossings(lambda value: _sized(model_at(value), size), [float(value) for value in values], models)
    return RootLocus(parameter, np.asarray(values, float), models, branches, found, leaps)


def _largest(models: Sequence[Linearization]) -> np.ndarray:
    """Return the largest of the sizes of each entry of A over the models, if all have the same states."""
    alike = len({model.states for model in models}) == 1
    return np.max([model.size for model in models], axis=0) if alike else np.zeros((0, 0))


def _sized(model: Linearization, size: np.ndarray) -> Linearization:
    return model.sized(size) if size.shape == model.size.shape else model


def _branches(found: Sequence[np.ndarray]) -> np.ndarray:
    """Return (values, most) eigenvalues, each in the column of the one that it continues."""
    from scipy.optimize import linear_sum_assignment

    most = max((len(values) for values in found), default=0)
    out = np.full((len(found), most), np.nan, complex)
    last = np.full(most, np.nan, complex)
    before = last.copy()
    for n, values in enumerate(found):
        ahead = np.where(np.isfinite(before), 2.0 * last - before, last)  # a straight line on
        distance = np.abs(ahead[:, None] - values[None, :])
        near = np.abs(last[:, None] - values[None, :])
        cost = np.where(np.isfinite(distance), distance + near, 1e6)
        rows, columns = linear_sum_assignment(cost)
        out[n, rows] = values[columns]
        before, last = last, np.where(np.isfinite(out[n]), out[n], last)
    return out
