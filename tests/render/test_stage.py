"""What is drawn: in the right place, lit from the right side, hidden where something is in front."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from render import stage
from render.camera import Camera
from render.meshes import Mesh, mesh
from render.stage import Look, Stage
from render.view import Motion, Shapes

pytestmark = [pytest.mark.film, pytest.mark.usefixtures("opengl")]

SIZE = (320, 240)
GREY = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))


def turned(axis, angle):
    """Return the quaternion and, by Rodrigues' formula, the matrix of a rotation."""
    axis = np.array(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    R = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)]), R


def still(*solids, position=None, quat=None):
    """A drawing of one body that holds `solids`: (kind, size, position, quat, color)."""
    kinds, sizes, places, quats, tints = zip(*solids, strict=True)
    shapes = Shapes(
        body=np.zeros(len(solids), int),
        kind=kinds,
        position=np.array(places, float),
        quat=np.array(quats, float),
        size=np.array(sizes, float),
        color=np.array(tints, float),
    )
    return Motion.from_drawing(
        name="",
        body_names=["body"],
        position=np.zeros((1, 3)) if position is None else position,
        quat=np.array([[1.0, 0, 0, 0]]) if quat is None else quat,
        shapes=shapes,
    )


def picture(motion, seen_by, look=None, quality=1):
    drawn = Stage(motion, SIZE, look=look or Look(background=GREY), quality=quality)
    return drawn.draw(motion.poses(0.0), seen_by)


ASIDE = Camera(np.array([0.1, 0.2, 0.3]), 3.0, np.deg2rad(35), np.deg2rad(20), np.deg2rad(30))
UNIT = (1.0, 0, 0, 0)
RED = (0.8, 0.3, 0.2, 1.0)
FAR = np.array([1.0e4, -2.0e4, 5.0e3])


@pytest.mark.parametrize("quality", [1, 2])
def test_a_tilted_capsule_looks_as_if_its_vertices_had_been_written_there(monkeypatch, quality):
    q_WB, R_WB = turned([1, 2, -0.5], 1.1)
    q_BS, R_BS = turned([0, 1, 0.3], -0.7)
    p_WB, p_BS, size = np.array([0.2, -0.1, 0.4]), np.array([0.05, 0.1, -0.2]), np.array([0.12, 0.12, 0.6])
    ours = picture(
        still(("capsule", size, p_BS, q_BS, RED), position=p_WB[None], quat=q_WB[None]), ASIDE, quality=quality
    )
    made = mesh("capsule", size)
    baked = Mesh(p_WB + (p_BS + made.vertices @ R_BS.T) @ R_WB.T, made.normals @ (R_WB @ R_BS).T, made.faces)
    monkeypatch.setattr(stage, "mesh", lambda kind, size: baked)
    expected = picture(still(("capsule", size, (0, 0, 0), UNIT, RED)), ASIDE, quality=quality)
    assert (expected != 128).any(axis=2).sum() > 2000  # the capsule is in the picture
    assert np.abs(ours.astype(int) - expected).max() <= 1


@pytest.mark.parametrize(("axis", "angle"), [((0, 0, 1), 0.4), ((1, 0, 0.5), 0.6), ((-1, 0.5, 2), 2.5)])
def test_the_side_that_faces_the_light_is_the_brightest(axis, angle):
    """For three rotations of a cube: the sides that are seen are as bright as they face the light."""
    quat, R = turned(axis, angle)
    light = np.array([0.3, -0.8, 0.52])
    light /= np.linalg.norm(light)
    seen_by = Camera(np.zeros(3), 4.0, np.deg2rad(-60), np.deg2rad(25), np.deg2rad(25))
    motion = still(("box", (0.6, 0.6, 0.6), (0, 0, 0), UNIT, (0.7, 0.7, 0.7, 1)), quat=quat[None])
    drawn = picture(motion, seen_by, Look(background=GREY, light=light))
    sides = []
    for normal in np.vstack([R.T, -R.T]):  # columns of R are the axes of the box
        centre = 0.3 * normal
        if normal @ (seen_by.eye - centre) < 0.3 * np.linalg.norm(seen_by.eye - centre):
            continue
        clip = np.append(centre, 1) @ seen_by.matrix(SIZE[0] / SIZE[1]).T
        column = int((0.5 + 0.5 * clip[0] / clip[3]) * SIZE[0])
        row = int((0.5 - 0.5 * clip[1] / clip[3]) * SIZE[1])
        sides.append((float(normal @ light), int(drawn[row, column].sum())))
    assert len(sides) >= 2 and max(sides)[0] > 0.3
    lit = sorted(side for side in sides if side[0] > 0)
    assert [brightness for _, brightness in lit] == sorted(brightness for _, brightness in lit)
    assert max(sides)[1] == max(brightness for _, brightness in sides)


def test_a_sphere_is_lit_around_the_direction_of_the_light():
    light = np.array([0.5, -0.6, 0.62]) / np.linalg.norm([0.5, -0.6, 0.62])
    seen_by = Camera(np.zeros(3), 20.0, np.deg2rad(-50), np.deg2rad(20), np.deg2rad(4))
    drawn = picture(
        still(("sphere", (0.5, 0.5, 0.5), (0, 0, 0), UNIT, (0.5, 0.5, 0.5, 1))),
        seen_by,
        Look(background=GREY, light=light),
    )
    grey = drawn.astype(float).sum(axis=2)
    rows, columns = np.nonzero(grey > np.quantile(grey[grey != 384], 0.97))
    scale = np.tan(np.deg2rad(2)) * 20 * 2 / SIZE[1]
    across = np.array([(columns.mean() - SIZE[0] / 2 + 0.5) * scale, (SIZE[1] / 2 - 0.5 - rows.mean()) * scale])
    expected = seen_by.axes[:2] @ light * 0.5
    # Gloss, sky and the darker edge draw the brightest spot towards the eye and up, so the angle is what counts.
    assert across @ expected > 0.9 * np.linalg.norm(across) * np.linalg.norm(expected)


def test_nearer_solids_hide_farther_ones_even_when_they_nearly_touch():
    wall = ("box", (0.01, 2, 2), (-0.002, 0, 0), UNIT, (0, 0, 1, 1))
    front = ("box", (0.01, 1, 1), (0, 0, 0), UNIT, (1, 0, 0, 1))
    seen_by = Camera(np.zeros(3), 15.0, 0.0, 0.0, np.deg2rad(6))
    drawn = picture(still(wall, front), seen_by)
    middle = drawn[SIZE[1] // 2 - 30 : SIZE[1] // 2 + 30, SIZE[0] // 2 - 30 : SIZE[0] // 2 + 30].astype(int)
    assert (middle[..., 0] > middle[..., 2] + 60).all()  # 2 mm apart at 15 m: no stripe of blue


def test_far_from_the_origin_the_picture_is_the_same():
    q_WB, _ = turned([1, 2, -0.5], 1.1)
    solid = ("capsule", (0.12, 0.12, 0.6), (0, 0, 0), UNIT, RED)
    near = picture(still(solid, position=np.array([[0.2, 0, 0.4]]), quat=q_WB[None]), ASIDE)
    camera = Camera(ASIDE.target + FAR, ASIDE.distance, ASIDE.azimuth, ASIDE.elevation, ASIDE.fov)
    far = picture(still(solid, position=np.array([[0.2, 0, 0.4]]) + FAR, quat=q_WB[None]), camera)
    assert np.abs(near.astype(int) - far).max() <= 1


def test_no_plane_is_drawn_unless_the_look_has_one():
    motion = still(("sphere", (0.01, 0.01, 0.01), (0, 0, 0), UNIT, RED))
    down = Camera(np.zeros(3), 3.0, 0.0, np.deg2rad(30), np.deg2rad(40))
    assert ((picture(motion, down) != 128).any(axis=2)).sum() < 30
    with_ground = picture(motion, down, Look(background=GREY, ground=-0.5))
    assert ((with_ground != 128).any(axis=2)).mean() > 0.5
    from_below = Camera(np.array([0, 0, -2.0]), 3.0, 0.0, 0.0, np.deg2rad(40))
    assert ((picture(motion, from_below, Look(background=GREY, ground=-0.5)) != 128).any(axis=2)).sum() < 30


@pytest.mark.parametrize("target", [(0.0, 0.0, 0.0), (0.2, 0.5, -0.2), (0.1, -0.9, 0.3)])
def test_the_ground_hides_what_is_under_it(target):
    motion = still(("box", (0.4, 0.4, 0.4), (0, 0, -0.8), UNIT, RED))
    seen_by = Camera(np.array(target), 4.0, 0.3, np.deg2rad(35), np.deg2rad(40))

    def red(drawn):
        return ((drawn[..., 0].astype(int) - drawn[..., 2]) > 60).sum()

    assert red(picture(motion, seen_by)) > 100
    assert red(picture(motion, seen_by, Look(background=GREY, ground=-0.5))) == 0


@pytest.mark.parametrize("height", [0.0, 1.0, -0.6])
@pytest.mark.parametrize("ground", [0.0, -0.7])
def test_lines_of_the_ground_stand_at_whole_squares(ground, height):
    """Seen from above, whatever height above the ground the camera looks at."""
    motion = still(("sphere", (0.001, 0.001, 0.001), (0, 0, 5), UNIT, RED))
    above = Camera(np.array([0.25, 0.25, ground + height]), 4.0, np.deg2rad(-90), np.deg2rad(89.9), np.deg2rad(30))
    look = Look(background=((1, 1, 1), (1, 1, 1)), ground=ground, cell=0.5)
    row = picture(motion, above, look).astype(int)[SIZE[1] // 2, :, 0]
    scale = SIZE[1] / (2 * (4 + height) * np.tan(np.deg2rad(15)))  # pixels per metre at the ground
    for x in (-0.75, -0.25, 0.25, 0.75):
        pixel = round(SIZE[0] / 2 + x * scale)
        between = [round(SIZE[0] / 2 + (x + aside) * scale) for aside in (-0.25, 0.25)]
        assert row[pixel - 1 : pixel + 2].min() < min(row[at - 3 : at + 4].min() for at in between) - 20


def test_glass_lets_what_is_behind_be_seen():
    glass = ("box", (0.1, 1, 1), (0.5, 0, 0), UNIT, (0, 0, 1, 0.4))
    ball = ("sphere", (0.2, 0.2, 0.2), (0, 0, 0), UNIT, (1, 0, 0, 1))
    seen_by = Camera(np.zeros(3), 5.0, 0.0, 0.0, np.deg2rad(20))
    centre = (SIZE[1] // 2, SIZE[0] // 2)
    plain, through = picture(still(ball), seen_by)[centre], picture(still(glass, ball), seen_by)[centre]
    assert through[0] < plain[0] and through[2] > plain[2] + 20 and through[0] > 60


def test_twice_the_quality_has_no_jagged_edges():
    motion = still(("capsule", (0.1, 0.1, 0.8), (0, 0, 0), turned([1, 0, 0], 0.5)[0], (0.05, 0.05, 0.05, 1)))
    seen_by = Camera(np.zeros(3), 4.0, 0.0, 0.0, np.deg2rad(20))
    fast, fine = (picture(motion, seen_by, quality=q)[..., 0].astype(int) for q in (1, 2))
    between = [((p > 70) & (p < 125)).sum() for p in (fast, fine)]
    assert between[1] > 5 * max(between[0], 1)
    assert np.abs(fast - fine).mean() < 1.0  # the same picture otherwise


def test_without_opengl_a_sentence_names_the_packages(tmp_path):
    code = (
        "import ctypes.util\n"
        "ctypes.util.find_library = lambda name: None\n"
        "from render import stage\n"
        "from render.view import RenderError\n"
        "try:\n"
        "    stage.check()\n"
        "except RenderError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_plain_env())
    assert "pictures need OpenGL" in done.stdout and "apt-get install libegl1 libgl1" in done.stdout


def _plain_env():
    import os

    return {key: value for key, value in os.environ.items() if key != "EGL_PLATFORM"}
