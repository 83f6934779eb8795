"""Mechanisms that are hard on purpose, with what the oracle has to know of them.

Origins are off the joints, centres of mass off both, axes at random angles; parents move, and so do both sides of a
loop; joints have springs, dampers, armatures and torques, coordinates are beyond one turn where they may be, and soft
stops are pressed, one freedom from above, the next from below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tests.support import reference as ref
from tests.support.mechanisms import LOOP_KINDS, Mechanism, hang, random_link, with_consistent_rates, with_coordinates
from tests.support.scene_texts import number, scene_text

STIFF, GRIP, DEPTH = 60.0, 0.3, 0.1  # of soft stops, N m/rad or N/m, s/rad or s/m, rad or m
SLIDES = {"translational": (0,), "cylindrical": (0,), "planar": (0, 1)}  # which freedoms are
CASES = [(kind, place) for place in ("tree", "loop") for kind in LOOP_KINDS]


@dataclass(frozen=True, kw_only=True)
class Stop:
    """A soft stop of one freedom of a joint, or, of a spherical one (freedom -1), of its angle."""

    freedom: int
    side: int
    bound: float

    def depth(self, coordinate: np.ndarray) -> float:
        value = np.linalg.norm(coordinate) if self.freedom < 0 else coordinate[self.freedom]
        return float(self.side * (value - self.bound))

    def torque(self, coordinate: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return what it gives of the joint's torque (freedoms,), by Hunt and Crossley's law."""
        way = np.eye(len(rate))[self.freedom] if self.freedom >= 0 else coordinate / np.linalg.norm(coordinate)
        depth = max(self.depth(coordinate), 0.0)
        push = STIFF * depth * max(1.0 + GRIP * self.side * float(way @ rate), 0.0)
        return -self.side * push * way


@dataclass(frozen=True, kw_only=True)
class Hard:
    """A mechanism at its start, with stops (by joint) and torques (by joint) that act from there."""

    mechanism: Mechanism
    stops: Mapping[str, Sequence[Stop]]
    torques: Mapping[str, np.ndarray]

    def text(self, simulate: str = "{duration: 1 s}", events: str = "") -> str:
        """Return the scene."""
        lines = ["controllers:", "  drives:", "    type: torque", "    torques:"]
        for name, torque in self.torques.items():
            values = ", ".join(f'"{number(value)}"' for value in torque)
            lines.append(f"      {name}: {values if len(torque) == 1 else f'[{values}]'}")
        extra = "\n".join([*(lines if self.torques else []), *([f"events: {events}"] if events else [])])
        limits = {name: _limits(self.kind(name), stops) for name, stops in self.stops.items()}
        return scene_text(self.mechanism, simulate=simulate, extra=extra, limits=limits)

    def kind(self, name: str) -> str:
        return self.mechanism.links[self.mechanism.joints.index(name)].kind

    def coordinate(self, name: str, link: ref.Link) -> np.ndarray:
        """Return the coordinates of a joint now: of the link, in the turn that was written."""
        now, written = ref.coordinates(link), self.mechanism.coordinates.get(name)
        if link.kind == "free":  # from the world: it tells the place itself, not the way from the drawing
            now[:3] = link.p_b
        if written is None or link.kind in ("spherical", "free"):
            return now
        turns = [k for k in range(len(now)) if k not in SLIDES.get(link.kind, ())]
        now[turns] += 2 * np.pi * np.round((written - now)[turns] / (2 * np.pi))
        return now

    def acting(self, bodies: Sequence[ref.Body], links: Sequence[ref.Link]) -> list[ref.Link]:
        """Return the links with drives that give what stops and torques do, too, and know whole turns."""
        out = []
        for name, link in zip(self.mechanism.joints, links, strict=True):
            q, rate = self.coordinate(name, link), ref.rates(link, bodies)
            torque = sum(
                (s.torque(q, rate) for s in self.stops.get(name, ())), self.torques.get(name, np.zeros(len(q)))
            )
            d = link.drive or ref.drive(link.kind)
            rest = d.rest if link.kind == "free" else d.rest - (q - ref.coordinates(link))
            out.append(replace(link, drive=replace(d, torque=torque, rest=rest)) if len(q) else link)
        return out

    def without(self, name: str) -> Hard:
        """Return the same with a joint cut; the tree is another one then."""
        m = self.mechanism
        kept = [k for k, joint in enumerate(m.joints) if joint != name]
        joints, links = tuple(m.joints[k] for k in kept), tuple(m.links[k] for k in kept)
        origins = m.places
        return replace(self, mechanism=replace(m, joints=joints, links=links, origins=origins))

    def pressed(self, links: Sequence[ref.Link]) -> float:
        """Return the energy that the stops hold [J]."""
        depths = [
            stop.depth(self.coordinate(name, link))
            for name, link in zip(self.mechanism.joints, links, strict=True)
            for stop in self.stops.get(name, ())
        ]
        return sum(0.5 * STIFF * max(depth, 0.0) ** 2 for depth in depths)


def _limits(kind: str, stops: Sequence[Stop]) -> str:
    ends = np.tile([-np.inf, np.inf], (max(1, 1 if kind == "spherical" else ref.FREEDOMS[kind]), 1))
    for stop in stops:
        ends[max(stop.freedom, 0), (stop.side + 1) // 2] = stop.bound
    if kind == "spherical":
        ends[0, 0] = 0.0
    pairs = ["[" + ", ".join(str(float(e)) if np.isinf(e) else number(e) for e in pair) + "]" for pair in ends]
    ranges = pairs[0] if len(pairs) == 1 else f"[{', '.join(pairs)}]"
    return f"{{range: {ranges}, stiffness: {STIFF}, dissipation: {GRIP}}}"


def hard(kind: str, place: str, seed: int = 0) -> Hard:
    """Return a mechanism with a joint of this kind in the tree, or between two moving bodies where it closes a loop."""
    rng = np.random.default_rng([seed, LOOP_KINDS.index(kind), place == "loop"])
    if place == "tree":
        places = [(-1, "spherical"), (0, kind), (1, "universal"), (0, "rotational"), (-1, "free")]
        mechanism = with_coordinates(rng, hang(rng, places, driven=True))
        mechanism = replace(mechanism, coordinates={n: _turned(rng, mechanism, n) for n in mechanism.coordinates})
    else:
        chain = hang(rng, [(-1, "universal"), (0, "spherical"), (1, "cylindrical"), (2, "universal")], driven=True)
        loop = random_link(rng, kind, 0, 3, chain.bodies[3].com_W + rng.normal(0, 0.2, 3), driven=True)
        mechanism = replace(chain, links=(*chain.links, loop), joints=(*chain.joints, "loop0"))
        mechanism = with_consistent_rates(rng, mechanism)
    origins = [
        link.p_b + (0.0 if link.kind == "free" else rng.normal(0, 0.3, 3)) for link in mechanism.links[: mechanism.tree]
    ]
    mechanism = replace(mechanism, origins=tuple(origins))
    torques = {
        name: rng.normal(0, 3, ref.FREEDOMS[link.kind])
        for name, link in zip(mechanism.joints, mechanism.links, strict=True)
        if link.drive is not None and ref.FREEDOMS[link.kind]
    }
    return Hard(mechanism=mechanism, stops=_pressed_stops(rng, mechanism), torques=torques)


def _turned(rng: np.random.Generator, mechanism: Mechanism, name: str) -> np.ndarray:
    """Return the written coordinates of a joint with its turns beyond one, either way."""
    kind, q = mechanism.links[mechanism.joints.index(name)].kind, mechanism.coordinates[name].copy()
    if kind in ("spherical", "free"):
        return q
    for k in set(range(len(q))) - set(SLIDES.get(kind, ())):
        q[k] += rng.choice([-2, -1, 1, 2]) * 2 * np.pi
    return q


def _pressed_stops(rng: np.random.Generator, mechanism: Mechanism) -> dict[str, list[Stop]]:
    """Return stops of joints that are pressed now; of a joint with slides and turns either those or these have them."""
    out: dict[str, list[Stop]] = {}
    side = 1
    for name, link in zip(mechanism.joints, mechanism.links, strict=True):
        slides = SLIDES.get(link.kind, ())
        turns = [k for k in range(ref.FREEDOMS[link.kind]) if k not in slides]
        q = mechanism.coordinates.get(name, np.zeros(ref.FREEDOMS[link.kind]))
        if link.kind in ("free", "fixed"):
            continue
        if link.kind == "spherical":
            if name in mechanism.coordinates:
                angle = 2 * np.arctan2(np.linalg.norm(q[1:]), abs(q[0]))
                out[name] = [Stop(freedom=-1, side=1, bound=float(angle - DEPTH))]
            continue
        for k in list(slides) if slides and (not turns or rng.random() < 0.5) else turns:
            out.setdefault(name, []).append(Stop(freedom=k, side=side, bound=float(q[k] - side * DEPTH)))
            side = -side
    return out
