# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A step of a spinning free body solves its equations: I w = exp(-h u) L with u = (1 - s) I^-1 L + s w.

s = 1/2 + min(1/2, |h I^-1 L|^2 / 4). The rotation of the step is exp(h u), read off the poses before and after it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

from worldline import msd
from worldline import simulation as sx
from worldline._src.jit import entry
from worldline._src.kernels import free_spin

MOMENTS = np.array([0.011, 0.02, 0.029])
H = 0.01


def spinning(w, torque=(0.0, 0.0, 0.0), com=(0.0, 0.0, 0.0), least=0.0):
    """A body with the body-frame angular velocity w and a torque in world axes.

    Turns below `least` a step take the torque at the beginning.
    """
    scene = msd.World()
    scene.simulate_option.timestep, scene.simulate_option.gravity = H, (0.0, 0.0, 0.0)
    scene.simulate_option.policy.free_spin_turn = least
    inertial = msd.Inertia(mass=2.0, pos=com, diag_inertia=MOMENTS)
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

    w = fsolve(gap, start, xtol=1e-13)
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


@pytest.mark.parametrize("speed", [2.0, 25.0])
def test_the_centre_of_mass_goes_on_with_its_momentum(speed):
    """However the body turns about it, and wherever its origin is."""
    com, force, drift = np.array([0.05, 0.02, -0.03]), np.array([3.0, -2.0, 4.0]), np.array([0.3, -0.1, 0.2])
    world, body = spinning(speed * np.array([0.3, 0.8, -0.52]), (0.3, -0.2, 0.5), com)
    body.force = force
    body.linear_velocity = drift
    R = body.rotation
    before, velocity = body.translation + R @ com, world.linear_momentum / 2.0
    L = R @ (MOMENTS * (R.T @ body.angular_velocity)) + H * np.array((0.3, -0.2, 0.5))
    world.step()
    R = body.rotation
    wanted = velocity + H * force / 2.0
    assert R @ com + body.translation == pytest.approx(before + H * wanted, abs=1e-13 * speed)
    assert world.linear_momentum == pytest.approx(2.0 * wanted, abs=1e-12 * speed)
    assert R @ (MOMENTS * (R.T @ body.angular_velocity)) == pytest.approx(L, abs=1e-13 * speed)


def test_a_turn_without_a_solution_nearby_is_about_the_momentum():
    """By the share of the velocity along it: energy and momentum both stay."""
    w = 600.0 * np.array([0.01, 1.0, 0.3])
    world, body = spinning(w)
    R, L, energy = body.rotation.copy(), MOMENTS * w, world.kinetic_energy
    world.step()
    turn = Rotation.from_rotvec(H * L * (w @ L) / (L @ L)).as_matrix()
    np.testing.assert_allclose(R.T @ body.rotation, turn, atol=1e-12)
    np.testing.assert_allclose(body.rotation.T @ body.angular_velocity, w, rtol=1e-12)
    assert world.kinetic_energy == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize(("turn", "least"), [(0.2, 0.1), (0.05, 0.1)])
def test_the_turn_at_the_end_of_a_step_counts_too(turn, least):
    """From rest, a torque takes a body to a speed above or below the least turn of a step that is solved for."""
    axis = np.array([0.3, 0.8, -0.52])
    world, body = spinning((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), least=least)
    R = body.rotation.copy()
    L = MOMENTS * axis * turn / H
    body.torque = R @ L / H
    during, end = solved(L) if turn >= least else (L / MOMENTS, L / MOMENTS)
    world.step()
    turned = Rotation.from_matrix(R.T @ body.rotation).as_rotvec() / H
    np.testing.assert_allclose(turned, during, rtol=0, atol=turn**5 * turn / H + 1e-10)
    np.testing.assert_allclose(
        body.rotation.T @ body.angular_velocity, end, rtol=0, atol=turn**5 * turn / H + 1e-10
    )
    assert turn < least or np.abs(end - L / MOMENTS).max() > 1e-2


# ---- after contacts


class Tree(NamedTuple):
    link_v_start: Any


class Inertias(NamedTuple):
    link_inertia: Any
    link_com: Any


class Poses(NamedTuple):
    link_R: Any
    dof_S: Any


class Spins(NamedTuple):
    link_floating: Any
    link_spin: Any


@entry
def turn_free(starts, inertia, com, R, S, floating, taken, h, v, rate):
    free_spin.turn(Tree(starts), Inertias(inertia, com), Poses(R, S), h, Spins(floating, taken), v, rate)


def turned_body(w, taken, com=(0.0, 0.0, 0.0)):
    """Rates during a step and velocities at its end of a body whose contacts left it w, `taken` out of its axes."""
    inertia, S = np.zeros((2, 6)), np.zeros((6, 6))
    inertia[1, :3] = MOMENTS
    S[:3, 3:] = S[3:, :3] = np.eye(3)
    v, rate = np.r_[np.zeros(3), w], np.zeros(6)
    rotations = np.tile(np.eye(3).ravel(), (2, 1))
    floating, spin = np.array([0.0, 1.0]), np.array([np.zeros(4), [*taken, 1.0]])
    turn_free(
        np.array([0, 0]), inertia, np.array([np.zeros(3), com]), rotations, S, floating, spin, H, v, rate
    )
    return rate, v


@pytest.mark.parametrize("speed", [5.0, 15.0, 25.0])
@pytest.mark.parametrize("gain", [0.05, -0.05])
def test_a_fast_turn_adds_no_energy_to_what_contacts_left(speed, gain):
    """From 0.2 rad a step on; below that the momentum that turning took is given back, energy or not."""
    w = speed * np.array([0.3, 0.8, -0.52])
    taken = gain * MOMENTS * w
    during, end = solved(MOMENTS * w + taken)
    gains = end @ (MOMENTS * end) > w @ (MOMENTS * w)
    assert gains == (gain > 0.0)
    rate, left = (x[3:] for x in turned_body(w, taken))
    if gains and H * speed > 0.2:
        during = end = w
    np.testing.assert_allclose(rate, during, rtol=0, atol=(H * speed) ** 5 * speed + 1e-11)
    np.testing.assert_allclose(left, end, rtol=0, atol=(H * speed) ** 5 * speed + 1e-11)


@pytest.mark.parametrize("gain", [0.05, -0.05])
def test_the_centre_of_mass_keeps_what_contacts_left(gain):
    """Its way and its velocity, while the velocity of turning changes."""
    w, com = 25.0 * np.array([0.3, 0.8, -0.52]), np.array([0.05, 0.02, -0.03])
    rate, left = turned_body(w, gain * MOMENTS * w, com)
    assert (np.abs(left[3:] - w).max() > 0.1) == (gain < 0.0)
    velocity, R = np.cross(w, com), Rotation.from_rotvec(H * rate[3:])
    np.testing.assert_allclose(H * rate[:3] + R.apply(com), com + H * velocity, rtol=0, atol=1e-15)
    np.testing.assert_allclose(left[:3] + R.apply(np.cross(left[3:], com)), velocity, rtol=0, atol=1e-13)


@pytest.mark.parametrize("axis", [(0.3, 0.8, -0.52), (0.8, -0.3, 0.52), (-0.5, 0.5, 0.7)])
def test_newton_steps_of_a_spin_leave_open_what_is_of_sixth_order(axis):
    """A wrong entry of their matrix I - s h [H]x would leave more: twice the turn, 2^7 times the error."""
    errors = []
    for speed in (4.0, 8.0, 16.0):
        w = speed * np.array(axis)
        world, body = spinning(w)
        _, end = solved(MOMENTS * w)
        world.step()
        errors.append(np.abs(body.rotation.T @ body.angular_velocity - end).max())
    np.testing.assert_allclose(np.log2(np.array(errors[1:]) / errors[:-1]), 7.0, atol=0.2)


def test_bodies_that_spin_beside_each_other_turn_as_they_do_alone():
    spins = (np.array([3.0, 8.0, -5.2]), np.array([-6.0, 2.0, 4.0]))
    both = sx.World(time_step=H, gravity=(0, 0, 0))
    alone = []
    for k, w in enumerate(spins):
        for world in (both, sx.World(time_step=H, gravity=(0, 0, 0))):
            body = world.add_rigid_body(f"top {k}", mass=2.0, inertia=MOMENTS, position=(3.0 * k, 0, 0))
            body.angular_velocity = w
        alone.append(body)
        world.step(n=3)
    both.step(n=3)
    for k, lone in enumerate(alone):
        beside = both.rigid_bodies[f"top {k}"]
        assert np.array_equal(beside.angular_velocity, lone.angular_velocity)
        assert np.array_equal(beside.transform, lone.transform)
        assert np.abs(lone.angular_velocity - spins[k]).max() > 0.05
