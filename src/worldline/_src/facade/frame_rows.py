# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Replay frames as rows of numbers: everything a World needs to continue bit for bit.

A row starts with what may change at any time without changing the layout (start of time, time step, gravity,
integration family, solver options) and the clock; then come the arrays of the step in `ARENA`, persistent and
one-shot forces on bodies, controls and activations of actuators, and the poses of free frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worldline._src.facade.frame import FreeFrame
from worldline._src.facade.kinds import (
    ComputeAcceleratorPolicy,
    ContactGradientMode,
    ContactSolverMethod,
    RigidBodySolver,
)
from worldline._src.facade.options import DeactivationOptions, WorldOptions
from worldline._src.scene.policies import LARGEST_SEED, LARGEST_WORLD
from worldline._src.spatial.poses import Array
from worldline._src.step.stepping import MultibodyIntegrationFamily

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime

ARENA = ("clock", "q", "v", "a", "force", "q_target", "v_target", "a_target")
"""Arrays of `Simulation` that a step reads before it writes them, and accelerations, which users read."""
_FAMILIES = tuple(MultibodyIntegrationFamily)
_CHOICES = {
    "contact_solver_method": tuple(ContactSolverMethod),
    "rigid_body_solver": tuple(RigidBodySolver),
    "contact_gradient_mode": tuple(ContactGradientMode),
    "compute_accelerator_policy": tuple(ComputeAcceleratorPolicy),
    "strict_solver_resolution": (False, True),
}
"""Options of a World that a row holds as the number of a choice."""
_SOLVER = len(_CHOICES) + 3 + len(DeactivationOptions._fields)
TIME_START, TIME_STEP, GRAVITY, FAMILY, SOLVER = 0, 1, slice(2, 5), 5, slice(6, 6 + _SOLVER)
NOISE = slice(SOLVER.stop, SOLVER.stop + 2)
"""Seed of the noise of sensors, -1 for none, and index of the world in it."""
_SETTINGS = NOISE.stop
STEPS, STEPS_SINCE = _SETTINGS, _SETTINGS + 1
"""Columns of every row; the last two are the clock."""


class FrameRows:
    """How the state of one runtime goes into rows and comes back."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        model = runtime.model
        offsets = model.arenas.offsets
        self.parts: dict[str, slice] = {}
        """Columns of every array by name."""
        rows: list[np.ndarray] = []
        at = _SETTINGS
        for name in ARENA:
            size: int = getattr(runtime.sim, name).size
            rows.append(np.arange(offsets[name], offsets[name] + size))
            self.parts[name] = slice(at, at + size)
            at += size
        self._index = np.concatenate(rows)
        self._arena = slice(_SETTINGS, at)
        for name, array in runtime.external_state.items():
            self.parts[name] = slice(at, at + array.size)
            at += array.size
        self._fixed = at
        self._solver: tuple[WorldOptions, int, Array] | None = None

    def _solver_numbers(self, world: WorldRuntime) -> Array:
        """Solver options as numbers; made again only after an option was written."""
        kept = self._solver
        if kept is None or kept[0] is not world._options or kept[1] != world._layout_edits:
            kept = self._solver = (world._options, world._layout_edits, solver_numbers(world._options))
        return kept[2]

    def capture(self, world: WorldRuntime) -> Array:
        """The row of the World as it is now."""
        runtime, sim = self.runtime, self.runtime.sim
        free = _free_poses(world)
        row = np.empty(self._fixed + free.size)
        row[TIME_START] = world._time_start
        row[TIME_STEP] = sim.time_step
        row[GRAVITY] = runtime.model.gravity
        row[FAMILY] = _FAMILIES.index(sim.family)
        row[SOLVER] = self._solver_numbers(world)
        row[NOISE] = noise_numbers(world._options)
        # clip: without it take() goes through a buffer of its own
        sim.data.take(self._index, out=row[self._arena], mode="clip")
        for name, array in runtime.external_state.items():
            row[self.parts[name]] = array.ravel()
        row[self._fixed :] = free
        return row

    def load(self, world: WorldRuntime, row: Array) -> None:
        """Make the World what it was; the layout was compared before."""
        runtime, sim = self.runtime, self.runtime.sim
        self._load_settings(world, row)
        self.spread(row, sim.data)
        for name, array in runtime.external_state.items():
            array[:] = row[self.parts[name]].reshape(array.shape)
        runtime.controls_written()
        runtime.joints_commanded()
        if runtime.mocap.size:
            runtime.apply_mocap_poses()
        runtime.wrenches_written()
        sim.written()
        poses = row[self._fixed :].reshape(-1, 7)
        moved: list[FreeFrame] = []
        for frame, pose in zip(_free_frames(world), poses, strict=True):
            if not np.array_equal(frame._local(), pose):
                frame._place(pose)
                moved.append(frame)
        # closures once all frames are in place, since frames may stand on frames
        for frame in moved:
            world._follow_frame(frame)

    def _load_settings(self, world: WorldRuntime, row: Array) -> None:
        runtime, sim, options = self.runtime, self.runtime.sim, world._options
        if row[TIME_STEP] != sim.time_step:
            options.time_step = sim.time_step = float(row[TIME_STEP])
        if not np.array_equal(row[GRAVITY], runtime.model.gravity):
            options.gravity = row[GRAVITY].copy()
            runtime.update(gravity=row[GRAVITY].copy())
        family = _FAMILIES[int(row[FAMILY])]
        if family is not sim.family:
            chosen = options.multibody_options
            chosen.integration_family = sim.family = family
            options.multibody_options = chosen
            sim.reconfigure()
        world._time_start = float(row[TIME_START])
        if not np.array_equal(row[SOLVER], solver_numbers(options)):
            _choose_solver(world, row[SOLVER])
        if not np.array_equal(row[NOISE], noise_numbers(options)):
            seed, index = (int(number) for number in row[NOISE])
            world.sensor_noise_seed, world.sensor_noise_world = None if seed < 0 else seed, index

    def spread(self, row: Array, data: Array) -> None:
        """Put the arrays of a row into an arena."""
        data[self._index] = row[self._arena]

    def columns(self, rows: np.ndarray) -> list[int]:
        """Columns of a row in which entries of the arena are."""
        order = np.argsort(self._index)
        found = order[np.searchsorted(self._index, rows, sorter=order)]
        return (found + self._arena.start).tolist()


def solver_numbers(options: WorldOptions) -> Array:
    """Solver options of a World as numbers."""
    chosen = options.multibody_options
    sleep = options.deactivation_options
    return np.array(
        [
            *(choices.index(getattr(options, name)) for name, choices in _CHOICES.items()),
            chosen.variational_max_iterations,
            chosen.variational_tolerance,
            *(getattr(sleep, name) for name in sleep._fields),
            options.contact_sweeps,
        ],
        np.float64,
    )


def noise_numbers(options: WorldOptions) -> tuple[float, float]:
    """Options of the noise of sensors as numbers."""
    seed = options.sensor_noise_seed
    return -1.0 if seed is None else float(seed), float(options.sensor_noise_world)


def _choose_solver(world: WorldRuntime, numbers: Array) -> None:
    """Give a World the solver options of a row; those it has already are left alone."""
    given = iter(numbers.tolist())
    for name, choices in _CHOICES.items():
        choice = choices[int(next(given))]
        if getattr(world, name) != choice:
            setattr(world, name, choice)
    chosen, sleep = world.multibody_options, world.deactivation_options
    chosen.variational_max_iterations = int(next(given))
    chosen.variational_tolerance = next(given)
    for name in sleep._fields:
        number = next(given)
        setattr(sleep, name, bool(number) if name == "enabled" else number)
    sweeps = int(next(given))
    if sweeps != world.contact_sweeps:
        world.contact_sweeps = sweeps
    if chosen != world.multibody_options:
        world.multibody_options = chosen
    if sleep != world.deactivation_options:
        world.deactivation_options = sleep


def bad_settings(rows: Array) -> str | None:
    """What is wrong with the settings in rows from elsewhere; None when they can be loaded."""
    if not (rows[:, TIME_STEP] > 0.0).all():
        return "time steps must be positive"
    counts = [(FAMILY, len(_FAMILIES), "unknown family")]
    counts += [
        (SOLVER.start + k, len(choices), f"unknown {name}")
        for k, (name, choices) in enumerate(_CHOICES.items())
    ]
    counts += [(STEPS, 2**53, "bad clock"), (STEPS_SINCE, 2**53, "bad clock")]
    for column, count, wrong in counts:
        numbers = rows[:, column]
        if not ((numbers == np.floor(numbers)) & (numbers >= 0) & (numbers < count)).all():
            return wrong
    iterations, tolerance, *sleep, sweeps = rows[:, SOLVER.start + len(_CHOICES) : SOLVER.stop].T
    if not ((iterations >= 1) & (iterations < 2**53) & (tolerance > 0.0)).all():
        return "bad variational options"
    if not ((sweeps == np.floor(sweeps)) & (sweeps >= 0) & (sweeps < 2**31)).all():
        return "bad contact_sweeps"
    for numbers, least, most in zip(rows[:, NOISE].T, (-1, 0), (LARGEST_SEED, LARGEST_WORLD), strict=True):
        if not ((numbers == np.floor(numbers)) & (numbers >= least) & (numbers <= most)).all():
            return "bad noise of sensors"
    return None if (np.array(sleep) >= 0.0).all() else "bad deactivation options"


def times(rows: Array) -> Array:
    """Simulated time of every row [s]."""
    return rows[..., TIME_START] + rows[..., STEPS_SINCE] * rows[..., TIME_STEP]


def same_bits(a: Array, b: Array) -> bool:
    """Whether two rows are equal bit for bit."""
    return a.shape == b.shape and bool((a.view(np.int64) == b.view(np.int64)).all())


def _free_frames(world: WorldRuntime) -> list[FreeFrame]:
    return [frame for frame in world._frames.values() if isinstance(frame, FreeFrame)]


def _free_poses(world: WorldRuntime) -> Array:
    if not world._frames:
        return np.zeros(0)
    return np.array([frame._local() for frame in _free_frames(world)]).ravel()
