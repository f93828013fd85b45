# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What parameters of kernels mean in stages over the arenas of a model: operands by name.

A stage of constraints or sensors reaches these arenas too, and a name means the same there; see
`derived_stages.py`.
"""

from __future__ import annotations

from typing import Any

from worldline._src.derived_stages import Cut, Operand, Part, StageMaker
from worldline._src.jit import inline
from worldline._src.model import views as t
from worldline._src.model.fields import ENTRY
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import matrix, vector

_RESULT, _NV = ENTRY["result"], ENTRY["nv"]
_BODY_Q, _BODY_QD, _NBODY = ENTRY["body_q"], ENTRY["body_qd"], ENTRY["nbody"]


class Shaped(NamedTuple):
    """An array in another shape; helpers of kernels return tuples of arrays, not arrays."""

    values: Any


@inline
def three_rows(m, d):
    """The result as a matrix (3, nv)."""
    return Shaped(matrix(d, m[_RESULT], 3, m[_NV]))


@inline
def six_rows(m, d):
    """The result as a matrix (6, nv)."""
    return Shaped(matrix(d, m[_RESULT], 6, m[_NV]))


@inline
def square_result(m, d):
    """The result as a matrix (nv, nv)."""
    return Shaped(matrix(d, m[_RESULT], m[_NV], m[_NV]))


@inline
def body_poses(m, d):
    """Position and xyzw of every body."""
    return Shaped(vector(d, m[_BODY_Q], 7 * m[_NBODY]))


@inline
def body_twists(m, d):
    """Velocity of the centre of mass and angular velocity of every body."""
    return Shaped(vector(d, m[_BODY_QD], 6 * m[_NBODY]))


TREES: dict[str, Operand] = {
    "tree": Cut(t.tree_view),
    "joint": Cut(t.joint_view),
    "turn": Cut(t.turn_view),
    "pose": Cut(t.pose_view),
    "body": Cut(t.body_view),
    "inertia": Cut(t.inertia_view),
    "dof": Cut(t.dof_view),
    "chain": Cut(t.chain_view),
    "passive": Cut(t.passive_view),
    "anchor": Cut(t.anchor_view),
    "maximal": Cut(t.maximal_view),
    "spin": Cut(t.spin_view),
    "compensation": Cut(t.gravity_compensation_view),
    "drive": Cut(t.drive_view),
    "control": Cut(t.control_view),
    "speed_limit": Cut(t.limit_view),
    "step": Cut(t.step_view),
    "start": Cut(t.start_view),
    "move": Cut(t.move_view),
    "mom": Cut(t.momentum_view),
    "ground": Cut(t.ground_view),
    "mixing": Cut(t.mixing_view),
    "pos": Cut(t.position_view),
    "vel": Cut(t.velocity_view),
    "acc": Cut(t.acceleration_view),
    "art": Cut(t.articulated_view),
    "mass": Cut(t.mass_view),
    "q": Cut(t.operand_view, "q"),
    "q_other": Cut(t.operand_view, "q_other"),
    "v": Cut(t.operand_view, "v"),
    "a": Cut(t.operand_view, "a"),
    "tau": Cut(t.operand_view, "tau"),
    "wrench": Cut(t.operand_view, "wrench"),
    "point": Cut(t.operand_view, "point"),
    "fraction": Cut(t.operand_view, "fraction[0]"),
    "result": Cut(t.operand_view, "result"),
    "three_rows": Cut(three_rows, "values"),
    "six_rows": Cut(six_rows, "values"),
    "square_result": Cut(square_result, "values"),
    "body_poses": Cut(body_poses, "values"),
    "body_twists": Cut(body_twists, "values"),
    "h": Cut(t.step_view, "time_step[0]"),
    "body_f": Cut(t.step_view, "body_f"),
    "clock": Cut(t.clock_view, "clock"),
    "gravity": Cut(t.field_view, "gravity"),
    "solver_options": Cut(t.solver_view, "solver_options"),
    "q_rest": Cut(t.passive_view, "q_rest"),
    "q_target": Cut(t.control_view, "q_target"),
    "v_target": Cut(t.control_view, "v_target"),
    "a_target": Cut(t.control_view, "a_target"),
    "v_part": Cut(t.start_view, "v_part"),
    "link_mass": Cut(t.inertia_view, "link_mass"),
    "link_V": Cut(t.velocity_view, "link_V"),
    "link_c": Cut(t.velocity_view, "link_c"),
    "A": Cut(t.acceleration_view, "link_A"),
    "link_F": Cut(t.acceleration_view, "link_F"),
    "dof_u": Cut(t.articulated_view, "dof_u"),
    "crb": Cut(t.mass_view, "link_crb"),
    "M": Cut(t.mass_view, "M"),
    "L": Cut(t.mass_view, "L"),
}

tree_stage = StageMaker(Part(TREES, t))
"""Stages over the arenas of a model."""
