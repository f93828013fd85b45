# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every kind of sensor against MuJoCo's readings, at random states and after steps, in contact."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from scene_pairs import ScenePair

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")

_OBJECTS = (("body", "l1"), ("xbody", "l1"), ("geom", "g1"), ("site", "s1"), ("camera", "c1"))
_REFERENCES = (("site", "s2"), ("xbody", "f"), ("body", "f"), ("geom", "gf"))
_SITES = ("s1", "s2", "s3", "sf")
_WORLD = """
  <geom name="floor" type="plane" size="0 0 .1"/>
  <site name="zone" type="box" size=".3 .3 .3" pos=".2 0 .4"/><site name="big" type="box" size="5 .5 5"/>
  <camera name="c0" pos="0 -3 1" euler="80 5 10" resolution="640 480" fovy="50"/>
  <camera name="c2" pos="0 -3 1" euler="80 5 10" resolution="640 480" sensorsize=".02 .015" focal=".03 .031"/>
  <body name="l1" pos="0 0 .9">
    <inertial pos=".2 .01 0" mass="1" diaginertia=".01 .02 .025" euler="10 20 0"/>
    <joint name="j1" axis="0 1 0" range="-40 40" damping=".1"/>
    <geom name="g1" type="capsule" fromto="0 0 0 .4 0 0" size=".04"/>
    <camera name="c1" pos=".1 0 .1" euler="20 60 0" resolution="320 240"/>
    <site name="s1" pos=".2 0 .05" euler="5 15 25" size=".05"/>
    <body name="l2" pos=".4 0 0"><joint name="j2" axis="0 1 0" range="-50 30" stiffness="2"/>
      <joint name="j3" type="slide" axis="1 0 0" range="-.05 .05" margin=".01"/>
      <geom name="g2" type="capsule" fromto="0 0 0 .3 0 0" size=".04" mass="1"/>
      <site name="s2" pos=".15 .03 .02" euler="30 0 10" type="box" size=".2 .1 .1"/>
      <site name="down" pos=".15 .03 -.1" euler="180 10 10" size=".1"/>
      <body name="w" pos=".3 0 0"><joint name="jb" type="ball" range="0 30" limited="true"/>
        <geom name="gw" type="box" size=".1 .05 .03" mass=".5"/>
        <site name="s3" pos=".1 .05 0" type="ellipsoid" size=".1 .2 .1"/></body></body></body>
  <body name="f" pos=".3 0 .098" euler="0 0 30">
    <inertial pos="0 0 0" mass="1" diaginertia=".01 .02 .025"/><freejoint name="ff"/>
    <geom name="gf" type="box" size=".1 .2 .1" condim="4"/>
    <site name="sf" pos=".1 0 .1" euler="20 0 0" type="cylinder" size=".3 .3"/></body>
"""
_FIELDS = "found force torque dist pos normal tangent"
_SLOT = 17


def _frames() -> Iterable[str]:
    for tag in ("pos", "quat", "xaxis", "yaxis", "zaxis", "linvel", "angvel"):
        for kind, name in _OBJECTS:
            yield f'<frame{tag} objtype="{kind}" objname="{name}"/>'
            for other, reference in _REFERENCES:
                yield f'<frame{tag} objtype="{kind}" objname="{name}" reftype="{other}" refname="{reference}"/>'
    for tag in ("linacc", "angacc"):
        yield from (f'<frame{tag} objtype="{kind}" objname="{name}"/>' for kind, name in _OBJECTS)
    for tag in ("com", "linvel", "angmom"):
        yield from (f'<subtree{tag} body="{body}"/>' for body in ("l1", "l2", "f", "world"))


def _sites(*tags: str) -> Iterable[str]:
    return (f'<{tag} site="{site}"/>' for tag in tags for site in _SITES)


def _joints() -> Iterable[str]:
    for joint in ("j1", "j2", "j3"):
        for tag in ("pos", "vel", "actuatorfrc", "limitpos", "limitvel", "limitfrc"):
            yield f'<joint{tag} joint="{joint}"/>'
    yield '<ballquat joint="jb"/><ballangvel joint="jb"/><jointlimitpos joint="jb"/>'
    yield '<jointlimitvel joint="jb"/><jointlimitfrc joint="jb"/>'
    for actuator in ("a1", "a2", "a3"):
        yield from (f'<actuator{tag} actuator="{actuator}"/>' for tag in ("pos", "vel", "frc"))


def _tendons(*names: str) -> Iterable[str]:
    for tendon in names:
        for tag in ("pos", "vel", "actuatorfrc", "limitpos", "limitvel", "limitfrc"):
            yield f'<tendon{tag} tendon="{tendon}"/>'


def _shapes() -> Iterable[str]:
    yield from (f'<rangefinder site="{site}"/>' for site in (*_SITES, "down"))
    for tag in ("distance", "normal"):
        yield f'<{tag} geom1="g1" geom2="gf" cutoff="5"/><{tag} body1="l2" body2="f" cutoff="5"/>'
        yield f'<{tag} geom1="gf" geom2="g1" cutoff=".05"/><{tag} geom1="gf" geom2="floor" cutoff="5"/>'
    yield '<fromto geom1="g1" geom2="gf" cutoff="5"/><fromto body1="w" body2="f" cutoff=".1"/>'
    yield '<insidesite site="zone" objtype="site" objname="s2"/><camprojection site="s1" camera="c0"/>'
    yield '<insidesite site="zone" objtype="body" objname="f"/><camprojection site="s2" camera="c1"/>'
    yield '<insidesite site="zone" objtype="xbody" objname="l2"/><camprojection site="sf" camera="c2"/>'


def _world() -> Iterable[str]:
    yield "<clock/><e_potential/><e_kinetic/>"
    # clipped readings, and noise that nobody adds
    yield '<jointvel joint="j1" cutoff=".3"/><accelerometer site="s1" cutoff="4"/><touch site="sf" cutoff="2"/>'
    yield '<rangefinder site="s3" cutoff=".1"/><jointpos joint="j2" noise="3"/>'


def _contacts() -> Iterable[str]:
    for match in (
        'body1="f" body2="world"',
        'body1="world" body2="f"',
        'subtree1="l1" body2="f"',
        'geom1="gf"',
        'geom2="gf"',
        'subtree1="f"',
        'site="big"',
        'geom1="floor" geom2="gf"',
    ):
        for reduce in ("none", "mindist", "maxforce", "netforce"):
            yield f'<contact num="6" data="{_FIELDS}" reduce="{reduce}" {match}/>'


def _scene(sensors: Iterable[str], option: str = "", limit: str = "", held: bool = False) -> str:
    """Robot and box; a limit on the tendon along sites makes forces within bodies unknown."""
    on = str(held).lower()
    return f"""<mujoco><option timestep="0.002" integrator="Euler" magnetic=".1 .2 -.3" {option}/>
      <worldbody>{_WORLD}</worldbody>
      <tendon><fixed name="t1" range="-.1 .1"><joint joint="j1" coef=".3"/><joint joint="j2" coef="-.5"/></fixed>
        <spatial name="t2" {limit}><site site="zone"/><site site="s1"/><site site="s2"/></spatial></tendon>
      <actuator><motor name="a1" joint="j1" gear="3"/><position name="a2" joint="j2" kp="5"/>
        <motor name="a3" tendon="t1"/></actuator>
      <equality><connect body1="w" body2="f" anchor=".1 0 0" active="{on}"/>
        <weld body1="l2" body2="f" active="{on}"/></equality>
      <sensor>{"".join(sensors)}</sensor></mujoco>"""


_FORCES = ("force", "torque", "touch", "accelerometer", "velocimeter", "gyro", "magnetometer")
SCENES = {
    "frames": lambda: _scene(_frames()),
    "sites": lambda: _scene(_sites(*_FORCES)),
    "sites_of_cones": lambda: _scene(_sites(*_FORCES), option='cone="elliptic"'),
    "sites_held": lambda: _scene(_sites(*_FORCES), held=True),
    "joints": lambda: _scene(
        [*_joints(), *_tendons("t1"), '<tendonpos tendon="t2"/><tendonvel tendon="t2"/>']
    ),
    "tendons": lambda: _scene([*_joints(), *_tendons("t1", "t2")], limit='range="0 .3"'),
    "shapes": lambda: _scene(_shapes()),
    "world": lambda: _scene(_world()),
    "contacts": lambda: _scene(_contacts()),
    "contacts_of_cones": lambda: _scene(_contacts(), option='cone="elliptic"'),
}


class _Pair(ScenePair):
    def place(self) -> None:
        """The coordinates of MuJoCo in the World."""
        sim, model = self.runtime.sim, self.runtime.model
        for j, k in self.rows:
            here = slice(int(model.joint_q_start[k]), int(model.joint_q_start[k + 1]))
            x = self.d.qpos[self.m.jnt_qposadr[j] :][: here.stop - here.start]
            order = {7: [0, 1, 2, 4, 5, 6, 3], 4: [1, 2, 3, 0]}.get(len(x), [0])
            sim.q[here] = x[order]
        sim.written()

    def scatter(self, rng: np.random.Generator) -> None:
        """Random coordinates, speeds and controls in both."""
        self.d.qpos[:] = self.m.qpos0
        self.d.qpos[:3] += rng.uniform(-0.9, 0.9, 3) * (1.0, 1.0, 0.07)
        turn = np.array([1.0, 0.0, 0.0, 0.0]) + 0.4 * rng.normal(size=4)
        self.d.qpos[3:7] = turn / np.linalg.norm(turn)
        self.d.qpos[7:10] += rng.uniform(-0.1, 0.1, 3) * (3.0, 1.0, 0.1)
        self.place()
        self.shake(rng)
        self.d.ctrl[:] = rng.uniform(-1.0, 1.0, self.m.nu)
        self.world.actuator_controls = self.d.ctrl.copy()

    def compare(self) -> None:
        """All readings of the present state."""
        mujoco.mj_forward(self.m, self.d)
        assert len(self.world.sensors) == self.m.nsensor
        for i, sensor in enumerate(self.world.sensors):
            at, size = int(self.m.sensor_adr[i]), int(self.m.sensor_dim[i])
            theirs, ours = self.d.sensordata[at : at + size].copy(), sensor.value
            assert ours.shape == (sensor.dim,) == (size,)
            if "quaternion" in sensor.kind:
                theirs = theirs[[1, 2, 3, 0]]
                theirs *= np.sign(theirs @ ours)
            if sensor.kind == "contact":
                theirs, ours = _sorted(theirs), _sorted(ours)
            scale = max(1.0, np.abs(theirs).max())
            assert np.abs(ours - theirs).max() < 1e-9 * scale, (i, sensor.name, sensor.kind, ours, theirs)


def _sorted(slots: np.ndarray) -> np.ndarray:
    """Slots by place: the order in which engines find contacts is their own."""
    rows = slots.reshape(-1, _SLOT)
    return rows[np.lexsort(rows[:, 8:11].round(5).T)]


@pytest.mark.parametrize("name", SCENES)
def test_readings_at_random_states_and_after_steps(name: str) -> None:
    pair, rng, touched = _Pair(mujoco, SCENES[name]()), np.random.default_rng(3), 0
    for _ in range(4):
        pair.scatter(rng)
        pair.compare()
        touched += pair.d.ncon
    for _ in range(4):
        pair.step(n=15)
        pair.d.qvel[:] = pair.in_order(pair.runtime.sim.v)
        pair.d.qpos[:] = pair.q()
        pair.compare()
        touched += pair.d.ncon
    assert touched > 4, "the scene was to be in contact"


def test_range_finders_see_what_is_to_be_seen_and_not_themselves() -> None:
    text = """<mujoco><asset><material name="glass" rgba="1 1 1 0"/><material name="wood" rgba="1 1 0 1"/>
      <mesh name="ring" vertex="1 0 0 0 1 0 -1 0 0 0 -1 0 2 0 1 0 2 1 -2 0 1 0 -2 1"/></asset>
      <worldbody>
      <geom type="box" size=".1 .1 .1" pos="0 0 1" material="glass"/>
      <geom type="box" size=".1 .1 .1" pos="0 0 2" rgba="1 1 1 0"/>
      <geom type="cylinder" size=".1 .1" pos="0 0 3" material="wood" contype="0" conaffinity="0"/>
      <geom type="ellipsoid" size=".2 .3 .1" pos="3 0 2"/><geom type="mesh" mesh="ring" pos="6 0 3"/>
      <body name="b"><joint name="j" axis="0 1 0"/><geom size=".1" pos="0 0 .3"/><site name="own"/></body>
      <site name="within" pos="3 .05 2.01" euler="20 30 0"/><site name="under" pos="3.05 0 1" />
      <site name="beside" pos="9 9 0"/><site name="mesh" pos="6.1 .2 0" euler="1 2 3"/>
      <site name="back" pos="0 0 9" euler="180 0 0"/></worldbody>
      <sensor><rangefinder site="own"/><rangefinder site="within"/><rangefinder site="under"/>
        <rangefinder site="beside"/><rangefinder site="mesh"/><rangefinder site="back"/></sensor></mujoco>"""
    pair = _Pair(mujoco, text)
    pair.compare()
    assert pair.world.sensors[0].value.round(9).tolist() == [2.9] and pair.world.sensors[3].value[0] == -1.0


def test_touch_counts_forces_whose_line_meets_the_site() -> None:
    kinds = {
        "sphere": ".02",
        "box": ".02 .03 .02",
        "capsule": ".02 .02",
        "cylinder": ".02 .02",
        "ellipsoid": ".02 .03 .02",
    }
    places = {"above": "0 0 .05", "below": "0 0 -.2", "beside": ".05 0 0", "slanted": ".012 .012 -.2"}
    sites = [
        f'<site name="{k}_{p}" type="{k}" size="{size}" pos="{at}" euler="10 20 30"/>'
        for k, size in kinds.items()
        for p, at in places.items()
    ]
    sensors = [f'<touch site="{k}_{p}"/>' for k in kinds for p in places]
    text = f"""<mujoco><worldbody><geom type="plane" size="0 0 1"/><body name="b" pos="0 0 .099">
      <freejoint name="f"/><geom size=".1"/>{"".join(sites)}</body></worldbody>
      <sensor>{"".join(sensors)}</sensor></mujoco>"""
    pair = _Pair(mujoco, text)
    pair.compare()
    felt = [sensor.value[0] > 0.0 for sensor in pair.world.sensors]
    assert any(felt) and not all(felt)
