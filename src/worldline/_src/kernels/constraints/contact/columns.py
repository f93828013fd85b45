# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: contacts: parameters of shapes and pairs, contacts of the last step, axes in rows."""

from __future__ import annotations

from worldline._src.kernels.constraints.numbering import LAW
from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, index, integers, numbers


class ShapeLawView(Columns):
    """Contact parameters of shapes and of explicit pairs."""

    shape_priority: Integers = index("nshape", doc="The higher decides for both.")
    shape_condim: Integers = index("nshape", doc="1, 3, 4 or 6 directions of force.")
    shape_rule: Integers = index("nshape", 2, doc="How friction and restitution combine; see CombineKind.")
    shape_friction: Numbers = constant("nshape", 3, doc="Sliding, spinning [m], rolling [m].", own=True)
    shape_law: Numbers = constant("nshape", LAW, doc="Law of contact.")
    shape_contact: Numbers = constant("nshape", 4, doc="margin [m], gap [m], mixing weight, restitution.")
    pair_key: Integers = index("npair", doc="Lower shape times the number of shapes plus the higher.")
    pair_condim: Integers = index("npair", doc="1, 3, 4 or 6 directions of force.")
    pair_friction: Numbers = constant("npair", 5, doc="Two sliding, spinning [m], two rolling [m].", own=True)
    pair_law: Numbers = constant("npair", LAW, doc="Law of contact,")
    pair_friction_law: Numbers = constant("npair", LAW, doc="and along the other directions of a cone.")
    pair_margin: Numbers = constant("npair", doc="Distance below which it pushes [m].")


class WeightView(Columns):
    """Inverse inertias at rest, and options."""

    body_link: Integers = index(
        "nbody", doc="Kernel link of a body of the collision tables; 0 for the world."
    )
    body_invweight: Numbers = constant(
        "nbody", 2, doc="Inverse inertia at rest, of translation and rotation.", own=True
    )
    dof_invweight: Numbers = constant("nv", doc="Inverse inertia of a degree of freedom at rest.", own=True)
    option: Numbers


class ContactMemoryView(Columns):
    """Contacts of the last step, for persistent contacts."""

    last_id: Integers = integers("ncontact", 4, doc="Shapes and feature in the last step, 1 if touching.")
    contact_match: Integers = integers("ncontact", doc="Index of the same contact in the last step, or -1.")
    bucket: Integers = integers("nbucket", doc="Hash table; see contact/matching.py.")
    contact_force: Numbers = numbers("ncontact", 6, doc="Force and torque on the second body in its axes.")
    last_force: Numbers = numbers("ncontact", 6, doc="Forces of contacts of the last step.")
    last_point: Numbers = numbers("ncontact", 3, doc="Their positions, world frame.")
    counter: Integers


class ContactFrameView(Columns):
    """Contacts in rows: axes, friction, corrections."""

    contact_row: Integers = integers(
        "ncontact", 2, doc="First row of a contact in its island and its condim."
    )
    base: Numbers = numbers(6, "width", doc="Jacobian of one contact in its frame.")
    frame: Numbers = numbers("ncontact", 9, doc="Axes of contacts in rows, normal first.")
    de_saxce: Numbers = numbers(
        "ncontact", doc="De Saxce correction of Coulomb's law, or -1; see contact/coulomb.py."
    )
    de_saxce_error: Numbers = numbers("ncontact", doc="Error of the last solve, with what R takes off.")
    position_missed: Numbers = numbers(
        "ncontact", doc="What R takes off in the position pass of an island that stays locked [m/s^2]."
    )
    bounce: Numbers = numbers(
        "ncontact", doc="What restitution adds to the wanted speed [m/s]; -1 if not hard."
    )
    mu: Numbers = numbers("ncontact", 6, doc="Friction: two sliding, spin, two rolling; speed of correction.")
    counter: Integers


class ContactColumns(ShapeLawView, WeightView, ContactMemoryView, ContactFrameView):
    """Contacts: parameters of shapes and pairs, contacts of the last step, axes in rows."""
