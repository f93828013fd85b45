# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays of the sensors of a model: what is measured, where, and the readings.

Stages of sensors have arenas of their own and reach those of the trees, of constraint rows, of contacts, and
of the shapes that rays and distances see through the addresses at the front of `args`. Rows of a table are
primitives: a sensor is one of them or several, so an inertial unit is an acceleration and an angular
velocity, and a ring of range finders as many rays. The first column of a row is where it writes in `reading`.
"""

from __future__ import annotations

from worldline._src.scalar.columns import (
    Columns,
    Integers,
    Numbers,
    Table,
    constant,
    index,
    integers,
    numbers,
)

# addresses at the front of args: arenas of the trees where those of rows have them, of rows, of contacts, of
# what rays see, of solids
ROW_M, ROW_C, ROW_ARGS, ROW_D = range(3, 7)
COLLISION_M, COLLISION_C, COLLISION_ARGS, COLLISION_D = range(7, 11)
SEEN_M, SEEN_C, SEEN_ARGS, SEEN_D = range(11, 15)
SOLID_M, SOLID_C, SOLID_ARGS, SOLID_D = range(15, 19)
LINKS = 24

# quantities of a pose row
POSITION, QUATERNION, X_AXIS, Y_AXIS, Z_AXIS, FIELD, INSIDE, PIXEL = range(8)
# quantities of velocity and acceleration rows
ANGULAR, LINEAR = range(2)
# axes that a vector is expressed in: the world's, those of the frame itself, or of the other frame of the row
WORLD_AXES, OWN_AXES, OTHER_AXES = range(3)
# quantities of a state row: a coordinate or a velocity is copied, a quaternion is normalized
COORDINATE, VELOCITY, UNIT_QUATERNION, TIME = range(4)
# quantities of a subtree row
CENTER, CENTER_VELOCITY, ANGULAR_MOMENTUM = range(3)
# quantities of an effort row: force, length and rate of an actuator, sum of actuators on a degree of freedom,
# length and rate of a tendon, sum of the actuators on a tendon
ACTUATOR_FORCE, ACTUATOR_LENGTH, ACTUATOR_RATE, DOF_FORCE, TENDON_LENGTH, TENDON_RATE, TENDON_FORCE = range(7)
# quantities of a limit row
LIMIT_DISTANCE, LIMIT_RATE, LIMIT_FORCE = range(3)
# quantities of an energy row
KINETIC, POTENTIAL = range(2)
# quantities of a force row
FORCE, TORQUE = range(2)
# quantities of a distance row
SEPARATION, NORMAL, SEGMENT = range(3)


class AddressColumns(Columns):
    """Addresses of the other arenas."""

    link: Integers = integers(LINKS, doc="Addresses of the other arenas; first in its arena.")


class FrameView(Columns):
    """Frames that sensors refer to."""

    frame_link: Integers = index("nframe", doc="Kernel link, 0 for the world.")
    frame_pose: Numbers = constant("nframe", 12, doc="Position and rotation matrix in the link.")
    frame_X: Numbers = numbers("nframe", 12, doc="Position and rotation matrix in the world.")
    frame_V: Numbers = numbers("nframe", 6, doc="Angular velocity, velocity of the origin, world axes.")
    frame_A: Numbers = numbers(
        "nframe", 6, doc="Angular acceleration, acceleration of the origin, world axes."
    )


class PoseRowView(Columns):
    """Quantities of poses."""

    pose_row: Integers = index("npose", 5, doc="At, quantity, frame, other frame or -1, kind of volume.")
    pose_number: Numbers = constant(
        "npose", 6, doc="Field (3); half sizes (3); or focal lengths, centre [pixels]."
    )


class RateRowView(Columns):
    """Quantities of velocities and accelerations."""

    velocity_row: Integers = index("nvelocity", 5, doc="At, quantity, frame, axes, other frame or -1.")
    acceleration_row: Integers = index("nacceleration", 4, doc="At, quantity, frame, axes.")


class StateRowView(Columns):
    """Quantities of the state."""

    time: Numbers = numbers(1, doc="Simulated time [s].")
    state_row: Integers = index("nstate", 3, doc="At, quantity, coordinate or velocity.")


class SubtreeRowView(Columns):
    """Quantities of subtrees."""

    subtree_row: Integers = index("nsubtree", 4, doc="At, quantity, first and end in `member`.")
    member: Integers = index("nmember", doc="Kernel links of subtrees, one after the other.")


class EffortRowView(Columns):
    """Quantities of actuators, tendons, limits and energies."""

    effort_row: Integers = index("neffort", 3, doc="At, quantity, index.")
    effort_sum: Integers = index("nsum", 2, doc="At, actuator whose force is added there.")
    limit_row: Integers = index("nlimit", 4, doc="At, quantity, OF_LIMIT or OF_TENDON, limit or tendon.")
    energy_row: Integers = index("nenergy", 2, doc="At, quantity.")


class ForceRowView(Columns):
    """Forces between bodies and their parents."""

    force_row: Integers = index("nforce", 5, doc="At, quantity, frame, first and end in `member`.")
    link_weight_share: Numbers = constant(
        "nlink", doc="Share of its weight that acts: 1 less what is compensated."
    )
    link_demand: Numbers = numbers("nlink", 9, doc="Force, torque about the centre of mass, centre of mass.")
    member: Integers


class TouchRowView(Columns):
    """Touch sensors."""

    touch_row: Integers = index("ntouch", 4, doc="At, frame, body, kind of volume.")
    touch_size: Numbers = constant("ntouch", 3, doc="Half sizes of the volume [m].")


class FoundRowView(Columns):
    """Contact sensors."""

    shape_hard: Integers = index(
        "nshape", doc="1 for shapes of the collision tables whose contact law is hard."
    )
    shape_row: Integers = index("nshape", doc="Row of `Model.shapes` of a shape of the collision tables.")
    found_row: Integers = index(
        "nfound", 14, doc="At, end, most, reduce, report, 7 numbers of a match, frame, kind."
    )
    found_size: Numbers = constant("nfound", 3, doc="Half sizes of the volume [m].")
    below: Integers = index(
        "nfound", "nbelow", doc="Bits: 1 for bodies below the first subtree, 2 below the second."
    )
    found_order: Integers = integers("ncontact", doc="Scratch: contacts that match.")
    found_key: Numbers = numbers("ncontact", doc="Scratch: by what they are ordered.")


class RayRowView(Columns):
    """Rays."""

    ray_row: Integers = index(
        "nray", 3, doc="At, frame, body of the collision tables whose shapes are not seen."
    )
    ray_direction: Numbers = constant("nray", 3, doc="Unit vector in the frame.")
    seen_bound: Numbers = constant(
        "nseen", 3, doc="Half sizes of a plane, 0 for none; radius about its origin [m]."
    )


class DistanceRowView(Columns):
    """Distances of sets of shapes."""

    distance_row: Integers = index(
        "ndistance", 4, doc="At, quantity, first and end of its rows of `closest`."
    )
    distance_reach: Numbers = constant("ndistance", doc="Beyond this there is nothing [m].")


class ReadingView(Columns):
    """Readings and their cut-offs."""

    reading: Numbers = numbers("nreading", doc="Readings of all sensors, SI units, quaternions xyzw.")
    clip_row: Integers = index("nclip", 2, doc="First and end in `reading`.")
    clip_size: Numbers = constant("nclip", doc="Largest size.")


class SensorColumns(
    AddressColumns,
    FrameView,
    PoseRowView,
    RateRowView,
    StateRowView,
    SubtreeRowView,
    EffortRowView,
    ForceRowView,
    TouchRowView,
    FoundRowView,
    RayRowView,
    DistanceRowView,
    ReadingView,
):
    """What is measured, where, and the readings."""


TABLE = Table(SensorColumns)


frame_view = TABLE.cut(FrameView)
pose_row_view = TABLE.cut(PoseRowView)
rate_row_view = TABLE.cut(RateRowView)
state_row_view = TABLE.cut(StateRowView)
subtree_row_view = TABLE.cut(SubtreeRowView)
effort_row_view = TABLE.cut(EffortRowView)
force_row_view = TABLE.cut(ForceRowView)
touch_row_view = TABLE.cut(TouchRowView)
found_row_view = TABLE.cut(FoundRowView)
ray_row_view = TABLE.cut(RayRowView)
distance_row_view = TABLE.cut(DistanceRowView)
reading_view = TABLE.cut(ReadingView)
