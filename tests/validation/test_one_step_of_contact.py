# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One step of one contact or closure in closed form: springs, landings within a step, overlaps, closures."""

from __future__ import annotations

import numpy as np
import pytest
from contact_worlds import G, ball, with_law

from scene_pairs import free_pair
from worldline import msd
from worldline import simulation as sx

H = 0.004
ERP = 0.2
"""Share of an overlap that a step removes, by default."""
Law = msd.ConstraintForceModel


def above(height, speed, mass=2.0, law=None, restitution=0.0, gravity=G, h=H):
    """A ball whose lowest point is at a height over the ground; frictionless."""
    world = sx.World(
        gravity=(0, 0, -gravity), time_step=h, contact_solver_method=sx.ContactSolverMethod.NEWTON
    )
    world.add_ground_plane(restitution=restitution)
    ball(
        world,
        mass=mass,
        restitution=restitution,
        position=(0, 0, 0.1 + height),
        linear_velocity=(0, 0, speed),
    )
    return with_law(world, law, condim=1)


def state(world):
    body = world.rigid_bodies["ball"]
    return body.translation[2] - 0.1, body.linear_velocity[2]


# ---- springs: m (w - v) / h = -m g - k (r + h w) - d w, the force at the end of the step


@pytest.mark.parametrize("speed", [-1.0, 0.0, 0.3])
@pytest.mark.parametrize(("k", "d"), [(100.0, 0.0), (4000.0, 30.0), (4000.0, 500.0)])
def test_force_springs_are_implicit_in_position_and_velocity(k, d, speed):
    mass, depth = 2.0, 0.01
    world = above(-depth, speed, mass, Law.force_spring(msd.StiffnessDamping(k=k, d=d)))
    world.step()
    free = speed - H * G
    # a contact does not pull
    wanted = max((free + H * k * depth / mass) / (1.0 + (H * H * k + H * d) / mass), free)
    assert state(world)[1] == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert state(world)[0] == pytest.approx(-depth + H * wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("mass", [0.3, 2.0])
@pytest.mark.parametrize(("k", "d"), [(100.0, 0.0), (4000.0, 30.0)])
def test_acceleration_springs_are_the_same_for_every_mass(k, d, mass):
    speed, depth = -0.5, 0.01
    world = above(-depth, speed, mass, Law.acceleration_spring(msd.StiffnessDamping(k=k, d=d)))
    world.step()
    wanted = (speed - H * G + H * k * depth) / (1.0 + H * H * k + H * d)
    assert state(world)[1] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


# ---- landings: v after a step belongs to the parabola whose velocity is v + a h / 2, a = -g


def landed(height, speed, e, h=H, g=G):
    """Height and velocity after a step in which a ball lands and bounces once, exactly."""
    y = speed - 0.5 * g * h
    hit = np.sqrt(y * y + 2.0 * g * height)
    left = h - (y + hit) / g
    up = e * hit
    return left * (up - 0.5 * g * left), up - g * left + 0.5 * g * h


@pytest.mark.parametrize("e", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("speed", [-2.0, -0.5])
def test_a_landing_within_a_step_is_exact(speed, share, e):
    fall = H * (-speed + G * H)
    world = above(share * fall, speed, restitution=e)
    wanted = landed(share * fall, speed, e)
    world.step()
    # the regularizer of hard contact is 1e-7 of the inverse inertia
    np.testing.assert_allclose(state(world), wanted, rtol=0, atol=1.1e-7 * (1.0 + e) * -speed + 1e-8)


def test_a_gap_that_does_not_close_is_left_alone():
    fall = H * (2.0 + G * H)
    world = above(1.01 * fall, -2.0, restitution=0.5)
    world.step()
    np.testing.assert_allclose(state(world), (0.01 * fall, -2.0 - G * H), rtol=0, atol=1e-12)


def test_bounces_without_end_within_a_step_come_to_rest():
    """A ball that would fly for less than the rest of the step stays where it landed."""
    speed, e = -0.01, 0.2
    height = 0.2 * H * (-speed + G * H)
    end, _ = landed(height, speed, e)
    assert end < 0.0
    world = above(height, speed, restitution=e)
    world.step()
    np.testing.assert_allclose(state(world), (0.0, 0.0), rtol=0, atol=2e-7)


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_what_overlaps_bounces_with_the_speed_it_has(e):
    """Restitution gives back e times the closing speed; without it a share of the overlap goes."""
    depth, speed = 1e-4, -2.0
    world = above(-depth, speed, restitution=e)
    world.step()
    wanted = max(-e * speed, ERP * depth / H)
    assert state(world)[1] == pytest.approx(wanted, abs=1.1e-7 * (wanted - speed))
    assert state(world)[0] == pytest.approx(-depth + H * wanted, abs=H * 1.1e-7 * (wanted - speed))


def test_a_deep_overlap_is_moved_apart_without_speed():
    """3 m/s at most, as a displacement: nothing of it stays in the velocity."""
    depth = 0.09
    assert ERP * depth / H > 3.0
    world = above(-depth, 0.0, gravity=0.0)
    world.step()
    assert state(world)[0] == pytest.approx(-depth + 3.0 * H, rel=1e-6)
    assert state(world)[1] == pytest.approx(0.0, abs=1e-7)


# ---- closures: the residual at the end of a step is of third order in the step


def pair(h, connect):
    """Two free bodies without forces, with equal moments of inertia so that they spin steadily."""
    scene = free_pair(h, 1.0, 0.1)
    connect(scene)
    return sx.World.from_scene(scene)


def rod(scene):
    ends = [msd.FrameRef(link=name) for name in "ab"]
    scene.loop_closures.append(
        msd.LoopClosure(frame_a=ends[0], frame_b=ends[1], family="Distance", distance=1.0, dynamics="Solve")
    )


def slider(scene):
    """Along x of both."""
    axes = msd.Joint(name="j", type_="Slide", axis=(1, 0, 0))
    scene.joints.append(
        msd.WorldJoint(parent=msd.FrameRef(link="b"), child=msd.FrameRef(link="a"), joint=axes)
    )


@pytest.mark.parametrize(("connect", "along"), [(rod, 0.0), (slider, 1.5)])
def test_a_closure_that_turns_stays_closed(connect, along):
    spin, errors = np.array([0.0, 0.0, 4.0]), []
    for h in (4e-3, 2e-3, 1e-3):
        world = pair(h, connect)
        for name, side in (("a", 1.0), ("b", -1.0)):
            body = world.rigid_bodies[name]
            body.translation = (0.5 * side, 0, 0)
            body.linear_velocity = np.cross(spin, body.translation) + np.array([0.5 * side * along, 0, 0])
            body.angular_velocity = spin
        world.step()
        column = world._live().constraints.column
        a, b = (world.rigid_bodies[name] for name in "ab")
        gap = a.translation - b.translation
        across = b.rotation.T @ gap
        errors.append(abs(np.linalg.norm(gap) - 1.0) if connect is rod else np.abs(across[1:]).max())
        assert np.abs(column["residual"][:1]).max() < 1e-12
    assert max(errors) < 1e-12, errors
