"""Walking: the torques that a pattern takes, shared between two feet by the paper's procedures, and a controller."""

from __future__ import annotations

import dataclasses

import numpy as np

from plugins.track import Track
from plugins.walking_pattern import FIRST, GRAVITY, SINGLE, Biped, Gait, Pattern
from sim.analysis.biped.double_support import Tip
from sim.analysis.biped.over_actuation import PROCEDURES, share
from sim.analysis.biped.virtual_decomposition import decompose
from sim.analysis.biped.walker import GROUND, Walker
from sim.plugin import ModelView, parameter
from sim.scene.time_table import TimeTable, as_csv, table_of

ROWS = 0.0025  # s: of the table that is followed, about

# Motors in the order of what is returned: each turns the second link against the first.
MOTORS = ("rear hip", "rear knee", "rear ankle", "front hip", "front knee", "front ankle")


def walker_of(biped: Biped, ankle: float) -> Walker:
    """Return the six links that hang on a flat foot, which is the ground: shank, thigh, trunk, and the other leg down.

    ankle : m, x of the flat foot's ankle
    """
    trunk, thigh, shank, foot = biped.trunk, biped.thigh, biped.shank, biped.foot
    down = np.array([0.0, -1.0])
    return Walker(
        parent=(GROUND, 0, 1, 2, 3, 4),
        hinge=np.array([
            [ankle, foot.ankle], [0.0, shank.length], [0.0, thigh.length], [0.0, 0.0], down * thigh.length,
            down * shank.length,
        ]),
        mass=np.array([shank.mass, thigh.mass, trunk.mass, thigh.mass, shank.mass, foot.mass]),
        com=np.array([
            [0.0, shank.length - shank.com], [0.0, thigh.length - thigh.com], [0.0, trunk.com], down * thigh.com,
            down * shank.com, foot.com,
        ]),
        inertia=np.array([s.inertia for s in (shank, thigh, trunk, thigh, shank, foot)]), gravity=GRAVITY,
    )  # fmt: skip


def torques(pattern: Pattern, t: np.ndarray, procedure: str = "reactions") -> tuple[np.ndarray, np.ndarray]:
    """Return what motors give along a pattern (times, 6) [N m], and the ground reactions (times, 2, 3).

    Of motors in the order of `MOTORS`; of the rear and the front foot force [N] and moment about the origin of the
    step [N m].  In double support by one of the paper's four procedures; two of them are told what the foot that turns
    carries, eq. (28).

    procedure : a name of `sim.analysis.biped.over_actuation.PROCEDURES`
    """
    posture, force = pattern.posture(t), pattern.force(t)
    point = pattern.zero_moment_point(t)
    s, choose = pattern.share(t), PROCEDURES[procedure]
    grounds = {"rear": walker_of(pattern.biped, 0.0), "front": walker_of(pattern.biped, pattern.gait.length)}
    foot = pattern.biped.foot
    out, reactions = np.zeros((len(t), 6)), np.zeros((len(t), 2, 3))
    for n, phase in enumerate(posture.phase):
        stands, other = ("rear", "front") if phase in (SINGLE, FIRST) else ("front", "rear")
        walker = grounds[stands]
        links = [(stands, "shank"), (stands, "thigh"), None, (other, "thigh"), (other, "shank"), (other, "foot")]
        ways = [posture.trunk if link is None else posture.angle[link] for link in links]
        q, rates, changes = (np.array([getattr(way, what)[n] for way in ways]) for what in ("at", "rate", "change"))
        on_other = np.zeros(3)
        if phase == SINGLE:
            tau = decompose(walker, q, rates, changes).torques()
        else:
            point_of = np.array([-foot.heel if stands == "rear" else foot.toe, -foot.ankle])
            tip = Tip(5, point_of)
            shared = share(walker, 2, tip, q, rates, changes)
            wanted = (s[n] if stands == "rear" else 1.0 - s[n]) * force[n]
            f_T1 = choose(shared, wanted, np.eye(6))
            tau, at = shared.torques(f_T1), walker.place(q, 5, point_of)
            on_other[:2] = shared.foot(f_T1)[:2]
            on_other[2] = shared.foot(f_T1)[2] + at[0] * on_other[1] - at[1] * on_other[0]
        # A motor of the walker turns a link against the one nearer to the ground: on the standing leg against its own.
        own, across_ = (
            slice(0, 3) if stands == "rear" else slice(3, 6),
            slice(3, 6) if stands == "rear" else slice(0, 3),
        )
        out[n, own], out[n, across_] = -tau[[2, 1, 0]], tau[3:]
        total = np.array([force[n, 0], force[n, 1], point[n] * force[n, 1]])
        k = 1 if stands == "rear" else 0
        reactions[n, k], reactions[n, 1 - k] = on_other, total - on_other
    return out, reactions


def table(pattern: Pattern, left: tuple[str, ...], right: tuple[str, ...], steps: int, procedure: str) -> TimeTable:
    """Return the angles and torques of hips, knees and ankles over some steps, the first one on the left foot.

    left, right : names of hip, knee and ankle, each an angle of the lower link against the upper one
    """
    count = round(pattern.gait.period / ROWS)
    t = pattern.gait.period * np.arange(count) / count
    posture, (given, _) = pattern.posture(t), torques(pattern, t, procedure)
    angles = []
    for leg in ("rear", "front"):
        thigh, shank, foot = (posture.angle[leg, part] for part in ("thigh", "shank", "foot"))
        angles += [(thigh - posture.trunk).at, (shank - thigh).at, (foot - shank).at]
    columns: dict[str, tuple[str, np.ndarray]] = {}
    for name, k in zip((*left, *right), range(6), strict=True):
        order = [(k + 3 * (step % 2)) % 6 for step in range(steps)]  # who stands takes turns
        columns[name] = ("rad", np.concatenate([angles[j] for j in order]))
        columns[f"torque({name!r})"] = ("N m", np.concatenate([given[:, j] for j in order]))
    time = pattern.gait.period * np.arange(count * steps) / count
    return table_of(as_csv(time, columns), "the walking pattern")


@dataclasses.dataclass(kw_only=True)
class Walk(Track):
    """Lead a biped's hips, knees and ankles along a walking pattern, by the torques that it takes, springs and dampers.

    The pattern is that of `plugins.walking_pattern` for a person of some mass and height; it begins with single support
    on the left foot.  Torques in double support are shared by one of the four procedures of
    biped-lagrange-newton-euler-2014.
    """

    file: TimeTable = dataclasses.field(init=False)
    left: tuple[str, ...] = parameter(kind="joints", about="Hip, knee and ankle of the left leg")
    right: tuple[str, ...] = parameter(kind="joints", about="Hip, knee and ankle of the right leg")
    mass: float = parameter(70.0, unit="kg", minimum=0.0, about="Mass of the person")
    height: float = parameter(1.75, unit="m", minimum=0.0, about="Height of the person")
    length: float = parameter(Gait.length, unit="m", minimum=0.0, about="From one footprint to the next")
    lift: float = parameter(Gait.lift, unit="m", minimum=0.0, about="How far the ankle rises as it swings")
    single: float = parameter(Gait.single, unit="s", minimum=1e-3, about="Time of single support")
    first: float = parameter(
        Gait.first, unit="s", minimum=1e-3, about="Time in which the front foot turns about its heel"
    )
    second: float = parameter(
        Gait.second, unit="s", minimum=1e-3, about="Time in which the rear foot turns about its toe"
    )
    hip: float = parameter(Gait.hip, unit="m", minimum=0.0, about="Height of the hip")
    steps: int = parameter(12, kind="integer", minimum=1, about="Steps of the pattern")
    procedure: str = parameter(
        "reactions", kind="text", choices=tuple(PROCEDURES), about="How two feet share the work in double support"
    )

    def start(self, view: ModelView) -> None:
        """Make the pattern; refuse one that the legs cannot walk."""
        for name in ("left", "right"):
            if len(getattr(self, name)) != 3:
                raise ValueError(f"walk: {name} has {len(getattr(self, name))} joints; expected hip, knee and ankle")
        try:
            pattern = self.pattern()
        except ValueError as error:
            raise ValueError(f"walk: {error}") from error
        self.file = table(pattern, self.left, self.right, self.steps, self.procedure)
        super().start(view)

    def pattern(self) -> Pattern:
        """Return the pattern that is walked."""
        names = ("length", "lift", "single", "first", "second", "hip")
        gait = Gait(**{name: getattr(self, name) for name in names})
        return Pattern(Biped.of_person(self.mass, self.height), gait)
