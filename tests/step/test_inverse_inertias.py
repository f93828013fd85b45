# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse inertias from sparse factors are those of the dense mass matrix and of Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

from worldline._src.step.inverse_weights import has_regular_inertia, inverse_weights
from worldline.model import Model, ModelBuilder, jacobian, mass_matrix


def _tree(seed: int, links: int, trees: int) -> Model:
    """Trees of hinges, slides, balls and free bases in frames that are turned and moved at random."""
    rng, builder = np.random.default_rng(seed), ModelBuilder()

    def pose() -> list[float]:
        turn = rng.normal(size=4)
        return [*rng.uniform(-0.3, 0.3, 3), *(turn / np.linalg.norm(turn))]

    for tree in range(trees):
        bodies, joints = [-1], []
        for k in range(links):
            root = rng.normal(size=(3, 3))
            mass = rng.uniform(0.5, 3.0)
            moments = 0.01 * mass * (np.eye(3) + 0.1 * root @ root.T / np.trace(root @ root.T))
            body = builder.add_link(mass=mass, com=rng.uniform(-0.1, 0.1, 3), inertia=moments)
            parent = bodies[0] if k == 0 else bodies[rng.integers(1, len(bodies))]
            kind = rng.integers(4)
            above, below = pose(), pose()
            if k == 0 and tree % 2 == 0:
                joints.append(builder.add_joint_free(body))
            elif kind == 0:
                joints.append(builder.add_joint_ball(parent, body, parent_xform=above, child_xform=below))
            else:
                make = builder.add_joint_prismatic if kind == 1 else builder.add_joint_revolute
                axis = rng.normal(size=3)
                joints.append(make(parent, body, axis, parent_xform=above, child_xform=below, armature=0.02))
            bodies.append(body)
        builder.add_articulation(joints)
    return builder.finalize()


def _expected(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Diagonals of the dense inverse, held degrees of freedom left out, and of J M^-1 J^T."""
    q = np.array(model.joint_q)
    moved = ~np.repeat(model.body_kinematic[model.joint_child], np.diff(model.joint_qd_start))
    inverse = np.zeros(2 * (model.joint_dof_count,))
    inverse[np.ix_(moved, moved)] = np.linalg.inv(mass_matrix(model, q)[np.ix_(moved, moved)])
    bodies = np.zeros((model.body_count, 2))
    for b in range(model.body_count):
        J = jacobian(model, q, b, model.body_com[b])
        at_point = np.einsum("ri,ij,rj->r", J, inverse, J)
        bodies[b] = at_point[3:].mean(), at_point[:3].mean()
    dofs = inverse.diagonal().copy()
    for j, first in model.orientations:
        begins = range(int(model.joint_qd_start[j]), first + 1, 3)
        for d in begins:
            dofs[d : d + 3] = dofs[d : d + 3].mean()
    return dofs, bodies


@pytest.mark.parametrize("trees", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_they_are_those_of_the_dense_inverse(seed: int, trees: int) -> None:
    model = _tree(seed, 12, trees)
    assert has_regular_inertia(model)
    for found, expected in zip(inverse_weights(model), _expected(model), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("body", [0, 3, 11])
def test_prescribed_bodies_give_way_to_nothing(body: int) -> None:
    model = _tree(2, 12, 1)
    model.set_kinematic(body, True)
    for found, expected in zip(inverse_weights(model), _expected(model), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


def test_a_change_is_measured_in_the_arenas_that_are_kept() -> None:
    model, fresh = _tree(4, 10, 2), _tree(4, 10, 2)
    first = inverse_weights(model)
    model.update(body_mass=1.5 * model.body_mass)
    fresh.update(body_mass=1.5 * fresh.body_mass)
    for found, expected, before in zip(inverse_weights(model), inverse_weights(fresh), first, strict=True):
        np.testing.assert_array_equal(found, expected)
        assert not np.array_equal(found, before)


@pytest.mark.parametrize("mass", [0.0, 1e-24])
def test_motions_without_inertia_are_left_to_the_pseudo_inverse(mass: float) -> None:
    """Two hinges on one axis, of which the first moves nothing of its own: M = [[I, I], [I, I]]."""
    builder, joints = ModelBuilder(), []
    frame = builder.add_link(mass=mass)
    wheel = builder.add_link(mass=1.0, inertia=np.diag([0.1, 0.2, 0.3]))
    joints.append(builder.add_joint_revolute(-1, frame, axis=(0.0, 0.0, 1.0)))
    joints.append(builder.add_joint_revolute(frame, wheel, axis=(0.0, 0.0, 1.0)))
    builder.add_articulation(joints)
    model = builder.finalize()
    assert not has_regular_inertia(model)
    dofs, bodies = inverse_weights(model)
    # the pseudo-inverse of I (1 1)^T (1 1) is (1 1)^T (1 1) / (4 I)
    np.testing.assert_allclose(dofs, [0.25 / 0.3, 0.25 / 0.3], rtol=1e-12)
    np.testing.assert_allclose(bodies[:, 1], [0.25 / 0.9, 1.0 / 0.9], rtol=1e-12)
    assert not bodies[:, 0].any()
