# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joint reaction wrenches: force and torque between the parent and the subtree of a joint.

By Newton and Euler: the bodies of the subtree move as they do, so what gravity, contacts and other forces
from outside leave of their changes of momentum has come through the joint. What the joint itself does along
its freedoms (drives, springs, limits, friction) is part of it and need not be known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.facade.exclusive import exclusive
from worldline._src.model.equality_kinds import EqualityKind
from worldline._src.spatial.poses import Array, cross, rotations, turned
from worldline._src.step.dynamics import link_accelerations, link_velocities
from worldline._src.step.unknown_forces import unknown_forces

if TYPE_CHECKING:
    from worldline._src.facade.frame import Frame
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.runtime import Runtime


@exclusive
def wrench_on_child(joint: Joint, frame: Frame) -> Array:
    """Torque about the origin of a frame and force in its axes, from the parent on the child, (6,)."""
    runtime = joint._live()
    _require_known(joint, runtime)
    j = runtime.joint_index.get(id(joint._joint))
    # a weld is no joint of its own in the model
    child = runtime.body(joint._child._link) if j is None else int(runtime.model.joint_child[j])
    bodies = _subtree(runtime, child)
    model, sim = runtime.model, runtime.sim
    poses = sim.fresh_poses()[bodies]
    motion = link_accelerations(model, sim.q, sim.v, sim.a)[bodies]
    spin = link_velocities(model, sim.q, sim.v)[bodies, :3]
    R = rotations(poses)
    lever = turned(R, model.body_com[bodies])
    inertia = R @ model.body_inertia[bodies] @ R.transpose(0, 2, 1)
    mass = model.body_mass[bodies, None]
    center = motion[:, 3:] + cross(motion[:, :3], lever) + cross(spin, cross(spin, lever))
    weight = mass * (1.0 - model.body_gravcomp[bodies, None]) * model.gravity
    outside = runtime.acted()[bodies]
    force = mass * center - weight - outside[:, 3:]
    torque = turned(inertia, motion[:, :3]) + cross(spin, turned(inertia, spin)) - outside[:, :3]
    origin = frame._pose()[:3]
    total = force.sum(axis=0)
    moment = (torque + cross(poses[:, :3] + lever - origin, force)).sum(axis=0)
    for point, push, twist in _contacts(joint, set(bodies.tolist())):
        total = total - push
        moment = moment - np.cross(point - origin, push) - twist
    back = frame.rotation.T
    return np.concatenate([back @ moment, back @ total])


def _subtree(runtime: Runtime, body: int) -> np.ndarray:
    """A body and all that hangs on it, in the order of the model, where parents come first."""
    inside = {body}
    for j in range(runtime.model.joint_count):
        if int(runtime.model.joint_parent[j]) in inside:
            inside.add(int(runtime.model.joint_child[j]))
    return np.array(sorted(inside), np.int64)


def _contacts(joint: Joint, inside: set[int]) -> list[tuple[Array, Array, Array]]:
    """Points, forces and torques of the last step's contacts on a subtree; those within it cancel."""
    world, runtime = joint._world, joint._live()
    found: list[tuple[Array, Array, Array]] = []
    for contact in world.contacts:
        for body, sign in ((contact.body_a, -1.0), (contact.body_b, 1.0)):
            if body is not None and runtime.link_body[id(body._link)] in inside:
                found.append((contact.point, sign * contact.force, sign * contact.torque))
    return found


def _require_known(joint: Joint, runtime: Runtime) -> None:
    """Refuse where forces act on bodies that are unknown here."""
    model, unknown = runtime.model, unknown_forces(runtime.model)
    if model.equalities is not None:
        spatial = ~np.isin(model.equalities.kind, (EqualityKind.JOINT, EqualityKind.TENDON))
        unknown += ["equality constraints between bodies"] * bool((model.equalities.active & spatial).any())
    if model.closures is not None and (model.closures.enabled & model.closures.solved).any():
        unknown.append("loop closures")
    if model.loop_joints is not None and len(model.loop_joints.label):
        unknown.append("joints that close loops")
    if unknown:
        raise CapabilityError(f"joint '{joint.name}': its wrench is not available with {', '.join(unknown)}")
