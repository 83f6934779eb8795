"""Text of others, as it may be shown: on a terminal, in a film, on a page.

Names, captions, file names and what exceptions say come from scenes, recordings and libraries.  A control character in
them would move the cursor, forge a line of output or turn it around; it is shown as a backslash and its number.
"""

from __future__ import annotations

LONGEST = 600  # characters of one piece of text in a line


def shown(text: object) -> str:
    """Return a text of several lines with all that is not printable escaped, but ends of lines and tabs."""
    return _escaped(str(text), "\n\t")


def one_line(text: object, most: int = LONGEST) -> str:
    """Return a text as part of one line: ends of lines escaped, too, and the middle of a very long one left out."""
    line = _escaped(str(text), "")
    return line if len(line) <= most else f"{line[: most // 2]} [...] {line[-most // 2 :]}"


def one_width(text: str) -> str:
    """Return a text of as many characters, each of which is printable, so that marks beneath it still point right."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text.replace("\t", " "))


def forbidden(text: str, several_lines: bool = False) -> str:
    """Return the first character that no text of a scene may hold, as `U+001B`; nothing where all may stand.

    Joiners of letters, which some alphabets need, may; what changes the direction of writing may not.
    """
    allowed = "\u200c\u200d\u00a0\u00ad" + ("\n\t" if several_lines else "")
    if text.isprintable():
        return ""
    return next((f"U+{ord(c):04X}" for c in text if not (c.isprintable() or c in allowed or _is_word(c))), "")


def _is_word(c: str) -> bool:
    """Tell whether a character is only unknown to this version of Python's tables, or one of the many spaces."""
    import unicodedata  # late: only for what is not printable

    return unicodedata.category(c) in ("Cn", "Co", "Zs")


def _escaped(text: str, keep: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)
