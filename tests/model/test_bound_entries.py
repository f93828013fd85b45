# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Entries bound to their operands: results, operands that stay alive, threads."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

from worldline import simulation as sx
from worldline._src.jit import DISABLED
from worldline._src.step import array_runs
from worldline._src.step.array_runs import Run, Runs

pytestmark = pytest.mark.skipif(DISABLED, reason="entries are plain functions without the compiler")


def test_operands_live_as_long_as_the_call() -> None:
    a, b = np.arange(5.0), np.zeros(5)
    runs = Runs([Run(a, b)])
    counts = array_runs.Counts()
    bound = array_runs._copy_runs.bound(runs.table.copy(), counts.table.copy())  # type: ignore[attr-defined]
    gc.collect()
    filler = [np.full((1, 4), 7, np.int64) for _ in range(50)]
    bound()
    np.testing.assert_array_equal(b, a)
    assert len(filler) == 50


def test_copies_and_comparisons_follow_their_counts() -> None:
    a, b = np.arange(12.0).reshape(4, 3), np.zeros((4, 3))
    counter = np.zeros(1, np.int64)
    counts = array_runs.Counts({array_runs.CONTACT: counter}, most={array_runs.CONTACT: 4})
    runs = Runs([Run(a, b, array_runs.CONTACT)], counts)
    for rows in (1, 3, 2):
        b[:] = -1.0
        counter[0] = rows
        runs.copy()
        assert (b[:rows] == a[:rows]).all() and (b[rows:] == -1.0).all()
        # more than there is room for
        counter[0] = 7
        runs.copy()
        np.testing.assert_array_equal(a, b)
    whole = Runs([Run(a, b)])
    assert whole.are_same()
    b[3, 2] += 1.0
    assert not whole.are_same()


def test_neighbours_of_the_same_arenas_are_one_run() -> None:
    # columns take whole cache lines, eight numbers; the last is not next to the others
    old, new, other = np.arange(48.0), np.zeros(48), np.zeros(48)
    columns = [slice(0, 5), slice(8, 16), slice(16, 17), slice(40, 48)]
    runs = Runs([Run(old[at], new[at]) for at in columns])
    assert runs.table[:, 2].tolist() == [17, 8]
    runs.copy()
    for at in columns:
        np.testing.assert_array_equal(new[at], old[at])
    assert not new[17:40].any() and runs.are_same()
    new[16] += 1.0
    assert not runs.are_same()

    # of several arenas, in another order, apart by another distance, counted
    for apart in (
        [Run(old[:8], new[:8]), Run(old[8:16], other[8:16])],
        [Run(old[8:16], new[8:16]), Run(old[:8], new[:8])],
        [Run(old[:8], new[:8]), Run(old[8:16], new[16:24])],
        [Run(old[:8], new[:8]), Run(old[8:16].reshape(4, 2), new[8:16].reshape(4, 2), array_runs.ROW)],
        [Run(old, new), Run(other, other.copy())],
    ):
        assert len(Runs(apart).table) == 2


def test_copies_that_depend_on_others_keep_what_they_have_addresses_of() -> None:
    a, b, state = np.arange(6.0), np.zeros(6), np.arange(3.0)
    known = state.copy()
    counter = np.array([2])
    counts = array_runs.Counts({array_runs.ROW: counter})
    pieces = Run(np.full((4, 2), 5.0), np.zeros((4, 2)), array_runs.ROW)
    give = Runs([Run(a, b), pieces], counts).bound_copy(Runs([Run(state, known)]))
    found = pieces.new
    del counts, counter, pieces
    gc.collect()
    filler = [np.full(1, 9, np.int64) for _ in range(200)]
    state[1] = 7.0
    assert give() == 0 and not b.any() and not found.any()
    known[:] = state
    assert give() == 1
    np.testing.assert_array_equal(b, a)
    assert (found[:2] == 5.0).all() and not found[2:].any() and len(filler) == 200


def test_single_steps_have_the_bits_of_many_and_let_other_threads_run() -> None:
    def swinging() -> sx.World:
        world = sx.World(time_step=0.001)
        robot = world.add_multibody("robot")
        link = robot.add_link("rod", None, sx.JointSpec(name="hinge", axis=(0, 1, 0)))
        link.mass, link.center_of_mass = 1.0, (0.0, 0.0, -0.3)
        robot.joints[0].position = [1.0]
        return world

    one, many = swinging(), swinging()
    worlds = [swinging() for _ in range(3)]

    def steps(world: sx.World) -> None:
        for _ in range(300):
            world.step()

    threads = [threading.Thread(target=steps, args=(world,)) for world in worlds]
    for thread in threads:
        thread.start()
    steps(one)
    many.step(n=300)
    for thread in threads:
        thread.join()
    for world in (one, *worlds):
        np.testing.assert_array_equal(world.state_vector, many.state_vector)
        assert world.frame == 300
