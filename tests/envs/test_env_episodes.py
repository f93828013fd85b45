# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Environments of Gymnasium: its checker, episodes of vectors, autoreset modes, final observations, refusals."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

from processes import output_of

gymnasium = pytest.importorskip("gymnasium", reason="learning environments need gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

import worldline  # noqa: E402
from worldline import OperationError, WorldlineError, envs  # noqa: E402

MODES = [mode.value for mode in AutoresetMode]


def make_vec(name, count, **options):
    return gymnasium.make_vec(
        f"worldline/{name}-v0", count, vectorization_mode="vector_entry_point", **options
    )


def one_by_one(name, count, mode, **options):
    """The vector environment that Gymnasium makes of single ones."""
    return SyncVectorEnv(
        [lambda: gymnasium.make(f"worldline/{name}-v0", **options)] * count,
        autoreset_mode=AutoresetMode(mode),
    )


@pytest.mark.parametrize("name", worldline.envs.NAMES)
def test_the_checker_of_gymnasium_finds_nothing(name):
    env = gymnasium.make(name)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        check_env(env.unwrapped, skip_render_check=True)
    # observations without bounds, as those of Gymnasium's own tasks
    texts = [str(w.message) for w in seen if w.category is not DeprecationWarning]
    assert all("Box observation space m" in text and "infinity" in text for text in texts), texts


@pytest.mark.parametrize("name", worldline.envs.NAMES)
@pytest.mark.parametrize("mode", MODES)
def test_a_vector_is_what_gymnasium_makes_of_single_environments(name, mode):
    """Observations, rewards, ends, infos and final observations, over episodes that end at different steps."""
    task, longest = name.removeprefix("worldline/").removesuffix("-v0"), 7
    ours = make_vec(task, 3, max_episode_steps=longest, autoreset_mode=mode)
    theirs = one_by_one(task, 3, mode, max_episode_steps=longest)
    assert ours.metadata["autoreset_mode"] is AutoresetMode(mode)
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    _same(ours.reset(seed=4), theirs.reset(seed=4))
    rng = np.random.default_rng(0)
    for _ in range(2 * longest + 3):
        actions = rng.uniform(ours.action_space.low, ours.action_space.high).astype(np.float32)
        mine, other = ours.step(actions), theirs.step(actions)
        _same(mine, other)
        ended = mine[2] | mine[3]
        if mode == "Disabled" and ended.any():
            again = ours.reset(options={"reset_mask": ended})
            _same(again, theirs.reset(options={"reset_mask": ended}))
    theirs.close()


def _same(mine, other):
    """Equal answers of two vector environments, bit for bit."""
    assert len(mine) == len(other)
    for a, b in zip(mine[:-1], other[:-1], strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)
    _same_infos(mine[-1], other[-1])


def _same_infos(mine, other):
    assert set(mine) == set(other)
    for key, value in other.items():
        if isinstance(value, dict):
            _same_infos(mine[key], value)
        elif key == "final_obs":
            for a, b in zip(mine[key], value, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_array_equal(mine[key], value, err_msg=key)


def test_an_environment_does_not_depend_on_the_others():
    few, many = make_vec("Hopper", 2), make_vec("Hopper", 9, threads=2)
    few.reset(seed=3), many.reset(seed=3)
    actions = np.random.default_rng(1).uniform(-1, 1, (40, 9, 3)).astype(np.float32)
    for row in actions:
        mine, other = few.step(row[:2]), many.step(row)
        for a, b in zip(mine[:4], other[:4], strict=True):
            np.testing.assert_array_equal(a, b[:2])


def test_episodes_end_by_terminations_too():
    envs = make_vec("Hopper", 4, autoreset_mode="SameStep")
    envs.reset(seed=0)
    seen = 0
    for _ in range(60):
        observation, _, terminated, truncated, infos = envs.step(np.ones((4, 3)))
        assert not truncated.any()
        for i in np.flatnonzero(terminated):
            seen += 1
            # the last observation is that of the fallen hopper, the returned one is that of a new start
            assert abs(infos["final_obs"][i][1]) > 0.2 or infos["final_obs"][i][0] < 0.7
            assert abs(observation[i, 1]) < 0.01 and infos["final_info"]["reward_survive"][i] == 0.0
    assert seen > 4


def test_a_world_that_diverges_ends_its_episode_and_starts_again():
    envs = make_vec("HalfCheetah", 3, autoreset_mode="NextStep")
    envs.reset(seed=0)
    envs.unwrapped.batch.joint_velocities[1, 4] = 1e12
    actions = np.zeros((3, 6))
    terminated = envs.step(actions)[2]
    assert terminated.tolist() == [False, True, False]
    observation, reward, terminated, _, _ = envs.step(actions)
    assert not terminated.any() and reward[1] == 0.0 and np.abs(observation).max() < 100.0
    assert not envs.unwrapped.batch.failures


def test_refusals():
    with pytest.raises(ValueError, match="frame_skp"):
        gymnasium.make("worldline/Ant-v0", frame_skp=3)
    with pytest.raises(ValueError, match="frame_skip"):
        gymnasium.make("worldline/Ant-v0", frame_skip=0)
    with pytest.raises(ValueError, match="NextStep"):
        make_vec("Reacher", 2, autoreset_mode="now")
    with pytest.raises(ValueError, match="rgb_array"):
        make_vec("Reacher", 2, render_mode="human")
    envs = make_vec("Reacher", 2, autoreset_mode="Disabled", max_episode_steps=1)
    with pytest.raises(worldline.OperationError, match="reset"):
        envs.step(np.zeros((2, 2)))
    envs.reset(seed=0)
    with pytest.raises(worldline.ShapeError, match=r"\(2, 2\)"):
        envs.step(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"actions.*real"):
        envs.step(np.full((2, 2), 0.1 + 1j))
    one = gymnasium.make("worldline/Reacher-v0").unwrapped
    one.reset(seed=0)
    with pytest.raises(ValueError, match=r"action.*real"):
        one.step(np.full(2, 0.1 + 1j))
    envs.step(np.zeros((2, 2)))
    with pytest.raises(worldline.OperationError, match="environment 0 is over"):
        envs.step(np.zeros((2, 2)))
    with pytest.raises(worldline.ShapeError, match="reset_mask"):
        envs.reset(options={"reset_mask": [True, False]})
    with pytest.raises(ValueError, match="at least one"):
        envs.reset(options={"reset_mask": np.zeros(2, bool)})
    with pytest.raises(ValueError, match="seed"):
        envs.reset(seed=[1, 2, 3])


def test_statistics_of_episodes_by_the_wrapper_of_gymnasium():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(make_vec("Reacher", 4, max_episode_steps=5))
    envs.reset(seed=0)
    rewards = np.zeros(4)
    for _ in range(5):
        _, reward, _, truncated, infos = envs.step(np.zeros((4, 2), np.float32))
        rewards += reward
    assert truncated.all()
    np.testing.assert_allclose(infos["episode"]["r"], rewards, rtol=1e-12)


def test_pictures():
    pytest.importorskip("vtkmodules", reason="pictures need vtk")
    env = gymnasium.make("worldline/HalfCheetah-v0", render_mode="rgb_array", width=96, height=64)
    env.reset(seed=0)
    first = env.render()
    assert first.shape == (64, 96, 3) and first.dtype == np.uint8 and len(np.unique(first)) > 10
    for _ in range(40):
        env.step(env.action_space.high)
    assert (env.render() != first).mean() > 0.01
    env.close()
    env.close()


def test_the_library_does_not_load_gymnasium_by_itself():
    code = (
        "import sys, worldline, worldline.simulation as sx\n"
        "sx.WorldBatch\n"
        "assert 'gymnasium' not in sys.modules and 'torch' not in sys.modules\n"
        "worldline.envs\n"
        "assert 'gymnasium' in sys.modules and 'stable_baselines3' not in sys.modules\n"
        "sys.modules['gymnasium'] = None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_gymnasium_the_error_names_the_extra():
    code = (
        "import importlib.util as u, worldline\n"
        "found = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'gymnasium' else found(name, *rest)\n"
        "try:\n"
        "    import worldline.envs\n"
        "except worldline.CapabilityError as error:\n"
        "    print(error)\n"
    )
    assert "pip install 'worldline[learn]'" in output_of(code)


@pytest.mark.parametrize("name", ["envs", "_src.envs.single", "_src.envs.vector"])
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(f"worldline.{name}"), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 3 and result.failed == 0


def test_a_task_takes_options_alone():
    task = make_vec("Quadruped", 1).task
    assert isinstance(task, envs.Task)
    with pytest.raises(
        AttributeError, match="Quadruped has no attribute 'fram_skip'; did you mean 'frame_skip'"
    ):
        task.fram_skip = 3
    for name, wrong in (
        ("frame_skip", 0),
        ("frame_skip", 1.5),
        ("tracking_width", -1.0),
        ("healthy_height", "a"),
    ):
        before = getattr(task, name)
        with pytest.raises(WorldlineError, match=name):
            setattr(task, name, wrong)
        assert getattr(task, name) == before
    with pytest.raises(OperationError, match="'roughness' shapes the scene"):
        task.roughness = 0.0
    task.frame_skip = 3
    assert task.dt == 3 * task.batch.time_step


def test_a_task_of_a_user_takes_attributes_of_its_own():
    class Mine(envs.TASKS["Hopper"]):
        def acted(self, actions):
            self.mean_action = float(actions.mean())

    mine = envs.VectorWorldEnv(Mine, 1)
    mine.reset(seed=0)
    mine.step(np.full(mine.action_space.shape, 0.5))
    assert vars(mine.task)["mean_action"] == 0.5
