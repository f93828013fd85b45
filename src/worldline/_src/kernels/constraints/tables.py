# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays of the constraint part of a step: what may constrain, the rows of this step, and their solution.

Stages of this part have arenas of their own and reach those of the trees and of collision through the
addresses at the front of `args`. A law, one row of a `*_law` column, is the response of a constraint to being
violated: kind, stiffness, damping, d0, dmax, width, middle, power, direct, bounciness, erp.
"""

from __future__ import annotations

from worldline._src.kernels.constraints.equality_kinds import (  # noqa: F401 # for those that pack columns
    AXIS,
    DISTANCE,
    JOINT,
    PLANE,
    POINT,
    POSE,
    SCREW,
    SLIDE,
    TENDON,
    TURN,
    UNIVERSAL,
)
from worldline._src.scalar.columns import Column, Table

# addresses at the front of args, and 1 when arrays are too small for the step at hand; see room_stages.py
TREE_M, TREE_C, TREE_D, COLLISION_M, COLLISION_C, COLLISION_ARGS, COLLISION_D, SHORT = range(8)
LINKS = 8

# counters of a step: rows of the island at hand, most solver iterations, 1 when all islands converged,
# rows without room, contacts, limits that act, actuators at their bounds, islands, rows of all, islands
# without convergence, 1 when a step needs a position and a velocity pass
ROWS, ITERATIONS, CONVERGED, DROPPED, CONTACT_COUNT, ACTIVE_LIMITS, CLAMPED, ISLANDS = range(8)
ALL_ROWS, UNCONVERGED, IS_SPLIT = range(8, 11)
# the island at hand: ranges of its trees and contacts, and its number
TREE_FIRST, TREE_END, CONTACT_FIRST, CONTACT_END, ISLAND = range(11, 16)
# what lasts from step to step: stages that make the rows of an island, contacts of the last step
ROW_STAGES, LAST_COUNT = 16, 17
# the island at hand once more: whether contacts bounce, see below, rows of all and islands without
# convergence before it; then 1 when an island must not get as far as all of its restitution would take it
BOUNCED, ROWS_BEFORE, UNCONVERGED_BEFORE, RESTITUTION_LIMITED = range(18, 22)
# elements of the Jacobian and of square matrices that the largest dense island of a step needs
JACOBIAN_NEED, SQUARE_NEED = range(22, 24)
# islands that were solved by another method because the one asked for did not converge
SUBSTITUTED = 24
# islands by the method that solved them last: Newton's, impulses of free bodies, sweeps over rows, pivoting
BY_NEWTON, BY_IMPULSES, BY_SWEEPS, BY_PIVOTING = range(25, 29)
COUNTERS = 29

# stages called by address: the mass matrix, the solvers of rows, of free bodies, of a boxed problem, by
# sweeps over rows and by rows of two free bodies, then what makes rows; at the end what makes those of
# contacts, the bounds of energy and of restitution, sweeps against slip, and all of it once more
MASS_LINK, SOLVE_LINK, FREE_LINK, BOXED_LINK, SWEEP_LINK, BODY_ROW_LINK, FIRST_ROW_LINK = range(7)
PROGRAM = 24
CONTACT_LINK, ENERGY_LINK, RESTITUTION_LINK, SLIP_LINK, AGAIN_LINK = range(PROGRAM - 5, PROGRAM)

# options
STEP, RATIO, TOLERANCE, NEWTON_STEPS, LINE_TOLERANCE, LINE_STEPS, ELLIPTIC, SAFE, BOUNCE_SPEED = range(9)
# sequential impulses: islands of more columns than this, most sweeps, largest change of a velocity [m/s]
FREE_COLUMNS, SWEEPS, SPEED_TOLERANCE = range(9, 12)
# 1 for a boxed problem; sleeping: quiet time before it [s], force that wakes [N]; gravity, at least 1 [m/s^2]
BOXED, QUIET_TIME, DISTURBANCE, GRAVITY = range(12, 16)
SOLVE_PASS = 16  # see impacts.py
# sweeps against slip, and what a sweep must gain; see no_slip.py
SLIP_SWEEPS, SLIP_TOLERANCE = range(17, 19)
# share of restitution in the position pass of an island; recovery that stays in its velocity [m/s]
SHARE, RECOVERY_SPEED = range(19, 21)
CONTACT_ROWS = 21  # most rows of a contact
# largest residual of the islands of a step as a share of gravity, and the most of it that counts as solved
RESIDUAL, RESIDUAL_BOUND = range(22, 24)
# 1 where sequential impulses stand in for a method that fails; most Newton steps over all turns of an island
STANDS_IN, BUDGET = range(24, 26)
# 1 for sequential impulses whatever the size of an island; 1 to start every solve from zero; 1 where no other
# method stands in for the one asked for
SWEPT, COLD, STRICT = range(26, 29)
# how much faster than its thresholds a tree must be for its quiet time to begin anew
WAKE_SCALE = 29
# 1 where contacts of large islands of free bodies need rows; see body_rows.py
BODY_ROWS = 30
SWEEPS_STAND_IN = 31  # 1 where sweeps over rows stand in for Newton's method
OPTIONS = 32

# bits of BOUNCED: a contact bounces; position and velocity passes of a contact differ
BOUNCES, SPLIT = 1, 2

# laws
KIND, STIFFNESS, DAMPING, D0, DMAX, WIDTH, MIDDLE, POWER, DIRECT, BOUNCINESS, ERP = range(11)
LAW = 11
HARD, FORCE_SPRING, ACCELERATION_SPRING, IMPEDANCE = range(4)

# what a row belongs to
OF_EQUALITY, OF_FRICTION, OF_LIMIT, OF_CONTACT, OF_TENDON, OF_TENDON_FRICTION, OF_TENDON_INERTIA = range(7)
OF_MOTOR, OF_SPEED, OF_BOUND, OF_DRIVE, OF_DRIVE_SPEED, OF_JOINT_FRICTION, OF_JOINT_INERTIA = range(7, 14)

NUMBER, ANGLE, LENGTH = range(3)
"""What a limit bounds: a coordinate, the angle of a rotation, the distance of two anchors."""

# `ncolumn` and `width` are those of the island at hand, and a step writes what they are before it calls the
# stages of an island. What has a capacity is laid out for the largest island so far; see room_stages.py
SIZES = (
    "nv",
    "width",  # of the island at hand
    "nbody",
    "nshape",
    "npair",
    "nlimit",
    "ntendon",
    "nfriction",
    "nequality",
    "nequality_data",
    "nanchor",
    "nnode",
    "nmotor",
    "nspeed",
    "nspring",
    "nbox",
    "nrow",
    "ncontact",
    "nu",
    "nactuated",  # moments of all actuators,
    "nstretched",  # and of all tendons; a degree of freedom each
    "na",
    "ntree",
    "ntie",
    "tree_ends",
    "ncolumn",
    "nlink",
    "npgs",
    "npgs3",
    "nbucket",
    "nlcp",
    "nlcp2",
    "njacobian",  # elements laid out for Jacobian rows,
    "nsquare",  # for matrices of an island,
    "nslip",  # the same for sweeps against slip, 0 without them,
    "nslip2",
    "nsweep",  # rows of sweeps over rows, and elements of their K; 0 where another method solves,
    "nsweep2",
    "nblock",  # trees and contacts with blocks of matrices, 0 where no island has rows of two free bodies,
    "nbetween",
    "nmass",  # and for mass matrices of trees, 0 where no step needs them
    "nfixed",  # rows of a layout that is the same for all worlds, 0 where islands are found
    "nkept",
)

COLUMNS = (
    # shapes, in the order of the collision tables
    Column("shape_priority", "m", ("nshape",), "The higher decides for both."),
    Column("shape_condim", "m", ("nshape",), "1, 3, 4 or 6 directions of force."),
    Column("shape_rule", "m", ("nshape", 2), "How friction and restitution combine; see CombineKind."),
    Column("shape_friction", "c", ("nshape", 3), "Sliding, spinning [m], rolling [m].", own=True),
    Column("shape_law", "c", ("nshape", LAW), "Law of contact."),
    Column("shape_contact", "c", ("nshape", 4), "margin [m], gap [m], mixing weight, restitution."),
    # pairs of shapes with parameters of their own, sorted
    Column("pair_key", "m", ("npair",), "Lower shape times the number of shapes plus the higher."),
    Column("pair_condim", "m", ("npair",), "1, 3, 4 or 6 directions of force."),
    Column("pair_friction", "c", ("npair", 5), "Two sliding, spinning [m], two rolling [m].", own=True),
    Column("pair_law", "c", ("npair", LAW), "Law of contact,"),
    Column("pair_friction_law", "c", ("npair", LAW), "and along the other directions of a cone."),
    Column("pair_margin", "c", ("npair",), "Distance below which it pushes [m]."),
    # bodies with the world in front, and degrees of freedom
    Column("body_link", "m", ("nbody",), "Kernel link of a body of the collision tables; 0 for the world."),
    Column(
        "body_invweight", "c", ("nbody", 2), "Inverse inertia at rest, of translation and rotation.", own=True
    ),
    Column("dof_quiet", "c", ("nv",), "Speed below which a degree of freedom is quiet."),
    Column("dof_invweight", "c", ("nv",), "Inverse inertia of a degree of freedom at rest.", own=True),
    # trees and islands
    Column("tree_dof", "m", ("tree_ends",), "First degree of freedom of a tree; one past the last behind."),
    Column("tree_limit", "m", ("tree_ends",), "The same for limits,"),
    Column("tree_friction", "m", ("tree_ends",), "for dry friction,"),
    Column("tree_tendon", "m", ("tree_ends",), "for tendon_order,"),
    Column("tree_equality", "m", ("tree_ends",), "for equality_order,"),
    Column("tree_motor", "m", ("tree_ends",), "for motor_order,"),
    Column("tree_speed", "m", ("tree_ends",), "and for speed_order."),
    Column("tendon_order", "m", ("ntendon",), "Tendons by the first tree of theirs that is not prescribed,"),
    Column("equality_order", "m", ("nequality",), "equalities,"),
    Column("motor_order", "m", ("nmotor",), "motors,"),
    Column("speed_order", "m", ("nspeed",), "and speed limits."),
    Column("tree_links", "m", ("tree_ends",), "First link of a tree; one past the last behind."),
    Column("tree_mass_at", "m", ("ntree",), "Where the mass matrix of a tree begins in tree_mass."),
    Column("tree_link", "m", ("ntree",), "Link of a free body with no rows but contacts, else 0."),
    Column("body_tree", "m", ("nbody",), "Tree of a body, -1 for those that cannot move."),
    Column("tie", "m", ("ntie", 2), "Trees that rows may tie together."),
    # limits
    Column("limit_dof", "m", ("nlimit",), "Degree of freedom, the first of three for angles and distances."),
    Column("limit_q", "m", ("nlimit",), "Coordinate, the first of a quaternion or position."),
    Column("limit_kind", "m", ("nlimit",), "NUMBER, ANGLE or LENGTH."),
    Column("limit_bound", "c", ("nlimit", 4), "Lower, upper, margin, speed of recovery.", own=True),
    Column("limit_law", "c", ("nlimit", LAW), "Law of the limit."),
    # tendons, fixed ones first
    Column("tendon_path", "m", ("ntendon", 2), "Nodes of its path, first and end; none when it is fixed."),
    Column("tendon_span", "m", ("ntendon", 2), "First of its moments, and one past the last."),
    Column("tendon_dof", "m", ("nstretched",), "Degree of freedom of a moment, ascending in a tendon."),
    Column("tendon_coefficient", "c", ("nstretched",), "Length per coordinate of a fixed tendon."),
    Column("tendon_bound", "c", ("ntendon", 4), "Lower, upper, margin, inverse inertia at rest."),
    Column("tendon_law", "c", ("ntendon", LAW), "Law of the limit."),
    Column("tendon_spring", "c", ("ntendon", 4), "Stiffness, damping, lengths between which it is at rest."),
    Column("tendon_friction", "c", ("ntendon", 4), "Largest force, damping, impedance, dmax."),
    Column("tendon_armature", "c", ("ntendon",), "Inertia of its speed [kg]."),
    Column("tendon_force_range", "c", ("ntendon", 2), "Bounds of the sum of actuator forces."),
    Column("node_kind", "m", ("nnode",), "0 anchor, 1 sphere, 2 cylinder, 3 pulley."),
    Column("node_anchor", "m", ("nnode",), "Where it is."),
    Column("node_side", "m", ("nnode",), "Anchor on whose side the tendon passes, -1 for the shorter way."),
    Column("node_number", "c", ("nnode",), "Radius [m], or divisor of a pulley."),
    # dry friction of joints
    Column("friction_dof", "m", ("nfriction",), "Degree of freedom."),
    Column("friction_law", "c", ("nfriction", 4), "Largest force, damping, impedance, dmax."),
    # motors and speed limits
    Column("motor_kind", "m", ("nmotor",), "0 servo, 1 mimic."),
    Column("motor_dof", "m", ("nmotor", 2), "Degree of freedom, and the one that leads."),
    Column("motor_q", "m", ("nmotor", 2), "Their coordinates."),
    Column("motor_number", "c", ("nmotor", 2), "Multiplier and offset of a mimic motor."),
    Column("motor_law", "c", ("nmotor", LAW), "Law of a mimic motor."),
    Column("speed_dof", "m", ("nspeed",), "Degree of freedom with a speed limit."),
    # springs between anchors, and the fluid
    Column("spring_end", "m", ("nspring", 2), "Anchors."),
    Column("spring_number", "c", ("nspring", 3), "Length at rest [m], stiffness [N/m], damping [N s/m]."),
    Column("fluid_option", "c", (5,), "Density, viscosity, wind."),
    Column("fluid_box", "c", ("nbox", 12), "Widths of the box of a link and its axes."),
    # equalities
    Column("equality_kind", "m", ("nequality",), "See above."),
    Column("equality_link", "m", ("nequality", 2), "Kernel links of both anchors, 0 for the world."),
    Column("equality_body", "m", ("nequality", 2), "Their bodies, 0 for the world."),
    Column("equality_first", "m", ("nequality",), "Anchor, degree of freedom or tendon that is held."),
    Column("equality_second", "m", ("nequality",), "What it is held to; -1 for nothing."),
    Column("equality_coordinate", "m", ("nequality", 2), "Coordinates of JOINT."),
    Column(
        "equality_number",
        "c",
        ("nequality", 13),
        "Polynomial (5), start of both, scale or distance, inverse inertia, bounds, break force and torque.",
    ),
    Column("equality_span", "m", ("nequality", 2), "First and end of its numbers in equality_data."),
    Column("equality_data", "c", ("nequality_data",), "Numbers of kinds that have many."),
    Column("equality_motor", "m", ("nequality",), "What drives its coordinate; see `equality_rows.py`."),
    Column("equality_effort", "c", ("nequality", 2), "Least and largest effort of its motor [N or N m]."),
    Column("equality_passive", "c", ("nequality", 3), "Stiffness, rest and damping of its coordinate."),
    Column("equality_friction", "c", ("nequality", 4), "Dry friction of its coordinate, as friction_law."),
    Column("equality_armature", "c", ("nequality", 2), "Inertia of its coordinate; with implicit damping."),
    Column("equality_speed", "c", ("nequality", 2), "Least and largest rate of its coordinate."),
    Column("equality_law", "c", ("nequality", LAW), "Its law."),
    Column("equality_turn_law", "c", ("nequality", LAW), "Law of its rows of rotation."),
    # anchors: frames fixed to links
    Column("anchor_link", "m", ("nanchor",), "Kernel link, 0 for the world."),
    Column("anchor_pose", "c", ("nanchor", 12), "Position and rotation matrix in the link."),
    # actuators
    Column(
        "act_kind",
        "m",
        ("nu", 8),
        "Gain, bias, activation, its first index or -1, early, activations, has an integral, has a setpoint.",
    ),
    Column("act_span", "m", ("nu", 2), "First of its moments, and one past the last; empty when off."),
    Column("act_dof", "m", ("nactuated",), "Degree of freedom of a moment, ascending in an actuator."),
    Column("act_hold", "m", ("nu", 4), "Transmission; what it holds (2); 1 for axes of the parent."),
    Column("act_tendon", "m", ("nu",), "Tendon whose bounds of force count, or -1."),
    Column("act_gear", "c", ("nu", 7), "Gear (6), length of the rod of a slider-crank.", own=True),
    Column("dof_q", "m", ("nv",), "Coordinate of a degree of freedom that is a number, else -1."),
    Column(
        "act_number",
        "c",
        ("nu", 38),
        "gain (10), bias (10), dynamics (10), ranges of control, force, activation, length.",
    ),
    Column("dof_force_range", "c", ("nv", 2), "Bounds of the sum of actuator forces.", own=True),
    Column("dof_gravcomp", "m", ("nv",), "1 where gravity compensation is an actuator force."),
    # options and what changes
    Column("option", "c", (OPTIONS,), "See above."),
    Column("link", "args", (LINKS,), "Addresses of the other arenas."),
    Column("counter", "args", (COUNTERS,), "See above."),
    # islands
    Column("tree_prescribed", "args", ("ntree",), "1 when all of its motion is prescribed."),
    Column("tree_rows", "args", ("ntree",), "Most rows of a tree without those of contacts."),
    Column("tree_above", "args", ("ntree",), "Scratch of finding islands."),
    Column("tree_island", "args", ("ntree",), "Island of a tree; negative when its motion is prescribed."),
    Column("island_tree", "args", ("ntree",), "Trees sorted by island."),
    Column("island_trees", "args", ("tree_ends",), "Where an island starts there."),
    Column("island_contacts", "args", ("tree_ends",), "Where an island starts in contact_order."),
    Column("contact_order", "args", ("ncontact",), "Contacts sorted by island."),
    Column("dof_column", "args", ("nv",), "Column of a degree of freedom in the island at hand."),
    Column("column_dof", "args", ("nv",), "Degree of freedom of a column."),
    Column("program", "args", (PROGRAM,), "Addresses of stages."),
    Column("tree_group", "args", ("ntree",), "With whom a tree fell asleep; -1 when awake."),
    Column("lcp_findex", "args", ("nlcp",), "Normal row of a friction row; see boxed.py."),
    Column("lcp_state", "args", ("nlcp",), "Where a row stands."),
    # contacts across steps
    Column("last_id", "args", ("ncontact", 4), "Shapes and feature in the last step, 1 if touching."),
    Column("contact_match", "args", ("ncontact",), "Index of the same contact in the last step, or -1."),
    Column("bucket", "args", ("nbucket",), "Hash table; see matching.py."),
    # sequential impulses; see body_pgs.py
    Column("pgs_a", "args", ("npgs",), "First body."),
    Column("pgs_b", "args", ("npgs",), "Second body."),
    # rows
    Column("kind", "args", ("nrow",), "Kind of row."),
    Column("dim", "args", ("nrow",), "Rows of the cone that starts here."),
    Column("changed", "args", ("nrow",), "Scratch of the solver."),
    Column("row_first", "args", ("nrow",), "Scratch of the solver."),
    Column("row_end", "args", ("nrow",), "Scratch of the solver."),
    Column("M_first", "args", ("width",), "Scratch of the solver."),
    Column("M_end", "args", ("width",), "Scratch of the solver."),
    Column("H_first", "args", ("width",), "Scratch of the solver."),
    Column("L_first", "args", ("width",), "Scratch of the solver."),
    Column("row_note", "args", ("nrow", 2), "The same for the island at hand."),
    Column("row_of", "args", ("nrow", 2), "What it belongs to, see above, and which. All islands."),
    Column("motor_on", "args", ("nmotor",), "1 when active."),
    Column("spring_on", "args", ("nspring",), "1 when active."),
    Column("equality_on", "args", ("nequality",), "1 when active."),
    Column("equality_row", "args", ("nequality",), "First of its rows among those of all, -1 without."),
    Column("contact_row", "args", ("ncontact", 2), "First row of a contact in its island and its condim."),
    Column("control", "d", ("nu",), "Controls."),
    Column("activation", "d", ("na",), "Activation states."),
    Column("activation_rate", "d", ("na",), "Their rates."),
    Column("activation_start", "d", ("na",), "Activation states at the start of a Runge-Kutta step,"),
    Column("activation_sum", "d", ("na",), "and the weighted sum of their rates in it."),
    Column("act_moment", "d", ("nactuated",), "Change of length by a degree of freedom."),
    Column("dof_moment", "d", ("nv",), "Scratch: moments of one tendon or actuator; zero between uses."),
    Column("tendon_sum", "d", ("ntendon",), "Sum of actuator forces on a tendon."),
    Column("act_force", "d", ("nu",), "Forces of the actuators."),
    Column("act_size", "d", ("nu", 3), "Length, its rate, and that of the start of a Runge-Kutta step."),
    Column(
        "act_damping", "d", ("nu",), "What a force loses by its rate, where steps take that at their end."
    ),
    Column("act_blend", "d", ("nu", 2), "How much of its rate an activation takes in a step; the step [s]."),
    Column("act_sum", "d", ("nv",), "Sum of actuator forces on a degree of freedom, within its bounds."),
    Column("act_gravcomp", "d", ("nv",), "Gravity compensation where it is an actuator force."),
    Column("tendon_moment", "d", ("nstretched",), "Change of length by a degree of freedom."),
    Column("tendon_size", "d", ("ntendon", 4), "Length, its rate, passive force, J' v."),
    Column("fluid_force", "d", ("nbox", 6), "Force at the centre of mass and torque of the fluid."),
    Column("spring_force", "d", ("nspring",), "Forces of springs between anchors [N]."),
    Column("anchor_X", "d", ("nanchor", 12), "Position and rotation matrix of anchors in the world."),
    Column("equality_axes", "d", ("nequality", 42), "Directions of up to six rows, each with its J' v."),
    Column("equality_bound_axis", "d", (1, 7), "Scratch: direction of a limit."),
    Column("equality_wrench", "d", ("nequality", 6), "Force and torque on the first anchor, world axes."),
    Column("equality_command", "d", ("nequality", 3), "Commanded effort, velocity and acceleration."),
    Column("equality_drive", "d", ("nequality", 2), "Effort of its motor: before rows, and all of it."),
    Column("equality_spring", "d", ("nequality", 2), "Efforts of its spring and of its damper."),
    Column("equality_break", "d", ("nequality", 3), "Step in which it last broke, force and torque of it."),
    Column("J", "d", ("nrow", "width"), "Jacobian rows.", "njacobian"),
    Column("aref", "d", ("nrow",), "Reference accelerations."),
    Column("D", "d", ("nrow",), "Inverse regularizers."),
    Column("bound", "d", ("nrow",), "Largest friction force, or coefficients of a cone."),
    Column("row_residual", "d", ("nrow",), "Distance or error of a row."),
    Column("row_active", "d", ("nrow",), "1 in worlds where the row counts; what lanes differ in."),
    Column("row_force", "d", ("nrow",), "Solution."),
    Column("row_impact", "d", ("nrow",), "Speeds wanted and before the impact of hard contacts, added."),
    Column("tree_share", "d", ("ntree",), "Share of restitution that the speed of a tree has."),
    Column(
        "tree_recovery", "d", ("ntree",), "Penetration recovery that stays in the velocity of a tree [m/s]."
    ),
    Column("tree_label", "d", ("ntree",), "Lowest tree of its island; see fixed_restitution.py."),
    Column("bounce_force", "d", ("nrow",), "Forces of rows with all restitution,"),
    Column("bounce_speed", "d", ("nrow",), "twice the mean speeds of the impact,"),
    Column("bounce_a", "d", ("ncolumn",), "and accelerations; see restitution.py."),
    Column("M", "d", ("ncolumn", "width"), "Mass matrix, padded.", "nsquare"),
    Column("tree_mass", "d", ("nmass",), "Mass matrices of trees, one after the other."),
    Column("tree_block", "d", ("nblock", 144), "Matrices of free bodies; see body_blocks.py."),
    Column("contact_block", "d", ("nbetween", 36), "Blocks of the Hessian between two bodies."),
    Column("island_v", "d", ("ncolumn",), "Velocities by columns."),
    Column("island_smooth", "d", ("ncolumn",), "Accelerations without rows."),
    Column("island_a", "d", ("ncolumn",), "The guess, then the solution."),
    Column("a_last", "d", ("nv",), "Accelerations of the step before."),
    Column("a_smooth", "d", ("nv",), "Accelerations without rows,"),
    Column(
        "correction", "d", ("nv",), "and how the rate of displacement of a step differs from its velocity."
    ),
    Column("residual", "d", ("nrow",), "Distance or error of rows, all islands."),
    Column("force", "d", ("nrow",), "Forces of rows, all islands."),
    Column("missed", "d", ("nrow",), "Acceleration that regularizers take off what rows want, all islands."),
    Column("contact_force", "d", ("ncontact", 6), "Force and torque on the second body in its axes."),
    Column("qfrc", "d", ("nv",), "Generalized constraint force."),
    Column("H", "d", ("width", "width"), "Scratch of the solver.", "nsquare"),
    Column("L", "d", ("width", "width"), "Scratch of the solver.", "nsquare"),
    Column("vectors", "d", (8, "width"), "Scratch of the solver."),
    Column("cone_J", "d", (6, "width"), "Scratch of the solver."),
    Column("cone_C", "d", (6, 6), "Scratch of the solver."),
    Column("slack", "d", (5, "nrow"), "Scratch of the solver."),
    Column("base", "d", (6, "width"), "Jacobian of one contact in its frame."),
    Column("slip_B", "d", ("nrow", "width"), "M^-1 J^T of sweeps against slip,", "nslip"),
    Column("slip_L", "d", ("ncolumn", "width"), "the factor of M,", "nslip2"),
    Column("slip_work", "d", (13, 5), "and scratch of a cone."),
    Column(
        "sweep_K", "d", ("nrow", "width"), "Accelerations by unit forces of rows; see row_pgs.py.", "nsweep2"
    ),
    Column("sweep_dual", "d", (3, "nsweep"), "Regularizer, diagonal of the matrix, step."),
    Column("sweep_block", "d", ("nsweep", 6), "Blocks of cones."),
    Column("sweep_row", "args", (3, "nsweep"), "First and end column of a row, rows of a Coulomb contact."),
    Column("dof_kept", "d", ("nv", 2), "Force and commanded speed that a sleeper fell asleep with."),
    Column("tree_quiet", "d", ("ntree",), "How long a tree has been quiet [s]."),
    Column("lcp_A", "d", ("nlcp2",), "Matrix of a boxed problem,"),
    Column("lcp_b", "d", ("nlcp",), "its right side,"),
    Column("lcp_lo", "d", ("nlcp",), "lower"),
    Column("lcp_hi", "d", ("nlcp",), "and upper bounds."),
    Column("lcp_work", "d", ("nlcp2",), "Scratch of pivoting."),
    Column("last_force", "d", ("ncontact", 6), "Forces of contacts of the last step."),
    Column("last_point", "d", ("ncontact", 3), "Their positions, world frame."),
    Column("pgs_axes", "d", ("npgs3", 3), "Directions."),
    Column("pgs_arm_a", "d", ("npgs3", 3), "Arms of the first body."),
    Column("pgs_arm_b", "d", ("npgs3", 3), "Arms of the second."),
    Column("pgs_spin_a", "d", ("npgs3", 3), "What a unit impulse does to its rotation,"),
    Column("pgs_spin_b", "d", ("npgs3", 3), "and to that of the second."),
    Column("pgs_block", "d", ("npgs", 10), "Response of a contact to itself."),
    Column("pgs_target", "d", ("npgs3",), "Wanted velocities."),
    Column("pgs_R", "d", ("npgs3",), "Regularizers."),
    Column("pgs_mu", "d", ("npgs",), "Friction."),
    Column("pgs_active", "d", ("npgs",), "1 for contacts that count."),
    Column("pgs_impulse", "d", ("npgs3",), "Solution."),
    Column("pgs_kept", "d", ("npgs3",), "Impulses before a sweep,"),
    Column("pgs_direction", "d", ("npgs3",), "and the conjugate direction; see body_ncg.py."),
    Column("pgs_taken", "d", (1,), "Sweeps taken."),
    Column("pgs_bounce", "d", ("npgs",), "Wanted speed by restitution [m/s]; -1 if not hard."),
    Column("pgs_before", "d", ("npgs3",), "Speeds before the impact,"),
    Column("pgs_speed", "d", ("npgs3",), "twice the mean speeds of it with all restitution,"),
    Column("pgs_first", "d", ("npgs3",), "and the impulses; see body_restitution.py."),
    Column("link_linear", "d", ("nlink", 3), "Velocities of centres of mass."),
    Column("link_angular", "d", ("nlink", 3), "Angular velocities."),
    Column("link_inverse_mass", "d", ("nlink",), "Inverse masses."),
    Column("link_inverse_inertia", "d", ("nlink", 6), "Inverse inertias."),
    Column("frame", "d", ("ncontact", 9), "Axes of contacts in rows, normal first."),
    Column("de_saxce", "d", ("ncontact",), "De Saxce correction of Coulomb's law, or -1; see coulomb.py."),
    Column("de_saxce_error", "d", ("ncontact",), "How far the last solve was from it."),
    Column("bounce", "d", ("ncontact",), "What restitution adds to the wanted speed [m/s]; -1 if not hard."),
    Column("mu", "d", ("ncontact", 6), "Friction: two sliding, spin, two rolling; speed of correction."),
    # fixed layout: rows of several worlds at once; see fixed_solve.py
    Column("contact_kept", "m", ("ncontact",), "Where the forces of a contact are kept."),
    Column("row_coulomb", "args", ("nfixed",), "1 for the first row of a cone that obeys Coulomb's law."),
    Column("K", "d", ("nfixed", "width"), "Accelerations by unit forces of rows."),
    Column("dual", "d", (4, "nfixed"), "Regularizer, diagonal of the matrix, step, force."),
    Column("dual_block", "d", ("nfixed", 6), "Blocks of cones."),
    Column("dual_local", "d", (24,), "Scratch of one cone."),
    Column("kept", "d", ("nkept",), "Forces that the next step starts from, in a fixed layout."),
    Column("sweeps", "d", (2,), "Sweeps of the last step; steps without convergence."),
)

TABLE = Table(SIZES, COLUMNS)

LinkView, link_view = TABLE.view("LinkView", "link", "counter", "option", "own_option")
ShapeLawView, shape_law_view = TABLE.view(
    "ShapeLawView",
    "shape_priority",
    "shape_condim",
    "shape_rule",
    "shape_friction",
    "shape_law",
    "shape_contact",
    "pair_key",
    "pair_condim",
    "pair_friction",
    "pair_law",
    "pair_friction_law",
    "pair_margin",
)
WeightView, weight_view = TABLE.view("WeightView", "body_link", "body_invweight", "dof_invweight", "option")
LimitView, limit_view = TABLE.view(
    "LimitView", "limit_dof", "limit_q", "limit_kind", "limit_bound", "limit_law"
)
TendonView, tendon_view = TABLE.view(
    "TendonView",
    "tendon_path",
    "tendon_span",
    "tendon_dof",
    "tendon_coefficient",
    "tendon_bound",
    "tendon_law",
    "tendon_spring",
    "tendon_friction",
    "tendon_armature",
    "node_kind",
    "node_anchor",
    "node_side",
    "node_number",
    "dof_q",
    "tendon_moment",
    "tendon_size",
    "dof_moment",
)
FrictionView, friction_view = TABLE.view("FrictionView", "friction_dof", "friction_law", "own_friction_law")
EqualityView, equality_view = TABLE.view(
    "EqualityView",
    "equality_kind",
    "equality_on",
    "equality_link",
    "equality_body",
    "equality_first",
    "equality_second",
    "equality_coordinate",
    "equality_number",
    "equality_span",
    "equality_data",
    "equality_motor",
    "equality_effort",
    "equality_passive",
    "equality_friction",
    "equality_armature",
    "equality_spring",
    "equality_speed",
    "equality_command",
    "equality_drive",
    "equality_law",
    "equality_turn_law",
    "equality_axes",
    "equality_bound_axis",
    "equality_wrench",
    "equality_break",
    "equality_row",
)
MotorView, motor_view = TABLE.view(
    "MotorView", "motor_kind", "motor_on", "motor_dof", "motor_q", "motor_number", "motor_law"
)
SpeedView, speed_view = TABLE.view("SpeedView", "speed_dof")
SpringView, spring_view = TABLE.view("SpringView", "spring_end", "spring_on", "spring_number", "spring_force")
FluidView, fluid_view = TABLE.view("FluidView", "fluid_option", "fluid_box", "fluid_force")
AnchorPoseView, anchor_pose_view = TABLE.view("AnchorPoseView", "anchor_link", "anchor_pose", "anchor_X")
ActuatorView, actuator_view = TABLE.view(
    "ActuatorView",
    "act_kind",
    "act_span",
    "act_dof",
    "act_hold",
    "act_tendon",
    "act_gear",
    "dof_q",
    "act_moment",
    "dof_moment",
    "act_number",
    "own_act_number",
    "dof_force_range",
    "control",
    "activation",
    "activation_rate",
    "activation_start",
    "activation_sum",
    "act_force",
    "act_size",
    "act_damping",
    "act_blend",
    "act_sum",
    "dof_gravcomp",
    "act_gravcomp",
    "tendon_sum",
    "tendon_force_range",
)
RowView, row_view = TABLE.view("RowView", "J", "aref", "D", "bound", "kind", "dim")
RowNoteView, row_note_view = TABLE.view(
    "RowNoteView", "row_residual", "row_active", "row_impact", "row_note", "row_first", "row_end", "counter"
)
RecordView, record_view = TABLE.view(
    "RecordView", "residual", "row_of", "force", "missed", "contact_force", "qfrc"
)
IslandView, island_view = TABLE.view(
    "IslandView",
    "tree_dof",
    "body_tree",
    "tie",
    "tree_prescribed",
    "tree_above",
    "tree_island",
    "island_tree",
    "island_trees",
    "island_contacts",
    "contact_order",
    "dof_column",
    "column_dof",
    "counter",
)
MemberView, member_view = TABLE.view(
    "MemberView",
    "island_tree",
    "contact_order",
    "tree_limit",
    "tree_friction",
    "tree_tendon",
    "tree_equality",
    "tree_motor",
    "tree_speed",
    "tendon_order",
    "equality_order",
    "motor_order",
    "speed_order",
    "dof_column",
    "column_dof",
    "counter",
)
ContactMemoryView, contact_memory_view = TABLE.view(
    "ContactMemoryView",
    "last_id",
    "last_force",
    "last_point",
    "contact_force",
    "contact_match",
    "bucket",
    "counter",
)
PgsView, pgs_view = TABLE.view(
    "PgsView",
    "pgs_a",
    "pgs_b",
    "pgs_axes",
    "pgs_arm_a",
    "pgs_arm_b",
    "pgs_spin_a",
    "pgs_spin_b",
    "pgs_block",
    "pgs_target",
    "pgs_R",
    "pgs_mu",
    "pgs_active",
)
PgsBodyView, pgs_body_view = TABLE.view(
    "PgsBodyView", "link_linear", "link_angular", "link_inverse_mass", "link_inverse_inertia"
)
PgsWorkView, pgs_work_view = TABLE.view(
    "PgsWorkView", "pgs_impulse", "pgs_taken", "pgs_kept", "pgs_direction", "tree_link"
)
PgsBounceView, pgs_bounce_view = TABLE.view(
    "PgsBounceView", "pgs_bounce", "pgs_before", "pgs_speed", "pgs_first", "tree_share"
)
TreeSpanView, tree_span_view = TABLE.view("TreeSpanView", "tree_dof", "tree_links")
FreeTreeView, free_tree_view = TABLE.view(
    "FreeTreeView", "tree_dof", "body_tree", "tree_prescribed", "dof_column", "tree_block", "contact_block"
)
TreeMassView, tree_mass_view = TABLE.view("TreeMassView", "tree_dof", "tree_mass_at", "tree_mass")
TreeRoomView, tree_room_view = TABLE.view("TreeRoomView", "tree_rows", "tree_link")
SleepView, sleep_view = TABLE.view("SleepView", "tree_group", "tree_quiet", "tree_dof", "dof_kept")
QuietView, quiet_view = TABLE.view("QuietView", "dof_quiet")
BoxedView, boxed_view = TABLE.view(
    "BoxedView", "lcp_A", "lcp_b", "lcp_lo", "lcp_hi", "lcp_work", "lcp_findex", "lcp_state"
)
ProgramView, program_view = TABLE.view("ProgramView", "program", "counter")
ContactFrameView, contact_frame_view = TABLE.view(
    "ContactFrameView",
    "base",
    "frame",
    "mu",
    "de_saxce",
    "de_saxce_error",
    "bounce",
    "contact_row",
    "counter",
)
SolveView, solve_view = TABLE.view(
    "SolveView",
    "M",
    "island_smooth",
    "island_a",
    "a_last",
    "row_force",
    "dof_column",
    "column_dof",
    "counter",
    "option",
)
BounceView, bounce_view = TABLE.view("BounceView", "bounce_force", "bounce_speed", "bounce_a", "tree_share")
FixedBounceView, fixed_bounce_view = TABLE.view(
    "FixedBounceView",
    "bounce_force",
    "bounce_speed",
    "bounce_a",
    "a_smooth",
    "tree_label",
    "tree_share",
    "tree_prescribed",
    "counter",
)
SplitView, split_view = TABLE.view("SplitView", "a_smooth", "correction", "tree_share", "tree_recovery")
SlipView, slip_view = TABLE.view("SlipView", "slip_B", "slip_L", "slip_work")
SweepView, sweep_view = TABLE.view(
    "SweepView", "sweep_K", "sweep_dual", "sweep_block", "sweep_row", "dual_local"
)
MotionView, motion_view = TABLE.view("MotionView", "island_v", "a_last", "column_dof")
WorkView, work_view = TABLE.view(
    "WorkView",
    "H",
    "L",
    "vectors",
    "cone_J",
    "cone_C",
    "slack",
    "changed",
    "row_first",
    "row_end",
    "M_first",
    "M_end",
    "H_first",
    "L_first",
)
DualView, dual_view = TABLE.view(
    "DualView",
    "contact_kept",
    "row_coulomb",
    "row_first",
    "row_end",
    "body_tree",
    "tree_dof",
    "K",
    "dual",
    "dual_block",
    "dual_local",
    "kept",
    "sweeps",
)
