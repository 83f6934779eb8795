"""Mistakes that no test can notice, judged one by one: whatever the input, nothing that is told or kept differs.

Only what leaves every result and every sentence as it is belongs here: work done twice, room in memory, a number that
is written over before it is read.  A tolerance belongs here only if no input comes near it.
"""

from __future__ import annotations

from typing import NamedTuple


class Judged(NamedTuple):
    """A mistake, by the text of its line, and why it changes nothing.

    line : the line as it stands, without the blanks around it
    before, after : what is replaced by what, as the list of survivors shows them
    """

    file: str
    line: str
    before: str
    after: str
    why: str


CHANGE_NOTHING: tuple[Judged, ...] = (
    Judged(
        "sim/recording/writer.py", "MORE_EVENTS, EVENT_WIDTH = 64, 120", "64", "65",
        "room for events, which grows when it is full",
    ),
    Judged(
        "sim/recording/writer.py", "MORE_EVENTS, EVENT_WIDTH = 64, 120", "120", "121",
        "room for a text, which grows when a longer one comes",
    ),
    Judged(
        "plugins/pd.py", "turn = 2.0 * math.atan2(half, rw) / (half or 1.0)", "1.0", "2.0",
        "where half is zero the vector that it multiplies is zero, too",
    ),
)  # fmt: skip

_KEYS = {tuple(judged[:4]) for judged in CHANGE_NOTHING}


def changes_nothing(file: str, line: str, before: str, after: str) -> bool:
    """Tell whether a mistake was judged to change nothing.

    line : text of the line; before, after : with single blanks
    """
    return (file, line, before, after) in _KEYS
