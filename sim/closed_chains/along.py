"""Inverse dynamics of a whole motion, frame by frame in one kernel; see `sim.closed_chains.inverse` for one state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.closed_chains.actuation import Actuation, actuation_of, bounds_of, weights_of
from sim.closed_chains.chain import Chain
from sim.closed_chains.inverse import inverse_dynamics
from sim.kernels.orthogonal import Factors
from sim.kernels.tables import TORSION
from sim.kernels.torque_shares import Actuators, Parts, Room, Shared, shares_along
from sim.kernels.tree_torques import torques_along
from sim.mechanism.mechanism import Mechanism
from sim.scene.arguments import array

REACHED = 1e-9  # of the largest torque of the tree in the motion: what is missing below this is roundoff


@dataclass(frozen=True)
class InverseMotion:
    """Torques of actuators along a motion.

    Attributes
    ----------
    actuation : Actuation
        Of the first frame, with the names of the actuators.
    torque : (frames, N_A) ndarray
        tau_A of each frame in the order of ``actuation.names`` [N m, N].
    reached : (frames,) ndarray of bool
        Whether the actuators make the motion: within bounds, and with all that lacks actuation at rest in power.
    opening : (frames, 2) ndarray
        How fast the motion opens loops at most, and how fast that grows, where it does not fit them: of rows, with
        rotations times the scene's length [m/s, m/s^2].
    missing : (frames, N_F - rank) ndarray
        Along each direction of ``actuation.along``, the force or moment that the motion needs there and actuators do
        not give [N, N m]; zero where they make the motion.
    """

    actuation: Actuation
    torque: np.ndarray
    reached: np.ndarray
    opening: np.ndarray
    missing: np.ndarray


def inverse_motion(
    chain: Chain, q: Any, v: Any, acceleration: Any, actuated: str | Iterable[str], *, weights: Any = None,
    bounds: Any = None, external: Mapping[str, Any] | None = None, wrenches: Any = None,
) -> InverseMotion:  # fmt: skip
    """Return the torques of actuators along a motion of all freedoms, which is taken as it is.

    Where it is out of reach of actuators or beyond bounds, a frame is what `inverse_dynamics` makes of it.

    Parameters
    ----------
    chain : Chain
        Of the same structure; its state is of no concern.
    q, v, acceleration : (frames, nq), (frames, nv), (frames, nv) array_like
        Coordinates, rates and v' of the tree, that fit the loops.
    actuated, weights, bounds
        As of `inverse_dynamics`.
    external : Mapping of names to (frames, k), optional
        What `inverse_dynamics` takes, of each frame.
    wrenches : (frames, forces, 6) array_like, optional
        What the scene's forces do, as recordings have it: a motion does not tell it.

    Raises
    ------
    ValueError
        With what was found and what was expected; also for scenes with forces at points and no `wrenches`.
    """
    mechanism = chain.mechanism
    motion = _motion(mechanism, q, v, acceleration)
    count = len(q)
    outside = _along(external or {}, count)
    if wrenches is None and any(force.kind != TORSION for force in mechanism.structure.tables.forces):
        raise ValueError("chain: its scene has forces at points; expected `wrenches`, what they do in each frame")
    first = Chain(mechanism, motion[0][0], motion[1][0]) if count else chain
    actuation = actuation_of(first, actuated)
    width, limits = weights_of(actuation, weights), bounds_of(actuation, bounds)
    missing = np.zeros((count, len(actuation.along)))
    if _plain(mechanism, chain) and not outside and wrenches is None:
        torque, lacking, opening = _by_kernel(chain, motion, actuation, width)
        reached = lacking <= REACHED * float(np.abs(torque).max(initial=1.0))
    else:
        torque, opening = np.zeros((count, len(actuation.names))), np.zeros((count, 2))
        reached = np.zeros(count, bool)
    if limits is not None:
        reached &= np.all((limits[:, 0] <= torque) & (torque <= limits[:, 1]), axis=1)
    for s in np.flatnonzero(~reached):
        here = Chain(mechanism, motion[0][s], motion[1][s])
        if wrenches is not None:
            here = here.of_run(np.asarray(wrenches[s], float))
        acts = {name: values[s] for name, values in outside.items()}
        found = inverse_dynamics(here, motion[2][s], actuation.names, weights=width, bounds=limits, external=acts)
        torque[s] = found.torque
        missing[s] = [found.missing.get(name, 0.0) for name in actuation.along]
        size = float(np.abs(found.tau_G).max(initial=1.0))
        reached[s] = float(np.abs(found.residual).max(initial=0.0)) <= 1e-8 * size
        opening[s] = _opening(here, motion[2][s])
    return InverseMotion(actuation, torque, reached, opening, missing)


def _opening(chain: Chain, acceleration: np.ndarray) -> list[float]:
    """Return how fast rows of loops open at most, and how fast that grows, as the kernel finds it of frames."""
    rows = _rows_of_loops(chain.mechanism)
    J, gamma = chain.mechanism.jacobian()[rows], chain.mechanism.work.rows.gamma[rows]
    return [float(np.abs(part).max(initial=0.0)) for part in (J @ chain.v, J @ acceleration - gamma)]


def _rows_of_loops(mechanism: Mechanism) -> np.ndarray:
    """Return the rows that bind loops and constraints, without those of points of contact."""
    bound = np.flatnonzero(mechanism.locked())
    return bound[mechanism.structure.tables.rows.block[bound] < len(mechanism.structure.loops)]


def _along(external: Mapping[str, Any], frames: int) -> dict[str, np.ndarray]:
    """Return what acts from outside by name, (frames, k)."""
    out = {}
    for name, values in external.items():
        given = array(f"external, {name!r}", values)
        if given.ndim != 2 or len(given) != frames:
            raise ValueError(f"external, {name!r}: found shape {given.shape}; expected ({frames}, numbers)")
        out[name] = given
    return out


def torques_of_tree(chain: Chain, q: Any, v: Any, acceleration: Any) -> np.ndarray:
    """Return M v' + bias + gravity (frames, nv) of the tree along a motion, as `Chain.torques_of_tree` with loops open.

    By recursion along the tree, without M.

    Parameters
    ----------
    chain, q, v, acceleration
        As of `inverse_motion`.
    """
    mechanism = Mechanism.of(chain.mechanism.model, chain.mechanism.structure)
    motion, tables, work = _motion(mechanism, q, v, acceleration), mechanism.structure.tables, mechanism.work
    torque = np.zeros_like(motion[1])
    gravity = np.array(tables.one.gravity_W[0])
    torques_along(tables.links, tables.freedoms, gravity, motion, work.links, work.freedoms, torque)
    return np.asarray(torque + chain.armature[: len(chain.v)] * motion[2])


def _motion(mechanism: Mechanism, q: Any, v: Any, acceleration: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sizes, out = mechanism.structure.sizes, list[np.ndarray]()
    for name, values, width in (("q", q, sizes.q), ("v", v, sizes.v), ("acceleration", acceleration, sizes.v)):
        given = np.ascontiguousarray(array(name, values))
        if given.ndim != 2 or given.shape[1] != width or (out and len(given) != len(out[0])):
            raise ValueError(
                f"{name}: found shape {given.shape}; expected ({len(out[0]) if out else 'frames'}, {width})"
            )
        bad = np.flatnonzero(~np.isfinite(given).all(axis=1))
        if len(bad):
            raise ValueError(f"{name}: frame {bad[0]} has numbers that are not finite")
        out.append(given)
    return out[0], out[1], out[2]


def _plain(mechanism: Mechanism, chain: Chain) -> bool:
    """Tell whether the kernel has all that acts: no rotors in loop joints, and no torsion springs."""
    return not chain.armature[len(chain.v) :].any() and not len(mechanism.structure.tables.forces)


def _by_kernel(
    chain: Chain, motion: tuple[np.ndarray, np.ndarray, np.ndarray], actuation: Actuation, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return torques (frames, N_A), what is missing (frames,), and openings (frames, 2)."""
    mechanism, nv = Mechanism.of(chain.mechanism.model, chain.mechanism.structure), len(chain.v)
    tables, work, model = mechanism.structure.tables, mechanism.work, mechanism.model
    in_tree = actuation.places < nv
    driven, of_loops = actuation.places[in_tree], chain.columns[actuation.places[~in_tree]]
    width = np.ones(len(actuation.places)) if weights is None else np.sqrt(weights)
    order = np.concatenate([np.flatnonzero(in_tree), np.flatnonzero(~in_tree)])
    loops = mechanism.structure.loops
    actuators = Actuators(
        free=np.setdiff1d(np.arange(nv), driven), driven=driven, rows=_rows_of_loops(mechanism),
        block=np.array([loops.index(int(model.columns.joint[c])) for c in of_loops], np.int64), column=of_loops,
        weight=width[order],
    )  # fmt: skip
    parts = Parts(
        tables.links, tables.freedoms, model.columns, tables.blocks, tables.rows, tables.support,
        np.array(tables.one.gravity_W[0]), work.links, work.freedoms, work.blocks, work.rows, work.keeps,
    )  # fmt: skip
    shared = _shared(len(motion[0]), len(order))
    shares_along(parts, motion, actuators, _room(actuators, len(tables.rows), nv, len(model.columns)), shared)
    torque = np.zeros_like(shared.torque_out)
    torque[:, order] = shared.torque_out
    return torque, shared.missing_out, shared.opening_out


def _shared(frames: int, actuators: int) -> Shared:
    return Shared(np.zeros((frames, actuators)), np.zeros(frames), np.zeros((frames, 2)))


def _room(actuators: Actuators, rows: int, nv: int, columns: int) -> Room:
    unknowns, given = len(actuators.rows) + len(actuators.block), len(actuators.weight)
    return Room(
        torque=np.zeros(nv), J=np.zeros((rows, nv)), G=np.zeros((unknowns, nv)), Z=np.zeros((unknowns, unknowns)),
        z=np.zeros(unknowns), coordinate=np.zeros(columns), rate=np.zeros(columns), turn=np.zeros(columns),
        equations=_factors(len(actuators.free), unknowns), squares=_factors(given, unknowns),
    )  # fmt: skip


def _factors(rows: int, columns: int) -> Factors:
    most = max(rows, columns) + 1
    return Factors(
        np.zeros((rows, columns)), np.zeros(columns), np.zeros(columns), np.zeros(most), np.zeros(most),
        np.zeros(columns + 1, np.int64),
    )  # fmt: skip
