# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every function of `worldline.model` on (model, operands), with the operands it takes by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import worldline.model as wm


class Function(NamedTuple):
    """A function with one signature for all: call(model, *operands, **options)."""

    call: Callable[..., Any]
    operands: tuple[str, ...]


def _wrenches(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, q, v, a, w, **k: function(m, q, v, a, wrenches=w, **k)


def _last(model: wm.Model) -> int:
    return model.body_count - 1


FUNCTIONS: dict[str, Function] = {
    "forward_kinematics": Function(wm.forward_kinematics, ("q",)),
    "link_velocities": Function(wm.link_velocities, ("q", "qd")),
    "link_accelerations": Function(wm.link_accelerations, ("q", "qd", "qdd")),
    "jacobian": Function(lambda m, q, p, **k: wm.jacobian(m, q, _last(m), p, **k), ("q", "point")),
    "jacobian_link_axes": Function(
        lambda m, q, p, **k: wm.jacobian(m, q, _last(m), p, axes="link", **k), ("q", "point")
    ),
    "jacobian_derivative": Function(
        lambda m, q, v, p, **k: wm.jacobian_derivative(m, q, v, _last(m), p, **k), ("q", "qd", "point")
    ),
    "jacobian_dot_times_v": Function(
        lambda m, q, v, p, **k: wm.jacobian_dot_times_v(m, q, v, _last(m), p, **k), ("q", "qd", "point")
    ),
    "inverse_dynamics": Function(wm.inverse_dynamics, ("q", "qd", "qdd")),
    "inverse_dynamics_wrenches": Function(_wrenches(wm.inverse_dynamics), ("q", "qd", "qdd", "wrenches")),
    "bias_forces": Function(wm.bias_forces, ("q", "qd")),
    "coriolis_forces": Function(wm.coriolis_forces, ("q", "qd")),
    "gravity_forces": Function(wm.gravity_forces, ("q",)),
    "passive_forces": Function(wm.passive_forces, ("q", "qd")),
    "forward_dynamics": Function(wm.forward_dynamics, ("q", "qd", "tau")),
    "forward_dynamics_wrenches": Function(_wrenches(wm.forward_dynamics), ("q", "qd", "tau", "wrenches")),
    "mass_matrix": Function(wm.mass_matrix, ("q",)),
    "mass_matrix_inverse": Function(wm.mass_matrix_inverse, ("q",)),
    "solve_mass_matrix": Function(wm.solve_mass_matrix, ("q", "rhs")),
    "impulse_response": Function(wm.impulse_response, ("q", "impulse")),
    "center_of_mass": Function(wm.center_of_mass, ("q",)),
    "center_of_mass_velocity": Function(wm.center_of_mass_velocity, ("q", "qd")),
    "center_of_mass_acceleration": Function(wm.center_of_mass_acceleration, ("q", "qd", "qdd")),
    "center_of_mass_jacobian": Function(wm.center_of_mass_jacobian, ("q",)),
    "momentum": Function(wm.momentum, ("q", "qd")),
    "momentum_origin": Function(lambda m, q, v, **k: wm.momentum(m, q, v, about="origin", **k), ("q", "qd")),
    "centroidal_momentum_matrix": Function(wm.centroidal_momentum_matrix, ("q",)),
    "kinetic_energy": Function(wm.kinetic_energy, ("q", "qd")),
    "potential_energy": Function(wm.potential_energy, ("q",)),
    "integrate": Function(wm.integrate, ("q", "displacement")),
    "difference": Function(wm.difference, ("q0", "q1")),
    "interpolate": Function(wm.interpolate, ("q0", "q1", "fraction")),
}

ELSEWHERE = {
    "balance_margin",
    "bind",
    "body_regressor",
    "centroidal_derivatives",
    "constrained_dynamics",
    "delassus_matrix",
    "eval_fk",
    "eval_bias_forces",
    "eval_ik",
    "eval_jacobian",
    "eval_mass_matrix",
    "forward_dynamics_derivatives",
    "freeze_joints",
    "inertial_parameters",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_second_derivatives",
    "joint_torque_regressor",
    "integration_derivatives",
    "kinematics_derivatives",
    "kinetic_energy_regressor",
    "neutral",
    "potential_energy_regressor",
    "random_configuration",
    "step",
    "support_polygon",
    "zero_moment_point",
}
"""Functions that do not take operands and `out`."""


def shape_of(model: wm.Model, operand: str) -> tuple[int, ...]:
    """The shape of an operand of one world."""
    if operand in ("q", "q0", "q1"):
        return (model.joint_coord_count,)
    return {"wrenches": (model.body_count, 6), "point": (3,), "fraction": ()}.get(
        operand, (model.joint_dof_count,)
    )


def random_operands(
    model: wm.Model, function: Function, rng: np.random.Generator, worlds: int | None = None
) -> list[np.ndarray]:
    """Operands of a function, with a world dimension or without."""
    lead = () if worlds is None else (worlds,)
    return [
        wm.random_configuration(model, rng, worlds=worlds)
        if name in ("q", "q0", "q1")
        else np.array(rng.uniform(-1.0, 1.0, (*lead, *shape_of(model, name))))
        for name in function.operands
    ]
