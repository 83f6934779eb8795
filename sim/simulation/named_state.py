"""State by name: `simulator.coordinate["monkey.elbow_l"]`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sim.simulation.flow import Flow


class ByName(Mapping[str, Any]):
    """Values of all bodies or joints; numbers for one freedom, arrays else."""

    def __init__(self, kind: str, names: Sequence[str], value: Callable[[int], Any]):
        self._kind, self._names, self._value = kind, names, value

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(self.unknown(self._kind, name, self._names))
        return self._value(self._names.index(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @staticmethod
    def unknown(kind: str, name: str, names: Sequence[str]) -> str:
        """Return the sentence about a name that does not exist."""
        near = difflib.get_close_matches(str(name), names)
        return f"no {kind} named {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")


class Named:
    """The present state, looked at once.

    coordinate, rate : of joints, m, rad, m/s, rad/s; not-a-number where a joint is not connected
    torque, force : of joints: what acts on their freedoms; moment and force of the parent on the child
    position, rotation, velocity, angular_velocity, acceleration, angular_acceleration, com : of bodies,
        world axes; linear quantities of the body's origin, position and velocity of its points too
    length, tension, wrench : of forces that the scene names, as recordings have them
    energy : mapping of kinetic, potential, dissipated, impact, input, balance [J]
    """

    def __init__(self, flow: Flow):
        row = flow.observe()
        self._flow, self._row = flow, flow.rows.split(row[None], flow.structure, flow.ledger.impact, flow.ledger.extra)

    def _joints(self, value: Callable[[int], Any]) -> ByName:
        return ByName("joint", self._flow.model.joint_names, value)

    def _bodies(self, value: Callable[[int], Any]) -> ByName:
        return ByName("body", self._flow.model.body_names, value)

    def _column(self, array: np.ndarray) -> ByName:
        flow = self._flow
        present = flow.present()

        def value(joint: int) -> Any:
            numbers = array[flow.model.columns_of(joint)].copy()
            if joint not in present:
                numbers[:] = np.nan
            return float(numbers[0]) if len(numbers) == 1 else numbers

        return self._joints(value)

    @property
    def coordinate(self) -> ByName:
        """Coordinates of joints."""
        return self._column(self._flow.work.coordinate)

    @property
    def rate(self) -> ByName:
        """Rates of joints."""
        return self._column(self._flow.work.rate)

    @property
    def torque(self) -> ByName:
        """What controllers, springs, dampers and stops apply to joints."""
        return self._column(self._flow.work.torque)

    @property
    def stop_torque(self) -> ByName:
        """What stops, soft and rigid ones, give of the torques of joints."""
        return self._column(self._flow.work.stopping)

    @property
    def friction_torque(self) -> ByName:
        """What friction gives of the torques of joints."""
        return self._column(self._flow.work.friction)

    @property
    def force(self) -> ByName:
        """Moment about the joint and force (6,) of the parent on the child, world axes."""
        return self._joints(lambda j: self._flow.work.joints.force[j].copy())

    def _places(self, value: Callable[[int, np.ndarray], np.ndarray]) -> ByName:
        """Values at body origins, and at points by `body.point`; value(body, arm from its origin in world axes)."""
        model, R = self._flow.model, self._flow.work.bodies.R_WB
        points = {name: row for name, row in model.point_names.items() if name not in model.body_names}
        names = [*model.body_names, *points]

        def at(n: int) -> np.ndarray:
            if n < len(model.body_names):
                return value(n, np.zeros(3))
            point = model.points[points[names[n]]]
            return value(int(point.body), R[point.body].reshape(3, 3) @ point.p_B)

        return ByName("body or point", names, at)

    @property
    def position(self) -> ByName:
        """Body origins, and points by `body.point`."""
        return self._places(lambda b, arm: self._flow.work.bodies.p_WB[b] + arm)

    @property
    def rotation(self) -> ByName:
        """Body axes to world axes, (3, 3)."""
        return self._bodies(lambda b: self._flow.work.bodies.R_WB[b].reshape(3, 3).copy())

    @property
    def velocity(self) -> ByName:
        """Velocities of body origins, and of points by `body.point`."""
        V = self._flow.work.bodies.V_WB
        return self._places(lambda b, arm: V[b, 3:] + np.cross(V[b, :3], arm))

    @property
    def angular_velocity(self) -> ByName:
        """Angular velocities of bodies."""
        return self._bodies(lambda b: self._flow.work.bodies.V_WB[b, :3].copy())

    @property
    def angular_acceleration(self) -> ByName:
        """Angular accelerations of bodies."""
        return self._bodies(lambda b: self._flow.body_acceleration(b)[0])

    @property
    def acceleration(self) -> ByName:
        """Accelerations of body origins."""
        return self._bodies(lambda b: self._flow.body_acceleration(b)[1])

    @property
    def com(self) -> ByName:
        """Centres of mass of bodies."""
        return self._bodies(lambda b: self._flow.work.bodies.com[b].copy())

    def _forces(self, name: str) -> ByName:
        model, values = self._flow.model, self._row[f"forces/{name}"][0]
        return ByName("force", [force.name for force in model.scene.forces], lambda f: values[f].copy())

    @property
    def length(self) -> ByName:
        """Lengths of springs, angles of torsion springs."""
        return self._forces("length")

    @property
    def tension(self) -> ByName:
        """Tensions of springs, torques of torsion springs, against growing length or angle."""
        return self._forces("tension")

    @property
    def wrench(self) -> ByName:
        """Torque and force (6,), world axes, on the body of a wrench, a drag or a spring's `to`."""
        return self._forces("wrench")

    @property
    def connected(self) -> tuple[str, ...]:
        """Names of the joints that are connected."""
        names = self._flow.model.joint_names
        return tuple(names[j] for j in sorted(self._flow.present()))

    @property
    def energy(self) -> dict[str, float]:
        """Energies [J]."""
        return self._flow.energies()


class ReadByName:
    """What a run lets read of its present state by name; each read looks at it anew."""

    @property
    def state(self) -> Named:
        """Everything about the present state, by name, looked at once."""
        raise NotImplementedError

    @property
    def coordinate(self) -> ByName:
        """Coordinates of joints."""
        return self.state.coordinate

    @property
    def rate(self) -> ByName:
        """Rates of joints."""
        return self.state.rate

    @property
    def torque(self) -> ByName:
        """What controllers, springs, dampers and stops apply to joints."""
        return self.state.torque

    @property
    def stop_torque(self) -> ByName:
        """What stops, soft and rigid ones, give of the torques of joints."""
        return self.state.stop_torque

    @property
    def friction_torque(self) -> ByName:
        """What friction gives of the torques of joints."""
        return self.state.friction_torque

    @property
    def force(self) -> ByName:
        """Moment about the joint and force (6,) of the parent on the child, world axes."""
        return self.state.force

    @property
    def position(self) -> ByName:
        """Body origins, and points by `body.point`."""
        return self.state.position

    @property
    def rotation(self) -> ByName:
        """Body axes to world axes, (3, 3)."""
        return self.state.rotation

    @property
    def velocity(self) -> ByName:
        """Velocities of body origins, and of points by `body.point`."""
        return self.state.velocity

    @property
    def angular_velocity(self) -> ByName:
        """Angular velocities of bodies."""
        return self.state.angular_velocity

    @property
    def angular_acceleration(self) -> ByName:
        """Angular accelerations of bodies."""
        return self.state.angular_acceleration

    @property
    def acceleration(self) -> ByName:
        """Accelerations of body origins."""
        return self.state.acceleration

    @property
    def com(self) -> ByName:
        """Centres of mass of bodies."""
        return self.state.com

    @property
    def length(self) -> ByName:
        """Lengths of springs, angles of torsion springs."""
        return self.state.length

    @property
    def tension(self) -> ByName:
        """Tensions of springs, torques of torsion springs, against growing length or angle."""
        return self.state.tension

    @property
    def wrench(self) -> ByName:
        """Torque and force (6,), world axes, on the body of a wrench, a drag or a spring's `to`."""
        return self.state.wrench

    @property
    def connected(self) -> tuple[str, ...]:
        """Names of the joints that are connected."""
        return self.state.connected

    @property
    def energy(self) -> dict[str, float]:
        """Energies [J]."""
        return self.state.energy
