# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of tasks, solvers, controllers, paths and plans of `worldline.kinematics` acts."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from effects import Effect, Refused, arguments, check, complete, rows

from worldline import WorldlineError
from worldline import kinematics as wk
from worldline import math as wmath
from worldline import simulation as sx
from worldline.collision import CollisionShape

AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0))
START = np.array([0.2, 0.5, 0.4, 0.3, 0.2, 0.1])
POST = (1.06, 0.51, 0.77)
GOAL = wmath.make_transform(wmath.so3_exp([0, 1.2, 0.3]), (0.4, 0.2, 0.9))


@cache
def arm(closure=False, wrist=0.3):
    """One arm for all calls, which change nothing of it."""
    return new_arm(closure, wrist)


def new_arm(closure=False, wrist=0.3):
    """Six hinges above each other with a ball on every link, and a post where the hand comes along."""
    world = sx.World()
    robot = world.add_multibody("arm")
    link = robot.add_link("base")
    for k, axis in enumerate(AXES):
        spec = sx.JointSpec(
            f"joint_{k}",
            axis=axis,
            transform_to_parent=wmath.make_transform(np.eye(3), (0, 0, 0.3 if k < 4 else wrist)),
            position_lower_limits=-2.0,
            position_upper_limits=2.0,
            velocity_limits=3.0,
            effort_limits=80.0,
        )
        link = robot.add_link(f"link_{k}", link, spec)
        link.mass = 1.0 + k
        link.add_collision_shape(CollisionShape.sphere(0.05))
    post = world.add_rigid_body("post", position=POST)
    post.is_static = True
    post.add_collision_shape(CollisionShape.sphere(0.1))
    if closure:
        world.add_loop_closure("loop", sx.LoopClosureSpec(frame_a=link, frame_b=post))
    for joint, x in zip(robot.joints, START, strict=True):
        joint.position = [x]
    return world


def hand(world):
    return world.multibodies["arm"].links["link_5"]


def full(world, q=START):
    """Coordinates of the whole World with those of the arm as given."""
    model = world.model()
    made = np.array(model.joint_q)
    at = [int(model.joint_q_start[model.joint_index(f"arm/joint_{k}")]) for k in range(6)]
    made[at] = q
    return made


def seen(answer):
    reports = [(task.name, round(task.error, 9), task.tolerance, task.met) for task in answer.tasks]
    return repr((np.round(answer.q, 7).tolist(), reports, answer.method))


# ---- tasks


def asked(kind, given, looped=False, iterations=80):
    """The answer of a task beside another one that it is in conflict with."""
    world = arm(looped)
    task = kind(**{name: value(world) if callable(value) else value for name, value in given.items()})
    other = wk.PositionTask(hand(world), (0.6, 0.3, 0.7), name="other")
    return seen(wk.solve_ik(world, [task, other], max_restarts=0, max_iterations=iterations))


def effects_on(base, fields, observe):
    """A table of effects: each field put into the base, seen by `observe`; what is an entry stays."""
    return {
        name: value
        if isinstance(value, (Effect, Refused))
        else Effect(
            lambda: dict(base),
            lambda given, name=name, value=value: given.update({name: value}),
            observe,
        )
        for name, value in fields.items()
    }


def of_task(kind, base, looped=False, **fields):
    """A table of the parameters of a task, and those that all tasks have."""
    fields = {"weight": 5.0, "tolerance": 0.5, "name": "mine", "priority": 1} | fields
    return effects_on(base, fields, lambda given: asked(kind, given, looped))


def at_once(kind, base, **field):
    """An effect on the first iterations alone: where they end does not depend on when pairs are watched."""
    return Effect(
        lambda: dict(base),
        lambda given: given.update(field),
        lambda given: asked(kind, given, iterations=4),
    )


def level(kind, base):
    """The weight of a bound beside another task of its priority."""
    return Effect(
        lambda: base | {"priority": 0},
        lambda given: given.update(weight=5.0),
        lambda given: asked(kind, given),
    )


def link(k):
    return lambda world: world.multibodies["arm"].links[f"link_{k}"]


def joint(k):
    return lambda world: world.multibodies["arm"].joints[f"joint_{k}"]


SQUARE = np.array([[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]])
NEAR = {"bodies": hand, "obstacles": lambda world: world.rigid_bodies["post"], "distance": 0.6, "reach": 0.6}
APART = {"multibody": lambda world: world.multibodies["arm"], "distance": 0.495, "reach": 0.6}
TASKS = {
    wk.PoseTask: of_task(
        wk.PoseTask,
        {"frame": hand, "target": GOAL},
        frame=link(3),
        target=np.eye(4),
        reference=link(1),
        offset=wmath.make_transform(np.eye(3), (0.1, 0, 0)),
    ),
    wk.PositionTask: of_task(
        wk.PositionTask,
        {"frame": hand, "target": (0.4, 0.2, 0.9)},
        frame=link(3),
        target=(0.3, 0.2, 1.0),
        reference=link(1),
        point=(0.1, 0.0, 0.0),
    ),
    wk.OrientationTask: of_task(
        wk.OrientationTask,
        {"frame": hand, "target": wmath.so3_exp([0, 2.5, 0.3])},
        frame=link(3),
        target=np.eye(3),
        reference=link(1),
        # a turn and a place are no conflict: less of it is left where it is asked for alone
        weight=Refused(lambda: wk.OrientationTask(hand(arm()), np.eye(3), weight=-1.0), "weight"),
    ),
    wk.LookAtTask: of_task(
        wk.LookAtTask,
        {"frame": hand, "target": (1.0, 0.5, 0.2)},
        frame=link(3),
        target=(-1.0, 0.5, 0.2),
        axis=(1.0, 0.0, 0.0),
        reference=link(1),
        origin=(0.2, 0.1, 0.0),
    ),
    wk.CenterOfMassTask: of_task(wk.CenterOfMassTask, {"target": (0.1, 0.0, 0.9)}, target=(0.2, 0.1, 0.9)),
    wk.BalanceTask: of_task(
        wk.BalanceTask, {"polygon": SQUARE, "margin": 0.01}, polygon=SQUARE + 0.2, margin=0.08
    ),
    wk.PostureTask: of_task(
        wk.PostureTask, {"weight": 0.5}, target=lambda world: full(world, 1.5 * START), tolerance=0.5
    ),
    wk.CouplingTask: of_task(
        wk.CouplingTask,
        {"joint": joint(1), "offset": 0.9},
        joint=joint(2),
        other=joint(4),
        ratio=Refused(
            lambda: wk.CouplingTask("a", ratio=3.0), "ratio of a coupling task needs another joint"
        ),
        offset=0.1,
    ),
    wk.ObstacleTask: of_task(
        wk.ObstacleTask,
        NEAR,
        bodies=link(4),
        obstacles=Refused(lambda: asked(wk.ObstacleTask, NEAR | {"obstacles": 3}), "obstacle"),
        distance=0.8,
        reach=at_once(wk.ObstacleTask, NEAR, reach=1e-6),
        tolerance=0.9,
        weight=level(wk.ObstacleTask, NEAR),
    ),
    wk.SelfCollisionTask: of_task(
        wk.SelfCollisionTask,
        APART,
        multibody=Refused(lambda: asked(wk.SelfCollisionTask, {"multibody": 3}), "multibody"),
        distance=0.3,
        reach=at_once(wk.SelfCollisionTask, APART, reach=1e-6),
        weight=level(wk.SelfCollisionTask, APART),
    ),
    wk.ManipulabilityTask: of_task(
        wk.ManipulabilityTask, {"frame": hand, "least": 0.2}, frame=link(3), least=0.9, rows="position"
    ),
    wk.ClosureTask: of_task(
        wk.ClosureTask,
        {"closure": lambda world: world.loop_closures["loop"]},
        looped=True,
        closure=Refused(lambda: asked(wk.ClosureTask, {"closure": 3}), "closure"),
    ),
}


# ---- solvers


def called(function, base, observe, **fields):
    """A table of the parameters of a call; values that are functions of the World are made for each."""

    def run(given):
        world = given["subject"](arm()) if "subject" in given else arm()
        made = {n: v(world) if callable(v) and n != "subject" else v for n, v in given.items()}
        return observe(function(**(made | ({"subject": world} if "subject" in given else {}))), world)

    return effects_on(base, fields, run)


def itself(world):
    return world


def heavier(_):
    """A World whose arm has other masses."""
    world = new_arm()
    for part in world.multibodies["arm"].links:
        part.mass = 3.0
    return world


def turned(_):
    """A World whose arm stands elsewhere."""
    world = new_arm()
    joint(0)(world).position = [-0.7]
    return world


def pose(target=GOAL, frame=hand):
    return lambda world: wk.PoseTask(frame(world), target)


def place(target=(0.4, 0.2, 0.9), frame=hand):
    return lambda world: wk.PositionTask(frame(world), target)


def out_of_reach(world):
    return wk.PositionTask(hand(world), (1.2, 0.4, 0.3))


def some(*numbers):
    return lambda world: [joint(k)(world) for k in numbers]


def on_a_loop(function, *given):
    """The effect of `closures`: an arm whose hand is welded to the post."""

    def run(fields):
        world = arm(closure=True)
        made = [value(world) if callable(value) else value for value in given]
        return np.round(function(world, *made, max_iterations=20, **fields).q, 6).tolist()

    return Effect(lambda: {"closures": True}, lambda fields: fields.update(closures=False), run)


FAR = wmath.make_transform(wmath.so3_exp([0.3, 1.9, 1.3]), (0.35, -0.3, 0.7))
SOLVE = called(
    wk.solve_ik,
    {"subject": itself, "tasks": pose(FAR), "max_restarts": 3},
    lambda a, w: seen(a) + repr([tuple(r) for r in a.methods]),
    subject=turned,
    tasks=place(),
    joints=some(0, 1, 2, 4, 5),
    start=lambda world: full(world, -START),
    method="damped-least-squares",
    limits=False,
    max_iterations=2,
    max_restarts=0,
    seed=5,
    closures=on_a_loop(wk.solve_ik, place()),
)
TARGETS = np.array([wmath.transform_to_pose(GOAL), wmath.transform_to_pose(FAR)])
BATCH = called(
    wk.solve_ik_batch,
    {"subject": itself, "task": pose(), "targets": TARGETS, "max_restarts": 3},
    lambda a, w: repr([np.round(1.0 * part, 7).tolist() for part in a]),
    subject=turned,
    task=pose(frame=link(4)),
    targets=TARGETS[::-1],
    joints=some(0, 1, 2, 4, 5),
    starts=lambda world: np.tile(full(world, -START), (2, 1)),
    limits=False,
    max_iterations=2,
    max_restarts=0,
    seed=5,
    # answers do not depend on it
    threads=Refused(
        lambda: wk.solve_ik_batch(arm().model(), wk.PoseTask("arm/link_5", GOAL), TARGETS, threads=-1),
        "threads",
    ),
)
MOTION_TARGETS = np.array([[0.4, 0.2, 0.9], [0.5, 0.25, 0.9], [0.4, 0.3, 1.0], [0.1, 0.0, 0.3]])
MOTION = called(
    wk.solve_ik_motion,
    {"subject": itself, "tasks": place(), "targets": MOTION_TARGETS},
    lambda a, w: repr([np.round(a.q, 7).tolist(), a.iterations]),
    subject=turned,
    tasks=place(frame=link(4)),
    targets=MOTION_TARGETS[::-1],
    joints=some(0, 1, 2),
    start=lambda world: full(world, -START),
    smoothness=0.5,
    limits=False,
    max_iterations=1,
    closures=on_a_loop(wk.solve_ik_motion, place(), MOTION_TARGETS),
)

MARKERS = np.array(
    [
        [[0.1, 0.0, 1.2], [0.4, 0.2, 0.9]],
        [[0.1, 0.05, 1.2], [0.5, 0.25, 0.9]],
        [[0.2, 0.0, 1.1], [0.1, 0, 0.3]],
    ]
)
FIT = called(
    wk.fit_markers,
    {"subject": itself, "frames": lambda world: [link(3)(world), hand(world)], "positions": MARKERS},
    lambda a, w: repr([np.round(a.q, 7).tolist(), a.iterations]),
    subject=turned,
    frames=lambda world: [link(2)(world), hand(world)],
    positions=MARKERS[::-1],
    joints=some(0, 1, 2),
    start=lambda world: full(world, -START),
    weights=np.array([5.0, 1.0]),
    smoothness=0.5,
    limits=False,
    max_iterations=1,
    closures=on_a_loop(wk.fit_markers, lambda world: [link(3)(world), hand(world)], MARKERS),
)

# ---- closed forms and controllers


def closed_form(**given):
    """All solutions of an arm whose last three axes meet."""
    world = arm(wrist=0.0)
    given = {"subject": world, "task": wk.PoseTask(hand(world), FAR)} | given
    return np.round(wk.AnalyticIk(**given).solve().q, 7).tolist()


ANALYTIC = {
    "subject": Refused(lambda: wk.AnalyticIk(3, wk.PoseTask(0, GOAL)), "World|Model"),
    "task": Effect(
        dict,
        lambda given: given.update(task=wk.PoseTask(hand(w := arm(wrist=0.0)), GOAL), subject=w),
        lambda given: closed_form(**given),
    ),
    "joints": Refused(
        lambda: wk.AnalyticIk((w := arm(wrist=0.0)), wk.PoseTask(hand(w), GOAL), joints=some(0, 1)(w)),
        "joints",
    ),
}
CONTROL = {"subject": itself, "tasks": place()}
FORCES = [START, 0.3 * np.arange(6)]


def forces(controller, world):
    q = full(world, 0.8 * START)
    v = np.zeros(world.model().joint_dof_count)
    v[world.model().joint_index("arm/joint_0") :][:6] = FORCES[1]
    return np.round(controller.forces(q, v), 9).tolist()


OF_BOTH = {
    "subject": heavier,
    "tasks": place((0.1, 0.2, 1.0)),
    "joints": some(0, 1, 2),
    "stiffness": 50.0,
    "posture": lambda world: full(world, -START),
    "posture_stiffness": 33.0,
}
IMPEDANCE = called(wk.ImpedanceController, CONTROL, forces, damping=3.0, **OF_BOTH)
OPERATIONAL = called(wk.OperationalSpaceController, CONTROL, forces, damping_ratio=0.3, **OF_BOTH)


def standing(**given):
    """A whole-body controller of the arm, or why it is refused."""
    return lambda: wk.WholeBodyController(arm(), place()(arm()), **given)


def held(point):
    """A contact of the fourth link."""
    return lambda world: [wk.PositionTask(link(3)(world), (0, 0, 0), point=point)]


WHOLE = called(
    wk.WholeBodyController,
    CONTROL | {"contacts": held((0.1, 0, 0))},
    forces,
    subject=heavier,
    tasks=place((0.1, 0.2, 1.0)),
    contacts=held((0, 0.2, 0)),
    joints=some(0, 1, 2, 3, 4),
    friction=Refused(standing(friction=-1.0), "friction"),
    normal=Refused(standing(normal=(0, 0, 0)), "normal"),
    min_force=Refused(standing(min_force=-1.0), "min_force"),
    max_effort=5.0,
    stiffness=50.0,
    damping_ratio=0.3,
    posture=lambda world: full(world, -START),
    posture_stiffness=33.0,
    posture_weight=10.0,
    force_weight=Refused(standing(force_weight=-1.0), "force_weight"),
    contact_damping=1.0,
)
TOGETHER = called(
    wk.WholeBodyIk,
    {"multibody": lambda world: world.multibodies["arm"], "tasks": place()},
    lambda solver, world: seen(solver.find_solution()),
    multibody=Refused(lambda: wk.WholeBodyIk("arm"), "multibody"),
    tasks=place((0.1, 0.2, 1.0)),
)
HANDLE = {"end_effector": Refused(lambda: wk.EndEffectorIk(hand(arm())), "end effector")}


def speeds(solver, world):
    return np.round(solver.velocity(full(world), 0.01), 9).tolist()


DIFFERENTIAL = called(
    wk.DifferentialIk,
    {"subject": itself, "tasks": place((0.9, 0.3, 0.2))},
    speeds,
    subject=Refused(lambda: wk.DifferentialIk(3, wk.PoseTask(0, GOAL)), "World|Model"),
    tasks=place((0.4, 0.2, 1.3)),
    joints=some(0, 1, 2),
    gain=3.0,
    damping=0.5,
    limits=Effect(dict, lambda given: given.update(limits=False), lambda given: at_a_limit(**given)),
    max_velocity=0.1,
    max_acceleration=Effect(
        dict, lambda given: given.update(max_acceleration=2.0), lambda given: braked(**given)
    ),
)


def at_a_limit(**given):
    world = arm()
    solver = wk.DifferentialIk(world, wk.CouplingTask(joint(1)(world), offset=2.5), **given)
    return np.round(solver.velocity(full(world, [0, 2.0, 0.4, 0, 0, 0]), 0.01), 9).tolist()


def braked(**given):
    world = arm()
    solver = wk.DifferentialIk(world, wk.PositionTask(hand(world), (0.9, 0.3, 0.2)), **given)
    still = np.zeros(world.model().joint_dof_count)
    return np.round(solver.velocity(full(world), 0.01, last=still), 9).tolist()


# ---- paths and plans

LINE = {
    "subject": itself,
    "waypoints": lambda world: [full(world), full(world, -START), full(world, 2 * START)],
}


def sampled(path, world):
    return np.round(path.coordinates(np.linspace(0.0, path.length, 7)), 7).tolist()


JOINTS = called(
    wk.interpolate_joints,
    LINE,
    sampled,
    subject=Refused(lambda: wk.interpolate_joints(3, [START]), "World|Model"),
    waypoints=lambda world: [full(world), full(world, -START)],
    blend=0.05,
)
FRAME = called(
    wk.interpolate_frame,
    {"subject": itself, "task": place((0.5, 0.1, 1.0)), "tolerance": 0.01},
    lambda path, world: [len(path.waypoints), sampled(path, world)],
    subject=turned,
    task=place((0.4, 0.1, 1.0)),
    start=lambda world: full(world, 0.9 * START),
    joints=some(0, 1, 2, 4),
    tolerance=1e-4,
    limits=Effect(dict, lambda given: given.update(limits=False), lambda given: beyond(**given)),
)


def beyond(**given):
    """Whether a straight line leads out of the limits of the joints."""
    world = arm()
    try:
        path = wk.interpolate_frame(world, wk.PositionTask(hand(world), (0.0, 0.1, 0.4)), **given)
    except WorldlineError as error:
        return str(error)
    return sampled(path, world)


def through_post(world):
    """A straight path from one side of the post to the other."""
    return wk.interpolate_joints(
        world, [full(world, [-0.5, 1.2, 0.3, 0, 0, 0]), full(world, [1.4, 1.2, 0.3, 0, 0, 0])]
    )


FIND = called(
    wk.find_collision,
    {"world": itself, "path": through_post},
    lambda found, world: repr(found),
    world=Refused(lambda: wk.find_collision(3, through_post(arm())), "World"),
    path=lambda world: wk.interpolate_joints(world, [full(world), full(world, 1.1 * START)]),
    margin=0.1,
    resolution=0.3,
)


def blocked(**given):
    """Iterations of a search that cannot succeed: one joint alone does not lead around the post."""
    world = arm()
    q = [full(world, [x, 1.2, 0.3, 0, 0, 0]) for x in (-0.5, 1.4)]
    return wk.plan_path(world, q[1], start=q[0], joints=some(0)(world), **given).iterations


PLAN = called(
    wk.plan_path,
    {
        "world": itself,
        "start": lambda world: full(world, [-0.5, 1.2, 0.3, 0, 0, 0]),
        "goals": lambda world: full(world, [1.4, 1.2, 0.3, 0, 0, 0]),
        "joints": some(0, 1, 2),
    },
    lambda plan, world: repr([np.round(plan.waypoints, 7).tolist(), plan.checks, plan.iterations]),
    world=Refused(lambda: wk.plan_path(3, START), "World"),
    goals=lambda world: full(world, [1.4, 1.1, 0.3, 0, 0, 0]),
    joints=some(0, 1, 2, 3),
    start=lambda world: full(world, [-0.5, 1.1, 0.3, 0, 0, 0]),
    margin=0.05,
    resolution=0.1,
    stride=0.1,
    max_iterations=Effect(
        lambda: {"max_iterations": 20},
        lambda given: given.update(max_iterations=5),
        lambda given: blocked(**given),
    ),
    shortcuts=0,
    seed=4,
)
QUICK = called(
    wk.time_optimal,
    {"path": through_post, "max_acceleration": 40.0, "max_velocity": 20.0},
    lambda trajectory, world: [round(trajectory.duration, 9), len(trajectory.parameters)],
    path=lambda world: wk.interpolate_joints(world, [full(world), full(world, -START)]),
    max_velocity=0.5,
    max_acceleration=8.0,
    max_torque=True,
    grid=50,
)


@rows(**{kind.__name__: table for kind, table in TASKS.items()})
def test_parameters_of_tasks_act(entry):
    check(entry)


TABLES = {
    "solve_ik": SOLVE,
    "solve_ik_batch": BATCH,
    "solve_ik_motion": MOTION,
    "fit_markers": FIT,
    "AnalyticIk": ANALYTIC,
    "ImpedanceController": IMPEDANCE,
    "OperationalSpaceController": OPERATIONAL,
    "WholeBodyController": WHOLE,
    "WholeBodyIk": TOGETHER,
    "EndEffectorIk": HANDLE,
    "DifferentialIk": DIFFERENTIAL,
    "interpolate_joints": JOINTS,
    "interpolate_frame": FRAME,
    "find_collision": FIND,
    "plan_path": PLAN,
    "time_optimal": QUICK,
}
RESULTS = "AnalyticSolutions IkBatch IkMotion IkResult JointPath MethodReport PlanResult TaskReport TaskState Trajectory"
"""Made by the library alone."""
BASES = {"Task", "TaskController"}


@rows(**TABLES)
def test_parameters_of_solvers_act(entry):
    check(entry)


def test_tables_of_kinematics_are_complete():
    for kind, table in TASKS.items():
        complete(table, arguments(kind))
    for name, table in TABLES.items():
        complete(table, arguments(getattr(wk, name)))
    tested = {kind.__name__ for kind in TASKS} | TABLES.keys() | set(RESULTS.split()) | BASES
    assert {name for name in wk.__all__ if callable(getattr(wk, name))} == tested


HOSTILE = (10**400, 1 + 2j, np.ma.array([1.0, 2.0], mask=[0, 1]), "abc", object(), [[1, 2], [3]])


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_refused_by_the_library(value):
    world = arm()
    task = wk.PositionTask(hand(world), (0.4, 0.2, 0.9))
    calls = [
        lambda: wk.PositionTask(hand(world), (0, 0, 1), tolerance=value),
        lambda: wk.find_collision(world, through_post(world), resolution=value),
        lambda: wk.time_optimal(through_post(world), max_acceleration=value),
        lambda: wk.ImpedanceController(world, task, stiffness=value),
        lambda: wk.DifferentialIk(world, task).set_task(value, task),
        lambda: wk.DifferentialIk(world, task).velocity(value, 0.01),
        lambda: wk.DifferentialIk(world, task, limits=value),
        lambda: wk.solve_ik(world, task, limits=value),
        lambda: wk.solve_ik(world, task, method=value),
        lambda: wk.solve_ik_motion(world, task, value),
        lambda: wk.solve_ik_motion(world, task, [value]),
        lambda: wk.ImpedanceController(world, task, posture=value),
        lambda: through_post(world).derivative(0.5, order=value),
    ]
    for call in calls:
        with pytest.raises(WorldlineError):
            call()
