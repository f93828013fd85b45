# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""World-owned joints between bodies and links that trees move already; they can break."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, OperationError, UnknownCapabilityError
from worldline._src.facade import values
from worldline._src.facade.copying import Address
from worldline._src.facade.frame import Frame
from worldline._src.facade.free_names import free_name, scene_names
from worldline._src.facade.joint_spec import JointSpec
from worldline._src.facade.joint_stiffness import JointConstraintProjectionPolicy
from worldline._src.facade.kinds import JointType, drive_type, joint_type, scene_joint_type
from worldline._src.facade.link import Link
from worldline._src.facade.quantities import Quantity, Reading, quantity, reading
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world_joint_motor import DRIVEN, checked_drive, checked_range
from worldline._src.facade.world_joint_passive import PASSIVE, WorldJointPassive, set_passive
from worldline._src.kernels.constraints.equality.rows import BROKEN, ON
from worldline._src.scene import closures as described
from worldline._src.scene.joints import Joint as SceneJoint
from worldline._src.scene.values import Range
from worldline._src.spatial.poses import Array, compose, inverse
from worldline._src.step.pack_equalities import Owner

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime

_FREEDOMS = {
    JointType.FIXED: 0,
    JointType.REVOLUTE: 1,
    JointType.PRISMATIC: 1,
    JointType.SPHERICAL: 3,
    JointType.SCREW: 1,
    JointType.UNIVERSAL: 2,
    JointType.PLANAR: 3,
}
TYPES = tuple(_FREEDOMS)
"""What a joint between bodies can be."""
_LIMITED = (JointType.REVOLUTE, JointType.PRISMATIC)
_WITH_AXIS = (*_LIMITED, JointType.SCREW, JointType.UNIVERSAL, JointType.PLANAR)
_WITH_AXIS2 = (JointType.UNIVERSAL, JointType.PLANAR)


def _endpoint(which: str, kind: type, doc: str) -> Any:
    """The body or link at an end of a joint, where it is of a kind."""

    def read(joint: WorldJoint) -> Any:
        joint._require_alive()
        found = joint._end(getattr(joint._described, which))
        if not isinstance(found, kind):
            what = "a link" if kind is Link else "a rigid body"
            raise OperationError(f"joint '{joint.name}': its {which} endpoint is not {what}")
        return found

    return reading(read, doc)


def _position_limits(side: str, doc: str) -> Any:
    """One limit of the position, as a vector of the length of the joint's freedoms with limits."""

    def read(joint: WorldJoint) -> Array:
        joint._require_alive()
        limits = joint._described.joint.pos_limit
        return values.read_only(np.array([getattr(limits, side)] if joint.type in _LIMITED else []))

    return reading(read, doc)


def _breaking(what: str, doc: str) -> Any:
    """A force or torque at which a joint breaks; the description has 0 for never."""
    field = f"break_{what}"

    def read(joint: WorldJoint) -> float:
        joint._require_alive()
        return getattr(joint._described, field) or math.inf

    def write(joint: WorldJoint, value: float) -> None:
        joint._require_alive()
        number = values.any_number(value, f"break {what} of joint '{joint.name}'")
        if number <= 0.0:
            raise ArgumentError(f"break {what} of joint '{joint.name}' must be positive, got {number}")
        joint._world._require_idle()
        setattr(joint._described, field, 0.0 if math.isinf(number) else number)
        joint._world._topology_changed()

    return quantity(read, write, doc)


class WorldJoint(WorldJointPassive):
    """A joint between two bodies or links, or a body and the world, kept by rows of a step.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> a = world.add_rigid_body("a")
        >>> hinge = world.add_joint(a, sx.JointSpec(name="hinge", axis=(0, 1, 0)))
        >>> hinge.break_force, hinge.is_broken
        (inf, False)
    """

    def __init__(self, world: WorldRuntime, joint: described.WorldJoint) -> None:
        self._world = world
        self._described = joint
        self._gone = "the joint was removed with what it refers to"

    @property
    def _alive(self) -> bool:  # type: ignore[override] # the description decides
        return any(joint is self._described for joint in self._world._scene.joints)

    def _kill(self, why: str) -> None:
        self._gone = why

    @property
    def name(self) -> str:
        """Unique among the joints of the description."""
        return self._described.joint.name or ""

    def _path(self) -> Address:
        return "joints", self.name

    @property
    def type(self) -> JointType:
        """What motion the joint leaves free."""
        self._require_alive()
        return joint_type(self._described.joint.type_)

    @property
    def num_dofs(self) -> int:
        """Number of freedoms that the joint leaves."""
        return _FREEDOMS[self.type]

    # ---- endpoints

    def _end(self, ref: described.FrameRef) -> Frame | None:
        """The body or link of an end; None for the world."""
        world = self._world
        if ref.link is None:
            return None
        for body in world._rigid_bodies.values():
            if body._link.name == ref.link:
                return body
        return next(
            link
            for robot in world._multibodies.values()
            for link in robot._links.values()
            if link._link.name == ref.link
        )

    parent_rigid_body: Reading[RigidBody] = _endpoint(
        "parent", RigidBody, "The first body; an OperationError when it is a link or the world."
    )
    child_rigid_body: Reading[RigidBody] = _endpoint(
        "child", RigidBody, "The second body; an OperationError when it is a link."
    )
    parent_link: Reading[Link] = _endpoint(
        "parent", Link, "The first link; an OperationError when it is a rigid body or the world."
    )
    child_link: Reading[Link] = _endpoint(
        "child", Link, "The second link; an OperationError when it is a rigid body."
    )

    # ---- geometry and motion

    @property
    def axis(self) -> Array:
        """Unit axis in the joint frame, (3,); FIXED and SPHERICAL joints have none."""
        return self._direction("axis", _WITH_AXIS)

    @property
    def axis2(self) -> Array:
        """Second unit axis in the joint frame, (3,), of a UNIVERSAL or PLANAR joint."""
        return self._direction("axis2", _WITH_AXIS2)

    def _direction(self, name: str, allowed: tuple[JointType, ...]) -> Array:
        if self.type not in allowed:
            raise ArgumentError(f"joint '{self.name}' of type {self.type.name} has no {name}")
        given = np.array(getattr(self._described.joint, name))
        return given / np.linalg.norm(given)

    @property
    def pitch(self) -> float:
        """Advance of a SCREW joint [m/rad]."""
        self._require_screw()
        return self._described.joint.pitch

    @pitch.setter
    def pitch(self, value: float) -> None:
        self._require_screw()
        number = values.real(value, f"pitch of joint '{self.name}'")
        self._world._require_idle()
        self._described.joint.pitch = number
        self._world._topology_changed()

    def _require_screw(self) -> None:
        if self.type is not JointType.SCREW:
            raise ArgumentError(f"joint '{self.name}' of type {self.type.name} has no pitch")

    def _ends(self) -> tuple[Array, Array, Frame, Frame]:
        """Poses of the joint frame on parent and child in the world, and the two frames."""
        poses: list[Array] = []
        frames: list[Frame] = []
        for ref in (self._described.parent, self._described.child):
            frame = self._end(ref) or Frame.world()
            if ref.frame is not None:
                frame = self._world._frames[ref.frame]
            frames.append(frame)
            poses.append(compose(frame._pose().copy(), np.concatenate([ref.position, ref.orientation])))
        return poses[0], poses[1], frames[0], frames[1]

    @property
    def position(self) -> Array:
        """Where the child is against the parent now [rad or m], (num_dofs,), as for joints of a tree.

        It follows from the poses of the bodies, which have the freedom, and cannot be written.
        """
        X_a, X_b, _, _ = self._ends()
        X = compose(inverse(X_a), X_b)
        kind = self.type
        if kind is JointType.FIXED:
            return np.zeros(0)
        if kind is JointType.SPHERICAL:
            return values.rotation_vector(X[3:])
        along, angle = float(self.axis @ X[:3]), 2.0 * math.atan2(float(self.axis @ X[3:6]), float(X[6]))
        if kind is JointType.PRISMATIC:
            return np.array([along])
        if kind is JointType.PLANAR:
            return np.array([self.axis2 @ X[:3], np.cross(self.axis, self.axis2) @ X[:3], angle])
        if kind is JointType.UNIVERSAL:
            # R(axis, q0) R(axis2, q1): the second axis shows q0, the first one seen from the child q1
            first, second = self.axis, self.axis2
            third, R = np.cross(first, second), values.matrix_of(X)[:3, :3]
            turned, back = R @ second, R.T @ first
            return np.array(
                [math.atan2(third @ turned, second @ turned), math.atan2(third @ back, first @ back)]
            )
        return np.array([angle])

    @property
    def velocity(self) -> Array:
        """Speed of the child against the parent now [rad/s or m/s], (num_dofs,).

        SPHERICAL: angular velocity in the axes of the joint on the child.
        """
        X_a, X_b, parent, child = self._ends()
        (v_a, w_a), (v_b, w_b) = parent._motion(), child._motion()
        kind, turning = self.type, w_b - w_a
        if kind is JointType.FIXED:
            return np.zeros(0)
        R_a, R_b = (values.matrix_of(X)[:3, :3] for X in (X_a, X_b))
        if kind is JointType.SPHERICAL:
            return R_b.T @ turning
        axis = R_a @ self.axis
        if kind in (JointType.REVOLUTE, JointType.SCREW):
            return np.array([axis @ turning])
        if kind is JointType.UNIVERSAL:
            found = np.linalg.lstsq(np.column_stack([axis, R_b @ self.axis2]), turning, rcond=None)[0]
            return np.asarray(found, np.float64)
        point = X_b[:3]
        ours = v_b + np.cross(w_b, point - child._pose()[:3])
        moving = ours - v_a - np.cross(w_a, point - parent._pose()[:3])
        if kind is JointType.PRISMATIC:
            return np.array([axis @ moving])
        second = R_a @ self.axis2
        return np.array([second @ moving, np.cross(axis, second) @ moving, axis @ turning])

    @property
    def acceleration(self) -> Array:
        """Of a REVOLUTE or PRISMATIC joint in the last step [rad/s^2 or m/s^2], (num_dofs,)."""
        self._require_motor("acceleration")
        X_a, X_b, parent, child = self._ends()
        axis, point = values.matrix_of(X_a)[:3, :3] @ self.axis, X_b[:3]
        rates: list[Array] = []
        for frame in (parent, child):
            linear, angular = frame._acceleration()
            if self.type is JointType.PRISMATIC:
                w, lever = frame._motion()[1], point - frame._pose()[:3]
                rates.append(linear + np.cross(angular, lever) + np.cross(w, np.cross(w, lever)))
            else:
                rates.append(angular)
        return np.array([axis @ (rates[1] - rates[0])])

    # ---- limits and breaking

    position_lower_limits: Reading[Array] = _position_limits(
        "lower",
        "[rad or m], (1,) for REVOLUTE and PRISMATIC joints, -infinity for none; empty for others.",
    )
    position_upper_limits: Reading[Array] = _position_limits(
        "upper", "[rad or m], (1,) for REVOLUTE and PRISMATIC joints, infinity for none; empty for others."
    )

    def set_position_limits(self, lower: float | VectorLike, upper: float | VectorLike) -> None:
        """Bounds of the angle or the way of a REVOLUTE or PRISMATIC joint [rad or m], infinity for none.

        Each is a number, or one in a vector of length 1 as for joints of a tree.
        """
        self._require_alive()
        if self.type not in _LIMITED:
            raise ArgumentError(f"joint '{self.name}' of type {self.type.name} has no position limits")
        low, high = (float(values.spread(x, 1, f"limits of joint '{self.name}'")[0]) for x in (lower, upper))
        if low > high:
            raise ArgumentError(f"lower limit {low} of '{self.name}' must not exceed upper limit {high}")
        self._world._require_idle()
        self._described.joint.pos_limit = Range(lower=low, upper=high)
        self._world._topology_changed()

    break_force: Quantity[float, float] = _breaking(
        "force", "Force at which the joint breaks [N]; infinite for never."
    )
    break_torque: Quantity[float, float] = _breaking(
        "torque", "Torque about the joint at which it breaks [N m]; infinite for never."
    )

    @property
    def constraint_projection_policy(self) -> JointConstraintProjectionPolicy:
        """How stiff the joint is; a copy, assign it back to change it. May be changed in any mode."""
        self._require_alive()
        given = self._described.projection
        return JointConstraintProjectionPolicy(
            given.start_stiffness, given.linear_stiffness, given.angular_stiffness
        )

    @constraint_projection_policy.setter
    def constraint_projection_policy(self, value: JointConstraintProjectionPolicy) -> None:
        self._require_alive()
        if not isinstance(value, JointConstraintProjectionPolicy):
            raise values.ShapeError(f"a JointConstraintProjectionPolicy is needed, got {value!r}")
        value.check_stiffness()
        self._world._require_idle()
        given = self._described.projection
        given.start_stiffness = value.start_stiffness
        given.linear_stiffness = value.linear_stiffness
        given.angular_stiffness = value.angular_stiffness
        self._world._topology_changed()

    def _row(self) -> int | None:
        runtime = self._live()
        table = runtime.model.loop_joints
        if runtime.constraints is None or table is None:
            return None
        return runtime.constraints.row_of(Owner.LOOP_JOINT, table.label.index(self.name))

    @property
    def is_broken(self) -> bool:
        """Whether the joint pulled or twisted harder than it can; it holds nothing any more."""
        row = self._row()
        return row is not None and bool(self._live().switches[row] == BROKEN)

    def reset_breakage(self) -> None:
        """Let a broken joint hold again, from where its ends are pulled together."""
        row = self._row()
        self._world._require_idle()
        if row is not None:
            self._live().switches[row] = ON

    @property
    def wrench(self) -> Array:
        """What the last step did to the parent: torque about the joint [N m], force [N], world axes, (6,).

        The child feels the opposite. It holds the joint together: what a motor does is `effort`. Zero
        before the first step and when the joint is broken.
        """
        row, runtime = self._row(), self._live()
        if row is None or runtime.constraints is None:
            return np.zeros(6)
        return runtime.constraints.column.equality_wrench[row, [3, 4, 5, 0, 1, 2]]

    def remove(self) -> None:
        """Take the joint out of the World, in design mode or within `World.edit()`."""
        self._require_design(f"removing joint '{self.name}'")
        rows = self._world._scene.joints
        del rows[next(k for k, joint in enumerate(rows) if joint is self._described)]
        self._gone = f"joint '{self.name}' was removed"
        self._world._topology_changed()

    def __repr__(self) -> str:
        if not self._alive:
            return f"WorldJoint('{self.name}', not valid)"
        return f"WorldJoint('{self.name}', {self.type.name})"


def add_joint(
    world: WorldRuntime, parent: Frame, child: Frame, spec: JointSpec
) -> tuple[described.WorldJoint, int]:
    """The description of a joint between two bodies, checked against this world, and the next number."""
    world._require_design("adding a joint")
    if not isinstance(spec, JointSpec):
        raise values.ShapeError(f"a joint needs a JointSpec, got {spec!r}")
    for which, frame in (("parent", parent), ("child", child)):
        world._own_frame(frame, which)
    if not isinstance(child, (RigidBody, Link)):
        raise ArgumentError(f"the child of a joint must be a body or a link, got '{child.name}'")
    if parent is child:
        raise ArgumentError(f"the endpoints of a joint must be distinct, both are '{child.name}'")
    if spec.type not in TYPES:
        names = ", ".join(kind.name for kind in TYPES)
        raise UnknownCapabilityError(f"a joint between bodies must be one of {names}, got {spec.type.name}")
    if (spec.parent_anchor is None) != (spec.child_anchor is None):
        raise ArgumentError("anchors of a joint must be given for both endpoints or for none")
    limits = _limits(spec)
    drive = checked_drive(spec.actuator_type, spec.type, spec.name or "joint")
    spec.check_axes()
    name, number = free_name(spec.name, "joint", scene_names(world)[1], world._numbers["joint"], "joint")
    X_p, X_c = _frames(parent, child, spec)
    made = described.WorldJoint(
        parent=world._frame_ref(parent, values.matrix_of(X_p)),
        child=world._frame_ref(child, values.matrix_of(X_c)),
        joint=SceneJoint(
            name=name,
            type_=scene_joint_type(spec.type),
            axis=spec.axis,
            axis2=spec.axis2,
            pitch=spec.pitch,
            pos_limit=limits,
            drive=drive_type(drive),
        ),
        effort_limit=_both_ways(spec.effort_limits, "effort limits"),
        velocity_limit=_both_ways(spec.velocity_limits, "velocity limits"),
    )
    for parameter in PASSIVE:
        if (given := getattr(spec, parameter)) is not None:
            set_passive(made.joint, parameter, given, f"joint '{name}'")
    return made, number


def _limits(spec: JointSpec) -> Range:
    """Position limits of a joint between bodies; what else it cannot have is refused."""
    given = ["acceleration_limits"] * (spec.acceleration_limits is not None)
    given += ["limit_margin"] * (spec.limit_margin != 0.0)
    if spec.type not in DRIVEN:
        own = ("velocity_limits", "effort_limits", *PASSIVE)
        given += [name for name in own if getattr(spec, name) is not None]
    low, high = spec.position_lower_limits, spec.position_upper_limits
    if spec.type not in _LIMITED and (low is not None or high is not None):
        given.append("position limits")
    if given:
        raise UnknownCapabilityError(f"a {spec.type.name} joint between bodies has no {', '.join(given)}")
    least = -math.inf if low is None else float(values.spread(low, 1, "position_lower_limits")[0])
    most = math.inf if high is None else float(values.spread(high, 1, "position_upper_limits")[0])
    if least > most:
        raise ArgumentError(f"lower limit {least} of a joint must not exceed upper limit {most}")
    return Range(lower=least, upper=most)


def _both_ways(size: Array | None, what: str) -> Range:
    """A limit of a size in both directions; none without it."""
    number = math.inf if size is None else float(values.spread(size, 1, what)[0])
    return checked_range(-number, number, what)


def _frames(parent: Frame, child: Frame, spec: JointSpec) -> tuple[Array, Array]:
    """The joint frame on both; with anchors, or with nothing given, the pose at creation is the target."""
    X_p, X_c = parent._pose().copy(), child._pose().copy()
    here = compose(inverse(X_p), X_c)
    if spec.parent_anchor is not None and spec.child_anchor is not None:
        back = inverse(here)
        unturned = np.array([0.0, 0.0, 0.0, 1.0])
        return np.concatenate([spec.parent_anchor, unturned]), np.concatenate([spec.child_anchor, back[3:]])
    to_parent = values.pose_of(spec.transform_to_parent, "transform_to_parent")
    from_parent = values.pose_of(spec.transform_from_parent, "transform_from_parent")
    identity = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    if np.array_equal(to_parent, identity) and np.array_equal(from_parent, identity):
        return here, identity
    return to_parent, inverse(from_parent)
