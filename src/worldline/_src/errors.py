# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The one small hierarchy of errors; users import them from `worldline`.

Every error is a `WorldlineError` and also the built-in kind a caller would expect: a bad argument is a
`ValueError`, one of a wrong type also a `TypeError`, a wrong mode or a dead handle a `RuntimeError`, an
unknown name in `collection[name]` a `KeyError`, a missing file a `FileNotFoundError`, a missing capability
a `NotImplementedError`. Messages say what was given, what is allowed, and where. A call that raises one has
changed nothing.

    WorldlineError
      ArgumentError (ValueError)
        ShapeError (TypeError)         a value of the wrong type or shape
        EnumError (TypeError)          not a member of the enumeration asked for
        RecordingError                 no recording, or a damaged one
        SceneError                     a scene or a file that cannot be used
          ForbiddenPathError           a path that a scene may not reach
          UnreadableFileError (OSError)
            MissingFileError (FileNotFoundError)
      OperationError (RuntimeError)    wrong mode, dead or foreign handle
        BusyError                      another thread or a step job uses the World
        StepFailure                    a step that diverged
          BatchFailure                 steps of a batch in which worlds diverged
        LayoutError                    a replay frame that does not fit the World any more
        MachineCodeError               machine code that is damaged, or missing where nothing can compile it
      CapabilityError (NotImplementedError)
        UnavailableStage (OperationError)
        UnknownCapabilityError (ArgumentError)
          UnsupportedFormatError (SceneError)
      NotFoundError (KeyError)
      ReplayIndexError (IndexError)
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import Any, ClassVar, Protocol, TypeVar

from worldline._src.named_tuple import NamedTuple


def writable(text: str) -> str:
    """A text that any stream takes: unpaired surrogates, which names from outside may have, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


class WorldlineError(Exception):
    """Base class of everything Worldline raises on purpose."""

    def __str__(self) -> str:
        return writable(super().__str__())


class ArgumentError(WorldlineError, ValueError):
    """An argument has a wrong shape, type, range or reference."""


class ShapeError(ArgumentError, TypeError):
    """A value of the wrong type or shape."""


class EnumError(ArgumentError, TypeError):
    """A value that is not a member of the enumeration asked for."""


class RecordingError(ArgumentError):
    """A file that is no recording, or a damaged one."""


class OperationError(WorldlineError, RuntimeError):
    """The call is not possible now: wrong mode, dead or foreign handle."""


class BusyError(OperationError):
    """Another thread, or a step job, is inside the World; one thread at a time may use it."""


class MachineCodeError(OperationError):
    """Machine code of the package is damaged, or kernels must be compiled and there is no compiler."""


class CapabilityError(WorldlineError, NotImplementedError):
    """A named capability that this build does not have."""


class UnavailableStage(OperationError, CapabilityError):
    """A closure asks for a stage that this build does not have."""


class UnknownCapabilityError(ArgumentError, CapabilityError):
    """A name of a method, kind or format that this build does not have."""


class StepFailure(OperationError):
    """A step diverged: its state is not finite or beyond the divergence limit, or its equations unsolved.

    Attributes:
        body: Label of the first body that failed; of the actuator when the quantity is an activation.
        quantity: What diverged there: force, acceleration, velocity, position or activation; "solution" when
            the equations of a variational step were not solved.
        frame: Number of the step that failed.
        value: The number that diverged, in SI units; None when it is not known.
        world: Index of the world in a batch; None for a world on its own.
        outcome: What became of the world, such as "the world is as it was before it".
    """

    def __init__(
        self,
        body: str,
        quantity: str,
        frame: int,
        value: float | None = None,
        *,
        world: int | None = None,
        outcome: str = "the world is as it was before it",
    ) -> None:
        self.body, self.quantity, self.frame = body, quantity, frame
        self.value, self.world, self.outcome = value, world, outcome
        fault = "was not found" if quantity == "solution" else "is not finite"
        if value is not None and math.isfinite(value):
            fault = f"diverged to {value:.3g}"
        where = "" if world is None else f"world {world}, "
        super().__init__(f"{where}step {frame}: {quantity} of '{body}' {fault}; {outcome}")

    def __reduce__(self):
        options = {"world": self.world, "outcome": self.outcome}
        return partial(type(self), **options), (self.body, self.quantity, self.frame, self.value)


class BatchFailure(StepFailure):
    """Worlds of a batch diverged; each is frozen at its last good state, and the others went on.

    The attributes of a `StepFailure` are those of the first one.

    Attributes:
        failures: A `StepFailure` for every world that diverged in the call, by index of the world.
    """

    def __init__(self, failures: Iterable[StepFailure]) -> None:
        self.failures = tuple(failures)
        first = self.failures[0]
        others = len(self.failures) - 1
        more = (
            f"; so did {others} other worlds" if others > 1 else "; so did one other world" if others else ""
        )
        super().__init__(
            first.body,
            first.quantity,
            first.frame,
            first.value,
            world=first.world,
            outcome=f"it is frozen there{more}",
        )

    def __reduce__(self):
        return type(self), (self.failures,)


class LayoutError(OperationError):
    """A replay frame that does not fit the World any more.

    Attributes:
        field: What changed, such as "damping coefficient".
        owner: The object it changed on, empty when objects came or went.
    """

    def __init__(self, message: str, field: str = "", owner: str = "") -> None:
        self.field, self.owner = field, owner
        super().__init__(message)

    def __reduce__(self):
        return type(self), (str(self), self.field, self.owner)


class Problem(NamedTuple):
    """One thing that is wrong with a scene: where it is, and what was given against what is allowed.

    `path` leads into the scene (`$.hierarchy.bodies[0].link.name`) or into a file's elements; `file` and
    `line` are known when the scene came from a file that has lines.
    """

    path: str
    message: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place += f":{self.line}"
        path = self.path
        if len(path) > 240:
            # a link at the end of a long chain; the attribute keeps all of it
            path = f"{path[:100]} ... {path[-100:]}"
        return ": ".join(part for part in (place, path, self.message) if part)


class SceneError(ArgumentError):
    """A scene or a scene file that cannot be used; carries every problem found, not just the first.

    Attributes:
        problems: All problems as a tuple of `Problem`; empty when the message says it all.
    """

    def __init__(self, message: str = "", problems: Iterable[Problem] = ()) -> None:
        self.message = message
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [self.message] if self.message else []
        lines += [f"  {problem}" if self.message else str(problem) for problem in self.problems]
        return "\n".join(lines)

    def introduce(self, words: str) -> None:
        """Put words before the message: what was being done when the scene was found unusable."""
        self.message = f"{words}: {self.message}"
        self.args = (self._text(),)

    def __reduce__(self) -> tuple[type[SceneError], tuple[str, tuple[Problem, ...]]]:
        # the default would hand the joined text back as the message and lose the problems
        return type(self), (self.message, self.problems)


class UnsupportedFormatError(SceneError, UnknownCapabilityError):
    """A format of files that nothing here reads or writes."""


class ForbiddenPathError(SceneError):
    """A path that a scene may not reach."""


class UnreadableFileError(SceneError, OSError):
    """A file that cannot be read; `filename` and `errno` are those of the operating system, where known."""

    _number: ClassVar[int | None] = None
    """What `errno` is where none is given."""

    def __init__(
        self,
        message: str = "",
        problems: Iterable[Problem] = (),
        *,
        filename: str | os.PathLike[str] | None = None,
        number: int | None = None,
    ) -> None:
        super().__init__(message, problems)
        self.filename = None if filename is None else os.fspath(filename)
        number = self._number if number is None else number
        self.errno = number
        self.strerror = None if number is None else os.strerror(number)

    def __str__(self) -> str:
        # OSError would print its number and file name a second time
        return writable(str(self.args[0]))

    def __reduce__(self):
        state = {"filename": self.filename, "errno": self.errno, "strerror": self.strerror}
        return type(self), (self.message, self.problems), state


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """A file that is not where it is looked for."""

    _number = errno.ENOENT


def unreadable(path: str | os.PathLike[str], error: Exception) -> UnreadableFileError:
    """The library's error for a file that the system could not read."""
    number = error.errno if isinstance(error, OSError) else None
    reason = error.strerror if isinstance(error, OSError) else str(error)
    kind = MissingFileError if number in (errno.ENOENT, errno.ENOTDIR) else UnreadableFileError
    return kind(f"{os.fspath(path)}: cannot be read: {reason}", filename=path, number=number)


class ReplayIndexError(WorldlineError, IndexError):
    """There is no replay frame with that index."""


class NotFoundError(WorldlineError, KeyError):
    """A required lookup by name found nothing."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, which hides the sentence in quotes
        return writable(str(self.args[0])) if self.args else ""


_MADE_BY = {
    "Model": "`ModelBuilder.finalize` or `worldline.msd.build`",
    "World": "`worldline.simulation.World`",
}


def require_kind(given: object, kind: type, what: str, where: str) -> None:
    """Raise for an argument that is not an object of a class of the package."""
    if isinstance(given, kind):
        return
    found = type(given)
    name = f"{found.__module__}.{found.__name__}".removeprefix("builtins.")
    # where two public classes have one name, the module tells them apart
    module = ".".join(part for part in kind.__module__.split(".") if part != "_src")
    source = _MADE_BY.get(kind.__name__, f"of {module}")
    if module.startswith("worldline.scene"):
        source = "of `worldline.msd`"
    raise ShapeError(f"{where}: given an object of {name} for '{what}'; allowed: a {kind.__name__}, {source}")


def one_of(given: Any, allowed: Iterable[str], what: str) -> str:
    """A text among those allowed; compares nothing else with them, since arrays have no one answer."""
    allowed = tuple(allowed)
    if isinstance(given, str) and given in allowed:
        return given
    raise ArgumentError(f"{what} must be {' or '.join(map(repr, allowed))}, got {given!r}")


def listed(given: Any, what: str) -> list[Any]:
    """Several values as a list; a text is one value."""
    if not isinstance(given, (str, bytes)):
        try:
            return list(given)
        except TypeError:
            # no iterable, or an array without a dimension
            pass
    raise ShapeError(f"{what} must be a list of values, got {given!r}")


def refuse_unknown_attribute(given: object, name: str, known: Iterable[str]) -> None:
    """Raise for a public attribute that an object of the package does not have; a user's subclass may."""
    if name[0] == "_" or name in known or not type(given).__module__.startswith("worldline."):
        return
    public = [other for other in {*known, *dir(type(given))} if other[0] != "_"]
    raise AttributeError(f"{type(given).__name__} has no attribute '{name}'{nearest_name(name, public)}")


class NotShared:
    """What copy.deepcopy and pickle copy, and copy.copy does not: both objects would step the same worlds."""

    __slots__ = ()

    def __copy__(self) -> Any:
        kind = type(self).__name__
        raise OperationError(f"copy.copy of a {kind} would share its worlds; make another one, and load")


def fix_attributes(made: FixedAttributes) -> None:
    """From now on nothing is added."""
    made.__dict__["_attributes_are_fixed"] = True


class FixedAttributes:
    """Refuses public attributes beyond those that `__init__` makes; a subclass of a user may have its own."""

    def __init__(self) -> None:
        if type(self).__init__ is FixedAttributes.__init__:
            fix_attributes(self)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("__init__", "__setstate__"):
            if name in vars(cls):
                setattr(cls, name, _fixing(vars(cls)[name], name))

    def __setattr__(self, name: str, value: Any) -> None:
        made = self.__dict__
        if name not in made and "_attributes_are_fixed" in made and not hasattr(type(self), name):
            refuse_unknown_attribute(self, name, made)
        object.__setattr__(self, name, value)


def _fixing(make: Callable[..., None], name: str) -> Callable[..., None]:
    """A method that makes an object and lets nothing be added from then on."""

    @wraps(make)
    def make_and_fix(self: FixedAttributes, *args: Any, **named: Any) -> None:
        make(self, *args, **named)
        # that of the class itself ends last
        if getattr(type(self), name) is make_and_fix:
            fix_attributes(self)

    return make_and_fix


def nearest_name(name: str, candidates: Iterable[str]) -> str:
    """A hint such as "; did you mean 'elbow'?", empty when nothing is close."""
    import difflib

    close = difflib.get_close_matches(name, list(candidates), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def by_name(items: Iterable[N], name: str, missing: str) -> N:
    """The first item of this name; otherwise a `NotFoundError`: what is missing, and the nearest name."""
    names: list[str] = []
    for item in items:
        if isinstance(name, str) and item.name == name:
            return item
        names.append(item.name)
    raise NotFoundError(f"{missing}{nearest_name(str(name), names)}")


PUBLIC = (
    WorldlineError,
    ArgumentError,
    ShapeError,
    EnumError,
    RecordingError,
    SceneError,
    ForbiddenPathError,
    UnreadableFileError,
    MissingFileError,
    OperationError,
    BusyError,
    StepFailure,
    BatchFailure,
    LayoutError,
    CapabilityError,
    UnavailableStage,
    UnknownCapabilityError,
    UnsupportedFormatError,
    NotFoundError,
    ReplayIndexError,
)
"""What `worldline` exports, and what tracebacks name by that path."""
for _error in PUBLIC:
    _error.__module__ = "worldline"
