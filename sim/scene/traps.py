"""Texts that YAML, or habit, reads otherwise than a scene means them; each has a message of its own."""

from __future__ import annotations

import re

from sim.scene.names import YAML_WORDS

_SIXTIES = re.compile(r"[-+]?\d+(:[0-5]?\d)+(\.\d*)?")
_OTHER_BASE = re.compile(r"[-+]?0([xX][0-9a-fA-F]{1,40}|[oO][0-7]{1,40}|[bB][01]{1,40})")
_OCTAL = re.compile(r"[-+]?0\d{1,40}")
_UNDERSCORES = re.compile(r"[-+]?\d[\d_]*_[\d_]*(\.\d*)?")
_COMMA = re.compile(r"[-+]?\d+,\d+(\s*[A-Za-z]+)?")


def number_trap(text: str, quoted: bool) -> tuple[str, str] | None:
    """Return what is wrong with a text that is no number, and what to write, or None."""
    text = text.strip()
    if text in YAML_WORDS and not quoted:
        return f"expected a number, found {text}, which YAML reads as {YAML_WORDS[text]}", ""
    if _SIXTIES.fullmatch(text):
        value = 0.0
        for part in text.lstrip("+-").split(":"):
            value = 60 * value + float(part)
        value = -value if text.startswith("-") else value
        return f"{text} counts in sixties in YAML", f"write {value:g}"
    if _OTHER_BASE.fullmatch(text):
        return f"{text} is not a decimal number", f"write {int(text, 0)}"
    if _OCTAL.fullmatch(text):
        return f"{text} begins with 0, which YAML reads in base 8", f"write {int(text)}"
    if _UNDERSCORES.fullmatch(text):
        return f"{text} has underscores", f"write {text.replace('_', '')}"
    if _COMMA.fullmatch(text):
        return f"{text} has a decimal comma", f"write {text.replace(',', '.')}"
    if text.lower() in (".inf", "+.inf", "-.inf"):
        return f"{text} is YAML's own infinity", "where a number may be infinite, write inf"
    if text.lower() == ".nan":
        return "not-a-number is no number", ""
    if "${" in text:
        inner = re.sub(r"\$\{\s*([^{}]*?)\s*\}", r"\1", text)
        return "${...} stands only inside names", f"in numbers write the loop variable by its name: {inner}"
    return None


def trap_of_empty(line: str, wanted: str) -> str:
    """Return the hint for a key without a value."""
    if re.search(r":\s+#[0-9a-fA-F]{3,8}\b", line):
        return "YAML takes what follows # for a comment: quote a color, '#a0522d'"
    return f"expected {wanted}"
