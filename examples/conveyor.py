# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A conveyor: a kinematic plank moves at a given speed and carries a crate by friction."""

from worldline import simulation as sx
from worldline.collision import CollisionShape

SPEED, FRICTION = 0.8, 0.6


def main() -> None:
    world = sx.World(time_step=0.002)
    belt = world.add_rigid_body("belt", kinematic=True, position=(0.0, 0.0, -0.05))
    belt.add_collision_shape(CollisionShape.box((4.0, 0.5, 0.05)), friction=FRICTION)
    crate = world.add_rigid_body("crate", mass=3.0, inertia=(0.05, 0.05, 0.05), position=(-1.0, 0.0, 0.15))
    crate.add_collision_shape(CollisionShape.box((0.15, 0.15, 0.15)), friction=FRICTION)
    world.step(n=250)  # settle on the belt, which stands still
    start = crate.translation[0]

    belt.linear_velocity = (SPEED, 0.0, 0.0)
    caught_up = None
    for _ in range(500):
        world.step(n=2)
        if caught_up is None and crate.linear_velocity[0] > 0.99 * SPEED:
            caught_up = world.time - 0.5
    expected = SPEED / (FRICTION * 9.81)  # sliding friction accelerates it by mu g
    assert caught_up is not None, "the belt does not carry the crate"
    print(f"the crate moves with the belt after {caught_up:.3f} s, sliding friction says {expected:.3f} s")
    print(f"carried {crate.translation[0] - start:.3f} m, the belt ran {belt.translation[0]:.3f} m")
    assert abs(crate.linear_velocity[0] - SPEED) < 1e-3
    assert abs(caught_up - expected) < 0.02


if __name__ == "__main__":
    main()
