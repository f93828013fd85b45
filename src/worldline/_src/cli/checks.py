# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The checks of `worldline check`: before a step, and during a trial run.

A finding is an error when the motion cannot be trusted, a warning when it may be wrong, a note when a person
would want to know. The limits of stability are those of semi-implicit Euler on one degree of freedom: a
spring needs h sqrt(k/m) < 2, a damper that is not implicit h c/m < 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.cli import common
from worldline._src.named_tuple import NamedTuple

if TYPE_CHECKING:
    from worldline._src.facade.world import World
    from worldline._src.spatial.poses import Array

ERROR, WARNING, NOTE = "error", "warning", "note"
OVERLAP = 1e-3
"""Overlap at the start that is worth a warning [m]."""
DEEP = 5e-3
"""Overlap during a run that is worth a warning [m]."""
GROWTH = 0.05
"""Share of the largest kinetic energy by which the energy of an undriven World may grow."""
FAST = 100.0
"""Speed of a body that is worth a warning [m/s]."""
FAR_BELOW = -50.0
"""Height below which a body is taken to fall for ever [m]."""
PORTIONS = 200


class Finding(NamedTuple):
    """One thing that was found."""

    level: str
    kind: str
    message: str


def before_a_step(world: World) -> Iterator[Finding]:
    """Problems found from the numbers of a World without running it."""
    for entry in world.report.losses:
        if entry.may_move:
            yield Finding(WARNING, "lost at loading", str(entry))
    refused = common.obstacle(world)
    if refused is not None:
        yield Finding(ERROR, "refused", refused)
    yield from _masses(world)
    yield from _overlaps(world)
    if refused is None:
        yield from _time_constants(world)
        yield from _contact_laws(world)


def _masses(world: World) -> Iterator[Finding]:
    model = world._live().model
    moved = model.body_mass[~model.body_kinematic]
    if moved.size and moved.max() > 0.0:
        least = moved[moved > 0.0].min()
        if moved.max() / least > 1e6:
            message = f"masses range from {least:g} to {moved.max():g} kg; solvers converge slowly"
            yield Finding(NOTE, "mass ratio", message)
    if not moved.size:
        yield Finding(NOTE, "nothing moves", "no body can be moved by forces")


def _overlaps(world: World) -> Iterator[Finding]:
    deepest: dict[tuple[str, str], float] = {}
    for contact in world.collide():
        if contact.depth > OVERLAP:
            pair = _names(contact)
            deepest[pair] = max(contact.depth, deepest.get(pair, 0.0))
    for (a, b), depth in deepest.items():
        message = f"'{a}' and '{b}' overlap by {1e3 * depth:.3g} mm before the first step"
        yield Finding(WARNING, "overlap at the start", message)


def _names(contact: object) -> tuple[str, str]:
    ends = (getattr(contact, side) for side in ("body_a", "body_b"))
    a, b = ("the world" if end is None else end.name for end in ends)
    return a, b


def _stiffness(world: World) -> tuple[Array, Array, Array]:
    """Stiffness that each degree of freedom feels, damping of joints and drives, and that of actuators."""
    from worldline._src.model.tables import BiasKind, GainKind
    from worldline._src.step.moments import row_of

    runtime = world._live()
    model = runtime.model
    k, c = model.joint_stiffness + model.joint_target_ke, model.joint_damping + model.joint_target_kd
    driven = np.zeros_like(c)
    table = model.actuators
    if table is not None and runtime.constraints is not None:
        column = runtime.constraints.column
        for row, u in enumerate(runtime.constraints.actuators.tolist()):
            if table.bias_kind[u] == BiasKind.AFFINE and table.gain_kind[u] != GainKind.MUSCLE:
                dofs, moment = row_of(column, "act", row)
                k[dofs] -= moment**2 * table.bias[u, 1]
                driven[dofs] -= moment**2 * table.bias[u, 2]
    return k, c, driven


def _time_constants(world: World) -> Iterator[Finding]:
    from worldline._src.step.inverse_weights import inverse_weights
    from worldline._src.step.stepping import IMPLICIT_FAMILIES
    from worldline._src.step.stepping import MultibodyIntegrationFamily as Family

    runtime = world._live()
    model, h = runtime.model, world.time_step
    if model.joint_dof_count == 0:
        return
    inverse_inertia = inverse_weights(model)[0]
    k, c, driven = _stiffness(world)
    family = world.multibody_options.integration_family
    late = np.zeros_like(c)
    if family in IMPLICIT_FAMILIES:
        late, c = c, late
    if family is Family.IMPLICIT_VELOCITY:
        late = late + driven
    else:
        c = c + driven
    # M + h D stands in the place of M, and with it a stiff spring is slowed too
    slowed = 1.0 + h * np.maximum(late * inverse_inertia, 0.0)
    swing = h * np.sqrt(np.maximum(k * inverse_inertia, 0.0) / slowed)
    decay = h * np.maximum(c * inverse_inertia, 0.0) / slowed
    names = _dof_names(world)
    for d in np.flatnonzero((swing > 1.0) | (decay > 1.0)).tolist():
        level = ERROR if swing[d] > 2.0 or decay[d] > 2.0 else WARNING
        if swing[d] > 1.0:
            need = h / swing[d]
            message = f"'{names[d]}' swings with {1 / need:.4g} rad/s, a step of {h:g} s is too long; "
            yield Finding(level, "stiff spring", message + f"use at most {need:.2g} s")
        if decay[d] > 1.0:
            message = f"'{names[d]}' is damped within {h / decay[d]:.2g} s, less than a step of {h:g} s; "
            better = Family.IMPLICIT_VELOCITY if driven[d] > 0.0 else Family.IMPLICIT_DAMPING
            message += f"use the integration family '{better.value}' or a shorter step"
            yield Finding(level, "stiff damper", message)


def _dof_names(world: World) -> list[str]:
    model = world._live().model
    counts = np.diff(model.joint_qd_start).tolist()
    return [name for name, n in zip(model.joint_label, counts, strict=True) for _ in range(n)]


def _contact_laws(world: World) -> Iterator[Finding]:
    from worldline._src.model.force_tables import ForceKind

    runtime = world._live()
    shapes, h = runtime.model.shapes, world.time_step
    if shapes is None or runtime.constraints is None or not len(runtime.constraints.shapes):
        return
    rows = runtime.constraints.shapes
    law = shapes.force
    soft = (law.kind[rows] == ForceKind.IMPEDANCE) & (law.damping[rows] > 0.0)
    short = rows[soft & (2.0 / np.maximum(law.damping[rows], 1e-300) < 2.0 * h)]
    if short.size:
        names = ", ".join(f"'{shapes.label[k]}'" for k in short[:5].tolist())
        more = f" and {short.size - 5} more" if short.size > 5 else ""
        message = f"contact of {names}{more} needs a time constant under two steps of {h:g} s"
        yield Finding(NOTE, "stiff contact", message)


class Watch:
    """Extremes of a World that runs."""

    def __init__(self, world: World) -> None:
        self.world = world
        now = world.compute_step_metrics()
        self.start = now.total_energy
        self.energies = [self.start]
        self.kinetic = now.kinetic_energy
        self.depth, self.pair = 0.0, ("", "")
        self.speed, self.fastest = 0.0, ""
        self.failure: str | None = None

    @property
    def growth(self) -> float:
        """How much higher the energy went in the second half than in the first [J].

        Integrators let the energy of a fast swing go up and down; what counts is that it does not climb.
        """
        half = (len(self.energies) + 1) // 2
        later = self.energies[half:]
        return max(0.0, max(later) - max(self.energies[:half])) if later else 0.0

    def look(self) -> None:
        """Take in the World as it is."""
        world = self.world
        now = world.compute_step_metrics()
        self.energies.append(now.total_energy)
        self.kinetic = max(self.kinetic, now.kinetic_energy)
        if now.max_penetration_depth > self.depth:
            self.depth = now.max_penetration_depth
            self.pair = _names(max(world.contacts, key=lambda contact: contact.depth))
        runtime = world._live()
        if runtime.model.body_count:
            with np.errstate(over="ignore"):  # a run that blows up passes through any size
                speeds = np.linalg.norm(runtime.sim.fresh_velocities()[:, :3], axis=1)
            b = int(speeds.argmax())
            if speeds[b] > self.speed:
                self.speed, self.fastest = float(speeds[b]), runtime.model.body_label[b]


def while_it_runs(
    world: World, duration: float, tick: Callable[[], None] = lambda: None
) -> tuple[Watch, list[Finding]]:
    """Run a World for a while; `tick` is called after each of `PORTIONS` portions."""
    from worldline._src.errors import StepFailure

    if not world.is_simulation_mode:
        world.enter_simulation_mode()
    watch = Watch(world)
    count = max(1, round(duration / world.time_step))
    first = world.frame
    for part in range(1, PORTIONS + 1):
        many = round(count * part / PORTIONS) - (world.frame - first)
        try:
            world.step(n=many)
        except StepFailure as error:
            watch.failure = str(error)
            break
        watch.look()
        tick()
    return watch, list(_judge(watch))


def is_driven(world: World) -> bool:
    """Whether anything can feed energy into the World."""
    model = world._live().model
    table = model.actuators
    return bool(
        (table is not None and len(table))
        or model.joint_target_ke.any()
        or model.joint_target_kd.any()
        or model.joint_f.any()
        or model.body_kinematic.any()
    )


def _judge(watch: Watch) -> Iterator[Finding]:
    world = watch.world
    if watch.failure is not None:
        yield Finding(ERROR, "not finite", watch.failure)
    if watch.growth > GROWTH * max(watch.kinetic, 1e-9) and watch.growth > 1e-9:
        message = f"energy grew by {watch.growth:.3g} J, with {watch.kinetic:.3g} J in motion at most"
        if is_driven(world):
            yield Finding(NOTE, "energy", f"{message}; actuators and drives may have done so")
        else:
            yield Finding(ERROR, "energy", f"{message}, and nothing drives the scene")
    if watch.depth > DEEP:
        a, b = watch.pair
        message = f"'{a}' and '{b}' overlapped by {1e3 * watch.depth:.3g} mm"
        yield Finding(WARNING, "penetration", message)
    if watch.speed > FAST:
        yield Finding(WARNING, "speed", f"'{watch.fastest}' reached {watch.speed:.4g} m/s")
    runtime = world._live()
    if runtime.model.body_count:
        heights = runtime.sim.fresh_poses()[:, 2]
        b = int(heights.argmin())
        if heights[b] < FAR_BELOW:
            message = (
                f"'{runtime.model.body_label[b]}' is at a height of {heights[b]:.4g} m; is there a ground?"
            )
            yield Finding(NOTE, "falls", message)
