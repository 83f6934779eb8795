"""What the benchmarks compare is the same mechanism: accelerations agree with the peers'."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.peers import needs

COUNT = 6


@pytest.fixture(scope="module", params=[False, True], ids=["no_loops", "two_loops"])
def prepared(request):
    from bench import forward_dynamics
    from bench.ours import Engine

    engine = Engine(forward_dynamics.SCENE, loops=request.param)
    states = engine.random_states(COUNT, seed=3)
    engine.choose(states)
    return engine, states


def test_figure_is_the_one_of_the_prototype(prepared):
    engine, _ = prepared
    figure = engine.figure
    assert figure.nv == 58
    assert len(figure.links) == 21
    assert len(figure.loops) in (0, 2)
    assert sum(link.mass for link in figure.links) == pytest.approx(10 + 20 + 4 + 2 * (3 + 2 + 0.5) * 2 + 6 * 0.3)


def test_random_states_differ_and_are_closed(prepared):
    engine, states = prepared
    assert states.q.shape == (COUNT, engine.figure.nq)
    assert np.abs(np.diff(states.q, axis=0)).max(axis=1).min() > 0.1
    mechanism = engine.flow.mechanism
    for q, v in zip(states.q, states.v, strict=True):
        mechanism.update(q, v)
        if engine.figure.loops:
            assert np.abs(mechanism.work.rows.phi).max() < 1e-13
            assert np.abs(mechanism.jacobian() @ v).max() < 1e-12


@needs("pinocchio")
def test_accelerations_agree_with_pinocchio(prepared):
    from bench import forward_dynamics
    from bench.peer_pinocchio import Pinocchio

    engine, states = prepared
    peer = Pinocchio(engine.figure, states)
    ours = engine.accelerations(states)
    assert forward_dynamics.difference(ours, peer.accelerations()) < 1e-10
    if engine.figure.loops:
        assert peer.largest_gap(ours) < 1e-12
        assert peer.largest_gap(ours + 1e-3) > 1e-6
    assert peer.run(2) == peer.run_empty(2) == engine.repeat(states, 2) == 2 * COUNT


@needs("mujoco")
def test_accelerations_agree_with_mujoco_without_loops(prepared):
    from bench import forward_dynamics
    from bench.peer_mujoco import STEPS, Mujoco

    engine, states = prepared
    peer = Mujoco(engine.figure, states)
    apart = forward_dynamics.difference(engine.accelerations(states), peer.accelerations())
    if engine.figure.loops:  # soft: another motion, but not far from ours
        assert 1e-9 < apart < 1.0
    else:
        assert apart < 1e-10
    assert peer.run(1) == STEPS * COUNT


@needs("pinocchio")
def test_another_mechanism_is_refused(prepared):
    from bench import forward_dynamics
    from bench.peer_pinocchio import Pinocchio

    engine, states = prepared
    links = list(engine.figure.links)
    links[-1] = replace(links[-1], mass=1.001 * links[-1].mass)
    wrong = Pinocchio(replace(engine.figure, links=tuple(links)), states)
    with pytest.raises(forward_dynamics.Disagreement, match="accelerations differ"):
        forward_dynamics.check(engine, states, wrong)
