# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""An articulated system: links, the joints between them, and the terms of its equations of motion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import construction, values
from worldline._src.facade.body_options import LinkOptions, MassKeywords, overridden
from worldline._src.facade.collections import DofCollection, JointCollection, LinkCollection, NamedCollection
from worldline._src.facade.copying import Address
from worldline._src.facade.frame import Frame
from worldline._src.facade.freezing import Freezing
from worldline._src.facade.ground_contact import add_point, checked_ground, set_ground
from worldline._src.facade.joint_coordinates import from_coordinates, to_coordinates
from worldline._src.facade.joint_spec import JointSpec
from worldline._src.facade.link import Link
from worldline._src.facade.loop_closure import LoopClosureSpec, body_under
from worldline._src.facade.multibody_terms import MultibodyTerms, scattered
from worldline._src.facade.quantities import Reading, reading
from worldline._src.facade.subsets import Branch, Chain, Group, Linkage
from worldline._src.facade.subtrees import subtree
from worldline._src.facade.values import TransformLike, VectorLike
from worldline._src.facade.world_kind import known_kind
from worldline._src.keywords import shared_keywords
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.bodies import Body
from worldline._src.scene.closures import GroundContact
from worldline._src.spatial.poses import Array
from worldline._src.step import dynamics, jacobians

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from worldline._src.facade.degree_of_freedom import DegreeOfFreedom
    from worldline._src.facade.end_effector import EndEffector
    from worldline._src.facade.joint import Joint
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime


class _Layout(NamedTuple):
    """Where a multibody's numbers are in the arrays of the world, in construction order."""

    runtime: Runtime
    q: np.ndarray | slice
    v: np.ndarray | slice
    bodies: np.ndarray
    q_first: int
    v_first: int
    order: np.ndarray
    """Degrees of freedom within the multibody's block, in construction order."""
    parts: list[tuple[slice, slice, bool]]
    """Coordinates and degrees of freedom of every joint within the multibody, and whether they differ."""
    plain: tuple[np.ndarray | slice, np.ndarray | slice]
    """Coordinates in the world, and degrees of freedom, of joints of which they are the same."""
    turning: list[tuple[slice, slice]]
    """The same of each joint of which they differ."""
    scalar: bool


def _momentum(part: slice, doc: str) -> Any:
    """A part of the momentum of all links."""

    def read(robot: Multibody) -> Array:
        model, q, v, _ = robot._terms()
        return values.read_only(dynamics.momentum(model, q, v)[part])

    return reading(read, doc)


@known_kind
class Multibody(MultibodyTerms, Freezing):
    """An articulated system of links and joints.

    Vectors and matrices have one entry per degree of freedom, joint after joint in construction order, as
    `dofs` lists them. Closures never change their number.

    Example:
        >>> from worldline import simulation as sx
        >>> arm = sx.World().add_multibody("arm")
        >>> base = arm.add_link("base")
        >>> forearm = arm.add_link("forearm", parent=base, joint=sx.JointSpec(name="elbow"))
        >>> arm.num_links, arm.num_dofs, arm.joints.names
        (2, 1, ['elbow'])
    """

    def __init__(self, world: WorldRuntime, name: str) -> None:
        super().__init__(world)
        self._name = name
        self._bodies: list[Body] = []
        self._links: dict[str, Link] = {}
        self._joints: dict[str, Joint] = {}
        self._known: _Layout | None = None
        self._ground: GroundContact | None = None
        self._link_number = self._joint_number = 0
        self._thawed = []

    # ---- names

    @property
    def name(self) -> str:
        """Unique among the multibodies of the World; may be changed."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._require_alive()
        construction.rename_multibody(self, values.text(value, "multibody name"))

    def _path(self) -> Address:
        return "multibodies", self.name

    # ---- topology

    @shared_keywords(MassKeywords, mass=None, inertia=None, center_of_mass=None)
    def add_link(
        self,
        name: str = "",
        parent: Link | None = None,
        joint: JointSpec | None = None,
        options: LinkOptions | None = None,
        **masses: Unpack[MassKeywords],
    ) -> Link:
        """A new link; keywords override the options.

        Args:
            name: unique within the multibody; made up when empty.
            parent: the link it hangs on; None makes it a root.
            joint: how it hangs there. A root without one is fixed to the world; a link with a parent and
                without one is welded to it.
            options: mass properties and gravity compensation.
            mass: [kg].
            inertia: about the centre of mass, link axes [kg m^2], (3, 3), or an `Inertia` in the place of
                mass, inertia and centre of mass.
            center_of_mass: in the link frame [m], (3,).
        """
        who = (
            f"link '{name}' of multibody '{self._name}'"
            if isinstance(name, str) and name
            else f"a link of multibody '{self._name}'"
        )
        chosen = overridden(who, LinkOptions(), options, **masses)
        return construction.add_link(self, name, parent, joint, chosen)

    def clone(
        self,
        name: str = "",
        *,
        translation: VectorLike = (0.0, 0.0, 0.0),
        rotation: VectorLike = (0.0, 0.0, 0.0, 1.0),
    ) -> Multibody:
        """Another multibody like this one, in design mode or within `World.edit()`.

        Links, joints, shapes, frames, and what refers to nothing else come along, and so does the state of
        the joints. Names of links and joints stay; those unique in the World get the new name before them.

        Args:
            name: of the new one; made from this one's when empty.
            translation: how far the new one is moved in the world frame [m], (3,).
            rotation: how it is turned about the world's origin before, xyzw, (4,).
        """
        return self._world._clone_multibody(self, name, translation, rotation)

    # ---- ground contact of the variational family

    def set_ground_contact(
        self,
        plane_normal: VectorLike,
        plane_point: VectorLike,
        stiffness: float,
        friction_coefficient: float = 0.0,
        friction_regularization: float = 1e-4,
        damping_coefficient: float = 0.0,
        dual_update_cadence: int = 0,
    ) -> None:
        """Choose the ground plane that points of this multibody meet; drops the points there are.

        For the variational family alone: a World of another family with such points refuses to step, by
        name. With d the depth of a point, the normal force is N = k d plus a damping c d' of at most the
        same size, and friction mu N u / sqrt(u^2 + e^2) against the velocity u along the plane.

        Args:
            plane_normal: out of the ground, world axes, (3,); of any length.
            plane_point: a point of the plane, world frame [m], (3,).
            stiffness: k of every point [N/m]; n points under a weight rest at a depth of m g / (n k).
            friction_coefficient: mu.
            friction_regularization: speed e below which friction is viscous [m/s].
            damping_coefficient: c [N s/m].
            dual_update_cadence: every so many steps the force k d of a point becomes a constant part of it
                (augmented Lagrangian), which takes the depth at rest to zero; best with damping, and with
                several steps from one update to the next. 0 for the penalty alone.

        Example:
            >>> from worldline import simulation as sx
            >>> world = sx.World(multibody_options=sx.MultibodyOptions("variational"))
            >>> lift = world.add_multibody("lift")
            >>> rail = sx.JointSpec(type=sx.JointType.PRISMATIC, axis=(0, 0, 1))
            >>> foot = lift.add_link("foot", joint=rail, mass=1.0)
            >>> lift.set_ground_contact((0, 0, 1), (0, 0, 0), 1000.0, damping_coefficient=50.0)
            >>> lift.add_ground_contact_point(foot, (0, 0, -0.1))
            >>> foot.parent_joint.position = [0.1]
            >>> world.step(n=1000)
            >>> round(0.1 - float(foot.translation[2]), 6)
            0.00981
        """
        numbers = stiffness, friction_coefficient, friction_regularization, damping_coefficient
        set_ground(self, checked_ground(plane_normal, plane_point, *numbers, dual_update_cadence))

    def add_ground_contact_point(self, link: Link, local_point: VectorLike) -> None:
        """Let a point of a link meet the plane of `set_ground_contact`, which comes first.

        Args:
            link: a link of this multibody.
            local_point: in the link frame [m], (3,).
        """
        add_point(self, link, local_point)

    def chain(self, start: Link, target: Link, *, include_parent_joint: bool = False) -> Chain:
        """The links from one to another that hangs on it, and the joints between them; see `Chain`."""
        return Chain(self, start, target, include_parent_joint=include_parent_joint)

    def branch(self, start: Link, *, include_parent_joint: bool = False) -> Branch:
        """A link, all that hangs on it, and the joints between them; see `Branch`."""
        return Branch(self, start, include_parent_joint=include_parent_joint)

    def linkage(self, start: Link, targets: Iterable[Link]) -> Linkage:
        """All links on the ways from one to others, and the joints between them; see `Linkage`."""
        return Linkage(self, start, targets)

    def group(self, links: Iterable[Link] = (), joints: Iterable[Joint] = ()) -> Group:
        """Any links and joints seen together; see `Group`."""
        return Group(self, links, joints)

    def remove(self) -> None:
        """Take the multibody out of the World, in design mode or within `World.edit()`."""
        self._world.remove(self)

    def add_end_effector(self, name: str, link: Link, offset: TransformLike | None = None) -> EndEffector:
        """A tool frame on a link, with the Jacobians of its origin; see `EndEffector`.

        Args:
            name: unique among the frames of the World; made up when empty.
            link: a link of this multibody.
            offset: pose of the tool in the link, 4x4; that of the link when None.
        """
        return self._world._add_end_effector(self, name, link, offset)

    @property
    def end_effectors(self) -> NamedCollection[EndEffector]:
        """All end effectors on links of this multibody, in construction order."""
        self._require_alive()
        return NamedCollection("end effector", self._end_effectors)

    def _end_effectors(self) -> dict[str, EndEffector]:
        tools = [f for f in self._world._frames.values() if f._is_end_effector]
        mine = cast("list[EndEffector]", tools)
        return {tool.name: tool for tool in mine if tool.link._multibody is self}

    @property
    def links(self) -> LinkCollection:
        """All links in construction order."""
        self._require_alive()
        return LinkCollection(self, lambda: self._links)

    @property
    def joints(self) -> JointCollection:
        """All joints in construction order."""
        self._require_alive()
        return JointCollection(self, lambda: self._joints)

    @property
    def dofs(self) -> DofCollection:
        """All degrees of freedom, in the order of vectors and matrices."""
        self._require_alive()
        return DofCollection(self._dof_members)

    def _dof_members(self) -> dict[str, DegreeOfFreedom]:
        return {dof.name: dof for joint in self._joints.values() for dof in joint.dofs}

    @property
    def link_names(self) -> list[str]:
        """Names of the links in construction order."""
        return self.links.names

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints in construction order."""
        return self.joints.names

    num_links: Reading[int] = reading(lambda robot: len(robot.links), "Number of links.")
    num_joints: Reading[int] = reading(lambda robot: len(robot.joints), "Number of joints.")

    @property
    def num_dofs(self) -> int:
        """Degrees of freedom of the tree."""
        self._require_alive()
        return sum(joint.num_dofs for joint in self._joints.values())

    def get_link(self, name: str) -> Link | None:
        """The link of that name, or None."""
        return self.links.get(name)

    def get_joint(self, name: str) -> Joint | None:
        """The joint of that name, or None."""
        return self.joints.get(name)

    def has_link(self, name: str) -> bool:
        """Whether there is a link of that name."""
        return name in self.links

    def has_joint(self, name: str) -> bool:
        """Whether there is a joint of that name."""
        return name in self.joints

    def _joint_above(self, link: Link) -> Joint:
        """The last joint between a link and its parent, or a handle that is not valid."""
        for joint in reversed(self._joints.values()):
            if joint._child is link:
                return joint
        return construction.no_joint(self, link)

    def add_loop_closure(self, *named: str | LoopClosureSpec | None, **keywords: Any) -> Any:
        """A closure between two frames of this multibody; see `World.add_loop_closure`.

        An endpoint is a link of this multibody, a frame or marker on one, or the world; one of both is on
        this multibody.
        """
        self._require_alive()
        given = next((x for x in (*named, *keywords.values()) if isinstance(x, LoopClosureSpec)), None)
        owners: list[Frame | None] = []
        for key in ("frame_a", "frame_b"):
            end = getattr(given, key) if given is not None else keywords.get(key)
            if not isinstance(end, Frame):
                # missing or no frame at all, which the world says
                continue
            owner = body_under(end)
            owners.append(owner)
            if owner is not None and getattr(owner, "_multibody", None) is not self:
                raise ArgumentError(
                    f"{key} '{end.name}' is on '{owner.name}', which does not belong to multibody "
                    f"'{self.name}'; use World.add_loop_closure"
                )
        if len(owners) == 2 and owners == [None, None]:
            raise ArgumentError(
                f"frame_a and frame_b are both on the world; one must belong to multibody '{self.name}'"
            )
        return self._world.add_loop_closure(*named, **keywords)

    # ---- where things are

    def _layout(self, runtime: Runtime) -> _Layout:
        known = self._known
        if known is not None and known.runtime is runtime:
            return known
        q_rows: list[int] = []
        v_rows: list[int] = []
        parts: list[tuple[slice, slice, bool]] = []
        for joint in self._joints.values():
            q, v = runtime.q_slice(joint._joint), runtime.v_slice(joint._joint)
            nq, nv = q.stop - q.start, v.stop - v.start
            parts.append(
                (slice(len(q_rows), len(q_rows) + nq), slice(len(v_rows), len(v_rows) + nv), nq != nv)
            )
            q_rows += range(q.start, q.stop)
            v_rows += range(v.start, v.stop)
        bodies = np.array([runtime.body(link._link) for link in self._links.values()], np.int64)
        q_first, v_first = min(q_rows, default=0), min(v_rows, default=0)
        plain: tuple[list[int], list[int]] = [], []
        turning: list[tuple[slice, slice]] = []
        for q, v, differs in parts:
            if differs:
                first, count = q_rows[q][0], len(q_rows[q])
                turning.append((slice(first, first + count), v))
            else:
                plain[0].extend(q_rows[q])
                plain[1].extend(range(v.start, v.stop))
        known = _Layout(
            runtime,
            _rows(q_rows),
            _rows(v_rows),
            bodies,
            q_first,
            v_first,
            np.array(v_rows, np.int64) - v_first,
            parts,
            (_rows(plain[0]), _rows(plain[1])),
            turning,
            scalar=len(q_rows) == len(v_rows),
        )
        self._known = known
        return known

    def _body_rows(self, runtime: Runtime) -> np.ndarray:
        return self._layout(runtime).bodies

    def _positions(self, name: str) -> Array:
        """Coordinates with rotation vectors in the place of quaternions."""
        runtime = self._live()
        where = self._layout(runtime)
        numbers = getattr(runtime.sim, name)
        if runtime.guard.busy:
            runtime.guard.wait()
        if where.scalar:
            made = numbers[where.q].copy()
        else:
            made = np.empty(len(where.order))
            made[where.plain[1]] = numbers[where.plain[0]]
            for q, v in where.turning:
                made[v] = from_coordinates(numbers[q])
        made.setflags(write=False)
        return made

    def _set_positions(self, name: str, value: VectorLike, what: str) -> None:
        runtime = self._live()
        where = self._layout(runtime)
        numbers = values.dof_vector(value, self.num_dofs, f"{what} of multibody '{self.name}'")
        if not where.scalar:
            pieces = [to_coordinates(numbers[v]) if turning else numbers[v] for _, v, turning in where.parts]
            numbers = np.concatenate(pieces)
        array = getattr(runtime.sim, name)
        if runtime.guard.busy:
            runtime.guard.wait()
        array[where.q] = numbers
        if name == "q":
            runtime.sim.written()

    def _dof_vector(self, name: str) -> Array:
        runtime = self._live()
        array, rows = getattr(runtime.sim, name), self._layout(runtime).v
        if runtime.guard.busy:
            runtime.guard.wait()
        return values.read_only(array[rows].copy())

    def _set_dof_vector(self, name: str, value: VectorLike, what: str) -> None:
        runtime = self._live()
        numbers = values.dof_vector(value, self.num_dofs, f"{what} of multibody '{self.name}'")
        array, rows = getattr(runtime.sim, name), self._layout(runtime).v
        if runtime.guard.busy:
            runtime.guard.wait()
        array[rows] = numbers
        if name == "v":
            runtime.sim.velocities_written()
        elif name == "a_target":
            runtime.accelerations_commanded()

    def _dof_parameter(self, name: str) -> Array:
        runtime = self._live()
        return np.array(getattr(runtime.model, name)[self._layout(runtime).v])

    # ---- equations of motion

    def _terms(self) -> tuple[Model, Array, Array, np.ndarray]:
        """A model of this multibody alone, its coordinates and velocities, and the order of its freedoms."""
        runtime = self._live()
        if not self._bodies:
            raise ArgumentError(f"multibody '{self.name}' has no links")
        # the same bodies in the same order: within the arrays of the world they are one block
        model = runtime.submodel(self._bodies).model
        where = self._layout(runtime)
        sim, nq, nv = runtime.sim, model.joint_coord_count, model.joint_dof_count
        if runtime.guard.busy:
            runtime.guard.wait()
        q = sim.q[where.q_first : where.q_first + nq].copy()
        v = sim.v[where.v_first : where.v_first + nv].copy()
        return model, q, v, where.order

    @property
    def mass_matrix(self) -> Array:
        """Joint-space inertia [kg, kg m, kg m^2], (num_dofs, num_dofs)."""
        model, q, _, order = self._terms()
        return dynamics.mass_matrix(model, q)[np.ix_(order, order)]

    @property
    def inverse_mass_matrix(self) -> Array:
        """Inverse of the mass matrix, (num_dofs, num_dofs)."""
        model, q, _, order = self._terms()
        return dynamics.mass_matrix_inverse(model, q)[np.ix_(order, order)]

    @property
    def coriolis_forces(self) -> Array:
        """Velocity products C(q, v) v, on the left of M a + C v + g = tau [N or N m], (num_dofs,)."""
        model, q, v, order = self._terms()
        return dynamics.coriolis_forces(model, q, v)[order]

    @property
    def gravity_forces(self) -> Array:
        """Gravity terms g(q), on the left of M a + C v + g = tau [N or N m], (num_dofs,)."""
        model, q, _, order = self._terms()
        return dynamics.gravity_forces(model, q)[order]

    @property
    def coriolis_and_gravity_forces(self) -> Array:
        """Their sum [N or N m], (num_dofs,)."""
        model, q, v, order = self._terms()
        return dynamics.bias_forces(model, q, v)[order]

    def compute_inverse_dynamics(self, desired_acceleration: VectorLike) -> Array:
        """Efforts that realise accelerations in the present state, (num_dofs,); armature included.

        Springs and dampers act by themselves, so what they do is no part of the efforts.
        """
        model, q, v, order = self._terms()
        a = self._given(desired_acceleration, "acceleration")
        return dynamics.inverse_dynamics(model, q, v, scattered(a, order))[order]

    def compute_forward_dynamics(self, force: VectorLike) -> Array:
        """Accelerations for given efforts in the present state, springs and dampers included, (num_dofs,)."""
        model, q, v, order = self._terms()
        tau = self._given(force, "force")
        return dynamics.forward_dynamics(model, q, v, scattered(tau, order))[order]

    def compute_impulse_response(self, joint_impulse: VectorLike) -> Array:
        """Change of velocity by a generalized impulse, (num_dofs,)."""
        model, q, _, order = self._terms()
        push = self._given(joint_impulse, "impulse")
        return dynamics.impulse_response(model, q, scattered(push, order))[order]

    def _given(self, value: VectorLike, what: str) -> Array:
        numbers = values.array(value, what)
        if numbers.shape != (self.num_dofs,):
            raise ArgumentError(
                f"the length of the {what} must match the {self.num_dofs} degrees of freedom of "
                f"'{self.name}', got shape {numbers.shape}"
            )
        return numbers

    def _body_in_terms(self, link: Link) -> int:
        """Index of a link in the model of `_terms`."""
        self._own(link)
        return self._live().submodel(self._bodies).link_body[id(link._link)]

    def _own(self, link: Link) -> Link:
        if not isinstance(link, Link) or link._multibody is not self:
            name = getattr(link, "name", link)
            raise ArgumentError(f"link {name!r} does not belong to multibody '{self.name}'")
        link._require_alive()
        return link

    def get_world_jacobian(self, link: Link, point: VectorLike = (0.0, 0.0, 0.0)) -> Array:
        """Angular, then linear velocity of a point of a link, world axes, per unit velocity, (6, num_dofs).

        Args:
            link: a link of this multibody.
            point: in the link frame [m], (3,).
        """
        body = self._body_in_terms(link)
        model, q, _, order = self._terms()
        place = values.vector3(point, "point")
        return jacobians.jacobian(model, q, body, point=place)[:, order]

    def get_jacobian(self, link: Link, point: VectorLike = (0.0, 0.0, 0.0)) -> Array:
        """The same in the axes of the link."""
        J = self.get_world_jacobian(link, point)
        R = link.rotation
        return np.concatenate([R.T @ J[:3], R.T @ J[3:]])

    def get_linear_jacobian(self, link: Link, point: VectorLike = (0.0, 0.0, 0.0)) -> Array:
        """Velocity of a point of a link, world axes, (3, num_dofs)."""
        return self.get_world_jacobian(link, point)[3:]

    def get_angular_jacobian(self, link: Link) -> Array:
        """Angular velocity of a link, world axes, (3, num_dofs)."""
        return self.get_world_jacobian(link)[:3]

    def get_jacobian_derivative_times_velocity(
        self, link: Link, point: VectorLike = (0.0, 0.0, 0.0)
    ) -> Array:
        """What the change of the world Jacobian adds to the acceleration of a point: J' v, (6,).

        With the world Jacobian J of the same point and accelerations a, J a + J' v is the angular, then the
        linear acceleration, world axes.
        """
        body = self._body_in_terms(link)
        model, q, v, _ = self._terms()
        place = values.vector3(point, "point")
        return jacobians.jacobian_dot_times_v(model, q, v, body, point=place)

    def get_jacobian_classic_derivative(self, link: Link, point: VectorLike = (0.0, 0.0, 0.0)) -> Array:
        """Rate of `get_world_jacobian` while the joints move as they do, (6, num_dofs).

        With accelerations a and velocities v, J a + J' v is the acceleration of the point, world axes.
        """
        return self._jacobian_derivative(link, point, "world")

    def get_jacobian_spatial_derivative(self, link: Link, point: VectorLike = (0.0, 0.0, 0.0)) -> Array:
        """Rate of `get_jacobian`, whose rows are in the axes of the link, (6, num_dofs)."""
        return self._jacobian_derivative(link, point, "link")

    def _jacobian_derivative(self, link: Link, point: VectorLike, axes: jacobians.Axes) -> Array:
        body = self._body_in_terms(link)
        model, q, v, order = self._terms()
        place = values.vector3(point, "point")
        return jacobians.jacobian_derivative(model, q, v, body, place, axes=axes)[:, order]

    def get_subtree_center_of_mass(self, link: Link) -> Array:
        """Of a link and all that hangs on it, world frame [m], (3,); the link's origin without mass."""
        links = subtree(self, self._own(link))
        masses = np.array([part.mass for part in links])
        if not masses.any():
            return link.translation
        centers = np.array([part.translation + part.rotation @ part.center_of_mass for part in links])
        return masses @ centers / masses.sum()

    @property
    def mass(self) -> float:
        """Mass of all links [kg]."""
        return float(self.links.masses.sum())

    @property
    def center_of_mass(self) -> Array:
        """World frame [m], (3,)."""
        model, q, _, _ = self._terms()
        return dynamics.center_of_mass(model, q)

    @property
    def center_of_mass_velocity(self) -> Array:
        """World axes [m/s], (3,)."""
        model, q, v, _ = self._terms()
        return dynamics.center_of_mass_velocity(model, q, v)

    @property
    def center_of_mass_acceleration(self) -> Array:
        """With the joint accelerations of the last step, world axes [m/s^2], (3,)."""
        model, q, v, order = self._terms()
        a = scattered(self._dof_vector("a"), order)
        return dynamics.center_of_mass_acceleration(model, q, v, a)

    @property
    def center_of_mass_jacobian(self) -> Array:
        """World axes, (3, num_dofs)."""
        model, q, _, order = self._terms()
        return dynamics.center_of_mass_jacobian(model, q)[:, order]

    linear_momentum: Reading[Array] = _momentum(slice(3, 6), "World axes [kg m/s], (3,).")
    angular_momentum: Reading[Array] = _momentum(
        slice(0, 3), "About the centre of mass, world axes [kg m^2/s], (3,)."
    )

    @property
    def centroidal_momentum_matrix(self) -> Array:
        """Angular, then linear momentum about the centre of mass per unit velocity, (6, num_dofs)."""
        model, q, _, order = self._terms()
        return dynamics.centroidal_momentum_matrix(model, q)[:, order]

    @property
    def kinetic_energy(self) -> float:
        """[J], armature included."""
        model, q, v, _ = self._terms()
        return float(dynamics.kinetic_energy(model, q, v))

    @property
    def potential_energy(self) -> float:
        """In the gravity field and in springs [J]."""
        model, q, _, _ = self._terms()
        return float(dynamics.potential_energy(model, q))

    def _repr_html_(self) -> str:
        from html import escape

        from worldline._src.facade.notebook import multibody_html

        return multibody_html(self) if self.is_valid else escape(repr(self))

    def __repr__(self) -> str:
        if not self._alive:
            return f"Multibody('{self.name}', not valid)"
        return f"Multibody('{self.name}', {self.num_links} links, {self.num_dofs} dofs)"


def _rows(rows: list[int]) -> np.ndarray | slice:
    """Row numbers, as a slice where they are one."""
    if rows and rows == list(range(rows[0], rows[0] + len(rows))):
        return slice(rows[0], rows[0] + len(rows))
    return np.array(rows, np.int64)
