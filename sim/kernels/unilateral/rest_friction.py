"""Friction at rest and in motion in time steps: a point that gripped in the last step has the one at rest.

So has one that does not move along the surface at the start of a step; all others have the one in motion.  The step in
which a point begins to slide is the last with the coefficient at rest.
"""

from __future__ import annotations

import math

from sim.kernels.jit import kernel

# Speed along the surface that counts as none: before a step, m/s; after it, share of what friction could take in it.
# Smaller: what solving leaves (1e-4) lets points slide.  Larger: slow sliding is held.
STILL, SLOW = 1e-6, 1e-3


@kernel
def choose_friction(laws, last_contacts, before, first, points, contact_out):
    """Give presses from `first` on their coefficients; laws: (meetings, 6), in motion the first, at rest the fourth."""
    for k in range(first, points):
        m = contact_out.meeting[k]
        if m >= 0 and laws[m, 3] > laws[m, 0]:
            still = math.hypot(contact_out.before[k, 1], contact_out.before[k, 2]) <= STILL
            rests = still or gripped(last_contacts, before, contact_out, k)
            contact_out.friction[k] = laws[m, 3] if rests else laws[m, 0]


@kernel
def gripped(last_contacts, before, contact, k):
    """Tell whether press k gripped in the step before."""
    for j in range(before):
        same = last_contacts.meeting[j] == contact.meeting[k] and last_contacts.grips[j] == 1
        if same and last_contacts.key[j, 0] == contact.key[k, 0] and last_contacts.key[j, 1] == contact.key[k, 1]:
            return True
    return False


@kernel
def note_grips(points, P, z, G, contact_out):
    """Note which presses grip at the end of a step: those that press and do not move along the surface."""
    for k in range(points):
        answers = G[k, 0, 0] - contact_out.soft[k]
        slides = math.hypot(z[k, 1], z[k, 2]) > SLOW * contact_out.friction[k] * P[k, 0] * answers
        contact_out.grips[k] = 1 if contact_out.rows[k] == 3 and P[k, 0] > 0.0 and not slides else 0
