# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Workers of a Ray cluster that roll out shares of many worlds."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

from worldline._src.distributed.shares import Share, joined, shares_of
from worldline._src.errors import ArgumentError, CapabilityError, FixedAttributes, OperationError
from worldline._src.facade import values
from worldline._src.facade.batch.layout_choice import AUTOMATIC
from worldline._src.facade.batch.rollout import RolloutTrajectory
from worldline._src.facade.batch.rollout import rollout as rollout_here
from worldline._src.facade.batch.template import BatchSource
from worldline._src.facade.closing import Closing
from worldline._src.progress import Bar

Done = Callable[[int, int], None]
"""Called with the number of shares that are done and that of all."""


def _ray() -> Any:
    if importlib.util.find_spec("ray") is None:
        raise CapabilityError(
            "clusters need the package 'ray', which is not installed; pip install 'worldline[distributed]'"
        )
    import ray  # pyright: ignore[reportMissingImports]

    return ray


class _Worker:
    """A process that has the description and rolls out shares of worlds."""

    def __init__(self, source: BatchSource) -> None:
        self.source = source

    def pid(self) -> int:
        """Its process."""
        return os.getpid()

    def rollout(self, share: Share, options: dict[str, Any]) -> RolloutTrajectory:
        """The trajectories of a share."""
        return rollout_here(self.source, share.states, share.control, first_world=share.first, **options)


class WorkerPool(FixedAttributes, Closing):
    """Processes of a Ray cluster, or of this machine, each with a batch of the same description.

    A cluster is used where one is connected or named, by `address` or the variable RAY_ADDRESS; otherwise a
    local Ray is started, and ended by `close`. Work is cut into shares of `share` worlds. A worker that is
    lost is replaced and its share is done again. The result is the same to the last bit for any number of
    workers, and equals that of `simulation.state.rollout`.

    Args:
        source: a World, a scene or a Model; sent to every worker once.
        workers: how many processes, one for each processor of the cluster when None; no more than those.
        share: worlds of a share.
        address: of a cluster, as `ray.init` takes it.
        retries: how often one share is done again when workers are lost.

    Example:
        >>> import numpy as np
        >>> from worldline import distributed, simulation as sx
        >>> world = sx.World(gravity=(0, 0, 0), time_step=0.01)
        >>> box = world.add_rigid_body("box")
        >>> start = {"joint_velocities": np.arange(300.0)[:, None] * [1, 0, 0, 0, 0, 0]}
        >>> with distributed.WorkerPool(world, workers=2, share=100) as pool:  # doctest: +SKIP
        ...     run = pool.rollout(start, steps=100)
        >>> run.joint_positions.shape  # doctest: +SKIP
        (300, 101, 7)
    """

    def __init__(
        self,
        source: BatchSource,
        *,
        workers: int | None = None,
        share: int = 256,
        address: str | None = None,
        retries: int = 3,
    ) -> None:
        for name, number in (("share", share), ("workers", 1 if workers is None else workers)):
            if values.count(number, name) < 1:
                raise ArgumentError(f"{name} must be at least 1, got {number}")
        if values.count(retries, "retries") < 0:
            raise ArgumentError(f"retries must not be negative, got {retries}")
        self._ray = ray = _ray()
        self._share, self._retries = share, retries
        self._started = not ray.is_initialized()
        if address is not None and not isinstance(address, str):
            raise ArgumentError(f"address must be a text, got {address!r}")
        if address is not None and not self._started and address != "auto":
            raise ArgumentError(
                f"address {address!r} cannot be used: Ray is connected to a cluster already; leave it out, "
                "or call ray.shutdown() first"
            )
        if self._started:
            at = address or os.environ.get("RAY_ADDRESS")
            own = {} if at else {"num_cpus": workers, "include_dashboard": False}
            ray.init(address=at, log_to_driver=False, logging_level="ERROR", configure_logging=False, **own)
        most = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        count = workers or most
        if count > most:
            # Ray would wait for processors that never come
            self._workers = []
            self.close()
            raise ArgumentError(f"workers must be at most {most}, the processors of the cluster, got {count}")
        self._source = ray.put(source)
        self._kind = ray.remote(num_cpus=1)(_Worker)
        self._workers: list[Any] = [self._new() for _ in range(count)]

    def _new(self) -> Any:
        return self._kind.remote(self._source)

    @property
    def num_workers(self) -> int:
        """How many workers there are."""
        return len(self._workers)

    @property
    def pids(self) -> list[int]:
        """Processes of the workers; waits until all have started."""
        return self._ray.get([worker.pid.remote() for worker in self._workers])

    def rollout(
        self,
        initial_state: Any = None,
        control: Any = None,
        steps: int | None = None,
        *,
        threads: int = 1,
        sensors: bool = False,
        contacts: bool = False,
        layout: str = AUTOMATIC,
        on_share: Done | None = None,
    ) -> RolloutTrajectory:
        """Step worlds from given states under given controls; see `simulation.state.rollout`.

        Args:
            initial_state, control, steps, sensors, contacts, layout: as for `simulation.state.rollout`.
            threads: processors that every worker uses.
            on_share: called when a share is done, with the number of those that are done and of all.

        Raises:
            OperationError: a share was lost with its worker more often than `retries` allows.
        """
        if not self._workers:
            raise OperationError("the pool is closed")
        source = self._ray.get(self._source)
        shares = shares_of(source, initial_state, control, self._share)
        options = {"steps": steps, "threads": threads, "sensors": sensors, "contacts": contacts}
        made = self._run(shares, options | {"layout": layout}, on_share)
        return joined(made, [share.first for share in shares])

    def _run(
        self, shares: list[Share], options: dict[str, Any], on_share: Done | None
    ) -> list[RolloutTrajectory]:
        """All shares, each by the next worker that is free; those of lost workers once more."""
        ray, bar = self._ray, Bar(f"{len(shares)} shares on {self.num_workers} workers")
        made: dict[int, RolloutTrajectory] = {}
        waiting, lost = list(range(len(shares)))[::-1], [0] * len(shares)
        free, under_way = list(range(self.num_workers))[::-1], {}
        bar.expect(len(shares))
        try:
            while len(made) < len(shares):
                while waiting and free:
                    k, w = waiting.pop(), free.pop()
                    under_way[self._workers[w].rollout.remote(shares[k], options)] = k, w
                done, _ = ray.wait(list(under_way), num_returns=1)
                k, w = under_way.pop(done[0])
                free.append(w)
                try:
                    made[k] = ray.get(done[0])
                except (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError) as error:
                    self._workers[w] = self._new()
                    lost[k] += 1
                    waiting.append(k)
                    if lost[k] > self._retries:
                        first = shares[k].first
                        raise OperationError(
                            f"the worker of worlds from {first} on was lost {lost[k]} times: {error}"
                        ) from error
                except ray.exceptions.RayTaskError as error:
                    raise getattr(error, "cause", None) or error from None
                else:
                    bar.advance()
                    if on_share is not None:
                        on_share(len(made), len(shares))
        finally:
            bar.expect(len(made) - len(shares))
            for reference in under_way:
                ray.cancel(reference)
        return [made[k] for k in range(len(shares))]

    def close(self) -> None:
        """End the workers, and the local Ray where the pool started one."""
        for worker in self._workers:
            self._ray.kill(worker)
        self._workers = []
        if self._started:
            self._started = False
            self._ray.shutdown()

    def __repr__(self) -> str:
        return f"WorkerPool({self.num_workers} workers, shares of {self._share} worlds)"


def rollout(
    model: BatchSource,
    initial_state: Any = None,
    control: Any = None,
    steps: int | None = None,
    *,
    workers: int | None = None,
    share: int = 256,
    address: str | None = None,
    **options: Any,
) -> RolloutTrajectory:
    """Trajectories of many worlds by the workers of a cluster, or of a local Ray; see `WorkerPool.rollout`.

    Args:
        model: a World, a scene or a Model.
        initial_state, control, steps: as for `simulation.state.rollout`.
        workers, share, address: as for `WorkerPool`.
        options: of `WorkerPool.rollout`.

    Example:
        >>> from worldline import distributed, simulation as sx
        >>> world = sx.World()
        >>> box = world.add_rigid_body("box")
        >>> run = distributed.rollout(world, steps=10, workers=1)  # doctest: +SKIP
        >>> run.num_steps  # doctest: +SKIP
        10
    """
    with WorkerPool(model, workers=workers, share=share, address=address) as pool:
        return pool.rollout(initial_state, control, steps, **options)
