# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Cameras and lights."""

from __future__ import annotations

from typing import Final

from worldline._src.scene import cameras
from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.mjcf.orientation import HERE, Placement, read_placement, turn
from worldline._src.scene.formats.mjcf.scopes import Reference, Scope
from worldline._src.scene.formats.xml import Attributes, Element

MODES: Final = {word: word for word in ("fixed", "track", "trackcom", "targetbody", "targetbodycom")}
_TRACKS: Final = {
    "fixed": (cameras.PositionTrack.FixedLocal, cameras.RotationTrack.FixedLocal),
    "track": (cameras.PositionTrack.FixedWorld, cameras.RotationTrack.FixedWorld),
    "trackcom": (cameras.PositionTrack.FixedWorld, cameras.RotationTrack.FixedWorld),
    "targetbody": (cameras.PositionTrack.FixedLocal, cameras.RotationTrack.LookAtLink),
    "targetbodycom": (cameras.PositionTrack.FixedLocal, cameras.RotationTrack.LookAtLink),
}
_PROJECTIONS: Final = {"perspective": False, "orthographic": True}
_INTRINSICS: Final = frozenset(("sensorsize", "focal", "principal", "focalpixel", "principalpixel"))
_CAMERA_IGNORED: Final = {
    "user": "the numbers of a user's own have no place at single objects of a scene",
    "ipd": "cameras have one eye",
}
_LIGHT_IGNORED: Final = {
    "exponent": "the edge of a cone is given by its inner angle",
    "texture": "lights have no texture",
    "bulbradius": "only point lights have a radius",
}
LUMENS_PER_CANDELA: Final = 12.566370614359172
"""Lumens of a candela in all directions."""


def read_camera(
    reading: Reading, element: Element, scope: Scope, childclass: str | None, frame: Placement
) -> cameras.Camera:
    """A camera, its pose seen from its link."""
    a = reading.attributes(element, scope, childclass)
    mode = _read_mode(a)
    placement = frame.then(read_placement(a, scope.compiler))
    width, height = _pixels(a)
    position_track, rotation_track = _TRACKS[mode]
    projection = a.choice("projection", _PROJECTIONS, False)
    outputs = (a.text("output") or "rgb").split()
    camera = cameras.Camera(
        name=reading.names.own(scope, element, "camera"),
        position=placement.position,
        orientation=placement.rotation,
        position_track=position_track,
        rotation_track=rotation_track,
        orthographic=projection or a.flag("orthographic", False),
        fovy=a.real("fovy", 45.0),
        resolution_x=width,
        resolution_y=height,
        depth_only="rgb" not in outputs,
    )
    if camera.fovy <= 0.0 or (camera.fovy >= 180.0 and not camera.orthographic):
        a.reject("fovy", f"given {camera.fovy:g}; allowed: degrees above 0 and below 180")
    _read_sensor(a, camera)
    if set(outputs) - {"rgb", "depth"}:
        reading.log.left_out(a.holder("output"), "attribute 'output': cameras give colour and depth")
    _aim(reading, a, scope, mode, camera)
    reading.finish(a, _CAMERA_IGNORED)
    return camera


def _read_mode(a: Attributes) -> str:
    mode: str = a.choice("mode", MODES, "fixed")
    if mode.endswith("com"):
        message = "attribute 'mode': it follows the origin of the link, not its centre of mass"
        a.log.approximated(a.holder("mode"), message)
    return mode


def _pixels(a: Attributes) -> tuple[int, int]:
    if "resolution" not in a:
        return 1, 1
    size = a.reals("resolution", 2, default=(1.0, 1.0)) or [1.0, 1.0]
    if min(size) < 1.0 or any(x != int(x) or x > 2**20 for x in size):
        a.reject("resolution", "allowed: two whole numbers of pixels, 1 or more")
        return 1, 1
    return int(size[0]), int(size[1])


def _read_sensor(a: Attributes, camera: cameras.Camera) -> None:
    """Intrinsics; they count only where the size of the sensor is given, and pixels win over lengths."""
    if not a.gives_any(_INTRINSICS):
        return
    size = a.reals("sensorsize", 2)
    focal, principal = a.reals("focal", 2), a.reals("principal", 2)
    focal_pixels, principal_pixels = a.reals("focalpixel", 2), a.reals("principalpixel", 2)
    if size is None or not all(size):
        return
    pitch = (size[0] / camera.resolution_x, size[1] / camera.resolution_y)
    if focal_pixels is not None:
        focal = [focal_pixels[0] * pitch[0], focal_pixels[1] * pitch[1]]
    if principal_pixels is not None:
        principal = [principal_pixels[0] * pitch[0], principal_pixels[1] * pitch[1]]
    camera.sensor_size, camera.focal_length, camera.principal_point = size, focal, principal


def _aim(reading: Reading, a: Attributes, scope: Scope, mode: str, camera: cameras.Camera) -> None:
    target = a.text("target")
    if not mode.startswith("target"):
        return
    if not target:
        # without a target a camera stays as it is placed
        a.log.kept(a.element, f"mode {mode} without a target: the camera is fixed to its body")
        camera.position_track, camera.rotation_track = _TRACKS["fixed"]
        return

    def resolve() -> None:
        camera.track_target = reading.names.resolve(scope, Reference(a.element, "target", ("link",), target))

    reading.later.append(resolve)


def read_light(
    reading: Reading, element: Element, scope: Scope, childclass: str | None, frame: Placement
) -> cameras.Light | None:
    """A light, its pose seen from its link; None when it is left out."""
    a = reading.attributes(element, scope, childclass)
    log = reading.log
    kinds = {"spot": "spot", "directional": "directional", "point": "point", "image": "image"}
    kind = a.choice("type", kinds, None)
    if kind is None:
        kind = "directional" if a.flag("directional", False) else "spot"
    a.mark("directional")
    if kind == "image":
        log.left_out(element, "light from an image")
        return None
    position = a.reals("pos", 3, default=(0.0, 0.0, 0.0)) or (0.0, 0.0, 0.0)
    direction = a.reals("dir", 3, default=(0.0, 0.0, -1.0)) or (0.0, 0.0, -1.0)
    light = cameras.Light(
        name=reading.names.own(scope, element, "light"),
        position=position if frame is HERE else frame.apply(position),
        direction=direction if frame is HERE else turn(frame.rotation, direction),
        cast_shadows=a.flag("castshadow", True),
        active=a.flag("active", True),
        color=a.reals("diffuse", 3, default=(0.7, 0.7, 0.7)),
        ambient=a.reals("ambient", 3, default=(0.0, 0.0, 0.0)),
        specular=a.reals("specular", 3, default=(0.3, 0.3, 0.3)),
        attenuation=a.reals("attenuation", 3, default=(1.0, 0.0, 0.0)),
        type_=_light_type(a, kind),
    )
    mode = _read_mode(a)
    target = a.text("target")
    if mode.startswith("target"):
        if not target:
            log.kept(element, f"mode {mode} without a target: the light is fixed to its body")
        else:
            _aim_light(reading, scope, light, Reference(element, "target", ("link",), target))
    elif mode != "fixed":
        light.mode = cameras.TrackMode.track()
    reading.finish(a, _LIGHT_IGNORED)
    return light


def _aim_light(reading: Reading, scope: Scope, light: cameras.Light, target: Reference) -> None:
    def resolve() -> None:
        found = reading.names.resolve(scope, target)
        if found is not None:
            light.mode = cameras.TrackMode.target_body(found)

    reading.later.append(resolve)


def _light_type(a: Attributes, kind: str) -> cameras.LightType:
    """The kind of light; the brightness is given in candela, or left to the scene."""
    candela = a.real("intensity", 0.0)
    reach = max(0.0, a.real("range", 10.0))
    if kind == "directional":
        a.mark("cutoff", "softness", "exponent", "bulbradius")
        lux = {"illuminance": candela} if candela > 0.0 else {}
        return cameras.LightType.directional(cameras.DirectionalLightDesc(**lux))
    lumens = {"intensity": candela * LUMENS_PER_CANDELA} if candela > 0.0 else {}
    if kind == "point":
        a.mark("cutoff", "softness", "exponent")
        radius = max(0.0, a.real("bulbradius", 0.02))
        return cameras.LightType.point(cameras.PointLightDesc(range=reach, radius=radius, **lumens))
    outer = min(180.0, max(0.0, a.real("cutoff", 45.0)))
    soft = min(1.0, max(0.0, a.real("softness", 0.2)))
    inner = outer * (1.0 - soft)
    return cameras.LightType._of(
        "spot", cameras.SpotLightDesc(range=reach, outer_angle=outer, inner_angle=inner, **lumens)
    )
