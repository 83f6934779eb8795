"""Constraints as the oracle sees them: the point of contact by search, gaps and slips that were put in by hand."""

from __future__ import annotations

from types import SimpleNamespace as Made
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from sim.analysis.verification import oracle_joints as jn
from sim.analysis.verification import oracle_wheels

pytestmark = pytest.mark.fast

NOTHING = {
    "radii": None,
    "axis": None,
    "radius": 0.0,
    "tube": 0.0,
    "bend": 0.0,
    "along": None,
    "keeps": True,
    "ratio": 0.0,
}


def spec(kind: str, **given: Any) -> Made:
    return Made(type=kind, **NOTHING | given)


def pair(seed: int, d: Any = None) -> jn.Pair:
    """Two bodies somewhere, the point of M at d in F."""
    rng = np.random.default_rng(seed)
    F, M = (Rotation.from_rotvec(rng.normal(size=3)).as_matrix() for _ in range(2))
    apart = rng.normal(size=3) if d is None else np.asarray(d, float)
    return jn.Pair(rng.normal(size=3), F, M, F @ apart, *rng.normal(size=(3, 3)))


def lowest(surface, at: jn.Pair, z: np.ndarray, count: int) -> np.ndarray:
    """Return the point of a surface, given by two angles, that lies farthest against z."""
    start = np.linspace(-3.0, 3.0, 13)
    guesses = [(u, v) for u in start for v in (start if count == 2 else [0.0])]
    best = min(guesses, key=lambda g: z @ surface(*g))
    found = minimize(
        lambda g: z @ surface(*g), best, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
    )
    return surface(*found.x)


def ellipsoid(radii):
    return lambda u, v: np.array(radii) * [np.cos(u) * np.cos(v), np.sin(u) * np.cos(v), np.sin(v)]


def torus(radius, tube):
    """About y, as the frame of a wheel has its axle."""
    return lambda u, v: (
        (radius + tube * np.cos(v)) * np.array([np.cos(u), 0, np.sin(u)]) + tube * np.array([0, np.sin(v), 0])
    )


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ({"radius": 0.7}, ellipsoid((0.7,) * 3)),
        ({"radii": (0.3, 0.5, 0.9)}, ellipsoid((0.3, 0.5, 0.9))),
        ({"axis": (0, 1.0, 0), "radius": 0.7}, torus(0.7, 0.0)),
        ({"axis": (0, 1.0, 0), "radius": 0.7, "tube": 0.2}, torus(0.7, 0.2)),
    ],
)
def test_what_rolls_touches_at_its_lowest_point(given, shape):
    at = pair(3)
    found = oracle_wheels.touching(spec("rolling", **given), at)
    z = at.F[:, 2]
    arm = lowest(lambda u, v: at.M @ shape(u, v), at, z, 2)
    assert pytest.approx(arm, abs=1e-6) == found.P - at.P
    assert found.d - at.d == pytest.approx(found.P - at.P, abs=1e-15)
    assert found.slip == pytest.approx(at.slip + np.cross(at.w_b - at.w_a, found.P - at.P), abs=1e-14)
    # What lies at the height of the ground there has no gap, and one above it has its height.
    height = z @ found.d
    assert oracle_wheels.gaps(spec("rolling", **given), found) == pytest.approx([height])
    for kind in ("no_side_slip", "gear", "same_velocity"):
        assert oracle_wheels.touching(spec(kind, **given), at) is at


@pytest.mark.parametrize("off", [0.0, 0.125, -0.0625])
@pytest.mark.parametrize("along", [None, (0, 1.0, 0)])
@pytest.mark.parametrize("inside", [False, True])
def test_a_ball_on_a_round_ground_is_off_by_its_height(inside, along, off):
    """Of a sphere or a cylinder of 2 m, along the second axis of F, a ball of 0.5 m."""
    way = np.array([0.48, 0.64, 0.6]) if along is None else np.array([0.8, 0.0, 0.6])
    place = way * (2.0 - 0.5 - off if inside else 2.0 + 0.5 + off) + (0 if along is None else np.array([0, 3.0, 0]))
    at = pair(4, place)
    ground = spec("rolling", radius=0.5, bend=-2.0 if inside else 2.0, along=along)
    n = at.F @ way * (-1.0 if inside else 1.0)
    axes = oracle_wheels.surface(ground, at)
    assert axes[:, 2] == pytest.approx(n, abs=1e-14) and np.allclose(axes.T @ axes, np.eye(3), atol=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    if along is not None:
        assert axes[:, 1] == pytest.approx(at.F[:, 1])
    else:  # turned the shortest way
        turn = Rotation.from_matrix(axes @ at.F.T)
        assert turn.magnitude() == pytest.approx(np.arccos(np.clip(n @ at.F[:, 2], -1, 1)), abs=1e-9)
    found = oracle_wheels.touching(ground, at)
    assert pytest.approx(at.P - 0.5 * n, abs=1e-14) == found.P
    assert oracle_wheels.gaps(ground, found) == pytest.approx([off], abs=1e-14)
    assert oracle_wheels.gap_rates(ground, found) == pytest.approx(axes.T @ found.slip, abs=1e-13)


def test_a_plane_has_the_axes_of_its_frame():
    at = pair(5)
    rolls = spec("rolling", radius=0.5)
    assert oracle_wheels.surface(rolls, at) is at.F
    touching = oracle_wheels.touching(rolls, at)
    assert oracle_wheels.gap_rates(rolls, touching) == pytest.approx(at.F.T @ touching.slip)
    loose = spec("rolling", radius=0.5, keeps=False)
    assert oracle_wheels.gap_rates(loose, touching) == pytest.approx((at.F.T @ touching.slip)[:2])
    assert oracle_wheels.gaps(loose, touching).shape == (0,)


def test_wheels_and_blades_do_not_slip_to_their_side():
    at = pair(6)
    z = at.F[:, 2]
    axle = at.M[:, 1] - (at.M[:, 1] @ z) * z
    assert oracle_wheels.gap_rates(spec("no_side_slip"), at) == pytest.approx([axle / np.linalg.norm(axle) @ at.slip])
    across = np.cross(z, at.M[:, 0])
    assert oracle_wheels.gap_rates(spec("knife_edge"), at) == pytest.approx([across / np.linalg.norm(across) @ at.slip])
    for kind in ("no_side_slip", "knife_edge", "same_velocity", "gear"):
        assert oracle_wheels.gaps(spec(kind), at).shape == (0,)


@pytest.mark.parametrize("components", [("x", "ry"), ("y",), ("z", "rx"), ("rz",)])
def test_equal_velocities_are_components_in_the_first_frame(components):
    at = pair(7)
    slip, spin = at.F.T @ at.slip, at.F.T @ (at.w_b - at.w_a)
    six = dict(zip(("x", "y", "z", "rx", "ry", "rz"), (*slip, *spin), strict=True))
    found = oracle_wheels.gap_rates(spec("same_velocity", components=components), at)
    assert found == pytest.approx([six[name] for name in components])


@pytest.mark.parametrize("ratio", [0.02, -0.03])
@pytest.mark.parametrize("turns", [0, 3, -2])
@pytest.mark.parametrize("off", [0.0, 1e-3, -2e-3])
def test_a_screw_is_off_by_its_way_but_for_whole_turns(ratio, turns, off):
    rng = np.random.default_rng(8)
    F = Rotation.from_rotvec(rng.normal(size=3)).as_matrix()
    angle = 0.7
    M = F @ Rotation.from_euler("z", angle).as_matrix()
    d = F @ np.array([9.0, 8.0, ratio * (angle + 2 * np.pi * turns) + off])
    at = jn.Pair(np.zeros(3), F, M, d, *np.zeros((3, 3)))
    assert oracle_wheels.gaps(spec("screw", ratio=ratio), at) == pytest.approx([off], abs=1e-14)


def test_a_moment_later_a_body_has_moved_on_and_its_centre_is_not_accelerated():
    """Derivatives of place, axes and velocity of the origin, by the complex step."""
    rng = np.random.default_rng(9)
    side = jn.Side(rng.normal(size=3), Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), *rng.normal(size=(2, 3)))
    com = rng.normal(size=3)
    later = oracle_wheels.a_moment_later(side, com)
    h = 1e-6

    def moved(s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        turn = Rotation.from_rotvec(s * side.w).as_matrix()
        v_com = side.v + np.cross(side.w, com - side.p)
        arm = turn @ (side.p - com)
        return com + s * v_com + arm, turn @ side.R, v_com + np.cross(side.w, arm)

    for found, after, before in zip((later.p, later.R, later.v), moved(h), moved(-h), strict=True):
        assert found.imag / oracle_wheels.STEP == pytest.approx((after - before) / (2 * h), abs=1e-8)
    assert (
        np.array_equal(later.w, side.w)
        and later.p.real == pytest.approx(side.p)
        and later.v.real == pytest.approx(side.v)
    )
    given = oracle_wheels.given(side, com, np.array([1.0, 2, 3, 4, 5, 6]))
    assert given.v == pytest.approx(np.array([1, 2, 3]) + np.cross([4, 5, 6], side.p - com)) and given.w.tolist() == [
        4,
        5,
        6,
    ]
    assert given.p is side.p and given.R is side.R


def test_rows_of_a_recording_are_taken_together():
    some = [pair(seed) for seed in (11, 12, 13)]
    at = jn.Pair(
        *(np.array([getattr(one, name) for one in some]) for name in ("P", "F", "M", "d", "w_a", "w_b", "slip"))
    )
    for one in (
        spec("rolling", radii=(0.3, 0.5, 0.9)),
        spec("rolling", radius=0.7, tube=0.2, axis=(0, 1.0, 0)),
        spec("rolling", radius=0.5, bend=2.0),
        spec("rolling", radius=0.5, bend=2.0, along=(0, 1.0, 0)),
        spec("no_side_slip"),
        spec("knife_edge"),
        spec("screw", ratio=0.02),
        spec("same_velocity", components=("x", "rz")),
    ):
        touching = oracle_wheels.touching(one, at)
        apart = [oracle_wheels.touching(one, single) for single in some]
        assert pytest.approx(np.array([single.P for single in apart])) == touching.P
        assert oracle_wheels.gaps(one, touching) == pytest.approx(
            np.array([oracle_wheels.gaps(one, single) for single in apart])
        )
        if one.type != "screw":
            assert oracle_wheels.gap_rates(one, touching) == pytest.approx(
                np.array([oracle_wheels.gap_rates(one, single) for single in apart])
            )
