# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""An arm reaches a pose behind a post: branches in closed form, a path around the post, the fastest timing.

The joints are then moved along the trajectory without dynamics, and the report of every tick says how far the
arm is from the post.
"""

import numpy as np

from worldline import kinematics as wk
from worldline import math as wmath
from worldline import simulation as sx
from worldline.collision import CollisionShape

AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1))
HEIGHTS = (0.2, 0.1, 0.4, 0.35, 0.0, 0.0)
LENGTHS = (0.1, 0.4, 0.26, 0.0, 0.0, 0.1)
MARGIN = 0.02


def build() -> tuple[sx.World, sx.Multibody, sx.Link]:
    world = sx.World(time_step=0.01)
    arm = world.add_multibody("arm")
    link = arm.add_link("base")
    for k, (axis, height, length) in enumerate(zip(AXES, HEIGHTS, LENGTHS, strict=True)):
        X_PJ = wmath.make_transform(np.eye(3), (0, 0, height))
        spec = sx.JointSpec(f"joint_{k}", axis=axis, transform_to_parent=X_PJ)
        link = arm.add_link(f"link_{k}", link, spec, mass=1.0)
        if length:
            middle = wmath.make_transform(np.eye(3), (0, 0, length / 2 + (0.03 if k == 5 else 0.0)))
            link.add_collision_shape(CollisionShape.capsule(0.03, length / 2 - 0.03, middle))
    post = world.add_rigid_body("post", position=(0.4, 0.3, 0.6))
    post.is_static = True
    post.add_collision_shape(CollisionShape.capsule(0.08, 0.6))
    return world, arm, link


def main() -> None:
    world, arm, hand = build()
    arm.joints.position = [0.0, 0.8, 0.9, 0.0, 0.5, 0.0]
    goal = hand.transform.copy()
    goal[:3] = wmath.so3_exp([0, 0, 1.5]) @ goal[:3]  # the same, a quarter turn and less about the base

    task = wk.PoseTask(hand, goal)
    branches = wk.AnalyticIk(world, task, joints=arm).solve()
    print(f"{len(branches.q)} branches, the pose is met to {branches.error.max():.1e}")
    assert len(branches.q) > 1 and branches.error.max() < 1e-12

    plan = wk.plan_path(world, branches.q[0], joints=arm, margin=MARGIN)
    print(plan.message)
    assert plan.success and len(plan.waypoints) > 2
    straight = wk.interpolate_joints(world, plan.waypoints[[0, -1]])
    found = wk.find_collision(world, straight)
    assert found is not None
    print(f"the straight way meets '{found[2]}' after {100 * found[0] / straight.length:.0f} % of the way")

    motion = wk.time_optimal(plan.path(), max_velocity=2.0, max_acceleration=8.0)
    closest = np.inf
    for t in np.arange(0.0, motion.duration + world.time_step, world.time_step):
        arm.joints.position = motion.sample(t)[0][:6]
        report = world.step_kinematics(update_collision=True)
        assert report.clearance is not None
        closest = min(closest, report.clearance.distance)
    print(f"there in {motion.duration:.2f} s, never closer than {1000 * closest:.0f} mm to anything")
    assert closest > 0.5 * MARGIN
    assert np.allclose(hand.transform, goal, atol=1e-9)


if __name__ == "__main__":
    main()
