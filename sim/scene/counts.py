"""How many things a scene may have: they are counted before they are built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sim.scene.draft import Draft
from sim.scene.findings import Findings
from sim.scene.spec import Body, Contact, Shape

MOST_BODIES = 2_000  # a check takes seconds
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
