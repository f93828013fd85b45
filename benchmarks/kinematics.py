# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematic solving: reach and time of inverse kinematics, projection of closures, closed chains, peers.

Targets are poses of the tip at random coordinates within the limits, starts are other random coordinates.
Times are CPU times of one thread. Peers run in the same process where they are installed (pip install
pin-pink mink daqp pytracik): Pink and mink iterate their differential inverse kinematics from one start until
the error is below 1e-8, TRAC-IK runs with its usual time limit of 5 ms and an error of 1e-6.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import worldline.model as wm
from benchmarks.timing import against_mujoco, table_of
from worldline import kinematics as wk
from worldline import math as wmath
from worldline import msd
from worldline import simulation as sx
from worldline._src.facade.closure_projection import settle

_TESTS = Path(__file__).parent.parent / "tests"
TARGETS, TURNS = 10_000, 7


def _robots() -> list[Any]:
    sys.path.insert(0, str(_TESTS / "kinematics"))
    from kinematic_robots import ROBOTS  # pyright: ignore[reportMissingImports]

    return [make() for make in ROBOTS]


def _spent(job: Callable[[], Any], turns: int = TURNS) -> tuple[float, float]:
    """Least and median CPU time of a job [s]."""
    job()
    found = []
    for _ in range(turns):
        start = time.process_time()
        job()
        found.append(time.process_time() - start)
    return min(found), float(np.median(found))


def _targets(robot: Any, count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Poses of the tip at random coordinates within the limits, and starts."""
    rng = np.random.default_rng(seed)
    low, high = robot.model.joint_limit_lower, robot.model.joint_limit_upper
    q, starts = rng.uniform(low, high, (2, count, len(low)))
    return wm.forward_kinematics(robot.model, q)[:, robot.tip], starts


def _task(robot: Any) -> wk.PoseTask | wk.PositionTask:
    if robot.position_only:
        return wk.PositionTask(robot.tip, (0, 0, 0))
    return wk.PoseTask(robot.tip, [0, 0, 0, 0, 0, 0, 1])


def reach(console: Console) -> None:
    """Reachable targets that are found at 1e-8, and the time of one."""
    table = Table(title=f"{TARGETS} reachable random targets, from random starts (asked: 99.5 %, 150 us)")
    columns = ("robot", "found at 1e-8", "beyond limits", "iterations", "alone (us)", "in lanes (us)")
    for column in columns:
        table.add_column(column, justify="right")
    for robot in _robots():
        X, starts = _targets(robot, TARGETS)
        goals, task, model = X[:, :3] if robot.position_only else X, _task(robot), robot.model
        made = wk.solve_ik_batch(model, task, goals, starts=starts)
        Y = wm.forward_kinematics(model, made.q)[:, robot.tip]
        found = np.linalg.norm(X[:, :3] - Y[:, :3], axis=1) < 1e-8
        if not robot.position_only:
            found &= wmath.quaternion_distance(X[:, 3:], Y[:, 3:]) < 1e-8
        out = (made.q < model.joint_limit_lower) | (made.q > model.joint_limit_upper)
        some = 1000
        alone = _alone(model, task, goals[:some], starts[:some])
        lanes = _spent(lambda: wk.solve_ik_batch(model, task, goals, starts=starts), 3)  # noqa: B023
        times = [f"{1e6 * alone[0] / some:.1f}", f"{1e6 * lanes[0] / TARGETS:.1f}"]
        share = f"{100 * found.mean():.2f} %"
        table.add_row(robot.name, share, str(int(out.any(1).sum())), f"{made.iterations.mean():.1f}", *times)
    console.print(table)


def _alone(model: wm.Model, task: Any, goals: np.ndarray, starts: np.ndarray) -> tuple[float, float]:
    """The same without lanes: compiled code, one target after the other."""
    from worldline._src.kinematics.solve import Question, goals_of
    from worldline._src.kinematics.subjects import subject_of

    problem = Question(subject_of(model), [task], None, None, True).problem()
    rows = goals_of(task, goals)[:, None]
    return _spent(lambda: problem.solve(starts, rows, 0, 2000, 100, lanes=1), 3)


def differential(console: Console) -> None:
    """Steps of differential inverse kinematics of many arms at once."""
    count = 4096
    table = table_of(
        f"differential inverse kinematics, 7 joints, {count} arms in lanes (asked: 1M steps/s)",
        "robot | bounds | best (us) | median (us) | steps/s, best | one call alone (us)",
    )
    bounds = {
        "position": {},
        "and velocity": {"max_velocity": 2.0},
        "and acceleration": {"max_velocity": 2.0, "max_acceleration": 20.0},
    }
    for robot in _robots()[1:4]:
        X, q = _targets(robot, count)
        for name, options in bounds.items():
            control = wk.DifferentialIk(robot.model, _task(robot), gain=20.0, **options)
            x, v, times = q.copy(), np.zeros_like(q), []
            for _ in range(60):
                start = time.process_time()
                v = control.velocities(x, 0.01, v, X)
                x += 0.01 * v
                times.append(time.process_time() - start)
            one = _spent(lambda: [control.velocity(q[0], 0.01) for _ in range(200)])[0] / 200  # noqa: B023
            best, middle = min(times) / count, float(np.median(times)) / count
            cells = [f"{1e6 * best:.2f}", f"{1e6 * middle:.2f}", f"{1e-6 / best:.2f} M", f"{1e6 * one:.1f}"]
            table.add_row(robot.name, name, *cells)
    console.print(table)


def projection(console: Console) -> None:
    """A Stewart platform that follows its legs: from written lengths to closed coordinates."""
    sys.path[:0] = [str(_TESTS / "kinematics"), str(_TESTS)]
    from test_closure_projection import stewart  # pyright: ignore[reportMissingImports]

    world, platform, slides, foot, top = stewart()
    world.enter_simulation_mode()
    lengths = []
    for k in range(400):
        p = np.array([0.15 * np.sin(0.05 * k), 0.15 * np.cos(0.05 * k), 1.0 + 0.1 * np.sin(0.11 * k)])
        R = wmath.so3_exp([0.2 * np.sin(0.03 * k), 0.2 * np.cos(0.07 * k), 0.1])
        ends = [p + R @ [*top[i], 0.0] - [*foot[i], 0.0] for i in range(6)]
        lengths.append(np.linalg.norm(ends, axis=1))
    for slide, length in zip(slides, lengths[0], strict=True):
        slide.position = [length]
    platform.translation  # noqa: B018 - the first projection
    runtime = world._live()
    where = [runtime.q_slice(slide._joint).start for slide in slides]
    times, iterations = [], []
    for _ in range(5):
        for each in lengths:
            runtime.sim.q[where] = each
            runtime.sim.written()
            start = time.perf_counter()
            settle(world, runtime)
            times.append(time.perf_counter() - start)
            report = world.closure_projection_report
            assert report is not None and report.converged
            iterations.append(report.iterations)
    table = table_of(
        "projection of a Stewart platform, 18 equations (asked: 30 us)",
        "best (us) | median (us) | iterations",
    )
    best, middle = min(times), float(np.median(times))
    table.add_row(f"{1e6 * best:.1f}", f"{1e6 * middle:.1f}", f"{np.mean(iterations):.1f}")
    console.print(table)


def four_bars(console: Console) -> None:
    """N four-bars in a row: the time of a step by N."""
    from tests.closed_mechanisms import four_bars as mechanism

    table = table_of(
        "N four-bars in a row, a step (asked: linear in N)",
        "N | links | best (us) | median (us) | best / N (us)",
    )
    for count in (1, 2, 5, 10, 20, 40, 70, 100):
        world = mechanism(count, 1e-3)
        steps = max(5, 400 // count)
        best, middle = _spent(lambda: world.step(steps), 5)  # noqa: B023
        cells = [f"{1e6 * t / steps:.1f}" for t in (best, middle)]
        table.add_row(str(count), str(2 * count + 1), *cells, f"{1e6 * best / steps / count:.2f}")
    console.print(table)


def mechanisms(console: Console) -> None:
    """Angles of mechanisms whose motion is known, their order, and the swing of the energy."""
    from tests.closed_mechanisms import Family, energy, joints_of, pendulum_of_four_bars, slider_crank
    from tests.closed_mechanisms import four_bars as bars

    # crank angle at 1 s, by quadrature of the equation of one degree of freedom
    crank = -0.9012137990878397

    def error(count: int, family: Family, h: float) -> tuple[float, float]:
        """Of the angle at the end, and how far the energy went from its start."""
        world = bars(count, h, family) if count else slider_crank(h, family)
        start, swing, until = energy(world), 0.0, 0.5 if count else 1.0
        for _ in range(20):
            world.step(round(until / h / 20))
            swing = max(swing, abs(energy(world) - start))
        if count:
            return abs(-joints_of(world)["v0"].position[0] - pendulum_of_four_bars(count, until)[0]), swing
        return abs(joints_of(world)["crank"].position[0] - crank), swing

    table = table_of(
        "closed mechanisms: error of an angle (asked: 1e-4 at 0.1 ms)",
        "mechanism | family | at 0.2 ms | at 0.1 ms | order | energy at 1 ms (J)",
    )
    for count in (0, 1, 5, 40):
        for family in (Family.SEMI_IMPLICIT, Family.VARIATIONAL, Family.RUNGE_KUTTA_4):
            (coarse, _), (fine, _) = (error(count, family, h) for h in (2e-4, 1e-4))
            order = f"{np.log2(coarse / fine):.2f}" if fine > 1e-11 else "-"
            name = f"{count} four-bars, 0.5 s" if count else "slider-crank, 1 s"
            swing = f"{error(count, family, 1e-3)[1]:.1e}"
            table.add_row(name, family.name, f"{coarse:.1e}", f"{fine:.1e}", order, swing)
    console.print(table)


def switches(console: Console) -> None:
    """Policies of a closure that change at random between steps."""
    from tests.closed_mechanisms import slider_crank

    world, rng, count = slider_crank(1e-3), np.random.default_rng(4), 10_000
    closure, worst, projected, solved = world.loop_closures["pin"], 0.0, 0, 0
    for _ in range(count):
        closure.runtime_policy = policy = sx.LoopClosureRuntimePolicy(
            bool(rng.integers(4)),
            list(sx.ClosureKinematicsPolicy)[rng.integers(2)],
            list(sx.ClosureDynamicsPolicy)[rng.integers(2)],
        )
        world.step(int(rng.integers(3)))
        residual = closure.compute_residual()
        if policy.enabled and policy.kinematics is sx.ClosureKinematicsPolicy.PROJECT:
            projected, worst = projected + 1, max(worst, residual.norm)
        solved += bool(policy.enabled and policy.dynamics is sx.ClosureDynamicsPolicy.SOLVE)
    table = table_of(
        f"{count} random switches of policy between steps",
        "projected | solved | largest residual with PROJECT",
    )
    table.add_row(str(projected), str(solved), f"{worst:.1e}")
    console.print(table)


def _leg(side: str, y: float) -> str:
    """A leg with the joints of Cassie's: hip, knee, shin, tarsus, heel spring, foot crank, two rods."""

    def body(name: str, pos: str, axis: str, inner: str, mass: float = 0.5, to: str = "0 0 -.2") -> str:
        return (
            f'<body name="{side}{name}" pos="{pos}"><joint name="{side}{name}" axis="{axis}" damping=".2"/>'
            f'<geom type="capsule" size=".02" fromto="0 0 0 {to}" mass="{mass}"/>{inner}</body>'
        )

    rod = body("rod2", "-.05 .02 0", "1 0 0", "", 0.1, "-.01 0 -.5")
    rod = body("rod", "0 0 0", "0 1 0", rod, 0.05, "-.05 .02 0")
    plantar = body("plantar", "-.05 0 0", "0 1 0", "", 0.1, "0 0 -.35")
    crank = body("crank", "0 .03 -.05", "0 1 0", plantar, 0.1, "-.05 0 0")
    foot = body("foot", "0 0 -.4", "0 1 0", "", 0.4, ".1 0 -.03")
    heel = body("heel", "-.02 0 0", "0 1 0", "", 0.1, "-.1 0 0")
    tarsus = body("tarsus", "0 0 -.4", "0 1 0", foot + heel + crank, 0.8, "0 0 -.4")
    shin = body("shin", "0 0 -.05", "0 1 0", tarsus, 0.8, "0 0 -.4")
    knee = body("knee", "0 0 -.1", "0 1 0", shin, 0.8, "0 0 -.05")
    pitch = body("pitch", "0 0 -.05", "0 1 0", knee + rod, 1.5, "0 0 -.1")
    yaw = body("yaw", "0 0 -.05", "0 0 1", pitch, 1.0, "0 0 -.05")
    return body("roll", f"0 {y} 0", "1 0 0", yaw, 1.0, "0 0 -.05")


def closed_legs() -> str:
    """A floating pelvis on two legs, each with a rod at the heel and one at the foot that close loops."""
    ties = "".join(
        f'<connect body1="{side}rod2" body2="{side}heel" anchor="-.01 0 -.5"/>'
        f'<connect body1="{side}plantar" body2="{side}foot" anchor="0 0 -.35"/>'
        for side in "lr"
    )
    return (
        '<mujoco><option timestep=".0005"/><worldbody><body name="pelvis" pos="0 0 1.2"><freejoint/>'
        '<geom type="box" size=".1 .15 .1" mass="10"/>'
        f"{_leg('l', 0.13)}{_leg('r', -0.13)}</body></worldbody><equality>{ties}</equality>"
        '<default><geom contype="0" conaffinity="0"/></default></mujoco>'
    )


def legs(console: Console) -> None:
    """A pair of closed-chain legs beside MuJoCo."""
    import mujoco

    text, steps, turns = closed_legs(), 400, 9
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    world = sx.World.from_scene(msd.from_str(text))
    world.step(steps)
    mujoco.mj_step(model, data, steps)
    far = float(np.abs(world._live().sim.q - _quaternion_last(data.qpos)).max())
    if not far < 1e-3:
        raise AssertionError(f"legs are off MuJoCo's by {far:.1e} after {steps} steps; not timing that")
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(turns):
        for name, job in (
            ("ours", lambda: world.step(steps)),
            ("theirs", lambda: mujoco.mj_step(model, data, steps)),
        ):
            start = time.process_time()
            job()
            times[name].append((time.process_time() - start) / steps)
    table = Table(
        title=f"a pair of closed-chain legs, {model.nv} degrees of freedom, 4 connects: a step (us)"
    )
    against_mujoco(table, "model")
    ours, theirs = np.array(times["ours"]), np.array(times["theirs"])
    cells = [f"{1e6 * t:.1f}" for t in (ours.min(), np.median(ours), theirs.min(), np.median(theirs))]
    ratios = [f"{theirs.min() / ours.min():.2f}", f"{np.median(theirs / ours):.2f}"]
    table.add_row("Cassie-like legs", *cells, *ratios, "1.5")
    console.print(table)


def _quaternion_last(q: np.ndarray) -> np.ndarray:
    """Coordinates with the quaternion of the first joint from wxyz to xyzw."""
    return np.concatenate([q[:3], q[4:7], q[3:4], q[7:]])


def _urdf(robot: Any) -> str:
    """A serial arm as a URDF file."""
    model, links, joints = robot.model, ['<link name="base"/>'], []
    for j in range(model.joint_count):
        name, X = f"link_{j}", np.array(model.joint_X_p[j])
        R = wmath.quaternion_to_matrix(X[3:])
        rpy = np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(np.clip(R[2, 0], -1, 1)), np.arctan2(R[1, 0], R[0, 0])
        links.append(
            f'<link name="{name}"><inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" '
            'ixz="0" iyz="0"/></inertial></link>'
        )
        d, parent = int(model.joint_qd_start[j]), "base" if j == 0 else f"link_{j - 1}"
        fixed = int(model.joint_qd_start[j + 1]) == d
        inner = ""
        if not fixed:
            low, high = float(model.joint_limit_lower[d]), float(model.joint_limit_upper[d])
            inner = f'<axis xyz="{" ".join(map(repr, map(float, model.joint_axis[d])))}"/>'
            inner += f'<limit lower="{low!r}" upper="{high!r}" effort="100" velocity="100"/>'
        joints.append(
            f'<joint name="joint_{j}" type="{"fixed" if fixed else "revolute"}"><parent link="{parent}"/>'
            f'<child link="{name}"/><origin xyz="{" ".join(repr(float(x)) for x in X[:3])}" '
            f'rpy="{" ".join(repr(float(a)) for a in rpy)}"/>{inner}</joint>'
        )
    extra = '<mujoco><compiler fusestatic="false"/></mujoco>'
    return f'<robot name="{robot.name}">{extra}{"".join(links)}{"".join(joints)}</robot>'


Peer = tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], Callable[[np.ndarray, np.ndarray], Any] | None]
"""Coordinates for a goal (7,) from a start, and one differential step, if there is one."""


def _pink(robot: Any) -> Peer:
    import pink
    import pinocchio as pin

    model = pin.buildModelFromXML(_urdf(robot))
    data, tip = model.createData(), f"link_{robot.model.joint_count - 1}"
    task = pink.tasks.FrameTask(tip, position_cost=1.0, orientation_cost=1.0)

    def place(goal: np.ndarray, start: np.ndarray) -> Any:
        task.set_target(pin.XYZQUATToSE3(goal))
        return pink.Configuration(model, data, start)

    def move(at: Any) -> np.ndarray:
        return pink.solve_ik(at, [task], 0.1, solver="daqp", damping=1e-8)

    def solve(goal: np.ndarray, start: np.ndarray) -> np.ndarray:
        at = place(goal, start)
        for _ in range(200):
            if np.linalg.norm(task.compute_error(at)) < 1e-8:
                break
            at = pink.Configuration(model, data, pin.integrate(model, at.q, 0.1 * move(at)))
        return at.q

    return solve, lambda goal, start: move(place(goal, start))


def _mink(robot: Any) -> Peer:
    import mink
    import mujoco

    model = mujoco.MjModel.from_xml_string(_urdf(robot))
    task = mink.FrameTask(
        f"link_{robot.model.joint_count - 1}", "body", position_cost=1.0, orientation_cost=1.0
    )
    limits = [mink.ConfigurationLimit(model)]
    at = mink.Configuration(model)

    def place(goal: np.ndarray, start: np.ndarray) -> None:
        wxyz_xyz = np.concatenate([goal[6:], goal[3:6], goal[:3]])
        task.set_target(mink.SE3(wxyz_xyz=wxyz_xyz))
        at.update(start)

    def move() -> np.ndarray:
        return mink.solve_ik(at, [task], 0.1, solver="daqp", damping=1e-8, limits=limits)

    def solve(goal: np.ndarray, start: np.ndarray) -> np.ndarray:
        place(goal, start)
        for _ in range(200):
            if np.linalg.norm(task.compute_error(at)) < 1e-8:
                break
            at.integrate_inplace(move(), 0.1)
        return at.q.copy()

    def step(goal: np.ndarray, start: np.ndarray) -> np.ndarray:
        place(goal, start)
        return move()

    return solve, step


def _trac(robot: Any) -> Peer:
    from trac_ik import TracIK

    with tempfile.NamedTemporaryFile("w", suffix=".urdf", delete=False) as file:
        file.write(_urdf(robot))
    solver = TracIK(
        base_link_name="base",
        tip_link_name=f"link_{robot.model.joint_count - 1}",
        urdf_path=file.name,
        timeout=0.005,
        epsilon=1e-6,
        solver_type="Speed",
    )

    def solve(goal: np.ndarray, start: np.ndarray) -> np.ndarray:
        made = solver.ik(goal[:3], wmath.quaternion_to_matrix(goal[3:]), start)
        return start if made is None else np.array(made)

    return solve, None


PEERS = {"Pink": ("pink", _pink), "mink": ("mink", _mink), "TRAC-IK": ("trac_ik", _trac)}


def peers(console: Console) -> None:
    """One arm, the same targets and starts for everybody."""
    robot, count = _robots()[1], 300
    X, starts = _targets(robot, count)
    table = table_of(
        f"{count} reachable targets of a Panda from random starts, one after the other",
        "solver | found at 1e-6 | mean (us) | one differential step (us)",
    )

    def row(name: str, q: np.ndarray, spent: float, step: str) -> None:
        Y = wm.forward_kinematics(robot.model, q)[:, robot.tip]
        found = np.linalg.norm(X[:, :3] - Y[:, :3], axis=1) < 1e-6
        found &= wmath.quaternion_distance(X[:, 3:], Y[:, 3:]) < 1e-6
        inside = (q >= robot.model.joint_limit_lower - 1e-9) & (q <= robot.model.joint_limit_upper + 1e-9)
        share = 100 * (found & inside.all(1)).mean()
        table.add_row(name, f"{share:.1f} %", f"{1e6 * spent / count:.0f}", step)

    task = _task(robot)
    made = wk.solve_ik_batch(robot.model, task, X, starts=starts)
    control = wk.DifferentialIk(robot.model, task, gain=10.0)
    step = _spent(lambda: [control.velocity(starts[0], 0.1) for _ in range(200)])[0] / 200
    lanes = _spent(lambda: control.velocities(starts, 0.1, None, X))[0] / count
    row("Worldline, alone", made.q, _alone(robot.model, task, X, starts)[0], f"{1e6 * step:.0f}")
    spent = _spent(lambda: wk.solve_ik_batch(robot.model, task, X, starts=starts), 3)[0]
    row("Worldline, in lanes", made.q, spent, f"{1e6 * lanes:.2f}")
    for name, (module, make) in PEERS.items():
        if importlib.util.find_spec(module) is None:
            table.add_row(name, "not installed", "-", "-")
            continue
        solve, differential_step = make(robot)
        solve(X[0], starts[0])
        start = time.process_time()
        q = np.array([solve(goal, first) for goal, first in zip(X, starts, strict=True)])
        spent, cost = time.process_time() - start, "-"
        if differential_step is not None:
            found = _spent(lambda: [differential_step(X[0], starts[0]) for _ in range(100)])[0]  # noqa: B023
            cost = f"{1e6 * found / 100:.0f}"
        row(name, q, spent, cost)
    console.print(table)


def run(console: Console) -> None:
    """Print all tables."""
    for part in (reach, differential, projection, mechanisms, switches, four_bars, legs, peers):
        part(console)
