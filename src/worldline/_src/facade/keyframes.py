# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Named states that a scene brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import NotFoundError, nearest_name
from worldline._src.facade.runtime import Runtime
from worldline._src.scene.bodies import BodyKind

if TYPE_CHECKING:
    from worldline._src.facade.world import World


def names(world: World) -> list[str]:
    """Names of the keyframes of the scene."""
    frames = world._live().model.keyframes
    return [] if frames is None else list(frames.label)


def apply(world: World, name: str) -> None:
    """Coordinates and velocities of a keyframe, and its time when it has one."""
    runtime = world._live()
    known = names(world)
    if name not in known:
        raise NotFoundError(f"no keyframe '{name}'{nearest_name(str(name), known)}")
    frames = runtime.model.keyframes
    assert frames is not None
    k = known.index(name)
    runtime.sim.q[:] = frames.joint_q[k]
    runtime.sim.v[:] = frames.joint_qd[k]
    _rest_static(runtime)
    runtime.sim.written()
    if not np.isnan(frames.time[k]):
        world._set_time(float(frames.time[k]))


def _rest_static(runtime: Runtime) -> None:
    for body in runtime.scene.hierarchy.bodies:
        if body.kind is BodyKind.Static and body.free is not None:
            runtime.sim.v[runtime.v_slice(body.free)] = 0.0
