# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""State and controls of a whole World as dense vectors, in the layout of its own spaces.

The layout is that of `World.state_space()`: poses of rigid bodies (7 numbers each), coordinates of
multibodies, then velocities in the same order. Orientation is part of it, so a vector that is read and
written back is the same state; a layout with three translations per rigid body would lose it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldline._src.facade import state_binding, values
from worldline._src.facade.state_space import StateSpace
from worldline._src.facade.values import VectorLike
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.world import World

_MAKERS = {False: state_binding.state_space, True: state_binding.control_space}


def own_space(world: World, *, control: bool, rigid_only: bool) -> StateSpace:
    """The World's own space; made again when something in it changed."""
    runtime = world._live()
    kept = runtime.spaces
    key = (runtime.version, control, rigid_only)
    found = kept.get(key)
    if found is None:
        if any(known[0] != runtime.version for known in kept):
            kept.clear()
        found = kept[key] = _MAKERS[control](world, rigid_only=rigid_only)
    return found


def get_vector(world: World, *, control: bool = False, rigid_only: bool = False) -> Array:
    """All numbers of a space of the World."""
    space = own_space(world, control=control, rigid_only=rigid_only)
    runtime, binding = state_binding.bind(world, space, control)
    return binding.read(runtime.sim.data)


def set_vector(
    world: World, value: VectorLike, what: str, *, control: bool = False, rigid_only: bool = False
) -> None:
    """Check size and numbers, then write all of them."""
    space = own_space(world, control=control, rigid_only=rigid_only)
    runtime, binding = state_binding.bind(world, space, control)
    numbers = values.dof_vector(value, space.dimension, what)
    binding.write(runtime, binding.checked(numbers))
