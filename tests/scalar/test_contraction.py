# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Sums of products are rounded once as the source says, whatever the scalar and the processor."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from worldline._src import processor
from worldline._src.contraction import contract
from worldline._src.jit import DISABLED

pytestmark = pytest.mark.skipif(DISABLED, reason="there is no compiler")
fuses = pytest.mark.skipif("x86-64-v3" not in processor.levels(), reason="a processor that is known to fuse")

TESTS = Path(__file__).parents[1]


def computed(lines: str, *values: float) -> float:
    """What a function of doubles a, b, c and d computes, its sums fused and then optimised."""
    from llvmlite import binding

    from worldline._src.kernel_cache import placed

    text = "define double @f(double %a, double %b, double %c, double %d) {\n" + lines + "\n}\n"
    made = contract(str(binding.parse_assembly(text)))
    assert "contract " not in made
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = binding.parse_assembly(made)
    module.verify()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=processor.target().name, features=processor.target().features, opt=3
    )
    address, owner = placed(bytes(machine.emit_object(module)), "f")
    function = ctypes.CFUNCTYPE(*[ctypes.c_double] * 5)(address)
    result = function(*values)
    del owner
    return result


A, B, C, D = 1.1, 1.3, -1.43, 1.000000003
a, b, c, d = map(Fraction, (A, B, C, D))
ab, cd = Fraction(A * B), Fraction(C * D)

CASES = {
    "a sum": ("%p = fmul contract double %a, %b\n%r = fadd contract double %p, %c\nret double %r", a * b + c),
    "the other way": (
        "%p = fmul contract double %a, %b\n%r = fadd contract double %c, %p\nret double %r",
        a * b + c,
    ),
    "a difference": (
        "%p = fmul contract double %a, %b\n%r = fsub contract double %p, %c\nret double %r",
        a * b - c,
    ),
    "from a number": (
        "%p = fmul contract double %a, %b\n%r = fsub contract double %c, %p\nret double %r",
        c - a * b,
    ),
    "a negative": (
        "%p = fmul contract double %a, %b\n%n = fneg double %p\n"
        "%r = fadd contract double %n, %c\nret double %r",
        c - a * b,
    ),
    "a plain negative": (
        "%p = fmul contract double %a, %b\n%n = fsub contract double -0.0, %p\n"
        "%r = fsub contract double %n, %c\nret double %r",
        -a * b - c,
    ),
    "two products": (
        "%p = fmul contract double %a, %b\n%q = fmul contract double %c, %d\n"
        "%r = fadd contract double %p, %q\nret double %r",
        a * b + cd,
    ),
    "without the flag": ("%p = fmul double %a, %b\n%r = fadd contract double %p, %c\nret double %r", ab + c),
    "a sum without it": ("%p = fmul contract double %a, %b\n%r = fadd double %p, %c\nret double %r", ab + c),
    "a product with two uses": (
        "%p = fmul contract double %a, %b\n%s = fadd contract double %p, %c\n"
        "%m = fcmp olt double %p, %d\n%r = select i1 %m, double %d, double %s\nret double %r",
        ab + c,
    ),
    "in another block": (
        "%p = fmul contract double %a, %b\nbr label %next\nnext:\n"
        "%r = fadd contract double %p, %c\nret double %r",
        a * b + c,
    ),
    "through structures": (
        "%p = fmul contract double %a, %b\n"
        "%s = insertvalue { double, double } undef, double %d, 0\n"
        "%t = insertvalue { double, double } %s, double %p, 1\n"
        "%u = insertvalue { i64, { double, double } } { i64 3, { double, double } undef }, "
        "{ double, double } %t, 1\n"
        "%v = extractvalue { i64, { double, double } } %u, 1\n"
        "%q = extractvalue { i64, { double, double } } %u, 1, 1\n"
        "%r = fadd contract double %q, %c\nret double %r",
        a * b + c,
    ),
    "the other part of a structure": (
        "%p = fmul contract double %a, %b\n"
        "%s = insertvalue { double, double } undef, double %d, 0\n"
        "%t = insertvalue { double, double } %s, double %p, 1\n"
        "%q = extractvalue { double, double } %t, 0\n"
        "%r = fadd contract double %q, %c\nret double %r",
        d + c,
    ),
    "plain numbers added to lanes": (
        "%p = fmul contract double %a, %b\n"
        "%s = insertelement <4 x double> undef, double %p, i32 0\n"
        "%t = shufflevector <4 x double> %s, <4 x double> undef, <4 x i32> zeroinitializer\n"
        "%u = insertelement <4 x double> <double 1.0, double 2.0, double 3.0, double 4.0>, double %c, i32 2\n"
        "%v = fadd contract <4 x double> %u, %t\n"
        "%r = extractelement <4 x double> %v, i32 2\nret double %r",
        a * b + c,
    ),
    "the first of several lanes": (
        "%s = insertelement <4 x double> <double 9.0, double 9.0, double 9.0, double 9.0>, double %a, i32 0\n"
        "%w = insertelement <4 x double> <double 1.5, double 2.5, double 3.5, double 4.5>, double %b, i32 0\n"
        "%p = fmul contract <4 x double> %s, %w\n"
        "%t = shufflevector <4 x double> %p, <4 x double> undef, <4 x i32> zeroinitializer\n"
        "%u = insertelement <4 x double> undef, double %c, i32 1\n"
        "%v = fadd contract <4 x double> %t, %u\n"
        "%r = extractelement <4 x double> %v, i32 1\nret double %r",
        ab + c,
    ),
}


@fuses
@pytest.mark.parametrize("name", CASES)
def test_rounding(name):
    lines, exact = CASES[name]
    assert computed(lines, A, B, C, D) == float(exact)


def test_the_numbers_show_the_difference():
    for once, twice in ((a * b + c, ab + c), (a * b + cd, ab + c * d), (a * b + cd, ab + cd)):
        assert float(once) != float(twice)


PROGRAM = """
import hashlib, sys
sys.path[:0] = [{tests!r}, {tests!r} + "/constraints"]
import numpy as np
from test_cone_newton import DIM, KINDS, problem
from row_calls import LANES, cone_newton

worlds = [problem(seed) for seed in range(20, 20 + LANES)]
stacked = {{name: np.stack([w[name] for w in worlds], axis=-1) for name in worlds[0]}}
together = cone_newton(KINDS, DIM, **stacked)
alone = [cone_newton(KINDS, DIM, **world) for world in worlds]
for bits in (together, [np.stack(parts, axis=-1) for parts in zip(*alone)]):
    print(hashlib.sha256(b"".join(np.ascontiguousarray(x).tobytes() for x in bits)).hexdigest())
"""


@pytest.mark.skipif(len(processor.levels()) < 1, reason="no level of processors runs here")
def test_one_world_and_lanes_have_the_same_bits_for_every_processor():
    """A solver of many blocks and loops, compiled for each level and for this very processor."""
    from llvmlite import binding

    targets = [(level, "") for level in processor.levels()]
    targets.append((binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()))
    found = {}
    for name, features in targets:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(tests=str(TESTS))],
            env={**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        lanes, alone = done.stdout.split()
        assert lanes == alone, name
        found[name] = alone
    assert len(set(found.values())) == 1, found
