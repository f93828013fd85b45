# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small worlds that the tests of the facade share."""

from __future__ import annotations

import numpy as np

from worldline import simulation as sx


def moved(x=0.0, y=0.0, z=0.0):
    """A 4x4 transform without rotation."""
    pose = np.eye(4)
    pose[:3, 3] = (x, y, z)
    return pose


def pendulum(
    world: sx.World, name: str = "pendulum", *, axis=(0, 1, 0), length=1.0, mass=1.0
) -> sx.Multibody:
    """A point-like bob on a hinge, horizontal along x at zero."""
    arm = world.add_multibody(name)
    base = arm.add_link("base")
    arm.add_link(
        "bob",
        parent=base,
        joint=sx.JointSpec(name="hinge", axis=axis),
        mass=mass,
        inertia=1e-9 * np.eye(3),
        center_of_mass=(length, 0, 0),
    )
    return arm


def rich(world: sx.World) -> sx.Multibody:
    """Rigid bodies of every kind, a branched robot with many joint types, frames, a closure and commands."""
    box = world.add_rigid_body(
        "box",
        mass=2.3,
        inertia=np.diag([1.0, 2.0, 2.5]) + 0.1,
        position=(1, 2, 3),
        orientation=(0.1, 0.2, 0.3, 0.9),
        angular_velocity=(1, 2, 3),
    )
    box.force, box.friction = (1, 2, 3), 0.25
    world.add_rigid_body("ground", fixed=True, linear_velocity=(0, 0, 1))
    world.add_rigid_body("belt", kinematic=True, linear_velocity=(0.5, 0, 0))
    robot = world.add_multibody("robot")
    base = robot.add_link("base")
    left = robot.add_link(
        "left", base, sx.JointSpec("l", axis=(1, 1, 0), transform_to_parent=moved(0.1, 0.2, 0.3)), mass=1.7
    )
    robot.add_link("right", base, sx.JointSpec("r", sx.JointType.SPHERICAL), center_of_mass=(0.1, 0, 0))
    # made last but in the first branch: the order of construction is not that of the tree
    hand = robot.add_link("hand", left, sx.JointSpec("h", sx.JointType.SCREW, pitch=0.3))
    robot.joints["l"].damping_coefficient = 0.3
    robot.joints["h"].spring_stiffness = 2.0
    robot.joints["h"].force = [0.2]
    robot.joints["l"].target_stiffness, robot.joints["l"].target_position = 3.0, [0.4]
    world.add_fixed_frame("tool", hand, moved(z=0.1))
    world.add_free_frame("eye", parent=world.frames["tool"])
    rod = world.add_loop_closure(
        "rod", frame_a=world.frames["tool"], frame_b=box, family=sx.LoopClosureFamily.DISTANCE
    )
    rod.dynamics = sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
    world.add_multibody("empty")
    return robot


def bits(world: sx.World) -> bytes:
    """Everything that moves, as bytes."""
    parts = [b.transform for b in world.rigid_bodies] + [b.linear_velocity for b in world.rigid_bodies]
    parts += [b.angular_velocity for b in world.rigid_bodies]
    for robot in world.multibodies:
        if robot.num_links:
            parts += [robot.joints.position, robot.joints.velocity, robot.joints.acceleration]
            parts.append(robot.links.transforms)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts) + np.float64(world.time).tobytes()
