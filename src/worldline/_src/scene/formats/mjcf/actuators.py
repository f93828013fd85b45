# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Actuators: what they act on, their ranges, and their laws in the words of a scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from worldline._src.scene import actuators as scene_actuators
from worldline._src.scene.formats.mjcf.context import Input, Reading
from worldline._src.scene.formats.mjcf.joints import read_linear
from worldline._src.scene.formats.mjcf.laws import Law, read_law
from worldline._src.scene.formats.mjcf.multi import read_multi
from worldline._src.scene.formats.mjcf.schema import ACTUATOR_DEFAULTS, TRANSMISSIONS
from worldline._src.scene.formats.mjcf.scopes import Reference, Scope
from worldline._src.scene.formats.xml import Attributes, Element
from worldline._src.scene.joints import FreeJoint, Joint, JointType
from worldline._src.scene.tendons import JointTendon, SpatialTendon
from worldline._src.scene.values import Range, SpringDampCoeff, SpringDamper, StiffnessDamping

# looking up a member of an enumeration takes Python ten times as long as looking up a name
_BALL: Final = JointType.Ball
_SPACES: Final = {
    "joint": "joint",
    "jointinparent": "joint",
    "tendon": "tendon",
    "cranksite": "site",
    "slidersite": "site",
    "site": "site",
    "refsite": "site",
    "body": "link",
}
_NAMESPACES: Final = {name: (space,) for name, space in _SPACES.items()}
_GAINS: Final = {
    "fixed": scene_actuators.GainType.Fixed,
    "affine": scene_actuators.GainType.Affine,
    "muscle": scene_actuators.GainType.Muscle,
}
_BIASES: Final = {
    "none": scene_actuators.BiasType.None_,
    "affine": scene_actuators.BiasType.Affine,
    "muscle": scene_actuators.BiasType.Muscle,
}
_DYNAMICS: Final = {
    "none": scene_actuators.DynType.None_,
    "integrator": scene_actuators.DynType.Integrator,
    "filter": scene_actuators.DynType.Filter,
    "filterexact": scene_actuators.DynType.FilterExact,
    "muscle": scene_actuators.DynType.Muscle,
}
_COMMON: Final = frozenset(ACTUATOR_DEFAULTS["motor"].split())
# read from the element itself, or by its law
_OWN: Final = (
    frozenset(" ".join(ACTUATOR_DEFAULTS.values()).split()) - _COMMON - {"actlimited", "actrange", "actearly"}
) | {"lengthrange", *TRANSMISSIONS}
_READ: Final = _OWN.union(
    "name class cranklength ctrllimited ctrlrange forcelimited forcerange gear group".split(),
    "actlimited actrange actearly armature damping inheritrange plugin instance".split(),
)
_REFLECTED: Final = frozenset(("armature", "damping"))
_SEVERAL: Final = ("pid", "dcmotor", "so3")
_ACTIVE: Final = frozenset(("actlimited", "actrange", "actearly"))
_TARGETS: Final = frozenset(("joint", "jointinparent", "tendon", "cranksite", "site", "body"))
_IGNORED: Final = {
    "user": "the numbers of a user's own have no place at single objects of a scene",
    "delay": "actuators act at once",
    "nsample": "actuators act at once",
    "interp": "actuators act at once",
}
Target = Joint | FreeJoint | JointTendon | SpatialTendon


def references(element: Element) -> list[Reference]:
    """What an actuator acts on."""
    attributes = element.attributes
    return [
        Reference(element, name, _NAMESPACES[name], text)
        for name, text in attributes.items()
        if text and name in _NAMESPACES
    ]


def read_actuators(reading: Reading) -> None:
    """All `actuator` sections."""
    targets = _targets(reading)
    for element, scope, wanted in reading.members("actuator", references):
        _Actuators(reading, element, scope, targets).read(wanted)


def _targets(reading: Reading) -> dict[tuple[str, str], Target]:
    """Joints and tendons by namespace and name."""
    found: dict[tuple[str, str], Target] = {
        ("joint", entry.joint.name): entry.joint for entry in reading.joints if entry.joint.name
    }
    tendons = reading.world.tendon_set
    for tendon in (*tendons.joint_tendons, *tendons.spatial_tendons):
        if tendon.name:
            found["tendon", tendon.name] = tendon
    return found


class _Actuators:
    """One actuator of the file, which may be several of the scene."""

    def __init__(
        self, reading: Reading, element: Element, scope: Scope, targets: dict[tuple[str, str], Target]
    ) -> None:
        self.reading = reading
        self.log = reading.log
        self.element = element
        self.scope = scope
        self.targets = targets
        self.default = scope.default_class(element)
        self.a = Attributes(element, reading.log, self.default.actuator_layers)

    def read(self, wanted: Sequence[Reference]) -> None:
        """Adds what the element makes to the scene."""
        reading, element, scope = self.reading, self.element, self.scope
        name = reading.names.own(scope, element, "actuator")
        law, is_several, values = self._law_and_values()
        ends = {r.attribute: reading.names.resolve(scope, r) or "" for r in wanted}
        target = self._target(ends)
        if target is None:
            return
        gear = self.a.reals("gear", 1, 6, default=_GEAR) or list(_GEAR)
        model = scene_actuators.Actuator(name=name, target=target, gear=gear, **values)
        if "inheritrange" in self.a:
            self._inherit_range(law, model, ends)
        if is_several:
            self._add_several(model)
        else:
            if "muscle" in (law.gain, law.bias) and model.length_range is None:
                message = "no 'lengthrange': the limits of what it holds are taken, MuJoCo searches for one"
                self.log.approximated(element, message)
            reading.world.actuators.append(model)
            reading.inputs.append(Input(element, scope, model, 0 if law.dynamics == "none" else 1))
        if self.a.gives_any(_REFLECTED):
            self._reflect(ends, gear[0])

    def _add_several(self, model: scene_actuators.Actuator) -> None:
        """Adds what becomes of an actuator that has no one of a scene to its name."""
        reading, element, scope = self.reading, self.element, self.scope
        made, inputs, activations = read_multi(
            self.log, element, self.default.actuators, model, scope.source.section("extension")
        )
        for part in made[1:]:
            if part.name is not None:
                part.name = reading.names.define("actuator", part.name, element, scope)
        reading.world.actuators.extend(made)
        for index in range(inputs):
            actuator = made[index] if index < len(made) else None
            reading.inputs.append(Input(element, scope, actuator, 0 if index else activations))

    def _law_and_values(self) -> tuple[Law, bool, dict[str, Any]]:
        """The law, whether it becomes several actuators (see `multi`), and fields other than the target."""
        law = read_law(self.element, self.default.actuators, self.log)
        is_several = law.gain in _SEVERAL or self.element.tag == "plugin" or self._is_unknown(law)
        values = _read_common(self.reading, self.a, self.scope)
        values["actuator_type"] = _MOTOR if is_several else self._type(law)
        self.reading.note_others(self.a, _READ, _IGNORED)
        return law, is_several, values

    def _is_unknown(self, law: Law) -> bool:
        return law.gain not in _GAINS or law.bias not in _BIASES or law.dynamics not in _DYNAMICS

    def _target(self, ends: dict[str, str]) -> scene_actuators.ActuatorTarget | None:
        if len(ends) == 1 and "joint" in ends and type(self.targets.get(("joint", ends["joint"]))) is Joint:
            # nearly always
            return scene_actuators.ActuatorTarget._of("joint", ends["joint"])
        given = [name for name in ends if name in _TARGETS]
        if len(given) != 1:
            allowed = "one of joint, jointinparent, tendon, cranksite, site, body"
            self.log.problem(self.element, f"given {', '.join(given) or 'no target'}; allowed: {allowed}")
            return None
        kind = given[0]
        name = ends[kind]
        if kind == "site":
            return scene_actuators.ActuatorTarget.site(name, ends.get("refsite"))
        if kind == "cranksite":
            length = self.a.real("cranklength", 0.0)
            if length <= 0.0 or "slidersite" not in ends:
                self.log.problem(self.element, "attributes 'slidersite' and 'cranklength' > 0 are required")
                return None
            return scene_actuators.ActuatorTarget.slider_crank(name, ends["slidersite"], length)
        if kind == "tendon":
            return scene_actuators.ActuatorTarget.tendon(name)
        if kind == "body":
            return scene_actuators.ActuatorTarget.link(name)
        joint = self.targets.get(("joint", name))
        turning = isinstance(joint, FreeJoint) or (isinstance(joint, Joint) and joint.type_ is _BALL)
        if kind == "jointinparent" and turning:
            return scene_actuators.ActuatorTarget.joint_in_parent(name)
        if isinstance(joint, FreeJoint):
            return scene_actuators.ActuatorTarget.floating_base(name)
        return scene_actuators.ActuatorTarget._of("joint", name)

    def _type(self, law: Law) -> scene_actuators.ActuatorType:
        """The law in the words of a scene: a shortcut keeps its own where these say everything."""
        a, tag = self.a, self.element.tag
        if tag == "motor" and not a.gives_any(_ACTIVE):
            return _MOTOR
        activation = self.reading.limits_of(a, "actlimited", "actrange", self.scope)
        if tag == "intvelocity":
            # what integrates a speed is bounded whatever the file says
            activation = activation or reading_range(a, "actrange")
        early = a.flag("actearly", False)
        if law.dynamics == "none":
            activation = None
        plain = activation is None and not early
        if tag == "motor" and plain:
            return _MOTOR
        if tag == "position" and plain:
            third = law.biasprm[2]
            ratio = third > 0.0
            return scene_actuators.ActuatorType.position(
                scene_actuators.PositionParam(
                    kp=law.gainprm[0],
                    damping_type=scene_actuators.DampingType.Dampratio
                    if ratio
                    else scene_actuators.DampingType.Kv,
                    damping_value=abs(third),
                    timeconst=law.dynprm[0] if law.dynamics == "filterexact" else 0.0,
                )
            )
        if tag == "velocity" and plain:
            return scene_actuators.ActuatorType.velocity(law.gainprm[0])
        if tag == "adhesion" and plain:
            return scene_actuators.ActuatorType.adhesion(law.gainprm[0])
        biasprm = list(law.biasprm)
        ratio = None
        if law.bias == "affine" and biasprm[2] > 0.0 and law.gainprm[0] == -biasprm[1]:
            # no servo pushes the way it moves, so the format has another use for a positive number here
            ratio, biasprm[2] = biasprm[2], 0.0
        return scene_actuators.ActuatorType.general(
            scene_actuators.GeneralParam(
                gain=_GAINS[law.gain],
                bias=_BIASES[law.bias],
                dyntype=_DYNAMICS[law.dynamics],
                gainprm=law.gainprm,
                biasprm=biasprm,
                damping_ratio=ratio,
                dynprm=law.dynprm,
                actrange=activation,
                actearly=early,
            )
        )

    def _inherit_range(self, law: Law, model: scene_actuators.Actuator, ends: dict[str, str]) -> None:
        """Takes the range of the target for that of the set point, scaled about its middle."""
        a = self.a
        scale = a.real("inheritrange", 0.0)
        if scale <= 0.0 or not law.is_servo:
            return
        integrating = law.dynamics == "integrator"
        if a.is_own("actrange" if integrating else "ctrlrange") or a.is_own("posrange"):
            if a.is_own("inheritrange"):
                a.log.problem(self.element, "given both a range and 'inheritrange'; allowed: one of both")
            if a.is_own("inheritrange") or self.element.tag != "general":
                return
        target = self._moved(ends)
        limit = getattr(target, "pos_limit", None) or getattr(target, "limit", None)
        if limit is None or not limit.is_bounded:
            a.log.problem(self.element, "attribute 'inheritrange': the target has no range")
            return
        middle, half = 0.5 * (limit.lower + limit.upper), 0.5 * (limit.upper - limit.lower) * scale
        inherited = Range(middle - half, middle + half)
        if a.text("actlimited" if integrating else "ctrllimited") == "false":
            return
        if integrating:
            model.actuator_type.value.actrange = inherited
        else:
            model.ctrlrange = inherited

    def _moved(self, ends: dict[str, str]) -> Target | None:
        for kind in ("joint", "jointinparent", "tendon"):
            if kind in ends:
                return self.targets.get((_SPACES[kind], ends[kind]))
        return None

    def _reflect(self, ends: dict[str, str], gear: float) -> None:
        """Adds inertia and damping of the actuator itself to what it moves, by the gear ratio squared."""
        a = self.a
        armature, damping = a.real("armature", 0.0), read_linear(a, "damping")
        if not armature and not damping:
            return
        moved = self._moved(ends)
        if moved is None:
            a.log.problem(self.element, "attributes 'armature' and 'damping' are for joints and tendons only")
            return
        ratio = gear * gear
        moved.armature += ratio * armature
        if damping and isinstance(moved, FreeJoint):
            moved.damping += ratio * damping
        elif damping and isinstance(moved, Joint):
            _add_damping(moved, ratio * damping)
        elif damping and isinstance(moved, JointTendon | SpatialTendon):
            spring = moved.spring or StiffnessDamping(k=0.0, d=0.0)
            moved.spring = StiffnessDamping(k=spring.k, d=spring.d + ratio * damping)
        a.log.kept(self.element, "inertia and damping of the actuator are added to those of its target")


def _read_common(reading: Reading, a: Attributes, scope: Scope) -> dict[str, Any]:
    """What all actuators have but for their name, target and law."""
    length = [0.0, 0.0]
    if a.is_own("lengthrange"):
        length = Attributes(a.element, a.log).reals("lengthrange", 2) or length
    control = reading.limits_of(a, "ctrllimited", "ctrlrange", scope)
    if a.element.tag in ("damper", "adhesion"):
        # these push one way only, and have to say how far
        control = control or reading_range(a)
        if control is None or control.lower < 0.0:
            a.log.problem(a.element, "attribute 'ctrlrange' is required: two numbers >= 0")
    return {
        "ctrlrange": control,
        "forcerange": reading.limits_of(a, "forcelimited", "forcerange", scope),
        "group": a.integer("group", 0),
        "length_range": Range(*length) if length[0] < length[1] else None,
    }


# one for all motors: it holds nothing, and cannot be changed
_MOTOR: Final = scene_actuators.ActuatorType.motor()
_GEAR: Final = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def reading_range(a: Attributes, name: str = "ctrlrange") -> Range | None:
    """A range that bounds whatever the file says."""
    ends = a.reals(name, 2)
    return Range(*ends) if ends is not None and ends[0] < ends[1] else None


def _add_damping(joint: Joint, damping: float) -> None:
    old = joint.spring_damper
    if old is None:
        linear, rest = StiffnessDamping(k=0.0, d=0.0), 0.0
    elif old.coeff.variant == "stiffness_damping":
        linear, rest = old.coeff.value, old.target_pos
    else:
        return
    total = StiffnessDamping(k=linear.k, d=linear.d + damping)
    joint.spring_damper = SpringDamper(coeff=SpringDampCoeff.stiffness_damping(total), target_pos=rest)
