# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Functions on arrays bound to the arrays of one world: operands are checked once, then called many times."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn, SupportsIndex

import numpy as np

from worldline._src.errors import (
    ArgumentError,
    CapabilityError,
    OperationError,
    refuse_unknown_attribute,
    require_kind,
)
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array
from worldline._src.step import runner
from worldline._src.step.evaluate import Binding, Prepared


class BoundCall(functools.partial[Array]):
    """A function of the array layer with its model, operands and result; made by `bind`.

    Calling it evaluates the function on what is in the operands now, writes `out` and returns it.
    """

    # a partial of a closure costs a sixth less than a method that looks the same up in attributes
    __slots__ = ("_prepared",)
    _prepared: Prepared

    def __new__(cls, model: Model, prepared: Prepared) -> BoundCall:
        require_kind(model, Model, "model", "BoundCall")
        if not isinstance(prepared, Prepared):
            raise ArgumentError(f"a BoundCall is made by `bind`, not from {prepared!r}")
        made = super().__new__(cls, _evaluation(model, prepared))
        made._prepared = prepared
        return made

    @property
    def out(self) -> Array:
        """The result, the same array for every call."""
        return self._prepared.out

    def __setattr__(self, name: str, value: Any) -> None:
        refuse_unknown_attribute(self, name, dir(type(self)))
        super().__setattr__(name, value)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise OperationError("a BoundCall can be neither copied nor pickled: bind the function anew")

    def __repr__(self) -> str:
        return f"BoundCall({self._prepared.name}, {', '.join(self._prepared.names)})"


def _evaluation(model: Model, prepared: Prepared) -> Callable[[], Array]:
    """What a BoundCall does."""
    scratch, names, out = model.scratch, prepared.names, prepared.out
    # with the lock of the interpreter: another thread runs before or after
    run = runner.bound(prepared.call)
    token = scratch.setdefault("bindings", object())

    def call() -> Array:
        nonlocal token
        try:
            is_known = scratch["bindings"] is token
        except KeyError:
            is_known = False
        if not is_known:
            # parameters of the model changed: it may be one that cannot be evaluated
            prepared.check(model)
            token = scratch.setdefault("bindings", object())
        bad = run()
        if bad != -1:
            raise ArgumentError(f"{names[bad % 4]} must be finite; it is not")
        return out

    return call


def bind(
    function: Callable[..., Array], model: Model, *operands: Any, out: Array | None = None, **options: Any
) -> BoundCall:
    """Bind a function on arrays, such as `forward_dynamics`, to arrays that are written in between calls.

    A call of the result costs an eighth of a microsecond beyond its kernel: the arrays were checked when it
    was bound, and calls only look whether numbers are finite. After `Model.update` calls have the new
    parameters. No other thread runs during a call.

    Args:
        function: a function of `worldline.model` that takes a model, operands and `out`.
        model: the model.
        operands: what the function takes, of one world. Arrays must be contiguous, aligned float64 arrays of
            the very shape; write into them before a call. Numbers, names and tuples stay as they are.
        out: where to put the result; a new array when None.
        options: other keywords of the function, such as `axes` of `jacobian`.

    Raises:
        ArgumentError: an array that would have to be copied, or of another shape.
        CapabilityError: a function that evaluates more than its operands.

    Example:
        >>> import numpy as np
        >>> from worldline.model import ModelBuilder, bind, forward_dynamics
        >>> builder = ModelBuilder()
        >>> bob = builder.add_link(mass=1.0, com=(0, 0, -1))
        >>> hinge = builder.add_joint_revolute(parent=-1, child=bob, axis=(0, 1, 0))
        >>> _ = builder.add_articulation([hinge])
        >>> q, qd, tau = np.zeros(1), np.zeros(1), np.zeros(1)
        >>> accelerations = bind(forward_dynamics, builder.finalize(), q, qd, tau)
        >>> q[0] = 0.1
        >>> accelerations().round(3)
        array([-0.979])
    """
    require_kind(model, Model, "model", "bind")
    if not callable(function):
        raise ArgumentError(f"bind takes a function such as forward_dynamics, got {function!r}")
    binding = Binding(tuple(x for x in operands if isinstance(x, np.ndarray)), out)
    made = function(model, *operands, out=binding, **options)
    if not isinstance(made, Prepared):
        name = getattr(function, "__name__", repr(function))
        raise CapabilityError(f"{name} cannot be bound: it is no evaluation of its operands alone")
    return BoundCall(model, made)
