# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small builders for the tests of the array layer: one joint, a robot of two links, a snapshot."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from worldline.model import JointDofConfig, ModelBuilder, State

TURN_90_Z = (0.0, 0.0, np.sin(np.pi / 4), np.cos(np.pi / 4))
BOX = np.diag([0.1, 0.2, 0.25])

# every joint type with plain axes: keywords, coordinates, linear and angular degrees of freedom
JOINTS: dict[str, tuple[dict[str, Any], int, int, int]] = {
    "revolute": ({"axis": "z"}, 1, 0, 1),
    "prismatic": ({"axis": "y"}, 1, 1, 0),
    "ball": ({}, 4, 0, 3),
    "fixed": ({}, 0, 0, 0),
    "free": ({}, 7, 3, 3),
    "distance": ({}, 7, 3, 3),
    "d6": (
        {
            "linear_axes": [JointDofConfig(axis="x"), JointDofConfig(axis="z")],
            "angular_axes": [JointDofConfig(axis="y")],
        },
        3,
        2,
        1,
    ),
    "cable": ({}, 2, 1, 1),
    "screw": ({"axis": "x", "pitch": -0.2}, 1, 0, 1),
    "universal": ({}, 2, 0, 2),
    "planar": ({}, 3, 2, 1),
    "euler": ({"order": "zyx"}, 3, 0, 3),
    "translational": ({}, 3, 3, 0),
}


def add_joint(builder: ModelBuilder, kind: str, parent: int, child: int, **options: Any) -> int:
    """A joint by the name of its type; a free joint takes its arguments in another order."""
    return getattr(builder, f"add_joint_{kind}")(parent=parent, child=child, **options)


def add_box(builder: ModelBuilder, **options: Any) -> int:
    """A link that can be moved by any joint."""
    return builder.add_link(**{"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": BOX} | options)


def single(kind: str, **options: Any) -> ModelBuilder:
    """One link on the world by one joint."""
    builder = ModelBuilder()
    link = add_box(builder)
    builder.add_articulation([add_joint(builder, kind, -1, link, **JOINTS[kind][0] | options)])
    return builder


def robot(root: str = "free", label: str = "robot") -> ModelBuilder:
    """A base on the world and a hand on the base by a hinge called elbow."""
    builder = ModelBuilder()
    base, hand = add_box(builder, label="base"), add_box(builder, label="hand")
    joints = [
        add_joint(builder, root, -1, base, label="root", **JOINTS[root][0]),
        builder.add_joint_revolute(base, hand, "z", parent_xform=(0.5, 0, 0, 0, 0, 0, 1), label="elbow"),
    ]
    builder.add_articulation(joints, label=label)
    return builder


def everything(builder: ModelBuilder) -> Any:
    """All a builder holds, to compare before and after a call that fails."""
    return copy.deepcopy(
        (
            [vars(link) for link in builder.links],
            [vars(joint) for joint in builder.joints],
            builder.articulations,
            builder._labels,
            builder.joint_q,
            builder.joint_qd,
            builder.joint_f,
            builder.world_count,
        )
    )


def same(a: Any, b: Any) -> bool:
    """Equality through nested lists, tuples, dicts and arrays."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def empty_state(model: Any, worlds: int, fill: float = 0.0) -> State:
    """A state with a world dimension whatever the model, all numbers `fill`."""
    return State(
        joint_q=np.full((worlds, model.joint_coord_count), fill),
        joint_qd=np.full((worlds, model.joint_dof_count), fill),
        body_q=np.full((worlds, model.body_count, 7), fill),
        body_qd=np.full((worlds, model.body_count, 6), fill),
        body_f=np.full((worlds, model.body_count, 6), fill),
    )


def refuses(builder, call, *words):
    """The call raises a ValueError with these words and leaves the builder as it was."""
    before = everything(builder)
    with pytest.raises(ValueError) as caught:
        call()
    assert same(everything(builder), before)
    for word in words:
        assert word in str(caught.value), caught.value
