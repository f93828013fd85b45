# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tendons: weighted sums of joint coordinates, and paths through space."""

from __future__ import annotations

from typing import Final

from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.mjcf.write_softness import write_friction, write_softness
from worldline._src.scene.formats.mjcf.writing import Words, Writing
from worldline._src.scene.tendons import JointTendon, SpatialTendon

_FAR: Final = 1e9
_GREY: Final = (0.5, 0.5, 0.5, 1.0)


def write_tendons(writing: Writing) -> None:
    """The `tendon` section."""
    tendons = writing.world.tendon_set
    for index, tendon in enumerate(tendons.joint_tendons):
        _write_sum(writing, tendon, f"$.tendon_set.joint_tendons[{index}]")
    for index, path_tendon in enumerate(tendons.spatial_tendons):
        _write_path(writing, path_tendon, f"$.tendon_set.spatial_tendons[{index}]")


def _write_sum(writing: Writing, tendon: JointTendon, path: str) -> None:
    names: list[tuple[str, float]] = []
    for index, node in enumerate(tendon.joints):
        columns = writing.joints.get(node.joint_name, [])
        if len(columns) != 1 or columns[0].kind not in ("hinge", "slide"):
            writing.lost(f"{path}.joints[{index}]", f"the joint {node.joint_name!r:.80} has not one axis")
            continue
        names.append((columns[0].name or "", node.weight))
    if not names:
        writing.lost(path, "MuJoCo refuses a tendon without joints")
        if tendon.name is not None:
            writing.gone.add(("tendon", tendon.name))
        return
    element = child(writing.section("tendon"), "fixed", _words(writing, tendon, path))
    for name, weight in names:
        node_words = Words(joint=name)
        node_words.real("coef", weight)
        child(element, "joint", node_words)


def _write_path(writing: Writing, tendon: SpatialTendon, path: str) -> None:
    if sum(node.variant == "site" for node in tendon.path) < 2:
        writing.lost(path, "MuJoCo refuses a path through fewer than two sites")
        if tendon.name is not None:
            writing.gone.add(("tendon", tendon.name))
        return
    words = _words(writing, tendon, path)
    words.real("width", tendon.width, 0.003)
    words.text("material", tendon.material)
    words.reals("rgba", tendon.rgba, _GREY)
    element = child(writing.section("tendon"), "spatial", words)
    for node in tendon.path:
        value = node.value
        part = Words()
        if node.variant == "pulley":
            part.real("divisor", value)
        elif node.variant == "site":
            part["site"] = value
        else:
            part["geom"] = value["geom"]
            part.text("sidesite", value["side_site"])
        child(element, node.variant, part)


def _words(writing: Writing, tendon: JointTendon | SpatialTendon, path: str) -> Words:
    words = Words()
    words.text("name", tendon.name)
    words.whole("group", tendon.group, 0)
    writing.range(words, "range", tendon.limit, f"{path}.limit")
    words.real("margin", tendon.margin, 0.0)
    write_softness(writing, words, tendon.limit_force, f"{path}.limit_force", "solreflimit", "solimplimit")
    words.real("frictionloss", tendon.frictionloss, 0.0)
    write_friction(writing, words, tendon.friction_damping, tendon.frictionloss, f"{path}.friction_damping")
    _write_rest(writing, words, tendon, path)
    if tendon.spring is not None:
        words.real("stiffness", tendon.spring.k, 0.0)
        words.real("damping", tendon.spring.d, 0.0)
        if not (tendon.spring.k or tendon.spring.d):
            writing.reworded(f"{path}.spring", "a spring and damper of zeros is none")
    words.real("armature", tendon.armature, 0.0)
    limit = tendon.actuator_force_limit
    writing.range(words, "actuatorfrcrange", limit, f"{path}.actuator_force_limit")
    return words


def _write_rest(writing: Writing, words: Words, tendon: JointTendon | SpatialTendon, path: str) -> None:
    kind, value = tendon.spring_length.variant, tendon.spring_length.value
    if kind == "fixed":
        words.real("springlength", value)
    elif kind == "range":
        if value.lower == value.upper == -1.0:
            writing.changed(f"{path}.spring_length", "-1 stands for the length in the reference pose")
        elif value.lower == value.upper >= 0.0:
            writing.reworded(f"{path}.spring_length", "a range of one length is that length")
        low, high = (max(-_FAR, min(_FAR, end)) for end in (value.lower, value.upper))
        if (low, high) != (value.lower, value.upper):
            writing.changed(f"{path}.spring_length", f"ends of the range are at most {_FAR:g} m away")
        words.reals("springlength", (low, high))
