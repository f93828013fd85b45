# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every URDF of the package example-robot-data, read and written again: Pinocchio sees the same robot."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from worldline import msd

sys.path.insert(0, str(Path(__file__).parents[1] / "scene" / "formats"))
pin = pytest.importorskip("pinocchio", reason="Pinocchio (package pin) is the yardstick of these tests")

from rewriting import assert_same_motion, differences  # noqa: E402
from test_urdf_models import relative, robots, share  # noqa: E402

TOLERANCE = 1e-9
STATES = 3
BUILT = ("panda.urdf", "icub.urdf", "solo12.urdf", "anymal-kinova.urdf", "hyq_no_sensors.urdf")
"""Robots whose dynamics are also compared with our own kernels; equal scenes make equal models for the rest."""


@pytest.mark.parametrize("path", robots())
def test_written_robot_equals_the_file_it_came_from(path, tmp_path):
    try:
        theirs = pin.buildModelFromUrdf(str(path))
    except ValueError as error:
        pytest.skip(f"Pinocchio cannot read it: {str(error)[:60]}")
    scene = msd.from_file(path, asset_dirs=[share()], allow_outside=True)
    target = tmp_path / path.name
    report = scene.to_file(target)
    assert not len(report), str(report)

    # our own reading says the same
    back = msd.from_file(target, asset_dirs=[share()], allow_outside=True)
    assert list(differences(scene, back)) == []
    if path.name in BUILT:
        assert_same_motion(scene, back)

    # and so does Pinocchio's
    ours = pin.buildModelFromUrdf(str(target))
    assert ours.nq == theirs.nq and ours.nv == theirs.nv and ours.name == theirs.name
    assert sorted(ours.names) == sorted(theirs.names)
    first, second = theirs.createData(), ours.createData()
    rng = np.random.default_rng(0)
    columns = [
        d
        for name in list(theirs.names)[1:]
        for joint in (ours.joints[ours.getJointId(name)],)
        for d in range(joint.idx_v, joint.idx_v + joint.nv)
    ]
    for _ in range(STATES):
        q = pin.integrate(theirs, pin.neutral(theirs), rng.normal(size=theirs.nv))
        v = rng.normal(size=theirs.nv)
        x, u = pin.neutral(ours), np.zeros(ours.nv)
        for name in list(theirs.names)[1:]:
            a, b = theirs.joints[theirs.getJointId(name)], ours.joints[ours.getJointId(name)]
            x[b.idx_q : b.idx_q + b.nq] = q[a.idx_q : a.idx_q + a.nq]
            u[b.idx_v : b.idx_v + b.nv] = v[a.idx_v : a.idx_v + a.nv]
        M = np.triu(pin.crba(theirs, first, q).reshape(theirs.nv, theirs.nv))
        other = pin.crba(ours, second, x).reshape(ours.nv, ours.nv)
        other = np.triu(other) + np.triu(other, 1).T
        assert relative(np.triu(other[np.ix_(columns, columns)]), M) < TOLERANCE
        assert relative(pin.nle(ours, second, x, u)[columns], pin.nle(theirs, first, q, v)) < TOLERANCE
        pin.framesForwardKinematics(theirs, first, q)
        pin.framesForwardKinematics(ours, second, x)
        for index, frame in enumerate(theirs.frames):
            match = ours.getFrameId(frame.name, frame.type)
            assert relative(second.oMf[match].homogeneous, first.oMf[index].homogeneous) < TOLERANCE
    for name in list(theirs.names)[1:]:
        a, b = theirs.joints[theirs.getJointId(name)], ours.joints[ours.getJointId(name)]
        for limit in ("lowerPositionLimit", "upperPositionLimit"):
            one, other = getattr(theirs, limit), getattr(ours, limit)
            assert np.array_equal(one[a.idx_q : a.idx_q + a.nq], other[b.idx_q : b.idx_q + b.nq])
        for limit in ("upperEffortLimit", "upperVelocityLimit", "damping", "upperDryFrictionLimit"):
            one, other = getattr(theirs, limit), getattr(ours, limit)
            assert np.array_equal(one[a.idx_v : a.idx_v + a.nv], other[b.idx_v : b.idx_v + b.nv])
