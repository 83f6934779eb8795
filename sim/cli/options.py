"""What a person types behind an option, read into numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sim.cli.outcome import Refusal

SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0}
FILMS = (".mp4", ".gif")


def seconds(text: str, option: str) -> float:
    """Return a time in seconds: ``2.5``, ``2.5 s``, ``100 ms``, ``1 min``."""
    found = re.fullmatch(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-z]*)\s*", text)
    if found is None or found[2] not in SECONDS:
        raise Refusal(f"{option}: {text!r} is not a time; give seconds, as in 2.5 or '2.5 s'")
    value = float(found[1]) * SECONDS[found[2]]
    if not 0.0 <= value < float("inf"):
        raise Refusal(f"{option}: {text!r} is not a time from the start on; give zero or more seconds")
    return value


def assignments(texts: Sequence[str]) -> dict[str, str]:
    """Return name -> value as text of ``--set name=value``; the scene reads the units."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise Refusal(f"--set: {text!r} is not of the form name=value")
        if name in found:
            raise Refusal(f"--set: {name!r} is given twice")
        found[name] = value
    return found


def triggers(texts: Sequence[str]) -> list[tuple[str, float]]:
    """Return (key, time in s) of ``--trigger "let go@2.5"``, in the order of time."""
    found = []
    for text in texts:
        key, at, time = text.rpartition("@")
        if not (at and key.strip()):
            raise Refusal(f"--trigger: {text!r} is not of the form KEY@TIME, as in 'let go@2.5'")
        found.append((key.strip(), seconds(time, "--trigger")))
    return sorted(found, key=lambda pair: pair[1])


def size(text: str | None) -> tuple[int, int] | None:
    """Return (width, height) in pixels of ``1280x720``."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d{1,6})\s*[xX]\s*(\d{1,6})\s*", text)
    if found is None:
        raise Refusal(f"--size: {text!r} is not of the form WIDTHxHEIGHT, as in 1280x720")
    width, height = int(found[1]), int(found[2])
    if not width * height:
        raise Refusal(f"--size: {text!r} has no pixels; give WIDTHxHEIGHT, as in 1280x720")
    return width, height


def target(path: Path, option: str, suffixes: Sequence[str], *, overwrite: bool) -> Path:
    """Return the file to write after checking all that can be checked before the work."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise Refusal(f"{option}: {str(path)!r} should end in {' or '.join(suffixes)}")
    if path.is_dir():
        raise Refusal(f"{option}: {str(path)!r} is a folder; give the name of a file")
    if path.exists() and not overwrite:
        raise Refusal(f"{option}: {str(path)!r} exists; choose another name or add --overwrite")
    if not path.parent.is_dir():
        raise Refusal(f"{option}: there is no folder {str(path.parent)!r}")
    return path
