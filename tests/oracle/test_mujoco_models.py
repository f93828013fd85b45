# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every MJCF model of two public packages: the built Model against MuJoCo's own compilation of the file."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import worldline.model as wm
from worldline import msd
from worldline import simulation as sx

mujoco = pytest.importorskip("mujoco", reason="MuJoCo (package mujoco) is the yardstick of these tests")

FREE, BALL, SLIDE, HINGE = (
    int(getattr(mujoco.mjtJoint, f"mjJNT_{name}")) for name in ("FREE", "BALL", "SLIDE", "HINGE")
)
TOLERANCE = 1e-9
STATES = 10
# packages whose models are compared, and where in them
PACKAGES = (("gymnasium", "envs/mujoco/assets"), ("dm_control", "."))


def package_root(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def model_files() -> list:
    """Files MuJoCo itself can compile; parts meant for inclusion cannot."""
    found = []
    for package, folder in PACKAGES:
        root = package_root(package)
        if root is None:
            reason = f"package {package} is not installed; its models are not compared"
            found.append(pytest.param(None, id=package, marks=pytest.mark.skip(reason=reason)))
            continue
        for path in sorted((root / folder).rglob("*.xml")):
            text = path.read_text(errors="replace")
            if "<mujoco" in text and "<worldbody" in text:
                found.append(pytest.param(path, id=f"{package}-{path.relative_to(root)}"))
    return found


def relative(ours, theirs) -> float:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    return float(np.abs(ours - theirs).max(initial=0.0)) / max(1.0, float(np.abs(theirs).max(initial=0.0)))


def wxyz(native, q):
    """Our coordinates in MuJoCo's order."""
    out = q.copy()
    for j in range(native.njnt):
        a = native.jnt_qposadr[j] + (3 if native.jnt_type[j] == FREE else 0)
        if native.jnt_type[j] in (FREE, BALL):
            out[..., a : a + 4] = q[..., [a + 3, a, a + 1, a + 2]]
    return out


def full_mass_matrix(native, data):
    M = np.zeros((native.nv, native.nv))
    mujoco.mj_fullM(native, data, M)
    return M


def compare_dynamics(model, native):
    data = mujoco.MjData(native)
    # only the smooth dynamics are compared
    native.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    rng = np.random.default_rng(0)
    q = wm.random_configuration(model, rng, worlds=STATES, within_limits=False)
    v = rng.normal(size=(STATES, native.nv))
    M, bias = wm.mass_matrix(model, q), wm.bias_forces(model, q, v)
    poses, speeds = wm.forward_kinematics(model, q), wm.link_velocities(model, q, v)
    names = [native.body(b).name for b in range(native.nbody)]
    bodies = [(b, model.body_index(name)) for b, name in enumerate(names) if name in model.body_label]
    positions = wxyz(native, q)
    for w in range(STATES):
        data.qpos[:], data.qvel[:] = positions[w], v[w]
        mujoco.mj_forward(native, data)
        assert relative(M[w], full_mass_matrix(native, data)) < TOLERANCE
        assert relative(bias[w], data.qfrc_bias) < TOLERANCE
        for b, ours in bodies:
            assert relative(poses[w, ours, :3], data.xpos[b]) < TOLERANCE
            turn = poses[w, ours, [6, 3, 4, 5]]
            assert relative(turn * np.sign(turn @ data.xquat[b]), data.xquat[b]) < TOLERANCE
            speed = np.zeros(6)
            mujoco.mj_objectVelocity(native, data, mujoco.mjtObj.mjOBJ_XBODY, b, speed, 0)
            assert relative(speeds[w, ours], speed) < TOLERANCE


def compare_parameters(model, native):
    assert relative(model.joint_armature, native.dof_armature) < TOLERANCE
    damping = native.dof_damping if native.dof_damping.ndim == 1 else native.dof_damping[:, 0]
    assert relative(model.joint_damping, damping) < TOLERANCE
    assert relative(model.joint_friction, native.dof_frictionloss) < TOLERANCE
    assert relative(wxyz(native, np.array(model.joint_q)), native.qpos0) < TOLERANCE
    for j in range(native.njnt):
        d = native.jnt_dofadr[j]
        if native.jnt_type[j] in (HINGE, SLIDE):
            low, high = native.jnt_range[j] if native.jnt_limited[j] else (-np.inf, np.inf)
            assert model.joint_limit_lower[d] == pytest.approx(low, rel=1e-12, abs=1e-12)
            assert model.joint_limit_upper[d] == pytest.approx(high, rel=1e-12, abs=1e-12)
            spring = native.qpos_spring[native.jnt_qposadr[j]]
            assert model.joint_spring_ref[native.jnt_qposadr[j]] == pytest.approx(spring, abs=1e-12)


def compare_actuators(model, native):
    table = model.actuators
    assert len(table) == native.nu
    columns = min(10, native.actuator_gainprm.shape[1])
    assert relative(table.gain[:, :columns], native.actuator_gainprm[:, :columns]) < TOLERANCE
    assert relative(table.bias[:, :columns], native.actuator_biasprm[:, :columns]) < TOLERANCE
    assert relative(table.gear, native.actuator_gear) < TOLERANCE
    for ours, theirs, limited in (
        (table.control_range, native.actuator_ctrlrange, native.actuator_ctrllimited),
        (table.force_range, native.actuator_forcerange, native.actuator_forcelimited),
    ):
        rows = np.flatnonzero(limited)
        assert relative(ours[rows], theirs[rows]) < TOLERANCE
        assert np.isinf(ours[np.flatnonzero(limited == 0)]).all()


def compare_keyframes(model, native):
    table = model.keyframes
    names = [native.key(k).name for k in range(native.nkey)]
    for k, label in enumerate(table.label):
        # files may reserve empty keyframes, which have no place in a scene
        theirs = names.index(label) if label in names else k
        assert relative(wxyz(native, table.joint_q[k]), native.key_qpos[theirs]) < TOLERANCE
        assert relative(table.joint_qd[k], native.key_qvel[theirs]) < TOLERANCE
        assert relative(table.control[k], native.key_ctrl[theirs]) < TOLERANCE


def has_mesh(native, body):
    first = native.body_geomadr[body]
    geoms = range(first, first + native.body_geomnum[body]) if first >= 0 else ()
    return any(native.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH for g in geoms)


def compare_bodies(model, native):
    """Masses, centres and inertias of all bodies.

    MuJoCo's compiler turns the inertia of meshes to principal axes with 7 digits: its moments are exact, and
    its tensors are up to 1e-7 from an integration in long double, where those here are within 1e-15.
    """
    for b in range(1, native.nbody):
        name = native.body(b).name
        mass = native.body_mass[b]
        if name not in model.body_label or not mass:
            continue
        i = model.body_index(name)
        assert model.body_mass[i] == pytest.approx(mass, rel=1e-9), name
        assert relative(model.body_com[i], native.body_ipos[b]) < TOLERANCE, name
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, native.body_iquat[b])
        turn = turn.reshape(3, 3)
        theirs = turn @ np.diag(native.body_inertia[b]) @ turn.T
        gap = np.abs(np.reshape(model.body_inertia[i], (3, 3)) - theirs).max()
        assert gap <= (1e-7 if has_mesh(native, b) else 1e-9) * np.abs(theirs).max(), name


def compare_steps(scene, native):
    """Fifty steps from a random state with random controls, by the model's own integrator, without constraints."""
    scene.simulate_option.disable_constraints = True
    world = sx.World.from_scene(scene)
    runtime = world._live()
    sim, data, rng = runtime.sim, mujoco.MjData(native), np.random.default_rng(1)
    q = wm.random_configuration(runtime.model, rng, worlds=1)[0]
    v = 0.3 * rng.normal(size=native.nv)
    bounds = np.where(native.actuator_ctrllimited[:, None], native.actuator_ctrlrange, (-1.0, 1.0))
    control, activation = rng.uniform(*bounds.T), rng.uniform(0.0, 0.5, native.na)
    sim.q[:], sim.v[:], data.qpos[:], data.qvel[:] = q, v, wxyz(native, q), v
    runtime.control[:] = data.ctrl[:] = control
    runtime.controls_written()
    runtime.activation[:] = data.act[:] = activation
    world.step()
    mujoco.mj_step(native, data)
    # the change of velocity in one step: smooth dynamics with springs, dampers, a fluid and actuators
    assert np.abs(sim.v - data.qvel).max() < TOLERANCE * max(1.0, np.abs(data.qvel - v).max())
    world.step(n=49)
    mujoco.mj_step(native, data, 49)
    assert relative(wxyz(native, sim.q), data.qpos) < 1e-8
    assert relative(sim.v, data.qvel) < 1e-7
    assert relative(runtime.activation, data.act) < 1e-8


@pytest.mark.parametrize("path", model_files())
def test_model_equals_mujoco(path):
    try:
        native = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        pytest.skip(f"MuJoCo cannot compile it: {str(error)[:80]}")
    scene = msd.from_file(path, allow_outside=True)
    model = msd.build(scene)
    assert (model.joint_coord_count, model.joint_dof_count) == (native.nq, native.nv)
    assert float(np.sum(model.body_mass)) == pytest.approx(float(native.body_mass.sum()), rel=1e-9)
    assert (len(model.actuators), model.activation_count) == (native.nu, native.na)
    compare_bodies(model, native)
    compare_parameters(model, native)
    compare_actuators(model, native)
    compare_keyframes(model, native)
    if native.nv:
        compare_dynamics(model, native)
        compare_steps(scene, native)
