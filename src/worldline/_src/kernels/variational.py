# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A variational integrator: the discrete Euler-Lagrange equations of the midpoint Lagrangian.

A step moves the coordinates from q0 to q1 = q0 + u, on orientations by the exponential. The action of
the step is h L(qm, u / h), the Lagrangian at the coordinates qm = q0 + u / 2 half way; a geodesic of the
joint has exactly the velocity u / h there. With p the momenta and F the impulse (h times the derivative of
L by the coordinates, and other forces) at the middle, its derivatives by q0 and q1 are the momenta

    p = J(u) p0 + 1/2 J(u/2) F,        p1 = exp(-u) p0 + exp(-u/2) F

where J, the right Jacobian of the exponential, and exp act on the body axes of orientations and are one
for other coordinates (Marsden and West 2001 for the principle; Lee, Liu, Park and Srinivasa 2016 for trees
in linear time). The left equation is solved for u by a quasi-Newton method whose matrix is M / h, with half
the damping and a quarter of the stiffness of the joints; the gyroscopic part, of order h, is learned on
the way by Anderson mixing. The right equation gives the momenta at the end.

The state between steps is q and the velocity v = M(q)^-1 p of the momentum, so that a step needs nothing
but q and v, and the map from (q, p) to (q1, p1) is symplectic. The discrete action has the symmetries of
free and ball joints at the root, so their momenta stay to the tolerance of the solver.

Forces of tendons, actuators, springs between bodies, joints between bodies and fluids depend on more than a
tree; they are evaluated half way before the equations are solved, and again where the solution leads, a few
times. A pass leaves h^2 k / (4 m) of the error of a stiffness k on a mass m, and h d / (2 m) of a damping d.

Contacts, limits and other constraint rows are solved at the start of the step by the solver of all families.
Their forces act on the step with a constant impulse P = h M(q0) da, where da is the acceleration they cause:
p0 + P / 2 takes the place of p0 in the left equation and p0 + P in the right one. Position and velocity
passes of hard rows are those of `kernels/constraints/contact/impacts.py`.
"""

from __future__ import annotations

from worldline._src.jit import inline, kernel
from worldline._src.kernels.drives import FORCE, VELOCITY
from worldline._src.kernels.joints import BALL, FREE
from worldline._src.scalar.ops import absolute, constant, maximum, where
from worldline._src.spatial.exponential import right_jacobian, turn_back
from worldline._src.spatial.vec3 import Vec3, add, cross, load_three, scale, store_three, sub

NOISE = 1e4
"""Corrections below this many tolerances that no longer shrink are rounding, not divergence."""
_NOT_A_NUMBER = float("nan")


@inline
def _turns(tree, i):
    """Whether the last three columns of a joint are an orientation."""
    return tree.link_kind[i] == BALL or tree.link_kind[i] == FREE


@kernel
def start_step(drive, a_given, h, v, start_out, move_out):
    """The displacement at the velocity of the start, or the given one; nothing is solved yet.

    Prescribed velocities change evenly over the step. start_out keeps the velocities.
    """
    for d in range(v.shape[0]):
        start_out.v_start[d] = v[d]
        # u = h v, or h v + h^2 a / 2 where the acceleration is given
        u = h * v[d]
        if drive.dof_drive[d] >= VELOCITY:
            u = u + 0.5 * (h * h) * a_given[d]
        move_out.displacement[d] = u
        move_out.impulse[d] = constant(0.0, u)
    move_out.solver_report[0] = constant(0.0, h)
    move_out.solver_report[1] = constant(1.0, h)
    move_out.solver_report[2] = constant(1e300, h)


@kernel
def yielding(drive, passive, h, extra_out):
    """What dampers and springs add to the inertia that a displacement meets, half and a quarter."""
    for d in range(extra_out.shape[0]):
        kd, ke = passive.dof_damping[d], passive.dof_stiffness[d]
        if drive.dof_drive[d] == FORCE:
            kd = kd + drive.dof_target_kd[d]
            ke = ke + drive.dof_target_ke[d]
        # midpoint rule: h kd / 2 + h^2 ke / 4
        extra_out[d] = h * (0.5 * kd + h * (0.25 * ke))


@kernel
def middle_velocities(displacement, h, v_out):
    """The velocity half way."""
    for d in range(v_out.shape[0]):
        v_out[d] = displacement[d] / h


@kernel
def level_rotors(tree, inertia, v, dof_f_io):
    """Armature on an orientation accelerates with its column and is not turned by the others.

    As part of the momenta it would be; w x (A w) takes that back. It does no work.
    """
    A = inertia.dof_armature
    for i in range(1, tree.link_kind.shape[0]):
        if _turns(tree, i):
            d = tree.link_v_end[i] - 3
            w = load_three(v, d)
            spin = Vec3(w.x * A[d], w.y * A[d + 1], w.z * A[d + 2])
            store_three(dof_f_io, d, add(load_three(dof_f_io, d), cross(w, spin)))


@kernel
def momentum_gap(tree, p_start, displacement, dof_p, dof_f, h, gap_out):
    """J(u) p0 + 1/2 J(u/2) F - p: what the displacement u leaves of the first equation."""
    for d in range(gap_out.shape[0]):
        # p0 + h f / 2 - p, where columns do not turn
        gap_out[d] = p_start[d] + 0.5 * h * dof_f[d] - dof_p[d]
    for i in range(1, tree.link_kind.shape[0]):
        if _turns(tree, i):
            d = tree.link_v_end[i] - 3
            u = load_three(displacement, d)
            F = scale(load_three(dof_f, d), 0.5 * h)
            # orientations: J_r(u) p0 + J_r(u / 2) h f / 2 - p
            passed = add(right_jacobian(u, load_three(p_start, d)), right_jacobian(scale(u, 0.5), F))
            store_three(gap_out, d, sub(passed, load_three(dof_p, d)))


@kernel
def measure(options, correction, dof_f, h, v, move_io):
    """Whether the equations are solved, from the velocity that their gap is worth.

    A world that is done keeps its impulse while others in its lanes go on.
    """
    report, impulse = move_io.solver_report, move_io.impulse
    tolerance = options[0]
    active = report[1] > 0.5
    size, fastest, finite = constant(0.0, h), constant(1.0, h), constant(0.0, h)
    for d in range(correction.shape[0]):
        size = maximum(size, absolute(correction[d]))
        # the larger of a number and none is the number; this sum is not fooled
        finite = finite + 0.0 * correction[d]
        fastest = maximum(fastest, absolute(v[d]))
        impulse[d] = where(active, h * dof_f[d], impulse[d])
    size = size / fastest + finite

    one, zero = constant(1.0, h), constant(0.0, h)
    missing = where(size <= tolerance, zero, one)
    stuck = where(size >= report[2], where(size <= NOISE * tolerance, one, zero), zero)
    report[0] = report[0] + where(active, one, zero)
    report[1] = where(active, where(stuck > 0.5, zero, missing), report[1])
    report[2] = where(active, size, report[2])


@inline
def solve_again(move_io):
    """The equations of the step are not solved any more."""
    h = move_io.solver_report[0]
    move_io.solver_report[1] = constant(1.0, h)
    move_io.solver_report[2] = constant(1e300, h)


@inline
def longest_step(v):
    """How far velocities may move in one iteration: half of the fastest, so that none runs away."""
    fastest = constant(1.0, v[0])
    for d in range(v.shape[0]):
        fastest = maximum(fastest, absolute(v[d]))
    return 0.5 * fastest


@kernel
def advance(active, step, h, displacement_io):
    """Move the displacement by a step of the velocity, in worlds that are not done."""
    moves = active > 0.5
    for d in range(step.shape[0]):
        displacement_io[d] = where(moves, displacement_io[d] + h * step[d], displacement_io[d])


@kernel
def end_momenta(tree, p_start, displacement, impulse, p_out):
    """exp(-u) p0 + exp(-u/2) F: the momenta at the end of the step."""
    for d in range(p_out.shape[0]):
        # p1 = p0 + h f
        p_out[d] = p_start[d] + impulse[d]
    for i in range(1, tree.link_kind.shape[0]):
        if _turns(tree, i):
            d = tree.link_v_end[i] - 3
            u = load_three(displacement, d)
            # p1 = exp(-u) p0 + exp(-u / 2) h f, in the body axes of the end
            F = turn_back(scale(u, 0.5), load_three(impulse, d))
            store_three(p_out, d, add(turn_back(u, load_three(p_start, d)), F))


@kernel
def add_momenta(p, share, p_io):
    """p_io += share p."""
    for d in range(p_io.shape[0]):
        p_io[d] = p_io[d] + share * p[d]


@kernel
def guess_velocities(inertia, drive, a_given, h, start, displacement, v_out):
    """Velocities to start from at the end of the step; those prescribed are already right."""
    for d in range(v_out.shape[0]):
        if drive.dof_drive[d] >= VELOCITY:
            v_out[d] = start.v_start[d] + h * a_given[d]
        elif inertia.dof_mobile[d] == 0.0:
            v_out[d] = start.v_start[d]
        else:
            v_out[d] = displacement[d] / h


@kernel
def end_velocities(h, start, correction, report, a_out, v_io):
    """Correct the velocities; a_out: the mean acceleration.

    Where the equations were not solved the velocities are not a number, so that the step is taken back.
    """
    nothing = where(report[1] > 0.5, constant(_NOT_A_NUMBER, h), constant(0.0, h))
    for d in range(v_io.shape[0]):
        v_io[d] = v_io[d] + correction[d] + nothing
        a_out[d] = (v_io[d] - start.v_start[d]) / h
