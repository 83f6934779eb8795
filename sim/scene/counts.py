"""How many things a scene may have: they are counted before they are built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sim.joints import JOINT_TYPES
from sim.scene.draft import Draft
from sim.scene.findings import Findings
from sim.scene.mass_properties import eigenvalues
from sim.scene.spec import Body, Contact, Joint, Shape

MOST_BODIES = 2_500  # a check takes seconds
# Freedoms where a body has no inertia about some axis: what moves without it is then found in dense matrices.
MOST_FREEDOMS = 6_000
MOST_TOGETHER = 1_200  # of bodies that hang on one another: a block of these matrices
THIN = 1e-13  # of the largest moment of inertia, as in `sim.mechanism.lending`
MOST = 10_000  # of each other section
MOST_PAIRS = 500_000  # of shapes that rules let touch, which are looked at one by one


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
    """Report the first body without inertia about some axis where there are more freedoms than may be with it."""
    held: dict[str, Joint] = {}
    for joint in joints:
        if joint.connected:
            held.setdefault(joint.child, joint)
    freedoms = {
        body.name: JOINT_TYPES[held[body.name].type if body.name in held else "free"].freedoms for body in bodies
    }
    roots = _roots(freedoms, held)
    together: Counter[str] = Counter()
    for name, count in freedoms.items():
        together[roots[name]] += count
    whole = sum(freedoms.values())
    for body in bodies:
        number, most, where = together[roots[body.name]], MOST_TOGETHER, " of bodies that hang on one another"
        if whole > MOST_FREEDOMS:
            number, most, where = whole, MOST_FREEDOMS, ""
        moments = eigenvalues(body.inertia) if number > most else (1.0, 1.0, 1.0)
        if moments[0] <= THIN * moments[2]:
            what = f"{number} freedoms{where}, and body '{body.name}' has no inertia about some axis"
            hint = "give each body inertia, as shapes do, or hold it by joints"
            findings.add(body.place, f"bodies.{body.name}", f"{what}; {most} are the most then", hint)
            return


def _roots(names: Iterable[str], held: Mapping[str, Joint]) -> dict[str, str]:
    """Return for each body the first of those that carry one another up to it; of a ring, one that is in it."""
    out: dict[str, str] = {}
    for name in names:
        carried: dict[str, None] = {}
        at = name
        while at not in out and at not in carried:
            carried[at] = None
            if at in held and held[at].parent != "world":
                at = held[at].parent
        out.update(dict.fromkeys(carried, out.get(at, at)))
    return out


def check_pairs(
    contacts: Sequence[Contact], bodies: Iterable[Body], still: Sequence[Shape], findings: Findings
) -> None:
    """Report the first rule with which more pairs of shapes may touch than are looked at in a reasonable time."""
    shapes = Counter({body.name: len(body.shapes) for body in bodies})
    shapes.update({"world": len(still)})
    shapes.update(f"world.{shape.name}" for shape in still if shape.name)
    pairs = 0
    for rule in contacts:
        first, second = (sum(shapes[name] for name in side) for side in rule.between)
        pairs += first * second // (2 if rule.between[0] == rule.between[1] else 1)
        if pairs > MOST_PAIRS:
            what = f"{pairs} pairs of shapes up to this rule; {MOST_PAIRS} are the most"
            hint = "name fewer bodies on one of the sides, or leave some out with 'except'"
            findings.add(rule.place, f"contacts.{rule.name}.between", what, hint)
            return
