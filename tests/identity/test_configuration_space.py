# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""integrate, difference and interpolate undo each other; neutral and random configurations."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from references import rotations
from trees import KINDS, random_tree
from worldline.model import JointType, ModelBuilder

WORLDS = 200
# sums of a few rounded products, of size pi at most
ABSOLUTE = 2e-15
QUATERNIONS = (JointType.BALL, JointType.FREE, JointType.DISTANCE)
ANGLES = [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 0.99e-4, 1.01e-4, 1e-2, 1.0, 3.0]
NEAR_PI = [np.pi - d for d in (1e-2, 1e-5, 1e-8, 1e-12)]


def tree(seed=0):
    return random_tree(np.random.default_rng(seed), 2 * len(KINDS), trees=2)


def angular(model):
    """Degrees of freedom of orientations, three at a time."""
    return [
        slice(model.joint_qd_start[j + 1] - 3, model.joint_qd_start[j + 1])
        for j in range(model.joint_count)
        if model.joint_type[j] in QUATERNIONS
    ]


def turned_by(model, angle, rng):
    """Displacements whose orientations turn by an angle about random axes."""
    d = rng.normal(size=(WORLDS, model.joint_dof_count))
    for part in angular(model):
        d[:, part] *= angle / np.linalg.norm(d[:, part], axis=1, keepdims=True)
    return d


def same(model, q0, q1, tolerance):
    """Equal configurations; a quaternion and its negative are one orientation."""
    q0, q1 = q0.copy(), q1.copy()
    for j in range(model.joint_count):
        if model.joint_type[j] in QUATERNIONS:
            part = slice(model.joint_q_start[j + 1] - 4, model.joint_q_start[j + 1])
            flip = np.sign((q0[..., part] * q1[..., part]).sum(axis=-1, keepdims=True))
            q1[..., part] *= flip
    return np.abs(q0 - q1).max() < tolerance


@pytest.mark.parametrize("angle", ANGLES + NEAR_PI)
def test_difference_undoes_integrate(angle):
    rng = np.random.default_rng(1)
    model = tree()
    assert len(angular(model)) >= 6
    q = wm.random_configuration(model, rng, worlds=WORLDS)
    d = turned_by(model, angle, rng)
    assert np.abs(wm.difference(model, q, wm.integrate(model, q, d)) - d).max() < ABSOLUTE
    if angle < 1e-4:
        # from the neutral configuration nothing rounds and tiny turns keep all their digits
        start = wm.neutral(model)
        back = wm.difference(model, start, wm.integrate(model, start, d))
        for part in angular(model):
            assert back[:, part] == pytest.approx(d[:, part], rel=1e-14, abs=1e-308)


@pytest.mark.parametrize("seed", range(3))
def test_integrate_undoes_difference(seed):
    rng = np.random.default_rng(seed)
    model = tree(seed)
    q0, q1 = (wm.random_configuration(model, rng, worlds=WORLDS) for _ in range(2))
    d = wm.difference(model, q0, q1)
    assert same(model, wm.integrate(model, q0, d), q1, ABSOLUTE)
    assert np.abs(wm.difference(model, q1, q0) + d).max() < ABSOLUTE
    for part in angular(model):
        assert np.linalg.norm(d[:, part], axis=1).max() <= np.pi + ABSOLUTE


@pytest.mark.parametrize("angle", [np.pi - 1e-9, np.pi, np.pi + 1e-9, 2 * np.pi - 1e-9, 2 * np.pi, 7.0, 1e3])
def test_turns_of_half_a_turn_and_more(angle):
    """The displacement back is the short way, and leads to the same orientation."""
    rng = np.random.default_rng(2)
    model = tree()
    q = wm.random_configuration(model, rng, worlds=WORLDS)
    moved = wm.integrate(model, q, turned_by(model, angle, rng))
    d = wm.difference(model, q, moved)
    short = abs((angle + np.pi) % (2 * np.pi) - np.pi)
    for part in angular(model):
        assert np.linalg.norm(d[:, part], axis=1) == pytest.approx(
            np.full(WORLDS, short), abs=4e-16 * max(angle, 10.0)
        )
    assert same(model, wm.integrate(model, q, d), moved, ABSOLUTE)


def test_displacements_along_one_direction_add_up():
    rng = np.random.default_rng(3)
    model = tree()
    q = wm.random_configuration(model, rng, worlds=WORLDS)
    d = rng.normal(size=(WORLDS, model.joint_dof_count))
    twice = wm.integrate(model, wm.integrate(model, q, 0.3 * d), 0.5 * d)
    assert same(model, twice, wm.integrate(model, q, 0.8 * d), ABSOLUTE)
    assert same(model, wm.integrate(model, wm.integrate(model, q, d), -d), q, ABSOLUTE)
    assert same(model, wm.integrate(model, q, 0.0 * d), q, ABSOLUTE)


def test_axis_coordinates_simply_add():
    model = random_tree(
        np.random.default_rng(4), 20, tuple(k for k in KINDS if k not in ("ball", "free", "distance"))
    )
    rng = np.random.default_rng(5)
    q, d = rng.normal(size=(2, WORLDS, model.joint_dof_count)) * 10.0
    assert np.array_equal(wm.integrate(model, q, d), q + d)
    assert np.array_equal(wm.difference(model, q, d), d - q)


def test_interpolation():
    rng = np.random.default_rng(6)
    model = tree()
    q0, q1 = (wm.random_configuration(model, rng, worlds=WORLDS) for _ in range(2))
    d = wm.difference(model, q0, q1)
    fraction = rng.uniform(-0.5, 1.5, WORLDS)
    between = wm.interpolate(model, q0, q1, fraction)
    assert same(model, between, wm.integrate(model, q0, fraction[:, None] * d), 2 * ABSOLUTE)
    assert same(model, between, wm.interpolate(model, q1, q0, 1.0 - fraction), 2 * ABSOLUTE)
    assert same(model, wm.interpolate(model, q0, q1, 0.0), q0, ABSOLUTE)
    assert same(model, wm.interpolate(model, q0, q1, 1.0), q1, ABSOLUTE)
    half = wm.interpolate(model, q0, q1, 0.5)
    assert np.abs(wm.difference(model, q0, half) - wm.difference(model, half, q1)).max() < 2 * ABSOLUTE


def test_quaternions_are_unit_and_their_sign_and_length_do_not_matter():
    rng = np.random.default_rng(7)
    model = tree()
    q = wm.random_configuration(model, rng, worlds=WORLDS)
    other = q.copy()
    for j in range(model.joint_count):
        if model.joint_type[j] in QUATERNIONS:
            end = model.joint_q_start[j + 1]
            other[:, end - 4 : end] *= rng.uniform(0.1, 10.0, (WORLDS, 1)) * rng.choice(
                [-1.0, 1.0], (WORLDS, 1)
            )
    v, d = rng.normal(size=(2, WORLDS, model.joint_dof_count))
    moved = wm.integrate(model, other, d)
    for j in range(model.joint_count):
        if model.joint_type[j] in QUATERNIONS:
            end = model.joint_q_start[j + 1]
            assert np.abs(np.linalg.norm(moved[:, end - 4 : end], axis=1) - 1.0).max() < 1e-15
    assert same(model, moved, wm.integrate(model, q, d), ABSOLUTE)
    assert np.abs(wm.difference(model, q, other)).max() < ABSOLUTE
    assert wm.forward_kinematics(model, other) == pytest.approx(wm.forward_kinematics(model, q), abs=1e-13)
    assert wm.bias_forces(model, other, v) == pytest.approx(wm.bias_forces(model, q, v), rel=1e-9, abs=1e-9)


# ---- neutral and random configurations


def test_neutral_configuration():
    model = tree()
    q = wm.neutral(model)
    assert q.shape == (model.joint_coord_count,)
    assert not wm.difference(model, q, wm.integrate(model, q, np.zeros(model.joint_dof_count))).any()
    # no joint has moved: a body sits where its joint's two frames coincide
    pose = wm.forward_kinematics(model, q)
    at = [(np.zeros(3), np.eye(3))] * (model.body_count + 1)
    for j in range(model.joint_count):
        p, R = at[model.joint_parent[j]]
        X_p, X_c = model.joint_X_p[j], model.joint_X_c[j]
        anchor, R_joint = p + R @ X_p[:3], R @ rotations(X_p[3:])
        R_child = R_joint @ rotations(X_c[3:]).T
        at[model.joint_child[j]] = anchor - R_child @ X_c[:3], R_child
    for body in range(model.body_count):
        assert pose[body, :3] == pytest.approx(at[body][0], abs=1e-13)
        assert rotations(pose[body, 3:]) == pytest.approx(at[body][1], abs=1e-13)


def limited(low, high):
    builder = ModelBuilder()
    joints, parent = [], -1
    for kind in ("revolute", "prismatic", "universal", "planar", "euler", "translational"):
        link = builder.add_link(mass=1.0, inertia=np.eye(3))
        add = getattr(builder, f"add_joint_{kind}")
        joints.append(add(parent, link, limit_lower=low, limit_upper=high))
        parent = link
    builder.add_articulation(joints)
    return builder.finalize()


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-0.2, 0.1),
        (5.0, 6.0),
        (-8.0, -7.5),
        (0.4, 0.4),
        (-100.0, 100.0),
        (5.0, np.inf),
        (-np.inf, -5.0),
        (-0.1, np.inf),
    ],
)
def test_random_configurations_respect_limits(low, high):
    model = limited(low, high)
    q = wm.random_configuration(model, 0, worlds=2000)
    assert (q >= low).all() and (q <= high).all()
    if np.isfinite(high - low):
        # and use all of the range: with 2000 draws the ends are missed by 1 % with probability 2e-9
        reached = (high - low) * 0.01
        assert (q.min(axis=0) <= low + reached).all() and (q.max(axis=0) >= high - reached).all()
    else:
        assert (np.ptp(q, axis=0) > 0.5).all()


def test_random_configurations_without_limits():
    model = tree()
    q = wm.random_configuration(model, 1, worlds=4000)
    assert np.array_equal(q, wm.random_configuration(model, np.random.default_rng(1), worlds=4000))
    assert wm.random_configuration(model, 1).shape == (model.joint_coord_count,)
    for j in range(model.joint_count):
        linear = int(model.joint_dof_dim[j, 0])
        part = q[:, model.joint_q_start[j] : model.joint_q_start[j + 1]]
        assert np.abs(part[:, :linear]).max(initial=0.0) <= 1.0
        if model.joint_type[j] in QUATERNIONS:
            R = rotations(part[:, linear:])
            assert np.abs(np.linalg.norm(part[:, linear:], axis=1) - 1.0).max() < 1e-15
            # uniform orientations average to nothing; entries have variance 1/3
            assert np.abs(R.mean(axis=0)).max() < 5.0 * np.sqrt(1.0 / 3.0 / 4000)
        else:
            assert np.abs(part[:, linear:]).max(initial=0.0) <= np.pi
    free = wm.random_configuration(limited(5.0, 6.0), 0, worlds=100, within_limits=False)
    assert np.abs(free).max() <= np.pi
