# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A tower of ten boxes stands; knocked at the bottom it falls."""

from worldline import simulation as sx
from worldline.collision import CollisionShape

HALF, COUNT = 0.1, 10


def build() -> tuple[sx.World, list[sx.RigidBody]]:
    world = sx.World(time_step=0.002)
    world.add_ground_plane(friction=0.7)
    boxes = []
    for k in range(COUNT):
        at = (0.0, 0.0, HALF + 2.0 * HALF * k)
        box = world.add_rigid_body(f"box_{k}", mass=1.0, inertia=(0.0067, 0.0067, 0.0067), position=at)
        box.add_collision_shape(CollisionShape.box((HALF, HALF, HALF)), friction=0.7)
        boxes.append(box)
    return world, boxes


def main() -> None:
    world, boxes = build()
    world.step(n=1500)
    top = boxes[-1].translation
    metrics = world.compute_step_metrics()
    print(
        f"after {world.time:g} s: top at {top[2]:.4f} m, {metrics.active_contact_count} contacts, "
        f"deepest {1e3 * metrics.max_penetration_depth:.3f} mm, {metrics.kinetic_energy:.1e} J in motion"
    )
    assert abs(top[2] - (2 * COUNT - 1) * HALF) < 2e-3
    assert abs(top[:2]).max() < 2e-3
    assert metrics.kinetic_energy < 1e-4

    boxes[1].linear_velocity = (6.0, 0.0, 0.0)
    world.step(n=1500)
    print(f"knocked at the second box: top at {boxes[-1].translation[2]:.2f} m")
    assert boxes[-1].translation[2] < 1.8


if __name__ == "__main__":
    main()
