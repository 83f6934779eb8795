"""An oracle that shares nothing with the kernels: every body with six freedoms, every joint with its rows, dense.

Newton and Euler for each body, all joints' accelerations locked at once: a tree of joints body by body, what is left
by orthogonal rows.  World axes; the accelerations of a body are (of its centre of mass, angular).

    M x = f + J^T lambda,    J x = b
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sim.analysis.verification import oracle_joints
from sim.analysis.verification.oracle_joints import FOLLOWS, FREEDOMS, SLIDES, TURNS, Pair

# What is left of a row below this, relative to the largest, is zero.
RANK = 1e-9
# An eigenvalue of the inertia that is left, scaled to a unit diagonal, which is roundoff.
BARE = 1e-13
# A joint of which no null vector moves more than this has a determinate force.
CHOSEN = 1e-6


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a x b of two vectors (numpy's own takes ten times as long for one pair)."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@dataclass(frozen=True)
class Body:
    """A body at one instant: mass, centre of mass (3,), inertia about it (3, 3), angular velocity; world axes."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray
    w: np.ndarray


@dataclass(frozen=True)
class Joint:
    """A joint at one instant.

    a, b : bodies, -1: the world; torque, armature : (freedoms,)
    driven : (freedoms,) acceleration that a motion wants, not-a-number where there is none; (): nothing is driven
    rows : of a constraint, which locks no more than these: J (rows, 6 bodies) and b (rows,)
    slips : how many of these rows, the first ones, give way at their torques instead
    lever : (6,) of a screw or a gear: its wrench along the first freedom, whose force the rows give to all bodies
    """

    name: str
    kind: str
    a: int
    b: int
    at: Pair
    torque: np.ndarray
    armature: np.ndarray
    driven: np.ndarray = field(default_factory=lambda: np.zeros(0))
    rows: tuple[np.ndarray, np.ndarray] | None = None
    slips: int = 0
    lever: np.ndarray | None = None


@dataclass(frozen=True)
class Answer:
    """What the oracle finds.

    acceleration : (bodies, 6) of the centre of mass, angular
    rank : of all rows; nullity : rows that repeat others
    determinate : (joints,) whether the joint's force is the only possible one
    components : (joints, 6) the same of moment and force about its point, world axes
    J, b : rows of all joints
    loose : (directions, 6 bodies) orthonormal accelerations that nothing resists: turns of point masses that fly
    """

    acceleration: np.ndarray
    rank: int
    nullity: int
    determinate: np.ndarray
    components: np.ndarray
    J: np.ndarray
    b: np.ndarray
    loose: np.ndarray

    def difference(self, acceleration: np.ndarray) -> np.ndarray:
        """Return (bodies, 6) what other accelerations are beside these, but for what nothing resists."""
        beside = (acceleration - self.acceleration).ravel()
        return np.asarray(beside - self.loose.T @ (self.loose @ beside)).reshape(-1, 6)

    def constraint(self, acceleration: np.ndarray) -> float:
        """Return the largest |J x - b| of some accelerations (bodies, 6), relative to the largest term, at least 1."""
        x = acceleration.ravel()
        size = np.max(np.abs(self.J) @ np.abs(x) + np.abs(self.b), initial=1.0)
        return float(np.max(np.abs(self.J @ x - self.b), initial=0.0) / size)


def locked_rows(joint: Joint, coms: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return J (locked, 6 count) and b (locked,) of one joint."""
    if joint.rows is not None:
        J, b = joint.rows
        return J[joint.slips :], b[joint.slips :]
    at = joint.at
    w_rel = at.w_b - at.w_a

    def slide(k: int) -> tuple[np.ndarray, float]:
        return _row(joint, coms, count, "slide", at.F[:, k], 2.0 * at.F[:, k] @ cross(at.w_a, at.slip))

    def turn(k: int) -> tuple[np.ndarray, float]:
        return _row(joint, coms, count, "turn", at.F[:, k], at.F[:, k] @ cross(at.w_a, w_rel))

    rows = [slide(k) for k in SLIDES[joint.kind]]
    for k in FOLLOWS.get(joint.kind, ()):
        (along, rest), (about, more) = slide(k), turn(k)
        rows.append((along - at.pitch * about, rest - at.pitch * more))
    rows += [turn(k) for k in TURNS[joint.kind]]
    if joint.kind == "universal":
        x, z = at.F[:, 0], at.M[:, 2]
        rate = cross(cross(at.w_a, x), z) + cross(x, cross(at.w_b, z))
        rows.append(_row(joint, coms, count, "turn", cross(x, z), -rate @ w_rel))
    return np.array([row for row, _ in rows]).reshape(-1, 6 * count), np.array([b for _, b in rows])


def free_rows(joint: Joint, coms: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return E (freedoms, 6 count) and d (freedoms,) with E x - d the time derivatives of the joint's rates."""
    at, rows = joint.at, []
    for what, frame, k in FREEDOMS[joint.kind]:
        e = (at.F if frame == "F" else at.M)[:, k]
        if what == "slide":
            drift = 2.0 * e @ cross(at.w_a, at.slip)
        else:
            carrier = at.w_a if frame == "F" else at.w_b
            drift = -cross(carrier, e) @ (at.w_b - at.w_a)
        rows.append(_row(joint, coms, count, what, e, drift))
    return np.array([row for row, _ in rows]).reshape(-1, 6 * count), np.array([d for _, d in rows])


def _row(
    joint: Joint, coms: Sequence[np.ndarray], count: int, what: str, e: np.ndarray, rest: float
) -> tuple[np.ndarray, float]:
    """Return a row of relative acceleration along e, and what velocities alone make of it.

    A slide is measured where the point of M is: the centripetal terms of both bodies go to the right.
    """
    row, at = np.zeros(6 * count), joint.at
    for body, sign, w in ((joint.b, 1.0, at.w_b), (joint.a, -1.0, at.w_a)):
        if body < 0:
            continue
        arm = at.P - coms[body]
        if what == "slide":
            row[6 * body : 6 * body + 3] += sign * e
            row[6 * body + 3 : 6 * body + 6] += sign * cross(arm, e)
            rest -= sign * e @ cross(w, cross(w, arm))
        else:
            row[6 * body + 3 : 6 * body + 6] += sign * e
    return row, float(rest)


def solve(bodies: Sequence[Body], joints: Sequence[Joint], gravity: np.ndarray, applied: np.ndarray) -> Answer:
    """Return accelerations, rank and determinacy of one instant.

    applied : (bodies, 6) force and moment about the centre of mass from outside, besides weight.
    """
    n = len(bodies)
    coms = [body.com for body in bodies]
    M, f = np.zeros((6 * n, 6 * n)), np.asarray(applied, float).ravel().copy()
    for i, body in enumerate(bodies):
        s, r = slice(6 * i, 6 * i + 3), slice(6 * i + 3, 6 * i + 6)
        M[s, s], M[r, r] = body.mass * np.eye(3), body.inertia
        f[s] += body.mass * gravity
        f[r] -= cross(body.w, body.inertia @ body.w)
    blocks, rights, owner, locked = [np.zeros((0, 6 * n))], [np.zeros(0)], [], []
    for k, joint in enumerate(joints):
        J, b = locked_rows(joint, coms, n)
        blocks.append(J)
        rights.append(b)
        owner += [k] * len(b)
        locked += [True] * len(b)
        if joint.rows is not None:
            f += joint.rows[0][: joint.slips].T @ joint.torque[: joint.slips]
        elif FREEDOMS[joint.kind]:
            E, drift = free_rows(joint, coms, n)
            f += E.T @ (joint.torque + joint.armature * drift)
            if joint.armature.any():
                M += E.T @ (joint.armature[:, None] * E)
            follows = np.isfinite(joint.driven)
            if follows.any():
                blocks.append(E[follows])
                rights.append(drift[follows] + joint.driven[follows])
                owner += [k] * int(follows.sum())
                locked += [False] * int(follows.sum())
    J, b = np.vstack(blocks), np.concatenate(rights)
    by_joint = np.array(owner, int)
    x, idle, rank, loose = _saddle(M, J, f, b, _spanning(joints, by_joint, np.array(locked, bool), n))
    moved = np.zeros(len(joints))
    np.maximum.at(moved, by_joint, np.abs(idle).max(axis=1, initial=0.0))
    parts = _components(joints, coms, J, idle, by_joint)
    return Answer(x.reshape(n, 6), rank, len(b) - rank, moved < CHOSEN, parts, J, b, loose)


def _components(
    joints: Sequence[Joint], coms: Sequence[np.ndarray], J: np.ndarray, null: np.ndarray, owner: np.ndarray
) -> np.ndarray:
    """Return (joints, 6) whether no combination of rows without effect (rows, k) has that part of a joint's wrench.

    What a joint gives to a body follows from its columns of J, and is moved from the centre of mass to the joint.
    """
    out = np.ones((len(joints), 6), bool)
    for k, joint in enumerate(joints):
        body = joint.b if joint.b >= 0 else joint.a
        pushes = J[owner == k][:, 6 * body : 6 * body + 6].T @ null[owner == k]  # force and moment at the com
        arm = (joint.at.P - coms[body])[:, None]
        moments = pushes[3:] - np.cross(arm, pushes[:3], axis=0)
        if joint.lever is not None:
            moments, pushes = (np.abs(half)[:, None] * np.ones(null.shape[1]) for half in np.split(joint.lever, 2))
            moved = np.abs(null[owner == k]).max(axis=0, initial=0.0)
            moments, pushes = moments * moved, pushes * moved
        out[k, :3] = np.abs(moments).max(axis=1, initial=0.0) < CHOSEN
        out[k, 3:] = np.abs(pushes[:3]).max(axis=1, initial=0.0) < CHOSEN
    return out


@dataclass(frozen=True)
class _Way:
    """A joint of a spanning tree: its rows (rows,) of J, the body that it leads to, and that it comes from or -1."""

    rows: np.ndarray
    to: int
    by: int


def _spanning(joints: Sequence[Joint], owner: np.ndarray, locked: np.ndarray, count: int) -> list[_Way]:
    """Return the joints of a tree from the world to all bodies that joints lead to, outward.

    owner, locked : (rows,) the joint of each row, and whether it is one that the joint locks whatever moves
    """
    out, reached, left = [], {-1}, [k for k, joint in enumerate(joints) if joint.rows is None]
    while len(reached) <= count:
        new = [k for k in left if (joints[k].a in reached) != (joints[k].b in reached)]
        for k in new:
            a, b = joints[k].a, joints[k].b
            if (a in reached) != (b in reached):
                to, by = (b, a) if a in reached else (a, b)
                out.append(_Way(np.flatnonzero((owner == k) & locked), to, by))
                reached.add(to)
        left = [k for k in left if k not in new]
        if not new:  # the next body is free, or begins a tree of its own
            root = next(body for body in range(count) if body not in reached)
            out.append(_Way(np.zeros(0, int), root, -1))
            reached.add(root)
    return out


def _saddle(
    M: np.ndarray, J: np.ndarray, f: np.ndarray, b: np.ndarray, ways: Sequence[_Way]
) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """Return x with J x = b that solves M x = f along the null space of J, and what was found on the way.

    (rows, k) forces without effect, the rank, and orthonormal directions along which M is zero, where x is the least.

    Rows of the tree's joints are solved outward, one body after the other: they leave each body its joint's freedoms N,
    so that the other rows are few columns wide.  Forces of these without effect on N are answered inward by the tree;
    the largest of all these combinations is one of size 1.
    """
    n = len(f)
    N, steps, rest, column = np.zeros((n, n - sum(len(way.rows) for way in ways))), [], np.ones(len(b), bool), 0
    for way in ways:
        to, by = slice(6 * way.to, 6 * way.to + 6), slice(6 * way.by, 6 * way.by + 6)
        U, s, Vt = np.linalg.svd(J[way.rows, to])
        back = Vt[: len(s)].T / s @ U.T  # what the body does to fulfil its rows
        along = J[way.rows, by] if way.by >= 0 else np.zeros((len(way.rows), 0))
        if way.by >= 0:
            N[to] = -back @ (along @ N[by])
        N[to, column : column + 6 - len(s)] = Vt[len(s) :].T
        column += 6 - len(s)
        rest[way.rows] = False
        steps.append((way, to, by, back, along))
    others = J[rest]
    Q, R, order, rank = _pivoted(others @ N)
    first, last = order[:rank], order[rank:]
    Z = N[:, last] - N[:, first] @ np.linalg.solve(R[:rank, :rank], R[:rank, rank:])
    inertia = Z.T @ M @ Z
    scale = np.sqrt(np.where(np.diag(inertia) > BARE * np.max(np.abs(M), initial=0.0), np.diag(inertia), 1.0))
    inertia, vectors = np.linalg.eigh(inertia / np.outer(scale, scale))
    resists, vectors = inertia > BARE, Z @ (vectors / scale[:, None])
    loose, Z, inertia = np.linalg.qr(vectors[:, ~resists])[0].T, vectors[:, resists], inertia[resists]
    idle, x = np.zeros((len(b), len(Q) - rank)), np.zeros(n)
    idle[rest] = Q[:, rank:]
    for _ in range(2):  # the second pass takes out roundoff
        left, more = b - J @ x, np.zeros(n)
        for way, to, by, back, along in steps:
            more[to] = back @ (left[way.rows] - (along @ more[by] if way.by >= 0 else 0.0))
        x = x + more
        x = x + N[:, first] @ np.linalg.solve(R[:rank, :rank], Q[:, :rank].T @ (b - J @ x)[rest])
        x = x + Z @ ((Z.T @ (f - M @ x)) / inertia)
        x = x - loose.T @ (loose @ x)
    push = -others.T @ Q[:, rank:]
    for way, to, by, back, along in reversed(steps):
        idle[way.rows] = back.T @ push[to]
        if way.by >= 0:
            push[by] -= along.T @ idle[way.rows]
    size = np.sqrt(np.sum(idle**2, axis=0)).max(initial=1.0)
    return x, idle / size, rank + int(np.sum(~rest)), loose


def _pivoted(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return Q, R, the order of columns, and the rank: A[:, order] = Q R by Householder, the largest column next.

    Plain: libraries wake threads for matrices of this size, which takes longer where other programs run.
    """
    R, Q, order = A.copy(), np.eye(len(A)), np.arange(A.shape[1])
    first = 0.0
    for k in range(min(A.shape)):
        sizes = np.sqrt(np.sum(R[k:, k:] ** 2, axis=0))
        j = k + int(np.argmax(sizes))
        first = first or sizes[j - k]
        if sizes[j - k] <= RANK * first:
            return Q, R, order, k
        R[:, [k, j]], order[[k, j]] = R[:, [j, k]], order[[j, k]]
        v = R[k:, k].copy()
        v[0] += np.copysign(sizes[j - k], v[0])
        v /= np.sqrt(np.sum(v**2))
        R[k:, k:] -= 2.0 * v[:, None] * np.sum(v[:, None] * R[k:, k:], axis=0)
        Q[:, k:] -= 2.0 * np.sum(Q[:, k:] * v, axis=1)[:, None] * v
    return Q, R, order, min(A.shape)


def balance_of_bodies(
    bodies: Sequence[Body], joints: Sequence[Joint], wrenches: np.ndarray, points: np.ndarray,
    acceleration: np.ndarray, gravity: np.ndarray, applied: np.ndarray,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """Return (bodies, 6) what Newton and Euler leave over for each body, and the size of a force there [N].

    wrenches : (joints, 6) moment about `points` (joints, 3) and force, of the parent on the child.
    """
    left = np.asarray(applied, float).copy()
    size = 0.0
    for i, body in enumerate(bodies):
        a, alpha = acceleration[i, :3], acceleration[i, 3:]
        left[i, :3] += body.mass * (gravity - a)
        left[i, 3:] -= body.inertia @ alpha + cross(body.w, body.inertia @ body.w)
        size = max(size, body.mass * float(np.linalg.norm(gravity)), body.mass * float(np.linalg.norm(a)))
    for joint, wrench, point in zip(joints, wrenches, points, strict=True):
        size = max(size, float(np.linalg.norm(wrench[3:])))
        if joint.lever is not None and joint.rows is not None:
            left += (joint.lever @ wrench * joint.rows[0][0]).reshape(left.shape)
            continue
        for side, sign in ((joint.b, 1.0), (joint.a, -1.0)):
            if side >= 0:
                arm = point - bodies[side].com
                left[side, :3] += sign * wrench[3:]
                left[side, 3:] += sign * (wrench[:3] + cross(arm, wrench[3:]))
    return left, size


def _beside_rows(joint: Joint, com: np.ndarray, wrench: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Return what of a wrench on the child, a force and a moment about its centre of mass, is none of its rows (6,).

    And what rows that slip give beyond their torques.
    """
    assert joint.rows is not None
    whole = np.concatenate([wrench[3:], wrench[:3] + cross(point - com, wrench[3:])])
    on_child = joint.rows[0][:, 6 * joint.b : 6 * joint.b + 6].T
    given = np.linalg.lstsq(on_child, whole, rcond=None)[0]
    return np.concatenate([whole - on_child @ given, given[: joint.slips] - joint.torque[: joint.slips]])


def along_freedoms(
    bodies: Sequence[Body], joint: Joint, wrench: np.ndarray, point: np.ndarray, acceleration: np.ndarray
) -> np.ndarray:
    """Return (freedoms,) what a joint's wrench does along its freedoms beyond its torque and armature.

    Of a constraint: what of its wrench on the child no force of its rows makes.
    """
    n = len(bodies)
    if joint.lever is not None:
        return joint.lever @ wrench - joint.torque[: joint.slips]
    if joint.rows is not None:
        return _beside_rows(joint, bodies[joint.b].com, wrench, point)
    E, drift = free_rows(joint, [body.com for body in bodies], n)
    rate_dot = E @ acceleration.ravel() - drift
    moment = wrench[:3] + cross(point - joint.at.P, wrench[3:])
    along = np.array(oracle_joints.along_freedoms(joint.kind, joint.at, moment, wrench[3:]))
    return along - joint.torque + joint.armature * rate_dot
