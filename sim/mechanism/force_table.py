"""The forces that a scene names, as the table that kernels read."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim.kernels.tables import DRAG, FORCE, SPRING, TORSION, WRENCH, table
from sim.mechanism.formula_programs import Programs
from sim.mechanism.frames import Pose
from sim.scene.spec import Drag, Expression, Scene, Spring, TorsionSpring, Wrench


def compile_forces(scene: Scene, poses: tuple[Pose, ...], points: Any, programs: Programs) -> Any:
    """Return the table of a scene's forces; the formulas of wrenches are entered into the programs.

    poses : of bodies in the drawing, where springs without a length are free
    """
    out, names = table(FORCE, len(scene.forces)), programs.names
    out.a = out.b = out.programs = -1
    for f, force in enumerate(scene.forces):
        if isinstance(force, Spring):
            a, b = (names.point(end) for end in force.ends)
            p, q = (poses[points.body[n]].p + poses[points.body[n]].R @ points.p_B[n] for n in (a, b))
            out.kind[f], out.a[f], out.b[f], out.stiffness[f], out.damping[f] = (
                SPRING, a, b, force.stiffness, force.damping,
            )  # fmt: skip
            out.rest[f] = np.linalg.norm(q - p) if force.length is None else force.length
            names.springs[force.name] = out[f]
        elif isinstance(force, TorsionSpring):
            out.kind[f], out.turns[f] = TORSION, force.turns
            out.column[f] = names.columns[force.joint].start + force.freedom
            out.stiffness[f], out.damping[f], out.rest[f] = force.stiffness, force.damping, force.rest
        elif isinstance(force, Drag):
            out.kind[f], out.a[f] = DRAG, names.point(f"{force.body}.{force.point}")
            out.damping[f], out.quadratic[f] = force.linear, force.quadratic
            out.turning_damping[f], out.turning_quadratic[f] = force.turning_linear, force.turning_quadratic
        else:
            out.kind[f], out.a[f] = WRENCH, names.point(f"{force.body}.{force.point}")
            out.b[f] = -1 if force.reaction is None else names.point(force.reaction)
            out.turned[f] = int(force.frame == "body")
    for f, force in enumerate(scene.forces):  # their formulas may read any spring
        if isinstance(force, Wrench):
            out.programs[f] = [*_programs(force.torque, programs), *_programs(force.force, programs)]
            programs.pushing += [program for program in out.programs[f].tolist() if program >= 0]
    return out


def _programs(vector: tuple[Expression, ...] | Expression | None, programs: Programs) -> list[int]:
    """Enter the formulas of a vector; returns the program of each component, -1: zero."""
    if vector is None:
        return [-1, -1, -1]
    if isinstance(vector, Expression):
        return [programs.source(programs.append(code), vector) for code in programs.vector(vector.tree)]
    return [programs.enter(expression) for expression in vector]
