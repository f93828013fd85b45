# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rates of energy and momentum at an instant: what forces put in is what the motion takes up."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from references import rotations
from samples import Flavour, dot, draw, every_flavour, gap, slope, times

# h^4 = 1e-16 times fifth derivatives, which are large where the mass matrix is nearly singular, and
# the round-off of energies of 1e3 J over h; measured 1e-8
FINITE_DIFFERENCE = 1e-7
STEP = 1e-4
CONDITION = 2e4


def rate(model, q, v, a, f):
    """Time derivative of f(q, v) when the velocities change at the rate `a`."""
    return slope(lambda t: f(wm.integrate(model, q, t * v + 0.5 * t * t * a), v + t * a), STEP)


@every_flavour
def test_energy_grows_by_the_power_of_forces_less_what_dampers_take(flavour):
    model, q, v, _, tau = draw(flavour, condition=CONDITION)
    wrenches = np.random.default_rng(1).normal(size=(len(q), model.body_count, 6))
    a = wm.forward_dynamics(model, q, v, tau, wrenches=wrenches)
    change = rate(model, q, v, a, lambda q, v: wm.kinetic_energy(model, q, v) + wm.potential_energy(model, q))
    pushed = (wrenches * wm.link_velocities(model, q, v)).sum(axis=(1, 2))
    lost = (model.joint_damping * v * v).sum(axis=1)
    assert (lost > 0.0).all() == flavour.passive
    assert gap(change, dot(tau, v) + pushed - lost) < FINITE_DIFFERENCE


@pytest.mark.parametrize("passive", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_momentum_of_a_floating_tree_changes_by_gravity_and_wrenches(seed, passive):
    """The forces of joints inside the tree, springs and dampers among them, are not in the balance."""
    model, q, v, _, tau = draw(Flavour("free", passive, 1, seed), condition=CONDITION)
    for name in ("joint_armature", "joint_damping", "joint_stiffness"):
        values = getattr(model, name).copy()
        values[:6] = 0.0
        model.update(**{name: values})
    tau[:, :6] = 0.0
    wrenches = np.random.default_rng(2).normal(size=(len(q), model.body_count, 6))
    a = wm.forward_dynamics(model, q, v, tau, wrenches=wrenches)
    change = rate(model, q, v, a, lambda q, v: wm.momentum(model, q, v, about="origin"))

    places = wm.forward_kinematics(model, q)
    weight = model.body_mass[:, None] * model.gravity
    centers = places[..., :3] + times(rotations(places[..., 3:]), model.body_com)
    moment = np.cross(centers, weight) + wrenches[..., :3] + np.cross(places[..., :3], wrenches[..., 3:])
    force = weight + wrenches[..., 3:]
    expected = np.concatenate([moment.sum(axis=1), force.sum(axis=1)], axis=1)
    assert gap(change, expected) < FINITE_DIFFERENCE
    mass = model.body_mass.sum()
    assert gap(mass * wm.center_of_mass_acceleration(model, q, v, a), force.sum(axis=1)) < 1e-9
