"""Which trees may fall asleep in time steps, and where their freedoms are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sim.kernels.scratch import REST
from sim.kernels.tables import DRAG, SPRING, TORSION, WRENCH, Tables, table


def rest_of(tables: Tables, laws: np.ndarray) -> Any:
    """Return the table of rest of all links, awake.

    laws : (meetings, 8), of contacts
    """
    links = tables.links
    out = table(REST, len(links))
    for b in range(1, len(links)):
        out.root[b] = out.root[links.parent[b]] or b
    out.first[:], out.end[:], out.island[:] = links.v, links.v + links.nv, np.arange(len(links))
    awake = set(range(len(links))) if _all_acted(tables) else set(_acted(tables, laws))
    for b in awake:
        out.wakeful[out.root[b]] = 1
    return out


def _all_acted(tables: Tables) -> bool:
    """Tell whether something may act on any of them: laws of controllers, formulas of forces, loops."""
    return bool(len(tables.rows) or len(tables.laws) or len(tables.late))


def _acted(tables: Tables, laws: np.ndarray) -> Iterator[int]:
    """Yield links on which a formula or a force between points acts, or friction against turning."""
    links, forces = tables.links, tables.forces
    link_of = {int(body): b for b, body in enumerate(links.body) if b}
    columns = {int(column) for column in tables.applied[:, 1]}
    for force in forces:
        if force["kind"] == TORSION:
            columns |= set(range(int(force["column"]), int(force["column"] + force["turns"])))
        elif force["kind"] in (SPRING, DRAG, WRENCH):
            ends = {int(force["a"]), int(force["b"])} if force["kind"] != DRAG else {int(force["a"])}
            yield from (link_of.get(int(tables.points.body[p]), 0) for p in ends if p >= 0)
    for b in range(1, len(links)):
        if columns & set(range(int(links.column[b]), int(links.column[b] + links.nv[b]))):
            yield b
    for m in np.flatnonzero((laws[:, 6:] > 0.0).any(axis=1)):
        yield from (int(tables.shapes.link[tables.meetings[side][m]]) for side in ("a", "b"))
