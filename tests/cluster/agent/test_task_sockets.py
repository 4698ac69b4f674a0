"""The cluster's API inside a task: what goes through its socket, and what does not."""

import asyncio
import contextlib
import shutil
import stat

import pytest

from cluster.agent.drivers.driver import Launch, TaskDirectories
from cluster.agent.server_trust import trust
from cluster.agent.task_api import relay, sockets
from cluster.agent.task_api.sockets import NAME, TaskSockets, with_address
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.task_group import Identity
from tests.builders import make_task
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import Node, make_work
from tests.cluster.agent.test_server_trust import certificate
from tests.cluster.agent.test_server_trust import server as tls_server
from tests.patience import PATIENCE_S

WHO = ("alloc", "web")
ASKED = b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX-Nomad-Token: me\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]"


class Server:
    """Keeps what it is sent, and answers as the test says."""

    def __init__(self):
        self.heard, self.gone = [], 0
        self.says, self.holds = ANSWER, None

    async def __call__(self, reader, writer):
        heard = bytearray()
        self.heard.append(heard)
        while data := await reader.read(65536):
            heard += data
            if self.says and (b"\r\n\r\n" in heard):
                writer.write(self.says)
                self.says = b""
                if self.holds is None:
                    writer.close()
                    return
        self.gone += 1
        await hang_up(writer)


@pytest.fixture
async def server():
    told = Server()
    listening = await asyncio.start_server(told, "127.0.0.1", 0)
    told.port = listening.sockets[0].getsockname()[1]
    yield told
    listening.close()


@pytest.fixture
def places(tmp_path):
    # Longer than the name of a socket may be.
    root = tmp_path / ("long" * 30) / "web"
    (root / "secrets").mkdir(parents=True)
    return TaskDirectories(root=root, shared=tmp_path)


@pytest.fixture
async def opened(server, places):
    found = TaskSockets(f"http://127.0.0.1:{server.port}")
    await found.open(WHO, places)
    yield found
    await found.close()


async def hang_up(writer):
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def connected(places, monkeypatch):
    monkeypatch.chdir(places.secrets)
    return await asyncio.open_unix_connection(NAME)


async def ask(places, monkeypatch, *pieces):
    """What comes back until the other end hangs up."""
    reader, writer = await connected(places, monkeypatch)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    told = await asyncio.wait_for(reader.read(), 10)
    await hang_up(writer)
    return told


async def test_a_request_reaches_the_server_with_the_tasks_own_token(
    opened, server, places, monkeypatch
):
    asked = ASKED.replace(b"Host: x", b"Host: x\r\nX-Forwarded-For: 1.2.3.4\r\nCookie: a=b")

    assert await ask(places, monkeypatch, asked) == ANSWER

    head = f"GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n"
    assert server.heard == [head.encode() + b"X-Nomad-Token: me\r\n\r\n"]


async def test_a_body_goes_on_as_it_came_in_whatever_pieces(opened, server, places, monkeypatch):
    head = b"PUT /v1/jobs HTTP/1.1\r\nAuthorization: Bearer me\r\n"
    pieces = [head, b"Content-Le", b"ngth: 6\r\n\r\nabc", b"def"]
    server.says = b""
    _, writer = await connected(places, monkeypatch)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0.01)
    await until(lambda: server.heard and server.heard[0].endswith(b"\r\n\r\nabcdef"), "the body")
    await hang_up(writer)


async def test_a_body_of_unknown_length_stays_one(opened, server, places, monkeypatch):
    head = b"PUT /v1/jobs HTTP/1.1\r\nX-Nomad-Token: me\r\nTransfer-Encoding: chunked\r\n\r\n"
    server.says = b""
    _, writer = await connected(places, monkeypatch)
    writer.write(head + b"3\r\nabc\r\n3\r\nde")
    await writer.drain()
    writer.write(b"f\r\n0\r\n\r\n")
    await until(lambda: server.heard and server.heard[0].endswith(b"0\r\n\r\n"), "its end")
    body = bytes(server.heard[0]).partition(b"\r\n\r\n")[2]
    assert b"".join(body.split(b"\r\n")[1::2]) == b"abcdef"
    await hang_up(writer)


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(
            (ASKED.replace(b"X-Nomad-Token: me\r\n", b""), 401, "NOMAD_TOKEN"), id="nobody"
        ),
        pytest.param((ASKED.replace(b": me", b": "), 401, "NOMAD_TOKEN"), id="an empty token"),
        pytest.param((ASKED.replace(b"/v1/jobs", b"/ui/"), 404, "below /v1/"), id="a page"),
        pytest.param(
            (ASKED.replace(b"jobs", b"%66leet/beat"), 404, "/v1/"), id="an agent's words"
        ),
        pytest.param((b"what is this\r\n\r\n", 400, "no request"), id="no request"),
        pytest.param((b"GET /v1/" + b"a" * 70000, 431, "65536"), id="a head without end"),
    ],
)
async def test_what_the_server_does_not_hear(opened, server, places, monkeypatch, told):
    asked, status, sentence = told
    answer = await ask(places, monkeypatch, asked)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert sentence in answer.decode()
    assert server.heard == []


async def test_a_refusal_is_heard_by_who_still_sends(opened, places, monkeypatch):
    head = b"PUT /v1/jobs HTTP/1.1\r\nContent-Length: 400000\r\n\r\n"
    assert b"401" in await ask(places, monkeypatch, head, b"a" * 400_000)


async def test_a_second_request_on_a_connection_is_not_heard(opened, server, places, monkeypatch):
    second = b"GET /v1/fleet/x HTTP/1.1\r\n\r\n"
    server.says = b""
    _reader, writer = await connected(places, monkeypatch)
    writer.write(ASKED + second)
    await until(lambda: server.heard and server.heard[0], "the first")
    writer.write(second)
    await writer.drain()
    await asyncio.sleep(0.05)
    assert b"fleet" not in server.heard[0]
    await hang_up(writer)


async def test_an_answer_that_lasts_ends_with_its_reader(opened, server, places, monkeypatch):
    server.says, server.holds = ANSWER[:-2] + b"[", True
    reader, writer = await connected(places, monkeypatch)
    writer.write(ASKED)
    assert (await reader.read(100)).endswith(b"[")
    await hang_up(writer)
    await until(lambda: server.gone == 1, "the server hears of it")


async def test_a_session_goes_both_ways_once_the_server_agreed(
    opened, server, places, monkeypatch
):
    server.says, server.holds = b"HTTP/1.1 101 Switching Protocols\r\n\r\n", True
    reader, writer = await connected(places, monkeypatch)
    upgrade = b"X-Nomad-Token: me\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    writer.write(ASKED.replace(b"X-Nomad-Token: me\r\n", upgrade))
    assert (await reader.read(100)).startswith(b"HTTP/1.1 101")
    writer.write(b"words")
    await until(lambda: server.heard[0].endswith(b"words"), "what is said")
    await hang_up(writer)


async def test_without_a_server_the_task_hears_why(places, monkeypatch):
    found = TaskSockets("http://127.0.0.1:1")
    await found.open(WHO, places)
    told = await ask(places, monkeypatch, ASKED)
    assert b"502 Bad Gateway" in told
    assert b"The node does not reach its server" in told
    await found.close()


async def test_a_server_with_a_certificate_is_the_pinned_one_or_hears_nothing(
    places, tmp_path, monkeypatch
):
    pem, file = certificate(tmp_path, "ours")
    _, other = certificate(tmp_path, "other")
    for shown, heard in ((file, True), (other, False)):
        async with tls_server(shown) as address:
            directory = tmp_path / "trust"
            directory.mkdir(exist_ok=True)
            (directory / "server.pem").write_text(pem)
            found = TaskSockets(address, trust(address, directory=directory))
            await found.open(WHO, places)
            told = await ask(places, monkeypatch, ASKED)
            await found.close()
        assert told.endswith(b"ok") is heard
        assert (b"502 Bad Gateway" in told and b"certificate" in told) is not heard


async def test_a_large_body_and_a_large_answer_go_through_whole(
    opened, server, places, monkeypatch
):
    size = 20_000_000
    head = b"PUT /v1/jobs HTTP/1.1\r\nX-Nomad-Token: me\r\nContent-Length: %d\r\n\r\n" % size
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size
    server.says, server.holds = answer + b"y" * size, True
    reader, writer = await connected(places, monkeypatch)
    piece = b"x" * 1_000_000
    writer.write(head)
    for _ in range(size // len(piece)):
        writer.write(piece)
        await writer.drain()
    await until(lambda: len(server.heard[0].partition(b"\r\n\r\n")[2]) == size, "all of it")
    told = await reader.readexactly(len(answer) + size)
    assert told == answer + b"y" * size
    await hang_up(writer)


async def test_who_says_nothing_is_hung_up_on(opened, places, monkeypatch):
    monkeypatch.setattr(relay, "HEAD_S", 0.05)
    assert b"408" in await ask(places, monkeypatch, b"GET /v1")


async def test_a_task_has_so_many_requests_open_and_no_more(opened, places, monkeypatch):
    monkeypatch.setattr(sockets, "MOST", 1)
    _, first = await connected(places, monkeypatch)
    await asyncio.sleep(0.02)
    assert b"429" in await ask(places, monkeypatch, ASKED)
    await hang_up(first)


async def test_what_a_task_laid_in_its_place_is_not_followed(opened, places, tmp_path):
    (places.secrets / NAME).unlink()
    (places.secrets / NAME).symlink_to(tmp_path / "elsewhere")
    await opened.open(WHO, places)
    assert stat.S_ISSOCK((places.secrets / NAME).lstat().st_mode)
    assert not (tmp_path / "elsewhere").exists()
    shutil.rmtree(places.secrets)
    places.secrets.symlink_to(tmp_path)
    with pytest.raises(OSError):  # noqa: PT011 - the kernel's own: no directory, or a link
        await opened.open(WHO, places)
    assert not (tmp_path / NAME).exists()


def test_who_has_an_identity_in_its_environment_is_told_of_the_socket(places):
    launch = Launch("id", "web", {}, env={"A": "b"}, directories=places)
    assert with_address(launch, make_task(identity=Identity(file=True))) is launch
    told = with_address(launch, make_task(identities=(Identity(name="db", env=True),))).env
    assert told == {"A": "b", "NOMAD_UNIX_ADDR": f"unix://{places.secrets / NAME}"}


async def test_a_task_has_its_socket_until_it_ends_and_over_a_new_agent(
    tmp_path, server, monkeypatch
):
    node = Node(tmp_path)
    node.sockets = lambda: TaskSockets(f"http://127.0.0.1:{server.port}")
    await node.start()
    config = {"command": "/bin/sleep", "args": ["600"]}
    alloc, job = make_work(config, driver="raw_exec")
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    places = node.storage.directories(alloc.id).task("web")
    path = places.secrets / NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o666

    async def hears():
        try:
            reader, writer = await connected(places, monkeypatch)
        except ConnectionRefusedError:
            return False
        writer.write_eof()
        assert await reader.read() == b""
        await hang_up(writer)
        return True

    assert await hears()
    await node.stop()
    assert not await hears()
    await node.start()
    async with asyncio.timeout(PATIENCE_S):
        while not await hears():
            await asyncio.sleep(0.01)
    node.host.remove(alloc.id)
    await until(lambda: not path.exists(), "all is gone")
    await node.end()
