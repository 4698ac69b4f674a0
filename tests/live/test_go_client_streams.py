"""What Go programs follow and type into by the reference's own client: files, logs, events, exec.

Frames come as JSON values one behind another, in whatever pieces; the two addresses into a task
are websockets.
"""

import base64
import json
import threading

import pytest
from websockets.exceptions import InvalidStatus

from tests.live.go_bodies import go_job, registration
from tests.live.go_client import GoClient, Unexpected, encoded, frames
from tests.live.world import until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

SCRIPT = "echo hello; echo err >&2; while :; do sleep 0.2; done"


@pytest.fixture(scope="module")
def go(world):
    world.open(world.node("first"))
    client = GoClient(world.stack.address, world.stack.token)
    yield client
    client.close()


@pytest.fixture(scope="module")
def alloc(world, go):
    """One that runs and has said its first words."""
    go.put("/v1/jobs", registration(go_job("go-told", SCRIPT)))
    found = world.running("go-told", 1)[0]["ID"]
    until(lambda: "hello" in world.output(found, "t"), "its first line")
    yield found
    world.purge("go-told")


def test_files_are_listed_read_and_followed(go, alloc):
    listed, _ = go.query(f"/v1/client/fs/ls/{alloc}", params={"path": "/"})
    assert {each["Name"] for each in listed} == {"alloc", "t"}
    file = {"path": "alloc/logs/t.stdout.0"}
    assert go.query(f"/v1/client/fs/stat/{alloc}", params=file)[0]["Size"] == 6
    with go.raw(f"/v1/client/fs/cat/{alloc}", params=file) as answer:
        assert answer.read() == b"hello\n"
    part = {**file, "offset": "1", "limit": "3"}
    with go.raw(f"/v1/client/fs/readat/{alloc}", params=part) as answer:
        assert answer.read() == b"ell"
    with (
        pytest.raises(Unexpected, match="404"),
        go.raw(f"/v1/client/fs/cat/{alloc}", params={"path": "nope"}),
    ):
        pass
    grown = {"path": "alloc/logs/t.stderr.0", "offset": "0", "origin": "start"}
    with go.raw(f"/v1/client/fs/stream/{alloc}", params=grown) as answer:
        first = next(frames(answer))
    assert (base64.b64decode(first["Data"]), first["File"]) == (b"err\n", grown["path"])


@pytest.mark.parametrize("follow", ["true", "false"])
def test_output_comes_in_frames(go, alloc, follow):
    asked = {"task": "t", "type": "stdout", "origin": "start", "offset": "0", "follow": follow}
    with go.raw(f"/v1/client/fs/logs/{alloc}", params=asked) as answer:
        told = frames(answer)
        assert base64.b64decode(next(told)["Data"]) == b"hello\n"
        # Who does not follow is told the end.
        assert follow == "true" or [each for each in told if each.get("Data")] == []


def test_events_are_told_as_they_happen_with_all_their_topics(go, world):
    topics = ["Allocation:*", "Deployment:*", "Evaluation:*", "Job:*", "Node:*"]
    with go.raw("/v1/event/stream", params={"index": "0", "topic": topics}) as answer:
        assert answer.headers["Content-Type"].startswith("application/json")
        job = registration(go_job("go-event", "sleep 100"))
        threading.Thread(target=lambda: world.api.put("/v1/jobs", json=job)).start()
        told = (event for batch in frames(answer) for event in batch["Events"])
        found = next(each for each in told if (each["Topic"], each["Key"]) == ("Job", "go-event"))
    assert found["Payload"]["Job"]["ID"] == "go-event"
    assert (found["Type"], found["FilterKeys"]) == ("JobRegistered", None)
    world.purge("go-event")


@pytest.mark.parametrize("of_node", [False, True], ids=["server", "node"])
def test_the_log_is_followed(go, world, of_node):
    node = world.node("first")["ID"]
    asked = {"log_level": "debug", **({"node_id": node} if of_node else {})}
    text = "host.stats" if of_node else "request complete"
    with go.raw("/v1/agent/monitor", params=asked) as answer:
        spoken = threading.Event()

        def speak():
            while not spoken.wait(0.1):
                world.get(f"client/stats?node_id={node}")

        speaker = threading.Thread(target=speak)
        speaker.start()
        try:
            said = ""
            for frame in frames(answer):
                said += base64.b64decode(frame["Data"]).decode()
                if text in said:
                    break
        finally:
            spoken.set()
            speaker.join()
    assert text in said


def test_a_log_file_is_handed_out_whole(go):
    with go.raw("/v1/agent/monitor/export", params={"on_disk": "true"}) as answer:
        assert any(frame.get("Data") for frame in frames(answer))


def test_a_command_runs_in_a_task_with_its_input_output_and_status(go, alloc):
    command = ["/bin/sh", "-c", "cat; echo oops >&2; exit 3"]
    out, err, status = _run(go, alloc, command, b"said\n")
    assert (out, err, status) == (b"said\n", b"oops\n", 3)


def test_a_command_has_a_terminal_of_the_size_that_was_told(go, alloc):
    command = ["/bin/sh", "-c", "sleep 0.5; stty size"]
    out, _, status = _run(go, alloc, command, b"", size={"height": 30, "width": 100})
    assert (b"30 100" in out, status) == (True, 0)


def _run(go, alloc, command, said, size=None):
    """Type, listen, end: as its session does."""
    asked = {"command": json.dumps(command), "task": "t", "tty": str(size is not None).lower()}
    heard, status = {"stdout": b"", "stderr": b""}, None
    with go.websocket(f"/v1/client/allocation/{alloc}/exec", **asked) as socket:
        if size:
            socket.send(encoded({"tty_size": size}).decode())
        socket.send("{}\n")
        for stdin in (
            {"data": base64.b64encode(said).decode()} if said else None,
            {"close": True},
        ):
            if stdin and not size:
                socket.send(encoded({"stdin": stdin}).decode())
        while status is None:
            frame = json.loads(socket.recv(timeout=60))
            for name in heard:
                heard[name] += base64.b64decode((frame.get(name) or {}).get("data") or b"")
            if frame.get("exited") and frame.get("result") is not None:
                status = frame["result"].get("exit_code", 0)
    return heard["stdout"], heard["stderr"], status


def test_a_browser_shows_its_token_in_the_first_message(go, alloc, world):
    stranger = GoClient(world.stack.address)
    asked = {"command": '["/bin/true"]', "task": "t", "tty": "false", "ws_handshake": "true"}
    with stranger.websocket(f"/v1/client/allocation/{alloc}/exec", **asked) as socket:
        socket.send(json.dumps({"version": 1, "auth_token": world.stack.token}))
        told = [json.loads(socket.recv(timeout=60))]
        while not told[-1].get("exited"):
            told.append(json.loads(socket.recv(timeout=60)))
    assert told[-1]["result"].get("exit_code", 0) == 0


def test_a_wrong_task_is_refused_with_its_reason(go, alloc):
    asked = {"command": '["/bin/true"]', "task": "nope", "tty": "false"}
    with (
        pytest.raises(Exception, match="nope") as raised,
        go.websocket(f"/v1/client/allocation/{alloc}/exec", **asked) as socket,
    ):
        socket.recv(timeout=60)
    assert not isinstance(raised.value, InvalidStatus)
