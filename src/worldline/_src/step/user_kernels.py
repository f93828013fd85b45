# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels of a user: functions of Python that are compiled and run within steps.

A kernel is called with a `KernelStep`, views of the arenas of a step, and writes into them. The same source
is compiled for one world and for worlds in lanes, so it may not branch on numbers; `worldline.ops` has what
takes the place of a branch. Machine code is made when a kernel is first used and kept in the cache on disk
under a hash of its byte code, of the functions it calls and of the constants it sees.
"""

from __future__ import annotations

import hashlib
import importlib
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, overload

import numpy as np

from worldline._src.errors import ArgumentError, FixedAttributes, MachineCodeError
from worldline._src.helpers import DISABLED, Helper
from worldline._src.jit import Stage, Unit, inline
from worldline._src.kernel_cache import SOURCES
from worldline._src.kinds import Kind, float64
from worldline._src.named_tuple import NamedTuple
from worldline._src.scalar.memory import address_like, matrix, vector
from worldline._src.step.user_stages import FRACTION, ROWS, START, TREES

# m of a kernel: sizes, places in the arena of trees, where controls are in that of rows, where centres
# of mass are in d, and for every list
# its place and length: parameters and readings are in d, the others behind this header in m
_NQ, _NV, _NBODY, _NCONTROL = range(4)
TREE_FIELDS = (
    *("q", "v", "a", "force", "q_target", "v_target", "body_q", "body_qd", "body_f", "clock", "time_step"),
)
"""Fields of the trees whose places follow the sizes, in this order."""
_Q, _V, _A, _FORCE, _Q_TARGET, _V_TARGET, _BODY_Q, _BODY_QD, _BODY_F, _CLOCK, _TIME_STEP = range(4, 15)
_CONTROL, _BODY_COM = 15, 16
_LISTS = 17
LISTS = ("parameters", "reading", "bodies", "dofs", "coordinates", "actuators")
HEADER = _LISTS + 2 * len(LISTS)
_PARAMETERS, _READING, _BODIES, _DOFS, _COORDINATES, _ACTUATORS = range(_LISTS, HEADER, 2)


class KernelStep(NamedTuple):
    """What a kernel of a user sees and writes within a step: views, without copies.

    Numbers are those of one world, or of several worlds in lanes. What a kernel may write depends on what it
    is: a controller `control`, `force`, `q_target` and `v_target`; a force element adds to `body_f` and
    `force`; a stage at "accelerations" writes `a`, one at "end" writes `q` and `v`; a sensor writes
    `reading`.
    """

    q: Any
    """Coordinates, (joint_coord_count,)."""
    v: Any
    """Velocities, (joint_dof_count,)."""
    a: Any
    """Accelerations, (joint_dof_count,): of this evaluation in a stage at "accelerations" and at the end."""
    control: Any
    """Controls of the actuators that act, (count,)."""
    force: Any
    """Commanded generalized forces [N or N m], (joint_dof_count,)."""
    q_target: Any
    """Coordinates that drives lead to, (joint_coord_count,)."""
    v_target: Any
    """Velocities that drives lead to, (joint_dof_count,)."""
    body_q: Any
    """Position [m] and xyzw of every body, world, (body_count, 7)."""
    body_qd: Any
    """Velocity of the centre of mass [m/s], angular velocity [rad/s] of bodies, world, (body_count, 6)."""
    body_f: Any
    """Torque [N m], then force at the centre of mass [N], of bodies, world axes, (body_count, 6)."""
    body_com: Any
    """Centre of mass in the frame of every body [m], (body_count, 3); constants."""
    parameters: Any
    """Parameters of the element, in the order in which they were given."""
    reading: Any
    """Numbers of a sensor, (dim,)."""
    bodies: Any
    """Rows of the bodies that the element was given, in `body_q`, `body_qd` and `body_f`."""
    dofs: Any
    """Degrees of freedom of the joints that it was given, one after the other."""
    coordinates: Any
    """Coordinates of these joints in `q` and `q_target`."""
    actuators: Any
    """Entries of the actuators that it was given, in `control`."""
    time: Any
    """Of this evaluation [s]."""
    time_step: Any
    """[s]"""


@inline
def kernel_step(m, c, args, d):
    """The views of a kernel, cut from the arenas of trees, of rows and of the user's elements."""
    trees, rows = address_like(args[TREES], d), address_like(args[ROWS], d)
    nq, nv, nbody = m[_NQ], m[_NV], m[_NBODY]
    time_step = vector(trees, m[_TIME_STEP], 1)[0]
    return KernelStep(
        vector(trees, m[_Q], nq),
        vector(trees, m[_V], nv),
        vector(trees, m[_A], nv),
        vector(rows, m[_CONTROL], m[_NCONTROL]),
        vector(trees, m[_FORCE], nv),
        vector(trees, m[_Q_TARGET], nq),
        vector(trees, m[_V_TARGET], nv),
        matrix(trees, m[_BODY_Q], nbody, 7),
        matrix(trees, m[_BODY_QD], nbody, 6),
        matrix(trees, m[_BODY_F], nbody, 6),
        matrix(d, m[_BODY_COM], nbody, 3),
        vector(d, m[_PARAMETERS], m[_PARAMETERS + 1]),
        vector(d, m[_READING], m[_READING + 1]),
        vector(m, m[_BODIES], m[_BODIES + 1]),
        vector(m, m[_DOFS], m[_DOFS + 1]),
        vector(m, m[_COORDINATES], m[_COORDINATES + 1]),
        vector(m, m[_ACTUATORS], m[_ACTUATORS + 1]),
        # t = t_start + (steps + share) h
        d[START] + (vector(trees, m[_CLOCK], 2)[1] + d[FRACTION]) * time_step,
        time_step,
    )


class Kernel(FixedAttributes):
    """A compiled function of a `KernelStep`; see `worldline.kernel`. Called, it runs as plain Python."""

    def __init__(self, function: Callable[..., Any], *, lanes: bool = True) -> None:
        if not isinstance(function, types.FunctionType):
            raise ArgumentError(f"worldline.kernel decorates a function of Python, got {function!r}")
        if not isinstance(lanes, bool):
            raise ArgumentError(f"lanes of a kernel must be True or False, got {lanes!r}")
        self.function = function
        self.lanes = lanes
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__module__, self.__qualname__ = function.__module__, function.__qualname__
        self._helper: Any = function if DISABLED else Helper(function, merged=True)
        self._stage: KernelStage | None = None

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"

    def __reduce__(self) -> str:
        return self.__qualname__

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self

    @property
    def _numba_type_(self) -> Any:
        """What the compiler makes of a kernel that another one calls."""
        return self._helper._numba_type_

    @property
    def stage(self) -> Stage:
        """The kernel as a stage over the arenas of a step."""
        if self._stage is None:
            self._stage = KernelStage(self)
        return self._stage

    def require_compiled(self, scalar: Kind = float64) -> None:
        """Compile it where that was not done yet.

        Raises:
            MachineCodeError: the compiler is not installed.
            ArgumentError: it is not in the language of kernels, or asks for another scalar than `scalar`.
        """
        if not DISABLED:
            self.stage.address(scalar)


class KernelStage(Stage):
    """A stage that runs one kernel of a user; it is no part of the registry of stages."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.name, self.doc = kernel.__name__, (kernel.__doc__ or "").strip()
        self._make = lambda: _stage_function(kernel)
        self._code = {}

    def unit(self, scalar: Kind) -> Unit:
        """What its machine code is kept for; kernels of a user have operators of their own."""

        def make(compiler: Any) -> Any:
            importlib.import_module("worldline._src.step.kernel_lowering")
            return compiler.compile_stage(self.function, scalar)

        return Unit(self.function, scalar.name, f"kernel {self.name} for {scalar}", make)

    def address(self, scalar: Kind) -> int:
        """The address of its machine code for `scalar`; says what is wrong with a kernel that has none."""
        if self.kernel.function.__code__.co_argcount != 1:
            raise ArgumentError(
                f"kernel '{self.name}' must take one argument, a KernelStep, "
                f"got {self.kernel.function.__code__.co_argcount}"
            )
        try:
            return super().address(scalar)
        except MachineCodeError:
            raise
        except Exception as error:
            hint = (
                ""
                if scalar is float64
                else "; kernels of lanes may not branch on numbers and take operations from worldline.ops. "
                "@worldline.kernel(lanes=False) steps worlds of a batch one by one"
            )
            raise ArgumentError(
                f"kernel '{self.name}' cannot be compiled for {scalar}: {_gist(error)}{hint}"
            ) from error


def _gist(error: Exception) -> str:
    """The lines of an error of the compiler that say what and where it is."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith(("File", "No implementation", "Cannot", "Unknown"))]
    causes += [line for line in lines if "cannot" in line.lower() and line not in causes]
    return " / ".join(dict.fromkeys(causes[:3] or lines[-2:] or [type(error).__name__]))


def _stage_function(kernel: Kernel) -> Callable[..., None]:
    """The kernel over the four arenas of a stage, with the key under which machine code is kept."""
    run, view = kernel._helper, kernel_step

    def user_kernel(m, c, args, d):
        run(view(m, c, args, d))

    user_kernel.__name__ = kernel.__name__
    key = source_key(kernel.function)
    if key is not None:
        each = sorted(SOURCES.digest(path) for path in SOURCES.of(_template))
        key = b"".join(each) + key
    vars(user_kernel)["source_key"] = b"" if key is None else key
    return user_kernel


def _template(m, c, args, d):
    """What the machine code of every kernel depends on: the sources of its views."""
    kernel_step(m, c, args, d)


# ---- the key of machine code


def source_key(function: Callable[..., Any]) -> bytes | None:
    """A hash of all that machine code of a function depends on; None where that cannot be known.

    Byte code, constants that the function sees, and the functions it calls with all of theirs.
    """
    made = hashlib.sha256()
    seen: set[int] = set()
    left: list[Any] = [function]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        code = one.__code__
        values = [cell.cell_contents for cell in one.__closure__ or ()]
        values += [one.__globals__[name] for name in sorted(set(_names(code))) if name in one.__globals__]
        for part in (*_parts(code), repr(one.__defaults__).encode()):
            made.update(part)
        path = Path(code.co_filename)
        if path.is_relative_to(SOURCES.root):
            for digest in sorted(SOURCES.digest(each) for each in SOURCES.behind(path)):
                made.update(digest)
            continue
        for value in values:
            inner = getattr(value, "py_func", getattr(value, "function", value))
            if isinstance(inner, types.FunctionType):
                left.append(inner)
                continue
            content = _content(value)
            if content is None:
                return None
            made.update(content)
    return made.digest()


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _parts(code: types.CodeType) -> Iterator[bytes]:
    """Byte code and constants of a function and of those inside of it."""
    yield code.co_code
    yield repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _parts(constant)
        else:
            yield repr(constant).encode()


def _content(value: Any) -> bytes | None:
    """A constant as bytes; None for what may change without being seen."""
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}".encode()
    if isinstance(value, np.ndarray) and value.dtype.hasobject is False:
        return f"{value.dtype} {value.shape}".encode() + value.tobytes()
    if isinstance(value, (bool, int, float, str, np.number, Kind)) or value is None:
        return f"{type(value).__name__} {value!r}".encode()
    if isinstance(value, tuple):
        parts = [_content(each) for each in value]
        return None if any(part is None for part in parts) else b"(" + b",".join(filter(None, parts)) + b")"
    fields = getattr(value, "_fields", None) if isinstance(value, type) else None
    if fields is not None:
        return f"named tuple {fields}".encode()
    if isinstance(value, types.BuiltinFunctionType):
        return f"builtin {value.__module__}.{value.__qualname__}".encode()
    return None


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...
@overload
def kernel(*, lanes: bool = True) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(function: Any = None, *, lanes: bool = True) -> Any:
    """Make a function of Python a kernel: compiled once, run within steps without a return to Python.

    A kernel takes a `KernelStep` and writes into its arrays. Give it to `World.add_controller`,
    `add_force_element`, `add_stage` or `sensors.add_function` with the bodies, joints, actuators and
    parameters it works on; the same kernel may serve many elements. In a batch the source is compiled once
    more for worlds in lanes, so numbers may not decide branches: use `where`, `maximum` and the others of
    `worldline.ops`. Nothing may be allocated. Compiling needs the extra `compiler` of the package (Numba).

    Args:
        function: of one argument; what it returns is dropped.
        lanes: False for a kernel that branches on numbers: worlds of a batch then step one by one on threads.

    Example:
        >>> import worldline
        >>> from worldline import simulation as sx
        >>> @worldline.kernel
        ... def lift(step):
        ...     step.body_f[step.bodies[0], 5] += step.parameters[0]
        >>> world = sx.World(time_step=0.001)
        >>> ball = world.add_rigid_body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1))
        >>> world.add_force_element("lift", lift, bodies=(ball,), parameters=(2.0 * 9.81,))
        >>> world.step(n=100)
        >>> ball.linear_velocity.round(9).tolist()
        [0.0, 0.0, 0.0]
    """
    if function is not None:
        return Kernel(function, lanes=lanes)
    return lambda given: Kernel(given, lanes=lanes)
