# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of geoms with contact parameters of their own, and pairs of bodies that never touch."""

from __future__ import annotations

from typing import Final

from worldline._src.scene.contact import ConstraintForceModel, ContactPair
from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.mjcf.scopes import Reference, Scope
from worldline._src.scene.formats.mjcf.solver import SOLIMP, impedance, read_spring, stiffness_damping
from worldline._src.scene.formats.xml import Attributes, Element
from worldline._src.scene.values import ImpedanceSpring

_FRICTION: Final = (1.0, 1.0, 0.005, 0.0001, 0.0001)
_IGNORED: Final = {"adhesion": "sticking contacts are not modelled"}


def references(element: Element) -> list[Reference]:
    """What a `pair` or `exclude` refers to."""
    if element.tag == "pair":
        wanted = (("geom1", "geom"), ("geom2", "geom"))
    else:
        wanted = (("body1", "link"), ("body2", "link"))
    return [Reference(element, name, (space,), element.get(name) or "") for name, space in wanted]


def read_contacts(reading: Reading) -> None:
    """All `contact` sections."""
    for element, scope, wanted in reading.members("contact", references):
        first, second = [reading.names.resolve(scope, reference) for reference in wanted]
        if first is None or second is None:
            continue
        if first == second and element.tag == "pair":
            reading.log.problem(element, f"given '{first[:80]}' twice; allowed: two different objects")
        elif first == second:
            reading.log.kept(element, f"'{first[:80]}' twice: a body never touches itself anyway")
        elif element.tag == "pair":
            reading.world.contact_pairs.append(_read_pair(reading, element, scope, first, second))
        else:
            reading.world.collision_ignores.link_pairs.append([first, second])


def _read_pair(reading: Reading, element: Element, scope: Scope, first: str, second: str) -> ContactPair:
    a = reading.attributes(element, scope)
    a.mark("geom1", "geom2")
    condim = a.integer("condim", 3)
    if condim not in (1, 3, 4, 6):
        a.reject("condim", f"given {condim}; allowed: 1, 3, 4 or 6")
        condim = 3
    friction = a.reals("friction", 1, 5, default=_FRICTION) or list(_FRICTION)
    if min(friction) < 0.0:
        a.reject("friction", f"given {friction}; allowed: coefficients >= 0")
    margin, gap = a.real("margin", 0.0), a.real("gap", 0.0)
    pair = ContactPair(
        name=reading.names.own(scope, element, "contact pair"),
        geom_a=first,
        geom_b=second,
        condim=condim,
        friction=friction,
        contact_model=ConstraintForceModel.impedance(read_spring(a)),
        friction_model=_read_friction_model(a),
        # the scene counts from where contact is looked for, the file from where it pushes
        margin=margin + gap,
        gap=gap,
    )
    reading.finish(a, _IGNORED)
    return pair


def _read_friction_model(a: Attributes) -> ImpedanceSpring | None:
    """Softness of its own in the directions of friction; zeros mean that of the normal direction."""
    solref = a.reals("solreffriction", 1, 2, default=(0.0, 0.0)) or [0.0, 0.0]
    if not any(solref):
        return None
    spring = stiffness_damping(solref)
    if spring is None:
        a.reject("solreffriction", f"given {solref}; allowed: two numbers of one sign")
        return None
    solimp = a.reals("solimp", 1, 5, default=SOLIMP) or SOLIMP
    return ImpedanceSpring(spring=spring[0], impedance=impedance(solimp), direct=spring[1])
