from __future__ import annotations

import pytest

from render.view import RenderError
from tests.render.fake_gl import gl  # noqa: F401  (a fixture)


@pytest.fixture(scope="session")
def opengl():
    """The name of the renderer; skips where OpenGL does not start."""
    from render import stage

    try:
        return stage.check()
    except RenderError as error:
        pytest.skip(str(error))
