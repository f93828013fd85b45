# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The bundled robots as Pinocchio models, and states in Pinocchio's conventions."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from worldline.model import JointType, Model


def pinocchio_model(model: Model) -> pin.Model:
    """The same tree of revolute and free joints; joint and body frames coincide in the samples."""
    theirs = pin.Model()
    number = {-1: 0}
    aligned = {
        (1.0, 0.0, 0.0): pin.JointModelRX,
        (0.0, 1.0, 0.0): pin.JointModelRY,
        (0.0, 0.0, 1.0): pin.JointModelRZ,
    }
    for j in range(model.joint_count):
        child = int(model.joint_child[j])
        if model.joint_type[j] == JointType.FREE:
            joint = pin.JointModelFreeFlyer()
        else:
            joint = aligned[tuple(model.joint_axis[model.joint_qd_start[j]])]()
        place = pin.XYZQUATToSE3(np.array(model.joint_X_p[j]))
        number[child] = theirs.addJoint(
            number[int(model.joint_parent[j])], joint, place, model.joint_label[j]
        )
        inertia = pin.Inertia(
            float(model.body_mass[child]),
            np.array(model.body_com[child]),
            np.array(model.body_inertia[child]),
        )
        theirs.appendBodyToJoint(number[child], inertia, pin.SE3.Identity())
    return theirs


def to_pinocchio(model: Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray):
    """Velocities and forces of free joints from world axes to body axes; everything else is the same."""
    v, tau = v.copy(), tau.copy()
    for j in np.flatnonzero(model.joint_type == JointType.FREE):
        start, d = model.joint_q_start[j] + 3, model.joint_qd_start[j]
        for w in range(len(q)):
            R = pin.Quaternion(q[w, start : start + 4]).toRotationMatrix()
            v[w, d : d + 3] = R.T @ v[w, d : d + 3]
            tau[w, d : d + 3] = R.T @ tau[w, d : d + 3]
    return v, tau


def from_pinocchio(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Accelerations of free joints from body axes back to world axes; v in Pinocchio's convention."""
    a = a.copy()
    for j in np.flatnonzero(model.joint_type == JointType.FREE):
        start, d = model.joint_q_start[j] + 3, model.joint_qd_start[j]
        for w in range(len(q)):
            R = pin.Quaternion(q[w, start : start + 4]).toRotationMatrix()
            spin = np.cross(v[w, d + 3 : d + 6], v[w, d : d + 3])
            a[w, d : d + 3] = R @ (a[w, d : d + 3] + spin)
    return a
