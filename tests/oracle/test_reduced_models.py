# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Frozen joints: the reduced model moves as the whole one does when those joints stand still."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from trees import KINDS, add_joint, random_hinge, random_inertia, random_pose
from worldline._src.errors import ArgumentError
from worldline.model import ModelBuilder


def random_builder(rng, kinds):
    builder = ModelBuilder(gravity=rng.normal(size=3))
    joints = []
    for i, kind in enumerate(kinds):
        mass = rng.uniform(0.5, 2.0)
        link = builder.add_link(mass=mass, com=rng.uniform(-0.1, 0.1, 3), inertia=random_inertia(rng, mass))
        frames = {"parent_xform": random_pose(rng), "child_xform": random_pose(rng)}
        parent = -1 if i == 0 else int(rng.integers(i))
        joints.append(add_joint(builder, rng, kind, parent=parent, child=link, **frames))
    builder.add_articulation(joints)
    return builder


@pytest.mark.parametrize("seed", range(3))
def test_every_joint_can_be_frozen(seed):
    rng = np.random.default_rng(seed)
    kinds = list(KINDS)
    rng.shuffle(kinds)
    builder = random_builder(rng, kinds)
    whole = builder.finalize()
    q = wm.random_configuration(whole, rng)
    chosen = sorted(rng.choice(len(kinds), 6, replace=False).tolist())
    before = list(builder.joint_q)
    reduced = wm.freeze_joints(builder, chosen, q).finalize()
    assert builder.joint_q == before and builder.finalize().joint_dof_count == whole.joint_dof_count

    free = [j for j in range(len(kinds)) if j not in chosen]
    rows = [np.arange(whole.joint_qd_start[j], whole.joint_qd_start[j + 1]) for j in free]
    v_rows = np.concatenate(rows)
    q_rows = np.concatenate([np.arange(whole.joint_q_start[j], whole.joint_q_start[j + 1]) for j in free])
    v, a = np.zeros((2, whole.joint_dof_count))
    v[v_rows], a[v_rows] = rng.normal(size=(2, len(v_rows)))
    poses = wm.forward_kinematics(whole, q)
    ours = wm.forward_kinematics(reduced, q[q_rows])
    np.testing.assert_allclose(ours[:, :3], poses[:, :3], atol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(ours[:, 3:] * poses[:, 3:], axis=1)), 1.0, atol=1e-12)
    M = wm.mass_matrix(whole, q)[np.ix_(v_rows, v_rows)]
    np.testing.assert_allclose(wm.mass_matrix(reduced, q[q_rows]), M, atol=1e-11)
    tau = wm.inverse_dynamics(whole, q, v, a)[v_rows]
    np.testing.assert_allclose(wm.inverse_dynamics(reduced, q[q_rows], v[v_rows], a[v_rows]), tau, atol=1e-10)


def test_that_of_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (package pin) is the yardstick of this test")
    rng = np.random.default_rng(7)
    builder, theirs, joints = ModelBuilder(), pin.Model(), []
    for i in range(6):
        mass, com, inertia, pose, axis = random_hinge(rng)
        link = builder.add_link(mass=mass, com=com, inertia=inertia)
        joints.append(builder.add_joint_revolute(i - 1, link, axis=axis, parent_xform=pose))
        number = theirs.addJoint(
            i, pin.JointModelRevoluteUnaligned(axis), pin.XYZQUATToSE3(pose), f"joint{i}"
        )
        theirs.addJointFrame(number)  # without one, the reduction reads outside of its lists
        theirs.appendBodyToJoint(number, pin.Inertia(mass, com, inertia), pin.SE3.Identity())
    builder.add_articulation(joints)
    q, v, a = rng.normal(size=(3, 6))
    small = pin.buildReducedModel(theirs, [2, 5], q)
    reduced = wm.freeze_joints(builder, [joints[1], joints[4]], q).finalize()
    data, kept = small.createData(), [0, 2, 3, 5]
    M = np.triu(pin.crba(small, data, q[kept]))
    np.testing.assert_allclose(wm.mass_matrix(reduced, q[kept]), M + np.triu(M, 1).T, atol=1e-12)
    tau = pin.rnea(small, data, q[kept], v[kept], a[kept])
    np.testing.assert_allclose(wm.inverse_dynamics(reduced, q[kept], v[kept], a[kept]), tau, atol=1e-11)


def test_initial_values_of_the_rest_stay():
    rng = np.random.default_rng(1)
    builder = random_builder(rng, ["revolute", "ball", "prismatic"])
    builder.joint_q[0], builder.joint_q[5] = 0.3, 0.7
    builder.joint_qd[4], builder.joint_f[0] = 2.0, 5.0
    reduced = wm.freeze_joints(builder, [builder.joints[1].label])
    assert reduced.joint_q == [0.3, 0.7] and reduced.joint_qd == [0.0, 2.0] and reduced.joint_f == [5.0, 0.0]
    assert [joint.label for joint in reduced.joints] == [joint.label for joint in builder.joints]


def test_what_cannot_be_frozen_is_told():
    builder = random_builder(np.random.default_rng(1), ["revolute", "revolute"])
    for joints, words in ((["knee"], "no joint 'knee'"), ([7], "0 to 1"), ([0, 0], "every joint once")):
        with pytest.raises(ArgumentError, match=words):
            wm.freeze_joints(builder, joints)
    with pytest.raises(ArgumentError, match="shape"):
        wm.freeze_joints(builder, [0], [0.0])
