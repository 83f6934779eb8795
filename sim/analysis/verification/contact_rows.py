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
# The same of what a depth gives, which is the difference of two poses.
SOFT = 1e-6
# m/s: how far beyond a stop, at most, a slide is found to end.
BEYOND = 1e-7
# m/s: friction of a restless point is mu f u / (|u| + EASED (1 - |u| / EASES)^2) until it is as fast (see there, too).
EASED, EASES = 1e-5, 8e-5
SOFT_BEYOND = 2e-5  # the same of soft points
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
    gap : m, the largest distance from a surface of two shapes that do not give way, either way
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
    points = _Points(touching, step[touching.row])
    told = [sentence for law in [*_of_forces(points), *_of_motion(points)] if (sentence := _told(touching, law))]
    return _shown(points), told


class _Points:
    """Forces and motion of points across their surfaces and along them; h : (k,) s, of points in time steps, else 0."""

    def __init__(self, touching: Touching, h: np.ndarray):
        n, self.touching, self.h = touching.normal, touching, h
        self.f_n, self.u_n = np.sum(touching.force * n, axis=1), np.sum(touching.slip * n, axis=1)
        f_t, u_t = touching.force - self.f_n[:, None] * n, touching.slip - self.u_n[:, None] * n
        self.friction, self.speed = np.linalg.norm(f_t, axis=1), np.linalg.norm(u_t, axis=1)
        self.power = np.sum(touching.force * touching.slip, axis=1)
        size = self.friction * self.speed
        self.against = (np.sum(f_t * u_t, axis=1) + size) / np.maximum(size, 1e-300)
        self.stepped, self.slow = h > 0.0, STEPS_MOVED * h * _gravity(touching)
        self.sticks, self.slides = touching.mode == STICKS, touching.mode == SLIPS
        most = np.zeros(touching.seen.recording.rows)
        np.maximum.at(most, touching.row, np.linalg.norm(touching.force, axis=1))
        self.least = max(FAINT * float(most.max()), 1e-300)  # below, forces are roundoff of others
        self.size = np.maximum(most[touching.row], self.least)
        self.cone = touching.most * self.f_n
        self.beyond = (self.friction - self.cone) / self.size
        self.off_size = self._off_size() / self.size
        stiffness, dissipation, unknown = touching.soft
        self.gives_way, self.stiffness = (stiffness > 0.0) | unknown, stiffness
        depth = -touching.depth.sum(axis=1)  # points are amid the two surfaces
        self.by_depth = stiffness * depth * np.maximum(1.0 - dissipation * self.u_n, 0.0)
        self.off_depth = np.where(stiffness > 0.0, np.abs(self.f_n - self.by_depth), 0.0) / self.size
        self.backward = np.where(self.gives_way, SOFT_BEYOND, BEYOND)
        self.power = self.power - stiffness * depth * self.u_n  # what springs back is no power that is given
        self.gap = np.where(self.gives_way, 0.0, np.max(np.abs(touching.depth), axis=1))

    def _off_size(self) -> np.ndarray:
        """By how much friction is not what one of the coefficients of its pair makes of the normal force [N].

        In the time step in which a point begins to slide it has the one at rest; where events decide, a restless point
        that slides slowly has a part of it.
        """
        off = self._off(self.touching.friction)
        held = EASED * np.maximum(1.0 - self.speed / EASES, 0.0) ** 2
        eased = self._off(self.touching.friction, self.speed / np.maximum(self.speed + held, 1e-300))
        off = np.where(self.stepped | (self.speed >= EASES), off, np.minimum(off, eased))
        return np.where(self.stepped, np.minimum(off, self._off(self.touching.friction_at_rest)), off)

    def _off(self, of: list[tuple[float, ...]], share: np.ndarray | float = 1.0) -> np.ndarray:
        pair = self.touching.pair
        coefficients = (np.array([_nth(each, r) for each in of])[pair] for r in range(max(map(len, of), default=1)))
        return np.min([np.abs(self.friction - share * mu * self.f_n) for mu in coefficients], axis=0)

    @property
    def strikes(self) -> np.ndarray:
        """Points that close a gap within a time step: they slide freely for the share of it that the gap is open."""
        return self.stepped & (self.u_n < -self.slow)

    @property
    def yields(self) -> np.ndarray:
        """Points whose friction is all but the most, which solving a time step may tell as that of one that sticks."""
        return (
            self.stepped & (self.friction > (1.0 - YIELDS) * self.cone) & (self.friction < (1.0 - 0.5e-9) * self.cone)
        )

    @property
    def fast(self) -> np.ndarray:
        """Points that slide so fast that their friction has a direction."""
        moves = self.speed > np.where(self.stepped, self.slow, TURNS)
        return self.slides & moves & (self.touching.most > 0.0) & (self.friction > self.least)


def _of_forces(points: _Points) -> list[_Law]:
    """Return what is promised of normals, modes and forces."""
    p, rounded, unit = points, np.where(points.stepped, SOLVED, FORCE), np.linalg.norm(points.touching.normal, axis=1)
    moved = STEPS_MOVED * points.h * points.touching.speeds + points.h * points.slow
    return [
        _Law(np.abs(unit - 1.0), FORCE, lambda i: "its normal is no unit vector"),
        _Law(np.where(p.sticks | p.slides, 0.0, 1.0), 0.5, lambda i: "its mode is neither stick nor slip"),
        _Law(-p.f_n / p.size, rounded, lambda i: f"it pulls with {-p.f_n[i]:.3g} N; contacts only push"),
        _Law(p.beyond, rounded,
             lambda i: f"its friction of {p.friction[i]:.6g} N leaves the cone of {p.cone[i]:.6g} N"),
        _Law(np.where(p.slides, p.off_size, 0.0), rounded,
             lambda i: f"it is recorded to slide with a friction of {p.friction[i]:.6g} N instead of "
                       f"{p.cone[i]:.6g} N"),
        _Law(p.off_depth, np.where(p.stepped, p.stiffness * (LEFT + moved) / p.size + ALONG, SOFT),
             lambda i: f"it presses with {p.f_n[i]:.6g} N where its depth gives {p.by_depth[i]:.6g} N"),
        _Law(np.where(p.stepped, 0.0, (p.power - p.backward * p.friction) / (p.size * np.maximum(p.speed, 1.0))), FORCE,
             lambda i: f"it gives {p.power[i]:.3g} W to the bodies; contacts only take energy"),
    ]  # fmt: skip


def _of_motion(points: _Points) -> list[_Law]:
    """Return what is promised of gaps, of slips and of their directions."""
    p, moved = points, STEPS_MOVED * points.h * points.touching.speeds + points.h * points.slow
    return [
        _Law(np.where(p.f_n > 0.0, p.gap, 0.0), np.where(p.stepped, LEFT + moved, GAP),
             lambda i: f"it presses {p.gap[i]:.2g} m away from the surfaces of the two shapes"),
        _Law(np.where(p.sticks & ~p.yields & ~p.strikes, p.speed, 0.0), np.where(p.stepped, p.slow, SPEED),
             lambda i: f"it is recorded to stick and moves at {p.speed[i]:.3g} m/s"),
        _Law(np.where(p.fast & ~p.strikes, p.against, 0.0), np.where(p.stepped, ALONG, FORCE),
             lambda i: "its friction is not opposite to its slip"),
        _Law(np.where(p.stepped | p.gives_way, 0.0, np.abs(p.u_n)), SPEED,
             lambda i: f"the bodies part or close there at {abs(p.u_n[i]):.3g} m/s"),
    ]  # fmt: skip


def _shown(points: _Points) -> ContactLook:
    """Return the largest of each."""
    p = points

    def largest(values: np.ndarray) -> float:
        return float(np.max(values, initial=0.0))

    return ContactLook(
        points=len(p.touching), negative=largest(-p.f_n / p.size), cone=largest(p.beyond), gap=largest(p.gap),
        sticks=largest(p.speed[p.sticks]), parts=largest(np.abs(p.u_n)[~p.stepped & ~p.gives_way]),
        slides=max(largest(p.off_size[p.slides]), largest(p.against[p.fast])),
        gives=largest(p.power), takes=largest(-p.power),
    )  # fmt: skip


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
