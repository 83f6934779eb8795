"""Numbers with units as a scene writes them: ``2 cm``, ``0.129*height*y``, ``-0.5*length``, ``pi/3``.

The text is turned into Python syntax (``2 N m/rad`` becomes ``(2*N*m/rad)``) and evaluated by
simpleeval on quantities that carry their dimension.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import simpleeval

from sim.scene.functions import FUNCTIONS
from sim.scene.names import nearest
from sim.scene.units import UNITS, Quantity, UnitError, Vector, common, scalar

_LONGEST = 1000  # characters; a longer formula is a mistake, and could exhaust Python's parser

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'[^']*'|"[^"]*")
        | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
        | (?P<name>[^\W\d]\w*)
        | (?P<power>\*\*|\^)
        | (?P<sign><=|>=|==|!=|//|[-+*/%()<>,\[\]]))""",
    re.VERBOSE,
)
_PLAIN_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_NUMBER_AND_UNIT = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]+)")
_WORDS = {"and", "or", "not"}


class ExpressionError(ValueError):
    """An expression that cannot be read.

    Attributes
    ----------
    what, hint : str
        As in `Problem`.
    token : str
        The word that is wrong; empty for the whole expression.
    follows : bool
        It follows from another mistake, which is reported already.
    units : bool
        Dimensions do not go together.
    """

    def __init__(self, what: str, hint: str = "", token: str = "", follows: bool = False, units: bool = False):
        super().__init__(what)
        self.units = units
        self.what, self.hint, self.token, self.follows = what, hint, token, follows


CONSTANTS: dict[str, Quantity] = {name: Quantity(value, powers, False) for name, (value, powers) in UNITS.items()}
CONSTANTS["pi"] = Quantity(math.pi)
CONSTANTS["inf"] = Quantity(math.inf)

RESERVED = {*CONSTANTS, *FUNCTIONS, *_WORDS, "t", "true", "false", "if", "else", "in", "is", "lambda", "None"}


def _tokens(text: str) -> list[tuple[str, str]]:
    """Return (kind, text) of each token."""
    found, start, text = [], 0, text.rstrip()
    while start < len(text):
        match = _TOKEN.match(text, start)
        if not match:
            raise ExpressionError(f"cannot read {text.strip()!r}: unexpected {text[start:].strip()[0]!r}")
        kind = str(match.lastgroup)
        word = match.group(kind)
        is_unit = kind == "name" and word in UNITS
        found.append(("unit" if is_unit else "word" if word in _WORDS else kind, word))
        start = match.end()
    return found


def python_syntax(text: str) -> str:
    """Return an expression with units as Python syntax.

    A number binds to the units after it before anything else: ``1/2 s`` is ``1/(2*s)``.

    Raises
    ------
    ExpressionError
        If a word follows a number that is not a unit.
    """
    tokens = [*_tokens(text), ("end", "")]
    out: list[str] = []
    i = 0
    while i < len(tokens) - 1:
        kind, word = tokens[i]
        following, next_word = tokens[i + 1]
        i += 1
        if kind in ("number", "unit", "name") or word == ")":
            if following in ("name", "text", "number") or (kind == "name" and following == "unit"):
                _refuse_neighbours(text, word, next_word, kind, following)
            if following == "unit":
                run, i = _unit_run(tokens, i)
                out.append(f"{word}*{run}" if word == ")" else f"({word}*{run})")
                continue
        out.append("**" if kind == "power" else f" {word} " if kind == "word" else word)
    return "".join(out).strip()


def _unit_run(tokens: list[tuple[str, str]], i: int) -> tuple[str, int]:
    """Return the product of units that begins at token i, and the token after it."""
    out = ""
    while True:
        out += tokens[i][1]
        i += 1
        if tokens[i][0] == "power":
            sign = "-" if tokens[i + 1][1] == "-" else ""
            i += 2 if sign else 1
            if tokens[i][0] != "number":
                raise ExpressionError(
                    f"the power of a unit is a number, as in m^2; found {tokens[i][1] or 'the end'!r}"
                )
            out += "**" + sign + tokens[i][1]
            i += 1
        if tokens[i][0] == "unit":
            out += "*"
        elif tokens[i][1] == "/" and tokens[i + 1][0] == "unit":
            out += "/"
            i += 1
        else:
            return out, i


def _refuse_neighbours(text: str, word: str, next_word: str, kind: str, following: str) -> None:
    if following == "name" and kind != "name":
        hint = nearest(next_word, UNITS) or "to multiply, write * between them"
        raise ExpressionError(f"no unit named '{next_word}'", hint, next_word)
    raise ExpressionError(
        f"cannot read {text.strip()!r}: an operator is missing between '{word}' and '{next_word}'",
        "write * between them",
    )


class Evaluator(simpleeval.SimpleEval):
    """Evaluates the syntax of a scene on quantities; everything else is refused.

    Attributes
    ----------
    names : mapping of str to Quantity
        Parameters and loop variables; a loop variable that is text is a str.
    results : dict of ast.expr to its value
        Of every node, filled while evaluating.
    """

    def __init__(self) -> None:
        operators = {
            ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
            ast.Div: lambda a, b: a / b, ast.Pow: lambda a, b: a**b, ast.USub: lambda a: -a, ast.UAdd: lambda a: +a,
        }  # fmt: skip
        super().__init__(operators=operators, functions={}, names={})
        self.calls: dict[str, tuple[Callable[..., Any], int, int]] = FUNCTIONS
        self.results: dict[ast.AST, Any] = {}
        self.handlers: dict[type, Callable[[Any], Any]] = {
            ast.Constant: self._constant, ast.Name: self._name, ast.UnaryOp: self._unary, ast.BinOp: self._binary,
            ast.Call: self._call, ast.List: self._list, ast.Subscript: self._subscript,
            ast.Compare: self._compare, ast.BoolOp: self._both,
        }  # fmt: skip

    def _eval(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Tuple):
            raise ExpressionError(
                "several numbers where one is wanted", "lists stand in [ ]; decimals are written with a point"
            )
        if type(node) not in self.handlers:
            raise ExpressionError(f"{type(node).__name__} is not part of the language of expressions")
        result = self.handlers[type(node)](node)
        self.results[node] = result
        return result

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, str):
            return node.value
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            raise ExpressionError(f"{node.value!r} is not a number")
        try:
            return Quantity(float(node.value))
        except OverflowError:
            raise ExpressionError("a number too large to hold") from None

    def _name(self, node: ast.Name) -> Any:
        value = self.names.get(node.id)
        if not isinstance(value, Quantity):  # text of a loop variable named as a unit does not hide the unit
            value = CONSTANTS.get(node.id, value)
        if isinstance(value, str):
            raise ExpressionError(
                f"'{node.id}' is text ('{value}'), not a number", f"inside names write ${{{node.id}}}", node.id
            )
        if value is None and node.id in self.calls:
            raise ExpressionError(f"'{node.id}' is a function: it needs arguments in ( )", "", node.id)
        if value is None:
            known = [*self.names, *CONSTANTS, *self.calls]
            raise ExpressionError(f"no parameter or unit named '{node.id}'", self.suggest(node.id, known), node.id)
        return value

    def suggest(self, name: str, known: list[str]) -> str:
        """Return the hint for an unknown name."""
        own = [parameter for parameter in self.names if parameter != "t"]
        hint = nearest(name, known)
        return hint or (f"parameters here: {', '.join(own)}" if own else "")

    def _operator(self, node: ast.BinOp | ast.UnaryOp) -> Callable[..., Any]:
        try:
            return self.operators[type(node.op)]
        except KeyError:
            signs = {"Mod": "%", "FloorDiv": "//"}
            name = type(node.op).__name__
            raise ExpressionError(f"the operator {signs.get(name, name)} is not part of the language") from None

    def _unary(self, node: ast.UnaryOp) -> Any:
        operand = self._eval(node.operand)
        if isinstance(node.op, ast.Not):
            return Quantity(math.nan, live=self._truth(operand), truth=True)
        return self._operator(node)(scalar_or_list(operand))

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = scalar_or_list(self._eval(node.left)), scalar_or_list(self._eval(node.right))
        operator = self._operator(node)
        try:
            return operator(left, right)
        except TypeError:  # a quantity and a list in an order without meaning
            raise UnitError("a list of numbers and one number cannot be put together this way") from None

    def _call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise ExpressionError("a function is called by its name, with plain arguments")
        name = node.func.id
        if name not in self.calls:
            what = f"no function named '{name}'"
            raise ExpressionError(what, nearest(name, self.calls), name)
        function, fewest, most = self.calls[name]
        if not fewest <= len(node.args) <= most:
            wanted = f"{fewest}" if fewest == most else f"{fewest} or more"
            plural = "" if wanted == "1" else "s"
            raise ExpressionError(f"{name}(...) takes {wanted} argument{plural}, not {len(node.args)}", "", name)
        return self.call(name, function, node.args)

    def call(self, name: str, function: Callable[..., Any], arguments: list[ast.expr]) -> Any:
        """Evaluate the arguments and call a function."""
        return function(*(self._eval(argument) for argument in arguments))

    def _list(self, node: ast.List) -> Vector:
        items = [scalar(self._eval(item), "put into a list") for item in node.elts]
        measured = {item.dimension for item in items if not item.bare}
        if len(measured) == 1:  # in [0, 0, 2 cm] the zeros are lengths, too
            (dimension,) = measured
            items = [Quantity(item.value, dimension, False, item.live) for item in items]
        return Vector(items)

    def _subscript(self, node: ast.Subscript) -> Quantity:
        items = self._eval(node.value)
        if not isinstance(items, Vector):
            raise UnitError("only a list of numbers can be indexed; this is one number")
        if not isinstance(node.slice, ast.Constant) or not isinstance(node.slice.value, int):
            raise ExpressionError("an index is a whole number, such as [0]")
        index = node.slice.value
        if not 0 <= index < len(items):
            raise UnitError(f"index [{index}] of {len(items)} numbers: they are counted from [0] to [{len(items) - 1}]")
        return items[index]

    def _compare(self, node: ast.Compare) -> Quantity:
        sides = [scalar(self._eval(side), "compare") for side in (node.left, *node.comparators)]
        for a, b, operator in zip(sides, sides[1:], node.ops, strict=False):
            if not isinstance(operator, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                raise ExpressionError("numbers that vary are never exactly equal", "compare with <, <=, > or >=")
            common((a, b), "compare")
        return Quantity(math.nan, live=any(side.live for side in sides), truth=True)

    def _both(self, node: ast.BoolOp) -> Quantity:
        live = [self._truth(self._eval(side)) for side in node.values]
        return Quantity(math.nan, live=any(live), truth=True)

    @staticmethod
    def _truth(item: Any) -> bool:
        if not isinstance(item, Quantity) or not item.truth:
            raise UnitError("'and', 'or' and 'not' join comparisons, such as t > 2 s")
        return item.live


def scalar_or_list(item: object) -> object:
    """Return a number or list of numbers; refuse texts and comparisons."""
    return item if isinstance(item, Vector) else scalar(item, "calculate with")


def parse(text: str) -> ast.expr:
    """Return the syntax tree of an expression with units.

    Raises
    ------
    ExpressionError
        If it is no expression.
    """
    if len(text) > _LONGEST:
        raise ExpressionError(f"an expression of {len(text)} characters; {_LONGEST} are the most")
    if not text.strip():
        raise ExpressionError("nothing here")
    source = python_syntax(text)
    try:
        return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"cannot read {text.strip()!r} as a number or expression") from None


_constants = Evaluator()


def run(evaluator: Evaluator, tree: ast.expr, text: str) -> Any:
    """Evaluate a tree, with every failure as an ExpressionError."""
    try:
        return evaluator.eval(text, previously_parsed=tree)
    except UnitError as error:
        raise ExpressionError(str(error), error.hint, units=True) from None
    except RecursionError:
        raise ExpressionError("an expression with too many levels") from None


def names_in(text: str) -> set[str]:
    """Return the names that an expression reads; none where it cannot be parsed."""
    try:
        return {node.id for node in ast.walk(parse(text)) if isinstance(node, ast.Name)}
    except ExpressionError:
        return set()


def evaluate(text: str, names: Mapping[str, Quantity | str]) -> Quantity:
    """Return the value of a constant expression.

    Parameters
    ----------
    text : str
        ``2 cm``, ``0.5*height``.
    names : mapping
        Parameters and loop variables.

    Raises
    ------
    ExpressionError
        If it cannot be read or its dimensions do not go together.
    """
    text = text.strip()
    if _PLAIN_NUMBER.fullmatch(text):
        return Quantity(float(text))
    if (match := _NUMBER_AND_UNIT.fullmatch(text)) and match.group(2) in UNITS:
        factor, powers = UNITS[match.group(2)]
        return Quantity(float(match.group(1)) * factor, powers, False)
    tree = parse(text)
    _constants.names = names
    _constants.results.clear()
    result = run(_constants, tree, text)
    if isinstance(result, Vector):
        raise ExpressionError(f"a list of {len(result)} numbers where one number is wanted")
    if not isinstance(result, Quantity) or result.truth:
        raise ExpressionError("a comparison or text where a number is wanted")
    return result
