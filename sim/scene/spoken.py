"""How options are called where they are given: in Python, or behind a command."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_command: ContextVar[bool] = ContextVar("command", default=False)


@contextlib.contextmanager
def as_command() -> Iterator[None]:
    """Call options as a command line does."""
    token = _command.set(True)
    try:
        yield
    finally:
        _command.reset(token)


def trusted() -> str:
    """Return how to say that files beside a scene may be run."""
    return "add --trust" if _command.get() else "load it with trust=True"


def allowed() -> str:
    """Return how to say that a recording may be as large as it is expected to be."""
    return "add --large" if _command.get() else "run it with large=True"


def setting(name: str) -> str:
    """Return how a parameter is set from outside a scene."""
    return f"--set {name}" if _command.get() else f"set[{name!r}]"
