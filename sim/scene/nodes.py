"""YAML text as nodes that know where they stand; what the text means is decided by the reader.

YAML's own rules for plain words would turn ``on`` into true, ``1:30`` into 90 and ``1e-3`` into
text, so scalars stay text here, and anchors, aliases, tags and merges are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from sim.scene.findings import Findings
from sim.scene.problem import Place

_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Deeper than any scene; keeps a hostile file from exhausting Python's stack.
_DEEPEST = 60


@dataclass(slots=True)
class Scalar:
    """A word, number or sentence as written, quotes removed."""

    text: str
    quoted: bool
    place: Place


@dataclass(slots=True)
class Sequence:
    """A list."""

    items: list[Node]
    place: Place


@dataclass(slots=True)
class Map:
    """Keys and values in file order; each key once."""

    entries: list[tuple[Scalar, Node]]
    place: Place

    def get(self, name: str) -> Node | None:
        """Return the value under a key, or None."""
        return next((value for key, value in self.entries if key.text == name), None)

    def key(self, name: str) -> Scalar | None:
        """Return the node of a key, or None."""
        return next((key for key, _ in self.entries if key.text == name), None)


Node = Scalar | Sequence | Map


def is_empty(node: Node) -> bool:
    """Return whether nothing was written where a value should stand."""
    return isinstance(node, Scalar) and not node.quoted and node.text in ("", "~", "null")


class _Refused(Exception):
    """A construct of YAML that the scene language does not have; it is already reported."""


class _Composer:
    """Builds nodes from the parser's events."""

    def __init__(self, text: str, file: str, findings: Findings):
        self.file = file
        self.findings = findings
        self.events: Iterator[yaml.Event] = yaml.parse(text, Loader=_Loader)
        self.depth = 0

    def place(self, event: yaml.Event) -> Place:
        start, end = event.start_mark, event.end_mark
        if start is None or end is None:  # no parser leaves them out
            return Place(self.file, 1, 1)
        length = end.column - start.column if end.line == start.line else 1
        return Place(self.file, start.line + 1, start.column + 1, max(1, length))

    def report(self, place: Place, what: str, hint: str = "") -> None:
        self.findings.add(place, "", what, hint)

    def document(self) -> Node | None:
        root: Node | None = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    self.report(self.place(event), "a second document begins here", "a scene is one document: one file")
                    raise _Refused
                root = self.node(next(self.events))
        return root

    def node(self, event: yaml.Event) -> Node:
        self.refuse_references(event)
        place = self.place(event)
        if isinstance(event, yaml.ScalarEvent):
            return Scalar(event.value, event.style not in (None, ""), place)
        self.depth += 1
        if self.depth > _DEEPEST:
            self.report(place, f"more than {_DEEPEST} levels inside one another")
            raise _Refused
        inner = self.sequence(place) if isinstance(event, yaml.SequenceStartEvent) else self.map(place)
        self.depth -= 1
        return inner

    def refuse_references(self, event: yaml.Event) -> None:
        place = self.place(event)
        if isinstance(event, yaml.AliasEvent):
            self.report(
                place,
                f"a leading '*' makes an alias of YAML out of '*{event.anchor}'",
                f"quote a pattern: '*{event.anchor}'; to say a thing once, use parameters, repeat or include",
            )
            raise _Refused
        anchor = getattr(event, "anchor", None)
        if anchor:
            self.report(
                place,
                f"a leading '&' makes an anchor of YAML out of '&{anchor}'",
                "to say a thing once, use parameters, repeat or include",
            )
            raise _Refused
        tag = getattr(event, "tag", None)
        if tag is not None and tag != "!":
            self.report(
                place, f"a leading '!' makes a tag of YAML out of '{tag}'", "quote the text, or leave the tag out"
            )
            raise _Refused

    def sequence(self, place: Place) -> Sequence:
        items = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.node(event))
        return Sequence(items, place)

    def map(self, place: Place) -> Map:
        entries: list[tuple[Scalar, Node]] = []
        first: dict[str, Place] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.node(event)
            value = self.node(next(self.events))
            if not isinstance(key, Scalar):
                self.report(key.place, "a key must be one word or sentence, not a list or map", _flow_hint(self, key))
            elif key.text == "<<" and not key.quoted:
                self.report(
                    key.place, "'<<' (a merge of YAML) is not part of the scene language", "use repeat or include"
                )
            elif key.text in first:
                self.report(
                    key.place,
                    f"key '{key.text}' is given twice, first in line {first[key.text].line}",
                    "YAML would silently keep the last one; rename or remove one of them",
                )
            else:
                first[key.text] = key.place
                entries.append((key, value))
        return Map(entries, place)


def _flow_hint(composer: _Composer, key: Node) -> str:
    line = composer.findings.line(key.place)
    return 'quote names with ${...} inside { }: "leg_${s}"' if "${" in line else ""


def _syntax_problem(error: yaml.YAMLError, file: str, findings: Findings) -> None:
    """Report what the YAML parser could not read, in the words of the likely mistake."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # characters that no YAML file may hold
        text = findings.sources[file]
        at = next(i for i, c in enumerate(text) if not (c.isprintable() or c in "\n\r\t\x85\ufeff"))
        place = Place(file, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
        findings.add(place, "", f"character U+{ord(text[at]):04X}, which YAML does not allow")
        return
    place = Place(file, mark.line + 1, mark.column + 1)
    line = findings.line(place)
    said = " ".join(str(part) for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part)
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent or "'\\t'" in said or line[place.column - 1 : place.column] == "\t":
        what, hint = "a tab stands where YAML allows spaces only", "indent with spaces"
    elif "mapping values are not allowed" in said:
        what = "a second ':' in this line makes a map inside a value"
        hint = "quote a text that holds ': ', or put the inner map on lines of its own, or inside { }"
    elif "alias" in said:
        what, hint = "a leading '*' makes an alias of YAML", "quote the pattern: '*.knee_l'"
    elif "anchor" in said:
        what, hint = "a leading '&' makes an anchor of YAML", "quote the text"
    elif "${" in line and "flow" in said:
        what, hint = "YAML cannot read ${...} inside { } or [ ]", 'quote the name: "leg_${s}"'
    elif "flow" in said and getattr(error, "context_mark", None) is not None:
        opened = error.context_mark  # type: ignore[attr-defined]
        bracket = "{" if "mapping" in said else "["
        what = f"the '{bracket}' in line {opened.line + 1}, column {opened.column + 1} is not closed before this"
        hint = "or a ',' is missing"
    else:
        what, hint = f"YAML cannot read this: {said}", ""
    findings.add(place, "", what, hint)


def compose(text: str, file: str, findings: Findings) -> Map | None:
    """Read YAML text into a map of nodes.

    Parameters
    ----------
    text : str
        The whole file.
    file : str
        Name of the file, for places.
    findings : Findings
        Knows the text already; takes what cannot be read.

    Returns
    -------
    Map or None
        None when the text cannot be read; the reason is among the findings.
    """
    try:
        root = _Composer(text, file, findings).document()
    except yaml.YAMLError as error:
        _syntax_problem(error, file, findings)
        return None
    except _Refused:
        return None
    if root is None or is_empty(root):
        findings.add(Place(file, 1, 1), "", "the file is empty", "a scene begins with 'schema: 1'")
        return None
    if not isinstance(root, Map):
        findings.add(
            root.place, "", "expected keys and values at the top, such as 'bodies:'", "a scene begins with 'schema: 1'"
        )
        return None
    return root
