# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Keyframes: the named states of a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import NotFoundError, nearest_name
from worldline._src.facade import values
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.runtime import Runtime
from worldline._src.facade.scene_state import read_state
from worldline._src.scene.bodies import BodyKind
from worldline._src.scene.keyframes import Keyframe
from worldline._src.scene.layout import layout

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


def names(world: WorldRuntime) -> list[str]:
    """Names of the keyframes of the scene."""
    frames = world._live().model.keyframes
    return [] if frames is None else list(frames.label)


@exclusive
def apply(world: WorldRuntime, name: str) -> None:
    """Everything a keyframe of the scene holds; what it does not give is as at the start."""
    runtime = world._live()
    known = names(world)
    if values.key(name, "name of a keyframe") not in known:
        raise NotFoundError(f"no keyframe '{name}'{nearest_name(str(name), known)}")
    model = runtime.model
    frames = model.keyframes
    assert frames is not None
    k = known.index(name)
    runtime.sim.q[:] = frames.joint_q[k]
    runtime.sim.v[:] = frames.joint_qd[k]
    runtime.control[:] = frames.control[k]
    runtime.controls_written()
    if runtime.activation.size:
        runtime.activation[:] = np.nan_to_num(frames.activation[k])
    if runtime.mocap.size:
        runtime.mocap[:] = frames.mocap_q[k]
        runtime.apply_mocap_poses()
    # commands, targets and persistent wrenches have no column of their own in the model
    described = runtime.scene.keyframes[k]
    more = Keyframe(
        dof_force=described.dof_force,
        dof_command=described.dof_command,
        dof_acceleration=described.dof_acceleration,
        dof_target=described.dof_target,
        link_force=described.link_force,
    )
    read_state(world, more, layout(runtime.scene), list(runtime.scene.hierarchy.links()))
    _rest_static(runtime)
    runtime.forget_contacts()
    runtime.sim.written()
    if not np.isnan(frames.time[k]):
        world._set_time(float(frames.time[k]))


def _rest_static(runtime: Runtime) -> None:
    for body in runtime.scene.hierarchy.bodies:
        if body.kind is BodyKind.Static and body.free is not None:
            runtime.sim.v[runtime.v_slice(body.free)] = 0.0
