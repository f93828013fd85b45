# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a World, with a screen and without, and what cameras see; apart from physics.

>>> from worldline.simulation import rendering
>>> rendering.LookAt((3, 0, 1)).fovy
45.0
"""

from worldline._src.drawing.cameras import LookAt
from worldline._src.facade.visibility import VisibilityQueries, VisibleBody
from worldline._src.render.pictures import Picture
from worldline._src.render.renderer import Renderer, render
from worldline._src.viewer.viewer import Viewer, view

__all__ = [
    "LookAt", "Picture", "Renderer", "Viewer", "VisibilityQueries", "VisibleBody", "render", "view",
]  # fmt: skip
