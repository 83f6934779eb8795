"""Drafts and temporary folders: whose are cleared, and whose are left alone."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import sim
from sim.recording import drafts
from sim.scene.load import load_text

SCENE = """
schema: 1
name: ball
bodies: {ball: {mass: 1 kg, shapes: [{sphere: {center: [0, 0, 1], radius: 0.1}}]}}
simulate: {duration: 1 ms}
"""


@pytest.fixture(scope="module")
def dead() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def places(tmp_path, monkeypatch):
    """A folder for files and one for temporary folders, which nothing was cleared in yet."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(drafts, "_tidied", set())
    return tmp_path, temporary


def leave(folder: Path, temporary: Path, process: int) -> list[Path]:
    """Leave what a process leaves that is killed."""
    files = [folder / f".{name}.{process}.part{end}" for name, end in (
        ("swing.h5", ""), ("a film.mp4", ".mp4"), ("strip.png", ".png"), ("x", ".mp4"), ("t.csv", ".csv"),
    )]  # fmt: skip
    for file in files:
        file.write_bytes(b"half")
    home = temporary / f"brachiate-{process}-ab_c123z"
    home.mkdir()
    (home / "recording.h5").write_bytes(b"half")
    return [*files, home]


def test_the_next_run_clears_what_a_dead_process_left(places, dead):
    folder, temporary = places
    left = leave(folder, temporary, dead)
    sim.run(load_text(SCENE), output=folder / "ball.h5").close()
    assert [path.name for path in left if path.exists()] == []
    assert sorted(path.name for path in folder.iterdir()) == ["ball.h5", "temporary"]


def test_a_recording_without_a_name_clears_temporary_folders(places, dead):
    folder, temporary = places
    left = leave(folder, temporary, dead)
    recording = sim.run(load_text(SCENE))
    assert not left[-1].exists() and [path.parent for path in temporary.glob("*/*.h5")] == [recording.path.parent]
    recording.close()
    assert list(temporary.iterdir()) == []


def test_a_living_process_keeps_its_drafts(places):
    left = leave(*places, os.getppid()) + leave(*places, os.getpid())
    for folder in places:
        drafts.clear(folder)
    assert all(path.exists() for path in left)


def test_a_number_that_was_given_again_keeps_nothing(places):
    """Drafts that nobody touched since long before a process began are not of that process."""
    left = leave(*places, os.getpid())
    for path in left:
        os.utime(path, (0, 0))
    for folder in places:
        drafts.clear(folder)
    assert [path.name for path in left if path.exists()] == []


def test_what_is_locked_is_in_use_on_another_machine(places, dead):
    left = leave(*places, dead)
    handles = [os.open(path, os.O_RDONLY) for path in left]
    for handle in handles:
        fcntl.flock(handle, fcntl.LOCK_EX)
    for folder in places:
        drafts.clear(folder)
    assert all(path.exists() for path in left)
    for handle in handles:
        os.close(handle)
    for folder in places:
        drafts.clear(folder)
    assert not any(path.exists() for path in left)


def test_what_has_another_name_or_kind_is_not_ours(places, dead):
    folder, temporary = places
    names = [
        "swing.h5", f"swing.h5.{dead}.part", f".swing.h5.{dead}.part.", f".{dead}.part", f".swing.h5.{dead}.partial",
        ".swing.h5.part", ".swing.h5.0.part", f".swing.h5.-{dead}.part", f".swing.h5.{dead}.part.MP4~", ".part",
        f"brachiate-{dead}-ab_c123z", f".swing.h5.{dead}x.part",
    ]  # fmt: skip
    files = [folder / name for name in names]
    for file in files:
        file.write_bytes(b"")
    homes = [temporary / name for name in (
        f"brachiate-{dead}", f"brachiate-{dead}-", f"brachiate-{dead}-ABC", f"brachiate-{dead}-ab_c123z.old",
        f"xbrachiate-{dead}-ab_c123z", f".swing.h5.{dead}.part",
    )]  # fmt: skip
    for home in homes:
        home.mkdir()
    link, target = folder / f".link.h5.{dead}.part", folder / "target"
    target.write_bytes(b"")
    link.symlink_to(target)
    other = temporary / f"brachiate-{dead}-linked12"
    other.symlink_to(folder, target_is_directory=True)
    for place in places:
        drafts.clear(place)
    assert [path.name for path in (*files, *homes, link, target, other) if not path.exists()] == []


def test_a_draft_is_locked_while_it_is_written(places):
    folder, temporary = places
    with drafts.replacing(folder / "a.h5") as draft, drafts.Folder() as home:
        for path in (draft, home):
            handle = os.open(path, os.O_RDONLY)
            with pytest.raises(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(handle)
        assert drafts._DRAFT.fullmatch(draft.name) and drafts._FOLDER.fullmatch(home.name)
    assert [path.name for path in folder.iterdir() if path != temporary] == ["a.h5"] and list(temporary.iterdir()) == []


def test_a_killed_process_leaves_drafts_that_are_cleared(places):
    folder, temporary = places
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom sim.recording import drafts\n"
        "with drafts.replacing(Path(sys.argv[1]) / 'a.h5') as draft, drafts.Folder() as home:\n"
        "    print('there', flush=True)\n    sys.stdin.read()\n"
    )
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None and process.stdin is not None and process.stdout.readline() == b"there\n"
    for place in places:
        drafts.clear(place)
    left = [path for place in places for path in place.iterdir() if path != temporary]
    assert len(left) == 2
    process.send_signal(signal.SIGKILL)
    process.communicate()
    for place in places:
        drafts.clear(place)
    assert not any(path.exists() for path in left)


def test_the_start_of_this_process_is_known():
    began = drafts._began(os.getpid())
    assert began is None or 0.0 < time.time() - began < 1e5
