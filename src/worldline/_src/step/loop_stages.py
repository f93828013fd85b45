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
    "mechanism": made_of(loops.Mechanism, "equality equality_targets anchors joint loop_bodies mass_trees"),
}

loop_stage = StageMaker(Part({**CONSTRAINTS, **_LOOPS}, r), Part(TREES, t, "t", trees_of))
"""Stages of constraint rows with the equalities of mechanisms as one operand, `mechanism`."""

close_loops = loop_stage.of(loops.close_loops)
lead_loops = loop_stage.of(loops.lead_loops)
mark_loops = loop_stage.of(loops.mark_loops)
keep_start = loop_stage.of(loops.keep_start)
mean_loops = loop_stage.of(loops.mean_loops)
start_loops = loop_stage.of(variational_loops.start_loops)
rows_beside_loops = loop_stage.of(variational_loops.rows_beside_loops)
lead_start = loop_stage.of(variational_loops.lead_start)
push_loops = loop_stage.of(variational_loops.push_loops)
damp_loops = loop_stage.of(variational_loops.damp_loops)
push_damped = loop_stage.of(variational_loops.push_damped)
