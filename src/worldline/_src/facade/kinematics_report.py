# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Report of a kinematics-only tick: closures, and with collision the closest pair and the contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from worldline._src.facade import jobs, queries, sensors, values
from worldline._src.facade.closure_projection import ClosureProjectionReport
from worldline._src.facade.contacts import Contact
from worldline._src.facade.link import Link
from worldline._src.facade.queries import BodyDistance
from worldline._src.facade.rigid_body import RigidBody

if TYPE_CHECKING:
    from worldline._src.facade.world_runtime import WorldRuntime


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
        contacts: where bodies touch.
        first_contacts: those of pairs that did not touch in the tick with a report of collision before.
    """

    time: float
    frame: int
    closures: dict[str, float]
    projection: ClosureProjectionReport | None
    collision: bool
    clearance: BodyClearance | None
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


def kinematics_report(world: WorldRuntime, collision: bool) -> KinematicsReport:
    """The report of the present state of a World."""
    residuals = {
        closure.name: closure.compute_residual().norm
        for closure in world._loop_closures.values()
        if closure.enabled
    }
    clearance, contacts, first = None, (), ()
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
    return KinematicsReport(
        world.time, world.frame, residuals, world._projection_report, collision, clearance, contacts, first
    )


def step_kinematics(
    world: WorldRuntime, n: int, update_collision: bool, update_sensors: bool
) -> KinematicsReport:
    """See `World.step_kinematics`."""
    count = jobs.step_count(n, "step_kinematics")
    for name, wanted in (("update_collision", update_collision), ("update_sensors", update_sensors)):
        if not isinstance(wanted, bool):
            raise values.ShapeError(f"{name} must be True or False, got {wanted!r}")
    if update_sensors:
        sensors.read_kinematic(world)
    if count == 0:
        return kinematics_report(world, update_collision)
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
    return kinematics_report(world, update_collision)
