# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tables a Model carries beside its trees: actuators, tendons, keyframes. One row an object.

Shapes and poses are in `shape_tables`, contact and limit laws in `force_tables`, closures and equalities in
`constraint_tables`, sensors in `sensor_tables`. Every table is plain columns, read-only, with labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from worldline._src.errors import NotFoundError, nearest_name
from worldline._src.model.force_tables import ForceModels, FrictionModels, Lockable
from worldline._src.spatial.poses import Array


class TargetKind(IntEnum):
    """What an actuator acts on; `Actuators.target` is an index of that kind."""

    JOINT, JOINT_IN_PARENT, TENDON, BODY, SITE, SLIDER_CRANK = range(6)


class GainKind(IntEnum):
    """How the gain of an actuator comes from its parameters."""

    FIXED, AFFINE, MUSCLE = range(3)


class BiasKind(IntEnum):
    """How the bias of an actuator comes from its parameters."""

    NONE, AFFINE, MUSCLE = range(3)


class ActivationKind(IntEnum):
    """How the activation of an actuator follows its control."""

    NONE, INTEGRATOR, FILTER, FILTER_EXACT, MUSCLE, CURRENT, PID, PID_DISCRETE, MOTOR = range(9)


EXACT_ACTIVATIONS = (ActivationKind.FILTER_EXACT, ActivationKind.CURRENT, ActivationKind.MOTOR)
"""Activations that advance by tau (1 - exp(-h / tau)) times their rate."""
CURRENT_ACTIVATIONS = (ActivationKind.CURRENT, ActivationKind.MOTOR)
"""Currents: the force depends on the velocity through the voltage that it induces."""
MOTOR_ACTIVATIONS = (ActivationKind.MOTOR,)
"""Motors, whose gain and bias hold the constants of the motor and not those of a force law."""


class Table(Lockable):
    """Read-only arrays with one row a label."""

    label: list[str]

    def __len__(self) -> int:
        return len(self.label)

    def index(self, label: str) -> int:
        """The row with this label; a KeyError with the nearest label if there is none."""
        return find_label(self.label, label, type(self).__name__.lower())


def find_label(labels: Sequence[str], label: str, what: str) -> int:
    """The position of a label; a KeyError with the nearest label if there is none."""
    try:
        return labels.index(label)
    except ValueError:
        raise NotFoundError(f"no {what} '{label}'{nearest_name(str(label), labels)}") from None


# looking up a member of an enumeration takes Python ten times as long as looking up a name
_NONE, _MOTOR = int(ActivationKind.NONE), int(ActivationKind.MOTOR)
_PID, _PID_DISCRETE = int(ActivationKind.PID), int(ActivationKind.PID_DISCRETE)


@dataclass(eq=False)
class Actuators(Table):
    """Actuators in the order of the control vector.

    With length l, its rate l' and activation (or control) u, the force is gain u + bias; FIXED gain is g0,
    AFFINE gain or bias p0 + p1 l + p2 l'.
    """

    label: list[str]
    target_kind: np.ndarray
    """`TargetKind` of every actuator."""
    target: np.ndarray
    """Joint, tendon, body or site, by target_kind."""
    reference: np.ndarray
    """Reference site of a site, slider site of a slider-crank, -1 for none."""
    rod: Array
    """Length of the rod of a slider-crank [m]."""
    gear: Array
    """From the scalar force to the directions of the target, shape (n, 6)."""
    gain_kind: np.ndarray
    gain: Array
    """Parameters of the gain, shape (n, 10)."""
    bias_kind: np.ndarray
    bias: Array
    """Parameters of the bias, shape (n, 10)."""
    activation_kind: np.ndarray
    activation: Array
    """Parameters of the activation, shape (n, 10)."""
    activation_early: np.ndarray
    """True when the force uses the activation of the next step."""
    control_range: Array
    """Bounds of the control, shape (n, 2), infinite where there are none."""
    force_range: Array
    """Bounds of the force [N, N m], shape (n, 2)."""
    activation_range: Array
    """Bounds of the activation, shape (n, 2)."""
    length_range: Array
    """Range of the length, for muscles, shape (n, 2), infinite where not given."""
    group: np.ndarray

    @property
    def has_integral(self) -> np.ndarray:
        """Whether an actuator adds up an error of position."""
        return self._controls & (self.activation[:, 1] != 0.0)

    @property
    def has_setpoint(self) -> np.ndarray:
        """Whether an actuator follows its control at a bounded rate."""
        return self._controls & (self.activation[:, 3] >= 0.0)

    @property
    def _controls(self) -> np.ndarray:
        return (self.activation_kind == _PID) | (self.activation_kind == _PID_DISCRETE)

    @property
    def activation_size(self) -> np.ndarray:
        """How many activations every actuator has, shape (n,)."""
        controls, motor = self._controls, self.activation_kind == _MOTOR
        if not (controls.any() or motor.any()):
            return (self.activation_kind != _NONE).astype(np.int64)
        setpoint = np.where(self.activation_kind == _PID_DISCRETE, 2, 1)
        states = self.has_integral + setpoint * self.has_setpoint
        # current, temperature, bristles of friction
        inner = np.stack([self.activation[:, 0], self.activation[:, 4], self.gain[:, 3]], axis=1)
        states = np.where(motor, (inner > 0.0).sum(axis=1), states)
        return np.where(controls | motor, states, self.activation_kind != _NONE)


@dataclass(eq=False)
class Keyframes(Table):
    """Saved states, in the layouts of the Model."""

    label: list[str]
    time: Array
    """[s]; not a number where a keyframe gives none."""
    joint_q: Array
    """Shape (n, joint_coord_count)."""
    joint_qd: Array
    """Shape (n, joint_dof_count)."""
    control: Array
    """Shape (n, actuators)."""
    activation: Array
    """In the order of the actuators, shape (n, activation_count); not a number where not given."""
    mocap_q: Array
    """Poses of the mocap bodies in the order of `Model.mocap_bodies`, shape (n, mocap bodies, 7)."""


class PathKind(IntEnum):
    """What a spatial tendon meets on its way; `Tendons.path_index` is an index of that kind."""

    SITE, SHAPE, PULLEY = range(3)


@dataclass(eq=False)
class Tendons(Table):
    """Tendons: fixed ones first, whose length is a sum over joints, then those that run through space."""

    label: list[str]
    coefficient_start: np.ndarray
    """First coefficient of every tendon, then the number of them; spatial tendons have none."""
    coefficient_dof: np.ndarray
    """Degree of freedom of every coefficient, ascending in a tendon."""
    coefficient: Array
    """Length per coordinate of that degree of freedom, never zero."""
    spatial: np.ndarray
    """True for tendons that run over sites and shapes."""
    path_start: np.ndarray
    """First node of the path of every tendon, then the number of nodes; fixed tendons have none."""
    path_kind: np.ndarray
    """`PathKind` of every node."""
    path_index: np.ndarray
    """Site or shape of every node, -1 for a pulley."""
    path_side: np.ndarray
    """Site on whose side the tendon wraps around the shape, -1 for none."""
    path_divisor: Array
    """What lengths after a pulley are divided by; 1 for other nodes."""
    stiffness: Array
    """[N/m]."""
    damping: Array
    """[N s/m]."""
    rest: Array
    """Lengths between which the spring is at rest [m], shape (n, 2); not a number: that of the start."""
    friction: Array
    """Dry friction [N]."""
    friction_force: FrictionModels
    """How soft the dry friction is."""
    limit: Array
    """Bounds of the length [m], shape (n, 2), infinite where there are none."""
    limit_force: ForceModels
    """How the limits answer."""
    margin: Array
    """Distance from a limit at which it becomes active [m]."""
    armature: Array
    """Inertia of its speed [kg]."""
    force_range: Array
    """Bounds on the sum of actuator forces [N], shape (n, 2)."""


@dataclass(eq=False)
class JointForces(Lockable):
    """How limits and dry friction of the joints answer, one row a joint of the Model."""

    limit: ForceModels
    margin: Array
    """Distance from a limit at which it becomes active [m, rad]."""
    friction: FrictionModels
    force_range: Array
    """Bounds on the sum of actuator forces [N, N m], shape (n, 2), infinite where there are none."""
    actuated_gravcomp: np.ndarray
    """True where gravity compensation counts as actuator force and not as passive force."""
