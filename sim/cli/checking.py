"""`sim check` and `sim info`: what is known of a scene before it runs."""

from __future__ import annotations

import sys
from typing import Any

from sim.cli import options
from sim.cli.outcome import OK, WRONG, counted, print_json, print_problems, tell
from sim.cli.printed_tables import FREEDOMS
from sim.cli.progress import waiting
from sim.scene.authored import aside

SLOW = 100  # bodies from which on a check may take longer than a second
MANY = 200  # bodies for which interpreted passes take longer than importing the compiler


def check(path: str, settings: tuple[str, ...] = (), *, trust: bool = False, as_json: bool = False) -> int:
    """Check a scene, print what was found and return the exit code."""
    import sim
    from sim.cli.running import announce_compiling
    from sim.kernels import jit
    from sim.scene import load
    from sim.simulation import precompile

    try:
        scene, warnings = load.load_checked(path, set=options.assignments(settings), trust=trust)
        if not _wants_compiled(scene):
            jit.interpret()  # a few passes: importing the compiler would take longer
        else:
            announce_compiling(as_json)
            precompile.prepare()
        with waiting(as_json or len(scene.bodies) < SLOW, "checking"):
            report = aside(sim.check, scene)
    except sim.SceneError as error:
        if as_json:
            print_json({"ok": False, "problems": [p.as_data() for p in error.problems], "notes": [], "counts": {}})
        else:
            print_problems(error.problems, ", nothing was run", stream=sys.stdout)
        return WRONG
    if as_json:
        print_json(
            {
                "ok": report.ok,
                "problems": [problem.as_data() for problem in (*warnings, *report.problems)],
                "notes": list(report.notes),
                "counts": report.counts,
                "pose_yaml": report.pose_yaml,
            }
        )
    else:
        _print(scene.name, [*warnings, *report.problems], report)
    return OK if report.ok else WRONG


def _wants_compiled(scene: Any) -> bool:
    """Tell whether compiled kernels are worth waiting for: many bodies, or contacts where they lie ready."""
    from sim.kernels import jit

    ready = bool(scene.contacts) and not (jit.is_cold() or jit.lacks_contacts())
    if ready and scene.simulate.contact != "event":
        ready = not jit.lacks_steps()
    return ready or len(scene.bodies) >= MANY


def _print(name: str, problems: list[Any], report: Any) -> None:
    errors = [problem for problem in problems if problem.severity == "error"]
    for problem in problems:
        tell(problem)
    for note in report.notes:
        tell(note)
    if report.pose_yaml:
        tell("\nthe assembled pose, to put in the scene:\n")
        tell(report.pose_yaml.rstrip("\n"))
        tell()
    warnings = len(problems) - len(errors)
    also = f", {counted(warnings, 'warning')}" if warnings else ""
    if errors:
        tell(f"{counted(len(errors), 'problem')}{also}, nothing was run")
    else:
        words = FREEDOMS if "mobility_in_position" in report.counts else {}
        counts = ", ".join(f"{n} {words.get(key, key).replace('_', ' ')}" for key, n in report.counts.items())
        tell(f"{name}: no problems{also}" + (f" ({counts})" if counts else ""))


def info(
    path: str, settings: tuple[str, ...] = (), *, at: str | None = None, matrices: bool = False, trust: bool = False,
    as_json: bool = False,
) -> int:  # fmt: skip
    """Print the papers' quantities of a scene at the drawing or at a time, and return the exit code."""
    import sim
    from sim.kernels import jit

    if matrices and not as_json:
        raise options.Refusal("--matrices: numbers of matrices are told with --json alone; add it")
    if at is None:
        jit.interpret()
    scene = sim.load(path, set=options.assignments(settings), trust=trust)
    seconds = None if at is None else options.seconds(at, "--at")
    with waiting(as_json or at is None, "simulating"):
        found = aside(sim.info, scene, at=seconds, matrices=matrices)
    if as_json:
        print_json(found)
        return OK
    from sim.cli.printed_tables import print_info

    print_info(scene.name, found)
    return OK
