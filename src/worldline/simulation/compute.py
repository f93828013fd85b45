# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The step as something to look at, and executors that step several Worlds.

>>> from worldline import simulation as sx
>>> world = sx.World()
>>> box = world.add_rigid_body("box")
>>> world.pipeline.names[0], sx.compute.SequentialExecutor().worker_count
('positions', 1)
"""

from worldline._src.facade.executors import (
    ComputeExecutor,
    ComputeGraph,
    ParallelExecutor,
    SequentialExecutor,
)
from worldline._src.facade.step_inspection import WorldMemoryDiagnostics
from worldline._src.step.execution_profile import ComputeExecutionProfile, ComputeNodeExecutionProfile
from worldline._src.step.pipeline import StageMetadata, WorldStepPipeline
from worldline._src.step.profiling import WorldStepProfile, WorldStepStageProfile

__all__ = [
    "ComputeExecutionProfile", "ComputeExecutor", "ComputeGraph", "ComputeNodeExecutionProfile",
    "ParallelExecutor", "SequentialExecutor", "StageMetadata", "WorldMemoryDiagnostics", "WorldStepPipeline",
    "WorldStepProfile", "WorldStepStageProfile",
]  # fmt: skip
