# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Imports and loading without the garbage collector, which is left as it was."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from worldline import simulation as sx
from worldline._src.later import import_for_good, without_collection


class Node:
    """Something that can refer to itself."""


@pytest.fixture(autouse=True)
def collecting():
    was = gc.isenabled()
    gc.enable()
    yield
    gc.unfreeze()
    (gc.enable if was else gc.disable)()


def test_nothing_is_collected_meanwhile():
    seen = []
    gc.callbacks.append(lambda phase, about: seen.append(phase))
    try:
        with without_collection():
            kept = [[k] for k in range(20_000)]
            assert seen == []
    finally:
        gc.callbacks.pop()
    assert len(kept) == 20_000


def test_worlds_of_a_loop_are_collected_without_being_asked():
    """A World refers to itself through its handles; a loop that makes many must not keep them."""
    dead: list[weakref.ref[sx.World]] = []
    for _ in range(200):
        world = sx.World()
        world.add_rigid_body("box").translation = (0.0, 0.0, 1.0)
        dead.append(weakref.ref(world))
    assert sum(one() is not None for one in dead) < 100


def test_garbage_of_before_and_meanwhile_is_collected_later():
    before, meanwhile = Node(), Node()
    before.own, meanwhile.own = before, meanwhile
    dead = weakref.ref(before), weakref.ref(meanwhile)
    with without_collection():
        del before, meanwhile
    gc.collect()
    assert [one() for one in dead] == [None, None]
    assert gc.get_freeze_count() == 0


def test_what_a_program_has_set_stays():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with without_collection(), without_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert 0 < gc.get_freeze_count() <= frozen
    gc.disable()
    with without_collection():
        pass
    assert not gc.isenabled()


def test_an_error_turns_it_on_again():
    with pytest.raises(KeyError), without_collection():
        raise KeyError("x")
    assert gc.isenabled()


MODULE = "leaf = [[k] for k in range(5_000)]\nclass Node: pass\nloop = Node(); loop.own = loop\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that nothing has imported."""
    (tmp_path / "made_of_lists.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "made_of_lists"
    sys.modules.pop("made_of_lists", None)


def test_what_an_import_makes_is_old_at_once(module):
    gc.collect()
    made = import_for_good(module)
    assert len(gc.get_objects(generation=0)) < 1_000
    assert any(made.leaf is one for one in gc.get_objects(generation=2))
    assert gc.isenabled() and gc.get_freeze_count() == 0


def test_garbage_of_an_import_is_collected_later(module):
    made = import_for_good(module)
    dead = weakref.ref(made.loop)
    del made.loop
    gc.collect()
    assert dead() is None


def test_what_the_program_froze_stays_frozen(module):
    gc.freeze()
    before = gc.get_freeze_count()
    import_for_good(module)
    assert gc.get_freeze_count() == before > 0
