"""Which datasets a recording has, of which kind and shape; see docs/recording.md."""

from __future__ import annotations

from dataclasses import dataclass

from sim.recording.format import fields_of

# Counts, each by the first dataset that has it: bodies, points, shapes, joints, columns, forces, pairs that may touch,
# contacts, events, impulses, impulses of contacts, bindings, vertices, triangles, files, rows that there is room for.
Size = str | int


@dataclass(frozen=True)
class Content:
    """A dataset: its kind and shape, and whether older recordings lack it.

    kind : `f` numbers, `i` whole numbers, `S` text of fixed length, `u` bytes
    """

    kind: str
    shape: tuple[Size, ...] = ()
    newer: bool = False
    fields: tuple[str, ...] = ()  # of a table of texts

    def __str__(self) -> str:
        words = {"f": "numbers of 8 bytes", "i": "whole numbers", "S": "texts of fixed length", "u": "bytes"}
        what = words[self.kind]
        if self.fields:
            what = f"a table of the texts {', '.join(self.fields)}"
        return f"{what}, shape {shown(self.shape)}"


def shown(shape: tuple[Size, ...]) -> str:
    """Return a shape as docs/recording.md writes it."""
    return f"({','.join(map(str, shape))}{',' * (len(shape) == 1)})"


def _of(group: str, **contents: Content) -> dict[str, Content]:
    return {f"{group}/{name}": content for name, content in contents.items()}


def _text(*shape: Size) -> Content:
    return Content("S", shape)


def _real(*shape: Size) -> Content:
    return Content("f", shape)


def _whole(*shape: Size) -> Content:
    return Content("i", shape)


def _bytes(*shape: Size) -> Content:
    return Content("u", shape)


# What every recording has.  A group of the others is there as a whole, or not at all.
NEEDED: dict[str, Content] = {
    "rows": _whole(), "complete": _whole(),
    **_of("scene", text=_text(), file=_text(), settings=_text(), render=_text()),
    **_of("bodies", name=_text("b"), mass=_real("b"), com=_real("b", 3), inertia=_real("b", 6)),
    **_of("shapes", kind=_text("s"), body=_whole("s"), position=_real("s", 3), quat_wxyz=_real("s", 4),
          size=_real("s", 3), color=_real("s", 4)),
    **_of("joints", name=_text("j"), type=_text("j"), parent=_text("j"), child=_text("j"),
          columns=Content("S", ("c",), fields=("name", "joint", "unit", "rate_unit", "torque_unit"))),
}  # fmt: skip
GROUPS: dict[str, dict[str, Content]] = {
    "points": _of("points", name=_text("p"), body=_whole("p"), position=_real("p", 3)),
    "meshes": _of("shapes", vertex_shape=_whole("v"), vertices=_real("v", 3), triangle_shape=_whole("t"),
                  triangles=_whole("t", 3)),
    "forces": _of("forces", name=_text("f"), type=_text("f"), body=_whole("f", 2), point=_real("f", 2, 3)),
    "contacts": {
        **_of("contacts/pairs", a=_text("q"), b=_text("q"), shapes=_whole("q", 2)),
        **_of("contacts", row=_whole("k"), pair=_whole("k"), key=_whole("k", 2), mode=_whole("k"),
              iterations=Content("i", ("k",), newer=True), determinate=Content("i", ("k",), newer=True),
              point=_real("k", 3), normal=_real("k", 3),
              force=_real("k", 3), moment=Content("f", ("k", 3), newer=True)),
    },
    "events": _of("events", time=_real("e"), name=_text("e"), kind=_text("e"), caption=_text("e"), text=_text("e"),
                  row_before=_whole("e"), row_after=_whole("e"), energy_lost=_real("e"), impulse=_real("e")),
    "impulses": _of("impulses", event=_whole("i"), joint=_whole("i"), wrench=_real("i", 6)),
    "contact impulses": _of(
        "contacts/impulses", event=_whole("m"), pair=_whole("m"), key=_whole("m", 2), point=_real("m", 3),
        normal=_real("m", 3), impulse=_real("m", 3),
    ),
    "bindings": _of("bindings", joint=_whole("w"), time=_real("w"), row=_whole("w"), parent_position=_real("w", 3),
                    parent_quat_wxyz=_real("w", 4), child_position=_real("w", 3), child_quat_wxyz=_real("w", 4),
                    offset=_real("w")),
    "begun": _of("state/begun", text=_bytes("text begun"), numbers=_bytes("numbers begun")),
}  # fmt: skip
# Of the last state: of the place that is written first, and of the other, which finished recordings lack.
LATEST = _whole()
STATES = tuple(
    _of(
        f"state/{k}",
        counts=_whole(6),
        size=_whole(2),
        digest=_bytes(32),
        text=_bytes(f"text {k}"),
        numbers=_bytes(f"numbers {k}"),
    )
    for k in (0, 1)
)
SOURCES = Content("S", ("h",), fields=("file", "text"))
# Datasets of rows that older recordings lack.
NEWER = ("joints/stop_torque", "joints/friction_torque", "trust/rows", "trust/components", "trust/own_components")


def of_rows() -> dict[str, Content]:
    """Return the datasets that have a value in every row."""
    return {
        name: Content(field.dtype.kind, ("n", *field.tail), newer=name in NEWER or name.startswith("forces/"))
        for name, field in fields_of("b", "j", "c", "f").items()
    }


def of_epoch(k: int) -> dict[str, Content]:
    """Return the datasets of an epoch."""
    return _of(f"epochs/{k}", rows=_whole(2), q=_real("r", f"q{k}"), v=_real("r", f"v{k}"))
