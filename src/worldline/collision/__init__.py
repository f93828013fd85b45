# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Collision detection on its own: shapes, groups of objects, contacts, distances and rays.

>>> from worldline.collision import CollisionDetector, CollisionShape
>>> detector = CollisionDetector.create()
>>> group = detector.create_group()
>>> a = group.add(CollisionShape.sphere(1.0))
>>> b = group.add(CollisionShape.box((1, 1, 1)), pose=(3, 0, 0, 0, 0, 0, 1))
>>> detector.distance(group).distance
1.0
"""

from worldline._src.collision.coal import CoalDetector
from worldline._src.collision.detector import CollisionDetector
from worldline._src.collision.filters import CollisionFilter
from worldline._src.collision.group import CollisionGroup, CollisionObject
from worldline._src.collision.native import NativeDetector
from worldline._src.collision.results import (
    CollisionOption,
    CollisionResult,
    Contact,
    DistanceOption,
    DistanceResult,
    PairDistances,
    RaycastOption,
    RaycastResult,
    RayHit,
)
from worldline._src.collision.shapes import CollisionShape, CollisionShapeType

__all__ = [
    "CoalDetector", "CollisionDetector", "CollisionFilter", "CollisionGroup", "CollisionObject",
    "CollisionOption", "CollisionResult", "CollisionShape", "CollisionShapeType", "Contact", "DistanceOption",
    "DistanceResult", "NativeDetector", "PairDistances", "RayHit", "RaycastOption", "RaycastResult",
]  # fmt: skip
