"""The oracle against closed forms and published benchmark numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

from tests.support import figures
from tests.support import reference as ref
from tests.support.reference_motion import place, project, residuals, trajectory

DOWN_Y = np.array([0, -9.81, 0])
DOWN_Z = np.array([0, 0, -9.81])


def point(body: ref.Body, drawn: ref.Body, p: list[float]) -> np.ndarray:
    """Return where a point that is drawn at p on the body is now."""
    return body.com_W + body.R_WB @ (np.asarray(p, float) - drawn.com_W)


def test_pendulum_follows_the_elliptic_functions():
    """A01: sin(theta / 2) = k cd(w0 t | k^2), k = sin 45 deg, theta from hanging, w0^2 = g / L."""
    bodies, links = figures.point_pendulum()
    times = [0.1, 0.5, 1.0, 2.0]
    k, w0 = np.sin(np.pi / 4), np.sqrt(9.81)
    assert 4 * ellipk(k**2) / w0 == pytest.approx(2.367841947576237, abs=1e-14)
    for time, state in zip(times, trajectory(bodies, links, DOWN_Y, times), strict=True):
        _, cn, dn, _ = ellipj(w0 * time, k**2)
        theta = 2 * np.arcsin(k * cn / dn)
        assert state[0].com_W == pytest.approx([np.sin(theta), -np.cos(theta), 0], abs=1e-10)


def test_pendulum_to_the_printed_digits():
    bodies, links = figures.point_pendulum()
    near, far = trajectory(bodies, links, DOWN_Y, [1.0, 2.0])
    assert near[0].com_W[:2] == pytest.approx([-0.986291751132, -0.165010853126], abs=1e-11)
    assert far[0].com_W[:2] == pytest.approx([0.793566195343, -0.608483930444], abs=1e-11)


@pytest.mark.parametrize("count", [1, 2, 5, 12])
@pytest.mark.parametrize("angle", [0.0, 0.7, 2.5])
def test_windows_accelerate_as_one_crank(count, angle):
    """A02: every crank has theta'' = kappa g sin theta, kappa = ((N + 1)/2 + N) / ((N + 1)/3 + N)."""
    bodies, links = figures.windows(count, angle, rate=1.3)
    kappa = ((count + 1) / 2 + count) / ((count + 1) / 3 + count)
    _, alpha, _ = ref.accelerations(bodies, links, DOWN_Y)
    expected = np.zeros((2 * count + 1, 3))
    expected[: count + 1, 2] = -kappa * 9.81 * np.sin(angle)
    assert alpha == pytest.approx(expected, abs=1e-10)


def test_windows_lose_rank_where_all_rods_lie_flat():
    standing, flat = figures.windows(2, 0.7), figures.windows(2, np.pi / 2)
    freedom = [30 - ref.constraint_rank(*mechanism)[0] for mechanism in (standing, flat)]
    assert freedom == [1, 3]


def test_windows_to_the_printed_digits():
    bodies, links = figures.windows(2)
    energy = ref.kinetic_energy(bodies) + ref.potential_energy(bodies, links, DOWN_Y)
    assert energy == pytest.approx(35.835, abs=1e-12)
    (state,) = trajectory(bodies, links, DOWN_Y, [0.5])
    assert point(state[0], bodies[0], [0, 1, 0])[:2] == pytest.approx([0.6952866332, 0.7187325634], abs=2e-10)
    v = state[0].v_com_W * 2  # of the end of the crank
    assert v[:2] == pytest.approx([1.9602054254, -1.8962611406], abs=2e-9)


def test_bricard_has_one_redundant_row_and_one_freedom():
    bodies, links = figures.bricard()
    assert len(ref.constraint_rows(bodies, links)[0]) == 30
    assert ref.constraint_rank(bodies, links)[0] == 29


def test_bricard_to_the_printed_digits():
    bodies, links = figures.bricard()
    states = trajectory(bodies, links, DOWN_Y, [0.1, 0.25, 0.5, 1.25])
    expected = [
        [0.9902415380, -0.9999528486, -0.0097108483],
        [0.9400569683, -0.9983080640, -0.0581464481],
        [0.7747178080, -0.9798150477, -0.1999061590],
        [-0.0023061004, -0.8660269390, -0.4999973410],
    ]
    for state, where in zip(states, expected, strict=True):
        assert point(state[1], bodies[1], [1, -1, 0]) == pytest.approx(where, abs=2e-10)
        carried = [ref.carry(link, bodies, state) for link in links]
        assert np.max(np.abs(residuals(carried))) < 1e-13
        energy = ref.kinetic_energy(state) + ref.potential_energy(state, carried, DOWN_Y)
        assert energy == pytest.approx(ref.potential_energy(bodies, links, DOWN_Y), abs=1e-11)


def test_heavy_top_starts_with_the_published_accelerations():
    a, alpha, _ = ref.accelerations(*figures.heavy_top(), DOWN_Z)
    assert a[0] == pytest.approx([0, -21.30173254440, -30.96083076923], abs=1e-10)
    assert alpha[0] == pytest.approx([661.3461692307692, 0, 0], abs=1e-10)


def test_heavy_top_to_the_printed_digits():
    bodies, links = figures.heavy_top()
    near, far = trajectory(bodies, links, DOWN_Z, [0.1, 0.2])
    assert near[0].com_W == pytest.approx([0.421296658925, 0.894571974346, -0.149164700562], abs=1e-10)
    assert far[0].com_W == pytest.approx([0.605550561377, 0.598957681795, -0.523983027430], abs=1e-10)


def test_a_rod_that_is_cut_falls_freely():
    """Hanging straight it turns at sqrt(3 g / L); cut there, it keeps the rate and its centre flies on."""
    hinge = [ref.draw_link("rotational", -1, 0, (0, 0, 0), figures.Z)]
    thin = figures.rod((0, 0, 0), (1, 0, 0), 1.0)
    rod = replace(thin, inertia_W=thin.inertia_W + np.diag([1e-3, 0, 0]))
    (state,) = trajectory([rod], hinge, DOWN_Y, [0.483333713593])
    assert state[0].w_W[2] == pytest.approx(-5.424942396008, abs=1e-10)
    assert state[0].v_com_W == pytest.approx([-2.712471198004, 0, 0], abs=1e-10)
    a, alpha, _ = ref.accelerations(state, [], DOWN_Y)
    assert a[0] == pytest.approx(DOWN_Y, abs=1e-14)
    assert alpha[0] == pytest.approx(np.zeros(3), abs=1e-14)


def test_a_rod_that_is_latched_at_one_end():
    """w+ = 3 v / 2 L, three quarters of the energy stay, the pivot takes m v / 4."""
    flying = [figures.rod((0, 0, 0), (1, 0, 0), 1.0, v_start=(0, 1, 0))]
    latch = ref.draw_link("rotational", -1, 0, (0, 0, 0), figures.Z)
    v, w, impulses, lost = ref.jump(flying, [], [latch])
    assert w[0] == pytest.approx([0, 0, 1.5], abs=1e-14)
    assert v[0] == pytest.approx([0, 0.75, 0], abs=1e-14)
    assert impulses[0] == pytest.approx([0, 0, 0, 0, -0.25, 0], abs=1e-14)
    assert lost == pytest.approx(0.125, abs=1e-14)


def test_closing_a_loop_to_the_printed_digits():
    bodies, hinges, latch = figures.closing_chain()
    before = ref.kinetic_energy(bodies) + ref.potential_energy(bodies, [], DOWN_Y)
    v, w, impulses, lost = ref.jump(bodies, hinges, [latch])
    closed = ref.with_speeds(bodies, v, w)
    assert before == pytest.approx(35.70375, abs=1e-12)
    assert w[:, 2] == pytest.approx([-23 / 17, 0, -46 / 51], abs=1e-13)
    assert impulses[-1, 3:] == pytest.approx([-1.9117647059, -2.1666666667, 0], abs=1e-10)
    after = ref.kinetic_energy(closed) + ref.potential_energy(closed, [], DOWN_Y)
    assert after == pytest.approx(30.7968872549, abs=1e-10)
    assert lost == pytest.approx(before - after, abs=1e-12)

    expected = [
        (0.1, 1.4332768039, -1.420029139),
        (0.25, 1.1963714128, -1.801720807),
        (0.5, 0.5361493317, -4.135548612),
    ]
    states = trajectory(closed, [*hinges, latch], DOWN_Y, [time for time, _, _ in expected])
    for state, (_, angle, rate) in zip(states, expected, strict=True):
        along = state[0].R_WB @ [0, 1, 0]
        assert np.arctan2(along[1], along[0]) == pytest.approx(angle, abs=1e-9)
        assert state[0].w_W[2] == pytest.approx(rate, abs=2e-9)


def test_a_free_direction_without_inertia_is_refused():
    with pytest.raises(ValueError, match="no inertia"):
        ref.accelerations([figures.rod((0, 0, 0), (1, 0, 0), 1.0)], [], DOWN_Y)


def test_projection_closes_a_disturbed_mechanism():
    bodies, links = figures.bricard()
    rng = np.random.default_rng(0)
    disturbed = place(bodies, rng.normal(0, 1e-3, (5, 3)), rng.normal(0, 1e-3, (5, 3)))
    state, carried = project(disturbed, bodies, links)
    assert np.max(np.abs(residuals(carried))) < 1e-13
    assert np.max(np.abs([b.com_W - d.com_W for b, d in zip(state, disturbed, strict=True)])) < 1e-2
