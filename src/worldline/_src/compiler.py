# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The one caller of the compiler; imported when something has to be compiled, and only then.

Everything is compiled with one set of floating-point flags, and what the flag `contract` allows is done here,
before LLVM optimises anything (`contraction.py`). So numbers are rounded as the source says: one world and a
lane have equal bits, on every processor. Nothing may allocate: the memory manager is off, so an allocation is
a compile error.

Helpers become intermediate code of the compiler alone, which their callers merge; whole units are optimised
and made into machine code. It is called through its address and needs nothing of the compiler or of Python,
so that object code can be kept in a file and linked into a library. A function that Python calls (`entry`)
gets a wrapper for that: it finds the arrays in the tuple of operands by the documented layout of NumPy
arrays, and refuses others than those it was compiled for.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numba
from llvmlite import binding as llvm
from llvmlite import ir
from numba import types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template
from numba.extending import intrinsic
from numba.np import arrayobj

from worldline._src import processor
from worldline._src.contraction import contract
from worldline._src.kinds import Kind
from worldline._src.named_tuple import NamedTuple
from worldline._src.operands import FAILED, NUMBERS, REFUSED, flatten

FASTMATH = {"contract", "nsz"}
"""Floating-point freedoms, the same for every scalar: to fuse products with sums, to drop the sign of zero.

LLVM would take others, such as reciprocals in place of divisions, where they pay, which is not the same for
one world and for lanes.
"""

OPTIONS: dict[str, Any] = {"fastmath": FASTMATH, "error_model": "numpy", "nogil": True, "_nrt": False}
UNIT_OPTIONS: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
INLINE_OPTIONS: dict[str, Any] = {**UNIT_OPTIONS, "forceinline": True}

LOWERING = "worldline._src.scalar.lowering"
"""What the compiler knows of scalars and views; it stands above this file, so it is imported by its name."""


class Compiled(NamedTuple):
    """Machine code of one function: its object file, its symbol there, and what it returns."""

    image: bytes
    symbol: str
    result: str


def lowers(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Register the compiled form of a plain function: a typing function that returns a signature and code."""

    def register(definition: Any) -> Any:
        template = make_intrinsic_template(
            function, definition, function.__name__, prefer_literal=False, kwargs={}
        )
        infer(template)
        infer_global(function, types.Function(template))
        return definition

    return register


def dispatcher(function: Callable[..., Any], merged: bool) -> Any:
    """The compiler's object for a helper that kernels call; `merged` into its callers, or on its own."""
    return numba.njit(**(INLINE_OPTIONS if merged else UNIT_OPTIONS))(function)


_NUMBERS = {
    "float64": types.float64,
    "float32": types.float32,
    "int64": types.int64,
    "boolean": types.boolean,
}


def _resolve(kind: Kind) -> Any:
    """The type of a scalar as a kernel names it."""
    return numba.typeof(type_of(kind))


def type_of(kind: Kind) -> Any:
    """The compiler's type of the numbers of a scalar."""
    if kind.name in _NUMBERS:
        return _NUMBERS[kind.name]
    importlib.import_module(kind.lowering)
    return importlib.import_module(LOWERING).SCALARS[kind.name]


Kind.resolve = staticmethod(_resolve)


def compile_stage(function: Callable[..., None], kind: Kind) -> Compiled:
    """Machine code of `function(m, c, args, d)` over arenas whose data is of a scalar."""
    lowering = importlib.import_module(LOWERING)
    integers, constants = types.CPointer(types.int64), types.CPointer(types.float64)
    data = types.CPointer(type_of(kind))
    if kind.own_constants:
        constants, data = data, lowering.memory.OwnConstantsPointer(type_of(kind))
    signature = (integers, constants, integers, data)
    with _units_alone() as machine:
        made = numba.njit(**UNIT_OPTIONS)(function)
        made.compile(signature)
        code = made.overloads[signature]
        return Compiled(machine.object_code(code.library), code.fndesc.llvm_func_name, "")


# ---- machine code of units, and of nothing else


class _Library(JITCodeLibrary):
    """Intermediate code of a function and of what it calls, without machine code.

    The compiler would optimise every helper as soon as something calls it, and make machine code of it: of
    each operation on scalars, of what uses that, and so on up to the unit, all of it merged into the unit and
    never called. Besides, loops of optimised helpers are unrolled, before sums are fused.
    """

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Merge helpers, and remove what then has no use; all of it the same for every scalar."""
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_sccp_pass()
        passes.add_aggressive_dce_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(self._final_module, self._codegen._pass_builder())

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0


class _Machine(JITCPUCodegen):
    """The processor that code is made for."""

    _library_class = _Library

    def _get_host_cpu_name(self) -> str:
        return processor.target().name

    def _get_host_cpu_features(self) -> str:
        return processor.target().features

    def _customize_tm_options(self, options: dict[str, Any]) -> None:
        super()._customize_tm_options(options)
        if processor.is_x86():
            # for libraries: absolute addresses would be written into their pages when they are loaded
            options |= {"reloc": "pic", "codemodel": "small"}

    def set_env(self, env_name: str, env: Any) -> None:
        """Nothing here uses the environment of Python functions."""

    def object_code(self, library: _Library) -> bytes:
        """The object file of a library."""
        library._ensure_finalized()
        module = llvm.parse_assembly(contract(str(library._final_module)))
        # loops that are rotated and simplified once are unrolled better by the next run of all passes
        for cost in ("cheap", None):
            passes, builder = self._module_pass_manager(cost=cost)
            passes.run(module, builder)
        module.verify()
        return bytes(self._tm.emit_object(module))


@functools.cache
def _machine() -> _Machine:
    return _Machine("worldline")


_OWN = "_ZN9worldline"
"""How symbols of functions of this package begin."""
_usual_index = arrayobj.fix_integer_index


def _index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """An index of an array. Of those that kernels of this package compute, none counts from the end.

    Finding out costs as much as the access itself, an eighth of a step. Functions of users may count so.
    """
    if not kind.signed or isinstance(index, ir.Constant) or not builder.function.name.startswith(_OWN):
        return _usual_index(context, builder, kind, index, size)
    return context.cast(builder, index, kind, types.intp)


@contextlib.contextmanager
def _units_alone() -> Iterator[_Machine]:
    """Make machine code of units alone, while whatever else uses the compiler waits."""
    with global_compiler_lock:
        context: Any = cpu_target.target_context
        machine, usual = _machine(), context._internal_codegen
        context._internal_codegen, arrayobj.fix_integer_index = machine, _index
        try:
            yield machine
        finally:
            context._internal_codegen, arrayobj.fix_integer_index = usual, _usual_index


# ---- functions that Python calls


def compile_entry(function: Callable[..., Any], operands: tuple[Any, ...]) -> Compiled:
    """Machine code of a function of arrays and numbers, in the form that `jit.Entry` calls.

    `operands` describes them: names of types as in "float64[:, ::1]" and "int64", tuples (class,
    descriptions) for named tuples. The wrapper is a C function of the layout of objects, the tuple of
    operands, the cell for a result that is no whole number, and the numbers. It returns the whole number that
    is the result, or REFUSED + k when operand k, counted through named tuples, is not what it must be.
    """
    importlib.import_module(LOWERING)
    results: list[str] = []
    scope: dict[str, Any] = {"function": numba.njit(**UNIT_OPTIONS)(function), "put": _put(results)}
    scope |= {"is_array": _is_array, "fits": _fits, "array": _array}
    flat = flatten(operands)
    numbers = [k for k, (_, name) in enumerate(flat) if "[" not in name]
    checks, values = [], []
    for k, (path, name) in enumerate(flat):
        if "[" in name:
            dtype, ndim = name.split("[")[0], name.count(",") + 1
            scope[f"T{k}"] = types.Array(_NUMBERS[dtype], ndim, "C")
            at = f"layout, operands, '{' '.join(map(str, path))}'"
            checks.append(f"    if not is_array({at}) or not fits({at}, {ndim}, {3 + NUMBERS.index(dtype)}):")
            checks.append(f"        return {REFUSED + k}")
            values.append(f"array({at}, T{k})")
        else:
            values.append(f"x{k} != 0" if name == "boolean" else f"x{k}")
    call = _call(operands, iter(values), scope)
    names = ", ".join(["layout", "operands", "cell", *(f"x{k}" for k in numbers)])
    lines = [f"def wrapper({names}):", *checks, f"    return put(cell, function({call}))"]
    exec(compile("\n".join(lines), f"<operands of {function.__name__}>", "exec"), scope)
    scope["wrapper"].__name__ = scope["wrapper"].__qualname__ = f"{function.__name__}_entry"
    kinds = [types.float64 if flat[k][1] == "float64" else types.int64 for k in numbers]
    cell = types.CPointer(types.int64)
    signature = (types.CPointer(types.int64), types.int64, cell, *kinds)
    with _units_alone() as machine:
        made = numba.njit(**UNIT_OPTIONS)(scope["wrapper"])
        made.compile(signature)
        return _c_function(machine, made.overloads[signature], results[0])


def _c_function(machine: _Machine, code: Any, result: str) -> Compiled:
    """A function in the convention of C around one in the compiler's own, which returns whether it failed."""
    context = code.target_context
    symbol = f"{code.fndesc.unique_name}_c"
    library = machine.create_library(symbol)
    library.add_linking_library(code.library)
    module = library.create_ir_module(symbol)
    convention, kinds = context.call_conv, code.fndesc.argtypes
    inner = ir.Function(module, convention.get_function_type(types.int64, kinds), code.fndesc.llvm_func_name)
    values = [context.get_value_type(kind) for kind in kinds]
    outer = ir.Function(module, ir.FunctionType(ir.IntType(64), values), symbol)
    builder = ir.IRBuilder(outer.append_basic_block())
    status, value = convention.call_function(builder, inner, types.int64, kinds, outer.args)
    builder.ret(builder.select(status.is_error, ir.Constant(ir.IntType(64), FAILED), value))
    library.add_ir_module(module)
    library.finalize()
    return Compiled(machine.object_code(library), symbol, result)


def _call(operands: tuple[Any, ...], values: Any, scope: dict[str, Any]) -> str:
    """Source of the arguments of a call, with named tuples put together again."""
    parts = []
    for one in operands:
        if isinstance(one, str):
            parts.append(next(values))
        else:
            kind, inside = one[0], _call(one[1], values, scope)
            if kind is tuple:
                parts.append(f"({inside},)")
            else:
                scope[kind.__name__] = kind
                parts.append(f"{kind.__name__}({inside})")
    return ", ".join(parts)


def _load(builder: Any, base: Any, offset: Any, bits: int = 64) -> Any:
    """The integer at an address and an offset."""
    if isinstance(offset, int):
        offset = ir.Constant(ir.IntType(64), offset)
    address = builder.inttoptr(builder.add(base, offset), ir.IntType(bits).as_pointer())
    return builder.load(address)


def _layout(builder: Any, layout: Any, k: int) -> Any:
    """A number of the table that tells how objects are laid out; see `jit.Entry`."""
    return builder.load(builder.gep(layout, [ir.Constant(ir.IntType(64), k)]))


def _object(builder: Any, layout: Any, operands: Any, path: str) -> Any:
    """Where the fields of an object in nested tuples begin, after its header."""
    found = operands
    for k in path.split():
        found = _load(builder, builder.add(found, _layout(builder, layout, 1)), 8 * int(k))
    return builder.add(found, _layout(builder, layout, 0))


# fields of a NumPy array after its header, PyArrayObject_fields of its C interface:
# data, nd (32 bits), dimensions, strides, base, descr, flags (32 bits)
_DATA, _NDIM, _DIMENSIONS, _DESCR, _FLAGS = 0, 8, 16, 40, 48
_WANTED = 0x101
"""Flags of arrays that are C-contiguous and aligned."""


@intrinsic(prefer_literal=True)
def _is_array(typingctx, layout, operands, path):
    def codegen(context, builder, sig, args):
        body = _object(builder, args[0], args[1], path.literal_value)
        # the type of an object is the last field of its header
        return builder.icmp_unsigned("==", _load(builder, body, -8), _layout(builder, args[0], 2))

    return types.boolean(layout, operands, path), codegen


@intrinsic(prefer_literal=True)
def _fits(typingctx, layout, operands, path, ndim, dtype):
    def codegen(context, builder, sig, args):
        body = _object(builder, args[0], args[1], path.literal_value)
        count, wanted = (ir.Constant(ir.IntType(32), k) for k in (ndim.literal_value, _WANTED))
        elements = _layout(builder, args[0], dtype.literal_value)
        bits = builder.and_(_load(builder, body, _FLAGS, 32), wanted)
        good = builder.icmp_unsigned("==", bits, wanted)
        good = builder.and_(good, builder.icmp_unsigned("==", _load(builder, body, _NDIM, 32), count))
        return builder.and_(good, builder.icmp_unsigned("==", _load(builder, body, _DESCR), elements))

    return types.boolean(layout, operands, path, ndim, dtype), codegen


@intrinsic(prefer_literal=True)
def _array(typingctx, layout, operands, path, kind):
    made = kind.instance_type

    def codegen(context, builder, sig, args):
        body = _object(builder, args[0], args[1], path.literal_value)
        dimensions = _load(builder, body, _DIMENSIONS)
        shape = [_load(builder, dimensions, 8 * k) for k in range(made.ndim)]
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(made.dtype)))
        strides = [size]
        for extent in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], extent))
        array = arrayobj.make_array(made)(context, builder)
        data = _load(builder, body, _DATA)
        data = builder.inttoptr(data, context.get_data_type(made.dtype).as_pointer())
        arrayobj.populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()

    return made(layout, operands, path, kind), codegen


def _put(results: list[str]) -> Any:
    """A function that returns a whole number, or stores another result in a cell.

    It notes the form of the result: a letter a number, in brackets for tuples.
    """

    @intrinsic
    def put(typingctx, cell, result):
        parts = list(getattr(result, "types", (result,)))
        letters = "".join(_letter(part) for part in parts)
        results[:] = [f"({letters})" if isinstance(result, types.BaseTuple) else letters]

        def codegen(context, builder, sig, args):
            if letters in ("i", "b") and not isinstance(result, types.BaseTuple):
                return context.cast(builder, args[1], result, types.int64)
            for k, part in enumerate(parts):
                value = args[1]
                if isinstance(result, types.BaseTuple):
                    value = builder.extract_value(value, k)
                if part is types.none:
                    continue
                wide = types.float64 if isinstance(part, types.Float) else types.int64
                value = context.cast(builder, value, part, wide)
                place = builder.gep(args[0], [ir.Constant(ir.IntType(64), k)])
                builder.store(value, builder.bitcast(place, value.type.as_pointer()))
            return context.get_constant(types.int64, 0)

        return types.int64(cell, result), codegen

    return put


def _letter(kind: Any) -> str:
    if isinstance(kind, types.Float):
        return "f"
    if isinstance(kind, types.Boolean):
        return "b"
    if isinstance(kind, types.Integer):
        return "i"
    if kind is types.none:
        return ""
    raise TypeError(f"a function that Python calls cannot return {kind}")
