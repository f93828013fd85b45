# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A joint of a multibody: state, commands, limits and passive forces."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, OperationError, UnknownCapabilityError
from worldline._src.facade import joint_parameters as parameters
from worldline._src.facade import mimic, values
from worldline._src.facade.copying import Address
from worldline._src.facade.frame import Frame
from worldline._src.facade.joint_coordinates import from_coordinates, to_coordinates
from worldline._src.facade.joint_spec import WITH_AXIS, WITH_AXIS2
from worldline._src.facade.joint_stiffness import JointConstraintProjectionPolicy
from worldline._src.facade.joint_wrench import wrench_on_child
from worldline._src.facade.kinds import ActuatorType, JointType, actuator_type, drive_type, joint_type, member
from worldline._src.facade.quantities import (
    Quantity,
    Reading,
    Vector,
    handle_attribute,
    quantity,
    reading,
)
from worldline._src.facade.runtime import MOTORS, Runtime
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world_kind import require_multibody
from worldline._src.scene import rules
from worldline._src.scene.joints import FreeJoint
from worldline._src.scene.joints import Joint as SceneJoint
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.degree_of_freedom import DegreeOfFreedom
    from worldline._src.facade.link import Link
    from worldline._src.facade.multibody import Multibody

_COORDINATES = ("q", "q_target")
_TURNING = (JointType.SPHERICAL, JointType.FLOATING, JointType.DISTANCE)


def _array(
    name: str, what: str, doc: str, written: Callable[[Runtime], None] | None = None
) -> Quantity[Array, VectorLike]:
    """Numbers of the joint in an array of the simulation; `written` is called after changes."""

    def write(joint: Joint, value: VectorLike) -> None:
        joint._set_array(name, value, what)
        if written is not None:
            written(joint._live())

    return quantity(lambda joint: joint._get_array(name), write, doc)


def _parameter(column: str, what: str, doc: str) -> Vector:
    """A parameter that is not negative; one number for all degrees of freedom, or one for each."""
    return quantity(
        lambda joint: values.read_only(parameters.get(joint, column)),
        lambda joint, value: parameters.set_non_negative(joint, column, value, what),
        doc,
    )


def _limits(column: str, doc: str) -> Reading[Array]:
    return reading(lambda joint: values.read_only(parameters.get(joint, column)), doc)


def _unbreakable(name: str) -> Quantity[float, float]:
    def never(joint: Joint) -> float:
        joint._require_alive()
        return math.inf

    return quantity(
        never,
        lambda joint, value: parameters.require_unbreakable(joint, value, name),
        "Joints of a tree do not break: infinite; those of `World.add_joint` can.",
    )


def _largest(column: str, what: str, doc: str) -> Vector:
    """The largest size of a quantity that may have another limit in each direction."""
    return quantity(
        lambda joint: values.read_only(parameters.get_largest(joint, column)),
        lambda joint, value: parameters.set_limit(joint, column, value, what),
        doc,
    )


def _axis(name: str, allowed: set[JointType], doc: str) -> Quantity[Array, VectorLike]:
    """An axis that joints of some types have."""
    return quantity(
        lambda joint: values.read_only(joint._axis_of(name, allowed)),
        lambda joint, value: joint._set_axis(name, value, allowed),
        doc,
    )


class Joint(mimic.Follower):
    """A joint. All vectors have one number per degree of freedom, also when there is one.

    Positions of SPHERICAL joints are rotation vectors; those of FLOATING joints a translation and a rotation
    vector. Velocities of SPHERICAL joints are angular velocities in the child's axes, those of FLOATING
    joints the velocity of the origin in the parent's axes, then the angular velocity in the child's.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> arm = world.add_multibody("arm")
        >>> tip = arm.add_link("tip", joint=sx.JointSpec(name="hinge", axis=(0, 1, 0)))
        >>> hinge = arm.joints["hinge"]
        >>> hinge.position = [0.5]
        >>> hinge.position.tolist()
        [0.5]
    """

    def __init__(self, multibody: Multibody, joint: SceneJoint | FreeJoint, child: Link, label: str) -> None:
        require_multibody(multibody, type(self).__name__)
        super().__init__(multibody._world)
        self._multibody = multibody
        self._joint = joint
        self._child = child
        self._turning = isinstance(joint, FreeJoint) or joint_type(joint.type_) in _TURNING
        self._label = label

    def _what(self, quantity: str) -> str:
        return f"Joint {quantity} of '{self.name}': Joint {quantity}"

    def _path(self) -> Address:
        return *self._multibody._path(), "joints", self.name

    @property
    def type(self) -> JointType:
        """What motion the joint leaves free."""
        self._require_alive()
        return JointType.FLOATING if isinstance(self._joint, FreeJoint) else joint_type(self._joint.type_)

    multibody: Reading[Multibody] = handle_attribute("_multibody", "The multibody the joint belongs to.")

    @property
    def num_dofs(self) -> int:
        """Number of degrees of freedom; none while the joint is frozen."""
        self._require_alive()
        return 6 if isinstance(self._joint, FreeJoint) else self._joint.sizes[1]

    @property
    def is_frozen(self) -> bool:
        """Whether the joint is welded; see `Multibody.freeze`."""
        self._require_alive()
        return isinstance(self._joint, SceneJoint) and self._joint.frozen is not None

    @property
    def frozen_position(self) -> Array | None:
        """Where the joint is welded, as `position` would give it; None when it can move."""
        if not self.is_frozen:
            return None
        assert isinstance(self._joint, SceneJoint)
        q = np.array(self._joint.frozen, np.float64)
        return from_coordinates(q) if self._turning else q

    @property
    def dofs(self) -> list[DegreeOfFreedom]:
        """The degrees of freedom one by one."""
        from worldline._src.facade.degree_of_freedom import DegreeOfFreedom

        self._require_alive()
        return [DegreeOfFreedom(self, k) for k in range(self.num_dofs)]

    child_link: Reading[Link] = handle_attribute("_child", "The link the joint moves.")

    @property
    def parent_link(self) -> Link:
        """The link the joint stands on."""
        self._require_alive()
        if self._child._parent is None:
            raise OperationError(f"joint '{self.name}': its parent endpoint is the world, not a link")
        return self._child._parent

    @property
    def parent_rigid_body(self) -> Any:
        """Joints of a multibody connect links."""
        raise OperationError(f"joint '{self.name}': its parent endpoint is not a rigid body")

    @property
    def child_rigid_body(self) -> Any:
        """Joints of a multibody connect links."""
        raise OperationError(f"joint '{self.name}': its child endpoint is not a rigid body")

    # ---- state

    position = _array("q", "position", "[m or rad], (num_dofs,).", lambda runtime: runtime.sim.written())
    velocity = _array(
        "v", "velocity", "[m/s or rad/s], (num_dofs,).", lambda runtime: runtime.sim.velocities_written()
    )
    acceleration: Reading[Array] = reading(
        lambda joint: joint._get_array("a"),
        "Of the last step, zero before the first [m/s^2 or rad/s^2], (num_dofs,).",
    )

    def _get_array(self, name: str) -> Array:
        runtime = self._live()
        array = getattr(runtime.sim, name)
        if name in _COORDINATES:
            return self._position(array[runtime.q_slice(self._joint)])
        return values.read_only(array[runtime.v_slice(self._joint)].copy())

    def _set_array(self, name: str, value: VectorLike, quantity: str) -> None:
        runtime = self._live()
        array = getattr(runtime.sim, name)
        if name in _COORDINATES:
            array[runtime.q_slice(self._joint)] = self._coordinates(value, quantity)
        else:
            numbers = values.dof_vector(value, self.num_dofs, lambda: self._what(quantity))
            array[runtime.v_slice(self._joint)] = numbers

    def _position(self, coordinates: Array) -> Array:
        """Coordinates as a position, with rotation vectors in the place of quaternions."""
        q = coordinates.copy()
        if self._turning and q.size:
            q = from_coordinates(q)
        q.setflags(write=False)
        return q

    def _coordinates(self, value: VectorLike, quantity: str) -> Array:
        numbers = values.dof_vector(value, self.num_dofs, lambda: self._what(quantity))
        return to_coordinates(numbers) if self._turning and numbers.size else numbers

    @property
    def constraint_force(self) -> Array:
        """What constraints did to the joint in the last step [N or N m], (num_dofs,).

        That is contacts, limits, dry friction, closures and motors. Zero before the first step of a World
        that was built, copied, reset or restored, and for hard limits that stand alone, which have no rows.
        """
        runtime = self._live()
        forces, part = runtime.constraint_forces(), runtime.v_slice(self._joint)
        return forces[part].copy()

    def compute_wrench_to_child(self, frame: Frame | None = None) -> Array:
        """Torque [N m] and force [N] that the joint passes from its parent to its child, (6,).

        It carries the child and all that hangs on it with their present positions and velocities and the
        accelerations of the last step, against gravity and against the contacts and forces of that step. Of
        several joints between two links each carries the same.

        Args:
            frame: the torque is about its origin, both are in its axes; the child link when None.
        """
        return wrench_on_child(self, self._measured_in(frame, self._child))

    def compute_wrench_to_parent(self, frame: Frame | None = None) -> Array:
        """The opposite of `compute_wrench_to_child`, in the frame of the parent when None is given, (6,)."""
        return -wrench_on_child(self, self._measured_in(frame, self._child.parent_frame))

    def _measured_in(self, frame: Frame | None, default: Frame) -> Frame:
        self._require_alive()
        if frame is None:
            return default
        self._child._same_world(frame)
        return frame

    # ---- commands

    @property
    def actuator_type(self) -> ActuatorType:
        """What the joint makes of its commands; setting it sets that of all its degrees of freedom.

        Where these differ, read each degree of freedom.
        """
        kinds = set(self._actuator_types())
        if len(kinds) > 1:
            names = ", ".join(sorted(kind.name for kind in kinds))
            raise OperationError(f"degrees of freedom of joint '{self.name}' differ: {names}; read each")
        return kinds.pop() if kinds else ActuatorType.FORCE

    def _actuator_types(self) -> list[ActuatorType]:
        """That of every degree of freedom."""
        self._require_alive()
        if isinstance(self._joint, FreeJoint):
            return [ActuatorType.FORCE] * 6
        drives = [dof.drive or self._joint.drive for dof in self._joint.dofs]
        return list(map(actuator_type, drives or [self._joint.drive] * max(1, self.num_dofs)))

    @actuator_type.setter
    def actuator_type(self, value: ActuatorType) -> None:
        kind = member(ActuatorType, value, f"actuator_type of joint '{self.name}'")
        runtime = self._live()
        if isinstance(self._joint, FreeJoint):
            if kind is not ActuatorType.FORCE:
                raise ArgumentError(f"the floating base '{self.name}' only takes ActuatorType.FORCE")
            return
        before = set(self._actuator_types())
        self._joint.drive = drive_type(kind)
        for dof in self._joint.dofs:
            dof.drive = None
        mimic.follow(self)
        if before != {kind} and not {kind, *before}.isdisjoint(MOTORS):
            self._world._topology_changed()
        else:
            runtime.set_drive(self._joint)
            self._world._configuration_changed()

    force = _array("force", "force", "Commanded effort, held until changed [N or N m], (num_dofs,).")
    command_velocity = _array(
        "v_target",
        "command velocity",
        "Speed that VELOCITY and SERVO actuators follow [m/s or rad/s], (num_dofs,).",
    )

    command_acceleration = _array(
        "a_target",
        "command acceleration",
        "What ACCELERATION actuators realise, within the limits [m/s^2 or rad/s^2], (num_dofs,).",
        lambda runtime: runtime.accelerations_commanded(),
    )
    target_position = _array(
        "q_target", "target position", "Where the position drive leads [m or rad], (num_dofs,)."
    )
    target_velocity = _array(
        "v_target", "target velocity", "Speed that the drive leads to [m/s or rad/s], (num_dofs,)."
    )

    # ---- parameters; one number for all degrees of freedom, or one for each

    target_stiffness = _parameter(
        "joint_target_ke",
        "target stiffness",
        "Gain of the drive on position error [N/m or N m/rad], (num_dofs,); 0 turns it off.",
    )
    target_damping = _parameter(
        "joint_target_kd",
        "target damping",
        "Gain of the drive on velocity error [N s/m or N m s/rad], (num_dofs,).",
    )
    spring_stiffness = _parameter("joint_stiffness", "spring stiffness", "[N/m or N m/rad], (num_dofs,).")

    @property
    def rest_position(self) -> Array:
        """Where the spring is relaxed [m or rad], (num_dofs,)."""
        return parameters.get_rest(self)

    @rest_position.setter
    def rest_position(self, value: VectorLike) -> None:
        parameters.set_rest(self, value)

    damping_coefficient = _parameter(
        "joint_damping", "damping coefficient", "[N s/m or N m s/rad], (num_dofs,)."
    )

    @property
    def coulomb_friction(self) -> Array:
        """Dry friction [N or N m], (num_dofs,)."""
        return parameters.get(self, "joint_friction")

    @coulomb_friction.setter
    def coulomb_friction(self, value: float | VectorLike) -> None:
        parameters.set_non_negative(self, "joint_friction", value, "Coulomb friction")
        self._world._configuration_changed()

    armature = _parameter(
        "joint_armature",
        "armature",
        "Added inertia on the diagonal of the mass matrix [kg or kg m^2], (num_dofs,).",
    )
    position_lower_limits = _limits("joint_limit_lower", "[m or rad], (num_dofs,), minus infinity for none.")
    position_upper_limits = _limits("joint_limit_upper", "[m or rad], (num_dofs,), infinity for none.")

    def set_position_limits(self, lower: float | VectorLike, upper: float | VectorLike) -> None:
        """Both limits, each a number for all degrees of freedom or one for each; infinity for none.

        Limits of the orientation of a SPHERICAL, FLOATING or DISTANCE joint bound the angle of its rotation:
        the same upper limit for its three freedoms, and 0, minus it or minus infinity as the lower one.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> spec = sx.JointSpec(type=sx.JointType.SPHERICAL)
            >>> shoulder = world.add_multibody("arm").add_link("upper", joint=spec).parent_joint
            >>> shoulder.set_position_limits(0.0, 0.5)
            >>> shoulder.velocity = [3.0, 4.0, 0.0]
            >>> world.step(n=500)
            >>> shoulder.position.round(6).tolist()
            [0.3, 0.4, 0.0]
        """
        parameters.set_position_limits(self, lower, upper)

    @property
    def limit_margin(self) -> float:
        """How far from a position limit the limit begins to act [m or rad]; 0 is at the limit itself.

        May be changed in any mode. A hard limit with a margin stops the joint that much earlier.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> spec = sx.JointSpec(type=sx.JointType.PRISMATIC)
            >>> slide = world.add_multibody("cart").add_link("body", joint=spec).parent_joint
            >>> slide.set_position_limits(-1.0, 1.0)
            >>> slide.limit_margin = 0.25
            >>> world.step(n=1000)
            >>> slide.position.round(6).tolist()
            [-0.75]
        """
        return parameters.get_limit_margin(self)

    @limit_margin.setter
    def limit_margin(self, value: float) -> None:
        parameters.set_limit_margin(self, value)

    velocity_limits = _largest(
        "joint_velocity_limit",
        "velocity limits",
        """Largest speed in either direction [m/s or rad/s], (num_dofs,), infinity for none.

        A joint at its largest speed is kept there by an impulse that acts on the rest of its tree as well.
        Setting it sets both limits; `set_velocity_limits` takes another one for each direction.
        """,
    )
    velocity_lower_limits = _limits(
        "joint_velocity_lower", "Least velocity [m/s or rad/s], (num_dofs,), minus infinity for none."
    )
    velocity_upper_limits = _limits(
        "joint_velocity_limit", "Largest velocity [m/s or rad/s], (num_dofs,), infinity for none."
    )

    def set_velocity_limits(self, lower: float | VectorLike, upper: float | VectorLike) -> None:
        """Both limits of velocity [m/s or rad/s], each a number for all degrees of freedom or one for each.

        Zero must be within them; infinity is no limit. May be changed in any mode.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> spec = sx.JointSpec(type=sx.JointType.PRISMATIC)
            >>> slide = world.add_multibody("lift").add_link("cage", joint=spec).parent_joint
            >>> slide.set_velocity_limits(-0.5, 2.0)  # it falls no faster than half a metre a second
            >>> world.step(n=1000)
            >>> slide.velocity.round(6).tolist()
            [-0.5]
        """
        parameters.set_two_limits(self, "joint_velocity_limit", lower, upper, "velocity limits")

    @property
    def acceleration_limits(self) -> Array:
        """Largest commanded acceleration [m/s^2 or rad/s^2], (num_dofs,), infinity for none."""
        return parameters.get_acceleration_limits(self)

    @acceleration_limits.setter
    def acceleration_limits(self, value: float | VectorLike) -> None:
        parameters.set_acceleration_limits(self, value)

    effort_limits = _largest(
        "joint_effort_limit",
        "effort limits",
        "Largest commanded effort in either direction [N or N m], (num_dofs,), infinity for none.",
    )
    effort_lower_limits = _limits(
        "joint_effort_lower", "Least commanded effort [N or N m], (num_dofs,), minus infinity for none."
    )
    effort_upper_limits = _limits(
        "joint_effort_limit", "Largest commanded effort [N or N m], (num_dofs,), infinity for none."
    )

    def set_effort_limits(self, lower: float | VectorLike, upper: float | VectorLike) -> None:
        """Both limits of efforts, of commands, drives and motors [N or N m]; see `set_velocity_limits`."""
        parameters.set_two_limits(self, "joint_effort_limit", lower, upper, "effort limits")

    # ---- geometry

    axis = _axis("axis", WITH_AXIS, "Unit axis in the joint frame, (3,).")
    axis2 = _axis("axis2", WITH_AXIS2, "Second unit axis in the joint frame, (3,).")

    def _axis_of(self, name: str, allowed: set[JointType]) -> Array:
        self._require_alive()
        if self.type not in allowed:
            raise ArgumentError(f"joint '{self.name}' of type {self.type.name} has no {name}")
        given = getattr(self._joint, name)
        length = float(np.linalg.norm(given))
        return np.array([0.0, 0.0, 1.0]) if length == 0.0 else given / length

    def _set_axis(self, name: str, value: VectorLike, allowed: set[JointType]) -> None:
        self._axis_of(name, allowed)
        axis = values.direction(value, f"{name} of joint '{self.name}'")
        other = "axis2" if name == "axis" else "axis"
        if self.type in WITH_AXIS2 and rules.parallel(axis, getattr(self._joint, other)):
            raise ArgumentError(
                f"{name} of joint '{self.name}' must be across its {other} "
                f"{getattr(self._joint, other).tolist()}, got {axis.tolist()}"
            )
        self._require_design(f"changing the {name} of joint '{self.name}'")
        setattr(self._joint, name, axis)
        self._world._topology_changed()

    @property
    def pitch(self) -> float:
        """Advance of a screw joint [m/rad]."""
        self._require_screw()
        assert isinstance(self._joint, SceneJoint)
        return self._joint.pitch

    @pitch.setter
    def pitch(self, value: float) -> None:
        self._require_screw()
        number = values.real(value, f"pitch of joint '{self.name}'")
        runtime = self._live()
        assert isinstance(self._joint, SceneJoint)
        runtime.update_dofs("joint_pitch", self._joint, np.array([number]))
        self._joint.pitch = number

    def _require_screw(self) -> None:
        self._require_alive()
        if self.type is not JointType.SCREW:
            raise ArgumentError(f"joint '{self.name}' of type {self.type.name} has no pitch")

    @property
    def is_broken(self) -> bool:
        """Joints of a tree do not break."""
        self._require_alive()
        return False

    break_force = _unbreakable("break_force")
    break_torque = _unbreakable("break_torque")

    def reset_breakage(self) -> None:
        """Let a broken joint hold again; joints of a tree are never broken."""
        self._require_alive()

    @property
    def constraint_projection_policy(self) -> JointConstraintProjectionPolicy:
        """How stiff the joint is; joints of a tree are rigid, those of `World.add_joint` may be soft."""
        self._require_alive()
        return JointConstraintProjectionPolicy()

    @constraint_projection_policy.setter
    def constraint_projection_policy(self, value: JointConstraintProjectionPolicy) -> None:
        self._require_alive()
        if not isinstance(value, JointConstraintProjectionPolicy):
            raise values.ShapeError(
                f"constraint_projection_policy must be a JointConstraintProjectionPolicy, got {value!r}"
            )
        if value != JointConstraintProjectionPolicy():
            raise UnknownCapabilityError(
                f"joint '{self.name}' of a tree is rigid, constraint_projection_policy cannot be {value!r}; "
                "World.add_joint makes joints that may be soft"
            )

    def __repr__(self) -> str:
        if not self._alive:
            return f"Joint('{self.name}', not valid)"
        return f"Joint('{self.name}', {self.type.name}, {self.num_dofs} dofs)"
