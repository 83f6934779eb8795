"""Every number of a recording with its trust: reruns, ledgers, residuals and an oracle of its own.

`sim.verify` is where to begin.  `oracle` and `joints` share nothing with the kernels: plain numpy over the
poses and velocities that a recording holds.
"""

from sim.analysis.verification.verdict import Verdict
from sim.analysis.verification.verifier import verify

__all__ = ["Verdict", "verify"]
