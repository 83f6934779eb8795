"""What time steps and rows are told of trees: which of them may fall asleep, what rules say, and ways along them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest

from sim.kernels.shapes import MEETING, SHAPE
from sim.kernels.tables import COLUMN, DRAG, FORCE, FREEDOM, LINK, POINT, SPRING, STOP, TORSION, WRENCH, table
from sim.mechanism import lending
from sim.mechanism.lending import needs_help
from sim.mechanism.paths import Paths, common
from sim.mechanism.rest import rest_of
from sim.mechanism.tree import _firm, _of_present, joint_springs
from sim.mechanism.workspace import laws_of

pytestmark = pytest.mark.fast

# Four trees that hang on the world (0): a body that flies with an arm, one of three links in a row, a lone slide, and
# one that is fixed, on which two hang.
PARENT = [-1, 0, 1, 0, 3, 4, 0, 0, 7, 7]
FREEDOMS = [0, 6, 1, 1, 2, 3, 1, 0, 1, 2]
ROOTS = [0, 1, 1, 3, 3, 3, 6, 7, 7, 7]
BODY = [0, 4, 2, 9, 1, 3, 8, 7, 6, 5]  # of each link


def links() -> Any:
    out = table(LINK, len(PARENT))
    out.parent[:], out.nv[:], out.body[:] = PARENT, FREEDOMS, BODY
    out.parent[0] = 0
    out.v[:] = np.cumsum(FREEDOMS) - FREEDOMS
    out.column[:] = 50 - 5 * np.arange(len(PARENT))  # columns are in an order of their own, and more than the freedoms
    return out


def tables(**more: Any) -> Any:
    """Return tables in which nothing acts, and a point on each body, in the order of bodies, the world first."""
    points, shapes, meetings = table(POINT, 10), table(SHAPE, 5), table(MEETING, 3)
    points.body[:], shapes.link[:] = np.arange(10), [0, 1, 4, 6, 9]
    meetings.a[:], meetings.b[:] = [1, 2, 0], [2, 3, 4]
    nothing = {"rows": (), "laws": (), "late": (), "applied": np.zeros((0, 2), int), "forces": table(FORCE, 0)}
    return Made(links=links(), points=points, shapes=shapes, meetings=meetings, **nothing | more)


def awake(said: np.ndarray | None = None, **more: Any) -> set[int]:
    """Return the roots of the trees that may not fall asleep, by what rules say of meetings."""
    found = rest_of(tables(**more), np.zeros((3, 8)) if said is None else said)
    assert set(found.wakeful.tolist()) <= {0, 1}
    return set(np.flatnonzero(found.wakeful).tolist())


def force(kind: int, **fields: int) -> Any:
    out = table(FORCE, 1)
    out.kind, out.a, out.b = kind, -1, -1
    for name, value in fields.items():
        out[name] = value
    return out


def test_links_know_their_trees_and_freedoms() -> None:
    found = rest_of(tables(), np.zeros((3, 8)))
    assert found.root.tolist() == ROOTS and found.island.tolist() == list(range(10))
    assert found.first.tolist() == [0, 0, 6, 7, 8, 10, 13, 14, 14, 15]
    assert (found.end - found.first).tolist() == FREEDOMS
    assert not found.asleep.any() and not found.wakeful.any() and awake() == set()


@pytest.mark.parametrize("what", ["rows", "laws", "late"])
def test_no_tree_may_fall_asleep_where_something_acts_on_any(what: str) -> None:
    assert awake(**{what: (1,)}) >= {1, 3, 6, 7}


def test_what_formulas_act_on_stays_awake() -> None:
    """By columns, of which a link has as many as freedoms: the second has one, at 40, the fifth three, from 25 on."""
    for column, roots in ((40, {1}), (41, set()), (39, set()), (25, {3}), (27, {3}), (28, set()), (24, set())):
        assert awake(applied=np.array([[7, column]])) == roots
        assert awake(forces=force(TORSION, column=column, turns=1)) == roots
    assert awake(applied=np.array([[25, 99], [40, 10]])) == {7}
    for column, turns, roots in ((22, 3, set()), (23, 3, {3}), (27, 3, {3}), (20, 3, {6}), (18, 23, {3, 6, 1})):
        assert awake(forces=force(TORSION, column=column, turns=turns)) == roots


def test_trees_between_which_forces_act_stay_awake() -> None:
    """Links of the bodies 2, 3, 8 and 6 are the arm, the last of three, the slide, and one of the fixed one's."""
    assert awake(forces=force(SPRING, a=2, b=8)) == {1, 6} and awake(forces=force(SPRING, a=0, b=3)) - {0} == {3}
    assert awake(forces=force(WRENCH, a=6, b=-1)) == {7} and awake(forces=force(WRENCH, a=6, b=2)) == {7, 1}
    assert awake(forces=force(DRAG, a=3, b=2)) == {3}  # its second end says nothing
    assert awake(forces=force(TORSION, a=3, b=2, column=99, turns=1)) == set()


@pytest.mark.parametrize("place", [6, 7])
def test_friction_against_spinning_and_rolling_keeps_both_sides_awake(place: int) -> None:
    laws = np.zeros((3, 8))
    laws[:, :6] = 1.0
    assert awake(laws) == set()
    laws[1, place] = 1e-3
    assert awake(laws) == {3, 6}
    laws[2, place] = 1e-3
    assert awake(laws) - {0} == {3, 6, 7}


def test_laws_of_meetings_are_what_their_rules_say() -> None:
    """The rule of each pair, whose friction is the model's own for both."""
    said = Made(restitution=0.2, rest_speed=0.03, soft=None, patch_radius=0.004, rolling_radius=0.005)
    soft = Made(
        restitution=0.0, rest_speed=0.0, soft=Made(stiffness=7e3, dissipation=0.8), patch_radius=0.0, rolling_radius=0.1
    )
    model: Any = Made(
        scene=Made(contacts=[soft, said]), friction=lambda pair, rule: pair + 0.1 * rule,
        friction_at_rest=lambda pair, rule: 10.0 * pair + rule,
    )  # fmt: skip
    structure: Any = Made(meetings={5: 1, 3: 0})
    assert laws_of(model, structure) == pytest.approx(
        np.array([[5.1, 0.2, 0.03, 51.0, 0.0, 0.0, 0.004, 0.005], [3.0, 0.0, 0.0, 30.0, 7e3, 0.8, 0.0, 0.1]])
    )


# --- what acts on the freedoms of joints -----------------------------------------------------------------------------


@dataclass
class Acting:
    """Two joints of three freedoms and one, with a stop each, and forces: a torsion spring of each, and one between."""

    columns: Any
    stops: Any
    forces: Any
    step: float = 0.0


def acting(step: float = 0.0) -> Any:
    columns, stops, forces = table(COLUMN, 4), table(STOP, 2), table(FORCE, 4)
    columns.joint[:], stops.joint[:], stops.stiffness[:] = [3, 3, 3, 5], [5, 3], [7.0, 8.0]
    columns.stiffness[:], columns.damping[:], columns.armature[:] = [10, 20, 30, 40], [1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4]
    columns.friction[:] = 9.0
    forces.kind[:], forces.column[:], forces.turns[:] = [TORSION, SPRING, TORSION, TORSION], [3, 0, 0, 1], [1, 0, 3, 1]
    forces.stiffness[:], forces.damping[:] = [100, 200, 300, 1000], [0.5, 0.25, 0.125, 0.75]
    return Acting(columns, stops, forces, step)


def test_springs_of_joints_are_their_own_and_torsion_springs() -> None:
    stiffness, damping = joint_springs(acting())
    assert stiffness.tolist() == [310, 1320, 330, 140]
    assert damping.tolist() == [1.125, 2.875, 3.125, 4.5]
    before = acting()
    joint_springs(before)[0][:] = 0.0
    assert before.columns.stiffness.tolist() == [10, 20, 30, 40]


def test_a_time_step_adds_to_inertia_what_springs_and_dampers_give_at_its_end() -> None:
    model = acting()
    assert _firm(model) is model
    model = acting(step=0.5)
    found = _firm(model)
    more = 0.5 * np.array([1.125, 2.875, 3.125, 4.5]) + 0.25 * np.array([310, 1320, 330, 140])
    assert found.columns.armature == pytest.approx(np.array([0.1, 0.2, 0.3, 0.4]) + more, rel=1e-15)
    assert found.columns.stiffness.tolist() == [10, 20, 30, 40] and model.columns.armature[0] == 0.1
    assert found.stops is model.stops and found.forces is model.forces


def test_nothing_acts_on_joints_that_are_absent() -> None:
    """But friction, which decisions ask for; a force between points is none of a joint."""
    model = acting()
    for present, there, stops, springs, dampers in (
        ({3}, [1, 1, 1, 0], [0, 8], [0, 200, 300, 1000], [0, 0.25, 0.125, 0.75]),
        ({5, 9}, [0, 0, 0, 1], [7, 0], [100, 200, 0, 0], [0.5, 0.25, 0, 0]),
        ({3, 5}, [1, 1, 1, 1], [7, 8], [100, 200, 300, 1000], [0.5, 0.25, 0.125, 0.75]),
        (set(), [0, 0, 0, 0], [0, 0], [0, 200, 0, 0], [0, 0.25, 0, 0]),
    ):
        found = _of_present(model, present)
        for name in ("stiffness", "damping", "armature"):
            assert found.columns[name].tolist() == (model.columns[name] * there).tolist()
        assert found.columns.friction.tolist() == [9.0] * 4 and found.stops.stiffness.tolist() == stops
        assert found.forces.stiffness.tolist() == springs and found.forces.damping.tolist() == dampers
    assert acting().columns.tobytes() == model.columns.tobytes() and acting().forces.tobytes() == model.forces.tobytes()


@pytest.mark.parametrize(("least", "help_"), [(0.9e-13, True), (1.1e-13, False), (0.0, True), (1.0, False)])
def test_a_body_is_thin_whose_least_moment_of_inertia_is_roundoff_of_the_largest(least: float, help_: bool) -> None:
    """In whatever axes, of any body, the first of which is the world and none."""
    for k in range(3):
        bodies = table(LINK, 4)
        bodies.inertia_K[1:, :3] = 5.0
        bodies.inertia_K[2, :3] = np.roll([least, 1.0, 1.0], k) * 3e-4
        assert needs_help(bodies) is help_
    bodies.inertia_K[2] = [0.5, 0.5, 1.0, 0.5, 0.0, 0.0]  # along (1, -1, 0) it is thin
    assert needs_help(bodies) and not needs_help(bodies[:2])
    for place in range(3):
        bodies.inertia_K[2] = np.roll([0.5, 0.5, 1.0], place).tolist() + np.roll([0.5, 0.0, 0.0], -place).tolist()
        assert needs_help(bodies)
        bodies.inertia_K[2, 3:] *= -0.999
        assert not needs_help(bodies)
    bodies.inertia_K[2] = 0.0
    assert needs_help(bodies) and not needs_help(bodies[:1])


@pytest.mark.parametrize(("length", "third"), [(0.5, 2), (1e-5, 3)])
def test_inertia_is_lent_where_no_mass_moves_to_turns_first(
    length: float, third: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many freedoms as there are such directions: a turn without inertia, a turn and a slide that cancel, three
    freedoms along one of which mass moves; not a slide that moves mass, and not what a slide is for its length."""
    M, w = np.zeros((7, 7)), np.array([1.0, 1.0, 1.0])
    M[1, 1], M[2:4, 2:4], M[4:, 4:] = 2.0, [[1.0, 2.0], [2.0, 4.0]], np.outer(w, w)
    bodies, freedoms = links(), table(FREEDOM, 7)
    bodies.mass[:], bodies.mass[4:6] = 0.0, [3.0, 4.0]
    freedoms.linear[:] = [0, 1, 0, 1, 0, 1, 0]
    asked: list[Any] = []

    def at_any_pose(links: Any, freedoms: Any, nq: int) -> Any:
        asked.append(nq)
        return M, M.diagonal()

    monkeypatch.setattr(lending, "needs_help", lambda links: links is bodies)
    monkeypatch.setattr(lending, "at_any_pose", at_any_pose)
    turn, slide = 7e-4 * length**2, 7e-4
    wanted = np.array([turn, 0.0, 0.0, 0.0, turn, 0.0, turn])
    wanted[third] = turn if third == 2 else slide
    if length < 1e-3:  # of something so small, a turn is seen
        wanted[4:] = lending.lent(bodies, freedoms, 9, length)[4:]
        assert wanted[5] == slide and sorted(wanted[[4, 6]].tolist()) == pytest.approx([0.0, turn])
    assert lending.lent(bodies, freedoms, 9, length) == pytest.approx(wanted, rel=1e-12)
    assert set(asked) == {9}
    assert lending.lent(links(), freedoms, 9, length).tolist() == [0.0] * 7  # which need no help
    assert lending.lent(bodies, freedoms[:0], 9, length).shape == (0,)
    bodies.mass[:] = 0.0
    assert 0.0 < lending.lent(bodies, freedoms, 9, 1.0)[0] < 1e-300
    z = lending.still(M, M.diagonal())
    assert z.shape == (7, 4) and np.linalg.matrix_rank(z) == 4 and np.abs(M @ z).max() < 1e-14
    M[0, 0] = 0.9e-13  # beside terms of that size it is inertia
    assert lending.still(M, M.diagonal()).shape == (7, 3)
    for part, lost in ((6.9e-13, 4), (7.1e-13, 3)):  # beside larger ones roundoff, as far as there are freedoms
        M[0, 0] = part
        assert lending.still(M, np.where(np.arange(7) == 0, 1.0, M.diagonal())).shape == (7, lost)


def test_rows_of_a_matrix_are_those_of_blocks_that_hang_together() -> None:
    for sizes in ([1], [3], [1, 1, 2], [2, 1, 4, 3]):
        n, M, first = sum(sizes), np.zeros((sum(sizes),) * 2), 0
        for size in sizes:
            M[first : first + size, first : first + size] = np.eye(size)
            M[first, first + size - 1] = M[first + size - 1, first] = -0.5  # no more than these
            first += size
        found = lending._blocks(M)
        assert [len(rows) for rows in found] == sizes and np.concatenate(found).tolist() == list(range(n))


# --- ways along trees ------------------------------------------------------------------------------------------------


def up(link: int) -> list[int]:
    """Return the links from one to its root, and the world."""
    return [link] if link == 0 else [link, *up(PARENT[link])]


def freedoms_of(way: list[int]) -> list[int]:
    """Return the freedoms of links, each link's last one first."""
    first = np.cumsum(FREEDOMS) - FREEDOMS
    return [int(first[link]) + k for link in way for k in reversed(range(FREEDOMS[link]))]


def test_ways_lead_from_both_links_to_their_fork_and_on_to_the_world() -> None:
    paths = Paths(links())
    assert paths.root == ROOTS and paths.parent == [0, *PARENT[1:]]
    for a in range(10):
        for b in range(10):
            fork = max(set(up(a)) & set(up(b)))
            parts = [freedoms_of([link for link in up(end) if link > fork and link not in up(fork)]) for end in (b, a)]
            parts.append(freedoms_of(up(fork)[:-1]))
            found = paths.between(a, b)
            assert found.fork == fork and found.freedoms == tuple(k for part in parts for k in part)
            assert found.sizes == tuple(map(len, parts)) and paths.between(a, b) is found


def test_two_ways_share_freedoms_at_places_of_both() -> None:
    found = common((9, 4, 7, 2), (2, 3, 4))
    assert found.tolist() == [[1, 2], [3, 0]] and found.dtype == np.int64 and not found.flags.writeable
    assert common((1, 2), (3,)).shape == (0, 2) and math.prod(common((), ()).shape) == 0
