# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: anchors, springs between them, and the drag of the fluid."""

from __future__ import annotations

from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, index, integers, numbers


class SpringView(Columns):
    """Springs between anchors."""

    spring_end: Integers = index("nspring", 2, doc="Anchors.")
    spring_number: Numbers = constant(
        "nspring", 3, doc="Length at rest [m], stiffness [N/m], damping [N s/m]."
    )
    spring_on: Integers = integers("nspring", doc="1 when active.")
    spring_force: Numbers = numbers("nspring", doc="Forces of springs between anchors [N].")


class FluidView(Columns):
    """Drag of the fluid."""

    fluid_option: Numbers = constant(5, doc="Density, viscosity, wind.")
    fluid_box: Numbers = constant("nbox", 12, doc="Widths of the box of a link and its axes.")
    fluid_force: Numbers = numbers("nbox", 6, doc="Force at the centre of mass and torque of the fluid.")


class AnchorPoseView(Columns):
    """Anchors in their links and in the world."""

    anchor_link: Integers = index("nanchor", doc="Kernel link, 0 for the world.")
    anchor_pose: Numbers = constant("nanchor", 12, doc="Position and rotation matrix in the link.")
    anchor_X: Numbers = numbers("nanchor", 12, doc="Position and rotation matrix of anchors in the world.")


class ForceElementColumns(SpringView, FluidView, AnchorPoseView):
    """Anchors, springs between them, and the drag of the fluid."""
