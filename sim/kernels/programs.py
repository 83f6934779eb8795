"""Formulas of a scene as stack programs: postfix instructions that a kernel runs in nanoseconds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sim.kernels.jit import kernel, python_driver, spliced
from sim.kernels.system import unpack

# fmt: off
(CONSTANT, TIME, COORDINATE, RATE, POSITION, VELOCITY, ROTATION, FORCE, PRESSING, TORQUE, ENERGY, COM,
 ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, ATAN2, MIN, MAX,
 NEGATE, SQRT, SIN, COS, TAN, ASIN, ACOS, ATAN, EXP, LOG, ABS, CURVE) = range(32)
# fmt: on


@kernel
def point_component(points, link_work, i, k):
    """World coordinate k [m] of point i."""
    x, R = link_work.x, link_work.R
    b = points.body[i]
    p = points.p_B
    return x[b, k] + R[b, 3 * k] * p[i, 0] + R[b, 3 * k + 1] * p[i, 1] + R[b, 3 * k + 2] * p[i, 2]


@kernel
def point_velocity(points, link_work, i, k):
    """World component k [m/s] of the velocity of point i."""
    x, V = link_work.x, link_work.V
    b = points.body[i]
    m, n = (k + 1) % 3, (k + 2) % 3
    r_m = point_component(points, link_work, i, m) - x[b, m]
    r_n = point_component(points, link_work, i, n) - x[b, n]
    return V[b, 3 + k] + V[b, m] * r_n - V[b, n] * r_m


@kernel
def total_com(link_work, k):
    """World coordinate k [m] of the centre of mass of all bodies."""
    x, I = link_work.x, link_work.I  # noqa: E741
    mass = 0.0
    moment = 0.0
    for b in range(1, x.shape[0]):
        mass += I[b, 0]
        moment += I[b, 0] * x[b, k] + I[b, 1 + k]
    return moment / mass


class Seen(NamedTuple):
    """What formulas read of a motion."""

    coordinate: Any
    rate: Any
    torque: Any
    link_work: Any
    body_work: Any
    joint_work: Any
    contact_work: Any
    one_work: Any


@kernel
def load(constants, points, operation, argument, t, seen):
    """Value of an instruction that reads the state."""
    if operation == CONSTANT:
        return constants[argument]
    if operation == TIME:
        return t
    if operation == COORDINATE:
        return seen.coordinate[argument]
    if operation == RATE:
        return seen.rate[argument]
    if operation == POSITION:
        return point_component(points, seen.link_work, argument // 3, argument % 3)
    if operation == VELOCITY:
        return point_velocity(points, seen.link_work, argument // 3, argument % 3)
    if operation == ROTATION:
        return seen.body_work.R_WB[argument // 9, argument % 9]
    if operation == FORCE:
        return seen.joint_work.force[argument // 6, argument % 6]
    if operation == PRESSING:
        return seen.contact_work.force[argument // 3, argument % 3]
    if operation == TORQUE:
        return seen.torque[argument]
    if operation == ENERGY:
        return seen.one_work.kinetic[0] + seen.one_work.potential[0]
    return total_com(seen.link_work, argument)


@kernel
def unary(operation, a):
    """Value of a function of one number."""
    if operation == NEGATE:
        return -a
    if operation == SQRT:
        return math.sqrt(a) if a >= 0.0 else math.nan
    if operation == SIN:
        return math.sin(a)
    if operation == COS:
        return math.cos(a)
    if operation == TAN:
        return math.tan(a)
    if operation == ASIN:
        return math.asin(a) if -1.0 <= a <= 1.0 else math.nan
    if operation == ACOS:
        return math.acos(a) if -1.0 <= a <= 1.0 else math.nan
    if operation == ATAN:
        return math.atan(a)
    if operation == EXP:
        return math.exp(a) if a < 700.0 else math.inf
    if operation == LOG:
        return math.log(a) if a > 0.0 else math.nan
    return abs(a)


@kernel
def binary(operation, a, b):
    """Value of a function of two numbers."""
    if operation == ADD:
        return a + b
    if operation == SUBTRACT:
        return a - b
    if operation == MULTIPLY:
        return a * b
    if operation == DIVIDE:
        return a / b if b != 0.0 else math.nan
    if operation == POWER:
        if a > 0.0 or (a >= 0.0 and b > 0.0) or (b == math.floor(b) and (a < 0.0 or b >= 0.0)):
            return a**b
        return math.nan
    if operation == ATAN2:
        return math.atan2(a, b)
    if operation == MIN:
        return min(a, b)
    return max(a, b)


@spliced
def run_program(tables, work, program, t):
    """Evaluate a program at the state that `work` holds; not-a-number where a formula has no value."""
    codes, stack_work = tables.codes, work.stack
    seen = Seen(
        work.coordinate, work.rate, work.torque, work.links, work.bodies, work.joints, work.rules, work.one
    )  # fmt: skip
    top = 0
    for n in range(tables.programs[program, 0], tables.programs[program, 1]):
        operation = codes[n, 0]
        if operation <= COM:
            stack_work[top] = load(tables.constants, tables.points, operation, codes[n, 1], t, seen)
            top += 1
        elif operation <= MAX:
            top -= 1
            stack_work[top - 1] = binary(operation, stack_work[top - 1], stack_work[top])
        else:
            stack_work[top - 1] = unary(operation, stack_work[top - 1])
    return stack_work[0]


@spliced
def acting_value(tables, control, work, program, t):
    """Value of a formula of what acts; of one that reads forces, what was found together with them."""
    slot = tables.slots[program]
    if slot >= 0:
        value = control.fed[slot]
    else:
        value = run_program(tables, work, program, t)
    return value


@python_driver
def evaluate(system, programs, t, values_out):
    """Evaluate several programs at the state that the system's scratch holds."""
    tables, _, work, _ = unpack(system)
    for n in range(programs.size):
        values_out[n] = run_program(tables, work, programs[n], t)
