"""Thousands of bad inputs: does the command line answer each of them with a sentence?

Each is run as users run it, with a limit of ten seconds of processor time.  It has to end with an exit code that the
documentation names, print no traceback and no control characters, and where it refuses, name a place.

    python -m tests.attacks --count 10000 --seed 1
    python -m tests.attacks --kind scenes --seed 17 --count 1 --show     # one of them, with what it says
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import tests.attacks
from tests.attacks.attack import Attack
from tests.attacks.trial import Bench, faults


def kinds() -> list[str]:
    """Return the modules beside this one that make attacks."""
    names = [module.name for module in pkgutil.iter_modules(tests.attacks.__path__)]
    return [name for name in names if not name.startswith(("_", "test_")) and hasattr(_module(name), "attacks")]


def _module(kind: str):  # type: ignore[no-untyped-def]
    return importlib.import_module(f"tests.attacks.{kind}")


def main() -> int:
    """Try attacks; return 1 if something ended badly."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="how many in all")
    parser.add_argument("--seed", type=int, default=1, help="of the first; the next ones count on")
    parser.add_argument("--kind", action="append", help="only these")
    parser.add_argument("--show", action="store_true", help="print what each command prints")
    wish = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads of a linear algebra do not outlive a fork
    chosen = wish.kind or kinds()
    bad: dict[str, list[Attack]] = defaultdict(list)
    began, tried, slowest = time.monotonic(), 0, (0.0, "")
    bench = Bench()
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "here"
        folder.mkdir()
        for number, kind in enumerate(chosen):
            count = wish.count // len(chosen) + (number < wish.count % len(chosen))
            for attack in _module(kind).attacks(wish.seed, count, folder):
                if wish.show:
                    print(f"--- {attack.kind} {attack.seed}: sim {' '.join(map(repr, attack.arguments))}")
                ending = bench(attack, folder)
                tried += 1
                slowest = max(slowest, (ending.took, f"{attack.kind} {attack.seed}"))
                if wish.show:
                    print(f"{ending.out}{ending.err}{ending.report}--- exit code {ending.code}, {ending.took:.2f} s")
                for fault in faults(attack, ending):
                    if not bad[fault]:
                        print(f"{attack.kind} {attack.seed}: {fault} ({attack.about})", flush=True)
                    bad[fault].append(attack)
            print(f"{kind}: {count}, {time.monotonic() - began:.0f} s", flush=True)
    bench.close()
    print(f"\n{tried} inputs, {sum(map(len, bad.values()))} ended badly; slowest {slowest[0]:.1f} s ({slowest[1]})")
    for fault, attacks in sorted(bad.items(), key=lambda item: -len(item[1])):
        shown = ", ".join(f"{attack.kind} {attack.seed}" for attack in attacks[:5])
        print(f"{len(attacks):6} {fault}\n       again: {shown}{', ...' if len(attacks) > 5 else ''}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
