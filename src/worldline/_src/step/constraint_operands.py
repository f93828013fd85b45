# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What parameters of kernels mean in stages over the arenas of constraint rows: operands by name."""

from __future__ import annotations

from typing import Any

from worldline._src.derived_stages import Cut, Operand, Part, StageMaker, made_of
from worldline._src.jit import inline
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.constraints.contact.recovery_energy import IslandTrees
from worldline._src.kernels.constraints.damping import Damped
from worldline._src.kernels.constraints.solve import IslandRows
from worldline._src.kernels.narrowphase.tables import ENTRY
from worldline._src.kinds import int64
from worldline._src.model import views as t
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_as, matrix
from worldline._src.step.reaching import Bodies, address_like, contacts_of, trees_of
from worldline._src.step.tree_operands import TREES, Shaped

_BODY_X, _NBODY = ENTRY["body_X_W"], ENTRY["nbody"]


@inline
def collision_bodies(args, d):
    """Poses of bodies in the collision tables."""
    hm, hd = address_as(args[r.COLLISION_M], int64), address_like(args[r.COLLISION_D], d)
    return Shaped(matrix(hd, hm[_BODY_X], hm[_NBODY], 12))


class Moving(NamedTuple):
    """How everything moves without constraints, and the velocities of the island at hand by columns."""

    q: Any
    v: Any
    a: Any
    island_v: Any
    link_V: Any
    link_A: Any


class EqualityTargets(NamedTuple):
    """What equalities hold."""

    tendon: Any
    anchor_X: Any


CONSTRAINTS: dict[str, Operand] = {
    "a_last": Cut(r.motion_view, "a_last"),
    "act": Cut(r.actuator_view),
    "actuator": Cut(r.actuator_view),
    "anchor": Cut(r.anchor_pose_view),
    "anchors": Cut(r.anchor_pose_view),
    "anchor_X": Cut(r.anchor_pose_view, "anchor_X"),
    "bodies": made_of(Bodies, "chain tree pos body_link body_invweight weight_option dof_column"),
    "body_invweight": Cut(r.weight_view, "body_invweight"),
    "body_link": Cut(r.weight_view, "body_link"),
    "body_tree": Cut(r.island_view, "body_tree"),
    "boxed": Cut(r.boxed_view),
    "contacts": Cut(contacts_of),
    "collision_bodies": Cut(collision_bodies, "values"),
    "counter": Cut(r.link_view, "counter"),
    "damped": made_of(Damped, "chain passive drive"),
    "dof_column": Cut(r.member_view, "dof_column"),
    "equality": Cut(r.equality_view),
    "equality_targets": made_of(EqualityTargets, "tendon anchor_X"),
    "fluid": Cut(r.fluid_view),
    "force": Cut(r.record_view, "force"),
    "frames": Cut(r.contact_frame_view),
    "friction": Cut(r.friction_view),
    "island": Cut(r.member_view),
    "island_rows": made_of(IslandRows, "island rows notes frames"),
    "island_trees": made_of(IslandTrees, "link_mass tree_links tree_recovery tree_grip"),
    "island_v": Cut(r.motion_view, "island_v"),
    "islands": Cut(r.island_view),
    "limit": Cut(r.limit_view),
    "loop": Cut(r.loop_view),
    "M": Cut(r.solve_view, "M"),
    "memory": Cut(r.contact_memory_view),
    "motor": Cut(r.motor_view),
    "moving": made_of(Moving, "q v a island_v link_V A"),
    "notes": Cut(r.row_note_view),
    "option": Cut(r.link_view, "option"),
    "record": Cut(r.record_view),
    "records": Cut(r.record_view),
    "rows": Cut(r.row_view),
    "shapes": Cut(r.shape_law_view),
    "sleep": Cut(r.sleep_view),
    "slip": Cut(r.slip_view),
    "solution": Cut(r.solve_view),
    "speed_dof": Cut(r.speed_view, "speed_dof"),
    "split": Cut(r.split_view),
    "spring": Cut(r.spring_view),
    "sweeps": Cut(r.sweep_view),
    "tendon": Cut(r.tendon_view),
    "threshold": Cut(r.quiet_view, "dof_quiet"),
    "tree_grip": Cut(r.split_view, "tree_grip"),
    "tree_links": Cut(r.tree_span_view, "tree_links"),
    "tree_masses": Cut(r.tree_mass_view),
    "tree_recovery": Cut(r.split_view, "tree_recovery"),
    "tree_span": Cut(r.tree_span_view, "tree_dof"),
    "weight_option": Cut(r.weight_view, "option"),
    "weights": Cut(r.weight_view),
    "work": Cut(r.work_view),
    "scratch": Cut(r.work_view, "vectors[7]"),
}

constraint_stage = StageMaker(Part(CONSTRAINTS, r), Part(TREES, t, "t", trees_of))
"""Stages over the arenas of constraint rows, which reach those of the trees."""
