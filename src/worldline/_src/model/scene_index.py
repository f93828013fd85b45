# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Index map from named objects of a scene to rows of a Model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from functools import wraps
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from worldline._src.errors import SceneError
from worldline._src.model.scene_trees import SceneTrees
from worldline._src.scene.bodies import Frame, Link
from worldline._src.scene.cameras import Camera
from worldline._src.scene.closures import FrameRef
from worldline._src.scene.geometry import Geometry, Site
from worldline._src.scene.hints import hint
from worldline._src.scene.kinds import WORLD
from worldline._src.scene.world import World
from worldline._src.spatial.poses import Array, compose, transform

Made = TypeVar("Made")


def shared_when_empty(rows: Callable[[World], Sized]) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """For makers of tables from scenes: scenes with no rows for a table share one, which is read-only."""

    def decorate(make: Callable[..., Made]) -> Callable[..., Made]:
        kept: list[Made] = []

        @wraps(make)
        def table(world: World, *more: Any) -> Made:
            if len(rows(world)):
                return make(world, *more)
            if not kept:
                kept.append(make(world, *more))
            return kept[0]

        return table

    return decorate


def labels(names: Sequence[str | None], what: str) -> list[str]:
    """The names, with made-up ones for those that have none; all different."""
    taken = set(names)
    if None not in taken and "" not in taken:
        return list(names)  # type: ignore[arg-type]
    found: list[str] = []
    number = 0
    for name in names:
        while not name:
            number += 1
            made = f"{what}_{number:03d}"
            name = None if made in taken else made
        found.append(name)
    return found


def pose(position: Array, rotation: Array) -> Array:
    """7 numbers of a place and a quaternion of any length."""
    return transform(np.array([*position.tolist(), *rotation.tolist()]), "pose")


def upright(direction: Array) -> list[float]:
    """The smallest turn that takes z to a unit vector, xyzw of any length."""
    x, y, z = direction.tolist()
    # a half turn has no single axis
    return [-y, x, 0.0, 1.0 + z] if z > -1.0 + 1e-12 else [1.0, 0.0, 0.0, 0.0]


class Names(dict[str, int]):
    """Indices by name; a name that is missing is a fault of the scene."""

    def __init__(self, what: str, names: Sequence[Any], indices: Iterable[int] | None = None) -> None:
        super().__init__(zip(names, range(len(names)) if indices is None else indices, strict=True))
        for nobody in (None, ""):
            self.pop(nobody, None)  # type: ignore[arg-type]
        self.what = what

    def __missing__(self, name: str) -> int:
        raise SceneError(f"no {self.what} {name!r} in the trees of the scene{hint(name, self)}")


class SceneIndex:
    """Objects of a scene in the order of the Model's tables, and their indices by name.

    Attributes:
        geoms, sites, cameras: (body, object) in order, those of the world first.
        frames: (body, pose in it) of every named frame.
    """

    def __init__(self, world: World, trees: SceneTrees) -> None:
        hierarchy = world.hierarchy
        self.trees = trees
        self.geoms: list[tuple[int, Geometry]] = [(-1, geom) for geom in hierarchy.geoms]
        self.sites: list[tuple[int, Site]] = [(-1, site) for site in hierarchy.sites]
        self.cameras: list[tuple[int, Camera]] = [(-1, camera) for camera in hierarchy.cameras]
        links = chain.from_iterable(trees.links.values())
        self.links: list[tuple[int, Link]] = [(trees.link_body[id(link)], link) for link in links]
        for body, link in self.links:
            self.geoms += [(body, geom) for geom in link.geoms]
            self.sites += [(body, site) for site in link.sites]
            self.cameras += [(body, camera) for camera in link.cameras]
        bodies = [body for body, _ in self.links]
        self.body = Names("link", [link.name for _, link in self.links], bodies)
        self.body[WORLD] = -1
        self.joint = Names("joint", [joint.label for joint in trees.builder.joints])
        self.shape = Names("geom", [geom.name for _, geom in self.geoms])
        self.site = Names("site", [site.name for _, site in self.sites])
        self.camera = Names("camera", [camera.name for _, camera in self.cameras])
        tendons = (*world.tendon_set.joint_tendons, *world.tendon_set.spatial_tendons)
        self.tendon = Names("tendon", [tendon.name for tendon in tendons])
        self.actuator = Names("actuator", [actuator.name for actuator in world.actuators])
        self.frame = Names("frame", [frame.name for frame in world.frames])
        self.frames = self._placed(world.frames)

    def _placed(self, frames: Sequence[Frame]) -> list[tuple[int, Array]]:
        """Frames may hang on each other; each ends on a body or on the world."""
        found: list[tuple[int, Array]] = []
        for frame in frames:
            here, local = frame, pose(frame.position, frame.orientation)
            while here.parent_frame is not None:
                here = frames[self.frame[here.parent_frame]]
                local = compose(pose(here.position, here.orientation), local)
            found.append((-1 if here.parent_link is None else self.body[here.parent_link], local))
        return found

    def end(self, ref: FrameRef) -> tuple[int, Array]:
        """Body and pose of one end of a closure or a spring."""
        local = pose(ref.position, ref.orientation)
        if ref.link is not None:
            return self.body[ref.link], local
        if ref.frame is not None:
            body, X = self.frames[self.frame[ref.frame]]
            return body, compose(X, local)
        return -1, local
