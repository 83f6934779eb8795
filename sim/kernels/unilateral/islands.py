"""Islands of a time step: trees joined by presses between them; the ground joins nothing.

Each is a problem of its own, with its own measure of how far it is from its laws: one that moves lets those that rest
be, and one that rests is not solved more coarsely because another is fast.

Within an island trees are numbered as by Cuthill and McKee, level by level from one at its rim, and backwards (George
and Liu, Computer Solution of Large Sparse Positive Definite Systems, 1981): rows of Newton's matrix reach as far as the
levels are wide, not as far as the heap is large.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.kernels.jit import inlined, kernel


class Islands(NamedTuple):
    """Which presses and trees belong together; a tree has the number of its first freedom.

    of, next, size : (m,) by trees: what stands for its island; its place in the order; how many others are joined to it
    press, first : (room,) presses, island by island; (m + 1,) where those of each begin
    start, joined : (m + 1,), (2 room,) trees joined to each tree, where they begin
    order : (m,) the trees of the presses chosen, in their order
    last, lower : (m,) by trees: its last freedom; by freedoms: the one before in its tree, or -1
    """

    of: Any
    next: Any
    size: Any
    press: Any
    first: Any
    start: Any
    joined: Any
    order: Any
    last: Any
    lower: Any


@inlined
def islands_of(work):
    """Return the scratch of islands."""
    return Islands(
        work.islands[0], work.islands[1], work.islands[2], work.island_press, work.island_first, work.island_start,
        work.island_joined, work.islands[3], work.islands[4], work.islands[5],
    )  # fmt: skip


@kernel
def trees_of(problem_work, k):
    """Return the trees, by their first freedoms, that press k is between; one of them twice where there is one only."""
    tree, support = problem_work.tree, problem_work.support
    one = other = tree[support[k, 0]]
    for i in range(1, problem_work.contact.count[k]):
        if tree[support[k, i]] != one:
            other = tree[support[k, i]]
    return one, other


@inlined
def root_of(of_out, t):
    """Return the tree that stands for all that are joined to tree t; ways to it become shorter."""
    while of_out[t] != t:
        of_out[t] = of_out[of_out[t]]
        t = of_out[t]
    return t


@kernel
def find_islands(problem_work, island_work, points):
    """Find the islands of all presses, in the order of their first ones; returns how many there are.

    What nothing moves is in none.
    """
    of, press, first, count = island_work.of, island_work.press, island_work.first, problem_work.contact.count
    for t in range(of.size):
        of[t], island_work.size[t] = t, -1
    for k in range(points):
        if count[k] > 0:
            one, other = trees_of(problem_work, k)
            one, other = root_of(of, one), root_of(of, other)
            if one != other:
                of[max(one, other)] = min(one, other)
    number, islands_found = island_work.size, 0
    for k in range(points):
        if count[k] > 0:
            t = root_of(of, problem_work.tree[problem_work.support[k, 0]])
            if number[t] < 0:
                number[t] = islands_found
                first[islands_found + 1] = 0
                islands_found += 1
            first[number[t] + 1] += 1
    first[0] = 0
    for n in range(islands_found):
        first[n + 1] += first[n]
    for k in range(points):
        if count[k] > 0:
            n = number[root_of(of, problem_work.tree[problem_work.support[k, 0]])]
            press[first[n]] = k
            first[n] += 1
    for n in range(islands_found, 0, -1):
        first[n] = first[n - 1]
    first[0] = 0
    return islands_found


@kernel
def order_trees(problem_work, island_work, count):
    """Order the trees of the `count` presses chosen so that those that are joined stand near; returns how many."""
    order, size, start, joined = island_work.order, island_work.size, island_work.start, island_work.joined
    trees = 0
    for n in range(count):
        one, other = trees_of(problem_work, problem_work.chosen[n])
        size[one] = size[other] = -1
    for n in range(count):
        one, other = trees_of(problem_work, problem_work.chosen[n])
        for side in range(2):
            t = one if side == 0 else other
            if size[t] < 0:
                size[t] = 0
                order[trees] = t
                trees += 1
        if one != other:
            size[one] += 1
            size[other] += 1
    total = 0
    for i in range(trees):
        start[order[i]] = total
        total += size[order[i]]
        size[order[i]] = 0
    for n in range(count):
        one, other = trees_of(problem_work, problem_work.chosen[n])
        if one != other and not is_joined(joined, start[one], size[one], other):
            joined[start[one] + size[one]], joined[start[other] + size[other]] = other, one
            size[one] += 1
            size[other] += 1
    done = 0
    while done < trees:
        order[done] = least_joined(order, done, trees, size)  # what is moved away is among those that wait
        done = level_by_level(island_work, done, trees)
    return trees


@inlined
def is_joined(joined, first, count, t):
    """Tell whether tree t is among `count` trees from `first` on."""
    found = False
    for i in range(first, first + count):
        found = found or joined[i] == t
    return found


@kernel
def least_joined(order_out, done, trees, size):
    """Bring the tree that fewest are joined to to the place `done`, and return it."""
    best = done
    for i in range(done + 1, trees):
        if size[order_out[i]] < size[order_out[best]]:
            best = i
    order_out[done], order_out[best] = order_out[best], order_out[done]
    return order_out[done]


@kernel
def level_by_level(island_work, done, trees):
    """Order all trees that are joined to that at the place `done`: twice, the second time from the last of them.

    Returns the place behind them.
    """
    end = done
    for _ in range(2):
        if end > done:
            t, end = island_work.order[end - 1], done
            swap_to(island_work.order, done, trees, t)
        for i in range(done, trees):
            island_work.next[island_work.order[i]] = i  # places of those that wait
        end = done + 1
        at = done
        while at < end:
            t, first = island_work.order[at], end
            for j in range(island_work.start[t], island_work.start[t] + island_work.size[t]):
                place = island_work.next[island_work.joined[j]]
                if place >= end:
                    exchange_trees(island_work.order, island_work.next, place, end)
                    end += 1
            sort_by_size(island_work.order, island_work.next, island_work.size, first, end)
            at += 1
    return end


@inlined
def swap_to(order_out, done, trees, t):
    """Exchange tree t with the one at the place `done`."""
    for i in range(done, trees):
        if order_out[i] == t:
            order_out[i] = order_out[done]
            order_out[done] = t
            break


@inlined
def exchange_trees(order_out, place_out, i, j):
    """Exchange the trees at two places."""
    a, b = order_out[i], order_out[j]
    order_out[i], order_out[j] = b, a
    place_out[a], place_out[b] = j, i


@kernel
def sort_by_size(order_out, place_out, size, first, end):
    """Sort a few trees, those first that fewest are joined to."""
    for i in range(first + 1, end):
        j = i
        while j > first and size[order_out[j]] < size[order_out[j - 1]]:
            exchange_trees(order_out, place_out, j, j - 1)
            j -= 1


@kernel
def number_freedoms(problem_work, island_work, trees):
    """Number the freedoms of the trees in `order` backwards: last trees first, tips before roots; returns how many."""
    place, first, size = problem_work.place, problem_work.first, 0
    for i in range(trees - 1, -1, -1):
        f = island_work.last[island_work.order[i]]
        while f >= 0:
            place[f], first[size], problem_work.reached[size] = size, size, f
            size += 1
            f = island_work.lower[f]
    return size


__all__ = ["Islands", "find_islands", "islands_of", "number_freedoms", "order_trees", "trees_of"]
