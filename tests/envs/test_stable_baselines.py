# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds of a batch for Stable-Baselines3."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="learning environments need gymnasium")
pytest.importorskip("torch", reason="Stable-Baselines3 needs torch")
baselines = pytest.importorskip("stable_baselines3", reason="stable_baselines3 is not installed")

import gymnasium  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.vec_env import VecMonitor, VecNormalize  # noqa: E402

import worldline  # noqa: E402
from worldline.envs import StableBaselinesVecEnv  # noqa: E402


def test_it_is_what_stable_baselines_makes_of_single_environments():
    ours = StableBaselinesVecEnv("worldline/Hopper-v0", 3, max_episode_steps=6)
    theirs = make_vec_env(
        lambda: gymnasium.make("worldline/Hopper-v0", max_episode_steps=6), n_envs=3, seed=None
    )
    ours.seed(5), theirs.seed(5)
    np.testing.assert_array_equal(ours.reset(), theirs.reset().astype(np.float32))
    rng, ended = np.random.default_rng(0), 0
    for _ in range(20):
        actions = rng.uniform(-1, 1, (3, 3)).astype(np.float32)
        mine, other = ours.step(actions), theirs.step(actions)
        np.testing.assert_array_equal(mine[0], other[0].astype(np.float32))
        np.testing.assert_array_equal(mine[1], other[1])
        np.testing.assert_array_equal(mine[2], other[2])
        for a, b in zip(mine[3], other[3], strict=True):
            assert {key: a[key] for key in b if key.startswith("reward")} == {
                key: b[key] for key in b if key.startswith("reward")
            }
            if "terminal_observation" in b:
                ended += 1
                np.testing.assert_array_equal(
                    a["terminal_observation"], b["terminal_observation"].astype(np.float32)
                )
                assert a["TimeLimit.truncated"] == b["TimeLimit.truncated"]
    assert ended >= 6


def test_ppo_of_stable_baselines_learns_on_it():
    envs = VecNormalize(VecMonitor(StableBaselinesVecEnv("Reacher", 8)))
    model = baselines.PPO("MlpPolicy", envs, n_steps=50, batch_size=200, n_epochs=2, seed=0, device="cpu")
    model.learn(800)
    assert model.num_timesteps >= 800 and len(model.ep_info_buffer) >= 8
    assert all(info["l"] == 50 and info["r"] < 0.0 for info in model.ep_info_buffer)


def test_what_worlds_of_a_batch_do_not_have_is_refused():
    envs = StableBaselinesVecEnv("Reacher", 2)
    assert envs.env_is_wrapped(VecMonitor) == [False, False] and envs.get_attr("dt") == [0.02, 0.02]
    envs.set_attr("note", 3)
    assert envs.get_attr("note", indices=[0]) == [3]
    for wrong in (
        lambda: envs.set_attr("note", 4, indices=[1]),
        lambda: envs.set_attr("dt", 4),
        lambda: envs.env_method("set_state"),
    ):
        with pytest.raises(worldline.CapabilityError):
            wrong()
    with pytest.raises(worldline.NotFoundError, match="Reacher"):
        StableBaselinesVecEnv("Reachr", 2)
    with pytest.raises(worldline.ArgumentError, match="SameStep"):
        StableBaselinesVecEnv("Reacher", 2, autoreset_mode="NextStep")
