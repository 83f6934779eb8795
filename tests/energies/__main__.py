"""Random scenes gain no energy.

``python -m tests.energies --scenes 500`` runs so many in each mode, and prints the worst.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from tests.energies.gains import MODES, Gain, gain_of, write


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.energies", description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", type=int, default=500, help="of each mode (500)")
    parser.add_argument("--first", type=int, default=0, help="number of the first scene (0)")
    parser.add_argument("--mode", choices=MODES, action="append", help="one of them only")
    parser.add_argument("--keep", type=Path, help="folder to which scenes that gain energy, or end, are written")
    given = parser.parse_args()
    wrong = 0
    for mode in given.mode or MODES:
        gains: list[Gain] = []
        for number in range(given.first, given.first + given.scenes):
            gains.append(gain_of(number, mode))
            if not gains[-1].kept or gains[-1].said:
                print(f"{mode} {gains[-1]} (allowed {gains[-1].bound:.1e})", flush=True)
                if given.keep:
                    given.keep.mkdir(parents=True, exist_ok=True)
                    write(given.keep, gains[-1], mode)
        beyond = [one for one in gains if not one.kept]
        ended = Counter(one.said.partition(": ")[2][:40] or one.said for one in gains if one.said)
        print(
            f"{mode}: {len(gains)} scenes, {len(beyond)} gain more than is allowed, {sum(ended.values())} end early "
            f"{dict(ended)}"
        )
        worst = max(gains, key=lambda one: one.share / one.bound)
        print(f"{mode}: the worst: {worst} (allowed {worst.bound:.1e})", flush=True)
        wrong += len(beyond)
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
