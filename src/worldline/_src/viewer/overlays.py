# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Overlays of the scene: sites, frames, joint axes, centres of mass, contacts, tendons."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.drawing import marks
from worldline._src.drawing.items import hulls_of
from worldline._src.spatial.poses import Array
from worldline._src.viewer.shapes import WXYZ, ShapeNodes

if TYPE_CHECKING:
    from worldline._src.facade.world import World

KINDS = (
    "Sites",
    "Frames",
    "Body frames",
    "Joint axes",
    "Centres of mass",
    "Contact points",
    "Contact forces",
    "Tendons",
    "Collision hulls",
)
SHOWN = ("Tendons",)
"""What is shown by default."""
_RED, _ORANGE, _CYAN = (214, 57, 57), (240, 150, 40), (60, 160, 210)


class Overlays:
    """Marks of one World on one page.

    Args:
        server: the server of the page.
        name: of the part of the page's tree.
        world: the World.
        size: a length that is neither small nor large in the scene [m].
    """

    def __init__(self, server: Any, name: str, world: World, size: float) -> None:
        self._server, self._name, self._world, self._size = server, name, world, size
        self._on: set[str] = set(SHOWN)
        self._nodes: dict[str, Any] = {}
        self._parts: dict[str, ShapeNodes] = {}

    def show(self, kind: str, on: bool) -> None:
        """Show or hide a kind of mark from the next frame on."""
        if on:
            self._on.add(kind)
        else:
            self._on.discard(kind)
            self._drop(kind)

    def is_on(self, kind: str) -> bool:
        """Whether a kind is shown."""
        return kind in self._on

    def remove(self) -> None:
        """Take all marks off the page."""
        for kind in KINDS:
            self._drop(kind)

    def _drop(self, kind: str) -> None:
        node = self._nodes.pop(kind, None)
        if node is not None:
            node.remove()
        part = self._parts.pop(kind, None)
        if part is not None:
            part.remove()

    def draw(self, q: Array, bodies: Array) -> None:
        """One frame of all that is on."""
        model = self._world._live().model
        if "Sites" in self._on:
            self._items("Sites", bodies)
        if "Collision hulls" in self._on:
            self._items("Collision hulls", bodies)
        if "Frames" in self._on:
            self._axes("Frames", marks.frame_poses(self._world, bodies)[1])
        if "Body frames" in self._on:
            self._axes("Body frames", bodies[:-1])
        if "Joint axes" in self._on:
            axes = marks.joint_axes(model, q, bodies)
            ends = np.stack([axes.origins, axes.origins + 0.2 * self._size * axes.directions], axis=1)
            self._arrows("Joint axes", ends, _CYAN)
        if "Centres of mass" in self._on:
            centres = np.concatenate(
                [marks.body_centres(model, bodies), marks.centre_of_mass(model, bodies)[None]]
            )
            self._points("Centres of mass", centres, _ORANGE)
        if self._on & {"Contact points", "Contact forces"}:
            self._contacts()
        if "Tendons" in self._on:
            self._tendons(bodies)

    def _contacts(self) -> None:
        found = marks.contacts_of(self._world)
        if "Contact points" in self._on:
            self._points("Contact points", found.points, _RED)
        if "Contact forces" in self._on:
            model = self._world._live().model
            # the weight of everything is twice as long as the scene is large
            weight = float(model.body_mass.sum() * np.linalg.norm(model.gravity)) or 1.0
            ends = found.points + found.forces * (2.0 * self._size / weight)
            self._arrows("Contact forces", np.stack([found.points, ends], axis=1), _ORANGE)

    def _items(self, kind: str, bodies: Array) -> None:
        if kind not in self._parts:
            items = marks.site_items(self._world) if kind == "Sites" else hulls_of(self._world)
            name = f"{self._name}/{kind}"
            self._parts[kind] = ShapeNodes(self._server, name, items, items.poses(bodies), lambda _: True)
        part = self._parts[kind]
        part.place(part.items.poses(bodies))

    def _axes(self, kind: str, poses: Array) -> None:
        node = self._nodes.get(kind)
        if node is None:
            if len(poses):
                self._nodes[kind] = self._server.scene.add_batched_axes(
                    f"{self._name}/{kind}",
                    poses[:, WXYZ],
                    poses[:, :3],
                    axes_length=0.1 * self._size,
                    axes_radius=0.004 * self._size,
                )
            return
        node.batched_positions = poses[:, :3].astype(np.float32)
        node.batched_wxyzs = poses[:, WXYZ].astype(np.float32)

    def _arrows(self, kind: str, ends: Array, colour: tuple[int, int, int]) -> None:
        add, size = self._server.scene.add_arrows, self._size
        radii = {"shaft_radius": 0.008 * size, "head_radius": 0.02 * size, "head_length": 0.05 * size}
        self._show(kind, ends, lambda path: add(path, ends, colour, **radii))

    def _points(self, kind: str, points: Array, colour: tuple[int, int, int]) -> None:
        add, size = self._server.scene.add_point_cloud, 0.02 * self._size
        look: dict[str, Any] = {"point_size": size, "point_shape": "circle", "precision": "float32"}
        self._show(kind, points, lambda path: add(path, points.astype(np.float32), colour, **look))

    def _show(self, kind: str, points: Array, add: Callable[[str], Any]) -> None:
        """Show points with the node of a kind, which `add` makes at the first time; hide it without any."""
        node = self._nodes.get(kind)
        if not len(points):
            if node is not None:
                node.visible = False
        elif node is None:
            self._nodes[kind] = add(f"{self._name}/{kind}")
        else:
            node.points = points.astype(np.float32)
            node.visible = True

    def _tendons(self, bodies: Array) -> None:
        found = marks.tendons_of(self._world, bodies)
        pieces, colours = [], []
        for tendon in found:
            rgb = [round(255.0 * min(max(c, 0.0), 1.0)) for c in tendon.rgba[:3]]
            for line in tendon.lines:
                pieces.append(np.stack([line[:-1], line[1:]], axis=1))
                colours.append(np.tile(rgb, (len(line) - 1, 2, 1)))
        if not pieces:
            return
        width = max(tendon.radius for tendon in found)
        points, shades = np.concatenate(pieces).astype(np.float32), np.concatenate(colours).astype(np.uint8)
        node = self._nodes.get("Tendons")
        if node is not None and len(node.points) == len(points):
            node.points = points
            return
        # wrapping changes the number of pieces, and colours go with it
        self._nodes["Tendons"] = self._server.scene.add_line_segments(
            f"{self._name}/Tendons", points, shades, thickness=2.0 * width, thickness_units="world"
        )
