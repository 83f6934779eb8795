"""Splines and filters beside closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim.analysis.inverse.smoothing import cutoff_of, filtered, fit, fit_turns

pytestmark = pytest.mark.fast
T = np.linspace(0.0, 2.0, 401)


def wave(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.sin(3 * t), 3 * np.cos(3 * t), -9 * np.sin(3 * t)


def test_derivatives_of_what_is_exact_are_exact() -> None:
    for t in (T, np.cumsum(np.random.default_rng(2).uniform(0.004, 0.006, 400))):
        value, rate, acceleration = wave(t)
        found = fit(t, value)
        assert np.array_equal(found.value, value)
        assert np.abs(found.rate - rate).max() < 1e-8
        assert np.abs(found.acceleration - acceleration).max() < 1e-5
        assert (found.cutoff, found.residual) == (None, 0.0)


def test_angular_velocity_and_acceleration_of_two_turns() -> None:
    """R = Rz(a) Rx(b): w = (b', a' sin b, a' cos b) in the turned axes; beyond half a turn, where vectors jump."""
    a, da, dda = 5.0 * np.sin(2 * T), 10.0 * np.cos(2 * T), -20.0 * np.sin(2 * T)
    b, db, ddb = 0.7 * T**2, 1.4 * T, 1.4 + 0 * T
    R = Rotation.from_rotvec(np.outer(a, [0, 0, 1])) * Rotation.from_rotvec(np.outer(b, [1, 0, 0]))
    vectors = R.as_rotvec()
    assert np.abs(np.diff(vectors, axis=0)).max() > 1.0  # they do jump
    s, c = np.sin(b), np.cos(b)
    w = np.column_stack([db, da * s, da * c])
    dw = np.column_stack([ddb, dda * s + da * db * c, dda * c - da * db * s])
    found = fit_turns(T, vectors)
    assert np.abs(found.rate - w).max() < 1e-7
    assert np.abs(found.acceleration - dw).max() < 1e-4
    assert np.abs((Rotation.from_rotvec(found.rotation).inv() * R).magnitude()).max() < 1e-12


def test_the_filter_lets_half_of_the_power_through_at_its_cutoff() -> None:
    t = np.linspace(0.0, 20.0, 4001)
    middle = slice(1000, 3000)
    for hertz, gain in ((5.0, np.sqrt(0.5)), (0.5, 1.0), (50.0, 0.0)):
        out = filtered(t, np.sin(2 * np.pi * hertz * t), 5.0)[middle]
        assert np.abs(out).max() == pytest.approx(gain, abs=6e-3)
        if gain:  # nothing is shifted in time
            assert np.abs(out - gain * np.sin(2 * np.pi * hertz * t[middle])).max() < 2e-2


def test_rows_that_are_not_even_are_filtered_all_the_same() -> None:
    t = np.cumsum(np.random.default_rng(3).uniform(0.003, 0.007, 400))
    value = wave(t)[0]
    assert np.abs(filtered(t, value, 10.0) - value)[20:-20].max() < 2e-4


def test_a_cutoff_is_found_where_noise_begins() -> None:
    """White noise of 0.01 on a wave of 0.5 Hz: the rms that is taken away is the noise, and accelerations are near."""
    noise = 0.01 * np.random.default_rng(0).standard_normal(len(T))
    value, rate, acceleration = wave(T)
    hertz = cutoff_of(T, value + noise)
    found = fit(T, value + noise, "auto")
    assert 0.8 < hertz < 6.0
    assert found.cutoff == hertz
    assert found.residual == pytest.approx(0.01, rel=0.1)
    assert np.sqrt(np.mean((found.acceleration - acceleration) ** 2)) < 1.0
    assert np.sqrt(np.mean((fit(T, value + noise).acceleration - acceleration) ** 2)) > 100.0
    assert np.sqrt(np.mean((found.rate - rate) ** 2)) < 0.1


def test_what_rows_cannot_tell_is_refused() -> None:
    with pytest.raises(ValueError, match="found 5 rows; expected 6 at the least"):
        fit(T[:5], T[:5])
    with pytest.raises(ValueError, match=r"cutoff: found 90 Hz; expected less than 80.2 Hz, as rows are 0.005 s apart"):
        fit(T, T, 90.0)
