"""Names, captions and file names of control characters, of thousands of letters, of other alphabets."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path

from tests.attacks import extremes
from tests.attacks.attack import Attack
from tests.attacks.scenes import COMMANDS
from tests.attacks.trees import SMALL, quoted

# Words of the small scenes that are names, and texts that are shown.
_TREE = (
    "arm", "bob", "box", "tip", "shoulder", "elbow", "pull", "hold", "let go", "small", "it lets go", "length", "red",
    "later", "spherical", "spring", "cut", "bodies", "camera", "20 ms",
)  # fmt: skip


def attacks(seed: int, count: int, folder: Path) -> Iterator[Attack]:
    """Yield scenes in which a name is replaced wherever it stands, and files with strange names."""
    for number in range(seed, seed + count):
        chance = random.Random(f"names {number}")
        other = extremes.name(chance)
        if chance.random() < 0.2:
            yield Attack("names", number, _file(chance, other, folder), f"a file named {other[:20]!r}")
            continue
        old = chance.choice(_TREE)
        text = (
            SMALL["tree"].replace(f"'{old}'", f"'{other}'")
            if other.isprintable() and "'" not in other
            else SMALL["tree"]
        )
        text = _replaced(text, old, str(quoted(other)))
        (folder / "bad.yaml").write_text(text, encoding="utf-8", errors="replace")
        words = chance.choice([words for words, _ in COMMANDS])
        yield Attack("names", number, words, f"{old} is named {other[:20]!r}")


def _replaced(text: str, old: str, new: str) -> str:
    for before in (" ", "[", "{"):
        for after in (":", ",", "]", "}", "\n"):
            text = text.replace(before + old + after, before + new + after)
    return text


def _file(chance: random.Random, name: str, folder: Path) -> tuple[str, ...]:
    """Return a command on a file of this name, which is there where it can be."""
    name = name.replace("/", "_").replace("\x00", "")[: chance.choice((60, 3000))] or "x"
    text = SMALL["tree"] if chance.random() < 0.5 else "schema: 1\nbodies: {a: 1}\n"
    with contextlib.suppress(OSError, ValueError):
        (folder / f"{name}.yaml").write_text(text)
    verb = chance.choice(("check", "run", "info"))
    if chance.random() < 0.3:
        (folder / "bad.yaml").write_text(f"schema: 1\ninclude: {{figure: {quoted(name + '.yaml')}, prefix: a}}\n")
        return ("check", "bad.yaml")
    return (verb, f"{name}.yaml", *(("--duration", "0") if verb == "run" else ()))
