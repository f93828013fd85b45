# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Anchors: the frames on links where equalities, springs, tendons and actuators take hold."""

from __future__ import annotations

import numpy as np

from worldline._src.jit import Stage
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.force_element_columns import ForceElementColumns
from worldline._src.kernels.program import caller
from worldline._src.model.model import Model
from worldline._src.scalar.columns import Block
from worldline._src.scalar.memory import address_of
from worldline._src.spatial.poses import Array, compose, quaternion, rotation, transform
from worldline._src.step import stages
from worldline._src.step.evaluate import WITH_GRAVITY, new_arena, stage_addresses


class Anchors:
    """Frames given in bodies, collected as frames in kernel links."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.links: list[int] = []
        self.poses: list[Array] = []
        self._known: dict[tuple[int, bytes], int] = {}

    def __len__(self) -> int:
        return len(self.links)

    def add(self, body: int, X: Array) -> int:
        """The anchor of a pose (position and xyzw) in a body, -1 for the world."""
        key = (int(body), np.asarray(X, np.float64).tobytes())
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self.add_movable(body, X)
        return known

    def add_movable(self, body: int, X: Array) -> int:
        """The same, shared with nobody, so that it can be moved."""
        link, pose = link_pose(self.model, body, X)
        self.links.append(link)
        self.poses.append(pose)
        return len(self.links) - 1

    def site(self, index: int) -> int:
        """The anchor of a site of the model."""
        sites = self.model.sites
        assert sites is not None
        return self.add(int(sites.body[index]), sites.xform[index])

    def shape(self, index: int) -> int:
        """The anchor of a shape of the model."""
        shapes = self.model.shapes
        assert shapes is not None
        return self.add(int(shapes.body[index]), shapes.xform[index])

    def fill(self, column: ForceElementColumns) -> None:
        """Write the columns."""
        if self.links:
            column.anchor_link[:] = self.links
            column.anchor_pose[:] = self.poses


def link_pose(model: Model, body: int, X: Array) -> tuple[int, Array]:
    """Kernel link of a body, -1 for the world, and a pose in the body as position and rotation in it."""
    link = 0 if body < 0 else int(model.link_of_body()[body])
    if link > 0:
        view = model.constants
        R, p = view["link_R_post"][link].reshape(3, 3), view["link_p_post"][link]
        X = compose(np.concatenate([p, quaternion(R)]), X)
    elif body >= 0:
        # in no tree: it stays where it starts
        X = compose(model.body_q[body], X)
    X = transform(X, "place")
    return link, np.concatenate([X[:3], rotation(X).reshape(9)])


def link_trees(block: Block, index: np.ndarray, constant: np.ndarray, data: np.ndarray) -> None:
    """Tell arenas of rows where those of the trees are, which must live as long."""
    link = block.column.link
    link[t.TREE_M], link[t.TREE_C], link[t.TREE_D] = map(address_of, (index, constant, data))


def measure(model: Model, block: Block, q: Array, measures: tuple[Stage, ...]) -> None:
    """Run stages of the arenas of rows once, at some coordinates and at rest."""
    arenas, data = model.arenas, new_arena(model, "float", model.arenas.step_size)
    start = arenas.offsets["q"]
    data[start : start + arenas.sizes["nq"]] = q
    run = caller()
    run(stage_addresses((stages.positions,)), arenas.index, arenas.constant, WITH_GRAVITY, data)
    link_trees(block, arenas.index, arenas.constant, data)
    run(stage_addresses(measures), block.m, block.c, block.args, block.d)
