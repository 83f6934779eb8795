"""Mistakes that no test can notice, judged one by one: whatever the input, nothing that is told or kept differs.

Only what leaves every result and every sentence as it is belongs here: work done twice, room in memory, a number that
is written over before it is read.  A tolerance belongs here only if no input comes near it.
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
    *(
        Judged(
            "sim/kernels/advance.py",
            "return GROWTH if error < 1e-9 else max(min(GROWTH, 0.9 * error ** (-1.0 / 8.0)), 0.333)", before, after,
            "keeps off a division by zero: up to an error of 0.01 the eighth root is cut to the same",
        )
        for before, after in (("1e-9", "1.0000000000000002e-06"), ("error < 1e-9", "(error <= 1e-09)"))
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
        "sim/contact/not_unique.py", "chosen = np.abs(whole).reshape(problem.points, -1).max(axis=1) > FELT",
        "np.abs(whole).reshape(problem.points, -1).max(axis=1) > FELT",
        "(np.abs(whole).reshape(problem.points, -1).max(axis=1) >= FELT)",
        "no entry of an orthonormal basis that an svd gives is that number to the last bit",
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
        "sim/contact/not_unique.py", "edge = (size > mu * x[:, 0]) & (mu * size > -x[:, 0])", "mu * size > -x[:, 0]",
        "(mu * size >= -x[:, 0])", "at the limit the point is projected to the tip of the cone, along its edge or not",
    ),
    Judged(
        "sim/assembly/loop_closure.py", "if slip(mechanism) <= 1e-9 * (1.0 + np.abs(v).max(initial=0.0)):",
        "slip(mechanism) <= 1e-9 * (1.0 + np.abs(v).max(initial=0.0))",
        "(slip(mechanism) < 1e-09 * (1.0 + np.abs(v).max(initial=0.0)))",
        "a residual is that number to the last bit by chance alone, and the way that follows gives the same velocities",
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
            "while length > 1e-6 and value_of(y + length * step) > start + 1e-4 * length * fall:", before, after,
            "how much each step of an iteration has to gain; where it ends is what its residual says",
        )
        for before, after in (
            ("1e-4", "0.0002"), ("1e-4 * length", "(0.0001 / length)"), ("start + 1e-4 * length * fall", "(start)"),
            ("start + 1e-4 * length * fall", "(start - 0.0001 * length * fall)"),
            ("length > 1e-6", "(length >= 1e-06)"),
        )
    ),
    Judged(
        "sim/contact/not_unique.py", "edge = (size > mu * x[:, 0]) & (mu * size > -x[:, 0])", "size > mu * x[:, 0]",
        "(size >= mu * x[:, 0])", "at the limit, a kink, the slope of either side steers the next step as well",
    ),
    Judged(
        "sim/contact/analytic_centre.py",
        "while length > SHORTEST and not value_of(x + null @ (length * step)) <= now + 0.1 * length * fall:",
        "length > SHORTEST", "(length >= SHORTEST)", "halves of one are never that number",
    ),
    Judged(
        "sim/contact/analytic_centre.py", "if length <= SHORTEST:", "length <= SHORTEST", "(length < SHORTEST)",
        "halves of one are never that number",
    ),
    Judged(
        "sim/contact/analytic_centre.py",
        "while length > SHORTEST and not value_of(x + null @ (length * step)) <= now + 0.1 * length * fall:",
        "value_of(x + null @ (length * step)) <= now + 0.1 * length * fall",
        "(value_of(x + null @ (length * step)) < now + 0.1 * length * fall)",
        "a step gains exactly that by chance alone, and half of it leads to the same centre",
    ),
    Judged(
        "sim/contact/homotopy.py", "while log_soft > HARD and path.solves < SOLVES:", "log_soft > HARD",
        "(log_soft >= HARD)", "a step ends at that number to the last bit by chance alone",
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
            "sim/kernels/collision/separation.py", "for j in range(i + 1, 13):", "i + 1", after,
            "pairs of axes that were tried already, or one with itself, which crosses nothing",
        )
        for after in ("(i - 1)", "(i)")
    ),
    Judged(
        "sim/contact/homotopy.py", "before = np.append(np.zeros(3 * problem.points), -1.0)", "1.0", "2.0",
        "a direction, of which only counts to which side it is",
    ),
    *(
        Judged("sim/contact/homotopy.py", line, before, after, "a number is exactly that by chance alone")
        for line, before, after in (
            ("return out if out @ before >= 0.0 else -out", "out @ before >= 0.0", "(out @ before > 0.0)"),
            ("while length > SHORTEST:", "length > SHORTEST", "(length >= SHORTEST)"),
            ("if piece.merit <= ON_PATH:", "piece.merit <= ON_PATH", "(piece.merit < ON_PATH)"),
            (
                "return (P, log_soft) if Piece.at(self.problem, self.share, P, log_soft).merit <= ON_PATH else None",
                "Piece.at(self.problem, self.share, P, log_soft).merit <= ON_PATH",
                "(Piece.at(self.problem, self.share, P, log_soft).merit < ON_PATH)",
            ),
            (
                "if not np.abs(P / self.unit).max() < FAR or log_soft > SOFTEST:", "np.abs(P / self.unit).max() < FAR",
                "(np.abs(P / self.unit).max() <= FAR)",
            ),
            (
                "if not np.abs(P / self.unit).max() < FAR or log_soft > SOFTEST:", "log_soft > SOFTEST",
                "(log_soft >= SOFTEST)",
            ),
            (
                "if old is None or gone @ old > -0.9 * np.linalg.norm(gone):",
                "gone @ old > -0.9 * np.linalg.norm(gone)",
                "(gone @ old >= -0.9 * np.linalg.norm(gone))",
            ),
        )
    ),
    Judged(
        "sim/simulation/contact_modes.py",
        "still = np.asarray(sticks | (closed & begins & (np.hypot(u[1::3], u[2::3]) <= STILL)))",
        "np.hypot(u[1::3], u[2::3]) <= STILL", "(np.hypot(u[1::3], u[2::3]) < STILL)",
        "a slip is exactly that by chance alone",
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
    *(
        Judged(file, line, before, after, "a number is exactly that by chance alone")
        for file, line, before, after in (
            (
                "sim/assembly/continuation.py", "rank = int((singular > RANK * singular[0]).sum())",
                "singular > RANK * singular[0]", "(singular >= RANK * singular[0])",
            ),
            (
                "sim/assembly/continuation.py",
                "known = self.rank <= rank == (singular > SINGULAR * singular[0]).sum()",
                "singular > SINGULAR * singular[0]", "(singular >= SINGULAR * singular[0])",
            ),
            (
                "sim/assembly/continuation.py",
                "if moved is not None and moved <= (SHARE if known else WIDE) * step * self._size(tangent):",
                "moved <= (SHARE if known else WIDE) * step * self._size(tangent)",
                "(moved < (SHARE if known else WIDE) * step * self._size(tangent))",
            ),
            (
                "sim/assembly/continuation.py",
                "if not (found and known) or self._angle(tangent, after) <= TURNED:",
                "self._angle(tangent, after) <= TURNED", "(self._angle(tangent, after) < TURNED)",
            ),
            (
                "sim/assembly/continuation.py", "closed = bonds.worst() <= SHUT * length",
                "bonds.worst() <= SHUT * length", "(bonds.worst() < SHUT * length)",
            ),
            (
                "sim/assembly/continuation.py", "if residual <= CLOSED * length:", "residual <= CLOSED * length",
                "(residual < CLOSED * length)",
            ),
            (
                "sim/assembly/start.py", "if gap > SHUT * model.length or turn > 1e-9:", "turn > 1e-9",
                "(turn >= 1e-09)",
            ),
            (
                "sim/assembly/start.py", "if gap > SHUT * model.length or turn > 1e-9:", "gap > SHUT * model.length",
                "(gap >= SHUT * model.length)",
            ),
        )
    ),
    *(
        Judged(file, line, before, after, "a number is exactly its tolerance by chance alone")
        for file, line, before, after in (
            (
                "sim/assembly/branches.py",
                "if found and (best is None or off < best[0] - ALIKE):",
                "off < best[0] - ALIKE",
                "(off <= best[0] - ALIKE)",
            ),
            (
                "sim/assembly/constraint_diagnostics.py",
                "if min(height, under) > AIR * length or height < -AIR * length:",
                "height < -AIR * length",
                "(height <= -AIR * length)",
            ),
            (
                "sim/assembly/constraint_diagnostics.py",
                "if min(height, under) > AIR * length or height < -AIR * length:",
                "min(height, under) > AIR * length",
                "(min(height, under) >= AIR * length)",
            ),
            (
                "sim/assembly/continuation.py",
                "return bool(np.abs(rate).max(initial=0.0) <= THERE * (1.0 + np.abs(aim.value).max(initial=0.0)))",
                "np.abs(rate).max(initial=0.0) <= THERE * (1.0 + np.abs(aim.value).max(initial=0.0))",
                "(np.abs(rate).max(initial=0.0) < THERE * (1.0 + np.abs(aim.value).max(initial=0.0)))",
            ),
            (
                "sim/assembly/continuation.py",
                "w, vector = (-w, -vector) if w < -THERE else (w, vector)",
                "w < -THERE",
                "(w <= -THERE)",
            ),
            (
                "sim/assembly/continuation.py",
                "return self._size(moved) if residual <= SHUT * length else None",
                "residual <= SHUT * length",
                "(residual < SHUT * length)",
            ),
            (
                "sim/assembly/drives.py",
                "if not abs(found - wanted) <= 1e-9 * (1.0 + abs(wanted)):",
                "abs(found - wanted) <= 1e-9 * (1.0 + abs(wanted))",
                "(abs(found - wanted) < 1e-09 * (1.0 + abs(wanted)))",
            ),
            (
                "sim/assembly/loop_closure.py",
                "if status == Status.OK and residual <= SHUT * mechanism.model.length:",
                "residual <= SHUT * mechanism.model.length",
                "(residual < SHUT * mechanism.model.length)",
            ),
            (
                "sim/assembly/loop_closure.py",
                "if bonds.large and residual > CLOSED * length:",
                "residual > CLOSED * length",
                "(residual >= CLOSED * length)",
            ),
            (
                "sim/assembly/loop_closure.py",
                "return bonds.worst() <= SHUT * length",
                "bonds.worst() <= SHUT * length",
                "(bonds.worst() < SHUT * length)",
            ),
            (
                "sim/assembly/loop_closure.py",
                "if residual <= CLOSED * length:",
                "residual <= CLOSED * length",
                "(residual < CLOSED * length)",
            ),
            (
                "sim/assembly/loop_closure.py",
                "return before <= SHUT * length",
                "before <= SHUT * length",
                "(before < SHUT * length)",
            ),
            (
                "sim/assembly/loop_closure.py",
                "return residual <= SHUT * length",
                "residual <= SHUT * length",
                "(residual < SHUT * length)",
            ),
            (
                "sim/assembly/redundancy.py",
                "if np.abs(mechanism.work.rows.phi[hard]).max(initial=0.0) < 1e-9 * length:",
                "np.abs(mechanism.work.rows.phi[hard]).max(initial=0.0) < 1e-9 * length",
                "(np.abs(mechanism.work.rows.phi[hard]).max(initial=0.0) <= 1e-09 * length)",
            ),
            (
                "sim/assembly/redundancy.py",
                "out[hard] = np.abs(U[:, rank:]).max(axis=1, initial=0.0) > TAKES_PART",
                "np.abs(U[:, rank:]).max(axis=1, initial=0.0) > TAKES_PART",
                "(np.abs(U[:, rank:]).max(axis=1, initial=0.0) >= TAKES_PART)",
            ),
            (
                "sim/assembly/redundancy.py",
                "if len(turns) and _parallel(turns) and (np.abs(slides @ turns.T) < PARALLEL).all():",
                "np.abs(slides @ turns.T) < PARALLEL",
                "(np.abs(slides @ turns.T) <= PARALLEL)",
            ),
            (
                "sim/assembly/redundancy.py",
                "return bool(np.abs(np.cross(axes, axes[0])).max() < PARALLEL)",
                "np.abs(np.cross(axes, axes[0])).max() < PARALLEL",
                "(np.abs(np.cross(axes, axes[0])).max() <= PARALLEL)",
            ),
            (
                "sim/assembly/redundancy.py",
                "return bool(np.abs(A @ point - b).max() < PARALLEL * length)",
                "np.abs(A @ point - b).max() < PARALLEL * length",
                "(np.abs(A @ point - b).max() <= PARALLEL * length)",
            ),
            (
                "sim/assembly/start.py",
                "if np.abs(now - was).max(initial=0.0) > MOVED:",
                "np.abs(now - was).max(initial=0.0) > MOVED",
                "(np.abs(now - was).max(initial=0.0) >= MOVED)",
            ),
            (
                "sim/assembly/start.py",
                "apart = Bonds(mechanism, mechanism.locked()).worst() > SHUT * model.length",
                "Bonds(mechanism, mechanism.locked()).worst() > SHUT * model.length",
                "(Bonds(mechanism, mechanism.locked()).worst() >= SHUT * model.length)",
            ),
            (
                "sim/assembly/start.py",
                "if not rows.any() or np.abs(mechanism.work.rows.phi[rows]).max(initial=0.0) > SHUT * model.length:",
                "np.abs(mechanism.work.rows.phi[rows]).max(initial=0.0) > SHUT * model.length",
                "(np.abs(mechanism.work.rows.phi[rows]).max(initial=0.0) >= SHUT * model.length)",
            ),
            (
                "sim/assembly/unresisted.py",
                "return bool(np.any((whole == 0.0) & (twist > RANK * twist.max())))",
                "twist > RANK * twist.max()",
                "(twist >= RANK * twist.max())",
            ),
            (
                "sim/contact/analytic_centre.py",
                "chosen = np.abs(null).max(axis=(1, 2), initial=0.0) > FELT",
                "np.abs(null).max(axis=(1, 2), initial=0.0) > FELT",
                "(np.abs(null).max(axis=(1, 2), initial=0.0) >= FELT)",
            ),
            (
                "sim/contact/analytic_centre.py",
                "if regions(problem, new, problem.rates(new)).merit > LAWFUL:  # points that leave would be pressed",
                "regions(problem, new, problem.rates(new)).merit > LAWFUL",
                "(regions(problem, new, problem.rates(new)).merit >= LAWFUL)",
            ),
            (
                "sim/contact/analytic_centre.py",
                "return centre.P if regions(problem, centre.P, problem.rates(centre.P)).merit <= SOLVED else None",
                "regions(problem, centre.P, problem.rates(centre.P)).merit <= SOLVED",
                "(regions(problem, centre.P, problem.rates(centre.P)).merit < SOLVED)",
            ),
            (
                "sim/contact/analytic_centre.py",
                "if -fall < NEAR:",
                "-fall < NEAR",
                "(-fall <= NEAR)",
            ),
            (
                "sim/contact/not_unique.py",
                "if np.abs(off).max(initial=0.0) <= NEAR:",
                "np.abs(off).max(initial=0.0) <= NEAR",
                "(np.abs(off).max(initial=0.0) < NEAR)",
            ),
            (
                "sim/contact/slip_directions.py",
                "forward = np.sum(start * u, axis=1) > FORWARD",
                "np.sum(start * u, axis=1) > FORWARD",
                "(np.sum(start * u, axis=1) >= FORWARD)",
            ),
            (
                "sim/contact/slip_directions.py",
                "forward = np.sum(self.starts(kinetics, law) * u, axis=1) > FORWARD",
                "np.sum(self.starts(kinetics, law) * u, axis=1) > FORWARD",
                "(np.sum(self.starts(kinetics, law) * u, axis=1) >= FORWARD)",
            ),
            (
                "sim/contact/slip_directions.py",
                "return crept & forward & (np.hypot(u[:, 0], u[:, 1]) < FAST)",
                "np.hypot(u[:, 0], u[:, 1]) < FAST",
                "(np.hypot(u[:, 0], u[:, 1]) <= FAST)",
            ),
            (
                "sim/contact/slip_directions.py",
                "return np.where((length > SHORT)[:, None], way / np.maximum(length, SHORT)[:, None], d[which])",
                "length > SHORT",
                "(length >= SHORT)",
            ),
            (
                "sim/contact/slip_directions.py",
                "if own.min() > FREELY:",
                "own.min() > FREELY",
                "(own.min() >= FREELY)",
            ),
            (
                "sim/contact/slip_directions.py",
                "if on > 0.0 and abs(aside) <= TURNED:",
                "abs(aside) <= TURNED",
                "(abs(aside) < TURNED)",
            ),
            (
                "sim/contact/solve.py",
                "if search.merit > SOLVED:",
                "search.merit > SOLVED",
                "(search.merit >= SOLVED)",
            ),
            (
                "sim/contact/solve.py",
                "if search.merit > SOLVED and not search.dug_in:",
                "search.merit > SOLVED",
                "(search.merit >= SOLVED)",
            ),
            (
                "sim/contact/solve.py",
                "elif search.merit <= SOLVED:",
                "search.merit <= SOLVED",
                "(search.merit < SOLVED)",
            ),
            (
                "sim/contact/solve.py",
                "if search.merit <= EXACT:",
                "search.merit <= EXACT",
                "(search.merit < EXACT)",
            ),
            (
                "sim/contact/solve.py",
                "if search.merit <= SOLVED:",
                "search.merit <= SOLVED",
                "(search.merit < SOLVED)",
            ),
            (
                "sim/contact/solve.py",
                "if merit > SOLVED:",
                "merit > SOLVED",
                "(merit >= SOLVED)",
            ),
            (
                "sim/contact/zeno.py",
                "if third < AT_LEAST:",
                "third < AT_LEAST",
                "(third <= AT_LEAST)",
            ),
            (
                "sim/contact/zeno.py",
                "if third < SHORT and ratio < 1.0 and abs(ratio - before) < STEADY:",
                "abs(ratio - before) < STEADY",
                "(abs(ratio - before) <= STEADY)",
            ),
            (
                "sim/contact/zeno.py",
                "if third < SHORT and ratio < 1.0 and abs(ratio - before) < STEADY:",
                "third < SHORT",
                "(third <= SHORT)",
            ),
        )
    ),
    Judged(
        "sim/contact/contact_problem.py", 
        "return np.einsum(\"ki,ki->k\", self.sliding, self.sliding) > 0.5",
        "np.einsum(\"ki,ki->k\", self.sliding, self.sliding) > 0.5",
        "(np.einsum('ki,ki->k', self.sliding, self.sliding) >= 0.5)",
        "directions are of length one, or none",
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
)  # fmt: skip

_KEYS = {tuple(judged[:4]) for judged in CHANGE_NOTHING}


def changes_nothing(file: str, line: str, before: str, after: str) -> bool:
    """Tell whether a mistake was judged to change nothing.

    line : text of the line; before, after : with single blanks
    """
    return (file, line, before, after) in _KEYS
