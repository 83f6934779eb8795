"""What `sim info` tells of a chain: its quantities by name, with their equations, sizes and, where asked, numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim.closed_chains.chain import Chain

# Attribute of Chain, and its equation in closed-chains-1999.
QUANTITIES = {
    "rates": "", "mass_matrix": "", "bias": "", "gravity": "", "passive": "", "J_C": "(12)", "J_C_drift": "(22)",
    "J_S": "(15)", "J_G": "(15)", "H": "(18)", "H_drift": "(22)", "W": "(4)", "T": "(17)", "A": "(23)", "b": "(23)",
    "centre_of_mass": "", "com_jacobian": "", "momentum": "", "momentum_matrix": "", "momentum_drift": "",
}  # fmt: skip


def quantities(chain: Chain, *, values: bool = False) -> list[dict[str, Any]]:
    """Return one record for each quantity: its name, its equation, its shape, and with `values` its numbers."""
    out = []
    for name, equation in QUANTITIES.items():
        array = np.asarray(getattr(chain, name))
        said = {"quantity": name, "equation": equation, "shape": list(array.shape)}
        out.append(said | ({"value": array.tolist()} if values else {}))
    return out
