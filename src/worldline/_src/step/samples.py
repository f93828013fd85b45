# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small robots for the demo, the benchmarks and the tests; all numbers made up."""

from __future__ import annotations

import numpy as np

from worldline._src.model.builder import ModelBuilder
from worldline._src.model.model import Model

_LIMB = np.diag([0.01, 0.012, 0.008])


def chain(n: int, *, length: float = 0.3) -> Model:
    """A hanging chain of `n` hinges with axes x, y, z in turn."""
    builder = ModelBuilder()
    parent, joints = -1, []
    for i in range(n):
        link = builder.add_link(mass=1.0, com=(0.0, 0.01, -0.5 * length), inertia=_LIMB, label=f"link{i}")
        anchor = (0.0, 0.0, -length if i else 0.0, 0.0, 0.0, 0.0, 1.0)
        joints.append(
            builder.add_joint_revolute(parent, link, "xyz"[i % 3], parent_xform=anchor, label=f"joint{i}")
        )
        parent = link
    builder.add_articulation(joints, label="chain")
    return builder.finalize()


def humanoid() -> Model:
    """A floating tree of 38 links: pelvis, spine, head, two arms with hands, two legs."""
    builder = ModelBuilder()
    joints: list[int] = []

    def limb(parent: int, name: str, axes: str, step: tuple[float, float, float], mass: float) -> int:
        """A run of hinges, one per letter, each link `step` further than the last."""
        for k, axis in enumerate(axes):
            link = builder.add_link(
                mass=mass, com=0.5 * np.array(step), inertia=mass * _LIMB, label=f"{name}{k}"
            )
            offset = step if k else (0.3 * step[0], 0.3 * step[1] + 0.01, 0.3 * step[2])
            joints.append(
                builder.add_joint_revolute(
                    parent, link, axis, parent_xform=(*offset, 0.0, 0.0, 0.0, 1.0), label=f"{name}{k}_{axis}"
                )
            )
            parent = link
        return parent

    pelvis = builder.add_link((0, 0, 1, 0, 0, 0, 1), mass=8.0, inertia=8 * _LIMB, label="pelvis")
    joints.append(builder.add_joint_free(pelvis, label="root"))
    chest = limb(pelvis, "spine", "zyx", (0.0, 0.0, 0.12), 4.0)
    limb(chest, "head", "zy", (0.0, 0.0, 0.1), 1.5)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hand = limb(chest, f"{side}_arm", "xyzyzyx", (0.0, 0.12 * sign, -0.02), 1.2)
        limb(hand, f"{side}_thumb", "zy", (0.02, 0.03 * sign, 0.0), 0.1)
        limb(hand, f"{side}_finger", "xx", (0.0, 0.04 * sign, 0.0), 0.1)
        limb(pelvis, f"{side}_leg", "zxyyx", (0.0, 0.02 * sign, -0.2), 3.0)
    builder.add_articulation(joints, label="humanoid")
    return builder.finalize()
