# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The public enumerations, and the enumerations of the description that they correspond to."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

from worldline._src.errors import EnumError
from worldline._src.scene import closures as scene_closures
from worldline._src.scene.joints import JOINTS, DriveType
from worldline._src.scene.joints import JointType as SceneJointType

E = TypeVar("E", bound=Enum)


class JointType(Enum):
    """What motion a joint leaves free."""

    FIXED = "fixed"
    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"
    SCREW = "screw"
    UNIVERSAL = "universal"
    SPHERICAL = "spherical"
    PLANAR = "planar"
    FLOATING = "floating"
    EULER = "euler"
    TRANSLATIONAL = "translational"
    TRANSLATIONAL_2D = "translational-2d"
    DISTANCE = "distance"
    D6 = "d6"
    CABLE = "cable"
    CUSTOM = "custom"


class ActuatorType(Enum):
    """What a joint makes of its commands."""

    FORCE = "force"
    """`force` is applied, within the effort limits; drives add to it."""
    PASSIVE = "passive"
    """Commands are ignored; springs and dampers act."""
    SERVO = "servo"
    """`command_velocity` is followed within the effort limits."""
    VELOCITY = "velocity"
    """`command_velocity` is reached within one step, whatever the load."""
    ACCELERATION = "acceleration"
    """`command_acceleration` is realised exactly."""
    LOCKED = "locked"
    """The joint keeps its position."""
    MIMIC = "mimic"
    """The joint follows another joint."""


class WorldSyncStage(Enum):
    """Work that `World.sync` does on request."""

    KINEMATICS = "kinematics"


class UpdatePolicy(Enum):
    """When a query brings what it reads up to date."""

    IF_STALE = "if-stale"
    """Only when something was written since; the default everywhere."""
    ALWAYS = "always"
    NEVER = "never"
    """Read what is there, which may be out of date."""


class ModelFormat(Enum):
    """Formats of model files."""

    AUTO = "auto"
    """By suffix and content."""
    MJCF = "mjcf"
    URDF = "urdf"
    SDF = "sdf"
    MSD = "msd"
    USD = "usd"
    """Named, and refused by the reader."""


class RootJointType(Enum):
    """How the base of a loaded tree stands in the world."""

    FLOATING, FIXED = "floating", "fixed"


class RigidBodySolver(Enum):
    """How free rigid bodies with contacts are solved."""

    SEQUENTIAL_IMPULSE, IPC = "sequential-impulse", "incremental-potential-contact"


class ContactSolverMethod(Enum):
    """How the constraints of a step are solved.

    AUTOMATIC chooses by island: Newton's method, and sequential impulses for islands of more than 22 free
    bodies. The others are used for islands of any size and kind, within the bounds that
    `World.resolved_configuration` names.
    """

    SEQUENTIAL_IMPULSE = "sequential-impulse"
    BOXED_LCP = "boxed-lcp"
    NEWTON = "newton"
    AUTOMATIC = "automatic"


class ContactGradientMode(Enum):
    """Which derivative of contact a differentiable world returns; steps are the same in all modes."""

    ANALYTIC = "analytic"
    """That of the step as it was made: contacts and rows that push, stick or slide go on doing so."""
    COMPLEMENTARITY_AWARE = "complementarity-aware"
    """That of relaxed complementarity: a contact that rests gives way a little, one that is about to open or
    to close counts half. For losses that are flat because a contact holds, such as lifting off."""
    PRE_CONTACT_SURROGATE = "pre-contact-surrogate"
    """ANALYTIC, and springs between shapes that are near each other but do not touch. For losses that are
    flat because bodies have not met yet, such as pushing or hitting something."""


class PhysicalParameter(Enum):
    """A parameter that derivatives of a step are taken against, and what it belongs to."""

    MASS = "mass"
    """Of a link or rigid body [kg]."""
    CENTER_OF_MASS = "center-of-mass"
    """Of a link or rigid body, in its frame [m], three numbers."""
    INERTIA = "inertia"
    """Diagonal of the rotational inertia of a link or rigid body about its centre of mass [kg m^2]."""
    FRICTION = "friction"
    """Coefficient of sliding of every shape of a link or rigid body."""
    RESTITUTION = "restitution"
    """Of every shape of a link or rigid body, where its law has one."""
    SHAPE_SIZE = "shape-size"
    """Half sizes of every shape of a link or rigid body [m]; its mass and inertia stay constant."""
    DAMPING = "damping"
    """Of every degree of freedom of a joint [N s/m or N m s/rad]."""
    STIFFNESS = "stiffness"
    """Of the spring of every degree of freedom of a joint [N/m or N m/rad]."""
    ARMATURE = "armature"
    """Inertia added to every degree of freedom of a joint [kg or kg m^2]."""
    POSITION_GAIN = "position-gain"
    """Of the drive of every degree of freedom of a joint [N/m or N m/rad]."""
    VELOCITY_GAIN = "velocity-gain"
    """Of the drive of every degree of freedom of a joint [N s/m or N m s/rad]."""
    JOINT_FRAME = "joint-frame"
    """Place of a joint on its parent: displacement [m], then rotation vector [rad], in its axes."""
    GRAVITY = "gravity"
    """Of the World [m/s^2], three numbers."""


class ComputeAcceleratorPolicy(Enum):
    """Whether other devices than the processor may be used."""

    CPU_ONLY, PREFER_ACCELERATED = "cpu-only", "prefer-accelerated"


class LoopClosureFamily(Enum):
    """What the two endpoints of a closure share, or the joint that is cut there."""

    RIGID = "Rigid"
    POINT = "Point"
    DISTANCE = "Distance"
    AXIS = "Axis"
    """A point and the direction of z."""
    REVOLUTE = "Revolute"
    """A hinge about z of both endpoints; the same equations as AXIS."""
    UNIVERSAL = "Universal"
    """A point, with z of endpoint A square to x of endpoint B, the two axes of the joint."""
    PRISMATIC = "Prismatic"
    """The rotation and the line of z of endpoint B, along which A slides."""
    PLANAR = "Planar"
    """The plane across z of endpoint B, in which A slides and turns."""


class LoopClosureResidualCoordinates(Enum):
    """The axes a residual and its force are given in."""

    WORLD, ENDPOINT_A, ENDPOINT_B = "world", "endpoint-a", "endpoint-b"


class ClosureKinematicsPolicy(Enum):
    """What a kinematics update does about a closure."""

    RESIDUAL_ONLY, PROJECT = "ResidualOnly", "Project"


class ClosureDynamicsPolicy(Enum):
    """What a step does about a closure."""

    RESIDUAL_ONLY, SOLVE = "ResidualOnly", "Solve"


SCENE_JOINTS = {JointType[facts.public]: kind for kind, facts in JOINTS.items()}
"""Joint types of the description by those of the facade."""
_FACADE_JOINTS = {scene: facade for facade, scene in SCENE_JOINTS.items()}
_DRIVES = {kind: DriveType[kind.name.capitalize()] for kind in ActuatorType}
_ACTUATORS = {drive: kind for kind, drive in _DRIVES.items()}


def scene_joint_type(kind: JointType) -> SceneJointType:
    """The description's name of a joint type."""
    return SCENE_JOINTS[kind]


def joint_type(kind: SceneJointType) -> JointType:
    """The facade's name of a joint type."""
    return _FACADE_JOINTS[kind]


def drive_type(kind: ActuatorType) -> DriveType:
    """The description's name of an actuator type."""
    return _DRIVES[kind]


def actuator_type(kind: DriveType) -> ActuatorType:
    """The facade's name of an actuator type."""
    return _ACTUATORS[kind]


def scene_family(family: LoopClosureFamily) -> scene_closures.LoopClosureFamily:
    """The description's name of a closure family."""
    return scene_closures.LoopClosureFamily[family.value]


def member(kind: type[E], value: Any, what: str) -> E:
    """`value` as a member of an enumeration, or an error that lists the members."""
    if isinstance(value, kind):
        return value
    names = ", ".join(f"{kind.__name__}.{m.name}" for m in kind)
    raise EnumError(f"{what} must be one of {names}; got {value!r}")
