# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics terms by articulation, for many worlds, with masks: what is not selected is zero.

Slots are as large as the largest articulation needs; the rest of a smaller one is zero. Rows and columns are
the degrees of freedom of an articulation in their order in the model, links those of its joints' children.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.model.model import Model, takes_model
from worldline._src.spatial.poses import Array, VectorLike, float_array
from worldline._src.step import dynamics
from worldline._src.step.coordinates import selected_articulations
from worldline._src.step.jacobians import jacobian


def _joints(model: Model, articulation: int) -> np.ndarray:
    return np.flatnonzero(model.joint_articulation == articulation)


def _dofs(model: Model, articulation: int) -> np.ndarray:
    start = model.joint_qd_start.tolist()
    joints = _joints(model, articulation).tolist()
    return np.array([d for j in joints for d in range(start[j], start[j + 1])], np.int64)


def _slots(model: Model) -> tuple[list[np.ndarray], int]:
    """Degrees of freedom by articulation, and the most of them."""
    dofs = [_dofs(model, k) for k in range(model.articulation_count)]
    return dofs, max((len(one) for one in dofs), default=0)


def _hide(model: Model, terms: Array, worlds: tuple[int, ...], mask: Any, indices: Any) -> Array:
    """Zeros where an articulation is not selected."""
    chosen = selected_articulations(model, mask, indices)
    if chosen.ndim == 2 and chosen.shape[:1] != worlds:
        raise ArgumentError(f"mask has {chosen.shape[0]} worlds, but coordinates have {worlds or 'none'}")
    terms *= chosen.reshape(*chosen.shape, *(1,) * (terms.ndim - len(worlds) - 1))
    return terms


@takes_model
def eval_mass_matrix(model: Model, joint_q: VectorLike, mask: Any = None, indices: Any = None) -> Array:
    """Mass matrices by articulation.

    Args:
        model: the model.
        joint_q: coordinates, ([worlds,] joint_coord_count).
        mask: booleans, one per articulation or (worlds, articulations); excludes indices.
        indices: articulations to evaluate; excludes mask.

    Returns:
        Shape ([worlds,] articulations, n, n) with n degrees of freedom of the largest articulation.

    Example:
        >>> from worldline.model import ModelBuilder, eval_mass_matrix
        >>> builder = ModelBuilder()
        >>> for mass in (1.0, 2.0):
        ...     link = builder.add_link(mass=mass)
        ...     _ = builder.add_articulation([builder.add_joint_prismatic(-1, link, axis="x")])
        >>> eval_mass_matrix(builder.finalize(), [0.0, 0.0], mask=[False, True]).ravel().tolist()
        [0.0, 2.0]
    """
    M = dynamics.mass_matrix(model, joint_q)
    dofs, n = _slots(model)
    worlds = M.shape[:-2]
    out = np.zeros((*worlds, len(dofs), n, n))
    for k, columns in enumerate(dofs):
        out[..., k, : len(columns), : len(columns)] = M[..., columns[:, None], columns]
    return _hide(model, out, worlds, mask, indices)


@takes_model
def eval_bias_forces(
    model: Model, joint_q: VectorLike, joint_qd: VectorLike, mask: Any = None, indices: Any = None
) -> Array:
    """Coriolis, centrifugal and gravity forces by articulation; arguments as of `eval_mass_matrix`.

    Returns:
        Shape ([worlds,] articulations, n) [N or N m].
    """
    bias = dynamics.bias_forces(model, joint_q, joint_qd)
    dofs, n = _slots(model)
    worlds = bias.shape[:-1]
    out = np.zeros((*worlds, len(dofs), n))
    for k, columns in enumerate(dofs):
        out[..., k, : len(columns)] = bias[..., columns]
    return _hide(model, out, worlds, mask, indices)


@takes_model
def eval_jacobian(model: Model, joint_q: VectorLike, mask: Any = None, indices: Any = None) -> Array:
    """Jacobians of the links of every articulation at their origins; arguments as of `eval_mass_matrix`.

    Returns:
        Shape ([worlds,] articulations, links, 6, n): angular rows first, world axes.
    """
    dofs, n = _slots(model)
    children = [model.joint_child[_joints(model, k)] for k in range(model.articulation_count)]
    joint_q = float_array(joint_q, "joint_q")
    worlds = joint_q.shape[:-1]
    out = np.zeros((*worlds, len(dofs), max((len(one) for one in children), default=0), 6, n))
    for k, columns in enumerate(dofs):
        for j, body in enumerate(children[k].tolist()):
            out[..., k, j, :, : len(columns)] = jacobian(model, joint_q, body)[..., columns]
    return _hide(model, out, worlds, mask, indices)
