# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Members of World that find its objects: collections, counts, lookups by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from worldline._src.errors import ArgumentError
from worldline._src.facade import cloning, end_effector, marker, values
from worldline._src.facade import closure_projection as projection
from worldline._src.facade import independent_coordinates as independents
from worldline._src.facade.closure_projection import ClosureProjectionOptions, ClosureProjectionReport
from worldline._src.facade.collections import LoopClosureCollection, NamedCollection, RigidBodyCollection
from worldline._src.facade.end_effector import EndEffector
from worldline._src.facade.frame import FixedFrame, Frame, FreeFrame
from worldline._src.facade.known_names import KnownNames
from worldline._src.facade.link import Link
from worldline._src.facade.loop_closure import LoopClosure
from worldline._src.facade.marker import Marker
from worldline._src.facade.multibody import Multibody
from worldline._src.facade.quantities import Reading, reading
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.sensors import Sensor, SensorCollection
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.scene.geometry import SiteShape

if TYPE_CHECKING:
    from worldline._src.facade.degree_of_freedom import DegreeOfFreedom
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.world import World


class WorldObjects(KnownNames):
    """The objects of a World by kind, name and number."""

    if TYPE_CHECKING:
        _rigid_bodies: dict[str, RigidBody]
        _multibodies: dict[str, Multibody]
        _frames: dict[str, FixedFrame | FreeFrame]
        _loop_closures: dict[str, LoopClosure]
        _sensors: dict[str, Sensor]
        _markers: dict[int, Marker]
        _closure_projection: ClosureProjectionOptions
        _projection: projection.Kept | None
        _projection_report: ClosureProjectionReport | None

    @property
    def rigid_bodies(self) -> RigidBodyCollection:
        """All rigid bodies in construction order."""
        return RigidBodyCollection("rigid body", lambda: self._rigid_bodies)

    @property
    def multibodies(self) -> NamedCollection[Multibody]:
        """All multibodies in construction order."""
        return NamedCollection("multibody", lambda: self._multibodies)

    @property
    def loop_closures(self) -> LoopClosureCollection:
        """All loop closures in construction order."""
        return LoopClosureCollection("loop closure", lambda: self._loop_closures)

    @property
    def closure_projection(self) -> ClosureProjectionOptions:
        """How closures with the policy PROJECT are closed; a copy, assign it back to change it.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> world.closure_projection = sx.ClosureProjectionOptions(tolerance=1e-8)
            >>> world.closure_projection.tolerance
            1e-08
        """
        return self._closure_projection.copy()

    @closure_projection.setter
    def closure_projection(self, value: ClosureProjectionOptions) -> None:
        world = cast("World", self)
        if not isinstance(value, ClosureProjectionOptions):
            raise values.ShapeError(f"closure_projection must be ClosureProjectionOptions, got {value!r}")
        projection.require_joints(world, value)
        world._require_idle()
        self._closure_projection, self._projection = value.copy(), None
        if world._runtime is not None:
            projection.watch(world, world._runtime)

    @property
    def closure_projection_report(self) -> ClosureProjectionReport | None:
        """What the last projection of closures did, up to date; None when there was none."""
        cast("World", self)._live()
        return self._projection_report

    def independent_coordinates(
        self,
        independent: Iterable[Joint | DegreeOfFreedom] | Joint | DegreeOfFreedom | None = None,
        *,
        closures: Iterable[LoopClosure] | LoopClosure | None = None,
    ) -> independents.IndependentCoordinates:
        """The World as a closed mechanism of as many coordinates as it has freedoms: a view of its own.

        Trees, closures and their numbers of degrees of freedom stay what they are.

        Args:
            independent: joints or degrees of freedom whose velocities determine all others; None for those
                that do so best at the present coordinates.
            closures: which closures count; all that are enabled when None. They must be closed.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(gravity=(0, 0, 0))
            >>> carts = world.add_multibody("carts")
            >>> base = carts.add_link("base")
            >>> for name in "ab":
            ...     spec = sx.JointSpec(name, sx.JointType.PRISMATIC, axis=(1, 0, 0))
            ...     cart = carts.add_link(name, base, spec, mass=2.0)
            >>> rod = world.add_loop_closure("rod", frame_a=carts.links["a"], frame_b=carts.links["b"])
            >>> reduced = world.independent_coordinates(carts.joints["a"])
            >>> reduced.mass_matrix.tolist(), reduced.forward_dynamics([8.0]).tolist()
            ([[4.0]], [2.0])
        """
        return independents.independent_coordinates(cast("World", self), closures, independent)

    @property
    def frames(self) -> NamedCollection[FixedFrame | FreeFrame]:
        """All named frames in construction order."""
        return NamedCollection("frame", lambda: self._frames)

    @property
    def sensors(self) -> SensorCollection:
        """All sensors of the description in the order of their readings; `values` reads all at once."""
        return SensorCollection(cast("World", self))

    @property
    def markers(self) -> NamedCollection[Marker]:
        """All named places on bodies and on the world; sites of a file are among them."""
        return NamedCollection("marker", lambda: marker.markers_by_name(cast("World", self)))

    def add_marker(
        self,
        name: str = "",
        parent: Frame | None = None,
        *,
        position: VectorLike = (0.0, 0.0, 0.0),
        orientation: VectorLike = (0.0, 0.0, 0.0, 1.0),
        shape: SiteShape = SiteShape.Sphere,
        size: VectorLike = (0.01, 0.0, 0.0),
        rgba: VectorLike = (0.5, 0.5, 0.5, 1.0),
    ) -> Marker:
        """A named place without mass, in design mode or within `edit()`.

        Args:
            name: unique among the markers; made up when empty.
            parent: rigid body or link it moves with; the world when None.
            position: in the parent [m], (3,).
            orientation: in the parent, xyzw, (4,).
            shape: a member of `worldline.msd.SiteShape`.
            size: half sizes [m], (3,).
            rgba: colour and opacity, 0 to 1, (4,).
        """
        world = cast("World", self)
        return marker.add_marker(world, name, parent, position, orientation, shape, size, rgba)

    num_rigid_bodies: Reading[int] = reading(
        lambda world: len(world._rigid_bodies), "Number of rigid bodies."
    )
    num_multibodies: Reading[int] = reading(lambda world: len(world._multibodies), "Number of multibodies.")
    num_loop_closures: Reading[int] = reading(
        lambda world: len(world._loop_closures), "Number of loop closures."
    )

    @property
    def num_dofs(self) -> int:
        """Degrees of freedom of all multibodies."""
        return sum(robot.num_dofs for robot in self._multibodies.values())

    def get_rigid_body(self, name: str) -> RigidBody | None:
        """The rigid body of that name, or None."""
        return self._rigid_bodies.get(values.key(name, "name of a rigid body"))

    def get_multibody(self, name: str) -> Multibody | None:
        """The multibody of that name, or None."""
        return self._multibodies.get(values.key(name, "name of a multibody"))

    def get_loop_closure(self, name: str) -> LoopClosure | None:
        """The loop closure of that name, or None."""
        return self._loop_closures.get(values.key(name, "name of a loop closure"))

    def get_frame(self, name: str) -> FixedFrame | FreeFrame | None:
        """The named frame of that name, or None."""
        return self._frames.get(values.key(name, "name of a frame"))

    def get_rigid_body_names(self) -> list[str]:
        """Names of all rigid bodies, sorted."""
        return sorted(self._rigid_bodies)

    def has_rigid_body(self, name: str) -> bool:
        """Whether there is a rigid body of that name."""
        return isinstance(name, str) and name in self._rigid_bodies

    def has_multibody(self, name: str) -> bool:
        """Whether there is a multibody of that name."""
        return isinstance(name, str) and name in self._multibodies

    def has_loop_closure(self, name: str) -> bool:
        """Whether there is a loop closure of that name."""
        return isinstance(name, str) and name in self._loop_closures

    def has_frame(self, name: str) -> bool:
        """Whether there is a named frame of that name."""
        return isinstance(name, str) and name in self._frames

    def _own_frame(self, frame: object, what: str) -> None:
        """Refuse what is no frame, dead, or of another world."""
        if not isinstance(frame, Frame):
            raise values.ShapeError(f"{what} must be a frame, body or link, got {frame!r}")
        frame._require_alive()
        if not frame.is_world and frame._world is not self:
            raise ArgumentError(
                f"{what} '{frame.name}' belongs to a different world; only frames of this World can be used"
            )

    def _clone_multibody(
        self, robot: Multibody, name: str, translation: VectorLike, rotation: VectorLike
    ) -> Multibody:
        """See `Multibody.clone`."""
        return cloning.clone_multibody(robot, name, translation, rotation)

    def _add_end_effector(
        self, robot: Multibody, name: str, link: Link, offset: TransformLike | None
    ) -> EndEffector:
        """See `Multibody.add_end_effector`."""
        return end_effector.add_end_effector(robot, name, link, offset)
