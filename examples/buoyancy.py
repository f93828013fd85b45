# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A buoyancy field as a compiled force element: crates float as deep as they are heavy."""

import numpy as np

import worldline
from worldline import ops
from worldline import simulation as sx

SIDE, WATER, GRAVITY, DRAG = 0.2, 1000.0, 9.81, 60.0  # m, kg/m^3, m/s^2, N s/m


@worldline.kernel
def buoyancy(step):
    """Water below z = 0 lifts the part of every crate in it, at the middle of that part, and drags it."""
    side, drag = step.parameters[0], step.parameters[1]
    for k in range(step.bodies.shape[0]):
        body = step.bodies[k]
        x, y, z = ops.center_of_mass(step, body)
        depth = ops.clamp(0.5 * side - z, 0.0 * side, side)
        lift = WATER * GRAVITY * side * side * depth
        zero = 0.0 * z
        ops.add_force_at(step, body, zero, zero, lift, x, y, z + 0.5 * (depth - side))
        share = drag * depth / side
        speed = step.body_qd[body]
        ops.add_force(step, body, -share * speed[0], -share * speed[1], -share * speed[2])


def main() -> None:
    world = sx.World(time_step=0.002)
    densities = np.array([0.1, 0.25, 0.5, 0.9])
    crates = []
    for k, density in enumerate(densities.tolist()):
        mass = density * WATER * SIDE**3
        inertia = np.full(3, mass * SIDE**2 / 6.0)
        crates.append(world.add_rigid_body(f"crate_{k}", mass=mass, inertia=inertia, position=(k, 0, 0.3)))
    world.add_force_element("water", buoyancy, bodies=crates, parameters=(SIDE, DRAG))
    world.step(n=10_000)
    depths = np.array([0.5 * SIDE - crate.translation[2] for crate in crates])
    print("share under water:", ", ".join(f"{share:.3f}" for share in depths / SIDE))
    # Archimedes: the share of the volume below the surface is the density relative to water
    assert np.abs(depths / SIDE - densities).max() < 1e-3

    # thicker water: a parameter of the element, without compiling anew
    world.step_functions[0].parameters = (SIDE, 10.0 * DRAG)
    world.step(n=100)
    assert np.abs([crate.linear_velocity[2] for crate in crates]).max() < 1e-2


if __name__ == "__main__":
    main()
