"""Expressions that are evaluated while the scene runs: conditions of events, torques of controllers.

They are checked here, by evaluating them once on quantities whose value is unknown, and folded:
what does not depend on time or state becomes a number in SI, and every name becomes a full name.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sim.joints import JOINT_TYPES
from sim.scene.expressions import Evaluator, ExpressionError, parse, run
from sim.scene.functions import FUNCTIONS
from sim.scene.names import Unreadable, full_name, nearest, own_name
from sim.scene.problem import Place
from sim.scene.spec import Curve, Expression
from sim.scene.units import FACTOR_HINT, ONE, Dimension, Quantity, Vector, describe, parse_unit, scalar

if TYPE_CHECKING:
    from sim.scene.time_table import TimeTable

_LENGTH = parse_unit("m")
_SPEED = parse_unit("m/s")


def by_freedom(units: str, joint_type: str) -> tuple[str, ...]:
    """Return the unit of each freedom, of units written ``sliding or turning`` (``N/m or N m/rad``)."""
    sliding, _, turning = units.partition(" or ")
    return tuple(sliding if unit == "m" else turning or sliding for unit in JOINT_TYPES[joint_type].units)


def live(unit: str) -> Quantity:
    """Return a quantity that is known only while the scene runs."""
    return Quantity(math.nan, parse_unit(unit).dimension, bare=False, live=True)


@dataclass(frozen=True)
class Directory:
    """Every name of a scene that an expression may use, in full.

    joints : name to type (a free body's joint bears the body's name)
    bodies : names
    points : names, ``body.point`` and ``world.point``; ``body.com`` is the centre of mass
    springs : names of springs between points
    contacts : names of rules of contact
    constraints : name to type
    unreadable : names of things whose blocks could not be read
    """

    joints: Mapping[str, str]
    bodies: tuple[str, ...]
    points: tuple[str, ...]
    unreadable: Unreadable = field(default_factory=Unreadable)
    springs: tuple[str, ...] = ()
    contacts: tuple[str, ...] = ()
    constraints: Mapping[str, str] = field(default_factory=dict)

    def find(self, kinds: tuple[str, ...], name: str, prefix: str) -> str:
        """Return the full name of a thing that a file with this prefix calls `name`.

        Raises
        ------
        ExpressionError
            If nothing of these kinds is called so.
        """
        full = full_name(prefix, name)
        known: list[str] = []
        found = []
        for kind in kinds:
            names: Iterable[str] = getattr(self, _PLURAL[kind])
            found += [kind] * (full in names)
            known.extend(names)
        if len(found) > 1:
            raise ExpressionError(f"'{full}' is a {found[0]} and a {found[1]}", "rename one of them", name)
        if found:
            return full
        if full in self.unreadable or full.rpartition(".")[0] in self.unreadable:
            raise ExpressionError(f"'{full}' cannot be read", follows=True)
        if full == "world" and "body" in kinds:
            raise ExpressionError("the world stands still", "name one of its points: 'world.point'", name)
        own = [other for other in (own_name(prefix, k) for k in known) if other]
        raise ExpressionError(f"no {_either(kinds)} named '{full}'", nearest(name, own), name)


_PLURAL = {
    "joint": "joints", "body": "bodies", "point": "points", "spring": "springs", "contact": "contacts",
    "constraint": "constraints",
}  # fmt: skip


def _either(kinds: tuple[str, ...]) -> str:
    """Return the kinds in words: ``joint, contact or constraint``."""
    return " or ".join([", ".join(kinds[:-1]), kinds[-1]] if kinds[1:] else kinds)


class _FormulaEvaluator(Evaluator):
    """Evaluator with time, state and the names of things."""

    def __init__(self, directory: Directory, prefix: str):
        super().__init__()
        self.directory = directory
        self.prefix = prefix
        self.full_names: dict[ast.AST, str] = {}
        self.curves: dict[ast.AST, Curve] = {}
        place = ("body", "point")
        # Function -> what each argument names, result.
        self.live_calls: dict[str, tuple[tuple[tuple[str, ...], ...], Callable[..., Any]]] = {
            "coordinate": ((("joint",),), lambda joint: self.by_joint(joint, "m or rad")),
            "rate": ((("joint",),), lambda joint: self.by_joint(joint, "m/s or rad/s")),
            "torque": ((("joint",),), lambda joint: self.by_joint(joint, "N or N m")),
            "force": ((("joint", "contact", "constraint"),), self.force_of),
            "position": ((place,), lambda thing: Vector([live("m")] * 3)),
            "velocity": ((place,), lambda thing: Vector([live("m/s")] * 3)),
            "orientation": ((("body",),), lambda body: Vector([live("rad")] * 3)),
            "distance": ((place, place), lambda a, b: live("m")),
            "local": ((place, ("body",)), lambda point, body: Vector([live("m")] * 3)),
            "length": ((("spring",),), lambda spring: live("m")),
            "tension": ((("spring",),), lambda spring: live("N")),
            "energy": ((), lambda: live("J")),
            "com": ((("body",),), lambda body=None: Vector([live("m")] * 3)),
        }
        counted = {name: (result, len(kinds), len(kinds)) for name, (kinds, result) in self.live_calls.items()}
        counted["com"] = (counted["com"][0], 0, 1)  # of the whole scene, without a body
        self.calls = {**FUNCTIONS, **counted, "table": (self.column, 2, 3)}

    def column(self, arguments: list[ast.expr]) -> Quantity:
        """Return the live value of a column of a table."""
        raise ExpressionError("table(...) stands in a motion alone", "controllers that follow tables: track", "table")

    def force_of(self, thing: str) -> Vector:
        """Return the live force of a joint, a contact or a constraint between bodies."""
        kind = self.directory.constraints.get(thing)
        if kind in ("gear", "screw"):
            what = f"'{thing}' is a {kind}: it binds joints, and has no force of its own at one place"
            raise ExpressionError(what, "read force('joint') or torque('joint') of a joint that it binds", thing)
        return Vector([live("N")] * 3)

    def by_joint(self, joint: str, units: str) -> Quantity | Vector:
        """Return one live quantity, or a list for a joint of several freedoms."""
        quantities = [live(unit) for unit in by_freedom(units, self.directory.joints[joint])]
        if not quantities:
            raise ExpressionError(f"'{joint}' is a fixed joint: it has no coordinate", "", joint)
        return quantities[0] if len(quantities) == 1 else Vector(quantities)

    def call(self, name: str, function: Callable[..., Any], arguments: list[ast.expr]) -> Any:
        """Look the names among the arguments up, and call a function."""
        if name == "table":
            return self.column(arguments)
        if name not in self.live_calls:
            return super().call(name, function, arguments)
        full = []
        for kinds, argument in zip(self.live_calls[name][0], arguments, strict=False):
            if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                raise ExpressionError(
                    f"{name}(...) takes the name of a {_either(kinds)} in quotes", f"write {name}('name')", name
                )
            full.append(self.directory.find(kinds, argument.value, self.prefix))
            self.full_names[argument] = full[-1]
        return function(*full)


class _TimeEvaluator(_FormulaEvaluator):
    """Evaluator that knows time and tables over it, and refuses what reads the state."""

    def __init__(self, tables: Callable[[str], TimeTable | None]) -> None:
        super().__init__(Directory({}, (), ()), "")
        self.tables = tables

    def call(self, name: str, function: Callable[..., Any], arguments: list[ast.expr]) -> Any:
        """Call a function of numbers, or of a table."""
        if name in self.live_calls:
            what = f"a motion is a function of time alone: {name}(...) reads the state"
            raise ExpressionError(what, "a controller can follow the state", name)
        return super().call(name, function, arguments)

    def column(self, arguments: list[ast.expr]) -> Quantity:
        """Return the live value of a column at t or at another time; in the tree its file becomes its curve."""
        words = [word.value if isinstance(word, ast.Constant) else None for word in arguments[:2]]
        if not all(isinstance(word, str) for word in words):
            raise ExpressionError(
                "table(...) takes a file and a column in quotes", "write table('walk.csv', 'knee')", "table"
            )
        at = scalar(self._eval(arguments[2]), "look a table up at") if arguments[2:] else live("s")
        if not at.bare and at.dimension != live("s").dimension:
            raise ExpressionError(
                f"table(...) is looked up at a time, not at {describe(at.dimension)}", FACTOR_HINT, "table"
            )
        file, key = map(str, words)
        table = self.tables(file)
        if table is None:
            raise ExpressionError(f"'{file}' cannot be read", follows=True)
        if key not in table.columns:
            raise ExpressionError(f"'{file}' has no column '{key}'", nearest(key, list(table.columns)), key)
        column = table.columns[key]
        self.curves[arguments[0]] = Curve(f"table('{file}', '{key}')", table.time, column.values)
        return Quantity(math.nan, column.dimension or ONE, bare=column.dimension is None, live=True)


class _Fold(ast.NodeTransformer):
    """Replaces what is constant by its number and what is a name by the full name."""

    def __init__(self, evaluator: _FormulaEvaluator):
        self.evaluator = evaluator

    def visit(self, node: ast.AST) -> Any:
        if node in self.evaluator.full_names:
            return ast.Constant(self.evaluator.full_names[node])
        if node in self.evaluator.curves:
            return ast.Constant(self.evaluator.curves[node])  # type: ignore[arg-type]
        value = self.evaluator.results.get(node)
        if isinstance(value, Quantity) and not value.live and not value.truth:
            return ast.Constant(value.value)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Turn ``a < b < c`` into ``a < b and b < c``: one signed function each."""
        sides = [node.left, *node.comparators]
        pairs: list[ast.expr] = [
            ast.Compare(self.visit(a), [operator], [self.visit(b)])
            for a, b, operator in zip(sides, sides[1:], node.ops, strict=False)
        ]
        return pairs[0] if len(pairs) == 1 else ast.BoolOp(ast.And(), pairs)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Compare):
            return self.visit_Compare(node)
        if isinstance(node, ast.Subscript):  # the index stays a whole number
            return ast.Subscript(self.visit(node.value), node.slice, ast.Load())
        return super().generic_visit(node)


def _evaluate(
    text: str, names: Mapping[str, Quantity | str], directory: Directory, prefix: str
) -> tuple[Any, ast.expr]:
    """Return the dimension-carrying result of a formula and its folded tree."""
    return _folded(text, names, _FormulaEvaluator(directory, prefix))


def _folded(text: str, names: Mapping[str, Quantity | str], evaluator: _FormulaEvaluator) -> tuple[Any, ast.expr]:
    tree = parse(text)
    evaluator.names = {**names, "t": live("s")}
    result = run(evaluator, tree, text)
    folded = _Fold(evaluator).visit(tree)
    return result, ast.fix_missing_locations(folded)


def is_live(text: str) -> bool:
    """Tell whether a text reads time or the state, and so is a formula and no number."""
    try:
        nodes = list(ast.walk(parse(text)))
    except ExpressionError:
        return False
    read = {node.id for node in nodes if isinstance(node, ast.Name)}
    return not read.isdisjoint(("t", "table")) or any(
        name in read for name in _FormulaEvaluator(Directory({}, (), ()), "").live_calls
    )


def condition(
    text: str, names: Mapping[str, Quantity | str], directory: Directory, prefix: str, place: Place
) -> Expression:
    """Return the condition of an event.

    Raises
    ------
    ExpressionError
        If it is no comparison, never changes, or compares what has different dimensions.
    """
    result, tree = _evaluate(text, names, directory, prefix)
    if not isinstance(result, Quantity) or not result.truth:
        raise ExpressionError("a condition compares two numbers, as in t > 2 s")
    if not result.live:
        raise ExpressionError("nothing in this condition depends on time or state: it never changes")
    return Expression(text=text, tree=tree, place=place)


def number(
    text: str, names: Mapping[str, Quantity | str], directory: Directory, prefix: str, place: Place, unit: str
) -> Expression:
    """Return a formula of time and state for a quantity of the given unit.

    Raises
    ------
    ExpressionError
        If it is a comparison or a list, or has another dimension.
    """
    result, tree = _evaluate(text, names, directory, prefix)
    return _number(result, tree, text, place, unit)


def motion(
    text: str,
    names: Mapping[str, Quantity | str],
    place: Place,
    unit: str,
    tables: Callable[[str], TimeTable | None],
) -> Expression:
    """Return a formula of time alone for a quantity of the given unit.

    tables : what is in a file that the formula names, None where that cannot be had (reported)

    Raises
    ------
    ExpressionError
        If it reads the state, is a comparison or a list, or has another dimension.
    """
    result, tree = _folded(text, names, _TimeEvaluator(tables))
    return _number(result, tree, text, place, unit)


def _number(result: Any, tree: ast.expr, text: str, place: Place, unit: str) -> Expression:
    if isinstance(result, Vector):
        raise ExpressionError(f"a list of {len(result)} numbers where one is wanted", "pick one, as in [0]")
    _measures(result, unit)
    return Expression(text=text, tree=tree, place=place)


def vector(
    text: str, names: Mapping[str, Quantity | str], directory: Directory, prefix: str, place: Place, unit: str
) -> Expression:
    """Return a formula of time and state for three quantities of the given unit.

    Raises
    ------
    ExpressionError
        If it is no list of three, or has another dimension.
    """
    result, tree = _evaluate(text, names, directory, prefix)
    if not isinstance(result, Vector) or len(result) != 3:
        found = f"a list of {len(result)} numbers" if isinstance(result, Vector) else "one number"
        raise ExpressionError(f"{found} where a list of 3 is wanted", f"as in [0, 0, 1 {unit}]")
    for item in result:
        _measures(item, unit)
    return Expression(text=text, tree=tree, place=place)


def _measures(result: Any, unit: str) -> None:
    """Raise ExpressionError where a result is no number, or has another dimension than the unit."""
    wanted: Dimension = parse_unit(unit).dimension
    if not isinstance(result, Quantity) or result.truth:
        raise ExpressionError("a comparison or text where a number is wanted")
    if not result.bare and result.dimension != wanted:
        found = "a pure number or an angle" if result.dimension == ONE else describe(result.dimension)
        raise ExpressionError(f"expected {describe(wanted)}, found {found}", FACTOR_HINT, units=True)
