# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The golden set: hashes of what every scene of `golden_scenes.py` does in 500 steps, and how to renew it.

`golden.json` holds, for each kind of machine, one hash a scene over state, sensors, contact forces and the
solver's counters, and for all machines the state after 20 steps. What is rounded may depend on versions of
compiler and NumPy, so hashes count on the kind of machine that they were recorded on; elsewhere the state
after 20 steps must agree closely.

A change that is meant to change results renews the set and says why:

    make golden REASON="softer default of joint limits"
"""

from __future__ import annotations

import argparse
import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from golden_scenes import SCENES

from worldline import simulation as sx
from worldline._src.scalar.lanes import native_width
from worldline.model import LaneSimulation

FILE = Path(__file__).with_name("golden.json")
EARLY, ROUNDS = 20, 5
"""Steps before the state is compared with that of any machine, and rounds of 96 steps that are hashed."""


def machine() -> str:
    """What results to the bit depend on: width of vectors, compiler and numerical library."""
    return f"{native_width()} lanes, numba {version('numba')}, numpy {version('numpy')}"


def state(world: sx.World | LaneSimulation) -> np.ndarray:
    """Coordinates and velocities of all worlds."""
    if isinstance(world, LaneSimulation):
        return np.hstack([world.q, world.v, world.activation]).ravel()
    return np.asarray(world.state_vector)


def _observed(world: sx.World | LaneSimulation) -> list[np.ndarray]:
    """All that a user can read after a step and that a change of the engine may change."""
    if isinstance(world, LaneSimulation):
        return [state(world), world.kept]
    report = world.step_report()
    counters = (report.islands, report.rows, report.contacts, report.iterations, report.converged)
    readings = [np.atleast_1d(sensor.value) for sensor in world.sensors]
    forces = [np.concatenate([contact.point, contact.force]) for contact in world.get_last_contact_forces()]
    return [state(world), *readings, *forces, np.array(counters, float)]


def run(name: str) -> tuple[list[float], str]:
    """State after 20 steps, and the hash of what is observed after each of five rounds of 96 more."""
    world = SCENES[name]()
    world.step(EARLY)
    early = state(world).tolist()
    digest = hashlib.sha256()
    for _ in range(ROUNDS):
        world.step(96)
        for part in _observed(world):
            digest.update(np.ascontiguousarray(part, dtype=float).tobytes())
    return early, digest.hexdigest()[:32]


def recorded() -> dict[str, Any]:
    return json.loads(FILE.read_text())


def renew(reason: str) -> list[str]:
    """Record this machine's results; returns the names of scenes whose bits are new."""
    kept = recorded() if FILE.exists() else {"early": {}, "hashes": {}, "history": []}
    before = kept["hashes"].get(machine(), {})
    early, hashes = {}, {}
    for name in SCENES:
        early[name], hashes[name] = run(name)
    changed = [name for name in SCENES if hashes[name] != before.get(name)]
    moved = [name for name in SCENES if not close(early[name], kept["early"].get(name, []))]
    # hashes of other machines are void where results moved by more than rounding
    others = {
        kind: {name: value for name, value in of.items() if name in SCENES and name not in moved}
        for kind, of in kept["hashes"].items()
    }
    kept["early"] |= {name: early[name] for name in moved}
    kept["early"] = {name: kept["early"][name] for name in SCENES}
    kept["hashes"] = others | {machine(): hashes}
    if changed:
        kept["history"].append({"reason": reason, "machine": machine(), "changed": changed})
    text = json.dumps(kept, indent=1)
    FILE.write_text(text + "\n")
    return changed


def close(one: list[float], other: list[float]) -> bool:
    """Whether two states after 20 steps differ by rounding only."""
    return len(one) == len(other) and bool(np.allclose(one, other, rtol=1e-9, atol=1e-10))


def main() -> None:
    parser = argparse.ArgumentParser(description="Renew the golden set.")
    parser.add_argument("reason", help="why results change; kept in golden.json")
    reason = parser.parse_args().reason.strip()
    if len(reason) < 10:
        parser.error(f"a reason says why results change; {reason!r} does not")
    changed = renew(reason)
    print(f"{len(SCENES)} scenes, {len(changed)} with new bits: {', '.join(changed) or 'none'}")


if __name__ == "__main__":
    main()
