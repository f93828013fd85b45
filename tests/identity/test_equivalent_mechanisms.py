# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One mechanism described in two ways moves in one way.

Bodies welded or merged, a joint of several axes or a chain of single axes with nothing in between.
"""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from references import pose, rotations
from samples import ROUND_OFF, SOLVE, Flavour, draw, every_flavour, forces_and_motion, gap, times
from trees import random_inertia, random_pose
from worldline.model import JointType, ModelBuilder

FLAVOURS = [
    Flavour("revolute", False, 1, 0),
    Flavour("free", True, 1, 1),
    Flavour("planar", False, 1, 4),
    Flavour("euler", True, 1, 5),
]


@every_flavour
def test_twice_the_mass_is_twice_the_force(flavour):
    model, q, v, a, tau = draw(flavour)
    n = model.joint_dof_count
    model.update(joint_stiffness=np.zeros(n), joint_damping=np.zeros(n))
    M, forces = wm.mass_matrix(model, q), wm.inverse_dynamics(model, q, v, a)
    moved = wm.forward_dynamics(model, q, v, tau)
    model.update(
        body_mass=2.0 * model.body_mass,
        body_inertia=2.0 * model.body_inertia,
        joint_armature=2.0 * model.joint_armature,
    )
    assert np.array_equal(wm.mass_matrix(model, q), 2.0 * M)
    assert np.array_equal(wm.inverse_dynamics(model, q, v, a), 2.0 * forces)
    assert np.array_equal(wm.forward_dynamics(model, q, v, 2.0 * tau), moved)


def copied(model, builder, body):
    return builder.add_link(
        mass=model.body_mass[body], com=model.body_com[body], inertia=model.body_inertia[body]
    )


def add_copy(model, builder, j, parent, child, X_c=None):
    """The same joint again, of one of the kinds the tests below leave as they are."""
    frames = {"parent_xform": model.joint_X_p[j], "child_xform": model.joint_X_c[j] if X_c is None else X_c}
    axes = model.joint_axis[model.joint_qd_start[j] : model.joint_qd_start[j + 1]]
    kind = JointType(model.joint_type[j])
    if kind == JointType.REVOLUTE:
        return builder.add_joint_revolute(parent, child, axes[0], **frames)
    if kind == JointType.PRISMATIC:
        return builder.add_joint_prismatic(parent, child, axes[0], **frames)
    if kind == JointType.SCREW:
        pitch = model.joint_pitch[model.joint_qd_start[j]]
        return builder.add_joint_screw(parent, child, axes[0], pitch=pitch, **frames)
    if kind == JointType.BALL:
        return builder.add_joint_ball(parent, child, **frames)
    assert kind == JointType.FIXED
    return builder.add_joint_fixed(parent, child, **frames)


def in_single_axes(model):
    """The same model, joints of several axes taken apart; returns it and the new index of each body."""
    builder = ModelBuilder(gravity=model.gravity)
    bodies, joints = {-1: -1}, []
    for j in range(model.joint_count):
        parent = bodies[int(model.joint_parent[j])]
        kind = JointType(model.joint_type[j])
        X_p, X_c = model.joint_X_p[j], model.joint_X_c[j]
        linear, angular = (int(n) for n in model.joint_dof_dim[j])
        first = int(model.joint_qd_start[j])
        if kind in (JointType.FREE, JointType.DISTANCE):
            steps = [
                *((builder.add_joint_prismatic, axis) for axis in np.eye(3)),
                (builder.add_joint_ball, None),
            ]
        elif kind in (JointType.BALL, JointType.FIXED, JointType.SCREW) or linear + angular < 2:
            child = copied(model, builder, int(model.joint_child[j]))
            joints.append(add_copy(model, builder, j, parent, child))
            bodies[int(model.joint_child[j])] = child
            continue
        else:
            axes = model.joint_axis[first : first + linear + angular]
            steps = [(builder.add_joint_prismatic, axis) for axis in axes[:linear]]
            steps += [(builder.add_joint_revolute, axis) for axis in axes[linear:]]
        for k, (add, axis) in enumerate(steps):
            last = k == len(steps) - 1
            child = copied(model, builder, int(model.joint_child[j])) if last else builder.add_link()
            options = {} if axis is None else {"axis": axis}
            if k == 0:
                options["parent_xform"] = X_p
            if last:
                options["child_xform"] = X_c
            joints.append(add(parent, child, **options))
            parent = child
        bodies[int(model.joint_child[j])] = child
    builder.add_articulation(joints)
    taken_apart = builder.finalize()
    taken_apart.update(
        joint_armature=model.joint_armature,
        joint_damping=model.joint_damping,
        joint_stiffness=model.joint_stiffness,
        joint_spring_ref=model.joint_spring_ref,
    )
    return taken_apart, [bodies[b] for b in range(model.body_count)]


@pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda f: f.root)
def test_joints_of_several_axes_are_chains_of_single_axes(flavour):
    model, q, v, a, tau = draw(flavour)
    single, bodies = in_single_axes(model)
    assert single.joint_coord_count == model.joint_coord_count
    assert single.body_count > model.body_count
    for f in (wm.forward_kinematics, lambda m, q: wm.link_velocities(m, q, v)):
        assert gap(f(single, q)[:, bodies], f(model, q)) < ROUND_OFF
    assert (
        gap(wm.link_accelerations(single, q, v, a)[:, bodies], wm.link_accelerations(model, q, v, a))
        < ROUND_OFF
    )
    ours, theirs = forces_and_motion(model, q, v, a, tau), forces_and_motion(single, q, v, a, tau)
    for what, x in ours.items():
        assert gap(theirs[what], x) < SOLVE, what


def test_a_screw_is_a_slide_tied_to_a_turn():
    rng = np.random.default_rng(9)
    axis, pitch = rng.normal(size=3), 0.07
    frames = {"parent_xform": random_pose(rng), "child_xform": random_pose(rng)}
    models = []
    for kind in ("screw", "cylinder"):
        mine = np.random.default_rng(10)
        builder = ModelBuilder(gravity=(1.0, 2.0, -9.0))
        links = [
            builder.add_link(mass=m, com=mine.uniform(-0.2, 0.2, 3), inertia=random_inertia(mine, m))
            for m in (1.0, 2.0, 0.5)
        ]
        joints = [builder.add_joint_ball(-1, links[0])]
        if kind == "screw":
            joints.append(builder.add_joint_screw(links[0], links[1], axis, pitch=pitch, **frames))
        else:
            dof = [builder.JointDofConfig(axis=axis)]
            joints.append(builder.add_joint_d6(links[0], links[1], dof, dof, **frames))
        joints.append(
            builder.add_joint_revolute(links[1], links[2], (1, 2, 3), parent_xform=frames["child_xform"])
        )
        builder.add_articulation(joints)
        models.append(builder.finalize())
    screw, cylinder = models
    q = wm.random_configuration(screw, rng, worlds=16)
    v, a = rng.normal(size=(2, 16, 5))
    T = np.eye(6, 5, k=-1)
    T[:4, :4] = np.eye(4)
    T[3, 3] = pitch
    T[4, 3] = 1.0
    q_c = np.insert(q, 4, pitch * q[:, 4], axis=1)
    assert gap(wm.forward_kinematics(cylinder, q_c), wm.forward_kinematics(screw, q)) < ROUND_OFF
    v_c, a_c = v @ T.T, a @ T.T
    assert gap(wm.mass_matrix(screw, q), T.T @ wm.mass_matrix(cylinder, q_c) @ T) < ROUND_OFF
    assert (
        gap(wm.inverse_dynamics(screw, q, v, a), wm.inverse_dynamics(cylinder, q_c, v_c, a_c) @ T) < ROUND_OFF
    )
    assert gap(times(wm.jacobian(cylinder, q_c, 2) @ T, v), times(wm.jacobian(screw, q, 2), v)) < ROUND_OFF


def test_welded_bodies_are_one_body():
    """Two links on a fixed joint against one link with their mass, centre and inertia about it."""
    rng = np.random.default_rng(12)
    weld, reverse = random_pose(rng), random_pose(rng)
    masses = (1.3, 0.4)
    coms = rng.uniform(-0.2, 0.2, (2, 3))
    inertias = [random_inertia(rng, m) for m in masses]
    # pose of the second body in the first: parent_xform, then child_xform backwards
    R = rotations(weld[3:]) @ rotations(reverse[3:]).T
    p = weld[:3] - R @ reverse[:3]
    centers = np.array([coms[0], p + R @ coms[1]])
    whole = masses[0] + masses[1]
    center = (masses[0] * centers[0] + masses[1] * centers[1]) / whole
    inertia = inertias[0] + R @ inertias[1] @ R.T
    for m, c in zip(masses, centers - center, strict=True):
        inertia = inertia + m * (c @ c * np.eye(3) - np.outer(c, c))

    def model(merged):
        mine = np.random.default_rng(13)
        builder = ModelBuilder(gravity=(1.0, 2.0, -9.0))
        joints = []
        if merged:
            links = [builder.add_link(mass=whole, com=center, inertia=inertia)]
        else:
            links = [builder.add_link(mass=masses[0], com=coms[0], inertia=inertias[0])]
        joints.append(builder.add_joint_free(links[0]))
        if not merged:
            links.append(builder.add_link(mass=masses[1], com=coms[1], inertia=inertias[1]))
            joints.append(builder.add_joint_fixed(links[0], links[1], parent_xform=weld, child_xform=reverse))
        tip = builder.add_link(mass=0.7, com=(0.1, 0, 0.2), inertia=random_inertia(mine, 0.7))
        # the tip hangs on the second body, wherever that is
        anchor = random_pose(mine)
        if merged:
            anchor = pose(p + R @ anchor[:3], R @ rotations(anchor[3:]))
        joints.append(builder.add_joint_universal(links[-1], tip, "x", "y", parent_xform=anchor))
        builder.add_articulation(joints)
        return builder.finalize()

    two, one = model(False), model(True)
    q = wm.random_configuration(two, rng, worlds=16)
    v, a, tau = rng.normal(size=(3, 16, two.joint_dof_count))
    ours, theirs = forces_and_motion(one, q, v, a, tau), forces_and_motion(two, q, v, a, tau)
    for what, x in ours.items():
        assert gap(theirs[what], x) < ROUND_OFF, what
    for f in (wm.center_of_mass, wm.potential_energy, wm.centroidal_momentum_matrix):
        assert gap(f(two, q), f(one, q)) < ROUND_OFF
