"""Attributes of any length: object headers and heaps by the HDF5 File Format Specification, made byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
import pytest

from sim.recording import heap
from sim.recording.heap import HeapError, check_texts

HEAP, HEADER, MORE = 4096, 64, 2048  # where they lie in the files of these tests


def eights(data: bytes) -> bytes:
    return data.ljust((len(data) + 7) // 8 * 8, b"\0")


def attribute(length: int, number: int, *, version: int = 1, name: bytes = b"words\0", kind: int = 9, flags: int = 0,
              at: int = HEAP, space: bytes = bytes(4)) -> tuple[int, bytes]:  # fmt: skip
    """Return a message 12, attribute: its name, its type, its space, then length, heap and number of a text."""
    parts = [name, bytes([0x10 | kind]) + bytes(18), space]
    sizes = [len(part) for part in parts]
    head = struct.pack("<BBHHH", version, flags, *sizes) + (b"\1" if version == 3 else b"")
    return 0x0C, head + b"".join(eights(part) if version == 1 else part for part in parts) + struct.pack(
        "<IQI", length, at, number
    )


def messages(*found: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack("<HHB3x", kind, len(eights(data)), 0) + eights(data) for kind, data in found)


def header(block: bytes, version: int = 1) -> bytes:
    return struct.pack("<BxHII4x", version, 1, 1, len(block)) + block


def collection(*objects: tuple[int, bytes], size: int | None = None, mark: bytes = b"GCOL\1") -> bytes:
    body = b"".join(struct.pack("<HH4xQ", number, 1, len(data)) + eights(data) for number, data in objects)
    size = size if size is not None else 16 + len(body) + 32
    free = struct.pack("<HH4xQ", 0, 0, max(0, size - 16 - len(body)))
    return (mark + bytes(3) + struct.pack("<Q", size) + body + free).ljust(size, b"\0")[:size]


def look(folder: Path, block: bytes, objects: bytes, more: bytes = b"", version: int = 1, size: int = 0) -> None:
    """Lay these in a file and look at the texts of its only object."""
    data = bytearray(max(HEAP + len(objects), size))
    for at, piece in ((HEADER, header(block, version)), (MORE, more), (HEAP, objects)):
        data[at : at + len(piece)] = piece
    (folder / "a").write_bytes(data)
    check_texts(folder / "a", HEADER)


TEXTS = ((1, b"a" * 8), (2, b"b" * 13), (7, b"c"))
WHOLE = collection(*TEXTS)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("name", [b"a\0", b"seven..\0", b"eight...\0"])
@pytest.mark.parametrize("space", [bytes(4), bytes(8), bytes(12)])
def test_a_text_is_looked_up_wherever_its_attribute_has_it(tmp_path, version, name, space):
    """The last attribute alone names a text that is not there."""
    others = [(0x11, bytes(16)), attribute(3, 99, kind=3, name=name), attribute(0, 99, version=version, name=name)]
    for length, number, right in (
        (8, 1, True),
        (9, 1, False),
        (13, 2, True),
        (14, 2, False),
        (1, 7, True),
        (2, 7, False),
        (1, 3, False),
        (1, 0, False),
    ):
        block = messages(*others, attribute(length, number, version=version, name=name, space=space))
        if right:
            look(tmp_path, block, WHOLE)
            continue
        with pytest.raises(HeapError) as caught:
            look(tmp_path, block, WHOLE)
        assert str(caught.value) == f"a text of {length} bytes is not in its heap"


def test_an_object_header_goes_on_elsewhere(tmp_path):
    """What a continuation holds is looked at, and what stands behind the message that tells of it."""
    good, bad = attribute(8, 1), attribute(9, 1)
    for first, second, third in ((good, good, good), (bad, good, good), (good, bad, good), (good, good, bad)):
        more = messages(second)
        block = messages(first, (0x10, struct.pack("<QQ", MORE, len(more))), third)
        if first is second is third:
            look(tmp_path, block, WHOLE, more)
        else:
            with pytest.raises(HeapError, match="a text of 9 bytes is not in its heap"):
                look(tmp_path, block, WHOLE, more)


def test_an_object_header_without_end_is_left(tmp_path, monkeypatch):
    more = messages((0x10, struct.pack("<QQ", MORE, 24)))
    assert heap.MOST == 1 << 20
    with pytest.raises(HeapError) as caught:
        look(tmp_path, more, WHOLE, more)
    assert str(caught.value) == "an object header without end"
    # As many bytes as there may be: 24 of the first block and one for each.
    block = messages(attribute(8, 1))
    for most, right in ((len(block) + 1, True), (len(block), False)):
        monkeypatch.setattr(heap, "MOST", most)
        if right:
            look(tmp_path, block, WHOLE)
        else:
            with pytest.raises(HeapError, match="without end"):
                look(tmp_path, block, WHOLE)


def test_blocks_of_an_object_header_add_up(tmp_path, monkeypatch):
    more = messages(attribute(8, 1))
    block = messages((0x10, struct.pack("<QQ", MORE, len(more))))
    both = len(block) + len(more) + 2
    monkeypatch.setattr(heap, "MOST", both)
    look(tmp_path, block, WHOLE, more)
    monkeypatch.setattr(heap, "MOST", both - 1)
    with pytest.raises(HeapError, match="without end"):
        look(tmp_path, block, WHOLE, more)


@pytest.mark.parametrize(
    ("block", "objects", "sentence"),
    [
        (messages(attribute(8, 1, version=4)), WHOLE, "an attribute of version 4, flags 0"),
        (messages(attribute(8, 1, version=0)), WHOLE, "an attribute of version 0, flags 0"),
        (messages(attribute(8, 1, version=3, flags=1)), WHOLE, "an attribute of version 3, flags 1"),
        (messages(attribute(8, 1)), collection(*TEXTS, mark=b"GCOL\2"), "there is no heap where it should be"),
        (messages(attribute(8, 1)), collection(*TEXTS, mark=b"SCOL\1"), "there is no heap where it should be"),
        (messages(attribute(8, 1)), collection((0, b""), *TEXTS), "an object of its heap has 0 bytes"),
        (messages(attribute(8, 1)), collection((1, b"a" * 8), size=39), "an object of its heap has 8 bytes"),
        (messages(attribute(8, 1, at=HEAP + 400)), WHOLE, f"16 bytes from byte {HEAP + 400} on are beyond the end"),
        (messages(attribute(8, 1, at=2**63)), WHOLE, f"16 bytes from byte {2**63} on are beyond the end"),
        (messages((0x10, struct.pack("<QQ", MORE, 2**40))), WHOLE, "an object header without end"),
        (messages((0x10, struct.pack("<QQ", HEAP, 5000))), WHOLE, f"5000 bytes from byte {HEAP} on are beyond the end"),
    ],
)  # fmt: skip
def test_what_is_damaged_is_said(tmp_path, block, objects, sentence):
    with pytest.raises(HeapError) as caught:
        look(tmp_path, block, objects)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("version", [0, 2])
def test_other_object_headers_are_not_read(tmp_path, version):
    with pytest.raises(HeapError) as caught:
        look(tmp_path, messages(attribute(8, 1)), WHOLE, version=version)
    assert str(caught.value) == f"an object header of version {version}"


@pytest.mark.parametrize("missing", [0, 1])
def test_a_heap_may_end_with_its_file(tmp_path, missing):
    """Its last object is full, or what is left has too few bytes for another."""
    full = collection(*TEXTS, size=16 + 24 + 32 + 24)
    for objects in (full, collection(*TEXTS, size=16 + 24 + 32 + 24 + 8)):
        if not missing:
            look(tmp_path, messages(attribute(1, 7)), objects)
            continue
        data = bytearray(HEAP + len(objects) - missing)
        data[HEADER : HEADER + 200] = header(messages(attribute(1, 7)))[:200].ljust(200, b"\0")
        data[HEAP:] = objects[:-missing]
        (tmp_path / "a").write_bytes(data)
        with pytest.raises(HeapError) as caught:
            check_texts(tmp_path / "a", HEADER)
        assert str(caught.value) == f"{len(objects)} bytes from byte {HEAP} on are beyond the end"


def free(*sizes: int) -> bytes:
    """A heap of free pieces and a text behind them."""
    body = b"".join(struct.pack("<HH4xQ", 0, 0, size).ljust(max(size, 16), b"\0")[:size] for size in sizes)
    text = struct.pack("<HH4xQ", 1, 1, 8) + b"a" * 8
    return b"GCOL\1" + bytes(3) + struct.pack("<Q", 16 + len(body) + len(text)) + body + text


@pytest.mark.parametrize("sizes", [(16,), (24, 16), (40,)])
def test_free_pieces_of_a_heap_are_passed_over(tmp_path, sizes):
    look(tmp_path, messages(attribute(8, 1)), free(*sizes))


def names_of(count: int) -> Sequence[str]:
    return [f"a{'x' * k}" for k in range(count)]


@pytest.mark.parametrize("count", [1, 9, 40])
def test_what_hdf5_writes_is_right(tmp_path, count):
    """Many attributes, in several blocks, with names of any length, beside numbers and texts of fixed length."""
    with h5py.File(tmp_path / "a.h5", "w", libver=("earliest", "v110")) as file:
        for k, name in enumerate(names_of(count)):
            file.attrs[name] = "é" * k
            file.attrs[f"{name}-number"] = np.arange(k % 3 + 1.0)
            file.attrs[f"{name}-fixed"] = np.bytes_(b"x" * (k + 1))
        address = h5py.h5o.get_info(file.id).addr
    check_texts(tmp_path / "a.h5", address)
    data = (tmp_path / "a.h5").read_bytes()
    at = data.rfind("é".encode() * (count - 1)) if count > 1 else -1
    if at > 0:  # its size, 8 bytes before it
        length = 2 * (count - 1)
        assert struct.unpack("<Q", data[at - 8 : at]) == (length,)
        (tmp_path / "b.h5").write_bytes(data[: at - 8] + struct.pack("<Q", length - 1) + data[at:])
        with pytest.raises(HeapError):
            check_texts(tmp_path / "b.h5", address)
