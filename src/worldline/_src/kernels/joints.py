# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How joints move: the codes the kernels branch on.

Every joint is one of four kinds. `AXES` covers revolute, prismatic, screw, universal, planar, euler,
translational, D6 and cable joints: a sequence of axes, each carried by those before it, slides first.
`BALL` and `FREE` store an orientation as a quaternion; a `DISTANCE` joint moves like `FREE`.

Each velocity has one column S of the joint's motion. Columns of an axis sequence are carried by the
axes before them. The three angular columns of `BALL` and `FREE` belong to the body itself and move
together; `dof_block` is 1 at a column whose carrier includes everything before it, so the recursion of
velocities needs no joint types.
"""

from __future__ import annotations

FIXED = 0
AXES = 1
BALL = 2
FREE = 3

TURN = 0
SLIDE = 1
SCREW = 2
ANGULAR = 3
"""A column of the orientation block of BALL and FREE."""
LINEAR = 4
"""A column of the translation block of FREE."""
