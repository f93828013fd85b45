# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Arms against published and independently derived numbers: iiwa, two-link arm, Puma 560, babyboot."""

from __future__ import annotations

import numpy as np
import pytest

import worldline.model as wm
from integrators import order, rk4
from references import load, pose, relative_error, turn
from worldline.model import ModelBuilder

ARMS = load("manipulators")
IIWA = ARMS["kuka_iiwa"]
BOOT = ARMS["chaotic_babyboot"]
TWO_LINK = ARMS["two_link"]
PUMA = load("puma560")
SWING = load("spatial_swing")

ROUND_OFF = 1e-13  # some hundred operations; measured at most 2e-15
DERIVED = 1e-9  # what the sources claim for derived values


def iiwa(g):
    builder = ModelBuilder(gravity=(0.0, 0.0, -g))
    joints, parent = [], -1
    for k, joint in enumerate(IIWA["joints"]):
        link = builder.add_link(
            mass=IIWA["mass"][k], com=IIWA["com"][k], inertia=np.diag(IIWA["inertia_com_diag"][k])
        )
        roll, pitch, yaw = joint["rpy"]
        R = turn(2, yaw) @ turn(1, pitch) @ turn(0, roll)
        joints.append(
            builder.add_joint_revolute(parent, link, joint["axis"], parent_xform=pose(joint["xyz"], R))
        )
        parent = link
    builder.add_articulation(joints)
    return builder.finalize()


@pytest.mark.parametrize("case", IIWA["cases"], ids=lambda c: f"g{c['g']}-qd{c['qd'][0]}-qdd{c['qdd'][0]}")
def test_inverse_dynamics_of_the_iiwa(case):
    model = iiwa(case["g"])
    tau = wm.inverse_dynamics(model, case["q"], case["qd"], case["qdd"])
    assert relative_error(tau, case["tau_motiongenesis"]) < ROUND_OFF
    assert relative_error(tau, case["tau_independent"]) < ROUND_OFF
    end = wm.forward_kinematics(model, case["q"])[-1, :3]
    assert relative_error(end, case["end_link_origin"]) < ROUND_OFF


def test_mass_matrix_of_the_iiwa():
    M = wm.mass_matrix(iiwa(9.8), IIWA["cases"][0]["q"])
    assert relative_error(M, IIWA["mass_matrix_at_Q"]) < ROUND_OFF


def test_released_iiwa_accelerates_and_swings():
    model = iiwa(SWING["g"])
    q, v = np.array(SWING["q0"]), np.array(SWING["qd0"])
    assert relative_error(wm.forward_dynamics(model, q, v, v), SWING["qdd0"]) < DERIVED
    h, time = 2.5e-4, 0.0
    # the reference differs from itself by 1e-11, 2e-10 and 9e-9; the motion is chaotic
    for until, tolerance in ((0.25, 1e-10), (0.5, 1e-9), (1.0, 1e-6)):
        q, v = rk4(model, q, v, h, round((until - time) / h))
        time = until
        goal = SWING["states"][str(until)]
        assert relative_error(q, goal["q"]) < tolerance, until
        assert relative_error(v, goal["qd"]) < tolerance, until


def test_swing_of_the_iiwa_converges_with_order_four():
    model = iiwa(SWING["g"])
    goal = SWING["states"]["0.25"]
    errors = []
    for steps in (125, 250, 500):
        q, v = rk4(model, SWING["q0"], SWING["qd0"], 0.25 / steps, steps)
        errors.append(np.r_[q - goal["q"], v - goal["qd"]])
    assert order(errors[0], errors[1]) == pytest.approx(4.0, abs=0.3)
    assert order(errors[1], errors[2]) == pytest.approx(4.0, abs=0.3)


def test_two_link_arm():
    p = TWO_LINK
    builder = ModelBuilder(gravity=(0.0, -9.81, 0.0))
    joints, parent, place = [], -1, np.zeros(3)
    for k in ("1", "2"):
        # only the moment about z matters to a planar arm; the others make it a body
        moments = np.diag([p["I" + k]] * 3)
        link = builder.add_link(mass=p["m" + k], com=(p["c" + k], 0, 0), inertia=moments)
        joints.append(builder.add_joint_revolute(parent, link, "z", parent_xform=(*place, 0, 0, 0, 1)))
        parent, place = link, np.array([p["l" + k], 0.0, 0.0])
    builder.add_articulation(joints)
    model = builder.finalize()
    assert relative_error(wm.mass_matrix(model, p["q"]), p["M"]) < ROUND_OFF
    tau = wm.inverse_dynamics(model, p["q"], p["qd"], p["qdd"])
    assert relative_error(tau, p["tau"]) < ROUND_OFF
    assert relative_error(wm.forward_dynamics(model, p["q"], p["qd"], tau), p["qdd"]) < ROUND_OFF


def puma(motors):
    """The Puma 560 in standard Denavit-Hartenberg frames, mass properties of Armstrong, Khatib, Burdick.

    Two of the measured inertias are not those of any body. Neither change below alters the arm: link 1
    only turns about its y, so its mass and its other moments are free; and what a thin rod along the axis
    of joint 3 has as inertia, the links on both sides of that joint can hand to each other.
    """
    mass = np.array(PUMA["mass"])
    inertia = np.array(PUMA["inertia_com_diag"])
    assert mass[0] == 0.0 and not inertia[0, [0, 2]].any()
    mass[0], inertia[0, [0, 2]] = 1.0, 0.2
    rod = 0.01
    inertia[1] -= [rod, rod, 0.0]  # frame 2: the axis of joint 3 is z
    inertia[2] += [rod, 0.0, rod]  # frame 3: it is -y

    builder = ModelBuilder(gravity=(0.0, 0.0, -PUMA["g"]))
    joints, parent = [], -1
    for k, (d, a, alpha) in enumerate(PUMA["dh_d_a_alpha"]):
        link = builder.add_link(mass=mass[k], com=PUMA["com"][k], inertia=np.diag(inertia[k]))
        # the link's frame is Tz(d) Tx(a) Rx(alpha) from the turned joint; child_xform is the way back
        R = turn(0, alpha)
        joints.append(
            builder.add_joint_revolute(
                parent,
                link,
                "z",
                child_xform=pose(-R.T @ [a, 0.0, d], R.T),
                armature=PUMA["Jm"][k] * PUMA["G"][k] ** 2 if motors else 0.0,
            )
        )
        parent = link
    builder.add_articulation(joints)
    return builder.finalize()


def test_puma_560_derived():
    links, motors, q = puma(False), puma(True), PUMA["qn"]
    assert relative_error(wm.gravity_forces(links, q), PUMA["gravload"]) < DERIVED
    assert relative_error(wm.mass_matrix(links, q), PUMA["inertia_links_only"]) < DERIVED
    assert relative_error(wm.mass_matrix(motors, q), PUMA["inertia_with_motor"]) < DERIVED
    for model in (links, motors):
        torque = wm.coriolis_forces(model, q, np.ones(6))
        assert relative_error(torque, PUMA["coriolis_torque_qd_ones"]) < DERIVED


def test_puma_560_published():
    model, published = puma(True), PUMA["published"]
    half_a_digit = 0.5 * 10.0 ** -published["decimals"]
    assert np.abs(wm.gravity_forces(model, PUMA["qn"]) - published["gravload"]).max() < half_a_digit
    assert np.abs(wm.mass_matrix(model, PUMA["qn"]) - published["inertia"]).max() < half_a_digit


def babyboot():
    """Kane's rod A on a horizontal axis with a plate B that turns about A's long axis."""
    p = BOOT["parameters"]
    builder = ModelBuilder(gravity=(0.0, 0.0, -p["g"]))
    rod = builder.add_link(mass=p["mA"], com=(0, 0, -p["LA"]), inertia=np.diag([p["IAx"], p["IAx"], 0.0]))
    plate = builder.add_link(mass=p["mB"], com=(0, 0, -p["LB"]), inertia=np.diag(p["IB"]))
    joints = [builder.add_joint_revolute(-1, rod, "x"), builder.add_joint_revolute(rod, plate, "z")]
    builder.add_articulation(joints)
    return builder.finalize()


def test_babyboot():
    model = babyboot()
    start = BOOT["initial"]
    q = np.radians([start["qA_deg"], start["qB_deg"]])
    v = np.array(start["rates"], float)
    h, time = 5e-4, 0.0
    # errors grow with the chaos of the motion, by 3e5 from 1 s to 10 s
    for until, tolerance in ((1.0, 1e-10), (2.0, 1e-10), (5.0, 5e-9), (10.0, 1e-5)):
        q, v = rk4(model, q, v, h, round((until - time) / h))
        time = until
        goal = BOOT["derived"][str(until)]
        assert relative_error(q, np.radians([goal["qA_deg"], goal["qB_deg"]])) < tolerance, until
        assert relative_error(v, [goal["qAdot"], goal["qBdot"]]) < tolerance, until
    published = BOOT["published_10s"]
    assert relative_error(q, np.radians([published["qA_deg"], published["qB_deg"]])) < 1e-5
    assert relative_error(v, [published["qAdot"], published["qBdot"]]) < 1e-5
