"""Record until no more fits: ``full_disk.py PATH BYTES`` limits the size of files and prints the error."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from sim.recording import Recorder, RecordingError
from tests.recording import example


def main() -> None:
    path, limit = Path(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    layout = example.layout(6)
    try:
        with Recorder(path, layout) as recorder:
            for _ in range(10_000):
                recorder.append(example.rows(layout, recorder.count, 100))
                recorder.flush()
    except RecordingError as error:
        print(error)
        sys.exit(3)


if __name__ == "__main__":
    main()
