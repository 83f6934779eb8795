"""Code that a controller's author wrote: what it prints, and what it raises.

What it prints goes to standard error: standard output is the caller's, and may be JSON.  What it raises is told with
the line of its file.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
_HERE = Path(__file__).resolve().parents[1]
_inside = 0  # calls of such code that run now, of all threads
_output: Any = None  # standard output, while they do


def aside(function: Callable[..., T], *given: Any, **named: Any) -> T:
    """Call a function while what is printed goes to standard error.

    Between the lines that change what is shared nothing is called, so that neither another thread nor Ctrl-C comes in.
    """
    global _inside, _output
    if _inside == 0:
        _output, sys.stdout = sys.stdout, sys.stderr
    _inside += 1
    try:
        return function(*given, **named)
    finally:
        _inside -= 1
        if _inside == 0:
            sys.stdout = _output


def told(error: BaseException, file: str | None, named: bool = True) -> str:
    """Return what was raised, on one line, and from which line of the author's file.

    file : of the controller; None: whichever is not of this program; named : begin with the exception's class
    """
    said = error.msg if isinstance(error, SyntaxError) else error
    words, kind = " ".join(str(said).split()), type(error).__name__
    if not words or named:
        words = f"{kind}: {words}" if words else kind
    where = _place(error, file)
    return f"{words} ({where})" if where else words


def _place(error: BaseException, file: str | None) -> str:
    """Return ``file.py:12``, the innermost line of the author's file that an exception came from; empty without one."""
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno))
    own = [(name, line) for name, line in places if (name == file if file else _foreign(name))]
    return f"{Path(own[-1][0]).name}:{own[-1][1]}" if own else ""


def _foreign(name: str) -> bool:
    return not name.startswith("<") and _HERE not in Path(name).parents
