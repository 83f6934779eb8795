"""The methods compiled: the same functions over arrays find what they find over lists."""

from __future__ import annotations

import numpy as np
import pytest

from sim.analysis.snake.compiled import Compiled, compiled
from sim.analysis.snake.counting import cos, sin
from sim.analysis.snake.fixed_steps import METHODS
from sim.analysis.snake.links import bends
from tests.snake.snakes import random_state

pytestmark = pytest.mark.nonholonomic


@pytest.mark.parametrize("name", METHODS)
def test_compiled_methods_find_what_plain_ones_do(name):
    for n in (2, 3, 7, 20):
        state, method = random_state(n, 6), METHODS[name]
        u = state.u if name == "Kane" else state.q_dot
        fast = Compiled(method, state.snake, state.q, u, state.torques)
        assert fast.repeat(1) == 1
        plain = np.array(method.rates(state.snake, state.q, u, state.torques)[1])
        assert np.abs(fast.found() - plain).max() < 1e-12 * np.abs(plain).max()
        once = fast.found()
        assert fast.repeat(3) == 3  # nothing that one evaluation leaves behind is read by the next
        assert (fast.found() == once).all()


def test_what_is_compiled_calls_what_is_compiled():
    fast = compiled(bends)
    names = getattr(fast, "py_func", fast).__globals__
    assert names["sin"] is compiled(sin) is not sin and names["cos"] is compiled(cos) is not cos
    assert compiled(bends) is fast
