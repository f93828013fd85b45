# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Record a run, go back in it, try something else from there, and keep both.

python examples/record_scrub_plot.py out     also writes out.png, out.html, out.csv and out.wlr
"""

import sys

import numpy as np

from worldline import simulation as sx
from worldline.collision import CollisionShape


def main(output: str | None = None) -> None:
    world = sx.World(time_step=0.002)
    world.add_ground_plane(friction=0.5)
    ball = world.add_rigid_body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004), position=(0.0, 0.0, 1.0))
    ball.add_collision_shape(CollisionShape.sphere(0.1), friction=0.5, restitution=0.7)

    world.replay_recording_enabled = True
    world.step(n=1000)
    straight = world.recording
    bounces = np.flatnonzero((straight["ball.velocity"][:-1, 2] < 0) & (straight["ball.velocity"][1:, 2] > 0))
    print(f"{len(straight)} frames, {len(bounces)} bounces, the first at {straight.times[bounces[0]]:.3f} s")

    # scrub back to just before the first bounce, and kick it
    world.restore_replay_frame(int(bounces[0]))
    assert world.time == straight.times[bounces[0]]
    ball.linear_velocity = (2.0, 0.0, ball.linear_velocity[2])
    world.step(n=500)
    kicked = world.recording
    print(f"branches: {world.replay.branches}; kicked, the ball went {kicked['ball.pose'][-1, 0]:.2f} m")
    assert len(world.replay.branches) == 2
    assert straight["ball.pose"][-1, 0] == 0.0 and kicked["ball.pose"][-1, 0] > 0.5
    assert world.verify_replay()  # simulating it again gives the same bits

    if output is not None:
        straight.plot(["ball.pose", "ball.velocity"]).savefig(f"{output}.png")
        kicked.to_html(f"{output}.html", title="a kicked ball")
        kicked.to_csv(f"{output}.csv")
        kicked.save(f"{output}.wlr")
        assert np.array_equal(sx.Recording.load(f"{output}.wlr")["ball.pose"], kicked["ball.pose"])
        print(f"written: {output}.png, .html, .csv, .wlr")


if __name__ == "__main__":
    main(*sys.argv[1:])
