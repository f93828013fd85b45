# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers beyond a float64 and masked entries are refused by every layer with an error of the library."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import ArgumentError, WorldlineError, lcp, msd
from worldline import model as wm
from worldline import simulation as sx
from worldline.collision import (
    CollisionDetector,
    CollisionOption,
    CollisionShape,
    DistanceOption,
    RaycastOption,
)
from worldline.model import ModelBuilder, forward_dynamics

LARGE = 10**400
MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
ONE_MASKED = np.ma.array([1.0], mask=[True])


def pendulum():
    builder = ModelBuilder()
    link = builder.add_link(mass=1.0, inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_revolute(-1, link, axis=(0, 0, 1))])
    return builder.finalize()


def joint(**options):
    builder = ModelBuilder()
    builder.add_joint_revolute(-1, builder.add_link(mass=1.0), **{"axis": (0, 0, 1), **options})


def group_with(**options):
    CollisionDetector.create("native").create_group().add(CollisionShape.sphere(1.0), **options)


def rays(**options):
    detector = CollisionDetector.create("native")
    detector.raycast(detector.create_group(), **{"start": (0, 0, 1), "end": (0, 0, -1), **options})


def point_of(point):
    detector = CollisionDetector.create("native")
    group = detector.create_group()
    group.add(CollisionShape.sphere(1.0))
    detector.closest_point(group, point)


def mesh_of(vertices, indices):
    builder = ModelBuilder()
    builder.add_shape_mesh(builder.add_link(mass=1.0), vertices, indices)


CALLS = {
    "radius": lambda: CollisionShape.sphere(LARGE),
    "half extents": lambda: CollisionShape.box((LARGE, 1, 1)),
    "masked half extents": lambda: CollisionShape.box(MASKED),
    "vertices": lambda: CollisionShape.convex([(0, 0, LARGE), (1, 0, 0), (0, 1, 0), (0, 0, 1)]),
    "heights": lambda: CollisionShape.height_field([[0, 0], [0, LARGE]], (1, 1)),
    "pose": lambda: group_with(pose=(LARGE, 0, 0, 0, 0, 0, 1)),
    "masked pose": lambda: group_with(pose=np.ma.array([0.0] * 6 + [1.0], mask=[True] + [False] * 6)),
    "mass": lambda: ModelBuilder().add_link(mass=LARGE),
    "masked centre of mass": lambda: ModelBuilder().add_link(mass=1.0, com=MASKED),
    "masked inertia": lambda: ModelBuilder().add_link(
        mass=1.0, inertia=np.ma.array(np.eye(3), mask=np.eye(3))
    ),
    "axis": lambda: joint(axis=(LARGE, 0, 0)),
    "masked axis": lambda: joint(axis=MASKED),
    "update": lambda: pendulum().update(body_mass=[LARGE]),
    "masked update": lambda: pendulum().update(body_mass=ONE_MASKED),
    "operand": lambda: forward_dynamics(pendulum(), [LARGE], [0.0], [0.0]),
    "masked operand": lambda: forward_dynamics(pendulum(), ONE_MASKED, [0.0], [0.0]),
    "axis of a scene": lambda: msd.Joint(axis=(LARGE, 0, 0)),
    "masked axis of a scene": lambda: msd.Joint(axis=MASKED),
    "matrix of a problem": lambda: lcp.LcpProblem([[LARGE]], [1.0]),
    "masked vector of a problem": lambda: lcp.LcpProblem(np.eye(3), MASKED),
    "guess": lambda: lcp.solve(lcp.LcpProblem(np.eye(3), np.ones(3)), guess=MASKED),
    "slack": lambda: lcp.LcpProblem(np.eye(3), np.ones(3)).slack([LARGE] * 3),
    "bounds": lambda: lcp.LcpProblem(np.eye(3), np.ones(3)).bounds(MASKED),
    "solution": lambda: lcp.validate(lcp.LcpProblem(np.eye(3), np.ones(3)), MASKED),
    "tolerance of a solver": lambda: lcp.LcpOptions(tolerance=LARGE),
    "iterations of a solver": lambda: lcp.LcpOptions(max_iterations=np.inf),
    "relaxation of a solver": lambda: lcp.LcpOptions(relaxation=[1.0, 1.0]),
    "masked local transform": lambda: CollisionShape.sphere(
        1.0, local_transform=np.ma.array(np.eye(4), mask=np.eye(4))
    ),
    "masked triangles": lambda: CollisionShape.mesh(np.eye(3), np.ma.array([[0, 1, 2]], mask=[[0, 1, 0]])),
    "ray": lambda: rays(start=(LARGE, 0, 0)),
    "masked ray": lambda: rays(start=MASKED),
    "point": lambda: point_of((LARGE, 0, 0)),
    "masked point": lambda: point_of(MASKED),
    "margin of a query": lambda: CollisionOption(margin=LARGE),
    "contacts of a query": lambda: CollisionOption(max_contacts=np.ones(2)),
    "reach of a query": lambda: DistanceOption(upper_bound=np.ones(2)),
    "margin of an object": lambda: group_with(margin=LARGE),
    "bits of an object": lambda: group_with(collide_group=1 << 63),
    "time step": lambda: wm.Simulation(pendulum(), LARGE),
    "assigned time step": lambda: setattr(wm.Simulation(pendulum()), "time_step", LARGE),
    "no time step": lambda: setattr(wm.Simulation(pendulum()), "time_step", 0.0),
    "masked coordinates": lambda: setattr(wm.Simulation(pendulum()), "q", ONE_MASKED),
    "time step of lanes": lambda: wm.LaneSimulation(pendulum(), 1, time_step=LARGE),
    "tolerance of lanes": lambda: wm.LaneSimulation(pendulum(), 1, tolerance=LARGE),
    "masked velocities of lanes": lambda: setattr(wm.LaneSimulation(pendulum(), 1), "v", ONE_MASKED),
    "steps": lambda: wm.Simulation(pendulum()).step(LARGE),
    "steps of lanes": lambda: wm.LaneSimulation(pendulum(), 1).step(LARGE),
    "steps of a World": lambda: sx.World().step(LARGE),
    "steps of a batch": lambda: sx.WorldBatch(pendulum(), 1).step(LARGE),
    "worlds to reset": lambda: wm.LaneSimulation(pendulum(), 1).reset([[1, 2], [3]]),
    "time step of a call": lambda: wm.step(pendulum(), pendulum().state(), dt=LARGE),
    "tolerance of a call": lambda: wm.step(pendulum(), pendulum().state(), tolerance=LARGE),
    "support": lambda: wm.support_polygon([[LARGE, 0, 0]]),
    "balance": lambda: wm.balance_margin(MASKED, np.eye(3)),
    "up": lambda: wm.balance_margin((0, 0, 0), np.eye(3), up=(0, 0, LARGE)),
    "height": lambda: wm.zero_moment_point(pendulum(), [0.0], [0.0], [0.0], height=LARGE),
    "regressor": lambda: wm.body_regressor([LARGE] * 6, [0.0] * 6),
    "second derivatives": lambda: wm.inverse_dynamics_second_derivatives(
        pendulum(), ONE_MASKED, [0.0], [0.0]
    ),
    "constraint rows": lambda: wm.constrained_dynamics(pendulum(), [0.0], [0.0], [0.0], [[LARGE]]),
    "accelerations of rows": lambda: wm.constrained_dynamics(
        pendulum(), [0.0], [0.0], [0.0], [[1.0]], ONE_MASKED
    ),
    "regularizer": lambda: wm.constrained_dynamics(pendulum(), [0.0], [0.0], [0.0], [[1.0]], proximal=LARGE),
    "fraction": lambda: wm.interpolate(pendulum(), [0.0], [1.0], ONE_MASKED[0]),
    "vertices of a builder": lambda: mesh_of([[0, 0, LARGE], [1, 0, 0], [0, 1, 0]], [0, 1, 2]),
    "triangles of a builder": lambda: mesh_of(np.eye(3), np.ma.array([0, 1, 2], mask=[0, 1, 0])),
    "large triangles of a builder": lambda: mesh_of(np.eye(3), [0, 1, LARGE]),
    "width of a plane": lambda: ModelBuilder().add_shape_plane(width=LARGE),
    "height of the ground": lambda: ModelBuilder().add_ground_plane(height=LARGE),
    "selected values": lambda: wm.ArticulationView(pendulum(), "*").set_dof_positions(
        pendulum().state(), ONE_MASKED
    ),
    "link": lambda: ModelBuilder().link_flags(LARGE),
    "body": lambda: pendulum().set_kinematic(LARGE, True),
}


@pytest.mark.parametrize("name", CALLS)
def test_numbers_that_are_none_are_refused(name):
    with pytest.raises(ArgumentError) as caught:
        CALLS[name]()
    assert isinstance(caught.value, WorldlineError)


def test_masks_without_masked_entries_are_arrays():
    assert CollisionShape.box(np.ma.array([1.0, 2.0, 3.0])).half_extents.tolist() == [1.0, 2.0, 3.0]


FLAGS = {
    "static": lambda: group_with(static="no"),
    "stop_at_first": lambda: CollisionOption(stop_at_first="no"),
    "all_hits": lambda: RaycastOption(all_hits="no"),
    "kinematic": lambda: pendulum().set_kinematic(0, "no"),
    "within_limits": lambda: wm.random_configuration(pendulum(), within_limits="no"),
    "check_inertia": lambda: ModelBuilder().add_link(check_inertia="no"),
    "skip_validation_joints": lambda: ModelBuilder().finalize(skip_validation_joints="no"),
    "has_shape_collision": lambda: ModelBuilder().add_shape_sphere(
        -1, cfg=wm.ShapeConfig(has_shape_collision="no")
    ),
    "allow_outside": lambda: msd.from_str("<mujoco/>", format="mjcf", allow_outside="no"),
    "validate": lambda: msd.from_str("<mujoco/>", format="mjcf", validate="no"),
}


@pytest.mark.parametrize("name", FLAGS)
def test_a_text_is_no_flag(name):
    with pytest.raises(ArgumentError, match=f"{name}.*True or False"):
        FLAGS[name]()
