"""What is typed behind every command: wrong values, wrong files, files that cannot be read or written."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

from tests.attacks import extremes
from tests.attacks.attack import Attack
from tests.attacks.trees import SMALL

_FILES = (
    "good.yaml", "good.yaml", "good.yaml", "pendulum", "swing", "figures/monkey16", "missing.yaml", "folder",
    "locked.yaml",
    "binary.yaml", "empty.yaml", "loop.yaml", "broken.yaml", "fifo", "sham.h5", "empty.h5", "/dev/null", "/dev/full",
    "/proc/self/mem",
    "/etc/passwd", "", " ", ".", "..", "/", "~", "-", "--", "-x", "*.yaml", "good.yaml/x", "nowhere/x.h5",
    "locked/x.h5",
    "x.mp4", "x.png", "x.csv", "x.h5", "x.svg", "x.gif", "x.pdf", "x", "good.yaml.", "http://x/y.yaml",
    "good.yaml\x1b[31m",
)  # fmt: skip
# Command -> options with values, flags, number of arguments.
_COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], int]] = {
    "run": (("-o", "--video", "--duration", "--set", "--rtol", "--seed", "--trigger"), ("--quiet", "--overwrite",
    "--trust", "--json"), 1),
    "check": (("--set",), ("--trust", "--json"), 1),
    "info": (("--set", "--at"), ("--json",), 1),
    "linearize": (("--at", "--param", "--state", "--input", "-o", "--size", "--set"), ("--quiet", "--json"), 1),
    "render": (("-o", "--time", "--size", "--fps", "--camera", "--frames", "--trail", "--set"), ("--contacts",), 1),
    "plot": (("-o", "--csv", "--size"), ("--xy", "--overwrite"), 2),
    "verify": (("-o", "--instants", "--size"), ("--quick", "--quiet", "--json"), 1),
    "new": ((), ("--sampled",), 2),
    "schema": ((), ("--path",), 1),
    "list": ((), ("--json",), 1),
}  # fmt: skip
_FILE_OPTIONS = {"-o", "--video", "--csv"}
_USUAL = {
    "--duration": "10 ms", "--set": "length=0.4 m", "--rtol": "1e-8", "--seed": "3", "--trigger": "go@5 ms",
    "--at": "0",
    "--param": "length=0.4:0.5:0.1", "--state": "shoulder", "--input": "shoulder", "--size": "320x240", "--time": "0",
    "--fps": "10", "--camera": "front", "--frames": "2", "--trail": "arm", "--instants": "2", "-o": "y.png",
    "--video": "y.mp4",
    "--csv": "y.csv",
}  # fmt: skip
_FORMS = (
    "{n}", "length={n}", "length={n}:{n}:{n}", "length=0:{n}:1", "length=", "={n}", "length", "a=b=c", "{n}x{n}",
    "0x0", "1x1", "-1x5",
    "999999x999999", "{n}@{n}", "@", "go@{n}", "go@", "azimuth={n}", "distance={n},fov={n}", "azimuth=1,azimuth=2",
    "front,", "azimuth",
    "{w}", "shoulder[{n}]", "coordinate('{w}')", "{w}={w}", "nan", "steady", "x{w}", "--", "n={n}", "gravity={n}",
)  # fmt: skip


def attacks(seed: int, count: int, folder: Path) -> Iterator[Attack]:
    """Yield command lines of which one to all parts are wrong."""
    for number in range(seed, seed + count):
        chance = random.Random(f"options {number}")
        _lay_out(folder)
        verb = chance.choice(sorted(_COMMANDS)) if chance.random() < 0.97 else extremes.name(chance)[:50]
        valued, flags, places = _COMMANDS.get(verb, ((), (), 1))
        wrong = chance.choice((0.2, 0.5, 1.0))
        words = [verb]
        for place in range(places if chance.random() < 0.9 else chance.randrange(4)):
            words.append(_argument(verb, place, chance, wrong))
        for option in chance.sample(valued, min(len(valued), chance.choice((0, 1, 1, 2, 3)))):
            words += [option, _value(option, chance, wrong)] if chance.random() < 0.97 else [option]
        if verb == "run" and "--duration" not in words:
            words += ["--duration", "5 ms"]
        words += [flag for flag in flags if chance.random() < 0.2]
        if chance.random() < 0.05:
            words.append(
                chance.choice(("--", "-h", "--nothing", "--duration", "-", "--json=x", "--set", "\x1b[31m", "-o"))
            )
        yield Attack("options", number, tuple(word.replace("\x00", "\\0") for word in words), " ".join(words[:1]))


def _argument(verb: str, place: int, chance: random.Random, wrong: float) -> str:
    if verb == "new" and place == 0:
        return chance.choice(("scene", "controller", "figure"))
    if (verb == "plot" and place == 1) or verb in ("schema", "list", "new"):
        usual = {"plot": "coordinate('shoulder')", "list": "controllers", "schema": "pd", "new": "fresh"}[verb]
        return usual if chance.random() > wrong else _text(chance)
    return "good.yaml" if chance.random() > wrong else chance.choice(_FILES) if chance.random() < 0.8 else _text(chance)


def _value(option: str, chance: random.Random, wrong: float) -> str:
    if chance.random() > wrong:
        return _USUAL[option]
    if option in _FILE_OPTIONS and chance.random() < 0.8:
        return chance.choice(_FILES)
    return _text(chance)


def _text(chance: random.Random) -> str:
    return chance.choice(_FORMS).format(n=extremes.number(chance), w=extremes.name(chance)[:200])


def _lay_out(folder: Path) -> None:
    """Write files of all sorts into a folder."""
    (folder / "good.yaml").write_text(SMALL["tree"] + "# \n")
    (folder / "broken.yaml").write_text("schema: 1\nbodies: {a: {mass: -1}\n")
    (folder / "binary.yaml").write_bytes(bytes(range(256)))
    (folder / "sham.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    for name in ("empty.yaml", "empty.h5", "locked.yaml"):
        (folder / name).touch()
    os.chmod(folder / "locked.yaml", 0)
    for name, mode in (("folder", 0o755), ("locked", 0o500)):
        (folder / name).mkdir(exist_ok=True)
        os.chmod(folder / name, mode)
    if not os.path.lexists(folder / "loop.yaml"):
        (folder / "loop.yaml").symlink_to("loop.yaml")
        os.mkfifo(folder / "fifo")
