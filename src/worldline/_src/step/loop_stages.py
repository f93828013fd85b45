# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of closed mechanisms: their projection at the end of a step, impulses of variational steps."""

from __future__ import annotations

from worldline._src.derived_stages import Cut, Operand, Part, StageMaker, made_of
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.constraints.equality import loops, variational_loops
from worldline._src.model import views as t
from worldline._src.step.constraint_operands import CONSTRAINTS
from worldline._src.step.island_stages import MassTrees
from worldline._src.step.reaching import Bodies, trees_of
from worldline._src.step.tree_operands import TREES

_LOOPS: dict[str, Operand] = {
    "loop_column": Cut(r.loop_view, "loop_column"),
    "loop_bodies": made_of(Bodies, "chain tree pos body_link body_invweight weight_option loop_column"),
    "mass_trees": made_of(MassTrees, "chain dof tree inertia pos tree_span tree_links"),
    "held": made_of(loops.Held, "equality equality_targets anchors joint loop_bodies mass_trees"),
}

loop_stage = StageMaker(Part({**CONSTRAINTS, **_LOOPS}, r), Part(TREES, t, "t", trees_of))
"""Stages of constraint rows with what the equalities of mechanisms hold as one operand, `held`."""

# fmt: off
close_loops = loop_stage.of(loops.close_loops, "q, v -> q on hard equalities, v along them.")
lead_loops = loop_stage.of(loops.lead_loops,
    "a, poses of the start -> v without half of what a does across hard equalities.")
mark_loops = loop_stage.of(loops.mark_loops,
    "rows of islands -> mechanisms of which the mean acceleration is taken.")
keep_start = loop_stage.of(loops.keep_start,
    "a, tau -> copies of them; the other half of h a for mechanisms.")
mean_loops = loop_stage.of(loops.mean_loops,
    "a of forces at the end -> v of mechanisms by the mean acceleration; a, tau of the start.")
start_loops = loop_stage.of(variational_loops.start_loops,
    "q, poses -> Jacobians of hard equalities at the start of a variational step.")
rows_beside_loops = loop_stage.of(variational_loops.rows_beside_loops,
    "a, a without rows -> a without what rows do across hard equalities.")
lead_start = loop_stage.of(variational_loops.lead_start,
    "displacement -> momenta at the start with impulses of the accelerations along the loops there.")
push_loops = loop_stage.of(variational_loops.push_loops,
    "displacement -> momenta at the start with impulses that lead to closed loops.")
damp_loops = loop_stage.of(variational_loops.damp_loops,
    "displacement -> momenta without impulses and their factors where it leaves loops open.")
push_damped = loop_stage.of(variational_loops.push_damped,
    "displacement -> momenta at the start with damped impulses.")
# fmt: on
