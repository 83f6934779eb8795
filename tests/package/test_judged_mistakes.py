"""The mistakes that are judged to change nothing can still be made, and are left out of samples."""

from __future__ import annotations

import pytest

from tests.mutants.judged import CHANGE_NOTHING, Judged
from tests.mutants.mutations import mutants_of
from tests.mutants.reach import ROOT

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("judged", CHANGE_NOTHING, ids=lambda judged: f"{judged.file}: {judged.before} {judged.after}")
def test_a_judged_mistake_can_be_made_and_is_left_out(judged: Judged) -> None:
    lines = (ROOT / judged.file).read_text().splitlines()

    def those(everything: bool) -> int:
        found = (m for m in mutants_of(judged.file, everything) if m.change == (judged.before, judged.after))
        return sum(lines[mutant.line - 1].strip() == judged.line for mutant in found)

    assert those(everything=True) > 0 and those(everything=False) == 0
    assert judged.why
