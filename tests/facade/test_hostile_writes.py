# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Values that no quantity can have, written to everything that can be written.

Whatever a write says, the World can be read and stepped afterwards; a refused write changes nothing and raises
an error of the library.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from facade.every_object import every_object, settable
from worldline import ArgumentError, OperationError, WorldlineError
from worldline import simulation as sx

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value")
NAN, INF = math.nan, math.inf
HOSTILE: dict[str, Any] = {
    "nan": NAN,
    "infinity": INF,
    "minus infinity": -INF,
    "negative": -1.0,
    "too large": 10**400,
    "large": 1e308,
    "text": "abc",
    "bytes": b"x",
    "nothing": None,
    "flag": True,
    "complex": 1j,
    "object": object(),
    "mapping": {},
    "empty": [],
    "one nan": [NAN],
    "one infinity": [INF],
    "three nan": [NAN] * 3,
    "three infinite": [INF] * 3,
    "three too large": [10**400] * 3,
    "three large": [1e308] * 3,
    "three texts": ["a", "b", "c"],
    "three complex": [1j, 0, 0],
    "three zeros": [0, 0, 0],
    "x axis": [1, 0, 0],
    "y axis": [0, -2, 0],
    "four nan": [NAN] * 4,
    "masked": np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]),
    "one masked": np.ma.array([1.0], mask=[True]),
    "ragged": [[1.0], [1.0, 2.0]],
    "matrix of nan": np.full((4, 4), NAN),
    "matrix of zeros": np.zeros((3, 3)),
}


def _look(objects: dict[str, Any]) -> None:
    """Read something of every object."""
    world = objects["world"]
    _ = world.state_vector, world.contacts, world.time, world.compute_step_metrics()
    for name in ("hinge", "universal", "screw", "spherical"):
        _ = objects[name].position, objects[name].armature, objects[name].position_lower_limits
    for name in ("body", "link", "marker", "free_frame", "tool"):
        _ = objects[name].transform
    _ = objects["closure"].compute_residual(), objects["world_joint"].wrench
    # accelerations beyond double precision are refused by the sensors that need them
    with suppress(OperationError, ArgumentError):
        _ = objects["sensor"].value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=True)
    if isinstance(a, sx.Inertia):
        return isinstance(b, sx.Inertia) and np.array_equal(a.spatial_tensor, b.spatial_tensor)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and bool(a == b)


def _value(item: Any, name: str) -> Any:
    try:
        return getattr(item, name)
    except WorldlineError as error:
        return str(error)


@pytest.mark.parametrize("simulating", [False, True], ids=["design", "simulation"])
@pytest.mark.parametrize(("who", "name"), settable())
def test_no_write_poisons_a_world(who: str, name: str, simulating: bool) -> None:
    objects: dict[str, Any] = {}
    for words, value in HOSTILE.items():
        if not objects:
            objects = every_object()
            if simulating:
                objects["world"].step()
        before = _value(objects[who], name)
        try:
            setattr(objects[who], name, value)
        except (WorldlineError, AttributeError):
            assert _same(before, _value(objects[who], name)), f"{words}: refused, and changed"
            _ = objects["world"].state_vector
            continue
        _look(objects)
        try:
            objects["world"].clone().step()
        except WorldlineError:
            # a motion or an inertia beyond double precision: told by name, and the World can still be read
            _look(objects)
        objects = {}


def _stepped() -> dict[str, Any]:
    objects = every_object()
    objects["world"].step()
    return objects


CALLS: dict[tuple[str, str], tuple[Any, ...]] = {
    ("hinge", "set_position_limits"): (-1.0, 1.0),
    ("hinge", "set_velocity_limits"): (-1.0, 1.0),
    ("hinge", "set_effort_limits"): (-1.0, 1.0),
    ("universal", "set_position_limits"): ([-1.0, -1.0], [1.0, 1.0]),
    ("world_joint", "set_position_limits"): (-1.0, 1.0),
    ("joints", "set_position_limits"): (-1.0, 1.0),
    ("chain", "set_position_limits"): (-1.0, 1.0),
    ("dof", "set_position_limits"): (-1.0, 1.0),
    ("world_joint", "set_velocity_limits"): (-1.0, 1.0),
    ("world_joint", "set_effort_limits"): (-1.0, 1.0),
    ("world_joints", "set_velocity_limits"): (-1.0, 1.0),
    ("world_joints", "set_effort_limits"): (-1.0, 1.0),
    ("joints", "set_velocity_limits"): (-1.0, 1.0),
    ("joints", "set_effort_limits"): (-1.0, 1.0),
    ("chain", "set_velocity_limits"): (-1.0, 1.0),
    ("chain", "set_effort_limits"): (-1.0, 1.0),
    ("dof", "set_velocity_limits"): (-1.0, 1.0),
    ("dof", "set_effort_limits"): (-1.0, 1.0),
    ("multibody", "set_ground_contact"): ((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), 1e3, 0.5, 1e-3, 1.0, 0),
    ("link", "apply_force"): ((0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
    ("link", "apply_torque"): ((0.0, 0.0, 1.0),),
    ("body", "apply_force"): ((0.0, 0.0, 1.0),),
    ("body", "apply_torque"): ((0.0, 0.0, 1.0),),
    ("body", "apply_linear_impulse"): ((0.0, 0.0, 1.0),),
    ("body", "apply_angular_impulse"): ((0.0, 0.0, 1.0),),
    ("world", "set_rigid_body_distance_spring_parameters"): ("spring", 1.0, 10.0),
}
"""Methods that write numbers, with arguments they take."""
OTHERS = {
    ("world", "set_state"),
    ("world", "set_control"),
    ("world", "set_collision_pair_ignored"),
    ("world", "set_equality_active"),
    ("world", "apply_keyframe"),
    ("world", "apply_step_vjp"),
    ("world", "apply_step_jvp"),
    ("body", "set_collision_shape"),
    ("link", "set_collision_shape"),
    ("hinge", "set_mimic_joint"),
}
"""Those that take objects, names or whole values, whose numbers are checked by the value's own tests."""


def test_every_method_that_writes_is_known_here() -> None:
    seen = set()
    alike = {"universal": "hinge", "screw": "hinge", "spherical": "hinge"}
    for name, item in every_object().items():
        for method in dir(type(item)):
            if method.startswith(("set_", "apply_")):
                seen.add((alike.get(name, name), method))
    assert seen <= CALLS.keys() | OTHERS, seen - CALLS.keys() - OTHERS


@pytest.mark.parametrize(("who", "method"), CALLS)
def test_no_argument_poisons_a_world(who: str, method: str) -> None:
    objects = _stepped()
    good = CALLS[who, method]
    numeric = [k for k, value in enumerate(good) if not isinstance(value, str)]
    for k in numeric:
        for value in HOSTILE.values():
            given = [*good[:k], value, *good[k + 1 :]]
            try:
                getattr(objects[who], method)(*given)
            except WorldlineError:
                _ = objects["world"].state_vector
                continue
            _look(objects)
            objects = _stepped()


def test_a_second_axis_along_the_first_is_refused_at_the_call() -> None:
    for kind in (sx.JointType.UNIVERSAL, sx.JointType.PLANAR, sx.JointType.TRANSLATIONAL_2D):
        world = sx.World()
        arm = world.add_multibody("arm")
        arm.add_link("link", joint=sx.JointSpec(type=kind, axis=(1, 0, 0), axis2=(0, 1, 0)))
        joint = arm.joints[0]
        with pytest.raises(ArgumentError, match="must be across its axis"):
            joint.axis2 = (-3, 0, 0)
        with pytest.raises(ArgumentError, match="must be across its axis2"):
            joint.axis = (0, 2, 0)
        assert joint.axis.tolist() == [1, 0, 0]
        assert joint.axis2.tolist() == [0, 1, 0]
        world.step()


@pytest.mark.parametrize("name", ["break_force", "break_torque"])
def test_a_joint_cannot_break_at_nan(name: str) -> None:
    objects = every_object()
    joint = objects["world_joint"]
    with pytest.raises(ArgumentError, match="NaN"):
        setattr(joint, name, NAN)
    assert getattr(joint, name) == INF
    with pytest.raises(ArgumentError, match="NaN"):
        joint.set_position_limits(NAN, 1.0)
    _look(objects)


def test_numbers_beyond_a_float_and_masked_arrays_are_refused_by_the_shared_checks() -> None:
    from worldline._src.facade import values

    for check in (values.real, values.positive, values.non_negative, values.any_number, values.array):
        with pytest.raises(ArgumentError, match="float64"):
            check(-(10**400) if check is not values.array else [10**400, 1], "x")
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, False, True])
    with pytest.raises(ArgumentError, match="masked"):
        values.vector3(masked, "x")
    with pytest.raises(ArgumentError, match="masked"):
        values.dof_vector(masked, 3, "x")
    assert values.vector3(np.ma.array([1.0, 2.0, 3.0]), "x").tolist() == [1.0, 2.0, 3.0]


LARGE = 10**400
READS = {
    "start of a ray": lambda o: o["world"].raycast((LARGE, 0, 0), (0, 0, 1)),
    "text for a ray": lambda o: o["world"].raycast("abc", (0, 0, 1)),
    "uneven rays": lambda o: o["world"].raycast([[1, 2], [3]], (0, 0, 1)),
    "size of a picture": lambda o: o["world"].visibility.query(np.eye(4), width=LARGE),
    "axes of a joint": lambda o: sx.JointSpec(type=sx.JointType.D6, linear_axes=3.7),
    "distances of a joint": lambda o: sx.JointSpec(
        type=sx.JointType.DISTANCE, distance_limits=(1.0, 2.0, 3.0)
    ),
    "degree of freedom": lambda o: (
        o["world"].multibodies[0].joints[1].set_mimic_joint(o["world"].multibodies[0].joints[0], dof="0")
    ),
    "replay branch": lambda o: o["world"].replay.recording(np.zeros(2)),
    "replay frame": lambda o: o["world"].replay.frame_time((1, 2, 3)),
    "links of a group": lambda o: o["world"].multibodies[0].group(links=3),
    "targets of a linkage": lambda o: (
        o["world"].multibodies[0].linkage(o["world"].multibodies[0].links[0], 3)
    ),
    "joints to freeze": lambda o: o["world"].multibodies[0].freeze(3),
    "frame of a force": lambda o: o["link"].apply_force((0, 0, 1), force_in_world_frame="no"),
    "frame of a point": lambda o: o["link"].apply_force((0, 0, 1), point_in_world_frame="no"),
    "frame of a torque": lambda o: o["link"].apply_torque((0, 0, 1), torque_in_world_frame="no"),
    "joint of a branch": lambda o: o["world"].multibodies[0].branch(o["link"], include_parent_joint="no"),
    "scalar type": lambda o: sx.WorldOptions(dtype="\ud800"),
    "name of a link": lambda o: sx.World().add_multibody("m").add_link(np.zeros(2)),
    "name of a multibody": lambda o: setattr(o["world"].multibodies[0], "name", np.zeros(2)),
    "stage": lambda o: o["world"].sync(stage=np.zeros(2)),
}


@pytest.mark.parametrize("name", READS)
def test_reads_and_specifications_refuse_with_an_error_of_the_library(name: str) -> None:
    objects = every_object()
    with pytest.raises(WorldlineError):
        READS[name](objects)
    _look(objects)
