"""Poses of the same written coordinates on other branches: the one nearest to guesses of further joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sim.assembly.continuation import leg_to, q_of, v_of
from sim.assembly.loop_closure import RANK, Aim, close_positions, rates_of_loops
from sim.assembly.standing import Standing
from sim.kernels.project import add_freedoms, normalise
from sim.mechanism.mechanism import Mechanism

SEEDS = 12  # poses at random from which a branch is looked for, besides the pose itself
MANY = 40  # freedoms above which none are
ALIKE = 1e-6  # m or rad: guesses that two poses miss by as much as this are missed alike


def nearest_branch(
    mechanism: Mechanism, q: np.ndarray, aims: Sequence[Aim], guesses: Sequence[Aim], standing: Sequence[Standing]
) -> bool:
    """Bring q to the pose with these coordinates in which guesses are missed least; tell whether there is one.

    Guesses are held first, then let go, as far as it takes to close the loops; from the pose and others at random.
    Angles are told by the turn that is nearest to their guess, those of other joints to where they were.
    """
    structure, control = mechanism.structure, mechanism.control
    mechanism.update(q, np.zeros(structure.sizes.v))
    drawn, was = q.copy(), mechanism.work.coordinate.copy()
    for points in standing:
        best: tuple[float, np.ndarray] | None = None
        for seed in _seeds(mechanism, drawn, aims):
            control.turn[:] = was
            found = _closed_near(mechanism, seed, aims, guesses, points)
            off = _missed(mechanism, seed, guesses) if found else np.inf
            if found and (best is None or off < best[0] - ALIKE):
                best = off, seed
        if best is not None:
            q[:] = best[1]
            control.turn[:] = was
            for aim in [*guesses, *aims]:
                if aim.joint in structure.loops:
                    control.turn[aim.columns(mechanism)] = aim.value
            _count_turns(mechanism, q, drawn, aims, guesses)
            mechanism.update(q, np.zeros(structure.sizes.v))
            control.turn[:] = mechanism.work.coordinate
            return True
    q[:], control.turn[:] = drawn, was
    return False


def fitting_pose(mechanism: Mechanism, q: np.ndarray, aims: Sequence[Aim], standing: Sequence[Standing]) -> bool:
    """Bring q to a pose on any branch that has all these coordinates, if they fit though some follow from others.

    Who writes more coordinates than there are freedoms, so that loops close with them, means that pose.  Where none of
    them follows from others there are many such poses, and nothing says which is meant.  Tells whether q was brought.
    """
    begun, turns = q.copy(), mechanism.control.turn.copy()
    if nearest_branch(mechanism, q, aims, (), standing) and _follows(mechanism, aims):
        return True
    q[:], mechanism.control.turn[:] = begun, turns
    return False


def _follows(mechanism: Mechanism, aims: Sequence[Aim]) -> bool:
    """Tell whether loops do not let some of these coordinates vary while the others stay, as last looked at."""
    structure = mechanism.structure
    of_loops = rates_of_loops(mechanism, [aim for aim in aims if aim.joint in structure.loops])
    own = [np.eye(structure.sizes.v)[v_of(mechanism, aim)] for aim in aims if aim.joint not in structure.loops]
    J, wanted = mechanism.jacobian()[mechanism.placed()], np.vstack([*of_loops, *own])
    rank, more = (np.linalg.matrix_rank(rows, tol=RANK * np.linalg.norm(J, 2)) for rows in (J, np.vstack([J, wanted])))
    return bool(more < rank + len(wanted))


def _seeds(mechanism: Mechanism, drawn: np.ndarray, aims: Sequence[Aim]) -> Iterator[np.ndarray]:
    """Return poses to begin with: this one, then some in which what is not written stands anywhere."""
    yield drawn.copy()
    structure, rng = mechanism.structure, np.random.default_rng(3)
    nv = structure.sizes.v
    unit = np.where(np.asarray(structure.tables.freedoms.linear) == 1, 0.5 * mechanism.model.length, np.pi)
    for _ in range(SEEDS if nv <= MANY else 0):
        seed = drawn.copy()
        add_freedoms(structure.tables.links, rng.uniform(-1.0, 1.0, nv) * unit, 1.0, seed)
        yield seed


def _closed_near(
    mechanism: Mechanism, q: np.ndarray, aims: Sequence[Aim], guesses: Sequence[Aim], standing: Standing
) -> bool:
    """Close the loops with aims kept, first with guesses held, then without; tell whether they close."""
    structure = mechanism.structure
    fixed, held = np.zeros(structure.sizes.v, bool), np.zeros(structure.sizes.v, bool)
    of_loops: dict[bool, list[Aim]] = {False: [], True: []}
    for guessed, some, mask in ((True, guesses, held), (False, aims, fixed)):
        for aim in some:
            if aim.joint in structure.loops:
                of_loops[guessed].append(aim)
                mechanism.control.turn[aim.columns(mechanism)] = aim.value
                continue
            q[q_of(mechanism, aim)] = aim.value
            mask[v_of(mechanism, aim)] = True
    normalise(structure.tables.links, q)
    every = [*of_loops[False], *of_loops[True]]
    if close_positions(mechanism, q, fixed | held, every, drives=False, standing=standing):
        return True
    return close_positions(mechanism, q, fixed, of_loops[False], drives=False, standing=standing)


def _missed(mechanism: Mechanism, q: np.ndarray, guesses: Sequence[Aim]) -> float:
    """Return by how much guesses are missed, as last looked at, whole turns left out [rad, lengths]."""
    worst = 0.0
    for aim in guesses:
        off = leg_to(mechanism, q, aim).rate
        linear = np.array(mechanism.model.type_of(aim.joint).linear[aim.first : aim.first + len(off)], bool)
        turned = np.abs(np.remainder(off + np.pi, 2.0 * np.pi) - np.pi)
        worst = max(worst, float(np.where(linear, np.abs(off) / mechanism.model.length, turned).max(initial=0.0)))
    return worst


def _count_turns(
    mechanism: Mechanism, q: np.ndarray, drawn: np.ndarray, aims: Sequence[Aim], guesses: Sequence[Aim]
) -> None:
    """Tell the angles of the tree by the turns nearest to guesses, those of others to where they were."""
    model, structure = mechanism.model, mechanism.structure
    written = {aim.joint for aim in aims}
    meant = {aim.joint: aim for aim in guesses}
    for joint in map(int, structure.carrier[1:]):
        kind = model.type_of(joint)
        if joint in written or kind.ball >= 0:
            continue
        at = structure.q_of(model, joint)
        near = meant[joint].value if joint in meant else drawn[at]
        hinge = ~np.array(kind.linear, bool)
        q[at] += np.where(hinge, 2.0 * np.pi * np.round((near - q[at]) / (2.0 * np.pi)), 0.0)
