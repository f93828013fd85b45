# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse inertias that constraint rows see, taken once at the start position.

Soft constraints scale their regularizer by the inverse inertia of what they act on. The exact one changes
with the pose; this estimate does not, which keeps the meaning of their parameters the same everywhere.
"""

from __future__ import annotations

from itertools import takewhile

import numpy as np

from worldline._src.kernels.inverse_inertia import inverse_inertias
from worldline._src.model.compile import constant_views
from worldline._src.model.kinds import JointType
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array, turned
from worldline._src.step.tree_masses import measure_trees

_ROUNDING = 1e-24
"""What is left of a motion that joints do not allow, as a share of the other: that of rotation by that of
translation [m^2], or the other way round. A radius of gyration of a nanometre is 1e-18."""
_WIDE = 1e12
"""Ratio of inertias from which on the mass matrix is scaled before it is inverted."""
_REGULAR = 1e-6
"""Least diagonal entry of the Cholesky factor of a mass matrix of unit diagonal that has an inverse."""
_FLOATING = (int(JointType.FREE), int(JointType.DISTANCE))
"""Joint types that let a body move in every way."""
_HERE = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
"""The pose of a frame in itself."""


def _blocks(M: Array) -> list[tuple[int, int]]:
    """Ranges of degrees of freedom that have no inertia in common: about one a tree."""
    first = np.argmax(M != 0.0, axis=1)
    first = np.where((M != 0.0).any(axis=1), first, np.arange(len(M)))
    # a block begins where nothing below reaches back beyond it
    reach = np.minimum.accumulate(first[::-1])[::-1]
    starts = np.flatnonzero(reach >= np.arange(len(M)))
    return list(zip(starts.tolist(), [*starts[1:].tolist(), len(M)], strict=True))


def _inverse(M: Array) -> Array:
    """The pseudo-inverse of a mass matrix, whatever the units of its degrees of freedom are."""
    inertia = np.diagonal(M)
    if inertia.min() > 0.0:
        scale = 1.0 / np.sqrt(inertia)
        scales = np.outer(scale, scale)
        unit = M * scales
        if _is_regular(unit):
            return np.linalg.inv(unit) * scales
        if inertia.max() > _WIDE * inertia.min():
            return np.linalg.pinv(unit, hermitian=True) * scales
    return np.asarray(np.linalg.pinv(M, hermitian=True), np.float64)


def _is_regular(unit: Array) -> bool:
    """Whether a mass matrix of unit diagonal has an inverse, by its Cholesky factor."""
    try:
        return bool(np.linalg.cholesky(unit).diagonal().min() > _REGULAR)
    except np.linalg.LinAlgError:
        return False


def _inverse_of_tree(M: Array, held: np.ndarray) -> Array:
    """The inverse of the mass matrix of a tree, zero for what is held."""
    blocks = _blocks(M)
    if len(blocks) == 1 and not held.any() and np.isfinite(M).all():
        return _inverse(M)
    inverse = np.zeros(M.shape)
    for start, end in blocks:
        free = start + np.flatnonzero(~held[start:end])
        # inertia beyond double precision has no inverse: a step refuses it by name, compiling does not
        if free.size and np.isfinite(M[np.ix_(free, free)]).all():
            # a degree of freedom without inertia has nothing to be scaled by
            inverse[np.ix_(free, free)] = _inverse(M[np.ix_(free, free)])
    return inverse


class InverseMass:
    """Inverse of `tree_masses`, tree by tree; zero where bodies are held or nothing has inertia."""

    def __init__(self, model: Model, masses: list[tuple[int, Array]]) -> None:
        held = np.repeat(model.body_kinematic[model.joint_child], np.diff(model.joint_qd_start))
        self._starts: list[int] = []
        self._blocks: list[Array] = []
        known: dict[tuple[bytes, bytes], Array] = {}
        for first, M in masses:
            still = held[first : first + len(M)]
            # equal bodies are many in large worlds
            key = M.tobytes(), still.tobytes()
            block = known.get(key)
            if block is None:
                block = known[key] = _inverse_of_tree(M, still)
            self._starts.append(first)
            self._blocks.append(block)

    @property
    def diagonal(self) -> Array:
        """(joint_dof_count,)"""
        return np.concatenate([np.zeros(0), *(np.diagonal(block) for block in self._blocks)])

    @property
    def blocks(self) -> tuple[Array, np.ndarray]:
        """All blocks in one array, and of each degree of freedom its first, their number and the block."""
        sizes = [len(block) for block in self._blocks]
        begins = np.cumsum([0, *(size * size for size in sizes)])[:-1]
        table = np.column_stack([self._starts, sizes, begins]).astype(np.int64).reshape(-1, 3)
        flat = np.concatenate([np.zeros(0), *(block.ravel() for block in self._blocks)])
        return flat, np.repeat(table, sizes, axis=0)

    def times(self, dofs: np.ndarray, x: Array) -> Array:
        """M^-1 x for a vector that is zero but for `dofs`, ascending: what it is in all trees of theirs."""
        parts = [np.zeros(0)]
        tree = np.searchsorted(self._starts, dofs, side="right") - 1
        for k in np.unique(tree).tolist():
            mine = tree == k
            parts.append(x[mine] @ self._blocks[k][dofs[mine] - self._starts[k]])
        return np.concatenate(parts)

    def square(self, dofs: np.ndarray, x: Array) -> float:
        """x M^-1 x for a vector that is zero but for `dofs`, ascending."""
        total, tree = 0.0, np.searchsorted(self._starts, dofs, side="right") - 1
        for k in np.unique(tree).tolist():
            mine = tree == k
            at = dofs[mine] - self._starts[k]
            total += float(x[mine] @ self._blocks[k][np.ix_(at, at)] @ x[mine])
        return total


def inverse_weights(model: Model) -> tuple[Array, Array]:
    """Of degrees of freedom, (joint_dof_count,), and of bodies: translation and rotation, (body_count, 2).

    Degrees of freedom of a ball joint share their mean, and so do the two halves of a free joint. Bodies are
    looked at in their centre of mass; where one cannot move one way, that number is zero (`pair_weights`).
    Those that only slide have the inverse of their mass, whichever way they are free to go. The arrays are
    read-only and computed once per model: a change of what has inertia clears `Model.inertia_scratch`.
    """
    known = model.inertia_scratch.get("inverse_weights")
    if known is None:
        known = model.inertia_scratch["inverse_weights"] = _inverse_weights(model)
        for weights in known:
            weights.setflags(write=False)
    return known


class StartMasses(NamedTuple):
    """What `measure_trees` gives at the start position."""

    masses: list[tuple[int, Array]]
    data: Array


def start_masses(model: Model) -> StartMasses:
    """Mass matrices at the start, with free bodies at the origin; measured once per model."""
    known = model.inertia_scratch.get("start_masses")
    if known is None:
        q = np.array(model.joint_q)
        for j in _joints_of(model, *_FLOATING):
            # where a free body starts makes no difference but rounding; so a saved world goes on bit for bit
            q[model.joint_q_start[j] : model.joint_q_start[j + 1]] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        known = model.inertia_scratch["start_masses"] = StartMasses(*measure_trees(model, q))
    return known


def _joints_of(model: Model, *types: int) -> list[int]:
    """Joints of some types."""
    return [j for j, kind in enumerate(model.joint_type.tolist()) if kind in types]


def _inverse_weights(model: Model) -> tuple[Array, Array]:
    bodies = np.zeros((model.body_count, 2))
    if model.joint_dof_count == 0:
        return np.zeros(0), bodies
    start = start_masses(model)
    inverse = InverseMass(model, start.masses)
    dofs = inverse.diagonal
    for j in _joints_of(model, *_FLOATING, int(JointType.BALL)):
        begin, end = model.joint_qd_start[j : j + 2].tolist()
        for first in range(begin, end, 3):
            dofs[first : first + 3] = dofs[first : first + 3].mean()

    A = _of_centres(model, inverse, start.data)
    bodies[:, ::-1] = A.reshape(-1, 2, 3).mean(axis=2)
    small = (bodies < _ROUNDING * bodies[:, ::-1]) & (bodies != 0.0)
    joint_of = dict(zip(model.joint_child.tolist(), range(model.joint_count), strict=True))
    for b in np.flatnonzero(small.any(axis=1)).tolist():
        if not _floats(model, _joints_up(model, joint_of, b)):
            bodies[b, small[b]] = 0.0
    for j in _joints_of(model, int(JointType.PRISMATIC)):
        b = int(model.joint_child[j])
        if _only_slides(model, b, _joints_up(model, joint_of, b)):
            bodies[b] = 1.0 / model.body_mass[b], 0.0
    return dofs, bodies


def _of_centres(model: Model, inverse: InverseMass, data: Array) -> Array:
    """Inverse inertias of all centres of mass: three angular rows, three linear ones, (body_count, 6)."""
    view, sizes, at = constant_views(model.arenas), model.arenas.sizes, model.arenas.offsets
    link, nlink, nv = view["body_link"], sizes["nlink"], sizes["nv"]
    R = data[at["link_R"] :][: 9 * nlink].reshape(nlink, 3, 3)
    centre = data[at["link_p"] :][: 3 * nlink].reshape(nlink, 3) + turned(R, view["link_com"])
    last = np.where(link > 0, view["link_last"][link], -1)
    flat, place = inverse.blocks
    made = np.zeros((model.body_count, 6))
    S = data[at["dof_S"] :][: 6 * nv].reshape(nv, 6)
    inverse_inertias(last, view["dof_parent"], place, S, centre[link], flat, made)
    return made


def _floats(model: Model, joints: list[int]) -> bool:
    """Whether the first of the joints from a body to its root lets it move in every way."""
    return bool(joints) and int(model.joint_type[joints[0]]) in _FLOATING


def _only_slides(model: Model, body: int, joints: list[int]) -> bool:
    """Whether a body slides along its own axes on something that stands, and carries no other body.

    Its origin is its centre of mass, and its axes are those of its inertia. MuJoCo calls such bodies simple
    and has this scale for them, which impedance rows follow. `joints` are those from the body to its root.
    """
    if not joints or model.joint_type[joints[0]] != JointType.PRISMATIC:
        return False
    slides = list(takewhile(lambda j: model.joint_type[j] == JointType.PRISMATIC, joints))
    ends, between = model.joint_child[joints[len(slides) :]], model.joint_child[slides[1:]]
    stands = (model.joint_type[joints[len(slides) :]] == JointType.FIXED) | model.body_kinematic[ends]
    if not stands.all() or (model.joint_parent == body).any():
        return False
    # several slides of one body have bodies without mass in between
    if model.body_kinematic[body] or model.body_mass[body] <= 0.0 or (model.body_mass[between] > 0.0).any():
        return False
    axes = model.joint_axis[model.joint_qd_start[slides]]
    if (np.count_nonzero(axes, axis=1) != 1).any() or (model.joint_X_c[slides] != _HERE).any():
        return False
    return not (model.joint_X_p[slides[:-1]] != _HERE).any() and _is_centred(model, body)


def _joints_up(model: Model, joint_of: dict[int, int], body: int) -> list[int]:
    """Joints from a body to the root of its tree; `joint_of` has the joint above every body."""
    found: list[int] = []
    while body in joint_of:
        found.append(joint_of[body])
        body = int(model.joint_parent[found[-1]])
    return found


def _is_centred(model: Model, body: int) -> bool:
    """Whether the axes of a body are those of its inertia, at its centre of mass.

    Principal axes have no order but where they are those of the body's only shape; else the largest moment
    comes first.
    """
    I = model.body_inertia[body]
    if model.body_com[body].any() or (I != np.diag(np.diagonal(I))).any():
        return False
    own = [] if model.shapes is None else np.flatnonzero(model.shapes.body == body)
    if len(own) == 1 and model.shapes is not None:
        return not (model.shapes.xform[own[0]] != _HERE).any()
    moments = np.diagonal(I)
    return not (moments[1:] > moments[:-1]).any()
