# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Small pieces shared by the algorithms: one link at a time."""

from __future__ import annotations

from worldline._src.jit import inline
from worldline._src.scalar.ops import constant
from worldline._src.spatial.inertia import inertia_about, load_sym3, turned
from worldline._src.spatial.rotation import load_mat3, rotate, rotate_back
from worldline._src.spatial.vec3 import add, load_vec3, store_three


@inline
def center_of_mass(inertia, pos, i):
    """Centre of mass of link `i` relative to the tree's reference point, world axes."""
    # c = p_L + R_L c_L
    R = load_mat3(pos.link_R, i)
    return add(load_vec3(pos.link_p, i), rotate(R, load_vec3(inertia.link_com, i)))


@inline
def link_inertia(inertia, pos, i):
    """Inertia of link `i` about the tree's reference point, world axes."""
    c = center_of_mass(inertia, pos, i)
    # I = (m, c, R J R^T - m [c]x [c]x)
    J = turned(load_sym3(inertia.link_inertia, i), load_mat3(pos.link_R, i))
    return inertia_about(constant(inertia.link_mass[i], c.x), c, J)


@inline
def body_origin(body, pos, i):
    """Origin of the body frame of link `i` relative to the tree's reference point, world axes."""
    r = load_vec3(pos.link_p, i)
    if body.link_offset[i] == 1:
        r = add(r, rotate(load_mat3(pos.link_R, i), load_vec3(body.link_p_post, i)))
    return r


@inline
def body_point(body, pos, i, point):
    """A point of the body frame of link `i` relative to the tree's reference point, world axes."""
    # p_L + R_L (p_post + R_post p)
    arm = rotate(load_mat3(body.link_R_post, i), point)
    arm = add(load_vec3(body.link_p_post, i), arm)
    return add(load_vec3(pos.link_p, i), rotate(load_mat3(pos.link_R, i), arm))


@inline
def into_body(body, pos, i, a):
    """A vector of world axes in the axes of the body frame of link `i`."""
    return rotate_back(load_mat3(body.link_R_post, i), rotate_back(load_mat3(pos.link_R, i), a))


@inline
def store_six(array, k, first, second):
    """Write two 3-vectors to a 1-D array from `k` on."""
    store_three(array, k, first)
    store_three(array, k + 3, second)
