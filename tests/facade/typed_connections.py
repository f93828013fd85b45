# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What connects bodies beside the trees, as typed code uses it; a strict type checker reads this too."""

from __future__ import annotations

import math

from worldline import msd
from worldline import simulation as sx
from worldline._src.spatial.poses import Array

_HELD = """<mujoco><worldbody><body name="a"><freejoint/><geom size=".1"/></body></worldbody>
<equality><weld name="hold" body1="a"/></equality></mujoco>"""


def of_joints(world: sx.World, a: sx.RigidBody, tip: sx.Link) -> sx.WorldJoint:
    """Joints that the World owns."""
    world.add_equality(msd.EqualityPath(point=msd.FrameRef(link="a"), path=msd.PathShape.circle(1.0)))
    weld: sx.WorldJoint = world.add_joint(a, sx.JointSpec(name="weld", type=sx.JointType.FIXED))
    slide: sx.WorldJoint = world.add_joint(a, tip, sx.JointSpec(name="s", type=sx.JointType.PRISMATIC))
    slide.set_position_limits(-1.0, 1.0)
    slide.set_velocity_limits(-1.0, 2.0)
    slide.set_effort_limits([-1.0], [2.0])
    slide.actuator_type = sx.ActuatorType.SERVO
    slide.force, slide.command_velocity, slide.command_acceleration = [1.0], [2.0], [3.0]
    efforts: Array = slide.effort + world.joints.effort
    assert not efforts.any() and slide.actuator_type is sx.ActuatorType.SERVO
    ends: tuple[sx.RigidBody, sx.Link] = (slide.parent_rigid_body, slide.child_link)
    assert ends == (a, tip) and weld.child_rigid_body is a
    weld.break_force = 1e6
    weld.break_torque = 1e6
    names: list[str] = world.joints.names
    count: int = world.num_joints + weld.num_dofs
    found: sx.WorldJoint | None = world.get_joint("s")
    kind: sx.JointType = slide.type
    wrench: Array = weld.wrench
    assert names == ["weld", "s"] and count == 2 and found is slide and world.has_joint("s")
    assert kind is sx.JointType.PRISMATIC and wrench.shape == (6,) and math.isfinite(weld.break_force)
    broken: bool = weld.is_broken
    weld.reset_breakage()
    valid: bool = weld.is_valid and weld.is_same_instance_as(weld) and weld.name == "weld" and not broken
    assert valid
    slide.remove()
    return weld


def of_parents(world: sx.World, base: sx.Link, tip: sx.Link) -> sx.Link:
    """A joint between links of one multibody."""
    ball: sx.WorldJoint = world.add_joint(base, tip, sx.JointSpec(name="ball", type=sx.JointType.SPHERICAL))
    parent: sx.Link = ball.parent_link
    ball.remove()
    return parent


def of_springs(world: sx.World, a: sx.RigidBody, b: sx.RigidBody) -> tuple[float, float]:
    """Springs between bodies."""
    world.add_rigid_body_distance_spring("s", a, b, 1.0, 10.0, damping=0.1)
    world.set_rigid_body_distance_spring_parameters("s", 1.5, 20.0)
    assert world.has_rigid_body_distance_spring("s")
    return world.get_rigid_body_distance_spring_parameters("s")


def of_mimics(leader: sx.Joint, follower: sx.Joint) -> bool:
    """Joints that follow others."""
    follower.set_mimic_joint(leader, multiplier=2.0, offset=0.1)
    follower.use_coupler_constraint = True
    follower.actuator_type = sx.ActuatorType.MIMIC
    return follower.use_coupler_constraint


def of_equalities() -> Array:
    """Equality constraints of a scene."""
    world = sx.World.from_scene(msd.from_str(_HELD, format="mjcf"))
    active: bool = world.is_equality_active("hold")
    world.set_equality_active("hold", not active)
    return world.get_equality_force("hold")


def run() -> int:
    """A world that has all of it; returns its number of joints beside the trees."""
    world = sx.World()
    a, b = world.add_rigid_body("a"), world.add_rigid_body("b", position=(1, 0, 0))
    arm = world.add_multibody("arm")
    base = arm.add_link("base", joint=sx.JointSpec(name="shoulder", axis=(0, 1, 0)))
    tip = arm.add_link("tip", parent=base, joint=sx.JointSpec(name="elbow", axis=(0, 1, 0)))
    assert of_parents(world, base, tip) is base
    of_joints(world, a, tip)
    assert of_springs(world, a, b) == (1.5, 20.0)
    assert of_mimics(arm.joints["shoulder"], arm.joints["elbow"])
    assert not of_equalities().any()
    world.step(2)
    return world.num_joints
