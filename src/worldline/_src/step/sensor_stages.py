# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The stages of sensors: from poses, velocities, accelerations, rows and contacts to one array of readings.

Their arenas are those of `kernels/sensors/tables.py`; others are reached through the addresses at the front
of `args`. Stages of limits, lists of contacts, rays and distances branch on numbers: they run for one world
at a time.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, stage
from worldline._src.kernels import body_matrices, centroidal, configuration
from worldline._src.kernels.constraints import tables as r
from worldline._src.kernels.constraints.fixed_record import record_forces
from worldline._src.kernels.narrowphase import tables as collision
from worldline._src.kernels.sensors import contacts, efforts, frames, rays, subtrees
from worldline._src.kernels.sensors import tables as t
from worldline._src.kinds import float64, int64
from worldline._src.model import views
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_as, matrix, vector
from worldline._src.step.reaching import address_like, trees_of
from worldline._src.step.sensor_operands import sensor_rows, sensor_stage

_BODY_X, _NBODY = collision.ENTRY["body_X_W"], collision.ENTRY["nbody"]
_CLOSEST, _NPAIR, _IWORK = collision.ENTRY["closest"], collision.ENTRY["npair"], collision.ENTRY["iwork"]


class State(NamedTuple):
    """Coordinates and velocities."""

    q: Any
    v: Any


# ---- frames


sensor_frames = sensor_stage.of(frames.frame_poses, name="sensor_frames")
sensor_velocities = sensor_stage.of(frames.frame_velocities, name="sensor_velocities")
sensor_accelerations = sensor_stage.of(frames.frame_accelerations, name="sensor_accelerations")
read_poses = sensor_stage.of(frames.read_poses, rows="pose_rows")
read_velocities = sensor_stage.of(frames.read_velocities, rows="rate_rows")
read_accelerations = sensor_stage.of(frames.read_accelerations, rows="rate_rows")
read_state = sensor_stage.of(frames.read_state, rows="state_rows")
read_subtrees = sensor_stage.of(subtrees.read_subtrees, rows="subtree_rows")


# ---- energy, actuators, limits


@stage
def read_energies(m, c, args, d):
    """link poses, link velocities, tendons, springs -> readings of energy."""
    tm, tc, td = trees_of(args, d)
    tree, inertia, pos = (
        views.tree_view(tm, tc, td),
        views.inertia_view(tm, tc, td),
        views.position_view(tm, tc, td),
    )
    row, reading = t.effort_row_view(m, c, args, d).energy_row, t.reading_view(m, c, args, d).reading
    for n in range(row.shape[0]):
        at = row[n, 0]
        if row[n, 1] == t.KINETIC:
            vel, v = views.velocity_view(tm, tc, td), views.operand_view(tm, tc, td).v
            centroidal.kinetic_energy(tree, inertia, pos, vel, v, reading[at : at + 1])
        else:
            passive, operands, u = (
                views.passive_view(tm, tc, td),
                views.operand_view(tm, tc, td),
                views.articulated_view(tm, tc, td).dof_u,
            )
            configuration.difference(tree, operands.q, passive.q_rest, u)
            centroidal.gravity_energy(
                tree, inertia, pos, views.field_view(tm, tc, td).gravity, reading[at : at + 1]
            )
            configuration.spring_energy(passive, u, reading[at : at + 1])
            if args[t.ROW_M] != 0:
                rm, rc, ra, rd = sensor_rows(args, d)
                subtrees.add_spring_energy(
                    r.tendon_view(rm, rc, ra, rd),
                    r.spring_view(rm, rc, ra, rd),
                    r.anchor_pose_view(rm, rc, ra, rd).anchor_X,
                    at,
                    reading,
                )


read_efforts = sensor_stage.of(efforts.read_efforts, rows="effort_rows")


@sensor_stage
def read_limits(limit, tendon, record, counter, q, v, effort_rows, reading):
    """rows, constraint forces -> readings of limits, of one world."""
    efforts.read_limits(limit, tendon, record, counter, State(q, v), effort_rows, reading)


# ---- contacts and forces


@stage
def record_fixed_rows(m, c, args, d):
    """rows of the fixed layout -> the record of rows and the forces of contacts."""
    rm, rc, ra, rd = sensor_rows(args, d)
    record_forces(
        r.row_view(rm, rc, ra, rd),
        r.row_note_view(rm, rc, ra, rd),
        r.contact_frame_view(rm, rc, ra, rd),
        r.dual_view(rm, rc, ra, rd).dual,
        r.record_view(rm, rc, ra, rd),
    )


read_touch = sensor_stage.of(contacts.read_touch, rows="touch_rows")


@sensor_stage
def link_demands(tree, body, inertia, pos, vel, A, gravity, body_f, force_rows):
    """link accelerations, forces on bodies -> what links must get from their joints."""
    moving = contacts.Moving(tree, body, inertia, pos, vel, A)
    contacts.link_demands(moving, gravity, body_f, force_rows)


contact_demands = sensor_stage.of(contacts.contact_demands, rows="force_rows")
equality_demands = sensor_stage.of(contacts.equality_demands, rows_io="force_rows")
read_forces = sensor_stage.of(contacts.read_forces, rows="force_rows")
read_contacts = sensor_stage.of(contacts.read_contacts, rows="found_rows")


# ---- shapes


@inline
def _collision_poses(m, args, d, first):
    """Write the poses of bodies to the collision tables whose addresses begin at `first`."""
    tm, tc, td = trees_of(args, d)
    hm, hd = address_as(args[first], int64), address_like(args[first + 3], d)
    body = views.body_view(tm, tc, td)
    body_matrices.body_matrices(
        views.tree_view(tm, tc, td),
        body,
        views.position_view(tm, tc, td),
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


clip_readings = sensor_stage.of(frames.clip, name="clip_readings", rows_io="readings")
