# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs of geoms with contact parameters of their own, and pairs of bodies that never touch."""

from __future__ import annotations

from typing import Final

from worldline._src.scene.bodies import Link
from worldline._src.scene.contact import ContactPair
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.mjcf.write_softness import profile, time_constants, write_softness
from worldline._src.scene.formats.mjcf.writing import Words, Writing, paths_of_links, preimage

_FRICTION: Final = (1.0, 1.0, 0.005, 0.0001, 0.0001)
_MOST_PAIRS: Final = 20_000


def write_contacts(writing: Writing) -> None:
    """The `contact` section."""
    for index, pair in enumerate(writing.world.contact_pairs):
        _write_pair(writing, pair, f"$.contact_pairs[{index}]")
    for first, second in writing.world.collision_ignores.link_pairs:
        child(writing.section("contact"), "exclude", {"body1": first, "body2": second})
    for link, _, _, path in paths_of_links(writing.world):
        if link.disable_self_collision:
            _write_family(writing, link, f"{path}.disable_self_collision")


def _write_pair(writing: Writing, pair: ContactPair, path: str) -> None:
    words = Words()
    words.text("name", pair.name)
    words["geom1"], words["geom2"] = pair.geom_a, pair.geom_b
    words.whole("condim", pair.condim, 3)
    words.reals("friction", pair.friction, _FRICTION, short=True)
    write_softness(writing, words, pair.contact_model, f"{path}.contact_model")
    own = pair.friction_model
    if own is not None:
        spring = own.spring
        times = (-spring.k, -spring.d) if own.direct else time_constants(spring.k, spring.d)
        if times is None or not any(times):
            writing.changed(f"{path}.friction_model.spring", "the friction is as soft as the contact")
        else:
            words.reals("solreffriction", times)
        model = pair.contact_model
        if model.variant != "impedance" or profile(model.value.impedance) != profile(own.impedance):
            writing.changed(f"{path}.friction_model.impedance", "friction has the impedance of the contact")
    gap = pair.gap
    words.real("margin", preimage(lambda m: m + gap, pair.margin - gap, pair.margin), 0.0)
    words.real("gap", gap, 0.0)
    child(writing.section("contact"), "pair", words)


def _write_family(writing: Writing, link: Link, path: str) -> None:
    """A link whose descendants do not touch each other, as pairs of them."""
    links = list(link.walk())
    if len(links) < 2:
        writing.reworded(path, "a link does not touch itself")
        return
    if len(links) * (len(links) - 1) // 2 > _MOST_PAIRS:
        writing.lost(path, f"it would take more than {_MOST_PAIRS} pairs of links")
        return
    names: list[str] = []
    for member in links:
        if member.name is None:
            writing.lost(path, "it takes pairs of names, and a link has none")
            return
        names.append(member.name)
    writing.reworded(path, "it is written as pairs of links that do not touch")
    for k, first in enumerate(names):
        for second in names[k + 1 :]:
            child(writing.section("contact"), "exclude", {"body1": first, "body2": second})
