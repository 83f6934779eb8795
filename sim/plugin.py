"""What a controller is: the small, stable view that plug-ins have of a model and its state.

A controller is a class with typed parameters.  It acts on *columns*: every joint, in the tree or
closing a loop, has one column for each of its freedoms (`view.columns[joint]` is a slice).

* coordinate: m or rad; spherical joints give their rotation vector, free joints position and
  rotation vector.
* rate: m/s or rad/s; angular velocity of spherical and free joints in the child's axes.
* torque: N or N m, power-conjugate to rate.

A *continuous* controller (`rate` is None) is a function of time and state and has no memory; it is
called inside every stage of the integrator.  A *sampled* one is called at its rate between steps;
its torques are held until the next call, and what it keeps in `memory` lasts for the run; reset() clears it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

# What a parameter may be; `units` of the scene language converts and checks it.
KINDS = (
    "number", "numbers", "integer", "text", "flag", "joints", "joint", "expressions", "by_joint", "formulas", "table",
)  # fmt: skip


def parameter(
    default: Any = dataclasses.MISSING, *, kind: str = "number", unit: str = "1", about: str,
    minimum: float | None = None, choices: tuple[str, ...] = (),
) -> Any:  # fmt: skip
    """Declare a parameter of a controller.

    Parameters
    ----------
    default
        Value in SI units; without one the scene has to give it.
    kind : str
        number, numbers (list), integer, text, flag, joint (one name), joints (names or patterns,
        resolved to a tuple of full names), by_joint (mapping of joint pattern to number, resolved
        to full names), expressions (mapping of joint pattern to an expression of time and state),
        formulas (as by_joint, and each may be an expression of time and state instead of a number), table
        (a CSV or HDF5 file beside the scene, resolved to a `sim.scene.time_table.TimeTable`; recordings keep it).
    unit : str
        Unit of the value, ``rad``, ``N m/rad``, ``auto`` (that of the joint's coordinate) ...
    about : str
        One sentence for the schema and the documentation.
    minimum : float, optional
        Least value allowed, in SI units.
    choices : tuple of str
        All values that a text may have.
    """
    if kind not in KINDS:
        raise ValueError(f"parameter kind {kind!r}: expected one of {', '.join(KINDS)}")
    metadata = {"kind": kind, "unit": unit, "about": about, "minimum": minimum, "choices": choices}
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata=metadata)
    if isinstance(default, (list, dict)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def _no_run() -> Any:
    """Stand in for the dynamics of a run where there is none yet."""
    raise RuntimeError("the dynamics of a scene are known only while it runs")


@dataclasses.dataclass(frozen=True)
class ModelView:
    """What a controller may know of the model, once, before the run; all of it is read-only.

    columns : mapping of joint name to the slice of its columns
    types : mapping of joint name to its type (rotational, spherical, ...)
    limits : (columns, 2) m or rad; infinite where there is no stop; the range of a spherical
        joint's rotation angle stands in the first of its columns, its cone and twist nowhere
    start : (columns,) m or rad; coordinates in the start pose, zero for joints not yet connected
    dynamics : a function that returns the dynamics of now, a `sim.Chain`: mass matrix, bias, Jacobians, what loops do;
        for sampled controllers, as it takes a millisecond or more
    """

    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    columns: Mapping[str, slice]
    types: Mapping[str, str]
    limits: np.ndarray
    start: np.ndarray
    seed: int
    dynamics: Callable[[], Any] = _no_run


@dataclasses.dataclass(frozen=True)
class StateView:
    """What a controller may read while the scene runs; the arrays follow the motion, and are read-only.

    coordinate, rate : (columns,) zero while a joint is not connected
    p_WB : (bodies, 3) m, position of each body's origin
    R_WB : (bodies, 3, 3) body axes to world axes
    V_WB : (bodies, 6) angular velocity rad/s and velocity of the origin m/s, world axes
    """

    coordinate: np.ndarray
    rate: np.ndarray
    p_WB: np.ndarray
    R_WB: np.ndarray
    V_WB: np.ndarray


@dataclasses.dataclass(kw_only=True)
class Controller:
    """Base of all controllers.  Subclasses are keyword-only dataclasses of `parameter` fields.

    Override one of

    * ``torque(t, state, torque)``: continuous, plain Python; add to ``torque`` (columns,), zero before.
    * ``law`` and ``constants``: continuous, compiled; ``law(t, coordinate, rate, constants, torque)``
      is a static function over float arrays that numba can compile, ``constants(view)`` returns
      the array it is given.
    * ``expressions(view)``: continuous; mapping of column to Expression, evaluated in the kernel.
    * ``sample(t, state, torque, memory)``: sampled, at ``rate``; write into ``torque`` (columns,),
      which is zero at the first call and held between calls; keep numbers and arrays in ``memory``.
    """

    rate: ClassVar[float | None] = None  # Hz; or a parameter named `rate`
    law: ClassVar[Callable[..., None] | None] = None

    def start(self, view: ModelView) -> None:
        """Look names up, once, before the run.  Raise ValueError with a sentence to refuse."""
        self.view = view

    def torque(self, t: float, state: StateView, torque: np.ndarray) -> None:
        """Add to torque (columns,); continuous, a function of time and state."""

    def sample(self, t: float, state: StateView, torque: np.ndarray, memory: dict[str, Any]) -> None:
        """Write into torque (columns,), which is held until the next call."""

    def constants(self, view: ModelView) -> np.ndarray:
        """Return the float array that `law` is given."""
        return np.zeros(0)

    def expressions(self, view: ModelView) -> Mapping[int, Any]:
        """Return column -> Expression, for torques that are formulas."""
        return {}


def parameters_of(kind: type[Controller]) -> dict[str, dataclasses.Field[Any]]:
    """Return the declared parameters of a controller class by name."""
    return {f.name: f for f in dataclasses.fields(kind) if "kind" in f.metadata}


def schema_of(kind: type[Controller]) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a controller's block in a scene."""
    types = {
        "number": ["number", "string"], "integer": ["integer", "string"], "text": ["string"], "flag": ["boolean"],
        "joint": ["string"], "numbers": ["array"], "joints": ["string", "array"], "expressions": ["object"],
        "by_joint": ["object", "number", "string"], "formulas": ["object", "number", "string"],
        "table": ["string"],
    }  # fmt: skip
    properties: dict[str, Any] = {}
    required = []
    for name, declared in parameters_of(kind).items():
        meta = declared.metadata
        unit = meta["unit"]
        entry: dict[str, Any] = {"description": f"{meta['about']}" + ("" if unit == "1" else f" [{unit}]")}
        entry["type"] = types[meta["kind"]]
        if meta["choices"]:
            entry["enum"] = list(meta["choices"])
        if declared.default is not dataclasses.MISSING:
            if isinstance(declared.default, (bool, int, float, str)):
                entry["default"] = declared.default
        elif declared.default_factory is dataclasses.MISSING:
            required.append(name)
        properties[name] = entry
    return {
        "title": kind.__name__,
        "description": (kind.__doc__ or "").strip().split("\n")[0],
        "type": "object",
        "properties": properties,
        "required": required,
    }
