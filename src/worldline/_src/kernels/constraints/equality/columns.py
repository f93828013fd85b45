# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Columns and views: equalities, closures and joints between bodies."""

from __future__ import annotations

from worldline._src.kernels.constraints.numbering import LAW
from worldline._src.scalar.columns import Columns, Integers, Numbers, constant, index, integers, numbers


class EqualityColumns(Columns):
    """Equalities, closures and joints between bodies."""

    equality_kind: Integers = index("nequality", doc="See above.")
    equality_link: Integers = index("nequality", 2, doc="Kernel links of both anchors, 0 for the world.")
    equality_body: Integers = index("nequality", 2, doc="Their bodies, 0 for the world.")
    equality_first: Integers = index("nequality", doc="Anchor, degree of freedom or tendon that is held.")
    equality_second: Integers = index("nequality", doc="What it is held to; -1 for nothing.")
    equality_coordinate: Integers = index("nequality", 2, doc="Coordinates of JOINT.")
    equality_number: Numbers = constant(
        "nequality",
        13,
        doc="Polynomial (5), start of both, scale or distance, inverse inertia, bounds, break limits.",
    )
    equality_span: Integers = index("nequality", 2, doc="First and end of its numbers in equality_data.")
    equality_data: Numbers = constant("nequality_data", doc="Numbers of kinds that have many.")
    equality_motor: Integers = index("nequality", doc="What drives its coordinate; see `equality/rows.py`.")
    equality_effort: Numbers = constant(
        "nequality", 2, doc="Least and largest effort of its motor [N or N m]."
    )
    equality_passive: Numbers = constant("nequality", 3, doc="Stiffness, rest and damping of its coordinate.")
    equality_friction: Numbers = constant(
        "nequality", 4, doc="Dry friction of its coordinate, as friction_law."
    )
    equality_armature: Numbers = constant(
        "nequality", 2, doc="Inertia of its coordinate; with implicit damping."
    )
    equality_speed: Numbers = constant("nequality", 2, doc="Least and largest rate of its coordinate.")
    equality_law: Numbers = constant("nequality", LAW, doc="Its law.")
    equality_turn_law: Numbers = constant("nequality", LAW, doc="Law of its rows of rotation.")
    equality_on: Integers = integers("nequality", doc="1 when active.")
    equality_row: Integers = integers("nequality", doc="First of its rows among those of all, -1 without.")
    equality_axes: Numbers = numbers("nequality", 42, doc="Directions of up to six rows, each with its J' v.")
    equality_bound_axis: Numbers = numbers(1, 7, doc="Scratch: direction of a limit.")
    equality_wrench: Numbers = numbers(
        "nequality", 6, doc="Force and torque on the first anchor, world axes."
    )
    equality_command: Numbers = numbers("nequality", 3, doc="Commanded effort, velocity and acceleration.")
    equality_drive: Numbers = numbers("nequality", 2, doc="Effort of its motor: before rows, and all of it.")
    equality_spring: Numbers = numbers("nequality", 2, doc="Efforts of its spring and of its damper.")
    equality_break: Numbers = numbers(
        "nequality", 3, doc="Step in which it last broke, force and torque of it."
    )
