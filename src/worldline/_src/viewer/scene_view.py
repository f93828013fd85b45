# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Scene on the page: shapes, marks, perturbations, and cameras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.drawing import cameras
from worldline._src.drawing.cameras import View, camera_pose
from worldline._src.drawing.items import SHOWN_GROUPS, items_of
from worldline._src.drawing.placement import body_poses
from worldline._src.spatial.poses import Array
from worldline._src.viewer.overlays import Overlays
from worldline._src.viewer.shapes import ShapeNodes

if TYPE_CHECKING:
    from worldline._src.facade.world import World

ROOT = "/world"


class SceneView:
    """The drawn side of one World, made again when the World was changed."""

    def __init__(self, server: Any, world: World) -> None:
        self._server, self._world = server, world
        self.runtime = world._live()
        self.groups: set[int] = set(SHOWN_GROUPS)
        q = self.runtime.sim.q.copy()
        bodies = body_poses(self.runtime.model, q)
        items = items_of(world)
        low, high = items.bounds(bodies)
        self.size = max(0.5 * float(np.linalg.norm(high - low)), 1e-2)
        self.shapes = ShapeNodes(server, f"{ROOT}/shapes", items, items.poses(bodies), self._is_shown)
        self.overlays = Overlays(server, f"{ROOT}/marks", world, self.size)
        self._pull: Any = None
        self._q = q
        self.bodies = bodies
        """Poses of the bodies as drawn last, the world's own last."""
        self._followed = -1
        self._looked: dict[int, int] = {}

    def _is_shown(self, item: Any) -> bool:
        return item.group in self.groups

    def show_group(self, group: int, on: bool) -> None:
        """Show or hide a visibility group."""
        (self.groups.add if on else self.groups.discard)(group)
        self.shapes.show(self._is_shown)

    def home(self) -> View:
        """A camera that has everything in view."""
        return cameras.free_view(self._world, self.shapes.items, self.bodies)

    def draw(self, pull: Array | None, force: bool = False) -> bool:
        """Show the World as it is now; False when nothing has moved since."""
        q = self.runtime.sim.q.copy()
        if not np.isfinite(q).all():
            return False
        if not force and np.array_equal(q, self._q) and pull is None and self._pull is None:
            return False
        before = self.bodies
        bodies = body_poses(self.runtime.model, q)
        with self._server.atomic():
            self.shapes.place(self.shapes.items.poses(bodies))
            self.overlays.draw(q, bodies)
            self._draw_pull(pull)
        self._q, self.bodies = q, bodies
        self._move_cameras(before)
        return True

    def _draw_pull(self, pull: Array | None) -> None:
        if pull is None:
            if self._pull is not None:
                self._pull.remove()
                self._pull = None
            return
        if self._pull is None:
            radii = {"shaft_radius": 0.006 * self.size, "head_radius": 0.015 * self.size}
            self._pull = self._server.scene.add_arrows(
                f"{ROOT}/pull", pull[None], (230, 60, 120), head_length=0.04 * self.size, **radii
            )
        else:
            self._pull.points = pull[None].astype(np.float32)

    # ---- cameras

    def follow(self, body: int) -> None:
        """Let cameras go with a body from now on; -1 for none."""
        self._followed = body

    def look_through(self, client: Any, camera: int) -> None:
        """Let one client look through a camera of the scene; -1 lets it go."""
        if camera < 0:
            self._looked.pop(client.client_id, None)
        else:
            self._looked[client.client_id] = camera
            self._aim(client, camera)

    def go_home(self, client: Any) -> None:
        """Let one client see everything there is, wherever it was looking."""
        self._looked.pop(client.client_id, None)
        view = self.home()
        with client.atomic():
            client.camera.up_direction = (0.0, 0.0, 1.0)
            client.camera.position = view.position
            client.camera.look_at = view.position + cameras.usual_distance(self.size) * view.forward

    def _aim(self, client: Any, camera: int) -> None:
        view = cameras.view_of(self._world, camera, self.shapes.items, self.bodies)
        pose = camera_pose(view)
        # the page's cameras look along +z with y down
        x, y, z, w = pose[3:]
        client.camera.position = view.position
        client.camera.wxyz = np.array([-x, w, z, -y])
        if not view.orthographic:
            client.camera.fov = float(np.radians(view.fovy))

    def _move_cameras(self, before: Array) -> None:
        if self._followed < 0 and not self._looked:
            return
        shift = self.bodies[self._followed, :3] - before[self._followed, :3]
        for number, client in self._server.get_clients().items():
            if number in self._looked:
                self._aim(client, self._looked[number])
            elif self._followed >= 0 and shift.any():
                # what it looks at goes with it
                client.camera.position = client.camera.position + shift

    def remove(self) -> None:
        """Take everything off the page."""
        self.shapes.remove()
        self.overlays.remove()
        self._draw_pull(None)
