"""Formulas of torques and wrenches that read forces, which in turn depend on what the formulas give.

While nothing that touches, sticks or slides changes, forces of joints and contacts are affine in what acts, and so are
the formulas in the forces that they read (`sim.scene.late` refuses others):

    F = F0 + R u,   u = a + B F      so that      (1 - B R) u = a + B F0,

one linear system of as many unknowns as there are such formulas.  Its columns are what the formulas answer to a unit of
each u.  Formulas that read energies are found the same way: they only come later than others.
"""

from __future__ import annotations

from sim.kernels.dynamics import apply_forces, move
from sim.kernels.jit import driver, entry, kernel, spliced
from sim.kernels.lu import factorise_lu, solve_lu
from sim.kernels.observe import energies, find_forces
from sim.kernels.programs import run_program
from sim.kernels.status import Status
from sim.kernels.system import STORE, ask, unpack, vector

# Of the largest value: what may be left.  Corrections: one takes roundoff away; more are needed only where points
# creep, whose friction turns with what acts.
LEFT, CORRECTIONS = 1e-13, 12
SINGULAR = 1e-12  # of 1: pivots below it are roundoff


@entry
def feedback(question, system, t, a, b):
    """Answer FEED: control.fed, the values of late formulas, at coordinates a and rates b.  Returns a status."""
    tables, _, _, _ = unpack(system)
    return feed_back(system, t, vector(a, tables.one.nq[0]), vector(b, tables.one.nv[0]))


@driver
def feed_back(system, t, q, v):
    """Solve for control.fed, and leave kinematics and factors as they were.  Returns a status."""
    _, control, work, _ = unpack(system)
    fed, answers, order = control.fed, work.late, work.late_order
    n = fed.size
    left = answers[n]
    for i in range(n):
        fed[i] = 0.0
    status = formulas(system, t, q, v, left)
    for j in range(n):
        fed[j] = 1.0
        status = max(status, formulas(system, t, q, v, answers[j]))
        fed[j] = 0.0
    if status == Status.OK:
        into_matrix(answers, left)
        if not (factorise_lu(answers[:n], order) and regular(answers, n)):
            status = Status.ENTANGLED
    for _ in range(CORRECTIONS):
        if status != Status.OK:
            break
        solve_lu(answers[:n], order, left)
        largest = add_to(fed, left)
        status = formulas(system, t, q, v, left)
        if take_off(left, fed) <= LEFT * largest:
            break
    begin_anew(system, q, v)
    return status


@spliced
def formulas(system, t, q, v, values_out):
    """Values of the late formulas where these give control.fed.  Returns a status."""
    tables, _, work, _ = unpack(system)
    begin_anew(system, q, v)
    apply_forces(system, t, q, v)
    status, _ = find_forces(system, tables, work, t)
    energies(
        tables.links, tables.columns, tables.stops, tables.forces, tables.points, tables.one.gravity_W,
        work.coordinate, work.rate, work.links, work.one,
    )  # fmt: skip
    if tables.one.soft[0]:
        ask(work.answers, STORE, system, t, q, v)
    for i in range(values_out.size):
        values_out[i] = run_program(tables, work, tables.late[i], t)
    return status


@spliced
def begin_anew(system, q, v):
    """Forget the forces of rows, which those that repeat others would keep; leave kinematics as `move` does."""
    _, _, work, _ = unpack(system)
    for r in range(work.rows.force.size):
        work.rows.force[r] = 0.0
    move(system, q, v)


@kernel
def into_matrix(answers_out, at_zero):
    """Make of the rows, values of all formulas where one gives a unit, the matrix 1 - B R; at_zero: where none does."""
    n = at_zero.size
    for j in range(n):
        for i in range(n):
            answers_out[j, i] = (1.0 if i == j else 0.0) - (answers_out[j, i] - at_zero[i])
    for j in range(n):
        for i in range(j):
            answers_out[j, i], answers_out[i, j] = answers_out[i, j], answers_out[j, i]


@kernel
def regular(factors, n):
    """Tell whether no pivot is roundoff; their inverses are on the diagonal."""
    fine = True
    for i in range(n):
        fine = fine and abs(factors[i, i]) < 1.0 / SINGULAR
    return fine


@kernel
def add_to(fed_out, change):
    """Add a change; returns the largest value."""
    largest = 0.0
    for i in range(fed_out.size):
        fed_out[i] += change[i]
        largest = max(largest, abs(fed_out[i]))
    return largest


@kernel
def take_off(left_out, fed):
    """Let left_out be what formulas give less what they were taken to give; returns the largest difference."""
    largest = 0.0
    for i in range(fed.size):
        left_out[i] -= fed[i]
        largest = max(largest, abs(left_out[i]))
    return largest
