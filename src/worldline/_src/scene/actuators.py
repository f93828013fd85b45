# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Actuators: what turns a control signal into force."""

from __future__ import annotations

from enum import auto

from worldline._src.scene.base import Choice, Struct, field, optional, part, value
from worldline._src.scene.containers import Nested, OptionalOf
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.kinds import INTEGER, NON_NEGATIVE, REAL
from worldline._src.scene.texts import Name, Ref
from worldline._src.scene.values import RANGE, Range
from worldline._src.scene.variant import Named, Variant, case
from worldline._src.scene.vectors import Array, Numbers, Vector

_PARAMETERS = Vector(10)


class GainType(SceneEnum):
    """What multiplies the control signal."""

    Affine, Fixed, Muscle = auto(), auto(), auto()


class BiasType(SceneEnum):
    """What is added to the force."""

    Affine, None_, Muscle = auto(), auto(), auto()


class DynType(SceneEnum):
    """How the activations follow the control signal.

    `Current` is the current i of a motor with inductance: with dynprm (tau, K, R, limit of di/dt or 0),
    di/dt = ((control - K speed) / R - i) / tau.

    `Pid` and `PidDiscrete` are position controllers with dynprm (kp, ki, kd, slewmax, imax); slewmax and imax
    below 0 are none. The setpoint s follows the control by at most slewmax a second, and the integral I adds
    up s - length. Their force takes the place of gain * input, to which the bias is added:

    - `Pid`: kp s + ki I, with activations s (with slewmax), I (with ki). Beyond imax the integral grows no
      further. Restoring terms belong into the bias.
    - `PidDiscrete`: kp (s - length) + ki I' - kd speed with I' the integral at the end of the step, within
      -imax to imax. Activations are I (with ki), s and whether there is one (with slewmax): the first step
      takes the control as the setpoint. Implicit steps take this force as given at their start.

    `Motor` is an electric motor with dynprm (tau, K, R, limit of di/dt, RT, C, alpha, Ta, T0) and gainprm (A,
    N, phase, s0, s1, Fc, Fs, vs). Its force takes the place of gain * input: K times the current, within
    forcerange, plus cogging A sin(N length + phase), minus friction s0 z + s1 z'. Its activations:

    - T (with RT > 0), temperature above the ambient Ta [K]: dT/dt = (R' i^2 - T / RT) / C with the thermal
      resistance RT [K/W], the heat capacity C [J/K] and R' = R (1 + alpha (T + Ta - T0));
    - z (with s0 > 0), deflection of the bristles of dry friction: z' = speed - s0 |speed| / g z with
      g = Fc + (Fs - Fc) exp(-(speed / vs)^2), the LuGre model;
    - i (with tau > 0), the current: di/dt = ((control - K speed) / R' - i) / tau; without it the steady one.
    """

    Filter, FilterExact, Integrator, None_, Muscle = auto(), auto(), auto(), auto(), auto()
    Current, Pid, PidDiscrete, Motor = auto(), auto(), auto(), auto()


class DampingType(SceneEnum):
    """How the damping of a position actuator is given."""

    Dampratio, Kv = auto(), auto()


class GeneralParam(Struct):
    """A force that is affine in length and speed: gain * input + bias.

    Input is the activation, or the control signal when there are no dynamics. An affine gain is
    g0 + g1 length + g2 speed; an affine bias likewise.
    """

    actearly: bool = field(default=False, doc="Use the activation of the next step.")
    actrange: Range | None = field(default=None, converter=OptionalOf(RANGE), doc="Bounds of the activation.")
    bias: Choice[BiasType] = field(default=BiasType.None_, doc="Form of the bias.")
    biasprm: Array = field(default=(0.0,) * 10, converter=_PARAMETERS, doc="Parameters of the bias, (10,).")
    dynprm: Array = field(
        default=(1.0,) + (0.0,) * 9,
        converter=_PARAMETERS,
        doc="Parameters of the dynamics, (10,); the first is the time constant of a filter, s.",
    )
    dyntype: Choice[DynType] = field(default=DynType.None_, doc="Dynamics of the activation.")
    gain: Choice[GainType] = field(default=GainType.Fixed, doc="Form of the gain.")
    gainprm: Array = field(
        default=(1.0,) + (0.0,) * 9, converter=_PARAMETERS, doc="Parameters of the gain, (10,)."
    )
    damping_ratio: float | None = optional(
        NON_NEGATIVE, "Damping of a servo as a ratio of the critical one; sets the third bias parameter."
    )


class PositionParam(Struct):
    """A spring toward the control signal: force = kp (control - length) - kv speed."""

    damping_type: Choice[DampingType] = field(
        default=DampingType.Kv, doc="Whether `damping_value` is kv itself or a ratio of the critical one."
    )
    damping_value: float = value(NON_NEGATIVE, 0.0, "kv, N s/m or N m s/rad, or a damping ratio.")
    kp: float = field(default=0.0, doc="Stiffness, N/m or N m/rad.")
    timeconst: float = value(NON_NEGATIVE, 0.0, "Filter on the control signal, s; 0 is none.")


class ActuatorType(Variant):
    """How the force comes from the control signal."""

    general = case(Nested(GeneralParam), "Any affine law, with or without dynamics.")
    motor = case(None, "Force equals the control signal.")
    position = case(Nested(PositionParam), "A servo of position.")
    velocity = case(REAL, "A servo of speed: force = kv (control - speed), N s/m or N m s/rad.")
    adhesion = case(REAL, "Pulls the target link into whatever it touches, N for each unit of control.")


def activation_count(actuator: Actuator) -> int:
    """How many activations an actuator has."""
    kind = actuator.actuator_type
    if kind.variant == "position":
        return int(kind.value.timeconst > 0.0)
    if kind.variant != "general":
        return 0
    law = kind.value
    if law.dyntype in (DynType.Pid, DynType.PidDiscrete):
        _, integral_gain, _, slewmax, _ = law.dynprm[:5]
        return int(integral_gain != 0.0) + int(slewmax >= 0.0) + int(has_start(actuator))
    if law.dyntype is DynType.Motor:
        return sum(int(number > 0.0) for number in (law.dynprm[0], law.dynprm[4], law.gainprm[3]))
    return int(law.dyntype is not DynType.None_)


def has_start(actuator: Actuator) -> bool:
    """Whether the last activation of an actuator says that its setpoint is known."""
    kind = actuator.actuator_type
    return (
        kind.variant == "general"
        and kind.value.dyntype is DynType.PidDiscrete
        and kind.value.dynprm[3] >= 0.0
    )


class ActuatorTarget(Variant):
    """What an actuator acts on; the last three are Worldline's."""

    floating_base = case(
        Ref("joint", "link"), "The six directions of a free joint, named by the joint or by its link."
    )
    joint = case(Ref("joint"), "The coordinates of a joint.")
    tendon = case(Ref("tendon"), "The length of a tendon.")
    link = case(Ref("link"), "The contacts of a link, for adhesion.")
    joint_in_parent = case(Ref("joint"), "A ball or free joint, with the gear in axes of the parent link.")

    @case(Named(("ref_site",), site=Ref("site"), ref_site=Ref("site")))
    @staticmethod
    def site(site: str, ref_site: str | None = None) -> ActuatorTarget:
        """A force and torque at a site, in its own axes or against another site."""
        return ActuatorTarget._make("site", **locals())

    @case(Named(crank_site=Ref("site"), slider_site=Ref("site"), crank_length=NON_NEGATIVE))
    @staticmethod
    def slider_crank(crank_site: str, slider_site: str, crank_length: float) -> ActuatorTarget:
        """A rod of the given length, m, from a pin on a crank to a slider along its site's z axis."""
        return ActuatorTarget._make("slider_crank", **locals())


class Actuator(Struct):
    """An actuator; the order of actuators is the order of the control vector.

    Example:
        >>> drive = ActuatorType.position(PositionParam(kp=100.0, damping_value=5.0))
        >>> Actuator(name="servo", target=ActuatorTarget.joint("elbow"), actuator_type=drive).name
        'servo'
    """

    actuator_type: ActuatorType = part(ActuatorType.motor, "How the force comes about.")
    ctrlrange: Range | None = field(
        default=None, converter=OptionalOf(RANGE), doc="Bounds of the control signal."
    )
    forcerange: Range | None = field(
        default=None, converter=OptionalOf(RANGE), doc="Bounds of the force, N or N m."
    )
    gear: list[float] = field(
        default=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        converter=Numbers(6),
        doc="From the actuator's scalar force to the target's directions.",
    )
    name: str | None = optional(Name("actuator"), "Name.")
    target: ActuatorTarget = field(default_factory=lambda: ActuatorTarget.joint(""), doc="What it acts on.")
    length_range: Range | None = field(
        default=None, converter=OptionalOf(RANGE), doc="Range of the length, m, for muscles."
    )
    group: int = value(INTEGER, 0, "Group, to switch actuators off together.")
