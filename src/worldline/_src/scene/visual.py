# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Visual options of a scene: ambient light, fog, colours, rendering quality, statistics."""

from __future__ import annotations

from enum import auto

from worldline._src.scene.base import Choice, Parts, Struct, field, optional, part, parts, value
from worldline._src.scene.containers import OptionalOf
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.kinds import COUNT, NON_NEGATIVE, REAL
from worldline._src.scene.texts import Ref
from worldline._src.scene.vectors import Numbers

_RGB = Numbers(3)
_RGBA = Numbers(4)


class AmbientLight(Struct):
    """Light from everywhere."""

    brightness: float = value(NON_NEGATIVE, 2000.0, "Brightness, cd/m^2.")
    color: list[float] = field(default=(1.0, 1.0, 1.0), converter=_RGB, doc="RGB.")


class HeadLight(Struct):
    """The light that goes with every camera."""

    color: list[float] = field(default=(1.0, 1.0, 1.0), converter=_RGB, doc="RGB.")
    luminous_power: float = value(NON_NEGATIVE, 1000.0, "Power, lm.")


class Probe(Struct):
    """A box within which reflections come from a texture."""

    position: list[float] = field(
        default=(0.0, 0.0, 0.0), converter=Numbers(3), doc="Centre in the world, m."
    )
    scale: list[float] = field(default=(1.0, 1.0, 1.0), converter=Numbers(3), doc="Extents, m.")
    texture: str | None = optional(Ref("texture"), "Texture reflected.")


class SsgiSettings(Struct):
    """Indirect light computed from what is on the screen."""

    active: bool = field(default=False, doc="Whether it is on.")
    gi_denoise_offset: int = value(COUNT, 3, "Smoothing of light, pixels.")
    intensity: float = value(NON_NEGATIVE, 1.0, "Strength.")
    r_denoise_offset: int = value(COUNT, 3, "Smoothing of mirrors, pixels.")
    r_ray_count: int = value(COUNT, 64, "Rays of a reflection.")
    ray_count: int = value(COUNT, 2, "Rays of diffuse light.")
    resolution_scale: int = value(COUNT, 2, "Pixels to one sample.")
    step_count: int = value(COUNT, 8, "Steps along a ray.")
    thickness: float = value(NON_NEGATIVE, 0.25, "Assumed depth, m.")


class ToneMappingMethod(SceneEnum):
    """How bright colours are brought into range."""

    Aces, None_ = auto(), auto()


class ToneMapping(Struct):
    """How bright colours are brought into range."""

    method: Choice[ToneMappingMethod] = field(default=ToneMappingMethod.Aces, doc="Method.")


class Visual(Struct):
    """Options of rendering."""

    ambient_light: AmbientLight = part(AmbientLight, "Ambient light.")
    bv_color: list[float] = field(
        default=(0.0, 1.0, 0.0, 0.5), converter=_RGBA, doc="RGBA of bounding volumes."
    )
    contact_force_color: list[float] = field(
        default=(0.7, 0.9, 0.9, 1.0), converter=_RGBA, doc="RGBA of contact forces."
    )
    disable_near_clip: bool = field(default=False, doc="Near plane at 0.01 m whatever the size of the scene.")
    env_map_intensity: float = value(NON_NEGATIVE, 1000.0, "Brightness of the surroundings.")
    fog_color: list[float] = field(default=(0.75, 0.75, 0.75, 1.0), converter=_RGBA, doc="RGBA of fog.")
    fog_end: float = value(NON_NEGATIVE, 5000.0, "Fog is full here, m.")
    fog_start: float = value(NON_NEGATIVE, 5000.0, "Fog begins here, m.")
    haze: list[float] | None = field(default=None, converter=OptionalOf(_RGBA), doc="RGBA at the horizon.")
    head_light: HeadLight = part(HeadLight, "Light of the camera.")
    joint_color: list[float] = field(default=(0.2, 0.6, 0.8, 1.0), converter=_RGBA, doc="RGBA of joints.")
    no_frustum_cull: bool = field(default=False, doc="Draw what is out of view.")
    oit: bool = field(default=False, doc="Transparency whatever the order.")
    probes: Parts[Probe] = parts(Probe, "Reflection probes.")
    shadow_size: int = value(COUNT, 4096, "Size of shadow maps, pixels.")
    ssao: bool = field(default=False, doc="Ambient occlusion.")
    ssgi: SsgiSettings = part(SsgiSettings, "Indirect light.")
    tonemapping: ToneMapping = part(ToneMapping, "Tone mapping.")
    z_far: float = value(NON_NEGATIVE, 50.0, "Far plane, m.")
    z_near: float = value(NON_NEGATIVE, 0.01, "Near plane, m.")


class SceneStatistic(Struct):
    """The size of the scene, for viewers."""

    center: list[float] | None = field(
        default=None, converter=OptionalOf(Numbers(3)), doc="Centre of its box, m."
    )
    extent: list[float] | None = field(
        default=None, converter=OptionalOf(Numbers(3)), doc="Half the sides of its box, m."
    )
    mean_size: float | None = optional(REAL, "Typical size of a link, m.")
