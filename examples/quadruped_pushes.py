# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A quadruped stands against pushes by model-predictive control; `quadruped_pushes.py pushes.png` draws it.

Every 40 ms one iteration of iLQR over the next 0.4 s, through the contacts of the feet, moves the targets of
the servos. The same pushes make the quadruped fall when the targets stay where they are.
"""

import re
import sys
import time
from importlib.resources import files

import numpy as np

from worldline import msd, optimize
from worldline import simulation as sx

STEPS_PER_ACTION, HORIZON, ACTIONS = 4, 10, 60
PUSHES = {0.2: (0.0, 80.0, 0.0), 1.2: (60.0, -75.0, 0.0)}
"""Forces on the trunk for 0.15 s, by the time at which they begin [N]."""


def build() -> sx.World:
    text = (files("worldline") / "assets" / "quadruped.xml").read_text()
    plane = '<geom type="plane" size="5 5 .1" contype="0" conaffinity="1"/>'
    text = re.sub(r'<geom name="terrain"[^>]*/>', plane, text).replace('timestep="0.004"', 'timestep="0.01"')
    scene = msd.from_str(re.sub(r"<asset>.*?</asset>", "", text, flags=re.DOTALL), format="mjcf")
    scene.simulate_option.policy.differentiable = True
    world = sx.World.from_scene(scene)
    world.apply_keyframe("stand")
    world.step(n=100)
    return world


def pushed(controlled: bool) -> tuple[np.ndarray, np.ndarray]:
    """Places of the trunk after every step, and seconds that every plan took."""
    world = build()
    stand, targets = world.state_vector.copy(), world.actuator_controls.copy()
    trunk, places, seconds = world.multibodies[0].links["trunk"], [], []
    weights = {"trunk.q": 1.0, "trunk.dq": 0.02}
    final = {name: 10.0 * weight for name, weight in weights.items()}
    cost = optimize.TrackingCost(stand, state=weights, final=final, control=0.01, action=targets)
    control = optimize.RecedingHorizon(
        world, np.tile(targets, (HORIZON, 1)), cost, steps_per_action=STEPS_PER_ACTION, iterations=1
    )
    for k in range(ACTIONS * STEPS_PER_ACTION):
        if controlled and k % STEPS_PER_ACTION == 0:
            begun = time.process_time()
            world.actuator_controls = control.plan(world.state_vector).actions[0]
            seconds.append(time.process_time() - begun)
        for start, force in PUSHES.items():
            if 0.0 <= 0.01 * k - start < 0.15 - 1e-9:
                trunk.apply_force(force)
        world.step()
        places.append(trunk.translation.copy())
    return np.array(places), np.array(seconds)


def main() -> None:
    (fixed, _), (places, seconds) = pushed(False), pushed(True)
    print(f"trunk at {fixed[-1, 2]:.2f} m with targets that stay, at {places[-1, 2]:.2f} m with control")
    print(f"pushed away by {1e3 * np.abs(places[:, :2] - places[0, :2]).max():.0f} mm at most")
    print(f"a plan takes {1e3 * np.median(seconds):.0f} ms of one core, for every {10 * STEPS_PER_ACTION} ms")
    if len(sys.argv) > 1:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots()
        times = 0.01 * np.arange(len(fixed))
        lines = axes.plot(times, fixed[:, 2], "--", times, places[:, 2], times, places[:, 1])
        axes.legend(lines, ("height, targets that stay", "height, control", "sideways, control"))
        axes.set(xlabel="time [s]", ylabel="trunk [m]", title="A quadruped against two pushes")
        figure.savefig(sys.argv[1])
    assert fixed[-1, 2] < 0.2 and places[:, 2].min() > 0.28
    assert np.abs(places[-1] - places[0]).max() < 0.1


if __name__ == "__main__":
    main()
