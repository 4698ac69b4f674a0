"""Agents that prove themselves with a signed identity, and everything that proves nothing."""

import pytest

from cluster.agent.protocol import Beat, EmitEvents, Register
from cluster.keyring.tokens import is_token, signed, unproved
from cluster.operations.keyring import delete_root_key, rotate_root_key
from cluster.operations.node_identities import introduce_node
from cluster.operations.node_pools import put_node_pool
from cluster.operations.nodes import purge_node
from cluster.runtime.clock import SystemClock
from scheduler.access.caller import CLUSTER
from scheduler.structs.node import NodeEvent, NodePool
from scheduler.structs.root_key import RootKeyState
from tests.builders import CountingIDs
from tests.callers import MANAGER
from tests.cluster.agent.callers import NOW, AgentCaller
from tests.root_keys import put_keys, root_key

HOUR = 3600 * 10**9
DAY_S = 24 * 3600


@pytest.fixture
def key(store):
    put_keys(store, root_key())
    return root_key()


def now():
    return SystemClock().now()


async def identity_of(agent, **asked):
    """What a beat brings that shows the secret."""
    answer = await agent.call("POST", "beat", Beat(takes_identity=True, **asked))
    assert answer.status == 200
    return answer.json["Identity"]


async def beat(agent, shown, **asked):
    """A beat that shows this instead of the secret."""
    return await agent.call(
        "POST", "beat", Beat(takes_identity=True, **asked), Authorization=f"Bearer {shown}"
    )


def changed(token, key, **claims):
    """The same token with other claims, signed by a key."""
    told = unproved(token) | claims
    times = {name: told.pop(name) for name in ("iat", "nbf", "exp", "jti", "aud")}
    life = (times["exp"] - times["nbf"]) * 10**9
    return signed(told, key, now=times["nbf"] * 10**9, life=life, token_id=times["jti"])


async def test_an_identity_names_its_node_and_holds_as_long_as_its_pool_says(store, key, agent):
    claims = unproved(await identity_of(agent))
    node = await store.aread(lambda reader: reader.node(agent.node.id))
    assert {name: claims[name] for name in claims if name not in ("iat", "nbf", "exp", "jti")} == {
        "aud": "nomadproject.io",
        "sub": f"node:global:default:{node.id}:default",
        "nomad_node_id": node.id,
        "nomad_node_pool": "default",
        "nomad_node_datacenter": node.datacenter,
        "bivouac_node_create_index": node.create_index,
        **({"nomad_node_class": node.node_class} if node.node_class else {}),
    }
    assert claims["exp"] - claims["iat"] == DAY_S
    assert node.identity_signing_key_id == key.key_id


async def test_a_registration_brings_one_and_who_takes_none_gets_none(store, key):
    agent = AgentCaller(1)
    message = Register(node=agent.node, takes_identity=True)
    headers = {"X-Bivouac-Join-Token": "let-me-in"}
    joined = await agent.call("POST", "register", message, **headers)
    plain = await AgentCaller(2).register()
    assert is_token(joined.json["Identity"])
    assert plain.json["Identity"] == ""
    assert (await agent.call("POST", "beat", Beat())).json["Identity"] == ""


async def test_without_a_key_the_secret_goes_on(store, agent):
    assert await identity_of(agent) == ""


async def test_an_identity_opens_every_call_but_a_registration(store, key, agent):
    shown = {"Authorization": f"Bearer {await identity_of(agent)}"}
    events = EmitEvents(events=(NodeEvent(message="hello"),))
    for method, path, message in (
        ("POST", "beat", Beat()),
        ("GET", "allocations", b""),
        ("POST", "events", events),
    ):
        assert (await agent.call(method, path, message, **shown)).status == 200
    refused = await agent.call("POST", "register", Register(node=agent.node), **shown)
    assert (refused.status, refused.json["Error"]) == (
        403,
        "node secret ID does not match. Not registering node.",
    )


async def test_it_is_renewed_when_two_thirds_are_over_or_when_asked(store, key, agent):
    token = await identity_of(agent)
    assert (await beat(agent, token)).json["Identity"] == ""
    assert is_token((await beat(agent, token, renews_identity=True)).json["Identity"])
    for age, is_new in ((0.6, False), (0.7, True)):
        began = (now() - int(age * HOUR)) // 10**9
        old = changed(token, key, iat=began, nbf=began, exp=began + 3600)
        assert is_token((await beat(agent, old)).json["Identity"]) == is_new


async def test_a_rotated_key_still_proves_until_it_is_deleted(store, key, agent):
    token = await identity_of(agent)
    means = {"by": MANAGER, "now": NOW}
    await store.awrite_call(rotate_root_key, ids=CountingIDs(), **means)
    renewed = (await beat(agent, token, renews_identity=True)).json["Identity"]
    await store.awrite_call(delete_root_key, key.key_id, **means)

    assert (await beat(agent, renewed)).status == 200
    refused = await beat(agent, token)
    assert (refused.status, refused.json["Error"]) == (
        403,
        "node identity refused: the token was signed with a key that is not in the keyring",
    )


def forgeries(token, key):
    head, body, signature = token.split(".")
    began = now() // 10**9
    stranger = root_key("stranger")
    return {
        "signed by a stranger": changed(token, stranger),
        "signed by a stranger who names our key": changed(
            token, root_key(key.key_id, sealed=stranger.sealed)
        ),
        "signature cut": f"{head}.{body}.{signature[:-6]}",
        "signature of nothing": f"{head}.{body}.",
        "said to be unsigned": f"eyJhbGciOiJub25lIn0.{body}.",
        "no token": "a.b.c",
        "too long": f"{head}.{'a' * 9000}.{signature}",
        "expired": changed(token, key, nbf=began - 100, iat=began - 100, exp=began - 1),
        "of tomorrow": changed(token, key, nbf=began + DAY_S, exp=began + 2 * DAY_S),
        "of another node": changed(token, key, nomad_node_id="11111111-0000-4000-8000-0000000000"),
        "of an earlier node of that id": changed(token, key, bivouac_node_create_index=1),
        "an introduction": changed(token, key, nomad_node_id=None),
    }


async def test_what_proves_nothing_is_refused(store, key, agent):
    token = await identity_of(agent)
    before = await store.aread(lambda reader: reader.index)
    for name, forged in forgeries(token, key).items():
        refused = await beat(agent, forged)
        assert (refused.status, name) == (403, name)
        assert refused.json["Error"].startswith("node identity refused: ")
    assert await store.aread(lambda reader: reader.index) == before


async def test_the_identity_of_one_node_says_nothing_of_another(store, key, agent, other):
    refused = await beat(agent, await identity_of(other))
    assert refused.json["Error"] == "node identity refused: it is that of another node"


async def test_a_deprecated_key_proves_nothing(store, key, agent):
    token = await identity_of(agent)
    await store.acall(lambda: put_keys(store, root_key(state=RootKeyState.DEPRECATED)))
    assert (await beat(agent, token)).status == 403


async def test_the_identity_of_a_purged_node_is_void_for_the_next_of_its_id(store, key, agent):
    token = await identity_of(agent)
    await store.awrite_call(purge_node, agent.node.id, by=CLUSTER, now=NOW, ids=CountingIDs())
    assert (await beat(agent, token)).status == 404
    await agent.join()
    assert (await beat(agent, token)).status == 403


async def test_a_pool_decides_how_long_it_holds(store, key, agent):
    pool = NodePool(name="brief", node_identity_ttl=90 * 10**9)
    await store.awrite_call(put_node_pool, pool, by=CLUSTER, now=NOW)
    await agent.register(node_pool="brief")
    claims = unproved(await identity_of(agent))
    assert (claims["exp"] - claims["iat"], claims["nomad_node_pool"]) == (90, "brief")


@pytest.mark.parametrize("ttl", [-HOUR, 1])
async def test_a_pool_whose_identities_end_before_they_begin_has_none(store, key, agent, ttl):
    pool = NodePool(name="none", node_identity_ttl=ttl)
    await store.awrite_call(put_node_pool, pool, by=CLUSTER, now=NOW)
    await agent.register(node_pool="none")
    assert await identity_of(agent) == ""


def introduction(store, **given):
    asked = {"name": "", "pool": "", "life": HOUR, "region": "global"} | given
    return store.read(
        lambda reader: introduce_node(reader, by=MANAGER, now=now(), ids=CountingIDs(), **asked)
    )


@pytest.mark.parametrize(
    ("given", "status"),
    [
        pytest.param({}, 200, id="of-its-pool"),
        pytest.param({"name": "node-1"}, 200, id="of-its-name"),
        pytest.param({"name": "node-2"}, 403, id="of-another-name"),
        pytest.param({"pool": "gpu"}, 403, id="of-another-pool"),
        pytest.param({"life": -1}, 403, id="expired"),
    ],
)
async def test_a_node_joins_by_an_introduction_that_was_made_for_it(store, key, given, status):
    token = await store.acall(lambda: introduction(store, **given))
    assert (await AgentCaller(1).register(token, name="node-1")).status == status


async def test_an_identity_is_no_introduction(store, key, agent):
    token = await identity_of(agent)
    assert (await AgentCaller(3).register(token)).status == 403
