# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: tendons: paths, lengths, moments, springs, limits."""

from __future__ import annotations

from worldline._src.kernels.constraints.numbering import LAW
from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, index, numbers


class TendonColumns(Columns):
    """Tendons: paths, lengths, moments, springs, limits."""

    tendon_path: Integers = index(
        "ntendon", 2, doc="Nodes of its path, first and end; none when it is fixed."
    )
    tendon_span: Integers = index("ntendon", 2, doc="First of its moments, and one past the last.")
    tendon_dof: Integers = index("nstretched", doc="Degree of freedom of a moment, ascending in a tendon.")
    tendon_coefficient: Numbers = constant("nstretched", doc="Length per coordinate of a fixed tendon.")
    tendon_bound: Numbers = constant("ntendon", 4, doc="Lower, upper, margin, inverse inertia at rest.")
    tendon_law: Numbers = constant("ntendon", LAW, doc="Law of the limit.")
    tendon_spring: Numbers = constant(
        "ntendon", 4, doc="Stiffness, damping, lengths between which it is at rest."
    )
    tendon_friction: Numbers = constant("ntendon", 4, doc="Largest force, damping, impedance, dmax.")
    tendon_armature: Numbers = constant("ntendon", doc="Inertia of its speed [kg].")
    node_kind: Integers = index("nnode", doc="0 anchor, 1 sphere, 2 cylinder, 3 pulley.")
    node_anchor: Integers = index("nnode", doc="Where it is.")
    node_side: Integers = index(
        "nnode", doc="Anchor on whose side the tendon passes, -1 for the shorter way."
    )
    node_number: Numbers = constant("nnode", doc="Radius [m], or divisor of a pulley.")
    tendon_moment: Numbers = numbers("nstretched", doc="Change of length by a degree of freedom.")
    tendon_size: Numbers = numbers("ntendon", 4, doc="Length, its rate, passive force, J' v.")
    dof_q: Integers
    dof_moment: Numbers
