# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Room for contacts, pairs and islands: it grows, nothing is dropped, and no bit depends on when it grew."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.collision import arenas
from worldline._src.errors import CapabilityError
from worldline._src.facade import runtime
from worldline._src.kernels.constraints import tables as t
from worldline._src.step import constraints as laid_out
from worldline._src.step.constraints import Constraints
from worldline._src.step.room import Room
from worldline.collision import CollisionShape
from worldline.model import LaneSimulation, ModelBuilder

AMPLE = Room(contacts=4000, pairs=20000, jacobian=1 << 23, square=1 << 20)
"""More than any scene below needs."""


def world_of(shape, inertia, positions, **options):
    """A World of equal free bodies of 1 kg on a plane."""
    world = sx.World(time_step=0.002, **options)
    world.add_ground_plane()
    for k, position in enumerate(positions):
        body = world.add_rigid_body(f"body_{k}", mass=1.0, inertia=inertia, position=position)
        body.add_collision_shape(shape)
    return world


def boxes(positions, half=(0.1, 0.1, 0.1), **options):
    squares = np.square(half)
    return world_of(CollisionShape.box(half), np.diag(squares.sum() - squares) / 3.0, positions, **options)


def balls(positions, radius=0.1, **options):
    return world_of(CollisionShape.sphere(radius), 0.4 * radius**2 * np.eye(3), positions, **options)


def cube_of_boxes(lift=0.0, gap=0.0, **options):
    """Eight boxes, two by two by two; `lift` and `gap` keep them apart at the start [m]."""
    side = 0.2 + gap
    grid = [(side * i, side * j, 0.1 + lift + side * k) for k in range(2) for j in range(2) for i in range(2)]
    return boxes(grid, **options)


def hexagonal(count, radius=0.1, gap=1e-4):
    """Centres of balls in hexagonal layers, `count` along every edge, with a gap between neighbours [m]."""
    side = 2.0 * radius + gap
    return [
        (
            side * (i + 0.5 * ((j + k) % 2)),
            side * np.sqrt(0.75) * (j + (k % 2) / 3.0),
            radius + gap + side * np.sqrt(2.0 / 3.0) * k,
        )
        for k in range(count)
        for j in range(count)
        for i in range(count)
    ]


def heights(world):
    return world._live().sim.fresh_poses()[:, 2]


def bits(world):
    sim = world._live().sim
    return b"".join(array.tobytes() for array in (sim.q, sim.v, sim.a))


def sizes(world):
    return world._live().constraints.sizes


@pytest.fixture
def scarce(monkeypatch):
    """Worlds begin with room for next to nothing."""
    monkeypatch.setattr(laid_out, "_CONTACT_ROOM", -100000)
    monkeypatch.setattr(laid_out, "_JACOBIAN_ROOM", 0)
    monkeypatch.setattr(laid_out, "_SQUARE_ROOM", 0)
    monkeypatch.setattr(arenas, "PAIRS_A_SHAPE", 0)
    monkeypatch.setattr(runtime, "Constraints", partial(Constraints, room=Room(contacts=1)))


def ample(monkeypatch):
    monkeypatch.setattr(runtime, "Constraints", partial(Constraints, room=AMPLE))


def test_a_cube_of_eight_boxes_stands_and_keeps_its_contacts():
    world = cube_of_boxes()
    for _ in range(86):
        world.step()
        report = world.step_report()
        assert report.dropped_contacts == 0 and report.converged
    # with 100 rows of contacts the top layer sank by 0.12 m
    assert heights(world) == pytest.approx(np.repeat([0.1, 0.3], 4), abs=1e-8)


WALL = """
<mujoco>
  <option timestep="0.002" tolerance="1e-12"/>
  <worldbody><geom type="plane" size="5 5 1"/>{}</worldbody>
</mujoco>
"""
BRICK = '<body pos="{} 0 {}"><freejoint/><geom type="box" size="0.2 0.1 0.1" mass="1"/></body>'


@pytest.mark.parametrize(("columns", "rows"), [(4, 5), (5, 6), (8, 8)])
def test_a_wall_in_running_bond_moves_as_in_mujoco(columns, rows):
    # 1 mm between bricks; some 10 um more or less, so that no two corners touch in the same instant
    text = WALL.format(
        "".join(
            BRICK.format(0.401 * (i + 0.5 * (k % 2)), 0.101 + 0.201 * k + 1e-5 * ((7 * i + 3 * k) % 11))
            for k in range(rows)
            for i in range(columns)
        )
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    for _ in range(10):
        mujoco.mj_step(model, data, 10)
        world.step(10)
        assert world.step_report().dropped_contacts == 0
        # quaternions of MuJoCo have the scalar part first
        expected = data.qpos.reshape(-1, 7)[:, [0, 1, 2, 4, 5, 6, 3]]
        assert world._live().sim.q.reshape(-1, 7) == pytest.approx(expected, abs=1e-9)
    assert world.step_report().converged


def test_packed_balls_stay_above_the_ground_and_apart():
    world = balls(hexagonal(6))
    for _ in range(500):
        world.step()
        report = world.step_report()
        assert report.dropped_contacts == 0 and report.converged, report
    # all of them were in free fall at z = -4.8 when contacts were dropped
    assert heights(world).min() > 0.09
    centres = world._live().sim.fresh_poses()[:, :3]
    apart = np.linalg.norm(centres[:, None] - centres, axis=2) + np.eye(len(centres))
    assert apart.min() > 0.19


SCENES = {
    "newton": partial(cube_of_boxes, 0.02, 0.01, contact_solver_method=sx.ContactSolverMethod.NEWTON),
    "boxed": partial(cube_of_boxes, 0.02, 0.01, contact_solver_method=sx.ContactSolverMethod.BOXED_LCP),
    "impulses": partial(balls, hexagonal(3, gap=0.004)),
    "runge-kutta": partial(
        cube_of_boxes,
        0.02,
        0.01,
        multibody_options=sx.MultibodyOptions(integration_family=sx.MultibodyIntegrationFamily.RUNGE_KUTTA_4),
    ),
}


@pytest.mark.parametrize("name", SCENES)
def test_growing_in_the_middle_of_many_steps_changes_no_bit(name, scarce, monkeypatch):
    grown = SCENES[name]()
    grown.step(1)
    before = dict(sizes(grown))
    grown.step(299)
    assert sizes(grown)["ncontact"] > before["ncontact"]
    ample(monkeypatch)
    other = SCENES[name]()
    other.step(300)
    assert sizes(other)["ncontact"] == AMPLE.contacts
    assert bits(grown) == bits(other)
    assert grown.step_report().contacts == other.step_report().contacts > 8
    forces = ([(c.point.tobytes(), c.force.tobytes()) for c in world.contacts] for world in (grown, other))
    assert next(forces) == next(forces)


def test_every_array_of_a_large_island_grows(scarce):
    grown = SCENES["newton"]()
    before, pairs = dict(sizes(grown)), grown._live().constraints.collision.sizes["npair"]
    grown.step(300)
    after = sizes(grown)
    for name in ("ncontact", "nrow", "njacobian", "nsquare", "nbucket"):
        assert after[name] > before[name], name
    assert grown._live().constraints.collision.sizes["npair"] > pairs


def test_growth_in_a_profiled_step_changes_no_bit(scarce, monkeypatch):
    grown = SCENES["newton"]()
    grown.step_profiling_enabled = True
    for _ in range(120):
        grown.step()
    assert sizes(grown)["ncontact"] > 8
    assert grown.last_step_profile.get_stage("broad").calls == 1
    ample(monkeypatch)
    other = SCENES["newton"]()
    other.step(120)
    assert bits(grown) == bits(other)


def test_forces_of_the_present_are_found_with_too_little_room(scarce, monkeypatch):
    def reading(world):
        # nothing was stepped: the evaluation itself meets all contacts
        return [body.linear_acceleration.copy() for body in world.rigid_bodies]

    grown = cube_of_boxes(lift=-1e-4, gap=-1e-4)
    found = reading(grown)
    state = bits(grown)
    ample(monkeypatch)
    other = cube_of_boxes(lift=-1e-4, gap=-1e-4)
    assert np.array_equal(found, reading(other)) and state == bits(other)
    grown.step(20)
    other.step(20)
    assert bits(grown) == bits(other)


def test_sleepers_and_warm_starts_outlast_growth(scarce, monkeypatch):
    def asleep_then_hit():
        # a stack falls asleep, then the balls that fall next to it need more room
        options = sx.DeactivationOptions(enabled=True, time_until_sleep=0.1)
        stack = [(2.0, 0.0, 0.1 + 0.2 * k) for k in range(3)]
        world = boxes(stack, deactivation_options=options)
        for k in range(6):
            body = world.add_rigid_body(
                f"late_{k}", mass=1.0, inertia=np.eye(3) * 0.01, position=(0.5 * k - 4.0, 0.0, 1.0 + 0.3 * k)
            )
            body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
        return world

    grown = asleep_then_hit()
    grown.step(150)
    asleep = [body.is_sleeping for body in grown.rigid_bodies]
    room = sizes(grown)["ncontact"]
    assert asleep[:3] == [True] * 3 and not any(asleep[3:])
    grown.step(200)
    assert sizes(grown)["ncontact"] > room
    ample(monkeypatch)
    other = asleep_then_hit()
    other.step(350)
    assert bits(grown) == bits(other)
    assert [body.is_sleeping for body in grown.rigid_bodies] == [
        body.is_sleeping for body in other.rigid_bodies
    ]


def test_a_saved_world_goes_on_with_more_contacts_than_it_begins_with_room_for(tmp_path, scarce):
    options = sx.DeactivationOptions(enabled=True, time_until_sleep=0.1)
    world = cube_of_boxes(deactivation_options=options)
    world.step(100)
    world.save_binary(tmp_path / "saved")
    other = sx.World()
    other.load_binary(tmp_path / "saved")
    world.step(50)
    other.step(50)
    assert bits(world) == bits(other)


def test_controls_are_kept_when_arrays_grow(scarce):
    text = """<mujoco><worldbody><geom type="plane" size="5 5 1"/>
      <body pos="0 0 0.3"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/>
        <body pos="0 0 0.3"><joint name="hinge" axis="0 1 0"/>
          <geom type="box" size=".05 .05 .1" mass="1"/></body></body>
    </worldbody><actuator><motor joint="hinge"/></actuator></mujoco>"""
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    world.actuator_controls = [0.25]
    room = sizes(world)["ncontact"]
    world.step(200)
    assert sizes(world)["ncontact"] > room and world.actuator_controls.tolist() == [0.25]
    world.actuator_controls = [0.5]
    assert world._live().constraints.column["control"].tolist() == [0.5]


def test_a_step_that_left_something_out_has_not_converged():
    world = cube_of_boxes()
    world.step()
    assert world.step_report().converged
    world._live().constraints.column["counter"][t.DROPPED] = 1
    report = world.step_report()
    assert report.dropped_contacts == 1 and not report.converged


def test_prescribed_bodies_keep_their_columns_when_an_island_is_solved_twice():
    # overlap of 1 cm with a plate that rises: the second solve, for velocities, must know how it moves
    world = sx.World(time_step=0.002)
    plate = world.add_rigid_body("plate", mass=5.0, inertia=0.01 * np.eye(3), linear_velocity=(0.0, 0.0, 0.2))
    plate.add_collision_shape(CollisionShape.box((0.5, 0.5, 0.05)))
    plate.is_kinematic = True
    box = world.add_rigid_body("box", mass=1.0, inertia=0.01 * np.eye(3), position=(0.0, 0.0, 0.14))
    box.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    world.step()
    assert world._live().constraints.column["counter"][t.IS_SPLIT] == 1
    assert world._live().sim.v[8] == pytest.approx(0.2, abs=1e-6)


# ---- memory


def laid_out_bytes(world):
    used = world.memory_diagnostics
    return sum(value for value in used if isinstance(value, int))


@pytest.mark.parametrize("make", [balls, boxes])
def test_memory_grows_with_the_bodies_and_not_with_their_square(make):
    used = []
    for count in (128, 256, 512):
        world = make([(0.5 * (k % 16), 0.5 * (k // 16), 0.0999) for k in range(count)])
        world.step()
        assert world.step_report().islands == count
        used.append(laid_out_bytes(world))
    # a straight line; hash tables double
    assert used[2] - used[1] < 2.3 * (used[1] - used[0])
    assert used[2] < 30_000 * 512


def test_one_heap_of_many_boxes_is_laid_out_in_megabytes():
    grid = [(0.2 * (k % 6), 0.2 * (k // 6 % 6), 0.0999 + 0.1999 * (k // 36)) for k in range(300)]
    for method in (sx.ContactSolverMethod.SEQUENTIAL_IMPULSE, sx.ContactSolverMethod.NEWTON):
        world = boxes(grid, contact_solver_method=method)
        world.step()
        assert world.step_report().islands == 1 and world.step_report().dropped_contacts == 0
        # a dense Jacobian alone would have 150 MB
        assert laid_out_bytes(world) < 45e6
    asked = {option.option: option for option in world.resolved_configuration}
    assert "256 free bodies" in asked["contact_solver_method"].reason


PEAK = """
import numpy as np
from worldline import simulation as sx
from worldline.collision import CollisionShape

world = sx.World(time_step=0.002)
world.add_ground_plane()
for k in range(2000):
    where = (0.2 * (k % 10), 0.2 * (k // 10 % 10), 0.0999 + 0.1999 * (k // 100))
    body = world.add_rigid_body(f"b{k}", mass=1.0, inertia=np.eye(3) * 4e-3, position=where)
    body.add_collision_shape(CollisionShape.sphere(0.1))
world.step()
assert world.step_report().dropped_contacts == 0
# not ru_maxrss: a process inherits the peak of the one that started it
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_two_thousand_balls_fit_into_little_memory():
    done = subprocess.run([sys.executable, "-c", PEAK], check=True, capture_output=True, text=True)
    # in KB, with the interpreter and what it compiles on the way; they did not fit into 16 GB
    assert int(done.stdout.split()[-1]) < 1_000_000


def test_arrays_of_solvers_that_are_not_chosen_have_no_elements():
    world = cube_of_boxes()
    world.step()
    column = world._live().constraints.column
    for name in ("lcp_A", "lcp_work", "slip_B", "slip_L"):
        assert column[name].size == 0, name
    assert column["tree_mass"].size <= 1024  # small ones are laid out at once, in case joints are damped
    world = cube_of_boxes(contact_solver_method=sx.ContactSolverMethod.BOXED_LCP)
    world.step()
    assert world._live().constraints.column["lcp_A"].size > 0


# ---- lanes


def balls_in_lanes(count):
    builder = ModelBuilder()
    for k in range(count):
        body = builder.add_body(xform=(0.2 * k, 0.0, 0.0999, 0.0, 0.0, 0.0, 1.0))
        builder.add_shape_sphere(body, radius=0.1001)
    builder.add_ground_plane()
    return builder.finalize()


def test_lanes_have_room_for_every_contact_of_every_pair():
    worlds = LaneSimulation(balls_in_lanes(8), 4, time_step=0.002)
    worlds.step(5)
    (room,) = (room for rooms in worlds._rooms.values() for room in rooms)
    args, at = room.sets[1][2], worlds.constraints.block.m[t.TABLE.entry["counter"]]
    # all balls touch the ground and their neighbours; a cone has three rows, a pyramid four
    rows = 3 if worlds.constraints.option.friction_model == 1 else 4
    assert args[at + t.ROWS] == 15 * rows and args[at + t.DROPPED] == 0


def test_lanes_refuse_a_model_that_may_need_more_rows_than_they_have():
    with pytest.raises(CapabilityError, match="8192 rows"):
        LaneSimulation(balls_in_lanes(91), 4)
