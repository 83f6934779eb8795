"""`sim linearize`: A, B and eigenvalues of a scene about a state, and their root locus over a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.cli import options
from sim.cli.drawing import PLOTS
from sim.cli.outcome import OK, Refusal, print_json, say, tell
from sim.cli.progress import waiting
from sim.scene.authored import aside

if TYPE_CHECKING:
    from sim.analysis.linear.stability import Crossing
    from sim.analysis.linear.study import Linearization, RootLocus
    from sim.scene.units import Quantity

MOST = 10000  # values of a parameter
SHOWN = 12  # states up to which matrices are printed
POSE = 6  # coordinates of a pose that a line holds
SAME = 1e-6  # m or rad: poses that differ by less are one


@dataclass(frozen=True, kw_only=True)
class LinearizeOptions:
    """What was typed behind `sim linearize`."""

    scene: str
    at: str | None = None
    param: str | None = None
    states: tuple[str, ...] = ()
    inputs: tuple[str, ...] | None = None
    output: Path | None = None
    size: str | None = None
    settings: tuple[str, ...] = ()
    quiet: bool = False
    overwrite: bool = False
    trust: bool = False
    as_json: bool = False


def linearize(wish: LinearizeOptions) -> int:
    """Linearise, print, plot and return the exit code."""
    import sim
    from sim.cli.running import announce_compiling

    at: Any = wish.at if wish.at in (None, "steady") else options.seconds(str(wish.at), "--at")
    settings = options.assignments(wish.settings)
    sweep = None if wish.param is None else parameter_values(wish.param)
    output, size = wish.output, options.size(wish.size)
    if sweep is not None and sweep[0] in settings:
        raise Refusal(f"--param: {sweep[0]!r} is given by --set, too")
    if sweep is not None and output is None:
        output = Path(f"{Path(wish.scene).stem}_{sweep[0]}.png")
    if output is not None:
        options.target(output, "-o", PLOTS, overwrite=wish.overwrite)
    scene = sim.load(wish.scene, set=settings | ({} if sweep is None else {sweep[0]: sweep[1][0]}), trust=wish.trust)
    announce_compiling(wish.quiet or wish.as_json)
    with waiting(wish.quiet or wish.as_json, "linearising"):
        if sweep is None:
            model = aside(sim.linearize, scene, at=at, inputs=wish.inputs, states=wish.states)
            data, found = {"scene": scene.name, **model.as_data()}, _alone(model)
        else:
            name, values = sweep
            found = aside(
                sim.root_locus,
                lambda value: sim.load(
                    wish.scene, set=settings | {name: replace(values[0], value=value)},
                    trust=wish.trust,
                ),
                [value.value for value in values], parameter=name, at=at, inputs=wish.inputs, states=wish.states,
            )  # fmt: skip
            data = {"scene": scene.name, **found.as_data()}
    if wish.as_json:
        print_json({"ok": True, **data})
    elif not wish.quiet:
        _print_model(scene.name, found.models[0]) if sweep is None else _print_locus(scene.name, found)
    if output is not None:
        from render import locus

        locus.draw(
            found.values, found.branches, [(c.value, c.eigenvalue) for c in found.crossings], found.parameter, output,
            scene.name, size,
        )  # fmt: skip
        say(f"written: {output}")
    return OK


def _alone(model: Linearization) -> RootLocus:
    """Return a model as a root locus of one value."""
    from sim.analysis.linear.study import RootLocus

    return RootLocus("", np.zeros(1), (model,), model.roots[None])


def parameter_values(text: str) -> tuple[str, list[Quantity]]:
    """Return the name and the values of ``name=from:to:step``; units may stand."""
    from sim.scene.expressions import ExpressionError, evaluate
    from sim.scene.units import Quantity, describe

    name, equals, span = (part.strip() for part in text.partition("="))
    parts = span.split(":")
    if not (name and equals) or len(parts) != 3:
        raise Refusal(f"--param: {text!r} is not of the form NAME=FROM:TO:STEP, as in v=0:10:0.1")
    try:
        low, high, step = (evaluate(part.strip(), {}) for part in parts)
    except ExpressionError as error:
        raise Refusal(f"--param: {text!r}: {error.what}") from error
    for other in (high, step):
        if other.dimension != low.dimension:
            raise Refusal(
                f"--param: {text!r} mixes {describe(low.dimension)} and {describe(other.dimension)}; "
                "from, to and step have one unit"
            )
    if not step.value > 0.0:
        raise Refusal(f"--param: the step {parts[2].strip()} is not above zero")
    if not low.value <= high.value < float("inf"):
        raise Refusal(f"--param: the range {parts[0].strip()} to {parts[1].strip()} is empty; the smaller value first")
    count = int(np.floor((high.value - low.value) / step.value * (1.0 + 1e-12) + 1e-9)) + 1
    if count > MOST:
        raise Refusal(f"--param: {count} values are too many; take a longer step")
    values = [low.value + k * step.value for k in range(count)]
    return name, [Quantity(value, low.dimension, low.bare) for value in values]


# --- what is printed --------------------------------------------------------------------------------


def _print_model(name: str, model: Linearization) -> None:
    from sim.cli.printed_tables import print_table

    about = "steady motion" if model.steady else f"motion that is not steady ({model.remark})"
    tell(f"{name}: linear model at t = {model.t:.6g} s about a {about}")
    tell(f"  {_posed(model.pose)}")
    for what, rate in model.follows.items():
        tell(f"  runs on: {what} at {rate:.9g}")
    for note in model.notes:
        tell(f"  {note}")
    if len(model.fed) < len(model.states):
        tell(f"  nothing depends on: {', '.join(model.states[k] for k in model.ignored)}")
    tell()
    if not len(model.fed):
        tell("nothing in it can deviate and grow: every freedom is driven, held, or runs on by itself")
        return
    head = ("real part [1/s]", "+- imaginary [rad/s]", "damping ratio", "mostly in")
    print_table("", head, [_row(model, k) for k in range(len(model.fed)) if model.rounded[k].imag >= 0.0])
    if 0 < len(model.fed) <= SHOWN:
        A, B = model.reduced()
        states = [model.states[k] for k in model.fed]
        head = ("d/dt of", *states, *(f"torque {column}" for column in model.inputs))
        rows = [(state, *(f"{x:.9g}" for x in (*a, *b))) for state, a, b in zip(states, A + 0.0, B + 0.0, strict=True)]
        tell()
        print_table("", head, rows)
    tell()
    engine, differences = model.trust["engine"], model.trust["differences"]
    tell(f"accelerations agree with those of the engine to {engine:.0e}, their derivatives to {differences:.0e}")


def _row(model: Linearization, k: int) -> tuple[str, ...]:
    """Return what is said of an eigenvalue: real and imaginary part, damping, states that its mode is largest in."""
    value, mode = complex(model.rounded[k]), np.abs(model.modes[:, k])
    largest = ", ".join(model.states[i] for i in np.argsort(-mode)[:2])
    if not value.imag:
        return f"{round(value.real, 10) + 0.0:.10f}", "", "", largest
    return (
        f"{round(value.real, 10) + 0.0:.10f}",
        f"{abs(value.imag):.10f}",
        f"{-value.real / abs(value) + 0.0:.4g}",
        largest,
    )


def _shown(model: Linearization) -> str:
    values = [complex(value) for value in model.rounded if value.imag >= 0.0]
    return ", ".join(f"{value.real:.10f}" + (f" +- {value.imag:.10f}i" if value.imag else "") for value in values)


def _posed(pose: Mapping[str, float]) -> str:
    """Return where a motion is, as far as a line holds it."""
    told = ", ".join(f"{name} {_near(value)}" for name, value in list(pose.items())[:POSE])
    return f"pose: {told}" + (f", and {len(pose) - POSE} more (--json has them)" if len(pose) > POSE else "")


def _near(coordinate: float) -> str:
    """Return a coordinate as far as a steady motion is found, so that a zero is told as one."""
    return f"{round(coordinate, 9) + 0.0:.9g}"


def _print_locus(name: str, found: RootLocus) -> None:
    from sim.cli.printed_tables import print_table

    tell(f"{name}: eigenvalues [1/s] over {found.parameter}")
    first = found.models[0].pose
    moves = {c for model in found.models for c, x in model.pose.items() if abs(x - first.get(c, np.inf)) > SAME}
    still = {c: x for c, x in first.items() if c not in moves}
    if still:
        tell(f"  {_posed(still)}" + ("" if moves else ", at all values"))
    shown = sorted(moves)[:POSE]
    rows = []
    for value, model in zip(found.values, found.models, strict=True):
        at = (_near(model.pose[c]) if c in model.pose else "" for c in shown)
        rows.append((f"{value:.9g}", "" if model.steady else "not steady", *at, _shown(model)))
    print_table("", (found.parameter, "", *shown, "eigenvalues"), rows)
    for crossing in found.crossings:
        tell(f"{found.parameter} = {_value(crossing.value, found.values)}: {_crossing(crossing)}")
    for value in found.leaps:
        tell(f"{found.parameter} = {value:.9g}: the motions found on both sides do not go on into one another")
    loose = [(value, model) for value, model in zip(found.values, found.models, strict=True) if not model.steady]
    if loose:
        value, model = loose[0]
        tell(f"{len(loose)} of {len(found.values)} motions are not steady; at {value:.9g} {model.remark}")


def _crossing(crossing: Crossing) -> str:
    """Return a sentence on what happens at a crossing."""
    frequency = abs(crossing.eigenvalue.imag)
    how = {
        "buckling": "a root passes zero",
        "flutter": f"two oscillations meet at {frequency:.9g} rad/s",
        "Hopf": f"the damping of an oscillation at {frequency:.9g} rad/s passes zero",
    }[crossing.kind]
    who = "a mode becomes" if crossing.modes == 1 else f"{crossing.modes} modes become"
    return f"{crossing.kind}: {how}; {who} {'unstable' if crossing.rising else 'stable'}"


def _value(value: float, values: np.ndarray) -> str:
    """Return a value of the parameter; zero where it is as near to zero as roundoff of the range."""
    return f"{0.0 if abs(value) <= 1e-14 * float(np.abs(values).max()) else value:.12g}"
