"""Whole commands, each in a new process: from the shell's call to its end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import memory
from bench.measure import Result, interleave, result

ROOT = Path(__file__).resolve().parent.parent
TRAVELS = ("sim", "render", "plugins", "schema", "scenes")  # what a fresh copy needs


def command(root: Path, *arguments: str, folder: Path, env: dict[str, str] | None = None) -> str:
    """Run `sim` with arguments from a copy of the project, in a folder; returns what it printed.

    Raises
    ------
    RuntimeError
        When the command fails, with the end of what it printed.
    """
    env = {**os.environ, "PYTHONPATH": str(root), **(env or {})}
    done = subprocess.run(
        [sys.executable, "-m", "sim.cli.main", *arguments], cwd=folder, env=env, capture_output=True, text=True
    )
    text = done.stdout + done.stderr
    if done.returncode != 0:
        raise RuntimeError(f"sim {' '.join(arguments)} ended with {done.returncode}: {text[-300:]}")
    return text


def inside(*arguments: str) -> None:
    """Run `sim` with arguments in this process, where memory is looked at."""
    from sim.cli.main import main

    if code := main(list(arguments)):
        raise RuntimeError(f"sim {' '.join(arguments)} ended with {code}")


def _run(root: Path, folder: Path, env: dict[str, str] | None = None) -> str:
    return command(root, *_running(root, folder), folder=folder, env=env)


def _running(root: Path, folder: Path) -> list[str]:
    """The arguments that run the pendulum."""
    return ["run", str(root / "scenes/pendulum.yaml"), "-o", str(folder / "pendulum.h5"), "--overwrite"]


def _rounds(name: str, rounds: int, arguments: Sequence[str], folder: str, note: str) -> Iterator[Result]:
    def job() -> int:
        command(ROOT, *arguments, folder=Path(folder))
        return 1

    samples = interleave({"ours": job}, rounds)["ours"]
    yield result(name, "s", samples, note=note, memory=memory.peak(inside, *arguments))


def check(name: str, rounds: int) -> Iterator[Result]:
    """Yield the time of `sim check scenes/swing.yaml`."""
    with tempfile.TemporaryDirectory() as folder:
        scene = str(ROOT / "scenes/swing.yaml")
        yield from _rounds(name, rounds, ["check", scene], folder, "sim check swing.yaml")


def run(name: str, rounds: int) -> Iterator[Result]:
    """Yield the time of `sim run scenes/pendulum.yaml`, its kernels compiled before."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _rounds(name, rounds, _running(ROOT, Path(folder)), folder, "sim run pendulum.yaml, warm")


def first_run(name: str, rounds: int) -> Iterator[Result]:
    """Yield the time of the first `sim run scenes/pendulum.yaml` of fresh copies: nothing is compiled.

    Raises
    ------
    RuntimeError
        When the command does not say what it waits for.
    """
    samples = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy"
            for part in TRAVELS:
                shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
            began = time.perf_counter()
            text = _run(copy, Path(folder), {"XDG_CACHE_HOME": str(Path(folder) / "cache")})
            samples.append(time.perf_counter() - began)
            if "compiling" not in text:
                raise RuntimeError("the first run did not say that it compiles")
    yield result(name, "s", samples, note="sim run pendulum.yaml, nothing compiled")
