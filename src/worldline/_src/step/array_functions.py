# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Common keywords of functions of a Model and arrays, and the check of the Model."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypedDict, TypeVar, cast

from worldline._src.errors import require_kind
from worldline._src.keywords import expanded_signature, unexpected
from worldline._src.model.model import Model
from worldline._src.spatial.poses import Array

F = TypeVar("F", bound=Callable[..., Any])


class Evaluation(TypedDict, total=False):
    """How a function is evaluated: keywords that `evaluate` takes.

    Attributes:
        out: where to put the result.
        threads: worlds are spread over this many threads; 0 for all processors.
        lanes: worlds per instruction; None for what the processor has.
    """

    out: Array | None
    threads: int
    lanes: int | None


_DEFAULTS: Evaluation = {"out": None, "threads": 1, "lanes": None}


def array_function(function: F) -> F:
    """A function of a Model and arrays, with the keywords of `Evaluation` in its signature."""
    name, signature = function.__name__, expanded_signature(function, Evaluation, _DEFAULTS)

    known = frozenset(signature.parameters)

    # one wrapper for both checks: a call should not cost more than its kernel
    @wraps(function)
    def call(model: Model, *args: Any, **named: Any) -> Any:
        if not isinstance(model, Model):
            require_kind(model, Model, "model", name)
        if named and not known.issuperset(named):
            raise unexpected(named, known, name)
        return function(model, *args, **named)

    call.__dict__["__signature__"] = signature
    return cast("F", call)
