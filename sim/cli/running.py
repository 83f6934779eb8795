"""`sim run`: check, simulate, record, film."""

from __future__ import annotations

import functools
import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.cli import options
from sim.cli.interrupts import deferred
from sim.cli.outcome import NO_FILM, OK, Refusal, exit_code, print_json, say, tell, write_report
from sim.cli.progress import film_progress, run_progress, waiting
from sim.scene.authored import aside

if TYPE_CHECKING:
    from sim.recording import Recording
    from sim.scene.spec import Scene

MOST_EVENTS = 12  # that have a line of their own in the summary
VISIBLE = 0.01  # of the peak kinetic energy: what contacts may take by the error of steps without a warning


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What was typed behind `sim run`."""

    scene: str | None
    resume: Path | None = None
    output: Path | None = None
    video: Path | None = None
    duration: str | None = None
    settings: tuple[str, ...] = ()
    rtol: str | None = None
    seed: int | None = None
    triggers: tuple[str, ...] = ()
    quiet: bool = False
    overwrite: bool = False
    large: bool = False
    trust: bool = False
    as_json: bool = False


def run(wish: RunOptions) -> int:
    """Run a scene, or go on with a recording, and return the exit code."""
    if wish.video is not None:
        options.target(wish.video, "--video", options.FILMS, overwrite=wish.overwrite)
    quiet = wish.quiet or wish.as_json
    scene, call = _resumed(wish) if wish.resume is not None and wish.scene is None else _new(wish, quiet)
    steps = bool(scene.contacts) and scene.simulate.contact != "event"
    first = "compiling" if announce_compiling(quiet, contacts=bool(scene.contacts), steps=steps) else "assembling"
    try:
        with deferred() as pause, run_progress(quiet, first=first) as show:

            def progress(t: float, span: float, events: Any) -> None:
                pause()
                if show is not None:
                    show(t, span, events)

            recording = aside(call, progress=progress, tell=None if quiet else say)
    except KeyboardInterrupt as stop:
        if getattr(stop, "kept", ""):
            say(stop.kept)  # type: ignore[attr-defined]
        raise
    output = recording.path
    summary = dict(recording.summary, recording=str(output))
    recording.close()
    code = OK
    if wish.video is not None:
        code = _film(output, wish.video, quiet)
        summary["film"] = str(wish.video) if code == OK else None
    if wish.as_json:
        print_json(summary)
    elif not wish.quiet:
        tell(describe(summary))
    return code


def _new(wish: RunOptions, quiet: bool) -> tuple[Scene, Callable[..., Recording]]:
    """Return the scene that is to be run, and what runs it."""
    import sim
    from sim.scene import load

    if wish.scene is None:
        raise Refusal("give a scene, or --resume RECORDING")
    if wish.resume is not None:
        _expect(wish.resume, state=True)
    settings, triggers = options.assignments(wish.settings), options.triggers(wish.triggers)
    duration = None if wish.duration is None else options.seconds(wish.duration, "--duration")
    with waiting(quiet, "reading"):
        scene, warnings = load.load_checked(wish.scene, set=settings, trust=wish.trust)
    rtol = None if wish.rtol is None else _tolerance(wish.rtol, scene)
    _check_triggers(triggers, scene, duration)
    output = wish.output or Path(re.sub(r"[^\w.-]+", "_", scene.name) + ".h5")
    options.target(output, "-o", (), overwrite=wish.overwrite)
    if not quiet:
        for warning in warnings:
            say(str(warning))
    return scene, functools.partial(
        sim.run, scene, output=output, duration=duration, seed=wish.seed, rtol=rtol, triggers=triggers,
        start=wish.resume, overwrite=wish.overwrite, large=wish.large,
    )  # fmt: skip


def _expect(path: Path, *, state: bool) -> None:
    """Raise for a recording where a state is expected, and for a state where a recording is."""
    from sim.recording.state_file import is_state

    if is_state(path) and not state:
        raise Refusal(f"--resume: {path} is a state, which names no scene; expected SCENE with it, or a recording")
    if state and path.is_file() and not is_state(path):
        raise Refusal(
            f"--resume: {path} is no state (`State.save`) from which SCENE could begin; "
            "a recording goes on without SCENE"
        )


def _resumed(wish: RunOptions) -> tuple[Scene, Callable[..., Recording]]:
    """Return the scene of a recording that is to go on, and what goes on with it."""
    import sim
    from sim.recording.restoring import restored

    assert wish.resume is not None
    _expect(wish.resume, state=False)
    said = {"--set": wish.settings, "--rtol": wish.rtol, "--seed": wish.seed, "--trigger": wish.triggers}
    for name, value in said.items():
        if value not in (None, ()):
            raise Refusal(f"{name} beside --resume: the recording says it")
    if wish.output is not None:
        options.target(wish.output, "-o", (), overwrite=wish.overwrite)
    duration = None if wish.duration is None else options.seconds(wish.duration, "--duration")
    with sim.load_recording(wish.resume) as recording:
        scene, _ = restored(recording, trust=wish.trust)
    return scene, functools.partial(
        sim.resume, wish.resume, output=wish.output, duration=duration, overwrite=wish.overwrite, trust=wish.trust
    )


def _tolerance(text: str, scene: Any) -> float:
    """Return the tolerance that was typed, if the scene's method has one."""
    from sim.simulation.recorded_runs import tolerance

    try:
        rtol = float(text)
    except ValueError:
        raise Refusal(f"--rtol: {text!r} is not a number, as 1e-10 is") from None
    try:
        return tolerance(rtol, scene.simulate.method)
    except ValueError as error:
        raise Refusal(f"--{error}") from None


def _check_triggers(triggers: list[tuple[str, float]], scene: Any, duration: float | None) -> None:
    """Raise for a key that no event waits for, and for a time that never comes."""
    known = [event.key for event in scene.events if event.key is not None]
    end = scene.simulate.duration if duration is None else duration
    for key, time in triggers:
        if key not in known:
            keys = ", ".join(map(repr, known)) or "none"
            raise Refusal(f"--trigger: no event of {scene.name} waits for the key {key!r}; its keys: {keys}")
        if time > end:
            raise Refusal(f"--trigger: {key!r} at {time:g} s comes after the end at {end:g} s")


def announce_compiling(quiet: bool, *, contacts: bool = False, steps: bool = False) -> bool:
    """Say that the kernels have to be compiled, where they have to; tells whether any has."""
    from sim.kernels import jit

    waits = {
        "compiling the kernels, once: about a minute": jit.is_cold(),
        "compiling the kernels of contacts, once: about three quarters of a minute": contacts and jit.lacks_contacts(),
        "compiling the kernels of time steps with contacts, once: about a minute": steps and jit.lacks_steps(),
    }
    for sentence, cold in waits.items():
        if cold and not quiet:
            say(sentence)
    return any(waits.values())


def _film(recording: Path, film: Path, quiet: bool) -> int:
    """Film a recording; what goes wrong leaves the recording and a sentence."""
    try:
        from render.film import render_recording

        with film_progress(quiet) as progress:
            render_recording(recording, film, progress=progress)
    except KeyboardInterrupt:
        say(f"no film; the recording is kept in {recording}")
        raise
    except Exception as error:
        code = exit_code(error)
        where = "" if code < 70 else f" (a report for the developers is in {write_report(error)})"
        say(f"no film: {error}{where}")
        again = shlex.join(["sim", "render", str(recording), "-o", str(film)])
        say(f"the recording is kept in {recording}; to film it: {again}")
        return NO_FILM
    return OK


def describe(summary: dict[str, Any]) -> str:
    """Return the summary of a run as a person reads it."""
    span, wall, factor = (summary.get(key) for key in ("simulated_time", "wall_time", "real_time_factor"))
    head = f"{summary.get('scene', '')}: {span:g} s simulated"
    if wall:
        head += f" in {wall:.2f} s ({factor:.3g} times real time)"
    lines = [head]

    def line(name: str, text: str) -> None:
        lines.append(f"  {name:<18}{text}")

    line("steps", f"{summary.get('steps')}, {summary.get('evaluations')} evaluations")
    for k, text in enumerate(summary.get("methods") or ()):
        line("method" if k == 0 else "", text)
    trust = summary.get("trust", {})
    if summary.get("largest_residual") is not None:
        speed = trust.get("velocity_residual")
        rate = "" if speed is None else f", of velocity {speed:.2g} (m/s, rad/s)"
        line("largest residual", f"{summary['largest_residual']:.2g} (m, rad){rate}")
    for name, text in trust_lines(trust):
        line(name, text)
    balance, peak = summary.get("energy_balance"), summary.get("peak_kinetic_energy")
    if balance is not None:
        moves = peak is not None and peak > abs(balance)  # else nothing moves, and a share of it says nothing
        share = f", {balance / peak:.2g} of the peak kinetic energy" if moves else ""
        line("energy balance", f"{balance:.2g} J{share}")
    taken = summary.get("taken_by_contacts")
    if taken is not None:
        line("contacts took", _taken(taken, float(summary["lost_by_steps"]), peak))
    for k, text in enumerate(_events(summary.get("events", ()))):
        line("events" if k == 0 else "", text)
    for k, told in enumerate(summary.get("told", ())):
        line("told" if k == 0 else "", f"{told['time']:.4f} s  {told['name']}: {told['text']}")
    line("recording", str(summary["recording"]))
    if summary.get("film"):
        line("film", str(summary["film"]))
    return "\n".join(lines)


def _taken(taken: float, lost: float, peak: float | None) -> str:
    """Return what contacts of time steps took that neither collided nor slid, and a warning where much is lost so.

    lost : what is gone of the energy, this less the balance: the rest of a step may give some of it back
    """
    text = f"{taken:.2g} J without colliding or sliding, by the error of steps"
    if not peak or min(abs(taken), abs(lost)) < VISIBLE * peak:
        return text
    share = f"{lost:.2g} J in all, {lost / peak:.2g} of the peak kinetic energy"
    return f"{text}: warning, they lose {share}; shorter ones (dt) lose less"


def trust_lines(trust: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (name, text) of what is known of loops and forces; see `sim verify` for all of it."""
    from sim.recording.ranks import ranks_sentence

    lines = []
    ranks = ranks_sentence(trust.get("ranks", ()))
    if ranks:
        lines.append(("constraints", ranks))
    sigma = trust.get("smallest_singular_value")
    if sigma is not None:
        lines.append(("singular value", f"smallest {sigma:.2g} at {trust['smallest_singular_value_at']:.4g} s"))
    chosen, sure = trust.get("chosen"), trust.get("determinate")
    if chosen:
        names = ", ".join(chosen[:4]) + (", ..." if len(chosen) > 4 else "")
        lines.append(("forces of joints", f"{sure} determinate, {len(chosen)} chosen among many: {names}"))
        lines += [("", f"determinate of {which}: {words}") for words, which in by_components(trust)]
    elif sure:
        lines.append(("forces of joints", f"all {sure} determinate"))
    return lines


def by_components(trust: dict[str, Any], most: int = 4) -> list[tuple[str, str]]:
    """Return in words which components of chosen forces are determinate, and of which joints, at most so many."""
    alike: dict[str, list[str]] = {}
    for name, words in trust.get("sure_of_chosen", {}).items():
        if words not in ("", "none"):
            alike.setdefault(words, []).append(name)
    return [(words, ", ".join(names[:most]) + (", ..." if len(names) > most else "")) for words, names in alike.items()]


def _events(events: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each of the first events that the scene names or that say something; the others are counted."""
    from sim.recording.kinds import counted

    telling = [event for event in events if event["kind"] not in ("impact", "mode")]
    told, rest = telling[:MOST_EVENTS], Counter(event["kind"] for event in events)
    lines = []
    for event in told:
        rest[event["kind"]] -= 1
        words, text = event["name"], event.get("text")
        if event["kind"] not in ("scene", "key"):
            words = text if event["kind"] == "annotation" and text else f"{words} ({event['kind']})"
        lines.append(f"{event['time']:.4f} s  {words}")
    return lines + counted(rest, more=(event["kind"] for event in told))
