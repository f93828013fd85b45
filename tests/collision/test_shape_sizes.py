# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sizes of shapes: read where a shape has them, refused by their own name where it has not."""

from __future__ import annotations

import numpy as np
import pytest

from worldline.collision import CollisionShape

SIZES = ("radius", "half_height", "height", "half_extents", "semi_axes", "normal", "offset")
SHAPES = {
    "sphere": (CollisionShape.sphere(0.2), {"radius": 0.2}),
    "box": (CollisionShape.box((1, 2, 3)), {"half_extents": (1, 2, 3)}),
    "capsule": (CollisionShape.capsule(0.2, 0.5), {"radius": 0.2, "half_height": 0.5, "height": 1.0}),
    "plane": (CollisionShape.plane((0, 0, 2), 0.7), {"normal": (0, 0, 1), "offset": 0.7}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_sizes_that_a_shape_has_and_has_not(name):
    shape, known = SHAPES[name]
    for size in SIZES:
        if size in known:
            np.testing.assert_allclose(getattr(shape, size), known[size], atol=1e-15)
        else:
            with pytest.raises(AttributeError, match=f"has no {size}$"):
                getattr(shape, size)
