"""Which rows of the loops act, which repeat others, and why.

Dense linear algebra for small mechanisms, elimination along the tree for large ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sim.assembly.constraint_diagnostics import repeated
from sim.assembly.loop_closure import LARGE, RANK, acting, close_positions
from sim.kernels.project import add_freedoms
from sim.kernels.tables import UNIVERSAL_ROW
from sim.mechanism.mechanism import Mechanism

ACTS = 1e-10  # the same for rows that act at second order only, in nearby poses
NEARBY = 0.1  # rad or lengths: how far the poses of `acting_nearby` are from the drawing
TAKES_PART = 1e-6  # share of a row in a combination of rows without effect
PARALLEL = 1e-9  # sine of angles, and distance of axes over the size, that count as zero
SHOWN = 3  # loops alike beyond which one line tells of all
JOINTS = 8  # of a loop beyond which its middle is left out
CONSTRAINTS = 12  # that repeat others beyond which only their number is told


@dataclass(frozen=True)
class Loop:
    """One loop at a pose, or what a constraint binds.

    joints : around it, the one that closes it, or the constraint, last; rows : of that one, drives left out
    redundant : rows that repeat those of the loops before it or of its own, here; always : in nearby poses, too
    why : what makes them do so: "planar", "one point", "same bodies", "geometry", or ""
    other : joint of the same bodies
    which : those that do, in words, where it is not all of them
    constraint : its type; empty where a joint closes the loop; beside : constraints that do the same
    """

    joints: tuple[str, ...]
    rows: int
    redundant: int
    always: int
    why: str = ""
    other: str = ""
    which: str = ""
    constraint: str = ""
    beside: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """What it is called in a sentence."""
        return f"constraint {self.joints[-1]}" if self.constraint else f"loop {_chain(self.joints)}"


def is_large(mechanism: Mechanism) -> bool:
    """Tell whether dense matrices of a mechanism take seconds."""
    return mechanism.structure.sizes.v > LARGE and not mechanism.driven().any()


def acting_by_loop(mechanism: Mechanism, q: np.ndarray, least: float = RANK) -> np.ndarray:
    """Return (loops,) how many rows of each loop act beside those of the loops before it, at q; leaves it looked at.

    Large mechanisms: beside those that the elimination along the tree comes to first; the sum is the rank as well.
    """
    loops = len(mechanism.structure.loops)
    block = np.asarray(mechanism.structure.tables.rows.block)
    mechanism.update(q, np.zeros(mechanism.structure.sizes.v))
    locked = mechanism.locked()
    if is_large(mechanism):
        return np.bincount(block[acting(mechanism, q) & locked], minlength=loops)[:loops]
    J, basis = mechanism.jacobian(), np.zeros((0, mechanism.structure.sizes.v))
    largest = float(np.linalg.norm(J[locked], 2)) if locked.any() and J.shape[1] else 0.0
    out = np.zeros(loops, int)
    for n in range(loops):
        left = J[(block == n) & locked]
        for _ in range(2):  # twice is enough
            left = left - (left @ basis.T) @ basis
        _, s, Vt = np.linalg.svd(left, full_matrices=False)
        out[n] = int((s > least * largest).sum())
        basis = np.vstack([basis, Vt[: out[n]]])
    return out


def acting_nearby(mechanism: Mechanism, q: np.ndarray, poses: int = 3) -> list[np.ndarray]:
    """Return the same in assembled poses about 0.1 rad away.

    Every row that acts there counts, be it a little: rows that act at second order only keep
    singular values of 1e-8 ... 1e-6 after assembly, redundant ones of roundoff.
    """
    rng, out = np.random.default_rng(7), []
    v = np.zeros(mechanism.structure.sizes.v)
    hard, length = mechanism.locked(), mechanism.model.length
    linear = np.asarray(mechanism.structure.tables.freedoms.linear) == 1
    # Wheels are steered so that their axles meet: nearby they are, too.
    kept = mechanism.driven_freedoms() if mechanism.model.constraints else np.zeros(len(v), bool)
    for _ in range(poses):
        near = q.copy()
        step = np.where(kept, 0.0, rng.normal(size=len(v)))
        step *= NEARBY / max(float(np.abs(step).max(initial=0.0)), 1e-300)
        step[linear] *= length
        add_freedoms(mechanism.structure.tables.links, step, 1.0, near)
        close_positions(mechanism, near, kept, drives=False)
        mechanism.update(near, v)
        if np.abs(mechanism.work.rows.phi[hard]).max(initial=0.0) < 1e-9 * length:
            out.append(acting_by_loop(mechanism, near, ACTS))
    mechanism.update(q, v)
    return out


def loops_of(mechanism: Mechanism, here: np.ndarray, nearby: Sequence[np.ndarray]) -> list[Loop]:
    """Return what is known of every loop at the pose last looked at; here, nearby: rows of each that act."""
    structure = mechanism.structure
    rows = np.bincount(
        np.asarray(structure.tables.rows.block)[mechanism.locked()], minlength=len(structure.tables.blocks)
    )
    most = max(nearby, key=lambda ranks: int(ranks.sum()), default=here)
    # Where more rows act nearby it is those that say what repeats in all poses.
    beside = most if most.sum() > here.sum() else here
    parts = None
    out = []
    for n in range(len(structure.loops)):
        redundant, always = int(rows[n] - here[n]), int(rows[n] - beside[n])
        why = other = which = ""
        spec = mechanism.model.constraints.get(structure.loops[n])
        if spec is not None:
            which, others = repeated(mechanism, n) if always and not is_large(mechanism) else ("", ())
            names = tuple(mechanism.around(n))
            out.append(Loop(names, int(rows[n]), redundant, always, "", "", which, spec.type, others))
            continue
        if redundant and always:
            if parts is None:
                parts = _taking_part(mechanism)
            why, other = _reason(mechanism, n)
            why, which = why or ("geometry" if len(nearby) else ""), _in_words(mechanism, n, parts)
        out.append(Loop(tuple(mechanism.around(n)), int(rows[n]), redundant, always, why, other, which))
    return out


def _taking_part(mechanism: Mechanism) -> np.ndarray:
    """Return the mask of rows in any combination without effect; of large mechanisms all that are not needed."""
    hard = mechanism.locked()
    out = np.zeros(len(hard), bool)
    if not is_large(mechanism):
        J = mechanism.jacobian()[hard]
        U, s, _ = np.linalg.svd(J)
        rank = int((s > RANK * s.max(initial=0.0)).sum())
        out[hard] = np.abs(U[:, rank:]).max(axis=1, initial=0.0) > TAKES_PART
    return out


def _in_words(mechanism: Mechanism, n: int, parts: np.ndarray) -> str:
    """Return which forces and moments of a loop joint the rows that repeat belong to; empty where all or none do."""
    rows = np.flatnonzero((mechanism.structure.tables.rows.block == n) & mechanism.locked())
    codes = {int(code) for code in mechanism.structure.tables.rows.code[rows[parts[rows]]]}
    if not codes or len(codes) == len(rows) or UNIVERSAL_ROW in codes:
        return ""
    joint = mechanism.structure.loops[n]
    axis = "z axis" if joint in mechanism.model.constraints else mechanism.model.type_of(joint).line
    named = (({2}, "force along"), ({0, 1}, "force across"), ({5}, "moment about"), ({3, 4}, "moment across"))
    words = [
        f"{what.replace(' ', 's ') if len(both & codes) == 2 else what} its {axis}"
        for both, what in named
        if codes & both
    ]
    return " and ".join([*([", ".join(words[:-1])] if words[:-1] else []), words[-1]])


def _reason(mechanism: Mechanism, n: int) -> tuple[str, str]:
    """Return what makes rows of loop n repeat others, and the joint that joins the same bodies."""
    model, structure = mechanism.model, mechanism.structure
    own, length = structure.loops[n], model.length
    if structure.tables.blocks.mate[n] >= 0:  # a gear joins freedoms, not bodies
        return "", ""
    ends = {int(model.joints.parent[own]), int(model.joints.child[own])}
    for body in ends - {0}:
        joint = int(structure.carrier[body])
        if {int(model.joints.parent[joint]), int(model.joints.child[joint])} == ends:
            return "same bodies", model.joint_names[joint]
    blocks = structure.tables.blocks[:n]
    a, b = (int(structure.link_of[body]) for body in (model.joints.parent[own], model.joints.child[own]))
    same = np.flatnonzero(((blocks["a"] == a) & (blocks["b"] == b)) | ((blocks["a"] == b) & (blocks["b"] == a)))
    if len(same):
        return "same bodies", model.joint_names[structure.loops[int(same[0])]]
    turns, slides, places = _motions(mechanism, n)
    if len(turns) and _parallel(turns) and (np.abs(slides @ turns.T) < PARALLEL).all():
        return "planar", ""
    if len(turns) and not len(slides) and _meet(turns, places, length):
        return "one point", ""
    return "", ""


def _motions(mechanism: Mechanism, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the axes of turns (k, 3) and of slides of loop n's joints, and points on the turns' axes."""
    tables, work = mechanism.structure.tables, mechanism.work
    freedoms = tables.freedoms
    mine = np.isin(freedoms["owner"], mechanism.links_around(n))
    linear = freedoms["linear"] == 1
    turns = list(work.freedoms.axis[mine & ~linear])
    slides = list(work.freedoms.axis[mine & (linear | (freedoms["pitch"] != 0.0))])
    places = list(work.links.x[freedoms["owner"][mine & ~linear]])
    own = mechanism.structure.loops[n]
    for code in () if own in mechanism.model.constraints else mechanism.model.type_of(own).free:
        e = mechanism.direction(code, n)
        if code < 3 or mechanism.model.pitch_of(own):
            slides.append(e)
        if code >= 3:
            turns.append(e)
            places.append(work.blocks.p_WM[n])
    return tuple(np.array(found).reshape(-1, 3) for found in (turns, slides, places))  # type: ignore[return-value]


def _parallel(axes: np.ndarray) -> bool:
    """Tell whether all axes are parallel."""
    return bool(np.abs(np.cross(axes, axes[0])).max() < PARALLEL)


def _meet(axes: np.ndarray, places: np.ndarray, length: float) -> bool:
    """Tell whether lines along axes through places meet in one point."""
    across = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    A, b = across.reshape(-1, 3), np.einsum("kij,kj->ki", across, places).ravel()
    point = np.linalg.lstsq(A, b, rcond=None)[0]
    return bool(np.abs(A @ point - b).max() < PARALLEL * length)


# --- in sentences -----------------------------------------------------------------------------------

UNIQUE = "the motion is unique, but forces that do the same are chosen (least norm)"
REASONS = {  # for one loop, for each of many
    "planar": ("; it is planar and written in space", "; they are planar and written in space"),
    "one point": ("; its axes meet in one point", "; the axes of each meet in one point"),
    "same bodies": ("; {own} joins the same bodies as {other}", "; each joins bodies that another joint joins already"),
    "geometry": ("; the geometry makes it so, in nearby poses, too",) * 2,
    "": ("", ""),
}


def redundancy_notes(loops: Sequence[Loop]) -> list[str]:
    """Return a sentence for each loop with rows that repeat others in all poses nearby, or one for many alike."""
    alike: dict[tuple[int, int, str, str], list[Loop]] = {}
    for loop in loops:
        if loop.redundant and loop.always and not loop.constraint:
            alike.setdefault((loop.rows, loop.always, loop.why, loop.which), []).append(loop)
    out = []
    for (rows, count, why, which), group in alike.items():
        repeat = f"{'repeats' if count == 1 else 'repeat'} the others"
        one, each = REASONS[why]
        if len(group) > SHOWN:
            names = ", ".join(loop.joints[-1] for loop in group[:SHOWN])
            part = f" ({which})" if which else ""
            many = f"{len(group)} loops, closed by {names}, ...: of each {count} of {rows} rows"
            out.append(f"{many} {repeat}{part}{each}; {UNIQUE}")
            continue
        for loop in group:
            own = loop.joints[-1]
            part = f" ({own}: {which})" if which else ""
            reason = one.format(own=own, other=loop.other)
            out.append(f"{loop.named}: {count} of its {rows} rows {repeat}{part}{reason}; {UNIQUE}")
    return [*out, *_constraint_notes([loop for loop in loops if loop.constraint and loop.redundant and loop.always])]


def _constraint_notes(bound: Sequence[Loop]) -> list[str]:
    """Return a sentence for each constraint that binds what others do; of very many for the first ones."""
    out = []
    for loop in bound[:CONSTRAINTS]:
        count = "its row repeats" if loop.rows == 1 else f"{loop.always} of its {loop.rows} rows repeat"
        if loop.always == 1 and loop.rows > 1:
            count += "s"
        others = ", ".join(loop.beside) or "what the joints hold"
        which = f" ({loop.which})" if loop.which else ""
        out.append(f"{loop.named} ({loop.constraint}): {count} {others}{which}; {UNIQUE}")
    if len(bound) > CONSTRAINTS:
        out.append(f"so do {len(bound) - CONSTRAINTS} more constraints, the last of them {bound[-1].joints[-1]}")
    return out


def singular_note(loops: Sequence[Loop], rank: int, rank_nearby: int) -> str:
    """Return what is to be said of a pose where fewer rows act than nearby; empty elsewhere."""
    if rank_nearby <= rank:
        return ""
    names = [loop.named for loop in loops if loop.redundant > loop.always]
    which = f" ({names[0]})" if len(names) == 1 else ""
    return (
        f"singular pose: rank {rank} here, {rank_nearby} nearby{which}; forces grow and motion may branch close to it. "
        "While such a pose is kept, forces that do the same are chosen (least norm)"
    )


def _chain(joints: Sequence[str]) -> str:
    """Return the joints of a loop in a row, those in the middle of a long one left out."""
    if len(joints) <= JOINTS:
        return " - ".join(joints)
    return f"{' - '.join(joints[:3])} - ... - {' - '.join(joints[-2:])} ({len(joints)} joints)"
