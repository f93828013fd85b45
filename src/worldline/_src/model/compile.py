# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From a Model's public arrays to the arenas of the kernels.

Kernel links are the joints' children in joint order, after the world at 0. The frame of a kernel link is
its joint's frame after the motion, turned so that the last axis is local z; mass properties and the
anchors of children are moved into it here, once, so that the kernels turn about z only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from worldline._src.kernels import joints as code
from worldline._src.model.fields import FIELDS, HEADER, SIZES, SLOT, extent
from worldline._src.model.kinds import ActuatorMode, JointType
from worldline._src.spatial.poses import Array, quaternion, rotation

if TYPE_CHECKING:
    from worldline._src.model.model import Model


class Arenas(NamedTuple):
    """What all worlds of a model share, in the form the kernels read."""

    index: np.ndarray
    constant: np.ndarray
    data_size: int
    """Doubles of a data arena for one world."""
    step_size: int
    """Doubles of a data arena without what grows with the square of the size, which a step does not need."""
    offsets: dict[str, int]
    sizes: dict[str, int]


def axis_frame(axis: Array) -> Array:
    """A rotation that takes z to the unit vector `axis`; exact for coordinate axes."""
    for k, sign in ((2, 1.0), (0, 1.0), (1, 1.0), (2, -1.0), (0, -1.0), (1, -1.0)):
        unit = np.zeros(3)
        unit[k] = sign
        if np.array_equal(axis, unit):
            frame = np.zeros((3, 3))
            frame[:, 2] = unit
            frame[(k + 1) % 3, 0] = 1.0
            frame[:, 1] = np.cross(frame[:, 2], frame[:, 0])
            return frame
    helper = np.zeros(3)
    helper[int(np.argmin(np.abs(axis)))] = 1.0
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(axis, x), axis], axis=1)


def _kind(joint_type: int) -> int:
    if joint_type == JointType.FIXED:
        return code.FIXED
    if joint_type == JointType.BALL:
        return code.BALL
    if joint_type in (JointType.FREE, JointType.DISTANCE):
        return code.FREE
    return code.AXES


def _column_kinds(joint_type: int, linear: int, angular: int) -> list[int]:
    if joint_type == JointType.BALL:
        return [code.ANGULAR] * 3
    if joint_type in (JointType.FREE, JointType.DISTANCE):
        return [code.LINEAR] * 3 + [code.ANGULAR] * 3
    if joint_type == JointType.SCREW:
        return [code.SCREW]
    return [code.SLIDE] * linear + [code.TURN] * angular


def compile_arenas(model: Model) -> Arenas:
    """Lay out the arenas of a model and fill in its constants."""
    tree = [j for j in range(model.joint_count) if model.joint_articulation[j] >= 0]
    nv, nq, nbody = model.joint_dof_count, model.joint_coord_count, model.body_count
    nlink = len(tree) + 1
    sizes = dict.fromkeys(SIZES, 0) | {
        "nlink": nlink,
        "nq": nq,
        "nv": nv,
        "nqv": nq + nv,
        "nqvv": nq + 2 * nv,
        "nbody": nbody,
        "nresult": max(7 * nbody, nv * nv, 6 * nv, nq + nv, 6),
    }
    offsets: dict[str, int] = {}
    ends = {"index": HEADER, "constant": 0, "data": 0}
    for field in FIELDS:
        # data starts on cache lines so that lanes never straddle more than they must
        offsets[field.name] = ends[field.space]
        ends[field.space] += -(-math.prod(extent(field.shape, sizes)) // 8) * 8

    index = np.zeros(ends["index"], np.int64)
    constant = np.zeros(ends["constant"])
    index[: len(SIZES)] = [sizes[s] for s in SIZES]
    for field in FIELDS:
        index[SLOT[field.name]] = offsets[field.name]

    arenas = Arenas(index, constant, ends["data"], offsets["result"], offsets, sizes)
    _fill_tree(model, tree, arenas)
    fill_constants(model, arenas)
    return arenas


def constant_views(arenas: Arenas) -> dict[str, np.ndarray]:
    """Every field of the index and constant arenas as an array that shares its memory."""
    views = {}
    for field in FIELDS:
        if field.space != "data":
            arena = arenas.index if field.space == "index" else arenas.constant
            shape = extent(field.shape, arenas.sizes)
            start = arenas.offsets[field.name]
            views[field.name] = arena[start : start + math.prod(shape)].reshape(shape)
    return views


def _fill_tree(model: Model, tree: list[int], arenas: Arenas) -> None:
    view = constant_views(arenas)
    link_of_body = {int(model.joint_child[j]): i for i, j in enumerate(tree, start=1)}
    last_dof = [-1] * (len(tree) + 1)
    children = [0] * (len(tree) + 1)
    for name in ("link_parent", "link_root"):
        view[name][0] = 0
    view["dof_parent"][:] = -1
    view["body_link"][:] = 0
    for i, j in enumerate(tree, start=1):
        p = link_of_body.get(int(model.joint_parent[j]), 0)
        linear, angular = (int(n) for n in model.joint_dof_dim[j])
        v0, v1 = int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1])
        kinds = _column_kinds(int(model.joint_type[j]), linear, angular)
        view["link_parent"][i] = p
        view["link_root"][i] = i if p == 0 else view["link_root"][p]
        view["link_kind"][i] = _kind(int(model.joint_type[j]))
        view["link_body"][i] = model.joint_child[j]
        view["body_link"][model.joint_child[j]] = i
        view["link_q_start"][i] = model.joint_q_start[j]
        view["link_v_start"][i] = v0
        view["link_v_end"][i] = v1
        view["dof_axis_count"][i] = sum(k in (code.TURN, code.SCREW) for k in kinds)
        above = last_dof[p]
        for k, d in enumerate(range(v0, v1)):
            view["dof_kind"][d] = kinds[k]
            view["dof_block"][d] = int(kinds[k] != code.ANGULAR or k == 0 or kinds[k - 1] != kinds[k])
            view["dof_link"][d] = i
            view["dof_parent"][d] = above
            above = d
        last_dof[i] = above
        children[p] += 1
    view["link_leaf"][:] = [int(n == 0) for n in children]
    # tip to base, the child with the highest number reaches its parent first
    parent = view["link_parent"]
    seen: set[int] = set()
    for i in range(len(tree), 0, -1):
        view["link_first"][i] = int(int(parent[i]) not in seen)
        seen.add(int(parent[i]))


def fill_constants(model: Model, arenas: Arenas) -> None:
    """Write everything that may change without changing the topology."""
    view = constant_views(arenas)
    joint_of = {int(c): j for j, c in enumerate(model.joint_child) if model.joint_articulation[j] >= 0}
    eye = np.eye(3)
    post: list[tuple[Array, Array]] = [(eye, np.zeros(3))]
    view["link_R_pre"][0] = view["link_R_post"][0] = eye.reshape(-1)
    kinematic = model.body_kinematic
    for i, body in enumerate(view["link_body"][1:].tolist(), start=1):
        j = joint_of[body]
        d0, d1 = int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1])
        X_p, X_c = model.joint_X_p[j], model.joint_X_c[j]
        R_p, R_c = rotation(X_p), rotation(X_c)
        R_child, p_child = R_c.T, -R_c.T @ X_c[:3]
        frames = [eye]
        if view["link_kind"][i] == code.AXES:
            frames = [axis_frame(model.joint_axis[d]) for d in range(d0, d1)]
            for before, here, d in zip(frames, frames[1:], range(d0 + 1, d1), strict=False):
                view["dof_R_pre"][d] = (before.T @ here).reshape(-1)
                view["dof_Q_pre"][d] = quaternion(before.T @ here)

        R_parent, p_parent = post[int(view["link_parent"][i])]
        R_pre = R_parent @ R_p @ frames[0]
        view["link_R_pre"][i] = R_pre.reshape(-1)
        view["link_Q_pre"][i] = quaternion(R_pre)
        view["link_turned"][i] = int(not np.array_equal(R_pre, eye))
        view["link_p_pre"][i] = p_parent + R_parent @ X_p[:3]
        R_post, p_post = frames[-1].T @ R_child, frames[-1].T @ p_child
        post.append((R_post, p_post))
        view["link_R_post"][i] = R_post.reshape(-1)
        view["link_Q_post"][i] = quaternion(R_post)
        view["link_p_post"][i] = p_post
        moved = not (np.array_equal(R_post, eye) and not p_post.any())
        view["link_offset"][i] = int(moved)
        view["link_R_anchor"][i] = R_p.reshape(-1)
        view["link_p_anchor"][i] = X_p[:3]
        view["link_R_child"][i] = R_child.reshape(-1)
        view["link_p_child"][i] = p_child

        inertia = R_post @ model.body_inertia[body] @ R_post.T
        view["link_mass"][i] = model.body_mass[body]
        view["link_com"][i] = p_post + R_post @ model.body_com[body]
        view["link_inertia"][i] = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        view["dof_mobile"][d0:d1] = 0.0 if kinematic[body] else 1.0

    view["dof_axis"][:] = model.joint_axis
    view["dof_pitch"][:] = model.joint_pitch
    view["body_com"][:] = model.body_com
    view["dof_armature"][:] = model.joint_armature
    view["dof_damping"][:] = model.joint_damping
    view["dof_stiffness"][:] = model.joint_stiffness
    view["q_rest"][:] = model.joint_spring_ref
    view["gravity"][:] = model.gravity
    mode = model.joint_act_mode
    follows = (mode == ActuatorMode.POSITION) | (mode == ActuatorMode.POSITION_VELOCITY)
    view["dof_target_ke"][:] = np.where(follows, model.joint_target_ke, 0.0)
    view["dof_target_kd"][:] = np.where(follows | (mode == ActuatorMode.VELOCITY), model.joint_target_kd, 0.0)
    view["dof_effort_limit"][:] = model.joint_effort_limit
    view["dof_velocity_limit"][:] = model.joint_velocity_limit
    view["dof_lower"][:] = model.joint_limit_lower
    view["dof_upper"][:] = model.joint_limit_upper
