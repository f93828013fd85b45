# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Actuators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from worldline._src.scene import actuators
from worldline._src.scene.formats.markup import child, numbers
from worldline._src.scene.formats.mjcf.multi import PID_PLUGIN
from worldline._src.scene.formats.mjcf.writing import Column, Words, Writing

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_GAINS: Final = {
    actuators.GainType.Fixed: "fixed",
    actuators.GainType.Affine: "affine",
    actuators.GainType.Muscle: "muscle",
}
_BIASES: Final = {
    actuators.BiasType.None_: "none",
    actuators.BiasType.Affine: "affine",
    actuators.BiasType.Muscle: "muscle",
}
_DYNAMICS: Final = {
    actuators.DynType.None_: "none",
    actuators.DynType.Integrator: "integrator",
    actuators.DynType.Filter: "filter",
    actuators.DynType.FilterExact: "filterexact",
    actuators.DynType.Muscle: "muscle",
}
_CONTROLLERS: Final = {
    actuators.DynType.Current: "dcmotor",
    actuators.DynType.Motor: "dcmotor",
    actuators.DynType.Pid: "pid",
    actuators.DynType.PidDiscrete: "plugin",
}
_ZEROS: Final = (0.0,) * 10
_ONE: Final = (1.0,) + (0.0,) * 9
_GEAR: Final = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def write_actuators(writing: Writing) -> None:
    """The `actuator` section."""
    for index, actuator in enumerate(writing.world.actuators):
        path = f"$.actuators[{index}]"
        words = Words()
        words.text("name", actuator.name)
        if not _write_target(writing, words, actuator, path):
            _drop(writing, actuator)
            continue
        if not _fits(writing, actuator, path):
            _drop(writing, actuator)
            continue
        tag = _write_law(writing, words, actuator, path)
        writing.range(words, "ctrlrange", actuator.ctrlrange, f"{path}.ctrlrange")
        if tag == "adhesion":
            _write_adhesion_range(writing, words, actuator, path)
        writing.range(words, "forcerange", actuator.forcerange, f"{path}.forcerange")
        length = actuator.length_range
        if length is not None and -math.inf < length.lower < length.upper < math.inf:
            words["lengthrange"] = numbers((length.lower, length.upper))
        elif length is not None:
            writing.lost(f"{path}.length_range", "a range of lengths has two different finite ends")
        writing.whole(words, "group", actuator.group, 0, f"{path}.group")
        if tag == "dcmotor":
            _write_saturation(writing, words, actuator, path)
        made = child(writing.section("actuator"), tag, words)
        if tag == "plugin":
            _write_configuration(writing, made, actuator)


def _drop(writing: Writing, actuator: actuators.Actuator) -> None:
    if actuator.name is not None:
        writing.gone.add(("actuator", actuator.name))
    writing.absent.add(id(actuator))


# what it acts on


def _fits(writing: Writing, actuator: actuators.Actuator, path: str) -> bool:
    """Whether the format has such a law for such a target: adhesion acts on bodies, and little else does."""
    law, target = actuator.actuator_type.variant, actuator.target.variant
    if law == "adhesion" and target != "link":
        writing.lost(path, "adhesion acts on bodies only")
        return False
    if target == "link" and law not in ("adhesion", "general"):
        writing.lost(path, f"an actuator of the kind {law} does not act on bodies")
        return False
    return True


def _write_target(writing: Writing, words: Words, actuator: actuators.Actuator, path: str) -> bool:
    """The target and the gear; False when the file does not have the target."""
    kind, value = actuator.target.variant, actuator.target.value
    gear = list(actuator.gear)
    if kind == "site":
        words["site"] = value["site"]
        words.text("refsite", value["ref_site"])
    elif kind == "slider_crank":
        words["cranksite"], words["slidersite"] = value["crank_site"], value["slider_site"]
        words.real("cranklength", value["crank_length"])
        if not value["crank_length"] > 0.0:
            writing.changed(f"{path}.target.SliderCrank.crank_length", "MuJoCo refuses a rod without length")
    elif kind == "tendon":
        if ("tendon", value) in writing.gone:
            writing.lost(path, f"the tendon {value!r:.80} is not in the file")
            return False
        words["tendon"] = value
    elif kind == "link":
        words["body"] = value
    else:
        column = _joint(writing, actuator, path)
        if column is None:
            return False
        is_turning = column.kind in ("ball", "free")
        in_parent = kind == "joint_in_parent" and is_turning
        words["jointinparent" if in_parent else "joint"] = column.name or ""
        if kind == "joint_in_parent" and not is_turning:
            writing.reworded(f"{path}.target", "the axis of such a joint is the same in its parent")
        elif column.kind == "free" and kind == "joint":
            writing.reworded(f"{path}.target", "a reader recognizes the free base")
        gear = _gear_of(actuator, column)
    words.reals("gear", gear, _GEAR, short=True)
    return True


def _joint(writing: Writing, actuator: actuators.Actuator, path: str) -> Column | None:
    """The joint of the file that an actuator acts on."""
    kind, name = actuator.target.variant, actuator.target.value
    if kind == "floating_base" and name in writing.bases:
        if name not in writing.joints:
            writing.reworded(f"{path}.target", "it is written by the name of the joint")
        return Column(writing.bases[name], "free", 0, 0)
    columns = writing.joints.get(name, [])
    if not columns:
        writing.lost(path, f"the joint {name!r:.80} is not in the file")
        return None
    if len(columns) == 1:
        return columns[0]
    used = [k for k, factor in enumerate(actuator.gear) if factor]
    reached = [c for c in columns if any(c.v_index <= k < c.v_index + c.sizes[1] for k in used)]
    if len(reached) != 1:
        writing.lost(path, f"the joint {name!r:.80} has several axes, and the actuator acts on more than one")
        return None
    writing.reworded(f"{path}.target", f"it is written for the one axis it acts on, {reached[0].name!r:.80}")
    return reached[0]


def _gear_of(actuator: actuators.Actuator, column: Column) -> list[float]:
    """The part of a gear that acts on one joint of the file."""
    if not column.v_index and column.turn is None:
        return list(actuator.gear)
    part = list(actuator.gear[column.v_index : column.v_index + column.sizes[1]])
    if column.turn is not None:
        part = column.turn.turn(np.array(part)).tolist()
    return [*part, *_GEAR[len(part) :]]


# how the force comes about


def _write_law(writing: Writing, words: Words, actuator: actuators.Actuator, path: str) -> str:
    """The parameters of the law; returns the tag of the actuator."""
    kind, value = actuator.actuator_type.variant, actuator.actuator_type.value
    here = f"{path}.actuator_type"
    if kind == "position":
        _write_servo(writing, words, value, here)
    elif kind == "velocity":
        words.real("kv", value, 1.0)
    elif kind == "adhesion":
        if value < 0.0:
            writing.changed(here, "MuJoCo refuses adhesion that pushes away")
        words.real("gain", value, 1.0)
    elif kind == "general" and value.dyntype in _CONTROLLERS:
        return _write_controller(writing, words, actuator, f"{here}.General")
    elif kind == "general":
        _write_general(writing, words, value, f"{here}.General")
    return kind


def _write_controller(writing: Writing, words: Words, actuator: actuators.Actuator, path: str) -> str:
    """Motors that follow their current and controllers with states; returns the tag of the actuator."""
    law = actuator.actuator_type.value
    tag = _CONTROLLERS[law.dyntype]
    given = law.dynprm.tolist()
    bias = law.biasprm.tolist() if law.bias is actuators.BiasType.Affine else [0.0] * 10
    if law.actrange is not None or law.bias is actuators.BiasType.Muscle:
        writing.changed(path, f"an actuator {tag} has no range of activation and no muscle")
    if law.dyntype is actuators.DynType.Current:
        if (
            not law.actearly
            or law.gain is not actuators.GainType.Fixed
            or law.gainprm[0] != given[1]
            or any(bias)
        ):
            writing.changed(path, "the force of a dcmotor is its motor constant times the next current")
        words.real("motorconst", given[1])
        words.real("resistance", given[2])
        words.reals("inductance", [0.0, given[0]])
        return tag
    if law.dyntype is actuators.DynType.Motor:
        if not law.actearly or any(bias):
            writing.changed(path, "the force of a dcmotor follows its next current and has no bias")
        time, constant, resistance, _, heat_resistance, capacity, alpha, ambient, reference = given[:9]
        words.real("motorconst", constant)
        words.real("resistance", resistance)
        words.reals("inductance", [0.0, time], (0.0, 0.0))
        words.reals("cogging", law.gainprm[:3].tolist(), (0.0, 0.0, 0.0))
        words.reals("lugre", law.gainprm[3:8].tolist(), (0.0,) * 5)
        if heat_resistance > 0.0:
            words.reals("thermal", [heat_resistance, capacity, 0.0, alpha, reference, ambient])
        return tag
    stiffness, integral, _, slewmax, imax = given[:5]
    if law.dyntype is actuators.DynType.PidDiscrete:
        words["plugin"] = PID_PLUGIN
        words.whole("actdim", actuators.activation_count(actuator) - actuators.has_start(actuator))
        if any(bias):
            writing.changed(f"{path}.biasprm", f"{PID_PLUGIN} has no bias")
        return tag
    if bias[0] or bias[1] != -stiffness or 0.0 in (slewmax, imax):
        writing.changed(path, "a pid restores by its own kp, and 0 is no bound")
    words.real("kp", stiffness, 1.0)
    if law.damping_ratio:
        words.real("dampratio", law.damping_ratio)
        if law.gainprm[0] != stiffness or bias[2]:
            writing.changed(path, "the damping ratio of a pid is that of its kp, and leaves no other damping")
    else:
        words.real("kv", -bias[2], 0.0)
    words.real("ki", integral, 0.0)
    words.real("slewmax", max(slewmax, 0.0), 0.0)
    words.real("imax", max(imax, 0.0), 0.0)
    words["input"] = "pos"
    return tag


def _write_saturation(writing: Writing, words: Words, actuator: actuators.Actuator, path: str) -> None:
    """Bounds of a motor: its torque, in place of a range of force, and the rate of its current."""
    words.pop("forcerange", None)
    limits, rate = actuator.forcerange, float(actuator.actuator_type.value.dynprm[3])
    torque = 0.0 if limits is None or not limits.is_bounded else limits.upper
    if limits is not None and (limits.lower != -limits.upper or not limits.upper > 0.0):
        writing.changed(f"{path}.forcerange", "the torque of a dcmotor has one bound for both directions")
        torque = max(torque, 0.0)
    words.reals("saturation", [torque, 0.0, rate], (0.0, 0.0, 0.0))


def _write_configuration(writing: Writing, made: Element, actuator: actuators.Actuator) -> None:
    """The `config` elements of a controller, and the plugin at the top of the file."""
    stiffness, integral, damping, slewmax, imax = actuator.actuator_type.value.dynprm[:5].tolist()
    gains = {"kp": stiffness, "ki": integral, "kd": damping}
    if slewmax >= 0.0:
        gains["slewmax"] = slewmax
    if imax >= 0.0 and integral:
        gains["imax"] = imax * integral
    for key, value in gains.items():
        child(made, "config", {"key": key, "value": numbers((value,))})
    extensions = writing.section("extension")
    if not len(extensions):
        child(extensions, "plugin", {"plugin": PID_PLUGIN})


def _write_servo(writing: Writing, words: Words, servo: actuators.PositionParam, path: str) -> None:
    words.real("kp", servo.kp, 1.0)
    if servo.damping_type is actuators.DampingType.Dampratio:
        if servo.damping_value:
            words.real("dampratio", servo.damping_value)
        else:
            writing.reworded(f"{path}.Position.damping_type", "a damping ratio of 0 is no damping")
    else:
        words.real("kv", servo.damping_value, 0.0)
    words.real("timeconst", servo.timeconst, 0.0)


def _write_general(writing: Writing, words: Words, law: actuators.GeneralParam, path: str) -> None:
    words.word("gaintype", law.gain, _GAINS, actuators.GainType.Fixed)
    words.word("biastype", law.bias, _BIASES, actuators.BiasType.None_)
    words.word("dyntype", law.dyntype, _DYNAMICS, actuators.DynType.None_)
    words.reals("gainprm", law.gainprm, _ONE, short=True)
    bias = law.biasprm.tolist()
    servo = law.bias is actuators.BiasType.Affine and law.gainprm[0] == -law.biasprm[1]
    if law.damping_ratio is not None:
        if servo and law.damping_ratio > 0.0:
            if bias[2]:
                writing.changed(f"{path}.biasprm", "the damping ratio takes the place of the third number")
            bias[2] = law.damping_ratio
        elif law.damping_ratio == 0.0 and servo:
            writing.reworded(f"{path}.damping_ratio", "a damping ratio of 0 is no damping")
        else:
            writing.lost(f"{path}.damping_ratio", "only a servo of position has a damping ratio")
    elif servo and bias[2] > 0.0:
        writing.changed(f"{path}.biasprm", "a servo's positive third number is a damping ratio in a file")
    words.reals("biasprm", bias, _ZEROS, short=True)
    words.reals("dynprm", law.dynprm, _ONE, short=True)
    if law.dyntype is actuators.DynType.None_:
        if law.actrange is not None:
            writing.reworded(f"{path}.actrange", "there is no activation to bound")
    else:
        writing.range(words, "actrange", law.actrange, f"{path}.actrange")
    words.flag("actearly", law.actearly, False)


def _write_adhesion_range(writing: Writing, words: Words, actuator: actuators.Actuator, path: str) -> None:
    limits = actuator.ctrlrange
    if limits is None or not limits.is_bounded:
        writing.changed(f"{path}.ctrlrange", "adhesion needs a range of control; it is 0 to 1000")
        words["ctrlrange"] = "0 1000"
    elif limits.lower < 0.0:
        writing.changed(f"{path}.ctrlrange", "adhesion has no control below 0")
        words["ctrlrange"] = numbers((0.0, max(limits.upper, 1.0)))
