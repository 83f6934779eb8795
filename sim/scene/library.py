"""The scenes and the schema that come with the program, in a checkout or in an installed package."""

from __future__ import annotations

import os
from pathlib import Path

from sim.scene.names import nearest
from sim.scene.problem import Problem, SceneError

_PACKAGE = Path(__file__).resolve().parents[1]


def _data(kind: str) -> Path:
    """Return the folder of `scenes` or `schema`."""
    installed = _PACKAGE / "data" / kind
    return installed if installed.is_dir() else _PACKAGE.parent / kind


def scenes_path() -> Path:
    """Return the folder of the shipped scenes."""
    return _data("scenes")


def schema_path() -> Path:
    """Return the JSON Schema of a scene."""
    return _data("schema") / "scene.schema.json"


def names() -> list[str]:
    """Return the names of the shipped scenes and figures: ``swing``, ``figures/monkey16``."""
    root = scenes_path()
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.yaml"))


def _candidates(name: str) -> list[Path]:
    root = scenes_path()
    return [Path(name), root / name, root / f"{name}.yaml"]


def is_file(path: Path) -> bool:
    """Return whether there is such a file; names that no file can have are no files."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def find(name: str) -> Path:
    """Return the file of a scene: a path as given, else a shipped scene by its name.

    Raises
    ------
    SceneError
        If there is no such file, with the nearest name.
    """
    for candidate in _candidates(name):
        if is_file(candidate):
            return candidate
    path = Path(name)
    if os.path.isdir(name):
        what = f"'{name}' is a folder; a scene is a file"
    elif path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        what = f"there is no file '{name}'"
    else:
        what = f"there is no scene named '{name}', and no file of that name"
    hint = nearest(path.with_suffix("").name if path.suffix else name, names()) or "shipped scenes: sim list"
    raise SceneError([Problem(where=None, path="", what=what, hint=hint)])
