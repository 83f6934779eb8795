"""What all tests share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Write down which tests run which line, where `tests.mutants` asks for it."""
    if "MUTANTS_REACH" in os.environ:
        from tests.mutants.reach import Gatherer, Tracer

        file, worker = os.environ["MUTANTS_REACH"], os.environ.get("PYTEST_XDIST_WORKER")
        tells = Gatherer(file) if config.getoption("numprocesses") else Tracer(f"{file}.{worker}" if worker else file)
        config.pluginmanager.register(tells)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Use all cores for the whole suite; parts of it have one process."""
    named = config.getoption("file_or_dir") or config.getoption("keyword") or config.getoption("markexpr")
    return 0 if named else os.cpu_count() or 1


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile all kernels by two processes before workers start, each of which would wait for the same ones."""
    if session.config.getoption("numprocesses") and not hasattr(session.config, "workerinput"):
        compile_all()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that need all kernels: what they compile, by two processes, no other test waits for."""
    items.sort(key=lambda item: "compiled" not in getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a skipped film test fail where films are required, as in .ci/run."""
    report = yield
    if report.skipped and item.get_closest_marker("film") and os.environ.get("BRACHIATE_REQUIRE_FILM"):
        report.outcome = "failed"
        report.longrepr = (
            f"films are required here (BRACHIATE_REQUIRE_FILM), but the test was skipped: {report.longrepr}"
        )
    return report


@pytest.fixture(scope="session")
def opengl() -> str:
    """The name of the renderer; skips where OpenGL does not start."""
    from render import stage
    from render.view import RenderError

    try:
        return stage.check()
    except RenderError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def compiled() -> list[dict[str, Any]]:
    """All kernels are in the cache that the tests use; what `sim doctor --compile` found after it put them there."""
    return compile_all()


def compile_all() -> list[dict[str, Any]]:
    """Return what `sim doctor --compile` finds."""
    ask = [sys.executable, "-m", "sim.cli.main", "doctor", "--compile", "--json"]
    return json.loads(subprocess.run(ask, capture_output=True, text=True).stdout)["findings"]
