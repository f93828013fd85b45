# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collections of handles: ordered by construction, looked up by name or index, always current.

A collection is a view of its owner: what is added or removed later shows. Reading a bulk property is one
operation on arrays, and so is writing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from worldline._src.errors import NotFoundError, nearest_name
from worldline._src.facade import bulk, values
from worldline._src.facade.bulk import JointParameters, Listed, MotorParameters, PerFreedom, Stacked
from worldline._src.facade.copying import NotCopied
from worldline._src.facade.known_names import KnownNames, returns_read_only
from worldline._src.facade.quantities import Quantity, quantity
from worldline._src.facade.values import VectorLike
from worldline._src.kernels.pose_matrices import (
    pose_matrices,  # pyright: ignore[reportUnknownVariableType] # compiled code
)
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.degree_of_freedom import DegreeOfFreedom
    from worldline._src.facade.inertia import Inertia
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.kinds import ClosureDynamicsPolicy, ClosureKinematicsPolicy, LoopClosureFamily
    from worldline._src.facade.link import Link
    from worldline._src.facade.loop_closure import (
        LoopClosure,  # noqa: F401 - named in bases
        LoopClosureRuntimePolicy,
    )
    from worldline._src.facade.multibody import Multibody
    from worldline._src.facade.rigid_body import RigidBody  # noqa: F401 - named in bases
    from worldline._src.facade.world_joint import WorldJoint

T = TypeVar("T")
D = TypeVar("D")


class NamedCollection(NotCopied, KnownNames, Sequence[T], Generic[T]):
    """Handles of one kind of one owner, in construction order.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> world.rigid_bodies.names, world.rigid_bodies["box"] is box, world.rigid_bodies.get("ball")
        (['box'], True, None)
    """

    _instead = "it is a view; copy the World and ask the copy, or list(...) the members"

    def __init__(self, what: str, members: Callable[[], dict[str, T]]) -> None:
        self._what = what
        self._members = members

    @property
    def names(self) -> list[str]:
        """All names, in construction order."""
        return list(self._members())

    def __len__(self) -> int:
        return len(self._members())

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._members().values()))

    def __contains__(self, item: object) -> bool:
        members = self._members()
        return item in members if isinstance(item, str) else any(item is m for m in members.values())

    @overload
    def __getitem__(self, key: str | int) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> list[T]: ...
    def __getitem__(self, key: Any) -> Any:
        members = self._members()
        if isinstance(key, str):
            found = members.get(key)
            if found is None:
                raise NotFoundError(f"no {self._what} '{key}'{nearest_name(key, members)}")
            return found
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            rows = list(members.values())
            if not -len(rows) <= key < len(rows):
                raise IndexError(f"{self._what} {key} is out of range: there are {len(rows)}")
            return rows[key]
        if isinstance(key, slice):
            return list(members.values())[key]
        raise values.ShapeError(f"a {self._what} is looked up by name or index, got {key!r}")

    @overload
    def get(self, name: str) -> T | None: ...
    @overload
    def get(self, name: str, default: D) -> T | D: ...
    def get(self, name: str, default: Any = None) -> Any:
        """The handle of that name, or `default`."""
        return self._members().get(values.key(name, f"name of a {self._what}"), default)

    def __repr__(self) -> str:
        return f"<{len(self)} x {self._what}: {', '.join(self.names)}>"


class BodyCollection(NamedCollection[T]):
    """Bodies with mass, by name; bulk properties have one entry for each."""

    centers_of_mass = Stacked("center_of_mass", "In the frame of the body [m]", (3,), settable=True)
    inertias = Stacked("inertia", "About the centre of mass [kg m^2]", (3, 3), settable=True)
    mass_properties: Listed[Inertia] = Listed("mass_properties", "Mass, centre of mass and inertia")
    gravity_compensations = Stacked("gravity_compensation", "Shares of the weight taken off", settable=True)
    rotations = Stacked("rotation", "Axes of the bodies as columns, world axes", (3, 3))
    quaternions = Stacked("quaternion", "Orientations xyzw", (4,))
    local_transforms = Stacked("local_transform", "Poses in the parent frames", (4, 4))
    linear_velocities = Stacked("linear_velocity", "Velocities of the origins, world axes [m/s]", (3,))
    angular_velocities = Stacked("angular_velocity", "World axes [rad/s]", (3,))
    linear_accelerations = Stacked(
        "linear_acceleration", "Accelerations of the origins, world axes [m/s^2]", (3,)
    )
    angular_accelerations = Stacked("angular_acceleration", "World axes [rad/s^2]", (3,))
    linear_momenta = Stacked("linear_momentum", "World axes [kg m/s]", (3,))
    angular_momenta = Stacked("angular_momentum", "About the centres of mass, world axes [kg m^2/s]", (3,))
    kinetic_energies = Stacked("kinetic_energy", "[J]")
    potential_energies = Stacked("potential_energy", "In the gravity field [J]")


class LinkCollection(BodyCollection["Link"]):
    """The links of a multibody."""

    def __init__(self, owner: Multibody, members: Callable[[], dict[str, Link]]) -> None:
        super().__init__("link", members)
        self._owner = owner

    @property
    @returns_read_only
    def transforms(self) -> Array:
        """Poses in the world frame, (len, 4, 4)."""
        runtime = self._owner._live()
        rows = self._owner._body_rows(runtime)
        poses, made = runtime.sim.fresh_poses(), np.empty((len(rows), 16))
        pose_matrices(poses, rows, made)
        return values.read_only(made.reshape(-1, 4, 4))

    @property
    @returns_read_only
    def translations(self) -> Array:
        """Positions of the origins in the world frame [m], (len, 3)."""
        runtime = self._owner._live()
        rows = self._owner._body_rows(runtime)
        return values.read_only(runtime.sim.fresh_poses()[rows, :3].copy())

    @property
    @returns_read_only
    def masses(self) -> Array:
        """[kg], (len,)."""
        runtime = self._owner._live()
        return values.read_only(runtime.model.body_mass[self._owner._body_rows(runtime)].copy())

    @masses.setter
    def masses(self, value: float | VectorLike) -> None:
        members = list(self)
        bulk.write_all(members, "mass", values.spread(value, len(members), "masses of links").tolist())


class RigidBodyCollection(BodyCollection["RigidBody"]):
    """The rigid bodies of a World.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> a, b = world.add_rigid_body("a"), world.add_rigid_body("b")
        >>> world.rigid_bodies.translations = [[0, 0, 1], [0, 0, 2]]
        >>> b.translation.tolist(), world.rigid_bodies.masses.tolist()
        ([0.0, 0.0, 2.0], [1.0, 1.0])
    """

    masses = Stacked("mass", "[kg]", settable=True)
    transforms = Stacked("transform", "Poses in the world frame", (4, 4), settable=True)
    translations = Stacked("translation", "Positions of the origins, world frame [m]", (3,), settable=True)
    quaternions = Stacked("quaternion", "Orientations xyzw", (4,), settable=True)
    linear_velocities = Stacked(
        "linear_velocity", "Velocities of the origins, world axes [m/s]", (3,), settable=True
    )
    angular_velocities = Stacked("angular_velocity", "World axes [rad/s]", (3,), settable=True)
    forces = Stacked("force", "Persistent forces at the centres of mass, world axes [N]", (3,), settable=True)
    torques = Stacked("torque", "Persistent torques, world axes [N m]", (3,), settable=True)
    frictions = Stacked("friction", "Coefficients of dry friction", settable=True)
    restitutions = Stacked("restitution", "Shares of the closing speed that return", settable=True)
    are_static = Stacked("is_static", "Whether a body never moves", settable=True, kind=bool)
    are_kinematic = Stacked(
        "is_kinematic", "Whether a body follows its velocity and feels no forces", settable=True, kind=bool
    )
    are_sleeping = Stacked("is_sleeping", "Whether a body sleeps", kind=bool)


class LoopClosureCollection(NamedCollection["LoopClosure"]):
    """The loop closures of a World."""

    families: Listed[LoopClosureFamily] = Listed("family", "What closures constrain", settable=False)
    dynamics: Listed[ClosureDynamicsPolicy] = Listed("dynamics", "What steps do with closures")
    kinematics: Listed[ClosureKinematicsPolicy] = Listed("kinematics", "Whether closures are projected")
    runtime_policies: Listed[LoopClosureRuntimePolicy] = Listed("runtime_policy", "All choices of closures")
    initial_tolerances: Listed[float | None] = Listed(
        "initial_tolerance", "Largest residuals at the first step [m or rad], None for any"
    )
    enabled = Stacked("enabled", "Whether a closure acts", settable=True, kind=bool)
    allow_collision = Stacked("allow_collision", "Whether the two bodies touch", kind=bool)
    distances = Stacked("distance", "Distances that closures of the DISTANCE family keep [m]")
    offsets_a = Stacked("offset_a", "Poses of the endpoints in frame_a", (4, 4))
    offsets_b = Stacked("offset_b", "Poses of the endpoints in frame_b", (4, 4))


class WorldJointCollection(MotorParameters, NamedCollection["WorldJoint"]):
    """The joints that a World owns."""

    break_forces = Stacked("break_force", "Force that breaks a joint [N], or infinity", settable=True)
    break_torques = Stacked("break_torque", "Torque that breaks a joint [N m], or infinity", settable=True)
    are_broken = Stacked("is_broken", "Whether a joint is broken", kind=bool)
    wrenches = Stacked("wrench", "What joints passed on in the last step, see `WorldJoint.wrench`", (6,))
    axes = Stacked("axis", "Unit axes in the joint frames", (3,))
    axes2 = Stacked("axis2", "Second unit axes in the joint frames", (3,))
    pitches = Stacked("pitch", "Advance of screw joints [m/rad]", settable=True)
    position = PerFreedom("position", "[m or rad]", settable=False)
    velocity = PerFreedom("velocity", "[m/s or rad/s]", settable=False)
    position_lower_limits = PerFreedom("position_lower_limits", "[m or rad]", settable=False)
    position_upper_limits = PerFreedom("position_upper_limits", "[m or rad]", settable=False)

    acceleration = PerFreedom("acceleration", "[m/s^2 or rad/s^2]", settable=False)
    force = PerFreedom("force", "Efforts that FORCE applies [N or N m]")
    command_velocity = PerFreedom("command_velocity", "Velocities to follow [m/s or rad/s]")
    command_acceleration = PerFreedom("command_acceleration", "Accelerations to realise [m/s^2 or rad/s^2]")
    effort = PerFreedom("effort", "What motors did in the last step [N or N m]", settable=False)

    def _bulk_joints(self) -> list[WorldJoint]:
        return list(self)


def _positions(array: str, what: str, doc: str) -> Quantity[Array, VectorLike]:
    """Coordinates of all joints of a multibody, from an array of its simulation."""
    return quantity(
        lambda joints: joints._owner._positions(array),
        lambda joints, value: joints._owner._set_positions(array, value, what),
        doc,
    )


def _velocities(array: str, what: str, doc: str) -> Quantity[Array, VectorLike]:
    """A number for each degree of freedom of a multibody, from an array of its simulation."""
    return quantity(
        lambda joints: joints._owner._dof_vector(array),
        lambda joints, value: joints._owner._set_dof_vector(array, value, what),
        doc,
    )


class JointCollection(JointParameters, NamedCollection["Joint"]):
    """The joints of a multibody; vectors hold all degrees of freedom, joint after joint."""

    def __init__(self, owner: Multibody, members: Callable[[], dict[str, Joint]]) -> None:
        super().__init__("joint", members)
        self._owner = owner

    position = _positions(
        "q", "position", "[m or rad], (num_dofs,); rotation vectors for SPHERICAL and FLOATING joints."
    )
    target_position = _positions(
        "q_target", "target position", "Where position drives lead [m or rad], (num_dofs,)."
    )
    velocity = _velocities("v", "velocity", "[m/s or rad/s], (num_dofs,).")

    @property
    @returns_read_only
    def acceleration(self) -> Array:
        """Of the last step [m/s^2 or rad/s^2], (num_dofs,)."""
        return self._owner._dof_vector("a")

    @property
    @returns_read_only
    def constraint_force(self) -> Array:
        """What constraints did in the last step, see `Joint.constraint_force` [N or N m], (num_dofs,)."""
        runtime = self._owner._live()
        rows, forces = self._owner._layout(runtime).v, runtime.constraint_forces()
        if runtime.guard.busy:
            runtime.guard.wait()
        return values.read_only(forces[rows].copy())

    force = _velocities("force", "force", "Commanded efforts [N or N m], (num_dofs,).")
    target_velocity = _velocities(
        "v_target", "target velocity", "Speeds that drives lead to [m/s or rad/s], (num_dofs,)."
    )

    command_velocity = target_velocity

    command_acceleration = _velocities(
        "a_target", "command acceleration", "Accelerations to realise [m/s^2 or rad/s^2], (num_dofs,)."
    )

    @property
    def position_lower_limits(self) -> Array:
        """[m or rad], (num_dofs,); see `set_position_limits`."""
        return self._owner._dof_parameter("joint_limit_lower")

    @property
    def position_upper_limits(self) -> Array:
        """[m or rad], (num_dofs,); see `set_position_limits`."""
        return self._owner._dof_parameter("joint_limit_upper")

    def _bulk_joints(self) -> list[Joint]:
        return list(self)

    limit_margin = Stacked("limit_margin", "Distance from a limit at which it begins to act", settable=True)
    axis = Stacked("axis", "Unit axes in the joint frames", (3,), settable=True)
    axis2 = Stacked("axis2", "Second unit axes in the joint frames", (3,), settable=True)
    pitch = Stacked("pitch", "Advance of screw joints [m/rad]", settable=True)
    break_force = Stacked("break_force", "Joints of a tree do not break: infinite [N]", settable=True)
    break_torque = Stacked("break_torque", "Joints of a tree do not break: infinite [N m]", settable=True)
    is_broken = Stacked("is_broken", "Joints of a tree do not break", kind=bool)
    is_frozen = Stacked("is_frozen", "Whether a joint is welded", kind=bool)


class DofCollection(NamedCollection["DegreeOfFreedom"]):
    """The degrees of freedom of a multibody, in the order of its vectors and matrices."""

    def __init__(self, members: Callable[[], dict[str, DegreeOfFreedom]]) -> None:
        super().__init__("degree of freedom", members)
