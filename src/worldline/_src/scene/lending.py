# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Parts that many objects of a scene have alike, and share until somebody asks for one.

Most geoms of a robot have the same material and most joints the same limit force, each of half a dozen
objects of its own. A reader lends such a part to all of them: it stands under `LENT` and not among the fields
of its borrower. Whoever asks a borrower for it, by its ordinary name, gets a copy, and from then on the
borrower owns that copy. So nothing can be changed in two places at once, and what nobody asks for is made
once, looked at once, and never copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

LENT: Final = "_lent"
"""Where an object keeps what is lent to it: loans by the name of the field."""


class Loan:
    """A part that is lent out.

    Args:
        value: The part; nobody may change it.
        maker: What finds out how to copy it, which is only asked when somebody wants a copy.

    Attributes:
        value: The part.
        is_sound: Whether it was looked at, and nothing in it needs to be looked at ever again.
    """

    __slots__ = ("_make", "_maker", "is_sound", "value")

    def __init__(self, value: Any, maker: Callable[[Any], Callable[[], Any] | None]) -> None:
        self.value = value
        self.is_sound = False
        self._maker = maker
        self._make: Callable[[], Any] | None = None

    def copy(self) -> Any:
        """A copy for somebody to own."""
        if self._make is None:
            self._make = self._maker(self.value)
        return self.value if self._make is None else self._make()


Loans = dict[str, Loan]


def peek(owner: Any, name: str) -> Any:
    """What a field holds, be it lent or owned; only to look at."""
    values = owner.__dict__
    return values[name] if name in values else values[LENT][name].value


def peek_all(owners: Iterable[Any], name: str) -> list[Any]:
    """What a field of each owner holds; see `peek`."""
    return [fields[name] if name in fields else fields[LENT][name].value for fields in map(vars, owners)]


def ask(owner: Any, name: str) -> Any:
    """A copy of what is lent to a field, which from now on is the owner's; `KeyError` when nothing is."""
    values = owner.__dict__
    # one of two threads that ask at the same time makes its copy in vain
    return values.setdefault(name, values[LENT][name].copy())


def owned(owner: Any) -> dict[str, Any]:
    """All fields of an object, after it took a copy of everything that is lent to it."""
    values: dict[str, Any] = owner.__dict__
    loans: Loans | None = values.get(LENT)
    if loans is not None:
        for name, loan in loans.items():
            if name not in values:
                values.setdefault(name, loan.copy())
        values.pop(LENT, None)
    return values
