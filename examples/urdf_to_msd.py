# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From URDF to MSD: read a robot, see what was lost, add what URDF cannot say, write it, read it back."""

import tempfile
from pathlib import Path

import numpy as np

from worldline import msd
from worldline import simulation as sx

URDF = """<robot name="lamp">
  <link name="base"><inertial><mass value="2"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="boom"><inertial><origin xyz="0 0 0.2"/><mass value="0.5"/>
    <inertia ixx="0.007" iyy="0.007" izz="0.0005" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.2"/>
      <geometry><cylinder radius="0.02" length="0.4"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="boom"/>
    <origin xyz="0 0 0.1"/><axis xyz="0 1 0"/><limit lower="-1.2" upper="1.2" effort="10" velocity="3"/>
    <dynamics damping="0.4"/></joint>
  <gazebo reference="boom"><material>Gazebo/Orange</material></gazebo>
</robot>"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "lamp.urdf", Path(folder) / "lamp.json"
        source.write_text(URDF, encoding="utf-8")
        scene = msd.from_file(source)
        for entry in scene.report.losses:
            print(f"lost: {entry}")
        assert any("gazebo" in entry.path for entry in scene.report.losses)

        servo = msd.ActuatorType.position(msd.PositionParam(kp=20.0, damping_value=2.0))
        scene.actuators.append(
            msd.Actuator(name="servo", actuator_type=servo, target=msd.ActuatorTarget.joint("shoulder"))
        )
        scene.keyframes.append(msd.Keyframe(name="bent", dof_pos=[0.6]))
        scene.to_file(target)
        print(f"{target.name}: {target.stat().st_size} bytes")
        again = msd.from_file(target)
        assert again == scene

        world = sx.World.from_file(target)
        world.apply_keyframe("bent")
        world.actuator_controls = [0.6]
        world.step(n=3000)
        boom = world.multibodies[0].joints["shoulder"]
        print(f"the boom hangs at {boom.position[0]:.4f} rad, commanded 0.6 rad")
        # where the servo balances the weight: kp (0.6 - q) + m g r sin q = 0
        q = float(boom.position[0])
        assert np.isclose(20.0 * (0.6 - q) + 0.5 * 9.81 * 0.2 * np.sin(q), 0.0, atol=1e-3)


if __name__ == "__main__":
    main()
