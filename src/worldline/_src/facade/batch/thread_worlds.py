# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds of a batch on threads, one World each, for features that lanes do not support.

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
from worldline._src.facade.batch.parameters import Parameter, number_or_row, parameters_of
from worldline._src.facade.batch.template import Template
from worldline._src.facade.batch.workers import Workers
from worldline._src.facade.runtime import Runtime
from worldline._src.facade.world import World
from worldline._src.facade.world_arrays import arrays_of
from worldline._src.model.model import Model
from worldline._src.progress import slow
from worldline._src.spatial.poses import Array
from worldline._src.step import dynamics
from worldline._src.step.contact_memory import recall, remembered
from worldline._src.step.divergence import OUTCOMES, DivergencePolicy
from worldline._src.step.interrupts import uninterrupted
from worldline._src.step.portions import portions
from worldline._src.step.present_contacts import ContactRows, contacts_of, joined
from worldline._src.step.simulation import Simulation

_STATE = ("joint_positions", "joint_velocities", "activations")
"""What is written to a world by a step; everything else by the user, and by controllers."""
_PORTION_SECONDS = 0.5
"""An interrupt is seen about this often: a world whose data are at hand makes several steps at once."""
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
            runtime.apply_mocap_poses()
        elif name == "world_joint_commands":
            runtime.joints_commanded()

    def step(self, n: int) -> None:
        end = self.sim.clock[0] + n
        try:
            if self.world is None:
                self.sim.step(n)
            else:
                self.world.step(n)
        except StepFailure as error:
            # CONTINUE ends where numbers are not finite; the world stays at its last good state, in time with
            # the others
            outcome = OUTCOMES[DivergencePolicy.FREEZE]
            self.sim.failure = StepFailure(
                error.body, error.quantity, error.frame, error.value, outcome=outcome
            )
            self.sim.frozen = True
            self.tick(int(end - self.sim.clock[0]))

    def tick(self, n: int) -> None:
        self.sim.clock[:2] += n

    def remembered(self) -> tuple[Any, ...]:
        """State, commands, contacts of the last step and sleep as they are now, for `restore`."""
        sim = self.sim
        numbers = [sim.a.copy(), sim.clock.copy(), sim.ground_dual.copy()]
        arrays = {name: array.copy() for name, array in self.arrays().items()}
        return arrays, numbers, remembered(sim), sim.frozen, sim.failure

    def restore(self, kept: tuple[Any, ...]) -> None:
        """Back to a state that was remembered, as if no step had been made since."""
        sim, (arrays, numbers, memory, frozen, failure) = self.sim, kept
        own = self.arrays()
        for name, array in arrays.items():
            own[name][...] = array
        for mine, array in zip((sim.a, sim.clock, sim.ground_dual), numbers, strict=True):
            mine[...] = array
        sim.controls_written()
        sim.written()
        if sim.constraints is not None:
            sim.constraints.take_back(int(sim.clock[0]) + 1)
        lost = recall(sim, memory)
        assert lost is None, f"{lost} of a world fits the same world"
        if sim.contact_log is not None:
            sim.contact_log.take()
        sim.frozen, sim.failure = frozen, failure

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
    """Worlds that step one by one, on as many threads as are requested."""

    kind = THREADS

    def __init__(self, template: Template, count: int, adopted: Mapping[str, Array] | None = None) -> None:
        self.template, self.count = template, count
        with slow(f"preparing {count} worlds"):
            self.units = [Unit(template) for _ in range(count)]
        self.arrays: dict[str, Array] = dict(adopted or {})
        """The state and inputs of all worlds by field; those of another layout go on to be the arrays."""
        self._known: dict[str, Array] = {}
        """The numbers that units have taken over, or given."""
        for name, array in template.start().items():
            self._known[name] = np.repeat(array[None], count, axis=0)
            if name not in self.arrays:
                self.arrays[name] = self._known[name].copy()
        self._failed: dict[int, StepFailure] = {}
        self._parameters: dict[str, Parameter] | None = None
        self.has_own_parameters = False
        """Whether parameters were written that may differ from world to world."""
        self._push(np.arange(count))

    def _changed(self, name: str, which: np.ndarray) -> np.ndarray:
        """Worlds whose row of an array was written since they took it over or gave it."""
        differs = self.arrays[name][which] != self._known[name][which]
        return which[_any_in_row(differs)]

    def _push(self, which: np.ndarray) -> None:
        """Let worlds take over what was written to their rows; refuses all when a number is not finite."""
        changed = {name: self._changed(name, which) for name in self.arrays}
        for name, rows in changed.items():
            bad = _any_in_row(~np.isfinite(self.arrays[name][rows]))
            if bad.any():
                raise ArgumentError(f"{name} of world {int(rows[bad][0])} must be finite")
        for name, rows in changed.items():
            chosen: list[int] = rows.tolist()
            for i in chosen:
                unit = self.units[i]
                unit.arrays()[name][...] = self.arrays[name][i]
                unit.written(name)
            self._known[name][rows] = self.arrays[name][rows]

    def _fresh(self, i: int) -> Unit:
        """A world that has taken over what was written to its row."""
        self._push(np.array([i]))
        return self.units[i]

    def _pull(self, i: int) -> None:
        """Put the numbers of a world into its row."""
        for name, array in self.units[i].arrays().items():
            self.arrays[name][i] = array
            self._known[name][i] = array

    def pull_all(self) -> None:
        """Put the numbers of all worlds into their rows."""
        for i in range(self.count):
            self._pull(i)

    def single_worlds(self, which: np.ndarray) -> list[World]:
        """The Worlds of some units, whose parameters can be written."""
        found: list[World] = []
        for i in which.tolist():
            world = self._fresh(i).world
            assert world is not None
            found.append(world)
        return found

    def read_parameter(self, name: str, which: np.ndarray) -> Array:
        """A parameter of some worlds, (worlds, ...)."""
        parameter = self.parameter(name)
        return np.array([np.array(parameter.read(world), float) for world in self.single_worlds(which)])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_parameters": None}

    def parameter(self, name: str) -> Parameter:
        """How a World has a parameter."""
        if self._parameters is None:
            assert self.template.world is not None
            self._parameters = parameters_of(self.template.world)
        return self._parameters[name]

    def write_parameters(self, given: Mapping[str, Array], which: np.ndarray) -> None:
        """Give worlds numbers by the names of parameters; when one refuses, all get theirs back."""
        worlds = self.single_worlds(which)
        done: list[tuple[Parameter, World, Array]] = []
        self.has_own_parameters = True
        try:
            for name, rows in given.items():
                parameter = self.parameter(name)
                for world, row in zip(worlds, rows, strict=True):
                    done.append((parameter, world, np.array(parameter.read(world), float)))
                    parameter.write(world, number_or_row(row))
        except BaseException:
            for parameter, world, row in reversed(done):
                parameter.write(world, number_or_row(row))
            raise

    def models(self, which: np.ndarray) -> list[Model]:
        """The models of some units."""
        return [self._fresh(i).sim.model for i in which.tolist()]

    def continue_from(
        self, frame: np.ndarray, time: Array, failures: tuple[StepFailure, ...], frozen: np.ndarray
    ) -> None:
        """Go on at the time of worlds of another layout; those that were frozen stay so."""
        for i, unit in enumerate(self.units):
            unit.sim.clock[0] = frame[i]
            assert unit.world is not None
            unit.world._set_time(float(time[i]))
        for failure in failures:
            assert failure.world is not None
            if frozen[failure.world]:
                self.units[failure.world].sim.frozen = True
                self.units[failure.world].sim.failure = failure

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
        chosen: list[int] = which.tolist()
        moments: list[float] = np.broadcast_to(time, which.shape).tolist()
        for i, moment in zip(chosen, moments, strict=True):
            world = self.units[i].world
            if world is None:
                raise CapabilityError("time of a model that was built by code starts at zero")
            world._set_time(moment)

    # ---- stepping

    def step(self, n: int, workers: Workers) -> tuple[StepFailure, ...]:
        """Make steps; worlds that diverge are treated as the policy says, and returned."""
        self._push(np.arange(self.count))
        before, stops = self.frozen, self.template.policy is DivergencePolicy.RESET
        errors: dict[int, BaseException] = {}
        self._failed = {}

        def chunk(low: int, high: int, many: int) -> None:
            for i in range(low, high):
                # what is reset makes no more steps of this call
                if i in errors or (stops and i in self._failed):
                    continue
                unit = self.units[i]
                try:
                    unit.step(many)
                except BaseException as error:
                    errors[i] = error
                failure = unit.sim.failure
                # the step that diverged first is reported, or the one at which the world froze
                if failure is not None and not before[i] and (i not in self._failed or unit.sim.frozen):
                    self._failed[i] = failure

        # functions of Python may raise in one world, upon which no world makes that step
        calls = self._has_functions
        kept: list[tuple[Any, ...]] | None = None
        try:
            for many in [1] * n if calls else portions(n, _PORTION_SECONDS):
                kept = self.remembered() if calls else None
                uninterrupted(lambda many=many: workers.share(chunk, self.count, 1, many))
                if errors and kept is not None:
                    self._restore_units(kept)
                    break
        finally:
            self._pull_state()
        if errors:
            raise errors[min(errors)]
        if not self._failed:
            return ()
        return tuple(failure for failure in self.failures if failure.world in self._failed)

    @property
    def _has_functions(self) -> bool:
        """Whether steps of a world call functions of Python."""
        world = self.template.world
        return world is not None and any(not one.is_compiled for one in world.step_functions)

    def remembered(self) -> list[tuple[Any, ...]]:
        """The state of all worlds as it is now, for `restore`."""
        self._push(np.arange(self.count))
        return [unit.remembered() for unit in self.units]

    def restore(self, kept: list[tuple[Any, ...]]) -> None:
        """Put all worlds back to where they were."""
        self._restore_units(kept)
        self.pull_all()

    def _restore_units(self, kept: list[tuple[Any, ...]]) -> None:
        for unit, state in zip(self.units, kept, strict=True):
            unit.restore(state)
        self._failed = {}

    def _pull_state(self) -> None:
        """Put what steps wrote into the rows: the state, or everything where functions or resets write."""
        world = self.template.world
        if self._failed or (world is not None and world.step_functions):
            self.pull_all()
            return
        q, v, activations = (self.arrays[name] for name in _STATE)
        for i, unit in enumerate(self.units):
            sim = unit.sim
            q[i], v[i] = sim.q, sim.v
            if activations.shape[1]:
                activations[i] = sim.activation
        for name in _STATE:
            self._known[name][...] = self.arrays[name]

    def tick(self, n: int) -> None:
        """Let time pass in which nothing moves."""
        self._push(np.arange(self.count))
        for unit in self.units:
            unit.tick(n)

    def reset(self, which: np.ndarray) -> None:
        """Put worlds back to the start of the batch, with commands and time."""
        chosen: list[int] = which.tolist()
        for i in chosen:
            unit = self.units[i]
            unit.reset()
            unit.sim.failure = None
            self._failed.pop(i, None)
            self._pull(i)

    @property
    def failures(self) -> tuple[StepFailure, ...]:
        """Worlds that are frozen, and those that diverged in the last call of steps."""
        found: list[StepFailure] = []
        frozen = self.frozen
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
            made[i] = not any(self._changed(name, np.array([i])).size for name in _STATE)
        return made

    # ---- reading

    def poses(self, which: np.ndarray) -> Array:
        """Position and xyzw of every body, (worlds, body_count, 7)."""
        made = np.zeros((len(which), self.template.model.body_count, 7))
        for k, i in enumerate(which.tolist()):
            made[k] = self._fresh(i).sim.fresh_poses()
        return made

    def velocities(self, which: np.ndarray) -> Array:
        """Angular velocity and velocity of the origin of every body, (worlds, body_count, 6)."""
        made = np.zeros((len(which), self.template.model.body_count, 6))
        for k, i in enumerate(which.tolist()):
            sim = self._fresh(i).sim
            made[k] = dynamics.link_velocities(sim.model, sim.q.copy(), sim.v.copy())
        return made

    def energies(self, which: np.ndarray) -> tuple[Array, Array]:
        """Kinetic and potential energy [J], (worlds,) each."""
        made = np.zeros((2, len(which)))
        for k, i in enumerate(which.tolist()):
            sim = self._fresh(i).sim
            q = sim.q.copy()
            made[0, k] = dynamics.kinetic_energy(sim.model, q, sim.v.copy())
            made[1, k] = dynamics.potential_energy(sim.model, q)
        return made[0], made[1]

    def contacts(self, which: np.ndarray) -> ContactRows:
        """Contacts of the present state of some worlds, by their position in `which`."""
        found: list[ContactRows] = []
        for k, i in enumerate(which.tolist()):
            unit = self._fresh(i)
            runtime = unit.runtime
            acting = (
                unit.sim.body_f.copy()
                if runtime is None
                else runtime.persistent_wrench + runtime.one_shot_wrench
            )
            found.append(contacts_of(unit.sim, acting, k))
        return joined(found)

    def sensors(self) -> Array:
        """Readings of all sensors, (worlds, n)."""
        if self.template.world is None:
            raise CapabilityError("a model that was built by code has no sensors; make the batch of a World")
        made: list[Array] = []
        for i in range(self.count):
            world = self._fresh(i).world
            assert world is not None
            made.append(world.sensors.values)
        return np.array(made).reshape(self.count, -1)

    def set_noise(self, seed: int | None, worlds: np.ndarray) -> None:
        """Have sensors read with the noise of a seed and of these indices of worlds; None for no noise."""
        for unit, index in zip(self.units, worlds.tolist(), strict=True):
            if unit.world is not None:
                unit.world.sensor_noise_seed = seed
                if seed is not None:
                    unit.world.sensor_noise_world = index

    # ---- copies

    def extract(self, index: int) -> World | None:
        """A World that goes on from a world, to the same bits."""
        world = self._fresh(index).world
        if world is None:
            return None
        made = world.clone()
        made.divergence_policy = self.template.policy
        return made

    def save(self) -> dict[str, Any]:
        """Everything that the next step depends on, as bytes of every world."""
        from worldline._src.facade.batch.checkpoints import unit_bytes

        full = self.has_own_parameters
        made: dict[str, Any] = {f"world {i}": unit_bytes(self._fresh(i), full) for i in range(self.count)}
        own = self.arrays.get("element_parameters")
        return made if own is None else made | {"element_parameters": own}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Take over what `save` gave for the same description and number of worlds."""
        from worldline._src.facade.batch.checkpoints import unit_restore

        for i, unit in enumerate(self.units):
            unit_restore(unit, saved[f"world {i}"])
            if "element_parameters" in self.arrays:
                unit.arrays()["element_parameters"][...] = saved["element_parameters"][i]
            self._pull(i)
        self._failed = {}


def _any_in_row(flags: np.ndarray) -> np.ndarray:
    """Whether any flag of a row is set, (rows,)."""
    return np.asarray(flags.any(axis=tuple(range(1, flags.ndim))))
