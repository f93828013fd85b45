# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Rendered pictures, and the buffers they may be written into."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldline._src.errors import ArgumentError, require_kind
from worldline._src.facade import values
from worldline._src.named_tuple import NamedTuple


class Picture(NamedTuple):
    """A picture of a World: colours, distances and what is where; None for what was not requested.

    Attributes:
        rgb: colours, (height, width, 3) bytes, the upper row first.
        depth: distance of what is seen along the optical axis [m], (height, width) float32; infinite where
            nothing is.
        segmentation: index into `shape_names` and `body_names` of what is seen, (height, width) int32; -1
            where nothing is.
        shape_names: names of all shapes, in the order of the model.
        body_names: name of the body of every shape; "world" for fixed ones.
    """

    rgb: NDArray[np.uint8] | None
    depth: NDArray[np.float32] | None
    segmentation: NDArray[np.int32] | None
    shape_names: tuple[str, ...]
    body_names: tuple[str, ...]

    def mask(self, name: str) -> NDArray[np.bool_]:
        """Where a shape or a body of that name is seen, (height, width)."""
        if self.segmentation is None:
            raise ArgumentError("the picture has no segmentation; render with segmentation=True")
        name = values.key(name, "name of a shape or body")
        rows = [
            k for k, both in enumerate(zip(self.shape_names, self.body_names, strict=True)) if name in both
        ]
        if not rows:
            raise ArgumentError(f"no shape or body '{name}' in the picture")
        return np.isin(self.segmentation, rows)


_KINDS = {"rgb": np.uint8, "depth": np.float32, "segmentation": np.int32}


def buffer(out: Picture | None, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The caller's array for a part of a picture, checked, or a new one."""
    if out is not None:
        require_kind(out, Picture, "out", "render")
    given = None if out is None else getattr(out, name)
    kind = np.dtype(_KINDS[name])
    if given is None:
        return np.empty(shape, kind)
    if not isinstance(given, np.ndarray) or given.shape != shape or given.dtype != kind:
        what = f"{given.dtype} {given.shape}" if isinstance(given, np.ndarray) else repr(given)
        raise ArgumentError(f"out.{name} must be an array of {kind} with shape {shape}, got {what}")
    if not given.flags.writeable:
        raise ArgumentError(f"out.{name} cannot be written to")
    return given
