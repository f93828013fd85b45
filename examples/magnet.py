# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A magnet as a compiled force element: two dipoles on a line attract each other with a/d^4 and meet."""

import numpy as np

import worldline
from worldline import ops
from worldline import simulation as sx

STRENGTH, MASS, GAP = 1e-5, 0.1, 0.2  # N m^4, kg, m


@worldline.kernel
def magnet(step):
    """Each of two bodies pulls the other along the line between their centres: F = a / d^4."""
    left, right = step.bodies[0], step.bodies[1]
    ax, ay, az = ops.center_of_mass(step, left)
    bx, by, bz = ops.center_of_mass(step, right)
    x, y, z = bx - ax, by - ay, bz - az
    square = x * x + y * y + z * z
    pull = step.parameters[0] / (square * square * ops.sqrt(square))
    ops.add_force(step, left, pull * x, pull * y, pull * z)
    ops.add_force(step, right, -pull * x, -pull * y, -pull * z)


def main() -> None:
    world = sx.World(time_step=1e-4, gravity=(0, 0, 0))
    inertia = (1e-4, 1e-4, 1e-4)
    left = world.add_rigid_body("left", mass=MASS, inertia=inertia, position=(-0.5 * GAP, 0, 0))
    right = world.add_rigid_body("right", mass=MASS, inertia=inertia, position=(0.5 * GAP, 0, 0))
    world.add_force_element("magnet", magnet, bodies=(left, right), parameters=(STRENGTH,))
    while right.translation[0] > 0.25 * GAP:
        world.step(n=10)
    # what the field did, a/3 (1/d^3 - 1/d0^3), is the kinetic energy of both
    distance = right.translation[0] - left.translation[0]
    work = STRENGTH / 3.0 * (distance**-3 - GAP**-3)
    kinetic = MASS * right.linear_velocity[0] ** 2
    print(f"at {distance:.4f} m after {world.time:.3f} s: {kinetic:.6e} J, the field did {work:.6e} J")
    assert abs(kinetic / work - 1.0) < 2e-3
    assert np.abs(left.translation + right.translation).max() < 1e-12  # nothing pushes the pair

    # the same kernel in a batch: magnets of other strengths in the lanes of one instruction
    world.reset()
    batch = sx.WorldBatch(world, 4, layout="lanes")
    batch.element_parameters[:, 0] = STRENGTH * np.array([0.5, 1.0, 2.0, 4.0])
    batch.step(500)
    speeds = batch.rigid_bodies["left"].linear_velocity[:, 0]
    print("speeds in a batch:", ", ".join(f"{speed:.3f}" for speed in speeds), "m/s")
    assert np.all(np.diff(speeds) > 0.0)


if __name__ == "__main__":
    main()
