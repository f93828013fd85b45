# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The named tuples of arrays that kernels receive, cut from the arenas by the field table.

A view groups what is read or written together; its signature in a kernel says what the kernel touches.
`build(m, c, d)` of a view is merged into the stage that calls it and costs a few address computations.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from worldline._src.jit import inline
from worldline._src.kernels import joints
from worldline._src.model.fields import BY_NAME, ENTRY
from worldline._src.scalar.memory import matrix, shared_matrix, shared_vector, vector

_ARENA = {"index": "m", "constant": "c", "data": "d"}


def _size(symbol: str | int) -> str:
    return str(symbol) if isinstance(symbol, int) else f"m[{ENTRY[symbol]}]"


def _builder(view: type, fields: tuple[str, ...]) -> Any:
    """Write and compile `build(m, c, d)` for a view from the table."""
    cuts = []
    for name in fields:
        field = BY_NAME[name]
        sizes = ", ".join(_size(s) for s in field.shape)
        cut = "vector" if len(field.shape) == 1 else "matrix"
        if field.shared:
            cut = f"shared_{cut}"
        cuts.append(f"{cut}({_ARENA[field.space]}, m[{ENTRY[name]}], {sizes})")
    source = f"def build(m, c, d):\n    return {view.__name__}({', '.join(cuts)})\n"
    scope: dict[str, Any] = {"vector": vector, "matrix": matrix, view.__name__: view}
    scope |= {"shared_vector": shared_vector, "shared_matrix": shared_matrix}
    exec(compile(source, f"<view {view.__name__}>", "exec"), scope)
    return inline(scope["build"])


def _view(name: str, *fields: str) -> Any:
    view = namedtuple(name, fields)  # type: ignore[misc] # the fields come from the table
    view.__module__ = __name__
    view.__doc__ = "\n".join(f"{f}: {BY_NAME[f].doc}" for f in fields)
    return view, _builder(view, fields)


TreeView, tree_view = _view(
    "TreeView",
    "link_parent",
    "link_kind",
    "link_q_start",
    "link_v_start",
    "link_v_end",
    "link_root",
    "dof_block",
    "link_bend",
)
JointView, joint_view = _view("JointView", "link_R_pre", "link_p_pre", "dof_R_pre", *joints.MOTION)
TurnView, turn_view = _view(
    "TurnView",
    "link_Q_pre",
    "link_p_pre",
    "link_turned",
    "dof_Q_pre",
    "link_Q_post",
    *joints.MOTION,
)
PoseView, pose_view = _view("PoseView", "link_Q", "link_x")
BodyView, body_view = _view("BodyView", "link_body", "body_link", "link_offset", "link_R_post", "link_p_post")
InertiaView, inertia_view = _view(
    "InertiaView",
    "link_mass",
    "link_com",
    "link_inertia",
    "link_leaf",
    "link_first",
    "dof_armature",
    "dof_mobile",
)
DofView, dof_view = _view("DofView", "dof_link", "dof_parent", "dof_mobile")
ChainView, chain_view = _view("ChainView", "dof_parent", "link_last", "dof_mobile")
PassiveView, passive_view = _view("PassiveView", "dof_damping", "dof_stiffness", "q_rest")
AnchorView, anchor_view = _view(
    "AnchorView",
    "link_R_anchor",
    "link_p_anchor",
    "link_R_child",
    "link_p_child",
    "body_com",
    "dof_kind",
    "dof_axis",
    "dof_pitch",
    "dof_axis_count",
)
OperandView, operand_view = _view(
    "OperandView", "q", "q_other", "v", "a", "tau", "wrench", "point", "fraction", "result"
)
SpinView, spin_view = _view("SpinView", "link_floating", "spin_turn", "link_spin")
FieldView, field_view = _view("FieldView", "gravity")
GravityCompensationView, gravity_compensation_view = _view(
    "GravityCompensationView", "link_gravcomp", "gravity"
)
MaximalView, maximal_view = _view("MaximalView", "body_q", "body_qd")
DriveView, drive_view = _view(
    "DriveView",
    "dof_drive",
    "dof_target_ke",
    "dof_target_kd",
    "dof_follows_velocity",
    "dof_effort_limit",
    "dof_effort_lower",
)
LimitView, limit_view = _view("LimitView", "dof_velocity_limit", "dof_velocity_lower")
ControlView, control_view = _view("ControlView", "force", "q_target", "v_target", "a_target")
ClockView, clock_view = _view("ClockView", "clock")
StepView, step_view = _view("StepView", "time_step", "body_f", "state", "controls")
StartView, start_view = _view("StartView", "q_start", "v_start", "v_sum", "a_sum", "v_part")
MoveView, move_view = _view("MoveView", "p_start", "displacement", "impulse", "solver_report")
MomentumView, momentum_view = _view(
    "MomentumView", "link_H", "dof_p", "dof_f", "dof_gap", "dof_extra", "dof_S_kept", "p_end"
)
GroundView, ground_view = _view(
    "GroundView",
    "ground_link",
    "ground_cadence",
    "ground_point",
    "ground_plane",
    "ground_tangent",
    "ground_law",
    "ground_dual",
    "ground_start",
    "ground_yield",
)
MixingView, mixing_view = _view(
    "MixingView", "mix_x", "mix_f", "mix_g", "mix_x_last", "mix_f_last", "mix_g_last"
)
SolverView, solver_view = _view("SolverView", "solver_options")
PositionView, position_view = _view(
    "PositionView", "link_R", "link_p", "link_origin", "dof_S", *joints.POSITION
)
VelocityView, velocity_view = _view("VelocityView", "link_V", "link_c")
AccelerationView, acceleration_view = _view("AccelerationView", "link_A", "link_F")
ArticulatedView, articulated_view = _view("ArticulatedView", "link_IA", "dof_U", "dof_D", "dof_u")
MassView, mass_view = _view("MassView", "link_crb", "M", "L")
