"""Files and folders that are there for a while: named for the process that makes them, and cleared after one that died.

A draft of `film.mp4` is `.film.mp4.4711.part.mp4` beside it, a temporary folder `brachiate-4711-k3x_9a2b`; 4711 is the
process.  Each is locked as long as it is used.  `clear` deletes one only where that process is gone and no other holds
the lock, so that neither a number that is given again nor a process on another machine, or in another container, with
the same folder is mistaken for the one that died.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # no locks: processes alone decide
    fcntl = None  # type: ignore[assignment]

PREFIX = "brachiate"
_DRAFT = re.compile(r"\..+\.(?P<process>[1-9]\d*)\.part(\.[a-z0-9]+)?")
_FOLDER = re.compile(PREFIX + r"-(?P<process>[1-9]\d*)-[a-z0-9_]{8}")
_tidied: set[Path] = set()
_LATER = 60.0  # s: how much later than its draft a process has to have begun to be another one with the same number


def draft_of(path: Path, suffix: str = "") -> Path:
    """Return the name of this process's draft of a file, which the next one clears if it is left."""
    return path.with_name(f".{path.name}.{os.getpid()}.part{suffix}")


@contextmanager
def replacing(path: Path, suffix: str = "") -> Iterator[Path]:
    """Give the name of a draft, an empty file; at the end it becomes `path`, or on an error nothing changes.

    suffix : how the name of the draft ends
    """
    draft = draft_of(path, suffix)
    try:
        draft.open("wb").close()  # finds out now, not after an hour, whether the folder can be written
        with _held(draft):
            yield draft
        os.replace(draft, path)  # not locked any more: HDF5 does not open what is
    finally:
        draft.unlink(missing_ok=True)


class Folder:
    """A temporary folder, `path`; it is there until `delete`."""

    def __init__(self) -> None:
        tidy(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}-{os.getpid()}-"))
        self._lock = ExitStack()
        self._lock.enter_context(_held(self.path))

    def delete(self) -> None:
        """Delete it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.delete()


def tidy(folder: Path) -> None:
    """Clear a folder, once in a process."""
    if folder not in _tidied:
        _tidied.add(folder)
        clear(folder)


def clear(folder: Path) -> None:
    """Delete drafts and temporary folders in a folder that processes of this user left when they died."""
    if fcntl is None:
        return  # nobody could tell that they are still used
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith((".", PREFIX)):
                with suppress(OSError):
                    _clear(entry)


def _clear(entry: os.DirEntry[str]) -> None:
    about = entry.stat(follow_symlinks=False)
    kind = _FOLDER if stat.S_ISDIR(about.st_mode) else _DRAFT if stat.S_ISREG(about.st_mode) else None
    match = kind.fullmatch(entry.name) if kind is not None else None
    if match is None or about.st_uid != os.getuid() or _lives(int(match["process"]), about.st_mtime):
        return
    lock = _lock(entry.path)
    try:
        if kind is _FOLDER:
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)
    finally:
        os.close(lock)


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold the lock of a file or folder, where it can be locked."""
    handle = None
    if fcntl is not None:
        with suppress(OSError):
            handle = _lock(path)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _lock(path: str | Path) -> int:
    """Return a handle that holds the lock of a file or folder until it is closed; raises OSError where another does."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _lives(process: int, touched: float) -> bool:
    """Tell whether a process lives that may have touched a file at a time [s of the system's clock]."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # it is another user's, or cannot be asked
    began = _began(process)
    return began is None or began < touched + _LATER


def _began(process: int) -> float | None:
    """Return when a process began [s of the system's clock]; None where the system does not tell."""
    try:
        ticks = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
        boot = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime"))
        return int(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return None
