# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A quadruped of four legs with two joints each lands on its feet and stands, held by position drives."""

import numpy as np

from worldline import simulation as sx
from worldline.collision import CollisionShape

HIP, KNEE = 0.6, -1.2
THIGH = SHIN = 0.2


def place(x: float, y: float, z: float) -> np.ndarray:
    X = np.eye(4)
    X[:3, 3] = x, y, z
    return X


def build() -> tuple[sx.World, sx.Multibody]:
    world = sx.World(time_step=0.002)
    world.add_ground_plane(friction=1.0)
    dog = world.add_multibody("dog")
    root = sx.JointSpec(name="root", type=sx.JointType.FLOATING)
    trunk = dog.add_link("trunk", None, root, mass=8.0, inertia=(0.05, 0.2, 0.22))
    trunk.add_collision_shape(CollisionShape.box((0.25, 0.12, 0.06)))
    for name, x, y in (("fl", 0.2, 0.15), ("fr", 0.2, -0.15), ("rl", -0.2, 0.15), ("rr", -0.2, -0.15)):
        hip = sx.JointSpec(name=f"{name}_hip", axis=(0, 1, 0), transform_to_parent=place(x, y, 0.0))
        thigh = dog.add_link(
            f"{name}_thigh", trunk, hip, mass=0.8, inertia=(0.003, 0.003, 0.0005), center_of_mass=(0, 0, -0.1)
        )
        knee = sx.JointSpec(name=f"{name}_knee", axis=(0, 1, 0), transform_to_parent=place(0, 0, -THIGH))
        shin = dog.add_link(
            f"{name}_shin", thigh, knee, mass=0.3, inertia=(0.001, 0.001, 0.0001), center_of_mass=(0, 0, -0.1)
        )
        foot = (0.0, 0.0, -SHIN, 0.0, 0.0, 0.0, 1.0)
        shin.add_collision_shape(CollisionShape.sphere(0.025, local_transform=foot))
    for joint in dog.joints:
        if joint.num_dofs == 1:
            angle = HIP if joint.name.endswith("hip") else KNEE
            joint.position = joint.target_position = [angle]
            joint.target_stiffness, joint.target_damping = 150.0, 4.0
            joint.effort_limits = 30.0
    dog.joints["root"].position = [0.0, 0.0, 0.45, 0.0, 0.0, 0.0]
    return world, dog


def main() -> None:
    world, dog = build()
    trunk = dog.links["trunk"]
    for _ in range(6):
        world.step(n=250)
        print(f"{world.time:.1f} s: trunk at {trunk.translation[2]:.3f} m, {len(world.contacts)} feet")
    carried = sum(contact.force[2] for contact in world.contacts)
    print(f"feet carry {carried:.1f} N of {dog.mass * 9.81:.1f} N, {world.kinetic_energy:.1e} J in motion")
    assert len(world.contacts) == 4
    assert 0.28 < trunk.translation[2] < 0.36
    assert trunk.rotation[2, 2] > 0.999  # level
    assert abs(carried - dog.mass * 9.81) < 1.0
    assert world.kinetic_energy < 1e-3


if __name__ == "__main__":
    main()
