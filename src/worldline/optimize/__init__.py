# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectory optimisation and system identification over differentiable Worlds."""

from worldline._src.optimize.costs import Cost, Expansion, TrackingCost
from worldline._src.optimize.ddp import ilqr, multiple_shooting
from worldline._src.optimize.identification import IdentificationResult, identify
from worldline._src.optimize.results import Iteration, TrajectoryResult

__all__ = [
    "Cost",
    "Expansion",
    "IdentificationResult",
    "Iteration",
    "TrackingCost",
    "TrajectoryResult",
    "identify",
    "ilqr",
    "multiple_shooting",
]
