# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tables a Model carries beside its trees: actuators, keyframes, sites. One row an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np

from worldline._src.errors import NotFoundError, nearest_name
from worldline._src.spatial.poses import Array


class TargetKind(IntEnum):
    """What an actuator acts on; `Actuators.target` is an index of that kind."""

    JOINT = 0
    JOINT_IN_PARENT = 1
    TENDON = 2
    BODY = 3
    SITE = 4
    SLIDER_CRANK = 5


class GainKind(IntEnum):
    """How the gain of an actuator comes from its parameters."""

    FIXED = 0
    AFFINE = 1
    MUSCLE = 2


class BiasKind(IntEnum):
    """How the bias of an actuator comes from its parameters."""

    NONE = 0
    AFFINE = 1
    MUSCLE = 2


class ActivationKind(IntEnum):
    """How the activation of an actuator follows its control."""

    NONE = 0
    INTEGRATOR = 1
    FILTER = 2
    FILTER_EXACT = 3
    MUSCLE = 4


class _Table:
    """Read-only arrays with one row a label."""

    label: list[str]

    def __post_init__(self) -> None:
        for f in fields(self):  # type: ignore[arg-type] # subclasses are dataclasses
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

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


@dataclass(eq=False)
class Actuators(_Table):
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


@dataclass(eq=False)
class Keyframes(_Table):
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


@dataclass(eq=False)
class Sites(_Table):
    """Named poses on bodies."""

    label: list[str]
    body: np.ndarray
    """Body of every site, -1 for the world."""
    xform: Array
    """Pose in the body, position [m] and xyzw, shape (n, 7)."""


@dataclass(eq=False)
class Tendons(_Table):
    """Fixed tendons: length = sum of coefficient times coordinate over joints of one axis."""

    label: list[str]
    coefficients: Array
    """Length per coordinate, by degree of freedom, shape (n, joint_dof_count); zero for spatial tendons."""
    spatial: np.ndarray
    """True for tendons that run over sites and shapes."""
