# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics terms by articulation and world: the blocks of the whole model, zero where not selected."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import model as wm
from worldline._src.errors import ArgumentError


@pytest.fixture(scope="module")
def model():
    builder = wm.ModelBuilder()
    for count in (3, 1, 2):
        parent, joints = -1, []
        for k in range(count):
            link = builder.add_link(mass=1.0 + k, inertia=np.diag([0.1, 0.2, 0.25]))
            place = (0.3, 0.1, 0.0, 0.0, 0.0, 0.0, 1.0)
            joints.append(builder.add_joint_revolute(parent, link, axis="xyz"[k], parent_xform=place))
            parent = link
        builder.add_articulation(joints)
    return builder.finalize()


BLOCKS = (slice(0, 3), slice(3, 4), slice(4, 6))


def states(model, worlds=4):
    rng = np.random.default_rng(0)
    return rng.normal(size=(2, worlds, model.joint_dof_count))


def test_blocks_are_those_of_the_model(model):
    q, v = states(model)
    M, bias, J = wm.eval_mass_matrix(model, q), wm.eval_bias_forces(model, q, v), wm.eval_jacobian(model, q)
    assert (M.shape, bias.shape, J.shape) == ((4, 3, 3, 3), (4, 3, 3), (4, 3, 3, 6, 3))
    whole, forces = wm.mass_matrix(model, q), wm.bias_forces(model, q, v)
    link = 0
    for k, block in enumerate(BLOCKS):
        n = block.stop - block.start
        assert np.array_equal(M[:, k, :n, :n], whole[:, block, block])
        assert np.array_equal(bias[:, k, :n], forces[:, block])
        assert not M[:, k, n:].any() and not bias[:, k, n:].any() and not J[:, k, n:].any()
        for j in range(n):
            assert np.array_equal(J[:, k, j, :, :n], wm.jacobian(model, q, link)[..., block])
            link += 1
    assert np.array_equal(wm.eval_mass_matrix(model, q[0]), M[0])


@pytest.mark.parametrize("terms", [wm.eval_mass_matrix, wm.eval_jacobian])
def test_what_is_not_selected_is_zero(model, terms):
    q, _ = states(model)
    full = terms(model, q)
    mask = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]], bool)
    found = terms(model, q, mask)
    assert np.array_equal(found[mask], full[mask]) and not found[~mask].any()
    one = terms(model, q, indices=[1])
    assert np.array_equal(one[:, 1], full[:, 1]) and not one[:, [0, 2]].any()


def test_masks_of_another_shape_are_refused(model):
    q, v = states(model)
    with pytest.raises(ArgumentError, match="mask"):
        wm.eval_mass_matrix(model, q, [True, False])
    with pytest.raises(ArgumentError, match="worlds"):
        wm.eval_bias_forces(model, q, v, np.ones((3, 3), bool))
    with pytest.raises(ArgumentError, match="not both"):
        wm.eval_jacobian(model, q, [True] * 3, [0])
