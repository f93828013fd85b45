# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A step of a spinning free body solves its equations: I w = exp(-h u) L with u = (1 - s) I^-1 L + s w.

s = 1/2 + min(1/2, |h I^-1 L|^2 / 4). The rotation of the step is exp(h u), read off the poses before and after it.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

from worldline import msd
from worldline import simulation as sx

MOMENTS = np.array([0.011, 0.02, 0.029])
H = 0.01


def spinning(w, torque=(0.0, 0.0, 0.0)):
    """A body with the body-frame angular velocity w and a torque in world axes."""
    scene = msd.World()
    scene.simulate_option.timestep, scene.simulate_option.gravity = H, (0.0, 0.0, 0.0)
    scene.simulate_option.policy.free_spin_turn = 0.0
    inertial = msd.Inertia(mass=2.0, pos=(0, 0, 0), diag_inertia=MOMENTS)
    link = msd.Link(name="top", inertial=inertial)
    scene.hierarchy.bodies.append(msd.Body(link=link, free=msd.FreeJoint(name="free")))
    world = sx.World.from_scene(scene)
    body = world.rigid_bodies["top"]
    body.quaternion = Rotation.from_euler("xyz", (0.4, -0.7, 1.1)).as_quat()
    body.angular_velocity = body.rotation @ w
    body.torque = torque
    return world, body


def solved(L):
    """Velocity during and at the end of a step, by a general root finder."""
    start = L / MOMENTS
    s = 0.5 + min(0.5, 0.25 * H * H * start @ start)

    def during(w):
        return (1.0 - s) * start + s * w

    def gap(w):
        return MOMENTS * w - Rotation.from_rotvec(-H * during(w)).apply(L)

    w = fsolve(gap, start, xtol=1e-14)
    return during(w), w


@pytest.mark.parametrize("torque", [(0.0, 0.0, 0.0), (0.3, -0.2, 0.5)])
@pytest.mark.parametrize("speed", [2.0, 10.0, 25.0])
def test_a_step_solves_the_equations_of_its_spin(speed, torque):
    w = speed * np.array([0.3, 0.8, -0.52])
    world, body = spinning(w, torque)
    R = body.rotation.copy()
    L = MOMENTS * w + H * (R.T @ torque)
    during, end = solved(L)
    world.step()
    turned = Rotation.from_matrix(R.T @ body.rotation).as_rotvec() / H
    # two Newton steps leave open what is of fifth order in the turn of a step
    left = (H * speed) ** 5 * speed
    np.testing.assert_allclose(turned, during, rtol=0, atol=left + 1e-11)
    np.testing.assert_allclose(body.rotation.T @ body.angular_velocity, end, rtol=0, atol=left + 1e-11)
    # whatever is left open, momentum is not: I w_end = exp(-h u) L holds exactly
    momentum = body.rotation @ (MOMENTS * (body.rotation.T @ body.angular_velocity))
    np.testing.assert_allclose(momentum, R @ L, rtol=0, atol=1e-13 * speed)


def test_energy_is_kept_to_the_order_that_the_late_share_takes():
    """With s = 1/2 energy would stay; the late share takes away what is of fourth order in the turn of a step."""
    losses = []
    for speed in (4.0, 8.0, 16.0):
        world, _ = spinning(speed * np.array([0.3, 0.8, -0.52]))
        before = world.kinetic_energy
        world.step()
        losses.append(1.0 - world.kinetic_energy / before)
    assert min(losses) > 0.0
    np.testing.assert_allclose(np.log2(np.array(losses[1:]) / losses[:-1]), 4.0, atol=0.2)
