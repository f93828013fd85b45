# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds of a batch one by one, several at a time on threads, for what lanes do not have.

The arrays of the batch are the state: a world takes over what was written to its rows before it steps, and
puts its own numbers there afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError, StepFailure
from worldline._src.facade.batch.layout_choice import THREADS
from worldline._src.facade.batch.template import Template, arrays_of
from worldline._src.facade.batch.workers import Workers
from worldline._src.facade.runtime import Runtime
from worldline._src.facade.world import World
from worldline._src.progress import slow
from worldline._src.spatial.poses import Array
from worldline._src.step import dynamics
from worldline._src.step.divergence import DivergencePolicy
from worldline._src.step.lane_simulation import uninterrupted
from worldline._src.step.portions import portions
from worldline._src.step.present_contacts import ContactRows, contacts_of, joined
from worldline._src.step.simulation import Simulation

_STATE = ("joint_positions", "joint_velocities", "activations")
"""What is written to a world by a step; everything else by the user, and by controllers."""
_FREEZING = {
    DivergencePolicy.RAISE: DivergencePolicy.FREEZE,
    DivergencePolicy.CONTINUE: DivergencePolicy.CONTINUE,
    DivergencePolicy.FREEZE: DivergencePolicy.FREEZE,
    DivergencePolicy.RESET: DivergencePolicy.RESET,
}
"""What one world does for a policy of the batch: RAISE makes all steps of the other worlds first."""


class Unit:
    """One world: a World, or the Simulation of a model that was built by code."""

    def __init__(self, template: Template) -> None:
        self.world: World | None = None
        if template.world is not None:
            self.world = template.world.clone()
            self.world._ready()
            self.world.divergence_policy = _FREEZING[template.policy]
        else:
            self._sim = deepcopy(template.sim)
            self._sim.divergence_policy = _FREEZING[template.policy]
            self._start = deepcopy(template.sim)

    @property
    def runtime(self) -> Runtime | None:
        return None if self.world is None else self.world._live()

    @property
    def sim(self) -> Simulation:
        return self._sim if self.world is None else self.world._live().sim

    def arrays(self) -> dict[str, Array]:
        return arrays_of(self.sim, self.runtime)

    def written(self, name: str) -> None:
        """An array was written: what depends on it is out of date."""
        sim, runtime = self.sim, self.runtime
        if name == "joint_positions":
            sim.written()
        elif name in ("joint_velocities", "activations"):
            sim.velocities_written()
        elif name == "controls":
            sim.controls_written()
        elif runtime is None:
            if name == "body_wrenches":
                sim.forces_written()
        elif name == "body_wrenches":
            runtime.wrenches_written()
        elif name == "acceleration_targets":
            runtime.accelerations_commanded()
        elif name == "mocap_poses":
            runtime.place_mocap()
        elif name == "world_joint_commands":
            runtime.joints_commanded()

    def step(self, n: int) -> None:
        try:
            if self.world is None:
                self.sim.step(n)
            else:
                self.world.step(n)
        except StepFailure:
            # CONTINUE ends where numbers are not finite; the world is at its last good state
            self.sim.frozen = True

    def tick(self, n: int) -> None:
        self.sim.clock[:2] += n

    def reset(self) -> None:
        if self.world is not None:
            self.world.reset()
            return
        policy = self._sim.divergence_policy
        self._sim = deepcopy(self._start)
        self._sim.divergence_policy = policy

    @property
    def time(self) -> float:
        return self.sim.time if self.world is None else self.world.time


class ThreadWorlds:
    """Worlds that step one by one, on as many threads as are asked for."""

    kind = THREADS

    def __init__(self, template: Template, count: int) -> None:
        self.template, self.count = template, count
        with slow(f"preparing {count} worlds"):
            self.units = [Unit(template) for _ in range(count)]
        start = template.start()
        sizes = {name: array.size for name, array in start.items()}
        self._rows = np.zeros((count, sum(sizes.values())))
        self._known = np.zeros_like(self._rows)
        """The rows that units have taken over, or given."""
        self.arrays: dict[str, Array] = {}
        self._parts: dict[str, slice] = {}
        at = 0
        for name, array in start.items():
            self._parts[name] = slice(at, at + array.size)
            self.arrays[name] = self._rows[:, at : at + array.size].reshape(count, *array.shape)
            at += array.size
        for i in range(count):
            self._pull(i)
        self._failed: dict[int, StepFailure] = {}

    def _push(self, i: int) -> Unit:
        """Let a world take over what was written to its row."""
        unit, row, known = self.units[i], self._rows[i], self._known[i]
        if not np.array_equal(row, known):
            if not np.isfinite(row).all():
                raise _not_finite(self._parts, row, i)
            for name, array in unit.arrays().items():
                part = self._parts[name]
                if not np.array_equal(row[part], known[part]):
                    array[...] = row[part].reshape(array.shape)
                    unit.written(name)
            known[:] = row
        return unit

    def _pull(self, i: int) -> None:
        """Put the numbers of a world into its row."""
        row = self._rows[i]
        for name, array in self.units[i].arrays().items():
            row[self._parts[name]] = array.reshape(-1)
        self._known[i] = row

    # ---- time

    @property
    def frame(self) -> np.ndarray:
        """Number of steps of every world, (worlds,)."""
        return np.array([unit.sim.frame for unit in self.units], np.int64)

    @property
    def time(self) -> Array:
        """Simulated time of every world [s], (worlds,)."""
        return np.array([unit.time for unit in self.units])

    def set_time(self, which: np.ndarray, time: Array | float) -> None:
        """Let time of worlds go on from another moment."""
        given = np.broadcast_to(time, which.shape)
        for i, moment in zip(which.tolist(), given.tolist(), strict=True):
            world = self.units[i].world
            if world is None:
                raise CapabilityError("time of a model that was built by code starts at zero")
            world._set_time(moment)

    # ---- stepping

    def step(self, n: int, workers: Workers) -> tuple[StepFailure, ...]:
        """Make steps; worlds that diverge are treated as the policy says, and returned."""
        for i in range(self.count):
            self._push(i)
        before, stops = self.frozen, self.template.policy is DivergencePolicy.RESET
        errors: dict[int, BaseException] = {}
        self._failed = {}

        def chunk(low: int, high: int, many: int) -> None:
            for i in range(low, high):
                # what is reset makes no more steps of this call
                if i not in errors and not (stops and i in self._failed):
                    unit = self.units[i]
                    try:
                        unit.step(many)
                    except BaseException as error:
                        errors[i] = error
                    if unit.sim.failure is not None and not before[i]:
                        self._failed[i] = unit.sim.failure
                    self._pull(i)

        for many in portions(n):
            uninterrupted(lambda many=many: workers.share(chunk, self.count, 1, many))
        if errors:
            raise errors[min(errors)]
        return tuple(failure for failure in self.failures if failure.world in self._failed)

    def tick(self, n: int) -> None:
        """Let time pass in which nothing moves."""
        for i in range(self.count):
            self._push(i).tick(n)

    def reset(self, which: np.ndarray) -> None:
        """Put worlds back to the start of the batch, with commands and time."""
        for i in which.tolist():
            unit = self.units[i]
            unit.reset()
            unit.sim.failure = None
            self._failed.pop(i, None)
            self._pull(i)

    @property
    def failures(self) -> tuple[StepFailure, ...]:
        """Worlds that are frozen, and those that diverged in the last call of steps."""
        found, frozen = [], self.frozen
        for i, unit in enumerate(self.units):
            failure = self._failed.get(i) or (unit.sim.failure if frozen[i] else None)
            if failure is not None:
                given = (failure.body, failure.quantity, failure.frame, failure.value)
                found.append(StepFailure(*given, world=i, outcome=failure.outcome))
        return tuple(found)

    @property
    def frozen(self) -> np.ndarray:
        """Whether a world stays at its last good state, (worlds,)."""
        made = np.array([unit.sim.frozen for unit in self.units], bool)
        for i in np.flatnonzero(made).tolist():
            made[i] = all(
                np.array_equal(self._rows[i, self._parts[name]], self._known[i, self._parts[name]])
                for name in _STATE
            )
        return made

    # ---- reading

    def poses(self, which: np.ndarray) -> Array:
        """Position and xyzw of every body, (worlds, body_count, 7)."""
        made = np.zeros((len(which), self.template.model.body_count, 7))
        for k, i in enumerate(which.tolist()):
            made[k] = self._push(i).sim.fresh_poses()
        return made

    def velocities(self, which: np.ndarray) -> Array:
        """Angular velocity and velocity of the origin of every body, (worlds, body_count, 6)."""
        made = np.zeros((len(which), self.template.model.body_count, 6))
        for k, i in enumerate(which.tolist()):
            sim = self._push(i).sim
            made[k] = dynamics.link_velocities(sim.model, sim.q.copy(), sim.v.copy())
        return made

    def energies(self, which: np.ndarray) -> tuple[Array, Array]:
        """Kinetic and potential energy [J], (worlds,) each."""
        made = np.zeros((2, len(which)))
        for k, i in enumerate(which.tolist()):
            sim = self._push(i).sim
            q = sim.q.copy()
            made[0, k] = dynamics.kinetic_energy(sim.model, q, sim.v.copy())
            made[1, k] = dynamics.potential_energy(sim.model, q)
        return made[0], made[1]

    def contacts(self) -> ContactRows:
        """Contacts of the present state."""
        found = []
        for i in range(self.count):
            unit = self._push(i)
            runtime = unit.runtime
            acting = unit.sim.body_f.copy() if runtime is None else runtime.held + runtime.once
            found.append(contacts_of(unit.sim, acting, i))
        return joined(found)

    def sensors(self) -> Array:
        """Readings of all sensors, (worlds, n)."""
        if self.template.world is None:
            raise CapabilityError("a model that was built by code has no sensors; make the batch of a World")
        made = []
        for i in range(self.count):
            world = self._push(i).world
            assert world is not None
            made.append(world.sensors.values)
        return np.array(made).reshape(self.count, -1)

    # ---- copies

    def extract(self, index: int) -> World | None:
        """A World that goes on from a world, to the same bits."""
        world = self._push(index).world
        if world is None:
            return None
        made = world.clone()
        made.divergence_policy = self.template.policy
        return made

    def save(self) -> dict[str, Any]:
        """Everything that the next step depends on, as bytes of every world."""
        from worldline._src.facade.batch.checkpoints import unit_bytes

        return {f"world {i}": unit_bytes(self._push(i)) for i in range(self.count)}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what `save` gave for the same description and number of worlds."""
        from worldline._src.facade.batch.checkpoints import unit_restore

        for i, unit in enumerate(self.units):
            unit_restore(unit, saved[f"world {i}"])
            self._pull(i)
        self._failed = {}


def _not_finite(parts: dict[str, slice], row: Array, world: int) -> ArgumentError:
    name = next(name for name, part in parts.items() if not np.isfinite(row[part]).all())
    return ArgumentError(f"{name} of world {world} must be finite")
