# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Regressors times parameters are forces and energies; their columns are Pinocchio's."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from trees import KINDS, random_hinge, random_tree
from worldline._src.errors import ArgumentError
from worldline.model import ModelBuilder

WORLDS = 5


@pytest.mark.parametrize("seed", range(3))
def test_times_the_parameters_they_are_forces_and_energies(seed):
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 2 * len(KINDS), trees=2)
    q = wm.random_configuration(model, rng, worlds=WORLDS)
    v, a = rng.normal(size=(2, WORLDS, model.joint_dof_count))
    theta = wm.inertial_parameters(model)
    Y = wm.joint_torque_regressor(model, q, v, a)
    assert Y.shape == (WORLDS, model.joint_dof_count, 10 * model.body_count)
    np.testing.assert_allclose(Y @ theta, wm.inverse_dynamics(model, q, v, a), rtol=1e-10, atol=1e-10)
    K, U = wm.kinetic_energy_regressor(model, q, v), wm.potential_energy_regressor(model, q)
    np.testing.assert_allclose(K @ theta, wm.kinetic_energy(model, q, v), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(U @ theta, wm.potential_energy(model, q), rtol=1e-12, atol=1e-12)
    alone = wm.joint_torque_regressor(model, q[2], v[2], a[2])
    np.testing.assert_allclose(alone, Y[2], rtol=0, atol=1e-13)


def test_compensated_weight_is_left_out():
    rng = np.random.default_rng(4)
    model = random_tree(rng, 6)
    model.update(body_gravcomp=rng.uniform(0.0, 1.0, model.body_count))
    q = wm.random_configuration(model, rng)
    v, a = rng.normal(size=(2, model.joint_dof_count))
    tau = wm.joint_torque_regressor(model, q, v, a) @ wm.inertial_parameters(model)
    np.testing.assert_allclose(tau, wm.inverse_dynamics(model, q, v, a), rtol=1e-10, atol=1e-10)


def test_parameters_can_be_identified():
    """A pendulum's weight moment and inertia about its hinge come back from torques."""
    builder = ModelBuilder()
    bob = builder.add_link(mass=2.0, com=(0.3, 0, 0), inertia=np.diag([0.1, 0.2, 0.3]))
    builder.add_articulation([builder.add_joint_revolute(parent=-1, child=bob, axis=(0, 1, 0))])
    model = builder.finalize()
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 40, 1))
    Y = wm.joint_torque_regressor(model, q, v, a)[:, 0]
    found = np.linalg.lstsq(Y, wm.inverse_dynamics(model, q, v, a)[:, 0], rcond=None)[0]
    # seen from the hinge: first moment along x, inertia about y with the parallel axis
    np.testing.assert_allclose(found[[1, 3, 6]], [0.6, 0.0, 0.2 + 2.0 * 0.09], atol=1e-10)
    # what no motion of the hinge shows stays zero
    np.testing.assert_allclose(found[[0, 2, 4, 5, 7, 8, 9]], 0.0, atol=1e-10)


def test_a_wrong_shape_is_told():
    with pytest.raises(ArgumentError, match=r"\(\.\.\., 6\).*\(5,\)"):
        wm.body_regressor(np.zeros(5), np.zeros(6))


@pytest.mark.parametrize("root", ["revolute", "ball"])
def test_columns_are_those_of_pinocchio(root):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (package pin) is the yardstick of this test")
    rng = np.random.default_rng(11)
    gravity = rng.normal(size=3) * 5.0
    builder, theirs = ModelBuilder(gravity=gravity), pin.Model()
    theirs.gravity.linear = gravity
    joints = []
    for i in range(5):
        mass, com, inertia, pose, axis = random_hinge(rng)
        link = builder.add_link(mass=mass, com=com, inertia=inertia)
        # Pinocchio's parameters are in the frame of the joint: let the body's frame be that one
        if i == 0 and root == "ball":
            joints.append(builder.add_joint_ball(parent=-1, child=link, parent_xform=pose))
            kind = pin.JointModelSpherical()
        else:
            joints.append(builder.add_joint_revolute(parent=i - 1, child=link, axis=axis, parent_xform=pose))
            kind = pin.JointModelRevoluteUnaligned(axis)
        number = theirs.addJoint(i, kind, pin.XYZQUATToSE3(pose), f"joint{i}")
        theirs.appendBodyToJoint(number, pin.Inertia(mass, com, inertia), pin.SE3.Identity())
    builder.add_articulation(joints)
    model, data = builder.finalize(), theirs.createData()
    q = wm.random_configuration(model, rng)
    v, a = rng.normal(size=(2, model.joint_dof_count))

    parameters = np.concatenate([inertia.toDynamicParameters() for inertia in theirs.inertias[1:]])
    np.testing.assert_allclose(wm.inertial_parameters(model), parameters, atol=1e-14)
    Y = pin.computeJointTorqueRegressor(theirs, data, q, v, a)
    np.testing.assert_allclose(wm.joint_torque_regressor(model, q, v, a), Y, atol=1e-11)
    K = pin.computeKineticEnergyRegressor(theirs, data, q, v)
    np.testing.assert_allclose(wm.kinetic_energy_regressor(model, q, v), K.ravel(), atol=1e-12)
    U = pin.computePotentialEnergyRegressor(theirs, data, q)
    np.testing.assert_allclose(wm.potential_energy_regressor(model, q), U.ravel(), atol=1e-12)

    # Pinocchio wants spatial accelerations, ours is that of the origin; linear rows are first there
    w, u, dw, du = rng.normal(size=(4, 3))
    Y = pin.bodyRegressor(pin.Motion(u, w), pin.Motion(du - np.cross(w, u), dw))
    ours = wm.body_regressor(np.r_[w, u], np.r_[dw, du])
    np.testing.assert_allclose(ours, np.concatenate([Y[3:], Y[:3]]), atol=1e-12)
