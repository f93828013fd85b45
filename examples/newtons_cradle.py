# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Newton's cradle: one ball swings in, one ball swings out."""

import numpy as np

from worldline import simulation as sx
from worldline.collision import CollisionShape

BALLS, RADIUS, LENGTH = 5, 0.05, 0.5


def build() -> tuple[sx.World, list[sx.Joint]]:
    world = sx.World(time_step=5e-4)
    joints = []
    for k in range(BALLS):
        X_WJ = np.eye(4)
        X_WJ[0, 3] = k * (2.0 * RADIUS + 1e-4)
        string = world.add_multibody(f"string_{k}")
        spec = sx.JointSpec(name=f"hinge_{k}", axis=(0, 1, 0), transform_to_parent=X_WJ)
        ball = string.add_link(
            f"ball_{k}", None, spec, mass=0.5, inertia=(5e-4, 5e-4, 5e-4), center_of_mass=(0, 0, -LENGTH)
        )
        at = (0.0, 0.0, -LENGTH, 0.0, 0.0, 0.0, 1.0)
        ball.add_collision_shape(
            CollisionShape.sphere(RADIUS, local_transform=at), friction=0.0, restitution=1.0
        )
        joints.append(string.joints[0])
    return world, joints


def main() -> None:
    world, joints = build()
    joints[0].position = [0.5]  # to the left
    start = world.compute_step_metrics().total_energy
    highest = np.zeros(BALLS)
    for _ in range(75):
        world.step(n=20)
        highest = np.maximum(highest, [-joint.position[0] for joint in joints])
    kept = world.compute_step_metrics().total_energy - start
    angles = ", ".join(f"{np.degrees(angle):.1f}" for angle in highest)
    print(f"largest swing to the right: {angles} degrees; energy changed by {kept:+.1e} J")
    assert highest[-1] > 0.45  # nearly as far as the first came from
    assert highest[1:-1].max() < 0.1  # the others hardly move
    assert kept < 1e-6


if __name__ == "__main__":
    main()
