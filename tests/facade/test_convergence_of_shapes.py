# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Piles of capsules and cylinders in a bin: all steps converge."""

from __future__ import annotations

import numpy as np
import pytest
from tests.facade.test_convergence import Method, add_bin

from worldline import simulation as sx
from worldline.collision import CollisionShape

SHAPES = {
    "capsules": lambda size: CollisionShape.capsule(0.5 * size, 0.7 * size),
    "cylinders": lambda size: CollisionShape.cylinder(0.8 * size, 0.7 * size),
}


def pile(kind, friction, method, count=45):
    """Bodies of 5 to 9 cm and 0.5 to 2 kg that fall into a bin, turned at random."""
    rng = np.random.default_rng(0)
    world = sx.World(time_step=0.005, contact_solver_method=method)
    add_bin(world, friction)
    for k in range(count):
        spot = np.array((0.22 * (k % 3 - 1), 0.22 * (k // 3 % 3 - 1), 0.2 + 0.25 * (k // 9)))
        turned = rng.normal(size=4)
        body = world.add_rigid_body(
            f"b{k}",
            mass=float(rng.uniform(0.5, 2.0)),
            position=spot + np.append(rng.normal(0.0, 0.01, 2), 0.0),
            orientation=turned / np.linalg.norm(turned),
        )
        body.add_collision_shape(SHAPES[kind](float(rng.uniform(0.05, 0.09))))
        body.friction = friction
    return world


def unsolved(world, steps=250):
    """Reports of the steps that did not converge."""
    found = []
    for _ in range(steps):
        world.step()
        report = world.step_report()
        if not report.converged:
            found.append(report)
    assert world.step_report().contacts > 40
    return found


@pytest.mark.parametrize("friction", [0.3, 0.5])
@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("method", [Method.AUTOMATIC, Method.BOXED_LCP, Method.SEQUENTIAL_IMPULSE])
def test_piles_converge(kind, friction, method):
    assert not unsolved(pile(kind, friction, method))


@pytest.mark.parametrize("method", [Method.AUTOMATIC, Method.NEWTON, Method.SEQUENTIAL_IMPULSE])
def test_a_pile_that_friction_locks_converges(method):
    """Sweeps over cylinders with a friction coefficient of 1 went round in a cycle in 2 of these steps."""
    assert not unsolved(pile("cylinders", 1.0, method))
