# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of many worlds from states and controls, without touching the World they come from."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError, ShapeError, StepFailure, nearest_name
from worldline._src.facade import values
from worldline._src.facade.batch.contacts import BatchContacts
from worldline._src.facade.batch.layout_choice import AUTOMATIC
from worldline._src.facade.batch.template import BatchSource, arrays_of
from worldline._src.facade.batch.world_batch import WorldBatch
from worldline._src.facade.options import noise_world
from worldline._src.facade.world import World
from worldline._src.facade.world_state import WorldState
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array
from worldline._src.step import dynamics
from worldline._src.step.divergence import DivergencePolicy

_STATE = ("joint_positions", "joint_velocities", "activations")


class Feedback(NamedTuple):
    """Controls that follow from the state: u = control - gain * (x - x0), clipped by the actuators alone.

    The difference of states is [tangent of coordinates; velocities], with rotations as rotation vectors.
    """

    gain: Array
    """(actuators, 2 joint_dof_count)."""
    joint_positions: Array
    """Coordinates of x0, (joint_coord_count,)."""
    joint_velocities: Array
    """Velocities of x0, (joint_dof_count,)."""
    control: Array
    """Controls at x0, (actuators,)."""


class RolloutTrajectory(NamedTuple):
    """States of all worlds, before the first step and after every step."""

    joint_positions: Array
    """(worlds, steps + 1, joint_coord_count)."""
    joint_velocities: Array
    """(worlds, steps + 1, joint_dof_count)."""
    activations: Array
    """(worlds, steps + 1, activation_count)."""
    controls: Array
    """Controls of every step, (worlds, steps, actuators)."""
    time: Array
    """[s], (worlds, steps + 1)."""
    sensor_values: Array | None = None
    """Readings before the first step and after every step, (worlds, steps + 1, n), on request."""
    contacts: tuple[BatchContacts, ...] | None = None
    """Contacts before the first step and after every step, on request."""
    failures: tuple[StepFailure, ...] = ()
    """Worlds that diverged; they stay at their last good state to the end."""

    @property
    def num_steps(self) -> int:
        """Number of steps."""
        return self.time.shape[1] - 1

    @property
    def num_worlds(self) -> int:
        """Number of worlds."""
        return self.time.shape[0]


def rollout(
    model: BatchSource,
    initial_state: Any = None,
    control: Any = None,
    steps: int | None = None,
    out: RolloutTrajectory | None = None,
    *,
    threads: int = 1,
    sensors: bool = False,
    contacts: bool = False,
    layout: str = AUTOMATIC,
    first_world: int = 0,
) -> RolloutTrajectory:
    """Step worlds from given states under given controls, and return all states in between.

    What is given is not changed. Worlds that diverge are frozen and named in `failures`. The number of worlds
    is the one that states or controls have; numbers without a world dimension serve all worlds.

    Args:
        model: a World, a scene or a Model; its own state is where worlds start when no state is given.
        initial_state: a mapping of arrays by name (`joint_positions`, `joint_velocities`, `activations`),
            each ([worlds,] n); or one array [joint_positions, joint_velocities, activations], ([worlds,] n);
            or, for a World, a `WorldState` or several.
        control: ([worlds,] steps, actuators); or a `Feedback`; the controls of the World when None.
        steps: number of steps; may be left out where controls give it.
        out: a trajectory to write into, float64 arrays of the right shapes; a new one when None.
        threads: processors to use, 0 for all.
        sensors: whether to read sensors before the first step and after every step.
        contacts: whether to find contacts before the first step and after every step.
        layout: as for `WorldBatch`.
        first_world: index of the first world in the noise of sensors, for parts of a larger rollout.

    Example:
        >>> import numpy as np
        >>> from worldline import simulation as sx
        >>> world = sx.World(gravity=(0, 0, 0), time_step=0.01)
        >>> box = world.add_rigid_body("box")
        >>> start = {"joint_velocities": np.arange(3.0)[:, None] * [1, 0, 0, 0, 0, 0]}
        >>> run = sx.state.rollout(world, start, steps=100)
        >>> run.joint_positions.shape, run.joint_positions[:, -1, 0].round(9).tolist(), world.time
        ((3, 101, 7), [0.0, 1.0, 2.0], 0.0)
    """
    states = states_of(model, initial_state)
    sequence = None if control is None or isinstance(control, Feedback) else sequence_of(control)
    count = count_of(states, sequence)
    if steps is None:
        if sequence is None:
            raise ArgumentError("rollout needs steps, or controls that have them")
        steps = sequence.shape[-2]
    n = values.count(steps, "steps of rollout")
    if n < 0 or (sequence is not None and sequence.shape[-2] != n):
        given = "" if sequence is None else f"; controls are of {sequence.shape[-2]}"
        raise ArgumentError(f"rollout needs a non-negative number of steps, got {n}{given}")
    sensors, contacts = values.flag(sensors, "sensors"), values.flag(contacts, "contacts")
    first = noise_world(first_world, "first_world of rollout")
    batch = WorldBatch(model, count, layout=layout, divergence_policy=DivergencePolicy.FREEZE)
    batch._number_worlds(batch._which + first)
    _start(batch, states)
    nu = batch.controls.shape[1]
    if sequence is not None and sequence.shape[-1] != nu:
        raise ShapeError(f"control of rollout must have {nu} numbers a step, got shape {sequence.shape}")
    feedback = _checked(batch, control) if isinstance(control, Feedback) else None
    made = _trajectory(batch, n, out, sensors)
    found = [batch.contacts] if contacts else None
    _keep(batch, made, 0)
    for k in range(n):
        if sequence is not None:
            batch.controls[:] = sequence[..., k, :]
        elif feedback is not None:
            batch.controls[:] = _followed(batch, feedback)
        made.controls[:, k] = batch.controls
        batch.step(threads=threads)
        _keep(batch, made, k + 1)
        if found is not None:
            found.append(batch.contacts)
    return made._replace(contacts=None if found is None else tuple(found), failures=batch.failures)


def states_of(model: BatchSource, given: Any) -> dict[str, Array]:
    """Arrays of initial states by name, each with a world dimension or without."""
    if given is None:
        return {}
    several = values.is_sequence(given) and bool(given) and all(isinstance(s, WorldState) for s in given)
    if isinstance(given, WorldState) or several:
        if not isinstance(model, World):
            raise ArgumentError("a WorldState is of a World: give rollout the World, or arrays by name")
        return _of_world_states(model, [given] if isinstance(given, WorldState) else list(given))
    if values.is_mapping(given):
        for name in given:
            if name not in _STATE:
                hint = nearest_name(str(name), list(_STATE))
                raise ArgumentError(f"initial_state of rollout has no array '{name}'{hint}")
        return {name: _numbers(value, f"{name} of initial_state", (1, 2)) for name, value in given.items()}
    return {"": _numbers(given, "initial_state of rollout", (1, 2))}


def _of_world_states(world: World, states: list[WorldState]) -> dict[str, Array]:
    probe = world.clone()
    rows: list[list[Array]] = []
    for state in states:
        probe.set_state(state)
        runtime = probe._live()
        arrays = arrays_of(runtime.sim, runtime)
        rows.append([arrays[name].copy() for name in _STATE])
    return {name: np.array([row[k] for row in rows]) for k, name in enumerate(_STATE)}


def _numbers(value: Any, what: str, dims: tuple[int, ...]) -> Array:
    made = values.array(value, what)
    if made.ndim not in dims:
        raise ShapeError(f"{what} must have {' or '.join(map(str, dims))} dimensions, got shape {made.shape}")
    if not np.isfinite(made).all():
        raise ArgumentError(f"{what} must be finite")
    return made


def sequence_of(control: Any) -> Array:
    return _numbers(control, "control of rollout", (2, 3))


def count_of(states: dict[str, Array], sequence: Array | None) -> int:
    counts = {f"'{name}'" if name else "initial_state": len(x) for name, x in states.items() if x.ndim == 2}
    if sequence is not None and sequence.ndim == 3:
        counts["control"] = len(sequence)
    if len(set(counts.values())) > 1:
        texts = ", ".join(f"{name} {number}" for name, number in counts.items())
        raise ArgumentError(f"rollout got different numbers of worlds: {texts}")
    return next(iter(counts.values()), 1)


def _start(batch: WorldBatch, states: dict[str, Array]) -> None:
    """Write initial states into a batch."""
    whole = states.pop("", None)
    if whole is not None:
        sizes = [batch._array(name).shape[1] for name in _STATE]
        if whole.shape[-1] != sum(sizes):
            raise ShapeError(
                f"initial_state of rollout must have {sum(sizes)} numbers a world, {sizes} of "
                f"{', '.join(_STATE)}, got shape {whole.shape}"
            )
        parts = np.split(whole, np.cumsum(sizes)[:-1], axis=-1)
        states = dict(zip(_STATE, parts, strict=True))
    for name, numbers in states.items():
        array = batch._array(name)
        if numbers.shape[-1] != array.shape[1]:
            raise ShapeError(
                f"{name} of rollout must have {array.shape[1]} numbers, got shape {numbers.shape}"
            )
        array[...] = numbers


def _trajectory(batch: WorldBatch, n: int, out: RolloutTrajectory | None, sensors: bool) -> RolloutTrajectory:
    """Arrays for a trajectory: those that were given, checked, or new ones."""
    worlds = batch.num_worlds
    shapes: dict[str, tuple[int, ...]] = {
        name: (worlds, n + 1, batch._array(name).shape[1]) for name in _STATE
    }
    shapes |= {"controls": (worlds, n, batch.controls.shape[1]), "time": (worlds, n + 1)}
    if sensors:
        shapes["sensor_values"] = (worlds, n + 1, batch.sensor_values.shape[1])
    if out is None:
        made: dict[str, Any] = {name: np.zeros(shape) for name, shape in shapes.items()}
        return RolloutTrajectory(**made)
    if not isinstance(out, RolloutTrajectory):
        raise ShapeError(f"out of rollout must be a RolloutTrajectory, got a {type(out).__name__}")
    for name, shape in shapes.items():
        array: Any = getattr(out, name)
        if type(array) is not np.ndarray or array.dtype != np.float64 or array.shape != shape:
            got = f"{array.dtype} {array.shape}" if values.is_array(array) else type(array).__name__
            raise ShapeError(f"{name} of out must be a float64 array of shape {shape}, got {got}")
        if not array.flags.writeable:
            raise ArgumentError(f"{name} of out must be writable")
    return out._replace(**({} if sensors else {"sensor_values": None}))


def _keep(batch: WorldBatch, made: RolloutTrajectory, k: int) -> None:
    for name in _STATE:
        getattr(made, name)[:, k] = batch._array(name)
    made.time[:, k] = batch.time
    if made.sensor_values is not None:
        made.sensor_values[:, k] = batch.sensor_values


def _checked(batch: WorldBatch, feedback: Feedback) -> Feedback:
    nq, nv = batch.joint_positions.shape[1], batch.joint_velocities.shape[1]
    nu = batch.controls.shape[1]
    shapes = ((nu, 2 * nv), (nq,), (nv,), (nu,))
    made: list[Array] = []
    for name, value, shape in zip(Feedback._fields, feedback, shapes, strict=True):
        numbers = values.array(value, f"{name} of Feedback")
        if numbers.shape != shape or not np.isfinite(numbers).all():
            raise ShapeError(
                f"{name} of Feedback must be finite numbers of shape {shape}, got {numbers.shape}"
            )
        made.append(numbers)
    return Feedback(*made)


def _followed(batch: WorldBatch, feedback: Feedback) -> Array:
    """u = control - gain * (x - x0) of every world."""
    q = np.ascontiguousarray(batch.joint_positions)
    apart = dynamics.difference(batch.model, np.broadcast_to(feedback.joint_positions, q.shape).copy(), q)
    x = np.concatenate([apart, batch.joint_velocities - feedback.joint_velocities], axis=1)
    return feedback.control - x @ feedback.gain.T
