# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers beyond a float64 and masked entries are refused by every layer with an error of the library."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import ArgumentError, WorldlineError, lcp, msd
from worldline.collision import CollisionDetector, CollisionShape
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
}


@pytest.mark.parametrize("name", CALLS)
def test_numbers_that_are_none_are_refused(name):
    with pytest.raises(ArgumentError) as caught:
        CALLS[name]()
    assert isinstance(caught.value, WorldlineError)


def test_masks_without_masked_entries_are_arrays():
    assert CollisionShape.box(np.ma.array([1.0, 2.0, 3.0])).half_extents.tolist() == [1.0, 2.0, 3.0]
