"""Compile kernels into a wheel, where ``HATCH_BUILD_HOOKS_ENABLE=1 python -m build`` asks for them.

Else a wheel is pure, and `pip install .` compiles nothing: kernels then are compiled when they are first needed.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface[Any]):
    """Put kernels for all processors of the kind x86-64-v3 into the wheel, which is then one of this Python alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile them, in a process of its own."""
        if version == "editable":
            return
        if platform.machine() not in ("x86_64", "AMD64"):
            raise RuntimeError(f"kernels in a wheel are for x86-64, and this is {platform.machine()}")
        self._work = tempfile.TemporaryDirectory(prefix="brachiate-wheel-")
        kernels = Path(self._work.name) / "kernels"
        others = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        environment = {
            **others, "PYTHONPATH": self.root, "NUMBA_CACHE_DIR": f"{self._work.name}/kept",
            "NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "",
        }  # fmt: skip
        self.app.display_info("compiling the kernels: a minute or two")
        subprocess.run([sys.executable, "-P", "-m", "sim.analysis.shipping", kernels], check=True, env=environment)
        build_data["force_include"][str(kernels)] = "sim/data/kernels"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled: the wheel has it."""
        if version != "editable":
            self._work.cleanup()
