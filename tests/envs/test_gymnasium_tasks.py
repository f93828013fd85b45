# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tasks that Gymnasium has too: same starts, observations, rewards and ends, from the same state and action."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="learning environments need gymnasium")
mujoco = pytest.importorskip("mujoco", reason="Gymnasium's environments run on it")

import worldline.envs  # noqa: E402

NAMES = ("Hopper", "Walker2d", "HalfCheetah", "Ant", "Humanoid", "Reacher")
FREE = ("Ant", "Humanoid")
# the largest difference of an observation, and of a reward, after one step from equal states; velocities of
# the hopper follow from springs of contact that are stiffer than those of the others
STATE, REWARD = 2e-6, 2e-5


@pytest.fixture(scope="module", params=NAMES)
def pair(request):
    """The environment of Worldline and that of Gymnasium."""
    name = request.param
    ours = gymnasium.make(f"worldline/{name}-v0").unwrapped
    theirs = gymnasium.make(f"{name}-v5").unwrapped
    # Gymnasium's humanoid stops the sweeps of its solver early; the solution is that of all solvers
    theirs.model.opt.solver, theirs.model.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 1e-12
    theirs.model.opt.iterations = 100
    yield name, ours, theirs
    ours.close()
    theirs.close()


def in_order(name, q):
    """Coordinates of Worldline from those of Gymnasium: xyzw from wxyz."""
    q = np.array(q)
    if name in FREE:
        q[3:7] = np.roll(q[3:7], -1) / np.linalg.norm(q[3:7])
    return q


def set_both(name, ours, theirs, q, v):
    theirs.set_state(q, v)
    ours.batch.joint_positions[0], ours.batch.joint_velocities[0] = in_order(name, q), v


def refresh(theirs):
    """Quantities of the present state: after a step Gymnasium has those of the last evaluation within it."""
    mujoco.mj_forward(theirs.model, theirs.data)
    mujoco.mj_rnePostConstraint(theirs.model, theirs.data)


def position(name, theirs):
    """Where the robot is, for the reward of running."""
    if name == "Humanoid":
        mass = theirs.model.body_mass
        return float(mass @ theirs.data.xipos[:, 0] / mass.sum())
    return float(theirs.data.qpos[0])


def test_spaces_and_durations_are_the_same(pair):
    name, ours, theirs = pair
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.dt == pytest.approx(theirs.dt, rel=1e-12)
    mine, other = gymnasium.spec(f"worldline/{name}-v0"), gymnasium.spec(f"{name}-v5")
    assert mine.max_episode_steps == other.max_episode_steps
    assert mine.reward_threshold == other.reward_threshold


@pytest.mark.parametrize("seed", [0, 7])
def test_a_seed_starts_the_same_episode(pair, seed):
    name, ours, theirs = pair
    for again in (seed, None):
        ours.reset(seed=again), theirs.reset(seed=again)
        expected = in_order(name, theirs.data.qpos)
        np.testing.assert_allclose(ours.batch.joint_positions[0], expected, rtol=0, atol=1e-14)
        np.testing.assert_allclose(ours.batch.joint_velocities[0], theirs.data.qvel, rtol=0, atol=1e-14)


def test_infos_have_the_same_names(pair):
    _, ours, theirs = pair
    mine, other = ours.reset(seed=1)[1], theirs.reset(seed=1)[1]
    assert set(mine) == set(other)
    action = ours.action_space.sample()
    mine, other = ours.step(action)[4], theirs.step(action)[4]
    assert set(mine) == set(other)
    assert all(np.shape(mine[key]) == np.shape(other[key]) for key in other)


def test_a_step_from_the_same_state_gives_the_same_numbers(pair):
    name, ours, theirs = pair
    rng, forces = np.random.default_rng(3), 0.0
    ours.reset(seed=5), theirs.reset(seed=5)
    ended = 0
    for k in range(60):
        q, v = theirs.data.qpos.copy(), theirs.data.qvel.copy()
        if name in FREE:
            q[3:7] /= np.linalg.norm(q[3:7])
        set_both(name, ours, theirs, q, v)
        before = position(name, theirs)
        space = ours.action_space
        action = rng.uniform(1.2 * space.low, 1.2 * space.high).astype(np.float32)
        observed, reward, terminated, _, info = ours.step(action)
        _, other_reward, other_terminated, _, other_info = theirs.step(action)
        refresh(theirs)
        np.testing.assert_allclose(observed, theirs._get_obs(), rtol=STATE, atol=STATE, err_msg=f"step {k}")
        if name == "Reacher":
            other_reward, parts = theirs._get_rew(action)
        else:
            other_reward, parts = theirs._get_rew((position(name, theirs) - before) / theirs.dt, action)
        assert reward == pytest.approx(other_reward, rel=REWARD, abs=REWARD)
        for key, value in parts.items():
            assert info[key] == pytest.approx(value, rel=REWARD, abs=REWARD), key
        for key in {"x_position", "y_position", "distance_from_origin", "z_distance_from_origin"} & set(info):
            assert info[key] == pytest.approx(other_info[key], rel=STATE, abs=STATE), key
        for key in {"tendon_length", "tendon_velocity"} & set(info):
            refreshed = theirs.data.ten_length if key == "tendon_length" else theirs.data.ten_velocity
            np.testing.assert_allclose(info[key], refreshed, rtol=0, atol=STATE)
        assert terminated == other_terminated
        forces = max(forces, float(np.abs(theirs.data.cfrc_ext).max()))
        if terminated:
            ended += 1
            theirs.reset()
    if name not in ("Reacher",):
        assert forces > 10.0  # feet touched the ground
    if name not in ("Reacher", "HalfCheetah", "Ant"):
        assert ended  # and episodes ended


def test_rewards_as_gymnasium_returns_them(pair):
    """Without refreshing: what Gymnasium reads from the last evaluation of a step is close to the present.

    Contact forces are not, in a step in which a foot lands or lifts.
    """
    name, ours, theirs = pair
    ours.reset(seed=11), theirs.reset(seed=11)
    rng, apart, without = np.random.default_rng(1), [], []
    for _ in range(30):
        set_both(name, ours, theirs, theirs.data.qpos.copy(), theirs.data.qvel.copy())
        action = rng.uniform(ours.action_space.low, ours.action_space.high).astype(np.float32)
        mine, other = ours.step(action), theirs.step(action)
        apart.append(mine[1] - other[1])
        without.append(apart[-1] - mine[4].get("reward_contact", 0) + other[4].get("reward_contact", 0))
    planar = name in ("Hopper", "Walker2d", "HalfCheetah")
    assert np.abs(without).max() < (REWARD if planar else 0.02)
    assert np.median(np.abs(apart)) < (REWARD if planar else 1e-3)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("HalfCheetah", {"ctrl_cost_weight": 0.3, "exclude_current_positions_from_observation": False}),
        ("Hopper", {"frame_skip": 2, "healthy_z_range": (1.24, 2.0), "healthy_reward": 3.0}),
        ("Ant", {"include_cfrc_ext_in_observation": False, "contact_force_range": (-20.0, 20.0)}),
        ("Humanoid", {"include_cinert_in_observation": False, "include_cvel_in_observation": False}),
        ("Reacher", {"reward_dist_weight": 3.0, "reward_control_weight": 0.2}),
    ],
)
def test_options_act_as_in_gymnasium(name, options):
    ours = gymnasium.make(f"worldline/{name}-v0", **options).unwrapped
    theirs = gymnasium.make(f"{name}-v5", **options).unwrapped
    assert ours.observation_space == theirs.observation_space and ours.dt == pytest.approx(theirs.dt)
    ours.reset(seed=2), theirs.reset(seed=2)
    set_both(name, ours, theirs, theirs.data.qpos.copy(), theirs.data.qvel.copy())
    action = 0.5 * ours.action_space.high
    for _ in range(3):
        _, reward, terminated, _, info = ours.step(action)
        _, other_reward, other_terminated, _, other = theirs.step(action)
    assert terminated == other_terminated
    assert reward == pytest.approx(other_reward, abs=0.05)
    assert info["reward_ctrl" if "reward_ctrl" in info else "reward_dist"] == pytest.approx(
        other["reward_ctrl" if "reward_ctrl" in other else "reward_dist"], rel=1e-3
    )


def test_every_option_of_gymnasium_is_there():
    ignored = {"self", "xml_file", "default_camera_config", "kwargs", "main_body"}
    for name in NAMES:
        known = {field.name for field in dataclasses.fields(worldline.envs.TASKS[name])}
        theirs = set(inspect.signature(gymnasium.make(f"{name}-v5").unwrapped.__class__.__init__).parameters)
        assert theirs - ignored == known, name
