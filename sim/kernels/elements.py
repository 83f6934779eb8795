"""The forces that a scene names: springs between points and about joints, wrenches on bodies, drag."""

from __future__ import annotations

import math

from sim.kernels.jit import driver, kernel
from sim.kernels.programs import acting_value
from sim.kernels.system import unpack
from sim.kernels.tables import DRAG, SPRING, TORSION, WRENCH


@kernel
def torsion_springs(forces, coordinate, rate, torque_out, force_work, one_work):
    """Add the torsion springs to the torques of joints; one_work.dissipated[0] gains what they dissipate [W].

    Three turns at once have the potential 1/2 k theta^2: the rotation vector times the angular velocity is
    theta times the rate of theta, in the child's axes as in the parent's.
    """
    length_out, tension_out = force_work.length, force_work.tension
    for f in range(forces.kind.size):
        if forces.kind[f] != TORSION:
            continue
        c, k, d = forces.column[f], forces.stiffness[f], forces.damping[f]
        if forces.turns[f] == 1:
            angle, spin = coordinate[c], rate[c]
            tension = k * (angle - forces.rest[f]) + d * spin
            torque_out[c] -= tension
            one_work.dissipated[0] += d * spin * spin
        else:
            square = along = 0.0
            for i in range(c, c + 3):
                square += coordinate[i] * coordinate[i]
                along += coordinate[i] * rate[i]
                torque_out[i] -= k * coordinate[i] + d * rate[i]
                one_work.dissipated[0] += d * rate[i] * rate[i]
            angle = math.sqrt(square)
            tension = k * angle + (d * along / angle if angle > 0.0 else 0.0)
        length_out[f], tension_out[f] = angle, tension


@kernel
def spring_energy(forces, points, coordinate, link_work):
    """Potential energy of all springs, between points and about joints [J]."""
    potential = 0.0
    for f in range(forces.kind.size):
        stretch = 0.0
        if forces.kind[f] == SPRING:
            stretch = between(points, link_work, forces.a[f], forces.b[f])[6] - forces.rest[f]
        elif forces.kind[f] == TORSION and forces.turns[f] == 1:
            stretch = coordinate[forces.column[f]] - forces.rest[f]
        elif forces.kind[f] == TORSION:
            c = forces.column[f]
            stretch = math.sqrt(coordinate[c] ** 2 + coordinate[c + 1] ** 2 + coordinate[c + 2] ** 2)
        potential += 0.5 * forces.stiffness[f] * stretch**2
    return potential


@driver
def point_forces(system, t):
    """Add all that acts at points to the wrenches of links; work.one gains what it puts in and dissipates [W].

    work.forces.wrench: (forces, 6) torque about the point and force, world axes.
    """
    tables, control, work, _ = unpack(system)
    forces, points = tables.forces, tables.points
    for f in range(forces.kind.size):
        kind, a, b = forces.kind[f], forces.a[f], forces.b[f]
        if kind == SPRING:
            spring(forces, points, f, work.links, work.forces, work.one)
            push(points, f, 1.0, b, b, work.links, work.forces)
            push(points, f, -1.0, b, a, work.links, work.forces)
        elif kind == DRAG:
            drag(forces, points, f, work.links, work.forces, work.one)
            push(points, f, 1.0, a, a, work.links, work.forces)
        elif kind == WRENCH:
            for i in range(6):
                program = forces.programs[f, i]
                work.forces.wrench[f, i] = 0.0
                if program >= 0:
                    work.forces.wrench[f, i] = acting_value(tables, control, work, program, t)
            if forces.turned[f]:
                turn(tables.links, points.body[a], f, work.links, work.forces)
            work.one.put_in[0] += push(points, f, 1.0, a, a, work.links, work.forces)
            if b >= 0:
                work.one.put_in[0] += push(points, f, -1.0, a, b, work.links, work.forces)


@kernel
def push(points, f, sign, at, on, link_work, force_work):
    """Add sign times the wrench of force f, which acts where point `at` is, to the link of point `on`.

    Returns its power [W].
    """
    x, V, wrench = link_work.x, link_work.V, force_work.wrench
    out = link_work.wrench
    b = points.body[on]
    p0, p1, p2, _, _, _ = point_motion(points, link_work, at)
    r0, r1, r2 = p0 - x[b, 0], p1 - x[b, 1], p2 - x[b, 2]
    f0, f1, f2 = sign * wrench[f, 3], sign * wrench[f, 4], sign * wrench[f, 5]
    m0 = sign * wrench[f, 0] + r1 * f2 - r2 * f1
    m1 = sign * wrench[f, 1] + r2 * f0 - r0 * f2
    m2 = sign * wrench[f, 2] + r0 * f1 - r1 * f0
    out[b, 0], out[b, 1], out[b, 2] = out[b, 0] + m0, out[b, 1] + m1, out[b, 2] + m2
    out[b, 3], out[b, 4], out[b, 5] = out[b, 3] + f0, out[b, 4] + f1, out[b, 5] + f2
    turning = m0 * V[b, 0] + m1 * V[b, 1] + m2 * V[b, 2]
    return turning + f0 * V[b, 3] + f1 * V[b, 4] + f2 * V[b, 5]


@kernel
def spring(forces, points, f, link_work, force_work, one_work):
    """Length, tension and wrench of a spring between points; one_work.dissipated[0] gains what it dissipates [W]."""
    n0, n1, n2, length, rate = between(points, link_work, forces.a[f], forces.b[f])[3:]
    tension = forces.stiffness[f] * (length - forces.rest[f]) + forces.damping[f] * rate
    one_work.dissipated[0] += forces.damping[f] * rate * rate
    length_out, tension_out, wrench_out = force_work.length, force_work.tension, force_work.wrench
    length_out[f], tension_out[f] = length, tension
    wrench_out[f, 0] = wrench_out[f, 1] = wrench_out[f, 2] = 0.0
    wrench_out[f, 3], wrench_out[f, 4], wrench_out[f, 5] = -tension * n0, -tension * n1, -tension * n2


@kernel
def drag(forces, points, f, link_work, force_work, one_work):
    """Wrench of a drag: -(c + q |v|) v of its point and the same of turning; dissipates one_work.dissipated[0] [W]."""
    V, wrench_out = link_work.V, force_work.wrench
    a = forces.a[f]
    b = points.body[a]
    v0, v1, v2 = point_motion(points, link_work, a)[3:]
    speed = math.sqrt(v0 * v0 + v1 * v1 + v2 * v2)
    c = forces.damping[f] + forces.quadratic[f] * speed
    wrench_out[f, 3], wrench_out[f, 4], wrench_out[f, 5] = -c * v0, -c * v1, -c * v2
    spin = math.sqrt(V[b, 0] ** 2 + V[b, 1] ** 2 + V[b, 2] ** 2)
    d = forces.turning_damping[f] + forces.turning_quadratic[f] * spin
    wrench_out[f, 0], wrench_out[f, 1], wrench_out[f, 2] = -d * V[b, 0], -d * V[b, 1], -d * V[b, 2]
    one_work.dissipated[0] += c * speed * speed + d * spin * spin


@kernel
def turn(links, b, f, link_work, force_work):
    """Turn the wrench of force f from the axes of link b's body to those of the world."""
    R, R_KB, wrench_out = link_work.R, links.R_KB, force_work.wrench
    for i in (0, 3):
        x, y, z = wrench_out[f, i], wrench_out[f, i + 1], wrench_out[f, i + 2]
        k0 = R_KB[b, 0] * x + R_KB[b, 1] * y + R_KB[b, 2] * z
        k1 = R_KB[b, 3] * x + R_KB[b, 4] * y + R_KB[b, 5] * z
        k2 = R_KB[b, 6] * x + R_KB[b, 7] * y + R_KB[b, 8] * z
        for j in range(3):
            wrench_out[f, i + j] = R[b, 3 * j] * k0 + R[b, 3 * j + 1] * k1 + R[b, 3 * j + 2] * k2


@kernel
def between(points, link_work, i, j):
    """Return where point i is [m], the direction from it to point j, their distance and its rate."""
    p0, p1, p2, u0, u1, u2 = point_motion(points, link_work, i)
    q0, q1, q2, v0, v1, v2 = point_motion(points, link_work, j)
    d0, d1, d2 = q0 - p0, q1 - p1, q2 - p2
    distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
    s = 1.0 / distance if distance > 0.0 else 0.0  # no direction where the points meet
    n0, n1, n2 = s * d0, s * d1, s * d2
    return p0, p1, p2, n0, n1, n2, distance, n0 * (v0 - u0) + n1 * (v1 - u1) + n2 * (v2 - u2)


@kernel
def point_motion(points, link_work, i):
    """Return position and velocity of a point in world axes."""
    x, R, V = link_work.x, link_work.R, link_work.V
    b = points.body[i]
    c0, c1, c2 = points.p_B[i, 0], points.p_B[i, 1], points.p_B[i, 2]
    p0 = R[b, 0] * c0 + R[b, 1] * c1 + R[b, 2] * c2
    p1 = R[b, 3] * c0 + R[b, 4] * c1 + R[b, 5] * c2
    p2 = R[b, 6] * c0 + R[b, 7] * c1 + R[b, 8] * c2
    w0, w1, w2 = V[b, 0], V[b, 1], V[b, 2]
    return (
        x[b, 0] + p0, x[b, 1] + p1, x[b, 2] + p2,
        V[b, 3] + w1 * p2 - w2 * p1, V[b, 4] + w2 * p0 - w0 * p2, V[b, 5] + w0 * p1 - w1 * p0,
    )  # fmt: skip
