# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectory optimisation and system identification over differentiable Worlds."""

from worldline._src.optimize.costs import Cost, Expansion, TrackingCost
from worldline._src.optimize.ddp import RecedingHorizon, ilqr, multiple_shooting
from worldline._src.optimize.functions import FunctionGradient, RolloutFunction, ShootingFunction
from worldline._src.optimize.identification import IdentificationResult, identify
from worldline._src.optimize.jax_bridge import jax_rollout
from worldline._src.optimize.results import Iteration, TrajectoryResult
from worldline._src.optimize.torch_bridge import torch_rollout

__all__ = [
    "Cost", "Expansion", "FunctionGradient", "IdentificationResult", "Iteration", "RecedingHorizon",
    "RolloutFunction", "ShootingFunction", "TrackingCost", "TrajectoryResult", "identify", "ilqr",
    "jax_rollout", "multiple_shooting", "torch_rollout",
]  # fmt: skip
