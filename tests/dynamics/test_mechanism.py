"""A mechanism as dense arrays: motions beside those of kernels, momenta beside those of bodies, masks by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sim.assembly.loop_closure import opening
from sim.assembly.standing import NOWHERE, standing_at
from sim.assembly.start import start
from sim.kernels.project import add_freedoms
from sim.mechanism.compiler import compile
from sim.mechanism.frames import Pose
from sim.mechanism.mechanism import Mechanism, make_control, state_from_bodies
from sim.scene.load import load_text
from tests.dynamics.engine import simulator_for
from tests.support import dense
from tests.support.mechanisms import KINDS, hang, random_mechanism, with_coordinates
from tests.support.scene_texts import scene_text

pytestmark = pytest.mark.fast


def mechanism_of(text: str, t: float = 0.0) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """Return a mechanism at its start, looked at."""
    model = compile(load_text(text))
    begun = start(model)
    assert not begun.problems
    mechanism = Mechanism.of(model, begun.structure, None, t)
    mechanism.update(begun.q, begun.v)
    return mechanism, begun.q, begun.v


def moved(mechanism: Mechanism, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    out = q.copy()
    add_freedoms(mechanism.structure.tables.links, step, 1.0, out)
    return out


def everywhere(seed: int, loops: int = 2) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """Return a random mechanism off its drawing, moving: loops stand open, which dense arrays do not mind."""
    rng = np.random.default_rng([31, seed])
    mechanism, q, _ = mechanism_of(scene_text(random_mechanism(rng, 5, loops, driven=True)))
    n = mechanism.structure.sizes.v
    return mechanism, moved(mechanism, q, rng.normal(0, 0.4, n)), rng.normal(size=n)


@pytest.mark.parametrize("seed", range(4))
def test_motions_and_momenta_of_links_are_those_of_kernels_and_of_rigid_bodies(seed: int) -> None:
    mechanism, q, v = everywhere(seed)
    M, _ = dense.inertia_and_bias(mechanism, q, v)
    V, inertias = mechanism.work.links.V.copy(), dense.link_inertias(mechanism)
    size = np.abs(V).max()
    assert np.allclose(mechanism.twists(v), V, rtol=0.0, atol=1e-14 * size)
    assert np.allclose(mechanism.link_jacobians() @ v, V, rtol=0.0, atol=1e-14 * size)
    carried = np.einsum("bij,bj->bi", inertias, V)
    assert np.allclose(mechanism.momenta(v), carried, rtol=0.0, atol=1e-14 * np.abs(carried).max())
    assert np.allclose(mechanism.inertia(), M, rtol=0.0, atol=1e-13 * np.abs(M).max())
    assert np.allclose(mechanism.momentum(v), M @ v, rtol=0.0, atol=1e-13 * np.abs(M @ v).max())


@pytest.mark.parametrize("seed", range(4))
def test_loops_open_as_their_jacobian_says(seed: int) -> None:
    mechanism, q, v = everywhere(seed)
    mechanism.update(q, v)
    tables, work = mechanism.structure.tables, mechanism.work
    assert len(mechanism.structure.loops) == 2
    assert np.allclose(mechanism.jacobian() @ v, opening(mechanism), rtol=0.0, atol=1e-13 * np.abs(v).max() * 10)
    for n, joint in enumerate(mechanism.structure.loops):
        block = tables.blocks[n]
        p = work.blocks.p_WM[n]
        w_a, w_b = (work.links.V[link, :3] for link in (block.a, block.b))
        at = [work.links.V[k, 3:] + np.cross(work.links.V[k, :3], p - work.links.x[k]) for k in (block.a, block.b)]
        expected = np.concatenate([at[1] - at[0], w_b - w_a])
        assert np.allclose(mechanism.loop_motion(n) @ v, expected, rtol=0.0, atol=1e-13 * np.abs(expected).max())
        columns = mechanism.model.columns_of(joint)
        rates = mechanism.loop_rates(n)
        assert rates.shape == (columns.stop - columns.start, len(v))
        assert np.allclose(rates @ v, work.rate[columns], rtol=0.0, atol=1e-13 * np.abs(v).max() * 10)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fixed"])
def test_coordinates_and_rates_follow_from_how_bodies_stand_and_move(kind: str) -> None:
    """Between two bodies that both are turned and move."""
    rng = np.random.default_rng([33, KINDS.index(kind)])
    places = [(-1, "spherical"), (-1 if kind == "free" else 0, kind), (1, "fixed")]
    simulator = simulator_for(with_coordinates(rng, hang(rng, places)))
    flow = simulator.flow
    flow.update()
    bodies = flow.work.bodies
    poses = tuple(Pose(p.copy(), R.reshape(3, 3).copy()) for p, R in zip(bodies.p_WB, bodies.R_WB, strict=True))
    for pose, other in zip(poses, flow.mechanism.poses(), strict=True):
        assert np.array_equal(pose.p, other.p) and np.array_equal(pose.R, other.R)
    q, v = state_from_bodies(flow.model, flow.structure, flow.frames, poses, bodies.V_WB.copy())
    expected = flow.q.copy()
    for start_at, wide in ((0, 4), *([(4, 4)] if kind == "spherical" else [(7, 4)] if kind == "free" else [])):
        part = slice(start_at, start_at + wide)
        expected[part] *= np.sign(expected[part] @ q[part])
    assert np.allclose(q, expected, rtol=0.0, atol=1e-14) and np.allclose(v, flow.v, rtol=0.0, atol=1e-13)
    assert len(q) == len(flow.q) and np.abs(v).min() > 0.0


MASKS = """
schema: 1
name: masks
world: {gravity: [0, 0, -9.81]}
bodies:
  a: {mass: 1, com: [0.3, 0.1, 0.5], inertia: [0.1, 0.1, 0.1]}
  b: {mass: 1, com: [1, 0, 0.5], inertia: [0.1, 0.1, 0.1]}
  c: {mass: 1, com: [2, 0, 0.5], inertia: [0.1, 0.1, 0.1]}
joints:
  bed: {type: planar, parent: world, child: a, position: [0, 0, 0.5], axis: [0, 0, 1], second_axis: [1, 0, 0],
        motion: [free, free, 0.4*t/1 s]}
  elbow: {type: rotational, parent: a, child: b, position: [0.5, 0, 0.5], axis: [0, 0, 1]}
  slide: {type: cylindrical, parent: b, child: c, position: [1.5, 0, 0.5], axis: [0, 0, 1], motion: [0.3 m/s*t, free]}
  tie: {type: spherical, parent: a, child: c, position: [2, 0, 0.5]}
  post: {type: cylindrical, parent: world, child: b, position: [1, 0, 0.5], axis: [0, 0, 1], motion: [free, 0.2*t/1 s],
         armature: [0, 0.3]}
constraints:
  wheel: {type: no_side_slip, body: c, position: [2, 0, 0], axis: [0, 1, 0], ground: world}
  edge: {type: knife_edge, body: b, position: [1, 0, 0], along: [1, 0, 0], ground: world, holds: 5}
  ball: {type: rolling, body: a, position: [0.3, 0, 0.2], radius: 0.2, ground: world}
"""


def test_rows_are_told_apart_by_what_they_bind() -> None:
    """Of every row: whether a joint locks it, a drive wants it, a wheel binds a rate; soft rows carry armatures."""
    from sim.assembly.start import first_structure

    model = compile(load_text(MASKS))
    mechanism = Mechanism.of(model, first_structure(model))
    q, v = state_from_bodies(model, mechanism.structure, model.frames, model.poses, np.zeros((4, 6)))
    mechanism.update(q, v)
    rows, blocks = mechanism.structure.tables.rows, mechanism.structure.tables.blocks
    of = [model.joint_names[int(blocks.joint[b])] for b in rows.block]
    assert of == ["tie"] * 3 + ["post"] * 6 + ["wheel"] + ["ball"] * 3 + ["bed"] + ["slide"]
    lock, drive, soft, rate, height = range(5)
    kinds = np.array([lock] * 3 + [lock] * 4 + [drive, soft] + [rate] + [rate, rate, height] + [drive, drive])
    assert mechanism.hard().tolist() == (kinds != soft).tolist()
    assert mechanism.driven().tolist() == (kinds == drive).tolist()
    assert mechanism.locked().tolist() == ((kinds != soft) & (kinds != drive)).tolist()
    assert mechanism.placed().tolist() == np.isin(kinds, (lock, height)).tolist()
    size = model.length
    assert mechanism.scale().tolist() == [1.0] * 5 + [size] * 3 + [0.3**0.5] + [1.0] * 4 + [size, 1.0]
    wanted = np.zeros(15)
    wanted[[7, 13, 14]] = 0.2 * size, 0.4 * size, 0.3
    assert np.allclose(mechanism.wanted(), wanted, rtol=1e-15)
    assert mechanism.driven_freedoms().tolist() == [False, False, True, False, True, False]
    # Down to the parent's side, then up from the child's, the one that closes the loop last.
    assert [mechanism.around(n) for n in range(2)] == [["slide", "elbow", "tie"], ["elbow", "bed", "post"]]
    assert mechanism.structure.loops == (3, 4, 5, 6, 7)  # the edge grips nothing before it is decided


def test_controls_at_rest() -> None:
    model = compile(load_text(MASKS))
    control = make_control(model, 3)
    assert control.enabled.tolist() == [1, 1, 1] and not any(
        a.any() for n, a in control._asdict().items() if n != "enabled"
    )
    columns = len(model.columns)
    assert {n: a.shape for n, a in control._asdict().items()} == {
        "engaged": (0,), "enabled": (3,), "held": (columns,), "friction": (columns,), "wrench": (4, 6), "arms": (4, 9),
        "turn": (columns,), "acts": (3,), "fed": (0,), "failed": (1,),
    }  # fmt: skip
    assert make_control(model).enabled.shape == (0,)


# --- what stands ------------------------------------------------------------------------------------

STANDS = """
schema: 1
name: stands
world: {shapes: [{plane: {}}]}
bodies:
  foot: {mass: 1, com: [0.2, 0.1, 0.3], inertia: [0.1, 0.1, 0.1], position: [0.3, -0.1, 0.2],
         shapes: [{sphere: {center: [0.2, 0.1, 0.15], radius: 0.15}}]}
  lid: {mass: 1, com: [0.2, 0.1, 0.6], inertia: [0.1, 0.1, 0.1],
        shapes: [{sphere: {center: [0.2, 0.1, 0.5], radius: 0.2}}]}
  far: {mass: 1, com: [3, 0, 3], inertia: [0.1, 0.1, 0.1], shapes: [{sphere: {center: [3, 0, 3], radius: 0.2}}]}
contacts: {ground: {between: ["*", world]}, both: {between: [foot, lid]}}
"""


def test_points_that_stand_stay_with_both_bodies() -> None:
    mechanism, q, _ = mechanism_of(STANDS)
    firm, on_surface, nothing = standing_at(mechanism, q, [True, True])
    assert len(firm) == 6 and len(on_surface) == 2 and nothing is NOWHERE and len(NOWHERE) == 0
    assert on_surface.a.tolist() == firm.a[::3].tolist() and on_surface.b.tolist() == firm.b[::3].tolist()
    assert np.allclose(on_surface.way_a, firm.way_a[::3])
    link = {name: int(mechanism.structure.link_of[k]) for k, name in enumerate(mechanism.model.body_names)}
    pairs = {frozenset((a, b)) for a, b in zip(firm.a.tolist(), firm.b.tolist(), strict=True)}
    assert pairs == {frozenset((link["world"], link["foot"])), frozenset((link["foot"], link["lid"]))}
    mechanism.update(q, np.zeros(len(mechanism.inertia())))
    assert np.allclose(firm.off(mechanism), 0.0, atol=1e-15)
    R = mechanism.work.links.R.reshape(-1, 3, 3)
    ways = np.einsum("nij,nj->ni", R[firm.a], firm.way_a).reshape(2, 3, 3)
    assert np.allclose(ways @ np.swapaxes(ways, 1, 2), np.eye(3), atol=1e-15)
    assert np.allclose(np.abs(ways[:, 0]), [[0, 0, 1]] * 2, atol=1e-15)
    J = firm.jacobian(mechanism)
    n = J.shape[1]
    assert np.abs(J).max() > 0.1 and NOWHERE.jacobian(mechanism).shape == (0, n)
    for k in range(n):
        ends = []
        for side in (1e-5, -1e-5):
            mechanism.update(moved(mechanism, q, side * np.eye(n)[k]), np.zeros(n))
            ends.append(firm.off(mechanism))
        assert np.allclose((ends[0] - ends[1]) / 2e-5, J[:, k], rtol=0.0, atol=1e-9)
    mechanism.update(q, np.zeros(n))
    free = np.zeros(n, bool)
    foot = mechanism.structure.tables.links[link["lid"]]
    free[foot.v : foot.v + 6] = True
    only = firm.moved_by(mechanism, free)
    assert len(only) == 3 and {*only.a.tolist(), *only.b.tolist()} == {link["foot"], link["lid"]}
    kept = np.isin(firm.a, only.a) & np.isin(firm.b, only.b)
    for name in ("p_a", "p_b", "way_a"):
        assert np.array_equal(getattr(only, name), getattr(firm, name)[kept])


@pytest.mark.parametrize(("active", "count"), [([True, False], 3), ([False, True], 3), ([False, False], 0)])
def test_only_rules_that_are_switched_on_keep_what_stands(active: list[bool], count: int) -> None:
    mechanism, q, _ = mechanism_of(STANDS)
    found = standing_at(mechanism, q, active)
    assert [len(one) for one in found] == ([3, 1, 0] if count else [0])
    high = moved(mechanism, q, np.array([0, 0, 0.01, 0, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
    assert standing_at(mechanism, high, [True, True]) == (NOWHERE,)


HELD_TWICE = """
schema: 1
name: held_twice
bodies:
  rod: {mass: 1, com: [0, 0.5, 0], inertia: [0.1, 0.1, 0.1]}
  arm: {mass: 1, com: [1, 0.5, 0], inertia: [0.1, 0.1, 0.1]}
joints:
  left: {type: rotational, parent: world, child: rod, position: [0, 0, 0], axis: [0, 1, 0], motion: 1*t/1 s}
  right: {type: rotational, parent: world, child: rod, position: [0, 1, 0], axis: [0, 1, 0]}
  hand: {type: rotational, parent: rod, child: arm, position: [0.5, 0.5, 0], axis: [0, 0, 1], motion: 2*t/1 s}
"""


@pytest.mark.parametrize("before", [0, 1, -1])
def test_which_components_are_determinate_follows_from_the_rows_whatever_was_found_before(before: int) -> None:
    """A rod that two hinges hold: moments across their axis and all forces are shared by choice, its arm's are not."""
    mechanism, _, _ = mechanism_of(HELD_TWICE)
    mechanism.work.rows.acts[:] = before
    mechanism.work.joints.components[:] = 7.0
    found = mechanism.determinate()
    of = mechanism.model.joint_names
    for hinge in ("left", "right"):
        assert found[of.index(hinge), :6].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert found[of.index("hand"), :6].tolist() == [1.0] * 6
