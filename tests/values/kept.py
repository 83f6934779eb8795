"""Recordings and reports of shipped scenes in a folder, and what differs between two such folders."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np

import sim
import sim.simulation.recorded_runs  # noqa: F401: a check that finds no kernel imported lets the process interpret them
from sim.cli.main import main
from tests.values.cases import SCENES, cases, names

IDLE = "run"  # the group that tells of the run and not of the motion


def keep(folder: Path, tell: Callable[[str], object] = print) -> None:
    """Run all shipped scenes by every method; write recordings and what `sim check` and `sim info` say.

    A run that is refused, or fails, leaves a text that says so.
    """
    folder.mkdir(parents=True)
    for name in names():
        here = folder / name
        here.mkdir(parents=True)
        for command in ("check", "info"):
            (here / f"{command}.json").write_text(_said(command, str(SCENES / f"{name}.yaml"), "--json"))
        for case in cases(name):
            way = case.name.rpartition(", ")[2]
            try:
                sim.run(case.scene, duration=case.duration, output=here / f"{way}.h5").close()
            except (sim.SceneError, sim.SimulationError) as refusal:
                (here / f"{way}.txt").write_text(str(refusal))
        tell(name)


def _said(*arguments: str) -> str:
    """Return what the command line prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main(list(arguments))
    return out.getvalue()


def differences(old: Path, new: Path) -> Iterator[str]:
    """Yield a sentence for each file and each dataset that is not the same to the bit in two folders."""
    files = sorted({path.relative_to(base) for base in (old, new) for path in base.rglob("*.*")})
    for file in files:
        pair = old / file, new / file
        missing = [str(path.parent) for path in pair if not path.exists()]
        if missing:
            yield f"{file}: not in {missing[0]}"
        elif file.suffix == ".h5":
            yield from (f"{file}: {text}" for text in _unlike(*pair))
        elif pair[0].read_bytes() != pair[1].read_bytes():
            yield f"{file}: other text"


def _unlike(old: Path, new: Path) -> Iterator[str]:
    with h5py.File(old) as a, h5py.File(new) as b:
        before, after = _datasets(a), _datasets(b)
        for name in sorted(before.keys() | after.keys()):
            if name not in before or name not in after:
                yield f"{name}: only in the {'new' if name not in before else 'old'} one"
                continue
            x, y = before[name], after[name]
            if x.dtype != y.dtype or x.shape != y.shape:
                yield f"{name}: {x.dtype}{x.shape} before, {y.dtype}{y.shape} now"
            elif x.tobytes() != y.tobytes():
                yield f"{name}: {_apart(x, y)}"


def _datasets(file: h5py.File) -> dict[str, np.ndarray]:
    """Return all arrays of a recording, and the attributes of its groups, but those that tell of the run."""
    out: dict[str, np.ndarray] = {}

    def visit(name: str, thing: h5py.Group | h5py.Dataset) -> None:
        if isinstance(thing, h5py.Dataset):
            value = np.asarray(thing[()])
            out[name] = (
                value if value.dtype != object else np.array([str(v) for v in value.ravel()]).reshape(value.shape)
            )
        for key, attribute in thing.attrs.items() if name != IDLE else ():
            out[f"{name}@{key}"] = np.asarray(str(attribute))

    file.visititems(visit)
    visit("", file)
    return out


def _apart(x: np.ndarray, y: np.ndarray) -> str:
    if not np.issubdtype(x.dtype, np.floating):
        return "other values"
    size = np.nanmax(np.abs(x), initial=0.0)
    if not np.array_equal(np.isnan(x), np.isnan(y)):
        return "not a number in other places"
    return f"{np.nanmax(np.abs(x - y)) / max(size, 1e-300):.2e} of the largest value ({size:.3g})"
