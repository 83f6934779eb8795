"""How kernels are compiled and where they are kept, without compiling any."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from sim.kernels import cache, callback, jit

pytestmark = pytest.mark.fast


def twice(x: float) -> float:
    """Return twice x."""
    return 2.0 * x


MADE = (jit.kernel, jit.inlined, jit.python_kernel, jit.driver, jit.python_driver, jit.unlocked_driver, jit.spliced)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A process that has chosen nothing yet; its folder of compiled kernels."""
    for name, value in (("_interpret", False), ("_chosen", False), ("_folder", None), ("_refused", [])):
        monkeypatch.setattr(jit, name, value)
    return tmp_path


def test_kernels_are_interpreted_where_that_is_said_before_one_is_compiled(fresh: Path, monkeypatch) -> None:
    assert not jit.interpreted()
    monkeypatch.setattr(jit, "_chosen", True)
    jit.interpret()
    assert not jit.interpreted()
    monkeypatch.setattr(jit, "_chosen", False)
    jit.interpret()
    assert jit.interpreted()
    assert all(made(twice) is twice for made in MADE)
    assert jit.entry(twice).address is twice


def test_the_digest_is_that_of_all_that_a_kernel_can_read(fresh: Path, monkeypatch) -> None:
    names = {path.name for path in jit._SOURCES}
    assert {"jit.py", "radau.py", "variational.py", "tables.py"} <= names
    files = [fresh / "a.py", fresh / "b.py"]
    for file in files:
        file.write_text("x = 1\n")
    monkeypatch.setattr(jit, "_SOURCES", files)
    monkeypatch.delenv("NUMBA_BOUNDSCHECK", raising=False)
    first = jit.source_digest()
    around, _, sources = first.partition("-")
    assert (len(around), len(sources)) == (8, 16) and int(around + sources, 16) >= 0 and jit.source_digest() == first
    found = {first}
    files[1].write_text("x = 2\n")
    found.add(jit.source_digest())
    assert all(digest.startswith(f"{around}-") for digest in found)  # the same kind, which may be taken over
    files[1].rename(fresh / "c.py")
    monkeypatch.setattr(jit, "_SOURCES", [files[0], fresh / "c.py"])
    found.add(jit.source_digest())
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    found.add(jit.source_digest())
    monkeypatch.setattr("numba.__version__", "0.0")
    found.add(jit.source_digest())
    monkeypatch.setattr(sys, "version", "another")
    found.add(jit.source_digest())
    assert len(found) == 6


def test_a_folder_is_chosen_once(fresh: Path, monkeypatch) -> None:
    asked: list = []
    monkeypatch.setattr(jit, "source_digest", lambda: "0123")
    monkeypatch.setattr(cache, "choose", lambda package, name: asked.append((package, name)) or (fresh, ["not there"]))
    assert [jit.cache_folder(), jit.cache_folder()] == [fresh, fresh]
    assert asked == [(Path(jit.__file__).resolve().parents[1], "0123")]
    told = jit.cache_refusals()
    assert told == ["not there"]
    told.append("changed")
    assert jit.cache_refusals() == ["not there"]


@pytest.mark.parametrize(
    ("asked", "mark"),
    [(jit.is_cold, "complete"), (jit.is_partial, "everything"), (jit.lacks_contacts, "contacts"), (jit.lacks_steps,
        "steps")],
)  # fmt: skip
def test_what_still_has_to_be_compiled_is_seen_by_a_mark(fresh: Path, monkeypatch, asked, mark: str) -> None:
    monkeypatch.setattr(jit, "_folder", fresh)
    monkeypatch.setattr(jit, "shipped_refusal", lambda: shipped)
    shipped = None
    assert asked()
    monkeypatch.setattr(jit, "_interpret", True)
    assert not asked()
    monkeypatch.setattr(jit, "_interpret", False)
    for other in {"complete", "everything", "contacts", "steps"} - {mark}:
        (fresh / other).touch()
    assert asked()
    shipped = "made for another"
    assert asked()
    shipped = ""
    assert not asked()
    shipped = None
    (fresh / mark).touch()
    assert not asked()


class Dispatcher:
    """What numba gives for a function."""

    def __init__(self, function, options: dict):
        self.py_func, self.options, self.overloads, self.levels = function, options, {}, []

    def compile(self, signature):
        self.levels.append((signature, sys.modules["numba"].config.OPT))
        if signature == "wrong":
            raise ValueError("wrong")
        return "machine code"


class Integer(str):
    """A type that makes a signature where it is called."""

    def __call__(self, *kinds):
        return (str(self), *kinds)


@pytest.fixture
def numba(fresh: Path, monkeypatch) -> ModuleType:
    """A numba that compiles nothing."""
    made = ModuleType("numba")
    made.config = SimpleNamespace(OPT=3, CACHE_DIR="", BOUNDSCHECK=None)  # type: ignore[attr-defined]
    made.types = SimpleNamespace(  # type: ignore[attr-defined]
        unliteral=lambda kind: kind.upper(), CPointer=lambda kind: ("pointer", kind), float64="f8",
        int64=Integer("i8"),
    )  # fmt: skip
    made.njit = lambda **options: lambda function: Dispatcher(function, options)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numba", made)
    monkeypatch.setattr(jit, "_folder", fresh)
    monkeypatch.setattr(cache, "use_checked_files", lambda with_shipped: None)
    monkeypatch.setattr(jit, "shipped_refusal", lambda: "made for another")
    monkeypatch.setattr(jit, "_load_without_blas", lambda: None)
    return made


USUAL = {"_nrt": False, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": {"contract", "arcp", "nsz"}}


@pytest.mark.parametrize(
    ("made", "level", "from_python", "inside", "unlocked"),
    [
        (jit.kernel, 3, False, False, False), (jit.inlined, 3, False, True, False), (jit.python_kernel, 3, True,
        False, False),
        (jit.driver, 1, False, False, False), (jit.python_driver, 1, True, False, False), (jit.unlocked_driver, 1, True,
            False, True),
    ],
)  # fmt: skip
def test_each_kind_of_kernel_is_compiled_in_its_way(
    numba: ModuleType, fresh: Path, made, level: int, from_python: bool, inside: bool, unlocked: bool
) -> None:
    found, folder = made(twice), str(fresh)
    expected = {"cache": True, "forceinline": inside, "no_cpython_wrapper": not from_python, "nogil": unlocked} | USUAL
    assert found.py_func is twice and found.options == expected
    assert folder == numba.config.CACHE_DIR
    numba.config.OPT = 7
    assert found.compile(("a", "b")) == "machine code" and found.levels == [(("A", "B"), level)]
    with pytest.raises(ValueError, match="wrong"):
        found.compile("wrong")
    assert numba.config.OPT == 7 and found.levels[1] == ("wrong", level)
    if from_python:
        assert not hasattr(found, "add_overload")
        return
    with pytest.raises(TypeError, match=r"twice is called by other kernels only; @python_kernel lets Python"):
        found._compile_for_args(1.0)
    result = SimpleNamespace(signature=SimpleNamespace(args=["x", "y"]))
    found.add_overload(result)
    assert found.overloads == {("x", "y"): result}


def test_a_chapter_goes_into_its_callers(numba: ModuleType) -> None:
    assert jit.spliced(twice).options == {"inline": "always"} | USUAL


def test_an_entry_is_compiled_once_and_when_it_is_asked_for(numba: ModuleType) -> None:
    compiled: list = []

    def cfunc(signature, **options):
        def make(function):
            compiled.append((signature, options, function, numba.config.OPT))
            return SimpleNamespace(address=4711.0)

        return make

    numba.cfunc = cfunc  # type: ignore[attr-defined]
    numba.config.OPT = 7
    entry = jit.entry(twice)
    assert compiled == []
    assert [entry.address, entry.address] == [4711, 4711] and isinstance(entry.address, int)
    pointer = ("pointer", "f8")
    options = {"cache": True} | {name: value for name, value in USUAL.items() if name != "no_cfunc_wrapper"}
    assert compiled == [(("i8", "i8", "i8", "f8", pointer, pointer), options, twice, 1)] and numba.config.OPT == 7


def test_the_files_of_numba_are_checked_from_the_first_kernel_on(numba: ModuleType, fresh: Path, monkeypatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(cache, "use_checked_files", lambda with_shipped: done.append(f"files {with_shipped}"))
    monkeypatch.setattr(jit, "_load_without_blas", lambda: done.append("blas"))
    folder = str(fresh)
    for _ in range(2):
        numba.config.CACHE_DIR = ""
        jit.kernel(twice)
        assert folder == numba.config.CACHE_DIR
    assert done == ["files False", "blas"]


@pytest.mark.parametrize("loaded", [(), ("scipy",), ("scipy", "scipy.linalg")])
def test_no_blas_is_looked_for(monkeypatch, loaded: tuple[str, ...]) -> None:
    for name in ("scipy", "scipy.linalg"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in loaded:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    seen: list = []

    def look(name: str) -> None:
        seen.append((name, [one for one in ("scipy", "scipy.linalg") if sys.modules.get(one, 0) is None]))
        raise ImportError("of another numba")

    monkeypatch.setattr(jit.importlib, "import_module", look)
    if len(loaded) == 2:
        jit._load_without_blas()
        assert seen == []
        return
    with pytest.raises(ImportError, match="another numba"):
        jit._load_without_blas()
    assert seen == [("numba.np.arraymath", ["scipy.linalg" if loaded else "scipy"])]
    assert [one for one in ("scipy", "scipy.linalg") if one in sys.modules] == list(loaded)


# --- files of compiled kernels ----------------------------------------------------------------------------


def test_what_was_written_is_read_and_what_is_damaged_is_deleted(tmp_path: Path) -> None:
    files = cache.CheckedFiles(cache_path=str(tmp_path), filename_base="twice", source_stamp="now")
    files.save("key", {"code": [1, 2, 3]})
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 2 and files.load("key") == {"code": [1, 2, 3]} and files.load("other") is None
    later = cache.CheckedFiles(cache_path=str(tmp_path), filename_base="twice", source_stamp="later")
    assert later.load("key") is None
    for name in names:
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
        assert files.load("key") is None and not (tmp_path / name).exists()
        (tmp_path / name).write_bytes(whole)
    assert files.load("key") == {"code": [1, 2, 3]}
    assert cache.read(tmp_path / "none") is None


def test_numba_is_handed_the_checked_files(monkeypatch) -> None:
    places = [object()]
    monkeypatch.setattr(cache.caching, "IndexDataCacheFile", None)
    monkeypatch.setattr(cache.caching.CacheImpl, "_locator_classes", places)
    monkeypatch.setattr(cache.CheckedFiles, "with_shipped", False)
    for with_shipped in (True, False):
        cache.use_checked_files(with_shipped)
        assert cache.caching.IndexDataCacheFile is cache.CheckedFiles
        assert cache.CheckedFiles.with_shipped == with_shipped
        assert places[0] is cache.PlacedByPackage and len(places) == 2


# --- laws -------------------------------------------------------------------------------------------------


def test_a_law_of_plain_python_is_called_at_its_address_until_it_raises() -> None:
    times: list[float] = []

    def law(t: float) -> None:
        times.append(t)
        if t > 1.0:
            raise KeyboardInterrupt

    failed = np.zeros(1, np.int64)
    held = callback.PythonLaw(law, failed)
    call = callback.C_LAW(held.address)
    for t in (0.5, 1.5, 2.5):
        call(t, None, None, None, None, 0, 0)
        callback.TWINS[held.address](t, 0, 0, 0, 0)
    assert times == [0.5, 0.5, 1.5] and isinstance(held.error, KeyboardInterrupt) and failed[0] == 1
    assert callback.PythonLaw(law, failed).error is None


def test_a_law_cannot_write_into_what_it_reads_and_gives_no_number_where_it_raises() -> None:
    for which in (0, 1, 2):

        def law(t, coordinate, rate, constants, torque, which=which):
            torque[:] += t * constants[0] + coordinate + rate
            (coordinate, rate, constants)[which][0] = 1.0

        twin = callback._twin(law)
        arrays = [np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0]), np.zeros(2)]
        twin(0.5, *arrays)
        assert np.all(np.isnan(arrays[3])) and [a.tolist() for a in arrays[:3]] == [[1.0, 2.0], [3.0, 4.0], [5.0]]
    arrays = [np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0]), np.zeros(2)]
    callback._twin(lambda t, x, v, c, u: u.__iadd__(t * c[0] + x + v))(0.5, *arrays)
    assert arrays[3].tolist() == [6.5, 8.5]
    kept = callback.read_only(np.array([1.0, 2.0]))
    assert kept.tolist() == [1.0, 2.0] and not kept.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        kept.flags.writeable = True


def test_indices_are_checked_meanwhile(monkeypatch) -> None:
    made = ModuleType("numba")
    made.config = SimpleNamespace(BOUNDSCHECK=None)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numba", made)
    with pytest.raises(ValueError, match="inside"), callback.bounds_checked():
        assert made.config.BOUNDSCHECK == 1
        raise ValueError("inside")
    assert made.config.BOUNDSCHECK is None
    monkeypatch.delitem(sys.modules, "numba")
    with callback.bounds_checked():
        assert "numba" not in sys.modules


def test_a_compiled_law_is_wrapped_in_a_module_of_its_own(fresh: Path, monkeypatch) -> None:
    """What would be compiled is written, once for each law and each version of the file it stands in."""
    monkeypatch.setattr(callback, "interpreted", lambda: False)
    monkeypatch.setattr(callback, "cache_folder", lambda: fresh)
    text = "checked = []\nclass entry: address = 4711.0\nname = '{module}.{name}'\n"
    monkeypatch.setattr(callback, "_WRAPPER", text)
    address, kept = callback.compiled_law(twice)
    assert address == 4711 and isinstance(address, int) and kept.address == 4711.0
    (path,) = (fresh / "laws").glob("*.py")
    assert path.read_text() == text.format(module=__name__, name="twice") and path.name.startswith("law_")
    assert len(path.stem) == 20 and path.suffix == ".py" and sys.modules[path.stem].entry is kept
    before = path.stat().st_mtime_ns
    callback.compiled_law(twice)
    assert path.stat().st_mtime_ns == before
    path.write_text("cut")
    callback.compiled_law(twice)
    assert path.read_text() == text.format(module=__name__, name="twice")
    assert len(list((fresh / "laws").glob("*.py"))) == 1
    monkeypatch.setattr(callback, "_WRAPPER", text + "# other\n")
    callback.compiled_law(twice)
    assert len(list((fresh / "laws").glob("*.py"))) == 2
    for made in [name for name in sys.modules if name.startswith("law_") and len(name) == 20]:
        del sys.modules[made]


def test_an_interpreted_law_has_a_twin(monkeypatch) -> None:
    monkeypatch.setattr(callback, "interpreted", lambda: True)

    def law(t, coordinate, rate, constants, torque):
        torque[0] = constants[0]

    address, kept = callback.compiled_law(law)
    assert kept is law and address in callback.TWINS
    torque = np.zeros(1)
    callback.TWINS[address](0.0, torque, torque, np.array([3.0]), torque)
    assert torque[0] == 3.0
