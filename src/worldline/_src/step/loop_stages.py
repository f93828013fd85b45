# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages of closed mechanisms: their projection at the end of a step, impulses of variational steps."""

from __future__ import annotations

from worldline._src.kernels.constraints.equality import loops, variational_loops
from worldline._src.step.constraint_operands import constraint_stage
from worldline._src.step.island_stages import MassTrees
from worldline._src.step.reaching import Bodies


@constraint_stage
def close_loops(
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
    crb,
    q,
    v,
):
    """q, v -> q on hard equalities, v along them."""
    bodies = Bodies(chain, tree, pos, body_link, body_invweight, weight_option, loop.loop_column)
    trees = MassTrees(chain, dof, tree, inertia, pos, tree_span, tree_links)
    held = loops.Held(equality, equality_targets, anchors, joint, bodies, trees)
    loops.close_loops(loop, held, h, crb, q, v)


@constraint_stage
def lead_loops(
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
    crb,
    q,
    a,
    v,
):
    """a, poses of the start -> v without half of what a does across hard equalities."""
    bodies = Bodies(chain, tree, pos, body_link, body_invweight, weight_option, loop.loop_column)
    trees = MassTrees(chain, dof, tree, inertia, pos, tree_span, tree_links)
    held = loops.Held(equality, equality_targets, anchors, joint, bodies, trees)
    loops.lead_loops(loop, held, h, q, a, crb, v)


@constraint_stage
def start_loops(
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
    crb,
    q,
    v,
):
    """q, poses -> Jacobians of hard equalities at the start of a variational step."""
    bodies = Bodies(chain, tree, pos, body_link, body_invweight, weight_option, loop.loop_column)
    trees = MassTrees(chain, dof, tree, inertia, pos, tree_span, tree_links)
    held = loops.Held(equality, equality_targets, anchors, joint, bodies, trees)
    variational_loops.start_loops(loop, held, h, q, v, crb)


@constraint_stage
def push_loops(
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
    """displacement -> momenta at the start with impulses that lead to closed loops."""
    bodies = Bodies(chain, tree, pos, body_link, body_invweight, weight_option, loop.loop_column)
    trees = MassTrees(chain, dof, tree, inertia, pos, tree_span, tree_links)
    held = loops.Held(equality, equality_targets, anchors, joint, bodies, trees)
    variational_loops.push_loops(loop, held, h, start, v, move, q)
