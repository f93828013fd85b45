# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds of a batch side by side on a page, from a program; no browser is needed."""

from __future__ import annotations

import numpy as np
import pytest
from waiting import until

from worldline import ArgumentError
from worldline import simulation as sx
from worldline.collision import CollisionShape

pytest.importorskip("viser", reason="the viewer needs the package viser")


@pytest.fixture
def shown():
    world = sx.World(time_step=0.002)
    world.add_ground_plane()
    body = world.add_rigid_body("box", position=(0, 0, 1.0))
    body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    batch = sx.WorldBatch(world, 70, divergence_policy="freeze")
    batch.joint_velocities[:, 0] = np.arange(70)
    with sx.view_batch(batch, spacing=2.0, port=8890) as viewer:
        yield batch, viewer


def node(viewer):
    return next(iter(viewer._shapes.movable())).handle


def test_worlds_stand_in_a_square_and_nothing_moves_in_them(shown):
    batch, viewer = shown
    places = node(viewer).batched_positions
    assert places.shape == (64, 3) and (batch.joint_positions[:, :2] == 0.0).all()
    k = np.arange(64)
    np.testing.assert_allclose(
        places, np.stack([2.0 * (k % 8), 2.0 * (k // 8), 1.0 + 0 * k], axis=1), rtol=1e-6
    )


def test_steps_are_shown_and_can_be_looked_back_at(shown):
    batch, viewer = shown
    viewer.step(10)
    assert (batch.frame == 10).all() and viewer.frame_count == 2
    moved = node(viewer).batched_positions[:, 0] - 2.0 * (np.arange(64) % 8)
    np.testing.assert_allclose(moved, 0.02 * np.arange(64), atol=1e-5)
    viewer.seek(0)
    np.testing.assert_allclose(node(viewer).batched_positions[:, 2], 1.0)
    assert (batch.frame == 10).all()
    viewer.play()
    until(lambda: viewer.frame_count > 4)
    viewer.pause()
    viewer.reset()
    assert (batch.frame == 0).all() and viewer.frame_count == 1 and not viewer.is_playing
    with pytest.raises(ArgumentError, match="0 to 0, got 3"):
        viewer.seek(3)


def test_picked_and_failed_worlds_are_told(shown):
    batch, viewer = shown
    viewer.pick(5)
    assert viewer.picked == 5 and "world 5: 0.000 s" in viewer.status
    assert (node(viewer).batched_colors[5] == (60, 130, 230)).all()
    assert not (node(viewer).batched_colors[4] == (60, 130, 230)).all()
    batch.joint_velocities[7] = 1e300
    viewer.step(2)
    assert (node(viewer).batched_colors[7] == (220, 40, 40)).all()
    assert "64 worlds, 1 failed" in viewer.status and "world 7" in viewer.status
    viewer.pick(None)
    assert viewer.picked is None
    with pytest.raises(ArgumentError, match="not on the page"):
        viewer.pick(65)
    with pytest.raises(ArgumentError, match="spacing"):
        sx.view_batch(batch, spacing=0.0)


def test_the_first_look_has_every_world_in_view(shown):
    _, viewer = shown
    camera = viewer._server.initial_camera
    eye, centre = np.array(camera.position), np.array(camera.look_at)
    forward = (centre - eye) / np.linalg.norm(centre - eye)
    lines = node(viewer).batched_positions - eye
    angles = np.degrees(np.arccos(lines @ forward / np.linalg.norm(lines, axis=1)))
    assert angles.max() < 22.5 and np.degrees(camera.fov) == pytest.approx(45.0)


def test_a_wide_plane_is_drawn_once_below_all_worlds(shown):
    _, viewer = shown
    rows = viewer._shapes.items.rows
    planes = [k for k, item in enumerate(rows) if item.kind.name == "PLANE"]
    assert len(planes) == 64 and [rows[k].group for k in planes[1:]] == [-1] * 63
    np.testing.assert_allclose(viewer._poses(viewer._frames[0])[planes[0], :2], [7.0, 7.0])


@pytest.mark.parametrize("error", [RuntimeError, SystemExit])
def test_what_goes_wrong_on_the_page_is_said_and_ends_the_play_alone(shown, error):
    batch, viewer = shown

    def bad():
        raise error("of the page")

    viewer.play()
    viewer._work.put(bad)
    until(lambda: "of the page" in viewer.status)
    assert not viewer.is_playing and viewer._thread.is_alive()
    frame = int(batch.frame[0])
    viewer.play()
    until(lambda: int(batch.frame[0]) > frame)
    viewer.pause()
    assert "of the page" not in viewer.status
