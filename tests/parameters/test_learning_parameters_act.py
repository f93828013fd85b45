# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of derivatives over rollouts, of environments and of worker pools acts or is refused."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from dataclasses import fields
from functools import cache

import numpy as np
import pytest
from effects import Effect, Refused, arguments, called, check, complete, rows

from worldline import WorldlineError, distributed, msd
from worldline import simulation as sx

gymnasium = pytest.importorskip("gymnasium")
from worldline import envs  # noqa: E402 # needs Gymnasium

HOSTILE = (float("nan"), 10**400, 1 + 2j, np.ma.array([1.0, 2.0], mask=[0, 1]), "abc", None, [[1, 2], [3]])

# ---- derivatives over rollouts


def box(mass=1.0):
    world = sx.World(time_step=0.01, gravity=(0, 0, 0), differentiable=True)
    made = world.add_rigid_body("box", mass=mass, inertia=(1.0, 2.0, 3.0), angular_velocity=(1, 2, 3))
    world.add_differentiable_parameter(made, sx.PhysicalParameter.CENTER_OF_MASS)
    return world


def run(**given):
    base = {"world": box(), "controls": np.ones((5, 6))}
    return sx.diff.rollout(**(base | {n: x() if callable(x) else x for n, x in given.items()}))


ROLLOUT = called(
    lambda **given: run(**given).states,
    world=(box, lambda: box(2.0)),
    controls=(np.ones((5, 6)), 2.0 * np.ones((5, 6))),
    threads=Refused(lambda: run(threads=2), "threads must be 1 for a single World"),
)
JVP = called(
    lambda **given: run().jvp(**given),
    state=(np.ones(12), 2.0 * np.ones(12)),
    controls=(..., np.ones((5, 6))),
    parameters=(..., [1.0, 0.0, 0.0]),
)
VJP = called(
    lambda **given: np.concatenate([part.ravel() for part in run().vjp(**given)]),
    d_loss_d_states=(np.ones(12), np.ones((6, 12))),
)


def batch():
    made = sx.WorldBatch(box(), 2)
    made.step()
    return made


def together(**given):
    return sx.diff.rollout(batch(), np.ones((2, 5, 6)), **given)


BATCH_JVP = called(
    lambda **given: together().jvp(**given),
    states=(np.ones((2, 12)), 2.0 * np.ones((2, 12))),
    controls=(..., np.ones((2, 5, 6))),
    parameters=(..., np.eye(3)[:2]),
)
BATCH_VJP = called(
    lambda **given: np.concatenate([part.ravel() for part in together().vjp(**given)]),
    d_loss_d_states=(np.ones((2, 12)), np.ones((2, 6, 12))),
)
THREADS = Refused(lambda: batch().get_step_derivatives(threads=-1), "threads")
BATCH_DERIVATIVES = called(
    lambda **given: batch().get_step_derivatives(**given).state_jacobian, worlds=(..., [1]), threads=THREADS
)
BATCH_STEP_JVP = called(
    lambda **given: batch().apply_step_jvp(**given),
    state=(np.ones((2, 12)), 2.0 * np.ones((2, 12))),
    control=(..., np.ones((2, 6))),
    parameter=(..., np.eye(3)[:2]),
    threads=Refused(lambda: batch().apply_step_jvp(np.ones((2, 12)), threads=-1), "threads"),
)
BATCH_STEP_VJP = called(
    lambda **given: batch().apply_step_vjp(**given).state,
    d_loss_d_next_state=(np.ones((2, 12)), 2.0 * np.ones((2, 12))),
    threads=Refused(lambda: batch().apply_step_vjp(np.ones((2, 12)), threads=-1), "threads"),
)

# ---- environments


@cache
def starts(name):
    """Options of a task under which the terms of its reward and its ends can be seen."""
    noise = {} if name == "Reacher" else {"reset_noise_scale": 0.05}
    return noise


def seen(name, steps=3, **options):
    """Observations, rewards and ends of some steps of an environment."""
    env = envs.WorldEnv(envs.TASKS[name], **(starts(name) | options))
    found = [env.reset(seed=3)[0]]
    half = 0.5 * (env.action_space.low + env.action_space.high) + 0.3 * (
        env.action_space.high - env.action_space.low
    )
    for _ in range(steps):
        observation, reward, ended, _, _ = env.step(half)
        found += [observation, [reward, ended]]
    return np.concatenate([np.ravel(part) for part in found])


OPTIONS = {
    "frame_skip": 3,
    "forward_reward_weight": 3.0,
    "ctrl_cost_weight": 3.0,
    "contact_cost_weight": 100.0,
    "reset_noise_scale": 0.01,
    "exclude_current_positions_from_observation": False,
    "include_cfrc_ext_in_observation": False,
    "include_cinert_in_observation": False,
    "include_cvel_in_observation": False,
    "include_qfrc_actuator_in_observation": False,
    "healthy_reward": 7.0,
    "healthy_z_range": (10.0, 11.0),
    "healthy_angle_range": (2.0, 3.0),
    "healthy_state_range": (90.0, 91.0),
    "healthy_height": 10.0,
    "healthy_upright": 1.5,
    "reward_dist_weight": 3.0,
    "reward_control_weight": 3.0,
    "action_scale": 0.9,
    "roughness": 0.2,
    "terrain_seed": 1,
    "command_range": (0.1, 0.1, 0.1),
    "tracking_width": 1.0,
    "vertical_cost_weight": 9.0,
    "rate_cost_weight": 9.0,
    "effort_cost_weight": 9.0,
    "action_rate_cost_weight": 9.0,
    "distance_weight": 9.0,
    "reached_within": 9.0,
    "most_rate": 1e-6,
    "turning_reward_weight": 9.0,
    "distance_cost_weight": 9.0,
    "palm_size": 1e-6,
}
"""Another value of every option."""
BASE = {
    "terminate_when_unhealthy": ({"healthy_z_range": (10.0, 11.0)}, False),
    "contact_force_range": ({"contact_cost_weight": 100.0}, (-1e-3, 1e-3)),
    "contact_cost_range": ({"contact_cost_weight": 100.0}, (-1.0, 1e-6)),
    "reached_reward": ({"reached_within": 9.0}, 5.0),
    "drop_cost": ({"palm_size": 1e-6}, 50.0),
}
"""Options that show beside others: those, and another value."""


def option(task, name):
    base, value = BASE.get(name, ({}, OPTIONS.get(name)))
    # the ground is touched after a while
    steps = 30 if "contact" in name or name in ("roughness", "most_rate") else 3
    return Effect(
        lambda: dict(base), lambda given: given.update({name: value}), lambda g: seen(task, steps, **g)
    )


TASKS = {
    name: {field.name: option(name, field.name) for field in fields(task)}
    for name, task in envs.TASKS.items()
}


def single(**given):
    """Whether an environment draws, and how large its pictures are."""
    env = envs.WorldEnv(**({"task": envs.TASKS["Hopper"]} | given))
    env.reset(seed=0)
    picture = env.render()
    env.close()
    return [env.task.scene_file, None if picture is None else picture.shape]


def many(**given):
    given = {"task": envs.TASKS["Hopper"], "num_envs": 2} | given
    made = envs.VectorWorldEnv(**given)
    found = [made.reset(seed=0)[0].tolist()]
    for _ in range(4):
        _, rewards, _, cut, infos = made.step(np.ones(made.action_space.shape))
        found.append((np.round(rewards, 9).tolist(), cut.tolist(), sorted(infos)))
    picture = made.render()
    made.close()
    return repr([found, None if picture is None else [p.shape for p in picture]])


PICTURES = {"render_mode": (..., "rgb_array")}
SIZES = {
    name: Effect(
        lambda: {"render_mode": "rgb_array", "width": 32, "height": 32},
        lambda given, name=name: given.update({name: 24}),
        lambda given: single(**given),
    )
    for name in ("width", "height")
}
SINGLE = called(single, task=(envs.TASKS["Hopper"], envs.TASKS["Walker2d"]), **PICTURES, **SIZES)
SINGLE["render_mode"] = Effect(
    lambda: {"width": 32, "height": 32},
    lambda given: given.update(render_mode="rgb_array"),
    lambda given: single(**given),
)
VECTOR = called(
    many,
    task=(envs.TASKS["Hopper"], envs.TASKS["Walker2d"]),
    num_envs=(2, 3),
    max_episode_steps=(..., 2),
    autoreset_mode=Effect(
        lambda: {"max_episode_steps": 2},
        lambda given: given.update(autoreset_mode="SameStep"),
        lambda given: many(**given),
    ),
    threads=Refused(lambda: many(threads=-1), "threads"),
    render_mode=Effect(
        lambda: {"width": 32, "height": 32},
        lambda given: given.update(render_mode="rgb_array"),
        lambda given: many(**given),
    ),
    **{
        name: Effect(
            lambda: {"render_mode": "rgb_array", "width": 32, "height": 32},
            lambda given, name=name: given.update({name: 24}),
            lambda given: many(**given),
        )
        for name in ("width", "height")
    },
)


def begun(kind, **given):
    env = (
        envs.WorldEnv(envs.TASKS["Hopper"]) if kind == "one" else envs.VectorWorldEnv(envs.TASKS["Hopper"], 2)
    )
    if kind == "many":
        env.reset(seed=0)
    return env.reset(**({"seed": 1} | given))[0]


SINGLE_RESET = called(
    lambda **given: begun("one", **given),
    seed=(1, 2),
    options=Refused(lambda: begun("one", options={"low": 1}), "no option 'low'"),
)
VECTOR_RESET = called(
    lambda **given: begun("many", **given),
    seed=(1, 2),
    options=(..., {"reset_mask": np.array([True, False])}),
)

# ---- worker pools, on a stand-in for Ray that runs everything in this process


class _Reference:
    def __init__(self, value):
        self.value = value


class _Method:
    def __init__(self, function):
        self.function = function

    def remote(self, *args):
        return _Reference(self.function(*[a.value if isinstance(a, _Reference) else a for a in args]))


class _Actor:
    def __init__(self, made):
        self._made = made

    def __getattr__(self, name):
        return _Method(getattr(self._made, name))


class _Kind:
    def __init__(self, kind, asked):
        self.kind, self.asked = kind, asked

    def remote(self, source):
        return _Actor(self.kind(source.value))


def stand_in(monkeypatch, connected=False, processors=4):
    """A module with the part of Ray's interface that a pool uses; returns what it was asked for."""
    asked = {"initialized": connected}
    ray = types.ModuleType("ray")
    ray.__spec__ = importlib.machinery.ModuleSpec("ray", None)
    ray.exceptions = types.SimpleNamespace(
        RayActorError=type("RayActorError", (Exception,), {}),
        WorkerCrashedError=type("WorkerCrashedError", (Exception,), {}),
        RayTaskError=type("RayTaskError", (Exception,), {}),
    )
    ray.is_initialized = lambda: asked["initialized"]
    ray.init = lambda **given: asked.update(initialized=True, **given)
    ray.shutdown = lambda: asked.update(initialized=False)
    ray.cluster_resources = lambda: {"CPU": float(processors)}
    ray.put = _Reference
    ray.get = lambda of: [one.value for one in of] if isinstance(of, list) else of.value
    ray.wait = lambda of, num_returns: (of[:1], of[1:])
    ray.kill = ray.cancel = lambda of: None
    ray.remote = lambda **options: lambda kind: _Kind(kind, options)
    monkeypatch.setitem(sys.modules, "ray", ray)
    return asked


MOTOR = """<mujoco><worldbody><body><joint name="slide" type="slide"/><geom size="0.1"/></body></worldbody>
  <actuator><motor joint="slide"/></actuator><sensor><jointpos joint="slide"/></sensor></mujoco>"""


def motor():
    return msd.from_str(MOTOR, format="mjcf")


def start(count=5):
    return {"joint_velocities": np.arange(float(count))[:, None]}


POOL = {"source", "workers", "share", "address", "retries"}
POOL_ROLLOUT = {"initial_state", "control", "steps", "threads", "sensors", "contacts", "layout", "on_share"}


def test_every_parameter_of_a_pool_acts(monkeypatch):
    asked = stand_in(monkeypatch)
    with distributed.WorkerPool(motor(), workers=2, share=2) as pool:
        assert pool.num_workers == 2 and asked["num_cpus"] == 2 and asked["address"] is None
        done = []
        run = pool.rollout(start(), steps=3, on_share=lambda k, n: done.append((k, n)))
        assert sorted(done) == [(1, 3), (2, 3), (3, 3)]
        assert run.joint_positions.shape == (5, 4, 1)
    with distributed.WorkerPool(motor(), workers=1, share=5, address="cluster:1") as pool:
        assert asked["address"] == "cluster:1"
        done = []
        pool.rollout(start(), steps=3, on_share=lambda k, n: done.append((k, n)))
        assert done == [(1, 1)]
    for given, words in (
        ({"workers": 5}, "at most 4"),
        ({"share": 0}, "share"),
        ({"retries": -1}, "retries"),
        ({"address": 3}, "address"),
    ):
        with pytest.raises(WorldlineError, match=words):
            distributed.WorkerPool(motor(), **given)


def test_an_address_is_refused_where_ray_is_connected_already(monkeypatch):
    stand_in(monkeypatch, connected=True)
    with pytest.raises(WorldlineError, match="address 'other:1' cannot be used"):
        distributed.WorkerPool(motor(), address="other:1")


def test_a_share_that_is_lost_is_done_again_as_often_as_retries_say(monkeypatch):
    stand_in(monkeypatch)
    ray = sys.modules["ray"]
    lost = []

    def get(of):
        if isinstance(getattr(of, "value", None), tuple) and len(lost) < 2:
            lost.append(of)
            raise ray.exceptions.RayActorError("gone")
        return [one.value for one in of] if isinstance(of, list) else of.value

    ray.get = get
    with distributed.WorkerPool(motor(), workers=1, retries=2) as pool:
        assert pool.rollout(start(), steps=1).num_steps == 1 and len(lost) == 2
    lost.clear()
    with (
        distributed.WorkerPool(motor(), workers=1, retries=1) as pool,
        pytest.raises(WorldlineError, match="lost 2 times"),
    ):
        pool.rollout(start(), steps=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("initial_state", start(4)),
        ("control", np.ones((3, 1))),
        ("steps", 4),
        ("sensors", True),
        ("contacts", True),
        ("layout", "rows"),
        ("threads", -1),
    ],
)
def test_every_parameter_of_a_rollout_on_workers_goes_to_the_rollout(monkeypatch, name, value):
    stand_in(monkeypatch)
    given = {"initial_state": start(), "steps": 3}
    if name == "control":
        given.pop("steps")

    def rolled(function, **more):
        try:
            return repr(function(**(given | more)))
        except WorldlineError as error:
            return str(error)

    with distributed.WorkerPool(motor(), workers=2) as pool:
        changed, plain = rolled(pool.rollout, **{name: value}), rolled(pool.rollout)
    here = rolled(lambda **g: sx.state.rollout(motor(), **g), **{name: value})
    assert changed == here != plain
    whole = rolled(lambda **g: distributed.rollout(motor(), workers=2, share=3, **g), **{name: value})
    assert whole == here


TABLES = {
    "diff.rollout": ROLLOUT,
    "jvp": JVP,
    "vjp": VJP,
    "BatchRollout.jvp": BATCH_JVP,
    "BatchRollout.vjp": BATCH_VJP,
    "WorldBatch.get_step_derivatives": BATCH_DERIVATIVES,
    "WorldBatch.apply_step_jvp": BATCH_STEP_JVP,
    "WorldBatch.apply_step_vjp": BATCH_STEP_VJP,
    "WorldEnv": SINGLE,
    "VectorWorldEnv": VECTOR,
    "WorldEnv.reset": SINGLE_RESET,
    "VectorWorldEnv.reset": VECTOR_RESET,
    **TASKS,
}


@rows(**TABLES)
def test_a_parameter_of_learning_acts_or_is_refused(entry):
    check(entry)


def test_tables_of_learning_are_complete():
    complete(ROLLOUT, arguments(sx.diff.rollout))
    complete(JVP, arguments(sx.diff.DifferentiableRollout.jvp))
    complete(VJP, arguments(sx.diff.DifferentiableRollout.vjp))
    complete(BATCH_JVP, arguments(sx.diff.BatchRollout.jvp))
    complete(BATCH_VJP, arguments(sx.diff.BatchRollout.vjp))
    complete(BATCH_DERIVATIVES, arguments(sx.WorldBatch.get_step_derivatives))
    complete(BATCH_STEP_JVP, arguments(sx.WorldBatch.apply_step_jvp))
    complete(BATCH_STEP_VJP, arguments(sx.WorldBatch.apply_step_vjp))
    assert set(sx.diff.__all__) == {"BatchRollout", "DifferentiableRollout", "RolloutGradient", "rollout"}
    complete(SINGLE, arguments(envs.WorldEnv))
    complete(VECTOR, arguments(envs.VectorWorldEnv))
    complete(SINGLE_RESET, arguments(envs.WorldEnv.reset))
    complete(VECTOR_RESET, arguments(envs.VectorWorldEnv.reset))
    for name, task in envs.TASKS.items():
        complete(TASKS[name], {field.name for field in fields(task)})
    assert set(envs.__all__) == {
        "NAMES",
        "TASKS",
        "Outcome",
        "StableBaselinesVecEnv",
        "Task",
        "VectorWorldEnv",
        "WorldEnv",
    }
    assert arguments(distributed.WorkerPool) == POOL
    assert arguments(distributed.WorkerPool.rollout) == POOL_ROLLOUT
    assert arguments(distributed.rollout) <= POOL | POOL_ROLLOUT | {"model"}
    assert set(distributed.__all__) == {"WorkerPool", "rollout"}


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("task", sorted(envs.TASKS))
def test_options_of_a_task_refuse_what_is_of_another_kind(task, value):
    kind = envs.TASKS[task]
    for field in fields(kind):
        with pytest.raises(WorldlineError, match=f"option '{field.name}' of {kind.__name__}"):
            kind(**{field.name: value})


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:12])
def test_derivatives_of_rollouts_refuse_what_is_no_number(value):
    made, world = run(), box()
    before = world.state_vector
    for call in (
        lambda: sx.diff.rollout(world, value),
        lambda: sx.diff.rollout(value, np.ones((5, 6))),
        lambda: made.jvp(value),
        lambda: made.jvp(np.ones(12), value if value is not None else "abc"),
        lambda: made.vjp(value),
    ):
        with pytest.raises(WorldlineError):
            call()
    assert np.array_equal(world.state_vector, before)


def test_controls_that_are_not_finite_leave_the_world_where_it_was():
    world, rows_of_controls = box(), np.ones((5, 6))
    rows_of_controls[3, 2] = np.nan
    before = world.state_vector
    with pytest.raises(WorldlineError, match="finite"):
        sx.diff.rollout(world, rows_of_controls)
    assert world.frame == 0 and np.array_equal(world.state_vector, before)


def test_a_rollout_hands_out_arrays_that_cannot_be_written():
    made = run()
    for array in (made.states, made.controls):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    with pytest.raises(AttributeError, match="state"):
        made.statse = 1


@pytest.mark.parametrize("seed", [1.5, "abc", -1, [1, None, 3], [0.5, 1], True])
def test_seeds_of_environments_are_whole_numbers(seed):
    with pytest.raises(WorldlineError, match="seed"):
        envs.VectorWorldEnv(envs.TASKS["Hopper"], 2).reset(seed=seed)
