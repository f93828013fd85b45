# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The `add_shape_*` methods of a ModelBuilder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldline._src.errors import ArgumentError
from worldline._src.model.builder_shapes import add_mesh, add_shape
from worldline._src.model.records import ShapeOptions
from worldline._src.spatial.poses import VectorLike, numbers

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ShapeMethods:
    """Shapes on the links of a builder, and on the world."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, Any]] = []
        """Body, -1 for the world, and description of every shape."""
        self._assets: Any = None

    @property
    def assets(self) -> Any:
        """Meshes of the shapes."""
        if self._assets is None:
            from worldline._src.scene.asset_specs import AssetSpecs

            self._assets = AssetSpecs()
        return self._assets

    def add_shape_box(
        self, body: int, hx: float = 0.5, hy: float = 0.5, hz: float = 0.5, **options: Unpack[ShapeOptions]
    ) -> int:
        """A box by its half sizes [m]. Its mass is added to the body; -1 is the world. Returns the shape.

        Example:
            >>> from worldline.model import ModelBuilder
            >>> builder = ModelBuilder()
            >>> crate = builder.add_body()
            >>> _ = builder.add_shape_box(crate, 0.1, 0.1, 0.1)
            >>> model = builder.finalize()
            >>> round(float(model.body_mass[0]), 9), model.shapes.label
            (8.0, ['shape_001'])
        """
        return self._add_shape(body, "Box", (hx, hy, hz), options)

    def add_shape_sphere(self, body: int, radius: float = 1.0, **options: Unpack[ShapeOptions]) -> int:
        """A sphere; see `add_shape_box`."""
        return self._add_shape(body, "Sphere", (radius,), options)

    def add_shape_capsule(
        self, body: int, radius: float = 1.0, half_height: float = 0.5, **options: Unpack[ShapeOptions]
    ) -> int:
        """A capsule along z; `half_height` is that of the cylinder between its caps. See `add_shape_box`."""
        return self._add_shape(body, "Capsule", (radius, half_height), options)

    def add_shape_cylinder(
        self, body: int, radius: float = 1.0, half_height: float = 0.5, **options: Unpack[ShapeOptions]
    ) -> int:
        """A cylinder along z; see `add_shape_box`."""
        return self._add_shape(body, "Cylinder", (radius, half_height), options)

    def add_shape_cone(
        self, body: int, radius: float = 1.0, half_height: float = 0.5, **options: Unpack[ShapeOptions]
    ) -> int:
        """A cone along z, its base at -half_height and its apex at half_height; see `add_shape_box`."""
        return self._add_shape(body, "Cone", (radius, half_height), options)

    def add_shape_ellipsoid(
        self, body: int, a: float = 1.0, b: float = 0.75, c: float = 0.5, **options: Unpack[ShapeOptions]
    ) -> int:
        """An ellipsoid by its semi-axes [m]; see `add_shape_box`."""
        return self._add_shape(body, "Ellipsoid", (a, b, c), options)

    def add_shape_plane(
        self, body: int = -1, width: float = 0.0, length: float = 0.0, **options: Unpack[ShapeOptions]
    ) -> int:
        """A plane with normal z, solid below, of the given sizes along x and y [m]; 0 is infinite.

        Only on the world or on a body that nothing moves.
        """
        width, length = (float(numbers(x, (), "size of a plane")) for x in (width, length))
        endless = not width and not length
        size = () if endless else (0.5 * width, 0.5 * length)
        return self._add_shape(body, "InfinitePlane" if endless else "Plane", size, options)

    def add_ground_plane(self, height: float = 0.0, label: str | None = None) -> int:
        """An infinite plane at z = `height` [m], fixed to the world. Returns the shape."""
        z = float(numbers(height, (), "height"))
        return self.add_shape_plane(xform=(0.0, 0.0, z, 0.0, 0.0, 0.0, 1.0), label=label)

    def add_shape_mesh(
        self,
        body: int,
        vertices: Any,
        indices: Any,
        scale: VectorLike | None = None,
        **options: Unpack[ShapeOptions],
    ) -> int:
        """A mesh: vertices [m] (N, 3), triangles (M, 3), counter-clockwise seen from outside."""
        mesh = add_mesh(self.assets, vertices, indices)
        try:
            return self._add_shape(body, "Mesh", (), options, mesh, scale)
        except Exception:
            del self.assets.meshes[mesh]
            raise

    def _add_shape(
        self: Any,
        body: int,
        shape: str,
        size: tuple[float, ...],
        options: Any,
        mesh: str | None = None,
        scale: VectorLike | None = None,
    ) -> int:
        unknown = set(options) - {"xform", "cfg", "label"}
        if unknown:
            raise ArgumentError(f"unknown keyword {sorted(unknown)[0]!r} for a shape")
        body = self._link(body, "body of a shape", world=True)
        given = (options.get("xform"), options.get("cfg"), options.get("label"))
        return self._indexed(add_shape(self, body, shape, size, *given, mesh, scale))
