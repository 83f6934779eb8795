"""What verifying found, and what of it does not hold."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sim.analysis.verification.comparing import ErrorBar, Growth
from sim.analysis.verification.contact_rows import ContactLook
from sim.analysis.verification.instants import Instant
from sim.analysis.verification.ledger import Entry
from sim.analysis.verification.missed import Missed


@dataclass(frozen=True)
class Peak:
    """The largest (of a singular value: the smallest) of something over time, and when it was."""

    value: float
    time: float


@dataclass(frozen=True)
class Moment:
    """An event in the recording and in the tighter rerun: times in s, nan where the rerun has none."""

    name: str
    time: float
    tighter: float


@dataclass
class Verdict:
    """Everything that `sim verify` finds of a recording.

    problems : a sentence for each thing that does not hold; notes : what a reader should know
    bit_equal : a rerun gives the same recording to the bit; None: not run again
    tolerances : of the recording and of the tighter rerun
    fixed : method and step of a recording of fixed steps, whose tighter rerun is dop853's; else empty
    steps : time steps of contacts, and those of the finer rerun [s]; None where events resolve contacts
    until : s, when the error bar of a pose passes what counts as lost; infinite where it does not
    contacts : what the recorded points of contact show; None without any
    bars : error bar of each kind of output; bar_time : instants of their curves
    growth : of differences; None: not run again
    moments : events in both runs
    missed : what the run passed by; looks : at how many places within its steps one looked for that
    ledger : an entry for each instant of events
    residuals : name -> largest, over all rows; singular, rank : of the loops' rows
    ranks : stretches of one rank, as `sim.recording.ranks` has them
    balance, peak : largest energy balance and kinetic energy [J]
    forces : joint -> share of its rows in which its force is chosen among many
    instants : what the oracle found
    curves : name -> (n,) over the recording's rows, for plots
    """

    scene: str
    recording: str
    program: str
    rows: int
    span: float
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    bit_equal: bool | None = None
    tolerances: tuple[float, float] = (np.nan, np.nan)
    fixed: str = ""
    steps: tuple[float, float] | None = None
    until: float = np.inf
    contacts: ContactLook | None = None
    bars: list[ErrorBar] = field(default_factory=list)
    bar_time: np.ndarray = field(default_factory=lambda: np.zeros(0))
    growth: Growth | None = None
    moments: list[Moment] = field(default_factory=list)
    missed: list[Missed] = field(default_factory=list)
    looks: int = 0
    ledger: list[Entry] = field(default_factory=list)
    residuals: dict[str, Peak] = field(default_factory=dict)
    singular: Peak | None = None
    rank: tuple[int, int] | None = None
    ranks: list[dict[str, Any]] = field(default_factory=list)
    balance: float = 0.0
    peak: float = 0.0
    forces: dict[str, float] = field(default_factory=dict)
    components: dict[str, str] = field(default_factory=dict)
    instants: list[Instant] = field(default_factory=list)
    curves: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
        return not self.problems

    @property
    def chosen(self) -> list[str]:
        """Joints whose force is, at some instant, one choice among many."""
        return [name for name, share in self.forces.items() if share > 0.0]

    def bar(self, name: str, of: str | None = None) -> float:
        """Return the error bar of a kind of output, or of one body, joint or column of it.

        Raises
        ------
        KeyError
            When there is no such output.
        """
        for bar in self.bars:
            if bar.name == name and (of is None or of in bar.by_name):
                return bar.bar if of is None else bar.by_name[of]
        raise KeyError(f"no error bar of {name!r}{'' if of is None else f' for {of!r}'}")

    def as_data(self) -> dict[str, Any]:
        """Return everything but the curves as plain data."""
        growth = self.growth
        return {
            "ok": self.ok, "scene": self.scene, "recording": self.recording, "program": self.program,
            "rows": self.rows, "simulated_time": self.span, "problems": self.problems, "notes": self.notes,
            "repeats_to_the_bit": self.bit_equal, "tolerances": list(self.tolerances),
            "fixed_steps": self.fixed, "contact_steps": None if self.steps is None else list(self.steps),
            "contacts": None if self.contacts is None else asdict(self.contacts),
            "comparable_until": self.until,
            "error_bars": [
                {"name": b.name, "unit": b.unit, "bar": b.bar, "at_end": b.at_end, "largest": b.largest,
                 "where": b.where, "time": b.time, "by_name": b.by_name}
                for b in self.bars
            ],
            "reproducible": None if growth is None else {
                "lost": growth.lost, "lost_by_roundoff": growth.lost_by_roundoff, "growth": float(growth.factor[-1]),
                "law": growth.law, "exponent": growth.exponent,
            },
            "events": [asdict(moment) for moment in self.moments],
            "missed": [asdict(missed) for missed in self.missed], "looks": self.looks,
            "ledger": [{**asdict(entry), "closed": entry.closed} for entry in self.ledger],
            "residuals": {name: asdict(peak) for name, peak in self.residuals.items()},
            "smallest_singular_value": None if self.singular is None else asdict(self.singular),
            "rank": self.rank, "ranks": self.ranks, "energy_balance": self.balance, "peak_kinetic_energy": self.peak,
            "forces": {
                name: {"determinate": share == 0.0, "chosen_share": share} for name, share in self.forces.items()
            },
            "determinate_components": self.components,
            "oracle": [asdict(instant) for instant in self.instants],
        }  # fmt: skip
