# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A World with one object of every public kind, and what of them can be set; for tests by introspection."""

from __future__ import annotations

import inspect
from typing import Any

from worldline import simulation as sx
from worldline.collision import CollisionShape


def every_object() -> dict[str, Any]:
    """Objects by a name for the test; the first is the World, in design mode."""
    world = sx.World()
    world.add_ground_plane()
    body = world.add_rigid_body("ball", position=(0, 0, 1))
    body.add_collision_shape(CollisionShape.sphere(0.1))
    other = world.add_rigid_body("other", position=(0, 0, 3))
    arm = world.add_multibody("arm")
    upper = arm.add_link("upper", joint=sx.JointSpec(name="hinge"))
    spec = sx.JointSpec(name="universal", type=sx.JointType.UNIVERSAL, axis=(1, 0, 0), axis2=(0, 1, 0))
    lower = arm.add_link("lower", parent=upper, joint=spec)
    spec = sx.JointSpec(name="screw", type=sx.JointType.SCREW, pitch=0.1)
    hand = arm.add_link("hand", parent=lower, joint=spec)
    arm.add_link("eye", parent=hand, joint=sx.JointSpec(name="ball", type=sx.JointType.SPHERICAL))
    world.add_rigid_body_distance_spring("spring", body, other, 1.0, 10.0)
    return {
        "world": world,
        "body": body,
        "multibody": arm,
        "hinge": arm.joints["hinge"],
        "universal": arm.joints["universal"],
        "screw": arm.joints["screw"],
        "spherical": arm.joints["ball"],
        "link": lower,
        "closure": world.add_loop_closure("closure", frame_a=body, frame_b=upper),
        "world_joint": world.add_joint(body, other, sx.JointSpec("door", type=sx.JointType.REVOLUTE)),
        "marker": world.add_marker("marker", body),
        "free_frame": world.add_free_frame("free"),
        "fixed_frame": world.add_fixed_frame("fixed", body),
        "tool": arm.add_end_effector("tool", hand),
        "sensor": world.sensors.add_imu("imu", attach_to=body),
        "joints": arm.joints,
        "links": arm.links,
        "dofs": arm.dofs,
        "bodies": world.rigid_bodies,
        "closures": world.loop_closures,
        "world_joints": world.joints,
        "sensors": world.sensors,
        "dof": arm.dofs[1],
        "chain": arm.chain(upper, hand),
        "replay": world.replay,
        "collision": world.collision,
        "visibility": world.visibility,
    }


def settable() -> list[tuple[str, str]]:
    """Object and property of everything that can be assigned to."""
    found = []
    for name, item in every_object().items():
        for attribute in dir(type(item)):
            if attribute[0] == "_":
                continue
            described = inspect.getattr_static(type(item), attribute)
            if isinstance(described, property):
                if described.fset is not None:
                    found.append((name, attribute))
            elif hasattr(type(described), "__set__") and getattr(described, "_settable", True):
                found.append((name, attribute))
    return found


def readable(item: object) -> list[str]:
    """Names of the properties of an object."""
    kind = type(item)
    names = [name for name in dir(kind) if name[0] != "_"]
    return [
        name
        for name in names
        if hasattr(type(inspect.getattr_static(kind, name)), "__get__")
        and not callable(inspect.getattr_static(kind, name))
        and not isinstance(inspect.getattr_static(kind, name), (staticmethod, classmethod))
    ]
