# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Between generalized and maximal coordinates, when the caller says so."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError
from worldline._src.model.checks import whole_numbers
from worldline._src.model.joint_kinds import not_inverted
from worldline._src.model.kinds import BodyFlags
from worldline._src.model.model import Model, takes_model
from worldline._src.spatial.poses import Array, flag_array
from worldline._src.step import programs
from worldline._src.step.evaluate import evaluate, is_count


class BodyState(Protocol):
    """Anything with body poses and velocities, such as a State."""

    body_q: Array
    body_qd: Array


def selected_articulations(model: Model, mask: Any, indices: Any) -> np.ndarray:
    """True for every selected articulation, (articulations,), or (worlds, articulations) with such a mask."""
    if mask is not None and indices is not None:
        raise ArgumentError("give mask or indices, not both")
    count = model.articulation_count
    chosen = np.ones(count, bool)
    if mask is not None:
        chosen = flag_array(mask, "mask")
        if chosen.ndim not in (1, 2) or chosen.shape[-1] != count:
            raise ArgumentError(
                f"mask must be booleans, one per articulation, of shape ({count},) or (worlds, {count}), "
                f"got {chosen.dtype} {chosen.shape}"
            )
    if indices is not None:
        listed = whole_numbers(indices, "indices")
        if listed.size and (listed.min() < 0 or listed.max() >= count):
            raise ArgumentError(f"indices must be 0 to {count - 1}, got {listed.tolist()}")
        chosen = np.zeros(count, bool)
        chosen[listed.astype(np.int64)] = True
    return chosen


def _selected_joints(model: Model, mask: Any, indices: Any, body_flag_filter: int) -> np.ndarray:
    """True for every joint whose articulation is selected and whose child passes the filter.

    Shape (joint_count,), with a mask by world (worlds, joint_count).
    """
    chosen = selected_articulations(model, mask, indices)
    if not is_count(body_flag_filter) or not 0 <= body_flag_filter <= BodyFlags.ALL:
        raise ArgumentError(f"body_flag_filter must combine BodyFlags, got {body_flag_filter!r}")
    flags = model.body_flags[model.joint_child] & int(body_flag_filter)
    # joints in no articulation, -1, find an extra entry at the end: never chosen
    chosen = np.concatenate([chosen, np.zeros((*chosen.shape[:-1], 1), bool)], axis=-1)
    return (flags != 0) & chosen[..., model.joint_articulation]


def _require_state(state: Any) -> None:
    """Raise for what has no poses and velocities of bodies."""
    if not (hasattr(state, "body_q") and hasattr(state, "body_qd")):
        raise ArgumentError(f"state must have body_q and body_qd, such as a State, got {state!r}")


def _require(array: Any, shape: tuple[int, ...], what: str, selected: np.ndarray) -> None:
    if type(array) is not np.ndarray or array.dtype != np.float64:
        raise ArgumentError(f"{what} must be a float64 array, got {type(array).__name__}")
    if array.shape != shape:
        raise ArgumentError(f"{what} must have shape {shape}, got {array.shape}")
    if not array.flags.writeable:
        raise ArgumentError(f"{what} must be writable")
    if selected.ndim == 2 and (len(shape) < 2 or selected.shape[0] != shape[0]):
        raise ArgumentError(f"mask has {selected.shape[0]} worlds, but {what} has shape {shape}")


@takes_model
def eval_fk(
    model: Model,
    joint_q: Array,
    joint_qd: Array,
    state: BodyState,
    mask: Any = None,
    indices: Any = None,
    body_flag_filter: int = BodyFlags.ALL,
) -> None:
    """Write body poses and velocities from joint coordinates and velocities.

    Args:
        model: the model.
        joint_q: coordinates, shape ([worlds,] joint_coord_count).
        joint_qd: velocities, shape ([worlds,] joint_dof_count).
        state: its body_q and body_qd are written where selected, and keep their values elsewhere.
        mask: booleans, one per articulation or (worlds, articulations); excludes indices.
        indices: articulations to update; excludes mask.
        body_flag_filter: only bodies with one of these `BodyFlags` are written.

    Example:
        >>> from worldline.model import ModelBuilder, eval_fk
        >>> builder = ModelBuilder()
        >>> link = builder.add_link(mass=1.0)
        >>> joint = builder.add_joint_prismatic(-1, link, axis="z")
        >>> _ = builder.add_articulation([joint])
        >>> builder.joint_q[-1] = 0.5
        >>> model = builder.finalize()
        >>> state = model.state()
        >>> eval_fk(model, state.joint_q, state.joint_qd, state)
        >>> state.body_q[0, 2]
        np.float64(0.5)
    """
    joints = _selected_joints(model, mask, indices, body_flag_filter)
    poses = evaluate(model, programs.BODY_POSES, (joint_q,), (model.body_count, 7))
    twists = evaluate(model, programs.BODY_TWISTS, (joint_q, joint_qd), (model.body_count, 6))
    _require_state(state)
    _require(state.body_q, poses.shape, "state.body_q", joints)
    _require(state.body_qd, twists.shape, "state.body_qd", joints)
    owned = model.joint_articulation >= 0
    bodies = np.zeros((*joints.shape[:-1], model.body_count, 1), bool)
    bodies[..., model.joint_child[owned], 0] = joints[..., owned]
    np.copyto(state.body_q, poses, where=bodies)
    np.copyto(state.body_qd, twists, where=bodies)


@takes_model
def eval_ik(
    model: Model,
    state: BodyState,
    joint_q: Array,
    joint_qd: Array,
    mask: Any = None,
    indices: Any = None,
    body_flag_filter: int = BodyFlags.ALL,
) -> None:
    """Write joint coordinates and velocities from body poses and velocities.

    Angles come out in (-pi, pi], the middle one of three turns as close to zero as it can be; screws keep
    their whole turns. Bodies that have left their joints are projected onto them.

    Args:
        model: the model.
        state: source of body_q and body_qd.
        joint_q: written where selected, keeps its values elsewhere.
        joint_qd: written where selected, keeps its values elsewhere.
        mask: booleans, one per articulation or (worlds, articulations); excludes indices.
        indices: articulations to update; excludes mask.
        body_flag_filter: only joints whose child has one of these `BodyFlags` are written.
    """
    joints = _selected_joints(model, mask, indices, body_flag_filter)
    if unknown := not_inverted(model):
        raise CapabilityError(
            f"eval_ik: coordinates of joint '{unknown[0]}' do not follow from poses of its bodies"
        )
    _require_state(state)
    nq, nv = model.joint_coord_count, model.joint_dof_count
    both = evaluate(model, programs.JOINT_COORDINATES, (state.body_q, state.body_qd), (nq + nv,))
    _require(joint_q, (*both.shape[:-1], nq), "joint_q", joints)
    _require(joint_qd, (*both.shape[:-1], nv), "joint_qd", joints)
    coordinates = np.repeat(joints, np.diff(model.joint_q_start), axis=-1)
    velocities = np.repeat(joints, np.diff(model.joint_qd_start), axis=-1)
    np.copyto(joint_q, both[..., :nq], where=coordinates)
    np.copyto(joint_qd, both[..., nq:], where=velocities)
