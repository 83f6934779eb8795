"""Compiled kernels are code: folders that others may write are refused, damaged files are compiled anew."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from sim.kernels import cache, jit

pytestmark = pytest.mark.fast
COMPILED = pytest.mark.skipif(jit.interpreted(), reason="nothing is compiled")
NAME = "0123"


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """A checkout in which nothing may be kept, and no other candidates than those that a test sets."""
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "site-packages" / "sim"


def test_where_kernels_are_kept(package, tmp_path, monkeypatch):
    assert cache.choose(package, NAME) == (tmp_path / "home" / ".cache" / "brachiate" / NAME, [])
    assert cache.choose(tmp_path / "checkout" / "sim", NAME) == (tmp_path / "checkout" / ".kernel_cache" / NAME, [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache.choose(package, NAME) == (tmp_path / "x" / "brachiate" / NAME, [])
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "n"))
    folder, refused = cache.choose(package, NAME)
    assert (folder, refused) == (tmp_path / "n" / NAME, [])
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
@pytest.mark.parametrize("value", ["", ".", "kernels", "./a/b", "~/kernels"])
def test_what_is_no_whole_path_makes_nothing_in_this_folder(package, tmp_path, monkeypatch, variable, value):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    folder, refused = cache.choose(package, NAME)
    assert list(here.iterdir()) == [] and here not in folder.parents
    assert [f"({variable}), which is no whole path" in sentence for sentence in refused] == [True] * bool(value)


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
@pytest.mark.parametrize("which", ["own", "above", "far above", "named"])
def test_a_folder_that_others_may_write_is_refused(package, tmp_path, monkeypatch, mode, which):
    asked = tmp_path / "a" / "b" / "kernels"
    (asked / NAME).mkdir(parents=True)
    loose = {"own": asked, "above": asked.parent, "far above": asked.parent.parent, "named": asked / NAME}[which]
    loose.chmod(mode)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(asked))
    folder, refused = cache.choose(package, NAME)
    assert folder == tmp_path / "home" / ".cache" / "brachiate" / NAME
    why = "which others may write to" if which == "named" else f"as others may write to {loose}"
    assert refused == [f"not in {asked} (NUMBA_CACHE_DIR), {why}"]


def test_folders_like_tmp_are_no_hindrance(package, tmp_path, monkeypatch):
    (tmp_path / "t").mkdir()
    (tmp_path / "t").chmod(0o1777)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "t" / "kernels"))
    assert cache.choose(package, NAME) == (tmp_path / "t" / "kernels" / NAME, [])


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_folder_of_another_user_is_refused(package, tmp_path, monkeypatch, which):
    """A folder of the name that everybody can tell, made by somebody else before."""
    asked = tmp_path / "t" / "kernels" / NAME
    asked.mkdir(parents=True)
    theirs = [asked, *asked.parents][which]
    stat_of = Path.stat

    def other(path: Path, **how: bool) -> os.stat_result:
        found = list(stat_of(path, **how))
        found[stat.ST_UID] = 4321 if path == theirs else found[stat.ST_UID]
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", other)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(asked.parent))
    folder, refused = cache.choose(package, NAME)
    assert folder == tmp_path / "home" / ".cache" / "brachiate" / NAME
    assert len(refused) == 1 and "another user (4321)" in refused[0]


def test_what_the_machines_root_owns_is_no_hindrance_in_a_container(package, tmp_path, monkeypatch):
    """There it belongs to a user that nobody is."""
    asked = tmp_path / "t" / "kernels"
    (asked / NAME).mkdir(parents=True)
    stat_of, read = Path.stat, Path.read_text
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(asked))

    def nobodys(path: Path, **how: bool) -> os.stat_result:
        found = list(stat_of(path, **how))
        found[stat.ST_UID] = 65534 if path == tmp_path / "t" else found[stat.ST_UID]
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", nobodys)
    for ids, folder in (("0 0 4294967295", tmp_path / "home" / ".cache" / "brachiate"), ("0 1000 1", asked)):
        texts = {"/proc/self/uid_map": ids, "/proc/sys/kernel/overflowuid": "65534"}
        monkeypatch.setattr(Path, "read_text", lambda path, texts=texts: texts.get(str(path)) or read(path))
        assert cache.choose(package, NAME)[0] == folder / NAME


def test_a_link_is_followed_once_and_for_all(package, tmp_path, monkeypatch):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "link"))
    assert cache.choose(package, NAME)[0] == tmp_path / "real" / NAME
    (tmp_path / "real").chmod(0o777)
    assert cache.choose(package, NAME)[0] == tmp_path / "home" / ".cache" / "brachiate" / NAME


def test_where_no_folder_will_do_it_is_one_of_this_process(package, tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "refusal", lambda folder: cache.NOT_WRITABLE)
    gone = []
    monkeypatch.setattr(cache.atexit, "register", lambda *call, **how: gone.append(call[1]))
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/nowhere")
    folder, refused = cache.choose(package, NAME)
    assert folder.is_dir() and gone == [folder.parent] and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert refused == ["not in /nowhere (NUMBA_CACHE_DIR), which cannot be written"]
    folder.rmdir()
    folder.parent.rmdir()


def test_the_doctor_says_what_is_refused(monkeypatch, tmp_path):
    from sim.cli import doctor

    monkeypatch.setattr(jit, "interpreted", lambda: False)
    monkeypatch.setattr(jit, "_folder", tmp_path)
    monkeypatch.setattr(jit, "_refused", ["not in /shared (NUMBA_CACHE_DIR), which others may write to"])
    finding = doctor.kernel_cache()
    assert finding.ok and finding.found.endswith("; not in /shared (NUMBA_CACHE_DIR), which others may write to")


# --- files ------------------------------------------------------------------------------------------


def twice(x: float) -> float:
    """Return twice x."""
    return 2.0 * x


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def turned(data: bytes) -> bytes:
    """One bit of the last quarter: machine code that loads and does something else."""
    at = 3 * len(data) // 4
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGES = {"empty": lambda data: b"", "cut": cut, "garbage": lambda data: os.urandom(len(data)), "turned": turned}


@COMPILED
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_file_is_deleted_and_compiled_anew(monkeypatch, tmp_path, damage, suffix):
    monkeypatch.setattr(jit, "_folder", tmp_path)
    assert jit.python_kernel(twice)(2.0) == 4.0
    (path,) = tmp_path.rglob(f"*{suffix}")
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    again = jit.python_kernel(twice)
    assert again(2.0) == 4.0 and not again.stats.cache_hits
    assert path.read_bytes() != DAMAGES[damage](whole)
    third = jit.python_kernel(twice)
    assert third(2.0) == 4.0 and third.stats.cache_hits


@COMPILED
def test_no_pickle_of_a_damaged_file_is_read(monkeypatch, tmp_path):
    """What stands behind the digest alone is loaded."""
    import pickle

    monkeypatch.setattr(jit, "_folder", tmp_path)
    jit.python_kernel(twice)(2.0)
    for path in tmp_path.rglob("*.nb?"):
        path.write_bytes(turned(path.read_bytes()))
    monkeypatch.setattr(pickle, "loads", lambda data: pytest.fail("a pickle was read"))
    monkeypatch.setattr(cache.pickle, "loads", lambda data: pytest.fail("a pickle was read"))
    assert jit.python_kernel(twice)(2.0) == 4.0


def answer(work: int, task: int, t: float, y: object, out: object) -> int:
    """Return the task."""
    return task


@COMPILED
def test_entries_are_compiled_anew_too(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "_folder", tmp_path)
    assert jit.entry(answer).address
    for path in tmp_path.rglob("*.nb?"):
        path.write_bytes(cut(path.read_bytes()))
    assert jit.entry(answer).address


@COMPILED
def test_a_kernel_that_cannot_be_kept_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "_folder", tmp_path)
    kernel = jit.python_kernel(twice)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.CheckedFiles, "_open_for_write", full)
    assert kernel(2.0) == 4.0 and not list(tmp_path.rglob("*.nb?"))


@COMPILED
def test_a_wrapper_of_a_law_that_was_cut_is_written_anew(monkeypatch, tmp_path):
    from sim.kernels import callback
    from tests.kernels import law

    monkeypatch.setattr(jit, "_folder", tmp_path)
    address, _ = callback.compiled_law(law.push)
    (path,) = (tmp_path / "laws").glob("law_*.py")
    whole = path.read_bytes()
    path.write_bytes(whole[:20])
    again, _ = callback.compiled_law(law.push)
    assert address and again and path.read_bytes() == whole
