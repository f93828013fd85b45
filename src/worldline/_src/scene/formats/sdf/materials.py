# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Materials of SDF visuals."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from worldline._src.errors import SceneError, UnreadableFileError
from worldline._src.scene.assets.references import AssetReferences
from worldline._src.scene.formats.sdf.nodes import Node
from worldline._src.scene.formats.xml import Element, Log
from worldline._src.scene.geometry import Geometry
from worldline._src.scene.materials import Layer, Material, MaterialRole
from worldline._src.scene.world import World

_IGNORED: Final = {
    "script": "a material of one simulator",
    "shader": "of one renderer",
    "lighting": "of one renderer",
    "render_order": "of one renderer",
}
_MAPS: Final = {"normal_map": MaterialRole.Normal, "emissive_map": MaterialRole.Emissive}
_OTHER_MAPS: Final = (
    "roughness_map",
    "metalness_map",
    "ambient_occlusion_map",
    "environment_map",
    "light_map",
)


class MaterialReader:
    """Reads materials; visuals that look the same share one asset."""

    def __init__(self, world: World, references: AssetReferences, log: Log) -> None:
        self.materials = world.assets.materials
        self.references = references
        self.log = log
        self._known: dict[str, str] = {}

    def apply(self, element: Element | None, geom: Geometry, transparency: float, shadows: bool) -> None:
        """Gives a geom the look of a visual."""
        if element is None and transparency == 0.0 and shadows:
            return
        made = Material(cast_shadow=shadows)
        if element is not None:
            self._read(Node(element, self.log), made)
        if transparency != 0.0:
            made.color = [*made.color[:3], made.color[3] * (1.0 - min(max(transparency, 0.0), 1.0))]
        look = repr(made)
        if look not in self._known:
            made.name = self._known[look] = f"material_{len(self._known) + 1}"
            self.materials[made.name] = made
        geom.visual.material = self._known[look]

    def _read(self, node: Node, made: Material) -> None:
        ambient, diffuse = node.reals("ambient", 4), node.reals("diffuse", 4)
        specular, emissive = node.reals("specular", 4), node.reals("emissive", 4)
        color = diffuse or ambient
        if color is not None:
            made.color = color
        if ambient is not None and diffuse is not None and ambient != diffuse:
            self.log.approximated(
                node.element, "one colour is used for ambient and diffuse light: the diffuse one"
            )
        if specular is not None:
            made.specular_color = specular
        if emissive is not None:
            made.emissive = emissive
        made.both_side = node.flag("double_sided", False)
        shininess = node.real("shininess")
        if shininess is not None:
            self.log.left_out(node.element, "<shininess> has no counterpart")
        pbr = node.node("pbr")
        if pbr is not None:
            metal = pbr.node("metal")
            if metal is not None:
                self._metal(metal, made)
            pbr.finish(ignored={"specular": "only the metal workflow is read"})
        node.finish(ignored=_IGNORED)

    def _metal(self, node: Node, made: Material) -> None:
        made.metallic = node.real("metalness", 0.5)
        made.roughness = node.real("roughness", 0.5)
        made.texture_name = self._texture(node, "albedo_map")
        for tag, role in _MAPS.items():
            found = self._texture(node, tag)
            if found is not None:
                made.layers.append(Layer(role=role, texture_name=found))
        node.finish(ignored=dict.fromkeys(_OTHER_MAPS, "there is no such layer"))

    def _texture(self, node: Node, tag: str) -> str | None:
        element = node.child(tag)
        if element is None or not element.text:
            return None
        base = None if element.file is None else Path(element.file).parent
        try:
            return self.references.texture(element.text, base=base)
        except UnreadableFileError as missing:
            self.log.left_out(element, str(missing))
        except SceneError as refused:
            self.log.problem(element, str(refused))
        return None
