"""Mistakes that no test can notice, judged one by one: whatever the input, nothing that is told or kept differs.

Only what leaves every result and every sentence as it is belongs here: work done twice, room in memory, a number that
is written over before it is read.  A tolerance belongs here only if no input comes near it; that none is met to the
last bit need not be said, as no such mistake is made (`measured`).
"""

from __future__ import annotations

from typing import NamedTuple


class Judged(NamedTuple):
    """A mistake, by the text of its line, and why it changes nothing.

    line : the line as it stands, without the blanks around it
    before, after : what is replaced by what, as the list of survivors shows them
    """

    file: str
    line: str
    before: str
    after: str
    why: str


CHANGE_NOTHING: tuple[Judged, ...] = (
    *(
        Judged("sim/kernels/guards/curves.py", line, "0", "1", "a range from 1 to 1 is as empty as one from 1 to 0")
        for line in (
            "for r in range(1, degree + 1 if high < 1.0 else 0):", "for r in range(1, degree + 1 if low > 0.0 else 0):",
        )
    ),
    Judged(
        "sim/recording/writer.py", "MORE_EVENTS, EVENT_WIDTH = 64, 120", "64", "65",
        "room for events, which grows when it is full",
    ),
    Judged(
        "sim/recording/writer.py", "MORE_EVENTS, EVENT_WIDTH = 64, 120", "120", "121",
        "room for a text, which grows when a longer one comes",
    ),
    *(
        Judged(
            "sim/analysis/snake/operations.py", line, before, after,
            "operations are counted, whose number does not depend on the speeds and torques that they are done with",
        )
        for line, before, after in (
            ("u = lagrange.speeds(snake, q, 0.3, 0.2)", "0.3", "0.6"),
            ("u = lagrange.speeds(snake, q, 0.3, 0.2)", "0.2", "0.4"),
            ("kane.accelerations(counted, q_c[:n], [tally.number(x) for x in (0.3, 0.2)], T)", "0.3", "0.6"),
            ("kane.accelerations(counted, q_c[:n], [tally.number(x) for x in (0.3, 0.2)], T)", "0.2", "0.4"),
            ("q_c, T = [tally.number(x) for x in q], [tally.number(x) for x in papers_torques(n, 1.0)]", "1.0", "2.0"),
        )
    ),
    Judged(
        "sim/kernels/advance.py",
        "return GROWTH if error < 1e-9 else max(min(GROWTH, 0.9 * error ** (-1.0 / 8.0)), 0.333)", "1e-9",
        "1.0000000000000002e-06",
        "keeps off a division by zero: up to an error of 0.01 the eighth root is cut to the same",
    ),
    Judged(
        "sim/mechanism/lending.py",
        "poses(links, freedoms, np.random.default_rng(5).normal(size=nq), link_work, freedom_work)", "5", "6",
        "a pose that is like no other: whether M is singular in all poses is seen at any of them",
    ),
    Judged(
        "sim/analysis/report.py", "rng, v = np.random.default_rng(3), np.zeros(mechanism.structure.sizes.v)", "3", "4",
        "random directions, of which only is asked whether a quadratic form has values there that are not zero",
    ),
    Judged(
        "sim/assembly/redundancy.py", "rng, out = np.random.default_rng(7), []", "7", "8",
        "random poses nearby, of which only the ranks count, which are those of almost all poses",
    ),
    Judged(
        "sim/assembly/loop_closure.py",
        "guards = Guards(table(GUARD, 0), np.zeros(1, np.int64), np.zeros(5, np.int64))", "5", "6",
        "where parts of a recorded row begin: none is recorded while loops are closed",
    ),
    Judged(
        "plugins/pd.py", "turn = 2.0 * math.atan2(half, rw) / (half or 1.0)", "1.0", "2.0",
        "where half is zero the vector that it multiplies is zero, too",
    ),
    Judged(
        "sim/contact/not_unique.py",
        "step = -np.linalg.lstsq(slope + min(1e-3, 1e-3 * np.abs(off).max()) * np.eye(len(b)), off, rcond=None)[0]",
        "np.abs(off)", "(off)", "steers the steps of an iteration; where it ends is what its residual says",
    ),
    *(
        Judged(
            "sim/cli/main.py", line, "False", "True",
            "how the library would print an exception; none gets that far, as every command is guarded",
        )
        for line in (
            "pretty_exceptions_enable=False,",
            'new = typer.Typer(help="Write a scene or a controller to start from.", pretty_exceptions_enable=False)',
        )
    ),
    Judged(
        "sim/assembly/continuation.py", "step = min(step, FIRST / max(size, 1e-300))", "1e-300", "1e-297",
        "keeps off a division by zero: a step of any such length is cut to what is left",
    ),
    Judged(
        "sim/simulation/ensemble.py",
        'self._pool = ThreadPoolExecutor(max(1, self.threads - 1), thread_name_prefix="rollout")',
        "1", "2", "how many threads share out the work of all workers, which is the same whoever does it",
    ),
    *(
        Judged("sim/analysis/warm_up.py", line, before, after, "what is called to be compiled: no result of it is read")
        for line, changes in (
            (
                "sweep(impact(np.eye(3), np.array([-1.0, 0.0, 0.0]), np.ones(1)), np.zeros((1, 3)), 1, 1.0)",
                (("1.0", "2.0"), ("0.0", "1.0"), ("-1.0", "(1.0)"), ("1", "2")),
            ),
            ("for torques in (None, np.zeros((1, 1, columns))):", (("1", "2"),)),
            ("Ensemble(model, threads=1).rollout(state, torques, 1, dt=SHORT)", (("1", "2"),)),
            ("SHORT = 1e-3  # s", (("1e-3", "0.002"),)),
        )
        for before, after in changes
    ),
    *(
        Judged(
            "sim/contact/not_unique.py",
            "while length > 1e-6 and value_of(y + length * step) > bar + 1e-4 * length * fall:", before, after,
            "how much each step of an iteration has to gain; where it ends is what its residual says",
        )
        for before, after in (
            ("1e-4", "0.0002"), ("1e-4 * length", "(0.0001 / length)"), ("bar + 1e-4 * length * fall", "(bar)"),
            ("bar + 1e-4 * length * fall", "(bar - 0.0001 * length * fall)"),
        )
    ),
    Judged(
        "sim/mechanism/solids.py", 'return 2.0 * a * b / (a + b) if a + b > 0.0 else 0.0', "a + b", "(a)",
        "keeps off a division of nothing by nothing: where a alone is nothing, so is the product",
    ),
    Judged(
        "sim/contact/impact.py",
        "shift = np.where(collision.bounce > 0.0, s * collision.bounce * collision.approach, 0.0)",
        "collision.bounce > 0.0", "(collision.bounce >= 0.0)", "what is left out is a product with zero",
    ),
    *(
        Judged(
            "sim/kernels/collision/separation.py",
            "if flat and height <= 0.0 and (is_solid(core, 0) or is_solid(core, 1)):",
            before, after, "a quicker way that is not taken: what is climbed from there is as high already",
        )
        for before, after in (
            ("is_solid(core, 0) or is_solid(core, 1)", "(is_solid(core, 0) and is_solid(core, 1))"),
            ("is_solid(core, 0) or is_solid(core, 1)", "(is_solid(core, 0))"),
        )
    ),
    *(
        Judged(
            "sim/kernels/collision/separation.py", "if height < -DEEP * size and not flat:", before, after,
            "climbs that are not needed, of shapes that hardly overlap or are flat: they lead to nothing higher",
        )
        for before, after in (
            ("-DEEP", "(DEEP)"), ("height < -DEEP * size and not flat", "(height < -DEEP * size)"),
            ("height < -DEEP * size and not flat", "(height < -DEEP * size or not flat)"),
        )
    ),
    *(
        Judged(
            "sim/kernels/collision/separation.py", "ODD = (0.48, 0.6, 0.64)", before, after,
            "a direction without a reason, from which climbs begin",
        )
        for before, after in (("0.48", "0.96"), ("0.6", "1.2"), ("0.64", "1.28"))
    ),
    *(
        Judged(
            "sim/kernels/collision/separation.py", "for j in range(i + 1, 13):", "i + 1", after,
            "pairs of axes that were tried already, or one with itself, which crosses nothing",
        )
        for after in ("(i - 1)", "(i)")
    ),
    Judged(
        "sim/contact/homotopy.py", "before = np.append(np.zeros(3 * problem.points), -1.0)", "1.0", "2.0",
        "a direction, of which only counts to which side it is",
    ),
    Judged(
        "sim/contact/homotopy.py", "return out if out @ before >= 0.0 else -out", "out @ before >= 0.0",
        "(out @ before > 0.0)", "a product is exactly zero by chance alone",
    ),
    Judged(
        "sim/simulation/contact_modes.py",
        "creep = [k for k, touch in enumerate(touches) if touch.mode == SLOW_SLIP and not still[k]]",
        "touch.mode == SLOW_SLIP and not still[k]", "(touch.mode == SLOW_SLIP)",
        "rows that follow from others: the impulse of least norm is the same",
    ),
    Judged(
        "sim/mechanism/mechanism.py", "for b in range(len(total) - 1, 0, -1):", "0", "1",
        "the first link hangs on the world, which is told nothing",
    ),
    *(
        Judged(
            "sim/recording/writer.py", line, "0", "1",
            "what stands in a draft at first, and is written over before the file takes its name",
        )
        for line in (
            'rooms["rows"] = Room((), np.dtype("<i8"), 0)', 'rooms["complete"] = Room((), np.dtype("i1"), 0)',
        )
    ),
    Judged(
        "sim/contact/contact_problem.py", "if rate < 0.0:", "rate < 0.0", "(rate <= 0.0)",
        "what rates are measured by is above zero, or -1 where a problem is refused",
    ),
    Judged(
        "sim/contact/homotopy.py", "return np.ones(points), 0.2 + np.arange(1, points + 1) * 0.618034 % 1.0",
        "np.arange(1, points + 1) * 0.618034", "(np.arange(1, points + 1) / 0.618034)",
        "of the golden section the inverse is by one larger, which leaves the same part of one",
    ),
    Judged(
        "sim/contact/by_kernels.py", "return Modes(flags(), flags(), np.zeros((k, 2)), np.zeros(k), np.zeros(k))", "2",
        "3", "room that kernels write directions into, which they read by two numbers, and nobody else",
    ),
    Judged(
        "sim/mechanism/mechanism.py", "for b in range(1, len(out)):", "range(1, len(out))", "range(1 + 1, len(out))",
        "the first link hangs on the world, which does not move",
    ),
    Judged(
        "sim/simulation/ensemble.py", "mine, *others = followers[: max(1, min(self.threads, -(-count // portion)))]",
        "min(self.threads, -(-count // portion))", "max(self.threads, -(-count // portion))",
        "how many threads look for work, of which some find none",
    ),
    Judged(
        "sim/mechanism/mechanism.py",
        "return own if mate < 0 else list(dict.fromkeys([*own, *self.links_around(mate)]))", "mate < 0", "(mate <= 0)",
        "the second block of a gear comes behind the first, so it is never the very first",
    ),
    Judged(
        "sim/simulation/actions.py",
        "connect -= {joint for joint in connect if not here.model.tied(joint) <= there}  # nothing to tie",
        "here.model.tied(joint) <= there", "(here.model.tied(joint) < there)",
        "the constraint itself is there, which it does not tie",
    ),
    Judged(
        "sim/analysis/snake/wheel_rows.py", "for j in range(len(K)):", "range(len(K))", "range(len(K) - 1)",
        "below the last diagonal there is nothing",
    ),
    Judged(
        "sim/mechanism/solids.py", "rules.setdefault((min(i, j), max(i, j)), {}).setdefault(n, i > j)", "i > j",
        "(i >= j)", "shapes of two bodies are two shapes",
    ),
    Judged(
        "render/camera.py",
        "return shapes.position[shape] + (signs * half) @ rotation.matrix(shapes.quat[shape]).T",
        "shapes.position[shape] + (signs * half) @ rotation.matrix(shapes.quat[shape]).T",
        "(shapes.position[shape] - signs * half @ rotation.matrix(shapes.quat[shape]).T)",
        "the same eight corners in another order",
    ),
    *(
        Judged(
            "sim/contact/homotopy.py", "start = self.along(P - unknowns.fixed)", "P - unknowns.fixed", after,
            "where the step begins: linear equations have one solution, wherever they are begun",
        )
        for after in ("(P + unknowns.fixed)", "(P)")
    ),
    *(
        Judged(
            file, line, "False", "True", "more columns than there are singular values, of which only the first are used"
        )
        for file, line in (
            (
                "sim/assembly/continuation.py",
                "U, singular, Vt = np.linalg.svd(np.linalg.solve(L, J[:, free].T).T, full_matrices=False)",
            ),
            ("sim/assembly/redundancy.py", "_, s, Vt = np.linalg.svd(left, full_matrices=False)"),
        )
    ),
    Judged(
        "sim/assembly/loop_closure.py",
        "y, slope = np.concatenate([q, np.zeros(mechanism.structure.sizes.v + 2)]), np.zeros(0)", "2", "3",
        "room at the end, which nothing reads",
    ),
    Judged(
        "sim/kernels/collision/narrow.py",
        "tilt = length(cross(normal, axis_of(pose, 1 - side, 2))) if rim else 1.0", "1.0", "2.0",
        "the tilt of rims, which is asked of rims alone",
    ),
    Judged(
        "sim/assembly/branches.py", "structure, rng = mechanism.structure, np.random.default_rng(3)", "3", "4",
        "poses at random from which a branch is looked for",
    ),
    Judged(
        "sim/contact/analytic_centre.py",
        "return 0.5 * NORM * float((x * x).sum()) - float(np.log(value).sum()) if (value > 0.0).all() else np.inf",
        "value > 0.0", "(value >= 0.0)", "the logarithm of zero is infinite, too",
    ),
    *(
        Judged(
            "sim/contact/impact.py", line, "0.0", "1.0", "only rates that close are asked for, which are negative"
        )
        for line in (
            "closing = np.where(often, 0.0, u[::3])", "if u[::3].min(initial=0.0) < slowest:",
        )
    ),
    *(
        Judged(
            "sim/contact/not_unique.py", line, "1.0", "2.0",
            "keeps off a division by zero: what has no size is not on the edge",
        )
        for line in (
            "e = x[:, 1:] / np.where(size > 0.0, size, 1.0)[:, None]",
            "bend = mu * height / np.where(size > 0.0, size, 1.0)",
        )
    ),
    Judged(
        "sim/assembly/continuation.py", "moved, residual = moved + dq, after", "moved + dq", "(moved - dq)",
        "the same way, the other way round: its size alone is asked",
    ),
    Judged(
        "sim/analysis/verification/looks.py",
        'side, way = ("upper" if stop.side > 0 else "lower"), ("reaches" if guard.direction > 0 else "leaves")',
        "guard.direction > 0", "(guard.direction >= 0)", "a stop is reached or left: its guard has a direction",
    ),
    Judged(
        "sim/scene/read_joints.py",
        'if not any(driven) and all(isinstance(item, Scalar) and item.text == "free" for item in items):',
        "any(driven)", "all(driven)", "where all are free none is driven",
    ),
    Judged(
        "sim/recording/writer.py", 'if block.dtype.kind == "i" and values.dtype.kind == "f":',
        'block.dtype.kind == "i" and values.dtype.kind == "f"', "(block.dtype.kind == 'i' or values.dtype.kind == 'f')",
        "real numbers are filled with not-a-number, and whole ones are never that",
    ),
    Judged(
        "sim/contact/solve.py", "FIRST_ROUNDS, LAST_ROUNDS = (10, 20, 40), (130, 300)", "20", "21",
        "work alone: how many sweeps there are before modes are tried again",
    ),
    Judged(
        "sim/joints/joint_type.py", "if self.ball >= 0 or self.turns == (X, Z):", "self.ball >= 0", "(self.ball > 0)",
        "a ball comes after all slides: the first of its freedoms is 0 where nothing slides, which is told, too",
    ),
    Judged(
        "sim/recording/heap.py", "while at + 8 <= size:", "at + 8 <= size", "(at + 8 < size)",
        "a message that begins 8 bytes before the end of its block holds nothing, and refers to nothing",
    ),
    Judged(
        "sim/mechanism/frames.py", "a[int(np.argmin(np.abs(c)))] = 1.0", "1.0", "2.0",
        "its direction alone is asked, and twice a float has the same digits",
    ),
    Judged(
        "sim/kernels/inertia.py", "if link_work.asleep[b] == 1:", "1", "2",
        "work alone: a link that sleeps stands still, and its inertia comes out the same",
    ),
    Judged(
        "sim/contact/stops.py", 'joint, end = int(model.columns.joint[column]), "upper" if side > 0 else "lower"',
        "side > 0", "(side >= 0)", "a stop is at a side: 0 is friction, which has no stop to name",
    ),
    Judged(
        "sim/simulation/flow.py", "self.control.acts[2] = 1", "1", "2", "it is asked only whether it is 0",
    ),
    Judged(
        "sim/recording/by_name.py", "there = marks[np.any(marks >= 0, axis=1)]", "np.any(marks >= 0, axis=1)",
        "np.all(marks >= 0, axis=1)", "a row has all six marks or none",
    ),
    *(
        Judged("sim/mechanism/workspace.py", line, "0", "1", "room, of which more is never less")
        for line in ("sizes.rows, 0, int(((blocks.nb + blocks.na + blocks.nc) * blocks.rows).sum()), 0, 0",)
    ),
    *(
        Judged(
            "sim/closed_chains/along.py", "shared = _shared(len(motion[0]), len(order))", before, after,
            "the three parts of a motion have as many frames",
        )
        for before, after in (("0", "1"), ("motion[0]", "motion[1]"))
    ),
    Judged(
        "sim/closed_chains/acting.py", "ends = [tables.points[i] for i in (force.a, force.b) if i >= 0]", "0", "1",
        "the first point is the origin of the world, which no force names",
    ),
    Judged(
        "sim/recording/state_file.py",
        "if not isinstance(found, h5py.Dataset) or found.is_virtual or found.external or found.nbytes > limit:",
        "found.nbytes > limit", "(found.nbytes >= limit)", "a file is larger than what any of its datasets holds",
    ),
)  # fmt: skip

_KEYS = {tuple(judged[:4]) for judged in CHANGE_NOTHING}


def changes_nothing(file: str, line: str, before: str, after: str) -> bool:
    """Tell whether a mistake was judged to change nothing.

    line : text of the line; before, after : with single blanks
    """
    return (file, line, before, after) in _KEYS
