# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The arrays that every world of a batch has a row of, and the attributes that are copies of such rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldline._src.facade import values
from worldline._src.facade.array_property import ArrayProperty
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.batch.selection import BatchPart

_DOFS, _COORDINATES = "(worlds, joint_dof_count).", "(worlds, joint_coord_count)."
FIELDS = {
    "joint_positions": f"Coordinates of all joints in the order of the model, unit xyzw, {_COORDINATES}",
    "joint_velocities": f"Velocities of all degrees of freedom, {_DOFS}",
    "activations": "Activations of actuators, (worlds, activation_count).",
    "position_targets": f"Coordinates that drives lead to, {_COORDINATES}",
    "velocity_targets": f"Velocities that drives lead to or that joints follow, {_DOFS}",
    "acceleration_targets": f"Accelerations that joints follow, {_DOFS}",
    "joint_forces": f"Commanded generalized forces [N or N m], {_DOFS}",
    "controls": "Controls of all actuators in the order of `actuator_names`, (worlds, actuators).",
    "body_wrenches": "Torque [N m], then force at the centre of mass [N], that stay on bodies, world axes, "
    "(worlds, body_count, 6).",
    "mocap_poses": "Position [m] and xyzw of mocap bodies, (worlds, mocap bodies, 7).",
    "element_parameters": "Parameters of all kernels; `element_parameter_slices` says where, (worlds, n).",
    "world_joint_commands": "Effort, velocity, acceleration of joints between bodies, (worlds, joints, 3).",
}
"""What the arrays of a batch hold, by name."""


class Field(ArrayProperty):
    """Rows of an array of a batch: reading gives a read-only copy, assignment writes into the batch."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.__doc__ = FIELDS[name]

    def _value(self, instance: Any) -> Array:
        return values.read_only(instance._leading(instance._read(self._name)))

    __get__ = ArrayProperty.__get__

    def __set__(self, instance: BatchPart, value: Any) -> None:
        shape = instance._batch._array(self._name).shape[1:]
        instance._write(self._name, instance._given(value, shape, self._name))
