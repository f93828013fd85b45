# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Actuators with internal dynamics: several inputs, PID controllers, DC motors.

A scene's actuators have one input. A controller of position and speed is the sum of one of each, with the
integral and the slew rate of the position, and a motor is affine in voltage and speed or has states: current,
temperature, friction. All come through exactly. What else there is is approximated or left out, and noted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from worldline._src.scene import actuators
from worldline._src.scene.base import clone
from worldline._src.scene.formats.xml import Attributes, Element, Log
from worldline._src.scene.values import Range

Made = tuple[list[actuators.Actuator], int, int]


PID_PLUGIN: Final = "mujoco.pid"


def read_multi(
    log: Log,
    element: Element,
    classes: Sequence[Sequence[Element]],
    model: actuators.Actuator,
    extensions: Sequence[Element] = (),
) -> Made:
    """What such an actuator becomes, how many inputs it has in the file, and how many activations.

    Args:
        log: Where problems and notes go.
        element: The actuator.
        classes: For each default class from the top down to its own, the actuator elements in it.
        model: The actuator with its name, target and ranges.
        extensions: The `plugin` elements of the `extension` sections.
    """
    layers = tuple(layer for elements in classes for layer in elements if layer.tag == element.tag)
    a = Attributes(element, log, layers)
    if element.tag == "pid":
        return _read_pid(a, model)
    if element.tag == "dcmotor":
        return _read_motor(a, model)
    if element.tag == "orientation":
        log.left_out(element, "servos of three axes at once are not modelled")
        return [], 4 if a.text("input") == "quat" else 3, 0
    if element.tag == "plugin":
        name, config = _plugin(a, extensions)
        if name == PID_PLUGIN:
            return _read_pid_plugin(a, model, config)
    log.left_out(element, "actuators of plugins, of users, or with inner states are not modelled")
    return [], 1, 0


def _read_pid(a: Attributes, model: actuators.Actuator) -> Made:
    log, element = a.log, a.element
    inputs = (a.text("input") or "pos vel").split()
    if set(inputs) - {"pos", "vel", "ff"} or not inputs:
        a.reject("input", f"given {' '.join(inputs)[:40]!r}; allowed: some of pos, vel, ff")
        return [], 1, 0
    inputs = [word for word in ("pos", "vel", "ff") if word in inputs]
    stiffness, damping = a.real("kp", 1.0), a.real("kv", 0.0)
    ratio = a.real("dampratio", 0.0)
    integral, slew, most = a.real("ki", 0.0), a.real("slewmax", 0.0), a.real("imax", 0.0)
    activations = int(integral != 0.0) + int(slew != 0.0)
    if min(slew, most) < 0.0:
        log.problem(element, f"given slewmax {slew:g} and imax {most:g}; allowed: numbers >= 0")
        return [], len(inputs), activations
    remembers = activations > 0 and "pos" in inputs
    if activations and not remembers:
        log.approximated(element, "attributes 'ki' and 'slewmax' without the input 'pos' are left out")
    if len(inputs) > 1 and model.forcerange is not None:
        log.approximated(element, "attribute 'forcerange': it bounds the force of each input by itself")
    ranges = {"pos": _range(a, "posrange") or model.ctrlrange, "vel": _range(a, "velrange")}
    ranges["ff"] = _range(a, "ffrange")
    made: list[actuators.Actuator] = []
    for word in inputs:
        part = clone(model)
        part.ctrlrange = ranges[word]
        if made:
            part.name = None if model.name is None else f"{model.name}_{word}"
        if word == "pos":
            # the speed is damped once, by the servo of speed where there is one
            servo = actuators.PositionParam(kp=stiffness, damping_value=0.0 if "vel" in inputs else damping)
            if ratio:
                servo.damping_type, servo.damping_value = actuators.DampingType.Dampratio, ratio
            part.actuator_type = actuators.ActuatorType.position(servo)
            if remembers:
                restoring = [0.0, -stiffness, 0.0 if ratio else -servo.damping_value, *(0.0,) * 7]
                controller = (stiffness, integral, 0.0, slew or -1.0, most or -1.0)
                part.actuator_type = _controller(actuators.DynType.Pid, controller, restoring, ratio or None)
        elif word == "vel":
            part.actuator_type = actuators.ActuatorType.velocity(damping)
            if "pos" not in inputs and stiffness:
                part.actuator_type = _affine(damping, 0.0, -stiffness, -damping)
        else:
            part.actuator_type = actuators.ActuatorType.motor()
        made.append(part)
    if "vel" in inputs and ratio:
        log.approximated(element, "attribute 'dampratio': the servo of speed does not follow it")
    if inputs == ["ff"]:
        made[0].actuator_type = _affine(1.0, 0.0, -stiffness, -damping)
    return made, len(inputs), activations


def _plugin(a: Attributes, extensions: Sequence[Element]) -> tuple[str, dict[str, Element]]:
    """The plugin of an actuator, and the elements that configure it by key."""
    name, instance, holder = a.text("plugin") or "", a.text("instance"), a.element
    for plugin in extensions:
        for entry in plugin.all("instance"):
            if instance and entry.get("name") == instance:
                name, holder = plugin.get("plugin") or "", entry
    return name, {entry.get("key") or "": entry for entry in holder.all("config")}


def _read_pid_plugin(a: Attributes, model: actuators.Actuator, config: dict[str, Element]) -> Made:
    """A controller, stepped as the plugin does: force = kp (u - length) + ki integral - kd speed."""
    log, element = a.log, a.element
    gains = {"kp": 0.0, "ki": 0.0, "kd": 0.0, "imax": math.nan, "slewmax": math.nan}
    for key, entry in config.items():
        if key not in gains:
            log.problem(entry, f"given the key {key[:40]!r}; allowed: {', '.join(gains)}")
            continue
        if (entry.get("value") or "").strip():
            gains[key] = Attributes(entry, log).real("value", 0.0)
    dynamics = (a.text("dyntype") or "none").strip()
    if dynamics != "none":
        log.left_out(element, f"a controller behind {dynamics[:40]!r} dynamics")
        return [], 1, a.integer("actdim", 1)
    # imax bounds the force of the integral
    imax = gains["imax"] / gains["ki"] if gains["ki"] else math.nan
    if imax < 0.0 or gains["slewmax"] < 0.0:
        given = f"imax {gains['imax']:g}, ki {gains['ki']:g} and slewmax {gains['slewmax']:g}"
        log.problem(element, f"given {given}; allowed: imax of the sign of ki, slewmax >= 0")
        return [], 1, 0
    states = int(gains["ki"] != 0.0) + int(not math.isnan(gains["slewmax"]))
    dimension = max(0, a.integer("actdim", 0))
    if dimension != states:
        a.reject("actdim", f"given {dimension}; allowed: {states}, for what the configuration remembers")
        return [], 1, states
    bounds = [-1.0 if math.isnan(bound) else bound for bound in (gains["slewmax"], imax)]
    controller = (gains["kp"], gains["ki"], gains["kd"], *bounds)
    model.actuator_type = _controller(actuators.DynType.PidDiscrete, controller)
    return [model], 1, states


def _controller(
    kind: actuators.DynType,
    parameters: Sequence[float],
    restoring: Sequence[float] | None = None,
    ratio: float | None = None,
) -> actuators.ActuatorType:
    """A controller of position, see `DynType`, with an affine bias or none, and its damping ratio or none."""
    return actuators.ActuatorType.general(
        actuators.GeneralParam(
            # the damping ratio is that of a servo of this stiffness
            gainprm=[1.0 if ratio is None else parameters[0], *(0.0,) * 9],
            damping_ratio=ratio,
            bias=actuators.BiasType.None_ if restoring is None else actuators.BiasType.Affine,
            biasprm=(0.0,) * 10 if restoring is None else list(restoring),
            dyntype=kind,
            dynprm=[*parameters, *(0.0,) * 5],
        )
    )


def _affine(gain: float, constant: float, length: float, speed: float) -> actuators.ActuatorType:
    return actuators.ActuatorType.general(
        actuators.GeneralParam(
            gain=actuators.GainType.Fixed,
            bias=actuators.BiasType.Affine,
            gainprm=[gain, *(0.0,) * 9],
            biasprm=[constant, length, speed, *(0.0,) * 7],
        )
    )


def _range(a: Attributes, name: str) -> Range | None:
    ends = a.reals(name, 2)
    return Range(*ends) if ends is not None and ends[0] < ends[1] else None


def _read_motor(a: Attributes, model: actuators.Actuator) -> Made:
    """A motor of constant K and resistance R: torque = K/R voltage - K^2/R speed, or K times its current."""
    log, element = a.log, a.element
    inputs = (a.text("input") or "voltage").split()
    constants = a.reals("motorconst", 1, 2, default=(0.0, 0.0)) or [0.0, 0.0]
    resistance = a.real("resistance", 0.0)
    constant = math.sqrt(constants[0] * constants[1]) if min(constants) > 0.0 else max(constants)
    nominal = a.reals("nominal", 3, default=(0.0, 0.0, 0.0)) or [0.0, 0.0, 0.0]
    voltage, stall, speed = nominal
    if constant <= 0.0 and speed > 0.0:
        constant = voltage / speed
    if resistance <= 0.0 and stall > 0.0:
        resistance = constant * voltage / stall
    inductance = a.reals("inductance", 1, 2, default=(0.0, 0.0)) or [0.0, 0.0]
    time = inductance[0] / resistance if inductance[0] and resistance > 0.0 else inductance[1]
    cogging = a.reals("cogging", 1, 3, default=(0.0, 0.0, 0.0)) or [0.0, 0.0, 0.0]
    bristles = a.reals("lugre", 1, 5, default=(0.0,) * 5) or [0.0] * 5
    heat = _heat(a)
    activations = int(time > 0.0) + int(heat[0] > 0.0) + int(bristles[0] > 0.0)
    if any(a.reals("controller", 1, 6) or [0.0]):
        log.approximated(element, "attribute 'controller': the motor has the voltage of its control")
    if inputs != ["voltage"]:
        log.left_out(element, f"a motor driven by {' '.join(inputs)[:40]}")
        return [], 0 if inputs == ["none"] else len(inputs), activations
    if constant <= 0.0 or resistance <= 0.0:
        log.problem(
            element, "a motor constant and a resistance are required: motorconst, resistance, nominal"
        )
        return [], 1, activations
    torque, current, change = a.reals("saturation", 1, 3, default=(0.0, 0.0, 0.0)) or [0.0, 0.0, 0.0]
    most = torque or constant * current
    if most > 0.0:
        model.forcerange = Range(-most, most)
    model.actuator_type = _affine(constant / resistance, 0.0, 0.0, -constant * constant / resistance)
    change = max(0.0, change)
    if heat[0] > 0.0 or bristles[0] > 0.0 or cogging[0]:
        model.actuator_type = actuators.ActuatorType.general(
            actuators.GeneralParam(
                gainprm=[*cogging, *(bristles if bristles[0] > 0.0 else (0.0,) * 5), 0.0, 0.0],
                dyntype=actuators.DynType.Motor,
                dynprm=[time, constant, resistance, change, *heat, 0.0],
                actearly=True,
            )
        )
    elif time > 0.0:
        # di/dt = ((V - K speed) / R - i) / time; the torque is that of the current at the end of the step
        model.actuator_type = actuators.ActuatorType.general(
            actuators.GeneralParam(
                gainprm=[constant, *(0.0,) * 9],
                dyntype=actuators.DynType.Current,
                dynprm=[time, constant, resistance, change, *(0.0,) * 6],
                actearly=True,
            )
        )
    return [model], 1, activations


def _heat(a: Attributes) -> list[float]:
    """Thermal resistance, heat capacity, alpha, ambient and reference temperature; zeros where not modelled.

    With a time constant the capacity follows from the resistance, or the resistance from the capacity.
    """
    given = a.reals("thermal", 1, 6, default=(0.0,) * 6) or [0.0] * 6
    if not any(given):
        return [0.0] * 5
    resistance, capacity, time, alpha, reference, ambient = given
    if time > 0.0 and resistance > 0.0:
        capacity = time / resistance
    elif time > 0.0 and capacity > 0.0:
        resistance = time / capacity
    if resistance <= 0.0 or capacity <= 0.0:
        found = f"given resistance {resistance:g} and capacity {capacity:g}"
        a.reject("thermal", f"{found}; allowed: numbers > 0, one of which may follow from a time constant")
        return [0.0] * 5
    return [resistance, capacity, alpha, ambient, reference]
