"""Open a recording, or say what the file is instead."""

from __future__ import annotations

from pathlib import Path

import h5py

from sim.recording.errors import RecordingError
from sim.recording.layout import FORMAT, VERSION


def open_recording(path: Path) -> h5py.File:
    """Return the open file of a recording, or raise a RecordingError with a sentence."""
    if path.is_dir():
        raise RecordingError(f"{path} is a folder, not a recording")
    if not path.exists():
        raise RecordingError(f"there is no file {path}")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        if isinstance(error, PermissionError):
            raise RecordingError(f"{path} may not be read by you") from error
        raise RecordingError(f"{path} is not a recording: {_what_is(path)}") from error
    if file.attrs.get("format") != FORMAT:
        names = ", ".join(sorted(file)[:5]) or "nothing"
        file.close()
        raise RecordingError(f"{path} is not a recording: an HDF5 file of another program, which holds {names}")
    version = int(file.attrs["version"])
    if version > VERSION:
        file.close()
        raise RecordingError(f"{path} is a recording of version {version}; this program reads up to {VERSION}")
    return file


def _what_is(path: Path) -> str:
    """Say what a file that HDF5 cannot open looks like."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(512)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if not head:
        return "the file is empty"
    if head.startswith(b"\x89HDF"):
        return "an HDF5 file that is damaged"
    for magic, kind in ((b"\x89PNG", "a PNG picture"), (b"GIF8", "a GIF picture"), (b"PK\x03\x04", "a zip archive")):
        if head.startswith(magic):
            return kind
    if head[4:8] == b"ftyp":
        return "an MP4 film"
    if b"\0" not in head:
        first = head.decode(errors="replace").splitlines()[0][:60]
        return f"a text file that begins with {first!r}"
    return "a file of another format"
