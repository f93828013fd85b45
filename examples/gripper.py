# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A gripper closes its two fingers on a box, lifts it and holds it: friction does the rest."""

import numpy as np

from worldline import msd
from worldline import simulation as sx

SCENE = """<mujoco model="gripper">
  <option timestep="0.002" cone="elliptic" impratio="20"/>
  <default><geom friction="1 0.01 0.001" solref="0.01 1"/></default>
  <worldbody>
    <geom name="table" type="plane" size="1 1 0.1"/>
    <body name="hand" pos="0 0 0.25">
      <joint name="lift" type="slide" axis="0 0 1" range="-0.3 0.3" damping="20"/>
      <geom name="palm" type="box" size="0.1 0.04 0.02" mass="1"/>
      <body name="left" pos="0.07 0 -0.08">
        <joint name="left" type="slide" axis="-1 0 0" range="0 0.06" damping="5"/>
        <geom name="left" type="box" size="0.01 0.03 0.06" mass="0.2"/>
      </body>
      <body name="right" pos="-0.07 0 -0.08">
        <joint name="right" type="slide" axis="1 0 0" range="0 0.06" damping="5"/>
        <geom name="right" type="box" size="0.01 0.03 0.06" mass="0.2"/>
      </body>
    </body>
    <body name="box" pos="0 0 0.031">
      <freejoint/>
      <geom name="box" type="box" size="0.03 0.03 0.03" mass="0.3"/>
    </body>
  </worldbody>
  <actuator>
    <position name="lift" joint="lift" kp="2000" kv="200"/>
    <motor name="left" joint="left"/>
    <motor name="right" joint="right"/>
  </actuator>
</mujoco>"""


def main() -> None:
    world = sx.World.from_scene(msd.from_str(SCENE, format="mjcf"))
    box = world.rigid_bodies["box"]
    world.actuator_controls = [-0.12, 0.0, 0.0]
    world.step(n=500)  # down
    print(f"{world.time:.1f} s: the hand is down, the box at {box.translation[2]:.4f} m")
    world.actuator_controls = [-0.12, 20.0, 20.0]
    world.step(n=250)  # close
    for height in np.linspace(-0.12, 0.1, 40):  # up
        world.actuator_controls = [height, 20.0, 20.0]
        world.step(n=25)
    world.step(n=500)
    held = box.translation.copy()
    print(f"{world.time:.1f} s: the box is held at {held[2]:.4f} m")
    world.step(n=2500)
    slip = float(np.linalg.norm(box.translation - held))
    print(f"{world.time:.1f} s: it slipped by {1e3 * slip:.3f} mm in 5 s")
    assert held[2] > 0.2
    assert slip < 0.002


if __name__ == "__main__":
    main()
