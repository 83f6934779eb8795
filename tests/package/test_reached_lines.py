"""The map of which tests run which line."""

from __future__ import annotations

import tempfile
from pathlib import Path

import coverage
import pytest

from tests.mutants.reach import load
from tests.mutants.trial import Copy

pytestmark = pytest.mark.fast


def test_lines_that_were_recorded_in_several_checkouts_count_together(tmp_path: Path) -> None:
    data = coverage.CoverageData(str(tmp_path / "map"))
    for context, folder, lines in (("one", "first", [3, 4]), ("two", "second", [4, 5]), ("failed", "first", [4])):
        data.set_context(context)
        data.add_lines({f"/{folder}/sim/flow.py": lines})
    data.write()
    (tmp_path / "map.seconds").write_text("0.5\tone\n0.25\ttwo\n")
    reach = load(tmp_path / "map")
    assert [reach.of_statement("sim/flow.py", line, line, True) for line in (3, 4, 5, 6)] == [
        ["one"], ["two", "one"], ["two"], [],
    ]  # fmt: skip
    assert reach.of_statement("sim/flow.py", 1, 1, False) == ["two", "one"] and reach.lines("sim/flow.py") == {3, 4, 5}


def test_a_session_ends_nothing_of_the_process_that_began_it() -> None:
    """A mistake may run what is to be done at exit, as the command line does."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "test_leaving.py"
        file.write_text("import atexit\n\n\ndef test_leaves():\n    atexit._run_exitfuncs()\n")
        assert Copy(Path(name)).first_failure(["test_leaving.py"], interpreted=False, budget=20.0) == ""
        assert file.exists()
