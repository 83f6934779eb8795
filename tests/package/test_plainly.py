"""Values that go to a file as JSON and numbers, and come back the same; what is none of them does neither."""

from __future__ import annotations

import json
import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest

from sim.simulation.plain_values import PlainError, from_plain, packed, same, to_plain, unpacked

pytestmark = pytest.mark.fast


@dataclass
class Knot:
    name: str
    at: np.ndarray
    ends: tuple[int, ...] = ()
    inner: list[Knot] = field(default_factory=list)


ROW = np.dtype([("key", "i8", (2,)), ("p", "f8", (2, 3)), ("r", "f8")], align=True)
VALUES = {
    "numbers": [0, -3, 2**70, 1.5, -0.0, math.inf, -math.inf, math.nan, True, False, None],
    "texts": ["", "a\nb", "\u00e9\u2713", {"dict": "array"}],
    "tuples as keys": {(1, 2, 3): 4, "x": {(0,): [1.0]}, 5: ()},
    "sets": [set(), {3, 1, 2}, frozenset({("b", 1), ("a", 2)})],
    "a queue": deque([(1.0, ("a",)), (2.0, ())], maxlen=3),
    "an endless queue": deque([1]),
    "arrays": [np.arange(6.0).reshape(2, 3), np.zeros((0, 4), np.int64), np.array(2.5), np.array([1 + 2j])],
    "a number of an array": np.float64(3),
    "nothing in an array": np.array([], "S1"),
    "texts in an array": np.array([b"ab", b"c"]),
    "dataclasses": Knot("a", np.array([np.nan, 1.0]), (1, 2), [Knot("b", np.zeros(3))]),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_the_same(name: str) -> None:
    value = VALUES[name]
    text, arrays = unpacked(*packed(*to_plain(value, [Knot])))
    again = from_plain(text, arrays, [Knot])
    assert same(value, again)
    if isinstance(value, deque):
        assert again.maxlen == value.maxlen


def test_records_come_back_with_their_fields() -> None:
    rows = np.zeros(3, ROW).view(np.recarray)
    rows.key, rows.p, rows.r = [[1, 2], [3, 4], [5, 6]], np.arange(18.0).reshape(3, 2, 3), [7.0, 8.0, 9.0]
    table, one = from_plain(*unpacked(*packed(*to_plain([rows, rows[1]]))))
    assert table.p.tolist() == rows.p.tolist() and table.dtype == ROW
    assert one.key.tolist() == [3, 4] and one.p.tolist() == rows.p[1].tolist() and one.r == 8.0
    table.r[0] = 1.0  # what comes back is one's own


def test_a_generator_of_random_numbers_goes_on() -> None:
    rng = np.random.default_rng(4)
    rng.normal(size=3)
    again = from_plain(*to_plain(rng))
    assert same(rng, again)
    assert rng.normal() == again.normal() and same(rng, again)
    again.normal()
    assert not same(rng, again)


WRAPPED = {
    "list": lambda one: [one], "tuple": lambda one: (0, one), "dict": lambda one: {"a": one},
    "dataclass": lambda one: Knot("a", one, inner=[]), "queue": lambda one: deque([one]),
}  # fmt: skip


@pytest.mark.parametrize("how", WRAPPED)
@pytest.mark.parametrize("inner", ["text", "generator", "set"])
def test_fifty_values_stand_within_each_other_and_no_more(how: str, inner: str) -> None:
    """A generator of random numbers has two more in it, its state and the numbers of that; a set has its items."""
    make, deeper = {
        "text": (lambda: "a", 0), "generator": (lambda: np.random.default_rng(1), 3), "set": (lambda: {1, 2}, 1),
    }[inner]  # fmt: skip
    value = make()
    for _ in range(50 - deeper):
        value = WRAPPED[how](value)
    again = from_plain(*to_plain(value, [Knot]), [Knot])
    assert same(value, again)
    with pytest.raises(PlainError, match="more than 50 values within each other"):
        to_plain(WRAPPED[how](value), [Knot])


@pytest.mark.parametrize(
    ("value", "path", "what"),
    [
        ([1, object()], "value[1]", "object; expected numbers, texts, arrays, lists and maps of them"),
        ({"a": {2: print}}, "value['a'][2]", "builtin_function_or_method; expected numbers"),
        (np.array([None]), "value", "an array of objects; expected numbers"),
        (Knot("a", np.zeros(1)), "value", "Knot; expected numbers"),
    ],
)
def test_what_cannot_be_written_is_named(value: object, path: str, what: str) -> None:
    with pytest.raises(PlainError) as caught:
        to_plain(value)
    assert caught.value.path == path and caught.value.what.startswith(what)


def test_a_value_without_end_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(PlainError, match="more than 50 values within each other"):
        to_plain(endless)
    with pytest.raises(PlainError, match="more than 50 values within each other"):
        from_plain("[" * 60 + "]" * 60, [])


@pytest.mark.parametrize(
    "tree",
    [
        {"type": "Path", "fields": {"x": 1}}, {"type": "Knot", "fields": {"none": 1}}, {"array": 1}, {"array": "x"},
        {"dict": 3}, {"float": "x"}, {"code": "x"}, {}, {"generator": {"dict": [["bit_generator", "print"]]}},
        {"dict": [[[1], 2]]}, {"tuple": 4}, {"deque": [1]},
    ],
)  # fmt: skip
def test_nothing_else_is_made_of_a_text(tree: object) -> None:
    with pytest.raises(PlainError):
        from_plain(json.dumps(tree), [np.zeros(1)], [Knot])


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        (b"", b""), (b"[1]", b""), (b"[3, []]", b""), (b'["1", [["<f8", [2]]]]', b"\0" * 8),
        (b'["1", [["O", [1]]]]', b"\0" * 8),
        (b'["1", [["<f8", [-1]]]]', b"\0" * 8), (b'["1", [[{}, [1]]]]', b""), (b'["1", [["<f8", ["x"]]]]', b""),
    ],
)  # fmt: skip
def test_damaged_bytes_are_told(text: bytes, numbers: bytes) -> None:
    with pytest.raises(PlainError, match="damaged"):
        unpacked(text, numbers)


def test_values_that_differ_are_not_the_same() -> None:
    pairs = [
        (0.0, -0.0), (1, 1.0), (1, True), ([1], (1,)), ({1: 2}, {1: 3}), ({1: 2}, {2: 2}), (deque([1]), deque([1, 2])),
        (np.zeros(2), np.zeros(3)), (np.zeros(2), np.zeros(2, int)), (Knot("a", np.zeros(1)), Knot("a", np.ones(1))),
        ({1}, {2}), ("a", "b"), (np.float64(1), np.float64(2)),
    ]  # fmt: skip
    for a, b in pairs:
        assert same(a, a) and not same(a, b)
    assert same(math.nan, math.nan)
