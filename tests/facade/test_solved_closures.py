# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Closures that a step keeps closed: residuals, forces, and the same motion as a tree."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import simulation as sx

SOLVE = sx.ClosureDynamicsPolicy.SOLVE


def offset(x: float, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    made = np.eye(4)
    made[:3, 3] = x, y, z
    return made


def bar(world, name: str, at, velocity=(0, 0, 0)):
    return world.add_rigid_body(
        name, mass=2.0, position=at, inertia=np.diag([0.02, 0.1, 0.1]), linear_velocity=velocity
    )


@pytest.mark.parametrize("family", ["RIGID", "POINT", "DISTANCE", "AXIS"])
def test_a_closure_stays_closed(family):
    world = sx.World(time_step=0.001)
    a, b = bar(world, "a", (0, 0, 0), (0.3, 0, 1)), bar(world, "b", (1, 0, 0), (0, 0.5, 0))
    b.angular_velocity = (1.0, 2.0, 0.5)
    closure = world.add_loop_closure(
        "c",
        frame_a=a,
        frame_b=b,
        offset_a=offset(0.5),
        offset_b=offset(-0.5, 0.4 if family == "DISTANCE" else 0.0),
        family=sx.LoopClosureFamily[family],
        distance=0.4 if family == "DISTANCE" else 0.0,
    )
    assert closure.compute_residual().norm < 1e-12
    closure.dynamics = SOLVE
    assert not closure.compute_residual().force_available, "before a step"
    world.step(500)
    residual = closure.compute_residual()
    assert residual.norm < 2e-6
    assert residual.active and residual.force_available
    closure.dynamics = sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
    closure.dynamics = SOLVE
    assert closure.compute_residual().force is None, "solved again, and no step yet"
    # momentum: nothing but gravity acts on both together
    total = a.mass * a.linear_velocity + b.mass * b.linear_velocity
    assert np.allclose(total, [0.6, 1.0, 2.0 - 4.0 * 9.81 * 0.5], atol=1e-9)


def test_a_closure_is_solved_unless_it_is_told_otherwise():
    # a four-bar of bars of 1 m that swings in the x-z plane
    world = sx.World(time_step=0.001)
    linkage = world.add_multibody("four_bar")
    ground = linkage.add_link("ground")
    hinge = {"axis": (0, 1, 0)}
    rod = {"mass": 1.0, "inertia": np.diag([1 / 12, 1 / 12, 1e-4]), "center_of_mass": (0, 0, -0.5)}
    crank = linkage.add_link("crank", ground, sx.JointSpec("a", **hinge), **rod)
    coupler = linkage.add_link(
        "coupler", crank, sx.JointSpec("b", transform_to_parent=offset(0, 0, -1), **hinge), **rod
    )
    rocker = linkage.add_link(
        "rocker", ground, sx.JointSpec("c", transform_to_parent=offset(1, 0, 0), **hinge), **rod
    )
    linkage.joints["b"].position = [-np.pi / 2]
    closure = world.add_loop_closure(
        "pin",
        frame_a=coupler,
        frame_b=rocker,
        family=sx.LoopClosureFamily.POINT,
        offset_a=offset(0, 0, -1),
        offset_b=offset(0, 0, -1),
    )
    residual = closure.compute_residual()
    assert residual.norm < 1e-12
    # no step has projected it yet
    assert (residual.converged, residual.iterations, residual.tolerance, residual.rank) == (None,) * 4
    assert closure.dynamics is SOLVE and sx.LoopClosureRuntimePolicy().dynamics is SOLVE
    linkage.joints["a"].velocity, linkage.joints["c"].velocity = [1.0], [1.0]
    linkage.joints["b"].velocity = [-1.0]
    world.step(500)
    assert abs(linkage.joints["a"].position[0]) > 0.05
    residual = closure.compute_residual()
    assert residual.converged and residual.iterations is not None and residual.iterations > 0
    assert residual.tolerance is not None and np.abs(residual.value).max() <= residual.tolerance < 1e-7
    # of the three equations of a point, that across the plane follows from the hinges
    assert residual.rank == 2
    assert world.step_report().notes == ()


def test_without_solving_the_ends_part():
    world = sx.World(time_step=0.001)
    a = bar(world, "a", (0, 0, 0))
    closure = world.add_loop_closure(
        "c", frame_a=a, frame_b=sx.Frame.world(), family=sx.LoopClosureFamily.POINT
    )
    closure.dynamics = sx.ClosureDynamicsPolicy.RESIDUAL_ONLY
    world.step(10)
    assert world.step_report().notes == (
        "loop closure 'c': it is only measured (RESIDUAL_ONLY); nothing keeps it closed",
    )
    assert closure.compute_residual().norm > 1e-4
    assert closure.compute_residual().force is None
    closure.dynamics = SOLVE
    world.step(100)
    assert closure.compute_residual().norm < 1e-6


def test_the_force_of_a_closure_carries_the_weight():
    world = sx.World(time_step=0.001)
    a = bar(world, "a", (0, 0, 0))
    closure = world.add_loop_closure(
        "c", frame_a=a, frame_b=sx.Frame.world(), offset_a=offset(0.5), offset_b=offset(0.5)
    )
    closure.dynamics = SOLVE
    world.step(5)
    residual = closure.compute_residual()
    assert residual.force is not None and residual.torque is not None
    assert np.allclose(residual.force, [0, 0, 2 * 9.81], atol=1e-4)
    assert np.allclose(residual.torque, [0, 0.5 * 2 * 9.81, 0], atol=1e-4)
    closure.enabled = False
    world.step(100)
    assert a.linear_velocity[2] == pytest.approx(-9.81 * 0.1, rel=1e-9)


def test_a_pendulum_of_closures_moves_like_a_tree():
    """Two bars hung by point closures against the same bars as a tree of hinges across the plane."""
    h = 0.0005
    tree = sx.World(time_step=h)
    arm = tree.add_multibody("arm")
    first = arm.add_link(
        "one", joint=sx.JointSpec(name="h1", axis=(0, 1, 0), transform_from_parent=offset(0.5))
    )
    second = arm.add_link(
        "two",
        parent=first,
        joint=sx.JointSpec(
            name="h2", axis=(0, 1, 0), transform_to_parent=offset(0.5), transform_from_parent=offset(0.5)
        ),
    )
    for link in (first, second):
        link.mass, link.inertia = 2.0, np.diag([0.02, 0.1, 0.1])
    loose = sx.World(time_step=h)
    one, two = bar(loose, "one", (0.5, 0, 0)), bar(loose, "two", (1.5, 0, 0))
    for name, a, b, at in (("p", one, sx.Frame.world(), 0.0), ("q", two, one, 0.5)):
        closure = loose.add_loop_closure(
            name,
            frame_a=a,
            frame_b=b,
            offset_a=offset(-0.5),
            offset_b=offset(at),
            family=sx.LoopClosureFamily.POINT,
        )
        closure.dynamics = SOLVE
    tree.step(1000)
    loose.step(1000)
    assert np.linalg.norm(two.translation - second.translation) < 2e-3
    assert np.linalg.norm(one.translation - first.translation) < 1e-3
