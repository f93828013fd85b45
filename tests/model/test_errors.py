# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Bad operands and outputs of every function: a clear ValueError, and nothing written."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numba.core.event as event
import numpy as np
import pytest

import worldline.model as wm
from builders import BOX, robot, single
from functions import ELSEWHERE, FUNCTIONS, random_operands
from worldline._src.errors import WorldlineError
from worldline._src.scalar.lanes import native_width
from worldline.model import ModelBuilder

MODEL = robot().finalize()
NAMES = sorted(FUNCTIONS)


def operands(name, worlds=None, seed=0):
    return random_operands(MODEL, FUNCTIONS[name], np.random.default_rng(seed), worlds)


def result_of(name, worlds=None):
    """An array for the result of a function, all sevens."""
    return np.full_like(FUNCTIONS[name].call(MODEL, *operands(name, worlds)), 7.0)


def refuses(name, values, out, *words, model=MODEL, **options):
    """The call raises, says why, and leaves `out` and the operands as they were."""
    arrays = [x for x in (*values, out) if isinstance(x, np.ndarray)]
    before = [x.copy() for x in arrays]
    with pytest.raises(ValueError) as caught:
        FUNCTIONS[name].call(model, *values, out=out, **options)
    assert isinstance(caught.value, WorldlineError)
    for word in words:
        assert word in str(caught.value), caught.value
    for now, then in zip(arrays, before, strict=True):
        assert np.array_equal(now, then, equal_nan=now.dtype.kind == "f")


def test_every_public_function_is_here():
    functions = {n for n in wm.__all__ if n[0].islower()}
    assert (
        functions
        == {f.split("_wrenches")[0] for f in FUNCTIONS if f in wm.__all__ or "_wrenches" in f} | ELSEWHERE
    )


def each_operand():
    return [pytest.param(n, k, id=f"{n}-{o}") for n in NAMES for k, o in enumerate(FUNCTIONS[n].operands)]


# ---- operands


@pytest.mark.parametrize(("name", "k"), each_operand())
def test_operands(name, k):
    operand = FUNCTIONS[name].operands[k]
    good, out = operands(name), result_of(name)

    def given(value):
        return [value if i == k else x for i, x in enumerate(good)]

    shape = good[k].shape
    bad = [np.zeros((2, 2, 2, *shape)), "text", [None], [[0.0], [0.0, 0.0]], [True] * 3]
    bad += [
        good[k].astype(np.float32),
        good[k].astype(complex),
        good[k].astype(object),
        good[k].astype(">f8"),
    ]
    if operand != "fraction":
        bad += [np.zeros((*shape[:-1], shape[-1] + 1)), 1.0, np.zeros(0), np.zeros(shape, np.int64)]
    for value in bad:
        refuses(name, given(value), out, operand)
    for value in (np.nan, np.inf, -np.inf):
        spoiled = np.array(good[k])
        spoiled[(-1,) * spoiled.ndim] = value
        refuses(name, given(spoiled), out, f"{operand} must be finite")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", [{}, {"lanes": 1}, {"threads": 2}])
def test_non_finite_worlds_are_named(name, options):
    out = result_of(name, 3)
    for k, operand in enumerate(FUNCTIONS[name].operands):
        values = operands(name, worlds=3)
        values[k][(2, *(0,) * (values[k].ndim - 1))] = np.nan
        refuses(name, values, out, f"{operand} must be finite", "world 2", **options)


@pytest.mark.parametrize("name", [n for n in NAMES if len(FUNCTIONS[n].operands) > 1])
def test_worlds_must_agree(name):
    values = operands(name, worlds=3)
    values[-1] = values[-1][:2]
    refuses(name, values, result_of(name, 3), "2 worlds", "3")


class Compilations(event.Listener):
    """Counts how often the compiler starts."""

    def __init__(self):
        self.count = 0

    def on_start(self, event):
        self.count += 1

    def on_end(self, event):
        pass


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def unaligned(array):
    memory = np.frombuffer(bytearray(b"x" + array.tobytes()), np.uint8)
    return memory[1:].view(np.float64).reshape(array.shape)


STRANGE = {
    "columns": np.asfortranarray,
    "rows apart": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "numbers apart": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "unaligned": unaligned,
    "frozen": frozen,
    "list": lambda x: x.tolist(),
}


@pytest.mark.parametrize("name", NAMES)
def test_strange_memory_is_fine_and_compiles_nothing(name):
    function = FUNCTIONS[name]
    values = operands(name, worlds=5)
    expected = function.call(MODEL, *values)
    alone = function.call(MODEL, *[v[0] for v in values])
    assert np.array_equal(alone, expected[0])
    with event.install_listener("numba:compile", Compilations()) as compilations:
        for strange in STRANGE.values():
            assert np.array_equal(function.call(MODEL, *map(strange, values)), expected)
            one = [v[0] if v.ndim == 1 else strange(v[0]) for v in values]
            assert np.array_equal(function.call(MODEL, *one), alone)
        assert np.array_equal(function.call(MODEL, *map(frozen, values), threads=2), expected)
    assert compilations.count == 0


def test_initial_values_of_a_model_compile_nothing():
    """They are read-only, and the first thing a user will pass."""
    wm.forward_kinematics(MODEL, np.array(MODEL.joint_q))
    with event.install_listener("numba:compile", Compilations()) as compilations:
        wm.forward_kinematics(MODEL, MODEL.joint_q)
    assert compilations.count == 0


def test_whole_numbers_in_lists():
    assert np.array_equal(wm.integrate(MODEL, [0, 0, 0, 0, 0, 0, 1, 0], [1, 2, 3, 0, 0, 0, 4])[:3], [1, 2, 3])


@pytest.mark.parametrize("name", NAMES)
def test_operands_are_not_written(name):
    values = operands(name, worlds=6)
    for v in values:
        v.flags.writeable = False
    FUNCTIONS[name].call(MODEL, *values)
    FUNCTIONS[name].call(MODEL, *values, threads=2)
    FUNCTIONS[name].call(MODEL, *[v[0] for v in values])


@pytest.mark.parametrize("name", [n for n in NAMES if len(FUNCTIONS[n].operands) > 1])
def test_an_operand_without_worlds_serves_all(name):
    values = operands(name, worlds=3)
    for k in range(len(values)):
        mixed = [v if i != k else v[1] for i, v in enumerate(values)]
        spread = [v if i != k else np.repeat(v[1:2], 3, axis=0) for i, v in enumerate(values)]
        assert np.array_equal(FUNCTIONS[name].call(MODEL, *mixed), FUNCTIONS[name].call(MODEL, *spread))


# ---- outputs


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("worlds", [None, 3])
def test_foreign_outputs(name, worlds):
    values = operands(name, worlds)
    result = FUNCTIONS[name].call(MODEL, *values)
    shape = result.shape
    bad = [
        result.tolist(),
        5,
        np.zeros((*shape, 1)),
        np.zeros(shape, np.float32),
        np.zeros(shape, int),
        frozen(np.zeros(shape)),
        unaligned(np.zeros(shape)),
    ]
    if shape:
        bad += [np.zeros((shape[0] + 1, *shape[1:])), np.zeros((*shape[:-1], 2 * shape[-1]))[..., ::2]]
    if worlds is None:
        bad.append(np.zeros((1, *shape)))
    for out in bad:
        refuses(name, values, out, "out of")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", [{}, {"lanes": 1}, {"threads": 2}])
def test_out_takes_the_result(name, options):
    values = operands(name, worlds=5)
    expected = FUNCTIONS[name].call(MODEL, *values)
    out = np.full_like(expected, 7.0)
    assert FUNCTIONS[name].call(MODEL, *values, out=out, **options) is out
    assert np.array_equal(out, expected)


def test_out_must_not_be_an_operand():
    x = np.ones((4, 7))
    q = wm.random_configuration(MODEL, 0, worlds=4)
    for call in (
        lambda: wm.solve_mass_matrix(MODEL, q, x, out=x),
        lambda: wm.forward_dynamics(MODEL, q, x + 1, x, out=x),
        lambda: wm.forward_dynamics(MODEL, q[0], x[0] + 1, x[0], out=x[0]),
        lambda: wm.integrate(MODEL, q, x, out=q),
    ):
        kept = x.copy(), q.copy()
        with pytest.raises(ValueError, match="share memory"):
            call()
        assert np.array_equal(x, kept[0])
        assert np.array_equal(q, kept[1])


def test_results_are_new_arrays():
    q = wm.neutral(MODEL)
    first = wm.mass_matrix(MODEL, q)
    kept = first.copy()
    wm.mass_matrix(MODEL, wm.random_configuration(MODEL, 1))
    assert np.array_equal(first, kept)


# ---- threads and lanes


@pytest.mark.parametrize("worlds", [None, 0, 5])
@pytest.mark.parametrize("threads", [None, -1, 1.5, 2.0, "2", True, [1]])
def test_bad_threads(threads, worlds):
    name = "forward_dynamics"
    refuses(name, operands(name, worlds), result_of(name, worlds), "threads", threads=threads)


@pytest.mark.parametrize("lanes", [0, -1, 2, 3, 16, 1.5, 4.0, "4", True, [4]])
def test_bad_lanes(lanes):
    name = "forward_dynamics"
    refuses(name, operands(name, 5), result_of(name, 5), "lanes", lanes=lanes)


def test_lanes_of_this_processor():
    values = operands("forward_dynamics", 5)
    expected = wm.forward_dynamics(MODEL, *values, lanes=1)
    for lanes in {None, 4, native_width(), np.int64(4)}:
        assert np.array_equal(wm.forward_dynamics(MODEL, *values, lanes=lanes), expected)
    if native_width() < 8:
        with pytest.raises(ValueError, match="lanes"):
            wm.forward_dynamics(MODEL, *values, lanes=8)


@pytest.mark.parametrize("threads", [0, 1, 2, 3, 64, np.int64(2)])
@pytest.mark.parametrize("worlds", [0, 1, 2, 7])
def test_any_number_of_threads_and_worlds(threads, worlds):
    values = operands("forward_dynamics", worlds)
    expected = [wm.forward_dynamics(MODEL, *[v[w] for v in values]) for w in range(worlds)]
    got = wm.forward_dynamics(MODEL, *values, threads=threads)
    assert got.shape == (worlds, 7)
    assert np.array_equal(got, np.array(expected).reshape(worlds, 7))


def test_callers_in_many_threads_do_not_disturb_each_other():
    """Scratch memory is shared through a list; whoever finds it empty makes more."""
    model = robot().finalize()
    values = operands("forward_dynamics", 8)
    expected = wm.forward_dynamics(model, *values)
    failures = []

    def work():
        for _ in range(60):
            if not np.array_equal(wm.forward_dynamics(model, *values, threads=2), expected):
                failures.append("wrong")

    def guarded():
        try:
            work()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(6)]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(switch)
    assert failures == []


def test_scratch_taken_by_another_thread():
    """Between asking whether there is scratch memory and taking it, another thread may take the last."""

    class Contested(list):
        def __len__(self):
            return 1

    model = robot().finalize()
    model.scratch["float"] = Contested()
    values = operands("forward_dynamics")
    assert np.array_equal(wm.forward_dynamics(model, *values), wm.forward_dynamics(MODEL, *values))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_threads_after_a_fork():
    """The threads of a pool stay behind in the parent; the child must not wait for them."""
    code = (
        "import os, sys, numpy as np, worldline.model as wm\n"
        "from worldline._src.step.samples import chain\n"
        "model, x = chain(2), np.ones((8, 2))\n"
        "want = wm.forward_dynamics(model, x, x, x, threads=2)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    same = np.array_equal(wm.forward_dynamics(model, x, x, x, threads=2), want)\n"
        "    os._exit(0 if same else 3)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


# ---- other arguments


@pytest.mark.parametrize("link", [2, -1, 0.0, None, True, [0]])
def test_bad_links(link):
    with pytest.raises(ValueError, match="link"):
        wm.jacobian(MODEL, MODEL.joint_q, link)
    with pytest.raises(ValueError, match="link"):
        wm.jacobian_dot_times_v(MODEL, MODEL.joint_q, MODEL.joint_qd, link)


def test_links_by_label():
    q = wm.random_configuration(MODEL, 0)
    assert np.array_equal(wm.jacobian(MODEL, q, "hand"), wm.jacobian(MODEL, q, 1))
    assert np.array_equal(wm.jacobian(MODEL, q, np.int64(1)), wm.jacobian(MODEL, q, 1))
    with pytest.raises(KeyError, match="did you mean 'hand'"):
        wm.jacobian(MODEL, q, "hant")


@pytest.mark.parametrize("axes", ["body", "World", None, 1])
def test_bad_axes(axes):
    with pytest.raises(ValueError, match="axes"):
        wm.jacobian(MODEL, MODEL.joint_q, 0, axes=axes)


@pytest.mark.parametrize("about", ["center", None, 0])
def test_bad_reference_of_momentum(about):
    with pytest.raises(ValueError, match="about"):
        wm.momentum(MODEL, MODEL.joint_q, MODEL.joint_qd, about=about)


@pytest.mark.parametrize("worlds", [-1, 1.5, "2", True])
def test_bad_number_of_random_worlds(worlds):
    with pytest.raises(ValueError, match="worlds"):
        wm.random_configuration(MODEL, 0, worlds=worlds)


def test_random_configurations():
    assert wm.random_configuration(MODEL, 0).shape == (8,)
    assert wm.random_configuration(MODEL, 0, worlds=1).shape == (1, 8)
    assert wm.random_configuration(MODEL, 0, worlds=0).shape == (0, 8)
    assert np.array_equal(
        wm.random_configuration(MODEL, 5), wm.random_configuration(MODEL, np.random.default_rng(5))
    )


# ---- models with little in them


@pytest.mark.parametrize("name", NAMES)
def test_models_without_anything(name):
    nothing = ModelBuilder().finalize()
    if name.startswith("jacobian"):
        with pytest.raises(ValueError, match="link"):
            wm.jacobian(nothing, np.zeros(0), 0)
        return
    for worlds in (None, 0, 3):
        values = random_operands(nothing, FUNCTIONS[name], np.random.default_rng(0), worlds)
        result = FUNCTIONS[name].call(nothing, *values)
        assert np.isfinite(result).all()
        assert worlds is None or result.shape[0] == worlds


@pytest.mark.parametrize("name", NAMES)
def test_models_without_degrees_of_freedom(name):
    model = single("fixed").finalize()
    for worlds in (None, 0, 3):
        values = random_operands(model, FUNCTIONS[name], np.random.default_rng(0), worlds)
        assert np.isfinite(FUNCTIONS[name].call(model, *values)).all()
    assert wm.center_of_mass(model, []).tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("name", NAMES)
def test_no_worlds(name):
    for options in ({}, {"threads": 2}, {"lanes": 1}):
        values = operands(name, worlds=0)
        assert FUNCTIONS[name].call(MODEL, *values, **options).shape[0] == 0


# ---- bodies that nothing can accelerate

INVERSE = ["forward_dynamics", "forward_dynamics_wrenches", "mass_matrix_inverse", "solve_mass_matrix"]
INVERSE.append("impulse_response")


def massless(**bob):
    builder = ModelBuilder()
    arm, hand = builder.add_link(mass=1.0, inertia=BOX), builder.add_link(**bob)
    joints = [builder.add_joint_revolute(-1, arm), builder.add_joint_ball(arm, hand, label="wrist")]
    builder.add_articulation(joints)
    return builder.finalize()


@pytest.mark.parametrize("name", INVERSE)
@pytest.mark.parametrize(
    "bob", [{}, {"mass": 1.0}, {"mass": 1.0, "com": (1, 2, 3)}], ids=["no mass", "point", "arm"]
)
def test_joints_that_move_no_inertia_are_named(name, bob):
    """A point mass on a ball joint can spin about its arm for free, wherever the arm points."""
    model = massless(**bob)
    values = random_operands(model, FUNCTIONS[name], np.random.default_rng(0))
    out = np.zeros((4, 4) if "inverse" in name else 4)
    refuses(name, values, out, "'wrist'", "inertia", model=model)


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(INVERSE)))
def test_what_needs_no_inverse_needs_no_inertia(name):
    model = massless()
    values = random_operands(model, FUNCTIONS[name], np.random.default_rng(0))
    assert np.isfinite(FUNCTIONS[name].call(model, *values)).all()


def test_armature_is_inertia_enough():
    model = massless()
    model.update(joint_armature=np.full(4, 0.1))
    a = wm.forward_dynamics(model, wm.neutral(model), np.zeros(4), np.ones(4))
    assert np.allclose(a[1:], 10.0)


def test_inertia_is_looked_at_again_after_an_update():
    model = single("revolute").finalize()
    x = np.zeros(1)
    wm.forward_dynamics(model, x, x, x)
    model.update(body_mass=[0.0], body_inertia=np.zeros((1, 3, 3)))
    with pytest.raises(ValueError, match="inertia"):
        wm.forward_dynamics(model, x, x, x)
    model.update(joint_armature=[1.0])
    assert wm.forward_dynamics(model, x, x, [3.0]).tolist() == [3.0]


def test_long_chains_have_inertia():
    from worldline._src.step.samples import chain

    x = np.zeros(200)
    assert np.isfinite(wm.forward_dynamics(chain(200), x, x, x)).all()
