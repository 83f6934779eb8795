"""The types of joints, one file each: a file that is put here is a type that scenes may use.

Everything reads them here: the reader of scenes, the compiler of tables, assembly, linear models.  Kernels know no
types, only the elementary motions that the tables list.  The oracle of `sim verify` keeps its own description, and a
test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from sim.joints.joint_type import JointType


def _collected() -> Mapping[str, JointType]:
    """Return the types by name, those of few freedoms first."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    types: list[JointType] = [module.TYPE for module in modules if hasattr(module, "TYPE")]
    ordered = sorted(types, key=lambda one: (one.freedoms, one.name))
    return MappingProxyType({one.name: one for one in ordered})


JOINT_TYPES = _collected()

__all__ = ["JOINT_TYPES", "JointType"]
