"""Kernels that came with the program: taken whole where they fit, told why where they do not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sim.kernels import cache, jit, shipped, sources

pytestmark = pytest.mark.fast
COMPILED = pytest.mark.skipif(jit.interpreted(), reason="nothing is compiled")


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What came with a program, of one file."""
    came = tmp_path / "shipped"
    (came / "sim").mkdir(parents=True)
    (came / "sim" / "twice.nbc").write_bytes(cache.packed("code"))
    monkeypatch.setattr(cache, "SHIPPED", came)
    monkeypatch.setattr(shipped.config, "CPU_NAME", None)
    monkeypatch.setattr(shipped.config, "CPU_FEATURES", None)
    monkeypatch.setattr(shipped.llvm, "get_host_cpu_features", lambda: dict.fromkeys((*shipped.FEATURES, "aes"), True))
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    tell(came)
    return came


def tell(folder: Path, **differently: str) -> None:
    """Write what the kernels are told to be made for."""
    files = {path.relative_to(folder).as_posix(): path.stat().st_size for path in folder.rglob("*.nb?")}
    (folder / shipped.LIST).write_text(json.dumps({"made for": shipped.here("0123") | differently, "files": files}))


def test_what_was_made_for_this_process_is_taken(folder: Path) -> None:
    assert shipped.refusal("0123") == ""


def test_where_nothing_came_nothing_is_said(folder: Path) -> None:
    shutil.rmtree(folder)
    assert shipped.refusal("0123") is None


@pytest.mark.parametrize(
    ("what", "value"),
    [("numba", "0.1"), ("llvmlite", "0.2"), ("Python", "cpython-39 on linux"), ("sources", "4567"),
        ("checks of indices", "1")],
)  # fmt: skip
def test_what_was_made_for_another_is_refused_by_what_differs(folder: Path, what: str, value: str) -> None:
    tell(folder, **{what: value})
    now = shipped.here("0123")[what] or "off"
    assert shipped.refusal("0123") == f"made for {what} {value}, not {now}"


def test_this_process_may_differ_as_well(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shipped.refusal("4567") == "made for sources 0123, not 4567"
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert shipped.refusal("0123") == "made for checks of indices off, not 1"


@pytest.mark.parametrize("name", ["CPU_NAME", "CPU_FEATURES"])
def test_who_asks_for_a_processor_gets_kernels_for_it(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(shipped.config, name, "")
    assert shipped.refusal("0123") == "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES asks for others"


def test_a_processor_that_lacks_something_is_told_what(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    has = dict.fromkeys(shipped.FEATURES, True) | {"fma": False}
    del has["avx2"]
    monkeypatch.setattr(shipped.llvm, "get_host_cpu_features", lambda: has)
    assert shipped.refusal("0123") == "this processor is no x86-64-v3: it lacks avx2, fma"


@pytest.mark.parametrize("name", [shipped.LIST, "sim/twice.nbc"])
@pytest.mark.parametrize("damage", [lambda data: None, lambda data: data[:-1]])
def test_what_is_not_whole_is_refused(folder: Path, name: str, damage) -> None:
    left = damage((folder / name).read_bytes())
    (folder / name).unlink()
    if left is not None:
        (folder / name).write_bytes(left)
    assert shipped.refusal("0123") == "a file is missing or damaged"


def test_a_damaged_file_is_found_by_looking_and_stays_where_it_is(folder: Path) -> None:
    assert shipped.damaged() == []
    data = (folder / "sim" / "twice.nbc").read_bytes()
    (folder / "sim" / "twice.nbc").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert shipped.refusal("0123") == "" and shipped.damaged() == ["sim/twice.nbc"]
    assert cache.read(folder / "sim" / "twice.nbc") is None and (folder / "sim" / "twice.nbc").exists()


@pytest.mark.parametrize(
    ("why", "damaged", "said"),
    [
        (None, [], ""), ("", [], "came with the program; "),
        ("made for numba 1, not 2", [], "those that came with the program are not used, made for numba 1, not 2; "),
        ("", ["a", "b"], "came with the program, but for a, b, which are damaged and compiled anew; "),
    ],
)  # fmt: skip
def test_the_doctor_says_what_came(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, why, damaged, said: str) -> None:
    from sim.cli import doctor

    monkeypatch.setattr(jit, "interpreted", lambda: False)
    monkeypatch.setattr(jit, "_folder", tmp_path)
    monkeypatch.setattr(jit, "shipped_refusal", lambda: why)
    monkeypatch.setattr(shipped, "damaged", lambda: damaged)
    assert doctor.kernel_cache().found.startswith(f"{said}kept in {tmp_path}, ")


# --- places and files -----------------------------------------------------------------------------------


def twice(x: float) -> float:
    """Return twice x."""
    return 2.0 * x


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where numba keeps kernels."""
    place = tmp_path / "kept"
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(place))
    return place


def test_a_kernel_is_kept_in_the_same_place_wherever_the_program_stands(kept: Path, monkeypatch) -> None:
    for root in ("/a/b", "/c"):
        monkeypatch.setattr(cache, "PACKAGE", Path(root, "sim"))
        assert cache._place(f"{root}/sim/kernels/rows/x.py") == Path("sim/kernels/rows")
        assert cache._place(f"{root}/plugins/x.py") == Path("plugins")
        assert cache._place("/d/x.py") is None and cache.PlacedByPackage.from_function(twice, "/d/x.py") is None
        assert cache._place(str(kept / "laws" / "law.py")) == Path("laws")


def test_a_source_is_known_by_what_it_holds(kept: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(cache, "PACKAGE", tmp_path / "sim")
    source = tmp_path / "source.py"
    stamps = []
    for text in ("x = 1", "x = 2"):
        source.write_text(text)
        place = cache.PlacedByPackage.from_function(twice, str(source))
        assert place is not None
        stamps.append(place.get_source_stamp())
        assert place.get_source_stamp() == sources.digest(str(source)) == stamps[-1]
        for remembered in (sources.digest, sources._own_digest, sources._text, sources._imported):
            remembered.cache_clear()
    assert stamps[0] != stamps[1]
    assert not kept.exists()
    place.ensure_cache_path()
    assert Path(place.get_cache_path()) == kept and kept.is_dir()


def test_what_came_is_loaded_for_another_processor_of_the_kind_and_never_deleted(
    folder: Path, kept: Path, monkeypatch
) -> None:
    monkeypatch.setattr(cache.CheckedFiles, "with_shipped", True)
    key = ("signature", ("linux", "zen9", "+avx512f"), "code")
    named = {("signature", ("linux", *cache.PROCESSOR), "code"): "twice.nbc"}
    (folder / "sim" / "twice.nbi").write_bytes(cache.packed(("now", named)))
    files = cache.CheckedFiles(cache_path=str(kept / "sim"), filename_base="twice", source_stamp="now")
    assert files.load(key) == "code"
    assert files.load(("other", *key[1:])) is None
    elsewhere = cache.CheckedFiles(cache_path=str(folder.parent / "sim"), filename_base="twice", source_stamp="now")
    later = cache.CheckedFiles(cache_path=str(kept / "sim"), filename_base="twice", source_stamp="later")
    assert elsewhere.load(key) is None and later.load(key) is None
    monkeypatch.setattr(cache.CheckedFiles, "with_shipped", False)
    assert files.load(key) is None
    monkeypatch.setattr(cache.CheckedFiles, "with_shipped", True)
    (kept / "sim").mkdir(parents=True)
    files.save(key, "own")
    assert files.load(key) == "code"
    (folder / "sim" / "twice.nbc").write_bytes(b"damaged")
    assert files.load(key) == "own" and (folder / "sim" / "twice.nbc").exists()


MADE = """
import sys
from pathlib import Path
from sim.kernels import jit, shipped
from tests.kernels import shipping

assert shipping.four() == 4.0
if sys.argv[1:]:
    shipped.gather(jit.cache_folder(), jit.sources(), Path(sys.argv[1]))
print(sum(shipping.four.stats.cache_hits.values()), *sorted(p.name for p in jit.cache_folder().rglob("*.nbc")))
"""


@COMPILED
def test_only_what_python_enters_is_gathered_and_it_runs_elsewhere(tmp_path: Path) -> None:
    """Made for the kind of processor in one process, loaded in another, for this very one."""
    root = Path(__file__).parents[2]

    def run(program: Path, *arguments: str, **environment: str) -> list[str]:
        there = {"PYTHONPATH": str(program), "NUMBA_CACHE_DIR": str(tmp_path / program.name), **environment}
        command = [sys.executable, "-P", "-c", MADE, *arguments]
        done = subprocess.run(command, env=there, cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    copy = tmp_path / "copy"
    for part in ("sim/kernels", "tests/kernels"):
        shutil.copytree(root / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("sim/__init__.py", "tests/__init__.py"):
        (copy / part).write_text("")
    came = copy / "sim" / "data" / "kernels"
    made = run(root, str(came), NUMBA_CPU_NAME=cache.PROCESSOR[0], NUMBA_CPU_FEATURES=cache.PROCESSOR[1])
    assert [name.split("-")[0] for name in made[1:]] == ["shipping.four", "shipping.twice"] and made[0] == "0"
    assert [path.name.split("-")[0] for path in came.rglob("*.nbc")] == ["shipping.four"]
    hits, *kept = run(copy)
    assert (hits, kept) == ("1", [])
    (one,) = came.rglob("*.nbc")
    one.write_bytes(b"x" * one.stat().st_size)
    hits, *kept = run(copy)
    assert hits == "0" and len(kept) == 2
    assert run(copy)[0] == "1"
