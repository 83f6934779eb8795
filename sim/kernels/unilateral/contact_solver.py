"""Impulses of all that presses within a time step: rows, and sweeps over exact cones.

A row of a press is a wrench on b and its opposite on a.  Over the freedoms between these links and the world it is the
vector U that `articulated.climb` makes, with U U^T = W M^-1 W^T; y = sum P U then stands for all impulses, and U y for
what they do at each press: a visit costs as much as there are freedoms on its way, however many presses there are.
Where loops hold, U is W itself, and R what v answers to the row, all constraints holding: y is then a change of v.
"""

from __future__ import annotations

import math

from sim.kernels.dynamics import go_inward, solve_loops
from sim.kernels.elimination.articulated import climb
from sim.kernels.jit import driver, inlined, kernel, spliced
from sim.kernels.system import unpack
from sim.kernels.unilateral.augmented_lagrangian import Problem, bound_beside, bounded, off_by, solve_together
from sim.kernels.unilateral.cones import PATIENCE, WEAKER, WEAKEST, solve_point
from sim.kernels.unilateral.islands import find_islands, islands_of, number_freedoms, order_trees, trees_of
from sim.kernels.unilateral.sparse_factors import Pattern, shape_pattern
from sim.kernels.unilateral.unbounded import is_unbounded
from sim.kernels.vectors import cross, dot, minus, three

# Exact sweeps before Newton's method, and at last, where it did not find an answer.
FIRST_SWEEPS, LAST_SWEEPS = 5, 60
# Of the asked accuracy: what is taken if it is a tenth of what there was before, as the next step begins with it and
# comes nearer; from where a tree's presses take part.
NEARLY, NEARER, NOTABLE = 1000.0, 0.1, 30.0
AIM = 0.9  # of what is taken: others move what was solved
PASSES = 8  # of choosing presses and solving them
SLOWEST = 1e-6  # of the largest speeds: those of an island that its law is measured by, at least
# Factorisations that Newton's method is expected to take, in operations of which a visit has so many beside its rows.
NEWTON, VISIT = 8.0, 500.0
MANY = 100.0  # sweeps that Newton's method has to cost where others are tried: it comes nearer to the laws than these


@driver
def contact_rows(system, first):
    """Rows U of presses from `first` on, what answers them, their own mobility; needs `factorise` and `gather_presses`.

    Those of presses that were kept stay, where all links that they move do.
    """
    tables, _, work, _ = unpack(system)
    looped = tables.rows.block.size > 0
    width, nv, contacts = work.contact_support.shape[1], work.push.size, work.contacts
    if not looped and first == 0:
        bring_rows(
            work.stepped.points[0], work.unchanged, contacts, work.contact_support, work.contact_U, work.contact_G
        )
    for k in range(first, work.stepped.points[0]):
        if not looped and stays(work.unchanged, contacts, k):
            continue
        contacts.count[k] = list_support(tables.links, contacts, not looped, work.contact_support, k)
        for r in range(contacts.rows[k]):
            if looped:
                jacobian_row(tables, work, k, r, (3 * k + r) * width)
                answer_row(system, k, r)
                for i in range(nv):
                    work.contact_R[3 * k + r, i] = work.freedoms.vdot[i]
            else:
                scaled_row(tables.links, tables.freedoms, work.links, work.freedoms, contacts, k, r,
                           (3 * k + r) * width, work.contact_U)  # fmt: skip
        for i in range((3 * k + contacts.rows[k]) * width, 3 * (k + 1) * width):
            work.contact_U[i] = 0.0
        own_mobility(looped, k, contacts, work.contact_support, work.contact_U, work.contact_R, work.contact_G)


@inlined
def stays(unchanged, contact, k):
    """Tell whether press k was kept from the last step, and neither of its trees has moved."""
    return contact.kept[k] >= 0 and unchanged[contact.link[k, 0]] == 1 and unchanged[contact.link[k, 1]] == 1


@kernel
def bring_rows(points, unchanged, contact, support_out, U_out, G_out):
    """Bring rows of presses that stay to where these stand now; their order is the old one, so that none is lost."""
    for k in range(points):
        if stays(unchanged, contact, k) and contact.kept[k] > k:
            copy_row(contact.kept[k], k, support_out, U_out, G_out)
    for k in range(points - 1, -1, -1):
        if stays(unchanged, contact, k) and contact.kept[k] < k:
            copy_row(contact.kept[k], k, support_out, U_out, G_out)


@inlined
def copy_row(old, k, support_out, U_out, G_out):
    """Copy what belongs to one press."""
    width = support_out.shape[1]
    for i in range(width):
        support_out[k, i] = support_out[old, i]
    for i in range(3 * width):
        U_out[3 * k * width + i] = U_out[3 * old * width + i]
    for r in range(3):
        for s in range(3):
            G_out[k, r, s] = G_out[old, r, s]


@kernel
def list_support(links, contact, beyond, support_out, k):
    """List the freedoms between the links of press k, and beyond these to the world, last ones first; returns how many.

    Links are numbered from roots to tips.
    """
    a, b, count = contact.link[k, 0], contact.link[k, 1], 0
    while a != b or (beyond and a > 0):
        link = max(a, b)
        for i in range(links.v[link] + links.nv[link] - 1, links.v[link] - 1, -1):
            support_out[k, count] = i
            count += 1
        a, b = links.parent[a] if a == link else a, links.parent[b] if b == link else b
    return count


@kernel
def scaled_row(links, freedoms, link_work, freedom_work, contact, k, r, at, U_out):
    """Row r of press k in scaled freedoms, in the order of its support."""
    a, b, K = contact.link[k, 0], contact.link[k, 1], contact.K
    on_b = (K[k, r, 0], K[k, r, 1], K[k, r, 2], K[k, r, 3], K[k, r, 4], K[k, r, 5])
    on_a = (K[k, r, 6], K[k, r, 7], K[k, r, 8], K[k, r, 9], K[k, r, 10], K[k, r, 11])
    while a != b:
        if a > b:
            on_a, at = climb(links, freedoms, link_work, freedom_work, a, links.parent[a], on_a, at, 1, U_out)
            a = links.parent[a]
        else:
            on_b, at = climb(links, freedoms, link_work, freedom_work, b, links.parent[b], on_b, at, 1, U_out)
            b = links.parent[b]
    both = (
        on_a[0] + on_b[0], on_a[1] + on_b[1], on_a[2] + on_b[2],
        on_a[3] + on_b[3], on_a[4] + on_b[4], on_a[5] + on_b[5],
    )  # fmt: skip
    climb(links, freedoms, link_work, freedom_work, a, 0, both, at, 1, U_out)


@spliced
def jacobian_row(tables, work, k, r, at):
    """Row r of press k as the rate that each freedom of its support gives it."""
    parent, vadr, nv = tables.links.parent, tables.links.v, tables.links.nv
    linear, pitch = tables.freedoms.linear, tables.freedoms.pitch
    x, axis, K = work.links.x, work.freedoms.axis, work.contacts.K
    a, b = work.contacts.link[k, 0], work.contacts.link[k, 1]
    while a != b:
        link, first = max(a, b), 0 if b > a else 6
        own = work.contacts.link[k, 1 if b > a else 0]
        force = (K[k, r, first + 3], K[k, r, first + 4], K[k, r, first + 5])
        turn = cross(minus(three(x, own), three(x, link)), force)
        moment = (K[k, r, first] + turn[0], K[k, r, first + 1] + turn[1], K[k, r, first + 2] + turn[2])
        for i in range(vadr[link] + nv[link] - 1, vadr[link] - 1, -1):
            e = three(axis, i)
            work.contact_U[at] = dot(e, force) if linear[i] else dot(e, moment)
            if pitch[i] != 0.0:
                work.contact_U[at] += pitch[i] * dot(e, force)
            at += 1
        a, b = parent[a] if a == link else a, parent[b] if b == link else b


@spliced
def answer_row(system, k, r):
    """vdot: what v answers to a unit impulse of row r of press k, while all constraints hold."""
    tables, _, work, _ = unpack(system)
    F, K, a, b = work.links.F, work.contacts.K, work.contacts.link[k, 0], work.contacts.link[k, 1]
    for i in range(work.rows.rhs.size):
        work.rows.rhs[i] = work.rows.force[i] = 0.0
    for i in range(work.freedoms.y.size):
        work.freedoms.y[i] = 0.0
    for link in range(F.shape[0]):
        for i in range(6):
            F[link, i] = 0.0
    for i in range(6):  # F is what links need, not what they get
        F[b, i] -= K[k, r, i]
        F[a, i] -= K[k, r, 6 + i]
    go_inward(tables, work)
    solve_loops(system)


@kernel
def own_mobility(looped, k, contact, support, U, R, G_out):
    """W M^-1 W^T of press k by itself, zero in rows that it has not, and what a soft stop gives way beside."""
    width = support.shape[1]
    for r in range(3):
        for s in range(3):
            G_out[k, r, s] = 0.0
    for r in range(contact.rows[k]):
        for s in range(contact.rows[k] if looped else r + 1):
            total, first, other = 0.0, (3 * k + r) * width, (3 * k + s) * width
            for i in range(contact.count[k]):
                total += U[first + i] * (R[3 * k + s, support[k, i]] if looped else U[other + i])
            G_out[k, r, s] = total
    G_out[k, 0, 0] += contact.soft[k]
    for r in range(3):
        for s in range(r):
            G_out[k, s, r] = G_out[k, r, s] = 0.5 * (G_out[k, r, s] + G_out[k, s, r]) if looped else G_out[k, r, s]


@kernel
def answer_of(k, contact, support, U, push):
    """What all impulses do to the normal rate of press k."""
    total, first = 0.0, 3 * k * support.shape[1]
    for i in range(contact.count[k]):
        total += U[first + i] * push[support[k, i]]
    return total


@kernel
def add_push(looped, k, P0, P1, P2, contact, support, U, R, push_out):
    """Add to y what a change of press k's impulse does."""
    rows, width = contact.rows[k], support.shape[1]
    if looped:
        for i in range(push_out.size):
            push_out[i] += R[3 * k, i] * P0
            if rows == 3:
                push_out[i] += R[3 * k + 1, i] * P1 + R[3 * k + 2, i] * P2
        return
    first = 3 * k * width
    for i in range(contact.count[k]):
        s = U[first + i] * P0
        if rows == 3:
            s += U[first + width + i] * P1 + U[first + 2 * width + i] * P2
        push_out[support[k, i]] += s


@inlined
def pattern_of(work):
    """Return the pattern of Newton's matrix."""
    columns = work.island_columns
    return Pattern(work.island_runs, columns[0], columns[1], columns[2], columns[3], columns[4], work.island_next)


@spliced
def problem_of(work):
    """Return what the laws of this step's presses are asked of."""
    return Problem(
        work.contacts, work.contact_support, work.contact_U, work.contact_R, work.contact_G, work.contact_d,
        work.contact_P,
        work.contact_z, work.contact_off, work.push, work.contact_tree, work.contact_chosen, work.contact_place,
        work.contact_awake, work.contact_at, work.contact_shape[0], work.contact_shape[1], work.contact_shape[2],
        work.contact_p, work.contact_best, work.push_step[0], work.push_step[1], work.push_step[2], work.push_step[3],
        work.contact_matrix, work.contact_reached, pattern_of(work),
    )  # fmt: skip


@driver
def solve_presses(system, points, enough):
    """Find the impulses of all presses, each as near to its law as `enough`, a rate [m/s]; begins with work.contact_P.

    Where loops join nothing each island is solved by itself, as near as `enough` is of the largest speeds to its own.
    Returns the sweeps and Newton's steps made, and the largest distance from the law after them [m/s], that of an
    island as if its speeds were the largest.
    """
    tables, _, work, _ = unpack(system)
    problem_work, island_work = problem_of(work), islands_of(work)
    made, worst = 0, 0.0
    if tables.rows.block.size > 0:
        choose_all(problem_work, points)
        return sweep_on(problem_work, True, points, enough, look_at_all(problem_work, points))
    found = find_islands(problem_work, island_work, points)
    choose_all(problem_work, points)
    fastest = fastest_of(problem_work, points)
    for n in range(found):
        first, count = island_work.first[n], island_work.first[n + 1] - island_work.first[n]
        choose_island(problem_work, island_work, first, count)
        share = max(fastest_of(problem_work, count) / fastest, SLOWEST) if fastest > 0.0 else 1.0
        steps, left = solve_island(problem_work, island_work, first, count, share * enough)
        made, worst = made + steps, max(worst, left / share)
    return made, worst


@driver
def solve_island(problem_work, island_work, first, count, enough):
    """Find the impulses of an island, `count` presses from `first` on in island_work.press.

    Only the presses of trees where one is off its law are solved, all others pressing as they do, until none is off.
    Returns what `solve_presses` does.
    """
    made, worst = 0, look_at_presses(problem_work, count)
    for n in range(count):
        one, other = trees_of(problem_work, problem_work.chosen[n])
        problem_work.awake[0, one] = problem_work.awake[0, other] = 0
    for turn in range(PASSES):
        if worst <= enough or (turn > 0 and worst <= NEARLY * enough):
            return made, worst
        near = worst <= NEARLY * enough
        aim = max(enough, NEARER * worst if near else AIM * NEARLY * enough)
        chosen, size = choose_notable(
            problem_work, island_work, first, count, max(enough, min(NOTABLE * enough, NEARER * worst))
        )
        sweeps, worst = sweep_while_cheap(problem_work, chosen, size, FIRST_SWEEPS if turn == 0 else 1, aim, enough)
        made += sweeps
        if worst > aim:
            steps, worst = solve_together(problem_work, chosen, size, near, turn > 0, aim)
            made += steps
        choose_island(problem_work, island_work, first, count)
        worst = look_at_presses(problem_work, count)
    sweeps, worst = sweep_on(problem_work, False, count, enough, worst)
    return made + sweeps, worst


@kernel
def sweep_while_cheap(problem_work, count, size, least, aim, enough):
    """Sweep over the presses chosen `least` times, and on while that costs less than Newton's method to come to `aim`.

    Leaves the pattern for that where it does not.  Returns the sweeps made, and the largest distance from the law met
    [m/s].
    """
    before, price, made = math.inf, 0.0, 0
    while True:
        worst = visit_all(problem_work, False, count, 1.0, enough)
        made += 1
        if worst <= aim:
            break
        if made == least:
            factors = shape_pattern(
                problem_work.pattern, problem_work.chosen, count, problem_work.contact.count, problem_work.at, size
            )
            price = NEWTON * factors / cost_of_sweep(problem_work, count)
        if made >= least and (made - least) % PATIENCE == 0:
            if before < math.inf:
                if not worst < before or PATIENCE * math.log(aim / worst) / math.log(worst / before) > price:
                    break
            elif price < MANY:
                break
            before = worst
    return made, worst


@kernel
def cost_of_sweep(problem_work, count):
    """Operations of a sweep over the presses chosen."""
    cost = 1.0
    for n in range(count):
        k = problem_work.chosen[n]
        cost += VISIT + 4.0 * problem_work.contact.rows[k] * problem_work.contact.count[k]
    return cost


@kernel
def sweep_on(problem_work, looped, count, enough, worst):
    """Sweep over the presses chosen, which are off their laws by `worst` at most [m/s]; returns as `solve_presses`."""
    share, before, made = 1.0, worst, 0
    for sweep in range(LAST_SWEEPS):
        if worst <= enough:
            break
        worst = visit_all(problem_work, looped, count, share, enough)
        made += 1
        if sweep % PATIENCE == PATIENCE - 1:
            share = 1.0 if worst <= 0.5 * before else max(WEAKER * share, WEAKEST)
            before = worst
        if worst <= enough or sweep == LAST_SWEEPS - 1:
            worst = look_at_presses(problem_work, count)
    return made, worst


@kernel
def fastest_of(problem_work, count):
    """Largest rate that the presses chosen have without impulses [m/s]."""
    contact, fastest = problem_work.contact, 0.0
    for n in range(count):
        k = problem_work.chosen[n]
        for r in range(3):
            asked = contact.shift[k, r] if is_unbounded(contact, k) else 0.0  # which is no speed
            fastest = max(fastest, abs(contact.free[k, r] - asked))
    return fastest


@kernel
def look_at_presses(problem_work, count):
    """Find how far each press chosen is from its law; returns the largest distance [m/s]."""
    worst = 0.0
    for n in range(count):
        k = problem_work.chosen[n]
        problem_work.off[k] = off_by(problem_work, problem_work.support, problem_work.push, k)
        worst = max(worst, problem_work.off[k])
    return worst


@kernel
def choose_island(problem_work, island_work, first, count):
    """Choose all presses of an island."""
    for n in range(count):
        problem_work.chosen[n] = island_work.press[first + n]


@kernel
def choose_notable(problem_work, island_work, first, count, notable):
    """Choose the presses of an island whose trees have, or had, one so far off its law, and number what they reach.

    Returns how many presses and freedoms there are.
    """
    awake, at, support, chosen = problem_work.awake, problem_work.at, problem_work.support, 0
    for n in range(first, first + count):
        if problem_work.off[island_work.press[n]] > notable:
            one, other = trees_of(problem_work, island_work.press[n])
            awake[0, one] = awake[0, other] = 1
    for n in range(first, first + count):
        one, other = trees_of(problem_work, island_work.press[n])
        if awake[0, one] or awake[0, other]:
            problem_work.chosen[chosen] = island_work.press[n]
            chosen += 1
    size = number_freedoms(problem_work, island_work, order_trees(problem_work, island_work, chosen))
    for n in range(chosen):
        k, least = problem_work.chosen[n], size
        for i in range(problem_work.contact.count[k]):
            at[k, i] = problem_work.place[support[k, i]]
            least = min(least, at[k, i])
        for i in range(problem_work.contact.count[k]):
            problem_work.first[at[k, i]] = min(problem_work.first[at[k, i]], least)
    return chosen, size


@kernel
def look_at_all(problem_work, points):
    """Find how far each press is from its law; returns the largest distance [m/s]."""
    worst = 0.0
    for k in range(points):
        problem_work.off[k] = off_by(problem_work, problem_work.support, problem_work.push, k)
        worst = max(worst, problem_work.off[k])
    return worst


@kernel
def let_sleep(problem_work):
    """Let no tree take part."""
    for i in range(problem_work.tree.size):
        problem_work.awake[0, i] = 0


@kernel
def wake(problem_work, points, notable):
    """Let trees that have a press so far off its law take part."""
    for k in range(points):
        if problem_work.off[k] > notable and problem_work.contact.count[k] > 0:
            one, other = trees_of(problem_work, k)
            problem_work.awake[0, one] = problem_work.awake[0, other] = 1


@kernel
def choose_all(problem_work, points):
    """Choose all presses."""
    for k in range(points):
        problem_work.chosen[k] = k


@kernel
def choose_off(problem_work, points):
    """Choose all presses of trees that take part, and number the freedoms that these presses reach.

    Returns how many presses and freedoms there are.  Freedoms are numbered backwards: tips before roots.
    """
    tree, support, place, awake, first = (
        problem_work.tree,
        problem_work.support,
        problem_work.place,
        problem_work.awake,
        problem_work.first,
    )
    for i in range(tree.size):
        awake[1, i] = 0
    count = 0
    for k in range(points):
        if problem_work.contact.count[k] > 0:
            one, other = trees_of(problem_work, k)
            if awake[0, one] or awake[0, other]:
                problem_work.chosen[count] = k
                count += 1
                awake[1, one] = awake[1, other] = 1
    size = 0
    for i in range(tree.size - 1, -1, -1):
        place[i] = -1
        if awake[1, tree[i]]:
            place[i], first[size] = size, size
            size += 1
    at = problem_work.at
    for n in range(count):
        k = problem_work.chosen[n]
        for i in range(problem_work.contact.count[k]):
            at[k, i] = place[support[k, i]]
            first[at[k, i]] = min(first[at[k, i]], at[k, 0])
    return count, size


@kernel
def visit_all(problem_work, looped, count, share, enough):
    """One sweep over the presses chosen, `share` of their way.  Returns the largest distance from the law met [m/s]."""
    contact, P, worst = problem_work.contact, problem_work.P, 0.0
    for n in range(count):
        k = problem_work.chosen[n]
        off = off_by(problem_work, problem_work.support, problem_work.push, k)
        worst = max(worst, off)
        if off <= 0.1 * enough:
            continue
        q0, q1, q2 = P[k, 0], P[k, 1], P[k, 2]
        if contact.rows[k] == 3:
            beside = bound_beside(contact, P, k)
            solve_point(problem_work.G, k, contact.friction[k], beside, 0, problem_work.d, P, problem_work.z, k)
        else:
            P[k, 0] = bounded(contact, k, q0 - problem_work.z[k, 0] / problem_work.G[k, 0, 0])
        s0, s1, s2 = share * (P[k, 0] - q0), share * (P[k, 1] - q1), share * (P[k, 2] - q2)
        P[k, 0], P[k, 1], P[k, 2] = q0 + s0, q1 + s1, q2 + s2
        add_push(
            looped, k, s0, s1, s2, contact, problem_work.support, problem_work.U, problem_work.R, problem_work.push
        )
    return worst


__all__ = [
    "add_push",
    "answer_of",
    "choose_all",
    "choose_off",
    "contact_rows",
    "let_sleep",
    "problem_of",
    "solve_presses",
    "wake",
]  # fmt: skip
