"""Formulas of torques and wrenches that read forces: these follow from what acts, and so from the formulas themselves.

Both are found together where a formula is a sum of forces times what time, positions and speeds say; what is no such
sum is refused here.  Energies are known before forces are, and may stand anywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sim.scene.findings import Findings
from sim.scene.spec import ControllerUse, Expression, Force, Scene, Simulate, Wrench

_FORCES = ("force", "torque")
_PASSED_ON = (ast.Constant, ast.Name, ast.UnaryOp, ast.List, ast.Tuple)


def check_late(
    controllers: Sequence[ControllerUse], forces: Sequence[Force], contacts: Collection[str], simulate: Simulate,
    findings: Findings,
) -> None:  # fmt: skip
    """Report formulas that read forces in a way in which the two cannot be found together.

    contacts : names of rules, whose forces are those of the last step in time steps
    """
    known = frozenset(contacts if simulate.contact == "stepping" else ())
    for path, formula in _formulas(controllers, forces):
        if not _reads(formula.tree, known):
            continue
        if simulate.method == "variational" and simulate.contact != "stepping":
            what = "steps of the variational method know no forces that a formula could read"
            findings.add(formula.place, path, what, "take dop853")
            continue
        part = _no_sum(formula.tree, known)
        if part is not None:
            what = (
                f"{ast.unparse(part)} is no sum of forces times what time, positions and speeds say: forces follow "
                "from what acts, so they cannot be found together with it"
            )
            hint = "leave out products of forces, and abs, min, max, clip, norm and powers of them"
            findings.add(formula.place, path, what, hint)


def late_formulas(scene: Scene) -> list[tuple[str, Expression]]:
    """Return path and formula of every torque and wrench that reads forces."""
    return [one for one in _formulas(scene.controllers, scene.forces) if _reads(one[1].tree, frozenset())]


def _formulas(controllers: Sequence[ControllerUse], forces: Sequence[Force]) -> Iterator[tuple[str, Expression]]:
    """Yield path and formula of all torques and wrenches."""
    for use in controllers:
        yield from _within(f"controllers.{use.name}", use.parameters)
    for force in forces:
        if isinstance(force, Wrench):
            yield from _within(f"forces.{force.name}", {"force": force.force, "torque": force.torque})


def _within(path: str, value: Any) -> Iterator[tuple[str, Expression]]:
    if isinstance(value, Expression):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _within(f"{path}.{key}", inner)
    elif isinstance(value, (tuple, list)):
        for k, inner in enumerate(value):
            yield from _within(f"{path}[{k}]", inner)


def _is_force(tree: ast.AST, known: Collection[str]) -> bool:
    """Tell whether a call asks for a force that is not known yet."""
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _FORCES):
        return False
    return not (tree.func.id == "force" and tree.args[0].value in known)  # type: ignore[attr-defined]


def _reads(tree: ast.AST, known: Collection[str]) -> bool:
    return any(_is_force(node, known) for node in ast.walk(tree))


def _no_sum(tree: ast.expr, known: Collection[str]) -> ast.expr | None:
    """Return the innermost part that is not affine in forces; None where all is."""
    for part in ast.iter_child_nodes(tree):
        inner = _no_sum(part, known) if isinstance(part, ast.expr) and _reads(part, known) else None
        if inner is not None:
            return inner
    if _is_force(tree, known) or isinstance(tree, _PASSED_ON):
        return None
    if isinstance(tree, ast.Subscript):
        return None
    if isinstance(tree, ast.BinOp):
        left, right = _reads(tree.left, known), _reads(tree.right, known)
        if isinstance(tree.op, (ast.Add, ast.Sub)) or not (left or right):
            return None
        fine = not (left and right) if isinstance(tree.op, ast.Mult) else isinstance(tree.op, ast.Div) and not right
        return None if fine else tree
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in ("dot", "cross"):
        return tree if all(_reads(argument, known) for argument in tree.args) else None
    return tree if _reads(tree, known) else None
