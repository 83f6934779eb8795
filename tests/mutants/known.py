"""Mistakes that no test noticed once, made again one by one: `python -m tests.mutants.known [WORDS]`.

Each is made in a copy of the tree, and the tests that must notice it run there, interpreted: nothing is compiled.
Prints for each which tests noticed it.  Exit code: 0 where each is noticed, else 1; 2 where the table fits the tree no
longer.  WORDS choose the mistakes of which the place or the about holds them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("bench", "docs", "plugins", "render", "scenes", "schema", "sim", "tests")  # what tests read
LIMIT = 300  # s for the tests of one mistake: some make a run endless


@dataclass(frozen=True)
class Mistake:
    """One statement of a file, which stands there once, what is put in its place, and who must notice.

    about : what a user would see; tests : names as pytest takes them
    """

    file: str
    right: str
    wrong: str
    about: str
    tests: tuple[str, ...]


MISTAKES = (
    Mistake(
        "sim/simulation/contact_modes.py",
        """for name in names if name not in out.struck]
        out.lost -= 0.5 * float(""",
        """for name in names if name not in out.struck]
        out.lost += 0.5 * float(""",
        "what a jam loses has the wrong sign",
        ("tests/contact/test_engine_jams.py::test_a_rod_that_digs_in_is_stopped_by_an_impulse",),
    ),
    Mistake(
        "sim/simulation/contact_outcome.py",
        "self.impulse = rows if self.impulse is None else self.impulse + rows",
        "self.impulse = rows if self.impulse is None else self.impulse",
        "the impulse of a jam after an impact is dropped",
        ("tests/contact/test_engine_jams.py::test_a_jam_at_the_instant_of_an_impact_adds_up_with_it",),
    ),
    Mistake(
        "sim/simulation/contact_modes.py",
        "grips = all(answer.last.mode[k] == STICK for k in hit if law[k].pair == pair)",
        "grips = all(answer.last.mode[k] != STICK for k in hit if law[k].pair == pair)",
        "a sliding ball grips when its bounces end",
        (
            "tests/contact/test_engine_bounces.py::test_a_ball_that_slides_through_all_its_bounces_slides_on_where_they_end",
        ),
    ),
    Mistake(
        "sim/contact/stops.py",
        "scale * float(stops.rest_speed[n])",
        "float(stops.rest_speed[n])",
        "the rest speed of a stop is not scaled",
        ("tests/contact/test_stop_bounces.py",),
    ),
    Mistake(
        "sim/contact/analytic_centre.py",
        'least = inside - free @ np.einsum("kim,ki->m", free, inside)',
        'least = inside + free @ np.einsum("kim,ki->m", free, inside)',
        "shared forces are not of least norm where the plain solver finds them",
        ("tests/contact/test_by_kernels.py",),
    ),
    Mistake(
        "sim/kernels/unilateral/centre.py",
        "add_along(free, frees, -1.0, step_work, try_work)",
        "add_along(free, frees, 1.0, step_work, try_work)",
        "shared forces are not of least norm",
        ("tests/contact/test_by_kernels.py", "tests/contact/test_least_norm.py"),
    ),
    Mistake(
        "sim/analysis/verification/comparing.py",
        "np.linalg.norm(axial, axis=-1), np.abs(w)))",
        "np.linalg.norm(axial, axis=-1), w))",
        "a whole turn between a quaternion and its opposite",
        ("tests/verification/test_comparing.py",),
    ),
    Mistake(
        "sim/simulation/flow.py",
        "return alpha, a + np.cross(alpha, arm) + np.cross(w, np.cross(w, arm))",
        "return alpha, a + np.cross(alpha, arm)",
        "the acceleration of an origin off its joint lacks what spinning gives",
        ("tests/dynamics/test_hard.py::test_accelerations_and_forces",),
    ),
    Mistake(
        "sim/kernels/forces.py",
        "t0 = p_KB[b, k] * f[0] + r0 * arms[n, 0]",
        "t0 = r0 * arms[n, 0]",
        "a force at an origin off its joint lacks its moment",
        ("tests/dynamics/test_hard.py::test_accelerations_and_forces",),
    ),
    Mistake(
        "sim/simulation/flow.py",
        "put_in, dissipated = float(self.stepper.y[-2]) + self.ledger.extra,",
        "put_in, dissipated = float(self.stepper.y[-2]),",
        "what an event gives is not in the energy put in",
        ("tests/dynamics/test_hard_events.py::test_an_event_is_told_as_the_oracle_says",),
    ),
    Mistake(
        "sim/simulation/structure_changes.py",
        "total += 0.5 * float(stop.stiffness) * max(",
        "total += float(stop.stiffness) * max(",
        "cutting a joint at a pressed stop loses twice what the stop holds",
        ("tests/events/test_tree_changes.py::test_cutting_a_joint_at_a_pressed_stop_loses_what_the_stop_holds",),
    ),
    Mistake(
        "sim/mechanism/joint_motion.py",
        "away = float(np.linalg.norm(p[[code for code in kind.locked if code < 3]]))",
        "away = float(np.linalg.norm(p[[code for code in kind.slides or kind.locked if code < 3]]))",
        "a planar joint asks for what it lets free",
        ("tests/events/test_tree_changes.py::test_connecting_asks_for_what_the_joint_locks_alone",),
    ),
    Mistake(
        "sim/mechanism/joint_motion.py",
        "if len(kind.turns) == 1:",
        "if kind.name in ('rotational', 'planar'):",
        "a cylindrical joint asks for its own turn",
        ("tests/events/test_tree_changes.py::test_the_gap_of_a_joint_is_along_what_it_locks",),
    ),
    Mistake(
        "sim/simulation/structure_changes.py",
        "if joint in old.loops and kind.ball < 0:",
        "if joint in old.loops and kind.ball >= 0:",
        "turns are lost where a loop joint enters the tree",
        ("tests/events/test_tree_changes.py::test_a_loop_joint_that_enters_the_tree_keeps_its_turns_and_rates",),
    ),
    Mistake(
        "sim/simulation/structure_changes.py",
        "v_F = V_WB[above, 3:] + np.cross(w_a, M.p - poses[above].p)",
        "v_F = V_WB[above, 3:] + np.cross(w_a, F.p - poses[above].p)",
        "rates of a slide on a turning parent jump where its joint enters the tree",
        ("tests/events/test_tree_changes.py::test_a_loop_joint_that_enters_the_tree_keeps_its_turns_and_rates",),
    ),
    Mistake(
        "sim/assembly/redundancy.py",
        "_parallel(turns) and (np.abs(slides @ turns.T) < PARALLEL).all()",
        "_parallel(turns)",
        "a loop with a slide along its hinges is called planar",
        ("tests/scenes/test_redundancy.py::test_a_loop_with_a_slide_along_its_hinges_is_not_planar",),
    ),
    Mistake(
        "sim/analysis/linear/duals.py",
        "return Dual(ratio, (self.slopes - ratio * other.slopes) / other.value)",
        "return Dual(ratio, (self.slopes + ratio * other.slopes) / other.value)",
        "derivatives of quotients are wrong",
        ("tests/linear/test_numbers.py::test_two_numbers_of_either_kind",),
    ),
    Mistake(
        "sim/analysis/linear/duals.py",
        "return bool(self.value == value_of(other) and alike)",
        "return bool(self.value == value_of(other))",
        "torques on loops have no effect in linear models",
        ("tests/linear/test_linear.py::test_a_torque_where_a_loop_has_none_is_an_input_too",),
    ),
    Mistake(
        "sim/analysis/linear/equations.py",
        "now[:] = fresh  # what is left there has derivatives along other directions",
        "pass",
        "a mechanism with rows that repeat others has no linear model",
        ("tests/linear/test_linear.py::test_shipped_scenes_have_the_derivatives_of_the_engine",),
    ),
    Mistake(
        "sim/analysis/linear/equations.py",
        "control.enabled[: len(self.tables.laws)] = 0",
        "control.enabled[: len(self.tables.laws)] += 0",
        "scenes with compiled laws have no linear model",
        ("tests/linear/test_linear.py::test_shipped_scenes_have_the_derivatives_of_the_engine",),
    ),
    Mistake(
        "sim/analysis/linear/equations.py",
        "block.row + 2] = not rolls",
        "block.row + 2] = True",
        "what rolls over another body holds places in linear models",
        ("tests/linear/test_contacts.py::test_a_wheel_that_sticks_is_a_wheel_that_rolls",),
    ),
    Mistake(
        "sim/analysis/linear/equations.py",
        "self._fresh.points.start[:] = 0.0",
        "self._fresh.points.start[:] += 0.0",
        "the friction of a slow slip keeps its direction in linear models",
        ("tests/linear/test_contacts.py::test_nothing_depends_on_where_a_block_slides_and_where_it_heads",),
    ),
    Mistake(
        "sim/analysis/linear/contacts.py",
        "slips = friction > 0.0 and holding > (1.0 - BORDER) * can",
        "slips = friction > 0.0 and holding > (1.0 + BORDER) * can",
        "what is about to slip has a linear model",
        ("tests/linear/test_contacts.py::test_a_contact_at_the_border_of_its_mode_is_refused",),
    ),
    Mistake(
        "sim/kernels/integrators/variational.py",
        "if abs(row_work.phi[r]) > GAP * length:",
        "if row_work.phi[r] > GAP * length:",
        "loops that are open the other way are not noticed",
        ("tests/dynamics/test_reach.py::test_a_row_that_is_open_either_way_is_not_closed",),
    ),
    Mistake(
        "sim/kernels/elimination/fronts.py",
        "if side > 0.0:\n                G_out[j, j] += rows.compliance[r]",
        "if side != 0.0:\n                G_out[j, j] += rows.compliance[r]",
        "the armature of a loop joint between two moving bodies is halved",
        ("tests/dynamics/test_against_reference.py::test_every_joint_as_a_loop",),
    ),
    Mistake(
        "sim/kernels/forces.py",
        "if most > 0.0 and backward(columns, friction, rate, c) < -STILL:",
        "if most > 0.0 and backward(columns, friction, rate, c) > STILL:",
        "friction keeps its first direction",
        ("tests/nonholonomic/test_thresholds.py::test_friction_follows_a_slip_that_goes_round",),
    ),
    Mistake(
        "sim/kernels/project.py",
        "length, q_out, v_out) < 1e-6 * length:",
        "length, q_out, v_out) < 1.0 * length:",
        "a mechanism opens silently",
        ("tests/dynamics/test_reach.py::test_a_driven_crank_ends_where_its_linkage_is_stretched_or_folded",),
    ),
    Mistake(
        "sim/kernels/integrators/stepping.py",
        "first = 3 if tables.columns.linear[c] == 1 and not angle else 0",
        "first = 0 if tables.columns.linear[c] == 1 and not angle else 3",
        "time steps tell the force of a slide as a moment",
        (
            "tests/contact/test_told_in_steps.py::test_what_a_loop_joint_gives_is_a_force_of_slides_and_a_moment_of_turns",
        ),
    ),
    Mistake(
        "sim/kernels/integrators/stepping.py",
        ">= (1.0 - SLIDES) * last_contacts.friction[k] * P[0]",
        ">= (1.0 + SLIDES) * last_contacts.friction[k] * P[0]",
        "time steps tell that what slides sticks",
        ("tests/contact/test_told_in_steps.py::test_points_are_told_to_slide_where_they_do",),
    ),
    Mistake(
        "sim/kernels/unilateral/cones.py",
        "tx, ty = -r * d[k, 0], -r * d[k, 1]",
        "tx, ty = r * d[k, 0], r * d[k, 1]",
        "the residual of a point whose direction is known is wrong",
        ("tests/kernels/test_cones.py::test_how_far_a_point_is_from_its_law",),
    ),
    Mistake(
        "render/signals.py",
        '(("child", 1.0), ("parent", -1.0))',
        '(("child", 1.0), ("parent", 1.0))',
        "slips are wrong where both bodies move",
        ("tests/render/test_slips.py",),
    ),
    Mistake(
        "render/labels.py",
        'text = f"{time:.2f} s"',
        'text = f"{time / 60:.2f} s"',
        "minutes are called seconds",
        ("tests/render/test_film.py::test_the_words_of_a_picture",),
    ),
    Mistake(
        "render/camera.py",
        "distance = max(distance, 1.1 * float(-depth.min()))",
        "distance = max(distance, 1.0 * float(-depth.min()))",
        "the eye is at the nearest point",
        ("tests/render/test_camera.py::test_points_along_the_view_are_in_front_of_the_eye",),
    ),
    Mistake(
        "sim/kernels/guards/crossings.py",
        "return (old < 0.0 and new >= 0.0) or (old == 0.0 and new > 0.0)",
        "return old < 0.0 and new >= 0.0",
        "a soft stop never acts where a joint starts exactly at its bound",
        ("tests/contact/test_starts_at_a_stop.py",),
    ),
)


class Misfit(Exception):
    """The table does not fit the tree."""


@contextmanager
def copy_of_tree() -> Iterator[Path]:
    """Give a copy of what tests need, which is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="mistakes-") as folder:
        copy = Path(folder)
        for room in ROOMS:
            shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__", ".kernel_cache"))
        for file in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / file, copy / file)
        yield copy


def made(text: str, mistake: Mistake) -> str:
    """Return the text of a file with a mistake in it.

    Raises
    ------
    Misfit
        When the statement does not stand there exactly once.
    """
    count = text.count(mistake.right)
    if count != 1:
        raise Misfit(f"{mistake.file}: {mistake.right!r} stands there {count} times, expected once")
    return text.replace(mistake.right, mistake.wrong)


def failing(copy: Path, tests: Sequence[str]) -> list[str]:
    """Run tests interpreted, up to the first that fails; returns its name, or none.

    Raises
    ------
    Misfit
        When pytest finds no such tests, or cannot run.
    """
    settings = {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(copy)}
    ask = [sys.executable, "-m", "pytest", "-x", "--tb=no", "-rfE", "-p", "no:cacheprovider", f"--timeout={LIMIT}"]
    done = subprocess.run([*ask, *tests], cwd=copy, env=os.environ | settings, capture_output=True, text=True)
    found = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 1) and not found:
        raise Misfit(f"pytest {' '.join(tests)} ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return found or (["(the run was ended)"] if done.returncode else [])


def notice(copy: Path, mistake: Mistake) -> list[str]:
    """Return which test notices a mistake, none where no test does."""
    file = copy / mistake.file
    text = file.read_text()
    file.write_text(made(text, mistake))
    try:
        return failing(copy, mistake.tests)
    finally:
        file.write_text(text)


def main(words: Sequence[str]) -> int:
    """Make the mistakes again; returns the exit code."""
    chosen = [m for m in MISTAKES if all(word in f"{m.file} {m.about}" for word in words)]
    missed = 0
    try:
        with copy_of_tree() as copy:
            wrong = failing(copy, sorted({test for mistake in chosen for test in mistake.tests}))
            if wrong:
                raise Misfit(f"without any mistake {wrong[0]} fails")
            for mistake in chosen:
                by = notice(copy, mistake)
                missed += not by
                print(
                    f"{mistake.file}: {mistake.about}\n    {f'noticed by {by[0]}' if by else 'NOT NOTICED'}", flush=True
                )
    except Misfit as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(chosen) - missed} of {len(chosen)} mistakes are noticed")
    return 1 if missed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
