# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Report of a kinematics-only tick: closures, and with collision the closest pair and the contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import ArgumentError
from worldline._src.facade import jobs, queries, sensors, values
from worldline._src.facade.closure_projection import ClosureProjectionReport
from worldline._src.facade.contacts import Contact
from worldline._src.facade.link import Link
from worldline._src.facade.queries import BodyDistance
from worldline._src.facade.rigid_body import RigidBody

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


_FARTHEST = 1e9
"""No pair of bodies is looked for beyond it [m]."""


@dataclass(frozen=True, eq=False)
class BodyClearance(BodyDistance):
    """The closest pair of bodies of those that a step lets collide.

    Attributes:
        body_a, body_b: rigid body or link; None for shapes of the world itself.
    """

    body_a: RigidBody | Link | None
    body_b: RigidBody | Link | None


@dataclass(frozen=True, eq=False)
class KinematicsReport:
    """What `World.step_kinematics` found at its end.

    Attributes:
        time: of the World [s].
        frame: of the World.
        closures: residuals of all enabled closures by name [m or rad].
        projection: what the last projection of closures did; None where none is projected.
        collision: whether collision was looked at, by `update_collision`; the rest is empty if not.
        clearance: the closest pair, with a negative distance where bodies overlap; None where no two bodies
            can touch.
        clearances: one for every pair of bodies closer than `clearance_range`, the closest first; empty
            without a range.
        contacts: where bodies touch.
        first_contacts: those of pairs that did not touch in the tick with a report of collision before.
    """

    time: float
    frame: int
    closures: dict[str, float]
    projection: ClosureProjectionReport | None
    collision: bool
    clearance: BodyClearance | None
    clearances: tuple[BodyClearance, ...]
    contacts: tuple[Contact, ...]
    first_contacts: tuple[Contact, ...]

    @property
    def message(self) -> str:
        """The findings in a sentence."""
        parts = [f"frame {self.frame}"]
        if self.closures:
            name, worst = max(self.closures.items(), key=lambda each: each[1])
            parts.append(f"closures within {worst:.3g} ('{name}')")
        if self.collision:
            parts.append(f"{len(self.contacts)} contacts, {len(self.first_contacts)} of new pairs")
            if self.clearance is not None:
                parts.append(f"clearance {self.clearance.distance:.3g} m")
        return ", ".join(parts)

    def __repr__(self) -> str:
        return f"KinematicsReport({self.message})"


def _clearances(scene: queries.QueryScene, reach: float) -> tuple[BodyClearance, ...]:
    """The closest shapes of every pair of bodies within a distance of each other, the closest first."""
    pairs, found = scene.detector.near(scene.group, reach)
    made: dict[tuple[int, int], BodyClearance] = {}
    for k in np.argsort(found.distance, kind="stable").tolist():
        a, b = int(pairs[k, 0]), int(pairs[k, 1])
        bodies = int(scene.body[a]), int(scene.body[b])
        if bodies not in made and bodies[::-1] not in made:
            made[bodies] = BodyClearance(
                float(found.distance[k]),
                found.normal[k],
                found.point_a[k],
                found.point_b[k],
                scene.owners[a],
                scene.owners[b],
            )
    return tuple(made.values())


def kinematics_report(world: WorldRuntime, collision: bool, reach: float | None = None) -> KinematicsReport:
    """The report of the present state of a World."""
    residuals = {
        closure.name: closure.compute_residual().norm
        for closure in world._loop_closures.values()
        if closure.enabled
    }
    clearance, clearances, contacts, first = None, (), (), ()
    if collision:
        scene = queries.scene_of(world)
        contacts = tuple(queries.collide(world, None))
        touching = {frozenset((id(each.body_a), id(each.body_b))) for each in contacts}
        first = tuple(
            each for each in contacts if frozenset((id(each.body_a), id(each.body_b))) not in scene.touching
        )
        scene.touching = touching
        found = scene.detector.distance(scene.group)
        if found.object_a is not None and found.object_b is not None:
            clearance = BodyClearance(
                found.distance,
                found.normal,
                found.point_a,
                found.point_b,
                scene.owners[found.object_a.index],
                scene.owners[found.object_b.index],
            )
        if reach is not None:
            clearances = _clearances(scene, reach)
    return KinematicsReport(
        world.time,
        world.frame,
        residuals,
        world._projection_report,
        collision,
        clearance,
        clearances,
        contacts,
        first,
    )


def step_kinematics(
    world: WorldRuntime, n: int, update_collision: bool, update_sensors: bool, clearance_range: float | None
) -> KinematicsReport:
    """See `World.step_kinematics`."""
    count = jobs.step_count(n, "step_kinematics")
    for name, wanted in (("update_collision", update_collision), ("update_sensors", update_sensors)):
        if not isinstance(wanted, bool):
            raise values.ShapeError(f"{name} must be True or False, got {wanted!r}")
    reach = None
    if clearance_range is not None:
        reach = values.non_negative(clearance_range, "clearance_range of step_kinematics")
        if not reach < _FARTHEST:
            raise ArgumentError(
                f"clearance_range of step_kinematics must be below {_FARTHEST:g} m, got {reach:g}"
            )
        if not update_collision:
            raise ArgumentError(f"clearance_range of step_kinematics, {reach:g} m, needs update_collision")
    if update_sensors:
        sensors.read_kinematic(world)
    if count == 0:
        return kinematics_report(world, update_collision, reach)
    world._require_no_edit("a step")
    if not world._simulating:
        world.enter_simulation_mode()
    runtime = world._live()
    with runtime.guard:
        if world._recorder is None:
            runtime.tick(count)
        else:
            world._replay._tick(runtime, count)
        runtime.sim.fresh_poses()
        runtime.sim.fresh_velocities()
    return kinematics_report(world, update_collision, reach)
