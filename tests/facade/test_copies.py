# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""copy.deepcopy and pickle make Worlds of their own that go on bit for bit; copy.copy is refused."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from facade.every_object import every_object
from worldline import OperationError, msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

Copier = Callable[[Any], Any]
COPIERS: dict[str, Copier] = {"deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}
copiers = pytest.mark.parametrize("copied", COPIERS.values(), ids=COPIERS)


def _pile() -> sx.World:
    """Contacts with warm starts, a pair that has fallen asleep, a driven arm, a held force."""
    options = sx.DeactivationOptions(enabled=True, time_until_sleep=0.1)
    world = sx.World(time_step=0.002, deactivation_options=options)
    world.add_ground_plane()
    for k in range(3):
        box = world.add_rigid_body(f"box{k}", position=(0.01 * k, 0, 0.1 + 0.201 * k))
        box.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    rest = world.add_rigid_body("rest", position=(3, 0, 0.1))
    rest.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    arm = world.add_multibody("arm")
    arm.add_link("upper", joint=sx.JointSpec(name="hinge", axis=(0, 1, 0)), mass=1.0)
    arm.joints[0].target_stiffness, arm.joints[0].target_position = 20.0, [0.7]
    world.rigid_bodies["box2"].force = (0.3, 0, 0)
    world.sensors.add_imu("imu", attach_to=world.rigid_bodies["box2"])
    world.step(n=300)
    return world


def _bits(world: sx.World) -> tuple[Any, ...]:
    report = world.step_report()
    return (
        world.state_vector.tobytes(),
        world.control_vector.tobytes(),
        world.sensors.values.tobytes(),
        world.frame,
        world.time,
        report.iterations,
        report.rows,
        [(c.depth, c.force.tobytes()) for c in world.contacts],
        [body.is_sleeping for body in world.rigid_bodies],
    )


@copiers
def test_a_copy_goes_on_bit_for_bit_and_shares_nothing(copied: Copier) -> None:
    world = _pile()
    assert world.rigid_bodies["rest"].is_sleeping
    twin = copied(world)
    assert twin.rigid_bodies["rest"].is_sleeping
    assert twin.rigid_bodies["box0"].is_sleeping == world.rigid_bodies["box0"].is_sleeping
    assert twin.state_vector.tobytes() == world.state_vector.tobytes()
    world.step(n=100)
    before = twin.state_vector
    assert twin.frame == 300
    twin.step(n=100)
    assert not np.array_equal(before, twin.state_vector)
    assert _bits(world) == _bits(twin)
    twin.reset()
    assert (twin.frame, world.frame) == (0, 400)


@pytest.mark.parametrize("copied", [*COPIERS.values(), sx.World.clone], ids=[*COPIERS, "clone"])
def test_a_copy_of_a_large_island_has_the_masses_of_its_bodies(copied: Copier) -> None:
    """Forty balls in a block: all of a copy had the mass of the first, in islands of many bodies."""
    balls = "".join(
        f"<body pos='{0.19 * (k % 4)} {0.19 * (k // 4 % 5)} {0.1 + 0.19 * (k // 20)}'><freejoint/>"
        f"<geom size='0.1' mass='{0.5 + 0.1 * k}'/></body>"
        for k in range(40)
    )
    text = f"<mujoco><worldbody><geom type='plane' size='9 9 1'/>{balls}</worldbody></mujoco>"
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    twin = copied(world)
    for steps in (1, 20):
        world.step(n=steps)
        twin.step(n=steps)
        assert twin.state_vector.tobytes() == world.state_vector.tobytes()
        again = copied(world)
        world.step()
        twin.step()
        again.step()
        assert again.state_vector.tobytes() == world.state_vector.tobytes()


@copiers
def test_a_copy_outlives_its_original(copied: Copier) -> None:
    world = _pile()
    expected = world.clone()
    twin = copied(world)
    del world
    gc.collect()
    twin.step(n=50)
    expected.step(n=50)
    assert _bits(twin) == _bits(expected)


@copiers
def test_design_mode_profiling_and_made_up_names_are_copied(copied: Copier) -> None:
    world = sx.World(time_step=0.01, gravity=(0, 0, -1))
    world.add_rigid_body()
    world.step_profiling_enabled = True
    twin = copied(world)
    assert not twin.is_simulation_mode
    assert twin.step_profiling_enabled
    assert twin.options == world.options
    assert twin.add_rigid_body().name == world.add_rigid_body().name


def test_a_shallow_copy_is_refused_with_words() -> None:
    with pytest.raises(OperationError, match=r"World\.clone"):
        copy.copy(sx.World())
    objects = every_object()
    for name in ("body", "multibody", "hinge", "link", "closure", "marker", "sensor", "replay"):
        # one entity has one handle
        assert copy.copy(objects[name]) is objects[name]


@copiers
@pytest.mark.parametrize("stepped", [False, True])
def test_handles_follow_their_world(copied: Copier, stepped: bool) -> None:
    objects = every_object()
    world = objects["world"]
    if stepped:
        world.step(n=3)
    handles = {
        name: item
        for name, item in objects.items()
        if name not in ("joints", "links", "dofs", "bodies", "closures", "world_joints", "sensors")
    }
    twins = copied({"handles": handles, "again": handles["link"]})
    twin = twins["handles"]["world"]
    assert twin is not world
    assert twins["again"] is twins["handles"]["link"] is twin.multibodies["arm"].links["lower"]
    for name, item in handles.items():
        made = twins["handles"][name]
        assert type(made) is type(item), name
        assert made is not item, name
        assert getattr(made, "_world", twin) is twin, name
        if hasattr(item, "transform"):
            assert made.transform.tobytes() == item.transform.tobytes(), name
    assert twins["handles"]["chain"].links == [
        twin.multibodies["arm"].links[k] for k in ("upper", "lower", "hand")
    ]
    assert twins["handles"]["dof"].joint is twin.multibodies["arm"].joints["universal"]
    assert twins["handles"]["replay"] is twin.replay


@copiers
def test_one_handle_brings_its_world(copied: Copier) -> None:
    objects = every_object()
    link = copied(objects["link"])
    assert link._world is not objects["world"]
    link._world.step()
    assert objects["world"].frame == 0
    assert copied(sx.Frame.world()) is sx.Frame.world()
    objects["world"].clear()
    with pytest.raises(OperationError, match="not valid any more"):
        copied(objects["link"])


@copiers
def test_views_and_things_at_work_refuse_by_name(copied: Copier) -> None:
    objects = every_object()
    for name in ("joints", "links", "dofs", "bodies", "closures", "world_joints", "sensors"):
        kind = type(objects[name]).__name__
        with pytest.raises(OperationError, match=f"a {kind} can be neither copied nor pickled"):
            copied(objects[name])
    objects["world"].step()
    job = objects["world"].start_step(n=1)
    job.result()
    with pytest.raises(OperationError, match="StepJob"):
        copied(job)


@copiers
def test_values_are_copied(copied: Copier) -> None:
    objects = every_object()
    world = objects["world"]
    world.step()
    space = world.state_space()
    state = world.get_state(space)
    twin = copied(state)
    assert twin.space == space
    assert twin.vector.tobytes() == state.vector.tobytes()
    world.step(n=5)
    world.set_state(twin)
    assert world.state_vector.tobytes() == state.vector.tobytes()
    own = copied(sx.StateSpace().add_variable("a", 2, lower=-1.0))
    assert own.add_variable("b").finalize().lower_bounds.tolist() == [-1.0, -1.0, -np.inf]
    executor = copied(sx.compute.ParallelExecutor(2, inline_threshold=7))
    assert (executor.worker_count, executor.inline_threshold) == (2, 7)
    assert copied(world.options) == world.options
    world.replay_recording_enabled = True
    world.step(n=2)
    recording = copied(world.recording)
    assert recording.frames.tobytes() == world.recording.frames.tobytes()


class Bench(sx.World):
    """A World of a user with arguments and attributes of its own."""

    def __init__(self, size: float) -> None:
        super().__init__()
        self.size = size
        self.box = self.add_rigid_body("box", position=(0, 0, size))


@copiers
def test_a_subclass_keeps_its_attributes(copied: Copier) -> None:
    bench = Bench(2.0)
    bench.step(n=3)
    twin = copied(bench)
    assert type(twin) is Bench
    assert twin.size == 2.0
    assert twin.box is twin.rigid_bodies["box"]
    assert twin.frame == 3
    assert type(bench.clone()) is Bench


def test_a_pickle_opens_in_another_process(tmp_path: Path) -> None:
    world = _pile()
    (tmp_path / "world.pickle").write_bytes(pickle.dumps(world))
    program = (
        "import pickle, sys; world = pickle.load(open(sys.argv[1], 'rb')); world.step(n=20); "
        "print(world.frame, world.state_vector.tobytes().hex())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "world.pickle")], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    world.step(n=20)
    assert ran.stdout.split() == ["320", world.state_vector.tobytes().hex()]


def test_a_damaged_pickle_says_so() -> None:
    from worldline import SceneError

    data = bytearray(pickle.dumps(_pile()))
    data[len(data) // 2] ^= 1
    with pytest.raises(SceneError, match="pickled World"):
        pickle.loads(bytes(data))
