"""Scenes whose whole reports are kept in `reports.json`: what `sim check` and `sim info` say, number by number.

After a change of what is said,
        ``python -m tests.scenes.reported`` writes the reports anew; read the difference before it
is committed.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import sim
from sim.scene import library
from sim.scene.load import load_text
from sim.scene.spec import Scene

FILE = Path(__file__).with_name("reports.json")
SHIPPED = {
    "four_bar": {}, "slider_crank": {}, "car": {}, "bicycle": {}, "snake_three": {}, "ball_on_turntable": {},
            "dome": {},
    "rolling_disc": {}, "chaplygin_sleigh": {}, "two_bodies": {}, "table": {}, "woodpecker": {}, "high_bar": {},
    "benchmarks/bricard": {}, "benchmarks/andrews": {}, "benchmarks/governor": {},
            "benchmarks/four_bars": {"windows": 3},
    "benchmarks/three_links": {}, "benchmarks/cut_rod": {}, "benchmarks/chain_in_plane": {"links": 4},
}  # fmt: skip
HEAD = "schema: 1\nname: told\nsimulate: {duration: 1 s}\n"
BAR = """
bodies:
  crank: {mass: 1, com: [0, 0, 0.1], inertia: [0.1, 0.1, 0.05]}
  rod: {mass: 2, com: [0.3, 0, 0.25], inertia: [0.1, 0.2, 0.15]}
  rocker: {mass: 1.5, com: [0.6, 0, 0.15], inertia: [0.1, 0.1, 0.05]}
joints:
  drive: {type: rotational, parent: world, child: crank, position: [0, 0, 0], axis: [0, 1, 0]DRIVE}
  pin: {type: rotational, parent: crank, child: rod, position: [0, 0, 0.2], axis: [0, 1, 0]PIN}
  top: {type: rotational, parent: rod, child: rocker, position: [0.6, 0, 0.3], axis: [0, 1, 0]TOP}
  link: {type: rotational, parent: world, child: rocker, PLACE, axis: [0, 1, 0]LINK}
"""
CART = """
world: {shapes: [{name: floor, plane: {}}]}
bodies:
  cart: {mass: 2 kg, com: [0.1, 0, 0.1], inertia: [0.1, 0.1, 0.2], points: {left: [0, 0.2, 0]},
         shapes: [{box: {center: [0, 0, 0.6], size: [0.2, 0.1, 0.3]}}]}
  pole: {mass: 1 kg, com: [0.3, 0.1, 0.4], inertia: [0.1, 0.2, 0.2]}
joints:
  plane: {type: planar, parent: world, child: cart, position: [0, 0, 0], axis: [0, 0, 1], second_axis: [1, 0, 0]}
  mast: {type: rotational, parent: cart, child: pole, position: [0.3, 0.1, 0.2], axis: [0, 0, 1]}
constraints:
"""


def bar(more: str = "", **said: str) -> str:
    text = BAR
    for word, plain in (("DRIVE", ""), ("PIN", ""), ("TOP", ""), ("LINK", ""), ("PLACE", "position: [0.6, 0, 0]")):
        text = text.replace(word, said.get(word.lower(), plain))
    return HEAD + text + more


def cart(*constraints: str) -> str:
    return HEAD + CART + "\n".join(f"  {line}" for line in constraints) + "\n"


WHEEL = "{type: no_side_slip, body: cart, position: PLACE, axis: [0, 1, 0], ground: world}"
CORNERS = [(round(math.cos(0.7 * k), 3), round(math.sin(0.7 * k), 3)) for k in range(9)]
RING = (
    "bodies:\n"
    + "".join(f"  q{k}: {{mass: 1, com: [{x}, {y}, 0.1], inertia: [1, 1, 1]}}\n" for k, (x, y) in enumerate(CORNERS))
    + "joints:\n"
    + "".join(
        f"  jq{k}: {{type: rotational, parent: {f'q{k - 1}' if k else 'world'}, child: q{k}, "
        f"position: [{x}, {y}, 0], axis: [0, 0, 1]}}\n"
        for k, (x, y) in enumerate(CORNERS)
    )
    + "  lq: {type: rotational, parent: world, child: q8, position: [1.5, -0.5, 0], axis: [0, 0, 1]}\n"
)
THIN = """
bodies: {rod: {mass: 1, com: [0, 0, 0.5], inertia: [0.1, 0.1, 0], shapes: [{sphere: {center: [0, 0, 0.2],
        radius: 0.1}}]},
         other: {mass: 1, com: [3, 0, 0.5], inertia: [0.1, 0.1, 0.1], shapes: [{sphere: {center: [3, 0, 0.5],
                 radius: 0.1}}]}}
joints:
"""
TEXTS = {
    "a bar": bar(),
    "a bar that starts elsewhere": bar("initial: {drive: 40 deg}"),
    "a bar that starts elsewhere and moves": bar("initial: {drive: {coordinate: -25 deg, rate: 2}}"),
    "a bar between two points": bar(place="parent_point: foot, child_point: end").replace(
        "bodies:", "world: {points: {foot: [0.65, 0, 0.01]}}\nbodies:"
    ).replace("com: [0.6, 0, 0.15], inertia", "com: [0.6, 0, 0.15], points: {end: [0.6, 0, 0]}, inertia"),
    "a bar whose points are too far apart": bar(place="parent_point: foot, child_point: end").replace(
        "bodies:", "world: {points: {foot: [1.9, 0, 0]}}\nbodies:"
    ).replace("com: [0.6, 0, 0.15], inertia", "com: [0.6, 0, 0.15], points: {end: [0.6, 0, 0]}, inertia"),
    "a bar that cannot start there": bar("initial: {drive: 40 deg, link: -70 deg}"),
    "a bar that does not reach so far": bar("initial: {link: 150 deg}"),
    "a bar with two rates": bar("initial: {drive: {rate: 2}, top: {rate: 3}}"),
    "a bar near no guess": bar("initial: {drive: 40 deg, link: {near: 170 deg}}"),
    "a driven bar": bar(drive=", motion: 90 deg/s*t"),
    "a bar driven twice alike": bar(drive=", motion: 0*t/1 s", top=", motion: 0*t/1 s"),
    "a bar driven twice": bar(drive=", motion: 1 rad/s*t", pin=", motion: -1 rad/s*t"),
    "a bar driven from elsewhere": bar(drive=", motion: 200 deg + 10 deg/s*t"),
    "a bar with a motion and a rate": bar("initial: {drive: {rate: 3}}", drive=", motion: 90 deg/s*t"),
    "a motion without a value": bar(drive=", motion: sqrt(t/1 s - 1)"),
    "beyond soft limits": bar("initial: {drive: 40 deg}", drive=", limits: [-10 deg, 20 deg]",
            link=", limits: [10 deg, 90 deg]"),
    "beyond rigid limits": bar(drive=", limits: {range: [5 deg, 20 deg], stop: rigid}"),
    "a bar given twice": bar("  again: {type: spherical, parent: world, child: rocker, position: [0.6, 0, 0]}\n"),
    "a bar held twice more": bar(
        "  hold: {type: fixed, parent: rod, child: crank, position: [0, 0, 0.2]}\n"
        "  tie: {type: spherical, parent: rod, child: crank, position: [0, 0, 0.2]}\n"
    ),
    "a welded bar": bar(top=", armature: 0.1").replace("top: {type: rotational", "top: {type: cylindrical"),
    "a straight bar": HEAD + """
bodies:
  a: {mass: 1, com: [0.5, 0, 0], inertia: [1, 1, 1]}
  b: {mass: 1, com: [1.5, 0, 0], inertia: [1, 1, 1]}
joints:
  one: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}
  two: {type: rotational, parent: a, child: b, position: [1, 0, 0], axis: [0, 1, 0]}
  three: {type: rotational, parent: world, child: b, position: [2, 0, 0], axis: [0, 1, 0]}
""",
    "a body without inertia": HEAD + """
bodies: {a: {mass: 1, com: [0.5, 0, 0], inertia: [0, 0, 0]}, b: {mass: 0, com: [1, 0, 0]}}
joints:
  one: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}
  two: {type: rotational, parent: a, child: b, position: [1, 0, 0], axis: [0, 1, 0]}
""",
    "a cut that leaves no inertia": HEAD + """
bodies: {a: {mass: 1, com: [0.5, 0, 0], inertia: [1, 1, 1]}, b: {mass: 0, com: [1, 0, 0]}}
joints:
  one: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}
  two: {type: fixed, parent: a, child: b, position: [1, 0, 0]}
events: {first: {at: 0.2 s, cut: one}, then: {after: {first: 0.1 s}, cut: two}}
""",
    "wheels": cart(f"front: {WHEEL.replace('PLACE', '[0.5, 0, 0]')}",
            f"rear: {WHEEL.replace('PLACE', '[-0.5, 0, 0]')}"),
    "wheels on one line": cart(
        f"left: {WHEEL.replace('PLACE', '[0, 0.2, 0]')}", f"right: {WHEEL.replace('PLACE', '[0, -0.2, 0]')}",
        f"middle: {WHEEL.replace('PLACE', '[0, 0, 0]')}",
    ),
    "wheels that lock": cart(
        f"front: {WHEEL.replace('PLACE', '[0.5, 0, 0]')}", f"rear: {WHEEL.replace('PLACE', '[-0.5, 0, 0]')}",
        f"across: {WHEEL.replace('PLACE', '[0.1, 0.3, 0]').replace('[0, 1, 0]', '[1, 0, 0]')}",
        "pin: {type: same_velocity, bodies: [pole, world], position: [0.3, 0.1, 0], components: [rz]}",
    ),
    "wheels in the air": cart(
        f"high: {WHEEL.replace('PLACE', '[0.5, 0, 0.4]')}", f"low: {WHEEL.replace('PLACE', '[-0.5, 0, -0.3]')}",
        "blade: {type: knife_edge, body: pole, position: [0.3, 0.1, 0.35], along: [1, 0, 0], ground: world}",
    ),
    "what binds nothing": cart(
        "idle: {type: same_velocity, bodies: [cart, world], position: [0, 0, 0], components: [z, rx, ry]}",
        "half: {type: same_velocity, bodies: [pole, cart], position: [0.3, 0.1, 0], components: [x, y, rz]}",
        "twice: {type: same_velocity, bodies: [pole, cart], position: [0.3, 0.1, 0], components: [rz]}",
    ),
    "wheels that let go and are held twice": cart(
        f"left: {WHEEL.replace('PLACE', '[0, 0.2, 0]').replace('ground', 'holds: 5 N, ground')}",
        f"right: {WHEEL.replace('PLACE', '[0, -0.2, 0]')}",
    ),
    "a ball off its ground": HEAD + """
world: {shapes: [{plane: {}}]}
bodies: {ball: {mass: 1, com: [0, 0, 0.35], inertia: [0.1, 0.1, 0.1]}, low: {mass: 1, com: [2, 0, 0.2],
        inertia: [0.1, 0.1, 0.1]}}
constraints:
  roll: {type: rolling, body: ball, position: [0, 0, 0.35], radius: 0.3, ground: world}
  sink: {type: rolling, body: low, position: [2, 0, 0.2], axis: [0, 1, 0], radius: 0.2, tube: 0.05, ground: world}
""",
    "many wheels on one line": cart(
        *(f"w{k}: {WHEEL.replace('PLACE', f'[0, {k / 10}, 0]')}" for k in range(15)),
    ),
    "a wheel of a body that is held": HEAD + """
world: {shapes: [{plane: {}}]}
bodies: {post: {mass: 1, com: [0, 0, 0.2], inertia: [1, 1, 1]}, arm: {mass: 1, com: [1, 0, 0.2], inertia: [1, 1, 1]}}
joints:
  weld: {type: fixed, parent: world, child: post, position: [0, 0, 0]}
  pin: {type: rotational, parent: post, child: arm, position: [0.5, 0, 0], axis: [0, 0, 1]}
constraints:
  one: {type: no_side_slip, body: post, position: [0, 0, 0], axis: [0, 1, 0], ground: world}
  two: {type: knife_edge, body: arm, position: [1, 0, 0], along: [0, 1, 0], ground: world}
""",
    "a ring of bars": HEAD + RING,
    "two rings of bars": HEAD + "".join(
        line + "\n" + (line.replace("q", "z") + "\n" if "q" in line else "") for line in RING.splitlines()
    ),
    "a ball beyond its stop": HEAD + """
bodies: {a: {mass: 1, com: [0.5, 0, 0], inertia: [1, 1, 1]}}
joints: {neck: {type: spherical, parent: world, child: a, position: [0, 0, 0], limits: [0, 0.4]}}
initial: {neck: {axis_angle: {axis: [0, 0.6, 0.8], angle: 0.9}}}
""",
    "a rod without inertia about itself, by variational steps": (
        HEAD.replace("1 s", "1 s, method: variational") + THIN.replace("joints:", "")
    ),
    "a rod without inertia about itself": HEAD + THIN.replace("joints:", ""),
    "a rod without inertia about itself that is held and touches": HEAD
    + THIN
    + """
  top: {type: universal, parent: world, child: rod, position: [0, 0, 1], axis: [1, 0, 0], second_axis: [0, 1, 0]}
  end: {type: spherical, parent: world, child: rod, position: [0, 0, 1]}
contacts: {all: {between: [rod, other]}}
""",
    "a weightless frame that turns": HEAD + """
bodies: {frame: {mass: 0, com: [0, 0, 0]}, more: {mass: 0, com: [0, 0, 0]}, bob: {mass: 1, com: [0, 0, -1]}}
joints:
  one: {type: rotational, parent: world, child: frame, position: [0, 0, 0], axis: [0, 0, 1]}
  two: {type: fixed, parent: frame, child: more, position: [0, 0, 0]}
  three: {type: rotational, parent: more, child: bob, position: [0, 0, 0], axis: [0, 0, 1]}
""",
    "an event that cannot happen at the start": HEAD + """
bodies: {a: {mass: 1, com: [0.5, 0, 0], inertia: [1, 1, 1]}, b: {mass: 1, com: [3, 0, 0], inertia: [1, 1, 1]}}
joints:
  one: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}
events: {grip: {at: 0 s, connect: {hold: {type: spherical, parent: a, child: b, parent_point: end, child_point: eye,
        tolerance: 1 mm}}}}
""".replace("com: [0.5, 0, 0],", "com: [0.5, 0, 0], points: {end: [1, 0, 0]},").replace(
        "com: [3, 0, 0],", "com: [3, 0, 0], points: {eye: [2.5, 0, 0]},"
    ),
    "cuts at times that leave no inertia, one after another": HEAD + """
bodies: {a: {mass: 1, com: [0.5, 0, 0], inertia: [1, 1, 1]}, b: {mass: 0, com: [1, 0, 0]}}
joints:
  one: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}
  two: {type: fixed, parent: a, child: b, position: [1, 0, 0]}
  three: {type: fixed, parent: world, child: b, position: [1, 0, 0], connected: false}
events: {then: {at: 0.3 s, cut: two, connect: three}, last: {at: 0.7 s, cut: three}}
""",
    "a figure in a pose": bar("initial: {drive: {near: 20 deg}, link: 5 deg}"),
    "gears": HEAD + """
bodies: {a: {mass: 1, com: [0, 0, 0.1], inertia: [0.1, 0.1, 0.1]}, b: {mass: 1, com: [1, 0, 0.1], inertia: [0.1, 0.1,
        0.1]}}
joints:
  one: {type: rotational, parent: world, child: a, position: [0, 0, 0], axis: [0, 1, 0]}
  two: {type: cylindrical, parent: world, child: b, position: [1, 0, 0], axis: [0, 0, 1]}
constraints:
  mesh: {type: gear, joints: [one, two], freedoms: [0, 1], ratio: -2}
  nut: {type: screw, joint: two, pitch: 0.1}
  rack: {type: gear, joints: [one, two], freedoms: [0, 0], ratio: -125.66370614359172}
""",
    "odd things": HEAD + """
bodies:
  upper: {mass: 1 kg, shapes: [{capsule: {from: [0, 0, 0], to: [0.5, 0, 0], radius: 30 m}}, {box: {center: [0, 0, 0],
          size: [90, 80, 100]}}]}
  lower: {mass: 1 kg, com: [0.7, 0, 0], inertia: [0.1, 0.1, 0.1], points: {tip: [1, 0, 0]}}
  ball: {mass: 1 kg, com: [1.2, 0, 0], inertia: [0.1, 0.1, 0.1]}
  lost: {mass: 1 kg, com: [0, 1, 2], inertia: [1, 1, 1]}
  found: {mass: 1 kg, com: [0, 1, 3], inertia: [1, 1, 1]}
joints:
  hinge: {type: universal, parent: world, child: upper, position: [0, 0, 0], axis: [0, 1, 0], second_axis: [1, 0, 0],
          limits: [[-90, 120], [-1, 7]], stiffness: [1, 2], rest: [30, -0.1]}
  elbow: {type: rotational, parent: upper, child: lower, position: [0.5, 0, 9000], axis: [0, 1, 0]}
  neck: {type: spherical, parent: lower, child: ball, position: [1, 0, 0], limits: [0, 170], stiffness: 3}
  rope: {type: spherical, parent: lost, child: found, position: [0, 1, 2.5]}
controllers:
  hold: {type: pd, joints: [hinge, elbow], kp: 5, kd: 1, target: {hinge: [0.1, 50], elbow: 45}}
  turn: {type: pd, joints: neck, kp: 5, target: {neck: [0, 0, -20 deg]}}
initial: {hinge: [90, -8], neck: {rpy: [0, 0, 165 deg]}}
events: {turn: {at: 0.5 s, set: {elbow: 180}}}
""",
}  # fmt: skip


def report_of(scene: Scene) -> dict[str, Any]:
    """Return everything that is said of a scene, as data."""
    report = sim.check(scene)
    out: dict[str, Any] = {
        "ok": report.ok, "counts": report.counts, "notes": report.notes, "pose": report.pose_yaml,
        "problems": [problem.as_data() for problem in report.problems],
    }  # fmt: skip
    try:
        info = sim.info(scene)
    except sim.SceneError as error:
        out["info"] = [problem.what for problem in error.problems]
    except sim.SimulationError as error:
        out["info"] = [str(error)]
    else:
        out["info"] = {key: item for key, item in info.items() if key != "dynamics"}  # see tests.closed_chains
    return out


def rounded(value: Any) -> Any:
    """Return data with six digits of every number, nine where a text has more."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, str):
        return re.sub(r"-?\d+\.\d{8,}(e-?\d+)?", lambda found: f"{float(found[0]):.9g}", value)
    return (
        0.0
        if isinstance(value, float) and abs(value) < 1e-9
        else float(f"{value:.6g}")
        if isinstance(value, float)
        else value
    )


def scenes() -> dict[str, Any]:
    """Return how each scene is loaded, by name."""
    texts = {name: lambda text=text: load_text(text) for name, text in TEXTS.items()}
    shipped = {
        name: lambda name=name, set=said: sim.load(library.find(name), set=set) for name, said in SHIPPED.items()
    }
    return {**texts, **shipped}


def problems_of(make: Any) -> dict[str, Any]:
    """Return the report of a scene, or what loading it refuses."""
    try:
        return rounded(report_of(make()))  # type: ignore[no-any-return]
    except sim.SceneError as error:
        return {"refused": [problem.as_data() for problem in error.problems]}


if __name__ == "__main__":
    text = json.dumps({name: problems_of(make) for name, make in scenes().items()}, indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")
