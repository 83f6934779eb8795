"""A structure with its scratch, as dense arrays where Python wants to look at the whole of it.

For assembling, ranking and reporting: a few passes, no speed wanted.  The kernels fill the tables;
numpy does the linear algebra.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.kernels import dynamics, forces, inertia, jets, kinematics, observe
from sim.kernels.rows import constraints
from sim.kernels.scratch import Work
from sim.kernels.tables import OF_BALL, RATES_ONLY, Control
from sim.mechanism.dense import crossed, inertia_of, link_jacobians
from sim.mechanism.frames import Frames, Pose
from sim.mechanism.joint_motion import coordinates, rates
from sim.mechanism.model import Model
from sim.mechanism.structure import Structure
from sim.mechanism.workspace import make_work

RANK = 1e-7  # singular values below this, relative to the largest, are zero


def make_control(model: Model, laws: int = 0) -> Control:
    """Return controls at rest."""
    return Control(
        engaged=np.zeros(len(model.stops), np.int64), enabled=np.ones(laws, np.int64),
        held=np.zeros(len(model.columns)), friction=np.zeros(len(model.columns)),
        wrench=np.zeros((len(model.bodies), 6)),
        arms=np.zeros((len(model.bodies), 9)), turn=np.zeros(len(model.columns)),
        acts=np.zeros(3, np.int64), fed=np.zeros(len(model.programs.late())), failed=np.zeros(1, np.int64),
    )  # fmt: skip


@dataclass
class Mechanism:
    """One structure, its scratch and its controls.

    t : s, at which driven joints are looked at
    counts : angles of driven loop joints are counted to the turns that their motions are in; else as any other
    """

    model: Model
    structure: Structure
    work: Work
    control: Control
    t: float = 0.0
    counts: bool = True

    @classmethod
    def of(cls, model: Model, structure: Structure, control: Control | None = None, t: float = 0.0) -> Mechanism:
        """Allocate scratch for a structure."""
        work = make_work(structure.tables, structure.sizes)
        return cls(
            model,
            structure,
            work,
            control or make_control(model, len(model.programs.laws) + len(model.programs.applied)),
            t,
        )

    def update(self, q: np.ndarray, v: np.ndarray) -> None:
        """Fill poses, velocities, rows, residuals, coordinates, rates and energies at a state."""
        tables, work, control = self.structure.tables, self.work, self.control
        work.links.A[0, 3:] = -tables.one.gravity_W[0]
        kinematics.poses(tables.links, tables.freedoms, q, work.links, work.freedoms)
        kinematics.velocities(tables.links, tables.freedoms, v, work.links, work.freedoms)
        inertia.link_inertias(tables.links, work.links)
        forces.tree_columns(tables.links, q, v, work.coordinate, work.rate)
        if len(tables.blocks):
            self._follow()
            constraints.block_frames(tables.blocks, work.links, work.blocks)
        if len(tables.touches):
            from sim.kernels.rows import touches

            touches.touch_frames(work.touches, work.links, work.points, work.blocks)
        if len(tables.blocks):
            forces.loop_columns(tables.blocks, tables.columns, work.blocks, control.turn, work.coordinate, work.rate)
            constraints.build_rows(tables.blocks, tables.rows, 1, work.keeps, work.links, work.blocks, work.rows)
            if len(tables.touches):
                from sim.kernels.rows import touches

                touches.touch_rows(
                    work.touches, tables.blocks, tables.rows, 1, work.keeps, work.links, work.rows, work.points
                )
            constraints.residuals(tables.blocks, tables.rows, work.coordinate, work.blocks, work.rows)
        dynamics.body_poses(tables.links, work.links, work.bodies)
        observe.energies(
            tables.links, tables.columns, tables.stops, tables.forces, tables.points, tables.one.gravity_W,
            work.coordinate, work.rate, work.links, work.one,
        )  # fmt: skip

    def _follow(self) -> None:
        """Fill what drives want at t; the angle of a driven loop joint is counted to the turn that its motion is in."""
        tables, work = self.structure.tables, self.work
        if tables.one.driven[0]:
            jets.drive(tables.rows, tables.codes, tables.constants, tables.programs, self.t, work.jets, work.rows)
            driven = self.driven() & (np.asarray(tables.rows.locked) != OF_BALL)
            if self.counts:
                self.control.turn[tables.rows.column[driven]] = np.nan_to_num(work.rows.want[driven, 0])

    def poses(self) -> tuple[Pose, ...]:
        """Return the poses of all bodies' frames B, as last looked at."""
        return tuple(
            Pose(p.copy(), R.reshape(3, 3).copy())
            for p, R in zip(self.work.bodies.p_WB, self.work.bodies.R_WB, strict=True)
        )

    def energy(self) -> float:
        """Return the kinetic and potential energy, as last looked at [J]."""
        return float(self.work.one.kinetic[0] + self.work.one.potential[0])

    def jacobian(self) -> np.ndarray:
        """Return J (rows, nv) of all rows, rotations in rows of metres, as last looked at."""
        tables, work = self.structure.tables, self.work
        J = np.zeros((len(tables.rows), self.structure.sizes.v))
        axes, origin, place = work.freedoms.axis, work.links.x, work.blocks.p_WM
        linear, owner, blocks = tables.freedoms.linear == 1, tables.freedoms.owner, tables.blocks
        of_blocks = (blocks[name].tolist() for name in ("support", "nb", "na", "row", "rows", "second"))
        for n, (support, nb, na, row, rows, second) in enumerate(zip(*of_blocks, strict=True)):
            k, r = tables.support[support : support + nb + na], slice(row, row + rows)
            axis = axes[k]
            axis[nb:] *= -1.0
            wrench = work.rows.mate if second else work.rows.row
            moment, force = wrench[r, :3], wrench[r, 3:6]
            turning = axis @ moment.T + crossed(axis, place[n] - origin[owner[k]]) @ force.T
            turning += tables.freedoms.pitch[k][:, None] * (axis @ force.T)
            J[r, k] += np.where(linear[k][:, None], axis @ force.T, turning).T
        return J

    def loop_motion(self, n: int) -> np.ndarray:
        """Return the Jacobian (6, nv) of loop n: velocity of M against its parent, and angular velocity, world axes."""
        tables, work = self.structure.tables, self.work
        block = tables.blocks[n]
        J = np.zeros((6, self.structure.sizes.v))
        below = int(block.nb + block.na)
        k = tables.support[block.support : block.support + below]
        axis = np.where(np.arange(below) < block.nb, 1.0, -1.0)[:, None] * work.freedoms.axis[k]
        arm = work.blocks.p_WM[n] - work.links.x[tables.freedoms.owner[k]]
        sliding = tables.freedoms.linear[k][:, None] == 1
        J[:3, k] = np.where(sliding, axis, np.cross(axis, arm) + tables.freedoms.pitch[k][:, None] * axis).T
        J[3:, k] = np.where(sliding, 0.0, axis).T
        return J

    def links_around(self, n: int) -> list[int]:
        """Return the links of loop n whose tree joints are in it: down to a, then up from b; of gears, of both."""
        block = self.structure.tables.blocks[n]
        fork, parent, mate = int(block.fork), self.structure.tables.links["parent"], int(block.mate)

        def up(link: int) -> list[int]:
            path = []
            while link != fork:
                path.append(link)
                link = int(parent[link])
            return path

        own = up(int(block.a))[::-1] + up(int(block.b))
        return own if mate < 0 else list(dict.fromkeys([*own, *self.links_around(mate)]))

    def around(self, n: int) -> list[str]:
        """Return the names of the joints of loop n, the one that closes it last."""
        joint = self.structure.tables.links["joint"]
        names = [self.model.joint_names[int(joint[link])] for link in self.links_around(n)]
        return [*names, self.model.joint_names[self.structure.loops[n]]]

    def direction(self, code: int, n: int) -> np.ndarray:
        """Return the unit direction (3,) of a row or freedom of block n by its code, world axes."""
        return np.array(constraints.direction(code, self.work.blocks, n))

    def loop_frames(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return R_WF and R_WM of loop n, as last looked at."""
        blocks = self.work.blocks
        return blocks.R_WF[n].reshape(3, 3), blocks.R_WM[n].reshape(3, 3)

    def loop_rates(self, n: int) -> np.ndarray:
        """Return R (freedoms, nv) with R v the rates of the joint that closes loop n."""
        J = self.loop_motion(n)
        rows = []
        joint = self.structure.loops[n]
        for code in () if joint in self.model.constraints else self.model.type_of(joint).free:
            e = self.direction(code, n)
            rows.append(e @ (J[:3] if code < 3 else J[3:]))
        return np.array(rows).reshape(-1, J.shape[1])

    def link_jacobians(self) -> np.ndarray:
        """Return (links, 6, nv): angular velocity and velocity of every link's origin for v, as last looked at."""
        tables, work = self.structure.tables, self.work
        return link_jacobians(tables.links, tables.freedoms, work.links, work.freedoms)

    def twists(self, v: np.ndarray) -> np.ndarray:
        """Return (links, 6): angular velocity and velocity of every link's origin at rates v, as last looked at."""
        tables, work = self.structure.tables, self.work
        parent, moved = tables.links["parent"].tolist(), work.links.d
        linear = (tables.freedoms["linear"] == 1)[:, None]
        own = work.freedoms.axis * v[:, None]
        out = np.zeros((self.structure.sizes.links, 6))
        slid = np.where(linear, own, tables.freedoms["pitch"][:, None] * own)
        np.add.at(out, tables.freedoms["owner"], np.hstack([np.where(linear, 0.0, own), slid]))
        for b in range(1, len(out)):
            w, d = out[parent[b]], moved[b]
            out[b] += w
            out[b, 3] += w[1] * d[2] - w[2] * d[1]
            out[b, 4] += w[2] * d[0] - w[0] * d[2]
            out[b, 5] += w[0] * d[1] - w[1] * d[0]
        return out

    def momenta(self, v: np.ndarray) -> np.ndarray:
        """Return (links, 6): angular momentum about each link's origin and momentum at rates v."""
        I, twist = self.work.links.I, self.twists(v)  # noqa: E741
        w, u, h = twist[:, :3], twist[:, 3:], I[:, 1:4]
        xx, yy, zz, xy, xz, yz = I[:, 4:].T
        about = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=1).reshape(-1, 3, 3)
        angular = np.einsum("bij,bj->bi", about, w) + crossed(h, u)
        return np.hstack([angular, I[:, :1] * u + crossed(w, h)])

    def momentum(self, v: np.ndarray) -> np.ndarray:
        """Return M v (nv,), from the tips to the root, as last looked at."""
        tables, total = self.structure.tables, self.momenta(v)
        parent, moved = tables.links["parent"].tolist(), self.work.links.d
        for b in range(len(total) - 1, 0, -1):
            if parent[b]:
                total[parent[b]] += total[b]
                total[parent[b], :3] += crossed(moved[b], total[b, 3:])
        at = total[tables.freedoms["owner"]]
        turning = at[:, :3] + tables.freedoms["pitch"][:, None] * at[:, 3:]
        along = np.where((tables.freedoms["linear"] == 1)[:, None], at[:, 3:], turning)
        return np.sum(self.work.freedoms.axis * along, axis=1) + tables.freedoms.armature * v

    def inertia(self) -> np.ndarray:
        """Return M (nv, nv), dense, as last looked at, with armatures and what freedoms are lent."""
        tables, work = self.structure.tables, self.work
        return inertia_of(tables.links, tables.freedoms, work.links, work.freedoms)

    def determinate(self) -> np.ndarray:
        """Return (joints, 12) 1 for components of joints' wrenches that are the only ones possible, as last looked at.

        As `sim.kernels.observe.determinacy` has them; by dense linear algebra, for mechanisms that are not large.
        """
        tables, work, hard = self.structure.tables, self.work, self.hard()
        U, s, _ = np.linalg.svd(self.jacobian()[hard])
        rank = int((s > RANK * s[0]).sum()) if len(s) and s[0] > 0.0 else 0
        N = np.zeros((hard.sum() - rank, len(hard)))
        N[:, hard] = U[:, rank:].T
        work.rows.acts[:] = 1  # those that the tree alone holds are in N
        observe.determinacy(
            tables.links, tables.blocks, tables.rows, N, len(N), work.links, work.blocks, work.rows, work.joints
        )
        return np.array(work.joints.components)

    def hard(self) -> np.ndarray:
        """Return the mask of hard rows: of loops and of drives."""
        return np.asarray(self.structure.tables.rows.compliance) == 0.0

    def driven(self) -> np.ndarray:
        """Return the mask of rows of driven freedoms."""
        return np.asarray(self.structure.tables.rows.motion) >= 0

    def driven_freedoms(self) -> np.ndarray:
        """Return the mask (nv,) of freedoms of the tree that motions prescribe."""
        tables, out = self.structure.tables, np.zeros(self.structure.sizes.v, bool)
        for r in np.flatnonzero(self.driven()):
            block = tables.blocks[tables.rows.block[r]]
            if block.motor:
                link = tables.links[block.b]
                out[link.v + tables.rows.column[r] - link.column] = True
        return out

    def locked(self) -> np.ndarray:
        """Return the mask of hard rows of loops, drives left out; of constraints those that grip, too."""
        tables = self.structure.tables
        grips = np.asarray(tables.blocks.slips)[tables.rows.block] == 1
        return self.hard() & (~self.driven() | grips)

    def placed(self) -> np.ndarray:
        """Return the mask of rows of `locked` that bind places, not only rates."""
        return self.locked() & (np.asarray(self.structure.tables.rows.locked) != RATES_ONLY)

    def wanted(self) -> np.ndarray:
        """Return J v that drives want of every row, as last looked at; zero of the others."""
        rates = self.scale() * self.work.rows.want[:, 1]
        return np.where(self.driven(), rates, 0.0)

    def scale(self) -> np.ndarray:
        """Return what rows were multiplied by: metres for rotations."""
        return np.asarray(self.structure.tables.rows.scale)


def state_from_bodies(
    model: Model, structure: Structure, frames: Frames, poses: tuple[Pose, ...], V_WB: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (q, v) of a structure whose bodies stand and move so.  V_WB: (bodies, 6) at body origins."""
    q, v = np.zeros(structure.sizes.q), np.zeros(structure.sizes.v)
    for body in range(1, len(model.bodies)):
        joint = int(structure.carrier[body])
        kind, above = model.type_of(joint), int(model.joints.parent[joint])
        F = poses[above].of(Pose(frames.p_PF[joint], frames.R_PF[joint]))
        M = poses[body].of(Pose(frames.p_CM[joint], frames.R_CM[joint]))
        if kind.freedoms == 0:
            continue
        q[structure.q_of(model, joint)] = coordinates(kind, F.inverse().of(M), model.pitch_of(joint))
        w_a, w_b = V_WB[above, :3], V_WB[body, :3]
        v_M = V_WB[body, 3:] + np.cross(w_b, M.p - poses[body].p)
        v_F = V_WB[above, 3:] + np.cross(w_a, M.p - poses[above].p)
        v[structure.v_of(model, joint)] = rates(kind, F.R, M.R, w_b - w_a, v_M - v_F)
    return q, v


__all__ = ["Mechanism", "make_control", "state_from_bodies"]
