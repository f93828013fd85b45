# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics, mass matrix, bias and forward dynamics: M a + h = tau + passive + J^T w."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from samples import ROUND_OFF, conditions, draw, every_flavour, gap, slope, times
from trees import KINDS, random_tree

EPS = np.finfo(float).eps


def solve_tolerance(M):
    """What solving with M may lose: its condition times the unit round-off, times a few operations."""
    return 10.0 * EPS * conditions(M).max()


@every_flavour
def test_inverse_dynamics_is_mass_times_acceleration_plus_bias_minus_passive(flavour):
    model, q, v, a, _ = draw(flavour)
    left = times(wm.mass_matrix(model, q), a) + wm.bias_forces(model, q, v) - wm.passive_forces(model, q, v)
    assert gap(wm.inverse_dynamics(model, q, v, a), left) < ROUND_OFF


@every_flavour
def test_bias_is_coriolis_plus_gravity(flavour):
    model, q, v, _, _ = draw(flavour)
    parts = wm.coriolis_forces(model, q, v) + wm.gravity_forces(model, q)
    assert gap(wm.bias_forces(model, q, v), parts) < ROUND_OFF
    assert gap(wm.coriolis_forces(model, q, 0.0 * v), 0.0 * v) == 0.0
    # velocities enter squared
    assert gap(wm.coriolis_forces(model, q, -3.0 * v), 9.0 * wm.coriolis_forces(model, q, v)) < ROUND_OFF
    model.update(gravity=np.zeros(3))
    assert gap(wm.gravity_forces(model, q), 0.0 * v) == 0.0
    assert gap(wm.bias_forces(model, q, v), wm.coriolis_forces(model, q, v)) == 0.0


@every_flavour
def test_columns_of_the_mass_matrix_from_inverse_dynamics(flavour):
    model, q, v, _, _ = draw(flavour)
    n = model.joint_dof_count
    M = wm.mass_matrix(model, q)
    for w in range(0, len(q), 4):
        # one world a column; what does not depend on the acceleration drops out
        columns = wm.inverse_dynamics(model, q[w], v[w], np.eye(n)) - wm.inverse_dynamics(
            model, q[w], v[w], np.zeros(n)
        )
        assert gap(columns.T, M[w]) < ROUND_OFF


@every_flavour
def test_mass_matrix_is_symmetric_and_positive(flavour):
    model, q, _, _, _ = draw(flavour)
    M = wm.mass_matrix(model, q)
    assert np.array_equal(M, M.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(M).min() > 0.0


@every_flavour
def test_forward_dynamics_undoes_inverse_dynamics(flavour):
    model, q, v, a, tau = draw(flavour)
    tolerance = solve_tolerance(wm.mass_matrix(model, q))
    forces = wm.inverse_dynamics(model, q, v, a)
    assert gap(wm.forward_dynamics(model, q, v, forces), a) < tolerance
    moved = wm.forward_dynamics(model, q, v, tau)
    assert gap(wm.inverse_dynamics(model, q, v, moved), tau) < tolerance
    w = np.random.default_rng(0).normal(size=(len(q), model.body_count, 6))
    moved = wm.forward_dynamics(model, q, v, tau, wrenches=w)
    assert gap(wm.inverse_dynamics(model, q, v, moved, wrenches=w), tau) < tolerance


@every_flavour
def test_inverse_of_the_mass_matrix(flavour):
    model, q, _, _, tau = draw(flavour)
    M, inverse = wm.mass_matrix(model, q), wm.mass_matrix_inverse(model, q)
    tolerance = solve_tolerance(M)
    eye = np.broadcast_to(np.eye(model.joint_dof_count), M.shape)
    assert gap(inverse @ M, eye) < tolerance
    assert gap(inverse, inverse.transpose(0, 2, 1)) < tolerance
    assert gap(wm.solve_mass_matrix(model, q, tau), times(inverse, tau)) < tolerance
    assert gap(times(M, wm.solve_mass_matrix(model, q, tau)), tau) < tolerance
    assert gap(wm.impulse_response(model, q, tau), wm.solve_mass_matrix(model, q, tau)) < tolerance


@every_flavour
def test_external_wrenches_act_through_jacobians(flavour):
    model, q, v, a, _ = draw(flavour)
    rng = np.random.default_rng(1)
    wrenches = rng.normal(size=(len(q), model.body_count, 6))
    held = np.zeros_like(v)
    for body in range(model.body_count):
        J = wm.jacobian(model, q, body)
        held += times(J.transpose(0, 2, 1), wrenches[:, body])
    pushed = wm.inverse_dynamics(model, q, v, a, wrenches=wrenches)
    assert gap(pushed, wm.inverse_dynamics(model, q, v, a) - held) < ROUND_OFF


@every_flavour
def test_armature_adds_to_the_diagonal_only(flavour):
    model, q, v, a, _ = draw(flavour)
    rng = np.random.default_rng(2)
    model.update(joint_armature=np.zeros(model.joint_dof_count))
    M, h, tau = wm.mass_matrix(model, q), wm.bias_forces(model, q, v), wm.inverse_dynamics(model, q, v, a)
    armature = rng.uniform(0.0, 3.0, model.joint_dof_count)
    model.update(joint_armature=armature)
    assert gap(wm.mass_matrix(model, q), M + np.diag(armature)) < ROUND_OFF
    assert np.array_equal(wm.bias_forces(model, q, v), h)
    assert gap(wm.inverse_dynamics(model, q, v, a), tau + armature * a) < ROUND_OFF


@every_flavour
def test_passive_forces_are_springs_and_dampers(flavour):
    model, q, v, _, tau = draw(flavour)
    towards = wm.difference(model, q, np.broadcast_to(model.joint_spring_ref, q.shape))
    expected = model.joint_stiffness * towards - model.joint_damping * v
    assert gap(wm.passive_forces(model, q, v), expected) < ROUND_OFF
    # they act like any other force
    both = wm.forward_dynamics(model, q, v, tau)
    n = model.joint_dof_count
    model.update(joint_stiffness=np.zeros(n), joint_damping=np.zeros(n))
    tolerance = solve_tolerance(wm.mass_matrix(model, q))
    assert gap(wm.forward_dynamics(model, q, v, tau + expected), both) < tolerance
    assert not wm.passive_forces(model, q, v).any()


@every_flavour
def test_gravity_and_springs_are_gradients_of_the_potential(flavour):
    model, q, _, _, _ = draw(flavour, worlds=6)
    n = model.joint_dof_count
    eye = np.eye(n)
    for row in q:
        # one world a degree of freedom
        gradient = slope(
            lambda t, row=row: wm.potential_energy(model, wm.integrate(model, row, t * eye)), 1e-3
        )
        pull = wm.gravity_forces(model, row) - wm.passive_forces(model, row, np.zeros(n))
        # the difference formula: h^4 = 1e-12 times fifth derivatives, and round-off over h
        assert gap(gradient, pull) < 1e-8


SCALARS = tuple(k for k in KINDS if k not in ("ball", "free", "distance", "fixed"))


def test_coriolis_forces_by_christoffel_symbols():
    """Where velocities are rates of coordinates: C_i = (dM_ij/dq_k - 1/2 dM_jk/dq_i) v_j v_k."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = random_tree(rng, len(SCALARS), SCALARS, passive=True)
        n = model.joint_dof_count
        assert n == model.joint_coord_count
        q, v = wm.random_configuration(model, rng), rng.normal(size=n)
        dM = slope(lambda t, q=q, model=model, n=n: wm.mass_matrix(model, q + t * np.eye(n)))  # [k, i, j]
        expected = np.einsum("kij,j,k->i", dM, v, v) - 0.5 * np.einsum("ijk,j,k->i", dM, v, v)
        # the difference formula: h^4 = 1e-12 times fifth derivatives
        assert gap(wm.coriolis_forces(model, q, v), expected) < 1e-9


@every_flavour
def test_coriolis_forces_do_the_work_of_a_changing_mass_matrix(flavour):
    """v . C = 1/2 v . M' v along the motion, for every joint type."""
    model, q, v, _, _ = draw(flavour)
    dM = slope(lambda t: wm.mass_matrix(model, wm.integrate(model, q, t * v)))
    expected = 0.5 * np.einsum("wi,wij,wj->w", v, dM, v)
    assert gap((v * wm.coriolis_forces(model, q, v)).sum(axis=1), expected) < 1e-8


def test_a_small_mechanism_on_a_ship():
    """Sizes may differ by any factor: what a hinge turns matters, not what it rides on."""
    builder = wm.ModelBuilder()
    ship = builder.add_link(mass=1e8, inertia=np.eye(3) * 1e12)
    latch = builder.add_link(mass=0.1, inertia=np.eye(3) * 1e-5)
    joints = [builder.add_joint_free(ship), builder.add_joint_revolute(ship, latch, "z")]
    builder.add_articulation(joints)
    model = builder.finalize()
    zero, tau = np.zeros(7), np.r_[np.zeros(6), 2e-5]
    a = wm.forward_dynamics(model, wm.neutral(model), zero, tau)
    assert a == pytest.approx([0.0, 0.0, -9.81, 0.0, 0.0, 0.0, 2.0], abs=1e-12)
