"""Mistakes that no test noticed once, made again one by one: `python -m tests.mutants.known [WORDS]`.

Each is made in a copy of the tree, and the tests that must notice it run there, interpreted: nothing is compiled.
Prints for each which tests noticed it.  Exit code: 0 where each is noticed, else 1; 2 where the table fits the tree no
longer.  WORDS choose the mistakes of which the place or the about holds them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("bench", "docs", "plugins", "render", "scenes", "schema", "sim", "tests")  # what tests read
LIMIT = 300  # s for the tests of one mistake: some make a run endless


@dataclass(frozen=True)
class Mistake:
    """One statement of a file, which stands there once, what is put in its place, and who must notice.

    about : what a user would see; tests : names as pytest takes them
    """

    file: str
    right: str
    wrong: str
    about: str
    tests: tuple[str, ...]


MISTAKES: tuple[Mistake, ...] = ()


class Misfit(Exception):
    """The table does not fit the tree."""


@contextmanager
def copy_of_tree() -> Iterator[Path]:
    """Give a copy of what tests need, which is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="mistakes-") as folder:
        copy = Path(folder)
        for room in ROOMS:
            shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__", ".kernel_cache"))
        for file in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / file, copy / file)
        yield copy


def made(text: str, mistake: Mistake) -> str:
    """Return the text of a file with a mistake in it.

    Raises
    ------
    Misfit
        When the statement does not stand there exactly once.
    """
    count = text.count(mistake.right)
    if count != 1:
        raise Misfit(f"{mistake.file}: {mistake.right!r} stands there {count} times, expected once")
    return text.replace(mistake.right, mistake.wrong)


def failing(copy: Path, tests: Sequence[str]) -> list[str]:
    """Run tests interpreted, up to the first that fails; returns its name, or none.

    Raises
    ------
    Misfit
        When pytest finds no such tests, or cannot run.
    """
    settings = {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(copy)}
    ask = [sys.executable, "-m", "pytest", "-x", "--tb=no", "-rfE", "-p", "no:cacheprovider", f"--timeout={LIMIT}"]
    done = subprocess.run([*ask, *tests], cwd=copy, env=os.environ | settings, capture_output=True, text=True)
    found = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 1) and not found:
        raise Misfit(f"pytest {' '.join(tests)} ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return found or (["(the run was ended)"] if done.returncode else [])


def notice(copy: Path, mistake: Mistake) -> list[str]:
    """Return which test notices a mistake, none where no test does."""
    file = copy / mistake.file
    text = file.read_text()
    file.write_text(made(text, mistake))
    try:
        return failing(copy, mistake.tests)
    finally:
        file.write_text(text)


def main(words: Sequence[str]) -> int:
    """Make the mistakes again; returns the exit code."""
    chosen = [m for m in MISTAKES if all(word in f"{m.file} {m.about}" for word in words)]
    missed = 0
    try:
        with copy_of_tree() as copy:
            wrong = failing(copy, sorted({test for mistake in chosen for test in mistake.tests}))
            if wrong:
                raise Misfit(f"without any mistake {wrong[0]} fails")
            for mistake in chosen:
                by = notice(copy, mistake)
                missed += not by
                print(
                    f"{mistake.file}: {mistake.about}\n    {f'noticed by {by[0]}' if by else 'NOT NOTICED'}", flush=True
                )
    except Misfit as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(chosen) - missed} of {len(chosen)} mistakes are noticed")
    return 1 if missed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
