"""Bodies thrown into a box of planes, one event after the other."""

from __future__ import annotations

import numpy as np
import pytest

import sim
from tests.contact.engine import PENETRATION, Run

pytestmark = pytest.mark.contact

# A floor and four walls, 1 m apart.
WALLS = "\n".join(
    f"    - {{name: {name}, plane: {{center: {p}, normal: {n}}}}}"
    for name, p, n in (
        ("floor", [0, 0, 0], [0, 0, 1]),
        ("left", [-0.5, 0, 0], [1, 0, 0]),
        ("right", [0.5, 0, 0], [-1, 0, 0]),
        ("front", [0, -0.5, 0], [0, 1, 0]),
        ("back", [0, 0.5, 0], [0, -1, 0]),
    )
)
SHAPES = (
    "{{box: {{center: {p}, size: [{a}, {b}, {c}]}}}}",
    "{{sphere: {{center: {p}, radius: {b}}}}}",
    "{{capsule: {{from: {p}, to: {q}, radius: {c}}}}}",
)


def thrown(seed: int) -> str:
    """Return a scene of three bodies of random shapes, sizes, masses and motions."""
    rng = np.random.default_rng(seed)
    bodies, initial = "", ""
    for n, shape in enumerate(SHAPES):
        p = [round(float(x), 6) for x in (*rng.uniform(-0.2, 0.2, 2), 0.25 + 0.3 * n)]
        a, b, c = (round(float(size), 6) for size in rng.uniform(0.03, 0.1, 3))
        text = shape.format(p=p, q=[p[0] + a, p[1], p[2] + c], a=2 * a, b=b, c=c)
        bodies += f"  b{n}: {{mass: {10 ** rng.uniform(-1, 1):.6f}, shapes: [{text}]}}\n"
        v, w = (", ".join(f"{x:.6f}" for x in rng.uniform(-2.0, 2.0, 3)) for _ in range(2))
        initial += f"  b{n}: {{velocity: [{v}], angular_velocity: [{w}]}}\n"
    return f"""
schema: 1
name: thrown
world:
  shapes:
{WALLS}
bodies:
{bodies}
initial:
{initial}
contacts:
  all: {{between: ["b*", ["b*", world]], friction: {rng.uniform(0, 0.8):.6f}, restitution: {rng.uniform(0, 0.6):.6f}}}
"""


@pytest.mark.parametrize("seed", range(4))
def test_thrown_bodies_keep_their_energy_and_stay_outside_of_each_other(seed: int) -> None:
    run = Run(thrown(seed))
    total = []
    for t in np.arange(0.05, 0.61, 0.05):
        try:
            run.to(float(t))
        except sim.SimulationError as error:
            pytest.fail(str(error))
        energy, points = run.simulator.energy, run.points()
        total.append(energy["kinetic"] + energy["potential"])
        assert (points.gap > -PENETRATION).all()
        assert (points.friction <= points.most + 1e-9 * (1.0 + points.most)).all()
        for name in ("b0", "b1", "b2"):
            x = run.simulator.position[name]
            assert np.isfinite(x).all() and x[2] > 0.0 and np.abs(x[:2]).max() < 0.5
    assert len(run.times("impact")) > 2
    assert (np.diff(total) <= 1e-9 * abs(total[0])).all()
    assert run.balance() < 1e-5 * abs(total[0])
