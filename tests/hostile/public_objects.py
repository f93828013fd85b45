# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""One object of every public class, and arguments that every public call takes; for tests by introspection.

`arguments` finds them by "Class.method.parameter", or by the name of the parameter alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from facade.every_object import every_object
from kinematics.kinematic_robots import ur5
from worldline import collision, envs, kinematics, lcp, model, msd, optimize
from worldline import simulation as sx
from worldline.simulation import compute

SCENE = """<mujoco><worldbody><camera name="eye" pos="0 -2 1"/><geom name="floor" type="plane" size="5 5 .1"/>
  <body name="upper" pos="0 0 1"><joint name="hinge" axis="0 1 0" range="-90 90"/>
    <geom name="rod" size=".05" pos=".2 0 0"/><site name="end" pos=".3 0 0"/>
    <body name="lower" pos=".3 0 0"><joint name="elbow" axis="0 1 0"/><geom name="hand" size=".05" pos=".2 0 0"/>
  </body></body></worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
  <equality><joint name="tie" joint1="hinge" joint2="elbow" active="false"/></equality>
  <keyframe><key name="up" qpos=".3 .1"/></keyframe></mujoco>"""
POSE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
POINTS = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


def scene() -> msd.World:
    return msd.from_str(SCENE, format="mjcf")


def nothing(*given: Any) -> None:
    """A callback."""


class Objects(dict[str, Any]):
    """Public objects by name."""


def in_world(stepped: bool) -> Objects:
    """Handles of a World; with `stepped`, one that has stepped and was recorded."""
    found = Objects(every_object())
    world, arm = found["world"], found["multibody"]
    found |= {
        "branch": arm.branch(arm.links[0]),
        "group": arm.group(links=[found["link"]]),
        "linkage": arm.linkage(arm.links[0], [arm.links[2]]),
        "function_sensor": world.sensors.add_function("zero", lambda context: 0.0),
        "other": world.rigid_bodies["other"],
    }
    arm.set_ground_contact((0.0, 0.0, 1.0), (0.0, 0.0, -50.0), 1e3)
    found["link"].add_collision_shape(collision.CollisionShape.sphere(0.05))
    if stepped:
        world.replay_recording_enabled = True
        contexts: list[Any] = []
        world.add_observer("watch", contexts.append)
        world.step(n=2)
        world.step(options=sx.StepOptions(profile=True))
        job = world.start_step(1)
        job.wait()
        space = world.state_space()
        found |= {
            "space": space,
            "state": world.get_state(space),
            "control": world.get_control(world.control_space()),
            "recording": world.recording,
            "context": contexts[0],
            "job": job,
            "pipeline": world.pipeline,
            "step_profile": world.last_step_profile,
        }
    return found


def robots() -> Objects:
    """A World with a robot, and what kinematics makes of it."""
    world = sx.World.from_scene(scene())
    arm = world.multibodies[0]
    offset = np.eye(4)
    offset[0, 3] = 0.2
    tool = arm.add_end_effector("tool", arm.links["lower"], offset)
    arm.joints["hinge"].position, arm.joints["elbow"].position = [0.1], [0.5]
    task = kinematics.PositionTask(tool, (0.3, 0, 0.8))
    industrial = ur5()
    q = np.array(world.model().joint_q)
    path = kinematics.interpolate_joints(world, np.stack([q, q + 0.1]))
    return Objects(
        world_2=world,
        robot=arm,
        tool_2=tool,
        task=task,
        q=q,
        ik=kinematics.EndEffectorIk(tool),
        whole_ik=kinematics.WholeBodyIk(arm, [task]),
        differential=kinematics.DifferentialIk(world, task),
        impedance=kinematics.ImpedanceController(world, task),
        operational=kinematics.OperationalSpaceController(world, task),
        whole_body=kinematics.WholeBodyController(world, task),
        path=path,
        trajectory=kinematics.time_optimal(path, max_velocity=1.0, max_acceleration=1.0, grid=20),
        plan=kinematics.plan_path(world, q + 0.1, max_iterations=20),
        ur5=industrial,
        analytic=kinematics.AnalyticIk(industrial.model, kinematics.PoseTask(industrial.tip, POSE)),
        renderer=sx.Renderer(world, 16, 12),
        picture=sx.render(world, sx.LookAt((1.0, 1.0, 1.0)), width=16, height=12, segmentation=True),
    )


def builders() -> Objects:
    """A model that is being built."""
    builder = model.ModelBuilder()
    first = builder.add_link(mass=1.0, inertia=np.eye(3), label="first")
    joint = builder.add_joint_revolute(-1, first, label="joint")
    builder.add_articulation([joint], label="articulation")
    return Objects(builder=builder)


def models() -> Objects:
    """A Model and what steps it."""
    made = msd.build(scene())
    return Objects(
        model=made,
        model_state=made.state(),
        model_control=made.control(),
        simulation=model.Simulation(made),
        lanes=model.LaneSimulation(made, 2),
        view=model.ArticulationView(made, "*"),
        bound=model.bind(model.mass_matrix, made, made.joint_q.copy()),
        dof_config=model.JointDofConfig(),
        shape_config=model.ShapeConfig(),
    )


def detection() -> Objects:
    """Detectors, a group of shapes, and complementarity problems."""
    group = collision.CollisionGroup()
    first = group.add(collision.CollisionShape.sphere(0.5), name="first")
    second = group.add(collision.CollisionShape.box((0.5, 0.5, 0.5)), pose=(0.6, *POSE[1:]))
    problem = lcp.LcpProblem(np.eye(2), -np.ones(2))
    return Objects(
        shapes=group,
        object=first,
        object_2=second,
        filter=group.filter,
        native=collision.NativeDetector(),
        coal=collision.CoalDetector(),
        shape=first.shapes[0],
        problem=problem,
        dantzig=lcp.Dantzig(),
        lemke=lcp.Lemke(),
        newton=lcp.Newton(),
        pgs=lcp.Pgs(),
    )


def batches() -> Objects:
    """Batches of worlds and what they hand out."""
    batch = sx.WorldBatch(scene(), 2)
    batch.add_observer("watch", nothing)
    mixed = sx.MixedBatch([(scene(), 1), (scene(), 1)])
    return Objects(
        batch=batch,
        mixed=mixed,
        batch_world=batch.worlds[0],
        selection=batch.select([0]),
        parameters=batch.parameters,
        flat=mixed.articulations("*"),
        batch_body=batch.multibodies["upper"],
        batch_joint=batch.multibodies["upper"].joints["hinge"],
        batch_link=batch.multibodies["upper"].links["lower"],
        batch_contacts=batch.contacts,
    )


def values() -> Objects:
    """Values that belong to no World."""
    line = sx.Randomized("*.links.*.mass", sx.Uniform(0.5, 1.5))
    graph = compute.ComputeGraph()
    graph.add("first", nothing)
    executor = sx.SequentialExecutor()
    return Objects(
        uniform=sx.Uniform(0.0, 1.0),
        log=sx.LogUniform(1.0, 2.0),
        normal=sx.Normal(0.0, 1.0),
        choice=sx.Choice((1.0, 2.0)),
        line=line,
        randomization=sx.Randomization((line,)),
        inertia=sx.Inertia(),
        read_options=sx.ReadOptions(),
        state_space=sx.StateSpace().add_variable("a", 2),
        graph=graph,
        sequential=executor,
        parallel=sx.ParallelExecutor(1),
        report=msd.Report(),
        scene=scene(),
        query_options=sx.CollisionQueryOptions(),
        profile=executor.run(graph),
    )


def differentiable() -> Objects:
    """What needs derivatives of steps."""
    described = scene()
    described.simulate_option.policy.differentiable = True
    world = sx.World.from_scene(described)
    world.add_differentiable_parameter(world.multibodies[0].links[0], sx.PhysicalParameter.MASS)
    cost = optimize.TrackingCost(np.zeros(4), state=1.0)
    actions = np.zeros((2, 1))
    batch = sx.WorldBatch(described, 2)
    batch.step()
    world.step()
    return Objects(
        world_3=world,
        batch_3=batch,
        body_3=world.multibodies[0].links[0],
        cost=cost,
        actions=actions,
        rollout=sx.diff.rollout(world, np.zeros((2, 3))),
        function=optimize.RolloutFunction(world),
        shooting=optimize.ShootingFunction(world, 2, cost),
        horizon=optimize.RecedingHorizon(world, actions, cost, iterations=1),
        optimum=optimize.ilqr(world, actions, cost, iterations=1),
        batch_rollout=sx.diff.rollout(sx.WorldBatch(described, 2), np.zeros((2, 2, 3))),
    )


PARTS: dict[str, Callable[[], Objects]] = {
    "robots": robots,
    "builders": builders,
    "models": models,
    "detection": detection,
    "batches": batches,
    "values": values,
    "differentiable": differentiable,
}
"""What makes the objects of the parts of the library."""


@cache
def environments() -> Objects:
    """Learning environments."""
    task = envs.TASKS["Reacher"]
    vector = envs.VectorWorldEnv(task, 2)
    vector.reset(seed=0)
    single = envs.WorldEnv(task)
    single.reset(seed=0)
    return Objects(task_kind=task, vector=vector, single=single)
