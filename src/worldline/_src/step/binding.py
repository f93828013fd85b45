# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Functions on arrays bound to the arrays of one world: operands are checked once, then called many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, SupportsIndex

import numpy as np

from worldline._src.errors import ArgumentError, CapabilityError, OperationError, require_kind
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array
from worldline._src.step import runner
from worldline._src.step.evaluate import Binding, Prepared


class BoundCall:
    """A function of the array layer with its model, operands and result; made by `bind`.

    Calling it evaluates the function on what is in the operands now, writes `out` and returns it.
    """

    __slots__ = ("_model", "_names", "_prepared", "_run", "_scratch", "_token", "out")

    def __init__(self, model: Model, prepared: Prepared) -> None:
        require_kind(model, Model, "model", "BoundCall")
        if not isinstance(prepared, Prepared):
            raise ArgumentError(f"a BoundCall is made by `bind`, not from {prepared!r}")
        self._model, self._prepared = model, prepared
        self._names = prepared.names
        # with the lock of the interpreter: another thread runs before or after
        self._run = runner.bound(prepared.call)
        self._scratch = model.scratch
        self.out: Array = prepared.out
        """The result, the same array for every call."""
        self._token = model.scratch.setdefault("bindings", object())

    def __call__(self) -> Array:
        try:
            if self._scratch["bindings"] is not self._token:
                self._renew()
        except KeyError:
            self._renew()
        bad = self._run()
        if bad != -1:
            raise ArgumentError(f"{self._names[bad % 4]} must be finite; it is not")
        return self.out

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise OperationError("a BoundCall can be neither copied nor pickled: bind the function anew")

    def _renew(self) -> None:
        """Parameters of the model changed: look again whether it still can be evaluated."""
        self._prepared.check(self._model)
        self._token = self._model.scratch.setdefault("bindings", object())

    def __repr__(self) -> str:
        return f"BoundCall({self._prepared.name}, {', '.join(self._names)})"


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
