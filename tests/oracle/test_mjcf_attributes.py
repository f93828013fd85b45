# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Every attribute of MJCF acts as in MuJoCo, or is named: one at a time, on a small model that uses it.

An attribute that moves something in MuJoCo moves it here by the same numbers over 20 steps, unless the load
report names it or a step refuses it. What moves nothing is kept in the scene or named. An attribute that
MuJoCo does not take is refused, named, or changes the scene.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from mjcf_attributes import ELEMENTS, models
from mjcf_cases import Case, NotTried

from worldline import WorldlineError, msd
from worldline import simulation as sx
from worldline._src.model.kinds import JointType
from worldline._src.scene.formats.mjcf.schema import RULES

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is the yardstick")

SECTIONS = ("body", "contact", "tendon", "equality", "actuator", "sensor", "option", "compiler", "keyframe")
NOT_TRIED = {
    "/sensor/tactile": "left out whole",
    "/sensor/user": "left out whole",
    "/sensor/plugin": "left out whole",
    "/actuator/plugin": "tests of controllers",
    "/body/camera": "pictures",
    "/body/light": "pictures",
    "/body/attach": "tests of attached models",
    "/compiler/lengthrange": "muscles without a range are named",
}
CASES = {
    f"{key[1:]}@{label}": (key, attribute, entry)
    for key, (_, cases, more) in ELEMENTS.items()
    for label, (attribute, entry) in ({name: (name, one) for name, one in cases.items()} | more).items()
    if isinstance(entry, Case)
}
QUATERNIONS = {int(mujoco.mjtSensor.mjSENS_FRAMEQUAT), int(mujoco.mjtSensor.mjSENS_BALLQUAT)}


def test_every_attribute_has_a_case() -> None:
    """Attributes that the reader knows and the tables do not."""
    wanted = {
        key: rule.attributes
        for key, rule in RULES.items()
        if key.split("/")[1:2] and key.split("/")[1] in SECTIONS and "plugin" not in key and rule.attributes
    }
    assert set(wanted) - set(ELEMENTS) == set(NOT_TRIED) & set(wanted)
    for key, (_, cases, _) in ELEMENTS.items():
        assert set(cases) == set(wanted[key]), key
        assert all(entry.why for entry in cases.values() if isinstance(entry, NotTried))


def peer(text: str, given: Case) -> list[np.ndarray] | None:
    """Coordinates, velocities, activations and sensors in MuJoCo after the steps; None when it refuses."""
    try:
        model = mujoco.MjModel.from_xml_string(text)
    except ValueError:
        return None
    model.opt.tolerance, model.opt.iterations, model.opt.ls_iterations = 1e-14, 300, 100
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    if np.isfinite(given.control):
        data.ctrl[:] = given.control
    mujoco.mj_step(model, data, given.steps)
    mujoco.mj_forward(model, data)
    return [data.qpos.copy(), data.qvel.copy(), data.act.copy(), _upright(model, data.sensordata)]


def _upright(model: Any, values: np.ndarray) -> np.ndarray:
    """Readings with quaternions in xyzw."""
    found = values.copy()
    for kind, at in zip(model.sensor_type, model.sensor_adr, strict=True):
        if int(kind) in QUATERNIONS:
            found[at : at + 4] = values[[at + 1, at + 2, at + 3, at]]
    return found


def own(scene: msd.World, given: Case) -> list[np.ndarray]:
    """The same here; quaternions of coordinates in MuJoCo's order."""
    world = sx.World.from_scene(scene)
    if scene.keyframes:
        world.apply_keyframe(scene.keyframes[0].name)
    if np.isfinite(given.control):
        world.actuator_controls = np.full(len(world.actuator_controls), given.control)
    world.step(n=given.steps)
    sim = world._live().sim
    q = np.array(sim.q)
    for kind, at in zip(sim.model.joint_type, sim.model.joint_q_start, strict=False):
        if kind in (JointType.BALL, JointType.FREE):
            at = int(at) + 3 * (kind == JointType.FREE)
            q[at : at + 4] = q[[at + 3, at, at + 1, at + 2]]
    return [q, np.array(sim.v), np.array(world.actuator_activations), np.array(world.sensors.values)]


def described(text: str) -> tuple[Any, str]:
    """The scene of a text and its fields as text; the error where it is refused."""
    try:
        scene = msd.from_str(text, format="mjcf")
    except WorldlineError as error:
        return error, ""
    return scene, scene.to_str(format="msd")


def is_named(scene: msd.World, tag: str, attribute: str) -> bool:
    """Whether the report names an attribute, or says that the element is left out whole."""
    losses = [str(loss) for loss in scene.report.losses]
    whole = [loss for loss in losses if loss.startswith("left out") and "attribute '" not in loss]
    return any(f"'{attribute}'" in loss for loss in losses) or any(f"/{tag}[0]: " in loss for loss in whole)


@pytest.mark.parametrize("label", CASES)
def test_an_attribute_acts_as_in_mujoco_or_is_named(label: str) -> None:
    key, attribute, given = CASES[label]
    tag = key.rsplit("/", 1)[1]
    plain, changed = models(key, attribute, given)
    theirs = peer(changed, given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (_, old), (scene, new) = described(plain), described(changed)
        if theirs is None:
            refused = isinstance(scene, WorldlineError)
            assert refused or is_named(scene, tag, attribute) or old != new, "ignored, and refused by MuJoCo"
            return
        assert not isinstance(scene, WorldlineError), f"MuJoCo reads it: {scene}"
        if is_named(scene, tag, attribute):
            return
        if not given.moves:
            assert old != new, "neither kept nor named"
            return
        first = peer(plain, given)
        assert first is None or not _same(first, theirs, 0.0), "MuJoCo shows no effect of this case"
        try:
            ours = own(scene, given)
        except NotImplementedError as error:
            assert attribute in str(error), f"refused, and not by name: {error}"
            return
    if key in ("/sensor/framequat", "/sensor/ballquat"):
        # q and -q are one orientation
        ours[3], theirs[3] = np.abs(ours[3]), np.abs(theirs[3])
    for name, mine, yours in zip(("q", "v", "activations", "sensors"), ours, theirs, strict=True):
        np.testing.assert_allclose(mine, yours, rtol=1e-6, atol=1e-6, err_msg=name)


def _same(a: list[np.ndarray], b: list[np.ndarray], tolerance: float) -> bool:
    return all(
        x.shape == y.shape and np.allclose(x, y, rtol=0.0, atol=tolerance) for x, y in zip(a, b, strict=True)
    )


INTEGRATED = """<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
  <actuator><intvelocity joint="j" kp="20" actrange="-.001 .001" actlimited="false"/></actuator></mujoco>"""


def test_an_integrated_speed_is_bounded_whatever_its_flag_says() -> None:
    given = Case("false")
    ours, theirs = own(msd.from_str(INTEGRATED, format="mjcf"), given), peer(INTEGRATED, given)
    assert theirs is not None
    np.testing.assert_allclose(ours[2], theirs[2], atol=1e-12)
    assert ours[2] == [0.001]


PARTS = """<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
  <body pos="1 0 0"><joint name="b" type="ball"/><geom size=".1"/></body></body></worldbody>
  <actuator><pid name="both" joint="j" kp="20" kv="1"/><orientation name="none" joint="b" kp="20"/></actuator>
  <sensor><actuatorfrc name="part" actuator="both"/><actuatorvel name="speed" actuator="both"/>
  <actuatorpos name="nothing" actuator="none"/></sensor></mujoco>"""


def test_sensors_of_actuators_that_are_no_one_of_a_scene_are_named() -> None:
    """The force of one of several inputs is approximated; a sensor of an actuator that is left out is, too."""
    scene = msd.from_str(PARTS, format="mjcf")
    losses = [str(loss) for loss in scene.report.losses if "sensor" in str(loss)]
    assert len(losses) == 2
    assert "approximated" in losses[0] and "'actuator': the force of the first of the 2 inputs" in losses[0]
    assert "left out" in losses[1] and "'actuator': 'none' is left out" in losses[1]
    assert [sensor.name for sensor in scene.sensors.actuator] == ["part", "speed"]
    mujoco.MjModel.from_xml_string(PARTS)
