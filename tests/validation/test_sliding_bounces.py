# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A rod that bounces on its end and slides: impulses of Newton's restitution and Coulomb's friction in closed form.

In the plane of the rod an impulse p changes the velocity of the end by K p. With restitution e the end leaves with
-e times its closing speed, friction is mu times the normal impulse against the slip it ends with. The work of the
impulse is p times the mean of the velocities before and after. Where that is a gain, restitution is cut down: the
impulse is the blend of those with and without restitution, with the most restitution that does no work.
"""

from __future__ import annotations

import numpy as np
import pytest
from contact_worlds import METHODS

from worldline import simulation as sx
from worldline.collision import CollisionShape

TILT, HALF, ROUND, MASS, INERTIA = 0.8, 0.5, 0.02, 1.0, 1.0 / 12.0
ARM = np.array([HALF * np.sin(TILT), -HALF * np.cos(TILT) - ROUND])
"""From the centre to the contact, along x and z."""
K = np.eye(2) / MASS + np.array([[ARM[1] ** 2, -ARM[0] * ARM[1]], [-ARM[0] * ARM[1], ARM[0] ** 2]]) / INERTIA
H = 1e-3


def sliding_impulse(velocity, e, mu):
    """Impulse along x and z of a contact that ends sliding, and the velocity it ends with."""
    for way in (1.0, -1.0):
        direction = np.array([-mu * way, 1.0])
        p = direction * -(1.0 + e) * velocity[1] / (K @ direction)[1]
        after = velocity + K @ p
        if way * after[0] > 0.0:
            return p, after
    raise AssertionError("it sticks")


def expected(velocity, e, mu):
    """The impulse, and the share of restitution in it."""
    p, after = sliding_impulse(velocity, e, mu)
    if p @ (velocity + after) <= 0.0:
        return p, 1.0
    p0, after0 = sliding_impulse(velocity, 0.0, mu)
    more, faster = p - p0, after - after0
    start = p0 @ (velocity + after0)
    shares = np.roots([more @ faster, p0 @ faster + more @ (velocity + after0), start - max(start, 0.0)])
    share = shares[shares > 1e-12].min()
    return p0 + share * more, share


def thrown(speed, e, mu, method, side):
    """A rod at rest in rotation whose end just touches; `side` mirrors it, and has it stand on its other end.

    Axes of friction follow the axis of a capsule, so slip is along them for one side and against them for the other.
    """
    world = sx.World(gravity=(0, 0, 0), time_step=H, contact_solver_method=method)
    world.add_ground_plane(restitution=e, friction=mu)
    tilt = -side * TILT + (0.0 if side > 0.0 else np.pi)
    body = world.add_rigid_body(
        "rod",
        mass=MASS,
        inertia=np.diag([INERTIA, INERTIA, 1e-3]),
        position=(0, 0, ROUND + HALF * np.cos(TILT) - 1e-9),
        orientation=(0, np.sin(tilt / 2), 0, np.cos(tilt / 2)),
        linear_velocity=(side * speed, 0, -1.0),
    )
    body.add_collision_shape(CollisionShape.capsule(ROUND, HALF), friction=mu, restitution=e)
    return world, body


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("method", [m for m in METHODS if m.name != "BOXED_LCP"])
@pytest.mark.parametrize(
    ("speed", "e", "mu", "cut"),
    [
        (-0.4, 1.0, 0.05, False),  # the slip turns round and ends faster: friction takes energy
        (0.5, 0.7, 0.1, False),
        (
            -1.1,
            0.99,
            0.05,
            True,
        ),  # it turns round and ends slower: friction gives more than restitution loses
        (-1.0, 1.0, 0.1, True),
    ],
)
def test_a_sliding_bounce_has_the_impulse_of_its_laws(speed, e, mu, cut, method, side):
    p, share = expected(np.array([speed, -1.0]), e, mu)
    assert (share < 1.0) == cut
    world, body = thrown(speed, e, mu, method, side)
    before = world.kinetic_energy
    world.step()
    change = body.linear_velocity - np.array([side * speed, 0.0, -1.0])
    np.testing.assert_allclose(MASS * change, [side * p[0], 0.0, p[1]], rtol=0, atol=2e-6)
    # the moment of (p_x, p_z) at (r_x, r_z) about y is r_z p_x - r_x p_z
    spin = side * (ARM[1] * p[0] - ARM[0] * p[1]) / INERTIA
    np.testing.assert_allclose(body.angular_velocity, [0.0, spin, 0.0], rtol=0, atol=2e-5)
    if cut:
        assert world.kinetic_energy == pytest.approx(before, rel=2e-6)
    # forces that are reported are those that act
    live = world._live()
    np.testing.assert_allclose(live.constraints.column["qfrc"][:3], MASS * change / H, rtol=0, atol=1e-8 / H)
    pair = next(iter(world.step_report().pairs))
    np.testing.assert_allclose(np.abs(pair.force), np.abs(MASS * change) / H, rtol=0, atol=1e-8 / H)
