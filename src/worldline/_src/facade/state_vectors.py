# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""State and controls of a whole World as dense vectors, in the layout of its own spaces.

The layout is that of `World.state_space()`, x = [q; qdot; activations]: poses of rigid bodies (7 numbers
each), coordinates of multibodies, then velocities in the same order, then activations of actuators.
Orientation is part of it, so a vector that is read and written back is the same state; a layout with three
translations per rigid body would lose it.

A step starts its solver from the last accelerations and contact forces, and islands may sleep. None of this
is state of the mechanical system and none of it is in the vector. A `WorldState` of the whole World carries
it along unseen, so that `set_state(get_state(...))` continues bit for bit, also after other steps.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from worldline._src.facade import state_binding, values
from worldline._src.facade.exclusive import exclusive
from worldline._src.facade.state_space import StateSpace
from worldline._src.facade.values import VectorLike
from worldline._src.facade.world_state import WorldState
from worldline._src.named_tuple import NamedTuple
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.runtime import Runtime
    from worldline._src.facade.world_runtime import WorldRuntime

_MAKERS = {False: state_binding.state_space, True: state_binding.control_space}


def own_space(world: WorldRuntime, *, control: bool, rigid_only: bool) -> StateSpace:
    """The World's own space; made again when something in it changed."""
    runtime = world._live()
    key = control, rigid_only
    kept = runtime.spaces.get(key)
    if kept is None or kept[0] != runtime.version:
        kept = runtime.spaces[key] = runtime.version, _MAKERS[control](world, rigid_only=rigid_only)
    return kept[1]


class _Continuation(NamedTuple):
    """Where the solver starts the next step: kept beside a state of the whole World."""

    runtime: weakref.ref[Runtime]
    vector: Array
    acceleration: Array
    memory: dict[str, Array]


def get_state(world: WorldRuntime, space: StateSpace) -> WorldState:
    """See `World.get_state`."""
    made = state_binding.get_state(world, space)
    if space.variable_names == own_space(world, control=False, rigid_only=False).variable_names:
        runtime = world._live()
        made._continuation = _Continuation(
            weakref.ref(runtime), made.vector.copy(), runtime.sim.a.copy(), runtime.memory()
        )
    return made


def set_state(world: WorldRuntime, state: WorldState) -> None:
    """See `World.set_state`."""
    state_binding.put(world, state, control=False)
    kept, runtime = state._continuation, world._live()
    if isinstance(kept, _Continuation) and kept.runtime() is runtime:
        if kept.vector.tobytes() == state.vector.tobytes():
            runtime.sim.a[:] = kept.acceleration
            runtime.recall(kept.memory)


def get_vector(world: WorldRuntime, *, control: bool = False, rigid_only: bool = False) -> Array:
    """All numbers of a space of the World."""
    space = own_space(world, control=control, rigid_only=rigid_only)
    runtime, binding = state_binding.bind(world, space, control)
    return values.read_only(binding.read_from(runtime))


@exclusive
def set_vector(
    world: WorldRuntime, value: VectorLike, what: str, *, control: bool = False, rigid_only: bool = False
) -> None:
    """Check size and numbers, then write all of them."""
    space = own_space(world, control=control, rigid_only=rigid_only)
    runtime, binding = state_binding.bind(world, space, control)
    numbers = values.dof_vector(value, space.dimension, what)
    binding.write(runtime, binding.checked(numbers))
