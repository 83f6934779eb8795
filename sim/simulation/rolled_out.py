"""What a rollout finds: the motions of many states, sampled at the same times, and what is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sim.kernels.rollouts import Motions
from sim.kernels.status import Status

KINETIC, POTENTIAL, DISSIPATED, IMPACT, INPUT = range(5)  # of the energies that are kept
DEPTH, OFF = range(2)  # of what is kept of the laws of contact

REASONS = {
    Status.OK: "",
    Status.STEP_TOO_SMALL: "the step fell too low, so the motion cannot be followed",
    Status.NOT_FINITE: "a number of the state is no longer finite",
    Status.MASS_SINGULAR: "nothing resists the motion of a body in this pose, or what acts on it is no finite number",
    Status.INCONSISTENT: "redundant rows of a loop contradict each other, so no motion continues this one",
    Status.NO_CLOSURE: "a loop cannot be closed",
    Status.NOT_SOLVED: "the equations of a step could not be solved; take a shorter one",
    Status.JAMMED: "friction and normal forces of sliding points drive each other up without end",
    Status.ENTANGLED: "formulas that read forces, and these forces, have not one answer together",
}


@dataclass(frozen=True)
class ContactsOf:
    """What is told of contacts in n motions.

    Attributes
    ----------
    rules : tuple of str
        Names of the rules of `contacts`, in the order of the scene.
    force : (n, samples, rules, 3) ndarray
        Sum of the forces of all points of a rule, N, world axes, on the bodies that its `between` names first.  In time
        steps the mean of the step that ends at the sample, and zero at sample 0.
    impulse : (n, samples, rules, 3) ndarray
        N s, likewise, since the sample before: in time steps of all that acted, in event mode of collisions alone (at
        sample 0 of those at the start).
    penetration : (n, samples) ndarray
        m, how deep shapes overlap at most: in time steps before any of the steps since the sample before (zero at
        sample 0), in event mode at the sample.
    residual : (n, samples) ndarray
        How far a step's impulses were from the laws of contact and friction at most, as a share of the largest speed of
        a point, since the sample before; zero in event mode, where a motion ends that does not meet them.
    """

    rules: tuple[str, ...]
    force: np.ndarray
    impulse: np.ndarray
    penetration: np.ndarray
    residual: np.ndarray


@dataclass(frozen=True)
class Rollout:
    """Motions of n states, sampled at the same times.

    Attributes
    ----------
    t : (samples,) ndarray
        Times, s.
    q : (n, samples, nq) ndarray
        Coordinates of the tree (docs/conventions.md); sample 0 is the state given, brought to the constraints, and
        in event mode after what happens at that instant: bodies that come together there have collided.
    v : (n, samples, nv) ndarray
        Rates.
    status : (n,) ndarray of int
        0, or the `sim.kernels.status.Status` with which a motion ended early; all that is told of it is not-a-number
        from there on.
    reached : (n,) ndarray of int
        The last sample that was reached; -1 where the motion could not begin.
    energy : mapping of str to (n, samples) ndarray, or None
        J, where `energies` was asked for: kinetic, potential, dissipated, impact, input and balance, as recordings have
        them.  What contacts take is dissipated in time steps; in event mode collisions are `impact`.
    contacts : ContactsOf or None
        Where `contacts` was asked for.
    said : mapping of int to str
        In event mode, of motions that ended early, the sentence with which a run ends so.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    status: np.ndarray
    reached: np.ndarray
    energy: Mapping[str, np.ndarray] | None = None
    contacts: ContactsOf | None = None
    said: Mapping[int, str] = field(default_factory=dict)

    @property
    def ok(self) -> np.ndarray:
        """(n,) bool: motions that reached the end."""
        return np.asarray(self.status == Status.OK)

    def reason(self, i: int) -> str:
        """Return why motion i ended early, and when; empty where it did not."""
        status = Status(int(self.status[i]))
        if status == Status.OK:
            return ""
        why = self.said.get(i, REASONS.get(status, status.name))
        if self.reached[i] < 0:
            return f"state {i} cannot begin: {why}"
        return f"state {i} cannot go on after t = {self.t[self.reached[i]]:.9g} s: {why}"


def room_for(n: int, samples: int, sizes: tuple[int, int], rules: int, told: tuple[bool, bool]) -> Motions:
    """Return room for motions.

    sizes : nq, nv; rules : of contact; told : whether energies, and what contacts do, are
    """
    of_energies, of_contacts = (samples if wanted else 0 for wanted in told)
    return Motions(
        q_out=np.empty((n, samples, sizes[0])), v_out=np.empty((n, samples, sizes[1])),
        status_out=np.zeros(n, np.int64), reached_out=np.zeros(n, np.int64), energy_out=np.zeros((n, of_energies, 5)),
        force_out=np.zeros((n, of_contacts, rules, 3)), impulse_out=np.zeros((n, of_contacts, rules, 3)),
        law_out=np.zeros((n, of_contacts, 2)),
    )  # fmt: skip


def found(t: np.ndarray, motions: Motions, rules: tuple[str, ...], said: Mapping[int, str]) -> Rollout:
    """Return what was found, by name."""
    energy, contacts, law = None, None, motions.law_out
    if motions.energy_out.shape[1]:
        energy = _named(motions.energy_out)
    if law.shape[1]:
        contacts = ContactsOf(rules, motions.force_out, motions.impulse_out, law[:, :, DEPTH], law[:, :, OFF])
    return Rollout(
        t=t, q=motions.q_out, v=motions.v_out, status=motions.status_out, reached=motions.reached_out, energy=energy,
        contacts=contacts, said=dict(said),
    )  # fmt: skip


def _named(energies: np.ndarray) -> dict[str, np.ndarray]:
    """Return energies (n, samples, 5) by name, with their balance."""
    kept = {
        "kinetic": KINETIC, "potential": POTENTIAL, "dissipated": DISSIPATED, "impact": IMPACT, "input": INPUT,
    }  # fmt: skip
    out = {name: energies[:, :, place] for name, place in kept.items()}
    total = out["kinetic"] + out["potential"] + out["dissipated"] + out["impact"] - out["input"]
    return out | {"balance": total - total[:, :1]}
