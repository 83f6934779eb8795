"""A joint that bounces between its stops without gravity: rates by powers of e, until one is below the rest speed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contact.engine import Run

pytestmark = [pytest.mark.contact, pytest.mark.fast]

# The size of the whole, by which rates of angles are scaled inside, is far from 1 m.
SCENE = """
schema: 1
name: between stops
world: {{gravity: [0, 0, 0]}}
bodies:
  bob: {{mass: 2, com: [{size}, 0, 0], inertia: [{small}, {small}, {small}]}}
  far: {{mass: 1, com: [0, 0, {size}], inertia: [1, 1, 1]}}
joints:
  slot: {{type: {kind}, parent: world, child: bob, position: [0, 0, 0], axis: [0, 1, 0], limits: {limits}}}
  post: {{type: fixed, parent: world, child: far, position: [0, 0, 0]}}
initial: {{slot: {{coordinate: {start!r}, rate: {rate!r}}}}}
simulate: {{rtol: 1e-8}}
"""


@pytest.mark.parametrize(("kind", "size"), [("rotational", 0.05), ("rotational", 20.0), ("translational", 20.0)])
@pytest.mark.parametrize(("rate", "rest"), [(1.0, 0.6), (-1.0, 0.3), (1.0, 1.5), (-1.0, 0.0)])
def test_below_its_rest_speed_a_stop_gives_nothing_back(kind: str, size: float, rate: float, rest: float) -> None:
    """The rest speed is of the joint's own rate, in rad/s or m/s, whatever the size of the mechanism."""
    e, half, start = 0.5, 0.2, float(0.1 * np.sign(rate))
    limits = f"{{range: [{-half}, {half}], stop: rigid, restitution: {e}, rest_speed: {rest}}}"
    text = SCENE.format(kind=kind, size=size, small=0.1 * size**2, limits=limits, start=start, rate=rate)
    run = Run(text).to(2.6)
    times, rates = [half - abs(start)], [abs(rate)]
    while rates[-1] >= rest and times[-1] < 2.6:
        rates.append(e * rates[-1])
        times.append(times[-1] + 2 * half / rates[-1])
    rests = rates[-1] < rest
    times = [t for t in times if t < 2.6]
    assert run.times() == pytest.approx(times, abs=1e-9)
    stands = (-1) ** (len(times) - 1) * np.sign(rate) * half
    if rests:
        assert run.simulator.coordinate["slot"] == pytest.approx(stands, abs=1e-12)
        assert run.simulator.rate["slot"] == pytest.approx(0.0, abs=1e-12)
    inertia = 2.0 if kind == "translational" else (0.1 + 2.0) * size**2
    lost = [0.5 * inertia * w**2 * (1.0 if w < rest else 1 - e**2) for w in rates[: len(times)]]
    events = [event for event in run.told.events if event.kind == "impact"]
    assert [event.lost for event in events] == pytest.approx(lost, rel=1e-9)
    assert run.balance() < 1e-9 * inertia
