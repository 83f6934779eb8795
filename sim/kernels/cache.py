"""Where compiled kernels are kept, and how: they are code, so that only their owner may write them.

Who can write a file of the cache runs what he likes in the process that reads it: an index is a pickle, the rest is
machine code.  A folder is taken only if nobody else can put files there, and a file that is not as it was written is
deleted, never loaded.

Within a folder a kernel's place is that of its source in the program, wherever the program stands, so that a folder may
be copied from one machine to another; `sim.kernels.shipped` does that.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core import caching, config

from sim.kernels import sources

PACKAGE = Path(__file__).resolve().parent.parent
SHIPPED = PACKAGE / "data" / "kernels"  # in wheels that were made so
PROCESSOR = ("x86-64-v3", "")  # what kernels that come with the program are compiled for: LLVM's name, and nothing else

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_DIGEST = hashlib.sha256().digest_size


def candidates(package: Path) -> Iterator[tuple[Path, str]]:
    """Return the folders that may hold compiled kernels, best first, each with what asks for it by name, or nothing.

    package : where the program's own package stands
    """
    if own := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(own), "NUMBA_CACHE_DIR"
    if not {"site-packages", "dist-packages"} & set(package.parts):
        yield package.parent / ".kernel_cache", ""
    if home := os.environ.get("XDG_CACHE_HOME"):
        yield Path(home) / "brachiate", "XDG_CACHE_HOME"
    else:
        with suppress(RuntimeError):  # no home
            yield Path.home() / ".cache" / "brachiate", ""
    yield Path(tempfile.gettempdir()) / f"brachiate-{os.getuid()}", ""


def choose(package: Path, name: str) -> tuple[Path, list[str]]:
    """Return the folder of this name to keep compiled kernels in, and a sentence about each better one that is refused.

    Where none will do it is a new one, gone at the end of the process.
    """
    refused: list[str] = []
    for folder, asked in candidates(package):
        why = refusal(folder / name)
        if not why:
            return (folder / name).resolve(), refused
        # Nobody asked for a folder that merely cannot be written, as the program's own often cannot.
        if asked or why != NOT_WRITABLE:
            refused.append(f"not in {folder}{f' ({asked})' if asked else ''}, {why}")
    last = Path(tempfile.mkdtemp(prefix="brachiate-kernels-"))
    atexit.register(shutil.rmtree, last, ignore_errors=True)
    make(last / name)
    return last / name, refused


def begin_with_older(folder: Path) -> None:
    """Link into a new folder what the newest one of other sources has: kernels whose own have not changed are taken."""
    with suppress(OSError):
        if any(folder.iterdir()):
            return
        others = [path for path in folder.parent.glob(f"{folder.name.partition('-')[0]}-*") if path != folder]
        others = [path for path in others if not _open_to_others(path)]
        older = max(others, key=lambda path: path.stat().st_mtime, default=folder)
        for path in older.rglob("*.nb[ic]"):
            place = folder / path.relative_to(older)
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(OSError):
                os.link(path, place)


NOT_WRITABLE = "which cannot be written"


def refusal(folder: Path) -> str:
    """Return why a folder cannot hold code, as the end of a sentence, or nothing; make it where there is none."""
    if not folder.is_absolute():
        return "which is no whole path"
    try:
        make(folder)
        folder = folder.resolve(strict=True)
        if why := _open_to_others(folder):
            return why
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except (OSError, ValueError, RuntimeError):  # as names with a zero byte, and circles of links
        return NOT_WRITABLE


def make(folder: Path) -> None:
    """Make a folder, and what it stands in, that its owner alone may enter, where there is none."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)


def _open_to_others(folder: Path) -> str:
    """Return who else may write to a folder or replace it, as the end of a sentence, or nothing."""
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        return "which is no folder"
    if found.st_uid != os.getuid():
        return f"which is that of another user ({found.st_uid})"
    if found.st_mode & _OTHERS:
        return "which others may write to"
    trusted = {0, os.getuid(), *_unknown_users()}
    for parent in folder.parents:
        found = parent.stat()
        if found.st_uid not in trusted:
            return f"as another user ({found.st_uid}) may replace {parent}"
        # In a folder like /tmp others may make files, and cannot touch ours.
        if found.st_mode & _OTHERS and not found.st_mode & stat.S_ISVTX:
            return f"as others may write to {parent}"
    return ""


def _unknown_users() -> list[int]:
    """Return whose files those of users are that a container does not know, the machine's root above all; else none."""
    try:
        if Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]:
            return [int(Path("/proc/sys/kernel/overflowuid").read_text())]
    except (OSError, ValueError):  # another system
        pass
    return []


class PlacedByPackage(caching.UserProvidedCacheLocator):
    """Tells numba where kernels of the program, and of what is written into its folder, are kept."""

    def __init__(self, function: Any, file: str):
        super().__init__(function, file)
        self._cache_path = str(_kept_in() / (_place(file) or ""))

    @classmethod
    def from_function(cls, function: Any, file: str) -> PlacedByPackage | None:
        """Return where a function is kept; None leaves it to numba."""
        return None if _place(file) is None else cls(function, file)

    def ensure_cache_path(self) -> None:
        """Make the folder of a kernel that is about to be kept."""
        with suppress(OSError):  # then it is not kept
            os.makedirs(self._cache_path, exist_ok=True)

    def get_source_stamp(self) -> str:
        """Return a digest of all sources it is made from: times of files tell nothing where they were copied."""
        return sources.digest(self._py_file)


def _kept_in() -> Path:
    settings: Any = config
    return Path(settings.CACHE_DIR)


def _place(file: str) -> Path | None:
    """Return the folder of a source from the program's or from that of the kernels; None where it is in neither."""
    folder = Path(os.path.abspath(file)).parent
    for root in (_kept_in(), PACKAGE.parent):
        if folder.is_relative_to(root):
            return folder.relative_to(root)
    return None


class CheckedFiles(caching.IndexDataCacheFile):
    """Files of a kernel, each behind the SHA-256 of what it holds; what is damaged is deleted, then compiled anew."""

    with_shipped = False  # load what came with the program before what is kept

    def load(self, key: Any) -> Any:
        """Return what is kept under a key, or None."""
        return self._load_shipped(key) or super().load(key)

    def _load_shipped(self, key: Any) -> Any:
        place = Path(self._cache_path)
        if not self.with_shipped or not place.is_relative_to(_kept_in()):
            return None
        signature, (system, *_), code = key
        place = SHIPPED / place.relative_to(_kept_in())
        index: tuple[Any, dict[Any, str]] = read(place / self._index_name) or (None, {})
        stamp, overloads = index
        name = overloads.get((signature, (system, *PROCESSOR), code))
        return read(place / name) if name and stamp == self._source_stamp else None

    def _load_index(self) -> dict[Any, str]:
        stamp, overloads = _read_or_delete(self._index_path) or (None, {})
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return _read_or_delete(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _write(self, path: str, content: Any) -> None:
        # A kernel that cannot be kept runs all the same.
        with suppress(OSError), self._open_for_write(path) as file:
            file.write(packed(content))


def packed(content: Any) -> bytes:
    """Return what a file is to hold, behind its digest."""
    data = caching.dumps(content)
    return hashlib.sha256(data).digest() + data


def checked(path: Path) -> bytes:
    """Return what a file holds, still packed; nothing where it is not as it was written, or there is none."""
    with suppress(OSError):
        data = path.read_bytes()
        if hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]:
            return data[_DIGEST:]
    return b""


def read(path: Path) -> Any:
    """Return what a file holds; None where there is none, or a damaged one."""
    with suppress(Exception):  # of another program that took the same name: it is none of ours
        if data := checked(path):
            return pickle.loads(data)
    return None


def _read_or_delete(path: str) -> Any:
    """Return what a file holds; None where there is none, or a damaged one, which is deleted."""
    found = read(Path(path))
    if found is None:
        with suppress(OSError):
            os.unlink(path)
    return found


def use_checked_files(with_shipped: bool) -> None:
    """Let numba keep what it compiles from now on in checked files, each in its place."""
    library: Any = caching
    library.IndexDataCacheFile = CheckedFiles
    CheckedFiles.with_shipped = with_shipped
    if PlacedByPackage not in (places := library.CacheImpl._locator_classes):
        places.insert(0, PlacedByPackage)
