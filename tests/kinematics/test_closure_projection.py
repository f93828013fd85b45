# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Closures that are projected: given the driven joints the others follow, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from facade_worlds import two_slides
from worldline import math as wmath
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, OperationError

PROJECT = sx.ClosureKinematicsPolicy.PROJECT
Z = (0, 0, 1)


def shift(x=0.0, y=0.0, z=0.0):
    return wmath.make_transform(np.eye(3), [x, y, z])


def hinge(name, at=None, axis=Z):
    return sx.JointSpec(name=name, axis=axis, transform_to_parent=shift(*(at or ())))


def projected(world, **given):
    """Add a closure that is projected and not solved."""
    closure = world.add_loop_closure(**given)
    closure.runtime_policy = sx.LoopClosureRuntimePolicy(
        True, PROJECT, sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
    )
    return closure


def slider_crank(r=0.15, length=0.35, **options):
    """Crank and rod in the plane of x and y, the end of the rod on the x axis by a slider."""
    world = sx.World(**options)
    crank_slider = world.add_multibody("mechanism")
    base = crank_slider.add_link("base")
    crank = crank_slider.add_link("crank", base, hinge("crank"))
    rod = crank_slider.add_link("rod", crank, hinge("rod", (r,)))
    spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(1, 0, 0))
    slider = crank_slider.add_link("slider", base, spec)
    closure = projected(
        world,
        name="pin",
        frame_a=rod,
        frame_b=slider,
        offset_a=shift(length),
        family=sx.LoopClosureFamily.POINT,
    )
    crank_slider.joints["slide"].position = [r + length]
    world.closure_projection = sx.ClosureProjectionOptions(driving=[crank_slider.joints["crank"]])
    return world, crank_slider, closure


def test_a_slider_crank_follows_its_crank_all_round():
    r, length = 0.15, 0.35
    world, robot, closure = slider_crank(r, length)
    for angle in np.linspace(0, 4 * np.pi, 97):
        robot.joints["crank"].position = [angle]
        wanted = r * np.cos(angle) + np.sqrt(length**2 - (r * np.sin(angle)) ** 2)
        assert robot.joints["slide"].position[0] == pytest.approx(wanted, abs=1e-9)
        assert robot.joints["crank"].position[0] == angle
        assert closure.compute_residual().norm < 1e-10
    at_sixty = np.deg2rad(60)
    robot.joints["crank"].position = [at_sixty]
    assert robot.links["slider"].translation[0] == pytest.approx(0.4, abs=1e-10), "fresh reads of links"
    report = world.closure_projection_report
    assert report.converged and report.rank == 2 and report.rows == 3, (
        "one of three rows is redundant in a plane"
    )
    assert report.tolerance == 1e-10 and report.iterations > 0 and report.closures == ("pin",)


def test_velocities_follow_as_well():
    r, length, angle, speed = 0.15, 0.35, np.deg2rad(60), 10.0
    world, robot, _ = slider_crank(r, length)
    robot.joints["crank"].position = [angle]
    robot.joints["crank"].velocity = [speed]
    assert robot.joints["slide"].velocity[0] == pytest.approx(-1.5988161301, abs=1e-9)
    assert robot.joints["crank"].velocity[0] == speed
    assert robot.links["slider"].linear_velocity[0] == pytest.approx(-1.5988161301, abs=1e-9)
    assert world.frame == 0


def five_bar(a=0.3, b=0.5, base=0.4):
    """Two arms of two links with shoulders at 0 and `base`, joined at their ends."""
    world = sx.World()
    ends = []
    for name, x in (("left", 0.0), ("right", base)):
        arm = world.add_multibody(name)
        root = arm.add_link("root")
        upper = arm.add_link("upper", root, hinge("shoulder", (x,)))
        ends.append(arm.add_link("lower", upper, hinge("elbow", (a,))))
    left, right = world.multibodies["left"], world.multibodies["right"]
    left.joints.position, right.joints.position = [2.2, -1.4], [0.9, 1.4]
    projected(
        world,
        name="tip",
        frame_a=ends[0],
        frame_b=ends[1],
        offset_a=shift(b),
        offset_b=shift(b),
        family=sx.LoopClosureFamily.POINT,
    )
    world.closure_projection = sx.ClosureProjectionOptions(
        driving=[left.joints["shoulder"], right.joints["shoulder"]]
    )
    return world, left, right, ends[0]


def five_bar_tip(p, q, a=0.3, b=0.5, base=0.4):
    """The upper of the two points where circles of radius b about the elbows meet."""
    A = a * np.array([np.cos(p), np.sin(p)])
    B = np.array([base, 0]) + a * np.array([np.cos(q), np.sin(q)])
    middle, d = 0.5 * (A + B), B - A
    h = np.sqrt(b**2 - 0.25 * d @ d)
    return middle + h * np.array([-d[1], d[0]]) / np.linalg.norm(d)


def test_a_five_bar_follows_its_two_cranks_on_one_branch():
    world, left, right, lower = five_bar()
    rng = np.random.default_rng(0)
    p, q = 2.2, 0.9
    for _ in range(200):
        p, q = np.clip(p + rng.uniform(-0.3, 0.3), 1.6, 3.0), np.clip(q + rng.uniform(-0.3, 0.3), 0.1, 1.5)
        left.joints["shoulder"].position = [p]
        right.joints["shoulder"].position = [q]
        tip = (lower.transform @ [0.5, 0, 0, 1])[:2]
        np.testing.assert_allclose(tip, five_bar_tip(p, q), atol=1e-9)
        assert world.closure_projection_report.converged


def test_a_large_jump_of_the_driven_joints_stays_on_the_branch():
    _, left, right, lower = five_bar()
    for p, q in ((3.0, 0.2), (1.7, 1.5), (2.9, 1.4), (1.6, 0.1)):
        left.joints["shoulder"].position = [p]
        right.joints["shoulder"].position = [q]
        tip = (lower.transform @ [0.5, 0, 0, 1])[:2]
        np.testing.assert_allclose(tip, five_bar_tip(p, q), atol=1e-9)


def test_what_cannot_be_closed_is_reported_and_stays_as_written():
    world, left, right, _ = five_bar(b=0.45)
    closure = world.loop_closures["tip"]
    left.joints["shoulder"].position = [2.6]
    assert closure.compute_residual().converged is True
    followers = left.joints["elbow"].position[0], right.joints["elbow"].position[0]
    # the elbows are further apart than twice 0.45 m
    gap = np.hypot(0.7 - 0.3 * np.cos(2.6), 0.3 * np.sin(2.6)) - 0.9
    right.joints["shoulder"].position = [0.0]
    report = world.closure_projection_report
    assert gap > 0.05 and not report.converged and report.residual == pytest.approx(gap, rel=1e-3)
    assert "'tip'" in report.message and "stayed as they were written" in report.message
    assert left.joints["shoulder"].position[0] == 2.6 and right.joints["shoulder"].position[0] == 0.0
    assert (left.joints["elbow"].position[0], right.joints["elbow"].position[0]) == followers
    residual = closure.compute_residual()
    assert residual.converged is False and residual.active and residual.norm > gap
    assert residual.tolerance == 1e-10 and residual.iterations == report.iterations > 0
    # and it closes again where it can
    right.joints["shoulder"].position = [0.9]
    assert world.closure_projection_report.converged and closure.compute_residual().norm < 1e-10


def test_a_singular_pose_is_closed_and_its_rank_is_told():
    world, left, right, _ = five_bar()
    assert world.closure_projection_report.rank == 2
    # links of 0.5 m stretched out between elbows 1 m apart
    left.joints["shoulder"].position = [np.pi]
    right.joints["shoulder"].position = [0.0]
    report = world.closure_projection_report
    assert report.converged
    assert np.linalg.norm(world.loop_closures["tip"].compute_residual().value) < 1e-10


def test_sync_ticks_and_replay_project():
    world, robot, closure = slider_crank()
    world.enter_simulation_mode()
    robot.joints["crank"].position = [0.7]
    world.sync(sx.WorldSyncStage.KINEMATICS)
    assert closure.compute_residual().norm < 1e-10
    world.replay_recording_enabled = True
    places = []
    for k in range(20):
        robot.joints["crank"].position = [0.7 + 0.1 * k]
        world.step_kinematics()
        places.append(robot.joints["slide"].position[0])
    assert world.frame == 20
    last = world.state_vector
    for k in (3, 11, 19):
        world.restore_replay_frame(world.replay_frame_count - 20 + k)
        assert robot.joints["slide"].position[0] == places[k], "frames are closed and stay as they are"
        assert closure.compute_residual().norm < 1e-10
    np.testing.assert_array_equal(world.state_vector, last)


def test_weights_say_who_gives_way():
    def ends(weights):
        world, moved = two_slides()
        joints = [world.multibodies[name].joints["slide"] for name in ("a", "b")]
        projected(world, name="c", frame_a=moved[0], frame_b=moved[1], family=sx.LoopClosureFamily.POINT)
        world.closure_projection = sx.ClosureProjectionOptions(
            weights=dict(zip(joints, weights, strict=True)) if weights else {}
        )
        return joints[0].position[0], joints[1].position[0]

    np.testing.assert_allclose(ends(None), [0.5, 0.5], atol=1e-9)
    # the one of weight 3 moves a third of the other
    np.testing.assert_allclose(ends((3.0, 1.0)), [0.25, 0.25], atol=1e-9)


def test_joints_that_are_driven_are_held_by_default():
    world, robot, closure = slider_crank()
    world.closure_projection = sx.ClosureProjectionOptions()
    robot.joints["crank"].actuator_type = sx.ActuatorType.LOCKED
    robot.joints["crank"].position = [1.1]
    assert robot.joints["crank"].position[0] == 1.1 and closure.compute_residual().norm < 1e-10
    robot.joints["crank"].actuator_type = sx.ActuatorType.FORCE
    robot.joints["crank"].position = [1.3]
    assert robot.joints["crank"].position[0] != 1.3 and closure.compute_residual().norm < 1e-10


def test_limits_of_followers_hold():
    world, robot, closure = slider_crank()
    robot.joints["crank"].position = [1.1]
    before = robot.joints["slide"].position[0]
    robot.joints["slide"].set_position_limits([0.3], [0.45])
    robot.joints["crank"].position = [0.0]
    assert not world.closure_projection_report.converged, "the slider would be at 0.5"
    assert robot.joints["slide"].position[0] == before
    robot.joints["crank"].position = [1.2]
    assert world.closure_projection_report.converged and closure.compute_residual().norm < 1e-10


def stewart():
    """A platform on six legs, each a universal joint and a slide, tied to it by points."""
    world = sx.World()
    rng = np.arange(6)
    foot = np.stack(
        [np.cos(rng * np.pi / 3 + 0.2 * (-1) ** rng), np.sin(rng * np.pi / 3 + 0.2 * (-1) ** rng)], 1
    )
    top = 0.6 * np.stack(
        [np.cos(rng * np.pi / 3 - 0.3 * (-1) ** rng), np.sin(rng * np.pi / 3 - 0.3 * (-1) ** rng)], 1
    )
    platform = world.add_rigid_body("platform", position=(0, 0, 1.0))
    legs = []
    for k in range(6):
        leg = world.add_multibody(f"leg_{k}")
        root = leg.add_link("root")
        first = leg.add_link("first", root, hinge("first", (*foot[k], 0.0), (1, 0, 0)))
        second = leg.add_link("second", first, hinge("second", None, (0, 1, 0)))
        spec = sx.JointSpec(name="slide", type=sx.JointType.PRISMATIC, axis=(0, 0, 1))
        rod = leg.add_link("rod", second, spec)
        reach = np.array([*top[k], 1.0]) - [*foot[k], 0.0]
        length = np.linalg.norm(reach)
        # R_x(a) R_y(b) z = (sin b, -sin a cos b, cos a cos b)
        leg.joints.position = [np.arctan2(-reach[1], reach[2]), np.arcsin(reach[0] / length), length]
        projected(
            world,
            name=f"ball_{k}",
            frame_a=rod,
            frame_b=platform,
            offset_b=shift(*top[k]),
            family=sx.LoopClosureFamily.POINT,
        )
        legs.append(leg)
    slides = [leg.joints["slide"] for leg in legs]
    world.closure_projection = sx.ClosureProjectionOptions(driving=slides)
    return world, platform, slides, foot, top


def test_a_stewart_platform_goes_where_its_legs_say():
    world, platform, slides, foot, top = stewart()
    rng = np.random.default_rng(1)
    for _ in range(25):
        p = np.array([0, 0, 1.0]) + rng.uniform(-0.15, 0.15, 3)
        R = wmath.so3_exp(rng.uniform(-0.2, 0.2, 3))
        # lengths by the inverse kinematics, which is a closed form
        lengths = [np.linalg.norm(p + R @ [*top[k], 0.0] - [*foot[k], 0.0]) for k in range(6)]
        for slide, length in zip(slides, lengths, strict=True):
            slide.position = [length]
        np.testing.assert_allclose(platform.translation, p, atol=1e-8)
        np.testing.assert_allclose(platform.rotation, R, atol=1e-8)
        assert [slide.position[0] for slide in slides] == lengths
    report = world.closure_projection_report
    assert report.converged and report.rank == 18


class Delta:
    """Clavel's delta robot: three cranks, each with two parallel rods that carry a platform."""

    base, platform, crank, rod, half_width = 0.25, 0.08, 0.3, 0.6, 0.05

    def __init__(self, angle=0.3):
        self.world, self.motors = sx.World(), []
        height = self.position([angle] * 3)
        self.plate = self.world.add_rigid_body("plate", position=height)
        for k in range(3):
            turn = wmath.so3_exp([0, 0, 2 * np.pi * k / 3])
            arm = self.world.add_multibody(f"arm_{k}")
            mount = wmath.make_transform(turn, turn @ [self.base, 0, 0])
            spec = sx.JointSpec("motor", axis=(0, 1, 0), transform_to_parent=mount)
            upper = arm.add_link("upper", arm.add_link("root"), spec)
            arm.joints["motor"].position = [angle]
            elbow = np.array([self.base + self.crank * np.cos(angle), 0, -self.crank * np.sin(angle)])
            along = wmath.so3_exp([0, -angle, 0]) @ (turn.T @ height + [self.platform, 0, 0] - elbow)
            for name, y in (("left", self.half_width), ("right", -self.half_width)):
                first = arm.add_link(name, upper, hinge(name, (self.crank, y, 0.0), (0, 1, 0)))
                rod = arm.add_link(f"{name}_rod", first, hinge(f"{name}_tilt", None, (1, 0, 0)))
                arm.joints[name].position = [np.arctan2(-along[0], -along[2])]
                projected(
                    self.world,
                    name=f"{name}_{k}",
                    frame_a=rod,
                    frame_b=self.plate,
                    offset_a=shift(0, 0, -self.rod),
                    offset_b=wmath.make_transform(np.eye(3), turn @ [self.platform, y, 0]),
                    family=sx.LoopClosureFamily.POINT,
                )
            self.motors.append(arm.joints["motor"])
        self.world.closure_projection = sx.ClosureProjectionOptions(driving=self.motors)

    def position(self, angles):
        """Lower of the two points where spheres about the elbows, moved in by the platform, meet."""
        turns = 2 * np.pi * np.arange(3) / 3
        reach = self.base - self.platform + self.crank * np.cos(angles)
        centre = np.stack([reach * np.cos(turns), reach * np.sin(turns), -self.crank * np.sin(angles)], 1)
        # planes in which two spheres meet: 2 (c_k - c_0) . p = |c_k|^2 - |c_0|^2, a line p = a + t n
        planes = 2.0 * (centre[1:] - centre[0])
        n = np.cross(planes[0], planes[1])
        a = np.linalg.solve(
            np.vstack([planes, n]), [*(np.sum(centre[1:] ** 2, 1) - np.sum(centre[0] ** 2)), 0.0]
        )
        away = a - centre[0]
        root = np.sqrt((n @ away) ** 2 - (n @ n) * (away @ away - self.rod**2))
        ends = [a + t * n for t in ((-(n @ away) + root) / (n @ n), (-(n @ away) - root) / (n @ n))]
        return min(ends, key=lambda p: p[2])


def test_a_delta_robot_carries_its_platform_where_three_spheres_meet():
    robot, rng = Delta(), np.random.default_rng(2)
    for _ in range(40):
        angles = rng.uniform(-0.3, 0.9, 3)
        for motor, angle in zip(robot.motors, angles, strict=True):
            motor.position = [angle]
        np.testing.assert_allclose(robot.plate.translation, robot.position(angles), atol=1e-9)
        np.testing.assert_allclose(robot.plate.rotation, np.eye(3), atol=1e-9)
    report = robot.world.closure_projection_report
    assert report.converged and report.rank == report.rows == 18
    # velocities by differences of the closed form
    rates, e = np.array([0.5, -0.8, 0.3]), 1e-6
    for motor, rate in zip(robot.motors, rates, strict=True):
        motor.velocity = [rate]
    slope = (robot.position(angles + e * rates) - robot.position(angles - e * rates)) / (2 * e)
    np.testing.assert_allclose(robot.plate.linear_velocity, slope, atol=1e-8)
    np.testing.assert_allclose(robot.plate.angular_velocity, 0.0, atol=1e-9)


def test_a_closure_may_have_to_be_closed_at_the_start():
    world, robot, closure = slider_crank()
    closure.kinematics = sx.ClosureKinematicsPolicy.RESIDUAL_ONLY
    closure.initial_tolerance = 1e-6
    assert closure.runtime_policy.initial_tolerance == 1e-6
    world.validate_topology()
    robot.joints["slide"].position = [0.51]
    before = world.state_vector
    for start in (world.validate_topology, world.enter_simulation_mode, world.step, world.step_kinematics):
        with pytest.raises(ArgumentError, match=r"'pin' is open by 0\.01 at the start"):
            start()
    with pytest.raises(ArgumentError, match="initial_tolerance allows 1e-06"):
        sx.WorldBatch(world, 2)
    assert not world.is_simulation_mode and np.array_equal(world.state_vector, before)
    # the demand is part of the description
    again = sx.World.from_scene(world.to_scene())
    with pytest.raises(ArgumentError, match="'pin' is open"):
        again.step()
    # projection meets it, and so does a tolerance that is wide enough or a closure that is off
    closure.kinematics = PROJECT
    world.enter_simulation_mode()
    for closure, change in zip(
        [each.loop_closures["pin"] for each in (again, again.clone())],
        ({"initial_tolerance": 0.02}, {"enabled": False}),
        strict=True,
    ):
        for name, value in change.items():
            setattr(closure, name, value)
        closure._world.enter_simulation_mode()
    with pytest.raises(ArgumentError, match="initial_tolerance"):
        sx.LoopClosureRuntimePolicy(initial_tolerance=-1.0)


def test_policies_can_be_switched_at_any_time():
    _, robot, closure = slider_crank()
    robot.joints["crank"].position = [0.5]
    assert closure.compute_residual().norm < 1e-10
    closure.kinematics = sx.ClosureKinematicsPolicy.RESIDUAL_ONLY
    robot.joints["crank"].position = [0.9]
    open_ = closure.compute_residual()
    assert open_.norm > 0.01 and open_.converged is None and not open_.active
    closure.kinematics = PROJECT
    assert closure.compute_residual().norm < 1e-10
    closure.enabled = False
    robot.joints["crank"].position = [1.2]
    assert closure.compute_residual().norm > 0.01


def test_steps_solve_what_projection_closed():
    world, robot, closure = slider_crank()
    for link in robot.links[1:]:
        link.mass, link.inertia = 1.0, np.eye(3) * 0.01
    closure.dynamics = sx.ClosureDynamicsPolicy.SOLVE
    robot.joints["crank"].position = [0.8]
    one = world.clone()
    world.step(n=50)
    for _ in range(50):
        one.step()
        one.multibodies["mechanism"].joints.position  # noqa: B018 - reads between steps change nothing
    np.testing.assert_array_equal(world.state_vector, one.state_vector)
    assert one.closure_projection.driving[0] is one.multibodies["mechanism"].joints["crank"]


def heavy_slider_crank(dynamics, **options):
    world, robot, closure = slider_crank(gravity=(0, -9.81, 0), time_step=1e-3, **options)
    for link in robot.links[1:]:
        link.mass, link.inertia = 1.0, np.eye(3) * 0.01
    closure.dynamics = dynamics
    return world, robot, closure


@pytest.mark.parametrize("dynamics", list(sx.ClosureDynamicsPolicy))
def test_a_step_projects_what_was_written_before_it(dynamics):
    ends = []
    for reads in (False, True):
        world, robot, _ = heavy_slider_crank(dynamics)
        world.step()
        robot.joints["crank"].position = [0.8]
        if reads:
            assert robot.joints["slide"].position[0] != 0.5
        world.step(3)
        ends.append(world.state_vector)
    np.testing.assert_array_equal(*ends)


def test_what_steps_leave_open_is_projected_after_each():
    """The crank falls alone, and rod and slider follow it."""
    ends = []
    for chunk in (1, 5, 60):
        world, robot, closure = heavy_slider_crank(sx.ClosureDynamicsPolicy.RESIDUAL_ONLY)
        robot.joints["crank"].velocity = [3.0]
        for _ in range(60 // chunk):
            world.step(chunk)
            residual = closure.compute_residual()
            assert residual.norm < 1e-8 and residual.converged
        angle = robot.joints["crank"].position[0]
        slide = 0.15 * np.cos(angle) + np.sqrt(0.35**2 - (0.15 * np.sin(angle)) ** 2)
        assert angle > 0.05 and robot.joints["slide"].position[0] == pytest.approx(slide, abs=1e-9)
        ends.append(world.state_vector)
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[0], ends[2])
    differentiable, _, _ = heavy_slider_crank(sx.ClosureDynamicsPolicy.RESIDUAL_ONLY, differentiable=True)
    with pytest.raises(NotImplementedError, match="does not project steps"):
        differentiable.step()


def test_a_batch_refuses_what_it_does_not_project():
    world, _, closure = slider_crank()
    with pytest.raises(NotImplementedError, match="'pin' requests PROJECT"):
        sx.WorldBatch(world, 2)
    closure.enabled = False
    assert len(sx.WorldBatch(world, 2)) == 2


def test_options_are_checked_and_files_refuse_to_lose_them(tmp_path):
    world, robot, _ = slider_crank()
    other, stranger, _ = slider_crank()
    for make, words in (
        (lambda: sx.ClosureProjectionOptions(driving=["crank"]), "driving"),
        (lambda: sx.ClosureProjectionOptions(weights={robot.joints[0]: -1.0}), "weight"),
        (lambda: sx.ClosureProjectionOptions(tolerance=0.0), "tolerance"),
        (lambda: sx.ClosureProjectionOptions(max_iterations=0), "max_iterations"),
        (
            lambda: setattr(
                world, "closure_projection", sx.ClosureProjectionOptions(driving=stranger.joints[0])
            ),
            "another World",
        ),
    ):
        with pytest.raises(ArgumentError, match=words):
            make()
    with pytest.raises(TypeError):
        world.closure_projection = 3
    with pytest.raises(OperationError, match="closure_projection"):
        world.save_binary(tmp_path / "w.bin")
    other.closure_projection = sx.ClosureProjectionOptions()
    other.save_binary(tmp_path / "w.bin")
