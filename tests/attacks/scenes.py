"""Valid scenes in which anything was changed: values, keys, order, structure, and the YAML itself."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.attacks import extremes
from tests.attacks.attack import Attack
from tests.attacks.trees import Map, Raw, maps, quoted, slots, tree_of, valid, written

# Each command that reads a scene, and how often it is tried.
COMMANDS: tuple[tuple[tuple[str, ...], float], ...] = (
    (("check", "bad.yaml"), 10), (("check", "bad.yaml", "--json"), 2), (("info", "bad.yaml"), 2),
    (("info", "bad.yaml", "--at", "0.01"), 1), (("run", "bad.yaml", "--duration", "20 ms"), 5),
    (("run", "bad.yaml", "--duration", "0", "--json"), 1), (("linearize", "bad.yaml"), 1),
    (("linearize", "bad.yaml", "--at", "steady", "--json"), 1),
)  # fmt: skip


def attacks(seed: int, count: int, folder: Path) -> Iterator[Attack]:
    """Yield scenes with one to three changes."""
    for number in range(seed, seed + count):
        chance = random.Random(f"scenes {number}")
        _, text = valid(chance)
        about = []
        tree = tree_of(text)
        for _ in range(chance.choice((1, 1, 2, 3))):
            change = chance.choice(CHANGES)
            change(tree, chance)
            about.append(change.__name__.strip("_"))
        data = written(tree).encode("utf-8", "surrogatepass")
        if chance.random() < 0.15:
            breaks = chance.choice(BREAKS)
            data = breaks(data, chance)
            about.append(breaks.__name__.strip("_"))
        (folder / "bad.yaml").write_bytes(data)
        yield Attack("scenes", number, command(chance), ", ".join(about))


def command(chance: random.Random) -> tuple[str, ...]:
    """Return a command that reads bad.yaml."""
    return chance.choices([words for words, _ in COMMANDS], [weight for _, weight in COMMANDS])[0]


# --- changes of a tree ---------------------------------------------------------------------------------


def _slot(tree: object, chance: random.Random):  # type: ignore[no-untyped-def]
    return chance.choice(list(slots(tree)))


def _number(tree: object, chance: random.Random) -> None:
    """Put an extreme or sham number in place of a number, its unit kept half of the time."""
    found = [slot for slot in slots(tree) if isinstance(slot[0](), Raw) and str(slot[0]())[:1] in "-+.0123456789"]
    if not found:
        return
    value, put = chance.choice(found)
    _, space, unit = str(value()).partition(" ")
    keep = chance.random() < 0.7
    put(Raw(chance.choice(extremes.NUMBERS) + space + unit if keep else extremes.number(chance)))


def _value(tree: object, chance: random.Random) -> None:
    _slot(tree, chance)[1](Raw(extremes.number(chance)))


def _type(tree: object, chance: random.Random) -> None:
    other = [
        [],
        Map([]),
        Map([(Raw("a"), Raw("1"))]),
        [Raw("1")] * 3,
        Raw(""),
        Raw("~"),
        Raw("true"),
        [[[]]],
        Raw("word"),
    ]
    _slot(tree, chance)[1](copy.deepcopy(chance.choice(other)))


def _wrap(tree: object, chance: random.Random) -> None:
    value, put = _slot(tree, chance)
    put(chance.choice(([value()], [value()] * 4, Map([(Raw("value"), value())]), [[value()]])))


def _swap(tree: object, chance: random.Random) -> None:
    (a, put_a), (b, put_b) = _slot(tree, chance), _slot(tree, chance)
    one, other = copy.deepcopy(a()), copy.deepcopy(b())
    put_a(other), put_b(one)


def _name(tree: object, chance: random.Random) -> None:
    _slot(tree, chance)[1](quoted(extremes.name(chance)))


def _entries(tree: object, chance: random.Random) -> list[tuple[object, object]]:
    return chance.choice([one for one in maps(tree) if one.entries] or [Map([(Raw("a"), Raw("b"))])]).entries


def _rename(tree: object, chance: random.Random) -> None:
    entries = _entries(tree, chance)
    i = chance.randrange(len(entries))
    other = [key for one in maps(tree) for key, _ in one.entries]
    key = quoted(extremes.name(chance)) if chance.random() < 0.5 else chance.choice(other)
    entries[i] = (key, entries[i][1])


def _delete(tree: object, chance: random.Random) -> None:
    entries = _entries(tree, chance)
    del entries[chance.randrange(len(entries))]


def _duplicate(tree: object, chance: random.Random) -> None:
    entries = _entries(tree, chance)
    entries.insert(chance.randrange(len(entries) + 1), copy.deepcopy(chance.choice(entries)))


def _graft(tree: object, chance: random.Random) -> None:
    entries = _entries(tree, chance)
    other = chance.choice([entry for one in maps(tree) for entry in one.entries])
    entries.insert(chance.randrange(len(entries) + 1), copy.deepcopy(other))


def _shuffle(tree: object, chance: random.Random) -> None:
    chance.shuffle(_entries(tree, chance))


def _dangle(tree: object, chance: random.Random) -> None:
    """Let a name name something else, or nothing."""
    words = [slot for slot in slots(tree) if isinstance(slot[0](), Raw) and str(slot[0]()).strip('"').isidentifier()]
    if words:
        value, put = chance.choice(words)
        other = str(chance.choice(words)[0]())
        put(Raw(chance.choice((other, "world", str(value()) + "x", "nothing", "'*'", '"*.*"', f'"{other}.{other}"'))))


def _empty(tree: object, chance: random.Random) -> None:
    found = [put for value, put in slots(tree) if isinstance(value(), (list, Map))]
    if found:
        chance.choice(found)(chance.choice(([], Map([]))))


def _long(tree: object, chance: random.Random) -> None:
    """Make a list long, or a nest deep."""
    value, put = _slot(tree, chance)
    inner = value()
    if chance.random() < 0.5:
        put([inner] * chance.choice((20, 1000)))
    else:
        deep: object = inner
        for _ in range(chance.choice((20, 50, 70))):
            deep = [deep] if chance.random() < 0.5 else Map([(Raw("a"), deep)])
        put(deep)


def _yaml(tree: object, chance: random.Random) -> None:
    """Use what YAML has and scenes do not."""
    extra = ("&a 1", "*a", "!!python/object/apply:os.system [ls]", "!!binary aGk=", "<<", "? [a]", "- 1", "|", ">-",
    "%YAML",
             "{a: 1", "[1, 2", "}", "]",
             '"open', "'open", "a: b: c", "# c", "@x", "`x`", "---", "...", "\t", "{{a}}", "[,]",
             "{? a}", "&a [*a]", "&a {b: *a}", "!<x> 1", "! 1")  # fmt: skip
    _slot(tree, chance)[1](Raw(chance.choice(extra)))


Change = Callable[[object, random.Random], None]
CHANGES: tuple[Change, ...] = (
    _number, _number, _number, _number, _number, _value, _value, _type, _type, _wrap, _swap, _swap, _name, _rename,
    _rename, _delete, _delete, _duplicate, _graft, _graft, _shuffle, _dangle, _dangle, _empty, _long, _yaml,
)  # fmt: skip

# --- breaks of the text --------------------------------------------------------------------------------


def _bytes(data: bytes, chance: random.Random) -> bytes:
    i = chance.randrange(len(data))
    bad = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\x1b", b"\x07", b"\t", b"\r", b"\xe2\x80\xa8", b"\xef\xbb\xbf",
           b"\xc2\x9b", b"\xf4\x90\x80\x80", b"\n\n", b"\n\t", b"  ", b"\xe2\x80\xae")  # fmt: skip
    return data[:i] + chance.choice(bad) + data[i + chance.choice((0, 1, 5)) :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _encoding(data: bytes, chance: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(chance.choice(("utf-16", "utf-32", "utf-16-le", "latin-1", "cp037", "utf-7")), "replace")


def _line_ends(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"\n", chance.choice((b"\r", b"\r\n", b"\n\r", b"\xc2\x85", b"\xe2\x80\xa8", b" ", b"")))


def _tabs(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"  ", b"\t")


def _bomb(data: bytes, chance: random.Random) -> bytes:
    lines = [b"a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [b"a%d: &a%d [%s]" % (k, k, b", ".join([b"*a%d" % (k - 1)] * 9)) for k in range(1, 10)]
    return b"\n".join(lines) + b"\n" + data


def _nest(data: bytes, chance: random.Random) -> bytes:
    return data + b"about: " + chance.choice((b"[", b"{a: ", b"- ")) * chance.choice((50, 100, 5000))


def _lines(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _twice(data: bytes, chance: random.Random) -> bytes:
    return data + chance.choice((b"", b"---\n", b"...\n", b"%YAML 1.2\n---\n")) + data


BREAKS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _bytes, _bytes, _cut, _encoding, _line_ends, _tabs, _bomb, _nest, _lines, _twice,
)  # fmt: skip
