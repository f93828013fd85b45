# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What motion keeps, it keeps to the order of the method: halve the step and see the error fall.

The equations conserve exactly; a method of order p leaves an error that falls at least 2^p-fold with
half the step. An error in a force or an inertia does not fall at all.
"""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from integrators import order, rk4, semi_implicit_euler
from samples import Flavour, conditions, random_model

TIME = 0.2
WORLDS = 8
METHODS = [
    pytest.param(rk4, 4, (40, 80), id="rk4"),
    pytest.param(semi_implicit_euler, 1, (100, 200), id="euler"),
]
SLACK = 0.4  # below the order of the method; above it an invariant may be kept better than the state

UNDER_GRAVITY = [
    Flavour("revolute", False, 1, 0),
    Flavour("revolute", True, 1, 1),
    Flavour("free", True, 1, 2),
    Flavour("planar", True, 2, 3),
]


def start(flavour, *, gravity=None):
    """A tree of every joint type and moderate motion, far from where axes of a joint align.

    Springs on orientations have a kink at half a turn; they start no more than 1.2 rad from rest.
    """
    rng = np.random.default_rng(50 + flavour.seed)
    model = random_model(flavour)
    if gravity is not None:
        model.update(gravity=gravity)
    away = rng.uniform(-0.7, 0.7, (40 * WORLDS, model.joint_dof_count))
    rest = model.joint_spring_ref if flavour.passive else wm.random_configuration(model, rng)
    q = wm.integrate(model, np.broadcast_to(rest, (len(away), rest.size)), away)
    best = np.argsort(conditions(wm.mass_matrix(model, q)))[:WORLDS]
    v = 0.7 * rng.normal(size=(WORLDS, model.joint_dof_count))
    return model, q[best], v


def relax_root(model):
    """Leave springs, dampers and armature to the joints inside the tree."""
    end = model.joint_qd_start[1]
    for name in ("joint_armature", "joint_damping", "joint_stiffness"):
        values = getattr(model, name).copy()
        values[:end] = 0.0
        model.update(**{name: values})


def undamped(model):
    model.update(joint_damping=np.zeros(model.joint_dof_count))


def energy(model, q, v):
    return wm.kinetic_energy(model, q, v) + wm.potential_energy(model, q)


def drifts(method, counts, model, q, v, invariant):
    """How far an invariant is off at the end, for every number of steps."""
    before = invariant(model, q, v)
    found = []
    for steps in counts:
        after = invariant(model, *method(model, q, v, TIME / steps, steps))
        found.append(after - before)
    return found


def whole_momentum(model, q, v):
    return wm.momentum(model, q, v, about="origin")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("method", "p", "counts"), METHODS)
def test_torque_free_trees_keep_energy_and_momentum(method, p, counts, seed):
    model, q, v = start(Flavour("free", False, 1, seed), gravity=np.zeros(3))
    for invariant in (energy, whole_momentum, wm.momentum):
        errors = drifts(method, counts, model, q, v, invariant)
        assert order(*errors) > p - SLACK, invariant.__name__


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("method", "p", "counts"), METHODS)
def test_springs_dampers_and_rotors_inside_a_tree_do_not_move_it(method, p, counts, seed):
    """Forces between links come in pairs, whatever makes them."""
    model, q, v = start(Flavour("free", True, 1, seed), gravity=np.zeros(3))
    relax_root(model)
    errors = drifts(method, counts, model, q, v, whole_momentum)
    assert order(*errors) > p - SLACK


@pytest.mark.parametrize("flavour", UNDER_GRAVITY, ids=lambda f: f"{f.root}-{f.passive}")
@pytest.mark.parametrize(("method", "p", "counts"), METHODS)
def test_gravity_and_springs_keep_the_total_energy(method, p, counts, flavour):
    model, q, v = start(flavour)
    undamped(model)
    errors = drifts(method, counts, model, q, v, energy)
    assert order(*errors) > p - SLACK


@pytest.mark.parametrize(("method", "p", "counts"), METHODS)
def test_a_thrown_tree_flies_a_parabola(method, p, counts):
    """Under gravity alone: P grows by m g t, the angular momentum about the centre of mass stays."""
    model, q, v = start(Flavour("free", True, 1, 4))
    relax_root(model)
    g, mass = model.gravity, model.body_mass.sum()

    def fallen(model, q, v, t):
        back = wm.momentum(model, q, v)
        back[:, 3:] -= mass * g * t
        return np.concatenate([back, wm.center_of_mass(model, q)], axis=1)

    before = fallen(model, q, v, 0.0)
    before[:, 6:] += wm.center_of_mass_velocity(model, q, v) * TIME + 0.5 * g * TIME**2
    errors = []
    for steps in counts:
        errors.append(fallen(model, *method(model, q, v, TIME / steps, steps), TIME) - before)
    assert order(*errors) > p - SLACK


@pytest.mark.parametrize("flavour", UNDER_GRAVITY[1:], ids=lambda f: f.root)
def test_damping_only_removes_energy(flavour):
    model, q, v = start(flavour)
    model.update(joint_damping=model.joint_damping + 0.05)
    before = energy(model, q, v)
    for _ in range(40):
        q, v = rk4(model, q, v, 2.5e-3, 1)
        after = energy(model, q, v)
        assert (after < before).all()
        before = after


def test_a_motion_run_backwards_returns():
    """Without damping the equations do not know the direction of time."""
    model, q, v = start(Flavour("revolute", True, 1, 1))
    undamped(model)
    errors = []
    for steps in (20, 40):
        h = TIME / steps
        q1, v1 = rk4(model, q, v, h, steps)
        q2, v2 = rk4(model, q1, -v1, h, steps)
        errors.append(np.concatenate([wm.difference(model, q, q2), v2 + v], axis=1))
    assert order(*errors) > 4 - SLACK
