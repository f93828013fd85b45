# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Closed mechanisms whose motion is known without a simulator: four-bars in a row, slider-crank, squeezer."""

from __future__ import annotations

import numpy as np

from worldline import msd
from worldline import simulation as sx

Family = sx.MultibodyIntegrationFamily
POINT = sx.LoopClosureFamily.POINT


def offset(x: float, y: float = 0.0, z: float = 0.0) -> np.ndarray:
    made = np.eye(4)
    made[:3, 3] = x, y, z
    return made


def options(family: Family) -> sx.MultibodyOptions:
    return sx.MultibodyOptions(integration_family=family)


def four_bars(count: int, h: float, family: Family = Family.SEMI_IMPLICIT) -> sx.World:
    """`count` four-bars in a row: rods of 1 m and 1 kg, upright, whose upper ends move at 1 m/s (IFToMM A02).

    Joints v0, v1, ... stand on the ground and h0, h1, ... on top of them; pins close the loops.
    """
    world = sx.World(time_step=h, gravity=(0, -9.81, 0), multibody_options=options(family))
    robot = world.add_multibody("bars")
    base, before = robot.add_link("base"), None
    for k in range(count + 1):
        spec = sx.JointSpec(f"v{k}", axis=(0, 0, 1), transform_to_parent=offset(k))
        upright = robot.add_link(
            f"v{k}", base, spec, mass=1.0, inertia=(1 / 12, 1e-4, 1 / 12), center_of_mass=(0, 0.5, 0)
        )
        if before is not None:
            world.add_loop_closure(
                f"pin{k}",
                frame_a=before,
                frame_b=upright,
                family=POINT,
                offset_a=offset(1.0),
                offset_b=offset(0.0, 1.0),
            )
        if k < count:
            spec = sx.JointSpec(f"h{k}", axis=(0, 0, 1), transform_to_parent=offset(0.0, 1.0))
            before = robot.add_link(
                f"h{k}", upright, spec, mass=1.0, inertia=(1e-4, 1 / 12, 1 / 12), center_of_mass=(0.5, 0, 0)
            )
    for joint in robot.joints:
        joint.velocity = [-1.0 if joint.name.startswith("v") else 1.0]
    return world


def pendulum_of_four_bars(count: int, time: float) -> tuple[float, float]:
    """Angle from upright and its rate of `four_bars`: I phi'' = U sin phi, by small Runge-Kutta steps."""
    ratio = ((count + 1) / 2 + count) * 9.81 / ((count + 1) / 3 + count)

    def rate(y: np.ndarray) -> np.ndarray:
        return np.array([y[1], ratio * np.sin(y[0])])

    steps = max(round(time / 2e-4), 1)
    y, h = np.array([0.0, 1.0]), time / steps
    for _ in range(steps):
        a = rate(y)
        b = rate(y + 0.5 * h * a)
        c = rate(y + 0.5 * h * b)
        d = rate(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    return float(y[0]), float(y[1])


def energy(world: sx.World) -> float:
    return world.kinetic_energy + world.potential_energy


def slider_crank(h: float, family: Family = Family.SEMI_IMPLICIT) -> sx.World:
    """Crank of 0.15 m, rod of 0.35 m and slider along x, gravity along -y; the crank starts at 10 rad/s."""
    world = sx.World(time_step=h, gravity=(0, -9.81, 0), multibody_options=options(family))
    robot = world.add_multibody("slider_crank")
    base = robot.add_link("base")
    thin = 1e-4
    crank = robot.add_link(
        "crank",
        base,
        sx.JointSpec("crank", axis=(0, 0, 1)),
        mass=0.8,
        inertia=(thin, 0.8 * 0.15**2 / 12, 0.8 * 0.15**2 / 12),
        center_of_mass=(0.075, 0, 0),
    )
    rod = robot.add_link(
        "rod",
        crank,
        sx.JointSpec("rod", axis=(0, 0, 1), transform_to_parent=offset(0.15)),
        mass=1.2,
        inertia=(thin, 1.2 * 0.35**2 / 12, 1.2 * 0.35**2 / 12),
        center_of_mass=(0.175, 0, 0),
    )
    slide = sx.JointSpec("slide", sx.JointType.PRISMATIC, axis=(1, 0, 0))
    slider = robot.add_link("slider", base, slide, mass=0.5, inertia=(thin, thin, thin))
    robot.joints["slide"].position = [0.5]
    world.add_loop_closure("pin", frame_a=rod, frame_b=slider, offset_a=offset(0.35), family=POINT)
    robot.joints["crank"].velocity = [10.0]
    robot.joints["rod"].velocity = [-10.0 * (1.0 + 0.15 / 0.35)]
    return world


_MASS = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
_INERTIA = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
_GROUND_A, _GROUND_B, _GROUND_C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
_START = {
    "beta": -0.0617138900142764496,
    "theta": 0.0,
    "gamma": 0.455279819163070380,
    "phi": 0.222668390165885885,
    "delta": 0.487364979543842550,
    "omega": -0.222668390165885885,
    "epsilon": 1.23054744454982119,
}
SQUEEZER_END = {
    "beta": 15.81077119629904,
    "theta": -15.75637105984298,
    "gamma": 0.04082224013073101,
    "phi": -0.5347301163226499,
    "delta": 0.5244099658805304,
    "omega": 0.5347301163226499,
    "epsilon": 1.048080741042263,
}
"""Angles at 0.03 s [Mazzia and Magherini 2008, Test set for initial value problem solvers, II.13]."""


def _squeezer_body(k: int, at, com, joint: str, inner: str = "") -> str:
    return (
        f'<body name="k{k}" pos="{at[0]} {at[1]} 0"><inertial pos="{com[0]} {com[1]} 0" mass="{_MASS[k - 1]}" '
        f'diaginertia="1e-5 1e-5 {_INERTIA[k - 1]}"/><joint name="{joint}" axis="0 0 1"/>{inner}</body>'
    )


def squeezer(h: float, family: Family) -> sx.World:
    """Andrews' squeezing mechanism: seven bodies, three loops, a spring, a constant torque on the crank."""
    bodies = (
        _squeezer_body(1, (0, 0), (92e-5, 0), "beta", _squeezer_body(2, (7e-3, 0), (-115e-4, 0), "theta"))
        + _squeezer_body(3, _GROUND_B, (1874e-5, 1043e-5), "gamma")
        + _squeezer_body(
            5,
            _GROUND_A,
            (2308e-5, 916e-5),
            "delta",
            _squeezer_body(4, (4e-2, 0), (0, -(2e-2 - 1421e-5)), "phi"),
        )
        + _squeezer_body(
            7,
            _GROUND_A,
            (1228e-5, 449e-5),
            "epsilon",
            _squeezer_body(6, (0, -4e-2), (2e-2 - 1421e-5, 0), "omega"),
        )
    )
    scene = msd.from_str(
        f'<mujoco><compiler angle="radian"/><option timestep="{h}" gravity="0 0 0"/><worldbody>{bodies}'
        "</worldbody></mujoco>"
    )
    end = msd.FrameRef(link="k2", position=(-28e-3, 0, 0))
    for name, place in (("k3", (0, -35e-3, 0)), ("k4", (0, -2e-2, 0)), ("k6", (2e-2, 0, 0))):
        other = msd.FrameRef(link=name, position=place)
        scene.loop_closures.append(
            msd.LoopClosure(name=name, frame_a=end, frame_b=other, family=msd.LoopClosureFamily.Point)
        )
    scene.distance_springs.append(
        msd.DistanceSpring(
            name="spring",
            frame_a=msd.FrameRef(link="k3", position=(2e-2, -18e-3, 0)),
            frame_b=msd.FrameRef(position=(*_GROUND_C, 0)),
            rest_length=7785e-5,
            stiffness=4530.0,
        )
    )
    world = sx.World.from_scene(scene)
    world.multibody_options = options(family)
    joints = joints_of(world)
    for name, angle in _START.items():
        joints[name].position = [angle]
    joints["beta"].force = [0.033]
    return world


def joints_of(world: sx.World) -> dict[str, sx.Joint]:
    return {joint.name: joint for robot in world.multibodies for joint in robot.joints}
