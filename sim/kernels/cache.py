"""Where compiled kernels are kept, and how: they are code, so that only their owner may write them.

Who can write a file of the cache runs what he likes in the process that reads it: an index is a pickle, the rest is
machine code.  A folder is taken only if nobody else can put files there, and a file that is not as it was written is
deleted, never loaded.
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

from numba.core import caching

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


class CheckedFiles(caching.IndexDataCacheFile):
    """Files of a kernel, each behind the SHA-256 of what it holds; what is damaged is deleted, then compiled anew."""

    def _load_index(self) -> dict[Any, str]:
        stamp, overloads = _read(self._index_path) or (None, {})
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return _read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _write(self, path: str, content: Any) -> None:
        data = self._dump(content)
        # A kernel that cannot be kept runs all the same.
        with suppress(OSError), self._open_for_write(path) as file:
            file.write(hashlib.sha256(data).digest() + data)


def _read(path: str) -> Any:
    """Return what a file holds; None where there is none, or a damaged one, which is deleted."""
    try:
        data = Path(path).read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]:
        with suppress(Exception):  # of another program that took the same name: it is none of ours
            return pickle.loads(data[_DIGEST:])
    with suppress(OSError):
        os.unlink(path)
    return None


def use_checked_files() -> None:
    """Let numba keep what it compiles from now on in checked files."""
    library: Any = caching
    library.IndexDataCacheFile = CheckedFiles
