# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Motions whose outcome is known without a simulator: open chains, turning bodies, a damped oscillator.

`tests/step` checks the order of every integration family on them, `benchmarks/integrators.py` makes the
table of errors in the documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

import worldline.model as wm
from references import load, pose, rotations, turn, xyzw
from worldline.model import ModelBuilder

PENDULUMS, ROTATION = load("pendulums"), load("rotation")


@dataclass(frozen=True)
class Problem:
    """A model, where it starts, and how far a state after `until` seconds is from the truth."""

    name: str
    model: wm.Model
    q: np.ndarray
    v: np.ndarray
    until: float
    error: Callable[[np.ndarray, np.ndarray], float]
    steps: int
    """The smallest number of steps at which errors of every family follow the order."""


def advance(problem: Problem, family: str, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities at the end."""
    state = problem.model.state()
    state.joint_q[:], state.joint_qd[:] = problem.q, problem.v
    wm.step(problem.model, state, steps=steps, dt=problem.until / steps, integration_family=family)
    return state.joint_q, state.joint_qd


def error_of(problem: Problem, family: str, steps: int) -> float:
    return problem.error(*advance(problem, family, steps))


def largest(*parts) -> float:
    return max(float(np.abs(part).max()) for part in parts)


def hinges(name: str, steps: int) -> Problem:
    """A double or triple pendulum in a plane after one second; angles from the vertical."""
    case = PENDULUMS[name]
    builder = ModelBuilder(gravity=(0.0, 0.0, -PENDULUMS["g"]))
    joints, parent, reach = [], -1, 0.0
    for k in range(case["n"]):
        I = case["inertia_com"][k]
        com = (0.0, 0.0, -case["com"][k])
        link = builder.add_link(mass=case["mass"][k], com=com, inertia=np.diag([I, I, 0.0]))
        place = (0.0, 0.0, -reach, 0.0, 0.0, 0.0, 1.0)
        joints.append(builder.add_joint_revolute(parent, link, "y", parent_xform=place))
        parent, reach = link, case["length"][k]
    builder.add_articulation(joints)
    goal = case["states"]["1.0"]
    return Problem(
        name.split("_", maxsplit=1)[0] + " pendulum",
        builder.finalize(),
        np.diff(case["angles0_from_down_absolute"], prepend=0.0),
        np.zeros(case["n"]),
        1.0,
        lambda q, v: largest(np.cumsum(q) - goal["angles"], np.cumsum(v) - goal["rates"]),
        steps,
    )


def turning(name, moments, omega, until, goal, steps, *, kind="ball", mass=1.0, com=(0, 0, 0), **options):
    """One body that turns about its origin, or freely; the goal has its attitude and rate, body axes."""
    builder = ModelBuilder(gravity=options.get("gravity", (0.0, 0.0, 0.0)))
    link = builder.add_link(mass=mass, com=com, inertia=np.diag(moments))
    joint = builder.add_joint_ball(-1, link) if kind == "ball" else builder.add_joint_free(link)
    builder.add_articulation([joint])
    model = builder.finalize()
    q, v = np.zeros(model.joint_coord_count), np.zeros(model.joint_dof_count)
    q[-4:], v[-3:] = options.get("attitude", (0.0, 0.0, 0.0, 1.0)), omega
    R = rotations(xyzw(goal["quat_wxyz"]))
    # rates of tops are in the hundreds: errors of rates are relative to the largest
    size = max(1.0, largest(goal["omega_body"]))
    return Problem(
        name,
        model,
        q,
        v,
        until,
        lambda q, v: largest(rotations(q[-4:]) - R, (v[-3:] - goal["omega_body"]) / size),
        steps,
    )


def tops() -> list[Problem]:
    spun, top, heavy = (
        ROTATION["intermediate_axis"],
        ROTATION["heavy_top_release"],
        ROTATION["heavy_top_terze_mueller"],
    )
    shape = ROTATION["steady_precession"]
    across = shape["I1_about_pivot"] - shape["m"] * shape["l"] ** 2
    return [
        turning("intermediate axis", spun["I"], spun["omega0_body"], 1.0, spun["states"]["1.0"], 100),
        turning(
            "thrown about the intermediate axis",
            spun["I"],
            spun["omega0_body"],
            1.0,
            spun["states"]["1.0"],
            100,
            kind="free",
        ),
        turning(
            "nutating top",
            [across, across, shape["I3"]],
            top["omega_body0"],
            0.1,
            top["states"]["0.1"],
            400,
            mass=shape["m"],
            com=(0.0, 0.0, shape["l"]),
            gravity=(0.0, 0.0, -shape["g"]),
            attitude=pose(np.zeros(3), turn(0, np.radians(top["tilt0_deg"])))[3:],
        ),
        turning(
            "heavy top",
            heavy["J_com"],
            heavy["omega0"],
            0.2,
            heavy["states"]["0.2"],
            800,
            mass=heavy["mass"],
            com=heavy["com"],
            gravity=heavy["g_vec"],
        ),
    ]


def swinging_arm() -> Problem:
    """The KUKA iiwa released from rest, a quarter of a second later."""
    arm, case = load("manipulators")["kuka_iiwa"], load("spatial_swing")
    builder = ModelBuilder(gravity=(0.0, 0.0, -case["g"]))
    joints, parent = [], -1
    for k, joint in enumerate(arm["joints"]):
        link = builder.add_link(
            mass=arm["mass"][k], com=arm["com"][k], inertia=np.diag(arm["inertia_com_diag"][k])
        )
        roll, pitch, yaw = joint["rpy"]
        place = pose(joint["xyz"], turn(2, yaw) @ turn(1, pitch) @ turn(0, roll))
        joints.append(builder.add_joint_revolute(parent, link, joint["axis"], parent_xform=place))
        parent = link
    builder.add_articulation(joints)
    goal = case["states"]["0.25"]
    return Problem(
        "released arm of 7 joints",
        builder.finalize(),
        np.array(case["q0"]),
        np.array(case["qd0"]),
        0.25,
        lambda q, v: largest(q - goal["q"], v - goal["qd"]),
        125,
    )


def oscillator() -> Problem:
    """A mass on a spring with a damper after one second."""
    case = load("single_joint")["damped_oscillator"]
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    link = builder.add_link(mass=case["m"], inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_prismatic(-1, link, "x")])
    model = builder.finalize()
    model.update(joint_stiffness=np.array([case["k"]]), joint_damping=np.array([case["c"]]))
    goal = case["x"]["1.0"]
    return Problem(
        "damped oscillator",
        model,
        np.array([case["x0"]]),
        np.zeros(1),
        1.0,
        lambda q, v: largest(q - goal),
        100,
    )


@cache
def problems() -> tuple[Problem, ...]:
    return (
        hinges("double_point_1m_1kg_90_90deg", 200),
        hinges("triple_rod_1m_1kg_90_90_90deg", 400),
        swinging_arm(),
        *tops(),
        oscillator(),
    )
