# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A cart swings its pole up with bounded force, found by iLQR; `cartpole_swing_up.py plan.png` draws it."""

import sys

import numpy as np

from worldline import msd, optimize
from worldline import simulation as sx

TEXT = """<mujoco><option timestep=".02"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
  <body name="cart"><joint name="slide" type="slide" axis="1 0 0"/><geom type="box" size=".2 .1 .1" mass="1"/>
    <body name="pole"><joint name="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.6" size=".03" mass=".2"/></body></body></worldbody>
  <actuator><motor name="push" joint="slide"/></actuator></mujoco>"""
STEPS, FORCE = 40, 12.0
UPRIGHT = np.array([0.0, np.pi, 0.0, 0.0])


def main() -> None:
    scene = msd.from_str(TEXT, format="mjcf")
    scene.simulate_option.policy.differentiable = True
    world = sx.World.from_scene(scene)
    # a sway as a guess: hanging still is a stationary point
    guess = 2.0 * np.sin(np.linspace(0.0, 2.0 * np.pi, STEPS))[:, None]
    final = {"cart.q": 100.0, "cart.dq": 10.0}
    cost = optimize.TrackingCost(UPRIGHT, state={"cart.q": 0.01}, control=1e-3, final=final)
    found = optimize.ilqr(
        world, guess, cost, lower=-FORCE, upper=FORCE, steps_per_action=2, iterations=40, tolerance=1e-3
    )
    first, last = found.history[0], found.history[-1]
    print(f"cost {first.cost:.1f} after one iteration, {last.cost:.2f} after {last.number}")

    # feedback of the plan answers a push at the start
    world.state_vector = [0.02, 0.0, 0.0, 0.1]
    for t in range(STEPS):
        world.actuator_controls = found.policy(t, world.state_vector)
        world.step(n=2)
    cart, pole = world.state_vector[:2]
    print(f"pole at {np.degrees(pole):.1f} degrees, cart at {cart:.3f} m, force up to {FORCE} N")
    if len(sys.argv) > 1:
        found.plot().savefig(sys.argv[1])
    assert np.abs(found.actions).max() <= FORCE
    assert np.abs(found.states[-1] - UPRIGHT).max() < 0.15
    assert abs(pole - np.pi) < 0.3


if __name__ == "__main__":
    main()
