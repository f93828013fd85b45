# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every quantity of random trees against Pinocchio.

Pinocchio gives a free joint a body-axes linear velocity, its planar joint velocities in the moved axes,
and stores a planar angle as a point on the circle; `Twin` converts. Joints it has no name for are built
as its composite of single axes.
"""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from trees import random_inertia, random_pose
from worldline.model import JointDofConfig, JointType, ModelBuilder

pin = pytest.importorskip("pinocchio", reason="Pinocchio (package pin) is the yardstick of these tests")

KINDS = "revolute prismatic ball fixed free screw universal planar euler_zyx translational composite cable".split()
TOLERANCE = 1e-9
WELL_POSED = 1e6


def se3(pose):
    return pin.XYZQUATToSE3(np.asarray(pose))


class Twin:
    """The same random tree in both libraries."""

    def __init__(self, rng, links, floating):
        self.builder = ModelBuilder(gravity=rng.normal(size=3) * 5.0)
        self.pin = pin.Model()
        self.pin.gravity.linear = self.builder.gravity
        self.places = []  # (Pinocchio joint, pose of the body in it), by link
        joints, armature = [], []
        for i in range(links):
            kind = KINDS[int(rng.integers(len(KINDS)))]
            if i == 0:
                kind = "free" if floating else "revolute"
            elif kind == "free" and rng.uniform() < 0.7:
                kind = "revolute"
            # depth first, as Pinocchio's mass matrix needs it: go on from the last link or branch off its path
            parent = i - 1
            while parent > 0 and rng.uniform() < 0.25:
                parent = self.builder.joints[parent].parent
            joints.append(self._add(rng, kind, parent, armature))
        self.builder.add_articulation(joints)
        self.model = self.builder.finalize()
        self.model.update(joint_armature=np.array(armature))
        self.pin.armature = np.array(armature)
        self.data = self.pin.createData()
        self.frames = [
            self.pin.addFrame(pin.Frame(f"body{i}", joint, place, pin.FrameType.OP_FRAME))
            for i, (joint, place) in enumerate(self.places)
        ]
        self.data = self.pin.createData()

    def _add(self, rng, kind, parent, armature):
        mass = rng.uniform(0.5, 2.0)
        com, inertia = rng.uniform(-0.1, 0.1, 3), random_inertia(rng, mass)
        link = self.builder.add_link(mass=mass, com=com, inertia=inertia)
        X_p, X_c = random_pose(rng), random_pose(rng)
        frames = {"parent": parent, "child": link, "parent_xform": X_p, "child_xform": X_c}
        joint, theirs = self._joint(rng, kind, frames)
        base, place = self.places[parent] if parent >= 0 else (0, pin.SE3.Identity())
        place = place * se3(X_p)
        if theirs is None:
            self.places.append((base, place * se3(X_c).inverse()))
        else:
            number = self.pin.addJoint(base, theirs, place, f"joint{link}")
            self.places.append((number, se3(X_c).inverse()))
        number, place = self.places[-1]
        self.pin.appendBodyToJoint(number, pin.Inertia(mass, com, inertia), place)
        n = self.builder.joints[joint].velocities
        plain = kind not in ("free", "planar", "ball")
        armature += [rng.uniform(0.0, 0.1) if plain else 0.0 for _ in range(n)]
        return joint

    def _joint(self, rng, kind, frames):
        b = self.builder
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        turn = turn if np.linalg.det(turn) > 0 else -turn
        a, c, d = turn.T
        if kind == "revolute":
            return b.add_joint_revolute(axis=a, **frames), pin.JointModelRevoluteUnaligned(a)
        if kind == "prismatic":
            return b.add_joint_prismatic(axis=a, **frames), pin.JointModelPrismaticUnaligned(a)
        if kind == "ball":
            return b.add_joint_ball(**frames), pin.JointModelSpherical()
        if kind == "fixed":
            return b.add_joint_fixed(**frames), None
        if kind == "free":
            return b.add_joint_free(frames.pop("child"), **frames), pin.JointModelFreeFlyer()
        if kind == "screw":
            pitch = rng.uniform(0.05, 0.3)
            return b.add_joint_screw(axis=a, pitch=pitch, **frames), pin.JointModelHelicalUnaligned(a, pitch)
        if kind == "universal":
            return b.add_joint_universal(axis=a, axis2=c, **frames), pin.JointModelUniversal(a, c)
        if kind == "planar":
            return b.add_joint_planar(**frames), pin.JointModelPlanar()
        if kind == "euler_zyx":
            return b.add_joint_euler(order="zyx", **frames), pin.JointModelSphericalZYX()
        if kind == "translational":
            return b.add_joint_translational(**frames), pin.JointModelTranslation()
        composite = pin.JointModelComposite()
        if kind == "cable":
            composite.addJoint(pin.JointModelPrismaticUnaligned(a))
            composite.addJoint(pin.JointModelRevoluteUnaligned(c))
            return b.add_joint_cable(axis=a, bend_axis=c, **frames), composite
        slides = [a, c, d][: int(rng.integers(0, 4))]
        turns = [d, a, c][: int(rng.integers(1, 4))]
        for axis in slides:
            composite.addJoint(pin.JointModelPrismaticUnaligned(axis))
        for axis in turns:
            composite.addJoint(pin.JointModelRevoluteUnaligned(axis))
        ours = b.add_joint_d6(
            linear_axes=[JointDofConfig(axis=x) for x in slides],
            angular_axes=[JointDofConfig(axis=x) for x in turns],
            **frames,
        )
        return ours, composite

    def convert(self, q, v):
        """Pinocchio's coordinates, and T, dT/dt of its velocities T v."""
        m = self.model
        out, n = [], m.joint_dof_count
        T, dT = np.eye(n), np.zeros((n, n))
        for j in range(m.joint_count):
            x = q[m.joint_q_start[j] : m.joint_q_start[j + 1]]
            d = int(m.joint_qd_start[j])
            kind = JointType(m.joint_type[j])
            if kind == JointType.FREE:
                R = pin.Quaternion(x[3:]).toRotationMatrix()
                T[d : d + 3, d : d + 3] = R.T
                dT[d : d + 3, d : d + 3] = -pin.skew(v[d + 3 : d + 6]) @ R.T
            if kind == JointType.PLANAR:
                c, s, w = np.cos(x[2]), np.sin(x[2]), v[d + 2]
                T[d : d + 2, d : d + 2] = [[c, s], [-s, c]]
                dT[d : d + 2, d : d + 2] = w * np.array([[-s, c], [-c, -s]])
                x = np.array([x[0], x[1], c, s])
            out.append(x)
        return np.concatenate([*out, np.zeros(0)]), T, dT


def close(ours, theirs, what):
    scale = max(1.0, float(np.abs(theirs).max(initial=0.0)))
    error = float(np.abs(ours - theirs).max(initial=0.0)) / scale
    assert error < TOLERANCE, f"{what}: {error:.1e}"


def exact_solve(M, rhs):
    """M^-1 rhs, refined with residuals in long double until nothing of the condition is left."""
    wide, y = M.astype(np.longdouble), np.linalg.solve(M, rhs).astype(np.longdouble)
    for _ in range(4):
        y = y + np.linalg.solve(M, (rhs - wide @ y).astype(np.float64))
    return y.astype(np.float64)


def turned(x):
    """Linear-first rows as angular-first rows."""
    return np.concatenate([x[3:], x[:3]])


def well_posed_twin(rng, links, floating):
    """A random tree and a configuration of it that is well posed.

    What M^-1 loses to a bad condition is lost in any library: stay away from gimbal lock and the like.
    """
    while True:
        twin = Twin(rng, links, floating)
        q = wm.random_configuration(twin.model, rng, worlds=8)
        good = np.flatnonzero(np.linalg.cond(wm.mass_matrix(twin.model, q)) < WELL_POSED)
        if good.size:
            return twin, q[good[0]].copy()


def check(rng, links, floating):
    twin, q = well_posed_twin(rng, links, floating)
    m, P, data = twin.model, twin.pin, twin.data
    n = m.joint_dof_count
    v, a, u = rng.normal(size=(3, n))
    x, T, dT = twin.convert(q, v)
    V, A = T @ v, T @ a + dT @ v
    point = rng.uniform(-0.3, 0.3, 3)
    axes = pin.LOCAL_WORLD_ALIGNED

    # kinematics
    poses, speeds = wm.forward_kinematics(m, q), wm.link_velocities(m, q, v)
    rates = wm.link_accelerations(m, q, v, a)
    pin.forwardKinematics(P, data, x, V, A)
    pin.updateFramePlacements(P, data)
    for i, f in enumerate(twin.frames):
        close(se3(poses[i]).homogeneous, data.oMf[f].homogeneous, "pose")
        close(speeds[i], turned(pin.getFrameVelocity(P, data, f, axes).vector), "velocity")
        close(rates[i], turned(pin.getFrameClassicalAcceleration(P, data, f, axes).vector), "acceleration")

    # Jacobians of a point of some links, and their rates
    pin.computeJointJacobians(P, data, x)
    pin.forwardKinematics(P, data, x, V, dT @ v)
    for i in rng.integers(links, size=2):
        joint, place = twin.places[i]
        spot = P.addFrame(
            pin.Frame(f"spot{P.nframes}", joint, place * pin.SE3(np.eye(3), point), pin.FrameType.OP_FRAME)
        )
        fresh = P.createData()
        J = pin.computeFrameJacobian(P, fresh, x, spot, axes).reshape(6, -1) @ T
        close(wm.jacobian(m, q, int(i), point), turned(J), "jacobian")
        local = pin.computeFrameJacobian(P, fresh, x, spot, pin.LOCAL).reshape(6, -1) @ T
        close(wm.jacobian(m, q, int(i), point, axes="link"), turned(local), "jacobian in link axes")
        pin.forwardKinematics(P, fresh, x, V, dT @ v)
        bias = pin.getFrameClassicalAcceleration(P, fresh, spot, axes)
        close(wm.jacobian_dot_times_v(m, q, v, int(i), point), turned(bias.vector), "jacobian_dot_times_v")
        own = pin.getFrameClassicalAcceleration(P, fresh, spot, pin.LOCAL)
        close(
            wm.jacobian_dot_times_v(m, q, v, int(i), point, axes="link"),
            turned(own.vector),
            "same, link axes",
        )
    data = P.createData()

    # inverse dynamics and its parts
    wrenches = rng.normal(size=(links, 6))
    external = pin.StdVec_Force()
    external.extend([pin.Force.Zero() for _ in range(P.njoints)])
    for i, (joint, place) in enumerate(twin.places):
        R = se3(poses[i]).rotation.T
        local = pin.Force(R @ wrenches[i, 3:], R @ wrenches[i, :3])
        external[joint] += place.act(local)
    close(wm.inverse_dynamics(m, q, v, a), T.T @ pin.rnea(P, data, x, V, A), "inverse dynamics")
    tau = T.T @ pin.rnea(P, data, x, V, A, external)
    close(wm.inverse_dynamics(m, q, v, a, wrenches=wrenches), tau, "inverse dynamics with wrenches")
    M = pin.crba(P, data, x)
    M = np.triu(M) + np.triu(M, 1).T
    bias = pin.rnea(P, data, x, V, dT @ v)
    close(wm.bias_forces(m, q, v), T.T @ bias, "bias forces")
    gravity = pin.computeGeneralizedGravity(P, data, x)
    close(wm.gravity_forces(m, q), T.T @ gravity, "gravity forces")
    close(wm.coriolis_forces(m, q, v), T.T @ (bias - gravity), "coriolis forces")

    # mass matrix and forward dynamics
    close(wm.mass_matrix(m, q), T.T @ M @ T, "mass matrix")
    # the inverse of Pinocchio's M, not its computeMinverse: against long double that one is off by up to
    # 1e-8 on deep trees, where ours and LAPACK's are off by 1e-12
    back = np.linalg.inv(T)
    M_ours = T.T @ M @ T
    columns = rng.integers(n, size=4)
    exact = exact_solve(M_ours, np.eye(n)[:, columns])
    close(wm.mass_matrix_inverse(m, q)[:, columns], exact, "inverse mass matrix")
    close(wm.solve_mass_matrix(m, q, u), exact_solve(M_ours, u), "solve")
    close(wm.impulse_response(m, q, u), exact_solve(M_ours, u), "impulse response")
    # likewise Pinocchio's forward dynamics is taken where it keeps its digits
    fall = wm.forward_dynamics(m, q, v, u)
    pushed = wm.forward_dynamics(m, q, v, u, wrenches=wrenches)
    close(fall, exact_solve(M_ours, u - T.T @ bias), "forward dynamics")
    hold = T.T @ pin.rnea(P, data, x, V, dT @ v, external)
    close(pushed, exact_solve(M_ours, u - hold), "forward dynamics with wrenches")
    if np.linalg.cond(M) < 1e4:
        close(fall, back @ (pin.aba(P, data, x, V, back.T @ u) - dT @ v), "articulated bodies")
        theirs = pin.aba(P, data, x, V, back.T @ u, external)
        close(pushed, back @ (theirs - dT @ v), "articulated bodies with wrenches")

    # centre of mass, momentum, energy
    pin.centerOfMass(P, data, x, V, A)
    close(wm.center_of_mass(m, q), data.com[0], "centre of mass")
    close(wm.center_of_mass_velocity(m, q, v), data.vcom[0], "its velocity")
    close(wm.center_of_mass_acceleration(m, q, v, a), data.acom[0], "its acceleration")
    close(
        wm.center_of_mass_jacobian(m, q),
        pin.jacobianCenterOfMass(P, data, x).reshape(3, -1) @ T,
        "its Jacobian",
    )
    h = turned(pin.computeCentroidalMomentum(P, data, x, V).vector)
    close(wm.momentum(m, q, v), h, "momentum")
    at_origin = np.r_[h[:3] + np.cross(data.com[0], h[3:]), h[3:]]
    close(wm.momentum(m, q, v, about="origin"), at_origin, "momentum about the origin")
    Ag = turned(pin.computeCentroidalMap(P, data, x).reshape(6, -1)) @ T
    close(wm.centroidal_momentum_matrix(m, q), Ag, "centroidal momentum matrix")
    close(wm.kinetic_energy(m, q, v), 0.5 * V @ M @ V, "kinetic energy")
    close(wm.potential_energy(m, q), pin.computePotentialEnergy(P, data, x), "potential energy")


@pytest.mark.parametrize("seed", range(20))
def test_trees_of_every_shared_joint(seed):
    rng = np.random.default_rng(1000 + seed)
    for k in range(10):
        check(rng, int(rng.integers(1, 61)), floating=k % 2 == 0)


def test_configuration_space_of_balls_and_axes():
    """Joints whose manifold is the same in both libraries."""
    rng = np.random.default_rng(7)
    b, P = ModelBuilder(), pin.Model()
    joints, parent = [], 0
    for i, kind in enumerate(["revolute", "ball", "prismatic", "ball"]):
        link = b.add_link(mass=1.0, inertia=np.eye(3))
        joints.append(getattr(b, f"add_joint_{kind}")(i - 1, link))
        theirs = {
            "revolute": pin.JointModelRX,
            "ball": pin.JointModelSpherical,
            "prismatic": pin.JointModelPX,
        }
        parent = P.addJoint(parent, theirs[kind](), pin.SE3.Identity(), f"joint{i}")
    b.add_articulation(joints)
    model = b.finalize()
    for _ in range(50):
        q0, q1 = wm.random_configuration(model, rng), wm.random_configuration(model, rng)
        v = rng.normal(size=model.joint_dof_count)
        close(wm.integrate(model, q0, v), pin.integrate(P, q0, v), "integrate")
        close(wm.difference(model, q0, q1), pin.difference(P, q0, q1), "difference")
        ours, theirs = wm.interpolate(model, q0, q1, 0.3), pin.interpolate(P, q0, q1, 0.3)
        # a quaternion and its negative are one rotation
        close(wm.difference(model, ours, theirs), np.zeros(model.joint_dof_count), "interpolate")
