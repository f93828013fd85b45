# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Softness of constraints: from springs and impedances back to `solref` and `solimp`.

An impedance model goes back to the numbers it was read from. The other laws of a scene are ones that MuJoCo
does not have. Over one step of h each of them is a reference acceleration and a regularizer that hardly
depend on the state, and a constant impedance with a spring given directly has the same two numbers for an
inertia of one; so it is approximated by those.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

from worldline._src.scene.formats.mjcf.solver import SOLIMP, SOLREF, stiffness_damping
from worldline._src.scene.formats.mjcf.writing import Words, Writing, preimage
from worldline._src.scene.values import Impedance, ImpedanceDamping, ImpedanceSpring, StiffnessDamping

Pair = tuple[float, float]
Profile = tuple[float, float, float, float, float]
_MOST: Final = 0.9999
"""The largest impedance that MuJoCo takes."""


def write_softness(
    writing: Writing, words: Words, model: Any, path: str, ref: str = "solref", imp: str = "solimp"
) -> None:
    """The two attributes of a force model, or of an impedance spring; the path is that of the model."""
    if isinstance(model, ImpedanceSpring):
        solref, solimp = _of_spring(writing, model, path)
    elif model.variant == "impedance":
        solref, solimp = _of_spring(writing, model.value, f"{path}.Impedance")
    else:
        step = writing.world.simulate_option.timestep
        solref, solimp = _of_law(model, step)
        kind = model.variant.replace("_", " ")
        writing.changed(
            path, f"a law of the kind '{kind}' becomes an impedance that is alike for steps of {step:g} s"
        )
    words.reals(ref, solref, SOLREF)
    words.reals(imp, solimp, SOLIMP, short=True)


def _of_spring(writing: Writing, model: ImpedanceSpring, path: str) -> tuple[Pair, Profile]:
    spring = model.spring
    found = (-spring.k, -spring.d) if model.direct else time_constants(spring.k, spring.d)
    if found is None:
        writing.changed(f"{path}.spring", "a spring without stiffness or damping is given directly")
        found = (-spring.k, -spring.d)
    return found, profile(model.impedance)


def profile(impedance: Impedance) -> Profile:
    """The `solimp` of a profile."""
    return impedance.d0, impedance.dmax, impedance.width, impedance.middle, impedance.power


@lru_cache(maxsize=1024)
def time_constants(k: float, d: float) -> Pair | None:
    """The time constant and damping ratio of a spring, None when it has none.

    Of the numbers that differ in their last digits those are taken that the reader turns into this spring.
    """
    if not (1e-12 < k < 1e15 and 1e-12 < d < 1e15):
        return None
    t, z = 2.0 / d, 0.5 * d / math.sqrt(k)
    times, ratios = _neighbours(t), _neighbours(z)
    for time in times:
        if 2.0 / time != d:
            continue
        for ratio in ratios:
            found = stiffness_damping((time, ratio))
            if found is not None and found[0].k == k and found[0].d == d:
                return time, ratio
    return preimage(lambda time: 2.0 / time, t, d), z


def _neighbours(value: float) -> list[float]:
    found = [value]
    low = high = value
    for _ in range(4):
        low, high = math.nextafter(low, 0.0), math.nextafter(high, math.inf)
        found += [low, high]
    return found


def _of_law(model: Any, h: float) -> tuple[Pair, Profile]:
    """Numbers with the reference acceleration and regularizer of another law, per unit of inertia."""
    if model.variant == "hard":
        k, d, share = model.value["erp"] / (h * h), 1.0 / h, _MOST
    else:
        spring: StiffnessDamping = model.value
        give = h * (spring.k * h + spring.d)
        if give <= 0.0:
            return (0.0, 0.0), (1.0 - _MOST, 1.0 - _MOST, 0.001, 0.5, 2.0)
        k, d, share = spring.k / give, 1.0 / h, min(_MOST, give / (1.0 + give))
    # a stiffness is divided by the square of the impedance and then scaled by it, a damping only divided
    return (-k * share, -d * share), (share, share, 0.001, 0.5, 2.0)


def write_friction(
    writing: Writing, words: Words, friction: ImpedanceDamping, loss: float, path: str
) -> None:
    """Softness of dry friction: a damping, and an impedance that does not change."""
    if friction._fields["impedance"].is_default(friction.impedance) and loss == 0.0 and friction.dmax is None:
        # the scene's own default, of which a file knows nothing
        writing.reworded(path, "there is no dry friction that could be soft")
        return
    dmax = friction.dmax
    if dmax is None:
        writing.reworded(f"{path}.dmax", "it is written as the constant impedance, which is what None means")
        dmax = friction.impedance
    if friction.direct or not 1e-12 < friction.damping < 1e15:
        if not friction.direct:
            writing.changed(f"{path}.damping", "a damping without a time constant is given directly")
        words.reals("solreffriction", (0.0, -friction.damping))
    else:
        time = preimage(lambda t: 2.0 / t, 2.0 / friction.damping, friction.damping)
        words.reals("solreffriction", (time, 1.0), SOLREF)
    words.reals("solimpfriction", (friction.impedance, dmax, *SOLIMP[2:]), SOLIMP, short=True)
