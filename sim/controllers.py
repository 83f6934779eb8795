"""Controllers in a run: made from the scene, entered into the tables, sampled between steps."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sim.compiler import Model
from sim.kernels.callback import PythonLaw, compiled_law
from sim.mechanism import Mechanism
from sim.plugin import Controller, ModelView, StateView
from sim.programs import Programs
from sim.scene.controllers import controller_class
from sim.scene.problem import Problem, SceneError
from sim.scene.spec import ControllerUse


@dataclass
class Sampled:
    """A sampled controller: its next call, what it holds and what it remembers."""

    use: ControllerUse
    controller: Controller
    rate: float  # Hz
    torque: np.ndarray  # (columns,)
    memory: dict[str, Any] = field(default_factory=dict)
    calls: int = 0

    def next_time(self) -> float:
        """Return when it is called next [s]."""
        return self.calls / self.rate


class ControllerFault(RuntimeError):
    """A controller raised, or gave no finite number; `use` is the one, `error` what it raised."""

    def __init__(self, use: ControllerUse, what: str, error: BaseException | None = None):
        self.use, self.error = use, error
        super().__init__(f"controller {use.name!r} ({use.place}): {what}")


class Controllers:
    """All controllers of a run.

    programs : the model's formulas with the controllers' entered
    slots : controller name -> places in Control.enabled
    laws : continuous controllers that are functions, by slot; each adds its torques at the time and state of now
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
        columns = len(model.columns)
        c, r, u = mechanism.work.coordinate, mechanism.work.rate, mechanism.work.control
        bodies = mechanism.work.bodies
        self.state = StateView(c, r, bodies.p_WB, bodies.R_WB.reshape(-1, 3, 3), bodies.V_WB)
        self.torque = u
        view = self._view(mechanism, seed)
        laws: list[tuple[ControllerUse, int, np.ndarray]] = []
        formulas: list[tuple[ControllerUse, int, Any]] = []
        for use in model.scene.controllers:
            controller = self._make(use, view, trust)
            rate = getattr(controller, "rate", None)
            if type(controller).sample is not Controller.sample:
                self.sampled.append(Sampled(use, controller, float(rate or 100.0), np.zeros(columns)))
            for column, expression in controller.expressions(view).items():
                formulas.append((use, column, expression))
            if controller.law is not None:
                constants = np.asarray(controller.constants(view), float).ravel()
                laws.append((use, self._address(use, controller), constants))
                self.laws.append((use, self._law(controller.law, constants)))
            elif type(controller).torque is not Controller.torque:
                laws.append((use, self._plain(use, controller), np.zeros(0)))
                self.laws.append((use, functools.partial(self._torque, controller)))
        self._enter(laws, formulas)
        self.programs.views = self.programs.views or bool(self.plain)

    def _view(self, mechanism: Mechanism, seed: int) -> ModelView:
        model = self.model
        limits = np.tile([-math.inf, math.inf], (len(model.columns), 1))
        for stop in model.stops:
            limits[stop.column, 0 if stop.side < 0 else 1] = stop.bound
            if stop.angle:
                limits[stop.column, 0] = 0.0
        types = {n: s.type if s else "free" for n, s in zip(model.joint_names, model.joint_specs, strict=True)}
        return ModelView(
            joint_names=model.joint_names, body_names=model.body_names, types=types, limits=limits, seed=seed,
            columns={name: model.columns_of(i) for i, name in enumerate(model.joint_names)},
            start=mechanism.work.coordinate.copy(),
        )  # fmt: skip

    def _make(self, use: ControllerUse, view: ModelView, trust: bool) -> Controller:
        try:
            kind = controller_class(use.type, Path(use.place.file).parent, trust)
            controller = kind(**use.parameters)
            controller.start(view)
            return controller
        except Exception as error:
            raise SceneError(
                [Problem(where=use.place, path=f"controllers.{use.name}", what=str(error) or type(error).__name__)]
            ) from error

    def _address(self, use: ControllerUse, controller: Controller) -> int:
        try:
            address, keep = compiled_law(controller.law)  # type: ignore[arg-type]
        except Exception as error:
            sentence = str(error).strip().splitlines()
            raise SceneError(
                [
                    Problem(
                        where=use.place, path=f"controllers.{use.name}.law",
                        what="its law cannot be compiled: " + (sentence[0] if sentence else type(error).__name__),
                        hint="use plain loops over numbers and arrays, or override torque() instead",
                    )
                ]
            ) from error  # fmt: skip
        self._keep.append(keep)
        return address

    def _law(self, law: Callable[..., None], constants: np.ndarray) -> Callable[[float, np.ndarray], None]:
        return lambda t, out: law(t, self.state.coordinate, self.state.rate, constants, out)

    def _torque(self, controller: Controller, t: float, out: np.ndarray) -> None:
        controller.torque(t, self.state, out)

    def _plain(self, use: ControllerUse, controller: Controller) -> int:
        state, torque = self.state, self.torque
        law = PythonLaw(lambda t: controller.torque(t, state, torque), self.failed)
        self.plain.append((use, law))
        return law.address

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
                    item.calls += 1
                continue
            if item.next_time() <= t:
                try:
                    item.controller.sample(t, self.state, item.torque, item.memory)
                except Exception as error:
                    raise ControllerFault(item.use, f"{type(error).__name__}: {error}", error) from error
                self._refuse_endless(item)
                item.calls += 1
            held_out += item.torque

    def _refuse_endless(self, item: Sampled) -> None:
        """Refuse torques that are no finite numbers."""
        for column in np.flatnonzero(~np.isfinite(item.torque)):
            joint = self.model.column_names[column]
            raise ControllerFault(item.use, f"it gives {item.torque[column]} to joint {joint!r}")

    def next_sample(self) -> float:
        """Return the time of the next call [s]; infinite without sampled controllers."""
        return min((item.next_time() for item in self.sampled), default=math.inf)

    def fault(self) -> ControllerFault | None:
        """Return what a continuous plain-Python controller raised, if one did."""
        for use, law in self.plain:
            if law.error is not None:
                return ControllerFault(use, f"{type(law.error).__name__}: {law.error}", law.error)
        return None
