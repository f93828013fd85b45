# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""add_builder and replicate: a copy behaves as the original does, wherever it is put."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from builders import JOINTS, add_box, add_joint, everything, robot, same, single
from trees import random_inertia, random_pose
from worldline.model import ModelBuilder, eval_fk


def turned(pose: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors turned by the rotation of a pose."""
    axis, w = pose[3:6], pose[6]
    return vectors + 2 * np.cross(axis, np.cross(axis, vectors) + w * vectors)


def of_every_kind(rng: np.random.Generator) -> ModelBuilder:
    """One tree per joint type at its root, each with a hinge behind it, all moving."""
    builder = ModelBuilder()
    for kind in JOINTS:
        links = [
            builder.add_link(
                random_pose(rng), mass=1.0, com=rng.normal(size=3), inertia=random_inertia(rng, 1.0)
            )
            for _ in range(2)
        ]
        frames = {"parent_xform": random_pose(rng), "child_xform": random_pose(rng)}
        joints = [
            add_joint(builder, kind, -1, links[0], **JOINTS[kind][0], **frames, label=f"{kind}_root"),
            builder.add_joint_revolute(*links, axis=rng.normal(size=3), parent_xform=random_pose(rng)),
        ]
        builder.add_articulation(joints, label=kind)
    start = builder.finalize()
    builder.joint_q[:] = wm.random_configuration(start, rng).tolist()
    builder.joint_qd[:] = rng.normal(size=start.joint_dof_count).tolist()
    builder.joint_f[:] = rng.normal(size=start.joint_dof_count).tolist()
    return builder


def test_moved_copies_move_as_the_original():
    rng = np.random.default_rng(0)
    part = of_every_kind(rng)
    alone = part.finalize()
    poses = [np.array([0, 0, 0, 0, 0, 0, 1.0]), random_pose(rng, reach=5.0)]
    whole = ModelBuilder()
    whole.add_body(mass=1.0, inertia=np.eye(3))
    for i, pose in enumerate(poses):
        whole.add_builder(part, prefix=f"{i}/", xform=pose)
    model = whole.finalize()

    # where they are, and how fast
    state, one = model.state(), alone.state()
    eval_fk(model, state.joint_q, state.joint_qd, state)
    eval_fk(alone, one.joint_q, one.joint_qd, one)
    n, nv = alone.body_count, alone.joint_dof_count
    for i, pose in enumerate(poses):
        mine = slice(1 + i * n, 1 + (i + 1) * n)
        assert np.allclose(
            state.body_q[mine, :3], pose[:3] + turned(pose, one.body_q[:, :3]), rtol=0, atol=1e-13
        )
        assert np.allclose(state.body_qd[mine, :3], turned(pose, one.body_qd[:, :3]), rtol=0, atol=1e-12)
        assert np.allclose(state.body_qd[mine, 3:], turned(pose, one.body_qd[:, 3:]), rtol=0, atol=1e-12)

    # how they accelerate, without gravity: it is the same for all and does not turn along
    model.update(gravity=(0, 0, 0))
    alone.update(gravity=(0, 0, 0))
    a = wm.forward_dynamics(model, model.joint_q, model.joint_qd, model.joint_f)
    rates = wm.link_accelerations(model, model.joint_q, model.joint_qd, a)
    b = wm.forward_dynamics(alone, alone.joint_q, alone.joint_qd, alone.joint_f)
    expected = wm.link_accelerations(alone, alone.joint_q, alone.joint_qd, b)
    for i, pose in enumerate(poses):
        mine = rates[1 + i * n : 1 + (i + 1) * n]
        assert np.allclose(mine[:, :3], turned(pose, expected[:, :3]), rtol=1e-9, atol=1e-9)
        assert np.allclose(mine[:, 3:], turned(pose, expected[:, 3:]), rtol=1e-9, atol=1e-9)
    assert np.array_equal(a[6 : 6 + nv], b)  # a copy that was not moved is the original, bit for bit


def test_anchors_of_distance_joints_come_along():
    """The distance of the anchors is what the joint limits; moving the copy must not change it."""
    part = ModelBuilder()
    link = add_box(part, xform=(0, 0, -0.5, 0, 0, 0, 1))
    part.add_articulation([part.add_joint_distance(-1, link, max_distance=1.0)])
    whole = ModelBuilder()
    whole.add_builder(part, xform=(100, 0, 0, 0, 0, 0, 1))
    model = whole.finalize()
    assert model.joint_X_p[0, :3].tolist() == [100, 0, 0]
    assert model.joint_q[:3].tolist() == [0, 0, -0.5]
    assert wm.forward_kinematics(model, model.joint_q)[0, :3].tolist() == [100, 0, -0.5]


def test_free_roots_move_by_their_coordinates():
    whole = ModelBuilder()
    whole.add_builder(robot(), xform=(1, 2, 3, 0, 0, 0, 1))
    assert whole.joint_q[:7] == [1, 2, 3, 0, 0, 0, 1]
    assert whole.joints[0].X_p.tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert whole.links[0].xform[:3].tolist() == [1, 2, 3]


def test_labels_and_indices():
    whole = single("revolute", label="hinge")
    whole.add_builder(robot(), prefix="a/")
    whole.add_builder(robot(), prefix="b/")
    model = whole.finalize()
    assert model.body_label[1:] == ["a/base", "a/hand", "b/base", "b/hand"]
    assert model.joint_label == ["hinge", "a/root", "a/elbow", "b/root", "b/elbow"]
    assert model.articulation_label[1:] == ["a/robot", "b/robot"]
    assert model.joint_parent.tolist() == [-1, -1, 1, -1, 3]
    assert model.joint_child.tolist() == [0, 1, 2, 3, 4]
    assert model.joint_articulation.tolist() == [0, 1, 1, 2, 2]
    assert model.joint_q_start.tolist() == [0, 1, 8, 9, 16, 17]
    with pytest.raises(ValueError, match="'b/robot'"):  # a joint that was copied is owned
        whole.add_articulation([3])
    extra = whole.add_joint_fixed(-1, model.body_index("b/hand"))
    with pytest.raises(ValueError, match="'b/elbow' is the first"):  # and its link has a parent
        whole.add_articulation([extra])
    for call in (lambda: whole.add_link(label="a/hand"), lambda: whole.add_builder(robot(), prefix="a/")):
        with pytest.raises(ValueError, match="already exists"):
            call()


def test_later_changes_do_not_reach_the_copy():
    part, whole = robot(), ModelBuilder()
    whole.add_builder(part)
    part.joint_q[0] = 5.0
    part.add_body(mass=1.0)
    part.links[0].com[0] = 9.0
    assert whole.joint_q[0] == 0.0
    assert whole.body_count == 2
    assert whole.links[0].com[0] == 0.1


def test_the_part_is_not_changed():
    part = robot()
    before = everything(part)
    whole = single("revolute")
    whole.add_builder(part, prefix="a/", xform=(1, 2, 3, 0, 0, 1, 0))
    whole.finalize()
    assert same(everything(part), before)


def test_copies_of_copies():
    pair = ModelBuilder()
    pair.add_builder(robot(), prefix="left/", xform=(0, 1, 0, 0, 0, 0, 1))
    pair.add_builder(robot(), prefix="right/", xform=(0, -1, 0, 0, 0, 0, 1))
    whole = ModelBuilder()
    for x in range(2):
        whole.add_builder(pair, prefix=f"{x}/", xform=(10.0 * x, 0, 0, 0, 0, 0, 1))
    model = whole.finalize()
    assert model.articulation_label == ["0/left/robot", "0/right/robot", "1/left/robot", "1/right/robot"]
    poses = wm.forward_kinematics(model, model.joint_q)
    assert poses[::2, :2].tolist() == [[0, 1], [0, -1], [10, 1], [10, -1]]


def test_gravity_is_that_of_the_whole():
    part = ModelBuilder(gravity=(0, 0, 0))
    part.add_body(mass=1.0)
    whole = ModelBuilder()
    whole.add_builder(part)
    assert whole.finalize().gravity.tolist() == [0, 0, -9.81]


def bad_builders():
    replicated = robot()
    replicated.replicate(2)
    broken = robot()
    broken.joint_q[0] = float("nan")
    return {
        "twice": (lambda w: w.add_builder(robot()), "already exists"),
        "itself": (lambda w: w.add_builder(w), "another ModelBuilder"),
        "number": (lambda w: w.add_builder(5), "another ModelBuilder"),
        "replicated": (lambda w: w.add_builder(replicated, prefix="b/"), "one world"),
        "prefix": (lambda w: w.add_builder(robot(), prefix=3), "prefix"),
        "xform": (lambda w: w.add_builder(robot(), prefix="b/", xform=(1, 2, 3)), "xform"),
        "initial values": (lambda w: w.add_builder(broken, prefix="b/"), "joint_q"),
    }


@pytest.mark.parametrize("name", bad_builders())
def test_refused_without_a_trace(name):
    call, word = bad_builders()[name]
    whole = robot()
    before = everything(whole)
    with pytest.raises(ValueError, match=word):
        call(whole)
    assert same(everything(whole), before)


# ---- replicate


def test_replicate_gives_equal_worlds():
    builder = robot()
    builder.replicate(4)
    model = builder.finalize()
    assert model.world_count == 4
    assert (model.body_count, model.joint_dof_count) == (2, 7)  # of one world
    state = model.state()
    state.joint_q[2, 0] = 1.0
    eval_fk(model, state.joint_q, state.joint_qd, state)
    assert state.body_q[:, 0, 0].tolist() == [0, 0, 1, 0]
    single_world = robot().finalize()
    q = wm.random_configuration(model, 0, worlds=4)
    for w in range(4):
        assert np.array_equal(wm.mass_matrix(model, q)[w], wm.mass_matrix(single_world, q[w]))


@pytest.mark.parametrize("n", [0, -1, True, 1.5, "2", None])
def test_bad_replicate(n):
    builder = robot()
    with pytest.raises(ValueError, match="replicate"):
        builder.replicate(n)
    assert builder.world_count == 1


def test_replicate_takes_numpy_integers():
    builder = robot()
    builder.replicate(np.int64(3))
    assert builder.finalize().world_count == 3
