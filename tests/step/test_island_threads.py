# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Islands of one World solved by several threads: the bits, reports and failures of one thread."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.step.test_body_rows import heap

from worldline import StepFailure, msd
from worldline import simulation as sx
from worldline._src.jit import DISABLED
from worldline._src.kernels.constraints import tables as t
from worldline._src.kernels.program import caller
from worldline._src.kinds import float64
from worldline._src.step import island_sharing as sharing
from worldline._src.step.constraints import Constraints
from worldline._src.step.island_helpers import HelperMemory, scratch_columns
from worldline._src.step.island_stages import solve_islands, solve_next_island
from worldline._src.step.step_table import COLLISION, CONSTRAINT, MULTIBODY
from worldline.collision import CollisionShape

pytestmark = pytest.mark.skipif(DISABLED, reason="threads run compiled code")

STEPS = 240
Solver = sx.ContactSolverMethod
Family = sx.MultibodyIntegrationFamily

_COPY = """
  <body pos="{x} 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
  <body pos="{x} .02 .31"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body>
  <body pos="{x} 1 .3"><freejoint/><geom type="ellipsoid" size=".1 .08 .06" mass=".5"/></body>
  <body pos="{x} 2 .5"><freejoint/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".05" mass="2"/>
    <body pos="0 0 0"><joint name="hip{k}" axis="0 1 0" range="-40 40" frictionloss=".2"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".04" mass=".5"/>
      <body pos="0 0 -.3"><joint name="knee{k}" axis="0 1 0" range="-90 5" damping=".1"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass=".3"/></body></body></body>
  <body name="a{k}" pos="{x} 3 1"><joint axis="1 0 0"/>
    <geom type="capsule" fromto="0 0 0 0 .3 0" size=".03" mass="1"/></body>
  <body name="b{k}" pos="{x} 3.6 1"><joint axis="1 0 0" range="-20 20"/>
    <geom type="capsule" fromto="0 0 0 0 -.3 0" size=".03" mass="{mass}"/></body>"""


def mixed(copies: int = 4, options: str = "", condim: int = 3) -> sx.World:
    """Stacks, stones, robots with limits, friction, tendons and motors, and pairs of tied pendulums."""
    parts = {"bodies": "", "tendons": "", "ties": "", "motors": ""}
    for k in range(copies):
        parts["bodies"] += _COPY.format(k=k, x=1.5 * k, mass=1 + 0.2 * k)
        joints = f'<joint joint="hip{k}" coef="1"/><joint joint="knee{k}" coef=".5"/>'
        parts["tendons"] += f'<fixed name="sum{k}" range="-.1 .1" limited="true">{joints}</fixed>'
        parts["ties"] += f'<connect body1="a{k}" body2="b{k}" anchor="0 .3 0"/>'
        parts["motors"] += f'<motor joint="hip{k}" gear="3"/>'
    text = f"""<mujoco><compiler angle="degree"/><option timestep="0.002" {options}/>
      <default><geom condim="{condim}"/></default>
      <worldbody><geom type="plane" size="99 99 1"/>{parts["bodies"]}</worldbody>
      <tendon>{parts["tendons"]}</tendon><equality>{parts["ties"]}</equality>
      <actuator>{parts["motors"]}</actuator></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.actuator_controls = 0.5 * np.cos(np.arange(copies))
    return world


def piles(solver: Solver, bodies: int = 5, **keywords: Any) -> sx.World:
    """Three piles of hard bodies that bounce, slide and roll."""
    world = sx.World(time_step=0.002, contact_solver_method=solver, **keywords)
    world.add_ground_plane()
    shapes = (
        CollisionShape.box((0.1, 0.08, 0.06)),
        CollisionShape.sphere(0.09),
        CollisionShape.capsule(0.06, 0.08),
    )
    for k in range(3 * bodies):
        place = (0.02 * (k % 2) + k % 3, 0.01 * (k % 5), 0.15 + 0.2 * (k // 3))
        body = world.add_rigid_body(f"b{k}", mass=0.5 + 0.1 * (k % 4), position=place)
        body.set_collision_shape(shapes[k % 4 % 3])
        body.friction, body.restitution = 0.5, 0.4 if k % 2 == 0 else 0.0
    return world


def sleepers() -> sx.World:
    """Piles of which two come to rest, and the third is hit by a ball later."""
    options = sx.DeactivationOptions(
        enabled=True, linear_speed_threshold=0.05, angular_speed_threshold=0.2, time_until_sleep=0.05
    )
    world = sx.World(time_step=0.002, deactivation_options=options)
    world.add_ground_plane()
    for k in range(6):
        body = world.add_rigid_body(f"b{k}", position=(k % 3, 0.0, 0.1 + 0.2 * (k // 3)))
        body.set_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    ball = world.add_rigid_body("ball", position=(2.0, 0.0, 1.2))
    ball.set_collision_shape(CollisionShape.sphere(0.1))
    return world


SCENES: dict[str, Callable[[], sx.World]] = {
    "robots and stacks": mixed,
    "elliptic cones": lambda: mixed(options='cone="elliptic" impratio="3"'),
    "rolling friction": lambda: mixed(condim=6),
    "no slip": lambda: mixed(options='noslip_iterations="4"'),
    "implicit damping": lambda: mixed(options='integrator="implicitfast"'),
    "runge-kutta": lambda: mixed(options='integrator="RK4"'),
    "sleeping": sleepers,
    **{f"robots, {one.value}": lambda one=one: _with_solver(mixed(), one) for one in Solver},
    **{f"hard piles, {one.value}": lambda one=one: piles(one) for one in Solver},
    "large piles": lambda: piles(Solver.SEQUENTIAL_IMPULSE, 26),
}


def _with_solver(world: sx.World, solver: Solver) -> sx.World:
    world.contact_solver_method = solver
    return world


def _rows(world: sx.World) -> Constraints:
    constraints = world._live().constraints
    assert constraints is not None
    return constraints


def _memory(world: sx.World) -> HelperMemory:
    memory = world._live().sim.helper_memory
    assert memory is not None
    return memory


def observed(world: sx.World) -> list[Any]:
    """All that a step leaves."""
    contacts = [np.concatenate([one.point, one.force]).tolist() for one in world.get_last_contact_forces()]
    column = _rows(world).column
    rows = int(column.counter[t.ALL_ROWS])
    records = [column[name][:rows].tolist() for name in ("row_of", "residual", "force", "missed")]
    own = [column[name].tolist() for name in ("equality_row", "qfrc", "tree_closed", "tree_group")]
    return [world.state_vector.tolist(), str(world.step_report()), contacts, *records, *own]


def _poison(world: sx.World) -> None:
    """Scratch of other threads that no solution may depend on."""
    for own in _memory(world).helpers:
        own._numbers[:] = np.nan


def _helped(world: sx.World) -> bool:
    """Whether another thread solved an island of the last step."""
    memory = _memory(world)
    return bool(memory.notes[: world.step_report().islands, sharing.THREAD].any())


@pytest.mark.parametrize("name", SCENES)
def test_threads_change_no_bit(name):
    alone = SCENES[name]()
    others = {workers: SCENES[name]() for workers in (2, 3)}
    executors = {workers: sx.ParallelExecutor(workers) for workers in others}
    for k in range(6):
        alone.step(STEPS // 6)
        for workers, world in others.items():
            world.step(STEPS // 6, executor=executors[workers])
            assert observed(world) == observed(alone), (workers, k)
            _poison(world)
    for executor in executors.values():
        executor.close()


def test_another_thread_takes_part():
    world = mixed()
    world.step()
    before = world.memory_diagnostics.constraint_bytes
    with sx.ParallelExecutor(2) as executor:
        world.step(executor=executor)
        while not _helped(world):
            world.step(50, executor=executor)
    assert world.memory_diagnostics.constraint_bytes == before + _memory(world).nbytes > before


def _written(world: sx.World, seed: int) -> list[dict[str, set[int]]]:
    """By island, the elements of all arenas that its solution changes."""
    sim = world._live().sim
    sim.v[:] += 0.2 * np.random.default_rng(seed).normal(size=sim.v.shape)
    sim.written()
    sets, run = sim.sets, caller()
    at = [stage for stage, _ in sim.schedule].index(solve_islands)
    for stage, place in sim.schedule[:at]:
        run(np.array([stage.address(float64)]), *sets[place])
    arenas = {
        f"{name} {k}": arena
        for name, place in (("trees", MULTIBODY), ("rows", CONSTRAINT), ("collision", COLLISION))
        for k, arena in enumerate(sets[place])
    }
    found = []
    column = _rows(world).column
    column.island_asleep[:] = 0
    for i in range(int(column.counter[t.ISLANDS])):
        before = {name: arena.copy() for name, arena in arenas.items()}
        column.counter[t.ISLAND] = i
        run(np.array([solve_next_island.address(float64)]), *sets[CONSTRAINT])
        found.append({n: set(np.flatnonzero(before[n] != arena).tolist()) for n, arena in arenas.items()})
    return found


@pytest.mark.parametrize("name", [name for name in SCENES if name != "sleeping"])
def test_islands_share_no_element_but_scratch(name):
    """What two islands of a step write to is scratch or a counter, of which every thread has its own."""
    world = SCENES[name]()
    world.step(80)
    block = _rows(world).block
    own: dict[str, set[int]] = {
        "rows 0": set(range(len(block.m))),
        "rows 1": set(),
        "rows 2": set(range(t.LINKS)),
        "rows 3": set(),
    }
    for one in scratch_columns():
        arena = {"c": 1, "args": 2, "d": 3}[one.space]
        start = int(block.m[t.TABLE.entry[one.name]])
        own[f"rows {arena}"] |= set(range(start, start + block.column[one.name].size))
    shared = 0
    for seed in range(3):
        taken: dict[tuple[str, int], int] = {}
        for i, written in enumerate(_written(world, seed)):
            for name, places in written.items():
                for place in places - own.get(name, set()):
                    assert taken.setdefault((name, place), i) == i, (name, place)
                shared += len(places)
    assert len(set(taken.values())) > 2 and shared > 100


def test_islands_of_kinematic_bodies_are_solved_by_one_thread():
    """A moving plate touches two stacks: their islands have its columns in common."""
    worlds = []
    with sx.ParallelExecutor(2) as executor:
        for by in (None, executor):
            world = sx.World(time_step=0.002)
            plate = world.add_rigid_body(
                "plate", position=(0, 0, -0.1), linear_velocity=(0.1, 0, 0), kinematic=True
            )
            plate.set_collision_shape(CollisionShape.box((3.0, 3.0, 0.1)))
            for k in range(3):
                body = world.add_rigid_body(f"b{k}", position=(k, 0, 0.1))
                body.set_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
            world.step(100, executor=by)
            worlds.append(world)
        assert not _memory(worlds[1]).notes.any()
    assert observed(worlds[0]) == observed(worlds[1])


def test_an_island_that_diverges_fails_as_on_one_thread():
    """A body that gets too far: the step is taken back, and the error is that of one thread."""
    errors = []
    with sx.ParallelExecutor(2) as executor:
        for by in (None, executor):
            world = piles(Solver.NEWTON, divergence_limit=1e4)
            world.add_rigid_body("far", position=(9990.0, 0.0, 5.0), linear_velocity=(100.0, 0.0, 0.0))
            with pytest.raises(StepFailure) as caught:
                world.step(1000, executor=by)
            errors.append((str(caught.value), world.frame, observed(world)))
            assert world._live().sim.crew is None
    assert errors[0] == errors[1] and "far" in errors[0][0] and 40 < errors[0][1] < 60


def test_functions_of_the_user_run_between_islands():
    """Controllers, forces, observers and recordings: the same calls, errors and states."""
    ends = []
    with sx.ParallelExecutor(2) as executor:
        for by in (None, executor):
            world, calls = mixed(), []
            world.add_controller("c", lambda step, calls=calls: calls.append(float(step.q[0])))
            world.add_observer("o", lambda step, calls=calls: calls.append(float(step.v[2])))
            world.replay.enabled = True
            world.step(20, executor=by)

            def fail(step: Any) -> None:
                raise RuntimeError("enough")

            world.add_observer("f", fail)
            with pytest.raises(RuntimeError, match="enough"):
                world.step(5, executor=by)
            world.remove_step_function("f")
            world.step(5, executor=by)
            ends.append((calls, observed(world), world.frame))
    assert ends[0] == ends[1]


def test_arrays_that_grow_in_a_step_do_so_for_all_threads():
    """More contacts than a World begins with room for, beside three islands of one body."""
    ends = []
    balls = "".join(
        f'<body pos="{5 + k} 0 .1"><freejoint/><geom size=".1" mass="1"/></body>' for k in range(3)
    )
    text = heap("condim 3", 50, shapes=("box",)).replace("</worldbody>", balls + "</worldbody>")
    with sx.ParallelExecutor(2) as executor:
        for by in (None, executor):
            world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
            world.enter_simulation_mode()
            room = _rows(world).sizes["ncontact"]
            world.step(10, executor=by)
            assert _rows(world).sizes["ncontact"] > room
            ends.append(observed(world))
    assert ends[0] == ends[1]


def test_copies_and_small_worlds():
    """Clones and pickles take no threads along; few islands are solved by the caller's thread."""
    with sx.ParallelExecutor(2) as executor:
        world = mixed()
        world.step(20, executor=executor)
        copies = [world.clone(), copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
        world.step(20, executor=executor)
        for one in copies:
            one.step(20)
            assert np.array_equal(one.state_vector, world.state_vector)
    with sx.ParallelExecutor(2, inline_threshold=1000) as executor:
        world = mixed()
        world.step(20, executor=executor)
        assert not _memory(world).notes.any()


def _step_in_a_child(world: sx.World, executor: sx.ParallelExecutor, steps: int, answer: Any) -> None:
    world.step(steps, executor=executor)
    answer.put(world.state_vector.tolist())


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot fork here"
)
def test_a_forked_process_steps_with_threads_of_its_own():
    context = multiprocessing.get_context("fork")
    with sx.ParallelExecutor(2) as executor:
        world = mixed()
        world.step(20, executor=executor)
        answer = context.Queue()
        child = context.Process(target=_step_in_a_child, args=(world, executor, 30, answer))
        child.start()
        end = answer.get(timeout=120)
        child.join()
        world.step(30, executor=executor)
    assert end == world.state_vector.tolist()
