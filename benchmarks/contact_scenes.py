# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Scenes full of contact, stepped by Worldline, MuJoCo, MotrixSim and dartpy.

Asked, in steps per second beside MuJoCo on one thread with the same model and time step: a humanoid that
falls and lies 1.5, a pile of 50 boxes and 50 spheres 3, a stack of ten boxes 1.0, an arm with a gripper and
a box 1.0; and five times dartpy where it can run the scene, which stacks and ants do not reach with
dartpy's defaults. Every scene is stepped as its file loads it, by Newton's method; the pile also by
sequential impulses, an answer that is not as exact. MuJoCo and MotrixSim read the same text. dartpy gets
boxes and spheres by its own calls, and robots by its own reader, of which it takes all but free joints
under their short name and planes without end; its reader loses the box of the gripper. Ants take Euler
steps here, the only ones dartpy has (`stepping` has them as they are, with steps of four stages). Nobody
sleeps: dartpy would leave out what has come to rest. Peers that are not there are left out.
"""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from rich.console import Console
from rich.table import Table

import worldline
from benchmarks.timing import turns_of
from worldline import msd
from worldline import simulation as sx

H = 0.002
FRICTION = 0.6


def free_bodies(places: np.ndarray, boxes: np.ndarray, half: float) -> str:
    """A floor with boxes and spheres."""
    text = f'<mujoco><option timestep="{H}"/><worldbody>'
    text += f'<geom type="plane" size="5 5 0.1" friction="{FRICTION} 0.005 0.0001"/>'
    for place, box in zip(places, boxes, strict=True):
        kind, size, mass = ("box", f"{half} {half} {half}", 1.0) if box else ("sphere", f"{half}", 0.5)
        text += f'<body pos="{place[0]:.4f} {place[1]:.4f} {place[2]:.4f}"><freejoint/>'
        text += f'<geom type="{kind}" size="{size}" mass="{mass}" friction="{FRICTION} 0.005 0.0001"/></body>'
    return text + "</worldbody></mujoco>"


def stack(count: int = 10) -> tuple[np.ndarray, np.ndarray, float]:
    """Boxes of 0.2 m, a millimetre apart."""
    places = np.array([(0.0, 0.0, 0.101 + 0.201 * k) for k in range(count)])
    return places, np.ones(count, bool), 0.1


def pile() -> tuple[np.ndarray, np.ndarray, float]:
    """Four layers of 5 x 5 boxes and spheres of 0.1 m in turns, shifted a little."""
    rng = np.random.default_rng(7)
    k, i, j = np.meshgrid(range(4), range(5), range(5), indexing="ij")
    places = np.stack([0.14 * (i - 2), 0.14 * (j - 2), 0.12 + 0.14 * k], axis=-1).reshape(-1, 3)
    places[:, :2] += rng.uniform(-0.015, 0.015, (100, 2))
    return places, np.arange(100) % 2 == 0, 0.05


_ARM = (
    ("0 0 .3", "0 0 1", "0 0 .3", 3.0),
    ("0 0 .3", "0 1 0", "0 0 .3", 2.0),
    ("0 0 .3", "0 0 1", ".3 0 0", 2.0),
    (".3 0 0", "0 1 0", ".15 0 0", 1.0),
    (".15 0 0", "1 0 0", "0 0 -.15", 1.0),
    ("0 0 -.15", "0 1 0", "0 0 -.1", 0.5),
    ("0 0 -.1", "0 0 1", "0 0 -.02", 0.3),
)
"""Place, axis, end of the capsule and mass of the links of an arm."""


def gripper() -> str:
    """An arm of seven joints whose springs hold it, two fingers that close, and a box between them."""
    text = f'''<mujoco><option timestep="{H}" cone="elliptic" impratio="10"/>
      <default><geom friction="1 0.01 0.001"/></default><worldbody><geom type="plane" size="3 3 0.1"/>'''
    for place, axis, end, mass in _ARM:
        text += f'''<body pos="{place}"><joint axis="{axis}" stiffness="400" damping="8" armature="0.1"/>
          <geom type="capsule" fromto="0 0 0 {end}" size=".03" mass="{mass}"/>'''
    for x, axis in ((0.06, -1), (-0.06, 1)):
        text += f'''<body pos="{x} 0 -.06">
          <joint type="slide" axis="{axis} 0 0" stiffness="200" springref="0.05" damping="4"/>
          <geom type="box" size=".008 .02 .05" mass=".1"/></body>'''
    text += "</body>" * len(_ARM)
    return (
        text
        + """<body pos=".45 0 .575"><freejoint/><geom type="box" size=".03 .03 .03" mass=".2"/></body>
      </worldbody></mujoco>"""
    )


def robots() -> list[tuple[str, str]]:
    """Name and text of robots of gymnasium, where it is installed."""
    spec = importlib.util.find_spec("gymnasium")
    if spec is None or spec.origin is None:
        return []
    folder = Path(spec.origin).parent / "envs/mujoco/assets"
    names = {"ant": "ant", "half-cheetah": "half_cheetah"}
    found = [(name, (folder / f"{file}.xml").read_text()) for name, file in names.items()]
    return [(name, text.replace('integrator="RK4"', 'integrator="Euler"')) for name, text in found]


def scenes() -> list[tuple[str, str, float, sx.ContactSolverMethod, Any, int]]:
    """Name, text, what is asked, method, what makes dartpy's world, steps."""
    newton = sx.ContactSolverMethod.NEWTON
    impulses = sx.ContactSolverMethod.SEQUENTIAL_IMPULSE
    humanoid = Path(worldline.__file__).parent / "_src/cli/data/humanoid.xml"
    return [
        ("humanoid, falling and lying", humanoid.read_text(), 1.5, newton, dart_robot, 1000),
        *((name, text, 1.2, newton, dart_robot, 1000) for name, text in robots()),
        ("pile of 100", free_bodies(*pile()), 3.0, newton, lambda _: dart_world(*pile()), 1000),
        ("pile of 100, sequential impulses", free_bodies(*pile()), 3.0, impulses, None, 1000),
        ("stack of 10", free_bodies(*stack()), 1.0, newton, lambda _: dart_world(*stack()), 1000),
        ("arm, gripper and box", gripper(), 1.0, newton, None, 1000),
    ]


def dart_world(places: np.ndarray, boxes: np.ndarray, half: float) -> Any:
    """The same bodies by dartpy's own calls."""
    import dartpy as dart

    world = dart.simulation.World()
    world.setTimeStep(H)
    world.setGravity([0, 0, -9.81])

    def body(name: str, shape: Any, place: np.ndarray, mass: float | None) -> None:
        skeleton = dart.dynamics.Skeleton(name)
        made = skeleton.createFreeJointAndBodyNodePair if mass else skeleton.createWeldJointAndBodyNodePair
        joint, node = made()
        shaped = node.createShapeNode(shape)
        shaped.createCollisionAspect()
        shaped.createDynamicsAspect().setFrictionCoeff(FRICTION)
        if mass:
            inertia = dart.dynamics.Inertia()
            inertia.setMass(mass)
            inertia.setMoment(shape.computeInertia(mass))
            node.setInertia(inertia)
            joint.setPositions([0, 0, 0, *place])
        else:
            pose = np.eye(4)
            pose[:3, 3] = place
            joint.setTransformFromParentBodyNode(dart.math.Isometry3(pose))
        world.addSkeleton(skeleton)

    body("floor", dart.dynamics.BoxShape([10, 10, 0.2]), np.array([0, 0, -0.1]), None)
    for k, (place, box) in enumerate(zip(places, boxes, strict=True)):
        shape = dart.dynamics.BoxShape([2 * half] * 3) if box else dart.dynamics.SphereShape(half)
        body(f"b{k}", shape, place, 1.0 if box else 0.5)
    return world


def dart_robot(text: str) -> Any:
    """A robot as dartpy reads it, with Bullet's collisions, since it has no others of capsules."""
    import dartpy as dart

    root = etree.fromstring(text.encode(), etree.XMLParser(remove_comments=True))
    for joint in root.iter("freejoint"):
        joint.tag = "joint"
        joint.set("type", "free")
    for geom in root.iter("geom"):
        if geom.get("type") == "plane":
            geom.set("size", "20 20 0.1")
    option = root.find("option")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xml"
        path.write_bytes(etree.tostring(root))
        world = dart.utils.MjcfParser.readWorld(str(path))
    world.setTimeStep(H if option is None else float(option.get("timestep", H)))
    world.getConstraintSolver().setCollisionDetector(dart.collision.BulletCollisionDetector())
    return world


def _others(text: str, steps: int) -> tuple[dict[str, Callable[[], object]], Callable[[], object]]:
    """Jobs of the peers that are installed, and what puts them back to the start."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    jobs: dict[str, Callable[[], object]] = {"MuJoCo": lambda: mujoco.mj_step(model, data, steps)}
    again: list[Callable[[], object]] = [lambda: mujoco.mj_resetData(model, data)]
    if importlib.util.find_spec("motrixsim") is not None:
        import motrixsim

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scene.xml"
            path.write_text(text)
            scene = motrixsim.load_model(str(path))
        state = motrixsim.SceneData(scene)
        jobs["MotrixSim"] = lambda: scene.step_n(state, steps)
        again.append(lambda: state.reset(scene))
    return jobs, lambda: [job() for job in again]


def dart_time(make: Callable[[str], Any], text: str, steps: int, velocities: int) -> float | None:
    """Seconds that dartpy takes for all steps from the start, the least of some tries that take not too long.

    None when its world has fewer degrees of freedom: then it cannot run the scene.
    """
    least = None
    for _ in range(4):
        world = make(text)
        awake = world.getDeactivationOptions()
        awake.mEnabled = False
        world.setDeactivationOptions(awake)
        if sum(world.getSkeleton(k).getNumDofs() for k in range(world.getNumSkeletons())) != velocities:
            return None
        start = time.perf_counter()
        for _ in range(steps):
            world.step()
        took = time.perf_counter() - start
        least = took if least is None else min(took, least)
        if took > 5.0:
            break
    return least


def run(console: Console) -> None:
    """Print the table."""
    table = Table(title="steps per second, one thread; ratios are Worldline's over the peer's")
    columns = ("scene", "Worldline", "MuJoCo", "ratio", "ratio, median", "asked")
    for column in (*columns, "MotrixSim", "ratio", "dartpy", "ratio"):
        table.add_column(column, justify="left" if column == "scene" else "right")
    for name, text, asked, method, dart, steps in scenes():
        world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
        world.contact_solver_method = method
        world.enter_simulation_mode()
        others, restart = _others(text, steps)
        turns = turns_of(
            {"Worldline": lambda w=world, n=steps: w.step(n), **others},
            before=lambda w=world, r=restart: (w.reset(), r()),
            rounds=4,
        )
        times = {peer: float(found.min()) for peer, found in turns.items()}
        if dart is not None and importlib.util.find_spec("dartpy") is not None:
            took = dart_time(dart, text, steps, world._live().model.joint_dof_count)
            times |= {} if took is None else {"dartpy": took}
        ours = steps / times["Worldline"]
        row = [name, f"{ours:,.0f}"]
        for peer in ("MuJoCo", "MotrixSim", "dartpy"):
            rate = steps / times[peer] if peer in times else None
            row += [f"{rate:,.0f}" if rate else "", f"{ours / rate:.2f}" if rate else ""]
            if peer == "MuJoCo":
                middle = np.median(turns["MuJoCo"]) / np.median(turns["Worldline"])
                row += [f"{middle:.2f}", f"{asked}"]
        table.add_row(*row)
        world.reset()
        world.step(steps)
        report = world.step_report()
        if not np.isfinite(world.kinetic_energy):
            raise RuntimeError(f"{name}: the state is not finite")
        console.print(f"{name}: {report.contacts} contacts, deepest {1e3 * report.max_penetration:.2f} mm")
    console.print(table)
