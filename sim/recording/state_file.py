"""A file of one state: JSON and arrays in HDF5, each array a dataset with its types and shape; nothing that is code."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from sim.recording.drafts import replacing
from sim.recording.errors import RecordingError

FORMAT, VERSION = "brachiate state", 1


def write_state(path: Path, text: str, arrays: list[np.ndarray]) -> None:
    """Write a state; an older file of this name is there until the new one is whole.

    Raises
    ------
    RecordingError
        Where the file cannot be written.
    """
    try:
        with replacing(path) as draft, h5py.File(draft, "w", locking=False) as file:
            file.attrs["format"], file.attrs["version"] = FORMAT, VERSION
            file["text"] = np.frombuffer(text.encode(), np.uint8)
            for number, array in enumerate(arrays):
                file[f"arrays/{number}"] = np.asarray(array).view(np.ndarray)
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error.strerror or error}") from error


def is_state(path: Path) -> bool:
    """Tell whether a file is one of a state, whole or not."""
    try:
        with h5py.File(path, "r") as file:
            return bool(file.attrs.get("format") == FORMAT)
    except OSError:
        return False


def read_state(path: Path) -> tuple[str, list[np.ndarray]]:
    """Return what was written.

    Raises
    ------
    RecordingError
        Where there is no such file, or one that is none of a state, of a newer version or damaged.
    """
    if not path.is_file():
        raise RecordingError(f"there is no file {path}")
    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("format") != FORMAT:
                raise RecordingError(f"{path} is no state: an HDF5 file of another kind")
            version = file.attrs.get("version")
            if version != VERSION:
                raise RecordingError(f"{path} is a state of version {version}; this program reads version {VERSION}")
            limit = path.stat().st_size
            names = range(len(file["arrays"]) if "arrays" in file else 0)
            arrays = [_array(file, f"arrays/{number}", limit) for number in names]
            return bytes(_array(file, "text", limit)).decode(), arrays
    except RecordingError:
        raise
    except Exception as error:  # whatever HDF5 says of a damaged file
        raise RecordingError(f"{path} is no state, or a damaged one: {error}") from error


def _array(file: h5py.File, name: str, limit: int) -> np.ndarray:
    """Return a dataset of this file, no larger than the file is."""
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"{name} is missing, or stands in another file")
    found = file[name]
    if not isinstance(found, h5py.Dataset) or found.is_virtual or found.external or found.nbytes > limit:
        raise ValueError(f"{name} is no array of this file")
    out: np.ndarray = found[()] if found.shape else np.array(found[()], found.dtype)
    return out
