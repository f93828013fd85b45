# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Some worlds of a batch, or one of them: arrays and handles by name.

Everything that is read through a selection is a read-only copy; assignment writes into the batch. Several
worlds have a leading world dimension, one world has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldline._src.errors import ArgumentError, ShapeError
from worldline._src.facade import values
from worldline._src.facade.batch import handles
from worldline._src.facade.batch.contacts import BatchContacts, batch_contacts
from worldline._src.facade.batch.fields import FIELDS, Field
from worldline._src.facade.batch.parameters import BatchParameters
from worldline._src.facade.collections import NamedCollection
from worldline._src.facade.copying import VIEW_OF_A_BATCH, NotCopied
from worldline._src.facade.known_names import KnownNames, returns_read_only
from worldline._src.spatial.poses import Array

if TYPE_CHECKING:
    from worldline._src.facade.batch.world_batch import WorldBatch


class BatchPart(KnownNames):
    """What a batch, a selection of its worlds and one world of it share: reading by quantity and by name."""

    _batch: WorldBatch
    _which: np.ndarray
    """Indices of the worlds."""
    _single: bool
    """Whether there is one world, without a leading dimension."""

    # ---- rows

    def _leading(self, rows: Array) -> Array:
        """Rows of the worlds as they are handed out."""
        return rows[0] if self._single else rows

    def _read(self, name: str) -> Array:
        """Copies of the rows of an array, always with a leading dimension."""
        return self._batch._array(name)[self._which]

    def _write(self, name: str, rows: Array) -> None:
        self._batch._array(name)[self._which] = rows

    def _given(self, value: Any, shape: tuple[int, ...], what: str) -> Array:
        """Finite numbers for every world: of the shape of one world, or with a leading dimension."""
        numbers = values.array(value, what)
        whole = (len(self._which), *shape)
        allowed = (shape,) if self._single else (whole, shape)
        if numbers.shape not in allowed and not (numbers.ndim == 0 and shape):
            texts = " or ".join(str(one) for one in allowed)
            raise ShapeError(f"{what} takes numbers of shape {texts}, got shape {numbers.shape}")
        if not np.isfinite(numbers).all():
            raise ArgumentError(f"{what} must be finite, got {value!r}")
        return np.broadcast_to(numbers, whole)

    # ---- names

    @property
    def multibodies(self) -> NamedCollection[handles.BatchMultibody]:
        """Multibodies by name; their properties have the leading world dimension."""
        found = self._batch._objects.multibodies
        made = {name: handles.BatchMultibody(self, name, rows) for name, rows in found.items()}
        return NamedCollection("multibody", lambda: made)

    @property
    def rigid_bodies(self) -> NamedCollection[handles.BatchRigidBody]:
        """Rigid bodies by name; their properties have the leading world dimension."""
        found = self._batch._objects.rigid_bodies
        made = {name: handles.BatchRigidBody(self, name, rows) for name, rows in found.items()}
        return NamedCollection("rigid body", lambda: made)

    @property
    def parameters(self) -> BatchParameters:
        """Parameters of the worlds by name; see `BatchParameters`."""
        return BatchParameters(self)

    # ---- poses and velocities, fresh after every write

    @property
    @returns_read_only
    def body_poses(self) -> Array:
        """Position [m] and xyzw of the origin of every body, world frame, ([worlds,] body_count, 7)."""
        return values.read_only(self._leading(self._batch._worlds.poses(self._which)))

    @property
    @returns_read_only
    def body_linear_velocities(self) -> Array:
        """Velocity of the origin of every body, world axes [m/s], ([worlds,] body_count, 3)."""
        twists = self._batch._worlds.velocities(self._which)
        return values.read_only(self._leading(twists[..., 3:].copy()))

    @property
    @returns_read_only
    def body_angular_velocities(self) -> Array:
        """World axes [rad/s], ([worlds,] body_count, 3)."""
        twists = self._batch._worlds.velocities(self._which)
        return values.read_only(self._leading(twists[..., :3].copy()))

    @property
    def contacts(self) -> BatchContacts:
        """Contacts of the present state of these worlds, with the forces that act there now.

        They are up to date after every write, and no step is made: forces are those that the present state,
        commands and forces on bodies lead to. A World has the contacts of its last step instead. The world
        of a contact is its row here: its index in a batch, its position in a selection.
        """
        return batch_contacts(self._batch._worlds.contacts(self._which))

    @property
    @returns_read_only
    def sensor_values(self) -> Array:
        """Readings of all sensors of this moment, ([worlds,] n).

        `WorldBatch.sensor_slices` says where each is. They are in the order of `World.sensors.values`; NaN
        stands where a sensor cannot be read.
        """
        return values.read_only(self._leading(self._batch._worlds.sensors()[self._which]))

    @property
    @returns_read_only
    def kinetic_energy(self) -> Array:
        """Of everything that moves [J], ([worlds])."""
        return values.read_only(np.array(self._leading(self._batch._worlds.energies(self._which)[0])))

    @property
    @returns_read_only
    def potential_energy(self) -> Array:
        """In the gravity field, zero at the world's origin, and in joint springs [J], ([worlds])."""
        return values.read_only(np.array(self._leading(self._batch._worlds.energies(self._which)[1])))

    @property
    @returns_read_only
    def time(self) -> Array:
        """Simulated time [s], ([worlds])."""
        return values.read_only(np.array(self._leading(self._batch._worlds.time[self._which])))

    @property
    @returns_read_only
    def frame(self) -> np.ndarray:
        """Number of steps, ([worlds])."""
        return values.read_only(np.array(self._leading(self._batch._worlds.frame[self._which])))

    @property
    @returns_read_only
    def frozen(self) -> np.ndarray:
        """Whether a world stays at its last good state after it diverged, ([worlds])."""
        return values.read_only(np.array(self._leading(self._batch._worlds.frozen[self._which])))


class BatchSelection(NotCopied, BatchPart):
    """Some worlds of a batch, in the order in which they were selected; see `WorldBatch.select`."""

    _instead = VIEW_OF_A_BATCH

    joint_positions = Field("joint_positions")
    joint_velocities = Field("joint_velocities")
    activations = Field("activations")
    position_targets = Field("position_targets")
    velocity_targets = Field("velocity_targets")
    acceleration_targets = Field("acceleration_targets")
    joint_forces = Field("joint_forces")
    controls = Field("controls")
    body_wrenches = Field("body_wrenches")
    mocap_poses = Field("mocap_poses")
    element_parameters = Field("element_parameters")
    world_joint_commands = Field("world_joint_commands")

    def __init__(self, batch: WorldBatch, which: np.ndarray, *, single: bool = False) -> None:
        self._batch, self._which, self._single = batch, which, single

    @property
    def indices(self) -> np.ndarray:
        """Indices of the worlds in the batch."""
        return self._which.copy()

    def __len__(self) -> int:
        return len(self._which)

    def __repr__(self) -> str:
        return f"BatchSelection({len(self._which)} of {self._batch.num_worlds} worlds)"

    def reset(self, **options: Any) -> None:
        """Put these worlds back; see `WorldBatch.reset`."""
        self._batch.reset(self._which, **options)


class BatchWorld(BatchSelection):
    """One world of a batch; its arrays have no world dimension. See `WorldBatch.worlds`."""

    def __init__(self, batch: WorldBatch, index: int) -> None:
        super().__init__(batch, np.array([index]), single=True)

    @property
    def index(self) -> int:
        """Which world of the batch it is."""
        return int(self._which[0])

    def __len__(self) -> int:
        raise ShapeError("one world of a batch has no length")

    def __repr__(self) -> str:
        return f"BatchWorld({self.index} of {self._batch.num_worlds})"


__all__ = ["FIELDS", "BatchPart", "BatchSelection", "BatchWorld"]


class BatchWorlds(NotCopied, KnownNames):
    """The worlds of a batch one by one."""

    _instead = VIEW_OF_A_BATCH

    def __init__(self, batch: WorldBatch) -> None:
        self._batch = batch

    def __len__(self) -> int:
        return self._batch.num_worlds

    def __getitem__(self, index: int) -> BatchWorld:
        if isinstance(index, (bool, slice)) or not isinstance(index, (int, np.integer)):
            raise ShapeError(f"a world of a batch is looked up by its index, got {index!r}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"world {index} is out of range: there are {len(self)}")
        return BatchWorld(self._batch, int(index) % len(self))

    def __repr__(self) -> str:
        return f"BatchWorlds({len(self)})"
