# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Textures and materials: how surfaces look."""

from __future__ import annotations

from enum import auto
from typing import TYPE_CHECKING, TypedDict

from worldline._src.keywords import shared_keywords
from worldline._src.scene.base import Choice, Parts, Struct, field, optional, part, parts, value
from worldline._src.scene.containers import ListOf, Nested, OptionalOf
from worldline._src.scene.enums import SceneEnum
from worldline._src.scene.kinds import COUNT, INTEGER, NON_NEGATIVE, POSITIVE, REAL, Integer
from worldline._src.scene.texts import FILE_PATH, LABEL, Enumeration, Ref
from worldline._src.scene.variant import Named, Variant, case
from worldline._src.scene.vectors import Numbers

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ColorSpace(SceneEnum):
    """What the numbers of a texture mean."""

    Linear, Srgb = auto(), auto()


class Mark(SceneEnum):
    """What is drawn on a generated texture."""

    Cross, Edge, None_, Random = auto(), auto(), auto(), auto()


class MaterialRole(SceneEnum):
    """What a texture layer is for."""

    DetailNormal, Emissive, Normal, Orm, Rgb, Rgba = auto(), auto(), auto(), auto(), auto(), auto()


class SkyboxLayout(SceneEnum):
    """Which face of a sky box a cell of its image shows."""

    Back, Down, Front, Ignore = auto(), auto(), auto(), auto()
    Left, Right, Unsupported, Up = auto(), auto(), auto(), auto()


class TexcoordOrigin(SceneEnum):
    """Which corner of a texture is (0, 0)."""

    BottomLeft, TopLeft = auto(), auto()


class TextureType(SceneEnum):
    """What a texture is laid on."""

    D2, EnvDiff, EnvSpec, Probe, Skybox = auto(), auto(), auto(), auto(), auto()


class BuildinAttr(Struct):
    """A generated texture: a gradient, a checker, or one colour."""

    height: float = value(NON_NEGATIVE, 0.0, "Height, pixels.")
    mark: Choice[Mark] = field(default=Mark.None_, doc="Marks on it.")
    markrgb: list[float] = field(default=(0.0, 0.0, 0.0), converter=Numbers(3), doc="RGB of the marks.")
    rgb1: list[float] = field(default=(0.0, 0.0, 0.0), converter=Numbers(3), doc="First RGB.")
    rgb2: list[float] = field(default=(0.0, 0.0, 0.0), converter=Numbers(3), doc="Second RGB.")
    width: float = value(NON_NEGATIVE, 0.0, "Width, pixels.")
    random: float = value(NON_NEGATIVE, 0.01, "Share of pixels with a random mark.")


class DynamicTextureDesc(Struct):
    """A texture whose pixels are set while simulating."""

    channels: int = value(Integer(minimum=3, maximum=4), 3, "RGB or RGBA.")
    height: int = value(COUNT, 0, "Height, pixels.")
    per_instance: bool = field(default=False, doc="Each world has its own.")
    width: int = value(COUNT, 0, "Width, pixels.")


class CubeFaces(TypedDict, total=False):
    """An image file for each face of a cube."""

    right: str | None
    left: str | None
    up: str | None
    down: str | None
    front: str | None
    back: str | None


_FACES = tuple(CubeFaces.__annotations__)


class TextureSource(Variant):
    """Where the pixels of a texture come from."""

    file = case(FILE_PATH, "An image file.")
    gradient = case(Nested(BuildinAttr), "From the first colour to the second.")
    checker = case(Nested(BuildinAttr), "Squares of both colours.")
    flat = case(Nested(BuildinAttr), "The first colour.")
    dynamic = case(Nested(DynamicTextureDesc), "Pixels that are set while simulating.")

    @case(Named(_FACES, **dict.fromkeys(_FACES, FILE_PATH)))
    @staticmethod
    @shared_keywords(CubeFaces, **dict.fromkeys(_FACES))
    def cube(**faces: Unpack[CubeFaces]) -> TextureSource:
        """An image file for each face of a cube."""
        return TextureSource._make("cube", **faces)


class Texture(Struct):
    """An image, and what it is laid on."""

    color_space: Choice[ColorSpace] = field(default=ColorSpace.Srgb, doc="Colour space.")
    gen_mipmaps: bool = field(default=False, doc="Make smaller copies.")
    grid_layout: list[SkyboxLayout] | None = field(
        default=None,
        converter=OptionalOf(ListOf(Enumeration(SkyboxLayout))),
        doc="Which face each cell of the image shows.",
    )
    grid_size: list[int] | None = field(
        default=None, converter=OptionalOf(ListOf(COUNT, length=2)), doc="Rows and columns."
    )
    name: str | None = optional(LABEL, "Name.")
    source: TextureSource = field(
        default_factory=lambda: TextureSource.flat(BuildinAttr()), doc="Where the pixels come from."
    )
    type_: Choice[TextureType] = field(default=TextureType.D2, doc="What it is laid on.")
    flip_horizontal: bool = field(default=False, doc="Mirror left and right.")
    flip_vertical: bool = field(default=False, doc="Mirror up and down.")


class AlphaMode(Variant):
    """What transparency means for a material."""

    opaque = case(None, "Nothing.")
    mask = case(REAL, "Pixels below the threshold are not drawn.")
    blend = case(None, "Colours mix with what is behind.")
    multiply = case(None, "Colours multiply what is behind.")


class Layer(Struct):
    """A texture and what it is for."""

    role: Choice[MaterialRole] = field(default=MaterialRole.Rgb, doc="What it is for.")
    texture_name: str | None = optional(Ref("texture"), "Texture.")


class Material(Struct):
    """How a surface looks."""

    alpha_mode: AlphaMode = part(AlphaMode.opaque, "Transparency.")
    both_side: bool = field(default=False, doc="Show back faces.")
    cast_shadow: bool = field(default=True, doc="Casts shadows.")
    color: list[float] = field(default=(0.5, 0.5, 0.5, 1.0), converter=Numbers(4), doc="RGBA.")
    depth_bias: int = value(INTEGER, 0, "Moves it in front, against flicker.")
    detail_repeat: list[float] = field(
        default=(1.0, 1.0), converter=Numbers(2), doc="Repeats of detail textures."
    )
    detail_strength: float = field(default=1.0, doc="Strength of detail.")
    emissive: list[float] = field(
        default=(0.0, 0.0, 0.0, 0.0), converter=Numbers(4), doc="Own light, linear RGBA."
    )
    emissive_intensity: float = value(NON_NEGATIVE, 1000.0, "Its strength.")
    flip_tangent_u: bool = field(default=False, doc="Turn u of normal maps.")
    flip_tangent_v: bool = field(default=False, doc="Turn v of normal maps.")
    ior: float = value(POSITIVE, 1.0, "Index of refraction.")
    layers: Parts[Layer] = parts(Layer, "More textures.")
    metallic: float = field(default=0.5, doc="0 for plastic to 1 for metal.")
    name: str = value(LABEL, "", "Name.")
    reflectance: float = field(default=0.0, doc="Strength of mirroring.")
    roughness: float = field(default=0.5, doc="0 for polished to 1 for dull.")
    specular_color: list[float] = field(
        default=(1.0, 1.0, 1.0, 1.0), converter=Numbers(4), doc="RGBA of highlights."
    )
    tex_origin: Choice[TexcoordOrigin] = field(default=TexcoordOrigin.TopLeft, doc="Corner (0, 0).")
    tex_repeat: list[float] = field(default=(1.0, 1.0), converter=Numbers(2), doc="Repeats.")
    tex_translation: list[float] = field(default=(0.0, 0.0), converter=Numbers(2), doc="Offset.")
    tex_uniform: bool = field(default=False, doc="Same scale on every size.")
    texture_name: str | None = optional(Ref("texture"), "Main texture.")
    transmisive: float = field(default=0.0, doc="Share of light let through.")
