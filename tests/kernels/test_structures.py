"""Trees, loops and the tables laid out for them, beside a layout that looks for everything anew, link by link."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from sim.assembly.start import first_structure
from sim.joints import JOINT_TYPES
from sim.kernels.tables import UNIVERSAL_ROW
from sim.mechanism.compiler import compile
from sim.mechanism.model import Model
from sim.mechanism.structure import PATIENCE, Structure, _most_piled, choose_tree
from sim.scene.load import load_text
from tests.kernels.kinds import FREE, LINEAR, NQ, NV, SPHERICAL
from tests.support.mechanisms import random_mechanism
from tests.support.scene_texts import scene_text

pytestmark = pytest.mark.fast


# --- the tree ---------------------------------------------------------------------------------------


def graph(rng: np.random.Generator, bodies: int, joints: int) -> SimpleNamespace:
    """Return what a choice of trees asks of a model: joints between bodies, a free one for each body, a constraint."""
    ends = [rng.choice(bodies + 1, 2, replace=False) for _ in range(joints)]
    ends = [(int(a), int(b)) if b else (int(b), int(a)) for a, b in ends]  # the world is no child
    constraints = {joints + bodies: "a rolling one", joints // 3: "a blade"}
    table = SimpleNamespace(
        parent=np.array([a for a, _ in ends] + [0] * bodies + [0]),
        child=np.array([b for _, b in ends] + list(range(1, bodies + 1)) + [1]),
    )  # fmt: skip
    free = np.array([-1, *range(joints, joints + bodies)])
    return SimpleNamespace(bodies=range(bodies + 1), joints=table, free_joint=free, constraints=constraints)


def chosen(model: SimpleNamespace, active: set[int], carrier: list[int] | None, new: set[int]) -> list[int]:
    """Return the same by the rule as it is written: kept carriers, the first joint in file order, free joints."""
    out: dict[int, int] = {}
    parent, child, free = model.joints.parent, model.joints.child, model.free_joint
    for body in model.bodies[1:]:
        if carrier is not None and (carrier[body] in active or carrier[body] == free[body]):
            out[body] = carrier[body]

    def above(body: int) -> list[int]:
        way = [body]
        while way[-1] in out:
            way.append(int(parent[out[way[-1]]]))
        return way

    for joint in range(len(parent)):
        usable = joint in active and joint not in new and joint not in model.constraints
        if usable and int(child[joint]) not in out and int(child[joint]) not in above(int(parent[joint])):
            out[int(child[joint])] = joint
    return [-1] + [out.get(body, int(free[body])) for body in model.bodies[1:]]


@pytest.mark.parametrize("seed", range(8))
def test_bodies_keep_what_carries_them_else_the_first_joint_that_closes_no_cycle(seed: int) -> None:
    rng = np.random.default_rng([41, seed])
    for _ in range(20):
        model = graph(rng, 6, 9)
        active = {j for j in range(9) if rng.random() < 0.7} | {15}
        begun = chosen(model, active, None, set())
        assert choose_tree(model, active, None).tolist() == begun  # type: ignore[arg-type]
        cut = {j for j in active if rng.random() < 0.3}
        new = {j for j in range(9) if j not in active and rng.random() < 0.6}
        after = (active - cut) | new
        found = choose_tree(model, after, np.array(begun), new)  # type: ignore[arg-type]
        assert found.tolist() == chosen(model, after, begun, new)


# --- layouts ----------------------------------------------------------------------------------------


class Layout:
    """A structure looked at by its carriers alone."""

    def __init__(self, model: Model, structure: Structure):
        self.model, self.structure = model, structure
        links = structure.tables.links
        self.body = [int(b) for b in links.body]
        self.parent = [-1] + [
            self.body.index(int(model.joints.parent[structure.carrier[body]])) for body in self.body[1:]
        ]
        self.kind = ["fixed"] + [model.type_of(int(structure.carrier[body])).name for body in self.body[1:]]
        self.first = np.concatenate([[0, 0], np.cumsum([NV[k] for k in self.kind[1:]])]).tolist()

    def way(self, link: int) -> list[int]:
        """Return a link and all that it hangs on, the world last."""
        out = [link]
        while out[-1]:
            out.append(self.parent[out[-1]])
        return out

    def fork(self, a: int, b: int) -> int:
        return next(link for link in self.way(a) if link in self.way(b))

    def freedoms(self, links: Iterable[int]) -> list[int]:
        """Return the freedoms of links, those of each the last first."""
        return [k for link in links for k in reversed(range(self.first[link], self.first[link] + NV[self.kind[link]]))]

    def below(self, link: int) -> set[int]:
        return {b for b in range(len(self.parent)) if link in self.way(b)}


SCENES = [scene_text(random_mechanism(np.random.default_rng([43, seed]), 7, 3, driven=True)) for seed in range(4)]
# Two trees tied to one another and each other's loops, one of which ends at the world; a body alone.
SCENES.append("""
schema: 1
name: two trees
bodies:
  a: {mass: 1, com: [0, 0, 1], inertia: [1, 1, 1]}
  b: {mass: 1, com: [1, 0, 1], inertia: [1, 1, 1]}
  c: {mass: 1, com: [2, 0, 1], inertia: [1, 1, 1]}
  d: {mass: 1, com: [3, 0, 1], inertia: [1, 1, 1]}
  e: {mass: 1, com: [4, 0, 1], inertia: [1, 1, 1]}
joints:
  ja: {type: universal, parent: world, child: a, position: [0, 0, 0], axis: [1, 0, 0], second_axis: [0, 1, 0],
          armature: [0.1, 0]}
  jb: {type: spherical, parent: a, child: b, position: [0.5, 0, 1], armature: 0.2}
  jc: {type: planar, parent: world, child: c, position: [2, 0, 0], axis: [0, 0, 1], second_axis: [1, 0, 0]}
  jd: {type: rotational, parent: c, child: d, position: [2.5, 0, 1], axis: [0, 1, 0], motion: 0.1*t/1 s}
  weld: {type: fixed, parent: b, child: d, position: [2, 0, 1]}
  post: {type: cylindrical, parent: world, child: b, position: [1, 0, 0], axis: [0, 0, 1], armature: [0.2, 0.3]}
  ball: {type: spherical, parent: a, child: d, position: [2, 1, 1]}
  rod: {type: universal, parent: d, child: b, position: [2, 0.5, 1], axis: [1, 0, 0], second_axis: [0, 1, 0]}
""")


@pytest.fixture(params=range(len(SCENES)))
def layout(request: pytest.FixtureRequest) -> Layout:
    model = compile(load_text(SCENES[request.param]))
    return Layout(model, first_structure(model))


def test_links_are_numbered_depth_first_with_their_addresses(layout: Layout) -> None:
    model, structure = layout.model, layout.structure
    links, freedoms = structure.tables.links, structure.tables.freedoms
    n = len(links)
    order: list[int] = []

    def visit(body: int) -> None:
        order.append(body)
        for child in range(1, n):
            if int(model.joints.parent[structure.carrier[child]]) == body:
                visit(child)

    visit(0)
    assert layout.body == order and structure.carrier[0] == -1
    assert [int(structure.link_of[body]) for body in order] == list(range(n))
    assert links.parent[1:].tolist() == layout.parent[1:]
    begun = {SPHERICAL: 0, FREE: 3}  # where their quaternions are
    quaternion = [v + begun[k] if k in begun else -1 for v, k in zip(layout.first, layout.kind, strict=False)]
    assert links.quaternion.tolist() == quaternion
    assert links.bends.tolist() == [int(k == "universal") for k in layout.kind]
    assert links.rides.tolist() == [int(k in (FREE, "planar")) for k in layout.kind]
    assert links.joint[1:].tolist() == [int(structure.carrier[b]) for b in order[1:]]
    assert links.column[1:].tolist() == [int(model.joints.column[j]) for j in links.joint[1:]]
    assert links.nv[1:].tolist() == [NV[k] for k in layout.kind[1:]]
    assert links.v[1:].tolist() == layout.first[1:-1]
    assert links.q[1:].tolist() == np.cumsum([0, *(NQ[k] for k in layout.kind[1:-1])]).tolist()
    assert links.leaf.tolist() == [int(b not in layout.parent) for b in range(n)]
    last = [max(b for b in range(1, n) if layout.parent[b] == up) for up in {*layout.parent[1:]}]
    assert links.leads.tolist() == [int(b in last) for b in range(n)]
    owner = [b for b in range(1, n) for _ in range(NV[layout.kind[b]])]
    assert freedoms.owner.tolist() == owner
    assert freedoms.linear.tolist() == [x for b in range(1, n) for x in LINEAR[layout.kind[b]]]
    column = [int(links.column[b]) + i for b in range(1, n) for i in range(NV[layout.kind[b]])]
    assert freedoms.armature.tolist() == [float(model.columns.armature[c]) for c in column]
    balls = []
    for b in range(1, n):
        end = layout.first[b] + NV[layout.kind[b]]
        turning = layout.kind[b] in (SPHERICAL, FREE)
        heavy = freedoms.armature[max(end - 3, 0) : end].any() if turning else True
        balls.append(-1 if turning and heavy else end - 3 if turning else None)
    assert [int(x) for x, wanted in zip(links.ball[1:], balls, strict=True) if wanted is not None] == [
        b for b in balls if b is not None
    ]
    sizes = structure.sizes
    assert (sizes.links, sizes.q, sizes.v) == (n, sum(NQ[k] for k in layout.kind), sum(NV[k] for k in layout.kind))
    assert (sizes.bodies, sizes.columns, sizes.joints) == (n, len(model.columns), len(model.joints))
    assert sizes.contacts == 0


def test_frames_and_masses_of_links_are_those_of_their_joints(layout: Layout) -> None:
    """K is M of the tree joint; so every place of a body is its place in K, by way of B."""
    model, structure = layout.model, layout.structure
    links, frames = structure.tables.links, model.frames
    for b in range(1, len(links)):
        joint, body, above = int(links.joint[b]), layout.body[b], int(links.parent[b])
        R_KB, p_KB = links.R_KB[b].reshape(3, 3), links.p_KB[b]
        assert np.allclose(R_KB @ frames.R_CM[joint], np.eye(3), atol=1e-15)
        assert np.allclose(R_KB @ frames.p_CM[joint] + p_KB, 0.0, atol=1e-15)
        up_R, up_p = links.R_KB[above].reshape(3, 3), links.p_KB[above]
        assert np.allclose(links.R_PF[b].reshape(3, 3), up_R @ frames.R_PF[joint], atol=1e-15)
        assert np.allclose(links.p_PF[b], up_R @ frames.p_PF[joint] + up_p, atol=1e-15)
        assert links.mass[b] == model.bodies.mass[body]
        assert np.allclose(links.com_K[b], R_KB @ model.bodies.com_B[body] + p_KB, atol=1e-15)
        xx, yy, zz, xy, xz, yz = model.bodies.inertia_B[body]
        J = R_KB @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R_KB.T
        assert np.allclose(links.inertia_K[b], J[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]], atol=1e-14)
    points = structure.tables.points
    for k, point in enumerate(model.points):
        b = int(structure.link_of[point.body])
        assert points.body[k] == b
        expected = links.R_KB[b].reshape(3, 3) @ point.p_B + links.p_KB[b]
        assert np.allclose(points.p_B[k], expected, atol=1e-15)


def test_pointers_lead_through_the_tree_with_virtual_links_last(layout: Layout) -> None:
    model, structure = layout.model, layout.structure
    n, loops = len(layout.parent), structure.loops
    ends = [[int(structure.link_of[model.joints[side][j]]) for side in ("parent", "child")] for j in loops]
    parent = layout.parent + [a for a, _ in ends]
    assert structure.parent.tolist() == parent and structure.real.tolist() == [-1] * n + [b for _, b in ends]
    children = {up: [b for b in range(1, len(parent)) if parent[b] == up] for up in range(len(parent))}
    assert structure.child.tolist() == [children[b][0] if children[b] else -1 for b in range(len(parent))]
    brothers = {a: b for below in children.values() for a, b in pairwise(below)}
    assert structure.brother.tolist() == [brothers.get(b, -1) for b in range(len(parent))]
    assert loops == tuple(sorted(model.connected - set(structure.carrier.tolist())))


def rows_of(model: Model, joint: int, motor: bool) -> list[tuple[int, float, float, int, int, int]]:
    kind, first = model.type_of(joint), int(model.joints.column[joint])
    unit = [1.0 if code < 3 else model.length for code in range(10)]
    out = []
    if not motor:
        whole = range(6) if kind.name in ("fixed", "translational") else ()  # told by the rotation vector
        out += [(c, unit[c], 0.0, int(c in whole and c != UNIVERSAL_ROW), -1, 0) for c in kind.locked]
    for i, code in enumerate(kind.free):
        if model.columns.motion[first + i] >= 0:
            out.append((code, unit[code], 0.0, 0, int(model.columns.motion[first + i]), first + i))
    for i, code in enumerate(kind.free):
        if model.columns.armature[first + i] > 0.0 and not motor:
            out.append((code, float(model.columns.armature[first + i]) ** 0.5, 1.0, 0, -1, first + i))
    return out


def test_blocks_and_rows_of_loops_and_motors(layout: Layout) -> None:
    model, structure = layout.model, layout.structure
    tables = structure.tables
    blocks, rows, frames = tables.blocks, tables.rows, model.frames
    motors = [int(j) for j in tables.links.joint[1:] if np.any(model.columns.motion[model.columns_of(int(j))] >= 0)]
    joints = [*structure.loops, *motors]
    row = entry = number = 0
    for n, joint in enumerate(joints):
        motor = n >= len(structure.loops)
        a, b = (int(structure.link_of[model.joints[side][joint]]) for side in ("parent", "child"))
        fork = layout.fork(a, b)
        up = [layout.freedoms(layout.way(end)[: layout.way(end).index(fork)]) for end in (b, a)]
        up.append(layout.freedoms(layout.way(fork)[:-1]))
        block, own = blocks[n], rows_of(model, joint, motor)
        kind = JOINT_TYPES["fixed" if motor else model.type_of(joint).name]
        ends = ("a", "b", "fork", "motor", "touch", "freedoms")
        found = [int(block[name]) for name in ("quaternion", "on_line", "slips", "joint", "column", *ends)]
        line = kind.name in ("rotational", "translational", "cylindrical")
        said = [{SPHERICAL: 0, FREE: 3}.get(kind.name, -1), line, 0, joint, int(model.joints.column[joint])]
        assert found == [*said, a, b, fork, int(motor), -1, NV[kind.name]]
        assert [int(block[name]) for name in ("row", "rows", "hard", "support", "jacobian")] == [
            row, len(own), sum(one[2] == 0.0 for one in own), entry, number,
        ]  # fmt: skip
        assert [int(block[name]) for name in ("nb", "na", "nc")] == [len(part) for part in up]
        assert tables.support[entry : entry + sum(map(len, up))].tolist() == [k for part in up for k in part]
        for r, (code, scale, compliance, locked, motion, column) in enumerate(own, start=row):
            told = [int(rows[r][name]) for name in ("block", "code", "locked", "motion", "column")]
            assert told == [n, code, locked, motion, column], (joint, r)
            assert rows.scale[r] == scale and rows.compliance[r] == compliance
            assert rows.share[r] == rows.low[r] == rows.high[r] == 0.0
        for link, p, R, names in (
            (a, frames.p_PF[joint], frames.R_PF[joint], ("p_aF", "R_aF")),
            (b, frames.p_CM[joint], frames.R_CM[joint], ("p_bM", "R_bM")),
        ):
            R_KB = tables.links.R_KB[link].reshape(3, 3)
            assert np.allclose(block[names[0]], tables.links.p_KB[link] + R_KB @ p, atol=1e-15)
            assert np.allclose(block[names[1]].reshape(3, 3), R_KB @ R, atol=1e-15)
        assert (int(block.mate), float(block.factor), int(block.second), int(block.rolls)) == (-1, 1.0, 0, 0)
        row, entry, number = row + len(own), entry + sum(map(len, up)), number + sum(map(len, up)) * len(own)
    assert len(blocks) == len(joints) and len(rows) == row == structure.sizes.rows and len(tables.support) == entry
    assert structure.sizes.blocks == len(blocks) and not structure.binds_rates
    assert bool(tables.one.driven[0]) == bool(motors)


def test_blocks_that_share_freedoms_are_paired(layout: Layout) -> None:
    tables = layout.structure.tables
    blocks = tables.blocks
    supports = [
        tables.support[b.support : b.support + b.nb + b.na + b.nc].tolist() for b in blocks
    ]  # fmt: skip
    expected = {}
    for low, high in combinations(range(len(blocks)), 2):
        both = {(supports[high].index(k), supports[low].index(k)) for k in supports[high] if k in supports[low]}
        if both:
            expected[high, low] = both
    found = {}
    for pair in tables.pairs:
        places = tables.shared[pair.start : pair.start + pair["count"]].tolist()
        found[int(pair["first"]), int(pair["second"])] = set(map(tuple, places))
        assert len(places) == len(found[int(pair["first"]), int(pair["second"])])
    assert found == expected and len(expected) >= 1
    assert len(tables.shared) == sum(map(len, expected.values()))


def test_fronts_tell_which_rows_begin_and_wait_at_each_link(layout: Layout) -> None:
    tables, n = layout.structure.tables, len(layout.parent)
    ends = [(int(tables.blocks[row.block].a), int(tables.blocks[row.block].b)) for row in tables.rows]
    fronts, m = tables.fronts, len(ends)
    for link in range(n):
        first, count = int(fronts.first[link]), int(fronts["count"][link])
        here = sorted(
            2 * r + (side == 0) for r, both in enumerate(ends) for side in (0, 1) if link and both[side] == link
        )
        assert sorted(tables.entries[first : first + count].tolist()) == here
    assert len(tables.entries) == sum(a > 0 for a, _ in ends) + sum(b > 0 for _, b in ends)
    below = {link: layout.below(link) for link in range(1, n)}
    touched = {link: sum(a in below[link] or b in below[link] for a, b in ends) for link in below}
    for link in below:
        waits = sum(a > 0 and b > 0 and (a in below[link]) != (b in below[link]) for a, b in ends)
        assert (int(fronts.open[link]), int(fronts.limit[link])) == (waits, min(touched[link], waits + PATIENCE))
    root = [layout.way(link)[-2] if link else 0 for link in range(n)]
    crossing = [tuple(sorted((root[a], root[b]))) for a, b in ends if a and b and root[a] != root[b]]
    most = max(sum(low < place <= high for low, high in crossing) for place in range(n))
    assert (int(fronts.open[0]), int(fronts.limit[0])) == (most, min(m, most + PATIENCE))


# --- constraints ------------------------------------------------------------------------------------

BOUND = """
schema: 1
name: bound
bodies:
  a: {mass: 1, com: [0, 0, 1], inertia: [1, 1, 1]}
  b: {mass: 1, com: [1, 0, 1], inertia: [1, 1, 1]}
  c: {mass: 1, com: [5, 0, 1], inertia: [1, 1, 1]}
joints:
  one: {type: cylindrical, parent: world, child: a, position: [0, 0, 0], axis: [0, 0, 1]}
  two: {type: universal, parent: a, child: b, position: [0.5, 0, 1], axis: [0, 0, 1], second_axis: [0, 1, 0]}
constraints:
  wheel: {type: no_side_slip, body: c, position: [5, 0, 0], axis: [0, 1, 0], ground: world}
  blade: {type: knife_edge, body: c, position: [5, 0, 0], along: [1, 0, 0], ground: a, normal: [0, 0, 1]}
  ring: {type: rolling, body: c, position: [5, 0, 0.5], axis: [0, 1, 0], radius: 0.4, tube: 0.1, ground: world}
  egg: {type: rolling, body: c, position: [5, 0, 0.3], radii: [0.5, 0.4, 0.3], ground: world}
  dome: {type: rolling, body: c, position: [5, 0, 0.6], radius: 0.6, ground: world, bend: 2, level: [5, 0, -2]}
  pipe: {type: rolling, body: c, position: [5, 0, 0.2], radius: 0.2, ground: world, bend: 3, inside: true,
         level: [5, 0, 3], along: [1, 0, 0]}
  gear: {type: gear, joints: [one, two], freedoms: [1, 0], ratio: -1.7}
  nut: {type: screw, joint: one, pitch: 0.5}
  twin: {type: same_velocity, bodies: [c, b], position: [5, 0, 1], components: [y, rz]}
  grip: {type: rolling, body: c, position: [5, 0, 0.5], radius: 0.5, ground: world, holds: 4}
  slip: {type: no_side_slip, body: c, position: [5, 0, 0], axis: [0, 1, 0], ground: world, holds: 3}
"""


def test_constraints_have_blocks_of_their_own() -> None:
    """Rows that bind rates only are those along the ground; of gears one row, in two blocks."""
    model = compile(load_text(BOUND))
    structure = first_structure(model)
    tables = structure.tables
    blocks, rows = tables.blocks, tables.rows
    names = [model.joint_names[int(j)] for j in blocks.joint]
    declared = ["wheel", "blade", "ring", "egg", "dome", "pipe", "gear", "nut", "twin", "grip", "slip"]
    assert names == [*declared, "gear", "nut"]  # second freedoms last
    at = {name: k for k, name in enumerate(declared)}
    codes = {
        "wheel": [10], "blade": [11], "ring": [0, 1, 2], "egg": [0, 1, 2], "dome": [0, 1, 2], "pipe": [0, 1, 2],
        "gear": [5], "nut": [2], "twin": [1, 5], "grip": [2], "slip": [],
    }  # fmt: skip
    row = 0
    for name in declared:
        block = blocks[at[name]]
        assert (int(block.row), int(block.rows), int(block.hard)) == (row, len(codes[name]), len(codes[name])), name
        own = rows[row : row + len(codes[name])]
        assert own.code.tolist() == codes[name] and set(own.block.tolist()) <= {at[name]}
        placed = [name in ("gear", "nut") or (code == 2 and name not in ("twin",)) for code in codes[name]]
        assert own.locked.tolist() == [0 if fixed else 2 for fixed in placed], name
        assert own.scale.tolist() == [model.length if 3 <= code < 10 else 1.0 for code in codes[name]]
        assert own.motion.tolist() == [-1] * len(own) and not own.compliance.any() and not own.column.any()
        row += len(codes[name])
    assert len(rows) == row and structure.binds_rates
    numbers = ("slips", "freedoms", "rolls", "ground", "bend", "ring", "tube", "code", "beside")
    told = {
        "wheel": (0, 0, 0, 0, 0.0, None, None, 10, 10), "blade": (0, 0, 0, 0, 0.0, None, None, 11, 11),
        "ring": (0, 0, 1, 0, 0.0, 0.4, 0.1, 0, 1), "egg": (0, 0, 1, 0, 0.0, 0.0, None, 0, 1),
        "dome": (0, 0, 1, 1, 2.0, 0.0, 0.6, 0, 1), "pipe": (0, 0, 1, 4, -3.0, 0.0, 0.2, 0, 1),
        "grip": (1, 2, 1, 0, 0.0, 0.0, 0.5, 0, 1), "slip": (1, 1, 0, 0, 0.0, None, None, 10, 10),
        "twin": (0, 0, 0, 0, 0.0, None, None, 1, 5),
    }  # fmt: skip
    for name, expected in told.items():
        found = [float(blocks[at[name]][key]) for key in numbers]
        assert [a for a, b in zip(found, expected, strict=True) if b is not None] == [
            b for b in expected if b is not None
        ]
    assert blocks.radii[at["egg"]].tolist() == [0.5, 0.4, 0.3] and not blocks.radii[at["ring"]].any()
    one, two = (model.columns_of(model.joint(name)).start for name in ("one", "two"))
    for name, second, ratio, own, mate in (
        ("gear", 1, -1.7, (one + 1, 5), (two, 3)), ("nut", 2, None, (one, 2), (one + 1, 5)),
    ):  # fmt: skip
        a, b = at[name], len(declared) + ("gear", "nut").index(name)
        assert (int(blocks.mate[a]), int(blocks.second[b]), int(blocks.mate[b]), int(blocks.second[a])) == (
            b,
            second,
            -1,
            0,
        )
        assert (int(blocks.of[a]), int(blocks.code[a])) == own and (int(blocks.of[b]), int(blocks.code[b])) == mate
        assert (int(blocks.row[b]), int(blocks.rows[b])) == (int(blocks.row[a]), 1) and blocks.factor[a] == 1.0
        if ratio is not None:
            assert blocks.factor[b] == -ratio
        else:
            assert abs(blocks.factor[b]) == pytest.approx(0.5 / (2.0 * np.pi))
    assert tables.one.driven[0] == 1 and tables.one.along[0] == 0
    both = [(int(p["first"]), int(p["second"]), int(p["count"])) for p in tables.pairs]
    assert (at["gear"], len(declared), 4) in both or (len(declared), at["gear"], 4) in both  # its square has both twice


def test_a_constraint_that_lets_go_has_rows_while_it_is_held() -> None:
    from dataclasses import replace

    from sim.mechanism.structure import _rows_of

    model = compile(load_text(BOUND))
    columns = model.columns.copy()
    grip, slip = model.joint("grip"), model.joint("slip")
    first, other = model.columns_of(grip), model.columns_of(slip)
    assert first.stop - first.start == 2 and other.stop - other.start == 1
    assert model.columns.friction[first].tolist() == [4.0, 0.0] and model.columns.both[first].tolist() == [1, 0]
    assert model.columns.friction[other].tolist() == [3.0] and model.columns.both[other].tolist() == [0]
    columns.motion[first], columns.motion[other] = (8, 9), 7
    held = replace(model, columns=columns)
    assert _rows_of(held, grip, False) == [
        (0, 1.0, 0.0, 2, 8, first.start, 0.0), (1, 1.0, 0.0, 2, 9, first.start + 1, 0.0), (2, 1.0, 0.0, 0, -1, 0, 0.0),
    ]  # fmt: skip
    assert _rows_of(held, slip, False) == [(10, 1.0, 0.0, 2, 7, other.start, 0.0)]


def test_what_waits_for_parents_is_piled_until_they_come() -> None:
    """Links come last first; what one leaves, a vector of 6 and a square for its rows, lies there for its parent."""
    parent = np.array(
        [-1, 0, 1, 2, 2, 1, 0]
    )  # 1 carries 2 and 5, 2 carries 3 and 4; 6 hangs on the world, and leaves nothing
    limit = np.array([9, 1, 2, 3, 4, 5, 7])

    def left(*links: int) -> int:
        return sum(int(limit[b]) * (6 + int(limit[b])) for b in links)

    assert _most_piled(parent, limit) == max(left(5), left(5, 4), left(5, 4, 3), left(5, 2)) == left(5, 4, 3)
    assert _most_piled(parent, np.array([9, 1, 8, 1, 1, 5, 7])) == left_of(8) + left_of(5)
    assert _most_piled(np.array([-1, 0, 0]), np.array([0, 3, 3])) == 0


def left_of(limit: int) -> int:
    return limit * (6 + limit)
