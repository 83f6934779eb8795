"""What is compiled ahead: which kernels, for which types, by which of two processes, one after the other."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fcntl import LOCK_EX, LOCK_NB, lockf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sim.contact.sweeps
import sim.ensemble
import sim.report
import sim.running
import sim.simulator
from sim import warming
from sim.kernels import jit, motion, observe, pressing, spans

pytestmark = pytest.mark.skipif(jit.interpreted(), reason="nothing is compiled")


@dataclass
class Done:
    """What was compiled here and by the other process, and what was run."""

    here: list[Any] = field(default_factory=list)
    there: list[Any] = field(default_factory=list)
    helping: bool = False

    def note(self, *what: Any) -> None:
        (self.there if self.helping else self.here).append(what[0] if len(what) == 1 else what)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Done:
    """Nothing is compiled yet; what would be is noted, and the other process is this one."""
    noted, flow = Done(), warming._arguments()
    for half in (warming._first, warming._second):
        half(flow)  # kernels are read before their folder is another

    @contextmanager
    def helped(task: Callable[[], None]) -> Iterator[None]:
        yield
        noted.helping = True
        task()
        noted.helping = False

    def ran(scene: Any, duration: float | None = None) -> Any:
        said = scene.simulate
        noted.note(scene.name, said.contact, said.method, said.duration if duration is None else duration)
        return SimpleNamespace(close=lambda: None)

    class Rolls:
        def __init__(self, model: Any, threads: int):
            self.columns = len(model.column_names)
            assert not model.scene.events

        def rollout(self, state: np.ndarray, torques: Any, steps: int, dt: float) -> None:
            noted.note("rollout", len(state), torques if torques is None else (torques.shape[2] == self.columns))

    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "new" / "kernels")
    monkeypatch.setattr(warming, "_helped", helped)
    monkeypatch.setattr(warming, "_compile", lambda tasks: [noted.note(kernel) for kernel, _ in tasks])
    monkeypatch.setattr(sim.running, "run", ran)
    monkeypatch.setattr(sim.contact.sweeps, "sweep", lambda problem, *_: noted.note("sweep", problem.points))
    monkeypatch.setattr(sim.report, "check", lambda scene: noted.note("check", scene.name))
    monkeypatch.setattr(sim.report, "info", lambda scene, at: noted.note("info", scene.name))
    monkeypatch.setattr(sim.ensemble, "Ensemble", Rolls)
    monkeypatch.setattr(sim.simulator, "Simulator", lambda model: SimpleNamespace(q=np.zeros(5), v=np.zeros(4)))
    return noted


def marks() -> set[str]:
    """Names of what the cache is said to have."""
    return {path.name for path in jit.cache_folder().iterdir()} - {"claims"}


RUNS = [("contacts", "event", "dop853", 1e-3), ("sweep", 1)]
STEPS = [("contacts", "stepping", "dop853", 1e-3)]
METHODS = [("everything", "event", method, 1e-3) for method in ("dop853", "radau", "rk4")]
LOOKS = [("check", "everything"), ("info", "everything"), ("warming", "event", "variational", 1e-3)]
ROLLOUTS = [("rollout", 9, None), ("rollout", 9, True)]
PRESSES = [pressing.press_rows, pressing.solve_presses]


def test_each_kernel_of_smooth_motion_is_compiled_by_one_of_two_processes(done: Done) -> None:
    warming.prepare()
    both = done.here + done.there
    assert len({id(kernel) for kernel in both}) == len(both) and done.here and done.there
    assert {motion.motion, spans.spans} <= set(done.here) and observe.observation in done.there
    assert marks() == {"complete"}
    warming.prepare()
    assert done.here + done.there == both


def test_contacts_and_their_time_steps_are_compiled_by_runs_when_first_asked_for(done: Done) -> None:
    warming.prepare_contacts()
    assert done.here == RUNS and not done.there and marks() == {"contacts"}
    warming.prepare_steps()
    assert done.here == [*RUNS, *STEPS] and done.there == PRESSES
    assert marks() == {"contacts", "steps"}
    warming.prepare_contacts()
    warming.prepare_steps()
    assert len(done.here) == 3 and len(done.there) == 2


def test_everything_is_all_of_that_and_runs_by_every_method(done: Done) -> None:
    warming.prepare()
    smooth = list(done.here), list(done.there)
    (jit.cache_folder() / "complete").unlink()
    done.here.clear()
    done.there.clear()
    warming.everything()
    assert done.here == [*smooth[0], *STEPS]
    assert done.there == [*smooth[1], *PRESSES, *RUNS, *METHODS, *LOOKS, *ROLLOUTS]
    assert marks() == {"complete", "contacts", "steps", "everything"}
    count = len(done.here)
    warming.everything()
    assert len(done.here) == count


def test_runs_that_compile_do_not_ask_for_what_they_compile(done: Done) -> None:
    with warming._claimed("mine"):
        warming.prepare()
        warming.prepare_contacts()
        warming.prepare_steps()
    assert not done.here and not done.there and marks() == {"mine"}
    warming.prepare()
    assert done.here and marks() == {"mine", "complete"}


def test_what_is_compiled_ahead_is_of_the_types_that_other_kernels_call(compiled: Any) -> None:
    """A kernel that only others call has one machine code, and that is the one that is compiled ahead."""
    import numba

    flow = warming._arguments()
    tasks = [*warming._first(flow), *warming._second(flow)]
    typed = [(kernel, tuple(map(numba.typeof, arguments))) for kernel, arguments in tasks if arguments]
    assert len(typed) > 40
    for kernel, types in typed:
        known = {key[0] for key in kernel._cache._cache_file._load_index()}
        assert types in known, kernel.py_func.__name__
        if kernel._compile_for_args.__qualname__.endswith("refuse"):  # no other may have been asked for by Python
            assert known == {types}, kernel.py_func.__name__


def test_kernels_are_compiled_for_the_types_of_numbers_and_entries_for_their_address(compiled: Any) -> None:
    asked: list[Any] = []
    warming._compile([(SimpleNamespace(compile=asked.append), (1.5, 2, np.zeros((2, 3)))), (spans.spans, ())])
    import numba

    assert asked == [(numba.float64, numba.int64, numba.float64[:, ::1])]
    assert spans.spans._compiled is not None


# --- two processes ----------------------------------------------------------------------------------

HELPER = """#!{python}
import json, os, sys, time
with open({told!r} + ".new", "w") as file:
    said = [os.environ.get(name) for name in ("PYTHONPATH", "NUMBA_CACHE_DIR")]
    json.dump([os.getpid(), sys.argv[1:], *said], file)
os.rename({told!r} + ".new", {told!r})
{ends}
"""


@pytest.fixture
def helper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Let a script be the other process; it tells what it is asked for, and then ends as a line says."""

    def begin(ends: str) -> Path:
        script, told = tmp_path / "helper", tmp_path / "told.json"
        script.write_text(HELPER.format(python=sys.executable, told=str(told), ends=ends))
        script.chmod(0o755)
        monkeypatch.setattr(warming.sys, "executable", str(script))
        return told

    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "kept" / "digest")
    return begin


def wait_for(path: Path) -> Any:
    for _ in range(1000):
        if path.exists():
            return json.loads(path.read_text())
        time.sleep(0.01)
    raise AssertionError(f"{path} is not written")


@pytest.mark.parametrize(("code", "left"), [(0, []), (1, ["press"]), (-9, ["press"])])
def test_what_the_other_process_leaves_is_done_here(
    code: int, left: list[str], helper: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = helper("os.kill(os.getpid(), 9)" if code < 0 else f"sys.exit({code})")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    done: list[str] = []

    def _press() -> None:
        done.append("press")

    with warming._helped(_press):
        assert done == []
    assert done == left
    _, arguments, sources, cache = json.loads(told.read_text())
    assert arguments == ["-P", "-c", "from sim import warming\nwith warming._claimed(): warming._press()"]
    assert sources == f"{Path(sim.__file__).parents[1]}{os.pathsep}elsewhere"
    assert cache == str(jit.cache_folder().parent)


def test_the_other_process_ends_where_this_one_fails(helper: Callable[[str], Path]) -> None:
    told, done = helper("time.sleep(50)"), list[str]()
    with pytest.raises(ZeroDivisionError), warming._helped(lambda: done.append("")):
        process = wait_for(told)[0]
        os.kill(process, 0)
        raise ZeroDivisionError
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)  # not even what it came to is left
    assert done == []


class Cache:
    """What numba keeps of a kernel, in memory."""

    def __init__(self, name: str):
        self.cache_path, self._impl = "folder", SimpleNamespace(filename_base=name)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[Any, Any]:
    """What is compiled, by name and signature."""
    from numba.core.caching import FunctionCache

    found: dict[Any, Any] = {}
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "kept" / "digest")
    monkeypatch.setattr(
        FunctionCache, "load_overload", lambda one, signature, _: found.get((one._impl.filename_base, signature))
    )
    monkeypatch.setattr(
        FunctionCache, "save_overload",
        lambda one, signature, code: found.update({(one._impl.filename_base, signature): code}),
    )  # fmt: skip
    return found


def is_free(place: int) -> bool:
    """Tell whether another process could claim a byte."""
    child = os.fork()
    if child == 0:
        try:
            with (jit.cache_folder() / "claims").open("r+b") as claims:
                lockf(claims, LOCK_EX | LOCK_NB, 1, place)
            os._exit(0)
        except BlockingIOError:
            os._exit(1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_kernel_is_claimed_from_when_it_is_not_found_until_it_is_kept(kept: dict[Any, Any]) -> None:
    from numba.core.caching import FunctionCache

    load, save = FunctionCache.load_overload, FunctionCache.save_overload
    one: Any = Cache("a.poses-24")
    place = warming._place(one)
    kept["a.poses-24", "known"] = "code"
    with warming._claimed("complete", "contacts"):
        assert FunctionCache.load_overload(one, "known", None) == "code" and is_free(place)
        assert FunctionCache.load_overload(one, "new", None) is None
        assert not is_free(place) and is_free(place + 1) and is_free(place - 1)
        FunctionCache.save_overload(one, "new", "more")
        assert is_free(place) and kept["a.poses-24", "new"] == "more"
        assert FunctionCache.load_overload(one, "new", None) == "more" and is_free(place)
        assert {path.name for path in jit.cache_folder().iterdir()} == {"claims"}
    assert (FunctionCache.load_overload, FunctionCache.save_overload) == (load, save)
    assert {path.name for path in jit.cache_folder().iterdir()} == {"claims", "complete", "contacts"}
    with pytest.raises(KeyError), warming._claimed("steps"):
        raise KeyError
    assert (FunctionCache.load_overload, FunctionCache.save_overload) == (load, save)
    assert not (jit.cache_folder() / "steps").exists()


def test_who_waits_for_a_kernel_loads_it_then(kept: dict[Any, Any]) -> None:
    """The other process keeps it while this one waits for the lock: what is found after it counts."""
    from numba.core.caching import FunctionCache

    one: Any = Cache("b")
    asked: list[int] = []

    def load(cache: Any, signature: Any, context: Any) -> Any:
        asked.append(0)
        return "theirs" if len(asked) > 1 else None

    FunctionCache.load_overload = load  # put back by the fixture
    with warming._claimed():
        assert FunctionCache.load_overload(one, "new", None) == "theirs"
    assert len(asked) == 2


def test_each_kernel_has_a_place_of_its_own_within_a_file() -> None:
    places = {warming._place(Cache(f"kernel-{k}")) for k in range(300)}
    assert len(places) == 300 and max(places) < 2**56 and max(places) > 2**55
