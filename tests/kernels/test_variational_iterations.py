"""How a variational step decides: its two iterations with corrections that are made up, and what they are fed."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from sim.kernels.integrators import variational
from sim.kernels.scratch import CARRIED, PUSHED, ROW_WORK, SETTLED
from sim.kernels.status import Status
from sim.kernels.stepper import REPLY
from sim.kernels.system import VARIATIONAL
from sim.kernels.tables import FREEDOM, LINK, ROW, table
from tests.kernels.kinds import ROTATIONAL, TRANSLATIONAL, lay_out
from tests.kernels.plain import plain

pytestmark = pytest.mark.fast

NV, NQ, ROWS, B, LENGTH = 3, 3, 4, 4, 0.5


def identity(system):
    return system


def system_of(acts: tuple[int, int] = (1, 0), failed: int = 0, rows: int = ROWS) -> tuple:
    """Three freedoms, rows of which the second and the last are soft, and scratch full of numbers."""
    rng = np.random.default_rng(3)

    def filled(dtype: np.dtype, count: int) -> np.recarray:
        out = table(dtype, count)
        out.end, out.between = rng.normal(size=(2, *out.end.shape))
        return out

    links, freedoms, table_rows, row_work = table(LINK, B), table(FREEDOM, NV), table(ROW, rows), table(ROW_WORK, rows)
    lay_out(links, [ROTATIONAL, TRANSLATIONAL, ROTATIONAL])
    links.column[1:] = [2, 0, 1]
    freedoms.armature[:], freedoms.linear[:] = [0.2, 0.7, 0.4], [0, 1, 0]
    if rows:
        table_rows.compliance[:] = [0.0, 1.0, 0.0, 1.0]
    for name in ("phi", "slip", "force"):
        row_work[name] = rng.normal(size=rows)
    one = SimpleNamespace(length=[LENGTH], acts=[acts[0]], nq=[NQ], nv=[NV])
    tables = SimpleNamespace(links=links, freedoms=freedoms, rows=table_rows, one=one, blocks="blocks")
    control = SimpleNamespace(acts=[acts[1], 0, 0], failed=[failed])
    work = SimpleNamespace(
        links=SimpleNamespace(F=rng.normal(size=(B, 6))), carried=filled(CARRIED, B),
        pushed=filled(PUSHED, NV), rotors=filled(PUSHED, rows),
         freedoms=SimpleNamespace(y=np.zeros(NV), vdot=rng.normal(size=NV)),
        moved=np.full(NV, 9.0), rows=row_work, one=SimpleNamespace(intact=np.array([7])), torque=np.array([3.0, 5.0,
            11.0]),
        steps=np.zeros((20, NV)), coordinate=rng.normal(size=3), start=np.zeros(3), rate=None, blocks="block work",
        ahead_links="ahead", reply=table(REPLY, 1),
    )  # fmt: skip
    return tables, control, work, None


class Iteration:
    """Corrections of sizes that are told in advance, in units; logs what is called."""

    def __init__(self, sizes: list[float], system: tuple):
        self.sizes, self.system, self.log, self.made = sizes, system, [], 0
        self.first = None

    def parts(self) -> dict:
        names = ("look_ahead", "go_inward", "solve_loops", "improve", "add_freedoms", "closes", "largest_of",
            "apply_forces",
                 "momenta", "subtract", "add_torques", "move", "slips", "factorise")  # fmt: skip
        return {"unpack": identity} | {name: getattr(self, name) for name in names}

    def note(self, name, *arguments):
        self.log.append((name, *arguments))

    def look_ahead(self, system, h, q0, q1, v):
        self.note("look", h)

    def subtract(self, P, Q, F):
        work = self.system[2]
        np.testing.assert_array_equal(P.shape, (B, 6))
        self.note("subtract", "between" if np.array_equal(P, work.carried.between) else "end")
        F[:] = P - Q

    def go_inward(self, tables, work):
        self.y, self.rhs = work.freedoms.y.copy(), work.rows.rhs.copy()

    def solve_loops(self, system):
        self.system[2].freedoms.vdot[:] = [0.1, 0.2, -0.3]

    def largest_of(self, freedoms, length, change, v):
        assert (length, freedoms is self.system[0].freedoms) == (LENGTH, True)
        self.compared = v.copy()
        size = self.sizes[self.made]
        self.made += 1
        return size

    def improve(self, freedoms, length, count, steps, change):
        assert (freedoms is self.system[0].freedoms, length, steps is self.system[2].steps) == (True, LENGTH, True)
        self.note("improve", count)
        change *= 2.0

    def add_freedoms(self, links, change, scale, q):
        self.note("add", scale, change.tolist())

    def closes(self, rows, length, row_work, one):
        assert (rows, length, row_work, one) == (self.system[0].rows, LENGTH, self.system[2].rows, self.system[2].one)
        self.note("closes")
        return Status.NO_CLOSURE

    def apply_forces(self, system, t, q, v):
        self.note("apply", t, v.tolist())

    def momenta(self, links, half, out):
        self.note("momenta", half)
        np.testing.assert_array_equal(out, self.system[2].carried.end)

    def add_torques(self, tables, control, work, half):
        self.note("torques", half)
        work.pushed.end += 100.0

    def move(self, system, q, v):
        self.note("move", v.tolist())

    def factorise(self, system, again):
        self.note("factorise", again)
        return Status.OK

    def slips(self, blocks, rows, block_work, row_work):
        assert (blocks, block_work) == ("blocks", "block work")
        self.note("slips")


H, T = 0.25, 1.5


def gone(sizes: list[float]) -> tuple[tuple[int, int], Iteration]:
    """Sizes are of the corrections times h."""
    made = Iteration([size / H for size in sizes], system_of())
    status, trial = plain(variational.go, **made.parts())(made.system, H, np.zeros(NQ), np.zeros(NQ), np.ones(NV))
    return (int(status), int(trial)), made


def test_the_way_is_corrected_until_that_cannot_be_seen() -> None:
    """Then it is looked whether rows that do not act are closed, too."""
    assert gone([4e-15])[0] == (Status.NO_CLOSURE, 0)
    found, made = gone([1e-3, 1e-7, 3.9e-15])
    assert found == (Status.NO_CLOSURE, 2)
    names = [entry[0] for entry in made.log]
    assert names == [*["look", "subtract", "improve", "add"] * 2, "look", "subtract", "closes"]
    assert [entry for entry in made.log if entry[0] == "improve"] == [("improve", 0), ("improve", 1)]
    assert made.log[0] == ("look", H) and made.log[3] == ("add", H, [0.2, 0.4, -0.6])
    assert [entry[1] for entry in made.log if entry[0] == "subtract"] == ["between"] * 3
    assert gone([1e-3, 4.1e-15, 1e-16])[0] == (Status.NO_CLOSURE, 2)


def test_the_way_is_fed_what_is_missing() -> None:
    _, made = gone([4e-15])
    tables, _, work, _ = made.system
    np.testing.assert_allclose(work.links.F, work.carried.between - work.carried.end)
    np.testing.assert_allclose(made.y, work.pushed.end - work.pushed.between)
    soft = tables.rows.compliance > 0.0
    np.testing.assert_allclose(made.rhs, np.where(soft, work.rotors.end - work.rotors.between, -work.rows.phi / H))
    assert made.compared.tolist() == [0.0] * NV and work.moved.tolist() == [0.0] * NV


@pytest.mark.parametrize("which", ["go", "arrive"])
def test_a_correction_that_is_small_and_no_longer_halved_is_roundoff(which: str) -> None:
    run = gone if which == "go" else arrived
    done = Status.NO_CLOSURE if which == "go" else Status.OK
    first = 0 if which == "go" else 1
    assert run([1e-9, 1.7e-11, 0.9e-11])[0] == (done, 2 + first)
    assert run([1e-9, 1.9e-11, 0.9e-11, 0.2e-11, 0.11e-11])[0] == (done, 4 + first)  # halved; once more; no longer
    assert run([1e-9, 1.7e-11, 1.1e-11, 0.9e-11])[0] == (done, 3 + first)  # too large at first
    assert run([0.9e-11, 1e-16])[0] == (done, 1 + first)  # there is none before the first


def test_a_way_that_leads_astray_is_given_up() -> None:
    assert gone([0.1, 1001.0])[0] == gone([0.1, math.inf])[0] == gone([0.1, math.nan])[0] == (Status.NOT_SOLVED, 1)
    assert gone([999.0, 1e-16])[0] == (Status.NO_CLOSURE, 1)
    found, made = gone([1.0] * 60)
    assert found == (Status.NOT_SOLVED, 60)
    assert [entry[1] for entry in made.log if entry[0] == "improve"] == [k % 20 for k in range(60)]


def arrived(
    sizes: list[float], acts: tuple[int, int] = (1, 0), failed: int = 0, rows: int = ROWS
) -> tuple[tuple[int, int], Iteration]:
    made = Iteration(sizes, system_of(acts, failed, rows))
    made.v = np.array([1.0, 2.0, 3.0])
    made.kept = made.system[2].pushed.end.copy()
    status, trial = plain(variational.arrive, **made.parts())(made.system, T, H, np.zeros(NQ), made.v)
    return (int(status), int(trial)), made


def test_speeds_at_the_end_are_corrected_until_that_cannot_be_seen() -> None:
    found, made = arrived([1e-3, 1e-7, 3.9e-15])
    assert found == (Status.OK, 3)
    step, longer = np.array([0.1, 0.2, -0.3]), np.array([0.2, 0.4, -0.6])
    v = [np.array([1.0, 2.0, 3.0]) + change for change in (0.0, longer, 2 * longer, 2 * longer + step)]
    round_of = ["apply", "momenta", "subtract", "torques"]
    names = [entry[0] for entry in made.log]
    assert names == ["move", "factorise", *[*round_of, "improve", "move", "slips"] * 2, *round_of]
    assert made.log[1] == ("factorise", 1)
    assert [entry[1:] for entry in made.log if entry[0] == "apply"] == [(T, pytest.approx(x.tolist())) for x in v[:3]]
    assert [entry[1] for entry in made.log if entry[0] == "move"] == [pytest.approx(x.tolist()) for x in v[:3]]
    assert {entry[1] for entry in made.log if entry[0] == "momenta"} == {-0.5 * H}
    assert {entry[1] for entry in made.log if entry[0] == "torques"} == {0.5 * H}
    assert [entry[1] for entry in made.log if entry[0] == "improve"] == [0, 1]
    np.testing.assert_allclose(made.v, v[3])  # the last correction is made as it is
    np.testing.assert_allclose(made.compared, v[2])


def test_the_end_is_fed_what_is_missing() -> None:
    _, made = arrived([4e-15])
    tables, _, work, _ = made.system
    np.testing.assert_allclose(work.links.F, work.carried.end - work.carried.between)
    np.testing.assert_allclose(made.y, made.kept - tables.freedoms.armature * [1.0, 2.0, 3.0] + 100.0)
    soft = tables.rows.compliance > 0.0
    np.testing.assert_allclose(made.rhs, np.where(soft, work.rotors.end, 0.0) - work.rows.slip)
    np.testing.assert_array_equal(work.pushed.between, made.kept)


def test_where_nothing_acts_one_correction_is_enough() -> None:
    assert arrived([0.5], acts=(0, 0))[0] == (Status.OK, 1)
    for acts in ((1, 0), (0, 1)):
        assert arrived([0.5, 1e-16], acts)[0] == (Status.OK, 2)
    found, made = arrived([0.5, 0.4, 1e-16], rows=0)
    assert found == (Status.OK, 3) and "slips" not in [entry[0] for entry in made.log]


def test_an_end_that_cannot_be_met_is_told() -> None:
    assert arrived([0.1, 1.01e6])[0] == arrived([0.1, math.nan])[0] == (Status.NOT_SOLVED, 2)
    assert arrived([0.99e6, 1e-16])[0] == (Status.OK, 2)
    assert arrived([1.0] * 60)[0] == (Status.NOT_SOLVED, 60)
    found, made = arrived([1.0], failed=1)
    assert found == (Status.CALLBACK, 0) and made.log[-1][0] == "apply"
    made = Iteration([], system_of())
    made.factorise = lambda system, again: Status.MASS_SINGULAR  # type: ignore[method-assign]
    run = plain(variational.arrive, **made.parts())
    assert run(made.system, T, H, np.zeros(NQ), np.ones(NV)) == (Status.MASS_SINGULAR, 0)


@pytest.mark.parametrize("acts", [(1, 0), (0, 1), (0, 0)])
def test_torques_of_joints_go_to_their_freedoms(acts: tuple[int, int]) -> None:
    """By the columns of their joints, where anything acts."""
    tables, control, work, _ = system_of(acts)
    before = work.pushed.copy()
    plain(variational.add_torques)(tables, control, work, 0.5)
    expected = 0.5 * np.array([11.0, 3.0, 5.0]) * any(acts)
    np.testing.assert_allclose(work.pushed.end - before.end, expected)
    np.testing.assert_array_equal(work.pushed.between, before.between)


@pytest.mark.parametrize("intact", [SETTLED, 0])
@pytest.mark.parametrize("rows", [ROWS, 0])
def test_momenta_at_the_start_are_noted_with_half_an_impulse(intact: int, rows: int) -> None:
    """What SETTLE has left holds still; else all is found anew."""
    system = system_of(rows=rows)
    tables, _, work, _ = system
    work.one.intact[0] = intact
    made, slip = Iteration([], system), work.rows.slip.copy()
    made.factorise = lambda system, again: made.note("factorise", again) or Status.INCONSISTENT  # type: ignore[method-assign]
    looked: list = []
    run = plain(variational.leave, **made.parts(), columns=lambda system, q, v: looked.append((q, v)))
    v = np.array([1.0, 2.0, 3.0])
    status = run(system, T, H, "q", v)
    assert status == (Status.OK if intact == SETTLED else Status.INCONSISTENT) and work.one.intact[0] == 0
    found = [] if intact == SETTLED else [("move", v.tolist()), ("apply", T, v.tolist()), ("factorise", 0)]
    assert made.log == [*found, ("momenta", 0.5 * H), ("torques", 0.5 * H)]
    np.testing.assert_allclose(work.pushed.end, tables.freedoms.armature * v + 100.0)
    if rows:
        assert looked[0][0] == "q"
        np.testing.assert_array_equal(work.start, work.coordinate)
        np.testing.assert_array_equal(work.rotors.end, slip)
    else:
        assert looked == [] and work.start.tolist() == [0.0] * 3


def test_what_the_last_digit_cannot_hold_goes_into_the_momenta() -> None:
    system = system_of()
    tables, _, work, _ = system
    rotors, pushed, seen = work.rotors.copy(), work.pushed.copy(), []

    def complete(links, ahead, out):
        seen.append((links is work.links, ahead, np.shares_memory(out, work.carried)))
        np.testing.assert_array_equal(out, work.carried.between)

    plain(variational.keep_momenta, unpack=identity, complete=complete)(system)
    assert seen == [(True, "ahead", True)]
    np.testing.assert_allclose(work.pushed.end, pushed.between + tables.freedoms.armature * work.freedoms.vdot)
    np.testing.assert_allclose(work.rotors.end, rotors.end - work.rows.force)
    np.testing.assert_array_equal(work.rotors.between, rotors.between)


@pytest.mark.parametrize("follows", [1.0, 0.0, -1.0])
@pytest.mark.parametrize("ends", ["well", "leave", "go", "arrive", "law"])
def test_a_step_goes_from_its_start_to_its_end(follows: float, ends: str) -> None:
    """Forces at the start, the way, speeds at the end; replied are iterations and evaluations."""
    system, log, n = system_of(failed=int(ends == "law")), [], NQ + NV + 2
    status = {ends: Status.NOT_SOLVED}

    def leave(system, t, h, q, v):
        log.append(("leave", t, h, len(q), len(v)))
        return status.get("leave", Status.OK)

    def guess(links, h, follows, y, vdot, before, q, v):
        log.append(("guess", h, bool(follows)))
        np.testing.assert_array_equal(vdot, rows[NQ : NQ + NV])
        np.testing.assert_array_equal(before, rows[2 * n : 3 * n])
        q[:], v[:] = 1.0, 2.0

    def go(system, h, q0, q1, v1):
        log.append(("go", h, q1.tolist(), v1.tolist()))
        return status.get("go", Status.OK), 7

    def arrive(system, t, h, q1, v1):
        log.append(("arrive", t, h, q1.tolist(), v1.tolist()))
        return status.get("arrive", Status.OK), 4

    y, rows = np.arange(1.0, n + 1.0), np.arange(16.0 * n)
    system[2].reply.h, system[2].reply.follows = H, follows
    run = plain(
        getattr(variational.variational, "function", variational.variational), unpack=identity, leave=leave,
        guess=guess,
        go=go, arrive=arrive, keep_momenta=lambda system: log.append(("keep",)), vector=lambda at, size: at[:size],
        follow=lambda system, t: log.append(("follow", t)),
    )  # fmt: skip
    found = run(VARIATIONAL, system, T, y, rows)
    expected = [("leave", T, H, NQ, NV), ("follow", T + H), ("guess", H, follows > 0.0)]
    if ends != "leave":
        expected.append(("go", H, [1.0] * NQ, [2.0] * NV))
        if ends != "go":
            expected += [("keep",), ("arrive", T + H, H, [1.0] * NQ, [2.0] * NV)]
    assert log == expected
    reached = ends not in ("leave", "go")
    reply = system[2].reply
    assert (reply.iterations[0], reply.evaluations[0]) == (0 if ends == "leave" else 7, 5 if reached else 1)
    assert found == {"well": Status.OK, "law": Status.CALLBACK}.get(ends, Status.NOT_SOLVED)
    np.testing.assert_array_equal(rows[n : 2 * n], [*[1.0] * NQ, *[2.0] * NV, n + NQ + NV, n + NQ + NV + 1.0])
