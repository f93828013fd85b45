# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Throw a ball so that it meets a target after one bounce; `throw_with_bounce.py throw.png` draws the throws.

The launch velocity is found by Gauss-Newton steps from derivatives of the whole rollout, through the bounce.
"""

import sys

import numpy as np

from worldline import msd
from worldline import simulation as sx

TEXT = """<mujoco><option timestep=".002"/><worldbody><geom type="plane" size="9 9 .1"/>
  <body name="ball" pos="0 0 1"><freejoint/>
    <geom type="sphere" size=".1" mass=".5" friction=".4"/></body></worldbody></mujoco>"""
STEPS = 500
TARGET = np.array([3.0, 0.9])
"""Along the ground and up, where the ball is to be after 1 s [m]."""
PLACE, VELOCITY = (0, 2), (6, 8)
"""Numbers of the state and of its tangent: x and z of the ball, and their rates."""


def thrown(world: sx.World, launch: np.ndarray) -> sx.diff.DifferentiableRollout:
    """The ball thrown with a velocity."""
    ball = world.rigid_bodies["ball"]
    ball.translation = (0.0, 0.0, 1.0)
    ball.linear_velocity, ball.angular_velocity = (launch[0], 0.0, launch[1]), (0.0, 0.0, 0.0)
    return sx.diff.rollout(world, np.zeros((STEPS, 6)))


def main() -> None:
    scene = msd.from_str(TEXT, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    # springs without a jump of force at the touch, so that a rollout is smooth through it
    law = msd.ConstraintForceModel.force_spring(msd.StiffnessDamping(k=400.0, d=0.0))
    for geom in [*scene.hierarchy.geoms, *(geom for link in scene.hierarchy.links() for geom in link.geoms)]:
        geom.physics_material.contact_model = law
    world = sx.World.from_scene(scene)
    launch, paths, misses = np.array([2.0, 0.0]), [], []
    for _ in range(20):
        run = thrown(world, launch)
        paths.append(run.states[:, PLACE])
        miss = run.states[-1, PLACE] - TARGET
        misses.append(float(np.linalg.norm(miss)))
        if misses[-1] < 1e-3:
            break
        # one column for each number of the launch, through all steps
        J = np.stack([run.jvp(np.eye(12)[k])[-1, list(PLACE)] for k in VELOCITY], axis=1)
        step = np.linalg.solve(J, -miss)
        launch = launch + step * min(1.0, 1.0 / np.abs(step).max())
    bounces = int((np.diff(np.sign(np.diff(paths[-1][:, 1]))) > 0).sum())
    print(f"missed by {misses[0]:.2f} m, then {1e3 * misses[-1]:.2f} mm after {len(misses) - 1} corrections")
    print(f"launch {launch.round(3)} m/s, {bounces} bounce")
    if len(sys.argv) > 1:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots()
        for k, path in enumerate(paths):
            axes.plot(*path.T, color=str(0.8 * (1.0 - (k + 1) / len(paths))))
        axes.plot(*TARGET, "o", color="tab:red")
        axes.set(xlabel="x [m]", ylabel="height [m]", title="Throws towards a target, last one black")
        figure.savefig(sys.argv[1])
    assert misses[-1] < 1e-3 and bounces == 1


if __name__ == "__main__":
    main()
