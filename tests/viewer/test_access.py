# SPDX-FileCopyrightText: The Worldline developers
# SPDX-License-Identifier: Apache-2.0
"""Who may use the page, which of its messages act, and what goes wrong without ending the viewer."""

from __future__ import annotations

import asyncio
import http.client
import sys
import threading
from urllib.parse import urlsplit

import msgspec
import numpy as np
import pytest
from waiting import until

from worldline import ArgumentError, BusyError, StepFailure, WorldlineError, msd
from worldline import simulation as sx
from worldline._src.viewer.messages import is_valid_value

_messages = pytest.importorskip("viser._messages", reason="the viewer needs the package viser")
websockets = pytest.importorskip("websockets", reason="the viewer needs the package viser")
client = pytest.importorskip("websockets.asyncio.client", reason="the viewer needs the package viser")

ARM = """<mujoco><worldbody><body><joint name="turn" axis="0 1 0"/><geom size="0.1" mass="1"/></body></worldbody>
  <actuator><motor name="motor" joint="turn" ctrlrange="-5 5" ctrllimited="true"/></actuator></mujoco>"""


@pytest.fixture
def viewer():
    with sx.view(sx.World.from_scene(msd.from_str(ARM, format="mjcf")), port=8880) as made:
        yield made


# ---- requests


def get(viewer, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=10)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    return answer


def path_of(viewer):
    parts = urlsplit(viewer.url)
    return f"{parts.path}?{parts.query}"


def test_the_address_of_the_viewer_lets_in_and_leaves_a_cookie(viewer):
    answer = get(viewer, path_of(viewer))
    cookie = answer.getheader("Set-Cookie")
    assert answer.status == 200 and "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert get(viewer, Cookie=cookie.split(";")[0]).status == 200


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/?token=wrong", {}),
        ("/?token=", {}),
        ("/", {"Cookie": "worldline-8880=wrong"}),
        (None, {"Host": "evil.example"}),
        (None, {"Origin": "http://evil.example"}),
        (None, {"Origin": "null"}),
        (None, {"Origin": "http://localhost:1"}),
        (None, {"Host": "["}),
        (None, {"Origin": "http://["}),
        ("//[?token=x", {}),
    ],
)
def test_other_requests_are_refused(viewer, path, headers):
    assert get(viewer, path_of(viewer) if path is None else path, **headers).status == 403


def connect(viewer, **options):
    """Open the connection of the page and close it again; returns the status of a refusal."""

    async def run():
        address = f"ws://127.0.0.1:{viewer.port}{path_of(viewer) if options.pop('token', True) else '/'}"
        protocol = websockets.Subprotocol(f"viser-v{__import__('viser').__version__}")
        try:
            async with client.connect(address, subprotocols=[protocol], **options):
                return 101
        except websockets.exceptions.InvalidStatus as error:
            return error.response.status_code

    return asyncio.run(run())


def test_pages_of_other_origins_cannot_open_the_connection(viewer):
    own = f"http://127.0.0.1:{viewer.port}"
    assert connect(viewer, origin=own) == 101
    assert connect(viewer, origin="http://evil.example") == 403
    assert connect(viewer, origin=f"http://localhost:{viewer.port + 1}") == 403
    assert connect(viewer, origin=own, token=False) == 403


# ---- messages


def send(viewer, handle, updates):
    """A message of the page about a control, as the server gets it."""
    server, done = viewer._session.server, threading.Event()
    server.gui._resolve_client = lambda _: "somebody"

    async def change():
        message = _messages.GuiUpdateMessage(handle._impl.uuid, updates)
        await server._websock_server._handle_incoming_message(0, message)
        done.set()

    asyncio.run_coroutine_threadsafe(change(), server.get_event_loop())
    assert done.wait(10.0)


@pytest.mark.parametrize(
    "value", [1e308, -1e308, float("nan"), float("inf"), "abc", None, True, [1.0], 10**400]
)
def test_values_beyond_a_slider_do_nothing(viewer, value):
    sliders = viewer._session.controls.sliders
    (_, motor), (joint, _, turn) = sliders._actuators[0], sliders._joints[0]
    for handle in (motor, turn):
        send(viewer, handle, {"value": value})
    viewer.step()
    assert abs(joint.position[0]) < 1e-3 and viewer._session.world.actuator_controls[0] == 0.0
    assert abs(motor.value) <= 5.0 and abs(turn.value) < 0.01


def camera(**changed):
    """The message by which a page says where it looks from; the first one makes it a client."""
    lens = {"fov": 0.8, "near": 0.01, "far": 100.0, "image_height": 400, "image_width": 600}
    place = {"wxyz": [1, 0, 0, 0], "position": [3, 0, 1], "look_at": [0, 0, 0], "up_direction": [0, 0, 1]}
    return {"type": "ViewerCameraMessage", **lens, **place, **changed}


def press(handle, **changed):
    return {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": True}, **changed}


def upload(handle):
    """A file of three bytes, put into a control."""
    mine = {"source_component_uuid": handle._impl.uuid, "transfer_uuid": "t"}
    file = {"filename": "f", "mime_type": "x/y", "part_count": 1, "size_bytes": 3}
    return [
        {"type": "FileTransferStartUpload", **mine, **file},
        {"type": "FileTransferPart", **mine, "part_index": 0, "content": b"abc"},
    ]


def drag(**changed):
    points = {"start_position": [0, 0, 0], "end_position": [0, 0, 1]}
    screen = {"start_screen_pos": [0, 0], "end_screen_pos": [0, 0], "button": "left", "modifier": "cmd/ctrl"}
    fields = {"phase": "start", "name": "/world/shapes/0", "instance_index": 0, **points, **screen}
    return {"type": "SceneNodeDragMessage", **fields, **changed}


def test_hostile_messages_of_a_connection_are_dropped_and_the_next_one_acts(viewer, capfd):
    """Through the wire: neither is the connection closed, nor does anything reach a control or the World."""
    world, gui = viewer._session.world, viewer._session.server.gui
    handles = list(gui._gui_input_handle_from_uuid.values())
    step = next(h for h in handles if getattr(h, "label", "") == "Step")
    turn = viewer._session.controls.sliders._joints[0][2]
    nan, inf = float("nan"), float("inf")
    hostile = [
        *upload(turn),
        *upload(speed_of(viewer)),
        *[press(step, uuid=uuid) for uuid in (["x"], {"a": 1}, 5, None)],
        *[press(step, updates=updates) for updates in ("value", None, [1], {"value": {"a": 1}}, {1: 2})],
        *[camera(position=p) for p in ([nan, 0, 0], [inf, 0, 0], [1e300, 0, 0], ["x", 0, 0], [0, 0], None)],
        *[camera(fov=fov) for fov in (nan, "x", None)],
        camera(image_width="x" * 1000),
        *[drag(instance_index=index) for index in ("x", 1e300, nan)],
        *[drag(end_position=p) for p in ([nan, 0, 0], "abc", [0, 0])],
        drag(phase="middle"),
        {"type": "ShareUrlRequest"},
        {"type": "RunJavascriptMessage", "source": "alert(1)"},
        {"type": "GuiFormDirtyMessage", "uuid": "x"},
        {"type": "no such message"},
        {"type": ["x"]},
        {"type": "Message"},
        {},
        [],
        5,
        "text",
    ]
    raw = [msgspec.msgpack.encode(message) for message in hostile]
    raw += [
        b"",
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",
        b"\x91" * 100_000,
        "a text",
        msgspec.msgpack.encode(camera())[:-3],
    ]

    async def run():
        address = f"ws://127.0.0.1:{viewer.port}{path_of(viewer)}"
        protocol = websockets.Subprotocol(f"viser-v{__import__('viser').__version__}")
        async with client.connect(address, subprotocols=[protocol], max_size=None) as page:
            reader = asyncio.create_task(drain(page))
            await page.send(msgspec.msgpack.encode(camera()))
            while not viewer.client_count:
                await asyncio.sleep(0.01)
            for data in raw:
                await page.send(data)
            await page.send(msgspec.msgpack.encode(press(step)))
            while not world.frame:
                await asyncio.sleep(0.01)
            looked = next(iter(viewer._session.server.get_clients().values())).camera
            assert looked.position.tolist() == [3, 0, 1] and looked.fov == 0.8
            reader.cancel()

    async def drain(page):
        async for _ in page:
            pass

    asyncio.run(asyncio.wait_for(run(), 60.0))
    assert world.frame == 1 and viewer._session.playback.error is None
    # the time line goes with the step, and the joint moves a little
    assert speed_of(viewer).value == "1" and isinstance(turn.value, float) and abs(turn.value) < 0.01
    assert viewer._session.playback.perturbation.grip is None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "updates", [{"max": 1e9}, {"value": 1.0, "max": 1e9}, {"label": "x"}, {}, "value", None]
)
def test_messages_set_values_alone(viewer, updates):
    turn = viewer._session.controls.sliders._joints[0][2]
    before = turn.max, turn.label, turn.value
    send(viewer, turn, updates)
    viewer.step(0)
    assert (turn.max, turn.label, turn.value) == before


def speed_of(viewer):
    gui = viewer._session.server.gui
    return next(h for h in gui._gui_input_handle_from_uuid.values() if getattr(h, "label", "") == "Speed")


def test_lists_take_their_entries_alone(viewer):
    speed = speed_of(viewer)
    send(viewer, speed, {"value": "abc"})
    viewer.step()
    assert viewer.speed == 1.0 and speed.value == "1"
    send(viewer, speed, {"value": "2"})
    until(lambda: viewer.speed == 2.0)


def test_a_slider_takes_values_up_to_one_of_its_steps_beyond_its_ends(viewer):
    """The page counts steps from the lower end, so that the last one may lie beyond the upper end."""
    slider = viewer._session.controls.sliders._joints[0][2]
    assert slider.step > 0.0
    for end, beyond in ((slider.min, -slider.step), (slider.max, slider.step)):
        assert is_valid_value(slider, end + 0.9 * beyond)
        assert not is_valid_value(slider, end + 1.1 * beyond)


def test_sliders_and_buttons_still_work(viewer):
    world, gui = viewer._session.world, viewer._session.server.gui
    joint, _, turn = viewer._session.controls.sliders._joints[0]
    send(viewer, turn, {"value": 0.5})
    until(lambda: joint.position[0] == 0.5)
    step = next(h for h in gui._gui_input_handle_from_uuid.values() if getattr(h, "label", "") == "Step")
    send(viewer, step, {"value": True})
    until(lambda: world.frame == 1)


# ---- what goes wrong


def test_a_plot_that_raises_ends_alone(viewer):
    viewer._session.server.get_clients = lambda: {0: None}
    good, asked = [], []

    def bad():
        asked.append(1)
        raise ZeroDivisionError("of the user")

    viewer.plot("bad", ("x",), bad)
    viewer.plot("good", ("y",), lambda: (float(len(good.append(1) or good)),))
    viewer.step(3)
    until(lambda: asked)
    count = len(good)
    viewer.step(3)
    until(lambda: len(good) > count)
    assert len(asked) == 1 and viewer._session._thread.is_alive()


@pytest.mark.parametrize("numbers", [("a",), (1.0, 2.0), (), None])
def test_a_plot_of_what_are_not_its_numbers_ends_alone(viewer, numbers):
    session = viewer._session
    session.server.get_clients = lambda: {0: None}
    viewer.plot("wrong", ("x",), lambda: numbers)
    viewer.step(3)
    until(lambda: not session.controls.plots._shown)
    assert session.playback.error is None
    viewer.play()
    until(lambda: session.world.frame > 10)


def test_a_plot_that_exits_does_not_end_the_thread(viewer):
    session = viewer._session
    session.server.get_clients = lambda: {0: None}
    viewer.plot("exit", ("x",), lambda: sys.exit(3))
    viewer.step(3)
    until(lambda: not session.controls.plots._shown)
    viewer.step(3)
    assert session.world.frame == 6


def test_plots_go_on_while_a_program_steps(viewer, monkeypatch):
    """A step of another thread refuses the reading of a plot, which is no error of the plot."""
    plots = viewer._session.controls.plots

    def refused():
        raise BusyError("another thread is inside a step")

    viewer.plot("energy", ("x",), refused)
    with pytest.raises(BusyError):
        plots.sample(1e9, force=True)
    assert "energy" in plots._shown


@pytest.mark.parametrize("error", [RuntimeError, SystemExit, KeyboardInterrupt])
def test_work_that_raises_does_not_end_the_thread(viewer, error):
    def bad():
        raise error("not an error of the library")

    viewer._session.post(bad)
    viewer.step(2)
    assert viewer._session.world.frame == 2


def test_a_program_is_told_that_a_step_failed(viewer):
    world = viewer._session.world
    viewer.step()
    world.divergence_limit = 1e3
    world.multibodies[0].joints["turn"].velocity = [1e5]
    with pytest.raises(StepFailure, match="diverged"):
        viewer.step(3)
    assert world.frame == 1 and viewer._session.playback.error is not None
    viewer.reset()
    viewer.step()
    assert world.frame == 1


def test_a_viewer_whose_thread_is_gone_says_so(viewer, monkeypatch):
    session = viewer._session
    monkeypatch.setattr(session, "_thread", threading.Thread(target=lambda: None))
    monkeypatch.setattr(session, "post", lambda work: None)
    with pytest.raises(RuntimeError, match="closed"):
        viewer.step()


@pytest.mark.parametrize("point", [(np.nan, 0, 0), (np.inf, 0, 0)])
def test_pulls_need_finite_points(viewer, point):
    node = next(iter(viewer._session.stage.shapes.movable()))
    drag = node.handle._impl.drag_cb[0] if hasattr(node.handle._impl, "drag_cb") else None
    if drag is None:
        pytest.skip("this version of viser keeps its drag callbacks elsewhere")
    callback = getattr(drag, "cb", None) or getattr(drag, "callback", drag)

    class Event:
        instance_index, phase, start_position, end_position = 0, "start", point, point

    asyncio.run(callback(Event))
    viewer.step()
    assert viewer._session.playback.perturbation.grip is None


HOSTILE = [
    float("nan"),
    10**400,
    1 + 2j,
    -5,
    1.5,
    np.zeros((0, 3)),
    "a\0b",
    "\ud800",
    b"x",
    object(),
    [None],
    {},
]


@pytest.mark.parametrize("given", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_arguments_of_a_viewer_are_refused(viewer, given):
    """By errors of the library; nothing is shown, plotted or stepped."""
    calls = [
        viewer.step,
        viewer.seek,
        viewer.apply_keyframe,
        viewer.show,
        lambda value: viewer.show("Sites", value),
        lambda value: viewer.plot("p", value, lambda: (1.0,)),
        lambda value: viewer.plot("p", ("x",), value),
    ]
    # a fraction of a second is a time to wait, and a speed
    if not isinstance(given, float) or given != 1.5:
        calls += [viewer.wait, lambda value: setattr(viewer, "speed", value)]
    if not isinstance(given, str):
        calls += [lambda value: viewer.plot(value, ("x",), lambda: (1.0,))]
    for call in calls:
        with pytest.raises(WorldlineError):
            call(given)
    controls = viewer._session.controls
    assert not controls.plots._shown and not controls._shown["Sites"].value
    assert viewer._session.world.frame == 0 and viewer.speed == 1.0


@pytest.mark.parametrize(
    ("name", "names"),
    [("p", "xy"), ("p", ()), ("p", ("x", 1)), ("a\0b", ("x",)), ("Energy", ("x",)), ("Joint", ("x",))],
)
def test_plots_need_a_name_of_their_own_and_names_of_numbers(viewer, name, names):
    with pytest.raises(ArgumentError):
        viewer.plot(name, names, lambda: (1.0,))
    assert not viewer._session.controls.plots._shown


def test_waiting_ends_with_the_time_and_when_the_viewer_is_closed(viewer, capfd):
    viewer.wait(0.0)
    viewer.wait(0.3)
    threading.Timer(0.1, viewer.close).start()
    viewer.wait()
    with sx.view_batch(sx.WorldBatch(sx.World(), 2), port=8881) as batch:
        batch.wait(0.3)
        for given in (float("nan"), 10**400, "1", -1.0):
            with pytest.raises(ArgumentError, match="seconds"):
                batch.wait(given)
        threading.Timer(0.1, batch.close).start()
        batch.wait()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("host", ["", "no such host", "a\0b", "\ud800", "192.0.2.1"])
def test_an_address_that_this_machine_does_not_have_is_refused(host):
    """An empty address listened on every network; an unknown one waited for a server that never came."""
    with pytest.raises(ArgumentError, match="host must"):
        sx.view(sx.World(), host=host, port=8890)
