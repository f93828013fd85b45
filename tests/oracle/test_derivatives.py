# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of dynamics and kinematics against Pinocchio's and against differences."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from trees import KINDS, random_inertia, random_pose, random_tree
from worldline._src.jit import DISABLED
from worldline.model import ModelBuilder

pytestmark = pytest.mark.skipif(DISABLED, reason="dual numbers need the compiler")

STEP = 1e-4
DIFFERENCES = 1e-7
"""Fourth-order central differences with that step are better than this, relative to the largest entry."""


def differences(model, function, operands, k):
    """Derivative of a function by one operand, displacements for coordinates; directions last."""
    columns = []
    for e in np.eye(model.joint_dof_count):
        moved = []
        for h in (STEP, -STEP, 2 * STEP, -2 * STEP):
            shifted = list(operands)
            shifted[k] = wm.integrate(model, operands[0], h * e) if k == 0 else operands[k] + h * e
            moved.append(function(model, *shifted))
        columns.append((8.0 * (moved[0] - moved[1]) - (moved[2] - moved[3])) / (12.0 * STEP))
    return np.stack(columns, axis=-1)


def close(ours, expected, tolerance):
    assert ours.shape == expected.shape
    np.testing.assert_allclose(ours, expected, rtol=0.0, atol=tolerance * (1.0 + np.abs(expected).max()))


@pytest.mark.parametrize("at_rest", [False, True])
def test_every_joint_against_differences(at_rest):
    rng = np.random.default_rng(3)
    model = random_tree(rng, len(KINDS), passive=True)
    model.update(body_gravcomp=rng.uniform(0.0, 0.5, model.body_count))
    q = wm.random_configuration(model, rng)
    v, a, tau = rng.normal(size=(3, model.joint_dof_count))
    if at_rest:
        # where rotation vectors and springs are zero a naive chain rule divides by zero
        q, v = wm.neutral(model), np.zeros_like(v)
    for made, function, last in (
        (wm.inverse_dynamics_derivatives(model, q, v, a), wm.inverse_dynamics, a),
        (wm.forward_dynamics_derivatives(model, q, v, tau), wm.forward_dynamics, tau),
    ):
        for k in range(3):
            close(made[k], differences(model, function, (q, v, last), k), DIFFERENCES)
    made = wm.kinematics_derivatives(model, q, v, a)
    for k in range(2):
        close(made[k], differences(model, wm.link_velocities, (q, v), k), DIFFERENCES)
    for k in range(3):
        close(made[2 + k], differences(model, wm.link_accelerations, (q, v, a), k), DIFFERENCES)
    made = wm.centroidal_derivatives(model, q, v)
    for k in range(2):
        close(made[k], differences(model, wm.momentum, (q, v), k), DIFFERENCES)


def test_worlds_are_each_for_itself():
    rng = np.random.default_rng(8)
    model = random_tree(rng, 6)
    q = wm.random_configuration(model, rng, worlds=3)
    v, a = rng.normal(size=(2, 3, model.joint_dof_count))
    made = wm.inverse_dynamics_derivatives(model, q, v, a[0])
    for w in range(3):
        for both, alone in zip(made, wm.inverse_dynamics_derivatives(model, q[w], v[w], a[0]), strict=True):
            assert np.array_equal(both[w], alone)


def test_inverse_and_forward_undo_each_other():
    rng = np.random.default_rng(9)
    model = random_tree(rng, 8, passive=True)
    q = wm.random_configuration(model, rng)
    v, a = rng.normal(size=(2, model.joint_dof_count))
    tau = wm.inverse_dynamics(model, q, v, a)
    there = wm.inverse_dynamics_derivatives(model, q, v, a)
    back = wm.forward_dynamics_derivatives(model, q, v, tau)
    close(there.dtau_dqdd, wm.mass_matrix(model, q), 1e-12)
    M = there.dtau_dqdd
    close(M @ back.dqdd_dq, -there.dtau_dq, 1e-8)
    close(M @ back.dqdd_dqd, -there.dtau_dqd, 1e-8)
    close(M @ back.dqdd_dtau, np.eye(len(v)), 1e-8)


@pytest.mark.parametrize("floating", [False, True])
def test_those_of_pinocchio(floating):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (package pin) is the yardstick of this test")
    rng = np.random.default_rng(12)
    gravity = rng.normal(size=3) * 5.0
    builder, theirs = ModelBuilder(gravity=gravity), pin.Model()
    theirs.gravity.linear = gravity
    joints = []
    # a floating base is three slides and a ball: the displacements of both libraries are then the same
    kinds = ["slides", "ball"] if floating else ["hinge"]
    for i, kind in enumerate(kinds + ["hinge"] * 4):
        mass = rng.uniform(0.5, 2.0)
        com, inertia = rng.uniform(-0.1, 0.1, 3), random_inertia(rng, mass)
        link = builder.add_link(mass=mass, com=com, inertia=inertia)
        pose, axis = random_pose(rng), rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        frames = {"parent": i - 1, "child": link, "parent_xform": pose}
        if kind == "slides":
            joints.append(builder.add_joint_translational(**frames))
            like = pin.JointModelTranslation()
        elif kind == "ball":
            joints.append(builder.add_joint_ball(**frames))
            like = pin.JointModelSpherical()
        else:
            joints.append(builder.add_joint_revolute(axis=axis, **frames))
            like = pin.JointModelRevoluteUnaligned(axis)
        number = theirs.addJoint(i, like, pin.XYZQUATToSE3(pose), f"joint{i}")
        theirs.appendBodyToJoint(number, pin.Inertia(mass, com, inertia), pin.SE3.Identity())
    builder.add_articulation(joints)
    model, data = builder.finalize(), theirs.createData()
    q = wm.random_configuration(model, rng)
    v, a, tau = rng.normal(size=(3, model.joint_dof_count))

    made = wm.inverse_dynamics_derivatives(model, q, v, a)
    dq, dv, da = pin.computeRNEADerivatives(theirs, data, q, v, a)
    upper = np.triu(da)
    for ours, expected in zip(made, (dq, dv, upper + np.triu(upper, 1).T), strict=True):
        close(ours, expected, 1e-11)
    made = wm.forward_dynamics_derivatives(model, q, v, tau)
    dq, dv, dtau = pin.computeABADerivatives(theirs, data, q, v, tau)
    upper = np.triu(dtau)
    for ours, expected in zip(made, (dq, dv, upper + np.triu(upper, 1).T), strict=True):
        close(ours, expected, 1e-10)

    made = wm.centroidal_derivatives(model, q, v)
    dh_dq, _, _, dhdot_da = pin.computeCentroidalDynamicsDerivatives(theirs, data, q, v, a)
    close(made.momentum_dq, np.concatenate([dh_dq[3:], dh_dq[:3]]), 1e-11)
    close(made.momentum_dqd, np.concatenate([dhdot_da[3:], dhdot_da[:3]]), 1e-11)
