# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every option of MJCF's compiler takes the effect that it takes in MuJoCo: masses, inertias, poses, counts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mjcf_compare import differences

from worldline import msd
from worldline._src.errors import SceneError

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick here")

DATA = Path(__file__).parents[2] / "data"
MODEL = """<mujoco><compiler {options}/>
 <asset><mesh name="cube" file="{mesh}" scale="0.1 0.2 0.3" {inertia}/>
   <texture name="t" type="2d" file="{texture}"/><material name="m" texture="t"/></asset>
 <worldbody><body name="a" pos="0 0 1" euler="10 20 30"><joint name="j" axis="0 1 0" range="-40 50" {limited}/>
   <geom name="g0" type="capsule" size="0.1 0.2"/><geom name="g3" group="3" type="box" size="0.1 0.2 0.3" euler="5 6 7"/>
   <body name="given" pos="0 0.3 0"><joint name="l"/><inertial mass="0.001" pos="0 0 0.1" diaginertia="1e-7 1e-7 1.5e-7"/>
     <geom name="ell" type="ellipsoid" size="0.1 0.2 0.3"/></body>
   <body name="welded" pos="0.2 0 0" euler="0 30 10"><geom name="w" type="cylinder" size="0.1 0.2" material="m"/>
     <body name="mesh" pos="0 0 0.3"><joint name="k" axis="1 0 0"/><geom name="c" type="mesh" mesh="cube"/></body></body>
 </body>
 <body name="loose" pos="2 0 1" euler="30 0 0"><freejoint/><geom name="n" type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/>
   <geom name="show" size="0.3" contype="0" conaffinity="0" group="2" mass="0"/></body></worldbody></mujoco>"""
CASES: dict[str, str] = {
    "plain": "",
    "angle": 'angle="radian"',
    "angle of degrees": 'angle="degree"',
    "eulerseq": 'eulerseq="zyx"',
    "eulerseq of fixed axes": 'eulerseq="XYz"',
    "autolimits off": 'autolimits="false"',
    "inertiafromgeom": 'inertiafromgeom="true"',
    "inertiafromgeom, geoms of other groups": (
        'inertiafromgeom="true" inertiagrouprange="3 3" boundmass="0.0001" boundinertia="1e-9"'
    ),
    "inertiafromgeom auto": 'inertiafromgeom="auto"',
    "inertiafromgeom off": 'inertiafromgeom="false" boundmass="0.1" boundinertia="0.01"',
    "inertiagrouprange": 'inertiagrouprange="0 2"',
    "balanceinertia": 'balanceinertia="true"',
    "boundmass": 'boundmass="2"',
    "boundinertia": 'boundinertia="0.05"',
    "settotalmass": 'settotalmass="3"',
    "settotalmass off": 'settotalmass="-1"',
    "fusestatic": 'fusestatic="true"',
    "coordinate": 'coordinate="local"',
    "fitaabb": 'fitaabb="true"',
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mesh and a texture in several places, and a directory for MuJoCo's log."""
    monkeypatch.chdir(tmp_path)
    for folder in ("", "meshes", "textures", "assets"):
        (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(DATA / "cube.stl", tmp_path / folder / "cube.stl")
        (tmp_path / folder / "t.png").write_bytes(PIXEL)


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd"
    "8db00000000049454e44ae426082"
)


def both(tmp_path: Path, options: str, **words: str) -> tuple[msd.World, Any]:
    """The scene and MuJoCo's model of the small model with some options."""
    filled = {"mesh": "cube.stl", "texture": "t.png", "inertia": "", "limited": "", **words}
    file = tmp_path / "model.xml"
    file.write_text(MODEL.format(options=options, **filled))
    return msd.from_file(file), mujoco.MjModel.from_xml_path(str(file))


def tensor(model: Any, body: int) -> np.ndarray:
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.body_iquat[body])
    return turn.reshape(3, 3) @ np.diag(model.body_inertia[body]) @ turn.reshape(3, 3).T


def assert_same_masses(world: msd.World, model: Any) -> None:
    built = msd.build(world)
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i) for i in range(1, model.nbody)]
    # links with several joints would have bodies in between, of which there are none here
    assert list(built.body_label) == names
    np.testing.assert_allclose(built.body_mass, model.body_mass[1:], rtol=1e-6)
    np.testing.assert_allclose(built.body_com, model.body_ipos[1:], rtol=1e-6, atol=1e-7)
    for index, name in enumerate(names):
        theirs = tensor(model, index + 1)
        scale = abs(theirs).max()
        np.testing.assert_allclose(built.body_inertia[index], theirs, atol=1e-6 * scale, err_msg=str(name))


@pytest.mark.parametrize("name", CASES)
def test_option(name: str, tmp_path: Path) -> None:
    limited = {"limited": 'limited="false"'} if name == "autolimits off" else {}
    world, model = both(tmp_path, CASES[name], **limited)
    assert_same_masses(world, model)
    if name != "fusestatic":
        # links are merged when a model is built, the scene keeps them
        found = differences(world, model).splitlines()
        # the scene has the moments that are given, the model those that a bound made of them
        assert [line for line in found if name != "boundinertia" or " inertia:" not in line] == []
    assert world.report.is_exact, str(world.report)


def test_every_option_changes_something(tmp_path: Path) -> None:
    """Each case tells MuJoCo something, or it would prove nothing."""
    _, plain = both(tmp_path, "")
    same = {
        "plain",
        "angle of degrees",
        "inertiafromgeom auto",
        "coordinate",
        "settotalmass off",
        "balanceinertia",
        "fitaabb",
    }
    for name, options in CASES.items():
        limited = {"limited": 'limited="false"'} if name == "autolimits off" else {}
        _, model = both(tmp_path, options, **limited)
        fields = ("body_mass", "body_inertia", "body_quat", "jnt_range", "jnt_limited")
        changed = model.nbody != plain.nbody or any(
            not np.allclose(getattr(model, f), getattr(plain, f)) for f in fields
        )
        assert changed == (name not in same), name


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ('meshdir="meshes"', {"texture": "textures/t.png"}),
        ('texturedir="textures"', {"mesh": "meshes/cube.stl"}),
        ('assetdir="assets"', {}),
        ('assetdir="assets" meshdir="meshes" texturedir="textures"', {}),
        ('strippath="true"', {"mesh": "no/such/place/cube.stl", "texture": "nor/this/t.png"}),
        ('strippath="true" meshdir="meshes"', {"mesh": "elsewhere/cube.stl"}),
    ],
)
def test_files_are_found_where_the_options_say(options: str, words: dict[str, str], tmp_path: Path) -> None:
    world, model = both(tmp_path, options, **words)
    assert world.report.is_exact, str(world.report)
    assert_same_masses(world, model)
    for kept, first in (
        (world.assets.meshes["cube"].value["path"], "meshdir"),
        (world.assets.textures["t"].source.value, "texturedir"),
    ):
        assert (tmp_path / kept).is_file()
        wanted = [w for w in options.replace('"', " ").split() if w in ("meshes", "textures", "assets")]
        folder = {"meshdir": "meshes", "texturedir": "textures"}[first]
        if f'{first}="' in options:
            assert Path(kept).parent.name == folder
        elif wanted == ["assets"]:
            assert Path(kept).parent.name == "assets"


@pytest.mark.parametrize("mode", ["legacy", "exact", "convex", "shell"])
def test_inertia_of_meshes(mode: str, tmp_path: Path) -> None:
    world, model = both(tmp_path, "", inertia=f'inertia="{mode}"')
    assert_same_masses(world, model)


def test_exact_inertia_of_older_files(tmp_path: Path) -> None:
    filled = {"mesh": "cube.stl", "texture": "t.png", "limited": ""}
    (tmp_path / "old.xml").write_text(MODEL.format(options='exactmeshinertia="true"', inertia="", **filled))
    (tmp_path / "new.xml").write_text(MODEL.format(options="", inertia='inertia="exact"', **filled))
    assert msd.from_file(tmp_path / "old.xml") == msd.from_file(tmp_path / "new.xml")


def test_impossible_moments_need_balanceinertia() -> None:
    text = """<mujoco><compiler {}/><worldbody><body name="b"><joint/>
      <inertial mass="1" pos="0 0 0" diaginertia="1 1 5"/></body></worldbody></mujoco>"""
    with pytest.raises(ValueError, match="A \\+ B >= C"):
        mujoco.MjModel.from_xml_string(text.format(""))
    with pytest.raises(SceneError):
        msd.build(msd.from_str(text.format("")))
    options = 'balanceinertia="true"'
    model = mujoco.MjModel.from_xml_string(text.format(options))
    assert_same_masses(msd.from_str(text.format(options)), model)


def test_global_coordinates_are_refused_by_both() -> None:
    text = '<mujoco><compiler coordinate="global"/></mujoco>'
    with pytest.raises(ValueError, match="global coordinates no longer supported"):
        mujoco.MjModel.from_xml_string(text)
    with pytest.raises(SceneError, match="global coordinates"):
        msd.from_str(text)


def test_what_is_only_for_show_may_stay(tmp_path: Path) -> None:
    """MuJoCo drops such geoms; the scene keeps them and says so, and the masses are the same."""
    world, model = both(tmp_path, 'discardvisual="true"')
    assert model.ngeom == sum(len(link.geoms) for link in world.hierarchy.links()) - 1
    assert_same_masses(world, model)
    assert any("discardvisual" in entry.message for entry in world.report) and world.report.is_exact


def test_free_bodies_are_not_turned_to_their_inertia(tmp_path: Path) -> None:
    """MuJoCo moves the frame; the scene keeps it and notes that. Mass and moments do not depend on it."""
    world, model = both(tmp_path, 'alignfree="true"')
    assert any("align" in entry.message for entry in world.report.losses)
    built = msd.build(world)
    index = list(built.body_label).index("loose")
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "loose")
    assert built.body_mass[index] == pytest.approx(model.body_mass[body], rel=1e-12)
    moments = np.linalg.eigvalsh(built.body_inertia[index])
    np.testing.assert_allclose(moments, np.sort(model.body_inertia[body]), rtol=1e-9)
    assert not np.allclose(model.body_pos[body], (2, 0, 1))


def test_an_override_takes_hold_of_all_parameters_of_contacts() -> None:
    """Where the flag is set MuJoCo overrides margin, friction and softness, by defaults where none are given."""
    text = """<mujoco><option o_margin="0.05"><flag override="enable"/></option></mujoco>"""
    option = msd.from_str(text).simulate_option
    theirs = mujoco.MjModel.from_xml_string(text).opt
    assert option.override_contact_margin == theirs.o_margin == 0.05
    np.testing.assert_array_equal(option.override_friction, theirs.o_friction)
    force = option.override_contact_force.value
    assert (force["spring"].k, force["spring"].d) == (
        1.0 / (theirs.o_solref[0] * theirs.o_solref[1]) ** 2,
        100.0,
    )
    assert force["impedance"].dmax == theirs.o_solimp[1]
    assert msd.from_str(text.replace("enable", "disable")).simulate_option.override_friction is None


def test_a_single_point_of_contact_is_noted() -> None:
    """Newer versions make several points unless told otherwise, and so does the engine."""
    text = '<mujoco><option><flag multiccd="{}"/></option></mujoco>'
    assert len(msd.from_str(text.format("enable")).report) == 0
    assert [entry.fate.value for entry in msd.from_str(text.format("disable")).report] == ["left out"]
    models = [mujoco.MjModel.from_xml_string(t) for t in ("<mujoco/>", text.format("enable"))]
    assert models[0].opt.disableflags == models[1].opt.disableflags == 0
