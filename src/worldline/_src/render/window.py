# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Off-screen render windows: VTK with EGL or OSMesa, or with a display if there is one.

VTK ends the process when it finds no way to draw at all, so what it needs is looked for first.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from worldline._src.errors import CapabilityError

_INSTALL = "install 'libegl1 libgl1-mesa-dri' (Debian, Ubuntu) or 'mesa-libEGL mesa-dri-drivers' (Fedora)"


def require_vtk() -> None:
    """An error that says what to install when VTK is missing."""
    try:
        import vtkmodules  # noqa: F401
    except ImportError:
        raise CapabilityError(
            "rendering needs the package 'vtk', which is not installed; pip install 'worldline[render]'"
        ) from None


def off_screen_window(width: int, height: int) -> Any:
    """A render window of VTK that needs no screen [pixels]."""
    require_vtk()
    import vtkmodules.vtkRenderingOpenGL2 as gl
    from vtkmodules.vtkCommonCore import vtkObject

    if hasattr(gl, "vtkEGLRenderWindow") and _loads("libEGL.so.1"):
        window = gl.vtkEGLRenderWindow()
    elif hasattr(gl, "vtkOSOpenGLRenderWindow") and (_loads("libOSMesa.so.8") or _loads("libOSMesa.so")):
        window = gl.vtkOSOpenGLRenderWindow()
    elif os.environ.get("DISPLAY") or os.name == "nt" or os.uname().sysname == "Darwin":
        from vtkmodules.vtkRenderingCore import vtkRenderWindow

        window = vtkRenderWindow()
    else:
        raise CapabilityError(
            "rendering without a screen needs the system library libEGL or libOSMesa, and neither is here; "
            + _INSTALL
        )
    window.SetOffScreenRendering(1)
    window.SetSize(width, height)
    warned = vtkObject.GetGlobalWarningDisplay()
    vtkObject.GlobalWarningDisplayOff()
    try:
        window.Initialize()
    finally:
        vtkObject.SetGlobalWarningDisplay(warned)
    if not window.SupportsOpenGL():
        raise CapabilityError("rendering without a screen: OpenGL could not be started; " + _INSTALL)
    return window


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True
