# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Angles whose sine and cosine are computed ahead: which coordinates they are, and poses of all kinds of joints."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from worldline._src.model.compile import constant_views


def _mixed() -> wm.Model:
    """A floating base with slides, turns, a screw, a universal, a planar and a ball joint."""
    builder = wm.ModelBuilder()

    def link() -> int:
        return builder.add_link(mass=1.0, com=(0.1, 0.0, 0.2), inertia=np.eye(3))

    base = link()
    joints = [builder.add_joint_free(child=base)]
    parts = [link() for _ in range(6)]
    joints.append(builder.add_joint_prismatic(parent=base, child=parts[0], axis=(0, 1, 0)))
    joints.append(builder.add_joint_revolute(parent=parts[0], child=parts[1], axis=(0, 0.6, 0.8)))
    joints.append(builder.add_joint_screw(parent=parts[1], child=parts[2], axis=(1, 0, 0), pitch=0.1))
    joints.append(
        builder.add_joint_universal(parent=parts[2], child=parts[3], axis=(1, 0, 0), axis2=(0, 1, 0))
    )
    joints.append(builder.add_joint_ball(parent=parts[3], child=parts[4]))
    joints.append(builder.add_joint_planar(parent=parts[0], child=parts[5], axis=(1, 0, 0), axis2=(0, 1, 0)))
    builder.add_articulation(joints)
    return builder.finalize()


def test_angles_are_the_coordinates_of_columns_that_turn() -> None:
    model = _mixed()
    view = constant_views(model.arenas)
    # free 0 to 6, slide 7, hinge 8, screw 9, universal 10 and 11, ball 12 to 15, planar 16 to 18
    assert view["turn_q"].tolist() == [8, 9, 10, 11, 18, 18, 18, 18]
    rows = dict(zip([7, 8, 9, 10, 16], range(5), strict=True))
    assert {d: int(view["dof_turn"][d]) for d in rows} == rows
    assert model.arenas.sizes["nturn"] == 8


def test_models_without_turns_have_no_angles() -> None:
    builder = wm.ModelBuilder()
    ball = builder.add_link(mass=1.0, inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_free(child=ball)])
    model = builder.finalize()
    assert model.arenas.sizes["nturn"] == 0
    q = np.array([0.1, 0.2, 0.3, 0.0, 0.6, 0.0, 0.8])
    np.testing.assert_allclose(wm.forward_kinematics(model, q)[0], q, atol=1e-15)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9])
def test_chains_of_any_length_have_the_poses_of_products_of_turns(count: int) -> None:
    builder = wm.ModelBuilder()
    joints, parent = [], -1
    for _ in range(count):
        child = builder.add_link(mass=1.0, inertia=np.eye(3))
        place = (0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0)
        joints.append(
            builder.add_joint_revolute(parent=parent, child=child, axis=(0, 1, 0), parent_xform=place)
        )
        parent = child
    builder.add_articulation(joints)
    model = builder.finalize()
    q = np.random.default_rng(count).uniform(-3.0, 3.0, (9, count))
    # planar: angles add up, and link k is at the end of k + 1 rods of half a metre
    total = np.cumsum(q, axis=1) - q
    x, z = 0.5 * np.cumsum(np.sin(total), axis=1), 0.5 * np.cumsum(np.cos(total), axis=1)
    for lanes in (1, None):
        X = wm.forward_kinematics(model, q, lanes=lanes)
        np.testing.assert_allclose(X[..., 0], x, atol=1e-14 * count)
        np.testing.assert_allclose(X[..., 2], z, atol=1e-14 * count)
