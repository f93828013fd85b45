# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""From the files a scene file names to the named assets of a scene."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any, Final, cast

from worldline._src.errors import CapabilityError, MissingFileError, Problem, SceneError, UnreadableFileError
from worldline._src.scene.asset_specs import AssetSpecs, HFieldSource, MeshSource
from worldline._src.scene.assets.paths import PathPolicy
from worldline._src.scene.compose import is_rooted
from worldline._src.scene.materials import Texture, TextureSource

MESH_SUFFIXES: Final = (".stl", ".obj", ".dae", ".msh", ".glb", ".gltf", ".ply", ".off")


def free_name(wanted: str, taken: Container[str]) -> str:
    """The wanted name, or with the first number that makes it new."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


class AssetReferences:
    """Turns references to files into assets, one for each file however often it is named.

    Args:
        assets: Where the assets go.
        policy: Which files may be reached.
    """

    def __init__(self, assets: AssetSpecs, policy: PathPolicy) -> None:
        self.assets = assets
        self.policy = policy
        self._meshes: dict[tuple[Path, tuple[str, ...]], str] = {}
        self._textures: dict[Path, str] = {}

    def mesh(self, reference: str, *, base: Path | None = None, parts: tuple[str, ...] = ()) -> str:
        """The name of the mesh asset for a file.

        Raises:
            UnreadableFileError: The file is not there.
            PathRefused: It may not be reached.
            CapabilityError: Nothing reads such files.
        """
        path = self._file(reference, base)
        if path.suffix.lower() not in MESH_SUFFIXES:
            raise CapabilityError(
                f"no reader for {path.suffix!r} meshes; there are: {', '.join(MESH_SUFFIXES)}"
            )
        key = (path, parts)
        if key not in self._meshes:
            name = free_name(path.stem or "mesh", self.assets.meshes)
            self.assets.meshes[name] = MeshSource.path(self.policy.stored(path), using_meshes=parts)
            self._meshes[key] = name
        return self._meshes[key]

    def texture(self, reference: str, *, base: Path | None = None) -> str:
        """The name of the texture asset for an image file; raises as `mesh` does."""
        path = self._file(reference, base)
        if path not in self._textures:
            name = free_name(path.stem or "texture", self.assets.textures)
            source = TextureSource.file(self.policy.stored(path))
            self.assets.textures[name] = Texture(name=name, source=source)
            self._textures[path] = name
        return self._textures[path]

    def _file(self, reference: str, base: Path | None) -> Path:
        path = self.policy.resolve(reference, base=base)
        if not path.is_file():
            raise MissingFileError(f"{reference[:200]!r} is not a file")
        return path


def check_assets(assets: AssetSpecs, policy: PathPolicy) -> list[Problem]:
    """A problem for every asset file that a scene may not reach; missing ones are found when loaded."""
    problems: list[Problem] = []
    for place, reference in _files(assets):
        if policy.base is None and not policy.asset_dirs and not is_rooted(reference):
            # relative to a file that is not known yet, so it leads nowhere
            continue
        try:
            policy.resolve(reference)
        except UnreadableFileError:
            continue
        except SceneError as error:
            problems.append(Problem(place, str(error)))
    return problems


def _files(assets: AssetSpecs) -> Iterator[tuple[str, str]]:
    # an entry that could not be read is None
    for name, mesh in cast("dict[str, MeshSource | None]", assets.meshes).items():
        if mesh is not None and mesh.variant == "path":
            yield f"$.assets.meshes[{name!r}]", mesh.value["path"]
    for name, hfield in cast("dict[str, HFieldSource | None]", assets.hfields).items():
        if hfield is not None and hfield.source_type.variant == "path":
            yield f"$.assets.hfields[{name!r}]", hfield.source_type.value["path"]
    for name, texture in cast("dict[str, Texture | None]", assets.textures).items():
        if texture is None:
            continue
        data: Any = texture.source.value
        faces = {"file": data}.items() if texture.source.variant == "file" else ()
        if texture.source.variant == "cube":
            faces = data.items()
        for _, path in faces:
            if path is not None:
                yield f"$.assets.textures[{name!r}]", path
