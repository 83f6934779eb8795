"""``python -m bench``: measure, print a table or JSON lines, write the page."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.catalogue import BENCHMARKS, choose
from bench.measure import Result
from bench.report import PICTURES, text_table, write_page

PAIRS = 5  # rounds of two checkouts


def parser() -> argparse.ArgumentParser:
    """Return the command's arguments."""
    out = argparse.ArgumentParser(prog="python -m bench", description="What it costs, beside the peers.")
    out.add_argument("names", nargs="*", metavar="NAME", help="a benchmark, the beginning of some, or a pattern")
    out.add_argument("--json", action="store_true", help="one JSON object a line instead of the table")
    out.add_argument("--markdown", action="store_true", help="write the table and pictures of docs/benchmarks.md, too")
    out.add_argument("--plots", metavar="DIR", type=Path, help="draw the work-precision diagrams into a folder")
    out.add_argument("--list", action="store_true", help="say what there is")
    out.add_argument("--against", metavar="FOLDER", type=Path, help="beside another checkout, whole processes by turns")
    out.add_argument("--rounds", type=int, metavar="N", help="rounds of each benchmark")
    return out


def single_threaded() -> None:
    """Give each side one thread; the numerical libraries read this when they are imported, which is later."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def listing() -> str:
    """Return all names with what they measure."""
    width = max(map(len, BENCHMARKS))
    lines = [
        f"{name:<{width}}  {item.about}" + (" (slow: only when named)" if item.slow else "")
        for name, item in BENCHMARKS.items()
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code: 1 when a benchmark failed, 2 for wrong arguments."""
    wish = parser().parse_args(arguments)
    if wish.list:
        print(listing())
        return 0
    if wish.rounds is not None and wish.rounds < 1:
        return _say("--rounds is at least 1", 2)
    try:
        names = choose(wish.names)
    except KeyError as unknown:
        return _say(f"there is no benchmark {unknown}; --list says what there is", 2)
    single_threaded()
    results: list[Result] = []
    code = 0
    for name in names:
        try:
            for found in _measured(wish, name):
                results.append(found)
                if wish.json:
                    print(found.line(), flush=True)
        except Exception as error:
            code = _say(f"{name}: {error}", 1)
    if not wish.json and results:
        print(text_table(results))
    if wish.plots is not None:
        code = _draw(results, wish.plots) or code
    if wish.markdown:
        if code:
            return _say("the page was not written, since a benchmark failed", code)
        from bench.diagram import draw

        write_page(results, wish.names, pictures=draw(results, PICTURES))
    return code


def _measured(wish: argparse.Namespace, name: str) -> Iterable[Result]:
    """Measure beside the peers, or beside another checkout."""
    if wish.against is None:
        return BENCHMARKS[name].measure(name, wish.rounds or BENCHMARKS[name].rounds)
    from bench.against import compare

    return compare(wish.against.resolve(), name, wish.rounds or PAIRS)


def _draw(results: Sequence[Result], folder: Path) -> int:
    from bench.diagram import draw

    try:
        files = draw(results, folder)
    except OSError as error:
        return _say(f"--plots: {error}", 1)
    if not files:
        return _say("--plots: only precision.* and snake.* have something to draw", 1)
    for file in files:
        print(file, file=sys.stderr)
    return 0


def _say(sentence: str, code: int) -> int:
    print(sentence, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
