# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Poses, velocities, accelerations and Jacobians of links against each other and finite differences."""

from __future__ import annotations

import numpy as np

import worldline.model as wm
from references import rotations
from samples import ROUND_OFF, draw, every_flavour, gap, slope, times

# h^4 = 1e-12 times fifth derivatives of motions with rates of some rad/s, round-off over h is smaller
FINITE_DIFFERENCE = 1e-8


def some_points(model, worlds, count=6):
    """Random points, one a world, on random links."""
    rng = np.random.default_rng(3)
    for link in rng.choice(model.body_count, count, replace=False):
        yield int(link), rng.uniform(-0.5, 0.5, (worlds, 3))


def link_rotation(model, q, link):
    return rotations(wm.forward_kinematics(model, q)[:, link, 3:])


@every_flavour
def test_jacobian_times_velocity_is_the_velocity_of_the_point(flavour):
    model, q, v, _, _ = draw(flavour)
    V = wm.link_velocities(model, q, v)
    for link, point in some_points(model, len(q)):
        R = link_rotation(model, q, link)
        arm = times(R, point)
        omega, origin = V[:, link, :3], V[:, link, 3:]
        expected = np.concatenate([omega, origin + np.cross(omega, arm)], axis=1)
        J = wm.jacobian(model, q, link, point)
        assert gap(times(J, v), expected) < ROUND_OFF
        own = wm.jacobian(model, q, link, point, axes="link")
        back = R.transpose(0, 2, 1)
        assert gap(own, np.concatenate([back @ J[:, :3], back @ J[:, 3:]], axis=1)) < ROUND_OFF


@every_flavour
def test_jacobian_and_its_rate_give_the_acceleration_of_the_point(flavour):
    model, q, v, a, _ = draw(flavour)
    V, A = wm.link_velocities(model, q, v), wm.link_accelerations(model, q, v, a)
    for link, point in some_points(model, len(q)):
        R = link_rotation(model, q, link)
        arm, omega = times(R, point), V[:, link, :3]
        turning = np.cross(A[:, link, :3], arm) + np.cross(omega, np.cross(omega, arm))
        expected = np.concatenate([A[:, link, :3], A[:, link, 3:] + turning], axis=1)
        bias = wm.jacobian_dot_times_v(model, q, v, link, point)
        found = times(wm.jacobian(model, q, link, point), a) + bias
        assert gap(found, expected) < ROUND_OFF
        own = wm.jacobian_dot_times_v(model, q, v, link, point, axes="link")
        back = R.transpose(0, 2, 1)
        both = np.concatenate([times(back, bias[:, :3]), times(back, bias[:, 3:])], axis=1)
        assert gap(own, both) < ROUND_OFF


@every_flavour
def test_jacobian_rate_is_the_derivative_of_the_jacobian(flavour):
    model, q, v, _, _ = draw(flavour)
    for link, point in some_points(model, len(q), count=3):
        dJ = slope(lambda t, k=link, p=point: wm.jacobian(model, wm.integrate(model, q, t * v), k, p))
        assert gap(wm.jacobian_dot_times_v(model, q, v, link, point), times(dJ, v)) < FINITE_DIFFERENCE


@every_flavour
def test_jacobian_derivative_is_the_slope_of_the_jacobian(flavour):
    model, q, v, _, _ = draw(flavour)
    for link, point in some_points(model, len(q), count=3):
        for axes in ("world", "link"):
            dJ = slope(
                lambda t, k=link, p=point, a=axes: wm.jacobian(
                    model, wm.integrate(model, q, t * v), k, p, axes=a
                )
            )
            assert gap(wm.jacobian_derivative(model, q, v, link, point, axes=axes), dJ) < FINITE_DIFFERENCE
        product = times(wm.jacobian_derivative(model, q, v, link, point), v)
        assert gap(product, wm.jacobian_dot_times_v(model, q, v, link, point)) < ROUND_OFF


@every_flavour
def test_jacobian_has_no_columns_off_the_path_to_the_link(flavour):
    model, q, _, _, _ = draw(flavour, worlds=2)
    for link in range(model.body_count):
        path, body = set(), link
        while body >= 0:
            joint = int(np.flatnonzero(model.joint_child == body)[0])
            path.update(range(model.joint_qd_start[joint], model.joint_qd_start[joint + 1]))
            body = int(model.joint_parent[joint])
        off = [d for d in range(model.joint_dof_count) if d not in path]
        assert not wm.jacobian(model, q, link, (0.1, 0.2, 0.3))[:, :, off].any()


@every_flavour
def test_velocities_are_rates_of_poses(flavour):
    model, q, v, _, _ = draw(flavour)

    def poses(t):
        pose = wm.forward_kinematics(model, wm.integrate(model, q, t * v))
        return np.concatenate([rotations(pose[..., 3:]).reshape(*pose.shape[:2], 9), pose[..., :3]], axis=2)

    R = poses(0.0)[..., :9].reshape(len(q), -1, 3, 3)
    rate = slope(poses)
    # R' R^T is the angular velocity as a cross product
    spin = rate[..., :9].reshape(R.shape) @ np.swapaxes(R, -1, -2)
    omega = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
    expected = np.concatenate([omega, rate[..., 9:]], axis=-1)
    assert gap(wm.link_velocities(model, q, v), expected) < FINITE_DIFFERENCE


@every_flavour
def test_accelerations_are_rates_of_velocities(flavour):
    model, q, v, a, _ = draw(flavour)
    expected = slope(
        lambda t: wm.link_velocities(model, wm.integrate(model, q, t * v + 0.5 * t * t * a), v + t * a)
    )
    assert gap(wm.link_accelerations(model, q, v, a), expected) < FINITE_DIFFERENCE


@every_flavour
def test_maximal_velocities_are_those_of_centres_of_mass(flavour):
    """eval_fk gives the velocity of the centre of mass first, link_velocities the angular one."""
    model, q, v, _, _ = draw(flavour, worlds=1)
    state = model.state()
    wm.eval_fk(model, q[0], v[0], state)
    V = wm.link_velocities(model, q[0], v[0])
    assert gap(state.body_q, wm.forward_kinematics(model, q[0])) < ROUND_OFF
    arm = times(rotations(state.body_q[:, 3:]), model.body_com)
    expected = np.concatenate([V[:, 3:] + np.cross(V[:, :3], arm), V[:, :3]], axis=1)
    assert gap(state.body_qd, expected) < ROUND_OFF
