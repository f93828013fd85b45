# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays of a world that a step starts from, by the names they have in batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.facade.runtime import Runtime
from worldline._src.spatial.poses import Array
from worldline._src.step.simulation import Simulation


def arrays_of(sim: Simulation, runtime: Runtime | None) -> dict[str, Array]:
    """The arrays of one world by the names that batches have for them; views, to be written in place."""
    made: dict[str, Any] = {
        "joint_positions": sim.q,
        "joint_velocities": sim.v,
        "activations": sim.activation,
        "position_targets": sim.q_target,
        "velocity_targets": sim.v_target,
        "acceleration_targets": sim.a_target,
        "joint_forces": sim.force,
        "controls": sim.control,
        "body_wrenches": sim.body_f if runtime is None else runtime.persistent_wrench,
    }
    if sim.elements.parameters.size:
        made["element_parameters"] = sim.elements.parameters
    mocap = np.zeros((0, 7)) if runtime is None else runtime.mocap
    commands = np.zeros((0, 3)) if runtime is None else runtime.joint_commands
    return made | {"mocap_poses": mocap, "world_joint_commands": commands}
