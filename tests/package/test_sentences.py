"""What a sentence about a stopped run says of the loops' position."""

from __future__ import annotations

from types import SimpleNamespace as Made

import numpy as np
import pytest

from sim.simulation import messages

pytestmark = pytest.mark.fast


def flow(loops: tuple[int, ...], smallest: float, largest: float) -> Made:
    pivots = np.array([[smallest, largest]])
    return Made(structure=Made(loops=loops), work=Made(one=Made(pivots=pivots)))


def test_how_near_loops_are_to_a_singular_position_is_a_ratio_of_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pivots are squares: their ratio's root is the ratio of singular values."""
    monkeypatch.setattr(messages, "_loops", lambda one: "the loops of 'a'")
    near = messages._near
    assert near(flow((3,), 4e-8, 1e-2)) == "; the loops of 'a' are at 2.0e-03 of singular there"  # type: ignore[arg-type]
    assert near(flow((3,), 0.0, 0.0)) == "; the loops of 'a' are at 0.0e+00 of singular there"  # type: ignore[arg-type]
    assert near(flow((), 1.0, 1.0)) == ""  # type: ignore[arg-type]
