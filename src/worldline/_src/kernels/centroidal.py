# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Centre of mass, momentum and energy of everything in a world.

Trees have reference points of their own; sums over all links shift them to the world's origin, or to
the centre of mass when a momentum is wanted about it.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.links import center_of_mass, link_inertia, store_six
from worldline._src.kernels.velocities import classical_acceleration
from worldline._src.scalar.ops import constant, where
from worldline._src.spatial.inertia import load_inertia, load_sym3, momentum, sym_mul
from worldline._src.spatial.motion import Force, load_motion, velocity_at
from worldline._src.spatial.rotation import load_mat3, rotate_back
from worldline._src.spatial.vec3 import Vec3, add, cross, dot, load_vec3, scale, store_three, sub


@inline
def total_mass(inertia):
    """Mass of all links; 1 when there is none, so that it can divide."""
    m = 0.0
    for i in range(1, inertia.link_mass.shape[0]):
        m = m + inertia.link_mass[i]
    return where(m == 0.0, 1.0, m)


@inline
def mass_center(tree, inertia, pos):
    """Centre of mass of everything, world frame; the origin when nothing has mass."""
    zero = constant(0.0, pos.link_R[0, 0])
    h = Vec3(zero, zero, zero)
    for i in range(1, tree.link_root.shape[0]):
        # c = sum m_i c_i / sum m_i
        c = add(center_of_mass(inertia, pos, i), load_vec3(pos.link_origin, tree.link_root[i]))
        h = add(h, scale(c, inertia.link_mass[i]))
    return scale(h, 1.0 / total_mass(inertia))


@kernel
def com_position(tree, inertia, pos, result_out):
    """Centre of mass, world frame: 3 numbers."""
    store_three(result_out, 0, mass_center(tree, inertia, pos))


@kernel
def com_velocity(tree, inertia, pos, vel, result_out):
    """Velocity of the centre of mass, world axes: 3 numbers."""
    zero = constant(0.0, pos.link_R[0, 0])
    P = Vec3(zero, zero, zero)
    for i in range(1, tree.link_root.shape[0]):
        c = center_of_mass(inertia, pos, i)
        # v_c = sum m_i v(c_i) / sum m_i
        P = add(P, scale(velocity_at(load_motion(vel.link_V, i), c), inertia.link_mass[i]))
    store_three(result_out, 0, scale(P, 1.0 / total_mass(inertia)))


@kernel
def com_acceleration(tree, inertia, pos, vel, A, result_out):
    """Acceleration of the centre of mass, world axes: 3 numbers. Needs link accelerations."""
    zero = constant(0.0, pos.link_R[0, 0])
    F = Vec3(zero, zero, zero)
    for i in range(1, tree.link_root.shape[0]):
        c = center_of_mass(inertia, pos, i)
        # a_c = sum m_i a(c_i) / sum m_i
        a = classical_acceleration(load_motion(vel.link_V, i), load_motion(A, i), c)
        F = add(F, scale(a, inertia.link_mass[i]))
    store_three(result_out, 0, scale(F, 1.0 / total_mass(inertia)))


@kernel
def com_jacobian(dof, inertia, pos, crb, J_out):
    """Velocity of the centre of mass per unit of each velocity, (3, nv). Needs composites. O(n)."""
    inverse = 1.0 / total_mass(inertia)
    for d in range(dof.dof_link.shape[0]):
        I = load_inertia(crb, dof.dof_link[d])
        # column d: (I_c S_d)_lin / m, I_c the composite inertia of what d carries
        P = scale(momentum(I, load_motion(pos.dof_S, d)).lin, inverse)
        J_out[0, d] = P.x
        J_out[1, d] = P.y
        J_out[2, d] = P.z


@inline
def about(h, arm):
    """A momentum about a point that is at -arm from the one it is given about."""
    # L' = L + arm x P
    return Force(add(h.ang, cross(arm, h.lin)), h.lin)


@kernel
def total_momentum(tree, inertia, pos, vel, args, result_out):
    """Angular, then linear momentum; about the centre of mass, or the world's origin if args[0] is 1."""
    center = mass_center(tree, inertia, pos)
    if args[0] == 1:
        center = sub(center, center)
    zero = constant(0.0, center.x)
    L = Vec3(zero, zero, zero)
    P = Vec3(zero, zero, zero)
    for i in range(1, tree.link_root.shape[0]):
        # h = sum I_i V_i, shifted from the reference points of the trees to the common point
        h = momentum(link_inertia(inertia, pos, i), load_motion(vel.link_V, i))
        h = about(h, sub(load_vec3(pos.link_origin, tree.link_root[i]), center))
        L = add(L, h.ang)
        P = add(P, h.lin)
    store_six(result_out, 0, L, P)


@kernel
def centroidal_matrix(tree, dof, inertia, pos, crb, A_out):
    """Momentum about the centre of mass per unit of each velocity, (6, nv) [Orin and Goswami 2008].

    Needs composites. O(n).
    """
    center = mass_center(tree, inertia, pos)
    for d in range(dof.dof_link.shape[0]):
        i = dof.dof_link[d]
        # A_d = I_c S_d, shifted to the centre of mass
        h = momentum(load_inertia(crb, i), load_motion(pos.dof_S, d))
        h = about(h, sub(load_vec3(pos.link_origin, tree.link_root[i]), center))
        A_out[0, d] = h.ang.x
        A_out[1, d] = h.ang.y
        A_out[2, d] = h.ang.z
        A_out[3, d] = h.lin.x
        A_out[4, d] = h.lin.y
        A_out[5, d] = h.lin.z


@kernel
def kinetic_energy(tree, inertia, pos, vel, v, result_out):
    """Kinetic energy of all links and of the armature: 1 number [J]."""
    zero = constant(0.0, pos.link_R[0, 0])
    twice = zero
    for i in range(1, tree.link_root.shape[0]):
        # 2 T = sum w_B . I_B w_B + m |v(c)|^2, w_B in body axes
        V = load_motion(vel.link_V, i)
        w = rotate_back(load_mat3(pos.link_R, i), V.ang)
        u = velocity_at(V, center_of_mass(inertia, pos, i))
        twice = twice + dot(w, sym_mul(load_sym3(inertia.link_inertia, i), w))
        twice = twice + inertia.link_mass[i] * dot(u, u)
    for d in range(v.shape[0]):
        # armature: 2 T += sum a_d v_d^2
        twice = twice + inertia.dof_armature[d] * v[d] * v[d]
    result_out[0] = 0.5 * twice


@kernel
def gravity_energy(tree, inertia, pos, gravity, result_out):
    """Potential energy in the gravity field, zero at the world's origin: 1 number [J]."""
    g = Vec3(gravity[0], gravity[1], gravity[2])
    energy = constant(0.0, pos.link_R[0, 0])
    for i in range(1, tree.link_root.shape[0]):
        # U = -sum m_i g . c_i
        c = add(center_of_mass(inertia, pos, i), load_vec3(pos.link_origin, tree.link_root[i]))
        energy = energy - inertia.link_mass[i] * dot(g, c)
    result_out[0] = energy
