# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every rule about trees: each violation is a ValueError that names the offender and changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from builders import add_box, refuses, robot
from worldline.model import Axis, BodyFlags, ModelBuilder, eval_fk, eval_ik


def chain(n: int) -> tuple[ModelBuilder, list[int], list[int]]:
    """A chain of hinges without an articulation: builder, links, joints."""
    builder = ModelBuilder()
    links = [add_box(builder, label=f"link{i}") for i in range(n)]
    joints = [builder.add_joint_revolute(i - 1, links[i], "z", label=f"joint{i}") for i in range(n)]
    return builder, links, joints


# ---- add_articulation


def test_empty():
    builder, _, _ = chain(1)
    refuses(builder, lambda: builder.add_articulation([], label="arm"), "'arm'", "empty")


def test_not_ascending():
    builder, _, joints = chain(2)
    refuses(builder, lambda: builder.add_articulation(joints[::-1]), "ascend", "'joint0'", "'joint1'")


def test_twice_the_same_joint():
    builder, _, joints = chain(2)
    refuses(builder, lambda: builder.add_articulation([joints[0], joints[0]]), "ascend", "'joint0'")


def test_not_contiguous():
    builder = ModelBuilder()
    joints = [builder.add_joint_fixed(-1, builder.add_link(), label=f"joint{i}") for i in range(3)]
    refuses(builder, lambda: builder.add_articulation([joints[0], joints[2]]), "contiguous", "'joint1'")


@pytest.mark.parametrize("index", [-1, 2, 99, "joint0", None, 0.0, True])
def test_no_such_joint(index):
    builder, _, _ = chain(2)
    refuses(builder, lambda: builder.add_articulation([index], label="arm"), "'arm'")


@pytest.mark.parametrize("joints", [0, None])
def test_not_a_list(joints):
    builder, _, _ = chain(1)
    refuses(builder, lambda: builder.add_articulation(joints), "list")


def test_joint_of_another_articulation():
    builder, _, joints = chain(2)
    builder.add_articulation(joints, label="first")
    refuses(builder, lambda: builder.add_articulation([joints[1]]), "'joint1'", "'first'")


def test_foreign_world():
    """Indices remember their builder: one of another world is not taken for a number."""
    builder, _, _ = chain(2)
    other, links, joints = chain(2)
    refuses(builder, lambda: builder.add_articulation([joints[0]]), "different builder")
    refuses(builder, lambda: builder.add_joint_fixed(-1, links[0]), "child", "different builder")
    refuses(builder, lambda: builder.add_joint_fixed(links[0], 1), "parent", "different builder")
    refuses(other, lambda: other.add_joint_fixed(builder.add_link(), 0), "different builder")


def test_second_parent_in_one_articulation():
    builder, links, joints = chain(2)
    extra = builder.add_joint_fixed(-1, links[1], label="extra")
    refuses(
        builder, lambda: builder.add_articulation([*joints, extra]), "'link1'", "second parent", "'extra'"
    )


def test_second_parent_across_articulations():
    builder, links, joints = chain(2)
    builder.add_articulation(joints)
    extra = builder.add_joint_fixed(-1, links[1], label="extra")
    refuses(builder, lambda: builder.add_articulation([extra]), "'link1'", "second parent", "'joint1'")


def test_parent_after_child():
    builder = ModelBuilder()
    base, tip = add_box(builder, label="base"), add_box(builder)
    joints = [builder.add_joint_revolute(base, tip, label="early"), builder.add_joint_revolute(-1, base)]
    refuses(builder, lambda: builder.add_articulation(joints), "out of order", "'early'", "'base'")


def test_parent_in_another_articulation():
    builder, links, joints = chain(2)
    builder.add_articulation(joints)
    far = builder.add_joint_fixed(links[1], add_box(builder), label="far")
    refuses(builder, lambda: builder.add_articulation([far]), "'far'", "'link1'")


def test_loop():
    builder = ModelBuilder()
    a, b = add_box(builder), add_box(builder)
    joints = [builder.add_joint_revolute(b, a), builder.add_joint_revolute(a, b)]
    refuses(builder, lambda: builder.add_articulation(joints), "out of order")


def test_articulations_follow_the_order_of_joints():
    builder = ModelBuilder()
    joints = [builder.add_joint_fixed(-1, builder.add_link(), label=f"joint{i}") for i in range(2)]
    builder.add_articulation([joints[1]], label="late")
    refuses(builder, lambda: builder.add_articulation([joints[0]]), "order", "'joint0'", "'late'")


def test_several_roots_are_one_articulation():
    builder = ModelBuilder()
    joints = [builder.add_joint_revolute(-1, add_box(builder)) for _ in range(3)]
    builder.add_articulation(joints)
    assert wm.forward_kinematics(builder.finalize(), np.zeros(3)).shape == (3, 7)


def test_where_articulations_start():
    builder = ModelBuilder()
    for n in (2, 1, 3):
        links = [add_box(builder) for _ in range(n)]
        parents = [-1, *links[:-1]]
        builder.add_articulation(
            [builder.add_joint_revolute(p, c) for p, c in zip(parents, links, strict=True)]
        )
    model = builder.finalize()
    assert model.articulation_start.tolist() == [0, 2, 3, 6]
    assert model.joint_articulation.tolist() == [0, 0, 1, 2, 2, 2]
    assert model.articulation_count == 3


# ---- kinematic links


def test_kinematic_link_that_is_not_a_root():
    builder, _, _ = chain(1)
    hand = add_box(builder, label="hand", is_kinematic=True)
    builder.add_joint_revolute(0, hand)
    refuses(builder, lambda: builder.add_articulation([0, 1]), "'hand'", "kinematic")


def test_kinematic_orphan_that_is_not_a_root():
    builder, _, joints = chain(1)
    builder.add_articulation(joints)
    hand = add_box(builder, label="hand", is_kinematic=True)
    builder.add_joint_revolute(0, hand)
    refuses(builder, lambda: builder.finalize(skip_validation_joints=True), "'hand'", "kinematic")


def test_kinematic_roots():
    """The three patterns of use: a free base, a driven root with a dynamic child, a static root."""
    builder = ModelBuilder()
    builder.add_body(is_kinematic=True, mass=1.0, inertia=np.eye(3))
    root, child = add_box(builder, is_kinematic=True), add_box(builder)
    builder.add_articulation(
        [
            builder.add_joint_revolute(parent=-1, child=root, axis=Axis.Z),
            builder.add_joint_revolute(parent=root, child=child, axis=Axis.Z),
        ]
    )
    static = add_box(builder, is_kinematic=True)
    builder.add_articulation([builder.add_joint_fixed(parent=-1, child=static)])
    model = builder.finalize()
    K, D = BodyFlags.KINEMATIC, BodyFlags.DYNAMIC
    assert model.body_flags.tolist() == [K, K, D, K]
    assert model.joint_qd_start.tolist() == [0, 6, 7, 8, 8]
    push = wm.forward_dynamics(model, wm.neutral(model), np.zeros(8), np.full(8, 3.0))
    assert not push[:7].any()  # forces do not move kinematic joints
    assert push[7] != 0.0
    assert model.body_mass.tolist() == [1.0] * 4  # mass is kept for later


# ---- finalize


def test_orphan_joint():
    builder, _, joints = chain(3)
    builder.add_articulation(joints[:2])
    refuses(builder, builder.finalize, "joint2", "skip_validation_joints")


def test_loose_link():
    builder, _, joints = chain(1)
    builder.add_articulation(joints)
    builder.add_link(label="forgotten")
    refuses(builder, builder.finalize, "forgotten")


def test_loop_closing_joint_is_an_orphan():
    builder, links, joints = chain(3)
    builder.add_articulation(joints)
    builder.add_joint_revolute(-1, links[2], label="closure")
    refuses(builder, builder.finalize, "closure")


def with_orphan() -> wm.Model:
    """A chain of 2 with a third hinge, an orphan, closing a loop with the world, and a loose body."""
    builder, links, joints = chain(2)
    builder.add_articulation(joints)
    builder.add_joint_revolute(-1, links[1], label="closure")
    builder.add_link((5, 5, 5, 0, 0, 0, 1), label="loose")
    return builder.finalize(skip_validation_joints=True)


def test_orphans_keep_their_place_in_the_layout():
    model = with_orphan()
    assert model.joint_articulation.tolist() == [0, 0, -1]
    assert model.orphan_joints == [2]
    assert model.loose_bodies == [2]
    assert model.joint_coord_count == 3


def test_orphans_are_invisible_to_kinematics():
    model = with_orphan()
    state = model.state()
    q, qd = np.array([0.1, 0.2, 9.0]), np.array([0.3, 0.4, 9.0])
    eval_fk(model, q, qd, state)
    assert state.body_q[2].tolist() == [5, 5, 5, 0, 0, 0, 1]
    assert np.allclose(state.body_q[1, 5:], [np.sin(0.15), np.cos(0.15)], atol=1e-15)
    back_q, back_qd = np.full(3, 7.0), np.full(3, 8.0)
    eval_ik(model, state, back_q, back_qd)
    assert np.allclose(back_q, [0.1, 0.2, 7.0], atol=1e-14)
    assert np.allclose(back_qd, [0.3, 0.4, 8.0], atol=1e-14)


def test_a_model_of_orphans_only():
    builder, _, _ = chain(1)
    model = builder.finalize(skip_validation_joints=True)
    state = model.state()
    state.body_q[:] = 3.0
    eval_fk(model, state.joint_q, state.joint_qd, state)
    assert (state.body_q == 3.0).all()
    eval_ik(model, state, state.joint_q, state.joint_qd)
    assert state.joint_q.tolist() == [0.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: wm.forward_dynamics(m, x, x, x),
        lambda m, x: wm.inverse_dynamics(m, x, x, x),
        lambda m, x: wm.integrate(m, x, x),
        lambda m, x: wm.mass_matrix(m, x),
    ],
)
def test_generalized_algorithms_need_every_joint(call):
    with pytest.raises(ValueError, match="closure"):
        call(with_orphan(), np.zeros(3))


def test_a_tree_that_is_right_is_accepted():
    model = robot("revolute").finalize()
    assert model.articulation_label == ["robot"]
    assert model.joint_parent.tolist() == [-1, 0]
