# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Explanations of why two bodies collide or not, following the collision filters in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.collision.arenas import ShapeRow
from worldline._src.facade import queries
from worldline._src.facade.contacts import last_contacts
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.queries import BodyLike
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.step.collision_rows import body_rows, shape_rows

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


@dataclass(frozen=True)
class Explanation:
    """Why two bodies touch or do not.

    Attributes:
        touching: whether the last step had a contact between them.
        cause: one word or two: "contact", "apart", "same body", "no shapes", "contacts disabled",
            "both fixed", "masks", "parent and child", "welded", "ignored pair", "self collision disabled",
            "no force" where they are near enough and nothing pushed, or "not stepped".
        detail: a sentence with the numbers.
    """

    touching: bool
    cause: str
    detail: str

    def __str__(self) -> str:
        return f"{self.cause}: {self.detail}"


class _Shapes(NamedTuple):
    """The shapes of two bodies that may meet, and what a step knows of them."""

    mine: list[tuple[int, ShapeRow]]
    theirs: list[tuple[int, ShapeRow]]
    """Rows in the model's table, and rows of the collision tables."""
    written: dict[frozenset[int], int]
    """Pairs of shapes with parameters of their own, which no filter keeps apart: their rows."""


@exclusive
def explain(world: WorldRuntime, a: BodyLike, b: BodyLike) -> Explanation:
    """See `World.explain`."""
    runtime = world._live()
    first, second = queries.body_index(world, a, "a") + 1, queries.body_index(world, b, "b") + 1
    names = tuple("the world" if k == 0 else f"'{runtime.model.body_label[k - 1]}'" for k in (first, second))
    rows, table = shape_rows(runtime.model), runtime.model.contact_pairs
    mine, theirs = ([(k, row) for k, row in rows if row.body == body] for body in (first, second))
    pairs: list[list[int]] = [] if table is None else table.shapes.tolist()
    shapes = _Shapes(mine, theirs, {frozenset(pair): k for k, pair in enumerate(pairs)})
    filtered = _filtered(world, names, (first, second), shapes)
    if filtered is not None:
        return Explanation(False, *filtered)
    found = [c for c in last_contacts(world) if {_key(c.body_a), _key(c.body_b)} == {_key(a), _key(b)}]
    if found:
        force = np.sum([c.force for c in found], axis=0)
        depth = max(c.depth for c in found)
        text = f"{len(found)} points, deepest {depth:.3g} m, force {np.linalg.norm(force):.6g} N"
        return Explanation(True, "contact", text)
    apart, begin = queries.distance(world, a, b).distance, _beginning(runtime.model, shapes)
    if apart > begin:
        text = f"{names[0]} and {names[1]} are {apart:.6g} m apart; contact begins at {begin:.6g} m"
        return Explanation(False, "apart", text)
    cause = "no force" if runtime.sim.stepped else "not stepped"
    return Explanation(
        False,
        cause,
        f"{names[0]} and {names[1]} are {apart:.6g} m apart now; the last step had no contact of them",
    )


def _beginning(model: Model, shapes: _Shapes) -> float:
    """The largest distance at which shapes of the two bodies push."""
    table, pairs, option = model.shapes, model.contact_pairs, model.option
    if option is not None and option.override_contact_margin is not None:
        return option.override_contact_margin
    largest = -np.inf
    for i, _ in shapes.mine:
        for j, _ in shapes.theirs:
            k = shapes.written.get(frozenset((i, j)))
            if k is not None and pairs is not None:
                largest = max(largest, float(pairs.margin[k] - pairs.gap[k]))
            elif table is not None:
                largest = max(largest, float((table.margin - table.gap)[[i, j]].sum()))
    return largest


def _key(body: object) -> int:
    link = getattr(body, "_link", None)
    return 0 if link is None else id(link)


def _filtered(
    world: WorldRuntime, names: tuple[str, ...], pair: tuple[int, int], shapes: _Shapes
) -> tuple[str, str] | None:
    """The rule that keeps a pair from touching, and a sentence about it; None when none does."""
    a, b = names
    model, option = world._live().model, world._scene.simulate_option
    if option.disable_contacts or option.disable_constraints:
        return "contacts disabled", "the scene's options switch contacts off"
    if pair[0] == pair[1]:
        return "same body", f"{a} does not touch itself"
    for name, own in ((a, shapes.mine), (b, shapes.theirs)):
        if not own:
            return "no shapes", f"{name} has no collision shapes"
    bodies = body_rows(model, parents=not option.disable_parent_filter)
    first, second = bodies[pair[0]], bodies[pair[1]]
    if first.fixed and second.fixed:
        return "both fixed", f"neither {a} nor {b} can be moved by a contact"
    meetings = [(s, o) for s in shapes.mine for o in shapes.theirs]
    if any(frozenset((i, j)) in shapes.written for (i, _), (j, _) in meetings):
        # no filter holds for what a scene says of two shapes
        return None
    if not any((s.group & o.collides_with) | (o.group & s.collides_with) for (_, s), (_, o) in meetings):
        return "masks", f"no group of {a} is in a mask of {b}, nor the other way round"
    if first.weld == second.weld:
        return "welded", f"{a} and {b} are welded together"
    under = first.parent == second.weld and not second.fixed
    if under or (second.parent == first.weld and not first.fixed):
        return "parent and child", f"a joint connects {a} and {b}"
    if first.tree >= 0 and first.tree == second.tree:
        return "self collision disabled", f"{a} and {b} belong to one multibody"
    excluded: list[list[int]] = []
    if model.excluded_bodies is not None:
        excluded = (model.excluded_bodies + 1).tolist()
    if any(set(row) == set(pair) for row in excluded):
        return (
            "ignored pair",
            f"{a} and {b} are set to pass through each other, or connected by a closure or a joint",
        )
    return None
