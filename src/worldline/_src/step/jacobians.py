# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Jacobians of points on links and their rates, as functions on arrays; see `dynamics` for the keywords."""

from __future__ import annotations

from typing import Literal, TypeAlias, Unpack

import numpy as np

from worldline._src.errors import ArgumentError, one_of
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array, VectorLike
from worldline._src.step import programs
from worldline._src.step.array_functions import Evaluation, array_function
from worldline._src.step.evaluate import evaluate

Axes: TypeAlias = Literal["world", "link"]


def _point_args(model: Model, link: int | str, axes: Axes) -> np.ndarray:
    if isinstance(link, str):
        link = model.body_index(link)
    if isinstance(link, bool) or not isinstance(link, (int, np.integer)):
        raise ArgumentError(f"link must be an index or a label, got {link!r}")
    if not 0 <= link < model.body_count:
        raise ArgumentError(f"link must be 0 to {model.body_count - 1}, got {link}")
    one_of(axes, ("world", "link"), "axes")
    last = model.scratch.get("last_dof")
    if last is None:
        last = model.scratch["last_dof"] = _last_dofs(model)
    return np.array([link, axes == "link", last[link], 0], np.int64)


def _last_dofs(model: Model) -> list[int]:
    """For every body, the last degree of freedom on the way from the world to it, or -1."""
    last = [-1] * model.body_count
    for j in range(model.joint_count):
        parent = int(model.joint_parent[j])
        start, end = int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1])
        last[int(model.joint_child[j])] = end - 1 if end > start else (last[parent] if parent >= 0 else -1)
    return last


@array_function
def jacobian(
    model: Model,
    q: VectorLike,
    link: int | str,
    point: VectorLike = (0.0, 0.0, 0.0),
    *,
    axes: Axes = "world",
    **keywords: Unpack[Evaluation],
) -> Array:
    """Geometric Jacobian of a point of a link: angular rows, then linear rows.

    Args:
        model: the model.
        q: joint coordinates.
        link: body index or label.
        point: in the body frame [m].
        axes: "world", or "link" for rows in the axes of the body.
        out: where to put the result.
        threads: worlds are spread over this many threads.
        lanes: worlds per instruction.

    Returns:
        Shape ([worlds,] 6, joint_dof_count).
    """
    args = _point_args(model, link, axes)
    shape = (6, model.joint_dof_count)
    return evaluate(model, programs.JACOBIAN, (q, point), shape, args=args, **keywords)


@array_function
def jacobian_derivative(
    model: Model,
    q: VectorLike,
    qd: VectorLike,
    link: int | str,
    point: VectorLike = (0.0, 0.0, 0.0),
    *,
    axes: Axes = "world",
    **keywords: Unpack[Evaluation],
) -> Array:
    """Time derivative of `jacobian` with the same arguments, while the joints move with `qd`.

    In world axes it is that of the classical acceleration J v' + J' v. With axes="link" it is the rate of the
    rows in the axes of the body, that of the body's spatial acceleration.

    Returns:
        Shape ([worlds,] 6, joint_dof_count).

    Example:
        >>> from worldline.model import ModelBuilder, jacobian_derivative
        >>> builder = ModelBuilder()
        >>> link = builder.add_link(mass=1.0)
        >>> joint = builder.add_joint_revolute(-1, link, axis=(0, 0, 1))
        >>> _ = builder.add_articulation([joint])
        >>> jacobian_derivative(builder.finalize(), [0.0], [2.0], link, point=(1, 0, 0)).ravel().tolist()
        [0.0, 0.0, 0.0, -2.0, 0.0, 0.0]
    """
    args = _point_args(model, link, axes)
    shape = (6, model.joint_dof_count)
    return evaluate(model, programs.JACOBIAN_DERIVATIVE, (q, qd, point), shape, args=args, **keywords)


@array_function
def jacobian_dot_times_v(
    model: Model,
    q: VectorLike,
    qd: VectorLike,
    link: int | str,
    point: VectorLike = (0.0, 0.0, 0.0),
    *,
    axes: Axes = "world",
    **keywords: Unpack[Evaluation],
) -> Array:
    """What J' v adds to J v' in the acceleration of a point of a link: angular, then linear.

    With axes="link" it is the same acceleration expressed in the axes of the body.

    Returns:
        Shape ([worlds,] 6).
    """
    args = _point_args(model, link, axes)
    operands = (q, qd, np.zeros(model.joint_dof_count), point)
    program = programs.JACOBIAN_DOT_TIMES_V
    return evaluate(model, program, operands, (6,), args=args, **keywords)
