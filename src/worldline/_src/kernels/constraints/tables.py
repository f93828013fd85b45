# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays of the constraint part of a step: what may constrain, the rows of this step, and their solution.

Stages of this part have arenas of their own and reach those of the trees and of collision through the
addresses at the front of `args`. A law, one row of a `*_law` column, is how a constraint answers to being
violated: kind, stiffness, damping, d0, dmax, width, middle, power, direct, bounciness, erp.
"""

from __future__ import annotations

from worldline._src.scalar.columns import Column, Table

# addresses at the front of args
TREE_M, TREE_C, TREE_D, HIT_M, HIT_C, HIT_ARGS, HIT_D = range(7)
LINKS = 8

# counters
ROWS, ITERATIONS, CONVERGED, DROPPED, CONTACT_COUNT, FIRST_CONTACT_ROW, ACTIVE_LIMITS, CLAMPED = range(8)
COUNTERS = 8

# options
STEP, RATIO, TOLERANCE, NEWTON_STEPS, LINE_TOLERANCE, LINE_STEPS, ELLIPTIC, SAFE, BOUNCE_SPEED = range(9)
OPTIONS = 12

# laws
KIND, STIFFNESS, DAMPING, D0, DMAX, WIDTH, MIDDLE, POWER, DIRECT, BOUNCINESS, ERP = range(11)
LAW = 11
HARD, FORCE_SPRING, ACCELERATION_SPRING, IMPEDANCE = range(4)

SIZES = (
    "nv",
    "width",
    "nbody",
    "nshape",
    "nlimit",
    "ntendon",
    "nfriction",
    "nequality",
    "nrow",
    "ncontact",
    "nu",
    "na",
)

COLUMNS = (
    # shapes, in the order of the collision tables
    Column("shape_priority", "m", ("nshape",), "The higher decides for both."),
    Column("shape_condim", "m", ("nshape",), "1, 3, 4 or 6 directions of force."),
    Column("shape_rule", "m", ("nshape", 2), "How friction and restitution combine; see CombineKind."),
    Column("shape_friction", "c", ("nshape", 3), "Sliding, spinning [m], rolling [m]."),
    Column("shape_law", "c", ("nshape", LAW), "How contact answers."),
    Column("shape_contact", "c", ("nshape", 4), "margin [m], gap [m], mixing weight, restitution."),
    # bodies with the world in front, and degrees of freedom
    Column("body_link", "m", ("nbody",), "Kernel link of a body of the collision tables; 0 for the world."),
    Column("body_invweight", "c", ("nbody", 2), "Inverse inertia at rest, of translation and rotation."),
    Column("dof_invweight", "c", ("nv",), "Inverse inertia of a degree of freedom at rest."),
    # limits
    Column("limit_dof", "m", ("nlimit",), "Degree of freedom, the first of a ball joint."),
    Column("limit_q", "m", ("nlimit",), "Coordinate."),
    Column("limit_kind", "m", ("nlimit",), "0 a number, 1 the angle of a ball joint."),
    Column("limit_bound", "c", ("nlimit", 3), "Lower, upper, margin."),
    Column("limit_law", "c", ("nlimit", LAW), "How the limit answers."),
    # limits of fixed tendons
    Column("tendon_moment", "c", ("ntendon", "nv"), "Change of length by degrees of freedom."),
    Column("tendon_bound", "c", ("ntendon", 4), "Lower, upper, margin, inverse inertia at rest."),
    Column("tendon_law", "c", ("ntendon", LAW), "How the limit answers."),
    # dry friction of joints
    Column("friction_dof", "m", ("nfriction",), "Degree of freedom."),
    Column("friction_law", "c", ("nfriction", 4), "Largest force, damping, impedance, dmax."),
    # equalities
    Column("equality_kind", "m", ("nequality",), "0 point, 1 pose, 2 joint, 3 distance, 4 axis."),
    Column("equality_on", "m", ("nequality",), "1 when active."),
    Column("equality_body", "m", ("nequality", 2), "Bodies, 0 for the world."),
    Column("equality_joint", "m", ("nequality", 4), "Degrees of freedom and coordinates, -1 for none."),
    Column("equality_pose", "c", ("nequality", 24), "Both ends: position and rotation matrix in the body."),
    Column("equality_number", "c", ("nequality", 8), "Polynomial (5), start of both, scale or distance."),
    Column("equality_law", "c", ("nequality", LAW), "How it answers."),
    # actuators
    Column("act_kind", "m", ("nu", 5), "Gain, bias, activation, activation index or -1, early."),
    Column(
        "act_span", "m", ("nu", 2), "First degree of freedom it moves, and one past the last; empty when off."
    ),
    Column("dof_q", "m", ("nv",), "Coordinate of a degree of freedom that is a number, else -1."),
    Column("act_moment", "c", ("nu", "nv"), "Change of length by degrees of freedom."),
    Column(
        "act_number",
        "c",
        ("nu", 36),
        "gain (10), bias (10), dynamics (10), ranges of control, force, activation.",
    ),
    Column("dof_force_range", "c", ("nv", 2), "Bounds of the sum of actuator forces."),
    # options and what changes
    Column("option", "c", (OPTIONS,), "See above."),
    Column("link", "args", (LINKS,), "Addresses of the other arenas."),
    Column("counter", "args", (COUNTERS,), "See above."),
    Column("kind", "args", ("nrow",), "Kind of row."),
    Column("dim", "args", ("nrow",), "Rows of the cone that starts here."),
    Column("changed", "args", ("nrow",), "Scratch of the solver."),
    Column("row_first", "args", ("nrow",), "Scratch of the solver."),
    Column("row_end", "args", ("nrow",), "Scratch of the solver."),
    Column("M_first", "args", ("width",), "Scratch of the solver."),
    Column("M_end", "args", ("width",), "Scratch of the solver."),
    Column("H_first", "args", ("width",), "Scratch of the solver."),
    Column("L_first", "args", ("width",), "Scratch of the solver."),
    Column(
        "row_of",
        "args",
        ("nrow", 2),
        "Of 0 equality, 1 friction, 2 limit, 3 contact, 4 tendon; which.",
    ),
    Column("contact_row", "args", ("ncontact", 2), "First row of a contact and its condim."),
    Column("control", "d", ("nu",), "Controls."),
    Column("activation", "d", ("na",), "Activation states."),
    Column("activation_rate", "d", ("na",), "Their rates."),
    Column("act_force", "d", ("nu",), "Forces of the actuators."),
    Column("act_size", "d", ("nu", 2), "Length and its rate."),
    Column("act_blend", "d", ("nu",), "How much of its rate an activation takes in a step [s]."),
    Column("act_sum", "d", ("nv",), "Sum of actuator forces on a degree of freedom."),
    Column("J", "d", ("nrow", "width"), "Jacobian rows."),
    Column("aref", "d", ("nrow",), "Reference accelerations."),
    Column("D", "d", ("nrow",), "Inverse regularizers."),
    Column("bound", "d", ("nrow",), "Largest friction force, or coefficients of a cone."),
    Column("residual", "d", ("nrow",), "Distance or error of a row."),
    Column("force", "d", ("nrow",), "Solution."),
    Column("M", "d", ("nv", "width"), "Mass matrix, padded."),
    Column("a", "d", ("nv",), "Acceleration with constraints; the guess of the next step."),
    Column("qfrc", "d", ("nv",), "Generalized constraint force."),
    Column("H", "d", ("width", "width"), "Scratch of the solver."),
    Column("L", "d", ("width", "width"), "Scratch of the solver."),
    Column("vectors", "d", (8, "width"), "Scratch of the solver."),
    Column("cone_J", "d", (6, "width"), "Scratch of the solver."),
    Column("cone_C", "d", (6, 6), "Scratch of the solver."),
    Column("slack", "d", (5, "nrow"), "Scratch of the solver."),
    Column("base", "d", (6, "width"), "Jacobian of one contact in its frame."),
    Column("frame", "d", ("ncontact", 9), "Axes of contacts in rows, normal first."),
    Column("lift", "d", ("ncontact",), "What is taken off for Coulomb's law, or -1; see coulomb.py."),
    Column(
        "mu", "d", ("ncontact", 6), "Friction of contacts: two sliding, spin, two rolling; speed of bounce."
    ),
)

TABLE = Table(SIZES, COLUMNS)

LinkView, link_view = TABLE.view("LinkView", "link", "counter", "option")
ShapeLawView, shape_law_view = TABLE.view(
    "ShapeLawView",
    "shape_priority",
    "shape_condim",
    "shape_rule",
    "shape_friction",
    "shape_law",
    "shape_contact",
)
WeightView, weight_view = TABLE.view("WeightView", "body_link", "body_invweight", "dof_invweight", "option")
LimitView, limit_view = TABLE.view(
    "LimitView", "limit_dof", "limit_q", "limit_kind", "limit_bound", "limit_law"
)
TendonView, tendon_view = TABLE.view("TendonView", "tendon_moment", "tendon_bound", "tendon_law", "dof_q")
FrictionView, friction_view = TABLE.view("FrictionView", "friction_dof", "friction_law")
EqualityView, equality_view = TABLE.view(
    "EqualityView",
    "equality_kind",
    "equality_on",
    "equality_body",
    "equality_joint",
    "equality_pose",
    "equality_number",
    "equality_law",
)
ActuatorView, actuator_view = TABLE.view(
    "ActuatorView",
    "act_kind",
    "act_span",
    "dof_q",
    "act_moment",
    "act_number",
    "dof_force_range",
    "control",
    "activation",
    "activation_rate",
    "act_force",
    "act_size",
    "act_blend",
    "act_sum",
)
RowView, row_view = TABLE.view("RowView", "J", "aref", "D", "bound", "kind", "dim")
RowNoteView, row_note_view = TABLE.view("RowNoteView", "residual", "row_of", "counter")
ContactFrameView, contact_frame_view = TABLE.view(
    "ContactFrameView", "base", "frame", "mu", "lift", "contact_row", "counter"
)
SolveView, solve_view = TABLE.view("SolveView", "M", "a", "force", "qfrc", "counter", "option")
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
