# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What sensors of joints, actuators, tendons and forces at sites read.

Forces and limits are those of the present state: these functions are called within `step.forward.forward`.
"""

from __future__ import annotations

import numpy as np

from worldline._src.errors import CapabilityError
from worldline._src.facade.joint_wrench import unknown_forces
from worldline._src.facade.sensor_contacts import contacts_of
from worldline._src.facade.sensor_moment import Moment, across
from worldline._src.kernels.constraints import tables as t
from worldline._src.model.kinds import JointType
from worldline._src.model.sensor_tables import Sensors
from worldline._src.model.tables import TargetKind
from worldline._src.scene.sensor_types import (
    ActuatorSensorType,
    JointSensorType,
    SiteSensorType,
    TendonSensorType,
)
from worldline._src.spatial.poses import Array, cross, turned

_JOINT, _ACTUATOR = tuple(JointSensorType), tuple(ActuatorSensorType)
_TENDON, _SITE = tuple(TendonSensorType), tuple(SiteSensorType)
_BALL = (JointSensorType.BallQuat, JointSensorType.BallAngVel)
_LIMIT = (JointSensorType.LimitPos, JointSensorType.LimitVel, JointSensorType.LimitForce)


def joint_reading(moment: Moment, table: Sensors, k: int) -> Array:
    """Coordinate, speed, force of actuators, or what the limit of a joint does."""
    model, sim, j = moment.model, moment.sim, int(table.object[k])
    word = _JOINT[table.quantity[k]]
    q = slice(int(model.joint_q_start[j]), int(model.joint_q_start[j + 1]))
    dofs = slice(int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1]))
    is_ball = model.joint_type[j] == JointType.BALL
    if (word in _BALL and not is_ball) or (word not in (*_BALL, *_LIMIT) and dofs.stop - dofs.start != 1):
        kind = JointType(int(model.joint_type[j])).name
        raise CapabilityError(f"{word.name} of joint '{model.joint_label[j]}', which is {kind}")
    if word is JointSensorType.JointPos:
        return sim.q[q].copy()
    if word in (JointSensorType.JointVel, JointSensorType.BallAngVel):
        return sim.v[dofs].copy()
    if word is JointSensorType.BallQuat:
        return sim.q[q] / np.linalg.norm(sim.q[q])
    constraints = moment.runtime.constraints
    if word is JointSensorType.ActuatorForce:
        return np.zeros(1) if constraints is None else constraints.column["act_sum"][dofs].copy()
    return np.array([_joint_limit(moment, dofs.start, q, word)])


def _joint_limit(moment: Moment, dof: int, q: slice, word: JointSensorType) -> float:
    """Distance to the limit, its rate or its force; zero while the limit is not reached."""
    constraints, sim = moment.runtime.constraints, moment.sim
    if constraints is None:
        return 0.0
    column = constraints.column
    for n in _rows(column, t.OF_LIMIT):
        limit = int(column["row_of"][n, 1])
        if column["limit_dof"][limit] != dof:
            continue
        if word is JointSensorType.LimitForce:
            return float(column["force"][n])
        r = float(column["residual"][n])
        if word is JointSensorType.LimitPos:
            return r
        if column["limit_kind"][limit] == t.ANGLE:
            x, y, z, w = sim.q[q]
            axis = np.array([x, y, z]) * (1.0 if w >= 0.0 else -1.0)
            return float(-axis @ sim.v[dof : dof + 3] / np.linalg.norm(axis))
        return _side(column["limit_bound"][limit], float(sim.q[q][0]), r) * float(sim.v[dof])
    return 0.0


def _side(bound: Array, x: float, r: float) -> float:
    """1 for the row of the lower bound, -1 for that of the upper one."""
    lower, upper = x - bound[0] - bound[2] - r, bound[1] - x - bound[2] - r
    return 1.0 if abs(lower) <= abs(upper) else -1.0


def _rows(column: dict[str, np.ndarray], note: int) -> list[int]:
    """Rows of one kind of this moment."""
    count = int(column["counter"][t.ALL_ROWS])
    return np.flatnonzero(column["row_of"][:count, 0] == note).tolist()


def actuator_reading(moment: Moment, table: Sensors, k: int) -> Array:
    """Length, speed or force of an actuator."""
    constraints, u = moment.runtime.constraints, int(table.object[k])
    word = _ACTUATOR[table.quantity[k]]
    found = [] if constraints is None else np.flatnonzero(constraints.actuators == u).tolist()
    if constraints is None or not found:
        if word is ActuatorSensorType.Force:
            return np.zeros(1)
        raise CapabilityError("the actuator is switched off: its length is not followed")
    column, row = constraints.column, found[0]
    if word is ActuatorSensorType.Force:
        return column["act_force"][row : row + 1].copy()
    at = 0 if word is ActuatorSensorType.Pos else 1
    return column["act_size"][row, at : at + 1].copy()


def tendon_reading(moment: Moment, table: Sensors, k: int) -> Array:
    """Length, speed, force of actuators, or what the limit of a tendon does."""
    constraints, i = moment.runtime.constraints, int(table.object[k])
    assert constraints is not None, "tendons with sensors are part of every step"
    column, word = constraints.column, _TENDON[table.quantity[k]]
    length, rate = column["tendon_size"][i, :2].tolist()
    if word is TendonSensorType.Pos:
        return np.array([length])
    if word is TendonSensorType.Vel:
        return np.array([rate])
    if word is TendonSensorType.ActuatorForce:
        actuators = moment.model.actuators
        if actuators is None:
            return np.zeros(1)
        of, at = actuators.target_kind[constraints.actuators], actuators.target[constraints.actuators]
        return np.array([column["act_force"][(of == TargetKind.TENDON) & (at == i)].sum()])
    for n in _rows(column, t.OF_TENDON):
        if column["row_of"][n, 1] == i:
            r = float(column["residual"][n])
            if word is TendonSensorType.LimitPos:
                return np.array([r])
            if word is TendonSensorType.LimitForce:
                return column["force"][n : n + 1].copy()
            return np.array([_side(column["tendon_bound"][i], length, r) * rate])
    return np.zeros(1)


def site_force_reading(moment: Moment, table: Sensors, k: int) -> Array:
    """Force or torque from the parent of a site's body on that body, in the axes of the site.

    By Newton and Euler: what gravity and forces from outside leave of the changes of momentum of the body and
    of all that hangs on it has come from the parent.
    """
    site = moment.place(int(table.object_kind[k]), int(table.object[k]))
    if site.body < 0:
        raise CapabilityError("a site of the world carries nothing that could be measured")
    if "demands" not in moment.known:
        moment.known["demands"] = _demands(moment)
    unknown, centers, force, torque = moment.known["demands"]
    if unknown:
        raise CapabilityError(f"forces within a body are not known beside {', '.join(unknown)}")
    rows = moment.subtree(site.body)
    if _SITE[table.quantity[k]] is SiteSensorType.Force:
        return site.R_W.T @ force[rows].sum(axis=0)
    return site.R_W.T @ (torque[rows] + cross(centers[rows] - site.p_W, force[rows])).sum(axis=0)


def _demands(moment: Moment) -> tuple[list[str], Array, Array, Array]:
    """What is not known; centres of mass; force and torque there that every body must get from its joints."""
    model, sim, n = moment.model, moment.sim, moment.model.body_count
    R, spin, motion = moment.R[:n], moment.velocities[:n, :3], moment.accelerations[:n]
    lever = turned(R, model.body_com)
    centers = moment.poses[:n, :3] + lever
    unknown = [*unknown_forces(model), *_unknown_equalities(moment)]
    inertia = R @ model.body_inertia @ R.transpose(0, 2, 1)
    mass = model.body_mass[:, None]
    center = motion[:, 3:] + cross(motion[:, :3], lever) + cross(spin, cross(spin, lever))
    weight = mass * (1.0 - model.body_gravcomp[:, None]) * model.gravity
    force = mass * center - weight - sim.body_f[:, 3:]
    torque = turned(inertia, motion[:, :3]) + cross(spin, turned(inertia, spin)) - sim.body_f[:, :3]
    for body, point, push, twist in _pushes(moment):
        if body >= 0:
            force[body] -= push
            torque[body] -= twist + across(point - centers[body], push)
    return unknown, centers, force, torque


def _unknown_equalities(moment: Moment) -> list[str]:
    """Equalities whose force on both ends is not simply opposite."""
    constraints = moment.runtime.constraints
    if constraints is None or not constraints.sizes["nequality"]:
        return []
    known = (t.POINT, t.POSE, t.DISTANCE, t.JOINT, t.TENDON)
    column = constraints.column
    odd = (column["equality_on"] == 1) & ~np.isin(column["equality_kind"], known)
    return ["joints and closures that hold some directions only"] * bool(odd.any())


def _pushes(moment: Moment) -> list[tuple[int, Array, Array, Array]]:
    """Body, point, force and torque of all that touches or holds bodies."""
    constraints, made = moment.runtime.constraints, []
    for met in contacts_of(moment):
        push, twist = met.axes.T @ met.wrench[:3], met.axes.T @ met.wrench[3:]
        made += [(met.body_a, met.point, -push, -twist), (met.body_b, met.point, push, twist)]
    if constraints is None or not constraints.sizes["nequality"]:
        return made
    column = constraints.column
    for i in np.flatnonzero(np.isin(column["equality_kind"], (t.POINT, t.POSE, t.DISTANCE))).tolist():
        ends = column["equality_first"][i], column["equality_second"][i]
        for end, body, sign in zip(ends, column["equality_body"][i] - 1, (1.0, -1.0), strict=True):
            wrench = sign * column["equality_wrench"][i]
            made.append((int(body), column["place_X"][end, :3], wrench[:3], wrench[3:]))
    return made
