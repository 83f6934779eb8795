"""The scene of a recording, from the texts that the recording keeps.

These are data.  Programs are never taken from a recording: a controller's file is the one that stands beside the
scene's, and `trust` allows to run it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sim.recording import Recording, RecordingError
from sim.scene.controllers import digest_of, digests
from sim.scene.draft import Drafter
from sim.scene.findings import Findings
from sim.scene.kept import Kept
from sim.scene.load import load_text
from sim.scene.problem import Problem, SceneError
from sim.scene.spec import Scene
from sim.scene.units import Quantity


def restored(recording: Recording, *, trust: bool = False) -> tuple[Scene, list[str]]:
    """Return the scene that was recorded, with its settings, and notes about what differs from then.

    Parameters
    ----------
    recording : Recording
    trust : bool
        Whether controllers in files beside the scene's may be run: those that stand there now.

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
    settings, kept = recording.settings, Kept(recording.sources)
    changed = _changed(text, file, kept, settings)
    try:
        scene = load_text(text, file, folder=Path(file).parent, set=changed, trust=trust, kept=kept)
    except SceneError as error:
        raise _explained(error, settings) from error
    said = _of(settings, "method", "rtol", "step", "record")
    scene = replace(scene, file=file, simulate=replace(scene.simulate, **said))
    notes = _beside(settings, digests(scene.controllers))
    recorded = sorted(recording.sources.values())
    if recorded != sorted(text for name, text in scene.sources.items() if name != file):
        notes.append("an included file differs from the one that was recorded")
    return scene, notes


def _of(settings: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: settings[name] for name in names if name in settings}


def _beside(settings: dict[str, Any], now: dict[str, str]) -> list[str]:
    """Return notes about controllers' files that are not known to be those that ran when it was recorded."""
    then = settings.get("controllers")
    if not isinstance(then, dict):
        return [f"the recording does not tell with which text of {file} it ran; the file of today ran" for file in now]
    return [
        f"{file} is not the file that ran when this was recorded (SHA-256 {digest[:12]}... now, "
        f"{str(then.get(file, 'none'))[:12]}... then); the file of today ran"
        for file, digest in now.items()
        if then.get(file) != digest
    ]


def _explained(error: SceneError, settings: dict[str, Any]) -> SceneError:
    """Return an error of reading the scene, with controllers' files that changed since."""
    then = settings.get("controllers")
    changed = [
        Problem(where=None, path="", what=f"{file} is not the file that ran when this was recorded", severity="warning")
        for file, digest in (then.items() if isinstance(then, dict) else ())
        if file.endswith(".py") and digest_of(Path(file)) not in (None, digest)
    ]
    return SceneError([*error.problems, *changed])


def _changed(text: str, file: str, kept: Kept, settings: dict[str, Any]) -> dict[str, Quantity]:
    """Return the parameters whose recorded values are not those of the text."""
    wanted = settings.get("parameters") or {}
    declared = Drafter(Findings()).scene(text, file, None, Path(file).parent, {}, kept).parameters
    return {
        name: Quantity(float(wanted[name]), own.dimension, own.bare)
        for name, own in declared.items()
        if name in wanted and wanted[name] is not None and not own.live and float(wanted[name]) != own.value
    }
