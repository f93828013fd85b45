# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays of the constraint part of a step: what may constrain, the rows of this step, and their solution.

Stages of this part have arenas of their own and reach those of the trees and of collision through the
addresses at the front of `args`. A law, one row of a `*_law` column, is the response of a constraint to being
violated: kind, stiffness, damping, d0, dmax, width, middle, power, direct, bounciness, erp.
"""

from __future__ import annotations

from worldline._src.kernels.constraints.actuator.columns import ActuatorColumns
from worldline._src.kernels.constraints.arena_columns import ArenaColumns, LinkView, ProgramView
from worldline._src.kernels.constraints.contact.columns import (
    ContactColumns,
    ContactFrameView,
    ContactMemoryView,
    ShapeLawView,
    WeightView,
)
from worldline._src.kernels.constraints.equality.columns import EqualityColumns
from worldline._src.kernels.constraints.equality.kinds import (  # noqa: F401 # for those that pack columns
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
from worldline._src.kernels.constraints.equality.loop_columns import LoopColumns
from worldline._src.kernels.constraints.fixed_columns import (
    DualView,
    FixedBounceView,
    FixedColumns,
    PackedView,
)
from worldline._src.kernels.constraints.force_element_columns import (
    AnchorPoseView,
    FluidView,
    ForceElementColumns,
    SpringView,
)
from worldline._src.kernels.constraints.friction.columns import FrictionColumns
from worldline._src.kernels.constraints.island_columns import (
    BodyFactorView,
    BodyTreeView,
    IslandColumns,
    IslandView,
    MemberView,
    PairBlockView,
    QuietView,
    SleepView,
    TreeMassView,
    TreeRoomView,
    TreeSpanView,
)
from worldline._src.kernels.constraints.limit.columns import LimitColumns
from worldline._src.kernels.constraints.motor.columns import MotorColumns, MotorView, SpeedView
from worldline._src.kernels.constraints.numbering import *  # noqa: F403 # stages import both from here
from worldline._src.kernels.constraints.numbering import ISLAND_COLUMNS, ISLAND_WIDTH
from worldline._src.kernels.constraints.row_columns import RecordView, RowColumns, RowNoteView, RowView
from worldline._src.kernels.constraints.solver_columns import (
    BounceView,
    BoxedView,
    MotionView,
    PgsBodyView,
    PgsBounceView,
    PgsView,
    PgsWorkView,
    SlipView,
    SolverColumns,
    SolveView,
    SweepView,
    WorkView,
)
from worldline._src.kernels.constraints.split_columns import SplitColumns
from worldline._src.kernels.constraints.tendon.columns import TendonColumns
from worldline._src.scalar.columns import Table


class ConstraintColumns(
    ArenaColumns,
    ContactColumns,
    LimitColumns,
    FrictionColumns,
    EqualityColumns,
    LoopColumns,
    MotorColumns,
    TendonColumns,
    ActuatorColumns,
    ForceElementColumns,
    IslandColumns,
    RowColumns,
    SplitColumns,
    SolverColumns,
    FixedColumns,
):
    """All arrays of the constraint part of a step."""


TABLE = Table(ConstraintColumns, moving={"ncolumn": ISLAND_COLUMNS, "width": ISLAND_WIDTH})

link_view = TABLE.cut(LinkView)
shape_law_view = TABLE.cut(ShapeLawView)
weight_view = TABLE.cut(WeightView)
limit_view = TABLE.cut(LimitColumns)
tendon_view = TABLE.cut(TendonColumns)
friction_view = TABLE.cut(FrictionColumns)
equality_view = TABLE.cut(EqualityColumns)
loop_view = TABLE.cut(LoopColumns)
motor_view = TABLE.cut(MotorView)
speed_view = TABLE.cut(SpeedView)
spring_view = TABLE.cut(SpringView)
fluid_view = TABLE.cut(FluidView)
anchor_pose_view = TABLE.cut(AnchorPoseView)
actuator_view = TABLE.cut(ActuatorColumns)
row_view = TABLE.cut(RowView)
row_note_view = TABLE.cut(RowNoteView)
record_view = TABLE.cut(RecordView)
island_view = TABLE.cut(IslandView)
member_view = TABLE.cut(MemberView)
contact_memory_view = TABLE.cut(ContactMemoryView)
pgs_view = TABLE.cut(PgsView)
pgs_body_view = TABLE.cut(PgsBodyView)
pgs_work_view = TABLE.cut(PgsWorkView)
pgs_bounce_view = TABLE.cut(PgsBounceView)
tree_span_view = TABLE.cut(TreeSpanView)
body_tree_view = TABLE.cut(BodyTreeView)
pair_block_view = TABLE.cut(PairBlockView)
body_factor_view = TABLE.cut(BodyFactorView)
tree_mass_view = TABLE.cut(TreeMassView)
tree_room_view = TABLE.cut(TreeRoomView)
sleep_view = TABLE.cut(SleepView)
quiet_view = TABLE.cut(QuietView)
boxed_view = TABLE.cut(BoxedView)
program_view = TABLE.cut(ProgramView)
contact_frame_view = TABLE.cut(ContactFrameView)
solve_view = TABLE.cut(SolveView)
bounce_view = TABLE.cut(BounceView)
fixed_bounce_view = TABLE.cut(FixedBounceView)
split_view = TABLE.cut(SplitColumns)
slip_view = TABLE.cut(SlipView)
sweep_view = TABLE.cut(SweepView)
motion_view = TABLE.cut(MotionView)
work_view = TABLE.cut(WorkView)
dual_view = TABLE.cut(DualView)
packed_view = TABLE.cut(PackedView)
