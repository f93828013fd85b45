# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Cameras and lights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from worldline._src.scene.cameras import Camera, Light, PositionTrack, RotationTrack
from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.mjcf.cameras import LUMENS_PER_CANDELA
from worldline._src.scene.formats.mjcf.writing import Words, Writing, is_near, preimage

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_MODES: Final = {
    (PositionTrack.FixedLocal, RotationTrack.FixedLocal): "fixed",
    (PositionTrack.FixedWorld, RotationTrack.FixedWorld): "track",
    (PositionTrack.FixedLocal, RotationTrack.LookAtLink): "targetbody",
}
_MOST_PIXELS: Final = 2**20
_CAMERA_SAID: Final = frozenset(
    (
        *("name", "position", "orientation", "position_track", "rotation_track", "track_target"),
        *("orthographic", "fovy", "depth_only", "resolution_x", "resolution_y"),
        *("focal_length", "sensor_size", "principal_point"),
    )
)
_LIGHT_SAID: Final = frozenset(
    (
        *("name", "cast_shadows", "color", "direction", "mode", "position", "type_", "active"),
        *("ambient", "specular", "attenuation"),
    )
)


def write_camera(writing: Writing, element: Element, camera: Camera, path: str) -> None:
    """A camera."""
    words = Words()
    words.text("name", camera.name)
    _write_mode(writing, words, camera, path)
    writing.pose(words, camera.position, camera.orientation.tolist(), f"{path}.orientation")
    if camera.orthographic:
        words["projection"] = "orthographic"
    size = [min(_MOST_PIXELS, pixels) for pixels in (camera.resolution_x, camera.resolution_y)]
    if size != [camera.resolution_x, camera.resolution_y]:
        writing.changed(f"{path}.resolution_x", f"pictures have at most {_MOST_PIXELS} pixels a side")
    words.reals("resolution", size, (1, 1))
    if camera.sensor_size is not None and all(camera.sensor_size):
        words.reals("sensorsize", camera.sensor_size)
        for name, value in (("focal", camera.focal_length), ("principal", camera.principal_point)):
            if value is not None:
                words.reals(name, value)
        if camera.fovy != 45.0:
            writing.reworded(f"{path}.fovy", "the sensor decides on the field of view")
    else:
        for name in ("sensor_size", "focal_length", "principal_point"):
            if getattr(camera, name) is not None:
                writing.lost(f"{path}.{name}", "without the size of a sensor it means nothing")
        words.real("fovy", camera.fovy, 45.0)
        if camera.fovy >= 180.0 and not camera.orthographic:
            writing.changed(f"{path}.fovy", "MuJoCo refuses angles of 180 degrees and more")
    if camera.depth_only:
        words["output"] = "depth"
    writing.others(camera, path, _CAMERA_SAID)
    child(element, "camera", words)


def _write_mode(writing: Writing, words: Words, camera: Camera, path: str) -> None:
    mode = _MODES.get((camera.position_track, camera.rotation_track))
    if mode is None:
        writing.changed(f"{path}.rotation_track", "no mode of the format follows its link that way")
        mode = "fixed"
    if mode == "targetbody" and camera.track_target is None:
        writing.changed(f"{path}.rotation_track", "it has no link to look at")
        mode = "fixed"
    if mode == "targetbody":
        words["mode"], words["target"] = mode, camera.track_target or ""
        return
    if mode != "fixed":
        words["mode"] = mode
    if camera.track_target is not None:
        writing.reworded(f"{path}.track_target", "the camera does not look at it")


def write_light(writing: Writing, element: Element, light: Light, path: str) -> None:
    """A light."""
    words = Words()
    words.text("name", light.name)
    kind = light.type_.variant
    if kind != "spot":
        words["type"] = kind
    words.reals("pos", light.position, (0.0, 0.0, 0.0))
    direction = light.direction
    if not direction.any():
        writing.reworded(f"{path}.direction", "no direction is written as downward, which is what it means")
    else:
        words.reals("dir", direction, (0.0, 0.0, -1.0))
    mode = light.mode.variant
    if mode == "track":
        words["mode"] = "track"
    elif mode == "target_body":
        words["mode"], words["target"] = "targetbody", light.mode.value
    words.flag("active", light.active, True)
    words.flag("castshadow", light.cast_shadows, True)
    words.reals("diffuse", light.color, (0.7, 0.7, 0.7))
    words.reals("ambient", light.ambient, (0.0, 0.0, 0.0))
    words.reals("specular", light.specular, (0.3, 0.3, 0.3))
    words.reals("attenuation", light.attenuation, (1.0, 0.0, 0.0))
    _write_type(writing, words, light, f"{path}.type_")
    writing.others(light, path, _LIGHT_SAID)
    child(element, "light", words)


def _write_type(writing: Writing, words: Words, light: Light, path: str) -> None:
    kind, value = light.type_.variant, light.type_.value
    here = f"{path}.{kind.capitalize()}"
    if kind == "directional":
        _write_intensity(writing, words, value, "illuminance", 1.0, here)
        writing.others(value, here, {"illuminance"})
        return
    _write_intensity(writing, words, value, "intensity", LUMENS_PER_CANDELA, here)
    words.real("range", value.range, 10.0)
    if kind == "point":
        words.real("bulbradius", value.radius, 0.02)
        writing.others(value, here, {"intensity", "radius", "range"})
        return
    outer, inner = value.outer_angle, value.inner_angle
    if outer > 180.0:
        writing.changed(f"{here}.outer_angle", "a cone is at most 180 degrees wide")
        outer = 180.0
    words.real("cutoff", outer, 45.0)
    if inner > outer:
        writing.changed(f"{here}.inner_angle", "it is at most the outer one")
        inner = outer
    softness = preimage(lambda s: outer * (1.0 - s), 1.0 - inner / outer, inner) if outer > 0.0 else 0.2
    if not is_near(outer * (1.0 - softness), inner):
        writing.changed(f"{here}.inner_angle", "it is given as a share of the outer one, and rounded")
    words.real("softness", min(1.0, max(0.0, softness)), 0.2)
    writing.others(value, here, {"intensity", "inner_angle", "outer_angle", "range"})


def _write_intensity(
    writing: Writing, words: Words, value: Any, field: str, per_candela: float, path: str
) -> None:
    """Brightness, where it is not what the reader takes when none is given."""
    brightness = getattr(value, field)
    if value._fields[field].is_default(brightness):
        return
    candela = 0.0
    if brightness > 0.0:
        candela = preimage(lambda c: c * per_candela, brightness / per_candela, brightness)
        words.real("intensity", candela)
    if not (brightness > 0.0 and is_near(candela * per_candela, brightness)):
        writing.changed(f"{path}.{field}", "a light without brightness gets the usual one")
