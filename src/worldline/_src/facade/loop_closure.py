# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Loop closures: spatial relations between two frames, beside the trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, require_kind
from worldline._src.facade import closure_projection, kinds, values
from worldline._src.facade.closure_residual import LoopClosureResidual, measured
from worldline._src.facade.copying import Address
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.frame import Frame
from worldline._src.facade.free_names import free_name
from worldline._src.facade.handle import Handle
from worldline._src.facade.link import Link
from worldline._src.facade.options import Options, Setting, flag
from worldline._src.facade.quantities import Quantity, Reading, handle_attribute, quantity, reading
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.values import TransformLike
from worldline._src.scene import closures as described
from worldline._src.spatial.poses import Array, compose
from worldline._src.step.pack_equalities import Owner

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime

_IDENTITY = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def _transform(what: str) -> Callable[[Any], Array]:
    def check(value: Any) -> Array:
        if value is None:
            return np.eye(4)
        values.pose_of(value, what)
        return values.array(value, what)

    return check


def _endpoint(what: str) -> Callable[[Any], Frame]:
    def check(value: Any) -> Frame:
        if not isinstance(value, Frame):
            raise values.ShapeError(f"{what} must be a frame, body or link, got {value!r}")
        return value

    return check


class LoopClosureSpec(Options):
    """What a closure connects; endpoints are symmetric. A value whose fields are checked when set.

    Args:
        frame_a: a frame, body or link.
        frame_b: another.
        family: what the endpoints share.
        offset_a: pose of the endpoint in frame_a, 4x4; identity when None.
        offset_b: pose of the endpoint in frame_b, 4x4; identity when None.
        distance: kept by the DISTANCE family [m].
        allow_collision: whether the two bodies touch while the closure is solved. By default they do not, as
            parent and child of a joint do not; what is closed to the world still touches the world's shapes.
    """

    frame_a: Setting[Frame, Frame] = Setting(_endpoint("frame_a"))
    frame_b: Setting[Frame, Frame] = Setting(_endpoint("frame_b"))
    family: Setting[kinds.LoopClosureFamily, kinds.LoopClosureFamily] = Setting(
        lambda v: kinds.member(kinds.LoopClosureFamily, v, "family of a loop closure")
    )
    offset_a: Setting[Array, TransformLike | None] = Setting(_transform("offset_a"))
    offset_b: Setting[Array, TransformLike | None] = Setting(_transform("offset_b"))
    distance: Setting[float, float] = Setting(lambda v: values.non_negative(v, "distance of a loop closure"))
    allow_collision: Setting[bool, bool] = Setting(flag("allow_collision of a loop closure"))

    def __init__(
        self,
        frame_a: Frame,
        frame_b: Frame,
        family: kinds.LoopClosureFamily = kinds.LoopClosureFamily.RIGID,
        offset_a: TransformLike | None = None,
        offset_b: TransformLike | None = None,
        distance: float = 0.0,
        allow_collision: bool = False,
    ) -> None:
        self._take(locals())

    def __repr__(self) -> str:
        return f"LoopClosureSpec({self.family.name}, '{self.frame_a.name}', '{self.frame_b.name}')"


class LoopClosureRuntimePolicy(Options):
    """What is done about a closure while the world runs; a value that is assigned as a whole.

    Args:
        enabled: whether the policies apply.
        kinematics: what a kinematics update does about the closure: PROJECT moves joints that do not drive
            until it is closed, whenever coordinates were written; see `World.closure_projection`.
        dynamics: what a step does: SOLVE keeps it closed, RESIDUAL_ONLY leaves it open to be measured, which
            see `StepReport.notes`.
        initial_tolerance: largest norm of the residual [m or rad] with which a simulation may start: entering
            simulation mode, the end of `World.edit()` and batches refuse an enabled closure that is further
            open. None starts with any; a step then closes it.

    Example:
        >>> from worldline import simulation as sx
        >>> sx.LoopClosureRuntimePolicy().dynamics.name
        'SOLVE'
    """

    enabled: Setting[bool, bool] = Setting(flag("LoopClosureRuntimePolicy enabled"))
    kinematics: Setting[kinds.ClosureKinematicsPolicy, kinds.ClosureKinematicsPolicy] = Setting(
        lambda v: kinds.member(kinds.ClosureKinematicsPolicy, v, "kinematics policy")
    )
    dynamics: Setting[kinds.ClosureDynamicsPolicy, kinds.ClosureDynamicsPolicy] = Setting(
        lambda v: kinds.member(kinds.ClosureDynamicsPolicy, v, "dynamics policy")
    )
    initial_tolerance: Setting[float | None, float | None] = Setting(
        lambda v: None if v is None else values.non_negative(v, "initial_tolerance of a loop closure")
    )

    def __init__(
        self,
        enabled: bool = True,
        kinematics: kinds.ClosureKinematicsPolicy = kinds.ClosureKinematicsPolicy.RESIDUAL_ONLY,
        dynamics: kinds.ClosureDynamicsPolicy = kinds.ClosureDynamicsPolicy.SOLVE,
        initial_tolerance: float | None = None,
    ) -> None:
        self._take(locals())


def _given(name: str, doc: str) -> Any:
    """What the closure was made with; a copy of arrays."""

    def read(closure: LoopClosure) -> Any:
        closure._require_alive()
        value = getattr(closure._spec, name)
        return values.read_only(value.copy()) if values.is_array(value) else value

    return reading(read, doc)


def _policy(name: str, doc: str) -> Any:
    """One of the policies that apply."""
    return quantity(
        lambda closure: getattr(closure.runtime_policy, name),
        lambda closure, value: closure._change(**{name: value}),
        doc,
    )


class LoopClosure(Handle):
    """A closure of a loop, which steps keep closed. Its topology is fixed; whether it acts is a policy.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> a, b = world.add_rigid_body("a"), world.add_rigid_body("b", position=(0, 0, 2))
        >>> closure = world.add_loop_closure("rod", frame_a=a, frame_b=b,
        ...     family=sx.LoopClosureFamily.DISTANCE, distance=1.5)
        >>> closure.compute_residual().value.tolist()
        [0.5]
    """

    def __init__(
        self, world: WorldRuntime, description: described.LoopClosure, spec: LoopClosureSpec
    ) -> None:
        super().__init__(world)
        self._closure = description
        self._spec = spec.copy()

    @property
    def name(self) -> str:
        """Unique among the closures of the World."""
        return self._closure.name or ""

    def _path(self) -> Address:
        return "loop_closures", self.name

    frame_a: Reading[Frame] = _given("frame_a", "First endpoint.")
    frame_b: Reading[Frame] = _given("frame_b", "Second endpoint.")
    offset_a: Reading[Array] = _given("offset_a", "Pose of the endpoint in frame_a, 4x4.")
    offset_b: Reading[Array] = _given("offset_b", "Pose of the endpoint in frame_b, 4x4.")
    family: Reading[kinds.LoopClosureFamily] = _given("family", "What the endpoints share.")
    distance: Reading[float] = _given("distance", "Distance kept by the DISTANCE family [m].")

    allow_collision: Reading[bool] = handle_attribute(
        "_closure.allow_collision", "Whether the two bodies touch while the closure is solved."
    )

    @property
    def runtime_policy(self) -> LoopClosureRuntimePolicy:
        """A copy; assign it back to change it."""
        self._require_alive()
        return LoopClosureRuntimePolicy(
            self._closure.enabled,
            kinds.ClosureKinematicsPolicy(self._closure.kinematics.name),
            kinds.ClosureDynamicsPolicy(self._closure.dynamics.name),
            self._closure.initial_tolerance,
        )

    @runtime_policy.setter
    def runtime_policy(self, value: LoopClosureRuntimePolicy) -> None:
        self._require_alive()
        if not isinstance(value, LoopClosureRuntimePolicy):
            raise values.ShapeError(f"runtime_policy must be a LoopClosureRuntimePolicy, got {value!r}")
        self._world._require_idle()
        solved = self._is_solved
        self._closure.enabled = value.enabled
        self._closure.kinematics = described.ClosureKinematicsPolicy[value.kinematics.value]
        self._closure.dynamics = described.ClosureDynamicsPolicy[value.dynamics.value]
        self._closure.initial_tolerance = value.initial_tolerance
        if solved != self._is_solved:
            self._world._topology_changed()
        else:
            self._world._configuration_changed()
            if self._world._runtime is not None:
                closure_projection.watch(self._world, self._world._runtime)

    @property
    def _is_solved(self) -> bool:
        """Whether a step keeps the closure closed."""
        return self._closure.enabled and self._closure.dynamics is described.ClosureDynamicsPolicy.Solve

    @property
    def _is_projected(self) -> bool:
        """Whether coordinates that are written are moved so that the closure is closed."""
        return self._closure.enabled and self._closure.kinematics is described.ClosureKinematicsPolicy.Project

    def _change(self, **fields: Any) -> None:
        policy = self.runtime_policy
        for name, value in fields.items():
            setattr(policy, name, value)
        self.runtime_policy = policy

    enabled: Quantity[bool, bool] = _policy("enabled", "Whether the policies apply.")
    kinematics: Quantity[kinds.ClosureKinematicsPolicy, kinds.ClosureKinematicsPolicy] = _policy(
        "kinematics", "What a kinematics update does about the closure."
    )
    dynamics: Quantity[kinds.ClosureDynamicsPolicy, kinds.ClosureDynamicsPolicy] = _policy(
        "dynamics", "What a step does about the closure."
    )
    initial_tolerance: Quantity[float | None, float | None] = _policy(
        "initial_tolerance", "Largest residual with which a simulation may start [m or rad]; None for any."
    )

    @exclusive
    def compute_residual(
        self, coordinates: kinds.LoopClosureResidualCoordinates = kinds.LoopClosureResidualCoordinates.WORLD
    ) -> LoopClosureResidual:
        """How far the closure is from being closed now, and its force in the last step.

        Args:
            coordinates: the axes of its vectors: the world's, or those of an endpoint.
        """
        self._require_alive()
        return measured(
            self, kinds.member(kinds.LoopClosureResidualCoordinates, coordinates, "coordinates of a residual")
        )

    def _wrench(self) -> Array | None:
        """Force, then torque, on endpoint A in the step that ended here; None when it solved for none."""
        runtime = self._world._live()
        table = runtime.model.closures
        if not (self._is_solved and runtime.sim.stepped) or runtime.constraints is None or table is None:
            return None
        row = runtime.constraints.row_of(Owner.CLOSURE, table.label.index(self.name))
        if row is None or runtime.constraints.column.equality_row[row] < 0:
            return None
        return values.read_only(runtime.constraints.column.equality_wrench[row].copy())

    def _move_end(self, second: bool, base: Frame, X: Array) -> None:
        """An end now stands at a pose of a body, a link or the world."""
        spec, world = self._spec, self._world
        if second:
            self._closure.frame_b = world._frame_ref(spec.frame_b, spec.offset_b)
        else:
            self._closure.frame_a = world._frame_ref(spec.frame_a, spec.offset_a)
        runtime = world._runtime
        table = None if runtime is None else runtime.model.closures
        if runtime is None or table is None:
            return
        body = runtime.body(base._link) if isinstance(base, (RigidBody, Link)) else -1
        k, name = table.label.index(self.name), "X_b" if second else "X_a"
        poses = np.array(getattr(table, name))
        poses[k] = X
        setattr(table, name, poses)
        constraints = runtime.constraints
        if constraints is not None and not constraints.move_closure_end(k, second, body, X):
            world._topology_changed()

    def _touches(self, frame: object) -> bool:
        return self._spec.frame_a is frame or self._spec.frame_b is frame

    def remove(self) -> None:
        """Take the closure out of the World, in design mode or within `World.edit()`."""
        self._world.remove(self)

    def __repr__(self) -> str:
        state = "" if self._alive else ", not valid"
        return f"LoopClosure('{self.name}', {self._spec.family.name}{state})"


def follow_frame(world: WorldRuntime, frame: Frame) -> None:
    """Take the ends of closures along with a frame that was moved, and with the frames that stand on it."""
    for closure in world._loop_closures.values():
        spec = closure._spec
        for second, end, offset in (
            (False, spec.frame_a, spec.offset_a),
            (True, spec.frame_b, spec.offset_b),
        ):
            base, X, carried = end, values.pose_of(offset, "offset"), False
            while not (base.is_world or isinstance(base, (RigidBody, Link))):
                carried = carried or base is frame
                X = compose(values.pose_of(base.local_transform, "frame"), X)
                base = base.parent_frame
            if carried:
                closure._move_end(second, base, X)


def require_initially_closed(world: WorldRuntime) -> None:
    """Refuse enabled closures that are further open than their policy lets a simulation start with."""
    for closure in world._loop_closures.values():
        allowed = closure._closure.initial_tolerance
        if allowed is None or not closure._closure.enabled:
            continue
        norm = closure.compute_residual().norm
        if norm > allowed:
            raise ArgumentError(
                f"loop closure '{closure.name}' is open by {norm:.3g} at the start, its initial_tolerance "
                f"allows {allowed:g}; write coordinates that close it, or use the policy PROJECT"
            )


def body_under(frame: Frame) -> Frame | None:
    """The body or link that carries a frame, None for one that stands in the world."""
    while not frame.is_world:
        if frame._is_body:
            return frame
        frame = frame.parent_frame
    return None


def name_and_spec(
    given: tuple[Any, ...], name: str | None, spec: LoopClosureSpec | None, ends: dict[str, Any]
) -> tuple[str | None, LoopClosureSpec]:
    """Name and spec of a new closure from what `World.add_loop_closure` was given."""
    rest = list(given)
    if spec is None and rest and (len(rest) > 1 or isinstance(rest[-1], LoopClosureSpec)):
        spec = rest.pop()
    if len(rest) > 1 or (rest and name is not None):
        raise ArgumentError("add_loop_closure takes a name and a LoopClosureSpec, in this order, each once")
    name = rest[0] if rest else name
    if spec is not None and ends:
        raise ArgumentError(
            f"add_loop_closure takes a LoopClosureSpec or keywords, got both: {', '.join(ends)}"
        )
    if spec is None:
        if "frame_a" not in ends or "frame_b" not in ends:
            raise ArgumentError("a loop closure needs frame_a and frame_b, or a LoopClosureSpec")
        spec = LoopClosureSpec(**ends)
    require_kind(spec, LoopClosureSpec, "spec", "add_loop_closure")
    return name, spec


def add_loop_closure(world: WorldRuntime, name: str | None, spec: LoopClosureSpec) -> LoopClosure:
    """A closure, checked against this world, and its place in the description."""
    world._require_design("adding a loop closure")
    for which, frame in (("frame_a", spec.frame_a), ("frame_b", spec.frame_b)):
        world._own_frame(frame, which)
    if spec.distance and spec.family is not kinds.LoopClosureFamily.DISTANCE:
        raise ArgumentError(
            f"distance of a loop closure is kept by the DISTANCE family; a {spec.family.name} closure has "
            f"none, got {spec.distance}"
        )
    same = spec.frame_a is spec.frame_b
    if same and np.allclose(spec.offset_a, spec.offset_b, atol=0.0):
        raise ArgumentError(
            f"the endpoints of a loop closure must be distinct, both are '{spec.frame_a.name}'"
        )
    if same:
        raise ArgumentError(
            f"the endpoints of a loop closure must be on distinct frames, both are on '{spec.frame_a.name}'"
        )
    chosen, number = free_name(
        name, "loop_closure", world._loop_closures, world._numbers["loop_closure"], "loop closure"
    )
    made = described.LoopClosure(
        name=chosen,
        frame_a=world._frame_ref(spec.frame_a, spec.offset_a),
        frame_b=world._frame_ref(spec.frame_b, spec.offset_b),
        family=kinds.scene_family(spec.family),
        distance=spec.distance,
        allow_collision=spec.allow_collision,
    )
    handle = LoopClosure(world, made, spec.copy())
    world._numbers["loop_closure"] = number
    world._scene.loop_closures.append(made)
    world._loop_closures[chosen] = handle
    world._topology_changed()
    return handle
