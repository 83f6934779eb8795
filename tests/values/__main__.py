"""``python -m tests.values``: what all shipped scenes give: kept whole and compared to the bit, or as a table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.values import table
from tests.values.kept import differences, keep


def main() -> int:
    """Run the command; returns 1 where something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.values", description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="run everything and keep it in a new folder")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FOLDER", help="list what differs between two folders")
    parser.add_argument(
        "--table", nargs="*", metavar="SCENE",
        help="run everything shortly and write the table that a test holds; some: write theirs anew",
    )  # fmt: skip
    wish = parser.parse_args()
    if wish.keep is not None:
        keep(wish.keep)
    if wish.table is not None:
        table.write(wish.table)
    if wish.compare is None:
        return 0
    found = list(differences(*wish.compare))
    print("\n".join(found) or "the same to the bit")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
