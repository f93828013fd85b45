# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the names of variables to the numbers of a World, and back.

State variables are `<multibody>.q` and `.dq`, the same for one joint (`arm.elbow.q`), `<rigid body>.pose`
(position and xyzw) and `.velocity` (of the origin in world axes, then angular in body axes: the velocity
that belongs to the pose), and `<actuator>.activation`. Control variables are `.force`, `.target_position`,
`.target_velocity` and `.command_acceleration` of multibodies and joints, `.wrench` (persistent torque,
then force) of rigid bodies, and `<actuator>.control`.
Positions of ball and floating joints are quaternions when the variable has as many numbers as there are
coordinates, and rotation vectors, as in `joint.position`, when it has as many as there are degrees of
freedom.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, NotFoundError, OperationError, nearest_name
from worldline._src.facade import values
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.manifold import Manifold, Piece, exp, log
from worldline._src.facade.state_space import StateSpace, StateVariable
from worldline._src.facade.world_state import NamedVector, WorldControl, WorldState
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.bodies import BodyKind
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.frame_rows import FrameRows
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime

_JOINT_STATE = {"q": "q", "dq": "v"}
_JOINT_CONTROL = {
    "force": "force",
    "target_position": "q_target",
    "target_velocity": "v_target",
    "command_acceleration": "a_target",
}
_BODY_STATE = {"pose": "q", "velocity": "v"}
_BODY_CONTROL = {"wrench": "body_f"}
_ACTIVATION, _CONTROL = "activation", "control"
_UNIT = 1e-12
"""How far from one the length of a quaternion may be to be left as it is."""


class _Found(NamedTuple):
    """A variable: where its numbers are in the arena, or among those of actuators, and what they are."""

    rows: np.ndarray
    pieces: list[Piece]
    of_actuator: bool = False


class Binding:
    """A space bound to the arrays of one runtime."""

    def __init__(self, world: WorldRuntime, runtime: Runtime, space: StateSpace, control: bool) -> None:
        self.space = space
        found = [_resolve(world, runtime, variable, control) for variable in space.variables]
        rows = np.concatenate([np.zeros(0, np.int64), *(f.rows for f in found)])
        of_actuators = np.concatenate(
            [np.zeros(0, bool), *(np.full(len(f.rows), f.of_actuator) for f in found)]
        )
        self.rows = rows[~of_actuators]
        """Entries of the arena that hold the variables, those of actuators left out."""
        self._control = control
        self.in_arena = np.flatnonzero(~of_actuators)
        """Which numbers of a checked vector belong to `rows`."""
        self.in_actuators = np.flatnonzero(of_actuators)
        """Which belong to actuators, and to which of them."""
        self.actuator_rows = rows[of_actuators]
        self.manifold = Manifold(piece for f in found for piece in f.pieces)
        self._turns = bool(len(self.manifold.vectors))
        if self._turns:
            # the arena has a quaternion where the variable has a rotation vector
            stored = Manifold(
                Piece.QUATERNION if piece is Piece.ROTATION_VECTOR else piece
                for f in found
                for piece in f.pieces
            )
            turned = [p is Piece.ROTATION_VECTOR for f in found for p in f.pieces if p is not Piece.NUMBER]
            self._stored_numbers = stored.numbers
            self._stored_plain = stored.quaternions[~np.array(turned)]
            self._stored_turned = stored.quaternions[np.array(turned)]
        self._guard = runtime.guard
        self.static = _static_velocities(world, space) if not control else []

    def of_actuators(self, runtime: Runtime) -> Array:
        """Activations or controls of the World's actuators, whichever the space has."""
        return runtime.control if self._control else runtime.activation

    def read_from(self, runtime: Runtime) -> Array:
        """The flat vector as the World has it now."""
        return self.read(runtime.sim.data, self.of_actuators(runtime))

    def read(self, data: Array, of_actuators: Array) -> Array:
        """The flat vector, from the arena and from the activations or controls of actuators."""
        if self._guard.busy:
            self._guard.wait()
        y = data[self.rows]
        if len(self.in_actuators):
            y, numbers = np.empty(len(y) + len(self.in_actuators)), y
            y[self.in_arena], y[self.in_actuators] = numbers, of_actuators[self.actuator_rows]
        if not self._turns:
            return y
        x = np.empty(self.manifold.dimension)
        x[self.manifold.numbers] = y[self._stored_numbers]
        x[self.manifold.quaternions] = y[self._stored_plain]
        x[self.manifold.vectors] = log(y[self._stored_turned])
        return x

    def checked(self, x: Array) -> Array:
        """A flat vector as it goes into the arena; raises for what cannot be a state."""
        if not np.isfinite(x).all():
            bad = int(np.flatnonzero(~np.isfinite(x))[0])
            raise ArgumentError(f"{self._name(bad)} must be finite, got {x[bad]}")
        for name, part in self.static:
            if x[part].any():
                raise ArgumentError(f"'{name}' must be zero, the body is static; got {x[part].tolist()}")
        x = x.copy()
        turns = x[self.manifold.quaternions]
        lengths = np.linalg.norm(turns, axis=-1)
        if (lengths < _UNIT).any():
            bad = int(self.manifold.quaternions[int(np.argmin(lengths)), 0])
            raise ArgumentError(f"the quaternion in {self._name(bad)} must be non-zero")
        off = np.abs(lengths - 1.0) > _UNIT
        if off.any():
            x[self.manifold.quaternions[off]] = turns[off] / lengths[off, None]
        if not self._turns:
            return x
        y = np.empty(len(self.rows) + len(self.in_actuators))
        y[self._stored_numbers] = x[self.manifold.numbers]
        y[self._stored_plain] = x[self.manifold.quaternions]
        y[self._stored_turned] = exp(x[self.manifold.vectors])
        return y

    def _name(self, k: int) -> str:
        for variable in self.space.variables:
            if k < variable.start_index + variable.dimension:
                return f"'{variable.name}'[{k - variable.start_index}]"
        raise AssertionError(k)

    def write(self, runtime: Runtime, y: Array) -> None:
        """Put checked numbers into the arena; numbers that are there already change nothing at all."""
        sim = runtime.sim
        of_actuators = self.of_actuators(runtime)
        now = np.concatenate([sim.data[self.rows], of_actuators[self.actuator_rows]])
        given = np.concatenate([y[self.in_arena], y[self.in_actuators]])
        if (now.view(np.int64) == given.view(np.int64)).all():
            return
        sim.data[self.rows] = y[self.in_arena]
        of_actuators[self.actuator_rows] = y[self.in_actuators]
        runtime.controls_written()
        runtime.persistent_wrench[:] = sim.body_f
        runtime.accelerations_commanded()
        sim.forces_written()
        if self._control:
            sim.wake()
        else:
            sim.written()


def bind(world: WorldRuntime, space: StateSpace, control: bool) -> tuple[Runtime, Binding]:
    """A space bound to the World as it is now; the last binding of a space is kept."""
    if not isinstance(space, StateSpace):
        raise values.ShapeError(f"a StateSpace is needed, got {space!r}")
    if not space.is_finalized:
        raise OperationError("the state space must be finalized before it is used; call finalize()")
    runtime = world._live()
    kept = space.__dict__.get("_bound")
    if kept is not None and kept[0]() is runtime and kept[1:3] == (runtime.version, control):
        return runtime, kept[3]
    made = Binding(world, runtime, space, control)
    space.__dict__["_bound"] = (weakref.ref(runtime), runtime.version, control, made)
    return runtime, made


# ---- names


def _resolve(world: WorldRuntime, runtime: Runtime, variable: StateVariable, control: bool) -> _Found:
    owner, _, quantity = variable.name.rpartition(".")
    if quantity == (_CONTROL if control else _ACTIVATION):
        return _actuator_row(runtime, owner, variable, control)
    for_joints, for_bodies = (_JOINT_CONTROL, _BODY_CONTROL) if control else (_JOINT_STATE, _BODY_STATE)
    joints = _joints(world, owner) if quantity in for_joints else None
    body = world._rigid_bodies.get(owner) if quantity in for_bodies else None
    if body is not None:
        found = _body_rows(runtime, body, for_bodies[quantity])
    elif joints is not None:
        found = _joint_rows(runtime, joints, for_joints[quantity], variable)
    else:
        of_actuator = _CONTROL if control else _ACTIVATION
        raise _unknown(world, variable.name, owner, quantity, (*for_joints, *for_bodies, of_actuator))
    if len(found.rows) == 0 or variable.dimension != sum(piece.value[0] for piece in found.pieces):
        raise ArgumentError(
            f"'{variable.name}' has {len(found.rows)} numbers, the space gives it {variable.dimension}"
        )
    return found


def _actuator_row(runtime: Runtime, name: str, variable: StateVariable, control: bool) -> _Found:
    """Activation or control of one actuator."""
    names = _actuators(runtime, activated=False)
    states = _actuators(runtime, activated=True)
    if name not in names and (control or name not in states):
        raise NotFoundError(f"no actuator '{name}' of '{variable.name}'{nearest_name(name, names)}")
    if not control and name not in (names := states):
        raise ArgumentError(f"'{variable.name}': actuator '{name}' has no activation")
    if variable.dimension != 1:
        raise ArgumentError(f"'{variable.name}' has 1 number, the space gives it {variable.dimension}")
    return _Found(np.array([names.index(name)]), [Piece.NUMBER], of_actuator=True)


def _actuators(runtime: Runtime, *, activated: bool) -> list[str]:
    """Names of all actuators of the scene, or of all activations.

    An actuator with several activations has a number behind its name from the second on: `servo`, `servo.1`.
    """
    table = runtime.model.actuators
    if table is None:
        return []
    if not activated:
        return list(table.label)
    owners = runtime.activated
    first = np.searchsorted(owners, owners)
    return [
        table.label[u] if k == at else f"{table.label[u]}.{k - at}"
        for k, (u, at) in enumerate(zip(owners.tolist(), first.tolist(), strict=True))
    ]


def _unknown(
    world: WorldRuntime, name: str, owner: str, quantity: str, allowed: tuple[str, ...]
) -> ArgumentError | NotFoundError:
    if quantity not in allowed:
        return ArgumentError(f"'{name}' is no variable here; it must end in one of .{', .'.join(allowed)}")
    names = [*world._rigid_bodies, *world._multibodies]
    names += [f"{key}.{joint}" for key, robot in world._multibodies.items() for joint in robot._joints]
    return NotFoundError(f"no owner '{owner}' of '{name}' in the World{nearest_name(owner, names)}")


def _joints(world: WorldRuntime, owner: str) -> list[Any] | None:
    """The joints a name stands for: all of a multibody, or one of `multibody.joint`."""
    robot = world._multibodies.get(owner)
    if robot is not None:
        return [joint._joint for joint in robot._joints.values()]
    for name, robot in world._multibodies.items():
        if owner.startswith(f"{name}."):
            joint = robot._joints.get(owner[len(name) + 1 :])
            if joint is not None:
                return [joint._joint]
    return None


def _joint_rows(runtime: Runtime, joints: list[Any], field: str, variable: StateVariable) -> _Found:
    offset = runtime.model.arenas.offsets[field]
    slices = [(runtime.q_slice(joint), runtime.v_slice(joint)) for joint in joints]
    if not field.startswith("q"):
        rows = [row for _, v in slices for row in range(v.start, v.stop)]
        return _Found(np.array(rows, np.int64) + offset, [Piece.NUMBER] * len(rows))
    rows = [row for q, _ in slices for row in range(q.start, q.stop)]
    freedoms = sum(v.stop - v.start for _, v in slices)
    turn = Piece.ROTATION_VECTOR if variable.dimension == freedoms != len(rows) else Piece.QUATERNION
    pieces: list[Piece] = []
    for q, v in slices:
        n = q.stop - q.start
        turning = n != v.stop - v.start
        pieces += [Piece.NUMBER] * (n - 4) + [turn] if turning else [Piece.NUMBER] * n
    return _Found(np.array(rows, np.int64) + offset, pieces)


def _body_rows(runtime: Runtime, body: Any, field: str) -> _Found:
    offset = runtime.model.arenas.offsets[field]
    if field == "body_f":
        start = offset + 6 * runtime.body(body._link)
        return _Found(np.arange(start, start + 6), [Piece.NUMBER] * 6)
    if field == "q":
        q = runtime.q_slice(body._body.free)
        return _Found(np.arange(q.start, q.stop) + offset, [Piece.NUMBER] * 3 + [Piece.QUATERNION])
    v = runtime.v_slice(body._body.free)
    return _Found(np.arange(v.start, v.stop) + offset, [Piece.NUMBER] * 6)


def _static_velocities(world: WorldRuntime, space: StateSpace) -> list[tuple[str, slice]]:
    return [
        (variable.name, variable.slice)
        for variable in space.variables
        if variable.name.endswith(".velocity")
        and (body := world._rigid_bodies.get(variable.name.removesuffix(".velocity"))) is not None
        and body._body.kind is BodyKind.Static
    ]


# ---- spaces made from a World


def state_space(world: WorldRuntime, *, rigid_only: bool = False) -> StateSpace:
    """Poses of rigid bodies, coordinates of multibodies, the velocities of both, activations of actuators."""
    runtime = world._live()
    model = runtime.model
    space = StateSpace()
    robots = [] if rigid_only else [robot for robot in world._multibodies.values() if robot.num_dofs]
    for name in world._rigid_bodies:
        bound = np.array([np.inf] * 3 + [1.0] * 4)
        space.add_variable(f"{name}.pose", 7, lower=-bound, upper=bound)
    for robot in robots:
        lower: list[float] = []
        upper: list[float] = []
        for joint in robot._joints.values():
            q, v = runtime.q_slice(joint._joint), runtime.v_slice(joint._joint)
            n = q.stop - q.start
            if n == v.stop - v.start:
                lower += model.joint_limit_lower[v].tolist()
                upper += model.joint_limit_upper[v].tolist()
            else:
                lower += [-np.inf] * (n - 4) + [-1.0] * 4
                upper += [np.inf] * (n - 4) + [1.0] * 4
        space.add_variable(f"{robot.name}.q", len(lower), lower=lower, upper=upper)
    for name in world._rigid_bodies:
        space.add_variable(f"{name}.velocity", 6)
    for robot in robots:
        low, high = (robot._dof_parameter(f"joint_velocity_{end}") for end in ("lower", "limit"))
        space.add_variable(f"{robot.name}.dq", robot.num_dofs, lower=low, upper=high)
    if not rigid_only and model.actuators is not None:
        ranges = model.actuators.activation_range[runtime.activated].tolist()
        for name, (low, high) in zip(_actuators(runtime, activated=True), ranges, strict=True):
            space.add_variable(f"{name}.{_ACTIVATION}", lower=low, upper=high)
    return space.finalize()


def control_space(world: WorldRuntime, *, rigid_only: bool = False) -> StateSpace:
    """Persistent torques and forces of rigid bodies, commanded efforts of multibodies, actuator controls."""
    runtime = world._live()
    table = runtime.model.actuators
    space = StateSpace()
    for name in world._rigid_bodies:
        space.add_variable(f"{name}.wrench", 6)
    for robot in () if rigid_only else world._multibodies.values():
        if robot.num_dofs:
            low, high = (robot._dof_parameter(f"joint_effort_{end}") for end in ("lower", "limit"))
            space.add_variable(f"{robot.name}.force", robot.num_dofs, lower=low, upper=high)
    if not rigid_only and table is not None:
        for name, (low, high) in zip(table.label, table.control_range.tolist(), strict=True):
            space.add_variable(f"{name}.{_CONTROL}", lower=low, upper=high)
    return space.finalize()


def controls_of(world: WorldRuntime, space: StateSpace) -> StateSpace:
    """The space itself, or, when it only names state, the controls of the objects it names."""
    allowed = {*_JOINT_CONTROL, *_BODY_CONTROL, _CONTROL}
    if any(name.rpartition(".")[2] in allowed for name in space.variable_names):
        return space
    made = StateSpace()
    for name in space.variable_names:
        owner, _, quantity = name.rpartition(".")
        if quantity in _BODY_STATE and owner in world._rigid_bodies:
            if not made.has_variable(f"{owner}.wrench"):
                made.add_variable(f"{owner}.wrench", 6)
        elif quantity in _JOINT_STATE and (joints := _joints(world, owner)) is not None:
            freedoms = sum((s := world._live().v_slice(joint)).stop - s.start for joint in joints)
            if not made.has_variable(f"{owner}.force"):
                made.add_variable(f"{owner}.force", freedoms)
        elif quantity == _ACTIVATION:
            made.add_variable(f"{owner}.{_CONTROL}")
        else:
            known = (*_JOINT_STATE, *_BODY_STATE, _ACTIVATION, *sorted(allowed))
            raise _unknown(world, name, owner, quantity, known)
    return made.finalize()


# ---- reading and writing


def get_state(world: WorldRuntime, space: StateSpace) -> WorldState:
    """A copy of the state a space names."""
    runtime, binding = bind(world, space, control=False)
    return WorldState(space, binding.read_from(runtime), binding.manifold)


def get_control(world: WorldRuntime, space: StateSpace) -> WorldControl:
    """A copy of the controls a space names."""
    if isinstance(space, StateSpace) and space.is_finalized:
        space = controls_of(world, space)
    runtime, binding = bind(world, space, control=True)
    return WorldControl(space, binding.read_from(runtime))


@exclusive
def put(world: WorldRuntime, given: NamedVector, control: bool) -> None:
    """Check everything, then write everything."""
    kind = WorldControl if control else WorldState
    if not isinstance(given, kind):
        raise values.ShapeError(f"a {kind.__name__} is needed, got {given!r}")
    runtime, binding = bind(world, given.space, control)
    binding.write(runtime, binding.checked(given.vector))


def columns(world: WorldRuntime, runtime: Runtime, rows: FrameRows) -> dict[str, list[int]]:
    """Where everything that has a name is in the rows of frames."""
    offsets = runtime.model.arenas.offsets
    made: dict[str, list[int]] = {}
    for name, body in world._rigid_bodies.items():
        joint = body._body.free
        assert joint is not None
        q, v = runtime.q_slice(joint), runtime.v_slice(joint)
        held = rows.parts["held"].start + 6 * runtime.body(body._link)
        made[f"{name}.pose"] = rows.columns(values.indices([q]) + offsets["q"])
        made[f"{name}.velocity"] = rows.columns(values.indices([v]) + offsets["v"])
        made[f"{name}.acceleration"] = rows.columns(values.indices([v]) + offsets["a"])
        made[f"{name}.wrench"] = list(range(held, held + 6))
    for name, robot in world._multibodies.items():
        joints = [joint._joint for joint in robot._joints.values()]
        for quantity, field in (_JOINT_STATE | {"ddq": "a"} | _JOINT_CONTROL).items():
            part = runtime.q_slice if field.startswith("q") else runtime.v_slice
            places = [row for joint in joints for row in range(*part(joint).indices(2**62))]
            if places:
                made[f"{name}.{quantity}"] = rows.columns(np.array(places) + offsets[field])
    for part, quantity, activated in (("control", _CONTROL, False), ("activation", _ACTIVATION, True)):
        for k, name in enumerate(_actuators(runtime, activated=activated), rows.parts[part].start):
            made[f"{name}.{quantity}"] = [k]
    return made
