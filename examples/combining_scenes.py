# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Scenes joined into one: an arm gets a tool at its hand, twice, and both stand on a table."""

from worldline import msd
from worldline import simulation as sx

ARM = """<mujoco model="arm"><worldbody><body name="base" pos="0 0 0.1">
  <geom type="cylinder" size="0.06 0.1" mass="3"/>
  <body name="forearm" pos="0 0 0.1"><joint name="elbow" axis="0 1 0" range="-100 100" damping="2"/>
    <geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.03" mass="1"/>
    <body name="hand" pos="0 0 0.45"><geom size="0.04" mass="0.2"/></body></body></body></worldbody>
  <actuator><position name="elbow" joint="elbow" kp="60" kv="6"/></actuator></mujoco>"""
TOOL = """<mujoco model="tool"><worldbody><body name="jaw" pos="0 0 0.05">
  <joint name="wrist" axis="0 0 1" damping="0.1"/><geom type="box" size="0.02 0.05 0.03" mass="0.1"/>
  </body></worldbody><actuator><motor name="wrist" joint="wrist"/></actuator></mujoco>"""


def main() -> None:
    arm, tool = msd.from_str(ARM, format="mjcf"), msd.from_str(TOOL, format="mjcf")
    arm.attach(tool, self_link_name="hand", other_prefix="tool_")
    table = msd.World(name="table")
    table.add_ground_plane(0.0)
    for side, y in (("left", 0.4), ("right", -0.4)):
        table.attach(arm, other_translation=(0.0, y, 0.0), other_prefix=f"{side}_")
    print(table.summary())

    world = sx.World.from_scene(table)
    world.actuator_controls = [0.5, 0.2, -0.5, 0.0]
    world.step(n=2000)
    angles = {}
    for robot in world.multibodies:
        angles |= {joint.name: joint.position[0] for joint in robot.joints if joint.num_dofs == 1}
    print({name: round(float(angle), 3) for name, angle in angles.items()})
    assert world.actuator_names == ["left_elbow", "left_tool_wrist", "right_elbow", "right_tool_wrist"]
    assert angles["left_elbow"] > 0.4 and angles["right_elbow"] < -0.4
    assert angles["left_tool_wrist"] > 1.0  # driven
    assert abs(angles["right_tool_wrist"]) < 1e-6


if __name__ == "__main__":
    main()
