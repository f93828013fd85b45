# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Report of the last step: convergence, clamped commands, active limits, contacts.

Everything is read from the arrays a step leaves behind, on request; steps cost nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from worldline._src.errors import StepFailure
from worldline._src.facade.contacts import Contact, contact_summary, last_contacts, owners
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.force_shares import gravity_compensation
from worldline._src.facade.kinds import ClosureDynamicsPolicy, ContactSolverMethod
from worldline._src.facade.link import Link
from worldline._src.facade.requirements import ResolvedOption, resolved_configuration
from worldline._src.facade.rigid_body import RigidBody
from worldline._src.facade.world_joint import WorldJoint
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.constraints.contact import log as contact_log
from worldline._src.kernels.constraints.equality.rows import BROKEN, EFFORT, NO_MOTOR
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.closures import ProjectionPolicy
from worldline._src.scene.validate import movable_links
from worldline._src.spatial.poses import Array, rotations
from worldline._src.step.pack_equalities import Owner
from worldline._src.step.pack_loops import open_loops
from worldline._src.step.pack_motors import motor_efforts

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime

Body = RigidBody | Link | None


class ContactEventKind(Enum):
    """What happened to a pair of bodies."""

    BEGIN = "begin"
    PERSIST = "persist"
    END = "end"


class ContactEvent(NamedTuple):
    """A pair of bodies that came to touch, went on or ceased to touch; see `World.contact_events`.

    Attributes:
        kind: BEGIN, PERSIST or END.
        body_a, body_b: rigid body or link; None for shapes of the world itself. After the END of a body that
            was removed its handle is not valid any more, but still has its name.
        frame: number of the step in which it happened; the last step for PERSIST.
        time: end of that step [s].
    """

    kind: ContactEventKind
    body_a: Body
    body_b: Body
    frame: int
    time: float


class Touch(NamedTuple):
    """Two bodies that touched in the last step, with its number and its end [s]."""

    body_a: Body
    body_b: Body
    frame: int
    time: float


_LOGGED = {contact_log.BEGIN: ContactEventKind.BEGIN, contact_log.END: ContactEventKind.END}


class BreakEvent(NamedTuple):
    """A joint of the World or an equality constraint of the scene that broke; see `World.break_events`.

    Attributes:
        name: of the joint or constraint.
        joint: the joint of the World; None for an equality constraint.
        frame: number of the step in which it broke.
        time: end of that step [s].
        force: what it pulled with then [N]; generalized force of joints and tendons kept equal.
        torque: what it twisted with then [N m].
    """

    name: str
    joint: WorldJoint | None
    frame: int
    time: float
    force: float
    torque: float


class PairForce(NamedTuple):
    """Contacts of two bodies in the last step: how many, deepest overlap [m], force on body_b [N]."""

    body_a: Body
    body_b: Body
    contacts: int
    depth: float
    force: Array


@dataclass(frozen=True, eq=False)
class StepReport:
    """What the last step did; see `World.step_report`.

    Attributes:
        frame: number of the step, 0 before the first.
        converged: whether `residual` is at most 0.01, `unmet` is empty and `weakened_islands` is zero.
        residual: what the solution of the worst island misses, as a share of gravity (of 1 m/s^2 where there
            is less). Newton's method: M (a - a_smooth) - J^T f as an acceleration, or the error of Coulomb's
            law in friction times slip, whichever is more. Sequential impulses: largest change of a contact's
            velocity in the last sweep, over gravity times time step. Boxed problems: largest slack of a row
            that its bounds do not explain. None of them depends on the unit of mass. Of steps that are solved
            for positions and for velocities it is the larger of both. A World with `fixed_layout` does not
            measure it: 0 when the solver converged, 1 when it did not.
        unmet: names of hard constraints that miss the velocity they ask for by more than gravity makes in a
            step, as they contradict each other or hold against what cannot move: closures, joints of the
            World, equality constraints, limits, and pairs of bodies ("a, b") for contacts. Their forces are
            the least-squares compromise. So are closures, joints of the World and hard equality constraints
            that the end of the step leaves open by more than 1e-8; `LoopClosure.compute_residual` tells by
            how much. Contacts that friction locks against each other have a larger
            regularizer, a hundredth or a tenth of the inverse inertia they see, and count alike.
        worst: where to look when a step has not converged and `unmet` is empty: the pair of bodies in contact
            ("a, b") that approaches fastest after the step; empty otherwise, and without contacts.
        iterations: most iterations that an island took: Newton steps, sweeps or pivots.
        islands: groups of bodies that were solved apart.
        unconverged_islands: how many of them have a residual above 0.01, in positions or in velocities.
        substituted_islands: solutions by another method, because the requested one did not converge: Newton's
            method after pivoting, sequential impulses or sweeps over rows after Newton's method.
        locked_islands: islands of overlapping bodies that friction locks: no velocity obeys Coulomb's law and
            parts all contacts as fast as they should, or no method finds it. Their overlap is removed by a
            displacement with a quarter or a sixteenth of the friction, their velocities have no penetration
            recovery and all of their friction.
        weakened_islands: islands whose velocities have a quarter or a sixteenth of their friction, because no
            method found those of all friction. Such a step has not converged.
        methods: islands by the method that solved them: "newton", "sequential-impulse", "boxed-lcp". Islands
            that sleep or have no rows are in none.
        rows: constraint rows of all islands.
        contacts: points of contact.
        dropped_contacts: contacts and rows for which there was no room. Room grows, so this is zero; a step
            with any counts as not converged.
        dropped_contact_events: contact events of the last call of steps for which there was no room.
        max_penetration: deepest overlap [m].
        active_limits: names of joints and tendons at a limit of position or speed that pushed.
        clamped_efforts: names of joints whose drive, servo or mimic motor was cut at its effort limit.
        clamped_actuators: names of actuators whose control or force was at its bound.
        broken: names of joints and equality constraints that broke in this step.
        pairs: contacts by pair of bodies.
        substitutions: options that were resolved to something else than was requested.
        failure: why the last step that was tried failed; None when it went well.
        notes: what the World does that its user may not expect: bodies whose inertia is assumed because they
            have neither an inertia nor collision shapes, loop closures that are only measured, and a
            `start_stiffness` of joints between bodies, which no solver of a step needs.
    """

    frame: int
    converged: bool
    residual: float
    unmet: tuple[str, ...]
    worst: str
    iterations: int
    islands: int
    unconverged_islands: int
    substituted_islands: int
    locked_islands: int
    weakened_islands: int
    methods: dict[str, int]
    rows: int
    contacts: int
    dropped_contacts: int
    dropped_contact_events: int
    max_penetration: float
    active_limits: tuple[str, ...]
    clamped_efforts: tuple[str, ...]
    clamped_actuators: tuple[str, ...]
    broken: tuple[str, ...]
    pairs: tuple[PairForce, ...]
    substitutions: tuple[ResolvedOption, ...]
    failure: StepFailure | None
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"step {self.frame}: {'converged' if self.converged else 'NOT converged'}, "
            f"residual {self.residual:.1e}, {self.iterations} iterations, {self.islands} islands, "
            f"{self.rows} rows",
            f"contacts: {self.contacts}, deepest {1e3 * self.max_penetration:.3g} mm",
        ]
        for what, names in (
            ("not met", self.unmet),
            ("limits that act", self.active_limits),
            ("efforts cut", self.clamped_efforts),
            ("actuators at a bound", self.clamped_actuators),
            ("broke", self.broken),
        ):
            if names:
                lines.append(f"{what}: {', '.join(names)}")
        if self.worst:
            lines.append(f"approach fastest: {self.worst}")
        if self.weakened_islands:
            lines.append(f"less friction than given: {self.weakened_islands} islands")
        if self.dropped_contacts:
            lines.append(f"no room for {self.dropped_contacts} contacts")
        if self.dropped_contact_events:
            lines.append(f"no room for {self.dropped_contact_events} contact events")
        if self.failure is not None:
            lines.append(f"failed: {self.failure}")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)


@exclusive
def step_report(world: WorldRuntime) -> StepReport:
    """See `World.step_report`."""
    runtime = world._live()
    counter, residual, unmet = np.zeros(t.COUNTERS, np.int64), 0.0, ()
    counter[t.CONVERGED] = 1
    if runtime.constraints is not None and runtime.constraints.constrains and runtime.sim.stepped:
        counter = runtime.constraints.column.counter
        residual = float(runtime.constraints.column.option[t.RESIDUAL])
        unmet = _unmet(world, runtime)
    solved = bool(counter[t.CONVERGED])
    touching, deepest = contact_summary(runtime)
    return StepReport(
        frame=world.frame,
        converged=solved and not counter[t.DROPPED] and not unmet,
        residual=residual,
        unmet=unmet,
        worst="" if solved or unmet else _fastest_approach(world, runtime),
        iterations=int(counter[t.ITERATIONS]),
        islands=int(counter[t.ISLANDS]),
        unconverged_islands=int(counter[t.UNCONVERGED]),
        substituted_islands=int(counter[t.SUBSTITUTED]),
        locked_islands=int(counter[t.JAMMED]),
        weakened_islands=int(counter[t.WEAKENED]),
        methods=_methods(counter),
        rows=int(counter[t.ALL_ROWS]),
        contacts=touching,
        dropped_contacts=int(counter[t.DROPPED]),
        dropped_contact_events=dropped_contact_events(runtime),
        max_penetration=deepest,
        active_limits=_active_limits(runtime),
        clamped_efforts=_clamped_efforts(runtime),
        clamped_actuators=_clamped_actuators(runtime),
        broken=tuple(event.name for event in break_events(world) if event.frame == world.frame),
        pairs=_pairs(world),
        substitutions=tuple(o for o in resolved_configuration(world) if o.requested != o.resolved),
        failure=runtime.sim.failure,
        notes=_notes(world),
    )


def _methods(counter: np.ndarray) -> dict[str, int]:
    """Islands by the method that solved them."""
    found = {
        ContactSolverMethod.NEWTON.value: int(counter[t.BY_NEWTON]),
        ContactSolverMethod.SEQUENTIAL_IMPULSE.value: int(counter[t.BY_IMPULSES] + counter[t.BY_SWEEPS]),
        ContactSolverMethod.BOXED_LCP.value: int(counter[t.BY_PIVOTING]),
    }
    return {method: count for method, count in found.items() if count}


def _notes(world: WorldRuntime) -> tuple[str, ...]:
    """What a World does that its user may not expect."""
    moves = {id(link) for link, can_move, _ in movable_links(world._scene) if can_move}
    bodies: list[tuple[str, RigidBody | Link]] = [
        (f"rigid body '{body.name}'", body) for body in world._rigid_bodies.values() if not body.is_kinematic
    ]
    for robot in world._multibodies.values():
        bodies += [
            (f"link '{link.name}' of multibody '{robot.name}'", link) for link in robot._links.values()
        ]
    found = [
        f"{who}: it has neither an inertia nor collision shapes; 1 kg m^2 about every axis is assumed"
        for who, body in bodies
        if id(body._link) in moves and not body._link.inertial.has_own_moments and not body._has_volume()
    ]
    found += [
        f"loop closure '{closure.name}': it is only measured (RESIDUAL_ONLY); nothing keeps it closed"
        for closure in world._loop_closures.values()
        if closure.enabled and closure.dynamics is ClosureDynamicsPolicy.RESIDUAL_ONLY
    ]
    found += [
        f"joint '{joint.joint.name}': its start_stiffness is not used; steps solve for the whole stiffness"
        for joint in world._scene.joints
        if joint.projection.start_stiffness != ProjectionPolicy().start_stiffness
    ]
    shapes = world._live().model.shapes
    if shapes is not None:
        soft = (np.nan_to_num(shapes.restitution) > 0.0) & (np.asarray(shapes.force.kind) != t.HARD)
        found += [
            f"shape '{shapes.label[k]}': its restitution acts only where it meets hard contact, it is soft"
            for k in np.flatnonzero(soft)
        ]
    return tuple(found)


def _dof_names(runtime: Runtime, dofs: np.ndarray) -> tuple[str, ...]:
    """Labels of the joints of degrees of freedom, each once."""
    model = runtime.model
    joints: list[int] = (np.searchsorted(model.joint_qd_start, dofs, side="right") - 1).tolist()
    return tuple(dict.fromkeys(model.joint_label[j] for j in joints))


def _active_limits(runtime: Runtime) -> tuple[str, ...]:
    """Joints and tendons whose limits pushed."""
    constraints = runtime.constraints
    if constraints is None or not constraints.constrains:
        return ()
    column = constraints.column
    count = int(column.counter[t.ALL_ROWS])
    kind, which = column.row_of[:count].T
    pushing = column.force[:count] != 0.0
    places = column.limit_dof[which[(kind == t.OF_LIMIT) & pushing]]
    speeds = column.speed_dof[which[(kind == t.OF_SPEED) & pushing]]
    tendons: list[int] = which[(kind == t.OF_TENDON) & pushing].tolist()
    bounds: list[int] = which[(kind == t.OF_BOUND) & pushing].tolist()
    others = [constraints.tendon_names[k] for k in tendons]
    others += [str(constraints.equalities[k].label) for k in bounds]
    return _dof_names(runtime, np.concatenate([places, speeds])) + tuple(dict.fromkeys(others))


def _pair_name(who: list[RigidBody | Link | None], pair: list[int]) -> str:
    """Names of two bodies, given by their rows of the model plus one."""
    return ", ".join("world" if body is None else body.name for body in (who[k - 1] for k in pair))


def _unmet(world: WorldRuntime, runtime: Runtime) -> tuple[str, ...]:
    """Hard constraints whose regularizers take off more than gravity, since nothing yields to them."""
    constraints = runtime.constraints
    assert constraints is not None
    column = constraints.column
    count = int(column.counter[t.ALL_ROWS])
    kind, which = column.row_of[:count].T
    missed = np.abs(column.missed[:count]) > column.option[t.GRAVITY]
    unmet = _unmet_impulses(runtime, which[kind == t.OF_CONTACT])
    locked = column.position_missed[: int(column.counter[t.CONTACT_COUNT])] > column.option[t.GRAVITY]
    unmet = np.union1d(unmet, np.flatnonzero(locked))
    apart = [constraints.equalities[k].label for k in open_loops(column)]
    if not missed.any() and not unmet.size:
        return tuple(dict.fromkeys(apart))
    hard = {name: column[f"{name}_law"][:, t.KIND] == t.HARD for name in ("equality", "limit")}
    ties = which[missed & np.isin(kind, (t.OF_EQUALITY, t.OF_BOUND))]
    limits = which[missed & (kind == t.OF_LIMIT)]
    contacts = np.union1d(which[missed & (kind == t.OF_CONTACT)], unmet)
    hard_ties: list[int] = ties[hard["equality"][ties]].tolist()
    names = [*apart, *(constraints.equalities[k].label for k in hard_ties)]
    names += _dof_names(runtime, column.limit_dof[limits[hard["limit"][limits]]])
    if contacts.size and constraints.collision is not None:
        who = owners(world, runtime).body
        pairs = constraints.collision.column.contact_id[contacts[column.bounce[contacts] >= 0.0], 2:4]
        names += [_pair_name(who, pair) for pair in pairs.tolist()]
    return tuple(dict.fromkeys(names))


def _fastest_approach(world: WorldRuntime, runtime: Runtime) -> str:
    """The pair in contact whose bodies approach fastest: n . (v_b - v_a) at the point is least."""
    constraints, model = runtime.constraints, runtime.model
    if constraints is None or constraints.collision is None:
        return ""
    column = constraints.collision.column
    count = int(constraints.column.counter[t.CONTACT_COUNT])
    pushing = np.flatnonzero(constraints.column.contact_force[:count, 0] > 0.0)
    if not pushing.size:
        return ""
    # the world in front, which does not move
    X, V = runtime.sim.fresh_poses(), runtime.sim.fresh_velocities()
    centers = np.vstack([np.zeros(3), X[:, :3] + np.einsum("bij,bj->bi", rotations(X), model.body_com)])
    twists = np.vstack([np.zeros(6), V])
    points, normals = column.contact[pushing, :3], column.contact[pushing, 3:6]
    ends = column.contact_id[pushing, 2:4]
    speeds = [twists[k, :3] + np.cross(twists[k, 3:], points - centers[k]) for k in ends.T]
    pair = ends[np.argmin(np.einsum("ki,ki->k", normals, speeds[1] - speeds[0]))].tolist()
    who = owners(world, runtime).body
    return _pair_name(who, pair)


def _unmet_impulses(runtime: Runtime, rowed: np.ndarray) -> np.ndarray:
    """Contacts of islands without rows whose regularizers take off more than gravity; `rowed` have rows."""
    constraints = runtime.constraints
    if constraints is None or constraints.collision is None:
        return np.zeros(0, np.int64)
    column = constraints.column
    count = int(column.counter[t.CONTACT_COUNT])
    pushing = column.contact_row[:count, 0] >= 0
    pushing &= column.bounce[:count] >= 0.0
    pushing[rowed] = False
    contacts = np.flatnonzero(pushing)
    # impulses have no De Saxce correction; they leave what regularizers take off in its place
    return contacts[column.de_saxce_error[contacts] > column.option[t.GRAVITY]]


def _clamped_efforts(runtime: Runtime) -> tuple[str, ...]:
    """Joints whose drive requested more than its effort limit."""
    lower, upper = runtime.model.joint_effort_lower, runtime.model.joint_effort_limit
    passive = runtime.passive_forces() - gravity_compensation(runtime.model, runtime.sim.start_q.copy())
    drive = runtime.sim.tau - passive
    if runtime.constraints is not None:
        # servo and mimic motors are rows
        drive[runtime.constraints.column.motor_dof[:, 0]] = 0.0
    # what is bounded to zero on one side is not cut by doing nothing
    bound = _at_bounds(drive, lower, upper)
    constraints = runtime.constraints
    if constraints is not None and constraints.constrains:
        column = constraints.column
        count = int(column.counter[t.ALL_ROWS])
        kind, which = column.row_of[:count].T
        motors = kind == t.OF_MOTOR
        dofs = column.motor_dof[which[motors], 0]
        force = motor_efforts(runtime.model, dofs, column.force[:count][motors])
        np.logical_or.at(bound, dofs, _at_bounds(force, lower[dofs], upper[dofs]))
    names = list(_dof_names(runtime, np.flatnonzero(bound)))
    if constraints is not None and constraints.column.equality_motor.any():
        column = constraints.column
        effort, (low, high) = column.equality_drive[:, 1], column.equality_effort.T
        asked = np.where(column.equality_motor == EFFORT, column.equality_command[:, 0], effort)
        cut = np.flatnonzero(_at_bounds(asked, low, high) & (column.equality_motor != NO_MOTOR))
        names += [constraints.equalities[k].label for k in cut.tolist()]
    return tuple(names)


def _at_bounds(effort: Array, lower: Array, upper: Array) -> np.ndarray:
    """Which efforts are at their bounds or beyond; a bound of zero cuts nothing off no effort."""
    margin = 1.0 - 1e-12
    above = np.isfinite(upper) & (effort >= upper * margin) & (effort > 0.0)
    return above | (np.isfinite(lower) & (effort <= lower * margin) & (effort < 0.0))


def _clamped_actuators(runtime: Runtime) -> tuple[str, ...]:
    """Actuators whose control or force was at its bound."""
    constraints, table = runtime.constraints, runtime.model.actuators
    if constraints is None or table is None or not constraints.drives:
        return ()
    column, working = constraints.column, constraints.actuators
    control, force = column.control, column.act_force
    controls, forces = column.act_control_range, column.act_force_range
    beyond = (control < controls[:, 0]) | (control > controls[:, 1])
    beyond |= (force <= forces[:, 0]) | (force >= forces[:, 1])
    clamped: list[int] = np.asarray(working)[beyond].tolist()
    return tuple(table.label[k] for k in clamped)


def _pairs(world: WorldRuntime) -> tuple[PairForce, ...]:
    """Contacts of the last step by pair."""
    found: dict[tuple[int, int], list[Contact]] = {}
    for contact in last_contacts(world):
        found.setdefault((id(contact.body_a), id(contact.body_b)), []).append(contact)
    return tuple(
        PairForce(
            group[0].body_a,
            group[0].body_b,
            len(group),
            max(c.depth for c in group),
            np.sum([c.force for c in group], axis=0),
        )
        for group in found.values()
    )


@exclusive
def break_events(world: WorldRuntime) -> list[BreakEvent]:
    """See `World.break_events`."""
    runtime = world._live()
    constraints = runtime.constraints
    if constraints is None:
        return []
    joints = {joint.name: joint for joint in world.joints}
    events: list[BreakEvent] = []
    for k in np.flatnonzero(constraints.column.equality_on == BROKEN).tolist():
        frame, force, torque = constraints.column.equality_break[k].tolist()
        equality = constraints.equalities[k]
        joint = joints.get(equality.label) if equality.owner is Owner.LOOP_JOINT else None
        time = max(world.time - (world.frame - frame) * world.time_step, 0.0) if frame else 0.0
        events.append(BreakEvent(equality.label, joint, int(frame), time, force, torque))
    return sorted(events, key=lambda event: event.frame)


@exclusive
def contact_events(world: WorldRuntime) -> list[ContactEvent]:
    """See `World.contact_events`."""
    runtime = world._live()
    log, made = runtime.sim.contact_log, list(world._ended)
    if log is not None:
        who, now, since = owners(world, runtime).body, world.frame, float(world._clock()[1])

        def event(kind: ContactEventKind, pair: tuple[int, int], frame: int) -> ContactEvent:
            time = world._time_start + (since - (now - frame)) * world.time_step
            return ContactEvent(kind, who[pair[0] - 1], who[pair[1] - 1], frame, time)

        made += [event(_LOGGED[kind], pair, frame) for frame, kind, pair in log.events(now)]
        made += [event(ContactEventKind.PERSIST, pair, now) for pair in log.persisting(now)]
    return made + world._ended_since


def dropped_contact_events(runtime: Runtime) -> int:
    """Contact events of the last call of steps that there was no room for."""
    return 0 if runtime.sim.contact_log is None else runtime.sim.contact_log.dropped


def keep_contacts(world: WorldRuntime) -> None:
    """The topology is about to change: keep which bodies touch, by handle, until the World is compiled."""
    runtime = world._runtime
    log = None if runtime is None else runtime.sim.contact_log
    if runtime is None or log is None or world._touching is not None:
        return
    pairs = log.pairs()
    who = owners(world, runtime).body if pairs else []
    world._touching = [Touch(who[a - 1], who[b - 1], world.frame, world.time) for a, b in pairs]


def carry_contacts(world: WorldRuntime) -> None:
    """The World was compiled again: pairs of bodies still there go on, those of removed ones have ended."""
    kept, world._touching = world._touching, None
    runtime = world._runtime
    if not kept or runtime is None:
        return
    going_on: list[tuple[int, int]] = []
    for touch in kept:
        bodies = (touch.body_a, touch.body_b)
        if all(body is None or body.is_valid for body in bodies):
            rows = sorted(0 if body is None else runtime.body(body._link) + 1 for body in bodies)
            going_on.append((rows[0], rows[1]))
        else:
            ended = ContactEvent(ContactEventKind.END, *touch)
            world._ended_since = [*world._ended_since, ended]
    if runtime.sim.contact_log is not None:
        runtime.sim.contact_log.set_pairs(going_on)
