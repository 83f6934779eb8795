"""OpenGL that notes what it is told, in order, and draws nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from render import shaders, stage

SHADERS = {
    shaders.BODY_FRAGMENT: "bodies", shaders.FLOOR_FRAGMENT: "floor", shaders.PLANE_FRAGMENT: "plane",
    shaders.BACKDROP_FRAGMENT: "backdrop", shaders.AVERAGE_FRAGMENT: "average",
}  # fmt: skip
VERTICES = {
    "bodies": shaders.BODY_VERTEX, "floor": shaders.FLOOR_VERTEX, "plane": shaders.PLANE_VERTEX,
    "backdrop": shaders.SCREEN_VERTEX, "average": shaders.SCREEN_VERTEX,
}  # fmt: skip


class Buffer:
    """A buffer of vertices or indices."""

    def __init__(self, data: np.ndarray):
        self.data = np.array(data)

    def set_data(self, data: np.ndarray) -> None:
        self.data = np.array(data)


class Texture:
    """A texture, or room for depths."""

    def __init__(self, shape: Any, format: Any = None, **options: Any):
        self.shape, self.format, self.options = shape, format, options


class Frame:
    """What is drawn into while it is entered."""

    def __init__(self, log: list[Any], color: Texture, depth: Texture | None = None):
        self.log, self.color, self.depth = log, color, depth

    def __enter__(self) -> Frame:
        self.log.append(("into", self))
        return self

    def __exit__(self, *_: object) -> None:
        self.log.append(("out of", self))


class Program(dict):
    """A program with its variables."""

    def __init__(self, log: list[Any], vertex: str, fragment: str):
        super().__init__()
        self.log, self.name = log, SHADERS[fragment]
        assert vertex == VERTICES[self.name]
        self.bound: Buffer | None = None

    def bind(self, buffer: Buffer) -> None:
        self.bound = buffer

    def draw(self, mode: str, indices: Buffer | None = None) -> None:
        """Note the variables, what is bound and the indices, as they are now."""
        variables = {key: np.array(value) if not isinstance(value, Texture) else value for key, value in self.items()}
        data = None if self.bound is None else np.array(self.bound.data)
        self.log.append(("draw", self.name, mode, None if indices is None else indices.data, variables, data))


@pytest.fixture
def gl(monkeypatch):
    """The list of what is told to OpenGL."""
    from vispy import gloo

    log: list[Any] = []

    class Canvas:
        def set_current(self) -> None:
            log.append(("current",))

    def read_pixels(viewport, alpha):
        log.append(("read", viewport, alpha))
        return np.zeros((viewport[3], viewport[2], 3), np.uint8)

    monkeypatch.setattr(stage, "_canvas", Canvas)
    monkeypatch.setattr(gloo, "VertexBuffer", Buffer)
    monkeypatch.setattr(gloo, "IndexBuffer", Buffer)
    monkeypatch.setattr(gloo, "Texture2D", Texture)
    monkeypatch.setattr(gloo, "RenderBuffer", Texture)
    monkeypatch.setattr(gloo, "FrameBuffer", lambda **given: Frame(log, **given))
    monkeypatch.setattr(gloo, "Program", lambda *given: Program(log, *given))
    monkeypatch.setattr(gloo, "set_viewport", lambda *given: log.append(("viewport", *given)))
    monkeypatch.setattr(gloo, "set_state", lambda **given: log.append(("state", given)))
    monkeypatch.setattr(gloo, "clear", lambda **given: log.append(("clear", given)))
    monkeypatch.setattr(gloo, "read_pixels", read_pixels)
    return log
