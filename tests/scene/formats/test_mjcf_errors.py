# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""MJCF that is wrong, hostile, or says more than a scene can hold."""

from __future__ import annotations

import contextlib
import random
import re
import time
import tracemalloc
from pathlib import Path

import pytest
from mjcf_random import Generator

from worldline import msd
from worldline._src.errors import SceneError

HANG = 3.0
"""Seconds of processor time a refusal may take; the slowest was measured at 0.9 s on a quiet machine."""


def problems(text: str, **options: object) -> list[str]:
    """What is wrong with a text, without its file."""
    with pytest.raises(SceneError) as raised:
        msd.from_str(text, **options)  # type: ignore[arg-type]
    assert raised.value.problems
    return [f"{p.line}: {p.path}: {p.message}" for p in raised.value.problems]


def model(inside: str) -> str:
    return f"<mujoco>{inside}</mujoco>"


def world(inside: str) -> str:
    return model(f"<worldbody>{inside}</worldbody>")


def test_all_problems_come_at_once_with_line_path_and_nearest_name() -> None:
    text = """<mujoco>
<compiler angel="radian"/>
<default><default class="arm"><geom frcition="1"/></default></default>
<worldbody>
  <body name="hand" childclass="amr">
    <joint name="elbow" tpye="hinge" axis="0 0 0"/>
    <geom size="a"/>
    <gom size="1"/>
  </body>
</worldbody>
<actuator><motor joint="elbo"/></actuator>
<sensor><framepos objtype="bodi" objname="hand"/></sensor>
</mujoco>"""
    found = problems(text)
    expected = [
        "2: mujoco/compiler[0]: unknown attribute 'angel' of <compiler>; did you mean 'angle'?",
        "3: mujoco/default[0]/default[0]/geom[0]: unknown attribute 'frcition' of <geom>;"
        " did you mean 'friction'?",
        "5: mujoco/worldbody[0]/body[0]: attribute 'childclass': no default class 'amr'; did you mean 'arm'?",
        "6: mujoco/worldbody[0]/body[0]/joint[0]: unknown attribute 'tpye' of <joint>; did you mean 'type'?",
        "6: mujoco/worldbody[0]/body[0]/joint[0]: attribute 'axis': given a zero axis; allowed: a direction",
        "7: mujoco/worldbody[0]/body[0]/geom[0]: attribute 'size': given 'a'; allowed: 1 to 3 finite numbers",
        "8: mujoco/worldbody[0]/body[0]/gom[0]: <gom> cannot stand here; did you mean 'geom'?",
        "11: mujoco/actuator[0]/motor[0]: attribute 'joint': no joint 'elbo'; there are 'elbow';"
        " did you mean 'elbow'?",
    ]
    for line in expected:
        assert line in found, found
    assert any("objtype" in line and "did you mean 'body'?" in line for line in found)


WRONG = {
    "not XML": "<mujoco>",
    "another root": "<robot/>",
    "no root": "",
    "text": "hello",
    "NaN": world('<geom size="1" pos="nan 0 0"/>'),
    "infinity": world('<geom size="1" pos="inf 0 0"/>'),
    "too few numbers": world('<geom size="1" pos="1 0"/>'),
    "too many numbers": world('<geom size="1 2 3 4"/>'),
    "underscore": world('<geom size="1_0"/>'),
    "a word for a number": world('<geom size="1" condim="three"/>'),
    "a fraction for a count": world('<geom size="1" condim="3.5"/>'),
    "a wrong count": world('<geom size="1" condim="2"/>'),
    "a wrong word": world('<geom type="ball" size="1"/>'),
    "no size": world('<geom type="box"/>'),
    "negative size": world('<geom size="-1"/>'),
    "negative mass": world('<geom size="1" mass="-1"/>'),
    "negative friction": world('<geom size="1" friction="-1"/>'),
    "mesh without mesh": world('<geom type="mesh"/>'),
    "unknown mesh": world('<geom type="mesh" mesh="m"/>'),
    "unknown material": world('<geom size="1" material="m"/>'),
    "two orientations": world('<geom size="1" quat="1 0 0 0" euler="1 0 0"/>'),
    "zero quaternion": world('<geom size="1" quat="0 0 0 0"/>'),
    "zero axis of rotation": world('<geom size="1" axisangle="0 0 0 1"/>'),
    "parallel axes": world('<geom size="1" xyaxes="1 0 0 2 0 0"/>'),
    "zero z axis": world('<geom size="1" zaxis="0 0 0"/>'),
    "ends of a sphere": world('<geom size="1" fromto="0 0 0 1 0 0"/>'),
    "ends at one place": world('<geom type="capsule" size="1" fromto="1 0 0 1 0 0"/>'),
    "joint of the world": world("<joint/>"),
    "mass of the world": world('<inertial pos="0 0 0" mass="1"/>'),
    "mass without place": world('<body><inertial mass="1" diaginertia="1 1 1"/></body>'),
    "two masses": world('<body><inertial mass="1" pos="0 0 0"/><inertial mass="1" pos="0 0 0"/></body>'),
    "two tensors": world(
        '<body><inertial pos="0 0 0" mass="1" diaginertia="1 1 1" fullinertia="1 1 1 0 0 0"/></body>'
    ),
    "free joint inside": world('<body><geom size="1"/><body><freejoint/><geom size="1"/></body></body>'),
    "free and other joint": world('<body><freejoint/><joint/><geom size="1"/></body>'),
    "other and free joint": world('<body><joint/><freejoint/><geom size="1"/></body>'),
    "ball and hinge": world('<body><joint type="ball"/><joint/><geom size="1"/></body>'),
    "mocap with joint": world('<body mocap="true"><joint/><geom size="1"/></body>'),
    "mocap inside": world('<body><body mocap="true"/></body>'),
    "limits of a ball": world('<body><joint type="ball" range="-1 1"/><geom size="1"/></body>'),
    "range without limited": model('<compiler autolimits="false"/>').replace("</mujoco>", "")
    + '<worldbody><body><joint range="0 1"/><geom size="1"/></body></worldbody></mujoco>',
    "limited without range": world('<body><joint limited="true" range="1 0"/><geom size="1"/></body>'),
    "same name": world('<geom name="a" size="1"/><geom name="a" size="1"/>'),
    "a body called world": world('<body name="world"/>'),
    "a class twice": model('<default><default class="a"/><default class="a"/></default>'),
    "a class without name": model("<default><default/></default>"),
    "unused broken default": model('<default><default class="a"><geom size="x"/></default></default>'),
    "global coordinates": model('<compiler coordinate="global"/>'),
    "eulerseq": model('<compiler eulerseq="xyw"/>'),
    "negative step": model('<option timestep="-1"/>'),
    "camera with wrong target": world('<camera mode="targetbody" target="x"/>'),
    "replicate without count": world("<replicate><geom size='1'/></replicate>"),
    "replicate a joint": world("<body><geom size='1'/><replicate count='2'><joint/></replicate></body>"),
    "attach nothing": world("<attach prefix='a'/>"),
    "attach an unknown model": world("<attach model='m' prefix='a'/>"),
    "attach without prefix": world("<body name='x'><geom size='1'/></body><body><attach body='x'/></body>"),
    "motor without target": model("<actuator><motor/></actuator>"),
    "motor with two targets": world("<body><geom size='1'/><joint name='j'/><site name='s'/></body>").replace(
        "</mujoco>", "<actuator><motor joint='j' site='s'/></actuator></mujoco>"
    ),
    "pair of one geom": world("<geom name='a' size='1'/>").replace(
        "</mujoco>", "<contact><pair geom1='a' geom2='a'/></contact></mujoco>"
    ),
    "pair with nothing": model("<contact><pair/></contact>"),
    "weld of a body and a site": world("<body name='b'><geom size='1'/><site name='s'/></body>").replace(
        "</mujoco>", "<equality><weld body1='b' site1='s'/></equality></mujoco>"
    ),
    "connect without anchor": world("<body name='b'><geom size='1'/></body>").replace(
        "</mujoco>", "<equality><connect body1='b'/></equality></mujoco>"
    ),
    "tendon without path": model("<tendon><spatial/></tendon>"),
    "keyframe too long": model("<keyframe><key qpos='1'/></keyframe>"),
    "face of no vertex": model(
        "<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 1 9'/></asset>"
    ),
    "points on a line": model("<asset><mesh name='m' vertex='0 0 0 1 0 0 2 0 0 3 0 0'/></asset>"),
    "mesh without anything": model("<asset><mesh name='m'/></asset>"),
    "mesh without name": model("<asset><mesh vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>"),
    "heights that do not fit": model(
        "<asset><hfield name='h' nrow='2' ncol='2' size='1 1 1 1' elevation='1 2 3'/></asset>"
    ),
    "texture of nothing": model("<asset><texture name='t'/></asset>"),
    "material without name": model("<asset><material/></asset>"),
    "relative file without a place": model("<asset><mesh file='a.stl'/></asset>"),
    "include without a place": model("<include file='a.xml'/>"),
    "include of nothing": model("<include/>"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_models_are_refused_with_a_place(case: str) -> None:
    assert problems(WRONG[case])


def test_the_error_tells_the_file(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text("<x>\n<geom size='x'/></x>")
    main = tmp_path / "main.xml"
    main.write_text("<mujoco><worldbody><include file='part.xml'/></worldbody></mujoco>")
    with pytest.raises(SceneError) as raised:
        msd.from_file(main)
    (problem,) = [p for p in raised.value.problems if "finite" in p.message]
    assert (problem.file, problem.line, problem.path) == (str(tmp_path / "part.xml"), 2, "x/geom[0]")


def timed(text: str, path: Path | None = None) -> SceneError:
    """The error of a hostile text, which has to come in well under a second."""
    # of this process alone, so that a busy machine does not matter
    start = time.process_time()
    with pytest.raises(SceneError) as raised:
        msd.from_str(text) if path is None else msd.from_file(path)
    assert time.process_time() - start < HANG
    return raised.value


def nested(count: int, levels: int) -> str:
    opened = "".join(f"<replicate count='{count}'>" for _ in range(levels))
    return world(f"{opened}<geom size='1'/>{'</replicate>' * levels}")


DEEP_NAMES = "<replicate count='1' sep='" + "x" * 100 + "'>"
HOSTILE = {
    "billion laughs": '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><mujoco model="&b;"/>',
    "external entity": '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><mujoco model="&a;"/>',
    "external type": '<!DOCTYPE mujoco SYSTEM "http://localhost/x.dtd"><mujoco/>',
    "entity": "<mujoco>&a;</mujoco>",
    "deep nesting": "<mujoco>" + "<worldbody>" * 3000,
    "deep nesting with ends": world("<body>" * 1500 + "</body>" * 1500),
    "deep frames": world("<frame>" * 5000 + "</frame>" * 5000),
    "absurd count": world("<replicate count='1000000000'><geom size='1'/></replicate>"),
    "count beyond all": world("<replicate count='99999999999999999999'><geom size='1'/></replicate>"),
    "replicas of replicas": nested(1000, 3),
    "many levels of replicas": nested(10, 400),
    "empty replicas": world("<replicate count='100000'><replicate count='100000'/></replicate>"),
    "long names": world("<replicate count='1000'><geom name='" + "n" * 100_000 + "' size='1'/></replicate>"),
    "long suffixes": world(DEEP_NAMES * 400 + "<geom name='g' size='1'/>" + "</replicate>" * 400),
    "attach to itself": world("<body name='x'><geom size='1'/><attach body='x' prefix='a'/></body>"),
    "attach to each other": world(
        "<body name='x'><attach body='y' prefix='a'/></body>"
        "<body name='y'><attach body='x' prefix='b'/></body>"
    ),
    "too many elements": model("<default/>" * 400_000),
    "too many attributes": "<mujoco " + " ".join(f"a{i}=''" for i in range(3_100_000)) + "/>",
    "a null": "<mujoco model='a\x00b'/>",
    "a lone surrogate": "<mujoco model='\ud800'/>",
    "huge number": world("<geom size='" + "9" * 1_000_000 + "'/>"),
    "many numbers": world("<geom size='" + "1 " * 1_000_000 + "'/>"),
    "many problems": world("<geom size='x'/>" * 20_000),
    "huge height field": model(
        "<asset><hfield name='h' nrow='100000' ncol='100000' size='1 1 1 1'/></asset>"
    ),
    "huge custom number": model("<custom><numeric name='n' size='2000000000' data='1'/></custom>"),
    "many references": world("<body><geom size='1'/><joint name='j'/></body>").replace(
        "</mujoco>", "<sensor>" + "<jointpos joint='k'/>" * 20_000 + "</sensor></mujoco>"
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_models_are_refused_at_once(case: str) -> None:
    timed(HOSTILE[case])


@pytest.mark.parametrize(
    "case",
    [
        "absurd count",
        "many levels of replicas",
        "long names",
        "long suffixes",
        "huge height field",
        "many numbers",
    ],
)
def test_hostile_models_take_little_memory(case: str) -> None:
    tracemalloc.start()
    with pytest.raises(SceneError):
        msd.from_str(HOSTILE[case])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6


SCRAPS = (
    "nan",
    "inf",
    "1e308 1e308 1e308",
    "",
    "0 0 0",
    "-1",
    "x",
    "1 2 3 4 5 6 7 8",
    "world",
    "main",
    "<",
    "&",
    "é",
)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_models_raise_nothing_but_scene_errors(seed: int) -> None:
    chance = random.Random(seed)
    text = Generator(seed).model()
    for _ in range(60):
        damaged = text
        for _ in range(chance.randint(1, 3)):
            values = list(re.finditer(r'"([^"]*)"', damaged))
            names = list(re.finditer(r"[< ]([a-z]+)[=> ]", damaged))
            one = chance.choice(values if chance.random() < 0.6 else names)
            other = chance.choice(names).group(1) if one.re.pattern[0] == "[" else chance.choice(SCRAPS)
            damaged = damaged[: one.start(1)] + other + damaged[one.end(1) :]
        with contextlib.suppress(SceneError):
            msd.from_str(damaged)


def test_replicas_times_sensors_stay_bounded() -> None:
    replicas = "<replicate count='1000'><body><joint name='j'/><geom size='1'/></body></replicate>"
    sensors = "<jointpos joint='j'/>" * 1000
    timed(f"<mujoco><worldbody>{replicas}</worldbody><sensor>{sensors}</sensor></mujoco>")


def test_files_that_include_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<mujoco><include file='b.xml'/></mujoco>")
    (tmp_path / "b.xml").write_text("<mujoco><include file='a.xml'/></mujoco>")
    assert "included twice" in str(timed("", tmp_path / "a.xml"))


def test_models_that_attach_each_other(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.xml").write_text(
            f"<mujoco model='{name}'><asset><model name='{other}' file='{other}.xml'/></asset>"
            f"<worldbody><attach model='{other}' prefix='x'/></worldbody></mujoco>"
        )
    assert "again and again" in str(timed("", tmp_path / "a.xml"))


@pytest.mark.parametrize("reference", ["../secret.xml", "/etc/passwd", "link.xml", "http://localhost/a.xml"])
def test_includes_stay_below_the_file(tmp_path: Path, reference: str) -> None:
    (tmp_path / "secret.xml").write_text("<mujoco><worldbody/></mujoco>")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.xml").symlink_to(tmp_path / "secret.xml")
    (inside / "main.xml").write_text(f"<mujoco><include file='{reference}'/></mujoco>")
    timed("", inside / "main.xml")


def test_other_directories_can_be_allowed(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "part.xml").write_text("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    (tmp_path / "robot").mkdir()
    main = tmp_path / "robot" / "main.xml"
    main.write_text("<mujoco><include file='../common/part.xml'/></mujoco>")
    with pytest.raises(SceneError, match="outside"):
        msd.from_file(main)
    assert msd.from_file(main, allow_outside=True).hierarchy.geoms
    assert msd.from_file(main, asset_dirs=[tmp_path / "common"]).hierarchy.geoms


def test_a_chain_as_deep_as_allowed_is_read() -> None:
    link = "<body><joint/><geom size='1'/>"
    found = msd.from_str(world(link * 1000 + "</body>" * 1000))
    assert sum(1 for _ in found.hierarchy.links()) == 1000


def test_missing_meshes_are_noted_and_their_paths_kept(tmp_path: Path) -> None:
    main = tmp_path / "main.xml"
    main.write_text(
        "<mujoco><compiler meshdir='meshes'/><asset><mesh file='sub/a.stl' scale='2 2 2'/></asset>"
        "<worldbody><geom type='mesh' mesh='a'/></worldbody></mujoco>"
    )
    found = msd.from_file(main)
    assert found.assets.meshes["a"].value["path"] == "meshes/sub/a.stl"
    assert [entry.fate for entry in found.report] == [msd.Fate.LeftOut]
    with pytest.raises(SceneError, match="strict"):
        msd.from_file(main, strict=True)


def test_the_report_tells_what_has_no_place() -> None:
    text = """<mujoco>
<worldbody>
<geom size="1" user="1 2" surfacevel="1 0 0 0 0 0"/>
<body><joint stiffness="1 2 3"/><geom size="1"/></body>
<flexcomp name="f" type="grid"/>
<camera mode="trackcom"/>
</worldbody>
<custom><tuple name="t"/></custom>
</mujoco>"""
    report = msd.from_str(text).report
    notes = {(entry.line, entry.path, entry.fate.name) for entry in report.losses}
    assert notes == {
        (3, "mujoco/worldbody[0]/geom[0]", "LeftOut"),
        (4, "mujoco/worldbody[0]/body[0]/joint[0]", "Approximated"),
        (5, "mujoco/worldbody[0]/flexcomp[0]", "LeftOut"),
        (6, "mujoco/worldbody[0]/camera[0]", "Approximated"),
        (8, "mujoco/custom[0]/tuple[0]", "LeftOut"),
    }
    assert sum(entry.path.endswith("geom[0]") for entry in report) == 2


def test_a_default_that_has_no_place_is_noted_once_where_it_stands() -> None:
    text = model(
        "<default><geom castshadow='false'/></default><worldbody><geom size='1'/><geom size='1'/></worldbody>"
    )
    (note,) = msd.from_str(text).report
    assert note.path == "mujoco/default[0]/geom[0]"


def test_left_out_actuators_leave_the_controls_of_others_in_place() -> None:
    text = world(
        "<body><geom size='1'/><joint type='ball' name='b'/></body>"
        "<body><geom size='1'/><joint name='j'/></body>"
    ).replace(
        "</mujoco>",
        "<actuator><orientation joint='b'/><motor joint='j'/></actuator>"
        "<keyframe><key ctrl='1 2 3 4'/></keyframe></mujoco>",
    )
    found = msd.from_str(text)
    assert len(found.actuators) == 1
    assert found.keyframes[0].ctrl.tolist() == [4.0]
    assert not found.report.is_exact


def test_names_of_other_namespaces_are_none_of_ours() -> None:
    text = (
        '<mujoco xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
        ' xsi:noNamespaceSchemaLocation="mjcf.xsd">'
        "<worldbody/></mujoco>"
    )
    assert msd.from_str(text).report.is_exact


def test_unnamed_sensors_of_several_kinds_get_stable_names() -> None:
    text = world("<body name='sensor_1'><geom size='1'/><joint name='j'/><site name='s'/></body>").replace(
        "</mujoco>",
        "<sensor><jointpos joint='j'/><gyro site='s'/><jointvel joint='j' name='sensor_2'/><clock/></sensor>"
        "</mujoco>",
    )
    found = msd.from_str(text)
    assert found.sensors.order == ["sensor_1", "sensor_3", "sensor_2", "sensor_4"]
    again = msd.from_str(text)
    assert again == found


def test_very_many_attributes_of_one_element_are_refused_at_once() -> None:
    many = " ".join(f"a{i}='1'" for i in range(60_000))
    assert "more than 500 attributes" in str(timed(world(f"<geom size='1'/><geom {many}/>")))
