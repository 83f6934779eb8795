"""Random mechanisms as objects of `tests.support.reference`.

Every mechanism is drawn in world axes with all joint coordinates zero, so any further joint
closes a loop exactly.  `tests.support.scene_texts` writes it in the language of scenes with 17 digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from hypothesis import strategies as st

from tests.support import reference as ref
from tests.support.rotations import random_matrix, random_quat

KINDS = ("fixed", "rotational", "translational", "cylindrical", "universal", "planar", "spherical", "free")
LOOP_KINDS = KINDS[:-1]

# Mechanisms nearer to a singular pose than this are drawn again: comparisons to 1e-9 need it.
SMALLEST_SINGULAR_VALUE = 1e-3


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """A mechanism in its drawing.

    names: of the bodies; joints: of the links, the first `tree` of them, link i holding body i,
    form a tree; bodies: in the drawing, with the speeds of the start; rates: by joint, as
    `initial` of the scene gives them; coordinates: by joint likewise (trees alone; the
    bodies stay those of the drawing); origins: of the bodies, m, in the drawing; their joints where there are none.
    """

    names: tuple[str, ...]
    bodies: tuple[ref.Body, ...]
    joints: tuple[str, ...]
    links: tuple[ref.Link, ...]
    tree: int
    gravity: np.ndarray
    rates: Mapping[str, np.ndarray] = field(default_factory=dict)
    coordinates: Mapping[str, np.ndarray] = field(default_factory=dict)
    origins: tuple[np.ndarray, ...] = ()

    @property
    def places(self) -> tuple[np.ndarray, ...]:
        """What recordings refer to as the origins of the bodies (m, in the drawing)."""
        return self.origins or tuple(link.p_b for link in self.links[: self.tree])

    @property
    def loops(self) -> int:
        return len(self.links) - self.tree

    @property
    def mobility(self) -> int:
        return 6 * len(self.bodies) - ref.constraint_rank(self.bodies, self.links)[0]


def random_inertia(rng: np.random.Generator, mass: float) -> np.ndarray:
    """Return (3, 3) kg m^2 of a body that can exist: its second moments of mass are positive."""
    second = mass * rng.uniform(0.05, 0.4, 3) ** 2
    R = random_matrix(rng)
    inertia = R @ np.diag(second.sum() - second) @ R.T
    return (inertia + inertia.T) / 2


def random_axes(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return two perpendicular unit vectors."""
    R = random_matrix(rng)
    return R[:, 0], R[:, 1]


def random_link(
    rng: np.random.Generator, kind: str, a: int, b: int, point: np.ndarray, driven: bool = False
) -> ref.Link:
    """Return a link with random axes; with springs, dampers, armature and torque when `driven`."""
    count = ref.FREEDOMS[kind]
    drive = None
    if driven and kind not in ("fixed", "free", "spherical"):
        drive = ref.drive(
            kind, stiffness=rng.uniform(0, 20, count), rest=rng.uniform(-0.3, 0.3, count),
            damping=rng.uniform(0, 2, count), armature=rng.uniform(0, 0.2, count),
        )  # fmt: skip
    pitch = float(rng.choice([-1, 1]) * rng.uniform(0.02, 0.3)) if kind == "helical" else 0.0
    return ref.draw_link(kind, a, b, point, *random_axes(rng), drive=drive, pitch=pitch)


def hang(
    rng: np.random.Generator, places: Sequence[tuple[int, str]], mass_ratio: float = 10.0, driven: bool = False
) -> Mechanism:
    """Return random bodies at rest, body i hung as `places[i]` says: on which body (-1: the world), by which kind.

    Masses spread over `mass_ratio`, the largest near 1 kg.
    """
    bodies: list[ref.Body] = []
    links: list[ref.Link] = []
    for i, (a, kind) in enumerate(places):
        centre = np.zeros(3) if a < 0 else bodies[a].com_W
        point = centre + rng.normal(0, 0.4, 3)
        mass = float(mass_ratio ** -rng.random())
        com = point + rng.uniform(0.2, 0.6) * random_axes(rng)[0]
        bodies.append(ref.Body(mass=mass, com_W=com, inertia_W=random_inertia(rng, mass)))
        links.append(random_link(rng, kind, a, i, point, driven))
    return Mechanism(
        names=tuple(f"b{i}" for i in range(len(places))), joints=tuple(f"j{i}" for i in range(len(places))),
        bodies=tuple(bodies), links=tuple(links), tree=len(places), gravity=rng.normal(0, 6, 3),
    )  # fmt: skip


def random_tree(
    rng: np.random.Generator, count: int, kinds: Sequence[str] = KINDS, mass_ratio: float = 10.0, driven: bool = False
) -> Mechanism:
    """Return `count` bodies at rest, hung on each other or on the world by joints of these kinds.

    A free joint always starts at the world.
    """
    places: list[tuple[int, str]] = []
    for i in range(count):
        kind = str(rng.choice(kinds))
        alone = i == 0 or kind == "free" or rng.random() < 0.1
        places.append((-1 if alone else int(rng.integers(max(0, i - 4), i)), kind))
    return hang(rng, places, mass_ratio, driven)


def _well_posed(bodies: Sequence[ref.Body], links: Sequence[ref.Link]) -> bool:
    """Tell whether some freedom is left and no singular value lies between zero and a decent one."""
    rank, smallest = ref.constraint_rank(bodies, links)
    return 6 * len(bodies) - rank >= 1 and smallest > SMALLEST_SINGULAR_VALUE


def add_loop(
    rng: np.random.Generator, mechanism: Mechanism, kinds: Sequence[str] = LOOP_KINDS, driven: bool = False
) -> Mechanism | None:
    """Return the mechanism with one more joint that closes a loop, or None where none was found."""
    count = len(mechanism.bodies)
    for _ in range(20):
        b = int(rng.integers(count))
        a = int(rng.choice([i for i in range(-1, count) if i != b]))
        point = mechanism.bodies[b].com_W + rng.normal(0, 0.3, 3)
        links = (*mechanism.links, random_link(rng, str(rng.choice(kinds)), a, b, point, driven))
        if _well_posed(mechanism.bodies, links):
            name = f"loop{mechanism.loops}"
            return replace(mechanism, links=links, joints=(*mechanism.joints, name))
    return None


def random_mechanism(
    rng: np.random.Generator, count: int, loops: int = 0, kinds: Sequence[str] = KINDS, mass_ratio: float = 10.0,
    driven: bool = False,
) -> Mechanism:  # fmt: skip
    """Return a random tree with this many loops, at least one freedom left, not near a singular pose."""
    for _ in range(500):
        mechanism: Mechanism | None = random_tree(rng, count, kinds, mass_ratio, driven)
        for _ in range(loops):
            mechanism = add_loop(rng, mechanism, driven=driven) if mechanism else None
        if mechanism and _well_posed(mechanism.bodies, mechanism.links):
            return mechanism
    raise ValueError(f"no mechanism of {count} bodies with {loops} loops found")


def four_bar(rng: np.random.Generator, turned: bool = True) -> Mechanism:
    """Return a planar four-bar of three bodies and four parallel hinges: one freedom, three redundant rows."""
    corners = np.array([[0, 0, 0], [0.1, 1.0, 0], [1.9, 1.4, 0], [2.0, 0, 0]]) + rng.uniform(-0.1, 0.1, (4, 3))
    corners[:, 2] = rng.uniform(-0.3, 0.3, 4)
    bodies, links = [], []
    for i in range(3):
        mass = float(rng.uniform(0.5, 2))
        centre = (corners[i] + corners[i + 1]) / 2 + rng.uniform(-0.1, 0.1, 3)
        bodies.append(ref.Body(mass=mass, com_W=centre, inertia_W=random_inertia(rng, mass)))
        links.append(ref.draw_link("rotational", i - 1, i, corners[i], (0, 0, 1)))
    links.append(ref.draw_link("rotational", -1, 2, corners[3], (0, 0, 1)))
    flat = Mechanism(
        names=("crank", "coupler", "rocker"), joints=("j0", "j1", "j2", "loop0"), bodies=tuple(bodies),
        links=tuple(links), tree=3, gravity=np.array([0.3, -9.81, 0.2]),
    )  # fmt: skip
    return moved(flat, random_matrix(rng), rng.normal(0, 1, 3)) if turned else flat


def doubled(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with its last loop joint given twice: all rows of the copy are redundant."""
    if not mechanism.loops:
        raise ValueError("a mechanism without a loop has no loop joint to give twice")
    copy = replace(mechanism.links[-1], drive=None)
    return replace(mechanism, links=(*mechanism.links, copy), joints=(*mechanism.joints, "twin"))


def moved(mechanism: Mechanism, R: np.ndarray, shift: np.ndarray) -> Mechanism:
    """Return the whole scene, gravity too, turned by R about the world's origin, then shifted (m)."""
    bodies = [
        replace(
            b, com_W=R @ b.com_W + shift, inertia_W=R @ b.inertia_W @ R.T, v_com_W=R @ b.v_com_W, w_W=R @ b.w_W
        )
        for b in mechanism.bodies
    ]  # fmt: skip
    links = []
    for link in mechanism.links:
        # Spherical, free and fixed links keep the world's axes as their frame, as a scene has it.
        keep = link.kind in ("spherical", "free", "fixed")
        links.append(
            replace(
                link, p_a=R @ link.p_a + shift, p_b=R @ link.p_b + shift,
                axes_a=link.axes_a if keep else R @ link.axes_a, axes_b=link.axes_b if keep else R @ link.axes_b,
            )
        )  # fmt: skip
    kinds = {name: link.kind for name, link in zip(mechanism.joints, mechanism.links, strict=True)}
    return replace(
        mechanism, bodies=tuple(bodies), links=tuple(links), gravity=R @ mechanism.gravity,
        coordinates={n: _moved_coordinate(kinds[n], q, R, shift) for n, q in mechanism.coordinates.items()},
        rates={n: _moved_rate(kinds[n], v, R) for n, v in mechanism.rates.items()},
        origins=tuple(R @ p + shift for p in mechanism.origins),
    )  # fmt: skip


def _moved_coordinate(kind: str, q: np.ndarray, R: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return the coordinate after the scene was turned and shifted: only frames with world axes feel it."""
    if kind not in ("spherical", "free"):
        return q
    quat = np.concatenate([q[-4:-3], R @ q[-3:]])
    return quat if kind == "spherical" else np.concatenate([R @ q[:3] + shift, quat])


def _moved_rate(kind: str, v: np.ndarray, R: np.ndarray) -> np.ndarray:
    return (v.reshape(-1, 3) @ R.T).ravel() if kind in ("spherical", "free") else v


def tree_rates(mechanism: Mechanism) -> dict[str, np.ndarray]:
    """Return the rates of all tree joints that the speeds of the bodies amount to."""
    pairs = list(zip(mechanism.joints, mechanism.links, strict=True))[: mechanism.tree]
    return {name: ref.rates(link, mechanism.bodies) for name, link in pairs if ref.FREEDOMS[link.kind]}


def with_consistent_rates(rng: np.random.Generator, mechanism: Mechanism, size: float = 1.0) -> Mechanism:
    """Return the mechanism moving: random speeds, brought onto all links; `rates` names every tree joint."""
    count = len(mechanism.bodies)
    wild = ref.with_speeds(mechanism.bodies, rng.normal(0, size, (count, 3)), rng.normal(0, size, (count, 3)))
    v, w, _, _ = ref.jump(wild, mechanism.links, [])
    moving = replace(mechanism, bodies=tuple(ref.with_speeds(wild, v, w)))
    return replace(moving, rates=tree_rates(moving))


def with_loose_rates(rng: np.random.Generator, mechanism: Mechanism, size: float = 1.0) -> Mechanism:
    """Return the mechanism with random rates of a few tree joints, whatever the loops say.

    Whoever simulates it has to assemble the speeds; the bodies here stay at rest.
    """
    free = mechanism.mobility
    pairs = list(zip(mechanism.joints, mechanism.links, strict=True))[: mechanism.tree]
    named: dict[str, np.ndarray] = {}
    for index in rng.permutation(len(pairs)):
        name, link = pairs[index]
        count = ref.FREEDOMS[link.kind]
        if 0 < count <= free:
            named[name] = rng.normal(0, size, count)
            free -= count
    return replace(mechanism, rates=named)


def with_coordinates(rng: np.random.Generator, mechanism: Mechanism, size: float = 0.7) -> Mechanism:
    """Return the tree with random coordinates and rates of all joints.

    Spherical: quaternion (w, x, y, z); free: position of the joint's point, quaternion.
    """
    if mechanism.loops:
        raise ValueError("coordinates can be chosen at will only where there are no loops")
    coordinates, rates = {}, {}
    for name, link in zip(mechanism.joints, mechanism.links, strict=True):
        count = ref.FREEDOMS[link.kind]
        if not count:
            continue
        value = rng.normal(0, size, count)
        if link.kind in ("spherical", "free"):
            quat = random_quat(rng)
            value = quat if link.kind == "spherical" else np.concatenate([value[:3], quat])
        coordinates[name], rates[name] = value, rng.normal(0, 1, count)
    return replace(mechanism, coordinates=coordinates, rates=rates)


@st.composite
def mechanisms(
    draw: st.DrawFn, max_bodies: int = 12, max_loops: int = 0, kinds: Sequence[str] = KINDS, driven: bool = False
) -> Mechanism:
    """Draw mechanisms that move consistently: 1 to `max_bodies` bodies, 0 to `max_loops` loops."""
    loops = draw(st.integers(0, max_loops))
    count = draw(st.integers(min(1 + loops, max_bodies), max_bodies))
    ratio = draw(st.sampled_from([1.0, 10.0, 1e4]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return with_consistent_rates(rng, random_mechanism(rng, count, loops, kinds, ratio, driven))
