# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Textures and materials."""

from __future__ import annotations

from typing import Final

from worldline._src.scene import materials
from worldline._src.scene.formats.markup import child, number
from worldline._src.scene.formats.mjcf.writing import Words, Writing, preimage

_MARKS: Final = {
    materials.Mark.None_: "none",
    materials.Mark.Edge: "edge",
    materials.Mark.Cross: "cross",
    materials.Mark.Random: "random",
}
_LAYOUT: Final = {
    materials.SkyboxLayout.Ignore: ".",
    materials.SkyboxLayout.Right: "R",
    materials.SkyboxLayout.Left: "L",
    materials.SkyboxLayout.Up: "U",
    materials.SkyboxLayout.Down: "D",
    materials.SkyboxLayout.Front: "F",
    materials.SkyboxLayout.Back: "B",
}
_ROLES: Final = {
    materials.MaterialRole.Rgb: "rgb",
    materials.MaterialRole.Rgba: "rgba",
    materials.MaterialRole.Normal: "normal",
    materials.MaterialRole.Emissive: "emissive",
    materials.MaterialRole.Orm: "orm",
}
_TEXTURE_SAID: Final = frozenset(
    (
        *("name", "type_", "color_space", "flip_horizontal", "flip_vertical", "source"),
        *("grid_size", "grid_layout"),
    )
)
_SAID: Final = frozenset(
    (
        *("name", "color", "alpha_mode", "emissive", "specular_color", "reflectance", "roughness"),
        *("metallic", "tex_repeat", "tex_uniform", "texture_name", "layers"),
    )
)


def write_textures(writing: Writing) -> None:
    """All textures; the sky of the scene comes before any other sky."""
    assets = writing.world.assets
    skies = [
        name for name, texture in assets.textures.items() if texture.type_ is materials.TextureType.Skybox
    ]
    if assets.skybox is not None and assets.skybox not in skies:
        writing.changed("$.assets.skybox", "only a texture that is made for it is the sky")
    elif assets.skybox is None and skies:
        writing.changed("$.assets.skybox", f"the texture {skies[0]!r:.80} becomes the sky")
    elif skies and skies[0] != assets.skybox:
        writing.changed("$.assets.skybox", f"the texture {skies[0]!r:.80} comes first and becomes the sky")
    for name, texture in assets.textures.items():
        _write_texture(writing, name, texture)


def _write_texture(writing: Writing, name: str, texture: materials.Texture) -> None:
    path = f"$.assets.textures[{name!r:.80}]"
    kind, value = texture.source.variant, texture.source.value
    if kind == "dynamic":
        writing.lost(path, "a file has no textures that are drawn while simulating")
        writing.gone.add(("texture", name))
        return
    if texture.name != name:
        writing.lost(f"{path}.name", "a texture has the name of its asset")
    words = Words(name=name)
    words["type"] = "2d"
    if texture.type_ is materials.TextureType.Skybox:
        words["type"] = "skybox"
    elif kind == "cube":
        words["type"] = "cube"
    if texture.type_ not in (materials.TextureType.Skybox, materials.TextureType.D2):
        writing.changed(f"{path}.type_", "it is written as a texture that lies on a surface")
    if texture.color_space is materials.ColorSpace.Linear:
        words["colorspace"] = "linear"
    if kind == "file":
        words["file"] = writing.asset_file(value)
    elif kind == "cube":
        for side, file in value.items():
            if file is not None:
                words[f"file{side}"] = writing.asset_file(file)
        if not any(value.values()):
            writing.lost(path, "a cube without any image")
            writing.gone.add(("texture", name))
            return
    else:
        words["builtin"] = kind
        words.reals("rgb1", value.rgb1, (0.8, 0.8, 0.8))
        words.reals("rgb2", value.rgb2, (0.5, 0.5, 0.5))
        words.word("mark", value.mark, _MARKS, materials.Mark.None_)
        words.reals("markrgb", value.markrgb, (0.0, 0.0, 0.0))
        words.real("random", value.random, 0.01)
        for side in ("width", "height"):
            pixels = getattr(value, side)
            if not pixels >= 1.0 or pixels != int(pixels):
                writing.changed(
                    f"{path}.source.{kind.capitalize()}.{side}", "a drawn texture has whole pixels"
                )
            words.whole(side, max(1, round(pixels)))
    if texture.grid_size is not None and texture.grid_layout is not None:
        _write_grid(writing, words, texture, path)
    elif texture.grid_size is not None or texture.grid_layout is not None:
        writing.lost(f"{path}.grid_size", "a grid needs both a size and a layout")
    words.flag("hflip", texture.flip_horizontal, False)
    words.flag("vflip", texture.flip_vertical, False)
    writing.others(texture, path, _TEXTURE_SAID)
    child(writing.section("asset"), "texture", words)


def _write_grid(writing: Writing, words: Words, texture: materials.Texture, path: str) -> None:
    rows, columns = texture.grid_size or (1, 1)
    cells = texture.grid_layout or []
    if not (1 < rows * columns <= 12 and len(cells) == rows * columns and set(cells) <= set(_LAYOUT)):
        writing.lost(f"{path}.grid_layout", "a grid has up to 12 cells, each with a face or ignored")
        return
    words["gridsize"] = f"{rows} {columns}"
    words["gridlayout"] = "".join(_LAYOUT[cell] for cell in cells)


def write_materials(writing: Writing) -> None:
    """All materials."""
    for name, material in writing.world.assets.materials.items():
        _write_material(writing, name, material)


def _write_material(writing: Writing, name: str, material: materials.Material) -> None:
    path = f"$.assets.materials[{name!r:.80}]"
    words = Words(name=name)
    if material.name != name:
        writing.lost(f"{path}.name", "a material has the name of its asset")
    layers = _layers(writing, material, path)
    if not layers:
        words.text("texture", _texture(writing, material.texture_name, f"{path}.texture_name"))
    words.reals("texrepeat", material.tex_repeat, (1.0, 1.0))
    words.flag("texuniform", material.tex_uniform, False)
    _write_emission(writing, words, material, path)
    specular = material.specular_color
    if specular[1:] != [specular[0], specular[0], 1.0]:
        writing.changed(f"{path}.specular_color", "highlights are grey")
    words.real("specular", specular[0], 0.5)
    if 0.0 <= material.roughness <= 1.0:
        dull = preimage(lambda s: 1.0 - s, 1.0 - material.roughness, material.roughness)
        words.real("shininess", dull, 0.5)
    else:
        writing.changed(f"{path}.roughness", "it is between 0 and 1")
        words.real("shininess", 0.0 if material.roughness > 1.0 else 1.0)
    words.real("reflectance", material.reflectance, 0.0)
    if material.metallic < 0.0:
        writing.changed(f"{path}.metallic", "it is not below 0")
    elif material.metallic:
        words.real("metallic", material.metallic)
    words.reals("rgba", material.color, (1.0, 1.0, 1.0, 1.0))
    if material.alpha_mode.variant != ("blend" if material.color[3] < 1.0 else "opaque"):
        writing.changed(f"{path}.alpha_mode", "colours mix where they are not opaque")
    writing.others(material, path, _SAID)
    element = child(writing.section("asset"), "material", words)
    for role, texture in layers:
        child(element, "layer", {"role": role, "texture": texture})


def _layers(writing: Writing, material: materials.Material, path: str) -> list[tuple[str, str]]:
    """Further textures; with these the main one is a layer too."""
    found: list[tuple[str, str]] = []
    for index, layer in enumerate(material.layers):
        here = f"{path}.layers[{index}]"
        role = _ROLES.get(layer.role)
        texture = _texture(writing, layer.texture_name, f"{here}.texture_name")
        if role is None or texture is None or any(role == other for other, _ in found):
            writing.lost(here, "it has a role that the format does not have or that is taken, or no texture")
        elif role == "rgb":
            writing.lost(here, "the main texture has the role already")
        else:
            found.append((role, texture))
    main = _texture(writing, material.texture_name, f"{path}.texture_name")
    return [("rgb", main), *found] if found and main is not None else found


def _texture(writing: Writing, name: str | None, path: str) -> str | None:
    if name is not None and ("texture", name) in writing.gone:
        writing.lost(path, "the texture is left out")
        return None
    return name


def _write_emission(writing: Writing, words: Words, material: materials.Material, path: str) -> None:
    """Own light, which in the format is the surface's colour times a number."""
    light = material.emissive
    if not any(light):
        return
    index = max(range(3), key=lambda k: material.color[k])
    base = material.color[index]
    share = preimage(lambda e: base * e, light[index] / base, light[index]) if base else 0.0
    if light != [material.color[k] * share for k in range(3)] + [1.0 if share else 0.0]:
        writing.changed(f"{path}.emissive", "own light has the colour of the surface")
    if share:
        words["emission"] = number(share)
