# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Inverse inertias of constraint rows at the initial position, for their regularizers.

Soft constraints scale their regularizer by the inverse inertia of what they act on. The exact one changes
with the pose; this estimate does not, which keeps the meaning of their parameters the same everywhere.
"""

from __future__ import annotations

from itertools import takewhile

import numpy as np

from worldline._src.kernels.inverse_inertia import inverse_inertias, inverse_masses
from worldline._src.linear_algebra import dot, matmul, solve, weighted_sum
from worldline._src.model.kinds import JointType
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array
from worldline._src.step.tree_masses import TreeMasses

_WIDE = 1e12
"""Ratio of inertias from which on the mass matrix is scaled before it is inverted."""
_REGULAR = 1e-6
"""Least diagonal entry of the Cholesky factor of a mass matrix of unit diagonal that has an inverse."""
_LEAST = 1e-24
"""Least inertia that a degree of freedom moves, [kg or kg m^2]; rounding leaves some 1e-30 of none."""
_ORDINARY = 1e-12
"""Least mass [kg] and moment of inertia [kg m^2] that a look is enough for, and one over the largest."""
_KEPT = 128
"""Degrees of freedom up to which a model keeps the arenas in which its inertias are measured."""
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


def pseudo_inverse(M: Array) -> Array:
    """The pseudo-inverse of a mass matrix, whatever the units of its degrees of freedom are."""
    inertia = np.diagonal(M)
    if inertia.min() > 0.0:
        scale = 1.0 / np.sqrt(inertia)
        scales = np.outer(scale, scale)
        unit = M * scales
        if _is_regular(unit):
            return solve(unit, np.eye(len(unit))) * scales
        if inertia.max() > _WIDE * inertia.min():
            return np.linalg.pinv(unit, hermitian=True) * scales
    return np.asarray(np.linalg.pinv(M, hermitian=True), np.float64)


def _is_regular(unit: Array) -> bool:
    """Whether a mass matrix of unit diagonal has an inverse, by its Cholesky factor."""
    try:
        return bool(np.linalg.cholesky(unit).diagonal().min() > _REGULAR)
    except np.linalg.LinAlgError:
        return False


def _inverse_of_tree(M: Array, kinematic: np.ndarray) -> Array:
    """The inverse of the mass matrix of a tree, zero for what cannot move."""
    blocks = _blocks(M)
    if len(blocks) == 1 and not kinematic.any() and np.isfinite(M).all():
        return pseudo_inverse(M)
    inverse = np.zeros(M.shape)
    for start, end in blocks:
        free = start + np.flatnonzero(~kinematic[start:end])
        # inertia beyond double precision has no inverse: a step refuses it by name, compiling does not
        if free.size and np.isfinite(M[np.ix_(free, free)]).all():
            # a degree of freedom without inertia has nothing to be scaled by
            inverse[np.ix_(free, free)] = pseudo_inverse(M[np.ix_(free, free)])
    return inverse


class InverseMass:
    """Inverse of `tree_masses`, tree by tree; zero where bodies cannot move or nothing has inertia."""

    def __init__(self, model: Model, masses: list[tuple[int, Array]]) -> None:
        kinematic = np.repeat(model.body_kinematic[model.joint_child], np.diff(model.joint_qd_start))
        self._starts: list[int] = []
        self._blocks: list[Array] = []
        known: dict[tuple[bytes, bytes], Array] = {}
        for first, M in masses:
            fixed = kinematic[first : first + len(M)]
            # equal bodies are many in large worlds
            key = M.tobytes(), fixed.tobytes()
            block = known.get(key)
            if block is None:
                block = known[key] = _inverse_of_tree(M, fixed)
            self._starts.append(first)
            self._blocks.append(block)

    @property
    def flat(self) -> Array:
        """All blocks one after the other."""
        return np.concatenate([np.zeros(0), *(block.ravel() for block in self._blocks)])

    def times(self, dofs: np.ndarray, x: Array) -> Array:
        """M^-1 x for a vector that is zero but for `dofs`, ascending: what it is in all trees of theirs."""
        parts = [np.zeros(0)]
        tree = np.searchsorted(self._starts, dofs, side="right") - 1
        for k in np.unique(tree).tolist():
            mine = tree == k
            parts.append(weighted_sum(x[mine], self._blocks[k][dofs[mine] - self._starts[k]]))
        return np.concatenate(parts)

    def square(self, dofs: np.ndarray, x: Array) -> float:
        """x M^-1 x for a vector that is zero but for `dofs`, ascending."""
        total, tree = 0.0, np.searchsorted(self._starts, dofs, side="right") - 1
        for k in np.unique(tree).tolist():
            mine = tree == k
            at = dofs[mine] - self._starts[k]
            total += dot(x[mine], matmul(self._blocks[k][np.ix_(at, at)], x[mine]))
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


class StartInertias(TreeMasses):
    """Arenas in which inertias of a model at its start are measured and inverted."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        arenas, view, at = model.arenas, model.constants, model.arenas.offsets
        nlink, nv = arenas.sizes["nlink"], arenas.sizes["nv"]
        link = view["body_link"]
        last = np.where(link > 0, view["link_last"][link], -1)
        floating = np.zeros(model.body_count, bool)
        floating[model.joint_child] = np.isin(model.joint_type, _FLOATING)
        self._origins = model.joint_q_start[_joints_of(model, *_FLOATING)][:, None] + np.arange(7)
        starts = model.joint_qd_start.tolist()
        turning = _joints_of(model, *_FLOATING, int(JointType.BALL))
        threes = [first for j in turning for first in range(starts[j], starts[j + 1], 3)]
        self.sliding = _joints_of(model, int(JointType.PRISMATIC))
        """Joints whose bodies may slide alone."""
        self._mobile = view["dof_mobile"]
        self._inverse = np.zeros(len(self.mass))
        self._report, self._dofs, self._bodies = np.zeros(3), np.zeros(nv), np.zeros((model.body_count, 2))
        above = view["dof_parent"]
        self._invert = (above, self._mobile, self.row, self.mass, np.zeros(len(self.mass)))
        self._weigh = (
            *(above, self.row, np.array(threes, np.int64)),
            np.column_stack([link, last, floating]).astype(np.int64),
            self.data[at["dof_S"] :][: 6 * nv].reshape(nv, 6),
            self.data[at["link_R"] :][: 9 * nlink].reshape(nlink, 9),
            self.data[at["link_p"] :][: 3 * nlink].reshape(nlink, 3),
            view["link_com"],
        )

    def measure_start(self, model: Model) -> None:
        """Mass matrices at the start, with free bodies at the origin."""
        self.q[:] = model.joint_q
        # where a free body starts makes no difference but rounding; so a saved world goes on bit for bit
        self.q[self._origins] = _HERE
        self.measure()

    def invert(self) -> bool:
        """Invert what was measured; False where a motion has no inertia, or one beyond double precision."""
        inverse_masses(*self._invert, self._inverse, self._report)
        share, least, most = self._report.tolist()
        return share > _REGULAR**2 and least > _LEAST and most < np.inf

    def weights(self, inverse: Array | None = None) -> tuple[Array, Array]:
        """Inverse inertias of degrees of freedom and bodies; `inverse` in the place of what `invert` made."""
        flat = self._inverse if inverse is None else inverse
        inverse_inertias(*self._weigh, flat, self._dofs, self._bodies)
        return self._dofs.copy(), self._bodies.copy()


def start_inertias(model: Model) -> StartInertias:
    """Inertias measured at the start; models of few degrees of freedom keep the arenas."""
    found = model.kept.get("start_inertias")
    if found is None:
        found = StartInertias(model)
        if model.joint_dof_count <= _KEPT:
            model.kept["start_inertias"] = found
    found.measure_start(model)
    return found


def has_regular_inertia(model: Model) -> bool:
    """Whether every motion that is not prescribed obviously has inertia at the start."""
    inverse_weights(model)
    return bool(model.inertia_scratch["is_regular"])


def are_free_bodies(model: Model) -> bool:
    """Whether every joint is the free joint of a single body with ordinary mass and inertia.

    The mass matrix of such a body, with m its mass, r its centre of mass and I its inertia about that, is
    [[m 1, -m r x], [m r x, I - m r x r x]]. Its Schur complement is I: it has an inverse where m and I have.
    Far from the limits of `has_regular_inertia`, this says so without measuring and compiling.
    """
    if (model.joint_type != int(JointType.FREE)).any() or (model.joint_parent >= 0).any():
        return False
    mass, r = model.body_mass[model.joint_child], model.body_com[model.joint_child]
    inertia = model.body_inertia[model.joint_child]
    if not (np.isfinite(inertia).all() and (mass > _ORDINARY).all() and (mass < 1.0 / _ORDINARY).all()):
        return False
    moments = np.linalg.eigvalsh(inertia)
    most = np.maximum(moments[:, -1], mass * (r * r).sum(axis=1))
    return bool(((moments[:, 0] > 1e-4 * most) & (most > _ORDINARY) & (most < 1.0 / _ORDINARY)).all())


def _joints_of(model: Model, *types: int) -> list[int]:
    """Joints of some types."""
    return [j for j, kind in enumerate(model.joint_type.tolist()) if kind in types]


def _inverse_weights(model: Model) -> tuple[Array, Array]:
    if model.joint_dof_count == 0:
        model.inertia_scratch["is_regular"] = True
        return np.zeros(0), np.zeros((model.body_count, 2))
    start = start_inertias(model)
    regular = model.inertia_scratch["is_regular"] = start.invert()
    dofs, bodies = start.weights(None if regular else InverseMass(model, start.matrices()).flat)
    if start.sliding:
        joint_of = dict(zip(model.joint_child.tolist(), range(model.joint_count), strict=True))
        for j in start.sliding:
            b = int(model.joint_child[j])
            if _only_slides(model, b, _joints_up(model, joint_of, b)):
                bodies[b] = 1.0 / model.body_mass[b], 0.0
    return dofs, bodies


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
