"""`sim check` of joints that start beyond their limits: refused where the stop is rigid, told where it gives way."""

from __future__ import annotations

import pytest

import sim.analysis.report
from sim.scene.load import load_text

SCENE = """
schema: 1
name: beyond
bodies: {{rod: {{mass: 1 kg, com: [0.1, 0.2, -0.5], gyration: [0.2, 0.2, 0.1]}}}}
joints:
  pin: {{type: {kind}, parent: world, child: rod, position: [0, 0, 0], limits: {{range: {range}, {stop}}}}}
initial: {{pin: {start}}}
"""
HINGE = "rotational, axis: [0, 1, 0]"


@pytest.mark.parametrize(("stop", "severity"), [("stop: rigid", "error"), ("stiffness: 100", "warning")])
@pytest.mark.parametrize(
    ("kind", "bounds", "start", "found"),
    [
        (HINGE, "[-1, 0.5]", "0.75", "starts at 0.75, beyond the limit 0.5"),
        (HINGE, "[-0.25, 2]", "-0.5", "starts at -0.5, beyond the limit -0.25"),
        (HINGE, "[-1, 1]", "0.99", ""),
        ("spherical", "[0, 0.5]", "{rpy: [0, 0.75, 0]}", "starts at 0.75, beyond the limit 0.5"),
        ("spherical", "[0, 0.8]", "{rpy: [0, -0.75, 0]}", ""),
    ],
)
def test_a_joint_beyond_its_limit(kind: str, bounds: str, start: str, found: str, stop: str, severity: str) -> None:
    report = sim.analysis.report.check(load_text(SCENE.format(kind=kind, range=bounds, start=start, stop=stop)))
    told = [(problem.what, problem.severity, problem.path) for problem in report.problems if "beyond" in problem.what]
    assert told == ([(found, severity, "joints.pin.limits")] if found else [])
