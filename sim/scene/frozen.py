"""Arrays that many parts look at and none may write."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np


def freeze(thing: Any) -> None:
    """Make all arrays read-only that a thing holds, in dataclasses, tuples, lists and mappings of them."""
    if isinstance(thing, np.ndarray):
        thing.flags.writeable = False
    elif isinstance(thing, Mapping):
        freeze(tuple(thing.values()))
    elif isinstance(thing, (tuple, list)):
        for part in thing:
            freeze(part)
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        freeze([getattr(thing, field.name) for field in dataclasses.fields(thing)])
