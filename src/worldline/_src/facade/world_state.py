# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Copies of a World's state and controls as named flat vectors.

A WorldState belongs to its user: changing it changes nothing in the World until `World.set_state` puts all
of it back at once. It may outlive the World it came from and may be given to another one with the same names.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from worldline._src.errors import ArgumentError, NotFoundError, nearest_name, require_kind
from worldline._src.facade import values
from worldline._src.facade.known_names import KnownNames, returns_view
from worldline._src.facade.manifold import Manifold, log
from worldline._src.facade.state_space import StateSpace
from worldline._src.facade.values import VectorLike
from worldline._src.spatial.poses import Array

_NO_TURN = (0.0, 0.0, 0.0, 1.0)


class NamedVector(KnownNames):
    """A flat vector whose parts have names."""

    def __init__(self, space: StateSpace, vector: Array) -> None:
        self._space = space
        self._vector = vector

    @property
    def space(self) -> StateSpace:
        """Names, sizes and bounds of the parts."""
        return self._space

    @property
    @returns_view
    def vector(self) -> Array:
        """The flat vector, (space.dimension,): a view, writing to it changes this object and no World."""
        return self._vector

    @vector.setter
    def vector(self, value: VectorLike) -> None:
        self._vector[:] = values.dof_vector(value, self._space.dimension, "vector")

    def _slice(self, name: str) -> slice:
        variable = self._space.get_variable(name)
        if variable is None:
            raise NotFoundError(f"no variable '{name}'{nearest_name(name, self._space.variable_names)}")
        return variable.slice

    def __getitem__(self, name: str) -> Array:
        return self._vector[self._slice(name)].copy()

    def __setitem__(self, name: str, value: VectorLike) -> None:
        part = self._slice(name)
        self._vector[part] = values.dof_vector(value, part.stop - part.start, f"variable '{name}'")

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._space.has_variable(name)

    def __len__(self) -> int:
        return len(self._vector)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._vector, dtype=dtype, copy=copy)

    def is_within_bounds(self) -> bool:
        """Whether every number is between the bounds of the space."""
        low, high = self._space.lower_bounds, self._space.upper_bounds
        return bool(((self._vector >= low) & (self._vector <= high)).all())

    def copy(self) -> Self:
        """Another one with the same numbers."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._vector = self._vector.copy()
        return made

    def __repr__(self) -> str:
        parts = (f"{v.name}={self._vector[v.slice].tolist()}" for v in self._space.variables)
        return f"{type(self).__name__}({', '.join(parts)})"


class WorldState(NamedVector):
    """A copy of state by name, from `World.get_state`.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box", position=(0, 0, 1))
        >>> state = world.get_state(world.state_space())
        >>> state["box.velocity"] = [1, 0, 0, 0, 0, 0]
        >>> box.linear_velocity.tolist()
        [0.0, 0.0, 0.0]
        >>> world.set_state(state)
        >>> box.linear_velocity.tolist()
        [1.0, 0.0, 0.0]
    """

    def __init__(self, space: StateSpace, vector: Array, manifold: Manifold) -> None:
        super().__init__(space, vector)
        self._manifold = manifold
        self._continuation: object = None
        """Where the solver goes on from this state; known to `state_vectors.py`."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        # where the solver starts the next step belongs to the World it was read from
        return {**vars(self), "_continuation": None}

    @property
    def tangent_dimension(self) -> int:
        """Numbers of a tangent: one per degree of freedom, three for a quaternion."""
        return self._manifold.tangent_dimension

    @property
    def tangent_sizes(self) -> dict[str, int]:
        """How many numbers of a tangent belong to each variable, in the order of the tangent."""
        return {v.name: self._manifold.freedoms(v.slice) for v in self._space.variables}


class WorldControl(NamedVector):
    """A copy of commands by name, from `World.get_control`.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World(gravity=(0, 0, 0))
        >>> box = world.add_rigid_body("box", mass=2.0)
        >>> control = world.get_control(world.control_space())
        >>> control["box.wrench"] = [0, 0, 0, 4, 0, 0]
        >>> world.set_control(control)
        >>> world.step(n=1000)
        >>> box.linear_velocity.round(9).tolist()
        [2.0, 0.0, 0.0]
    """


def difference(a: WorldState, b: WorldState) -> Array:
    """The tangent that leads from state `a` to state `b`, rotations the short way, (tangent_dimension,).

    Parts follow the variables of the space; a pose has its translation in world axes, then a rotation
    vector in body axes.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> a = world.get_state(world.state_space())
        >>> box.quaternion = (0, 0, 1, 1)
        >>> b = world.get_state(a.space)
        >>> sx.state.difference(a, b)[:6].round(6).tolist()
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.570796]
    """
    _require_alike(a, b)
    return a._manifold.difference(a._vector, b._vector)


def integrate(state: WorldState, tangent: VectorLike) -> WorldState:
    """The state to which a tangent leads; `integrate(a, difference(a, b))` is b.

    Args:
        state: where to start; not changed.
        tangent: (state.tangent_dimension,).

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> state = world.get_state(world.state_space())
        >>> moved = sx.state.integrate(state, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        >>> moved["box.pose"].tolist()
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """
    require_kind(state, WorldState, "state", "integrate")
    step = values.dof_vector(tangent, state.tangent_dimension, "tangent")
    return WorldState(state._space, state._manifold.integrate(state._vector, step), state._manifold)


def interpolate(a: WorldState, b: WorldState, fraction: float) -> WorldState:
    """The state a fraction of the way from `a` to `b`: 0 is a, 1 is b; rotations at constant speed.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> a = world.get_state(world.state_space())
        >>> b = a.copy()
        >>> b["box.pose"] = [2, 0, 0, 0, 0, 0, 1]
        >>> sx.state.interpolate(a, b, 0.5)["box.pose"].tolist()
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    """
    share = values.real(fraction, "fraction")
    return integrate(a, share * difference(a, b))


def distance(a: WorldState, b: WorldState) -> float:
    """Length of the tangent that leads from `a` to `b`, metres and radians together.

    Example:
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> a = world.get_state(world.state_space())
        >>> box.translation = (3, 0, 4)
        >>> sx.state.distance(a, world.get_state(a.space))
        5.0
    """
    return float(np.linalg.norm(difference(a, b)))


def normalize(state: WorldState) -> WorldState:
    """The same state with unit quaternions; those without length become no rotation."""
    require_kind(state, WorldState, "state", "normalize")
    made = state.copy()
    rows = state._manifold.quaternions
    length = np.linalg.norm(made._vector[rows], axis=-1, keepdims=True)
    unit = made._vector[rows] / np.where(length > 0.0, length, 1.0)
    made._vector[rows] = np.where(length > 0.0, unit, _NO_TURN)
    return made


def neutral(state: WorldState) -> WorldState:
    """The state of the same space with all numbers zero and no rotation."""
    require_kind(state, WorldState, "state", "neutral")
    made = state.copy()
    made._vector[:] = 0.0
    made._vector[state._manifold.quaternions] = _NO_TURN
    return made


def random(state: WorldState, rng: np.random.Generator, *, scale: float = 1.0) -> WorldState:
    """A state of the same space at random, within its bounds.

    Rotations are uniform over all of them; other numbers are uniform between their bounds, or from minus
    `scale` to `scale` of the nearer bound or of zero where there is none.

    Example:
        >>> import numpy as np
        >>> from worldline import simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> state = sx.state.random(world.get_state(world.state_space()), np.random.default_rng(1))
        >>> round(float(np.linalg.norm(state["box.pose"][3:])), 12)
        1.0
    """
    require_kind(state, WorldState, "state", "random")
    if not isinstance(rng, np.random.Generator):
        raise values.ShapeError(f"rng must be a numpy Generator, got {rng!r}")
    width = values.positive(scale, "scale")
    low, high = state._space.lower_bounds, state._space.upper_bounds
    start = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0) - width)
    end = np.where(np.isfinite(high), high, np.where(np.isfinite(low), low, 0.0) + width)
    made = state.copy()
    made._vector[:] = rng.uniform(start, end)
    turned = rng.normal(size=(*state._manifold.quaternions.shape[:1], 4))
    made._vector[state._manifold.quaternions] = turned
    spun = rng.normal(size=(*state._manifold.vectors.shape[:1], 4))
    made._vector[state._manifold.vectors] = log(spun / np.linalg.norm(spun, axis=-1, keepdims=True))
    return normalize(made)


def _require_alike(a: WorldState, b: WorldState) -> None:
    if not isinstance(a, WorldState) or not isinstance(b, WorldState):
        raise values.ShapeError(f"two WorldStates are needed, got {a!r} and {b!r}")
    if a._space is not b._space and a._space.variable_names != b._space.variable_names:
        raise ArgumentError(
            f"states of different spaces: {a._space.variable_names} and {b._space.variable_names}"
        )
    if a._manifold.tangent_dimension != b._manifold.tangent_dimension or len(a) != len(b):
        raise ArgumentError(f"states of different sizes: {len(a)} and {len(b)}")
