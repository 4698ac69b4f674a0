"""The log of the server and of nodes' agents, followed and read."""

import base64
import gc
import logging
import os
from contextlib import contextmanager
from types import SimpleNamespace

import msgspec
import pytest

from cluster.agent.agent_state import NoStorage
from cluster.agent.answers import Answers
from cluster.agent.log_answers import LOG_VERBS, NO_LOG, SIMULATED, TaskLines
from cluster.agent.task_events import event
from cluster.followed_log import line_of
from cluster.log_lines import FOR_FOLLOWERS, REQUESTS
from cluster.operations.agent_calls import LINKS
from tests.builders import make_node
from tests.cluster.agent.deadline import until
from tests.cluster.api.clients import put
from tests.cluster.api.test_client_metadata import Wire

NODE, GONE = make_node(1).id, make_node(2).id


def listeners(name=None):
    handlers = logging.getLogger(name).handlers
    return [each for each in handlers if type(each).__module__ == "cluster.followed_log"]


async def pieces(answer, count, then):
    """So many pieces of a stream; `then` happens once it has begun."""
    found = []
    async for piece in answer.streaming_content:
        found.append(piece)
        if len(found) == 1:
            then()
        if len(found) == count:
            break
    return found


async def test_the_log_is_followed_from_now_on_and_tells_no_link(api):
    log = logging.getLogger("cluster.test")

    def write():
        log.info("too quiet")
        log.warning("GET %s", "/login/once/very-secret")

    answer = await api.get("/v1/agent/monitor", log_level="warn")
    begun, line = await pieces(answer, 2, write)
    text = base64.b64decode(msgspec.json.decode(line)["Data"]).decode()
    assert begun == b"{}"
    assert text.endswith("Z [WARN] cluster.test: GET /login/once/...\n")
    assert "very-secret" not in text
    del answer
    await until(lambda: gc.collect() >= 0 and listeners() == [])


async def test_requests_are_told_to_those_alone_who_follow_at_debug(api):
    quiet = await api.get("/v1/agent/monitor", plain="true")
    await anext(aiter(quiet.streaming_content))
    assert listeners("http") == []
    answer = await api.get("/v1/agent/monitor", plain="true", log_level="trace")
    _, line = await pieces(answer, 2, lambda: REQUESTS.debug("request complete"))
    assert line.endswith(b"Z [DEBUG] http: request complete\n")
    del answer, quiet
    await until(lambda: gc.collect() >= 0 and listeners("http") == [])


async def test_plain_lines_and_json_lines(api):
    log = logging.getLogger("cluster.test")
    answer = await api.get("/v1/agent/monitor", plain="true", log_json="true")
    _, line = await pieces(answer, 2, lambda: log.error("bad"))
    told = msgspec.json.decode(line)
    assert (answer.headers["Content-Type"], told["@level"], told["@message"]) == (
        "text/plain", "error", "bad",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({"log_level": "loud"}, 400, "Unknown log level: loud"),
        ({"plain": "x"}, 400, 'Failed to parse value of "plain" (x) as a bool'),
        (
            {"node_id": "a", "server_id": "b"}, 400,
            "Cannot target node and server simultaneously",
        ),
        ({"server_id": "nope"}, 400, "unknown Nomad server nope"),
        ({"node_id": "a"}, 400, "node lookup failed"),
        ({"node_id": GONE}, 404, f"Unknown node {GONE}"),
        ({"log_json": "x"}, 400, 'Unknown option for log json: Failed to parse value of "'),
    ],
)  # fmt: skip
async def test_a_wrong_question_about_the_log_is_named(api, query, status, words):
    refused = await api.get("/v1/agent/monitor", **query)
    assert refused.status == status
    assert words in refused.text


def test_a_line_has_the_form_of_the_reference():
    record = logging.LogRecord("http", logging.WARNING, "", 0, "slow: %s", ("/v1/jobs",), None)
    record.created = 1_795_317_808.589
    assert line_of(record) == "2026-11-22T03:23:28.589Z [WARN] http: slow: /v1/jobs\n"


@pytest.fixture
def node(api, store):
    """A node that holds a channel; what its agent answers is put in by the test."""
    put(store, lambda change: change.put_node(make_node(1)))
    link = Wire(Answers(None, NoStorage(), None, None, more=LOG_VERBS))
    LINKS.add((NODE,), link)
    yield link
    LINKS.remove(link)


async def test_the_log_of_a_nodes_agent_is_followed_over_its_channel(api, node):
    asked = []
    answer = node.answers.answer

    def noted(verb, body):
        asked.append((verb, body))
        return answer(verb, body)

    node.answers.answer = noted

    def write():
        FOR_FOLLOWERS.debug("too quiet")
        FOR_FOLLOWERS.info("Task event: here")

    told = await api.get("/v1/agent/monitor", node_id=NODE, log_level="INFO")
    begun, line = await pieces(told, 2, write)
    text = base64.b64decode(msgspec.json.decode(line)["Data"]).decode()
    assert (begun, told.headers["Content-Type"]) == (b"{}", "application/json")
    assert text.endswith("Z [INFO] client: Task event: here\n")
    wanted = {"Level": "info", "Json": False, "Plain": False, "Location": False}
    assert asked == [("log.follow", wanted)]


async def test_plain_lines_of_an_agent_with_their_place(api, node):
    told = await api.get(
        "/v1/agent/monitor", node_id=NODE, plain="true", log_level="debug",
        log_include_location="true",
    )  # fmt: skip
    _, line = await pieces(told, 2, lambda: FOR_FOLLOWERS.debug("call answered"))
    assert told.headers["Content-Type"] == "text/plain"
    assert b" [DEBUG] api/test_log_following.py:" in line
    assert line.endswith(b": client: call answered\n")


@pytest.mark.parametrize("path", ["monitor", "monitor/export?on_disk=true"])
async def test_a_simulated_node_has_no_log_and_says_so(api, node, path):
    node.answers = Answers(None, NoStorage(), None, None, more=NO_LOG)
    refused = await api.get(f"/v1/agent/{path}{'&' if '?' in path else '?'}node_id={NODE}")
    assert (refused.status, refused.text) == (404, SIMULATED)


async def test_without_a_channel_there_is_no_log(api, node):
    LINKS.remove(node)
    refused = await api.get("/v1/agent/monitor", node_id=NODE)
    assert (refused.status, refused.text) == (404, "No path to node")


async def test_what_libraries_tell_of_the_stream_itself_is_not_in_it(api):
    library = logging.getLogger("websockets.client")
    before, root = library.level, logging.getLogger()
    library.setLevel(logging.DEBUG)

    def write():
        library.debug("> BINARY the secret of a node")
        library.warning("loud")

    try:
        told = await api.get("/v1/agent/monitor", plain="true", log_level="trace")
        _, line = await pieces(told, 2, write)
    finally:
        library.setLevel(before)
    assert root.level != logging.NOTSET
    assert line.endswith(b"websockets.client: loud\n")


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({}, 400, "Either -service-name or -on-disk must be set"),
        ({"on_disk": "false"}, 400, "Either -service-name or -on-disk must be set"),
        (
            {"on_disk": "true", "service_name": "nomad"}, 400,
            "Cannot target journald and nomad log file simultaneously",
        ),
        ({"on_disk": "true", "follow": "true"}, 400, "Cannot follow log file"),
        (
            {"on_disk": "true", "logs_since": "often"}, 400,
            'Unknown value for logs-since: "often"',
        ),
        ({"service_name": "nomad"}, 501, "The journal of systemd is not read here"),
        ({"on_disk": "true", "server_id": "nope"}, 400, "unknown Nomad server nope"),
    ],
)  # fmt: skip
async def test_a_wrong_question_about_the_log_of_before_is_named(api, query, status, words):
    refused = await api.get("/v1/agent/monitor/export", **query)
    assert (refused.status, words in refused.text) == (status, True)


@contextmanager
def log_at(descriptor):
    """Standard error goes there meanwhile, as whoever starts a process decides."""
    kept = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


async def test_the_file_of_a_log_is_read_without_the_secrets_in_it(api, node, tmp_path):
    lines, last = b"first line\nGET /login/once/{} HTTP/1.1\n", b"x" * 100_000
    wanted = lines.replace(b"{}", b"...") + last
    file = tmp_path / "web.log"
    file.write_bytes(lines.replace(b"{}", b"very-secret") + last)
    asked = {"on_disk": "true", "plain": "true"}
    with file.open("ab") as written, log_at(written.fileno()):
        for query in (asked, {**asked, "node_id": NODE}):
            told = await api.get("/v1/agent/monitor/export", **query)
            assert b"".join([piece async for piece in told.streaming_content]) == wanted
        framed = await api.get("/v1/agent/monitor/export", on_disk="true")
        first = await anext(aiter(framed.streaming_content))
    assert base64.b64decode(msgspec.json.decode(first)["Data"]) == wanted.removesuffix(last)


async def test_a_log_that_is_no_file_cannot_be_read(api, node):
    reading, writing = os.pipe()
    with log_at(writing):
        for query in ({}, {"node_id": NODE}):
            refused = await api.get("/v1/agent/monitor/export", on_disk="true", **query)
            assert (refused.status, refused.text) == (400, "No nomad log file defined")
    os.close(reading)
    os.close(writing)


def test_events_of_tasks_are_told_to_followers_alone_and_once():
    told = []

    class Follower(logging.Handler):
        def emit(self, record):
            told.append(record.getMessage())

    state = SimpleNamespace(events=(event("Received", 5_000_000_000, "Taken in"),))
    entry = SimpleNamespace(
        runner=SimpleNamespace(tasks={"web": SimpleNamespace(state=state)})
    )  # fmt: skip
    lines = TaskLines(SimpleNamespace(entries={"a1": entry}), lambda: 9_000_000_000)
    lines.look("a1")
    follower = Follower()
    FOR_FOLLOWERS.addHandler(follower)
    try:
        lines.look("a1")
        assert told == []
        state.events += (event("Started", 9_000_000_000, "Task started by client"),)
        lines.look("a1")
        lines.look("a1")
    finally:
        FOR_FOLLOWERS.removeHandler(follower)
    assert told == [
        'Task event: alloc_id=a1 task=web type="Started" msg="Task started by client"'
    ]  # fmt: skip
