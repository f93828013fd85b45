# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joints in another order, the world elsewhere or turned: the same motion."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from references import pose, rotations
from samples import (
    ROUND_OFF,
    SOLVE,
    WELL_POSED,
    Flavour,
    conditions,
    draw,
    every_flavour,
    forces_and_motion,
    gap,
)
from trees import KINDS, add_joint, random_inertia, random_pose
from worldline.model import ModelBuilder


def planted(order, specs):
    """The tree of `specs` with its links and joints added in an order."""
    builder = ModelBuilder(gravity=(1.0, -2.0, -9.0))
    link_of, joints = {-1: -1}, []
    for k in order:
        parent, kind = specs[k]
        rng = np.random.default_rng(1000 + k)
        mass = rng.uniform(0.5, 2.0)
        link_of[k] = builder.add_link(
            mass=mass, com=rng.uniform(-0.1, 0.1, 3), inertia=random_inertia(rng, mass), label=f"link{k}"
        )
        frames = {"parent_xform": random_pose(rng), "child_xform": random_pose(rng), "label": f"joint{k}"}
        joints.append(add_joint(builder, rng, kind, parent=link_of[parent], child=link_of[k], **frames))
    builder.add_articulation(joints)
    return builder.finalize()


def places(model, starts):
    """Where joint0, joint1, ... have their numbers."""
    order = [model.joint_index(f"joint{k}") for k in range(model.joint_count)]
    return np.concatenate([np.arange(starts[j], starts[j + 1]) for j in order])


def shuffled(specs, rng):
    """Another order in which parents come before children."""
    order, open_ = [], [k for k, (parent, _) in enumerate(specs) if parent < 0]
    while open_:
        k = open_.pop(int(rng.integers(len(open_))))
        order.append(k)
        open_ += [c for c, (parent, _) in enumerate(specs) if parent == k]
    return order


@pytest.mark.parametrize("seed", range(4))
def test_results_do_not_depend_on_the_order_of_siblings(seed):
    rng = np.random.default_rng(seed)
    kinds = [str(k) for k in rng.permutation(np.array(KINDS * 2))]
    specs = [(int(rng.integers(-1, k)) if k else -1, kind) for k, kind in enumerate(kinds)]
    first = planted(range(len(specs)), specs)
    second = planted(shuffled(specs, rng), specs)
    assert first.joint_label != second.joint_label

    n, worlds = first.joint_dof_count, 8
    q = wm.random_configuration(first, rng, worlds=8 * worlds)
    q = q[conditions(wm.mass_matrix(first, q)) < WELL_POSED][:worlds]
    v, a, tau = rng.normal(size=(3, worlds, n))
    here_q, here_v = places(first, first.joint_q_start), places(first, first.joint_qd_start)
    there_q, there_v = places(second, second.joint_q_start), places(second, second.joint_qd_start)
    moved_q = np.empty_like(q)
    moved_q[:, there_q] = q[:, here_q]
    moved = []
    for x in (v, a, tau):
        y = np.empty_like(x)
        y[:, there_v] = x[:, here_v]
        moved.append(y)

    links = [second.body_index(label) for label in first.body_label]
    poses, others = wm.forward_kinematics(first, q), wm.forward_kinematics(second, moved_q)
    assert gap(others[:, links, :3], poses[..., :3]) < ROUND_OFF
    assert gap(rotations(others[:, links, 3:]), rotations(poses[..., 3:])) < ROUND_OFF
    ours, theirs = forces_and_motion(first, q, v, a, tau), forces_and_motion(second, moved_q, *moved)
    for what, x in ours.items():
        y = theirs[what]
        if x.ndim > 1:
            x, y = x[:, here_v], y[:, there_v]
        if x.ndim > 2:
            x, y = x[:, :, here_v], y[:, :, there_v]
        assert gap(y, x) < SOLVE, what


FAR = np.array([1e6, -2e6, 3e6])
# a position of 3e6 m is rounded to 5e-10 m; forces and accelerations must not notice
FAR_TOLERANCE = 1e-9


def moved_by(model, shift, R=None):
    """Move the anchors of roots, and turn them with gravity."""
    R = np.eye(3) if R is None else R
    X_p = model.joint_X_p.copy()
    for j in np.flatnonzero(model.joint_parent < 0):
        X_p[j] = pose(shift + R @ X_p[j, :3], R @ rotations(X_p[j, 3:]))
    model.update(joint_X_p=X_p, gravity=R @ model.gravity)


@every_flavour
def test_far_from_the_origin_dynamics_are_the_same(flavour):
    here, q, v, a, tau = draw(flavour)
    there, _, _, _, _ = draw(flavour)
    moved_by(there, FAR)
    ours, theirs = forces_and_motion(here, q, v, a, tau), forces_and_motion(there, q, v, a, tau)
    for what, x in ours.items():
        assert gap(theirs[what], x) < FAR_TOLERANCE, what
    link = here.body_count - 1
    point = (0.1, -0.2, 0.3)
    for f in (
        lambda m: wm.link_velocities(m, q, v),
        lambda m: wm.link_accelerations(m, q, v, a),
        lambda m: wm.jacobian(m, q, link, point),
        lambda m: wm.jacobian_dot_times_v(m, q, v, link, point),
        lambda m: wm.center_of_mass_jacobian(m, q),
        lambda m: wm.center_of_mass_acceleration(m, q, v, a),
        lambda m: wm.forward_kinematics(m, q)[..., 3:],
    ):
        assert gap(f(there), f(here)) < FAR_TOLERANCE
    # these involve the centre of mass, which is rounded
    assert gap(wm.momentum(there, q, v), wm.momentum(here, q, v)) < 1e-7
    assert gap(wm.forward_kinematics(there, q)[..., :3] - FAR, wm.forward_kinematics(here, q)[..., :3]) < 2e-9


def test_a_floating_base_far_away_by_its_coordinates():
    model, q, v, a, tau = draw(Flavour("free", False, 1, 1))
    far = q.copy()
    far[:, :3] += FAR
    # the coordinates are rounded; nothing depends on them
    ours, theirs = forces_and_motion(model, q, v, a, tau), forces_and_motion(model, far, v, a, tau)
    for what, x in ours.items():
        assert gap(theirs[what], x) < FAR_TOLERANCE, what


@every_flavour
def test_turning_the_world_with_gravity_changes_no_joint(flavour):
    here, q, v, a, tau = draw(flavour)
    there, _, _, _, _ = draw(flavour)
    turned = random_pose(np.random.default_rng(5))
    R, shift = rotations(turned[3:]), turned[:3]
    moved_by(there, shift, R)
    ours, theirs = forces_and_motion(here, q, v, a, tau), forces_and_motion(there, q, v, a, tau)
    for what, x in ours.items():
        assert gap(theirs[what], x) < SOLVE, what
    p, h = wm.center_of_mass(here, q), wm.momentum(here, q, v)
    assert gap(wm.center_of_mass(there, q), shift + p @ R.T) < ROUND_OFF
    assert gap(wm.momentum(there, q, v), np.concatenate([h[:, :3] @ R.T, h[:, 3:] @ R.T], axis=1)) < ROUND_OFF
    assert (
        gap(
            wm.potential_energy(there, q) + here.body_mass.sum() * here.gravity @ R.T @ shift,
            wm.potential_energy(here, q),
        )
        < ROUND_OFF
    )
