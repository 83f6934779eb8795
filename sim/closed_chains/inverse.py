"""Inverse dynamics of any chain: what actuators give in a motion, closed-chains-1999, sections 2.1 and 3.1.

    (1) W and S            `Chain`
    (2) tau_O              torques of the tree, loops opened
    (3) tau_G = W^T tau_O  (7)
    (4) S^T tau_A = tau_G  (8): `sim.closed_chains.actuation`

Then the wrenches in loop joints are those that make the difference: J_C^T f = tau_O - tau_A on all joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.closed_chains.actuation import Actuation, actuation_of, bounds_of, share, share_with_ground, weights_of
from sim.closed_chains.chain import Chain
from sim.closed_chains.reactions import by_loop, by_tree, loop_forces
from sim.closed_chains.soles import Sole, Standing, ground_of
from sim.mechanism.dense import crossed
from sim.scene.arguments import array, found

AT_BOUND = 1e-9  # of the bound, or of the largest torque: how near to it counts as there
CHEAP = 1e-3  # lengths of the scene: lever by which a force of the ground counts as a torque, where that is a choice
RANK = 1e-8  # singular values of what is given of a motion below this, relative to the largest, are zero


@dataclass(frozen=True)
class InverseDynamics:
    """What a motion takes at one state.

    Attributes
    ----------
    actuation : Actuation
        Whether it is under, exactly or over actuated, with the numbers.
    torque : (N_A,) ndarray
        tau_A in the order of ``actuation.names`` [N m, N].
    acceleration : (N_J,) ndarray
        theta_J'' of the motion, brought to the loops.
    opening : float
        How far the motion that was given would open loops: largest part of it that had to be left out [rad/s^2, m/s^2].
    tau_O : (N_J,) ndarray
        Torques of the tree with loops open, less what springs, dampers, external wrenches and the ground give; then
        what rotors of loop joints need.
    tau_G : (N_F,) ndarray
        Generalised force (7).
    residual : (N_F,) ndarray
        What of it actuators and the ground do not give, tau_G - S^T tau_A: along theta_G.
    missing : Mapping of name to number
        Along each direction that lacks actuation, named after the column that moves at unit rate in it (see
        `Actuation.along`), the force or moment that the motion needs there [N, N m]: of a free body it is a wrench.
    at_bounds : tuple of str
        Actuators whose torque is at its bound.
    wrenches : Mapping of name to (6,) ndarray
        Of each joint, of the tree and of loops, what the parent does to the child: moment about the joint's frame M and
        force, world axes, all that passes through it.  Of least norm where loops leave a choice; where there is a
        residual, as if it acted at the joints of theta_G.
    multipliers : Mapping of name to ndarray
        Of each constraint (wheels, gears) the forces of its rows.
    ground : Mapping of name to tuple of Standing
        Of each body with soles, what the ground gives to each of them: forces at the corners, their wrench, and the
        centre of pressure.
    """

    actuation: Actuation
    torque: np.ndarray
    acceleration: np.ndarray
    opening: float
    tau_O: np.ndarray
    tau_G: np.ndarray
    residual: np.ndarray
    missing: Mapping[str, float]
    at_bounds: tuple[str, ...]
    wrenches: Mapping[str, np.ndarray]
    multipliers: Mapping[str, np.ndarray]
    ground: Mapping[str, tuple[Standing, ...]]

    @property
    def torques(self) -> dict[str, float]:
        """Torques by the names of actuated columns."""
        return dict(zip(self.actuation.names, self.torque.tolist(), strict=True))


def inverse_dynamics(
    chain: Chain, acceleration: Any, actuated: str | Iterable[str], *, weights: Any = None, bounds: Any = None,
    external: Mapping[str, Any] | None = None, soles: Iterable[Sole] = (),
) -> InverseDynamics:  # fmt: skip
    """Return the torques of actuators in a motion through a state, by W and S.

    Parameters
    ----------
    chain : Chain
        The state: q and v of the motion at that instant.
    acceleration : (nv,) array_like, or mapping of joints or columns to numbers
        v' of all freedoms; or accelerations of joints that determine the motion, from which the rest follows by (19)
        and (22): those of `Chain.independent` always do.
    actuated : str or iterable of str
        Joints, or columns as ``name[0]``; loop joints, too.
    weights : (N_A,) array_like, or mapping of actuators to numbers, optional
        Where torques are a choice: those with the least sum of weight times torque squared; all 1 when not given.
    bounds : number, (N_A,), (N_A, 2) or mapping, optional
        Least and largest torque of actuators, or one number for both sides.
    external : Mapping of bodies, or of points as ``body.point``, to (6,), optional
        Wrenches from outside, as prescribed ground reactions: torque about that place [N m] and force [N], world axes.
        Of joints, or columns: torques along their freedoms that are known beside those of actuators [N m, N].
    soles : iterable of Sole, optional
        Faces that stand on the ground, which gives what the motion takes there within cones of friction, pressing only;
        so the centre of pressure is within each.  Where torques and forces are a choice, torques are the least first.

    Returns
    -------
    InverseDynamics
        Joint springs and dampers do their part, and the scene's forces where the chain was taken of a run.

    Raises
    ------
    ValueError
        With what was found and what was expected: for names that do not exist, or for accelerations that do not
        determine the motion.
    """
    actuation = actuation_of(chain, actuated)
    theta_G, opening = generalised_acceleration(chain, acceleration)
    theta_J = chain.accelerations(theta_G)
    outside, known = _outside(chain, external or {})
    tau_O = chain.torques_of_tree(theta_J) - chain.passive_joints - known
    tau_O[: len(chain.v)] -= chain.on_freedoms(outside)
    tau_G = chain.T.T @ tau_O
    limits = bounds_of(actuation, bounds)
    width, soles = weights_of(actuation, weights), tuple(soles)
    standing: dict[str, tuple[Standing, ...]] = {}
    if soles:
        ground = ground_of(chain, soles)
        price = CHEAP * chain.mechanism.model.length
        torque, numbers = share_with_ground(actuation, tau_G, chain.T.T @ ground.reaching, price, width, limits)
        standing = ground.standing(numbers)
        outside = outside + ground.wrenches(numbers, len(outside))
        tau_O = tau_O - ground.reaching @ numbers
        tau_G = chain.T.T @ tau_O
    else:
        torque = share(actuation, tau_G, width, limits)
    residual = tau_G - actuation.S.T @ torque
    left = tau_O.copy()
    left[actuation.places] -= torque
    f = loop_forces(chain, left)
    wrenches, multipliers = by_loop(chain, f)
    wrenches |= by_tree(chain, theta_J[: len(chain.v)], outside, f)
    return InverseDynamics(
        actuation, torque, theta_J, opening, tau_O, tau_G, residual,
        dict(zip(actuation.along, (actuation.directions.T @ tau_O).tolist(), strict=True)),
        _at_bounds(actuation, torque, limits), wrenches, multipliers, standing,
    )  # fmt: skip


def generalised_acceleration(chain: Chain, acceleration: Any) -> tuple[np.ndarray, float]:
    """Return theta_G'' (N_F,) of a motion that is given by v' (nv,) or by joints, and how far that would open loops.

    Raises
    ------
    ValueError
        Where what is given does not determine the motion.
    """
    if isinstance(acceleration, Mapping):
        parts = [(chain.places(name), array(f"acceleration, {name!r}", value)) for name, value in acceleration.items()]
        for (own, values), name in zip(parts, acceleration, strict=True):
            if values.shape not in ((len(own),), ()) or (values.shape == () and len(own) > 1):
                raise ValueError(f"acceleration: {name!r} has {len(own)} freedoms; found {found(values.tolist())}")
        places = np.concatenate([own for own, _ in parts]) if parts else np.zeros(0, int)
        values = np.concatenate([np.atleast_1d(values) for _, values in parts]) if parts else np.zeros(0)
    else:
        places, values = np.arange(len(chain.v)), array("acceleration", acceleration)
        if values.shape != places.shape:
            raise ValueError(f"acceleration: found shape {values.shape}; expected {places.shape}, one for each freedom")
    if not np.isfinite(values).all():
        raise ValueError("acceleration: found numbers that are not finite")
    given, wanted = chain.T[places], values - chain.drift[places]
    theta_G, _, rank, _ = np.linalg.lstsq(given, wanted, rcond=RANK)
    if rank < given.shape[1]:
        raise ValueError(
            f"acceleration: what is given determines {rank} of {given.shape[1]} freedoms; "
            f"those of {', '.join(chain.independent)} would determine all"
        )
    return theta_G, float(np.abs(given @ theta_G - wanted).max(initial=0.0))


def _outside(chain: Chain, external: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return what acts from outside: wrenches (links, 6) about the links' origins, and torques (N_J,) along theta_J'.

    The wrenches are with those of the scene's forces.
    """
    out, torque, model = chain.pushed.copy(), np.zeros(len(chain.names)), chain.mechanism.model
    for name, values in external.items():
        given = array(f"external, {name!r}", values)
        if name not in model.body_names and name not in model.point_names:
            own = _of_joint(chain, name)
            if given.shape not in ((len(own),), ()) or not np.isfinite(given).all():
                raise ValueError(f"external, {name!r}: found {found(values)}; expected {len(own)} finite torques")
            torque[own] += given
            continue
        if given.shape != (6,) or not np.isfinite(given).all():
            raise ValueError(f"external, {name!r}: found {found(values)}; expected torque and force, 6 finite numbers")
        place = chain.place(name)
        arm = place.p_W - chain.mechanism.work.links.x[place.link]
        out[place.link] += np.concatenate([given[:3] + crossed(arm, given[3:]), given[3:]])
    return out, torque


def _of_joint(chain: Chain, name: str) -> np.ndarray:
    """Return the places of a joint, or of a column, that torques from outside act on."""
    try:
        return chain.places(name)
    except ValueError:
        expected = f"a body, a point as 'body.point', a joint or a column: {', '.join(chain.names)}"
        raise ValueError(f"external: found {found(name)}; expected {expected}") from None


def _at_bounds(actuation: Actuation, torque: np.ndarray, bounds: np.ndarray | None) -> tuple[str, ...]:
    if bounds is None:
        return ()
    near = np.abs(bounds - torque[:, None]).min(axis=1) <= AT_BOUND * float(np.abs(torque).max(initial=1.0))
    return tuple(name for name, there in zip(actuation.names, near, strict=True) if there)
