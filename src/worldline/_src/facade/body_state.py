# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Mass, velocity, momentum and energy of one body, the same for rigid bodies and links."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.facade import values
from worldline._src.facade.body_options import checked_inertia, six_moments
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.frame import Frame
from worldline._src.facade.inertia import Inertia
from worldline._src.facade.quantities import Quantity, quantity
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.model.model import Model
from worldline._src.scene.bodies import Link as SceneLink
from worldline._src.scene.options import InertiaSource
from worldline._src.spatial.poses import Array
from worldline._src.step.dynamics import link_accelerations

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime


def describe_mass(link: SceneLink, model: Model, b: int) -> None:
    """Write the mass properties of a body of a model as those given to its link.

    What was left to the shapes of the link still follows them.
    """
    given, com, moments = link.inertial, model.body_com[b].tolist(), six_moments(model.body_inertia[b])
    if given.has_own_moments and given.full_inertia is None and given.diag_inertia is None:
        given.has_own_moments = False
    if given.has_own_pos and given.pos is None:
        given.has_own_pos = False
    given.mass = float(model.body_mass[b])
    # to convert what is there already would cost more than all of the model
    if given.pos is None or not _is_same(given.pos.tolist(), com):
        given.pos = com
    if given.diag_inertia is not None or given.orientation is not None:
        given.diag_inertia = given.orientation = None
    if given.full_inertia is None or not _is_same(given.full_inertia, moments):
        given.full_inertia = moments


def _is_same(a: list[float], b: list[float]) -> bool:
    """Whether numbers are equal, and zeros too in their sign."""
    return a == b and (0.0 not in b or str(a) == str(b))


def give_all_masses(runtime: Runtime) -> None:
    """Replace compile options that override given mass properties by what they led to.

    Where a scene takes inertia from its geoms alone, scales masses to a total or bounds them, one that is
    written would be computed anew with the next compilation: all are given from here on.
    """
    options = runtime.scene.compile_options
    overrides = options.inertia_source is InertiaSource.Geometry or options.balance_inertia
    if not (overrides or options.total_mass or options.bound_mass or options.bound_inertia):
        return
    for link in runtime.scene.hierarchy.links():
        if id(link) in runtime.link_body:
            describe_mass(link, runtime.model, runtime.link_body[id(link)])
    options.inertia_source, options.balance_inertia = InertiaSource.Auto, False
    options.bound_mass, options.bound_inertia, options.total_mass = 0.0, 0.0, None


def _number(column: str, write: Callable[[Any, Any], None], doc: str) -> Any:
    """A number of the body in a column of the model."""

    def read(frame: MassiveFrame) -> float:
        runtime, b = frame._index()
        return float(getattr(runtime.model, column)[b])

    return quantity(read, write, doc)


class MassiveFrame(Frame):
    """A frame that moves with a body of the model."""

    def __init__(self, world: WorldRuntime, link: SceneLink) -> None:
        super().__init__(world)
        self._link = link
        self._scaled: tuple[float, Array, Array] | None = None
        """Mass and inertia that the last write of the mass scaled, and the inertia it led to."""

    def _kind(self) -> str:
        return type(self).__name__

    def _index(self) -> tuple[Any, int]:
        """The runtime and the index of the body in its model."""
        runtime = self._live()
        return runtime, runtime.link_body[id(self._link)]

    def _pose(self) -> Array:
        """Position and xyzw in the world frame; a view, to be copied at once."""
        runtime = self._live()
        b = runtime.link_body[id(self._link)]
        return runtime.sim.fresh_poses()[b]

    # ---- mass properties

    def _set_mass(self, value: float) -> None:
        runtime, b = self._index()
        mass = values.mass_of(value, f"{self._kind()} mass of '{self.name}': {self._kind()} mass")
        model, columns = runtime.model, dict[str, Any](body_mass=mass)
        if self._follows_shapes() and model.body_mass[b] > 0.0:
            before, inertia = float(model.body_mass[b]), model.body_inertia[b].copy()
            if self._scaled is not None and np.array_equal(inertia, self._scaled[2]):
                # scaled from where the first of several writes began: the last one alone counts
                before, inertia = self._scaled[:2]
            columns["body_inertia"] = mass / before * inertia
            self._scaled = before, inertia, columns["body_inertia"]
        self._write(runtime, b, columns)

    mass: Quantity[float, float] = _number(
        "body_mass",
        _set_mass,
        "[kg]; an inertia that was not given but follows from shapes is scaled with it.",
    )

    @property
    def inertia(self) -> Array:
        """About the centre of mass, axes of this frame [kg m^2], (3, 3).

        One that was not given is that of the collision shapes with uniform density, scaled to the mass. One
        that is assigned stays when shapes come and go, and so does the centre of mass it is about.
        """
        runtime, b = self._index()
        return runtime.model.body_inertia[b].copy()

    @inertia.setter
    def inertia(self, value: TransformLike) -> None:
        runtime, b = self._index()
        inertia = values.inertia_of(value, f"{self._kind()} inertia of '{self.name}': {self._kind()} inertia")
        self._write(runtime, b, {"body_inertia": inertia}, has_own_moments=True, has_own_pos=True)

    @property
    def center_of_mass(self) -> Array:
        """In this frame [m], (3,); that of the shapes when neither it nor an inertia was given."""
        runtime, b = self._index()
        return runtime.model.body_com[b].copy()

    @center_of_mass.setter
    def center_of_mass(self, value: VectorLike) -> None:
        runtime, b = self._index()
        center = values.vector3(value, f"{self._kind()} center of mass")
        self._write(runtime, b, {"body_com": center}, has_own_pos=True)

    @property
    def mass_properties(self) -> Inertia:
        """Mass, centre of mass and inertia as one value; assigning one sets all three at once.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World()
            >>> ball = world.add_rigid_body("ball")
            >>> ball.mass_properties = sx.Inertia.from_sphere(0.5, mass=10.0)
            >>> ball.mass, ball.mass_properties.principal_moments.round(12).tolist()
            (10.0, [1.0, 1.0, 1.0])
        """
        runtime, b = self._index()
        model = runtime.model
        return Inertia._as_found(float(model.body_mass[b]), model.body_com[b], model.body_inertia[b])

    @mass_properties.setter
    def mass_properties(self, value: Inertia) -> None:
        runtime, b = self._index()
        given = checked_inertia(value, f"{self._kind()} '{self.name}' mass properties")
        columns = {"body_mass": given.mass, "body_com": given.center_of_mass, "body_inertia": given.moment}
        self._write(runtime, b, columns, has_own_moments=True, has_own_pos=True)

    def _set_gravity_compensation(self, value: float) -> None:
        runtime, b = self._index()
        share = values.real(value, f"{self._kind()} gravity compensation")
        shares = np.array(runtime.model.body_gravcomp)
        shares[b] = share
        model = runtime.model
        before, forces = model.compensates_gravity, model.joint_forces
        runtime.update(body_gravcomp=shares)
        self._link.gravcomp = share
        if model.compensates_gravity != before and forces is not None and forces.actuated_gravcomp.any():
            # which joints compensate by their actuators is settled when the description is compiled
            self._world._topology_changed()

    gravity_compensation: Quantity[float, float] = _number(
        "body_gravcomp",
        _set_gravity_compensation,
        "Share of its weight that is compensated; 1 makes it float.",
    )

    def _follows_shapes(self) -> bool:
        """Whether the inertia follows from shapes and mass: none was given, and there are shapes."""
        given = self._link.inertial
        if given.full_inertia is None and given.diag_inertia is None:
            return True
        return not given.has_own_moments and self._has_volume()

    def _has_volume(self) -> bool:
        """Whether there are shapes to derive an inertia from."""
        return False

    def _write(
        self,
        runtime: Any,
        b: int,
        columns: dict[str, Any],
        *,
        has_own_moments: bool = False,
        has_own_pos: bool = False,
    ) -> None:
        """Change mass properties in the model, then all of them in the description.

        What a file left to its shapes is written as numbers that still follow those.
        """
        runtime.update_rows(slice(b, b + 1), {name: np.array(x)[None] for name, x in columns.items()})
        give_all_masses(runtime)
        describe_mass(self._link, runtime.model, b)
        given = self._link.inertial
        if has_own_moments:
            given.has_own_moments = True
        if has_own_pos:
            given.has_own_pos = True
        if "body_inertia" in columns and has_own_moments:
            given.is_checked = True

    # ---- motion

    def _velocity(self) -> tuple[Array, Array, Array]:
        """Velocity of the origin, angular velocity, centre of mass from the origin; world axes."""
        runtime, b = self._index()
        twist = runtime.sim.fresh_velocities()[b].copy()
        R = values.matrix_of(runtime.sim.fresh_poses()[b].copy())[:3, :3]
        lever = R @ runtime.model.body_com[b]
        angular = twist[3:]
        return twist[:3] - np.cross(angular, lever), angular, lever

    def _motion(self) -> tuple[Array, Array]:
        linear, angular, _ = self._velocity()
        return linear, angular

    @exclusive
    def _acceleration(self) -> tuple[Array, Array]:
        runtime, b = self._index()
        rate = link_accelerations(runtime.model, runtime.sim.q, runtime.sim.v, runtime.sim.a)[b]
        return rate[3:].copy(), rate[:3].copy()

    @property
    def linear_momentum(self) -> Array:
        """World axes [kg m/s], (3,)."""
        runtime, b = self._index()
        return runtime.model.body_mass[b] * runtime.sim.fresh_velocities()[b, :3]

    @property
    @exclusive
    def angular_momentum(self) -> Array:
        """About the centre of mass, world axes [kg m^2/s], (3,)."""
        runtime, b = self._index()
        R = values.matrix_of(runtime.sim.fresh_poses()[b])[:3, :3]
        return R @ runtime.model.body_inertia[b] @ R.T @ runtime.sim.fresh_velocities()[b, 3:]

    @property
    @exclusive
    def kinetic_energy(self) -> float:
        """[J]"""
        runtime, b = self._index()
        v = runtime.sim.fresh_velocities()[b]
        return float(0.5 * (runtime.model.body_mass[b] * (v[:3] @ v[:3]) + self.angular_momentum @ v[3:]))

    @property
    @exclusive
    def potential_energy(self) -> float:
        """In the gravity field, zero with the centre of mass at the world's origin [J]."""
        runtime, b = self._index()
        lever = self._velocity()[2]
        height = runtime.sim.fresh_poses()[b, :3] + lever
        return float(-runtime.model.body_mass[b] * (runtime.model.gravity @ height))
