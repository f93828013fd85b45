# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers that constraint stages share: addresses, counters, options, laws, and what rows belong to."""

from __future__ import annotations

# addresses at the front of args, and 1 when arrays are too small for the step at hand; see room_stages.py
TREE_M, TREE_C, TREE_D, COLLISION_M, COLLISION_C, COLLISION_ARGS, COLLISION_D, SHORT = range(8)
# what worlds in lanes are short of, as bits: near pairs of shapes, rows
SHORT_OF_PAIRS, SHORT_OF_ROWS = 1, 2
# columns of the island at hand, and its row width in memory; `solve_islands` writes them before it calls
# the stages of an island, whose arrays they size. Capacities are those of the largest island so far.
ISLAND_COLUMNS, ISLAND_WIDTH = 8, 9
# the board of the threads that solve islands together, 0 for one thread; see island_sharing.py
BOARD = 10
LINKS = 16

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
# pairs of nodes of the largest island that is solved by rows of two trees; see body_blocks.py
BLOCK_NEED = 29
# islands that friction locks in a pass; those with less of it in the pass at hand, at the end in the position
# pass; and those with less of it in the velocity pass
LOCKED, JAMMED, WEAKENED = range(30, 33)
COUNTERS = 33

# stages called by address: the mass matrix, the solvers of rows, of free bodies, of a boxed problem, by
# sweeps over rows and by rows of two free bodies, then what makes rows; at the end what makes those of
# contacts, all of one island, the bounds of energy and of restitution, sweeps against slip, and all of it
# once more
MASS_LINK, SOLVE_LINK, FREE_LINK, BOXED_LINK, SWEEP_LINK, BODY_ROW_LINK, FIRST_ROW_LINK = range(7)
PROGRAM = 25
CONTACT_LINK, ISLAND_LINK, ENERGY_LINK, RESTITUTION_LINK, SLIP_LINK, AGAIN_LINK = range(PROGRAM - 6, PROGRAM)

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
# columns from which on an island with other trees than free bodies is solved by rows of two trees
TREE_COLUMNS = 32
FRICTION_SHARE = 33  # share of friction that an island has in a pass
# 1 where coordinates move with the mean of the velocities at both ends of a step, else with that at its end
MEAN_MOTION = 34
OPTIONS = 35

# bits of BOUNCED: a contact bounces; position and velocity passes of one differ; restitution is left out
BOUNCES, SPLIT, TAKEN = 1, 2, 4

# laws
KIND, STIFFNESS, DAMPING, D0, DMAX, WIDTH, MIDDLE, POWER, DIRECT, BOUNCINESS, ERP = range(11)
LAW = 11
HARD, FORCE_SPRING, ACCELERATION_SPRING, IMPEDANCE = range(4)

# what a row belongs to
OF_EQUALITY, OF_FRICTION, OF_LIMIT, OF_CONTACT, OF_TENDON, OF_TENDON_FRICTION, OF_TENDON_INERTIA = range(7)
OF_MOTOR, OF_SPEED, OF_BOUND, OF_DRIVE, OF_DRIVE_SPEED, OF_JOINT_FRICTION, OF_JOINT_INERTIA = range(7, 14)

NUMBER, ANGLE, LENGTH = range(3)
"""What a limit bounds: a coordinate, the angle of a rotation, the distance of two anchors."""

NEAREST_BODIES = 64
"""Neighbours of a body that sparse factors of a large island have room for."""
