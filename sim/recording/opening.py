"""Open a recording, or say what the file is instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py

from sim.recording.errors import RecordingError
from sim.recording.file_check import attribute, check
from sim.recording.format import FORMAT, VERSION


class RecordingFile(h5py.File):
    """The open file of a recording; what older ones lack, or cannot be read, is a RecordingError."""

    def __getitem__(self, name: Any) -> Any:
        """Return a dataset or group by its name."""
        try:
            return super().__getitem__(name)
        except (KeyError, OSError, RuntimeError, ValueError) as error:
            if not self:
                raise RecordingError("the recording is closed") from error
            raise RecordingError(f"{self.filename} has no {name!r}: it is incomplete or of another version") from error


def open_recording(path: Path) -> RecordingFile:
    """Return the open file of a recording that was looked at, or raise a RecordingError with a sentence."""
    if path.is_dir():
        raise RecordingError(f"{str(path)!r} is a folder, not a recording")
    if not path.exists():
        raise RecordingError(f"there is no file {path}")
    try:
        file = RecordingFile(path, "r")
    except Exception as error:
        if isinstance(error, PermissionError):
            raise RecordingError(f"{path} may not be read by you") from error
        raise RecordingError(f"{path} is not a recording: {_what_is(path)}") from error
    try:
        _check_version(path, file)
        check(path, file)
    except BaseException:
        file.close()
        raise
    return file


def _check_version(path: Path, file: h5py.File) -> None:
    try:
        kind, version = attribute(file, "format"), attribute(file, "version")
        names = ", ".join(name if name.isprintable() else ascii(name) for name in sorted(file)[:5]) or "nothing"
    except Exception as error:  # whatever HDF5 says of a damaged file
        raise RecordingError(f"{path} is not a recording: an HDF5 file that is damaged") from error
    if kind != FORMAT:
        raise RecordingError(f"{path} is not a recording: an HDF5 file of another program, which holds {names}")
    if not isinstance(version, int) or version < 1:
        raise RecordingError(f"{path}: attribute 'version' is {version!r}; expected a whole number from 1 to {VERSION}")
    if version > VERSION:
        raise RecordingError(f"{path} is a recording of version {version}; this program reads up to {VERSION}")


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
