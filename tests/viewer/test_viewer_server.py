# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""The viewer from a program: who can reach it, who owns the World, coming and going; no browser is needed."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest
from waiting import until

from worldline import msd
from worldline import simulation as sx
from worldline._src.errors import ArgumentError, BusyError, CapabilityError, NotFoundError, OperationError
from worldline.collision import CollisionShape

_messages = pytest.importorskip("viser._messages", reason="the viewer needs the package viser")


def boxes(count=2):
    world = sx.World(time_step=0.002)
    world.add_ground_plane()
    for k in range(count):
        body = world.add_rigid_body(f"box_{k}", position=(0.5 * k, 0, 1.0))
        body.add_collision_shape(CollisionShape.box((0.1, 0.1, 0.1)))
    return world


@pytest.fixture
def shown():
    world = boxes()
    with sx.view(world, port=8870) as viewer:
        yield world, viewer


def looked_at(viewer):
    """As if a page was open."""
    viewer._session.server.get_clients = lambda: {0: None}


def positions(viewer):
    return np.concatenate([node.handle.batched_positions for node in viewer._session.stage.shapes.movable()])


def test_only_this_machine_can_reach_it(shown):
    _, viewer = shown
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=5):
        pass
    # an address of this machine that is not loopback
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            own = probe.getsockname()[0]
        except OSError:
            pytest.skip("this machine has no other address")
    if own.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(OSError):
        socket.create_connection((own, viewer.port), timeout=2)
    assert viewer._session.server.request_share_url() is None
    assert viewer.url.startswith(f"http://localhost:{viewer.port}/?token=")


def test_methods_do_what_buttons_do(shown):
    world, viewer = shown
    viewer.step(5)
    assert world.frame == 5 and viewer.frame_count == 2
    viewer.play()
    until(lambda: world.frame > 10)
    viewer.pause()
    frame = world.frame
    time.sleep(0.1)
    assert world.frame == frame and not viewer.is_playing
    viewer.speed = 2.0
    assert viewer.speed == 2.0
    viewer.seek(1)
    assert world.frame == 5
    viewer.reset()
    assert world.frame == 0 and viewer.frame_count == 0


def test_refusals_come_back_to_the_caller(shown):
    world, viewer = shown
    with pytest.raises(ArgumentError, match="speed"):
        viewer.speed = 100.0
    with pytest.raises(ArgumentError, match="no state 3"):
        viewer.seek(3)
    with pytest.raises(NotFoundError, match="keyframe"):
        viewer.apply_keyframe("home")
    with pytest.raises(ArgumentError, match="no marks 'Contacts'; did you mean 'Contact"):
        viewer.show("Contacts")
    assert world.frame == 0 and viewer.speed == 1.0


def test_a_program_steps_and_the_page_shows_it(shown):
    world, viewer = shown
    looked_at(viewer)
    before = positions(viewer).copy()
    world.step(100)
    viewer.sync()
    drawn = positions(viewer)
    assert (drawn[:, 2] < before[:, 2] - 0.05).all()
    expected = [body.translation for body in world.rigid_bodies]
    assert np.sort(drawn, axis=0) == pytest.approx(np.sort(expected, axis=0), abs=1e-6)
    # without a word from the program, too
    world.step(50)
    until(
        lambda: np.allclose(
            np.sort(positions(viewer), axis=0)[:, 2], world.rigid_bodies[0].translation[2], atol=1e-6
        )
    )


def test_looking_never_changes_what_a_program_computes():
    """Steps beside a viewer that draws as fast as it can give the bits of steps alone."""
    alone = boxes(5)
    watched = boxes(5)
    with sx.view(watched, port=8871, fps=500.0) as viewer:
        looked_at(viewer)
        for kind in ("Contact points", "Contact forces", "Joint axes", "Centres of mass"):
            viewer.show(kind)
        for _ in range(60):
            watched.step(10)
            _ = watched.rigid_bodies[0].translation
    alone.step(600)
    assert (alone.state_vector == watched.state_vector).all()


def test_a_world_that_grows_is_drawn_anew(shown):
    world, viewer = shown
    looked_at(viewer)
    viewer.show("Joint axes")
    world.step()
    stage = viewer._session.stage
    with world.edit():
        late = world.add_rigid_body("late", position=(0, 1, 1))
        late.add_collision_shape(CollisionShape.sphere(0.2))
    viewer.sync()
    assert viewer._session.stage is not stage and viewer._session.stage.overlays.is_on("Joint axes")
    assert len(positions(viewer)) == 3


@pytest.mark.parametrize("mode", ["design", "edit"])
def test_the_page_never_compiles_a_world_that_is_being_changed(shown, mode):
    """A frame that is under way when the World changes is left out; the changes are not refused."""
    world, viewer = shown
    if mode == "edit":
        world.step()
    looked_at(viewer)
    drawing, changing, left_out = threading.Event(), threading.Event(), threading.Event()

    def draw(pull, force=False):
        drawing.set()
        changing.wait(5.0)
        try:
            return bool(world.rigid_bodies[0].translation[2])
        except BusyError:
            left_out.set()
            raise

    viewer._session.stage.draw = draw
    assert drawing.wait(5.0)
    with world.edit() if mode == "edit" else nullcontext():
        world.add_rigid_body("late", position=(0, 1, 1))
        changing.set()
        assert left_out.wait(5.0)
        world.rigid_bodies["late"].add_collision_shape(CollisionShape.sphere(0.2))
    viewer.sync()
    assert viewer._session.playback.error is None
    assert len(positions(viewer)) == 3


def test_while_a_job_runs_the_viewer_waits(shown):
    world, viewer = shown
    looked_at(viewer)
    world.step()
    job = world.start_step(2000)
    time.sleep(0.1)
    job.result()
    assert world.frame == 2001
    viewer.step()
    assert world.frame == 2002


def test_viewers_come_and_go():
    world = boxes()
    threads = threading.active_count()
    for _ in range(2):
        with sx.view(world, port=8872) as first, sx.view(world, port=8872) as second:
            assert first.port != second.port
            first.step()
            assert repr(first).startswith("<Viewer of World(simulation mode")
        with pytest.raises(OperationError, match="closed"):
            first.step()
        first.close()
        first.sync()
        assert "closed" in repr(first)
    world.step()
    assert world.frame == 3
    assert not [x for x in vars(world) if "view" in x or "render" in x]
    until(lambda: not [t for t in threading.enumerate() if t.name == "worldline viewer"])
    until(lambda: threading.active_count() <= threads + 2)


def test_bad_arguments_start_nothing():
    world = boxes()
    for wrong in ({"port": 0}, {"port": 70000}, {"fps": 0.0}, {"fps": float("nan")}):
        with pytest.raises(ArgumentError):
            sx.view(world, **wrong)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(CapabilityError, match=r"viser.*pip install 'worldline\[viewer\]'"):
        sx.view(boxes())
    monkeypatch.setitem(sys.modules, "vtkmodules", None)
    with pytest.raises(CapabilityError, match=r"vtk.*pip install 'worldline\[render\]'"):
        sx.render(boxes())


def test_the_command_shows_a_scene():
    command = [
        sys.executable,
        "-m",
        "worldline",
        "view",
        "--no-browser",
        "--port",
        "8877",
        "--seconds",
        "0.5",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.search(r"http://localhost:8877/\?token=[\w-]{20,} shows the robot of the demo", done.stdout)
    missing = subprocess.run([*command, "nowhere.xml"], capture_output=True, text=True, timeout=120)
    assert missing.returncode == 2 and "nowhere.xml" in missing.stderr
    assert "Traceback" not in missing.stderr


def set_on_page(viewer, handle, value):
    """As if a person changed a control of the page."""
    server, done = viewer._session.server, threading.Event()
    message = _messages.GuiUpdateMessage(handle._impl.uuid, {"value": value})
    server.gui._resolve_client = lambda _: "somebody"

    async def change():
        await server.gui._handle_gui_updates(0, message)
        done.set()

    asyncio.run_coroutine_threadsafe(change(), server.get_event_loop())
    assert done.wait(10.0)


def test_what_a_person_sets_is_not_lost_to_what_the_panel_shows():
    scene = """<mujoco><worldbody><body><joint name="turn" axis="0 1 0"/><geom size="0.1" mass="1"/></body></worldbody>
      <actuator><motor name="motor" joint="turn" ctrlrange="-5 5" ctrllimited="true"/></actuator></mujoco>"""
    world = sx.World.from_scene(msd.from_str(scene, format="mjcf"))
    with sx.view(world, port=8870) as viewer:
        sliders = viewer._session.controls.sliders
        (_, slider), (joint, _, turn) = sliders._actuators[0], sliders._joints[0]
        # the thread of the viewer is busy when a person drags, and shows the World before it does what was asked
        with viewer.lock:
            set_on_page(viewer, slider, 3.0)
            set_on_page(viewer, turn, 0.5)
            sliders.update()
            assert slider.value == 0.0 and turn.value == 0.0
        until(lambda: world.actuator_controls[0] == 3.0 and joint.position[0] == 0.5)
        # many changes are done in order
        with viewer.lock:
            for value in np.linspace(-1.0, 1.0, 41).tolist():
                set_on_page(viewer, turn, value)
        until(lambda: joint.position[0] == 1.0)
