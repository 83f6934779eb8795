"""One mistake in the unit of a parameter, which every expression with it shows: told once, where it was made."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sim.scene.expressions import ExpressionError, evaluate, names_in
from sim.scene.problem import Place, Problem
from sim.scene.units import Dimension, Quantity, describe

ENOUGH = 3  # places that one other unit would put right: fewer are told one by one


@dataclass(frozen=True)
class Doubt:
    """An expression whose dimension is wrong.

    wanted : dimensions that fit; empty where it is not known, as within a formula of state
    """

    text: str
    names: Mapping[str, Quantity | str]
    wanted: tuple[Dimension, ...]


@dataclass(frozen=True)
class Written:
    """A parameter as its file declares it; text: empty where something else gave the value."""

    place: Place
    line: str
    text: str


Key = tuple[Place | None, str]


def told_once(
    found: Mapping[Key, Problem], doubts: Mapping[Key, Doubt], written: Mapping[str, Mapping[str, Written]]
) -> list[Problem]:
    """Return problems, those that one parameter's unit explains as one at the parameter.

    Parameters
    ----------
    found, doubts : problems, and what is known of those about dimensions
    written : file -> its parameters, in their order
    """
    left = dict(found)
    for file, parameters in written.items():
        for name in parameters:
            here = {key: one for key, one in doubts.items() if key in left and key[0] and key[0].file == file}
            explained, other = _explained(name, parameters, here)
            if len(explained) < ENOUGH:
                continue
            first = left[explained[0]]
            own = here[explained[0]].names[name]
            assert isinstance(own, Quantity) and first.where is not None
            what = (
                f"'{name}' is {describe(own.dimension)}, and {len(explained)} places read it as {describe(other)}, "
                f"first {first.path} in line {first.where.line}"
            )
            at = parameters[name]
            for key in explained:
                del left[key]
            left[(at.place, what)] = Problem(
                where=at.place, path=f"parameters.{name}", what=what, hint="give it another unit",
                source_line=at.line,
            )  # fmt: skip
    return list(left.values())


def _explained(
    name: str, parameters: Mapping[str, Written], doubts: Mapping[Key, Doubt]
) -> tuple[list[Key], Dimension]:
    """Return which doubts another dimension of a parameter puts right, and the dimension that does most."""
    best: tuple[list[Key], Dimension] = ([], (0, 0, 0))
    for other in dict.fromkeys(_guesses(name, parameters, doubts)):
        right = [key for key, doubt in doubts.items() if _fits(doubt, name, other, parameters)]
        if len(right) > len(best[0]):
            best = right, other
    return best


def _guesses(name: str, parameters: Mapping[str, Written], doubts: Mapping[Key, Doubt]) -> Iterator[Dimension]:
    """Yield the dimensions that a parameter would have where an expression is linear in it."""
    for doubt in doubts.values():
        own = doubt.names.get(name)
        if not isinstance(own, Quantity) or own.bare or own.live:
            continue
        dimension = _dimension(doubt, doubt.names)
        for wanted in doubt.wanted if dimension is not None else ():
            a, b, c = (o + w - d for o, w, d in zip(own.dimension, wanted, dimension or wanted, strict=True))
            yield a, b, c


def _fits(doubt: Doubt, name: str, other: Dimension, parameters: Mapping[str, Written]) -> bool:
    """Tell whether an expression has a dimension that is wanted once a parameter has another one."""
    own = doubt.names.get(name)
    if not isinstance(own, Quantity) or own.dimension == other:
        return False
    names, changed = dict(doubt.names), {name}
    names[name] = dataclasses.replace(own, dimension=other)
    below = list(parameters)[list(parameters).index(name) + 1 :]
    for one in below:
        if parameters[one].text and changed & names_in(parameters[one].text):
            try:
                names[one] = evaluate(parameters[one].text, names)
            except ExpressionError:
                return False
            changed.add(one)
    if not changed & names_in(doubt.text):
        return False
    return not doubt.wanted or _dimension(doubt, names) in doubt.wanted


def _dimension(doubt: Doubt, names: Mapping[str, Quantity | str]) -> Dimension | None:
    try:
        return evaluate(doubt.text, names).dimension
    except ExpressionError:
        return None
