# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every parameter of bodies, links, shapes, frames and markers acts or is refused by name."""

from __future__ import annotations

import numpy as np
from effects import Effect, Refused, after, arguments, check, complete, put, rows_of, settable, shift, stepped

from worldline import msd
from worldline import simulation as sx
from worldline.collision import CollisionShape

TURNED = np.array([0.0, 0.0, np.sin(0.4), np.cos(0.4)])


def ground(world):
    world.add_ground_plane(friction=0.5)
    return world


def spinning(options=None, **more):
    """A body that flies and spins, so that all of its mass properties matter."""
    world = sx.World(time_step=0.005)
    given = {"inertia": np.diag([0.1, 0.2, 0.25]), "angular_velocity": (1.0, 2.0, 3.0)} | more
    body = world.add_rigid_body("a", sx.RigidBodyOptions(**given) if options is None else options)
    body.add_collision_shape(CollisionShape.sphere(0.1))
    return body


def sliding():
    """A box that slides on the ground."""
    world = ground(sx.World(time_step=0.005))
    body = world.add_rigid_body("a", position=(0, 0, 0.1), linear_velocity=(1, 0, 0))
    body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    return body


def falling():
    world = ground(sx.World(time_step=0.005))
    body = world.add_rigid_body("a", position=(0, 0, 0.11), linear_velocity=(0, 0, -2))
    body.add_collision_shape(CollisionShape.sphere(0.1))
    return body


def option(**field):
    return Effect(dict, lambda given: given.update(field), lambda given: stepped(5)(spinning(**given)))


def keyword(**field):
    """The same as a keyword of `add_rigid_body`."""

    def observe(given):
        world = sx.World()
        base = {"inertia": np.diag([0.1, 0.2, 0.25]), "angular_velocity": (1.0, 2.0, 3.0)} | given
        world.add_rigid_body(base.pop("name", "a"), **base)
        return [*stepped(5)(world), *map(hash, world.rigid_bodies.names)]

    return Effect(dict, lambda given: given.update(field), observe)


STATE = {
    "inertia": np.diag([0.1, 0.2, 0.15]),
    "center_of_mass": (0.1, 0.0, 0.0),
    "position": (0.3, 0.0, 0.0),
    "orientation": TURNED,
    "linear_velocity": (0.3, 0.0, 0.0),
    "angular_velocity": (0.3, 0.0, 0.0),
}
OPTIONS = {
    # the shape touches nothing; a mass shows through the applied force of gravity on the centre of mass
    "mass": Effect(
        dict,
        lambda g: g.update(mass=3.0),
        lambda g: after(0, lambda b: b.linear_momentum)(spinning(linear_velocity=(1, 0, 0), **g)),
    ),
    **{name: option(**{name: value}) for name, value in STATE.items()},
    "is_static": option(is_static=True),
}
ADD_RIGID_BODY = {
    "name": keyword(name="b"),
    "options": Effect(
        dict, lambda g: g.update(options=sx.RigidBodyOptions(position=(1, 0, 0))), keyword(mass=2.0).observe
    ),
    "mass": Effect(
        dict,
        lambda g: g.update(mass=3.0),
        lambda g: after(0, lambda w: w.rigid_bodies[0].mass)(_world_with(g)),
    ),
    **{name: keyword(**{name: value}) for name, value in STATE.items()},
    "fixed": keyword(fixed=True),
    "kinematic": keyword(kinematic=True),
}


def _world_with(given):
    world = sx.World()
    world.add_rigid_body("a", linear_velocity=(1, 0, 0), **given)
    return world


RIGID_BODY = {
    "mass": Effect(lambda: forced(), put("mass", 3.0), stepped()),
    "inertia": Effect(spinning, put("inertia", np.diag([0.1, 0.2, 0.15])), stepped()),
    "center_of_mass": Effect(spinning, put("center_of_mass", (0.1, 0, 0)), stepped()),
    "mass_properties": Effect(
        spinning, put("mass_properties", sx.Inertia(2.0, (0.1, 0, 0), np.diag([0.1, 0.2, 0.15]))), stepped()
    ),
    "gravity_compensation": Effect(spinning, put("gravity_compensation", 0.5), stepped()),
    "transform": Effect(spinning, put("transform", shift(x=1.0)), stepped()),
    "translation": Effect(spinning, put("translation", (1, 0, 0)), stepped()),
    "quaternion": Effect(spinning, put("quaternion", TURNED), stepped()),
    "linear_velocity": Effect(spinning, put("linear_velocity", (1, 0, 0)), stepped()),
    "angular_velocity": Effect(spinning, put("angular_velocity", (1, 0, 0)), stepped()),
    "force": Effect(spinning, put("force", (1, 0, 0)), stepped()),
    "torque": Effect(spinning, put("torque", (1, 0, 0)), stepped()),
    "is_static": Effect(spinning, put("is_static", True), stepped()),
    "is_kinematic": Effect(spinning, put("is_kinematic", True), stepped()),
    "friction": Effect(sliding, put("friction", 0.1), stepped()),
    "restitution": Effect(falling, put("restitution", 0.9), stepped()),
    "parent_frame": Refused(
        lambda: put("parent_frame", spinning()._world.add_free_frame("f"))(spinning()), "parent"
    ),
}


def forced():
    body = spinning()
    body.force = (1.0, 0.0, 0.0)
    return body


# ---- links


def arm(**options):
    world = sx.World(time_step=0.005)
    robot = world.add_multibody("robot")
    given = {
        "mass": 1.0,
        "inertia": np.diag([0.01, 0.02, 0.03]),
        "center_of_mass": (0.3, 0.05, 0.02),
    } | options
    link = robot.add_link(
        "rod", None, sx.JointSpec(name="ball", type=sx.JointType.SPHERICAL), sx.LinkOptions(**given)
    )
    robot.joints[0].force = (0.5, 0.6, 0.7)
    return link


def on_mocap():
    text = "<mujoco><worldbody><body name='m' mocap='true'><geom size='.1'/></body></worldbody></mujoco>"
    world = sx.World.from_scene(msd.from_str(text, format="mjcf"))
    return world.multibodies[0].links[0] if len(world.multibodies) else world


def link_option(**field):
    return Effect(dict, lambda given: given.update(field), lambda given: stepped(5)(arm(**given)))


LINK_OPTIONS = {
    "mass": link_option(mass=2.0),
    "inertia": link_option(inertia=np.diag([0.01, 0.02, 0.025])),
    "center_of_mass": link_option(center_of_mass=(0.1, 0, 0)),
    "gravity_compensation": link_option(gravity_compensation=1.0),
}
LINK = {
    "mass": Effect(arm, put("mass", 2.0), stepped()),
    "inertia": Effect(arm, put("inertia", np.diag([0.01, 0.02, 0.025])), stepped()),
    "center_of_mass": Effect(arm, put("center_of_mass", (0.1, 0, 0)), stepped()),
    "mass_properties": Effect(
        arm, put("mass_properties", sx.Inertia(2.0, (0.1, 0, 0), np.diag([0.1, 0.2, 0.15]))), stepped()
    ),
    "gravity_compensation": Effect(arm, put("gravity_compensation", 1.0), stepped()),
    "mocap_transform": Effect(on_mocap, put("mocap_transform", shift(x=1.0)), lambda link: link.transform),
    "parent_frame": Refused(lambda: put("parent_frame", arm())(arm()), "parent"),
}


class Bulk:
    """A collection of one body with its World."""

    def __init__(self, body, read):
        self.all, self.world = read(body), body._world


def bulk(cls, table, read):
    names = {
        item.member_property if hasattr(item, "member_property") else name: name for name, item in _items(cls)
    }
    values = {
        "mass": 3.0,
        "inertia": np.diag([0.1, 0.2, 0.15]),
        "center_of_mass": (0.1, 0, 0),
        "gravity_compensation": 0.5,
        "transform": shift(x=1.0),
        "translation": (1, 0, 0),
        "quaternion": TURNED,
        "linear_velocity": (1, 0, 0),
        "angular_velocity": (1, 0, 0),
        "force": (1, 0, 0),
        "torque": (1, 0, 0),
        "is_static": True,
        "is_kinematic": True,
        "friction": 0.1,
        "restitution": 0.9,
        "masses": 3.0,
        "mass_properties": sx.Inertia(2.0, (0.1, 0, 0), np.diag([0.1, 0.2, 0.15])),
    }
    made = {}
    for member, name in names.items():
        entry = table[{"masses": "mass"}.get(member, member)]
        value = values[member]
        value = [value] if isinstance(value, sx.Inertia) else np.array([value])
        made[name] = Effect(
            lambda entry=entry: Bulk(entry.make(), read), put_bulk(name, value), entry.observe
        )
    return made


def put_bulk(name, value):
    return lambda bulk: setattr(bulk.all, name, value)


def _items(cls):
    import inspect

    return [(name, inspect.getattr_static(cls, name)) for name in sorted(settable(cls))]


BODIES = bulk(sx.RigidBodyCollection, RIGID_BODY, lambda body: body._world.rigid_bodies)
LINKS = bulk(sx.LinkCollection, LINK, lambda link: link.multibody.links)


# ---- shapes


def shape(**more):
    world = ground(sx.World(time_step=0.005))
    body = world.add_rigid_body("a", position=(0, 0, 0.1), linear_velocity=(1, 0, -1))
    given = {"shape": CollisionShape.box((0.1, 0.1, 0.1))} | more
    body.add_collision_shape(given.pop("shape"), **given)
    return body


def added(n=10, **field):
    return Effect(dict, lambda given: given.update(field), lambda given: stepped(n)(shape(**given)))


SHAPE = {
    "shape": added(shape=CollisionShape.sphere(0.2)),
    "name": Effect(
        dict,
        lambda g: g.update(name="foot"),
        lambda g: after(1, lambda b: described(b))(shape(**g)),
    ),
    "friction": added(friction=0.1),
    "restitution": added(restitution=0.9),
}


# ---- frames, markers


def frame(kind="free"):
    world = sx.World(time_step=0.005)
    body = world.add_rigid_body("a", inertia=np.eye(3), linear_velocity=(1, 0, 0))
    return world.add_free_frame("f", parent=body) if kind == "free" else world.add_fixed_frame("f", body)


def where(frame):
    frame._world.step(n=2)
    return frame.transform


def elsewhere(frame):
    world = frame._world
    other = world.add_rigid_body("b", inertia=np.eye(3), position=(3, 0, 0))
    frame.parent_frame = other


FREE_FRAME = {
    "local_transform": Effect(frame, put("local_transform", shift(x=1.0)), where),
    "transform": Effect(frame, put("transform", shift(x=1.0)), where),
    "parent_frame": Effect(frame, elsewhere, where),
}
FIXED_FRAME = {
    "local_transform": Effect(lambda: frame("fixed"), put("local_transform", shift(x=1.0)), where),
    "parent_frame": Effect(lambda: frame("fixed"), elsewhere, where),
}


def marker(**more):
    world = sx.World(time_step=0.005)
    body = world.add_rigid_body("a", inertia=np.eye(3), linear_velocity=(1, 0, 0))
    return world.add_marker(**({"name": "m", "parent": body} | more))


def described(handle):
    return handle._world.to_scene().to_str()


def marked(**field):
    return Effect(dict, lambda given: given.update(field), lambda given: described(marker(**given)))


MARKER = {
    "local_transform": Effect(marker, put("local_transform", shift(x=1.0)), where),
    "parent_frame": Refused(lambda: elsewhere(marker()), "another parent"),
    "rgba": Effect(marker, put("rgba", (1, 0, 0, 1)), described),
}
ADD_MARKER = {
    "name": marked(name="other"),
    "parent": marked(parent=None),
    "position": marked(position=(1, 0, 0)),
    "orientation": marked(orientation=TURNED),
    "shape": marked(shape=msd.SiteShape.Box),
    "size": marked(size=(0.1, 0.1, 0.1)),
    "rgba": marked(rgba=(1, 0, 0, 1)),
}


def end_effector():
    link = arm()
    tip = sx.JointSpec(name="wrist", transform_to_parent=shift(x=0.5))
    link.multibody.add_link("tip", link, tip, mass=0.1, inertia=np.eye(3) * 0.01)
    return link.multibody.add_end_effector("hand", link, shift(x=0.1))


def onto_tip(hand):
    hand.parent_frame = hand._world.multibodies[0].links["tip"]


END_EFFECTOR = {
    "local_transform": Effect(end_effector, put("local_transform", shift(x=1.0)), where),
    "parent_frame": Effect(end_effector, onto_tip, where),
}


def test_tables_of_bodies_are_complete():
    complete(OPTIONS, settable(sx.RigidBodyOptions) | arguments(sx.RigidBodyOptions))
    complete(ADD_RIGID_BODY, arguments(sx.World.add_rigid_body))
    complete(RIGID_BODY, settable(sx.RigidBody))
    complete(LINK_OPTIONS, settable(sx.LinkOptions) | arguments(sx.LinkOptions))
    complete(LINK, settable(sx.Link))
    complete(SHAPE, arguments(sx.RigidBody.add_collision_shape))
    complete(FREE_FRAME, settable(sx.FreeFrame))
    complete(FIXED_FRAME, settable(sx.FixedFrame))
    complete(MARKER, settable(sx.Marker))
    complete(ADD_MARKER, arguments(sx.World.add_marker))
    complete(END_EFFECTOR, settable(sx.EndEffector))
    assert settable(sx.CollisionBody) <= settable(sx.Link) and settable(sx.Frame) <= settable(sx.FixedFrame)


@rows_of(globals())
def test_a_parameter_of_bodies_acts_or_is_refused(entry):
    check(entry)
