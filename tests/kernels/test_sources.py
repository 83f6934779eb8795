"""Compiled kernels are kept under all that they are made from, and taken over where nothing of that has changed."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sim.kernels import cache, jit, sources

COMPILED = pytest.mark.skipif(jit.interpreted(), reason="nothing is compiled")
ROOT = Path(__file__).resolve().parents[2]
LOWER, UPPER, OTHER = "vectors_of_a_test.py", "uses_of_a_test.py", "other_of_a_test.py"
ASK = """
import sys
sys.dont_write_bytecode = True
from sim.kernels.uses_of_a_test import upper
from sim.kernels.other_of_a_test import other
print(upper(3.0), other(3.0), sum(upper.stats.cache_hits.values()), sum(other.stats.cache_hits.values()))
"""


def imported(file: Path) -> set[str]:
    """Return what a file imports of the kernels, by its syntax."""
    out: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.module and not node.level, file
            out |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            assert not any(alias.name.startswith("sim.") for alias in node.names), file
    return {name for name in out if name.startswith("sim.kernels")}


@pytest.mark.fast
def test_what_a_kernel_imports_is_found_as_its_syntax_says():
    files = sorted(sources.KERNELS.rglob("*.py"))
    names = {path: name for name, path in sources._modules().items()}
    assert set(files) == set(names)
    for file in files:
        found = {names[path] for path in sources._imported(file)}
        assert found == imported(file) & set(names.values()), file


@pytest.mark.fast
def test_what_is_reached_goes_all_the_way_down_and_layouts_belong_to_all():
    reached = {path.name for path in sources.reached(sources.KERNELS / "integrators" / "stepping.py")}
    assert {"stepping.py", "contact_solver.py", "cones.py", "vectors.py"} <= reached  # the third by the second
    assert "radau.py" not in reached
    assert {"tables.py", "scratch.py", "watched.py"} <= {
        path.name for name in sources.LAYOUTS for path in sources.reached(sources.KERNELS / f"{name}.py")
    }


@COMPILED
@pytest.mark.slow
def test_a_kernel_is_compiled_anew_where_what_it_is_made_from_changed(tmp_path):
    """The lower of two is edited: the upper is compiled again and answers anew; one beside it is taken over."""
    package = tmp_path / "sim"
    shutil.copytree(ROOT / "sim", package, ignore=shutil.ignore_patterns("__pycache__", "data"))
    kernels = package / "kernels"

    def write(factor: float) -> None:
        (kernels / LOWER).write_text(
            f"from sim.kernels.jit import kernel\n\n\n@kernel\ndef lower(x):\n    return {factor} * x\n"
        )

    def ask() -> list[float]:
        done = subprocess.run(
            [sys.executable, "-c", ASK], capture_output=True, text=True, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "kept")},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [float(word) for word in done.stdout.split()]

    write(2.0)
    head = "from sim.kernels.jit import python_kernel\n"
    (kernels / UPPER).write_text(
        f"{head}from sim.kernels.{LOWER[:-3]} import lower\n\n\n"
        "@python_kernel\ndef upper(x):\n    return lower(x) + 1.0\n"
    )
    (kernels / OTHER).write_text(f"{head}\n\n@python_kernel\ndef other(x):\n    return x - 1.0\n")
    assert ask() == [7.0, 2.0, 0, 0]
    assert ask() == [7.0, 2.0, 1, 1]
    write(5.0)
    assert ask() == [16.0, 2.0, 0, 1]
    assert ask() == [16.0, 2.0, 1, 1]
    assert len(list((tmp_path / "kept").iterdir())) == 2  # one for each state of the sources
    write(2.0)
    assert ask() == [7.0, 2.0, 1, 1]


@pytest.mark.fast
def test_a_new_folder_begins_with_the_newest_of_the_same_kind_that_is_safe(tmp_path):
    def folder(name: str, text: str, time: int, mode: int = 0o700) -> Path:
        path = tmp_path / name
        (path / "sim").mkdir(parents=True)
        (path / "sim" / "a.nbi").write_text(text)
        (path / "complete").touch()
        path.chmod(mode)
        os.utime(path, (time, time))
        return path

    folder("kind-1", "old", 100)
    newer = folder("kind-2", "newer", 200)
    folder("kind-3", "of others", 300, 0o777)
    folder("other-4", "of another numba", 400)
    new = tmp_path / "kind-5"
    new.mkdir(mode=0o700)
    cache.begin_with_older(new)
    assert [str(path.relative_to(new)) for path in new.rglob("*") if path.is_file()] == ["sim/a.nbi"]  # no marks
    assert (new / "sim" / "a.nbi").read_text() == "newer"
    (newer / "sim" / "b.nbi").touch()
    cache.begin_with_older(new)  # has some already
    assert not (new / "sim" / "b.nbi").exists()


@pytest.mark.fast
def test_the_first_folder_begins_with_nothing(tmp_path):
    cache.begin_with_older(tmp_path)
    assert list(tmp_path.iterdir()) == []
