# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A gyroscope that precesses as the formula says, and a top whose conserved quantities stay."""

import numpy as np

from worldline import simulation as sx

MASS, ARM, SPIN = 1.0, 0.2, 200.0
AXIAL, LATERAL = 0.005, 0.003  # kg m^2 about the centre of mass


def build(tilt: float, precession: float) -> tuple[sx.World, sx.Link]:
    """A rotor on a ball joint, its axis tilted from the vertical, spinning and precessing."""
    family = sx.MultibodyIntegrationFamily.RUNGE_KUTTA_4
    world = sx.World(time_step=2e-4, multibody_options=sx.MultibodyOptions(integration_family=family))
    body = world.add_multibody("rotor")
    rotor = body.add_link(
        "rotor",
        None,
        sx.JointSpec(name="pivot", type=sx.JointType.SPHERICAL),
        mass=MASS,
        inertia=(LATERAL, LATERAL, AXIAL),
        center_of_mass=(0.0, 0.0, ARM),
    )
    body.joints["pivot"].position = [0.0, tilt, 0.0]  # turned about y
    # in body axes: the spin about z, and the precession about the vertical
    vertical = rotor.rotation.T @ np.array([0.0, 0.0, 1.0])
    body.joints["pivot"].velocity = SPIN * np.array([0.0, 0.0, 1.0]) + precession * vertical
    return world, rotor


def main() -> None:
    # steady precession with a horizontal axis: m g r = I w W
    expected = MASS * 9.81 * ARM / (AXIAL * SPIN)
    world, rotor = build(0.5 * np.pi, expected)
    world.step(n=5000)
    axis = rotor.rotation[:, 2]
    measured = float(np.arctan2(axis[1], axis[0])) / world.time
    print(f"gyroscope: precesses with {measured:.5f} rad/s, the formula says {expected:.5f} rad/s")
    assert abs(measured - expected) < 1e-3 * expected
    assert abs(axis[2]) < 1e-3  # stays horizontal

    world, rotor = build(0.4, 0.0)
    before = world.compute_step_metrics()
    momentum, spin = before.angular_momentum[2], rotor.rotation[:, 2] @ before.angular_momentum
    world.step(n=10000)
    after = world.compute_step_metrics()
    energy = abs(after.total_energy - before.total_energy) / before.kinetic_energy
    print(f"top after {world.time:.0f} s of nutation: energy off by {energy:.1e} of its motion")
    assert energy < 1e-8
    assert abs(after.angular_momentum[2] - momentum) < 1e-8 * abs(momentum)
    assert abs(rotor.rotation[:, 2] @ after.angular_momentum - spin) < 1e-8 * abs(spin)


if __name__ == "__main__":
    main()
