"""A scene from its text: read, checked, in SI and full names; or every mistake at once."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from sim.scene.build import Builder
from sim.scene.check import check_events
from sim.scene.counts import check_counts, check_freedoms, check_pairs
from sim.scene.draft import Drafter, read_text
from sim.scene.expressions import ExpressionError, evaluate
from sim.scene.findings import Findings
from sim.scene.kept import Kept
from sim.scene.late import check_late
from sim.scene.library import find, is_file
from sim.scene.nodes import Scalar
from sim.scene.parameters import Override
from sim.scene.problem import Place, Problem, SceneError
from sim.scene.read_settings import build_render, build_simulate
from sim.scene.reading import LONGEST_NAME, Reader
from sim.scene.scope import Scope
from sim.scene.shown import one_line
from sim.scene.spec import Constraint, Contact, Joint, Scene, Simulate
from sim.scene.spoken import setting
from sim.scene.traps import number_trap
from sim.scene.units import Quantity

Settings = Mapping[str, float | int | str | Quantity]


def load(source: str | os.PathLike[str], *, set: Settings | None = None, trust: bool = False) -> Scene:
    """Return the scene of a file.

    Parameters
    ----------
    source : path
        The file, or the name of a shipped scene.
    set : mapping
        Parameter name -> number in SI (or in the parameter's unit) or expression with units.
    trust : bool
        Whether controllers in files beside the scene may be run.

    Raises
    ------
    SceneError
        With every problem found, sorted by place.
    ValueError
        When the source is no path, or `set` no mapping.
    """
    return load_checked(source, set=set, trust=trust)[0]


def load_text(
    text: str,
    file: str = "<text>",
    *,
    folder: str | os.PathLike[str] = ".",
    set: Settings | None = None,
    trust: bool = False,
    kept: Kept | None = None,
) -> Scene:
    """Return the scene of a text; includes are looked for from `folder`, or among the texts that are `kept`.

    See `load`.
    """
    return _load(text, file, None, Path(folder), set or {}, trust, Findings(), kept)[0]


def load_checked(
    source: str | os.PathLike[str], *, set: Settings | None = None, trust: bool = False
) -> tuple[Scene, list[Problem]]:
    """Return the scene of a file and the warnings.  See `load`."""
    if not isinstance(source, str | os.PathLike):
        raise ValueError(f"source: found {source!r}; expected the path of a scene, or the name of one that is shipped")
    if set is not None and not isinstance(set, Mapping):
        raise ValueError(f"set: found {set!r}; expected names and values, as in {{'length': '2 m'}}")
    findings = Findings()
    path = find(os.fspath(source))
    label = os.fspath(source) if is_file(Path(source)) else str(path)
    text = read_text(path, label, findings, None, "")
    if text is None:
        raise SceneError(findings.problems())
    return _load(text, label, path, path.parent, set or {}, trust, findings)


def _load(
    text: str, label: str, path: Path | None, folder: Path, settings: Settings, trust: bool, findings: Findings,
    kept: Kept | None = None,
) -> tuple[Scene, list[Problem]]:  # fmt: skip
    overrides = _overrides(settings, findings)
    draft = Drafter(findings).scene(text, label, path, folder, overrides, kept)
    if not draft.parts:
        raise SceneError(findings.problems())
    if check_counts(draft):
        raise SceneError(findings.problems())
    builder = Builder(draft, findings, trust)
    world = builder.world()
    builder.build_bodies()
    builder.build_joints(world)
    builder.check_mirrors()
    names = builder.names(world)
    simulate = build_simulate(draft.settings.get("simulate"))
    parts, initial = builder.parts(names), builder.initial(names)
    events, forces, controllers = builder.events(names), builder.forces(names), builder.controllers(names)
    contacts, switches = builder.contacts(names)
    check_freedoms(list(builder.bodies.values()), builder.joints.values(), findings)
    check_pairs(contacts, builder.bodies.values(), world.shapes, findings)
    constraints = builder.constraints(names)
    events += switches
    render = build_render(draft.settings.get("render"), builder.bodies, names.unreadable, names.directory.points)
    joints = tuple(builder.joints.values())
    check_events(events, joints, simulate, findings)
    if contacts and simulate.method == "variational":
        what = "steps of the variational method know no contacts"
        findings.add(contacts[0].place, "simulate.method", what, "take dop853, or leave the contacts out")
    _check_turning(contacts, simulate, findings)
    if constraints:
        _check_way(constraints, simulate, findings)
    _check_steps(joints, simulate, findings)
    check_late(controllers, forces, [rule.name for rule in contacts], simulate, findings)
    warnings = findings.close()
    scene = Scene(
        name=draft.name or one_line(Path(label).stem, LONGEST_NAME),
        about=draft.about,
        file=label,
        text=text,
        sources=dict(findings.sources),
        parameters={name: quantity.value for name, quantity in draft.parameters.items()},
        parts=parts,
        world=world,
        bodies=tuple(builder.bodies.values()),
        joints=joints,
        initial=initial,
        events=tuple(events),
        forces=tuple(forces),
        contacts=tuple(contacts),
        constraints=constraints,
        controllers=tuple(controllers),
        simulate=simulate,
        render=render,
        notes=tuple(findings.notes),
    )
    return scene, warnings


def _check_way(constraints: tuple[Constraint, ...], simulate: Simulate, findings: Findings) -> None:
    """Report constraints where steps of one length do not know them."""
    if simulate.method == "variational":
        what = "steps of the variational method know no constraints"
        findings.add(constraints[0].place, "simulate.method", what, "take dop853")
    if simulate.contact == "event":
        return
    for constraint in constraints:
        while_it_touches = constraint.type == "rolling" and not constraint.keeps
        if constraint.holds == math.inf and not while_it_touches:
            continue
        what = "what rolls while it touches (`keeps: false`)" if while_it_touches else "thresholds (`holds`)"
        what = f"time steps (`contact: stepping`) do not know {what}"
        if simulate.contact == "auto":
            what += ", and `contact: auto` may turn to them"
        findings.add(constraint.place, f"constraints.{constraint.name}", what, "take contact: event")


def _check_turning(contacts: Sequence[Contact], simulate: Simulate, findings: Findings) -> None:
    """Refuse friction against turning where contacts are events."""
    for rule in contacts:
        for key in ("patch_radius", "rolling_radius"):
            if getattr(rule, key) > 0.0 and simulate.contact != "stepping":
                what = f"rule '{rule.name}' has friction against turning ({key}), which contacts as events do not know"
                findings.add(rule.place, f"contacts.{rule.name}.{key}", what, "simulate: {contact: stepping}")


def _check_steps(joints: tuple[Joint, ...], simulate: Simulate, findings: Findings) -> None:
    """Report rigid stops and friction of joints where steps of one length do not know them."""
    for joint in joints:
        rigid = joint.limits is not None and joint.limits.stop == "rigid"
        if simulate.method == "variational" and (rigid or joint.friction):
            key = "limits" if rigid else "friction"
            what = f"steps of the variational method know no {'rigid stops' if rigid else 'friction of joints'}"
            findings.add(joint.places.get(key, joint.place), f"joints.{joint.name}.{key}", what, "take dop853")


def _overrides(settings: Settings, findings: Findings) -> dict[str, Override]:
    """Return the values given by `set`; report those that cannot be read."""
    found: dict[str, Override] = {}
    reader = _Caller(Scope(Path()), findings)
    for name, value in settings.items():
        if isinstance(value, Quantity):
            found[name] = Override(value, Scalar(str(value), True, Place("", 0, 0)), reader, setting(name))
            continue
        path, written = setting(name), str(value)
        node = Scalar(written, True, Place("", 0, 0))
        trap = number_trap(written, True)
        try:
            if trap:
                raise ExpressionError(*trap)
            quantity = Quantity(float(value)) if isinstance(value, (int, float)) else evaluate(written, {})
            found[name] = Override(quantity, node, reader, path)
        except ExpressionError as error:
            reader.problem(node, path, error.what, error.hint)
    return found


class _Caller(Reader):
    """What a caller says, who has no file: problems have no place."""

    def problem(self, where: object, path: str, what: str, hint: str = "", severity: str = "error") -> None:
        """Report a mistake of the caller."""
        self.findings.add(None, path, what, hint, "", severity)
