# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The mass matrix by the composite-rigid-body algorithm."""

from __future__ import annotations

from worldline._src.jit import kernel
from worldline._src.kernels.links import link_inertia
from worldline._src.spatial.inertia import add_inertia, load_inertia, momentum, store_inertia
from worldline._src.spatial.motion import load_motion, power


@kernel
def composites(tree, inertia, pos, crb_out):
    """Inertia of every subtree about its tree's reference point, tip to base. O(n)."""
    parent = tree.link_parent
    leaf, first = inertia.link_leaf, inertia.link_first

    for i in range(parent.shape[0] - 1, 0, -1):
        I = link_inertia(inertia, pos, i)
        if leaf[i] == 0:
            I = add_inertia(I, load_inertia(crb_out, i))
            store_inertia(crb_out, i, I)
        else:
            store_inertia(crb_out, i, I)
        p = parent[i]
        if p > 0:
            if first[i] == 1:
                store_inertia(crb_out, p, I)
            else:
                store_inertia(crb_out, p, add_inertia(load_inertia(crb_out, p), I))


@kernel
def crba(dof, inertia, pos, crb, M_out):
    """Joint-space inertia M(q), both triangles [Featherstone 2008, ch. 6].

    Needs composite inertias current. Only the entries of the tree's pattern are written; the others
    are zero from the start. O(n depth).
    """
    link, above, armature, S = dof.dof_link, dof.dof_parent, inertia.dof_armature, pos.dof_S

    for d in range(link.shape[0]):
        # momentum of the subtree moving along column d, then its work on every column above
        F = momentum(load_inertia(crb, link[d]), load_motion(S, d))
        M_out[d, d] = power(F, load_motion(S, d)) + armature[d]
        e = above[d]
        while e >= 0:
            x = power(F, load_motion(S, e))
            M_out[d, e] = x
            M_out[e, d] = x
            e = above[e]
