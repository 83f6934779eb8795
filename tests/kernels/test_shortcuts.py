"""What stands in place of numba's own methods answers as they do, and asks them where it does not know."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import pytest

from sim.kernels import jit

if jit.interpreted():
    pytest.skip("nothing is compiled", allow_module_level=True)

from numba.core import ir, types
from numba.core.compiler import Flags, run_frontend
from numba.core.registry import cpu_target

from sim.kernels import shortcuts
from sim.kernels.collision.narrow import points_nearby

SCALARS = (types.float64, types.int64, types.int32, types.boolean, types.IntegerLiteral(2), types.complex128)


def settings(**values: Any) -> Flags:
    flags = Flags()
    for name, value in values.items():
        setattr(flags, name, value)
    return flags


ALIKE = [
    (settings(), settings(nrt=False), True),  # the default, said
    (settings(nrt=True), settings(nrt=True), True),
    (settings(nrt=True), settings(), False),
    (settings(nrt=True), settings(boundscheck=True), False),
    (settings(nrt=True, boundscheck=True), settings(boundscheck=True, nrt=True), True),
]


@pytest.mark.parametrize(("one", "other", "alike"), ALIKE)
def test_settings_are_equal_where_their_values_are(one, other, alike):
    assert shortcuts.equal(one, other) is alike and shortcuts.equal(other, one) is alike
    assert (one.values() == other.values()) is alike
    assert not alike or shortcuts.of_kind(one) == shortcuts.of_kind(other)
    assert shortcuts.equal(one, "settings") is NotImplemented


def called(what: Any) -> Any:
    context = cpu_target.typing_context
    context.refresh()
    return context, context.resolve_value_type(what)


def asked(ask: Any, what: Any, args: tuple[Any, ...]) -> Any:
    """Return the signature that comes of asking, or the kind of what is raised."""
    context, function = called(what)
    try:
        return ask(function, context, args, {})
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("what", sorted(shortcuts.ARITHMETIC, key=repr))
def test_arithmetic_has_the_types_that_numba_says_also_when_it_is_asked_again(what):
    one = what in (operator.neg, operator.pos, operator.not_)
    for args in itertools.product(SCALARS, repeat=1 if one else 2):
        assert shortcuts.is_plain(what, args)
        expected = asked(shortcuts._type_of_call, what, args)
        for _ in range(2):
            assert asked(shortcuts.type_of_call, what, args) == expected, args


ARRAY = types.Array(types.float64, 2, "C")
PAIR, SLICE = types.UniTuple(types.int64, 2), types.slice2_type


@pytest.mark.parametrize(
    ("what", "args", "plain"),
    [
        (operator.getitem, (ARRAY, PAIR), True),
        (operator.getitem, (types.Array(types.float64, 1, "A"), types.int64), True),
        (operator.setitem, (ARRAY, PAIR, types.float64), True),
        (operator.setitem, (ARRAY, PAIR, types.complex128), True),  # which numba refuses
        (operator.getitem, (ARRAY, SLICE), False),
        (operator.getitem, (ARRAY, types.Tuple((types.int64, SLICE))), False),
        (operator.setitem, (ARRAY, types.int64, types.Array(types.float64, 1, "C")), False),
        (operator.getitem, (PAIR, types.int64), False),
        (operator.add, (ARRAY, types.float64), False),
        (max, (types.float64, types.float64), False),
    ],
)  # fmt: skip
def test_elements_of_arrays_have_the_types_that_numba_says(what, args, plain):
    assert shortcuts.is_plain(what, args) is plain
    expected = asked(shortcuts._type_of_call, what, args)
    for _ in range(2):
        assert asked(shortcuts.type_of_call, what, args) == expected


def test_what_is_known_is_not_asked_again(monkeypatch):
    context, function = called(operator.add)
    monkeypatch.setitem(function.__dict__, "_known_calls", {(context, types.int8, types.int8): "known"})
    assert shortcuts.type_of_call(function, context, (types.int8, types.int8), {}) == "known"
    assert shortcuts.type_of_call(function, context, (types.int16, types.int8), {}).return_type == types.int64


def own_variables(value: Any) -> list[Any]:
    """Return variables as numba's own words have it: by kinds, in order."""
    if isinstance(value, ir.Var):
        return [value]
    if isinstance(value, ir.Inst):
        return own_variables(value._kws if isinstance(value, ir.Expr) else value.__dict__)
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [variable for part in value for variable in own_variables(part)]


def test_variables_of_instructions_are_found_in_their_order():
    """Of all instructions of a long kernel, and of one that holds what kernels do not."""
    blocks = run_frontend(points_nearby.py_func).blocks
    statements = [statement for block in blocks.values() for statement in block.body]
    assert len(statements) > 50 and any(len(statement.list_vars()) > 3 for statement in statements)
    for statement in statements:
        assert statement.list_vars() == own_variables(statement), statement
    here = ir.Loc("here", 1)
    x, y, z = (ir.Var(ir.Scope(None, here), name, here) for name in "xyz")
    call = ir.Expr.call(x, [y], {"key": z}, here)
    assert [v.name for v in shortcuts.variables_in(None, {"a": (1, [call, "y"]), "b": {"c": z}})] == [
        "x",
        "y",
        "z",
        "z",
    ]


def test_they_are_taken():
    assert (Flags.__eq__, Flags.__hash__) == (shortcuts.equal, shortcuts.of_kind)
    assert types.functions.BaseFunction.get_call_type is shortcuts.type_of_call
