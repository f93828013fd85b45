# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`World.contact_sweeps`: a bound on the sweeps of sequential impulses."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

IMPULSES = sx.ContactSolverMethod.SEQUENTIAL_IMPULSE


def wall(sweeps: int, rows: int = 6, columns: int = 8) -> sx.World:
    """Bricks in a bond, one island of free bodies."""
    world = sx.World(time_step=0.004, contact_solver_method=IMPULSES, contact_sweeps=sweeps)
    world.add_ground_plane()
    for row in range(rows):
        for k in range(columns):
            at = (0.41 * k + 0.1 * (row % 2), 0.0, 0.1 + 0.2 * row)
            brick = world.add_rigid_body(f"brick_{row}_{k}", mass=1.0, position=at)
            brick.add_collision_shape(CollisionShape.box((0.2, 0.1, 0.1)))
    return world


def test_a_wall_stands_with_few_sweeps() -> None:
    """Forces of the last step are the guess of the next, so bricks creep, but none falls."""
    world = wall(4)
    start = np.array([body.translation for body in world.rigid_bodies])
    world.step(n=500)
    now = np.array([body.translation for body in world.rigid_bodies])
    assert np.abs(now - start).max() < 0.05
    assert world.step_report().iterations <= 4
    assert max(contact.depth for contact in world.contacts) < 2e-3


def test_more_sweeps_come_closer() -> None:
    residuals = []
    for sweeps in (1, 10, 100, 0):
        world = wall(sweeps)
        world.step(n=3)
        residuals.append(world.step_report().residual)
    assert residuals[0] > 3 * residuals[1] > 3 * residuals[2]
    assert residuals[3] <= 0.01


def test_the_bound_holds_for_rows_too() -> None:
    """A chain on the floor has rows of its joints; contacts of the impedance model have sweeps over rows."""
    text = """<mujoco><worldbody><geom type="plane" size="5 5 .1"/><body pos="0 0 .05"><freejoint/>
      <geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/><body pos=".3 0 0"><joint axis="0 1 0"/>
      <geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/></body></body></worldbody></mujoco>"""
    found = {}
    for sweeps in (0, 2):
        world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
        world.contact_solver_method, world.contact_sweeps = IMPULSES, sweeps
        world.step(n=20)
        found[sweeps] = world.step_report().iterations
    assert found[2] <= 2 < found[0]


def test_it_is_part_of_a_world() -> None:
    world = wall(3, 1, 2)
    assert world.clone().contact_sweeps == 3
    scene = world.to_scene()
    assert scene.simulate_option.policy.contact_sweeps == 3
    assert sx.World.from_scene(scene).contact_sweeps == 3
    world.contact_sweeps = 0
    assert world.contact_sweeps == 0
    for wrong in (-1, 1.5, True, "4"):
        with pytest.raises(ValueError, match="contact_sweeps"):
            world.contact_sweeps = wrong  # type: ignore[assignment]
    assert world.contact_sweeps == 0


def test_batches_have_it() -> None:
    """Lanes refuse a bound, so worlds of a batch step on threads, to the bits of a world alone."""
    alone = wall(2, 2, 3)
    batch = sx.WorldBatch(wall(2, 2, 3), 3)
    alone.step(n=30)
    batch.step(n=30)
    assert batch.layout == "threads"
    other = batch.extract(1)
    np.testing.assert_array_equal(other._live().sim.q, alone._live().sim.q)
