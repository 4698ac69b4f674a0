"""The agent's own end: what it shows, what it keeps over a restart, what it does when refused."""

import httpx
import msgspec
import pytest

from cluster.agent.agent_state import DiskStorage, NoStorage
from cluster.agent.answers import Answers
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.node_identity import NO_IDENTITY, NodeIdentity
from cluster.agent.protocol import MSGPACK, Beat, BeatAnswer, Refused, encode
from cluster.agent.server_link import CallFailed, ServerLink
from cluster.keyring.tokens import signed
from tests.builders import SOME_MOMENT
from tests.root_keys import root_key

SECOND = 10**9


class Time:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = SOME_MOMENT

    def __call__(self):
        return self.now


def token(number=1, life=60):
    claims = {"nomad_node_id": "n1"}
    return signed(
        claims, root_key(), now=SOME_MOMENT, life=life * SECOND, token_id=f"token-{number}"
    )


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def identity(time):
    return NodeIdentity("secret", NoStorage(), time)


def test_the_identity_is_shown_while_it_holds(identity, time):
    assert identity.shown == "secret"
    identity.take(token())
    assert identity.shown == token()
    identity.take("")
    assert identity.shown == token()
    time.now += 60 * SECOND
    assert identity.shown == "secret"


def test_it_outlives_the_agent_and_is_forgotten_once_refused(tmp_path, time):
    def again():
        storage = DiskStorage(tmp_path / "state", tmp_path / "alloc")
        return NodeIdentity("secret", storage, time), storage

    first, storage = again()
    first.take(token(1))
    first.take(token(2))
    storage.close()
    second, storage = again()
    assert second.shown == token(2)
    assert second.refused(token(2))
    storage.close()
    third, storage = again()
    assert third.shown == "secret"
    assert not third.refused("secret")
    storage.close()


class Server:
    """Notes what is shown; believes the secret, and identities that it gave."""

    def __init__(self, gives=""):
        self.gives = gives
        self.believed = {"secret"}
        self.shown = []
        self.beats = []

    def answer(self, request):
        shown = request.headers["Authorization"].removeprefix("Bearer ")
        self.shown.append(shown)
        if shown not in self.believed:
            return httpx.Response(403, content=encode(Refused(error="no")))
        self.beats.append(msgspec.msgpack.decode(request.content, type=Beat))
        told = BeatAnswer(heartbeat_ttl=SECOND, identity=self.gives)
        return httpx.Response(200, content=encode(told), headers={"Content-Type": MSGPACK})

    def link(self, identity):
        link = ServerLink("http://server", "n1", "secret", identity=identity)
        address, headers = link._client.base_url, link._client.headers
        link._client = httpx.AsyncClient(
            base_url=address, headers=headers, transport=httpx.MockTransport(self.answer)
        )
        return link


async def test_a_beat_brings_an_identity_which_is_shown_from_then_on(identity):
    server = Server(gives=token())
    link = server.link(identity)
    await link.beat()
    server.believed.add(token())
    await link.beat()
    assert server.shown == ["secret", token()]
    assert [each.takes_identity for each in server.beats] == [True, True]


async def test_a_refused_identity_costs_one_call_and_no_error(identity):
    server = Server()
    identity.take(token())
    await server.link(identity).beat()
    assert server.shown == [token(), "secret"]
    assert identity.shown == "secret"


async def test_a_refused_secret_is_told(identity):
    server = Server()
    server.believed.clear()
    with pytest.raises(CallFailed, match="no"):
        await server.link(identity).beat()
    assert server.shown == ["secret"]


async def test_a_node_without_identities_says_so():
    server = Server()
    await server.link(None).beat()
    assert server.beats == [Beat(sent_at=0)]


async def answer(identity, verb):
    answers = Answers(None, NoStorage(), None, None, identity)
    return msgspec.json.decode(b"".join([piece async for piece in answers.answer(verb, {})]))


async def test_the_agent_tells_its_claims_and_renews_when_told(identity):
    told = []
    identity.wants_beat = lambda: told.append(1)
    with pytest.raises(AnswerRefused, match=NO_IDENTITY):
        await answer(identity, "identity.read")
    identity.take(token())
    assert (await answer(identity, "identity.read"))["Claims"]["jti"] == "token-1"

    assert await answer(identity, "identity.renew") == {}
    assert (identity.renewal_asked, told) == (True, [1])
    server = Server(gives=token(2))
    server.believed.add(token())
    await server.link(identity).beat()
    assert (server.beats[0].renews_identity, identity.renewal_asked) == (True, False)
    assert identity.shown == token(2)
