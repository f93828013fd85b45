# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`fusestatic`: which links are merged, and what becomes of what they hold, against MuJoCo's own compiler."""

from __future__ import annotations

import numpy as np
import pytest

from worldline import msd
from worldline import simulation as sx
from worldline._src.scene.fusing import fused
from worldline.model import inverse_dynamics, mass_matrix

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick here")

from mjcf_compare import Comparison  # noqa: E402

INNER = """<body name="inner" pos="0 0 1" euler="20 0 0"><geom name="in" size="0.05" pos="0 1 0"/>
<body name="innermost" pos="0 .1 0"><geom name="most" type="box" size=".02 .01 .03"/></body></body>"""


def file(
    outside: str = "", attributes: str = "", inside: str = "", world: str = "", compiler: str = ""
) -> str:
    """An arm with a welded link in its middle and another welded to the world."""
    return f"""<mujoco><compiler fusestatic="true" {compiler}/><worldbody>
    <camera name="far" pos="0 0 3"/>{world}
    <body name="base" pos="0 0 1"><joint name="j0"/><geom name="g0" size="0.1"/>
      <body name="welded" pos="0.5 0 0" euler="0 15 30" {attributes}>
        <geom name="g1" type="box" size=".1 .2 .3" pos="0.1 0 0" euler="10 20 30"/>
        <site name="s1" pos="0.1 0.2 0.3"/><camera name="c1" pos="0 1 0" euler="0 10 0"/>
        <light name="l1" pos="1 2 3" dir="1 0 0"/>{inside}
        <body name="tip" pos="0.2 0 0" euler="40 0 0"><joint name="j1" axis="0 1 0"/>
          <geom name="g2" type="capsule" size="0.1 0.2"/></body>
      </body>
      <geom name="late" size="0.03" pos="0 0.2 0"/>
    </body>
    <body name="stand" pos="1 1 1" euler="0 0 20"><geom name="gs" size=".1" pos="0 0.5 0"/>
      <body name="swing" pos="0 0 0.2"><joint name="j2"/><geom name="g3" size=".1" pos=".3 0 0"/></body></body>
    </worldbody>{outside}</mujoco>"""


def sensor(text: str) -> str:
    return f"<sensor>{text}</sensor>"


CASES = {
    "plain": {},
    "nested": {"inside": INNER},
    "nested, the inner one named": {
        "inside": INNER,
        "outside": sensor('<framepos objtype="body" objname="inner"/>'),
    },
    "sensor on the body": {"outside": sensor('<framepos objtype="xbody" objname="welded"/>')},
    "sensor seen from the body": {
        "outside": sensor('<framepos objtype="site" objname="s1" reftype="body" refname="welded"/>')
    },
    "subtree sensor": {"outside": sensor('<subtreecom body="welded"/>')},
    "force sensor": {"outside": sensor('<force site="s1"/>')},
    "torque sensor": {"outside": sensor('<torque site="s1"/>')},
    "touch sensor": {"outside": sensor('<touch site="s1"/>')},
    "sensor on a geom": {"outside": sensor('<framepos objtype="geom" objname="g1"/>')},
    "connect": {"outside": '<equality><connect body1="welded" anchor="0 0 0"/></equality>'},
    "weld": {"outside": '<equality><weld body1="welded" body2="stand"/></equality>'},
    "exclude": {"outside": '<contact><exclude body1="welded" body2="tip"/></contact>'},
    "pair": {"outside": '<contact><pair geom1="g1" geom2="gs"/></contact>'},
    "adhesion": {"outside": '<actuator><adhesion body="welded" ctrlrange="0 1"/></actuator>'},
    "site actuator": {"outside": '<actuator><general site="s1"/></actuator>'},
    "camera target": {"world": '<camera name="ct" mode="targetbody" target="welded"/>'},
    "light target": {"world": '<light name="lt" mode="targetbody" target="welded"/>'},
    "other gravcomp": {"attributes": 'gravcomp="1"'},
    "told not to": {"attributes": 'fuse="false"'},
    "told nothing": {"attributes": 'fuse="auto"'},
    "inertial": {"inside": '<inertial mass="3" pos="0.3 0 0" diaginertia="1 2 2.5" euler="5 6 7"/>'},
    "bounds": {"compiler": 'boundmass="50" boundinertia="2"', "inside": INNER},
    "inertia from geoms": {
        "compiler": 'inertiafromgeom="true"',
        "inside": '<inertial mass="3" pos="0.3 0 0" diaginertia="1 2 2.5"/>',
    },
    "mocap": {
        "world": '<body name="hand" mocap="true"><geom name="gm" size=".1"/>'
        '<body name="finger" pos="0 0 1"><geom name="gf" size=".1"/></body></body>'
    },
    "free": {
        "world": '<body name="loose"><freejoint/><geom name="gl" size=".1"/>'
        '<body name="lid" pos="0 0 1"><geom name="glid" size=".1"/></body></body>'
    },
}


@pytest.mark.parametrize("case", CASES)
def test_fused_as_compiled(case: str) -> None:
    text = file(**CASES[case])
    scene = msd.from_str(text)
    model = mujoco.MjModel.from_xml_string(text)
    merged = fused(scene)
    assert Comparison(merged, model).all() == []
    built = msd.build(scene)
    theirs = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i) for i in range(1, model.nbody)]
    assert built.body_label == theirs
    np.testing.assert_allclose(built.body_mass, model.body_mass[1:], rtol=1e-12)
    # the scene that was built is as it was
    assert scene.compile_options.fuse_static
    assert "stand" in {link.name for link in scene.hierarchy.links()}


@pytest.mark.parametrize(
    "case", ["plain", "nested", "inertial", "bounds", "force sensor", "inertia from geoms"]
)
def test_fused_dynamics_are_those_of_mujoco(case: str) -> None:
    text = file(**CASES[case])
    model = mujoco.MjModel.from_xml_string(text)
    built = msd.build(msd.from_str(text))
    data = mujoco.MjData(model)
    random = np.random.default_rng(3)
    for _ in range(5):
        data.qpos, data.qvel = random.normal(size=(2, model.nq))
        mujoco.mj_forward(model, data)
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        np.testing.assert_allclose(mass_matrix(built, data.qpos), full, rtol=1e-9, atol=1e-12)
        bias = inverse_dynamics(built, data.qpos, data.qvel, np.zeros(model.nv))
        np.testing.assert_allclose(bias, data.qfrc_bias, rtol=1e-9, atol=1e-9)


def test_total_mass_counts_what_is_left() -> None:
    built = msd.build(msd.from_str(file(compiler='settotalmass="10"')))
    assert built.body_label == ["base", "tip", "swing"]
    assert sum(built.body_mass) == pytest.approx(10.0, rel=1e-12)


def test_frames_move_along() -> None:
    scene = msd.from_str(file(inside='<frame name="mark" pos="0 0 1"><geom size="0.1"/></frame>'))
    before = scene.frames[0]
    after = fused(scene).frames[0]
    assert (before.parent_link, after.parent_link) == ("welded", "base")
    np.testing.assert_allclose(after.position - (0.5, 0, 0), _turned_z(), atol=1e-14)
    assert scene.hierarchy.bodies[0].link.children[0].name == "welded"


def _turned_z() -> np.ndarray:
    """The z axis after a turn by 15 degrees about y, then 30 about the new z."""
    return np.array([np.sin(np.radians(15)), 0.0, np.cos(np.radians(15))])


def test_saved_forces_lose_the_rows_of_merged_links() -> None:
    scene = msd.from_str(file())
    names = [link.name for link in scene.hierarchy.links()]
    scene.keyframes.append(msd.Keyframe(name="k", link_force=np.arange(6.0 * len(names)).reshape(-1, 6)))
    left = [names.index(link.name) for link in fused(scene).hierarchy.links()]
    np.testing.assert_array_equal(fused(scene).keyframes[0].link_force, scene.keyframes[0].link_force[left])


def test_a_scene_that_does_not_ask_is_returned_as_it_is() -> None:
    scene = msd.from_str(file())
    scene.compile_options.fuse_static = False
    assert fused(scene) is scene
    assert "welded" in msd.build(scene).body_label


def test_worlds_have_the_links_that_are_left() -> None:
    world = sx.World.from_scene(msd.from_str(file()))
    names = [name for robot in world.multibodies for name in robot.links.names]
    assert names == ["base", "tip", "swing"]
    assert world.multibodies["base"].links["base"].mass == pytest.approx(
        float(mujoco.MjModel.from_xml_string(file()).body_mass[1]), rel=1e-12
    )
