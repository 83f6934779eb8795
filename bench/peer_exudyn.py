"""Exudyn beside us, through `SolveDynamic`, modelled and solved as its documentation and examples do.

Two forms of a mechanism, both from its documentation: *bodies*, each with its own coordinates, held by
joints (in the plane: its planar bodies and joints); and a *tree* of minimal coordinates (a kinematic
tree), loops closed by joints between its links.  Solvers: generalised alpha (index 3) and trapezoidal
(index 2), both implicit, for everything; explicit Runge-Kutta for trees without loops alone, since its
explicit solvers take no joints.  Loops that repeat rows need the dense solver with
`ignoreSingularJacobian`.  Nothing is written, nothing is printed, range checks are off (`exudynFast`),
and of its settings for Newton's method and linear systems those are taken that are fastest here (`tune`).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import math
import sys
import time
from typing import Any

import numpy as np

from bench.mechanism import Body, Joint, Mechanism

IMPLICIT = ("GeneralizedAlpha", "TrapezoidalIndex2")
EXPLICIT = ("RK44", "RK67", "DOPRI5")  # the last chooses its steps
ADAPTIVE = ("DOPRI5",)
FIRST = 1e-6  # share of the time that the first step of these takes
DAMPING = 0.9  # spectral radius of generalised alpha at infinity; with 1 its index 3 does not converge
GENERIC = {  # rows of a joint between two links: translations along its axes, rotations about them
    "rotational": (1, 1, 1, 1, 1, 0),
    "translational": (1, 1, 0, 1, 1, 1),
    "spherical": (1, 1, 1, 0, 0, 0),
    "fixed": (1, 1, 1, 1, 1, 1),
}
IN_THE_PLANE = (1, 1, 0, 0, 0, 0)
LINEAR = ("EXUdense", "EigenDense", "EigenSparse")
TRIES = 3
FORGIVING = "EigenDense"  # the one that can leave out rows that repeat others


class Diverged(RuntimeError):
    """A run that Exudyn gave up."""


def load() -> Any:
    """Import Exudyn, quietly and without range checks, as its documentation recommends for speed."""
    sys.exudynFast = True  # type: ignore[attr-defined]
    with contextlib.redirect_stdout(io.StringIO()):  # it says which of its modules it imported
        import exudyn
        import exudyn.utilities
    exudyn.config.printToConsole = False
    return exudyn


class Exudyn:
    """A mechanism in Exudyn, in one of its forms; each run begins at the start.

    form : "bodies" or "tree"
    redundant : whether rows of its loops repeat others

    Raises
    ------
    ImportError
        When Exudyn is not installed.
    """

    def __init__(self, mechanism: Mechanism, form: str = "bodies", *, redundant: bool = False):
        self.exu = load()
        self.version = importlib.metadata.version("exudyn")
        self.mechanism, self.form, self.redundant = mechanism, form, redundant
        self.container = self.exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        self.ground = self.mbs.CreateGround()
        self.items = [self.ground]
        if form == "tree":
            self._add_tree()
        else:
            for i, body in enumerate(mechanism.bodies, start=1):
                self._add_body(i, body)
            for joint in mechanism.joints:
                self._join(joint)
        self._add_forces()
        self.points = [self._marker(body, place) for body, place in mechanism.points]
        self.coms = [self._marker(i, body.com) for i, body in enumerate(mechanism.bodies, start=1)]
        self.mbs.Assemble()
        self.options: dict[str, tuple[bool, str]] = {}  # by solver: a new Jacobian at each step, the linear solver

    # --- bodies with coordinates of their own ------------------------------------------------------

    def _add_body(self, i: int, body: Body) -> None:
        """Add a body whose frame has world axes and the centre of mass at the start."""
        if not body.inertia.any():  # a point mass
            item = self.mbs.CreateMassPoint(
                referencePosition=body.com, initialVelocity=body.velocity, mass=body.mass,
                gravity=self.mechanism.gravity, create2D=self.mechanism.planar,
            )  # fmt: skip
        else:
            item = self.mbs.CreateRigidBody(
                referencePosition=body.com, initialVelocity=body.velocity, initialAngularVelocity=body.spin,
                inertia=self.exu.utilities.RigidBodyInertia(body.mass, body.inertia), gravity=self.mechanism.gravity,
                nodeType=self.exu.NodeType.RotationRotationVector, create2D=self.mechanism.planar,
            )  # fmt: skip
        self.items.append(item)

    def _join(self, joint: Joint) -> None:
        mbs, pair = self.mbs, [self.items[joint.a], self.items[joint.b]]
        if joint.kind == "free":
            return
        child = self.mechanism.bodies[joint.b - 1]
        if not child.inertia.any():  # a point mass on a rod without mass, as in its own pendulum
            mbs.CreateDistanceConstraint(itemNumbers=pair, localPosition0=self._local(joint.a, joint.position))
        elif self.mechanism.planar:
            markers = [self._marker(body, joint.position) for body in (joint.a, joint.b)]
            mbs.AddObject(self.exu.itemInterface.RevoluteJoint2D(markerNumbers=markers))
        elif joint.kind == "rotational" and not (self.redundant and not joint.tree):
            mbs.CreateRevoluteJoint(itemNumbers=pair, position=joint.position, axis=joint.axes[:, 2], show=False)
        elif joint.kind == "spherical":
            mbs.CreateSphericalJoint(itemNumbers=pair, position=joint.position, show=False)
        else:
            mbs.CreateGenericJoint(
                itemNumbers=pair, position=joint.position, rotationMatrixAxes=joint.axes,
                constrainedAxes=list(GENERIC[joint.kind]), show=False,
            )  # fmt: skip

    def _local(self, body: int, place: np.ndarray) -> np.ndarray:
        return place - self.mechanism.bodies[body - 1].com if body else place

    # --- a kinematic tree ----------------------------------------------------------------------------

    def _add_tree(self) -> None:
        """Add links whose frames are their joints' at the start, z the axis."""
        exu, links = self.exu, self.mechanism.tree
        self.carrier = {joint.b: joint for joint in links}
        kinds = {"rotational": exu.JointType.RevoluteZ, "translational": exu.JointType.PrismaticZ}
        item = exu.itemInterface
        node = self.mbs.AddNode(
            item.NodeGenericODE2(
                referenceCoordinates=[0.0] * len(links), initialCoordinates=[0.0] * len(links),
                initialCoordinates_t=[float(self.mechanism.rate(joint)[0]) for joint in links],
                numberOfODE2Coordinates=len(links),
            )
        )  # fmt: skip
        turns, offsets, coms, inertias = exu.Matrix3DList(), exu.Vector3DList(), exu.Vector3DList(), exu.Matrix3DList()
        for joint in links:
            p, R = self._frame(joint.a)
            body = self.mechanism.bodies[joint.b - 1]
            turns.Append(R.T @ joint.axes)
            offsets.Append(R.T @ (joint.position - p))
            coms.Append(joint.axes.T @ (body.com - joint.position))
            inertias.Append(joint.axes.T @ body.inertia @ joint.axes)
        self.items.append(
            self.mbs.AddObject(
                item.ObjectKinematicTree(
                    nodeNumber=node, jointTypes=[kinds[joint.kind] for joint in links],
                    linkParents=[joint.a - 1 for joint in links], jointTransformations=turns, jointOffsets=offsets,
                    linkInertiasCOM=inertias, linkCOMs=coms, gravity=self.mechanism.gravity,
                    linkMasses=[self.mechanism.bodies[joint.b - 1].mass for joint in links],
                    jointForceVector=[joint.torque for joint in links],
                )
            )
        )  # fmt: skip
        for joint in self.mechanism.loops:
            rows = IN_THE_PLANE if self.mechanism.planar else GENERIC[joint.kind]
            markers = [self._marker(body, joint.position, joint.axes) for body in (joint.a, joint.b)]
            self.mbs.AddObject(item.GenericJoint(markerNumbers=markers, constrainedAxes=list(rows)))

    def _frame(self, link: int) -> tuple[np.ndarray, np.ndarray]:
        return (self.carrier[link].position, self.carrier[link].axes) if link else (np.zeros(3), np.eye(3))

    # --- what acts ---------------------------------------------------------------------------------

    def _marker(self, body: int, place: np.ndarray, axes: np.ndarray | None = None) -> int:
        """Return the marker of a body at a place of the world at the start, with axes (3, 3) where a joint has some."""
        item, exu = self.exu.itemInterface, self.exu
        if body and self.form == "tree":
            p, R = self._frame(body)
            frame = exu.HT(rotation=R.T @ axes if axes is not None else np.eye(3), translation=R.T @ (place - p))
            marker = item.MarkerKinematicTreeRigid(objectNumber=self.items[1], linkNumber=body - 1, localHT=frame)
        elif body and not self.mechanism.bodies[body - 1].inertia.any():
            marker = item.MarkerBodyPosition(bodyNumber=self.items[body])
        else:
            frame = exu.HT(rotation=axes if axes is not None else np.eye(3), translation=self._local(body, place))
            marker = item.MarkerBodyRigid(bodyNumber=self.items[body], localHT=frame)
        return int(self.mbs.AddMarker(marker))

    def _add_forces(self) -> None:
        for spring in self.mechanism.springs:
            self.mbs.CreateSpringDamper(
                itemNumbers=[self.exu.MarkerIndex(self._marker(spring.a, spring.p_a)),
                             self.exu.MarkerIndex(self._marker(spring.b, spring.p_b))],
                referenceLength=spring.length, stiffness=spring.stiffness, damping=spring.damping, show=False,
            )  # fmt: skip
        for joint in self.mechanism.joints if self.form == "bodies" else ():
            if joint.torque and joint.a:
                raise ValueError(f"{joint.name}: torques between two moving bodies are not told to Exudyn")
            if joint.torque:
                self.mbs.CreateTorque(itemNumber=self.items[joint.b], loadVector=joint.torque * joint.axes[:, 2])

    # --- running -----------------------------------------------------------------------------------

    @property
    def solvers(self) -> tuple[str, ...]:
        """The solvers that this model can be given."""
        explicit = self.form == "tree" and not self.mechanism.loops
        return IMPLICIT + EXPLICIT if explicit else IMPLICIT

    def settings(self, solver: str, until: float, steps: int, tolerance: float | None = None) -> Any:
        """Return settings: `steps` equal steps to `until` [s], or steps that keep to a tolerance."""
        out = self.exu.SimulationSettings()
        out.solution.file.write = False
        out.solution.sensors.active = False
        integration = out.timeIntegration
        integration.endTime, integration.numberOfSteps = until, steps
        integration.solverType = getattr(self.exu.DynamicSolverType, solver)
        integration.adaptiveStep = integration.automaticStepSize = solver in ADAPTIVE
        if solver in ADAPTIVE:
            integration.initialStepSize = FIRST * until  # begun with the longest, a stiff run never comes back
        if tolerance is not None:
            integration.absoluteTolerance = integration.relativeTolerance = tolerance
        integration.generalizedAlpha.spectralRadius = DAMPING
        integration.generalizedAlpha.computeInitialAccelerations = True
        integration.newton.useModifiedNewton = True
        update, linear = self.options.get(solver, (False, FORGIVING if self.redundant else LINEAR[0]))
        integration.newton.modifiedNewtonJacUpdatePerStep = update
        out.linearSolver.solverType = getattr(self.exu.LinearSolverType, linear)
        out.linearSolver.ignoreSingularJacobian = self.redundant
        return out

    def tune(self, solver: str, until: float, steps: int) -> None:
        """Keep the fastest options of an implicit solver, each timed a few times."""
        found = {}
        for option in [(update, linear) for update in (False, True) for linear in LINEAR]:
            if solver not in IMPLICIT or (self.redundant and option[1] != FORGIVING):
                continue
            self.options[solver] = option
            settings = self.settings(solver, until, steps)
            try:
                found[option] = min(self._timed(settings) for _ in range(TRIES))
            except Diverged:
                continue
        self.options.pop(solver, None)
        if found:
            self.options[solver] = min(found, key=lambda option: found[option])

    def run(self, settings: Any) -> None:
        """Run from the start.

        Raises
        ------
        Diverged
            When Exudyn gives up.
        """
        try:
            self.mbs.SolveDynamic(settings, storeSolver=False, showCausingItems=False)
        except self.exu.ExudynError as error:
            raise Diverged(f"exudyn: {error}") from None

    def _timed(self, settings: Any) -> float:
        began = time.perf_counter()
        self.run(settings)
        return time.perf_counter() - began

    # --- what came out -----------------------------------------------------------------------------

    def positions(self) -> np.ndarray:
        """Return where the points are now (count, 3) [m]."""
        return self.states()[:, :3]

    def states(self) -> np.ndarray:
        """Return where the points are now and how they move (count, 6) [m, m/s]."""
        kinds, ask = self.exu.OutputVariableType, self.mbs.GetMarkerOutput
        return np.array([[*ask(m, kinds.Position), *ask(m, kinds.Velocity)] for m in self.points])

    def energy(self) -> float:
        """Return kinetic and potential energy now [J], springs left out."""
        exu, kinds = self.mbs, self.exu.OutputVariableType
        total = 0.0
        for i, (body, marker) in enumerate(zip(self.mechanism.bodies, self.coms, strict=True), start=1):
            p, v = (exu.GetMarkerOutput(marker, kind) for kind in (kinds.Position, kinds.Velocity))
            total += body.mass * (0.5 * v @ v - self.mechanism.gravity @ p)
            if body.inertia.any():
                R = self._frame(i)[1] if self.form == "tree" else np.eye(3)
                w = R @ exu.GetMarkerOutput(marker, kinds.AngularVelocityLocal)
                total += 0.5 * w @ body.inertia @ w
        return float(total)

    def worst_energy(self, settings: Any, looks: int = 100) -> float:
        """Run from the start and return how far the energy was from that of the start, at worst of some looks [J]."""
        until = settings.timeIntegration.endTime
        start, worst, seen = self.mechanism.energy(), 0.0, 0

        def look(_: Any, t: float) -> bool:
            nonlocal worst, seen
            now = math.floor(looks * t / until + 1e-9)
            if now > seen:
                seen, worst = now, max(worst, abs(self.energy() - start))
            return True

        self.mbs.SetPostStepUserFunction(look)
        try:
            self.run(settings)
        finally:
            self.mbs.SetPostStepUserFunction(0)
        return max(worst, abs(self.energy() - start))
