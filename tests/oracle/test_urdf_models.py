# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every URDF of the package example-robot-data: the built Model against Pinocchio's reading of the file."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

import worldline.model as wm
from worldline import msd

pin = pytest.importorskip("pinocchio", reason="Pinocchio (package pin) is the yardstick of these tests")

TOLERANCE = 1e-9
STATES = 10


def share() -> Path | None:
    """The folder of the package's shared files, which is the root of its package:// paths."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.suffix == ".urdf":
            parts = Path(str(file.locate())).parts
            return Path(*parts[: parts.index("example-robot-data")])
    return None


def robots() -> list:
    root = share()
    if root is None:
        reason = "package example-robot-data is not installed; its robots are not compared"
        return [pytest.param(None, id="none", marks=pytest.mark.skip(reason=reason))]
    base = root / "example-robot-data" / "robots"
    return [pytest.param(p, id=str(p.relative_to(base))) for p in sorted(base.rglob("*.urdf"))]


def relative(ours, theirs) -> float:
    scale = max(1.0, float(np.abs(theirs).max(initial=0.0)))
    return float(np.abs(ours - theirs).max(initial=0.0)) / scale


def theirs_of(model, native, q):
    """Pinocchio's coordinates: its joints by name, continuous ones as a point on the circle."""
    out = []
    for j in range(1, native.njoints):
        k = model.joint_index(native.names[j])
        x = q[model.joint_q_start[k] : model.joint_q_start[k + 1]]
        circle = native.joints[j].nq == 2 and native.joints[j].nv == 1
        out.append(np.array([np.cos(x[0]), np.sin(x[0])]) if circle else x)
    return np.concatenate([*out, np.zeros(0)])


@pytest.mark.parametrize("path", robots())
def test_model_equals_pinocchio(path):
    try:
        native = pin.buildModelFromUrdf(str(path))
    except ValueError as error:
        pytest.skip(f"Pinocchio cannot read it: {str(error)[:60]}")
    model = msd.build(msd.from_file(path, asset_dirs=[share()], allow_outside=True))
    assert model.joint_dof_count == native.nv
    data = native.createData()
    columns = [
        d
        for j in range(1, native.njoints)
        for d in range(
            model.joint_qd_start[model.joint_index(native.names[j])],
            model.joint_qd_start[model.joint_index(native.names[j]) + 1],
        )
    ]
    rng = np.random.default_rng(0)
    q = wm.random_configuration(model, rng, worlds=STATES, within_limits=False)
    v, a = rng.normal(size=(2, STATES, native.nv))
    M, bias, tau = wm.mass_matrix(model, q), wm.bias_forces(model, q, v), wm.inverse_dynamics(model, q, v, a)
    damping = model.joint_damping * v
    poses, speeds = wm.forward_kinematics(model, q), wm.link_velocities(model, q, v)
    frames = [
        (native.getFrameId(label, pin.FrameType.BODY), b)
        for b, label in enumerate(model.body_label)
        if native.existFrame(label, pin.FrameType.BODY)
    ]
    assert frames
    for w in range(STATES):
        x, V, A = theirs_of(model, native, q[w]), v[w][columns], a[w][columns]
        upper = np.triu(pin.crba(native, data, x).reshape(native.nv, native.nv))
        assert relative(np.triu(M[w][np.ix_(columns, columns)]), upper) < TOLERANCE
        assert relative(bias[w][columns], pin.rnea(native, data, x, V, 0.0 * V)) < TOLERANCE
        # URDF damping is ours to act and Pinocchio's to carry along
        assert relative((tau[w] - damping[w])[columns], pin.rnea(native, data, x, V, A)) < TOLERANCE
        pin.forwardKinematics(native, data, x, V)
        pin.updateFramePlacements(native, data)
        for frame, b in frames:
            assert relative(poses[w, b, :3], data.oMf[frame].translation) < TOLERANCE
            turn = pin.XYZQUATToSE3(poses[w, b]).rotation
            assert relative(turn, data.oMf[frame].rotation) < TOLERANCE
            speed = pin.getFrameVelocity(native, data, frame, pin.LOCAL_WORLD_ALIGNED)
            assert relative(speeds[w, b], np.r_[speed.angular, speed.linear]) < TOLERANCE

    # limits as the file gives them
    for j in range(1, native.njoints):
        k = model.joint_index(native.names[j])
        if native.joints[j].nq == 1:
            d, theirs = model.joint_qd_start[k], native.joints[j].idx_q
            assert model.joint_limit_lower[d] == pytest.approx(native.lowerPositionLimit[theirs], abs=1e-12)
            assert model.joint_limit_upper[d] == pytest.approx(native.upperPositionLimit[theirs], abs=1e-12)
