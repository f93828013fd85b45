# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline.math` against SciPy's rotations and matrix functions, Pinocchio's groups, and finite differences."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation, Slerp

from processes import loaded_by
from worldline import math as wm
from worldline._src.errors import ArgumentError

RNG = np.random.default_rng(5)
ANGLES = (
    0.0,
    1e-300,
    1e-12,
    1e-9,
    1e-8,
    1e-5,
    1e-3,
    0.1,
    1.0,
    1.9999,
    2.0,
    2.0001,
    3.0,
    np.pi - 1e-3,
    np.pi - 1e-9,
)


def directions(n=20):
    x = RNG.normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def rotation_vectors():
    return np.concatenate([angle * directions() for angle in ANGLES])


def twists():
    w = rotation_vectors()
    return np.concatenate([w, RNG.normal(size=w.shape)], axis=1)


def hat(twist):
    """The 4x4 matrix of a twist, angular first."""
    H = np.zeros((4, 4))
    H[:3, :3], H[:3, 3] = wm.skew(twist[:3]), twist[3:]
    return H


def test_all_24_orders_are_there():
    assert len(wm.EULER_ORDERS) == len(set(wm.EULER_ORDERS)) == 24


@pytest.mark.parametrize("order", wm.EULER_ORDERS)
def test_euler_angles_are_those_of_scipy(order):
    angles = RNG.uniform(-7.0, 7.0, (500, 3))
    theirs = Rotation.from_euler(order, angles)
    np.testing.assert_allclose(wm.euler_to_matrix(angles, order), theirs.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(
        wm.matrix_to_euler(theirs.as_matrix(), order), theirs.as_euler(order), atol=1e-9
    )
    np.testing.assert_allclose(
        wm.quaternion_to_euler(theirs.as_quat(), order), theirs.as_euler(order), atol=1e-9
    )


@pytest.mark.parametrize("order", wm.EULER_ORDERS)
def test_euler_angles_reproduce_the_rotation_at_and_near_gimbal_lock(order):
    ends = (0.0, np.pi) if order[0] == order[2] else (-np.pi / 2, np.pi / 2)
    for end in ends:
        for off in (0.0, 1e-16, 1e-15, 1e-12, 1e-9, 1e-8, 1e-7, 1e-4):
            angles = RNG.uniform(-3.0, 3.0, (50, 3))
            angles[:, 1] = end + off
            R = wm.euler_to_matrix(angles, order)
            again = wm.matrix_to_euler(R, order)
            np.testing.assert_allclose(wm.euler_to_matrix(again, order), R, atol=5e-15)
    locked = wm.matrix_to_euler(Rotation.from_euler(order, [0.3, 0.0, 0.0]).as_matrix(), order)
    if order[0] == order[2]:
        assert locked[2] == 0.0 and locked[0] == pytest.approx(0.3, abs=1e-15)


def test_an_order_that_does_not_exist_is_refused_with_what_is_allowed():
    for order in ("xxy", "xyZ", "abc", "xy", ""):
        with pytest.raises(ArgumentError, match="neighbours differ"):
            wm.euler_to_matrix([0, 0, 0], order)


def test_quaternions_are_those_of_scipy():
    a, b = Rotation.random(200, rng=RNG), Rotation.random(200, rng=RNG)
    v = RNG.normal(size=(200, 3))
    made = wm.quaternion_multiply(a.as_quat(), b.as_quat())
    np.testing.assert_allclose(wm.quaternion_to_matrix(made), (a * b).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(wm.quaternion_rotate(3.0 * a.as_quat(), v), a.apply(v), atol=1e-14)
    np.testing.assert_allclose(
        wm.quaternion_to_matrix(wm.quaternion_conjugate(a.as_quat())), a.inv().as_matrix(), atol=1e-14
    )
    np.testing.assert_allclose(wm.matrix_to_quaternion(a.as_matrix()), a.as_quat(canonical=True), atol=1e-14)
    np.testing.assert_allclose(
        wm.quaternion_distance(a.as_quat(), -b.as_quat()), (a.inv() * b).magnitude(), atol=1e-14
    )
    axis, angle = wm.quaternion_to_axis_angle(a.as_quat())
    np.testing.assert_allclose(angle[:, None] * axis, a.as_rotvec(), atol=1e-14)
    np.testing.assert_allclose(
        wm.axis_angle_to_quaternion(5.0 * axis, angle), a.as_quat(canonical=True), atol=1e-14
    )
    assert wm.quaternion_to_axis_angle([0, 0, 0, 1])[0].tolist() == [1.0, 0.0, 0.0]


def test_slerp_is_that_of_scipy_and_takes_the_short_way():
    ends = Rotation.random(2, rng=RNG)
    t = np.linspace(0, 1, 9)
    theirs = Slerp([0, 1], ends)(t).as_matrix()
    a, b = ends.as_quat()
    for sign in (1.0, -1.0):
        np.testing.assert_allclose(wm.quaternion_to_matrix(wm.slerp(a, sign * b, t)), theirs, atol=1e-14)
    np.testing.assert_allclose(wm.slerp(a, a, 0.3), a, atol=1e-15)


def test_rotation_vectors_lose_no_digits_near_zero_and_pi():
    for w in rotation_vectors():
        q = wm.rotation_vector_to_quaternion(w)
        np.testing.assert_allclose(
            wm.quaternion_to_rotation_vector(q), w, rtol=1e-14, atol=1e-15 * np.linalg.norm(w)
        )
        np.testing.assert_allclose(wm.so3_exp(w), Rotation.from_rotvec(w).as_matrix(), atol=1e-15)
        # a matrix has no more than 1e-16 absolute
        np.testing.assert_allclose(wm.so3_log(wm.so3_exp(w)), w, atol=4e-15)
    half = wm.so3_log(np.diag([1.0, -1.0, -1.0]))
    np.testing.assert_allclose(np.abs(half), [np.pi, 0, 0], atol=1e-15)


def test_exponentials_and_logarithms_are_matrix_functions():
    for x in twists():
        T = wm.se3_exp(x)
        np.testing.assert_allclose(T, expm(hat(x)), atol=2e-14)
        np.testing.assert_allclose(wm.se3_log(T), x, atol=2e-13)
    for x in twists()[::7]:
        if np.linalg.norm(x[:3]) < 3.0:
            np.testing.assert_allclose(logm(wm.se3_exp(x)).real, hat(x), atol=1e-11)


def test_groups_are_those_of_pinocchio():
    pin = pytest.importorskip("pinocchio")
    swap = [3, 4, 5, 0, 1, 2]  # linear first there
    for x in twists():
        T = wm.se3_exp(x)
        theirs = pin.exp6(pin.Motion(x[swap]))
        np.testing.assert_allclose(T, theirs.homogeneous, atol=1e-13)
        np.testing.assert_allclose(wm.se3_adjoint(T), theirs.action[np.ix_(swap, swap)], atol=1e-13)
        np.testing.assert_allclose(
            wm.se3_right_jacobian(x), pin.Jexp6(pin.Motion(x[swap]))[np.ix_(swap, swap)], atol=1e-6
        )
        # its own coefficients lose digits near zero and pi
        if 0.05 < np.linalg.norm(x[:3]) < 3.1:
            np.testing.assert_allclose(
                wm.se3_right_jacobian(x), pin.Jexp6(pin.Motion(x[swap]))[np.ix_(swap, swap)], atol=1e-9
            )
            np.testing.assert_allclose(
                wm.se3_right_jacobian_inverse(x), pin.Jlog6(theirs)[np.ix_(swap, swap)], atol=1e-9
            )


def test_jacobians_are_derivatives_and_inverses_are_inverses():
    h = 1e-6
    for x in twists():
        if np.linalg.norm(x[:3]) > 3.1:
            continue
        Jl, Jr = wm.se3_left_jacobian(x), wm.se3_right_jacobian(x)
        T = wm.se3_inverse(wm.se3_exp(x))
        for d in range(6):
            step = h * np.eye(6)[d]
            after, before = wm.se3_exp(x + step), wm.se3_exp(x - step)
            left = (wm.se3_log(after @ T) - wm.se3_log(before @ T)) / (2 * h)
            right = (wm.se3_log(T @ after) - wm.se3_log(T @ before)) / (2 * h)
            np.testing.assert_allclose(Jl[:, d], left, atol=2e-9)
            np.testing.assert_allclose(Jr[:, d], right, atol=2e-9)
        np.testing.assert_allclose(Jl @ wm.se3_left_jacobian_inverse(x), np.eye(6), atol=1e-13)
        np.testing.assert_allclose(Jr @ wm.se3_right_jacobian_inverse(x), np.eye(6), atol=1e-13)
        np.testing.assert_allclose(Jl[:3, :3], wm.so3_left_jacobian(x[:3]), atol=0)
        np.testing.assert_allclose(Jr[:3, :3], wm.so3_right_jacobian(x[:3]), atol=0)
        np.testing.assert_allclose(
            wm.so3_right_jacobian_inverse(x[:3]) @ wm.so3_right_jacobian(x[:3]), np.eye(3), atol=1e-14
        )


def test_series_and_closed_forms_meet():
    for n in (3.999999, 4.000001, 9.0, 25.0):
        w = np.sqrt(n) * directions(5)
        x = np.concatenate([w, RNG.normal(size=(5, 3))], axis=1)
        for each in x:
            # the left Jacobian is the integral of Ad(exp(s x)) over s from 0 to 1: Gauss-Legendre
            s, weight = np.polynomial.legendre.leggauss(30)
            J = sum(
                0.5 * k * expm(0.5 * (a + 1.0) * wm.se3_bracket(each)) for a, k in zip(s, weight, strict=True)
            )
            np.testing.assert_allclose(wm.se3_left_jacobian(each), J, atol=2e-14)


def test_adjoints_move_twists_and_the_bracket_is_their_rate():
    x, y = RNG.normal(size=(2, 6))
    T = wm.se3_exp(x)
    np.testing.assert_allclose(
        wm.se3_exp(wm.se3_adjoint(T) @ y), T @ wm.se3_exp(y) @ wm.se3_inverse(T), atol=1e-13
    )
    np.testing.assert_allclose(wm.se3_adjoint(T), expm(wm.se3_bracket(x)), atol=1e-13)
    np.testing.assert_allclose(hat(wm.se3_bracket(x) @ y), hat(x) @ hat(y) - hat(y) @ hat(x), atol=1e-14)
    np.testing.assert_allclose(wm.unskew(wm.skew(x[:3])), x[:3], atol=0)


def test_a_screw_keeps_its_twist():
    A, B = wm.se3_exp(RNG.normal(size=(2, 6)))
    path = wm.se3_interpolate(A, B, np.linspace(0, 1, 11))
    np.testing.assert_allclose(path[0], A, atol=1e-15)
    np.testing.assert_allclose(path[-1], B, atol=1e-14)
    rates = wm.se3_log(wm.se3_inverse(path[:-1]) @ path[1:])
    np.testing.assert_allclose(rates, np.broadcast_to(rates[0], rates.shape), atol=1e-13)


def test_poses_and_transforms():
    pose = np.concatenate(
        [RNG.normal(size=(4, 5, 3)), Rotation.random(20, rng=RNG).as_quat(canonical=True).reshape(4, 5, 4)],
        axis=-1,
    )
    T = wm.pose_to_transform(pose)
    assert T.shape == (4, 5, 4, 4)
    np.testing.assert_allclose(wm.transform_to_pose(T), pose, atol=1e-14)
    np.testing.assert_allclose(T @ wm.se3_inverse(T), np.broadcast_to(np.eye(4), T.shape), atol=1e-14)
    np.testing.assert_allclose(wm.make_transform(T[..., :3, :3], T[..., :3, 3]), T, atol=0)


def test_leading_dimensions_broadcast_and_empty_ones_are_kept():
    q = wm.random_quaternion(RNG, (3, 1))
    assert wm.quaternion_rotate(q, np.ones((4, 3))).shape == (3, 4, 3)
    assert wm.slerp(q, q[0], np.zeros(5)).shape == (3, 5, 4)
    assert wm.quaternion_to_matrix(np.zeros((0, 4))).shape == (0, 3, 3)
    assert wm.matrix_to_quaternion(np.zeros((0, 3, 3))).shape == (0, 4)
    assert wm.se3_log(np.zeros((2, 0, 4, 4))).shape == (2, 0, 6)
    with pytest.raises(ArgumentError, match="do not broadcast"):
        wm.quaternion_multiply(np.ones((3, 4)), np.ones((2, 4)))


def test_repair_and_chance():
    M = RNG.normal(size=(50, 3, 3))
    R = wm.nearest_rotation(M)
    np.testing.assert_allclose(np.swapaxes(R, 1, 2) @ R, np.broadcast_to(np.eye(3), R.shape), atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(R), 1.0, atol=1e-14)
    theirs = [Rotation.from_matrix(wm.nearest_rotation(m)).as_matrix() for m in M]
    np.testing.assert_allclose(R, theirs, atol=1e-14)
    for m, r in zip(M, R, strict=True):
        other = wm.so3_exp(0.01 * directions(30)) @ r
        assert np.linalg.norm(m - r) <= np.linalg.norm(m - other, axis=(1, 2)).min()
    # the mean of uniform rotations applied to a vector is zero
    v = wm.quaternion_rotate(wm.random_quaternion(RNG, 20000), [1, 2, 3])
    assert np.abs(v.mean(axis=0)).max() < 0.1
    np.testing.assert_allclose(
        wm.wrap_angle([0.0, 7.0, -7.0, np.pi]), [0.0, 7 - 2 * np.pi, 2 * np.pi - 7, -np.pi], atol=1e-15
    )


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: wm.so3_exp([1, 2]), r"\(\.\.\., 3\), got \(2,\)"),
        (lambda: wm.so3_log(2 * np.eye(3)), "nearest_rotation"),
        (lambda: wm.so3_log(np.diag([1.0, 1.0, -1.0])), "mirrors"),
        (lambda: wm.se3_log(np.ones((4, 4))), "last row"),
        (lambda: wm.quaternion_rotate([0, 0, 0, 0], [1, 0, 0]), "must not be zero"),
        (lambda: wm.axis_angle_to_quaternion([0, 0, 0], 1.0), "axis must not be zero"),
        (lambda: wm.skew("abc"), "must be numbers"),
        (lambda: wm.random_quaternion(3), "Generator"),
    ],
)
def test_what_is_no_operand_is_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()


def test_nothing_is_written_into_operands():
    for function, shape in ((wm.so3_exp, (3,)), (wm.se3_exp, (6,)), (wm.quaternion_normalize, (4,))):
        x = RNG.normal(size=shape)
        before = x.copy()
        function(x)[...] = 7.0
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("name", ["rotations", "lie_groups"])
def test_examples_of_the_mathematics(name):
    module = importlib.import_module(f"worldline._src.math.{name}")
    done = doctest.testmod(module)
    assert done.failed == 0 and done.attempted > 5
    assert all(getattr(wm, each).__doc__ for each in wm.__all__)


def test_the_mathematics_needs_no_compiler():
    assert loaded_by("import worldline.math", "numba") == []
