# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Second derivatives of inverse dynamics, and dynamics under constraints of accelerations."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from trees import KINDS, random_tree
from worldline import simulation as sx
from worldline._src.errors import ArgumentError
from worldline._src.jit import DISABLED

needs_duals = pytest.mark.skipif(DISABLED, reason="dual numbers need the compiler")


def state(seed, count=6, **options):
    rng = np.random.default_rng(seed)
    model = random_tree(rng, count, **options)
    q = wm.random_configuration(model, rng)
    return model, q, rng


# ---- second derivatives


@needs_duals
def test_second_derivatives_of_every_joint_against_differences():
    model, q, rng = state(4, len(KINDS), passive=True)
    n, h = model.joint_dof_count, 1e-4
    v, a = rng.normal(size=(2, n))
    made = wm.inverse_dynamics_second_derivatives(model, q, v, a)
    first = wm.inverse_dynamics_derivatives
    for k in range(0, n, 3):
        e = h * np.eye(n)[k]

        def slope(which, up, down):
            return (getattr(up, which) - getattr(down, which)) / (2.0 * h)

        moved = [first(model, wm.integrate(model, q, s * e), v, a) for s in (1.0, -1.0)]
        faster = [first(model, q, v + s * e, a) for s in (1.0, -1.0)]
        pushed = [first(model, q, v, a + s * e) for s in (1.0, -1.0)]
        for ours, expected in (
            (made.dq_dq[..., k], slope("dtau_dq", *moved)),
            (made.dqd_dqd[..., k], slope("dtau_dqd", *faster)),
            (made.dq_dqd[..., k], slope("dtau_dq", *faster)),
            (made.dq_dqdd[..., k], slope("dtau_dq", *pushed)),
        ):
            np.testing.assert_allclose(ours, expected, atol=2e-6 * (1.0 + np.abs(expected).max()))


@needs_duals
def test_second_derivatives_have_their_symmetries():
    rng = np.random.default_rng(6)
    builder = wm.ModelBuilder()
    parent, joints = -1, []
    for k in range(4):
        link = builder.add_link(mass=1.0 + k, com=rng.uniform(-0.3, 0.3, 3))
        pose = (*rng.uniform(-0.5, 0.5, 3), 0, 0, 0, 1)
        joints.append(
            builder.add_joint_revolute(parent, link, axis=rng.normal(size=3), parent_xform=pose, armature=0.1)
        )
        parent = link
    builder.add_articulation(joints)
    model = builder.finalize()
    q, v, a = rng.normal(size=(3, 4))
    made = wm.inverse_dynamics_second_derivatives(model, q, v, a)
    scale = np.abs(made.dq_dq).max()
    np.testing.assert_allclose(made.dq_dq, made.dq_dq.swapaxes(1, 2), atol=1e-12 * (1.0 + scale))
    np.testing.assert_allclose(made.dqd_dqd, made.dqd_dqd.swapaxes(1, 2), atol=1e-13)
    # the derivative of the mass matrix is symmetric as the matrix is: d tau_i / dqdd_k by q_j
    np.testing.assert_allclose(made.dq_dqdd, made.dq_dqdd.swapaxes(0, 2), atol=1e-12)
    # Coriolis forces are half of their second derivative by velocities, twice by the velocity
    np.testing.assert_allclose(
        0.5 * np.einsum("ijk,j,k->i", made.dqd_dqd, v, v), wm.coriolis_forces(model, q, v), atol=1e-12
    )


@needs_duals
def test_worlds_are_each_for_itself():
    model, _, rng = state(9, 4)
    q = wm.random_configuration(model, rng, worlds=3)
    v, a = rng.normal(size=(2, 3, model.joint_dof_count))
    many = wm.inverse_dynamics_second_derivatives(model, q, v, a)
    for k in range(3):
        for ours, alone in zip(
            many, wm.inverse_dynamics_second_derivatives(model, q[k], v[k], a[k]), strict=True
        ):
            np.testing.assert_allclose(ours[k], alone, atol=1e-12 * (1.0 + np.abs(alone).max()))


# ---- constraints


def test_the_saddle_point_problem_is_solved():
    model, q, rng = state(5, 8)
    n = model.joint_dof_count
    v, tau = rng.normal(size=(2, n))
    J, gamma = rng.normal(size=(5, n)), rng.normal(size=5)
    made = wm.constrained_dynamics(model, q, v, tau, J, gamma)
    M, bias = wm.mass_matrix(model, q), wm.bias_forces(model, q, v) - wm.passive_forces(model, q, v)
    kkt = np.block([[M, -J.T], [J, np.zeros((5, 5))]])
    whole = np.linalg.solve(kkt, np.concatenate([tau - bias, gamma]))
    np.testing.assert_allclose(
        made.acceleration, whole[:n], rtol=0, atol=1e-8 * (1 + np.abs(whole[:n]).max())
    )
    np.testing.assert_allclose(made.force, whole[n:], rtol=0, atol=1e-7 * (1 + np.abs(whole[n:]).max()))
    assert made.residual < 1e-8 and made.iterations <= 20
    np.testing.assert_allclose(
        wm.delassus_matrix(model, q, J), J @ np.linalg.solve(M, J.T), rtol=1e-9, atol=1e-12
    )


def test_redundant_and_contradicting_rows():
    model, q, rng = state(7, 5)
    n = model.joint_dof_count
    v, tau = rng.normal(size=(2, n))
    J = rng.normal(size=(3, n))
    twice = np.vstack([J, J[:2], J[:1] + J[1:2]])
    once = wm.constrained_dynamics(model, q, v, tau, J)
    again = wm.constrained_dynamics(model, q, v, tau, twice)
    np.testing.assert_allclose(again.acceleration, once.acceleration, atol=1e-7 * (1 + np.abs(tau).max()))
    assert again.residual < 1e-7
    # a row that shall do two things at once does the mean of both
    odd = wm.constrained_dynamics(model, q, v, tau, np.vstack([J[:1], J[:1]]), [1.0, 3.0])
    assert J[0] @ odd.acceleration == pytest.approx(2.0, abs=1e-6) and odd.residual == pytest.approx(
        1.0, abs=1e-6
    )
    nothing = wm.constrained_dynamics(model, q, v, tau, np.zeros((0, n)))
    np.testing.assert_array_equal(nothing.acceleration, wm.forward_dynamics(model, q, v, tau))


def test_against_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is a yardstick")
    made = pin.buildSampleModelManipulator()
    data = made.createData()
    rng = np.random.default_rng(2)
    q, v, tau = pin.randomConfiguration(made), rng.normal(size=made.nv), rng.normal(size=made.nv)
    frame = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, made, made.njoints - 1, pin.SE3.Identity())
    told = frame.createData()
    frames, tolds = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    frames.append(frame)
    tolds.append(told)
    pin.initConstraintDynamics(made, data, frames, tolds)
    theirs = pin.constraintDynamics(made, data, q, v, tau, frames, tolds).copy()
    # the same tree from its parts
    builder, links, joints = wm.ModelBuilder(gravity=made.gravity.linear), {0: -1}, []
    for j in range(1, made.njoints):
        part, place = made.inertias[j], made.jointPlacements[j]
        link = builder.add_link(mass=part.mass, com=part.lever, inertia=part.inertia)
        name = made.joints[j].shortname()
        pose = (*place.translation, *pin.Quaternion(place.rotation).coeffs())
        parent = links[made.parents[j]]
        if name.startswith("JointModelR") and len(name) == len("JointModelRX"):
            axis = np.eye(3)["XYZ".index(name[-1])]
            joints.append(builder.add_joint_revolute(parent, link, axis=axis, parent_xform=pose))
        else:
            pytest.skip(f"no joint for {name}")
        links[j] = link
    builder.add_articulation(joints)
    model = builder.finalize()
    J = wm.jacobian(model, q, links[made.njoints - 1])[3:]
    drift = wm.jacobian_dot_times_v(model, q, v, links[made.njoints - 1])[3:]
    ours = wm.constrained_dynamics(model, q, v, tau, J, -drift)
    np.testing.assert_allclose(ours.acceleration, theirs, atol=1e-6 * (1 + np.abs(theirs).max()))


def test_wrong_operands_are_refused():
    model, q, _ = state(5, 3)
    n = model.joint_dof_count
    v = np.zeros(n)
    with pytest.raises(ArgumentError, match="jacobian must be"):
        wm.constrained_dynamics(model, q, v, v, np.zeros((2, n + 1)))
    with pytest.raises(ArgumentError, match="gamma must be 1"):
        wm.constrained_dynamics(model, q, v, v, np.zeros((1, n)), [1.0, 2.0])
    with pytest.raises(ArgumentError, match="one world"):
        wm.delassus_matrix(model, np.stack([q, q]), np.zeros((1, n)))
    with pytest.raises(ArgumentError, match="proximal"):
        wm.constrained_dynamics(model, q, v, v, np.zeros((1, n)), proximal=0.0)


# ---- the same through a World


def test_a_multibody_has_them_in_its_own_order():
    world = sx.World()
    robot = world.add_multibody("robot")
    base = robot.add_link("base", joint=sx.JointSpec(name="turn", axis=(0, 0, 1)))
    left = robot.add_link(
        "left", parent=base, joint=sx.JointSpec(name="l", axis=(0, 1, 0)), center_of_mass=(0.3, 0, 0)
    )
    # made last, but a child of an earlier link: the order of the tree is another than that of construction
    robot.add_link(
        "right", parent=base, joint=sx.JointSpec(name="r", axis=(1, 0, 0)), center_of_mass=(0, 0.4, 0)
    )
    ahead = np.eye(4)
    ahead[0, 3] = 0.6
    wrist = sx.JointSpec(name="h", axis=(0, 0, 1), transform_to_parent=ahead)
    robot.add_link("hand", parent=left, joint=wrist, center_of_mass=(0.2, 0, 0))
    robot.joints.position, robot.joints.velocity = [0.1, 0.5, -0.4, 0.9], [1.0, -0.5, 0.3, 0.2]
    M = robot.mass_matrix
    J = robot.get_linear_jacobian(robot.links["hand"], (0.1, 0.2, 0.3))
    np.testing.assert_allclose(robot.compute_delassus_matrix(J), J @ np.linalg.solve(M, J.T), atol=1e-12)
    drift = robot.get_jacobian_derivative_times_velocity(robot.links["hand"], (0.1, 0.2, 0.3))[3:]
    made = robot.compute_constrained_dynamics([1.0, 2.0, 3.0, 4.0], J, -drift)
    np.testing.assert_allclose(J @ made.acceleration, -drift, atol=1e-7)
    left_over = M @ made.acceleration + robot.coriolis_and_gravity_forces - J.T @ made.force
    np.testing.assert_allclose(left_over, [1.0, 2.0, 3.0, 4.0], atol=1e-7)
    with pytest.raises(ArgumentError, match="must match the 4"):
        robot.compute_delassus_matrix(np.zeros((2, 3)))


@needs_duals
def test_second_derivatives_of_a_multibody():
    world = sx.World()
    robot = world.add_multibody("robot")
    robot.add_link("bob", joint=sx.JointSpec(axis=(0, 1, 0)), mass=2.0, center_of_mass=(0, 0, -0.5))
    robot.joints.position = [0.7]
    made = robot.compute_inverse_dynamics_second_derivatives([0.0])
    assert made.dq_dq[0, 0, 0] == pytest.approx(-2.0 * 9.81 * 0.5 * np.sin(0.7), rel=1e-11)
    assert made.dqd_dqd.tolist() == [[[0.0]]]
