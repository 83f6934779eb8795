"""One mistake at a time, in a copy of the tree, and the tests that reach it."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants.mutations import Mutant
from tests.mutants.reach import ROOT, Reach

# Modules of others that tests need: a fork has them already, and begins in milliseconds.
PRELOADED = (
    "numpy", "scipy.linalg", "scipy.optimize", "scipy.spatial", "scipy.integrate", "h5py", "yaml", "jsonschema",
    "hypothesis", "rich", "typer", "mujoco", "pinocchio", "exudyn", "coal",
)  # fmt: skip
FIRST = 25  # tests that are tried before the others: to import all that reach a place takes longer than most of them
LONGEST_TEST = 60  # s: a test that takes longer hangs; none of those that are chosen takes as long
GRACE = 60.0  # s beyond the budget and what is slower in a copy, after which the whole trial hangs
SLOWER = 4.0  # times: what tests may take beside others
KERNELS = ("sim/kernels/",)
WHOLE = "\n-- all of it --"  # what a session ends with that nothing has ended before, such as a mistake that exits


@dataclass
class Trial:
    """What tests said of a mistake.

    noticed : the test that failed first, "(hang)", "(import)", or "" where all passed
    ran, reach : how many tests were chosen, and how many reach the place
    """

    mutant: Mutant
    noticed: str
    ran: int
    reach: int
    seconds: float


@dataclass
class Copy:
    """A copy of the tree that tests run in.

    sound : tests that failed with a mistake, and whether they pass without one
    """

    folder: Path
    sound: dict[tuple[str, bool], bool] = field(default_factory=dict)

    @contextlib.contextmanager
    def with_mistake(self, mutant: Mutant) -> Iterator[None]:
        """Make a mistake for a while."""
        path = self.folder / mutant.file
        right = path.read_bytes()
        path.write_bytes(mutant.made_in(right))
        _forget_compiled(path)
        try:
            yield
        finally:
            path.write_bytes(right)
            _forget_compiled(path)

    def first_failure(self, tests: Sequence[str], interpreted: bool, budget: float) -> str:
        """Run tests until one fails; returns its name, "(hang)", "(import)", or "" where all pass."""
        code, text = self._session(tests, interpreted, budget)
        if code is None:
            return "(hang)"
        if code == 4:  # tests have other names since they were recorded
            gone = set(re.findall(r"not found: (.+)", text))
            # Of a test whose parameters have other names, pytest tells the function alone.
            left = [name for name in tests if not any(path.endswith((name, name.partition("[")[0])) for path in gone)]
            if len(left) == len(tests):
                return "(import)"  # not even what all tests have in common could be read
            return self.first_failure(left, interpreted, budget) if left else ""
        if code in (0, 5) and text.endswith(WHOLE):
            return ""
        return _failed(text, tests)

    def _session(self, tests: Sequence[str], interpreted: bool, budget: float, *options: str) -> tuple[int | None, str]:
        """Run pytest; returns its exit code, None where it was killed, and what it printed."""
        with tempfile.TemporaryFile() as output:
            child = os.fork()
            if child == 0:
                _run(self.folder, [*options, *tests], interpreted, output.fileno())
            code = _wait(child, SLOWER * budget + GRACE)
            output.seek(0)
            return code, output.read().decode(errors="replace")

    def is_sound(self, test: str, interpreted: bool, tests: Sequence[str]) -> bool:
        """Tell whether a test passes in the copy as it is: what fails anyway notices nothing.

        Where all of them could not even be imported: whether they can as it is.
        """
        if test == "(import)":
            return self._session(tests, interpreted, 60.0, "--collect-only")[0] == 0
        if test == "(hang)":
            return True
        key = (test, interpreted)
        if key not in self.sound:
            self.sound[key] = self.first_failure([test], interpreted, 60.0) == ""
        return self.sound[key]


def _failed(text: str, tests: Sequence[str]) -> str:
    """Return which of these tests a session says failed first, or "(import)" where it names none."""
    said = re.search(r"^(?:FAILED|ERROR) ([^\n]+)", text, re.MULTILINE)
    line = f"{said.group(1)} - " if said else ""  # why it failed follows; parameters of a test may hold dashes, too
    return max((name for name in tests if line.startswith(f"{name} - ")), key=len, default="(import)")


@contextlib.contextmanager
def copy_of_tree() -> Iterator[Copy]:
    """Give a copy of all files that are no results."""
    (ROOT / ".mutants").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="copy-", dir=ROOT / ".mutants") as name:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, capture_output=True, check=True,
        ).stdout.decode()  # fmt: skip
        for file in filter(None, listed.split("\0")):
            if (ROOT / file).exists():
                (Path(name) / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, Path(name) / file)
        _lend_kernels(Path(name))
        yield Copy(Path(name))


def _lend_kernels(folder: Path) -> None:
    """Link the compiled kernels to where a copy looks for them: they are kept by what they are made from."""
    for kept in (ROOT / ".kernel_cache").glob("*/"):
        shutil.copytree(kept, folder / ".kernel_cache" / kept.name, copy_function=os.link)
        for own in (folder / ".kernel_cache", folder / ".kernel_cache" / kept.name):
            own.chmod(0o700)


def try_out(copy: Copy, mutant: Mutant, reach: Reach, budget: float) -> Trial:
    """Run the tests that reach a mistake, the quickest first, as many as the budget allows [s]."""
    began = time.monotonic()
    interpreted = mutant.file.startswith(KERNELS)
    reaching = reach.of_statement(mutant.file, mutant.first, mutant.last, mutant.inside)
    tests = _within(reaching, lambda name: reach.seconds[name], budget)
    noticed = ""
    while tests:
        with copy.with_mistake(mutant):
            noticed = copy.first_failure(tests[:FIRST], interpreted, budget)
            if not noticed and len(tests) > FIRST:
                noticed = copy.first_failure(tests[FIRST:], interpreted, budget)
        if not noticed or copy.is_sound(noticed, interpreted, tests):
            break
        if noticed == "(import)":
            raise RuntimeError(f"tests cannot be collected in a copy as it is: {tests[:3]} ...")
        tests, noticed = [name for name in tests if name != noticed], ""
    return Trial(mutant, noticed, len(tests), len(reaching), time.monotonic() - began)


def _within(names: Sequence[str], seconds: Callable[[str], float], budget: float) -> list[str]:
    """Return the first names that fit a budget."""
    out, total = [], 0.0
    for name in names:
        total += seconds(name)
        if total > budget and out:
            break
        out.append(name)
    return out


def preload() -> None:
    """Import what all trials need and no mistake changes."""
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            __import__(name)


def _forget_compiled(path: Path) -> None:
    """Delete what Python has compiled of a file: it looks at the second of a change and the size alone."""
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        compiled.unlink()


def _wait(child: int, limit: float) -> int | None:
    """Wait for a child, at most a time [s]; returns its exit code, or None where it had to be killed."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _run(folder: Path, tests: Sequence[str], interpreted: bool, output: int) -> None:
    """Run tests in this process, a child that has its own group, and end it."""
    code = 70
    atexit._clear()  # what the parent has to do in the end, such as deleting the copy, is not this process's
    try:
        os.setpgid(0, 0)
        for stream in (1, 2):
            os.dup2(output, stream)
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False  # what tests are made of is parsed once
        if interpreted:
            os.environ["NUMBA_DISABLE_JIT"] = "1"
        else:
            os.environ.pop("NUMBA_CACHE_DIR", None)
        ours = [name for name in sys.modules if name.split(".")[0] in ("sim", "render", "plugins", "tests", "bench")]
        for name in ours:
            del sys.modules[name]
        sys.path[:] = [str(folder), *(path for path in sys.path if path not in ("", str(ROOT)))]
        sys.path_importer_cache.clear()
        import pytest

        options = ["-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
        code = int(pytest.main([*options, f"--timeout={LONGEST_TEST}", "-W", "ignore::pytest.PytestWarning", *tests]))
        sys.stdout.flush()
        os.write(output, WHOLE.encode())
    finally:
        try:
            sys.stdout.flush()
        finally:  # a mistake may have closed it
            os._exit(code)
