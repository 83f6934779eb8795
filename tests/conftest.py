"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest


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
