# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""ArticulationView: what it selects, the shapes it gives, what it writes and what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest

import worldline.model as wm
from builders import add_box, robot, single
from worldline.model import ArticulationView, Control, JointType, ModelBuilder, eval_fk


def scene(root: str = "free", worlds: int = 1) -> wm.Model:
    """Two equal robots and a ball between them."""
    builder = ModelBuilder()
    builder.add_builder(robot(root), prefix="a/")
    builder.add_body(mass=1.0, inertia=np.eye(3), label="ball")
    builder.add_builder(robot(root), prefix="b/", xform=(2, 0, 0, 0, 0, 0, 1))
    builder.replicate(worlds)
    return builder.finalize()


# ---- which articulations


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*/robot", [0, 2]),
        ("a/*", [0]),
        ("[ab]/robot", [0, 2]),
        ("?/robot", [0, 2]),
        ("ball", [1]),
        (["b/*", "a/*"], [0, 2]),
        (("a/robot",), [0]),
        (re.compile(r".*/robot"), [0, 2]),
        ([re.compile("a.*"), "b/*"], [0, 2]),
        ([0], [0]),
        ([2, 0], [0, 2]),
        (np.array([1]), [1]),
        (["a/*", 2], [0, 2]),
    ],
)
def test_patterns(pattern, expected):
    view = ArticulationView(scene(), pattern)
    assert view.articulations == expected
    assert view.count == len(expected)


@pytest.mark.parametrize("pattern", ["robot", "A/*", "*/rob", re.compile("robot"), [], ["x", "y"], ""])
def test_no_match_is_a_key_error(pattern):
    with pytest.raises(KeyError, match="a/robot, ball, b/robot"):
        ArticulationView(scene(), pattern)


@pytest.mark.parametrize("pattern", [[3], [-1], [1.5], [True], [None], 0, None])
def test_bad_patterns(pattern):
    with pytest.raises(ValueError, match="articulation"):
        ArticulationView(scene(), pattern)


def test_count_is_over_all_worlds():
    view = ArticulationView(scene(worlds=3), "*/robot")
    assert (view.count, view.world_count) == (6, 3)


# ---- alike


def tree(builder: ModelBuilder, name: str, parents, labels=None) -> None:
    links = [add_box(builder) for _ in parents]
    joints = [
        builder.add_joint_revolute(
            links[p] if p >= 0 else -1, link, label=None if labels is None else f"{name}/{labels[i]}"
        )
        for i, (p, link) in enumerate(zip(parents, links, strict=True))
    ]
    builder.add_articulation(joints, label=name)


def test_other_joint_types_are_not_alike():
    builder = ModelBuilder()
    builder.add_builder(robot("free"), prefix="a/")
    builder.add_builder(robot("ball"), prefix="b/")
    with pytest.raises(ValueError, match="'a/robot' and 'b/robot'"):
        ArticulationView(builder.finalize(), "*")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (((-1, 0), None), ((-1, 0, 1), None)),
        (((-1, 0, 1), None), ((-1, 0, 0), None)),
        (((-1, 0), "ab"), ((-1, 0), "ac")),
    ],
    ids=["number", "shape of the tree", "labels"],
)
def test_other_trees_are_not_alike(first, second):
    builder = ModelBuilder()
    tree(builder, "one", *first)
    tree(builder, "two", *second)
    with pytest.raises(ValueError, match="'one' and 'two'"):
        ArticulationView(builder.finalize(), "*")


def test_labels_that_tell_nothing_apart_may_differ():
    builder = ModelBuilder()
    tree(builder, "robot1", (-1, 0))
    tree(builder, "robot2", (-1, 0))
    for label in ("ball1", "ball2"):
        builder.add_body(mass=1.0, label=label)
    tree(builder, "door1", (-1,), ["left"])
    tree(builder, "door2", (-1,), ["right"])
    model = builder.finalize()
    for pattern in ("robot*", "ball*", "door*"):
        assert ArticulationView(model, pattern).count == 2


# ---- shapes and filters


@pytest.mark.parametrize("worlds", [1, 3])
def test_shapes(worlds):
    model = scene(worlds=worlds)
    state, control = model.state(), model.control()
    view = ArticulationView(model, "*/robot")
    assert view.get_dof_positions(state).shape == (worlds, 2, 8)
    assert view.get_dof_velocities(state).shape == (worlds, 2, 7)
    assert view.get_dof_forces(control).shape == (worlds, 2, 7)
    assert view.get_link_transforms(state).shape == (worlds, 2, 2, 7)
    assert view.get_link_velocities(state).shape == (worlds, 2, 2, 6)
    assert view.get_root_transforms(state).shape == (worlds, 2, 7)
    assert (view.joint_coord_count, view.joint_dof_count) == (8, 7)
    assert not view.is_scalar()


@pytest.mark.parametrize(
    ("filters", "joints", "links"),
    [
        ({}, ["root", "elbow"], ["base", "hand"]),
        ({"include_joints": "elbow"}, ["elbow"], ["base", "hand"]),
        ({"include_joints": ["e*", "root"]}, ["root", "elbow"], ["base", "hand"]),
        ({"include_joints": [1]}, ["elbow"], ["base", "hand"]),
        ({"include_joints": re.compile("el.*")}, ["elbow"], ["base", "hand"]),
        ({"exclude_joints": "root"}, ["elbow"], ["base", "hand"]),
        ({"exclude_joints": "nobody"}, ["root", "elbow"], ["base", "hand"]),
        ({"include_joints": "*", "exclude_joints": "*"}, [], ["base", "hand"]),
        ({"include_links": "hand"}, ["root", "elbow"], ["hand"]),
        ({"exclude_links": ["b*"]}, ["root", "elbow"], ["hand"]),
        ({"exclude_links": "*"}, ["root", "elbow"], []),
        ({"include_joint_types": [JointType.REVOLUTE]}, ["elbow"], ["base", "hand"]),
        ({"include_joint_types": [1]}, ["elbow"], ["base", "hand"]),
        ({"include_joint_types": [JointType.BALL]}, [], ["base", "hand"]),
        ({"exclude_joint_types": [JointType.FREE, JointType.BALL]}, ["elbow"], ["base", "hand"]),
    ],
)
def test_filters(filters, joints, links):
    model = scene()
    state = model.state()
    view = ArticulationView(model, "*/robot", **filters)
    assert view.joint_labels == joints
    assert view.link_labels == links
    sizes = {"root": (7, 6), "elbow": (1, 1)}
    assert view.get_dof_positions(state).shape == (1, 2, sum(sizes[j][0] for j in joints))
    assert view.get_dof_velocities(state).shape == (1, 2, sum(sizes[j][1] for j in joints))
    assert view.get_link_transforms(state).shape == (1, 2, len(links), 7)
    assert view.is_scalar() == ("root" not in joints)


@pytest.mark.parametrize(
    ("filters", "error"),
    [
        ({"include_joints": "elbo"}, KeyError),
        ({"include_links": "a/hand"}, KeyError),  # the last part of a label only
        ({"include_joints": [2]}, ValueError),
        ({"exclude_links": [-1]}, ValueError),
        ({"exclude_joints": 5}, ValueError),
        ({"include_joint_types": JointType.FREE}, ValueError),
        ({"include_joint_types": ["FREE"]}, ValueError),
        ({"exclude_joint_types": [99]}, ValueError),
    ],
)
def test_bad_filters(filters, error):
    with pytest.raises(error):
        ArticulationView(scene(), "*/robot", **filters)


def test_values_are_those_of_the_articulation():
    model = scene(worlds=2)
    state = model.state()
    state.joint_q[...] = np.arange(state.joint_q.size).reshape(state.joint_q.shape)
    state.joint_qd[...] = np.arange(state.joint_qd.size).reshape(state.joint_qd.shape)
    state.body_q[...] = np.arange(state.body_q.size).reshape(state.body_q.shape)
    view = ArticulationView(model, "*/robot")
    # robot a, the ball, robot b: 8 + 7 + 8 coordinates, 7 + 6 + 7 velocities, 2 + 1 + 2 bodies
    for w in range(2):
        q, v, x = state.joint_q[w], state.joint_qd[w], state.body_q[w]
        assert np.array_equal(view.get_dof_positions(state)[w], [q[:8], q[15:]])
        assert np.array_equal(view.get_dof_velocities(state)[w], [v[:7], v[13:]])
        assert np.array_equal(view.get_link_transforms(state)[w], [x[:2], x[3:]])
        elbow = ArticulationView(model, "*/robot", include_joints="elbow")
        assert np.array_equal(elbow.get_dof_positions(state)[w], [[q[7]], [q[22]]])


def test_what_is_returned_is_a_copy():
    model = scene()
    state = model.state()
    view = ArticulationView(model, "*/robot")
    for get in (view.get_dof_positions, view.get_link_transforms, view.get_root_transforms):
        before = state.copy()
        get(state)[...] = 99.0
        assert np.array_equal(state.joint_q, before.joint_q)
        assert np.array_equal(state.body_q, before.body_q)


# ---- writing


@pytest.mark.parametrize("worlds", [1, 3])
def test_set_and_get(worlds):
    model = scene(worlds=worlds)
    state, control = model.state(), model.control()
    view = ArticulationView(model, "*/robot", exclude_joint_types=[JointType.FREE])
    rng = np.random.default_rng(0)
    for get, put, holder in (
        (view.get_dof_positions, view.set_dof_positions, state),
        (view.get_dof_velocities, view.set_dof_velocities, state),
        (view.get_dof_forces, view.set_dof_forces, control),
    ):
        values = rng.normal(size=(worlds, 2, 1))
        put(holder, values)
        assert np.array_equal(get(holder), values)
    # nothing else changed
    assert np.count_nonzero(state.joint_qd) == 2 * worlds
    assert np.count_nonzero(control.joint_f) == 2 * worlds


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (5.0, [[[5.0], [5.0]]] * 2),
        ([[1.0], [2.0]], [[[1.0], [2.0]]] * 2),
        (np.array([[[1]], [[2]]]), [[[1.0], [1.0]], [[2.0], [2.0]]]),
    ],
)
def test_values_are_broadcast(values, expected):
    model = scene(worlds=2)
    state = model.state()
    view = ArticulationView(model, "*/robot", include_joints="elbow")
    view.set_dof_positions(state, values)
    assert view.get_dof_positions(state).tolist() == expected


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ([True, False], [[9, 9], [0, 0]]),
        ([[True, False], [False, True]], [[9, 0], [0, 9]]),
        (np.zeros((2, 2), bool), [[0, 0], [0, 0]]),
    ],
)
def test_masks(mask, expected):
    model = scene(worlds=2)
    state, control = model.state(), model.control()
    view = ArticulationView(model, "*/robot", include_joints="elbow")
    view.set_dof_positions(state, 9.0, mask=mask)
    view.set_dof_velocities(state, 9.0, mask=mask)
    view.set_dof_forces(control, 9.0, mask=mask)
    for got in (view.get_dof_positions(state), view.get_dof_velocities(state), view.get_dof_forces(control)):
        assert got[..., 0].tolist() == expected


@pytest.mark.parametrize("mask", [[True], [1, 0], [True] * 3, "all", np.ones((2, 3), bool), np.ones((2, 2))])
def test_bad_masks_write_nothing(mask):
    model = scene(worlds=2)
    state = model.state()
    view = ArticulationView(model, "*/robot", include_joints="elbow")
    with pytest.raises(ValueError, match="mask"):
        view.set_dof_positions(state, 9.0, mask=mask)
    with pytest.raises(ValueError, match="mask"):
        ArticulationView(model, "*/robot").set_root_transforms(state, (9, 9, 9, 0, 0, 0, 1), mask=mask)
    assert not (state.joint_q == 9.0).any()


@pytest.mark.parametrize(
    "values",
    [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((3, 2, 1)), "a", None, np.nan, np.inf, [1j], [[1], [2, 3]]],
)
def test_bad_values_write_nothing(values):
    model = scene(worlds=2)
    state, control = model.state(), model.control()
    before, pushed = state.copy(), control.joint_f.copy()
    view = ArticulationView(model, "*/robot", include_joints="elbow")
    for put, holder in (
        (view.set_dof_positions, state),
        (view.set_dof_velocities, state),
        (view.set_dof_forces, control),
        (view.set_root_transforms, state),
    ):
        with pytest.raises(ValueError, match="values for"):
            put(holder, values)
    assert np.array_equal(state.joint_q, before.joint_q)
    assert np.array_equal(state.joint_qd, before.joint_qd)
    assert np.array_equal(control.joint_f, pushed)


def test_states_of_other_models_are_refused():
    view = ArticulationView(scene(worlds=2), "*/robot")
    for other in (scene(worlds=1), scene(worlds=3), single("revolute").finalize()):
        with pytest.raises(ValueError, match="joint_q"):
            view.get_dof_positions(other.state())
        with pytest.raises(ValueError, match="joint_q"):
            view.set_dof_positions(other.state(), 1.0)
        with pytest.raises(ValueError, match="joint_f"):
            view.get_dof_forces(other.control())
        with pytest.raises(ValueError, match="body_q"):
            view.get_link_transforms(other.state())
    control = Control(np.zeros(1), np.zeros(1), np.zeros(1))
    with pytest.raises(ValueError, match="got Control"):
        view.get_dof_positions(control)


# ---- roots


@pytest.mark.parametrize("root", ["free", "distance"])
def test_floating_roots_move_in_the_state(root):
    model = scene(root, worlds=2)
    state = model.state()
    view = ArticulationView(model, "*/robot")
    frames = model.joint_X_p.copy()
    poses = view.get_root_transforms(state)
    poses[..., 0] += 0.2
    poses[1, 0, 1] = 5.0
    view.set_root_transforms(state, poses)
    assert np.array_equal(view.get_root_transforms(state), poses)
    assert np.array_equal(state.joint_q[:, :7], poses[:, 0])
    assert np.array_equal(state.joint_q[:, 15:22], poses[:, 1])
    assert np.array_equal(model.joint_X_p, frames)
    body_q = state.body_q.copy()
    eval_fk(model, state.joint_q, state.joint_qd, state)
    assert np.allclose(state.body_q[:, 0, 0], body_q[:, 0, 0] + 0.2)
    assert state.body_q[1, 0, 1] == 5.0
    view.set_root_transforms(state, [7, 7, 7, 0, 0, 0, 1], mask=[False, True])
    assert view.get_root_transforms(state)[:, :, 0].tolist() == [poses[0, :, 0].tolist(), [7.0, 7.0]]


@pytest.mark.parametrize("root", ["fixed", "revolute", "ball"])
def test_other_roots_move_in_the_model(root):
    model = scene(root, worlds=2)
    state = model.state()
    view = ArticulationView(model, "*/robot")
    poses = view.get_root_transforms(state)
    assert poses[..., 0].tolist() == [[0, 2], [0, 2]]
    q = state.joint_q.copy()
    poses[..., 0] += 0.2
    view.set_root_transforms(state, poses)
    assert np.array_equal(state.joint_q, q)
    assert model.joint_X_p[[0, 3], 0].tolist() == [0.2, 2.2]
    assert np.array_equal(view.get_root_transforms(state), poses)
    eval_fk(model, state.joint_q, state.joint_qd, state)
    assert np.allclose(state.body_q[:, [0, 3], 0], [[0.2, 2.2]] * 2)
    view.set_root_transforms(state, [9, 9, 9, 0, 0, 0, 1], mask=[[False, True]] * 2)
    assert model.joint_X_p[[0, 3], 0].tolist() == [0.2, 9.0]


def test_roots_in_the_model_move_in_all_worlds_or_none():
    model = scene("fixed", worlds=2)
    state = model.state()
    view = ArticulationView(model, "*/robot")
    poses = view.get_root_transforms(state)
    poses[1, 0, 0] = 5.0
    for call in (
        lambda: view.set_root_transforms(state, poses),
        lambda: view.set_root_transforms(state, poses[:1] + 0, mask=[True, False]),
    ):
        with pytest.raises(ValueError, match="all worlds"):
            call()
    assert model.joint_X_p[[0, 3], 0].tolist() == [0.0, 2.0]


@pytest.mark.parametrize("root", ["free", "fixed"])
def test_root_quaternions(root):
    model = scene(root)
    state = model.state()
    view = ArticulationView(model, "*/robot")
    before = view.get_root_transforms(state)
    with pytest.raises(ValueError, match="quaternion"):
        view.set_root_transforms(state, np.zeros(7))
    assert np.array_equal(view.get_root_transforms(state), before)
    view.set_root_transforms(state, [0, 0, 0, 0, 0, 3, 4])
    assert np.allclose(view.get_root_transforms(state)[0, 0, 3:], [0, 0, 0.6, 0.8], atol=1e-15)


def test_several_roots_have_no_root_transform():
    builder = ModelBuilder()
    tree(builder, "feet", (-1, -1))
    model = builder.finalize()
    view = ArticulationView(model, "feet")
    for call in (view.get_root_transforms, lambda s: view.set_root_transforms(s, [0] * 6 + [1])):
        with pytest.raises(ValueError, match="several roots"):
            call(model.state())
    assert view.get_dof_positions(model.state()).shape == (1, 1, 2)


def test_orphans_are_invisible():
    builder = robot()
    builder.add_joint_revolute(-1, 1, label="closure")
    builder.add_builder(robot(), prefix="b/")
    model = builder.finalize(skip_validation_joints=True)
    view = ArticulationView(model, "*robot")
    assert view.joint_labels == ["root", "elbow"]
    assert view.get_dof_positions(model.state()).shape == (1, 2, 8)
