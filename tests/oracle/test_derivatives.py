# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of dynamics and kinematics against Pinocchio's and against differences."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from trees import KINDS, random_hinge, random_inertia, random_pose, random_tree
from worldline._src.jit import DISABLED
from worldline._src.step import derivatives
from worldline.model import ModelBuilder

pytestmark = pytest.mark.skipif(DISABLED, reason="dual numbers need the compiler")

STEP = 1e-4
DIFFERENCES = 1e-7
"""Fourth-order central differences with that step are better than this, relative to the largest entry."""


def differences(model, function, operands, k):
    """Derivative of a function by one operand, displacements for coordinates; directions last."""
    columns = []
    for e in np.eye(model.joint_dof_count):
        moved = []
        for h in (STEP, -STEP, 2 * STEP, -2 * STEP):
            shifted = list(operands)
            shifted[k] = wm.integrate(model, operands[0], h * e) if k == 0 else operands[k] + h * e
            moved.append(function(model, *shifted))
        columns.append((8.0 * (moved[0] - moved[1]) - (moved[2] - moved[3])) / (12.0 * STEP))
    return np.stack(columns, axis=-1)


def close(ours, expected, tolerance):
    assert ours.shape == expected.shape
    np.testing.assert_allclose(ours, expected, rtol=0.0, atol=tolerance * (1.0 + np.abs(expected).max()))


@pytest.mark.parametrize("at_rest", [False, True])
def test_every_joint_against_differences(at_rest):
    rng = np.random.default_rng(3)
    model = random_tree(rng, len(KINDS), passive=True)
    model.update(body_gravcomp=rng.uniform(0.0, 0.5, model.body_count))
    q = wm.random_configuration(model, rng)
    v, a, tau = rng.normal(size=(3, model.joint_dof_count))
    if at_rest:
        # where rotation vectors and springs are zero a naive chain rule divides by zero
        q, v = wm.neutral(model), np.zeros_like(v)
    for made, function, last in (
        (wm.inverse_dynamics_derivatives(model, q, v, a), wm.inverse_dynamics, a),
        (wm.forward_dynamics_derivatives(model, q, v, tau), wm.forward_dynamics, tau),
    ):
        for k in range(3):
            close(made[k], differences(model, function, (q, v, last), k), DIFFERENCES)
    made = wm.kinematics_derivatives(model, q, v, a)
    for k in range(2):
        close(made[k], differences(model, wm.link_velocities, (q, v), k), DIFFERENCES)
    for k in range(3):
        close(made[2 + k], differences(model, wm.link_accelerations, (q, v, a), k), DIFFERENCES)
    made = wm.centroidal_derivatives(model, q, v)
    for k in range(2):
        close(made[k], differences(model, wm.momentum, (q, v), k), DIFFERENCES)


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 3.0])
def test_derivatives_of_integration_are_those_of_differences(scale):
    """Tangents at the end, by tangents at the start and by the displacement, every joint."""
    rng = np.random.default_rng(5)
    model = random_tree(rng, len(KINDS))
    n, q = model.joint_dof_count, wm.random_configuration(model, rng)
    u = scale * rng.normal(size=n)
    made, end = wm.integration_derivatives(model, u), wm.integrate(model, q, u)
    for k, h in ((k, 1e-6 * np.eye(n)[k]) for k in range(n)):
        starts = [wm.integrate(model, q, s * h) for s in (-1.0, 1.0)]
        by_start = [wm.difference(model, end, wm.integrate(model, x, u)) for x in starts]
        by_own = [wm.difference(model, end, wm.integrate(model, q, u + s * h)) for s in (-1.0, 1.0)]
        for matrix, (low, high) in zip(made, (by_start, by_own), strict=True):
            np.testing.assert_allclose(matrix[:, k], (high - low) / 2e-6, rtol=0.0, atol=1e-9)


def test_derivatives_of_integration_are_those_of_pinocchio():
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (package pin) is the yardstick of this test")
    rng = np.random.default_rng(6)
    model, theirs = pinocchio_twin(pin, rng, 9, True)
    q, u = wm.random_configuration(model, rng), rng.normal(size=model.joint_dof_count)
    made = wm.integration_derivatives(model, u)
    close(made[0], pin.dIntegrate(theirs, q, u)[0], 1e-13)
    close(made[1], pin.dIntegrate(theirs, q, u)[1], 1e-13)


@pytest.mark.parametrize("function", [wm.kinematics_derivatives, wm.centroidal_derivatives])
def test_lanes_and_threads_have_the_bits_of_one_world(function):
    rng = np.random.default_rng(7)
    model = random_tree(rng, len(KINDS))
    q = wm.random_configuration(model, rng, worlds=11)
    operands = [q, *rng.normal(size=(2, 11, model.joint_dof_count))][
        : 3 - (function is wm.centroidal_derivatives)
    ]
    one, lanes = function(model, *operands, lanes=1), function(model, *operands)
    threads = function(model, *operands, threads=2)
    for w in (0, 10):
        for whole, *others in zip(
            function(model, *(x[w] for x in operands)), one, lanes, threads, strict=True
        ):
            for other in others:
                np.testing.assert_array_equal(other[w], whole)


@pytest.mark.parametrize("compensated", [False, True], ids=["analytic", "in dual numbers"])
def test_matrices_are_written_to_one_array(compensated):
    rng = np.random.default_rng(8)
    model = random_tree(rng, len(KINDS))
    if compensated:
        model.update(body_gravcomp=rng.uniform(0.1, 0.5, model.body_count))
    q, n = wm.random_configuration(model, rng, worlds=5), model.joint_dof_count
    v, a = rng.normal(size=(2, 5, n))
    for function in (wm.inverse_dynamics_derivatives, wm.forward_dynamics_derivatives):
        out, expected = np.full((5, 3, n, n), np.nan), function(model, q, v, a)
        made = function(model, q, v, a, out=out)
        for k in range(3):
            np.testing.assert_array_equal(made[k], expected[k])
            np.testing.assert_array_equal(out[:, k], expected[k])
        with pytest.raises(ValueError, match=r"must be a float64 array of shape \(5, 3, "):
            function(model, q, v, a, out=out[:4])
        with pytest.raises(NotImplementedError, match="cannot be bound"):
            wm.bind(function, model, q[0], v[0], a[0])


def limbs(rng, lengths):
    """Chains of hinges on one floating base; four hinges in a row are solved together, others alone."""
    builder = ModelBuilder()
    base = builder.add_link(mass=5.0, inertia=random_inertia(rng, 5.0))
    joints = [builder.add_joint_free(base)]
    for length in lengths:
        parent = base
        for _ in range(length):
            mass, com, inertia, pose, axis = random_hinge(rng)
            child = builder.add_link(mass=mass, com=com, inertia=inertia)
            joints.append(
                builder.add_joint_revolute(parent=parent, child=child, axis=axis, parent_xform=pose)
            )
            parent = child
    builder.add_articulation(joints)
    return builder.finalize()


@pytest.mark.parametrize("lengths", [(), (1, 2), (3, 4, 5), (11, 8, 6)])
def test_derivatives_of_dynamics_have_the_bits_of_one_world_in_lanes(lengths):
    rng = np.random.default_rng(13)
    model = limbs(rng, lengths)
    n = model.joint_dof_count
    q = wm.random_configuration(model, rng, worlds=11)
    v, a = rng.normal(size=(2, 11, n))
    for function in (wm.inverse_dynamics_derivatives, wm.forward_dynamics_derivatives):
        one = function(model, q, v, a, lanes=1)
        for other in (function(model, q, v, a), function(model, q, v, a, lanes=4, threads=2)):
            for ours, expected in zip(other, one, strict=True):
                np.testing.assert_array_equal(ours, expected)
    # M da/dx = -dtau/dx at the accelerations of these forces
    accelerations = wm.forward_dynamics(model, q, v, a)
    there = wm.inverse_dynamics_derivatives(model, q, v, accelerations)
    M = there.dtau_dqdd
    close(M @ one.dqdd_dq, -there.dtau_dq, 1e-11)
    close(M @ one.dqdd_dqd, -there.dtau_dqd, 1e-11)
    close(M @ one.dqdd_dtau, np.broadcast_to(np.eye(n), M.shape), 1e-11)


def test_derivatives_do_not_depend_on_those_asked_for_before():
    """Entries outside the pattern of a tree were those of the call before."""
    rng = np.random.default_rng(14)
    model, fresh = limbs(rng, (1, 2)), limbs(np.random.default_rng(14), (1, 2))
    q = wm.random_configuration(model, rng, worlds=9)
    v, a = rng.normal(size=(2, 9, model.joint_dof_count))
    for lanes in (1, None):
        wm.forward_dynamics_derivatives(model, q, v, a, lanes=lanes)
        again = wm.inverse_dynamics_derivatives(model, q, v, a, lanes=lanes)
        for ours, expected in zip(
            again, wm.inverse_dynamics_derivatives(fresh, q, v, a, lanes=lanes), strict=True
        ):
            np.testing.assert_array_equal(ours, expected)
    close(again.dtau_dqdd, wm.mass_matrix(model, q), 1e-12)


def test_worlds_are_each_for_itself():
    rng = np.random.default_rng(8)
    model = random_tree(rng, 6)
    q = wm.random_configuration(model, rng, worlds=3)
    v, a = rng.normal(size=(2, 3, model.joint_dof_count))
    made = wm.inverse_dynamics_derivatives(model, q, v, a[0])
    for w in range(3):
        for both, alone in zip(made, wm.inverse_dynamics_derivatives(model, q[w], v[w], a[0]), strict=True):
            assert np.array_equal(both[w], alone)


def test_inverse_and_forward_undo_each_other():
    rng = np.random.default_rng(9)
    model = random_tree(rng, 8, passive=True)
    q = wm.random_configuration(model, rng)
    v, a = rng.normal(size=(2, model.joint_dof_count))
    tau = wm.inverse_dynamics(model, q, v, a)
    there = wm.inverse_dynamics_derivatives(model, q, v, a)
    back = wm.forward_dynamics_derivatives(model, q, v, tau)
    close(there.dtau_dqdd, wm.mass_matrix(model, q), 1e-12)
    M = there.dtau_dqdd
    close(M @ back.dqdd_dq, -there.dtau_dq, 1e-8)
    close(M @ back.dqdd_dqd, -there.dtau_dqd, 1e-8)
    close(M @ back.dqdd_dtau, np.eye(len(v)), 1e-8)


def pinocchio_twin(pin, rng, bodies, floating):
    """A random tree of hinges, slides and balls in both libraries.

    A floating base is three slides and a ball: the displacements of both libraries are then the same.
    """
    gravity = rng.normal(size=3) * 5.0
    builder, theirs = ModelBuilder(gravity=gravity), pin.Model()
    theirs.gravity.linear = gravity
    joints, parents = [], []
    kinds = ["slides", "ball"] if floating else []
    kinds += rng.choice(["hinge", "hinge", "slide", "ball"], size=bodies).tolist()
    for i, kind in enumerate(kinds):
        mass = rng.uniform(0.5, 2.0)
        com, inertia = rng.uniform(-0.1, 0.1, 3), random_inertia(rng, mass)
        link = builder.add_link(mass=mass, com=com, inertia=inertia)
        pose, axis = random_pose(rng), rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        # on the chain from the last body to the root: Pinocchio counts on depth-first order
        parent, first = i - 1, 1 if floating else 0
        while parent > first and rng.uniform() < 0.4:
            parent = parents[parent]
        parents.append(parent)
        frames = {"parent": parent, "child": link, "parent_xform": pose}
        if kind == "slides":
            joints.append(builder.add_joint_translational(**frames))
            like = pin.JointModelTranslation()
        elif kind == "ball":
            joints.append(builder.add_joint_ball(**frames))
            like = pin.JointModelSpherical()
        elif kind == "slide":
            joints.append(builder.add_joint_prismatic(axis=axis, **frames))
            like = pin.JointModelPrismaticUnaligned(axis)
        else:
            joints.append(builder.add_joint_revolute(axis=axis, **frames))
            like = pin.JointModelRevoluteUnaligned(axis)
        number = theirs.addJoint(parent + 1, like, pin.XYZQUATToSE3(pose), f"joint{i}")
        theirs.appendBodyToJoint(number, pin.Inertia(mass, com, inertia), pin.SE3.Identity())
    builder.add_articulation(joints)
    return builder.finalize(), theirs


def symmetric(upper):
    upper = np.triu(upper)
    return upper + np.triu(upper, 1).T


@pytest.mark.parametrize("floating", [False, True])
def test_those_of_pinocchio_on_random_trees(floating):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (package pin) is the yardstick of this test")
    rng = np.random.default_rng(12)
    for _ in range(100):
        model, theirs = pinocchio_twin(pin, rng, int(rng.integers(2, 13)), floating)
        data = theirs.createData()
        q = wm.random_configuration(model, rng)
        v, a, tau = rng.normal(size=(3, model.joint_dof_count))
        made = wm.inverse_dynamics_derivatives(model, q, v, a)
        dq, dv, da = pin.computeRNEADerivatives(theirs, data, q, v, a)
        for ours, expected in zip(made, (dq, dv, symmetric(da)), strict=True):
            close(ours, expected, 1e-11)
        made = wm.forward_dynamics_derivatives(model, q, v, tau)
        dq, dv, dtau = pin.computeABADerivatives(theirs, data, q, v, tau)
        for ours, expected in zip(made, (dq, dv, symmetric(dtau)), strict=True):
            close(ours, expected, 1e-9)
        made = wm.centroidal_derivatives(model, q, v)
        dh_dq, _, _, dhdot_da = pin.computeCentroidalDynamicsDerivatives(theirs, data, q, v, a)
        close(made.momentum_dq, np.concatenate([dh_dq[3:], dh_dq[:3]]), 1e-10)
        close(made.momentum_dqd, np.concatenate([dhdot_da[3:], dhdot_da[:3]]), 1e-10)


def test_analytic_derivatives_are_those_in_dual_numbers(monkeypatch):
    rng = np.random.default_rng(4)
    model = random_tree(rng, 2 * len(KINDS), passive=True)
    turns = np.concatenate(
        [
            np.arange(end - 3, end)
            for q0, q1, start, end in zip(
                model.joint_q_start[:-1],
                model.joint_q_start[1:],
                model.joint_qd_start[:-1],
                model.joint_qd_start[1:],
                strict=True,
            )
            if q1 - q0 != end - start
        ]
    )
    stiffness = model.joint_stiffness.copy()
    stiffness[turns] = 0.0
    model.update(joint_stiffness=stiffness)
    q = wm.random_configuration(model, rng, worlds=5)
    v, a = rng.normal(size=(2, 5, model.joint_dof_count))
    cases = (
        (wm.inverse_dynamics_derivatives, a),
        (wm.forward_dynamics_derivatives, wm.inverse_dynamics(model, q, v, a)),
    )
    assert derivatives.is_analytic(model)
    analytic = [function(model, q, v, last) for function, last in cases]
    monkeypatch.setattr(derivatives, "is_analytic", lambda model: False)
    for made, (function, last) in zip(analytic, cases, strict=True):
        for ours, expected in zip(made, function(model, q, v, last), strict=True):
            close(ours, expected, 1e-11 if function is wm.inverse_dynamics_derivatives else 1e-8)
