# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The settings of a file's `compiler` elements: how the rest of the file is to be understood."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from worldline._src.scene.formats.xml import Attributes, Element, Log
from worldline._src.scene.geometry import MeshInertia
from worldline._src.scene.options import CompileOptions, InertiaSource, ShapeFit

_NO_EFFECT: Final = {
    "usethread": "how a compiler divides its work changes nothing in the scene",
    "saveinertial": "only says how a file is saved",
    "savecompiled": "only says how a file is saved",
    "savecanonical": "only says how a file is saved",
    "passthrough": "only says when textures are loaded",
    "convexhull": "hulls are always made where they are needed",
}
_INERTIA: Final = {"auto": InertiaSource.Auto, "true": InertiaSource.Geometry, "false": InertiaSource.Given}


@dataclass
class Compiler:
    """How a file is to be understood; later elements win over earlier ones, attribute by attribute.

    Attributes:
        angle: Factor from the file's angles to radians.
        eulerseq: Axes of Euler angles, see `orientation.from_euler`.
        autolimits: A range that is given also limits.
        meshdir: Directory of meshes and height fields.
        texturedir: Directory of textures.
        strippath: Files are named by their last part only.
        alignfree: Free bodies are turned to their principal axes.
        mesh_inertia: What the mass of a mesh fills that does not say so itself.
        conflict: What happens when an attached file has other options.
        mass: What goes into the options of the scene.
    """

    angle: float = math.pi / 180.0
    eulerseq: str = "xyz"
    autolimits: bool = True
    meshdir: str = ""
    texturedir: str = ""
    strippath: bool = False
    alignfree: bool = False
    mesh_inertia: MeshInertia = MeshInertia.Legacy
    conflict: str = "warning"
    mass: CompileOptions | None = None

    @staticmethod
    def of(elements: Iterable[Element], log: Log) -> Compiler:
        """The settings of all `compiler` elements of a file."""
        made = Compiler(mass=CompileOptions(inertia_groups=(0, 5)))
        assetdir = meshdir = texturedir = None
        for element in elements:
            a = Attributes(element, log)
            made._read_language(a)
            made._read_mass(a)
            assetdir = a.text("assetdir") or assetdir
            meshdir = a.text("meshdir") or meshdir
            texturedir = a.text("texturedir") or texturedir
            made.strippath = a.flag("strippath", made.strippath)
            made.alignfree = a.flag("alignfree", made.alignfree)
            if a.flag("exactmeshinertia", False):
                # of older files
                made.mesh_inertia = MeshInertia.Exact
            made.conflict = a.choice("conflict", {w: w for w in ("warning", "merge", "error")}, made.conflict)
            _note(a, log)
        made.meshdir = meshdir if meshdir is not None else assetdir or ""
        made.texturedir = texturedir if texturedir is not None else assetdir or ""
        return made

    def _read_language(self, a: Attributes) -> None:
        self.angle = a.choice("angle", {"degree": math.pi / 180.0, "radian": 1.0}, self.angle)
        sequence = a.text("eulerseq")
        if sequence is not None:
            if len(sequence) == 3 and set(sequence) <= set("xyzXYZ"):
                self.eulerseq = sequence
            else:
                a.reject("eulerseq", f"given {sequence[:60]!r}; allowed: three letters out of xyzXYZ")
        self.autolimits = a.flag("autolimits", self.autolimits)
        if a.choice("coordinate", {"local": False, "global": True}, False):
            a.reject(
                "coordinate",
                "global coordinates are no longer part of the format; save the file again in local ones",
            )

    def _read_mass(self, a: Attributes) -> None:
        mass = self.mass
        assert mass is not None
        mass.inertia_source = a.choice("inertiafromgeom", _INERTIA, mass.inertia_source)
        groups = a.reals("inertiagrouprange", 2)
        if groups is not None:
            if all(group == math.floor(group) for group in groups):
                mass.inertia_groups = [int(group) for group in groups]
            else:
                a.reject("inertiagrouprange", "allowed: two whole numbers")
        mass.balance_inertia = a.flag("balanceinertia", mass.balance_inertia)
        mass.bound_mass = max(0.0, a.real("boundmass", mass.bound_mass))
        mass.bound_inertia = max(0.0, a.real("boundinertia", mass.bound_inertia))
        total = a.real("settotalmass", None)
        if total is not None:
            mass.total_mass = total if total > 0.0 else None
        mass.fuse_static = a.flag("fusestatic", mass.fuse_static)
        fit = {True: ShapeFit.Aabb, False: ShapeFit.InertiaBox}
        aabb = a.flag("fitaabb", None)
        mass.shape_fit = mass.shape_fit if aabb is None else fit[aabb]


def _note(a: Attributes, log: Log) -> None:
    """Notes what has no effect here, and what is not followed."""
    for name, reason in _NO_EFFECT.items():
        if a.text(name) is not None:
            log.kept(a.element, f"attribute '{name}': {reason}")
    if a.flag("discardvisual", False):
        log.kept(
            a.element, "attribute 'discardvisual': what is only for show stays; it does not move differently"
        )
    for holder, name in a.unread():
        log.left_out(holder, f"attribute '{name}': has no place in a scene")
    for child in a.element.all("lengthrange"):
        log.left_out(child, "how ranges of muscle lengths are searched for")
