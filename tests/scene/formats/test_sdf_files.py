# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""SDF files: includes, what is reported, what is refused."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sdf_scenes import DATA, HANG, joint, links, load, model, poses, refused

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import SceneError

# includes


@pytest.fixture
def shop(tmp_path, monkeypatch):
    for variable in ("GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "SDF_PATH"):
        monkeypatch.delenv(variable, raising=False)
    table = tmp_path / "models" / "table"
    table.mkdir(parents=True)
    (table / "model.config").write_text(
        '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.9">new.sdf</sdf></model>'
    )
    (table / "old.sdf").write_text('<sdf version="1.4"><model name="old"><link name="l"/></model></sdf>')
    (table / "new.sdf").write_text(
        '<sdf version="1.9"><model name="table"><pose>0 0 1 0 0 0</pose><link name="top">'
        '<visual name="v"><geometry>'
        "<mesh><uri>cube.stl</uri><scale>2 2 2</scale></mesh></geometry></visual></link></model></sdf>"
    )
    (table / "cube.stl").write_bytes((DATA / "cube.stl").read_bytes())
    (tmp_path / "world").mkdir()
    return tmp_path


def include(uri: str, inside: str = "") -> str:
    return f"<include><uri>{uri}</uri>{inside}</include>"


def world_of(inside: str) -> str:
    return f'<sdf version="1.9"><world name="w">{inside}</world></sdf>'


def test_included_models_keep_their_own_files_and_version(shop):
    text = world_of(
        include("model://table")
        + include("model://table", "<name>second</name><pose>3 0 0 0 0 0</pose><static>1</static>")
    )
    world = msd.from_str(text, "sdf", shop / "world" / "w.sdf", asset_dirs=[shop / "models"])
    assert list(links(world)) == ["second::top", "table::top"]
    found = poses(world)
    assert (
        found["table::top"][2, 3] == 1 and found["second::top"][0, 3] == 3 and found["second::top"][2, 3] == 0
    )
    kinds = [body.kind.name for body in world.hierarchy.bodies]
    assert kinds == ["Static", "Dynamic"]
    geom = links(world)["table::top"].geoms[0]
    assert geom.mesh_scale.tolist() == [2, 2, 2] and list(world.assets.meshes) == ["cube"]
    assert world.assets.meshes["cube"].value["path"] == str(shop / "models" / "table" / "cube.stl")


def test_missing_includes_are_reported(shop):
    world = msd.from_str(
        world_of(include("model://chair") + include("x.sdf")), "sdf", shop / "world" / "w.sdf"
    )
    assert [entry.fate for entry in world.report.losses] == [msd.Fate.LeftOut] * 2
    merged = f'<include merge="true"><uri>{shop / "models/table"}</uri></include>'
    world = msd.from_str(world_of(merged), "sdf", shop / "world" / "w.sdf", asset_dirs=[shop])
    assert "not into a world" in str(world.report)


_ARM = """<sdf version="1.9"><model name="arm"><pose>0 0 1 0 0 0</pose><link name="upper"/>
  <link name="lower"><pose>1 0 0 0 0 0</pose></link><frame name="tip" attached_to="lower"/>
  <model name="hand"><link name="palm"><pose>2 0 0 0 0 0</pose></link></model>
  <joint name="elbow" type="revolute"><parent>upper</parent><child>lower</child>
    <axis><xyz expressed_in="__model__">0 1 0</xyz></axis></joint></model></sdf>"""


def test_a_merged_model_becomes_a_part_of_the_model_that_includes_it(tmp_path):
    """Its names are found without a prefix, its poses stand in the pose of the include."""
    (tmp_path / "arm.sdf").write_text(_ARM)
    text = """<sdf version="1.9"><model name="robot"><link name="base"><pose>5 0 0 0 0 0</pose></link>
      <include merge="true"><uri>arm.sdf</uri><pose relative_to="base">0 0 3 0 0 {}</pose></include>
      <joint name="shoulder" type="revolute"><parent>base</parent><child>upper</child><axis><xyz>0 0 1</xyz>{}
        </axis></joint>
      <joint name="wrist" type="fixed"><parent>tip</parent><child>hand::palm</child></joint>{}</model></sdf>"""
    mimic = (
        '<mimic joint="elbow"><multiplier>2</multiplier><offset>0</offset><reference>0</reference></mimic>'
    )
    (tmp_path / "robot.sdf").write_text(text.format(np.pi / 2, mimic, ""))
    world = msd.from_file(tmp_path / "robot.sdf")
    assert world.report.is_exact, str(world.report)
    model = msd.build(world)
    assert model.body_label == ["base", "upper", "lower", "hand::palm"]
    places = [[5, 0, 0], [5, 0, 3], [5, 1, 3], [5, 2, 3]]
    np.testing.assert_allclose(model.body_q[:, :3], places, atol=1e-12)
    assert {"shoulder", "elbow"} < set(model.joint_label) and model.joint_dof_count == 8
    assert [(c.joint, c.reference) for c in world.couplers] == [("shoulder", "elbow")]
    assert [(frame.name, frame.parent_link) for frame in world.frames] == [("tip", "lower")]
    # the axis is given in the frame of the arm, which the include has turned
    np.testing.assert_allclose(links(world)["lower"].joints[0].axis, [0, 1, 0], atol=1e-12)
    (tmp_path / "robot.sdf").write_text(text.format(0, "", '<link name="lower"/>'))
    with pytest.raises(SceneError, match="'lower' is taken by the merged model '_merged__arm__model__'"):
        msd.from_file(tmp_path / "robot.sdf")


def test_includes_that_lead_out_are_refused(shop):
    for uri in ("../models/table/new.sdf", str(shop / "models"), "https://fuel.gazebosim.org/x"):
        message = refused(world_of(include(uri)), wrap=False, file_path=shop / "world" / "w.sdf")
        assert "include[0]" in message and ("outside" in message or "network" in message)


def test_files_that_include_themselves_are_refused(shop):
    path = shop / "world" / "a.sdf"
    path.write_text(f'<sdf version="1.9"><model name="a">{include("b.sdf")}</model></sdf>')
    (shop / "world" / "b.sdf").write_text(
        f'<sdf version="1.9"><model name="b">{include("a.sdf")}</model></sdf>'
    )
    start = time.process_time()
    with pytest.raises(SceneError, match="includes itself"):
        msd.from_file(path)
    assert time.process_time() - start < HANG


def test_includes_that_multiply_are_refused(shop):
    for level in range(11):
        inside = "".join(include(f"{level + 1}.sdf", f"<name>n{i}</name>") for i in range(4))
        (shop / "world" / f"{level}.sdf").write_text(
            f'<sdf version="1.9"><model name="m"><link name="a"/>{inside}</model></sdf>'
        )
    start = time.process_time()
    with pytest.raises(SceneError, match="with all includes"):
        msd.from_file(shop / "world" / "0.sdf")
    assert time.process_time() - start < HANG


# what is reported, and what is wrong


def test_extensions_are_left_out_with_their_place():
    world = load(
        '<world name="w">\n<plugin name="p" filename="x"/>\n<light name="l" type="point"/>\n'
        '<model name="m">\n'
        '<link name="a">\n<sensor name="s" type="camera"/>\n<lnk/></link><plugin name="q"/></model></world>'
    )
    notes = [(entry.line, entry.path) for entry in world.report.losses]
    assert notes == [
        (2, "sdf/world[0]/plugin[0]"),
        (3, "sdf/world[0]/light[0]"),
        (7, "sdf/world[0]/model[0]/plugin[0]"),
        (6, "sdf/world[0]/model[0]/link[0]/sensor[0]"),
        (7, "sdf/world[0]/model[0]/link[0]/lnk[0]"),
    ]


def test_all_problems_come_at_once_with_lines_and_hints():
    text = """<model name="m">
      <link name="a"><inertial><mass>heavy</mass></inertial></link>
      <link name="b"><collision name="c"><geometry><box><size>1 2</size></box></geometry></collision>
        <visual name="v"><geometry><mesh/></geometry></visual></link>
      <joint name="j" type="revolut"><parent>a</parent><child>b</child></joint>
      <joint name="k" type="revolute"><parent>aa</parent><child>b</child><axis><xyz>0 0 0</xyz>
        <dynamics><damping>-1</damping></dynamics></axis></joint>
      <joint name="l" type="ball"><parent>a</parent></joint>
      <joint name="n" type="fixed"><parent>a</parent><child>world</child></joint>
      <joint name="o" type="fixed"><parent>a</parent><child>a</child></joint>
      <static>maybe</static>
    </model>"""
    message = refused(text)
    for part in (
        ":2: sdf/model[0]/link[0]/inertial[0]/mass[0]: given 'heavy'; allowed: a finite number",
        "given 2 values; allowed: 3 finite numbers",
        "<uri> is required",
        "given 'revolut'; allowed: revolute, continuous, prismatic, fixed, ball, universal, revolute2, screw",
        "no link or frame 'aa'; did you mean 'a'",
        "given a zero axis",
        "<damping>: given -1.0",
        "<child> is required",
        "the child is the world",
        "the same link",
        "given 'maybe'; allowed: true, false, 1 or 0",
    ):
        assert part in message, part


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("<sdf/>", "attribute 'version'"),
        ('<sdf version="1.9"/>', "neither a <world> nor a <model>"),
        ('<sdf version="new"><model name="m"/></sdf>', "a version such as"),
        ('<robot name="r"/>', "allowed: <sdf>"),
        ('<sdf version="1.9"><model><link name="a"/></model></sdf>', "attribute 'name' is required"),
        ('<sdf version="1.9"><model name="m"><link/></model></sdf>', "attribute 'name' is required"),
        ("<sdf", "not well-formed"),
        ('<!DOCTYPE s [<!ENTITY a "b">]><sdf version="1.9">&a;</sdf>', "document type"),
    ],
)
def test_broken_files_are_refused(text, part):
    assert part in refused(text, wrap=False)


def test_deep_nesting_is_refused_at_once():
    deep = '<model name="m">' * 300 + '<link name="a"/>' + "</model>" * 300
    assert "models nested deeper than" in refused(deep)
    chain = "".join(f'<link name="l{i}"/>' for i in range(3000))
    chain += "".join(joint(f"j{i}", "fixed", f"l{i}", f"l{i + 1}") for i in range(2999))
    start = time.process_time()
    with pytest.raises(SceneError, match="deeper than 1024"):
        model(chain)
    assert time.process_time() - start < HANG


def test_mutated_files_raise_nothing_else():
    rng = np.random.default_rng(5)
    original = (DATA / "frames.sdf").read_text()
    words = [
        "",
        "nan",
        "1e999",
        "-1",
        "a b c",
        "world",
        "first",
        "0 0 0 0 0 0",
        "true",
        "__model__",
        "arm::tool",
    ]
    for _ in range(100):
        text = original
        for _ in range(rng.integers(1, 5)):
            opened = [i for i, c in enumerate(text) if c in '>"']
            at = opened[rng.integers(len(opened))]
            end = min((i for i in (text.find("<", at + 1), text.find('"', at + 1)) if i > 0), default=at + 1)
            text = text[: at + 1] + words[rng.integers(len(words))] + text[end:]
        try:
            msd.from_str(text, "sdf")
        except SceneError:
            continue


def test_every_sensor_that_is_not_read_is_left_out_by_type_and_name():
    kinds = ("contact", "camera", "altimeter", "navsat", "rgbd_camera", "force_torque", "gpu_lidar")
    sensors = "".join(
        f'<sensor name="{kind} of a" type="{kind}"><update_rate>9</update_rate></sensor>' for kind in kinds
    )
    scene = msd.from_str(
        f"""<sdf version="1.9"><model name="m"><link name="a">{sensors}</link><link name="b"/>
        <joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis>
        <sensor name="wrist" type="force_torque"/></joint></model></sdf>""",
        format="sdf",
    )
    notes = [str(entry) for entry in scene.report.losses]
    for k, kind in enumerate(kinds):
        assert any(f"link[0]/sensor[{k}]: {kind} '{kind} of a': " in note for note in notes), notes
    assert any("joint[0]/sensor[0]: force_torque 'wrist': sensors" in note for note in notes), notes


SENSORS = """<sdf version="1.9"><world name="w"><gravity>0 0 -9.8</gravity>{field}
<model name="wall"><static>true</static><link name="l"><collision name="c"><pose>4 0 0 0 0 0</pose><geometry>
  <box><size>1 100 100</size></box></geometry></collision></link></model>
<model name="m"><frame name="f" attached_to="a"><pose relative_to="__model__">0 0 .5 0 0 0</pose></frame><link name="a">
  <pose>0 0 1 0 0 .3</pose><inertial><mass>1</mass></inertial>{sensors}</link></model></world></sdf>"""
GAUSSIAN = '<noise type="gaussian"><mean>0</mean><stddev>{}</stddev></noise>'


def sensing(sensors, field=""):
    scene = msd.from_str(SENSORS.format(sensors=sensors, field=field), format="sdf")
    return scene, sx.World.from_scene(scene)


def test_inertial_units_are_read_with_pose_and_noise():
    axes = "".join(f"<{axis}>{GAUSSIAN.format(0.01)}</{axis}>" for axis in "xyz")
    other = f"<x>{GAUSSIAN.format(0.2)}</x><y>{GAUSSIAN.format(0.3)}</y>"
    scene, world = sensing(
        f"""<sensor name="imu" type="imu"><pose relative_to="f">.1 .2 0 0 0 .5</pose><update_rate>50</update_rate>
        <topic>t</topic><imu><angular_velocity>{axes}</angular_velocity>
        <linear_acceleration>{other}</linear_acceleration><enable_orientation>1</enable_orientation></imu></sensor>"""
    )
    (unit,) = scene.sensors.imu
    assert (unit.name, unit.link, unit.gyro_noise, unit.noise) == ("m::a::imu", "m::a", 0.01, 0.3)
    # the frame is half a metre above the origin of the model, the link one metre, turned by 0.3
    c, s = np.cos(0.3), np.sin(0.3)
    assert unit.position == pytest.approx([0.1 * c + 0.2 * s, -0.1 * s + 0.2 * c, -0.5])
    assert unit.orientation == pytest.approx([0.0, 0.0, np.sin(0.1), np.cos(0.1)])
    notes = [str(entry) for entry in scene.report.losses]
    for said in ("update_rate", "topic", "enable_orientation", "noise of three sizes"):
        assert any(said in note for note in notes), notes
    unit.noise = unit.gyro_noise = 0.0
    world = sx.World.from_scene(scene)
    world.multibodies["m"].joints[0].velocity = [0.0, 0.0, 0.0, 0.0, 0.0, 2.0]
    reading = world.sensors["m::a::imu"].value
    # in free fall, two turns a second squared towards the axis, which is that of the link
    inward = -4.0 * unit.position[:2]
    assert reading[3:] == pytest.approx([0.0, 0.0, 2.0])
    turn = np.array([[np.cos(0.2), np.sin(0.2)], [-np.sin(0.2), np.cos(0.2)]])
    assert reading[:3] == pytest.approx([*(turn @ inward), 0.0], abs=1e-12)


def test_magnetometers_read_the_field_of_the_world_or_that_of_the_format():
    sensor = '<sensor name="north" type="magnetometer"><pose>0 0 0 0 0 .2</pose></sensor>'
    own = (5.5645e-6, 22.8758e-6, -42.3884e-6)
    for field, expected in (("", own), ("<magnetic_field>1 2 3</magnetic_field>", (1.0, 2.0, 3.0))):
        scene, world = sensing(sensor, field)
        c, s = np.cos(0.5), np.sin(0.5)
        x, y, z = expected
        assert world.sensors["m::a::north"].value == pytest.approx([c * x + s * y, -s * x + c * y, z])
        assert any("magnetic_field" in str(entry) for entry in scene.report.entries) == (not field)


LIDAR = """<sensor name="scan" type="{kind}"><lidar><scan><horizontal><samples>{n}</samples>
  <min_angle>{low}</min_angle><max_angle>{high}</max_angle></horizontal>{more}</scan>
  <range><min>0.1</min><max>30</max></range></lidar></sensor>"""


def beside(angle, elevation=0.0):
    """Distance of the wall at x = 3.5 along a ray, from the link, which is turned by 0.3; -1 beside it."""
    ahead = np.cos(angle + 0.3) * np.cos(elevation)
    return 3.5 / ahead if ahead * 30.0 > 3.5 else -1.0


@pytest.mark.parametrize(("n", "different"), [(8, 8), (9, 8)])
def test_a_lidar_that_looks_around_is_a_ring(n, different):
    low = -np.pi
    high = np.pi if n > different else np.pi - 2.0 * np.pi / 8.0
    scene, world = sensing(LIDAR.format(kind="gpu_lidar", n=n, low=low, high=high, more=""))
    (ring,) = scene.sensors.site
    assert (ring.name, ring.ring, ring.cutoff) == ("m::a::scan", different, 30.0)
    angles = low + 2.0 * np.pi / 8.0 * np.arange(8)
    expected = [beside(angle) for angle in angles]
    assert sorted(np.sign(expected)) != [1.0] * 8
    assert world.sensors["m::a::scan"].value == pytest.approx(expected)


def test_any_other_lidar_is_one_range_finder_a_ray():
    more = (
        """<vertical><samples>2</samples><min_angle>-0.1</min_angle><max_angle>0.2</max_angle></vertical>"""
    )
    scene, world = sensing(LIDAR.format(kind="ray", n=3, low=-0.5, high=0.5, more=more))
    expected = [beside(a, e) for e in (-0.1, 0.2) for a in (-0.5, 0.0, 0.5)]
    names = [f"m::a::scan[{k}]" for k in range(6)]
    assert [sensor.name for sensor in scene.sensors.site] == names
    assert [world.sensors[name].value[0] for name in names] == pytest.approx(expected)


@pytest.mark.parametrize("samples", ["", "<samples>1</samples>"])
def test_a_scan_of_one_ray_looks_at_its_least_angle(samples):
    scan = f"<horizontal>{samples}<min_angle>0.2</min_angle><max_angle>0.9</max_angle></horizontal>"
    scene, world = sensing(f'<sensor name="one" type="ray"><ray><scan>{scan}</scan></ray></sensor>')
    assert [sensor.name for sensor in scene.sensors.site] == ["m::a::one[0]"]
    assert world.sensors["m::a::one[0]"].value[0] == pytest.approx(beside(0.2))


def test_the_field_of_the_format_is_noted_once():
    text = "".join(f'<sensor name="m{k}" type="magnetometer"/>' for k in range(2))
    scene, _ = sensing(text)
    assert sum("magnetic_field" in str(entry) for entry in scene.report.entries) == 1


def test_numbers_of_rays_have_limits():
    more = "<vertical><samples>65536</samples><max_angle>1</max_angle></vertical>"
    for n, rest, said in ((4098, "", "4098 rays"), (65536, more, "4294967296 rays"), (4097, "", "4097 rays")):
        text = LIDAR.format(
            kind="ray", n=n, low=0.0, high=2.0 * np.pi * (n - 1) / n if n == 4097 else 1.0, more=rest
        )
        scene = msd.from_str(SENSORS.format(sensors=text, field=""), format="sdf")
        assert not scene.sensors.site
        assert any(f"ray 'scan': {said}; at most 4096" in str(entry) for entry in scene.report.losses)
    text = LIDAR.format(kind="ray", n=1000, low=0.0, high=1.0, more="") * 20
    scene = msd.from_str(SENSORS.format(sensors=text, field=""), format="sdf")
    assert len(scene.sensors.site) == 16_000
    assert sum("16384 of a file" in str(entry) for entry in scene.report.losses) == 4


@pytest.mark.parametrize("samples", ["0", "-1", "1.5", "65537", "1e30", "nan", "many"])
def test_a_lidar_without_a_number_of_rays_is_refused(samples):
    with pytest.raises(SceneError, match="samples"):
        sensing(LIDAR.format(kind="ray", n=samples, low=0, high=1, more=""))
