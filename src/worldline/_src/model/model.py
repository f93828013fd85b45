# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Model, State and Control: the arrays users see, in the documented layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import numpy as np

from worldline._src.errors import ArgumentError, refuse_unknown_attribute, require_kind
from worldline._src.model.checks import INERTIAL, check_update, flag
from worldline._src.model.compile import (
    Arenas,
    ConstantViews,
    compile_arenas,
    constant_views,
    fill_constants,
)
from worldline._src.model.constraint_tables import (
    Closures,
    Couplers,
    DistanceSprings,
    Equalities,
    GroundPoints,
    LoopJoints,
)
from worldline._src.model.kinds import QUATERNION_JOINTS, ActuatorMode, BodyFlags
from worldline._src.model.sensor_tables import Sensors
from worldline._src.model.shape_tables import Assets, ContactPairs, Frames, Shapes, Sites
from worldline._src.model.tables import Actuators, JointForces, Keyframes, Tendons, find_label
from worldline._src.scene.options import SimulateOption
from worldline._src.spatial.poses import Array

UNLIMITED_SPEED = 1e6
"""A velocity limit from here on is none [m/s or rad/s]; degrees of freedom of a builder start with it."""


@dataclass(eq=False, slots=True)
class State:
    """What must be saved to continue: generalized and maximal coordinates.

    Arrays of one world have no world dimension; a model replicated n times has a leading n. The two
    descriptions are kept apart: `eval_fk` and `eval_ik` convert when you say so.
    """

    joint_q: Array
    """Joint coordinates, shape ([world,] joint_coord_count)."""
    joint_qd: Array
    """Joint velocities, shape ([world,] joint_dof_count)."""
    body_q: Array
    """Position [m] and xyzw of every body origin, world frame, shape ([world,] body_count, 7)."""
    body_qd: Array
    """Velocity of the centre of mass [m/s], then angular velocity [rad/s], world axes, (..., 6)."""
    body_f: Array
    """External torque about the centre of mass [N m], then force [N], world axes, (..., 6)."""
    joint_qdd: Array = field(default_factory=lambda: np.zeros(0))
    """Joint accelerations of the last step, where the constraint solver of the next starts; like joint_qd.

    Steps of a model without constraints leave it alone."""
    actuator_activation: Array = field(default_factory=lambda: np.zeros(0))
    """Activations, one for each actuator that has one, shape ([world,] activation_count)."""

    def copy(self) -> State:
        """An independent copy."""
        return State(**{f.name: getattr(self, f.name).copy() for f in fields(self)})

    def assign(self, other: State) -> None:
        """Take over the values of another state of the same shape; on error nothing changes."""
        require_kind(other, State, "other", "State.assign")
        for f in fields(self):
            mine, theirs = getattr(self, f.name), getattr(other, f.name)
            if mine.shape != theirs.shape:
                raise ArgumentError(f"State.{f.name} has shape {mine.shape}, given {theirs.shape}")
        for f in fields(self):
            getattr(self, f.name)[...] = getattr(other, f.name)


@dataclass(eq=False, slots=True)
class Control:
    """What drives the joints, one number per degree of freedom (the layout of joint_qd)."""

    joint_f: Array
    """Generalized forces [N, N m]."""
    joint_target_pos: Array
    """Position targets [m, rad]."""
    joint_target_vel: Array
    """Velocity targets [m/s, rad/s]."""
    actuator_control: Array = field(default_factory=lambda: np.zeros(0))
    """Controls of the actuators of the model, shape ([world,] len(model.actuators))."""


@dataclass(eq=False, repr=False)
class Model:
    """Constant description of one world as flat arrays; made by `ModelBuilder.finalize`.

    Per-joint arrays have one row a joint; per-degree-of-freedom arrays follow `joint_qd_start`, linear
    degrees of freedom of a joint before angular ones. The arrays are read-only; `update` changes them.
    """

    body_label: list[str]
    body_mass: Array
    """Mass [kg], shape (body_count,)."""
    body_com: Array
    """Centre of mass in the body frame [m], shape (body_count, 3)."""
    body_inertia: Array
    """Inertia about the centre of mass, body axes [kg m^2], shape (body_count, 3, 3)."""
    body_flags: np.ndarray
    """`BodyFlags` of every body."""
    body_q: Array
    """Initial poses of the bodies, shape (body_count, 7)."""
    body_qd: Array
    """Initial velocities of the bodies, shape (body_count, 6)."""

    body_gravcomp: Array
    """Share of its weight that is compensated; 1 makes it float. Shape (body_count,)."""

    joint_label: list[str]
    joint_type: np.ndarray
    """`JointType` of every joint."""
    joint_parent: np.ndarray
    """Parent body, -1 for the world."""
    joint_child: np.ndarray
    """Child body."""
    joint_X_p: Array
    """Pose of the joint in the parent body, shape (joint_count, 7)."""
    joint_X_c: Array
    """Pose of the joint in the child body, shape (joint_count, 7)."""
    joint_q_start: np.ndarray
    """First coordinate of every joint, then the number of coordinates."""
    joint_qd_start: np.ndarray
    """First degree of freedom of every joint, then the number of degrees of freedom."""
    joint_dof_dim: np.ndarray
    """Linear and angular degrees of freedom, shape (joint_count, 2)."""
    joint_articulation: np.ndarray
    """Articulation of every joint, -1 for none."""
    joint_distance: Array
    """Smallest and largest anchor distance of DISTANCE joints [m], negative for no limit."""

    joint_q: Array
    """Initial coordinates."""
    joint_qd: Array
    """Initial velocities."""
    joint_f: Array
    """Initial generalized forces."""
    joint_axis: Array
    """Unit axis in the joint frame, shape (joint_dof_count, 3)."""
    joint_pitch: Array
    """Advance of screw joints [m/rad]."""
    joint_data: list[Any]
    """What the type of a joint needs beside its axes; None for most."""
    joint_limit_lower: Array
    joint_limit_upper: Array
    joint_limit_ke: Array
    """Stiffness of a limit [N/m, N m/rad]; infinite for the law of the scene's joint, or a hard stop."""
    joint_limit_kd: Array
    """Damping of a limit [N s/m, N m s/rad]."""
    joint_target_pos: Array
    joint_target_vel: Array
    joint_target_ke: Array
    """Position gain of the drive."""
    joint_target_kd: Array
    """Velocity gain of the drive."""
    joint_act_mode: np.ndarray
    """`ActuatorMode` of every degree of freedom."""
    joint_armature: Array
    """Added inertia [kg, kg m^2]."""
    joint_damping: Array
    """Viscous damping [N s/m, N m s/rad]."""
    joint_stiffness: Array
    """Spring stiffness [N/m, N m/rad]."""
    joint_spring_ref: Array
    """Coordinates where springs are relaxed, in the layout of joint_q."""
    joint_friction: Array
    """Dry friction [N, N m]."""
    joint_effort_limit: Array
    """Largest commanded effort [N, N m]."""
    joint_velocity_limit: Array
    """Largest velocity [m/s, rad/s]."""
    joint_effort_lower: Array
    """Least commanded effort [N, N m], zero or less."""
    joint_velocity_lower: Array
    """Least velocity [m/s, rad/s], zero or less."""

    articulation_label: list[str]
    articulation_start: np.ndarray
    """First joint of every articulation, then the end of the last."""
    gravity: Array
    """[m/s^2], world axes."""
    world_count: int = 1
    time_step: float = 0.001
    """Time step a scene requests [s]."""
    shapes: Shapes | None = None
    """Shapes on bodies and on the world; None when there are none."""
    assets: Assets = field(default_factory=Assets)
    """Meshes and height fields of the shapes."""

    # of the scene the model was built from; None for a model that was built by code
    option: SimulateOption | None = None
    """Solver, integrator and switches a scene requests."""
    actuators: Actuators | None = None
    tendons: Tendons | None = None
    joint_forces: JointForces | None = None
    """How limits and dry friction of the joints answer."""
    joint_drive: np.ndarray | None = None
    """`JointDrive` of every degree of freedom; None when all take forces."""
    sites: Sites | None = None
    cameras: Frames | None = None
    lights: Frames | None = None
    frames: Frames | None = None
    """Named frames."""
    contact_pairs: ContactPairs | None = None
    """Shapes that always may touch, with parameters of their own."""
    excluded_bodies: np.ndarray | None = None
    """Pairs of bodies that never touch, -1 for the world, lower first, shape (k, 2)."""
    self_collision_root: np.ndarray | None = None
    """Bodies with the same number never touch each other, unless it is -1. Shape (body_count,)."""
    mocap_bodies: np.ndarray | None = None
    """Bodies whose pose is set from outside, in the order of keyframes."""
    equalities: Equalities | None = None
    closures: Closures | None = None
    couplers: Couplers | None = None
    distance_springs: DistanceSprings | None = None
    loop_joints: LoopJoints | None = None
    """Joints between bodies that trees move already."""
    ground_points: GroundPoints | None = None
    """Points of links that may touch a ground plane in the variational family."""
    sensors: Sensors | None = None
    keyframes: Keyframes | None = None
    """Saved states."""
    material_label: list[str] = field(default_factory=list[str])
    texture_label: list[str] = field(default_factory=list[str])

    body_count: int = field(init=False)
    """Number of bodies in one world."""
    joint_count: int = field(init=False)
    """Number of joints in one world."""
    joint_coord_count: int = field(init=False)
    """Length of joint_q."""
    joint_dof_count: int = field(init=False)
    """Length of joint_qd."""
    articulation_count: int = field(init=False)
    """Number of articulations in one world."""
    scratch: dict[Any, Any] = field(init=False, repr=False, default_factory=dict[Any, Any])
    """What was computed from the model; empty after a change of any parameter."""
    inertia_scratch: dict[Any, Any] = field(init=False, repr=False, default_factory=dict[Any, Any])
    """What was computed from inertias at the start position; empty after a change of those."""
    kept: dict[Any, Any] = field(init=False, repr=False, default_factory=dict[Any, Any])
    """What was laid out for the arenas, for as long as the model has them."""

    @classmethod
    def of(cls, **values: Any) -> Model:
        """A model with these fields, and defaults for the others.

        All are set at once: `__setattr__` looks what stands in the place of each of eighty.
        """
        if missing := _REQUIRED - values.keys():
            raise TypeError(f"a Model needs {', '.join(sorted(missing))}")
        made = object.__new__(cls)
        vars(made).update(_DEFAULTS)
        vars(made).update({name: make() for name, make in _FACTORIES.items()})
        vars(made).update(values)
        made.__post_init__()
        return made

    def __post_init__(self) -> None:
        self.body_count = len(self.body_label)
        self.joint_count = len(self.joint_label)
        self.joint_coord_count = int(self.joint_q_start[-1])
        self.joint_dof_count = int(self.joint_qd_start[-1])
        self.articulation_count = len(self.articulation_label)
        self._compensates_gravity = bool(self.body_gravcomp.any())
        self._lock()

    @cached_property
    def arenas(self) -> Arenas:
        """What the kernels read; made when it is first needed, so that a model may be changed before."""
        return compile_arenas(self)

    @cached_property
    def constants(self) -> ConstantViews:
        """Fields of the index and constant arenas by name; views."""
        return constant_views(self.arenas)

    def _lock(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(self.__dict__.get(name), np.ndarray):
            # an array put in the place of another would not reach the kernels
            raise AttributeError(
                f"arrays of a Model are read-only; change them with Model.update({name}=...)"
            )
        refuse_unknown_attribute(self, name, _NAMES)
        object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        # copies have arenas of their own, and none of the addresses that calls left behind
        made = ("arenas", "constants", "scratch", "inertia_scratch", "kept")
        return {name: value for name, value in vars(self).items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, scratch={}, inertia_scratch={}, kept={})
        self._lock()

    def __repr__(self) -> str:
        return (
            f"Model({self.body_count} bodies, {self.joint_count} joints, {self.joint_dof_count} dofs, "
            f"{self.articulation_count} articulations, {self.world_count} worlds)"
        )

    @property
    def body_kinematic(self) -> np.ndarray:
        """True for bodies that follow prescribed motion."""
        return (self.body_flags & BodyFlags.KINEMATIC) != 0

    @property
    def compensates_gravity(self) -> bool:
        """Whether gravity is compensated on any body."""
        return self._compensates_gravity

    @property
    def activation_count(self) -> int:
        """Length of `State.actuator_activation`."""
        return 0 if self.actuators is None else int(np.sum(self.actuators.activation_size))

    @property
    def has_constraints(self) -> bool:
        """Whether a step may have more to do than forces on trees: contacts, limits, friction, actuators."""
        tables = (self.shapes, self.actuators, self.tendons, self.equalities, self.closures, self.couplers)
        tables += (self.distance_springs, self.loop_joints)
        limits = np.isfinite(self.joint_limit_lower) | np.isfinite(self.joint_limit_upper)
        slow = np.minimum(self.joint_velocity_limit, -self.joint_velocity_lower) < UNLIMITED_SPEED
        option = self.option
        return bool(
            any(table is not None and len(table) for table in tables)
            or limits.any()
            or slow.any()
            or self.joint_friction.any()
            or (self.joint_distance[:, 0] > 0.0).any()
            or (self.joint_distance[:, 1] >= 0.0).any()
            or (self.joint_drive is not None and self.joint_drive.any())
            or (self.joint_forces is not None and self.joint_forces.actuated_gravcomp.any())
            or (option is not None and (option.density > 0.0 or option.viscosity > 0.0))
        )

    @cached_property
    def orientations(self) -> tuple[tuple[int, int], ...]:
        """Joints with a quaternion, and the first of the three degrees of freedom that turn it."""
        turning = np.flatnonzero(np.isin(self.joint_type, list(QUATERNION_JOINTS))).tolist()
        return tuple((j, int(self.joint_qd_start[j + 1]) - 3) for j in turning)

    @property
    def orphan_joints(self) -> list[int]:
        """Joints that belong to no articulation."""
        return np.flatnonzero(self.joint_articulation < 0).tolist()

    @property
    def loose_bodies(self) -> list[int]:
        """Bodies that no articulation moves."""
        held = set(self.joint_child[self.joint_articulation >= 0].tolist())
        return [b for b in range(self.body_count) if b not in held]

    def link_of_body(self) -> np.ndarray:
        """Kernel link of every body, 0 for those in no tree."""
        sizes, offsets = self.arenas.sizes, self.arenas.offsets
        return self.arenas.index[offsets["body_link"] : offsets["body_link"] + sizes["nbody"]]

    def body_index(self, label: str) -> int:
        """The body with this label; a KeyError with the nearest label if there is none."""
        return find_label(self.body_label, label, "body")

    def joint_index(self, label: str) -> int:
        """The joint with this label; a KeyError with the nearest label if there is none."""
        return find_label(self.joint_label, label, "joint")

    def articulation_index(self, label: str) -> int:
        """The articulation with this label; a KeyError with the nearest label if there is none."""
        return find_label(self.articulation_label, label, "articulation")

    def state(self) -> State:
        """A new state with the model's initial values."""
        return State(
            joint_q=self._worlds(self.joint_q),
            joint_qd=self._worlds(self.joint_qd),
            body_q=self._worlds(self.body_q),
            body_qd=self._worlds(self.body_qd),
            body_f=self._worlds(np.zeros((self.body_count, 6))),
            joint_qdd=self._worlds(np.zeros(self.joint_dof_count)),
            actuator_activation=self._worlds(np.zeros(self.activation_count)),
        )

    def control(self) -> Control:
        """A new control with the model's initial forces and targets."""
        return Control(
            joint_f=self._worlds(self.joint_f),
            joint_target_pos=self._worlds(self.joint_target_pos),
            joint_target_vel=self._worlds(self.joint_target_vel),
            actuator_control=self._worlds(np.zeros(0 if self.actuators is None else len(self.actuators))),
        )

    def _worlds(self, value: Array) -> Array:
        if self.world_count == 1:
            return value.copy()
        return np.repeat(value[None], self.world_count, axis=0)

    def set_kinematic(self, body: int, kinematic: bool) -> None:
        """Make a body follow prescribed motion, or move by forces again."""
        follows = flag(kinematic, "kinematic")
        if not isinstance(body, (int, np.integer)) or not 0 <= body < self.body_count:
            raise ArgumentError(f"body must be 0 to {self.body_count - 1}, got {body!r}")
        flags = np.array(self.body_flags)
        flags[body] = BodyFlags.KINEMATIC if follows else BodyFlags.DYNAMIC
        self._replace({"body_flags": flags})
        self.inertia_scratch.clear()

    def set_actuator_modes(self, dofs: slice, modes: Sequence[ActuatorMode]) -> None:
        """Which targets the drives of some degrees of freedom follow."""
        row = np.array(self.joint_act_mode)
        try:
            row[dofs] = [ActuatorMode(mode) for mode in modes]
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            raise ArgumentError(f"{dofs!r} of the degrees of freedom have no modes {modes!r}") from error
        self._replace({"joint_act_mode": row})

    def set_drive(self, dof: int, drive: int) -> None:
        """What a degree of freedom makes of its command, a `JointDrive`."""
        drives = np.zeros(self.joint_dof_count, np.int64) if self.joint_drive is None else self.joint_drive
        if drives[dof] != drive:
            made = drives.copy()
            made[dof] = drive
            made.setflags(write=False)
            vars(self)["joint_drive"] = made

    def update(self, **arrays: Any) -> None:
        """Replace parameter arrays, all or none: `model.update(joint_armature=..., gravity=...)`.

        Shapes stay as they are. Topology, joint types and layouts cannot be changed. Limits of effort and
        velocity that are alike in both directions stay so where only the upper ones are given.
        """
        self._update(check_update(self, arrays))

    def _update_rows(self, rows: slice, numbers: dict[str, Any]) -> None:
        """Replace some rows of parameter arrays with one for every body or degree of freedom, all or none.

        Costs a third of what `update` does, which looks at whole arrays.
        """
        checked = check_update(self, numbers, rows)
        arrays = {name: np.array(getattr(self, name)) for name in checked}
        for name, array in arrays.items():
            array[rows] = checked[name]
        self._update(arrays, rows)

    def _update(self, arrays: dict[str, np.ndarray], rows: slice | None = None) -> None:
        self._replace(arrays, rows)
        if not INERTIAL.isdisjoint(arrays):
            self.inertia_scratch.clear()

    def _replace(self, arrays: dict[str, np.ndarray], rows: slice | None = None) -> None:
        """Put checked arrays into the places of others, and what kernels read of them into the arenas.

        `rows` are those that differ, of arrays of bodies or degrees of freedom; all of them when None.
        """
        for array in arrays.values():
            array.setflags(write=False)
        vars(self).update(arrays)
        if "body_gravcomp" in arrays:
            self._compensates_gravity = bool(self.body_gravcomp.any())
        if "arenas" in vars(self):
            fill_constants(self, self.constants, arrays, rows)
        # programs were laid out for bodies that could be moved; look again
        self.scratch.clear()


_NAMES = frozenset(f.name for f in fields(Model))
_DEFAULTS = {f.name: f.default for f in fields(Model) if f.default is not MISSING}
_FACTORIES = {f.name: f.default_factory for f in fields(Model) if f.default_factory is not MISSING}
_REQUIRED = frozenset(f.name for f in fields(Model) if f.init) - _DEFAULTS.keys() - _FACTORIES.keys()


F = TypeVar("F", bound=Callable[..., Any])


def takes_model(function: F) -> F:
    """A function whose first argument is a Model and refuses anything else by name."""
    name = function.__name__

    @wraps(function)
    def checked(model: Model, *args: Any, **named: Any) -> Any:
        if not isinstance(model, Model):
            require_kind(model, Model, "model", name)
        return function(model, *args, **named)

    return cast("F", checked)
