# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays of the sensors of a model: what is measured, where, and the readings.

Stages of sensors have arenas of their own and reach those of the trees, of constraint rows, of contacts, and
of the shapes that rays and distances see through the addresses at the front of `args`. Rows of a table are
primitives: a sensor is one of them or several, so an inertial unit is an acceleration and an angular
velocity, and a ring of range finders as many rays. The first column of a row is where it writes in `reading`.
"""

from __future__ import annotations

from worldline._src.scalar.columns import Column, Table

# addresses at the front of args: arenas of the trees, of rows, of contacts, of what rays see, of solids
TREE_M, TREE_C, TREE_D = range(3)
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

SIZES = (
    "nreading",
    "nframe",
    "npose",
    "nvelocity",
    "nacceleration",
    "nstate",
    "nsubtree",
    "nmember",
    "neffort",
    "nsum",
    "nlimit",
    "nenergy",
    "nforce",
    "nlink",
    "nshape",
    "ntouch",
    "ncontact",
    "nfound",
    "nbelow",
    "nray",
    "nseen",
    "ndistance",
    "nclip",
)

COLUMNS = (
    Column("link", "args", (LINKS,), "Addresses of the other arenas; first in its arena."),
    Column("reading", "d", ("nreading",), "Readings of all sensors, SI units, quaternions xyzw."),
    Column("time", "d", (1,), "Simulated time [s]."),
    # frames that sensors refer to
    Column("frame_link", "m", ("nframe",), "Kernel link, 0 for the world."),
    Column("frame_pose", "c", ("nframe", 12), "Position and rotation matrix in the link."),
    Column("frame_X", "d", ("nframe", 12), "Position and rotation matrix in the world."),
    Column("frame_V", "d", ("nframe", 6), "Angular velocity, velocity of the origin, world axes."),
    Column("frame_A", "d", ("nframe", 6), "Angular acceleration, acceleration of the origin, world axes."),
    # positions, rotations and what follows from them
    Column("pose_row", "m", ("npose", 5), "At, quantity, frame, other frame or -1, kind of volume."),
    Column("pose_number", "c", ("npose", 6), "Field (3); half sizes (3); or focal lengths, centre [pixels]."),
    Column("velocity_row", "m", ("nvelocity", 5), "At, quantity, frame, axes, other frame or -1."),
    Column("acceleration_row", "m", ("nacceleration", 4), "At, quantity, frame, axes."),
    # numbers of the state
    Column("state_row", "m", ("nstate", 3), "At, quantity, coordinate or velocity."),
    # subtrees: links are listed
    Column("subtree_row", "m", ("nsubtree", 4), "At, quantity, first and end in `member`."),
    Column("member", "m", ("nmember",), "Kernel links of subtrees, one after the other."),
    # actuators, tendons, limits, energies
    Column("effort_row", "m", ("neffort", 3), "At, quantity, index."),
    Column("effort_sum", "m", ("nsum", 2), "At, actuator whose force is added there."),
    Column("limit_row", "m", ("nlimit", 4), "At, quantity, OF_LIMIT or OF_TENDON, limit or tendon."),
    Column("energy_row", "m", ("nenergy", 2), "At, quantity."),
    # forces between a body and its parent
    Column("force_row", "m", ("nforce", 5), "At, quantity, frame, first and end in `member`."),
    Column(
        "link_weight_share", "c", ("nlink",), "Share of its weight that acts: 1 less what is compensated."
    ),
    Column("link_demand", "d", ("nlink", 9), "Force, torque about the centre of mass, centre of mass."),
    # touch and contacts
    Column("shape_hard", "m", ("nshape",), "1 for shapes of the collision tables whose contact law is hard."),
    Column("shape_row", "m", ("nshape",), "Row of `Model.shapes` of a shape of the collision tables."),
    Column("touch_row", "m", ("ntouch", 4), "At, frame, body, kind of volume."),
    Column("touch_size", "c", ("ntouch", 3), "Half sizes of the volume [m]."),
    Column(
        "found_row", "m", ("nfound", 14), "At, end, most, reduce, report, 7 numbers of a match, frame, kind."
    ),
    Column("found_size", "c", ("nfound", 3), "Half sizes of the volume [m]."),
    Column(
        "below", "m", ("nfound", "nbelow"), "Bits: 1 for bodies below the first subtree, 2 below the second."
    ),
    Column("found_order", "args", ("ncontact",), "Scratch: contacts that match."),
    Column("found_key", "d", ("ncontact",), "Scratch: by what they are ordered."),
    Column("found_net", "d", (16,), "Scratch: the sum of contacts."),
    # rays
    Column("ray_row", "m", ("nray", 3), "At, frame, body of the collision tables whose shapes are not seen."),
    Column("ray_direction", "c", ("nray", 3), "Unit vector in the frame."),
    Column(
        "seen_bound", "c", ("nseen", 3), "Half sizes of a plane, 0 for none; radius about its origin [m]."
    ),
    # distances of two sets of shapes
    Column("distance_row", "m", ("ndistance", 4), "At, quantity, first and end of its rows of `closest`."),
    Column("distance_reach", "c", ("ndistance",), "Beyond this there is nothing [m]."),
    # cut-offs
    Column("clip_row", "m", ("nclip", 2), "First and end in `reading`."),
    Column("clip_size", "c", ("nclip",), "Largest size."),
)

TABLE = Table(SIZES, COLUMNS)

FrameView, frame_view = TABLE.view("FrameView", "frame_link", "frame_pose", "frame_X", "frame_V", "frame_A")
PoseRowView, pose_row_view = TABLE.view("PoseRowView", "pose_row", "pose_number")
RateRowView, rate_row_view = TABLE.view("RateRowView", "velocity_row", "acceleration_row")
StateRowView, state_row_view = TABLE.view("StateRowView", "state_row", "time")
SubtreeRowView, subtree_row_view = TABLE.view("SubtreeRowView", "subtree_row", "member")
EffortRowView, effort_row_view = TABLE.view(
    "EffortRowView", "effort_row", "effort_sum", "limit_row", "energy_row"
)
ForceRowView, force_row_view = TABLE.view(
    "ForceRowView", "force_row", "member", "link_weight_share", "link_demand"
)
TouchRowView, touch_row_view = TABLE.view("TouchRowView", "touch_row", "touch_size")
FoundRowView, found_row_view = TABLE.view(
    "FoundRowView",
    "shape_hard",
    "shape_row",
    "found_row",
    "found_size",
    "below",
    "found_order",
    "found_key",
    "found_net",
)
RayRowView, ray_row_view = TABLE.view("RayRowView", "ray_row", "ray_direction", "seen_bound")
DistanceRowView, distance_row_view = TABLE.view("DistanceRowView", "distance_row", "distance_reach")
ReadingView, reading_view = TABLE.view("ReadingView", "reading", "clip_row", "clip_size")
