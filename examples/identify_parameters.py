# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mass, friction and damping from a noisy recording; `identify_parameters.py fit.png` draws the fit."""

import sys

import numpy as np

from worldline import optimize
from worldline import simulation as sx

TRUE, GUESS = (2.0, 0.4, 0.3), (1.4, 0.6, 0.1)
NOISE = {"box.pose[0]": 1e-3, "box.velocity[0]": 5e-3, "arm.q": 1e-3, "arm.dq": 5e-3}
STEPS = 20


def build(mass: float, friction: float, damping: float) -> sx.World:
    """A box that is pushed over the ground, and a swinging arm."""
    world = sx.World(time_step=0.01, differentiable=True)
    ground = world.add_rigid_body("ground", position=(0, 0, -0.5))
    ground.is_static = True
    ground.set_collision_shape(sx.CollisionShape.box((5, 5, 0.5)), friction=0.4)
    box = world.add_rigid_body("box", mass=mass, inertia=0.02 * np.eye(3), position=(0, 0, 0.1))
    box.set_collision_shape(sx.CollisionShape.box((0.1, 0.1, 0.1)), friction=friction)
    box.linear_velocity = (1.0, 0, 0)
    arm = world.add_multibody("arm")
    spec = sx.JointSpec(name="hinge", axis=(0, 1, 0))
    arm.add_link("bob", joint=spec, mass=1.0, inertia=0.1 * np.eye(3), center_of_mass=(0, 0, -0.3))
    arm.joints["hinge"].damping_coefficient = [damping]
    arm.joints["hinge"].position = [0.6]
    return world


def record() -> tuple[np.ndarray, np.ndarray]:
    """Noisy states of the true world, and the controls it was given."""
    world, rng = build(*TRUE), np.random.default_rng(0)
    controls = np.zeros((STEPS, world.control_space().dimension))
    push = world.control_space().get_variable("box.wrench").start_index + 3
    controls[:, push] = 10.0 + 4.0 * np.sin(0.5 * np.arange(STEPS))
    states = [world.state_vector.copy()]
    for row in controls:
        world.control_vector = row
        world.step()
        states.append(world.state_vector.copy())
    noisy = np.array(states)
    for name, deviation in NOISE.items():
        column = world.state_space().get_variable(name.partition("[")[0]).start_index
        noisy[:, column] += deviation * rng.normal(size=len(noisy))
    return noisy, controls


def main() -> None:
    states, controls = record()
    world = build(*GUESS)
    box, hinge = world.rigid_bodies["box"], world.multibodies["arm"].joints["hinge"]
    world.add_differentiable_parameter(box, sx.PhysicalParameter.MASS)
    world.add_differentiable_parameter(box, sx.PhysicalParameter.FRICTION, lower_bound=0.05)
    world.add_differentiable_parameter(hinge, sx.PhysicalParameter.DAMPING)
    found = optimize.identify(world, states, controls, deviations=NOISE, tolerance=1e-4)
    for k, name in enumerate(found.names):
        off = found.standard_deviations[k]
        print(f"{name}: {GUESS[k]} at first, {found.values[k]:.3f} +- {off:.3f} found, {TRUE[k]} true")
    if len(sys.argv) > 1:
        found.plot(list(NOISE)).savefig(sys.argv[1])
    assert (np.abs(found.values - TRUE) < 4.0 * found.standard_deviations).all()
    assert (np.abs(found.values - TRUE) < np.abs(np.subtract(GUESS, TRUE))).all()


if __name__ == "__main__":
    main()
