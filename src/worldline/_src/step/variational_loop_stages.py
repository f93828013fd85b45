# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stage that looks whether a variational step leads to closed loops."""

from __future__ import annotations

from worldline._src.kernels.constraints.equality import variational_loops
from worldline._src.kernels.constraints.equality.loops import Held
from worldline._src.step.constraint_operands import constraint_stage
from worldline._src.step.island_stages import MassTrees
from worldline._src.step.reaching import Bodies


@constraint_stage
def check_loops(
    loop,
    equality,
    equality_targets,
    anchors,
    chain,
    dof,
    tree,
    joint,
    inertia,
    pos,
    body_link,
    body_invweight,
    weight_option,
    tree_span,
    tree_links,
    h,
    start,
    move,
    q,
    v,
):
    """displacement -> whether it leads to closed loops; a step that does not is not solved."""
    bodies = Bodies(chain, tree, pos, body_link, body_invweight, weight_option, loop.loop_column)
    trees = MassTrees(chain, dof, tree, inertia, pos, tree_span, tree_links)
    held = Held(equality, equality_targets, anchors, joint, bodies, trees)
    variational_loops.check_loops(loop, held, h, start, v, move, q)
