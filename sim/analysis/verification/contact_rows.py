"""What the recorded points of contact show by themselves: their forces, their modes and how bodies move there.

f_n >= 0,    |f_t| <= mu f_n,    f_n > 0 only where the gap is closed,    f_t = -mu f_n u_t / |u_t| where it slides
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sim.analysis.verification.touching import SLIPS, STICKS, Touching

# Of points that events decide on: shares of the largest force of a row, m, m/s.  Where these laws hold to roundoff,
# they are off by 1e-15; what is larger than this is no roundoff.
FORCE, GAP, SPEED = 1e-9, 1e-8, 1e-8
# m/s: friction of a point that begins to slide turns until it is as fast (see mathematics, Contacts).
TURNS = 1.1e-4
# Of time steps: what solving leaves of their laws, as share of the largest force; of the direction of friction.
SOLVED, ALONG = 1e-6, 0.05
# m: gaps that a step may leave, beside what a point moves in it.
LEFT = 1e-6
FAINT = 1e-4  # of the largest force of all rows
YIELDS = 0.01  # of friction in a time step
STEPS_MOVED = 4.0  # steps of its own speed, and of the largest acceleration there


@dataclass(frozen=True)
class ContactLook:
    """What all closed points of all rows show; forces relative to the largest one of the row.

    points : how many there are
    negative : the largest pull; cone : friction beyond what the normal force allows
    gap : m, the largest distance from a surface of the two shapes, either way
    sticks : m/s, the fastest point that sticks; parts : m/s, the fastest across its surface, in event mode
    slides : by how much friction of points that slide is off its law: size and direction
    gives : W, the largest power that a point gives to its bodies; takes : the largest that it takes from them
    """

    points: int
    negative: float
    cone: float
    gap: float
    sticks: float
    parts: float
    slides: float
    gives: float
    takes: float


@dataclass(frozen=True)
class _Law:
    """One thing that is promised of every point: how far each is off, how far it may be, and what to say of it."""

    off: np.ndarray
    allowed: np.ndarray | float
    text: Callable[[int], str]


def look_at_contacts(touching: Touching, step: np.ndarray) -> tuple[ContactLook | None, list[str]]:
    """Return what the points show, and a sentence for each law that some do not follow.

    step : (rows,) s, of rows that time steps resolve; zero where events do
    """
    if not len(touching):
        return None, []
    if not all(np.isfinite(a).all() for a in (touching.point, touching.normal, touching.force)):
        return None, ["contacts: some of the recorded points, normals or forces are not finite numbers"]
    k, mode, n = np.arange(len(touching)), touching.mode, touching.normal
    f_n, u_n = np.sum(touching.force * n, axis=1), np.sum(touching.slip * n, axis=1)
    f_t, u_t = touching.force - f_n[:, None] * n, touching.slip - u_n[:, None] * n
    friction, speed = np.linalg.norm(f_t, axis=1), np.linalg.norm(u_t, axis=1)
    h = step[touching.row]
    stepped = h > 0.0
    rounded = np.where(stepped, SOLVED, FORCE)
    most = np.zeros(touching.seen.recording.rows)
    np.maximum.at(most, touching.row, np.linalg.norm(touching.force, axis=1))
    least = max(FAINT * float(most.max()), 1e-300)  # below, forces are roundoff of others
    size = np.maximum(most[touching.row], least)
    sticks, slides = mode == STICKS, mode == SLIPS
    beyond = friction - touching.most * f_n
    off_size = np.min(
        [np.abs(friction - np.array([_nth(of, r) for of in touching.friction])[touching.pair] * f_n)
         for r in range(max(map(len, touching.friction), default=1))], axis=0,
    )  # fmt: skip
    fast = (
        slides
        & (speed > np.where(stepped, STEPS_MOVED * h * _gravity(touching), TURNS))
        & (touching.most > 0.0)
        & (friction > least)
    )
    against = (np.sum(f_t * u_t, axis=1) + friction * speed) / np.maximum(friction * speed, 1e-300)
    moved = STEPS_MOVED * h * (touching.speeds + h * _gravity(touching))
    # What solving leaves of a step may tell friction that is all but the most as that of a point that sticks.
    cone = touching.most * f_n
    # Nor is it asked of points that strike within the step: they close a gap that was open as it began.
    strikes = stepped & (u_n < -STEPS_MOVED * h * _gravity(touching))
    yields = stepped & (friction > (1.0 - YIELDS) * cone) & (friction < (1.0 - 0.5e-9) * cone)
    gap = np.max(np.abs(touching.depth), axis=1)
    power = np.sum(touching.force * touching.slip, axis=1)
    zero = np.zeros(len(k))
    laws = [
        _Law(np.abs(np.linalg.norm(n, axis=1) - 1.0), FORCE, lambda i: "its normal is no unit vector"),
        _Law(np.where(np.isin(mode, (STICKS, SLIPS)), 0.0, 1.0), 0.5, lambda i: "its mode is neither stick nor slip"),
        _Law(-f_n / size, rounded, lambda i: f"it pulls with {-f_n[i]:.3g} N; contacts only push"),
        _Law(beyond / size, rounded,
             lambda i: f"its friction of {friction[i]:.6g} N leaves the cone of {touching.most[i] * f_n[i]:.6g} N"),
        _Law(np.where(f_n > 0.0, gap, 0.0), np.where(stepped, LEFT + moved, GAP),
             lambda i: f"it presses {gap[i]:.2g} m away from the surfaces of the two shapes"),
        _Law(np.where(sticks & ~yields & ~strikes, speed, 0.0),
             np.where(stepped, STEPS_MOVED * h * _gravity(touching), SPEED),
             lambda i: f"it is recorded to stick and moves at {speed[i]:.3g} m/s"),
        _Law(np.where(slides, off_size / size, 0.0), rounded,
             lambda i: f"it is recorded to slide with a friction of {friction[i]:.6g} N instead of "
                       f"{touching.most[i] * f_n[i]:.6g} N"),
        _Law(np.where(fast & ~strikes, against, 0.0), np.where(stepped, ALONG, FORCE),
             lambda i: "its friction is not opposite to its slip"),
        _Law(np.where(stepped, 0.0, np.abs(u_n)), SPEED,
             lambda i: f"the bodies part or close there at {abs(u_n[i]):.3g} m/s"),
        _Law(np.where(stepped, zero, power / (size * np.maximum(speed, 1.0))), FORCE,
             lambda i: f"it gives {power[i]:.3g} W to the bodies; contacts only take energy"),
    ]  # fmt: skip
    told = [sentence for law in laws if (sentence := _told(touching, law))]
    events = ~stepped
    look = ContactLook(
        len(k), float(np.max(-f_n / size, initial=0.0)), float(np.max(beyond / size, initial=0.0)),
        float(np.max(gap)), float(np.max(speed[sticks], initial=0.0)),
        float(np.max(np.abs(u_n)[events], initial=0.0)),
        float(max(np.max((off_size / size)[slides], initial=0.0), np.max(against[fast], initial=0.0))),
        float(np.max(power, initial=0.0)), float(np.max(-power, initial=0.0)),
    )  # fmt: skip
    return look, told


def _nth(of: tuple[float, ...], k: int) -> float:
    """Return one of the coefficients of a pair, the last where it has fewer."""
    return of[min(k, len(of) - 1)] if of else 0.0


def _gravity(touching: Touching) -> float:
    """Return the size of an acceleration that points at rest may have left in a step [m/s^2]."""
    return max(float(np.linalg.norm(touching.seen.gravity)), 1.0)


def _told(touching: Touching, law: _Law) -> str:
    wrong = ~(law.off <= law.allowed)
    if not wrong.any():
        return ""
    i = int(np.argmax(np.where(wrong, law.off, -np.inf)))
    time = float(touching.seen.recording.time[touching.row[i]])
    more = f" ({int(wrong.sum())} points in all)" if wrong.sum() > 1 else ""
    return f"contact of {touching.name(int(touching.pair[i]))} at t = {time:.6g} s: {law.text(i)}{more}"
