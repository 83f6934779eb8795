"""`sim doctor`: what works on this machine, and what to do about what doesn't."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from sim.cli.outcome import OK, WRONG, print_json, say, tell

# Long enough for the first frame on a slow machine [s].
PATIENCE = 120.0

FRAME = "from render.stage import check; print(check())"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    found: str
    to_do: str = ""


def doctor(*, prepare: bool = False, as_json: bool = False) -> int:
    """Look at everything, print it and return the exit code: 2 when something doesn't work.

    prepare : compile all kernels first
    """
    if prepare:
        _compile(as_json)
    findings = [look() for look in LOOKS]
    ok = all(finding.ok for finding in findings)
    if as_json:
        print_json({"ok": ok, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(findings)
    return OK if ok else WRONG


def _compile(quiet: bool) -> None:
    """Compile whatever runs may call, so that none of them waits for it."""
    from sim.analysis import warm_up
    from sim.kernels import jit

    if jit.is_partial() and not quiet:
        say("compiling all kernels, once: about two minutes")
    warm_up.everything()


def _print(findings: list[Finding]) -> None:
    from rich.text import Text

    from sim.cli.printed_tables import print_table

    marks = {True: Text("ok", style="green"), False: Text("wrong", style="bold red")}
    print_table("", ("", "", ""), [(f.what, marks[f.ok], f.found) for f in findings])
    for finding in findings:
        if not finding.ok:
            tell(f"\n{finding.what}: {finding.to_do}")


def python() -> Finding:
    """Look at Python itself."""
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return Finding("Python", sys.version_info >= (3, 11), found, "install Python 3.11 or newer")


def libraries() -> Finding:
    """Look at what the package needs, by its own metadata: whether it is there, in a version that it can use."""
    try:
        needs = [Requirement(need) for need in metadata.requires("brachiate") or []]
    except metadata.PackageNotFoundError:
        return Finding("libraries", False, "brachiate is not installed", "pip install brachiate, or pip install -e .")
    found, wrong = [], []
    for need in needs:
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(need.name)
        except metadata.PackageNotFoundError:
            found.append(f"no {need.name}")
        else:
            if need.specifier.contains(version, prereleases=True):
                found.append(f"{need.name} {version}")
                continue
            found.append(f"{need.name} {version} (expected {need.specifier})")
        wrong.append(f"{need.name}{_extras(need)}{need.specifier}")
    return Finding("libraries", not wrong, ", ".join(found), shlex.join(["pip", "install", *wrong]) if wrong else "")


def _extras(need: Requirement) -> str:
    return f"[{','.join(sorted(need.extras))}]" if need.extras else ""


def kernel_cache() -> Finding:
    """Look at where compiled kernels are kept."""
    from sim.kernels import jit

    if jit.interpreted():
        return Finding("kernels", True, "interpreted (NUMBA_DISABLE_JIT is set): slow, for tests")
    folder = jit.cache_folder()
    base = next(path for path in (folder, *folder.parents) if path.exists())
    state = "filled"
    if jit.is_cold():
        state = "empty: the first run compiles for about a minute; sim doctor --compile does it now"
    elif jit.is_partial():
        state = "filled but for what is seldom used; sim doctor --compile compiles that, too"
    refused = "".join(f"; {sentence}" for sentence in jit.cache_refusals())
    return Finding(
        "kernels", os.access(base, os.W_OK), f"{_shipped()}kept in {folder}, {state}{refused}",
        f"make {base} writable, or set XDG_CACHE_HOME to a folder that is; until then every run compiles",
    )  # fmt: skip


def _shipped() -> str:
    """Return what is to be said of kernels that came with the program, as the beginning of a sentence, or nothing."""
    from sim.kernels import jit, shipped

    why = jit.shipped_refusal()
    if why is None:
        return ""
    if why:
        return f"those that came with the program are not used, {why}; "
    if damaged := shipped.damaged():
        return f"came with the program, but for {', '.join(damaged)}, which are damaged and compiled anew; "
    return "came with the program; "


def opengl() -> Finding:
    """Start OpenGL in a process of its own: a driver that crashes takes nothing with it."""
    try:
        result = subprocess.run(
            [sys.executable, "-c", FRAME], capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return Finding("OpenGL", False, "no frame after two minutes", "check the graphics driver")
    if result.returncode == 0:
        return Finding("OpenGL", True, result.stdout.strip().splitlines()[-1])
    last = (result.stderr.strip().splitlines() or [f"ended by signal {-result.returncode}"])[-1]
    reason = last.partition("RenderError: ")[2] or last
    return Finding("OpenGL", False, reason, "runs and recordings work all the same; pictures and films need it")


def ffmpeg() -> Finding:
    """Look at the encoder of films."""
    try:
        import imageio_ffmpeg

        exe = imageio_ffmpeg.get_ffmpeg_exe()
        version = imageio_ffmpeg.get_ffmpeg_version()
    except Exception as error:
        return Finding("ffmpeg", False, str(error).splitlines()[0], "pip install --force-reinstall imageio-ffmpeg")
    return Finding("ffmpeg", True, f"{version} ({exe})")


def shipped() -> Finding:
    """Look at the scenes and the schema that come with the program."""
    from sim.scene import library

    names = library.names()
    ok = bool(names) and library.schema_path().is_file()
    return Finding("scenes", ok, f"{len(names)} in {library.scenes_path()}", "install the package again")


def current_folder() -> Finding:
    """Look at whether recordings can be written where we are."""
    folder = Path.cwd()
    ok = os.access(folder, os.W_OK)
    return Finding("this folder", ok, f"{folder}", "recordings cannot be written here: change folder, or use -o")


LOOKS: tuple[Callable[[], Finding], ...] = (
    python, libraries, kernel_cache, opengl, ffmpeg, shipped, current_folder,
)  # fmt: skip
