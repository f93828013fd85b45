# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse inertias that constraint rows see, taken once at the start position.

Soft constraints scale their regularizer by the inverse inertia of what they act on. The exact one changes
with the pose; this estimate does not, which keeps the meaning of their parameters the same everywhere.
"""

from __future__ import annotations

from itertools import takewhile

import numpy as np

from worldline._src.model.kinds import JointType
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array
from worldline._src.step.jacobians import jacobian
from worldline._src.step.tree_masses import tree_masses

_ROUNDING = 1e-24
"""What is left of a motion that joints do not allow, as a share of the other: that of rotation by that of
translation [m^2], or the other way round. A radius of gyration of a nanometre is 1e-18."""
_WIDE = 1e12
"""Ratio of inertias from which on the mass matrix is scaled before it is inverted."""
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
    if inertia.min() <= 0.0 or inertia.max() <= _WIDE * inertia.min():
        return np.asarray(np.linalg.pinv(M, hermitian=True), np.float64)
    scale = 1.0 / np.sqrt(inertia)
    return np.linalg.pinv(M * np.outer(scale, scale), hermitian=True) * np.outer(scale, scale)


def _inverse_of_tree(M: Array, held: np.ndarray) -> Array:
    """The inverse of the mass matrix of a tree, zero for what is held."""
    inverse = np.zeros(M.shape)
    for start, end in _blocks(M):
        free = start + np.flatnonzero(~held[start:end])
        # inertia beyond double precision has no inverse: a step refuses it by name, compiling does not
        if free.size and np.isfinite(M[np.ix_(free, free)]).all():
            # a degree of freedom without inertia has nothing to be scaled by
            inverse[np.ix_(free, free)] = _inverse(M[np.ix_(free, free)])
    return inverse


class InverseMass:
    """Inverse of the mass matrix at `q`, tree by tree; zero where bodies are held or nothing has inertia."""

    def __init__(self, model: Model, q: Array) -> None:
        held = np.repeat(model.body_kinematic[model.joint_child], np.diff(model.joint_qd_start))
        self._starts: list[int] = []
        self._blocks: list[Array] = []
        known: dict[tuple[bytes, bytes], Array] = {}
        for first, M in tree_masses(model, q):
            still = held[first : first + len(M)]
            # equal bodies are many in large worlds
            key = M.tobytes(), still.tobytes()
            if key not in known:
                known[key] = _inverse_of_tree(M, still)
            self._starts.append(first)
            self._blocks.append(known[key])

    @property
    def diagonal(self) -> Array:
        """(joint_dof_count,)"""
        return np.concatenate([np.zeros(0), *(np.diagonal(block) for block in self._blocks)])

    def of(self, dofs: np.ndarray) -> Array:
        """Rows and columns of degrees of freedom of one tree."""
        if not dofs.size:
            return np.zeros((0, 0))
        k = int(np.searchsorted(self._starts, dofs[0], side="right")) - 1
        return self._blocks[k][np.ix_(dofs - self._starts[k], dofs - self._starts[k])]

    def times(self, x: Array) -> Array:
        """M^-1 x for one vector, or for each row of several, (..., joint_dof_count)."""
        parts = (
            x[..., i : i + len(block)] @ block for i, block in zip(self._starts, self._blocks, strict=True)
        )
        return np.concatenate([x[..., :0], *parts], axis=-1)


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


def _inverse_weights(model: Model) -> tuple[Array, Array]:
    nv = model.joint_dof_count
    bodies = np.zeros((model.body_count, 2))
    if nv == 0:
        return np.zeros(0), bodies
    q = np.array(model.joint_q)
    for j in np.flatnonzero(np.isin(model.joint_type, _FLOATING)).tolist():
        # where a free body starts makes no difference but rounding; so a saved world goes on bit for bit
        q[model.joint_q_start[j] : model.joint_q_start[j + 1]] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    inverse = InverseMass(model, q)
    dofs = inverse.diagonal
    starts = model.joint_qd_start.tolist()
    for kind, start, end in zip(model.joint_type.tolist(), starts[:-1], starts[1:], strict=True):
        if kind in _FLOATING:
            dofs[start : start + 3] = dofs[start : start + 3].mean()
            dofs[start + 3 : end] = dofs[start + 3 : end].mean()
        elif kind == JointType.BALL:
            dofs[start:end] = dofs[start:end].mean()

    joint_of = dict(zip(model.joint_child.tolist(), range(model.joint_count), strict=True))
    for b in range(model.body_count):
        joints = _joints_up(model, joint_of, b)
        J = jacobian(model, q, b, model.body_com[b])
        moving = np.flatnonzero(J.any(axis=0))
        A = np.einsum("ri,ij,rj->r", J[:, moving], inverse.of(moving), J[:, moving])
        bodies[b] = A[3:].mean(), A[:3].mean()
        if not _floats(model, joints):
            bodies[b] = np.where(bodies[b] < _ROUNDING * bodies[b, ::-1], 0.0, bodies[b])
        if _only_slides(model, b, joints):
            bodies[b] = 1.0 / model.body_mass[b], 0.0
    return dofs, bodies


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
