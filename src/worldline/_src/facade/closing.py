# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Objects that a `with` block closes: viewers, renderers, pools of workers."""

from __future__ import annotations

from typing import Self


class Closing:
    """An object with `close`, which the end of a `with` block calls."""

    def close(self) -> None:
        """Free what it holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
