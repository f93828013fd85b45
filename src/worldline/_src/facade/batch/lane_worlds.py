# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Worlds of a batch in lanes of the fixed layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from worldline._src.errors import BatchFailure, CapabilityError, StepFailure
from worldline._src.facade.batch.lane_gradients import LaneGradients, LaneRollout
from worldline._src.facade.batch.layout_choice import LANES, lane_simulation
from worldline._src.facade.batch.own_parameters import OwnParameters
from worldline._src.facade.batch.parameters import SENSORS
from worldline._src.facade.batch.template import Template
from worldline._src.facade.batch.workers import Workers
from worldline._src.facade.capabilities import CONSTRAINTS, ROWS
from worldline._src.facade.requirements import ResolvedOption
from worldline._src.facade.world import World
from worldline._src.facade.world_arrays import arrays_of
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array
from worldline._src.step import dynamics
from worldline._src.step.contact_memory import forces_of_rows
from worldline._src.step.divergence import DivergencePolicy
from worldline._src.step.lane_derivatives import DifferentiableLanes
from worldline._src.step.lane_runner import STEPS
from worldline._src.step.present_contacts import ContactRows, contacts_in_lanes
from worldline._src.step.sensor_noise import SensorNoise, deviations, noise_of

_FIELDS = {
    "joint_positions": "q",
    "joint_velocities": "v",
    "activations": "activation",
    "position_targets": "q_target",
    "velocity_targets": "v_target",
    "joint_forces": "force",
    "controls": "control",
    "body_wrenches": "body_f",
}
"""Arrays of a batch and what a `LaneSimulation` calls them."""
_SAVED = ("_state", "_inputs", "_marks")
PARAMETER = "parameter "
"""What the names of parameters begin with in a checkpoint."""


class LaneWorlds:
    """Worlds that step several in each instruction."""

    kind = LANES

    def __init__(self, template: Template, count: int, dtype: DTypeLike = np.float64) -> None:
        self.template, self.count = template, count
        self.sim = lane_simulation(template, count, np.dtype(dtype))
        if self.sim.divergence_policy is DivergencePolicy.RAISE:
            # the batch raises when the call is over
            self.sim.divergence_policy = DivergencePolicy.FREEZE
        start = template.start()
        self.arrays = self._arrays()
        for name, array in self.arrays.items():
            array[...] = start[name]
        start_forces = forces_of_rows(template.sim)
        if start_forces is not None:
            self.sim.kept[:] = start_forces.ravel()
        self.own = OwnParameters(template, count)
        self.gradients = self._gradients()
        """Derivatives of steps, of a batch of a differentiable World."""
        self._noise: SensorNoise | None = None
        self._start_state = self.sim._state[0].copy()
        self._start_inputs = self.sim._inputs[0].copy()
        # RESET of the divergence policy leads to the start of the batch
        self.sim._start_row = self._start_state
        self._frame_start = np.full(count, template.sim.frame)
        self._steps_start = np.zeros(count)
        self._time_start, self._ticks = np.full(count, template.time), np.zeros(count)
        self._anew: dict[int | None, tuple[StepFailure, StepFailure]] = {}
        """Failures of worlds that the divergence policy has reset, as lanes and as the batch report them."""

    def _arrays(self) -> dict[str, Array]:
        """Quantities of all worlds by name, in the memory of the simulation."""
        made: dict[str, Array] = {name: getattr(self.sim, own) for name, own in _FIELDS.items()}
        if self.sim.elements is not None and self.sim.elements.parameter_count:
            made["element_parameters"] = self.sim.element_parameters
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("arrays", "gradients")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        # a copy reads and writes the memory of its own simulation
        self.arrays = self._arrays()
        self.gradients = self._gradients()
        self.sim._start_row = self._start_state

    def _gradients(self) -> LaneGradients | None:
        return LaneGradients(self.template, self.sim) if isinstance(self.sim, DifferentiableLanes) else None

    # ---- time

    @property
    def _steps(self) -> Array:
        """Steps of every world since it was last reset."""
        return self.sim._marks[:, STEPS] + self._ticks - self._steps_start

    @property
    def frame(self) -> np.ndarray:
        """Number of steps of every world, (worlds,)."""
        return (self._frame_start + self._steps).astype(np.int64)

    @property
    def time(self) -> Array:
        """Simulated time of every world [s], (worlds,)."""
        return self._time_start + self._steps * self.sim.time_step

    def set_time(self, which: np.ndarray, time: Array | float) -> None:
        """Let time of worlds go on from another moment; `frame` stays."""
        self._time_start[which] = time - self._steps[which] * self.sim.time_step

    def _tell_time(self) -> None:
        """Let kernels see the clock of every world."""
        if self.sim.elements is not None:
            self.sim.clock[:, 0], self.sim.clock[:, 1] = self.frame, self._steps
            self.sim.time_start[:] = self._time_start

    # ---- stepping

    def step(self, n: int, workers: Workers) -> tuple[StepFailure, ...]:
        """Make steps; worlds that diverge are treated as the policy says, and returned."""
        before = self.frozen if self.sim._frozen_rows else None
        self._tell_time()
        with self.sim.guard.stepping():
            self.sim.advance(n, None if workers.is_caller else workers.share)
        if not self.sim.any_failed:
            return ()
        found = tuple(failure for failure in self.failures if before is None or not before[failure.world])
        if self.template.policy is DivergencePolicy.RESET:
            own = {failure.world: failure for failure in self.sim.failures}
            self._anew = {failure.world: (own[failure.world], failure) for failure in found}
            self._begin(np.array([failure.world for failure in found], np.int64))
        return found

    def remembered(self) -> dict[str, Any]:
        """The state of all worlds as it is now, for `restore`."""
        return {name: array.copy() for name, array in self.save().items()}

    def restore(self, kept: Mapping[str, Array]) -> None:
        """Put all worlds back to where they were."""
        self.load(kept)

    def tick(self, n: int) -> None:
        """Let time pass in which nothing moves."""
        self._ticks += n

    def reset(self, which: np.ndarray) -> None:
        """Put worlds back to the start of the batch, with commands and time."""
        self.sim.reset(which.tolist())
        self._begin(which)

    def _begin(self, which: np.ndarray) -> None:
        """Commands and time of the start for worlds whose state is that of the start."""
        kept = None if self.sim.elements is None else self.sim.element_parameters[which]
        self.sim._inputs[which] = self._start_inputs
        if kept is not None:
            self.sim.element_parameters[which] = kept
        self._forget_last_step(which)
        self._frame_start[which] = self.template.sim.frame
        self._time_start[which] = self.template.time
        self._steps_start[which] = self.sim._marks[which, STEPS] + self._ticks[which]

    def _forget_last_step(self, which: np.ndarray) -> None:
        """There is no last step that led to the state of worlds."""
        if isinstance(self.sim, DifferentiableLanes):
            self.sim.forget_last_step(which)

    @property
    def failures(self) -> tuple[StepFailure, ...]:
        """Worlds that are frozen, and those that diverged in the last call of steps."""
        return tuple(self._counted(failure) for failure in self.sim.failures)

    def _counted(self, failure: StepFailure) -> StepFailure:
        """The failure with the number that the step has in its own world."""
        assert failure.world is not None
        w = failure.world
        if w in self._anew and self._anew[w][0] is failure:
            # its frames count anew since
            return self._anew[w][1]
        frame = failure.frame + int(self._frame_start[w] + self._ticks[w] - self._steps_start[w])
        given = (failure.body, failure.quantity, frame, failure.value)
        return StepFailure(*given, world=w, outcome=failure.outcome)

    @property
    def frozen(self) -> np.ndarray:
        """Whether a world stays at its last good state, (worlds,)."""
        changed = [w for w, row in self.sim._frozen_rows.items() if self.sim.was_written(w, row)]
        made = self.sim.frozen.copy()
        made[changed] = False
        return made

    def resolved_solver(self) -> list[ResolvedOption]:
        """Which solver contacts and other rows have, and why; empty where there are none."""
        constraints = self.sim.constraints
        if not constraints.constrains:
            return []
        swept = self.sim.solver == "sequential-impulse"
        why = (
            "sweeps over rows: as asked, or because Newton's method in lanes does not factor so many columns"
            if swept
            else "Newton's method over active sets; sweeps over rows where it does not settle"
        )
        asked, instead = str(constraints.asked.value), constraints.sweeps_instead
        return [ResolvedOption(ROWS[CONSTRAINTS], "solver in lanes", asked, self.sim.solver, why, instead)]

    # ---- derivatives

    def require_gradients(self) -> LaneGradients:
        """Derivatives of steps, of a batch of a differentiable World."""
        assert self.gradients is not None, "the batch was made of a differentiable World"
        return self.gradients

    def rollout(self, controls: Array, workers: Workers) -> tuple[Array, Array, LaneRollout]:
        """Make a step for every row of controls, (worlds, steps, control dimension).

        Returns state vectors before the first step and after each, the controls, and derivatives over the
        steps.
        """
        gradients = self.require_gradients()
        assert isinstance(self.sim, DifferentiableLanes)
        made = LaneRollout(gradients, controls.copy(), workers)
        states = [gradients.states()]
        for t in range(controls.shape[1]):
            made.keep(t, self.sim.state_rows())
            gradients.set_controls(self.sim, controls[:, t])
            if failed := self.step(1, workers):
                raise BatchFailure(failed)
            states.append(gradients.states())
        return np.stack(states, axis=1), controls.copy(), made

    # ---- reading

    @property
    def has_own_parameters(self) -> bool:
        """Whether parameters were written that may differ from world to world."""
        return bool(self.own.rows)

    def read_parameter(self, name: str, which: np.ndarray) -> Array:
        """A parameter of some worlds, (worlds, ...)."""
        return self.own.read(name, which)

    def write_parameters(self, given: Mapping[str, Array], which: np.ndarray) -> None:
        """Give worlds numbers by the names of parameters; when one refuses, all keep theirs.

        Raises:
            CapabilityError: they change what worlds in lanes share.
        """
        if self.gradients is not None and not all(name.startswith(SENSORS) for name in given):
            raise CapabilityError("derivatives of steps in lanes have the same parameters in all worlds")
        rows, before = self.own.with_given(given, which), self.sim._own.saved()
        try:
            for w in _to_compile(given, which).tolist():
                self.sim.set_parameters([w], self.own.world(w, rows)._live().sim.model)
        except BaseException:
            self.sim.restore_parameters(before)
            raise
        self.own.rows = rows
        self._take_noise()

    def models(self, which: np.ndarray) -> list[Model]:
        """The models of some worlds."""
        if not self.has_own_parameters:
            return [self.template.model] * len(which)
        return [self.own.world(w).clone()._live().sim.model for w in which.tolist()]

    def poses(self, which: np.ndarray) -> Array:
        """Position and xyzw of every body, (worlds, body_count, 7)."""
        return dynamics.forward_kinematics(self.template.model, self.sim.q[which])

    def velocities(self, which: np.ndarray) -> Array:
        """Angular velocity and velocity of the origin of every body, (worlds, body_count, 6)."""
        return dynamics.link_velocities(self.template.model, self.sim.q[which], self.sim.v[which])

    def energies(self, which: np.ndarray) -> tuple[Array, Array]:
        """Kinetic and potential energy [J], (worlds,) each."""
        q, v = self.sim.q[which], self.sim.v[which]
        if all(name.startswith(SENSORS) for name in self.own.rows):
            model = self.template.model
            return dynamics.kinetic_energy(model, q, v), dynamics.potential_energy(model, q)
        made = np.zeros((2, len(which)))
        for k, w in enumerate(which.tolist()):
            model = self.own.world(w)._live().sim.model
            made[0, k] = dynamics.kinetic_energy(model, q[k], v[k])
            made[1, k] = dynamics.potential_energy(model, q[k])
        return made[0], made[1]

    def contacts(self, which: np.ndarray) -> ContactRows:
        """Contacts of the present state of some worlds, by their position in `which`."""
        return contacts_in_lanes(self.sim, which)

    def sensors(self) -> Array:
        """Readings of all sensors, (worlds, n)."""
        # clocks have the time of their own world, which a reset sets back
        made = self.sim._sensing().values(1, None, self.time, self.frame)
        if self.sim.elements is None:
            return made
        self._tell_time()
        return np.concatenate([made, self.sim.elements.readings()], axis=1)

    def set_noise(self, seed: int | None, worlds: np.ndarray) -> None:
        """Have sensors read with the noise of a seed and of these indices of worlds; None for no noise."""
        self._noise = noise_of(self.template.model, seed, worlds)
        self.sim._set_noise(self._noise)
        self._take_noise()

    def _take_noise(self) -> None:
        """Take over the standard deviations that worlds were given."""
        table = self.template.model.sensors
        if self._noise is None or table is None:
            return
        self._noise.deviation[:] = deviations(table)
        for name, rows in self.own.rows.items():
            if name.startswith(SENSORS):
                label, _, field = name.removeprefix(SENSORS).rpartition(".")
                self._noise.deviation[:, 2 * table.label.index(label) + (field == "gyro_noise")] = rows

    # ---- copies

    def extract(self, index: int) -> World | None:
        """A World that goes on from the state of a world; None for a model that was built by code."""
        if self.template.world is None:
            return None
        made = self.own.world(index).clone() if self.has_own_parameters else self.template.world.clone()
        runtime = made._live()
        own = arrays_of(runtime.sim, runtime)
        for name, array in self.arrays.items():
            own[name][...] = array[index]
        runtime.controls_written()
        runtime.wrenches_written()
        runtime.forget_contacts()
        forces = forces_of_rows(runtime.sim)
        if forces is not None:
            forces[...] = self.sim.kept[index].reshape(forces.shape)
        runtime.sim.written()
        runtime.sim.clock[0] = self.frame[index]
        made._set_time(float(self.time[index]))
        if self._noise is not None:
            made.sensor_noise_seed = self._noise.seed
            made.sensor_noise_world = int(self._noise.worlds[index])
        return made

    def save(self) -> dict[str, Any]:
        """Everything that the next step depends on, as arrays."""
        made = {name: getattr(self.sim, name) for name in _SAVED}
        clock = np.stack([self._frame_start, self._steps_start, self._time_start, self._ticks])
        own = {PARAMETER + name: rows for name, rows in self.own.rows.items()}
        return made | {"clock": clock} | own

    def load(self, saved: Mapping[str, Array]) -> None:
        """Take over what `save` gave for the same model and number of worlds."""
        given = {
            name.removeprefix(PARAMETER): rows for name, rows in saved.items() if name.startswith(PARAMETER)
        }
        if given or self.has_own_parameters:
            every = np.arange(self.count)
            start = OwnParameters(self.template, self.count)
            rest = {name: start.read(name, every) for name in self.own.rows if name not in given}
            self.write_parameters(given | rest, every)
        for name in _SAVED:
            getattr(self.sim, name)[...] = saved[name]
        self._forget_last_step(np.arange(self.count))
        self._frame_start[:], self._steps_start[:], self._time_start[:], self._ticks[:] = saved["clock"]
        self.sim._last_failures = ()
        frozen = np.flatnonzero(self.sim.frozen).tolist()
        self.sim._frozen_rows = {w: self.sim._state[w].copy() for w in frozen}


def _to_compile(given: Mapping[str, Array], which: np.ndarray) -> np.ndarray:
    """Worlds whose parameters a World has to take over: those with others than good levels of noise."""
    if not all(name.startswith(SENSORS) for name in given):
        return which
    good = np.ones(len(which), bool)
    for rows in given.values():
        good &= np.isfinite(rows) & (rows >= 0.0)
    return which[~good]
