# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Options of a World that change after it was made, and the updates of its compiled form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from worldline._src.facade.options import Options, WorldOptions, variational_options
from worldline._src.facade.quantities import quantity

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime


def _time_step(options: WorldOptions, runtime: Runtime) -> None:
    runtime.sim.time_step = options.time_step


def _gravity(options: WorldOptions, runtime: Runtime) -> None:
    runtime.update(gravity=options.gravity)


def _integration(options: WorldOptions, runtime: Runtime) -> None:
    chosen = options.multibody_options
    runtime.sim.family = chosen.integration_family
    runtime.sim.variational = variational_options(chosen)
    runtime.sim.reconfigure()


def _solver(options: WorldOptions, runtime: Runtime) -> None:
    runtime.choose_solver(
        options.contact_solver_method, options.strict_solver_resolution, options.contact_sweeps
    )


def _sleep(options: WorldOptions, runtime: Runtime) -> None:
    runtime.set_sleep(options.deactivation_options)


def _divergence(options: WorldOptions, runtime: Runtime) -> None:
    runtime.sim.divergence_policy = options.divergence_policy
    runtime.sim.divergence_limit = options.divergence_limit


def _noise(options: WorldOptions, runtime: Runtime) -> None:
    runtime.sensors = None


_FOLLOWS: dict[str, Callable[[WorldOptions, Runtime], None]] = {
    "time_step": _time_step,
    "gravity": _gravity,
    "multibody_options": _integration,
    "contact_solver_method": _solver,
    "strict_solver_resolution": _solver,
    "contact_sweeps": _solver,
    "deactivation_options": _sleep,
    "divergence_policy": _divergence,
    "divergence_limit": _divergence,
    "sensor_noise_seed": _noise,
    "sensor_noise_world": _noise,
}
"""What an option changes in a compiled world; the others are read when they matter."""
_NUMBERS = frozenset(
    {
        "time_step",
        "gravity",
        "divergence_policy",
        "divergence_limit",
        "sensor_noise_seed",
        "sensor_noise_world",
    }
)
"""Options that no check before a step depends on."""


def option(name: str, doc: str) -> Any:
    """A property of a World that is one of its options; those with fields of their own are read as copies."""

    def read(world: Any) -> Any:
        value = getattr(world._options, name)
        return value.copy() if isinstance(value, Options) else value

    return quantity(read, lambda world, value: world._settings.set(name, value), doc)


class Settings:
    """Changes of the options of one World."""

    def __init__(self, world: WorldRuntime) -> None:
        self._world = world

    def set(self, name: str, value: Any) -> None:
        """Take over an option, which its class checks; on error nothing changes."""
        world = self._world
        world._require_idle()
        if name == "fixed_layout":
            world._require_design("a change of fixed_layout")
        setattr(world._options, name, value)
        if name == "fixed_layout" or (world._options.fixed_layout and name not in _NUMBERS):
            # rows of the fixed layout are laid out for one method
            world._topology_changed()
        elif world._runtime is not None and name in _FOLLOWS:
            _FOLLOWS[name](world._options, world._runtime)
        if name not in _NUMBERS:
            world._configuration_changed()
