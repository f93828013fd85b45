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
from worldline._src.kernels.constraints.jams import solve_contacts
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
def limit_body_restitution(contacts, count, limits, bounces, conjugate, solved_io, impulse_io):
    """Cut restitution down in a solved set of contacts that gains energy.

    Returns the share that is left, and the largest change of a velocity in the last sweep, 0 when there was
    none. limits, conjugate: of `solve_contacts`. solved_io: bodies with the velocities that belong to
    impulse_io, and (1,) sweeps taken, which those of a second solve are added to.
    """
    bodies, taken = solved_io
    bounce, before, speed, first = bounces.bounce, bounces.before, bounces.speed, bounces.first
    work, given = 0.0, 0.0
    for c in range(count):
        if bounce[c] >= 0.0:
            for k in range(3 * c, 3 * c + 3):
                speed[k] = _impact_speed(contacts, before, k, c, bodies)
                work += 0.5 * impulse_io[k] * speed[k]
            # sweeps end with speeds that far off
            given += impulse_io[3 * c] * (GAIN * bounce[c] + limits[0])
    if work <= given:
        return 1.0, 0.0
    for k in range(3 * count):
        first[k] = impulse_io[k]
    for c in range(count):
        contacts.target[3 * c] -= max(bounce[c], 0.0)
    so_far = taken[0]
    moved = solve_contacts(contacts, count, limits, conjugate, taken, bodies, impulse_io)
    taken[0] = max(taken[0], so_far)

    start, slope, bend = 0.0, 0.0, 0.0
    for c in range(count):
        if bounce[c] >= 0.0:
            for k in range(3 * c, 3 * c + 3):
                here = _impact_speed(contacts, before, k, c, bodies)
                more, faster = first[k] - impulse_io[k], speed[k] - here
                start += impulse_io[k] * here
                slope += impulse_io[k] * faster + more * here
                bend += more * faster
    share = most_restitution(start, slope, bend, max(start, 0.0))
    for k in range(3 * count):
        first[k] = share * (first[k] - impulse_io[k])
    warm_start(contacts, count, bodies, first)
    for k in range(3 * count):
        impulse_io[k] += first[k]
    return share, moved
