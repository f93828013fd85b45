# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`worldline demo`: the main jobs on bundled models, with figures.

A first world, a humanoid and a pile that fall, an arm that moves to a pose, a robot that lands on its feet
and is pushed over, a chain whose energy is watched, and the dynamics of a humanoid in thousands of worlds.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

if TYPE_CHECKING:
    from worldline.simulation import Multibody, World

WALKER = Path(__file__).with_name("data") / "walker.xml"
"""The bundled robot; see the note at the top of the file."""

FIRST_STAGES = """
refresh_poses semi_implicit_euler accelerations drive_forces no_wrenches link_velocities
""".split()
"""Stages of the first world, from the last it needs to the first: other processors meet this one half-way."""
STAGES = """
solve_rows solve_free_bodies contact_rows solve_next_island solve_islands check_islands solve_velocities
limit_rows limit_energy damp_implicitly find_islands begin_rows check_contacts log_contacts guess_from_last
gather_mass mass_of_island mass_of_trees correct_positions keep_smooth actuator_forces
add_passive_forces subtract_passive_forces spring_displacements compensate_gravity center_forces
mass_matrix composites inverse_dynamics forward_dynamics body_poses com_position total_momentum
kinetic_energy potential_energy integrate unpack_state runge_kutta_first runge_kutta_second
runge_kutta_third runge_kutta_last pack_state narrow_convex solve_epa solve_manifold solve_gjk
solve_curved broad narrow_flat narrow_round narrow_ball narrow_sort shape_poses collision_poses
""".split()
"""Stages of the other scenes. Those that share helpers lie side by side: other processors begin at the
front and this one at the end, so that few helpers are compiled twice."""
LANE_STAGES = """
forward_dynamics positions inverse_dynamics mass_matrix composites body_poses link_velocities
add_passive_forces subtract_passive_forces spring_displacements no_wrenches
""".split()
"""Stages of the batch; small ones last, for a process that compiles until another is done with a stage."""

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def demo(
    worlds: Annotated[int, typer.Option(help="Worlds in the batch.", min=1)] = 4096,
    seconds: Annotated[float, typer.Option(help="Simulated time of each scene.", min=0.1)] = 2.0,
    pieces: Annotated[int, typer.Option(help="Pieces in the pile; 0 for none.", min=0)] = 20,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for pages that replay what fell in a browser."),
    ] = None,
) -> None:
    """Drop a humanoid and a pile, drive an arm, push a robot over, run a humanoid in thousands of worlds.

    \b
    Examples:
      worldline demo
      worldline demo --seconds 4 -o replays       open replays/a_humanoid.html
    """
    from worldline._src.cli.demo_falls import falls

    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    console = Console()
    console.print("[bold]Worldline demo[/bold]; the first run compiles kernels, once per machine.\n")
    _compile_ahead()
    _first_world(console)
    falls(console, seconds, pieces, output)
    _arm(console, seconds)
    _walker(console, seconds)
    _swing(console, seconds)
    _batch(console, worlds)
    if output is None:
        console.print("\n`worldline demo -o replays` writes pages that replay what fell in a browser")


def _compile_ahead() -> None:
    """Let other processors compile what the scenes need, while this one goes on with the first."""
    from worldline._src.compile_ahead import compile_ahead
    from worldline._src.jit import Stage
    from worldline._src.scalar.lanes import LANES4, LANES8, native_width
    from worldline._src.step import constraints, dynamics, runner  # noqa: F401 - they define the stages

    compile_ahead(Stage.registry[name] for name in (*FIRST_STAGES, *STAGES))
    lanes = LANES8 if native_width() == 8 else LANES4
    loop: Any = runner.RUNNERS[lanes.name]
    compile_ahead([loop, *(Stage.registry[name] for name in LANE_STAGES)], lanes)


def _first_world(console: Console) -> None:
    """A box falls for a tenth of a second."""
    from worldline import simulation as sx
    from worldline._src.progress import compilations

    world = sx.World(time_step=0.001)
    box = world.add_rigid_body("box", mass=1.0, position=(0.0, 0.0, 0.5))
    world.step(n=100)
    compilations.hide()
    console.print(f"a box after {world.time:g} s of free fall: height {box.translation[2]:.4f} m\n")


def build_arm() -> tuple[World, Multibody]:
    """An upright arm of three hinges whose drives know the targets, and whose weight is compensated."""
    from worldline import simulation as sx

    world = sx.World(time_step=0.001)
    arm, parent = world.add_multibody("arm"), None
    for name, axis, height in (("base", "z", 0.0), ("upper", "y", 0.2), ("fore", "y", 0.4)):
        X_PJ = np.eye(4)
        X_PJ[2, 3] = height
        parent = arm.add_link(
            name,
            parent,
            sx.JointSpec(name=f"{name}_joint", axis=AXES[axis], transform_to_parent=X_PJ),
            mass=2.0,
            inertia=np.diag([0.03, 0.03, 0.005]),
            center_of_mass=(0.0, 0.0, 0.2),
        )
        parent.gravity_compensation = 1.0
    for joint in arm.joints:
        joint.target_stiffness, joint.target_damping = 120.0, 24.0
    return world, arm


def _arm(console: Console, seconds: float) -> None:
    """Position drives take the arm to a pose."""
    world, arm = build_arm()
    arm.joints.target_position = target = np.array([0.8, 0.6, 1.1])
    steps = round(seconds / world.time_step / 20)
    for _ in track(range(20), description="driving an arm of 3 joints", console=console):
        world.step(n=max(steps, 1))
    off = np.degrees(np.abs(arm.joints.position - target).max())
    at = arm.links["fore"].translation
    console.print(
        f"  after {world.time:g} s: joints within {off:.1e} degrees of their targets, "
        f"elbow at ({at[0]:.3f}, {at[1]:.3f}, {at[2]:.3f}) m\n"
    )


def _walker(console: Console, seconds: float) -> None:
    """A robot with servos falls on its feet; then something pushes its chest for a tenth of a second."""
    from worldline import msd
    from worldline import simulation as sx

    world = sx.World.from_scene(msd.from_str(WALKER.read_text("utf-8"), format="mjcf"))
    robot = world.multibodies["pelvis"]
    pelvis, chest = robot.links["pelvis"], robot.links["chest"]
    table = Table(title=f"a robot of {robot.mass:.0f} kg and {robot.num_dofs} degrees of freedom on a plane")
    for column in ("time, s", "energy, J", "contacts", "deepest, mm", "pelvis height, m", ""):
        table.add_column(column, justify="left" if not column else "right")

    def report(what: str) -> None:
        now = world.compute_step_metrics()
        table.add_row(
            f"{world.time:.2f}",
            f"{now.total_energy:.1f}",
            f"{now.active_contact_count}",
            f"{1e3 * now.max_penetration_depth:.2f}",
            f"{pelvis.translation[2]:.3f}",
            what,
        )

    report("let go")
    total = round(seconds / world.time_step)
    push, after = total // 3, total // 3 + 50
    parts = [
        (end, what) for end, what in ((push, "before the push"), (after, "after the push")) if end < total
    ]
    for end, what in track([*parts, (total, "at the end")], "dropping and pushing a robot", console=console):
        if end == after:
            while world.frame < end:
                chest.apply_force((250.0, 0.0, 0.0))
                world.step()
        world.step(n=end - world.frame)
        report(what)
    console.print(table, "")


def _swing(console: Console, seconds: float) -> None:
    """A chain of 7 let go from the side, by the classical Runge-Kutta method."""
    from worldline import model as wm
    from worldline._src.step.samples import chain

    model = chain(7)
    state = model.state()
    state.joint_q[0] = 0.5 * np.pi
    start_energy = float(wm.potential_energy(model, state.joint_q))
    steps = round(seconds / 1e-3 / 20)
    for _ in track(range(20), description="swinging a chain of 7 links", console=console):
        wm.step(model, state, steps=max(steps, 1), dt=1e-3, integration_family="runge-kutta-4")
    moving = float(wm.kinetic_energy(model, state.joint_q, state.joint_qd))
    lost = abs(moving + float(wm.potential_energy(model, state.joint_q)) - start_energy)
    tip = wm.forward_kinematics(model, state.joint_q)[-1, :3]
    console.print(
        f"  after {seconds:g} s: last link at ({tip[0]:.4f}, {tip[1]:.4f}, {tip[2]:.4f}) m, "
        f"energy off by {lost:.1e} J of {moving:.2f} J in motion\n"
    )


def _batch(console: Console, worlds: int) -> None:
    """The algorithms on a floating tree of 38 links in many worlds."""
    from worldline import model as wm
    from worldline._src.step.samples import humanoid

    model = humanoid()
    rng = np.random.default_rng(0)
    q = wm.random_configuration(model, rng, worlds=worlds)
    v, u = rng.normal(size=(2, worlds, model.joint_dof_count))
    jobs = {
        "forward kinematics": lambda **k: wm.forward_kinematics(model, q, **k),
        "inverse dynamics": lambda **k: wm.inverse_dynamics(model, q, v, u, **k),
        "forward dynamics": lambda **k: wm.forward_dynamics(model, q, v, u, **k),
        "mass matrix": lambda **k: wm.mass_matrix(model, q, **k),
    }
    table = Table(title=f"humanoid of 38 links, {worlds} worlds, microseconds per world")
    for column in ("", "one at a time", "in lanes", "lanes, all threads", "equal bits"):
        table.add_column(column, justify="left" if not column else "right")
    for name, job in track(jobs.items(), description="running the humanoid", console=console):
        results, times = [], []
        for options in ({"lanes": 1}, {}, {"threads": 0}):
            out = job(**options)
            start = time.perf_counter()
            job(**options, out=out)
            times.append(f"{(time.perf_counter() - start) / worlds * 1e6:.2f}")
            results.append(out)
        equal = all(np.array_equal(results[0], r) for r in results[1:])
        table.add_row(name, *times, "yes" if equal else "NO")
    console.print(table)
