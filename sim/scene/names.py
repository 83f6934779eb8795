"""Names of things: what may be one, which is nearest to a misspelt one, which a pattern means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# Letters, digits, _ and -; dots come from the prefixes of includes.
_NAME = re.compile(r"[^\W\d][\w-]*|\d+[\w-]*[^\W\d][\w-]*")

# Plain words that YAML 1.1 reads as true, false or nothing.
YAML_WORDS = {
    word: meaning
    for meaning, words in {
        "true": ("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"),
        "false": ("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"),
        "nothing": ("null", "Null", "NULL", "~"),
    }.items()
    for word in words
}


def is_name(text: str) -> bool:
    """Return whether a body, joint, point or controller may be called so."""
    return bool(_NAME.fullmatch(text))


def join(prefix: str, name: str) -> str:
    """Return the full name of something in an included file."""
    return f"{prefix}.{name}" if prefix else name


def full_name(prefix: str, name: str) -> str:
    """Return the full name of what a file with a prefix calls `name`; the world's points and shapes stay with it."""
    world, dot, own = name.partition(".")
    if world == "world":
        return world + dot + join(prefix, own) if dot else name
    return join(prefix, name)


def own_name(prefix: str, full: str) -> str | None:
    """Return what a file with a prefix calls the thing of this full name; None if it cannot name it."""
    world, own = ("world.", full[len("world.") :]) if full.startswith("world.") else ("", full)
    start = f"{prefix}." if prefix else ""
    return world + own[len(start) :] if own.startswith(start) else None


def is_pattern(text: str) -> bool:
    """Return whether the text stands for several names."""
    return "*" in text or "?" in text


@dataclass(frozen=True)
class Unreadable:
    """Names of which nothing more is known, because what they name could not be read.

    names : of things whose blocks could not be read
    prefixes : of files that could not be read whole; any name under them may be meant
    """

    names: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()

    def __contains__(self, name: str) -> bool:
        return name in self.names or any(not p or name.startswith(f"{p}.") for p in self.prefixes)

    def may_match(self, pattern: str) -> bool:
        """Return whether a pattern may mean one of the names."""
        lost = any(not p or pattern.startswith(f"{p}.") or matching(pattern, [f"{p}."]) for p in self.prefixes)
        return lost or bool(matching(pattern, self.names))


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that a pattern means, in their order; `*` is any text, `?` one character."""
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    expression = re.compile("".join(parts), re.DOTALL)
    return [name for name in names if expression.fullmatch(name)]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint: the nearest known name, else all of them if they are few, else nothing."""
    import difflib  # late: only for messages

    candidates = list(dict.fromkeys(known))
    close = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
    if not close:  # the right last part under a wrong or forgotten prefix
        last = name.rpartition(".")[2]
        close = [candidate for candidate in candidates if candidate.rpartition(".")[2] == last][:1]
    if close:
        return f"did you mean '{close[0]}'?"
    if 0 < len(candidates) <= 12:
        return f"there is: {', '.join(candidates)}"
    return ""
