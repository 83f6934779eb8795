"""The scene as written, put together: every file read, every repeat unrolled, every include placed.

A draft knows which things there are, by full name; what their keys mean together is for the
builders.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sim.scene import nodes, repeating
from sim.scene.blocks import BAD, Block, Thing
from sim.scene.findings import Findings
from sim.scene.kept import Kept
from sim.scene.library import is_file, scenes_path
from sim.scene.names import is_name, nearest
from sim.scene.nodes import Map, Node, Scalar, Sequence, is_empty
from sim.scene.parameters import Override, read_parameters
from sim.scene.problem import Place
from sim.scene.reading import Reader
from sim.scene.rotation import IDENTITY, orientation_of
from sim.scene.scope import Scope
from sim.scene.spec import Quat, Vec3
from sim.scene.units import Quantity
from sim.scene.vocabulary import definition, whole

_THINGS = ("bodies", "joints", "initial", "events", "forces", "contacts", "constraints", "controllers")
_DEEPEST = 20  # includes inside includes
_MOST_PARTS = 1000
MOST_BYTES = 4_000_000  # of one file: the text of more things than a scene may have
_VERSION = 1


@dataclass
class DraftPart:
    """One file and where it is placed."""

    prefix: str
    file: str
    parent: int
    position: Vec3
    orientation: Quat
    pose: list[Thing]
    reader: Reader
    mirrors: list[list[Thing]] = field(default_factory=list)
    mirror_planes: list[str] = field(default_factory=list)


@dataclass
class Draft:
    """All that the files of a scene say, in file order."""

    parts: list[DraftPart] = field(default_factory=list)
    things: dict[str, list[Thing]] = field(default_factory=lambda: {name: [] for name in _THINGS})
    worlds: list[Block] = field(default_factory=list)  # each reader's scope tells the part
    settings: dict[str, Block] = field(default_factory=dict)  # simulate, render, of the scene's own file
    name: str = ""
    about: str = ""
    parameters: Mapping[str, Quantity] = field(default_factory=dict)


class Drafter:
    """Reads the scene's file and the files that it includes."""

    def __init__(self, findings: Findings):
        self.findings = findings
        self.draft = Draft()
        self.texts: dict[Path, tuple[str, Map | None]] = {}  # resolved path -> label, nodes

    def scene(
        self, text: str, label: str, path: Path | None, folder: Path, overrides: Mapping[str, Override],
        kept: Kept | None = None,
    ) -> Draft:  # fmt: skip
        """Draft a scene from the text of its file; `path` is None for a text without a file.

        kept : texts that are read in place of all other files
        """
        self.findings.open(label, text)
        root = nodes.compose(text, label, self.findings)
        if root is None:
            return self.draft
        scope = Scope(folder, chain=(path.resolve(),) if path else (), kept=kept, home=folder)
        reader = Reader(scope, self.findings)
        self.draft.parts.append(DraftPart("", label, -1, (0.0, 0.0, 0.0), IDENTITY, [], reader))
        self.file(root, reader, overrides)
        return self.draft

    def file(self, root: Map, reader: Reader, overrides: Mapping[str, Override]) -> None:
        """Draft one file."""
        if not self.version(root, reader):
            reader.lose_names()
            return
        parameters = read_parameters(root.get("parameters"), reader, overrides)
        reader = Reader(dataclasses.replace(reader.scope, names=parameters), self.findings)
        part = self.draft.parts[reader.scope.part]
        part.reader = reader
        if part.parent < 0:
            self.draft.parameters = parameters
        schema = whole()
        place = root.entries[0][0].place if root.entries else root.place
        for key, value, inner in reader.entries(root, schema, "", place, []):
            self.section(key, value, inner, reader)

    def version(self, root: Map, reader: Reader) -> bool:
        """Return whether the file is written in this version of the language; report if not."""
        node = root.get("schema")
        if node is None or is_empty(node):
            return True  # reported with the other keys
        found = f"'{node.text}'" if isinstance(node, Scalar) else "a list or map"
        if found == f"'{_VERSION}'":
            return True
        if isinstance(node, Scalar) and node.text.isdigit():
            what = f"the file is written in version {node.text} of the scene language"
            reader.problem(node, "schema", what, f"this program reads version {_VERSION}")
            return False
        what = f"expected the version of the scene language, found {found}"
        reader.problem(node, "schema", what, f"schema: {_VERSION}")
        return True

    def section(self, key: Scalar, node: Node, schema: Any, reader: Reader) -> None:
        """Draft what stands under one key at the top of a file, or of a repeat."""
        name, root = key.text, self.draft.parts[reader.scope.part].parent < 0
        if name in _THINGS:
            things = BAD if is_empty(node) else reader.things(node, schema, _path(name, reader))
            self.draft.things[name].extend(things if things is not BAD else [])
            if things is BAD:
                reader.lose_names()
        if is_empty(node):
            reader.read(node, schema, name, key.place)
        elif name == "include":
            self.includes(node, reader)
        elif name == "repeat":
            self.repeat(node, reader)
        elif name == "mirror":
            self.mirror(node, reader)
        elif name == "world":
            block = reader.block(node, schema, "world", key.place)
            if block is not BAD:
                self.draft.worlds.append(block)
        elif name in ("simulate", "render"):
            block = reader.block(node, schema, name, key.place)
            if root and block is not BAD:
                self.draft.settings[name] = block
        elif name in ("name", "about"):
            text = reader.read(node, schema, name)
            if name == "name" and text is not BAD and not reader.is_one_line(text, node, name):
                text = BAD
            if root and text is not BAD:
                setattr(self.draft, name, text)

    def repeat(self, node: Node, reader: Reader) -> None:
        """Draft the sections of a repeat at the top of a file, in every turn."""
        schema = definition("repeated_sections")
        for block, inner in repeating.blocks(node, reader, ""):
            known = {**schema, "required": []}
            for key, value, section in inner.entries(block, known, "repeat", block.place, []):
                self.section(key, value, section, inner)

    def mirror(self, node: Node, reader: Reader) -> None:
        """Note what a file wants mirrored."""
        part = self.draft.parts[reader.scope.part]
        for item in node.items if isinstance(node, Sequence) else [node]:
            if not isinstance(item, Map):
                reader.problem(item, "mirror", "expected a map", "mirror: {l: r, plane: y}")
                continue
            pairs = Map([(key, value) for key, value in item.entries if key.text != "plane"], item.place)
            plane = item.get("plane")
            found = reader.things(pairs, definition("mirror"), "mirror")
            if plane is None:
                reader.problem(item, "mirror", "key 'plane' is missing", "plane: y")
                continue
            axis = reader.text(plane, "mirror.plane", ["x", "y", "z"])
            if not found:
                reader.problem(item, "mirror", "nothing to mirror", "mirror: {l: r, plane: y}")
            elif axis is not BAD:
                part.mirrors.append([thing for thing in found if thing.value is not BAD])
                part.mirror_planes.append(axis)

    # ---- includes ----

    def includes(self, node: Node, reader: Reader) -> None:
        """Draft the included files."""
        several = isinstance(node, Sequence)
        for i, item in enumerate(node.items if isinstance(node, Sequence) else [node]):
            path = f"include[{i}]" if several else "include"
            if not isinstance(item, Map):
                reader.lose_names()
                reader.problem(
                    item, path, "expected a map", "include: [{figure: figures/monkey16.yaml, prefix: monkey}]"
                )
                continue
            block = reader.block(item, definition("include"), path)
            part = self.include(block) if block.get("figure") else None
            if part is None:  # the names that it would bring are not missed
                self.findings.lost.add(reader.scope.full(block.get("prefix", "")) or reader.scope.prefix)

    def include(self, block: Block) -> DraftPart | None:
        """Draft one included file; None if it cannot be had (reported)."""
        outer = block.reader.scope
        prefix = block.get("prefix", "")
        if prefix and (not is_name(prefix) or prefix == "world"):
            block.problem("prefix", f"'{prefix}' cannot be a prefix", "letters, digits, _ and -; the dot is added")
            return None
        first = next((part for part in self.draft.parts if prefix and part.prefix == outer.full(prefix)), None)
        if first is not None:
            block.problem("prefix", f"a second include with the prefix '{prefix}'", "their names would be the same")
            return first
        if len(self.draft.parts) > _MOST_PARTS:
            block.problem("figure", f"more than {_MOST_PARTS} included files in all")
            return None
        found = self.find(block)
        if found is None:
            return None
        path, label, root = found
        scope = self._inner_scope(block, path)
        reader = Reader(scope, self.findings)
        placement = block.get("placement")
        position = placement.get("position", (0.0, 0.0, 0.0)) if placement else (0.0, 0.0, 0.0)
        orientation = orientation_of(placement, "orientation") if placement else IDENTITY
        pose = block.get("pose") or []
        self.draft.parts.append(DraftPart(scope.prefix, label, outer.part, position, orientation, pose, reader))
        overrides = {
            thing.name: Override(thing.value, thing.node, thing.reader, thing.path)
            for thing in block.get("parameters") or []
            if thing.value is not BAD
        }
        if root is None:
            return None
        self.file(root, reader, overrides)
        return self.draft.parts[scope.part]

    def _inner_scope(self, block: Block, path: Path) -> Scope:
        """Return the scope of an included file, without its parameters."""
        outer, place, prefix = block.reader.scope, block.where("figure"), block.get("prefix", "")
        included = f"included at {place.file}:{place.line}"
        return Scope(
            folder=path.parent,
            prefix=outer.full(prefix) if prefix else outer.prefix,
            part=len(self.draft.parts),
            copies=outer.copies,
            included=f"{included}; {outer.context}" if outer.context else included,
            chain=(*outer.chain, path),
            kept=outer.kept,
            home=outer.home,
        )

    def find(self, block: Block) -> tuple[Path, str, Map | None] | None:
        """Return path, label and nodes of an included file; None, reported, if it cannot be had."""
        figure, outer = block.get("figure"), block.reader.scope
        if outer.kept is not None:
            return self._find_kept(block, outer.kept)
        candidates = [
            outer.folder / figure,
            scenes_path() / figure,
            outer.folder / f"{figure}.yaml",
            scenes_path() / f"{figure}.yaml",
        ]
        path = next((candidate for candidate in candidates if is_file(candidate)), None)
        if path is None:
            near = [p.relative_to(base).as_posix() for base in (outer.folder, scenes_path()) for p in _yaml_files(base)]
            what = f"there is no file '{figure}' in {_shown_folder(outer.folder)}"
            block.problem("figure", what, nearest(figure, near))
            return None
        resolved = path.resolve()
        if self._goes_round(block, resolved):
            return None
        if resolved not in self.texts:
            label = self._label(block.where("figure").file, figure, path)
            self.texts[resolved] = (label, self._nodes(block, path, label))
        label, root = self.texts[resolved]
        return resolved, label, root

    def _goes_round(self, block: Block, path: Path) -> bool:
        """Return whether files include one another without end, or too deeply; report it."""
        chain = block.reader.scope.chain
        if len(chain) > _DEEPEST:
            block.problem("figure", f"more than {_DEEPEST} files include one another")
            return True
        if path in chain:
            names = [p.name for p in (*chain[chain.index(path) :], path)]
            block.problem("figure", f"files include one another in a circle: {' -> '.join(names)}")
            return True
        return False

    def _find_kept(self, block: Block, kept: Kept) -> tuple[Path, str, Map | None] | None:
        """Return the same as `find` of a text that is kept."""
        figure = block.get("figure")
        label = kept.find(block.where("figure").file, figure)
        if label is None:
            block.problem("figure", f"'{figure}' is not among the files that were kept with the scene")
            return None
        path = Path(label)
        if self._goes_round(block, path):
            return None
        if path not in self.texts:
            self.findings.open(label, kept.text(label))
            self.texts[path] = (label, nodes.compose(kept.text(label), label, self.findings))
        return path, label, self.texts[path][1]

    def _nodes(self, block: Block, path: Path, label: str) -> Map | None:
        """Return the nodes of an included file; None, reported, if it cannot be read."""
        foreign, place, where = block.reader.scope.is_foreign(path), block.where("figure"), f"{block.path}.figure"
        if foreign and not _is_scene(path, label):
            what = f"'{block.get('figure')}' lies outside the scene's folder, and is no scene"
            block.problem("figure", what, "nothing of it is shown; a scene is YAML with the key 'schema'")
            return None
        text = read_text(path, label, self.findings, place, where)
        if text is None:
            return None
        self.findings.open(label, text, quoted=not foreign)
        return nodes.compose(text, label, self.findings)

    def _label(self, outer: str, figure: str, path: Path) -> str:
        """Return the name of an included file in messages: as the scene's own file was named."""
        beside = os.path.normpath(os.path.join(os.path.dirname(outer), figure))
        return beside if os.path.exists(beside) and os.path.samefile(beside, path) else str(path)


def _is_scene(path: Path, label: str) -> bool:
    """Return whether a file can be read as a scene, whatever is wrong in it."""
    unsaid = Findings()
    text = read_text(path, label, unsaid, None, "")
    if text is None:
        return False
    unsaid.open(label, text)
    root = nodes.compose(text, label, unsaid)
    return root is not None and isinstance(root.get("schema"), Scalar)


def _path(section: str, reader: Reader) -> str:
    return f"{section}.{reader.scope.prefix}" if reader.scope.prefix else section


def _shown_folder(folder: Path) -> str:
    name = "this folder" if str(folder) in ("", ".") else f"'{folder}'"
    return f"{name} or among the shipped scenes"


def _yaml_files(folder: Path) -> list[Path]:
    """Return the scene files in a folder and the folders in it, to find the nearest name among."""
    try:
        return sorted([*folder.glob("*.yaml"), *folder.glob("*/*.yaml")])[:500]
    except OSError:
        return []


def read_text(path: Path, label: str, findings: Findings, place: Place | None, where: str) -> str | None:
    """Return the text of a file; None, reported at `place`, if it cannot be read."""
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MOST_BYTES else b""
    except OSError as error:
        findings.add(place, where, f"cannot read '{label}': {error.strerror or error}")
        return None
    if size > MOST_BYTES:
        most = f"{MOST_BYTES / 1e6:g} MB are the most"
        findings.add(
            place, where, f"'{label}' has {size / 1e6:.3g} MB; {most}", "say a thing once: use repeat or include"
        )
        return None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        findings.add(Place(label, 1, 1), "", "the file is in UTF-16", "save it as UTF-8")
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        byte = data[error.start]
        findings.open(label, data.decode("utf-8", "replace"))
        findings.add(Place(label, line, column), "", f"byte 0x{byte:02x} is not UTF-8", "save the file as UTF-8")
        return None
