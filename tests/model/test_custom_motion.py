# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""CUSTOM joints of a Model against other joint types, finite differences, Lagrange's equations and MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import worldline.model as wm
from worldline._src.jit import DISABLED
from worldline._src.model.compile import constant_views
from worldline._src.model.joint_kinds import custom_pose
from worldline.model import JointType, ModelBuilder
from worldline.msd import CoordinateFunction, MotionAxis

F, TURN, SLIDE = CoordinateFunction, MotionAxis.turn, MotionAxis.slide
FRAMES = {
    "parent_xform": (0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.9),
    "child_xform": (0.0, 0.1, 0.2, 0.0, 0.2, 0.3, 0.9),
}
KNOTS, VALUES = [-1.0, -0.2, 0.5, 1.3], [0.1, 0.3, 0.2, 0.5]
RICH = [
    TURN((1, 0, 0.2), F.polynomial([0.1, 1.0, 0.3, -0.1], 0)),
    SLIDE((0, 1, 0), F.spline(KNOTS, VALUES, 1), (F.polynomial([0, 1, 0.4], 0), F.polynomial([0.2, 0.3], 1))),
    TURN((0, 1, 0.2), F.linear(0.7, 0.1, 1), F.linear(0.2, 0.0, 0)),
    SLIDE((1, 0, 1), F.polynomial([0, 0, 0.2, 0.1], 2)),
    TURN((0.3, 0.1, 1), F.linear(coordinate=2)),
]
"""Turns and slides in mixed order, with polynomials, a spline, sums and a product of three coordinates."""


def chain(*joints) -> wm.Model:
    """Links one on another by joints given as functions of builder, parent and child."""
    builder = ModelBuilder()
    parent, made = -1, []
    for k, add in enumerate(joints):
        child = builder.add_link(mass=1.0 + k, com=(0.1, 0.05, -0.4), inertia=np.diag([0.1, 0.2, 0.15]))
        made.append(add(builder, parent, child))
        parent = child
    builder.add_articulation(made)
    return builder.finalize()


def custom(motion, **options):
    return lambda builder, parent, child: builder.add_joint_custom(parent, child, motion, **FRAMES, **options)


def other(name, **options):
    return lambda builder, parent, child: getattr(builder, f"add_joint_{name}")(
        parent, child, **FRAMES, **options
    )


IMITATIONS = {
    "hinge": ([TURN((0, 2, 1), F.linear())], other("revolute", axis=(0, 2, 1))),
    "slide": ([SLIDE((1, 2, 1), F.linear())], other("prismatic", axis=(1, 2, 1))),
    "screw": (
        [TURN((0, 0, 1), F.linear()), SLIDE((0, 0, 1), F.linear(0.3))],
        other("screw", axis=(0, 0, 1), pitch=0.3),
    ),
    "universal": (
        [TURN((1, 0, 0), F.linear(coordinate=0)), TURN((0, 1, 0.2), F.linear(coordinate=1))],
        other("universal", axis=(1, 0, 0), axis2=(0, 1, 0.2)),
    ),
    "planar": (
        [
            SLIDE((1, 0, 0), F.linear(coordinate=0)),
            SLIDE((0, 1, 0), F.linear(coordinate=1)),
            TURN((0, 0, 1), F.linear(coordinate=2)),
        ],
        other("planar", axis=(0, 0, 1), axis2=(1, 0, 0)),
    ),
    "euler": (
        [TURN(np.eye(3)["xyz".index(c)], F.linear(coordinate=k)) for k, c in enumerate("zyx")],
        other("euler", order="zyx"),
    ),
}


def state(model, seed=0, size=0.7):
    rng = np.random.default_rng(seed)
    n = model.joint_dof_count
    return size * rng.normal(size=(3, n))


@pytest.mark.parametrize("name", IMITATIONS)
def test_a_custom_joint_imitates_other_types(name):
    motion, wanted = IMITATIONS[name]
    a, b = chain(custom(motion), custom(motion)), chain(wanted, wanted)
    q, v, x = state(a)
    for call in (
        lambda m: wm.forward_kinematics(m, q),
        lambda m: wm.link_velocities(m, q, v),
        lambda m: wm.link_accelerations(m, q, v, x),
        lambda m: wm.jacobian(m, q, 1, (0.1, 0.2, 0.3)),
        lambda m: wm.jacobian_derivative(m, q, v, 1, (0.1, 0.2, 0.3)),
        lambda m: wm.jacobian_dot_times_v(m, q, v, 1),
        lambda m: wm.mass_matrix(m, q),
        lambda m: wm.inverse_dynamics(m, q, v, x),
        lambda m: wm.forward_dynamics(m, q, v, x),
        lambda m: wm.kinetic_energy(m, q, v),
        lambda m: wm.integrate(m, q, v),
        lambda m: wm.difference(m, q, v),
    ):
        assert np.allclose(call(a), call(b), rtol=0.0, atol=1e-12)


def test_a_slide_after_a_turn_of_a_root_keeps_the_axis_of_the_turn_in_place():
    # the reference point of a root is where its motion ends
    motion = [TURN((0, 1, 0), F.linear(coordinate=0)), SLIDE((1, 0, 0), F.linear(coordinate=1))]
    stretched, hinge = chain(custom(motion)), chain(other("revolute", axis=(0, 1, 0)))
    assert np.allclose(
        wm.jacobian(stretched, [0.4, 0.0], 0)[:, 0], wm.jacobian(hinge, [0.4], 0)[:, 0], atol=1e-13
    )
    away = wm.jacobian(stretched, [0.4, 2.0], 0)
    assert np.allclose(np.linalg.norm(away[3:, 0] - wm.jacobian(hinge, [0.4], 0)[3:, 0]), 2.0, atol=1e-13)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_columns_and_their_rates_are_derivatives_of_poses(count):
    model = chain(*[custom(RICH)] * count)
    q, v, _ = state(model, count)
    e, link, point = 1e-6, count - 1, (0.2, -0.1, 0.3)

    def pose(q):
        X = wm.forward_kinematics(model, q)[link]
        x, y, z, w = X[3:]
        R = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        return X[:3] + R @ point, R

    J = wm.jacobian(model, q, link, point)
    for d, unit in enumerate(np.eye(len(q))):
        (p1, R1), (p0, R0) = pose(q + e * unit), pose(q - e * unit)
        W = (R1 - R0) @ pose(q)[1].T / (2 * e)
        assert np.allclose(J[3:, d], (p1 - p0) / (2 * e), atol=1e-8)
        assert np.allclose(J[:3, d], [W[2, 1], W[0, 2], W[1, 0]], atol=1e-8)
    before, after = (wm.jacobian(model, q + s * e * v, link, point) for s in (-1.0, 1.0))
    rate = wm.jacobian_derivative(model, q, v, link, point)
    assert np.allclose(rate, (after - before) / (2 * e), atol=1e-7)
    assert np.allclose(rate @ v, wm.jacobian_dot_times_v(model, q, v, link, point), atol=1e-12)


def test_dynamics_are_lagranges_equations():
    model = chain(custom(RICH, armature=0.1), custom(RICH[:3]))
    q, v, a = state(model, 4)
    n, e = len(q), 1e-6

    def slope(f):
        return np.array([(np.asarray(f(q + e * x)) - np.asarray(f(q - e * x))) / (2 * e) for x in np.eye(n)])

    M = wm.mass_matrix(model, q)
    dM = slope(lambda q: wm.mass_matrix(model, q))
    dU = slope(lambda q: wm.potential_energy(model, q)).reshape(n)
    tau = M @ a + np.einsum("kij,k,j->i", dM, v, v) - 0.5 * np.einsum("kij,i,j->k", dM, v, v) + dU
    assert np.allclose(wm.inverse_dynamics(model, q, v, a), tau, atol=1e-7)
    assert np.allclose(wm.forward_dynamics(model, q, v, tau), a, atol=1e-6)


def test_a_spline_is_natural_and_goes_on_along_its_tangents():
    wanted = CubicSpline(KNOTS, VALUES, bc_type="natural")
    motion = [SLIDE((1, 0, 0), F.spline(KNOTS, VALUES))]
    model = chain(lambda b, p, c: b.add_joint_custom(p, c, motion))
    for q in np.linspace(-1.0, 1.3, 29):
        assert wm.forward_kinematics(model, [q])[0, 0] == pytest.approx(float(wanted(q)), abs=1e-14)
        assert wm.jacobian(model, [q], 0)[3, 0] == pytest.approx(float(wanted(q, 1)), abs=1e-13)
        bow = wm.jacobian_dot_times_v(model, [q], [1.0], 0)[3]
        assert bow == pytest.approx(float(wanted(q, 2)), abs=1e-12)
    for end, beyond in ((-1.0, -3.0), (1.3, 4.0)):
        value = float(wanted(end) + wanted(end, 1) * (beyond - end))
        assert wm.forward_kinematics(model, [beyond])[0, 0] == pytest.approx(value, abs=1e-13)
        assert wm.jacobian_dot_times_v(model, [beyond], [1.0], 0)[3] == pytest.approx(0.0, abs=1e-12)
        assert custom_pose(motion, [beyond])[0] == pytest.approx(value, abs=1e-13)


KNEE = [
    TURN((0, 1, 0), F.linear()),
    SLIDE((1, 0, 0), F.polynomial([0.01, -0.02, 0.03, 0.01])),
    SLIDE((0, 0, 1), F.spline([-2.0, -1.0, 0.0, 0.5], [0.02, 0.01, 0.0, 0.01])),
]


def test_a_coupled_knee_is_mujocos_chain_projected_on_the_coupling():
    """theta = f(q): M = G^T M_theta G, tau = G^T (M_theta (G a + dG/dt v) + bias) with MuJoCo's chain."""
    text = """
    <mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
      <body name="shank" pos="0.1 0.2 0.3">
        <inertial pos="0.02 0.03 -0.25" mass="3" fullinertia="0.05 0.04 0.02 0.001 0.002 0.003"/>
        <joint type="hinge" axis="0 1 0"/><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
      </body></worldbody></mujoco>"""
    sim = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(sim)
    builder = ModelBuilder()
    inertia = [[0.05, 0.001, 0.002], [0.001, 0.04, 0.003], [0.002, 0.003, 0.02]]
    shank = builder.add_link(mass=3.0, com=(0.02, 0.03, -0.25), inertia=inertia)
    knee = builder.add_joint_custom(-1, shank, KNEE, parent_xform=(0.1, 0.2, 0.3, 0, 0, 0, 1))
    builder.add_articulation([knee])
    model = builder.finalize()
    slide = np.polynomial.Polynomial([0.01, -0.02, 0.03, 0.01])
    roll = CubicSpline([-2.0, -1.0, 0.0, 0.5], [0.02, 0.01, 0.0, 0.01], bc_type="natural")
    for q, v, a in np.random.default_rng(3).uniform(-1.5, 0.5, (5, 3)):
        G = np.array([1.0, slide.deriv()(q), roll(q, 1)])
        rate = v * v * np.array([0.0, slide.deriv(2)(q), roll(q, 2)])
        data.qpos[:], data.qvel[:] = (q, slide(q), roll(q)), G * v
        mujoco.mj_forward(sim, data)
        M = np.zeros((3, 3))
        mujoco.mj_fullM(sim, data, M)
        assert wm.mass_matrix(model, [q])[0, 0] == pytest.approx(G @ M @ G, abs=1e-12)
        wanted = G @ (M @ (G * a + rate) + data.qfrc_bias)
        assert wm.inverse_dynamics(model, [q], [v], [a])[0] == pytest.approx(wanted, abs=1e-11)
        assert np.allclose(wm.forward_kinematics(model, [q])[0, :3], data.xpos[1], atol=1e-13)


@pytest.mark.skipif(DISABLED, reason="dual numbers need the compiler")
def test_derivatives_are_those_of_finite_differences():
    model = chain(custom(RICH))
    q, v, a = state(model, 5)
    e, n = 1e-6, len(q)
    found = wm.inverse_dynamics_derivatives(model, q, v, a)
    for d, x in enumerate(np.eye(n)):
        plus, minus = (wm.inverse_dynamics(model, q + s * e * x, v, a) for s in (1.0, -1.0))
        assert np.allclose(found.dtau_dq[:, d], (plus - minus) / (2 * e), atol=1e-6)
        plus, minus = (wm.inverse_dynamics(model, q, v + s * e * x, a) for s in (1.0, -1.0))
        assert np.allclose(found.dtau_dqd[:, d], (plus - minus) / (2 * e), atol=1e-6)


@pytest.mark.skipif(DISABLED, reason="lanes need the compiler")
def test_worlds_in_lanes_have_the_bits_of_one():
    model = chain(custom(RICH), other("revolute", axis=(0, 1, 0)))
    rng = np.random.default_rng(6)
    q, v, x = rng.normal(size=(3, 13, model.joint_dof_count))
    alone = np.array([wm.forward_dynamics(model, *row) for row in zip(q, v, x, strict=True)])
    assert np.array_equal(wm.forward_dynamics(model, q, v, x), alone)
    poses = np.array([wm.forward_kinematics(model, row) for row in q])
    assert np.array_equal(wm.forward_kinematics(model, q), poses)


def test_sequences_of_plain_axes_do_not_bend():
    model = chain(custom(IMITATIONS["planar"][0]))
    assert model.joint_type.tolist() == [JointType.CUSTOM]
    view = constant_views(model.arenas)
    assert view["link_bend"].tolist() == [-1, 0] and view["dof_block"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("motion", "words"),
    [
        ([], "0 axes"),
        ([TURN((0, 0, 1), F.linear())] * 7, "7 axes"),
        ([TURN((0, 0, 0), F.linear())], "a zero axis"),
        ([TURN((0, 0, 1), F.linear(coordinate=1))], "no function of coordinate 0"),
        ([TURN((0, 0, 1))], "no function of coordinate 0"),
        ([TURN((0, 0, 1), F.linear(coordinate=6))], "0 to 5"),
        ([TURN((0, 0, 1), (F.linear(), F.linear()))], "different coordinates"),
        ([TURN((0, 0, 1), F())], "one of the two"),
        ([TURN((0, 0, 1), F.polynomial(range(9)))], "at most 8"),
        ([TURN((0, 0, 1), F.spline([0.0], [1.0]))], "at least 2"),
        ([TURN((0, 0, 1), F.spline([0.0, 1.0], [1.0]))], "as many"),
        ([TURN((0, 0, 1), F.spline([0.0, 0.0], [1.0, 2.0]))], "ascending"),
        (["x"], "MotionAxis"),
    ],
)
def test_a_faulty_motion_is_refused_without_a_trace(motion, words):
    builder = ModelBuilder()
    link = builder.add_link(mass=1.0)
    with pytest.raises(ValueError, match=words):
        builder.add_joint_custom(-1, link, motion)
    assert builder.joint_count == 0 and builder.joint_q == []


def test_coordinates_of_poses_are_refused_by_name():
    model = chain(custom(RICH, label="knee"))
    s = model.state()
    before = s.joint_q.copy()
    with pytest.raises(NotImplementedError, match="knee"):
        wm.eval_ik(model, s, s.joint_q, s.joint_qd)
    assert np.array_equal(s.joint_q, before)


def test_a_builder_keeps_a_copy_and_models_are_copied_with_it():
    motion = [TURN((0, 1, 0), F.linear())]
    builder = ModelBuilder()
    link = builder.add_link(mass=1.0, com=(0, 0, -1), inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_custom(-1, link, motion)])
    motion[0].axis = (1, 0, 0)
    twice = ModelBuilder()
    twice.add_builder(builder, prefix="a/")
    twice.add_builder(builder, prefix="b/", xform=(1, 0, 0, 0, 0, 0, 1))
    model = twice.finalize()
    X = wm.forward_kinematics(model, [0.5, 0.5])
    assert np.allclose(X[:, 3:], [[0, np.sin(0.25), 0, np.cos(0.25)]] * 2)
    frozen = wm.freeze_joints(builder, [0])
    assert frozen.finalize().joint_dof_count == 0
