# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rays skip shapes whose boxes they miss, in scenes of few shapes and of many, and lose no hit by it."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionDetector, CollisionGroup, CollisionShape, RaycastOption


def _shapes(rng: np.random.Generator, count: int) -> list[CollisionShape]:
    makers = (
        lambda: CollisionShape.sphere(rng.uniform(0.1, 0.4)),
        lambda: CollisionShape.box(rng.uniform(0.1, 0.4, 3)),
        lambda: CollisionShape.capsule(rng.uniform(0.05, 0.2), rng.uniform(0.1, 0.5)),
        lambda: CollisionShape.cylinder(rng.uniform(0.05, 0.2), rng.uniform(0.1, 0.5)),
        lambda: CollisionShape.ellipsoid(rng.uniform(0.1, 0.4, 3)),
    )
    return [makers[k % len(makers)]() for k in range(count)]


def _pose(rng: np.random.Generator) -> np.ndarray:
    turn = rng.normal(size=4)
    return np.concatenate([rng.uniform(-2.0, 2.0, 3), turn / np.linalg.norm(turn)])


def _group(rng: np.random.Generator, detector: CollisionDetector, count: int) -> CollisionGroup:
    group = detector.create_group()
    group.add(CollisionShape.plane(), pose=(0, 0, -2.5, 0, 0, 0, 1), static=True)
    for k, shape in enumerate(_shapes(rng, count)):
        group.add(shape, pose=_pose(rng), static=k % 3 == 0)
    return group


@pytest.mark.parametrize("count", [3, 24, 25, 80])
def test_the_nearest_hit_is_that_of_all_objects_asked_one_by_one(count: int) -> None:
    rng = np.random.default_rng(count)
    detector = CollisionDetector.create("native")
    group = _group(rng, detector, count)
    start, end = rng.uniform(-3.0, 3.0, (2, 150, 3))
    # along the axes too, where a box is entered through one pair of its sides alone
    end[:60] = start[:60]
    end[np.arange(60), np.arange(60) % 3] *= -1.0
    found = detector.raycast(group, start, end)
    for k in range(len(start)):
        every = detector.raycast(group, start[k], end[k], RaycastOption(all_hits=True))
        one = detector.raycast(group, start[k], end[k])
        if not len(every.fractions):
            assert found.objects[k] == one.objects[0] == -1
            assert found.fractions[k] == np.inf and found.shapes[k] == found.triangles[k] == -1
            np.testing.assert_array_equal(found.points[k], end[k])
            np.testing.assert_array_equal(found.normals[k], 0.0)
            continue
        assert found.fractions[k] == one.fractions[0] == every.fractions[0]
        assert found.objects[k] in every.objects[every.fractions == every.fractions[0]]
        np.testing.assert_allclose(
            found.points[k], start[k] + found.fractions[k] * (end[k] - start[k]), rtol=0, atol=1e-14
        )
    assert 0.15 < np.isfinite(found.fractions).mean() < 1.0


def test_rays_see_objects_where_they_are_now() -> None:
    detector = CollisionDetector.create("native")
    group = detector.create_group()
    ball = group.add(CollisionShape.sphere(0.5))
    ray = (0.0, 0.0, 3.0), (0.0, 0.0, -3.0)
    assert detector.raycast(group, *ray).points[0, 2] == pytest.approx(0.5)
    ball.pose = (0, 0, 1, 0, 0, 0, 1)
    assert detector.raycast(group, *ray).points[0, 2] == pytest.approx(1.5)
    group.poses = [(0, 0, -1, 0, 0, 0, 1)]
    assert detector.raycast(group, *ray).points[0, 2] == pytest.approx(-0.5)
    detector.collide(group)
    assert detector.raycast(group, *ray).points[0, 2] == pytest.approx(-0.5)
    group.add(CollisionShape.sphere(0.5), pose=(0, 0, 2, 0, 0, 0, 1))
    assert detector.raycast(group, *ray).points[0, 2] == pytest.approx(2.5)


def test_rays_of_a_world_see_writes_steps_and_resets() -> None:
    world = sx.World(time_step=0.01)
    ball = world.add_rigid_body("ball", position=(0, 0, 1))
    ball.add_collision_shape(CollisionShape.sphere(0.25))
    world.enter_simulation_mode()
    heights = []

    def look() -> None:
        hit = world.raycast((0.0, 0.0, 9.0), (0.0, 0.0, -9.0))[0]
        assert hit is not None and hit.body is ball
        heights.append(float(hit.point[2]) - 0.25 - float(ball.translation[2]))

    look()
    look()
    world.step(n=10)
    look()
    ball.translation = (0, 0, 3)
    look()
    world.reset()
    look()
    np.testing.assert_allclose(heights, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "bad", [(np.nan, 0.0, 1.0), (np.inf, 0.0, 1.0), (0.0, 1.0), ("a", 0.0, 1.0), (1j, 0, 0)]
)
def test_rays_that_make_no_sense_are_refused(bad: tuple) -> None:
    world = sx.World()
    world.add_ground_plane()
    with pytest.raises(ValueError, match="ray"):
        world.raycast(bad, (0.0, 0.0, -1.0))
    with pytest.raises(ValueError, match="ray"):
        world.raycast((0.0, 0.0, 1.0), bad)


@pytest.mark.parametrize("count", [12, 50])
def test_rays_hit_what_mujoco_hits(count: int) -> None:
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(5)
    geoms = ""
    for k in range(count):
        x, y, z, qx, qy, qz, qw = _pose(rng)
        kind = ("sphere", "box", "capsule", "cylinder", "ellipsoid")[k % 5]
        a, b, c = rng.uniform(0.1, 0.4, 3)
        geoms += f"<geom type='{kind}' size='{a} {b} {c}' pos='{x} {y} {z}' quat='{qw} {qx} {qy} {qz}'/>"
    text = f"<mujoco><worldbody>{geoms}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    start, end = rng.uniform(-3.0, 3.0, (2, 400, 3))
    # MuJoCo has no hit for a start inside of a shape
    outside = world.raycast(start, start + 1e-9).fractions == np.inf
    start, end = start[outside], end[outside]
    found = world.raycast(start, end)
    theirs = np.array(
        [
            mujoco.mj_ray(model, data, a, b - a, None, 1, -1, np.zeros(1, np.int32))
            for a, b in zip(start, end, strict=True)
        ]
    )
    theirs[(theirs < 0.0) | (theirs > 1.0)] = np.inf
    np.testing.assert_allclose(found.fractions, theirs, rtol=0, atol=1e-9)
    assert 0.05 < np.isfinite(theirs).mean() < 0.95
