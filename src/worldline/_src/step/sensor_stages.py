# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of sensors: from poses, velocities, accelerations, rows and contacts to one array of readings.

Their arenas are those of `kernels/sensors/tables.py`; others are reached through the addresses at the front
of `args`. Stages of limits, lists of contacts, rays and distances branch on numbers: they run for one world
at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from worldline._src.jit import inline, stage
from worldline._src.kernels import body_matrices, centroidal, configuration
from worldline._src.kernels.constraints.rows import CONE
from worldline._src.kernels.constraints.tables import (
    ALL_ROWS,
    CONTACT_COUNT,
    OF_CONTACT,
    ROWS,
    actuator_view,
    anchor_pose_view,
    contact_frame_view,
    dual_view,
    equality_view,
    limit_view,
    link_view,
    record_view,
    row_note_view,
    row_view,
    spring_view,
    tendon_view,
    weight_view,
)
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kernels.sensors import contacts, efforts, frames, rays, subtrees
from worldline._src.kernels.sensors import tables as t
from worldline._src.kinds import float64, int64
from worldline._src.model.views import (
    acceleration_view,
    articulated_view,
    body_view,
    field_view,
    inertia_view,
    operand_view,
    passive_view,
    position_view,
    step_view,
    tree_view,
    velocity_view,
)
from worldline._src.scalar.memory import address_as, constants_like, matrix, vector
from worldline._src.scalar.ops import constant
from worldline._src.step.reaching import address_like, contacts_of

_BODY_X, _NBODY = collision.ENTRY["body_X_W"], collision.ENTRY["nbody"]
_CLOSEST, _NPAIR, _IWORK = collision.ENTRY["closest"], collision.ENTRY["npair"], collision.ENTRY["iwork"]
_FORCE = 3
"""Row of `dual` that has the forces of rows."""


class State(NamedTuple):
    """Coordinates and velocities."""

    q: Any
    v: Any


@inline
def trees_of(args, d):
    """The arenas of the trees: m, c, d."""
    return (
        address_as(args[t.TREE_M], int64),
        constants_like(args[t.TREE_C], d),
        address_like(args[t.TREE_D], d),
    )


@inline
def rows_of(args, d):
    """The arenas of constraint rows: m, c, args, d."""
    return (
        address_as(args[t.ROW_M], int64),
        address_as(args[t.ROW_C], float64),
        address_as(args[t.ROW_ARGS], int64),
        address_like(args[t.ROW_D], d),
    )


@inline
def _touching(args, d):
    """Contacts of the present state and their forces."""
    rm, rc, ra, rd = rows_of(args, d)
    found, frame = contacts_of(ra, rd), contact_frame_view(rm, rc, ra, rd)
    return contacts.Touching(
        found.contact,
        found.contact_id,
        frame.contact_row,
        frame.frame,
        record_view(rm, rc, ra, rd).contact_force,
        frame.counter,
    )


# ---- frames


@stage
def sensor_frames(m, c, args, d):
    """link poses -> poses of the frames of sensors."""
    tm, tc, td = trees_of(args, d)
    frames.frame_poses(tree_view(tm, tc, td), position_view(tm, tc, td), t.frame_view(m, c, args, d))


@stage
def sensor_velocities(m, c, args, d):
    """link velocities -> velocities of the frames of sensors."""
    tm, tc, td = trees_of(args, d)
    frames.frame_velocities(position_view(tm, tc, td), velocity_view(tm, tc, td), t.frame_view(m, c, args, d))


@stage
def sensor_accelerations(m, c, args, d):
    """link accelerations -> accelerations of the frames of sensors."""
    tm, tc, td = trees_of(args, d)
    frames.frame_accelerations(
        position_view(tm, tc, td),
        velocity_view(tm, tc, td),
        acceleration_view(tm, tc, td).link_A,
        t.frame_view(m, c, args, d),
    )


@stage
def read_poses(m, c, args, d):
    """frames -> readings of positions, rotations, fields, pixels and volumes."""
    frames.read_poses(
        t.frame_view(m, c, args, d), t.pose_row_view(m, c, args, d), t.reading_view(m, c, args, d).reading
    )


@stage
def read_velocities(m, c, args, d):
    """frames -> readings of velocities."""
    frames.read_velocities(
        t.frame_view(m, c, args, d), t.rate_row_view(m, c, args, d), t.reading_view(m, c, args, d).reading
    )


@stage
def read_accelerations(m, c, args, d):
    """frames -> readings of accelerations."""
    tm, tc, td = trees_of(args, d)
    frames.read_accelerations(
        t.frame_view(m, c, args, d),
        t.rate_row_view(m, c, args, d),
        field_view(tm, tc, td).gravity,
        t.reading_view(m, c, args, d).reading,
    )


@stage
def read_state(m, c, args, d):
    """q, v, time -> readings of them."""
    tm, tc, td = trees_of(args, d)
    operands = operand_view(tm, tc, td)
    frames.read_state(
        operands.q, operands.v, t.state_row_view(m, c, args, d), t.reading_view(m, c, args, d).reading
    )


@stage
def read_subtrees(m, c, args, d):
    """link poses, link velocities -> readings of subtrees."""
    tm, tc, td = trees_of(args, d)
    subtrees.read_subtrees(
        tree_view(tm, tc, td),
        inertia_view(tm, tc, td),
        position_view(tm, tc, td),
        velocity_view(tm, tc, td),
        t.subtree_row_view(m, c, args, d),
        t.reading_view(m, c, args, d).reading,
    )


# ---- energy, actuators, limits


@stage
def read_energies(m, c, args, d):
    """link poses, link velocities, tendons, springs -> readings of energy."""
    tm, tc, td = trees_of(args, d)
    tree, inertia, pos = tree_view(tm, tc, td), inertia_view(tm, tc, td), position_view(tm, tc, td)
    row, reading = t.effort_row_view(m, c, args, d).energy_row, t.reading_view(m, c, args, d).reading
    for n in range(row.shape[0]):
        at = row[n, 0]
        if row[n, 1] == t.KINETIC:
            vel, v = velocity_view(tm, tc, td), operand_view(tm, tc, td).v
            centroidal.kinetic_energy(tree, inertia, pos, vel, v, reading[at : at + 1])
        else:
            passive, operands, u = (
                passive_view(tm, tc, td),
                operand_view(tm, tc, td),
                articulated_view(tm, tc, td).dof_u,
            )
            configuration.difference(tree, operands.q, passive.q_rest, u)
            centroidal.gravity_energy(
                tree, inertia, pos, field_view(tm, tc, td).gravity, reading[at : at + 1]
            )
            configuration.spring_energy(passive, u, reading[at : at + 1])
            if args[t.ROW_M] != 0:
                rm, rc, ra, rd = rows_of(args, d)
                subtrees.add_spring_energy(
                    tendon_view(rm, rc, ra, rd),
                    spring_view(rm, rc, ra, rd),
                    anchor_pose_view(rm, rc, ra, rd).anchor_X,
                    at,
                    reading,
                )


@stage
def read_efforts(m, c, args, d):
    """actuators, tendons -> readings of their forces, lengths and rates."""
    rm, rc, ra, rd = rows_of(args, d)
    efforts.read_efforts(
        actuator_view(rm, rc, ra, rd),
        tendon_view(rm, rc, ra, rd),
        t.effort_row_view(m, c, args, d),
        t.reading_view(m, c, args, d).reading,
    )


@stage
def read_limits(m, c, args, d):
    """rows, constraint forces -> readings of limits, of one world."""
    tm, tc, td = trees_of(args, d)
    rm, rc, ra, rd = rows_of(args, d)
    operands = operand_view(tm, tc, td)
    efforts.read_limits(
        limit_view(rm, rc, ra, rd),
        tendon_view(rm, rc, ra, rd),
        record_view(rm, rc, ra, rd),
        link_view(rm, rc, ra, rd).counter,
        State(operands.q, operands.v),
        t.effort_row_view(m, c, args, d),
        t.reading_view(m, c, args, d).reading,
    )


# ---- contacts and forces


@stage
def record_fixed_rows(m, c, args, d):
    """rows of the fixed layout -> the record of rows and the forces of contacts."""
    rm, rc, ra, rd = rows_of(args, d)
    notes, record, rows = row_note_view(rm, rc, ra, rd), record_view(rm, rc, ra, rd), row_view(rm, rc, ra, rd)
    frame, force = contact_frame_view(rm, rc, ra, rd), dual_view(rm, rc, ra, rd).dual[_FORCE]
    counter = notes.counter
    counter[ALL_ROWS], counter[CONTACT_COUNT] = counter[ROWS], frame.contact_row.shape[0]
    for n in range(counter[ROWS]):
        record.force[n] = force[n] * notes.row_active[n]
        record.residual[n] = notes.row_residual[n]
        record.row_of[n, 0], record.row_of[n, 1] = notes.row_note[n, 0], notes.row_note[n, 1]
    for k in range(frame.contact_row.shape[0]):
        first, condim = frame.contact_row[k, 0], frame.contact_row[k, 1]
        for j in range(6):
            record.contact_force[k, j] = constant(0.0, record.contact_force[k, j])
        if first < 0 or first >= counter[ROWS] or notes.row_note[first, 0] != OF_CONTACT:
            continue
        if condim == 1 or rows.kind[first] == CONE:
            for j in range(condim):
                record.contact_force[k, j] = record.force[first + j]
        else:
            for j in range(1, condim):
                up, down = record.force[first + 2 * j - 2], record.force[first + 2 * j - 1]
                record.contact_force[k, 0] = record.contact_force[k, 0] + (up + down)
                record.contact_force[k, j] = frame.mu[k, j - 1] * (up - down)


@stage
def read_touch(m, c, args, d):
    """frames, contacts, constraint forces -> readings of touch."""
    contacts.read_touch(
        t.frame_view(m, c, args, d),
        _touching(args, d),
        t.touch_row_view(m, c, args, d),
        t.reading_view(m, c, args, d).reading,
    )


@stage
def link_demands(m, c, args, d):
    """link accelerations, forces on bodies -> what links must get from their joints."""
    tm, tc, td = trees_of(args, d)
    contacts.link_demands(
        contacts.Moving(
            tree_view(tm, tc, td),
            body_view(tm, tc, td),
            inertia_view(tm, tc, td),
            position_view(tm, tc, td),
            velocity_view(tm, tc, td),
            acceleration_view(tm, tc, td).link_A,
        ),
        field_view(tm, tc, td).gravity,
        step_view(tm, tc, td).body_f,
        t.force_row_view(m, c, args, d),
    )


@stage
def contact_demands(m, c, args, d):
    """contacts, constraint forces -> what links must get from their joints, less them."""
    rm, rc, ra, rd = rows_of(args, d)
    body_link = weight_view(rm, rc, ra, rd).body_link
    contacts.contact_demands(_touching(args, d), body_link, t.force_row_view(m, c, args, d))


@stage
def equality_demands(m, c, args, d):
    """equality forces, anchors -> what links must get from their joints, less them."""
    rm, rc, ra, rd = rows_of(args, d)
    contacts.equality_demands(
        equality_view(rm, rc, ra, rd),
        anchor_pose_view(rm, rc, ra, rd).anchor_X,
        weight_view(rm, rc, ra, rd).body_link,
        t.force_row_view(m, c, args, d),
    )


@stage
def read_forces(m, c, args, d):
    """frames, what links must get from their joints -> readings of force and torque."""
    contacts.read_forces(
        t.frame_view(m, c, args, d), t.force_row_view(m, c, args, d), t.reading_view(m, c, args, d).reading
    )


@stage
def read_contacts(m, c, args, d):
    """frames, contacts, constraint forces -> readings of lists of contacts, of one world."""
    contacts.read_contacts(
        t.frame_view(m, c, args, d),
        _touching(args, d),
        t.found_row_view(m, c, args, d),
        t.reading_view(m, c, args, d).reading,
    )


# ---- shapes


@inline
def _collision_poses(m, args, d, first):
    """Write the poses of bodies to the collision tables whose addresses begin at `first`."""
    tm, tc, td = trees_of(args, d)
    hm, hd = address_as(args[first], int64), address_like(args[first + 3], d)
    body = body_view(tm, tc, td)
    body_matrices.body_matrices(
        tree_view(tm, tc, td),
        body,
        position_view(tm, tc, td),
        body.body_link,
        matrix(hd, hm[_BODY_X] + 12, hm[_NBODY] - 1, 12),
    )


@stage
def seen_bodies(m, c, args, d):
    """link poses -> poses of the bodies that rays see."""
    _collision_poses(m, args, d, t.SEEN_M)


@stage
def solid_bodies(m, c, args, d):
    """link poses -> poses of the bodies between which distances are measured."""
    _collision_poses(m, args, d, t.SOLID_M)


@stage
def read_rays(m, c, args, d):
    """frames, shapes that rays see -> readings of range finders, of one world."""
    hm, hc = address_as(args[t.SEEN_M], int64), address_as(args[t.SEEN_C], float64)
    ha, hd = address_as(args[t.SEEN_ARGS], int64), address_like(args[t.SEEN_D], d)
    rays.read_rays(
        t.frame_view(m, c, args, d),
        collision.shape_view(hm, hc, ha, hd),
        collision.geom_view(hm, hc, ha, hd),
        collision.surface_view(hm, hc, ha, hd),
        vector(ha, hm[_IWORK], collision.IWORK),
        t.ray_row_view(m, c, args, d),
        t.reading_view(m, c, args, d).reading,
    )


@stage
def read_distances(m, c, args, d):
    """closest points -> readings of distances, of one world."""
    hm, hd = address_as(args[t.SOLID_M], int64), address_like(args[t.SOLID_D], d)
    rays.read_distances(
        matrix(hd, hm[_CLOSEST], hm[_NPAIR], 10),
        t.distance_row_view(m, c, args, d),
        t.reading_view(m, c, args, d).reading,
    )


@stage
def clip_readings(m, c, args, d):
    """readings -> readings within their cut-offs."""
    frames.clip(t.reading_view(m, c, args, d))
