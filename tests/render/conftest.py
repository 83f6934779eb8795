from __future__ import annotations

import pytest

from render.view import RenderError


@pytest.fixture(scope="session")
def opengl():
    """The name of the renderer; skips where OpenGL does not start."""
    from render import stage

    try:
        return stage.check()
    except RenderError as error:
        pytest.skip(str(error))
