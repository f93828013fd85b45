# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""copy.deepcopy and pickle of Worlds.

Attributes that a subclass of a user added are copied and pickled as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldline._src.facade.world_kind import kind_named
from worldline._src.later import DeferredModule

if TYPE_CHECKING:
    from worldline._src.facade import persistence
    from worldline._src.facade.world_runtime import W, WorldRuntime
else:
    persistence = DeferredModule("facade.persistence")


def unpickled(kind: type[W], data: bytes, profiling: bool) -> W:
    """The World that pickle stored."""
    made = kind.__new__(kind)
    persistence.from_bytes(made, data, "pickled World")
    made.step_profiling_enabled = profiling
    return made


def own_attributes(world: WorldRuntime) -> dict[str, Any]:
    """Attributes of the instance that a World does not have by itself."""
    blank: object = kind_named("World")()
    known = vars(blank)
    return {name: value for name, value in vars(world).items() if name not in known}
