# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks of position servos: observations, rewards and ends, recomputed from their scenes with MuJoCo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="learning environments need gymnasium")
mujoco = pytest.importorskip("mujoco", reason="the reference of these tests")

from worldline import envs  # noqa: E402
from worldline._src.envs.task import ASSETS  # noqa: E402

FLOATING = {"Quadruped": 0, "HandTurn": 12}
"""Coordinate at which the pose of the free body starts."""


class Peer:
    """A task and MuJoCo's model of its scene."""

    def __init__(self, name, **options):
        self.name, self.env = name, envs.WorldEnv(envs.TASKS[name], **options)
        self.task: Any = self.env.task
        self.batch = self.env.batch
        self.model = mujoco.MjModel.from_xml_path(str(ASSETS / self.task.scene_file))
        self.data = mujoco.MjData(self.model)

    def state(self):
        return self.batch.joint_positions[0].copy(), self.batch.joint_velocities[0].copy()

    def place(self, q, v):
        """Put both into a state."""
        self.batch.joint_positions[0], self.batch.joint_velocities[0] = q, v
        self.refresh()

    def refresh(self):
        """Put MuJoCo's data where the world is now."""
        q, v = self.state()
        at = FLOATING.get(self.name)
        if at is not None:
            q[at + 3 : at + 7] = np.roll(q[at + 3 : at + 7], 1)
        self.data.qpos, self.data.qvel, self.data.ctrl = q, v, self.batch.controls[0]
        mujoco.mj_forward(self.model, self.data)

    def observed(self):
        which = np.arange(1)
        return self.task.observation(self.task.read(which))[0]

    def moved(self, seed=3):
        """Reset, and move everything away from where it starts."""
        self.env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        for _ in range(3):
            self.action = rng.uniform(-1.2, 1.2, self.env.action_space.shape)
            self.env.step(self.action)
        self.refresh()
        return rng


@pytest.fixture(scope="module")
def quadruped():
    peer = Peer("Quadruped", roughness=0.3, terrain_seed=4)
    heights = peer.task.heights
    model = mujoco.MjSpec.from_file(str(ASSETS / "quadruped.xml"))
    field = model.hfields[0]
    field.nrow, field.ncol = heights.shape
    field.size = [16.0, 16.0, 0.3, 0.5]
    field.userdata = (heights / 0.3).ravel().astype(np.float32)
    peer.model = model.compile()
    peer.data = mujoco.MjData(peer.model)
    return peer


def ground_below(peer, x, y):
    """Height of the ground by a ray of MuJoCo from above."""
    field = peer.model.geom("terrain").id
    return 9.0 - mujoco.mj_rayHfield(peer.model, peer.data, field, [x, y, 9.0], [0.0, 0.0, -1.0], None)


def test_a_quadruped_observes_itself_its_command_and_the_ground(quadruped):
    peer = quadruped
    peer.moved()
    q, v = peer.state()
    q[:3], v[:] = (1.3, -0.7, 1.9), np.random.default_rng(0).normal(size=len(v))
    q[3:7] = np.array([0.2, -0.3, 0.5, 0.8]) / np.linalg.norm([0.2, -0.3, 0.5, 0.8])
    q[7:] += 0.1
    peer.place(q, v)
    R = peer.data.body("trunk").xmat.reshape(3, 3)
    heading = np.arctan2(R[1, 0], R[0, 0])
    forward = np.array([np.cos(heading), np.sin(heading)])
    left = np.array([-forward[1], forward[0]])
    ground = [
        q[2] - ground_below(peer, *(q[:2] + x * forward + y * left))
        for x in np.linspace(-0.3, 0.5, 5)
        for y in np.linspace(-0.2, 0.2, 3)
    ]
    legs = q[7:] - np.tile([0.0, 0.7, -1.4], 4)
    last, command = np.clip(peer.action, -1.0, 1.0), peer.task.commands[0]
    assert np.abs(peer.action).max() > 1.0 and np.abs(command).min() > 1e-3
    expected = [-R[2], R.T @ v[:3], v[3:6], legs, v[6:], last, command]
    seen = peer.observed()
    np.testing.assert_allclose(seen[:-15], np.concatenate(expected), atol=1e-12)
    # MuJoCo has heights in single precision
    np.testing.assert_allclose(seen[-15:], ground, atol=1e-7)
    corner = peer.task.ground(np.array([[-16.0 + 0.5 * 11, -16.0 + 0.5 * 40]]))
    assert corner[0] == pytest.approx(peer.task.heights[40, 11], abs=1e-12)


def test_a_quadruped_is_paid_for_following_its_command(quadruped):
    peer, task = quadruped, quadruped.task
    rng = peer.moved(5)
    for _ in range(4):
        before, action = task._last[0].copy(), rng.uniform(-1.5, 1.5, 12)
        _, reward, ended, _, info = peer.env.step(action)
        peer.refresh()
        v = peer.data.qvel
        body = peer.data.body("trunk").xmat.reshape(3, 3).T @ v[:3]
        vx, vy, turn = task.commands[0]
        follow = np.exp(-((body[0] - vx) ** 2 + (body[1] - vy) ** 2) / 0.25)
        turning = 0.5 * np.exp(-((v[5] - turn) ** 2) / 0.25)
        effort = np.square(peer.data.actuator_force).sum()
        change = np.square(np.clip(action, -1, 1) - before).sum()
        cost = v[2] ** 2 + 0.05 * (v[3] ** 2 + v[4] ** 2) + 1e-4 * effort + 0.02 * change
        assert reward == pytest.approx(follow + turning - cost, abs=1e-9)
        parts = (info["reward_velocity"], info["reward_turning"], info["reward_cost"])
        assert parts == pytest.approx((follow, turning, -cost), abs=1e-9)
        assert not ended


def test_efforts_of_a_quadruped_have_the_bounds_of_its_servos(quadruped):
    peer = quadruped
    peer.moved()
    q, v = peer.state()
    q[9] -= 0.9
    q[11] += 0.8
    peer.place(q, v)
    assert np.abs(peer.data.actuator_force).max() == 30.0
    effort = peer.task._effort(peer.task.read(np.arange(1)))
    np.testing.assert_allclose(effort[0], peer.data.actuator_force, atol=1e-12)


def test_a_quadruped_starts_standing_on_the_ground_and_ends_fallen(quadruped):
    peer, task = quadruped, quadruped.task
    starts = []
    for seed in range(20):
        peer.moved(seed)
        _, info = peer.env.reset(seed=seed)
        q, v = peer.state()
        height = task.ground(q[None, :2])[0]
        assert q[2] == pytest.approx(0.36 + height) and not v.any()
        assert not task._last.any() and not task._change.any()
        assert peer.batch.controls[0] == pytest.approx(np.tile([0.0, 0.7, -1.4], 4))
        assert (info["x_position"], info["y_position"]) == (q[0], q[1])
        turn = 2.0 * np.arctan2(q[5], q[6])
        starts.append([*q[:2], turn, *task.commands[0], *(q[7:] - np.tile([0.0, 0.7, -1.4], 4))])
    spread = np.abs(starts).max(axis=0)
    most = [2.0, 2.0, np.pi, 0.7, 0.3, 0.6, *[0.1] * 12]
    assert (spread <= most).all() and (spread > 0.7 * np.array(most)).all()

    def ends(height, tilt):
        q, v = peer.state()
        q[2] = task.ground(q[None, :2])[0] + height
        q[3:7] = np.sin(0.5 * tilt), 0.0, 0.0, np.cos(0.5 * tilt)
        peer.place(q, v)
        return bool(task.outcome(np.zeros(0), task.read(np.arange(1)), np.zeros((1, 12))).terminated[0])

    # upright is a cosine of 0.5, 60 degrees
    assert [ends(0.17, 1.0), ends(0.15, 0.0), ends(0.3, 1.06), ends(0.3, 1.04)] == [False, True, True, False]


def test_servos_of_a_hand_and_an_arm_move_by_shares_of_their_actions():
    for name, scale in (("HandTurn", 0.15), ("ArmReach", 0.05)):
        peer = Peer(name)
        peer.env.reset(seed=1)
        low, high = peer.model.actuator_ctrlrange.T
        before, action = peer.batch.controls[0].copy(), np.linspace(-2.0, 2.0, peer.model.nu)
        peer.env.step(action)
        expected = np.clip(before + scale * np.clip(action, -1, 1), low, high)
        np.testing.assert_allclose(peer.batch.controls[0], expected, atol=1e-15)
        assert vars(peer.env.action_space)["low"].tolist() == [-1.0] * peer.model.nu


def test_a_hand_is_paid_for_turning_the_cube_on_its_palm():
    peer = Peer("HandTurn")
    peer.moved(2)
    q, v = peer.state()
    at, turn = [0.03, -0.02, 0.14], [0.4, -0.7, 2.0]
    q[12:15], q[15:19] = at, np.array([0.1, 0.2, -0.3, 0.9]) / np.linalg.norm([0.1, 0.2, -0.3, 0.9])
    v[12:18] = [0.1, 0.2, 0.3, *turn]
    peer.place(q, v)
    # angular velocity of the cube in world axes
    world = peer.data.body("cube").xmat.reshape(3, 3) @ turn
    expected = [q[:12], v[:12], peer.batch.controls[0], q[12:], v[12:15], world]
    np.testing.assert_allclose(peer.observed(), np.concatenate(expected), atol=1e-12)

    def outcome(position, rate):
        q[12:15], q[15:19], v[15:18] = position, (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, rate)
        peer.place(q, v)
        reading = peer.task.read(np.arange(1))
        made = peer.task.outcome(np.zeros(0), reading, np.full((1, 12), 0.5))
        return float(made.reward[0]), bool(made.terminated[0])

    control = 1e-2 * 12 * 0.25
    for position, rate, reward, ended in (
        ((0.03, -0.04, 0.136), 2.0, 2.0 - 5.0 * 0.05 - control, False),
        ((0.0, 0.0, 0.136), -9.0, -3.0 - control, False),
        ((0.0, 0.08, 0.136), 9.0, 3.0 - 5.0 * 0.08 - control, False),
        ((0.0, 0.1, 0.136), 0.0, -5.0 * 0.1 - 10.0 - control, True),
        ((0.0, 0.0, 0.1), 0.0, -10.0 - control, True),
        ((0.0, 0.0, 0.11), 0.0, -control, False),
    ):
        made = outcome(position, rate)
        assert made == (pytest.approx(reward, abs=1e-12), ended)


def test_a_hand_starts_with_the_cube_on_its_palm_in_any_direction():
    peer = Peer("HandTurn")
    starts = []
    for seed in range(20):
        peer.moved(seed)
        peer.env.reset(seed=seed)
        q, v = peer.state()
        assert not v.any() and q[14] == 0.136 and not q[15:17].any()
        assert peer.batch.controls[0] == pytest.approx(np.tile([0.0, 0.1, 0.3], 4))
        starts.append([*(q[:12] - np.tile([0.0, 0.1, 0.3], 4)), *q[12:14], 2.0 * np.arctan2(q[17], q[18])])
    spread, most = np.abs(starts).max(axis=0), np.array([*[0.05] * 12, 0.005, 0.005, np.pi])
    assert (spread <= most).all() and (spread > 0.7 * most).all()


def test_an_arm_is_paid_for_its_tool_near_a_target():
    peer = Peer("ArmReach")
    targets = []
    for seed in range(20):
        _, info = peer.env.reset(seed=seed)
        peer.refresh()
        target, tool = peer.task.targets[0].copy(), peer.data.body("tool").xpos.copy()
        assert info["distance"] == pytest.approx(np.linalg.norm(target - tool), abs=1e-12)
        q, v = peer.state()
        assert np.array_equal(peer.batch.controls[0], q) and not v.any()
        targets.append([np.hypot(*target[:2]), np.arctan2(target[1], target[0]), target[2]])
    low, high = np.array([0.3, -1.2, 0.15]), np.array([0.65, 1.2, 0.7])
    assert (np.min(targets, axis=0) >= low).all() and (np.max(targets, axis=0) <= high).all()
    assert (np.ptp(targets, axis=0) > 0.7 * (high - low)).all()
    peer.moved()
    q, v = peer.state()
    target, tool = peer.task.targets[0].copy(), peer.data.body("tool").xpos.copy()
    expected = np.concatenate([q, v, peer.batch.controls[0], tool, target, target - tool])
    np.testing.assert_allclose(peer.observed(), expected, atol=1e-12)
    for away, reached in ((0.029, True), (0.031, False), (0.4, False)):
        peer.task.targets[0] = tool + np.array([0.0, away, 0.0])
        made = peer.task.outcome(np.zeros(0), peer.task.read(np.arange(1)), np.full((1, 6), 0.5))
        assert made.reward[0] == pytest.approx(reached - away - 1e-3 * 6 * 0.25, abs=1e-12)
        assert (made.info["is_success"][0], made.info["distance"][0]) == (reached, pytest.approx(away))
        assert not made.terminated[0]
