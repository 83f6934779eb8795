"""Comparisons of measured numbers are turned round, and those of numbers of things are moved by their edge as well."""

from __future__ import annotations

import ast
from pathlib import Path

import coverage
import pytest

from tests.mutants import measured, mutations, record, trial

pytestmark = pytest.mark.fast

SOURCE = """
from sim.kernels.rows.project import CONTRADICTION
NEAR = 1e-6
MANY = 100
ROOM = 4

class Cart:
    speed: float
    wheels: int

    def slows(self, drag: float, k: int) -> bool:
        low, n = 0.0, 0
        gap = self.speed * k
        gap += 2.0
        return {comparison}
"""


def made(comparison: str, file: str = "sim/contact/cart.py") -> list[str]:
    """Return what a comparison becomes, one mistake after the other."""
    found = mutations._Finder(file, SOURCE.replace("{comparison}", comparison)).found()
    return sorted(m.after[1:-1] for m in found if m.kind == "comparison" and m.before == comparison)


@pytest.mark.parametrize("comparison", [
    "gap < NEAR", "NEAR < gap", "self.speed < k", "k < 2.5", "k / n < ROOM", "rows[k] @ gap < n", "drag < n",
    "-drag < n", "low < n", "abs(drag) < n", "np.abs(drag).max() < n", "math.hypot(k, n) < n", "k < drag * n",
    "rows.compliance[k] < n", "k < n + 0.5 * k", "k < (n if k else gap)", "k < CONTRADICTION",
    "self.friction() < 2.0 * self.slip()",
])  # fmt: skip
def test_a_comparison_of_measured_numbers_is_turned_round_alone(comparison: str) -> None:
    assert made(comparison) == [comparison.replace("<", ">")]
    for sign, other in ((">", "<"), ("<=", ">="), (">=", "<=")):
        assert made(comparison.replace("<", sign)) == [comparison.replace("<", other)]


@pytest.mark.parametrize("comparison", [
    "k < n", "k < 3", "len(rows) < MANY", "k < ROOM", "self.wheels < k", "rows.code[k] < n", "k // n < 2", "k < n + 1",
    "unknown < other", "drag < 0.0", "drag < 1.0", "gap < -math.inf", "gap < t", "self.time < gap", "clock[END] < gap",
])  # fmt: skip
def test_a_comparison_of_what_may_be_exactly_the_same_is_moved_by_its_edge_as_well(comparison: str) -> None:
    edge, other = ("<=", ">=")
    assert made(comparison) == sorted(comparison.replace("<", sign) for sign in (edge, other))


@pytest.mark.parametrize(
    "decorator", ["@cached_property", "@functools.cache", "@lru_cache(maxsize=4)", "@property", ""]
)
def test_what_is_kept_counts_as_run_by_all_tests_of_its_file(decorator: str) -> None:
    """Its lines run for the first that asks only; so may those of no other function be taken."""
    found = mutations._Finder(
        "sim/a.py", f"class A:\n    {decorator}\n    def size(self):\n        return 2 + self.n\n"
    ).found()
    assert {m.inside for m in found} == {decorator in ("@property", "")}


def test_each_comparison_of_a_chain_is_judged_by_its_own_sides() -> None:
    assert made("0 <= k < gap") == sorted(["0 < k < gap", "0 > k < gap", "0 <= k > gap"])


def test_what_people_write_may_be_exactly_a_limit() -> None:
    assert made("drag < NEAR", "sim/scene/read_cart.py") == ["drag <= NEAR", "drag >= NEAR"]
    assert made("drag == n") == ["drag != n"]


def test_a_name_is_that_of_a_measured_number_only_where_all_that_bear_it_are() -> None:
    """An array may be of either, which says nothing; `bend` is a radius in a table, and in a class one as well."""
    told = measured._declared()
    assert told["compliance"] and told["bend"] and not told["code"] and "nothing_bears_it" not in told
    tree = ast.parse(
        "a: float\nb: float | None\nc: np.ndarray\nd: int\ndef e() -> bool: ...\nF, G = 2.0, [1]\nT = [('h', 'f8')]"
    )
    found = dict(measured._declarations(tree))
    assert found == {"a": True, "b": True, "d": False, "e": False, "F": True, "G": False, "T": False, "h": True}


def test_the_test_that_failed_is_named_as_a_whole_whatever_its_parameters_are() -> None:
    tests = ["a.py::test_b", "a.py::test_b[1 - x]", "a.py::test_b[1 - x - 2]", "a.py::test_b[1]"]
    for name in tests:
        for why in ("", " - assert 1 == 2 - 3"):
            assert trial._failed(f".F\nFAILED {name}{why}\n1 failed", tests) == name
            assert trial._failed(f"ERROR {name}{why}\nFAILED a.py::test_b", tests) == name
    for text in ("", "ERROR a.py - no module", "FAILED c.py::test_b", "FAILED a.py::test_b[1 -"):
        assert trial._failed(text, tests) == "(import)"


def test_lines_that_tests_were_seen_to_run_follow_the_source_before_others_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line is put in before two of three; what is kept is in lines of the source as it is now, without `u.py`'s."""
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(record, "FOLDER", tmp_path / "kept")
    for folder, text in (("kept/sources/sim", "a\nb\nc\n"), ("sim", "a\nnew\nb\nc\n")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "cart.py").write_text(text)
    data = coverage.CoverageData(str(tmp_path / "kept" / "pass"))
    for name, lines in (("t.py::one", [1, 2]), ("t.py::two", [3]), ("t.py::failed", [1]), ("u.py::gone", [1])):
        data.set_context(name)
        data.add_lines({"/elsewhere/sim/cart.py": lines})
    data.write()
    (tmp_path / "kept" / "pass.seconds").write_text("0.5\tt.py::one\n0.1\tt.py::two\n0.1\tu.py::gone\n")
    record._bring_up(tmp_path / "kept" / "pass", ["u.py"])
    after = record.load(tmp_path / "kept" / "pass").tests["sim/cart.py"]
    assert {line: set(names) for line, names in after.items()} == {
        1: {"t.py::one"}, 2: {"t.py::one"}, 3: {"t.py::one"}, 4: {"t.py::two"},
    }  # fmt: skip
