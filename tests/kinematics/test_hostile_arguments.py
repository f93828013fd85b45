# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments of the wrong kind: every entry point of kinematics refuses them with an error of the library."""

from __future__ import annotations

import inspect
from functools import cache

import numpy as np
import pytest

from worldline import WorldlineError, msd
from worldline import kinematics as wk
from worldline import simulation as sx

TEXT = """<mujoco><worldbody>
  <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
   <body name="fore" pos=".3 0 0"><joint name="elbow" axis="0 1 0"/><geom size=".08" pos=".3 0 0"/></body></body>
  <body name="ball" pos="1 0 .5"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""


@cache
def setting():
    """A World with an arm and a tool, and plain arguments of every entry point."""
    world = sx.World.from_scene(msd.from_str(TEXT, format="mjcf"))
    arm = world.multibodies["arm"]
    tool = arm.add_end_effector("tool", arm.links["fore"])
    q = np.array(world.model().joint_q)
    goal = q.copy()
    goal[0] += 0.5
    path = wk.interpolate_joints(world, np.stack([q, goal]))
    task = wk.PositionTask(tool, (0.3, 0, 1))
    few = {"max_iterations": 3, "max_restarts": 0}
    calls = {
        "AnalyticIk": {"subject": world, "task": task},
        "DifferentialIk": {"subject": world, "tasks": task},
        "ImpedanceController": {"subject": world, "tasks": task},
        "OperationalSpaceController": {"subject": world, "tasks": task},
        "WholeBodyController": {"subject": world, "tasks": task},
        "EndEffectorIk": {"end_effector": tool},
        "WholeBodyIk": {"multibody": arm, "tasks": [task]},
        "BalanceTask": {"polygon": [[-1, -1, 0], [1, -1, 0], [0, 1, 0]]},
        "CenterOfMassTask": {"target": (0, 0, 1)},
        "CouplingTask": {"joint": arm.joints["hinge"], "other": arm.joints["elbow"]},
        "LookAtTask": {"frame": tool, "target": (0, 0, 1)},
        "ManipulabilityTask": {"frame": tool},
        "ObstacleTask": {"bodies": tool, "obstacles": world.rigid_bodies["ball"]},
        "OrientationTask": {"frame": tool, "target": (0, 0, 0, 1)},
        "PoseTask": {"frame": tool, "target": np.eye(4)},
        "PositionTask": {"frame": tool, "target": (0, 0, 1)},
        "PostureTask": {},
        "SelfCollisionTask": {"multibody": arm},
        "find_collision": {"world": world, "path": path, "resolution": 0.2},
        "fit_markers": {
            "subject": world,
            "frames": [tool],
            "positions": np.zeros((2, 1, 3)),
            "max_iterations": 2,
        },
        "interpolate_frame": {"subject": world, "task": task},
        "interpolate_joints": {"subject": world, "waypoints": np.stack([q, goal])},
        "plan_path": {"world": world, "goals": goal, "max_iterations": 20},
        "solve_ik": {"subject": world, "tasks": task, **few},
        "solve_ik_batch": {"subject": world, "task": task, "targets": np.array([[0.3, 0, 1.0]]), **few},
        "solve_ik_motion": {
            "subject": world,
            "tasks": task,
            "targets": np.array([[0.3, 0, 1.0], [0.3, 0, 0.9]]),
            "max_iterations": 3,
        },
        "time_optimal": {"path": path, "max_velocity": 1.0, "max_acceleration": 1.0, "grid": 20},
    }
    return world, calls


RESULTS = {
    "AnalyticSolutions",
    "ClosureTask",
    "IkBatch",
    "IkMotion",
    "IkResult",
    "JointPath",
    "MethodReport",
    "PlanResult",
    "Task",
    "TaskController",
    "TaskReport",
    "TaskState",
    "Trajectory",
}
"""Results, bases, and the task of closures, whose argument is checked with the World."""


def hostile():
    world, calls = setting()
    tool, arm = calls["PoseTask"]["frame"], calls["SelfCollisionTask"]["multibody"]
    masked = np.ma.array([1.0, 2.0], mask=[0, 1])
    numbers = [float("nan"), 10**400, 1 + 2j, masked, np.array(3), np.zeros((0, 3)), -5, True]
    return [*numbers, "abc", b"x", object(), [[1, 2], [3]], [None], {}, tool, arm, world]


@pytest.mark.parametrize("name", sorted(set(wk.__all__) - RESULTS))
def test_no_raw_error_escapes(name):
    world, calls = setting()
    function, before = getattr(wk, name), world.state_vector
    for parameter in inspect.signature(function).parameters:
        for value in hostile():
            try:
                made = function(**{**calls[name], parameter: value})
                if isinstance(made, wk.Task):
                    wk.solve_ik(world, made, max_iterations=3, max_restarts=0)
            except WorldlineError:
                pass
    assert np.array_equal(world.state_vector, before)


def test_paths_and_their_timing_cannot_be_written():
    _, calls = setting()
    path = calls["time_optimal"]["path"]
    timed = wk.time_optimal(**calls["time_optimal"])
    for array in (path.waypoints, path.knots, path.stops, timed.times, timed.parameters):
        assert not array.flags.writeable
