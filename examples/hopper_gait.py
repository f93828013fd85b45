# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A hopper hops forwards: model-predictive control finds the gait; `hopper_gait.py gait.png` draws it.

The target is a torso that moves on and rises twice a second, nothing else. Plans of 0.4 s, each an iteration
of iLQR through the contacts of the foot, find when to push, to fly and to land.
"""

import sys
from importlib.resources import files

import numpy as np

from worldline import msd, optimize
from worldline import simulation as sx

STEP, STEPS_PER_ACTION, HORIZON, ACTIONS = 0.01, 2, 20, 95
SPEED, RISE, PERIOD = 0.5, 0.15, 0.5
"""What the torso is to do: speed [m/s], height of a hop [m], time of a hop [s]."""


def build() -> sx.World:
    text = (files("worldline") / "assets" / "hopper.xml").read_text()
    text = text.replace('integrator="RK4" timestep="0.002"', f'timestep="{STEP}"')
    scene = msd.from_str(text, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    world = sx.World.from_scene(scene)
    world.contact_gradient_mode = sx.ContactGradientMode.COMPLEMENTARITY_AWARE
    # the leg a little bent, the foot on the ground
    start = world.state_vector.copy()
    start[3:6] = -0.1, -0.2, 0.3
    world.state_vector = start
    start[1] -= world.multibodies[0].links["foot"].translation[2] - 0.0595
    world.state_vector = start
    return world


def cost_from(now: float, start: np.ndarray) -> optimize.TrackingCost:
    times = now + STEP * STEPS_PER_ACTION * np.arange(HORIZON + 1)
    target = np.tile(start, (HORIZON + 1, 1))
    target[:, 0] = SPEED * times
    target[:, 1] += RISE * np.maximum(np.sin(2.0 * np.pi * times / PERIOD), 0.0)
    weights = {"torso.q[0]": 5.0, "torso.q[1]": 20.0, "torso.q[2]": 5.0, "torso.dq": 2e-3}
    weights |= {f"torso.q[{k}]": 0.5 for k in (3, 4, 5)}
    return optimize.TrackingCost(target, state=weights, final=weights, control=0.01)


def main() -> None:
    world = build()
    start, states, flies = world.state_vector.copy(), [], []
    options = {"lower": -1.0, "upper": 1.0, "steps_per_action": STEPS_PER_ACTION, "iterations": 1}
    control = optimize.RecedingHorizon(world, np.zeros((HORIZON, 3)), cost_from(0.0, start), **options)
    for _ in range(ACTIONS):
        plan = control.plan(world.state_vector, cost_from(world.time, start))
        world.actuator_controls = plan.actions[0]
        for _ in range(STEPS_PER_ACTION):
            world.step()
            states.append(world.state_vector.copy())
            flies.append(not world.contacts)
    path = np.array(states)
    flights = [len(part) for part in "".join(" x"[fly] for fly in flies).split() if len(part) >= 10]
    print(f"{path[-1, 0]:.2f} m in {STEP * len(path):.1f} s, pitch up to {np.abs(path[:, 2]).max():.2f} rad")
    print(f"{len(flights)} flights of {', '.join(f'{STEP * n:.2f}' for n in flights)} s")
    if len(sys.argv) > 1:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots()
        axes.plot(path[:, 0], path[:, 1])
        axes.plot(path[flies, 0], path[flies, 1], ".", label="in the air")
        axes.set(xlabel="x [m]", ylabel="height of the torso [m]", title="A gait of hops")
        axes.legend()
        figure.savefig(sys.argv[1])
    assert len(flights) >= 3 and path[-1, 0] > 0.6 and np.abs(path[:, 2]).max() < 0.3


if __name__ == "__main__":
    main()
