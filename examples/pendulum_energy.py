# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A double pendulum with three integrators: how well does each keep the energy?

python examples/pendulum_energy.py energy.png     also draws the errors, needs matplotlib
"""

import sys

import numpy as np

from worldline import simulation as sx

SECONDS = 10.0


def build(family: sx.MultibodyIntegrationFamily) -> sx.World:
    world = sx.World(time_step=0.002, multibody_options=sx.MultibodyOptions(integration_family=family))
    pendulum, parent = world.add_multibody("pendulum"), None
    for name, height in (("upper", 0.0), ("lower", -0.5)):
        X_PJ = np.eye(4)
        X_PJ[2, 3] = height
        joint = sx.JointSpec(name=f"{name}_hinge", axis=(0, 1, 0), transform_to_parent=X_PJ)
        parent = pendulum.add_link(
            name, parent, joint, mass=1.0, inertia=(0.02, 0.02, 0.001), center_of_mass=(0, 0, -0.25)
        )
    pendulum.joints.position = [0.6, 0.2]
    return world


def energy_error(world: sx.World) -> np.ndarray:
    start = world.compute_step_metrics().total_energy
    errors = []
    for _ in range(round(SECONDS / world.time_step / 10)):
        world.step(n=10)
        errors.append(world.compute_step_metrics().total_energy - start)
    return np.array(errors)


def main(picture: str | None = None) -> None:
    families = sx.MultibodyIntegrationFamily
    chosen = (families.SEMI_IMPLICIT, families.RUNGE_KUTTA_4, families.VARIATIONAL)
    errors = {family.value: energy_error(build(family)) for family in chosen}
    for name, error in errors.items():
        print(f"{name:>15}: largest error {np.abs(error).max():.1e} J, at the end {error[-1]:+.1e} J")
    if picture is not None:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(layout="constrained")
        for name, error in errors.items():
            axes.semilogy(0.02 * np.arange(1, len(error) + 1), np.abs(error) + 1e-16, label=name)
        axes.set(xlabel="time, s", ylabel="energy error, J")
        axes.legend()
        figure.savefig(picture)
        print(f"drawn to {picture}")

    worst = {name: np.abs(error).max() for name, error in errors.items()}
    assert worst["runge-kutta-4"] < worst["variational"] < worst["semi-implicit"]
    # no drift: the second half of the run is not worse than the first
    error = np.abs(errors["variational"])
    assert error[len(error) // 2 :].max() < 3.0 * error[: len(error) // 2].max()


if __name__ == "__main__":
    main(*sys.argv[1:])
