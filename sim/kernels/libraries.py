"""How machine code of kernels is made: optimised once, and emitted only where Python enters it.

Numba links what a kernel calls into it, optimises both together and emits machine code for the whole, so that a kernel
deep down is emitted again with each of its callers, and by itself, where nobody can call it.  A kernel that Python does
not enter is therefore kept as bitcode alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

DRIVER = 1  # the level at which drivers are optimised
LARGE = 30_000  # bytes of bitcode, with all that it calls; LLVM inlines what is a hundredth of that


class EnteredLibrary(JITCodeLibrary):
    """Code of a kernel that Python enters, with all that it calls."""

    _bitcode = b""  # of a loaded one, until it is linked
    size = 0  # bytes of its bitcode, once it is kept or loaded

    def finalize(self) -> None:
        """Link what is called and optimise all of it; but a driver's large callees are linked later, as they are.

        They are optimised already, and too large to become part of their caller.
        """
        settings: Any = config
        self._raise_if_finalized()
        called = list(dict.fromkeys(self._linking_libraries))
        late = [library for library in called if settings.OPT == DRIVER and library.size > LARGE]
        for library in called:
            self._reload_init.update(library._reload_init)
            if library not in late:
                self._link(library)
        self._optimize_final_module()
        for library in late:
            self._link(library)
        if late:
            unused = llvm.create_new_module_pass_manager()
            unused.add_global_dead_code_eliminate_pass()
            unused.run(self._final_module, self._codegen._pass_builder())
        self._final_module.verify()
        self._finalize_final_module()

    def _link(self, library: Any) -> None:
        self._final_module.link_in(library._get_module_for_linking(), preserve=True)

    def _optimize_functions(self, module: Any) -> None:
        """Leave functions to the pass over the whole."""
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Optimise once: numba's first pass serves its reference counts, of which kernels have none."""
        passes, builder = self._codegen._module_pass_manager()
        with self._recorded_timings.record("Module passes", builder):
            passes.run(self._final_module, builder)

    def serialize_using_object_code(self) -> tuple[str, str, tuple[Any, ...]]:
        """Return what the cache keeps: machine code, bitcode, and the names by which the machine code is entered."""
        name, kind, codes = super().serialize_using_object_code()
        self.size = len(codes[1])
        return name, kind, (*codes, _entries(self._final_module))

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, tuple[Any, ...]]) -> EnteredLibrary:
        """Load machine code; bitcode is read where another kernel is compiled that calls this one."""
        name, _, codes = state
        if len(codes) == 2:  # of a law that was compiled as numba does by itself
            return super()._unserialize(codegen, state)
        code, bitcode, entries = codes
        self: EnteredLibrary = codegen.create_library(name)
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._bitcode, self.size = bitcode, len(bitcode)
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(entries)
        return self

    def _get_module_for_linking(self) -> Any:
        if self._bitcode:
            self._shared_module, self._bitcode = llvm.parse_bitcode(self._bitcode), b""
        return super()._get_module_for_linking()


def _entries(module: Any) -> list[str]:
    """Return the names of functions of a module that are there for others."""
    return [f.name for f in module.functions if not f.is_declaration and f.linkage == llvm.Linkage.external]


class InnerLibrary(EnteredLibrary):
    """Bitcode of a kernel that only other kernels call."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the module as it is linked many times: nothing else needs it, so it is no copy."""
        if self._shared_module is None:
            for function in self._final_module.functions:
                if not function.is_declaration and function.linkage == llvm.Linkage.external:
                    function.linkage = "linkonce_odr"
            self._shared_module = self._final_module
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code to point to."""
        return 0

    def serialize_using_object_code(self) -> tuple[str, str, tuple[Any, ...]]:
        """Return what the cache keeps: no machine code, the bitcode."""
        self._ensure_finalized()
        bitcode = self._get_module_for_linking().as_bitcode()
        self.size = len(bitcode)
        return self.name, "object", (b"", bitcode)

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, tuple[Any, ...]]) -> InnerLibrary:
        name, _, (_, bitcode) = state
        self: InnerLibrary = codegen.create_library(name)
        self._shared_module, self.size = llvm.parse_bitcode(bitcode), len(bitcode)
        self._finalized = True
        return self


@contextmanager
def made_as(entered: bool) -> Iterator[None]:
    """Let what numba compiles or loads meanwhile be made as one of the two."""
    codegen: Any = cpu_target.target_context.codegen()
    before = codegen._library_class, codegen.set_env
    codegen._library_class = EnteredLibrary if entered else InnerLibrary
    codegen.set_env = type(codegen).set_env.__get__(codegen) if entered else _no_environment
    try:
        yield
    finally:
        codegen._library_class, codegen.set_env = before


def _no_environment(name: str, environment: Any) -> None:
    """Set no environment: it serves Python objects, and there is no machine code that would look for them."""
