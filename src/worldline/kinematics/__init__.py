# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of Worlds and Models: tasks, limits, methods, and reports of what cannot be met."""

from worldline._src.kinematics.analytic import AnalyticIk, AnalyticSolutions
from worldline._src.kinematics.differential import DifferentialIk
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

__all__ = [
    "AnalyticIk",
    "AnalyticSolutions",
    "BalanceTask",
    "CenterOfMassTask",
    "ClosureTask",
    "CouplingTask",
    "DifferentialIk",
    "IkBatch",
    "IkResult",
    "LookAtTask",
    "ManipulabilityTask",
    "MethodReport",
    "ObstacleTask",
    "OrientationTask",
    "PoseTask",
    "PositionTask",
    "PostureTask",
    "SelfCollisionTask",
    "Task",
    "TaskReport",
    "solve_ik",
    "solve_ik_batch",
]
