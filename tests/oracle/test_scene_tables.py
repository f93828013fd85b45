# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of a Model built from MJCF against the arrays that MuJoCo compiles from the same file."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import worldline.model as wm
from worldline import msd

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick")

KINDS = {
    wm.ShapeKind.PLANE: mujoco.mjtGeom.mjGEOM_PLANE,
    wm.ShapeKind.HFIELD: mujoco.mjtGeom.mjGEOM_HFIELD,
    wm.ShapeKind.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
    wm.ShapeKind.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
    wm.ShapeKind.ELLIPSOID: mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    wm.ShapeKind.CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER,
    wm.ShapeKind.BOX: mujoco.mjtGeom.mjGEOM_BOX,
    wm.ShapeKind.MESH: mujoco.mjtGeom.mjGEOM_MESH,
}
OBJECTS = {
    "shapes": "geom",
    "sites": "site",
    "sensors": "sensor",
    "tendons": "tendon",
    "actuators": "actuator",
}
OBJECTS |= {"equalities": "equality", "cameras": "cam", "lights": "light", "keyframes": "key"}

EVERYTHING = """
<mujoco><compiler angle="radian"/><option timestep="0.004"/>
  <default><geom solref="0.01 0.9" solimp="0.8 0.9 0.002 0.4 3"/></default>
  <asset><mesh name="tetra" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><material name="red" rgba="1 0 0 1"/>
    <hfield name="hill" nrow="3" ncol="2" size="2 1 0.5 0.1" elevation="0 1 2 1 0 1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" friction="0.4 0.01 0.002" condim="4" margin="0.02" gap="0.01"/>
    <geom name="hills" type="hfield" hfield="hill" pos="0 0 -3"/>
    <site name="origin" type="ellipsoid" size="0.1 0.2 0.3" euler="0.1 0.2 0.3"/>
    <light name="sun" pos="0 0 5" dir="0 1 -1"/>
    <camera name="eye" pos="1 2 3" xyaxes="1 1 0 0 0 1"/>
    <body name="post" pos="0 0 2" gravcomp="0.5">
      <joint name="lift" type="slide" axis="0 0 1" range="-1 1" solreflimit="-300 -20" margin="0.1"
        frictionloss="0.3" solreffriction="-0 -30" solimpfriction="0.7 0.8 0.01"/>
      <joint name="swing" axis="0 1 0" actuatorfrcrange="-3 4" actuatorgravcomp="true"/>
      <geom name="rod" type="capsule" fromto="0 0 0 0.3 0.4 0" size="0.05" contype="6" conaffinity="9" priority="2"
        solref="-500 -10" solmix="2" material="red"/>
      <geom type="ellipsoid" size="0.1 0.2 0.3" pos="0 0 0.5" fluidshape="ellipsoid" group="3"/>
      <site name="hook" type="capsule" fromto="0 0 0 0 0.2 0.1" size="0.01"/>
      <body name="arm" pos="0.5 0 0"><joint name="ball" type="ball" range="0 1"/>
        <geom name="part" type="mesh" mesh="tetra" mass="2"/><site name="end" pos="0.1 0.2 0.3"/>
        <camera name="hand"/></body></body>
    <body name="loose" pos="3 0 1"><freejoint name="free"/><geom name="ball" size="0.2" rgba="0 1 0 1"/>
      <site name="side" pos="0.3 0 0"/></body>
    <body name="ghost" mocap="true" pos="1 1 1"><geom type="box" size="0.1 0.2 0.3" contype="0" conaffinity="0"/></body>
  </worldbody>
  <contact><exclude body1="post" body2="loose"/>
    <pair name="pair" geom1="rod" geom2="ball" condim="6" friction="1 2 3 4 5" margin="0.3" gap="0.1"/></contact>
  <tendon>
    <fixed name="fixed" stiffness="3" armature="0.1" springlength="0.1 0.4" range="-1 1" limited="true" frictionloss="0.2">
      <joint joint="lift" coef="2"/><joint joint="swing" coef="-1"/></fixed>
    <spatial name="rope" damping="2" margin="0.05" actuatorfrcrange="-1 2">
      <site site="origin"/><geom geom="ball" sidesite="side"/><site site="hook"/><pulley divisor="2"/>
      <site site="hook"/><site site="end"/></spatial></tendon>
  <equality>
    <connect name="pin" body1="arm" body2="loose" anchor="0.1 0 0.2" solref="-100 -5"/>
    <weld name="glue" body1="post" relpose="0.1 0.2 0.3 0.5 0.5 0.5 0.5" anchor="0 0 0.1" torquescale="0.7"/>
    <weld name="start" body1="loose" body2="arm" active="false"/>
    <joint name="gear" joint1="swing" joint2="lift" polycoef="0.1 2 0 0 0"/>
    <tendon name="loop" tendon1="rope" polycoef="0.5 0 0 0 0"/></equality>
  <actuator><motor name="m" joint="lift" gear="2"/><position name="p" tendon="fixed" kp="3"/></actuator>
  <sensor>
    <jointpos name="s1" joint="lift" noise="0.1" cutoff="3"/><ballquat name="s2" joint="ball"/>
    <framepos name="s3" objtype="site" objname="end" reftype="camera" refname="hand"/>
    <framequat name="s4" objtype="xbody" objname="arm"/><touch name="s5" site="side"/>
    <gyro name="s6" site="end"/><actuatorfrc name="s7" actuator="m"/><tendonpos name="s8" tendon="rope"/>
    <rangefinder name="s9" site="end"/><subtreecom name="s10" body="post"/><clock name="s11"/>
    <distance name="s12" geom1="rod" geom2="ball" cutoff="5"/><fromto name="s13" geom1="rod" geom2="ball" cutoff="2"/>
    <contact name="s14" geom1="rod" subtree2="loose" num="3" data="found force dist" reduce="maxforce"/>
    <insidesite name="s15" site="origin" objtype="geom" objname="ball"/>
    <camprojection name="s16" site="end" camera="eye"/></sensor>
  <keyframe><key name="home" time="2" qpos="0.1 0.2 1 0 0 0 3 0 1 1 0 0 0" mpos="4 5 6" mquat="0 1 0 0"/></keyframe>
</mujoco>
"""


def name_of(model: Any, kind: str, index: int) -> str:
    names = {"key": mujoco.mjtObj.mjOBJ_KEY, "cam": mujoco.mjtObj.mjOBJ_CAMERA}
    object_type = names.get(kind) or getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
    return mujoco.mj_id2name(model, object_type, index) or ""


def wxyz(xyzw: np.ndarray) -> np.ndarray:
    return xyzw[:, [3, 0, 1, 2]]


def same_turn(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.all(np.abs(np.abs(np.sum(a * b, axis=1)) - 1.0) < 1e-12))


@pytest.fixture(scope="module")
def both() -> tuple[wm.Model, Any]:
    return msd.build(msd.from_str(EVERYTHING)), mujoco.MjModel.from_xml_string(EVERYTHING)


@pytest.mark.parametrize("table", [name for name in OBJECTS if name != "equalities"])
def test_objects_come_in_the_same_order_with_their_names(both: tuple[wm.Model, Any], table: str) -> None:
    ours, theirs = both
    labels = getattr(ours, table).label
    names = [name_of(theirs, OBJECTS[table], k) for k in range(len(labels))]
    assert len(set(labels)) == len(labels)
    assert [label for label, name in zip(labels, names, strict=True) if name] == [n for n in names if n]


def check_shapes(ours: wm.Model, theirs: Any) -> None:
    shapes = ours.shapes
    assert shapes is not None and len(shapes) == theirs.ngeom
    assert [KINDS[wm.ShapeKind(kind)] for kind in shapes.kind] == theirs.geom_type.tolist()
    for mine, body in zip(shapes.body, theirs.geom_bodyid, strict=True):
        name = name_of(theirs, "body", body)
        assert (mine == -1) == (body == 0) and (body == 0 or not name or ours.body_label[mine] == name)
    plain = [k for k, kind in enumerate(shapes.kind) if kind not in (wm.ShapeKind.MESH, wm.ShapeKind.HFIELD)]
    used = {wm.ShapeKind.SPHERE: 1, wm.ShapeKind.CAPSULE: 2, wm.ShapeKind.CYLINDER: 2, wm.ShapeKind.PLANE: 0}
    for k in plain:
        count = used.get(wm.ShapeKind(shapes.kind[k]), 3)
        np.testing.assert_allclose(shapes.size[k, :count], theirs.geom_size[k, :count], rtol=1e-9)
    np.testing.assert_allclose(shapes.xform[plain, :3], theirs.geom_pos[plain], rtol=1e-9, atol=1e-12)
    assert same_turn(wxyz(shapes.xform[plain, 3:]), theirs.geom_quat[plain])
    for mine, name in (("group", "contype"), ("mask", "conaffinity"), ("condim", "condim"), ("gap", "gap")):
        np.testing.assert_array_equal(getattr(shapes, mine), getattr(theirs, f"geom_{name}"))
    np.testing.assert_allclose(shapes.margin - shapes.gap, theirs.geom_margin, atol=1e-15)
    np.testing.assert_array_equal(shapes.friction, theirs.geom_friction)
    np.testing.assert_array_equal(shapes.priority, theirs.geom_priority)
    np.testing.assert_array_equal(shapes.mix, theirs.geom_solmix)
    check_law(shapes.force, theirs.geom_solref, theirs.geom_solimp)


def check_law(force: Any, solref: np.ndarray, solimp: np.ndarray) -> None:
    np.testing.assert_allclose(force.impedance, solimp, rtol=1e-12)
    direct = solref[:, 0] <= 0.0
    np.testing.assert_array_equal(force.direct, direct)
    k = np.where(direct, -solref[:, 0], 1.0 / np.maximum(1e-15, (solref[:, 0] * solref[:, 1]) ** 2))
    d = np.where(direct, -solref[:, 1], 2.0 / np.maximum(1e-15, solref[:, 0]))
    np.testing.assert_allclose(force.stiffness, k, rtol=1e-12)
    np.testing.assert_allclose(force.damping, d, rtol=1e-12)


def test_shapes(both: tuple[wm.Model, Any]) -> None:
    check_shapes(*both)
    shapes = both[0].shapes
    assert shapes is not None
    assert both[0].assets.mesh_label[shapes.source[shapes.index("part")]] == "tetra"
    assert both[0].assets.mesh(0).vertices.shape == (4, 3)
    assert both[0].assets.hfield(shapes.source[shapes.index("hills")]).heights.shape == (3, 2)
    np.testing.assert_allclose(shapes.size[shapes.index("hills")], [2, 1, 0])
    assert both[0].material_label[shapes.material[shapes.index("rod")]] == "red"
    assert np.isfinite(shapes.fluid).all(axis=1).sum() == 1
    assert shapes.flags[-1] == wm.ShapeFlags.NONE and shapes.flags[0] == wm.ShapeFlags.COLLIDES


def test_sites_and_frames(both: tuple[wm.Model, Any]) -> None:
    ours, theirs = both
    for table, prefix in ((ours.sites, "site"), (ours.cameras, "cam")):
        assert table is not None
        np.testing.assert_allclose(table.xform[:, :3], getattr(theirs, f"{prefix}_pos"), atol=1e-12)
        assert same_turn(wxyz(table.xform[:, 3:]), getattr(theirs, f"{prefix}_quat"))
    assert ours.sites is not None and ours.lights is not None
    np.testing.assert_allclose(ours.sites.size[0], theirs.site_size[0])
    np.testing.assert_allclose(ours.sites.size[1, :2], theirs.site_size[1, :2])
    assert ours.sites.kind.tolist()[:2] == [wm.ShapeKind.ELLIPSOID, wm.ShapeKind.CAPSULE]
    x, y, z, w = ours.lights.xform[0, 3:]
    shine = -np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    np.testing.assert_allclose(shine, np.array([0, 1, -1]) / np.sqrt(2), atol=1e-12)


def test_pairs_and_exclusions(both: tuple[wm.Model, Any]) -> None:
    ours, theirs = both
    pairs = ours.contact_pairs
    assert pairs is not None and ours.excluded_bodies is not None
    assert pairs.shapes.tolist() == [[int(theirs.pair_geom1[0]), int(theirs.pair_geom2[0])]]
    np.testing.assert_array_equal(pairs.friction, theirs.pair_friction)
    np.testing.assert_array_equal(pairs.condim, theirs.pair_dim)
    assert ours.excluded_bodies.tolist() == [sorted([ours.body_index("post"), ours.body_index("loose")])]


def test_joints(both: tuple[wm.Model, Any]) -> None:
    ours, theirs = both
    forces = ours.joint_forces
    assert forces is not None
    order = [ours.joint_index(name_of(theirs, "joint", j)) for j in range(theirs.njnt)]
    hinged = [order[j] for j in range(theirs.njnt) if theirs.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE]
    rows = [j for j in range(theirs.njnt) if theirs.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE]
    law = forces.limit
    picked = type(law)(*(getattr(law, name)[hinged] for name in law.__dataclass_fields__))
    check_law(picked, theirs.jnt_solref[rows], theirs.jnt_solimp[rows])
    np.testing.assert_array_equal(forces.margin[order], theirs.jnt_margin)
    swing, lift = ours.joint_index("swing"), ours.joint_index("lift")
    np.testing.assert_array_equal(forces.force_range[swing], [-3, 4])
    assert forces.actuated_gravcomp[swing] and not forces.actuated_gravcomp[lift]
    assert forces.friction.direct[lift] and forces.friction.damping[lift] == 30.0
    assert (forces.friction.impedance[lift], forces.friction.dmax[lift]) == (0.7, 0.8)
    np.testing.assert_array_equal(ours.body_gravcomp[ours.body_index("post")], 0.5)


def test_tendons(both: tuple[wm.Model, Any]) -> None:
    ours, theirs = both
    tendons, sites, shapes = ours.tendons, ours.sites, ours.shapes
    assert tendons is not None and sites is not None and shapes is not None
    np.testing.assert_array_equal(tendons.spatial, [False, True])
    np.testing.assert_array_equal(tendons.limit[0], theirs.tendon_range[0])
    np.testing.assert_array_equal(tendons.stiffness, theirs.tendon_stiffness)
    np.testing.assert_array_equal(tendons.damping, theirs.tendon_damping)
    np.testing.assert_array_equal(tendons.armature, theirs.tendon_armature)
    np.testing.assert_array_equal(tendons.friction, theirs.tendon_frictionloss)
    np.testing.assert_array_equal(tendons.rest[0], theirs.tendon_lengthspring[0])
    np.testing.assert_array_equal(tendons.force_range[1], [-1, 2])
    np.testing.assert_array_equal(tendons.margin, theirs.tendon_margin)
    assert tendons.path_start.tolist() == [0, 0, 6]
    assert tendons.path_kind.tolist() == [0, 1, 0, 2, 0, 0]
    assert tendons.path_index[0] == sites.index("origin") and tendons.path_index[1] == shapes.index("ball")
    assert tendons.path_side[1] == sites.index("side") and tendons.path_divisor[3] == 2.0


def test_equalities(both: tuple[wm.Model, Any]) -> None:
    ours, theirs = both
    table = ours.equalities
    assert table is not None
    order = [table.index(name_of(theirs, "equality", k)) for k in range(theirs.neq)]
    np.testing.assert_array_equal(table.active[order], theirs.eq_active0)
    pin, glue, start = (table.index(name) for name in ("pin", "glue", "start"))
    np.testing.assert_allclose(table.X_a[pin, :3], theirs.eq_data[0, :3])
    np.testing.assert_allclose(table.X_b[pin, :3], theirs.eq_data[0, 3:6])
    assert table.force.direct[pin] and table.force.stiffness[pin] == 100.0
    assert (table.body_a[glue], table.body_b[glue]) == (ours.body_index("post"), -1)
    # the compiled relative pose is that of the anchor, not of the body
    np.testing.assert_allclose(table.X_b[glue, :3], theirs.eq_data[1, :3])
    np.testing.assert_allclose(table.X_a[glue, :3], theirs.eq_data[1, 3:6])
    assert same_turn(wxyz(table.X_a[glue : glue + 1, 3:]), theirs.eq_data[1:2, 6:10])
    assert table.torque_scale[glue] == 0.7
    np.testing.assert_allclose(table.X_a[start, :3], theirs.eq_data[2, 3:6], atol=1e-12)
    gear, loop = table.index("gear"), table.index("loop")
    assert (table.first[gear], table.second[gear]) == (ours.joint_index("swing"), ours.joint_index("lift"))
    np.testing.assert_array_equal(table.polynomial[gear], [0.1, 2, 0, 0, 0])
    assert table.second[loop] == -1 and ours.tendons is not None
    assert table.first[loop] == ours.tendons.index("rope")


def test_sensors(both: tuple[wm.Model, Any]) -> None:
    ours, theirs = both
    sensors = ours.sensors
    assert sensors is not None and sensors.size == theirs.nsensordata
    np.testing.assert_array_equal(sensors.start[:-1], theirs.sensor_adr)
    np.testing.assert_array_equal(sensors.noise, theirs.sensor_noise)
    np.testing.assert_array_equal(sensors.cutoff, theirs.sensor_cutoff)
    contact = sensors.index("s14")
    assert ours.shapes is not None
    assert sensors.contact_match[contact].tolist() == [
        ours.shapes.index("rod"),
        -1,
        -1,
        -1,
        -1,
        ours.body_index("loose"),
        -1,
    ]
    assert (sensors.contact_most[contact], sensors.contact_reduce[contact]) == (3, 0)
    assert sensors.contact_report[contact] == 1 + 2 + 8


def test_keyframes_and_mocap(both: tuple[wm.Model, Any]) -> None:
    ours, theirs = both
    keys = ours.keyframes
    assert keys is not None and ours.mocap_bodies is not None
    assert ours.mocap_bodies.tolist() == [ours.body_index("ghost")]
    np.testing.assert_allclose(keys.mocap_q[0, 0], [4, 5, 6, 1, 0, 0, 0])
    assert keys.time[0] == theirs.key_time[0]


def package_files() -> list[Path]:
    found: list[Path] = []
    for package, folder in (("gymnasium", "envs/mujoco/assets"), ("dm_control", "suite")):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            found += sorted((Path(spec.origin).parent / folder).glob("*.xml"))
    return found


@pytest.mark.parametrize("path", package_files(), ids=lambda path: path.stem)
def test_shapes_and_sensors_of_package_models(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ours, theirs = msd.build(msd.from_file(path)), mujoco.MjModel.from_xml_path(str(path))
    check_shapes(ours, theirs)
    assert ours.sensors is not None
    np.testing.assert_array_equal(ours.sensors.start[:-1], theirs.sensor_adr)
