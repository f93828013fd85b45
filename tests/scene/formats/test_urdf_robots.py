# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every robot of example-robot-data, link by link and joint by joint against Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

from peers import example_robots
from worldline import msd
from worldline._src.scene.assets.cache import NoCache
from worldline._src.scene.assets.library import AssetLibrary
from worldline._src.scene.assets.rotations import rotation_matrix
from worldline._src.scene.joints import JointType
from worldline._src.scene.mass_properties import MassProperties, combined, placed

try:
    import pinocchio as pin
except ImportError:
    pin = None


ROBOTS = example_robots(".urdf")
# left empty by the package: no tool reads it
EMPTY = {"ur3.urdf"}
TOLERANCE = 1e-12


def frame(position, rotation) -> np.ndarray:
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = rotation_matrix(rotation), position
    return made


def motion(joint: msd.Joint, q: np.ndarray) -> np.ndarray:
    """The motion of a joint, in the axes of its link."""
    made = np.eye(4)
    axis = joint.axis / max(np.linalg.norm(joint.axis), 1e-300)
    if joint.type_ is JointType.Revolute:
        made[:3, :3] = rotation_matrix(np.append(np.sin(q[0] / 2) * axis, np.cos(q[0] / 2)))
    elif joint.type_ is JointType.Slide:
        made[:3, 3] = q[0] * axis
    elif joint.type_ is JointType.Free:
        made = frame(q[:3], q[3:])
    return made


def as_pinocchio(part: MassProperties):
    return pin.Inertia(float(part.mass), part.com, part.inertia)


def assert_same_inertia(ours: MassProperties, theirs) -> None:
    assert ours.mass == pytest.approx(theirs.mass, rel=TOLERANCE, abs=1e-15)
    if ours.mass > 0:
        assert np.allclose(ours.com, theirs.lever, rtol=0, atol=TOLERANCE)
    scale = max(np.abs(theirs.inertia).max(), ours.mass)
    assert np.allclose(ours.inertia, theirs.inertia, rtol=0, atol=TOLERANCE * max(scale, 1e-3))


def joint_values(joint: msd.Joint, model, rng, q: np.ndarray) -> np.ndarray:
    """Fills the coordinates of a joint on their side, and returns them on ours."""
    index = model.getJointId(joint.name)
    start, count = model.joints[index].idx_q, model.joints[index].nq
    if joint.type_ is JointType.Free:
        value = rng.normal(size=7)
        value[3:] /= np.linalg.norm(value[3:])
        q[start : start + 7] = value
        return value
    value = rng.uniform(-1, 1, size=1)
    q[start : start + count] = value if count == 1 else [np.cos(value[0]), np.sin(value[0])]
    return value


def check_limits(joint: msd.Joint, model) -> None:
    index = model.getJointId(joint.name)
    v, q = model.joints[index].idx_v, model.joints[index].idx_q
    if joint.type_ not in (JointType.Revolute, JointType.Slide):
        return
    if model.joints[index].nq == 1:
        assert joint.pos_limit.lower == model.lowerPositionLimit[q]
        assert joint.pos_limit.upper == model.upperPositionLimit[q]
    else:
        assert not joint.pos_limit.is_bounded
    if np.isfinite(joint.effort_limit):
        assert joint.effort_limit == model.upperEffortLimit[v]
    if np.isfinite(joint.velocity_limit):
        assert joint.velocity_limit == model.upperVelocityLimit[v]
    damping = 0.0 if joint.spring_damper is None else joint.spring_damper.coeff.value.d
    assert damping == model.damping[v]
    assert joint.friction_loss == model.upperDryFrictionLimit[v]


@pytest.mark.skipif(not ROBOTS, reason="the package example-robot-data is not installed")
@pytest.mark.skipif(pin is None, reason="the package pin (Pinocchio) is not installed")
@pytest.mark.parametrize("path", [p for p in ROBOTS if p.name not in EMPTY], ids=lambda p: p.name)
def test_robot_equals_pinocchio(path):
    world = msd.from_file(path)
    model = pin.buildModelFromUrdf(str(path))
    # one robot names files of its maker's machine
    missing = [entry for entry in world.report if "no file" in entry.message]
    assert not missing or path.name.startswith("romeo")
    library = AssetLibrary(world, cache=NoCache())
    rng = np.random.default_rng(0)
    q = pin.neutral(model)
    frames = {f.name: f for f in model.frames if f.type == pin.FrameType.BODY}
    fixed = {f.name: f for f in model.frames if f.type == pin.FrameType.FIXED_JOINT}
    owners: dict[int, list[MassProperties]] = {}
    poses: dict[str, np.ndarray] = {}
    parents = {id(child): link for link in world.hierarchy.links() for child in link.children}
    moving = 0
    for body in world.hierarchy.bodies:
        for link in body.link.walk():
            parent = parents.get(id(link))
            pose = np.eye(4) if parent is None else poses[parent.name]
            pose = pose @ frame(link.local_translation, link.local_rotation)
            joints = list(link.joints)
            if parent is None and body.free is not None:
                joints = [msd.Joint(name=body.free.name, type_="Free")]
            for joint in joints:
                if joint.type_ is JointType.Fixed:
                    continue
                moving += 1
                pose = pose @ motion(joint, joint_values(joint, model, rng, q))
                check_limits(joint, model)
            poses[link.name] = pose
            # their frame of the link, and all links that move with one joint together
            theirs = frames[link.name]
            ours = library.link_properties(link)
            place = theirs.placement
            owners.setdefault(theirs.parentJoint, []).append(
                placed(ours, place.translation, pin.Quaternion(place.rotation).coeffs())
            )
            if joints and joints[0].type_ is JointType.Fixed:
                assert_same_inertia(ours, fixed[joints[0].name].inertia)
    assert moving == model.njoints - 1
    for index, parts in owners.items():
        assert_same_inertia(combined(parts), model.inertias[index])
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    for name, pose in poses.items():
        assert np.allclose(
            pose, data.oMf[model.getFrameId(name, pin.FrameType.BODY)].homogeneous, rtol=0, atol=1e-10
        ), name
    assert len(poses) == len(frames) - ("world" in frames and "world" not in poses)
