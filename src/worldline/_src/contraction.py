# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Which sums of products are rounded once, decided before anything is optimised.

    a * b + c   ->   fma(a, b, c)

Given the flag `contract`, LLVM fuses such a sum when it selects instructions. By then it has unrolled loops,
shared common values and turned selects into branches, each by the costs of a type on a processor: one world
and eight lanes have other blocks and other uses of a product, and would be rounded apart. So would be code
for two processors.

Here sums are fused in the code as it was written, which is the same for every scalar and processor but for
the type. The rule: a sum or difference takes up a product that nothing else uses, the first one where both
operands are. Structures that numbers pass through, and plain numbers that are spread over lanes, make no
difference. The flag is gone afterwards, so that LLVM may optimise but not change what is rounded.
"""

from __future__ import annotations

import re
from collections import Counter

from worldline._src.named_tuple import NamedTuple

_VALUE = re.compile(r'%(?:"[^"]*"|[-\w$.]+)')
_LINE = re.compile(r'\s+(%(?:"[^"]*"|[-\w$.]+)) = (\w+) (.*)')
_FLAGS = re.compile(r"(?:nnan|ninf|nsz|arcp|contract|afn|reassoc|fast) ")
_NUMBER = re.compile(r"(double|<\d+ x (?:double|float)>) (.*)")
_PLACE = re.compile(r"(.*?)((?:, \d+)+)$")
_FIRST_LANE = re.compile(r'<\d+ x double> (?:undef|poison), double (%(?:"[^"]*"|[-\w$.]+)), i\d+ 0$')
_ALL_LANES = re.compile(r'<\d+ x double> (%(?:"[^"]*"|[-\w$.]+)), .* zeroinitializer$')
_KNOWN = frozenset("fadd fsub fmul fneg extractvalue insertvalue insertelement shufflevector".split())
"""Sums, products, negatives, and what takes numbers into and out of structures and over lanes."""


class _Operation(NamedTuple):
    """A sum, product or negative, or what moves a number: into or out of a place of a structure, over lanes.

    `type` is that of the numbers, or the place; `free` says whether it may be fused.
    """

    name: str
    type: str
    operands: list[str]
    free: bool


def contract(text: str) -> str:
    """The code of a module with its sums fused; `text` is as LLVM prints it."""
    made: list[str] = []
    lines = text.split("\n")
    start, used = None, set()
    for k, line in enumerate(lines):
        if line.startswith("define "):
            start = k + 1
        elif line == "}" and start is not None:
            made += _Function(lines[start:k]).contracted(used)
            start = None
        if start is None or k < start:
            made.append(line)
    for kind in sorted(used):
        name = _intrinsic(kind)
        if f"declare {kind} @{name}(" not in text:
            made.append(f"declare {kind} @{name}({kind}, {kind}, {kind})")
    return "\n".join(made)


class _Function:
    """The lines of one function, and what they compute."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.operations: dict[str, _Operation] = {}
        self.sums: dict[int, tuple[str, _Operation]] = {}
        self.uses: Counter[str] = Counter()
        self.fresh = 0
        self._sources: dict[str, str] = {}
        used: Counter[str] = Counter()
        for k, line in enumerate(lines):
            found = _LINE.match(line)
            operation = _parsed(found[2], found[3]) if found else None
            if found and operation and operation.name in ("fadd", "fsub"):
                self.sums[k] = found[1], operation
            elif found and operation:
                self.operations[found[1]] = operation
                if operation.name == "fmul":
                    used.update(operation.operands)
                continue
            names = _VALUE.findall(line)
            used.update(names[1:] if found else names)
        left = list(used.items())
        while left:
            name, count = left.pop()
            name = self._source(name)
            operation = self.operations.get(name)
            # all that is in a structure that is used as a whole is used, once however often the whole is
            if operation is not None and operation.name != "fmul" and not self.uses[name]:
                left += [(other, 1) for other in operation.operands]
            self.uses[name] += count

    def _source(self, name: str) -> str:
        """Where a number comes from that is taken out of a structure or spread over lanes."""
        found = name
        while (operation := self.operations.get(found)) is not None:
            known = self._sources.get(found)
            if known is not None:
                found = known
                break
            if operation.name == "extractvalue":
                element = self._element(operation.operands[0], operation.type)
                if element is None:
                    break
                found = element
            elif operation.name == "shufflevector":
                first = self.operations.get(operation.operands[0])
                if first is None or first.name != "insertelement":
                    break
                found = first.operands[0]
            else:
                break
        self._sources[name] = found
        return found

    def _element(self, structure: str, place: str) -> str | None:
        """What was put into a place of a structure; None where that cannot be seen."""
        while (operation := self.operations.get(structure)) is not None:
            if operation.name == "extractvalue":
                # a structure out of another
                found = self._element(operation.operands[0], operation.type)
                if found is None:
                    return None
                structure = found
            elif operation.name == "insertvalue":
                if operation.type == place:
                    return operation.operands[1]
                if place.startswith(f"{operation.type}, "):
                    structure, place = operation.operands[1], place[len(operation.type) + 2 :]
                elif operation.type.startswith(f"{place}, "):
                    return None
                else:
                    structure = operation.operands[0]
            else:
                return None
        return None

    def _product(self, name: str) -> tuple[_Operation, bool] | None:
        """The product that a number is, if nothing else uses it, and whether it is its negative."""
        name, negative = self._source(name), False
        while (operation := self.operations.get(name)) is not None and self.uses[name] == 1:
            if not operation.free:
                return None
            if operation.name == "fmul":
                return operation, negative
            if operation.name != "fneg":
                return None
            name, negative = self._source(operation.operands[0]), not negative
        return None

    def contracted(self, used: set[str]) -> list[str]:
        """The lines with fused sums; `used` takes up the types of numbers that were fused."""
        made: list[str] = []
        for k, line in enumerate(self.lines):
            fused = self._fused(*self.sums[k]) if k in self.sums else None
            if fused is None:
                made.append(line.replace(" contract ", " "))
            else:
                used.add(self.sums[k][1].type)
                made += fused
        return made

    def _fused(self, result: str, total: _Operation) -> list[str] | None:
        """What stands for a sum that takes up a product; None when there is none."""
        if not total.free:
            return None
        for side in (0, 1):
            found = self._product(total.operands[side])
            if found is not None:
                break
        else:
            return None
        product, negative = found
        made: list[str] = []
        a, b = (self._spread(one, product.type, total.type, made) for one in product.operands)
        c = total.operands[1 - side]
        if total.name == "fsub":
            if side == 0:
                c = self._negative(c, total.type, made)
            else:
                negative = not negative
        if negative:
            a = self._negative(a, total.type, made)
        t = total.type
        made.append(f"  {result} = call nsz {t} @{_intrinsic(t)}({t} {a}, {t} {b}, {t} {c})")
        return made

    def _name(self) -> str:
        self.fresh += 1
        return f'%"contraction.{self.fresh}"'

    def _negative(self, value: str, kind: str, made: list[str]) -> str:
        name = self._name()
        made.append(f"  {name} = fneg nsz {kind} {value}")
        return name

    def _spread(self, value: str, kind: str, wanted: str, made: list[str]) -> str:
        """A factor in the type of the sum: a product of plain numbers may be added to lanes."""
        if kind == wanted:
            return value
        first, spread = self._name(), self._name()
        width = wanted.split(maxsplit=1)[0]
        made.append(f"  {first} = insertelement {wanted} poison, {kind} {value}, i32 0")
        made.append(
            f"  {spread} = shufflevector {wanted} {first}, {wanted} poison, {width} x i32> zeroinitializer"
        )
        return spread


def _parsed(name: str, rest: str) -> _Operation | None:
    """An operation from its text; None for those that do something else with numbers."""
    if name not in _KNOWN:
        return None
    rest = rest.partition(", !")[0]
    if name in ("fmul", "fadd", "fsub", "fneg"):
        found = _NUMBER.match(_FLAGS.sub("", rest))
        if found is None:
            return None
        operands = _split(found[2])
        if name == "fsub" and operands[0] == "-0.000000e+00":
            # how plain numbers are negated
            name, operands = "fneg", operands[1:]
        return _Operation(name, found[1], operands, name == "fneg" or "contract " in rest)
    if name in ("extractvalue", "insertvalue"):
        found = _PLACE.match(rest)
        assert found is not None, rest
        structure, place = found[1], found[2][2:]
        values = _VALUE.findall(structure)
        if name == "extractvalue":
            return _Operation(name, place, values[:1] or [""], True)
        # either operand may be a constant
        value = values.pop() if values and structure.endswith(values[-1]) else ""
        return _Operation(name, place, [values[0] if values else "", value], True)
    # a number is spread over lanes in two steps: it becomes the first lane, and that is copied to all
    spread = (_FIRST_LANE if name == "insertelement" else _ALL_LANES).match(rest)
    return None if spread is None else _Operation(name, "", [spread[1]], True)


def _split(text: str) -> list[str]:
    """The operands of an operation on numbers; constants of lanes have commas within brackets."""
    found, depth, start = [], 0, 0
    for k, letter in enumerate(text):
        if letter in "(<":
            depth += 1
        elif letter in ")>":
            depth -= 1
        elif letter == "," and depth == 0:
            found.append(text[start:k])
            start = k + 2
    return [*found, text[start:]]


def _intrinsic(kind: str) -> str:
    """The function that rounds a * b + c once, and twice on processors that cannot."""
    count = kind[1 : kind.index(" ")] if kind.startswith("<") else ""
    bits = 32 if "float" in kind else 64
    return f"llvm.fmuladd.v{count}f{bits}" if count else "llvm.fmuladd.f64"
