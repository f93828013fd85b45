# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics and motion of Worlds and Models: tasks, limits, methods, reports of what cannot be met.

Paths, their timing, planning around obstacles, and controllers for tasks stand on the same tasks and joints.
"""

from worldline._src.kinematics.analytic import AnalyticIk, AnalyticSolutions
from worldline._src.kinematics.controllers import (
    ImpedanceController,
    OperationalSpaceController,
    TaskController,
    TaskState,
)
from worldline._src.kinematics.differential import DifferentialIk
from worldline._src.kinematics.end_effector_ik import EndEffectorIk, WholeBodyIk
from worldline._src.kinematics.horizon import IkMotion, fit_markers, solve_ik_motion
from worldline._src.kinematics.paths import JointPath, interpolate_frame, interpolate_joints
from worldline._src.kinematics.planning import PlanResult, find_collision, plan_path
from worldline._src.kinematics.results import IkResult, MethodReport, TaskReport
from worldline._src.kinematics.solve import IkBatch, solve_ik, solve_ik_batch
from worldline._src.kinematics.tasks import (
    BalanceTask,
    CenterOfMassTask,
    ClosureTask,
    CouplingTask,
    LookAtTask,
    ManipulabilityTask,
    ObstacleTask,
    OrientationTask,
    PoseTask,
    PositionTask,
    PostureTask,
    SelfCollisionTask,
    Task,
)
from worldline._src.kinematics.timing import Trajectory, time_optimal
from worldline._src.kinematics.whole_body import WholeBodyController

__all__ = [
    "AnalyticIk", "AnalyticSolutions", "BalanceTask", "CenterOfMassTask", "ClosureTask", "CouplingTask",
    "DifferentialIk", "EndEffectorIk", "IkBatch", "IkMotion", "IkResult", "ImpedanceController", "JointPath",
    "LookAtTask", "ManipulabilityTask", "MethodReport", "ObstacleTask", "OperationalSpaceController",
    "OrientationTask", "PlanResult", "PoseTask", "PositionTask", "PostureTask", "SelfCollisionTask", "Task",
    "TaskController", "TaskReport", "TaskState", "Trajectory", "WholeBodyController", "WholeBodyIk",
    "find_collision", "fit_markers", "interpolate_frame", "interpolate_joints", "plan_path", "solve_ik",
    "solve_ik_batch", "solve_ik_motion", "time_optimal",
]  # fmt: skip
