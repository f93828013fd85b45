# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""How a scene is shown: lights that belong to no place, fog, colours, and what was measured of it."""

from __future__ import annotations

from enum import auto

from worldline._src.scene.base import Choice, Parts, Struct, field
from worldline._src.scene.containers import OptionalOf
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.kinds import COUNT, NON_NEGATIVE, REAL
from worldline._src.scene.texts import Ref
from worldline._src.scene.vectors import Numbers

_RGB = Numbers(3)
_RGBA = Numbers(4)


class AmbientLight(Struct):
    """Light from everywhere."""

    brightness: float = field(default=2000.0, converter=NON_NEGATIVE, doc="Brightness, cd/m^2.")
    color: list[float] = field(default=(1.0, 1.0, 1.0), converter=_RGB, doc="RGB.")


class HeadLight(Struct):
    """The light that goes with every camera."""

    color: list[float] = field(default=(1.0, 1.0, 1.0), converter=_RGB, doc="RGB.")
    luminous_power: float = field(default=1000.0, converter=NON_NEGATIVE, doc="Power, lm.")


class Probe(Struct):
    """A box within which reflections come from a texture."""

    position: list[float] = field(
        default=(0.0, 0.0, 0.0), converter=Numbers(3), doc="Centre in the world, m."
    )
    scale: list[float] = field(default=(1.0, 1.0, 1.0), converter=Numbers(3), doc="Extents, m.")
    texture: str | None = field(default=None, converter=OptionalOf(Ref("texture")), doc="Texture reflected.")


class SsgiSettings(Struct):
    """Indirect light computed from what is on the screen."""

    active: bool = field(default=False, doc="Whether it is on.")
    gi_denoise_offset: int = field(default=3, converter=COUNT, doc="Smoothing of light, pixels.")
    intensity: float = field(default=1.0, converter=NON_NEGATIVE, doc="Strength.")
    r_denoise_offset: int = field(default=3, converter=COUNT, doc="Smoothing of mirrors, pixels.")
    r_ray_count: int = field(default=64, converter=COUNT, doc="Rays of a reflection.")
    ray_count: int = field(default=2, converter=COUNT, doc="Rays of diffuse light.")
    resolution_scale: int = field(default=2, converter=COUNT, doc="Pixels to one sample.")
    step_count: int = field(default=8, converter=COUNT, doc="Steps along a ray.")
    thickness: float = field(default=0.25, converter=NON_NEGATIVE, doc="Assumed depth, m.")


class ToneMappingMethod(SceneEnum):
    """How bright colours are brought into range."""

    Aces, None_ = auto(), auto()


class ToneMapping(Struct):
    """How bright colours are brought into range."""

    method: Choice[ToneMappingMethod] = field(default=ToneMappingMethod.Aces, doc="Method.")


class Visual(Struct):
    """Options of rendering."""

    ambient_light: AmbientLight = field(default_factory=AmbientLight, doc="Ambient light.")
    bv_color: list[float] = field(
        default=(0.0, 1.0, 0.0, 0.5), converter=_RGBA, doc="RGBA of bounding volumes."
    )
    contact_force_color: list[float] = field(
        default=(0.7, 0.9, 0.9, 1.0), converter=_RGBA, doc="RGBA of contact forces."
    )
    disable_near_clip: bool = field(default=False, doc="Near plane at 0.01 m whatever the size of the scene.")
    env_map_intensity: float = field(
        default=1000.0, converter=NON_NEGATIVE, doc="Brightness of the surroundings."
    )
    fog_color: list[float] = field(default=(0.75, 0.75, 0.75, 1.0), converter=_RGBA, doc="RGBA of fog.")
    fog_end: float = field(default=5000.0, converter=NON_NEGATIVE, doc="Fog is full here, m.")
    fog_start: float = field(default=5000.0, converter=NON_NEGATIVE, doc="Fog begins here, m.")
    haze: list[float] | None = field(default=None, converter=OptionalOf(_RGBA), doc="RGBA at the horizon.")
    head_light: HeadLight = field(default_factory=HeadLight, doc="Light of the camera.")
    joint_color: list[float] = field(default=(0.2, 0.6, 0.8, 1.0), converter=_RGBA, doc="RGBA of joints.")
    no_frustum_cull: bool = field(default=False, doc="Draw what is out of view.")
    oit: bool = field(default=False, doc="Transparency whatever the order.")
    probes: Parts[Probe] = field(default_factory=list[Probe], doc="Reflection probes.")
    shadow_size: int = field(default=4096, converter=COUNT, doc="Size of shadow maps, pixels.")
    ssao: bool = field(default=False, doc="Ambient occlusion.")
    ssgi: SsgiSettings = field(default_factory=SsgiSettings, doc="Indirect light.")
    tonemapping: ToneMapping = field(default_factory=ToneMapping, doc="Tone mapping.")
    z_far: float = field(default=50.0, converter=NON_NEGATIVE, doc="Far plane, m.")
    z_near: float = field(default=0.01, converter=NON_NEGATIVE, doc="Near plane, m.")


class SceneStatistic(Struct):
    """The size of the scene, for viewers."""

    center: list[float] | None = field(
        default=None, converter=OptionalOf(Numbers(3)), doc="Centre of its box, m."
    )
    extent: list[float] | None = field(
        default=None, converter=OptionalOf(Numbers(3)), doc="Half the sides of its box, m."
    )
    mean_size: float | None = field(
        default=None, converter=OptionalOf(REAL), doc="Typical size of a link, m."
    )
