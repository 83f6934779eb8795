"""Runs the command line on an attack in a process of its own, and says what is wrong with how it ended.

A fresh interpreter for each would take hours.  Two processes import everything once, one with kernels interpreted (as
`sim check` looks at small scenes) and one compiled, and fork a child for each attack.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import sys
import time
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.attacks.attack import Attack

LONGEST, PATIENCE = 10, 600.0  # s of processor time, and in all: a busy machine may give a process little of it
MOST_MEMORY = 6 << 30  # bytes of address space
ENDINGS = {0, 2, 3, 4, 5}  # exit codes that `sim.cli.outcome` knows, but the unforeseen and Ctrl-C
INTERRUPTED = 130
LOOKS = ("check", "info", "render")  # commands that interpret kernels
RUNS = ("run", "linearize", "verify")  # commands that simulate: a stiff scene may take long, but ends at Ctrl-C
# What counts as a place: file:line:column, an option, a command's own usage, a time of the run, a dataset.
_PLACE = re.compile(
    r""":\d+:\d+: |"line": \d+|(?<![\w-])--?[a-z]|^sim( \w+)*: |t = |(?<!\w)/[a-z]\w*(/\w+)*""", re.MULTILINE
)


@dataclass(frozen=True)
class Ending:
    """How a command ended: exit code (None: it was killed, negative: by a signal), what it printed, wall time [s].

    pressed : whether Ctrl-C was pressed, after the time that a command may take
    """

    code: int | None
    out: str
    err: str
    took: float
    report: str = ""
    pressed: bool = False


def faults(attack: Attack, ending: Ending) -> list[str]:
    """Return what is wrong with how a command ended, a few words each; none where all is well."""
    out = ending.out + ending.err
    wrong = []
    if ending.code is None:
        wrong.append(f"no end at Ctrl-C after {LONGEST} s" if ending.pressed else f"no end within {LONGEST} s")
    elif ending.pressed and ending.code == INTERRUPTED:
        pass
    elif ending.code not in ENDINGS:
        wrong.append(f"exit code {ending.code} {_cause(ending.report)}".rstrip())
    if "Traceback" in out:
        wrong.append("a traceback is printed")
    raw = sorted({f"U+{ord(c):04X}" for c in out if c not in "\n\t" and unicodedata.category(c) in _CONTROL})
    if raw:
        wrong.append(f"prints {' '.join(raw)}")
    if ending.code in (2, 3) and not _has_place(attack, out):
        wrong.append("refused without a place")
    return wrong


_CONTROL = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _has_place(attack: Attack, printed: str) -> bool:
    words = [word[:40] or "." for word in attack.arguments[1:]]  # a file without a name is the folder here
    shown = [text for word in words for text in (repr(word), json.dumps(word))]
    named = any(text in printed or (len(text) > 3 and text[1:-1] in printed) for text in shown)
    return named or _PLACE.search(printed) is not None


def _cause(report: str) -> str:
    """Return the exception of a report for developers, and where it was raised, without what varies."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', report)
    own = [f"{'/'.join(Path(file).parts[-2:])}:{line} {name}" for file, line, name in frames if "/venv/" not in file]
    lines = [line for line in report.splitlines() if re.match(r"\w[\w.]*(Error|Exception|Exit|Warning)\b", line)]
    return " ".join([lines[-1][:90] if lines else "", f"[{own[-1]}]" if own else ""]).strip()


class Preloaded:
    """A process that has imported everything and forks a child for each command."""

    def __init__(self, interpreted: bool):
        ask_read, self._ask = os.pipe()
        self._answer, answer_write = os.pipe()
        self.process = os.fork()
        if not self.process:
            os.close(self._ask), os.close(self._answer)
            try:
                _serve(interpreted, ask_read, answer_write)
            finally:
                os._exit(1)
        os.close(ask_read), os.close(answer_write)
        self._answers = os.fdopen(self._answer)

    def run(self, arguments: tuple[str, ...], folder: Path) -> dict[str, Any]:
        """Run the command in a folder; return code and wall time, what it printed is in files beside it."""
        os.write(self._ask, json.dumps([list(arguments), str(folder)]).encode() + b"\n")
        return dict(json.loads(self._answers.readline()))

    def close(self) -> None:
        """End the process."""
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self._ask)
        self._answers.close()


def _serve(interpreted: bool, asks: int, answers: int) -> None:
    """Import everything, then fork a child for each command that is asked for, until the pipe is closed."""
    os.setsid()
    _preload(interpreted)
    for line in os.fdopen(asks):
        arguments, folder = json.loads(line)
        began = time.monotonic()
        child = os.fork()
        if not child:
            _command(arguments, Path(folder))
        code, pressed = _wait(child, began, arguments[:1] in [[name] for name in RUNS] or "--at" in arguments)
        answer = {"code": code, "took": time.monotonic() - began, "pressed": pressed}
        os.write(answers, json.dumps(answer).encode() + b"\n")
    os._exit(0)


def _preload(interpreted: bool) -> None:
    from sim.kernels import jit

    if interpreted:
        jit.interpret()
    import matplotlib.figure  # noqa: F401
    import rich.console  # noqa: F401
    import scipy.spatial  # noqa: F401

    import render.film  # noqa: F401
    import sim
    import sim.cli.main
    from sim.cli import checking, drawing, linearizing, listing, making, running, verifying  # noqa: F401

    for name in ("pendulum", *(() if interpreted else ("bouncing_ball", "dominoes"))):
        scene = sim.load(name)  # what is loaded from the cache once, no child waits for
        sim.check(scene)
        if not interpreted:
            sim.run(scene, duration=0.01).close()
    if not interpreted:
        sim.linearize(sim.load("pendulum"))


def _command(arguments: list[str], folder: Path) -> None:
    """Run a command in this process, and end it."""
    os.setsid()
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, name in ((1, ".out"), (2, ".err")):
        os.dup2(os.open(folder.with_suffix(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["sim", *arguments]
    from sim.cli.main import main

    code = main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _wait(child: int, began: float, runs: bool) -> tuple[int | None, bool]:
    """Return the exit code of a child, negative for a signal, None where it had to be killed; and whether Ctrl-C was
    pressed, as it is where a command that simulates has taken long."""
    pause, pressed = 0.002, False
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), pressed
        used, late = _used(child), time.monotonic() - began > PATIENCE
        if runs and not pressed and (used > LONGEST or late):
            os.kill(child, signal.SIGINT)
            pressed, began = True, time.monotonic()
        elif used > LONGEST * (1 + pressed) or (late and time.monotonic() - began > PATIENCE):
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None, pressed
        time.sleep(pause)
        pause = min(1.2 * pause, 0.05)


def _used(child: int) -> float:
    """Return the processor time of a process [s]."""
    fields = Path(f"/proc/{child}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Bench:
    """Tries attacks one after the other."""

    def __init__(self) -> None:
        self.interpreted, self.compiled = Preloaded(True), Preloaded(False)

    def __call__(self, attack: Attack, folder: Path) -> Ending:
        """Run a command on files that lie in a folder; the folder is emptied."""
        looks = attack.arguments[:1] in [(name,) for name in LOOKS] and "--at" not in attack.arguments
        looks = looks and not _is_large(folder)
        asked = (self.interpreted if looks else self.compiled).run(attack.arguments, folder)
        out, err = (folder.with_suffix(name).read_text(errors="surrogateescape") for name in (".out", ".err"))
        report = "".join(path.read_text(errors="replace") for path in folder.glob("sim-report-*"))
        empty(folder)
        return Ending(asked["code"], out, err, asked["took"], report, asked["pressed"])

    def close(self) -> None:
        """End the processes."""
        self.interpreted.close()
        self.compiled.close()


def _is_large(folder: Path) -> bool:
    """Tell whether a scene of the folder has contacts or many bodies, which `sim check` looks at compiled."""
    texts = [path.read_bytes() for path in folder.glob("*.yaml") if path.is_file() and os.access(path, os.R_OK)]
    return any(b"contacts:" in text or b"repeat" in text or text.count(b"\n") > 200 for text in texts)


def empty(folder: Path) -> None:
    """Remove all that lies in a folder."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            os.chmod(path, 0o700)
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
