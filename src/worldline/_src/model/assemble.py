# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From a builder's records to a Model's arrays."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.model.checks import initial_values
from worldline._src.model.kinds import QUATERNION_JOINTS, BodyFlags, rows_of_numbers
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array, numbers

if TYPE_CHECKING:
    from worldline._src.model.builder import ModelBuilder


def _floats(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=np.float64)


_SETTINGS = {
    f"joint_{name}": name
    for name in (
        "limit_lower limit_upper limit_ke limit_kd target_pos target_vel target_ke target_kd "
        "armature damping stiffness friction effort_limit velocity_limit"
    ).split()
} | {"joint_effort_lower": "least_effort", "joint_velocity_lower": "least_velocity"}
"""Numbers of a degree of freedom, by the column of the Model that takes them."""
_FLAGS = {False: int(BodyFlags.DYNAMIC), True: int(BodyFlags.KINEMATIC)}
_settings = attrgetter(*_SETTINGS.values())


def assemble(builder: ModelBuilder) -> Model:
    """Stack the records of a checked builder."""
    links, joints = builder.links, builder.joints
    dofs = [d for joint in joints for d in joint.linear + joint.angular]
    columns = rows_of_numbers(map(_settings, dofs), len(_SETTINGS)).T
    q, qd, force = initial_values(builder)
    rest = q.tolist()
    for joint in joints:
        if joint.kind not in QUATERNION_JOINTS:
            # as many coordinates as velocities
            moved = joint.linear + joint.angular
            rest[joint.start : joint.start + len(moved)] = [d.spring_ref for d in moved]
    return Model.of(
        body_label=[link.label for link in links],
        body_mass=_floats([link.mass for link in links]),
        body_com=_stacked([link.com for link in links], 3),
        body_inertia=_stacked([link.inertia for link in links], 3, 3),
        body_flags=np.array([_FLAGS[link.is_kinematic] for link in links], np.int64),
        body_q=_stacked([link.xform for link in links], 7),
        body_qd=np.zeros((len(links), 6)),
        body_gravcomp=_floats([link.gravcomp for link in links]),
        joint_label=[joint.label for joint in joints],
        joint_type=np.array([int(joint.kind) for joint in joints], np.int64),
        joint_parent=np.array([joint.parent for joint in joints], np.int64),
        joint_child=np.array([joint.child for joint in joints], np.int64),
        joint_X_p=_stacked([joint.X_p for joint in joints], 7),
        joint_X_c=_stacked([joint.X_c for joint in joints], 7),
        joint_q_start=np.array([*(j.start for j in joints), len(builder.joint_q)], np.int64),
        joint_qd_start=np.array([*(j.v_start for j in joints), len(builder.joint_qd)], np.int64),
        joint_dof_dim=np.array([(len(j.linear), len(j.angular)) for j in joints], np.int64).reshape(-1, 2),
        joint_articulation=np.array([joint.articulation for joint in joints], np.int64),
        joint_distance=np.array([j.distance for j in joints], np.float64).reshape(-1, 2),
        joint_q=q,
        joint_qd=qd,
        joint_f=force,
        joint_axis=_stacked([axis for j in joints for axis in j.axes], 3),
        joint_data=[joint.data for joint in joints],
        joint_pitch=_floats([j.pitch for j in joints for _ in j.axes]),
        joint_act_mode=np.array([int(d.mode()) for d in dofs], np.int64),
        joint_spring_ref=_floats(rest),
        **dict(zip(_SETTINGS, map(np.ascontiguousarray, columns), strict=True)),
        articulation_label=[label for label, _ in builder.articulations],
        articulation_start=_starts(builder),
        gravity=numbers(builder.gravity, (3,), "gravity"),
        world_count=builder.world_count,
    )


def _stacked(rows: list[Array], *shape: int) -> Array:
    """Arrays of a shape, one above another; `np.array` takes three times as long for many small ones."""
    return np.concatenate(rows).reshape(-1, *shape) if rows else np.zeros((0, *shape))


def _starts(builder: ModelBuilder) -> np.ndarray:
    starts = [owned[0] for _, owned in builder.articulations]
    end = builder.articulations[-1][1][-1] + 1 if builder.articulations else 0
    return np.array([*starts, end], np.int64)
