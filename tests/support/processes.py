"""Programs that tests start to send them signals: what a shell in the background has them ignore is set by the test."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def start(command: Sequence[str], *, ignored: Sequence[int] = (), **options: Any) -> subprocess.Popen[str]:
    """Start a program that ignores these signals, and no other one that ends it."""

    def dispose() -> None:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, preexec_fn=dispose, **{**pipes, **options})
