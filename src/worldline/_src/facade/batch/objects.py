# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Index maps from the named objects of a description to the arrays of a batch."""

from __future__ import annotations

from worldline._src.facade.batch.template import Template
from worldline._src.facade.world import World
from worldline._src.model.model import Model
from worldline._src.named_tuple import NamedTuple


class JointRows(NamedTuple):
    """Coordinates and degrees of freedom of a joint; `turning` when coordinates hold a quaternion."""

    q: slice
    v: slice
    turning: bool


class MultibodyRows(NamedTuple):
    """Joints and bodies of a multibody by name, in construction order."""

    joints: dict[str, JointRows]
    links: dict[str, int]


class RigidBodyRows(NamedTuple):
    """Body, coordinates and degrees of freedom of a rigid body."""

    body: int
    q: slice
    v: slice
    is_static: bool


class Objects(NamedTuple):
    """All named objects of a description."""

    multibodies: dict[str, MultibodyRows]
    rigid_bodies: dict[str, RigidBodyRows]


def objects_of(template: Template) -> Objects:
    """The objects of a World, or the articulations of a model that was built by code."""
    if template.world is None:
        return _of_model(template.model)
    return _of_world(template.world)


def _of_world(world: World) -> Objects:
    runtime = world._live()
    multibodies = {}
    for robot in world.multibodies:
        joints = {}
        for name, joint in robot._joints.items():
            q, v = runtime.q_slice(joint._joint), runtime.v_slice(joint._joint)
            joints[name] = JointRows(q, v, q.stop - q.start != v.stop - v.start)
        links = {name: runtime.body(link._link) for name, link in robot._links.items()}
        multibodies[robot.name] = MultibodyRows(joints, links)
    bodies = {}
    for body in world.rigid_bodies:
        assert body._body.free is not None
        q, v = runtime.q_slice(body._body.free), runtime.v_slice(body._body.free)
        bodies[body.name] = RigidBodyRows(runtime.body(body._link), q, v, body.is_static)
    return Objects(multibodies, bodies)


def _of_model(model: Model) -> Objects:
    multibodies = {}
    starts = model.articulation_start
    for a, label in enumerate(model.articulation_label):
        joints, links = {}, {}
        for j in range(int(starts[a]), int(starts[a + 1])):
            q = slice(int(model.joint_q_start[j]), int(model.joint_q_start[j + 1]))
            v = slice(int(model.joint_qd_start[j]), int(model.joint_qd_start[j + 1]))
            joints[model.joint_label[j]] = JointRows(q, v, q.stop - q.start != v.stop - v.start)
            child = int(model.joint_child[j])
            links[model.body_label[child]] = child
        multibodies[label] = MultibodyRows(joints, links)
    return Objects(multibodies, {})
