# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""An arm of six hinges follows a circle with its hand, by damped least squares on the Jacobian.

Inverse kinematics gives joint targets, position drives follow them, gravity is compensated: the hand is where
it was commanded to be to within a few millimetres while everything obeys the dynamics.
"""

import numpy as np

from worldline import simulation as sx

AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0))
LENGTH = 0.25
CENTRE, RADIUS, PERIOD = np.array([0.6, 0.0, 0.5]), 0.2, 4.0
HAND = np.array([0.1, 0.0, 0.0])


def build() -> tuple[sx.World, sx.Multibody]:
    family = sx.MultibodyIntegrationFamily.IMPLICIT_DAMPING  # the drives are stiff
    world = sx.World(time_step=0.002, multibody_options=sx.MultibodyOptions(integration_family=family))
    arm, parent = world.add_multibody("arm"), None
    for k, axis in enumerate(AXES):
        X_PJ = np.eye(4)
        X_PJ[:3, 3] = (0.0, 0.0, 0.3) if k == 1 else ((LENGTH, 0.0, 0.0) if k > 1 else (0.0, 0.0, 0.0))
        parent = arm.add_link(
            f"link_{k}",
            parent,
            sx.JointSpec(name=f"joint_{k}", axis=axis, transform_to_parent=X_PJ),
            mass=1.5 - 0.2 * k,
            inertia=(0.01, 0.01, 0.01),
            center_of_mass=(0.1, 0.0, 0.0),
        )
        parent.gravity_compensation = 1.0
    for joint in arm.joints:
        joint.target_stiffness, joint.target_damping = 600.0, 40.0
    arm.joints.position = [0.0, -0.6, 1.0, 0.0, 0.3, 0.0]
    return world, arm


def solve(arm: sx.Multibody, goal: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Joint positions that bring the hand to a point, from a guess; the state of the arm stays."""
    before, hand = arm.joints.position, arm.links[-1]
    for _ in range(30):
        arm.joints.position = q
        error = goal - (hand.transform @ np.append(HAND, 1.0))[:3]
        if np.linalg.norm(error) < 1e-9:
            break
        J = arm.get_linear_jacobian(hand, HAND)
        q = q + J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(3), error)
    arm.joints.position = before
    return q


def circle(time: float) -> np.ndarray:
    angle = 2.0 * np.pi * time / PERIOD
    return CENTRE + RADIUS * np.array([0.0, np.sin(angle), np.cos(angle)])


def main() -> None:
    world, arm = build()
    q = solve(arm, circle(0.0), arm.joints.position)
    arm.joints.position, worst = q, 0.0
    while world.time < PERIOD:
        q = solve(arm, circle(world.time + world.time_step), q)
        arm.joints.target_velocity = (
            (q - arm.joints.target_position) / world.time_step if world.frame else 0 * q
        )
        arm.joints.target_position = q
        world.step()
        hand = (arm.links[-1].transform @ np.append(HAND, 1.0))[:3]
        worst = max(worst, float(np.linalg.norm(hand - circle(world.time))))
    print(f"one turn in {world.time:.1f} s: the hand was at most {1e3 * worst:.2f} mm off the circle")
    assert worst < 0.01


if __name__ == "__main__":
    main()
