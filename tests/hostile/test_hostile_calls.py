# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every public call, argument by argument, with values that no argument should be.

All public functions, constructors and methods are found by introspection and called with plain arguments, all
but one, which is hostile. Such a call is refused by an error of the library and changes nothing, or is taken, and
then the World can be read and stepped.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from hostile import public_objects as makers
from hostile.plain_arguments import argument, optional
from hostile.public_objects import Objects
from hostile.walk import Call, calls, classes
from worldline import WorldlineError
from worldline import simulation as sx
from worldline._src.scene.base import Struct

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
NAN = float("nan")
HOSTILE: dict[str, Any] = {
    "nan": NAN,
    "infinity": float("inf"),
    "beyond a float": 10**400,
    "beyond 64 bits": 2**70,
    "complex": 1 + 2j,
    "negative": -5,
    "fraction": 1.5,
    "flag": True,
    "no dimension": np.array(3),
    "empty": np.zeros((0, 3)),
    "masked": np.ma.array([1.0, 2.0], mask=[False, True]),
    "text": "abc",
    "NUL": "a\0b",
    "surrogate": "\ud800",
    "bytes": b"x",
    "object": object(),
    "ragged": [[1, 2], [3]],
    "nothing": [None],
    "mapping": {},
    "three nan": [NAN] * 3,
}
MADE = frozenset(
    """AnalyticIk ArticulationView BalanceTask CenterOfMassTask Choice ClosureProjectionOptions ClosureTask
    CollisionFilter CollisionOption CollisionQueryOptions CouplingTask DeactivationOptions DifferentialIk
    DistanceOption EndEffectorIk ImpedanceController Inertia JointConstraintProjectionPolicy JointDofConfig
    JointSpec LaneSimulation LcpOptions LcpProblem LinkOptions LogUniform LookAt LookAtTask
    LoopClosureRuntimePolicy LoopClosureSpec ManipulabilityTask MixedBatch ModelBuilder MultibodyOptions Normal
    ObstacleTask OperationalSpaceController OrientationTask ParallelExecutor PoseTask PositionTask PostureTask
    Randomization Randomized RaycastOption ReadOptions RecedingHorizon Renderer RigidBodyOptions
    RolloutFunction SelfCollisionTask ShapeConfig ShootingFunction Simulation SkeletonLoadOptions
    SkeletonToMultibodyOptions StepOptions TrackingCost Uniform VectorWorldEnv WholeBodyController WholeBodyIk
    World WorldBatch WorldEnv WorldOptions""".split()
)
"""Classes that users make objects of; all of `worldline.msd` are too. Others are what calls return."""
EXEMPT = {
    "simulation.view": "starts a server; tests of the viewer send it hostile messages",
    "simulation.view_batch": "starts a server",
    "simulation.Viewer": "needs a server: tests/viewer/test_access.py",
    "simulation.BatchViewer": "needs a server: tests/viewer/test_access.py",
    "simulation.float64": "a type of NumPy",
    "simulation.BatchStepContext": "exists during a step alone",
    "simulation.IndependentCoordinates": "tests/kinematics/test_independent_coordinates.py",
    "simulation.FunctionSensor.copy_to": "for clones of a World",
    "simulation.StepFunction.copy_to": "for clones of a World",
    "simulation.Randomization.draw": "for batches; what they pass is checked there",
    "simulation.Randomization.draws": "for batches",
    "simulation.Randomized.applied": "for batches",
    **{
        f"model.LaneSimulation.{name}": "between a batch and its steps, on their own arrays"
        for name in (
            *("advance", "arenas", "kept_of", "laid_out_again", "plan", "restore_parameters", "room", "rows"),
            *("sets_of", "stages", "take_room", "was_written"),
        )
    },
    **{
        f"model.Simulation.{name}": "between a World and its steps, on their own arrays"
        for name in ("begin_calls", "field", "make_room", "parameters_changed", "take_steps")
    },
    "model.Model.of": "for builders",
    "model.Model.set_actuator_modes": "for a World, which checks them",
    "model.Model.set_drive": "for a World",
    "model.Model.set_kinematic": "for a World",
    "model.JointDofConfig.checked": "for builders",
    "collision.NativeDetector.scene": "between detectors",
    "optimize.Cost.bind": "for optimizers",
    "optimize.TrackingCost.bind": "for optimizers",
    "optimize.IdentificationResult": "its one method draws, as that of TrajectoryResult",
    "envs.Task": "users write these",
    "distributed": "needs a cluster",
    "msd.Report": "for readers; its notes are plain values",
    "msd.Problem": "a value that errors have",
    "msd.Probe": "for validation",
}
"""What is not walked, by the start of its name, and why."""
REFUSED = {
    "simulation.FlatArticulationView.set_root_velocities": "needs floating roots",
    "simulation.FlatArticulationView.set_root_transforms": "needs floating roots",
    "model.ArticulationView.get_root_velocities": "needs floating roots",
    "model.ArticulationView.set_root_velocities": "needs floating roots",
    "collision.CoalDetector.raycast": "Coal casts no rays",
    "kinematics.AnalyticIk.elbow_angle": "needs an arm of seven joints",
    "simulation.Joint.compute_wrench_to_child": "not beside springs and closures",
    "simulation.Joint.compute_wrench_to_parent": "not beside springs and closures",
    "optimize.jax_rollout": "needs JAX",
    "optimize.torch_rollout": "needs PyTorch",
}
"""Calls that are refused here with any arguments, and why; they are walked nevertheless."""
WORLD, DESIGN = "world", "design"
ELSEWHERE = {
    "simulation.World.apply_keyframe": "robots",
    "simulation.World.get_equality_force": "robots",
    "simulation.World.is_equality_active": "robots",
    "simulation.World.set_equality_active": "robots",
    "simulation.World.independent_coordinates": "robots",
    "simulation.World.save_binary": "robots",
    "simulation.World.load_binary": "robots",
    "simulation.World.add_differentiable_parameter": "differentiable",
    "simulation.World.apply_step_jvp": "differentiable",
    "simulation.World.apply_step_vjp": "differentiable",
    "simulation.World.check_derivatives": "differentiable",
    "simulation.WorldBatch.apply_step_jvp": "differentiable",
    "simulation.WorldBatch.apply_step_vjp": "differentiable",
    "simulation.WorldBatch.get_step_derivatives": "differentiable",
    "simulation.StateSpace": "values",
    "kinematics": "robots",
    "optimize": "differentiable",
}
"""Whose objects calls are made with, where it is not the first part that has some."""
MAKERS = {
    WORLD: lambda: makers.in_world(stepped=True),
    DESIGN: lambda: makers.in_world(stepped=False),
    **makers.PARTS,
    "environments": makers.environments,
}


class Stock:
    """Objects of all parts, each made when it is first needed, and again after it changed."""

    def __init__(self) -> None:
        self._parts: dict[str, Objects] = {}

    def part(self, name: str) -> Objects:
        if name not in self._parts:
            self._parts[name] = MAKERS[name]()
        return self._parts[name]

    def drop(self, name: str) -> None:
        if name != "environments":
            # which take a second to make, and are stepped in any state
            self._parts.pop(name, None)

    def all(self, first: str) -> Objects:
        """Objects of all parts; of two with one name, that of the first part."""
        found = Objects()
        names = [first, *(name for name in MAKERS if name not in (WORLD, DESIGN)), WORLD]
        for name in names:
            for key, item in self.part(name).items():
                found.setdefault(key, item)
        return found

    def mark(self, name: str) -> str:
        """Changes when what a part holds changes."""
        part = self.part(name)
        known = [part[key] for key in ("world", "world_2", "world_3", "batch", "mixed") if key in part]
        return " ".join(item.fingerprint() for item in known)


@cache
def stock() -> Stock:
    return Stock()


def walked() -> dict[str, list[Call]]:
    """Calls with arguments, by the module or class they are of."""
    found: dict[str, list[Call]] = {}
    for label, call in calls().items():
        is_class = inspect.isclass(call.function)
        if is_class and call.name not in MADE and not label.startswith("msd."):
            continue
        given = [p for p in call.parameters if p.kind is not p.VAR_KEYWORD]
        if given and not any(label == name or label.startswith(f"{name}.") for name in EXEMPT):
            found.setdefault(label if is_class else label.rpartition(".")[0], []).append(call)
    return found


def _receiver(call: Call, objects: Objects) -> Any:
    if call.owner is None:
        return call.function
    owner = next((item for item in objects.values() if isinstance(item, call.owner)), None)
    assert owner is not None, f"no object of {call.owner.__name__} in public_objects.py"
    return getattr(owner, call.name)


def _invoke(call: Call, objects: Objects, name: str | None = None, value: Any = None) -> None:
    """Call with plain arguments, and one that is given."""
    args, named = [], {}
    is_variadic = any(p.kind is p.VAR_POSITIONAL for p in call.parameters)
    for p in call.parameters:
        plain = argument(call.label, p.name)
        if p.kind is p.VAR_POSITIONAL:
            args += [value] if p.name == name else plain(objects) if plain else []
            continue
        if p.default is not p.empty:
            plain = optional(call.label, p.name)
        if p.kind is p.VAR_KEYWORD or (p.name != name and p.default is not p.empty and plain is None):
            continue
        if p.name != name:
            assert plain is not None, f"no argument for {call.label}({p.name}) in plain_arguments.py"
        made = value if p.name == name else plain(objects)
        if p.kind is p.KEYWORD_ONLY or (p.default is not p.empty and not is_variadic):
            named[p.name] = made
        else:
            args.append(made)
    result = _receiver(call, objects)(*args, **named)
    if isinstance(result, sx.StepJob):
        result.wait()
    elif inspect.iscoroutine(result):
        result.close()


def _part_of(call: Call) -> str:
    """The part of the stock whose object a method is called on."""
    chosen = [part for name, part in ELSEWHERE.items() if f"{call.label}.".startswith(f"{name}.")]
    if chosen:
        return chosen[0]
    for name in MAKERS:
        if call.owner is not None and any(isinstance(x, call.owner) for x in stock().part(name).values()):
            return name
    return WORLD


def _still_good(part: str) -> None:
    """What took a hostile value can be read and stepped, or says by name that it cannot."""
    objects = stock().part(part)
    if "world" in objects:
        world = objects["world"]
        try:
            world.step()
        except WorldlineError:
            pass
        assert np.isfinite(world.state_vector).all()
    elif "batch" in objects:
        try:
            objects["batch"].step()
        except WorldlineError:
            pass
        assert np.isfinite(objects["batch"].joint_positions).all()


def _faults(call: Call) -> Iterator[str]:
    part = _part_of(call)
    objects, mark = stock().all(part), stock().mark(part)
    try:
        _invoke(call, objects)
    except WorldlineError as error:
        if "in simulation mode" in str(error):
            part = DESIGN
            mark = stock().mark(part)
            _invoke(call, stock().all(part))
        elif call.label not in REFUSED:
            yield f"{call.label} with plain arguments: {error!r}"
    objects, mark = _renewed(call, part, mark)
    for p in call.parameters:
        if p.kind is p.VAR_KEYWORD:
            continue
        for words, value in HOSTILE.items():
            what = f"{call.label}({p.name}={words})"
            try:
                _invoke(call, objects, p.name, value)
            except (WorldlineError, IndexError) as error:
                if type(error) is IndexError and "out of range" not in str(error):
                    yield f"{what}: {error!r}"
                continue
            except Exception as error:
                yield f"{what}: {type(error).__name__}: {error}"
            if stock().mark(part) != mark:
                _still_good(part)
            objects, mark = _renewed(call, part, mark)
        if stock().mark(part) != mark:
            yield f"{call.label}({p.name}): a refused call changed the World"
            objects, mark = _renewed(call, part, mark)


def _renewed(call: Call, part: str, mark: str) -> tuple[Objects, str]:
    """Objects for the next call, made anew where the last one changed something, and their mark."""
    now = stock().mark(part)
    if now != mark or (not now and call.owner is not None) or call.name.startswith("add_"):
        stock().drop(part)
        now = stock().mark(part)
    return stock().all(part), now


@pytest.mark.parametrize("group", walked())
def test_hostile_arguments_are_refused_or_harmless(group, tmp_path, monkeypatch):
    # a text is the path of a file to some
    monkeypatch.chdir(tmp_path)
    faults = [fault for call in walked()[group] for fault in _faults(call)]
    assert not faults, "\n".join(faults)


def _settable(kind: type) -> list[str]:
    """Names of what can be assigned to; fields of scene objects have no descriptor."""
    if not kind.__module__.startswith("worldline."):
        return []
    found = list(getattr(kind, "_fields", ())) if kind.__module__.startswith("worldline._src.scene") else []
    for name in dir(kind):
        described = inspect.getattr_static(kind, name)
        is_property = isinstance(described, property) and described.fset is not None
        if name[0] != "_" and (is_property or hasattr(type(described), "__set__")):
            found.append(name)
    return [name for name in found if not isinstance(inspect.getattr_static(kind, name, None), type)]


@cache
def written() -> dict[type, str]:
    """Classes with something to assign to, and the part that has an object of them.

    Those of a World are in tests/facade/test_hostile_writes.py.
    """
    elsewhere = {type(item) for item in stock().part(WORLD).values()}
    found: dict[type, str] = {}
    for part in MAKERS:
        for kind in map(type, stock().part(part).values()):
            if kind not in elsewhere and not issubclass(kind, Struct) and _settable(kind):
                found.setdefault(kind, part)
    return found


def test_hostile_assignments_are_refused_or_harmless():
    faults = []
    for kind, part in written().items():
        for name in _settable(kind):
            for words, value in HOSTILE.items():
                item = next((x for x in stock().part(part).values() if type(x) is kind), None)
                item = kind() if item is None else item
                before = stock().mark(part)
                try:
                    setattr(item, name, value)
                except (WorldlineError, AttributeError):
                    if stock().mark(part) != before:
                        faults.append(f"{kind.__name__}.{name} = {words}: refused, and changed")
                    continue
                except Exception as error:
                    faults.append(f"{kind.__name__}.{name} = {words}: {type(error).__name__}: {error}")
                if stock().mark(part) != before:
                    _still_good(part)
                    stock().drop(part)
        stock().drop(part)
    assert not faults, "\n".join(faults)


def test_hostile_fields_of_scenes_are_refused_or_kept():
    faults = []
    for label, kind in classes().items():
        if not (label.startswith("msd.") and issubclass(kind, Struct)):
            continue
        for name in _settable(kind):
            item = kind()
            for words, value in HOSTILE.items():
                before = repr(getattr(item, name))
                try:
                    setattr(item, name, value)
                except (WorldlineError, AttributeError):
                    if repr(getattr(item, name)) != before:
                        faults.append(f"{label}.{name} = {words}: refused, and changed")
                except Exception as error:
                    faults.append(f"{label}.{name} = {words}: {type(error).__name__}: {error}")
    assert not faults, "\n".join(faults)


def test_tables_name_what_exists():
    known = calls()
    assert MADE <= {call.name for call in known.values()}
    for name in (*EXEMPT, *REFUSED, *ELSEWHERE):
        assert any(label == name or label.startswith(f"{name}.") for label in known), name
