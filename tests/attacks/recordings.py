"""Recordings that are damaged, or made so that their reader goes astray."""

from __future__ import annotations

import functools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import h5py
import numpy as np

from tests.attacks.attack import Attack

# An arm that is caught, tied and hit, with a spring, a push and a motor; a ball and a die fall on a floor.
ARM = """
schema: 1
name: arm
bodies:
  one: {mass: 2 kg, com: [0.5, 0, 0], gyration: [0.1, 0.3, 0.3], points: {tip: [1, 0, 0]}}
  two: {mass: 1 kg, com: [1.5, 0.2, 0], gyration: [0.2, 0.2, 0.1], points: {tip: [2, 0, 0]}}
  ball: {mass: 3 kg, com: [2, 0.3, 0.2], gyration: [0.1, 0.1, 0.1], points: {eye: [2, 0.2, 0.3]}}
joints:
  a: {type: rotational, parent: world, child: one, position: [0, 0, 0], axis: [0, 1, 0]}
  b: {type: universal, parent: one, child: two, position: [1, 0, 0], axis: [0, 1, 0], second_axis: [0, 0, 1]}
forces:
  cord: {type: spring, from: one.tip, to: ball.eye, stiffness: 3 N/m, length: 1 m}
  push: {type: wrench, body: two, force: [1 N, 0, 0]}
events:
  hit: {at: 20 ms, impulse: {body: two, linear: [0, 1, 2], point: tip}}
  catch: {at: 30 ms, connect: {c: {type: spherical, parent: two, child: ball, child_point: eye}}}
simulate: {duration: 80 ms}
"""
FALL = """
schema: 1
name: fall
world: {shapes: [{plane: {normal: [0, 0, 1], center: [0, 0, 0]}, name: floor}]}
bodies:
  ball: {shapes: [{sphere: {radius: 0.1, center: [0, 0, 0.11]}, density: 1000}]}
  die: {shapes: [{mesh: {vertices: MESH}, density: 1000}]}
contacts: {all: {between: ["*", world], restitution: 0, friction: 0.5}}
simulate: {duration: 120 ms}
render: {size: [64, 48], fps: 10}
""".replace("MESH", str([[x, y, z] for x in (1.0, 1.2) for y in (-0.1, 0.1) for z in (0.01, 0.21)]))
RECORD = (
    "import sys; from pathlib import Path; from tests.attacks import recordings; recordings.record(Path(sys.argv[1]))"
)


def record(folder: Path) -> list[Path]:
    """Record the scenes into a folder."""
    import sim
    from sim.scene.load import load_text

    paths = [folder / "arm.h5", folder / "fall.h5"]
    for path, scene in zip(paths, (ARM, FALL), strict=True):
        sim.run(load_text(scene), output=path).close()
    return paths


@functools.cache
def whole() -> tuple[bytes, ...]:
    """Return recordings in which nothing is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own: an engine that was started here would go on in every child.
        subprocess.run([sys.executable, "-c", RECORD, folder], check=True)
        return tuple(path.read_bytes() for path in sorted(Path(folder).glob("*.h5")))


def attacks(seed: int, count: int, folder: Path) -> Iterator[Attack]:
    """Yield commands on a recording that is damaged in one way, now and then in two."""
    for number in range(seed, seed + count):
        chance = random.Random(f"recordings {number}")
        path = folder / "r.h5"
        about = damaged(path, chance, whole())
        yield Attack("recordings", number, chance.choice(COMMANDS), about)


COMMANDS: tuple[tuple[str, ...], ...] = (
    *[("verify", "r.h5", "--quick")] * 4, ("verify", "r.h5", "--quick", "--json"),
    ("verify", "r.h5", "--instants", "1"), ("verify", "r.h5", "--quick", "--trust"),
    *[("plot", "r.h5", "--csv", "x.csv")] * 3, ("plot", "r.h5", "-o", "x.svg"),
    ("plot", "r.h5", "contact('*', 'world')", "--csv", "x.csv"),
    ("render", "r.h5", "-o", "x.png", "--time", "0.01", "--size", "64x48", "--contacts"),
    ("render", "r.h5", "-o", "x.png", "--frames", "2", "--size", "64x48"),
    ("check", "r.h5"), ("info", "r.h5"), ("linearize", "r.h5"), ("run", "r.h5", "--overwrite"),
)  # fmt: skip


def damaged(path: Path, chance: random.Random, found: Sequence[bytes]) -> str:
    """Write one of these recordings with something wrong in it; return what."""
    path.write_bytes(chance.choice(found))
    done = []
    for _ in range(1 if chance.random() < 0.8 else 2):
        way = chance.choice(WAYS)
        try:
            done.append(f"{way.__name__} {way(path, chance)}")
        except (
            OSError,
            LookupError,
            ValueError,
            RuntimeError,
            TypeError,
        ) as error:  # damaged too much for a second one
            done.append(f"{way.__name__}: {type(error).__name__}")
    return ", ".join(done)


# --- bytes ------------------------------------------------------------------------------------------


def flip(path: Path, chance: random.Random) -> str:
    """Change some bytes, of the frame more often than of values."""
    data = bytearray(path.read_bytes())
    most = chance.choice((96, 2048, 16384, len(data)))
    places = [chance.randrange(min(most, len(data))) for _ in range(chance.choice((1, 1, 2, 8, 64)))]
    for place in places:
        data[place] = chance.choice((0, 255, data[place] ^ (1 << chance.randrange(8)), chance.randrange(256)))
    path.write_bytes(data)
    return f"{places[:3]}"


def header(path: Path, chance: random.Random) -> str:
    """Change bytes of the headers of objects, which begin with their signatures."""
    data = bytearray(path.read_bytes())
    marks = [at for sign in (b"TREE", b"SNOD", b"HEAP", b"GCOL", b"\1\0") for at in _all(data, sign)][:4000]
    place = min(chance.choice(marks or [0]) + chance.randrange(4, 64), len(data) - 1)
    width = chance.choice((1, 1, 2, 4, 8))
    data[place : place + width] = chance.choice((b"\0" * width, b"\xff" * width, chance.randbytes(width)))
    path.write_bytes(data)
    return f"{place}"


def _all(data: bytearray, sign: bytes) -> Iterator[int]:
    at = data.find(sign)
    while at >= 0:
        yield at
        at = data.find(sign, at + 1)


def cut(path: Path, chance: random.Random) -> str:
    """Cut the file, or write more behind it."""
    size = path.stat().st_size
    if chance.random() < 0.2:
        with path.open("ab") as stream:
            stream.write(chance.randbytes(chance.choice((1, 100, 100_000))))
        return "longer"
    most = chance.choice((8, 96, 4096, size))
    os.truncate(path, chance.randrange(most))
    return f"to {path.stat().st_size}"


def blank(path: Path, chance: random.Random) -> str:
    """Write zeros over a piece, as a disk that lost it."""
    data = bytearray(path.read_bytes())
    begin, size = chance.randrange(len(data)), chance.choice((16, 512, 4096, 65536))
    data[begin : begin + size] = bytes(len(data[begin : begin + size]))
    path.write_bytes(data)
    return f"{begin} + {size}"


# --- frame ------------------------------------------------------------------------------------------


def _named(file: h5py.File, kind: type = h5py.Dataset) -> list[str]:
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, kind) else None)
    return sorted(names)


def _sized(file: h5py.File, kinds: str) -> list[str]:
    """Return the datasets of these kinds that hold something."""
    return [name for name in _named(file) if file[name].dtype.kind in kinds and file[name].size]


def delete(path: Path, chance: random.Random) -> str:
    """Take a dataset or a group away."""
    with h5py.File(path, "r+") as file:
        name = chance.choice(_named(file) + _named(file, h5py.Group) * 3)
        del file[name]
    return name


def retype(path: Path, chance: random.Random) -> str:
    """Give a dataset another type."""
    with h5py.File(path, "r+") as file:
        name = chance.choice(_named(file))
        shape = file[name].shape
        del file[name]
        dtype = chance.choice(
            ["<f4", ">f8", "<f2", "i1", "<u8", "c16", "?", "S3", "V7", h5py.string_dtype(), h5py.ref_dtype,
             h5py.vlen_dtype(float), np.dtype([("a", "<f8"), ("name", "S2")]),
             np.dtype([("file", "<i8"), ("text", "S4")]), h5py.enum_dtype({"a": 1}), np.dtype(("<f8", (3,)))]
        )  # fmt: skip
        file.create_dataset(name, shape, dtype)
    return f"{name} {dtype}"


def reshape(path: Path, chance: random.Random) -> str:
    """Give a dataset another shape."""
    with h5py.File(path, "r+") as file:
        name = chance.choice(_named(file))
        dtype, shape = file[name].dtype, list(file[name].shape)
        del file[name]
        way = chance.randrange(7)
        if way == 0:
            shape.append(chance.choice((1, 2, 3)))
        elif way == 1:
            shape = []
        elif way == 2 and shape:
            shape.pop()
        elif way == 3:
            shape = [chance.choice((0, 1, 5, 1000))]
        elif way == 4:
            file[name] = h5py.Empty(dtype)
            return f"{name} empty"
        elif shape:
            k = chance.randrange(len(shape))
            shape[k] = max(0, shape[k] + chance.choice((-1, 1, 7)))
        file.create_dataset(name, shape, dtype)
    return f"{name} {shape}"


def link(path: Path, chance: random.Random) -> str:
    """Put a link in place of a dataset or a group."""
    with h5py.File(path, "r+") as file:
        names = _named(file) + _named(file, h5py.Group)
        name, other = chance.choice(names), chance.choice(names)
        del file[name]
        kind = chance.choice(("soft", "dangling", "external", "alias", "circle", "self"))
        if kind == "soft":
            file[name] = h5py.SoftLink(f"/{other}")
        elif kind == "dangling":
            file[name] = h5py.SoftLink("/nowhere")
        elif kind == "external":
            file[name] = h5py.ExternalLink(chance.choice(("/etc/passwd", "r.h5", "/dev/zero", "none.h5")), f"/{other}")
        elif kind == "self":
            file[name] = h5py.SoftLink(f"/{name}")
        elif kind == "alias" and other in file:
            file[name] = file[other]
        else:
            file[name] = file["/"]
    return f"{kind} {name}"


def store(path: Path, chance: random.Random) -> str:
    """Keep the values of a dataset elsewhere, in pieces, or say that there are many more."""
    with h5py.File(path, "r+") as file:
        name = chance.choice(_named(file))
        values = file[name][()]
        shape, dtype = values.shape or (1,), np.asarray(values).dtype
        del file[name]
        kind = chance.choice(("external", "virtual", "chunked", "compressed", "huge", "many"))
        if kind == "external":
            file.create_dataset(name, shape, dtype, external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout(shape, dtype)
            layout[...] = h5py.VirtualSource("r.h5", "time", shape=shape)
            file.create_virtual_dataset(name, layout)
        elif kind == "huge":
            file.create_dataset(name, (2 ** chance.choice((32, 40, 50, 59)), *shape[1:]), dtype, chunks=(1, *shape[1:]))
        elif kind == "many":
            file.create_dataset(name, (2 ** chance.choice((20, 24, 30)), *shape[1:]), dtype, chunks=True, compression=9)
        else:
            file.create_dataset(
                name, shape, dtype, values, chunks=True, compression=9 if kind == "compressed" else None
            )
    return f"{kind} {name}"


def group(path: Path, chance: random.Random) -> str:
    """Put a group in place of a dataset, or a dataset in place of a group, or move one."""
    with h5py.File(path, "r+") as file:
        if chance.random() < 0.4:
            name, other = chance.choice(_named(file)), chance.choice(_named(file, h5py.Group))
            file.move(name, f"{other}/{chance.choice(('x', '7', name.replace('/', '_')))}")
        elif chance.random() < 0.5:
            name = chance.choice(_named(file))
            del file[name]
            file.create_group(name)
        else:
            name = chance.choice(_named(file, h5py.Group))
            del file[name]
            file[name] = 1.0
    return name


# --- values -----------------------------------------------------------------------------------------


def count(path: Path, chance: random.Random) -> str:
    """Say another number of rows."""
    with h5py.File(path, "r+") as file:
        name = chance.choice(("rows", "rows", "complete", *[n for n in _named(file) if n.endswith("/rows")]))
        rows = file["rows"][()]
        value = chance.choice((-1, 0, 1, rows - 1, rows + 1, 2**31, 2**32 + 1, 2**62, -(2**62), 2**63 - 1))
        if name == "complete":
            value = chance.choice((-1, 2, 127))
        data = file[name]
        if data.shape:
            data[chance.randrange(2)] = value
        else:
            data[()] = value
    return f"{name} {value}"


def number(path: Path, chance: random.Random) -> str:
    """Change numbers of a dataset."""
    with h5py.File(path, "r+") as file:
        name = chance.choice(_sized(file, "if"))
        values = np.atleast_1d(file[name][()])
        real = values.dtype.kind == "f"
        most = 0 if real else int(np.iinfo(values.dtype).max)
        value = (
            chance.choice((np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, -1e308, 1e-310))
            if real
            else chance.choice((-2, -1, 0, 1, 2, 3, 7, 100, most, -most))
        )
        where = chance.randrange(values.size)
        values.reshape(-1)[where : (None if chance.random() < 0.3 else where + 1)] = value
        file[name][...] = values.reshape(file[name].shape)
    return f"{name} {value}"


WORDS = (
    b"\xff", b"\xc3", b"\xed\xa0\x80", b"", b"\0", b"a", b"world", b"\x1b[2J", b"\n\n", b"one", b"[0]",
    "\N{BELL}".encode(), b"mesh", b"plane", b"box", b"spring", b"wrench", b"knife_edge", b"../../x.py",
)  # fmt: skip


def text(path: Path, chance: random.Random) -> str:
    """Change a text of a dataset."""
    with h5py.File(path, "r+") as file:
        name = chance.choice(_sized(file, "SV"))
        values = np.atleast_1d(file[name][()])
        field = values[chance.choice(values.dtype.names)] if values.dtype.names else values
        word = chance.choice(WORDS)
        field[chance.randrange(len(field))] = word
        file[name][...] = values.reshape(file[name].shape)
    return f"{name} {word!r}"


JUNK: tuple[object, ...] = (
    -1, 0, 1, 1.5, 1e308, -1e308, True, "", "x", "dop853", [], [1], [1, 2], ["a", "b"], {}, {"a": 1}, [[]], 2**70,
    float("nan"), float("inf"), {"follow": 1}, {"distance": -1}, ["no.such"], [-5, 1e9], [64, 48], "#zzzzzz", "#112233",
    [["go", 0.1]],
)  # fmt: skip


def block(path: Path, chance: random.Random) -> str:
    """Write other settings."""
    with h5py.File(path, "r+") as file:
        name = chance.choice(("settings", "render"))
        found = json.loads(file[f"scene/{name}"][()])
        key = chance.choice([*found, "camera", "trails"])
        if chance.random() < 0.8:
            found[key] = value = chance.choice(JUNK)
            written = json.dumps(found)
        else:
            written = value = chance.choice(("", "{", "null", "[]", "[" * 100_000, '{"size": 1e999}', "{}", "\x00"))
        del file[f"scene/{name}"]
        file[f"scene/{name}"] = np.array(written.encode(), f"S{max(1, len(written))}")
    return f"{name}.{key} {str(value)[:40]}"


def attribute(path: Path, chance: random.Random) -> str:
    """Change or take away an attribute."""
    with h5py.File(path, "r+") as file:
        homes = ["/", "run", *[n for n in _named(file, h5py.Group) if n.startswith("epochs/")]]
        home = file[chance.choice(homes)]
        name = chance.choice([*home.attrs, "x"])
        if name in home.attrs:
            del home.attrs[name]
        values = [
            -1, 0, 2**40, 1.5, np.nan, "x", b"\xff", np.bytes_(b"\xff\xfe"), "brachiate recording", np.zeros(3),
            np.array([b"a", b"\xff"]), 1 + 2j,
            h5py.Empty("f8"), np.zeros((2, 2)), np.array([], "S1"), True, "\x1b[31m",
        ]  # fmt: skip
        if chance.random() < 0.8:
            home.attrs[name] = chance.choice(values)
    return f"{home.name} {name}" if home else name


WAYS: tuple[Callable[[Path, random.Random], str], ...] = (
    flip, flip, header, header, cut, blank, delete, retype, reshape, link, store, group, count, count, number, number,
    text, block, attribute,
)  # fmt: skip
