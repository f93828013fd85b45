# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Value objects: fields are checked when set, and values are copied when used; those of a World."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Self, TypedDict, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike

from worldline._src.errors import ArgumentError, CapabilityError
from worldline._src.facade import values
from worldline._src.facade.kinds import (
    ComputeAcceleratorPolicy,
    ContactGradientMode,
    ContactSolverMethod,
    RigidBodySolver,
    member,
)
from worldline._src.facade.values import VectorLike
from worldline._src.scene.policies import LARGEST_SEED, LARGEST_WORLD
from worldline._src.spatial.poses import Array
from worldline._src.step.divergence import DIVERGENCE_LIMIT, DivergencePolicy, checked_limit
from worldline._src.step.stepping import MultibodyIntegrationFamily, VariationalOptions

Got = TypeVar("Got")
Given = TypeVar("Given")


class Setting(Generic[Got, Given]):
    """A field of a value object: what is assigned is checked and cannot be changed in place."""

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
        # arrays are read-only and nested values copies, so that every change goes through a check
        return value.copy() if isinstance(value, Options) else value

    def __set__(self, instance: object, value: Given) -> None:
        checked = self._check(value)
        if values.is_array(checked):
            checked = values.read_only(checked.copy())
        instance.__dict__[self._name] = checked


class Options:
    """Base of value objects: named fields, each with a check, equality by value, a repr of the call."""

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(name for name, value in vars(cls).items() if isinstance(value, Setting))

    def _take(self, given: dict[str, Any]) -> None:
        """Set every field from the arguments of a constructor, its `locals()`."""
        for name in self._fields:
            setattr(self, name, given[name])

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
    return lambda value: values.flag(value, what)


def _positive_count(what: str) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        number = values.count(value, what)
        if number < 1:
            raise ArgumentError(f"{what} must be at least 1, got {number}")
        return number

    return check


def noise_seed(value: Any) -> int | None:
    """A seed of sensor noise; None for no noise."""
    what = "sensor_noise_seed"
    if value is not None and not 0 <= (value := values.count(value, what)) <= LARGEST_SEED:
        raise ArgumentError(f"{what} must be None, for no noise, or from 0 to {LARGEST_SEED}, got {value}")
    return value


def noise_world(value: Any, what: str = "World sensor_noise_world") -> int:
    """The index of a world in the noise of sensors."""
    number = values.count(value, what)
    if not 0 <= number <= LARGEST_WORLD:
        raise ArgumentError(f"{what} must be from 0 to {LARGEST_WORLD}, got {number}")
    return number


def _sweeps(value: Any) -> int:
    number = values.count(value, "World contact_sweeps")
    if not 0 <= number < 2**31:
        raise ArgumentError(f"World contact_sweeps must be 0, for no bound, or more, got {number}")
    return number


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
        self._take(locals())


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
        wake_threshold_scale: how much faster than the thresholds ends a quiet time that has begun.
        disturbance_force_threshold: force that wakes [N].
    """

    enabled: Setting[bool, bool] = Setting(flag("DeactivationOptions enabled"))
    linear_speed_threshold: Setting[float, float] = _threshold("linear_speed_threshold")
    angular_speed_threshold: Setting[float, float] = _threshold("angular_speed_threshold")
    generalized_speed_threshold: Setting[float, float] = _threshold("generalized_speed_threshold")
    time_until_sleep: Setting[float, float] = _threshold("time_until_sleep")
    wake_threshold_scale: Setting[float, float] = Setting(
        lambda v: values.at_least(v, 1.0, "DeactivationOptions wake_threshold_scale")
    )
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
        self._take(locals())


def _instance(kind: type, what: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise values.ShapeError(f"{what} must be a {kind.__name__}, got {value!r}")
        return value.copy()

    return check


def _dtype(value: Any) -> np.dtype[np.float64]:
    """Double precision, however it is named; nothing else is computed with."""
    try:
        made = np.dtype(value)
    except (TypeError, ValueError):
        raise values.ShapeError(f"World dtype must name a scalar type, got {value!r}") from None
    if made != np.float64:
        raise CapabilityError(f"World dtype '{made}' is not available; a World computes in float64")
    return np.dtype(np.float64)


class WorldOptions(Options):
    """All options of a new World, under the names of its keywords.

    Example:
        >>> from worldline import simulation as sx
        >>> options = sx.WorldOptions(time_step=0.002, strict_solver_resolution=True)
        >>> sx.World(options=options).time_step
        0.002
    """

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
    dtype: Setting[np.dtype[np.float64], DTypeLike] = Setting(_dtype)
    strict_solver_resolution: Setting[bool, bool] = Setting(flag("World strict_solver_resolution"))
    contact_sweeps: Setting[int, int] = Setting(_sweeps)
    divergence_policy: Setting[DivergencePolicy, DivergencePolicy | str] = Setting(DivergencePolicy.of)
    divergence_limit: Setting[float, float] = Setting(checked_limit)
    fixed_layout: Setting[bool, bool] = Setting(flag("World fixed_layout"))
    sensor_noise_seed: Setting[int | None, int | None] = Setting(noise_seed)
    sensor_noise_world: Setting[int, int] = Setting(noise_world)

    def __init__(
        self,
        time_step: float = 0.001,
        gravity: VectorLike | None = None,
        differentiable: bool = False,
        rigid_body_solver: RigidBodySolver = RigidBodySolver.SEQUENTIAL_IMPULSE,
        multibody_options: MultibodyOptions | None = None,
        contact_solver_method: ContactSolverMethod = ContactSolverMethod.AUTOMATIC,
        contact_gradient_mode: ContactGradientMode = ContactGradientMode.ANALYTIC,
        compute_accelerator_policy: ComputeAcceleratorPolicy = ComputeAcceleratorPolicy.CPU_ONLY,
        deactivation_options: DeactivationOptions | None = None,
        dtype: DTypeLike = np.float64,
        strict_solver_resolution: bool = False,
        divergence_policy: DivergencePolicy | str = DivergencePolicy.RAISE,
        divergence_limit: float = DIVERGENCE_LIMIT,
        contact_sweeps: int = 0,
        fixed_layout: bool = False,
        sensor_noise_seed: int | None = None,
        sensor_noise_world: int = 0,
    ) -> None:
        gravity = (0.0, 0.0, -9.81) if gravity is None else gravity
        if multibody_options is None:
            multibody_options = MultibodyOptions()
        if deactivation_options is None:
            deactivation_options = DeactivationOptions()
        self._take(locals())


class WorldKeywords(TypedDict, total=False):
    """Keywords of a `World`: the fields of `WorldOptions` behind the time step."""

    gravity: VectorLike | None
    differentiable: bool
    rigid_body_solver: RigidBodySolver
    multibody_options: MultibodyOptions | None
    contact_solver_method: ContactSolverMethod
    contact_gradient_mode: ContactGradientMode
    compute_accelerator_policy: ComputeAcceleratorPolicy
    deactivation_options: DeactivationOptions | None
    dtype: DTypeLike
    strict_solver_resolution: bool
    divergence_policy: DivergencePolicy | str
    divergence_limit: float
    contact_sweeps: int
    fixed_layout: bool
    sensor_noise_seed: int | None
    sensor_noise_world: int


WORLD_DEFAULTS = {
    name: parameter.default for name, parameter in inspect.signature(WorldOptions).parameters.items()
}


def variational_options(options: MultibodyOptions) -> VariationalOptions:
    """How a step solves the variational equations."""
    return VariationalOptions(options.variational_max_iterations, options.variational_tolerance)
