# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Cameras and lights."""

from __future__ import annotations

from collections.abc import Sequence
from enum import auto
from typing import Any

from numpy.typing import NDArray

from worldline._src.scene.base import Choice, Struct, field, optional, part, value
from worldline._src.scene.containers import Nested, OptionalOf
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.kinds import NON_NEGATIVE, POSITIVE, Integer, Kind
from worldline._src.scene.texts import Name, Ref
from worldline._src.scene.variant import Variant, case
from worldline._src.scene.vectors import QUATERNION, VECTOR3, Array, Numbers, Vector

_PIXELS = Integer(minimum=1)
_DISTANCE = NON_NEGATIVE


class OrDefault(Kind[Sequence[float] | NDArray[Any] | None, Array]):
    """A vector, or None for its default; the constructor of `Camera` takes both."""

    def __init__(self, inner: Vector, default: tuple[float, ...]) -> None:
        self.inner = inner
        self.default = default
        self.allowed = f"{inner.allowed}, or None for {list(default)}"

    def __call__(self, value: Sequence[float] | NDArray[Any] | None) -> Array:
        return self.inner(self.default if value is None else value)

    def plain(self, value: Array, writer: Any) -> Any:
        return self.inner.plain(value, writer)

    def identical(self, a: Array, b: Array) -> bool:
        return self.inner.identical(a, b)

    def copy(self, value: Array, writer: Any) -> Array:
        return self.inner.copy(value, writer)

    def check(self, value: Any, probe: Any, path: str) -> None:
        self.inner.check(value, probe, path)

    def schema(self, definitions: dict[str, Any]) -> dict[str, Any]:
        return self.inner.schema(definitions)


class PositionTrack(SceneEnum):
    """How the position of a camera follows its parent."""

    FixedLocal, FixedWorld, Free = auto(), auto(), auto()


class RotationTrack(SceneEnum):
    """How the rotation of a camera follows its parent or a target."""

    FixedLocal, FixedWorld, Free, LookAtLink = auto(), auto(), auto(), auto()


class Camera(Struct, kw_only=False):
    """A camera on a link or on the world; it looks along its -z axis with y up."""

    name: str | None = optional(Name("camera"), "Name.")
    position: Array = field(
        default=None, converter=OrDefault(VECTOR3, (0.0, 0.0, 1.0)), doc="Place in the parent frame, m, (3,)."
    )
    orientation: Array = field(
        default=None,
        converter=OrDefault(QUATERNION, (0.0, 0.0, 0.0, 1.0)),
        doc="Rotation in the parent frame, xyzw, (4,).",
    )
    position_track: Choice[PositionTrack] = field(default=PositionTrack.Free, doc="Follows the parent how.")
    rotation_track: Choice[RotationTrack] = field(default=RotationTrack.Free, doc="Turns how.")
    track_target: str | None = optional(Ref("link"), "Link looked at, for LookAtLink.")
    orthographic: bool = field(default=False, doc="Parallel instead of perspective.")
    fovy: float = value(
        POSITIVE, 45.0, "Vertical field of view, degrees; height of the view in m when orthographic."
    )
    depth_only: bool = field(default=False, doc="Render depth and no colour.")
    znear: float = value(_DISTANCE, 0.0, "Near plane, m; 0 chooses it.")
    zfar: float = value(_DISTANCE, 0.0, "Far plane, m; 0 chooses it.")
    track_position_speed: float = value(NON_NEGATIVE, 0.0, "Speed limit while following, m/s; 0 is none.")
    track_rotation_speed: float = value(NON_NEGATIVE, 0.0, "Turning limit while following, rad/s; 0 is none.")
    resolution_x: int = value(_PIXELS, 1, "Width, pixels.")
    resolution_y: int = value(_PIXELS, 1, "Height, pixels.")
    focal_length: list[float] | None = field(
        default=None,
        converter=OptionalOf(Numbers(2)),
        doc="Focal length along both axes, m; replaces `fovy` when given.",
    )
    sensor_size: list[float] | None = field(
        default=None, converter=OptionalOf(Numbers(2)), doc="Size of the sensor, m."
    )
    principal_point: list[float] | None = field(
        default=None, converter=OptionalOf(Numbers(2)), doc="Optical axis on the sensor, from its centre, m."
    )


class FreeCamera(Struct):
    """Where the viewer's own camera starts."""

    azimuth: float = field(default=90.0, doc="About z, degrees; 0 looks along +x, 90 along +y.")
    elevation: float = field(default=-45.0, doc="Degrees; negative looks down.")
    fovy: float = value(POSITIVE, 45.0, "Vertical view, degrees.")
    orthographic: bool = field(default=False, doc="Parallel projection.")


class TrackMode(Variant):
    """How a light follows its parent link."""

    fixed = case(None, "Keeps its pose in the parent.")
    track = case(None, "Keeps its offset to the parent and its rotation, both in world axes.")
    target_body = case(Ref("link"), "Keeps its place in the parent and turns toward the named link.")


class DirectionalLightDesc(Struct):
    """A light from far away, such as the sun."""

    illuminance: float = value(NON_NEGATIVE, 100000.0, "Illuminance, lux.")


class PointLightDesc(Struct):
    """A light that shines in all directions."""

    intensity: float = value(NON_NEGATIVE, 4000.0, "Luminous power, lm.")
    radius: float = value(NON_NEGATIVE, 0.0, "Radius of the source, m.")
    range: float = value(NON_NEGATIVE, 20.0, "Reach, m.")
    shadow_map_near_z: float = value(NON_NEGATIVE, 0.1, "Nothing nearer than this casts shadows, m.")


class SpotLightDesc(Struct):
    """A light that shines in a cone."""

    inner_angle: float = value(NON_NEGATIVE, 45.0, "Full inside, degrees.")
    intensity: float = value(NON_NEGATIVE, 8000.0, "Luminous power, lm.")
    outer_angle: float = value(NON_NEGATIVE, 45.0, "Dark outside, degrees.")
    range: float = value(NON_NEGATIVE, 20.0, "Reach, m.")
    shadow_map_near_z: float = value(NON_NEGATIVE, 0.1, "Nothing nearer than this casts shadows, m.")


class LightType(Variant):
    """What kind of light it is."""

    directional = case(Nested(DirectionalLightDesc), "Parallel light along the direction.")
    spot = case(Nested(SpotLightDesc), "A cone about the direction.")
    point = case(Nested(PointLightDesc), "All directions.")


class Light(Struct):
    """A light on a link or on the world."""

    cast_shadows: bool = field(default=True, doc="Whether it casts shadows.")
    color: list[float] = field(default=(1.0, 1.0, 1.0), converter=Numbers(3), doc="RGB.")
    direction: Array = field(
        default=(0.0, 0.0, -1.0),
        converter=VECTOR3,
        doc="Direction in the parent frame, (3,); zero means (0, 0, -1).",
    )
    mode: TrackMode = part(TrackMode.fixed, "Follows the parent how.")
    name: str | None = optional(Name("light"), "Name.")
    position: Array = field(
        default=(0.0, 0.0, 0.0), converter=VECTOR3, doc="Place in the parent frame, m, (3,)."
    )
    type_: LightType = field(default_factory=lambda: LightType.spot(SpotLightDesc()), doc="Kind of light.")
    active: bool = field(default=True, doc="Whether it is switched on.")
    ambient: list[float] = field(default=(0.0, 0.0, 0.0), converter=Numbers(3), doc="RGB added everywhere.")
    specular: list[float] = field(default=(0.3, 0.3, 0.3), converter=Numbers(3), doc="RGB of highlights.")
    attenuation: list[float] = field(
        default=(1.0, 0.0, 0.0),
        converter=Numbers(3),
        doc="Constant, linear and quadratic fall-off with distance.",
    )
