"""Rotations as scalars: quaternions (w, x, y, z) and row-major 3 x 3 matrices in tuples of nine."""

from __future__ import annotations

import math

from sim.kernels.jit import kernel, python_kernel
from sim.kernels.vectors import cross, length, plus, times


@kernel
def rotation_of(w, x, y, z):
    """Return the matrix of a quaternion of any length (homogeneous: divides by |q|^2)."""
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return (
        1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
        s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y),
    )  # fmt: skip


@kernel
def multiply(a, b):
    """Return the matrix product a b of two tuples of nine."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )  # fmt: skip


@kernel
def turn_z(f, s, c):
    """Return f Rz for the sine s and cosine c of the angle."""
    return (
        f[0] * c + f[1] * s, f[1] * c - f[0] * s, f[2],
        f[3] * c + f[4] * s, f[4] * c - f[3] * s, f[5],
        f[6] * c + f[7] * s, f[7] * c - f[6] * s, f[8],
    )  # fmt: skip


@kernel
def turn_x(f, s, c):
    """Return f Rx for the sine s and cosine c of the angle."""
    return (
        f[0], f[1] * c + f[2] * s, f[2] * c - f[1] * s,
        f[3], f[4] * c + f[5] * s, f[5] * c - f[4] * s,
        f[6], f[7] * c + f[8] * s, f[8] * c - f[7] * s,
    )  # fmt: skip


@python_kernel
def quaternion_of(r):
    """Return the unit quaternion (w >= 0 branch by the largest term) of a rotation matrix."""
    t = r[0] + r[4] + r[8]
    if t > 0.0:
        s = math.sqrt(t + 1.0) * 2.0
        return 0.25 * s, (r[7] - r[5]) / s, (r[2] - r[6]) / s, (r[3] - r[1]) / s
    if r[0] > r[4] and r[0] > r[8]:
        s = math.sqrt(1.0 + r[0] - r[4] - r[8]) * 2.0
        return (r[7] - r[5]) / s, 0.25 * s, (r[1] + r[3]) / s, (r[2] + r[6]) / s
    if r[4] > r[8]:
        s = math.sqrt(1.0 + r[4] - r[0] - r[8]) * 2.0
        return (r[2] - r[6]) / s, (r[1] + r[3]) / s, 0.25 * s, (r[5] + r[7]) / s
    s = math.sqrt(1.0 + r[8] - r[0] - r[4]) * 2.0
    return (r[3] - r[1]) / s, (r[2] + r[6]) / s, (r[5] + r[7]) / s, 0.25 * s


@kernel
def rotation_vector(w, x, y, z):
    """Return the rotation vector (angle in [0, pi] times axis) of a quaternion of any length."""
    n = math.sqrt(x * x + y * y + z * z)
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    if n < 1e-9 * w:  # angle / sin(angle/2) to second order
        k = 2.0 / w
    else:
        k = 2.0 * math.atan2(n, w) / n
    return k * x, k * y, k * z


@kernel
def quaternion_step(w, x, y, z, rx, ry, rz):
    """Return q exp(r): the quaternion turned by the rotation vector r in its own axes, unit length.

    structure-varying-1999, eq. (25), with r = w dt in the child's axes.
    """
    angle = math.sqrt(rx * rx + ry * ry + rz * rz)
    half = 0.5 * angle
    k = 0.5 if angle < 1e-8 else math.sin(half) / angle
    c = math.cos(half)
    ex, ey, ez = k * rx, k * ry, k * rz
    pw = w * c - x * ex - y * ey - z * ez
    px = w * ex + x * c + y * ez - z * ey
    py = w * ey - x * ez + y * c + z * ex
    pz = w * ez + x * ey - y * ex + z * c
    s = 1.0 / math.sqrt(pw * pw + px * px + py * py + pz * pz)
    return s * pw, s * px, s * py, s * pz


@kernel
def relative_rotation(F, M):
    """Rotation vector of F^T M for two row-major matrices (9,)."""
    r00 = F[0] * M[0] + F[3] * M[3] + F[6] * M[6]
    r01 = F[0] * M[1] + F[3] * M[4] + F[6] * M[7]
    r02 = F[0] * M[2] + F[3] * M[5] + F[6] * M[8]
    r10 = F[1] * M[0] + F[4] * M[3] + F[7] * M[6]
    r11 = F[1] * M[1] + F[4] * M[4] + F[7] * M[7]
    r12 = F[1] * M[2] + F[4] * M[5] + F[7] * M[8]
    r20 = F[2] * M[0] + F[5] * M[3] + F[8] * M[6]
    r21 = F[2] * M[1] + F[5] * M[4] + F[8] * M[7]
    r22 = F[2] * M[2] + F[5] * M[5] + F[8] * M[8]
    s0, s1, s2 = r21 - r12, r02 - r20, r10 - r01  # 2 sin(angle) axis
    s = 0.5 * math.sqrt(s0 * s0 + s1 * s1 + s2 * s2)
    c = 0.5 * (r00 + r11 + r22 - 1.0)
    if c > -0.5:
        k = 0.5 if s < 1e-9 else 0.5 * math.atan2(s, c) / s
        return k * s0, k * s1, k * s2
    w, x, y, z = quaternion_of((r00, r01, r02, r10, r11, r12, r20, r21, r22))
    return rotation_vector(w, x, y, z)


# --- swing and twist of a ball ---------------------------------------------------------------------
# R = R_swing R_twist: a twist about an axis a of M, then the shortest turn that takes a of F to a of M.  With the unit
# quaternion (w, p) of R, tan(twist / 2) = p.a / w and sin(swing / 2)^2 = |p|^2 - (p.a)^2.


@kernel
def half_turn(x, y, z):
    """Return w and p of a rotation vector, at most half a turn long."""
    angle = math.sqrt(x * x + y * y + z * z)
    s = math.sin(0.5 * angle) / angle if angle > 1e-9 else 0.5
    return math.cos(0.5 * angle), (s * x, s * y, s * z)


@python_kernel
def swing_of(x, y, z, about):
    """Return how far axis `about` of M is tilted from that of F [rad], by the rotation vector."""
    w, p = half_turn(x, y, z)
    a, b, c = p[about], p[(about + 1) % 3], p[(about + 2) % 3]
    return 2.0 * math.atan2(math.sqrt(b * b + c * c), math.sqrt(w * w + a * a))


@python_kernel
def twist_of(x, y, z, about):
    """Return how far M is turned about its axis `about` [rad], in (-pi, pi], by the rotation vector."""
    w, p = half_turn(x, y, z)
    return 2.0 * math.atan2(p[about], w)


@kernel
def both_axes(x, y, z, about):
    """Return axis `about` of M and that of F, in M's axes, by the rotation vector."""
    w, p = half_turn(x, y, z)
    a = (1.0 if about == 0 else 0.0, 1.0 if about == 1 else 0.0, 1.0 if about == 2 else 0.0)
    across = cross(p, a)
    return a, plus(plus(a, times(-2.0 * w, across)), times(2.0, cross(p, across)))


@kernel
def swinging(x, y, z, about):
    """Return m in M's axes, with w.m the rate of swing at the angular velocity w; zero where nothing is tilted."""
    mine, its = both_axes(x, y, z, about)
    m = cross(its, mine)
    size = length(m)
    return times(1.0 / size if size > 0.0 else 0.0, m)


@kernel
def twisting(x, y, z, about):
    """Return n in M's axes, with w.n the rate of twist at the angular velocity w: (a_M + a_F) / (1 + a_M.a_F)."""
    mine, its = both_axes(x, y, z, about)
    return times(1.0 / max(1.0 + its[about], 1e-12), plus(mine, its))
