"""Bodies of all shapes thrown into a closed box: 200 scenes, one event after the other and in time steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim
from sim.model import ACCEPTED, REJECTED
from tests.contact.engine import PENETRATION, Run
from tests.contact.random_scenes import PAIRS, RandomScene, random_scene, room_at_walls
from tests.contact.solids import Solid, meet, width

pytestmark = [pytest.mark.contact, pytest.mark.slow]

SPAN = 0.3  # s
SEEDS = 10  # of each pair of shapes
pairs = pytest.mark.parametrize("pair", range(len(PAIRS)), ids=["-".join(pair) for pair in PAIRS])


@dataclass
class Thrown:
    """A run of a random scene. ended : the sentence with which it ended early, or nothing"""

    scene: RandomScene
    run: Run
    ended: str

    @property
    def rows(self) -> list[dict[str, np.ndarray]]:
        return self.run.told.rows_


def thrown(seed: int, simulate: str) -> Thrown:
    """Run a random scene; more than 2000 decisions or 20 000 steps would be without end."""
    scene = random_scene(seed, simulate)
    run, ended = Run(scene.text), ""
    touching: Any = run.simulator.touching
    decide, left = touching.decide, iter(range(2000))

    def counted(flow: Any) -> Any:
        assert next(left, None) is not None, "no end of decisions"
        return decide(flow)

    touching.decide = counted
    try:
        run.to(SPAN)
    except sim.SimulationError as error:
        ended = str(error)
        assert ended.startswith("t = ") and len(ended) > 40  # a sentence that says when
    assert run.simulator.flow.stepper.count[[ACCEPTED, REJECTED]].sum() < 20_000
    return Thrown(scene, run, ended)


def deepest(x: Thrown) -> float:
    """Return the least room [m] of any two bodies, or of one and the walls, in all rows.

    The width across the normal that the engine finds is a bound that holds whatever normal that is.
    """
    names = [body.name for body in x.run.scene.bodies]
    found = np.inf
    for row in x.rows:
        assert np.isfinite(row["position"]).all()
        now: list[Solid] = []
        for name, at, quat in zip(names, row["position"], row["quat_wxyz"], strict=True):
            solid = x.scene.solids[name].moved(at, Rotation.from_quat(quat, scalar_first=True).as_matrix())
            found = min(found, room_at_walls(solid))
            for other in now:
                if np.linalg.norm(solid.x - other.x) < REACH:
                    found = min(found, float(width(other, solid, meet(other, solid, 1e-3).normal)))
            now.append(solid)
    return found


REACH = 0.4  # m: bodies whose middles are further apart do not touch


def gained(x: Thrown) -> float:
    """Return the largest rise of the energy between two rows, as a share of the largest kinetic energy."""
    kinetic = np.array([row["energy/kinetic"] for row in x.rows])
    return float(np.diff(kinetic + [row["energy/potential"] for row in x.rows]).max() / kinetic.max())


@pairs
def test_event_after_event_bodies_stay_in_their_box_and_gain_nothing(pair: int) -> None:
    ended = {}
    for seed in range(pair, SEEDS * len(PAIRS), len(PAIRS)):
        x = thrown(seed, "contact: event")
        assert deepest(x) >= -PENETRATION
        assert gained(x) < 1e-7
        assert x.run.balance() < 1e-6 * max(row["energy/kinetic"] for row in x.rows)
        if x.ended:
            ended[seed] = x.ended
    assert len(ended) <= 1, ended
    for seed in ended:  # `contact: auto` goes on where events do not
        assert not thrown(seed, "contact: auto").ended


@pairs
def test_in_time_steps_bodies_stay_in_their_box(pair: int) -> None:
    """A body may get as deep as what it turns in a step takes it beyond where its points would go straight."""
    for seed in range(pair, SEEDS * len(PAIRS), len(PAIRS)):
        x = thrown(seed, "contact: stepping, dt: 1 ms")
        assert not x.ended
        assert deepest(x) >= -3e-3
        assert gained(x) < 1e-3
