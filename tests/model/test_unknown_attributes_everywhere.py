# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""No object of a public class keeps an attribute that it does not have."""

from __future__ import annotations

import copy
import enum
import importlib
import inspect
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from worldline import collision, kinematics, lcp, msd
from worldline import simulation as sx
from worldline.model import ArticulationView, LaneSimulation, ModelBuilder, Simulation

MODULES = ("", *(f".{name}" for name in ("simulation model msd collision kinematics lcp math".split())))


def public_classes() -> dict[str, type]:
    found: dict[type, str] = {}
    for module in MODULES:
        holder = importlib.import_module(f"worldline{module}")
        for name in holder.__all__:
            item = getattr(holder, name)
            if inspect.isclass(item) and item.__module__.startswith("worldline."):
                found.setdefault(item, f"worldline{module}.{name}")
    return {name: item for item, name in found.items()}


CLASSES = public_classes()


def arm():
    builder = ModelBuilder()
    link = builder.add_link(mass=1.0, inertia=np.eye(3))
    builder.add_articulation([builder.add_joint_revolute(-1, link)], label="arm")
    return builder.finalize()


def group():
    return collision.CollisionDetector.create("native").create_group()


def batch():
    world = sx.World()
    world.add_rigid_body("box", mass=1.0)
    return sx.WorldBatch(world, 2)


def ik_task():
    world = sx.World()
    robot = world.add_multibody("arm")
    base = robot.add_link("base")
    link = robot.add_link("link", parent=base, joint=sx.JointSpec(name="hinge", type=sx.JointType.REVOLUTE))
    return world, kinematics.PositionTask(link, (0.0, 0.0, 0.0))


def projection():
    return sx.ClosureProjectionReport(True, 1, 1e-9, 0.0, ("loop",), np.zeros(1), SimpleNamespace(rows=0))


def step_function():
    world, _ = ik_task()
    world.add_controller("nothing", lambda step: None)
    return world.step_functions[0]


def joint_path():
    world, _ = ik_task()
    return kinematics.interpolate_joints(world, [[0.0], [1.0]])


def closed_form():
    """A leg of three hinges and a point of its foot."""
    world = sx.World()
    robot = world.add_multibody("leg")
    link = robot.add_link("base")
    for k, axis in enumerate([(1, 0, 0), (0, 1, 0), (0, 1, 0)]):
        X_PJ = np.eye(4)
        X_PJ[2, 3] = -0.2
        spec = sx.JointSpec(f"joint_{k}", axis=axis, transform_to_parent=X_PJ)
        link = robot.add_link(f"link_{k}", link, spec)
    return kinematics.AnalyticIk(world, kinematics.PositionTask(link, (0.1, 0, -0.5), point=(0, 0, -0.2)))


def task_controller(kind):
    world, task = ik_task()
    return kind(world, task)


def end_effector():
    world = sx.World()
    robot = world.add_multibody("robot")
    base = robot.add_link("base")
    hand = robot.add_link("hand", parent=base, joint=sx.JointSpec(name="wrist"))
    return robot.add_end_effector("tool", hand)


# objects whose attributes are fixed when they have been made
MADE = {
    "worldline.simulation.BatchParameters": lambda: batch().parameters,
    "worldline.simulation.ClosureProjectionReport": projection,
    "worldline.simulation.FlatArticulationView": lambda: sx.MixedBatch([ik_task()[0]]).articulations("*"),
    "worldline.simulation.MixedBatch": lambda: sx.MixedBatch([ik_task()[0]]),
    "worldline.model.ArticulationView": lambda: ArticulationView(arm(), "arm"),
    "worldline.model.LaneSimulation": lambda: LaneSimulation(arm(), 2),
    "worldline.model.Simulation": lambda: Simulation(arm()),
    "worldline.msd.Report": msd.Report,
    "worldline.collision.CollisionFilter": lambda: group().filter,
    "worldline.collision.CollisionGroup": group,
    "worldline.collision.CollisionObject": lambda: group().add(collision.CollisionShape.sphere(1.0)),
    "worldline.collision.NativeDetector": lambda: collision.CollisionDetector.create("native"),
    "worldline.kinematics.DifferentialIk": lambda: kinematics.DifferentialIk(*ik_task()),
    "worldline.kinematics.IkResult": lambda: kinematics.solve_ik(*ik_task()),
    "worldline.kinematics.AnalyticIk": closed_form,
    "worldline.kinematics.TaskController": lambda: kinematics.TaskController(
        *ik_task(), None, None, 0.0, 1.0
    ),
    "worldline.kinematics.ImpedanceController": lambda: task_controller(kinematics.ImpedanceController),
    "worldline.kinematics.JointPath": joint_path,
    "worldline.kinematics.OperationalSpaceController": lambda: task_controller(
        kinematics.OperationalSpaceController
    ),
    "worldline.kinematics.EndEffectorIk": lambda: end_effector().ik,
    "worldline.kinematics.WholeBodyController": lambda: task_controller(kinematics.WholeBodyController),
    "worldline.kinematics.WholeBodyIk": lambda: kinematics.WholeBodyIk(end_effector().link.multibody),
    "worldline.kinematics.PlanResult": lambda: kinematics.plan_path(ik_task()[0], [0.5]),
    "worldline.kinematics.Trajectory": lambda: kinematics.time_optimal(
        joint_path(), max_velocity=1.0, max_acceleration=1.0
    ),
    "worldline.simulation.IndependentCoordinates": lambda: ik_task()[0].independent_coordinates(),
    "worldline.simulation.StepFunction": step_function,
    "worldline.lcp.Dantzig": lcp.Dantzig,
    "worldline.lcp.LcpSolver": lcp.LcpSolver,
    "worldline.lcp.Lemke": lcp.Lemke,
    "worldline.lcp.Newton": lcp.Newton,
    "worldline.lcp.Pgs": lcp.Pgs,
}
ABSENT = {"worldline.collision.CoalDetector": "made where that package is installed; a NativeDetector's base"}


def refuses(thing: object) -> bool:
    try:
        thing.no_such_attribute = 1
    except (AttributeError, TypeError):
        return not hasattr(thing, "no_such_attribute")
    return False


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in MADE and name not in ABSENT])
def test_no_public_class_takes_attributes_that_it_does_not_have(name):
    kind = CLASSES[name]
    if issubclass(kind, (enum.Enum, BaseException)) or getattr(kind, "_is_protocol", False):
        pytest.skip("enumerations, errors and protocols")
    try:
        thing = kind.__new__(kind)
    except TypeError:
        pytest.skip("made by functions of the package only")
    assert refuses(thing)


@pytest.mark.parametrize("name", MADE)
def test_objects_with_attributes_of_their_own_take_no_others(name):
    thing = MADE[name]()
    assert type(thing) is CLASSES[name]
    with pytest.raises(AttributeError, match=f"{type(thing).__name__} has no attribute 'no_such_attribute'"):
        thing.no_such_attribute = 1
    assert not hasattr(thing, "no_such_attribute")


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("name", ["worldline.model.Simulation", "worldline.model.LaneSimulation"])
def test_copies_refuse_too(name, copied):
    thing = copied(MADE[name]())
    assert refuses(thing)
    thing.step(2)
    assert np.isfinite(thing.q).all()


def test_a_misspelt_option_of_a_simulation_names_the_nearest():
    sim = Simulation(arm())
    with pytest.raises(AttributeError, match="did you mean 'time_step'"):
        sim.time_stp = 0.1
    sim.time_step = 0.01
    assert sim.time_step == 0.01


def test_a_solver_of_a_user_may_have_attributes():
    class Mine(lcp.Pgs):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

    mine = Mine()
    mine.more = 1
    assert mine.calls == 0


SHAPES = {
    "box": collision.CollisionShape.box((1.0, 2.0, 3.0)),
    "plane": collision.CollisionShape.plane((0.0, 0.0, 1.0), 0.5),
    "ellipsoid": collision.CollisionShape.ellipsoid((1.0, 2.0, 3.0)),
    "convex": collision.CollisionShape.convex([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    "mesh": collision.CollisionShape.mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]),
    "height field": collision.CollisionShape.height_field(np.zeros((3, 4)), (1.0, 1.0)),
}


@pytest.mark.parametrize("name", [*SHAPES, *MADE])
def test_arrays_are_views_or_read_only(name):
    thing = SHAPES[name] if name in SHAPES else MADE[name]()
    for word, read in inspect.getmembers_static(type(thing), lambda x: isinstance(x, property)):
        if word.startswith("_"):
            continue
        try:
            array = read.__get__(thing)
        except Exception:  # properties that this kind of object does not have
            continue
        if isinstance(array, np.ndarray) and array.size and array.flags.writeable:
            array[...] = ~array if array.dtype == bool else array + 1
            assert np.array_equal(read.__get__(thing), array), f"{word} is a copy that takes writes"
