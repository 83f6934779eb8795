"""The mechanism as an integrator sees it: a handful of questions behind addresses.

An integrator asks for the slope at a state, for the way back to the constraints, for the guards and
for a recorded row, and knows nothing else of what moves.  Each answer is a function of the C
signature ``int64(int64 question, int64 system, double t, double *a, double *b)``, so that its machine
code is compiled once and stays out of the integrator's.

`system` is the address of a list of the arrays' own addresses and sizes, which `unpack` turns into
Tables, Control, Work and Guards.  Interpreted kernels are handed those four themselves, and the
functions in place of their addresses.
"""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from sim.kernels.jit import interpreted
from sim.kernels.scratch import Work
from sim.kernels.tables import Control, Tables, table
from sim.kernels.watched import Guards

# What can be asked.  a: the state y; b: what is filled.  Each answers with a status.
(
    START,  # bring y to the constraints and choose the acting rows there
    SLOPE,  # slope at a stage into b
    # slope at an accepted state that PROJECT has left, into b; its rows act from now on.  Reply: a first step, and
    # the time until a position that no stage should come near [s]
    SETTLE,
    PROJECT,  # bring y to the constraints.  Reply: how far it was moved, in units of size; -1: no place to end a step
    TURNS,  # remember the angles of loop joints at y
    NORM,  # reply.error: mean square of the error b of y in units of size, whatever the origin and the axes
    LEAP,  # a semi-implicit step from y: v first, then q with it; see `sim.kernels.inertial`
    WATCH,  # values of the guards at y into b
    SAMPLE,  # the recorded row of y into b
    # The others need their addresses only where a scene asks for them.
    RADAU,  # a trial step of the implicit method from y; see `sim.kernels.integrators.radau`
    VARIATIONAL,  # a step of the variational method from y; see `sim.kernels.integrators.variational`
    CLASSICAL,  # a step of the classical Runge-Kutta method where rows bind rates; see `classical`
    STEPPING,  # a time step with contacts from y; see `sim.kernels.integrators.stepping`
    PUSH,  # forces of the last time step's contacts onto the links
    TELL,  # these contacts into `work.told`, for a row of time t
    CLEARANCE,  # which guards are clear within a span, a: the state there, into b; see `sim.kernels.guards.spans`
    # values of formulas that read forces or energies, at coordinates a and rates b, where rows are factorised; see
    # `sim.kernels.feedback`
    FEED,
    # About contacts, where there are any; see `sim.kernels.unilateral.contact_system`.  `work` takes what they tell.
    PLACE,  # where closed points are, in the pose that `work` holds
    ROWS,  # their rows; t: 1 for all, 0 for those that were kept
    RUB,  # multipliers and vdot where points slide, friction following their forces
    GO_ON,  # the next step begins here
    POINT_FORCES,  # forces of points from those of rows
    GIVE,  # what soft points give to the links, and what they dissipate
    STORE,  # what soft points hold, beside other potential energy
    GAPS,  # values of the guards of contacts into b
    CLEAR_GAPS,  # CLEARANCE of gaps; see `sim.kernels.guards.clearance`
    LOOK,  # WATCH of those values that are not-a-number
    GLANCE,  # the same without forces
) = range(28)
QUESTIONS = 28

WHOLES = (Tables, Control, Work, Guards)


class System(NamedTuple):
    """What an integrator is handed of a mechanism."""

    answers: Any  # (28,) i8: address of the function that answers each question
    places: Any  # i8: address and sizes of every array
    reply: Any  # (1,) REPLY: what goes with a question beside the arrays, and with its answer


@cache
def fields() -> list[tuple[str, Any, int]]:
    """Return name, dtype and dimensions of every array of the four wholes, in order."""
    out = []
    for whole in WHOLES:
        for name, hint in get_type_hints(whole, include_extras=True).items():
            dtype, *dimensions = hint.__metadata__
            out.append((name, np.dtype(dtype), dimensions[0] if dimensions else 1))
    return out


@cache
def own_types() -> list[np.dtype[Any]]:
    """Return the types of rows in our own tables: to compare types of records takes longer than to know one."""
    return [table(dtype, 0).dtype if dtype.names else dtype for _, dtype, _ in fields()]


def places_of(tables: Tables, control: Control, work: Work, guards: Guards) -> Any:
    """Return what `unpack` reads: addresses and sizes, or the four themselves where kernels are interpreted.

    The arrays must outlive it.
    """
    wholes = (tables, control, work, guards)
    if interpreted():
        return wholes
    out: list[int] = []
    arrays = [array for whole in wholes for array in whole]
    for (name, dtype, dimensions), own, array in zip(fields(), own_types(), arrays, strict=True):
        if (
            (array.dtype is not own and array.dtype != dtype)
            or array.ndim != dimensions
            or not array.flags.c_contiguous
        ):
            raise TypeError(f"{name} has to be a contiguous array of {dtype} with {dimensions} dimensions")
        out += [array.ctypes.data, *array.shape]
    return np.array(out, np.int64)


if interpreted():

    def address(places: Any) -> Any:
        """Return what kernels are handed as `system`."""
        return places

    def unpack(system: Any) -> Any:
        """Return (tables, control, work, guards)."""
        return system

    def vector(pointer: Any, size: int) -> Any:
        """Return an array of `size` numbers at a pointer."""
        return pointer[:size]

    def ask(answers: Any, question: int, system: Any, t: float, a: Any, b: Any) -> int:
        """Ask a question of a system; returns a status."""
        return int(answers[question](question, system, t, a, b))

else:
    from llvmlite import ir
    from numba import from_dtype, types
    from numba.core.datamodel import models, register_default
    from numba.core.imputils import lower_getattr_generic
    from numba.core.typing.templates import AttributeTemplate, infer_getattr
    from numba.extending import intrinsic
    from numba.np.arrayobj import populate_array

    _NUMBER = types.Array(types.float64, 1, "C")

    def address(places: Any) -> Any:
        """Return what kernels are handed as `system`."""
        return int(places.ctypes.data)

    @cache
    def _arrays() -> list[dict[str, tuple[Any, int]]]:
        """Return of each whole the type of each array, and where its address and sizes stand in the list of all."""
        kinds, at = iter(fields()), 0
        wholes: list[dict[str, tuple[Any, int]]] = []
        for whole in WHOLES:
            wholes.append({})
            for name, dtype, dimensions in islice(kinds, len(whole._fields)):
                # Tables are read-only, which makes other types of the same arrays.
                kind = types.Array(from_dtype(dtype), dimensions, "C", readonly=whole is Tables)
                wholes[-1][name] = kind, at
                at += 1 + dimensions
        return wholes

    class Whole(types.Type):
        """One of the four as kernels hand it on: the address of that list, in which each array is looked up when read.

        As a tuple of all its arrays it would be hundreds of numbers, which each kernel takes apart: three times as
        much to compile.
        """

        def __init__(self, which: int):
            self.which = which
            super().__init__(WHOLES[which].__name__)

    @register_default(Whole)
    class WholeModel(models.PrimitiveModel):
        """An address."""

        def __init__(self, manager: Any, kind: Any):
            super().__init__(manager, kind, ir.IntType(64).as_pointer())

    @infer_getattr
    class WholeAttributes(AttributeTemplate):
        """The arrays of a whole, by name."""

        key = Whole

        def generic_resolve(self, typ: Any, attr: str) -> Any:  # type: ignore[override]
            """Return the type of an array, or None."""
            return _arrays()[typ.which].get(attr, (None, 0))[0]

    @lower_getattr_generic(Whole)
    def _look_up(context: Any, builder: Any, whole: Any, places: Any, name: str) -> Any:
        kind, at = _arrays()[whole.which][name]
        numbers = []
        for i in range(1 + kind.ndim):
            numbers.append(builder.load(builder.gep(places, [ir.Constant(ir.IntType(64), at + i)])))
            # Nothing writes there while a kernel runs: LLVM need not read it twice.
            numbers[-1].set_metadata("invariant.load", builder.module.add_metadata([]))
        return _array_at(context, builder, kind, builder.inttoptr(numbers[0], ir.IntType(8).as_pointer()), numbers[1:])

    def _array_at(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any]) -> Any:
        """Return the struct of a contiguous array that owns nothing."""
        array = context.make_array(kind)(context, builder)
        itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        strides: list[Any] = []
        step = itemsize
        for size in reversed(shape):
            strides.insert(0, step)
            step = builder.mul(step, size)
        pointer = builder.bitcast(data, array.data.type)
        populate_array(array, data=pointer, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
        return array._getvalue()

    @intrinsic
    def unpack(typingctx: Any, system: Any) -> Any:
        """Return (tables, control, work, guards)."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            places = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
            return context.make_tuple(builder, sig.return_type, [places] * len(WHOLES))

        return types.Tuple([Whole(n) for n in range(len(WHOLES))])(types.int64), codegen

    @intrinsic
    def vector(typingctx: Any, pointer: Any, size: Any) -> Any:
        """Return an array of `size` numbers at a pointer."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _array_at(context, builder, _NUMBER, args[0], [context.cast(builder, args[1], size, types.intp)])

        return _NUMBER(pointer, size), codegen

    @intrinsic
    def ask(typingctx: Any, answers: Any, question: Any, system: Any, t: Any, a: Any, b: Any) -> Any:
        """Ask a question of a system; returns a status."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            integer, double = ir.IntType(64), ir.DoubleType()
            number = context.cast(builder, args[1], sig.args[1], types.int64)
            list_of = context.make_array(sig.args[0])(context, builder, args[0])
            function = builder.load(builder.gep(list_of.data, [number]))
            kind = ir.FunctionType(integer, [integer, integer, double, double.as_pointer(), double.as_pointer()])
            pointer = builder.inttoptr(function, kind.as_pointer())
            time = context.cast(builder, args[3], sig.args[3], types.float64)
            a_, b_ = (context.make_array(sig.args[n])(context, builder, args[n]).data for n in (4, 5))
            return builder.call(pointer, [number, args[2], time, a_, b_])

        return types.int64(answers, question, system, t, a, b), codegen


__all__ = ["QUESTIONS", "System", "address", "ask", "places_of", "unpack", "vector"]
