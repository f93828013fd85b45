# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages derived from kernels: operands follow from the names of a kernel's parameters.

`kinematics(tree, joint, q, pos_out)` becomes a stage over arenas without another line about its arrays:
`tree` is a view of the model's arenas, `q` an array of one of them. The tables of these names are
`kernels/narrowphase/operands.py` and, in `step`, `tree_operands.py`, `constraint_operands.py` and
`sensor_operands.py`. The stage is a function of four arenas as it would be written by hand,

    def positions(m, c, args, d):
        operand = operand_view(m, c, d)
        kinematics(tree_view(m, c, d), joint_view(m, c, d), operand.q, position_view(m, c, d))

and is made when it is first compiled or called.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

from worldline._src.helpers import DISABLED, WrittenHelper
from worldline._src.jit import Stage, kernel
from worldline._src.kernel_cache import Derivation
from worldline._src.named_tuple import NamedTuple


class Cut(NamedTuple):
    """A view of arenas, or what a path leads to in it: `Cut(operand_view, "q")`."""

    view: Callable[..., Any]
    path: str = ""


class Made(NamedTuple):
    """A tuple of operands, by their names."""

    kind: type[Any]
    names: tuple[str, ...]


Operand: TypeAlias = Cut | Made


def made_of(kind: type[Any], names: str) -> Made:
    """A named tuple of operands: `made_of(Damped, "chain passive drive")`."""
    return Made(kind, tuple(names.split()))


class Part(NamedTuple):
    """Arenas of a stage: its own, or those that `reach` finds by the addresses in its `args`.

    `module` has the views that are cut from them, `letter` tells the names of these arenas apart.
    """

    operands: Mapping[str, Operand]
    module: ModuleType
    letter: str = ""
    reach: Callable[..., Any] | None = None


class StageMaker:
    """Makes stages of kernels over the arenas of one part of a step, which reach those of others."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    def __call__(self, function: Callable[..., None]) -> Stage:
        """Decorate a function of operands."""
        return self._stage(function.__name__, kernel(function), {}, function.__module__)

    def of(self, run: Callable[..., None], *, name: str = "", **given: str | float) -> Stage:
        """A stage that runs one kernel, described and, when no other name is given, named as the kernel is.

        Parameters are operands of the same name, less `_out` and `_io`; `given` says which other operand or
        number a parameter is: `of(difference, name="spring_displacements", q_other="q_rest")`.
        """
        return self._stage(name or run.__name__, run, given, sys._getframe(1).f_globals["__name__"])

    def _stage(self, name: str, run: Any, given: Mapping[str, str | float], module: str) -> Stage:
        """A stage that a module defines; other processes import it to compile the stage."""
        doc = (getattr(run, "py_func", run).__doc__ or "").strip()
        return Stage(name, doc, lambda: _Source(self.parts, given, module).function(name, run))


class _DerivedFunction:
    """The function of a derived stage, known by its text until it is compiled or called."""

    def __init__(
        self, name: str, text: str, code: CodeType, scope: dict[str, Any], derivation: Derivation
    ) -> None:
        self.__name__, self.__module__ = name, scope["__name__"]
        # file and line are those of the kernel
        self.__code__ = code
        self.derivation = derivation
        self._text, self._scope = text, scope

    def __call__(self, m: Any, c: Any, args: Any, d: Any) -> None:
        self.py_func(m, c, args, d)

    @functools.cached_property
    def py_func(self) -> FunctionType:
        """The function itself; errors of the compiler lead to the kernel."""
        lines = "\n" * (self.__code__.co_firstlineno - 1)
        exec(compile(lines + self._text, self.__code__.co_filename, "exec"), self._scope)
        made = self._scope[self.__name__]
        vars(made)["derivation"] = self.derivation
        return made


class _Source:
    """The text of a stage while it is written."""

    def __init__(self, parts: tuple[Part, ...], given: Mapping[str, str | float], module: str) -> None:
        self.parts, self.given = parts, given
        self.lines: list[str] = []
        self.known: dict[str, str] = {}
        self.scope: dict[str, Any] = {"__name__": module}
        self.modules: set[str] = set()
        self.helpers: list[Any] = []

    def function(self, name: str, run: Any) -> Any:
        """The stage as a function of four arenas."""
        plain = getattr(run, "py_func", run)
        code = plain.__code__
        operands = [self.parameter(each) for each in _parameters(plain)]
        self.helpers.append(plain)
        self.scope["run"] = run
        call = f"    run({', '.join(operands)})"
        text = "\n".join([f"def {name}(m, c, args, d):", *self.lines, call, ""])
        about = f"{text}# {plain.__module__}.{plain.__qualname__}"
        derivation = Derivation(about, tuple(sorted(self.modules)), tuple(self.helpers))
        made = _DerivedFunction(name, text, code, self.scope, derivation)
        # where kernels run as plain Python, that is what is called
        return made.py_func if DISABLED else made

    def parameter(self, name: str) -> str:
        """The expression of a parameter of the kernel."""
        if name in ("m", "c", "args", "d"):
            return name
        plain = name.removesuffix("_out").removesuffix("_io")
        meant = self.given.get(name, self.given.get(plain, plain))
        return self.operand(meant) if isinstance(meant, str) else repr(meant)

    def operand(self, name: str) -> str:
        """The expression of an operand."""
        for part in self.parts:
            found = part.operands.get(name)
            if isinstance(found, Cut):
                view = self.view(part, found.view)
                return f"{view}.{found.path}" if found.path else view
            if isinstance(found, Made):
                self.helpers.append(found.kind)
                return self.once(
                    found.kind.__name__, found.kind, ", ".join(self.operand(each) for each in found.names)
                )
        raise LookupError(f"no part of this stage has an operand {name!r}")

    def view(self, part: Part, view: Any) -> str:
        """The variable of a view, which is cut at the first use."""
        plain = view if isinstance(view, WrittenHelper) else getattr(view, "py_func", view)
        if isinstance(sys.modules.get(plain.__module__ or ""), ModuleType) and plain.__module__ != "builtins":
            self.helpers.append(plain)
            label = plain.__name__.lstrip("_")
        else:
            self.modules.add(part.module.__name__)
            label = next(name for name, value in vars(part.module).items() if value is view)
        letter = part.letter
        if part.reach is not None and part.reach.__name__ not in self.scope:
            self.scope[part.reach.__name__] = part.reach
            self.helpers.append(getattr(part.reach, "py_func", part.reach))
            arenas = "m c args d" if letter == "r" else "m c d"
            names = ", ".join(f"{letter}{arena}" for arena in arenas.split())
            self.lines.append(f"    {names} = {part.reach.__name__}(args, d)")
        taken = plain.parameters if isinstance(plain, WrittenHelper) else _parameters(plain)
        return self.once(f"{letter}_{label}".lstrip("_"), view, ", ".join(f"{letter}{a}" for a in taken))

    def once(self, label: str, value: Any, arguments: str) -> str:
        """The variable that has the value of a call, which is made once."""
        if label not in self.known:
            self.scope[label] = value
            self.known[label] = variable = f"x{len(self.known)}"
            self.lines.append(f"    {variable} = {label}({arguments})")
        return self.known[label]


def _parameters(function: Any) -> tuple[str, ...]:
    """Names of the parameters of a function."""
    return function.__code__.co_varnames[: function.__code__.co_argcount]
