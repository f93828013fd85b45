# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From a Model's public arrays to the arenas of the kernels.

Kernel links are the joints' children in joint order, after the world at 0. The frame of a kernel link is
its joint's frame after the motion, turned so that the last axis is local z; mass properties and the
anchors of children are moved into it here, once, so that the kernels turn about z only.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.kernels import joints as code
from worldline._src.linear_algebra import matmul
from worldline._src.model.fields import BY_NAME, ENTRY, FIELDS, HEADER, SIZES, extent
from worldline._src.model.joint_kinds import column_kinds, fill_joints, joint_sizes, kernel_code
from worldline._src.model.kinds import ActuatorMode
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, cross, quaternions, rotations, turned

if TYPE_CHECKING:
    from worldline._src.model.model import Model


DEFAULT_SOLVER = (1e-10, 100.0)
"""Tolerance and most iterations of the variational integrator."""


class Arenas(NamedTuple):
    """What all worlds of a model share, in the form the kernels read."""

    index: np.ndarray  # type: ignore[assignment] # a field, where tuples have a method that none uses
    constant: np.ndarray
    data_size: int
    """Doubles of a data arena for one world."""
    step_size: int
    """Doubles of a data arena without what grows with the square of the size, which a step does not need."""
    offsets: dict[str, int]
    sizes: dict[str, int]


def axis_frames(axes: Array) -> Array:
    """Rotations that take z to each of some unit vectors, shape (n, 3, 3); exact for coordinate axes."""
    eye = np.eye(3)
    size = np.abs(axes)
    x = cross(eye[np.argmin(size, axis=1)], axes)
    x /= np.sqrt(np.sum(x * x, axis=1))[:, None]
    plain = np.count_nonzero(size, axis=1) == 1
    x[plain] = eye[(np.argmax(size[plain], axis=1) + 1) % 3]
    return np.stack([x, cross(axes, x), axes], axis=2)


def compile_arenas(model: Model) -> Arenas:
    """Lay out the arenas of a model and fill in its constants."""
    tree = np.flatnonzero(model.joint_articulation >= 0)
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
        "nground": 0 if model.ground_points is None else len(model.ground_points),
        **joint_sizes(model, tree),
    }
    offsets: dict[str, int] = {}
    ends = {"index": HEADER, "constant": 0, "data": 0}
    # data starts on cache lines so that lanes never straddle more than they must; few shapes are many fields
    room = {shape: -(-math.prod(extent(shape, sizes)) // 8) * 8 for shape in {f.shape for f in FIELDS}}
    for field in FIELDS:
        offsets[field.name] = ends[field.space]
        ends[field.space] += room[field.shape]

    index = np.zeros(ends["index"], np.int64)
    constant = np.zeros(ends["constant"])
    index[: len(SIZES)] = [sizes[s] for s in SIZES]
    index[[ENTRY[name] for name in offsets]] = list(offsets.values())

    arenas = Arenas(index, constant, ends["data"], offsets["result"], offsets, sizes)
    _fill_tree(model, tree, arenas)
    fill_constants(model, constant_views(arenas))
    return arenas


class ConstantViews(dict[str, np.ndarray]):
    """Fields of the index and constant arenas by name, each cut from its arena on first use."""

    def __init__(self, arenas: Arenas) -> None:
        self._arenas = arenas

    def __missing__(self, name: str) -> np.ndarray:
        arenas, field = self._arenas, BY_NAME[name]
        if field.space == "data":
            raise KeyError(f"{name!r} is a field of the data arena; allowed: those of index and constant")
        arena = arenas.index if field.space == "index" else arenas.constant
        shape = extent(field.shape, arenas.sizes)
        start = arenas.offsets[name]
        view = self[name] = arena[start : start + math.prod(shape)].reshape(shape)
        return view

    @cached_property
    def has_free_bodies(self) -> bool:
        """Whether any link is a free body on its own."""
        return bool(_alone(self).any())


def constant_views(arenas: Arenas) -> ConstantViews:
    """Every field of the index and constant arenas as an array that shares its memory."""
    return ConstantViews(arenas)


def _fill_tree(model: Model, tree: np.ndarray, arenas: Arenas) -> None:
    """Topology; gathered in plain lists, since single entries of arrays are slow to write."""
    view = constant_views(arenas)
    children = model.joint_child[tree]
    above = dict(zip(children.tolist(), range(1, len(tree) + 1), strict=True))
    parent = [0, *(above.get(body, 0) for body in model.joint_parent[tree].tolist())]
    starts, ends = model.joint_qd_start[tree], model.joint_qd_start[tree + 1]
    types = model.joint_type[tree].tolist()
    dims = model.joint_dof_dim[tree].tolist()
    last = [-1] * len(parent)
    root = list(range(len(parent)))
    turning = [0]
    columns: dict[int, tuple[int, int, int, int]] = {}
    spans = zip(starts.tolist(), ends.tolist(), types, dims, strict=True)
    for i, (start, end, joint_type, (linear, angular)) in enumerate(spans, start=1):
        p = parent[i]
        root[i] = root[p] if p else i
        kinds = column_kinds(joint_type, linear, angular)
        turning.append(sum(k in (code.TURN, code.SCREW) for k in kinds))
        before, dof = -1, last[p]
        for kind, d in zip(kinds, range(start, end), strict=True):
            columns[d] = kind, int(kind != code.ANGULAR or before != kind), i, dof
            before, dof = kind, d
        last[i] = dof
    view["link_parent"][:] = parent
    view["link_root"][:] = root
    view["link_last"][:] = last
    view["link_kind"][1:] = list(map(kernel_code, types))
    view["link_body"][1:] = children
    view["body_link"][children] = np.arange(1, len(parent))
    view["link_q_start"][1:] = model.joint_q_start[tree]
    view["link_v_start"][1:] = starts
    view["link_v_end"][1:] = ends
    view["dof_axis_count"][:] = turning
    view["dof_parent"][:] = -1
    if columns:
        rows = np.array(list(columns.values()), np.int64)
        for name, column in zip(("dof_kind", "dof_block", "dof_link", "dof_parent"), rows.T, strict=True):
            view[name][list(columns)] = column
        _fill_turns(view)
    view["link_leaf"][:] = np.bincount(parent[1:], minlength=len(parent)) == 0
    # tip to base, the child with the highest number reaches its parent first
    first = dict(zip(parent[1:], range(1, len(parent)), strict=True))
    view["link_first"][list(first.values())] = 1


def _fill_turns(view: ConstantViews) -> None:
    """Where the angles of AXES joints are among the coordinates."""
    dofs = np.flatnonzero(np.isin(view["dof_kind"], (code.TURN, code.SCREW)) & (view["dof_link"] > 0))
    if len(dofs):
        links = view["dof_link"][dofs]
        view["dof_turn"][dofs] = np.arange(len(dofs))
        at = view["link_q_start"][links] + dofs - view["link_v_start"][links]
        view["turn_q"][:] = at[-1]
        view["turn_q"][: len(dofs)] = at


def fill_constants(
    model: Model, view: ConstantViews, changed: Collection[str] | None = None, rows: slice | None = None
) -> None:
    """Write everything that may change without changing the topology; all links at once.

    `view` are those of the arenas. `changed` are the arrays of the model that did change: what follows from
    them is written, and nothing else; all of them when None. `rows` are those of bodies or degrees of freedom
    that differ; all of them when None.
    """
    every = changed is None
    names = frozenset(() if changed is None else changed)
    moved = every or not names.isdisjoint(_POSES)
    if moved:
        _fill_poses(model, view)
    if moved or not names.isdisjoint(_INERTIAS):
        _fill_inertias(model, view, _INERTIAS if moved else names, None if moved else rows)
    those = slice(None) if rows is None else rows
    for name in _COPIED if every else names:
        field = _COPIED.get(name)
        if field is not None:
            view[field][those] = getattr(model, name)[those]
    if every or not names.isdisjoint(_DRIVES):
        _fill_drives(model, view)
    if every or "joint_pitch" in names:
        fill_joints(model, np.flatnonzero(model.joint_articulation >= 0), view)
    if every or "body_gravcomp" in names:
        view["link_gravcomp"][1:] = model.body_gravcomp[view["link_body"][1:]]
    if every or "body_flags" in names:
        kinematic = model.body_kinematic[view["link_body"][view["dof_link"]]]
        view["dof_mobile"][:] = np.where(kinematic | (view["dof_link"] == 0), 0.0, 1.0)
    if every:
        view["dof_axis"][:] = model.joint_axis
        view["solver_options"][:] = DEFAULT_SOLVER
        view["spin_turn"][:] = 0.0 if model.option is None else model.option.policy.free_spin_turn
    if moved:
        _fill_ground(model, view)
    if view.has_free_bodies and (moved or not names.isdisjoint(SPINS)):
        view["link_floating"][:] = _floating(view)


_POSES = frozenset(("joint_X_p", "joint_X_c"))
"""Arrays of a model that say where joints are."""
_INERTIAS = frozenset(("body_mass", "body_com", "body_inertia"))
_DRIVES = frozenset(("joint_act_mode", "joint_target_ke", "joint_target_kd"))
_COPIED = {
    "body_com": "body_com",
    "joint_armature": "dof_armature",
    "joint_damping": "dof_damping",
    "joint_stiffness": "dof_stiffness",
    "joint_spring_ref": "q_rest",
    "gravity": "gravity",
    "joint_effort_limit": "dof_effort_limit",
    "joint_effort_lower": "dof_effort_lower",
    "joint_velocity_limit": "dof_velocity_limit",
    "joint_velocity_lower": "dof_velocity_lower",
}
"""Arrays of a model whose numbers the kernels read as they are, and the fields that hold them."""
SPINS = _INERTIAS | {"body_flags", "joint_armature", "joint_velocity_limit", "joint_velocity_lower"}
"""Arrays that decide which free bodies turn by themselves; see `_floating`."""


def _fill_poses(model: Model, view: ConstantViews) -> None:
    """Where joints and bodies are in the frames of kernel links."""
    tree = np.flatnonzero(model.joint_articulation >= 0)
    parent = view["link_parent"][1:]
    starts, ends = model.joint_qd_start[tree], model.joint_qd_start[tree + 1]
    X_p, X_c = model.joint_X_p[tree], model.joint_X_c[tree]
    eye = np.eye(3)
    R_p, R_c = rotations(X_p), rotations(X_c)
    R_child = R_c.transpose(0, 2, 1)
    p_child = -turned(R_child, X_c[:, :3])

    R_first, R_last = np.repeat(eye[None], len(tree), axis=0), np.repeat(eye[None], len(tree), axis=0)
    axes = view["link_kind"][1:] == code.AXES
    if axes.any():
        frames = axis_frames(model.joint_axis)
        R_first[axes], R_last[axes] = frames[starts[axes]], frames[ends[axes] - 1]
        follows = np.zeros(model.joint_dof_count, bool)
        follows[1:] = (view["dof_link"][1:] == view["dof_link"][:-1]) & (view["dof_link"][1:] > 0)
        follows &= view["link_kind"][view["dof_link"]] == code.AXES
        if follows.any():
            later = np.flatnonzero(follows)
            between = matmul(frames[later - 1].transpose(0, 2, 1), frames[later])
            view["dof_R_pre"][later] = between.reshape(-1, 9)
            view["dof_Q_pre"][later] = quaternions(between)

    R_back = R_last.transpose(0, 2, 1)
    R_post, p_post = matmul(R_back, R_child), turned(R_back, p_child)
    view["link_R_post"][0] = view["link_R_pre"][0] = eye.reshape(-1)
    view["link_R_post"][1:] = R_post.reshape(-1, 9)
    view["link_Q_post"][1:] = quaternions(R_post)
    view["link_p_post"][1:] = p_post
    view["link_offset"][1:] = (R_post != eye).any(axis=(1, 2)) | p_post.any(axis=1)

    # the parent's body frame lies at its own link_R_post, link_p_post; that of the world is the identity
    R_parent = view["link_R_post"][parent].reshape(-1, 3, 3)
    R_pre = matmul(R_parent, R_p, R_first)
    view["link_R_pre"][1:] = R_pre.reshape(-1, 9)
    view["link_Q_pre"][1:] = quaternions(R_pre)
    view["link_turned"][1:] = (R_pre != eye).any(axis=(1, 2))
    view["link_p_pre"][1:] = view["link_p_post"][parent] + turned(R_parent, X_p[:, :3])
    view["link_R_anchor"][1:] = R_p.reshape(-1, 9)
    view["link_p_anchor"][1:] = X_p[:, :3]
    view["link_R_child"][1:] = R_child.reshape(-1, 9)
    view["link_p_child"][1:] = p_child


def _fill_inertias(model: Model, view: ConstantViews, names: frozenset[str], rows: slice | None) -> None:
    """Masses, centres of mass and moments of inertia of some bodies in the frames of kernel links."""
    if rows is None:
        _fill_inertias_of(model, view, names, slice(1, None), view["link_body"][1:])
        return
    for b, link in enumerate(view["body_link"][rows].tolist(), rows.start):
        # bodies in no tree have no link
        if link > 0:
            _fill_inertias_of(model, view, names, slice(link, link + 1), slice(b, b + 1))


def _fill_inertias_of(
    model: Model, view: ConstantViews, names: frozenset[str], links: slice, body: slice | np.ndarray
) -> None:
    R_post = view["link_R_post"][links].reshape(-1, 3, 3)
    if "body_mass" in names:
        view["link_mass"][links] = model.body_mass[body]
    if "body_com" in names:
        view["link_com"][links] = view["link_p_post"][links] + turned(R_post, model.body_com[body])
    if "body_inertia" in names:
        inertia = matmul(R_post, model.body_inertia[body], R_post.transpose(0, 2, 1))
        view["link_inertia"][links] = inertia.reshape(-1, 9)[:, _SIX]


_SIX = np.array([0, 4, 8, 1, 2, 5])
"""The six numbers of a symmetric matrix among its nine."""


def _fill_drives(model: Model, view: ConstantViews) -> None:
    """Gains of drives, zero for targets that they do not follow."""
    mode = model.joint_act_mode
    follows = (mode == ActuatorMode.POSITION) | (mode == ActuatorMode.POSITION_VELOCITY)
    view["dof_target_ke"][:] = np.where(follows, model.joint_target_ke, 0.0)
    view["dof_target_kd"][:] = np.where(follows | (mode == ActuatorMode.VELOCITY), model.joint_target_kd, 0.0)
    # a pure position drive damps the motion itself; the others lead to the target velocity
    view["dof_follows_velocity"][:] = mode != ActuatorMode.POSITION


def _fill_ground(model: Model, view: dict[str, np.ndarray]) -> None:
    """Points on the ground in the frames of kernel links, in the order of a loop from tips to base."""
    table = model.ground_points
    if table is None or not len(table):
        return
    links = view["body_link"][table.body]
    order = np.argsort(-links, kind="stable")
    link = links[order]
    R = view["link_R_post"][link].reshape(-1, 3, 3)
    view["ground_link"][:] = link
    view["ground_cadence"][:] = table.cadence[order]
    view["ground_point"][:] = view["link_p_post"][link] + turned(R, table.position[order])
    normal = table.normal[order]
    view["ground_plane"][:, :3] = normal
    view["ground_plane"][:, 3] = np.sum(normal * table.plane_point[order], axis=1)
    view["ground_tangent"][:] = axis_frames(normal)[:, :, 0]
    law = (table.stiffness, table.friction, table.regularization**2, table.damping)
    view["ground_law"][:] = np.column_stack(law)[order]


def _alone(view: dict[str, np.ndarray]) -> np.ndarray:
    """Which links are free bodies on their own."""
    return (view["link_kind"] == code.FREE) & (view["link_parent"] == 0) & (view["link_leaf"] == 1)


def _floating(view: dict[str, np.ndarray]) -> np.ndarray:
    """Which links are free bodies on their own that do not turn like a ball about the origin of their joint.

    Inertia of the joint itself and bounds on its velocities have no place in the momentum of a body, and who
    is moved by others keeps none.
    """
    floating = _alone(view)
    J, com = view["link_inertia"], view["link_com"]
    round_ = (J[:, :3] == J[:, :1]).all(axis=1) & ~J[:, 3:].any(axis=1) & ~com.any(axis=1)
    # as shares of the largest entry, whose cube may be beyond a float64
    xx, yy, zz, xy, xz, yz = (J / np.maximum(np.abs(J).max(axis=1, keepdims=True), 1e-300)).T
    det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    floating &= ~round_ & (det > 0.0) & (view["link_mass"] > 0.0)
    own = (view["dof_armature"] != 0.0) | np.isfinite(view["dof_velocity_limit"])
    own |= np.isfinite(view["dof_velocity_lower"])
    own |= view["dof_mobile"] == 0.0
    floating[view["dof_link"][own]] = False
    return floating
