"""`sim new`: files to start from."""

from __future__ import annotations

import re
from pathlib import Path

from sim.cli.outcome import OK, Refusal, tell

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"


def scene(name: str) -> int:
    """Write NAME.yaml in the current folder."""
    from sim.scene import library

    word = _word(name, (".yaml", ".yml"))
    _write({f"{word}.yaml": "scene.yaml"}, {"NAME": word, "SCHEMA": str(library.schema_path())})
    tell(f"run it: sim run {word}.yaml --video {word}.mp4")
    return OK


def controller(name: str, *, sampled: bool = False) -> int:
    """Write NAME.py and test_NAME.py in the current folder."""
    word = _word(name, (".py",))
    if not word.isidentifier():
        raise Refusal(f"{name!r} cannot be the name of a Python file that others import; use letters, digits and _")
    kind = "".join(part[:1].upper() + part[1:] for part in word.split("_"))
    source = "sampled.py" if sampled else "continuous.py"
    _write({f"{word}.py": source, f"test_{word}.py": "test_controller.py"}, {"NAME": word, "CLASS": kind})
    tell(f"test it: pytest test_{word}.py")
    tell(f'use it: controllers: {{hold: {{type: "./{word}.py:{kind}", joint: hinge}}}}, and run with --trust')
    return OK


def _word(name: str, suffixes: tuple[str, ...]) -> str:
    """Return the bare name, which becomes file names."""
    for suffix in suffixes:
        name = name.removesuffix(suffix)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise Refusal(f"{name!r} is no name for a file here; begin with a letter, then letters, digits, _ and -")
    return name


def _write(files: dict[str, str], words: dict[str, str]) -> None:
    """Fill templates and write them; nothing is written where one of the files exists."""
    for name in files:
        if Path(name).exists():
            raise Refusal(f"{name} exists; nothing was written")
    for name, template in files.items():
        text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
        try:
            Path(name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise Refusal(f"{name} cannot be written: {error.strerror}") from error
        tell(f"written: {name}")
