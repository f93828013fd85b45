# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""What tests of pictures need: VTK, and a system that can draw without a screen."""

from __future__ import annotations

import pytest

pytest.importorskip("vtkmodules", reason="pictures need the package vtk")
pytest.importorskip("PIL", reason="pictures need the package pillow")


def can_draw() -> str | None:
    """Why this machine cannot draw, None when it can."""
    from worldline._src.errors import CapabilityError
    from worldline._src.render.window import off_screen_window

    try:
        off_screen_window(8, 8).Finalize()
    except CapabilityError as error:
        return str(error)
    return None


WHY_NOT = can_draw()
drawing = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
