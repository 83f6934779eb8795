"""Kinds of events in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# One, and more than one of what a recording tells as `/events/kind`.
WORDS = {
    "scene": ("event", "events"), "key": ("event by a key", "events by keys"),
    "disarmed": ("event disarmed", "events disarmed"), "impact": ("impact", "impacts"),
    "mode": ("change of mode", "changes of mode"), "annotation": ("note", "notes"),
}  # fmt: skip


def counted(numbers: Mapping[str, int], *, more: Iterable[str] = ()) -> list[str]:
    """Return how many events of each kind there are, in the order of `numbers`: ``175 impacts``.

    more : kinds of which some were told before
    """
    told = set(more)
    return [
        f"{number}{' more' * (kind in told)} {WORDS.get(kind, (kind, kind))[number > 1]}"
        for kind, number in numbers.items()
        if number
    ]
