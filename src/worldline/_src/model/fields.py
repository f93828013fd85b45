# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The one table of every array the kernels see.

Three arenas hold them. `index` and `constant` belong to a Model and are shared by all worlds; `data`
belongs to one world, or to one group of lanes, and starts with the operands of a call. Kernel links are
numbered in tree order with 0 for the world, so every link has a parent row and no root is special.

The first entries of the index arena are a header: the sizes, then the offset of every field. Allocation,
views and documentation all read this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from worldline._src.kernels import joints

Space = Literal["index", "constant", "data"]

SIZES = ("nlink", "nq", "nv", "nqv", "nqvv", "nbody", "nresult", "nground", *joints.SIZES)
"""Symbolic sizes: links with the world, coordinates, velocities, nq + nv, nq + 2 nv, bodies, the longest
result, points that may touch the ground, and those of kinds of joints."""


@dataclass(frozen=True)
class Field:
    """One array: where it lives, its symbolic shape, what it means."""

    name: str
    space: Space
    shape: tuple[str | int, ...]
    doc: str
    shared: bool = False
    """Whether a constant is the same in all worlds, also where they have parameters of their own: kernels
    branch on it."""


FIELDS: tuple[Field, ...] = (
    # topology
    Field("link_parent", "index", ("nlink",), "parent link; 0 is the world"),
    Field("link_root", "index", ("nlink",), "link whose position is the reference point of the tree"),
    Field("link_kind", "index", ("nlink",), "how the joint moves: kernels/joints.py"),
    Field("link_body", "index", ("nlink",), "index of the body in the Model"),
    Field("link_q_start", "index", ("nlink",), "first coordinate of the joint"),
    Field("link_v_start", "index", ("nlink",), "first velocity of the joint"),
    Field("link_v_end", "index", ("nlink",), "one past the last velocity of the joint"),
    Field("link_leaf", "index", ("nlink",), "1 when no link hangs on this one"),
    Field(
        "link_first",
        "index",
        ("nlink",),
        "1 for the link that reaches its parent first, tip to base",
    ),
    Field("link_offset", "index", ("nlink",), "1 when the body frame is not the joint frame"),
    Field("link_turned", "index", ("nlink",), "1 when the joint is turned against the parent link"),
    Field("body_link", "index", ("nbody",), "kernel link of a body, 0 when it is in no tree"),
    Field("dof_block", "index", ("nv",), "1 where the columns after it move with what came before"),
    Field("dof_link", "index", ("nv",), "kernel link a velocity belongs to"),
    Field("dof_parent", "index", ("nv",), "velocity before this one on the way to the world, or -1"),
    Field("link_last", "index", ("nlink",), "last velocity that moves the link, or -1"),
    Field("dof_axis_count", "index", ("nlink",), "columns of the joint that turn, at its end"),
    # geometry, joint frames turned so that the axis is local z
    Field("link_R_pre", "constant", ("nlink", 9), "rotation from parent link to joint"),
    Field("link_p_pre", "constant", ("nlink", 3), "position of the joint in the parent link [m]"),
    Field("dof_R_pre", "constant", ("nv", 9), "rotation from the axis before to this axis"),
    Field("dof_axis", "constant", ("nv", 3), "axis in the joint frame before any motion"),
    Field("link_Q_pre", "constant", ("nlink", 4), "link_R_pre as xyzw"),
    Field("dof_Q_pre", "constant", ("nv", 4), "dof_R_pre as xyzw"),
    Field("link_Q_post", "constant", ("nlink", 4), "link_R_post as xyzw"),
    Field("link_R_post", "constant", ("nlink", 9), "rotation from kernel link to body frame"),
    Field("link_p_post", "constant", ("nlink", 3), "body origin in the kernel link [m]"),
    Field("link_R_anchor", "constant", ("nlink", 9), "rotation from parent body to joint, unturned"),
    Field("link_p_anchor", "constant", ("nlink", 3), "joint position in the parent body [m]"),
    Field("link_R_child", "constant", ("nlink", 9), "rotation from moved joint to body"),
    Field("link_p_child", "constant", ("nlink", 3), "body origin in the moved joint [m]"),
    Field("body_com", "constant", ("nbody", 3), "centre of mass in the body frame [m]"),
    # mass and passive properties
    Field("link_mass", "constant", ("nlink",), "mass [kg]"),
    Field("link_com", "constant", ("nlink", 3), "centre of mass in the kernel link [m]"),
    Field("link_gravcomp", "constant", ("nlink",), "share of the weight that is taken off"),
    Field("link_inertia", "constant", ("nlink", 6), "about the centre of mass, link axes [kg m^2]"),
    Field("dof_armature", "constant", ("nv",), "added inertia [kg or kg m^2]"),
    Field("dof_mobile", "constant", ("nv",), "0 for degrees of freedom of kinematic bodies, else 1", True),
    Field("dof_damping", "constant", ("nv",), "[N s/m or N m s/rad]"),
    Field("dof_stiffness", "constant", ("nv",), "[N/m or N m/rad]"),
    Field(
        "link_floating",
        "constant",
        ("nlink",),
        "1 for a free body on its own whose spin can change in its axes: kernels/free_spin.py",
        True,
    ),
    Field("q_rest", "constant", ("nq",), "coordinates where springs are relaxed"),
    Field("gravity", "constant", (3,), "[m/s^2], world axes"),
    Field(
        "spin_turn",
        "constant",
        (1,),
        "turn of a free body in a step from which on it keeps momentum [rad]",
        True,
    ),
    # drives and limits of a step
    Field("dof_drive", "index", ("nv",), "what a command means: kernels/drives.py"),
    Field("dof_target_ke", "constant", ("nv",), "gain on position error [N/m or N m/rad]"),
    Field("dof_target_kd", "constant", ("nv",), "gain on velocity error [N s/m or N m s/rad]"),
    Field("dof_follows_velocity", "constant", ("nv",), "1 where drives lead to v_target, 0 where to rest"),
    Field("dof_effort_limit", "constant", ("nv",), "largest commanded force [N or N m]"),
    Field("dof_effort_lower", "constant", ("nv",), "least commanded force [N or N m]"),
    Field("dof_velocity_limit", "constant", ("nv",), "largest velocity [m/s or rad/s]"),
    Field("dof_velocity_lower", "constant", ("nv",), "least velocity [m/s or rad/s]"),
    Field(
        "solver_options",
        "constant",
        (2,),
        "tolerance and most iterations of the variational integrator",
        True,
    ),
    # points on a ground plane, links in falling order
    Field("ground_link", "index", ("nground",), "kernel link that has the point"),
    Field("ground_cadence", "index", ("nground",), "steps from one update of the dual to the next, 0 none"),
    Field("ground_point", "constant", ("nground", 3), "the point in the kernel link [m]"),
    Field("ground_plane", "constant", ("nground", 4), "unit normal, and its product with the plane's points"),
    Field("ground_tangent", "constant", ("nground", 3), "a unit vector along the plane"),
    Field("ground_law", "constant", ("nground", 4), "stiffness, friction, square of its speed, damping"),
    # operands of a call
    Field("q", "data", ("nq",), "coordinates"),
    Field("q_other", "data", ("nq",), "second coordinates, of differences and interpolation"),
    Field("v", "data", ("nv",), "velocities"),
    Field("a", "data", ("nv",), "accelerations"),
    Field("tau", "data", ("nv",), "generalized forces"),
    Field("wrench", "data", ("nbody", 6), "external wrenches: moment about the origin, force; world axes"),
    Field("point", "data", (3,), "a point in a body frame [m]"),
    Field("fraction", "data", (1,), "how far to interpolate"),
    Field("body_q", "data", ("nbody", 7), "position and xyzw of the body origin"),
    Field("body_qd", "data", ("nbody", 6), "linear velocity of the centre of mass, angular velocity"),
    Field("time_step", "data", (1,), "[s]"),
    Field("state", "data", ("nqv",), "coordinates, then velocities, in and out of a step"),
    Field("controls", "data", ("nqvv",), "target coordinates, target velocities, forces, in one row"),
    Field("body_f", "data", ("nbody", 6), "torque, force at the centre of mass; world axes"),
    # control and clock of a world that steps in place
    Field("force", "data", ("nv",), "commanded generalized forces"),
    Field("q_target", "data", ("nq",), "coordinates that position drives lead to"),
    Field("v_target", "data", ("nv",), "velocities that drives lead to, or prescribed velocities"),
    Field("a_target", "data", ("nv",), "prescribed accelerations"),
    Field("clock", "data", (2,), "steps since the start, steps since the time was last set"),
    # depends on q
    Field("link_R", "data", ("nlink", 9), "rotation of the kernel link, world axes"),
    Field("link_p", "data", ("nlink", 3), "position relative to the reference point [m]"),
    Field("link_origin", "data", ("nlink", 3), "reference point of the tree, valid at roots [m]"),
    Field("link_Q", "data", ("nlink", 4), "orientation of the kernel link, xyzw"),
    Field("link_x", "data", ("nlink", 3), "position of the kernel link, world frame [m]"),
    Field("dof_S", "data", ("nv", 6), "motion of one unit of velocity"),
    # how kinds of joints move
    *(Field(name, space, shape, doc) for name, space, shape, doc in joints.FIELDS),
    # depends on q and v
    Field("link_V", "data", ("nlink", 6), "spatial velocity"),
    Field("link_c", "data", ("nlink", 6), "acceleration of the joint at zero joint acceleration"),
    # depends on q, v and a, or on forces
    Field("link_A", "data", ("nlink", 6), "spatial acceleration"),
    Field("link_F", "data", ("nlink", 6), "force through the joint, or bias force"),
    # articulated-body algorithm
    Field("link_IA", "data", ("nlink", 21), "articulated inertia handed up by the children"),
    Field("dof_U", "data", ("nv", 6), "articulated inertia times dof_S"),
    Field("dof_D", "data", ("nv",), "inverse of the inertia a joint sees"),
    Field("dof_u", "data", ("nv",), "force a joint sees"),
    # mass matrix
    Field("link_crb", "data", ("nlink", 10), "composite inertia of the subtree"),
    # integrators: the state at the start of a step, and sums over its parts
    Field("q_start", "data", ("nq",), "coordinates at the start of a step"),
    Field("v_start", "data", ("nv",), "velocities at the start of a step"),
    Field("v_sum", "data", ("nv",), "weighted sum of velocities over the parts of a step"),
    Field("a_sum", "data", ("nv",), "weighted sum of accelerations over the parts of a step"),
    Field("v_part", "data", ("nv",), "rate of the displacement since the start of a step"),
    Field("link_spin", "data", ("nlink", 4), "momentum a turn takes out of a body's axes, 1 if kept so"),
    # variational integrator
    Field("link_H", "data", ("nlink", 6), "momentum of a link, or of the subtree it carries"),
    Field("dof_p", "data", ("nv",), "generalized momenta"),
    Field("dof_f", "data", ("nv",), "rates of the generalized momenta"),
    Field("dof_gap", "data", ("nv",), "momenta that the equations of a step still miss"),
    Field("dof_extra", "data", ("nv",), "added to the inertia by dampers and springs"),
    Field("dof_S_kept", "data", ("nv", 6), "dof_S where the matrix of the solver was factored"),
    Field("p_start", "data", ("nv",), "generalized momenta at the start of a step"),
    Field("p_end", "data", ("nv",), "generalized momenta at the end of a step"),
    Field("displacement", "data", ("nv",), "how far a step moves the coordinates"),
    Field("impulse", "data", ("nv",), "generalized impulse of a step, axes of its middle"),
    Field("mix_x", "data", (8, "nv"), "Anderson mixing: steps made"),
    Field("mix_f", "data", (8, "nv"), "Anderson mixing: changes of the correction they caused"),
    Field("mix_g", "data", (8, "nv"), "Anderson mixing: changes of the momenta missed"),
    Field("mix_x_last", "data", ("nv",), "Anderson mixing: the last step"),
    Field("mix_f_last", "data", ("nv",), "Anderson mixing: the correction before it"),
    Field("mix_g_last", "data", ("nv",), "Anderson mixing: the momenta missed before it"),
    Field("ground_dual", "data", ("nground", 2), "dual force of a point [N], steps since its update"),
    Field("ground_start", "data", ("nground", 3), "velocity of the point at the start of a step [m/s]"),
    Field("ground_yield", "data", ("nground", 12), "inertia that the ground adds: kernels/ground_contact.py"),
    Field("solver_report", "data", (3,), "iterations of a step, 1 if not solved, last correction"),
    # what only some calls need and grows with the square of the size; a world that steps has none of it
    Field("result", "data", ("nresult",), "what the call returns"),
    Field("M", "data", ("nv", "nv"), "mass matrix; entries off the tree's pattern stay zero"),
    Field("L", "data", ("nv", "nv"), "factor of M = L^T L, lower, off-pattern entries stay zero"),
)

BY_NAME = {field.name: field for field in FIELDS}
HEADER = len(SIZES) + len(FIELDS)
ENTRY = {name: i for i, name in enumerate((*SIZES, *(field.name for field in FIELDS)))}
"""Position of every size and every field offset in the header of the index arena."""


def extent(shape: tuple[str | int, ...], sizes: dict[str, int]) -> tuple[int, ...]:
    """A symbolic shape with numbers for its symbols."""
    return tuple(s if isinstance(s, int) else sizes[s] for s in shape)
