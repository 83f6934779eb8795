"""Controllers inside a compiled integrator: a call through an address, compiled or plain Python.

A controller law has the C signature ``void(double t, double *coordinate, double *rate, double
*constants, double *torque, int64 columns, int64 constants)``.  The integrator knows addresses only,
so that one compiled integrator serves every controller.  Interpreted kernels look the address up
in `TWINS`.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sim.kernels.jit import cache_folder, interpreted

C_LAW = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64)

# address -> law over arrays, for interpreted kernels
TWINS: dict[int, Callable[..., None]] = {}

if interpreted():

    def call_law(address, t, coordinate, rate, constants, first, count, torque_out):
        """Call the law at an address with `count` constants from `first` on."""
        TWINS[int(address)](t, coordinate, rate, constants[first : first + count], torque_out)

else:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def call_law(
        typingctx: Any, address: Any, t: Any, coordinate: Any, rate: Any, constants: Any, first: Any, count: Any,
        torque_out: Any,
    ) -> Any:  # fmt: skip
        """Call the law at an address with `count` constants from `first` on."""
        signature = types.void(address, t, coordinate, rate, constants, first, count, torque_out)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            double, integer = ir.DoubleType(), ir.IntType(64)
            pointer = double.as_pointer()

            def array(index: int) -> Any:
                return context.make_array(sig.args[index])(context, builder, args[index])

            def data(index: int) -> Any:
                return builder.bitcast(array(index).data, pointer)

            def cast(index: int, kind: Any) -> Any:
                return context.cast(builder, args[index], sig.args[index], kind)

            offset = builder.gep(data(4), [cast(5, types.intp)])
            kind = ir.FunctionType(ir.VoidType(), [double, pointer, pointer, pointer, pointer, integer, integer])
            function = builder.inttoptr(cast(0, types.uintp), kind.as_pointer())
            columns = builder.extract_value(array(2).shape, 0)
            builder.call(
                function, [cast(1, types.float64), data(2), data(3), offset, data(7), columns, cast(6, types.int64)]
            )
            return cgutils.get_null_value(context.get_value_type(types.void))

        return signature, codegen


class PythonLaw:
    """A Python callable ``function(t)`` at an address; it reads and writes arrays it shares with the kernel.

    ctypes swallows exceptions, so the first one is kept in `error` for the caller to raise, and
    `failed[0]` tells the kernel to stop at once.
    """

    def __init__(self, function: Callable[[float], None], failed: Any):
        self.error: BaseException | None = None

        def call(t: float, *_: Any) -> None:
            if self.error is None:
                try:
                    function(t)
                except BaseException as error:  # KeyboardInterrupt too
                    self.error = error
                    failed[0] = 1

        self._pointer = C_LAW(call)
        self.address = int(ctypes.cast(self._pointer, ctypes.c_void_p).value or 0)
        TWINS[self.address] = call


_WRAPPER = '''"""Compiled form of {module}.{name}."""
import {module} as source
import numpy as np
from numba import carray, cfunc, types

from sim.kernels.jit import python_kernel

P = types.CPointer(types.float64)
READ, WRITTEN = (types.Array(types.float64, 1, "C", readonly=only) for only in (True, False))
# What it prints needs numba's environment, which kernels that Python does not enter are kept without.
law = python_kernel(source.{name})
law.compile((types.float64, READ, READ, READ, WRITTEN))
law.disable_compile()  # what does not write into these arrays is called with others that it might


@cfunc(types.void(types.float64, P, P, P, P, types.int64, types.int64), cache=True)
def entry(t, coordinate, rate, constants, torque, columns, count):
    x, v, u = carray(coordinate, (columns,)), carray(rate, (columns,)), carray(torque, (columns,))
    try:
        law(t, x, v, carray(constants, (count,)), u)
    except Exception:
        u[:] = np.nan
'''


def compiled_law(law: Callable[..., None]) -> tuple[int, Any]:
    """Return (address, object to keep alive) of a law over five numpy arrays, compiled and cached.

    It cannot write into coordinate, rate and constants: that is refused when it is compiled, as is what numba cannot
    compile; raises what numba raises then.  All indices are checked at every call.  Where the law raises, all its
    torques are not-a-number: no exception comes out of machine code, and the run ends there.

    A module is written into the cache folder that wraps the law; its name is a digest of the file
    the law stands in, so an edit compiles anew.
    """
    if interpreted():
        address = id(law)
        TWINS[address] = _twin(law)
        return address, law
    module, name = law.__module__, law.__qualname__
    source = Path(sys.modules[module].__file__ or "")
    text = _WRAPPER.format(module=module, name=name)
    digest = hashlib.sha256(source.read_bytes() + text.encode()).hexdigest()[:16]
    folder = cache_folder() / "laws"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"law_{digest}.py"
    if not path.exists() or path.read_bytes() != text.encode():
        draft = path.with_name(f"{path.name}.{os.getpid()}.part")
        draft.write_bytes(text.encode())
        draft.replace(path)
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found is not None and found.loader is not None
    wrapper = importlib.util.module_from_spec(found)
    sys.modules[path.stem] = wrapper
    with bounds_checked():
        found.loader.exec_module(wrapper)
    return int(wrapper.entry.address), wrapper.entry


@contextmanager
def bounds_checked() -> Iterator[None]:
    """Let what is compiled meanwhile, helpers of a law too, check its indices."""
    numba: Any = sys.modules.get("numba")
    if numba is None:  # nothing is compiled
        yield
        return
    before, numba.config.BOUNDSCHECK = numba.config.BOUNDSCHECK, 1
    try:
        yield
    finally:
        numba.config.BOUNDSCHECK = before


def _twin(law: Callable[..., None]) -> Callable[..., None]:
    """Return a law for interpreted kernels that does what the compiled one does."""

    def call(t: float, coordinate: Any, rate: Any, constants: Any, torque: Any) -> None:
        try:
            law(t, read_only(coordinate), read_only(rate), read_only(constants), torque)
        except Exception:
            torque[:] = np.nan

    return call


def read_only(array: Any) -> np.ndarray:
    """Return the same numbers as an array that cannot be written, nor be made so."""
    return np.asarray(memoryview(array).toreadonly())
