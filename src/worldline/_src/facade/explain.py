# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Why two bodies do or do not touch, by the rules of a step in the order they apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.collision.arenas import BodyRow, ShapeRow
from worldline._src.facade import queries
from worldline._src.facade.contacts import last_contacts
from worldline._src.facade.queries import BodyLike
from worldline._src.step.collision_rows import body_rows, shape_rows

if TYPE_CHECKING:
    from worldline._src.facade.world import World


@dataclass(frozen=True)
class Explanation:
    """Why two bodies touch or do not.

    Attributes:
        touching: whether the last step had a contact between them.
        cause: one word or two: "contact", "apart", "same body", "no shapes", "contacts disabled",
            "both fixed", "masks", "parent and child", "welded", "ignored pair", "self collision disabled",
            "asleep" or "not stepped".
        detail: a sentence with the numbers.
    """

    touching: bool
    cause: str
    detail: str

    def __str__(self) -> str:
        return f"{self.cause}: {self.detail}"


def explain(world: World, a: BodyLike, b: BodyLike) -> Explanation:
    """See `World.explain`."""
    runtime = world._live()
    first, second = queries.body_index(world, a, "a") + 1, queries.body_index(world, b, "b") + 1
    names = tuple("the world" if k == 0 else f"'{runtime.model.body_label[k - 1]}'" for k in (first, second))
    rows = [row for _, row in shape_rows(runtime.model)]
    filtered = _filtered(world, names, (first, second), rows, body_rows(runtime.model))
    if filtered is not None:
        return Explanation(False, *filtered)
    found = [c for c in last_contacts(world) if {_key(c.body_a), _key(c.body_b)} == {_key(a), _key(b)}]
    if found:
        force = np.sum([c.force for c in found], axis=0)
        depth = max(c.depth for c in found)
        text = f"{len(found)} points, deepest {depth:.3g} m, force {np.linalg.norm(force):.6g} N"
        return Explanation(True, "contact", text)
    apart = world.distance(a, b).distance
    margin = sum(max((r.margin for r in rows if r.body == k), default=0.0) for k in (first, second))
    if apart > margin:
        text = f"{names[0]} and {names[1]} are {apart:.6g} m apart; contact is seen from {margin:.6g} m on"
        return Explanation(False, "apart", text)
    return Explanation(
        False,
        "not stepped",
        f"{names[0]} and {names[1]} are {apart:.6g} m apart now; the last step had no contact of them",
    )


def _key(body: object) -> int:
    return 0 if body is None or not hasattr(body, "_link") else id(body._link)


def _filtered(
    world: World, names: tuple[str, ...], pair: tuple[int, int], shapes: list[ShapeRow], bodies: list[BodyRow]
) -> tuple[str, str] | None:
    """The rule that keeps a pair from touching, and a sentence about it; None when none does."""
    a, b = names
    option = world._scene.simulate_option
    if option.disable_contacts or option.disable_constraints:
        return "contacts disabled", "the scene's options switch contacts off"
    if pair[0] == pair[1]:
        return "same body", f"{a} does not touch itself"
    mine, theirs = ([s for s in shapes if s.body == k] for k in pair)
    for name, own in ((a, mine), (b, theirs)):
        if not own:
            return "no shapes", f"{name} has no collision shapes"
    if not any((s.group & o.collides_with) | (o.group & s.collides_with) for s in mine for o in theirs):
        return "masks", f"no group of {a} is in a mask of {b}, nor the other way round"
    first, second = bodies[pair[0]], bodies[pair[1]]
    if first.fixed and second.fixed:
        return "both fixed", f"neither {a} nor {b} can be moved by a contact"
    if first.weld == second.weld:
        return "welded", f"{a} and {b} are welded together"
    under = first.parent == second.weld and not second.fixed
    if under or (second.parent == first.weld and not first.fixed):
        return "parent and child", f"a joint connects {a} and {b}"
    if first.tree >= 0 and first.tree == second.tree:
        return "self collision disabled", f"{a} and {b} belong to one multibody"
    for row in world._scene.collision_ignores.link_pairs:
        labels = {name.strip("'") if name != "the world" else "world" for name in names}
        if set(row) == labels:
            return "ignored pair", f"{a} and {b} are set to pass through each other"
    return None
