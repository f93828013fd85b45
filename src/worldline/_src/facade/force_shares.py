# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Generalized forces of the last step by source: tendons, springs between bodies, the fluid, motors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.kernels import drives
from worldline._src.kernels.constraints import tables as t
from worldline._src.model.compile import constant_views
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, rotations
from worldline._src.step import dynamics, moments
from worldline._src.step.jacobians import jacobian

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime


class Shares(NamedTuple):
    """Generalized forces [N or N m], each (joint_dof_count,)."""

    tendon_springs: Array
    tendon_damping: Array
    """Both are part of `Simulation.tau`."""
    springs: Array
    damping: Array
    """Of springs between bodies and of the fluid; forces on links, not part of tau."""
    motors: Array
    friction: Array
    """Rows of motors, and rows of dry friction of joints and tendons."""
    row_damping: Array
    """Rows that damp joints between bodies at the end of the step, beyond `damping`."""
    efforts: Array
    """Motors of joints between bodies before rows are solved: forces on links, not part of tau."""


def generalized(model: Model, q: Array, wrenches: Array) -> Array:
    """Generalized forces of torques, then forces at centres of mass, world axes, (body_count, 6)."""
    total = np.zeros(model.joint_dof_count)
    for body in np.flatnonzero(wrenches.any(axis=1)).tolist():
        J = jacobian(model, q, body, point=model.body_com[body])
        total += J.T @ wrenches[body]
    return total


def gravity_compensation(model: Model, q: Array) -> Array:
    """Generalized forces of gravity compensation, which a step applies to bodies and not to joints."""
    wrenches = np.zeros((model.body_count, 6))
    if model.compensates_gravity:
        wrenches[:, 3:] = -(model.body_gravcomp * model.body_mass)[:, None] * model.gravity
    return generalized(model, q, wrenches)


def force_shares(runtime: Runtime, q: Array) -> Shares:
    """What the last step, from coordinates q, did beside joints, contacts and limits."""
    model, constraints = runtime.model, runtime.constraints
    zeros = [np.zeros(model.joint_dof_count) for _ in Shares._fields]
    if constraints is None:
        return Shares(*zeros)
    column, sizes = constraints.column, constraints.sizes
    made = Shares(*zeros)
    nv = model.joint_dof_count
    if sizes["ntendon"]:
        drag = -column.tendon_spring[:, 1] * column.tendon_size[:, 1]
        made.tendon_damping[:] = moments.generalized(column, "tendon", drag, nv)
        made.tendon_springs[:] = moments.generalized(column, "tendon", column.tendon_size[:, 2] - drag, nv)
    if sizes["nspring"]:
        spring, drag = _spring_wrenches(runtime, q)
        made.springs[:] = generalized(model, q, spring)
        made.damping[:] = generalized(model, q, drag)
    if sizes["nbox"]:
        wrenches = np.zeros((model.body_count, 6))
        links = model.link_of_body()
        wrenches[links > 0] = column.fluid_force[links[links > 0]][:, [3, 4, 5, 0, 1, 2]]
        made.damping[:] += generalized(model, q, wrenches)
    if sizes["nequality"] and column.equality_motor.any():
        before, all_of_it = (_along_joints(runtime, q, column.equality_drive[:, part]) for part in range(2))
        made.efforts[:] = before
        made.motors[:] += all_of_it - before
    if sizes["nequality"]:
        _add_passive(runtime, q, made)
    if constraints.constrains:
        count = int(column.counter[t.ALL_ROWS])
        (kind, which), force = column.row_of[:count].T, column.force[:count]
        for note, dofs, into in (
            (t.OF_FRICTION, column.friction_dof, made.friction),
            (t.OF_MOTOR, column.motor_dof[:, 0], made.motors),
        ):
            mine, rows = kind == note, force.copy()
            if note == t.OF_MOTOR:
                # rows along minus their degree of freedom; see `bounded_rows.py`
                turned = np.isinf(model.joint_effort_lower) & np.isfinite(model.joint_effort_limit)
                rows[mine] *= np.where(turned[dofs[which[mine]]], -1.0, 1.0)
            np.add.at(into, dofs[which[mine]], rows[mine])
        mine = kind == t.OF_TENDON_FRICTION
        rubs = np.zeros(sizes["ntendon"])
        np.add.at(rubs, which[mine], force[mine])
        made.friction[:] += moments.generalized(column, "tendon", rubs, nv)
    return made


def _add_passive(runtime: Runtime, q: Array, made: Shares) -> None:
    """Springs, dampers and dry friction of joints between bodies."""
    constraints = runtime.constraints
    assert constraints is not None
    column = constraints.column
    count = int(column.counter[t.ALL_ROWS])
    (kind, which), force = column.row_of[:count].T, column.force[:count]
    friction, late = np.zeros((2, len(column.equality_kind)))
    friction[which[kind == t.OF_JOINT_FRICTION]] = force[kind == t.OF_JOINT_FRICTION]
    # what a row of inertia does beyond armature is damping at the end of the step
    own, whole = column.equality_armature.T
    share = np.divide(whole - own, whole, out=np.zeros_like(whole), where=whole > 0.0)
    mine = kind == t.OF_JOINT_INERTIA
    late[which[mine]] = force[mine] * share[which[mine]]
    efforts = column.equality_spring
    for numbers, into in (
        (efforts[:, 0], made.springs),
        (efforts[:, 1], made.damping),
        (late, made.row_damping),
        (friction, made.friction),
    ):
        if numbers.any():
            into += _along_joints(runtime, q, numbers)


def _along_joints(runtime: Runtime, q: Array, efforts: Array) -> Array:
    """Generalized forces of efforts along the coordinates of joints between bodies, one an equality."""
    model, constraints = runtime.model, runtime.constraints
    assert constraints is not None
    column, made = constraints.column, np.zeros((model.body_count, 6))
    poses = dynamics.forward_kinematics(model, q)
    centers = poses[:, :3] + np.einsum("bij,bj->bi", rotations(poses), model.body_com)
    for k in np.flatnonzero(efforts).tolist():
        axis = column.anchor_X[column.equality_first[k], [5, 8, 11]] * efforts[k]
        point = column.anchor_X[column.equality_second[k], :3]
        for body, sign in zip((column.equality_body[k] - 1).tolist(), (-1.0, 1.0), strict=True):
            if body < 0:
                continue
            if column.equality_kind[k] == t.SLIDE:
                made[body, 3:] += sign * axis
                made[body, :3] += sign * np.cross(point - centers[body], axis)
            else:
                made[body, :3] += sign * axis
    return generalized(model, q, made)


def late_forces(runtime: Runtime, late: Array) -> tuple[Array, Array]:
    """What actuators and dampers of tendons add when speeds fall by `late`, zero where they are prescribed.

    Only pairs of degrees of freedom of which one moves the other count; see `velocity_gains.py`.
    """
    constraints = runtime.constraints
    if constraints is None:
        return np.zeros_like(late), np.zeros_like(late)
    above, column = constant_views(runtime.model.arenas)["dof_parent"], constraints.column
    mobile = runtime.sim.drive < drives.VELOCITY

    def answer(name: str, damping: Array) -> Array:
        made, m = np.zeros_like(late), np.zeros_like(late)
        for k in np.flatnonzero(damping).tolist():
            dofs, moment = moments.row_of(column, name, k)
            m[dofs] = moment
            for i in dofs.tolist():
                # pairs (i, j) with j at or above i: each feels the other
                made[i] += damping[k] * m[i] * m[i] * late[i]
                j = int(above[i])
                while j >= 0:
                    made[i] += damping[k] * m[i] * m[j] * late[j]
                    made[j] += damping[k] * m[i] * m[j] * late[i]
                    j = int(above[j])
            m[dofs] = 0.0
        return np.where(mobile, made, 0.0)

    return answer("act", column.act_damping), answer("tendon", column.tendon_spring[:, 1])


def _spring_wrenches(runtime: Runtime, q: Array) -> tuple[Array, Array]:
    """Torques and forces of springs at centres of mass: of their stretch, of their damping."""
    model, constraints = runtime.model, runtime.constraints
    assert constraints is not None
    column = constraints.column
    made = np.zeros((2, model.body_count, 6))
    poses = dynamics.forward_kinematics(model, q)
    centers = poses[:, :3] + np.einsum("bij,bj->bi", rotations(poses), model.body_com)
    body_of = {int(link): b for b, link in enumerate(model.link_of_body().tolist()) if link > 0}
    for k, (a, b) in enumerate(column.spring_end.tolist()):
        p_a, p_b = column.anchor_X[a, :3], column.anchor_X[b, :3]
        length = float(np.linalg.norm(p_b - p_a))
        if not column.spring_on[k] or length == 0.0:
            continue
        stretch = column.spring_number[k, 1] * (length - column.spring_number[k, 0])
        for part, force in enumerate((stretch, column.spring_force[k] - stretch)):
            pull = (p_b - p_a) / length * force
            for place, point, sign in ((a, p_a, 1.0), (b, p_b, -1.0)):
                body = body_of.get(int(column.anchor_link[place]))
                if body is not None:
                    made[part, body, 3:] += sign * pull
                    made[part, body, :3] += sign * np.cross(point - centers[body], pull)
    return made[0], made[1]
