"""The command `sim`: its verbs and options.  Everything else is imported by the verb that needs it."""

from __future__ import annotations

import atexit
import contextlib
import enum
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from sim.cli.outcome import INTERRUPTED, OK, WRONG, explain, guarded, say, tell

app = typer.Typer(
    name="sim",
    help="Simulate figures and mechanisms that catch, hold, let go, stand and fall.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SceneArgument = Annotated[str, typer.Argument(metavar="SCENE", help="A scene file, or the name of a shipped scene.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter; units may stand.")
]
TrustOption = Annotated[bool, typer.Option("--trust", help="Allow the scene to run controllers from files of its own.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]


class Listed(enum.StrEnum):
    """What `sim list` can list."""

    scenes = "scenes"
    controllers = "controllers"


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Simulate figures and mechanisms that catch, hold, let go, stand and fall."""
    if version:
        from sim import __version__

        tell(f"brachiate {__version__}")
        raise typer.Exit(OK)
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(OK)


@app.command()
def run(
    scene: Annotated[
        str | None, typer.Argument(metavar="[SCENE]", help="A scene file, or the name of a shipped scene.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="RECORDING|STATE",
            help="Go on where a recording stops, instead of with a scene; or begin SCENE from a state in a file.",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The recording; without it, NAME.h5.")] = None,
    video: Annotated[Path | None, typer.Option(help="Film the run, too: a file .mp4 or .gif.")] = None,
    duration: Annotated[str | None, typer.Option(metavar="TIME", help="Simulated time instead of the scene's.")] = None,
    settings: SetOption = None,
    rtol: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Tolerance of the integrator instead of the scene's.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random, instead of the scene's.")] = None,
    trigger: Annotated[
        list[str] | None, typer.Option(metavar="KEY@TIME", help="Fire an event that waits for a key.")
    ] = None,
    quiet: QuietOption = False,
    overwrite: OverwriteOption = False,
    large: Annotated[
        bool, typer.Option("--large", help="Record more than 10 GB, or more than there is room for.")
    ] = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> int:
    """Check a scene, simulate it, record it, and film it with --video; or go on with a run that was stopped."""

    def command() -> int:
        from sim.cli import running

        wish = running.RunOptions(
            scene=scene, resume=resume, output=output, video=video, duration=duration, settings=tuple(settings or ()),
            rtol=rtol, seed=seed, triggers=tuple(trigger or ()), quiet=quiet, overwrite=overwrite, large=large,
            trust=trust, as_json=as_json,
        )  # fmt: skip
        return running.run(wish)

    return guarded(command, as_json=as_json)


@app.command()
def check(
    scene: SceneArgument, settings: SetOption = None, trust: TrustOption = False, as_json: JsonOption = False
) -> int:
    """Find everything that is wrong with a scene, and say what assembling it had to move."""

    def command() -> int:
        from sim.cli import checking

        return checking.check(scene, tuple(settings or ()), trust=trust, as_json=as_json)

    return guarded(command, as_json=as_json)


@app.command()
def info(
    scene: SceneArgument,
    settings: SetOption = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="At this time instead of the drawing.")] = None,
    matrices: Annotated[
        bool, typer.Option("--matrices", help="With --json: the numbers of M, J_C, H, W, A, b and others, too.")
    ] = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> int:
    """Count freedoms, constraints and loops, name generalised coordinates, and tell the quantities of the dynamics."""

    def command() -> int:
        from sim.cli import checking

        return checking.info(scene, tuple(settings or ()), at=at, matrices=matrices, trust=trust, as_json=as_json)

    return guarded(command, as_json=as_json)


@app.command()
def linearize(
    scene: SceneArgument,
    at: Annotated[
        str | None,
        typer.Option(metavar="TIME|steady", help="At this time, or in the nearest steady motion."),
    ] = None,
    param: Annotated[
        str | None, typer.Option(metavar="NAME=FROM:TO:STEP", help="Over a parameter of the scene: a root locus.")
    ] = None,
    state: Annotated[
        list[str] | None, typer.Option(metavar="FREEDOM", help="A freedom that is to be independent.")
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="JOINT", help="A joint whose torque is an input; else all.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Plot eigenvalues: a picture, .png, .svg or .pdf.")
    ] = None,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Pixels, as in 1280x720.")] = None,
    settings: SetOption = None,
    quiet: QuietOption = False,
    overwrite: OverwriteOption = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> int:
    """Linearise a scene about a state: A, B, eigenvalues, and a root locus over a parameter with --param."""

    def command() -> int:
        from sim.cli import linearizing

        wish = linearizing.LinearizeOptions(
            scene=scene, at=at, param=param, states=tuple(state or ()), inputs=None if not inputs else tuple(inputs),
            output=output, size=size, settings=tuple(settings or ()), quiet=quiet, overwrite=overwrite, trust=trust,
            as_json=as_json,
        )  # fmt: skip
        return linearizing.linearize(wish)

    return guarded(command, as_json=as_json)


@app.command()
def inverse(
    scene: SceneArgument,
    motion: Annotated[
        Path,
        typer.Argument(metavar="MOTION", help="A recording, or a table of joints over time, .csv or .h5."),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write coordinates and torques: a table, .h5 or .csv.")
    ] = None,
    actuated: Annotated[
        list[str] | None,
        typer.Option(
            "--actuated",
            metavar="JOINT",
            help="A joint that has a motor; without any, those that the scene drives or controls, else all.",
        ),
    ] = None,
    cutoff: Annotated[
        str | None, typer.Option(metavar="HZ|auto", help="Filter a noisy table, as in '6 Hz'; auto finds where.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot the torques: a picture, .png, .svg or .pdf.")] = None,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Pixels of the picture, as in 1280x720.")] = None,
    settings: SetOption = None,
    quiet: QuietOption = False,
    overwrite: OverwriteOption = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> int:
    """Find the torques that a motion takes: inverse dynamics of open, closed, redundant and floating chains."""

    def command() -> int:
        from sim.cli import inverting

        wish = inverting.InverseOptions(
            scene=scene, motion=motion, output=output, actuated=tuple(actuated or ()), cutoff=cutoff, plot=plot,
            size=size, settings=tuple(settings or ()), quiet=quiet, overwrite=overwrite, trust=trust, as_json=as_json,
        )  # fmt: skip
        return inverting.inverse(wish)

    return guarded(command, as_json=as_json)


@app.command()
def render(
    source: Annotated[str, typer.Argument(metavar="RECORDING|SCENE", help="A recording, or a scene to draw.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="A film .mp4 or .gif, or a picture .png.")],
    time: Annotated[str | None, typer.Option(metavar="TIME", help="The instant of a picture.")] = None,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Pixels, as in 1280x720.")] = None,
    fps: Annotated[float | None, typer.Option(help="Pictures per second of a film.")] = None,
    camera: Annotated[str | None, typer.Option(help="front, side, top, or azimuth=60,distance=4,...")] = None,
    frames: Annotated[int | None, typer.Option(help="A strip of so many pictures in one .png.")] = None,
    contacts: Annotated[
        bool, typer.Option("--contacts", help="Draw where things touch, and the forces there.")
    ] = False,
    trail: Annotated[
        list[str] | None, typer.Option("--trail", metavar="BODY.POINT", help="A point or body that leaves a trail.")
    ] = None,
    settings: SetOption = None,
    quiet: QuietOption = False,
    overwrite: OverwriteOption = False,
    trust: TrustOption = False,
) -> int:
    """Make a film, a picture or a strip of pictures."""

    def command() -> int:
        from sim.cli import drawing

        wish = drawing.RenderOptions(
            source=source, output=output, time=time, size=size, fps=fps, camera=camera, frames=frames,
            contacts=contacts, trails=tuple(trail or ()), settings=tuple(settings or ()), quiet=quiet,
            overwrite=overwrite, trust=trust,
        )  # fmt: skip
        return drawing.render(wish)

    return guarded(command)


@app.command()
def plot(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="A recording.")],
    signals: Annotated[list[str] | None, typer.Argument(help="Signals or expressions; none: an overview.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The picture, .png, .svg or .pdf.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the numbers to this file, too.")] = None,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Pixels, as in 1280x720.")] = None,
    xy: Annotated[bool, typer.Option("--xy", help="Signals are pairs: draw the second over the first.")] = False,
    overwrite: OverwriteOption = False,
) -> int:
    """Plot signals of a recording over time, with its events, or over each other with --xy."""

    def command() -> int:
        from sim.cli import drawing

        return drawing.plot(recording, tuple(signals or ()), output, csv=csv, size=size, xy=xy, overwrite=overwrite)

    return guarded(command)


@app.command()
def verify(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="A recording.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Plot it, too: a picture, .png, .svg or .pdf.")
    ] = None,
    instants: Annotated[int, typer.Option(min=0, help="Random instants that the oracle recomputes.")] = 20,
    quick: Annotated[bool, typer.Option("--quick", help="No rerun: residuals, ledger and marks of forces.")] = False,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Pixels of the picture, as in 1280x720.")] = None,
    quiet: QuietOption = False,
    overwrite: OverwriteOption = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> int:
    """Say how far every number of a recording can be trusted: error bars, ledger, residuals, an oracle."""

    def command() -> int:
        from sim.cli import verifying

        wish = verifying.VerifyOptions(
            recording=recording, output=output, instants=instants, quick=quick, size=size, quiet=quiet,
            overwrite=overwrite, trust=trust, as_json=as_json,
        )  # fmt: skip
        return verifying.verify(wish)

    return guarded(command, as_json=as_json)


new = typer.Typer(help="Write a scene or a controller to start from.", pretty_exceptions_enable=False)
app.add_typer(new, name="new")


@new.command("scene")
def new_scene(
    name: Annotated[str, typer.Argument(metavar="NAME", help="NAME.yaml is written.")],
) -> int:
    """Write a scene that runs, with the schema line for editors."""

    def command() -> int:
        from sim.cli import making

        return making.scene(name)

    return guarded(command)


@new.command("controller")
def new_controller(
    name: Annotated[str, typer.Argument(metavar="NAME", help="NAME.py and test_NAME.py are written.")],
    sampled: Annotated[bool, typer.Option("--sampled", help="Called at a rate, with memory.")] = False,
) -> int:
    """Write a controller that works, with its test."""

    def command() -> int:
        from sim.cli import making

        return making.controller(name, sampled=sampled)

    return guarded(command)


@app.command()
def schema(
    controller: Annotated[str | None, typer.Argument(metavar="[CONTROLLER]", help="A controller type.")] = None,
    path: Annotated[bool, typer.Option("--path", help="Print where the file is instead.")] = False,
) -> int:
    """Print the JSON Schema of scenes, or of the parameters of a controller type."""

    def command() -> int:
        from sim.cli import listing

        return listing.schema(controller, path=path)

    return guarded(command)


@app.command("list")
def list_shipped(
    what: Annotated[Listed, typer.Argument(help="What to list.")] = Listed.scenes, as_json: JsonOption = False
) -> int:
    """List the scenes and figures that come with the program, or the controller types."""

    def command() -> int:
        from sim.cli import listing

        show = listing.list_scenes if what is Listed.scenes else listing.list_controllers
        return show(as_json=as_json)

    return guarded(command, as_json=as_json)


@app.command()
def doctor(
    prepare: Annotated[bool, typer.Option("--compile", help="Compile all kernels now, so that no run waits.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Say what works on this machine, and what to do about what doesn't."""

    def command() -> int:
        from sim.cli import doctor as examining

        return examining.doctor(prepare=prepare, as_json=as_json)

    return guarded(command, as_json=as_json)


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from sim.scene.spoken import as_command

    try:
        with as_command():
            code = app(args=arguments, prog_name="sim", standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        # Wrong options and arguments; the class that the library raises differs between its versions.
        message = getattr(error, "format_message", None)
        if message is None:
            return explain(error)
        context = getattr(error, "ctx", None)
        say(f"{context.command_path if context else 'sim'}: {_sentence(message())}")
        return WRONG
    return code if isinstance(code, int) else OK


def _sentence(text: str) -> str:
    words = " ".join(text.split()).rstrip(".")
    return words[:1].lower() + words[1:] + ("" if words.endswith(("?", ")")) else "; --help lists what there is")


def entry() -> None:
    """Run the command and leave at once: taking the libraries down one by one would take 0.4 s."""
    code = main()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    entry()
