# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bodies with prescribed motion: their joints do not accelerate, the rest moves as if they were held."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from samples import ROUND_OFF, WELL_POSED, conditions, gap
from trees import KINDS, add_joint, random_inertia, random_pose, random_tree
from worldline.model import ModelBuilder

SOLVE = 1e-10  # round-off times the condition of M; measured 3e-13
ROOTS = ["revolute", "ball", "free", "planar", "screw", "d6"]


def draw(root, kinematic=True, trees=1, worlds=8):
    rng = np.random.default_rng(7)
    model = random_tree(rng, 2 * len(KINDS), passive=True, trees=trees, root=root, kinematic=kinematic)
    model.update(gravity=rng.normal(size=3) * 5.0)
    q = wm.random_configuration(model, rng, worlds=8 * worlds)
    q = q[conditions(wm.mass_matrix(model, q)) < WELL_POSED][:worlds]
    v, tau = rng.normal(size=(2, worlds, model.joint_dof_count))
    return model, q, v, tau


def held_dofs(model):
    held = np.zeros(model.joint_dof_count, bool)
    for j in range(model.joint_count):
        if model.body_kinematic[model.joint_child[j]]:
            held[model.joint_qd_start[j] : model.joint_qd_start[j + 1]] = True
    return held


def solve_free(model, q, forces):
    """M_ff^-1 forces_f on what may move, zero on what is held."""
    move = ~held_dofs(model)
    M = wm.mass_matrix(model, q)[:, move][:, :, move]
    x = np.zeros_like(forces)
    x[:, move] = np.linalg.solve(M, forces[:, move, None])[..., 0]
    return x


@pytest.mark.parametrize("trees", [1, 2])
@pytest.mark.parametrize("root", ROOTS)
def test_forward_dynamics_holds_kinematic_joints(root, trees):
    model, q, v, tau = draw(root, trees=trees)
    held = held_dofs(model)
    assert 0 < held.sum() < held.size
    a = wm.forward_dynamics(model, q, v, tau)
    assert not a[:, held].any()
    # M_ff a_f = tau_f + passive_f - h_f: the prescribed velocity still acts through h
    forces = tau + wm.passive_forces(model, q, v) - wm.bias_forces(model, q, v)
    assert gap(a, solve_free(model, q, forces)) < SOLVE
    # what moves does so under the forces it was given; the held joints carry what they must
    assert gap(wm.inverse_dynamics(model, q, v, a)[:, ~held], tau[:, ~held]) < SOLVE
    w = np.random.default_rng(1).normal(size=(len(q), model.body_count, 6))
    pushed = wm.forward_dynamics(model, q, v, tau, wrenches=w)
    assert not pushed[:, held].any()
    assert gap(wm.inverse_dynamics(model, q, v, pushed, wrenches=w)[:, ~held], tau[:, ~held]) < SOLVE


@pytest.mark.parametrize("trees", [1, 2])
@pytest.mark.parametrize("root", ROOTS)
def test_impulse_response_holds_kinematic_joints(root, trees):
    model, q, _, impulse = draw(root, trees=trees)
    change = wm.impulse_response(model, q, impulse)
    assert not change[:, held_dofs(model)].any()
    assert gap(change, solve_free(model, q, impulse)) < SOLVE


@pytest.mark.parametrize("root", ROOTS)
def test_kinematic_bodies_are_infinitely_heavy(root):
    """A joint of huge armature does not accelerate either; the rest cannot tell."""
    model, q, v, tau = draw(root)
    heavy, _, _, _ = draw(root, kinematic=False)
    held = held_dofs(model)
    heavy.update(joint_armature=np.where(held, 1e11, heavy.joint_armature))
    # forces of 1e2 on 1e11
    assert gap(wm.forward_dynamics(model, q, v, tau), wm.forward_dynamics(heavy, q, v, tau)) < 1e-8
    assert gap(wm.impulse_response(model, q, tau), wm.impulse_response(heavy, q, tau)) < 1e-8


def test_flag_changes_nothing_else():
    model, q, v, tau = draw("free")
    plain, _, _, _ = draw("free", kinematic=False)
    assert np.array_equal(wm.mass_matrix(model, q), wm.mass_matrix(plain, q))
    assert np.array_equal(wm.bias_forces(model, q, v), wm.bias_forces(plain, q, v))
    assert np.array_equal(wm.inverse_dynamics(model, q, v, tau), wm.inverse_dynamics(plain, q, v, tau))
    assert np.array_equal(wm.solve_mass_matrix(model, q, tau), wm.solve_mass_matrix(plain, q, tau))


def carried(root, pose):
    """Every joint type on a base that is welded to the world, or kinematic on a free joint."""
    rng = np.random.default_rng(11)
    builder = ModelBuilder(gravity=(1.0, 2.0, -9.0))
    base = builder.add_link(mass=1.0, inertia=np.eye(3), is_kinematic=root == "free")
    joints = [
        builder.add_joint_free(base)
        if root == "free"
        else builder.add_joint_fixed(-1, base, parent_xform=pose)
    ]
    links = [base]
    for kind in KINDS:
        mass = rng.uniform(0.5, 2.0)
        link = builder.add_link(mass=mass, com=rng.uniform(-0.1, 0.1, 3), inertia=random_inertia(rng, mass))
        parent = links[int(rng.integers(len(links)))]
        frames = {"parent_xform": random_pose(rng), "child_xform": random_pose(rng)}
        joints.append(add_joint(builder, rng, kind, parent=parent, child=link, **frames))
        links.append(link)
    builder.add_articulation(joints)
    return builder.finalize()


def test_a_resting_kinematic_base_is_a_welded_base():
    rng = np.random.default_rng(3)
    pose = random_pose(rng, 2.0)
    welded, kinematic = carried("fixed", pose), carried("free", pose)
    n = welded.joint_dof_count
    q = wm.random_configuration(welded, rng, worlds=8)
    v, tau = rng.normal(size=(2, 8, n))
    at = np.broadcast_to(pose, (8, 7))
    q_k = np.concatenate([at, q], axis=1)
    v_k, tau_k = (np.concatenate([np.zeros((8, 6)), x], axis=1) for x in (v, tau))
    assert gap(wm.forward_kinematics(kinematic, q_k), wm.forward_kinematics(welded, q)) < ROUND_OFF
    assert (
        gap(wm.forward_dynamics(kinematic, q_k, v_k, tau_k)[:, 6:], wm.forward_dynamics(welded, q, v, tau))
        < SOLVE
    )
    assert gap(wm.impulse_response(kinematic, q_k, tau_k)[:, 6:], wm.impulse_response(welded, q, tau)) < SOLVE


def test_bead_on_a_turning_crank():
    """A kinematic crank turns at a constant rate; a mass on a slider along it feels r omega^2."""
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    crank = builder.add_link(mass=1.0, inertia=np.eye(3), is_kinematic=True)
    bead = builder.add_link(mass=2.0)
    joints = [builder.add_joint_revolute(-1, crank, "z"), builder.add_joint_prismatic(crank, bead, "x")]
    builder.add_articulation(joints)
    a = wm.forward_dynamics(builder.finalize(), [0.3, 0.5], [4.0, 1.0], [100.0, 6.0])
    assert a[0] == 0.0
    assert a[1] == pytest.approx(0.5 * 4.0**2 + 6.0 / 2.0, rel=1e-14)


def test_kinematic_body_needs_no_mass():
    builder = ModelBuilder()
    builder.add_body(is_kinematic=True)
    model = builder.finalize()
    zero = np.zeros(6)
    assert not wm.forward_dynamics(model, wm.neutral(model), zero, zero).any()
    assert not wm.impulse_response(model, wm.neutral(model), np.ones(6)).any()
