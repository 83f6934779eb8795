"""The rooms of the house: few packages, one name for one thing, nothing compiled among the sources."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIM = ROOT / "sim"
BINARY = ("docs/pictures/*.png", "docs/pictures/*.gif", "tests/bad_scenes/yaml_utf16.yaml")


def test_no_more_than_a_dozen_packages_stand_in_sim() -> None:
    packages = {path.parent.name for path in SIM.glob("*/__init__.py")}
    assert len(packages) <= 12
    files = {path.name for path in SIM.iterdir() if path.is_file()}
    folders = {path.name for path in SIM.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert files == {"__init__.py", "plugin.py", "py.typed"} and folders - packages <= {"templates"}


def test_no_file_name_stands_for_two_things() -> None:
    names = Counter(path.name for path in SIM.rglob("*.py") if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_no_package_bears_the_name_of_what_callers_use() -> None:
    import sim

    assert {path.parent.name for path in SIM.glob("*/__init__.py")} & set(sim._PUBLIC) == set()


def test_binary_files_are_those_that_are_listed() -> None:
    """Git counts no lines of what is binary; compiled kernels and recordings have no place among sources."""
    if not (ROOT / ".git").exists():
        pytest.skip("a copy without history lists no tracked files")
    empty = subprocess.run(
        ["git", "hash-object", "-t", "tree", "/dev/null"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    counted = subprocess.run(
        ["git", "diff", "--cached", "--numstat", empty], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    binary = [Path(line.split("\t")[2]) for line in counted if line.startswith("-\t-\t")]
    assert len(counted) > 500
    assert [path for path in binary if not any(path.match(known) for known in BINARY)] == []


def test_what_the_docs_show_and_link_to_is_among_the_sources() -> None:
    """A file that git leaves out is there for whoever made it, and for nobody else."""
    if not (ROOT / ".git").exists():
        pytest.skip("a copy without history lists no tracked files")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = {ROOT / name for name in listed.split("\0") if name}
    folders = {folder for path in tracked for folder in path.parents}
    linked = [
        (page.name, (page.parent / target.partition("#")[0]).resolve())
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
        for target in re.findall(r"\]\(([^)#\s][^)\s]*)\)", page.read_text(encoding="utf-8"))
        if "://" not in target
    ]
    assert len(linked) > 30
    assert [place for place in linked if place[1] not in tracked | folders] == []
