# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Value objects that say what to make: fields are checked when set, and values are copied when used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import values
from worldline._src.facade.kinds import (
    ComputeAcceleratorPolicy,
    ContactGradientMode,
    ContactSolverMethod,
    JointType,
    RigidBodySolver,
    member,
)
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.spatial.poses import Array
from worldline._src.step.stepping import MultibodyIntegrationFamily, VariationalOptions

Got = TypeVar("Got")
Given = TypeVar("Given")


class Setting(Generic[Got, Given]):
    """A field of a value object: what is assigned is checked and converted, what is read is a copy."""

    def __init__(self, check: Callable[[Any], Got]) -> None:
        self._check = check
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[Got, Given]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Got: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self._name]
        # arrays and nested values are handed out as copies, so that every change goes through a check
        return value.copy() if isinstance(value, (np.ndarray, Options)) else value

    def __set__(self, instance: object, value: Given) -> None:
        instance.__dict__[self._name] = self._check(value)


class Options:
    """Base of value objects: named fields, each with a check, equality by value, an honest repr."""

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(name for name, value in vars(cls).items() if isinstance(value, Setting))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fields:
            known = ", ".join(sorted(self._fields))
            raise AttributeError(f"{type(self).__name__} has no field '{name}'; it has {known}")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in self._fields)

    __hash__ = None  # type: ignore[assignment] # they can change

    def __repr__(self) -> str:
        def show(value: Any) -> str:
            return repr(value.tolist()) if isinstance(value, np.ndarray) else repr(value)

        inner = ", ".join(f"{name}={show(getattr(self, name))}" for name in self._fields)
        return f"{type(self).__name__}({inner})"

    def copy(self) -> Self:
        """An independent copy."""
        made = object.__new__(type(self))
        for name in self._fields:
            made.__dict__[name] = getattr(self, name)
        return made


def flag(what: str) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if not isinstance(value, (bool, np.bool_)):
            raise values.ShapeError(f"{what} must be True or False, got {value!r}")
        return bool(value)

    return check


class RigidBodyOptions(Options):
    """How a rigid body starts.

    Args:
        mass: [kg], positive.
        inertia: about the centre of mass, body axes [kg m^2], (3, 3).
        position: of the body's origin, which is its centre of mass, world frame [m], (3,).
        orientation: xyzw, (4,); made unit.
        linear_velocity: world axes [m/s], (3,).
        angular_velocity: world axes [rad/s], (3,).
        is_static: the body never moves.

    Example:
        >>> from worldline import simulation as sx
        >>> sx.RigidBodyOptions(mass=2.0).mass
        2.0
    """

    mass: Setting[float, float] = Setting(lambda v: values.positive(v, "RigidBodyOptions mass: mass"))
    inertia: Setting[Array, VectorLike | TransformLike] = Setting(
        lambda v: values.inertia_of(v, "RigidBodyOptions inertia: inertia")
    )
    position: Setting[Array, VectorLike] = Setting(lambda v: values.vector3(v, "RigidBodyOptions: position"))
    orientation: Setting[Array, VectorLike] = Setting(
        lambda v: values.quaternion_of(v, "RigidBodyOptions: orientation")
    )
    linear_velocity: Setting[Array, VectorLike] = Setting(
        lambda v: values.vector3(v, "RigidBodyOptions: linear velocity")
    )
    angular_velocity: Setting[Array, VectorLike] = Setting(
        lambda v: values.vector3(v, "RigidBodyOptions: angular velocity")
    )
    is_static: Setting[bool, bool] = Setting(flag("RigidBodyOptions is_static"))

    def __init__(
        self,
        mass: float = 1.0,
        inertia: VectorLike | TransformLike | None = None,
        position: VectorLike = (0.0, 0.0, 0.0),
        orientation: VectorLike = (0.0, 0.0, 0.0, 1.0),
        linear_velocity: VectorLike = (0.0, 0.0, 0.0),
        angular_velocity: VectorLike = (0.0, 0.0, 0.0),
        is_static: bool = False,
    ) -> None:
        self.mass = mass
        self.inertia = np.eye(3) if inertia is None else inertia
        self.position = position
        self.orientation = orientation
        self.linear_velocity = linear_velocity
        self.angular_velocity = angular_velocity
        self.is_static = is_static


def _optional(check: Callable[[Any, str], Any], what: str) -> Callable[[Any], Any]:
    return lambda v: None if v is None else check(v, what)


class JointSpec(Options):
    """How a link hangs on its parent: child = parent * transform_to_parent * motion * transform_from_parent.

    Mind the names: `transform_to_parent` is the pose of the joint in the parent link,
    `transform_from_parent` the pose of the child link in the moved joint.

    Args:
        name: of the joint; made up when empty.
        type: what motion is free.
        axis: in the joint frame, (3,), any length but zero; z when None.
        axis2: second axis of universal, planar and 2-D translational joints, (3,); x when None.
        transform_to_parent: pose of the joint in the parent link, 4x4.
        transform_from_parent: pose of the child link in the moved joint, 4x4.
        parent_anchor: position of the joint in the parent, for joints between bodies, (3,).
        child_anchor: position of the joint in the child, for joints between bodies, (3,).
        pitch: advance of a screw joint [m/rad].

    Example:
        >>> from worldline import simulation as sx
        >>> sx.JointSpec(name="elbow", type=sx.JointType.REVOLUTE, axis=(0, 1, 0)).name
        'elbow'
    """

    name: Setting[str, str] = Setting(lambda v: values.text(v, "JointSpec name"))
    type: Setting[JointType, JointType] = Setting(lambda v: member(JointType, v, "JointSpec type"))
    axis: Setting[Array, VectorLike] = Setting(lambda v: values.direction(v, "JointSpec axis"))
    axis2: Setting[Array, VectorLike] = Setting(lambda v: values.direction(v, "JointSpec axis2"))
    transform_to_parent: Setting[Array, TransformLike] = Setting(
        lambda v: _checked_transform(v, "JointSpec transform_to_parent")
    )
    transform_from_parent: Setting[Array, TransformLike] = Setting(
        lambda v: _checked_transform(v, "JointSpec transform_from_parent")
    )
    parent_anchor: Setting[Array | None, VectorLike | None] = Setting(
        _optional(values.vector3, "JointSpec parent_anchor")
    )
    child_anchor: Setting[Array | None, VectorLike | None] = Setting(
        _optional(values.vector3, "JointSpec child_anchor")
    )
    pitch: Setting[float, float] = Setting(lambda v: values.real(v, "JointSpec pitch"))

    def __init__(
        self,
        name: str = "",
        type: JointType = JointType.REVOLUTE,
        axis: VectorLike | None = None,
        axis2: VectorLike | None = None,
        transform_to_parent: TransformLike | None = None,
        transform_from_parent: TransformLike | None = None,
        parent_anchor: VectorLike | None = None,
        child_anchor: VectorLike | None = None,
        pitch: float = 0.0,
    ) -> None:
        self.name = name
        self.type = type
        self.axis = (0.0, 0.0, 1.0) if axis is None else axis
        self.axis2 = (1.0, 0.0, 0.0) if axis2 is None else axis2
        self.transform_to_parent = np.eye(4) if transform_to_parent is None else transform_to_parent
        self.transform_from_parent = np.eye(4) if transform_from_parent is None else transform_from_parent
        self.parent_anchor = parent_anchor
        self.child_anchor = child_anchor
        self.pitch = pitch
        self.check_axes()

    def check_axes(self) -> None:
        """Axes that must span a plane do."""
        if self.type in (JointType.UNIVERSAL, JointType.PLANAR, JointType.TRANSLATIONAL_2D):
            a, b = self.axis, self.axis2
            if np.linalg.norm(np.cross(a, b)) < 1e-9 * np.linalg.norm(a) * np.linalg.norm(b):
                raise ArgumentError(
                    f"JointSpec of a {self.type.name} joint: axis and axis2 must not be parallel, "
                    f"got {a.tolist()} and {b.tolist()}"
                )


def _checked_transform(value: Any, what: str) -> Array:
    values.pose_of(value, what)
    return values.array(value, what)


def _positive_count(what: str) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        number = values.count(value, what)
        if number < 1:
            raise ArgumentError(f"{what} must be at least 1, got {number}")
        return number

    return check


class MultibodyOptions(Options):
    """How multibodies are integrated; a value that is assigned as a whole.

    Args:
        integration_family: a member of `MultibodyIntegrationFamily`, or its text such as "semi-implicit".
        variational_max_iterations: of the root finding of a variational step.
        variational_tolerance: residual at which it stops.
    """

    integration_family: Setting[MultibodyIntegrationFamily, MultibodyIntegrationFamily | str] = Setting(
        MultibodyIntegrationFamily.of
    )
    variational_max_iterations: Setting[int, int] = Setting(
        _positive_count("MultibodyOptions variational_max_iterations")
    )
    variational_tolerance: Setting[float, float] = Setting(
        lambda v: values.positive(v, "MultibodyOptions variational_tolerance")
    )

    def __init__(
        self,
        integration_family: MultibodyIntegrationFamily | str = MultibodyIntegrationFamily.SEMI_IMPLICIT,
        variational_max_iterations: int = 100,
        variational_tolerance: float = 1e-10,
    ) -> None:
        self.integration_family = integration_family
        self.variational_max_iterations = variational_max_iterations
        self.variational_tolerance = variational_tolerance


def _threshold(name: str) -> Setting[float, float]:
    return Setting(lambda v: values.non_negative(v, f"DeactivationOptions {name}"))


class DeactivationOptions(Options):
    """When resting islands fall asleep.

    Args:
        enabled: whether they do.
        linear_speed_threshold: [m/s].
        angular_speed_threshold: [rad/s].
        generalized_speed_threshold: of joints [m/s or rad/s].
        time_until_sleep: quiet time before sleep [s].
        wake_threshold_scale: how much faster than the thresholds wakes.
        disturbance_force_threshold: force that wakes [N].
    """

    enabled: Setting[bool, bool] = Setting(flag("DeactivationOptions enabled"))
    linear_speed_threshold: Setting[float, float] = _threshold("linear_speed_threshold")
    angular_speed_threshold: Setting[float, float] = _threshold("angular_speed_threshold")
    generalized_speed_threshold: Setting[float, float] = _threshold("generalized_speed_threshold")
    time_until_sleep: Setting[float, float] = _threshold("time_until_sleep")
    wake_threshold_scale: Setting[float, float] = _threshold("wake_threshold_scale")
    disturbance_force_threshold: Setting[float, float] = _threshold("disturbance_force_threshold")

    def __init__(
        self,
        enabled: bool = False,
        linear_speed_threshold: float = 1e-3,
        angular_speed_threshold: float = 1e-3,
        generalized_speed_threshold: float = 1e-3,
        time_until_sleep: float = 0.5,
        wake_threshold_scale: float = 2.0,
        disturbance_force_threshold: float = 1e-9,
    ) -> None:
        self.enabled = enabled
        self.linear_speed_threshold = linear_speed_threshold
        self.angular_speed_threshold = angular_speed_threshold
        self.generalized_speed_threshold = generalized_speed_threshold
        self.time_until_sleep = time_until_sleep
        self.wake_threshold_scale = wake_threshold_scale
        self.disturbance_force_threshold = disturbance_force_threshold


def _instance(kind: type, what: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise values.ShapeError(f"{what} must be a {kind.__name__}, got {value!r}")
        return value.copy()

    return check


class WorldOptions(Options):
    """Everything a World can be told when it is made, under the names of its keywords."""

    time_step: Setting[float, float] = Setting(lambda v: values.positive(v, "World time_step"))
    gravity: Setting[Array, VectorLike] = Setting(lambda v: values.vector3(v, "World gravity"))
    differentiable: Setting[bool, bool] = Setting(flag("World differentiable"))
    rigid_body_solver: Setting[RigidBodySolver, RigidBodySolver] = Setting(
        lambda v: member(RigidBodySolver, v, "World rigid_body_solver")
    )
    multibody_options: Setting[MultibodyOptions, MultibodyOptions] = Setting(
        _instance(MultibodyOptions, "World multibody_options")
    )
    contact_solver_method: Setting[ContactSolverMethod, ContactSolverMethod] = Setting(
        lambda v: member(ContactSolverMethod, v, "World contact_solver_method")
    )
    contact_gradient_mode: Setting[ContactGradientMode, ContactGradientMode] = Setting(
        lambda v: member(ContactGradientMode, v, "World contact_gradient_mode")
    )
    compute_accelerator_policy: Setting[ComputeAcceleratorPolicy, ComputeAcceleratorPolicy] = Setting(
        lambda v: member(ComputeAcceleratorPolicy, v, "World compute_accelerator_policy")
    )
    deactivation_options: Setting[DeactivationOptions, DeactivationOptions] = Setting(
        _instance(DeactivationOptions, "World deactivation_options")
    )

    def __init__(
        self,
        time_step: float = 0.001,
        gravity: VectorLike | None = None,
        differentiable: bool = False,
        rigid_body_solver: RigidBodySolver = RigidBodySolver.SEQUENTIAL_IMPULSE,
        multibody_options: MultibodyOptions | None = None,
        contact_solver_method: ContactSolverMethod = ContactSolverMethod.SEQUENTIAL_IMPULSE,
        contact_gradient_mode: ContactGradientMode = ContactGradientMode.ANALYTIC,
        compute_accelerator_policy: ComputeAcceleratorPolicy = ComputeAcceleratorPolicy.CPU_ONLY,
        deactivation_options: DeactivationOptions | None = None,
    ) -> None:
        self.time_step = time_step
        self.gravity = (0.0, 0.0, -9.81) if gravity is None else gravity
        self.differentiable = differentiable
        self.rigid_body_solver = rigid_body_solver
        self.multibody_options = MultibodyOptions() if multibody_options is None else multibody_options
        self.contact_solver_method = contact_solver_method
        self.contact_gradient_mode = contact_gradient_mode
        self.compute_accelerator_policy = compute_accelerator_policy
        self.deactivation_options = (
            DeactivationOptions() if deactivation_options is None else deactivation_options
        )


def variational_options(options: MultibodyOptions) -> VariationalOptions:
    """What a step is told of the solution of variational equations."""
    return VariationalOptions(options.variational_max_iterations, options.variational_tolerance)
