"""Values of a run as JSON and arrays, and back: what a file may hold without holding code.

Numbers, texts, lists, tuples, sets, dictionaries, arrays, numpy's generators of random numbers and the dataclasses that
a caller names become a tree of JSON in which each array stands by its number.  Nothing else is written, and nothing but
these is ever made from a file.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sim.kernels.tables import as_table

DEEPEST = 50  # values within values


class PlainError(ValueError):
    """A value that cannot be written, or a text from which none can be made; `path` is where it stands."""

    def __init__(self, path: str, what: str):
        self.path, self.what = path, what
        super().__init__(f"{path}: {what}")


def to_plain(value: Any, types: Iterable[type] = ()) -> tuple[str, list[np.ndarray]]:
    """Return a value as JSON, and the arrays that it refers to by number.

    types : dataclasses that may stand in it

    Raises
    ------
    PlainError
        Where something else stands in it.
    """
    writer = _Writer({kind.__name__: kind for kind in types})
    tree = writer.plain(value, "value", 0)
    return json.dumps(tree, allow_nan=False), writer.arrays


def from_plain(text: str, arrays: list[np.ndarray], types: Iterable[type] = ()) -> Any:
    """Return the value that `to_plain` was given.

    Raises
    ------
    PlainError
        Where the text is none of its own.
    """
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlainError("value", f"no JSON: {error}") from error
    return _Reader({kind.__name__: kind for kind in types}, arrays).value(tree, "value", 0)


def packed(text: str, arrays: list[np.ndarray]) -> tuple[bytes, bytes]:
    """Return what `to_plain` gives as bytes: JSON, with types and shapes of the arrays, and their numbers."""
    kinds = [[np.lib.format.dtype_to_descr(_bare(array.dtype)), list(array.shape)] for array in arrays]
    return json.dumps([text, kinds]).encode(), b"".join(array.tobytes() for array in arrays)


def unpacked(text: bytes, numbers: bytes) -> tuple[str, list[np.ndarray]]:
    """Return what was packed.

    Raises
    ------
    PlainError
        Where these are no bytes that `packed` gives.
    """
    try:
        plain, kinds = json.loads(text)
        if not isinstance(plain, str):
            raise TypeError("no text")
        arrays, at = [], 0
        for descr, shape in kinds:
            dtype = np.lib.format.descr_to_dtype(_tuples(descr))
            count = math.prod(shape)
            if dtype.hasobject or not 0 <= count * dtype.itemsize <= len(numbers) - at:
                raise ValueError("sizes do not fit")
            arrays.append(np.frombuffer(numbers, dtype, count, at).reshape(shape))
            at += count * dtype.itemsize
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, SyntaxError) as error:
        raise PlainError("value", f"damaged: {error}") from error
    return plain, arrays


def _bare(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a type of records as one of plain structures."""
    return np.dtype((np.void, dtype)) if dtype.names else dtype


def _tuples(descr: Any) -> Any:
    """Return the description of a type with its tuples, of which JSON makes lists."""
    if isinstance(descr, str):
        return descr
    if not (isinstance(descr, list) and descr):
        raise TypeError("no type of numbers")
    fields = [(name if isinstance(name, str) else tuple(name), *rest) for name, *rest in descr]
    return [(name, _tuples(kind), *(tuple(shape) for shape in shapes)) for name, kind, *shapes in fields]


class _Writer:
    def __init__(self, types: Mapping[str, type]):
        self.types, self.arrays = types, list[np.ndarray]()

    def plain(self, value: Any, path: str, depth: int) -> Any:
        if depth > DEEPEST:
            raise PlainError(path, f"more than {DEEPEST} values within each other")
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(value, path)
        if isinstance(value, np.random.Generator):
            return {"generator": self.plain(value.bit_generator.state, path, depth + 1)}
        if type(value) is list:
            return [self.plain(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
        if dataclasses.is_dataclass(value) and self.types.get(type(value).__name__) is type(value):
            names = [field.name for field in dataclasses.fields(value)]
            held = {name: self.plain(getattr(value, name), f"{path}.{name}", depth + 1) for name in names}
            return {"type": type(value).__name__, "fields": held}
        return self._collection(value, path, depth)

    def _array(self, value: Any, path: str) -> Any:
        if value.dtype.hasobject:
            raise PlainError(path, "an array of objects; expected numbers")
        one = isinstance(value, np.generic)
        self.arrays.append(np.array(value).view(np.ndarray))
        return {"number" if one else "array": len(self.arrays) - 1}

    def _collection(self, value: Any, path: str, depth: int) -> Any:
        kind = type(value)
        if kind is dict:
            pairs = [
                [self.plain(key, f"{path}: key {key!r}", depth + 1), self.plain(item, f"{path}[{key!r}]", depth + 1)]
                for key, item in value.items()
            ]
            return {"dict": pairs}
        if kind in (set, frozenset):
            value = sorted(value)
        elif kind not in (tuple, deque):
            raise PlainError(path, f"{kind.__name__}; expected numbers, texts, arrays, lists and maps of them")
        items = [self.plain(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
        return {kind.__name__: items} | ({"most": value.maxlen} if kind is deque else {})


class _Reader:
    def __init__(self, types: Mapping[str, type], arrays: list[np.ndarray]):
        self.types, self.arrays = types, arrays

    def value(self, tree: Any, path: str, depth: int) -> Any:
        if depth > DEEPEST:
            raise PlainError(path, f"more than {DEEPEST} values within each other")
        if tree is None or type(tree) in (bool, int, float, str):
            return tree
        if type(tree) is list:
            return self._items(tree, path, depth)
        try:
            return self._made(tree, path, depth)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            if isinstance(error, PlainError):
                raise
            raise PlainError(path, f"found {str(tree)[:60]}") from error

    def _items(self, tree: list[Any], path: str, depth: int) -> list[Any]:
        return [self.value(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(tree)]

    def _made(self, tree: dict[str, Any], path: str, depth: int) -> Any:
        if "type" in tree:
            held = {name: self.value(item, f"{path}.{name}", depth + 1) for name, item in tree["fields"].items()}
            return self.types[tree["type"]](**held)
        content: Any
        kind, content = next(iter(tree.items()), ("", ()))
        if kind == "float":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]
        if kind in ("array", "number"):
            array = self.arrays[content].copy()
            array = as_table(array) if array.dtype.names else array
            return array if kind == "array" else array[()]
        if kind == "generator":
            return _generator(self.value(content, path, depth + 1))
        if kind == "dict":
            return {self.value(key, path, depth + 1): self.value(item, path, depth + 1) for key, item in content}
        items = self._items(content, path, depth)
        if kind == "deque":
            return deque(items, maxlen=tree["most"])
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](items)


_GENERATORS = {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"}


def _generator(state: dict[str, Any]) -> np.random.Generator:
    """Return numpy's generator of random numbers in a state."""
    name = state["bit_generator"]
    if name not in _GENERATORS:
        raise ValueError(name)
    bits = getattr(np.random, name)()
    bits.state = state
    return np.random.Generator(bits)


def same(a: Any, b: Any) -> bool:
    """Tell whether two values are the same to the bit; not-a-number is the same as itself."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if type(a) is not type(b):
        return False
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if isinstance(a, (list, tuple, deque)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.random.Generator):
        return same(a.bit_generator.state, b.bit_generator.state)
    if isinstance(a, (float, np.generic)):
        return np.array(a).tobytes() == np.array(b).tobytes()
    return bool(a == b)
