"""Solve a contact problem: full constraint first, then relax what it cannot give, until the law holds everywhere.

The paper's order (dynamics filter, 1999): all points stick; infeasible forces loosen constraints one after the other,
face -> edge -> point -> slide -> open.  Made rigorous: what a point does next is read off a projection on its own law,
points close again, slip directions are found by Newton's method.  Where modes come back without an answer,
Gauss-Seidel sweeps go on from there; where they take too long, a path from soft contacts to rigid ones is followed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.contact.active import Active, solve
from sim.contact.contact_problem import ContactProblem, Mode
from sim.contact.homotopy import follow, softened, softnesses
from sim.contact.law import Regions, regions
from sim.contact.not_unique import Sharing, share
from sim.contact.solution import ContactSolution, ContactStatus, name_modes
from sim.contact.sweeps import sweep

# Residual [share of rate] that counts as solved, and that at which iterations stop: Newton's last ones are cheap.
SOLVED, EXACT = 1e-10, 1e-13
# Share of the worst violation that counts as the same.
ALIKE = 1.0 - 1e-6
# Linear solves before modes count as cycling.
ITERATIONS = 30
# Impulses [share of rate / trace(G_kk)] that are no answer but a system without one.
HUGE = 1e12
# Sweeps after which modes are tried again, 500 in all, and the iterations for that.
FIRST_ROUNDS, LAST_ROUNDS = (10, 20, 40), (130, 300)
POLISHING = 15


@dataclass
class Search:
    """The best impulses so far, and what was spent."""

    P: np.ndarray
    merit: float
    iterations: int = 0
    sweeps: int = 0
    cycling: bool = False
    dug_in: bool = False  # the last sweep met a sliding point that no impulse lifts


@np.errstate(over="ignore", invalid="ignore")  # impulses of systems without an answer, which are not taken
def solve_contacts(problem: ContactProblem) -> ContactSolution:
    """Return impulses (level V) or forces (level A) of all points; never silent about a residual.

    The same problem gives the same bits.  Frictionless and all-stick problems have a unique motion; with friction a
    solution exists at level V with shift 0, perhaps several; at level A there may be none (`ContactStatus.PAINLEVE`).
    """
    nothing = np.zeros((problem.points, 3))
    search = Search(nothing, regions(problem, nothing, problem.free3).merit)
    if search.merit > 0.0:
        relax(problem, Active.first(problem), search, ITERATIONS, nothing)
    if search.merit > SOLVED:
        search.cycling = True
        sweep_and_polish(problem, search, FIRST_ROUNDS)
    if search.merit > SOLVED and not search.dug_in:
        for share in softnesses(problem.points):
            if search.merit > SOLVED:
                follow_the_path(problem, search, share)
        if search.merit > SOLVED:
            sweep_and_polish(problem, search, LAST_ROUNDS)
    return conclude(problem, search)


def polish(problem: ContactProblem, P: np.ndarray) -> ContactSolution:
    """Return the solution near impulses P (k, 3), if Newton's method finds one there."""
    found = regions(problem, P, problem.rates(P))
    search = Search(P, found.merit)
    relax(problem, Active.of(found), search, POLISHING, P)
    return conclude(problem, search)


def relax(problem: ContactProblem, active: Active, search: Search, iterations: int, P: np.ndarray) -> None:
    """From P, solve with modes, look what the law makes of it, change modes, until the law holds or modes come back."""
    first = search.iterations
    merit = regions(problem, P, problem.rates(P)).merit if P.any() else np.inf
    seen, last, careful = set[bytes](), b"", False
    full = not P.any()  # the paper's full constraint: first only the worst point of each patch is relaxed
    while search.iterations < first + iterations:
        search.iterations += 1
        new = solve(problem, active, P)
        if not np.abs(new * problem.trace[:, None]).max() < HUGE * problem.rate:
            return
        found = regions(problem, new, problem.rates(new))
        if found.merit >= merit:
            new, found = damped(problem, P, new, merit)
        P, merit = new, found.merit
        if merit < search.merit:
            search.P, search.merit = P, merit
        elif search.merit <= SOLVED:
            return
        if search.merit <= EXACT:
            return
        wanted = Active.of(found)
        if full or careful:
            wanted = wanted.only(worst_of_patches(problem, active, wanted, found.violation), active)
        active, full = wanted, False
        key = active.key()
        if key != last and key in seen:
            if careful:
                return
            careful = True
            seen.clear()
        seen.add(key)
        last = key


def damped(problem: ContactProblem, P: np.ndarray, new: np.ndarray, merit: float) -> tuple[np.ndarray, Regions]:
    """Return impulses between two guesses at which the law is nearer than at the first, else the second."""
    share = 0.5
    while share > 0.05:
        between = P + share * (new - P)
        found = regions(problem, between, problem.rates(between))
        if found.merit < merit:
            return between, found
        share *= 0.5
    return new, regions(problem, new, problem.rates(new))


def worst_of_patches(problem: ContactProblem, old: Active, new: Active, violation: np.ndarray) -> np.ndarray:
    """Return the mask (k,) of points that may change: of each patch the most violated of those whose mode would.

    Points that are violated as much go with it: the order of points must not break a symmetry.  Where the mode stays,
    the direction of slip moves on.
    """
    changes = (old.closed != new.closed) | (old.slips != new.slips)
    weight = np.where(changes, violation, -1.0)
    worst = np.zeros(problem.points, bool)
    for patch in np.unique(problem.patch):
        members = problem.patch == patch
        worst |= members & (weight >= ALIKE * weight[members].max())
    return worst | ~changes


def sweep_and_polish(problem: ContactProblem, search: Search, rounds: tuple[int, ...]) -> None:
    """Sweep on from the best so far, and try modes again after each round."""
    P = search.P
    for sweeps in rounds:
        P, made, merit, search.dug_in = sweep(problem, P, sweeps, EXACT)
        search.sweeps += made
        if merit < search.merit:
            search.P, search.merit = P, merit
        relax(problem, Active.of(regions(problem, P, problem.rates(P))), search, POLISHING, P)
        if search.merit <= SOLVED:
            return


def follow_the_path(problem: ContactProblem, search: Search, share: np.ndarray) -> None:
    """Follow the answer of points that are soft, each by its share (k,), to that of rigid ones."""
    nothing = np.zeros_like(search.P)
    soft = Search(nothing, np.inf)
    softest = softened(problem, share, 0.0)
    relax(softest, Active.first(softest), soft, ITERATIONS, nothing)
    P, made = follow(problem, share, soft.P)
    search.iterations += soft.iterations + made
    relax(problem, Active.of(regions(problem, P, problem.rates(P))), search, POLISHING, P)


def conclude(problem: ContactProblem, search: Search) -> ContactSolution:
    """Name modes, share what is redundant, and measure."""
    P, z = search.P, problem.rates(search.P)
    mode, d = name_modes(problem, P, z)
    sharing = share(problem, P, mode, d)
    found = regions(problem, sharing.P, problem.rates(sharing.P))
    if found.merit <= max(SOLVED, search.merit):
        P = sharing.P
        merit = found.merit
    else:
        merit = regions(problem, P, z).merit
    return told(problem, search, P, mode, d, sharing, merit)


def told(
    problem: ContactProblem, search: Search, P: np.ndarray, mode: np.ndarray, d: np.ndarray, sharing: Sharing,
    merit: float,
) -> ContactSolution:  # fmt: skip
    """Return impulses P (k, 3) that leave the law by `merit`, and what a search for them took."""
    plain, chosen = problem.rates(P), sharing.chosen
    status, painleve = ContactStatus.SOLVED, np.zeros(problem.points, bool)
    if merit > SOLVED:
        painleve = digging_in(problem)
        if not painleve.any():  # no single one: all that slide do it together
            painleve = problem.given & problem.closed
        status = ContactStatus.PAINLEVE if painleve.any() else ContactStatus.RESIDUAL
    plain[:, 0] -= problem.shift
    return ContactSolution(
        status=status, P=P, z=plain, mode=mode, d=d, iterations=search.iterations, sweeps=search.sweeps,
        cycling=search.cycling, problem=problem,
        chosen=chosen, indeterminate=chosen & (mode == int(Mode.SLIP)), motion_unique=sharing.motion_unique,
        painleve=painleve, unit=problem.rate / problem.trace, rate=problem.rate, given=problem.given,
    )  # fmt: skip


def digging_in(problem: ContactProblem) -> np.ndarray:
    """Return the mask (k,) of points whose friction along the given slip presses them in more than P_n lifts them.

    G_nn - mu d.G_tn <= 0: if such a point is pressed, forces have no answer.
    """
    own = problem.blocks[np.arange(problem.points), np.arange(problem.points)]
    gain = own[:, 0, 0] - problem.mu * np.einsum("ki,ki->k", problem.sliding, own[:, 1:, 0])
    return problem.given & problem.closed & (gain <= 0.0) & (own[:, 0, 0] > 0.0)
