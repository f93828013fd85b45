# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small scenes that have every kind of constraint row at once."""

EVERY_ROW = """
<mujoco>
  <option timestep="0.002" cone="elliptic" impratio="3"/>
  <default>
    <geom friction="0.8 0.02 0.005" solref="0.02 1" solimp="0.9 0.95 0.001 0.5 2"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" condim="3"/>
    <body name="six" pos="0 0 0.095">
      <freejoint/>
      <geom type="sphere" size="0.1" mass="1" condim="6" friction="0.5 0.03 0.02" solimp="0.7 0.9 0.01 0.3 3"/>
    </body>
    <body name="four" pos="1 0 0.098">
      <freejoint/>
      <geom type="capsule" size="0.1 0.2" euler="0 90 0" mass="1" condim="4" solref="-3000 -50"/>
    </body>
    <body name="three" pos="2 0 0.0995">
      <freejoint/>
      <geom type="box" size="0.1 0.1 0.1" mass="2" condim="3" solimp="0.8 0.8 0 0.5 2"/>
    </body>
    <body name="bare" pos="3 0 0.099">
      <freejoint/>
      <geom type="sphere" size="0.1" mass="1" condim="1" priority="1" solimp="0.95 0.85 0.002 0.6 1.5"/>
    </body>
    <body name="arm" pos="0 2 1">
      <joint name="a" type="hinge" axis="0 1 0" frictionloss="0.3" range="-0.1 1.5" limited="true" armature="0.01"
             solreflimit="0.03 0.7" solimplimit="0.6 0.99 0.02 0.5 4"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.5 0 0" mass="1"/>
      <body name="fore" pos="0.5 0 0">
        <joint name="b" type="hinge" axis="0 1 0" frictionloss="0.05" damping="0.1" solreffriction="0.05 1"/>
        <geom type="capsule" size="0.04" fromto="0 0 0 0.4 0 0" mass="0.5"/>
      </body>
    </body>
    <body name="left" pos="0 4 1">
      <joint name="l" type="slide" axis="0 0 1"/>
      <geom type="sphere" size="0.1" mass="1"/>
    </body>
    <body name="right" pos="1 4 1">
      <joint name="r" type="slide" axis="0 0 1"/>
      <geom type="sphere" size="0.1" mass="2"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="t" limited="true" range="-0.2 0.01" frictionloss="0.4">
      <joint joint="l" coef="1"/>
      <joint joint="r" coef="-1"/>
    </fixed>
  </tendon>
  <equality>
    <joint joint1="l" joint2="r" polycoef="0.02 0.5 0 0 0" solref="0.04 1"/>
    <connect body1="fore" anchor="0.4 0 0" solimp="0.5 0.9 0.05 0.5 2"/>
  </equality>
</mujoco>
"""
