"""Which tests run which line: written down while they run, and the table that is read from that.

With ``MUTANTS_REACH`` set to a file, `pytest` traces every test of a session, with the time that it takes; where
several processes run them, each writes a file of its own, and they are put together at the end.  Kernels are seen
where they are interpreted only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("sim", "plugins", "render")  # folders of what is tested
IMPORT = ""  # the context of lines that run once, when a module is read


class Tracer:
    """Traces the code of all rooms, one context for each test."""

    def __init__(self, file: str):
        self.file = file
        self.coverage = coverage.Coverage(
            data_file=file, config_file=False, include=[f"{room}/*" for room in ROOMS], timid=False
        )
        self.seconds: dict[str, float] = {}
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Give a test its context, fixtures included."""
        self.coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self.coverage.switch_context(IMPORT)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up what a test took."""
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = report.duration

    def pytest_sessionfinish(self) -> None:
        """Write what was seen: before a worker says that it has done."""
        self.coverage.stop()
        self.coverage.save()
        lines = (f"{seconds:.4f}\t{name}\n" for name, seconds in self.seconds.items())
        Path(f"{self.file}.seconds").write_text("".join(lines))


class Gatherer:
    """Puts together what workers trace, in the process that they work for."""

    def __init__(self, file: str):
        self.file = file

    def pytest_unconfigure(self) -> None:
        """Write one file of what all have seen."""
        of_workers = [file for file in sorted(glob(f"{self.file}.gw*")) if not file.endswith(".seconds")]
        data = coverage.CoverageData(self.file)
        for file in of_workers:
            seen = coverage.CoverageData(file)
            seen.read()
            data.update(seen)
        data.write()
        seconds = [Path(f"{file}.seconds") for file in of_workers]
        Path(f"{self.file}.seconds").write_text("".join(file.read_text() for file in seconds))
        for done in [*seconds, *map(Path, of_workers)]:
            done.unlink()


@dataclass(frozen=True)
class Reach:
    """What tests run, of those that passed.

    tests : file -> line -> names of tests; seconds : what each takes
    """

    tests: Mapping[str, Mapping[int, frozenset[str]]]
    seconds: Mapping[str, float]

    def of_statement(self, file: str, first: int, last: int, inside: bool) -> list[str]:
        """Return the tests that run a statement, quickest first.

        inside : whether it is in a function; else it runs when the file is imported, whoever asks for it, and all
        tests that run any of the file count
        """
        lines = self.tests.get(file, {})
        wanted = range(first, last + 1) if inside else list(lines)
        found = frozenset().union(*(lines.get(line, frozenset()) for line in wanted))
        return sorted(found, key=lambda name: (self.seconds[name], name))

    def lines(self, file: str) -> set[int]:
        """Return the lines that some test runs."""
        return set(self.tests.get(file, {}))


def _in_tree(path: str) -> str:
    """Return the place of a source in the tree; what was recorded in one checkout may be read in another."""
    return max(path[path.rfind(f"/{room}/") + 1 :] for room in ROOMS if f"/{room}/" in path)


def load(file: Path) -> Reach:
    """Read what a session wrote."""
    seconds = {}
    for line in Path(f"{file}.seconds").read_text().splitlines():
        number, _, name = line.partition("\t")
        seconds[name] = float(number)
    data = coverage.CoverageData(str(file))
    data.read()
    found: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in data.measured_files():  # a file has several, where another checkout was recorded before
        for line, names in data.contexts_by_lineno(path).items():
            found[_in_tree(path)][line] |= {name for name in names if name in seconds}
    tests = {file: {line: frozenset(names) for line, names in lines.items()} for file, lines in found.items()}
    return Reach(tests, seconds)
