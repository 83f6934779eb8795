"""Texts of any length in attributes lie in a heap, which HDF5 walks for ever where a size in it became zero.

So the heap is walked here first: object headers and heaps as the HDF5 File Format Specification, version 2, lays them
out (sections IV.A.1, IV.A.2.m, III.E), in the first version that recordings are written in.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

HEADER, LEAST = 16, 8  # bytes of a heap's or an object's header; of what free space there can be
CONTINUATION, ATTRIBUTE = 0x10, 0x0C  # messages
ANY_LENGTH = 9  # class of types
REFERENCE = struct.Struct("<IQI")  # length, address of the heap, number of the object


MOST = 1 << 20  # bytes of an object header
Read = Callable[[int, int], bytes]


class HeapError(ValueError):
    """A heap that is damaged; the message ends a sentence."""


def check_texts(path: Path, address: int) -> None:
    """Raise a HeapError unless all attributes of any length of the object at an address can be read."""
    with path.open("rb") as stream:
        size = path.stat().st_size

        def read(at: int, count: int) -> bytes:
            if not 0 <= at <= at + count <= size:
                raise HeapError(f"{count} bytes from byte {at} on are beyond the end")
            stream.seek(at)
            return stream.read(count)

        for length, heap, number in _references(read, address):
            if not length:
                continue
            objects = dict(_objects(read(heap, struct.unpack("<8xQ", read(heap, HEADER))[0])))
            if objects.get(number, -1) < length:
                raise HeapError(f"a text of {length} bytes is not in its heap")


def _references(read: Read, address: int) -> Iterator[tuple[int, int, int]]:
    """Return length, heap and number of the texts of an object's attributes."""
    version, size = struct.unpack("<B7xI4x", read(address, HEADER))
    if version != 1:
        raise HeapError(f"an object header of version {version}")
    blocks, seen = [(address + HEADER, size)], 0
    while blocks:
        begin, size = blocks.pop()
        seen += size + 1
        if seen > MOST:
            raise HeapError("an object header without end")
        block, at = read(begin, size), 0
        while at + 8 <= size:
            kind, length = struct.unpack_from("<HH", block, at)
            message = block[at + 8 : at + 8 + length]
            if kind == CONTINUATION:
                blocks.append(struct.unpack("<QQ", message[:16]))
            elif kind == ATTRIBUTE:
                yield from _reference(message)
            at += 8 + length


def _reference(message: bytes) -> Iterator[tuple[int, int, int]]:
    """Return the reference that an attribute is, nothing where it is something else."""
    version, flags, *sizes = struct.unpack_from("<BBHHH", message)
    if version not in (1, 2, 3) or flags:
        raise HeapError(f"an attribute of version {version}, flags {flags}")
    begin = 8 + (version == 3)  # behind which text the name is in
    name, kind, space = ((size + 7) // 8 * 8 if version == 1 else size for size in sizes)
    if message[begin + name : begin + name + 1] and message[begin + name] & 15 == ANY_LENGTH:
        yield REFERENCE.unpack(message[begin + name + kind + space :][: REFERENCE.size])


def _objects(heap: bytes) -> Iterator[tuple[int, int]]:
    """Return number and size of each object of a heap."""
    if heap[:5] != b"GCOL\1":
        raise HeapError("there is no heap where it should be")
    at = HEADER
    while at + HEADER <= len(heap):
        number, size = struct.unpack_from("<H6xQ", heap, at)
        taken = HEADER + (size + 7) // 8 * 8 if number else size
        if taken < LEAST or at + taken > len(heap):
            raise HeapError(f"an object of its heap has {size} bytes")
        if number:
            yield number, size
        at += taken
