# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Momentum, energy and centre of mass against sums over bodies and against the mass matrix."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from references import rotations
from samples import ROUND_OFF, Flavour, draw, every_flavour, gap, slope, times


class Bodies:
    """What every body does, from its pose and velocity: shape (worlds, bodies, ...)."""

    def __init__(self, model, q, v):
        self.mass = model.body_mass
        pose, V = wm.forward_kinematics(model, q), wm.link_velocities(model, q, v)
        R = rotations(pose[..., 3:])
        arm = times(R, model.body_com)
        self.omega = V[..., :3]
        self.center = pose[..., :3] + arm
        self.velocity = V[..., 3:] + np.cross(self.omega, arm)
        self.spin = times(R @ model.body_inertia @ np.swapaxes(R, -1, -2), self.omega)
        self.total = self.mass.sum()
        self.com = np.einsum("b,wbi->wi", self.mass, self.center) / self.total

    def momentum(self, about):
        linear = self.mass[:, None] * self.velocity
        angular = self.spin + np.cross(self.center - about[:, None], linear)
        return np.concatenate([angular.sum(axis=1), linear.sum(axis=1)], axis=1)

    def kinetic_energy(self):
        translation = self.mass * (self.velocity**2).sum(axis=-1)
        return 0.5 * (translation + (self.omega * self.spin).sum(axis=-1)).sum(axis=1)


@every_flavour
def test_kinetic_energy(flavour):
    model, q, v, _, _ = draw(flavour)
    ours = wm.kinetic_energy(model, q, v)
    assert gap(ours, 0.5 * np.einsum("wi,wij,wj->w", v, wm.mass_matrix(model, q), v)) < ROUND_OFF
    rotors = 0.5 * (model.joint_armature * v**2).sum(axis=1)
    assert gap(ours, Bodies(model, q, v).kinetic_energy() + rotors) < ROUND_OFF


@every_flavour
def test_potential_energy(flavour):
    model, q, v, _, _ = draw(flavour)
    bodies = Bodies(model, q, v)
    stretch = wm.difference(model, np.broadcast_to(model.joint_spring_ref, q.shape), q)
    springs = 0.5 * (model.joint_stiffness * stretch**2).sum(axis=1)
    expected = springs - bodies.total * bodies.com @ model.gravity
    assert gap(wm.potential_energy(model, q), expected) < ROUND_OFF


@every_flavour
def test_center_of_mass(flavour):
    model, q, v, a, _ = draw(flavour)
    bodies = Bodies(model, q, v)
    assert gap(wm.center_of_mass(model, q), bodies.com) < ROUND_OFF
    velocity = np.einsum("b,wbi->wi", bodies.mass, bodies.velocity) / bodies.total
    assert gap(wm.center_of_mass_velocity(model, q, v), velocity) < ROUND_OFF
    J = wm.center_of_mass_jacobian(model, q)
    assert gap(times(J, v), velocity) < ROUND_OFF
    # the acceleration: linear in a with the same Jacobian, and the rate of the velocity
    acceleration = wm.center_of_mass_acceleration(model, q, v, a)
    resting = wm.center_of_mass_acceleration(model, q, v, 0.0 * a)
    assert gap(acceleration - resting, times(J, a)) < ROUND_OFF
    rate = slope(
        lambda t: wm.center_of_mass_velocity(
            model, wm.integrate(model, q, t * v + 0.5 * t * t * a), v + t * a
        )
    )
    # h^4 = 1e-12 times fifth derivatives
    assert gap(acceleration, rate) < 1e-8


@every_flavour
def test_momentum(flavour):
    model, q, v, _, _ = draw(flavour)
    bodies = Bodies(model, q, v)
    assert gap(wm.momentum(model, q, v), bodies.momentum(bodies.com)) < ROUND_OFF
    assert gap(wm.momentum(model, q, v, about="origin"), bodies.momentum(0.0 * bodies.com)) < ROUND_OFF
    A = wm.centroidal_momentum_matrix(model, q)
    assert gap(times(A, v), wm.momentum(model, q, v)) < ROUND_OFF
    assert gap(A[:, 3:], bodies.total * wm.center_of_mass_jacobian(model, q)) < ROUND_OFF


@pytest.mark.parametrize("seed", range(3))
def test_floating_base_rows_of_the_mass_matrix_are_momentum(seed):
    """Of a tree on a free joint: M v along the joint's six columns is the momentum of the whole tree."""
    model, q, v, _, _ = draw(Flavour("free", False, 1, seed))
    p = times(wm.mass_matrix(model, q), v)[:, :6]
    whole = wm.momentum(model, q, v, about="origin")
    # linear columns are axes of the joint on the world, angular ones those of the joint on the body
    X_p, X_c = model.joint_X_p[0], model.joint_X_c[0]
    root = wm.forward_kinematics(model, q)[:, 0]
    R_B = rotations(root[:, 3:])
    R_J = R_B @ rotations(X_c[3:])
    origin = root[:, :3] + R_B @ X_c[:3]
    about = whole[:, :3] - np.cross(origin, whole[:, 3:])
    assert gap(p[:, :3], whole[:, 3:] @ rotations(X_p[3:])) < ROUND_OFF
    assert gap(p[:, 3:], times(R_J.transpose(0, 2, 1), about)) < ROUND_OFF
