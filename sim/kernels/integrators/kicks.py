"""What presses add to the rates of a step, expected to be what they added in the step before.

Inertia is taken in the middle of a step's rates (`sim.kernels.inertial`), which is known once the impulses are.  They
go on from step to step as the motion does: with k = (v+ - v_free) / h of the step before, the middle is off by h times
how much k changes, and inertia by h^2 of that, which is of second order in all.  Where presses change otherwise (a
collision has begun, what slid sticks) the step is found once more with its own, if bodies turn so far that it tells.
Of bodies by themselves it always is: that costs little, and what they do on the ground may hang on it (a rattleback).
"""

from __future__ import annotations

from sim.kernels.jit import kernel

# rad: turn of the two bodies of a point in a step from which a middle that is off may tell; and of that turn and the
# share of the rates by which k was wrong together.
TURNS, TELLS = 1e-3, 2e-5


@kernel
def expect_kick(known, freedom_work):
    """Expect of presses what they did in the last step, or nothing where it is not known."""
    if not known:
        for i in range(freedom_work.kick.size):
            freedom_work.kick[i] = 0.0


@kernel
def was_otherwise(turn, lone, length, h, freedoms, freedom_work, v_free, v_new):
    """Tell whether presses changed rates, from v_free to v_new, so much otherwise than expected that it tells.

    turn: by which bodies of a point turn in the step at most [rad]; lone: whether all bodies are by themselves.
    """
    if lone or not turn > TURNS:
        return turn > TURNS
    off = size = 0.0
    for i in range(v_new.size):
        unit = 1.0 / length if freedoms.linear[i] else 1.0
        off += unit * abs(v_new[i] - v_free[i] - h * freedom_work.kick[i])
        size += unit * abs(v_new[i])
    return turn * off > TELLS * size


@kernel
def keep_kick(collided, h, v_free, v_new, freedom_work):
    """Keep what presses added in this step, from v_free to v_new; of a collision nothing goes on."""
    for i in range(v_new.size):
        freedom_work.kick[i] = 0.0 if collided else (v_new[i] - v_free[i]) / h


__all__ = ["expect_kick", "keep_kick", "was_otherwise"]
