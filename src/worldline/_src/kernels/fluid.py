# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Drag of a still or windy fluid on bodies, each seen as the box that has its inertia.

Viscous drag is that of a sphere of the box's mean width; the drag of density acts on every side of the box by
the square of its speed, and by the square of the turning speed as a torque.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.links import center_of_mass
from worldline._src.scalar.ops import absolute
from worldline._src.spatial.motion import (
    Force,
    add_to_force,
    load_motion,
    velocity_at,
)
from worldline._src.spatial.rotation import load_mat3, load_rotation, mat_mul, rotate, rotate_back
from worldline._src.spatial.vec3 import Vec3, cross, scale, sub

_PI = 3.141592653589793


@inline
def _drag(density, area, v):
    # f = -1/2 rho A |v| v
    return -0.5 * density * area * absolute(v) * v


@inline
def _spin_drag(density, size, across, along, w):
    # t = -rho s (a^4 + b^4) |w| w / 64, about the side s, with sides a and b across
    return -density * size * (across**4 + along**4) * absolute(w) * w * (1.0 / 64.0)


@kernel
def fluid_forces(inertia, pos, link_V, fluid_io, link_F_io):
    """Take the drag off link_F, which holds minus the external forces. O(n).

    fluid_box: width of the box of every link (3), then its axes in the link (9); zero where there is none.
    """
    box, option, kept = fluid_io.fluid_box, fluid_io.fluid_option, fluid_io.fluid_force
    density, viscosity = option[0], option[1]
    wind = Vec3(option[2], option[3], option[4])
    for i in range(1, box.shape[0]):
        x, y, z = box[i, 0], box[i, 1], box[i, 2]
        if x + y + z == 0.0:
            continue
        # twist of the box in its own axes, relative to the wind: w = R^T w_W, v = R^T (v_c - u)
        R = mat_mul(load_mat3(pos.link_R, i), load_rotation(box, i))
        c, V = center_of_mass(inertia, pos, i), load_motion(link_V, i)
        w, v = rotate_back(R, V.ang), rotate_back(R, sub(velocity_at(V, c), wind))
        # Stokes, of a sphere of the mean width d: f = -3 pi d mu v, t = -pi d^3 mu w
        width = (x + y + z) / 3.0
        drag, spin = 3.0 * _PI * width * viscosity, _PI * width**3 * viscosity
        f = Vec3(
            _drag(density, y * z, v.x) - drag * v.x,
            _drag(density, x * z, v.y) - drag * v.y,
            _drag(density, x * y, v.z) - drag * v.z,
        )
        t = Vec3(
            _spin_drag(density, x, y, z, w.x) - spin * w.x,
            _spin_drag(density, y, x, z, w.y) - spin * w.y,
            _spin_drag(density, z, x, y, w.z) - spin * w.z,
        )
        # to world axes, and about the reference point of the tree: F = (t + c x f, f)
        f, t = rotate(R, f), rotate(R, t)
        kept[i, 0], kept[i, 1], kept[i, 2] = f.x, f.y, f.z
        kept[i, 3], kept[i, 4], kept[i, 5] = t.x, t.y, t.z
        m = cross(c, f)
        F = Force(Vec3(-t.x - m.x, -t.y - m.y, -t.z - m.z), scale(f, -1.0))
        add_to_force(link_F_io, i, F)
