# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small worlds for tests of the facade."""

from __future__ import annotations

import numpy as np

from worldline import simulation as sx

_BELOW = np.eye(4)
_BELOW[2, 3] = -0.6
"""0.6 m below."""


def arm_and_box(**keywords):
    """A two-joint arm, one joint of it with limits, and a free box."""
    world = sx.World(time_step=0.01, **keywords)
    world.add_rigid_body(
        "box",
        mass=2.0,
        inertia=(0.1, 0.2, 0.3),
        position=(1.0, 0.0, 2.0),
        linear_velocity=(0.3, 0.0, 0.1),
        angular_velocity=(0.2, 0.1, -0.4),
    )
    arm = world.add_multibody("arm")
    base = arm.add_link("base")
    upper = arm.add_link(
        "upper",
        parent=base,
        joint=sx.JointSpec(name="shoulder", axis=(0, 1, 0)),
        center_of_mass=(0.0, 0.0, -0.3),
    )
    arm.add_link(
        "lower",
        parent=upper,
        joint=sx.JointSpec(name="elbow", axis=(0, 1, 0), transform_to_parent=_BELOW),
        center_of_mass=(0.0, 0.0, -0.2),
    )
    arm.joints["elbow"].set_position_limits(-2.0, 2.5)
    arm.joints.position = [0.4, -0.3]
    return world, arm


def lasting():
    """The same with damping and without tumbling, for motions of millions of steps.

    The gyroscopic term is explicit: a body that tumbles freely gains energy until its state overflows.
    """
    world, arm = arm_and_box()
    world.rigid_bodies["box"].angular_velocity = (0.0, 0.0, 0.0)
    for joint in arm.joints:
        joint.damping_coefficient = 0.5
    return world, arm


def floating(world):
    """Add a robot with a floating base and a ball joint."""
    robot = world.add_multibody("bird")
    body = robot.add_link("body", joint=sx.JointSpec(name="base", type=sx.JointType.FLOATING))
    robot.add_link("head", parent=body, joint=sx.JointSpec(name="neck", type=sx.JointType.SPHERICAL))
    robot.joints.velocity = [0.1, 0.2, 0.0, 0.3, -0.2, 0.4, 0.5, 0.0, -0.6]
    return robot


def two_slides() -> tuple[sx.World, list[sx.Link]]:
    """Links on slides along x of two multibodies, "a" and "b", the second a metre ahead."""
    world, links = sx.World(), []
    for name in ("a", "b"):
        robot = world.add_multibody(name)
        spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(1, 0, 0))
        links.append(robot.add_link("link", robot.add_link("root"), spec))
    world.multibodies["b"].joints["slide"].position = [1.0]
    return world, links
