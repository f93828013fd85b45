# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Textures and materials.

The format describes surfaces for the lighting of old graphics cards, a scene for that of new ones. Colours,
textures and mirrors carry over; the sharpness of highlights becomes roughness, which is not the same.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from worldline._src.scene import materials
from worldline._src.scene.formats.mjcf.context import Reading
from worldline._src.scene.formats.mjcf.scopes import Scope
from worldline._src.scene.formats.xml import Attributes, Element

_SIDES: Final = ("right", "left", "up", "down", "front", "back")
_FILES: Final = frozenset(f"file{side}" for side in _SIDES)
_LAYOUT: Final = {
    ".": materials.SkyboxLayout.Ignore,
    "R": materials.SkyboxLayout.Right,
    "L": materials.SkyboxLayout.Left,
    "U": materials.SkyboxLayout.Up,
    "D": materials.SkyboxLayout.Down,
    "F": materials.SkyboxLayout.Front,
    "B": materials.SkyboxLayout.Back,
}
_MARKS: Final = {
    "none": materials.Mark.None_,
    "edge": materials.Mark.Edge,
    "cross": materials.Mark.Cross,
    "random": materials.Mark.Random,
}
_ROLES: Final = {
    "rgb": materials.MaterialRole.Rgb,
    "rgba": materials.MaterialRole.Rgba,
    "normal": materials.MaterialRole.Normal,
    "emissive": materials.MaterialRole.Emissive,
    "orm": materials.MaterialRole.Orm,
    "occlusion": None,
    "roughness": None,
    "metallic": None,
    "opacity": None,
}
_IGNORED: Final = {
    "content_type": "the format of an image follows from its content",
    "nchannel": "channels are those of the image",
}


def read_texture(reading: Reading, element: Element, scope: Scope) -> None:
    """Adds a texture to the assets of the scene; the first sky becomes that of the scene."""
    a = reading.attributes(element, scope)
    kind = a.choice("type", {"2d": "2d", "cube": "cube", "skybox": "skybox"}, "cube")
    name = element.get("name") or PurePosixPath((element.get("file") or "").replace("\\", "/")).stem
    if not name and kind == "skybox":
        name = _free_name(reading, scope, "skybox")
    if not name:
        reading.log.problem(element, "attribute 'name' is required: there is no file to take a name from")
        return
    defined = reading.names.define("texture", scope.asset(name), element, scope)
    spaces = {"auto": None, "linear": materials.ColorSpace.Linear, "sRGB": materials.ColorSpace.Srgb}
    texture = materials.Texture(
        name=defined,
        type_=materials.TextureType.Skybox if kind == "skybox" else materials.TextureType.D2,
        # without a word on it, images mean what screens show
        color_space=a.choice("colorspace", spaces, None) or materials.ColorSpace.Srgb,
        flip_horizontal=a.flag("hflip", False),
        flip_vertical=a.flag("vflip", False),
    )
    source = _read_source(reading, a, scope)
    if source is not None:
        texture.source = source
    _read_grid(a, texture)
    if kind == "cube" and texture.source.variant != "cube":
        reading.log.approximated(element, "attribute 'type': a texture wrapped around as a cube lies flat")
    a.mark("embed")
    reading.finish(a, _IGNORED)
    if defined is not None:
        reading.world.assets.textures[defined] = texture
        if kind == "skybox" and reading.world.assets.skybox is None and scope.parent is None:
            reading.world.assets.skybox = defined


def _free_name(reading: Reading, scope: Scope, base: str) -> str:
    number, name = 0, base
    while reading.names.has(("texture",), scope.asset(name)):
        number += 1
        name = f"{base}_{number}"
    return name


def _read_source(reading: Reading, a: Attributes, scope: Scope) -> materials.TextureSource | None:
    kinds = {"none": None, "gradient": "gradient", "checker": "checker", "flat": "flat"}
    builtin = a.choice("builtin", kinds, None)
    drawn = materials.BuildinAttr(
        width=float(max(0, a.integer("width", 0))),
        height=float(max(0, a.integer("height", 0))),
        rgb1=a.reals("rgb1", 3, default=(0.8, 0.8, 0.8)),
        rgb2=a.reals("rgb2", 3, default=(0.5, 0.5, 0.5)),
        mark=a.choice("mark", _MARKS, materials.Mark.None_),
        markrgb=a.reals("markrgb", 3, default=(0.0, 0.0, 0.0)),
        random=max(0.0, a.real("random", 0.01)),
    )
    a.mark(*_FILES)
    files = (
        {side: reading.file(a, f"file{side}", scope.compiler.texturedir, scope) for side in _SIDES}
        if a.gives_any(_FILES)
        else {}
    )
    if builtin is not None:
        a.mark("file")
        # cubes and skies have as many rows as they need
        needed = {"width": drawn.width, "height": drawn.height if a.text("type") == "2d" else 1.0}
        for name, size in needed.items():
            if size < 1.0:
                a.reject(name, f"given {size:g}; allowed: a whole number >= 1 for a builtin texture")
        return getattr(materials.TextureSource, builtin)(drawn)
    if a.text("file"):
        path = reading.file(a, "file", scope.compiler.texturedir, scope)
        return None if path is None else materials.TextureSource.file(path)
    if any(files.values()):
        return materials.TextureSource.cube(**files)
    if not any(a.is_own(f"file{side}") for side in _SIDES):
        a.log.problem(a.element, "attribute 'builtin' or 'file' is required")
    return None


def _read_grid(a: Attributes, texture: materials.Texture) -> None:
    size = a.reals("gridsize", 2)
    layout = a.text("gridlayout")
    if size is None or size == [1.0, 1.0]:
        return
    if size[0] * size[1] > 12 or min(size) < 1 or any(x != int(x) for x in size):
        a.reject("gridsize", "allowed: two whole numbers >= 1 with a product up to 12")
        return
    rows, columns = int(size[0]), int(size[1])
    texture.grid_size = [rows, columns]
    cells = (layout or "." * (rows * columns)).strip()
    if len(cells) < rows * columns or set(cells) - set(_LAYOUT):
        a.reject("gridlayout", f"given {cells[:20]!r}; allowed: {rows * columns} letters out of .RLUDFB")
        return
    texture.grid_layout = [_LAYOUT[cell] for cell in cells[: rows * columns]]


def read_material(reading: Reading, element: Element, scope: Scope) -> None:
    """Adds a material to the assets of the scene."""
    a = reading.attributes(element, scope)
    raw = a.required_text("name")
    name = reading.names.define("material", scope.asset(raw), element, scope) if raw else None
    color = a.reals("rgba", 4, default=(1.0, 1.0, 1.0, 1.0)) or [1.0, 1.0, 1.0, 1.0]
    emission, specular = a.real("emission", 0.0), a.real("specular", 0.5)
    roughness, metallic = a.real("roughness", -1.0), a.real("metallic", -1.0)
    if roughness < 0.0:
        roughness = 1.0 - min(1.0, max(0.0, a.real("shininess", 0.5)))
    else:
        a.mark("shininess")
    material = materials.Material(
        name=name or "",
        color=color,
        alpha_mode=materials.AlphaMode.blend() if color[3] < 1.0 else materials.AlphaMode.opaque(),
        emissive=[color[0] * emission, color[1] * emission, color[2] * emission, 1.0 if emission else 0.0],
        specular_color=[specular, specular, specular, 1.0],
        reflectance=a.real("reflectance", 0.0),
        roughness=roughness,
        metallic=max(0.0, metallic),
        tex_repeat=a.reals("texrepeat", 2, default=(1.0, 1.0)),
        tex_uniform=a.flag("texuniform", False),
        texture_name=reading.asset(a, "texture", "texture", scope),
    )
    for child in element.all("layer"):
        _read_layer(reading, child, scope, material)
    for holder in ("shininess", "emission"):
        if a.is_own(holder):
            message = f"attribute '{holder}': what it means for new graphics cards is a guess"
            reading.log.approximated(element, message)
    reading.finish(a)
    if name is not None:
        reading.world.assets.materials[name] = material


def _read_layer(reading: Reading, element: Element, scope: Scope, material: materials.Material) -> None:
    a = Attributes(element, reading.log)
    texture = reading.asset(a, "texture", "texture", scope)
    role = a.choice("role", _ROLES, None)
    if role is None:
        reading.log.left_out(element, f"a texture of {(a.text('role') or 'no role')[:40]}")
    elif role is materials.MaterialRole.Rgb and material.texture_name is None:
        material.texture_name = texture
    else:
        material.layers.append(materials.Layer(role=role, texture_name=texture))
