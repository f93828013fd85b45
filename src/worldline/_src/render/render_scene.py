# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The shapes of a World as actors of VTK, in one of two ways.

As colours: lit, with textures. As numbers: every pixel holds which item it shows and
nothing else, without light or smoothing, and the depth buffer says how far away it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum, auto
from typing import Any

import numpy as np

from worldline._src.drawing.cameras import View
from worldline._src.drawing.items import Item, Items, texcoords
from worldline._src.drawing.looks import Picture
from worldline._src.drawing.marks import TendonLines
from worldline._src.spatial.poses import Array, rotations


class Kind(Enum):
    """What a pixel of a stage holds."""

    COLOURS = auto()
    NUMBERS = auto()
    SHADOWS = auto()
    """The numbers of items, of their far sides only."""


class RenderScene:
    """Actors of all items of a scene in one off-screen window.

    Args:
        window: an off-screen window of VTK.
        items: what to draw.
        kind: what a pixel holds.
    """

    def __init__(self, window: Any, items: Items, kind: Kind) -> None:
        from vtkmodules.vtkRenderingCore import vtkRenderer

        self.window, self.items, self._kind = window, items, kind
        self.renderer = vtkRenderer()
        window.AddRenderer(self.renderer)
        self._meshes: dict[Hashable, Any] = {}
        self._textures: dict[str, Any] = {}
        self._tendons: list[Any] = []
        self._actors = [self._actor(item, k) for k, item in enumerate(items.rows)]
        self.renderer.SetAutomaticLightCreation(False)
        if kind is Kind.COLOURS:
            self.renderer.GradientBackgroundOn()
            self._light_up()
        else:
            self.renderer.SetBackground(0.0, 0.0, 0.0)

    # ---- actors

    def _actor(self, item: Item, number: int) -> Any:
        from vtkmodules.vtkCommonMath import vtkMatrix4x4
        from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper

        mapper = vtkPolyDataMapper()
        mapper.SetInputData(self._mesh(item))
        mapper.ScalarVisibilityOff()
        actor = vtkActor()
        actor.SetMapper(mapper)
        actor.SetUserMatrix(vtkMatrix4x4())
        look = actor.GetProperty()
        if self._kind is Kind.COLOURS:
            self._dress(actor, item)
        else:
            look.LightingOff()
            look.SetColor(*(channel / 255.0 for channel in _coded(number + 1)))
            look.SetFrontfaceCulling(self._kind is Kind.SHADOWS)
        self.renderer.AddActor(actor)
        return actor

    def _dress(self, actor: Any, item: Item) -> None:
        look, surface = item.look, actor.GetProperty()
        r, g, b, a = look.rgba
        surface.SetColor(r, g, b)
        surface.SetOpacity(a)
        surface.SetInterpolationToPhong()
        surface.SetAmbient(0.30 + 0.7 * look.emission)
        surface.SetDiffuse(0.80 * (1.0 - look.emission))
        surface.SetSpecular(0.35 * look.specular * (1.0 - look.roughness) + 0.05 * look.specular)
        surface.SetSpecularPower(8.0 + 80.0 * (1.0 - look.roughness) ** 2)
        if look.texture is not None and item.mesh.texcoords is not None:
            actor.SetTexture(self._texture(look.texture))

    def _mesh(self, item: Item) -> Any:
        """Triangles of an item in VTK's form; stretched here, so that normals come out right."""
        places = texcoords(item)
        key = (item.mesh_key, tuple(item.scale.tolist()), None if places is None else item.look.repeat)
        if key in self._meshes:
            return self._meshes[key]
        from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray
        from vtkmodules.vtkCommonCore import vtkPoints
        from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData

        normals = item.mesh.normals / np.where(item.scale == 0.0, 1.0, item.scale)
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        normals = normals / np.where(length > 0.0, length, 1.0)
        faces = item.mesh.faces
        if np.prod(item.scale) < 0.0:
            faces = faces[:, ::-1]
        points, cells, made = vtkPoints(), vtkCellArray(), vtkPolyData()
        points.SetData(
            numpy_to_vtk(np.ascontiguousarray(item.mesh.vertices * item.scale, np.float32), deep=1)
        )
        offsets = 3 * np.arange(len(faces) + 1, dtype=np.int64)
        cells.SetData(
            numpy_to_vtkIdTypeArray(offsets, deep=1),
            numpy_to_vtkIdTypeArray(np.ascontiguousarray(faces, np.int64).ravel(), deep=1),
        )
        made.SetPoints(points)
        made.SetPolys(cells)
        made.GetPointData().SetNormals(numpy_to_vtk(np.ascontiguousarray(normals, np.float32), deep=1))
        if places is not None:
            made.GetPointData().SetTCoords(numpy_to_vtk(np.ascontiguousarray(places, np.float32), deep=1))
        self._meshes[key] = made
        return made

    def _texture(self, picture: Picture) -> Any:
        if picture.name not in self._textures:
            from vtkmodules.util.numpy_support import numpy_to_vtk
            from vtkmodules.vtkCommonDataModel import vtkImageData
            from vtkmodules.vtkRenderingCore import vtkTexture

            height, width, _ = picture.pixels.shape
            image = vtkImageData()
            image.SetDimensions(width, height, 1)
            # rows of VTK's images begin at the bottom
            rows = np.ascontiguousarray(picture.pixels[::-1]).reshape(-1, 3)
            image.GetPointData().SetScalars(numpy_to_vtk(rows, deep=1))
            made = vtkTexture()
            made.SetInputData(image)
            made.InterpolateOn()
            made.MipmapOn()
            made.SetMaximumAnisotropicFiltering(4)
            made.RepeatOn()
            self._textures[picture.name] = made
        return self._textures[picture.name]

    def draw_tendons(self, tendons: Sequence[TendonLines]) -> None:
        """Tendons as tubes, in the place of those of the picture before."""
        from vtkmodules.util.numpy_support import numpy_to_vtk
        from vtkmodules.vtkCommonCore import vtkPoints
        from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
        from vtkmodules.vtkFiltersCore import vtkTubeFilter
        from vtkmodules.vtkRenderingCore import vtkActor, vtkPolyDataMapper

        for actor in self._tendons:
            self.renderer.RemoveActor(actor)
        self._tendons = []
        for tendon in tendons:
            for line in tendon.lines:
                points, cells, path = vtkPoints(), vtkCellArray(), vtkPolyData()
                points.SetData(numpy_to_vtk(np.ascontiguousarray(line, np.float32), deep=1))
                cells.InsertNextCell(len(line), list(range(len(line))))
                path.SetPoints(points)
                path.SetLines(cells)
                tube, mapper, actor = vtkTubeFilter(), vtkPolyDataMapper(), vtkActor()
                tube.SetInputData(path)
                tube.SetRadius(max(tendon.radius, 1e-4))
                tube.SetNumberOfSides(12)
                tube.CappingOn()
                mapper.SetInputConnection(tube.GetOutputPort())
                actor.SetMapper(mapper)
                actor.GetProperty().SetColor(*tendon.rgba[:3])
                actor.GetProperty().SetOpacity(tendon.rgba[3])
                actor.GetProperty().SetAmbient(0.3)
                self.renderer.AddActor(actor)
                self._tendons.append(actor)

    # ---- light

    def _light_up(self) -> None:
        """A sun, a weaker light that comes with the camera, and some light from everywhere."""
        from vtkmodules.vtkRenderingCore import vtkLight

        self.renderer.SetAmbient(1.0, 1.0, 1.0)
        self._sun = vtkLight()
        self._sun.SetLightTypeToSceneLight()
        self._sun.PositionalOff()
        self._sun.SetFocalPoint(0.0, 0.0, 0.0)
        self._sun.SetColor(1.0, 0.98, 0.94)
        self._sun.SetIntensity(0.72)
        fill = vtkLight()
        fill.SetLightTypeToHeadlight()
        fill.SetIntensity(0.30)
        self.renderer.AddLight(self._sun)
        self.renderer.AddLight(fill)

    def hang_sky(self, below: Array, above: Array) -> None:
        """Colours at the lower and the upper end of the picture, RGB 0 to 255."""
        self.renderer.SetBackground(*(channel / 255.0 for channel in below))
        self.renderer.SetBackground2(*(channel / 255.0 for channel in above))

    def shine(self, toward: Array, on: bool) -> None:
        """Put the sun into a direction, or let it set."""
        self._sun.SetPosition(*toward)
        self._sun.SetSwitch(on)

    # ---- frames

    def place(self, poses: Array, groups: Sequence[int]) -> None:
        """Put all items where they are, and hide those of other groups."""
        R = rotations(poses) if len(poses) else np.zeros((0, 3, 3))
        matrix = np.tile(np.eye(4), (len(poses), 1, 1))
        matrix[:, :3, :3], matrix[:, :3, 3] = R, poses[:, :3]
        for actor, item, X in zip(self._actors, self.items.rows, matrix, strict=True):
            actor.GetUserMatrix().DeepCopy(X.ravel())
            actor.SetVisibility(item.group in groups and item.look.rgba[3] > 0.0)

    def aim(self, view: View, near: float, far: float, aspect: float) -> None:
        """Look through a camera; aspect is the width of the picture over its height."""
        camera = self.renderer.GetActiveCamera()
        camera.SetPosition(*view.position)
        camera.SetFocalPoint(*(view.position + view.forward))
        camera.SetViewUp(*view.up)
        camera.SetParallelProjection(view.orthographic)
        if view.orthographic:
            camera.SetParallelScale(0.5 * view.fovy)
        else:
            camera.SetViewAngle(view.fovy)
        camera.SetClippingRange(near, far)
        # the window is moved against the optical axis
        camera.SetWindowCenter(-view.shift[0], -view.shift[1])
        plain = view.stretch == 1.0
        camera.SetUseExplicitAspectRatio(not plain)
        if not plain:
            camera.SetExplicitAspectRatio(aspect * view.stretch)

    def colours(self) -> np.ndarray:
        """Draw; (height, width, 3) bytes, the upper row first."""
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkCommonCore import vtkUnsignedCharArray

        self.window.Render()
        width, height = self.window.GetSize()
        pixels = vtkUnsignedCharArray()
        self.window.GetPixelData(0, 0, width - 1, height - 1, 0, pixels, 0)
        return vtk_to_numpy(pixels).reshape(height, width, 3)[::-1]

    def numbers(self, view: View, near: float, far: float) -> tuple[np.ndarray, Array]:
        """Draw; which item is seen (-1 for none), and its distance along the optical axis [m]."""
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkCommonCore import vtkFloatArray

        seen = decoded(self.colours())
        height, width = seen.shape
        buffer = vtkFloatArray()
        self.window.GetZbufferData(0, 0, width - 1, height - 1, buffer)
        z = vtk_to_numpy(buffer).astype(np.float64).reshape(height, width)[::-1]
        if view.orthographic:
            return seen, near + z * (far - near)
        return seen, near * far / (far - z * (far - near))

    def close(self) -> None:
        """Give the memory of the graphics back."""
        self.window.Finalize()


def _coded(number: int) -> tuple[int, int, int]:
    """A number as a colour."""
    return number & 255, number >> 8 & 255, number >> 16 & 255


def decoded(pixels: np.ndarray) -> np.ndarray:
    """Numbers from colours (..., 3), -1 where nothing is."""
    wide = pixels.astype(np.int32)
    return wide[..., 0] + (wide[..., 1] << 8) + (wide[..., 2] << 16) - 1
