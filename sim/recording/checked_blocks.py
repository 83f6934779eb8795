"""What the JSON blocks of a recording may say: its settings, and how it is filmed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Rule = tuple[Callable[[Any], bool], str]


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _between(least: float, most: float, *, whole: bool = False) -> Rule:
    kind = "a whole number" if whole else "a number"

    def within(value: Any) -> bool:
        return _number(value) and (not whole or isinstance(value, int)) and least <= value <= most

    return within, f"{kind} from {least:g} to {most:g}"


def _list(rule: Rule, count: int | None = None) -> Rule:
    right, expected = rule

    def all_right(value: Any) -> bool:
        return isinstance(value, list) and count in (None, len(value)) and all(map(right, value))

    return all_right, f"a list{f' of {count}' if count else ''}, each {expected}"


def _map(rule: Rule) -> Rule:
    right, expected = rule
    return lambda value: isinstance(value, dict) and all(map(right, value.values())), f"a map, each {expected}"


def _or(rule: Rule, other: Any) -> Rule:
    right, expected = rule
    return lambda value: value is other or right(value), f"{expected}, or {other}"


def _one_of(*words: str) -> Rule:
    return lambda value: isinstance(value, str) and value in words, f"one of {', '.join(words)}"


def _fired(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and _number(value[1])


LARGE = 1e300
NUMBER: Rule = (_number, "a number")
TEXT: Rule = (lambda value: isinstance(value, str), "a text")
FLAG: Rule = (lambda value: isinstance(value, bool), "true or false")
POSITIVE: Rule = (lambda value: _number(value) and value > 0.0, "a number above 0")

SETTINGS: dict[str, Rule] = {
    "parameters": _map(_or((lambda value: isinstance(value, (int, float)), "a number"), None)),
    "triggers": _list((_fired, "a key and a time")),
    "seed": _between(0, 2**63, whole=True),
    "method": _one_of("dop853", "radau", "auto", "rk4", "semi_implicit", "variational"),
    "rtol": _between(1e-14, 0.1), "step": POSITIVE, "record": POSITIVE,
    "duration": _between(0.0, LARGE),
    "controllers": _map(TEXT),
}  # fmt: skip
CAMERA: dict[str, Rule] = {
    "follow": TEXT, "target": _list(NUMBER, 3), "distance": POSITIVE, "azimuth": NUMBER, "elevation": NUMBER,
    "fov": POSITIVE,
}  # fmt: skip
RENDER: dict[str, Any] = {
    "size": _list(_between(16, 8192, whole=True), 2), "fps": _between(1e-9, 1000.0), "speed": POSITIVE,
    "camera": CAMERA, "trails": _list(TEXT), "captions": FLAG,
    "ground": (lambda value: isinstance(value, bool) or _number(value), "true, false or a number"),
    "background": (lambda value: isinstance(value, str) or _list(_between(0.0, 1.0))[0](value), "a colour"),
}  # fmt: skip


def wrong(block: Mapping[str, Any], rules: Mapping[str, Any]) -> tuple[str, Any, str] | None:
    """Return the first key whose value is not as it should be, the value and what was expected; None: all are right.

    Keys that are not known, of newer programs, and values of null are right.
    """
    for key, rule in rules.items():
        value = block.get(key)
        if value is None:
            continue
        if isinstance(rule, dict):
            if not isinstance(value, dict):
                return key, value, "a map"
            inner = wrong(value, rule)
            if inner is not None:
                return f"{key}.{inner[0]}", *inner[1:]
        elif not rule[0](value):
            return key, value, rule[1]
    return None
