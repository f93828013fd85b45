# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""`typing.NamedTuple` that is defined quickly.

A process that steps a world defines three hundred named tuples, most of them views that compiled code alone
makes. Those of the standard library write and compile a constructor for each and check every annotation,
which took a tenth of the time to the first step. Here the constructor is written when it is first asked for;
instances, `_fields`, `_replace`, keywords, defaults and pickles are as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import _tuplegetter

    class _Constructor:
        """The `__new__` of a class, written for its fields when it is first asked for."""

        def __get__(self, instance, owner):
            fields = ", ".join(owner._fields)
            comma = "," if len(owner._fields) == 1 else ""
            scope = {"_new": tuple.__new__, "__builtins__": {}, "__name__": owner.__module__}
            made = eval(f"lambda _cls, {fields}: _new(_cls, ({fields}{comma}))", scope)
            made.__defaults__ = tuple(owner._field_defaults.values())
            made.__name__, made.__qualname__ = "__new__", f"{owner.__name__}.__new__"
            made.__annotations__ = dict(owner.__annotations__)
            owner.__new__ = staticmethod(made)
            return made

    class _NamedTupleType(type):
        """Makes classes of named tuples from annotated class bodies."""

        def __new__(cls, name, bases, namespace):
            fields = tuple(namespace.get("__annotations__", {}))
            defaults = {field: namespace.pop(field) for field in fields if field in namespace}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"fields of {name} without a default follow one with a default")
            if any(field.startswith("_") for field in fields):
                raise ValueError(f"fields of {name} cannot start with an underscore")
            namespace |= {field: _tuplegetter(k, "") for k, field in enumerate(fields)}
            namespace |= {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            return type.__new__(type, name, (_Methods,), {"__slots__": (), **namespace})

    class _Methods(tuple):
        """What all named tuples have."""

        __slots__ = ()
        __new__ = _Constructor()

        @classmethod
        def _make(cls, values):
            """An instance from a sequence of all fields."""
            return cls(*values)

        def _replace(self, /, **changes):
            """A copy with other values of the fields named."""
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self):
            """The fields by name."""
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            inside = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({inside})"

        def __getnewargs__(self):
            return tuple(self)

    NamedTuple = type.__new__(_NamedTupleType, "NamedTuple", (), {})
