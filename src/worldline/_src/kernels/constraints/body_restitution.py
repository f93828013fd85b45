# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`restitution.py` for sequential impulses between free bodies, which have no rows and no matrices.

The second solve starts from the impulses of the first. The blend pushes the bodies by what it adds to the
impulses without restitution, so velocities and impulses belong to each other as they do after every sweep.
"""

from __future__ import annotations

from typing import Any

from worldline._src.jit import inline, kernel
from worldline._src.kernels.constraints.body_pgs import approach_speed, warm_start
from worldline._src.kernels.constraints.restitution import GAIN, most_restitution
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.vec3 import load_vec3, sub


class Bounces(NamedTuple):
    """What contacts bounce by, and room for a first solution.

    bounce: (capacity,) what restitution adds to the wanted speed [m/s], negative where the law is not hard.
    before: (3 capacity,) speeds before the impact [m/s]. speed, first: (3 capacity,) scratch. tree_share:
    (trees,) shares of restitution.
    """

    bounce: Any
    before: Any
    speed: Any
    first: Any
    tree_share: Any


@inline
def _impact_speed(contacts, before, k, c, bodies):
    """Speeds of row `k` of contact `c` before and after the impact, added."""
    a, b = contacts.a[c], contacts.b[c]
    v = sub(load_vec3(bodies.linear, b), load_vec3(bodies.linear, a))
    return before[k] + approach_speed(
        contacts, k, v, load_vec3(bodies.angular, a), load_vec3(bodies.angular, b)
    )


@kernel
def drop_restitution(count, tolerance, bodies, impulse, bounces_out, contacts_io):
    """Whether a solved set of contacts gains energy; then the targets of a second solve have no restitution.

    bodies: with the velocities that belong to `impulse`. tolerance: speeds that sweeps end with [m/s].
    """
    bounce, before, speed = bounces_out.bounce, bounces_out.before, bounces_out.speed
    work, given = 0.0, 0.0
    for c in range(count):
        if bounce[c] >= 0.0:
            for k in range(3 * c, 3 * c + 3):
                speed[k] = _impact_speed(contacts_io, before, k, c, bodies)
                work += 0.5 * impulse[k] * speed[k]
            # sweeps end with speeds that far off
            given += impulse[3 * c] * (GAIN * bounce[c] + tolerance)
    if work <= given:
        return False
    for k in range(3 * count):
        bounces_out.first[k] = impulse[k]
    for c in range(count):
        contacts_io.target[3 * c] -= max(bounce[c], 0.0)
    return True


@kernel
def blend_restitution(contacts, count, bounces, bodies_io, impulse_io):
    """Cut restitution down to what loses no energy, after a second solve; returns the share that is left."""
    bounce, before, speed, first = bounces.bounce, bounces.before, bounces.speed, bounces.first
    start, slope, bend = 0.0, 0.0, 0.0
    for c in range(count):
        if bounce[c] >= 0.0:
            for k in range(3 * c, 3 * c + 3):
                here = _impact_speed(contacts, before, k, c, bodies_io)
                more, faster = first[k] - impulse_io[k], speed[k] - here
                start += impulse_io[k] * here
                slope += impulse_io[k] * faster + more * here
                bend += more * faster
    share = most_restitution(start, slope, bend, max(start, 0.0))
    for k in range(3 * count):
        first[k] = share * (first[k] - impulse_io[k])
    warm_start(contacts, count, bodies_io, first)
    for k in range(3 * count):
        impulse_io[k] += first[k]
    return share
