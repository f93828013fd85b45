# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The shapes of a World as nodes of the page.

Shapes that share their triangles are one node with many instances, so that a frame is two arrays for each
kind of shape and not a message for each body. Shapes with a texture are nodes of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from worldline._src.drawing.items import Item, Items, texcoords
from worldline._src.drawing.triangles import Triangles
from worldline._src.spatial.poses import Array

WXYZ = [6, 3, 4, 5]
"""Columns of poses that are a quaternion in the page's order."""


class Batch:
    """Items of one node: same triangles, group and transparency."""

    def __init__(self, handle: Any, rows: np.ndarray, is_static: bool) -> None:
        self.handle, self.rows, self.is_static = handle, rows, is_static

    def place(self, poses: Array) -> None:
        """Move the instances to where the items are."""
        mine = poses[self.rows].astype(np.float32)
        self.handle.batched_positions = mine[:, :3]
        self.handle.batched_wxyzs = mine[:, WXYZ]


class Single:
    """One item with a node of its own."""

    def __init__(self, handle: Any, row: int, is_static: bool) -> None:
        self.handle, self.rows, self.is_static = handle, np.array([row]), is_static

    def place(self, poses: Array) -> None:
        """Move the node to where the item is."""
        pose = poses[self.rows[0]]
        self.handle.position = pose[:3]
        self.handle.wxyz = pose[WXYZ]


class ShapeNodes:
    """Nodes of some items under one name of the page's tree.

    Args:
        server: the server of the page.
        name: of the part of the tree.
        items: what to draw.
        poses: where they are at first, (n, 7).
        is_shown: whether an item is shown at first.
    """

    def __init__(
        self, server: Any, name: str, items: Items, poses: Array, is_shown: Callable[[Item], bool]
    ) -> None:
        self.items = items
        self.nodes: list[Batch | Single] = []
        groups: dict[Any, list[int]] = {}
        for k, item in enumerate(items.rows):
            a = item.look.rgba[3]
            if a <= 0.0:
                continue
            if texcoords(item) is not None:
                self._add_single(server, f"{name}/textured_{k}", k, poses[k], is_shown(item))
            else:
                groups.setdefault((item.mesh_key, item.group, round(a, 3), item.body < 0), []).append(k)
        for number, (key, rows) in enumerate(groups.items()):
            self._add_batch(server, f"{name}/shapes_{number}", key, np.array(rows), poses, is_shown)

    def _add_batch(
        self,
        server: Any,
        name: str,
        key: Any,
        rows: np.ndarray,
        poses: Array,
        is_shown: Callable[[Item], bool],
    ) -> None:
        members = [self.items.rows[k] for k in rows.tolist()]
        vertices, faces = welded(members[0].mesh)
        opacity, flat = key[2], key[0] in ("plane", "endless plane")
        handle = server.scene.add_batched_meshes_simple(
            name,
            vertices,
            faces,
            batched_wxyzs=poses[rows][:, WXYZ],
            batched_positions=poses[rows][:, :3],
            batched_scales=np.array([item.scale for item in members], np.float32),
            batched_colors=np.array([_rgb(item) for item in members], np.uint8),
            opacity=None if opacity >= 1.0 else opacity,
            lod="off",
            side="double" if flat else "front",
            # a plane would throw stripes of shade on itself
            cast_shadow=not flat,
            visible=is_shown(members[0]),
        )
        self.nodes.append(Batch(handle, rows, key[3]))

    def _add_single(self, server: Any, name: str, row: int, pose: Array, shown: bool) -> None:
        item = self.items.rows[row]
        handle = server.scene.add_mesh_trimesh(
            name, _textured(item), position=pose[:3], wxyz=pose[WXYZ], visible=shown, cast_shadow=False
        )
        self.nodes.append(Single(handle, row, item.body < 0))

    def place(self, poses: Array) -> None:
        """Move what can move; poses of all items, (n, 7)."""
        for node in self.nodes:
            if not node.is_static:
                node.place(poses)

    def show(self, is_shown: Callable[[Item], bool]) -> None:
        """Show some of the items and hide the others; items of a node are alike."""
        for node in self.nodes:
            node.handle.visible = is_shown(self.items.rows[int(node.rows[0])])

    def fade(self, share: float) -> None:
        """Make bodies that move this much transparent, to see marks within them; 1 is as they are."""
        for node in self.movable():
            own = self.items.rows[int(node.rows[0])].look.rgba[3]
            node.handle.opacity = None if own * share >= 1.0 else own * share

    def remove(self) -> None:
        """Take the nodes off the page."""
        for node in self.nodes:
            node.handle.remove()
        self.nodes.clear()

    def movable(self) -> Iterable[Batch]:
        """Nodes whose instances belong to bodies that move."""
        return (node for node in self.nodes if isinstance(node, Batch) and not node.is_static)


def welded(mesh: Triangles) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces, joined where place and normal agree: the page makes normals of its own."""
    both = np.round(np.concatenate([mesh.vertices, mesh.normals], axis=1), 6)
    kept, index = np.unique(both, axis=0, return_inverse=True)
    faces = index.reshape(-1)[mesh.faces]
    whole = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return kept[:, :3].astype(np.float32), faces[whole].astype(np.uint32)


def _rgb(item: Item) -> list[int]:
    return [round(255.0 * min(max(channel, 0.0), 1.0)) for channel in item.look.rgba[:3]]


def _textured(item: Item) -> Any:
    """An item with its texture, as trimesh has it."""
    import trimesh
    from PIL import Image
    from trimesh.visual import TextureVisuals
    from trimesh.visual.material import PBRMaterial

    assert item.look.texture is not None
    factor = [*_rgb(item), round(255 * item.look.rgba[3])]
    material = PBRMaterial(
        baseColorTexture=Image.fromarray(item.look.texture.pixels),
        baseColorFactor=factor,
        metallicFactor=item.look.metallic * 0.3,
        roughnessFactor=max(item.look.roughness, 0.4),
        doubleSided=True,
    )
    visual = TextureVisuals(uv=texcoords(item), material=material)
    return trimesh.Trimesh(
        item.mesh.vertices * item.scale,
        item.mesh.faces,
        vertex_normals=item.mesh.normals,
        visual=visual,
        process=False,
    )
