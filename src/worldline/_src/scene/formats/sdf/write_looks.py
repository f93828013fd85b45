# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Materials of SDF visuals; `materials.py` reads them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from worldline._src.scene.formats.markup import child
from worldline._src.scene.formats.rigid import finite, finites
from worldline._src.scene.formats.sdf.write_values import put
from worldline._src.scene.formats.write_losses import WriteLosses
from worldline._src.scene.geometry import GeomVisualAttrs
from worldline._src.scene.materials import Material, MaterialRole
from worldline._src.scene.world import World

if TYPE_CHECKING:
    from lxml.etree import _Element as XmlElement

_SAID: Final = (
    *("name", "color", "specular_color", "emissive", "both_side", "cast_shadow"),
    *("metallic", "roughness", "texture_name", "layers"),
)
_MAPS: Final = {MaterialRole.Normal: "normal_map", MaterialRole.Emissive: "emissive_map"}


class LookWriter:
    """Writes materials into the visuals that have them, since SDF has none of their own.

    Args:
        world: The scene.
        notes: What SDF cannot say.
    """

    def __init__(self, world: World, notes: WriteLosses) -> None:
        self.assets = world.assets
        self.notes = notes
        self.textures: set[str] = set()
        self._materials: set[str] = set()

    def write(self, visual: XmlElement, look: GeomVisualAttrs, path: str) -> None:
        """The look of a visual, unless it is the default one."""
        if look.material is None and look.color is None:
            return
        material = Material() if look.material is None else self.assets.materials[look.material]
        color = material.color if look.color is None else look.color
        if look.color is not None:
            self.notes.kept(f"{path}.visual.color", "colours of shapes are read as materials")
        if not material.cast_shadow:
            put(visual, "cast_shadows", "false")
        made = child(visual, "material")
        put(made, "ambient", finites(color))
        put(made, "diffuse", finites(color))
        if material.specular_color != [1.0, 1.0, 1.0, 1.0]:
            put(made, "specular", finites(material.specular_color))
        if any(material.emissive):
            put(made, "emissive", finites(material.emissive))
        if material.both_side:
            put(made, "double_sided", "true")
        first = look.material is not None and look.material not in self._materials
        self._metal(made, material, f"$.assets.materials[{look.material!r}]", first)
        if first and look.material is not None:
            self._materials.add(look.material)
            self.notes.rest(material, f"$.assets.materials[{look.material!r}]", _SAID)
            if look.material != f"material_{len(self._materials)}":
                self.notes.kept(f"$.assets.materials[{look.material!r}]", "materials have no names in SDF")

    def _metal(self, element: XmlElement, material: Material, path: str, first: bool) -> None:
        maps = {} if material.texture_name is None else {"albedo_map": material.texture_name}
        for index, layer in enumerate(material.layers):
            if layer.role in _MAPS and _MAPS[layer.role] not in maps and layer.texture_name is not None:
                maps[_MAPS[layer.role]] = layer.texture_name
            elif first:
                self.notes.left_out(f"{path}.layers[{index}]")
        if not maps and material.metallic == material.roughness == 0.5:
            return
        metal = child(child(element, "pbr"), "metal")
        for tag, name in maps.items():
            self._texture(metal, tag, name)
        put(metal, "roughness", finite(material.roughness))
        put(metal, "metalness", finite(material.metallic))

    def _texture(self, element: XmlElement, tag: str, name: str) -> None:
        texture = self.assets.textures[name]
        self.textures.add(name)
        path = f"$.assets.textures[{name!r}]"
        if texture.source.variant == "file":
            put(element, tag, texture.source.value)
            self.notes.rest(texture, path, ("name", "source"))
        else:
            self.notes.left_out(path, "SDF knows textures from image files only")

    def note_unused(self) -> None:
        """Materials and textures that nothing in the file refers to."""
        for table, used in (("materials", self._materials), ("textures", self.textures)):
            for name in sorted(getattr(self.assets, table).keys() - used):
                self.notes.left_out(f"$.assets.{table}[{name!r}]", "nothing in the file uses it")
