"""A walking pattern of a planar biped with feet, whose zero moment point goes where it is wanted.

The plane is that of walking: x ahead, y up; angles are counterclockwise, so a foot whose toe points up has a positive
pitch.  A step has the phases of biped-lagrange-newton-euler-2014: single support (SSP), in which the other foot swings
and touches down with its heel without any speed; DSP1, in which the front foot turns about its heel until it is flat;
DSP2, in which the rear foot turns about its toe.  Feet follow polynomials that begin and end phases at rest and without
acceleration.  The trunk stays upright, and the hip at its height; how the hip goes ahead is found so that the zero
moment point of all bodies is where it is wanted: the remainder is taken for that of a cart on a table, harmonic by
harmonic (Takanishi et al., IROS 1989, 795), until none is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GRAVITY = 9.81
ROUNDS = 200  # of correcting the hip's way; each takes most of what is left
LEFT = 1e-11  # m: what is left of the zero moment point's error
HARMONICS = 1024  # nodes of a step

SINGLE, FIRST, SECOND = "SSP", "DSP1", "DSP2"


@dataclass(frozen=True)
class Segment:
    """A rigid part of a leg, or the trunk.

    mass : kg;  length : m, from its upper to its lower joint;  com : m, from its upper joint along it (the trunk: from
    the hip up);  inertia : kg m^2 about its centre of mass, across the plane
    """

    mass: float
    length: float
    com: float
    inertia: float


@dataclass(frozen=True)
class Foot:
    """heel, toe : m, behind and ahead of the ankle;  ankle : m, above the sole;  com : (2,) m, from the ankle."""

    mass: float
    heel: float
    toe: float
    ankle: float
    com: tuple[float, float]
    inertia: float


@dataclass(frozen=True)
class Biped:
    """Seven links: trunk, two thighs, shanks and feet."""

    trunk: Segment
    thigh: Segment
    shank: Segment
    foot: Foot

    @classmethod
    def of_person(cls, mass: float = 70.0, height: float = 1.75) -> Biped:
        """Return one with the segments of a grown person, by Winter (2009), tables 4.1 and figure 4.1.

        The trunk is head, arms and trunk together.
        """
        thigh, shank, sole, ankle = 0.245 * height, 0.246 * height, 0.152 * height, 0.039 * height
        trunk, toe = 0.288 * height, 0.152 * height * 0.7

        def of(share: float, length: float, com: float, gyration: float) -> Segment:
            return Segment(share * mass, length, com * length, share * mass * (gyration * length) ** 2)

        return cls(
            of(0.678, trunk, 0.626, 0.496), of(0.100, thigh, 0.433, 0.323), of(0.0465, shank, 0.433, 0.302),
            Foot(
                0.0145 * mass, sole - toe, toe, ankle, (toe - 0.5 * sole, -0.5 * ankle),
                0.0145 * mass * (0.475 * sole) ** 2,
            ),
        )  # fmt: skip

    @property
    def mass(self) -> float:
        """All of it [kg]."""
        return self.trunk.mass + 2.0 * (self.thigh.mass + self.shank.mass + self.foot.mass)


@dataclass(frozen=True)
class Gait:
    """How it walks.

    length : m, from one footprint to the next;  lift : m, how far the swinging ankle rises
    single, first, second : s, of SSP, DSP1 and DSP2
    hip : m, height of the hip
    strikes, leaves : rad, pitch of the front foot when its heel touches down, and of the rear foot when its toe leaves
    behind, ahead : m, of the ankle: where the zero moment point is when single support begins and ends
    """

    length: float = 0.40
    lift: float = 0.06
    single: float = 0.60
    first: float = 0.15
    second: float = 0.15
    hip: float = 0.84
    strikes: float = np.radians(10.0)
    leaves: float = np.radians(15.0)
    behind: float = 0.0
    ahead: float = 0.06

    @property
    def period(self) -> float:
        """Of a step [s]."""
        return self.single + self.first + self.second


def rise(u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 0 to 1 over u from 0 to 1, at rest and without acceleration at both ends, with two derivatives."""
    return u**3 * (10 + u * (6 * u - 15)), 30 * u**2 * (1 - u) ** 2, 60 * u * (1 - u) * (1 - 2 * u)


def bump(u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 0 to 1 and back over u from 0 to 1, at rest and without acceleration at both ends."""
    w = u * (1 - u)
    dw = 1 - 2 * u
    return 64 * w**3, 192 * w**2 * dw, 192 * (2 * w * dw**2 - 2 * w**2)


@dataclass(frozen=True)
class Way:
    """Where something is over time, with two derivatives: each (times, ...)."""

    at: np.ndarray
    rate: np.ndarray
    change: np.ndarray

    def __add__(self, other: Way) -> Way:
        return Way(self.at + other.at, self.rate + other.rate, self.change + other.change)

    def __sub__(self, other: Way) -> Way:
        return Way(self.at - other.at, self.rate - other.rate, self.change - other.change)


def rigid(angle: Way, arm: np.ndarray) -> Way:
    """Return R(angle) arm over time (times, 2)."""
    c, s = np.cos(angle.at), np.sin(angle.at)
    at = np.stack([c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]], axis=1)
    across = np.stack([-at[:, 1], at[:, 0]], axis=1)
    w, dw = angle.rate[:, None], angle.change[:, None]
    return Way(at, w * across, dw * across - w**2 * at)


@dataclass(frozen=True)
class Posture:
    """All of a biped over time: absolute angles of links, and where ankles and hip are.

    A leg that hangs straight has angles of zero; `rear` and `front` name legs by the foot that stands behind or ahead,
    in single support the standing one is the rear one.  Of each leg: thigh, shank, foot.
    """

    phase: np.ndarray  # (times,) of names
    hip: Way
    ankle: dict[str, Way]
    angle: dict[tuple[str, str], Way]
    trunk: Way


class Pattern:
    """A step, from single support on the foot at x = 0 to that on the next foot at x = length.

    Parameters
    ----------
    biped : Biped
    gait : Gait

    Raises
    ------
    ValueError
        Where legs are too short for it, or the swinging foot would go through the ground.
    """

    def __init__(self, biped: Biped, gait: Gait):
        self.biped, self.gait = biped, gait
        self._harmonics = np.zeros(HARMONICS // 2 + 1, complex)
        self._check()
        self._solve()
        self._check()

    # --- what is wanted ---------------------------------------------------------------------------

    def share(self, t: np.ndarray) -> np.ndarray:
        """Return how much of all the front foot carries, eq. (28): from 0 at the end of single support to 1."""
        g = self.gait
        return np.clip((np.asarray(t) - g.single) / (g.first + g.second), 0.0, 1.0)

    def pressure(self, t: np.ndarray) -> np.ndarray:
        """Return where the zero moment point is wanted (times,) [m].

        In single support it goes ahead under the foot.  In DSP1 the front foot presses at its heel alone, and the
        centre of pressure of the rear one goes to its toe; in DSP2 that of the front one goes from its heel to
        where the next single support begins.
        """
        g, foot = self.gait, self.biped.foot
        heel = g.length - foot.heel
        u = np.clip(t / g.single, 0.0, 1.0)
        alone = g.behind + (g.ahead - g.behind) * u
        rear = g.ahead + (foot.toe - g.ahead) * rise(np.clip((t - g.single) / g.first, 0.0, 1.0))[0]
        to = g.length + g.behind
        front = heel + (to - heel) * rise(np.clip((t - g.single - g.first) / g.second, 0.0, 1.0))[0]
        s = self.share(t)
        return np.where(t < g.single, alone, (1.0 - s) * rear + s * front)

    # --- feet, hip and legs -----------------------------------------------------------------------

    def posture(self, t: np.ndarray) -> Posture:
        """Return all angles at times (times,) of a step, from 0 to its period [s]."""
        t = np.asarray(t, float)
        g = self.gait
        phase = np.select([t < g.single, t < g.single + g.first], [SINGLE, FIRST], SECOND)
        hip = self._hip(t)
        ankles, angles = {}, {}
        for leg, (ankle, pitch) in {"rear": self._standing(t), "front": self._other(t)}.items():
            ankles[leg], angles[leg, "foot"] = ankle, pitch
            angles[leg, "thigh"], angles[leg, "shank"] = self._leg(hip - ankle)
        zero = np.zeros_like(t)
        return Posture(phase, hip, ankles, angles, Way(zero, zero, zero))

    def _hip(self, t: np.ndarray) -> Way:
        g = self.gait
        v = g.length / g.period
        omega = 2.0 * np.pi * np.arange(len(self._harmonics)) / g.period
        wave = np.exp(1j * np.outer(t - self._node, omega)) * self._harmonics
        parts = [np.real((wave * (1j * omega) ** n).sum(axis=1)) for n in range(3)]
        x = Way(v * t + parts[0], v + parts[1], parts[2])
        y = np.full_like(t, g.hip)
        return Way(*(np.stack(pair, axis=1) for pair in ((x.at, y), (x.rate, 0 * y), (x.change, 0 * y))))

    @property
    def _node(self) -> float:
        """An instant at which the zero moment point is exact: where one foot hands over to the other [s]."""
        return self.gait.single + self.gait.first

    def _standing(self, t: np.ndarray) -> tuple[Way, Way]:
        """Return ankle and pitch of the foot that stands at x = 0: flat, then on its toe."""
        g, foot = self.gait, self.biped.foot
        pitch = _timed(rise, t, g.single + g.first, g.second, -g.leaves)
        return _about(np.array([foot.toe, 0.0]), np.array([-foot.toe, foot.ankle]), pitch), pitch

    def _other(self, t: np.ndarray) -> tuple[Way, Way]:
        """Return ankle and pitch of the other foot: from its toe at x = -length it swings to its heel at x = length."""
        g, foot = self.gait, self.biped.foot
        still = np.zeros(1)
        left = _about(np.array([foot.toe - g.length, 0.0]), np.array([-foot.toe, foot.ankle]),
                      Way(still - g.leaves, still, still)).at[0]  # fmt: skip
        heel, arm = np.array([g.length - foot.heel, 0.0]), np.array([foot.heel, foot.ankle])
        struck = _about(heel, arm, Way(still + g.strikes, still, still)).at[0]
        swung, up = _timed(rise, t, 0.0, g.single, 1.0), _timed(bump, t, 0.0, g.single, g.lift)
        ankle = Way(*(
            np.outer(part, struck - left) + np.stack([0 * part, high], axis=1)
            for part, high in zip((swung.at, swung.rate, swung.change), (up.at, up.rate, up.change), strict=True)
        )) + Way(np.tile(left, (len(t), 1)), 0.0, 0.0)  # type: ignore[arg-type]  # fmt: skip
        pitch = _timed(rise, t, 0.0, g.single, g.leaves + g.strikes)
        pitch = Way(pitch.at - g.leaves, pitch.rate, pitch.change)
        down = _timed(rise, t, g.single, g.first, -g.strikes)
        turning = Way(down.at + g.strikes, down.rate, down.change)
        landed = _about(heel, arm, turning)
        swings = t < g.single
        return (
            Way(*(np.where(swings[:, None], a, b) for a, b in zip(_parts(ankle), _parts(landed), strict=True))),
            Way(*(np.where(swings, a, b) for a, b in zip(_parts(pitch), _parts(turning), strict=True))),
        )

    def _leg(self, up: Way) -> tuple[Way, Way]:
        """Return the angles of thigh and shank for the way from the ankle up to the hip; the knee bends ahead."""
        a, b = self.biped.thigh.length, self.biped.shank.length
        d = np.hypot(up.at[:, 0], up.at[:, 1])
        if np.any(d >= a + b) or np.any(d <= abs(a - b)):
            raise ValueError(f"hip: legs reach {a + b:.4g} m, and the hip is up to {d.max():.4g} m from an ankle")
        tilt = np.arctan2(-up.at[:, 0], up.at[:, 1])  # of the line from ankle to hip, counterclockwise from upright
        at_hip = np.arccos((a**2 + d**2 - b**2) / (2 * a * d))
        at_ankle = np.arccos((b**2 + d**2 - a**2) / (2 * b * d))
        thigh, shank = tilt + at_hip, tilt - at_ankle
        # From the hip down to the ankle: a (sin, -cos)(thigh) + b (sin, -cos)(shank).
        J = np.stack([
            np.stack([a * np.cos(thigh), b * np.cos(shank)], axis=1),
            np.stack([a * np.sin(thigh), b * np.sin(shank)], axis=1),
        ], axis=1)  # fmt: skip
        rates = np.linalg.solve(J, -up.rate[:, :, None])[:, :, 0]
        bent = np.stack([
            -a * np.sin(thigh) * rates[:, 0] ** 2 - b * np.sin(shank) * rates[:, 1] ** 2,
            a * np.cos(thigh) * rates[:, 0] ** 2 + b * np.cos(shank) * rates[:, 1] ** 2,
        ], axis=1)  # fmt: skip
        changes = np.linalg.solve(J, (-up.change - bent)[:, :, None])[:, :, 0]
        return Way(thigh, rates[:, 0], changes[:, 0]), Way(shank, rates[:, 1], changes[:, 1])

    # --- what acts --------------------------------------------------------------------------------

    def centres(self, posture: Posture) -> list[tuple[float, float, Way, Way]]:
        """Return mass, inertia, the way of the centre of mass and the angle of each of the seven links."""
        b = self.biped
        out = [(b.trunk.mass, b.trunk.inertia, posture.hip + rigid(posture.trunk, np.array([0.0, b.trunk.com])),
                posture.trunk)]  # fmt: skip
        for leg in ("rear", "front"):
            thigh, shank, foot = (posture.angle[leg, part] for part in ("thigh", "shank", "foot"))
            knee = posture.hip + rigid(thigh, np.array([0.0, -b.thigh.length]))
            out += [
                (b.thigh.mass, b.thigh.inertia, posture.hip + rigid(thigh, np.array([0.0, -b.thigh.com])), thigh),
                (b.shank.mass, b.shank.inertia, knee + rigid(shank, np.array([0.0, -b.shank.com])), shank),
                (b.foot.mass, b.foot.inertia, posture.ankle[leg] + rigid(foot, np.array(b.foot.com)), foot),
            ]
        return out

    def force(self, t: np.ndarray) -> np.ndarray:
        """Return what the ground gives in all (times, 2) [N]."""
        parts = self.centres(self.posture(t))
        return np.asarray(sum(mass * (way.change + np.array([0.0, GRAVITY])) for mass, _, way, _ in parts))

    def zero_moment_point(self, t: np.ndarray) -> np.ndarray:
        """Return where the ground's force acts on the ground (times,) [m]."""
        moment, up = np.zeros_like(np.asarray(t, float)), np.zeros_like(np.asarray(t, float))
        for mass, inertia, way, angle in self.centres(self.posture(t)):
            rising = way.change[:, 1] + GRAVITY
            moment += mass * (way.at[:, 0] * rising - way.at[:, 1] * way.change[:, 0]) + inertia * angle.change
            up += mass * rising
        return moment / up

    def _solve(self) -> None:
        """Find how the hip goes ahead."""
        g = self.gait
        t = np.mod(self._node + g.period * np.arange(HARMONICS) / HARMONICS, g.period)
        omega = 2.0 * np.pi * np.arange(len(self._harmonics)) / g.period
        height = self._height()
        steps = np.ones(len(omega))
        steps[1 : (HARMONICS + 1) // 2] = 2.0  # of both signs of a harmonic
        wanted = self.pressure(t)
        for _ in range(ROUNDS):
            off = wanted - self.zero_moment_point(t)
            if np.abs(off).max() <= LEFT:
                return
            self._harmonics += steps * np.fft.rfft(off) / HARMONICS / (1.0 + height / GRAVITY * omega**2)
        raise ValueError("length, hip: no way of the hip was found that leads the zero moment point")

    def _height(self) -> float:
        """Return the height of the cart on its table: that of what moves with the hip [m]."""
        b, g = self.biped, self.gait
        return (b.trunk.mass * (g.hip + b.trunk.com) + 2.0 * b.thigh.mass * (g.hip - b.thigh.com)) / b.mass

    def _check(self) -> None:
        """Refuse a foot that goes through the ground."""
        t = np.linspace(0.0, self.gait.single, 201)[1:-1]
        posture, foot = self.posture(t), self.biped.foot
        for arm in ((-foot.heel, -foot.ankle), (foot.toe, -foot.ankle)):
            lowest = (posture.ankle["front"] + rigid(posture.angle["front", "foot"], np.array(arm))).at[:, 1].min()
            if lowest < 0.0:
                raise ValueError(
                    f"lift: the swinging foot comes {-lowest:.3g} m below the ground; expected a higher lift"
                )


def _parts(way: Way) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return way.at, way.rate, way.change


def _timed(form: object, t: np.ndarray, begin: float, span: float, size: float) -> Way:
    """Return a form (`rise`, `bump`) over a time, constant before and after."""
    u = np.clip((t - begin) / span, 0.0, 1.0)
    at, rate, change = form(u)  # type: ignore[operator]
    return Way(size * at, size * rate / span, size * change / span**2)


def _about(pivot: np.ndarray, arm: np.ndarray, pitch: Way) -> Way:
    """Return the way of a point that turns about a pivot at rest."""
    moved = rigid(pitch, arm)
    return Way(pivot + moved.at, moved.rate, moved.change)
