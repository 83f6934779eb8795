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

import sim
from sim.analysis import warm_up
from sim.kernels import dynamics, jit
from sim.kernels.elimination import fronts, passes
from sim.kernels.guards.clearance import clearance
from sim.kernels.guards.spans import spans
from sim.kernels.integrators.stepping import stepping
from sim.kernels.motion import motion
from sim.kernels.observe import observation
from sim.kernels.rows import constraints
from sim.simulation import precompile

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
    noted = Done()

    @contextmanager
    def helped(task: str) -> Iterator[None]:
        yield
        noted.helping = True
        warm_up.TASKS[task]()
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
    monkeypatch.setattr(precompile, "helped", helped)
    monkeypatch.setattr(precompile, "compile_entries", lambda *entries: [noted.note(entry) for entry in entries])
    monkeypatch.setattr(warm_up, "run", ran)
    monkeypatch.setattr(warm_up, "compile_rows", lambda: noted.note("rows"))
    monkeypatch.setattr(warm_up, "sweep", lambda problem, *_: noted.note("sweep", problem.points))
    monkeypatch.setattr(warm_up, "check", lambda scene: noted.note("check", scene.name))
    monkeypatch.setattr(warm_up, "info", lambda scene, at: noted.note("info", scene.name))
    monkeypatch.setattr(warm_up, "Ensemble", Rolls)
    monkeypatch.setattr(warm_up, "Simulator", lambda model: SimpleNamespace(q=np.zeros(5), v=np.zeros(4)))
    return noted


def marks() -> set[str]:
    """Names of what the cache is said to have."""
    return {path.name for path in jit.cache_folder().iterdir()} - {"claims"}


SMOOTH = ["rows", observation, ("everything", "event", "dop853", 0.01)]
RUNS = [("contacts", "event", "dop853", 1e-3), ("sweep", 1)]
STEPS = [("contacts", "stepping", "dop853", 1e-3)]
METHODS = [("everything", "event", method, 1e-3) for method in ("dop853", "radau", "rk4")]
METHODS += [("deck_crane", "event", "dop853", 1e-3)]
LOOKS = [("check", "everything"), ("info", "everything"), ("pendulum", "event", "variational", 1e-3)]
ROLLOUTS = [("rollout", 9, None), ("rollout", 9, True)]


def test_what_nearly_every_run_needs_is_compiled_by_two_processes_from_two_ends(done: Done) -> None:
    precompile.prepare()
    assert (done.here, done.there) == ([motion, spans], SMOOTH) and marks() == {"complete"}
    precompile.prepare()
    assert (len(done.here), len(done.there)) == (2, 3)


def test_contacts_and_their_time_steps_are_compiled_when_first_asked_for(done: Done) -> None:
    precompile.prepare_contacts()
    assert (done.here, done.there) == ([clearance], RUNS) and marks() == {"contacts"}
    precompile.prepare_steps()
    assert (done.here, done.there) == ([clearance, stepping], [*RUNS, *STEPS]) and marks() == {"contacts", "steps"}
    precompile.prepare_contacts()
    precompile.prepare_steps()
    assert (len(done.here), len(done.there)) == (2, 3)


def test_everything_is_all_of_that_and_runs_by_every_method(done: Done) -> None:
    warm_up.everything()
    assert done.here == [motion, spans, stepping, clearance, *STEPS]
    assert done.there == [*SMOOTH, *RUNS, *METHODS, *LOOKS, *ROLLOUTS]
    assert marks() == {"complete", "contacts", "steps", "everything"}
    warm_up.everything()
    assert len(done.here) == 5


def test_laws_of_all_shipped_controllers_are_among_them() -> None:
    """A law that no scene of these has would be compiled by the first run that uses it."""
    from sim.scene import library
    from sim.scene.controllers import BUILT_IN, controller_class
    from sim.scene.load import load, load_text

    scenes = (load_text(warm_up.SCENE + warm_up.CONTROLLERS), load(library.find("deck_crane")))
    used, laws = (
        {controller_class(name, Path(), False).law for name in names}
        for names in ([use.type for scene in scenes for use in scene.controllers], BUILT_IN)
    )
    assert len(laws - {None}) >= 5 and laws - {None} <= used


def test_runs_that_compile_do_not_ask_for_what_they_compile(done: Done) -> None:
    with precompile.claimed("mine"):
        precompile.prepare()
        precompile.prepare_contacts()
        precompile.prepare_steps()
    assert not done.here and not done.there and marks() == {"mine"}
    precompile.prepare()
    assert done.here and marks() == {"mine", "complete"}


def test_what_is_compiled_ahead_is_of_the_types_that_other_kernels_call(compiled: Any, monkeypatch) -> None:
    """A kernel that only others call has one machine code, and that is the one that is compiled ahead."""
    asked: list[Any] = []
    named = (constraints.gram, constraints.mismatch, fronts.eliminate_along, passes.outward_along, dynamics.factorise)
    for kernel in named:
        known = {key[0] for key in kernel._cache._cache_file._load_index()}
        monkeypatch.setattr(kernel, "compile", lambda types, known=known: asked.append(types in known))
    warm_up.compile_rows()
    assert asked == [True] * len(named)


def test_entries_are_compiled_for_their_address(compiled: Any) -> None:
    precompile.compile_entries(spans)
    assert spans._compiled is not None


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
        monkeypatch.setattr(precompile.sys, "executable", str(script))
        return told

    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "kept" / "digest")
    return begin


def wait_for(path: Path) -> Any:
    for _ in range(1000):
        if path.exists():
            return json.loads(path.read_text())
        time.sleep(0.01)
    raise AssertionError(f"{path} is not written")


@pytest.mark.parametrize("code", [0, 1, -9])
def test_the_other_process_is_told_its_task_and_leaves_a_mark_where_it_did_it(
    code: int, helper: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = helper("os.kill(os.getpid(), 9)" if code < 0 else f"sys.exit({code})")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    done: list[str] = []
    with precompile.claimed("mark"), precompile.helped("run_in_steps"):
        done.append("here")
    assert done == ["here"] and (jit.cache_folder() / "mark").exists() == (code == 0)
    _, arguments, sources, cache = json.loads(told.read_text())
    assert arguments == ["-P", "-m", "sim.analysis.warm_up", "run_in_steps"]
    assert sources == f"{Path(sim.__file__).parents[1]}{os.pathsep}elsewhere"
    assert cache == str(jit.cache_folder().parent)


def test_the_other_process_ends_where_this_one_fails(helper: Callable[[str], Path]) -> None:
    told = helper("time.sleep(50)")
    with pytest.raises(ZeroDivisionError), precompile.helped("run_in_steps"):
        process = wait_for(told)[0]
        os.kill(process, 0)
        raise ZeroDivisionError
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)  # not even what it came to is left


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
    place = precompile._place(one)
    kept["a.poses-24", "known"] = "code"
    with precompile.claimed("complete", "contacts"):
        assert FunctionCache.load_overload(one, "known", None) == "code" and is_free(place)
        assert FunctionCache.load_overload(one, "new", None) is None
        assert not is_free(place) and is_free(place + 1) and is_free(place - 1)
        FunctionCache.save_overload(one, "new", "more")
        assert is_free(place) and kept["a.poses-24", "new"] == "more"
        assert FunctionCache.load_overload(one, "new", None) == "more" and is_free(place)
        assert {path.name for path in jit.cache_folder().iterdir()} == {"claims"}
    assert (FunctionCache.load_overload, FunctionCache.save_overload) == (load, save)
    assert {path.name for path in jit.cache_folder().iterdir()} == {"claims", "complete", "contacts"}
    with pytest.raises(KeyError), precompile.claimed("steps"):
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
    with precompile.claimed():
        assert FunctionCache.load_overload(one, "new", None) == "theirs"
        assert is_free(precompile._place(one))  # where two runs compile at a time, a third process may wait for it
    assert len(asked) == 2


def test_each_kernel_has_a_place_of_its_own_within_a_file() -> None:
    places = {precompile._place(Cache(f"kernel-{k}")) for k in range(300)}
    assert len(places) == 300 and max(places) < 2**56 and max(places) > 2**55
