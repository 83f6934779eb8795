"""The scene of a recording, from the texts that the recording keeps."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from sim.drafts import Folder
from sim.recording import Recording, RecordingError
from sim.scene.draft import Drafter
from sim.scene.findings import Findings
from sim.scene.load import load_text
from sim.scene.spec import Scene
from sim.scene.units import Quantity

DEEPEST = 8  # folders above the scene's own that an include may name


def restored(recording: Recording, *, trust: bool = False) -> tuple[Scene, list[str]]:
    """Return the scene that was recorded, with its settings, and notes about what differs from then.

    Parameters
    ----------
    recording : Recording
    trust : bool
        Whether controllers in files beside the scene may be run; they are not in the recording.

    Raises
    ------
    SceneError
        When the scene cannot be read: of an older language, or of controllers that are not there.
    RecordingError
        When the recording holds no scene.
    """
    text, file = recording.scene_text, recording.scene_file
    if not text.strip():
        raise RecordingError(f"{recording.path} holds no scene text, so nothing of it can be run again")
    settings = recording.settings
    with Folder() as folder:
        home = _lay(folder, file, recording.sources)
        _link_controllers(Path(file).parent, home)
        scene = load_text(text, file, folder=home, set=_changed(text, file, home, settings), trust=trust)
    said = _of(settings, "method", "rtol", "step", "record")
    scene = replace(scene, file=file, simulate=replace(scene.simulate, **said))
    notes = []
    recorded = sorted(recording.sources.values())
    if recorded != sorted(text for name, text in scene.sources.items() if name != file):
        notes.append("an included file differs from the one that was recorded")
    return scene, notes


def _of(settings: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: settings[name] for name in names if name in settings}


def _lay(folder: Path, file: str, sources: dict[str, str]) -> Path:
    """Write the included files where the scene looks for them; return the scene's folder."""
    home = folder.joinpath(*["down"] * DEEPEST)
    home.mkdir(parents=True)
    base = os.path.dirname(file)
    for name, text in sources.items():
        beside = os.path.relpath(name, base or ".") if os.path.isabs(name) == os.path.isabs(file) else name
        # A shipped figure is known by its whole path: how the scene named it may be any end of that.
        ends = [beside] if not os.path.isabs(beside) else _ends(Path(beside))
        for end in ends:
            target = Path(os.path.normpath(home / end))
            if target.is_relative_to(folder) and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
    return home


def _ends(path: Path) -> list[str]:
    parts = path.parts[1:]
    return [os.path.join(*parts[-k:]) for k in range(1, min(len(parts), 4) + 1)]


def _link_controllers(beside: Path, home: Path) -> None:
    """Let files of Python beside the scene be found from its new folder."""
    for path in beside.glob("*.py") if beside.is_dir() else ():
        with contextlib.suppress(OSError):
            (home / path.name).symlink_to(path.resolve())


def _changed(text: str, file: str, home: Path, settings: dict[str, Any]) -> dict[str, Quantity]:
    """Return the parameters whose recorded values are not those of the text."""
    wanted = settings.get("parameters") or {}
    declared = Drafter(Findings()).scene(text, file, None, home, {}).parameters
    return {
        name: Quantity(float(wanted[name]), own.dimension, own.bare)
        for name, own in declared.items()
        if name in wanted and wanted[name] is not None and not own.live and float(wanted[name]) != own.value
    }
