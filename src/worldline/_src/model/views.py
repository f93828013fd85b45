# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The named tuples of arrays that kernels receive, cut from the arenas by the field table.

A view groups what is read or written together; its signature in a kernel says what the kernel touches. The
function that cuts one is merged into the stage that calls it and costs a few address computations.
"""

from __future__ import annotations

from collections.abc import Callable

from worldline._src.model.fields import BY_NAME, ENTRY
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.columns import Integers, Numbers, View, cut_from

_ARENA = {"index": "m", "constant": "c", "data": "d"}


def _expression(name: str) -> str:
    """How a field of a view is cut."""
    field = BY_NAME[name]
    sizes = ", ".join(str(s) if isinstance(s, int) else f"m[{ENTRY[s]}]" for s in field.shape)
    cut = "vector" if len(field.shape) == 1 else "matrix"
    cut = f"shared_{cut}" if field.shared else cut
    return f"{cut}({_ARENA[field.space]}, m[{ENTRY[name]}], {sizes})"


def _cut(view: type[View]) -> Callable[..., View]:
    """The function of (m, c, d) that cuts a view from the arenas of a model."""
    return cut_from(view, _expression, "m, c, d")


class TreeView(NamedTuple):
    """Topology of the links."""

    link_parent: Integers
    link_kind: Integers
    link_q_start: Integers
    link_v_start: Integers
    link_v_end: Integers
    link_root: Integers
    dof_block: Integers
    link_bend: Integers


class JointView(NamedTuple):
    """Joint frames, and how joints move."""

    link_R_pre: Numbers
    link_p_pre: Numbers
    dof_R_pre: Numbers
    dof_kind: Integers
    dof_pitch: Numbers
    dof_turn: Integers
    turn_q: Integers
    custom_kind: Integers
    custom_axis: Numbers
    custom_terms: Integers
    term_pieces: Integers
    piece_degree: Integers
    piece: Numbers


class TurnView(NamedTuple):
    """Joint frames as quaternions, and how joints move."""

    link_Q_pre: Numbers
    link_p_pre: Numbers
    link_turned: Integers
    dof_Q_pre: Numbers
    link_Q_post: Numbers
    dof_kind: Integers
    dof_pitch: Numbers
    dof_turn: Integers
    turn_q: Integers
    custom_kind: Integers
    custom_axis: Numbers
    custom_terms: Integers
    term_pieces: Integers
    piece_degree: Integers
    piece: Numbers


class PoseView(NamedTuple):
    """Poses of links."""

    link_Q: Numbers
    link_x: Numbers
    turn_sin: Numbers
    turn_cos: Numbers


class BodyView(NamedTuple):
    """Bodies and the links they are fixed to."""

    link_body: Integers
    body_link: Integers
    link_offset: Integers
    link_R_post: Numbers
    link_p_post: Numbers


class InertiaView(NamedTuple):
    """Inertias of links and of degrees of freedom."""

    link_mass: Numbers
    link_com: Numbers
    link_inertia: Numbers
    link_leaf: Integers
    link_first: Integers
    dof_armature: Numbers
    dof_mobile: Numbers


class DofView(NamedTuple):
    """Degrees of freedom: links, parents, whether they move."""

    dof_link: Integers
    dof_parent: Integers
    dof_mobile: Numbers


class ChainView(NamedTuple):
    """Degrees of freedom on the chain from a link to the world."""

    dof_parent: Integers
    link_last: Integers
    dof_mobile: Numbers


class PassiveView(NamedTuple):
    """Springs and dampers of joints."""

    dof_damping: Numbers
    dof_stiffness: Numbers
    q_rest: Numbers


class AnchorView(NamedTuple):
    """Joint frames in both bodies, unturned, and axes."""

    link_R_anchor: Numbers
    link_p_anchor: Numbers
    link_R_child: Numbers
    link_p_child: Numbers
    body_com: Numbers
    dof_kind: Integers
    dof_axis: Numbers
    dof_pitch: Numbers
    dof_axis_count: Integers


class OperandView(NamedTuple):
    """Operands and result of a call."""

    q: Numbers
    q_other: Numbers
    v: Numbers
    a: Numbers
    tau: Numbers
    wrench: Numbers
    point: Numbers
    fraction: Numbers
    result: Numbers


class SpinView(NamedTuple):
    """Free-floating bodies and their spin."""

    link_floating: Numbers
    spin_turn: Numbers
    link_spin: Numbers


class FieldView(NamedTuple):
    """Gravity."""

    gravity: Numbers


class GravityCompensationView(NamedTuple):
    """Gravity compensation."""

    link_gravcomp: Numbers
    gravity: Numbers


class MaximalView(NamedTuple):
    """Poses and twists of bodies."""

    body_q: Numbers
    body_qd: Numbers


class DriveView(NamedTuple):
    """Drives of joints."""

    dof_drive: Integers
    dof_target_ke: Numbers
    dof_target_kd: Numbers
    dof_follows_velocity: Numbers
    dof_effort_limit: Numbers
    dof_effort_lower: Numbers


class LimitView(NamedTuple):
    """Limits of velocities."""

    dof_velocity_limit: Numbers
    dof_velocity_lower: Numbers


class ControlView(NamedTuple):
    """Commands of drives."""

    force: Numbers
    q_target: Numbers
    v_target: Numbers
    a_target: Numbers


class ClockView(NamedTuple):
    """Steps since the start."""

    clock: Numbers


class StepView(NamedTuple):
    """Time step, forces on bodies, saved state and controls."""

    time_step: Numbers
    body_f: Numbers
    state: Numbers
    controls: Numbers


class StartView(NamedTuple):
    """The state at the start of a step, and sums over its parts."""

    q_start: Numbers
    v_start: Numbers
    v_sum: Numbers
    a_sum: Numbers
    v_part: Numbers


class MoveView(NamedTuple):
    """Displacement and impulse of a variational step."""

    p_start: Numbers
    displacement: Numbers
    impulse: Numbers
    solver_report: Numbers


class MomentumView(NamedTuple):
    """Momenta of the variational equations."""

    link_H: Numbers
    dof_p: Numbers
    dof_f: Numbers
    dof_gap: Numbers
    dof_extra: Numbers
    dof_S_kept: Numbers
    p_end: Numbers


class GroundView(NamedTuple):
    """Points that may touch the ground."""

    ground_link: Integers
    ground_cadence: Integers
    ground_point: Numbers
    ground_plane: Numbers
    ground_tangent: Numbers
    ground_law: Numbers
    ground_dual: Numbers
    ground_start: Numbers
    ground_yield: Numbers


class MixingView(NamedTuple):
    """Anderson mixing."""

    mix_x: Numbers
    mix_f: Numbers
    mix_g: Numbers
    mix_x_last: Numbers
    mix_f_last: Numbers
    mix_g_last: Numbers


class SolverView(NamedTuple):
    """Options of the solver."""

    solver_options: Numbers


class PositionView(NamedTuple):
    """What depends on coordinates."""

    link_R: Numbers
    link_p: Numbers
    link_origin: Numbers
    dof_S: Numbers
    turn_sin: Numbers
    turn_cos: Numbers
    joint_bend: Numbers
    term_factor: Numbers
    custom_theta: Numbers
    custom_slope: Numbers
    custom_curve: Numbers
    custom_S: Numbers


class VelocityView(NamedTuple):
    """What depends on velocities."""

    link_V: Numbers
    link_c: Numbers


class AccelerationView(NamedTuple):
    """Accelerations and forces of links."""

    link_A: Numbers
    link_F: Numbers


class ArticulatedView(NamedTuple):
    """Articulated-body algorithm."""

    link_IA: Numbers
    dof_U: Numbers
    dof_D: Numbers
    dof_u: Numbers


class MassView(NamedTuple):
    """Composite inertias, mass matrix and its factor."""

    link_crb: Numbers
    M: Numbers
    L: Numbers


tree_view = _cut(TreeView)
joint_view = _cut(JointView)
turn_view = _cut(TurnView)
pose_view = _cut(PoseView)
body_view = _cut(BodyView)
inertia_view = _cut(InertiaView)
dof_view = _cut(DofView)
chain_view = _cut(ChainView)
passive_view = _cut(PassiveView)
anchor_view = _cut(AnchorView)
operand_view = _cut(OperandView)
spin_view = _cut(SpinView)
field_view = _cut(FieldView)
gravity_compensation_view = _cut(GravityCompensationView)
maximal_view = _cut(MaximalView)
drive_view = _cut(DriveView)
limit_view = _cut(LimitView)
control_view = _cut(ControlView)
clock_view = _cut(ClockView)
step_view = _cut(StepView)
start_view = _cut(StartView)
move_view = _cut(MoveView)
momentum_view = _cut(MomentumView)
ground_view = _cut(GroundView)
mixing_view = _cut(MixingView)
solver_view = _cut(SolverView)
position_view = _cut(PositionView)
velocity_view = _cut(VelocityView)
acceleration_view = _cut(AccelerationView)
articulated_view = _cut(ArticulatedView)
mass_view = _cut(MassView)
