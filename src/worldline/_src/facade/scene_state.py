# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The state of a World within a description: a keyframe that holds it to the last bit.

Coordinates, velocities, commands, controls, persistent wrenches and time are in the keyframe
`STATE_KEYFRAME`. The initial pose of a free body follows its state as well, so that a program that only
draws the scene shows the bodies where they are; where an initial pose means more (springs of free joints,
welds, joints between bodies) it stays. What belongs to a run and not to an instant is left out: the number
of steps, one-shot forces, and the accelerations of the last step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.facade.values import matrix_of
from worldline._src.linear_algebra import matmul
from worldline._src.scene.bodies import Body, BodyKind
from worldline._src.scene.keyframes import Keyframe
from worldline._src.scene.layout import JointSpan, layout
from worldline._src.scene.world import World as Scene

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime

STATE_KEYFRAME = "worldline:state"
_COORDINATES = {"dof_pos": "q", "dof_target": "q_target"}
_VELOCITIES = {
    "dof_vel": "v",
    "dof_force": "force",
    "dof_command": "v_target",
    "dof_acceleration": "a_target",
}


def write_state(world: WorldRuntime, scene: Scene, *, drawn: bool = True) -> None:
    """Write the state of a World into a copy of its description, with drawn poses that follow it or not."""
    runtime = world._live()
    spans = layout(runtime.scene)
    made = Keyframe(name=STATE_KEYFRAME, time=world.time)
    for field, name in _COORDINATES.items():
        rows = [getattr(runtime.sim, name)[runtime.q_slice(span.joint)] for span in spans]
        setattr(made, field, np.concatenate([np.zeros(0), *rows]))
    for field, name in _VELOCITIES.items():
        rows = [getattr(runtime.sim, name)[runtime.v_slice(span.joint)] for span in spans]
        setattr(made, field, np.concatenate([np.zeros(0), *rows]))
    if runtime.control.size:
        made.ctrl, made.act = runtime.control, runtime.activation
    links = list(runtime.scene.hierarchy.links())
    if runtime.persistent_wrench.any():
        made.link_force = np.array([runtime.persistent_wrench[runtime.body(link)] for link in links])
    scene.keyframes = [*(k for k in scene.keyframes if k.name != STATE_KEYFRAME), made]
    for joint, command in zip(scene.joints, runtime.joint_commands, strict=True):
        joint.command = command
    if drawn:
        for body, copied in zip(runtime.scene.hierarchy.bodies, scene.hierarchy.bodies, strict=True):
            _draw(runtime, body, copied, scene)


def _draw(runtime: Runtime, body: Body, copied: Body, scene: Scene) -> None:
    """Put a free body where it is, unless its drawn pose has a meaning of its own."""
    equality = scene.equality_constraint_set
    if body.free is None or body.free.stiffness or equality.connects or equality.welds or scene.joints:
        return
    if scene.tendon_set.spatial_tendons:
        # rest lengths and moments of tendons are those of the drawn configuration
        return
    q, v = runtime.sim.q[runtime.q_slice(body.free)], runtime.sim.v[runtime.v_slice(body.free)]
    copied.link.local_translation, copied.link.local_rotation = q[:3], q[3:]
    if body.kind is not BodyKind.Static:
        copied.linear_velocity = v[:3]
        copied.angular_velocity = matmul(matrix_of(q)[:3, :3], v[3:])


def _read_controls(runtime: Runtime, state: Keyframe) -> None:
    """Controls and activations; those of a scene that was added are the last ones."""
    if not state.ctrl.size:
        return
    runtime.control[-len(state.ctrl) :] = state.ctrl
    runtime.controls_written()
    if state.act.size:
        runtime.activation[-len(state.act) :] = state.act


def take_state(scene: Scene) -> Keyframe | None:
    """The state that a description holds, taken out of it."""
    found = [k for k in scene.keyframes if k.name == STATE_KEYFRAME]
    scene.keyframes = [k for k in scene.keyframes if k.name != STATE_KEYFRAME]
    return found[0] if found else None


def read_state(world: WorldRuntime, state: Keyframe, spans: list[JointSpan], links: list[object]) -> None:
    """Give a World the state of a keyframe.

    Args:
        world: the World.
        state: the keyframe.
        spans: whose coordinates it holds, in its order, with joints of the World's description.
        links: whose forces it holds, in its order.
    """
    runtime = world._live()
    sim = runtime.sim
    for field, name in _COORDINATES.items():
        numbers = getattr(state, field)
        for span in spans if numbers.size else ():
            getattr(sim, name)[runtime.q_slice(span.joint)] = numbers[span.q_start :][: span.q_count]
    for field, name in _VELOCITIES.items():
        numbers = getattr(state, field)
        for span in spans if numbers.size else ():
            getattr(sim, name)[runtime.v_slice(span.joint)] = numbers[span.v_start :][: span.v_count]
    _read_controls(runtime, state)
    for link, wrench in zip(links, state.link_force, strict=False):
        runtime.persistent_wrench[runtime.link_body[id(link)]] = wrench
    sim.body_f[:] = runtime.persistent_wrench
    sim.forces_written()
    runtime.state_replaced()
