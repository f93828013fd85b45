# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""A humanoid without power falls; then the same fall with knees and hips that hold.

python examples/humanoid_falling.py fall.html     also writes a page that replays the first fall
"""

import sys
from pathlib import Path

import worldline
from worldline import simulation as sx

MODEL = Path(worldline.__file__).parent / "_src" / "cli" / "data" / "humanoid.xml"


def fall(seconds: float, stiffness: float = 0.0, page: str | None = None) -> list[float]:
    """Heights of the head."""
    world = sx.World.from_file(MODEL)
    person = world.multibodies["pelvis"]
    for joint in person.joints:
        if joint.num_dofs == 1:
            joint.target_stiffness, joint.target_damping = stiffness, 0.1 * stiffness
    world.replay_recording_enabled = page is not None
    heights = []
    for _ in range(round(seconds / 0.1)):
        world.step(n=round(0.1 / world.time_step))
        heights.append(float(person.links["head"].translation[2]))
    if page is not None:
        world.recording.to_html(page, title="a humanoid falls")
        print(f"replay written to {page}")
    metrics = world.compute_step_metrics()
    print(
        f"stiffness {stiffness:3.0f} N m/rad: head at {heights[-1]:.2f} m after {world.time:.1f} s, "
        f"{metrics.active_contact_count} contacts, deepest {1e3 * metrics.max_penetration_depth:.1f} mm"
    )
    assert metrics.max_penetration_depth < 0.02
    return heights


def main(page: str | None = None) -> None:
    limp = fall(3.0, page=page)
    firm = fall(1.0, stiffness=300.0)
    assert limp[-1] < 0.6  # on the floor
    assert firm[-1] > 1.2  # still up after a second


if __name__ == "__main__":
    main(*sys.argv[1:])
