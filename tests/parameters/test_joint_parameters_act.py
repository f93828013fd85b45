# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of joints acts or is refused by name: `JointSpec`, `Joint`, one freedom, and in bulk."""

from __future__ import annotations

import numpy as np
import pytest
from effects import (
    Effect,
    Refused,
    after,
    arguments,
    check,
    complete,
    put,
    rows_of,
    settable,
    shift,
    stepped,
    world_of,
)

from worldline import msd
from worldline import simulation as sx
from worldline._src.facade.joint_spec import WITH_AXIS, WITH_AXIS2

Type, Drive = sx.JointType, sx.ActuatorType


def hanging(tip=True, **spec):
    """A link on a joint about y whose centre of mass is ahead, with a child so that forces couple."""
    world = sx.World(time_step=0.005)
    robot = world.add_multibody("robot")
    with_axis = spec.get("type", Type.REVOLUTE) in (Type.REVOLUTE, Type.PRISMATIC, Type.SCREW, Type.UNIVERSAL)
    given = {"name": "hinge"} | ({"axis": (0, 1, 0)} if with_axis else {}) | spec
    link = robot.add_link("rod", None, sx.JointSpec(**given))
    link.mass, link.inertia, link.center_of_mass = 1.0, np.diag([0.01, 0.02, 0.03]), (0.3, 0.05, 0.02)
    if tip:
        last = robot.add_link("tip", link, sx.JointSpec(name="wrist", axis=(0, 0, 1)))
        last.mass, last.inertia, last.center_of_mass = 0.5, np.diag([0.01, 0.02, 0.03]), (0.1, 0.1, 0.0)
    return robot.joints["hinge"]


def turning(axis):
    return [msd.MotionAxis.turn(axis, msd.CoordinateFunction.linear())]


def spec(n=10, **field):
    """A field of JointSpec changes the motion of the joint."""
    ((name, value),) = field.items()
    return Effect(dict, lambda given: given.update({name: value}), lambda g: stepped(n)(hanging(**g)))


def spec_of(base, n=10, start=None, **field):
    """The same for a joint of other fields, with commands to begin with."""
    ((name, value),) = field.items()

    def observe(given):
        joint = hanging(**given)
        if start is not None:
            start(joint)
        return stepped(n)(joint)

    return Effect(lambda: dict(base), lambda given: given.update({name: value}), observe)


def push(joint):
    joint.force = [200.0] * joint.num_dofs


def put_all(**values):
    return lambda joint: [setattr(joint, name, value) for name, value in values.items()]


def hurry(joint):
    joint.command_acceleration = [50.0]


def between_bodies(**field):
    """An anchor in the specification of a joint between bodies changes where it holds them."""

    def observe(given):
        world = sx.World(time_step=0.005)
        body = world.add_rigid_body("a", inertia=np.eye(3) * 0.1, position=(1, 0, 0))
        anchors = {"parent_anchor": (1, 0, 0), "child_anchor": (0, 0, 0)} | given
        world.add_joint(body, sx.JointSpec(type=Type.SPHERICAL, **anchors))
        return stepped(10)(world)

    return Effect(dict, lambda given: given.update(field), observe)


SPEC = {
    "name": Effect(
        dict,
        lambda g: g.update(name="elbow"),
        lambda g: sx.World().add_multibody("m").add_link("a", None, sx.JointSpec(**g)).multibody.joints.names,
    ),
    "type": spec(type=Type.PRISMATIC),
    "axis": spec(axis=(1, 0, 0)),
    "axis2": spec_of({"type": Type.UNIVERSAL}, axis2=(0, 0, 1), start=push),
    "transform_to_parent": spec(
        transform_to_parent=np.array([[0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1.0]])
    ),
    "transform_from_parent": spec(transform_from_parent=shift(x=0.4)),
    "parent_anchor": between_bodies(parent_anchor=(0.5, 0.0, 0.2)),
    "child_anchor": between_bodies(child_anchor=(-0.5, 0.0, 0.2)),
    "pitch": spec_of({"type": Type.SCREW}, pitch=0.5),
    "motion": spec_of({"type": Type.CUSTOM, "motion": turning((0, 1, 0))}, motion=turning((1, 0, 0))),
    "position_lower_limits": spec_of(
        {}, position_lower_limits=-0.01, n=40, start=lambda j: put("force", [-50.0])(j)
    ),
    "position_upper_limits": spec_of({}, position_upper_limits=0.01, n=40),
    "velocity_limits": spec_of({}, velocity_limits=0.1, n=40),
    "acceleration_limits": spec_of(
        {"actuator_type": Drive.ACCELERATION}, acceleration_limits=1.0, start=hurry
    ),
    "effort_limits": spec_of({}, effort_limits=1.0, start=push),
    "limit_margin": spec_of({"position_upper_limits": 0.5}, limit_margin=0.4, n=40),
    "spring_stiffness": spec_of({"rest_position": 0.5}, spring_stiffness=10.0),
    "rest_position": spec_of({"spring_stiffness": 10.0}, rest_position=0.5),
    "damping_coefficient": spec(damping_coefficient=1.0),
    "coulomb_friction": spec(coulomb_friction=0.5),
    "armature": spec(armature=1.0),
    "actuator_type": spec_of({}, actuator_type=Drive.PASSIVE, start=push),
    "linear_axes": spec_of({"type": Type.D6, "linear_axes": [(1, 0, 0)]}, linear_axes=[(0, 0, 1)]),
    "angular_axes": spec_of({"type": Type.D6, "angular_axes": [(1, 0, 0)]}, angular_axes=[(0, 1, 0)]),
    "euler_order": spec_of(
        {"type": Type.EULER},
        euler_order="zyx",
        start=put_all(position=[0.3, 0.4, 0.5]),
    ),
    "distance_limits": spec_of({"type": Type.DISTANCE}, distance_limits=(0.0, 0.001), n=40),
}


def test_every_field_of_a_specification_has_an_entry():
    complete(SPEC, settable(sx.JointSpec) | arguments(sx.JointSpec))


@pytest.mark.parametrize(
    "field",
    [
        {"pitch": 0.1},
        {"euler_order": "zyx"},
        {"distance_limits": (0.0, 1.0)},
        {"linear_axes": [(1, 0, 0)]},
        {"angular_axes": [(1, 0, 0)]},
    ],
    ids=lambda field: next(iter(field)),
)
def test_a_specification_refuses_what_its_type_has_not(field):
    with pytest.raises(ValueError, match=next(iter(field))):
        sx.JointSpec(type=Type.REVOLUTE, **field)
    later = sx.JointSpec(type=Type.REVOLUTE)
    name, value = next(iter(field.items()))
    setattr(later, name, value)
    with pytest.raises(ValueError, match=name):
        sx.World().add_multibody("robot").add_link("rod", None, later)


# ---- joints of trees


def driven(kind, **more):
    def make():
        joint = hanging(actuator_type=kind)
        for name, value in more.items():
            setattr(joint, name, value)
        return joint

    return make


def screw():
    return hanging(tip=False, type=Type.SCREW, pitch=0.1)


def universal():
    joint = hanging(tip=False, type=Type.UNIVERSAL)
    joint.force = [1.0, 2.0]
    return joint


def limited():
    joint = hanging()
    joint.set_position_limits([-0.5], [0.5])
    joint.velocity = [3.0]
    return joint


def follower():
    joint = hanging()
    joint.set_mimic_joint(joint.multibody.joints["wrist"], 2.0)
    joint.actuator_type = Drive.MIMIC
    joint.multibody.joints["wrist"].force = [2.0]
    return joint


JOINT = {
    "position": Effect(hanging, put("position", [0.4]), stepped()),
    "velocity": Effect(hanging, put("velocity", [0.4]), stepped()),
    "force": Effect(hanging, put("force", [0.4]), stepped()),
    "command_velocity": Effect(driven(Drive.VELOCITY), put("command_velocity", [0.4]), stepped()),
    "command_acceleration": Effect(driven(Drive.ACCELERATION), put("command_acceleration", [0.4]), stepped()),
    "target_position": Effect(
        driven(Drive.FORCE, target_stiffness=50.0), put("target_position", [0.4]), stepped()
    ),
    "target_velocity": Effect(
        driven(Drive.FORCE, target_damping=5.0), put("target_velocity", [0.4]), stepped()
    ),
    "target_stiffness": Effect(
        driven(Drive.FORCE, target_position=[0.4]), put("target_stiffness", 50.0), stepped()
    ),
    "target_damping": Effect(
        driven(Drive.FORCE, target_velocity=[0.4]), put("target_damping", 5.0), stepped()
    ),
    "spring_stiffness": Effect(
        driven(Drive.FORCE, rest_position=[0.4]), put("spring_stiffness", 50.0), stepped()
    ),
    "rest_position": Effect(
        driven(Drive.FORCE, spring_stiffness=50.0), put("rest_position", [0.4]), stepped()
    ),
    "damping_coefficient": Effect(hanging, put("damping_coefficient", 0.4), stepped()),
    "coulomb_friction": Effect(hanging, put("coulomb_friction", 0.4), stepped()),
    "armature": Effect(hanging, put("armature", 0.4), stepped()),
    "limit_margin": Effect(limited, put("limit_margin", 0.4), stepped(25)),
    "velocity_limits": Effect(limited, put("velocity_limits", 0.4), stepped()),
    "acceleration_limits": Effect(
        driven(Drive.ACCELERATION, command_acceleration=[50.0]), put("acceleration_limits", 1.0), stepped()
    ),
    "effort_limits": Effect(driven(Drive.FORCE, force=[50.0]), put("effort_limits", 1.0), stepped()),
    "actuator_type": Effect(
        driven(Drive.FORCE, force=[50.0]), put("actuator_type", Drive.PASSIVE), stepped()
    ),
    "axis": Effect(hanging, put("axis", (1, 0, 0)), stepped()),
    "axis2": Effect(universal, put("axis2", (0, 0, 1)), stepped()),
    "pitch": Effect(screw, put("pitch", 0.4), stepped()),
    "use_coupler_constraint": Effect(
        follower, lambda j: put("use_coupler_constraint", not j.use_coupler_constraint)(j), stepped(40)
    ),
    "break_force": Refused(lambda: put("break_force", 5.0)(hanging()), "break_force"),
    "break_torque": Refused(lambda: put("break_torque", 5.0)(hanging()), "break_torque"),
    "constraint_projection_policy": Refused(
        lambda: put(
            "constraint_projection_policy", sx.JointConstraintProjectionPolicy(linear_stiffness=10.0)
        )(hanging()),
        "stiff",
    ),
}
LIMITS = {
    "set_position_limits": Effect(limited, lambda j: j.set_position_limits([-0.1], [0.1]), stepped(25)),
    "set_velocity_limits": Effect(limited, lambda j: j.set_velocity_limits([-0.1], [0.1]), stepped()),
    "set_effort_limits": Effect(
        driven(Drive.FORCE, force=[50.0]), lambda j: j.set_effort_limits([-1.0], [1.0]), stepped()
    ),
}


def test_every_property_of_a_joint_has_an_entry():
    complete(JOINT, settable(sx.Joint))


# ---- one freedom


DOF_NAMES = {
    "acceleration_limit": "acceleration_limits",
    "effort_limit": "effort_limits",
    "velocity_limit": "velocity_limits",
}


def single(value):
    return value[0] if isinstance(value, list) else value


class Freedom:
    """A freedom with its World, as the observables want it."""

    def __init__(self, joint):
        self.dof, self.world = joint.dofs[0], world_of(joint)


VALUES = {
    "position": [0.4],
    "velocity": [0.4],
    "force": [0.4],
    "command_velocity": [0.4],
    "command_acceleration": [0.4],
    "target_position": [0.4],
    "target_velocity": [0.4],
    "target_stiffness": 50.0,
    "target_damping": 5.0,
    "spring_stiffness": 50.0,
    "rest_position": [0.4],
    "damping_coefficient": 0.4,
    "coulomb_friction": 0.4,
    "armature": 0.4,
    "velocity_limits": 0.4,
    "acceleration_limits": 1.0,
    "effort_limits": 1.0,
    "limit_margin": 0.4,
    "pitch": 0.4,
    "axis": (1, 0, 0),
    "axis2": (0, 0, 1),
}


def of_freedom(name):
    whole = DOF_NAMES.get(name, name)
    entry = JOINT[whole]
    value = Drive.PASSIVE if name == "actuator_type" else single(VALUES[whole])
    return Effect(lambda: Freedom(entry.make()), lambda f: setattr(f.dof, name, value), entry.observe)


DOF = {name: of_freedom(name) for name in sorted(settable(sx.DegreeOfFreedom))}


# ---- in bulk


class Bulk:
    """A collection with its World."""

    def __init__(self, joint, read):
        self.all, self.world = read(joint), world_of(joint)


def bulk(cls, read):
    """Bulk properties act as those of their members do: the first entries become those of the hinge."""
    table = {}
    for name in sorted(settable(cls)):
        entry = JOINT[name]
        if isinstance(entry, Refused):
            table[name] = Refused(lambda name=name: setattr(read(hanging()), name, 5.0), name)
            continue

        def change(subject, name=name):
            if name == "actuator_type":
                subject.all.actuator_type = [Drive.PASSIVE, *subject.all.actuator_type[1:]]
                return
            value = np.array(getattr(subject.all, name), np.float64)
            value.reshape(-1)[: np.size(VALUES[name])] = np.ravel(VALUES[name])
            setattr(subject.all, name, value)

        table[name] = Effect(lambda entry=entry: Bulk(entry.make(), read), change, entry.observe)
    return table


COLLECTION = bulk(sx.JointCollection, lambda joint: joint.multibody.joints)
GROUP = bulk(sx.Group, lambda joint: joint.multibody.group(joints=joint.multibody.joints))
CHAIN = bulk(
    sx.Chain,
    lambda joint: joint.multibody.chain(joint.child_link, joint.child_link, include_parent_joint=True),
)
BRANCH = bulk(sx.Branch, lambda joint: joint.multibody.branch(joint.child_link, include_parent_joint=True))


# ---- joints between bodies


def welded(**spec):
    world = sx.World(time_step=0.005)
    base = world.add_rigid_body("base")
    base.is_static = True
    body = world.add_rigid_body("a", inertia=np.diag([0.1, 0.2, 0.3]), position=(0.5, 0, 0))
    given = {
        "name": "weld",
        "type": Type.FIXED,
        "parent_anchor": (0, 0, 0),
        "child_anchor": (-0.5, 0, 0),
    } | spec
    return world.add_joint(base, body, sx.JointSpec(**given))


def motor(drive=Drive.FORCE, **given):
    joint = welded(type=Type.REVOLUTE, axis=(0, 1, 0), actuator_type=drive)
    for name, value in given.items():
        setattr(joint, name, value)
    return joint


def policy(**given):
    return lambda: {"linear_stiffness": 50.0, "angular_stiffness": 50.0} | given


def soft(given):
    joint = welded()
    joint.constraint_projection_policy = sx.JointConstraintProjectionPolicy(**given)
    return joint


WORLD_JOINT = {
    "break_force": Effect(welded, put("break_force", 1.0), stepped()),
    "break_torque": Effect(welded, put("break_torque", 0.1), stepped()),
    "pitch": Effect(
        lambda: welded(type=Type.SCREW, axis=(1, 0, 0.5), pitch=0.1), put("pitch", 0.4), stepped()
    ),
    "constraint_projection_policy": Effect(
        welded,
        put("constraint_projection_policy", sx.JointConstraintProjectionPolicy(linear_stiffness=50.0)),
        stepped(),
    ),
    "actuator_type": Effect(motor, put("actuator_type", Drive.LOCKED), stepped()),
    "force": Effect(motor, put("force", [3.0]), stepped()),
    "command_velocity": Effect(lambda: motor(Drive.VELOCITY), put("command_velocity", [0.7]), stepped()),
    "command_acceleration": Effect(
        lambda: motor(Drive.ACCELERATION), put("command_acceleration", [0.7]), stepped()
    ),
    "spring_stiffness": Effect(motor, put("spring_stiffness", 5.0), stepped()),
    "rest_position": Effect(lambda: motor(spring_stiffness=5.0), put("rest_position", [0.4]), stepped()),
    "damping_coefficient": Effect(motor, put("damping_coefficient", 2.0), stepped()),
    "coulomb_friction": Effect(motor, put("coulomb_friction", 0.5), stepped()),
    "armature": Effect(motor, put("armature", 0.3), stepped()),
}
PROJECTION = {
    "linear_stiffness": Effect(
        policy(), lambda g: g.update(linear_stiffness=90.0), lambda g: stepped()(soft(g))
    ),
    "angular_stiffness": Effect(
        policy(), lambda g: g.update(angular_stiffness=90.0), lambda g: stepped()(soft(g))
    ),
    "start_stiffness": Effect(
        policy(),
        lambda g: g.update(start_stiffness=2.0),
        lambda g: after(1, lambda j: world_of(j).step_report().notes)(soft(g)),
    ),
}


# ---- ground contact


def grounded(given):
    """A two-link leg that falls onto a plane and slides on it."""
    world = sx.World(time_step=0.005, multibody_options=sx.MultibodyOptions("variational"))
    leg = world.add_multibody("leg")
    thigh = leg.add_link("thigh", joint=sx.JointSpec(type=Type.FLOATING), mass=1.0, inertia=(0.1, 0.2, 0.3))
    shin = leg.add_link(
        "shin", parent=thigh, joint=sx.JointSpec(axis=(0, 1, 0)), mass=0.5, inertia=(0.1, 0.1, 0.1)
    )
    plane = {"plane_normal": (0.1, 0, 1), "plane_point": (0, 0, 0.2), "stiffness": 300.0}
    leg.set_ground_contact(**(plane | {name: value for name, value in given.items() if name in GROUND}))
    leg.add_ground_contact_point(shin if given.get("link") else thigh, given.get("local_point", (0, 0, 0.1)))
    return world


def ground(name, value, **other):
    return Effect(
        lambda: dict(other), lambda given: given.update({name: value}), lambda g: stepped(30)(grounded(g))
    )


GROUND = {
    "plane_normal": ground("plane_normal", (0.3, 0, 1)),
    "plane_point": ground("plane_point", (0, 0, 0.1)),
    "stiffness": ground("stiffness", 500.0),
    "friction_coefficient": ground("friction_coefficient", 0.5),
    "friction_regularization": ground("friction_regularization", 0.5, friction_coefficient=0.5),
    "damping_coefficient": ground("damping_coefficient", 5.0),
    "dual_update_cadence": ground("dual_update_cadence", 3),
}
GROUND_POINT = {"link": ground("link", "shin"), "local_point": ground("local_point", (0.1, 0, 0.05))}


def test_tables_of_joints_are_complete():
    complete(DOF, settable(sx.DegreeOfFreedom))
    complete(COLLECTION, settable(sx.JointCollection))
    complete(WORLD_JOINT, settable(sx.WorldJoint))
    complete(PROJECTION, settable(sx.JointConstraintProjectionPolicy))
    complete(GROUND, arguments(sx.Multibody.set_ground_contact))
    complete(GROUND_POINT, arguments(sx.Multibody.add_ground_contact_point))


@rows_of(globals())
def test_a_parameter_of_joints_acts_or_is_refused(entry):
    check(entry)


# ---- specifications of joints between bodies

KEPT = {
    "name",
    "type",
    "axis",
    "axis2",
    "transform_to_parent",
    "transform_from_parent",
    "parent_anchor",
    "child_anchor",
    "pitch",
}


@pytest.mark.parametrize("field", sorted(settable(sx.JointSpec) - KEPT))
def test_joints_between_bodies_follow_or_refuse_joint_data(field):
    """Limits, springs, friction and drives of a specification act on a joint between bodies, or are refused."""
    values = {
        "actuator_type": Drive.SERVO,
        "linear_axes": [(1, 0, 0)],
        "angular_axes": [(1, 0, 0)],
        "euler_order": "zyx",
        "distance_limits": (0.0, 1.0),
    }
    value = values.get(field, 0.05)

    def make(given):
        # for the coordinate at rest to matter
        spring = {"spring_stiffness": 5.0} if field == "rest_position" else {}
        joint = welded(type=Type.REVOLUTE, axis=(0, 1, 0), **spring, **given)
        # for limits of effort to cut
        joint.force = [4.0]
        return joint

    try:
        joint = make({field: value})
    except (ValueError, NotImplementedError) as error:
        assert field in str(error)
        return
    plain, changed = stepped(40)(make({})), stepped(40)(joint)
    assert not np.array_equal(plain, changed), f"{field} of a joint between bodies is accepted and ignored"


@pytest.mark.parametrize("kind", list(Type), ids=lambda kind: kind.name)
@pytest.mark.parametrize("name", ["axis", "axis2"])
def test_types_without_an_axis_refuse_one(kind, name):
    """A direction that a type does not read is refused by name, in trees and between bodies."""
    reads = kind in (WITH_AXIS if name == "axis" else WITH_AXIS2)
    given = {"linear_axes": [(1, 0, 0)]} if kind is Type.D6 else {}
    direction = {name: (0, 1, 0)}
    if reads:
        np.testing.assert_array_equal(getattr(sx.JointSpec(type=kind, **direction), name), (0, 1, 0))
        return
    with pytest.raises(ValueError, match=f"JointSpec {name} is for .* joints, the type is {kind.name}"):
        sx.JointSpec(type=kind, **direction, **given)
