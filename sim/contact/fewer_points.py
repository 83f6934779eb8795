"""Contact problems with fewer points, where those that are left do the same or nearly so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim.contact.by_kernels import solve_contacts
from sim.contact.contact_problem import ContactProblem
from sim.contact.solution import ContactSolution

LITTLE = 1e-2  # of the accelerations: by as much may points sink in that creeps beside them let pull
LEVEL = 1e-6  # of the accelerations: by as much may points that share what others can bear alone


def let_fewer_press(problem: ContactProblem, answer: ContactSolution) -> ContactProblem:
    """Return the problem of fewer points that slide, whose forces are unique, where these hold up the others.

    Sliding points that share their forces may be followed to where their choice grows without end, though others hold.
    """
    refused = np.zeros(problem.points, bool)
    while (able := answer.indeterminate & ~refused).any():
        least = int(np.argmin(np.where(able, answer.P[:, 0], np.inf)))
        fewer = replace(problem, closed=problem.closed & (np.arange(problem.points) != least))
        other = solve_contacts(fewer)
        if other.status or other.z[least, 0] < -LEVEL * other.rate:
            refused[least] = True
        else:
            problem, answer = fewer, other
    return problem


def without_what_pulls(problem: ContactProblem, pulls: np.ndarray) -> ContactProblem:
    """Return the problem without points (k,) that pull, where the others hold these up but for little; else itself."""
    fewer = replace(problem, closed=problem.closed & ~pulls)
    answer = solve_contacts(fewer)
    return fewer if not answer.status and (answer.z[pulls, 0] > -LITTLE * answer.rate).all() else problem


__all__ = ["let_fewer_press", "without_what_pulls"]
