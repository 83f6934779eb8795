"""Controllers in a run: made from the scene, entered into the tables, sampled between steps."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from sim.kernels.callback import PythonLaw, bounds_checked, compiled_law, read_only
from sim.kernels.tables import ANGLE
from sim.mechanism.formula_programs import Programs
from sim.mechanism.mechanism import Mechanism
from sim.mechanism.model import Model
from sim.plugin import Controller, ModelView, StateView
from sim.scene.authored import aside, told
from sim.scene.controllers import BUILT_IN, controller_class
from sim.scene.problem import Problem, SceneError
from sim.scene.spec import ControllerUse, Expression
from sim.simulation.dynamics_of_now import chain_of
from sim.simulation.simulation_error import SimulationError
from sim.simulation.state import Remembered

if TYPE_CHECKING:
    from sim.closed_chains.chain import Chain
    from sim.simulation.flow import Flow

USUAL_RATE = 100.0  # Hz, of a sampled controller that says none


@dataclass
class Sampled:
    """A sampled controller, and what it remembers."""

    use: ControllerUse
    controller: Controller
    rate: float  # Hz
    state: Remembered

    def next_time(self) -> float:
        """Return when it is called next [s]."""
        return self.state.calls / self.rate


class ControllerFault(SimulationError):
    """A controller raised, or gave no finite number; `use` is the one."""

    def __init__(self, use: ControllerUse, what: str):
        self.use = use
        super().__init__(f"controller {use.name!r} ({use.place}): {what}")


class Controllers:
    """All controllers of a run.

    They read the run's own arrays, which they cannot write, and what they print goes to standard error.

    programs : the model's formulas with the controllers' entered
    slots : controller name -> places in Control.enabled
    laws : continuous controllers that are functions, by slot; each adds its torques at the time and state of now

    Raises
    ------
    SceneError
        When a controller refuses the scene, or fails before the run begins.
    """

    def __init__(self, model: Model, mechanism: Mechanism, seed: int, trust: bool = True):
        self.model = model
        self.programs: Programs = copy.deepcopy(model.programs)
        self.sampled: list[Sampled] = []
        self.slots: dict[str, list[int]] = {}
        self.plain: list[tuple[ControllerUse, PythonLaw]] = []
        self.laws: list[tuple[ControllerUse, Callable[[float, np.ndarray], None]]] = []
        self._keep: list[Any] = []
        self.failed = mechanism.control.failed
        work, bodies = mechanism.work, mechanism.work.bodies
        parts = work.coordinate, work.rate, bodies.p_WB, bodies.R_WB.reshape(-1, 3, 3), bodies.V_WB
        self.state = StateView(*map(read_only, parts))
        self.torque = work.control
        self.flow: Flow | None = None  # whose controllers they are, once it runs
        self._own = np.zeros(len(model.columns))  # what one controller adds
        view = self._view(mechanism, seed)
        laws: list[tuple[ControllerUse, int, np.ndarray]] = []
        formulas: list[tuple[ControllerUse, int, Any]] = []
        for use in model.scene.controllers:
            controller = self._make(use, view, trust)
            if type(controller).sample is not Controller.sample:
                kept = Remembered(calls=0, torque=np.zeros(len(model.columns)))
                self.sampled.append(Sampled(use, controller, _rate(use, controller), kept))
            formulas += self._formulas(use, controller, view)
            if controller.law is not None:
                constants = self._constants(use, controller, view)
                self._try(use, controller, constants)
                laws.append((use, self._address(use, controller), constants))
                self.laws.append((use, self._law(use, controller, constants)))
            elif type(controller).torque is not Controller.torque:
                law = functools.partial(self._torque, use, controller)
                laws.append((use, self._plain(use, law), np.zeros(0)))
                self.laws.append((use, law))
        self._enter(laws, formulas)
        self.programs.views = self.programs.views or bool(self.plain)

    def _view(self, mechanism: Mechanism, seed: int) -> ModelView:
        model = self.model
        limits = np.tile([-math.inf, math.inf], (len(model.columns), 1))
        for stop in model.stops[model.stops.angle <= ANGLE]:
            limits[stop.column, 0 if stop.side < 0 else 1] = stop.bound
            if stop.angle:
                limits[stop.column, 0] = 0.0
        types = {n: s.type if s else "free" for n, s in zip(model.joint_names, model.joint_specs, strict=True)}
        columns = {name: model.columns_of(i) for i, name in enumerate(model.joint_names)}
        return ModelView(
            joint_names=model.joint_names, body_names=model.body_names, types=MappingProxyType(types),
            limits=read_only(limits), seed=seed, columns=MappingProxyType(columns),
            start=read_only(mechanism.work.coordinate.copy()), dynamics=self._dynamics,
        )  # fmt: skip

    def _dynamics(self) -> Chain:
        """Return the dynamics of a run at its state of now."""
        if self.flow is None:
            raise RuntimeError("the dynamics of a scene are known only while it runs")
        return chain_of(self.flow)

    # --- before the run -------------------------------------------------------------------------

    def _make(self, use: ControllerUse, view: ModelView, trust: bool) -> Controller:
        kind: type[Controller] = _prepared(use, "", controller_class, use.type, Path(use.place.file).parent, trust)
        parameters = {name: copy.copy(value) for name, value in use.parameters.items()}
        controller: Controller = _prepared(use, "", kind, **parameters)
        _prepared(use, "", controller.start, view)
        return controller

    def _formulas(self, use: ControllerUse, controller: Controller, view: ModelView) -> list[Any]:
        """Return (use, column, expression) of a controller's formulas."""
        found = _prepared(use, ".expressions", lambda: dict(controller.expressions(view)))
        for column, expression in found.items():
            known = isinstance(column, (int, np.integer)) and 0 <= column < len(self.model.columns)
            if not known or not isinstance(expression, Expression):
                _refuse(
                    use, ".expressions",
                    f"expressions() gives {column!r}: {type(expression).__name__}; expected columns from 0 to "
                    f"{len(self.model.columns) - 1}, and an Expression for each",
                )  # fmt: skip
        return [(use, int(column), expression) for column, expression in found.items()]

    def _constants(self, use: ControllerUse, controller: Controller, view: ModelView) -> np.ndarray:
        """Return the numbers that a law is given, which it cannot write."""
        return read_only(_prepared(use, ".constants", lambda: np.array(controller.constants(view), float).ravel()))

    def _try(self, use: ControllerUse, controller: Controller, constants: np.ndarray) -> None:
        """Call a law once as plain Python, before it is compiled: what it reads and writes beyond arrays has a line.

        What else it raises is left to the compiled one, which divides by zero and takes roots of all numbers.
        """
        law, torque = controller.law, np.zeros(len(self.model.columns))
        try:
            with np.errstate(all="ignore"), bounds_checked():
                aside(law, 0.0, self.state.coordinate, self.state.rate, constants, torque)  # type: ignore[arg-type]
        except IndexError as error:
            _refuse(use, ".law", f"its law reads or writes beyond an array: {told(error, _file(law), False)}")
        except ValueError as error:
            if "read-only" in str(error):
                where = told(error, _file(law), False)
                _refuse(use, ".law", f"its law writes into an array that it may only read: {where}")
        except (Exception, SystemExit):
            return

    def _address(self, use: ControllerUse, controller: Controller) -> int:
        try:
            address, keep = compiled_law(controller.law)  # type: ignore[arg-type]
        except Exception as error:
            raise SceneError(
                [
                    Problem(
                        where=use.place, path=f"controllers.{use.name}.law",
                        what="its law cannot be compiled: " + _why_not(error, _file(controller.law)),
                        hint="use plain loops over numbers and arrays, or override torque() instead",
                    )
                ]
            ) from error  # fmt: skip
        self._keep.append(keep)
        return address

    # --- in the run -----------------------------------------------------------------------------

    def _law(
        self, use: ControllerUse, controller: Controller, constants: np.ndarray
    ) -> Callable[[float, np.ndarray], None]:
        """Return a compiled law as a function in Python."""
        law, state = controller.law, self.state
        return lambda t, out: _called(use, law, law, t, state.coordinate, state.rate, constants, out)

    def _torque(self, use: ControllerUse, controller: Controller, t: float, out: np.ndarray) -> None:
        """Add the torques of a continuous controller in plain Python, which sees those of no other."""
        self._own[:] = 0.0
        _called(use, type(controller), controller.torque, t, self.state, self._own)
        out += self._own

    def _plain(self, use: ControllerUse, law: Callable[[float, np.ndarray], None]) -> int:
        at_address = PythonLaw(lambda t: law(t, self.torque), self.failed)
        self.plain.append((use, at_address))
        return at_address.address

    def _enter(
        self, laws: list[tuple[ControllerUse, int, np.ndarray]], formulas: list[tuple[ControllerUse, int, Any]]
    ) -> None:
        programs = self.programs
        for slot, (use, address, constants) in enumerate(laws):
            programs.laws.append((address, len(programs.law_constants), len(constants)))
            programs.law_constants.extend(constants.tolist())
            self.slots.setdefault(use.name, []).append(slot)
        for slot, (use, column, expression) in enumerate(formulas, start=len(laws)):
            programs.applied.append((programs.enter(expression), column))
            self.slots.setdefault(use.name, []).append(slot)
        programs.acts = programs.acts or bool(laws or formulas or self.sampled)

    def names(self) -> dict[int, str]:
        """Return place in Control.enabled -> name of the controller."""
        return {slot: name for name, slots in self.slots.items() for slot in slots}

    def enabled(self) -> np.ndarray:
        """Return what Control.enabled holds at the start."""
        out = np.ones(len(self.programs.laws) + len(self.programs.applied), np.int64)
        for use in self.model.scene.controllers:
            if not use.enabled:
                out[self.slots.get(use.name, [])] = 0
        return out

    def sample(self, t: float, enabled: set[str], held_out: np.ndarray) -> None:
        """Call every sampled controller that is due at t; sum what all of them hold.

        Raises
        ------
        ControllerFault
            When one of them raises, or gives no finite number.
        """
        held_out[:] = 0.0
        for item in self.sampled:
            if item.use.name not in enabled:
                if item.next_time() <= t:
                    item.state.calls += 1
                continue
            if item.next_time() <= t:
                kind, sample = type(item.controller), item.controller.sample
                _called(item.use, kind, sample, t, self.state, item.state.torque, item.state.memory)
                self._refuse_endless(item)
                item.state.calls += 1
            held_out += item.state.torque

    def _refuse_endless(self, item: Sampled) -> None:
        """Refuse torques that are no finite numbers."""
        for column in np.flatnonzero(~np.isfinite(item.state.torque)):
            joint = self.model.column_names[column]
            raise ControllerFault(item.use, f"it gives {item.state.torque[column]} to joint {joint!r}")

    def next_sample(self) -> float:
        """Return the time of the next call [s]; infinite without sampled controllers."""
        return min((item.next_time() for item in self.sampled), default=math.inf)

    def fault(self) -> ControllerFault | None:
        """Return what a continuous plain-Python controller raised, if one did; it is called again from then on."""
        errors = [law.error for _, law in self.plain if law.error is not None]
        for _, law in self.plain:
            law.error = None
        self.failed[0] = 0
        for error in errors:
            if isinstance(error, ControllerFault):
                return error
            raise error  # Ctrl-C
        return None


# --- code that the author wrote -------------------------------------------------------------------


def _called(use: ControllerUse, written: Any, function: Callable[..., Any] | None, *given: Any) -> None:
    """Call a controller in the run; raises ControllerFault with the line of the file that `written` stands in."""
    try:
        aside(function, *given)  # type: ignore[arg-type]
    except (Exception, SystemExit) as error:
        raise ControllerFault(use, told(error, _file(written))) from error


def _prepared(use: ControllerUse, part: str, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call a controller before the run; raises SceneError.  A ValueError is a sentence for whoever wrote the scene."""
    try:
        return aside(function, *given, **named)
    except (Exception, SystemExit) as error:
        owner = getattr(function, "__self__", function)
        file = None if use.type in BUILT_IN else _file(owner if isinstance(owner, type) else type(owner))
        _refuse(use, part, told(error, file, not isinstance(error, ValueError)), error)


def _refuse(use: ControllerUse, part: str, what: str, error: BaseException | None = None) -> NoReturn:
    raise SceneError([Problem(where=use.place, path=f"controllers.{use.name}{part}", what=what)]) from error


def _rate(use: ControllerUse, controller: Controller) -> float:
    """Return the rate at which a controller is sampled [Hz]."""
    rate = getattr(controller, "rate", None)
    if rate is None:
        return USUAL_RATE
    if isinstance(rate, (int, float, np.number)) and 0.0 < rate < math.inf:
        return float(rate)
    _refuse(use, ".rate", f"it is to be sampled at {rate!r} Hz; expected a number above zero")


def _why_not(error: Exception, file: str | None) -> str:
    """Return what a law that numba refuses does, and in which line of its file."""
    text = str(error).strip()
    what = text.splitlines()[0] if text else type(error).__name__
    if "setitem" in text and "readonly array" in text:
        what = "it writes into an array that it may only read"
    lines = re.findall(r'File "([^"]+)", line (\d+)', text)
    own = [line for name, line in lines if file is not None and Path(name).name == Path(file).name]
    return f"{what} ({Path(str(file)).name}:{own[-1]})" if own else what


def _file(written: Any) -> str | None:
    """Return the file of a class or function; None where it has none."""
    try:
        return inspect.getsourcefile(written)
    except TypeError:
        return None
