"""How many things a scene may have: they are counted before they are built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sim.scene.draft import Draft
from sim.scene.findings import Findings
from sim.scene.inertia import eigenvalues
from sim.scene.spec import JOINT_FREEDOMS, Body, Contact, Joint, Shape

MOST_BODIES = 2_500  # a check takes seconds
MOST_FREEDOMS = 6_000  # where a body has no inertia about some axis: what holds it is then found in dense matrices
THIN = 1e-13  # of the largest moment of inertia, as in `sim.lending`
MOST = 10_000  # of each other section
MOST_PAIRS = 100_000  # of shapes that rules let touch, which are looked at one by one


def check_counts(draft: Draft) -> bool:
    """Return whether there are too many things; report the first of them of each section."""
    good = True
    for section, things in draft.things.items():
        most = MOST_BODIES if section == "bodies" else MOST
        if len(things) > most:
            what = f"{len(things)} {section}; {most} are the most"
            things[most].problem(what, "the scene would take minutes to check, and hours to run")
            good = False
    return not good


def check_freedoms(bodies: Sequence[Body], joints: Iterable[Joint], findings: Findings) -> None:
    """Report the first body without inertia about some axis, in a scene of more freedoms than it may have then."""
    held: dict[str, int] = {}
    for joint in joints:
        if joint.connected:
            held.setdefault(joint.child, JOINT_FREEDOMS[joint.type])
    freedoms = sum(held.get(body.name, 6) for body in bodies)
    if freedoms <= MOST_FREEDOMS:
        return
    for body in bodies:
        moments = eigenvalues(body.inertia)
        if moments[0] <= THIN * moments[2]:
            what = f"{freedoms} freedoms, and body '{body.name}' has no inertia about some axis"
            hint = "give each body inertia, as shapes do, or hold it by joints"
            findings.add(body.place, f"bodies.{body.name}", f"{what}; {MOST_FREEDOMS} are the most then", hint)
            return


def check_pairs(
    contacts: Sequence[Contact], bodies: Iterable[Body], still: Sequence[Shape], findings: Findings
) -> None:
    """Report the first rule with which more pairs of shapes may touch than are looked at in a reasonable time."""
    shapes = Counter({body.name: len(body.shapes) for body in bodies})
    shapes.update({"world": len(still), **{f"world.{shape.name}": 1 for shape in still if shape.name}})
    pairs = 0
    for rule in contacts:
        first, second = (sum(shapes[name] for name in side) for side in rule.between)
        pairs += first * second // (2 if rule.between[0] == rule.between[1] else 1)
        if pairs > MOST_PAIRS:
            what = f"{pairs} pairs of shapes up to this rule; {MOST_PAIRS} are the most"
            hint = "name fewer bodies on one of the sides, or leave some out with 'except'"
            findings.add(rule.place, f"contacts.{rule.name}.between", what, hint)
            return
