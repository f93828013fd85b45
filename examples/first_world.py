# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A first world: a box falls onto the ground, bounces a little and comes to rest."""

from worldline import simulation as sx
from worldline.collision import CollisionShape


def main() -> None:
    world = sx.World(time_step=0.002)
    world.add_ground_plane(friction=0.8)
    box = world.add_rigid_body("box", mass=2.0, inertia=(0.02, 0.02, 0.02), position=(0.0, 0.0, 1.0))
    box.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)), friction=0.8, restitution=0.3)

    print("time, s   height, m   contacts")
    for _ in range(10):
        world.step(n=100)
        print(f"{world.time:7.2f}   {box.translation[2]:9.4f}   {len(world.contacts):8d}")

    weight = sum(contact.force[2] for contact in world.contacts)
    print(f"the ground carries {weight:.3f} N, the box weighs {2.0 * 9.81:.3f} N")
    assert abs(box.translation[2] - 0.1) < 1e-3
    assert abs(weight - 2.0 * 9.81) < 0.01


if __name__ == "__main__":
    main()
