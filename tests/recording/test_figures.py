"""What is computed from a recording: sizes foretold, ranks as sentences, events counted, points of contact summed."""

from __future__ import annotations

import shutil
from types import SimpleNamespace as Made

import numpy as np
import pytest

from sim.recording import Contacts, RecordingError
from sim.recording.contact_tables import called
from sim.recording.kinds import counted
from sim.recording.ranks import ranks_sentence, stretches
from sim.recording.room import look_ahead, row_bytes
from tests.recording import whole

pytestmark = pytest.mark.fast


def test_a_row_takes_what_its_datasets_take():
    expected = sum(np.dtype(dtype).itemsize * int(np.prod(tail)) for dtype, tail in whole.ROW_FIELDS.values())
    assert row_bytes(whole.LAYOUT, 0) == expected and row_bytes(whole.LAYOUT, 7) == expected + 56


@pytest.mark.parametrize(
    ("rows", "size", "free", "large", "told"),
    [
        (1e6, 1000, 1e12, False, ""),
        (1000001, 1000, 1e12, False, "a.h5: about 1,000,001 rows are expected (why), 1 GB"),
        (1e7, 1000, 1e12, False, "a.h5: about 10,000,000 rows are expected (why), 10 GB"),
        (1e7, 1001, 1e12, False, "!a.h5: about 10,000,000 rows are expected (why), 10 GB"),
        (1e7, 1001, 1e12, True, "a.h5: about 10,000,000 rows are expected (why), 10 GB"),
        (1e5, 1000, 1e8, False, ""),
        (1e5, 1001, 1e8, False, "!a.h5: about 100,000 rows are expected (why), 100 MB, and 100 MB are free"),
        (1e5, 1001, 1e8, True, "a.h5: about 100,000 rows are expected (why), 100 MB, and 100 MB are free"),
        (999_999_999, 1, 1e3, True, "a.h5: about 999,999,999 rows are expected (why), 1e+03 MB, and 0.001 MB are free"),
        (1e9, 2, 1e12, True, "a.h5: about 1e+09 rows are expected (why), 2 GB"),
        (1e12, 3, 1e13, True, "a.h5: about 1e+12 rows are expected (why), 3 TB"),
        (1e15, 4, 1e13, True, "a.h5: about 1e+15 rows are expected (why), 4e+03 TB, and 10 TB are free"),
    ],
)  # fmt: skip
def test_a_large_recording_is_told_and_a_larger_one_refused(tmp_path, monkeypatch, rows, size, free, large, told):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Made(free=free))
    if not told.startswith("!"):
        assert look_ahead(tmp_path, "a.h5", rows, size, "why", large) == told
        return
    with pytest.raises(RecordingError) as caught:
        look_ahead(tmp_path, "a.h5", rows, size, "why", large)
    assert str(caught.value) == (
        f"{told[1:]}: nothing was run; record less often, or a shorter time, or run it with large=True where "
        "it is meant"
    )


def sentence(times, rows, ranks) -> str:
    return ranks_sentence(stretches(np.array(times, float), np.array(ranks), np.array(rows)))


def test_six_stretches_are_told_one_by_one_and_more_are_counted():
    assert sentence(range(6), [9] * 6, [1, 2, 3, 4, 5, 6]) == (
        "9 rows, rank 1 at 0 s; rank 2 at 1 s; rank 3 at 2 s; rank 4 at 3 s; rank 5 at 4 s; then rank 6"
    )
    assert sentence(range(7), [9, 8, 9, 9, 7, 9, 9], [1, 2, 3, 4, 5, 6, 7]) == (
        "7 to 9 rows, rank 1 to 7, 6 changes, the first at 1 s, the last at 6 s"
    )
    assert sentence([0, 1, 2, 3], [4, 4, 6, 6], [3, 3, 5, 5]) == "4 rows, rank 3 until 2 s; then 6 rows, rank 5"
    assert sentence([0, 1, 2], [-1, 4, 4], [3, -1, -1]) == "rank 3 at 0 s; then 4 rows, rank -1"


@pytest.mark.parametrize(("apart", "told"), [(0.99e-9, False), (1.01e-9, True)])
def test_what_is_over_within_a_billionth_of_the_span_is_one_instant(apart, told):
    times = [2.0, 3.0, 3.0 + 4.0 * apart, 6.0]
    assert sentence(times, [9] * 4, [9, 5, 7, 7]) == (
        "9 rows, rank 9 at 2 s; rank 5 at 3 s; then rank 7" if told else "9 rows, rank 9 at 2 s; then rank 7"
    )


def test_events_are_counted_by_their_kinds():
    numbers = {"scene": 1, "impact": 3, "mode": 0, "annotation": 2, "key": 1, "disarmed": 2, "new": 4}
    assert counted(numbers) == [
        "1 event", "3 impacts", "2 notes", "1 event by a key", "2 events disarmed", "4 new"]  # fmt: skip
    assert counted({"scene": 2, "mode": 1, "key": 3}, more=["mode", "scene"]) == [
        "2 more events", "1 more change of mode", "3 events by keys"]  # fmt: skip
    assert counted({"disarmed": 1, "annotation": 1, "impact": 1, "mode": 2}) == [
        "1 event disarmed", "1 note", "1 impact", "2 changes of mode"]  # fmt: skip


def contacts(rng: np.random.Generator, count: int = 5) -> Contacts:
    normal = rng.normal(size=(count, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    normal[:, 2] = np.abs(normal[:, 2])
    force = 5.0 * normal + rng.normal(size=(count, 3))
    names = ("world.floor", "foot", "foot", "world", "hand")[:count], ("foot", "hand", "box", "hand", "foot")[:count]
    return Contacts(
        a=names[0],
        b=names[1],
        shapes=np.arange(2 * count).reshape(count, 2),
        key=100 + np.arange(2 * count).reshape(count, 2),
        mode=("stick", "slip", "stick", "slip", "slip")[:count],
        iterations=np.arange(count),
        determinate=np.arange(count) % 2,
        point=rng.normal(size=(count, 3)),
        normal=normal,
        force=force,
        moment=np.zeros((count, 3)),
    )


def test_sums_of_points_of_contact_are_those_of_their_forces():
    found = contacts(np.random.default_rng(3))
    pressing = np.array([n @ f for n, f in zip(found.normal, found.force, strict=True)])
    assert found.pressing == pytest.approx(pressing) and len(found) == 5
    assert found.friction == pytest.approx(found.force - pressing[:, None] * found.normal)
    assert found.total == pytest.approx(np.sum(found.force, axis=0))
    assert found.centre_of_pressure == pytest.approx((pressing[:, None] * found.point).sum(axis=0) / pressing.sum())
    # About the zero-moment point all forces have no moment but along the sum of the normal forces, in whose plane
    # through the centre of pressure it lies.
    push = (pressing[:, None] * found.normal).sum(axis=0)
    place = found.zero_moment_point
    moment = np.cross(found.point - place, found.force).sum(axis=0)
    assert np.cross(moment, push) == pytest.approx(np.zeros(3), abs=1e-12)
    assert push @ (place - found.centre_of_pressure) == pytest.approx(0.0, abs=1e-12)
    assert np.linalg.norm(place - found.centre_of_pressure) > 1e-3


@pytest.mark.parametrize("force", [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0)])
def test_where_nothing_presses_there_is_no_centre(force):
    found = contacts(np.random.default_rng(4), 1)
    found.normal[0], found.force[0] = (0.0, 0.0, 1.0), force
    assert np.isnan(found.centre_of_pressure).all() and np.isnan(found.zero_moment_point).all()
    found.force[0] = (0.0, 0.0, 1e-9)
    assert found.centre_of_pressure == pytest.approx(found.point[0])
    assert found.zero_moment_point == pytest.approx(found.point[0])


@pytest.mark.parametrize(
    ("name", "by", "which"),
    [
        ("foot", None, [(0, 1), (1, -1), (2, -1), (4, 1)]),
        ("hand", None, [(1, 1), (3, 1), (4, -1)]),
        ("foot", "hand", [(1, -1), (4, 1)]),
        ("hand", "foot", [(1, 1), (4, -1)]),
        ("world", None, [(0, -1), (3, -1)]),
        ("world.floor", None, [(0, -1)]),
        ("hand", "world", [(3, 1)]),
        ("foot", "world.fl*", [(0, 1)]),
        ("*", None, [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]),
        ("f?ot", "box", [(2, -1)]),
        ("box", "hand", []),
    ],
)
def test_points_on_one_body_have_it_as_their_second(name, by, which):
    found = contacts(np.random.default_rng(5))
    on = found.on(name, by)
    rows, signs = [k for k, _ in which], [sign for _, sign in which]
    assert on.a == tuple((found.a, found.b)[sign < 0][k] for k, sign in which)
    assert on.b == tuple((found.b, found.a)[sign < 0][k] for k, sign in which)
    for values, kept in ((on.shapes, found.shapes), (on.key, found.key)):
        assert values.tolist() == [kept[k].tolist()[::sign] for k, sign in which]
    for values, kept in ((on.normal, found.normal), (on.force, found.force)):
        assert np.array_equal(values, kept[rows] * np.array(signs, float).reshape(-1, 1))
    assert np.array_equal(on.point, found.point[rows]) and on.mode == tuple(found.mode[k] for k in rows)
    assert on.iterations.tolist() == rows and on.determinate.tolist() == [k % 2 for k in rows]


def test_names_of_what_touches_are_patterns():
    assert (
        called("foot_l", "foot_?") and called("foot", None) and called("world.a", "world") and called("world", "world")
    )
    assert not called("worldly", "world") and not called("Foot", "foot") and not called("foot", "foo")
