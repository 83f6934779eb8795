"""What is written where something sensible should stand."""

from __future__ import annotations

import random

NUMBERS = (
    "0", "-0", "-1", "1e-320", "5e-324", "1e-300", "1e-160", "1e-120", "1e-30", "1e-12", "1e7", "1e9", "1e12", "1e15",
    "1e30", "1e100", "1e155", "1e160", "1e200", "1e300", "1.7e308", "-1e160", "-1e300", "1e308*10", "1e400", "inf",
    "-inf", "nan", "NaN", ".nan", ".inf", "-.inf", "inf - inf", "0/0", "1/0", "0*inf", "(-1)^0.5", "2^1024", "2^-1100",
    "9" * 400, "0." + "0" * 400 + "1", "1e-999999999", "1e999999999",
)  # fmt: skip
UNITS = (
    "",
    " m",
    " kg",
    " s",
    " N",
    " rad",
    " deg",
    " N m/rad",
    " kg/m^3",
    " Hz",
    " m/s",
    " m^100",
    " m^-100",
    " km^99",
)
SHAM_NUMBERS = (
    "0x10", "0b101", "0o17", "0b9", "0x_", "0b", "0o99", "017", "09", "1_000", "1__0_", "_1", "1:30", "190:20:30.15",
    "1:99", "1,5", "1,000,000", "1 000", "1e", "e5", "1e+", ".5.5", "+-1", "--1", "1-", "٣", "\uff11\uff12", "½", "²",
    "1²", "1e٣", "∞", "1 parsec", "1 m m m", "1 m^", "1 m^^2", "1 m^m", "1 m^2^2", "1 m^-", "1 m/", "1 m//s", "true",
    "yes", "null", "~", "${x}", "${", "$", "1;2", "1\\", "[1]", "'1'", "pi", "pi pi", "t", "lambda",
    "__import__('os')",
    "().__class__", "1 if 1 else 2", "x:=1", "f''", "{}", "...", "min", "min()", "norm([1,2])[0]", "m", "kg^0.5",
)  # fmt: skip
WORDS = (
    "", " ", "~", "true", "no", "on", "0", "-1", "world", "world.", ".world", "world.ground", "world.com", "com",
    "*", "?", "**", "[*]", "a.b.c", "a..b", ".", "..", "/", "../x", "t", "pi", "inf", "m", "kg", "sin", "lambda",
    "None", "self", "type", "name", "__class__", "repeat", "include", "for", "éü", "名前", "🦊", "\uff21", "ß", "İ",
    "ﬁ", "e\u0301",
)  # fmt: skip
STRANGE = (
    "\x00", "\x01", "\x07", "\x08", "\r", "\n", "\t", "\x0b", "\x0c", "\x1b[31mred", "\x1b]0;title\x07", "\x1b[2J",
    "\x7f", "\x80", "\x85", "\x9b31m", "\xa0", "\xad", "\u200b", "\u200e", "\u202e", "\u2028", "\u2029", "\u2066",
    "\ufeff", "\ufffe", "\ufffd", "\ue000", "\U000e0001", "\U0010ffff", "a\nOK: no problems", "a\rOK", "[bold]x[/bold]",
    "[link=http://x]y[/link]", "{0}", "{x!r:>999999999}", "%s%n", "\\", '"', "'", "$x$", "$\\frac{", "_^", "<b>",
    "&amp;",
)  # fmt: skip


def number(chance: random.Random) -> str:
    """Return a number that is too large, too small or none, with any unit or none."""
    return chance.choice(NUMBERS) + chance.choice(UNITS) if chance.random() < 0.7 else chance.choice(SHAM_NUMBERS)


def name(chance: random.Random) -> str:
    """Return a text that is a bad name, of letters or not, short or very long."""
    what = chance.random()
    if what < 0.3:
        return chance.choice(WORDS)
    if what < 0.5:
        return chance.choice(("a", "é", "🦊", "a.", "a b ", "\x1b[31m")) * chance.choice((40, 300, 3000, 20000))
    strange = chance.choice(STRANGE)
    return chance.choice((strange, "a" + strange + "b", strange * chance.choice((2, 30, 500))))
