# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Joints, and what makes a body free."""

from __future__ import annotations

from typing import Any, Final

from worldline._src.scene.contact import ConstraintForceModel
from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.mjcf.geoms import read_group
from worldline._src.scene.formats.mjcf.orientation import HERE, Placement, turn, unit
from worldline._src.scene.formats.mjcf.scopes import Scope
from worldline._src.scene.formats.mjcf.solver import read_friction, read_spring
from worldline._src.scene.formats.xml import Attributes, number
from worldline._src.scene.joints import FreeJoint, Joint, JointType
from worldline._src.scene.values import FrequencyDampingRatio, SpringDampCoeff, SpringDamper, StiffnessDamping

TYPES: Final = {
    "hinge": JointType.Revolute,
    "slide": JointType.Slide,
    "ball": JointType.Ball,
    "free": JointType.Free,
}
# looking up a member of an enumeration takes Python ten times as long as looking up a name
_HINGE, _SLIDE, _BALL = JointType.Revolute, JointType.Slide, JointType.Ball
_PLACED: Final = frozenset(("name", "class", "type", "pos", "axis", "range", "limited", "ref"))
_IGNORED: Final = {
    "user": "the numbers of a user's own have no place at single objects of a scene",
    "springyield": "springs that give way for good are not modelled",
}


def joint_type(a: Attributes) -> JointType:
    """What kind of joint an element makes."""
    if a.element.tag == "freejoint":
        return JointType.Free
    return a.choice("type", TYPES, _HINGE)


def read_linear(a: Attributes, name: str) -> float:
    """The linear coefficient of a spring or damper; the others are noted."""
    if name not in a:
        return 0.0
    numbers = list(map(number, a.all_texts(name)))
    linear = numbers[-1]
    if linear is not None and linear >= 0.0 and None not in numbers:
        # nearly always it stands alone
        a.mark(name)
        return linear
    coefficients = a.reals(name, 1, 3, default=(0.0, 0.0, 0.0)) or [0.0, 0.0, 0.0]
    if any(coefficients[1:]):
        message = f"attribute '{name}': only the linear coefficient of the polynomial is kept"
        a.log.approximated(a.holder(name), message)
    if coefficients[0] < 0.0 and name == "damping":
        message = f"attribute 'damping': {coefficients[0]:g} would add energy; the joint has no damping"
        a.log.approximated(a.holder(name), message)
        return 0.0
    if coefficients[0] < 0.0:
        a.reject(name, f"given {coefficients[0]:g}; allowed: a coefficient >= 0")
        return 0.0
    return coefficients[0]


def _non_negative(a: Attributes, name: str) -> float:
    value = a.real(name, 0.0)
    if value < 0.0:
        a.reject(name, f"given {value:g}; allowed: a number >= 0")
        return 0.0
    return value


def read_joint(reading: Reading, a: Attributes, kind: JointType, scope: Scope, frame: Placement) -> Joint:
    """A hinge, slide or ball joint, seen from its link."""
    parts: dict[str, Any] = {}
    for read in _READERS:
        parts |= read(reading, a, scope, kind)
    reading.note_others(a, _KNOWN, _IGNORED)
    angle = _angle(kind, scope)
    limit = reading.limits_of(a, "limited", "range", scope, angle)
    position = a.reals("pos", 3, default=(0.0, 0.0, 0.0)) or (0.0, 0.0, 0.0)
    axis = a.reals("axis", 3, default=(0.0, 0.0, 1.0)) or (0.0, 0.0, 1.0)
    ref = a.real("ref", 0.0)
    direction: tuple[float, ...] | None = (0.0, 0.0, 0.0)
    if kind is _BALL:
        # its axis and its references mean nothing, and only the upper end of its range counts
        ref = 0.0
        if limit is not None and limit.lower != 0.0:
            a.reject(
                "range", "given a lower end other than 0; allowed: 0 and the largest angle of a ball joint"
            )
    else:
        direction = unit(axis)
        if direction is None:
            a.reject("axis", "given a zero axis; allowed: a direction")
            direction = (0.0, 0.0, 1.0)
    if frame is not HERE:
        position, direction = frame.apply(position), turn(frame.rotation, direction)
    own: dict[str, Any] = {
        "name": reading.names.own(scope, a.element, "joint"),
        "type_": kind,
        "pos": position,
        "axis": direction,
        "ref_": ref * angle,
    }
    if limit is not None:
        own["pos_limit"] = limit
    return Joint(**parts, **own)


def _angle(kind: JointType, scope: Scope) -> float:
    """What a number of the file is in radians; the length of a slide joint is no angle."""
    return 1.0 if kind is _SLIDE else scope.compiler.angle


def _read_numbers(reading: Reading, a: Attributes, scope: Scope, kind: JointType) -> dict[str, Any]:
    force = reading.limits_of(a, "actuatorfrclimited", "actuatorfrcrange", scope)
    return {
        "armature": _non_negative(a, "armature"),
        "friction_loss": _non_negative(a, "frictionloss"),
        "margin": a.real("margin", 0.0),
        "group": read_group(a),
        "actuator_gravcomp": a.flag("actuatorgravcomp", False),
        # a ball joint has no direction to be forced in
        "actuator_force_limit": None if kind is _BALL else force,
    }


def _read_softness(reading: Reading, a: Attributes, scope: Scope, kind: JointType) -> dict[str, Any]:
    spring = read_spring(a, "solreflimit", "solimplimit")
    return {
        "friction_damping": read_friction(a),
        "limit_force": ConstraintForceModel._of("impedance", spring),
    }


def _read_spring_damper(reading: Reading, a: Attributes, scope: Scope, kind: JointType) -> dict[str, Any]:
    stiffness, damping = read_linear(a, "stiffness"), read_linear(a, "damping")
    rest = a.real("springref", 0.0) * _angle(kind, scope)
    if kind is _BALL:
        # nor has it a single coordinate to rest at
        rest = 0.0
    times = a.reals("springdamper", 2, default=(0.0, 0.0)) or (0.0, 0.0)
    if min(times) > 0.0:
        # a time constant t and a ratio z for the inertia of the drawn pose: w = 1 / (t z)
        t, z = times
        frequency = SpringDampCoeff.frequency_damping_ratio(FrequencyDampingRatio(w=1.0 / (t * z), z=z))
        return {"spring_damper": SpringDamper(coeff=frequency, target_pos=rest)}
    if stiffness or damping or rest:
        # a rest position without a spring still is where springs of tendons are at rest
        linear = SpringDampCoeff._of("stiffness_damping", StiffnessDamping(k=stiffness, d=damping))
        return {"spring_damper": SpringDamper(coeff=linear, target_pos=rest)}
    return {"spring_damper": None}


_READERS: Final = (_read_numbers, _read_softness, _read_spring_damper)
_KNOWN: Final = _PLACED.union(
    "armature frictionloss margin group actuatorgravcomp actuatorfrclimited actuatorfrcrange".split(),
    "solreflimit solimplimit solreffriction solimpfriction".split(),
    "stiffness damping springref springdamper".split(),
)


def read_free(reading: Reading, a: Attributes, scope: Scope) -> FreeJoint:
    """What makes the base of a body free."""
    element = a.element
    name = reading.names.own(scope, element, "joint")
    if element.tag == "freejoint":
        # takes nothing from the default classes
        a = Attributes(element, reading.log)
        a.mark("name")
        _note_alignment(a, scope, a.choice("align", {"true": True, "false": False, "auto": None}, None))
        reading.finish(a)
        return FreeJoint(name=name, friction_damping=read_friction(a))
    # it has no place, no axis, no limits and no references
    a.mark("type", "pos", "axis", "group", "limited", "range", "actuatorfrclimited", "actuatorfrcrange")
    a.mark("ref", "springref", "margin", "solreflimit", "solimplimit", "actuatorgravcomp", "springyield")
    _note_alignment(a, scope, None)
    free = FreeJoint(
        name=name,
        armature=_non_negative(a, "armature"),
        friction_loss=_non_negative(a, "frictionloss"),
        damping=read_linear(a, "damping"),
        stiffness=read_linear(a, "stiffness"),
        friction_damping=read_friction(a),
    )
    times = a.reals("springdamper", 2, default=(0.0, 0.0)) or (0.0, 0.0)
    if min(times) > 0.0:
        reading.log.left_out(
            a.holder("springdamper"), "attribute 'springdamper': a free joint has no such spring"
        )
    reading.finish(a, _IGNORED)
    return free


def _note_alignment(a: Attributes, scope: Scope, align: bool | None) -> None:
    if scope.compiler.alignfree if align is None else align:
        name = "align" if align else "alignfree"
        message = f"attribute '{name}': the frame of the body stays where it is drawn, not at its inertia"
        a.log.approximated(a.element, message)
