# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What sensors of touch and of contacts read, from the contacts of the present state.

A contact sensor has a block of fixed size: slots of the asked fields in a fixed order, filled up with zeros.
The first of the two matched objects comes first: the normal leads from it, and forces act on the second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from worldline._src.facade.sensor_moment import Moment, across
from worldline._src.facade.sensor_volumes import contains, meets
from worldline._src.kernels.constraints import tables as t
from worldline._src.model.sensor_tables import THE_WORLD, ContactReport, ObjectKind, Sensors
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime

MAX_FORCE, MIN_DISTANCE, NET_FORCE = range(3)
"""Ways to choose among contacts; any other keeps their order."""


class SensedContact(NamedTuple):
    """One contact."""

    shape_a: int
    shape_b: int
    """Rows of `Model.shapes`."""
    body_a: int
    body_b: int
    """Bodies of the model, -1 for the world."""
    point: Array
    axes: Array
    """Normal from a to b, then two tangents, in rows, world axes."""
    depth: float
    wrench: Array
    """Force and torque on b, along the axes, (6,)."""

    def turned_round(self) -> SensedContact:
        """The same contact with its objects exchanged; the axes turn half about the second tangent."""
        signs = np.array([1.0, 1.0, -1.0])
        return SensedContact(
            self.shape_b,
            self.shape_a,
            self.body_b,
            self.body_a,
            self.point,
            self.axes * np.array([[-1.0], [-1.0], [1.0]]),
            self.depth,
            self.wrench * np.concatenate([signs, signs]),
        )


def contacts_now(runtime: Runtime) -> list[SensedContact]:
    """Contacts that have rows; hard ones count when they overlap or push."""
    constraints = runtime.constraints
    if constraints is None or constraints.hits is None:
        return []
    column, hits = constraints.column, constraints.hits.column
    hard, made = column["shape_law"][:, t.KIND] == t.HARD, []
    count = int(column["counter"][t.CONTACT_COUNT])
    for k in np.flatnonzero(column["contact_row"][:count, 0] >= 0).tolist():
        a, b, body_a, body_b = hits["contact_id"][k, :4].tolist()
        wrench, depth = column["contact_force"][k].copy(), float(hits["contact"][k, 6])
        if depth < 0.0 and not wrench.any() and (hard[a] or hard[b]):
            continue
        first, second = constraints.shapes[[a, b]].tolist()
        axes = column["frame"][k].reshape(3, 3).copy()
        point = hits["contact"][k, :3].copy()
        made.append(SensedContact(first, second, body_a - 1, body_b - 1, point, axes, depth, wrench))
    return made


def contacts_of(moment: Moment) -> list[SensedContact]:
    """The contacts of a moment, looked up once."""
    if "contacts" not in moment.known:
        moment.known["contacts"] = contacts_now(moment.runtime)
    return moment.known["contacts"]


def touch_reading(moment: Moment, table: Sensors, k: int) -> Array:
    """Sum of the normal forces on the body of a site whose line passes through the volume of the site."""
    sites, index = moment.model.sites, int(table.object[k])
    assert sites is not None
    site = moment.place(ObjectKind.SITE, index)
    kind, size, total = int(sites.kind[index]), sites.size[index], 0.0
    for met in contacts_of(moment):
        if site.body not in (met.body_a, met.body_b) or met.wrench[0] <= 0.0:
            continue
        # away from the body that feels: out of it, into the other
        line = met.axes[0] if site.body != met.body_b else -met.axes[0]
        if meets(kind, size, site.R_W.T @ (met.point - site.p_W), site.R_W.T @ line):
            total += float(met.wrench[0])
    return np.array([total])


def contact_reading(moment: Moment, table: Sensors, k: int) -> Array:
    """Slots of the contacts that match."""
    found = _matching(moment, table.contact_match[k].tolist())
    most, reduce = int(table.contact_most[k]), int(table.contact_reduce[k])
    count = len(found)
    if reduce == NET_FORCE and found:
        found = [_net(found)]
    elif reduce == MAX_FORCE:
        found.sort(key=lambda met: -float(met.wrench[:3] @ met.wrench[:3]))
    elif reduce == MIN_DISTANCE:
        found.sort(key=lambda met: -met.depth)
    report = int(table.contact_report[k])
    rows = [_slot(met, count, report) for met in found[:most]]
    made = np.zeros(int(table.start[k + 1] - table.start[k]))
    flat = np.concatenate(rows) if rows else np.zeros(0)
    made[: len(flat)] = flat
    return made


def _slot(met: SensedContact, count: int, report: int) -> Array:
    fields = {
        ContactReport.FOUND: [float(count)],
        ContactReport.FORCE: met.wrench[:3],
        ContactReport.TORQUE: met.wrench[3:],
        ContactReport.DISTANCE: [-met.depth],
        ContactReport.POSITION: met.point,
        ContactReport.NORMAL: met.axes[0],
        ContactReport.TANGENT: met.axes[1],
    }
    return np.concatenate([np.zeros(0), *(value for bit, value in fields.items() if report & bit)])


def _net(found: list[SensedContact]) -> SensedContact:
    """All contacts as one: force in world axes at the mean of the points, weighted by the forces."""
    weights = np.array([np.linalg.norm(met.wrench[:3]) for met in found])
    # without a force there is no such point: the origin stands for it
    points = np.array([met.point for met in found])
    point = weights @ points / weights.sum() if weights.any() else np.zeros(3)
    wrench = np.zeros(6)
    for met in found:
        push = met.axes.T @ met.wrench[:3]
        wrench[:3] += push
        wrench[3:] += met.axes.T @ met.wrench[3:] + across(met.point - point, push)
    return SensedContact(-1, -1, -1, -1, point, np.eye(3), 0.0, wrench)


def _matching(moment: Moment, match: list[int]) -> list[SensedContact]:
    """Contacts that match, the object named first in front."""
    first, second, site = tuple(match[:3]), tuple(match[3:6]), match[6]
    # everything is below the world
    below = {body: set(moment.subtree(body).tolist()) for body in {first[2], second[2]} if body >= 0}
    volume = None
    if site >= 0:
        sites = moment.model.sites
        assert sites is not None
        volume = (moment.place(ObjectKind.SITE, site), int(sites.kind[site]), sites.size[site])

    def is_of(side: tuple[int, ...], shape: int, body: int) -> bool:
        if side[0] >= 0:
            return shape == side[0]
        if side[1] != -1:
            return body == (-1 if side[1] == THE_WORLD else side[1])
        return side[2] < 0 or body in below[side[2]]

    made = []
    for met in contacts_of(moment):
        if volume is not None:
            place, kind, size = volume
            if not contains(kind, size, place.R_W.T @ (met.point - place.p_W)):
                continue
        if is_of(first, met.shape_a, met.body_a) and is_of(second, met.shape_b, met.body_b):
            made.append(met)
        elif is_of(first, met.shape_b, met.body_b) and is_of(second, met.shape_a, met.body_a):
            made.append(met.turned_round())
    return made
