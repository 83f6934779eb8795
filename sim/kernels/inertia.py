"""Rigid inertias of links, about their own origins in world axes."""

from __future__ import annotations

from sim.kernels.jit import python_kernel


@python_kernel
def link_inertias(links, link_work):
    """Mass, mass times com and rotational inertia of each link about its origin, world axes, into I."""
    R, I_out = link_work.R, link_work.I
    mass, com, inertia = links.mass, links.com_K, links.inertia_K
    for b in range(1, mass.size):
        if link_work.asleep[b] == 1:
            continue
        m = mass[b]
        r0, r1, r2 = R[b, 0], R[b, 1], R[b, 2]
        r3, r4, r5 = R[b, 3], R[b, 4], R[b, 5]
        r6, r7, r8 = R[b, 6], R[b, 7], R[b, 8]
        c0, c1, c2 = com[b, 0], com[b, 1], com[b, 2]
        cx = r0 * c0 + r1 * c1 + r2 * c2
        cy = r3 * c0 + r4 * c1 + r5 * c2
        cz = r6 * c0 + r7 * c1 + r8 * c2
        xx, yy, zz = inertia[b, 0], inertia[b, 1], inertia[b, 2]
        xy, xz, yz = inertia[b, 3], inertia[b, 4], inertia[b, 5]
        t00, t01, t02 = r0 * xx + r1 * xy + r2 * xz, r0 * xy + r1 * yy + r2 * yz, r0 * xz + r1 * yz + r2 * zz
        t10, t11, t12 = r3 * xx + r4 * xy + r5 * xz, r3 * xy + r4 * yy + r5 * yz, r3 * xz + r4 * yz + r5 * zz
        t20, t21, t22 = r6 * xx + r7 * xy + r8 * xz, r6 * xy + r7 * yy + r8 * yz, r6 * xz + r7 * yz + r8 * zz
        mx, my, mz = m * cx, m * cy, m * cz
        I_out[b, 0], I_out[b, 1], I_out[b, 2], I_out[b, 3] = m, mx, my, mz
        I_out[b, 4] = t00 * r0 + t01 * r1 + t02 * r2 + my * cy + mz * cz
        I_out[b, 5] = t10 * r3 + t11 * r4 + t12 * r5 + mx * cx + mz * cz
        I_out[b, 6] = t20 * r6 + t21 * r7 + t22 * r8 + mx * cx + my * cy
        I_out[b, 7] = t00 * r3 + t01 * r4 + t02 * r5 - mx * cy
        I_out[b, 8] = t00 * r6 + t01 * r7 + t02 * r8 - mx * cz
        I_out[b, 9] = t10 * r6 + t11 * r7 + t12 * r8 - my * cz
