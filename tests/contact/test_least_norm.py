"""Forces of feet that share a load: of all that balance it, those of least norm, by the pseudo-inverse."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contact.engine import G0, Run

pytestmark = [pytest.mark.contact, pytest.mark.fast]

TABLE = """
schema: 1
name: feet
world: {{gravity: [0, 0, -9.81], shapes: [{{name: ground, plane: {{}}}}]}}
bodies:
  table: {{mass: 3, com: {com}, inertia: [0.4, 0.5, 0.6], shapes: [{feet}]}}
  {far}
{joint}
contacts: {{feet: {{between: [table, world], friction: {mu}}}}}
simulate: {{rtol: 1e-8}}
"""
FOOT = "{{sphere: {{center: [{x!r}, {y!r}, 0.1], radius: 0.1}}}}"
FEET = {
    "four": np.array([[0.5, 0.4], [-0.5, 0.4], [-0.5, -0.4], [0.5, -0.4]]),
    "six, uneven": np.array([[0.6, 0.0], [0.3, 0.5], [-0.4, 0.45], [-0.7, 0.1], [-0.2, -0.6], [0.5, -0.4]]),
}


# A joint that rubs has a part in the same problem: forces that go on with it are told, not found anew at each step.
FAR = "wheel: {mass: 1, com: [5, 0, 1], inertia: [1, 1, 1]}"
RUBS = (
    "joints: {axle: {type: rotational, parent: world, child: wheel, position: [5, 0, 1], axis: [0, 1, 0], friction: 1}}"
)


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside friction of a joint"])
@pytest.mark.parametrize("mu", [0.0, 0.6])
@pytest.mark.parametrize("feet", FEET)
@pytest.mark.parametrize("com", [(0.0, 0.0), (0.1, -0.05)])
def test_feet_share_a_load_by_least_norm(feet: str, mu: float, com: tuple[float, float], beside: bool) -> None:
    """Vertical forces with their moments; those of friction balance nothing, and least norm has none of them."""
    places = FEET[feet]
    shapes = ", ".join(FOOT.format(x=float(x), y=float(y)) for x, y in places)
    run = Run(
        TABLE.format(com=[*com, 0.5], feet=shapes, mu=mu, far=FAR if beside else "", joint=RUBS if beside else "")
    ).to(0.0)
    points = run.points()
    assert len(points.normal) == len(places)
    p = run.simulator.flow.work.points.p.reshape(-1, 3)
    A = np.array([np.ones(len(p)), p[:, 0], p[:, 1]])
    wanted = np.linalg.pinv(A) @ (3 * G0 * np.array([1.0, *com]))
    assert (wanted > 1.0).all()
    assert points.force == pytest.approx(np.column_stack([0 * wanted, 0 * wanted, wanted]), abs=1e-7)
