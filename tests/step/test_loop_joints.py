# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joints between bodies of all kinds: what they keep, and the same motion as a tree with that joint."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import CapabilityError
from worldline._src.kernels.constraints import tables as t
from worldline._src.step.pack_equalities import Owner

H = 0.0005


def body(name: str, joints, free: bool):
    link = msd.Link(
        name=name,
        inertial=msd.Inertia(mass=2.0, pos=(0.1, 0.05, 0.2), diag_inertia=(0.03, 0.05, 0.04)),
        joints=joints,
    )
    return msd.Body(link=link, free=msd.FreeJoint(name=f"{name}_free") if free else None)


def joint(kind: str, **more) -> msd.Joint:
    return msd.Joint(name="j", type_=kind, axis=(0.3, 0.2, 1.0), **more)


KINDS = {
    "Revolute": {},
    "Slide": {},
    "Ball": {},
    "Euler": {},
    "Universal": {"axis2": (1.0, 0.0, -0.3)},
    "Planar": {"axis2": (1.0, 0.0, -0.3)},
    "Translational": {},
    "Screw": {"pitch": 0.2},
    "Fixed": {},
}


def tree(kind: str) -> sx.World:
    scene = msd.World()
    scene.simulate_option.timestep = H
    scene.hierarchy.bodies.append(body("a", [joint(kind, **KINDS[kind])], False))
    return sx.World.from_scene(scene)


def loose(kind: str, **more) -> sx.World:
    scene = msd.World()
    scene.simulate_option.timestep = H
    scene.hierarchy.bodies.append(body("a", [], True))
    scene.joints.append(
        msd.WorldJoint(child=msd.FrameRef(link="a"), joint=joint(kind, **KINDS[kind]), **more)
    )
    return sx.World.from_scene(scene)


def pose(world: sx.World) -> np.ndarray:
    return world._live().sim.fresh_poses()[-1].copy()


@pytest.mark.parametrize("kind", [name for name in KINDS if name != "Fixed"])
def test_a_body_on_a_joint_of_rows_moves_like_one_on_a_joint_of_a_tree(kind):
    one, other = tree(kind), loose(kind)
    for _ in range(3):
        one.step(200)
        other.step(200)
        near = pose(one)
        assert np.abs(pose(other)[:3] - near[:3]).max() < 2e-3
        assert abs(abs(pose(other)[3:] @ near[3:]) - 1.0) < 1e-5
    moved = np.abs(near - [0, 0, 0, 0, 0, 0, 1]).max()
    assert moved > 0.02
    residuals = other._live().constraints.column["residual"][:5]
    assert np.abs(residuals).max() < 1e-5


def test_a_fixed_joint_holds_and_carries():
    world = loose("Fixed")
    world.step(200)
    assert np.abs(pose(world) - [0, 0, 0, 0, 0, 0, 1]).max() < 1e-6
    constraints = world._live().constraints
    row = constraints.row_of(Owner.LOOP_JOINT, 0)
    wrench = constraints.column["equality_wrench"][row]
    # on the parent, the world: the weight and its moment about the joint
    weight = 2.0 * 9.81
    assert np.allclose(wrench, [0, 0, -weight, -0.05 * weight, 0.1 * weight, 0], atol=1e-4)


def test_a_springy_joint_gives_by_weight_over_stiffness():
    world = loose("Fixed", projection=msd.ProjectionPolicy(linear_stiffness=4000.0))
    runtime = world._live()
    runtime.constraints.column["equality_law"][0, t.DAMPING] = 400.0
    world.step(4000)
    assert pose(world)[:3] == pytest.approx([0, 0, -2 * 9.81 / 4000.0], abs=1e-7)
    assert abs(pose(world)[6] - 1.0) < 1e-9


@pytest.mark.parametrize(("kind", "name"), [("Cable", "CABLE"), ("Translational2D", "D6")])
def test_kinds_that_rows_cannot_hold_are_named(kind, name):
    scene = msd.World()
    scene.hierarchy.bodies.append(body("a", [], True))
    scene.joints.append(
        msd.WorldJoint(child=msd.FrameRef(link="a"), joint=joint(kind, axis2=(1.0, 0.0, -0.3)))
    )
    world = sx.World.from_scene(scene)
    with pytest.raises(CapabilityError, match=f"world-owned joint 'j' of type {name}"):
        world.step()
