# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Contacts, limits, friction and drives in variational steps, alone and on closed mechanisms."""

from __future__ import annotations

import numpy as np
import pytest
from tests.closed_mechanisms import POINT, Family, energy, four_bars, joints_of, offset, options, slider_crank

from worldline import msd
from worldline import simulation as sx

G = 9.81


def ball(h: float, height: float, restitution: float = 0.0) -> tuple[sx.World, sx.RigidBody]:
    world = sx.World(time_step=h, multibody_options=options(Family.VARIATIONAL))
    world.add_ground_plane()
    body = world.add_rigid_body("ball", mass=2.0, inertia=(0.01, 0.01, 0.01), position=(0, 0, 0.1 + height))
    body.add_collision_shape(sx.CollisionShape.sphere(0.1))
    body.restitution = restitution
    return world, body


# ---- contacts


@pytest.mark.parametrize("h", [2e-3, 1e-3])
def test_an_elastic_ball_keeps_its_energy_and_bounces_in_time(h):
    """Exact parabolas: the moment of an impact within a step, and the velocities at its end."""
    world, body = ball(h, 0.5, restitution=1.0)
    down = np.sqrt(2.0 * 0.5 / G)
    for k in range(1, round(3.0 / h) + 1):
        world.step()
        height, speed = body.translation[2] - 0.1, body.linear_velocity[2]
        assert G * height + 0.5 * speed**2 == pytest.approx(0.5 * G, rel=1e-5)
        since = (k * h + down) % (2.0 * down) - down
        assert height == pytest.approx(0.5 - 0.5 * G * since**2, abs=1e-5)


def test_a_ball_comes_to_rest_with_its_weight_on_the_ground():
    world, body = ball(1e-3, 0.5)
    world.step(1000)
    assert body.translation[2] == pytest.approx(0.1, abs=1e-9) and abs(body.linear_velocity[2]) < 1e-8
    assert sum(one.force[2] for one in world.contacts) == pytest.approx(2.0 * G, rel=1e-9)


@pytest.mark.parametrize("slope", [0.2, 0.8])
def test_a_box_on_a_slope_sticks_or_slides(slope):
    gravity = (G * np.sin(slope), 0.0, -G * np.cos(slope))
    world = sx.World(time_step=1e-3, gravity=gravity, multibody_options=options(Family.VARIATIONAL))
    world.add_ground_plane(friction=0.5)
    body = world.add_rigid_body("box", mass=2.0, inertia=(0.01, 0.01, 0.01), position=(0, 0, 0.05))
    body.add_collision_shape(sx.CollisionShape.box((0.2, 0.2, 0.05)))
    body.friction = 0.5
    world.step(500)
    slides = np.tan(slope) > 0.5
    along = G * (np.sin(slope) - 0.5 * np.cos(slope)) if slides else 0.0
    assert body.linear_velocity[0] == pytest.approx(0.5 * along, rel=1e-4, abs=1e-6)
    assert body.translation[0] == pytest.approx(0.125 * along, rel=1e-4, abs=1e-6)
    assert body.translation[2] == pytest.approx(0.05, abs=1e-8)


def test_two_bodies_that_collide_keep_their_momentum():
    world = sx.World(time_step=1e-3, gravity=(0, 0, 0), multibody_options=options(Family.VARIATIONAL))
    bodies = []
    for k, (mass, x, speed) in enumerate(((1.0, -0.3, 2.0), (3.0, 0.3, -1.0))):
        body = world.add_rigid_body(
            f"{k}",
            mass=mass,
            inertia=(0.01, 0.01, 0.01),
            position=(x, 0.02 * k, 0),
            linear_velocity=(speed, 0, 0),
        )
        body.add_collision_shape(sx.CollisionShape.sphere(0.1))
        body.restitution, body.friction = 1.0, 0.0
        bodies.append(body)
    start = world.kinetic_energy
    world.step(400)
    assert bodies[0].linear_velocity[0] < 0.0
    total = sum(body.mass * body.linear_velocity for body in bodies)
    np.testing.assert_allclose(total, (-1.0, 0.0, 0.0), rtol=0, atol=1e-9)
    assert world.kinetic_energy == pytest.approx(start, rel=1e-3)


# ---- closed mechanisms


def walker(h: float, family: Family) -> sx.World:
    """A floating parallelogram, two legs of 0.4 m with feet and two bars across, falling on the ground."""
    world = sx.World(time_step=h, multibody_options=options(family))
    world.add_ground_plane()
    robot = world.add_multibody("walker")
    top = robot.add_link(
        "top",
        joint=sx.JointSpec("root", sx.JointType.FLOATING),
        mass=2.0,
        inertia=(0.02, 0.04, 0.04),
    )
    legs = []
    for name, x in (("left", -0.2), ("right", 0.2)):
        spec = sx.JointSpec(name, axis=(0, 1, 0), transform_to_parent=offset(x), damping_coefficient=1.0)
        leg = robot.add_link(
            name, top, spec, mass=0.7, inertia=(0.01, 0.01, 1e-3), center_of_mass=(0, 0, -0.2)
        )
        for y in (-0.15, 0.15):
            leg.add_collision_shape(sx.CollisionShape.sphere(0.03, offset(0.0, y, -0.4)))
        legs.append(leg)
    bar = robot.add_link(
        "bar",
        legs[0],
        sx.JointSpec("bar", axis=(0, 1, 0), transform_to_parent=offset(0, 0, -0.3)),
        mass=0.5,
        inertia=(1e-3, 0.01, 0.01),
        center_of_mass=(0.2, 0, 0),
    )
    world.add_loop_closure(
        "pin", frame_a=bar, frame_b=legs[1], offset_a=offset(0.4), offset_b=offset(0, 0, -0.3), family=POINT
    )
    for name in ("left", "right"):
        robot.joints[name].target_stiffness, robot.joints[name].target_position = 60.0, [0.0]
    robot.joints["root"].position = [0, 0, 0.5, 0, 0, 0]
    return world


@pytest.mark.parametrize("family", [Family.SEMI_IMPLICIT, Family.VARIATIONAL])
def test_a_closed_mechanism_lands_and_rests_with_its_weight_on_the_ground(family):
    world = walker(1e-3, family)
    for _ in range(3000):
        world.step()
        assert world.loop_closures["pin"].compute_residual().norm < 1e-8
    assert np.abs(world.multibodies["walker"].joints.velocity).max() < 1e-5
    force = sum(one.force for one in world.contacts)
    assert len(world.contacts) == 4
    np.testing.assert_allclose(force, (0.0, 0.0, 3.9 * G), rtol=0, atol=1e-5)


def test_a_four_bar_falls_on_its_limit():
    """A single pendulum in effect: its speed before the stop, the energy it loses and the torque that holds it.

    Rods of 1 m and 1 kg: I = 2 / 3 + 1, and the potential energy is 2 g cos of the angle from upright.
    """
    h, stop = 1e-3, 1.0
    world = four_bars(1, h, Family.VARIATIONAL)
    joint = joints_of(world)["v0"]
    joint.set_position_limits([-stop], [stop])
    fastest, start = 0.0, energy(world)
    for _ in range(2000):
        world.step()
        fastest = max(fastest, -float(joint.velocity[0]))
        assert joint.position[0] > -stop - 1e-8
        assert world.loop_closures["pin1"].compute_residual().norm < 1e-8
        assert energy(world) < start + 1e-5
    exact = np.sqrt(1.0 + 2.0 * 2.0 * G * (1.0 - np.cos(stop)) / (5.0 / 3.0))
    assert fastest == pytest.approx(exact, abs=15.0 * h)
    assert joint.position[0] == pytest.approx(-stop, abs=1e-8) and abs(joint.velocity[0]) < 1e-6
    assert energy(world) - start == pytest.approx(-2.0 * G * (1.0 - np.cos(stop)) - 0.5 * 5.0 / 3.0, abs=1e-5)
    # the stop takes up the torque of gravity: virtual work along the mechanism, where the closure does none
    forces = {name: float(one.constraint_force[0]) for name, one in joints_of(world).items()}
    torque = forces["v0"] - forces["h0"] + forces["v1"]
    assert torque == pytest.approx(2.0 * G * np.sin(stop), rel=1e-6)


def rubbed(h: float, family: Family) -> sx.World:
    """The slider-crank with dry friction at its crank and a spring at its slide."""
    world = slider_crank(h, family)
    joints = joints_of(world)
    joints["crank"].coulomb_friction = 0.1
    joints["slide"].spring_stiffness = 40.0
    return world


def test_dry_friction_in_a_closed_mechanism_converges_to_the_default_family():
    """While the crank turns one way friction is a constant torque; rows of mechanisms have order one."""

    def state(h: float, family: Family) -> np.ndarray:
        world = rubbed(h, family)
        world.step(round(0.08 / h))
        joints = joints_of(world)
        assert joints["crank"].velocity[0] > 1.0
        return np.array([joints["crank"].position[0], joints["crank"].velocity[0]])

    fine = state(1e-5, Family.RUNGE_KUTTA_4)
    errors = [np.abs(state(h, Family.VARIATIONAL) - fine).max() for h in (4e-3, 2e-3, 1e-3)]
    default = np.abs(state(1e-4, Family.SEMI_IMPLICIT) - fine).max()
    assert errors[2] < 1e-3 and default < 1e-2, (errors, default)
    assert errors[0] > 1.9 * errors[1] > 1.9 * 1.9 * errors[2], errors


# ---- soft equalities


def test_soft_equalities_act_in_variational_steps():
    """A point held by a spring of the impedance model hangs where its force is the weight."""
    ends = []
    for family in (Family.SEMI_IMPLICIT, Family.VARIATIONAL):
        world = sx.World(time_step=1e-3, multibody_options=options(family))
        world.add_rigid_body("bob", mass=1.0, inertia=(0.01, 0.01, 0.01))
        anchor = msd.ConnectConstraintType.link_anchor("bob", (0.0, 0.0, 0.0))
        world.add_equality(msd.EqualityConnect(name="hook", connect_type=anchor))
        world.step(3000)
        assert np.abs(world.rigid_bodies["bob"].linear_velocity).max() < 1e-6
        ends.append(world.rigid_bodies["bob"].translation.copy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-8)
    assert ends[0][2] < 0.0
