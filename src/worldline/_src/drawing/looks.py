# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Colours and textures of surfaces, from the materials of a scene.

A colour of the shape wins over its material's. Bodies that say nothing get a colour of their own from a small
palette, and a ground that says nothing is a quiet checker, because a plain one shows no motion.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np

from worldline._src.errors import CapabilityError, SceneError, unreadable
from worldline._src.named_tuple import NamedTuple
from worldline._src.scene.limits import LIMITS
from worldline._src.scene.materials import BuildinAttr, Mark, Material, Texture, TextureType
from worldline._src.scene.world import World as Scene

PALETTE = (
    (0.27, 0.51, 0.71),
    (0.90, 0.57, 0.22),
    (0.38, 0.64, 0.42),
    (0.79, 0.38, 0.36),
    (0.55, 0.47, 0.70),
    (0.36, 0.65, 0.68),
    (0.82, 0.70, 0.34),
    (0.64, 0.46, 0.38),
)
"""RGB of bodies that have no colour, by tree."""
FIXED = (0.62, 0.64, 0.67)
"""RGB of what is fixed to the world and has no colour."""
GROUND = ((0.80, 0.83, 0.86), (0.70, 0.74, 0.78))
"""RGB of both squares of a ground that has no colour."""
_PIXELS = 128
_MOST_PIXELS = 4096 * 4096
_FORMATS = ("PNG", "JPEG", "BMP", "TGA", "GIF", "TIFF", "WEBP", "PPM", "DDS")
"""Images of textures; formats that hold programs, such as PostScript, are not among them."""


class Picture(NamedTuple):
    """An image laid on a surface."""

    name: str
    pixels: np.ndarray
    """RGB, (height, width, 3) bytes, the upper row first."""


class Look(NamedTuple):
    """What a surface looks like."""

    rgba: tuple[float, float, float, float]
    """Times the texture, 0 to 1."""
    roughness: float = 0.6
    """0 for polished to 1 for dull."""
    metallic: float = 0.0
    specular: float = 0.3
    """Strength of highlights."""
    emission: float = 0.0
    """Share of the colour that shines by itself."""
    texture: Picture | None = None
    repeat: tuple[float, float] = (1.0, 1.0)
    """How often the texture fits: over the shape, or in a metre where `per_metre`."""
    per_metre: bool = False


def palette(tree: int, depth: int = 0) -> tuple[float, float, float, float]:
    """The colour of a body that has none: by its tree, -1 for the world, lighter on every second level."""
    if tree < 0:
        return (*FIXED, 1.0)
    r, g, b = PALETTE[tree % len(PALETTE)]
    share = 0.35 * (depth % 2)
    return r + share * (1.0 - r), g + share * (1.0 - g), b + share * (1.0 - b), 1.0


def ground() -> Look:
    """A checker of squares of 1 m."""
    first, second = GROUND
    pixels = _checker(np.array(first), np.array(second), _PIXELS, _PIXELS)
    return Look(
        (1.0, 1.0, 1.0, 1.0),
        0.9,
        specular=0.0,
        texture=Picture("ground", _bytes(pixels)),
        repeat=(0.5, 0.5),
        per_metre=True,
    )


class Looks:
    """The looks of one scene; images are read once."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._textures: dict[str, Picture | None] = {}

    def of(self, rgba: np.ndarray, material: str | None, tree: int, depth: int) -> Look:
        """The look of a shape: its colour (not a number for none) and material, else by its place."""
        found = self._scene.assets.materials.get(material) if material is not None else None
        own = None
        if not np.isnan(rgba).any():
            r, g, b, a = rgba.clip(0.0, 1.0).tolist()
            own = r, g, b, a
        if found is None:
            return Look(own or palette(tree, depth))
        return self._of_material(found, own)

    def _of_material(self, material: Material, own: tuple[float, float, float, float] | None) -> Look:
        texture = self.texture(material.texture_name)
        r, g, b, a = own or material.color
        emitted = max(material.emissive[:3], default=0.0)
        return Look(
            (r, g, b, a),
            roughness=float(np.clip(material.roughness, 0.0, 1.0)),
            metallic=float(np.clip(material.metallic, 0.0, 1.0)),
            specular=float(np.clip(max(material.specular_color[:3]), 0.0, 1.0)),
            emission=float(np.clip(emitted, 0.0, 1.0)),
            texture=texture,
            repeat=(material.tex_repeat[0], material.tex_repeat[1]),
            per_metre=material.tex_uniform,
        )

    def texture(self, name: str | None) -> Picture | None:
        """The image of a texture that lies on surfaces; None for others."""
        if name is None:
            return None
        if name not in self._textures:
            found = self._scene.assets.textures.get(name)
            self._textures[name] = None if found is None else _picture(name, found, self._scene)
        return self._textures[name]


def average(texture: Picture) -> tuple[float, float, float]:
    """The mean colour of a texture, for shapes it cannot be laid on."""
    r, g, b = (texture.pixels.reshape(-1, 3).mean(axis=0) / 255.0).tolist()
    return r, g, b


def _picture(name: str, texture: Texture, scene: Scene) -> Picture | None:
    if texture.type_ not in (TextureType.D2, TextureType.Skybox):
        return None
    kind, value = texture.source.variant, texture.source.value
    if kind == "file":
        pixels = _read(value, scene)
    elif kind in ("checker", "gradient", "flat"):
        pixels = _bytes(_generated(kind, value))
    else:
        return None
    if texture.flip_horizontal:
        pixels = pixels[:, ::-1]
    if texture.flip_vertical:
        pixels = pixels[::-1]
    return Picture(name, np.ascontiguousarray(pixels))


def _generated(kind: str, made: BuildinAttr) -> np.ndarray:
    """Numbers 0 to 1, (height, width, 3)."""
    width = int(np.clip(made.width or _PIXELS, 2, 1024))
    height = int(np.clip(made.height or width, 2, 1024))
    first, second = np.array(made.rgb1), np.array(made.rgb2)
    if kind == "checker":
        pixels = _checker(first, second, height, width)
    elif kind == "gradient":
        share = np.linspace(0.0, 1.0, height)[:, None, None]
        pixels = np.broadcast_to((1.0 - share) * first + share * second, (height, width, 3)).copy()
    else:
        pixels = np.broadcast_to(first, (height, width, 3)).copy()
    if made.mark is Mark.Edge:
        pixels[[0, -1]] = pixels[:, [0, -1]] = made.markrgb
    elif made.mark is Mark.Cross:
        pixels[height // 2] = pixels[:, width // 2] = made.markrgb
    elif made.mark is Mark.Random:
        dots = np.random.default_rng(0).random((height, width)) < made.random
        pixels[dots] = made.markrgb
    return pixels


def _checker(first: np.ndarray, second: np.ndarray, height: int, width: int) -> np.ndarray:
    """Two by two squares."""
    odd = (np.arange(height)[:, None] >= height // 2) ^ (np.arange(width)[None, :] >= width // 2)
    return np.where(odd[:, :, None], second, first)


def _bytes(pixels: np.ndarray) -> np.ndarray:
    return np.round(255.0 * pixels.clip(0.0, 1.0)).astype(np.uint8)


def _read(path: str, scene: Scene) -> np.ndarray:
    base = Path(scene.source_path).parent if scene.source_path is not None else Path()
    file = base / path
    try:
        from PIL import Image, UnidentifiedImageError  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise CapabilityError(
            f"{file}: textures from files need the package 'pillow', which is not installed; "
            "pip install 'worldline[render]' or 'worldline[viewer]'"
        ) from None
    try:
        if file.stat().st_size > LIMITS.file_bytes:
            raise SceneError(f"{file}: given {file.stat().st_size} bytes; allowed: {LIMITS.file_bytes}")
        content = file.read_bytes()
    except OSError as error:
        if isinstance(error, SceneError):
            raise
        raise unreadable(file, error) from None
    try:
        # remarks on odd tags are for those who write images
        quiet = warnings.catch_warnings(action="ignore")
        with quiet, Image.open(io.BytesIO(content), formats=_FORMATS) as image:
            if image.width * image.height > _MOST_PIXELS:
                raise SceneError(
                    f"{file}: given {image.width} x {image.height} pixels; allowed: {_MOST_PIXELS}"
                )
            if image.mode.startswith("I"):
                # grey of 16 bits, which a conversion would clip
                grey = np.asarray(image).astype(np.int64).clip(0, 65535) >> 8
                return np.repeat(grey.astype(np.uint8)[:, :, None], 3, axis=2)
            return np.asarray(image.convert("RGB"))
    except SceneError:
        raise
    except UnidentifiedImageError:
        raise SceneError(f"{file}: not a readable image; allowed: {', '.join(_FORMATS)}") from None
    except Exception as error:
        # damaged images make the readers of their formats fail in every way there is
        text = str(error).split("\n")[0][:200] or type(error).__name__
        raise SceneError(f"{file}: not a readable image: {text}") from None
