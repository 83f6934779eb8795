"""Expressions: wherever a scene takes one, of random tokens, of broken ones, deep or long."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tests.attacks import extremes
from tests.attacks.attack import Attack
from tests.attacks.scenes import command
from tests.attacks.trees import quoted

_TOKENS = (
    "1", "2", "0", "1e300", "t", "pi", "inf", "m", "s", "rad", "N", "kg", "length", "n", "+", "-", "*", "/", "^",
    "**", "//",
    "%", "(", ")", "[", "]", ",", "<", ">", "<=", "==", "!=", "and", "or", "not", "sin(", "atan2(", "min(", "clip(",
    "norm(",
    "sqrt(", "log(", "coordinate('j')", "rate('j')", "position('b')", "force('j')", "torque('j')", "energy()", "com()",
    "'j'", "'b'", "''", "distance('b', 'world')", "orientation('b')", "length('s')", "local('b', 'b')", "[0]", "[2]",
    "[-1]",
    "velocity(", "x", ".", "if", "lambda", ":", "=", "'", "${i}", "@", "é", "1 m", "2 rad/s", "0.5 N m",
)  # fmt: skip
_PLACES = (
    "when: {x}", "mass: {x}", "gravity: [0, 0, {x}]", "motion: {x}", "rest: {x}", "force: [{x}, 0, 0]", "torque: {x}",
    "coordinate: {x}", "param: {x}", "duration: {x}", "size: [{x}, 1, 1]", "set: {x}", "target: {x}",
)  # fmt: skip


def attacks(seed: int, count: int, folder: Path) -> Iterator[Attack]:
    """Yield scenes with one strange expression each."""
    for number in range(seed, seed + count):
        chance = random.Random(f"formulas {number}")
        text, place = _expression(chance), chance.choice(_PLACES)
        (folder / "bad.yaml").write_text(_scene(place, str(quoted(text))), errors="replace")
        yield Attack("formulas", number, command(chance), f"{place.format(x=text[:60])}")


def _expression(chance: random.Random) -> str:
    what = chance.random()
    if what < 0.35:
        return " ".join(chance.choice(_TOKENS) for _ in range(chance.choice((1, 2, 3, 5, 8, 20))))
    if what < 0.75:
        return _sound(chance, chance.choice((1, 2, 3, 5)))
    if what < 0.85:
        return extremes.number(chance)
    one, n = (
        chance.choice(("(", "-", "sin(", "[", "1+", "1^", "not ", "min(1,", "2*", "x.", "''", "9")),
        chance.choice((30, 99, 300, 5000)),
    )
    return one * n + "1" + chance.choice(("", ")" * n, "]" * n))


def _sound(chance: random.Random, depth: int) -> str:
    """Return an expression of right syntax, whatever its units."""
    if not depth:
        return chance.choice(("1", "0", "2 m", "1 s", "t", "length", "n", "pi", "coordinate('j')", "rate('j')",
        "1e200", "-3 N",
                              "force('j')[0]", "position('b')[2]", "energy()", "t/1 s", "1e-200 rad", "torque('j')",
                              "[1, 2, 3]",
                              "com()", "velocity('b')", "tension('s')", "inf"))  # fmt: skip
    a, b = _sound(chance, depth - 1), _sound(chance, depth - 1)
    return chance.choice((
        f"({a}) + {b}", f"({a})*({b})", f"({a})/({b})", f"({a})^({b})", f"({a}) < {b}", f"min({a}, {b})", f"sin({a})",
        f"norm({a})", f"abs({a}) > {b}", f"({a}) > 0 and ({b}) < 1", f"not ({a})", f"dot({a}, {b})", f"cross({a}, {b})",
        f"exp({a})", f"sqrt({a})", f"clip({a}, {b}, 1)", f"atan2({a}, {b})", f"[{a}, {b}, 0]", f"local({a}, 'b')",
        f"{a}", f"log({a})",
        f"tan({a})", f"acos({a})",
    ))  # fmt: skip


def _scene(place: str, x: str) -> str:
    key = place.partition(":")[0]
    put = {
        k: d for k, d in (("mass", "1 kg"), ("gravity", "-9.81"), ("param", "1"), ("duration", "20 ms"), ("size", "1"))
    }
    put[key] = x
    lines = [
        "schema: 1", f"parameters: {{length: 1 m, n: 3, extra: {put['param']}}}",
        f"world: {{gravity: [0, 0, {put['gravity']}]}}",
        f"bodies: {{b: {{mass: {put['mass']}, shapes: [{{box: {{size: [{put['size']}, 1, 1]}}}}]}}}}",
        "joints: {j: {type: rotational, parent: world, child: b, position: [0, 0, 1], axis: [0, 1, 0]"
        + (f", motion: {x}" if key == "motion" else f", stiffness: 1 N m/rad, rest: {x}" if key == "rest" else "")
        + "}}",
        f"simulate: {{duration: {put['duration']}}}",
    ]  # fmt: skip
    lines += [f"events: {{e: {{when: {x}, caption: c}}}}"] if key == "when" else []
    lines += [f"events: {{e: {{at: 0.01 s, set: {{j: {x}}}}}}}"] if key == "set" else []
    lines += [f"initial: {{j: {x}}}"] if key == "coordinate" else []
    lines += [f"controllers: {{c: {{type: torque, joint: j, torque: {x}}}}}"] if key == "torque" else []
    lines += (
        [f"controllers: {{c: {{type: pd, joints: j, target: {x}, kp: 1 N m/rad, kd: 0}}}}"] if key == "target" else []
    )
    spring = "s: {type: spring, from: b, to: world.p, stiffness: 1 N/m, length: 1 m}"
    wrench = f", w: {{type: wrench, body: b, force: [{x}, 0, 0]}}" if key == "force" else ""
    return (
        "\n".join([*lines, f"forces: {{{spring}{wrench}}}"]).replace("world: {", "world: {points: {p: [0, 0, 3]}, ", 1)
        + "\n"
    )
