# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The step as something to look at: pipelines, profiles that change no bit, executors."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.cli.demo import WALKER
from worldline._src.errors import ArgumentError, NotFoundError
from worldline.simulation import compute

FAMILIES = sx.MultibodyIntegrationFamily


def walker() -> sx.World:
    return sx.World.from_scene(msd.from_str(WALKER.read_text("utf-8"), format="mjcf"))


def pendulum(family=FAMILIES.SEMI_IMPLICIT) -> sx.World:
    world = sx.World(time_step=0.01, multibody_options=sx.MultibodyOptions(integration_family=family))
    robot = world.add_multibody("pendulum")
    first = robot.add_link("upper", joint=sx.JointSpec(name="shoulder", axis=(0, 1, 0)), mass=1.0)
    robot.add_link("lower", first, sx.JointSpec(name="elbow", axis=(0, 1, 0)), mass=0.5)
    robot.joints["shoulder"].position = [0.4]
    robot.joints["elbow"].damping_coefficient = [0.3]
    for link in robot.links:
        link.center_of_mass = (0.0, 0.0, -0.5)
    return world


# ---- pipelines


def test_the_pipeline_is_what_runs():
    world = walker()
    pipeline = world.pipeline
    assert [stage.name for stage in world._live().sim.stages] == pipeline.names
    assert pipeline.names.index("positions") < pipeline.names.index("accelerations")
    assert pipeline.names[-2:] == ["semi_implicit_euler", "log_contacts"]
    assert {"collision", "constraints", "dynamics", "forces", "integration", "kinematics"} == {
        stage.domain for stage in pipeline
    }
    # stages without work are left out
    assert "broad" not in pendulum().pipeline.names
    assert len(sx.World().pipeline) == 0


def test_bundles_of_stages():
    bundles = walker().pipelines
    assert list(bundles) == ["step", "kinematics", "collision", "sensors", "rendering"]
    assert bundles["kinematics"].names[0] == "refresh_poses"
    assert (
        {"shape_poses", "broad", "narrow_sort"}
        <= set(bundles["collision"].names)
        < set(bundles["step"].names)
    )
    assert [len(bundle) for bundle in sx.World().pipelines.values()] == [0] * 5


def test_repeated_stages_have_names_of_their_own():
    names = pendulum(FAMILIES.RUNGE_KUTTA_4).pipeline.names
    assert len(names) == len(set(names))
    assert {"positions", "positions_2", "positions_3", "positions_4"} <= set(names)


def test_dependencies_follow_what_is_read_and_written():
    pairs = walker().pipeline.dependencies
    for pair in (
        ("positions", "link_velocities"),
        ("accelerations", "solve_islands"),
        ("broad", "narrow_sort"),
        ("find_islands", "solve_islands"),
        ("damp_implicitly", "semi_implicit_euler"),
        ("positions", "semi_implicit_euler"),  # q must not change before it is read
    ):
        assert pair in pairs
    assert ("positions", "broad") not in pairs


def test_dependencies_never_point_back():
    names = walker().pipeline.names
    for before, after in walker().pipeline.dependencies:
        assert names.index(before) < names.index(after)


def test_drawings():
    pipeline = walker().pipeline
    text = str(pipeline)
    assert text.splitlines()[0] == f"step: {len(pipeline)} stages"
    assert "accelerations" in text and "link poses, v -> link velocities" in text
    dot = pipeline.to_dot()
    assert dot.startswith('digraph "step" {') and dot.endswith("}")
    assert len(re.findall(r"fillcolor", dot)) == len(pipeline)
    assert len(re.findall(r" -> ", dot)) == len(pipeline.dependencies)


def test_a_stage_is_found_by_name():
    pipeline = walker().pipeline
    assert pipeline.get_stage("broad").reads == ("boxes",)
    assert pipeline.get_stage("broad").summary == "Boxes -> candidate pairs."
    with pytest.raises(NotFoundError, match="did you mean 'broad'"):
        pipeline.get_stage("brod")


# ---- profiles


@pytest.mark.parametrize("family", list(FAMILIES), ids=lambda f: f.value)
def test_profiling_changes_no_bit(family):
    plain, profiled = pendulum(family), pendulum(family)
    profiled.step_profiling_enabled = True
    plain.step(n=60)
    for n in (1, 19, 40):
        profiled.step(n=n)
    assert np.array_equal(plain.state_vector, profiled.state_vector)
    assert (plain.time, plain.frame) == (profiled.time, profiled.frame)


def test_profiling_changes_no_bit_with_contacts_and_pushes():
    plain, profiled = walker(), walker()
    profiled.step_profiling_enabled = True
    for world in (plain, profiled):
        world.step(n=250)
        world.multibodies["pelvis"].links["chest"].apply_force((200.0, 10.0, 0.0))
        world.step(n=50)
    assert np.array_equal(plain.state_vector, profiled.state_vector)
    assert plain.compute_step_metrics().active_contact_count > 0
    # reads after it are those of the last step
    assert np.array_equal(
        plain.multibodies["pelvis"].links.transforms, profiled.multibodies["pelvis"].links.transforms
    )


def test_a_profile_tells_of_the_last_step():
    world = walker()
    assert world.last_step_profile.is_empty() and world.last_step_profile.step_count == 0
    world.step_profiling_enabled = True
    world.step(n=10)
    profile = world.last_step_profile
    assert profile.frame == 10 and profile.step_count == 1
    assert [stage.name for stage in profile.stages] == [*world.pipeline.names, "kinematics"]
    assert 0.0 < profile.total_stage_time_us < profile.wall_time_us
    assert profile.wall_time_ms == pytest.approx(1e-3 * profile.wall_time_us)
    assert profile.get_stage("accelerations").duration_us > 0.0
    assert profile.summary().count("\n") == len(profile.stages)
    with pytest.raises(NotFoundError, match="did you mean 'positions'"):
        profile.get_stage("position")


def test_repeated_stages_are_summed_up():
    world = pendulum(FAMILIES.RUNGE_KUTTA_4)
    world.step_profiling_enabled = True
    world.step()
    assert world.last_step_profile.get_stage("accelerations").calls == 4


def test_profiling_goes_off_and_outlives_an_edit():
    world = pendulum()
    world.step_profiling_enabled = True
    world.step()
    with world.edit():
        world.add_rigid_body("box")
    world.step()
    assert world.last_step_profile.frame == 2
    world.step_profiling_enabled = False
    world.step()
    assert world.last_step_profile.frame == 2
    with pytest.raises(ValueError, match="True or False"):
        world.step_profiling_enabled = 1  # type: ignore[assignment]


def test_a_failed_step_is_undone_while_profiling():
    world = sx.World()
    box = world.add_rigid_body("box", mass=1e-3)
    world.step_profiling_enabled = True
    world.step(n=3)
    before = world.state_vector
    box.apply_force((1e307, 0.0, 0.0))
    with pytest.raises(sx.StepFailure):
        world.step()
    assert np.array_equal(world.state_vector, before) and world.frame == 3


def test_memory():
    small, large = pendulum(), walker()
    assert 0 < small.memory_diagnostics.total_bytes < large.memory_diagnostics.total_bytes
    assert large.memory_diagnostics.collision_bytes > 0 == small.memory_diagnostics.collision_bytes
    large.replay_recording_enabled = True
    one = large.memory_diagnostics.recording_bytes
    large.step(n=9)
    assert large.memory_diagnostics.recording_bytes == 10 * one > 0


# ---- executors


@pytest.fixture
def parallel():
    with compute.ParallelExecutor(2) as executor:
        yield executor


def test_executors_agree_bit_for_bit(parallel):
    alone = pendulum()
    alone.step(n=100)
    for executor in (compute.SequentialExecutor(), parallel):
        worlds = [pendulum() for _ in range(5)]
        profile = executor.step(worlds, n=100)
        assert all(np.array_equal(world.state_vector, alone.state_vector) for world in worlds)
        assert len(profile.nodes) == 5


def test_a_world_takes_an_executor(parallel):
    world = pendulum()
    world.step(3, executor=compute.SequentialExecutor())
    world.step(n=4, executor=parallel)
    world.sync(executor=parallel)
    world.update_kinematics(executor=parallel)
    assert world.frame == 7


def test_work_waits_for_what_it_needs(parallel):
    order, lock = [], threading.Lock()

    def note(name):
        with lock:
            order.append(name)

    graph = compute.ComputeGraph()
    for name, after in (("a", ()), ("b", ("a",)), ("c", ("a",)), ("d", ("b", "c")), ("e", ())):
        graph.add(name, lambda name=name: note(name), after)
    for _ in range(20):
        order.clear()
        profile = parallel.run(graph)
        assert sorted(order) == ["a", "b", "c", "d", "e"]
        assert order.index("a") < order.index("b") < order.index("d") > order.index("c")
    assert profile.critical_path_time_us <= profile.total_node_time_us + 1e-6
    assert 1 <= profile.max_parallelism <= 2 and profile.worker_count == 2
    assert graph.to_dot().count("->") == 4


def test_two_workers_really_work_at_once(parallel):
    meet = threading.Barrier(2, timeout=20)
    graph = compute.ComputeGraph()
    graph.add("left", meet.wait)
    graph.add("right", meet.wait)
    profile = parallel.run(graph)
    assert profile.max_parallelism == 2
    assert {node.worker_index for node in profile.nodes} == {0, 1}


@pytest.mark.parametrize("kind", ["sequential", "parallel"])
def test_an_error_ends_the_run(kind, parallel):
    executor = parallel if kind == "parallel" else compute.SequentialExecutor()
    done = []
    graph = compute.ComputeGraph()
    graph.add("good", lambda: done.append("good"))
    graph.add("bad", lambda: 1 / 0, after=["good"])
    graph.add("never", lambda: done.append("never"), after=["bad"])
    with pytest.raises(ZeroDivisionError):
        executor.run(graph)
    assert done == ["good"]


def test_small_graphs_stay_on_the_thread_of_the_caller():
    graph = compute.ComputeGraph()
    seen = []
    graph.add("who", lambda: seen.append(threading.get_ident()))
    with compute.ParallelExecutor(2, inline_threshold=2) as executor:
        executor.run(graph)
    assert seen == [threading.get_ident()]


def test_refusals(parallel):
    world = pendulum()
    with pytest.raises(ArgumentError, match="twice"):
        parallel.step([world, world])
    with pytest.raises(ArgumentError, match="non-negative"):
        parallel.step(world, -1)
    with pytest.raises(ArgumentError, match="at least 1"):
        compute.ParallelExecutor(0)
    with pytest.raises(ValueError, match="Worlds are needed"):
        parallel.step([world, "other"])
    assert world.frame == 0
    graph = compute.ComputeGraph()
    graph.add("a", print)
    with pytest.raises(ArgumentError, match="'a' again"):
        graph.add("a", print)
