# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""ModelBuilder: add links, joints and articulations, then `finalize` them into a Model.

The builder keeps plain lists, one entry an object, and checks what it is given at once; what can only be
seen whole (trees, orphans) is checked by `add_articulation` and `finalize`. Index values it returns are
ints that remember their builder, so that a link of another builder is caught and not taken for a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, listed, refuse_unknown_attribute
from worldline._src.linear_algebra import dot
from worldline._src.model.assemble import assemble
from worldline._src.model.builder_shapes import ShapeConfig, add_shape_table
from worldline._src.model.checks import check_angle_limits, check_body, check_least, flag
from worldline._src.model.kinds import QUATERNION_JOINTS, Axis, BodyFlags, JointType
from worldline._src.model.model import Model
from worldline._src.model.records import (
    AxisJointOptions,
    AxisLike,
    JointDofConfig,
    JointOptions,
    JointRecord,
    LinkRecord,
    axis_vector,
    configurations,
    configured,
    require_independent,
    require_not_parallel,
    require_turning,
    split_options,
)
from worldline._src.model.shape_methods import ShapeMethods
from worldline._src.scene.base import clone
from worldline._src.scene.joints import MotionAxis, coordinate_count, motion_faults
from worldline._src.scene.texts import unwritable
from worldline._src.spatial.poses import VectorLike, compose, inverse, numbers, transform

if TYPE_CHECKING:
    from typing_extensions import Unpack

_JOINT_OPTIONS = frozenset(("parent_xform", "child_xform", "label"))
_FREE_OPTIONS = frozenset(
    "armature friction damping stiffness effort_limit velocity_limit limit_lower limit_upper limit_ke "
    "limit_kd".split()
)


class BuilderIndex(int):
    """An index into a builder that knows which builder it came from."""

    builder: ModelBuilder

    def __new__(cls, value: int, builder: ModelBuilder) -> BuilderIndex:
        index = super().__new__(cls, value)
        index.builder = builder
        return index

    def __reduce__(self) -> Any:
        return int, (int(self),)


_WRITABLE = frozenset(
    (
        *("gravity", "links", "joints", "articulations", "shapes", "world_count"),
        *("joint_q", "joint_qd", "joint_f"),
    )
)


class ModelBuilder(ShapeMethods):
    """Collects links, joints and articulations and turns them into a `Model`.

    Example:
        >>> from worldline.model import ModelBuilder
        >>> builder = ModelBuilder()
        >>> link = builder.add_link(mass=1.0, com=(0, 0, -0.5))
        >>> hinge = builder.add_joint_revolute(parent=-1, child=link, axis=(0, 1, 0))
        >>> arm = builder.add_articulation([hinge])
        >>> builder.finalize().joint_dof_count
        1
    """

    JointDofConfig = JointDofConfig
    ShapeConfig = ShapeConfig

    def __init__(self, gravity: VectorLike = (0.0, 0.0, -9.81)) -> None:
        super().__init__()
        self.gravity: VectorLike = numbers(gravity, (3,), "gravity")
        """[m/s^2], world axes; may be written."""
        self.links: list[LinkRecord] = []
        self.joints: list[JointRecord] = []
        self.articulations: list[tuple[str, list[int]]] = []
        self.world_count = 1
        self.joint_q: list[float] = []
        """Initial coordinates; entries may be written."""
        self.joint_qd: list[float] = []
        """Initial velocities; entries may be written."""
        self.joint_f: list[float] = []
        """Initial generalized forces; entries may be written."""
        self._labels: dict[str, set[str]] = {
            "link": set(),
            "joint": set(),
            "articulation": set(),
            "shape": set(),
        }

    def __setattr__(self, name: str, value: Any) -> None:
        refuse_unknown_attribute(self, name, _WRITABLE)
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return (
            f"ModelBuilder({len(self.links)} links, {len(self.joints)} joints, {len(self.shapes)} shapes, "
            f"{self.world_count} worlds)"
        )

    # ---- links

    def add_link(
        self,
        xform: VectorLike | None = None,
        *,
        mass: float = 0.0,
        com: VectorLike = (0.0, 0.0, 0.0),
        inertia: VectorLike | Sequence[Sequence[float]] | None = None,
        is_kinematic: bool = False,
        label: str | None = None,
        check_inertia: bool = True,
        gravcomp: float = 0.0,
    ) -> int:
        """A bare body that joints will connect.

        Args:
            xform: initial pose, position [m] and xyzw, world frame.
            mass: [kg]; zero for a massless frame.
            com: centre of mass in the body frame [m].
            inertia: 3x3 about the centre of mass, body axes [kg m^2]. None for a point mass, to which shapes
                with a density add their mass and inertia; where all its shapes have density 0, theirs with
                uniform density, scaled to `mass`.
            is_kinematic: the body follows prescribed motion; only for children of the world.
            label: unique name; made up when None.
            check_inertia: False takes moments that no body can have, as some files give them.
            gravcomp: share of its weight that a passive force compensates; 1 makes it float.

        Returns:
            The index of the link.
        """
        checks = flag(check_inertia, "check_inertia")
        return self._add_link(
            xform, mass, com, inertia, is_kinematic, label, check_inertia=checks, gravcomp=gravcomp
        )

    def _add_link(
        self,
        xform: VectorLike | None,
        mass: float,
        com: VectorLike,
        inertia: VectorLike | Sequence[Sequence[float]] | None,
        is_kinematic: bool,
        label: str | None,
        *,
        check_inertia: bool = True,
        check_least_inertia: bool = True,
        gravcomp: float = 0.0,
    ) -> int:
        """See `add_link`; links that are welded may have inertia that is too small for a step to move."""
        label = self._label(label, "link")
        pose = transform(xform, f"xform of link '{label}'")
        if type(mass) is not float or not math.isfinite(mass):
            mass = float(numbers(mass, (), f"mass of link '{label}'"))
        center = numbers(com, (3,), f"com of link '{label}'")
        moments = np.zeros((3, 3))
        if inertia is not None:
            moments = numbers(inertia, (3, 3), f"inertia of link '{label}'")
        if check_inertia:
            check_body(mass, moments, f"link '{label}'")
        if check_least_inertia:
            check_least(mass, moments, f"link '{label}'")
        if type(gravcomp) is not float or not math.isfinite(gravcomp):
            gravcomp = float(numbers(gravcomp, (), f"gravcomp of link '{label}'"))
        moments = 0.5 * (moments + moments.T)
        if not isinstance(is_kinematic, bool | np.bool_):
            raise ArgumentError(f"is_kinematic of link '{label}' must be True or False, got {is_kinematic!r}")
        is_point = inertia is None and mass > 0.0
        link = LinkRecord(label, pose, mass, center, moments, bool(is_kinematic), -1, gravcomp, is_point)
        self._labels["link"].add(label)
        self.links.append(link)
        return BuilderIndex(len(self.links) - 1, self)

    def add_body(
        self,
        xform: VectorLike | None = None,
        *,
        mass: float = 0.0,
        com: VectorLike = (0.0, 0.0, 0.0),
        inertia: VectorLike | Sequence[Sequence[float]] | None = None,
        is_kinematic: bool = False,
        label: str | None = None,
    ) -> int:
        """A free body: a link, a free joint and an articulation of its own with the label of the link.

        Returns:
            The index of the link.
        """
        self._label(label, "articulation")
        link = self.add_link(
            xform, mass=mass, com=com, inertia=inertia, is_kinematic=is_kinematic, label=label
        )
        joint = self.add_joint_free(link)
        self.add_articulation([joint], label=label)
        return link

    # ---- joints

    def add_joint_revolute(
        self, parent: int, child: int, axis: AxisLike = Axis.X, **options: Unpack[AxisJointOptions]
    ) -> int:
        """A hinge: the child turns about `axis` (in the joint frame). Returns the joint."""
        frames, dof = split_options(options)
        return self._add(JointType.REVOLUTE, parent, child, [], configured([axis], dof), frames)

    def add_joint_prismatic(
        self, parent: int, child: int, axis: AxisLike = Axis.X, **options: Unpack[AxisJointOptions]
    ) -> int:
        """A slider: the child moves along `axis` (in the joint frame). Returns the joint."""
        frames, dof = split_options(options)
        return self._add(JointType.PRISMATIC, parent, child, configured([axis], dof), [], frames)

    def add_joint_screw(
        self,
        parent: int,
        child: int,
        axis: AxisLike = Axis.X,
        *,
        pitch: float,
        **options: Unpack[AxisJointOptions],
    ) -> int:
        """A screw: turns about `axis` and advances by `pitch` [m/rad] along it. Returns the joint."""
        frames, dof = split_options(options)
        advance = float(numbers(pitch, (), "pitch"))
        return self._add(JointType.SCREW, parent, child, [], configured([axis], dof), frames, pitch=advance)

    def add_joint_universal(
        self,
        parent: int,
        child: int,
        axis: AxisLike = Axis.X,
        axis2: AxisLike = Axis.Y,
        **options: Unpack[AxisJointOptions],
    ) -> int:
        """Turns about `axis`, then about `axis2` carried by the first turn. Returns the joint."""
        frames, dof = split_options(options)
        turns = configured([axis, axis2], dof)
        return self._add(JointType.UNIVERSAL, parent, child, [], turns, frames)

    def add_joint_planar(
        self,
        parent: int,
        child: int,
        axis: AxisLike = Axis.Z,
        axis2: AxisLike = Axis.X,
        **options: Unpack[AxisJointOptions],
    ) -> int:
        """Slides along `axis2` and along axis x axis2, then turns about the normal `axis`."""
        frames, dof = split_options(options)
        require_not_parallel(axis, axis2, "planar joint")
        normal, first = axis_vector(axis, "axis"), axis_vector(axis2, "axis2")
        first = axis_vector(first - normal * dot(normal, first), "axis2")
        second = axis_vector(np.cross(normal, first), "axis")
        x, y, turn = configured([first, second, normal], dof)
        return self._add(JointType.PLANAR, parent, child, [x, y], [turn], frames)

    def add_joint_euler(
        self, parent: int, child: int, order: str = "xyz", **options: Unpack[AxisJointOptions]
    ) -> int:
        """Three turns about the axes named in `order`, each carried by those before it.

        Any order of three letters in which neighbours differ, such as "zyx" or "zxz".
        """
        frames, dof = split_options(options)
        letters = order.lower() if isinstance(order, str) else ""
        bad = len(letters) != 3 or any(c not in "xyz" for c in letters)
        if bad or letters[0] == letters[1] or letters[1] == letters[2]:
            raise ArgumentError(
                f"euler order must be three of x, y, z with neighbours different, got {order!r}"
            )
        return self._add(JointType.EULER, parent, child, [], configured(letters, dof), frames)

    def add_joint_translational(
        self,
        parent: int,
        child: int,
        axes: Sequence[AxisLike] = (Axis.X, Axis.Y, Axis.Z),
        **options: Unpack[AxisJointOptions],
    ) -> int:
        """Slides along two or three independent axes without turning. Returns the joint."""
        frames, dof = split_options(options)
        is_list = isinstance(axes, (Sequence, np.ndarray)) and getattr(axes, "ndim", 1) > 0
        if not (is_list or isinstance(axes, str)) or len(axes) not in (2, 3):
            raise ArgumentError(f"a translational joint has 2 or 3 axes, got {axes!r}")
        return self._add(JointType.TRANSLATIONAL, parent, child, configured(axes, dof), [], frames)

    def add_joint_d6(
        self,
        parent: int,
        child: int,
        linear_axes: Sequence[JointDofConfig] = (),
        angular_axes: Sequence[JointDofConfig] = (),
        **options: Unpack[JointOptions],
    ) -> int:
        """Up to three slides, then up to three turns, each axis configured alone. Returns the joint."""
        slides = configurations(linear_axes, "linear_axes of a D6 joint")
        turns = configurations(angular_axes, "angular_axes of a D6 joint")
        if len(slides) > 3 or len(turns) > 3 or not slides + turns:
            raise ArgumentError(
                f"a D6 joint has at most 3 linear and 3 angular axes and at least one of them, got "
                f"{len(slides)} and {len(turns)}"
            )
        return self._add(JointType.D6, parent, child, slides, turns, options)

    def add_joint_cable(
        self,
        parent: int,
        child: int,
        axis: AxisLike = Axis.Z,
        bend_axis: AxisLike = Axis.X,
        *,
        stretch: JointDofConfig | None = None,
        bend: JointDofConfig | None = None,
        **options: Unpack[JointOptions],
    ) -> int:
        """Stretches along `axis`, then bends about `bend_axis`. Returns the joint.

        `stretch` and `bend` configure the two degrees of freedom; the axes they name are not used.
        """
        given = [JointDofConfig() if config is None else config for config in (stretch, bend)]
        slide, turn = configurations(given, "stretch and bend of a cable joint")
        slide, turn = replace(slide, axis=axis), replace(turn, axis=bend_axis)
        return self._add(JointType.CABLE, parent, child, [slide], [turn], options)

    def add_joint_custom(
        self, parent: int, child: int, motion: Sequence[MotionAxis], **options: Unpack[AxisJointOptions]
    ) -> int:
        """Turns about and slides along up to six axes by functions of the joint's coordinates.

        Args:
            parent: link, -1 for the world.
            child: link.
            motion: successive axes, each carried by those before it; a copy is kept.
            **options: frames, label, and settings of the coordinates.

        Example:
            >>> from worldline.model import ModelBuilder
            >>> from worldline.msd import CoordinateFunction, MotionAxis
            >>> f, builder = CoordinateFunction, ModelBuilder()
            >>> shank = builder.add_link(mass=3.0, com=(0, 0, -0.2))
            >>> roll = f.spline([-2.0, -1.0, 0.0], [0.01, 0.02, 0.0])
            >>> axes = [MotionAxis.turn((0, 1, 0), f.linear()), MotionAxis.slide((1, 0, 0), roll)]
            >>> knee = builder.add_joint_custom(-1, shank, axes)
            >>> _ = builder.add_articulation([knee])
            >>> builder.finalize().joint_dof_count
            1
        """
        frames, dof = split_options(options)
        if not isinstance(motion, Sequence) or not all(isinstance(axis, MotionAxis) for axis in motion):
            raise ArgumentError(f"motion of a custom joint must be MotionAxis, got {motion!r}")
        kept = [clone(axis) for axis in motion]
        for where, given, allowed in motion_faults(kept):
            raise ArgumentError(f"motion{where} of a custom joint: given {given}; allowed: {allowed}")
        turns = configured([Axis.Z] * coordinate_count(kept), dof)
        return self._add(JointType.CUSTOM, parent, child, [], turns, frames, data=kept)

    def add_joint_ball(self, parent: int, child: int, **options: Unpack[AxisJointOptions]) -> int:
        """A free orientation, stored as xyzw; velocity is angular, in the child's axes.

        `limit_upper` bounds the angle of the rotation from zero [rad]; `limit_lower` is 0, minus it, or minus
        infinity.
        """
        frames, dof = split_options(options)
        return self._add(JointType.BALL, parent, child, [], configured(list(Axis), dof), frames)

    def add_joint_fixed(self, parent: int, child: int, **options: Unpack[JointOptions]) -> int:
        """Welds the child to the parent. Returns the joint."""
        return self._add(JointType.FIXED, parent, child, [], [], options)

    def add_joint_free(self, child: int, parent: int = -1, **options: Unpack[AxisJointOptions]) -> int:
        """Six degrees of freedom; coordinates (position, xyzw) start at the child's pose.

        It takes armature, friction, damping, stiffness and limits of position, effort and velocity, which it
        has none of unless given; it has no drive. Position limits are those of the three positions [m], then
        three equal ones that bound the angle of the rotation from zero [rad], as those of a ball joint do.
        """
        frames, dof = split_options(options)
        frames.update({name: dof.pop(name) for name in dof.keys() - _FREE_OPTIONS})
        return self._add_free(JointType.FREE, parent, child, frames, dof=dof)

    def add_joint_distance(
        self,
        parent: int,
        child: int,
        min_distance: float = -1.0,
        max_distance: float = 1.0,
        **options: Unpack[AxisJointOptions],
    ) -> int:
        """Moves freely while the distance of the anchors stays in a range [m]; negative: no limit.

        It takes what a free joint takes.
        """
        low, high = (float(numbers(x, (), "distance")) for x in (min_distance, max_distance))
        if high >= 0.0 and low > high:
            raise ArgumentError(f"min_distance {low} must not exceed max_distance {high}")
        frames, dof = split_options(options)
        frames.update({name: dof.pop(name) for name in dof.keys() - _FREE_OPTIONS})
        return self._add_free(JointType.DISTANCE, parent, child, frames, (low, high), dof)

    def _add_free(
        self,
        kind: JointType,
        parent: int,
        child: int,
        options: Any,
        distance: tuple[float, float] = (-1.0, -1.0),
        dof: dict[str, Any] | None = None,
    ) -> int:
        dofs = configured([*Axis, *Axis], {"effort_limit": np.inf, "velocity_limit": np.inf, **(dof or {})})
        slides, turns = dofs[:3], dofs[3:]
        index = self._add(kind, parent, child, slides, turns, options, distance=distance)
        joint = self.joints[index]
        rest = joint.X_p
        if joint.parent >= 0:
            rest = compose(self.links[joint.parent].xform, rest)
        pose = compose(inverse(rest), compose(self.links[joint.child].xform, joint.X_c))
        self.joint_q[joint.start : joint.start + 7] = pose.tolist()
        return index

    def _add(
        self,
        kind: JointType,
        parent: int,
        child: int,
        linear: list[JointDofConfig],
        angular: list[JointDofConfig],
        options: Any,
        pitch: float = 0.0,
        distance: tuple[float, float] = (-1.0, -1.0),
        data: Any = None,
    ) -> int:
        if not options.keys() <= _JOINT_OPTIONS:
            unknown = sorted(options.keys() - _JOINT_OPTIONS)[0]
            raise ArgumentError(f"unknown keyword {unknown!r} for a {kind.name} joint")
        label = self._label(options.get("label"), "joint")
        what = f"joint '{label}'"
        parent = self._link(parent, f"parent of {what}", world=True)
        child = self._link(child, f"child of {what}")
        if parent == child:
            raise ArgumentError(f"{what} connects link '{self.links[child].label}' to itself")
        X_p = transform(options.get("parent_xform"), f"parent_xform of {what}")
        X_c = transform(options.get("child_xform"), f"child_xform of {what}")
        dofs = [d.checked(what) for d in (*linear, *angular)]
        axes = [axis_vector(d.axis, f"axis of {what}") for d in dofs]
        if kind in QUATERNION_JOINTS:
            turns = dofs[len(linear) :]
            check_angle_limits([d.limit_lower for d in turns], [d.limit_upper for d in turns], what)
        elif data is None:
            # those have the axes of their frame, or others
            require_independent(axes[: len(linear)], f"linear axes of {what}")
            require_turning(axes[len(linear) :], f"angular axes of {what}")
        joint = JointRecord(
            label,
            kind,
            parent,
            child,
            X_p,
            X_c,
            dofs[: len(linear)],
            dofs[len(linear) :],
            axes,
            len(self.joint_q),
            len(self.joint_qd),
            pitch,
            distance,
            data=data,
        )
        self._labels["joint"].add(label)
        self.joints.append(joint)
        quaternion = [0.0, 0.0, 0.0, 1.0]
        plain = joint.coordinates == joint.velocities
        zeros = joint.coordinates if plain else joint.coordinates - 4
        self.joint_q.extend([0.0] * zeros + ([] if plain else quaternion))
        self.joint_qd.extend([0.0] * joint.velocities)
        self.joint_f.extend([0.0] * joint.velocities)
        return BuilderIndex(len(self.joints) - 1, self)

    # ---- articulations

    def add_articulation(self, joints: Sequence[int], label: str | None = None) -> int:
        """Make a tree of joints that are simulated together. Returns its index.

        The joints must be listed in order, without gaps, parents before children, and belong to no
        other articulation.
        """
        from worldline._src.model.topology import check_articulation

        label = self._label(label, "articulation")
        what = f"articulation '{label}'"
        if type(joints) is range and 0 <= min(joints, default=-1) and max(joints) < len(self.joints):
            given = list(joints)
        else:
            given = [self._joint(j, what) for j in listed(joints, f"joints of {what}")]
        check_articulation(self, given, label)
        index = len(self.articulations)
        for j in given:
            self.joints[j].articulation = index
            self.links[self.joints[j].child].moved_by = j
        self._labels["articulation"].add(label)
        self.articulations.append((label, given))
        return BuilderIndex(index, self)

    # ---- composition

    def add_builder(self, other: ModelBuilder, *, prefix: str = "", xform: VectorLike | None = None) -> None:
        """Add a copy of everything in another builder; gravity stays as it is here.

        Args:
            other: where to copy from, unchanged; not replicated.
            prefix: put before every label.
            xform: pose of the copy, world frame; roots move, free roots by their coordinates.
        """
        from worldline._src.model.composition import copy_into

        if not isinstance(other, ModelBuilder) or other is self:
            raise ArgumentError(f"add_builder takes another ModelBuilder, got {other!r}")
        if other.world_count != 1:
            raise ArgumentError(f"add_builder takes a builder of one world, got {other.world_count} worlds")
        if not isinstance(prefix, str):
            raise ArgumentError(f"prefix must be a string, got {prefix!r}")
        if fault := unwritable(prefix):
            raise ArgumentError(f"prefix must not contain {fault}, got {prefix!r}")
        copy_into(self, other, prefix, transform(xform, "xform"))

    def replicate(self, n: int) -> None:
        """Make `finalize` give a model of `n` equal worlds, each with everything added here."""
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n < 1 << 31:
            raise ArgumentError(f"replicate takes a whole number from 1 to 2^31, got {n!r}")
        self.world_count = int(n)

    def finalize(self, skip_validation_joints: bool = False) -> Model:
        """Check the whole and build the Model; the builder can go on being used.

        Args:
            skip_validation_joints: accept joints that belong to no articulation. They keep their
                coordinates, but kinematics and dynamics do not see them.
        """
        from worldline._src.model.topology import check_complete

        check_complete(self, flag(skip_validation_joints, "skip_validation_joints"))
        model = assemble(self)
        add_shape_table(self, model)
        return model

    # ---- lookups

    def _indexed(self, index: int) -> int:
        return BuilderIndex(index, self)

    def _label(self, label: str | None, what: str) -> str:
        taken = self._labels[what]
        if label is None or (isinstance(label, str) and not label):
            number = len(taken) + 1
            while f"{what}_{number:03d}" in taken:
                number += 1
            return f"{what}_{number:03d}"
        if not isinstance(label, str):
            raise ArgumentError(f"label of a {what} must be a string, got {label!r}")
        fault = unwritable(label)
        if fault:
            raise ArgumentError(f"label of a {what} must not contain {fault}, got {label!r}")
        if label in taken:
            raise ArgumentError(f"a {what} with the label '{label}' already exists")
        return label

    def _link(self, index: int, what: str, world: bool = False) -> int:
        if type(index) is int and (-1 if world else 0) <= index < len(self.links):
            return index
        if type(index) is BuilderIndex and index.builder is self and index < len(self.links):
            return int(index)
        allowed = f"{'-1 (the world) or ' if world else ''}0 to {len(self.links) - 1}"
        return self._checked(index, len(self.links), what, allowed, -1 if world else 0)

    def _joint(self, index: int, what: str) -> int:
        if type(index) is int and 0 <= index < len(self.joints):
            return index
        allowed = f"0 to {len(self.joints) - 1}"
        return self._checked(index, len(self.joints), f"joint of {what}", allowed, 0)

    def _checked(self, index: int, count: int, what: str, allowed: str, low: int) -> int:
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
            raise ArgumentError(f"{what} must be an index ({allowed}), got {index!r}")
        if isinstance(index, BuilderIndex) and index.builder is not self:
            raise ArgumentError(f"{what} belongs to a different builder, so to a different world")
        if not low <= index < count:
            raise ArgumentError(f"{what} must be {allowed}, got {int(index)}")
        return int(index)

    # ---- counts

    @property
    def body_count(self) -> int:
        """Links added so far."""
        return len(self.links)

    @property
    def joint_count(self) -> int:
        """Joints added so far."""
        return len(self.joints)

    @property
    def articulation_count(self) -> int:
        """Articulations added so far."""
        return len(self.articulations)

    def link_flags(self, index: int) -> BodyFlags:
        """How a link moves."""
        if not isinstance(index, (int, np.integer)) or not 0 <= index < len(self.links):
            raise ArgumentError(f"link must be 0 to {len(self.links) - 1}, got {index!r}")
        return BodyFlags.KINEMATIC if self.links[index].is_kinematic else BodyFlags.DYNAMIC
