"""How machine code is put together: what a driver calls is part of it, or linked as it is."""

from __future__ import annotations

from pathlib import Path

import numba
import pytest

from sim.kernels import jit

pytestmark = [pytest.mark.fast, pytest.mark.skipif(jit.interpreted(), reason="nothing is compiled")]


@jit.kernel
def thrice(x):
    """Return three times x."""
    return 3.0 * x


def one_more(x: float) -> float:
    """Return three times x and 1."""
    return thrice(x) + 1.0


@pytest.mark.parametrize("large", [0, 1_000_000])
@pytest.mark.parametrize("made", [jit.python_driver, jit.python_kernel])
def test_what_is_large_stays_itself_in_a_driver(monkeypatch, tmp_path: Path, large: int, made) -> None:
    from sim.kernels import libraries

    monkeypatch.setattr(jit, "_folder", tmp_path)
    monkeypatch.setattr(libraries, "LARGE", large)
    outer = made(one_more)
    assert outer(2.0) == 7.0
    (compiled,) = outer.overloads.values()
    inside = [f.name for f in compiled.library._final_module.functions if not f.is_declaration]
    assert any("thrice" in name for name in inside) == (large == 0 and made is jit.python_driver)
    again = made(one_more)
    assert again(2.0) == 7.0 and again.stats.cache_hits


@pytest.mark.parametrize("made", [jit.python_driver, jit.python_kernel])
def test_a_loaded_kernel_is_linked_into_others(monkeypatch, tmp_path: Path, made) -> None:
    """Its bitcode is not read before."""
    monkeypatch.setattr(jit, "_folder", tmp_path)
    made(one_more)(2.0)
    loaded = made(one_more)
    assert loaded(2.0) == 7.0
    (compiled,) = loaded.overloads.values()
    assert compiled.library._bitcode and compiled.library.size == len(compiled.library._bitcode)
    assert "one_more" in str(compiled.library._get_module_for_linking()) and not compiled.library._bitcode


def six_more(x: float) -> float:
    """Return twice x and 6."""
    return 2.0 * x + 6.0


def test_what_numba_kept_by_itself_is_loaded_as_that_where_kernels_are_made(monkeypatch, tmp_path: Path) -> None:
    """As of laws, which may be compiled first when nothing else is and loaded when a kernel is."""
    from sim.kernels import libraries

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    first = numba.njit(cache=True)(six_more)
    assert first(2.0) == 10.0 and first.stats.cache_misses
    again = numba.njit(cache=True)(six_more)
    with libraries.made_as(entered=True):
        assert again(2.0) == 10.0
    assert again.stats.cache_hits and again(3.0) == 12.0
