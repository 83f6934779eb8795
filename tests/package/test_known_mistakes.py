"""The table of known mistakes fits the tree: statements stand where it says, tests are there, mistakes are made."""

from __future__ import annotations

import re

import pytest

from tests.mutants.known import MISTAKES, ROOT, Misfit, Mistake, made

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.about)
def test_a_known_mistake_can_be_made_and_is_looked_for(mistake: Mistake) -> None:
    text = (ROOT / mistake.file).read_text()
    assert made(text, mistake) != text
    compile(made(text, mistake), mistake.file, "exec")
    assert mistake.tests
    for test in mistake.tests:
        file, _, name = test.partition("::")
        code = (ROOT / file).read_text()
        assert not name or re.search(rf"^def {name}\(", code, re.MULTILINE)
        assert "mark.fast" in code  # quick where interpreted


def test_a_statement_that_has_gone_or_stands_twice_is_told() -> None:
    twice = Mistake("sim/simulation/flow.py", "import", "", "", ())
    with pytest.raises(Misfit, match=r"sim/simulation/flow.py: 'import' stands there 2 times, expected once"):
        made("import a\nimport b\n", twice)
