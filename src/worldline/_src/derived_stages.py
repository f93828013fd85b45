# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Stages derived from kernels: the names of a kernel's parameters say what it gets.

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

import sys
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, TypeAlias

from worldline._src.jit import Stage, kernel
from worldline._src.kernel_cache import Derivation


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
        return self._stage(function.__name__, kernel(function), (function.__doc__ or "").strip(), {})

    def of(self, run: Callable[..., None], name: str, doc: str, **given: str | float) -> Stage:
        """A stage that runs one kernel.

        Parameters are operands of the same name, less `_out` and `_io`; `given` says which other operand or
        number a parameter is: `of(difference, "spring_displacements", "...", q_other="q_rest")`.
        """
        return self._stage(name, run, doc, given)

    def _stage(self, name: str, run: Any, doc: str, given: Mapping[str, str | float]) -> Stage:
        return Stage(name, doc, lambda: _Source(self.parts, given).function(name, run))


class _Source:
    """The text of a stage while it is written."""

    def __init__(self, parts: tuple[Part, ...], given: Mapping[str, str | float]) -> None:
        self.parts, self.given = parts, given
        self.lines: list[str] = []
        self.known: dict[str, str] = {}
        self.scope: dict[str, Any] = {}
        self.modules: set[str] = set()
        self.helpers: list[Any] = []

    def function(self, name: str, run: Any) -> FunctionType:
        """The stage as a function of four arenas."""
        plain = getattr(run, "py_func", run)
        code = plain.__code__
        operands = [self.parameter(each) for each in code.co_varnames[: code.co_argcount]]
        self.helpers.append(plain)
        self.scope["run"] = run
        call = f"    run({', '.join(operands)})"
        text = "\n".join([f"def {name}(m, c, args, d):", *self.lines, call, ""])
        # errors of the compiler lead to the kernel
        exec(compile("\n" * (code.co_firstlineno - 1) + text, code.co_filename, "exec"), self.scope)
        made = self.scope[name]
        about = f"{text}# {plain.__module__}.{plain.__qualname__}"
        vars(made)["derivation"] = Derivation(about, tuple(sorted(self.modules)), tuple(self.helpers))
        return made

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
        plain = getattr(view, "py_func", view)
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
        taken = plain.__code__.co_varnames[: plain.__code__.co_argcount]
        return self.once(f"{letter}_{label}".lstrip("_"), view, ", ".join(f"{letter}{a}" for a in taken))

    def once(self, label: str, value: Any, arguments: str) -> str:
        """The variable that has the value of a call, which is made once."""
        if label not in self.known:
            self.scope[label] = value
            self.known[label] = variable = f"x{len(self.known)}"
            self.lines.append(f"    {variable} = {label}({arguments})")
        return self.known[label]
