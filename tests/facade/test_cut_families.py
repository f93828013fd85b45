# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Closures that are cut joints: the same motion as the joint in a tree, residuals, projection, files."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import math as wmath
from worldline import simulation as sx

Cut = sx.LoopClosureFamily
CUTS = {Cut.REVOLUTE: 5, Cut.UNIVERSAL: 4, Cut.PRISMATIC: 5, Cut.PLANAR: 3}
JOINTS = {
    Cut.REVOLUTE: {"type": sx.JointType.REVOLUTE, "axis": (0, 0, 1)},
    Cut.UNIVERSAL: {"type": sx.JointType.UNIVERSAL, "axis": (1, 0, 0), "axis2": (0, 0, 1)},
    Cut.PRISMATIC: {"type": sx.JointType.PRISMATIC, "axis": (0, 0, 1)},
    Cut.PLANAR: {"type": sx.JointType.PLANAR, "axis": (0, 0, 1), "axis2": (1, 0, 0)},
}
BODY = {"mass": 2.0, "inertia": (0.03, 0.02, 0.05), "center_of_mass": (0.2, 0.1, 0.3)}
RUNGE_KUTTA = sx.MultibodyIntegrationFamily.RUNGE_KUTTA_4


def world_of() -> sx.World:
    options = sx.MultibodyOptions(integration_family=RUNGE_KUTTA)
    return sx.World(time_step=1e-3, gravity=(3.0, -5.0, -7.0), multibody_options=options)


def cut(family: Cut) -> tuple[sx.World, sx.LoopClosure]:
    """A body that a closure holds to a tilted frame of the world."""
    world = world_of()
    tilt = wmath.make_transform(wmath.so3_exp([0.3, -0.4, 0.2]), [0.1, 0.2, 0.3])
    body = world.add_rigid_body("body", position=tilt[:3, 3], **BODY)
    body.transform = tilt
    return world, world.add_loop_closure(
        "cut", frame_a=body, frame_b=sx.Frame.world(), offset_b=tilt, family=family
    )


@pytest.mark.parametrize("family", list(CUTS))
def test_a_cut_joint_moves_as_the_joint_in_a_tree(family):
    tilt = wmath.make_transform(wmath.so3_exp([0.3, -0.4, 0.2]), [0.1, 0.2, 0.3])
    tree = world_of()
    spec = sx.JointSpec("joint", transform_to_parent=tilt, **JOINTS[family])
    link = tree.add_multibody("arm").add_link("link", joint=spec, **BODY)
    world, closure = cut(family)
    body = world.rigid_bodies["body"]
    start = body.transform.copy()
    for each in (tree, world):
        each.step(300)
    assert np.abs(body.transform - start).max() > 0.02
    assert np.allclose(body.transform, link.transform, atol=1e-9)
    residual = closure.compute_residual()
    assert residual.value.shape == (CUTS[family],) and residual.norm < 1e-11
    assert residual.converged and residual.rank == CUTS[family]


@pytest.mark.parametrize("family", list(CUTS))
def test_a_cut_joint_is_projected(family):
    world, closure = cut(family)
    closure.kinematics = sx.ClosureKinematicsPolicy.PROJECT
    body = world.rigid_bodies["body"]
    moved = wmath.make_transform(wmath.so3_exp([0.5, 0.1, -0.4]), [0.3, -0.1, 0.6])
    body.transform = moved
    report = world.closure_projection_report
    assert report is not None and report.converged and report.rank == CUTS[family]
    assert closure.compute_residual().norm < 1e-8
    # what the joint leaves free does not go back
    assert np.abs(body.transform - moved).max() > 1e-3


@pytest.mark.parametrize("family", list(CUTS))
def test_a_cut_joint_comes_back_from_a_file(family, tmp_path):
    world, _ = cut(family)
    path = tmp_path / "scene.msd.json"
    world.to_scene().to_file(path)
    again = sx.World.from_file(path)
    assert again.loop_closures["cut"].family is family
    for each in (world, again):
        each.step(20)
    assert np.array_equal(world.rigid_bodies["body"].transform, again.rigid_bodies["body"].transform)


def test_an_open_cut_says_what_is_missing():
    world, closure = cut(Cut.PLANAR)
    tilt = closure.offset_b
    world.rigid_bodies["body"].transform = tilt @ wmath.make_transform(
        wmath.so3_exp([0, 0, 0.7]), [0.4, 0.5, 0.01]
    )
    assert np.allclose(closure.compute_residual().value, [0.01, 0.0, 0.0], atol=1e-12)
