# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The programs behind the functions of `worldline.model`."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from worldline._src.jit import Stage
from worldline._src.step import stages as s
from worldline._src.step.evaluate import Program

_POSE = (s.positions,)
_MOTION = (s.positions, s.link_velocities)
_RATE = (*_MOTION, s.link_accelerations)
_MASS = (s.positions, s.composites, s.mass_matrix)
_PASSIVE = (s.spring_displacements, s.add_passive_forces)
_LESS_PASSIVE = (s.spring_displacements, s.subtract_passive_forces)
_FACTOR = (*_MASS, s.factor_mass_matrix)

FORWARD_KINEMATICS = Program("forward_kinematics", (s.body_poses,), ("q",), ("q",), ("nbody", 7))
LINK_VELOCITIES = Program(
    "link_velocities", (*_MOTION, s.body_velocities), ("q", "v"), ("q", "qd"), ("nbody", 6)
)
LINK_ACCELERATIONS = Program(
    "link_accelerations", (*_RATE, s.body_accelerations), ("q", "v", "a"), ("q", "qd", "qdd"), ("nbody", 6)
)
BODY_POSES = Program("eval_fk", (s.body_poses,), ("q",), ("joint_q",), ("nbody", 7), partial=True)
BODY_TWISTS = Program(
    "eval_fk", (*_MOTION, s.body_twists), ("q", "v"), ("joint_q", "joint_qd"), ("nbody", 6), partial=True
)
JOINT_COORDINATES = Program(
    "eval_ik",
    (s.joint_coordinates,),
    ("body_q", "body_qd"),
    ("body_q", "body_qd"),
    ("nqv",),
    partial=True,
    one_by_one=True,
)
JACOBIAN = Program("jacobian", (*_POSE, s.point_jacobian), ("q", "point"), ("q", "point"), (6, "nv"))
JACOBIAN_DERIVATIVE = Program(
    "jacobian_derivative",
    (*_MOTION, s.point_jacobian_derivative),
    ("q", "v", "point"),
    ("q", "qd", "point"),
    (6, "nv"),
)
JACOBIAN_DOT_TIMES_V = Program(
    "jacobian_dot_times_v",
    (*_RATE, s.point_bias),
    ("q", "v", "a", "point"),
    ("q", "qd", "qdd", "point"),
    (6,),
)
INVERSE_DYNAMICS = Program(
    "inverse_dynamics",
    (*_MOTION, s.no_wrenches, s.inverse_dynamics, *_LESS_PASSIVE),
    ("q", "v", "a"),
    ("q", "qd", "qdd"),
    ("nv",),
)
INVERSE_DYNAMICS_WRENCHES = Program(
    "inverse_dynamics",
    (*_MOTION, s.wrenches, s.inverse_dynamics, *_LESS_PASSIVE),
    ("q", "v", "a", "wrench"),
    ("q", "qd", "qdd", "wrenches"),
    ("nv",),
)
BIAS_FORCES = Program(
    "bias_forces", (*_MOTION, s.no_wrenches, s.inverse_dynamics), ("q", "v", "a"), ("q", "qd", "qdd"), ("nv",)
)
FORWARD_DYNAMICS = Program(
    "forward_dynamics",
    (*_MOTION, s.no_wrenches, *_PASSIVE, s.forward_dynamics),
    ("q", "v", "tau"),
    ("q", "qd", "tau"),
    ("nv",),
    needs_inertia="mobile",
)
FORWARD_DYNAMICS_WRENCHES = Program(
    "forward_dynamics",
    (*_MOTION, s.wrenches, *_PASSIVE, s.forward_dynamics),
    ("q", "v", "tau", "wrench"),
    ("q", "qd", "tau", "wrenches"),
    ("nv",),
    needs_inertia="mobile",
)
PASSIVE_FORCES = Program(
    "passive_forces", (s.spring_displacements, s.passive_forces), ("q", "v"), ("q", "qd"), ("nv",)
)


def _compensated(program: Program, *after: Stage) -> Program:
    """A program for models with gravity compensation, which is one more force on links."""
    chosen: list[Stage] = []
    for stage in program.stages:
        chosen += [stage, s.compensate_gravity] if stage in (s.no_wrenches, s.wrenches) else [stage]
    return replace(program, stages=(*chosen, *after))


INVERSE_DYNAMICS_COMPENSATED = _compensated(INVERSE_DYNAMICS)
INVERSE_DYNAMICS_WRENCHES_COMPENSATED = _compensated(INVERSE_DYNAMICS_WRENCHES)
FORWARD_DYNAMICS_COMPENSATED = _compensated(FORWARD_DYNAMICS)
FORWARD_DYNAMICS_WRENCHES_COMPENSATED = _compensated(FORWARD_DYNAMICS_WRENCHES)
PASSIVE_FORCES_COMPENSATED = _compensated(
    replace(PASSIVE_FORCES, stages=(*_POSE, s.no_wrenches, *PASSIVE_FORCES.stages)), s.add_link_forces
)
COMPENSATED = {
    id(INVERSE_DYNAMICS): INVERSE_DYNAMICS_COMPENSATED,
    id(INVERSE_DYNAMICS_WRENCHES): INVERSE_DYNAMICS_WRENCHES_COMPENSATED,
    id(FORWARD_DYNAMICS): FORWARD_DYNAMICS_COMPENSATED,
    id(FORWARD_DYNAMICS_WRENCHES): FORWARD_DYNAMICS_WRENCHES_COMPENSATED,
    id(PASSIVE_FORCES): PASSIVE_FORCES_COMPENSATED,
}
"""For models with gravity compensation, by the program they take the place of."""


def _response(name: str, stage: Stage, operand: str, needs_inertia: Literal["mobile", "all"]) -> Program:
    """What the factored mass matrix makes of generalized forces or impulses."""
    stages, given = (*_FACTOR, stage), ("q", operand)
    return Program(name, stages, ("q", "tau"), given, ("nv",), result="tau", needs_inertia=needs_inertia)


MASS_MATRIX = Program("mass_matrix", _MASS, ("q",), ("q",), ("nv", "nv"), result="M")
MASS_MATRIX_INVERSE = Program(
    "mass_matrix_inverse", (*_FACTOR, s.invert_mass_matrix), ("q",), ("q",), ("nv", "nv"), needs_inertia="all"
)
SOLVE_MASS_MATRIX = _response("solve_mass_matrix", s.solve_mass_matrix, "rhs", "all")
IMPULSE_RESPONSE = _response("impulse_response", s.impulse_response, "impulse", "mobile")
CENTER_OF_MASS = Program("center_of_mass", (*_POSE, s.com_position), ("q",), ("q",), (3,))
CENTER_OF_MASS_VELOCITY = Program(
    "center_of_mass_velocity", (*_MOTION, s.com_velocity), ("q", "v"), ("q", "qd"), (3,)
)
CENTER_OF_MASS_ACCELERATION = Program(
    "center_of_mass_acceleration", (*_RATE, s.com_acceleration), ("q", "v", "a"), ("q", "qd", "qdd"), (3,)
)
CENTER_OF_MASS_JACOBIAN = Program(
    "center_of_mass_jacobian", (*_POSE, s.composites, s.com_jacobian), ("q",), ("q",), (3, "nv")
)
MOMENTUM = Program("momentum", (*_MOTION, s.total_momentum), ("q", "v"), ("q", "qd"), (6,))
CENTROIDAL_MOMENTUM_MATRIX = Program(
    "centroidal_momentum_matrix", (*_POSE, s.composites, s.centroidal_matrix), ("q",), ("q",), (6, "nv")
)
KINETIC_ENERGY = Program("kinetic_energy", (*_MOTION, s.kinetic_energy), ("q", "v"), ("q", "qd"), ())
POTENTIAL_ENERGY = Program(
    "potential_energy", (*_POSE, s.spring_displacements, s.potential_energy), ("q",), ("q",), ()
)
INTEGRATE = Program(
    "integrate", (s.integrate,), ("q", "v", "fraction"), ("q", "displacement", "fraction"), ("nq",)
)
DIFFERENCE = Program("difference", (s.difference,), ("q", "q_other"), ("q0", "q1"), ("nv",), result="v")
INTERPOLATE = Program(
    "interpolate",
    (s.difference, s.integrate),
    ("q", "q_other", "fraction"),
    ("q0", "q1", "fraction"),
    ("nq",),
)

ALL = tuple(p for p in globals().values() if isinstance(p, Program))
"""Every program, for warming the compile cache and for tests that go through all of them."""
