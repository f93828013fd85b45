# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Actuator laws: gain, bias and dynamics.

The format has one kind of actuator, `general`, and shortcuts that fill in its parameters. A default class
has one set of parameters for all of them. A `general` starts from whatever its class holds. A shortcut
starts from the nearest class whose parameters were written by the same shortcut, or by a `general` of the
same kind of gain; it then sets what its own attributes say and resets the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from worldline._src.scene.formats.xml import Attributes, Element, Log

_COUNT: Final = 10
_ZEROS: Final = (0.0,) * _COUNT
_GAINS: Final = {w: w for w in ("fixed", "affine", "muscle", "dcmotor", "pid", "so3", "user")}
_BIASES: Final = {w: w for w in ("none", "affine", "muscle", "dcmotor", "so3", "user")}
_DYNAMICS: Final = {
    w: w for w in ("none", "integrator", "filter", "filterexact", "pid", "dcmotor", "muscle", "user")
}
MUSCLE: Final = (0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2)
GAIN_OF: Final = {
    "motor": "fixed",
    "position": "fixed",
    "velocity": "fixed",
    "intvelocity": "fixed",
    "damper": "affine",
    "cylinder": "fixed",
    "muscle": "muscle",
    "adhesion": "fixed",
    "pid": "pid",
    "orientation": "so3",
    "dcmotor": "dcmotor",
}


def _parameters(*values: float) -> list[float]:
    return [*values, *_ZEROS[len(values) :]]


@dataclass
class Law:
    """Gain, bias and dynamics of an actuator, as the format has them.

    A positive third bias parameter of a servo, whose gain is the opposite of its second one, is a damping
    ratio.

    Attributes:
        writer: The tag that wrote the parameters.
    """

    gain: str = "fixed"
    bias: str = "none"
    dynamics: str = "none"
    gainprm: list[float] = field(default_factory=lambda: _parameters(1.0))
    biasprm: list[float] = field(default_factory=_parameters)
    dynprm: list[float] = field(default_factory=lambda: _parameters(1.0))
    writer: str = "general"
    touched: bool = False

    def copy(self) -> Law:
        """The same parameters, independent of these."""
        parameters = list(self.gainprm), list(self.biasprm), list(self.dynprm)
        return Law(self.gain, self.bias, self.dynamics, *parameters, self.writer, self.touched)

    @property
    def is_servo(self) -> bool:
        """Whether it drives a length toward its input."""
        servo = self.gain == "fixed" and self.gainprm[0] == -self.biasprm[1]
        return self.gain == "pid" or (self.bias == "affine" and servo)


def read_law(element: Element, classes: Sequence[Sequence[Element]], log: Log) -> Law:
    """The law of an actuator.

    Args:
        element: The actuator.
        classes: For each default class from the top down to its own, the actuator elements in it.
        log: Where problems go.
    """
    states = [Law()]
    for elements in classes:
        law = states[-1].copy()
        for layer in elements:
            law = _applied(layer, _base(layer.tag, [*states, law]), law, log)
        states.append(law)
    return _applied(element, _base(element.tag, states), states[-1], log)


def _base(tag: str, states: Sequence[Law]) -> Law | None:
    """The parameters that a shortcut takes over, None for none."""
    for law in reversed(states):
        if law.touched and (law.writer == tag or (law.writer == "general" and law.gain == GAIN_OF.get(tag))):
            return law
    return None


def _applied(element: Element, base: Law | None, current: Law, log: Log) -> Law:
    """The law after one more element."""
    a = Attributes(element, log)
    tag = element.tag
    if tag in ("general", "plugin"):
        return _general(a, current)
    law = Law(writer=tag, touched=True)
    old = base or law
    reader = {
        "motor": _motor,
        "position": _servo,
        "intvelocity": _servo,
        "velocity": _velocity,
        "damper": _damper,
        "cylinder": _cylinder,
        "muscle": _muscle,
        "adhesion": _adhesion,
    }.get(tag)
    if reader is None:
        law.gain = law.bias = GAIN_OF.get(tag, "fixed")
        return law
    reader(a, law, old, base is not None)
    return law


def _general(a: Attributes, current: Law) -> Law:
    law = current.copy()
    law.touched = True
    law.writer = "general"
    law.gain = a.choice("gaintype", _GAINS, law.gain)
    law.bias = a.choice("biastype", _BIASES, law.bias)
    law.dynamics = a.choice("dyntype", _DYNAMICS, law.dynamics)
    for name in ("gainprm", "biasprm", "dynprm"):
        values = a.reals(name, 1, _COUNT, default=getattr(law, name))
        setattr(law, name, values or getattr(law, name))
    return law


def _motor(a: Attributes, law: Law, old: Law, inherits: bool) -> None:
    """Force equals the input; nothing is taken over."""


def _servo(a: Attributes, law: Law, old: Law, inherits: bool) -> None:
    """A spring toward the input, or toward its integral."""
    integrating = a.element.tag == "intvelocity"
    stiffness = a.real("kp", old.gainprm[0])
    damping, ratio = a.real("kv", None), a.real("dampratio", None)
    third = old.biasprm[2]
    if damping is not None and ratio is not None and damping and ratio:
        a.log.problem(a.element, "given both 'kv' and 'dampratio'; allowed: one of both")
    if damping is not None:
        if damping < 0.0:
            a.reject("kv", f"given {damping:g}; allowed: a number >= 0")
        third = -damping
    if ratio is not None and (damping is None or ratio):
        if ratio < 0.0:
            a.reject("dampratio", f"given {ratio:g}; allowed: a number >= 0")
        third = ratio
    law.bias = "affine"
    law.gainprm = _parameters(stiffness)
    law.biasprm = _parameters(0.0, -stiffness, third)
    if integrating:
        law.dynamics = "integrator"
        return
    filtered = inherits and old.dynamics == "filterexact"
    time = a.real("timeconst", old.dynprm[0] if filtered else 0.0)
    if time < 0.0:
        a.reject("timeconst", f"given {time:g}; allowed: a time >= 0")
    if time > 0.0:
        law.dynamics = "filterexact"
        law.dynprm = _parameters(time)


def _velocity(a: Attributes, law: Law, old: Law, inherits: bool) -> None:
    gain = a.real("kv", old.gainprm[0])
    law.bias = "affine"
    law.gainprm = _parameters(gain)
    law.biasprm = _parameters(0.0, 0.0, -gain)


def _damper(a: Attributes, law: Law, old: Law, inherits: bool) -> None:
    # documented as 1 where it is not given, and 0 in what is compiled
    gain = a.real("kv", -old.gainprm[2])
    if gain < 0.0:
        a.reject("kv", f"given {gain:g}; allowed: a number >= 0")
    law.gain = "affine"
    law.gainprm = _parameters(0.0, 0.0, -gain)


def _cylinder(a: Attributes, law: Law, old: Law, inherits: bool) -> None:
    law.bias, law.dynamics = "affine", "filter"
    area = a.real("area", old.gainprm[0])
    diameter = a.real("diameter", None)
    if diameter is not None and diameter > 0.0:
        area = 0.25 * math.pi * diameter * diameter
    law.gainprm = _parameters(area)
    bias = a.reals("bias", 3, default=old.biasprm[:3]) or old.biasprm[:3]
    law.biasprm = _parameters(*bias)
    law.dynprm = _parameters(a.real("timeconst", old.dynprm[0]))


def _muscle(a: Attributes, law: Law, old: Law, inherits: bool) -> None:
    law.gain = law.bias = law.dynamics = "muscle"
    values = list(old.gainprm[: len(MUSCLE)]) if inherits else list(MUSCLE)
    times = list(old.dynprm[:3]) if inherits else [0.01, 0.04, 0.0]
    values[:2] = a.reals("range", 2, default=values[:2]) or values[:2]
    for index, name in enumerate(("force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"), start=2):
        values[index] = a.real(name, values[index])
    times[:2] = a.reals("timeconst", 1, 2, default=times[:2]) or times[:2]
    times[2] = a.real("tausmooth", times[2])
    law.gainprm = _parameters(*values)
    law.biasprm = _parameters(*values)
    law.dynprm = _parameters(*times)


def _adhesion(a: Attributes, law: Law, old: Law, inherits: bool) -> None:
    gain = a.real("gain", old.gainprm[0])
    if gain < 0.0:
        a.reject("gain", f"given {gain:g}; allowed: a number >= 0")
    law.gainprm = _parameters(gain)
