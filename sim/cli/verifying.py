"""`sim verify`: how far every number of a recording can be trusted, as a table, a plot or JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.cli import options
from sim.cli.drawing import PLOTS
from sim.cli.interrupts import deferred
from sim.cli.outcome import DOUBTED, OK, counted, print_json, say, tell
from sim.cli.progress import run_progress, waiting
from sim.cli.running import by_components
from sim.scene.authored import aside

if TYPE_CHECKING:
    from sim.analysis.verification.contact_rows import ContactLook
    from sim.analysis.verification.verdict import Verdict

FAR = 100.0  # runs: what is extrapolated beyond is not said as a time

MOST_BLOWS = 20  # impulses of contacts that the table shows
FAINT = 1e-6  # of the largest: what bringing roundoff to rest takes is no blow


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """What was typed behind `sim verify`."""

    recording: Path
    output: Path | None = None
    instants: int = 20
    quick: bool = False
    size: str | None = None
    quiet: bool = False
    overwrite: bool = False
    trust: bool = False
    as_json: bool = False


def verify(wish: VerifyOptions) -> int:
    """Verify a recording, print what was found and return the exit code: 5 when something does not hold."""
    if wish.output is not None:
        options.target(wish.output, "-o", PLOTS, overwrite=wish.overwrite)
    size = options.size(wish.size)
    import sim
    from sim.kernels import jit

    if wish.quick:
        jit.interpret()  # nothing runs: importing the compiler would take longer
    recording = sim.load_recording(wish.recording)
    quiet = wish.quiet or wish.as_json
    with recording, ExitStack() as stack:
        pause = stack.enter_context(deferred())
        if not wish.quick and not quiet and jit.is_cold():
            say("compiling the kernels, once: about a minute")
        try:
            verdict = aside(
                sim.verify, recording, instants=wish.instants, quick=wish.quick, trust=wish.trust,
                stage=_stages(pause, stack, quiet),
            )  # fmt: skip
        except sim.SceneError:
            if not wish.as_json:
                say(f"the scene in {wish.recording} cannot be read by this program:")
            raise
        if wish.output is not None:
            _plot(recording, verdict, wish.output, size)
    if wish.as_json:
        print_json(verdict.as_data())
    elif not wish.quiet:
        print_verdict(verdict)
    for problem in verdict.problems if not wish.as_json else ():
        say(f"does not hold: {problem}")
    if wish.output is not None and not quiet:
        say(f"written: {wish.output}")
    return OK if verdict.ok else DOUBTED


def _stages(pause: Callable[[], None], stack: ExitStack, quiet: bool) -> Callable[[str], Any]:
    """Return what shows the progress of each rerun, and lets Ctrl-C through."""
    bar = ExitStack()
    stack.push(bar)
    bar.enter_context(waiting(quiet, "reading"))

    def stage(name: str) -> Any:
        bar.close()
        show = bar.enter_context(run_progress(quiet, name, name))

        def tell(t: float, span: float, events: int) -> None:
            pause()
            if show is not None:
                show(t, span, events)

        return tell

    return stage


# --- table ------------------------------------------------------------------------------------------


def print_verdict(verdict: Verdict) -> None:
    """Print what was found as tables."""
    from sim.cli.printed_tables import print_table

    tell(f"{verdict.scene}: {verdict.span:g} s in {verdict.rows} rows, {verdict.recording} by {verdict.program}\n")
    _print_pairs(_overview(verdict))
    if verdict.bars:
        loose, tight = verdict.tolerances
        title = f"\nerror bars, from a rerun at rtol {tight:g} instead of {loose:g}"
        if verdict.steps is not None and np.isnan(tight):
            whole, half = verdict.steps
            title = f"\nerror bars, from a rerun in steps of {half:g} s instead of {whole:g} s, a method of first order"
        if verdict.fixed:
            title = f"\nerror bars, from a rerun by dop853 at rtol {tight:g} instead of {verdict.fixed}"
        print_table(title, ("output", "unit", "error bar", "largest value", "of", "at"), _bars(verdict))
    if verdict.moments:
        rows = [(m.name, f"{m.time:.6f} s", _apart(m.time, m.tighter)) for m in verdict.moments]
        print_table("\nevents", ("event", "time", "error bar"), rows)
    if verdict.ledger:
        print_table(
            "\nledger of events: changes, and what is left over of what takes part",
            ("event", "momentum", "left", "ang. mom.", "left", "energy", "lost", "given", "left"), _ledger(verdict),
        )  # fmt: skip
    if any(entry.blows for entry in verdict.ledger):
        print_table(
            "\nimpulses of contacts, for each point",
            ("event", "contact", "across", "along", "closes before", "after", "took"), _blows(verdict),
        )  # fmt: skip
    tell("\nforces of joints")
    _print_pairs(_forces(verdict))
    for note in verdict.notes:
        tell(f"\nnote: {note}")
    tell("\nall of it holds" if verdict.ok else f"\n{counted(len(verdict.problems), 'thing')} in it does not hold")


def _print_pairs(rows: list[tuple[str, str]]) -> None:
    for name, text in rows:
        tell(textwrap.fill(text, 92, initial_indent=f"  {name:<21} ", subsequent_indent=" " * 24))


def _overview(verdict: Verdict) -> list[tuple[str, str]]:
    from sim.recording.ranks import ranks_sentence

    rows = []
    if verdict.bit_equal is not None:
        rows.append(("rerun", "equal to the bit" if verdict.bit_equal else "not equal to the bit"))
    if verdict.looks:
        missed = f"{counted(len(verdict.missed), 'crossing')} missed" if verdict.missed else "none is missed"
        rows.append(("conditions, contacts", f"{missed}; {verdict.looks} looks within the steps"))
    if verdict.growth is not None:
        growth = verdict.growth
        rows.append(("reproducible", _lost(growth.lost, verdict, "at this tolerance")))
        rows.append(("", _lost(growth.lost_by_roundoff, verdict, "at any tolerance, by roundoff")))
        law = f"exp({growth.exponent:.3g} t/s)" if growth.law == "exponential" else f"t^{growth.exponent:.2g}"
        rows.append(("growth", f"a change at the start grows {growth.factor[-1]:.3g} times, about as {law}"))
    if verdict.contacts is not None:
        rows += _contacts(verdict.contacts)
    share = f", {verdict.balance / verdict.peak:.2g} of the peak kinetic energy" if verdict.peak > 0.0 else ""
    rows.append(("energy balance", f"{verdict.balance:.2g} J{share}"))
    units = {"position": "m, rad", "velocity": "m/s, rad/s", "rates": "m/s, rad/s"}
    for name, peak in verdict.residuals.items():
        what = "rates against bodies" if name == "rates" else f"residual of {name}"
        rows.append((what, f"{peak.value:.2g} ({units[name]}) at {peak.time:.4g} s, all joints"))
    if verdict.singular is not None and verdict.rank is not None:
        rows.append(("singular value", f"smallest {verdict.singular.value:.2g} at {verdict.singular.time:.4g} s"))
        rows.append(("constraints", ranks_sentence(verdict.ranks)))
    rows += _oracle(verdict)
    return rows


def _contacts(found: ContactLook) -> list[tuple[str, str]]:
    return [
        ("points of contact", f"{found.points} in all rows; largest pull {found.negative:.1g}, friction beyond "
         f"its cone {found.cone:.1g} of the largest force; {found.gap:.1g} m from the surfaces"),
        ("", f"what sticks moves at {found.sticks:.1g} m/s; friction of what slides is off its law by "
         f"{found.slides:.1g}"),
        ("", f"points take up to {found.takes:.3g} W, and give up to {found.gives:.1g} W"),
    ]  # fmt: skip


def _oracle(verdict: Verdict) -> list[tuple[str, str]]:
    found = verdict.instants
    if not found:
        return []
    worst = {name: max(getattr(i, name) for i in found) for name in ("acceleration", "constraint", "force", "drive")}
    return [
        ("oracle", f"{counted(len(found), 'instant')}; largest differences, relative:"),
        ("", f"accelerations {worst['acceleration']:.1g}, constraints {worst['constraint']:.1g}"),
        ("", f"Newton and Euler of every body {worst['force']:.1g}, forces along freedoms {worst['drive']:.1g}"),
    ]


def _lost(when: float, verdict: Verdict, how: str) -> str:
    """Return until when a trajectory can be reproduced."""
    if when <= verdict.span:
        return f"until {when:.4g} s {how}"
    if when > FAR * verdict.span:
        return f"to the end and long after it {how}"
    return f"to the end, and until about {when:.2g} s {how}"


def _bars(verdict: Verdict) -> list[tuple[str, ...]]:
    return [
        (b.name, b.unit, f"{b.bar:.1e}", f"{b.largest:.4g}", b.where if b.where != b.name.split(" ")[-1] else "",
         f"{b.time:.4g} s")
        for b in verdict.bars
        if b.largest > 0.0 or b.bar > 0.0
    ]  # fmt: skip


def _apart(time: float, tighter: float) -> str:
    return "not in the rerun" if np.isnan(tighter) else f"{abs(time - tighter):.1e} s"


def _ledger(verdict: Verdict) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for e in verdict.ledger:
        name = ", ".join(e.names)
        size, spin = float(np.linalg.norm(e.momentum)), float(np.linalg.norm(e.angular_momentum))
        left = "set" if e.set else f"{e.left:.0e}"
        left_angular = "set" if e.set else f"{e.left_angular:.0e}"
        rows.append(
            (name, _number(size), left, _number(spin), left_angular, _number(e.kinetic + e.potential),
             _number(e.lost), _number(e.given), f"{e.left_energy:.0e}")
        )  # fmt: skip
    return rows


def _blows(verdict: Verdict) -> list[tuple[str, ...]]:
    blows = [blow for e in verdict.ledger for blow in e.blows]
    least = FAINT * max(np.hypot(blow.normal, blow.friction) for blow in blows)
    rows: list[tuple[str, ...]] = [
        (f"{e.time:.6f} s", blow.name, f"{blow.normal:.4g} N s", f"{blow.friction:.4g} N s",
         f"{_number(-blow.before)} m/s", f"{_number(-blow.after)} m/s", f"{_number(blow.lost)} J")
        for e in verdict.ledger
        for blow in e.blows
        if np.hypot(blow.normal, blow.friction) >= least
    ]  # fmt: skip
    if len(rows) > MOST_BLOWS:
        more = (f"{len(rows) - MOST_BLOWS} more", "--json tells all", "", "", "", "", "")
        rows = [*rows[:MOST_BLOWS], more]
    return rows


def _number(value: float) -> str:
    return "0" if abs(value) < 1e-12 else f"{value:.3g}"


def _forces(verdict: Verdict) -> list[tuple[str, str]]:
    sure = [name for name, share in verdict.forces.items() if share == 0.0]
    always = [name for name, share in verdict.forces.items() if share == 1.0]
    at_times = [f"{name} ({share:.0%})" for name, share in verdict.forces.items() if 0.0 < share < 1.0]
    kinds = (("determinate", sure), ("chosen among many", always), ("chosen at times", at_times))
    told = [(f"{len(names)} {kind}", ", ".join(names)) for kind, names in kinds if names]
    parts = by_components({"sure_of_chosen": verdict.components}, most=len(verdict.components))
    return [*told, *((f"determinate of {which}", words) for words, which in parts)]


# --- plot -------------------------------------------------------------------------------------------


def _plot(recording: Any, verdict: Verdict, out: Path, size: tuple[int, int] | None) -> None:
    from render import plots
    from render.signals import Signal
    from render.view import Event

    time = np.asarray(recording.time)
    groups = []
    if verdict.bars:
        curves = {
            bar.name: Signal(
                f"error bar of {bar.name}", "SI", _shown(np.interp(time, verdict.bar_time, bar.over_time)), True
            )
            for bar in verdict.bars
        }
        groups.append([curves[name] for name in ("position", "rotation", "velocity", "angular velocity")])
    if verdict.growth is not None:
        factor = np.interp(time, verdict.growth.time, verdict.growth.factor)
        groups.append([Signal("growth of a change at the start", "1", factor, True)])
    c = verdict.curves
    groups.append(
        [
            Signal("residual of position", "SI", _shown(c["residual of position"]), True),
            Signal("residual of velocity", "SI", _shown(c["residual of velocity"]), True),
        ]
    )
    groups.append([Signal("energy balance", "J", c["energy balance"])])
    if "rank" in c:
        groups.append([Signal("smallest singular value", "1", c["smallest singular value"], True)])
        groups.append([Signal("rank of the loops", "1", c["rank"]), Signal("chosen forces", "1", c["chosen forces"])])
    events = [Event(time=e.time, name=e.name, kind=e.kind, caption=e.caption) for e in recording.events]
    plots.draw(time, groups, events, out, f"{verdict.scene}: how far its numbers can be trusted", size)


def _shown(values: np.ndarray) -> np.ndarray:
    """Leave out zeros, which powers of ten cannot show."""
    return np.where(values > 0.0, values, np.nan)
