# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Springs, dampers, dry friction and armature of world-owned joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.quantities import Vector, quantity
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world_joint_motor import WorldJointMotor
from worldline._src.scene.base import clone
from worldline._src.scene.joints import Joint as SceneJoint
from worldline._src.scene.values import SpringDampCoeff, SpringDamper, StiffnessDamping
from worldline._src.spatial.poses import Array

_SPRING = {"spring_stiffness": "k", "damping_coefficient": "d", "rest_position": "target_pos"}
_SCALARS = {"coulomb_friction": "friction_loss", "armature": "armature"}
PASSIVE = (*_SPRING, *_SCALARS)
"""Passive parameters of a coordinate, by their names in a JointSpec."""


def spring_of(joint: SceneJoint) -> SpringDamper:
    """A copy of the spring of a joint by stiffness and damping; one that does nothing when it has none."""
    if joint.spring_damper is not None:
        return clone(joint.spring_damper)
    return SpringDamper(coeff=SpringDampCoeff.stiffness_damping(StiffnessDamping(k=0.0, d=0.0)))


def get_passive(joint: SceneJoint, name: str) -> float:
    """One passive parameter of a described joint."""
    if name in _SCALARS:
        return getattr(joint, _SCALARS[name])
    spring = spring_of(joint)
    given: Any = spring if name == "rest_position" else spring.coeff.value
    return getattr(given, _SPRING[name])


def set_passive(joint: SceneJoint, name: str, value: Any, who: str) -> None:
    """Write one passive parameter, a number or one in a vector, once it is checked."""
    number = float(values.spread(value, 1, f"{name} of {who}")[0])
    if not np.isfinite(number) or (number < 0.0 and name != "rest_position"):
        kind = "finite" if name == "rest_position" else "non-negative and finite"
        raise ArgumentError(f"{name} of {who} must be {kind}, got {number}")
    if name in _SCALARS:
        setattr(joint, _SCALARS[name], number)
        return
    spring = spring_of(joint)
    given: Any = spring if name == "rest_position" else spring.coeff.value
    setattr(given, _SPRING[name], number)
    joint.spring_damper = spring


def _passive(name: str, doc: str) -> Vector:
    return quantity(
        lambda joint: joint._get_passive(name), lambda joint, value: joint._set_passive(name, value), doc
    )


class WorldJointPassive(WorldJointMotor):
    """Passive forces along the coordinate of a REVOLUTE or PRISMATIC joint between bodies."""

    def _get_passive(self, name: str) -> Array:
        self._require_alive()
        number = get_passive(self._described.joint, name) if self._has_motor else 0.0
        return values.read_only(np.full(self.num_dofs, number))

    def _set_passive(self, name: str, value: float | VectorLike) -> None:
        self._require_motor(name)
        made = clone(self._described.joint)
        set_passive(made, name, value, f"joint '{self.name}'")
        self._world._require_idle()
        for field in ("spring_damper", "friction_loss", "armature"):
            setattr(self._described.joint, field, getattr(made, field))
        # which rows there are is settled when the description is compiled
        self._world._topology_changed()

    spring_stiffness = _passive(
        "spring_stiffness",
        """Stiffness of the spring along the coordinate [N/m or N m/rad], (num_dofs,).

        REVOLUTE and PRISMATIC joints have springs, dampers, dry friction and armature; others refuse them by
        name. An angle is known up to whole turns: a spring pulls the shorter way to `rest_position`.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(gravity=(0, 0, 0))
            >>> wheel = world.add_rigid_body("wheel", mass=1.0, inertia=(0.5, 0.5, 0.5))
            >>> hub = world.add_joint(wheel, sx.JointSpec(name="hub", axis=(0, 0, 1)))
            >>> hub.spring_stiffness, hub.damping_coefficient, hub.rest_position = 8.0, 4.0, [0.3]
            >>> world.step(n=5000)
            >>> hub.position.round(6).tolist()
            [0.3]
        """,
    )

    rest_position = _passive("rest_position", "Where the spring is relaxed [m or rad], (num_dofs,).")
    damping_coefficient = _passive(
        "damping_coefficient",
        """Damping along the coordinate [N s/m or N m s/rad], (num_dofs,).

        Implicit families take it at the end of the step, as for joints of a tree.
        """,
    )
    coulomb_friction = _passive(
        "coulomb_friction", "Dry friction along the coordinate [N or N m], (num_dofs,)."
    )
    armature = _passive(
        "armature", "Inertia of a rotor that turns with the coordinate [kg or kg m^2], (num_dofs,)."
    )
