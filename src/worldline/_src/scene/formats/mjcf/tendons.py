# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tendons: weighted sums of joint coordinates, and paths through space."""

from __future__ import annotations

from typing import Final

from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.mjcf.geoms import read_group
from worldline._src.scene.formats.mjcf.joints import read_linear
from worldline._src.scene.formats.mjcf.scopes import Reference, Scope
from worldline._src.scene.formats.mjcf.solver import read_friction, read_spring
from worldline._src.scene.formats.xml import Attributes, Element
from worldline._src.scene.tendons import (
    JointTendon,
    JointTendonNode,
    SpatialTendon,
    SpringLengthType,
    TendonPathNode,
)
from worldline._src.scene.values import Range, StiffnessDamping

_IGNORED: Final = {
    "user": "the numbers of a user's own have no place at single objects of a scene",
    "springyield": "springs that give way for good are not modelled",
}
_NODES: Final = {
    "joint": (("joint", "joint"),),
    "site": (("site", "site"),),
    "geom": (("geom", "geom"), ("sidesite", "site")),
    "pulley": (),
}


def references(element: Element) -> list[Reference]:
    """Everything a tendon runs through."""
    return [
        Reference(child, name, (space,), child.get(name) or "")
        for child in element.children
        for name, space in _NODES.get(child.tag, ())
        if child.get(name) or name != "sidesite"
    ]


def read_tendons(reading: Reading) -> None:
    """All `tendon` sections."""
    tendons = reading.world.tendon_set
    for element, scope, _ in reading.members("tendon", references):
        a = reading.attributes(element, scope, tag="tendon")
        if element.tag == "fixed":
            # one class has defaults for both kinds, and how a path looks is none of a sum's business
            a.mark("width", "material", "rgba")
            joints = [_read_joint(reading, child, scope) for child in element.children]
            tendon = JointTendon(joints=joints)
            tendons.joint_tendons.append(tendon)
        else:
            tendon = SpatialTendon(
                path=[node for child in element.children if (node := _read_node(reading, child, scope))],
                width=max(0.0, a.real("width", 0.003)),
                material=reading.asset(a, "material", "material", scope),
                rgba=a.reals("rgba", 4, default=(0.5, 0.5, 0.5, 1.0)),
            )
            tendons.spatial_tendons.append(tendon)
        _read_common(reading, a, scope, tendon)
        if not element.children or (element.tag == "spatial" and len(element.all("site")) < 2):
            reading.log.problem(element, "allowed: one joint at least, or a path through two sites at least")
        reading.finish(a, _IGNORED)


def _read_common(reading: Reading, a: Attributes, scope: Scope, tendon: JointTendon | SpatialTendon) -> None:
    fields = tendon.__dict__
    fields["name"] = reading.names.own(scope, a.element, "tendon")
    fields["limit"] = reading.limits_of(a, "limited", "range", scope)
    fields["actuator_force_limit"] = reading.limits_of(a, "actuatorfrclimited", "actuatorfrcrange", scope)
    fields["limit_force"] = read_spring(a, "solreflimit", "solimplimit")
    fields["friction_damping"] = read_friction(a)
    fields["frictionloss"] = a.real("frictionloss", 0.0)
    fields["margin"] = a.real("margin", 0.0)
    fields["armature"] = a.real("armature", 0.0)
    for name in ("frictionloss", "armature"):
        if fields[name] < 0.0:
            a.reject(name, f"given {getattr(tendon, name):g}; allowed: a number >= 0")
    fields["group"] = read_group(a)
    stiffness, damping = read_linear(a, "stiffness"), read_linear(a, "damping")
    if stiffness or damping:
        tendon.spring = StiffnessDamping(k=stiffness, d=damping)
    if "springlength" in a:
        tendon.spring_length = _read_length(a)


def _read_length(a: Attributes) -> SpringLengthType:
    """Where the spring is at rest: -1 stands for the length at the spring references of the joints."""
    # one number stands for both ends, even where a class gives two
    holder, given = a.nearest(("springlength",))
    ends = Attributes(holder, a.log).reals("springlength", 1, 2) if given else None
    if ends is None or ends == [-1.0] or ends == [-1.0, -1.0]:
        return SpringLengthType.automatic()
    low, high = ends[0], ends[-1]
    if low > high:
        a.reject("springlength", f"given {low:g} to {high:g}; allowed: the lower end first")
        return SpringLengthType.automatic()
    if low == high and low >= 0.0:
        return SpringLengthType.fixed(low)
    return SpringLengthType.range(Range(low, high))


def _read_joint(reading: Reading, element: Element, scope: Scope) -> JointTendonNode:
    a = Attributes(element, reading.log)
    name = reading.names.resolve(scope, Reference(element, "joint", ("joint",), a.required_text("joint")))
    weight = a.real("coef", None)
    if weight is None:
        reading.log.problem(element, "attribute 'coef' is required")
    return JointTendonNode(joint_name=name or "", weight=weight or 0.0)


def _read_node(reading: Reading, element: Element, scope: Scope) -> TendonPathNode | None:
    a = Attributes(element, reading.log)
    if element.tag == "pulley":
        divisor = a.real("divisor", 0.0)
        if divisor <= 0.0:
            reading.log.problem(element, "attribute 'divisor' is required: a number > 0")
            return None
        return TendonPathNode.pulley(divisor)
    name = a.required_text(element.tag)
    found = reading.names.resolve(scope, Reference(element, element.tag, (element.tag,), name)) or ""
    if element.tag == "site":
        return TendonPathNode.site(found)
    side = a.text("sidesite")
    where = reading.names.resolve(scope, Reference(element, "sidesite", ("site",), side)) if side else None
    return TendonPathNode.geom(found, where)
