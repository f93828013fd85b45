# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Keywords that several functions share: declared once, and still part of the signature of each.

A function takes them as `**keywords: Unpack[Evaluation]`, where `Evaluation` is a `TypedDict`, and hands them
on. Type checkers see every keyword; `shared_keywords` shows them to `help` and `inspect` with their defaults
and refuses others under the function's own name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def expanded_signature(
    function: Callable[..., Any], shared: type, defaults: Mapping[str, Any]
) -> inspect.Signature:
    """The signature of a function with the keywords of `shared` in the place of its `**keywords`."""
    written = inspect.signature(function)
    *own, _ = written.parameters.values()
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults[name],
            annotation=getattr(annotation, "__forward_arg__", annotation),
        )
        for name, annotation in shared.__annotations__.items()
    ]
    return written.replace(parameters=[*own, *added])


def unexpected(named: Mapping[str, Any], known: Collection[str], function: str) -> TypeError:
    """The error of a call with keywords that a function does not have, in the words of Python."""
    unknown = next(name for name in named if name not in known)
    return TypeError(f"{function}() got an unexpected keyword argument {unknown!r}")


def shared_keywords(shared: type, **defaults: Any) -> Callable[[F], F]:
    """Decorates a function whose last parameter is `**keywords: Unpack[shared]`."""

    def decorate(function: F) -> F:
        signature = expanded_signature(function, shared, defaults)
        known = frozenset(signature.parameters)

        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            if not known.issuperset(named):
                raise unexpected(named, known, function.__qualname__)
            return function(*args, **named)

        call.__dict__["__signature__"] = signature
        return cast("F", call)

    return decorate
