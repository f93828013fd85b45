# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Generalized and maximal coordinates: exact both ways, and only what is selected is written."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import worldline.model as wm
from builders import add_box, empty_state, robot, single
from trees import KINDS, random_inertia, random_pose
from trees import add_joint as add_random_joint
from worldline._src.errors import ArgumentError
from worldline.model import BodyFlags, JointDofConfig, ModelBuilder, eval_fk, eval_ik

EXACT = 1e-12
WORLDS = 40


def there(model, q, v):
    """Maximal coordinates of many worlds."""
    state = empty_state(model, len(q))
    eval_fk(model, q, v, state)
    return state


def back(model, state):
    q = np.full((len(state.body_q), model.joint_coord_count), np.pi)
    v = np.full((len(state.body_q), model.joint_dof_count), np.pi)
    eval_ik(model, state, q, v)
    return q, v


def gaps(a, b):
    """Largest differences of positions, orientations (a quaternion is its negative) and velocities."""
    turn = np.minimum(
        np.abs(a.body_q - b.body_q)[..., 3:].max(-1), np.abs(a.body_q + b.body_q)[..., 3:].max(-1)
    )
    return (
        np.abs(a.body_q - b.body_q)[..., :3].max(initial=0.0),
        turn.max(initial=0.0),
        np.abs(a.body_qd - b.body_qd).max(initial=0.0),
    )


def round_trip(model, q, v):
    """generalized -> maximal -> generalized -> maximal; returns the coordinates that came back."""
    state = there(model, q, v)
    q2, v2 = back(model, state)
    size = max(1.0, np.abs(state.body_q).max(), np.abs(state.body_qd).max())
    assert max(gaps(state, there(model, q2, v2))) < EXACT * size
    return q2, v2


def on_random_frames(rng, add) -> wm.Model:
    """Two links in a row; `add(builder, parent, child, frames)` makes the joints."""
    builder = ModelBuilder()
    parent, joints = -1, []
    for _ in range(2):
        link = builder.add_link(mass=1.0, com=rng.uniform(-0.3, 0.3, 3), inertia=random_inertia(rng, 1.0))
        frames = {"parent_xform": random_pose(rng), "child_xform": random_pose(rng)}
        joints.append(add(builder, parent=parent, child=link, **frames))
        parent = link
    builder.add_articulation(joints)
    return builder.finalize()


# ---- exact both ways


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_round_trip_of_every_joint_type(kind, seed):
    rng = np.random.default_rng(seed)
    model = on_random_frames(rng, lambda b, **k: add_random_joint(b, rng, kind, **k))
    q = wm.random_configuration(model, rng, worlds=WORLDS)
    v = rng.normal(size=(WORLDS, model.joint_dof_count))
    q2, v2 = round_trip(model, q, v)
    if model.joint_dof_dim[:, 1].max() < 3 or kind in ("ball", "free", "distance"):
        # three turns have two solutions; everything else comes back as it was
        assert np.abs(wm.difference(model, q, q2)).max(initial=0.0) < EXACT
        assert np.abs(v - v2).max(initial=0.0) < EXACT


@pytest.mark.parametrize("order", ["xyz", "zyx", "zxz", "yxy", "xzy", "yzx"])
def test_three_turns_come_back_when_the_middle_one_is_the_closest_to_zero(order):
    rng = np.random.default_rng(0)
    model = on_random_frames(rng, lambda b, **k: b.add_joint_euler(order=order, **k))
    q = rng.uniform(-3.0, 3.0, (WORLDS, 6))
    proper = order[0] == order[2]
    q[:, [1, 4]] = rng.uniform(0.1, 3.0, (WORLDS, 2)) if proper else rng.uniform(-1.5, 1.5, (WORLDS, 2))
    q2, v2 = round_trip(model, q, v := rng.normal(size=(WORLDS, 6)))
    assert np.abs(q - q2).max() < EXACT * 10
    assert np.abs(v - v2).max() < EXACT * 100


def test_angles_are_wrapped():
    model = single("revolute").finalize()
    turns = np.array([[-7.0], [3.0], [-3.0], [4.0], [100 * np.pi + 0.5]])
    q, _ = round_trip(model, turns, np.zeros((5, 1)))
    assert np.allclose(q[:, 0], [-7 + 2 * np.pi, 3, -3, 4 - 2 * np.pi, 0.5], atol=1e-12)
    q, _ = round_trip(model, np.array([[np.pi], [-np.pi]]), np.zeros((2, 1)))
    assert np.allclose(np.abs(q), np.pi, atol=1e-15)


@pytest.mark.parametrize("pitch", [0.2, -0.3, 1e-3, -1e-6, 50.0])
def test_screws_keep_their_whole_turns(pitch):
    rng = np.random.default_rng(4)
    model = on_random_frames(rng, lambda b, **k: b.add_joint_screw(axis=rng.normal(size=3), pitch=pitch, **k))
    q = rng.uniform(-40.0, 40.0, (WORLDS, 2))
    q2, v2 = round_trip(model, q, v := rng.normal(size=(WORLDS, 2)))
    assert np.abs(q - q2).max() < 1e-11 * max(1.0, abs(pitch))
    assert np.abs(v - v2).max() < 1e-11 * max(1.0, abs(pitch))


def test_screw_without_pitch_is_a_hinge():
    model = single("screw", pitch=0.0).finalize()
    q, _ = round_trip(model, np.array([[0.5], [-3.0]]), np.ones((2, 1)))
    assert np.allclose(q, [[0.5], [-3.0]], atol=EXACT)


@pytest.mark.parametrize("kind", ["ball", "free", "distance"])
@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-12, 1e-8, 1e-4])
def test_half_turns_of_orientations(kind, gap):
    rng = np.random.default_rng(6)
    model = on_random_frames(rng, lambda b, **k: add_random_joint(b, rng, kind, **k))
    q = wm.random_configuration(model, rng, worlds=WORLDS)
    axis = rng.normal(size=(WORLDS, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    half = 0.5 * (np.pi - gap)
    q[:, -4:-1], q[:, -1] = np.sin(half) * axis, np.cos(half)
    q2, v2 = round_trip(model, q, v := rng.normal(size=(WORLDS, model.joint_dof_count)))
    assert np.abs(wm.difference(model, q, q2)).max() < EXACT
    assert np.abs(v - v2).max() < EXACT


def test_orientations_need_not_be_unit():
    model = single("free").finalize()
    q = np.array([[1.0, 2.0, 3.0, 0.2, -0.4, 0.6, 1.8]])
    q2, _ = round_trip(model, q, np.ones((1, 6)))
    assert np.allclose(q2[0, 3:], q[0, 3:] / np.linalg.norm(q[0, 3:]), atol=EXACT)
    state = there(model, q, np.ones((1, 6)))
    state.body_q[..., 3:] *= 3.0
    assert np.allclose(back(model, state)[0], q2, atol=EXACT)


GAPS = [0.0, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-4, 0.02]


@pytest.mark.parametrize("order", ["xyz", "zxz"])
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_near_gimbal_lock_poses_and_velocities_are_met(order, gap, sign):
    """Angles and rates are not unique there, but what they do is, in the lock itself too."""
    rng = np.random.default_rng(7)
    model = single(
        "euler", order=order, parent_xform=random_pose(rng), child_xform=random_pose(rng)
    ).finalize()
    q = rng.uniform(-3.0, 3.0, (WORLDS, 3))
    q[:, 1] = sign * ((np.pi / 2 if order == "xyz" else 0.0) - gap)
    v = rng.normal(size=(WORLDS, 3))
    round_trip(model, q, v)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("rates", [(1, 1, 1), (1, 0, 1), (1, 1e-12, 1), (0, 1, 0), (1e-6, 1e-3, 10)])
def test_near_gimbal_lock_of_oblique_axes(gap, rates):
    """Outer axes that meet when the middle one, at 50 degrees to both, has turned by 0.7."""
    rng = np.random.default_rng(9)
    bend = np.deg2rad(50.0)
    a, b = np.array([0.0, 0.0, 1.0]), np.array([np.sin(bend), 0.0, np.cos(bend)])
    c = Rotation.from_rotvec(-0.7 * b).apply(a)
    model = on_random_frames(
        rng, lambda m, **k: m.add_joint_d6(angular_axes=[JointDofConfig(axis=e) for e in (a, b, c)], **k)
    )
    n = model.joint_dof_count
    q = rng.uniform(-3.0, 3.0, (WORLDS, n))
    q[:, 1::3] = 0.7 + gap
    round_trip(model, q, np.tile(rates, (WORLDS, n // 3)) * rng.normal(size=(WORLDS, n)))


@pytest.mark.parametrize("order", ["xyz", "zxz", "yxy"])
def test_rest_at_zero(order):
    """The zero of z x z is a gimbal lock, and a place where joints start."""
    model = single("euler", order=order).finalize()
    q2, v2 = round_trip(model, np.zeros((1, 3)), np.zeros((1, 3)))
    assert not q2.any()
    assert not v2.any()


@pytest.mark.parametrize("angle", [1e-5, 1e-3, 0.3])
def test_axes_that_nearly_coincide(angle):
    rng = np.random.default_rng(8)
    near = (np.cos(angle), np.sin(angle), 0.0)
    for builder in (
        single("universal", axis="x", axis2=near),
        single("translational", axes=["x", near]),
        single("translational", axes=["x", near, "z"]),
    ):
        model = builder.finalize()
        n = model.joint_dof_count
        round_trip(model, rng.uniform(-1, 1, (WORLDS, n)), rng.normal(size=(WORLDS, n)))


@pytest.mark.parametrize("slides", [0, 1, 2, 3])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_d6_with_axes_in_any_direction(slides, turns):
    """Neither perpendicular nor right-handed."""
    if slides + turns == 0:
        return
    rng = np.random.default_rng(10 * slides + turns)

    def axes(n):
        while True:
            found = rng.normal(size=(n, 3))
            found /= np.linalg.norm(found, axis=1, keepdims=True)
            if n < 2 or min(np.linalg.svd(found[[i, i + 1]])[1][-1] for i in range(n - 1)) > 0.4:
                if n < 3 or abs(np.linalg.det(found)) > 0.3:
                    return [JointDofConfig(axis=a) for a in found]

    model = on_random_frames(
        rng, lambda b, **k: b.add_joint_d6(linear_axes=axes(slides), angular_axes=axes(turns), **k)
    )
    n = model.joint_dof_count
    round_trip(model, rng.uniform(-1.5, 1.5, (WORLDS, n)), 0.2 * rng.normal(size=(WORLDS, n)))


def test_bodies_off_their_joints_are_projected():
    model = single("prismatic", axis="y").finalize()
    state = model.state()
    state.body_q[0] = [5.0, 0.7, -3.0, 0, 0, 0, 1]
    eval_ik(model, state, state.joint_q, state.joint_qd)
    assert state.joint_q.tolist() == [0.7]


# ---- meaning


def test_body_velocity_is_that_of_the_centre_of_mass():
    model = single("revolute", axis="z").finalize()  # com (0.1, 0.2, 0.3)
    state = model.state()
    eval_fk(model, np.zeros(1), np.array([2.0]), state)
    assert np.allclose(state.body_qd[0], [-0.4, 0.2, 0, 0, 0, 2], atol=1e-15)


def test_free_velocity_is_linear_of_the_origin_in_world_axes_then_angular_in_body_axes():
    model = single("free").finalize()
    turned = (0.0, 0.0, 0.0, 0.0, 0.0, np.sin(np.pi / 4), np.cos(np.pi / 4))
    velocity = wm.link_velocities(model, turned, [1, 2, 3, 4, 5, 6])[0]
    assert np.allclose(velocity, [-5, 4, 6, 1, 2, 3], atol=1e-15)


def test_velocities_are_rates_of_poses():
    rng = np.random.default_rng(9)
    model = on_random_frames(rng, lambda b, **k: add_random_joint(b, rng, "planar", **k))
    q, v, h = wm.random_configuration(model, rng), rng.normal(size=6), 1e-6
    state = model.state()
    eval_fk(model, q, v, state)
    before, after = (wm.forward_kinematics(model, q + s * h * v)[:, :3] for s in (-1, 1))
    origin = wm.link_velocities(model, q, v)
    assert np.allclose((after - before) / (2 * h), origin[:, 3:], atol=1e-9)
    arm = wm.forward_kinematics(model, q)
    for b in range(2):
        x, y, z, w = arm[b, 3:]
        com = model.body_com[b]
        axis = np.array([x, y, z])
        turned = com + 2 * np.cross(axis, np.cross(axis, com) + w * com)
        assert np.allclose(state.body_qd[b, :3], origin[b, 3:] + np.cross(origin[b, :3], turned), atol=1e-14)
        assert np.allclose(state.body_qd[b, 3:], origin[b, :3], atol=1e-15)


# ---- selection


def three_robots(worlds: int = 1) -> wm.Model:
    """Articulation 0 hangs on a kinematic root; 1 and 2 are dynamic."""
    builder = ModelBuilder()
    for i in range(3):
        base, hand = add_box(builder, is_kinematic=i == 0), add_box(builder)
        joints = [builder.add_joint_ball(-1, base), builder.add_joint_revolute(base, hand, "y")]
        builder.add_articulation(joints, label=f"robot{i}")
    builder.replicate(worlds)
    return builder.finalize()


BODIES, Q, V = 2, 5, 4  # of one robot


def fk_written(model, **selection):
    """Which of the 6 bodies eval_fk writes; both arrays must agree."""
    rng = np.random.default_rng(0)
    state = model.state()
    state.body_q[...], state.body_qd[...] = 7.0, 8.0
    q = wm.random_configuration(model, rng)
    v = rng.normal(size=model.joint_dof_count)
    full = model.state()
    eval_fk(model, q, v, full)
    eval_fk(model, q, v, state, **selection)
    written = (state.body_q != 7.0).any(-1)
    assert np.array_equal(written, (state.body_qd != 8.0).any(-1))
    assert np.array_equal(state.body_q[written], full.body_q[written])
    assert np.array_equal(state.body_qd[written], full.body_qd[written])
    return written.tolist()


def ik_written(model, **selection):
    """Which of the 6 joints eval_ik writes."""
    rng = np.random.default_rng(0)
    q, v = wm.random_configuration(model, rng), rng.normal(size=model.joint_dof_count)
    state = model.state()
    eval_fk(model, q, v, state)
    q2, v2 = np.full_like(q, 7.0), np.full_like(v, 8.0)
    eval_ik(model, state, q2, v2, **selection)
    joints = [
        (q2[model.joint_q_start[j] : model.joint_q_start[j + 1]] != 7.0).all()
        for j in range(model.joint_count)
    ]
    for j, written in enumerate(joints):
        part = slice(model.joint_q_start[j], model.joint_q_start[j + 1])
        rate = slice(model.joint_qd_start[j], model.joint_qd_start[j + 1])
        assert written or (q2[part] == 7.0).all()
        assert ((v2[rate] != 8.0) == written).all()
    return [bool(x) for x in joints]


T, F = True, False
SELECTIONS = [
    ({}, [T, T, T, T, T, T]),
    ({"mask": [F, T, F]}, [F, F, T, T, F, F]),
    ({"mask": np.array([T, F, T])}, [T, T, F, F, T, T]),
    ({"mask": [F, F, F]}, [F] * 6),
    ({"indices": [2]}, [F, F, F, F, T, T]),
    ({"indices": [2, 0, 2]}, [T, T, F, F, T, T]),
    ({"indices": np.array([1], np.int32)}, [F, F, T, T, F, F]),
    ({"indices": []}, [F] * 6),
    ({"body_flag_filter": BodyFlags.ALL}, [T] * 6),
    ({"body_flag_filter": BodyFlags.KINEMATIC}, [T, F, F, F, F, F]),
    ({"body_flag_filter": BodyFlags.DYNAMIC}, [F, T, T, T, T, T]),
    ({"body_flag_filter": 0}, [F] * 6),
    ({"mask": [T, T, F], "body_flag_filter": BodyFlags.DYNAMIC}, [F, T, T, T, F, F]),
    ({"indices": [1, 2], "body_flag_filter": BodyFlags.KINEMATIC}, [F] * 6),
]


@pytest.mark.parametrize(("selection", "expected"), SELECTIONS)
def test_only_what_is_selected_is_written(selection, expected):
    model = three_robots()
    assert fk_written(model, **selection) == expected
    assert ik_written(model, **selection) == expected


def test_mask_by_world():
    model = three_robots(worlds=2)
    mask = np.array([[T, F, F], [F, F, T]])
    state, moved = model.state(), model.state()
    moved.joint_q[...] = wm.random_configuration(model, 0, worlds=2)
    moved.joint_qd[...] = 1.0
    state.body_q[...], state.body_qd[...] = 7.0, 8.0
    eval_fk(model, moved.joint_q, moved.joint_qd, moved)
    eval_fk(model, moved.joint_q, moved.joint_qd, state, mask=mask)
    expected = np.repeat(mask, BODIES, axis=1)
    assert np.array_equal((state.body_q != 7.0).any(-1), expected)
    assert np.array_equal((state.body_qd != 8.0).any(-1), expected)
    assert np.array_equal(state.body_q[expected], moved.body_q[expected])
    q, v = np.full((2, 3 * Q), 7.0), np.full((2, 3 * V), 8.0)
    eval_ik(model, moved, q, v, mask=mask)
    assert np.array_equal(q != 7.0, np.repeat(mask, Q, axis=1))
    assert np.array_equal(v != 8.0, np.repeat(mask, V, axis=1))


@pytest.mark.parametrize(
    ("selection", "word"),
    [
        ({"mask": [T, T, T], "indices": [0]}, "not both"),
        ({"mask": [T, T]}, "mask"),
        ({"mask": [1, 0, 1]}, "mask"),
        ({"mask": T}, "mask"),
        ({"mask": [[T, T, T]]}, "mask"),
        ({"mask": [[T, T, T], [T, T, T]]}, "mask"),
        ({"mask": np.ones((1, 1, 3), bool)}, "mask"),
        ({"indices": [3]}, "indices"),
        ({"indices": [-1]}, "indices"),
        ({"indices": [0.0]}, "indices"),
        ({"indices": [True]}, "indices"),
        ({"indices": 1}, "indices"),
        ({"indices": [[0]]}, "indices"),
        ({"body_flag_filter": 4}, "body_flag_filter"),
        ({"body_flag_filter": -1}, "body_flag_filter"),
        ({"body_flag_filter": "ALL"}, "body_flag_filter"),
        ({"body_flag_filter": None}, "body_flag_filter"),
    ],
)
def test_bad_selections_write_nothing(selection, word):
    model = three_robots()
    state = model.state()
    state.body_q[...], state.body_qd[...] = 7.0, 8.0
    q, v = model.joint_q, model.joint_qd
    with pytest.raises(ArgumentError, match=word):
        eval_fk(model, q, v, state, **selection)
    assert (state.body_q == 7.0).all()
    assert (state.body_qd == 8.0).all()
    eval_fk(model, q, v, state)
    with pytest.raises(ArgumentError, match=word):
        eval_ik(model, state, q2 := np.full_like(q, 7.0), v2 := np.full_like(v, 8.0), **selection)
    assert (q2 == 7.0).all()
    assert (v2 == 8.0).all()


# ---- bad arrays


def frozen(shape):
    array = np.zeros(shape)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("name", ["body_q", "body_qd"])
@pytest.mark.parametrize(
    "bad", [np.zeros((3, 7)), np.zeros((2, 7), np.float32), frozen((2, 7)), [[0.0] * 7] * 2, None]
)
def test_eval_fk_writes_all_or_nothing(name, bad):
    model = robot().finalize()
    state = model.state()
    if isinstance(bad, np.ndarray) and name == "body_qd":
        bad = bad[:, :6]
    setattr(state, name, bad)
    good = "body_qd" if name == "body_q" else "body_q"
    getattr(state, good)[...] = 7.0
    with pytest.raises(ValueError, match=name):
        eval_fk(model, model.joint_q, model.joint_qd, state)
    assert (getattr(state, good) == 7.0).all()


@pytest.mark.parametrize("which", ["joint_q", "joint_qd"])
@pytest.mark.parametrize("bad", [np.zeros(9), np.zeros(3, np.float32), frozen(8), [0.0] * 8, None])
def test_eval_ik_writes_all_or_nothing(which, bad):
    model = robot().finalize()
    if isinstance(bad, np.ndarray) and which == "joint_qd" and len(bad) == 8:
        bad = bad[:7]
    targets = {"joint_q": np.full(8, 7.0), "joint_qd": np.full(7, 7.0)}
    good = targets["joint_qd" if which == "joint_q" else "joint_q"]
    targets[which] = bad
    with pytest.raises(ValueError, match=which):
        eval_ik(model, model.state(), **targets)
    assert (good == 7.0).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_coordinates_write_nothing(bad):
    model = robot().finalize()
    state = model.state()
    state.body_q[...] = 7.0
    q, qd = np.array(model.joint_q), np.array(model.joint_qd)
    for array, name in ((q, "joint_q"), (qd, "joint_qd")):
        kept, array[0] = array[0], bad
        with pytest.raises(ValueError, match=f"{name} must be finite"):
            eval_fk(model, q, qd, state)
        array[0] = kept
    assert (state.body_q == 7.0).all()
    state.body_qd[1, 2] = bad
    with pytest.raises(ValueError, match="body_qd must be finite"):
        eval_ik(model, state, q, qd)


def test_eval_ik_may_write_to_the_state_it_reads():
    model = robot().finalize()
    state = model.state()
    state.joint_q[:3] = [1, 2, 3]
    eval_fk(model, state.joint_q, state.joint_qd, state)
    state.joint_q[:] = 0.0
    eval_ik(model, state, state.joint_q, state.joint_qd)
    assert np.allclose(state.joint_q, [1, 2, 3, 0, 0, 0, 1, 0], atol=EXACT)


def test_non_contiguous_targets_are_written():
    model = robot().finalize()
    state = model.state()
    wide = np.zeros((2, 14))
    state.body_q = wide[:, ::2]
    eval_fk(model, model.joint_q, model.joint_qd, state)
    assert np.array_equal(wide[:, ::2], wm.forward_kinematics(model, model.joint_q))
    assert not wide[:, 1::2].any()
