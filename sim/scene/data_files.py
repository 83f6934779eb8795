"""Files of data beside a scene: found, read, and kept with the scene, so that a recording can run it again."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.scene.blocks import Reads
from sim.scene.names import nearest
from sim.scene.nodes import Node
from sim.scene.problem import Place


@dataclass(frozen=True)
class DataKind:
    """What is read from a file.

    noun : what one is called; plural and kinds : how a hint says which files there are
    suffixes : of files that are named where one is missing
    load : what is in a file, from its path; decode : from what was loaded, or from a kept text, to what it means
    kept : the text that a recording keeps of what was decoded; bare : the same, and nothing else that the file holds
    errors : what load and decode raise, with a sentence
    """

    noun: str
    plural: str
    kinds: str
    suffixes: tuple[str, ...]
    load: Callable[[Path], bytes]
    decode: Callable[[bytes], Any]
    kept: Callable[[Any], str]
    bare: Callable[[Any], str]
    errors: tuple[type[Exception], ...]


def table_over_time(name: str) -> DataKind:
    """Return how a table over time is read, which messages call by a name."""
    from sim.scene import time_table as tables  # late: most scenes have none

    return DataKind(
        "table over time", "tables", "CSV or HDF5 files with a column of times", (".csv", ".h5", ".hdf5"),
        tables.bytes_of, lambda data: tables.table_from(data, name), tables.text_of, tables.text_of,
        (tables.TableError,),
    )  # fmt: skip


def label_of(reader: Reads, name: str, outer: str) -> str:
    """Return how messages and recordings call a file that the text of `outer` names."""
    if reader.scope.kept is not None:
        return reader.scope.kept.find(outer, name) or ""
    return os.path.normpath(os.path.join(os.path.dirname(outer), name))


def read_data(reader: Reads, where: Place | Node, path: str, name: str, kind: DataKind) -> Any:
    """Return what a file holds, None where it cannot be had (reported).

    where, path : of the name in the scene
    """
    scope = reader.scope
    place = where if isinstance(where, Place) else where.place
    label, folder, file = label_of(reader, name, place.file), scope.folder, scope.folder / name
    if scope.kept is not None and not label:
        reader.problem(where, path, f"'{name}' is not among the files that were kept with the scene")
        return None
    if scope.kept is None and not file.is_file():
        beside = file.parent.glob("*")
        known = [os.path.relpath(other, folder) for other in beside if other.suffix.lower() in kind.suffixes]
        shown = "this folder" if str(folder) in ("", ".") else f"'{folder}'"
        reader.problem(where, path, f"there is no file '{name}' in {shown}", nearest(name, sorted(known)))
        return None
    foreign = scope.kept is None and scope.is_foreign(file)
    try:
        found = kind.decode(kind.load(file) if scope.kept is None else scope.kept.text(label).encode())
    except kind.errors as error:
        said = (
            f"lies outside the scene's folder, and is no {kind.noun} that can be read"
            if foreign
            else str(error).removeprefix(f"{name}: ")
        )
        reader.problem(where, path, f"'{name}': {said}", f"{kind.plural} are {kind.kinds}")
        return None
    reader.findings.open(label, (kind.bare if foreign else kind.kept)(found))
    return found
