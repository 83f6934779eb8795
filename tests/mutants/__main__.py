"""``python -m tests.mutants``: make small mistakes one at a time, and list those that no test notices."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from tests.mutants.mutations import Mutant, mutants_of, sources
from tests.mutants.reach import Reach
from tests.mutants.record import record, recorded
from tests.mutants.trial import KERNELS, Trial, copy_of_tree, preload, try_out
from tests.mutants.unreached import listing

_reaches: dict[str, Reach] = {}
FEWEST = 8  # mistakes in each room of a large sample, so that each is judged


def parser() -> argparse.ArgumentParser:
    """Return the command's arguments."""
    out = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    out.add_argument("place", nargs="*", metavar="PLACE", help="files or folders (all of sim, plugins and render)")
    out.add_argument("--sample", type=int, metavar="N", help="so many mistakes by chance; else all")
    out.add_argument("--seed", type=int, default=1, metavar="S", help="of the sample (1)")
    out.add_argument("--line", type=int, metavar="L", help="only those of a line")
    out.add_argument("--budget", type=float, default=60.0, metavar="SECONDS", help="of tests for each mistake (60)")
    out.add_argument("--jobs", type=int, default=2, metavar="N", help="trials side by side (2)")
    out.add_argument("--least", type=float, default=100.0, metavar="PERCENT", help="share that is to be noticed (100)")
    out.add_argument("--json", type=Path, metavar="FILE", help="write what became of each, a line each")
    out.add_argument("--record", nargs="*", metavar="TEST", help="find out which tests run which line; some: add them")
    out.add_argument("--most", type=int, default=0, metavar="N", help="such lines that may be left (0)")
    out.add_argument("--unreached", action="store_true", help="list lines of kernels that the interpreted pass misses")
    return out


def chosen(places: Sequence[str], count: int | None, seed: int, line: int | None = None) -> list[Mutant]:
    """Return the mistakes to be made: all of some places, or a sample: a few of each room, the rest by their sizes."""
    rooms: dict[str, list[Mutant]] = defaultdict(list)
    for place in places or [None]:  # type: ignore[list-item]
        for file in sources(place):
            for mutant in mutants_of(file):
                if line is None or mutant.line == line:
                    rooms[mutant.room].append(mutant)
    if count is None:
        return [mutant for room in rooms.values() for mutant in room]
    draw, total = random.Random(seed), sum(map(len, rooms.values()))
    fewest = min(FEWEST, count // max(len(rooms), 1))
    out, shares = [], 0.0
    for name in sorted(rooms):
        before, shares = round(shares), shares + (count - fewest * len(rooms)) * len(rooms[name]) / total
        share = fewest + round(shares) - before
        out += draw.sample(rooms[name], min(share, len(rooms[name])))
    draw.shuffle(out)
    return out


def trials(mutants: Sequence[Mutant], reaches: dict[str, Reach], budget: float, jobs: int) -> Iterator[Trial]:
    """Try all, side by side, each worker in a copy of its own."""
    _reaches.update(reaches)  # workers have it as they are forked: to hand it over takes longer than their work
    with ProcessPoolExecutor(jobs, get_context("fork"), initializer=preload) as pool:
        pieces = [pool.submit(_work, mutants[k::jobs], budget) for k in range(jobs)]
        for done in as_completed(pieces):
            yield from done.result()


def _work(mutants: Sequence[Mutant], budget: float) -> list[Trial]:
    out = []
    with copy_of_tree() as copy:
        for mutant in mutants:
            reach = _reaches["interpreted" if mutant.file.startswith(KERNELS) else "compiled"]
            trial = try_out(copy, mutant, reach, budget)
            print(f"  {'noticed' if trial.noticed else 'SURVIVES'}  {mutant}", file=sys.stderr, flush=True)
            out.append(trial)
    return out


def report(results: Sequence[Trial]) -> str:
    """Return survivors and, for each room, how many were noticed."""
    lines = []
    for trial in sorted((t for t in results if not t.noticed), key=lambda t: (t.mutant.file, t.mutant.line)):
        tests = f"{trial.ran} of {trial.reach} tests" if trial.reach else "no test gets there"
        lines.append(f"survives  {trial.mutant}   ({tests})")
    rooms: dict[str, list[bool]] = defaultdict(list)
    for trial in results:
        rooms[trial.mutant.room].append(bool(trial.noticed))
    lines += [f"{room:<18} {sum(found):4d} of {len(found):4d} noticed" for room, found in sorted(rooms.items())]
    noticed = sum(bool(t.noticed) for t in results)
    share = 100.0 * noticed / max(len(results), 1)
    return "\n".join([*lines, f"{'all':<18} {noticed:4d} of {len(results):4d} noticed, {share:.1f} %"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 1 where more mistakes survive than may."""
    wish = parser().parse_args(arguments)
    if wish.record is not None:
        record(wish.record)
        return 0
    try:
        reaches = dict(recorded())
    except FileNotFoundError as missing:
        print(f"python -m tests.mutants: {missing}", file=sys.stderr)
        return 2
    if wish.unreached:
        text = listing(reaches["interpreted"])
        print(text or "the interpreted pass runs every line of the kernels that is not explained")
        return int(len(text.splitlines()) > wish.most)
    mutants = chosen(wish.place, wish.sample, wish.seed, wish.line)
    results = list(trials(mutants, reaches, wish.budget, wish.jobs))
    if wish.json is not None:
        wish.json.write_text("".join(json.dumps(_entry(trial)) + "\n" for trial in results))
    print(report(results))
    return int(sum(bool(trial.noticed) for trial in results) < wish.least / 100.0 * len(results))


def _entry(trial: Trial) -> dict[str, object]:
    mutant = trial.mutant
    return {
        "place": f"{mutant.file}:{mutant.line}", "kind": mutant.kind, "before": mutant.before, "after": mutant.after,
        "noticed": trial.noticed, "ran": trial.ran, "reach": trial.reach, "seconds": round(trial.seconds, 2),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
