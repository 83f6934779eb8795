"""The tables that kernels index by number: what codes mean, how many numbers fields hold, and their room."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sim.assembly.start import first_structure
from sim.kernels import scratch, shapes, status, stepper, tables, watched
from sim.kernels.tables import Numbers, Waiting
from sim.mechanism.compiler import compile
from sim.mechanism.structure import Structure
from sim.mechanism.workspace import (
    classical_work,
    implicit_work,
    make_stepper,
    make_work,
    stepping_work,
    variational_work,
)
from sim.scene.load import load_text

pytestmark = pytest.mark.fast

model = SimpleNamespace(
    **{name: x for of in (status, tables, shapes, watched, stepper, scratch) for name, x in vars(of).items()}
)  # fmt: skip

# Fields of more than one number: places and axes have 3, matrices 9, wrenches and motions 6, inertias 6 about the
# centre of mass and 10 about another point, articulated ones 21.
ARRAYS = {
    "LINK": "p_PF:3 R_PF:9 com_K:3 inertia_K:6 p_KB:3 R_KB:9",
    "BLOCK": "p_aF:3 R_aF:9 p_bM:3 R_bM:9 radii:3",
    "SHAPE": "p_KS:3 R_KS:9 dimensions:3",
    "HULL": "p:3 d:3",
    "TOUCH": "link:2 kind:2 key:2 p:2x3 d:2x3 axes:2x9 r:2 n:3 slip_W:3",
    "JOINT": "p_PF:3 R_PF:9 p_CM:3 R_CM:9",
    "BODY": "com_B:3 inertia_B:6",
    "POINT": "p_B:3",
    "FORCE": "programs:6",
    "ONE": "gravity_W:3",
    "LINK_WORK": "x:3 R:9 d:3 V:6 A:6 F:6 wrench:6 B:6 I:10 P:21",
    "FREEDOM_WORK": "axis:3 g:6",
    "BLOCK_WORK": "p_WM:3 R_WF:9 R_WM:9 w_FM:3 u:3 p_FM:3 drift:3 w_aF:3 own:6",
    "POSE": "x:3 R:9",
    "CARRIED": "end:6 between:6",
    "ROW_WORK": "row:6 mate:6 want:3 k:6",
    "TOUCH_WORK": "p:3 p_dot:3 n:3 n_dot:3 t1:3 t1_dot:3 t2:3 t2_dot:3 u:3 slip:3 start:3 force:3",
    "CONTACT_CONSTRAINT": "key:2 link:2 free:3 p:3 axes:9 K:3x12 before:3 shift:3 impulse:3",
    "TOLD": "key:2 p:3 n:3 force:3 moment:3",
    "BODY_WORK": "p_WB:3 R_WB:9 V_WB:6 com:3",
    "JOINT_WORK": "force:6 p_WJ:3 components:12",
    "CONTACT_WORK": "force:3",
    "FORCE_WORK": "wrench:6 before:6",
}
CODES = {
    "NO_SIDE_SLIP KNIFE_EDGE ROLLING ROLLING_OPEN SAME_VELOCITY GEAR": range(1, 7),
    "PLANE SPHERE CAPSULE BOX CYLINDER ELLIPSOID MESH": range(7),
    "FACE LINE BALL ROUND": range(4),
    "OPEN STICK SLIP SLOW_SLIP": range(4),
    "SPRING TORSION WRENCH DRAG": range(4),
    "GUARD_PROGRAM GUARD_STOP GUARD_FRICTION GUARD_HOLD": range(4),
    "GUARD_GAP GUARD_PULL GUARD_CONE GUARD_SLIP GUARD_SLOW_SLIP": range(4, 9),
    "DISARMED ARMED WAITING_TO_LEAVE": range(3),
    "CLEAR WITHIN SAMPLED": range(3),
    "SPAN_SECONDS SPAN_AT SPAN_ARMED SPAN_HEADER": range(4),
    "SETTLED MOVED": (1, 2),
    "LOCKED RATES_ONLY": (1, 2),
    "UNIVERSAL_ROW AXLE_ROW EDGE_ROW ANGLE_ROW SWING_ROW TWIST_ROW": (6, 10, 11, 12, 13, 16),
    "ANGLE SWING TWIST": (1, 2, 3),
    "T H RTOL MAX_STEP STEP_FIXED RATE STEP END THETA PASS H_BEFORE ERROR_BEFORE RADIUS WINDOW WINDOW_COST "
    "EXPLICIT_COST SPENT RETRY": range(18),
    "ACCEPTED REJECTED EVALUATIONS NEXT_SAMPLE FILLED METHOD FRESH SMALL WAITING CROSSED FOLLOWS AUTO STIFF CALM "
    "TRIAL FAILURES LOOKS HALT KEEPS_RATES": range(19),
}


def tables() -> dict[str, np.dtype]:
    return {name: value for name, value in vars(model).items() if isinstance(value, np.dtype)}


def test_fields_hold_as_many_numbers_as_kernels_index() -> None:
    found = {
        name: " ".join(f"{n}:{'x'.join(map(str, t.shape))}" for n, (t, *_) in kind.fields.items() if t.shape)
        for name, kind in tables().items()
    }
    assert {name: text for name, text in found.items() if text} == ARRAYS


def test_tables_are_laid_out_as_machines_read_them() -> None:
    for name, kind in tables().items():
        assert kind.isalignedstruct, name
        assert {t.base.str for t, *_ in kind.fields.values()} <= {"<i8", "<f8"}, name


@pytest.mark.parametrize("names", CODES)
def test_codes_count_up(names: str) -> None:
    assert [getattr(model, name) for name in names.split()] == list(CODES[names])


def test_statuses_are_numbered_in_their_order() -> None:
    names = (
        "OK REACHED GUARD PAUSE STEP_TOO_SMALL NOT_FINITE MASS_SINGULAR INCONSISTENT NO_CLOSURE CALLBACK NOT_SOLVED "
        "JAMMED CROWDED ENTANGLED WOKEN"
    )
    assert [(status.name, int(status)) for status in model.Status] == [(n, k) for k, n in enumerate(names.split())]


def test_constraints_bind_rows() -> None:
    assert model.CONSTRAINT_KIND == {
        "no_side_slip": 1, "knife_edge": 2, "rolling": 3, "same_velocity": 5, "gear": 6, "screw": 6,
    }  # fmt: skip
    assert model.CONSTRAINT_ROWS == {1: (10,), 2: (11,), 3: (0, 1, 2), 4: (0, 1), 5: (), 6: ()}


def test_shapes_and_positions_in_their_tables() -> None:
    assert model.SHAPE_KIND == {
        "plane": 0, "sphere": 1, "capsule": 2, "box": 3, "cylinder": 4, "ellipsoid": 5, "mesh": 6,
        "rope": 7, "rope_end": 1,
    }  # fmt: skip


# --- scratch ----------------------------------------------------------------------------------------

SIZES = Numbers(
    links=5,
    q=17,
    v=13,
    rows=7,
    blocks=3,
    bodies=11,
    columns=19,
    joints=23,
    contacts=29,
    waiting=Waiting(31, 37, 41, 43, 47),
)
LINKS, FREEDOMS, STATE = 5, 13, 17 + 13 + 2
SCENE = """
schema: 1
name: sizes
world: {shapes: [{plane: {}}]}
bodies:
  a: {mass: 1, com: [0, 0, 1], inertia: [1, 1, 1]}
  b: {mass: 1, com: [1, 0, 1], inertia: [1, 1, 1]}
  c: {mass: 1, com: [2, 0, 1], inertia: [1, 1, 1], shapes: [{sphere: {center: [2, 0, 1], radius: 0.1}}]}
  d: {mass: 1, com: [3, 0, 1], inertia: [1, 1, 1], shapes: [{box: {center: [3, 0, 1], size: [0.1, 0.2, 0.3]}}]}
joints:
  ja: {type: universal, parent: world, child: a, position: [0, 0, 0], axis: [1, 0, 0], second_axis: [0, 1, 0]}
  jb: {type: spherical, parent: a, child: b, position: [0.5, 0, 1]}
  jc: {type: rotational, parent: b, child: c, position: [1.5, 0, 1], axis: [0, 1, 0]}
  loop: {type: cylindrical, parent: world, child: c, position: [2, 0, 0], axis: [0, 0, 1], armature: [0.2, 0.3]}
forces: {s: {type: spring, from: a, to: d, stiffness: 1}, w: {type: wrench, body: a, force: ["energy()*1 N/J", 0, 0]}}
contacts: {ground: {between: ["*", world]}, other: {between: [c, d]}}
"""


@pytest.fixture
def structure() -> Structure:
    return first_structure(compile(load_text(SCENE)))


def shapes(arrays: object) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in dict(arrays).items()}  # type: ignore[call-overload]


# As the comments in `sim.kernels.scratch.Work` say; those that a method or contacts alone need are empty.
ALWAYS: dict[str, tuple[int, ...]] = {
    "links": (5,), "freedoms": (13,), "blocks": (3,), "rows": (7,), "touches": (0,), "points": (0,), "near": (0,),
    "near_points": (0,), "near_poses": (2, 12), "near_cores": (13, 3), "feedback": (1, 0), "feedback_order": (0,),
    "bodies": (11,), "joints": (23,), "rules": (29,), "forces": (2,), "one": (1,), "coordinate": (19,),
    "rate": (19,), "torque": (19,), "control": (19,), "stopping": (19,), "friction": (19,), "J": (41,), "keeps": (7,),
    "G": (31, 31), "fronts": (5,), "ids": (43,), "pile": (47,), "K": (31, 6), "front": (31,), "rim_G": (37, 37),
    "rim_K": (37, 6), "rim": (37,), "basis": (8, 6), "N": (7, 7), "stack": (64,), "late": (2, 1), "late_order": (1,),
    "jets": (64, 3), "moved": (13,), "saved": (17,), "stage": (32,), "row": (101,), "reply": (1,), "spans": (5,),
    "span_q": (17,), "span_v": (13,), "span_off": (13,), "span_most": (13,), "ranges": (19, 5), "rate_ranges": (19, 5),
    "bounds": (64, 5), "path": (5,),
}  # fmt: skip
EMPTY = {
    "by_q": (2, 0), "by_v": (2, 0), "real": (0, 0), "pair": (0, 0), "real_x": (3, 0), "pair_x": (3, 0),
    "stages": (11, 0), "shape": (2, 0), "newton": (1,),
    "steps": (20, 0), "own": (0, 0), "laws": (0, 8), "slopes": (2, 0, 0), "stepped": (1,),
    "placed": (0, 12), "boxes": (0, 6),
    "contact_P": (0, 3), "contact_z": (0, 3), "contact_d": (0, 2), "contact_G": (0, 3, 3), "contact_support": (0, 0),
    "contact_R": (0, 0), "contact_p": (0, 3), "contact_best": (0, 3), "contact_awake": (2, 0), "contact_at": (0, 0),
    "push_step": (4, 0), "contact_shape": (3, 1), "wide_boxes": (0, 6), "near_count": (1,), "islands": (6, 0),
    "island_first": (1,), "island_start": (1,), "island_runs": (0, 24), "island_columns": (5, 0),
}  # fmt: skip


def test_scratch_has_the_room_that_its_comments_say(structure: Structure) -> None:
    work = make_work(structure.tables, SIZES, 101)
    found = shapes(work._asdict())
    assert {name: found[name] for name in ALWAYS} == ALWAYS
    assert {n: s for n, s in found.items() if n not in ALWAYS} == {
        n: EMPTY.get(n, (0,)) for n in found if n not in ALWAYS
    }
    for R in (work.links.R, work.bodies.R_WB):
        assert R[0].reshape(3, 3).tolist() == np.eye(3).tolist() and not R[1:].any()
    bare = make_work(structure.tables, SIZES._replace(waiting=None))
    entries = [int((b.nb + b.na + b.nc) * b.rows) for b in structure.tables.blocks]
    assert bare.J.shape == (sum(entries),) and entries == [6 * 6]  # all rows over the freedoms around
    assert bare.G.shape == (7, 7) and bare.K.shape == (7, 6) and bare.row.shape == (0,)
    assert bare.rim.shape == bare.ids.shape == bare.pile.shape == (0,)


def test_shapes_that_may_touch_have_room_to_be_looked_at(structure: Structure) -> None:
    met = structure.tables._replace(meetings=model.table(model.MEETING, 1))
    work = make_work(met, SIZES)
    assert work.near.shape == work.near_points.shape == (64,)


def test_points_of_contact_begin_along_the_slips_that_they_have(structure: Structure) -> None:
    touches = model.table(model.TOUCH, 2)
    touches.slip_W[:] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    work = make_work(structure.tables._replace(touches=touches), SIZES)
    assert work.points.start.tolist() == touches.slip_W.tolist()


def test_each_method_has_its_own_scratch(structure: Structure) -> None:
    assert shapes(implicit_work(STATE, FREEDOMS)) == {
        "answers": (0,), "newton": (1,), "by_q": (15, 13), "by_v": (15, 13), "turning": (13,), "real": (13, 13),
        "pair": (13, 13), "real_order": (13,), "pair_order": (13,), "real_x": (3, 13), "pair_x": (3, 13),
        "stages": (11, 32), "shape": (2, 26),
    }  # fmt: skip
    assert np.all(implicit_work(STATE, FREEDOMS)["shape"] == 1.0)
    assert shapes(variational_work(SIZES)) == {
        "ahead_links": (5,), "ahead_freedoms": (13,), "ahead_blocks": (3,), "carried": (5,), "pushed": (13,),
        "rotors": (7,), "start": (19,), "steps": (20, 13),
    }  # fmt: skip
    assert variational_work(SIZES)["ahead_links"].R[:2].tolist() == [np.eye(3).ravel().tolist(), [0.0] * 9]
    assert shapes(classical_work(SIZES)) == {"own": (5, STATE)}


def test_time_steps_have_room_for_their_presses(structure: Structure) -> None:
    """Freedoms of the tree a-b-c: 2 + 3 + 1, all of them between c and the world; d is free with six."""
    work = stepping_work(structure.tables, 10, 3, 12)
    width = 12
    assert shapes(work) == {
        "ends": (14,), "slopes": (2, 0, 0),
        "laws": (0, 8), "placed": (0, 12), "stop_depth": (0,),
        "boxes": (0, 6), "reach": (0,), "reached": (0,), "wide_boxes": (0, 6),
        "near_pairs": (0,), "near_count": (1,), "rest": (5,), "parked": (10,), "contact_reached": (12,),
        "islands": (6, 12), "island_press": (10,), "island_first": (13,), "island_start": (13,), "island_joined": (20,),
        "island_runs": (12, 24), "island_columns": (5, 12), "island_next": (10,),
        "posed": (5,), "drifted": (5,),
        "unchanged": (5,), "rooted": (12,), "end_links": (5,), "end_freedoms": (12,), "contact_touch": (10,),
        "contacts": (10,), "last_contacts": (10,), "told": (30,), "stepped": (1,), "contact_P": (10, 3),
        "contact_z": (10, 3),
        "contact_d": (10, 2), "contact_G": (10, 3, 3), "contact_support": (10, width), "contact_U": (10 * 3 * width,),
        "contact_R": (30, 12), "contact_p": (10, 3), "contact_best": (10, 3), "contact_off": (10,),
        "contact_chosen": (10,),
        "contact_tree": (12,), "contact_awake": (2, 12), "contact_place": (12,), "contact_at": (10, width),
        "push_step": (4, 12), "contact_shape": (3, 13), "contact_matrix": (144,), "push": (12,),
    }  # fmt: skip
    assert work["contact_tree"].tolist() == [0] * 6 + [6] * 6
    assert work["end_links"].R[:2].tolist() == [np.eye(3).ravel().tolist(), [0.0] * 9]
    met = structure.tables._replace(
        meetings=model.table(model.MEETING, 4), shapes=model.table(model.SHAPE, 6), rows=structure.tables.rows[:0]
    )
    more = stepping_work(met, 2, 0, 12)
    assert more["laws"].shape == (4, 8) and more["boxes"].shape == (6, 6) and more["reach"].shape == (6,)
    assert more["contact_R"].shape == (6, 0) and more["told"].shape == (0,)
    for name, width in (("laws", 3), ("applied", 2)):  # torques that answer to the motion, in either of two ways
        acted = structure.tables._replace(**{name: np.zeros((1, width), np.int64)})
        assert stepping_work(acted, 2, 0, 12)["slopes"].shape == (2, 14, 14)
        none = stepping_work(acted, 0, 0, 12)
        assert none["slopes"].shape == (2, 0, 0) and none["ends"].shape == (0,)
    short = structure.tables._replace(links=structure.tables.links[:2])
    assert stepping_work(short, 2, 0, 12)["contact_support"].shape == (2, 4)  # both sides, two freedoms each


def test_a_stepper_has_room_for_a_state_and_its_guards() -> None:
    assert shapes(make_stepper(SIZES, 9)._asdict()) == {
        "y": (32,), "y_new": (32,), "y_work": (32,), "error": (32,), "k": (16, 32), "rows": (512,), "dense": (8, 32),
        "guard_old": (9,), "guard_new": (9,), "guard_mid": (9,), "curve": (480,), "span": (480,), "told": (12,),
        "ends": (41,), "ahead": (43, 9), "open": (41, 9), "clock": (20,), "count": (20,),
    }  # fmt: skip
    stepper = make_stepper(SIZES, 9)
    stepper.k[1, 2] = 4.0
    assert stepper.rows[34] == 4.0  # the same numbers


def test_columns_of_tables_are_those_that_numpy_finds() -> None:
    """Of each type of row: plain arrays in the same memory, read-only where the table is; rows stay rows."""
    dtypes = {name: x for name, x in vars(model).items() if isinstance(x, np.dtype) and x.names}
    assert len(dtypes) > 30
    for name, dtype in dtypes.items():
        made, wanted = model.table(dtype, 3), np.zeros(3, dtype).view(np.recarray)
        for field in dtype.names:
            column = getattr(made, field)
            assert (type(column), column.shape, column.dtype) == (
                np.ndarray, getattr(wanted, field).shape, getattr(wanted, field).dtype,
            ), (name, field)  # fmt: skip
            assert np.shares_memory(column, made) and type(made[field]) is np.ndarray
            setattr(made, field, 1)
            assert (made[field] == 1).all()
        rest = made[1:]
        assert type(rest) is type(made) and type(made[0]) is type(wanted[0]) and made.dtype == wanted.dtype
        rest.flags.writeable = False
        assert not getattr(rest, dtype.names[0]).flags.writeable and not rest[dtype.names[0]].flags.writeable
        assert type(model.as_table(np.zeros(2, dtype))) is type(made)
