# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A physics step on one page: every stage in the order it runs, for every layout and integration family.

`TABLE` is the only place that orders stages. A row says which arenas a stage runs on, what it needs of the
model to be there, and what it reads and writes. Steps of one world, of worlds in lanes, evaluations without a
step, profiles, the pipeline drawing and the documentation are selections of it; see `stages_of`.

Two layouts share the rows. In one world a step finds *islands*, and `solve_islands` calls the stages of an
island by address: those with a caller run inside of it. In the *fixed* layout, for lanes, every stage runs in
line, as rows are at the same position in all worlds.
"""

from __future__ import annotations

from enum import Enum
from functools import cache

from worldline._src.jit import Stage
from worldline._src.kernels.broadphase.aabb import shape_poses
from worldline._src.kernels.broadphase.near_pairs import near_pairs
from worldline._src.kernels.broadphase.pairs import broad
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.narrowphase import dispatch as n
from worldline._src.kernels.narrowphase.lanes import fixed_shape_poses, narrow_fixed, settle_fixed_contacts
from worldline._src.kernels.narrowphase.single_world import narrow_single
from worldline._src.named_tuple import NamedTuple
from worldline._src.step import constraint_stages as s
from worldline._src.step import fixed_stages as fixed
from worldline._src.step import force_element_stages as g
from worldline._src.step import impact_stages as p
from worldline._src.step import integrator_stages as integrate
from worldline._src.step import island_stages as i
from worldline._src.step import loop_stages as loop
from worldline._src.step import room_stages as r
from worldline._src.step import sensor_stages as sense
from worldline._src.step import stages as trees
from worldline._src.step import step_stages as step
from worldline._src.step import user_stages as user
from worldline._src.step import velocity_stages as v
from worldline._src.step.body_row_stages import solve_body_rows
from worldline._src.step.contact_log import log_contacts
from worldline._src.step.correction_stages import limit_energy, limit_restitution, remove_slip_of_island
from worldline._src.step.step_plan import StepPlan

MULTIBODY, CONSTRAINT, COLLISION, LOG, USER, SENSOR, SEEN, SOLID = range(8)
"""Sets of arenas that the stages of a step run on; the last three are those of sensors."""


class Phase(Enum):
    """Which part of a step a row belongs to."""

    BEGIN = "once, at the start"
    EVALUATION = (
        "from coordinates and velocities to accelerations, then integration; four times in Runge-Kutta"
    )
    VARIATIONAL = "in the variational family, in the place of evaluations, or after one where there are rows"
    MIDWAY = (
        "before every solution of the variational equations, and four times before the first: forces there"
    )
    END = "once, at the end"
    SENSORS = "when sensors are read: of the present state, after an evaluation where one needs it"


class Row(NamedTuple):
    """A stage with its place in the step."""

    phase: Phase
    stage: Stage
    arenas: int
    when: str
    """Fields of `StepPlan`, joined by "and"; each may have "not" before or alternatives with "or"."""
    domain: str
    """kinematics, forces, dynamics, collision, constraints, integration or sensors."""
    reads: str
    writes: str
    caller: Stage | None = None
    """Stage that calls this one by address in the layout of islands."""
    link: int | None = None
    """Where the caller finds the address; makers of rows follow each other from `FIRST_ROW_LINK` on."""
    resume: Stage | None = None
    """For stages that look whether arrays have room: where the step goes on once they have."""
    pauses: bool = False
    """For stages at which the step returns to Python for functions of the user, and goes on behind."""
    of_step: bool = False
    """Whether it makes sense for a step only, and not for an evaluation of the present state."""


_B, _E, _V, _W = Phase.BEGIN, Phase.EVALUATION, Phase.VARIATIONAL, Phase.MIDWAY
_END, _S = Phase.END, Phase.SENSORS
_M, _C, _H, _L, _U = MULTIBODY, CONSTRAINT, COLLISION, LOG, USER
_ISLANDS = i.solve_islands
_ROW_READS = "link poses, anchors, tendons, contacts, q, v"
_PAIRS = "pairs by family, shape poses, contacts"
_FIXED_SPLIT = "hard_limits and rows and fixed and not runge_kutta"
"""Where joints may be beyond hard limits in the fixed layout."""


# fmt: off
def _contacts(when: str) -> tuple[Row, ...]:
    """Contacts of one world, found before forces where actuators pull along them, else after."""
    return (
        Row(_E, i.begin_rows, _C, f"{when} and rows and not fixed", "constraints", "", "rows"),
        Row(_E, s.collision_poses, _C, f"{when} and shapes", "collision", "link poses", "body poses"),
        Row(_E, shape_poses, _H, f"{when} and shapes and not fixed", "collision",
            "body poses", "shape poses, boxes"),
        Row(_E, user.call_detector, _U, f"{when} and shapes and detector and not fixed", "collision",
            "body poses", "contacts", pauses=True),
        Row(_E, broad, _H, f"{when} and shapes and not fixed and not detector", "collision",
            "boxes", "pairs"),
        Row(_E, n.narrow_sort, _H, f"{when} and shapes and not fixed and not detector", "collision",
            "pairs", "pairs by family, contacts"),
        Row(_E, n.narrow_round, _H, f"{when} and round_pairs and not fixed and not detector", "collision",
            _PAIRS, "contacts"),
        Row(_E, n.narrow_flat, _H, f"{when} and flat_pairs and not fixed and not detector", "collision",
            _PAIRS, "contacts"),
        Row(_E, n.narrow_ball, _H, f"{when} and ball_pairs and not fixed and not detector", "collision",
            _PAIRS, "contacts"),
        Row(_E, n.narrow_convex, _H, f"{when} and convex_pairs and not fixed and not detector", "collision",
            _PAIRS, "contacts"),
        Row(_E, n.narrow_surface, _H, f"{when} and surface_pairs and not fixed and not detector", "collision",
            _PAIRS, "contacts"),
        Row(_E, r.check_contacts, _C, f"{when} and shapes and not fixed", "collision",
            "pairs, contacts", "room", resume=broad),
    )


def _fixed_solve(when: str) -> tuple[Row, ...]:
    """Solve the rows of the fixed layout in worlds that are not solved yet."""
    return (
        Row(_E, fixed.newton_fixed_rows, _C, f"{when} and newton_rows", "constraints",
            "rows, mass matrix, constraint forces", "a, constraint forces"),
        Row(_E, fixed.newton_fixed_cones, _C, f"{when} and newton_cones", "constraints",
            "rows, mass matrix, constraint forces", "a, constraint forces"),
        Row(_E, fixed.newton_fixed_coulomb, _C, f"{when} and newton_coulomb", "constraints",
            "rows, mass matrix, constraint forces", "a, constraint forces"),
        Row(_E, fixed.sweep_fixed_rows, _C, when, "constraints",
            "rows, mass matrix, constraint forces", "a, constraint forces"),
    )


_SOLVE = Row(_V, integrate.variational_solve, _M, "", "integration",
             "q, momenta, displacement, commands", "displacement, impulse")


def _push_loops(*pushes: Stage) -> tuple[Row, ...]:
    """New impulses of closed loops; after each the equations of a variational step are solved again."""
    change, solve = "displacement, momenta", _SOLVE._replace(when="closed_loops")
    return tuple(row for one in pushes for row in (
        Row(_V, one, _C, "closed_loops", "integration", change + ", rows", change), solve))


def _forces_at_the_end(when: str) -> tuple[Row, ...]:
    """Accelerations by the forces of joints and bodies alone, at the end of a step."""
    rows = (
        (trees.link_velocities, "", "kinematics", "link poses, v", "link velocities"),
        (step.center_forces, " and wrenches", "forces", "link poses, forces on bodies", "link forces"),
        (trees.no_wrenches, " and not wrenches", "forces", "", "link forces"),
        (trees.compensate_gravity, " and gravity_compensation", "forces",
         "link poses, link forces", "link forces"),
        (step.drive_forces, " and drives", "forces", "q, v, commands", "tau"),
        (step.no_drive_forces, " and not drives", "forces", "", "tau"),
        (trees.spring_displacements, " and passive", "forces", "q", "spring lengths"),
        (trees.add_passive_forces, " and passive", "forces", "spring lengths, v, tau", "tau"),
        (step.accelerations, "", "dynamics", "link poses, link velocities, link forces, tau", "a"),
    )
    return tuple(Row(_END, one, _M, when + more, part, reads, made) for one, more, part, reads, made in rows)


def _elements(phase: Phase) -> tuple[Row, ...]:
    """Forces of elements between frames, and of the fluid."""
    return (
        Row(phase, g.anchor_poses, _C, "anchors", "kinematics", "link poses", "anchors"),
        Row(phase, g.spring_forces, _C, "body_springs", "forces",
            "anchors, link velocities, link forces", "link forces"),
        Row(phase, g.joint_efforts, _C, "joint_motors", "forces",
            "anchors, link velocities, commands, link forces", "link forces"),
        Row(phase, g.fluid_forces, _C, "fluid", "forces", "link velocities, link forces", "link forces"),
    )


def _transmitted(phase: Phase) -> tuple[Row, ...]:
    """Forces along tendons and transmissions."""
    return (
        Row(phase, g.tendon_lengths, _C, "tendons and not fixed", "kinematics", "q, v, anchors", "tendons"),
        Row(phase, g.straight_tendon_lengths, _C, "tendons and fixed", "kinematics",
            "q, v, anchors", "tendons"),
        Row(phase, g.tendon_forces, _C, "tendons", "forces", "tendons, tau", "tau"),
        Row(phase, g.transmissions, _C, "transmissions", "kinematics",
            "q, anchors, tendons", "transmissions"),
        Row(phase, g.adhesion_moments, _C, "adhesion", "kinematics", "link poses, contacts", "transmissions"),
        Row(phase, g.motor_constants, _C, "lopsided_motors", "forces", "tau", "tau"),
        Row(phase, g.actuated_gravity_compensation, _C, "actuated_gravity_compensation", "kinematics",
            "link poses", "gravity compensation of actuators"),
        Row(phase, s.actuator_forces, _C, "actuators or actuated_gravity_compensation", "forces",
            "q, v, controls, activations, transmissions, gravity compensation of actuators, tau",
            "tau, activation rates"),
    )


TABLE: tuple[Row, ...] = (
    Row(_B, user.controller_kernels, _U, "controller_kernels", "forces", "q, v", "commands, controls"),
    Row(_B, user.call_controllers, _U, "controllers", "forces", "q, v", "commands, controls", pauses=True),
    Row(_B, step.prescribed_speeds, _M, "prescribed", "forces", "v, commands", "prescribed a", of_step=True),

    # state -> poses and velocities
    Row(_E, i.guess_from_last, _C, "rows and warm_start and not fixed", "constraints", "a", "solver guess"),
    Row(_E, trees.positions, _M, "", "kinematics", "q", "link poses"),
    Row(_E, trees.link_velocities, _M, "", "kinematics", "link poses, v", "link velocities"),

    # forces on links
    Row(_E, step.refresh_poses, _M, "user_poses", "kinematics", "q", "body poses"),
    Row(_E, step.refresh_twists, _M, "user_poses", "kinematics",
        "link poses, link velocities", "body velocities"),
    Row(_E, user.keep_forces, _U,
        "force_elements or force_kernels and not second and not third and not last", "forces",
        "forces on bodies, commands", "copy of forces"),
    Row(_E, user.force_kernels, _U, "force_elements or force_kernels", "forces",
        "body poses, body velocities, copy of forces", "forces on bodies, commands"),
    Row(_E, user.call_force_elements, _U, "force_elements", "forces",
        "body poses, body velocities", "forces on bodies, commands", pauses=True),
    Row(_E, step.center_forces, _M, "wrenches", "forces", "link poses, forces on bodies", "link forces"),
    Row(_E, trees.no_wrenches, _M, "not wrenches", "forces", "", "link forces"),
    *_elements(_E),
    Row(_E, trees.compensate_gravity, _M, "gravity_compensation", "forces",
        "link poses, link forces", "link forces"),
    Row(_E, integrate.ground_forces, _M, "ground", "forces",
        "link poses, link velocities, link forces", "link forces"),

    # forces on joints
    Row(_E, step.drive_forces, _M, "drives", "forces", "q, v, commands", "tau"),
    Row(_E, step.no_drive_forces, _M, "not drives", "forces", "", "tau"),
    *_contacts("adhesion"),
    *_transmitted(_E),
    Row(_E, trees.spring_displacements, _M, "passive", "forces", "q", "spring lengths"),
    Row(_E, trees.add_passive_forces, _M, "passive", "forces", "spring lengths, v, tau", "tau"),

    # accelerations without constraints
    Row(_E, step.prescribe, _M, "prescribed", "dynamics",
        "link poses, link velocities, prescribed a", "link velocities"),
    Row(_E, step.accelerations, _M, "", "dynamics", "link poses, link velocities, link forces, tau", "a"),
    Row(_E, step.keep_prescribed, _M, "prescribed", "dynamics", "prescribed a, a", "a"),
    Row(_E, user.acceleration_kernels, _U, "acceleration_kernels", "dynamics",
        "a, body poses, body velocities", "a"),
    Row(_E, user.call_acceleration_stages, _U, "acceleration_stages", "dynamics",
        "a, body poses, body velocities", "a", pauses=True),
    Row(_E, step.hold_spin, _M, "free_spin and not runge_kutta", "dynamics",
        "link poses, v, a", "a, spin", of_step=True),
    Row(_E, i.guess_from_last, _C, "rows and not warm_start and not fixed", "constraints",
        "a", "solver guess"),
    Row(_E, trees.composites, _M, "implicit", "dynamics", "link poses", "composite inertias"),
    Row(_E, i.mass_of_trees, _C, "implicit and not fixed", "dynamics",
        "link poses, composite inertias", "mass matrix"),
    Row(_E, trees.mass_matrix, _M, "implicit and fixed", "dynamics",
        "link poses, composite inertias", "mass matrix"),

    # contacts
    *_contacts("not adhesion"),
    Row(_E, fixed_shape_poses, _H, "shapes and fixed and not near_pairs", "collision",
        "body poses", "shape poses"),
    Row(_E, near_pairs, _H, "near_pairs and shapes and fixed", "collision",
        "body poses", "shape poses, pairs"),
    Row(_E, narrow_fixed, _H, "shapes and fixed", "collision", "pairs, shape poses", "contacts"),
    Row(_E, narrow_single, _H, "single_pairs and fixed", "collision", "pairs, body poses", "contacts"),
    Row(_E, settle_fixed_contacts, _H, "shapes and fixed", "collision", "contacts", "contacts"),

    # constraint rows and their solution
    Row(_E, i.find_islands, _C, "rows and not fixed", "constraints", "contacts, room", "islands"),
    Row(_E, r.check_islands, _C, "rows and not fixed", "constraints", "islands", "room",
        resume=r.check_islands),
    Row(_E, i.wake_disturbed, _C, "sleep and rows and not fixed", "constraints",
        "islands, forces on bodies, commands", "sleep"),
    Row(_E, integrate.keep_smooth_a, _M, "row_impulses", "constraints", "a", "copy of a"),
    Row(_E, p.keep_smooth, _C, "split and rows", "constraints", "a", "smooth a"),
    Row(_E, i.solve_islands, _C, "rows and not fixed", "constraints",
        "islands, contacts, link poses, anchors, tendons, q, v, a, solver guess",
        "a, rows, mass matrix, constraint forces"),
    Row(_E, i.solve_next_island, _C, "rows and not fixed", "constraints",
        "islands, contacts, link poses, anchors, tendons, q, v, a, solver guess",
        "a, rows, mass matrix, constraint forces", _ISLANDS, t.ISLAND_LINK),
    Row(_E, fixed.begin_fixed_rows, _C, "rows and fixed", "constraints", "", "rows", resume=near_pairs),
    Row(_E, g.equality_rows, _C, "equalities and not fixed", "constraints", _ROW_READS, "rows", _ISLANDS),
    Row(_E, g.follower_rows, _C, "equalities and fixed", "constraints", "tendons, q, v", "rows"),
    Row(_E, s.friction_rows, _C, "friction", "constraints", "v", "rows", _ISLANDS),
    Row(_E, g.motor_rows, _C, "motors", "constraints", "q, v, commands", "rows", _ISLANDS),
    Row(_E, s.limit_rows, _C, "limits", "constraints", "q, v", "rows", _ISLANDS),
    Row(_E, g.tendon_rows, _C, "tendons", "constraints", "tendons", "rows", _ISLANDS),
    Row(_E, s.contact_rows, _C, "shapes", "constraints", _ROW_READS, "rows", _ISLANDS),
    Row(_E, g.speed_rows, _C, "speed_limits", "constraints", "v, rows", "rows", _ISLANDS),
    Row(_E, trees.composites, _M, "rows and fixed and not implicit", "dynamics",
        "link poses", "composite inertias"),
    Row(_E, trees.mass_matrix, _M, "rows and fixed and not implicit", "dynamics",
        "link poses, composite inertias", "mass matrix"),
    Row(_E, i.mass_of_island, _C, "rows and not implicit and not fixed", "dynamics",
        "link poses, composite inertias", "mass matrix", _ISLANDS, t.MASS_LINK),
    Row(_E, i.gather_mass, _C, "rows and implicit and not fixed", "dynamics",
        "mass matrix", "mass matrix", _ISLANDS, t.MASS_LINK),
    Row(_E, trees.factor_mass_matrix, _M, "rows and fixed and not newton_rows", "dynamics",
        "mass matrix", "mass matrix"),
    Row(_E, s.solve_rows, _C, "rows and not fixed", "constraints",
        "rows, mass matrix, solver guess", "a, constraint forces", _ISLANDS, t.SOLVE_LINK),
    Row(_E, i.solve_free_bodies, _C, "impulses and rows and not fixed", "constraints",
        "contacts, solver guess", "a, constraint forces", _ISLANDS, t.FREE_LINK),
    Row(_E, solve_body_rows, _C, "body_rows and rows and not fixed", "constraints",
        "contacts, link poses, v", "rows, a, constraint forces", _ISLANDS, t.BODY_ROW_LINK),
    Row(_E, i.solve_boxed, _C, "boxed and rows and not fixed", "constraints",
        "rows, mass matrix", "a, constraint forces", _ISLANDS, t.BOXED_LINK),
    Row(_E, i.solve_swept, _C, "swept and rows and not fixed", "constraints",
        "rows, mass matrix, contacts, solver guess", "a, constraint forces", _ISLANDS, t.SWEEP_LINK),
    Row(_E, limit_energy, _C, "hard_contacts and rows and not fixed", "constraints",
        "rows, constraint forces", "a, constraint forces", _ISLANDS, t.ENERGY_LINK),
    Row(_E, limit_restitution, _C, "restitution and rows and not fixed", "constraints",
        "rows, constraint forces", "a, constraint forces", _ISLANDS, t.RESTITUTION_LINK),
    Row(_E, remove_slip_of_island, _C, "no_slip and rows and not fixed", "constraints",
        "rows, constraint forces", "a, constraint forces", _ISLANDS, t.SLIP_LINK),
    Row(_E, fixed.begin_fixed_solve, _C, "rows and fixed", "constraints",
        "rows, a, kept forces", "constraint forces", resume=near_pairs),
    Row(_E, fixed.begin_fixed_positions, _C, _FIXED_SPLIT, "constraints",
        "rows, v, a", "rows, smooth a"),
    *_fixed_solve(_FIXED_SPLIT),
    Row(_E, fixed.begin_fixed_velocities, _C, _FIXED_SPLIT, "constraints",
        "smooth a, a, kept forces", "rows, a, constraint forces, position correction"),
    *_fixed_solve("rows and fixed"),
    Row(_E, fixed.begin_fixed_restitution, _C, "hard_contacts and rows and fixed", "constraints",
        "rows, constraint forces, a", "a"),
    *_fixed_solve("hard_contacts and rows and fixed"),
    Row(_E, fixed.end_fixed_restitution, _C, "hard_contacts and rows and fixed", "constraints",
        "rows, constraint forces, a", "a, constraint forces"),
    Row(_E, fixed.end_fixed_velocities, _C, _FIXED_SPLIT, "constraints",
        "a, position correction", "position correction"),
    Row(_E, fixed.end_fixed_solve, _C, "rows and fixed", "constraints", "constraint forces", "kept forces"),
    Row(_E, fixed.record_fixed, _C, "recorded and rows and fixed", "constraints",
        "rows, constraint forces", "rows, constraint forces"),
    Row(_E, p.solve_velocities, _C, "split and rows", "constraints",
        "islands, contacts, link poses, anchors, tendons, q, v, a, smooth a, solver guess",
        "a, rows, mass matrix, constraint forces, position correction"),
    Row(_E, i.solve_islands, _C, "rows and not fixed", "constraints",
        "islands", "a, constraint forces", p.solve_velocities, t.AGAIN_LINK),
    Row(_E, g.equality_forces, _C, "equalities and not fixed", "constraints",
        "constraint forces", "equality forces"),

    # integration
    Row(_E, s.damp_implicitly, _C, "implicit and not implicit_velocity and not fixed", "integration",
        "mass matrix, v, a", "a", of_step=True),
    Row(_E, v.damp_velocities, _C, "implicit_velocity", "integration",
        "mass matrix, v, a, tendons, transmissions", "a", of_step=True),
    Row(_E, fixed.damp_fixed, _C, "implicit and fixed", "integration",
        "mass matrix, v, a", "a", of_step=True),
    Row(_E, loop.mark_loops, _C, "mean_acceleration", "integration", "rows", "mechanisms", of_step=True),
    Row(_E, loop.lead_loops, _C, "closed_loops and not fixed and not runge_kutta", "integration",
        "link poses, anchors, q, v, a", "v", of_step=True),
    Row(_E, step.semi_implicit_turn, _M, "free_spin and not runge_kutta", "integration",
        "link poses, spin, q, v, a", "q, v", of_step=True),
    Row(_E, step.semi_implicit_euler, _M, "not free_spin and not runge_kutta", "integration",
        "q, v, a", "q, v", of_step=True),
    Row(_E, integrate.runge_kutta_first, _M, "first", "integration", "q, v, a", "q, v, sums", of_step=True),
    Row(_E, integrate.runge_kutta_second, _M, "second", "integration", "a, sums", "q, v, sums", of_step=True),
    Row(_E, integrate.runge_kutta_third, _M, "third", "integration", "a, sums", "q, v, sums", of_step=True),
    Row(_E, integrate.runge_kutta_last, _M, "last", "integration", "a, sums", "q, v, a", of_step=True),
    Row(_E, s.activations_first, _C, "first and activations", "integration",
        "activations, activation rates", "activations, sums", of_step=True),
    Row(_E, s.activations_second, _C, "second and activations", "integration",
        "activation rates, sums", "activations, sums", of_step=True),
    Row(_E, s.activations_third, _C, "third and activations", "integration",
        "activation rates, sums", "activations, sums", of_step=True),
    Row(_E, s.activations_last, _C, "last and activations", "integration",
        "activation rates, sums", "activations, activation rates", of_step=True),

    Row(_V, trees.positions, _M, "", "kinematics", "q", "link poses"),
    Row(_V, trees.link_velocities, _M, "", "kinematics", "link poses, v", "link velocities"),
    Row(_V, integrate.variational_start, _M, "", "integration",
        "q, v, link poses, link velocities", "momenta, displacement"),
    Row(_V, loop.start_loops, _C, "closed_loops", "integration", "q, link poses", "rows"),
    Row(_V, loop.rows_beside_loops, _C, "row_impulses and closed_loops", "integration", "a, copy of a", "a"),
    Row(_V, integrate.variational_rows, _M, "row_impulses", "integration",
        "link poses, a, copy of a", "momenta"),
    Row(_V, integrate.no_middle_forces, _M, "", "forces", "", "forces half way"),
    _SOLVE,
    *_push_loops(loop.lead_start, loop.push_loops, loop.push_loops),
    *_push_loops(loop.damp_loops, loop.lead_start, loop.push_damped),
    Row(_V, integrate.variational_row_ends, _M, "row_impulses", "integration", "momenta", "momenta"),
    Row(_V, i.rest_in_place, _C, "sleep and rows", "constraints", "sleep", "displacement, impulse, momenta"),
    Row(_V, integrate.variational_finish, _M, "", "integration",
        "displacement, impulse, momenta", "q, v, momenta"),
    Row(_V, trees.positions, _M, "", "kinematics", "q", "link poses"),
    Row(_V, trees.link_velocities, _M, "", "kinematics", "link poses, v", "link velocities"),
    Row(_V, integrate.variational_velocities, _M, "", "integration",
        "link poses, link velocities, momenta", "v"),

    Row(_W, integrate.variational_middle, _M, "", "integration", "displacement", "q, v"),
    Row(_W, trees.positions, _M, "", "kinematics", "q", "link poses"),
    Row(_W, trees.link_velocities, _M, "", "kinematics", "link poses, v", "link velocities"),
    Row(_W, trees.no_wrenches, _M, "", "forces", "", "link forces"),
    *_elements(_W),
    Row(_W, step.no_drive_forces, _M, "", "forces", "", "tau"),
    *_transmitted(_W),
    Row(_W, integrate.keep_middle_forces, _M, "", "forces",
        "link poses, link forces, tau", "forces half way"),

    Row(_END, p.correct_positions, _C, "split and rows", "integration", "q, position correction", "q"),
    Row(_END, fixed.correct_fixed_positions, _C, _FIXED_SPLIT, "integration", "q, position correction", "q"),
    Row(_END, s.recover_limits, _C, "hard_limits and runge_kutta", "integration", "q", "q"),
    Row(_END, loop.keep_start, _C, "mean_acceleration", "integration", "a, tau, v", "v, copy of a and tau"),
    Row(_END, loop.close_loops, _C, "closed_loops and not fixed", "integration",
        "q, v", "q, v, link poses, anchors"),
    *_forces_at_the_end("mean_acceleration"),
    Row(_END, loop.mean_loops, _C, "mean_acceleration", "integration", "v, copy of a and tau", "v, a, tau"),
    Row(_END, i.fall_asleep, _C, "sleep and rows", "constraints", "islands, v", "sleep"),
    Row(_END, s.advance_activations, _C, "activations", "integration",
        "activations, activation rates", "activations"),
    Row(_END, user.restore_forces, _U, "force_elements or force_kernels", "forces",
        "copy of forces", "forces on bodies, commands"),
    Row(_END, user.end_kernels, _U, "end_kernels", "integration", "q, v", "q, v"),
    Row(_END, user.call_end_stages, _U, "end_stages", "integration", "q, v", "q, v", pauses=True),
    Row(_END, user.count_step, _U, "counted and not fixed", "integration", "", "number of the step"),
    Row(_END, user.count_steps, _U, "counted and fixed", "integration", "", "number of the step"),
    Row(_END, user.call_observers, _U, "observers", "integration", "q, v", "", pauses=True),
    Row(_END, log_contacts, _L, "contact_log", "collision", "contacts, constraint forces", "contact events",
        resume=log_contacts),

    # readings of the present state
    Row(_S, trees.positions, _M, "not read_dynamics", "kinematics", "q", "link poses"),
    Row(_S, trees.link_velocities, _M, "prescribed or not read_dynamics", "kinematics",
        "link poses, v", "link velocities"),
    Row(_S, trees.link_accelerations, _M, "read_accelerations or read_forces", "kinematics",
        "link poses, link velocities, a", "link accelerations"),
    Row(_S, sense.sensor_frames, SENSOR, "read_frames", "sensors", "link poses", "frames"),
    Row(_S, sense.sensor_velocities, SENSOR, "read_velocities", "sensors", "link velocities", "frames"),
    Row(_S, sense.sensor_accelerations, SENSOR, "read_accelerations", "sensors",
        "link velocities, link accelerations", "frames"),
    Row(_S, sense.read_state, SENSOR, "read_state", "sensors", "q, v, time", "readings"),
    Row(_S, sense.read_poses, SENSOR, "read_poses", "sensors", "frames", "readings"),
    Row(_S, sense.read_velocities, SENSOR, "read_velocities", "sensors", "frames", "readings"),
    Row(_S, sense.read_accelerations, SENSOR, "read_accelerations", "sensors", "frames", "readings"),
    Row(_S, sense.read_subtrees, SENSOR, "read_subtrees", "sensors",
        "link poses, link velocities", "readings"),
    Row(_S, sense.read_energies, SENSOR, "read_energies", "sensors",
        "link poses, link velocities, anchors, tendons", "readings"),
    Row(_S, sense.read_efforts, SENSOR, "read_efforts", "sensors", "transmissions, tendons, tau", "readings"),
    Row(_S, sense.record_fixed_rows, SENSOR, "rows and fixed and read_dynamics", "sensors",
        "rows, constraint forces", "constraint forces"),
    Row(_S, sense.read_limits, SENSOR, "read_limits", "sensors", "rows, constraint forces, q, v", "readings"),
    Row(_S, sense.read_touch, SENSOR, "read_touch", "sensors",
        "frames, contacts, constraint forces", "readings"),
    Row(_S, sense.read_contacts, SENSOR, "read_contacts", "sensors",
        "frames, contacts, constraint forces", "readings"),
    Row(_S, sense.link_demands, SENSOR, "read_forces", "sensors",
        "link poses, link velocities, link accelerations, forces on bodies", "demands"),
    Row(_S, sense.contact_demands, SENSOR, "read_forces and shapes", "sensors",
        "contacts, constraint forces, demands", "demands"),
    Row(_S, sense.equality_demands, SENSOR, "read_forces and equalities and not fixed", "sensors",
        "anchors, equality forces, demands", "demands"),
    Row(_S, sense.read_forces, SENSOR, "read_forces", "sensors", "frames, demands", "readings"),
    Row(_S, sense.seen_bodies, SENSOR, "read_rays", "sensors", "link poses", "bodies that rays see"),
    Row(_S, fixed_shape_poses, SEEN, "read_rays", "sensors", "bodies that rays see", "shapes that rays see"),
    Row(_S, sense.read_rays, SENSOR, "read_rays", "sensors", "frames, shapes that rays see", "readings"),
    Row(_S, sense.solid_bodies, SENSOR, "read_distances", "sensors", "link poses", "solid bodies"),
    Row(_S, shape_poses, SOLID, "read_distances", "sensors", "solid bodies", "solid shapes"),
    Row(_S, n.narrow_sort, SOLID, "read_distances", "sensors", "solid shapes", "pairs of solids"),
    Row(_S, n.narrow_round, SOLID, "near_round", "sensors", "pairs of solids", "closest points"),
    Row(_S, n.narrow_flat, SOLID, "near_flat", "sensors", "pairs of solids", "closest points"),
    Row(_S, n.narrow_ball, SOLID, "near_ball", "sensors", "pairs of solids", "closest points"),
    Row(_S, n.narrow_convex, SOLID, "near_convex", "sensors", "pairs of solids", "closest points"),
    Row(_S, n.narrow_surface, SOLID, "near_surface", "sensors", "pairs of solids", "closest points"),
    Row(_S, sense.read_distances, SENSOR, "read_distances", "sensors", "closest points", "readings"),
    Row(_S, step.refresh_poses, _M, "sensor_kernels", "sensors", "q", "body poses"),
    Row(_S, step.refresh_twists, _M, "sensor_kernels", "sensors",
        "link poses, link velocities", "body velocities"),
    Row(_S, user.sensor_kernels, _U, "sensor_kernels", "sensors",
        "q, v, body poses, body velocities", "readings"),
    Row(_S, sense.clip_readings, SENSOR, "read_clipped", "sensors", "readings", "readings"),
)
# fmt: on

_PASSES = 4
"""Solutions of the variational equations with forces evaluated half way before each."""
_FORCES_MIDWAY = (
    "body_springs or joint_motors or fluid or tendons or transmissions or adhesion or lopsided_motors or "
    "actuators or actuated_gravity_compensation"
)
"""Forces that need it."""
_EVALUATIONS = ("first", "second", "third", "last")
"""Names of the four evaluations of a Runge-Kutta step, in conditions."""


def _holds(when: str, true: frozenset[str]) -> bool:
    """Whether a condition holds for the names that are true."""

    def is_true(word: str) -> bool:
        return word[4:] not in true if word.startswith("not ") else word in true

    return not when or all(any(map(is_true, clause.split(" or "))) for clause in when.split(" and "))


def may_hold(when: str, never: frozenset[str]) -> bool:
    """Whether a condition holds for some names, of which others are never true."""
    return not when or all(
        any(word.startswith("not ") or word not in never for word in clause.split(" or "))
        for clause in when.split(" and ")
    )


@cache
def rows_of(plan: StepPlan) -> tuple[Row, ...]:
    """The rows of a step as they run, one after the other; those with a caller stand after it."""
    true = frozenset(name for name, value in plan._asdict().items() if value)
    turns: list[tuple[Phase, frozenset[str]]] = [(Phase.BEGIN, true)]
    if plan.variational:
        turns += [(Phase.EVALUATION, true)] * plan.rows + [(Phase.VARIATIONAL, true)]
    elif plan.runge_kutta:
        turns += [(Phase.EVALUATION, true | {name}) for name in _EVALUATIONS]
    else:
        turns.append((Phase.EVALUATION, true))
    turns.append((Phase.END, true))
    rows = [row for row in TABLE if not (plan.variational and row.of_step and row.phase is _E)]
    made = [row for phase, names in turns for row in rows if row.phase is phase and _holds(row.when, names)]
    if not plan.variational or not _holds(_FORCES_MIDWAY, true):
        return tuple(made)
    midway = [row for row in rows if row.phase is _W and _holds(row.when, true)]
    first = made.index(_SOLVE)
    again = [
        one for row in made[first + 1 :] for one in ([*midway, row] if row.stage is _SOLVE.stage else [row])
    ]
    return (*made[:first], *(_PASSES * [*midway, _SOLVE]), *again)


def in_line(plan: StepPlan) -> tuple[Row, ...]:
    """The rows that the loop over steps runs itself."""
    return tuple(row for row in rows_of(plan) if row.caller is None or plan.fixed)


def stages_of(plan: StepPlan) -> list[tuple[Stage, int]]:
    """The stages of a step with the sets of arenas they run on."""
    return [(row.stage, row.arenas) for row in in_line(plan)]


def forward_stages(plan: StepPlan) -> list[tuple[Stage, int]]:
    """The stages that find accelerations and forces of the present state: one evaluation, no integration."""
    once = plan._replace(runge_kutta=False, variational=False, row_impulses=False, free_spin=False)
    return [
        (row.stage, row.arenas) for row in in_line(once) if row.phase is Phase.EVALUATION and not row.of_step
    ]


def sensor_stages(plan: StepPlan, *, evaluate: bool = True) -> list[tuple[Stage, int]]:
    """The stages that read the sensors a plan requests, of the present state.

    Where they need accelerations or forces, after those of an evaluation, unless one was just made.
    """
    true = frozenset(name for name, value in plan._asdict().items() if value)
    read = [(row.stage, row.arenas) for row in TABLE if row.phase is _S and _holds(row.when, true)]
    return [*forward_stages(plan), *read] if plan.read_dynamics and evaluate else read


def called_stages(plan: StepPlan) -> list[Row]:
    """Rows that stages of the step call by address; none in the fixed layout."""
    if plan.fixed:
        return []
    once = plan._replace(runge_kutta=False)
    return [row for row in rows_of(once) if row.caller is not None]


PAUSES = frozenset(row.stage for row in TABLE if row.pauses)
"""Stages at which a step returns to Python."""

RESUME = {row.stage: row.resume for row in TABLE if row.resume is not None}
"""Stages that look whether there is room, and where a step goes on once there is."""

INSTEAD = {broad: user.call_detector, near_pairs: fixed_shape_poses}
"""Where it goes on where that stage is not part of the step; nowhere if that is not either."""


def markdown() -> str:
    """The table for people to read."""
    lines = ["| stage | when | reads | writes |", "|---|---|---|---|"]
    phase = None
    for row in TABLE:
        if row.phase is not phase:
            phase = row.phase
            lines.append(f"| **{phase.name.lower()}**: {phase.value} | | | |")
        name = f"`{row.stage.name}`" + (f", called by `{row.caller.name}`" if row.caller else "")
        when = row.when.replace("_", " ") or "always"
        lines.append(f"| {name} | {when} | {row.reads} | {row.writes} |")
    return "\n".join(lines) + "\n"
