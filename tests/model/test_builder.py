# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""ModelBuilder: what links and joints become, and what it refuses without a trace."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from builders import BOX, JOINTS, TURN_90_Z, add_box, add_joint, refuses, single
from worldline.model import Axis, BodyFlags, JointDofConfig, JointType, ModelBuilder

NAN, INF = float("nan"), float("inf")
POSE = (1.0, 2.0, 3.0, *TURN_90_Z)


# ---- links


def test_link_becomes_arrays():
    builder = ModelBuilder(gravity=(1, 2, 3))
    link = builder.add_link(POSE, mass=2, com=(1, 0, 0), inertia=BOX, label="arm", is_kinematic=True)
    assert link == 0
    builder.add_articulation([builder.add_joint_fixed(-1, link)])
    model = builder.finalize()
    assert model.body_label == ["arm"]
    assert model.body_mass.tolist() == [2.0]
    assert model.body_com.tolist() == [[1.0, 0.0, 0.0]]
    assert np.array_equal(model.body_inertia, [BOX])
    assert np.array_equal(model.body_q, [POSE])
    assert model.body_flags.tolist() == [BodyFlags.KINEMATIC]
    assert model.body_kinematic.tolist() == [True]
    assert model.gravity.tolist() == [1.0, 2.0, 3.0]


def test_defaults():
    builder = ModelBuilder()
    builder.add_link()
    model = builder.finalize(skip_validation_joints=True)
    assert model.gravity.tolist() == [0.0, 0.0, -9.81]
    assert model.body_q.tolist() == [[0, 0, 0, 0, 0, 0, 1]]
    assert model.body_mass.tolist() == [0.0]
    assert not model.body_inertia.any()
    assert model.body_flags.tolist() == [BodyFlags.DYNAMIC]


def test_poses_get_unit_quaternions():
    builder = ModelBuilder()
    builder.add_link((0, 0, 0, 0, 0, 3, 4))
    assert builder.links[0].xform[3:].tolist() == [0.0, 0.0, 0.6, 0.8]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"mass": -1.0}, "mass"),
        ({"mass": NAN}, "mass"),
        ({"mass": INF}, "mass"),
        ({"mass": "heavy"}, "mass"),
        ({"mass": [1.0]}, "mass"),
        ({"com": (1, 2)}, "com"),
        ({"com": (1, 2, NAN)}, "com"),
        ({"com": None}, "com"),
        ({"mass": 1.0, "inertia": np.ones(3)}, "inertia"),
        ({"mass": 1.0, "inertia": np.full((3, 3), NAN)}, "inertia"),
        ({"mass": 1.0, "inertia": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}, "symmetric"),
        ({"mass": 1.0, "inertia": -np.eye(3)}, "principal moments"),
        ({"mass": 1.0, "inertia": np.diag([1.0, 1.0, 2.1])}, "principal moments"),
        ({"mass": 0.0, "inertia": np.eye(3)}, "without mass"),
        ({"xform": (1, 2, 3)}, "xform"),
        ({"xform": (0, 0, 0, 0, 0, 0, 0)}, "quaternion"),
        ({"xform": (0, 0, NAN, 0, 0, 0, 1)}, "xform"),
    ],
)
@pytest.mark.parametrize("add", ["add_link", "add_body"])
def test_bodies_that_cannot_be(add, options, word):
    builder = ModelBuilder()
    builder.add_body(mass=1.0, label="before")
    refuses(builder, lambda: getattr(builder, add)(**options, label="bad"), word, "'bad'")


def test_inertia_at_the_edge_is_a_body():
    builder = ModelBuilder()
    builder.add_link(mass=1.0, inertia=np.diag([1.0, 1.0, 2.0]))  # a flat plate
    builder.add_link(mass=1.0, inertia=np.diag([0.0, 1.0, 1.0]))  # a thin rod
    assert builder.body_count == 2


def test_unchecked_inertia_is_taken():
    builder = ModelBuilder()
    builder.add_link(mass=1.0, inertia=np.diag([1.0, 1.0, 2.1]), check_inertia=False)
    assert builder.links[0].inertia[2, 2] == 2.1


@pytest.mark.parametrize("gravity", [(1, 2), (0, 0, NAN), "down", None])
def test_gravity_is_three_numbers(gravity):
    with pytest.raises(ValueError, match="gravity"):
        ModelBuilder(gravity=gravity)
    builder = ModelBuilder()
    builder.gravity = gravity
    with pytest.raises(ValueError, match="gravity"):
        builder.finalize()


# ---- labels


def test_made_up_labels_skip_those_taken():
    builder = ModelBuilder()
    builder.add_link(label="link_002")
    second, third = builder.add_link(), builder.add_link(label="")
    labels = [link.label for link in builder.links]
    assert len(set(labels)) == 3
    assert builder.links[second].label == "link_003"
    assert builder.links[third].label.startswith("link_")


def test_labels_are_unique_strings():
    builder = single("revolute", label="hinge")
    link = builder.add_link(label="arm")
    refuses(builder, lambda: builder.add_link(label="arm"), "'arm'", "already exists")
    refuses(builder, lambda: builder.add_link(label=7), "string")
    refuses(builder, lambda: builder.add_joint_fixed(-1, link, label="hinge"), "'hinge'", "already exists")
    joint = builder.add_joint_fixed(-1, link, label="arm")  # another kind of object
    builder.add_articulation([joint], label="arm")
    refuses(builder, lambda: builder.add_body(label="arm"), "'arm'", "already exists")


# ---- add_body


def test_add_body_is_link_free_joint_and_articulation():
    builder = ModelBuilder()
    builder.add_link()
    body = builder.add_body(POSE, mass=1.0, inertia=BOX, label="ball")
    assert body == 1
    assert builder.joints[0].kind == JointType.FREE
    assert (builder.joints[0].parent, builder.joints[0].child) == (-1, 1)
    assert builder.articulations == [("ball", [0])]
    assert builder.joint_q == list(POSE)


def test_add_body_is_all_or_nothing():
    builder = single("revolute")
    builder.add_articulation([builder.add_joint_fixed(-1, add_box(builder))], label="ball")
    refuses(builder, lambda: builder.add_body(label="ball"), "articulation", "'ball'")


# ---- joints


@pytest.mark.parametrize("kind", JOINTS)
def test_layout_of_every_joint_type(kind):
    _, coordinates, linear, angular = JOINTS[kind]
    builder = single("prismatic")
    link = add_box(builder)
    joint = add_joint(builder, kind, -1, link, **JOINTS[kind][0])
    builder.add_articulation([joint])
    builder.add_body(mass=1.0)
    model = builder.finalize()
    assert model.joint_type.tolist() == [JointType.PRISMATIC, JointType[kind.upper()], JointType.FREE]
    assert model.joint_q_start.tolist() == [0, 1, 1 + coordinates, 8 + coordinates]
    assert model.joint_qd_start.tolist() == [0, 1, 1 + linear + angular, 7 + linear + angular]
    assert model.joint_dof_dim.tolist() == [[1, 0], [linear, angular], [3, 3]]
    assert (model.joint_coord_count, model.joint_dof_count) == (8 + coordinates, 7 + linear + angular)
    assert model.joint_axis.shape == (model.joint_dof_count, 3)
    assert np.allclose(np.linalg.norm(model.joint_axis, axis=1), 1.0, atol=1e-15)
    # orientations start as the identity, everything else at zero
    start = model.joint_q[1 : 1 + coordinates]
    assert np.array_equal(start, wm.neutral(model)[1 : 1 + coordinates])


@pytest.mark.parametrize(
    "name",
    [
        f"joint_{name}"
        for name in (
            "axis pitch limit_lower limit_upper limit_ke limit_kd target_pos target_vel "
            "target_ke target_kd act_mode armature damping stiffness friction effort_limit "
            "velocity_limit f qd"
        ).split()
    ],
)
def test_per_dof_arrays_follow_joint_qd(name):
    builder = ModelBuilder()
    for kind in JOINTS:
        builder.add_articulation([add_joint(builder, kind, -1, add_box(builder), **JOINTS[kind][0])])
    model = builder.finalize()
    assert getattr(model, name).shape[0] == model.joint_dof_count
    assert model.joint_spring_ref.shape == model.joint_q.shape


def test_linear_axes_before_angular_axes():
    builder = ModelBuilder()
    slide = JointDofConfig(axis="x", limit_lower=-0.5, limit_upper=0.5)
    turn = JointDofConfig(axis="z", limit_lower=-1.0, limit_upper=1.0)
    link = add_box(builder)
    joint = builder.add_joint_d6(-1, link, linear_axes=[slide], angular_axes=[turn])
    builder.add_articulation([joint])
    model = builder.finalize()
    assert model.joint_axis.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert model.joint_limit_lower.tolist() == [-0.5, -1.0]


def test_planar_slides_along_axis2_and_its_normal():
    model = single("planar", axis=(0, 0, 2), axis2=(1, 0, 5)).finalize()
    assert np.allclose(model.joint_axis, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], atol=1e-15)
    pose = wm.forward_kinematics(model, [0.3, 0.4, np.pi / 2])[0]
    assert np.allclose(pose, [0.3, 0.4, 0, *TURN_90_Z], atol=1e-15)


def test_screw_advances_by_pitch():
    model = single("screw", axis="z", pitch=-0.5).finalize()
    assert np.allclose(
        wm.forward_kinematics(model, [np.pi / 2])[0], [0, 0, -np.pi / 4, *TURN_90_Z], atol=1e-15
    )


def test_euler_turns_are_carried():
    model = single("euler", order="xyz").finalize()
    first, second = np.array([0.5**0.5, 0, 0, 0.5**0.5]), np.array([0, 0.5**0.5, 0, 0.5**0.5])
    product = np.r_[
        first[3] * second[:3] + second[3] * first[:3] + np.cross(first[:3], second[:3]),
        first[3] * second[3] - first[:3] @ second[:3],
    ]
    pose = wm.forward_kinematics(model, [np.pi / 2, np.pi / 2, 0.0])[0]
    assert np.allclose(pose[3:], product, atol=1e-15)


def test_cable_stretches_then_bends():
    model = single("cable", axis="z", bend_axis="x").finalize()
    pose = wm.forward_kinematics(model, [0.7, np.pi])[0]
    assert np.allclose(pose, [0, 0, 0.7, 1, 0, 0, 0], atol=1e-15)
    config = JointDofConfig(axis="y", armature=3.0)
    model = single("cable", stretch=config, bend=config).finalize()
    assert model.joint_axis.tolist() == [[0, 0, 1], [1, 0, 0]]  # the axes of the joint, not of the config
    assert model.joint_armature.tolist() == [3.0, 3.0]


def test_distance_keeps_its_range():
    assert single("distance").finalize().joint_distance.tolist() == [[-1.0, 1.0]]
    model = single("distance", min_distance=0.5, max_distance=2.0).finalize()
    assert model.joint_distance.tolist() == [[0.5, 2.0]]
    assert single("distance", min_distance=3.0, max_distance=-1.0).finalize().joint_distance[0, 1] == -1.0
    for bad in ({"min_distance": 2.0, "max_distance": 1.0}, {"min_distance": NAN}, {"max_distance": INF}):
        with pytest.raises(ValueError, match="distance"):
            single("distance", **bad)


def test_frames_move_the_child():
    """x_wc = x_wp X_p x_j X_c^-1."""
    builder = ModelBuilder()
    base, tip = add_box(builder), add_box(builder)
    joints = [
        builder.add_joint_fixed(-1, base, parent_xform=(0, 0, 1, *TURN_90_Z)),
        builder.add_joint_prismatic(
            base, tip, "x", parent_xform=(1, 0, 0, 0, 0, 0, 1), child_xform=(0, 0, 0.25, 0, 0, 0, 1)
        ),
    ]
    builder.add_articulation(joints)
    poses = wm.forward_kinematics(builder.finalize(), [2.0])
    assert np.allclose(poses[0], [0, 0, 1, *TURN_90_Z], atol=1e-15)
    assert np.allclose(poses[1], [0, 3, 0.75, *TURN_90_Z], atol=1e-15)


@pytest.mark.parametrize("kind", ["free", "distance"])
def test_free_coordinates_start_at_the_pose_of_the_body(kind):
    rng = np.random.default_rng(3)

    def pose():
        x = rng.normal(size=7)
        x[3:] /= np.linalg.norm(x[3:])
        return x

    builder = ModelBuilder()
    base, tip = add_box(builder, xform=pose()), add_box(builder, xform=pose())
    frames = [{"parent_xform": pose(), "child_xform": pose()} for _ in range(2)]
    joints = [
        add_joint(builder, kind, -1, base, **frames[0]),
        add_joint(builder, kind, base, tip, **frames[1]),
    ]
    builder.add_articulation(joints)
    model = builder.finalize()
    poses = wm.forward_kinematics(model, model.joint_q)
    for have, want in zip(poses, model.body_q, strict=True):
        sign = np.sign(have[3:] @ want[3:])
        assert np.allclose(have, np.r_[want[:3], sign * want[3:]], atol=1e-14)


@pytest.mark.parametrize(
    ("kind", "options", "word"),
    [
        ("revolute", {"axis": (0, 0, 0)}, "zero"),
        ("revolute", {"axis": "w"}, "x, y, z"),
        ("revolute", {"axis": (1, 2)}, "3 numbers"),
        ("revolute", {"axis": None}, "3 numbers"),
        ("revolute", {"axis": 1}, "3 numbers"),
        ("revolute", {"axis": (NAN, 0, 0)}, "finite"),
        ("revolute", {"limits": 3}, "'limits'"),
        ("revolute", {"label": 7}, "string"),
        ("revolute", {"parent_xform": (0,) * 7}, "quaternion"),
        ("revolute", {"parent_xform": (1, 2)}, "parent_xform"),
        ("revolute", {"child_xform": (NAN,) * 7}, "child_xform"),
        ("revolute", {"armature": (1.0, 2.0)}, "armature"),
        ("screw", {"pitch": NAN}, "pitch"),
        ("screw", {"pitch": "fine"}, "pitch"),
        ("universal", {"axis": "x", "axis2": (-1, 0, 0)}, "parallel"),
        ("planar", {"axis": "x", "axis2": (1, 1e-9, 0)}, "parallel"),
        ("euler", {"order": "xxz"}, "euler order"),
        ("euler", {"order": "xy"}, "euler order"),
        ("euler", {"order": "abc"}, "euler order"),
        ("euler", {"order": None}, "euler order"),
        ("translational", {"axes": "x"}, "2 or 3"),
        ("translational", {"axes": "xx"}, "independent"),
        ("translational", {"axes": [(1, 0, 0), (0, 1, 0), (1, 1, 0)]}, "independent"),
        ("translational", {"axes": None}, "2 or 3"),
        ("d6", {"linear_axes": [], "angular_axes": []}, "at least one"),
        ("d6", {"linear_axes": [JointDofConfig()] * 4}, "at most 3"),
        ("d6", {"linear_axes": [JointDofConfig()] * 2}, "independent"),
        ("d6", {"angular_axes": [JointDofConfig(axis=a) for a in "xxy"]}, "parallel"),
        ("d6", {"angular_axes": [JointDofConfig(axis=a) for a in "yxx"]}, "parallel"),
        ("d6", {"linear_axes": ["x"]}, "JointDofConfig"),
        ("d6", {"linear_axes": None}, "JointDofConfig"),
        ("d6", {"linear_axes": JointDofConfig()}, "JointDofConfig"),
        ("cable", {"stretch": 5}, "JointDofConfig"),
        ("free", {"limit_lower": 3}, "bound the angle of its rotation"),
        ("free", {"target_ke": 3}, "'target_ke'"),
        ("fixed", {"axis": "x"}, "'axis'"),
    ],
)
def test_joints_that_cannot_be(kind, options, word):
    builder = single("revolute")
    link = add_box(builder)
    refuses(builder, lambda: add_joint(builder, kind, -1, link, **JOINTS[kind][0] | options), word)


@pytest.mark.parametrize(
    ("parent", "child"),
    [(-2, 0), (5, 0), (0, 5), (0, -1), ("a", 0), (None, 0), (0.0, 1), (True, 0), (0, 0)],
)
def test_parent_and_child_are_links(parent, child):
    builder = ModelBuilder()
    builder.add_link(label="one")
    builder.add_link()
    refuses(builder, lambda: builder.add_joint_fixed(parent, child), "'joint_001'")


def test_numpy_indices_and_large_axes_are_fine():
    builder = ModelBuilder()
    builder.add_link()
    builder.add_link()
    builder.add_joint_revolute(np.int64(0), np.int32(1), axis=(1e200, 0, 0))
    assert builder.joints[0].axes[0].tolist() == [1.0, 0.0, 0.0]


def test_axes_by_name_and_number():
    for axis in (Axis.Y, "y", "Y", (0, 3, 0), np.array([0.0, 0.5, 0.0])):
        assert single("revolute", axis=axis).finalize().joint_axis.tolist() == [[0, 1, 0]]


# ---- options of several degrees of freedom


def test_one_value_for_all_axes_or_one_each():
    model = single(
        "universal", armature=0.5, limit_lower=(-1.0, -2.0), damping=np.array([3.0, 4.0])
    ).finalize()
    assert model.joint_armature.tolist() == [0.5, 0.5]
    assert model.joint_limit_lower.tolist() == [-1.0, -2.0]
    assert model.joint_damping.tolist() == [3.0, 4.0]
    model = single("planar", limit_upper=[1.0, 2.0, 3.0]).finalize()
    assert model.joint_limit_upper.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="limit_upper"):
        single("planar", limit_upper=[1.0, 2.0])


# ---- the order of links is free


def test_order_of_links_does_not_matter():
    """The same tree with its links added in another order has the same dynamics."""
    rng = np.random.default_rng(1)
    masses, hangs_on = rng.uniform(1, 2, 5), [-1, 0, 1, 0, 3]
    models = []
    for order in ([0, 1, 2, 3, 4], [3, 0, 4, 2, 1]):
        builder = ModelBuilder()
        index = {}
        for i in order:
            index[i] = add_box(builder, mass=masses[i], label=f"link{i}")
        joints = [
            builder.add_joint_revolute(
                index[p] if p >= 0 else -1, index[i], "xyz"[i % 3], parent_xform=(0.3, 0, 0.1 * i, 0, 0, 0, 1)
            )
            for i, p in enumerate(hangs_on)
        ]
        builder.add_articulation(joints)
        models.append(builder.finalize())
    q, v, tau = rng.normal(size=(3, 5))
    first, second = models
    assert np.array_equal(wm.mass_matrix(first, q), wm.mass_matrix(second, q))
    assert np.array_equal(wm.forward_dynamics(first, q, v, tau), wm.forward_dynamics(second, q, v, tau))
    for label in first.body_label:
        a = wm.forward_kinematics(first, q)[first.body_index(label)]
        assert np.array_equal(a, wm.forward_kinematics(second, q)[second.body_index(label)])


# ---- initial values


def test_initial_values_may_be_written():
    builder = single("revolute")
    builder.joint_q[-1], builder.joint_qd[-1], builder.joint_f[-1] = 0.5, 10.0, 2.0
    model = builder.finalize()
    assert (model.joint_q[0], model.joint_qd[0], model.joint_f[0]) == (0.5, 10.0, 2.0)


@pytest.mark.parametrize("name", ["joint_q", "joint_qd", "joint_f"])
@pytest.mark.parametrize("values", [[NAN] * 7, ["a"] * 7, [0.0], [0.0] * 9, None])
def test_initial_values_are_checked(name, values):
    builder = single("free")
    setattr(builder, name, values)
    with pytest.raises(ValueError, match=name):
        builder.finalize()


def test_initial_quaternions_are_unit():
    builder = single("ball")
    builder.joint_q[:] = [0, 0, 3, 4]
    assert builder.finalize().joint_q.tolist() == [0, 0, 0.6, 0.8]
    builder.joint_q[:] = [0, 0, 0, 0]
    with pytest.raises(ValueError, match="quaternion"):
        builder.finalize()


def test_builder_goes_on_after_finalize():
    builder = single("revolute")
    first = builder.finalize()
    builder.joint_q[0] = 0.5
    builder.add_body(mass=1.0, inertia=BOX)
    second = builder.finalize()
    assert (first.body_count, second.body_count) == (1, 2)
    assert (first.joint_q[0], second.joint_q[0]) == (0.0, 0.5)
    assert wm.forward_kinematics(first, [0.1]).shape == (1, 7)
