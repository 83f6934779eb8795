"""How a command ends: its exit code, and what a person reads then."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sim.cli.interrupts import Ended, ending
from sim.scene.shown import one_line, shown

OK = 0
WRONG = 2  # scene, option or file
FAILED = 3  # simulation
NO_FILM = 4  # film impossible, recording kept
DOUBTED = 5  # a recording does not hold what it promises
UNFORESEEN = 70
SIGNALLED = 128  # and the number of the signal that ended the command
INTERRUPTED = SIGNALLED + signal.SIGINT


class Refusal(Exception):
    """A command cannot do what it was asked; the message is a sentence."""

    def __init__(self, sentence: str, code: int = WRONG):
        self.code = code
        super().__init__(sentence)


def say(text: str) -> None:
    """Print a line for the person at the terminal, beside the command's output; nothing where the terminal is gone."""
    with contextlib.suppress(OSError):
        print(shown(text), file=sys.stderr)  # which writes each line at once


def tell(text: object = "") -> None:
    """Print lines of the command's output."""
    print(shown(text))


def print_json(data: Any) -> None:
    """Print data as JSON, the only thing on standard output; not-a-number becomes null."""
    text = json.dumps(_plain(data), indent=2, ensure_ascii=False)
    # Within quotes JSON escapes what lies below a space, and leaves other characters that terminals act upon.
    print("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def counted(number: int, noun: str) -> str:
    """Return ``1 problem``, ``2 problems``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_problems(problems: Sequence[Any], tail: str, *, stream: Any = None) -> None:
    """Print problems as they should read, then how many there are and what follows from that."""
    out = stream or sys.stderr
    for problem in problems:
        print(shown(problem), file=out)
    print(f"{counted(len(problems), 'problem')}{tail}", file=out)


def guarded(command: Callable[[], int | None], *, as_json: bool = False) -> int:
    """Run a command and return its exit code; whatever it raises becomes a sentence, and so do signals."""
    try:
        with ending():
            return command() or OK
    except Ended as stop:
        say("interrupted" if stop.number == signal.SIGINT else f"ended by {stop}")
        return SIGNALLED + stop.number
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, as in `sim list | head`; nothing more can be printed, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        return explain(error, as_json)


def explain(error: Exception, as_json: bool = False) -> int:
    """Say what an exception means to a person, or as JSON to a program, and return the exit code."""
    problems = getattr(error, "problems", None)
    code = exit_code(error)
    if as_json:
        data: dict[str, Any] = {"ok": False, "error": _unusable(error) or str(error)}
        if problems is not None:
            data = {"ok": False, "problems": [problem.as_data() for problem in problems]}
        elif code == UNFORESEEN:
            data["report"] = write_report(error)
        if getattr(error, "kept", ""):
            data["kept"] = error.kept  # type: ignore[attr-defined]
        print_json(data)
    elif problems is not None:
        print_problems(problems, ", nothing was run")
    elif code == UNFORESEEN:
        first = str(error).splitlines()[0] if str(error).strip() else ""
        say(f"something unforeseen happened: {type(error).__name__}: {one_line(first)}")
        say(f"a report for the developers is in {write_report(error)}")
    else:
        say(one_line(_unusable(error) or error, 10_000))
        if getattr(error, "kept", ""):
            say(error.kept)  # type: ignore[attr-defined]
    return code


def exit_code(error: Exception) -> int:
    """Return the exit code that an exception stands for."""
    if isinstance(error, Refusal):
        return error.code
    wrong = (
        ("sim.scene.problem", "SceneError"), ("render.view", "RenderError"), ("sim.simulation.state", "StateError"),
    )  # fmt: skip
    if any(is_a(error, *kind) for kind in wrong):
        return WRONG
    if is_a(error, "sim.simulation.simulation_error", "SimulationError") or is_a(
        error, "sim.analysis.linear.equations", "LinearError"
    ):
        return FAILED
    if is_a(error, "sim.recording", "RecordingError"):
        return FAILED if getattr(error, "rows_kept", 0) else WRONG
    return WRONG if _unusable(error) else UNFORESEEN


def _unusable(error: Exception) -> str:
    """Return what the system says of a file that was named and cannot be used; nothing for other errors."""
    if not isinstance(error, OSError) or error.filename is None or not error.strerror:
        return ""
    return f"{os.fsdecode(error.filename)!r} cannot be used: {error.strerror}"


def is_a(error: Exception, module: str, name: str) -> bool:
    """Tell whether an exception is of a class, without importing the module that defines it."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(error, kind)


def write_report(error: Exception) -> str:
    """Write what a developer needs to a file in the current or the temporary folder; return its name."""
    from importlib import metadata

    libraries = ("numpy", "scipy", "numba", "h5py", "vispy", "imageio")
    found = [f"{name} {metadata.version(name)}" for name in libraries if _installed(name)]
    text = "\n".join(
        [
            f"command: {' '.join(sys.argv)}",
            f"folder: {os.getcwd()}",
            f"python: {sys.version}",
            f"system: {platform.platform()}",
            f"libraries: {', '.join(found)}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
    name = f"sim-report-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    for folder in (Path.cwd(), Path(tempfile.gettempdir())):
        try:
            (folder / name).write_text(text)
        except OSError:
            continue
        return str(folder / name)
    say(text)
    return "the lines above"


def _installed(name: str) -> bool:
    from importlib import metadata

    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _plain(data: Any) -> Any:
    """Return data as JSON can hold it: numpy's numbers and arrays as Python's, nan as None."""
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple, set, frozenset)):
        return [_plain(value) for value in data]
    if hasattr(data, "tolist"):
        return _plain(data.tolist())
    if isinstance(data, float) and (data != data or data in (float("inf"), float("-inf"))):
        return None
    return data if data is None or isinstance(data, (str, int, float, bool)) else str(data)
