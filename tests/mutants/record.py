"""Keep which tests run which line, and bring it up to date."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import coverage

from tests.mutants.mutations import sources
from tests.mutants.reach import ROOT, Reach, load

FOLDER = ROOT / ".mutants"
PASSES = {"compiled": (), "interpreted": ("-m", "fast")}  # and the tests that each runs


def record(tests: Sequence[str] = (), passes: Sequence[str] = tuple(PASSES)) -> None:
    """Run tests with a trace, in both passes side by side; all of them, or some whose lines are added.

    All: about a quarter of an hour on two cores.
    """
    FOLDER.mkdir(exist_ok=True)
    if tests:
        for name in passes:
            _bring_up(FOLDER / name, tests)
        keep_sources()
    running = []
    for name in passes:
        file = FOLDER / (f"{name}.more" if tests else name)
        file.unlink(missing_ok=True)
        environment = {**os.environ, "MUTANTS_REACH": str(file), "PYTHONPATH": str(ROOT)}
        if name == "interpreted":
            environment["NUMBA_DISABLE_JIT"] = "1"
        command = [sys.executable, "-m", "pytest", "-q", *PASSES[name], *tests]
        with open(FOLDER / f"{name}.txt", "w") as output:
            running.append((name, subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output)))
    for name, process in running:
        if process.wait() not in (0, 5):
            print(f"tests fail without any mistake, see {FOLDER / name}.txt", file=sys.stderr)
        if tests:
            _add(FOLDER / f"{name}.more", FOLDER / name)
    if not tests:
        keep_sources()


def keep_sources() -> None:
    """Keep the sources that lines were counted in."""
    shutil.rmtree(FOLDER / "sources", ignore_errors=True)
    for file in sources():
        (FOLDER / "sources" / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / file, FOLDER / "sources" / file)


def _bring_up(kept: Path, again: Sequence[str]) -> None:
    """Write what is kept of a pass anew, in lines of the sources as they are now: what is added to it is in these.

    Tests that are run again are left out, as some of them may be gone.
    """
    reach = load(kept)
    lines: dict[str, dict[str, list[int]]] = {}
    for file, tests in reach.tests.items():
        for line, names in _moved(file, tests).items():
            for name in (name for name in names if not is_among(name, again)):
                lines.setdefault(name, {}).setdefault(str(ROOT / file), []).append(line)
    kept.unlink()
    data = coverage.CoverageData(str(kept))
    for name, of_test in lines.items():
        data.set_context(name)
        data.add_lines(of_test)
    data.write()


def is_among(name: str, tests: Sequence[str]) -> bool:
    """Tell whether a test is one of some, or in one of some files or folders."""
    return any(name == one or name.startswith((f"{one.rstrip('/')}/", f"{one}::", f"{one}[")) for one in tests)


def _add(more: Path, kept: Path) -> None:
    """Add what a few tests run, in lines of the same sources."""
    data, added = coverage.CoverageData(str(kept)), coverage.CoverageData(str(more))
    data.read()
    added.read()
    data.update(added)
    data.write()
    seconds = Path(f"{more}.seconds").read_text()
    with open(f"{kept}.seconds", "a") as file:
        file.write(seconds)
    for path in (more, Path(f"{more}.seconds")):
        path.unlink(missing_ok=True)


def recorded() -> Mapping[str, Reach]:
    """Return what is known of each pass, in lines of the sources as they are now.

    Raises
    ------
    FileNotFoundError
        Where nothing was recorded.
    """
    out = {}
    for name in PASSES:
        if not (FOLDER / name).exists():
            raise FileNotFoundError(f"nothing is recorded of the {name} pass; begin with --record")
        reach = load(FOLDER / name)
        out[name] = Reach({file: _moved(file, lines) for file, lines in reach.tests.items()}, reach.seconds)
    return out


def _moved(file: str, tests: Mapping[int, frozenset[str]]) -> Mapping[int, frozenset[str]]:
    """Return the same where a file has changed since: tests of lines that are new are those of the line before."""
    kept, now = FOLDER / "sources" / file, ROOT / file
    if not (kept.exists() and now.exists()) or kept.read_bytes() == now.read_bytes():
        return tests
    old, new = kept.read_text().splitlines(), now.read_text().splitlines()
    out: dict[int, frozenset[str]] = {}
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for k in range(c, d):
            line = a + k - c + 1 if tag == "equal" else min(a + k - c + 1, max(b, 1))
            if line in tests:
                out[k + 1] = tests[line]
    return out
