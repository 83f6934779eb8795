"""The same forces in MuJoCo, where it has the same elements, by the accelerations of one mechanism.

A point spring is a spatial tendon, a torsion spring the stiffness of a hinge or ball, a body-fixed wrench an
actuator at a site, a world-fixed one `xfrc_applied`, and linear drag of a cube its viscous medium: 3 pi beta d
for the speed and pi beta d^3 for the angular speed, d the edge of the equivalent box.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.dynamics.engine import simulator_of
from tests.support.peers import needs

pytestmark = [pytest.mark.fast, needs("mujoco")]

SCENE = """
schema: 1
name: arm
bodies:
  upper: {mass: 1.5, com: [0.1, 0, -0.3], inertia: [0.03, 0.03, 0.03], points: {eye: [0.2, 0.1, -0.3]}}
  lower:
    {mass: 0.6, com: [0, 0.1, -0.9], inertia: [0.004, 0.004, 0.004], points: {eye: [0.3, 0, -1], tip: [0, 0, -1.2]}}
world: {points: {hook: [0.8, 0.2, 0]}}
joints:
  top: {type: rotational, parent: world, child: upper, position: [0, 0, 0], axis: [0, 1, 0]}
  knob: {type: spherical, parent: upper, child: lower, position: [0, 0, -0.6]}
initial:
  top: {coordinate: 0.4 rad, rate: -1.2 rad/s}
  knob: {coordinate: {axis_angle: {axis: [1, 2, -1], angle: 0.9}}, rate: [0.7, -2, 1]}
forces:
"""
MJCF = """
<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81" viscosity="{viscosity}" density="0"/>
<worldbody><site name="hook" pos="0.8 0.2 0"/>
 <body name="upper"><inertial pos="0.1 0 -0.3" mass="1.5" diaginertia="0.03 0.03 0.03"/>
  <joint name="top" axis="0 1 0" {top}/><site name="upper.eye" pos="0.2 0.1 -0.3"/>
  <body name="lower" pos="0 0 -0.6"><inertial pos="0 0.1 -0.3" mass="0.6" diaginertia="0.004 0.004 0.004"/>
   <joint name="knob" type="ball" {knob}/><site name="lower.eye" pos="0.3 0 -0.4"/><site name="tip" pos="0 0 -0.6"/>
  </body></body></worldbody>{more}</mujoco>
"""
TENDONS = """<tendon>
<spatial stiffness="60" damping="2" springlength="0.4"><site site="upper.eye"/><site site="lower.eye"/></spatial>
<spatial stiffness="35" springlength="1.1"><site site="hook"/><site site="tip"/></spatial></tendon>"""
ACTUATOR = '<actuator><general site="tip" gear="1 -2 3 0.1 0.2 -0.3"/></actuator>'
BETA = 0.9  # Pa s


def medium(body: str, mass: float, inertia: float) -> str:
    """Return the drag of a cube in the viscous medium."""
    edge = np.sqrt(6 * inertia / mass)
    gains = f"linear: {3 * np.pi * BETA * edge}, turning_linear: {np.pi * BETA * edge**3}"
    return f"{body}_drag: {{type: drag, body: {body}, {gains}}}"


@pytest.mark.parametrize(
    ("forces", "peer"),
    [
        (["a: {type: spring, from: upper.eye, to: lower.eye, stiffness: 60, damping: 2, length: 0.4}",
          "b: {type: spring, from: world.hook, to: lower.tip, stiffness: 35, length: 1.1}"], {"more": TENDONS}),
        (["a: {type: torsion_spring, joint: top, stiffness: 12, damping: 0.4, rest: -0.3 rad}",
          "b: {type: torsion_spring, joint: knob, stiffness: 3}"],
         {"top": 'stiffness="12" damping="0.4" springref="-0.3"', "knob": 'stiffness="3"'}),
        (["a: {type: wrench, body: lower, point: tip, force: [1, -2, 3], torque: [0.1, 0.2, -0.3], frame: body}"],
         {"more": ACTUATOR}),
        (["a: {type: wrench, body: lower, force: [1, -2, 3], torque: [0.1, 0.2, -0.3]}"], {}),
        ([medium("upper", 1.5, 0.03), medium("lower", 0.6, 0.004)], {"viscosity": str(BETA)}),
    ],
    ids=["springs", "torsion springs", "wrench of the body", "wrench of the world", "drag"],
)  # fmt: skip
def test_accelerations(forces, peer):
    import mujoco

    s = simulator_of(SCENE + "".join(f"  {line}\n" for line in forces))
    plain = simulator_of(SCENE.replace("forces:\n", ""))
    model = mujoco.MjModel.from_xml_string(MJCF.format(**{"viscosity": "0", "top": "", "knob": "", "more": "", **peer}))
    data = mujoco.MjData(model)
    axis = np.array([1, 2, -1]) / np.sqrt(6)
    data.qpos[:] = [0.4, np.cos(0.45), *(np.sin(0.45) * axis)]
    data.qvel[:] = [-1.2, 0.7, -2, 1]
    if model.nu:
        data.ctrl[0] = 1.0
    elif not peer:
        data.xfrc_applied[model.body("lower").id] = [1, -2, 3, 0.1, 0.2, -0.3]
    mujoco.mj_forward(model, data)
    for simulator, equal in ((s, True), (plain, False)):
        top = simulator.angular_acceleration["upper"][1]
        R, w = simulator.rotation["lower"], simulator.angular_velocity["lower"]
        w_upper = simulator.angular_velocity["upper"]
        relative = simulator.angular_acceleration["lower"] - simulator.angular_acceleration["upper"]
        knob = R.T @ (relative - np.cross(w_upper, w - w_upper))  # rate of the joint's rate, in the child's axes
        assert np.allclose([top, *knob], data.qacc, rtol=1e-10, atol=1e-10) == equal
