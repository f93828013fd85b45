# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Views of equal articulations on States, Controls, Models and batches: roots, attributes, rows of instances."""

from __future__ import annotations

import numpy as np
import pytest
from batch_scenes import lane_batch, scatter, thread_batch

from worldline import ArgumentError, CapabilityError, NotFoundError, msd
from worldline import simulation as sx
from worldline.model import ArticulationView, ModelBuilder, eval_fk

BOTH = pytest.mark.parametrize("make", [lane_batch, thread_batch])


def two_carts():
    """Two floating carts with a hinge each."""
    text = "".join(
        f"""<body name="{k}/cart" pos="{k} 0 1"><freejoint name="{k}/root"/><geom size="0.1" pos="0.1 0 0"/>
        <body name="{k}/arm"><joint name="{k}/hinge" axis="0 1 0" armature="0.{k + 1}"/>
        <geom size="0.1" pos="0 0 -1"/></body></body>"""
        for k in range(2)
    )
    return text


@BOTH
def test_a_batch_stands_in_for_state_and_control(make):
    batch = make(4)
    scatter(batch)
    view = ArticulationView(batch.model, "trunk")
    robot = batch.multibodies["trunk"]
    q = view.get_dof_positions(batch)
    assert q.shape == (4, 1, 13)
    np.testing.assert_array_equal(q[:, 0, 7:9], robot.joints.position[:, 6:8])
    view.set_dof_velocities(batch, np.arange(44.0).reshape(4, 1, 11), mask=[True, False, True, False])
    np.testing.assert_array_equal(batch.joint_velocities[2, :11], np.arange(22.0, 33.0))
    assert not np.array_equal(batch.joint_velocities[1, :11], np.arange(11.0, 22.0))
    view.set_dof_forces(batch, 0.5)
    assert (batch.joint_forces[:, :11] == 0.5).all()
    # poses are fresh, velocities those of the centres of mass
    links = [batch.body_names.index(name) for name in view.link_labels]
    np.testing.assert_array_equal(view.get_link_transforms(batch)[:, 0], batch.body_poses[:, links])
    state = batch.model.state()
    state.joint_q[:], state.joint_qd[:] = batch.joint_positions[2], batch.joint_velocities[2]
    eval_fk(batch.model, state.joint_q, state.joint_qd, state)
    np.testing.assert_allclose(
        view.get_link_velocities(batch)[2, 0], state.body_qd[links], rtol=1e-12, atol=1e-12
    )


@BOTH
def test_roots_of_a_batch(make):
    batch = make(3)
    view = ArticulationView(batch.model, "trunk")
    poses = view.get_root_transforms(batch)
    poses[:, 0, 0] = (1.0, 2.0, 3.0)
    view.set_root_transforms(batch, poses)
    assert batch.multibodies["trunk"].links["trunk"].translation[:, 0].tolist() == [1.0, 2.0, 3.0]
    view.set_root_velocities(batch, np.array([0, 0, 5.0, 1.0, 0, 0]), mask=[False, True, False])
    trunk = batch.multibodies["trunk"].links["trunk"]
    assert trunk.linear_velocity[:, 2].tolist() == [0.0, 5.0, 0.0]
    assert trunk.angular_velocity[:, 0].tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_array_equal(view.get_root_velocities(batch)[1, 0], [0, 0, 5, 1, 0, 0])


def test_attributes_by_name():
    scene = msd.from_str(f"<mujoco><worldbody>{two_carts()}</worldbody></mujoco>", format="mjcf")
    batch = sx.WorldBatch(scene, 2)
    model = batch.model
    view = ArticulationView(model, [0, 1], include_joints=["hinge"], include_links=["arm"])
    assert view.get_attribute("joint_armature", model).tolist() == [[[0.1], [0.2]]]
    view.set_attribute("joint_armature", model, [[[0.3], [0.4]]], mask=[[False, True]])
    assert view.get_attribute("joint_armature", model).tolist() == [[[0.1], [0.4]]]
    masses = view.get_attribute("body_mass", model)
    assert masses.shape == (1, 2, 1) and (masses > 0).all()
    assert view.get_attribute("joint_X_p", model).shape == (1, 2, 1, 7)
    view.set_attribute("joint_q", batch, [[[0.5], [0.6]], [[0.7], [0.8]]])
    assert view.get_attribute("joint_q", batch)[1, :, 0].tolist() == [0.7, 0.8]
    assert view.flat(view.get_attribute("joint_q", batch)).tolist() == [[0.5], [0.6], [0.7], [0.8]]
    assert view.instances(2).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    for wrong, error in (
        (lambda: view.get_attribute("joint_armatur", model), NotFoundError),
        (lambda: view.set_attribute("joint_type", model, 1), ArgumentError),
        (lambda: view.get_attribute("joint_target_pos", batch), CapabilityError),
        (lambda: view.set_attribute("joint_armature", batch, 1.0), CapabilityError),
        (lambda: view.set_attribute("joint_armature", model, np.ones((2, 2, 2))), ArgumentError),
        (lambda: view.get_dof_positions(lane_batch(2)), ArgumentError),
    ):
        with pytest.raises(error):
            wrong()
    assert view.get_attribute("joint_armature", model).tolist() == [[[0.1], [0.4]]]


def test_roots_that_are_fixed_have_no_velocity():
    builder = ModelBuilder()
    link = builder.add_link(mass=1.0, com=(0, 0, -1))
    builder.add_articulation([builder.add_joint_revolute(parent=-1, child=link, axis=(0, 1, 0))])
    model = builder.finalize()
    view = ArticulationView(model, "*")
    with pytest.raises(ArgumentError, match="not floating"):
        view.get_root_velocities(model.state())
    batch = sx.WorldBatch(model, 3)
    assert view.get_root_transforms(batch).shape == (3, 1, 7)
    with pytest.raises(ArgumentError, match="batch"):
        view.set_root_transforms(batch, view.get_root_transforms(batch))
