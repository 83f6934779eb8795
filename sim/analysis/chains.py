"""`sim.chain`: the quantities of the papers by name, of a run as it is now, of a state, or of any pose of a scene."""

from __future__ import annotations

import os
from typing import Any

from sim.closed_chains.chain import Chain
from sim.mechanism.compiler import compile
from sim.mechanism.model import Model
from sim.scene.arguments import scene_of, seconds
from sim.scene.spec import Scene
from sim.simulation.dynamics_of_now import chain_of
from sim.simulation.simulator import Simulator
from sim.simulation.state import State


def chain(
    of: Simulator | Model | Scene | str | os.PathLike[str], state: State | None = None, *, q: Any = None,
    v: Any = None, at: float | None = None, preferred: Any = None,
) -> Chain:  # fmt: skip
    """Return the dynamics of closed-chains-1999 at one state: M, J_C, H, W, S, A, b and more by name.

    Parameters
    ----------
    of : Simulator, Model, Scene or path
        A run as it is now; else a run that begins where the scene starts.
    state : State, optional
        Where the run is to be: what `Simulator.snapshot` returned.
    q, v : (nq,), (nv,) array_like, optional
        Other coordinates and rates of the tree, taken as they are: they are to fit the loops.
    at : float, optional
        Time to which the run goes first [s].
    preferred : array_like of int, optional
        Columns that were dependent before: they remain so where they can.

    Returns
    -------
    Chain
        A value: the run is as it was, and may go on.  Beside the structure of now it has the forces that act at points
        and the accelerations that the run finds.

    Raises
    ------
    SceneError, SimulationError, StateError
    ValueError
        With what was found and what was expected.
    """
    simulator, own = (of, False) if isinstance(of, Simulator) else (_simulator(of), True)
    if (state is not None or q is not None or v is not None or at is not None) and not own:
        simulator, own = _twin(simulator), True
    if state is not None:
        simulator.restore(state)
    if at is not None:
        simulator.advance(seconds("at", at))
    flow = simulator.flow
    if q is not None or v is not None:
        given = Chain(flow.mechanism, flow.q if q is None else q, flow.v if v is None else v)
        flow.q[:], flow.v[:] = given.q, given.v
    return chain_of(flow, preferred)


def _simulator(of: Any) -> Simulator:
    return Simulator(of if isinstance(of, Model) else compile(scene_of(of)))


def _twin(simulator: Simulator) -> Simulator:
    """Return another run that is where this one is."""
    twin = Simulator(simulator.model, seed=simulator.seed)
    twin.restore(simulator.snapshot())
    return twin
