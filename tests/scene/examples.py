"""Texts of scenes that several tests read."""

import textwrap

from sim.scene.load import load_text

FIGURE = """\
schema: 1
name: doll
about: Torso and two arms of a spherical and a rotational joint each.
parameters: {height: 1.2 m, mass: 30 kg, width: 0.129*height}
bodies:
  torso:
    mass: 0.578*mass
    com: [0, 0, 0.190*height]
    gyration: [0.145*height, 0.145*height, 0.06*height]
    shapes:
      - capsule: {from: [0, 0, 0.02*height], to: [0, 0, 0.27*height], radius: 0.075*height}
      - sphere: {center: [0, 0, 0.40*height], radius: 0.07*height}
repeat:
  - for: {s: [l, r], y: [1, -1]}
    bodies:
      upper_arm_${s}:
        mass: 0.028*mass
        shapes:
          - capsule: {from: [0, width*y, 0.288*height], to: [0, width*y, 0.102*height], radius: 0.024*height}
      forearm_${s}:
        mass: 0.022*mass
        shapes:
          - capsule: {from: [0, width*y, 0.102*height], to: [0, width*y, -0.098*height], radius: 0.02*height}
        points: {palm: [0, width*y, -0.098*height]}
    joints:
      shoulder_${s}: {type: spherical, parent: torso, child: "upper_arm_${s}", position: [0, width*y, 0.288*height]}
      elbow_${s}:
        about: positive flexes
        type: rotational
        parent: upper_arm_${s}
        child: forearm_${s}
        position: [0, width*y, 0.102*height]
        axis: [0, -1, 0]
        limits: [0 deg, 150 deg]
"""

SWING = """\
schema: 1
name: swing
about: A doll hangs by its hands from two ropes.
parameters: {beam: 2.2 m, seat: 0.5 m, half_width: 28 cm}
include:
  - figure: doll.yaml
    prefix: doll
    placement: {position: [-0.10, 0, 0.56]}
    pose: {shoulder_l: {rpy: [0, -90 deg, 0]}, elbow_l: 70 deg, elbow_r: 70 deg}
bodies:
  plate: {mass: 2 kg, shapes: [{box: {center: [0.02, 0, seat], size: [0.30, 0.50, 0.03]}}]}
repeat:
  - for: {s: [l, r], y: [1, -1]}
    bodies:
      rope_${s}:
        mass: 0.8 kg
        shapes: [{capsule: {from: [0, half_width*y, beam], to: [0, half_width*y, seat], radius: 12 mm}}]
        points: {hold: [0, half_width*y, 0.95]}
    joints:
      beam_${s}: {type: spherical, parent: world, child: "rope_${s}", position: [0, half_width*y, beam]}
      plate_${s}: {type: spherical, parent: "rope_${s}", child: plate, position: [0, half_width*y, seat]}
      grip_${s}: {type: spherical, parent: "rope_${s}", child: "doll.forearm_${s}",
                  parent_point: hold, child_point: palm}
joints:
  slide: {type: planar, parent: plate, child: doll.torso, position: [0.04, 0, 0.56], axis: [0, 0, 1]}
controllers:
  pump: {type: swing_pump, joints: [doll.elbow_l, doll.elbow_r], amplitude: 40 deg}
  stops: {type: limits, joints: "doll.*"}
events:
  rope tears: {at: 3 s, cut: beam_l, caption: the left rope tears}
  thighs off: {when: "coordinate('slide')[0] > 16 cm", cut: slide}
  let go: {key: let go, cut: [grip_l, grip_r]}
simulate: {duration: 6 s, method: dop853, rtol: 1e-8, record: 120 Hz}
render: {size: [1280, 720], fps: 30, camera: {follow: doll.torso, distance: 4 m, azimuth: 60 deg, elevation: 10 deg}}
"""

PENDULUM = """\
bodies:
  bob: {mass: 1 kg, com: [0, 0, 1], inertia: [0.1, 0.1, 0.1], points: {tip: [0, 0, 0.5]}}
joints:
  hinge: {type: rotational, parent: world, child: bob, position: [0, 0, 2], axis: [0, 1, 0]}
"""


def scene_of(text, **options):
    """Return the scene of a text without its first line."""
    return load_text("schema: 1\n" + textwrap.dedent(text), **options)


def by_name(things):
    return {thing.name: thing for thing in things}
