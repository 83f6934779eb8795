"""Whether a file holds what a recording holds: one look, at opening; nothing of it is believed before.

A file from elsewhere may be damaged, or made so that its reader reads beyond what there is, for ever, or another file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import h5py
import numpy as np

from sim.recording import contents
from sim.recording.checked_blocks import RENDER, SETTINGS, wrong
from sim.recording.contents import Content
from sim.recording.errors import RecordingError
from sim.recording.heap import check_texts

KINDS = ("box", "sphere", "capsule", "cylinder", "ellipsoid", "mesh", "plane")  # that a scene may have
ROPES = ("rope", "rope_end")  # what stands for a rope, of which a scene says the points and the length
MODES = 3  # of contact: open, stick, slip


def check(path: Path, file: h5py.File) -> None:
    """Raise a RecordingError that names what is wrong, what was found and what was expected."""
    look = _Look(path, file)
    try:
        look.whole()
    except RecordingError:
        raise
    except Exception as error:  # whatever HDF5 and numpy say of a damaged file
        sentence = (str(error).splitlines() or [type(error).__name__])[0]
        raise RecordingError(f"{path} is damaged: {look.at} cannot be read ({sentence})") from error


class _Look:
    """What was seen of a file so far."""

    def __init__(self, path: Path, file: h5py.File):
        self.path, self.file = path, file
        self.bytes = path.stat().st_size
        self.at = "its frame"  # what is looked at
        self.counts: dict[str, int] = {}
        self.groups: set[str] = set()  # what there is
        self.datasets: dict[str, h5py.Dataset] = {}

    def whole(self) -> None:
        self._links()
        self._scene()
        self._motion()
        self._happened()
        self._state()
        self._run()

    def fail(self, found: str, expected: str) -> NoReturn:
        raise RecordingError(f"{self.path}: {self.at} {found}; expected {expected}")

    # --- frame ---------------------------------------------------------------------------------------

    def _links(self) -> None:
        """Every name leads to a group or dataset of this file, each by one way; take them down."""
        places = {h5py.h5o.get_info(self.file.id).addr}
        waiting = [(b"", self.file.id)]
        while waiting:
            home, group = waiting.pop()
            for name in list(group):
                full = home + name
                label = full.decode(errors="replace")
                self.at = repr(label)
                kind = group.links.get_info(name).type
                if kind != h5py.h5l.TYPE_HARD:
                    word = "a soft link" if kind == h5py.h5l.TYPE_SOFT else "a link to another file"
                    self.fail(f"is {word}", "a dataset or group of this file")
                info = h5py.h5o.get_info(group, name)
                if info.addr in places:
                    self.fail("is one that has another name, too", "each group and dataset once")
                places.add(info.addr)
                if info.type not in (h5py.h5o.TYPE_GROUP, h5py.h5o.TYPE_DATASET):
                    self.fail("is neither", "a dataset or group")
                made = h5py.h5o.open(group, name)
                if info.type == h5py.h5o.TYPE_GROUP:
                    self.groups.add(label)
                    waiting.append((full + b"/", made))
                else:
                    self.datasets[label] = h5py.Dataset(made)

    def _dataset(self, name: str, content: Content) -> bool:
        """Look at the frame of a dataset; tell whether it is there."""
        self.at = repr(name)
        if name in self.groups:
            self.fail("is a group", str(content))
        if name not in self.datasets:
            return False
        data = self.datasets[name]
        dtype, shape = data.id.dtype, None if data.shape is None else data.id.shape
        if shape is None or not _fits(dtype, content):
            self.fail(f"holds {_said(dtype)}", str(content))
        self._size(shape, content)
        self._place(data, dtype, shape)
        return True

    def _size(self, shape: tuple[int, ...], content: Content) -> None:
        """Compare a shape with what it should be; a count that was not met before is taken from it."""
        right = len(shape) == len(content.shape)
        for found, size in zip(shape, content.shape, strict=False):
            right &= found == (size if isinstance(size, int) else self.counts.setdefault(size, found))
        if not right:
            expected = tuple(self.counts.get(size, size) if isinstance(size, str) else size for size in content.shape)
            self.fail(f"has the shape {contents.shown(shape)}", f"{contents.shown(expected)}, {content}")

    def _place(self, data: h5py.Dataset, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        """The values of a dataset stand in this file, in one piece and as they are."""
        size, offset = math.prod(shape) * dtype.itemsize, data.id.get_offset()
        if offset is None:  # not in one piece of this file: none at all, perhaps
            how, offset = data.id.get_create_plist(), 0
            if how.get_layout() == h5py.h5d.VIRTUAL or how.get_external_count():
                self.fail("has its values in another file", "values in this one")
            if how.get_layout() == h5py.h5d.CHUNKED:
                self.fail("is cut into pieces or compressed", "values in one piece, as they are written")
        if offset + size > self.bytes:
            self.fail(f"would take {size} bytes from byte {offset} on", f"no more than the file's {self.bytes}")
        if data.id.get_storage_size() != size:
            self.fail(f"holds {data.id.get_storage_size()} bytes", f"{size}, as its shape says")

    def _need(self, name: str, content: Content) -> None:
        if not self._dataset(name, content):
            raise RecordingError(f"{self.path} has no {name!r}: it is incomplete or of another version")

    def _group(self, name: str) -> bool:
        """Look at a group of datasets that is there as a whole or not at all."""
        group = contents.GROUPS[name]
        found = [one for one in group if self._dataset(one, group[one])]
        for one, content in group.items() if found else ():
            if not content.newer:
                self._need(one, content)
        return bool(found)

    # --- values --------------------------------------------------------------------------------------

    def _values(self, name: str) -> np.ndarray:
        self.at = repr(name)
        return np.asarray(self.datasets[name][()])

    def _texts(self, name: str, *, once: bool = False) -> list[str]:
        """Return texts, which are UTF-8; once: each of them stands once."""
        found = [self._text(value) for value in self._values(name).ravel()]
        if once and len(set(found)) < len(found):
            self.fail(f"has {max(found, key=found.count)!r} more than once", "names that differ")
        return found

    def _text(self, value: bytes) -> str:
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            self.fail(f"holds the byte 0x{value[error.start]:02x}", "texts in UTF-8")

    def _within(self, name: str, least: int, most: int, where: Any = ...) -> None:
        """All numbers of a dataset lie in a range."""
        values = self._values(name)[where]
        bad = (values < least) | (values > most)
        if bad.any():
            expected = f"numbers from {least} to {most}" if most >= least else "none"
            self.fail(f"holds {int(values[bad].ravel()[0])}", expected)

    def _json(self, name: str, rules: Mapping[str, Any]) -> None:
        """A text is a JSON map with values as they should be."""
        text = self._text(self._values(name).item())
        try:
            block = json.loads(text)
        except (ValueError, RecursionError) as error:
            self.fail(f"is no JSON ({str(error).splitlines()[0]})", "a map in JSON")
        if not isinstance(block, dict):
            self.fail(f"holds {type(block).__name__}", "a map in JSON")
        found = wrong(block, rules)
        if found is not None:
            key, value, expected = found
            self.fail(f"gives {key!r} as {_short(value)}", expected)

    # --- parts ---------------------------------------------------------------------------------------

    def _scene(self) -> None:
        for name, default in (("scene", None), ("program", "")):
            self.at = f"attribute {name!r}"
            if not isinstance(attribute(self.file, name, default), str):
                self.fail("is no text, or not there", "a text")
        for name, content in contents.NEEDED.items():
            self._need(name, content)
        for name in ("scene/text", "scene/file"):
            self._texts(name)
        if self._dataset("scene/sources", contents.SOURCES):
            for row in self._values("scene/sources"):
                for text in row:
                    self._text(text)
        self._json("scene/settings", SETTINGS)
        self._json("scene/render", RENDER)
        bodies = self.counts["b"]
        names = self._texts("bodies/name", once=True)
        self._within("shapes/body", -1, bodies - 1)
        kinds = self._texts("shapes/kind")
        for kind in sorted(set(kinds) - {*KINDS, *ROPES}):
            self.fail(f"holds {kind!r}", f"one of {', '.join(KINDS)}")
        joints = self._texts("joints/name", once=True)
        self._texts("joints/type")
        for name in ("joints/parent", "joints/child"):
            for body in set(self._texts(name)) - {"world", *names}:
                self.fail(f"names {body!r}", "bodies of the recording, or the world")
        self._columns(joints)
        if self._group("points"):
            self._texts("points/name", once=True)
            self._within("points/body", -1, bodies - 1)
        if self._group("meshes"):
            self._meshes(kinds)
        elif "mesh" in kinds:
            raise RecordingError(f"{self.path} has no 'shapes/vertices': it is incomplete or of another version")
        if self._group("forces"):
            self._texts("forces/name", once=True)
            self._texts("forces/type")
            self._within("forces/body", -1, bodies - 1)
        else:
            self.counts["f"] = 0

    def _columns(self, joints: list[str]) -> None:
        table = self._values("joints/columns")
        texts = {
            field: [self._text(value) for value in table[field]] for field in contents.NEEDED["joints/columns"].fields
        }
        if len(set(texts["name"])) < len(texts["name"]):
            self.fail("has a name more than once", "names that differ")
        for joint in set(texts["joint"]) - set(joints):
            self.fail(f"names {joint!r}", "joints of the recording")
        changes = sum(a != b for a, b in zip(texts["joint"], texts["joint"][1:], strict=False)) + bool(len(table))
        if changes != len(set(texts["joint"])):
            self.fail("has columns of a joint apart", "those of each joint together")

    def _meshes(self, kinds: list[str]) -> None:
        """Each mesh has triangles, of its own vertices."""
        shapes = len(kinds)
        self._within("shapes/vertex_shape", 0, shapes - 1)
        self._within("shapes/triangle_shape", 0, shapes - 1)
        corners = np.bincount(self._values("shapes/vertex_shape"), minlength=shapes)
        most = corners[self._values("shapes/triangle_shape")][:, None]
        lacking = {k for k, kind in enumerate(kinds) if kind == "mesh"} - set(self._values("shapes/triangle_shape"))
        if lacking:
            self.fail(f"has none of shape {min(lacking)}", "triangles of each mesh")
        triangles = self._values("shapes/triangles")
        if np.any((triangles < 0) | (triangles >= most)):
            self.fail("has a corner that is none of its shape's", "numbers of vertices, from 0 on")

    def _state(self) -> None:
        """A last state has all its parts, or is not there; whether it is whole is seen where it is asked for."""
        self._group("begun")
        if not self._dataset("state/latest", contents.LATEST):
            return
        self._within("state/latest", -1, 1)
        for group in contents.STATES:
            found = [name for name, content in group.items() if self._dataset(name, content)]
            for name, content in group.items() if found else ():
                self._need(name, content)
            for size in (name for name in found if name.endswith("size")):
                most = [self.datasets[size.replace("size", part)].shape[0] for part in ("text", "numbers")]
                self._within(size, 0, most[0], 0)
                self._within(size, 0, most[1], 1)

    def _motion(self) -> None:
        for name, content in contents.of_rows().items():
            if content.newer:
                self._dataset(name, content)
            else:
                self._need(name, content)
        self.rows = int(self._values("rows"))
        if not 0 <= self.rows <= self.counts["n"]:
            self.fail(f"says {self.rows}", f"from 0 to {self.counts['n']}, for which there is room")
        self._within("complete", 0, 1)
        times = self._values("time")[: self.rows]
        if not np.isfinite(times).all() or np.any(np.diff(times) < 0.0):
            self.fail("goes back, or is not finite", "times that do not decrease")
        self._epochs()

    def _epochs(self) -> None:
        """Epochs follow each other, and have a state for each of their rows."""
        self.at = "'epochs'"
        if "epochs" in self.datasets:
            self.fail("is a dataset", "a group of epochs")
        if "epochs" not in self.groups:
            return
        groups, last = self.file["epochs"], 0
        count = len(groups)
        if set(groups) != {str(k) for k in range(count)}:
            self.fail(f"holds {', '.join(sorted(groups)[:6])}", "groups 0, 1, 2, ...")
        for k in range(count):
            self.counts.pop("r", None)
            for name, content in contents.of_epoch(k).items():
                self._need(name, content)
            begin = self._begin_of(k + 1)
            first, end = (int(row) for row in self._values(f"epochs/{k}/rows"))
            if not last <= first <= end <= first + self.counts["r"]:
                self.fail(f"is {first} to {end}", f"rows from {last} on, no more than the {self.counts['r']} states")
            if end < min(self.rows, begin):
                self.fail(f"ends at {end}", "states for all complete rows")
            last = end
            for name in ("tree", "loops"):
                self.at = f"attribute {name!r} of 'epochs/{k}'"
                names(groups[str(k)], name)

    def _begin_of(self, k: int) -> int:
        """Return the first row of an epoch, one past the complete rows where there is none."""
        name = f"epochs/{k}/rows"
        if name not in self.datasets:
            return self.rows
        self._need(name, contents.of_epoch(k)[name])
        return int(self._values(name)[0])

    def _happened(self) -> None:
        """Look at events, impulses, bindings and contacts: only what is complete counts, as readers read it."""
        joints = self.counts["j"]
        if self._group("events"):
            there = np.isfinite(self._values("events/time"))
            for name in ("events/name", "events/kind", "events/caption", "events/text"):
                self.at = repr(name)
                for value in self._values(name)[there]:
                    self._text(value)
            self._within("events/row_after", -1, np.iinfo(np.int64).max, there)
            there &= self._values("events/row_after") < self.rows
            self._within("events/row_before", -2, self.rows - 1, there)  # one less than that after it
        if self._group("impulses"):
            events = self.counts.get("e", 0)
            self._within("impulses/event", -1, events - 1)
            self._within("impulses/joint", 0, joints - 1, self._values("impulses/event") >= 0)
        if self._group("bindings"):
            rows = self._values("bindings/row")
            self._within("bindings/joint", 0, joints - 1, (rows >= 0) & (rows < self.rows))
        if self._group("contacts"):
            self._touches()
        if self._group("contact impulses"):
            event = self._values("contacts/impulses/event")
            self._within("contacts/impulses/event", -1, self.counts.get("e", 0) - 1)
            self._within("contacts/impulses/pair", 0, self.counts.get("q", 0) - 1, event >= 0)

    def _touches(self) -> None:
        self._texts("contacts/pairs/a")
        self._texts("contacts/pairs/b")
        self._within("contacts/pairs/shapes", -1, self.counts["s"] - 1)
        rows = self._values("contacts/row")
        there = (rows >= 0) & (rows < self.rows)
        if np.any(np.diff(rows[there]) < 0):
            self.fail("goes back", "rows in order")
        self._within("contacts/pair", 0, self.counts["q"] - 1, there)
        self._within("contacts/mode", 0, MODES - 1, there)

    def _run(self) -> None:
        self.at = "'run'"
        if "run" in self.datasets:
            self.fail("is a dataset", "a group with attributes")
        if "run" not in self.groups:
            return
        run = self.file["run"]
        for name in run.attrs:
            self.at = f"attribute {name!r} of 'run'"
            value = attribute(run, name)
            numeric = name in ("wall_time", "taken_by_contacts", "steps", "evaluations")
            if value is None or (numeric and not isinstance(value, (int, float))):
                self.fail(
                    "is no number" if numeric else "is a list, or neither",
                    "a number" if numeric else "a number or text",
                )


def attribute(of: h5py.Group, name: str, default: Any = None) -> Any:
    """Return an attribute as a number or a text in UTF-8, None where it is neither, `default` where there is none."""
    if name not in of.attrs:
        return default
    made = of.attrs.get_id(name)
    if made.shape != () or (made.dtype.kind not in "iufSb" and h5py.check_string_dtype(made.dtype) is None):
        return None
    if made.dtype.kind == "O":
        check_texts(Path(of.file.filename), h5py.h5o.get_info(of.id).addr)
    value = of.attrs[name]
    try:
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, str):
            value.encode()  # h5py hands over what is no UTF-8, too
            return value
    except UnicodeError:
        return None
    return value.item() if isinstance(value, np.generic) else None


def names(of: h5py.Group, name: str) -> tuple[str, ...]:
    """Return an attribute that is a list of texts."""
    made = of.attrs.get_id(name)
    if len(made.shape) != 1 or made.dtype.kind != "S":
        raise ValueError("expected a list of texts")
    return tuple(value.decode() for value in of.attrs[name])


def _fits(dtype: np.dtype[Any], content: Content) -> bool:
    if content.fields:
        return dtype.names is not None and set(dtype.names) == set(content.fields) and all(
            dtype[field].kind == "S" and not dtype[field].shape for field in content.fields
        )  # fmt: skip
    if content.kind == "f":
        return bool(dtype == np.dtype("<f8"))
    if content.kind == "u":
        return bool(dtype == np.dtype("u1"))
    return dtype.kind == content.kind


def _said(dtype: np.dtype[Any]) -> str:
    if dtype.names is not None:
        return f"a table of {', '.join(dtype.names[:6])}"
    words: dict[str, Callable[[], str]] = {
        "f": lambda: f"numbers of {dtype.itemsize} bytes", "i": lambda: "whole numbers", "S": lambda: "texts",
        "u": lambda: "whole numbers without sign", "O": lambda: "texts of any length, or references",
    }  # fmt: skip
    return words.get(dtype.kind, lambda: f"values of type {dtype}")()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
