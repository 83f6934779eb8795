"""`sim render` and `sim plot`: pictures of a recording, or of a scene before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.cli import options
from sim.cli.outcome import NO_FILM, OK, Refusal, say
from sim.cli.progress import film_progress
from sim.scene.authored import aside

PLOTS = (".png", ".svg", ".pdf")


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """What was typed behind `sim render`."""

    source: str
    output: Path
    time: str | None = None
    size: str | None = None
    fps: float | None = None
    camera: str | None = None
    frames: int | None = None
    contacts: bool = False
    trails: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    quiet: bool = False
    overwrite: bool = False
    trust: bool = False


def render(wish: RenderOptions) -> int:
    """Make a film, picture or strip and return the exit code."""
    options.target(wish.output, "-o", (*options.FILMS, ".png"), overwrite=wish.overwrite)
    size = options.size(wish.size)
    time = None if wish.time is None else options.seconds(wish.time, "--time")
    scene = not is_recording(wish.source)
    if scene and (wish.output.suffix.lower() != ".png" or wish.frames is not None or time is not None or wish.trails):
        raise Refusal(f"{wish.source} is a scene that has not run: it gives one picture, .png; `sim run` it to film it")
    from render.camera import parse

    shot: dict[str, Any] = {"size": size, "camera": None if wish.camera is None else parse(wish.camera)}
    _need_opengl()
    if scene:
        _draw(wish, shot)
        return OK
    from render.film import render_recording

    # A lone picture without a time shows the start.
    if wish.output.suffix.lower() == ".png" and wish.frames is None and time is None:
        time = _first_time(wish.source)
    with film_progress(wish.quiet) as progress:
        render_recording(
            wish.source,
            wish.output,
            time=time,
            fps=wish.fps,
            frames=wish.frames,
            contacts=wish.contacts,
            trails=wish.trails,
            progress=progress,
            **shot,
        )
    return OK


def is_recording(source: str) -> bool:
    """Tell whether a file is HDF5, whatever its name."""
    path = Path(source)
    if path.suffix in (".h5", ".hdf5"):
        return True
    try:
        if not path.is_file():  # a pipe would be waited for
            return False
        with path.open("rb") as stream:
            return stream.read(4) == b"\x89HDF"
    except OSError:
        return False  # whoever reads it says why it cannot be read


def _need_opengl() -> None:
    from render.stage import check
    from render.view import RenderError

    try:
        check()
    except RenderError as error:
        raise Refusal(str(error), code=NO_FILM) from error


def _first_time(source: str) -> float:
    import sim

    with sim.load_recording(source) as recording:
        if not recording.rows:
            raise Refusal(f"{source} holds no rows to draw")
        return float(recording.time[0])


def _draw(wish: RenderOptions, shot: dict[str, Any]) -> None:
    """Draw a scene as it starts: what the engine would record first."""
    import sim
    from sim.kernels import jit

    jit.interpret()
    from render.film import render_drawing
    from render.view import Motion

    scene = sim.load(wish.source, set=options.assignments(wish.settings), trust=wish.trust)
    recording = aside(sim.run, scene, duration=0.0)
    render_drawing(Motion.from_recording(recording.path), wish.output, **shot)
    recording.close()


def plot(
    recording: Path,
    signals: tuple[str, ...],
    output: Path | None,
    *,
    csv: Path | None = None,
    size: str | None = None,
    xy: bool = False,
    overwrite: bool = False,
) -> int:
    """Plot signals of a recording over time, or with `xy` over each other, or write a table; return the exit code."""
    if output is None and csv is None:
        from render.view import open_recording

        open_recording(recording).close()  # what is no recording is told before a name is made of its own
        output = recording.with_suffix(".png")
    if output is not None:
        options.target(output, "-o", PLOTS, overwrite=overwrite)
    if csv is not None:
        options.target(csv, "--csv", (".csv",), overwrite=overwrite)
    pixels = options.size(size)
    from render import plots

    if output is not None:
        plots.plot(recording, signals, output, size=pixels, xy=xy)
        say(f"written: {output}")
    if csv is not None:
        plots.export(recording, signals, csv)
        say(f"written: {csv}")
    return OK
