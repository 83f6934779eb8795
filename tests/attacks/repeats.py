"""Repeats inside repeats, long ranges, many bodies, many includes: small texts that mean much."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tests.attacks import extremes
from tests.attacks.attack import Attack
from tests.attacks.scenes import command

_BODY = '"b{names}": {{mass: 1 kg, position: [0, 0, 0]}}'


def attacks(seed: int, count: int, folder: Path) -> Iterator[Attack]:
    """Yield scenes whose repeats are nested, long, odd or empty."""
    for number in range(seed, seed + count):
        chance = random.Random(f"repeats {number}")
        make = chance.choice((_nested, _nested, _wide, _top, _odd, _odd, _circle, _many))
        (folder / "bad.yaml").write_text("schema: 1\n" + make(chance, folder))
        words = ("check", "bad.yaml") if chance.random() < 0.6 else command(chance)
        yield Attack("repeats", number, words, make.__name__.strip("_"))


def _length(chance: random.Random) -> int:
    return chance.choice((0, 1, 2, 3, 9, 10, 99, 100, 999, 9999, 10_000, 10_001, 10**9, 10**18, 10**30))


def _nested(chance: random.Random, folder: Path) -> str:
    """Return repeats within repeats, with few or many turns."""
    depth = chance.choice((1, 2, 3, 4, 10, 30, 50))
    text = ["bodies:"]
    for k in range(depth):
        end = chance.choice((1, 2, 3, 10, _length(chance)))
        text.append("  " * (k + 1) + "repeat:")
        text.append("  " * (k + 2) + f"for: {{i{k}: {{from: 1, to: {end}}}}}")
    names = "".join(f"_${{i{k}}}" for k in range(depth)) if chance.random() < 0.5 else "x"
    if chance.random() < 0.8:
        text.append("  " * (depth + 1) + _BODY.format(names=names))
    return "\n".join(text) + "\n"


def _wide(chance: random.Random, folder: Path) -> str:
    """Return lists of several repeats, all of the same names or not."""
    blocks = []
    for k in range(chance.choice((1, 2, 20, 200))):
        names = f"{k}_${{i}}" if chance.random() < 0.7 else "${i}"
        blocks.append(
            f"{{for: {{i: {{from: 1, to: {chance.choice((1, 5, 50, 1000))}}}}}, {_BODY.format(names=names)}}}"
        )
    return f"bodies:\n  repeat: [{', '.join(blocks)}]\n"


def _top(chance: random.Random, folder: Path) -> str:
    """Return repeats of whole sections, of includes too."""
    (folder / "part.yaml").write_text("schema: 1\nbodies: {a: {mass: 1 kg, position: [0, 0, 0]}}\n")
    n = chance.choice((1, 3, 30, 300, 9999))
    inner = chance.choice((
        '{include: {figure: part.yaml, prefix: "p${i}"}}',
        '{bodies: {"b${i}": {mass: 1, position: [0, 0, i]}}}',
        '{joints: {"j${i}": {type: free, parent: world, child: "b${i}"}}}',
        '{events: {"e${i}": {at: "i*1 ms", caption: "${i}"}}}',
        '{repeat: {for: {j: {from: 1, to: 99}}, bodies: {"b${i}_${j}": {mass: 1, position: [0, 0, 0]}}}}',
    ))  # fmt: skip
    return f"repeat: {{for: {{i: {{from: 1, to: {n}}}}}, {inner[1:-1]}}}\n"


def _odd(chance: random.Random, folder: Path) -> str:
    """Return a repeat whose loop is odd."""
    n = extremes.number(chance)
    values = chance.choice((
        f"{{from: {n}, to: 3}}", f"{{from: 1, to: {n}}}", "{from: 3, to: 1}", "{from: 1}", "[]", "{}", "1", "[[1]]",
        "[a, a]",
        f'["{extremes.name(chance).encode("unicode_escape").decode()}"]', "[1, 2 m]", "{from: 1.5, to: 2.5}",
        "{from: 1, to: 3, step: 2}",
        "[~, true]", "{from: -5, to: 5}", "{from: x, to: y}", "{from: i, to: i}",
    ))  # fmt: skip
    name = chance.choice(
        ("i", "t", "m", "bodies", "for", '""', "1", "a-b", "é", '"${i}"', "i, j: [1, 2]", "pi", "__x__")
    )
    inner = chance.choice(
        ("i", "j", "i+1", "i/2", "i*1e300", "1/(i-1)", "", " ", "i}${i", "${i", "norm([i,i])", "i m", "t")
    )
    body = f'"b${{{inner}}}": {{mass: 1 kg, position: [0, 0, i]}}'
    return f"bodies:\n  repeat:\n    for: {{{name}: {values}}}\n    {body}\n"


def _circle(chance: random.Random, folder: Path) -> str:
    """Return includes that grow: in circles, or a tree of files of which each includes the next several times."""
    depth = chance.choice((2, 5, 25))
    for k in range(depth):
        target = f"f{k + 1}.yaml" if k + 1 < depth or chance.random() < 0.5 else "bad.yaml"
        each = ", ".join(f"{{figure: {target}, prefix: p{n}}}" for n in range(chance.choice((1, 2, 9))))
        (folder / f"f{k}.yaml").write_text(f"schema: 1\ninclude: [{each}]\n")
    (folder / f"f{depth}.yaml").write_text("schema: 1\nbodies: {a: {mass: 1 kg, position: [0, 0, 0]}}\n")
    return "include: [{figure: f0.yaml, prefix: p}]\n"


def _many(chance: random.Random, folder: Path) -> str:
    """Return many things of one section, written out or repeated."""
    n = chance.choice((100, 1000, 3000, 10_000))
    thing = chance.choice((
        ("bodies", "{mass: 1 kg, position: [0, 0, 0]}"), ("events", "{at: 1 s, caption: x}"), ("parameters", "1 m"),
        ("bodies", "{mass: 1 kg, shapes: [{sphere: {radius: 1 cm}}]}"), ("joints",
        "{type: free, parent: world, child: b}"),
        ("contacts", '{between: ["*", "*"]}'), ("forces", "{type: spring, from: b, to: world, stiffness: 1}"),
    ))  # fmt: skip
    lines = [f"{thing[0]}:", *(f"  x{k}: {thing[1]}" for k in range(n))]
    return "\n".join(lines) + "\n"
