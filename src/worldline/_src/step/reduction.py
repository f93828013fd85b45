# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Reduced models by freezing joints at values; `model/freezing.py` does the work on the records."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from worldline._src.errors import ArgumentError, listed
from worldline._src.model.builder import ModelBuilder
from worldline._src.model.freezing import chosen_joints, frozen
from worldline._src.spatial.poses import VectorLike
from worldline._src.step.dynamics import forward_kinematics


def freeze_joints(
    builder: ModelBuilder, joints: Iterable[int | str], q: VectorLike | None = None
) -> ModelBuilder:
    """A copy of a builder in which joints are welded at values: the way to a reduced model.

    Links, shapes and labels stay; coordinates and degrees of freedom of the joints are gone, and with them
    their drives, springs and armature. The rest is numbered on without gaps.

    Args:
        builder: what is copied; it does not change.
        joints: indices or labels.
        q: coordinates of all joints of the builder, of which those of `joints` count; its initial
            coordinates when None.

    Example:
        >>> from worldline.model import ModelBuilder, freeze_joints, mass_matrix
        >>> builder = ModelBuilder()
        >>> upper = builder.add_link(mass=1.0)
        >>> lower = builder.add_link(mass=2.0, com=(1, 0, 0), inertia=[[0.0] * 3] * 3)
        >>> shoulder = builder.add_joint_revolute(-1, upper, axis=(0, 0, 1), armature=1.0)
        >>> elbow = builder.add_joint_prismatic(upper, lower, axis=(1, 0, 0), label="elbow")
        >>> _ = builder.add_articulation([shoulder, elbow])
        >>> reduced = freeze_joints(builder, ["elbow"], [0.0, 0.5]).finalize()
        >>> mass_matrix(reduced, [0.0]).round(6).tolist()  # 1 + 2 (0.5 + 1)^2
        [[5.5]]
    """
    if not isinstance(builder, ModelBuilder):
        raise ArgumentError(f"freeze_joints takes a ModelBuilder, got {builder!r}")
    chosen = chosen_joints(builder, listed(joints, "joints of freeze_joints"))
    made = ModelBuilder(gravity=builder.gravity)
    # kinematics of one world serve all
    whole = ModelBuilder(gravity=builder.gravity)
    frozen(builder, [], whole, np.zeros((0, 7)))
    whole.world_count = 1
    model = whole.finalize()
    poses = forward_kinematics(model, model.joint_q if q is None else q)
    if poses.ndim != 2:
        raise ArgumentError(f"q must have shape ({model.joint_coord_count},), got one for several worlds")
    frozen(builder, chosen, made, poses)
    return made
