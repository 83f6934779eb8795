"""Who answers which question, and what an integrator is handed of a mechanism."""

from __future__ import annotations

import numpy as np
import pytest

from sim.kernels import answers, system
from sim.kernels.jit import interpreted, python_kernel
from sim.kernels.motion import motion
from sim.kernels.observe import observation
from sim.kernels.scratch import CARRIED, CONTACT_CONSTRAINT
from sim.kernels.shapes import MEETING
from sim.kernels.tables import table
from sim.kernels.watched import GUARD, Guards
from tests.dynamics.engine import simulator_of

pytestmark = pytest.mark.fast

BIRD = "schema: 1\nbodies: {bird: {mass: 0.4, com: [5, 1, 1], inertia: [0.02, 0.03, 0.04]}}\n"
MOTION = ("START", "SLOPE", "SETTLE", "PROJECT", "TURNS", "NORM", "LEAP")
CONTACT = ("PLACE", "ROWS", "RUB", "GO_ON", "POINT_FORCES", "GIVE", "STORE", "GAPS")


def of(module: str, name: str) -> object:
    return getattr(__import__(f"sim.kernels.{module}", fromlist=[name]), name).address


@pytest.mark.parametrize("extra", ["turning", "carried", "own", "contacts", "table", "late", "meetings", None])
def test_questions_are_answered_by_who_knows(extra: str | None) -> None:
    """Kernels of what a scene has no room for are not even loaded: its questions go to whom nobody asks them."""
    if not interpreted():
        pytest.skip("every kernel that there is would be compiled or loaded")
    flow = simulator_of(BIRD).flow
    tables, control, work = flow.structure.tables, flow.control, flow.work
    tables, guards = tables._replace(late=np.zeros(0, np.int64), meetings=table(MEETING, 0)), flow.guards
    room = {
        "turning": np.zeros(0),
        "carried": np.zeros((0, 12)),
        "own": np.zeros((0, 5)),
        "contacts": table(CONTACT_CONSTRAINT, 0),
    }
    work, guards = work._replace(**room), Guards(table(GUARD, 0), guards.forces, guards.layout)
    asked: dict[str, object] = dict.fromkeys(MOTION, motion.address)
    if extra in room:
        work = work._replace(
            **{extra: np.ones((1, *room[extra].shape[1:])).astype(room[extra].dtype).view(type(room[extra]))}
        )
        name, module, count = {
            "turning": ("RADAU", "integrators.radau", 1), "carried": ("VARIATIONAL", "integrators.variational", 1),
            "own": ("CLASSICAL", "integrators.classical", 1), "contacts": ("STEPPING", "integrators.stepping", 3),
        }[extra]  # fmt: skip
        first = getattr(system, name)
        asked |= {key: of(module, module.partition(".")[2]) for key in _names(range(first, first + count))}
    elif extra == "table":
        guards = guards._replace(table=table(GUARD, 1))
        asked["CLEARANCE"] = of("guards.spans", "spans")
    elif extra == "late":
        tables = tables._replace(late=np.zeros(1, np.int64))
        asked["FEED"] = of("feedback", "feedback")
    elif extra == "meetings":
        tables = tables._replace(meetings=table(MEETING, 1))
        asked |= dict.fromkeys(CONTACT, of("unilateral.contact_system", "contact"))
        asked["CLEAR_GAPS"] = of("guards.clearance", "clearance")
    told = answers.system_of(tables, control, work, guards)
    for number, key in enumerate(_names(range(system.QUESTIONS))):
        assert told.answers[number] == asked.get(key, observation.address), key
    assert told.reply is work.reply
    assert told.places[:2] == (tables, control)
    assert told.places[2].answers is told.answers


def _names(numbers: range) -> list[str]:
    known = {
        getattr(system, name): name
        for name in dir(system)
        if name.isupper() and isinstance(getattr(system, name), int) and name != "QUESTIONS"
    }
    return [known[number] for number in numbers]


def test_numbers_of_questions_are_all_there_are() -> None:
    assert len(_names(range(system.QUESTIONS))) == 28
    names = [name for name, _, _ in system.fields()]
    assert len(names) == sum(len(whole._fields) for whole in system.WHOLES)
    kinds = {name: (dtype, dimensions) for name, dtype, dimensions in system.fields()}
    assert kinds["by_q"] == (np.dtype("f8"), 2)
    assert kinds["carried"] == (CARRIED, 1)
    assert kinds["contact_G"] == (np.dtype("f8"), 3)
    assert kinds["pair_order"] == (np.dtype("i8"), 1)
    assert kinds["table"] == (GUARD, 1)


@python_kernel
def read_some(at, numbers_out):
    """Read of each whole, hand one on, and write into what may be written."""
    tables, control, work, guards = system.unpack(at)
    numbers_out[0] = tables.links.mass[1]
    numbers_out[1], numbers_out[2] = work.G.shape
    numbers_out[3], numbers_out[4] = control.held.size, guards.table.size
    for i in range(work.moved.size):
        work.moved[i] = 10.0 + i


@python_kernel
def read_unknown(at):
    """Read what no whole has."""
    tables, _, _, _ = system.unpack(at)
    return tables.mass


@python_kernel
def write_into_a_table(at):
    """Change what stays."""
    tables, _, _, _ = system.unpack(at)
    tables.links.mass[1] = 2.0


def test_kernels_read_the_arrays_of_a_system_by_name() -> None:
    tables, control, work, guards = _wholes()
    work = work._replace(moved=np.zeros(3), G=np.zeros((2, 5)))
    places = system.places_of(tables, control, work, guards)
    numbers = np.zeros(5)
    read_some(system.address(places), numbers)
    assert numbers.tolist() == [0.4, 2.0, 5.0, len(control.held), len(guards.table)]
    assert work.moved.tolist() == [10.0, 11.0, 12.0]


@pytest.mark.skipif(interpreted(), reason="nothing is compiled")
@pytest.mark.parametrize("kernel", [read_unknown, write_into_a_table])
def test_what_a_system_lacks_or_keeps_does_not_compile(kernel) -> None:
    from numba.core.errors import TypingError

    places = system.places_of(*_wholes())
    with pytest.raises(TypingError):
        kernel(system.address(places))


def _wholes() -> tuple:
    flow = simulator_of(BIRD).flow
    return flow.structure.tables, flow.control, flow.work, flow.guards
