"""Which tests run which line is kept: of tests that are run again only what they run now."""

from __future__ import annotations

import pytest

from tests.mutants.record import is_among


@pytest.mark.parametrize(
    ("name", "among"),
    [
        ("tests/kernels/test_a.py::test_one", True),
        ("tests/kernels/deep/test_a.py::test_one[1.0]", True),
        ("tests/kernels_of_old/test_a.py::test_one", False),
        ("tests/contact/test_b.py::test_one", True),
        ("tests/contact/test_b.py::test_two", False),
        ("tests/contact/test_b.py::test_one[deep]", True),
        ("tests/contact/test_b.py::test_one_more", False),
        ("tests/contact/test_c.py::test_x", True),
        ("tests/contact/test_c.pyx::test_x", False),
    ],
)
def test_a_test_that_is_run_again_is_told_by_its_folder_its_file_or_its_name(name: str, among: bool) -> None:
    assert is_among(name, ["tests/kernels/", "tests/contact/test_b.py::test_one", "tests/contact/test_c.py"]) == among
